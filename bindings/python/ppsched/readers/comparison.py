# SPDX-License-Identifier: Apache-2.0
"""Comparison of a plan with measured times: planned and measured time of each op, the first op that is late, and why."""
import math
from typing import Dict, Iterator, List, NamedTuple, Optional, Tuple

from .._core._abi import Kind, SenderWaits
from .._core._library import Error
from .._core.op import Op, units
from .._core.schedule import Schedule
from .._core.shown import shown
from .._core.timeline import Span, Timeline
from .._core.words import counted
from .profile import Profile
from .trace import ANNOTATIONS, COMPUTE, RANGES, Ops, ops_of_token

LATE_DEVICE, LATE_INPUT, SLOW_OP = "late device", "late input", "slow op"


class OpTimes(NamedTuple):
    """Planned and measured times of an op or an overlapped pair, counted from the first start of all ops. lag: how much later than planned
    it started; negative if earlier. longer: how much longer than planned it took; negative if shorter."""

    device: int
    op: str
    planned: Span
    measured: Span

    @property
    def lag(self) -> float:
        """How much later than planned it started; negative if earlier."""
        return self.measured.start - self.planned.start

    @property
    def longer(self) -> float:
        """How much longer than planned it took; negative if shorter."""
        return _length(self.measured) - _length(self.planned)


class Parting(NamedTuple):
    """The first op of a device that lags by more than the tolerance, and why.

    cause: "slow op" if `other`, an op before it on the device, took longer than planned; "late input" if its input `other` came late from
    `other_device`; "late device" if the device was free and the input had arrived. amount: how much longer the slow op took, how late the
    input was computed, or how long the device paused.
    """

    device: int
    op: str
    lag: float
    cause: str
    other: Optional[str]
    other_device: Optional[int]
    amount: float


class DeviceSum(NamedTuple):
    """Three figures of a device: its busy time; its idle time, counted until the last op on any device ends; and the end of its
    own last op."""

    device: int
    planned_busy: float
    measured_busy: float
    planned_idle: float
    measured_idle: float
    planned_end: float
    measured_end: float


class StageSum(NamedTuple):
    """Sums of the times of all ops of a stage and kind, without overlapped pairs. deviation, minimum and maximum are for single
    measured ops."""

    stage: int
    kind: Kind
    count: int  # type: ignore[assignment]  # replaces tuple.count
    planned: float
    measured: float
    deviation: float
    minimum: float
    maximum: float


class Comparison(NamedTuple):
    """A plan compared with the mean of its measured iterations.

    unit: unit of all times; ops: ops by device, in planned order; partings: for each late device its first late op; origin: the first cause
    of all, or None if no device is late; notes: remarks on the measurement.
    """

    unit: str
    iterations: int
    tolerance: float
    makespan: float
    measured_makespan: float
    ops: List[OpTimes]
    partings: List[Parting]
    origin: Optional[Parting]
    devices: List[DeviceSum]
    stages: List[StageSum]
    notes: List[str]

    def __repr__(self) -> str:
        origin = "" if self.origin is None else f", from {self.origin.op} on device {self.origin.device} on"
        return (f"<ppsched.Comparison of {counted(len(self.ops), 'op')} on {counted(len(self.devices), 'device')}: makespan "
                f"{self.makespan:g}, measured {self.measured_makespan:g} {self.unit}; {counted(len(self.partings), 'device')} "
                f"{'lags' if len(self.partings) == 1 else 'lag'}{origin}>")


def compare_run(timeline: Timeline, profile: Profile, tolerance: Optional[float] = None) -> Comparison:
    """Compares a timeline of one iteration (the plan) with a profile from traces of the same schedule, in the same unit of time.

    timeline: the plan. profile: made by Profile.from_traces.
    tolerance: how much later than planned an op may start before it counts as late (default: half of the plan's mean op time). Sends and
    receives are left out, because traces show when they were posted, not when the data moved. Errors: ppsched.Error if schedules, sizes or units differ.

        profile = ppsched.Profile.from_traces("rank0.json", "rank1.json")
        print(ppsched.compare_run(ppsched.generate("zbv", profile.config()).evaluate(), profile))
    """
    if not isinstance(timeline, Timeline) or not isinstance(profile, Profile):
        raise Error(f"compare a ppsched.Timeline with a ppsched.Profile, not {shown(timeline)} with {shown(profile)}")
    _check_sizes(timeline.schedule, profile)
    _check_units(timeline.config.units.time, profile)
    queues = _aligned(timeline, profile)
    rows = [row for queue in queues for row in queue]
    if tolerance is None:
        tolerance = math.fsum(_length(row.planned) for row in rows) / len(rows) / 2
    if isinstance(tolerance, bool) or not isinstance(tolerance, (int, float)) or not 0 <= tolerance < math.inf:
        raise Error(f"tolerance is {shown(tolerance)}; it must be a finite number, at least 0")
    inputs = _Inputs(timeline, rows)
    partings = [parting for queue in queues if (parting := _parting(queue, inputs, tolerance)) is not None]
    ends = max(row.planned.end for row in rows), max(row.measured.end for row in rows)
    notes = [*_source_notes(profile), *_order_notes(queues, ends[1]), *_clock_notes(rows, inputs, ends[1])]
    devices = [_device_sum(device, queue, *ends) for device, queue in enumerate(queues)]
    return Comparison(profile.units.time or "", profile.iterations, tolerance, *ends, rows, partings,
                      _origin(partings, rows), devices, _stage_sums(rows, profile), notes)


