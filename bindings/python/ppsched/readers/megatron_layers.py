# SPDX-License-Identifier: Apache-2.0
"""Layers that differ in Megatron-LM's arguments: hybrid patterns, windows, linear attention, sparse indexes, latent experts. Rules are
those of Megatron-LM 0.19 (hybrid_layer_allocation, transformer_config, experimental_attention_variant_module_specs)."""
from typing import Any, Dict, List, Mapping, Optional

from .._core._library import Error
from .._core.description import Transformer
from .._core.shown import shown
from .megatron_pattern import expert_pattern, layer_pattern
from .megatron_training import integer_of, switch_of

Block = Dict[str, Any]

# What makes other layers, with the launcher's own.
LAYERS: Dict[str, Any] = {
    "hybrid_layer_pattern": None, "hybrid_override_pattern": None, "mtp_hybrid_override_pattern": None, "is_hybrid_model": False,
    "spec": None, "mamba_state_dim": 128, "mamba_head_dim": 64, "mamba_num_groups": 8, "mamba_num_heads": None,
    "linear_attention_freq": None, "linear_conv_kernel_dim": 4, "linear_key_head_dim": 128, "linear_value_head_dim": 128,
    "linear_num_key_heads": 16, "linear_num_value_heads": 32, "window_size": None, "window_attn_skip_freq": None,
    "softmax_type": "vanilla", "attention_output_gate": False, "experimental_attention_variant": None, "dsa_indexer_n_heads": None,
    "dsa_indexer_head_dim": None, "dsa_indexer_topk": None, "dsa_indexer_topk_freq": 1, "dsa_indexer_skip_topk_offset": 0,
    "moe_latent_size": None, "moe_shared_expert_gate": False}
SYMBOLS = "MG*D+-E"  # of a pattern: Mamba, delta rule, attention, latent attention with an index, latent attention, MLP, experts
CONVOLUTION = 4      # tokens of Mamba's, which no argument says
SPECS = ("mamba_stack_spec", "hybrid_stack_spec")  # the layers that a pattern has, as --spec names them
NORM_OF_ALL_HEADS = "get_minimax_m2_layer_spec"    # of slime: Megatron-LM's layers, but queries and keys have one norm for all heads


def _integer(where: str, fields: Mapping[str, Any], name: str, least: int = 1) -> int:
    value = LAYERS[name] if fields.get(name) is None else fields[name]
    if value is None:
        raise Error(f"{where}: {name} is missing; add it")
    return integer_of(where, name, value, least)


def is_in_use(name: str, fields: Mapping[str, Any]) -> bool:
    value = fields.get(name)
    return value is not None and value is not False and value != LAYERS[name]


# --- the pattern ---

def pattern_of(where: str, fields: Mapping[str, Any]) -> Optional[str]:
    """The hybrid pattern by its newer or older name, with MTP layers in the older form."""
    given = {name: fields[name] for name in ("hybrid_layer_pattern", "hybrid_override_pattern") if fields.get(name) is not None}
    if len(given) > 1:
        raise Error(f"{where}: hybrid_layer_pattern and hybrid_override_pattern are two names of the same argument; give hybrid_layer_pattern")
    for name, text in given.items():
        if not isinstance(text, str) or not text:
            raise Error(f"{where}: {name} must be a text such as M*M-, not {shown(text)}")
        ahead, count = fields.get("mtp_hybrid_override_pattern"), fields.get("mtp_num_layers")
        return text if ahead is None or "/" in text else text + f"/{ahead}" * integer_of(where, "mtp_num_layers", count or 0)
    return None


def pattern_layers(where: str, fields: Mapping[str, Any]) -> Optional[int]:
    """The number of layers of the pattern, which takes precedence over num_layers; None without a pattern."""
    pattern = pattern_of(where, fields)
    return None if pattern is None else len(_parts(where, pattern)[0])


