# SPDX-License-Identifier: Apache-2.0
"""Which runtimes run the candidates of a plan."""
import itertools
from typing import TYPE_CHECKING, Dict, Iterable, Iterator, List, NamedTuple, Optional

from ._library import Error, Refused
from .candidate import Candidate
from .config import Config
from .launching import RUNTIME_NAMES, can_launch, without_others
from .layers import LayerSplit
from .listener import Progress
from .rounding import at_least
from .schedule import Schedule, generate
from .strategy import find_strategy
from .words import counted

if TYPE_CHECKING:
    from .plan import Plan

MOST_TRIED = 64  # candidates that are tried to find the best for each runtime
MOST_NAMED = 5  # strategies that are named for one reason


class RunsOn(NamedTuple):
    """Names of runtimes. order: those that run exactly this order; alike: those that make an order of its kind themselves."""

    order: List[str]
    alike: List[str]

    def __str__(self) -> str:
        return " ".join([*self.order, *(f"({name})" for name in self.alike)]) or "none"


def runs_on(schedule: Schedule, model: Optional[LayerSplit] = None) -> RunsOn:
    """Which runtimes run a schedule, together with the split of a model's layers."""
    able = [name for name in RUNTIME_NAMES if can_launch(schedule._handle, name, False, model)]
    order = [name for name in able if can_launch(schedule._handle, name, True, model)]
    return RunsOn(order, [name for name in able if name not in order])


def runs_on_candidate(plan: "Plan", candidate: Candidate, progress: Optional[Progress] = None) -> RunsOn:
    """Which runtimes run a candidate. The plan keeps the answer, and the schedule of the last candidate."""
    asked, found = plan._runs.get(candidate.number, (None, None))
    if found is None or asked != candidate:
        schedule = plan.iteration(candidate, progress)
        found = runs_on(schedule, plan.model(candidate))
        plan._runs[candidate.number], plan._last = (candidate, found), (candidate, schedule)
    assert isinstance(found, RunsOn)
    return found


def all_run(plan: "Plan", candidates: Iterable[Candidate], progress: Optional[Progress] = None) -> bool:
    """Whether of each candidate some runtime runs its very order."""
    return all(_is_runnable(plan, candidate, progress) for candidate in candidates)


def _is_runnable(plan: "Plan", candidate: Candidate, progress: Optional[Progress]) -> bool:
    """Whether some runtime runs its very order."""
    if candidate.runs_on is not None:
        return bool(candidate.runs_on)
    return bool(runs_on_candidate(plan, candidate, progress).order)


def none_runs(plan: "Plan") -> bool:
    """Whether surely no runtime runs any candidate: in each order activations go to the host, and no runtime reads OFFLOAD. They do where
    the strategy offloads, copies take no time, and no limit makes them wait; else orders may turn out to have none."""
    config = plan.config
    takes_time = any(len(values) for values in (config.offload_times, config.reload_times, config.host_latency, config.host_bandwidth))
    if takes_time or len(config.mem_limit) or any(candidate.memory_limit is not None for candidate in plan) or plan._own:
        return False
    return all(find_strategy(name).offloads for name in {candidate.strategy for candidate in plan})


def runnable_first(plan: "Plan", count: int, progress: Optional[Progress] = None) -> List[Candidate]:
    """The first `count` that fit: those that some runtime runs, by rank, and then the others. MOST_TRIED at most are asked, where
    the plan has not."""
    fitting = [candidate for candidate in plan if candidate.fits]
    asked = [candidate for number, candidate in enumerate(fitting) if number < MOST_TRIED or candidate.runs_on is not None]
    able = list(itertools.islice((candidate for candidate in asked if _is_runnable(plan, candidate, progress)), count))
    return (able + [candidate for candidate in fitting if candidate not in able])[:count]


class BestByRuntime(NamedTuple):
    """For each runtime the best of the `tried` candidates that it runs, or of whose kind it makes an order. alike: names of the latter
    runtimes, which are left out if the plan has checked the runtimes; fitting: number of candidates that could be tried."""

    best: Dict[str, Candidate]
    alike: List[str]
    tried: int
    fitting: int


