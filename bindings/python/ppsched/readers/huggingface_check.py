# SPDX-License-Identifier: Apache-2.0
"""What a config.json holds that its type does not have, or has and is not priced."""
from typing import Any, Dict, List, Mapping, NamedTuple

from .._core._library import Error
from .._core.shown import shown
from .huggingface_fields import HARMLESS, HARMLESS_ENDINGS, OWN, STRUCTURE, UNGATED
from .huggingface_reader import Reader, in_use

MOST_NAMES = 6  # of fields in a message
INSTEAD = "plan by the costs of its layers instead: pick --layers"

# The types whose classes have a window, and what they have where a file does not say.
WINDOWS: Dict[str, Mapping[str, Any]] = {
    "mistral": {"sliding_window": 4096}, "mixtral": {"sliding_window": None},
    "qwen2": {"sliding_window": 4096, "use_sliding_window": False, "max_window_layers": 28},
    "qwen3": {"sliding_window": 4096, "use_sliding_window": False, "max_window_layers": 28},
    "qwen3_moe": {"sliding_window": 4096, "use_sliding_window": False}, "gemma2": {"sliding_window": 4096}}
BY_LAYER = ("qwen2", "qwen3", "gemma2")  # whose classes go by layer_types
KINDS = ("full_attention", "sliding_attention")


class Window(NamedTuple):
    """Tokens that a layer sees, and how many layers have it."""

    tokens: int
    layers: int


def named(names: List[str]) -> str:
    return ", ".join(names[:MOST_NAMES]) + (f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else "")


# --- windows ---

def _layer_types(reader: Reader, kind: str, layers: int) -> List[str]:
    """One for each layer, or none where the file does not say."""
    given = reader.take("layer_types")
    if not in_use(given):
        return []
    if not isinstance(given, list):
        raise Error(f"{reader.where}: layer_types must be a list, not {shown(given)}")
    known = KINDS if kind in WINDOWS else KINDS[:1]
    others = [each for each in given if each not in known]
    if others:
        raise Error(f"{reader.where}: layer_types has {shown(others[0])}; layers of a {kind} are read that are {' or '.join(known)}; {INSTEAD}")
    if len(given) != layers:
        raise Error(f"{reader.where}: layer_types has {len(given)} entries, and there are {layers} layers")
    return given


def _window(reader: Reader, kind: str, layers: int) -> Window:
    """Of the type's own; none is of no layers."""
    types = _layer_types(reader, kind, layers)
    if kind not in WINDOWS:
        return Window(0, 0)
    default = WINDOWS[kind]
    switched = reader.switch("use_sliding_window") if "use_sliding_window" in default else True
    first = reader.defaulted("max_window_layers", default["max_window_layers"]) if "max_window_layers" in default else 0
    tokens = reader.defaulted("sliding_window", default["sliding_window"] or 0)
    windowed = types.count("sliding_attention")
    if types and (kind in BY_LAYER or windowed):
        return Window(tokens, windowed)
    if not switched or not tokens:
        return Window(tokens, 0)
    return Window(tokens, (layers + 1) // 2 if kind == "gemma2" else max(layers - first, 0))


def window_warnings(reader: Reader, kind: str, layers: int) -> List[str]:
    """That the type's own window is not priced."""
    window = _window(reader, kind, layers)
    if not window.layers:
        return []
    size = f" of {window.tokens} tokens" if window.tokens else ""
    return [f"{reader.where}: the sliding window{size} in {window.layers} of the layers is not priced: attention is counted as over the "
            "whole sequence, which is too much for longer ones"]


# --- fields of others ---

def _check_qk_head(reader: Reader) -> None:
    whole = reader.fields.get("qk_head_dim")
    if in_use(whole) and whole != (reader.optional("qk_nope_head_dim") or 0) + (reader.optional("qk_rope_head_dim") or 0):
        raise Error(f"{reader.where}: qk_head_dim is {shown(whole)}; it must be qk_nope_head_dim and qk_rope_head_dim together")


def _foreign(reader: Reader, kind: str, gated: bool) -> List[str]:
    """Fields in use that make other layers than the type has."""
    fields, own = reader.fields, OWN.get(kind, frozenset())
    names = [name for name in fields if name in STRUCTURE and name not in own and name not in reader.asked and in_use(fields[name])]
    if fields.get("is_causal") is False:
        names.append("is_causal")
    if gated and not in_use(fields.get("rms_norm_eps")):  # the norms of these types have no bias, and are named so
        names += [name for name in ("layer_norm_eps", "layer_norm_epsilon") if in_use(fields.get(name))]
    if fields.get("attention_out_bias") is False and fields.get("attention_bias") is True:
        names.append("attention_out_bias")
    return names


def check_fields(reader: Reader, kind: str, row: Mapping[str, Any]) -> List[str]:
    """Refuses what makes other layers than the type has; warnings of what is not known, and of windows. After all else was read."""
    warnings = window_warnings(reader, kind, row["layers"])
    gated = bool(row.get("gated"))
    names = _foreign(reader, kind, gated)
    if names:
        raise Error(f"{reader.where}: {named(names)} {'is' if len(names) == 1 else 'are'} in use, which a {kind} does not have, and would not be "
                    f"counted; {INSTEAD}")
    for name in ("hidden_act", "hidden_activation"):
        given = reader.fields.get(name)
        if given is not None and not isinstance(given, str):
            raise Error(f"{reader.where}: {name} must be a text, not {shown(given)}")
        if gated and given in UNGATED:
            raise Error(f"{reader.where}: {name} is {given}, of an MLP without a gate, which a {kind} does not have; {INSTEAD}")
    if kind in OWN and "qk_head_dim" in OWN[kind]:
        _check_qk_head(reader)
    unknown = [name for name in reader.fields if _is_unknown(reader, name) and name not in OWN.get(kind, ())]
    if unknown:
        warnings.append(f"{reader.where}: {named([shown(name)[1:-1] for name in unknown])} {'is' if len(unknown) == 1 else 'are'} not known, and not "
                        "counted")
    return warnings


def _is_unknown(reader: Reader, name: str) -> bool:
    known = name in reader.asked or name in STRUCTURE or name in HARMLESS or name.startswith("_") or HARMLESS_ENDINGS.search(name)
    return not known and in_use(reader.fields[name])
