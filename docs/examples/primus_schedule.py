# SPDX-License-Identifier: Apache-2.0
"""Runs a planned schedule in AMD Primus: call install("schedule.json") before training starts, for example in a patch of the phase
before_train.

Any order with one or two stages per device, or with whole backwards, can run. install() replaces an algorithm of Primus, and returns the
name of this algorithm. In the configuration, set pp_algorithm to this name, patch_primus_pipeline to true, and
num_virtual_stages_per_pipeline_rank to the number of stages per device.
"""
import json

from primus.core.pipeline_parallel.scheduler import schedule_table_factory
from primus.core.pipeline_parallel.scheduler.algorithms.base import PipelineScheduleAlgo
from primus.core.pipeline_parallel.scheduler.scheduler_node import FuncType, SchedulerNode

import ppsched

COMPUTE = {"F": FuncType.F, "BW": FuncType.BW, "B": FuncType.B, "W": FuncType.W}


class PlannedSchedule(PipelineScheduleAlgo):
    """Puts the send and the receive of a value at the time when the value is ready, before the compute ops that start at this time."""

    def __init__(self, pp_size, vpp_size, micro_batches, schedule=None, **_):
        super().__init__(pp_size, vpp_size, micro_batches)
        sizes = (schedule.devices, schedule.stages // schedule.devices, schedule.microbatches)
        if sizes != (pp_size, vpp_size, micro_batches):
            raise ValueError(f"the schedule has {sizes} ranks, stages a rank and microbatches, not "
                             f"{(pp_size, vpp_size, micro_batches)}")
        self.schedule = schedule
        self.nodes = json.loads(schedule.evaluate().export("sail"))
        self.place_of = {node["layer_group_idx"]: (rank, node["chunk"]) for rank, nodes in enumerate(self.nodes) for node in nodes}

    def last_pp_stage_rank(self):
        return self.place_of[self.schedule.stages - 1][0]

    def direction_map(self, rank, chunk, func_type):
        forward = func_type == FuncType.F
        stage = next(stage for stage, place in self.place_of.items() if place == (rank, chunk))
        (before, from_chunk), (behind, to_chunk) = (self.place_of.get(stage + step, (None, None)) for step in
                                                    ((-1, 1) if forward else (1, -1)))
        return {"prev": (before, FuncType.RF if forward else FuncType.RB), "recv_from_chunk": from_chunk,
                "next": (behind, FuncType.SF if forward else FuncType.SB), "send_to_chunk": to_chunk}

    def generate_schedule_table(self):
        table = [[] for _ in range(self.pp_size)]  # (time, compute ops last, node)
        for rank, nodes in enumerate(self.nodes):
            for node in nodes:
                kind, microbatch, chunk = COMPUTE[node["type"]], node["microbatch"], node["chunk"]
                table[rank].append((node["start_time"], True, SchedulerNode(kind, microbatch, chunk, args={})))
                pairs = () if kind == FuncType.W else self.generate_send_recv_nodes_comm_pair(rank, microbatch, chunk, kind)
                for place, transfer in filter(None, pairs):
                    transfer.args["time_step"] = node["completion_time"]
                    table[place].append((node["completion_time"], False, transfer))
        return [[node for *_, node in sorted(row, key=lambda entry: entry[:2])] for row in table]


def algorithm_for(schedule):
    """The algorithm that a schedule replaces. Its name tells Primus the placement of stages."""
    if schedule.stages == schedule.devices:
        return "zero-bubble"
    if schedule.stages == 2 * schedule.devices and schedule.device_of(schedule.stages - 1) == schedule.device_of(0):
        return "zbv-formatted"
    if any(op.kind.name == "W" for queue in schedule.queues for op in queue):
        raise ValueError("Primus splits no backwards of interleaved stages")
    return "1f1b-interleaved"


def install(path):
    schedule = ppsched.read(path)
    for queue in schedule.queues:
        for stage in {op.stage for op in queue}:
            forwards = [op.microbatch for op in queue if op.stage == stage and op.kind.name == "F"]
            if forwards != sorted(forwards):
                raise ValueError(f"Primus takes data in turn; stage {stage} runs its microbatches in the order {forwards}")
    name = algorithm_for(schedule)
    schedule_table_factory.pp_algorithm_map[name] = lambda *sizes, **options: PlannedSchedule(*sizes, schedule=schedule, **options)
    return name
