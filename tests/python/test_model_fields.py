# SPDX-License-Identifier: Apache-2.0
"""config.json of the types that are read, field by field: fields of other families, windows, wrong kinds of values."""
import json
import pathlib
import re
import unittest

import ppsched
from ppsched import Model
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

OTHER_VALUES = {name: value for row in OTHERS.values() for name, value in row.items() if value}
SMALL = {"num_hidden_layers": 8, "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16, "vocab_size": 32000}
LATENT = {**SMALL, "kv_lora_rank": 64, "q_lora_rank": 96, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32, "n_routed_experts": 8,
          "moe_intermediate_size": 128, "num_experts_per_tok": 2}


SOURCE = (DATA.parents[1] / "lib" / "description" / "known_fields.c").read_text(encoding="utf-8")


def names_of(table):
    """The names of a table of the library's source, in its order."""
    lines = re.search(rf"\*const {table}\[\] = {{(.*?)}};", SOURCE, re.S)[1]
    return " ".join(re.findall(r'"([^"]*)"', lines)).split()


STRUCTURE, HARMLESS = set(names_of("structure")), set(names_of("harmless"))


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
    """A file of each family: real ones, and small ones that were drawn."""
    found = {}
    for _, fields, _ in configs():
        found.setdefault(fields["model_type"], fields)
    for line in (DATA / "counted.jsonl").read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)["config"]
        if "text_config" not in fields:
            found.setdefault(fields["model_type"], fields)
    return found


class ReadingTest(unittest.TestCase):
    def read(self, fields):
        """The description, without what is warned of."""
        found = model_of("config.json", fields)
        return found.description

    def refused(self, part, fields):
        with self.assertRaises(ppsched.Error, msg=str(fields)[:200]) as caught:
            self.read(fields)
        message = str(caught.exception)
        self.assertIn(part, message)
        self.assertEqual((message.count("\n"), "Megatron" in message, len(message) < 700), (0, False, True), message)
        return message


