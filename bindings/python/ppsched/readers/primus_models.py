# SPDX-License-Identifier: Apache-2.0
"""Models whose layers Primus makes itself, by its arguments: families of Hugging Face under its own names, and stacks of mixers and MLPs
(primus/backends/megatron/core/models of its release at fd1eeabb)."""
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from .._core._library import Error
from .._core.shown import shown
from .adapters import Adapters
from .megatron_names import check_refused, not_taken, padded_vocabulary, plain, read_megatron
from .megatron_layers import pattern_of
from .megatron_pattern import expert_pattern, layer_pattern
from .megatron_training import integer_of, training_options
from .swift import is_of_training

Values = Dict[str, Any]


class PrimusModel(NamedTuple):
    """Fields of a config.json, of a description or of Megatron-LM; options of the command (None: the fields have them), arguments that are not taken,
    assumed values, and adapters that learn."""

    fields: Values
    options: Optional[Dict[str, Any]]
    not_taken: List[str]
    assumed: List[str]
    adapters: Optional[Adapters] = None


# --- families of Hugging Face ---

# The argument and the field of config.json.
SIZES = {"hidden_size": "hidden_size", "num_layers": "num_hidden_layers", "num_attention_heads": "num_attention_heads", "max_position_embeddings":
         "max_position_embeddings", "moe_router_topk": "num_experts_per_tok", "moe_ffn_hidden_size": "moe_intermediate_size"}
LATENT = {"q_lora_rank": "q_lora_rank", "kv_lora_rank": "kv_lora_rank", "qk_head_dim": "qk_nope_head_dim", "qk_pos_emb_head_dim": "qk_rope_head_dim",
          "v_head_dim": "v_head_dim"}
DEEPSEEK_V4 = {**SIZES, "kv_channels": "head_dim", "num_query_groups": "num_key_value_heads", "q_lora_rank": "q_lora_rank", "o_lora_rank": "o_lora_rank",
               "o_groups": "o_groups", "num_experts": "n_routed_experts", "index_n_heads": "index_n_heads", "index_head_dim": "index_head_dim",
               "index_topk": "index_topk", "attn_sliding_window": "sliding_window", "compress_ratios": "compress_ratios", "hc_mult": "hc_mult",
               "num_hash_layers": "num_hash_layers"}
KIMI_K3 = {**SIZES, **LATENT, "ffn_hidden_size": "intermediate_size", "num_experts": "num_experts", "routed_expert_hidden_size": "routed_expert_hidden_size",
           "latent_moe_use_norm": "latent_moe_use_norm", "attn_res_block_size": "attn_res_block_size", "mla_use_output_gate": "mla_use_output_gate"}
LFM2 = {**SIZES, "kv_channels": "head_dim", "num_query_groups": "num_key_value_heads", "ffn_hidden_size": "intermediate_size",
        "num_experts": "num_experts", "lfm_layer_types": "layer_types", "conv_L_cache": "conv_L_cache", "conv_bias": "conv_bias"}
# What the families have, so that an argument must say it or nothing.
ALIKE = {"swiglu": True, "normalization": "RMSNorm", "add_bias_linear": False, "position_embedding_type": "rope", "multi_latent_attention": False}
COMMON = frozenset(("vocab_size", "padded_vocab_size", "make_vocab_size_divisible_by", "untie_embeddings_and_output_weights", "mtp_num_layers",
                    "moe_shared_expert_intermediate_size", "moe_layer_freq", "hidden_dropout", "attention_dropout", "swiglu_limit", "use_flash_attn"))
UNUSED = frozenset((*LATENT, "ffn_hidden_size", "kv_channels", "group_query_attention"))  # that other families of Primus read


class Family(NamedTuple):
    """Arguments by the field that they are, what the family has anyway, and what it reads in its own way."""

    names: Mapping[str, str]
    alike: Mapping[str, Any]
    own: Tuple[str, ...]
    read: Callable[[str, Mapping[str, Any], Values], None]


def _shared_experts(path: str, values: Mapping[str, Any]) -> int:
    """How many experts of the others' width the shared ones are."""
    width, each = values.get("moe_shared_expert_intermediate_size") or 0, values.get("moe_ffn_hidden_size")
    if not isinstance(width, int) or not isinstance(each, int) or each < 1 or width % each:
        raise Error(f"{path}: moe_shared_expert_intermediate_size is {shown(width)}; it must be a multiple of moe_ffn_hidden_size ({shown(each)})")
    return width // each


