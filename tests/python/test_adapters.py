# SPDX-License-Identifier: Apache-2.0
"""The documentation's examples that hand schedules to training frameworks, with stand-ins for the data types of these alone."""
import dataclasses
import enum
import importlib
import os
import pathlib
import sys
import tempfile
import types
import unittest

import ppsched

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"


def modules(**named):
    """Puts modules with these members where an import finds them; "__" is a dot."""
    for name, members in named.items():
        path = name.split("__")
        for i in range(1, len(path) + 1):
            module = sys.modules.setdefault(".".join(path[:i]), types.ModuleType(".".join(path[:i])))
            if i > 1:
                setattr(sys.modules[".".join(path[:i - 1])], path[i - 1], module)
        for key, value in members.items():
            setattr(module, key, value)


class TaskType(enum.Enum):
    FWD, BWD, BWD_I, BWD_W = "F", "B", "I", "W"


class Task(tuple):
    @classmethod
    def make(cls, stage_id, mubatch_idx, kind):
        return cls((stage_id, kind.value, mubatch_idx))


class FusedTask(tuple):
    pass


@dataclasses.dataclass(eq=True, frozen=True)
class BaseSchedule:
    num_stages: int
    is_partial_bwd: bool = dataclasses.field(default=False, init=False)

    def __post_init__(self):
        assert self.num_stages > 0


@dataclasses.dataclass(frozen=True)
class ScheduledNode:
    type: str
    chunk: int
    stage: int
    minibatch: int
    start_time: int = 0
    completion_time: int = 0
    rollback: bool = False


class FuncType(enum.Enum):
    F, B, W, BW, SF, SB, RF, RB = range(8)

    def reverse(self):
        return FuncType[{"S": "R", "R": "S"}[self.name[0]] + self.name[1]]


@dataclasses.dataclass
class SchedulerNode:
    func_type: FuncType
    mini_batch: int
    chunk: int
    args: dict = None


class PipelineScheduleAlgo:
    def __init__(self, pp_size, vpp_size, micro_batches):
        self.pp_size, self.vpp_size, self.micro_batches = pp_size, vpp_size, micro_batches

    def generate_send_recv_nodes_comm_pair(self, rank, mini_batch, chunk, func_type):
        way = self.direction_map(rank, chunk, func_type)
        to, kind = way["next"]
        if to is None:
            return None, None
        ranks = {"from_pp_rank": rank, "to_pp_rank": to}
        return ((rank, SchedulerNode(kind, mini_batch, chunk, dict(ranks))),
                (to, SchedulerNode(kind.reverse(), mini_batch, way["send_to_chunk"], {**ranks, "recv_from_chunk": chunk})))


modules(jaxpp__types={"MpmdIdx": int, "TaskType": TaskType},
        jaxpp__schedules={"BaseSchedule": BaseSchedule, "Task": Task, "FusedTask": FusedTask},
        colossalai__pipeline__schedule__v_schedule={"ScheduledNode": ScheduledNode},
        primus__core__pipeline_parallel__scheduler__schedule_table_factory={"pp_algorithm_map": {}},
        primus__core__pipeline_parallel__scheduler__algorithms__base={"PipelineScheduleAlgo": PipelineScheduleAlgo},
        primus__core__pipeline_parallel__scheduler__scheduler_node={"FuncType": FuncType, "SchedulerNode": SchedulerNode})
sys.path.insert(0, str(EXAMPLES))
jaxpp_schedule, colossalai_nodes, primus_schedule = map(importlib.import_module,
                                                        ("jaxpp_schedule", "colossalai_nodes", "primus_schedule"))


def generate(strategy, devices, stages, microbatches):
    return ppsched.generate(strategy, ppsched.Config(devices, microbatches, stages))


def ops_of(schedule, split):
    """The ops of each device; where backwards are split, a B is its I and W."""
    return [[(op.stage, kind, op.microbatch) for op in queue for kind in ("IW" if split and op.kind.name == "B" else op.kind.name)]
            for queue in schedule.queues]


class AdapterTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(folder.name)

    def write(self, schedule, name):
        pathlib.Path(name).write_text(schedule.export(name.split(".")[1]), encoding="utf-8")
        return name

    def test_jaxpp(self):
        for strategy, devices, stages in (("1f1b", 3, 3), ("zb_h2", 3, 3), ("dualpipe_v", 2, 4), ("interleaved_1f1b_overlap", 2, 6)):
            schedule = generate(strategy, devices, stages, 6)
            planned = jaxpp_schedule.PlannedSchedule(num_stages=stages, mpmd_dim=devices, csv=self.write(schedule, "a.csv"))
            tasks = planned.tasks(6)
            flat = [[part for task in row for part in (task if isinstance(task, FusedTask) else (task,))] for row in tasks]
            self.assertEqual(flat, ops_of(schedule, planned.is_partial_bwd))
            self.assertEqual([planned.get_mpmd_idx(s) for s in range(stages)], [schedule.device_of(s) for s in range(stages)])
            self.assertEqual(any(isinstance(task, FusedTask) for row in tasks for task in row),
                             "dualpipe" in strategy or "overlap" in strategy)
            with self.assertRaisesRegex(ValueError, "has 6 microbatches, not 5"):
                planned.tasks(5)
            with self.assertRaisesRegex(ValueError, "stages on"):
                jaxpp_schedule.PlannedSchedule(num_stages=stages + 1, mpmd_dim=devices, csv="a.csv")
        with self.assertRaisesRegex(ppsched.Refused, "JaxPP runs I and W of the first stage together"):
            jaxpp_schedule.PlannedSchedule(4, 4, self.write(generate("zb_auto", 4, 4, 8), "b.csv"))

    def test_colossalai(self):
        for strategy in ("zbv", "v_half", "v_1f1b"):
            schedule = generate(strategy, 3, 6, 6)
            nodes = colossalai_nodes.nodes_of(self.write(schedule, "a.csv"))
            own = [[({"B": "I"}.get(node.type, node.type), node.chunk, node.minibatch) for node in row if len(node.type) == 1]
                   for row in nodes]
            self.assertEqual(own, [[(kind, stage // 3, m) for stage, kind, m in row] for row in ops_of(schedule, True)])
            kinds = [node.type for row in nodes for node in row]
            for end in ("FORWARD", "BACKWARD"):
                self.assertEqual(kinds.count("SEND_" + end), 4 * 6)
                self.assertEqual(kinds.count("RECV_" + end), 4 * 6)
        with self.assertRaisesRegex(ppsched.Refused, "Colossal-AI needs a multiple of 3 microbatches"):
            colossalai_nodes.nodes_of(self.write(generate("zbv", 3, 6, 7), "b.csv"))

    def check_table(self, schedule, algorithm):
        self.assertEqual(primus_schedule.install(self.write(schedule, "a.json")), algorithm)
        sizes = (schedule.devices, schedule.stages // schedule.devices, schedule.microbatches)
        instance = primus_schedule.schedule_table_factory.pp_algorithm_map[algorithm](*sizes, offload=False)
        self.assertEqual(instance.last_pp_stage_rank(), schedule.device_of(schedule.stages - 1))
        stage_of = {place: stage for stage, place in instance.place_of.items()}
        names = {FuncType.F: "F", FuncType.BW: "B", FuncType.B: "I", FuncType.W: "W"}
        table = instance.generate_schedule_table()
        own = [[(stage_of[rank, node.chunk], names[node.func_type], node.mini_batch) for node in row if node.func_type in names]
               for rank, row in enumerate(table)]
        self.assertEqual(own, ops_of(schedule, False))
        for rank, row in enumerate(table):
            for other in range(len(table)):
                sent = [(node.func_type.name[1], node.mini_batch, node.args["time_step"]) for node in row
                        if node.func_type.name[0] == "S" and node.args["to_pp_rank"] == other]
                got = [(node.func_type.name[1], node.mini_batch, node.args["time_step"]) for node in table[other]
                       if node.func_type.name[0] == "R" and node.args["from_pp_rank"] == rank]
                self.assertEqual(sent, got)
        with self.assertRaisesRegex(ValueError, "ranks, stages a rank and microbatches"):
            primus_schedule.schedule_table_factory.pp_algorithm_map[algorithm](9, 9, 9)

    def test_primus(self):
        self.check_table(generate("zb_h2", 3, 3, 6), "zero-bubble")
        self.check_table(generate("gpipe", 3, 3, 6), "zero-bubble")
        self.check_table(generate("v_min", 3, 6, 5), "zbv-formatted")
        self.check_table(generate("interleaved_1f1b", 3, 9, 5), "1f1b-interleaved")
        with self.assertRaisesRegex(ValueError, "splits no backwards"):
            primus_schedule.install(self.write(generate("interleaved_zb", 3, 6, 6), "b.json"))
        turned = ppsched.Schedule.from_text("0F1,0F0,0B1,0B0\n1F1,1B1,1F0,1B0\n", "csv")
        with self.assertRaisesRegex(ValueError, r"takes data in turn; stage 0 .* \[1, 0\]"):
            primus_schedule.install(self.write(turned, "b.json"))


if __name__ == "__main__":
    unittest.main()