def _length(span: Span) -> float:
    return span.end - span.start


def _check_units(planned: Optional[str], profile: Profile) -> None:
    if planned is not None and planned != profile.units.time:
        raise Error(f"the plan's times are in {planned}, those of {profile.name} in {profile.units.time}; read them with "
                    f"time_unit={shown(planned)}")


def _check_sizes(schedule: Schedule, profile: Profile) -> None:
    if not profile.repetitions:
        raise Error(f"{profile.name}: a profile file does not say when ops ran; give traces")
    for what in ("stages", "devices", "microbatches"):
        planned, measured = getattr(schedule, what), getattr(profile, what)
        if planned != measured:
            raise Error(f"{profile.name}: the traces have {measured} {what}, the plan has {planned}")
    if schedule.iterations != 1:
        raise Error(f"the plan has {schedule.iterations} iterations; compare one")


def _aligned(timeline: Timeline, profile: Profile) -> List[List[OpTimes]]:
    """Rows per device; planned and measured times are each counted from their first start."""
    measured = _mean_spans(profile)
    queues = [[(token, spans[index]) for token, index, _ in units(queue) if queue[index].kind in COMPUTE]
              for queue, spans in zip(timeline.schedule.queues, timeline.spans)]
    first = min(span.start for queue in queues for _, span in queue)
    rows: List[List[OpTimes]] = []
    for device, queue in enumerate(queues):
        rows.append([])
        for token, span in queue:
            ran = measured.pop(ops_of_token(token), None)
            if ran is None:
                raise Error(f"{profile.name}: {token} is planned but was not measured; the schedules differ")
            if ran[0] != device:
                raise Error(f"{profile.name}: {token} was measured on device {ran[0]}, but is planned on device {device}")
            rows[-1].append(OpTimes(device, token, Span(span.start - first, span.end - first), ran[1]))
    for ops in measured:
        how = "in a pair" if len(ops) == 2 else "alone"
        raise Error(f"{profile.name}: {ops[0]} was measured {how}, but it is different in the plan; the schedules differ")
    return rows


def _mean_spans(profile: Profile) -> Dict[Ops, Tuple[int, Span]]:
    """Device and mean span of each measured op, counted from the first start of its iteration."""
    count, every = profile.iterations, profile.repetitions
    firsts = [min(times[iteration].start for times in every.values()) for iteration in range(count)]
    spans: Dict[Ops, Tuple[int, Span]] = {}
    for ops, times in every.items():
        start = math.fsum(measured.start - first for measured, first in zip(times, firsts)) / count
        spans[ops] = times[0].device, Span(start, start + math.fsum(measured.duration for measured in times) / count)
    return spans


class _Inputs:
    """Inputs of ops that come from other devices."""

    def __init__(self, timeline: Timeline, rows: List[OpTimes]) -> None:
        self._config, self._last = timeline.config, timeline.schedule.stages - 1
        self._rows = {op: row for row in rows for op in ops_of_token(row.op)}

    def of(self, row: OpTimes) -> Iterator[Tuple[float, OpTimes]]:
        """Yields (arrival time, row of the op that computed it) for each input."""
        for op in ops_of_token(row.op):
            source = self._source(op)
            if source is not None and source.device != row.device:
                yield source.measured.end + self._delay(op, source.device * self._config.devices + row.device), source

    def latest(self, row: OpTimes) -> Tuple[float, Optional[OpTimes]]:
        latest: Tuple[float, Optional[OpTimes]] = (-math.inf, None)
        for arrival in self.of(row):
            latest = arrival if arrival[0] > latest[0] else latest
        return latest

    def held(self, row: OpTimes, free: float) -> float:
        """How long the device, free at `free`, waits in the plan for the transfer of its own send."""
        if self._config.sender_waits == SenderWaits.NEVER:
            return 0.0
        planned = (source.planned.end + arrival - source.measured.end for arrival, source in self.of(row))
        return max(0.0, row.planned.start - max(free, *planned, -math.inf))

    def _source(self, op: Op) -> Optional[OpTimes]:
        if op.kind == Kind.F:
            return self._rows.get(Op(op.stage - 1, Kind.F, op.microbatch))
        if op.kind == Kind.W or op.stage == self._last:
            return None  # the input is from the same device
        after = (Op(op.stage + 1, kind, op.microbatch) for kind in (Kind.B, Kind.I))
        return next((self._rows[each] for each in after if each in self._rows), None)

    def _delay(self, op: Op, edge: int) -> float:
        config = self._config
        if op.kind == Kind.F:
            size = _value(config.activation_bytes, op.stage - 1, 0.0)
        else:
            size = _value(config.gradient_bytes, op.stage + 1, _value(config.activation_bytes, op.stage, 0.0))
        return _value(config.p2p_time, edge, 0.0) + size / _value(config.p2p_bandwidth, edge, math.inf)


