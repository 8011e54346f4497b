# SPDX-License-Identifier: Apache-2.0
"""Measured costs of layers and collectives, which a model takes in place of its formulas."""
import contextlib
import ctypes
import re
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from . import _abi
from ._abi import Collective, Measure
from ._library import Error, encoded
from .description import c_count
from .enums import member, name_of
from .number_lists import numbers
from .views import sized

SIZES = ("tensor_parallel", "context_parallel", "expert_parallel", "expert_tensor_parallel", "micro_batch_size", "sequence_length")
_NUMBERS = (re.compile(r"\brow (\d+)(?: of the layer table)?"), re.compile(r"\bcollective (\d+)(?: of the layer table)?"))
FIGURES = ("forward_time", "backward_input_time", "backward_weight_time", "mem_forward", "mem_static")


class MeasuredLayer(NamedTuple):
    """Measured costs of one layer on one device for one microbatch, in seconds and bytes. kind: a row of the model; recompute: "none",
    "selective", "full" or "modules". A size of 0 means any size. A figure of None was not measured. mem_static: weights, gradients and
    optimizer states without sharding."""

    kind: str
    recompute: str = "none"
    tensor_parallel: int = 0
    context_parallel: int = 0
    expert_parallel: int = 0
    expert_tensor_parallel: int = 0
    micro_batch_size: int = 0
    sequence_length: int = 0
    forward_time: Optional[float] = None
    backward_input_time: Optional[float] = None
    backward_weight_time: Optional[float] = None
    mem_forward: Optional[float] = None
    mem_static: Optional[float] = None


class MeasuredCollective(NamedTuple):
    """The measured time, in seconds, of one collective of `group` devices that are spread over `span` devices (0: over `group`). name:
    "all_reduce", "all_gather", "reduce_scatter", "all_to_all" or "send"; bytes: bytes of the whole value; for "all_to_all" and
    "send", bytes that a device sends."""

    name: str
    bytes: float
    group: int
    span: int
    time: float


class LayerTable(NamedTuple):
    """A layer table for ppsched.Model. names: names of all rows, of layers and of collectives, for error messages, such as
    "line 3"; without names, messages use numbers.

        rows = [ppsched.MeasuredLayer("decoder", tensor_parallel=8, forward_time=0.0061, backward_input_time=0.0065)]
        print(ppsched.layer_table_text(ppsched.LayerTable(rows)))
    """

    layers: Sequence[MeasuredLayer] = ()
    collectives: Sequence[MeasuredCollective] = ()
    names: Tuple[Sequence[str], Sequence[str]] = ((), ())


class FigureMeasure(NamedTuple):
    """Where a figure comes from. source: "formula", "table", "nearest", "same" or "others", as in enum ppsched_measure; factor: the figure
    divided by the cost model's figure."""

    source: str
    factor: float


class RowMeasure(NamedTuple):
    """Where the figures of a model's row come from. The last three are times of recomputation."""

    forward: FigureMeasure
    input: FigureMeasure
    weight: FigureMeasure
    mem_forward: FigureMeasure
    mem_static: FigureMeasure
    selective: FigureMeasure
    full: FigureMeasure
    modules: FigureMeasure


def row_measure(record: Any) -> RowMeasure:
    """Of the library's record."""
    figures = (getattr(record, name) for name in RowMeasure._fields)
    return RowMeasure(*(FigureMeasure(name_of(Measure(figure.source)), figure.factor) for figure in figures))


def _layer(given: MeasuredLayer) -> Any:
    record = _abi.MeasuredLayer()
    record.kind, record.recompute = encoded("kind", given.kind), encoded("recompute", given.recompute)
    for name in SIZES:
        setattr(record, name, c_count(name, getattr(given, name)))
    for name in FIGURES:
        value = getattr(given, name)
        if value is not None and not value >= 0:
            raise Error(f"{name} of {given.kind} is {value:g}; it must be 0 or more, or None where it was not measured")
        setattr(record, name, -1.0 if value is None else numbers(name, value)[0])
    return record


def _collective(given: MeasuredCollective) -> Any:
    record = _abi.MeasuredCollective()
    record.collective = member(Collective, "collective", given.name)
    record.group, record.span = c_count("group", given.group), c_count("span", given.span)
    record.bytes, record.time = numbers("bytes", given.bytes)[0], numbers("time", given.time)[0]
    return record


def table_record(table: LayerTable) -> Any:
    """The library's record, which keeps alive what it points to."""
    record = sized(_abi.LayerTable)
    layers = (_abi.MeasuredLayer * len(table.layers))(*map(_layer, table.layers))
    collectives = (_abi.MeasuredCollective * len(table.collectives))(*map(_collective, table.collectives))
    record.layer_count, record.collective_count = len(table.layers), len(table.collectives)
    record.layers = ctypes.cast(layers, ctypes.POINTER(_abi.MeasuredLayer))
    record.collectives = ctypes.cast(collectives, ctypes.POINTER(_abi.MeasuredCollective))
    record._kept = (layers, collectives)
    return record


def _naming(names: Sequence[str]) -> Callable[["re.Match[str]"], str]:
    """Puts a row's name in the place of its number."""
    return lambda match: names[int(match[1])] if int(match[1]) < len(names) else match[0]


def frozen(table: LayerTable) -> LayerTable:
    """The same of tuples, which can be a key."""
    layers, collectives = table.names or ((), ())
    return LayerTable(tuple(table.layers), tuple(table.collectives), (tuple(layers), tuple(collectives)))


@contextlib.contextmanager
def naming_rows(table: LayerTable) -> Iterator[None]:
    """As a context manager: errors of the library name the rows as the table does."""
    try:
        yield
    except Error as error:
        for pattern, names in zip(_NUMBERS, table.names):
            error.args = (pattern.sub(_naming(names), str(error)),)
        raise


# --- what is told ---

_WORDS = {"nearest": "factor from the nearest rows", "same": "factor from its other times", "others": "factor from the other kinds of layers"}


def _told(name: str, measure: RowMeasure, figures: Sequence[str]) -> str:
    found: Dict[str, List[str]] = {}
    for figure in figures:
        source, factor = getattr(measure, figure)
        found.setdefault(source, []).append(figure if source in ("table", "formula") else f"{figure} x {factor:.4g}")
    parts = [f"{', '.join(found.pop('table'))} measured"] if "table" in found else []
    plain = [f"{', '.join(found.pop('formula'))} not measured"] if "formula" in found else []
    parts += [f"{', '.join(words)} of the cost model ({_WORDS[source]})" for source, words in found.items()]
    return f"layer table, {name}: {'; '.join(parts + plain)}"


def table_notes(table: LayerTable, measures: Dict[str, RowMeasure], again: Mapping[str, Sequence[str]]) -> List[str]:
    """What of each row of a model was measured, and what was filled how. again: kinds of recomputation that are told, by row."""
    if not table.layers:
        return []
    notes = [_told(name, measure, [*RowMeasure._fields[:5], *again.get(name, ())]) for name, measure in measures.items()]
    unused = [kind for kind in dict.fromkeys(layer.kind for layer in table.layers) if kind not in measures]
    return notes + ([f"layer table: rows of {', '.join(unused)} are not used, because the model has no such layers"] if unused else [])
