# SPDX-License-Identifier: Apache-2.0
"""Lower bounds of a step of layers that form a graph, over all splits of the layers and all orders of their ops.

One bound adds up work: what all devices can do by a time, when none can begin before the layers that come before its first stage, or end after
the layers that come after its last. Another is the way of one microbatch through the graph. Where there are few splits, the bounds of all of
them are computed. Recomputation, overheads and transfers only add time, so they are left out.
"""
import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Dict, List, NamedTuple, Set, Tuple

from ._library import Refused
from .bound import lower_bound
from .config import Config
from .layer_graph import Branch, BranchSplit, config_of_keys, keys_of_splits, stage_costs, types_of_devices

MOST_SPLITS, MOST_SUMS = 1500, 50000
ROUNDING = 1e-9


class _Times(NamedTuple):
    """Times of a branch's blocks: of F; of the backward that the blocks before wait for; of all. A W may come last, so `ends_late` is whether
    the backward is the last op of each microbatch."""

    forward: List[float]
    backward: List[float]
    total: List[float]
    ends_late: bool


def _least(lists: Sequence[List[float]]) -> List[float]:
    return [min(own) for own in zip(*lists)]


def _times(config: Config, branch: Branch, types: Set[int]) -> _Times:
    """The least of all types of devices."""
    zeros = [0.0] * len(branch.blocks)
    found: List[Tuple[List[float], List[float], List[float]]] = []
    for of in types:
        costs = stage_costs(config, branch, branch.blocks, "", [of] * len(branch.blocks))
        forward, whole, part, rest = (costs.get(name, zeros) for name in ("forward_times", "backward_times", "backward_input_times", "backward_weight_times"))
        back, most = zeros, zeros
        if branch.passes == "FI":
            back = most = part
        elif branch.passes == "FB":
            back = _least([whole, part]) if config.split_backward else whole
            most = _least([whole, [a + b for a, b in zip(part, rest)]]) if config.split_backward else whole
        found.append((forward, back, [a + b for a, b in zip(forward, most)]))
    forward, back, total = (_least(own) for own in zip(*found))
    return _Times(forward, back, total, branch.passes == "FI" or (branch.passes == "FB" and not config.split_backward))


def _rates(config: Config) -> List[float]:
    """How fast each device may run, at most."""
    speeds, scale = list(config.device_speeds) or [1.0], list(config.device_scale)
    speeds *= config.devices if len(speeds) == 1 else 1
    least = [min(scale[d::config.devices]) if len(scale) > 1 else min(scale, default=1.0) for d in range(config.devices)]
    return [speed / own if own > 0 else float("inf") for speed, own in zip(speeds, least)]


class _Ways:
    """The least times before the blocks of each branch begin, and after their last ops end, at speed 1."""

    def __init__(self, config: Config, branches: Sequence[Branch], times: Sequence[_Times]) -> None:
        self.branches, self.times = branches, times
        scale = list(config.microbatch_scale) or [1.0]
        self.scale = scale * config.microbatches if len(scale) == 1 else scale
        self.runs = [set(branch.microbatches) if branch.microbatches is not None else set(range(config.microbatches)) for branch in branches]
        self.before: List[List[float]] = [[] for _ in branches]  # by branch and block: the least over microbatches
        self.after: List[List[float]] = [[] for _ in branches]
        self.longest = 0.0
        for microbatch in range(config.microbatches):
            self._go(microbatch)

    def _go(self, microbatch: int) -> None:
        """One microbatch through the graph and back."""
        forward: Dict[int, float] = {}  # by branch: until its last F
        back: Dict[int, float] = {}  # by branch: from the start of its first backward to the end of all
        scale = self.scale[microbatch]
        for b, (branch, times) in enumerate(zip(self.branches, self.times)):
            if microbatch not in self.runs[b]:
                continue
            way = list(itertools.accumulate((scale * time for time in times.forward), initial=max((forward[i] for i in branch.inputs if i in forward), default=0.0)))
            home = list(itertools.accumulate((scale * time for time in times.backward), initial=max((back[i] for i in branch.inputs if i in back), default=0.0)))
            forward[b] = way[-1]
            if branch.passes != "F":
                back[b] = home[-1]
            self.longest = max(self.longest, way[-1] + (home[-1] if branch.passes != "F" else 0.0))
            ends = home if times.ends_late else [0.0] * len(home)
            self.before[b] = _least([self.before[b], way[:-1]]) if self.before[b] else way[:-1]
            self.after[b] = _least([self.after[b], ends[:-1]]) if self.after[b] else ends[:-1]

    def clear(self) -> None:
        """No time before and after."""
        self.before = self.after = [[0.0] * len(own) for own in self.before]
        self.longest = 0.0

    def work(self, b: int) -> float:
        """The work of a block that takes 1, in all microbatches."""
        return sum(self.scale[m] for m in self.runs[b])


