# SPDX-License-Identifier: Apache-2.0
"""Tables of measured layers and collectives: CSV with a header, or JSON with a list of the same keys."""
import csv
import io
import json
from fractions import Fraction
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core._abi import Collective
from .._core._library import Error
from .._core.enums import names_of
from .._core.file_bytes import MODEL
from .._core.layer_table import LayerTable, MeasuredCollective, MeasuredLayer
from .._core.shown import shown
from .._core.unit_advice import amount_in
from .._core.units import BYTES, TIMES, number_word, parse
from .._core.whole_numbers import number_of
from .._core.words import nearest
from .json_and_yaml import file_text

SIZES = {"tp": "tensor_parallel", "cp": "context_parallel", "ep": "expert_parallel", "etp": "expert_tensor_parallel",
         "micro_batch": "micro_batch_size", "seq": "sequence_length"}
COLUMNS = ("kind", *SIZES, "recompute", "forward_time", "backward_input_time", "backward_weight_time", "mem_forward", "mem_static")
OF_COLLECTIVES = ("bytes", "group", "span", "time")
COLLECTIVES = tuple(names_of(Collective))
RECOMPUTE = ("none", "selective", "full", "modules")
_PREFIX = "collective:"
Cells = Mapping[str, Any]


class _Units(NamedTuple):
    """The units of numbers without one; None: they need one."""

    time: Optional[str] = None
    memory: Optional[str] = None


def _exact(text: str, dimension: str) -> float:
    """Of a number with a unit the nearest double in seconds or bytes."""
    amount = parse(text)
    assert amount is not None
    return amount.measured_in(Fraction(TIMES["s"] if dimension == "time" else 1))


class _Row:
    """A row's cells, with what is wrong told by file, place and key."""

    def __init__(self, where: str, cells: Cells, units: _Units):
        self.where, self.cells, self.units = where, cells, units

    def text(self, name: str) -> str:
        value = self.cells.get(name)
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise Error(f"{self.where}: {name} is {shown(value)}; it must be a number or a text")
        return value.strip() if isinstance(value, str) else number_word(value)

    def count(self, name: str, least: int = 1) -> int:
        """0 where it is empty: any."""
        text = self.text(name)
        if text == "":
            return 0
        try:
            value = number_of(text)
        except ValueError:
            value = -1.0
        if not least <= value < 2**31 or value != int(value):
            raise Error(f"{self.where}: {name} is {shown(text)}; it must be an integer of {least} or more, or empty")
        return int(value)

    def amount(self, name: str, dimension: str) -> Optional[float]:
        """Seconds or bytes; None where it is empty."""
        text, unit = self.text(name), self.units.time if dimension == "time" else self.units.memory
        if text == "":
            return None
        try:
            value = number_of(text)
        except ValueError:
            amount_in(f"{self.where}: {name}", text, dimension)  # refuses what is none
            value = _exact(text, dimension)
        else:
            if value != 0 and unit is None:
                example = "26ms" if dimension == "time" else "512MB"
                raise Error(f"{self.where}: {name} is {text}, without a unit; write it as {example}, or put a line #units s B above the header")
            value = _exact(text + unit, dimension) if unit is not None and 0 < value < float("inf") else value
        if not 0 <= value < float("inf"):
            raise Error(f"{self.where}: {name} is {shown(text)}; it must be finite and 0 or more")
        return value


def _layer(row: _Row) -> MeasuredLayer:
    recompute = row.text("recompute").lower()
    if recompute not in ("", *RECOMPUTE):
        raise Error(f"{row.where}: recompute is {shown(recompute)}; it must be {', '.join(RECOMPUTE)} or empty")
    figures: Dict[str, Any] = {name: row.amount(name, "memory" if name.startswith("mem_") else "time") for name in COLUMNS[-5:]}
    sizes = {long: row.count(name) for name, long in SIZES.items()}
    if all(value is None for value in figures.values()):
        raise Error(f"{row.where}: it has no time and no memory; leave the row out")
    return MeasuredLayer(row.text("kind"), recompute or "none", **sizes, **figures)


def _collective(row: _Row, name: str) -> MeasuredCollective:
    if name not in COLLECTIVES:
        raise Error(f"{row.where}: there is no collective {shown(name)}; {nearest(name, COLLECTIVES) or 'there are ' + ', '.join(COLLECTIVES)}")
    size, time = row.amount("bytes", "bytes"), row.amount("time", "time")
    group, span = row.count("group", 2), row.count("span", 2)
    for key, value in (("bytes", size), ("group", group), ("time", time)):
        if not value:
            raise Error(f"{row.where}: a collective needs {key}, above 0; its cells are {', '.join(OF_COLLECTIVES)}")
    if 0 < span < group:
        raise Error(f"{row.where}: span is {span}; {group} devices are spread over {group} or more")
    return MeasuredCollective(name, size or 0.0, group, span, time or 0.0)


def _table(path: str, rows: Sequence[_Row]) -> LayerTable:
    layers: List[MeasuredLayer] = []
    collectives: List[MeasuredCollective] = []
    names: Tuple[List[str], List[str]] = ([], [])
    for row in rows:
        kind = row.text("kind")
        if kind == "":
            raise Error(f"{row.where}: kind is empty; it must be a layer of the model, or {_PREFIX}NAME")
        of_collective = kind.startswith(_PREFIX)
        if of_collective:
            collectives.append(_collective(row, kind[len(_PREFIX):].strip().lower()))
        else:
            layers.append(_layer(row))
        names[of_collective].append(row.where)
    if not rows:
        raise Error(f"{path}: the table has no rows")
    return LayerTable(layers, collectives, names)


