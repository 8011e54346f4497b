# SPDX-License-Identifier: Apache-2.0
"""Parts of small configs, drawn at random."""
import random

DRAW = random.Random()


def one_of(*values):
    return DRAW.choice(values)


def some(first, last, step=1):
    return DRAW.randint(first, last) * step


def is_so(share=0.5):
    return DRAW.random() < share


def types(count, *names):
    return [one_of(*names) for _ in range(count)]


def numbers(count):
    return sorted(DRAW.sample(range(count), DRAW.randint(0, count)))


def frame():
    groups = one_of(1, 2, 4)
    heads = groups * one_of(1, 2, 3)
    return {"hidden_size": heads * some(2, 6, 8), "vocab_size": some(50, 900), "num_hidden_layers": some(1, 6), "num_attention_heads": heads,
            "num_key_value_heads": groups, "tie_word_embeddings": is_so(0.3), "pad_token_id": 0}


def experts(name="num_experts", per_token="num_experts_per_tok"):
    count = one_of(2, 4, 6)
    return {name: count, per_token: DRAW.randint(1, count), "moe_intermediate_size": some(2, 20, 4)}


def latent():
    return {"kv_lora_rank": some(2, 9, 4), "qk_nope_head_dim": one_of(8, 16), "qk_rope_head_dim": one_of(4, 8), "v_head_dim": one_of(8, 12),
            "attention_bias": is_so(0.3), "intermediate_size": some(3, 30, 8)}


def widths(layers):
    return one_of({}, {"mlp_layer_types": types(layers, "dense", "sparse")}, {"first_k_dense_replace": DRAW.randint(0, layers)})
