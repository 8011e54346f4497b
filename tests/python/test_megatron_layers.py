# SPDX-License-Identifier: Apache-2.0
"""Megatron-LM's arguments for layers of several kinds: hybrid patterns, windows, linear attention, indexes, latent experts."""
import unittest

import ppsched
from ppsched import Model
from ppsched.readers.model_files import model_of

# Megatron-LM's published arguments of Nemotron 3 Super.
SUPER = {"num_layers": 88, "hidden_size": 4096, "num_attention_heads": 32, "group_query_attention": True, "num_query_groups": 2, "kv_channels": 128,
         "ffn_hidden_size": 2688, "squared_relu": True, "disable_bias_linear": True, "normalization": "RMSNorm", "vocab_size": 131072,
         "untie_embeddings_and_output_weights": True, "num_experts": 512, "moe_router_topk": 22, "moe_shared_expert_intermediate_size": 5376,
         "moe_latent_size": 1024, "is_hybrid_model": True, "mamba_num_heads": 128, "mamba_head_dim": 64, "hybrid_layer_pattern":
         "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME"}
SMALL = {"num_layers": 4, "hidden_size": 192, "num_attention_heads": 6, "padded_vocab_size": 512, "disable_bias_linear": True,
         "normalization": "RMSNorm", "position_embedding_type": "rope"}
LATENT = {**SMALL, "multi_latent_attention": True, "q_lora_rank": 64, "qk_layernorm": True}


