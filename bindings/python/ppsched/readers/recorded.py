# SPDX-License-Identifier: Apache-2.0
"""Scenarios from a profile: each scenario takes the times of all ops from one recorded iteration."""
from typing import Callable, Dict, List, NamedTuple, Tuple

from .._core._abi import Kind
from .._core._library import Error
from .._core.words import counted
from .profile import Profile, Statistic, reduced

_MASK = 2**64 - 1
Times = Dict[int, List[float]]  # by stage or device: the summed times of each iteration


class _Recorded(NamedTuple):
    """Times of a profile's iterations by stage or device; counted_as: their time in the plan."""

    times: Times
    counted_as: Dict[int, float]


def _add(found: _Recorded, place: int, samples: List[float], iterations: int, statistic: float) -> None:
    """Adds samples: one per iteration, or a single one for all iterations."""
    totals = found.times.setdefault(place, [0.0] * iterations)
    for i in range(iterations):
        totals[i] += samples[i % len(samples)]
    found.counted_as[place] = found.counted_as.get(place, 0.0) + statistic


def _of_traces(profile: Profile, statistic: Statistic, by_device: bool) -> _Recorded:
    """An overlapped pair counts for the stage of its F."""
    found = _Recorded({}, {})
    singles = {(kind, stage): reduced(samples, statistic) for kind, stages in profile.samples.items()
               for stage, samples in enumerate(stages) if samples}
    pairs = {stages: reduced(samples, statistic) for stages, samples in profile.pairs.items()}
    for ops, times in profile.repetitions.items():
        usual = singles[ops[0].kind, ops[0].stage] if len(ops) == 1 else pairs[ops[0].stage, ops[1].stage]
        place = times[0].device if by_device else ops[0].stage
        _add(found, place, [measured.duration for measured in times], profile.iterations, usual)
    return found


def _lists(profile: Profile) -> List[Tuple[int, List[float]]]:
    """A profile file's samples with their stages: those of F and B, or of F, I and W."""
    halves = (Kind.B,) if Kind.B in profile.samples else (Kind.I, Kind.W)
    return [(stage, samples) for kind in (Kind.F, *halves) for stage, samples in enumerate(profile.samples.get(kind, []))]


def _of_file(profile: Profile, statistic: Statistic) -> _Recorded:
    found, iterations = _Recorded({}, {}), iterations_of(profile)
    for stage, samples in _lists(profile):
        _add(found, stage, samples, iterations, reduced(samples, statistic))
    return found


def iterations_of(profile: Profile) -> int:
    """How many iterations were recorded; 1 if every op has a single sample."""
    if profile.repetitions:
        return profile.iterations
    counts = {len(samples): stage for stage, samples in _lists(profile) if len(samples) > 1}
    if len(counts) > 1:
        few, many = sorted(counts)[:2]
        raise Error(f"{profile.name}: stage {counts[few]} has {counted(few, 'sample')} of an op, stage {counts[many]} has {many}; scenarios from "
                    "a profile need the same number of samples of each op, one per iteration")
    return next(iter(counts), 1)


def _draws(seed: int) -> Callable[[int], int]:
    """Returns a function that draws a number from 0 to below - 1 (splitmix64)."""
    counter = seed

    def draw(below: int) -> int:
        nonlocal counter
        counter = counter + 0x9E3779B97F4A7C15 & _MASK
        mixed = (counter ^ counter >> 30) * 0xBF58476D1CE4E5B9 & _MASK
        mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _MASK
        return (mixed ^ mixed >> 31) % below

    return draw


def _shuffled(count: int, seed: int) -> List[int]:
    numbers, draw = list(range(count)), _draws(seed)
    for i in range(count - 1, 0, -1):
        other = draw(i + 1)
        numbers[i], numbers[other] = numbers[other], numbers[i]
    return numbers


def recorded_factors(profile: Profile, statistic: Statistic, scenarios: int, seed: int, *, places: int, by_device: bool = False) -> List[float]:
    """Time factors by scenario and then by stage or device: recorded time divided by the time in the plan. Scenarios take the iterations
    in an order drawn from the seed, cyclically. places: the problem's number of stages or devices."""
    if by_device and not profile.repetitions and places != profile.stages:
        raise Error(f"{profile.name}: it does not say which of the {places} devices each of its {profile.stages} stages is on; give traces")
    found = _of_traces(profile, statistic, by_device) if profile.repetitions else _of_file(profile, statistic)
    what = "device" if by_device else "stage"
    if len(found.times) != places:
        raise Error(f"{profile.name}: the profile has {counted(len(found.times), what)}, the schedule has {places}; scenarios from a profile need "
                    "the same number")
    order = _shuffled(iterations_of(profile), seed)
    rows = [[found.times[place][i] / found.counted_as[place] if found.counted_as[place] else 1.0 for place in range(places)] for i in order]
    return [factor for scenario in range(scenarios) for factor in rows[scenario % len(rows)]]