def _listed(path: str, name: str, value: Any) -> Any:
    """A list that may be a text such as [0, 4, 128]."""
    if not isinstance(value, str):
        return value
    words = value.strip().strip("[]").split(",")
    if not all(word.strip().isdigit() for word in words):
        raise Error(f"{path}: {name} is {shown(value)}; it must be a list of whole numbers")
    return [int(word) for word in words]


def _deepseek_v4(path: str, values: Mapping[str, Any], fields: Values) -> None:
    fields["compress_ratios"] = _listed(path, "compress_ratios", values.get("compress_ratios"))
    fields["n_shared_experts"] = _shared_experts(path, values)
    fields["num_nextn_predict_layers"] = values.get("mtp_num_layers") or 0
    if values.get("moe_layer_freq") not in (None, 1):
        raise Error(f"{path}: moe_layer_freq is {shown(values['moe_layer_freq'])}; all layers of deepseek_v4 have experts, so give 1")


def _kimi_k3(path: str, values: Mapping[str, Any], fields: Values) -> None:
    """Each linear_attention_freq of 1 is a layer with KDA, whose keys and values are alike."""
    layers = integer_of(path, "num_layers", values.get("num_layers"), 1)
    linear = layer_pattern(path, "linear_attention_freq", 4 if values.get("linear_attention_freq") is None else values["linear_attention_freq"], layers)
    sparse = expert_pattern(path, 1 if values.get("moe_layer_freq") is None else values["moe_layer_freq"], layers)
    for one, other in (("linear_num_key_heads", "linear_num_value_heads"), ("linear_key_head_dim", "linear_value_head_dim")):
        if values.get(one) != values.get(other):
            raise Error(f"{path}: {one} is {shown(values.get(one))} and {other} is {shown(values.get(other))}; KDA of kimi_k3 has one number for both")
    if values.get("mtp_num_layers") or values.get("num_nextn_predict_layers"):
        fields["num_nextn_predict_layers"] = values.get("mtp_num_layers") or values["num_nextn_predict_layers"]
        if values.get("mtp_layer_type") == "kda" or (values.get("mtp_layer_type") != "mla" and linear[-1]):
            raise Error(f"{path}: its MTP layer has KDA, which is not counted; give mtp_layer_type mla")
    fields["linear_attn_config"] = {"num_heads": values.get("linear_num_value_heads"), "head_dim": values.get("linear_value_head_dim"),
                                    "short_conv_kernel_size": values.get("linear_conv_kernel_dim") or 4,
                                    "use_full_rank_gate": bool(values.get("kda_use_full_rank_gate"))}
    fields["layer_types"] = ["linear_attention" if each else "full_attention" for each in linear]
    fields["mlp_layer_types"] = ["sparse" if each else "dense" for each in sparse]
    fields["num_shared_experts"] = _shared_experts(path, values)


def _lfm2(path: str, values: Mapping[str, Any], fields: Values) -> None:
    layers = integer_of(path, "num_layers", values.get("num_layers"), 1)
    sparse = expert_pattern(path, 1 if values.get("moe_layer_freq") is None else values["moe_layer_freq"], layers)
    dense = sparse.index(1) if 1 in sparse else layers
    if not values.get("num_experts") or 0 in sparse[dense:]:
        raise Error(f"{path}: layers of lfm_layer_types need num_experts, and a moe_layer_freq that is 0 only in the first layers")
    if not values.get("qk_layernorm"):
        raise Error(f"{path}: qk_layernorm is off; attention of lfm_layer_types is counted with it, so give true")
    if values.get("moe_shared_expert_intermediate_size"):
        raise Error(f"{path}: moe_shared_expert_intermediate_size is in use; layers of lfm_layer_types are counted without shared experts")
    fields.update(num_dense_layers=dense, use_expert_bias=bool(values.get("moe_router_enable_expert_bias")))


