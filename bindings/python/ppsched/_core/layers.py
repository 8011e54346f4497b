# SPDX-License-Identifier: Apache-2.0
"""A model by its layers, and splits of it into stages."""
import ctypes
import weakref
from collections.abc import Iterable, Mapping
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, TypedDict, Union

from . import _abi
from ._abi import LayerFlag, LayerPlace, Status
from ._library import Error, call, decoded, encoded, lib, new_handle
from .config import Config
from .enums import member
from .layout import Layout
from .number_lists import integer, numbers
from .shown import shown
from .views import Shared, sized
from .windows import Records, idle_slowdowns, stage_windows
from .words import counted


class Recompute(TypedDict, total=False):
    """A kind of recomputation of a layer: its name, the time of the whole backward with this recomputation, and the memory held
    from F to the backward."""

    name: str
    backward_time: float
    mem_forward: float


class ChainLayer(TypedDict, total=False):
    """A layer of a chain, with the keys that ppsched.Layer explains."""

    name: str
    count: int
    place: str
    with_next: bool
    tied: bool
    copies_embedding: bool
    not_copied: bool
    several_streams: bool
    forward_time: float
    backward_time: float
    backward_input_time: float
    backward_weight_time: float
    mem_forward: float
    mem_backward_input: float
    mem_backward_weight: float
    mem_static: float
    mem_weights: float
    output_bytes: float
    mem_slice_state: float
    mem_slice_gradients: float
    attention_share: float
    recompute: List[Recompute]
    hybrid_symbols: str
    device_scale: List[List[float]]
    windows: Dict[str, object]


class Layer(ChainLayer, total=False):
    """A layer, or `count` equal layers in a row, as in config files.

    place: "first" (embedding) or "last" (head) if the layer must be in that stage; with_next: it is in the same stage as the layer after it;
    tied: the last stage also holds its weights; copies_embedding: each stage with this layer, other than the first stage, also
    holds the weights of the layers with place "first", but not of those with not_copied (a tower). If no backward time is
    given, the backward takes twice as long as the forward.
    several_streams: its output has several residual streams (hyper-connections), which some runtimes cannot send.
    mem_slice_state, mem_slice_gradients: what the layer holds in addition if a plan cuts microbatches into slices (docs/layers.md).
    attention_share: the share of causal attention in the layer's times, for plans with slices.
    hybrid_symbols: the symbols of the layer in Megatron-LM's --hybrid-layer-pattern, such as "M" or "*-"; "" if it has none.
    windows: what F, I and W consist of, as in ppsched.pair_time; the windows of an op must together take as long as the op.
    device_scale: factors on the times of F, B, I and W for devices of types 1, 2 and so on (layer_types of a config).
    after, passes, microbatches: only for ppsched.split_layer_graph, where layers form a graph. after: the entries that feed
    this one, by name or by number from 0 (default: the entry before); passes: "FB", "FI" or "F"; microbatches: the microbatches
    that run the layer (default: all).
    """

    after: Sequence[Union[str, int]]
    passes: str
    microbatches: Sequence[int]


class StageLayers(TypedDict):
    """The layers of a stage: for each name their number, and how many of them have which kind of recomputation."""

    stage: int
    layers: Dict[str, int]
    recompute: Dict[str, Dict[str, int]]


class Split(NamedTuple):
    """The number of layers of each stage; and for each layer 0 (no recomputation), or the number of its kind of recomputation,
    counted from 1."""

    layers: List[int]
    recomputes: List[int]


class LayerSplit(NamedTuple):
    """The layers of a model, and their split into stages."""

    layers: "Layers"
    split: Split


OF_GRAPH = tuple(name for name in Layer.__annotations__ if name not in ChainLayer.__annotations__)
COSTS = ("forward_time", "backward_time", "backward_input_time", "backward_weight_time", "mem_forward", "mem_backward_input",
         "mem_backward_weight", "mem_static", "mem_weights", "output_bytes", "mem_slice_state", "mem_slice_gradients", "attention_share")


def _number(where: str, value: object) -> float:
    given: List[float] = []
    try:
        given = numbers(where, value)
    except Error as error:
        if error.status == Status.ERROR_RANGE:
            raise
    if isinstance(value, (bool, str)) or len(given) != 1:
        raise Error(f"{where} must be one number, not {shown(value)}")
    return given[0]


