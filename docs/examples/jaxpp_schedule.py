# SPDX-License-Identifier: Apache-2.0
"""Runs a planned schedule in NVIDIA's JaxPP: PlannedSchedule(num_stages=8, mpmd_dim=4, csv="schedule.csv").

`ppsched schedule ... --launch jaxpp -o schedule.csv` writes the CSV and prints these arguments. The training loop gets n_mubatches.
"""
from dataclasses import dataclass

from jaxpp.schedules import BaseSchedule, FusedTask, Task
from jaxpp.types import MpmdIdx, TaskType

import ppsched

TYPES = {"F": TaskType.FWD, "B": TaskType.BWD, "I": TaskType.BWD_I, "W": TaskType.BWD_W}


@dataclass(eq=True, frozen=True)
class PlannedSchedule(BaseSchedule):
    mpmd_dim: int
    csv: str

    def __post_init__(self):
        super().__post_init__()
        schedule = ppsched.read(self.csv)
        if (schedule.stages, schedule.devices) != (self.num_stages, self.mpmd_dim):
            raise ValueError(f"{self.csv} has {schedule.stages} stages on {schedule.devices} ranks, not {self.num_stages} on "
                             f"{self.mpmd_dim}")
        schedule.launch("jaxpp", csv=self.csv)  # raises ppsched.Refused if JaxPP cannot run it
        splits = any(op.kind.name == "W" for queue in schedule.queues for op in queue)
        object.__setattr__(self, "is_partial_bwd", splits)
        object.__setattr__(self, "_schedule", schedule)

    def get_mpmd_idx(self, stage_id):
        return MpmdIdx(self._schedule.device_of(stage_id))

    def tasks(self, n_mubatches):
        if n_mubatches != self._schedule.microbatches:
            raise ValueError(f"{self.csv} has {self._schedule.microbatches} microbatches, not {n_mubatches}")
        return [self._tasks_of(queue) for queue in self._schedule.queues]

    def _parts(self, op):
        """If the schedule splits some backwards, a whole backward becomes an I and a W."""
        kinds = "IW" if op.kind.name == "B" and self.is_partial_bwd else op.kind.name
        return [Task.make(op.stage, op.microbatch, TYPES[kind]) for kind in kinds]

    def _tasks_of(self, queue):
        tasks, pending = [], []
        for op in queue:
            pending += self._parts(op)
            if not op.overlapped:  # the second op of a pair, or a single op
                tasks.append(pending[0] if len(pending) == 1 else FusedTask(pending))
                pending = []
        return tasks
