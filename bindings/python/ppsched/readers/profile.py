# SPDX-License-Identifier: Apache-2.0
"""Profiles: measured times of ops, and the costs for ppsched.Config that result from them."""
import math
import os
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Set, Tuple, Union, cast

from .._core._abi import Kind
from .._core._library import Error
from .._core.config import QUANTITIES, Config, Quantities
from .._core.number_lists import integer
from .._core.same_units import in_same_units
from .._core.shown import shown
from .._core.units import PLAIN, TIMES as UNITS_OF_TIME, Units
from .._core.whole_numbers import number_of
from .._core.words import counted
from . import trace
from .json_and_yaml import is_yaml, read_mapping
from .trace import Ops

Statistic = Union[str, float]
Path = Union[str, "os.PathLike[str]"]

TIMES = {"forward_times": Kind.F, "backward_times": Kind.B, "backward_input_times": Kind.I, "backward_weight_times": Kind.W}
SIZES = ("stages", "devices", "microbatches")
KEYS = SIZES + tuple(QUANTITIES)
Columns = Dict[Kind, List[Optional[float]]]  # for each kind one time per stage
LARGEST = 1e100  # time, so that sums of squares are finite


class Spread(NamedTuple):
    """The samples of a stage's ops of a kind. deviation: their standard deviation."""

    stage: int
    kind: Kind
    count: int  # type: ignore[assignment]  # replaces tuple.count
    mean: float
    median: float
    deviation: float
    minimum: float
    maximum: float


class Measured(NamedTuple):
    """When a device ran an op, in the profile's unit, counted from the first start of all ops."""

    device: int
    start: float
    duration: float


def parse_statistic(statistic: Statistic) -> Union[str, float]:
    """Returns "mean" or a quantile from 0 to 1; "median" is the quantile 0.5."""
    if statistic in ("mean", "median"):
        return statistic if statistic == "mean" else 0.5
    try:
        quantile = number_of(statistic) if isinstance(statistic, str) else float(statistic)
    except (TypeError, ValueError, OverflowError):
        quantile = math.nan
    if isinstance(statistic, bool) or not 0 <= quantile <= 1:
        raise Error(f"the statistic must be mean, median or a quantile from 0 to 1, not {shown(str(statistic)[:40])}")
    return quantile


def reduced(samples: List[float], statistic: Statistic) -> float:
    """The statistic of the samples. A quantile is interpolated linearly between the two samples next to it."""
    quantile = parse_statistic(statistic)
    if isinstance(quantile, str):
        return math.fsum(samples) / len(samples)
    ordered = sorted(samples)
    below = math.floor(quantile * (len(ordered) - 1))
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (quantile * (len(ordered) - 1) - below) * (ordered[above] - ordered[below])


def _spread(stage: int, kind: Kind, samples: List[float]) -> Spread:
    mean = reduced(samples, "mean")
    deviation = math.sqrt(math.fsum((sample - mean) ** 2 for sample in samples) / len(samples))
    return Spread(stage, kind, len(samples), mean, reduced(samples, "median"), deviation, min(samples), max(samples))


