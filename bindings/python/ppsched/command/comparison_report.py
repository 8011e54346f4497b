# SPDX-License-Identifier: Apache-2.0
"""A comparison of planned and measured times, as text and as JSON."""
import math
from typing import Any, Callable, Dict, Iterable, List, Sequence

from ..readers.comparison import LATE_DEVICE, LATE_INPUT, Comparison, Parting

Number = Callable[[float], str]  # writes one


def json_row(comparison: Comparison) -> Dict[str, Any]:
    """The comparison as JSON, with the names of Comparison."""
    ops = [{"device": row.device, "op": row.op, "planned": list(row.planned), "measured": list(row.measured), "lag": row.lag,
            "longer": row.longer} for row in comparison.ops]
    return {**comparison._asdict(), "ops": ops, "partings": [parting._asdict() for parting in comparison.partings],
            "origin": comparison.origin and comparison.origin._asdict(),
            "devices": [row._asdict() for row in comparison.devices],
            "stages": [{**row._asdict(), "kind": row.kind.name} for row in comparison.stages]}


def text(comparison: Comparison) -> str:
    """Tables of the ops, the devices and the stages, then the first op of each device that lags."""
    number = _number_format(comparison)
    share = comparison.measured_makespan / comparison.makespan - 1 if comparison.makespan else 0.0
    lines = [f"measured, {_mean_of(comparison.iterations)}: makespan {number(comparison.measured_makespan)} {comparison.unit}, "
             f"planned {number(comparison.makespan)} ({share:+.1%})", *comparison.notes, ""]
    lines += _table(("device", "op", "planned start", "end", "measured start", "end", "lag", "longer"),
                    [(row.device, row.op, *map(number, (*row.planned, *row.measured, row.lag, row.longer)))
                     for row in comparison.ops])
    lines += ["", *_table(("device", "planned busy", "idle", "end", "measured busy", "idle", "end"),
                          [(row.device, *map(number, (*row[1::2], *row[2::2]))) for row in comparison.devices])]
    lines += ["", *_table(("stage", "kind", "ops", "planned", "measured", "deviation per op", "minimum", "maximum"),
                          [(row.stage, row.kind.name, row.count, *map(number, row[3:])) for row in comparison.stages])]
    return "\n".join([*lines, "", *_parting_lines(comparison, number)]) + "\n"


def _mean_of(iterations: int) -> str:
    return "1 iteration" if iterations == 1 else f"mean of {iterations} iterations"


def _number_format(comparison: Comparison) -> Number:
    """Writes numbers with as many decimals as give the mean op three digits."""
    mean = math.fsum(row.planned.end - row.planned.start for row in comparison.ops) / len(comparison.ops)
    digits = min(9, max(0, 2 - math.floor(math.log10(mean)))) if mean > 0 else 3
    return lambda number: f"{number:.{digits}f}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> List[str]:
    """Columns aligned to the right."""
    cells: List[Sequence[str]] = [heads, *(tuple(map(str, row)) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    return ["  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in cells]


def _parting_lines(comparison: Comparison, number: Number) -> List[str]:
    if not comparison.partings:
        return [f"no op lags by more than {number(comparison.tolerance)}"]
    lines = [f"the first op of each device that lags by more than {number(comparison.tolerance)}:"]
    for parting in comparison.partings:
        begins = "; this is the first cause of all" if parting == comparison.origin else ""
        lines.append(f"device {parting.device}: {parting.op} lags by {number(parting.lag)}: {_reason(parting, number)}{begins}")
    return lines


def _reason(parting: Parting, number: Number) -> str:
    if parting.cause == LATE_DEVICE:
        return f"late device: the device was idle for {number(parting.amount)} although the input had arrived"
    if parting.cause == LATE_INPUT:
        return f"late input: {parting.other} of device {parting.other_device} ended {number(parting.amount)} late"
    return f"slow op: {parting.other} took {number(parting.amount)} longer than planned"
