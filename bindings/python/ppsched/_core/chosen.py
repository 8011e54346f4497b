# SPDX-License-Identifier: Apache-2.0
"""The chosen candidates of a plan, with the data that launchers need."""
import math
import shlex
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from ._library import decoded, lib
from .candidate import Candidate
from .former_names import with_former
from .launching import launch_row
from .plan_table import candidate_row, split_row
from .progress import ProgressBar
from .runs_on import RunsOn, runs_on_candidate
from .schedule import Schedule
from .timeline import Timeline

if TYPE_CHECKING:
    from .plan import Plan


class Chosen:
    """The chosen candidates, the best first. Schedules are made once, when needed. costs: words of the command for times and memory; batch:
    samples per microbatch, and replicas."""

    def __init__(self, made: "Plan", best: List[Candidate], costs: Optional[List[str]], batch: Tuple[int, int]) -> None:
        self.plan, self.best, self._costs, self._batch = made, best, costs, batch
        self._orders: Dict[int, Schedule] = {}
        self._iterations: Dict[int, Schedule] = {}
        self._timelines: Dict[int, Timeline] = {}

    def order(self, candidate: Candidate) -> Schedule:
        """The order, not lowered, as runtimes lower it themselves."""
        last = self.plan._last
        if candidate.number not in self._orders and last is not None and last[0] == candidate and self.plan.config.iterations == 1:
            self._orders[candidate.number] = last[1]
        if candidate.number not in self._orders:
            with ProgressBar() as bar:
                self._orders[candidate.number] = self.plan.schedule(candidate, bar)
        return self._orders[candidate.number]

    def iteration(self, candidate: Candidate) -> Schedule:
        """One iteration, which runtimes repeat."""
        if self.plan.config.iterations == 1:
            return self.order(candidate)
        if candidate.number not in self._iterations:
            with ProgressBar() as bar:
                self._iterations[candidate.number] = self.plan.iteration(candidate, bar)
        return self._iterations[candidate.number]

    def timeline(self, candidate: Candidate) -> Timeline:
        if candidate.number not in self._timelines:
            self._timelines[candidate.number] = self.plan._timed(self.order(candidate))
        return self._timelines[candidate.number]

    def runs_on(self, candidate: Candidate) -> RunsOn:
        """Which runtimes run a candidate: by the plan's checks, if it made some. Runtimes that make an order of its kind are found here."""
        found = runs_on_candidate(self.plan, candidate)
        return found if candidate.runs_on is None else RunsOn(candidate.runs_on, found.alike)

    def command(self, made: "Plan", candidate: Candidate) -> str:
        micro_batch, replicas = self._batch
        batch = ["--micro-batch-size", str(micro_batch)] if micro_batch else []
        batch += ["--data-parallel-size", str(replicas)] if replicas != 1 else []
        return shlex.join([*made.command(candidate, self._costs), *batch])

    def _split_row(self, candidate: Candidate) -> Dict[str, Any]:
        """The layers of each stage, and its modules for torchtitan's configuration, if torchtitan supports them."""
        layers = self.plan.layers
        if layers is None:
            return {}
        row: Dict[str, Any] = {**split_row(self.plan, candidate), "module_fqns_per_model_part": None}
        layout = layers.layout(self.plan.split(candidate), self.plan.config.devices)
        if layout is not None and layout.mtps == 0:
            row["module_fqns_per_model_part"] = [layout.modules(stage) for stage in range(len(layout.stages))]
        return row

    def row(self, candidate: Candidate, csv: Optional[str]) -> Dict[str, Any]:
        """The data that launchers need for a candidate. csv: the file with its order."""
        timeline, runs = self.timeline(candidate), self.runs_on(candidate)
        devices = timeline.device_metrics
        return {**with_former(candidate_row(candidate, self.plan.config.units)), **self._split_row(candidate),
                "devices": timeline.schedule.devices,
                "memory_limits": [figures.memory_limit if math.isfinite(figures.memory_limit) else None for figures in devices],
                "peak_memory_by_device": [figures.peak_memory for figures in devices],
                "peak_op_by_device": [None if figures.peak_position is None else str(queue[figures.peak_position])
                                      for figures, queue in zip(devices, timeline.schedule.queues)],
                "idle_by_device": [with_former(idle._asdict()) for idle in timeline.idle],
                "runs_on": runs.order, "runnable": bool(runs.order), "runs_alike_on": runs.alike,
                "launch": launch_row(self.iteration(candidate), csv, self.plan.model(candidate), *self._batch),
                "command": self.command(self.plan, candidate), "version": decoded(lib.ppsched_version_text())}
