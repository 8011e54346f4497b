# SPDX-License-Identifier: Apache-2.0
"""Files as launchers have them: shell scripts with Megatron-LM's arguments, files of options, Primus' YAML."""
import json
import pathlib
import subprocess
import tempfile
import unittest

import ppsched
from ppsched import Description, Model, Training, read_model
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


# Lines of a script, and a value of an option after them, for a=(1 20 3).
JOINED = (
    ('IFS=,', '"${a[*]}"'), ("IFS=', '", '"[${a[*]}]"'), ('IFS=', '"${a[*]}"'), ('IFS=,; x=${a[*]}', '"$x"'), ('IFS=,; x=${a[@]}; IFS=-', '"$x"'),
    ('IFS=,; x="${a[*]}"; IFS=" "', '"$x"'), ('x=[$(IFS=,; echo "${a[*]}")]', '"$x"'), ("", '"[$(IFS=, ; echo "${a[*]}" )]*2"'),
    ("", '$(IFS=,; echo "${a[*]}")'), ("", '"$(IFS=,; echo ${a[*]})"'), ("", '"$(IFS=, && echo -n "${a[*]}")"'),
    ("", '"$(IFS=-; printf \'%s\' "${a[*]}")"'), ("", '"$(IFS=+; x="${a[*]}"; echo "1 $x")"'), ('IFS=" "', '"$(IFS=,; echo "${a[*]}")${a[*]}"'),
    ("printf -v x '([%s]*2)' \"$(IFS=', '; echo \"${a[*]}\")\"", '"$x"'), ("printf -v x '<%s>' \"${a[*]}\"", '"$x"'),
    ('IFS=, read -r y <<< 1,2', '"${a[*]}"'), ('join() { local IFS=,; echo "$*"; }', '"${a[*]}"'), ("x=1,2,3", '"$(IFS=,; echo $x)"'),
    ("x=4", '"$(x=5; IFS=,; echo "$x ${a[*]}")$x"'))


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

    def refused(self, part, name, text, place=None):
        """place: the file that the error names, if that is another one."""
        path = self.file(name, text)
        with self.assertRaises(ppsched.Error) as caught:
            read_model(path)
        self.assertIn(part, str(caught.exception))
        self.assertIn(place or path, str(caught.exception))
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

    def test_lists_are_joined_as_bash_does(self):
        for lines, value in JOINED:
            script = f"a=(1 20 3)\n{lines}\npython x.py --y={value}\n"
            done = subprocess.run(["bash", "-c", "python() { printf '%s' \"$2\"; }\n" + script], capture_output=True, text=True, check=True)
            found = [option.words for group in script_groups("s", script) for option in group.options]
            self.assertEqual([f"--y={words[0]}" for words in found], [done.stdout], script)
        deep = '"$(echo ' * 300 + "1" + ')"' * 300
        for value in (deep, '"$(IFS=,; tr "${a[*]}")"', '"$(IFS=,; echo "${a[*]}" | tr , -)"', '"$(cat x; echo 1)"', '"$(echo "$unset")"'):
            with self.assertRaisesRegex(ppsched.Error, "from outside the script"):
                self.options(f"a=(1 20 3)\npython x.py --y={value}\n")

    def test_parts_of_paths_are_those_of_coreutils(self):
        for told in ("basename a/b/c.sh", "basename a/b/c.sh .sh", "basename .sh .sh", "basename a/b//", "basename /", 'basename ""', "dirname a/b/c.sh", "dirname c.sh",
                     "dirname /a", "dirname //a//b//", "dirname /", 'dirname ""', 'basename "$A" .yaml', 'basename "$(dirname "$A")"'):
            script = f"A='x y/z.yaml'\npython x.py --y=\"$({told})\"\n"
            done = subprocess.run(["bash", "-c", "python() { printf '%s' \"$2\"; }\n" + script], capture_output=True, text=True, check=True)
            found = [option.words for group in script_groups("s", script) for option in group.options]
            self.assertEqual([f"--y={words[0]}" for words in found], [done.stdout], script)
        for told in ("basename $(cat x)", "basename a $(cat x)", "dirname $(cat x)", "dirname a/$(cat x)", "basename -a x y", "basename x | cat", "dirname x y", "basename"):
            with self.assertRaisesRegex(ppsched.Error, "from outside the script"):
                self.options(f'python x.py --y="$({told})"\n')
        self.assertEqual(self.options('if [ "$(basename "$CONFIG")" = x.yaml ]; then N=1; else N=2; fi\na --x $N'), [("x", 2)])

    def test_conditions(self):
        for condition, holds in (
                ('[ "$A" = x ]', True), ("[ $A == y ]", False), ('[[ $A != "y" ]]', True), ("[[ $A == [w-z]* ]]", True), ('[ -n "$A" ]', True), ('[ -z "$NONE" ]', True),
                ("[ $N -gt 2 ] && [ $N -le 3 ]", True), ("[ $N -lt 3 ] || [ $N -ge 3 ]", True), ("! [ $N -eq 3 ]", False), ("[[ $N -eq 3 && $A == y ]]", False),
                ("[[ -z $A || -n $A ]]", True), ("(( N % 2 ))", True), ("test $N -ne 3", False), ("[ $# -gt 0 ]", False), ("[ $A -eq 3 ]", None), ("[ -d /x ]", None),
                ('[ "$UNSURE" = x ]', None), ("which nvcc", None), ("[ -d /x ] || [ $N -eq 3 ]", True), ("[ -d /x ] && [ $N -eq 4 ]", False)):
            script = f"A=x; N=3; UNSURE=$(cat y)\nif {condition}; then\n  a --x 1\nelse\n  a --y 1\nfi\na --z 1"
            found = [(option.name, option.is_sure) for group in script_groups("s", script) for option in group.options]
            self.assertEqual(found, ([("x", True)] if holds else [("y", True)] if holds is False else [("x", False), ("y", False)]) + [("z", True)], condition)

    def test_branches(self):
        for text, wanted in (
                ('M=8B\ncase "$M" in\n  1B|2B) N=1 ;;\n  "8B")\n    N=2\n    ;;\n  *)\n    N=3\n    ;;\nesac\na --x $N', [("x", 2)]),
                ("case $M in (a) N=1 ;; *) N=3 ;; esac; a --x $N", [("x", 3)]),
                ("N=1\nif (( N > 1 )); then a --x 1; elif (( N == 1 )); then a --x 2; else a --x 3; fi", [("x", 2)]),
                ("N=5\n[ $N -gt 4 ] && A+=(--x 1)\n[ $N -gt 5 ] && A+=(--y 1)\n[ $N -gt 5 ] || a --z 1", [("x", 1), ("z", 1)]),
                ("while [ $# -gt 0 ]; do N=7; shift; done\na --x ${N:-6}", [("x", 6)]), ("for N in 1 2; do a --x $N; done", [("x", 1), ("x", 2)]),
                ("f() {\n  N=4\n  a --x $N\n}\nf", [("x", 4)]), ("cat > f <<EOF\na --no 1 \"\nEOF\na --x 1", [("x", 1)]), ("a --x 1 2>&1 | tee log --y 2", [("x", 1), ("y", 2)]),
                ("A=1; A+=2; a --x $A", [("x", 12)]), ("echo --no 1; a --x \\\n 1", [("x", 1)]), ("N=2\nif which b; then N=2; fi\na --x $N", [("x", 2)])):
            self.assertEqual(self.options(text), wanted, text)

    def test_arrays_count_where_they_are_taken(self):
        self.assertEqual(self.options("A=(--x 1)\nB=(--x 2)\nC=(--x 3)\na ${B[@]} --y 1 \"${A[@]}\""), [("x", 2), ("y", 1), ("x", 1)])
        self.assertEqual(self.options("A=(--x 1)\nB=(--y 2)"), [("x", 1), ("y", 2)])
        self.assertEqual(self.options("A=(--x 1)\nB=(${A[@]} --y 2)\na ${B[@]}"), [("x", 1), ("x", 1), ("y", 2)])
        self.assertEqual(self.options("A=(--x 1)\nA=(--w 2 \"${A[@]}\" --y 2)\na ${A[@]}"), [("w", 2), ("x", 1), ("y", 2)])
        self.assertEqual(self.options("N=2\nA=(--x 1)\nif [ $N = 2 ]; then A=(${A[@]} --y); fi\nA=(--z ${A[@]})\na ${A[@]}"), [("z", True), ("x", 1), ("y", True)])
        self.assertEqual(self.options("A=(\"--x 1\" --y)\nmkdir $B"), [("x", 1), ("y", True)])
        self.assertEqual(self.options("A=\"--x 1 --y 2\""), [("x", 1), ("y", 2)])

    def test_programs(self):
        groups = script_groups("s", "torchrun --nproc 8 --standalone pretrain_gpt.py --x 1\npython -m a.b --y a.py")
        self.assertEqual([(group.program, [option.name for option in group.options]) for group in groups], [("pretrain_gpt.py", ["x"]), ("a.b", ["y"])])
        self.assertEqual(self.options("D=(--nproc 8)\nA=(--x 1)\ntorchrun ${D[@]} a.py ${A[@]}"), [("x", 1)])
        model = " --num-layers 2 --hidden-size 8 --num-attention-heads 2 --padded-vocab-size 8\n"
        self.refused("it runs 'bert/pretrain_bert.py', whose model has more than the layers of a decoder", "m.sh", "python examples/bert/pretrain_bert.py" + model)
        self.refused("it runs 'tools/run_inference_server.py', which trains nothing", "m.sh", "python tools/run_inference_server.py" + model)

    def test_what_may_be_or_not(self):
        model = "A=(--num-layers 2 --hidden-size 8 --num-attention-heads 2 --padded-vocab-size 8)\n"
        self.refused("line 2: --swiglu depends on a condition from outside the script", "m.sh", model + "if which b; then A+=(--swiglu); fi\na ${A[@]}")
        self.refused("line 3: --seq-length has a value from outside the script", "m.sh", model + "N=1; if which b; then N=2; fi\na --seq-length $N")
        found = read_model(self.file("m.sh", model + "if which b; then A+=(--save x); fi\na ${A[@]}"))
        self.assertEqual(found.description.layers, 2)

    def test_sourced_files(self):
        self.file("models/small.sh", 'MODEL_ARGS=(--num-layers 2 --hidden-size 8 --num-attention-heads 2 --padded-vocab-size $ROWS)\n')
        run = 'HERE="$(dirname "$0")"\nROWS=64\nsource "${HERE}/../models/small.sh"\npython train.py ${MODEL_ARGS[@]} --seq-length 16\n'
        found = read_model(self.file("scripts/run.sh", run))
        self.assertEqual((found.description.vocabulary_size, found.options), (64, {"seq": 16}))
        for before in ("ROWS=96", "ROWS='96'", "X=1 ROWS=96", "ROWS=$((3 * ROWS / 2)) X=\"a b\""):
            self.assertEqual(read_model(self.file("scripts/run.sh", run.replace("source", before + " source"))).description.vocabulary_size, 96, before)
        self.assertEqual(self.options("A=\"--x source 1\"\nB='a . b'\nexport C=2 . 3\na $A --y \"$B\" --z $C"), [("x", ["source", 1]), ("y", "a . b"), ("z", 2)])
        self.refused("line 3: --seq-length has a value", "scripts/run.sh", "ROWS=8\nX=8 source ../models/small.sh\npython a.py ${MODEL_ARGS[@]} --seq-length $X --padded-vocab-size 8\n")
        self.refused("line 1: --padded-vocab-size has a value", "scripts/run.sh", run.replace("ROWS=64", ""), "small.sh")
        self.refused("it sources '\"${HERE}/../models/none.sh\"', which is not found", "scripts/run.sh", run.replace("small", "none"))
        self.file("models/small.sh", ". ./small.sh\n")
        self.refused("more than 8 files source each other", "scripts/run.sh", run)

    def test_vocabularies(self):
        model = "python pretrain_gpt.py --num-layers 2 --hidden-size 8 --num-attention-heads 2 --tensor-model-parallel-size 2 "
        for more, rows, told in (("--vocab-file $1 --merge-file $2", 50432, "GPT2BPETokenizer"), ("--tokenizer-type Llama2Tokenizer --tokenizer-model $1", 32000, "Llama2Tokenizer"),
                                 ("--tokenizer-type TikTokenizer --make-vocab-size-divisible-by 1", 131072, "TikTokenizer"),
                                 ("--tokenizer-type HuggingFaceTokenizer --tokenizer-model meta-llama/Llama-3.1-8B", 128256, "HuggingFaceTokenizer"),
                                 ("--vocab-size 1000 --no-pad-vocab-size", 1000, None), ("--vocab-size 1000", 1024, None)):
            found = read_model(self.file("m.sh", model + more))
            self.assertEqual(found.description.vocabulary_size, rows, more)
            self.assertEqual(any(f"as {told} has it" in line for line in found.assumed), told is not None)
        self.refused("its vocabulary comes from the tokenizer 'HuggingFaceTokenizer', whose file is not read; add --vocab-size", "m.sh",
                     model + "--tokenizer-type HuggingFaceTokenizer --tokenizer-model $1")
        self.refused("its tokenizer is BertWordPieceCase, of models with more", "m.sh", model + "--tokenizer-type BertWordPieceCase --vocab-file $1")

    def test_switches_that_options_turn_off(self):
        model = "--num-layers 2 --hidden-size 8 --num-attention-heads 2 --padded-vocab-size 8 "
        for option in ("--no-fp8-wgrad", "--disable-fp8-wgrad", "--no-align-grad-reduce", "--no-rl-persist-cuda-graphs", "--no-inference-dynamic-batching-prefix-caching"):
            self.assertEqual(read_model(self.file("m.args", model + option)).warnings, [], option)
        self.refused("unknown argument 'no_such_thing'", "m.args", model + "--no-such-thing")

    def test_positions_of_gpt_oss(self):
        """Its switch of ModelOpt turns learned positions off, whatever the arguments say."""
        model = "python finetune.py --num-layers 2 --hidden-size 64 --num-attention-heads 2 --padded-vocab-size 64 --max-position-embeddings 128"
        for more, rows in (("", 128), (" --enable-gpt-oss", 0), (" --enable-gpt-oss --position-embedding-type learned_absolute", 0)):
            self.assertEqual(read_model(self.file("m.sh", model + more)).description.positions, rows, more)
        text = "MODEL_ARGS: {--num-layers: 2, --hidden-size: 64, --num-attention-heads: 2, --padded-vocab-size: 64, --max-position-embeddings: 128, --enable-gpt-oss: true}\n"
        self.assertEqual(read_model(self.file("m.yaml", text)).description.positions, 0)
        self.assertEqual(read_model(self.file("m.yaml", text.replace("true", "false"))).description.positions, 128)

    def test_mappings_of_options(self):
        text = "ENV_VARS: {A: 1}\nMODEL_ARGS:\n  --num-layers: 2\n  --hidden-size: 192\n  --num-attention-heads: 2\n  --swiglu: true\n  --bf16: true\n  --qk-layernorm: false\n" \
               "  --seq-length: 64\n  --vocab-file: ${DATA}/v.json\n  --merge-file: ${DATA}/m.txt\n  --save: ${OUT}\n"
        found = read_model(self.file("m.yaml", text))
        self.assertEqual((found.description.vocabulary_size, found.options), (50304, {"precision": "bf16", "seq": 64}))
        self.refused("--micro-batch-size is '${N}', which the run takes from elsewhere", "m.yaml", text + "  --micro-batch-size: ${N}\n")
        self.refused("there is no --num-layers", "m.yaml", "MODEL_ARGS: {--seq-length: 2}\n")
        self.refused("unknown argument 'strange'", "m.yaml", text + "  --strange: ${N}\n")
        self.refused("its MODE is inference, which trains nothing; give a file of a training", "m.yaml", "MODE: inference\n" + text + "  --strange: ${N}\n")

    def test_older_recomputation(self):
        text = "a --num-layers 2 --hidden-size 8 --num-attention-heads 2 --padded-vocab-size 8 --max-position-embeddings 8 --activations-checkpoint-method uniform\n"
        self.assertEqual(read_model(self.file("m.sh", text)).options["recompute"], "full")

    def test_norms_of_all_heads(self):
        """The layers of slime's MiniMax-M2 are those of its config.json, but for the bias of routers, which Megatron-LM does not learn."""
        sizes = {"num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 24, "intermediate_size": 32, "vocab_size": 256,
                 "num_local_experts": 4, "num_experts_per_tok": 2, "use_mtp": False}
        script = "A=(--spec slime_plugins.models.minimax_m2 get_minimax_m2_layer_spec --num-layers 3 --hidden-size 64 --num-attention-heads 4 --num-query-groups 2 " \
                 "--kv-channels 24 --ffn-hidden-size 32 --vocab-size 256 --group-query-attention --qk-layernorm --disable-bias-linear --normalization RMSNorm --swiglu " \
                 "--position-embedding-type rope --untie-embeddings-and-output-weights --num-experts 4 --moe-ffn-hidden-size 32 --moe-router-topk 2)\n"
        found, wanted = read_model(self.file("m.sh", script)).description, Description(json.dumps({"model_type": "minimax_m2", **sizes}))
        self.assertTrue(all(blocks[0]["qk_norm_all"] for blocks in found.values()["kinds"].values()))
        self.assertEqual(Model(found).parameters.total, Model(wanted).parameters.total - 3 * 4)

    def test_nothing_runs(self):
        marker = self.folder / "marker"
        read_model(self.file("model.sh", f"touch {marker}\nX=$(touch {marker})\n" + SCRIPT))
        self.assertFalse(marker.exists())

    def test_what_is_not_known(self):
        self.refused("line 2: --num-layers has a value from outside the script", "m.sh", "N=$(cat x)\na --num-layers $N --hidden-size 4")
        self.refused("there is no --num-layers", "m.sh", "echo --hello\n")
        self.refused("loops take more than", "m.sh", "for ((i=0; i<999999999; i++)); do X=$i; done\na --num-layers 2")
        self.refused("more than 2000 of its commands and arrays have options", "m.sh", "for ((i=0; i<999999999; i++)); do a --x 1; done\na --num-layers 2")
        self.refused("unknown argument 'strange'", "m.sh", "a --num-layers 2 --hidden-size 8 --num-attention-heads 2 --padded-vocab-size 8 --strange 1")
        self.refused("whose layers follow from Hugging Face's config.json", "m.sh", "a --num-layers 2 --spec slime_plugins.models.qwen3_5 get_qwen3_5_spec")
        self.refused("exp_avg_dtype is ['fp8']", "m.yaml", "num_layers: 2\nhidden_size: 8\nnum_attention_heads: 2\npadded_vocab_size: 8\nuse_precision_aware_optimizer: true\n"
                     "exp_avg_dtype: [fp8]\n")
        self.refused("it sources", "m.sh", "source " + "x" * 5000 + ".sh")
        self.refused("--seq-length has a value from outside the script", "m.sh", "a --num-layers 2 --seq-length \"$X\n--y\"")
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

    def of_tokenizer(self, name):
        return read_model(self.file("primus/configs/models/megatron/x.yaml", f"extends: [small.yaml]\ntokenizer_model: {name}\n")).description.vocabulary_size

    def test_quoted_defaults(self):
        self.tree(**{"small.yaml": self.MODEL + "num_experts: 4\nmoe_ffn_hidden_size: 8\nmoe_layer_freq: ${FREQ:\"[0]*1+[1]*3\"}\n"})
        found = read_model(str(self.folder / "primus/configs/models/megatron/small.yaml"))
        self.assertEqual(found.description.layer_kinds, ["decoder"] + ["moe_decoder"] * 3)

    def test_models_and_runs(self):
        self.tree()
        found = read_model(str(self.folder / "primus/configs/models/megatron/small.yaml"))
        self.assertEqual((found.description.layers, found.description.vocabulary_size), (4, 151936))
        self.assertEqual([self.of_tokenizer(name) for name in ("Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-1.5B-Instruct", "Qwen/Qwen2.5-3B", "Qwen/Qwen2.5-7B", "moonshotai/Kimi-K3")],
                         [151936, 151936, 151936, 152064, 163840])
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
        self.refused("model_type is 'flux', whose layers Primus makes itself", "x.yaml", "extends: []\nmodel_type: flux\nnum_layers: 3\n")
        self.refused("vocab_size is missing, and tokenizer_model, from whose name it would follow", "primus/configs/models/megatron/base.yaml", self.BASE + "extends: []\nnum_layers: 2\n")
        self.refused("vocab_size follows from the tokenizer 'a/b'", "primus/configs/models/megatron/x.yaml", "extends: [small.yaml]\ntokenizer_model: a/b\n")
        self.refused("more than 16 files extend each other", "x.yaml", "extends: [x.yaml]\n")
        self.refused("its framework is 'maxtext'; supported are megatron, torchtitan, megatron_bridge", "x.yaml", "modules: {a: {framework: maxtext, model: m.yaml}}\n")
        self.refused("extends must be a list of files, not 3", "x.yaml", "extends: 3\n")
        self.refused("overrides must be a mapping, not 3", "x.yaml", "modules: {a: {framework: megatron, model: primus/configs/models/megatron/small.yaml, overrides: 3}}\n")
        self.refused("none of its modules has a model", "x.yaml", "bases: []\nmodules: {a: {framework: megatron}}\n")


