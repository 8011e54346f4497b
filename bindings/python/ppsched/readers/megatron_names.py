# SPDX-License-Identifier: Apache-2.0
"""Transformers and their training from Megatron-LM's argument names; missing arguments have the launcher's defaults."""
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .._core import _abi
from .._core._library import Error
from .._core.description import Transformer
from .._core.shown import shown
from .._core.words import counted, nearest
from .megatron_arguments import ARGUMENTS, changes
from .megatron_layers import LAYERS, description_values, pattern_layers, pattern_of
from .megatron_pattern import expert_pattern, pattern_fields
from .megatron_training import SHORT, TAKEN, TRAINING, integer_of, switch_of, training_options

# Model sizes: the argument and its field of Transformer.
SIZES = {"num_layers": "layers", "hidden_size": "hidden_size", "ffn_hidden_size": "ffn_size", "num_attention_heads": "heads",
         "num_query_groups": "key_value_heads", "kv_channels": "head_size", "num_experts": "experts",
         "moe_router_topk": "experts_per_token", "moe_ffn_hidden_size": "expert_ffn_size",
         "moe_shared_expert_intermediate_size": "shared_ffn_size", "mtp_num_layers": "mtp_layers",
         "padded_vocab_size": "vocabulary_size"}
# Sizes of latent attention: the argument, its field and the launcher's default (0.20.0, d98e8a6).
LATENT = {"q_lora_rank": ("query_rank", 0), "kv_lora_rank": ("key_value_rank", 32), "qk_head_dim": ("head_size", 128),
          "qk_pos_emb_head_dim": ("rope_head_size", 64), "v_head_dim": ("value_head_size", 128)}
OTHERS = ("vocab_size", "moe_layers", "moe_layer_freq", "swiglu", "normalization", "untied_embeddings",
          "untie_embeddings_and_output_weights", "disable_bias_linear", "add_bias_linear", "add_qkv_bias", "qk_layernorm",
          "group_query_attention", "multi_latent_attention", "position_embedding_type", "max_position_embeddings",
          "use_flash_attn", "attention_dropout", "hidden_dropout", "mla",
          "source", "model", "make_vocab_size_divisible_by", "squared_relu", "quick_geglu", "gated_linear_unit",
          "post_self_attn_layernorm", "post_mlp_layernorm", "use_gated_attention", "encoder_num_layers", "encoder_seq_length", "use_rotary_position_embeddings", "add_position_embedding",
          "no_position_embedding")
# Switches that mean the same as another argument, or its opposite.
SAME = {"untied_embeddings": ("untie_embeddings_and_output_weights", True), "mla": ("multi_latent_attention", True),
        "disable_bias_linear": ("add_bias_linear", False), "no_position_embedding": ("add_position_embedding", False),
        "use_gated_attention": ("attention_output_gate", True)}
KNOWN = frozenset((*SIZES, *LATENT, *OTHERS, *LAYERS, *TRAINING, *SHORT, *TAKEN, *ARGUMENTS))
POSITIONS = ("learned_absolute", "rope", "yarn", "mrope", "none")
# Arguments that change nothing if they are equal to the first of these that is set.
EQUAL = {"tensor_parallel_num_weight_shards": ("tensor_model_parallel_size", "tp"),
         "expert_tensor_parallel_num_weight_shards": ("expert_tensor_parallel_size", "etp", "tensor_model_parallel_size", "tp"),
         "microbatch_group_size_per_vp_stage": ("pipeline_model_parallel_size", "pp"),
         "microbatch_group_size_per_virtual_pipeline_stage": ("pipeline_model_parallel_size", "pp")}
# Which layers are of a kind: numbers, lists, or texts of these.
PATTERNS = ("moe_layer_freq", "linear_attention_freq", "window_attn_skip_freq")
WORDS = {"yes": True, "no": False, "none": None, "null": None, "true": True, "false": False}


class Named(NamedTuple):
    """The transformer; options of the command that the file gives; not_taken: arguments that would change the answer but are not used;
    assumed: values used for missing arguments where the launcher's default is another; values: the description, for layers that a
    transformer does not have."""

    transformer: Transformer
    options: Dict[str, Any]
    not_taken: List[str]
    assumed: List[str]
    values: Optional[Dict[str, Any]] = None


# --- names ---

def _word(name: str, value: Any) -> Any:
    """Converts yes, no and none to values; position_embedding_type stays, where "none" is a kind."""
    is_kind = name == "position_embedding_type" and isinstance(value, str)
    return WORDS.get(value.lower(), value) if isinstance(value, str) and not is_kind else value


