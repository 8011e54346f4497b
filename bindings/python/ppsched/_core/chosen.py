# SPDX-License-Identifier: Apache-2.0
"""The chosen candidates of a plan, with the data that launchers need."""
import math
import shlex
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, Union

from ._abi import Lowering
from ._library import decoded, lib
from .candidate import Candidate
from .former_names import with_former
from .launching import launch_row
from .plan_table import candidate_row, split_row
from .progress import ProgressBar
from .runs_on import RunsOn, runs_on_candidate
from .schedule import Schedule
from .slow_devices import differs
from .steady import Steady, steady
from .strategy import find_strategy
from .timeline import Timeline

if TYPE_CHECKING:
    from .plan import Plan

LONG = 65536  # stage passes of a candidate, from which on its figures are found without its schedule


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

    def _figures(self, candidate: Candidate) -> Union[Steady, Timeline]:
        """What has the figures of each device: for a rule with many microbatches not the timeline, as few of them tell of all. For searches
        steady() would search again."""
        plan = self.plan
        is_plain = plan.lowering == Lowering.NONE and not candidate.offloaded and not candidate.ordered and candidate.number not in plan._own
        is_long = candidate.stages * candidate.microbatches * candidate.slices >= LONG
        is_rule = is_plain and not find_strategy(candidate.strategy).searches
        if candidate.number in self._timelines or not (is_rule and is_long) or plan.config.iterations != 1 or differs(plan.config):
            return self.timeline(candidate)
        if find_strategy(candidate.strategy).offloads:
            return self.timeline(candidate)
        with ProgressBar() as bar:
            return steady(candidate.strategy, plan.config_of(candidate), progress=bar)

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
        figures, runs = self._figures(candidate), self.runs_on(candidate)
        timed = figures.schedule if isinstance(figures, Timeline) else self.order(candidate)
        devices = figures.device_metrics
        return {**with_former(candidate_row(candidate, self.plan.config.units)), **self._split_row(candidate),
                "devices": timed.devices,
                "memory_limits": [device.memory_limit if math.isfinite(device.memory_limit) else None for device in devices],
                "peak_memory_by_device": [device.peak_memory for device in devices],
                "peak_op_by_device": [None if device.peak_position is None else str(queue[device.peak_position])
                                      for device, queue in zip(devices, timed.queues)],
                "idle_by_device": [with_former(idle._asdict()) for idle in figures.idle],
                "runs_on": runs.order, "runnable": bool(runs.order), "runs_alike_on": runs.alike,
                "launch": launch_row(self.iteration(candidate), csv, self.plan.model(candidate), *self._batch),
                "command": self.command(self.plan, candidate), "version": decoded(lib.ppsched_version_text())}
