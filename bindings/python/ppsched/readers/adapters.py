# SPDX-License-Identifier: Apache-2.0
"""Adapters (LoRA) of recipes: which matrices of a model get one, by the names of their modules in its class."""
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

from .._core._abi import AdapterTarget
from .._core._library import Error
from .._core.description import Description
from .._core.shown import shown

# The name of a module, and whether its class is a linear layer.
Match = Callable[[str, bool], bool]

# Names that the classes of other families, and Megatron-LM, have for the same matrices.
ALIASES = {"query": ("linear_qkv", "qkv_proj", "query_key_value", "c_attn", "linear_q_proj", "linear_q_down_proj", "linear_q_up_proj", "wq_a", "wq_b", "query"),
           "key": ("linear_qkv", "qkv_proj", "query_key_value", "c_attn", "linear_kv_down_proj", "wkv", "key"),
           "value": ("linear_qkv", "qkv_proj", "query_key_value", "c_attn", "linear_kv_up_proj", "value"),
           "output": ("linear_proj", "self_attn.dense", "attention.dense", "wo_a", "wo_b", "attn.c_proj"),
           "gate": ("linear_fc1", "gate_up_proj", "w1"), "up": ("linear_fc1", "gate_up_proj", "fc1", "c_fc", "dense_h_to_4h", "w3"),
           "down": ("linear_fc2", "fc2", "mlp.c_proj", "dense_4h_to_h", "w2"), "experts": ("experts.linear_fc1", "experts.linear_fc2")}

MIXERS: Dict[str, Dict[str, Tuple[str, ...]]] = {
    "attention": {"query": ("self_attn.q_proj",), "key": ("self_attn.k_proj",), "value": ("self_attn.v_proj",), "output": ("self_attn.o_proj",)},
    "latent_attention": {"query": ("self_attn.q_proj", "self_attn.q_a_proj", "self_attn.q_b_proj"), "key": ("self_attn.kv_a_proj_with_mqa",),
                         "value": ("self_attn.kv_b_proj",), "output": ("self_attn.o_proj",)},
    "compressed_attention": {"query": ("self_attn.q_a_proj", "self_attn.q_b_proj"), "key": ("self_attn.kv_proj",), "output": ("self_attn.o_a_proj", "self_attn.o_b_proj")},
    "delta": {"scan_input": ("linear_attn.in_proj_qkv", "linear_attn.in_proj_z", "linear_attn.in_proj_a", "linear_attn.in_proj_b"), "scan_output": ("linear_attn.out_proj",)},
    "kda": {"scan_input": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.f_a_proj"), "scan_output": ("self_attn.o_proj",)},
    "mamba": {"scan_input": ("mixer.in_proj",), "scan_output": ("mixer.out_proj",)},
    "convolution": {"scan_input": ("conv.in_proj",), "scan_output": ("conv.out_proj",)}}
INDEX = ("self_attn.indexer.wq_b", "self_attn.indexer.wk", "self_attn.indexer.weights_proj")


class Adapters(NamedTuple):
    """rank; which modules match; whether their inputs are dropped out, they are fused as in Megatron-LM, and their rank is divided by the
    experts of a token where they are beside experts."""

    rank: int
    matches: Match
    dropout: bool = False
    fused: bool = False
    scales_experts: bool = False


class Module(NamedTuple):
    target: str
    name: str
    is_linear: bool = True


def _of_block(block: Mapping[str, Any]) -> Iterator[Module]:
    kind = str(block["kind"])
    if kind in ("mlp", "experts"):
        names = ("gate", "up", "down") if block.get("gated") else ("up", "down")
        where = "mlp" if kind == "mlp" else "mlp.shared_experts"
        if kind == "mlp" or block.get("shared_width"):
            yield from (Module(name, f"{where}.{name}_proj") for name in names)
        if kind == "experts":
            yield from (Module("experts", "mlp.experts", False), Module("router", "mlp.gate", False))
        if block.get("shared_gate"):
            yield Module("other", "mlp.shared_expert_gate")
        return
    for target, names in MIXERS.get("kda" if block.get("decay_rank") else kind, {}).items():
        yield from (Module(target, name) for name in names)
    if block.get("index_heads"):
        yield from (Module("other", name) for name in INDEX)
    if block.get("output_gate") or block.get("head_gate"):
        yield Module("other", "self_attn.output_gate_proj")


def _modules(description: Description) -> List[Module]:
    kinds: Any = description.values()["kinds"]
    found = [Module(own.target, f"model.layers.0.{own.name}", own.is_linear) for name in dict.fromkeys(description.layer_kinds)
             for block in kinds[name] for own in _of_block(block)]
    targets = {own.target for own in found}
    others = [Module(target, f"model.layers.0.{name}", target != "experts") for target, names in ALIASES.items() if target in targets for name in names]
    return [*found, *others, Module("head", "lm_head")]


def options_of(path: str, description: Description, adapters: Adapters) -> Dict[str, Any]:
    """Options of the command."""
    targets = {own.target for own in _modules(description) if adapters.matches(own.name, own.is_linear)}
    if not targets:
        raise Error(f"{path}: none of its adapters belongs to a matrix of the model's layers")
    options: Dict[str, Any] = {"lora_rank": adapters.rank, "lora_targets": [target.name.lower() for target in AdapterTarget if target.name.lower() in targets],
                               "lora_dropout": adapters.dropout, "lora_fused": adapters.fused}
    if adapters.scales_experts:
        kinds: Any = description.values()["kinds"]
        each = max((block.get("experts_per_token", 1) for blocks in kinds.values() for block in blocks), default=1)
        if adapters.rank < each:
            raise Error(f"{path}: moe_rank_scaling divides dim {adapters.rank} by {each} experts of a token; give dim {each} or more")
        options["lora_expert_rank"] = adapters.rank // each
    return options


# --- which modules match ---

def by_patterns(path: str, patterns: Sequence[str]) -> Match:
    """Names in full, in which * stands for any text, or a last part."""
    for pattern in patterns:
        if re.search(r"layers\.\d", pattern):
            raise Error(f"{path}: its adapters belong to only some layers ({shown(pattern)}); name modules of all layers")
    found = [re.compile(".*".join(re.escape(part) for part in re.split(r"\.?\*", pattern)) + "$") for pattern in patterns]

    def matches(name: str, is_linear: bool) -> bool:
        return (is_linear or ".experts" in name) and any(
            each.match(name) is not None or name.rsplit(".", 1)[-1] == pattern for each, pattern in zip(found, patterns))
    return matches


def by_endings(names: Sequence[str]) -> Match:
    """Modules of these names, or whose names end with them."""
    return lambda name, is_linear: any(name == own or name.endswith("." + own) for own in names)


def all_linear(excluded: Match, has_experts: bool = False) -> Match:
    """All linear layers but the excluded ones. has_experts: those of experts are linear layers too."""
    def matches(name: str, is_linear: bool) -> bool:
        return (is_linear or (has_experts and ".experts" in name)) and not excluded(name, is_linear)
    return matches


def nothing(name: str, is_linear: bool) -> bool:
    """Excludes none."""
    return False