def _value(values: List[float], index: int, default: float) -> float:
    return default if not values else values[0] if len(values) == 1 else values[index]


def _parting(queue: List[OpTimes], inputs: _Inputs, tolerance: float) -> Optional[Parting]:
    """The first row that lags too much, and why. A row waits for its device, which is busy, or for its input. The rows that ran
    back to back before it are looked at together, up to the last one that waited for its input."""
    position = next((position for position, row in enumerate(queue) if row.lag > tolerance), None)
    if position is None:
        return None
    row, longer, paused = queue[position], 0.0, 0.0
    slowest: Optional[OpTimes] = None
    while True:
        free = queue[position - 1].measured.end if position else 0.0
        held = inputs.held(queue[position], queue[position - 1].planned.end if position else 0.0)
        arrival, source = inputs.latest(queue[position])
        paused += queue[position].measured.start - max(free, arrival) - held
        if position == 0 or arrival > free:
            break
        position -= 1
        longer += queue[position].longer
        slowest = queue[position] if slowest is None or queue[position].longer > slowest.longer else slowest
    late = arrival - queue[position].planned.start if arrival > free else 0.0
    if longer >= max(late, paused) and slowest is not None:
        return Parting(row.device, row.op, row.lag, SLOW_OP, slowest.op, row.device, slowest.longer)
    if late >= paused and source is not None:
        amount = source.measured.end - source.planned.end
        return Parting(row.device, row.op, row.lag, LATE_INPUT, source.op, source.device, amount)
    return Parting(row.device, row.op, row.lag, LATE_DEVICE, None, None, paused)


def _origin(partings: List[Parting], rows: List[OpTimes]) -> Optional[Parting]:
    """The earliest parting that is not caused by another device; if there is none, the earliest."""
    starts = {(row.device, row.op): row.measured.start for row in rows}
    own = [parting for parting in partings if parting.cause != LATE_INPUT] or partings
    return min(own, key=lambda parting: starts[parting.device, parting.op]) if own else None


def _device_sum(device: int, queue: List[OpTimes], end: float, measured_end: float) -> DeviceSum:
    spans = [row.planned for row in queue], [row.measured for row in queue]
    planned, measured = (math.fsum(map(_length, column)) for column in spans)
    planned_end, own_end = (max((span.end for span in column), default=0.0) for column in spans)
    return DeviceSum(device, planned, measured, end - planned, measured_end - measured, planned_end, own_end)


def _stage_sums(rows: List[OpTimes], profile: Profile) -> List[StageSum]:
    groups: Dict[Tuple[int, Kind], List[OpTimes]] = {}
    for row in rows:
        ops = ops_of_token(row.op)
        if len(ops) == 1:
            groups.setdefault((ops[0].stage, ops[0].kind), []).append(row)
    spreads = {(spread.stage, spread.kind): spread for spread in profile.spread}
    return [StageSum(stage, kind, len(group), math.fsum(_length(row.planned) for row in group),
                     math.fsum(_length(row.measured) for row in group), *spreads[stage, kind][-3:])
            for (stage, kind), group in sorted(groups.items())]


def _source_notes(profile: Profile) -> List[str]:
    """Source of the times, and what this source leaves out or adds."""
    notes = [f"times of {'/'.join(kind.name for kind in sorted(kinds))} come from {source}"
             for source, kinds in profile.sources.items()]
    if RANGES in profile.sources:
        notes.append("CPU ranges include the wait for an op's input")
    if set(COMPUTE[1:]) & profile.sources.get(ANNOTATIONS, set()):
        notes.append("GPU annotations of a backward do not include kernels launched by other threads")
    return notes


def _order_notes(queues: List[List[OpTimes]], makespan: float) -> Iterator[str]:
    for queue in queues:
        for row, after in zip(queue, queue[1:]):
            if after.measured.start < row.measured.start - 1e-9 * makespan:
                yield f"device {row.device} ran {after.op} before {row.op}, but the plan has {row.op} first"
                break


def _clock_notes(rows: List[OpTimes], inputs: _Inputs, makespan: float) -> Iterator[str]:
    """If an op starts before its input has ended, the clocks of the two devices differ."""
    worst: Dict[Tuple[int, int], Tuple[float, OpTimes, OpTimes]] = {}
    for row in rows:
        for _, source in inputs.of(row):
            early, edge = source.measured.end - row.measured.start, (source.device, row.device)
            if early > 1e-9 * makespan and (edge not in worst or early > worst[edge][0]):
                worst[edge] = early, row, source
    for (sender, receiver), (early, row, source) in sorted(worst.items()):
        yield (f"{row.op} started {early:g} before its input {source.op} ended: the clocks of devices {sender} and {receiver} "
               "differ by at least that much")