def _is_other(name: str, one: Any, other: Any) -> bool:
    """Whether two values of an argument differ."""
    if name in PATTERNS and one is not None and other is not None and not isinstance(one, bool):
        return str(one).replace(" ", "") != str(other).replace(" ", "")
    return one is not None and other is not None and (one != other or isinstance(one, bool) != isinstance(other, bool))


def negated(name: str) -> Optional[str]:
    """The switch that an option of the command line turns off, as --no-fp8-wgrad and --disable-fp8-wgrad do; None of others."""
    start = next((start for start in ("no_", "disable_") if name.startswith(start)), None)
    if start is None or name in KNOWN:
        return None
    rest = name[len(start):]
    return next((each for each in (rest, rest.replace("batching_prefix", "batching_enable_prefix")) if each in KNOWN), None)


def plain(where: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Arguments with underscores for dashes and yes, no and none as values. Two spellings of an argument must have the same value."""
    found: Dict[str, Any] = {}
    spelt: Dict[str, str] = {}
    for given, value in fields.items():
        name = given.replace("-", "_")
        value = _word(name, value)
        switch = negated(name)
        if switch is not None and isinstance(value, bool):
            name, value = switch, not value
        if _is_other(name, found.get(name), value):
            raise Error(f"{where}: {given} is {shown(value)}, but {spelt[name]} is {shown(found[name])}; give one of them")
        if found.get(name) is None:
            found[name], spelt[name] = value, given
    return found


def _join_switches(where: str, fields: Dict[str, Any]) -> None:
    for other, (name, is_same) in SAME.items():
        given = switch_of(where, fields, other)
        if fields.get(other) is None or not (given or is_same):  # "disable_..." that is off says nothing
            continue
        if fields.get(name) is not None and switch_of(where, fields, name) != (given == is_same):
            raise Error(f"{where}: {other} is {shown(fields[other])}, but {name} is {shown(fields[name])}; give one of them")
        fields[name] = given == is_same


def _join_encoder(where: str, fields: Dict[str, Any]) -> None:
    """The launcher's second names for the number of layers and the sequence length; they must be equal to the first ones."""
    for other, names in (("encoder_num_layers", ("num_layers",)), ("encoder_seq_length", ("seq_length", "seq"))):
        if fields.get(other) is None:
            continue
        name = next((name for name in names if fields.get(name) is not None), names[0])
        value = integer_of(where, other, fields[other])
        if fields.get(name) is not None and integer_of(where, name, fields[name]) != value:
            raise Error(f"{where}: {other} is {value}, but {name} is {shown(fields[name])}; give one of them")
        fields[name] = value


def check_refused(where: str, fields: Mapping[str, Any]) -> None:
    """Refuses arguments that give other kinds of layers, parameters or operations."""
    names = [name for name in fields if name in ARGUMENTS and ARGUMENTS[name].effect == "refused" and changes(name, fields[name])]
    if not names:
        return
    default, others = ARGUMENTS[names[0]].default, f", and so {'are' if len(names) > 2 else 'is'} {', '.join(names[1:])}" if names[1:] else ""
    raise Error(f"{where}: {names[0]} is {shown(fields[names[0]])}, which would change the answer and is not counted{others}; leave it out, or give "
                f"the launcher's default, {'null' if default is None else shown(default)}")


def check_names(where: str, fields: Mapping[str, Any]) -> None:
    known = [*SIZES, *LATENT, *OTHERS, *LAYERS, *TRAINING, *SHORT, *TAKEN]
    for name in fields:
        if name not in known and name not in ARGUMENTS:
            raise Error(f"{where}: unknown argument {shown(name)}; {nearest(name, known) or nearest(name, ARGUMENTS) or 'names are as in Megatron-LM, with underscores'}")
    check_refused(where, fields)
    missing = [name for name in ("num_layers", "hidden_size", "num_attention_heads") if fields.get(name) is None]
    missing += [] if fields.get("padded_vocab_size") or fields.get("vocab_size") else ["padded_vocab_size"]
    if missing:
        raise Error(f"{where}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; add {'it' if len(missing) == 1 else 'them'}")


def _first_of(fields: Mapping[str, Any], names: Any) -> Any:
    return next((fields[name] for name in names if fields.get(name) is not None), 1)


def _is_counted(name: str, fields: Mapping[str, Any]) -> bool:
    """Whether the argument has the value that is counted anyway."""
    if name in EQUAL:
        return bool(fields[name] == _first_of(fields, EQUAL[name]))
    if name == "recompute_modules":
        return bool(fields[name] == ["core_attn"])
    needed = {"moe_token_dispatcher_type": "num_experts", "megatron_fsdp_main_grads_dtype": "use_megatron_fsdp",
              "megatron_fsdp_main_params_dtype": "use_megatron_fsdp"}
    return name in needed and not fields.get(needed[name])


def not_taken(fields: Mapping[str, Any], layers: Any = None) -> List[str]:
    """Arguments that would change the answer but are not used; without those that are off or have the counted value. `layers`: num_layers
    beside a pattern, which takes precedence."""
    names = [name for name, value in fields.items() if name in ARGUMENTS and ARGUMENTS[name].effect == "not taken"
             and changes(name, value) and not _is_counted(name, fields)]
    if "|" in str(pattern_of("", fields) or ""):
        names.append("the | of hybrid_layer_pattern (stages are chosen anew)")
    if layers not in (None, fields.get("num_layers")):
        names.append(f"num_layers {shown(layers)} (hybrid_layer_pattern has {fields['num_layers']})")
    is_uniform = fields.get("recompute_method", "uniform") == "uniform" and fields.get("recompute_num_layers", 1) == 1
    if fields.get("recompute_granularity") == "full" and not is_uniform:
        names += [name for name in ("recompute_method", "recompute_num_layers") if fields.get(name) is not None]
    if fields.get("num_query_groups") not in (None, 1, fields.get("num_attention_heads")) and not fields.get("group_query_attention"):
        names.append("num_query_groups (only used with group_query_attention)")
    if fields.get("kv_lora_rank") not in (None, 32) and not fields.get("multi_latent_attention"):
        names.append("kv_lora_rank (only used with multi_latent_attention)")
    return names


# --- the model ---

def _expert_layers(where: str, fields: Mapping[str, Any], layers: int) -> Dict[str, Any]:
    """Which layers have experts: the last moe_layers, or those of moe_layer_freq (every n-th, a list, or an expression)."""
    frequency, last = fields.get("moe_layer_freq"), fields.get("moe_layers")
    pattern = expert_pattern(where, 1 if frequency is None else frequency, layers)
    if last is not None:
        count = integer_of(where, "moe_layers", last)
        if count > layers:
            raise Error(f"{where}: moe_layers is {count}, and the model has {counted(layers, 'layer')}")
        own = [0] * (layers - count) + [1] * count
        if frequency is not None and own != pattern:
            raise Error(f"{where}: moe_layers is {count}, but moe_layer_freq gives other layers; give one of them")
        pattern = own
    return pattern_fields(pattern)


def padded_vocabulary(where: str, fields: Mapping[str, Any]) -> int:
    """padded_vocab_size, or vocab_size padded as the launcher does."""
    if fields.get("padded_vocab_size") is not None:
        return integer_of(where, "padded_vocab_size", fields["padded_vocab_size"])
    tensor = fields.get("tp") or fields.get("tensor_model_parallel_size") or 1
    each = integer_of(where, "make_vocab_size_divisible_by", fields.get("make_vocab_size_divisible_by") or 128)
    multiple = each * max(integer_of(where, "tp", tensor), 1) if switch_of(where, fields, "pad_vocab_size", True) else 1
    return -(-integer_of(where, "vocab_size", fields["vocab_size"]) // multiple) * multiple


def _has_dropout(where: str, fields: Mapping[str, Any]) -> bool:
    """Whether there is dropout after attention and MLP; the launcher's default is 0.1. Dropout of the scores stores nothing."""
    shares = [0.1 if fields.get(name) is None else fields[name] for name in ("hidden_dropout", "attention_dropout")]
    for share in shares:
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise Error(f"{where}: dropout must be a number from 0 to 1, not {shown(share)}")
    return bool(shares[0] > 0)


def _position_kind(where: str, fields: Mapping[str, Any]) -> str:
    kind = fields.get("position_embedding_type")
    if switch_of(where, fields, "use_rotary_position_embeddings"):
        return "rope"
    if not switch_of(where, fields, "add_position_embedding", True):
        return "none"
    if kind is not None and kind not in POSITIONS:
        raise Error(f"{where}: position_embedding_type is {shown(kind)}; {nearest(kind, POSITIONS) or 'it may be ' + ', '.join(POSITIONS)}")
    return "learned_absolute" if kind is None else str(kind)


def _positions(where: str, fields: Mapping[str, Any]) -> int:
    """Rows of the table of learned positions; 0: there is none."""
    if _position_kind(where, fields) != "learned_absolute" or fields.get("max_position_embeddings") is None:
        return 0
    return integer_of(where, "max_position_embeddings", fields["max_position_embeddings"])


def _has_norm_bias(where: str, fields: Mapping[str, Any]) -> bool:
    name = "LayerNorm" if fields.get("normalization") is None else fields["normalization"]
    if not isinstance(name, str) or name.lower() not in ("layernorm", "rmsnorm"):
        raise Error(f"{where}: normalization is {shown(name)}; it must be LayerNorm or RMSNorm")
    return name.lower() == "layernorm"


def _attention(where: str, fields: Mapping[str, Any], bias: bool) -> Dict[str, Any]:
    """Fields of the attention."""
    is_grouped, has_norms = switch_of(where, fields, "group_query_attention"), switch_of(where, fields, "qk_layernorm")
    if not switch_of(where, fields, "multi_latent_attention"):
        heads = ("kv_channels", "num_query_groups") if is_grouped else ("kv_channels",)
        sizes = {SIZES[name]: integer_of(where, name, fields[name], 1) for name in heads if fields.get(name) is not None}
        groups = {"key_value_heads": 1} if is_grouped and fields.get("num_query_groups") is None else {}
        return {**sizes, **groups, "qkv_bias": bias or switch_of(where, fields, "add_qkv_bias"), "qk_norm": has_norms}
    if is_grouped:
        raise Error(f"{where}: group_query_attention cannot be combined with multi_latent_attention; leave one of them out")
    row: Dict[str, Any] = {field: default if fields.get(name) is None else integer_of(where, name, fields[name], min(default, 1))
                           for name, (field, default) in LATENT.items()}
    return {**row, "no_latent_norms": not has_norms}


def _sizes(where: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    row: Dict[str, Any] = {}
    for name, field in SIZES.items():
        if fields.get(name) is not None and name not in ("kv_channels", "num_query_groups"):
            row[field] = integer_of(where, name, fields[name])
            if row[field] == 0 and name in ("num_layers", "hidden_size", "num_attention_heads"):
                raise Error(f"{where}: {name} is 0; it must be 1 or more")
    if row["layers"] > _abi.MAX_LAYERS - 64:
        raise Error(f"{where}: num_layers is {shown(row['layers'])}; it must be {_abi.MAX_LAYERS - 64} or less")
    if fields.get("ffn_hidden_size") is None:
        wide = 4 * row["hidden_size"]
        row["ffn_size"] = wide * 2 // 3 // 64 * 64 if switch_of(where, fields, "swiglu") else wide
    return row


def _transformer(where: str, fields: Mapping[str, Any]) -> Transformer:
    def switch(name: str) -> bool:
        return switch_of(where, fields, name)

    row, bias = _sizes(where, fields), switch_of(where, fields, "add_bias_linear", True)
    row.update(vocabulary_size=padded_vocabulary(where, fields), positions=_positions(where, fields), **_attention(where, fields, bias))
    if row.get("experts"):
        row.setdefault("experts_per_token", 2)
        row.setdefault("expert_ffn_size", row["ffn_size"])
        row.update(_expert_layers(where, fields, row["layers"]), router_bias=bias)
    else:
        for field in ("experts_per_token", "expert_ffn_size", "shared_ffn_size"):
            row.pop(field, None)
    after = [name for name in ("post_self_attn_layernorm", "post_mlp_layernorm") if switch(name)]
    if len(after) == 1:
        raise Error(f"{where}: {after[0]} is on, and the norm after the other half of a layer is not; files must have both or none")
    return Transformer(**row, post_norms=bool(after), gated=switch("swiglu") or switch("quick_geglu") or switch("gated_linear_unit"), norm_bias=_has_norm_bias(where, fields),
                       tied=not switch("untie_embeddings_and_output_weights"), projection_bias=bias, mlp_bias=bias,
                       dropout=_has_dropout(where, fields))


def _assumed(where: str, fields: Mapping[str, Any]) -> List[str]:
    """Values used where the launcher has another default, or none."""
    notes = []
    if fields.get("bf16") is None and not fields.get("fp16"):
        notes.append("bf16 (the launcher's default is float32)")
    if _position_kind(where, fields) == "learned_absolute" and fields.get("max_position_embeddings") is None:
        notes.append("no learned positions (max_position_embeddings is missing)")
    if fields.get("num_experts") and fields.get("moe_token_dispatcher_type") is None:
        notes.append("moe_token_dispatcher_type alltoall (the launcher's default is allgather)")
    if fields.get("use_megatron_fsdp") and fields.get("megatron_fsdp_main_grads_dtype") is None:
        notes.append("megatron_fsdp_main_grads_dtype fp32 (the launcher's default is the data type of the weights)")
    return notes


def read_megatron(where: str, given: Mapping[str, Any]) -> Named:
    fields = plain(where, given)
    _join_switches(where, fields)
    _join_encoder(where, fields)
    layers, given_layers = pattern_layers(where, fields), None
    if layers is not None:
        given_layers, fields["num_layers"] = fields.get("num_layers"), layers  # as the launcher does
    check_names(where, fields)
    shape = _transformer(where, fields)
    return Named(shape, training_options(where, fields), not_taken(fields, given_layers), _assumed(where, fields), description_values(where, fields, shape))
