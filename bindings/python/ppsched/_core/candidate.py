# SPDX-License-Identifier: Apache-2.0
"""One of a plan's candidates: a strategy with its options, and what it costs."""
import math
from typing import Dict, List, NamedTuple, Optional, Union

from .timeline import Bubble
from .words import counted


class Candidate(NamedTuple):
    """A strategy with its options, and what it costs.

    number: its place among the candidates as they were listed; rank: its place in the plan, 0 for the best.
    options: the strategy's own, such as {"group_size": 8}; chunks, stages, microbatches: its V, S and M; memory_limit: of all
    devices, None where there is none, NaN where they differ. status: "fits", "over limit", "refused" or, where the
    plan wants only the best, "left out"; reason: why, in words. Figures are None where it is refused or left out: step_time, makespan, span, bubble, peak_memory on peak_device, limit_device:
    the first device over its limit; overshoot: the most that a device lacks; bound: what no schedule of this placement can do
    better, None where there are scenarios; least_bound: the least bound of all candidates under this memory limit, whatever their
    placement; bytes, transfers: what goes from device to device in an iteration; proved: that it fits and reaches its bound, or with
    layers that no other split of them with this strategy and these options is shorter, never where there are scenarios; runs_on: runtimes that run it, of those that were asked; slices: of a microbatch;
    ordered: its microbatches have an order of their own (Plan.microbatch_order); scenario_time: of a step where times vary;
    offloaded: its activations go to the host, so many an iteration as offloads says; microbatch_order: as of Plan.microbatch_order,
    None where they are not ordered; imbalance: of bubble.of_total what devices have less to do than the one that has most.
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

    @property
    def fits(self) -> bool:
        return self.status == "fits"

    def __repr__(self) -> str:
        options = "".join(f", {name} {value}" for name, value in self.options.items())
        found = f": {self.reason}" if self.step_time is None else f", step time {self.step_time:g}, peak memory {self.peak_memory:g}"
        sizes = f"{counted(self.stages, 'stage')}, {counted(self.microbatches, 'microbatch', 'es')}"
        return f"<ppsched.Candidate {self.rank}: {self.strategy}{options}, {self.placement} placement, {sizes}: {self.status}{found}>"


def with_least_bounds(candidates: List[Candidate]) -> List[Candidate]:
    """Told what none of them can do better under the same memory limit, beside each one's own bound."""
    least: Dict[str, float] = {}
    for candidate in candidates:
        if candidate.bound:
            limit = str(candidate.memory_limit)  # as text, as NaN is not NaN
            least[limit] = min(candidate.bound, least.get(limit, math.inf))
    return [candidate if candidate.bound is None else candidate._replace(least_bound=least.get(str(candidate.memory_limit)))
            for candidate in candidates]


class LeastLimit(NamedTuple):
    """The least memory limit, one for all devices, under which a candidate fits, and which."""

    limit: float
    candidate: Candidate
