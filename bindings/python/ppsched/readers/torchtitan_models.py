# SPDX-License-Identifier: Apache-2.0
"""torchtitan's models by family and flavour, as its release 0.3.0 has them (torchtitan/models/FAMILY/__init__.py), in the fields of
Hugging Face's config.json."""
from typing import Any, Dict

Fields = Dict[str, Any]
RELEASE = "0.3.0"
LESS = "less_in_tower"  # no field of config.json: parameters that the tower has less than by that file
NO_LANGUAGE = {"flux": "it makes images, and has no layers that a pipeline of a language model has"}
DROPPED = ("llama2", "deepseek_v2")            # families of releases before
FORMER = {"llama4": "0.2.2"}                   # those that are read, and the last release with each
SAME = {"llama3_ft": "llama3"}                 # other names of families
# What releases before added to a flavour of the same sizes.
ENDINGS = ("_flex_attn", "_varlen_attn", "_flex", "_varlen", "_non_fused_qkv")


def _llama3(hidden: int, layers: int, heads: int, width: int, **others: Any) -> Fields:
    return {"model_type": "llama", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": width,
            "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072, "tie_word_embeddings": False, **others}


def _qwen3(hidden: int, layers: int, heads: int, width: int, **others: Any) -> Fields:
    return {"model_type": "qwen3", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": width,
            "num_key_value_heads": 8, "head_dim": 128, "vocab_size": 151936, "max_position_embeddings": 40960, "tie_word_embeddings": False, **others}


def _qwen3_experts(hidden: int, layers: int, heads: int, width: int, experts: int, **others: Any) -> Fields:
    return {"model_type": "qwen3_moe", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "moe_intermediate_size": width,
            "num_experts": experts, "num_experts_per_tok": 8, "num_key_value_heads": 4, "head_dim": 128, "vocab_size": 151936,
            "max_position_embeddings": 40960, "tie_word_embeddings": False, **others}


def _latent(hidden: int, layers: int, heads: int, width: int, expert_width: int, experts: int, **others: Any) -> Fields:
    """Latent attention, and experts after the first layers. Biases of routers are no parameters, as in DeepSeek-V2; MTP layers are none by
    default."""
    return {"model_type": "deepseek_v2", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "intermediate_size": width,
            "num_key_value_heads": heads, "moe_intermediate_size": expert_width, "n_routed_experts": experts, "n_shared_experts": 2, "num_experts_per_tok": 6,
            "first_k_dense_replace": 1, "q_lora_rank": None, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128,
            "vocab_size": 102400, "max_position_embeddings": 16384, "tie_word_embeddings": False, **others}


def _gpt_oss(hidden: int, layers: int, experts: int, vocabulary: int = 201088) -> Fields:
    """Each second layer from the first has a window."""
    return {"model_type": "gpt_oss", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
            "intermediate_size": 2880, "num_local_experts": experts, "num_experts_per_tok": 4, "sliding_window": 128, "attention_bias": True,
            "vocab_size": vocabulary, "max_position_embeddings": 131072, "tie_word_embeddings": False}


def _llama4(hidden: int, layers: int, heads: int, width: int, expert_width: int, experts: int, step: int = 2, **others: Any) -> Fields:
    """Each so manieth layer has experts, one of them shared. All layers attend to all tokens, where the published model's do not."""
    return {"model_type": "llama4_text", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": 8,
            "head_dim": hidden // heads, "intermediate_size": expert_width, "intermediate_size_mlp": width, "num_local_experts": experts,
            "num_experts_per_tok": 1, "interleave_moe_layer_step": step, "use_qk_norm": False, "vocab_size": 202048, "max_position_embeddings": 1048576,
            "tie_word_embeddings": False, "attention_chunk_size": None, **others}


def _irope(fields: Fields, chunk: int = 8192) -> Fields:
    """Each fourth layer from the first attends to all tokens, the others to those of a chunk."""
    kinds = ["chunked_attention" if layer % 4 else "full_attention" for layer in range(fields["num_hidden_layers"])]
    return {**fields, "attention_chunk_size": chunk, "layer_types": kinds}


def _kimi(text: Fields, tower: Fields) -> Fields:
    """The norm between tower and text is of one patch, where the published model's is of the four that it joins."""
    side = tower.pop("side", 64)
    sizes = {"patch_size": 14, "pos_emb_height": side, "pos_emb_width": side, "merge_kernel_size": [2, 2], **tower}
    return {"model_type": "kimi_k25", "text_config": text, "vision_config": sizes, "projection_hidden_size": 4 * tower["hidden_size"],
            "tie_word_embeddings": False, LESS: 6 * tower["hidden_size"]}


def _glimmer(hidden: int, layers: int, heads: int, head_size: int, window: int, vocabulary: int, positions: int) -> Fields:
    """Each fourth layer has no window; the last is one of them."""
    return {"model_type": "muse_glimmer_text", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": 2,
            "head_dim": head_size, "intermediate_size": 3 * hidden, "sliding_window": window, "vocab_size": vocabulary,
            "max_position_embeddings": positions, "tie_word_embeddings": False,
            "layer_types": ["full_attention" if (layers - layer) % 4 == 1 else "sliding_attention" for layer in range(layers)]}


def _glimmer_seeing(text: Fields, adapter: int, tower: Fields) -> Fields:
    return {"model_type": "muse_glimmer", "text_config": text, "projector_hidden_size": adapter, "out_hidden_size": 4 * tower["hidden_size"],
            "vision_config": {"patch_size": 14, "patch_temporal": 2, "merge_size": 2, **tower}, "tie_word_embeddings": False}


def _qwen3_5(hidden: int, layers: int, heads: int, groups: int, value_heads: int, tower: Fields, **others: Any) -> Fields:
    """Of four layers the last has attention. The output is not tied, where the published model has it tied too."""
    text = {"model_type": "qwen3_5_text", "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": groups,
            "head_dim": 256, "full_attention_interval": 4, "linear_num_key_heads": 16, "linear_num_value_heads": value_heads, "linear_key_head_dim": 128,
            "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4, "vocab_size": 248320, "max_position_embeddings": 262144,
            "tie_word_embeddings": False, **others}
    has_experts = "num_experts" in others
    vision = {"in_channels": 3, "patch_size": 16, "temporal_patch_size": 2, "spatial_merge_size": 2, "num_position_embeddings": 2304, **tower,
              "out_hidden_size": hidden}
    return {"model_type": "qwen3_5_moe" if has_experts else "qwen3_5", "tie_word_embeddings": False, "vision_config": vision,
            "text_config": {**text, "model_type": "qwen3_5_moe_text"} if has_experts else text}


def _experts(count: int, each: int, width: int) -> Fields:
    return {"num_experts": count, "num_experts_per_tok": each, "moe_intermediate_size": width, "shared_expert_intermediate_size": width}


_MOONLIGHT = _latent(2048, 27, 16, 11264, 1408, 64, vocab_size=163840)
_KIMI = _latent(7168, 61, 64, 18432, 2048, 384, n_shared_experts=1, num_experts_per_tok=8, q_lora_rank=1536, vocab_size=163840, max_position_embeddings=262144)
_DEBUG_LATENT = _latent(256, 6, 16, 1024, 256, 8, num_experts_per_tok=3, vocab_size=2048)
_SCOUT = _llama4(5120, 48, 40, 16384, 8192, 16, 1, max_position_embeddings=10485760)
_MAVERICK = _llama4(5120, 48, 40, 16384, 8192, 128)
_DEBUG_LLAMA_4 = _llama4(256, 6, 16, 768, 512, 8, num_key_value_heads=16, vocab_size=2048)
_DEBUG_GLIMMER, _GLIMMER = _glimmer(256, 8, 4, 64, 128, 2048, 4096), _glimmer(6656, 52, 32, 128, 2048, 202048, 16384)
_MOON_TOWER = {"hidden_size": 1152, "intermediate_size": 4304, "num_hidden_layers": 27, "num_attention_heads": 16}
_TOWER_768 = {"hidden_size": 768, "intermediate_size": 3072, "depth": 12, "num_heads": 12}
_TOWER_1024 = {"hidden_size": 1024, "intermediate_size": 4096, "depth": 24, "num_heads": 16}
_TOWER_1152 = {"hidden_size": 1152, "intermediate_size": 4304, "depth": 27, "num_heads": 16}
_DEBUG_TOWER = {"hidden_size": 256, "intermediate_size": 512, "depth": 4, "num_heads": 4, "num_position_embeddings": 1024}
_DEBUG_SIZES = {"head_dim": 64, "linear_num_key_heads": 2, "linear_key_head_dim": 64, "linear_value_head_dim": 64, "max_position_embeddings": 4096}

MODELS: Dict[str, Dict[str, Fields]] = {
    "llama3": {
        "debugmodel": _llama3(256, 6, 16, 768, num_key_value_heads=16, vocab_size=2048),
        "1B": _llama3(2048, 16, 32, 8192, tie_word_embeddings=True), "3B": _llama3(3072, 28, 24, 8192, tie_word_embeddings=True),
        "8B": _llama3(4096, 32, 32, 14336), "70B": _llama3(8192, 80, 64, 28672), "405B": _llama3(16384, 126, 128, 53248)},
    "deepseek_v3": {
        "debugmodel": _DEBUG_LATENT, "16B": _latent(2048, 27, 16, 10944, 1408, 64), "236B": _latent(5120, 60, 128, 12288, 1536, 160, q_lora_rank=1536),
        "671B": _latent(7168, 61, 128, 18432, 2048, 256, n_shared_experts=1, num_experts_per_tok=8, first_k_dense_replace=3, q_lora_rank=1536,
                        vocab_size=129280)},
    "llama4": {
        "debugmodel": _DEBUG_LLAMA_4, "17bx16e": _SCOUT, "17bx128e": _MAVERICK, "debugmodel_irope": _irope(_DEBUG_LLAMA_4, 256),
        "17bx16e_irope": _irope(_SCOUT), "17bx128e_irope": _irope(_MAVERICK)},
    "gpt_oss": {"debugmodel": _gpt_oss(256, 4, 8, 2048), "20b": _gpt_oss(2880, 24, 32), "120b": _gpt_oss(2880, 36, 128)},
    "kimi_k2_7": {
        "debugmodel": _kimi(_DEBUG_LATENT, {"hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 4, "num_attention_heads": 4, "side": 16}),
        "moonlight-16B-A3B": {**_MOONLIGHT, "max_position_embeddings": 8192},
        "Kimi-VL-A3B": _kimi({**_MOONLIGHT, "max_position_embeddings": 131072}, dict(_MOON_TOWER)), "Kimi-K2.5": _kimi(_KIMI, dict(_MOON_TOWER))},
    "muse_glimmer": {
        "debugmodel": _DEBUG_GLIMMER, "30B": _GLIMMER,
        "debugmodel_mm": _glimmer_seeing(_DEBUG_GLIMMER, 128, {
            "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 3, "num_attention_heads": 4, "pos_emb_height": 2, "pos_emb_width": 2}),
        "30B_mm": _glimmer_seeing(_GLIMMER, 4096, {
            "hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 50, "num_attention_heads": 16, "pos_emb_height": 32, "pos_emb_width": 32})},
    "qwen3": {
        "debugmodel": _qwen3(256, 8, 16, 3072, vocab_size=2048, tie_word_embeddings=True, max_position_embeddings=4096),
        "debugmodel_non_fused_qkv": _qwen3(256, 8, 16, 3072, vocab_size=2048, tie_word_embeddings=True, max_position_embeddings=4096),
        "0.6B": _qwen3(1024, 28, 16, 3072, tie_word_embeddings=True), "1.7B": _qwen3(2048, 28, 16, 6144, tie_word_embeddings=True),
        "4B": _qwen3(2560, 36, 32, 9728, tie_word_embeddings=True), "8B": _qwen3(4096, 36, 32, 12288), "14B": _qwen3(5120, 40, 40, 17408),
        "32B": _qwen3(5120, 64, 64, 25600),
        "debugmodel_moe": _qwen3_experts(256, 8, 16, 768, 64, num_key_value_heads=8, vocab_size=2048, max_position_embeddings=4096),
        "30B-A3B": _qwen3_experts(2048, 48, 32, 768, 128), "235B-A22B": _qwen3_experts(4096, 94, 64, 1536, 128)},
    "qwen3_5": {
        "debugmodel": _qwen3_5(256, 8, 4, 2, 4, _DEBUG_TOWER, intermediate_size=512, **_DEBUG_SIZES),
        "debugmodel_moe": _qwen3_5(256, 4, 4, 2, 4, {**_DEBUG_TOWER, "depth": 2}, **_DEBUG_SIZES, **_experts(8, 2, 256)),
        "0.8B": _qwen3_5(1024, 24, 8, 2, 16, _TOWER_768, intermediate_size=3584), "2B": _qwen3_5(2048, 24, 8, 2, 16, _TOWER_1024, intermediate_size=6144),
        "4B": _qwen3_5(2560, 32, 16, 4, 32, _TOWER_1024, intermediate_size=9216), "9B": _qwen3_5(4096, 32, 16, 4, 32, _TOWER_1152, intermediate_size=12288),
        "27B": _qwen3_5(5120, 64, 24, 4, 48, _TOWER_1152, intermediate_size=17408),
        "35B-A3B": _qwen3_5(2048, 40, 16, 2, 32, _TOWER_1152, **_experts(256, 8, 512)),
        "122B-A10B": _qwen3_5(3072, 48, 32, 2, 64, _TOWER_1152, **_experts(256, 8, 1024)),
        "397B-A17B": _qwen3_5(4096, 60, 32, 2, 64, _TOWER_1152, **_experts(512, 10, 1024))},
}
