# SPDX-License-Identifier: Apache-2.0
"""What each device holds in memory at its peak: as text and as JSON."""
from itertools import groupby
from typing import Any, Dict, List, Optional, Tuple

from .._core.memory import CAUSES, MemoryItem
from .._core.timeline import Timeline
from .._core.words import counted


def _peak_op(timeline: Timeline, device: int) -> Optional[str]:
    position = timeline.device_metrics[device].peak_position
    return None if position is None else str(timeline.schedule.queues[device][position])


def memory_rows(timeline: Timeline) -> List[Dict[str, Any]]:
    """For JSON, one row per device."""
    return [{"device": device, "peak_memory": figures.peak_memory, "peak_time": figures.peak_time,
             "op": _peak_op(timeline, device), "by_cause": timeline.peak_by_cause(device),
             "items": [item._asdict() for item in timeline.peak_items(device)]}
            for device, figures in enumerate(timeline.device_metrics)]


def _runs(numbers: List[int]) -> str:
    """Shortens [0, 1, 2, 5] to 0-2 5."""
    runs: List[List[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return " ".join(f"{run[0]}" if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _place(item: MemoryItem) -> Tuple[int, int]:
    """Cause and stage of an item, by which items are sorted and joined."""
    return CAUSES.index(item.cause), -1 if item.stage is None else item.stage


def _line(items: List[MemoryItem]) -> str:
    """The line for all items of one cause and stage."""
    stage = items[0].stage
    words = f"  {items[0].cause:<12}" + f"{sum(item.memory for item in items):g}".rjust(12)
    microbatches = sorted(item.microbatch for item in items if item.microbatch is not None)
    if stage is not None:
        words += f"  stage {stage}"
    if microbatches:
        words += f": {counted(len(microbatches), 'microbatch', 'es')}, {_runs(microbatches)}"
    return words


def _device_lines(timeline: Timeline, device: int) -> List[str]:
    figures, op = timeline.device_metrics[device], _peak_op(timeline, device)
    units = timeline.config.units
    when = "always" if op is None else f"at time {figures.peak_time:g}{units.after_time} with {op}"
    items = sorted((item for item in timeline.peak_items(device) if item.memory != 0), key=_place)
    limit = "" if figures.memory_limit == float("inf") else f" of {figures.memory_limit:g}{units.after_memory}"
    return [f"device {device}: {figures.peak_memory:g}{units.after_memory}{limit}, {when}",
            *(_line(list(found)) for _, found in groupby(items, _place))]


def memory_text(timeline: Timeline) -> str:
    """Lines for people: the peak of each device, and what it holds then, by cause and stage."""
    devices = range(timeline.schedule.devices)
    heading = timeline.config.units.heading("memory at each device's peak", "memory")
    return "\n".join([f"{heading}:", *(line for device in devices for line in _device_lines(timeline, device))]) + "\n"
