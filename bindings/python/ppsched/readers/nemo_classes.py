# SPDX-License-Identifier: Apache-2.0
"""Classes of models that NeMo 2's recipes name, as its release 2.5.0rc0 has them (nemo/collections/llm/gpt/model), in the fields of Megatron
Core's TransformerConfig: a recipe says only what differs from its class."""
from typing import Any, Dict, Tuple

Fields = Dict[str, Any]

_PLAIN: Fields = {"normalization": "RMSNorm", "gated_linear_unit": True, "add_bias_linear": False, "position_embedding_type": "rope",
                  "hidden_dropout": 0.0, "share_embeddings_and_output_weights": False, "seq_length": 4096}
_GPT: Fields = {"position_embedding_type": "learned_absolute", "share_embeddings_and_output_weights": True, "seq_length": 2048}
_LATENT: Fields = {**_PLAIN, "multi_latent_attention": True, "qk_layernorm": True, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_head_dim": 128,
                   "qk_pos_emb_head_dim": 64, "v_head_dim": 128, "moe_token_dispatcher_type": "alltoall"}
_EXPERTS: Fields = {"moe_router_topk": 2, "num_moe_experts": 8, "moe_token_dispatcher_type": "alltoall"}
_PATTERN: Fields = {"normalization": "RMSNorm", "add_bias_linear": False, "position_embedding_type": "none", "hidden_dropout": 0.0,
                    "share_embeddings_and_output_weights": False, "mamba_num_groups": 8, "seq_length": 4096}

# What the classes of a family have in common.
FAMILIES: Dict[str, Fields] = {
    "GPTConfig": _GPT, "LlamaConfig": _PLAIN, "Llama31Config": {**_PLAIN, "seq_length": 131072}, "Baichuan2Config": _PLAIN, "Phi3Config": {**_PLAIN, "vocab_size": 32064},
    "GemmaConfig": {**_PLAIN, "kv_channels": 256, "share_embeddings_and_output_weights": True, "seq_length": 8192},
    "MistralConfig": _PLAIN, "MixtralConfig": {**_PLAIN, **_EXPERTS}, "Qwen2Config": {**_PLAIN, "add_qkv_bias": True, "vocab_size": 151936},
    "Qwen3Config": {**_PLAIN, "qk_layernorm": True, "kv_channels": 128, "vocab_size": 151936},
    "ChatGLMConfig": {**_PLAIN, "add_qkv_bias": True, "make_vocab_size_divisible_by": 65024},
    "NemotronConfig": {**_PLAIN, "normalization": "LayerNorm", "gated_linear_unit": False},
    "StarcoderConfig": {**_GPT, "add_bias_linear": True, "hidden_dropout": 0.2, "share_embeddings_and_output_weights": False, "seq_length": 8192},
    "Starcoder2Config": {**_GPT, "add_bias_linear": True, "hidden_dropout": 0.0, "position_embedding_type": "rope",
                         "share_embeddings_and_output_weights": False, "seq_length": 16384},
    "GPTOSSConfig": {**_PLAIN, **_EXPERTS, "add_bias_linear": True, "kv_channels": 64, "vocab_size": 201088, "moe_router_topk": 4, "moe_ffn_hidden_size": 2880,
                     "window_size": [128, 0], "window_attn_skip_freq": 2, "softmax_type": "learnable", "position_embedding_type": "yarn", "seq_length": 131072},
    "DeepSeekConfig": {**_LATENT, "make_vocab_size_divisible_by": 3200}, "NemotronHConfig": {**_PATTERN, "vocab_size": 131072, "seq_length": 8192},
    "MambaConfig": _PATTERN}


def _experts(count: int, each: int, width: int, shared: int, layers: int, dense: int) -> Fields:
    return {"num_moe_experts": count, "moe_router_topk": each, "moe_ffn_hidden_size": width, "moe_shared_expert_intermediate_size": shared,
            "moe_layer_freq": [0] * dense + [1] * (layers - dense)}


