# SPDX-License-Identifier: Apache-2.0
"""Recipes of Megatron-Bridge, of NeMo 2 and of NeMo 1."""
import unittest

from test_recipes import Folder

from ppsched import Model, read_model
from ppsched.readers.interpolation import Resolver
from ppsched.readers.nemo_classes import CLASSES, FAMILIES

LLAMA_TOTAL = 8030261248


def total_of(found):
    return Model(found.description).parameters.total


class BridgeTest(Folder):
    MODEL = "  num_layers: 32\n  hidden_size: 4096\n  ffn_hidden_size: 14336\n  num_attention_heads: 32\n  num_query_groups: 8\n  vocab_size: 128256\n  seq_length: 8192\n" \
            "  normalization: RMSNorm\n  gated_linear_unit: true\n  add_bias_linear: false\n  hidden_dropout: 0.0\n  position_embedding_type: rope\n" \
            "  share_embeddings_and_output_weights: false\n"
    RUN = "_target_: megatron.bridge.training.config.ConfigContainer\nmodel:\n  _target_: megatron.bridge.models.llama.Llama3ModelProvider\n" + MODEL + \
          "  tensor_model_parallel_size: 4\n  pipeline_model_parallel_size: 2\n  sequence_parallel: true\n" \
          "  activation_func: {_target_: torch.nn.functional.silu, _call_: false}\n  transformer_layer_spec: {_target_: megatron.bridge.default_layer_spec, _call_: false}\n" \
          "train:\n  micro_batch_size: 1\n  global_batch_size: 128\nddp:\n  use_distributed_optimizer: true\n  grad_reduce_in_fp32: false\nmixed_precision: bf16_mixed\n"

    def test_a_container(self):
        found = read_model(self.file("run_config.yaml", self.RUN))
        self.assertEqual(total_of(found), LLAMA_TOTAL)
        self.assertEqual(found.options, {"precision": "bf16", "tp": 4, "pp": 2, "seq": 8192, "sequence_parallel": True, "micro_batch": 1, "global_batch": 128, "distributed_optimizer": True,
                                         "sizes": ["gradient=2"]})

    def test_data_go_over_the_model(self):
        self.assertEqual(read_model(self.file("r.yaml", self.RUN + "dataset: {sequence_length: 4096}\n")).options["seq"], 4096)

    def test_latent_attention_has_other_defaults(self):
        """Of Megatron Core's class, not of the launcher."""
        latent = self.RUN.replace("  num_query_groups: 8\n", "  multi_latent_attention: true\n")
        block = read_model(self.file("r.yaml", latent)).description.values()["kinds"]["decoder"][0]
        self.assertEqual((block["query_rank"], block["key_value_rank"]), (512, 512))

    def test_refused(self):
        self.refused("model has no num_layers, hidden_size, num_attention_heads, which a recipe in Python says", "r.yaml",
                     "model: {tensor_model_parallel_size: 2}\ntrain: {global_batch_size: 8}\n")
        self.refused("model has no num_layers, hidden_size, num_attention_heads, which a recipe in Python says", "r.yaml",
                     "model: {seq_length: 4096}\ntrain: {global_batch_size: 8}\ndist: {use_megatron_fsdp: false}\n")
        self.refused("made by 'Gemma3ModelProvider', whose layers its fields do not tell", "r.yaml", self.RUN.replace("Llama3ModelProvider", "Gemma3ModelProvider"))
        self.refused("strange is in use, which Megatron-LM does not have", "r.yaml", self.RUN.replace("  num_layers", "  strange: 1\n  num_layers"))
        self.refused("transformer_layer_spec is 'a.odd_spec', which makes layers by itself", "r.yaml", self.RUN.replace("megatron.bridge.default_layer_spec", "a.odd_spec"))
        self.refused("peft is in use", "r.yaml", self.RUN + "peft: {dim: 8}\n")
        self.refused("its model is 'a/b' of Hugging Face, whose config.json is not here", "r.yaml", "model: {hf_id: a/b}\n")


