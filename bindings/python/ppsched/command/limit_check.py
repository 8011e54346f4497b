# SPDX-License-Identifier: Apache-2.0
"""Refuses schedules that exceed the memory limit."""
from .._core._library import Error
from .._core.rounding import at_least, at_most
from .._core.shown import printable
from .._core.timeline import Timeline


def check_limit(timeline: Timeline) -> None:
    """Raises if the schedule exceeds a memory limit, as it could not run."""
    device = timeline.metrics.limit_device
    if device is None:
        return
    figures = timeline.device_metrics[device]
    op = timeline.schedule.queues[device][figures.peak_position] if figures.peak_position is not None else "the start"
    unit = timeline.config.units.after_memory
    raise Error(f"{printable(timeline.schedule.name)}: device {device} needs {at_least(figures.peak_memory)}{unit} memory (at {op}), "
                f"over its limit {at_most(figures.memory_limit)}{unit}; ppsched pick looks for a schedule that needs less")