def best_by_runtime(plan: "Plan", progress: Optional[Progress] = None) -> BestByRuntime:
    """Tries the candidates that fit, by rank, until each runtime has one, but at most MOST_TRIED. Takes all if the plan has checked
    runtimes."""
    fitting = [candidate for candidate in plan if candidate.fits]
    if plan.layers is not None and any(candidate.runs_on is not None for candidate in fitting):
        return best_as_asked(plan)
    best: Dict[str, Candidate] = {}
    alike: List[str] = []
    tried = 0
    for candidate in fitting[:MOST_TRIED]:
        if len(best) == len(RUNTIME_NAMES):
            break
        found, tried = runs_on_candidate(plan, candidate, progress), tried + 1
        new = [name for name in (*found.order, *found.alike) if name not in best]
        alike += [name for name in new if name in found.alike]
        best.update(dict.fromkeys(new, candidate))
    return BestByRuntime(best, alike, tried, len(fitting))


def best_as_asked(plan: "Plan") -> BestByRuntime:
    """The best for each runtime by the checks of the plan, which are for exact orders only."""
    fitting = [candidate for candidate in plan if candidate.fits]
    best: Dict[str, Candidate] = {}
    for candidate in fitting:
        for name in candidate.runs_on or ():
            best.setdefault(name, candidate)
    return BestByRuntime(best, [], len(fitting), len(fitting))


# --- one runtime alone ---

def _reason(reason: str, strategy: str) -> str:
    """A reason without the runtimes that can run it, and without the name of the strategy."""
    return without_others(reason).removeprefix(f"{strategy}: ")


def _may_run(strategy: str, runtime: str) -> bool:
    """Whether the runtime runs a schedule of the strategy for some small problem."""
    for devices, microbatches, chunks in ((4, 8, 1), (4, 8, 2)):
        try:
            generate(strategy, Config(devices, microbatches, chunks * devices)).launch(runtime, layers=2 * chunks * devices)
            return True
        except Error:
            continue
    return False


def _few(names: List[str]) -> str:
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMED - 1])} and {len(names) - MOST_NAMED + 1} others"


class Runnable:
    """The candidates that a runtime can run, checked when they are requested, and why it cannot run the others."""

    def __init__(self, plan: "Plan", runtime: str, progress: Optional[Progress] = None) -> None:
        self._plan, self._runtime, self._progress = plan, runtime, progress
        self._is_planned = plan.runtime is not None and plan.runtime.name.lower() == runtime
        self._reasons: Dict[str, str] = {}  # the first reason of each strategy

    def among(self, candidates: Iterable[Candidate]) -> Iterator[Candidate]:
        if self._is_planned:
            yield from candidates  # the others are refused
            return
        for candidate in candidates:
            try:
                self._plan.iteration(candidate, self._progress).launch(self._runtime, model=self._plan.model(candidate))
            except Refused as error:
                self._reasons.setdefault(candidate.strategy, _reason(str(error), candidate.strategy))
                continue
            yield candidate

    def best(self, count: int) -> List[Candidate]:
        """The first `count` candidates that fit."""
        return list(itertools.islice(self.among(candidate for candidate in self._plan if candidate.fits), count))

    def over_limit(self) -> Iterator[Candidate]:
        """The candidates over their limit, the smallest overshoot first."""
        return self.among(candidate for candidate in self._plan if candidate.status == "over limit")

    def _grouped(self) -> str:
        """The reasons, each with its strategies. If the runtime runs some strategies at other sizes, only theirs."""
        runnable = {strategy: reason for strategy, reason in self._reasons.items() if _may_run(strategy, self._runtime)}
        strategies: Dict[str, List[str]] = {}
        for strategy, reason in (runnable or self._reasons).items():
            strategies.setdefault(reason, []).append(strategy)
        if len(strategies) == 1 and len(self._reasons) > 1 and not runnable:
            return next(iter(strategies))  # the same for all strategies
        return "; ".join(f"{_few(names)}: {reason}" for reason, names in strategies.items())

    def why_none(self) -> str:
        """One line, after all that fit were checked: the reason of each strategy, and the closest candidate that runs."""
        for candidate in self._plan:
            if self._is_planned and candidate.reason:
                self._reasons.setdefault(candidate.strategy, _reason(candidate.reason, candidate.strategy))
        words = f"no candidate that fits runs on {self._runtime}; {self._grouped()}"
        closest = next(self.over_limit(), None)
        if closest is not None:
            words += (f"; closest that does is {closest.strategy} with {counted(closest.chunks, 'chunk')} per device: the largest overshoot "
                      f"of a device is {at_least(closest.overshoot or 0.0)}{self._plan.config.units.after_memory}")
        return words