def _checked(where: str, row: object, known: Iterable[str]) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise Error(f"{where} must be a mapping, not {shown(row)}")
    known = list(known)
    unknown = next((key for key in row if key not in known), None)
    if unknown is not None:
        raise Error(f"{where} has no {shown(unknown)}; it has {', '.join(known)}")
    if not isinstance(row.get("name", ""), str):
        raise Error(f"{where}: name must be a text, not {shown(row['name'])}")
    if not row.get("name"):
        raise Error(f"{where} has no name")
    return row


def _recomputes(where: str, row: Mapping[str, Any], backward: float) -> List[_abi.Recompute]:
    given = row.get("recompute")
    if given is None:
        return []
    if not isinstance(given, Iterable) or isinstance(given, (str, Mapping)):
        raise Error(f"{where}: recompute must be a list, not {shown(given)}")
    kinds = []
    for number, item in enumerate(given):
        place = f"{where}: recompute {number}"
        kind = _checked(place, item, Recompute.__annotations__)
        if "backward_time" not in kind:
            raise Error(f"{place} ({kind['name']}): give backward_time, the time of the whole backward, including recomputation")
        whole = _number(f"{place}: backward_time", kind["backward_time"])
        if whole < backward:
            raise Error(f"{place}: backward_time is {whole:g}, less than the {backward:g} without recomputation; it must be the time of the "
                        "whole backward, including recomputation", Status.ERROR_RANGE)
        kinds.append(_abi.Recompute(encoded("name", kind["name"]), whole - backward,
                                    _number(f"{place}: mem_forward", kind.get("mem_forward", 0))))
    return kinds


def _flags(where: str, row: Mapping[str, Any]) -> int:
    flags = 0
    for name in ("with_next", "tied", "copies_embedding", "not_copied", "several_streams"):
        if not isinstance(row.get(name, False), bool):
            raise Error(f"{where}: {name} must be true or false, not {shown(row[name])}")
        flags |= LayerFlag[name.upper()] if row.get(name) else 0
    return flags


def _place(where: str, place: object) -> LayerPlace:
    if not isinstance(place, (str, LayerPlace)) or isinstance(place, str) and place.upper() not in LayerPlace.__members__:
        raise Error(f"{where}: there is no place {shown(place)}; it must be any, first or last")
    return member(LayerPlace, "place", place)


def numbers_by_type(where: str, row: Mapping[str, Any]) -> List[List[float]]:
    """The factors on the times of F, B, I and W of each type of devices."""
    given = row["device_scale"]
    types = [numbers(f"{where}: device_scale", one) for one in given] if isinstance(given, (list, tuple)) else []
    if not types or any(len(one) != 4 for one in types):
        raise Error(f"{where}: device_scale must be a list with four numbers for each type of devices, for F, B, I and W, not {shown(given)}")
    return types


def _scale(where: str, row: Mapping[str, Any]) -> List[float]:
    """The factors on times of all types of devices, in a row."""
    return [] if row.get("device_scale") is None else [factor for one in numbers_by_type(where, row) for factor in one]


def _record(number: int, given: object, own_place: str) -> _abi.Layer:
    """own_place: its place, if it has none."""
    where = f"layer entry {number}"
    of_graph = next((name for name in OF_GRAPH if isinstance(given, Mapping) and name in given), None)
    if of_graph is not None:
        raise Error(f"{where}: {of_graph} is only for layers that form a graph (with after), which ppsched.split_layer_graph and pick split")
    row = _checked(where, given, ChainLayer.__annotations__)
    where += f" ({row['name']})"
    record = sized(_abi.Layer)
    record.name = encoded("name", row["name"])
    record.count = integer(f"{where}: count", row.get("count", 1))
    if not 1 <= row.get("count", 1) <= _abi.MAX_LAYERS:
        bounds = "1 or more" if row["count"] < 1 else f"at most {_abi.MAX_LAYERS}"
        raise Error(f"{where}: count is {row['count']}; it must be {bounds}", Status.ERROR_RANGE)
    record.place = _place(where, row.get("place", own_place))
    record.flags = _flags(where, row)
    if not isinstance(row.get("hybrid_symbols", ""), str):
        raise Error(f"{where}: hybrid_symbols must be a text, not {shown(row['hybrid_symbols'])}")
    record.hybrid_symbols = encoded("hybrid_symbols", row["hybrid_symbols"]) if "hybrid_symbols" in row else None
    scale = _scale(where, row)
    record._scale = (ctypes.c_double * len(scale))(*scale)  # kept alive
    record.type_count = len(scale) // 4
    if scale:
        record.device_scale = ctypes.cast(record._scale, ctypes.POINTER(ctypes.c_double))
    for name in COSTS:
        setattr(record, name, _number(f"{where}: {name}", row.get(name, 0)))
    if "forward_time" not in row and any(row.get(name) for name in COSTS[1:4]):
        raise Error(f"{where}: it has a backward time but no forward_time; give forward_time, too, or 0 if the forward takes no time")
    parts = record.backward_input_time + record.backward_weight_time
    if not any(name in row for name in COSTS[1:4]):
        record.backward_time = 2 * record.forward_time
    kinds = _recomputes(where, row, record.backward_time or parts)
    record._kinds = (_abi.Recompute * len(kinds))(*kinds)  # kept alive, as the record points to it
    record.recomputes, record.recompute_count = ctypes.cast(record._kinds, ctypes.POINTER(_abi.Recompute)), len(kinds)
    return record