class Profile:
    """Measured times of a model's stages, from a profile file or from traces.

    stages: number of stages; devices, microbatches: the numbers of devices and microbatches, or None if a profile file does not
    give them; samples: for each measured kind of op a list of samples per stage; pairs: samples of overlapped pairs, by forward
    and backward stage; units: units of all times from traces, and of the numbers of a file that have a unit; sources: for each
    source of times in traces, the kinds of ops.
    Errors: ppsched.Error with the file and the place in it, also for a file that does not exist.

        profile = ppsched.Profile.from_traces("rank0.json", "rank1.json")
        print(profile.config().forward_times, profile.units.time)
    """

    name: str
    stages: int
    devices: Optional[int]
    microbatches: Optional[int]
    samples: Dict[Kind, List[List[float]]]
    pairs: Dict[Tuple[int, int], List[float]]
    units: Units
    sources: Dict[str, Set[Kind]]

    def __init__(self, name: str, stages: int, samples: Dict[Kind, List[List[float]]], *, devices: Optional[int] = None,
                 microbatches: Optional[int] = None, pairs: Optional[Dict[Tuple[int, int], List[float]]] = None,
                 others: Optional[Mapping[str, Any]] = None) -> None:
        self.name, self.stages, self.devices, self.microbatches = name, stages, devices, microbatches
        self.samples, self.pairs = samples, pairs or {}
        self.units, self.sources = PLAIN, {}
        self._others = others or {}
        self._repetitions: Dict[Ops, List[Measured]] = {}

    @classmethod
    def from_file(cls, path: Path) -> "Profile":
        """Reads a profile file, JSON or YAML."""
        return cls._of_text(os.fspath(path), None)

    @classmethod
    def _of_text(cls, path: str, text: Optional[str]) -> "Profile":
        values = read_mapping(path, KEYS, text)
        try:
            profile = _from_values(path, values)
            profile.config().validate()
        except Error as error:
            raise Error(f"{path}: {error}") from None
        return profile

    @classmethod
    def from_traces(cls, *paths: Path, time_unit: str = "ms", warmup: int = 0) -> "Profile":
        """Reads the traces of all ranks of a pipeline, as torch.profiler exports them.

        time_unit: "ns", "us", "ms", "s" or "min", for all times of the profile; warmup: how many of the first repetitions of each op
        are left out.
        """
        values = [(path, trace.parse(path, trace.read_text(path))) for path in [os.fspath(path) for path in paths]]
        return cls._of_traces(values, time_unit, warmup)

    @classmethod
    def read(cls, *paths: Path, time_unit: str = "ms", warmup: int = 0) -> "Profile":
        """Reads one profile file, or the traces of all ranks."""
        names = [os.fspath(path) for path in paths]
        if len(names) == 1 and is_yaml(names[0]):
            return cls.from_file(names[0])
        texts = [trace.read_text(name) for name in names]
        values = [(name, trace.parse(name, text)) for name, text in zip(names, texts)]
        if len(values) == 1 and not trace.is_trace(values[0][1]):
            return cls._of_text(names[0], texts[0])
        return cls._of_traces(values, time_unit, warmup)

    @classmethod
    def _of_traces(cls, values: List[Tuple[str, Any]], time_unit: str, warmup: int) -> "Profile":
        if time_unit not in UNITS_OF_TIME:
            raise Error(f"there is no time unit {shown(time_unit)}; there are {', '.join(UNITS_OF_TIME)}")
        if integer("warmup", warmup) < 0:
            raise Error(f"warmup is {warmup}; it must not be negative")
        if not values:
            raise Error("give the traces of all ranks")
        ranks = [rank for path, value in values for rank in trace.ranks_of(path, value)]
        return _from_ranks(trace.in_order(ranks), time_unit, warmup)

    def lists(self, statistic: Statistic = "mean") -> Quantities:
        """Costs for ppsched.Config. Each stage's samples are reduced to their "mean", "median", or a quantile from 0 to 1."""
        columns: Columns = {kind: [reduced(samples, statistic) if samples else None for samples in stages]
                            for kind, stages in self.samples.items()}
        self._fill(columns)
        lists: Dict[str, Any] = {name: columns[kind] for name, kind in TIMES.items() if kind in columns}
        if self.pairs:
            lists["overlapped_times"] = self._overlapped(lists, statistic)
        return cast(Quantities, {**lists, **self._others})

    def _fill(self, columns: Columns) -> None:
        """If only some stages have a B, or an I and a W: a missing B is I + W, a missing I and W are half of B each."""
        for stage, forward in enumerate(columns[Kind.F]):
            if forward is None:
                raise Error(f"{self.name}: stage {stage} has no F outside overlapped pairs")
        backwards = {kind: columns[kind] for kind in (Kind.B, Kind.I, Kind.W) if kind in columns}
        if backwards and not any(None in column for column in backwards.values()):
            return
        for stage in range(self.stages):
            none: List[Optional[float]] = [None] * self.stages
            full, first, second = (backwards.get(kind, none)[stage] for kind in (Kind.B, Kind.I, Kind.W))
            if (first is None) != (second is None):
                raise Error(f"{self.name}: stage {stage} has {'an I but no W' if second is None else 'a W but no I'}")
            if full is None and (first is None or second is None):
                raise Error(f"{self.name}: stage {stage} has no backward outside overlapped pairs")
            filled: Dict[Kind, float] = {}
            if first is not None and second is not None:
                filled[Kind.B] = first + second if full is None else full
            elif full is not None:
                filled = {Kind.I: full / 2, Kind.W: full / 2}
            for kind in filled.keys() & backwards.keys():
                columns[kind][stage] = filled[kind]

    def _overlapped(self, lists: Dict[str, Any], statistic: Statistic) -> List[List[float]]:
        """One row per forward stage. A pair that was not measured takes the sum of both ops' times."""
        split = zip(lists.get("backward_input_times", ()), lists.get("backward_weight_times", ()))
        backwards = lists.get("backward_times") or [first + second for first, second in split]
        rows = [[forward + backward for backward in backwards] for forward in lists["forward_times"]]
        for (forward, backward), samples in self.pairs.items():
            rows[forward][backward] = reduced(samples, statistic)
        return rows

    @property
    def spread(self) -> List[Spread]:
        """Statistics of the samples of each stage and kind of op."""
        return [_spread(stage, kind, samples) for stage in range(self.stages)
                for kind, stages in self.samples.items() if (samples := stages[stage])]

    @property
    def iterations(self) -> int:
        """How often the traces have each op, without the warm-up; 0 for a profile file."""
        counts = {ops: len(times) for ops, times in self._repetitions.items()}
        if not counts:
            return 0
        first = next(iter(counts))
        for ops, count in counts.items():
            if count != counts[first]:
                raise Error(f"{self.name}: {_text(first)} was measured {counts[first]} times, but {_text(ops)} {count} times; "
                            "the traces must begin and end with an iteration")
        return counts[first]

    @property
    def repetitions(self) -> Dict[Ops, List[Measured]]:
        """For each op or overlapped pair of the traces its Measured times, by start; empty for a profile file."""
        return self._repetitions

    def config(self, devices: Optional[int] = None, microbatches: Optional[int] = None, statistic: Statistic = "mean") -> Config:
        """A Config with the measured sizes and times. `devices` and `microbatches`, if given, replace the measured numbers."""
        devices = devices or self.devices or self.stages
        units = PLAIN if self.repetitions else self.units
        return Config(devices, microbatches or self.microbatches or 1, self.stages, units=units, **self.lists(statistic))

    def __repr__(self) -> str:
        sizes = [(self.stages, "stage", "s"), (self.devices, "device", "s"), (self.microbatches, "microbatch", "es")]
        known = ", ".join(counted(size, one, more) for size, one, more in sizes if size is not None)
        return f"<ppsched.Profile of {self.name}: {known}; {counted(sum(each.count for each in self.spread), 'sample')}>"