def _parts(where: str, pattern: str) -> List[str]:
    """The layers of the model, then those of an MTP layer for each."""
    main, *ahead = pattern.split("/")
    parts = [main.replace("|", ""), *ahead]
    for part in parts:
        wrong = next((symbol for symbol in part if symbol not in SYMBOLS), None)
        if wrong is not None:
            raise Error(f"{where}: hybrid_layer_pattern has {shown(wrong)}; symbols are {' '.join(SYMBOLS)}, | between stages and / before MTP layers")
    if not parts[0] or "" in ahead or len(set(ahead)) > 1:
        raise Error(f"{where}: hybrid_layer_pattern is {shown(pattern)}; it must have layers, and the same layers after each /")
    if "*" in "".join(parts) and ("+" in "".join(parts) or "D" in "".join(parts)):
        raise Error(f"{where}: hybrid_layer_pattern has * and one of + and D; Megatron-LM supports only one kind of attention")
    return parts


# --- blocks ---

def attention(t: Transformer) -> Block:
    """The attention block of a Transformer, plain or latent."""
    block: Block = {"kind": "attention", "norms": 2 if t.post_norms else 0, "heads": t.heads, "bias": t.qkv_bias, "output_bias": t.projection_bias}
    block.update({"head_size": t.head_size} if t.head_size else {})
    if not t.key_value_rank:
        return {**block, "key_value_heads": t.key_value_heads or t.heads, "qk_norm": t.qk_norm}
    return {**block, "kind": "latent_attention", "query_rank": t.query_rank, "key_value_rank": t.key_value_rank, "rope_size": t.rope_head_size,
            "value_size": t.value_head_size, "no_latent_norms": t.no_latent_norms}


def mlp(t: Transformer) -> Block:
    return {"kind": "mlp", "norms": 2 if t.post_norms else 0, "width": t.ffn_size, "gated": t.gated, "bias": t.mlp_bias}


def experts(where: str, fields: Mapping[str, Any], t: Transformer) -> Block:
    if not t.experts:
        raise Error(f"{where}: the pattern has E, and num_experts is missing; add it")
    gate = switch_of(where, fields, "moe_shared_expert_gate")
    if gate and not t.shared_ffn_size:
        raise Error(f"{where}: moe_shared_expert_gate needs shared experts; give moe_shared_expert_intermediate_size, too")
    latent = integer_of(where, "moe_latent_size", fields.get("moe_latent_size") or 0)
    return {"kind": "experts", "norms": 2 if t.post_norms else 0, "experts": t.experts, "experts_per_token": t.experts_per_token, "width": t.expert_ffn_size,
            "shared_width": t.shared_ffn_size, "gated": t.gated, "bias": t.mlp_bias, "router_bias": t.router_bias, "shared_gate": gate,
            "latent_size": latent}


def _mamba(where: str, fields: Mapping[str, Any], t: Transformer) -> Block:
    size = _integer(where, fields, "mamba_head_dim")
    heads = 2 * t.hidden_size // size if fields.get("mamba_num_heads") is None else _integer(where, fields, "mamba_num_heads")
    return {"kind": "mamba", "heads": heads, "head_size": size, "groups": _integer(where, fields, "mamba_num_groups"),
            "state_size": _integer(where, fields, "mamba_state_dim"), "convolution": CONVOLUTION, "convolution_bias": True}


def _delta(where: str, fields: Mapping[str, Any]) -> Block:
    return {"kind": "delta", "heads": _integer(where, fields, "linear_num_value_heads"), "key_value_heads": _integer(where, fields, "linear_num_key_heads"),
            "head_size": _integer(where, fields, "linear_key_head_dim"), "value_size": _integer(where, fields, "linear_value_head_dim"),
            "convolution": _integer(where, fields, "linear_conv_kernel_dim")}


def _indexed(where: str, fields: Mapping[str, Any], block: Block, layer: int) -> Block:
    """Latent attention with an index; layer: from 1. Of `dsa_indexer_topk_freq` layers the first has it."""
    if block["kind"] != "latent_attention":
        raise Error(f"{where}: an index needs latent attention; give multi_latent_attention, too")
    every, offset = _integer(where, fields, "dsa_indexer_topk_freq"), _integer(where, fields, "dsa_indexer_skip_topk_offset", 0)
    return {**block, "index_heads": _integer(where, fields, "dsa_indexer_n_heads"), "index_size": _integer(where, fields, "dsa_indexer_head_dim"),
            "index_tokens": _integer(where, fields, "dsa_indexer_topk"), "shared_index": max(layer - offset, 0) % every != 0}


