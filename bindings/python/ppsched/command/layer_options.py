# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for models by their layers, and for splits of them."""
import argparse
import os
import re
from typing import Any, Dict, List, Mapping, Optional, Sequence

from .._core._abi import MAX_LAYERS
from .._core._library import Error
from .._core.config import Config
from .._core.layer_graph import is_layer_graph
from .._core.layer_words import OF_LAYERS, UNREAD
from .._core.layers import COSTS, ChainLayer, Layer, Layers, LayerSplit, Split, config_from_layers
from .._core.model_end import model_end
from .._core.number_lists import numbers
from .._core.shown import shown
from ..readers.config_file import read_layers_file, read_layers_text
from .number_options import add_count_argument, whole
from .size_options import end_of
from .usage import UsageError

RECOMPUTED = re.compile(r"([0-9]+)(?:-([0-9]+))?:(.+)")


def add_layer_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the layers of the model."""
    parser.add_argument("--layers", metavar="FILE", help="layers of the model: a JSON or YAML file that is a list or has the key \"layers\", "
                        "or the list itself as JSON")
    parser.add_argument("--num-layers", type=whole, metavar="N",
                        help="number of equal layers, each with the costs of -f, -bw and so on; --embedding and --head are additional layers")
    parser.add_argument("--empty-stages", action="store_true", default=None, help="allow stages without layers, except the first and the last")


def add_split_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options for the split into stages."""
    add_layer_arguments(parser)
    add_count_argument(parser, "--split", metavar="N", help="with --layers or --num-layers: number of layers of each stage")
    parser.add_argument("--recompute", nargs="+", metavar="I:KIND",
                        help="layers to recompute, and the kind of recomputation, such as 3:full, or 0-3:full for layers 0 to 3. In ppsched schedule "
                             "and live also chunks=N: recompute N stages of each device by ops RECOMPUTE")


def has_layers(values: Mapping[str, Any]) -> bool:
    return values.get("layers") is not None or values.get("num_layers") is not None


def _one(name: str, value: object) -> float:
    given = numbers(name, value)
    if len(given) != 1:
        raise Error(f"{name} has {len(given)} values; --num-layers needs one value, because its layers are equal; for other layers give --layers FILE")
    return given[0]


def _end_row(name: str, place: str, given: Any) -> List[Layer]:
    end = end_of(name, given)
    model_end(name, end)  # checks the keys
    if end is None:
        return []
    row: Dict[str, Any] = {"name": name, "place": place, **end}
    if not any(key in row for key in COSTS[1:4]):
        row["backward_time"] = 0
    return [row]  # type: ignore[list-item]  # the keys are those of a layer


def _equal_layers(values: Mapping[str, Any]) -> List[Layer]:
    count = values["num_layers"]
    if count < 1:
        raise UsageError(f"--num-layers {count}: it must be 1 or more")
    if count > MAX_LAYERS:
        raise UsageError(f"--num-layers {count}: it must be at most {MAX_LAYERS}")
    row: Dict[str, Any] = {"name": "decoder", "count": count}
    row.update({key: _one(name, values[name]) for name, key in OF_LAYERS.items() if values.get(name) is not None})
    row.setdefault("forward_time", 1.0)
    row.setdefault("mem_forward", 1.0)
    ends = _end_row("embedding", "first", values.get("embedding")), _end_row("head", "last", values.get("head"))
    return [*ends[0], row, *ends[1]]  # type: ignore[list-item]  # the same keys


def layers_of(values: Mapping[str, Any]) -> Optional[Layers]:
    """The layers of merged values, if they have any."""
    if not has_layers(values):
        unread = next((name for name in ("empty_stages", "split_effort") if values.get(name)), None)
        if unread is not None:
            raise UsageError(f"--{unread.replace('_', '-')} needs --layers or --num-layers")
        return None
    if values.get("layers") is not None and values.get("num_layers") is not None:
        raise UsageError("--layers, --num-layers: give one of them")
    if is_layer_graph(values.get("layers")):
        raise UsageError("layers with \"after\" form a graph; only pick splits them, and its JSON has a \"config\" with stages for the other commands")
    unread = next((name for name in UNREAD if values.get(name) is not None), None)
    if unread is not None:
        instead = "; use mem_static and mem_forward of layers, and mem_other of devices" if unread.startswith("mem_") else ""
        raise UsageError(f"{unread} is a cost of stages; layers have none{instead}")
    return Layers(_rows(values))