def _busiest(loads: Iterable[float], share: float) -> float:
    """The least sum of some of the loads that is at least a share: the busiest device has as much, as layers are not divided."""
    counts, sums = Counter(loads), {0.0}
    for load, count in counts.items():
        sums = {one + load * k for one in sums for k in range(count + 1)} if load > 0 else sums
        if len(sums) > MOST_SUMS:
            return share
    return min((one for one in sums if one >= share * (1 - ROUNDING)), default=share)


def bound_of_layers(config: Config, branches: Sequence[Branch], by_period: bool) -> float:
    """No split and no order is shorter, whichever devices have which layers. by_period: of a repetition, before which no device waits."""
    types, rates = set(types_of_devices(config, branches)), sorted(_rates(config), reverse=True)
    if rates[0] == float("inf"):
        return 0.0
    times = [_times(config, branch, types) for branch in branches]
    ways = _Ways(config, branches, times)
    loads = [time * ways.work(b) for b, own in enumerate(times) for time in own.total]
    if by_period:
        ways.clear()
    before = sorted(itertools.chain.from_iterable(ways.before))
    after = sorted(itertools.chain.from_iterable(ways.after))
    bound, idle, fast = float("inf"), 0.0, 0.0
    for rate, begin, end in zip(rates, before, after):  # the fastest devices begin first and end last
        idle += rate * (begin + end) / rates[0]
        fast += rate
        bound = min(bound, (sum(loads) + idle) / fast)
    bound = max(bound if bound < float("inf") else 0.0, ways.longest / rates[0], max(loads, default=0.0) / rates[0])
    if rates[0] == rates[-1] and len(types) == 1:
        bound = max(bound, _busiest(loads, sum(loads) / len(rates)) / rates[0])
    return bound


# --- all splits ---

def _splits_of(config: Config, branch: Branch, chunks: Sequence[int]) -> Iterable[BranchSplit]:
    kinds = branch.kinds if list(config.mem_limit) else [""]
    starts = [0, *itertools.accumulate(branch.blocks)]
    for devices in range(1, min(config.devices, len(branch.blocks)) + 1):
        for rounds in sorted({1, *chunks}) if devices > 1 else [1]:
            for cuts in itertools.combinations(range(1, len(branch.blocks)), devices * rounds - 1):
                ends = [0, *cuts, len(branch.blocks)]
                layers = tuple(starts[end] - starts[begin] for begin, end in zip(ends, ends[1:]))
                for first, kind in itertools.product(range(config.devices - devices + 1), kinds):
                    yield BranchSplit(first, devices, layers, kind)


def bound_of_splits(config: Config, branches: Sequence[Branch], chunks: Sequence[int], best: float) -> float:
    """The least bound of all splits of branches over consecutive devices, at most the best step; 0 if they are too many."""
    every: List[List[BranchSplit]] = []
    count = 1
    for branch in branches:
        every.append(list(itertools.islice(_splits_of(config, branch, chunks), MOST_SPLITS + 1)))
        count *= len(every[-1])
        if count > MOST_SPLITS:
            return 0.0
    least, limit = best, max(config.mem_limit, default=float("inf"))
    for splits in itertools.product(*every):
        problem = config_of_keys(keys_of_splits(config, branches, splits), {}, config.units)
        try:
            found = lower_bound(problem, "makespan")
        except Refused:
            return 0.0
        if found.least_limit <= limit * (1 + ROUNDING):
            least = min(least, found.value)
    return least
