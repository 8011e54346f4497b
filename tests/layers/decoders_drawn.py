# SPDX-License-Identifier: Apache-2.0
"""Small configs of families with attention and an MLP or experts, drawn at random."""
from drawn import DRAW, experts, frame, is_so, latent, numbers, one_of, some, types, widths


# --- parts ---

def plain(*switches, **more):
    """With an MLP, and switches that are there or not."""
    drawn = {name: is_so(0.5) for name in switches if is_so(0.8)}
    return {**frame(), "intermediate_size": some(3, 30, 8), **drawn, **more}


def sized(fields, *sizes):
    """With heads of another size, perhaps."""
    return {**fields, **one_of({}, {"head_dim": one_of(*sizes or (8, 16, 24))})}


def windowed(fields, sizes=(16, 100), **more):
    """With a window, and the layers that have it, perhaps."""
    listed = one_of({}, {"layer_types": types(fields["num_hidden_layers"], "full_attention", "sliding_attention")})
    return {**fields, **one_of({}, {"sliding_window": one_of(*sizes)}), **listed, **more}


def wide_experts(name="num_local_experts", per_token="num_experts_per_tok"):
    """As wide as an MLP."""
    count = one_of(2, 4, 6)
    return {name: count, per_token: DRAW.randint(1, count)}


def routed(fields, name="n_routed_experts", shared="n_shared_experts"):
    return {**fields, **experts(name), **one_of({}, {shared: one_of(1, 2)}), "n_group": 1, "topk_group": 1}


# --- an MLP ---

def llama():
    return sized(plain("attention_bias", "mlp_bias"))


def with_bias():
    return plain("attention_bias")


def with_biases():
    return plain("attention_bias", "mlp_bias")


def hyperclovax():
    return sized(plain("attention_bias", "mlp_bias", "use_post_norm"))


def seed_oss():
    return sized(plain("attention_bias", "mlp_bias", "attention_out_bias"))


def ernie4_5():
    return sized(plain("use_bias"))


def mistral():
    return {**sized(plain()), **one_of({}, {"sliding_window": one_of(None, 16)})}


def ministral():
    return windowed({**plain(), "head_dim": one_of(8, 24)}, (None, 16))


def ministral3():
    return {**sized(plain()), **one_of({}, {"sliding_window": one_of(None, 16)})}


def phi3():
    return {**plain(), "num_attention_heads": 4, "num_key_value_heads": one_of(2, 4), "hidden_size": 4 * some(2, 6, 8),
            **one_of({}, {"sliding_window": one_of(None, 16)})}


def starcoder2():
    return plain("use_bias", **one_of({}, {"sliding_window": 16}))


