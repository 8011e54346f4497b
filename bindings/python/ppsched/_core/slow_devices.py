# SPDX-License-Identifier: Apache-2.0
"""What is told about devices that are not all as fast as stated: their speeds, and the idle time that they cause."""
from .config import Config
from .timeline import Timeline

MOST = 16  # speeds in a line


def differs(config: Config) -> bool:
    """Whether the config has speeds, factors or overheads by device."""
    return any(len(values) > 0 for values in (config.device_speeds, config.device_scale, config.stage_scale, config.layer_types,
                                                    config.device_overhead))


def _speeds(config: Config) -> str:
    speeds = list(config.device_speeds)
    if not speeds:
        return ""
    shown = " ".join(f"{speed:.6g}" for speed in speeds[:MOST])
    return f"; speeds by place: {shown}{' ...' if len(speeds) > MOST else ''}"


def slow_devices_line(timeline: Timeline) -> str:
    """A line with its end; empty where all devices are as fast as stated."""
    if not differs(timeline.config):
        return ""
    parts = timeline.idle
    slow, whole = sum(idle.slow_devices for idle in parts), sum(sum(idle) for idle in parts)
    if not slow > 1e-9 * whole:
        return f"slow devices: they cause no idle time{_speeds(timeline.config)}\n"
    after = timeline.config.units.after_time
    return (f"slow devices: they cause {slow:.6g}{after} of {whole:.6g}{after} idle time ({slow / whole:.1%}), compared to the same order "
            f"on devices of the stated speed{_speeds(timeline.config)}\n")
