# SPDX-License-Identifier: Apache-2.0
"""The text output of pick for the best candidates of a plan."""
from typing import List, Optional, Sequence, Tuple

from .._core.candidate import Candidate
from .._core.chosen import Chosen
from .._core.launching import RUNTIME_NAMES, launch_notes
from .._core.microbatch_map import device_order_line, order_line, order_told
from .._core.plan import Plan
from .._core.plan_table import candidate_name, table
from .._core.progress import ProgressBar
from .._core.runs_on import BestByRuntime, RunsOn, best_as_asked, best_by_runtime
from .._core.slow_devices import differs, slow_devices_line
from .._core.units import BYTES
from .each_runtime import LONG, Own, PlanFor, is_short, lines_of, plan_own, rows_of, table_of, worth_planning
from .rank_map import found_rank_map_line, is_moved, rank_map_line, refusal


class Answer(Chosen):
    """The best candidates and what is printed about them. memory: the unit of memory in text, if it is not the plan's; plan_for:
    makes the same plan for the runtime of a name; able: the only runtimes that may run it (default: all)."""

    def __init__(self, made: Plan, best: List[Candidate], costs: Optional[List[str]], batch: Tuple[int, int],
                 memory: Optional[str] = None, plan_for: Optional[PlanFor] = None, host_gpus: Optional[int] = None,
                 able: Optional[Sequence[str]] = None) -> None:
        super().__init__(made, best, costs, batch)
        self._plan_for, self._host_gpus, self._able = plan_for, host_gpus, RUNTIME_NAMES if able is None else able
        self._units = made.config.units if memory is None else made.config.units._replace(memory=memory)

    def runs_on(self, candidate: Candidate) -> RunsOn:
        return RunsOn(*([name for name in names if name in self._able] for names in super().runs_on(candidate)))

    def launch(self, runtime: Optional[str], csv: Optional[str]) -> List[str]:
        """The launch line of the best candidate, after the runtime's name: for the given runtime, or the first that runs it. Empty if
        none does."""
        best = self.best[0]
        runs = self.runs_on(best)
        told = [one for one in (*runs.order, *runs.alike) if not is_moved(best.device_order) or refusal(one) is None]
        name = runtime or next(iter(told), None)
        if name is None or name not in (*runs.order, *runs.alike):
            return []
        micro_batch, replicas = self._batch
        notes = launch_notes(self.iteration(best), name, self.plan.model(best))
        line = self.iteration(best).launch(name, csv=csv, model=self.plan.model(best), micro_batch=micro_batch, data_parallel=replicas)
        order = [order_told(best.microbatch_order)] if best.microbatch_order else []
        told_line = found_rank_map_line if self.plan._frees_device_order else rank_map_line
        places = [told_line(best.device_order or (), name, self._host_gpus, 1, replicas)] if is_moved(best.device_order) else []
        return [f"{name}: {line}", *places, *(f"note: {text}" for text in (*notes, *order))]

    def _shown(self, candidate: Candidate) -> Candidate:
        """The candidate with its memory in the unit of the text."""
        plan, text = self.plan.config.units.memory, self._units.memory
        if plan is None or text is None or plan == text:
            return candidate
        return candidate._replace(peak_memory=(candidate.peak_memory or 0.0) * BYTES[plan] / BYTES[text])

    def _own(self, found: BestByRuntime) -> Optional[Own]:
        """Plans for the runtimes that do not run the best candidate. None without layers: without splits, a plan for one runtime finds
        nothing new."""
        if self.plan.layers is None or self._plan_for is None:
            return None
        if not is_short(self.plan):
            return Own([], {}, LONG)
        names = [name for name in worth_planning(found, self.best[0]) if name in self._able]
        own = plan_own(found, names, self._plan_for, self.command)
        return own._replace(rows=[row._replace(candidate=self._shown(row.candidate)) for row in own.rows])

    def _runtimes(self) -> List[str]:
        """Lines with the best candidate for each runtime."""
        is_run = bool(self.runs_on(self.best[0]).order)
        if is_run and self.best[0].runs_on is None:
            return []
        with ProgressBar() as bar:
            found = best_as_asked(self.plan) if is_run else best_by_runtime(self.plan, bar)
        own = self._own(found)
        rows = rows_of(found, own, lambda one: self.command(self.plan, one))
        rows = [row._replace(candidate=self._shown(row.candidate)) for row in rows]
        return (table_of(rows, own, self._units, self.plan._ranking_time) if is_run
                else lines_of(found, rows, own, self._units, self.plan._ranking_time))

    def _idle(self) -> List[str]:
        """A line that says how much of the best candidate's idle time is imbalance. Empty if there is none, or if times vary."""
        best = self.best[0]
        imbalance, whole = best.imbalance or 0.0, best.bubble.of_total if best.bubble is not None else 0.0
        if f"{imbalance:.2%}" == f"{0:.2%}" or best.scenario_time is not None:
            return []
        return [f"idle time: {whole:.2%} of total = {imbalance:.2%} from imbalance (devices with less work than the busiest one) + "
                f"{max(0.0, whole - imbalance):.2%} from the pipeline"]

    def _faster(self) -> List[str]:
        """A line: what ranks before the best, as no runtime runs it."""
        first, best = self.plan.best, self.best[0]
        if first is None or first.number == best.number:
            return []
        return [f"faster, but no runtime can run it: {candidate_name(first)}, V = {first.chunks}, step time {first.step_time:.6g}"
                f"{self._units.after_time}; --any ranks only by time"]

    def text(self, colour: bool, chosen: bool) -> str:
        """The table, the parts of the idle time, the best for each runtime unless one was chosen, and the command."""
        runs = {candidate.rank: self.runs_on(candidate) for candidate in self.best}
        lines = [] if chosen else self._runtimes()
        shown = table([self._shown(candidate) for candidate in self.best], everything=True, colour=colour,
                      runs={rank: str(one) for rank, one in runs.items()}, units=self._units)
        order = self.best[0].microbatch_order
        told = [*self._idle(), *([] if chosen else self._faster()), *lines, self.command(self.plan, self.best[0])]
        devices = self.best[0].device_order
        slow = slow_devices_line(self.plan.timeline(self.best[0])) if differs(self.plan.config) else ""
        return shown + (order_line(order) if order else "") + (device_order_line(devices) if devices else "") + slow + "".join(line + "\n" for line in told)
