# SPDX-License-Identifier: Apache-2.0
"""Published models whose costs do not follow from a few sizes: latent attention, hybrids, windows, experts of their own width. By the names that
tables of measured runs use; the values are those of each model's config.json."""
from typing import Any, Dict, Optional

_LATENT: Dict[str, Any] = {
    "model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168, "intermediate_size": 18432, "moe_intermediate_size": 2048,
    "num_experts_per_tok": 8, "n_shared_experts": 1, "moe_layer_freq": 1, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64, "v_head_dim": 128, "max_position_embeddings": 163840, "tie_word_embeddings": False, "attention_bias": False}
_DEEPSEEK: Dict[str, Any] = {**_LATENT, "first_k_dense_replace": 3, "n_routed_experts": 256, "num_attention_heads": 128, "num_key_value_heads": 128,
                             "vocab_size": 129280, "num_nextn_predict_layers": 0}
_FLASH: Dict[str, Any] = {
    "model_type": "deepseek_v4", "num_hidden_layers": 43, "hidden_size": 4096, "moe_intermediate_size": 2048, "num_attention_heads": 64,
    "num_key_value_heads": 1, "head_dim": 512, "qk_rope_head_dim": 64, "q_lora_rank": 1024, "o_groups": 8, "o_lora_rank": 1024,
    "sliding_window": 128, "compress_ratios": [0, 0, *[4, 128] * 20, 4, 0], "index_head_dim": 128, "index_n_heads": 64, "index_topk": 512,
    "hc_mult": 4, "num_hash_layers": 3, "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 6, "num_nextn_predict_layers": 1,
    "max_position_embeddings": 1048576, "vocab_size": 129280, "tie_word_embeddings": False, "attention_bias": False}
_HYBRID: Dict[str, Any] = {
    "model_type": "nemotron_h", "head_dim": 128, "num_attention_heads": 32, "num_key_value_heads": 2, "mamba_head_dim": 64, "n_groups": 8,
    "ssm_state_size": 128, "conv_kernel": 4, "expand": 2, "chunk_size": 128, "use_conv_bias": True, "use_bias": False, "mamba_proj_bias": False,
    "mlp_bias": False, "attention_bias": False, "mlp_hidden_act": "relu2", "n_shared_experts": 1, "tie_word_embeddings": False, "vocab_size": 131072,
    "max_position_embeddings": 262144}
_NANO: Dict[str, Any] = {
    **_HYBRID, "num_hidden_layers": 52, "hidden_size": 2688, "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
    "intermediate_size": 1856, "moe_intermediate_size": 1856, "moe_shared_expert_intermediate_size": 3712, "mamba_num_heads": 64,
    "n_routed_experts": 128, "num_experts_per_tok": 6}
_SUPER: Dict[str, Any] = {
    **_HYBRID, "num_hidden_layers": 88, "hidden_size": 4096,
    "hybrid_override_pattern": "MEMEMEM*EMEMEMEM*EMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEMEM*EMEMEMEM*EMEMEMEME", "intermediate_size": 2688,
    "moe_intermediate_size": 2688, "moe_latent_size": 1024, "moe_shared_expert_intermediate_size": 5376, "mamba_num_heads": 128,
    "n_routed_experts": 512, "num_experts_per_tok": 22, "num_nextn_predict_layers": 1, "mtp_hybrid_override_pattern": "*E"}
_ULTRA: Dict[str, Any] = {
    **_HYBRID, "num_hidden_layers": 108, "hidden_size": 8192, "num_attention_heads": 64,
    "hybrid_override_pattern": "MEMEMEM*EMEMEM*" + "EMEMEMEM*EMEMEMEM*EMEMEM*" * 3 + "EMEMEMEM*EMEMEMEME", "intermediate_size": 5120,
    "moe_intermediate_size": 5120, "moe_latent_size": 2048, "moe_shared_expert_intermediate_size": 10240, "mamba_num_heads": 256,
    "n_routed_experts": 512, "num_experts_per_tok": 22, "num_nextn_predict_layers": 1, "mtp_hybrid_override_pattern": "*E"}
