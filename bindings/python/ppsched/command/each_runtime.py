# SPDX-License-Identifier: Apache-2.0
"""Lines with the best candidate that each runtime runs: from the plan for any runtime, or from a plan for that runtime alone, which has
other splits and recomputation."""
import math
import os
import threading
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

from .._core.candidate import Candidate
from .._core.launching import RUNTIME_NAMES
from .._core.listener import Progress
from .._core.plan import Plan
from .._core.plan_table import candidate_name
from .._core.progress import ProgressBar
from .._core.runs_on import BestByRuntime, best_as_asked
from .._core.text_table import Column, laid_out
from .._core.units import Units
from .._core.words import counted

PlanFor = Callable[[str, Progress], Tuple[Plan, str]]  # for a runtime's name: the plan for it alone, and the reason if nothing fits
RankingTime = Callable[[Candidate], float]
MOST_FORWARDS = 8_000_000  # of all candidates of a plan, if it is made again for each runtime
HINT = "--runtime NAME plans for one runtime, and prints its launch arguments"
LONG = f"the best candidate of this plan for each runtime, because a plan for each runtime would take long with so many microbatches; {HINT}"


class Row(NamedTuple):
    """A candidate, the runtimes whose best it is, and the command that builds it."""

    names: List[str]
    candidate: Candidate
    command: str


class Own(NamedTuple):
    """Plans for one runtime alone: their best candidates, and by runtime why there is none; hint: what else to try."""

    rows: List[Row]
    reasons: Dict[str, str]
    hint: str = HINT


def _at_once(names: List[str], plan_for: PlanFor) -> List[Tuple[Plan, str]]:
    """Makes as many plans at a time as there are processors. An error or Ctrl-C in one of them ends all."""
    from concurrent.futures import ThreadPoolExecutor, as_completed  # not needed by most commands
    stopped = threading.Event()

    def watch(*_: float) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt

    with ThreadPoolExecutor(min(len(names), os.cpu_count() or 1)) as pool, ProgressBar() as bar:
        try:
            plans = [pool.submit(plan_for, name, watch) for name in names]
            for number, _ in enumerate(as_completed(plans), 1):
                bar(number / len(names), math.inf)
            return [plan.result() for plan in plans]
        except BaseException:
            stopped.set()
            raise


def _best_of_all(plans: Dict[str, Plan]) -> Dict[str, Tuple[Plan, Candidate]]:
    """For each runtime the best candidate that it runs, from its own plan or from that of another runtime."""
    best: Dict[str, Tuple[Plan, Candidate]] = {}
    for own, made in plans.items():
        found = best_as_asked(made).best
        if made.best is not None:
            found[own] = made.best
        for name, candidate in found.items():
            if name not in best or made._ranking_time(candidate) < best[name][0]._ranking_time(best[name][1]):
                best[name] = made, candidate
    return best


def plan_own(found: BestByRuntime, names: List[str], plan_for: PlanFor, command: Callable[[Plan, Candidate], str]) -> Own:
    """Makes plans for these runtimes. The result has, for each runtime, the best of all these plans if it is better than `found`."""
    planned = dict(zip(names, _at_once(names, plan_for) if names else []))
    best = _best_of_all({name: made for name, (made, _) in planned.items()})
    own = Own([], {})
    for name in RUNTIME_NAMES:
        known = found.best.get(name)
        made, candidate = best.get(name, (None, None))
        if made is not None and candidate is not None and (known is None or made._ranking_time(candidate) < made._ranking_time(known)):
            own.rows.append(Row([name], candidate, command(made, candidate)))
        elif known is None and name in planned:
            own.reasons[name] = planned[name][1].removeprefix(f"no candidate that fits runs on {name}; ")
    return own


def is_short(plan: Plan) -> bool:
    """Whether a plan for each runtime takes seconds, not minutes."""
    return sum(candidate.stages * candidate.microbatches for candidate in plan) <= MOST_FORWARDS


def worth_planning(found: BestByRuntime, best: Candidate) -> List[str]:
    """The runtimes that do not run the best candidate."""
    return [name for name in RUNTIME_NAMES if name not in found.best or found.best[name].number != best.number]