FAMILIES = {
    "deepseek_v4": Family(DEEPSEEK_V4, {**ALIKE, "attn_sink": True, "hybrid_attention_enabled": True, "mtp_use_separate_hc_head": True},
                          ("hc_sinkhorn_iters", "hc_use_sinkhorn"), _deepseek_v4),
    "kimi_k3": Family(KIMI_K3, {**ALIKE, "qk_layernorm": False},
                      ("linear_attention_freq", "linear_conv_kernel_dim", "linear_key_head_dim", "linear_value_head_dim", "linear_num_key_heads",
                       "linear_num_value_heads", "kda_use_full_rank_gate", "kda_gate_lower_bound", "activation_situ_beta", "activation_situ_linear_beta",
                       "mla_use_nope", "mtp_layer_type", "num_nextn_predict_layers"), _kimi_k3),
    "lfm2_moe": Family(LFM2, ALIKE, ("qk_layernorm",), _lfm2)}


def family_of(kind: object, values: Mapping[str, Any]) -> str:
    """The type of Hugging Face that the model is; empty if it is none."""
    return "lfm2_moe" if values.get("lfm_layer_types") else str(kind) if kind in FAMILIES else ""


def is_read_by(name: str, kind: str) -> bool:
    """Whether an argument is of training, or one that the family reads, or that other families of Primus alone read."""
    family = FAMILIES[kind]
    return is_of_training(name) or name in family.names or name in family.alike or name in family.own or name in COMMON or name in UNUSED


def _training(path: str, values: Mapping[str, Any]) -> Tuple[Dict[str, Any], List[str]]:
    training = plain(path, {name: value for name, value in values.items() if is_of_training(name)})
    return training_options(path, training), not_taken(training)


def family_model(path: str, kind: str, values: Mapping[str, Any]) -> PrimusModel:
    """The config.json of a model of a family."""
    family = FAMILIES[kind]
    for name, usual in family.alike.items():
        if values.get(name) not in (None, usual):
            raise Error(f"{path}: {name} is {shown(values[name])}; layers of {kind} have {shown(usual)}, and others are not counted")
    check_refused(path, values)
    fields: Values = {field: values[name] for name, field in family.names.items() if values.get(name) is not None}
    family.read(path, values, fields)
    fields.update(model_type=kind, vocab_size=padded_vocabulary(path, values), tie_word_embeddings=not values.get("untie_embeddings_and_output_weights"))
    return PrimusModel(fields, *_training(path, values), [])


# --- stacks ---

# By the name of the stack: the layers M of its pattern, the width of Mamba as a multiple of the hidden size, and whether the norms of
# TransformerEngine stand before the matrices, beside those of latent attention and of KDA.
STACKS = {"hybrid_stack_spec": ("mamba", 1, True), "mamba_hybrid_stack_spec_no_te": ("mamba", 2, False), "gdn_hybrid_stack_spec": ("delta", 0, True),
          "gdn_hybrid_stack_spec_no_te": ("delta", 0, False), "kda_hybrid_stack_spec": ("kda", 0, True), "kda_hybrid_stack_spec_no_te": ("kda", 0, False)}
OWN_STACKS = "primus.backends.megatron.core.models.hybrid"
OF_STACKS = ("hybrid_attention_ratio", "hybrid_mlp_ratio", "hybrid_override_pattern", "hybrid_layer_pattern", "mtp_hybrid_override_pattern",
             "is_hybrid_model", "use_short_conv")


def _ratio(path: str, values: Mapping[str, Any], name: str) -> float:
    value = values.get(name) or 0.0
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise Error(f"{path}: {name} is {shown(value)}; it must be a number from 0 to 1")
    return float(value)