def _window(where: str, fields: Mapping[str, Any]) -> int:
    """Tokens that a query sees, including itself; 0 without a window."""
    size = fields.get("window_size")
    if size is None:
        return 0
    if isinstance(size, str):
        size = [int(word) if word.lstrip("-").isdigit() else word for word in size.replace("(", " ").replace(")", " ").replace(",", " ").split()]
    if not isinstance(size, (list, tuple)) or len(size) != 2 or not all(type(each) is int for each in size) or size[1] not in (0, -1):
        raise Error(f"{where}: window_size must be two integers, the tokens before a query and 0 or -1 for those after it, not {shown(fields['window_size'])}")
    return int(size[0]) + 1 if size[0] >= 0 else 0


# --- layers ---

def _of_symbol(where: str, fields: Mapping[str, Any], t: Transformer, symbol: str, layer: int) -> Block:
    if symbol == "M":
        return _mamba(where, fields, t)
    if symbol == "G":
        return _delta(where, fields)
    if symbol == "-":
        return mlp(t)
    if symbol == "E":
        return experts(where, fields, t)
    block = _scored(where, fields, attention(t), True)
    if symbol in "+D" and block["kind"] != "latent_attention":
        raise Error(f"{where}: the pattern has {symbol}, latent attention; give multi_latent_attention too")
    return _indexed(where, fields, block, layer) if symbol == "D" else block


def _scored(where: str, fields: Mapping[str, Any], block: Block, has_window: bool) -> Block:
    """The block with its window, sinks and gate."""
    kind, window = fields.get("softmax_type"), _window(where, fields)
    if kind not in (None, "vanilla", "off-by-one", "learnable"):
        raise Error(f"{where}: softmax_type is {shown(kind)}; it must be vanilla, off-by-one or learnable")
    if NORM_OF_ALL_HEADS in str(fields.get("spec")) and block.get("qk_norm"):
        block = {**block, "qk_norm": False, "qk_norm_all": True}
    return {**block, "sinks": kind == "learnable", "output_gate": switch_of(where, fields, "attention_output_gate"),
            **({"window": window} if has_window and window else {})}


def _of_pattern(where: str, fields: Mapping[str, Any], t: Transformer, pattern: str) -> Dict[str, Any]:
    main, *ahead = _parts(where, pattern)
    layers = [[_of_symbol(where, fields, t, symbol, number)] for number, symbol in enumerate(main, 1)]
    ends = [[_of_symbol(where, fields, t, symbol, 1) for symbol in ahead[0]]] if ahead else []
    return _values(t, layers, ends, len(ahead))


def _of_gpt(where: str, fields: Mapping[str, Any], t: Transformer) -> Dict[str, Any]:
    """Layers with attention of one kind and one feed-forward each."""
    variant, count = fields.get("experimental_attention_variant"), t.layers
    if variant not in (None, "gated_delta_net", "dsa"):
        raise Error(f"{where}: experimental_attention_variant is {shown(variant)}; supported are gated_delta_net and dsa")
    if variant == "gated_delta_net" and fields.get("linear_attention_freq") is None:
        raise Error(f"{where}: gated_delta_net needs linear_attention_freq; add it")
    linear = layer_pattern(where, "linear_attention_freq", fields.get("linear_attention_freq"), count) if variant == "gated_delta_net" else [0] * count
    windowed = layer_pattern(where, "window_attn_skip_freq", fields.get("window_attn_skip_freq"), count) if fields.get("window_attn_skip_freq") else [1] * count
    routed = expert_pattern(where, 1 if fields.get("moe_layer_freq") is None else fields["moe_layer_freq"], count) if t.experts else [0] * count
    layers = []
    for number in range(count):
        mixer = _delta(where, fields) if linear[number] else _scored(where, fields, attention(t), bool(windowed[number]))
        if variant == "dsa":
            mixer = _indexed(where, fields, mixer, number + 1)
        layers.append([mixer, experts(where, fields, t) if routed[number] else mlp(t)])
    return _values(t, layers, [layers[-1]] if t.mtp_layers else [], t.mtp_layers)


