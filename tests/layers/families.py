#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of config.json, and how many parameters their models have. published.jsonl has published models, counted by rules of their own;
`towers` is 0 where nobody counted them. counted.jsonl has small models of all families, as transformers counts them (counted.py)."""
import json
import pathlib
import unittest

from ppsched import Description, Model
from ppsched._core.description import model_families

HERE = pathlib.Path(__file__).resolve().parent

# Families whose classes come with their models, or are read as another family is; transformers counts none of them.
NOT_COUNTED = {"bailing_moe", "deepseek_ref", "bailing_moe_v2", "mimo", "nemotron-nas", "kimi_k3", "kimi_k2", "minimax_m3"}
# Types of configs with several in them whose towers are not known, or of the text alone in such a config.
OF_OTHERS = {"cohere2_vision", "exaone4_5", "exaone4_5_text", "gemma4_unified", "glm4v_moe_text", "glm4v_text", "muse_glimmer_text",
             "qwen2_5_omni", "qwen2_5_omni_text", "qwen2_5_vl_text", "qwen2_vl_text", "qwen3_omni_moe", "qwen3_omni_moe_text", "qwen3_vl_moe_text", "qwen3_vl_text", "step3p5"}


def rows(name):
    return [json.loads(line) for line in (HERE / name).read_text(encoding="utf-8").splitlines()]


def differences(row):
    """What the library finds that is not so: nothing, where all is right."""
    found = Description(json.dumps(row["config"]))
    counts = Model(found).parameters
    wrong = {name: getattr(counts, name) - row[name] for name in ("total", "active", "towers") if name in row and getattr(counts, name) != row[name]}
    if "windows" in row:
        kinds = found.values()["kinds"]
        windows = [next((block.get("window", 0) for block in kinds[name] if block["kind"].endswith("attention")), 0) for name in found.layer_kinds]
        wrong.update({} if windows == row["windows"] else {"windows": windows})
    return wrong


class FamiliesTest(unittest.TestCase):
    def check(self, name):
        known = rows(name)
        for row in known:
            wrong = differences(row)
            if name == "published.jsonl" and not row["towers"]:
                wrong.pop("towers", None)
            self.assertEqual(wrong, {}, str(row)[:300])
        return known

    def test_published_models(self):
        self.assertGreaterEqual(len(self.check("published.jsonl")), 58)

    def test_small_models_of_all_families(self):
        counted = {row["config"]["model_type"] for row in self.check("counted.jsonl")}
        self.assertEqual(set(model_families()) - counted - NOT_COUNTED - OF_OTHERS, set())
        self.assertEqual(counted & NOT_COUNTED, set())

    def test_models_that_are_not_counted_by_transformers(self):
        """Sizes of published models, and totals from their rules: experts, attention, norms and router one by one."""
        sizes = {"vocab_size": 157184, "hidden_size": 2048, "intermediate_size": 5120, "num_hidden_layers": 20, "num_attention_heads": 16,
                 "num_key_value_heads": 4, "head_dim": 128, "num_experts": 256, "num_shared_experts": 1, "num_experts_per_tok": 8,
                 "moe_intermediate_size": 512, "first_k_dense_replace": 1}
        self.assertEqual(differences({"config": {"model_type": "bailing_moe_v2", **sizes}, "total": 16255643392, "active": 1432973056, "towers": 0}), {})
        mimo = {"model_type": "mimo", "vocab_size": 151680, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 36,
                "num_attention_heads": 32, "num_key_value_heads": 8, "attention_bias": True, "num_nextn_predict_layers": 1}
        self.assertEqual(differences({"config": mimo, "total": 7622619136, "active": 7622619136, "towers": 0}), {})

    def test_older_spellings(self):
        """Of files whose classes came with the models: the same layers as in the fields that transformers has now."""
        full, window = "full_attention", "sliding_attention"
        base = {"hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 96,
                "moe_intermediate_size": 32, "num_experts_per_tok": 2, "head_dim": 16}
        kinds, widths = [full, window, window] * 2, ["dense"] * 3 + ["sparse"] * 3
        for family, now, older in (
                ("exaone_moe", {"sliding_window": 16, "num_experts": 4, "mlp_layer_types": ["dense"] + ["sparse"] * 5, "layer_types": kinds},
                 {"sliding_window": 16, "num_experts": 4, "is_moe_layer": [False] + [True] * 5, "layer_types": kinds, "sliding_window_pattern": "GLL"}),
                ("bailing_moe", {"num_experts": 4, "use_qk_norm": True, "moe_router_enable_expert_bias": True},
                 {"num_experts": 4, "model_type": "bailing_moe_v2"}),
                ("mimo_v2_flash", {"n_routed_experts": 4, "layer_types": kinds, "mlp_layer_types": widths, "v_head_dim": 8},
                 {"n_routed_experts": 4, "hybrid_layer_pattern": [0, 1, 1] * 2, "moe_layer_freq": [0] * 3 + [1] * 3, "v_head_dim": 8,
                  "swa_num_key_value_heads": 4}),
                ("step3p5", {"n_routed_experts": 4, "layer_types": kinds, "mlp_layer_types": widths, "num_sliding_attention_heads": 8,
                             "share_expert_dim": 32},
                 {"moe_num_experts": 4, "moe_top_k": 2, "num_attention_groups": 2, "layer_types": [*kinds, full], "num_nextn_predict_layers": 1,
                  "moe_layers_enum": "3,4,5", "attention_other_setting": {"num_attention_heads": 8}, "share_expert_dims": 32})):
            found = [Description(json.dumps({"model_type": family, **base, **fields})) for fields in (now, older)]
            self.assertEqual([each.warnings for each in found], [[], []])
            first, second = ({name: blocks for name, blocks in each.values()["kinds"].items() if name in each.layer_kinds} for each in found)
            self.assertEqual((first, found[0].layer_kinds), (second, found[1].layer_kinds), family)
            self.assertEqual(*(Model(each).parameters.total for each in found))


if __name__ == "__main__":
    unittest.main()