def refuse_beside(values: Mapping[str, Any]) -> None:
    """Refuses costs in addition to a list of layers, which has the costs itself."""
    if values.get("layers") is None or values.get("num_layers") is not None:
        return
    beside = next((name for name in (*OF_LAYERS, "embedding", "head") if values.get(name) is not None), None)
    if beside is not None:
        raise UsageError(f"{beside}: the list of layers has its own costs; this option works only with --num-layers")


def _takes_none(row: Any) -> bool:
    """Whether a row that holds nothing unknown takes no time; what is no number is told where rows are read."""
    return (isinstance(row, dict) and row.keys() <= ChainLayer.__annotations__.keys()
            and all(type(row.get(name, 0)) in (int, float) and row.get(name, 0) == 0 for name in COSTS[:4]))


def _rows(values: Mapping[str, Any]) -> List[Layer]:
    """The layers of merged values. Some layer must take time: a model that takes none has no best schedule."""
    if values.get("num_layers") is not None:
        return _equal_layers(values)
    refuse_beside(values)
    rows = read_layers(values["layers"])
    if rows and all(map(_takes_none, rows)):
        raise Error("no layer takes any time; give each a forward_time, and a backward_time if it is not twice that")
    return rows


def read_layers(given: Any) -> List[Layer]:
    """The rows: as given, from a JSON text, or from a file."""
    rows: List[Layer] = given
    if isinstance(given, str):
        if given.isdecimal() and not os.path.exists(given):
            raise UsageError(f"--layers {given}: it must be a file; the number of equal layers is --num-layers {given}")
        rows = read_layers_text("--layers", given) if given.lstrip()[:1] in ("[", "{") else read_layers_file(given)
    return rows


def _kinds(layers: Layers, words: Optional[Sequence[str]]) -> List[int]:
    kinds, names = [0] * len(layers), layers.kinds
    for word in words or ():
        match = RECOMPUTED.fullmatch(word)
        if match is None:
            raise UsageError(f"--recompute {word}: it must be NUMBER:KIND or FIRST-LAST:KIND, such as 0-3:full")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise UsageError(f"--recompute {word}: {last} is before {first}; the first layer comes first")
        if last >= len(layers):
            raise Error(f"--recompute {word}: there are layers 0 to {len(layers) - 1}")
        for layer in range(first, last + 1):
            if match[3] not in names[layer]:
                raise Error(f"--recompute {word}: layer {layer} has no kind {shown(match[3])}; it has {', '.join(names[layer]) or 'none'}")
            if kinds[layer]:
                raise UsageError(f"--recompute {word}: layer {layer} has kind {names[layer][kinds[layer] - 1]} already; a layer has only one kind")
            kinds[layer] = names[layer].index(match[3]) + 1
    return kinds


def split_of(values: Mapping[str, Any]) -> Optional[LayerSplit]:
    """The layers of merged values with their split; None without a split."""
    split = values.get("split")
    if split is None:
        if values.get("recompute") is not None:
            raise UsageError("--recompute needs --split")
        return None
    layers = layers_of(values)
    if layers is None:
        raise UsageError("--split needs --layers or --num-layers")
    if isinstance(values.get("chunks"), int):
        raise UsageError("--chunks, --split: both set the number of stages; give one of them")
    if values.get("given_stages") not in (None, len(split)):
        raise UsageError(f"-s {values['given_stages']}: the split has {len(split)} stages; leave -s out")
    if any(count < 0 for count in split):
        raise Error(f"--split has {min(split)}; each stage must have 0 or more layers")
    return LayerSplit(layers, Split(list(split), _kinds(layers, values.get("recompute"))))


def split_config(config: Config, model: LayerSplit) -> Config:
    """The problem with the stages of the split."""
    return config_from_layers(config, *model)
