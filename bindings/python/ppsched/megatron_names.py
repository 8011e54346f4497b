# SPDX-License-Identifier: Apache-2.0
"""Transformers and how they are trained, by Megatron-LM's argument names."""
from typing import Any, Dict, List, Mapping, NamedTuple

from ._library import Error
from .megatron_arguments import HARMLESS, NOT_TAKEN
from .megatron_training import SHORT, TAKEN, TRAINING, integer_of, switch_of, training_options
from .model import Transformer
from .shown import shown
from .words import nearest

# Of the model: the argument, and the field of Transformer that it is.
SIZES = {"num_layers": "layers", "hidden_size": "hidden_size", "ffn_hidden_size": "ffn_size", "num_attention_heads": "heads",
         "num_query_groups": "key_value_heads", "kv_channels": "head_size", "q_lora_rank": "query_rank",
         "kv_lora_rank": "key_value_rank", "qk_head_dim": "head_size", "qk_pos_emb_head_dim": "rope_head_size",
         "v_head_dim": "value_head_size", "num_experts": "experts", "moe_router_topk": "experts_per_token",
         "moe_ffn_hidden_size": "expert_ffn_size", "moe_shared_expert_intermediate_size": "shared_ffn_size",
         "mtp_num_layers": "mtp_layers", "padded_vocab_size": "vocabulary_size"}
OTHERS = ("vocab_size", "moe_layers", "moe_layer_freq", "swiglu", "normalization", "untied_embeddings",
          "untie_embeddings_and_output_weights", "disable_bias_linear", "add_bias_linear", "add_qkv_bias", "qk_layernorm",
          "group_query_attention", "multi_latent_attention", "position_embedding_type", "max_position_embeddings",
          "use_flash_attn", "attention_dropout", "hidden_dropout", "moe_router_enable_expert_bias", "mla",
          "source", "model", "make_vocab_size_divisible_by", "squared_relu", "quick_geglu", "gated_linear_unit")
WORDS = {"yes": True, "no": False, "none": None, "true": True, "false": False}


class Named(NamedTuple):
    """The transformer, options of the command that the file holds, and arguments that change the answer and are not taken."""

    transformer: Transformer
    options: Dict[str, Any]
    not_taken: List[str]


def is_megatron(fields: Mapping[str, Any]) -> bool:
    return "model_type" not in fields and any(name.replace("-", "_") in ("num_layers", "num_attention_heads")
                                              for name in fields)