def _windows_records(rows: Sequence[Any]) -> Optional[Records]:
    """Those of all rows, which share the names of channels."""
    if not any(isinstance(row, Mapping) and row.get("windows") is not None for row in rows):
        return None
    missing = next((number for number, row in enumerate(rows) if row.get("windows") is None), None)
    if missing is not None:
        raise Error(f"layer entry {missing} ({shown(rows[missing].get('name'))}) has no windows, but others have; give them to all or to none")
    where = [f"layer entry {number} ({row['name']}): " for number, row in enumerate(rows)]
    windows = [stage_windows(place, row["windows"]) for place, row in zip(where, rows)]
    idle_slowdowns("", windows)
    return Records("", windows)


def _own_place(rows: Sequence[Any], number: int) -> str:
    """The place by name: a first layer "embedding" is in the first stage, a last layer "head" in the last one."""
    row = rows[number]
    name = row.get("name") if isinstance(row, Mapping) else None
    if name == "embedding" and number == 0:
        return "first"
    return "last" if name == "head" and number == len(rows) - 1 else "any"


class Layers(Shared):
    """The layers of a model in order, from rows like ppsched.Layer: Layers([{"name": "decoder", "count": 80, ...}, ...]).

    given: the rows. Immutable; threads may share them.
    Errors: ppsched.Error with the entry and the name that is wrong.

        layers = ppsched.Layers([{"name": "decoder", "count": 8, "forward_time": 1, "mem_forward": 0.5}])
        print(ppsched.plan(config, layers=layers).best)
    """

    given: List[Layer]
    _channels: List[str]  # of windows

    def __init__(self, rows: Iterable[Layer]) -> None:
        if isinstance(rows, (str, Mapping)) or not isinstance(rows, Iterable):
            raise Error(f"layers must be a list, not {shown(rows)}")
        self.given = list(rows)
        records: List[Any] = [_record(number, row, _own_place(self.given, number)) for number, row in enumerate(self.given)]
        windows = _windows_records(self.given)
        self._channels = [] if windows is None else windows.channels
        for record, own in zip(records, [] if windows is None else windows.records):
            record.windows = ctypes.pointer(own)
        pointers = (ctypes.POINTER(_abi.Layer) * len(records))(*[ctypes.pointer(record) for record in records])
        try:
            self._handle = new_handle(lib.ppsched_layers_create, pointers, len(records), None)
        except Error as error:
            if windows is None:
                raise
            windows.telling("", error)
        self._release = weakref.finalize(self, lib.ppsched_layers_release, self._handle)

    def __reduce__(self) -> Any:
        return Layers, (self.given,)

    def largest(self) -> Tuple[str, float]:
        """The layer that needs the most memory by itself, with one microbatch, and with the kind of recomputation that holds
        the least memory."""
        def alone(row: Layer) -> float:
            kept = [kind.get("mem_forward", 0.0) for kind in row.get("recompute", ())]
            return row.get("mem_static", 0.0) + row.get("mem_weights", 0.0) + min([row.get("mem_forward", 0.0), *kept])

        row = max(self.given, key=alone)
        return row["name"], alone(row)

    def __len__(self) -> int:
        """Number of layers, where each layer of an entry counts."""
        return lib.ppsched_layers_count(self._handle)

    def _entries(self) -> List[_abi.Layer]:
        entries = []
        for number in range(lib.ppsched_layers_entries(self._handle)):
            record = sized(_abi.Layer)
            call(lib.ppsched_layers_get_entry, ctypes.byref(record), self._handle, number)
            entries.append(record)
        return entries

    @property
    def names(self) -> List[str]:
        """The name of each layer."""
        return [decoded(entry.name) for entry in self._entries() for _ in range(entry.count)]

    @property
    def kinds(self) -> List[List[str]]:
        """For each layer the names of its kinds of recomputation."""
        return [[decoded(entry.recomputes[k].name) for k in range(entry.recompute_count)]
                for entry in self._entries() for _ in range(entry.count)]

    def __repr__(self) -> str:
        words = ", ".join(f"{entry.count} x {decoded(entry.name)}" for entry in self._entries())
        return f"<ppsched.Layers: {words}>"

    def layout(self, split: Split, devices: int) -> Optional[Layout]:
        """The layout of a split. Layers with place "first" count as the embedding, and layers with place "last" as the head. Layers named
        "mtp" are MTP layers. All others are decoders. The result is None if this layout is not valid."""
        kinds = [0 if entry.place == LayerPlace.FIRST else 3 if entry.place == LayerPlace.LAST else 2 if decoded(entry.name) == "mtp"
                 else 1 for entry in self._entries() for _ in range(entry.count)]
        stages, end = [], 0
        for count in split.layers:
            stages.append([kinds[end:end + count].count(kind) for kind in range(4)])
            end += count
        stages[0][0], stages[-1][3] = 1, 1  # every model has one of each, even if it costs nothing
        try:
            return Layout.of_stages([(a, b, c, d) for a, b, c, d in stages], devices)
        except Error:
            return None

    def rows(self, split: Split) -> List[StageLayers]:
        """A split as in JSON: for each stage its layers by name, and the recomputed layers by name and kind."""
        names, kinds, end = self.names, self.kinds, 0
        recomputes = split.recomputes or [0] * len(names)
        rows: List[StageLayers] = []
        for stage, count in enumerate(split.layers):
            held: Dict[str, int] = {}
            recomputed: Dict[str, Dict[str, int]] = {}
            for layer in range(end, end + count):
                name = names[layer]
                held[name] = held.get(name, 0) + 1
                if recomputes[layer]:
                    by_kind = recomputed.setdefault(name, {})
                    kind = kinds[layer][recomputes[layer] - 1]
                    by_kind[kind] = by_kind.get(kind, 0) + 1
            rows.append({"stage": stage, "layers": held, "recompute": recomputed})
            end += count
        return rows


