# SPDX-License-Identifier: Apache-2.0
"""The data of one timeline in a page: the schedule with its times, memory, explanation and launch lines."""
import json
import math
import shlex
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence

from .._core._abi import Lowering
from .._core._library import Error
from .._core.candidate import Candidate
from .._core.launching import launch_row
from .._core.op import units
from .._core.plan import Plan
from .._core.scenarios import Factors, scenario_row
from .._core.timeline import Timeline
from .._core.window_trace import pair_times

_BINS = 40  # bins of the histogram of makespans

Ranks = Callable[[Sequence[int], str], Dict[str, Any]]  # for an order of devices and a runtime: {"ranks": a line}, or {"line": None, "reason"}


class Variation(NamedTuple):
    """How times vary in the scenarios of a page; see Schedule.scenarios."""

    scenarios: int = 1000
    seed: int = 0
    jitter: float = 0.0
    device_factors: Factors = ()
    message_jitter: float = 0.0
    link_factors: Factors = ()


def _critical_path(timeline: Timeline) -> List[List[int]]:
    """Devices and positions in their queues as in JSON, where an overlapped pair counts as one."""
    places = [{index: place for place, (_, index, _) in enumerate(units(queue))} for queue in timeline.schedule.queues]
    return [[op.device, places[op.device][op.position]] for op in timeline.critical_path]


def _finite(numbers: List[float]) -> List[Optional[float]]:
    return [number if math.isfinite(number) else None for number in numbers]


def _explained(timeline: Timeline) -> Dict[str, Any]:
    """The critical path and the slack, if the library computes them."""
    try:
        return {"critical": _critical_path(timeline), "slack": {"devices": _finite(timeline.slack_by_device),
                                                                 "stages": _finite(timeline.slack_by_stage)}}
    except Error:
        return {}


def _histogram(makespans: List[float]) -> Dict[str, Any]:
    low, high = min(makespans), max(makespans)
    counts = [0] * _BINS
    for makespan in makespans:
        counts[min(_BINS - 1, int((makespan - low) / (high - low) * _BINS)) if high > low else 0] += 1
    return {"from": low, "to": high, "counts": counts}


def _scenarios(timeline: Timeline, variation: Optional[Variation]) -> Dict[str, Any]:
    if variation is None:
        return {}
    made = timeline.schedule.scenarios(*variation[:1], **dict(list(variation._asdict().items())[1:]))
    return {"scenarios": {**scenario_row(made), "histogram": _histogram(made.makespans)}}


def _windows(timeline: Timeline) -> Dict[str, Any]:
    """Those in overlapped pairs, by stages and the kind of the backward, B or I: of what, channel, and start and end as shares of the pair."""
    found = pair_times(timeline)
    channels = list(dict.fromkeys(window.channel for pair in found.values() for window in pair.windows))
    pairs = [{"forward": forward, "backward": backward, "kind": kind.name,
              "windows": [[window.of, channels.index(window.channel), window.start / pair.time, window.end / pair.time] for window in pair.windows]}
             for (forward, backward, kind), pair in found.items() if pair.time > 0]
    return {"windows": {"channels": channels, "pairs": pairs}} if pairs else {}


def drawn(candidate: Candidate, timeline: Timeline) -> Dict[str, Any]:
    limits = [figures.memory_limit for figures in timeline.device_metrics]
    return {"rank": candidate.rank, "schedule": json.loads(timeline.export("json")),
            "memory": [[list(point) for point in timeline.memory(device)] for device in range(timeline.schedule.devices)],
            "memory_limits": _finite(limits), **_windows(timeline), **_explained(timeline)}


def _layers(plan: Plan, candidate: Candidate, timeline: Timeline) -> Dict[str, Any]:
    """The layers of each stage, and its device."""
    if plan.layers is None:
        return {}
    return {"split": [{"stage": row["stage"], "device": timeline.schedule.device_of(row["stage"]), "layers": row["layers"],
                       "recompute": row["recompute"]} for row in plan.layers.rows(plan.split(candidate))]}


def _command(plan: Plan, candidate: Candidate) -> Dict[str, str]:
    """The command that builds the schedule again; empty for a candidate of the caller's own function."""
    return {} if candidate.number in plan._own else {"command": shlex.join(plan.command(candidate))}


def _in_order(candidate: Candidate, launch: Dict[str, Any], ranks: Optional[Ranks]) -> Dict[str, Any]:
    """The launch lines, and which device stands in each place if that is not its number."""
    order = candidate.device_order
    if order is None or list(order) == sorted(order):
        return {"launch": launch}
    if ranks is not None:
        launch = {name: {**one, **ranks(order, name)} if one["line"] is not None else one for name, one in launch.items()}
    return {"launch": launch, "device_order": list(order)}


def timeline_row(plan: Plan, candidate: Candidate, timeline: Timeline, csv: Optional[str], variation: Optional[Variation],
                 ranks: Optional[Ranks] = None) -> Dict[str, Any]:
    is_lowered = plan.lowering != Lowering.NONE
    schedule = plan.schedule(candidate) if is_lowered else timeline.schedule  # runtimes lower it themselves
    order = {"order": [[token for token, _, _ in units(queue)] for queue in schedule.queues]} if is_lowered else {}
    return {**drawn(candidate, timeline), **order, **_in_order(candidate, launch_row(schedule, csv, plan.model(candidate)), ranks),
            **_layers(plan, candidate, timeline), **_command(plan, candidate), **_scenarios(timeline, variation)}