def _own_layers(layers: int, share: float) -> str:
    """An MLP after each mixer; attention first in each group of mixers, as Primus' HybridStack allocates them."""
    attention = int(layers // 2 * share)
    others = layers // 2 - attention
    if attention == 0:
        return "M-" * (layers // 2)
    if share <= 0.5:
        return ("*-" + "M-" * (others // attention)) * attention + "M-" * (others % attention)
    return "*-" * (attention - others) + "*-M-" * others


def _spread(layers: List[str], symbol: str, count: int) -> None:
    """Puts a symbol into so many of the places that Mamba has, evenly, as Megatron-LM 0.15 allocates layers by ratios."""
    rest = layers.count("M") - count
    each = rest / (count + 1) if symbol == "*" else rest / max(count, 1)
    left = each
    for place, own in enumerate(layers):
        if own == "M" and count > 0:
            is_next = left < 0.5
            layers[place] = symbol if is_next else own
            left += each if is_next else -1


def _launcher_layers(layers: int, attention: float, mlp: float) -> str:
    found = ["M"] * layers
    _spread(found, "*", round(layers * attention))
    _spread(found, "-", round(layers * mlp))
    return "".join(found)


def is_stack(kind: object, values: Mapping[str, Any]) -> bool:
    return kind == "mamba" or bool(values.get("hybrid_attention_ratio")) or bool(values.get("hybrid_mlp_ratio")) or bool(values.get("is_hybrid_model"))


def _has_pattern(values: Mapping[str, Any]) -> bool:
    return bool(values.get("hybrid_layer_pattern") or values.get("hybrid_override_pattern"))


def _pattern(path: str, values: Mapping[str, Any], is_own: bool) -> str:
    """The pattern, which takes precedence over ratios."""
    if _has_pattern(values):
        return str(pattern_of(path, values))
    layers = integer_of(path, "num_layers", values.get("num_layers"), 1)
    attention, mlp = (_ratio(path, values, name) for name in ("hybrid_attention_ratio", "hybrid_mlp_ratio"))
    return _own_layers(layers, attention) if is_own else _launcher_layers(layers, attention, mlp)


def _spec(path: str, values: Mapping[str, Any]) -> Tuple[str, str]:
    """The module and the name of the stack; a pattern alone is Megatron-LM's."""
    spec = values.get("spec")
    if spec is None and _has_pattern(values) and not values.get("hybrid_attention_ratio"):
        return "", ""
    if spec is None:
        raise Error(f"{path}: spec is missing, which says what the layers M of its stack are; give the run that names it, or add it")
    words = [str(word) for word in spec] if isinstance(spec, list) else str(spec).split()
    if not words:
        raise Error(f"{path}: spec is empty; it must name a module and a stack in it")
    return words[0], words[-1]


def _own_kinds(kinds: Mapping[str, List[Values]], mixer: str, has_second_norms: bool, hidden: int) -> Dict[str, List[Values]]:
    """The kinds with what Megatron-LM's layers do not have: KDA, and second norms."""
    found: Dict[str, List[Values]] = {}
    for name, blocks in kinds.items():
        block = dict(blocks[0])
        if block["kind"] == "latent_attention" and has_second_norms:
            block["extra_parameters"] = block.get("query_rank", 0) + block["key_value_rank"]
        if block["kind"] == "delta" and mixer == "kda":
            values = block["heads"] * block["value_size"]
            block.update(decay_rank=block["value_size"], gate_rank=block["value_size"], extra_parameters=values + (hidden if has_second_norms else 0))
        found[name] = [block]
    return found


def stack_model(path: str, values: Mapping[str, Any]) -> PrimusModel:
    """The description of a stack."""
    module, name = _spec(path, values)
    is_own = module.startswith(OWN_STACKS)
    if is_own and name not in STACKS:
        raise Error(f"{path}: spec names {shown(name)}; stacks of Primus are {', '.join(STACKS)}")
    pattern = _pattern(path, values, is_own)
    mixer, width, has_second_norms = STACKS[name] if is_own else ("mamba", 2, False)
    fields = {each: value for each, value in values.items() if each not in OF_STACKS}
    if is_own:
        fields = {each: value for each, value in fields.items() if each != "spec" and not each.startswith("linear_" if mixer == "mamba" else "mamba_")}
        if values.get("use_short_conv") is False:
            raise Error(f"{path}: use_short_conv is off; the mixers of Primus' stacks are counted with their convolutions")
        pattern = pattern.replace("*", "+") if mixer == "mamba" else pattern.replace("*", "+").replace("M", "G")
        fields.update(multi_latent_attention=True, qk_layernorm=True, group_query_attention=False)
    if width == 1 and fields.get("mamba_num_heads") is None:
        fields["mamba_num_heads"] = integer_of(path, "hidden_size", values.get("hidden_size"), 1) // (values.get("mamba_head_dim") or 64)
    if mixer == "kda" and values.get("linear_num_key_heads") != values.get("linear_num_value_heads"):
        raise Error(f"{path}: linear_num_key_heads is {shown(values.get('linear_num_key_heads'))}; KDA is counted with as many as linear_num_value_heads")
    named = read_megatron(path, {**fields, "hybrid_layer_pattern": pattern})
    made: Values = dict(named.values or {})
    if is_own:
        made["kinds"] = _own_kinds(made["kinds"], mixer, has_second_norms, made["hidden_size"])
    return PrimusModel(made, named.options, named.not_taken, named.assumed)
