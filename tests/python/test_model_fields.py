# SPDX-License-Identifier: Apache-2.0
"""config.json of the types that are read, field by field: fields of other families, windows, wrong kinds of values."""
import json
import pathlib
import tempfile
import unittest

from in_process import run_command

import ppsched
from ppsched import Model
from ppsched.readers.huggingface import TYPES
from ppsched.readers.huggingface_fields import HARMLESS, NO_SLIPS, OWN, STRUCTURE
from ppsched.readers.model_files import model_of

DATA = pathlib.Path(__file__).resolve().parent.parent / "layers"
OFF = (None, False, 0, 0.0, [], {}, "")

# What other families have in their files, by family.
OTHERS = {
    "qwen3_next": {"linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128, "linear_conv_kernel_dim": 4,
                   "shared_expert_intermediate_size": 512, "full_attention_interval": 4},
    "qwen3_5": {"attn_output_gate": True, "mtp_num_hidden_layers": 1}, "deepseek_v32": {"index_topk": 2048, "index_n_heads": 64, "index_head_dim": 128},
    "glm_moe_dsa": {"indexer_types": ["full", "shared"], "mlp_layer_types": ["dense", "sparse"]},
    "deepseek_v4": {"compress_ratios": [0, 4, 128], "hc_mult": 4, "o_lora_rank": 1024, "o_groups": 8, "num_hash_layers": 3},
    "llama4": {"interleave_moe_layer_step": 2, "intermediate_size_mlp": 16384, "attention_chunk_size": 8192},
    "gpt_oss": {"experts_per_token": 4, "swiglu_limit": 7.0},
    "gemma3": {"sliding_window_pattern": 6, "_sliding_window_pattern": 6}, "gemma3n": {"laurel_rank": 64, "altup_num_inputs": 4},
    "gemma4": {"global_head_dim": 512, "enable_moe_block": True, "top_k_experts": 8, "hidden_size_per_layer_input": 256,
               "num_kv_shared_layers": 18, "attention_k_eq_v": True, "use_double_wide_mlp": True, "num_global_key_value_heads": 4},
    "nemotron_h": {"hybrid_override_pattern": "M-M*", "mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8,
                   "moe_latent_size": 1024, "layers_block_type": ["mamba", "mlp"], "mlp_hidden_act": "relu2"},
    "nemotron-nas": {"block_configs": [{"attention": {"no_op": True}}]},
    "mimo_v2_flash": {"hybrid_layer_pattern": [0, 1], "swa_head_dim": 192, "swa_num_key_value_heads": 8, "add_swa_attention_sink_bias": True},
    "kimi_linear": {"linear_attn_config": {"kda_layers": [1]}, "num_experts_per_token": 8, "attn_res_block_size": 12},
    "minimax_m3": {"sparse_attention_config": {"sparse_attention_freq": [1]}, "dense_intermediate_size": 8, "shared_intermediate_size": 8},
    "minimax": {"attn_type_list": [0, 1]}, "step3p5": {"attention_other_setting": {"num_attention_heads": 96}, "share_expert_dim": 1280},
    "jamba": {"attn_layer_period": 8, "expert_layer_period": 2, "mamba_d_state": 16}, "lfm2": {"conv_L_cache": 3, "block_ff_dim": 0, "full_attn_idxs": [2]},
    "falcon_h1": {"mamba_d_ssm": 1024}, "longcat_flash": {"zero_expert_num": 256, "expert_ffn_hidden_size": 2048, "ffn_hidden_size": 12288},
    "falcon": {"multi_query": True, "new_decoder_architecture": True, "num_kv_heads": 8}, "mpt": {"expansion_ratio": 4, "attn_config": {"kv_n_heads": 8}},
    "dbrx": {"ffn_config": {"moe_num_experts": 16}}, "recurrent_gemma": {"block_types": ["recurrent"], "lru_width": 2560},
    "ernie4_5_moe": {"moe_num_experts": 64, "moe_k": 6, "moe_layer_start_index": 1}, "chatglm": {"multi_query_group_num": 2},
    "gpt_neo": {"attention_types": [[["global", "local"], 12]], "window_size": 256}, "cohere2": {"local_attention": 4096},
    "stablelm": {"use_qkv_bias": True, "qk_layernorm": True}, "seed_oss": {"attention_out_bias": True}, "eagle": {"draft_vocab_size": 32000},
    "encoder and decoder": {"is_encoder_decoder": True, "add_cross_attention": True}, "gemma": {"use_bidirectional_attention": True}}