class LayersTest(unittest.TestCase):
    def kinds(self, fields):
        return model_of("args.json", fields).description.layer_kinds

    def values(self, fields):
        return model_of("args.json", fields).description.values()

    def refused(self, part, fields):
        with self.assertRaises(ppsched.Error) as caught:
            model_of("args.json", fields)
        self.assertIn(part, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_published_patterns(self):
        """Nemotron 3 Super as published: with a router bias for each of 40 x 512 experts 120,668,707,840. Nemotron-H 56B: 56,324,350,464."""
        counts = Model(model_of("args.json", SUPER).description).parameters
        self.assertEqual(counts.total + 40 * 512, 120668707840)
        self.assertEqual(counts.active + 40 * 512, 12770237440)
        pattern = "M-M-M-M*-M-" * 10 + "M-M-M-M-"
        large = {"hidden_size": 8192, "num_attention_heads": 64, "group_query_attention": True, "num_query_groups": 8, "kv_channels": 128,
                 "ffn_hidden_size": 32768, "squared_relu": True, "disable_bias_linear": True, "normalization": "RMSNorm", "vocab_size": 131072,
                 "untie_embeddings_and_output_weights": True, "mamba_num_heads": 256, "mamba_head_dim": 64, "mamba_state_dim": 256,
                 "position_embedding_type": "none", "hybrid_override_pattern": pattern}
        self.assertEqual(Model(model_of("args.json", large).description).parameters.total, 56324350464)

    def test_symbols(self):
        found = self.kinds({**SMALL, "num_experts": 4, "hybrid_layer_pattern": "MG*-E", "linear_num_value_heads": 8, "linear_num_key_heads": 4,
                            "mamba_num_groups": 2})
        self.assertEqual(found, ["mamba", "delta", "attention", "mlp", "experts"])
        found = self.values({**LATENT, "hybrid_layer_pattern": "D+D", "dsa_indexer_n_heads": 4, "dsa_indexer_head_dim": 32, "dsa_indexer_topk": 64})
        self.assertEqual(found["layers"], "latent_attention latent_attention.2 latent_attention")
        self.assertEqual([len(blocks) for blocks in found["kinds"].values()], [1, 1])

    def test_stages_and_mtp_layers(self):
        found = model_of("args.json", {**SMALL, "num_experts": 4, "mamba_num_groups": 2, "hybrid_layer_pattern": "MM*|EM-/*E/*E"})
        self.assertEqual(found.description.layer_kinds, ["mamba", "mamba", "attention", "experts", "mamba", "mlp"])
        self.assertEqual(found.description.mtp_layers, 2)
        self.assertEqual(len(found.description.values()["kinds"]["moe_decoder"]), 2)
        self.assertEqual(list(found.not_taken), ["the | of hybrid_layer_pattern (stages are chosen anew)", "num_layers 4 (hybrid_layer_pattern has 6)"])
        older = {**SMALL, "num_experts": 4, "mamba_num_groups": 2, "hybrid_override_pattern": "MM*EM-", "mtp_hybrid_override_pattern": "*E", "mtp_num_layers": 2}
        self.assertEqual(model_of("args.json", older).description, found.description)

    def test_number_of_layers_follows_from_the_pattern(self):
        self.assertEqual(len(self.kinds({**SMALL, "num_layers": 9, "mamba_num_groups": 2, "hybrid_layer_pattern": "M*"})), 2)
        for layers, told in ((9, ["num_layers 9 (hybrid_layer_pattern has 2)"]), (2, [])):
            self.assertEqual(list(model_of("args.json", {**SMALL, "num_layers": layers, "mamba_num_groups": 2, "hybrid_layer_pattern": "M*"}).not_taken), told)
        without = {name: value for name, value in SMALL.items() if name != "num_layers"}
        self.assertEqual(len(self.kinds({**without, "mamba_num_groups": 2, "hybrid_layer_pattern": "M*"})), 2)

    def test_windows(self):
        self.assertEqual(self.kinds({**SMALL, "window_size": [127, 0]}), ["window_decoder"] * 4)
        self.assertEqual(self.kinds({**SMALL, "window_size": "(127,0)", "window_attn_skip_freq": 2}), ["window_decoder", "decoder"] * 2)
        self.assertEqual(self.kinds({**SMALL, "window_size": [127, 0], "window_attn_skip_freq": "[1]*3+[0]"}), ["window_decoder"] * 3 + ["decoder"])
        self.assertEqual(self.values({**SMALL, "window_size": [127, 0]})["kinds"]["window_decoder"][0]["window"], 128)
        self.assertEqual(self.kinds({**SMALL, "window_size": [-1, 0], "softmax_type": "learnable"}), ["decoder"] * 4)
        self.refused("window_size must be two integers", {**SMALL, "window_size": 128})
        self.refused("window_attn_skip_freq has 3 entries, and the model has 4 layers", {**SMALL, "window_size": [127, 0], "window_attn_skip_freq": [1, 1, 0]})

    def test_sinks_and_gates(self):
        plain = Model(model_of("args.json", SMALL).description).parameters.total
        for more, added in (({"softmax_type": "learnable"}, 4 * 6), ({"softmax_type": "off-by-one"}, 0), ({"attention_output_gate": True}, 4 * 192 * 192)):
            self.assertEqual(Model(model_of("args.json", {**SMALL, **more}).description).parameters.total - plain, added, more)
        self.refused("softmax_type is 'soft'", {**SMALL, "softmax_type": "soft"})
        routed = {**SMALL, "num_experts": 4, "moe_shared_expert_intermediate_size": 64}
        gate = Model(model_of("args.json", {**routed, "moe_shared_expert_gate": True}).description).parameters.total
        self.assertEqual(gate - Model(model_of("args.json", routed).description).parameters.total, 4 * 192)
        self.refused("moe_shared_expert_gate needs shared experts", {**SMALL, "num_experts": 4, "moe_shared_expert_gate": True})

    def test_linear_attention(self):
        delta = {**SMALL, "experimental_attention_variant": "gated_delta_net", "linear_num_value_heads": 8, "linear_num_key_heads": 4}
        self.assertEqual(self.kinds({**delta, "linear_attention_freq": 4}), ["delta_decoder"] * 3 + ["decoder"])
        self.assertEqual(self.kinds({**delta, "linear_attention_freq": [1, 0, 0, 1]}), ["delta_decoder", "decoder", "decoder", "delta_decoder"])
        self.refused("gated_delta_net needs linear_attention_freq", delta)
        self.refused("experimental_attention_variant is 'other'", {**SMALL, "experimental_attention_variant": "other"})

    def test_indexes(self):
        sparse = {**LATENT, "num_layers": 8, "experimental_attention_variant": "dsa", "dsa_indexer_n_heads": 4, "dsa_indexer_head_dim": 32, "dsa_indexer_topk": 64}
        self.assertEqual(len(set(self.kinds(sparse))), 1)
        shared = self.kinds({**sparse, "dsa_indexer_topk_freq": 4, "dsa_indexer_skip_topk_offset": 1})
        self.assertEqual(shared, ["decoder", "decoder.2", "decoder.2", "decoder.2"] * 2)
        self.refused("give multi_latent_attention, too", {**SMALL, "experimental_attention_variant": "dsa", "dsa_indexer_n_heads": 4, "dsa_indexer_head_dim": 32,
                                                         "dsa_indexer_topk": 64})
        self.refused("dsa_indexer_head_dim is missing", {**LATENT, "experimental_attention_variant": "dsa", "dsa_indexer_n_heads": 4, "dsa_indexer_topk": 64})

    def test_bad_patterns(self):
        for part, pattern in (("has 'X'", "MX"), ("it must have layers", "/M"), ("the same layers after each /", "M/M/*"), ("it must have layers", "M//"),
                              ("the pattern has E, and num_experts is missing", "ME"), ("latent attention; give multi_latent_attention", "M+"),
                              ("must be a text", 3)):
            self.refused(part, {**SMALL, "mamba_num_groups": 2, "hybrid_layer_pattern": pattern})
        self.refused("two names of the same argument", {**SMALL, "hybrid_layer_pattern": "M", "hybrid_override_pattern": "M"})
        self.refused("supports only one kind of attention", {**LATENT, "hybrid_layer_pattern": "*+"})
        self.refused("groups must divide heads", {**SMALL, "mamba_num_groups": 7, "hybrid_layer_pattern": "M"})


if __name__ == "__main__":
    unittest.main()
