# SPDX-License-Identifier: Apache-2.0
"""The Python package: natural objects, zero-copy views, exceptions with the library's message."""
import copy
import csv
import ctypes
import gc
import importlib.util
import io
import math
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

import ppsched
from ppsched._core import _abi, _abi_version, _library, finding
from ppsched._core.enums import names_of
from ppsched._core.exporting import FORMAT_NAMES, export_format
from ppsched._core.progress import ProgressBar


def timeline_of(strategy, **problem):
    return ppsched.generate(strategy, ppsched.Config(**problem)).evaluate()


class ScheduleTest(unittest.TestCase):
    def test_queues_and_metrics(self):
        timeline = timeline_of("1f1b", devices=4, microbatches=8)
        schedule = timeline.schedule
        self.assertEqual(" ".join(map(str, schedule.queues[2])), "2F0 2F1 2B0 2F2 2B1 2F3 2B2 2F4 2B3 2F5 2B4 2F6 2B5 2F7 2B6 2B7")
        self.assertEqual((schedule.name, schedule.devices, schedule.stages, schedule.microbatches, schedule.iterations, len(schedule)),
                         ("1f1b", 4, 4, 8, 1, 64))
        self.assertEqual(schedule.placement, ppsched.Placement.LINEAR)
        self.assertEqual(timeline.metrics.makespan, 33)
        self.assertEqual(timeline.metrics.bubble, (9 / 33, 9 / 24, timeline.metrics.bubble.of_span))
        self.assertIsNone(timeline.metrics.limit_device)
        self.assertEqual([device.peak_memory for device in timeline.device_metrics], [4, 3, 2, 1])
        self.assertEqual(timeline.spans[3][0], (3, 4))
        self.assertEqual(timeline.slack[3], [0] * 16)
        self.assertEqual(timeline.memory(3)[:3], [(0, 0), (3, 1), (6, 0)])

    def test_ops_read_their_own_tokens(self):
        for token in ("3F0", "12B7", "0I1", "4W2", "1SEND_F3", "0UNSHARD"):
            self.assertEqual(str(ppsched.Op.from_token(token)), token)
        for token in ("", "F0", "3F", "3X0", "0UNSHARD1", "3f0", "3F-1", "1" * 5000 + "F0", "\u0663F0"):
            with self.assertRaises(ppsched.Error, msg=token):
                ppsched.Op.from_token(token)

    def test_a_schedule_s_config_has_its_placement(self):
        """So queues and config make it again, for all strategies, lowered or not, and what a plan has."""
        for strategy in ppsched.strategies():
            for stages in (4, 8):
                config = ppsched.Config(devices=4, microbatches=8, stages=stages)
                try:
                    schedule = ppsched.generate(strategy.name, config)
                except ppsched.Refused:
                    continue
                again = ppsched.Schedule.from_queues(schedule.config, schedule.queues, flushes=schedule.flushes)
                self.assertEqual([[again.device_of(stage, m) for stage in range(stages)] for m in range(8)],
                                 [[schedule.device_of(stage, m) for stage in range(stages)] for m in range(8)])
                self.assertEqual(again.check(), [], strategy.name)
                self.assertEqual(again.evaluate().metrics.makespan, schedule.evaluate().metrics.makespan)
                self.assertEqual(config.placement, ppsched.Placement.DEFAULT)
                if not strategy.searches_long:
                    twice = ppsched.generate(strategy.name, schedule.config)
                    self.assertEqual([list(queue) for queue in twice.queues], [list(queue) for queue in schedule.queues])
        schedule = ppsched.generate("zbv", ppsched.Config(4, 8, 8))
        for made in (schedule.lower("just_in_time"), schedule.recompute(), schedule.renumber(), schedule.evaluate().schedule):
            self.assertEqual(made.config.placement, ppsched.Placement.V)
            self.assertEqual(ppsched.Schedule.from_queues(made.config, made.queues).check(), [])
        plan = ppsched.plan(ppsched.Config(4, 8, 4), strategies=["zbv", "dualpipe_v", "interleaved_1f1b", "dualpipe"])
        for candidate in plan:
            if candidate.status == "fits":
                made = plan.schedule(candidate)
                self.assertEqual(ppsched.Schedule.from_queues(plan.config_of(candidate), made.queues).check(), [], candidate.strategy)

    def test_own_schedule(self):
        config = ppsched.Config(devices=2, microbatches=2)
        queues = [["0F0", "0F1", "0B0", "0B1"], ["1F0", ppsched.Op(1, ppsched.Kind.F, 1, overlapped=True), "1B0", "1B1"]]
        schedule = ppsched.Schedule.from_queues(config, queues, name="mine")
        self.assertEqual(schedule.check(), [])
        self.assertEqual(schedule.export("csv"), "0F0,0F1,0B0,0B1\n1F0,(1F1;1B0)OVERLAP_F_B,1B1\n")
        self.assertEqual(schedule.evaluate().metrics.makespan, 9)

    def test_findings(self):
        config = ppsched.Config(devices=2, microbatches=2)
        schedule = ppsched.Schedule.from_queues(config, {1: ["1F0", "1F1", "1B0", "1B1"], 0: ["0F0", "0B0", "0F1", "0B1"]})
        findings = schedule.check()
        self.assertEqual([finding.kind for finding in findings], [ppsched.FindingKind.CYCLE] * 2)
        self.assertEqual((findings[0].device, str(findings[0].op), str(findings[0].other)), (0, "0B0", "1B0"))
        with self.assertRaises(ppsched.InvalidSchedule) as caught:
            schedule.evaluate()
        self.assertIn("deadlock: device 0 waits at position 1 (0B0) for 1B0", str(caught.exception))
        self.assertEqual(caught.exception.device, 0)

    def test_generator_function(self):
        def my_gpipe(config, builder):
            for device in range(config.devices):
                builder.append(device, *(f"{device}F{m}" for m in range(config.microbatches)))
                builder.append(device, *(f"{device}B{m}" for m in range(config.microbatches)))

        schedule = ppsched.generate(my_gpipe, ppsched.Config(devices=3, microbatches=4))
        self.assertEqual(schedule.name, "my_gpipe")
        self.assertEqual(schedule.export("csv"),
                         ppsched.generate("gpipe", ppsched.Config(devices=3, microbatches=4)).export("csv"))

    def test_generator_function_that_raises(self):
        def broken(config, builder):
            raise KeyError("mine")

        with self.assertRaises(KeyError):
            ppsched.generate(broken, ppsched.Config(devices=3, microbatches=4))
        with self.assertRaisesRegex(ppsched.InvalidSchedule, "0F0 is missing"):
            ppsched.generate(lambda config, builder: None, ppsched.Config(devices=3, microbatches=4))

    def test_builder_ends_with_its_generator(self):
        kept = []

        def order(config, builder):
            kept.append(builder)
            builder.append(0, "0F0", "0B0")

        ppsched.generate(order, ppsched.Config(1, 1))
        for misuse in (lambda: kept[0].append(0, "0F0"), kept[0].finish):
            with self.assertRaisesRegex(ppsched.Error, "builder is NULL"):
                misuse()

    def test_copies(self):
        config = ppsched.Config(4, 8, forward_times=3)
        schedule = ppsched.generate("1f1b", config)
        timeline = schedule.evaluate()
        self.assertIs(copy.copy(schedule), schedule)
        self.assertIs(copy.deepcopy(timeline), timeline)
        other = copy.copy(config)
        del config
        gc.collect()
        self.assertEqual((other.devices, other.forward_times), (4, [3]))
        for thing in (schedule, timeline, ppsched.Builder(other)):
            with self.assertRaises(TypeError):
                pickle.dumps(thing)

    def test_exceptions_during_an_export_come_out(self):
        timeline = timeline_of("1f1b", devices=4, microbatches=8)
        with mock.patch.object(ctypes, "string_at", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            timeline.export("json")

    def test_numbers_that_c_would_wrap(self):
        timeline = timeline_of("1f1b", devices=2, microbatches=2)
        self.assertIsNone(timeline.schedule.device_of(2**32))
        with self.assertRaises(IndexError):
            timeline.memory(2**32)
        for op in (ppsched.Op(0, 257, 0), ppsched.Op(-1, 99, 0), ppsched.Op(2**16, ppsched.Kind.F, 0)):
            with self.assertRaisesRegex(ppsched.Error, "out of range"):
                ppsched.Builder(ppsched.Config(1, 1)).append(0, op)

    def test_texts_that_c_would_cut(self):
        for name in ("1f1b\0zzz", "\ud800"):
            with self.assertRaises(ppsched.Error):
                ppsched.generate(name, ppsched.Config(1, 1))

    def test_any_order_of_release(self):
        timeline = timeline_of("zb_h1", devices=4, microbatches=8)
        view, spans = timeline.schedule.queues[0], timeline.spans[0]
        first = (view[0], spans[0])
        del timeline
        gc.collect()
        self.assertEqual((view[0], spans[0]), first)

    def test_every_format(self):
        timeline = ppsched.generate("1f1b", ppsched.Config(2, 4)).evaluate()
        names = ["text", "csv", "json", "chrome", "megatron", "deepspeed", "sail"]
        self.assertEqual(names, [name for name in FORMAT_NAMES if name in names])
        for name in FORMAT_NAMES:
            self.assertEqual(timeline.export(name), timeline.export(export_format(name)))
        self.assertEqual(sorted(map(export_format, FORMAT_NAMES)), list(ppsched.Format))


class ReadTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(folder.cleanup)

    def test_round_trip(self):
        schedule = ppsched.generate("dualpipe", ppsched.Config(4, 8, iterations=2))
        for format in ("csv", "json"):
            path = self.folder / f"a.{format}"
            path.write_text(schedule.export(format), encoding="utf-8")
            for again in (ppsched.read(path), ppsched.Schedule.read(str(path), format), ppsched.Schedule.from_text(path.read_bytes(), format),
                          ppsched.Schedule.from_text(schedule.export(format), ppsched.Format[format.upper()])):
                self.assertEqual([list(queue) for queue in again.queues], [list(queue) for queue in schedule.queues])
                self.assertEqual((again.placement, again.iterations, again.flushes), (schedule.placement, 2, True))
                self.assertEqual(again.name, "dualpipe" if format == "json" else "custom")
                self.assertEqual(again.evaluate().metrics, schedule.evaluate().metrics)

    def test_real_files_of_pytorch(self):
        files = sorted((pathlib.Path(__file__).resolve().parents[1] / "golden" / "csv").glob("*.csv"))
        self.assertEqual(len(files), 10)
        for path in files:
            schedule = ppsched.read(path)
            self.assertEqual(schedule.check(), [], path)
            with open(path, encoding="utf-8", newline="") as file:
                rows = [[cell for cell in row if cell] for row in csv.reader(file)]
            self.assertEqual(list(csv.reader(io.StringIO(schedule.export("csv")))), rows)
            self.assertEqual(ppsched.Schedule.from_text(schedule.export("json"), "json").export("csv"), schedule.export("csv"))

    def test_lists_and_config(self):
        text = ppsched.generate("1f1b", ppsched.Config(2, 2)).export("csv")
        schedule = ppsched.Schedule.from_text(text, "csv", forward_times=[1, 2], p2p_time=0.5)
        self.assertEqual(schedule.config.forward_times, [1, 2])
        self.assertEqual(schedule.evaluate().metrics,
                         ppsched.generate("1f1b", ppsched.Config(2, 2, forward_times=[1, 2], p2p_time=0.5)).evaluate().metrics)
        with self.assertRaisesRegex(ppsched.Error, "give 1 for all stages or 2"):
            ppsched.Schedule.from_text(text, "csv", forward_times=[1, 2, 3])
        with self.assertRaisesRegex(TypeError, "no argument 'forward_time'"):
            ppsched.Schedule.from_text(text, "csv", forward_time=1)

    def test_devices_of_all_iterations(self):
        """Of two model copies the second half of each iteration's microbatches runs the other way; beyond the last there is none."""
        schedule = ppsched.generate("dualpipe", ppsched.Config(4, 10, iterations=2))
        for microbatch in range(20):
            other_way = microbatch % 10 >= 5
            self.assertEqual([schedule.device_of(stage, microbatch) for stage in range(4)],
                             [3, 2, 1, 0] if other_way else [0, 1, 2, 3])
        self.assertIsNone(schedule.device_of(0, 20))
        self.assertIsNone(schedule.device_of(4, 19))

    def test_placement_map(self):
        schedule = ppsched.Schedule.from_text("2F0,2B0\n0F0,1F0,1B0,0B0\n", "csv")
        self.assertEqual([schedule.device_of(stage) for stage in range(3)], [1, 1, 0])
        self.assertEqual(schedule.evaluate().metrics.makespan, 9)
        again = ppsched.Schedule.from_text(schedule.export("json"), "json")
        self.assertEqual(again.export("json"), schedule.export("json"))

    def test_what_is_refused(self):
        with self.assertRaises(ppsched.Error) as caught:
            ppsched.Schedule.from_text("0F0,0B0\n1F0,1BW0\n", "csv")
        self.assertEqual((caught.exception.status, caught.exception.device, caught.exception.position),
                         (ppsched.Status.ERROR_SYNTAX, 1, 1))
        self.assertIn('rank 1, column 1: cannot read "1BW0": BW is', str(caught.exception))
        path = self.folder / "a.csv"
        path.write_text("0F", encoding="utf-8")
        with self.assertRaisesRegex(ppsched.Error, "a.csv: rank 0, column 0: .* its microbatch is missing") as caught:
            ppsched.read(path)
        self.assertEqual(caught.exception.device, 0)
        with self.assertRaises(FileNotFoundError):
            ppsched.read(self.folder / "none.csv")
        for misuse in (lambda: ppsched.read("a.txt"), lambda: ppsched.Schedule.from_text("0F0", "text"),
                       lambda: ppsched.Schedule.from_text(0, "csv"), lambda: ppsched.Schedule.from_text("\ud800", "csv"),
                       lambda: ppsched.Schedule.from_text("0F0", ppsched.Format.TEXT),
                       lambda: ppsched.Schedule.from_text(b"0F0\0", "csv"), lambda: ppsched.Schedule.from_text("", "csv")):
            with self.assertRaises(ppsched.Error):
                misuse()


class ViewTest(unittest.TestCase):
    def test_memory_is_the_library_s_own_and_read_only(self):
        schedule = ppsched.generate("1f1b", ppsched.Config(devices=2, microbatches=3))
        memory = schedule.queues[0].memory
        self.assertEqual((len(memory), memory.itemsize, memory.readonly), (6, 12, True))
        again = schedule.queues[0].memory
        self.assertEqual(ctypes.addressof(schedule.queues[0]._records), ctypes.addressof(again.obj))

    def test_sequence(self):
        view = ppsched.generate("1f1b", ppsched.Config(devices=2, microbatches=3)).queues[1]
        self.assertEqual([str(op) for op in view[1:3]], ["1B0", "1F1"])
        self.assertEqual(str(view[-1]), "1B2")
        with self.assertRaises(IndexError):
            view[6]

    @unittest.skipUnless(importlib.util.find_spec("numpy"), "numpy is not installed")
    def test_numpy(self):
        import numpy
        timeline = timeline_of("1f1b", devices=2, microbatches=3)
        self.assertEqual(ppsched.Config(2, 2, forward_times=numpy.array(5.0)).forward_times, [5.0])
        self.assertEqual(ppsched.Config(2, 2, forward_times=[numpy.array(5.0), 6]).forward_times, [5.0, 6.0])
        self.assertEqual(ppsched.Config(2, 2, mem_limit=numpy.float64(5), p2p_time=numpy.ones((2, 2))).p2p_time, [1.0] * 4)
        for chunks in (numpy.array([1, 2]), numpy.array(2), numpy.int64(2)):
            self.assertEqual(max(candidate.chunks for candidate in ppsched.plan(ppsched.Config(2, 2), chunks=chunks)), 2)
        spans = numpy.asarray(timeline.spans[1])
        self.assertEqual((spans["end"] - spans["start"]).tolist(), [1, 2, 1, 2, 1, 2])
        self.assertFalse(spans.flags.writeable)
        self.assertEqual(spans.ctypes.data, ctypes.addressof(timeline.spans[1]._records))
        self.assertEqual(numpy.asarray(timeline.schedule.queues[0])["kind"].tolist(), [1, 1, 2, 1, 2, 2])
        self.assertEqual(numpy.asarray(timeline.latest_starts[0]).dtype, numpy.float64)


class ConfigTest(unittest.TestCase):
    def expect(self, part, **problem):
        with self.assertRaises(ppsched.Error) as caught:
            timeline_of("1f1b", **problem)
        self.assertIn(part, str(caught.exception))
        return caught.exception

    def test_bad_sizes(self):
        self.expect("number of devices is 0", devices=0, microbatches=1)
        self.expect("number of microbatches is -1", devices=1, microbatches=-1)
        self.expect("number of devices is 4294967296", devices=2**32, microbatches=1)
        self.expect("which is out of range for the library's integers", devices=2**64, microbatches=1)
        self.expect("devices must be an integer, not 2.0", devices=2.0, microbatches=1)
        self.expect("microbatches must be an integer, not True", devices=2, microbatches=True)

    def test_bad_lists(self):
        error = self.expect("forward_times of stage 1 is NaN", devices=2, microbatches=1, forward_times=[1, float("nan")])
        self.assertEqual((error.status, error.stage), (ppsched.Status.ERROR_RANGE, 1))
        self.expect("give 1 for all stages or 2", devices=2, microbatches=1, forward_times=[1, 2, 3])
        self.expect("must be a number or a list of numbers, not '1'", devices=2, microbatches=1, forward_times="1")
        self.expect("must hold numbers, not None", devices=2, microbatches=1, forward_times=[None])
        self.expect("forward_times is an empty list", devices=2, microbatches=1, forward_times=[])
        self.expect("too large", devices=2, microbatches=1, forward_times=10**400)
        with self.assertRaisesRegex(TypeError, "no argument 'forward_time'"):
            ppsched.Config(2, 2, forward_time=1)

    def test_matrices(self):
        timeline = timeline_of("gpipe", devices=2, microbatches=1, p2p_time=[[0, 5], [7, 0]])
        self.assertEqual(timeline.metrics.makespan, 1 + 5 + 1 + 2 + 7 + 2)

    def test_placements(self):
        self.assertEqual(ppsched.Config(2, 4, 4, placement="v").stages, 4)
        schedule = ppsched.Schedule.from_queues(ppsched.Config(2, 1, 3, placement=[1, 0, 1]), [])
        self.assertEqual([schedule.device_of(stage) for stage in range(4)], [1, 0, 1, None])
        with self.assertRaisesRegex(ppsched.Error, "no placement 'w'"):
            ppsched.Config(2, 4, placement="w")
        with self.assertRaisesRegex(ppsched.Error, "out of range"):
            ppsched.Config(2, 4, placement=[0, -1])

    def test_refusal(self):
        with self.assertRaises(ppsched.Refused) as caught:
            ppsched.generate("interleaved_1f1b", ppsched.Config(4, 5, 12))
        self.assertIn("nearest: 4 or 6 microbatches, or group_size 5", str(caught.exception))

    def test_another_config_for_the_same_schedule(self):
        schedule = ppsched.generate("gpipe", ppsched.Config(2, 2))
        self.assertEqual(schedule.evaluate(ppsched.Config(2, 2, forward_times=2)).metrics.makespan, 12)
        with self.assertRaisesRegex(ppsched.Error, "they must be equal"):
            schedule.evaluate(ppsched.Config(3, 2))


# The enums whose values options and JSON call otherwise.
OTHER_WORDS = {_abi.StagePasses: ["FB", "FI", "F"], _abi.RankOrder: ["tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"],
               _abi.JobDimension: ["tp", "cp", "ep", "etp", "pp", "chunks", "micro_batch", "zero", "global_batch", "rank_order"]}


class NameTest(unittest.TestCase):
    def test_enums_are_called_as_the_library_calls_them(self):
        told = [name.removeprefix("ppsched_").removesuffix("_name") for name, (result, arguments) in _abi.FUNCTIONS.items()
                if name.endswith("_name") and result is ctypes.c_char_p and arguments == [ctypes.c_int32]]
        kinds = {"".join(word.title() for word in name.split("_")): name for name in told}
        self.assertGreater(len(kinds), 32)
        for name in kinds:
            kind = getattr(_abi, name)
            if kind is not ppsched.Status:  # whose names are constants
                self.assertEqual(names_of(kind), OTHER_WORDS.get(kind, [value.name.lower() for value in kind]))

    def test_a_number_without_a_name(self):
        self.assertIsNone(_library.lib.ppsched_quantity_name(1))
        self.assertIsNone(_library.lib.ppsched_lowering_name(4))


class StrategyTest(unittest.TestCase):
    def test_list(self):
        names = [strategy.name for strategy in ppsched.strategies()]
        self.assertIn("interleaved_1f1b", names)
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(ppsched.find_strategy("vpp").options[0].name, "group_size")
        with self.assertRaisesRegex(ppsched.Error, "did you mean gpipe"):
            ppsched.find_strategy("gpip")

    def test_what_searches(self):
        by_name = {strategy.name: strategy for strategy in ppsched.strategies()}
        self.assertEqual({name for name, strategy in by_name.items() if strategy.searches_long}, {"auto", "v_search"})
        self.assertEqual({name for name, strategy in by_name.items() if strategy.takes_group_size},
                         {name for name, strategy in by_name.items() if any(option.name == "group_size" for option in strategy.options)})
        for name, strategy in by_name.items():
            self.assertFalse((strategy.searches_long or strategy.most_memory) and not strategy.searches, name)

    def test_choices(self):
        placement, objective, effort, offload, quantile = ppsched.find_strategy("auto").options
        self.assertEqual(offload.choices, ["none", "limit"])
        self.assertEqual(placement.choices, ["default", "linear", "loop", "v", "map", "bidirectional"])
        self.assertEqual(objective.choices, ["span", "makespan", "mean_end", "quantile_end", "throughput"])
        self.assertEqual((quantile.minimum, quantile.maximum, quantile.default), (1, 100, "90"))
        self.assertEqual((effort.choices, effort.minimum, effort.maximum, effort.default), ([], 0, 12, "4"))
        self.assertEqual(ppsched.find_strategy("vpp").options[0].choices, [])


class BoundTest(unittest.TestCase):
    def test_values(self):
        bound = ppsched.lower_bound(ppsched.Config(4, 8))
        self.assertEqual(bound, ppsched.Bound(value=24, device=0, work=24, fill_drain=23, memory=0, least_limit=1, one_machine=24))
        config = ppsched.Config(4, 8, mem_limit=2)
        self.assertEqual(ppsched.lower_bound(config).memory, 36)
        for objective in ("makespan", "MAKESPAN", ppsched.Objective.MAKESPAN, 2):
            self.assertEqual(ppsched.lower_bound(config, objective)[1:4], (0, 27, 23))

    def test_no_schedule_is_below(self):
        config = ppsched.Config(3, 5, 6, placement="v", forward_times=[1, 2, 3, 1, 2, 3], mem_limit=4)
        for objective in ("span", "makespan"):
            with_objective = ppsched.Config(3, 5, 6, placement="v", forward_times=[1, 2, 3, 1, 2, 3], mem_limit=4,
                                            options={"objective": objective})
            metrics = ppsched.generate("auto", with_objective).evaluate().metrics
            self.assertLessEqual(ppsched.lower_bound(config, objective).value, getattr(metrics, objective) * (1 + 1e-9))

    def test_a_bound_that_is_proved(self):
        config = ppsched.Config(4, 8, mem_forward=1, mem_backward_weight=-1, mem_limit=3)
        found = ppsched.generate("auto", config).evaluate().metrics.span
        plain, proved = ppsched.lower_bound(config), ppsched.lower_bound(config, known=found)
        self.assertEqual((found, plain.value, plain.proof), (31, 30, 0))
        self.assertEqual((proved.value, proved.proof, proved.work), (31, 31, plain.work))
        self.assertLess(ppsched.lower_bound(config, known=found + 1).value, 32)
        self.assertEqual(ppsched.lower_bound(config, known=found, work=1).value, 30)  # too little
        for known, work in ((-1, 0), (math.nan, 0), (31, -1), (31, math.inf)):
            with self.assertRaisesRegex(ppsched.Error, "must be finite and at least 0"):
                ppsched.lower_bound(config, known=known, work=work)
        plan = ppsched.plan(config, strategies=["auto"], chunks=[1], effort=6)
        self.assertEqual((plan.best.step_time, plan.best.bound, plan.best.proved), (31, 31, True))

    def test_a_proof_tells_its_progress_and_can_be_ended(self):
        config, told = ppsched.Config(4, 16, forward_times=[1, 1.3, 1, 0.9], mem_forward=1, mem_backward_weight=-1, mem_limit=3), []
        plain = ppsched.lower_bound(config, known=60.3, work=5e6)
        self.assertEqual(plain, ppsched.lower_bound(config, known=60.3, work=5e6, progress=lambda *now: told.append(now)))
        self.assertGreater(len(told), 2)
        self.assertEqual(set(told), {(0, math.inf)})
        with self.assertRaises(ppsched.Cancelled):
            ppsched.lower_bound(config, known=60.3, progress=lambda share, best: False)
        with self.assertRaises(ZeroDivisionError):
            ppsched.lower_bound(config, known=60.3, progress=lambda share, best: 1 / 0)
        self.assertEqual(plain, ppsched.lower_bound(config, known=60.3, work=5e6))  # the config does not keep the function

    def test_bad_arguments_of_a_proof(self):
        config = ppsched.Config(4, 8)
        for given, message in (({"work": 1e6}, "work limits the proof, which needs known"), ({"work": 0}, "needs known"),
                               ({"known": "x"}, "known must be a number, not 'x'"), ({"known": [24, 25]}, "known must be a number, not"),
                               ({"known": True}, "known must be a number, not True"), ({"known": 24, "work": [1]}, "work must be a number"),
                               ({"known": 24, "work": 10**400}, "too large"), ({"progress": 3}, "progress must be a function, not 3")):
            with self.assertRaisesRegex(ppsched.Error, message, msg=repr(given)):
                ppsched.lower_bound(config, **given)

    def test_bad_objectives(self):
        config = ppsched.Config(2, 2)
        with self.assertRaisesRegex(ppsched.Error, "no objective 'time'; there are span, makespan"):
            ppsched.lower_bound(config, "time")
        for objective in (0, 3, -1, 2**40, 2**32 + 1):
            with self.assertRaisesRegex(ppsched.Error, f"no objective {objective}"):
                ppsched.lower_bound(config, objective)
        for objective in (None, 1.5, True, b"span"):
            with self.assertRaisesRegex(ppsched.Error, "there is no objective", msg=repr(objective)):
                ppsched.lower_bound(config, objective)

    def test_bad_problems(self):
        with self.assertRaisesRegex(ppsched.Refused, "3 stages"):
            ppsched.lower_bound(ppsched.Config(2, 2, 3))
        with self.assertRaisesRegex(ppsched.Error, "given alone"):
            ppsched.lower_bound(ppsched.Config(2, 2, backward_input_times=1))
        with self.assertRaisesRegex(ppsched.Error, "too large"):
            ppsched.lower_bound(ppsched.Config(2, 2, forward_times=1.7e308))


class ExplainTest(unittest.TestCase):
    SLOW = {"devices": 4, "microbatches": 8, "forward_times": [1, 1, 2, 1], "backward_times": [2, 2, 4, 2]}

    def test_critical_path(self):
        timeline = timeline_of("1f1b", **self.SLOW)
        path = timeline.critical_path
        self.assertEqual([str(step.op) for step in path[:7]], ["0F0", "1F0", "2F0", "3F0", "3B0", "2B0", "2F2"])
        self.assertEqual(path[0], (0, 0, ppsched.Op(0, ppsched.Kind.F, 0), 0, 1, ppsched.Reason.BEGIN))
        self.assertEqual([step.reason.name for step in path[1:7]], ["INPUT"] * 3 + ["DEVICE", "INPUT", "DEVICE"])
        self.assertEqual((path[-1].device, path[-1].end), (0, timeline.metrics.makespan))
        for step in path:
            self.assertEqual(timeline.schedule.queues[step.device][step.position], step.op)
            self.assertEqual(timeline.spans[step.device][step.position], (step.start, step.end))
            self.assertEqual(timeline.slack[step.device][step.position], 0)

    def test_flush(self):
        config = ppsched.Config(2, 1, iterations=2, backward_input_times=1, backward_weight_times=[1, 10])
        queues = [[f"{stage}{kind}{m}" for m in range(2) for kind in "FIW"] for stage in range(2)]
        timeline = ppsched.Schedule.from_queues(config, queues).evaluate()
        self.assertEqual([(str(step.op), step.start) for step in timeline.critical_path if step.reason == ppsched.Reason.FLUSH],
                         [("0F1", 13)])

    def test_update(self):
        schedule = ppsched.generate("1f1b", ppsched.Config(devices=4, microbatches=8))
        timeline = schedule.evaluate(reusable=True)
        slow = ppsched.Config(devices=4, microbatches=8, forward_times=[1, 3, 1, 1])
        timeline.update(slow)
        fresh = schedule.evaluate(slow)
        self.assertEqual((timeline.metrics, timeline.idle), (fresh.metrics, fresh.idle))
        self.assertEqual(list(map(list, timeline.spans)), list(map(list, fresh.spans)))
        with self.assertRaisesRegex(ppsched.Error, "the config 8 and 8"):
            timeline.update(ppsched.Config(devices=8, microbatches=8))
        self.assertEqual(timeline.metrics, fresh.metrics)
        with self.assertRaisesRegex(ppsched.Error, "not reusable; evaluate with reusable=True"):
            fresh.update(slow)

    def test_slack(self):
        timeline = timeline_of("1f1b", devices=2, microbatches=2, forward_times=[1, 0.25], backward_times=[2, 0.25])
        self.assertEqual(timeline.slack_by_device, [min(slack) for slack in timeline.slack])
        self.assertEqual((timeline.slack_by_device, timeline.slack_by_stage), ([0, 0.5], [0, 0.5]))
        config = ppsched.Config(2, 1, 1, placement=[1])
        self.assertEqual(ppsched.Schedule.from_queues(config, {1: ["0F0", "0B0"]}).evaluate().slack_by_device, [math.inf, 0])

    def test_sensitivities(self):
        timeline = timeline_of("1f1b", **self.SLOW)
        self.assertEqual(timeline.sensitivities(), [(2, 2), (2, 2), (15, 15), (2, 2)])
        self.assertEqual(timeline.sensitivities("span", ppsched.Kind.F), [(1, 1), (1, 1), (7, 7), (1, 1)])
        for kind in ("B", ppsched.Kind.B, 2):
            self.assertEqual([both.less for both in timeline.sensitivities(ppsched.Objective.MAKESPAN, kind)], [1, 1, 8, 1])
        self.assertEqual(timeline.relief(), ppsched.Relief(stage=2, more=15, less=15))
        faster = timeline_of("1f1b", **{**self.SLOW, "forward_times": [1, 1, 1.9, 1], "backward_times": [2, 2, 3.9, 2]})
        self.assertAlmostEqual(faster.metrics.makespan, timeline.metrics.makespan - 0.1 * timeline.relief().less)

    def test_relief(self):
        even = timeline_of("gpipe", devices=2, microbatches=2, backward_times=1)
        self.assertEqual(even.sensitivities(), [(4, 2)] * 2)
        self.assertEqual((even.relief(), even.relief("span", "F")), ((0, 4, 2), (0, 2, 1)))
        alone = timeline_of("gpipe", devices=3, microbatches=1, forward_times=[0, 1, 0], backward_times=[0, 0, 1])
        self.assertEqual(alone.sensitivities(), [(2, 0), (2, 1), (2, 1)])
        self.assertEqual((alone.relief().stage, alone.relief(kind="B").stage, alone.relief(kind="W").stage), (1, 2, 0))

    def test_what_is_refused(self):
        timeline = timeline_of("1f1b", devices=2, microbatches=2)
        for kind in ("X", 0, 77, -1, 2**40, 1.5, True):
            with self.assertRaisesRegex(ppsched.Error, "there is no kind", msg=repr(kind)):
                timeline.sensitivities(kind=kind)
        for kind in ("SEND_F", 5, ppsched.Kind.SEND_F):
            with self.assertRaisesRegex(ppsched.Error, "no sensitivities to SEND_F; give F, B, I or W"):
                timeline.relief(kind=kind)
        for objective in ("time", 3):
            with self.assertRaisesRegex(ppsched.Error, "there is no objective"):
                timeline.relief(objective)
        early = timeline.schedule.evaluate(latest=False)
        self.assertEqual((early.critical_path, early.relief()), (timeline.critical_path, timeline.relief()))
        with self.assertRaisesRegex(ppsched.Error, "the timeline has no latest starts; evaluate with latest=True"):
            early.slack_by_stage
        with self.assertRaisesRegex(ppsched.Error, "the timeline has no idle causes; evaluate with latest=True"):
            early.idle
        transfers = timeline.schedule.lower().evaluate_transfers()
        for call in (lambda: transfers.critical_path, lambda: transfers.slack_by_device, transfers.sensitivities):
            with self.assertRaisesRegex(ppsched.Error, "with transfers"):
                call()

    def test_threads(self):
        timeline = timeline_of("zb_h1", devices=6, microbatches=30, iterations=2)
        wanted, found = (timeline.critical_path, timeline.sensitivities()), []
        threads = [threading.Thread(target=lambda: found.append((timeline.critical_path, timeline.sensitivities())))
                   for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [wanted] * 8)


class ProgressTest(unittest.TestCase):
    def setUp(self):
        self.config = ppsched.Config(4, 8, 8, forward_times=[1, 2] * 4, p2p_time=0.25, mem_limit=6,
                                     options={"placement": "v", "effort": 2})
        # What runs in the background has interrupts ignored.
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def test_shares_and_best(self):
        seen = []
        schedule = ppsched.generate("auto", self.config, progress=lambda share, best: seen.append((share, best)))
        shares, bests = zip(*seen)
        self.assertEqual((list(shares), list(bests)), (sorted(shares), sorted(bests, reverse=True)))
        self.assertEqual(seen[-1], (1, schedule.evaluate().metrics.span))
        self.assertGreater(len(set(shares)), 5)
        self.assertEqual(schedule.export("csv"), ppsched.generate("auto", self.config).export("csv"))

    def test_the_config_stays_as_it_was(self):
        calls = []
        ppsched.generate("auto", self.config, progress=lambda share, best: calls.append(share))
        count = len(calls)
        ppsched.generate("auto", self.config)
        self.assertEqual(len(calls), count)

    def test_only_false_stops(self):
        for answer in (None, 0, "", True, []):
            ppsched.generate("auto", self.config, progress=lambda share, best, answer=answer: answer)
        for stop in (1, 2, 5):
            calls = []

            def until(share, _best, calls=calls, stop=stop):
                calls.append(share)
                return len(calls) < stop

            with self.assertRaisesRegex(ppsched.Cancelled, "cancelled") as caught:
                ppsched.generate("auto", self.config, progress=until)
            self.assertEqual((len(calls), caught.exception.status), (stop, ppsched.Status.ERROR_CANCELLED))

    def test_what_it_raises_comes_out(self):
        for error in (KeyboardInterrupt, ZeroDivisionError, SystemExit):
            def tell(_share, _best, error=error):
                raise error

            with self.assertRaises(error):
                ppsched.generate("auto", self.config, progress=tell)
        with self.assertRaises(TypeError):
            ppsched.generate("auto", self.config, progress=lambda share: None)
        with self.assertRaisesRegex(ppsched.Error, "progress must be a function, not 3"):
            ppsched.generate("auto", self.config, progress=3)

    def test_ctrl_c(self):
        def interrupt(_share, _best):
            os.kill(os.getpid(), signal.SIGINT)

        for progress in (interrupt, lambda share, best: interrupt(share, best) or False):
            with self.assertRaises(KeyboardInterrupt) as caught:
                ppsched.generate("auto", self.config, progress=progress)
            self.assertTrue(caught.exception.__suppress_context__)
        self.assertIs(signal.getsignal(signal.SIGINT), signal.default_int_handler)

    def test_ctrl_c_with_a_handler_of_one_s_own(self):
        seen = []
        before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
        self.addCleanup(signal.signal, signal.SIGINT, before)
        ppsched.generate("auto", self.config, progress=lambda share, best: os.kill(os.getpid(), signal.SIGINT))
        self.assertEqual(set(seen), {signal.SIGINT})

    def test_ctrl_c_without_progress(self):
        big = ppsched.Config(8, 32, 16, forward_times=[1, 2, 1.5, 1] * 4, mem_limit=7,
                             options={"placement": "v", "effort": 12})
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        with self.assertRaises(KeyboardInterrupt):  # its own search takes a minute and more
            timer.start()
            ppsched.generate("auto", big)

    def test_ctrl_c_in_sensitivities(self):
        timeline = ppsched.generate("v_half", ppsched.Config(256, 256, 512)).evaluate()
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        original = _abi.ProgressFunction

        def interrupting(tell):  # as if it came while the first stages are looked at
            def first(user, progress):
                os.kill(os.getpid(), signal.SIGINT)
                return tell(user, progress)
            return original(first)

        with mock.patch.object(_abi, "ProgressFunction", interrupting), self.assertRaises(KeyboardInterrupt):
            timeline.sensitivities()
        self.assertEqual(len(timeline.sensitivities()), 512)

    def test_another_thread(self):
        schedules = []
        thread = threading.Thread(target=lambda: schedules.append(ppsched.generate("auto", self.config)))
        thread.start()
        thread.join()
        self.assertEqual(schedules[0].check(), [])

    def test_refusals_are_still_refusals(self):
        with self.assertRaisesRegex(ppsched.Refused, "the least limit that works is 2"):
            ppsched.generate("auto", ppsched.Config(4, 8, 8, mem_limit=1), progress=lambda share, best: None)

    def test_fixed_rules_tell_nothing(self):
        calls = []
        ppsched.generate("1f1b", ppsched.Config(4, 8), progress=lambda share, best: calls.append(share))
        self.assertEqual(calls, [])


class Terminal(io.StringIO):
    def isatty(self):
        return True


class ProgressBarTest(unittest.TestCase):
    def draw(self, stream, times, *steps):
        with mock.patch("time.monotonic", side_effect=times), ProgressBar(stream) as bar:
            for step in steps:
                self.assertIsNot(bar(*step), False)
            return stream.getvalue()

    def test_draws_and_clears(self):
        stream = Terminal()
        drawn = self.draw(stream, [0, 1, 2], (0.5, math.inf), (1, 12.5))
        self.assertIn("searching [" + "#" * 15 + "." * 15 + "]  50 %", drawn)
        self.assertIn("[" + "#" * 30 + "] 100 %, best 12.5", drawn)
        self.assertNotIn("inf", drawn)
        left = stream.getvalue()[len(drawn):]
        self.assertEqual((left.strip(" \r"), left[0], left[-1]), ("", "\r", "\r"))
        self.assertGreaterEqual(left.count(" "), len("searching [] 100 %, best 12.5") + 30)

    def test_shows_nothing_of_short_searches(self):
        stream = Terminal()
        self.draw(stream, [0, 0.1, 0.29], (0.5, 3), (1, 2))
        self.assertEqual(stream.getvalue(), "")

    def test_clears_after_an_exception(self):
        stream = Terminal()
        with self.assertRaises(KeyboardInterrupt), mock.patch("time.monotonic", side_effect=[0, 1]), ProgressBar(stream) as bar:
            bar(0.5, 3)
            raise KeyboardInterrupt
        self.assertTrue(stream.getvalue().endswith(" \r"))

    def test_writes_nothing_elsewhere(self):
        stream = io.StringIO()
        self.draw(stream, [0, 1, 2], (0.5, 3), (1, 2))
        self.assertEqual(stream.getvalue(), "")
        with mock.patch.object(sys, "stderr", None), ProgressBar() as bar:
            bar(0.5, 3)


class LibraryTest(unittest.TestCase):
    def test_version_check(self):
        with mock.patch.object(_abi_version, "ABI_VERSION", 77), self.assertRaisesRegex(ImportError, "this package needs ABI 77"):
            finding.check_version(_library.lib, "libppsched.so")
        with mock.patch.object(_abi_version, "VERSION_MAJOR", 99), self.assertRaisesRegex(ImportError, "or newer"):
            finding.check_version(_library.lib, "libppsched.so")
        with self.assertRaisesRegex(ImportError, "is not libppsched"):
            finding.check_version(ctypes.CDLL(None), "libc")

    def test_missing_library(self):
        run = subprocess.run([sys.executable, "-c", "import ppsched"], capture_output=True, text=True, check=False,
                             env={"PPSCHED_LIBRARY": "/no/such/file", "PYTHONPATH": ":".join(sys.path)})
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("cannot load libppsched", run.stderr)


if __name__ == "__main__":
    unittest.main()