# Bookkeeping, which is in many files.
PASSED = {"architectures": ["X"], "_name_or_path": "a/b", "torch_dtype": "bfloat16", "dtype": "bfloat16", "transformers_version": "5.23.0",
          "auto_map": {"AutoConfig": "a.B"}, "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}, "bos_token_id": 1,
          "eos_token_id": [1, 2], "use_cache": True, "attention_dropout": 0.1, "initializer_range": 0.02, "rms_norm_eps": 1e-6, "rope_theta": 1e6,
          "rope_scaling": {"rope_type": "yarn", "factor": 40}, "rope_parameters": {"rope_type": "default"}, "hidden_act": "silu", "pretraining_tp": 1,
          "router_aux_loss_coef": 0.001, "output_router_logits": True, "norm_topk_prob": True, "n_group": 8, "topk_group": 4, "ep_size": 1,
          "topk_method": "noaux_tc", "scoring_func": "sigmoid", "routed_scaling_factor": 2.5, "max_window_layers": 28, "do_sample": True, "top_k": 50,
          "temperature": 0.6, "num_labels": 2, "id2label": {"0": "x"}, "partial_rotary_factor": 0.5, "query_pre_attn_scalar": 256,
          "final_logit_softcapping": 30.0, "image_token_id": 151655, "torchscript": True, "is_decoder": True, "chunk_size_feed_forward": 4}