# --- CSV ---

def _units_of(where: str, line: str) -> _Units:
    words = line.split()[1:]
    if len(words) != 2 or words[0] not in TIMES or words[1] not in BYTES:
        raise Error(f"{where}: {shown(line.strip())} must be #units TIME BYTES, such as #units s B; there are {', '.join(TIMES)} and "
                    f"{', '.join(BYTES)}")
    return _Units(words[0], words[1])


def _check_header(where: str, header: Sequence[str]) -> None:
    for number, name in enumerate(header):
        if name not in COLUMNS:
            raise Error(f"{where}: there is no column {shown(name)}; {nearest(name, COLUMNS) or 'columns are ' + ', '.join(COLUMNS)}")
        if name in header[:number]:
            raise Error(f"{where}: the column {name} is there twice")
    if not header or header[0] != "kind":
        raise Error(f"{where}: the first column must be kind; the header is {','.join(COLUMNS)}")


def _cells(where: str, header: Sequence[str], values: Sequence[str]) -> Cells:
    """Of a row. Those of a collective stand by their places."""
    names: Sequence[str] = header
    if values[0].startswith(_PREFIX):
        names = ("kind", *OF_COLLECTIVES)
    if any(values[len(names):]):
        raise Error(f"{where}: there are {len(values)} cells; a row of {values[0] or 'a layer'} has {', '.join(names)}")
    return dict(zip(names, values))


def _read_csv(path: str, text: str) -> LayerTable:
    units, header, rows = _Units(), None, []  # type: _Units, Optional[List[str]], List[_Row]
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    plain: List[Tuple[int, str]] = []
    for number, line in lines:
        if line.split()[0].lower() == "#units":
            units = _units_of(f"{path}, line {number}", line)
        elif not line.lstrip().startswith("#"):
            plain.append((number, line))
    for number, line in plain:
        where = f"{path}, line {number}"
        try:
            values = [value.strip() for value in next(csv.reader(io.StringIO(line), strict=True))]
        except (csv.Error, StopIteration) as error:
            raise Error(f"{where}: {error}") from None
        if header is None:
            header = [value.lower() for value in values]
            _check_header(where, header)
        else:
            rows.append(_Row(where, _cells(where, header, values), units))
    if header is None:
        raise Error(f"{path}: the table is empty; it begins with {','.join(COLUMNS)}")
    return _table(path, rows)


# --- JSON ---

def _read_json(path: str, text: str) -> LayerTable:
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Error(f"{path}: {error}") from None
    if not isinstance(values, list):
        raise Error(f"{path}: a table must be a list of rows, with the keys {', '.join(COLUMNS)}")
    rows = []
    for number, value in enumerate(values):
        where = f"{path}, row {number}"
        if not isinstance(value, dict):
            raise Error(f"{where} is {shown(value)}; it must be an object with a kind")
        known = ("kind", *OF_COLLECTIVES) if str(value.get("kind")).startswith(_PREFIX) else COLUMNS
        unknown = next((key for key in value if key not in known), None)
        if unknown is not None:
            raise Error(f"{where}: there is no key {shown(unknown)}; {nearest(str(unknown), known) or 'keys are ' + ', '.join(known)}")
        rows.append(_Row(where, value, _Units("s", "B")))
    return _table(path, rows)


def layer_table_of(text: str, name: str = "the table") -> LayerTable:
    """A table from its text: CSV with the header kind,tp,cp,ep,etp,micro_batch,seq,recompute,forward_time,backward_input_time,
    backward_weight_time,mem_forward,mem_static, or JSON with a list of the same keys. An empty size means any size; an empty figure was not
    measured. Numbers have units; in JSON, and after a line #units, units may be left out. Rows of collectives are
    collective:NAME,bytes,group,span,time. Raises ppsched.Error with name, place and key.
    text: the table. name: what messages call it.

        table = ppsched.layer_table_of("kind,tp,forward_time\\ndense,8,6.1ms\\n")
        print(table)
    """
    return _read_json(name, text) if text.lstrip()[:1] in ("[", "{") else _read_csv(name, text)


def read_layer_table(path: str) -> LayerTable:
    """Reads a layer table from a file, CSV or JSON, in the form of layer_table_of.

    path: the file. Errors: ppsched.Error with the file, place and key, also for a file that does not exist.

        pathlib.Path("table.csv").write_text("kind,tp,forward_time\\ndense,8,6.1ms\\n")
        print(ppsched.read_layer_table("table.csv"))
    """
    return layer_table_of(file_text(path, MODEL), path)


def layer_table_text(table: LayerTable) -> str:
    """The table as CSV, in seconds and bytes.

    table: as read_layer_table or layer_table_of reads it.

        print(ppsched.layer_table_text(ppsched.layer_table_of("kind,tp,forward_time\\ndense,8,6.1ms\\n")))
    """
    out = io.StringIO()
    out.write("#units s B\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for layer in table.layers:
        sizes = [getattr(layer, name) or "" for name in SIZES.values()]
        figures = [getattr(layer, name) for name in COLUMNS[-5:]]
        writer.writerow([layer.kind, *sizes, "" if layer.recompute == "none" else layer.recompute,
                         *("" if value is None else number_word(value) for value in figures)])
    for one in table.collectives:
        writer.writerow([_PREFIX + one.name, number_word(one.bytes), one.group, one.span or "", number_word(one.time)])
    return out.getvalue()
