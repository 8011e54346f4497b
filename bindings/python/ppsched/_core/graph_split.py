# SPDX-License-Identifier: Apache-2.0
"""Splits of layers that form a graph: which devices each branch has, how it is cut into stages, and what it recomputes.

Each branch is on consecutive devices, with one stage or more on each. So a tower may be on devices of its own, with the first stage of the
branch that it feeds, or in parts on all devices. Devices of branches are tried, and each branch is cut so that the busiest device has as little work as
possible in addition to the work of other branches. The best by an estimate are then evaluated with auto, and their cuts are moved.
"""
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Dict, List, NamedTuple, Optional, Set, Tuple, TypedDict

from ._abi import Status
from ._library import Cancelled, Error, Refused
from .bound import lower_bound
from .graph_bound import bound_of_layers, bound_of_splits
from .config import Config, config_of
from .layer_graph import Branch, BranchSplit, branches_of, config_of_keys, copies_of_stages, keys_of_splits, stage_costs, types_of_devices
from .layers import Layer
from .listener import Progress, check_progress
from .number_lists import integer
from .schedule import generate
from .shown import shown
from .timeline import Timeline

MOST_RANGES = 4000  # combinations of devices that are tried, over all kinds of recomputation
EVALUATED, MOVED, FINISHED = 48, 6, 3  # by the estimate, then by evaluation
MOST_CHUNKS = 64
QUICK, MOST_EFFORT = 1, 12  # efforts of auto: in the search, and the largest
ROUNDING = 1e-9


class BranchStages(TypedDict):
    """A branch of layers: names of its entries, the branches that feed it, the device and the number of layers of each stage, and the kind of
    recomputation of its layers."""

    entries: List[str]
    inputs: List[int]
    devices: List[int]
    layers: List[int]
    recompute: Optional[str]


class GraphSplit(NamedTuple):
    """A split of layers that form a graph, and its schedule.

    branches: the stages of each branch; config: the problem with these stages; keys: the same problem as keys of a config file;
    timeline: the schedule that auto finds. bound: lower bound on the time of every split and order in which the stages of
    each branch are on consecutive devices, in turn; proved: the schedule reaches this bound; order_bound: lower bound on the time of every
    order of these stages. period: with the objective "throughput", the time of all microbatches in the long run; else None. If
    there is a period, bound, proved and order_bound are about the period.
    """

    branches: List[BranchStages]
    keys: Dict[str, object]
    config: Config
    timeline: Timeline
    bound: float
    proved: bool
    order_bound: Optional[float]
    period: Optional[float] = None

    @property
    def step(self) -> float:
        """The time that the search minimised."""
        return self.timeline.metrics.makespan if self.period is None else self.period


class _Range(NamedTuple):
    """Consecutive devices of a branch, which its stages go round."""

    first: int
    devices: int
    stages: int

    def device_of(self, stage: int) -> int:
        return self.first + stage % self.devices


class _Row(NamedTuple):
    """Costs of the blocks of a branch with a kind of recomputation on a type of devices: sums up to each block."""

    time: List[float]
    memory: List[float]
    static: List[float]


