#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the parameters of small models of many families by transformers, on its device without memory. counted.jsonl has the counts,
which a test compares with the library's. Needs transformers 5.23 and torch.

usage: counted.py [--cases N] [--seed N] [FAMILY...] > counted.jsonl    N configs of each family, drawn at random

A line has a config, its parameters without towers, how many of these a token uses, and the parameters of its towers if the library knows them. Some configs leave
out fields, for which the class has a value. Buffers with which routers choose experts count as parameters, as they do in the library.
"""
import argparse
import importlib
import json
import logging
import os
import sys
import warnings

import decoders_drawn
from drawn import DRAW, experts, frame, is_so, latent, numbers, one_of, some, types, widths

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "critical")
TOWERS = ("visual.", "vision_tower.", "vision_model.", "multi_modal_projector.", "mm_projector.", "embed_vision.", "vision_adapter.",
          "vision_projection.", "audio_tower.")
BUFFERS = ("e_score_correction_bias", "expert_bias", "layer_scalar")  # that checkpoints hold as they hold parameters
KEPT = {"hidden_size", "vocab_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "intermediate_size", "text_config",
        "vision_config", "audio_config", "d_model", "encoder_attention_heads", "hybrid_override_pattern", "layers_block_type", "layer_types",
        "linear_attn_config", "pad_token_id", "num_heads", "embed_dim", "model_type", "head_dim", "num_experts", "num_experts_per_tok",
        "num_experts_per_token", "n_routed_experts", "num_local_experts", "linear_num_key_heads", "linear_num_value_heads", "mamba_n_heads",
        "mamba_n_groups", "n_groups", "image_size", "patch_size"}


# --- parts ---

def delta():
    keys = one_of(1, 2, 4)
    return {"linear_num_key_heads": keys, "linear_num_value_heads": keys * one_of(1, 2, 3), "linear_key_head_dim": one_of(8, 16, 24),
            "linear_value_head_dim": one_of(8, 16, 40), "linear_conv_kernel_dim": one_of(2, 3, 4)}


def delta_layers(layers):
    return one_of({}, {"layer_types": types(layers, "linear_attention", "full_attention")}, {"full_attention_interval": one_of(2, 3)})


def mamba(hidden):
    expand, heads = one_of(1, 2, 3), one_of(1, 2, 4, 8)
    found = {"mamba_expand": expand, "mamba_n_heads": heads, "mamba_n_groups": one_of(*(each for each in (1, 2, 4) if heads % each == 0)),
             "mamba_d_state": one_of(8, 16), "mamba_d_conv": one_of(2, 4), "mamba_conv_bias": is_so(0.7), "mamba_proj_bias": is_so(0.3)}
    return {**found, "mamba_d_head": expand * hidden // heads} if is_so() else found


# --- families: text models ---

def qwen3_next():
    base = frame()
    layers = base["num_hidden_layers"]
    some_dense = one_of({}, {"mlp_only_layers": numbers(layers)}, {"decoder_sparse_step": one_of(1, 2, 3)})
    return {**base, **delta(), **experts(), **delta_layers(layers), **some_dense, "head_dim": one_of(8, 16), "attention_bias": is_so(0.3),
            "intermediate_size": some(3, 30, 8), "shared_expert_intermediate_size": some(2, 20, 4)}


def qwen3_5_text():
    base = frame()
    return {**base, **delta(), **delta_layers(base["num_hidden_layers"]), "head_dim": one_of(8, 16), "attention_bias": is_so(0.3),
            "intermediate_size": some(3, 30, 8)}


def qwen3_5_moe_text():
    base = qwen3_5_text()
    del base["intermediate_size"]
    return {**base, **experts(), "shared_expert_intermediate_size": some(2, 20, 4)}


def olmo_hybrid():
    base = frame()
    layers = base["num_hidden_layers"] = base["num_hidden_layers"] + 1
    listed = ["linear_attention", *types(layers - 2, "linear_attention", "full_attention"), "full_attention"]
    return {**base, **one_of({}, delta()), **one_of({}, {"layer_types": listed}), "intermediate_size": some(3, 30, 8),
            "attention_bias": is_so(0.3)}


def kimi_linear():
    base = {**frame(), "tie_word_embeddings": False}
    layers = base["num_hidden_layers"]
    in_delta = [layer + 1 for layer in range(layers) if is_so(0.7)]
    sizes = {"head_dim": one_of(8, 16), "num_heads": one_of(1, 2, 3), "short_conv_kernel_size": one_of(2, 4)}
    lists = {"kda_layers": in_delta, "full_attn_layers": [layer for layer in range(1, layers + 1) if layer not in in_delta]}
    which = one_of({"linear_attn_config": {**sizes, **lists}}, {"linear_head_dim": 8, "linear_num_heads": 3, "linear_conv_kernel_dim": 3},
                   {"layer_types": types(layers, "linear_attention", "full_attention"), "linear_attn_config": sizes})
    return {**base, **latent(), **experts("num_experts", "num_experts_per_token"), **which, **widths(layers),
            "num_key_value_heads": base["num_attention_heads"], "q_lora_rank": one_of(None, 16), "num_shared_experts": one_of(1, 2)}


def nemotron_h():
    base = {**frame(), "tie_word_embeddings": False}
    letters = [one_of(*"M*-E") for _ in range(base.pop("num_hidden_layers") + 1)]
    names = one_of({"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}, {"M": "linear_attention", "*": "full_attention", "-": "mlp", "E": "moe"})
    listed = [names[letter] for letter in letters]
    pattern = one_of({"hybrid_override_pattern": "".join(letters)}, {"layers_block_type": listed}, {"layer_types": listed})
    return {**base, **experts("n_routed_experts"), **pattern, "head_dim": one_of(8, 16), "intermediate_size": some(3, 30, 8),
            "mlp_bias": is_so(0.3), "ssm_state_size": one_of(8, 16), "mamba_num_heads": one_of(2, 4, 6), "mamba_head_dim": one_of(8, 16),
            "n_groups": one_of(1, 2), "conv_kernel": one_of(2, 4), "use_conv_bias": is_so(0.7), "use_bias": is_so(0.3),
            "moe_shared_expert_intermediate_size": some(2, 20, 4), "moe_latent_size": one_of(None, 12)}


def granitemoehybrid():
    base = frame()
    listed = {"layer_types": types(base["num_hidden_layers"], *one_of(("mamba", "attention"), ("linear_attention", "full_attention")))}
    some_experts = one_of({"num_local_experts": 0}, {"num_local_experts": 4, "num_experts_per_tok": one_of(1, 3)})
    return {**base, **mamba(base["hidden_size"]), **some_experts, **one_of({}, listed), "intermediate_size": some(2, 20, 4),
            "shared_intermediate_size": some(3, 30, 8), "attention_bias": is_so(0.3)}


def bamba():
    base = frame()
    return {**base, **mamba(base["hidden_size"]), "attn_layer_indices": one_of(None, numbers(base["num_hidden_layers"])),
            "intermediate_size": some(2, 20, 8), "attention_bias": is_so(0.3), "mlp_bias": is_so(0.3)}


def falcon_h1():
    base = frame()
    inner = {**mamba(base["hidden_size"]), "mamba_d_ssm": None}
    if is_so(0.7):
        inner.pop("mamba_d_head", None)
        inner["mamba_d_ssm"] = inner["mamba_n_heads"] * one_of(8, 16)
    return {**base, **inner, "intermediate_size": some(2, 20, 8), "attention_bias": is_so(0.3), "mlp_bias": is_so(0.3),
            "mamba_rms_norm": is_so(), "projectors_bias": is_so()}


def jamba():
    full, sparse, count = one_of(1, 2, 3, 8), one_of(1, 2, 3), one_of(1, 2, 4)
    return {**frame(), "intermediate_size": some(2, 20, 4), "attn_layer_period": full, "attn_layer_offset": DRAW.randrange(full),
            "expert_layer_period": sparse, "expert_layer_offset": DRAW.randrange(sparse), "num_experts": count,
            "num_experts_per_tok": DRAW.randint(1, count), "mamba_d_state": one_of(4, 8), "mamba_d_conv": one_of(2, 4),
            "mamba_expand": one_of(1, 2), "mamba_dt_rank": one_of("auto", 5), "mamba_conv_bias": is_so(0.7), "mamba_proj_bias": is_so(0.3)}


def mamba2():
    hidden, expand, size = some(2, 8, 16), one_of(1, 2), one_of(8, 16)
    heads = hidden * expand // size
    return {"hidden_size": hidden, "vocab_size": some(50, 900), "num_hidden_layers": some(1, 5), "expand": expand, "head_dim": size,
            "num_heads": heads, "state_size": one_of(8, 16), "n_groups": one_of(*(each for each in (1, 2) if heads % each == 0)),
            "conv_kernel": one_of(2, 4), "use_bias": is_so(0.3), "use_conv_bias": is_so(0.7), "tie_word_embeddings": is_so(), "pad_token_id": 0}


def mamba_1():
    return {"hidden_size": some(2, 8, 16), "vocab_size": some(50, 900), "num_hidden_layers": some(1, 5), "expand": one_of(1, 2),
            "state_size": one_of(8, 16), "conv_kernel": one_of(2, 4), "use_bias": is_so(0.3), "use_conv_bias": is_so(0.7),
            "time_step_rank": one_of("auto", 7), "tie_word_embeddings": is_so(), "pad_token_id": 0}


def lfm2():
    base = frame()
    layers = base["num_hidden_layers"]
    listed = one_of({}, {"layer_types": types(layers, "conv", "full_attention")}, {"full_attn_idxs": numbers(layers)})
    return {**base, **listed, **one_of({}, {}, {"block_ff_dim": some(30, 300, 7)}), **one_of({}, {"tie_embedding": is_so()}),
            "intermediate_size": some(30, 300, 7), "conv_bias": is_so(0.3), "conv_L_cache": one_of(2, 3, 5), "block_multiple_of": one_of(8, 32, 256),
            "block_ffn_dim_multiplier": one_of(1.0, 1.3, 2), "block_auto_adjust_ff_dim": is_so(0.7)}


def lfm2_moe():
    base = frame()
    layers = base["num_hidden_layers"]
    return {**base, **experts(), "intermediate_size": some(3, 30, 8), "conv_bias": is_so(0.3), "conv_L_cache": one_of(2, 3, 5),
            "layer_types": types(layers, "conv", "full_attention"), "num_dense_layers": DRAW.randint(0, layers), "use_expert_bias": is_so(0.7)}


def deepseek_v32():
    base = frame()
    return {**base, **latent(), **experts("n_routed_experts"), **widths(base["num_hidden_layers"]), "q_lora_rank": one_of(16, 24),
            "num_key_value_heads": base["num_attention_heads"], "n_shared_experts": one_of(1, 2), "index_n_heads": one_of(2, 3),
            "index_head_dim": one_of(8, 16), "index_topk": one_of(16, 32)}


def glm_moe_dsa():
    base = deepseek_v32()
    layers = base["num_hidden_layers"]
    return {**base, **one_of({}, {"indexer_types": ["full", *types(layers - 1, "full", "shared")]}, {"index_topk_freq": one_of(1, 2, 3)},
                             {"index_topk_freq": one_of(2, 3), "index_skip_topk_offset": one_of(1, 3)},
                             {"index_topk_pattern": "F" + "".join(types(layers - 1, "F", "S"))})}


def minimax_m3_vl_text():
    base, count = frame(), one_of(2, 4)
    layers = base["num_hidden_layers"]
    older = {"moe_layer_freq": types(layers, 0, 1),
             "sparse_attention_config": {"sparse_attention_freq": types(layers, 0, 1), "sparse_num_index_heads": one_of(1, 2), "sparse_index_dim": 8,
                                         "sparse_block_size": 16, "sparse_topk_blocks": 4, "sparse_local_block": 1}}
    newer = {"layer_types": types(layers, "full_attention", "minimax_m3_sparse"), "mlp_layer_types": types(layers, "sparse", "dense"),
             "index_n_heads": one_of(1, 2), "index_head_dim": 16}
    return {**base, **one_of(older, newer), "num_local_experts": count, "num_experts_per_tok": DRAW.randint(1, count),
            "intermediate_size": some(2, 20, 4), "head_dim": one_of(8, 16), "dense_intermediate_size": some(3, 30, 8),
            "shared_intermediate_size": some(2, 20, 4)}


def deepseek_v4():
    base = {**frame(), "num_key_value_heads": 1}
    layers, heads = base["num_hidden_layers"], base["num_attention_heads"]
    names = ("sliding_attention", "compressed_sparse_attention", "heavily_compressed_attention")
    which = one_of({}, {"compress_ratios": types(layers + one_of(0, 1), 0, 4, 128)}, {"layer_types": types(layers, *names)})
    by_token = one_of({}, {"num_hash_layers": DRAW.randint(0, layers)}, {"mlp_layer_types": types(layers, "moe", "hash_moe")})
    rates = one_of({}, {"compress_rates": {names[1]: 8, names[2]: 64}})
    return {**base, **experts("n_routed_experts"), **which, **by_token, **rates, "head_dim": one_of(16, 32), "q_lora_rank": one_of(16, 24),
            "hc_mult": one_of(2, 4), "o_groups": one_of(*(each for each in (1, 2, 4) if heads % each == 0)), "o_lora_rank": one_of(8, 12),
            "index_n_heads": one_of(2, 3), "index_head_dim": one_of(8, 16), "index_topk": 16, "mlp_bias": is_so(0.3), "sliding_window": 16}


# --- families: towers ---

SMALL = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": 100,
         "pad_token_id": 0}


def qwen_tower():
    heads = one_of(2, 4)
    return {"depth": some(1, 5), "hidden_size": heads * some(1, 5, 8), "intermediate_size": some(3, 20, 4), "num_heads": heads,
            "in_channels": one_of(1, 3), "patch_size": one_of(4, 8), "spatial_merge_size": one_of(1, 2), "temporal_patch_size": one_of(1, 2),
            "out_hidden_size": 32}


def tower(**more):
    heads = one_of(2, 4)
    return {"hidden_size": heads * some(1, 5, 8), "intermediate_size": some(3, 20, 4), "num_hidden_layers": some(1, 4),
            "num_attention_heads": heads, "num_channels": one_of(1, 3), "patch_size": one_of(4, 8), **more}


def with_image(vision):
    return {**vision, "image_size": vision["patch_size"] * some(4, 9)}


def with_head(vision):
    return {**vision, **one_of({}, {"vision_use_head": False}, {"vision_use_head": True})}


def qwen3_vl(text="qwen3_vl_text", **more):
    vision = {**qwen_tower(), "num_position_embeddings": one_of(16, 36), **one_of({}, {"deepstack_visual_indexes": list(range(some(0, 3)))})}
    return {"text_config": {**SMALL, "head_dim": 16, "model_type": text, **more}, "vision_config": vision}


def qwen3_vl_moe():
    return qwen3_vl("qwen3_vl_moe_text", num_experts=2, num_experts_per_tok=1, moe_intermediate_size=8)


def qwen3_5(text=qwen3_5_text):
    vision = {**qwen_tower(), "num_position_embeddings": one_of(16, 36)}
    return {"text_config": {**text(), "tie_word_embeddings": False, "model_type": text.__name__}, "vision_config": vision}


def qwen3_5_moe():
    return qwen3_5(qwen3_5_moe_text)


def qwen2_vl():
    vision = qwen_tower()
    vision.update(embed_dim=vision["hidden_size"], hidden_size=32, mlp_ratio=one_of(2, 4))
    del vision["out_hidden_size"], vision["intermediate_size"]
    return {"text_config": {**SMALL, "model_type": "qwen2_vl_text"}, "vision_config": vision}


def audio():
    """Of Qwen2.5-Omni and Qwen3-Omni."""
    heads = one_of(2, 4)
    return {"encoder_layers": some(1, 4), "encoder_attention_heads": heads, "encoder_ffn_dim": some(3, 20, 4), "d_model": heads * some(1, 5, 8),
            "num_mel_bins": one_of(8, 13, 16), "output_dim": 32, "n_window": one_of(4, 5, 10)}


def qwen2_5_omni_thinker():
    fields = decoders_drawn.qwen2_5_omni_thinker()
    vision = qwen2_5_vl()["vision_config"]
    return {**fields, "vision_config": vision, "audio_config": audio()}


def qwen3_omni_moe_thinker():
    fields = decoders_drawn.qwen3_omni_moe_thinker()
    sound = {**audio(), "downsample_hidden_size": one_of(6, 8), "n_window_infer": one_of(20, 40)}
    return {**fields, "vision_config": qwen3_vl()["vision_config"], "audio_config": sound}


def qwen2_5_vl():
    vision = qwen_tower()
    vision.update(one_of({}, {"fullatt_block_indexes": numbers(vision["depth"]), "window_size": one_of(16, 32)}))
    return {"text_config": {**SMALL, "model_type": "qwen2_5_vl_text"}, "vision_config": vision}


def gemma3():
    return {"text_config": {**SMALL, "head_dim": 16, "model_type": "gemma3_text"}, "mm_tokens_per_image": 4,
            "vision_config": with_head(with_image(tower(model_type="siglip_vision_model")))}


def gemma4():
    groups = one_of(1, 2)
    vision = tower(num_key_value_heads=groups, head_dim=one_of(8, 16), position_embedding_size=some(5, 20), pooling_kernel_size=one_of(1, 2, 3),
                   use_clipped_linears=is_so(0.3), standardize=is_so(0.3), model_type="gemma4_vision")
    del vision["num_channels"]
    return {"text_config": {**SMALL, "head_dim": 16, "model_type": "gemma4_text", "hidden_size_per_layer_input": 0}, "vision_config": vision}


def mistral3():
    return {"text_config": {**SMALL, "head_dim": 16, "model_type": "mistral"}, "vision_config": with_image(tower(model_type="pixtral")),
            "spatial_merge_size": one_of(1, 2), "multimodal_projector_bias": is_so(0.3), "tie_word_embeddings": False,
            **one_of({}, {"vision_feature_layer": one_of(-1, [-1, 0])})}


def llama4():
    return {"text_config": {**SMALL, "head_dim": 16, "model_type": "llama4_text", "intermediate_size_mlp": 64, "num_local_experts": 2},
            "vision_config": with_image(tower(vision_output_dim=24, projector_input_dim=24, projector_output_dim=24))}


def kimi_k25():
    text = {**SMALL, "num_key_value_heads": 2, "moe_intermediate_size": 8, "n_routed_experts": 4, "n_group": 1, "topk_group": 1,
            "num_experts_per_tok": 2, "model_type": "deepseek_v3"}
    vision = tower(pos_emb_height=one_of(4, 6), pos_emb_width=one_of(4, 6), merge_kernel_size=one_of([2, 2], [1, 2]))
    del vision["num_channels"]
    return {"text_config": text, "vision_config": vision, "projection_hidden_size": vision["hidden_size"], "tie_word_embeddings": False}


def internvl():
    vision = with_image(tower(use_qk_norm=is_so(0.3), attention_bias=is_so(0.3), norm_type=one_of("layer_norm", "rms_norm"), use_mean_pooling=is_so(0.7),
                              use_mask_token=is_so(0.2), use_absolute_position_embeddings=is_so(0.7), model_type="internvl_vision"))
    return {"text_config": {**SMALL, "model_type": "qwen2"}, "vision_config": vision, "downsample_ratio": one_of(0.25, 0.5, 1.0), "tie_word_embeddings": False}


def llava():
    return {"text_config": {**SMALL, "model_type": "llama"}, "vision_config": with_image(tower(model_type="clip_vision_model")),
            "multimodal_projector_bias": is_so(), **one_of({}, {"vision_feature_layer": one_of(-1, [-1, 0])})}


internvl.kept = mistral3.kept = kimi_k25.kept = {"tie_word_embeddings"}  # true in the classes, and false in what is published without it


def lfm2_vl():
    return {"text_config": {**SMALL, "model_type": "lfm2"}, "vision_config": with_head(tower(num_patches=one_of(16, 36), model_type="siglip2_vision_model")),
            "downsample_factor": one_of(1, 2), "projector_hidden_size": some(2, 9, 4), "projector_bias": is_so(), "projector_use_layernorm": is_so()}


def glm4v(**more):
    return {"text_config": {**SMALL, "model_type": "glm4v_text", **more}, "vision_config": {**with_image(qwen_tower()), "attention_bias": is_so(0.3)}}


def glm4v_moe():
    return glm4v(model_type="glm4v_moe_text", moe_intermediate_size=8, n_routed_experts=4, num_experts_per_tok=2, head_dim=16)


def minimax_m3_vl():
    return {"text_config": {**SMALL, "head_dim": 16, "num_local_experts": 2, "num_experts_per_tok": 1, "model_type": "minimax_m3_vl_text"},
            "vision_config": with_image(tower(temporal_patch_size=one_of(1, 2), spatial_merge_size=one_of(1, 2))),
            "projector_hidden_size": some(2, 9, 4)}


FAMILIES = {make.__name__: make for make in (
    bamba, deepseek_v32, deepseek_v4, falcon_h1, gemma3, gemma4, glm4v, glm4v_moe, glm_moe_dsa, granitemoehybrid, internvl, jamba, kimi_k25, kimi_linear,
    lfm2, lfm2_moe, lfm2_vl, llama4, llava, mamba2, minimax_m3_vl, minimax_m3_vl_text, mistral3, nemotron_h, olmo_hybrid, qwen2_5_vl, qwen2_vl, qwen3_5,
    qwen3_5_moe, qwen3_5_moe_text, qwen3_5_text, qwen3_next, qwen3_vl, qwen3_vl_moe)}
FAMILIES.update(mamba=mamba_1, falcon_mamba=mamba_1, **decoders_drawn.FAMILIES)
FAMILIES.update(qwen2_5_omni_thinker=qwen2_5_omni_thinker, qwen3_omni_moe_thinker=qwen3_omni_moe_thinker)


def without_some(fields, kept=frozenset()):
    """Some are left out, but for those that others must fit, or the library asks for."""
    found = {name: without_some(value) if name in ("vision_config", "audio_config") else value for name, value in fields.items()}
    return {name: value for name, value in found.items() if name in KEPT or name in kept or is_so(0.7)}


# --- counts ---

def class_of(family):
    import transformers
    from transformers.models.auto import modeling_auto
    names = {**modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, **modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES}
    name = names.get(family, "MiniMaxM3VLForCausalLM")
    if hasattr(transformers, name):
        return getattr(transformers, name)
    module = family.removesuffix("_text")
    return getattr(importlib.import_module(f"transformers.models.{module}.modeling_{module}"), name)


def sizes_of(model):
    yield from ((name, value) for name, value in model.named_parameters())
    yield from ((name, value) for name, value in model.named_buffers() if name.endswith(BUFFERS))


def first_of(config, *names):
    value = next((getattr(config, name) for name in names if getattr(config, name, None)), 0)
    return value[0] if isinstance(value, list) else value


def windows_of(text):
    """Tokens that each layer sees; 0 is all."""
    size, listed = getattr(text, "sliding_window", None) or 0, getattr(text, "layer_types", None)
    layers = getattr(text, "num_layers", None) or text.num_hidden_layers
    return [size if listed is None or each == "sliding_attention" else 0 for each in listed or [None] * layers]


def count(fields):
    """Of the model, of it what a token uses, and of its towers; the window of each layer; and the fields as a new file has them."""
    import torch
    from transformers import AutoConfig
    config = AutoConfig.for_model(**json.loads(json.dumps(fields)))
    with torch.device("meta"):
        model = class_of(fields["model_type"])(config)
    model.tie_weights()
    text = config.get_text_config()
    all_experts = first_of(text, "num_experts", "n_routed_experts", "num_local_experts")
    per_token = first_of(text, "num_experts_per_tok", "top_k_experts", "moe_topk")
    total = active = towers = 0
    idle = getattr(text, "zero_expert_num", 0)  # for which the class has rows that no token uses
    for name, value in sizes_of(model):
        is_routed = ".experts." in name and value.shape[0] in (all_experts, all_experts + idle)
        size = value.numel() // value.shape[0] * all_experts if is_routed else value.numel()
        is_tower = any(part in name for part in TOWERS)
        towers += size if is_tower else 0
        total += 0 if is_tower else size
        active += 0 if is_tower else size * per_token // all_experts if is_routed else size
    windows = {"windows": windows_of(text)} if fields["model_type"] in decoders_drawn.FAMILIES else {}
    return {"total": total, "active": active, "towers": towers, **windows}, config


def draw(family):
    """One that the class takes: sizes that do not fit each other are drawn again."""
    from huggingface_hub.errors import StrictDataclassError
    while True:
        fields = {"model_type": family, **FAMILIES[family]()}
        if is_so(0.4):
            fields = without_some(fields, getattr(FAMILIES[family], "kept", frozenset()))
        try:
            counts, config = count(fields)
            if is_so(0.2):
                fields = json.loads(config.to_json_string())
            return {"config": fields, **counts}
        except (TypeError, ValueError, ZeroDivisionError, StrictDataclassError) as error:
            logging.debug("%s", error)


def main():
    parser = argparse.ArgumentParser(description="Counts the parameters of small models by transformers.")
    parser.add_argument("--cases", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("families", nargs="*", metavar="FAMILY")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    DRAW.seed(options.seed)
    for family in options.families or sorted(FAMILIES):
        for _ in range(options.cases):
            print(json.dumps(draw(family), separators=(",", ":")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
