# SPDX-License-Identifier: Apache-2.0
"""Transformers and how they are trained, by Megatron-LM's argument names."""
from typing import Any, Dict, Mapping, NamedTuple, Optional

from ._library import Error
from .model import Transformer
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
          "use_flash_attn", "attention_dropout", "hidden_dropout", "moe_router_enable_expert_bias", "mla", "moe_latent_size",
          "source", "model")
# Of the training: the argument, and the option of the command that it is.
TRAINING = {"tensor_model_parallel_size": "tp", "pipeline_model_parallel_size": "pp", "context_parallel_size": "cp",
            "expert_model_parallel_size": "ep", "expert_tensor_parallel_size": "etp", "data_parallel_size": "dp",
            "virtual_pipeline_model_parallel_size": "vpp", "seq_length": "seq", "micro_batch_size": "micro_batch",
            "global_batch_size": "global_batch", "num_microbatches": "num_microbatches", "sequence_parallel": "sequence_parallel",
            "use_distributed_optimizer": "distributed_optimizer", "distributed_optimizer": "distributed_optimizer",
            "recompute_granularity": "recompute", "recompute": "recompute"}
SHORT = ("tp", "pp", "cp", "ep", "etp", "dp", "vpp")
WORDS = {"yes": True, "no": False, "none": None, "true": True, "false": False}


class Named(NamedTuple):
    """The transformer, options of the command that the file holds, and whether all counts are Megatron-LM's."""

    transformer: Transformer
    options: Dict[str, Any]


def is_megatron(fields: Mapping[str, Any]) -> bool:
    return "model_type" not in fields and any(name.replace("-", "_") in ("num_layers", "num_attention_heads")
                                              for name in fields)


def plain(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Underscores for dashes; yes, no and none as they are meant."""
    return {name.replace("-", "_"): WORDS.get(value.lower(), value) if isinstance(value, str) else value
            for name, value in fields.items()}


def _integer(where: str, name: str, value: object) -> int:
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Error(f"{where}: {name} must be an integer, not {value!r}")
    if value < 0:
        raise Error(f"{where}: {name} is {value}; it must be 0 or more")
    return value


def _switch(where: str, fields: Mapping[str, Any], name: str, default: bool = False) -> bool:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise Error(f"{where}: {name} must be yes or no, not {value!r}")
    return default if value is None else value


def check_names(where: str, fields: Mapping[str, Any]) -> None:
    known = [*SIZES, *OTHERS, *TRAINING, *SHORT]
    for name in fields:
        if name not in known:
            raise Error(f"{where}: unknown argument {name!r}; {nearest(name, known) or 'names are those of Megatron-LM, with underscores'}")
    missing = [name for name in ("num_layers", "hidden_size", "num_attention_heads") if fields.get(name) is None]
    missing += [] if fields.get("padded_vocab_size") or fields.get("vocab_size") else ["padded_vocab_size"]
    if missing:
        raise Error(f"{where}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; add {'it' if len(missing) == 1 else 'them'}")


def _expert_layers(where: str, fields: Mapping[str, Any], layers: int) -> Dict[str, int]:
    """Which layers have experts: a number of the last ones, or every so many."""
    frequency = fields.get("moe_layer_freq")
    if fields.get("moe_layers") is not None:
        return {"dense_layers": layers - _integer(where, "moe_layers", fields["moe_layers"])}
    if isinstance(frequency, list):
        dense = frequency.index(1) if 1 in frequency else len(frequency)
        if any(item != (number >= dense) for number, item in enumerate(frequency)):
            raise Error(f"{where}: moe_layer_freq {frequency}: layers without experts must come first; give moe_layers, or a number")
        return {"dense_layers": dense}
    return {"expert_interval": 1 if frequency is None else _integer(where, "moe_layer_freq", frequency)}


def _vocabulary(where: str, fields: Mapping[str, Any]) -> int:
    """Padded as the launcher does, where it is not said."""
    if fields.get("padded_vocab_size") is not None:
        return _integer(where, "padded_vocab_size", fields["padded_vocab_size"])
    tensor = fields.get("tp") or fields.get("tensor_model_parallel_size") or 1
    multiple = 128 * _integer(where, "tp", tensor)
    return -(-_integer(where, "vocab_size", fields["vocab_size"]) // multiple) * multiple


def _transformer(where: str, fields: Mapping[str, Any]) -> Transformer:
    row: Dict[str, Any] = {}
    latent = fields.get("kv_lora_rank") is not None
    for name, field in SIZES.items():
        unread = name == "kv_channels" if latent else name in ("qk_head_dim", "qk_pos_emb_head_dim", "v_head_dim", "q_lora_rank")
        if fields.get(name) is not None and not unread:
            row[field] = _integer(where, name, fields[name])
    row["vocabulary_size"] = _vocabulary(where, fields)
    if not fields.get("ffn_hidden_size"):
        row["ffn_size"] = 4 * row["hidden_size"]
    if row.get("experts"):
        row.setdefault("experts_per_token", 2)
        row.setdefault("expert_ffn_size", row["ffn_size"])
        row.update(_expert_layers(where, fields, row["layers"]))
    else:
        for field in ("experts_per_token", "expert_ffn_size", "shared_ffn_size"):
            row.pop(field, None)

    def switch(name: str) -> bool:
        return _switch(where, fields, name)

    bias = switch("add_bias_linear") and not switch("disable_bias_linear")
    untied = switch("untied_embeddings") or switch("untie_embeddings_and_output_weights")
    return Transformer(**row, gated=switch("swiglu"), norm_bias=fields.get("normalization", "LayerNorm") != "RMSNorm", tied=not untied,
                       qkv_bias=bias or switch("add_qkv_bias"), projection_bias=bias, mlp_bias=bias, qk_norm=switch("qk_layernorm"),
                       router_bias=switch("moe_router_enable_expert_bias"))


def training_options(where: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Those of the command, by its names."""
    options: Dict[str, Any] = {}
    for name, value in fields.items():
        option: Optional[str] = TRAINING.get(name, name if name in SHORT else None)
        if option is None or value is None:
            continue
        if option in ("sequence_parallel", "distributed_optimizer"):
            options[option] = _switch(where, fields, name)
        elif option == "recompute":
            options[option] = value
        else:
            options[option] = _integer(where, name, value)
    return options


def read_megatron(where: str, given: Mapping[str, Any]) -> Named:
    fields = plain(given)
    check_names(where, fields)
    return Named(_transformer(where, fields), training_options(where, fields))
