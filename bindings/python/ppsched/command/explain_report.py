# SPDX-License-Identifier: Apache-2.0
"""What bounds the time of a schedule: as text and as JSON."""
import itertools
import math
from typing import Any, Dict, Iterable, List, Optional, Union

from .._core._abi import Kind, Objective
from .._core.slow_devices import slow_devices_line
from .._core.timeline import Timeline
from .._core.words import counted

# Limits of the text.
MOST_OPS = 8         # of a stretch of the critical path
MOST_STRETCHES = 11
MOST_STAGES = 14


def _finite(numbers: Iterable[float]) -> List[Optional[float]]:
    """Replaces infinity, the slack of a device without ops, by None, as JSON has no infinity."""
    return [number if math.isfinite(number) else None for number in numbers]


def _keeps_less(timeline: Timeline) -> bool:
    """Whether ops save activation memory. Such schedules have no sensitivities."""
    kinds = {Kind.RECOMPUTE, Kind.OFFLOAD, Kind.RELOAD}
    return any(op.kind in kinds for queue in timeline.schedule.queues for op in queue)


def explain_row(timeline: Timeline) -> Dict[str, Any]:
    """For JSON; without sensitivities if ops save activation memory."""
    objectives = () if _keeps_less(timeline) else ("makespan", "span")
    path = [{"device": op.device, "position": op.position, "op": str(op.op), "reason": op.reason.name.lower(), "start": op.start,
             "end": op.end} for op in timeline.critical_path]
    return {"critical_path": path,
            "idle_of_slow_devices": [idle.slow_devices for idle in timeline.idle],
            "slack_by_device": _finite(timeline.slack_by_device), "slack_by_stage": _finite(timeline.slack_by_stage),
            "sensitivities": {objective: [found._asdict() for found in timeline.sensitivities(objective)]
                              for objective in objectives},
            "relief": {objective: timeline.relief(objective)._asdict() for objective in objectives}}


def _stretches(timeline: Timeline) -> List[str]:
    """The critical path, one line for each stretch on one device."""
    stretches = [(device, [str(op.op) for op in ops]) for device, ops in itertools.groupby(timeline.critical_path, lambda op: op.device)]
    return [f"  device {device}: {_few(ops)}" for device, ops in stretches]


def _few(ops: List[str]) -> str:
    if len(ops) <= MOST_OPS:
        return " ".join(ops)
    return f"{' '.join(ops[:MOST_OPS // 2])} ... {ops[-1]} ({len(ops)} ops)"


def _shortened(lines: List[str], most: int, what: str) -> List[str]:
    """The first and the last lines, at most `most`."""
    if len(lines) <= most:
        return lines
    first, last = (most - 1) // 2, most - 1 - (most - 1) // 2
    return [*lines[:first], f"  ... {len(lines) - first - last} more {what} ...", *lines[-last:]]


def _stages(timeline: Timeline, objective: Union[Objective, str]) -> List[str]:
    """The stages in which more time costs most, in ascending order."""
    units, sensitivities = timeline.config.units, timeline.sensitivities(objective)
    rows = [("stage", "device", units.heading("slack", "time"), "longer by", "shorter by")]
    shown = sorted(sorted(range(len(sensitivities)), key=lambda stage: -sensitivities[stage].more)[:MOST_STAGES])
    slack = timeline.slack_by_stage
    for stage in shown:
        found = sensitivities[stage]
        rows.append((str(stage), str(timeline.schedule.device_of(stage)), f"{slack[stage]:g}", f"{found.more:g}", f"{found.less:g}"))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows]
    others = [sensitivities[stage].more for stage in range(len(sensitivities)) if stage not in set(shown)]
    if others:
        lines.append(f"  {counted(len(others), 'other stage')}: longer by at most {max(others):g}")
    return lines


def _answer(timeline: Timeline, objective: Union[Objective, str]) -> str:
    """One sentence: which stage bounds the step."""
    relief = timeline.relief(objective)
    after = timeline.config.units.after_time
    unit = f"1{after}" if after else "1 unit"
    if not relief.less > 0:
        return f"no single stage bounds the {objective}: several critical paths are equally long"
    more = timeline.sensitivities(objective)[relief.stage].more
    return (f"stage {relief.stage} on device {timeline.schedule.device_of(relief.stage)} bounds the {objective}: {unit} more in each of its "
            f"ops adds {more:g}{after} to the {objective}, {unit} less subtracts {relief.less:g}{after}")


MOST_WAITING = 4  # devices in a line


def _waits(timeline: Timeline) -> str:
    """How long devices wait for copies, the longest wait first."""
    waits = [(idle.reload, device) for device, idle in enumerate(timeline.idle) if idle.reload > 0]
    if not waits:
        return "no device waits for a copy"
    after = timeline.config.units.after_time
    listed = ", ".join(f"device {device} for {wait:g}{after}" for wait, device in sorted(waits, key=lambda wait: (-wait[0], wait[1]))[:MOST_WAITING])
    others = f", and {counted(len(waits) - MOST_WAITING, 'other device')} for less" if len(waits) > MOST_WAITING else ""
    return f"waiting for reloads or unfinished offloads: {listed}{others}"


def explain_text(timeline: Timeline, objective: Union[Objective, str] = "makespan") -> str:
    """At most 30 lines for people: what bounds the step, the critical path, and what time in each stage costs."""
    after = timeline.config.units.after_time
    stretches, slow = _stretches(timeline), slow_devices_line(timeline).splitlines()
    if _keeps_less(timeline):
        return "\n".join([f"critical path, {len(timeline.critical_path)} ops:", *_shortened(stretches, MOST_STRETCHES, "stretches"),
                          _waits(timeline), *slow,
                          "for schedules with recompute or offload, the effect of longer or shorter ops is not computed"]) + "\n"
    question = f"change of the {objective} if each op of a stage takes {f'1{after}' if after else '1 unit of time'} longer or shorter:"
    return "\n".join([_answer(timeline, objective), f"critical path, {len(timeline.critical_path)} ops:",
                      *_shortened(stretches, MOST_STRETCHES - len(slow), "stretches"), *slow, question, *_stages(timeline, objective)]) + "\n"
