# SPDX-License-Identifier: Apache-2.0
"""--measured of replan and pick: factors by device and kind of op, from the measured times of a run whose split is known."""
import argparse
import math
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core._abi import Kind
from .._core._library import Error
from .._core.config import Config
from .._core.layer_words import OF_LAYERS
from .._core.layers import LayerSplit, Split, config_from_layers
from .._core.schedule import generate
from .._core.timeline import Timeline
from .._core.units import Units
from .._core.words import counted
from .layer_options import layers_of
from .number_options import whole
from .problem_values import make_config
from .usage import UsageError

if TYPE_CHECKING:
    from ..readers.profile import Profile

KINDS = (Kind.F, Kind.B, Kind.I, Kind.W)
Times = Dict[Tuple[int, Kind], float]  # of a stage's ops of a kind


class Factor(NamedTuple):
    """How much longer a device takes than stated. times: by kind of op, for those that were measured; spread: their relative standard
    deviation; count: samples."""

    device: int
    times: Dict[Kind, float]
    spread: Dict[Kind, float]
    count: int  # type: ignore[assignment]  # replaces tuple.count


def add_measured_run_argument(parser: argparse.ArgumentParser, needs_split: bool) -> None:
    parser.add_argument("--measured", nargs="+", metavar="FILE", dest="measured_run",
                        help="a profile file of the running job, or the PyTorch traces of all its ranks. Each device gets a factor for each "
                             "kind of op: the measured time divided by the given time")
    if needs_split:
        parser.add_argument("--measured-split", nargs="+", type=whole, metavar="N",
                            help="with --measured: number of layers of each stage in the measured run. The run must have had one stage per device, in the order of --device-order")


def _spans(timeline: Timeline) -> Times:
    """What an op of each stage and kind takes by the problem, outside of overlapped pairs."""
    found: Times = {}
    for queue, spans in zip(timeline.schedule.queues, timeline.spans):
        pairs = [False, *(op.overlapped for op in queue)]  # whether the op before is the first of a pair
        for op, span, is_second in zip(queue, spans, pairs):
            if op.kind in KINDS and not op.overlapped and not is_second:
                found.setdefault((op.stage, op.kind), span.end - span.start)
    return found


def _with_halves(times: Times, kind: Kind, stage: int) -> Optional[float]:
    """The time of a kind; a B that is not there is I + W."""
    if (stage, kind) in times:
        return times[stage, kind]
    if kind == Kind.B and (stage, Kind.I) in times and (stage, Kind.W) in times:
        return times[stage, Kind.I] + times[stage, Kind.W]
    return None


def _read(values: Mapping[str, Any], units: Units) -> Tuple["Profile", float]:
    """The profile, and what one of its units of time is in those of the problem."""
    from ..readers.profile import Profile  # takes long to load
    profile = Profile.read(*values["measured_run"], time_unit=values["time_unit"], warmup=values["warmup"])
    own = profile.units.time
    if units.time is None or own is None:
        if own is not None and not profile.repetitions or units.time is not None:
            raise Error(f"{profile.name}: {'the profile' if own else 'the problem'} has a unit of time and {'the layers have' if own else 'the profile has'} "
                        "none; give both, such as --forward-times 5ms")
        return profile, 1.0
    return profile, profile.units.microseconds / units.microseconds


def _check(profile: "Profile", timeline: Timeline) -> None:
    """Whether the run had these stages on these devices."""
    schedule = timeline.schedule
    if profile.stages != schedule.stages:
        raise Error(f"{profile.name}: the measured run has {counted(profile.stages, 'stage')}, the split {schedule.stages}")
    if profile.devices is not None and profile.devices != schedule.devices:
        raise Error(f"{profile.name}: the measured run has {counted(profile.devices, 'device')}, the running job {schedule.devices}")
    for ops, times in profile.repetitions.items():
        own = schedule.device_of(ops[0].stage, ops[0].microbatch or 0)
        if times[0].device != own:
            raise Error(f"{profile.name}: stage {ops[0].stage} ran on device {times[0].device}, but {schedule.name} has it on device {own}; give the "
                        "strategy of the run")


class _Sums:
    """Planned and measured times of a device's stages, summed by kind."""

    def __init__(self) -> None:
        self.planned: Dict[Kind, float] = {}
        self.measured: Dict[Kind, float] = {}
        self.squares: Dict[Kind, float] = {}
        self.count = 0

    def add(self, kind: Kind, planned: float, measured: float, deviation: float, count: int) -> None:
        for sums, value in ((self.planned, planned), (self.measured, measured), (self.squares, deviation * deviation)):
            sums[kind] = sums.get(kind, 0.0) + value
        self.count += count

    def factor(self, device: int, name: str) -> Factor:
        kinds = [kind for kind in KINDS if self.planned.get(kind, 0.0) > 0]
        wrong = next((kind for kind in kinds if not self.measured[kind] > 0), None)
        if wrong is not None:
            raise Error(f"{name}: device {device} takes no time for {wrong.name}, which takes some by the layers")
        return Factor(device, {kind: self.measured[kind] / self.planned[kind] for kind in kinds},
                      {kind: math.sqrt(self.squares[kind]) / self.measured[kind] for kind in kinds}, self.count)