class Nemo2Test(Folder):
    RUN = "_target_: nemo.collections.llm.api.pretrain\nmodel:\n  _target_: nemo.collections.llm.gpt.model.llama.LlamaModel\n  config:\n" \
          "    _target_: nemo.collections.llm.gpt.model.llama.Llama31Config8B\ntrainer:\n  devices: 8\n  num_nodes: 4\n  strategy:\n    tensor_model_parallel_size: 2\n" \
          "    pipeline_model_parallel_size: 2\n    ddp: {grad_reduce_in_fp32: true}\n  plugins: {precision: bf16-mixed}\n" \
          "data:\n  global_batch_size: 512\n  micro_batch_size: 2\n  seq_length: 8192\n" \
          "  tokenizer: {_target_: nemo.AutoTokenizer, pretrained_model_name: meta-llama/Llama-3.1-8B}\n"

    def test_a_run(self):
        found = read_model(self.file("run.yaml", self.RUN))
        self.assertEqual(total_of(found), LLAMA_TOTAL)
        self.assertEqual(found.options, {"precision": "bf16", "tp": 2, "pp": 2, "seq": 8192, "micro_batch": 2, "global_batch": 512, "world_size": 32})
        self.assertEqual(found.assumed, ["the sizes of Llama31Config8B, as NeMo 2.5 has them", "vocab_size 128256, as the tokenizer has it (the file leaves it to the tokenizer)"])

    def test_what_differs_from_the_class(self):
        less = self.RUN.replace("Llama31Config8B\n", "Llama31Config8B\n    num_layers: 4\n")
        self.assertEqual(read_model(self.file("run.yaml", less)).description.layers, 4)

    def test_published_totals(self):
        """By config.json of the model; NeMo pads rows of the vocabulary, which the others have already."""
        for name, total in (("Qwen3Config8B", 8190735360), ("Qwen3Config30B_A3B", 30532122624), ("Qwen25Config7B", 7615616512), ("GPTOSSConfig20B", 20914757184),
                            ("Llama3Config70B", 70553706496)):
            rows = self.RUN if "Llama" in name else self.RUN.replace("data:", "other:")
            self.assertEqual(total_of(read_model(self.file("run.yaml", rows.replace("Llama31Config8B", name)))), total, name)

    def test_every_class_is_read(self):
        for name, (family, _, _) in CLASSES.items():
            found = read_model(self.file("run.yaml", self.RUN.replace("Llama31Config8B", name)))
            self.assertGreater(total_of(found), 10**8, name)
            self.assertIn(family, FAMILIES)

    def test_refused(self):
        self.refused("its model is a 'Llama31Config9B', whose sizes are not known; did you mean Llama31Config8B?", "r.yaml", self.RUN.replace("Config8B", "Config9B"))
        self.refused("peft is in use", "r.yaml", self.RUN + "peft: {_target_: nemo.collections.llm.peft.LoRA}\n")
        self.refused("vocab_size follows from the tokenizer 'a/b', whose file is not read", "r.yaml", self.RUN.replace("meta-llama/Llama-3.1-8B", "a/b"))
        self.refused("trainer must be a mapping", "r.yaml", self.RUN[:self.RUN.index("trainer")] + "trainer: 3\n")


class Nemo1Test(Folder):
    RUN = "name: megatron_llama\ntrainer:\n  devices: 8\n  num_nodes: 2\n  precision: bf16\nmodel:\n  mcore_gpt: true\n  micro_batch_size: 1\n  global_batch_size: 128\n" \
          "  tensor_model_parallel_size: 2\n  pipeline_model_parallel_size: 4\n  encoder_seq_length: 4096\n  max_position_embeddings: ${.encoder_seq_length}\n" \
          "  num_layers: 32\n  hidden_size: 4096\n  ffn_hidden_size: ${multiply:${.hidden_size},3.5}\n  num_attention_heads: 32\n  num_query_groups: 8\n" \
          "  normalization: rmsnorm\n  activation: fast-swiglu\n  bias: false\n  hidden_dropout: 0.0\n  position_embedding_type: rope\n" \
          "  share_embeddings_and_output_weights: false\n  activations_checkpoint_granularity: selective\n  tokenizer: {library: huggingface, type: meta-llama/Meta-Llama-3-8B}\n" \
          "  optim: {name: distributed_fused_adam}\n"

    def test_a_model(self):
        found = read_model(self.file("llama.yaml", self.RUN))
        self.assertEqual(total_of(found), LLAMA_TOTAL)
        self.assertEqual(found.options, {"precision": "bf16", "tp": 2, "pp": 4, "seq": 4096, "micro_batch": 1, "global_batch": 128, "recompute": "selective", "distributed_optimizer": True,
                                         "world_size": 16})

    def test_refused(self):
        for old, new, part in (("mcore_gpt: true", "mm_cfg: {a: 1}", "a tower for images before the layers"), ("name: megatron_llama", "name: megatron_t5", "layers that its fields do not tell"),
                               ("mcore_gpt: true", "transformer_block_type: post_ln", "transformer_block_type is 'post_ln', which would change the answer"),
                               ("mcore_gpt: true", "strange: 1", "strange is in use"), ("mcore_gpt: true", "peft: {peft_scheme: lora}", "peft is in use"),
                               ("type: meta-llama/Meta-Llama-3-8B", "type: a/b", "the vocabulary follows from the tokenizer 'a/b'"),
                               ("num_layers: 32", "num_layers: ???", "num_layers"), ("activation: fast", "encoder: {a: 1}\n  activation: fast", "an encoder and a decoder"),
                               ("normalization: rmsnorm", "normalization: odd", "normalization is 'odd'")):
            self.assertIn(old, self.RUN)
            self.refused(part, "r.yaml", self.RUN.replace(old, new))

    def test_values_of_other_places(self):
        found = Resolver({"a": {"b": 2, "c": "${.b}", "d": "${a.b}x", "e": "${sum:${a.b},3}", "f": "${g}", "h": "???", "i": ["${.b}"], "j": "${divide_ceil:5,2}",
                                "k": "${run.a.b}", "l": "${..m}", "n": "${oc.env:HOME}", "o": "${a.o}"}, "m": 7}).section("a")
        self.assertEqual(found, {"b": 2, "c": 2, "d": "2x", "e": 5, "f": None, "h": None, "i": [2], "j": 3, "k": 2, "l": 7, "n": None, "o": None})


if __name__ == "__main__":
    unittest.main()