class FieldTest(ReadingTest):
    def test_real_files_are_read(self):
        seen = 0
        for name, fields, wanted in configs():
            found = model_of("config.json", fields)
            counts = Model(found.description).parameters
            self.assertEqual((counts.total, counts.active), wanted or (counts.total, counts.active), name)
            self.assertEqual(list(found.warnings), [], name)
            seen += wanted is not None
        self.assertGreaterEqual(seen, 24)

    def test_every_known_field(self):
        """Of all families that are known: in use each changes the answer, is refused by name or is told of. Off it passes where it was
        refused in use; bookkeeping passes always. Values take turns over families and fields."""
        passed = []
        values = (True, 3, 2048, "x", ["a"], {"a": 1})
        for number, (kind, fields) in enumerate(one_of_each().items()):
            plain = self.read(fields)
            for place, name in enumerate(sorted(STRUCTURE - fields.keys())):
                is_refused = False
                for value in (values[(number + place) % 6], OTHER_VALUES.get(name, 1)):
                    try:
                        found = model_of("config.json", {**fields, name: value})
                    except ppsched.Error as error:
                        if "in use, but" in str(error):
                            self.assertIn(name, str(error))
                            is_refused = name != "attention_out_bias"  # whose false is not what attention_bias may say
                    else:
                        if found.description == plain and not found.warnings:
                            passed.append((kind, name, value))
                off = OFF[(number + place) % len(OFF)]
                if is_refused:
                    self.assertEqual(self.read({**fields, name: off}), plain, (kind, name, off))
            for name, value in PASSED.items():
                if (kind, name) != ("apertus", "hidden_act"):  # its own has parameters
                    self.assertEqual(self.read({**fields, name: value}), plain, (kind, name))
        self.assertFalse(STRUCTURE & HARMLESS)
        self.check_passed(passed)

    def test_names_are_sorted(self):
        """The library looks for a name in one line of a table alone."""
        for table in ("structure", "harmless", "joints"):
            names = names_of(table)
            self.assertEqual(names, sorted(set(names)), table)

    def check_passed(self, passed):
        """passing_fields.json has, by name, the families whose own classes have the field and layers that it leaves as they are: of a
        value that is the class's own, or a field that says how and not what (kernels, initial values, clamps)."""
        known = json.loads((DATA / "passing_fields.json").read_text(encoding="utf-8"))
        silent = sorted({(kind, name) for kind, name, _ in passed if kind not in known.get(name, ())})
        self.assertEqual(silent, [])

    def test_unknown_fields_are_told(self):
        """Neither of a family nor bookkeeping, as far as is known: read, with one line."""
        llama = one_of_each()["llama"]
        found = model_of("config.json", {**llama, "future_mixers": 3, "b\nc": [1], "_private": 1, "new_token_id": 3, "off": False})
        self.assertEqual(found.description, self.read(llama))
        self.assertEqual(len(found.warnings), 1)
        self.assertIn("are not known, and not counted", found.warnings[0])
        self.assertNotIn("\n", found.warnings[0])

    def test_one_thing_by_two_names(self):
        types = one_of_each()
        experts = types["mixtral"]["num_local_experts"]
        self.assertEqual(self.read({**types["mixtral"], "num_experts": experts}), self.read(types["mixtral"]))
        self.refused("num_experts", {**types["mixtral"], "num_experts": experts + 1})
        self.refused("n_ctx", {**types["gpt2"], "n_ctx": 512})
        window = {**types["mimo_v2_flash"], "sliding_window": 64}
        self.assertEqual(self.read({**window, "sliding_window_size": 64}), self.read({**types["mimo_v2_flash"], "sliding_window": 65}))
        self.refused("sliding_window_size is 128, and sliding_window, another name of it, 64", {**window, "sliding_window_size": 128})

    def test_a_type_of_layer_that_nobody_defines(self):
        types = ["full_attention"] * 7 + ["spiral_attention"]
        self.refused('layer_types has "spiral_attention" for layer 7; layers of a qwen3 are of full_attention, sliding_attention',
                     {**one_of_each()["qwen3"], "num_hidden_layers": 8, "layer_types": types})

    def test_what_a_class_cannot_do(self):
        for kind, norms, others in (("minimax_m2", "per_layer", "per_head"), ("minimax_m3", "per_head", "per_layer")):
            fields = one_of_each().get(kind) or one_of_each()[kind + "_vl_text"]
            self.assertEqual(self.read({**fields, "qk_norm_type": norms}), self.read(fields))
            self.refused(f"qk_norm_type is {others}; for a {fields['model_type']} only {norms} is supported", {**fields, "qk_norm_type": others})
        self.refused("the heads of a helium are as wide as its hidden_size", {**one_of_each()["helium"], "head_dim": 40})
        cohere = {"model_type": "cohere2", "hidden_size": 64, "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 2, "intermediate_size": 96,
                  "vocab_size": 128}  # as many parameters as transformers 5.23 counts
        self.assertEqual([Model(self.read({**cohere, **heads})).parameters.total for heads in ({}, {"head_dim": 32}, {"head_dim": 48})], [69824, 69824, 82112])
        self.refused("num_key_value_heads is 2; for a gpt_neox only 16 is supported", {**one_of_each()["gpt_neox"], "num_attention_heads": 16, "num_key_value_heads": 2})
        self.refused("mlp_bias is true; for a step3p5 only false is supported", {**SMALL, "model_type": "step3p5", "mlp_bias": True})
        tied = model_of("config.json", {**one_of_each()["nemotron_h"], "tie_word_embeddings": True})
        self.assertEqual(tied.description.tied, False)
        self.assertIn("does not tie", " ".join(tied.description.warnings))

    def test_towers_that_the_file_leaves_out(self):
        text = {**one_of_each()["qwen3_moe"], "model_type": "qwen3_omni_moe_text"}
        for given, lacking in (({}, "vision_config"), ({"audio_config": None}, None), ({"vision_config": None}, "audio_config"), ({"audio_config": None, "vision_config": None}, None)):
            warnings = model_of("c", {"model_type": "qwen3_omni_moe_thinker", "text_config": text, **given}).warnings
            self.assertEqual([f"there is no {name}" in " ".join(warnings) for name in ("vision_config", "audio_config")],
                             [lacking == name for name in ("vision_config", "audio_config")], given)

    def test_no_type(self):
        for fields in (SMALL, {"architectures": ["LlamaForCausalLM"], "num_layers": 2}, {"config": SMALL}):
            self.refused('it has Hugging Face\'s names, but no model_type; add it, such as "model_type": "llama"', fields)

    def test_hints_do_not_lead_elsewhere(self):
        """Names of other models are no slips of letters, and no other type is advised for them."""
        for kind in ("gpt_neo", "mllama", "pixtral", "voxtral", "whisper", "rwkv7", "csm", "flava", "gemma3n", "gemma3n_text", "mimi", "molmo2", "xglm", "xlm", "zamba", "zamba2"):
            refusal = self.refused(f"model_type {kind} is not known; ", {**SMALL, "model_type": kind})
            self.assertNotIn("did you mean", refusal)
        for kind, meant in (("lama", "llama"), ("mixtrl", "mixtral"), ("gpt_neoxx", "gpt_neox")):
            self.refused(f"did you mean {meant}?", {**SMALL, "model_type": kind})