def _text(ops: Ops) -> str:
    return str(ops[0]) if len(ops) == 1 else f"({ops[0]};{ops[1]})OVERLAP_F_B"


def _size(values: Mapping[str, Any], key: str) -> Optional[int]:
    value = values.get(key)
    if value is None:
        return None
    if integer(key, value) < 1:
        raise Error(f"{key} is {value}; it must be at least 1")
    return integer(key, value)


def _sample(name: str, stage: int, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Error(f"{name} must contain numbers, not {shown(value)}")
    if not 0 <= value <= LARGEST:
        raise Error(f"{name} of stage {stage} is {str(value)[:40]}; it must be at least 0 and at most {LARGEST:g}")
    return float(value)


def _samples(name: str, value: object, stages: int) -> List[List[float]]:
    """A list of samples per stage. value: one number for all stages, or for each stage a number or a list of samples."""
    items = value if isinstance(value, list) else [value] * stages
    if len(items) != stages:
        raise Error(f"{name} has {counted(len(items), 'value')}; give 1 for all stages or {stages}")
    rows = [item if isinstance(item, list) else [item] for item in items]
    if [] in rows:
        raise Error(f"{name} of stage {rows.index([])} is an empty list")
    return [[_sample(name, stage, number) for number in row] for stage, row in enumerate(rows)]


def _from_values(path: str, values: Dict[str, Any]) -> Profile:
    stages, devices, microbatches = (_size(values, key) for key in SIZES)
    if stages is None:
        raise Error("stages is missing")
    Config(devices or 1, microbatches or 1, stages)  # raises Error if they are out of range
    values, units = in_same_units(values, dict.fromkeys(values, "the profile"), has_defaults=False)
    if "forward_times" not in values:
        raise Error("forward_times is missing")
    if not any(name in values for name in TIMES if name != "forward_times"):
        raise Error("backward times are missing; give backward_times, or backward_input_times and backward_weight_times")
    samples = {kind: _samples(name, values[name], stages) for name, kind in TIMES.items() if name in values}
    others = {key: value for key, value in values.items() if key not in SIZES and key not in TIMES}
    profile = Profile(path, stages, samples, devices=devices, microbatches=microbatches, others=others)
    profile.units = units
    return profile


def _offsets(ranks: List[trace.RankTrace]) -> List[float]:
    """Microseconds to add to each rank's times, since traces may count from different base times."""
    bases = [rank.base for rank in ranks if rank.base is not None]
    return [0.0] * len(ranks) if len(bases) < len(ranks) else [(base - min(bases)) / 1000 for base in bases]


def _repetitions(ranks: List[trace.RankTrace], scale: float, warmup: int) -> Dict[Ops, List[Measured]]:
    """All Measured times of each op, by start."""
    offsets = _offsets(ranks)
    origin = min(work.start + offset for rank, offset in zip(ranks, offsets) for work in rank.work)
    found: Dict[Ops, List[Measured]] = {}
    for device, (rank, offset) in enumerate(zip(ranks, offsets)):
        for work in rank.work:
            times = found.setdefault(work.ops, [])
            if times and times[0].device != device:
                other = ranks[times[0].device].path
                raise Error(f"{rank.path}: {_text(work.ops)} is in {other} too; give the traces of one pipeline")
            times.append(Measured(device, (work.start + offset - origin) / scale, work.duration / scale))
    for ops, times in found.items():
        times.sort(key=lambda measured: measured.start)
        if len(times) <= warmup:
            path = ranks[times[0].device].path
            raise Error(f"{path}: {_text(ops)} was measured {len(times)} times; after a warm-up of {warmup} none is left")
        del times[:warmup]
    return found


def _from_ranks(ranks: List[trace.RankTrace], time_unit: str, warmup: int) -> Profile:
    name = ", ".join(dict.fromkeys(rank.path for rank in ranks))
    repetitions = _repetitions(ranks, Units(time_unit).microseconds, warmup)
    stages = 1 + max(op.stage for ops in repetitions for op in ops)
    forwards = {op.stage for ops in repetitions for op in ops if op.kind == Kind.F}
    if len(forwards) < stages:
        missing = next(stage for stage in range(stages) if stage not in forwards)
        raise Error(f"{name}: stage {missing} has no F; give the traces of all ranks")
    kinds = {Kind.F} | {ops[0].kind for ops in repetitions if len(ops) == 1}
    samples: Dict[Kind, List[List[float]]] = {kind: [[] for _ in range(stages)] for kind in TIMES.values() if kind in kinds}
    pairs: Dict[Tuple[int, int], List[float]] = {}
    for ops, times in sorted(repetitions.items()):
        target = samples[ops[0].kind][ops[0].stage] if len(ops) == 1 else pairs.setdefault((ops[0].stage, ops[1].stage), [])
        target.extend(measured.duration for measured in times)
    microbatches = 1 + max(op.microbatch or 0 for ops in repetitions for op in ops)
    profile = Profile(name, stages, samples, devices=len(ranks), microbatches=microbatches, pairs=pairs)
    profile.units, profile._repetitions = Units(time_unit), repetitions
    for rank in ranks:
        for work in rank.work:
            profile.sources.setdefault(work.source, set()).update(op.kind for op in work.ops)
    return profile
