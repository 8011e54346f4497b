# SPDX-License-Identifier: Apache-2.0
"""A candidate of a plan: a strategy with its options and figures."""
import math
from typing import Dict, List, NamedTuple, Optional, Union

from .timeline import Bubble
from .words import counted


class Candidate(NamedTuple):
    """A strategy with its options and figures.

    number: its number in the list of candidates; rank: its rank in the plan, 0 for the best.
    options: options of the strategy, such as {"group_size": 8}; chunks, stages, microbatches, slices: V, S, M, and slices per microbatch.
    memory_limit: the limit of all devices; None if there is no limit, NaN if the limits of devices differ.
    status: "fits", "over limit", "refused", or "left out" (by `top` of the plan); reason: why, in words.
    Figures. They are None if the candidate is refused. If it is left out, they are None except bound and least_bound.
      step_time, makespan, span, bubble; peak_memory: on peak_device; bytes, transfers: between devices in an iteration.
      limit_device: the first device over its limit; overshoot: the largest amount by which a device exceeds its limit.
      bound: lower bound on step_time for this placement; least_bound: the least bound of all candidates under this memory limit, for any
        placement. With scenarios both are None, because bounds are for planned times.
      proved: the candidate fits and reaches its bound; or, with layers, no other split has a shorter step with this strategy
        and these options. False with scenarios.
      runs_on: the runtimes of the plan that run the candidate.
      ordered: its microbatches have another order than in the config; microbatch_order: that order, or None (Plan.microbatch_order).
      scenario_time: mean, quantile or longest of the step times in the scenarios.
      offloaded: True if it has offload; offloads: number of offloaded activations in an iteration.
      device_order: the device in each place, by its number in the config; None if the plan searched for no order.
      imbalance: the part of bubble.of_total that is due to devices that have less work than the busiest device.
    """

    number: int
    rank: int
    strategy: str
    options: Dict[str, Union[int, str]]
    placement: str
    chunks: int
    stages: int
    microbatches: int
    memory_limit: Optional[float]
    status: str
    reason: Optional[str]
    step_time: Optional[float] = None
    makespan: Optional[float] = None
    span: Optional[float] = None
    bubble: Optional[Bubble] = None
    peak_memory: Optional[float] = None
    peak_device: Optional[int] = None
    limit_device: Optional[int] = None
    overshoot: Optional[float] = None
    bound: Optional[float] = None
    bytes: Optional[float] = None
    transfers: Optional[int] = None
    proved: bool = False
    runs_on: Optional[List[str]] = None
    slices: int = 1
    ordered: bool = False
    scenario_time: Optional[float] = None
    least_bound: Optional[float] = None
    offloaded: bool = False
    offloads: int = 0
    microbatch_order: Optional[List[int]] = None
    imbalance: Optional[float] = None
    device_order: Optional[List[int]] = None

    @property
    def fits(self) -> bool:
        """Whether it is evaluated and within all memory limits."""
        return self.status == "fits"

    def __repr__(self) -> str:
        options = "".join(f", {name} {value}" for name, value in self.options.items())
        found = f": {self.reason}" if self.step_time is None else f", step time {self.step_time:g}, peak memory {self.peak_memory:g}"
        sizes = f"{counted(self.stages, 'stage')}, {counted(self.microbatches, 'microbatch', 'es')}"
        return f"<ppsched.Candidate {self.rank}: {self.strategy}{options}, {self.placement} placement, {sizes}: {self.status}{found}>"


def with_least_bounds(candidates: List[Candidate]) -> List[Candidate]:
    """Sets the least bound of all candidates under the same memory limit."""
    least: Dict[str, float] = {}
    for candidate in candidates:
        if candidate.bound:
            limit = str(candidate.memory_limit)  # as text, as NaN is not NaN
            least[limit] = min(candidate.bound, least.get(limit, math.inf))
    return [candidate if candidate.bound is None else candidate._replace(least_bound=least.get(str(candidate.memory_limit)))
            for candidate in candidates]


class LeastLimit(NamedTuple):
    """The least memory limit, the same for all devices, under which some candidate fits, and this candidate."""

    limit: float
    candidate: Candidate