def missing_of(found: BestByRuntime) -> List[str]:
    return [name for name in RUNTIME_NAMES if name not in found.best]


def rows_of(found: BestByRuntime, own: Optional[Own], command: Callable[[Candidate], str]) -> List[Row]:
    """One row per candidate, without the runtimes whose own plan has a better one. Runtimes that make their own order of this kind are
    in brackets."""
    names: Dict[int, List[str]] = {}
    best = {name: candidate for name, candidate in found.best.items() if not any(name in row.names for row in (own.rows if own else []))}
    for name, candidate in best.items():
        names.setdefault(candidate.number, []).append(f"({name})" if name in found.alike else name)
    candidates = {candidate.number: candidate for candidate in best.values()}
    return [Row(names[number], candidate, command(candidate)) for number, candidate in candidates.items()]


def _joined(rows: List[Row], own: Optional[Own], time: RankingTime) -> List[Row]:
    """All rows, the best first; rows with the same command become one."""
    joined: Dict[str, Row] = {}
    for row in [*rows, *(own.rows if own else [])]:
        same = joined.setdefault(row.command, row._replace(names=[]))
        same.names.extend(row.names)
    return sorted(joined.values(), key=lambda row: time(row.candidate))


def _reasons(own: Own) -> List[str]:
    return [f"{name}: {reason}" for name, reason in own.reasons.items()]


def _figures(candidate: Candidate, units: Units) -> str:
    varying = "" if candidate.scenario_time is None else f"{candidate.scenario_time:.6g}{units.after_time} in scenarios, "
    return (f"{candidate_name(candidate)}, V = {candidate.chunks}, step time {candidate.step_time:.6g}{units.after_time}, {varying}"
            f"peak memory {candidate.peak_memory:.6g}{units.after_memory}")


def _tried(found: BestByRuntime) -> str:
    if found.tried < found.fitting:
        return f"the {found.tried} best candidates that fit (of {found.fitting})"
    return "the only candidate that fits" if found.tried == 1 else f"the {counted(found.tried, 'candidate')} that fit"


def lines_of(found: BestByRuntime, rows: List[Row], own: Optional[Own], units: Units, time: RankingTime) -> List[str]:
    """For a best candidate that no runtime runs: for each candidate a line, and below it the command that builds it. own: None without
    layers."""
    joined, missing, lines = _joined(rows, own, time), missing_of(found), []
    if not joined:
        return [f"no runtime can run {'' if found.tried == 1 else 'any of '}{_tried(found)}", *(_reasons(own) if own else [])]
    for row in joined:
        lines += [f"best candidate that {', '.join(row.names)} can run: {_figures(row.candidate, units)}", f"    {row.command}"]
    if own is not None:
        return [*lines, *_reasons(own), own.hint]
    return [*lines, f"{', '.join(missing)}: cannot run any of {_tried(found)}"] if missing else lines


def table_of(rows: List[Row], own: Optional[Own], units: Units, time: RankingTime) -> List[str]:
    """The same as a table with one row per candidate, if some runtime runs the best. Empty if all other runtimes run nothing."""
    joined = _joined(rows, own, time)
    reasons = _reasons(own) if own else []
    if len(joined) < 2:
        return reasons
    times = [("step time", [row.candidate.step_time for row in joined]), ("in scenarios", [row.candidate.scenario_time for row in joined])]
    figures = [[units.heading(heading, "time"), *(f"{value:.6g}" for value in column)] for heading, column in times if None not in column]
    cells = [("best for each runtime", "strategy", "V", *(column[0] for column in figures)),
             *((" ".join(row.names), candidate_name(row.candidate), str(row.candidate.chunks), *column)
               for row, *column in zip(joined, *(column[1:] for column in figures)))]
    lines = laid_out([Column(heading, column, left=number < 2, leaves=int(number == 0), breaks=" (" if number == 1 else "")
                      for number, (heading, *column) in enumerate(zip(*cells))], texts=2)
    return [*(part for line in lines for part in line.splitlines()), *reasons, *([own.hint] if own else [])]
