# SPDX-License-Identifier: Apache-2.0
"""Custom schedules in addition to those of the library: as candidates of a plan, and on a page."""
import copy
import math
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ._abi import Kind, Objective, Placement, Runtime
from ._library import Error, InvalidSchedule, Refused
from .bound import lower_bound
from .candidate import Candidate
from .config import Config
from .rounding import at_least
from .schedule import Function, Schedule, generate
from .timeline import Timeline


class Own(NamedTuple):
    """A candidate made by the caller's function. If it is refused, the candidate has the reason."""

    candidate: Candidate
    config: Config
    schedule: Optional[Schedule]


def _fields(schedule: Schedule, number: int) -> Dict[str, Any]:
    return {"number": number, "rank": number, "strategy": schedule.name, "options": {}, "placement": schedule.placement.name.lower(),
            "chunks": -(-schedule.stages // schedule.devices), "stages": schedule.stages, "microbatches": schedule.microbatches}


def _lacks(timeline: Timeline) -> float:
    return max(0.0, max(device.peak_memory - device.memory_limit for device in timeline.device_metrics))


def _limit_of(timeline: Timeline) -> Optional[float]:
    """The memory limit of all devices: None if there is none, NaN if they differ."""
    limits = {device.memory_limit for device in timeline.device_metrics}
    if len(limits) > 1:
        return math.nan
    return None if math.isinf(limit := limits.pop()) else limit


def candidate_of(timeline: Timeline, number: int, objective: Objective) -> Candidate:
    """A candidate from a timeline, with the figures of plans; the bound is that of its placement."""
    schedule, metrics, units = timeline.schedule, timeline.metrics, timeline.config.units
    whole = metrics.span if objective == Objective.SPAN else metrics.makespan
    step, overshoot = whole / schedule.iterations, _lacks(timeline)
    is_over = metrics.limit_device is not None
    lack = f"device {metrics.limit_device} is over its limit; the largest overshoot of a device is {at_least(overshoot)}{units.after_memory}"
    return Candidate(**_fields(schedule, number), memory_limit=_limit_of(timeline), status="over limit" if is_over else "fits",
                     reason=lack if is_over else None, step_time=step, makespan=metrics.makespan, span=metrics.span,
                     bubble=metrics.bubble, peak_memory=metrics.peak_memory, peak_device=metrics.peak_device,
                     limit_device=metrics.limit_device, overshoot=overshoot, bound=_bound(timeline, objective, step), imbalance=_imbalance(timeline))


def _imbalance(timeline: Timeline) -> float:
    """How much less work devices have than the busiest one, as a share of the time of all devices."""
    busy, makespan = [device.busy for device in timeline.device_metrics], timeline.metrics.makespan
    return max(0.0, max(busy) - sum(busy) / len(busy)) / makespan if makespan > 0 else 0.0


def _bound(timeline: Timeline, objective: Objective, step: float) -> float:
    """The lower bound as in a plan, for an iteration that flushes; 0 if it does not apply to this schedule. With recompute or offload it
    ignores the memory limit."""
    schedule, config = timeline.schedule, copy.copy(timeline.config)
    if not schedule.flushes:
        return 0.0
    if config.mem_limit and any(op.kind in (Kind.RECOMPUTE, Kind.OFFLOAD) for queue in schedule.queues for op in queue):
        config._take_back("mem_limit")
    if schedule.placement != Placement.MAP:
        config._set_placement(schedule.placement)
    try:
        return min(lower_bound(config, objective).value, step)
    except Error:
        return 0.0


def evaluate_own(function: Function, config: Config, number: int, objective: Objective, runtime: Optional[Runtime],
                 time: Callable[[Schedule], Timeline]) -> Own:
    """Calls the function, and times its schedule with `time`. If the schedule is wrong, the candidate is refused; exceptions of the
    function are not caught."""
    name = getattr(function, "__name__", "custom")
    schedule: Optional[Schedule] = None
    try:
        schedule = generate(function, config)
        if schedule.forward_only != config.forward_only:
            has, wanted = ("only forwards", "backwards") if schedule.forward_only else ("backwards", "only forwards")
            return Own(_refused(name, config, number, f"the schedule has {has}, but the problem has {wanted}"), config, None)
        if runtime is not None:
            schedule.launch(runtime)
        return Own(candidate_of(time(schedule), number, objective), config, schedule)
    except (InvalidSchedule, Refused) as error:
        return Own(_refused(name, config, number, str(error)), config, schedule)


def _refused(name: str, config: Config, number: int, reason: str) -> Candidate:
    return Candidate(number, number, name, {}, config.placement.name.lower(), -(-config.stages // config.devices), config.stages, config.microbatches, None,
                     "refused", reason)


def _rounded(number: float) -> float:
    """Rounds to 40 bits, as the library does to compare."""
    mantissa, exponent = math.frexp(number)
    return math.ldexp(round(mantissa * 2**40), exponent - 40)


def _key(candidate: Candidate) -> Tuple[float, ...]:
    group = ("fits", "over limit", "refused").index(candidate.status)
    if candidate.overshoot is None or candidate.step_time is None or candidate.peak_memory is None:
        return (group,)
    overshoot = _rounded(candidate.overshoot) if group == 1 else 0.0
    return (group, overshoot, _rounded(candidate.step_time), _rounded(candidate.peak_memory))


def ranked(candidates: Sequence[Candidate]) -> List[Candidate]:
    """Ranks candidates as in plans; equal ones stay in order."""
    return [candidate._replace(rank=rank) for rank, candidate in enumerate(sorted(candidates, key=_key))]