class WindowTest(ReadingTest):
    def layers(self, kind, **given):
        """How many of 8 layers have a window below 131072 tokens."""
        base = dict(one_of_each()[kind])
        for name in ("sliding_window", "use_sliding_window", "max_window_layers", "layer_types"):
            base.pop(name, None)
        base.update({"num_hidden_layers": 8}, **given)
        found = self.read(base)
        kinds = found.values()["kinds"]
        return sum(0 < max(block.get("window", 0) for block in kinds[name]) for name in found.layer_kinds)

    def test_windows_of_a_type(self):
        mixed = ["sliding_attention", "full_attention"] * 4
        for kind, wanted, given in (
                ("mistral", 8, {}), ("mistral", 0, {"sliding_window": None}), ("mistral", 8, {"sliding_window": 1024}), ("mistral", 0, {"sliding_window": 0}),
                ("mixtral", 0, {}), ("mixtral", 8, {"sliding_window": 4096}), ("gemma2", 4, {}), ("gemma2", 5, {"num_hidden_layers": 9}),
                ("gemma2", 0, {"layer_types": ["full_attention"] * 8}), ("gemma2", 4, {"layer_types": mixed}),
                ("qwen2", 0, {}), ("qwen2", 0, {"sliding_window": 131072}), ("qwen2", 0, {"use_sliding_window": True}),
                ("qwen2", 5, {"use_sliding_window": True, "max_window_layers": 3}), ("qwen2", 0, {"use_sliding_window": True, "max_window_layers": 8}),
                ("qwen2", 4, {"layer_types": mixed, "use_sliding_window": True}), ("qwen3", 8, {"use_sliding_window": True, "max_window_layers": 0}),
                ("qwen3_moe", 0, {}), ("llama", 0, {"layer_types": ["full_attention"] * 8}), ("deepseek_v3", 0, {"layer_types": ["full_attention"] * 8})):
            self.assertEqual(self.layers(kind, **given), wanted, (kind, given))

    def test_layer_types(self):
        for kind in ("llama", "mistral", "qwen2", "qwen3", "gemma2", "deepseek_v3"):
            fields = one_of_each()[kind]
            layers = fields.get("num_hidden_layers") or fields["n_layer"]
            for other in ("linear_attention", "conv", "mamba", 3, None, ["full_attention"]):
                self.refused("layer_types", {**fields, "layer_types": ["full_attention"] * (layers - 1) + [other]})
            self.refused("layer_types", {**fields, "layer_types": ["full_attention"]})
            self.refused("layer_types must be a list", {**fields, "layer_types": "full_attention"})


if __name__ == "__main__":
    unittest.main()