class _Search:
    def __init__(self, config: Config, branches: List[Branch], chunks: Sequence[int], by_period: bool) -> None:
        self.config, self.branches, self.chunks, self.by_period = config, branches, chunks, by_period
        self.types = types_of_devices(config, branches)
        self.speeds = list(config.device_speeds) or [1.0]
        self.speeds *= config.devices if len(self.speeds) == 1 else 1
        limits = list(config.mem_limit)
        self.limits: Optional[List[float]] = limits * (config.devices if len(limits) == 1 else 1) if limits else None
        self.rows = {(b, kind, of): self._row(branch, kind, of) for b, branch in enumerate(branches) for kind in branch.kinds
                     for of in range(len(branch.layers))}
        self.share = [len(branch.microbatches) / config.microbatches if branch.microbatches is not None else 1.0 for branch in branches]
        self.together = self._held_together()
        self.has_copies = any(row.get("tied") or row.get("copies_embedding") for branch in branches for row in branch.rows)
        self.seen: Dict[Tuple[Tuple[BranchSplit, ...], int], Optional[Timeline]] = {}

    def _held_together(self) -> List[Set[int]]:
        """Sets of branches that one microbatch holds at once: a branch and those before it from which all the way has backwards."""
        held: List[Set[int]] = []
        for b, branch in enumerate(self.branches):
            backed = [i for i in branch.inputs if "F" not in (branch.passes, self.branches[i].passes)]
            held.append({b}.union(*(held[i] for i in backed)))
        return [own for b, own in enumerate(held) if not any(own < other for other in held[b + 1:])]

    def _row(self, branch: Branch, kind: str, of: int) -> _Row:
        """Each block as a stage of its own; with more blocks than a split can have devices, too."""
        costs = stage_costs(self.config, branch, branch.blocks, kind, [of] * len(branch.blocks))
        zeros = [0.0] * len(branch.blocks)
        backward = {"FB": "backward_times", "FI": "backward_input_times", "F": ""}[branch.passes]
        time = [a + b for a, b in zip(costs.get("forward_times", zeros), costs.get(backward, zeros))]
        static = [a + b for a, b in zip(costs.get("mem_static", zeros), costs.get("mem_weights", zeros))]
        memory = costs.get("mem_forward", zeros)
        return _Row(*([0.0, *itertools.accumulate(values)] for values in (time, memory, static)))

    # --- cuts ---

    def cut(self, sums: Sequence[Sequence[float]], devices: _Range, load: List[float], rates: List[float]) -> List[int]:
        """Ends of stages in blocks, so that the fullest device of the branch has the least; `load` is what devices have of others, and what
        a device has of the branch is divided by its rate. sums: those of the device of each type, up to each block."""
        low, high = 0.0, (max(load) + max(own[-1] for own in sums) / min(rates) * (devices.stages // devices.devices)) * (1 + ROUNDING)
        best = self._fill(sums, devices, load, rates, high)
        for _ in range(30):
            middle = (low + high) / 2
            ends = self._fill(sums, devices, load, rates, middle)
            if ends:
                best, high = ends, middle
            else:
                low = middle
        return best

    def _fill(self, sums: Sequence[Sequence[float]], devices: _Range, load: List[float], rates: List[float], most: float) -> List[int]:
        """Each stage takes blocks while its device has room, of which each of its stages has a share; empty where that does not suffice."""
        blocks, begin, ends = len(sums[0]) - 1, 0, []
        rounds = devices.stages // devices.devices
        for s in range(devices.stages):
            device = devices.device_of(s)
            own, room = sums[self.types[device]], (most - load[device]) * rates[device] / rounds
            end, last = begin + 1, blocks - (devices.stages - 1 - s)
            while end < last and own[end + 1] - own[begin] <= room:
                end += 1
            if own[end] - own[begin] > room:
                return []
            ends.append(end)
            begin = end
        return ends if begin == blocks else []

    def _ends_of(self, ranges: Sequence[_Range], rows: Sequence[List[List[float]]], rates: List[float]) -> Dict[int, List[int]]:
        """Cuts branches from the lightest to the heaviest. rows: sums of each branch by type of device, up to each block."""
        load = [0.0] * self.config.devices
        ends: Dict[int, List[int]] = {}
        for b in sorted(range(len(ranges)), key=lambda b: (rows[b][0][-1], b)):
            ends[b] = self.cut(rows[b], ranges[b], load, rates)
            for s, (begin, end) in enumerate(zip([0, *ends[b]], ends[b])):
                device = ranges[b].device_of(s)
                own = rows[b][self.types[device]]
                load[device] += (own[end] - own[begin]) / rates[device]
        return ends

    def splits_of(self, ranges: Sequence[_Range], kinds: Sequence[str]) -> Iterable[Tuple[Tuple[BranchSplit, ...], float]]:
        """Cuts so that devices have equal work, and with limits also equal shares of their memory; without those where one microbatch does not
        fit. Also the estimates of their steps."""
        rows = [[self.rows[b, kind, of] for of in range(len(self.branches[b].layers))] for b, kind in enumerate(kinds)]
        cuts = [self._ends_of(ranges, [[[self.share[b] * time for time in row.time] for row in own] for b, own in enumerate(rows)], self.speeds)]
        if self.limits is not None and min(self.limits) > 0:
            cuts.append(self._ends_of(ranges, [[[a + b for a, b in zip(row.memory, row.static)] for row in own] for own in rows], self.limits))
        for ends in cuts[:1] if cuts[0] == cuts[-1] else cuts:
            step = self._estimate(ranges, kinds, ends)
            if step is not None:
                yield tuple(self._branch_split(b, ranges[b], ends[b], kinds[b]) for b in range(len(ranges))), step

    def _branch_split(self, b: int, devices: _Range, ends: List[int], kind: str) -> BranchSplit:
        layers = [0, *itertools.accumulate(self.branches[b].blocks)]
        return BranchSplit(devices.first, devices.devices, tuple(layers[end] - layers[begin] for begin, end in zip([0, *ends], ends)), kind)

    def _estimate(self, ranges: Sequence[_Range], kinds: Sequence[str], ends: Dict[int, List[int]]) -> Optional[float]:
        """The busiest device's work, and once the longest way through the graph, of which each device of a branch runs all its stages but
        one beside others. Where memory holds fewer microbatches than are under way between the F and the backward of a stage, that much
        longer."""
        load = [0.0] * self.config.devices
        ways: Dict[int, List[float]] = {}  # from the start of each stage of a branch to the end of all
        trunk = max(range(len(ranges)), key=lambda b: self.rows[b, "", 0].time[-1])
        for b in reversed(range(len(ranges))):
            own, begins = ranges[b], [0, *ends[b]]
            way = max((ways[c][0] for c, branch in enumerate(self.branches) if b in branch.inputs), default=0.0)
            times = []
            for s in range(own.stages):
                device = own.device_of(s)
                time = self.rows[b, kinds[b], self.types[device]].time
                times.append((time[begins[s + 1]] - time[begins[s]]) / self.speeds[device])
                load[device] += self.share[b] * times[-1]
            rounds = own.stages // own.devices
            ways[b] = list(itertools.accumulate((time / rounds for time in reversed(times)), initial=way))[:0:-1]
        busiest, slower = max(load), 1.0
        if self.limits is not None:
            found = self._slower(ranges, kinds, ends, {b: [way / busiest if busiest > 0 else 0.0 for way in own] for b, own in ways.items()})
            if found is None:
                return None
            slower = found
        fewer = 1 / (ranges[trunk].stages // ranges[trunk].devices)  # stages of a device at the beginning
        if self.by_period:
            return busiest * self.config.microbatches * slower
        return (busiest * (self.config.microbatches - fewer) + max(own[0] for own in ways.values())) * slower

    def _slower(self, ranges: Sequence[_Range], kinds: Sequence[str], ends: Dict[int, List[int]], ways: Dict[int, List[float]]) -> Optional[float]:
        """How much longer a step takes because of the limits; None where one microbatch does not fit. ways: in steps of one microbatch."""
        slower, limits = 1.0, self.limits or []
        fixed, needed = ([0.0] * self.config.devices for _ in range(2))
        held = [[0.0] * self.config.devices for _ in self.together]
        copies = copies_of_stages(self.branches, [self._branch_split(b, own, ends[b], kinds[b]).layers for b, own in enumerate(ranges)]) \
            if self.has_copies else None
        for b, devices in enumerate(ranges):
            row, begins = self.rows[b, kinds[b], 0], [0, *ends[b]]
            for s in range(devices.stages):
                device = devices.device_of(s)
                own = row.memory[begins[s + 1]] - row.memory[begins[s]]
                fixed[device] += row.static[begins[s + 1]] - row.static[begins[s]] + (sum(copies[b][s]) if copies is not None else 0.0)
                for together, level in zip(self.together, held):
                    level[device] += own if b in together else 0.0
                needed[device] += own * min(self.config.microbatches, ways[b][s] + 1) if self.branches[b].passes != "F" else own
        for limit, static, one, all_of_them in zip(limits, fixed, zip(*held), needed):
            if static + max(one) > limit * (1 + ROUNDING):
                return None
            if all_of_them > limit - static:
                slower = max(slower, all_of_them / (limit - static))
        return slower

    # --- devices ---

    def ranges(self, most: int) -> List[Tuple[_Range, ...]]:
        """Devices of all branches: all consecutive ones, or fewer if these are more than `most` combinations."""
        devices = self.config.devices
        trunk = max(range(len(self.branches)), key=lambda b: self.rows[b, "", 0].time[-1])
        found: List[Tuple[Tuple[int, int], ...]] = []
        for level in range(4):
            by_branch = []
            for b, branch in enumerate(self.branches):
                every = [(first, stages) for stages in range(1, min(devices, len(branch.blocks)) + 1) for first in range(devices - stages + 1)]
                longest = min(devices, len(branch.blocks))
                few = [own for own in every if level == 0 or (b == trunk and (sum(own) == devices or own[1] == longest))
                       or (b != trunk and (own[1] in (1, longest) or (level == 1 and own[0] == 0)))]
                by_branch.append(few if level < 3 or b == trunk else [own for own in few if own[0] == 0])
            count = 1
            for own in by_branch:
                count *= len(own)
            if count <= most or level == 3:
                found = list(itertools.islice(itertools.product(*by_branch), most))
                break
        return list(dict.fromkeys(rounds for own in found for rounds in self._in_rounds(own, trunk)))

    def _in_rounds(self, devices: Sequence[Tuple[int, int]], trunk: int) -> Iterable[Tuple[_Range, ...]]:
        """With as many stages on each device as asked for, in all branches or in the largest one; fewer in those with too few layers."""
        def of(b: int, rounds: int) -> _Range:
            first, count = devices[b]
            most = len(self.branches[b].blocks) // count if count > 1 else 1
            fitting = max((own for own in (1, *self.chunks) if own <= min(rounds, most)), default=1)
            return _Range(first, count, count * fitting)

        for rounds in self.chunks:
            yield tuple(of(b, rounds) for b in range(len(devices)))
            if rounds > 1:
                yield tuple(of(b, rounds if b == trunk else 1) for b in range(len(devices)))

    def kinds(self) -> List[Tuple[str, ...]]:
        """Kinds of recomputation of the branches; none at all without a limit, as it only takes time."""
        if self.limits is None:
            return [("",) * len(self.branches)]
        return list(itertools.islice(itertools.product(*(branch.kinds for branch in self.branches)), 64))

    def estimated(self) -> List[Tuple[BranchSplit, ...]]:
        """The best by the estimate; of each choice of recomputation some."""
        kinds = self.kinds()
        best: List[Tuple[float, Tuple[BranchSplit, ...]]] = []
        for own in kinds:
            found = [split for ranges in self.ranges(max(MOST_RANGES // len(kinds), 1)) for split in self.splits_of(ranges, own)]
            found.sort(key=lambda split: split[1])
            best += [(step, splits) for splits, step in found[:max(EVALUATED // len(kinds), 4)]]
        best.sort(key=lambda split: split[0])
        return list(dict.fromkeys(splits for _, splits in best))

    # --- evaluation ---

    def problem(self, splits: Tuple[BranchSplit, ...], effort: int) -> Config:
        options: Dict[str, object] = {"effort": effort, **({"objective": "throughput"} if self.by_period else {})}
        return config_of_keys(keys_of_splits(self.config, self.branches, splits), options, self.config.units)

    def timed(self, splits: Tuple[BranchSplit, ...], effort: int) -> Optional[Timeline]:
        """The schedule that auto finds, or None where none fits the limit."""
        if (splits, effort) not in self.seen:
            problem = self.problem(splits, effort)
            try:
                self.seen[splits, effort] = generate("auto", problem).evaluate(problem)
            except Refused:
                self.seen[splits, effort] = None
        return self.seen[splits, effort]

    def step(self, splits: Tuple[BranchSplit, ...], effort: int = QUICK) -> float:
        timeline = self.timed(splits, effort)
        return float("inf") if timeline is None else timeline.schedule.period(timeline.config) if self.by_period else timeline.metrics.makespan

    def neighbours(self, splits: Tuple[BranchSplit, ...]) -> Iterable[Tuple[BranchSplit, ...]]:
        """With a block of one branch in the stage before or after, or another kind of recomputation of one branch."""
        for b, split in enumerate(splits):
            layers = [0, *itertools.accumulate(self.branches[b].blocks)]
            ends = list(itertools.accumulate(split.layers))
            for s, end in enumerate(ends[:-1]):
                for moved in (layers[layers.index(end) - 1], layers[layers.index(end) + 1]):
                    if (ends[s - 1] if s > 0 else 0) < moved < ends[s + 1]:
                        own = [*ends[:s], moved, *ends[s + 1:]]
                        counts = tuple(one - before for before, one in zip([0, *own], own))
                        yield (*splits[:b], split._replace(layers=counts), *splits[b + 1:])
            for kind in self.branches[b].kinds if self.limits is not None else []:
                if kind != split.recompute:
                    yield (*splits[:b], split._replace(recompute=kind), *splits[b + 1:])

    def moved(self, splits: Tuple[BranchSplit, ...]) -> Tuple[BranchSplit, ...]:
        """Moves to better neighbours, until there is none."""
        best, goes_on = self.step(splits), True
        while goes_on:
            goes_on = False
            for other in self.neighbours(splits):
                step = self.step(other)
                if step < best * (1 - ROUNDING):
                    splits, best, goes_on = other, step, True
                    break
        return splits


def _branch_stages(search: _Search, rows: Sequence[Mapping[str, Any]], splits: Tuple[BranchSplit, ...]) -> List[BranchStages]:
    return [{"entries": [rows[number]["name"] for number in branch.entries], "inputs": branch.inputs,
             "devices": [split.device_of(s) for s in range(len(split.layers))], "layers": list(split.layers), "recompute": split.recompute or None}
            for branch, split in zip(search.branches, splits)]


def _finished(search: _Search, rows: Sequence[Mapping[str, Any]], splits: Tuple[BranchSplit, ...], effort: int) -> Optional[GraphSplit]:
    timeline = search.timed(splits, effort)
    if timeline is None:
        return None
    made, config = search.step(splits, effort), timeline.config
    try:
        bound = max(device.busy for device in timeline.device_metrics) if search.by_period else lower_bound(config, "makespan").value
        order_bound: Optional[float] = min(bound, made)
    except Refused:
        order_bound = None
    return GraphSplit(_branch_stages(search, rows, splits), keys_of_splits(search.config, search.branches, splits), config, timeline, 0.0, False, order_bound,
                      made if search.by_period else None)


def _with_bound(search: _Search, found: List[GraphSplit]) -> List[GraphSplit]:
    """With the bound of all splits: the sums of work and ways, or where splits are few, the least of their own bounds."""
    best = min(own.step for own in found)
    bound = bound_of_layers(search.config, search.branches, search.by_period)
    if bound < best * (1 - ROUNDING) and not search.by_period:
        bound = max(bound, bound_of_splits(search.config, search.branches, search.chunks, best))
    return [own._replace(bound=min(bound, best), proved=own.step <= bound * (1 + ROUNDING)) for own in found]


def _told(progress: Optional[Progress], share: float, best: float) -> None:
    if progress is not None and progress(share, best) is False:
        raise Cancelled("the search for splits was cancelled", Status.ERROR_CANCELLED)


def _checked(rows: Iterable[Layer], effort: int, top: int) -> List[Layer]:
    if isinstance(rows, (str, Mapping)) or not isinstance(rows, Iterable):
        raise Error(f"layers must be a list, not {shown(rows)}")
    given = list(rows)
    if not given:
        raise Error("layers is an empty list")
    if not 0 <= integer("effort", effort) <= MOST_EFFORT:
        raise Error(f"effort is {effort}; it must be 0 to {MOST_EFFORT}", Status.ERROR_RANGE)
    if integer("top", top) < 1:
        raise Error(f"top is {top}; it must be 1 or more", Status.ERROR_RANGE)
    return given


def _is_by_period(objective: str, rows: Sequence[Layer]) -> bool:
    if objective not in ("makespan", "throughput"):
        raise Error(f"objective is {shown(objective)}; for layers that form a graph it must be 'makespan' or 'throughput'")
    if objective == "throughput" and any(isinstance(row, Mapping) and row.get("passes", "FB") != "F" for row in rows):
        raise Error("objective throughput needs a problem with only forwards (forward_only, or passes F of all layers); with backwards give makespan")
    return objective == "throughput"


def _checked_chunks(chunks: Sequence[int]) -> List[int]:
    if isinstance(chunks, str) or not isinstance(chunks, Sequence) or not chunks:
        raise Error(f"chunks must be a list of numbers of stages per device, not {shown(chunks)}")
    wrong = next((number for number in chunks if not 1 <= integer("chunks", number) <= MOST_CHUNKS), None)
    if wrong is not None:
        raise Error(f"chunks has {wrong}; each must be 1 to {MOST_CHUNKS}", Status.ERROR_RANGE)
    return sorted(set(chunks))


def split_layer_graph(config: Config, rows: Iterable[Layer], *, effort: int = 4, top: int = 1, chunks: Sequence[int] = (1,), objective: str = "makespan", progress: Optional[Progress] = None) -> List[GraphSplit]:
    """Finds the best splits of layers that form a graph ("after" of ppsched.Layer). The best split comes first. config:
    devices, microbatches, limits and links; its stages are ignored. effort: the effort of auto for the last splits, 0 to 12.
    chunks: how many stages a branch may have on each of its devices, as a list of numbers. objective: "makespan" or, if no
    layer has a backward, "throughput". With forward_only in the config, no layer has a backward. progress: a function that is
    called with the share of the work that is done, 0 to 1, and the best step so far, infinite if there is none. If it returns
    False, the call raises ppsched.Cancelled. Errors: ppsched.Error with what is wrong, ppsched.Refused where no split fits the
    memory limits.
    rows: the layers. top: how many splits are returned.

        rows = [{"name": "vision", "count": 4, "forward_time": 1}, {"name": "text", "count": 8, "forward_time": 2}]
        best = ppsched.split_layer_graph(ppsched.Config(devices=4, microbatches=8), rows)[0]
        print(best)
    """
    config_of(config)
    check_progress(progress)
    given = _checked(rows, effort, top)
    rounds = _checked_chunks(chunks)
    if config.iterations != 1 or config.slices != 1:
        raise Error("layers that form a graph (after) run in one iteration and without slices; leave out iterations and slices")
    if config.forward_only:
        forwards: List[Any] = [dict(row, passes="F") if isinstance(row, Mapping) else row for row in given]
        given = forwards
    search, best = _Search(config, branches_of(given), rounds, _is_by_period(objective, given)), float("inf")
    chosen = search.estimated()
    for number, splits in enumerate(chosen):
        best = min(best, search.step(splits))
        _told(progress, 0.4 * (number + 1) / len(chosen), best)
    chosen.sort(key=search.step)
    chosen = [splits for splits in chosen if search.step(splits) < float("inf")][:MOVED]
    moved: Dict[Tuple[BranchSplit, ...], None] = {}
    for number, splits in enumerate(chosen):
        moved[search.moved(splits)] = None
        best = min(map(search.step, moved))
        _told(progress, 0.4 + 0.4 * (number + 1) / len(chosen), best)
    chosen = sorted(moved, key=search.step)[:max(FINISHED, top)]
    found: List[GraphSplit] = []
    for number, splits in enumerate(chosen):
        done = _finished(search, given, splits, effort)
        found += [done] if done is not None else []
        best = min([best, *(own.step for own in found)])
        _told(progress, 0.8 + 0.2 * (number + 1) / len(chosen), best)
    if not found:
        raise Refused("layers that form a graph (after): no split was found that fits the memory limit; give more memory, more devices or kinds of recomputation")
    return _with_bound(search, sorted(found, key=lambda done: done.step)[:top])
