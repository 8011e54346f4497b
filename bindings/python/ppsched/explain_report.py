# SPDX-License-Identifier: Apache-2.0
"""Why a schedule takes as long as it does: for people and as JSON."""
import math
from typing import Any, Dict, Iterable, List, Optional, Union

from ._abi import Objective
from .explain import CriticalOp
from .timeline import Timeline

MOST_OPS = 60  # of the critical path in a text


def _finite(numbers: Iterable[float]) -> List[Optional[float]]:
    """JSON has no infinity; a device without ops has that slack."""
    return [number if math.isfinite(number) else None for number in numbers]


def explain_row(timeline: Timeline) -> Dict[str, Any]:
    """For JSON."""
    path = [{"device": op.device, "position": op.position, "op": str(op.op), "reason": op.reason.name.lower(), "start": op.start,
             "end": op.end} for op in timeline.critical_path]
    return {"critical_path": path,
            "slack_by_device": _finite(timeline.slack_by_device), "slack_by_stage": _finite(timeline.slack_by_stage),
            "sensitivities": {objective: [found._asdict() for found in timeline.sensitivities(objective)]
                              for objective in ("makespan", "span")},
            "relief": {objective: timeline.relief(objective)._asdict() for objective in ("makespan", "span")}}


def _path(timeline: Timeline) -> List[str]:
    """The critical path, a line for each stretch on one device."""
    path = timeline.critical_path
    lines: List[str] = []
    left_out = len(path) - MOST_OPS
    shown: List[Optional[CriticalOp]] = [*path] if left_out <= 0 else [*path[:MOST_OPS // 2], None, *path[-MOST_OPS // 2:]]
    device: Optional[int] = None
    for op in shown:
        if op is None:
            lines.append(f"  ... {left_out} more ...")
            device = None
        elif op.device != device:
            device = op.device
            lines.append(f"  device {device}: {op.op}")
        else:
            lines[-1] += f" {op.op}"
    return [f"critical path, {len(path)} ops:", *lines]


def _stages(timeline: Timeline, objective: Union[Objective, str]) -> List[str]:
    rows = [("stage", "device", timeline.config.units.heading("slack", "time"), "costs one more", "saves one less")]
    for stage, (slack, found) in enumerate(zip(timeline.slack_by_stage, timeline.sensitivities(objective))):
        rows.append((str(stage), str(timeline.schedule.device_of(stage)), f"{slack:g}", f"{found.more:g}", f"{found.less:g}"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]


def explain_text(timeline: Timeline, objective: Union[Objective, str] = "makespan") -> str:
    """Lines for people: the path, each stage, and which to relieve first."""
    relief = timeline.relief(objective)
    after = timeline.config.units.after_time
    advice = (f"relieve stage {relief.stage} first: {f'1{after}' if after else 'a unit'} less in each of its ops saves "
              f"{relief.less:g}{after}" if relief.less > 0 else
              "no stage alone makes it shorter: several ways through it are as long")
    question = f"what {f'1{after}' if after else 'a unit of time'} in each op of a stage does to the {objective}:"
    return "\n".join([*_path(timeline), question,
                      *_stages(timeline, objective), advice]) + "\n"