SMALL = {"num_hidden_layers": 8, "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "vocab_size": 32000}
LATENT = {**SMALL, "kv_lora_rank": 64, "q_lora_rank": 96, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32, "n_routed_experts": 8,
          "moe_intermediate_size": 128, "num_experts_per_tok": 2}


def configs():
    """Fields of real files and small ones, of each type at least one, with totals where they are known from elsewhere."""
    for name, row in json.loads((DATA / "configs.json").read_text(encoding="utf-8")).items():
        yield name, row["config"], (row["total"], row["active"])
    for path in sorted((DATA / "models").glob("*.json")):
        row = json.loads(path.read_text(encoding="utf-8"))
        if "model_type" in row["config"]:
            yield path.stem, row["config"], None
    yield "kimi", {"model_type": "kimi_k2", **LATENT}, None
    yield "gpt2", {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}, (124439808,) * 2
    yield "neox", {"model_type": "gpt_neox", **SMALL}, None


def one_of_each():
    found = {}
    for _, fields, _ in configs():
        found.setdefault(fields["model_type"], fields)
    return found


class ReadingTest(unittest.TestCase):
    def read(self, fields):
        return model_of("config.json", fields)

    def refused(self, part, fields):
        with self.assertRaises(ppsched.Error, msg=str(fields)[:200]) as caught:
            self.read(fields)
        message = str(caught.exception)
        self.assertIn(part, message)
        self.assertEqual((message.count("\n"), "Megatron" in message, len(message) < 600), (0, False, True), message)


class FieldTest(ReadingTest):
    def test_real_files_are_read(self):
        seen = 0
        for name, fields, wanted in configs():
            found = self.read(fields)
            counts = Model(found.transformer).parameters
            self.assertEqual((counts.total, counts.active), wanted or (counts.total, counts.active), name)
            windowed = fields["model_type"] in ("gemma2", "mistral") and fields.get("sliding_window") is not None
            self.assertEqual(len(found.warnings), int(windowed), (name, found.warnings))
            seen += wanted is not None
        self.assertGreaterEqual(seen, 24)
        self.assertEqual(set(one_of_each()), set(TYPES))

    def test_fields_of_other_families(self):
        """In use they are refused, by name; off they pass, and bookkeeping does too."""
        others = {name: value for row in OTHERS.values() for name, value in row.items() if value}
        for kind, fields in one_of_each().items():
            plain = self.read(fields)
            for name, value in others.items():
                if name in OWN.get(kind, ()):
                    continue
                self.refused(name, {**fields, name: value})
                for off in OFF:
                    self.assertEqual(self.read({**fields, name: off}), plain, (kind, name, off))
            for name, value in PASSED.items():
                self.assertEqual(self.read({**fields, name: value}), plain, (kind, name))
            self.assertEqual(self.read({**fields, **{name: value for name, value in PASSED.items() if name not in fields}}), plain)

    def test_every_known_field(self):
        """Of all families that are known: each changes the answer, is refused or passes, and never without a word."""
        for kind, fields in one_of_each().items():
            plain = self.read(fields)
            for name in sorted(STRUCTURE - OWN.get(kind, frozenset()) - fields.keys()):
                for value in (True, 3, 2048, "x", ["a"], {"a": 1}):
                    try:
                        found = self.read({**fields, name: value})
                    except ppsched.Error as error:
                        self.assertIn(name, str(error))
                    else:
                        is_default = (kind, name, value) == ("gpt_neox", "attention_bias", True)
                        self.assertTrue(found != plain or is_default or (name == "head_dim" and "kv_lora_rank" in fields), (kind, name, value))
        self.assertFalse(STRUCTURE & HARMLESS)

    def test_what_is_read_by_one_is_foreign_to_others(self):
        types = one_of_each()
        for part, kind, given in (("kv_lora_rank", "llama", {"kv_lora_rank": 512}), ("num_experts", "llama", {"num_experts": 8}),
                                  ("num_local_experts", "qwen3", {"num_local_experts": 8}), ("attention_bias", "mistral", {"attention_bias": True}),
                                  ("mlp_bias", "qwen2", {"mlp_bias": True}), ("mlp_bias", "deepseek_v2", {"mlp_bias": True}),
                                  ("decoder_sparse_step", "mixtral", {"decoder_sparse_step": 2}), ("n_shared_experts", "qwen3_moe", {"n_shared_experts": 1}),
                                  ("sliding_window", "llama", {"sliding_window": 4096}), ("sliding_window", "deepseek_v3", {"sliding_window": 4096}),
                                  ("num_key_value_heads", "gpt2", {"num_key_value_heads": 2}), ("n_layer", "llama", {"n_layer": 3}),
                                  ("add_cross_attention", "gpt2", {"add_cross_attention": True}), ("pruned_heads", "gpt2", {"pruned_heads": {"0": [1]}}),
                                  ("moe_intermediate_size and", "llama", {"index_topk": 1, "index_n_heads": 1, "index_head_dim": 1, "hc_mult": 1,
                                                                          "n_shared_experts": 1, "moe_intermediate_size": 1, "v_head_dim": 1}),
                                  ("is_causal", "qwen2", {"is_causal": False}), ("hidden_act is relu2", "llama", {"hidden_act": "relu2"}),
                                  ("hidden_activation is xielu", "llama", {"hidden_activation": "xielu"}),
                                  ("attention_out_bias", "llama", {"attention_bias": True, "attention_out_bias": False}),
                                  ("qk_head_dim is 64", "deepseek_v3", {"qk_head_dim": 64}),
                                  ("layer_norm_eps", "llama", {"layer_norm_eps": 1e-5, "rms_norm_eps": None}),
                                  ("layer_norm_epsilon", "qwen3", {"layer_norm_epsilon": 1e-5, "rms_norm_eps": None})):
            self.refused(part, {**types[kind], **given})
        for kind, given in (("qwen3", {"use_qk_norm": True}), ("qwen2", {"qkv_bias": True, "attention_bias": True}), ("gpt2", {"hidden_act": "relu2"}),
                            ("deepseek_v3", {"qk_head_dim": 192, "head_dim": 64}), ("llama", {"is_causal": True}),
                            ("llama", {"layer_norm_eps": 1e-5, "rms_norm_eps": 1e-5}), ("gpt_neox", {"layer_norm_eps": 1e-5})):
            self.assertEqual(self.read({**types[kind], **given}).transformer, self.read(types[kind]).transformer)

    def test_one_thing_by_two_names(self):
        types = one_of_each()
        experts = types["mixtral"]["num_local_experts"]
        self.assertEqual(self.read({**types["mixtral"], "num_experts": experts}), self.read(types["mixtral"]))
        self.refused(f"num_experts is {experts + 1}, and num_local_experts, another name of it, {experts}", {**types["mixtral"], "num_experts": experts + 1})
        self.refused("n_ctx is 512, and n_positions", {**types["gpt2"], "n_ctx": 512})

    def test_unknown_fields_are_told(self):
        """Neither of a family nor bookkeeping, as far as is known: read, with one line."""
        llama = one_of_each()["llama"]
        found = self.read({**llama, "future_mixers": 3, "b\nc": [1], "_private": 1, "new_token_id": 3, "off": False})
        self.assertEqual(found.transformer, self.read(llama).transformer)
        self.assertEqual(len(found.warnings), 1)
        self.assertIn("future_mixers, b\\nc are not known, and not counted", found.warnings[0])

    def test_hints_do_not_lead_elsewhere(self):
        """Names of other models are no slips of letters, and no other type is advised for them."""
        for kind in (*NO_SLIPS, "llama4", "qwen3_next", "qwen2_moe", "gemma3_text", "deepseek_v32", "kimi_k25", "glm4_moe", "phi3"):
            self.refused("another of them in its place would be another model; plan by the costs of its layers", {**SMALL, "model_type": kind})
        for kind, meant in (("lama", "llama"), ("mixtrl", "mixtral"), ("gpt_neoxx", "gpt_neox")):
            self.refused(f"did you mean {meant}?", {**SMALL, "model_type": kind})
        for part in ("text_config", "vision_config", "llm_config", "language_config"):
            self.refused("if its model_type is one of llama,", {**SMALL, "model_type": "qwen3_5", part: {"a": 1}})
        self.assertEqual(self.read({**SMALL, "model_type": "llama", "vision_config": None}), self.read({**SMALL, "model_type": "llama"}))


class WindowTest(ReadingTest):
    def layers(self, kind, **given):
        """How many of 8 layers the warning tells, which is one; 0 without."""
        base = dict(one_of_each()[kind])
        for name in ("sliding_window", "use_sliding_window", "max_window_layers", "layer_types"):
            base.pop(name, None)
        base.update({"num_hidden_layers": 8}, **given)
        found = self.read(base)
        self.assertEqual(found.transformer, self.read({**base, "sliding_window": None, "layer_types": None, "use_sliding_window": None}).transformer)
        self.assertLessEqual(len(found.warnings), 1)
        return int(found.warnings[0].split(" of the layers")[0].split()[-1]) if found.warnings else 0

    def test_windows_of_a_type_are_told(self):
        mixed = ["sliding_attention", "full_attention"] * 4
        for kind, wanted, given in (
                ("mistral", 8, {}), ("mistral", 0, {"sliding_window": None}), ("mistral", 8, {"sliding_window": 1024}), ("mistral", 0, {"sliding_window": 0}),
                ("mistral", 4, {"layer_types": mixed}), ("mistral", 8, {"layer_types": ["full_attention"] * 8}),
                ("mixtral", 0, {}), ("mixtral", 8, {"sliding_window": 4096}), ("gemma2", 4, {}), ("gemma2", 5, {"num_hidden_layers": 9}),
                ("gemma2", 0, {"layer_types": ["full_attention"] * 8}), ("gemma2", 0, {"sliding_window": None}), ("gemma2", 4, {"layer_types": mixed}),
                ("qwen2", 0, {}), ("qwen2", 0, {"sliding_window": 131072}), ("qwen2", 0, {"use_sliding_window": True}),
                ("qwen2", 5, {"use_sliding_window": True, "max_window_layers": 3}), ("qwen2", 0, {"use_sliding_window": True, "max_window_layers": 8}),
                ("qwen2", 4, {"layer_types": mixed}), ("qwen2", 0, {"layer_types": ["full_attention"] * 8, "use_sliding_window": True, "max_window_layers": 0}),
                ("qwen3", 8, {"use_sliding_window": True, "max_window_layers": 0}), ("qwen3_moe", 0, {}), ("qwen3_moe", 8, {"use_sliding_window": True}),
                ("llama", 0, {"layer_types": ["full_attention"] * 8}), ("deepseek_v3", 0, {"layer_types": ["full_attention"] * 8})):
            self.assertEqual(self.layers(kind, **given), wanted, (kind, given))

    def test_layer_types(self):
        for kind, fields in one_of_each().items():
            layers = fields.get("num_hidden_layers") or fields["n_layer"]
            for other in ("linear_attention", "chunked_attention", "conv", "mamba", 3, None, ["full_attention"]):
                self.refused("layer_types has ", {**fields, "layer_types": ["full_attention"] * (layers - 1) + [other]})
            self.refused("layer_types has 1 entries, and there are", {**fields, "layer_types": ["full_attention"]})
            self.refused("layer_types must be a list", {**fields, "layer_types": "full_attention"})
            if kind in ("llama", "deepseek_v2", "deepseek_v3", "kimi_k2", "gpt2", "gpt_neox"):
                self.refused("layer_types has 'sliding_attention'", {**fields, "layer_types": ["sliding_attention"] * layers})

    def test_the_command_tells_once(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "config.json")
            path.write_text(json.dumps({**SMALL, "model_type": "mistral"}), encoding="utf-8")
            for words in (["model", "--model", path], ["pick", "--model", path, "--gpus", 2, "--tp", 1, "--pp", 2, "--global-batch", 4, "--seq", 512]):
                done = run_command(words)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (0, 1), done.stderr)
                self.assertIn("the sliding window of 4096 tokens in 8 of the layers is not priced", done.stderr)


if __name__ == "__main__":
    unittest.main()
