# SPDX-License-Identifier: Apache-2.0
"""Families of config.json with other mixers than attention, or with towers: which layers they have, and what is refused."""
import json
import unittest

import ppsched
from ppsched import Description, Error, Model, Training
from ppsched.command.model_options import Job
from ppsched.command.model_plan import buffer_bytes

SIZES = {"hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 6, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 128}
NEXT = {**SIZES, "model_type": "qwen3_next", "num_experts": 4, "num_experts_per_tok": 2}
DENSE = {**SIZES, "model_type": "qwen3_5_text"}
LATENT = {**SIZES, "num_key_value_heads": 4, "kv_lora_rank": 16, "q_lora_rank": 24, "qk_nope_head_dim": 8, "qk_rope_head_dim": 4, "v_head_dim": 8,
          "moe_intermediate_size": 16}
KIMI = {**LATENT, "model_type": "kimi_linear", "num_experts": 4, "num_experts_per_token": 2,
        "linear_attn_config": {"kda_layers": [1, 2, 4, 5], "full_attn_layers": [3, 6], "num_heads": 2, "head_dim": 8, "short_conv_kernel_size": 4}}
GLM = {**LATENT, "model_type": "glm_moe_dsa", "n_routed_experts": 4, "num_experts_per_tok": 2}
NEMOTRON = {**SIZES, "model_type": "nemotron_h", "mamba_num_heads": 4, "mamba_head_dim": 8, "n_groups": 2, "n_routed_experts": 4, "hybrid_override_pattern": "M*-EM*"}
FALCON = {**SIZES, "model_type": "falcon_h1", "mamba_d_ssm": 64, "mamba_n_heads": 4}
LFM = {**SIZES, "model_type": "lfm2", "block_auto_adjust_ff_dim": False}
MINIMAX = {**SIZES, "model_type": "minimax_m3", "num_local_experts": 4, "num_experts_per_tok": 2,
           "sparse_attention_config": {"sparse_attention_freq": [0, 0, 1, 1, 1, 1]}, "moe_layer_freq": [0, 1, 1, 1, 1, 1]}
V4 = {**SIZES, "num_key_value_heads": 1, "model_type": "deepseek_v4", "n_routed_experts": 4, "num_experts_per_tok": 2,
      "compress_ratios": [0, 0, 4, 128, 4, 128, 0]}
TOWER = {"depth": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "out_hidden_size": 64, "num_position_embeddings": 16, "patch_size": 4}
WRAPPED = {"model_type": "qwen3_5", "text_config": {**DENSE}, "vision_config": TOWER}


def read(fields, **more):
    return Description(json.dumps({**fields, **more}))


def kinds(fields, **more):
    """Of each layer the kinds of its blocks."""
    values = read(fields, **more).values()
    found = {name: "+".join(block["kind"] for block in blocks) for name, blocks in values["kinds"].items()}
    return [found[name] for name in read(fields, **more).layer_kinds]


class LayersTest(unittest.TestCase):
    def test_each_fourth_layer_of_qwen_is_attention(self):
        self.assertEqual(kinds(NEXT), ["delta+experts"] * 3 + ["attention+experts"] + ["delta+experts"] * 2)
        self.assertEqual(kinds(DENSE, full_attention_interval=2), ["delta+mlp", "attention+mlp"] * 3)
        self.assertEqual(kinds(NEXT, mlp_only_layers=[0, 3])[:4], ["delta+mlp", "delta+experts", "delta+experts", "attention+mlp"])
        self.assertEqual(kinds(NEXT, num_experts=0)[0], "delta+mlp")

    def test_values_that_mean_off(self):
        """As the classes take them: a number of experts of 0 makes dense layers, and what is false in Python is off."""
        moe = {**SIZES, "model_type": "qwen3_moe", "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
        for off in (0, []):
            for fields in (moe, NEXT):
                self.assertEqual({kind.split("+")[1] for kind in kinds(fields, num_experts=off)}, {"mlp"})
            for name in ("attention_bias", "tie_word_embeddings"):
                self.assertEqual(read(DENSE, **{name: off}).values(), read(DENSE, **{name: False}).values())
        for fields, more in ((moe, {"num_experts": -1}), (V4, {"n_routed_experts": 0}), (DENSE, {"attention_bias": 2}), (DENSE, {"num_attention_heads": 0})):
            with self.assertRaises(Error):
                read(fields, **more)

    def test_what_each_layer_gets_from_the_embedding(self):
        """Gemma 4 E2B and E4B: a part of a table for each layer. Those of the later layers cross each boundary, and buffers hold the largest one."""
        sizes = {**SIZES, "model_type": "gemma4_text", "head_dim": 16, "hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 100}
        self.assertEqual(read(sizes).values()["layer_input"], 8)
        self.assertNotIn("layer_input", read(sizes, hidden_size_per_layer_input=0).values())
        model = Model(read(sizes, num_kv_shared_layers=0), Training(sequence_length=128, micro_batch_size=2), "h100")
        counts = [(row["count"], row["output_bytes"]) for row in model.layers().given]
        found = [size for count, size in counts for _ in range(count)]
        self.assertEqual(found[:-1], [128 * 2 * 2 * (64 + 8 * later) for later in (6, 5, 4, 3, 2, 1, 0)])
        self.assertEqual(buffer_bytes(Job(model, 2, 4, 1, "none")), 4 * max(found))
        self.assertEqual(buffer_bytes(Job(model, 1, 4, 1, "none")), 0)

    def test_kimi_goes_by_two_lists(self):
        delta, latent = "delta+experts", "latent_attention+experts"
        self.assertEqual(kinds(KIMI), ["delta+mlp", delta, latent, delta, delta, latent])
        listed = {**KIMI, "layer_types": ["full_attention"] * 6, "first_k_dense_replace": 0}
        self.assertEqual(kinds(listed), [latent] * 6)
        sizes = {name: size for name, size in KIMI["linear_attn_config"].items() if not name.endswith("layers")}
        self.assertEqual(kinds(KIMI, linear_attn_config=sizes)[4], latent)

    def test_kimi_k3_adds_gates_latents_and_residuals(self):
        part = {**KIMI["linear_attn_config"], "use_full_rank_gate": True}
        more = read(KIMI, mla_use_output_gate=True, attn_res_block_size=3, routed_expert_hidden_size=32, latent_moe_use_norm=True, linear_attn_config=part)
        values, plain = more.values(), read(KIMI).values()
        self.assertEqual((values["stream_interval"], values["extra_parameters"]), (3, 2 * 64))
        self.assertNotIn("stream_interval", plain)
        by_kind = {block["kind"]: block for blocks in values["kinds"].values() for block in blocks}
        self.assertTrue(by_kind["latent_attention"]["output_gate"])
        self.assertEqual((by_kind["experts"]["latent_size"], by_kind["experts"]["latent_norm"]), (32, True))
        self.assertEqual({block["extra_parameters"] for blocks in values["kinds"].values() for block in blocks}, {2 * 64})
        self.assertNotIn("gate_rank", by_kind["delta"])

    def test_nemotron_has_one_block_in_a_layer(self):
        blocks = ["mamba", "attention", "mlp", "experts", "mamba", "attention"]
        self.assertEqual(kinds(NEMOTRON), blocks)
        without = {name: value for name, value in NEMOTRON.items() if name not in ("num_hidden_layers", "hybrid_override_pattern")}
        for name, listed in (("layers_block_type", ["mamba", "attention", "mlp", "moe"]), ("layer_types", ["linear_attention", "full_attention", "mlp", "moe"])):
            self.assertEqual(kinds(without, **{name: listed}), blocks[:4])

    def test_falcon_runs_attention_and_mamba_side_by_side(self):
        self.assertEqual(set(kinds(FALCON)), {"attention+mamba+mlp"})
        (blocks,) = read(FALCON).values()["kinds"].values()
        self.assertEqual([block.get("parallel", False) for block in blocks], [False, True, False])

    def test_layers_may_share_an_index(self):
        for more in ({"indexer_types": ["full", "full", "shared", "full", "shared", "shared"]}, {"index_topk_pattern": "FFSFSS"}):
            values = read(GLM, **more)
            shared = {name: blocks[0].get("shared_index", False) for name, blocks in values.values()["kinds"].items()}
            self.assertEqual([shared[name] for name in values.layer_kinds], [False, False, True, False, True, True])
        values = read(GLM, index_topk_freq=3)
        shared = {name: blocks[0].get("shared_index", False) for name, blocks in values.values()["kinds"].items()}
        self.assertEqual([shared[name] for name in values.layer_kinds], [False, False, True, True, False, True])

    def test_minimax_selects_blocks_of_tokens(self):
        values = read(MINIMAX, index_topk_blocks=8).values()
        self.assertEqual(kinds(MINIMAX)[:2], ["attention+mlp", "attention+experts"])
        self.assertEqual({blocks[0].get("index_tokens", 0) for blocks in values["kinds"].values()}, {0, 8 * 128})

    def test_other_spellings_of_published_files(self):
        self.assertEqual(read(DENSE, output_gate_type="swish").values(), read(DENSE).values())
        without = {name: value for name, value in MINIMAX.items() if name != "moe_layer_freq"}
        self.assertEqual(kinds(without, first_k_dense_replace=1), kinds(MINIMAX))
        self.assertEqual(kinds(MINIMAX, first_k_dense_replace=1), kinds(MINIMAX))
        self.assertEqual(kinds(V4, model_type="deepseek_ref"), kinds(V4))
        step = {**SIZES, "model_type": "step3p7", "num_experts": 4, "num_experts_per_tok": 2}
        self.assertEqual(kinds(step, first_k_dense_replace=2, n_shared_experts=1), ["attention+mlp"] * 2 + ["attention+experts"] * 4)

    def test_deepseek_v4_compresses_by_layer(self):
        values = read(V4)
        attention = {name: blocks[0] for name, blocks in values.values()["kinds"].items()}
        self.assertEqual([attention[name].get("ratio", 0) for name in values.layer_kinds], [0, 0, 4, 128, 4, 128])
        self.assertEqual({block.get("index_heads", 0) for block in attention.values() if block.get("ratio") == 4}, {64})
        by_token = [not values.values()["kinds"][name][1].get("router_bias", False) for name in values.layer_kinds]
        self.assertEqual(by_token, [True] * 3 + [False] * 3)
        self.assertEqual(values.values()["streams"], 4)


class MtpTest(unittest.TestCase):
    def mtp_kind(self, fields, **more):
        values = read(fields, **more).values()
        return "+".join(block["kind"] for block in values["kinds"][values["mtp_kind"]])

    def test_layers_of_mtp_have_the_kind_of_the_family(self):
        self.assertEqual(self.mtp_kind(DENSE, mtp_num_hidden_layers=1), "attention+mlp")
        self.assertEqual(self.mtp_kind(KIMI, num_nextn_predict_layers=1), "latent_attention+experts")
        self.assertEqual(self.mtp_kind(NEMOTRON, num_nextn_predict_layers=1), "attention+experts")
        self.assertEqual(self.mtp_kind(NEMOTRON, num_nextn_predict_layers=2, mtp_hybrid_override_pattern="M-"), "mamba+mlp")
        self.assertEqual(self.mtp_kind(MINIMAX, num_mtp_modules=3), "attention+experts")
        self.assertEqual(self.mtp_kind(V4), "compressed_attention+experts")
        self.assertEqual(read(MINIMAX, num_mtp_modules=7, num_nextn_predict_layers=1).mtp_layers, 1)
        self.assertEqual((read(GLM).mtp_layers, read(V4).mtp_layers, read(V4, num_nextn_predict_layers=0, compress_ratios=[0] * 6).mtp_layers), (0, 1, 0))
        self.assertEqual(read(V4, num_nextn_predict_layers=0).mtp_layers, 0)

    def test_mtp_of_deepseek_v4_makes_one_of_its_streams(self):
        values = read(V4, compress_ratios=[0] * 7).values()
        inner = {blocks[1]["extra_parameters"] for name, blocks in values["kinds"].items() if name != values["mtp_kind"]}
        (own,) = inner
        self.assertEqual(values["kinds"][values["mtp_kind"]][1]["extra_parameters"] - own, 4 * 4 * 64 + 4 + 1)


class StreamsTest(unittest.TestCase):
    def test_megatron_has_no_pipeline_for_several_streams(self):
        """Its TransformerConfig refuses enable_mhc_connections with pipeline_model_parallel_size > 1."""
        layers = Model(read(V4, num_nextn_predict_layers=0), Training(sequence_length=64), "h100").layers()
        self.assertEqual([row.get("several_streams", False) for row in layers.given], [row["name"] not in ("embedding", "head") for row in layers.given])
        self.assertNotIn("several_streams", Model(read(GLM), Training(sequence_length=64), "h100").layers().given[1])
        plan = ppsched.plan(ppsched.Config(2, 8), layers=layers, strategies="1f1b")
        schedule, split = plan.schedule(plan.best), ppsched.LayerSplit(layers, plan.split(plan.best))
        schedule.launch("primus", model=split)
        with self.assertRaisesRegex(ppsched.Refused, "Megatron-LM sends one residual stream"):
            schedule.launch("megatron", model=split)


class TowersTest(unittest.TestCase):
    def towers(self, fields, **more):
        description = read(fields, **more)
        return description.values().get("towers", []), description.warnings

    def test_a_tower_has_its_table_of_positions_as_patches(self):
        (tower,), warnings = self.towers(WRAPPED)
        self.assertEqual((tower["layers"], tower["hidden_size"], tower["tokens"], warnings), (2, 32, 16, []))
        self.assertEqual(Model(read(WRAPPED)).parameters.total, Model(read(DENSE)).parameters.total)

    def test_a_long_tower_has_a_stage_of_its_own(self):
        """With the embedding; the cut behind it is that of the residual stream."""
        layers = Model(read(WRAPPED, vision_config={**TOWER, "depth": 30}), Training(sequence_length=256), "h100").layers()
        plan = ppsched.plan(ppsched.Config(4, 8), layers=layers, strategies="1f1b", runtimes="megatron")
        self.assertEqual(plan.split(plan.best).layers[0], 2)
        self.assertEqual([row["name"] for row in layers.given[:2]], ["vision", "embedding"])
        self.assertEqual(layers.given[1]["output_bytes"], 2 * 64 * 256)

    def test_layers_that_add_features_of_a_tower_stay_with_it(self):
        """Megatron-Bridge asserts that the first stage has as many decoders as there are deepstack_visual_indexes."""
        fields = {"model_type": "qwen3_vl", "text_config": {**SIZES, "model_type": "qwen3_vl_text", "num_hidden_layers": 9}, "vision_config": TOWER}
        for more, least in (({}, 3), ({"deepstack_visual_indexes": [1]}, 1), ({"deepstack_visual_indexes": []}, 0)):
            description = read(fields, vision_config={**TOWER, "depth": 30, **more})
            self.assertEqual(Description(description.values()).values(), description.values())
            layers = Model(description, Training(sequence_length=256), "h100").layers()
            plan = ppsched.plan(ppsched.Config(4, 8), layers=layers, strategies=["1f1b", "interleaved_1f1b"], runtimes="megatron")
            for candidate in (one for one in plan if one.makespan is not None):
                self.assertGreaterEqual(plan.split(candidate).layers[0], 2 + least)
            self.assertEqual(plan.split(plan.best).layers[0], 2 + least)

    def test_audio_towers_have_windows(self):
        """Of the frames after the convolutions: 104 of Qwen3-Omni, which are 8 windows of 100 frames of the spectrum, and 100 of Qwen2.5-Omni."""
        text = {**SIZES, "model_type": "qwen3_omni_moe_text", "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
        thinker = {"model_type": "qwen3_omni_moe_thinker", "text_config": text, "audio_config": {"output_dim": 64}, "vision_config": {**TOWER, "depth": 30}}
        towers, warnings = self.towers({"model_type": "qwen3_omni_moe", "thinker_config": thinker, "talker_config": {"a": 1}})
        self.assertEqual([(tower["name"], tower.get("deepstack_layers", 0)) for tower in towers], [("vision", 3), ("audio", 0)])
        self.assertEqual((towers[1]["layers"], towers[1]["blocks"][0]["chunk"]), (32, 104))
        self.assertEqual(sorted(warning.split()[0] for warning in warnings), ["the", "what"])
        for seen, chunk in ((100, 13), (400, 52), (60, 13)):
            self.assertEqual(self.towers({**thinker, "audio_config": {"n_window_infer": seen}})[0][1]["blocks"][0]["chunk"], chunk)
        text = {**DENSE, "model_type": "qwen2_5_omni_text"}
        for name in [name for name in text if name not in ("model_type", *SIZES, "intermediate_size")]:
            del text[name]
        (audio,), _ = self.towers({"model_type": "qwen2_5_omni_thinker", "text_config": text, "audio_config": {"encoder_layers": 2}})
        self.assertEqual((audio["blocks"][0]["chunk"], audio["patches_per_token"]), (100, 2))
        both = {"encoder_layers": 2, "num_hidden_layers": 3}  # as the class reads them
        self.assertEqual(self.towers({"model_type": "qwen2_5_omni_thinker", "text_config": text, "audio_config": both})[0][0]["layers"], 3)

    def test_windows_of_a_tower_are_chunks(self):
        vision = {**TOWER, "depth": 5, "window_size": 16, "fullatt_block_indexes": [4]}
        del vision["num_position_embeddings"]
        found, warnings = self.towers({**SIZES, "model_type": "qwen2_5_vl", "vision_config": vision})
        self.assertEqual([(tower["layers"], tower["blocks"][0].get("chunk", 0)) for tower in found], [(4, 16), (1, 0)])
        self.assertEqual(len(warnings), 1)
        self.assertIn("patches", warnings[0])

    def test_what_is_not_known_is_told(self):
        for more, word in (({"audio_config": {"a": 1}}, "audio tower"), ({"vision_config": {**TOWER, "odd": 3}}, "odd")):
            found, warnings = self.towers(WRAPPED, **more)
            self.assertEqual((len(found), len(warnings)), (1, 1))
            self.assertIn(word, warnings[0])
        found, warnings = self.towers({"model_type": "kimi_k3", "text_config": KIMI, "vision_config": {"vt_hidden_size": 8}})
        self.assertEqual((found, len(warnings)), ([], 1))
        self.assertIn("kimi_k3", warnings[0])


REFUSED = [
    (DENSE, {"attn_output_gate": False}, "attn_output_gate"),
    (DENSE, {"mtp_num_hidden_layers": 1, "mtp_use_dedicated_embeddings": True}, "mtp_use_dedicated_embeddings"),
    (DENSE, {"layer_types": ["linear_attention"] * 5}, "6 layers"),
    (DENSE, {"layer_types": ["linear_attention"] * 5 + ["conv"]}, "conv"),
    (NEXT, {"mlp_only_layers": ["0"]}, "mlp_only_layers"),
    (NEXT, {"num_experts": 4, "num_experts_per_tok": 5}, "experts_per_token"),
    (KIMI, {"linear_attn_config": {**KIMI["linear_attn_config"], "kda_layers": [1, 2, 3, 4, 5]}}, "both"),
    (KIMI, {"linear_attn_config": {**KIMI["linear_attn_config"], "kda_layers": [1, 2]}}, "none"),
    (KIMI, {"linear_attn_config": {**KIMI["linear_attn_config"], "index_topk": 4}}, "index_topk"),
    (KIMI, {"moe_layer_freq": 2}, "moe_layer_freq"),
    (NEMOTRON, {"hybrid_override_pattern": "M*-EMx"}, "number 6"),
    (NEMOTRON, {"hybrid_override_pattern": "M*"}, "num_hidden_layers"),
    (NEMOTRON, {"n_shared_experts": 0}, "n_shared_experts"),
    (NEMOTRON, {"hybrid_override_pattern": None}, "hybrid_override_pattern"),
    (NEMOTRON, {"attention_bias": True}, "attention_bias"),
    (FALCON, {"mamba_d_head": 8}, "64 channels"),
    (LFM, {"conv_dim": 32}, "conv_dim"),
    (LFM, {"full_attn_idxs": [0.5]}, "full_attn_idxs"),
    (GLM, {"indexer_types": ["shared"] + ["full"] * 5}, "first layer"),
    (GLM, {"index_topk_pattern": "FFF"}, "index_topk_pattern"),
    (GLM, {"q_lora_rank": None}, "q_lora_rank"),
    (GLM, {"qk_head_dim": 99}, "qk_head_dim"),
    (MINIMAX, {"attention_output_gate": True}, "attention_output_gate"),
    (MINIMAX, {"first_k_dense_replace": 2}, "first_k_dense_replace"),
    (MINIMAX, {"sparse_attention_config": {"sparse_attention_freq": [1] * 6, "sparse_disable_index_value": [0] * 6}}, "sparse_disable_index_value"),
    (V4, {"compress_ratios": [0] * 5}, "compress_ratios"),
    (V4, {"compress_ratios": [0] * 8}, "6 entries, one for each layer, or 7"),
    (V4, {"compress_ratios": [0] * 5 + [8]}, "compress_ratios"),
    (V4, {"n_shared_experts": 2}, "n_shared_experts"),
    (WRAPPED, {"vision_config": {**TOWER, "depth": 0}}, "depth"),
    (WRAPPED, {"vision_config": {**TOWER, "deepstack_visual_indexes": [1]}}, "deepstack_visual_indexes"),
    (WRAPPED, {"vision_config": 7}, "vision_config")]


class RefusedTest(unittest.TestCase):
    def test_other_layers_are_refused_by_the_field_that_makes_them(self):
        for fields, more, word in REFUSED:
            with self.subTest(family=fields["model_type"], more=more):
                read(fields)
                with self.assertRaises(Error) as caught:
                    read(fields, **more)
                self.assertIn(word, str(caught.exception))


if __name__ == "__main__":
    unittest.main()
