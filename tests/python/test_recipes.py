# SPDX-License-Identifier: Apache-2.0
"""Files as launchers have them: shell scripts with Megatron-LM's arguments, files of options, Primus' YAML."""
import pathlib
import tempfile
import unittest

import ppsched
from ppsched import Model, read_model
from ppsched.readers.shell_script import script_groups, value_of

SCRIPT = """#!/bin/bash
# A model of six layers
LAYERS=6
FIRST=2
SIZE=${SIZE:-192}
kinds=()
for ((i=0; i<LAYERS; i++)); do
  if (( i < FIRST )); then
    kinds+=(0)
  else
    kinds+=(1)
  fi
done
printf -v FREQUENCY "[%s]" "$(IFS=', '; echo "${kinds[*]}")"

MODEL_ARGS=(
   --num-layers $((FIRST + LAYERS - 2))
   --hidden-size $SIZE --num-attention-heads 6
   --disable-bias-linear
   --normalization "RMSNorm"   # of all layers
   --position-embedding-type rope
   --padded-vocab-size 512
   --num-experts 4 --moe-layer-freq "$FREQUENCY" --moe-ffn-hidden-size=96
   --norm-epsilon $EPSILON
)
GPUS=$(nvidia-smi -L | wc -l)
torchrun --nproc-per-node $GPUS train.py ${MODEL_ARGS[@]} \\
    --tensor-model-parallel-size 2 --seq-length 1024 --save "/some where/x" --rollout-batch-size 8
"""


class Folder(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def refused(self, part, name, text):
        path = self.file(name, text)
        with self.assertRaises(ppsched.Error) as caught:
            read_model(path)
        self.assertIn(part, str(caught.exception))
        self.assertIn(path, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))


class ScriptTest(Folder):
    def options(self, text):
        return [(option.name, value_of("s", option)) for group in script_groups("s", text) for option in group.options]

    def test_a_whole_script(self):
        found = read_model(self.file("model.sh", SCRIPT))
        self.assertEqual(found.description.layer_kinds, ["decoder"] * 2 + ["moe_decoder"] * 4)
        self.assertEqual((found.description.hidden_size, found.options), (192, {"tp": 2, "seq": 1024}))
        self.assertEqual(found.description.values()["kinds"]["moe_decoder"][1]["width"], 96)

    def test_words(self):
        for text, wanted in (
                ("a --x 1 --y", [("x", 1), ("y", True)]), ("A='two words'\na --x \"$A\" --y $A", [("x", "two words"), ("y", ["two", "words"])]),
                ("a --x 1 \\\n --y 2 # --z 3\n", [("x", 1), ("y", 2)]), ("N=3; a --x $((N * (N - 1)))", [("x", 6)]), ("a --x ${N:-7}", [("x", 7)]),
                ("A=(--x 1 --y 2)\nA+=(--x 3)", [("x", 1), ("y", 2), ("x", 3)]), ("a --x=1e-5 --y '#'", [("x", 1e-5), ("y", "#")]),
                ("N=2\nfor ((i=0; i<=N; ++i)); do a --x $i; done", [("x", 0), ("x", 1), ("x", 2)]),
                ("N=2\nif (( N > 1 )); then a --x 1; else a --x 2; fi", [("x", 1)]), ("N=2\nif (( N > 2 )); then\n a --x 1\nelse\n a --x 2\nfi\na --y 3", [("x", 2), ("y", 3)]),
                ("A=\"--x 1 --y 2\"\na $A", [("x", 1), ("y", 2)]), ("a --x 2 3 --y", [("x", [2, 3]), ("y", True)]), ("--x 1\n--y 2\n", [("x", 1), ("y", 2)])):
            self.assertEqual(self.options(text), wanted, text)

    def test_nothing_runs(self):
        marker = self.folder / "marker"
        read_model(self.file("model.sh", f"touch {marker}\nX=$(touch {marker})\n" + SCRIPT))
        self.assertFalse(marker.exists())

    def test_what_is_not_known(self):
        self.refused("line 2: --num-layers has a value from outside the script", "m.sh", "N=$(cat x)\na --num-layers $N --hidden-size 4")
        self.refused("there is no --num-layers", "m.sh", "echo --hello\n")
        self.refused("loops take more than", "m.sh", "for ((i=0; i<999999999; i++)); do a --x 1; done\na --num-layers 2")
        self.refused("unknown argument 'strange'", "m.sh", "a --num-layers 2 --hidden-size 8 --num-attention-heads 2 --padded-vocab-size 8 --strange 1")
        self.refused("whose layers follow from Hugging Face's config.json", "m.sh", "a --num-layers 2 --spec slime_plugins.models.qwen3_5 get_qwen3_5_spec")
        for text in ("for ((i=0; i<3; i++)); do", "if (( 1 )); then", "A=(", "a \"", "a '", "a $((", "))", "\0", "printf -v X \"[%s]\" x"):
            self.refused("", "m.sh", text)