def measured_factors(timeline: Timeline, order: Sequence[int], values: Mapping[str, Any]) -> List[Factor]:
    """The factors of the devices that ran a schedule. timeline: of the problem with the split that ran, devices by place; order: the device in
    each place."""
    from ..readers.profile import reduced  # takes long to load
    profile, unit = _read(values, timeline.config.units)
    _check(profile, timeline)
    planned, sums = _spans(timeline), [_Sums() for _ in range(timeline.schedule.devices)]
    measured: Times = {(stage, kind): reduced(samples, values["statistic"]) * unit
                       for kind, stages in profile.samples.items() for stage, samples in enumerate(stages) if samples}
    deviations = {(row.stage, row.kind): (row.deviation * unit, row.count) for row in profile.spread}
    for stage in range(profile.stages):
        device = timeline.schedule.device_of(stage) or 0
        for kind in KINDS:
            by_plan, by_run = _with_halves(planned, kind, stage), _with_halves(measured, kind, stage)
            if by_plan is not None and by_run is not None:
                parts = [deviations[stage, one] for one in ((kind,) if (stage, kind) in measured else (Kind.I, Kind.W))]
                sums[device].add(kind, by_plan, by_run, math.sqrt(sum(one[0] ** 2 for one in parts)), sum(one[1] for one in parts))
    return [one.factor(order[place], profile.name) for place, one in enumerate(sums)]


def _of_kind(factor: Factor, kind: Kind) -> float:
    """That of the kind; else that of the backward as a whole or of its parts, else that of F."""
    parts = [factor.times[one] for one in (Kind.I, Kind.W) if one in factor.times]
    other = factor.times.get(Kind.B, sum(parts) / len(parts) if parts else factor.times.get(Kind.F, 1.0))
    return factor.times.get(kind, other)


def scaled(config: Config, factors: Sequence[Factor]) -> List[float]:
    """device_scale of all devices: that of the config times the factors. Devices that were not measured keep theirs."""
    own = list(config.device_scale) or [1.0]
    own = own * 4 * config.devices if len(own) == 1 else own
    for factor in factors:
        for number, kind in enumerate(KINDS):
            own[number * config.devices + factor.device] *= _of_kind(factor, kind)
    return own


def factor_rows(factors: Sequence[Factor]) -> List[Dict[str, Any]]:
    """For JSON."""
    return [{"device": one.device, "samples": one.count, "factors": {kind.name: value for kind, value in one.times.items()},
             "spread": {kind.name: value for kind, value in one.spread.items()}} for one in sorted(factors)]


def factor_lines(factors: Sequence[Factor]) -> List[str]:
    lines = []
    for one in sorted(factors):
        parts = " ".join(f"{kind.name} {value:.4g}{f' (spread {one.spread[kind]:.1%})' if one.spread[kind] > 0 else ''}" for kind, value in one.times.items())
        lines.append(f"device {one.device} takes {parts} times as long as stated")
    return lines


def _of_places(values: Sequence[float], devices: int, order: Sequence[int]) -> List[float]:
    """A list by device, or by kind and device, for the devices in the places of an order."""
    values = list(values)
    return values if len(values) <= 1 else [values[first + device] for first in range(0, len(values), devices) for device in order]


def running_timeline(config: Config, model: LayerSplit, order: Sequence[int], strategy: str, options: Mapping[str, Any]) -> Timeline:
    """The running job by the problem, without the runtime's time per op, links and limits. config: all devices; order: that of those that run."""
    lists = {name: _of_places(getattr(config, name), config.devices, order) for name in ("device_speeds", "device_scale", "layer_types")}
    given: Any = {name: values for name, values in lists.items() if values}
    placed = Config(len(order), config.microbatches, len(model.split.layers), units=config.units, options=dict(options), **given)
    return generate(strategy, config_from_layers(placed, *model)).evaluate(latest=False)


# --- pick ---

def with_measured(values: Dict[str, Any]) -> Dict[str, Any]:
    """Values of pick, with what --measured says as device_scale."""
    if values.get("measured_run") is None:
        if values.get("measured_split") is not None:
            raise UsageError("--measured-split needs --measured")
        return values
    split, layers = values.get("measured_split"), layers_of(values)
    if layers is None:
        raise UsageError("--measured needs --num-layers or --layers, with the times as stated")
    if split is None:
        raise UsageError("--measured needs --measured-split: the layers of each stage of the run that was measured")
    config = make_config({**values, **dict.fromkeys(OF_LAYERS), "device_order": None, "num_stages": None, "options": {}, "placement": None})
    if len(split) != config.devices:
        raise UsageError(f"--measured-split has {counted(len(split), 'stage')}; give {config.devices}, one per device; ppsched replan takes several")
    order = values.get("device_order") or list(range(config.devices))
    timeline = running_timeline(config, LayerSplit(layers, Split(list(split), [0] * len(layers))), order, "1f1b", {})
    factors = measured_factors(timeline, order, values)
    return {**values, "device_scale": scaled(config, factors), "measured_factors": factors}