def qwen2():
    base = plain()
    return {**base, **one_of({}, {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": DRAW.randint(0, base["num_hidden_layers"])})}


def qwen3():
    return {**qwen2(), **one_of({}, {"head_dim": one_of(8, 24)}), "attention_bias": is_so()}


def jais2():
    return plain("attention_bias", "mlp_bias")


def qwen2_5_omni_thinker():
    text = {**qwen2(), "tie_word_embeddings": False}
    return {"text_config": {**text, "model_type": "qwen2_5_omni_text"}, **one_of({}, {"tie_word_embeddings": is_so()})}


def nemotron():
    return sized({**plain("attention_bias", "mlp_bias")})


def smollm3():
    return windowed(plain("attention_bias", "mlp_bias"), (16,), use_sliding_window=False)


def turns(step, *switches, **more):
    """Full attention each so many layers, by the class or by layer_types."""
    del step
    return windowed(plain(*switches, **more))


def gemma3_text():
    base = windowed(sized(plain("attention_bias")))
    return {**base, **one_of({}, {"sliding_window_pattern": one_of(2, 3)})}


def cohere():
    return plain("attention_bias", "use_qk_norm")


def cohere2():
    return {**windowed(plain("attention_bias")), **one_of({}, {"sliding_window_pattern": one_of(2, 3)})}


def exaone4():
    return {**windowed(plain()), **one_of({}, {"sliding_window_pattern": one_of(2, 3)})}


def gpt2():
    heads = one_of(1, 2, 4)
    return {"n_embd": heads * some(2, 6, 8), "n_layer": some(1, 5), "n_head": heads, "vocab_size": some(50, 900), "n_positions": some(5, 50),
            "tie_word_embeddings": is_so(), "pad_token_id": 0, **one_of({}, {"n_inner": some(3, 30)})}


gpt2.kept = {"n_embd", "n_layer", "n_head", "n_positions"}


def helium():
    """Its last matrix of attention is as wide as the model."""
    base = with_biases()
    return {**base, "head_dim": base["hidden_size"] // base["num_attention_heads"]}


# --- experts ---

def mixtral():
    return {**sized(plain()), **wide_experts(), **one_of({}, {"sliding_window": one_of(None, 16)})}


def phimoe():
    return {**plain("attention_bias", "lm_head_bias"), **wide_experts(), **one_of({}, {"sliding_window": one_of(None, 16)})}


def olmoe():
    return {**plain("attention_bias"), **wide_experts("num_experts")}


def granitemoe():
    return {**plain("attention_bias"), **wide_experts()}


def granitemoeshared():
    return {**granitemoe(), **one_of({}, {"shared_intermediate_size": some(2, 20, 4)})}


def granitemoe_swa():
    return windowed(granitemoeshared())


def minimax_m2():
    return {**sized(plain()), **wide_experts()}


def stepped(fields):
    return {**fields, **one_of({}, {"mlp_only_layers": numbers(fields["num_hidden_layers"])}, {"decoder_sparse_step": one_of(1, 2, 3)})}


def qwen2_moe():
    base = stepped({**plain("qkv_bias"), **experts(), "shared_expert_intermediate_size": some(2, 20, 4)})
    return {**base, **one_of({}, {"use_sliding_window": True, "sliding_window": 16, "max_window_layers": DRAW.randint(0, base["num_hidden_layers"])})}


def qwen3_moe():
    base = stepped({**sized(plain("attention_bias")), **experts()})
    return {**base, **one_of({}, {"use_sliding_window": True, "sliding_window": 16})}


qwen3_moe.kept = {"moe_intermediate_size"}


def qwen3_vl_moe_text():
    return stepped({**sized(plain("attention_bias")), **experts()})


def qwen3_omni_moe_thinker():
    text = {**qwen3_vl_moe_text(), "tie_word_embeddings": False}
    return {"text_config": {**text, "model_type": "qwen3_omni_moe_text"}}


def glm4_moe():
    base = routed(sized(plain("attention_bias", "use_qk_norm")))
    return {**base, **one_of({}, {"first_k_dense_replace": DRAW.randint(0, base["num_hidden_layers"])})}


def solar_open():
    return routed(sized(plain("attention_bias")))


def dots1():
    base = routed(sized(plain("attention_bias")))
    layers = base["num_hidden_layers"]
    return {**base, **one_of({}, {"first_k_dense_replace": DRAW.randint(0, layers)}), **one_of({}, {"sliding_window": 16}),
            **one_of({}, {"max_window_layers": DRAW.randint(0, layers)})}


def listed_widths(fields):
    return {**fields, **one_of({}, {"mlp_layer_types": types(fields["num_hidden_layers"], "dense", "sparse")})}


def hy_v3():
    return listed_widths(routed(sized(plain("attention_bias", "mlp_bias")), "num_experts", "num_shared_experts"))


def ernie4_5_moe():
    base = {**plain("use_bias"), **wide_experts("moe_num_experts", "moe_k"), "moe_intermediate_size": some(2, 20, 4)}
    layers = base["num_hidden_layers"]
    return {**base, **one_of({}, {"moe_num_shared_experts": one_of(0, 1, 2)}), **one_of({}, {"moe_layer_start_index": DRAW.randint(0, layers)}),
            **one_of({}, {"moe_layer_end_index": DRAW.randint(0, layers)}), **one_of({}, {"moe_layer_interval": one_of(1, 2)})}


ernie4_5_moe.kept = {"moe_num_experts", "moe_k"}


def hunyuan_v1_moe():
    base = {**plain("attention_bias"), "head_dim": one_of(8, 24), **wide_experts("num_experts", "moe_topk")}
    if is_so():
        base["moe_topk"] = [base["moe_topk"]] * base["num_hidden_layers"]
    return base


def exaone_moe():
    base = windowed(routed(sized(plain()), "num_experts", "num_shared_experts"))
    return {**base, **widths(base["num_hidden_layers"])}


def gpt_oss():
    return {**windowed(plain("attention_bias")), **wide_experts(), **one_of({}, {"head_dim": one_of(8, 24)})}


def llama4_text():
    base = {**plain("attention_bias", "use_qk_norm"), **wide_experts(), "intermediate_size_mlp": some(3, 30, 8), **one_of({}, {"head_dim": 24})}
    layers = base["num_hidden_layers"]
    return {**base, **one_of({}, {"moe_layers": numbers(layers)}, {"interleave_moe_layer_step": one_of(1, 2, 3)}),
            **one_of({}, {"no_rope_layer_interval": one_of(2, 3)}, {"no_rope_layers": types(layers, 0, 1)},
                     {"layer_types": types(layers, "full_attention", "chunked_attention")})}


def afmoe():
    base = windowed(sized({**plain("attention_bias"), **experts()}))
    return {**base, **one_of({}, {"num_shared_experts": one_of(1, 2)}), **one_of({}, {"num_dense_layers": DRAW.randint(0, base["num_hidden_layers"])}),
            **one_of({}, {"global_attn_every_n_layers": one_of(2, 3)})}


def kolibri1():
    return windowed(sized({**frame(), **experts(), "shared_expert_intermediate_size": some(2, 20, 4)}))


def mellum():
    return listed_widths(windowed(sized({**plain("attention_bias"), **experts()})))


def laguna():
    base = listed_widths(windowed(sized({**plain("attention_bias"), **experts(), "shared_expert_intermediate_size": some(2, 20, 4)})))
    heads = [base["num_attention_heads"] * one_of(1, 2) for _ in range(base["num_hidden_layers"])]
    return {**base, **one_of({}, {"num_attention_heads_per_layer": heads}), **one_of({}, {"gating": one_of(True, "per-head", "per-element")})}


def cohere2_moe():
    base = {**windowed(plain("attention_bias")), **wide_experts("num_experts"), "head_dim": one_of(8, 24)}
    return {**base, **one_of({}, {"num_shared_experts": one_of(1, 2)}), **one_of({}, {"prefix_dense_intermediate_size": some(3, 30, 4)}),
            **widths(base["num_hidden_layers"]), **one_of({}, {"sliding_window_pattern": 2, "prefix_dense_sliding_window_pattern": 3})}


def mimo_v2_flash():
    base = listed_widths(windowed({**plain("attention_bias"), **experts("n_routed_experts"), "num_key_value_heads": 1, "n_group": 1, "topk_group": 1}))
    return {**base, "num_attention_heads": 2 * base["num_attention_heads"], "v_head_dim": one_of(8, 12), "head_dim": one_of(16, 24)}


def step3p7():
    text = {**plain("attention_bias", tie_word_embeddings=False), "moe_intermediate_size": some(2, 20, 4), **wide_experts("n_routed_experts"),
            "share_expert_dim": some(2, 20, 4)}
    layers, after = text["num_hidden_layers"], one_of(0, 2)
    heads = one_of({}, {"num_sliding_attention_heads": 2 * text["num_attention_heads"]},
                   {"attention_other_setting": {"num_attention_heads": 2 * text["num_attention_heads"]}})
    sparse = one_of({}, {"moe_layers_enum": ",".join(map(str, numbers(layers)))}, {"mlp_layer_types": types(layers + after, "dense", "sparse")})
    return {"text_config": {**text, **heads, **sparse, "head_dim": one_of(8, 16), "num_nextn_predict_layers": after, "sliding_window": 16,
                            "layer_types": types(layers + after, "full_attention", "sliding_attention"), "model_type": "step3p5"},
            "vision_config": {"width": 32, "layers": 1, "heads": 2, "image_size": 16, "patch_size": 4}, **one_of({}, {"tie_word_embeddings": is_so()})}


def gemma4_text():
    base = plain("attention_bias", head_dim=one_of(8, 16), global_head_dim=one_of(8, 24))
    layers = base["num_hidden_layers"] = base["num_hidden_layers"] + 1
    listed = {"layer_types": [*types(layers - 1, "full_attention", "sliding_attention"), "full_attention"]}
    sparse = {"enable_moe_block": True, **wide_experts("num_experts", "top_k_experts"), "moe_intermediate_size": some(2, 20, 4)}
    return {**base, **one_of({}, listed), **one_of({}, sparse), **one_of({}, {"attention_k_eq_v": True, "num_global_key_value_heads": 1}),
            **one_of({}, {"num_kv_shared_layers": DRAW.randint(0, layers // 2), "use_double_wide_mlp": is_so()}),
            "hidden_size_per_layer_input": one_of(0, 8), "vocab_size_per_layer_input": some(50, 90)}


gemma4_text.kept = {"top_k_experts", "moe_intermediate_size"}


def gemma4_unified_text():
    base = gemma4_text()
    return {name: value for name, value in base.items() if "per_layer" not in name and "experts" not in name and "moe" not in name}


def muse_glimmer():
    text = windowed(sized(plain("attention_bias", tie_word_embeddings=False)))
    return {"text_config": {**text, "model_type": "muse_glimmer_text"}, "projector_hidden_size": 16, "out_hidden_size": 128,
            **one_of({}, {"tie_word_embeddings": is_so()}),
            "vision_config": {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 24, "patch_size": 4}}


# --- latent attention ---

def deepseek(shared, dense):
    def draw():
        base = {**frame(), **latent(), **routed({}), "q_lora_rank": one_of(None, 16)}
        return {**base, **one_of({}, {shared: 1}), **one_of({}, {dense: DRAW.randint(0, base["num_hidden_layers"])})}
    draw.kept = {"kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "moe_intermediate_size"}
    return draw


def latent_experts():
    base = {**frame(), **latent(), **routed({}), "q_lora_rank": one_of(16, 24)}
    return {**base, "num_key_value_heads": base["num_attention_heads"]}


def mistral4():
    base = latent_experts()
    return {**base, **one_of({}, {"first_k_dense_replace": DRAW.randint(0, base["num_hidden_layers"])})}


def glm4_moe_lite():
    return listed_widths(latent_experts())


def axk1():
    base = latent_experts()
    return {**base, **widths(base["num_hidden_layers"])}


def longcat_flash():
    base = {**frame(), **latent(), "q_lora_rank": one_of(16, 24)}
    layers = base.pop("num_hidden_layers")
    del base["intermediate_size"]
    return {**base, "num_key_value_heads": base["num_attention_heads"], "num_layers": layers, "ffn_hidden_size": some(3, 30, 8),
            "expert_ffn_hidden_size": some(2, 20, 4), **wide_experts("n_routed_experts", "moe_topk"), "zero_expert_num": one_of(1, 2)}


longcat_flash.kept = {"num_layers", "moe_topk"}


def latent_mlp():
    base = {**frame(), **latent(), "q_lora_rank": one_of(16, 24)}
    return {**base, "num_key_value_heads": base["num_attention_heads"]}


def minicpm3():
    return {**latent_mlp(), "mlp_bias": is_so(0.3), "v_head_dim": one_of(None, 8)}


# --- all ---

FAMILIES = {make.__name__: make for make in (
    afmoe, axk1, cohere, cohere2, cohere2_moe, dots1, ernie4_5, ernie4_5_moe, exaone4, exaone_moe, gemma3_text, gemma4_text, gemma4_unified_text,
    glm4_moe, glm4_moe_lite, gpt2, gpt_oss, granitemoe, granitemoe_swa, granitemoeshared, helium, hunyuan_v1_moe, hy_v3, hyperclovax, jais2, kolibri1, laguna,
    llama, llama4_text, longcat_flash, mellum, mimo_v2_flash, minicpm3, minimax_m2, ministral, ministral3, mistral, mistral4, mixtral, muse_glimmer, nemotron, olmoe,
    phi3, phimoe, qwen2, qwen2_5_omni_thinker, qwen2_moe, qwen3, qwen3_moe,
    qwen3_omni_moe_thinker, seed_oss, smollm3, solar_open, starcoder2, step3p7)}
FAMILIES.update(
    apertus=with_bias, arcee=llama, cwm=lambda: windowed(sized(plain("mlp_bias"))), deepseek_v2=deepseek("n_shared_experts", "first_k_dense_replace"),
    deepseek_v3=deepseek("n_shared_experts", "first_k_dense_replace"), flex_olmo=olmoe, gemma=lambda: sized(plain("attention_bias")),
    gemma2=lambda: windowed(sized(plain("attention_bias"))), glm=lambda: sized(plain("attention_bias")), glm4=lambda: sized(plain("attention_bias")),
    gpt_neox=lambda: {**plain("attention_bias"), "num_key_value_heads": None}, granite=with_biases, granite_swa=lambda: windowed(with_biases()),
    hunyuan_v1_dense=lambda: {**plain("attention_bias"), "head_dim": one_of(8, 24)},
    internlm3=lambda: {**sized(plain()), **one_of({}, {"attention_bias": True, "mlp_bias": True})}, iquestcoder=lambda: sized(with_biases()),
    nanochat=with_bias, olmo=with_bias, olmo2=with_bias, olmo3=lambda: windowed(with_bias()), phi=plain,
    vaultgemma=lambda: windowed(sized(plain("attention_bias"))), youtu=latent_mlp)