class PrimusLayersTest(Folder):
    """Models whose layers Primus makes itself."""
    COMMON = "normalization: RMSNorm\nswiglu: true\nadd_bias_linear: false\nmake_vocab_size_divisible_by: 1\nuntie_embeddings_and_output_weights: true\n" \
             "hidden_size: 64\nnum_attention_heads: 4\nvocab_size: 100\nmoe_router_topk: 2\nmoe_ffn_hidden_size: 16\nmoe_shared_expert_intermediate_size: 16\n"
    V4 = COMMON + "extends: []\nmodel_type: deepseek_v4\nnum_layers: 4\nkv_channels: 16\nnum_query_groups: 1\nq_lora_rank: 24\no_lora_rank: 8\no_groups: 2\n" \
        "num_experts: 4\nindex_n_heads: 2\nindex_head_dim: 8\nindex_topk: 4\nattn_sliding_window: 8\nattn_sink: true\ncompress_ratios: \"[0, 4, 128, 4, 0]\"\n" \
        "hc_mult: 2\nnum_hash_layers: 1\nmtp_num_layers: 1\nmax_position_embeddings: 512\nseq_length: 128\ntensor_model_parallel_size: 2\n"
    K3 = COMMON + "extends: []\nmodel_type: kimi_k3\nnum_layers: 5\nffn_hidden_size: 96\nq_lora_rank: 24\nkv_lora_rank: 16\nqk_head_dim: 8\nv_head_dim: 8\n" \
        "qk_pos_emb_head_dim: 4\nlinear_num_key_heads: 4\nlinear_num_value_heads: 4\nlinear_key_head_dim: 8\nlinear_value_head_dim: 8\nkda_use_full_rank_gate: true\n" \
        "linear_attention_freq: \"[1]*3+[0]*2\"\nattn_res_block_size: 2\nnum_experts: 4\nrouted_expert_hidden_size: 32\nlatent_moe_use_norm: true\n" \
        "moe_layer_freq: \"([0]*1+[1]*4)\"\nmla_use_output_gate: true\n"
    LFM = COMMON.replace("moe_shared_expert_intermediate_size: 16\n", "") + "extends: []\nmodel_type: gpt\nnum_layers: 4\nffn_hidden_size: 96\nnum_experts: 4\nnum_query_groups: 2\n" \
        "qk_layernorm: true\nmoe_layer_freq: \"([0]*1+[1]*3)\"\nlfm_layer_types: [conv, full_attention, conv, full_attention]\n"
    STACK = "normalization: RMSNorm\nswiglu: true\nadd_bias_linear: false\nvocab_size: 128\nextends: []\nmodel_type: mamba\nnum_layers: 16\nhidden_size: 64\n" \
            "ffn_hidden_size: 96\nnum_attention_heads: 4\nmulti_latent_attention: true\nq_lora_rank: 24\nkv_lora_rank: 16\nqk_head_dim: 8\nv_head_dim: 8\n" \
            "qk_pos_emb_head_dim: 4\nhybrid_attention_ratio: 0.25\nmamba_state_dim: 8\nmamba_head_dim: 8\nmamba_num_groups: 2\nlinear_num_key_heads: 2\n" \
            "linear_num_value_heads: 4\nlinear_key_head_dim: 8\nlinear_value_head_dim: 6\nlinear_conv_kernel_dim: 4\n"
    SPEC = "spec: [primus.backends.megatron.core.models.hybrid.hybrid_mamba_mla_layer_specs, %s]\n"

    def described(self, text):
        return read_model(self.file("m.yaml", text))

    def parameters(self, text):
        return Model(self.described(text).description, Training(sequence_length=64)).parameters.total

    def test_families_of_hugging_face(self):
        """As the same model of Hugging Face under its own names."""
        sizes = {"hidden_size": 64, "vocab_size": 100, "num_attention_heads": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
        v4 = {**sizes, "model_type": "deepseek_v4", "num_hidden_layers": 4, "head_dim": 16, "num_key_value_heads": 1, "q_lora_rank": 24, "o_lora_rank": 8, "o_groups": 2,
              "n_routed_experts": 4, "index_n_heads": 2, "index_head_dim": 8, "index_topk": 4, "sliding_window": 8, "compress_ratios": [0, 4, 128, 4, 0], "hc_mult": 2,
              "num_hash_layers": 1, "num_nextn_predict_layers": 1, "max_position_embeddings": 512}
        found = self.described(self.V4)
        self.assertEqual(found.description.values(), Description(json.dumps(v4)).values())
        self.assertEqual((found.options["seq"], found.options["tp"]), (128, 2))
        delta, full = "linear_attention", "full_attention"
        k3 = {**sizes, "model_type": "kimi_k3", "num_hidden_layers": 5, "intermediate_size": 96, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_nope_head_dim": 8,
              "qk_rope_head_dim": 4, "v_head_dim": 8, "layer_types": [delta] * 3 + [full] * 2, "mlp_layer_types": ["dense"] + ["sparse"] * 4, "num_experts": 4,
              "routed_expert_hidden_size": 32, "latent_moe_use_norm": True, "attn_res_block_size": 2, "mla_use_output_gate": True,
              "linear_attn_config": {"num_heads": 4, "head_dim": 8, "short_conv_kernel_size": 4, "use_full_rank_gate": True}}
        self.assertEqual(self.described(self.K3).description.values(), Description(json.dumps(k3)).values())
        lfm = {**sizes, "model_type": "lfm2_moe", "num_hidden_layers": 4, "intermediate_size": 96, "num_experts": 4, "num_key_value_heads": 2, "num_dense_layers": 1,
               "layer_types": ["conv", full] * 2, "use_expert_bias": False, "tie_word_embeddings": False}
        self.assertEqual(self.described(self.LFM).description.values(), Description(json.dumps(lfm)).values())

    def test_stacks(self):
        """Parameters of stacks, counted here matrix by matrix."""
        latent = 64 * 24 + 24 * 4 * 12 + 64 * 20 + 16 * 4 * 16 + 32 * 64 + 24 + 16 + 64
        mlp, ends, convolved = 3 * 64 * 96 + 64, 128 * 64 + 64, 2 * 2 * 8 + 4 * 6
        delta = 64 * (2 * 16 + 2 * 24 + 8) + 4 * convolved + 8 + 6 + 24 * 64 + 64
        kda = 64 * (2 * 32 + 24 + 2 * 6 + 4) + 4 * (2 * 32 + 24) + 6 * 32 + 4 + 32 + 6 * 24 + 24 + 6 + 24 * 64 + 64

        def mamba(inner):
            heads = inner // 8
            return 64 * (2 * inner + 2 * 2 * 8 + heads) + 5 * (inner + 32) + 3 * heads + inner + inner * 64 + 64

        alike = self.STACK.replace("linear_num_key_heads: 2", "linear_num_key_heads: 4")
        for text, name, mixer, more in ((self.STACK, "hybrid_stack_spec", mamba(64), 2 * 40), (self.STACK, "mamba_hybrid_stack_spec_no_te", mamba(128), 0),
                                        (self.STACK, "gdn_hybrid_stack_spec", delta, 2 * 40), (self.STACK, "gdn_hybrid_stack_spec_no_te", delta, 0),
                                        (alike, "kda_hybrid_stack_spec", kda + 64, 2 * 40), (alike, "kda_hybrid_stack_spec_no_te", kda, 0)):
            self.assertEqual(self.parameters(text + self.SPEC % name), 2 * latent + 6 * mixer + 8 * mlp + ends + more, name)
        full = self.described(self.STACK.replace("0.25", "0.75") + self.SPEC % "hybrid_stack_spec").description.layer_kinds
        self.assertEqual([kind[:3] for kind in full], ["lat", "mlp"] * 4 + ["lat", "mlp", "mam", "mlp"] * 2)
        pure = self.described(self.STACK.replace("0.25", "0.0") + self.SPEC % "gdn_hybrid_stack_spec").description.layer_kinds
        self.assertEqual([kind[:3] for kind in pure], ["del", "mlp"] * 8)
        given = self.described(self.STACK + "hybrid_override_pattern: \"*-M-\"\n" + self.SPEC % "gdn_hybrid_stack_spec").description.layer_kinds
        self.assertEqual([kind[:3] for kind in given], ["lat", "mlp", "del", "mlp"])

    def test_ratios_of_the_launcher(self):
        """Megatron-LM 0.15 spreads attention evenly between layers of Mamba, and puts MLPs evenly into those that are left."""
        lines = [line for line in self.STACK.splitlines() if not line.startswith(("linear_", "multi_", "q_lora", "kv_lora", "qk_", "v_head", "hybrid"))]
        text = "\n".join(lines) + "\nspec: [megatron.core.models.mamba.mamba_layer_specs, mamba_stack_spec]\n"
        for attention, mlp, wanted in ((0, 0, "M" * 16), (0.125, 0, "MMMMM*MMMM*MMMMM"), (0, 0.5, "M-" * 8), (0.125, 0.5, "M-M--*M-M-*M--M-")):
            found = self.described(text + f"hybrid_attention_ratio: {attention}\nhybrid_mlp_ratio: {mlp}\n").description.layer_kinds
            self.assertEqual("".join({"mam": "M", "att": "*", "mlp": "-"}[kind[:3]] for kind in found), wanted, (attention, mlp))

    def test_what_is_not_read(self):
        for text, part in ((self.V4 + "attn_sink: false\n", "attn_sink is False; layers of deepseek_v4 have True"), (self.V4 + "add_qkv_bias: true\n", "add_qkv_bias is in use"),
                           (self.V4 + "moe_layer_freq: 2\n", "moe_layer_freq is 2; all layers of deepseek_v4 have experts"), (self.V4 + "mup: 3\n", "mup is in use, but deepseek_v4"),
                           (self.V4.replace("[0, 4,", "[x, 4,"), "it must be a list of whole numbers"), (self.V4 + "moe_shared_expert_intermediate_size: 9\n", "a multiple of moe_ffn"),
                           (self.K3 + "linear_num_key_heads: 2\n", "KDA of kimi_k3 has one number for both"), (self.K3 + "mtp_num_layers: 1\nmtp_layer_type: kda\n", "give mtp_layer_type mla"),
                           (self.LFM + "qk_layernorm: false\n", "qk_layernorm is off"), (self.LFM + "moe_layer_freq: 2\n", "0 only in the first layers"),
                           (self.STACK, "spec is missing"), (self.STACK + self.SPEC % "x", "spec names 'x'; stacks of Primus are hybrid_stack_spec,"),
                           (self.STACK + "spec: []\n", "spec is empty"), (self.STACK + self.SPEC % "kda_hybrid_stack_spec", "KDA is counted with as many as"),
                           (self.STACK.replace("0.25", "2") + self.SPEC % "hybrid_stack_spec", "hybrid_attention_ratio is 2; it must be a number from 0 to 1"),
                           (self.STACK + "use_short_conv: false\n" + self.SPEC % "gdn_hybrid_stack_spec", "use_short_conv is off"), (self.LFM + "lora: {enabled: true}\n", "give --lora-rank")):
            *_, last = text.splitlines()
            name = last.split(":")[0]
            own = [line for line in text.splitlines()[:-1] if not line.startswith(name + ":")]
            self.refused(part, "x.yaml", "\n".join([*own, last, ""]))
        self.file("m.yaml", "a: 1\n")
        self.refused("the recipe 'a_config', whose code has the sizes", "x.yaml", "modules: {a: {framework: megatron_bridge, model: m.yaml, overrides: {flavor: a_config}}}\n")


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