class PrimusTest(Folder):
    BASE = "model_type: gpt\nhidden_dropout: 0.0\nadd_bias_linear: false\nnormalization: RMSNorm\nposition_embedding_type: rope\nswiglu: true\n" \
           "disable_primus_topk_router: false\nfinal_logit_softcapping: null\nattn_res_block_size: null\n"
    MODEL = "extends:\n  - base.yaml\ntokenizer_type: HuggingFaceTokenizer\ntokenizer_model: Qwen/Qwen3-4B\nnum_layers: 4\nhidden_size: 192\nnum_attention_heads: 6\n"
    RUN = "work_group: ${TEAM:x}\nmodules:\n  pre_trainer:\n    framework: megatron\n    config: pre_trainer.yaml\n    model: ${PRIMUS_MODEL:small}.yaml\n" \
          "    overrides:\n      seq_length: ${SEQ:2048}\n      tensor_model_parallel_size: ${TP:2}\n      num_layers: 6\n      enable_primus_turbo: true\n"

    def tree(self, **files):
        for name, text in {"base.yaml": self.BASE, "small.yaml": self.MODEL, **files}.items():
            self.file(f"primus/configs/models/megatron/{name}", text)
        self.file("primus/configs/modules/megatron/pre_trainer.yaml", "bf16: true\nmicro_batch_size: 2\nlog_interval: 1\nuse_distributed_optimizer: true\n")

    def test_models_and_runs(self):
        self.tree()
        found = read_model(str(self.folder / "primus/configs/models/megatron/small.yaml"))
        self.assertEqual((found.description.layers, found.description.vocabulary_size), (4, 151936))
        self.assertTrue(any("padded_vocab_size 151936, as Qwen/Qwen3-4B has it" in line for line in found.assumed))
        run = read_model(self.file("examples/run.yaml", self.RUN))
        self.assertEqual((run.description.layers, run.options["seq"], run.options["tp"], run.options["micro_batch"]), (6, 2048, 2, 2))

    def test_sinks(self):
        self.tree(**{"small.yaml": self.MODEL + "use_sink_attention: true\nsink_sliding_window: 128\n"})
        found = read_model(str(self.folder / "primus/configs/models/megatron/small.yaml"))
        self.assertEqual(found.description.layer_kinds, ["window_decoder", "decoder"] * 2)

    def test_bad_files(self):
        self.tree()
        self.refused("names 'no.yaml', which is neither in its folder nor in primus/configs above it", "x.yaml", "extends: [no.yaml]\n")
        self.refused("attn_res_block_size is in use", "primus/configs/models/megatron/x.yaml", "extends: [small.yaml]\nattn_res_block_size: 12\n")
        self.refused("model_type is 'deepseek_v4', whose layers Primus makes itself", "x.yaml", "extends: []\nmodel_type: deepseek_v4\nnum_layers: 3\n")
        self.refused("vocab_size follows from the tokenizer 'a/b'", "primus/configs/models/megatron/x.yaml", "extends: [small.yaml]\ntokenizer_model: a/b\n")
        self.refused("more than 16 files extend each other", "x.yaml", "extends: [x.yaml]\n")
        self.refused("its framework is 'torchtitan'", "x.yaml", "modules: {a: {framework: torchtitan, model: m.yaml}}\n")


class ReplicaTest(unittest.TestCase):
    def test_experts_bring_replicas(self):
        """Without a number of replicas there are as many as the experts need."""
        from ppsched.command.model_options import _with_replicas
        for options, wanted in (({"ep": [8]}, 8), ({"ep": [8], "tp": [2]}, 8), ({"ep": [8], "tp": [2], "etp": 1}, 4), ({"ep": [4], "cp": [4], "etp": 1}, 1),
                                ({"ep": [8], "dp": [3]}, [3]), ({}, None)):
            self.assertEqual(_with_replicas(options).get("dp"), wanted, options)
        self.assertIsNotNone(Model)


if __name__ == "__main__":
    unittest.main()