def _counts(what: str, values: Iterable[object], most: int) -> List[int]:
    counts = [integer(what, value) for value in values]
    wrong = next((count for count in counts if not 0 <= count <= most), None)
    if wrong is not None:
        raise Error(f"{what} is {wrong}; it must be 0 to {most}", Status.ERROR_RANGE)
    return counts


def split_record(layers: Layers, split: Split) -> _abi.Split:
    """The library's record of a split, which keeps alive what it points to."""
    counts = (ctypes.c_uint32 * len(split.layers))(*_counts("layers of a stage", split.layers, _abi.MAX_LAYERS))
    record = sized(_abi.Split)
    record.stages, record.layers = len(counts), ctypes.cast(counts, ctypes.POINTER(ctypes.c_uint32))
    if split.recomputes:
        if len(split.recomputes) != len(layers):
            raise Error(f"the split has kinds of recomputation for {counted(len(split.recomputes), 'layer')}; there are {len(layers)}",
                        Status.ERROR_LENGTH)
        kinds = (ctypes.c_uint8 * len(layers))(*_counts("the kind of a layer", split.recomputes, _abi.MAX_RECOMPUTES))
        record.recomputes = ctypes.cast(kinds, ctypes.POINTER(ctypes.c_uint8))
    return record


def config_from_layers(config: Config, layers: Layers, split: Split) -> Config:
    """A copy of a config, with the stages that a split of the layers gives. Costs of stages in the given config are ignored.
    Errors: ppsched.Error if the split has another number of layers.

        layers = ppsched.Layers([{"name": "decoder", "count": 8, "forward_time": 1}])
        print(ppsched.config_from_layers(config, layers, ppsched.Split([1, 2, 2, 3], [0] * 8)).forward_times)
    """
    record = split_record(layers, split)
    return config._like(new_handle(lib.ppsched_config_from_layers, config._handle, layers._handle, ctypes.byref(record)))._with_layer_windows(layers._channels)