def _mamba(pattern: str, groups: int = 1, divisor: int = 16) -> Fields:
    return {"hybrid_override_pattern": pattern, "mamba_num_groups": groups, "make_vocab_size_divisible_by": divisor, "seq_length": 2048 if groups == 1 else 4096}


_TIED = {"share_embeddings_and_output_weights": True}
_H8 = "M-M-M-M*" + "-M-M-M-M-M*" * 3 + "-M-M-M-M-M-"
_H47 = ("M-" * 8)[:-1] + "-M*" + ("-M" * 10) + "*" + "-M" * 5 + "*" + "-M" * 5 + "*" + "-M" * 7 + "---MM---M-M*" + "-M" * 5 + "-"
_H56 = "M-M-M-M*" + ("-M" * 5 + "*") * 9 + "-M" * 5 + "-"
_HYBRID = "M-M-M--M-M*-M-M-M-M--M*-M-M-M-M-M*--M-M-M-M-M*-M--M-M-M-"

# Of a class its family, and num_layers, hidden_size, num_attention_heads, num_query_groups, ffn_hidden_size; then what else differs.
CLASSES: Dict[str, Tuple[str, Tuple[int, int, int, int, int], Fields]] = {
    "GPTConfig126M": ("GPTConfig", (12, 768, 12, 12, 3072), {}), "GPTConfig5B": ("GPTConfig", (24, 4096, 32, 32, 16384), {}),
    "GPTConfig7B": ("GPTConfig", (32, 4096, 32, 32, 10880), {}), "GPTConfig20B": ("GPTConfig", (44, 6144, 48, 48, 24576), {}),
    "GPTConfig40B": ("GPTConfig", (48, 8192, 64, 64, 32768), {}), "GPTConfig175B": ("GPTConfig", (96, 12288, 96, 96, 49152), {"hidden_dropout": 0.0}),
    "Baichuan2Config7B": ("Baichuan2Config", (32, 4096, 32, 32, 11008), {}),
    "ChatGLM2Config6B": ("ChatGLMConfig", (28, 4096, 32, 2, 13696), {"seq_length": 32768}),
    "ChatGLM3Config6B": ("ChatGLMConfig", (28, 4096, 32, 2, 13696), {"seq_length": 8192}),
    "DeepSeekV2Config": ("DeepSeekConfig", (60, 5120, 128, 128, 12288), _experts(160, 6, 1536, 3072, 60, 1)),
    "DeepSeekV2LiteConfig": ("DeepSeekConfig", (27, 2048, 16, 16, 10944), {**_experts(64, 6, 1408, 2816, 27, 1), "q_lora_rank": None}),
    "DeepSeekV3Config": ("DeepSeekConfig", (61, 7168, 128, 128, 18432), {**_experts(256, 8, 2048, 2048, 61, 3), "make_vocab_size_divisible_by": 1280}),
    "GemmaConfig2B": ("GemmaConfig", (18, 2048, 8, 1, 16384), {}), "GemmaConfig7B": ("GemmaConfig", (28, 3072, 16, 16, 24576), {}),
    "GPTOSSConfig120B": ("GPTOSSConfig", (36, 2880, 64, 8, 2880), {"num_moe_experts": 128}),
    "GPTOSSConfig20B": ("GPTOSSConfig", (24, 2880, 64, 8, 2880), {"num_moe_experts": 32}),
    "Llama2Config7B": ("LlamaConfig", (32, 4096, 32, 32, 11008), {}), "Llama2Config13B": ("LlamaConfig", (40, 5120, 40, 40, 13824), {}),
    "Llama2Config70B": ("LlamaConfig", (80, 8192, 64, 8, 28672), {}), "CodeLlamaConfig7B": ("LlamaConfig", (32, 4096, 32, 32, 11008), {"seq_length": 16384}),
    "CodeLlamaConfig13B": ("LlamaConfig", (40, 5120, 40, 40, 13824), {"seq_length": 16384}),
    "CodeLlamaConfig34B": ("LlamaConfig", (48, 8192, 64, 8, 22016), {"seq_length": 16384}), "CodeLlamaConfig70B": ("LlamaConfig", (80, 8192, 64, 8, 28672), {}),
    "Llama3Config8B": ("LlamaConfig", (32, 4096, 32, 8, 14336), {"seq_length": 8192}),
    "Llama3Config70B": ("LlamaConfig", (80, 8192, 64, 8, 28672), {"seq_length": 8192}),
    "Llama31Config8B": ("Llama31Config", (32, 4096, 32, 8, 14336), {}), "Llama31Config70B": ("Llama31Config", (80, 8192, 64, 8, 28672), {}),
    "Llama31Config405B": ("Llama31Config", (126, 16384, 128, 8, 53248), {}), "Llama32Config1B": ("Llama31Config", (16, 2048, 32, 8, 8192), _TIED),
    "Llama32Config3B": ("Llama31Config", (28, 3072, 24, 8, 8192), _TIED), "Llama31NemotronNano8BConfig": ("Llama31Config", (32, 4096, 32, 8, 14336), {}),
    "MistralConfig7B": ("MistralConfig", (32, 4096, 32, 8, 14336), {"window_size": [4096, 0], "seq_length": 32768}),
    "MistralNeMoConfig12B": ("MistralConfig", (40, 5120, 32, 8, 14336), {"kv_channels": 128}),
    "MistralNeMoConfig123B": ("MistralConfig", (88, 12288, 96, 8, 28672), {"kv_channels": 128}),
    "MixtralConfig8x3B": ("MixtralConfig", (32, 2560, 32, 8, 8960), {}), "MixtralConfig8x7B": ("MixtralConfig", (32, 4096, 32, 8, 14336), {}),
    "MixtralConfig8x22B": ("MixtralConfig", (56, 6144, 48, 8, 16384), {}),
    "Nemotron3Config4B": ("NemotronConfig", (32, 3072, 24, 8, 9216), {"kv_channels": 128}), "Nemotron3Config8B": ("NemotronConfig", (32, 4096, 32, 32, 16384), {}),
    "Nemotron3Config22B": ("NemotronConfig", (40, 6144, 48, 48, 24576), {}), "Nemotron4Config15B": ("NemotronConfig", (32, 6144, 48, 8, 24576), {}),
    "Nemotron4Config340B": ("NemotronConfig", (96, 18432, 96, 8, 73728), {}), "Phi3ConfigMini": ("Phi3Config", (32, 3072, 32, 32, 8192), {}),
    "Qwen2Config500M": ("Qwen2Config", (24, 896, 14, 2, 4864), {}), "Qwen25Config500M": ("Qwen2Config", (24, 896, 14, 2, 4864), {"seq_length": 32768}),
    "Qwen2Config1P5B": ("Qwen2Config", (28, 1536, 12, 2, 8960), {}), "Qwen25Config1P5B": ("Qwen2Config", (28, 1536, 12, 2, 8960), {"seq_length": 131072}),
    "Qwen25Config3B": ("Qwen2Config", (36, 2048, 16, 2, 11008), _TIED), "Qwen2Config7B": ("Qwen2Config", (28, 3584, 28, 4, 18944), {"vocab_size": 152064}),
    "Qwen25Config7B": ("Qwen2Config", (28, 3584, 28, 4, 18944), {"vocab_size": 152064, "seq_length": 131072}),
    "Qwen25Config14B": ("Qwen2Config", (48, 5120, 40, 8, 13824), {"vocab_size": 152064, "seq_length": 131072}),
    "Qwen25Config32B": ("Qwen2Config", (64, 5120, 40, 8, 27648), {"vocab_size": 152064, "seq_length": 131072}),
    "Qwen2Config72B": ("Qwen2Config", (80, 8192, 64, 8, 29568), {"vocab_size": 152064}),
    "Qwen25Config72B": ("Qwen2Config", (80, 8192, 64, 8, 29568), {"vocab_size": 152064, "seq_length": 131072}),
    "Qwen3Config600M": ("Qwen3Config", (28, 1024, 16, 8, 3072), _TIED), "Qwen3Config1P7B": ("Qwen3Config", (28, 2048, 16, 8, 6144), _TIED),
    "Qwen3Config4B": ("Qwen3Config", (36, 2560, 32, 8, 9728), _TIED), "Qwen3Config8B": ("Qwen3Config", (36, 4096, 32, 8, 12288), {}),
    "Qwen3Config14B": ("Qwen3Config", (40, 5120, 40, 8, 17408), {}), "Qwen3Config32B": ("Qwen3Config", (64, 5120, 64, 8, 25600), {}),
    "Qwen3Config30B_A3B": ("Qwen3Config", (48, 2048, 32, 4, 6144), {**_EXPERTS, "num_moe_experts": 128, "moe_router_topk": 8, "moe_ffn_hidden_size": 768}),
    "Qwen3Config235B_A22B": ("Qwen3Config", (94, 4096, 64, 4, 12288), {**_EXPERTS, "num_moe_experts": 128, "moe_router_topk": 8, "moe_ffn_hidden_size": 1536}),
    "StarcoderConfig15B": ("StarcoderConfig", (40, 6144, 48, 1, 24576), {}), "Starcoder2Config3B": ("Starcoder2Config", (30, 3072, 24, 2, 12288), {}),
    "Starcoder2Config7B": ("Starcoder2Config", (32, 4608, 36, 4, 18432), {}), "Starcoder2Config15B": ("Starcoder2Config", (40, 6144, 48, 4, 24576), {}),
    "BaseMambaConfig130M": ("MambaConfig", (24, 768, 1, 1, 768), _mamba("M" * 24)), "BaseMambaConfig370M": ("MambaConfig", (48, 1024, 1, 1, 1024), _mamba("M" * 48)),
    "BaseMambaConfig780M": ("MambaConfig", (48, 1536, 1, 1, 1536), _mamba("M" * 48)),
    "BaseMambaConfig1_3B": ("MambaConfig", (48, 2048, 1, 1, 2048), _mamba("M" * 48)),
    "BaseMambaConfig2_7B": ("MambaConfig", (64, 2560, 1, 1, 2560), _mamba("M" * 64)),
    "NVIDIAMambaConfig8B": ("MambaConfig", (56, 4096, 32, 32, 4096), _mamba("M" * 56, 8, 128)),
    "NVIDIAMambaHybridConfig8B": ("MambaConfig", (56, 4096, 32, 8, 16384), _mamba(_HYBRID, 8, 128)),
    "NemotronHConfig4B": ("NemotronHConfig", (52, 3072, 32, 8, 12288), {"hybrid_override_pattern": _H8, "mamba_num_heads": 112, "kv_channels": 128}),
    "NemotronHConfig8B": ("NemotronHConfig", (52, 4096, 32, 8, 21504), {"hybrid_override_pattern": _H8}),
    "NemotronHConfig47B": ("NemotronHConfig", (98, 8192, 64, 8, 30720), {"hybrid_override_pattern": _H47, "mamba_state_dim": 256}),
    "NemotronHConfig56B": ("NemotronHConfig", (118, 8192, 64, 8, 32768), {"hybrid_override_pattern": _H56, "mamba_state_dim": 256})}


def class_fields(name: str) -> Fields:
    """What a class says by itself."""
    family, sizes, others = CLASSES[name]
    names = ("num_layers", "hidden_size", "num_attention_heads", "num_query_groups", "ffn_hidden_size")
    return {**FAMILIES[family], **dict(zip(names, sizes)), **others}