def _values(t: Transformer, layers: List[List[Block]], ends: List[List[Block]], mtp: int) -> Dict[str, Any]:
    """The description: equal layers become one kind."""
    kinds: Dict[str, List[Block]] = {}

    def name_of(blocks: List[Block]) -> str:
        blocks = [{key: value for key, value in block.items() if value not in (False, 0)} for block in blocks]
        found = next((name for name, own in kinds.items() if own == blocks), None)
        if found is not None:
            return found
        base, number = _name(blocks), sum(name.split(".")[0] == _name(blocks) for name in kinds)
        name = base if not number else f"{base}.{number + 1}"
        kinds[name] = blocks
        return name

    names, ahead = [name_of(blocks) for blocks in layers], [name_of(blocks) for blocks in ends]
    return {"hidden_size": t.hidden_size, "vocabulary_size": t.vocabulary_size, "positions": t.positions, "tied": t.tied, "norm_bias": t.norm_bias,
            "dropout": t.dropout, "kinds": kinds, "layers": names, "mtp_layers": mtp, **({"mtp_kind": ahead[0]} if ahead else {})}


def _name(blocks: List[Block]) -> str:
    """The name of a kind, as the library chooses it."""
    kind = str(blocks[0]["kind"])
    if len(blocks) == 1:
        return kind
    before = "window_" if blocks[0].get("window") else "delta_" if kind == "delta" else "mamba_" if kind == "mamba" else ""
    return before + ("moe_" if any(block["kind"] == "experts" for block in blocks) else "") + "decoder"


def _check_conditions(where: str, fields: Mapping[str, Any], pattern: str) -> None:
    """Refuses arguments that count only with another one that is missing."""
    variant, main = fields.get("experimental_attention_variant"), pattern
    needs = {"mamba_": ("M" in main, "layers M of a hybrid_layer_pattern"),
             "linear_": ("G" in main or variant == "gated_delta_net", "experimental_attention_variant gated_delta_net or layers G of a pattern"),
             "dsa_": ("D" in main or variant == "dsa", "experimental_attention_variant dsa or layers D of a pattern"),
             "window_attn_skip_freq": (fields.get("window_size") is not None and not pattern, "window_size, and no pattern"),
             "moe_": (bool(fields.get("num_experts")), "num_experts"), "is_hybrid_model": (bool(pattern), "a hybrid_layer_pattern"),
             "mtp_hybrid_override_pattern": (bool(pattern), "a hybrid_layer_pattern"),
             "experimental_attention_variant": (not pattern, "no hybrid_layer_pattern")}
    for name in LAYERS:
        known = next((need for start, need in needs.items() if name.startswith(start)), (True, ""))
        if is_in_use(name, fields) and not known[0]:
            raise Error(f"{where}: {name} is {shown(fields[name])}, which counts only with {known[1]}; leave it out, or give that too")
    spec = fields.get("spec")
    if spec is not None and not any(known in str(spec) for known in (SPECS if pattern else (NORM_OF_ALL_HEADS,))):
        raise Error(f"{where}: spec is {shown(spec)}, which would change the answer and is not supported; with a pattern {' and '.join(SPECS)} are supported")


def description_values(where: str, fields: Mapping[str, Any], t: Transformer) -> Optional[Dict[str, Any]]:
    """The description of a model with layers that a Transformer cannot have; None for other models."""
    pattern = pattern_of(where, fields)
    _check_conditions(where, fields, pattern or "")
    if pattern is not None:
        return _of_pattern(where, fields, t, pattern)
    return _of_gpt(where, fields, t) if any(is_in_use(name, fields) for name in LAYERS) else None