def plain(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Underscores for dashes; yes, no and none as they are meant."""
    return {name.replace("-", "_"): WORDS.get(value.lower(), value) if isinstance(value, str) else value
            for name, value in fields.items()}


def check_names(where: str, fields: Mapping[str, Any]) -> None:
    known = [*SIZES, *OTHERS, *TRAINING, *SHORT, *TAKEN]
    for name in fields:
        if name not in known and name not in NOT_TAKEN and name not in HARMLESS:
            raise Error(f"{where}: unknown argument {shown(name)}; {nearest(name, known) or nearest(name, NOT_TAKEN | HARMLESS) or 'names are those of Megatron-LM, with underscores'}")
    missing = [name for name in ("num_layers", "hidden_size", "num_attention_heads") if fields.get(name) is None]
    missing += [] if fields.get("padded_vocab_size") or fields.get("vocab_size") else ["padded_vocab_size"]
    if missing:
        raise Error(f"{where}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; add {'it' if len(missing) == 1 else 'them'}")


def _expert_layers(where: str, fields: Mapping[str, Any], layers: int) -> Dict[str, int]:
    """Which layers have experts: a number of the last ones, or every so many."""
    frequency = fields.get("moe_layer_freq")
    if fields.get("moe_layers") is not None:
        return {"dense_layers": layers - integer_of(where, "moe_layers", fields["moe_layers"])}
    if isinstance(frequency, list):
        dense = frequency.index(1) if 1 in frequency else len(frequency)
        if any(item != (number >= dense) for number, item in enumerate(frequency)):
            raise Error(f"{where}: moe_layer_freq {frequency}: layers without experts must come first; give moe_layers, or a number")
        return {"dense_layers": dense}
    return {"expert_interval": 1 if frequency is None else integer_of(where, "moe_layer_freq", frequency)}


def _vocabulary(where: str, fields: Mapping[str, Any]) -> int:
    """Padded as the launcher does, where it is not said."""
    if fields.get("padded_vocab_size") is not None:
        return integer_of(where, "padded_vocab_size", fields["padded_vocab_size"])
    tensor = fields.get("tp") or fields.get("tensor_model_parallel_size") or 1
    each = integer_of(where, "make_vocab_size_divisible_by", fields.get("make_vocab_size_divisible_by") or 128)
    multiple = each * max(integer_of(where, "tp", tensor), 1)
    return -(-integer_of(where, "vocab_size", fields["vocab_size"]) // multiple) * multiple


def _has_dropout(where: str, fields: Mapping[str, Any]) -> bool:
    """As the file says; the launcher's default of 0.1 is not taken."""
    shares = [fields[name] for name in ("hidden_dropout", "attention_dropout") if fields.get(name) is not None]
    for share in shares:
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise Error(f"{where}: dropout must be a number from 0 to 1, not {shown(share)}")
    return bool(shares) and shares[0] > 0


def not_taken(fields: Mapping[str, Any]) -> List[str]:
    """What would change the answer, and does not; without what is off, or as it is here."""
    names = [name for name, value in fields.items() if name in NOT_TAKEN and value not in (None, False, 0, [])
             and not (name == "optimizer" and value == "adam")]
    is_uniform = fields.get("recompute_method", "uniform") == "uniform" and fields.get("recompute_num_layers", 1) == 1
    if fields.get("recompute_granularity") == "full" and not is_uniform:
        names += [name for name in ("recompute_method", "recompute_num_layers") if fields.get(name) is not None]
    return names


def _transformer(where: str, fields: Mapping[str, Any]) -> Transformer:
    row: Dict[str, Any] = {}
    latent = fields.get("kv_lora_rank") is not None
    for name, field in SIZES.items():
        unread = name == "kv_channels" if latent else name in ("qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim", "q_lora_rank")
        if fields.get(name) is not None and not unread:
            row[field] = integer_of(where, name, fields[name])
            if row[field] == 0 and name in ("num_layers", "hidden_size", "num_attention_heads"):
                raise Error(f"{where}: {name} is 0; it must be 1 or more")
    row["vocabulary_size"] = _vocabulary(where, fields)
    if not fields.get("ffn_hidden_size"):
        row["ffn_size"] = 4 * row["hidden_size"]
    if fields.get("position_embedding_type") == "learned_absolute" and fields.get("max_position_embeddings") is not None:
        row["positions"] = integer_of(where, "max_position_embeddings", fields["max_position_embeddings"])
    if row.get("experts"):
        row.setdefault("experts_per_token", 2)
        row.setdefault("expert_ffn_size", row["ffn_size"])
        row.update(_expert_layers(where, fields, row["layers"]))
    else:
        for field in ("experts_per_token", "expert_ffn_size", "shared_ffn_size"):
            row.pop(field, None)

    def switch(name: str) -> bool:
        return switch_of(where, fields, name)

    bias = switch("add_bias_linear") and not switch("disable_bias_linear")
    untied = switch("untied_embeddings") or switch("untie_embeddings_and_output_weights")
    return Transformer(**row, gated=switch("swiglu") or switch("quick_geglu") or switch("gated_linear_unit"), norm_bias=fields.get("normalization", "LayerNorm") != "RMSNorm", tied=not untied,
                       qkv_bias=bias or switch("add_qkv_bias"), projection_bias=bias, mlp_bias=bias, qk_norm=switch("qk_layernorm"),
                       router_bias=switch("moe_router_enable_expert_bias"), dropout=_has_dropout(where, fields))


def read_megatron(where: str, given: Mapping[str, Any]) -> Named:
    fields = plain(given)
    check_names(where, fields)
    return Named(_transformer(where, fields), training_options(where, fields), not_taken(fields))