_GPT_OSS: Dict[str, Any] = {
    "model_type": "gpt_oss", "hidden_size": 2880, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 2880,
    "num_experts_per_tok": 4, "attention_bias": True, "sliding_window": 128, "vocab_size": 201088, "max_position_embeddings": 131072,
    "tie_word_embeddings": False}
_QWEN3: Dict[str, Any] = {"model_type": "qwen3_moe", "head_dim": 128, "num_key_value_heads": 4, "num_experts": 128, "num_experts_per_tok": 8,
                          "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": False}
_QWEN2: Dict[str, Any] = {"model_type": "qwen2", "vocab_size": 152064, "max_position_embeddings": 32768, "tie_word_embeddings": False}

MODELS: Dict[str, Dict[str, Any]] = {
    "deepseek-v3": _DEEPSEEK, "deepseek-v3+mtp": {**_DEEPSEEK, "num_nextn_predict_layers": 1},
    "kimi-k2": {**_LATENT, "first_k_dense_replace": 1, "n_routed_experts": 384, "num_attention_heads": 64, "num_key_value_heads": 64, "vocab_size": 163840,
                "num_nextn_predict_layers": 0},
    "nemotron-3-nano": _NANO, "nemotron3-nano-30b": _NANO, "nemotron-3-super": _SUPER, "nemotron3-super-120b": _SUPER,
    "nemotron-3-ultra": _ULTRA, "nemotron3-ultra-550b": _ULTRA, "deepseekv4-flash": _FLASH, "deepseek-v4-flash": _FLASH,
    "qwen3-235b-a22b": {**_QWEN3, "num_hidden_layers": 94, "hidden_size": 4096, "num_attention_heads": 64, "intermediate_size": 12288,
                        "moe_intermediate_size": 1536},
    "qwen3-30b-a3b": {**_QWEN3, "num_hidden_layers": 48, "hidden_size": 2048, "num_attention_heads": 32, "intermediate_size": 6144,
                      "moe_intermediate_size": 768},
    "gpt-oss-120b": {**_GPT_OSS, "num_hidden_layers": 36, "num_local_experts": 128, "layer_types": ["sliding_attention", "full_attention"] * 18},
    "gpt-oss-20b": {**_GPT_OSS, "num_hidden_layers": 24, "num_local_experts": 32, "layer_types": ["sliding_attention", "full_attention"] * 12},
    "qwen3-next-80b-a3b": {
        "model_type": "qwen3_next", "num_hidden_layers": 48, "hidden_size": 2048, "full_attention_interval": 4, "num_attention_heads": 16,
        "num_key_value_heads": 2, "head_dim": 256, "linear_num_key_heads": 16, "linear_num_value_heads": 32, "linear_key_head_dim": 128,
        "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 512,
        "shared_expert_intermediate_size": 512, "intermediate_size": 5120, "decoder_sparse_step": 1, "mlp_only_layers": [], "vocab_size": 151936,
        "max_position_embeddings": 262144, "tie_word_embeddings": False},
    "qwen2.5-7b": {**_QWEN2, "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944},
    "qwen2.5-14b": {**_QWEN2, "num_hidden_layers": 48, "hidden_size": 5120, "num_attention_heads": 40, "num_key_value_heads": 8, "intermediate_size": 13824},
    "qwen2.5-32b": {**_QWEN2, "num_hidden_layers": 64, "hidden_size": 5120, "num_attention_heads": 40, "num_key_value_heads": 8, "intermediate_size": 27648}}


def known_model(name: str) -> Optional[Dict[str, Any]]:
    """The config.json of a model by its name; nothing for an unknown one."""
    return MODELS.get(name.lower().replace("_", "-").replace(" ", "-"))
