# SPDX-License-Identifier: Apache-2.0
"""Measured times: profile files, traces as PyTorch writes them, a plan beside its measurement, and bad input of all sorts."""
import copy
import gzip
import importlib.util
import itertools
import json
import math
import pathlib
import random
import tempfile
import types
import unittest

from in_process import run_command

import ppsched
from ppsched.command import comparison_report
from ppsched._core.op import units
from ppsched.readers import trace as trace_reader

TRACES = [pathlib.Path(__file__).resolve().parent / "traces" / f"rank{rank}.json" for rank in (0, 1)]
HAS_YAML = importlib.util.find_spec("yaml") is not None


def plan(strategy="1f1b", devices=4, microbatches=4, stages=None, **lists):
    return ppsched.generate(strategy, ppsched.Config(devices, microbatches, stages, **lists)).evaluate()


def spans_of(timeline):
    """For each device (token, start, end) of its units."""
    return [[(token, spans[index].start, spans[index].end) for token, index, _ in units(queue)]
            for queue, spans in zip(timeline.schedule.queues, timeline.spans)]


def run(timeline, slow=None, pause=None):
    """Spans of the plan's queues, run again with `slow` more for some ops and a `pause` before some."""
    planned = spans_of(timeline)
    stages, ends, clocks = timeline.schedule.stages, {}, [0.0] * len(planned)
    found, waiting = [[] for _ in planned], [list(queue) for queue in planned]
    while any(waiting):
        for device, queue in enumerate(waiting):
            while queue and (ready := ready_at(queue[0][0], stages, ends)) is not None:
                token, start, end = queue.pop(0)
                begin = max(ready, clocks[device]) + (pause or {}).get(token, 0.0)
                clocks[device] = ends[token] = begin + (end - start) + (slow or {}).get(token, 0.0)
                found[device].append((token, begin, clocks[device]))
    return found


def ready_at(token, stages, ends):
    """When the inputs of an F or a B are there; None where they are not yet."""
    op = ppsched.Op.from_token(token)
    if op.kind == ppsched.Kind.F:
        before = f"{op.stage - 1}F{op.microbatch}" if op.stage else None
    else:
        before = f"{op.stage + 1}B{op.microbatch}" if op.stage + 1 < stages else f"{op.stage}F{op.microbatch}"
    return 0.0 if before is None else ends.get(before)


def event(name, start, end, **more):
    """A range; times in milliseconds."""
    return {"ph": "X", "cat": "user_annotation", "name": name, "pid": 1, "tid": 1, "ts": start * 1000,
            "dur": (end - start) * 1000, **more}


def on_gpu(spans, **more):
    return ranges(spans, cat="gpu_user_annotation", **{"pid": 0, "tid": 7, **more})


def ranges(spans, shift=0.0, **more):
    return [event("PP:" + token, start + shift, end + shift, **more) for token, start, end in spans]


def trace(events, rank=None, told=None, **more):
    """told: what distributedInfo has beside the rank."""
    info = {} if rank is None else {"distributedInfo": {"backend": "nccl", "rank": rank, **(told or {})}}
    return {"schemaVersion": 1, **info, **more, "traceEvents": [{"ph": "M", "name": "process_name", "pid": 1}, *events]}


class FilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(folder.cleanup)

    def write(self, name, value):
        path = self.folder / name
        text = value if isinstance(value, str) else json.dumps(value)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    def profile(self, *values, **options):
        paths = [self.write(f"{index}.json", value) for index, value in enumerate(values)]
        return ppsched.Profile.from_traces(*paths, **options)

    def of_spans(self, spans, **options):
        return self.profile(*(trace(ranges(queue), rank) for rank, queue in enumerate(spans)), **options)

    def refused(self, part, function, *arguments, **options):
        with self.assertRaises(ppsched.Error) as caught:
            function(*arguments, **options)
        self.assertIn(part, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))


class ProfileFileTest(FilesTest):
    def test_one_number_a_stage(self):
        others = {"p2p_time": 0.25, "mem_limit": 9}
        path = self.write("p.json", {"stages": 2, "forward_times": 1.5, "backward_times": [2, 3], **others})
        profile = ppsched.Profile.from_file(path)
        self.assertEqual((profile.stages, profile.devices, profile.microbatches, profile.repetitions), (2, None, None, {}))
        self.assertEqual(profile.lists(), {"forward_times": [1.5, 1.5], "backward_times": [2, 3], **others})
        config = ppsched.Config(2, 4, **profile.lists())
        self.assertEqual(ppsched.generate("1f1b", config).evaluate().metrics.makespan, plan(
            devices=2, forward_times=1.5, backward_times=[2, 3], p2p_time=0.25).metrics.makespan)

    def test_samples(self):
        path = self.write("p.json", {"stages": 2, "devices": 2, "microbatches": 4, "forward_times": [[1, 2, 3, 6], 4],
                                     "backward_input_times": 1, "backward_weight_times": [[0.5, 1.5], [2]]})
        profile = ppsched.Profile.read(path)
        self.assertEqual((profile.devices, profile.microbatches), (2, 4))
        for statistic, forward in (("mean", 3), ("median", 2.5), (0, 1), (1, 6), (0.5, 2.5), ("0.9", 5.1), (1 / 3, 2)):
            lists = profile.lists(statistic)
            self.assertAlmostEqual(lists["forward_times"][0], forward, places=12)
            self.assertEqual((lists["forward_times"][1], lists["backward_input_times"]), (4, [1, 1]))
        first = profile.spread[0]
        self.assertEqual(first, (0, ppsched.Kind.F, 4, 3, 2.5, math.sqrt(14 / 4), 1, 6))
        self.assertEqual([(row.stage, row.kind.name, row.count) for row in profile.spread],
                         [(0, "F", 4), (0, "I", 1), (0, "W", 2), (1, "F", 1), (1, "I", 1), (1, "W", 1)])
        for wrong in ("mode", "", 1.5, -1, math.nan, True, None, [1], 10**400):
            self.refused("the statistic must be", profile.lists, wrong)

    @unittest.skipUnless(HAS_YAML, "PyYAML is not installed")
    def test_yaml(self):
        path = self.write("p.yaml", "stages: 2\nforward_times: [1e-3, [0.002, 0.004]]\nbackward_times: 2\n")
        self.assertEqual(ppsched.Profile.read(path).lists()["forward_times"], [0.001, 0.003])
        self.refused("p.yml, line 2, column 1: broken YAML", ppsched.Profile.read, self.write("p.yml", "stages: [1,\n}"))
        self.refused("'stages' occurs twice", ppsched.Profile.read, self.write("p.yml", "stages: 1\nstages: 1\n"))

    def test_bad_files(self):
        good = {"stages": 2, "forward_times": 1, "backward_times": 2}
        cases = (
            ("p.json, line 1, column 2: broken JSON", "{"), ("'stages' occurs twice", '{"stages": 1, "stages": 1}'),
            ("unknown key 'forward_time'; did you mean forward_times?", {**good, "forward_time": 1}),
            ("unknown key 'num_stages'", {"num_stages": 2}), ("stages is missing", {"forward_times": 1}),
            ("stages must be an integer, not '2'", {**good, "stages": "2"}), ("stages is 0", {**good, "stages": 0}),
            ("out of range for the library's integers", {**good, "stages": 10**30}),
            ("number of stages is 1000000000", {**good, "stages": 10**9}),
            ("microbatches must be an integer, not True", {**good, "microbatches": True}),
            ("forward_times is missing", {"stages": 2}), ("backward times are missing", {"stages": 2, "forward_times": 1}),
            ("forward_times has 3 values; give 1 for all stages or 2", {**good, "forward_times": [1, 2, 3]}),
            ("forward_times of stage 1 is an empty list", {**good, "forward_times": [1, []]}),
            ("forward_times must contain numbers, not '1'", {**good, "forward_times": ["1", 2]}),
            ("forward_times must contain numbers, not [1]", {**good, "forward_times": [[[1]], 2]}),
            ("forward_times of stage 1 is -2", {**good, "forward_times": [1, -2]}),
            ("forward_times of stage 0 is nan", '{"stages": 2, "backward_times": 1, "forward_times": NaN}'),
            ("of 401 digits is too large", {**good, "forward_times": 10**400}),
            ("p2p_time", {**good, "p2p_time": [1, 2, 3]}), ("p2p_time", {**good, "p2p_time": {"a": 1}}),
            ("mem_forward", {**good, "mem_forward": [-1, 1]}),
            ("", {"stages": 2, "forward_times": 1, "backward_input_times": 1}),
            ("must hold a mapping", "7"), ("nested too deeply", '{"stages": ' + "[" * 100000),
        )
        for part, value in cases:
            with self.subTest(part=part):
                path = self.write("p.json", value)
                for function in (ppsched.Profile.from_file, ppsched.Profile.read):
                    self.refused(part, function, path)
                    self.refused("p.json", function, path)
        self.refused("cannot read", ppsched.Profile.from_file, self.folder / "none.json")
        paths = self.write("a.json", good), self.write("b.json", good)
        self.refused("give a profile file by itself", ppsched.Profile.read, *paths)


class TraceTest(FilesTest):
    def check_times(self, profile, timeline):
        """Each op's times are the plan's."""
        planned = {token: (device, start, end)
                   for device, queue in enumerate(spans_of(timeline)) for token, start, end in queue}
        self.assertEqual(len(profile.repetitions), len(planned))
        for ops, times in profile.repetitions.items():
            device, start, end = planned[str(ops[0]) if len(ops) == 1 else f"({ops[0]};{ops[1]})OVERLAP_F_B"]
            for measured in times:
                self.assertEqual((measured.device, measured.duration), (device, end - start))
            self.assertEqual(times[0].start, start)

    def test_times_come_back_exactly(self):
        times = {"forward_times": [1, 1.5, 1.25, 2], "backward_input_times": [1, 2, 0.5, 1],
                 "backward_weight_times": [0.5, 1, 1, 0.75]}
        for strategy, devices, names in (("1f1b", 4, ("backward_times",)), ("interleaved_1f1b", 2, ("backward_times",)),
                                         ("zbv", 2, ("backward_input_times", "backward_weight_times"))):
            timeline = plan(strategy, devices, 8, 4, **times)
            profile = self.of_spans(spans_of(timeline))
            self.check_times(profile, timeline)
            self.assertEqual((profile.stages, profile.devices, profile.microbatches, profile.iterations), (4, devices, 8, 1))
            lists = profile.lists()
            self.assertEqual(set(lists), {"forward_times", *names})
            self.assertEqual(lists["forward_times"], times["forward_times"])
            if strategy == "zbv":
                self.assertEqual(lists, times)
            else:
                self.assertEqual(lists["backward_times"], [1.5, 3, 1.5, 1.75])
            again = ppsched.generate(strategy, profile.config()).evaluate()
            self.assertEqual(again.metrics.makespan, timeline.metrics.makespan)

    def test_pairs(self):
        overlapped = [[2.5, 3, 3.5, 4], [2, 2.25, 2.5, 2.75], [3, 3.125, 3.25, 3.5], [3.75, 4.25, 4.5, 4.75]]
        timeline = plan("dualpipe_v", 2, 6, 4, overlapped_times=overlapped, backward_input_times=1, backward_weight_times=1.5)
        profile = self.of_spans(spans_of(timeline))
        self.check_times(profile, timeline)
        lists = profile.lists()
        for (forward, backward), samples in profile.pairs.items():
            self.assertEqual(set(samples), {overlapped[forward][backward]})
            self.assertEqual(lists["overlapped_times"][forward][backward], overlapped[forward][backward])
        unmeasured = {(row, column) for row in range(4) for column in range(4)} - set(profile.pairs)
        self.assertTrue(unmeasured and all(lists["overlapped_times"][row][column] == 3.5 for row, column in unmeasured))
        again = ppsched.generate("dualpipe_v", profile.config()).evaluate()
        self.assertEqual(again.metrics.makespan, timeline.metrics.makespan)

    def test_stages_with_other_backwards(self):
        spans = [[("0F0", 0, 1), ("0B0", 5, 8)], [("1F0", 1, 2), ("1I0", 2, 3), ("1W0", 3, 5)]]
        lists = self.of_spans(spans).lists()
        self.assertEqual(lists, {"forward_times": [1, 1], "backward_times": [3, 3], "backward_input_times": [1.5, 1],
                                 "backward_weight_times": [1.5, 2]})
        self.refused("stage 1 has an I but no W", self.of_spans([spans[0], spans[1][:2]]).lists)
        self.refused("stage 1 has no backward outside overlapped pairs", self.of_spans([spans[0], spans[1][:1]]).lists)
        self.refused("stage 0 has no backward outside overlapped pairs", self.of_spans([spans[0][:1]]).lists)
        self.refused("stage 0 has no F outside overlapped pairs", self.of_spans([[("(0F0;0B0)OVERLAP_F_B", 0, 1)]]).lists)

    def test_samples_and_warmup(self):
        random.seed(3)
        timeline, spans, samples = plan(devices=2, microbatches=3), [[], []], {}
        for iteration in range(4):
            noise = {f"{stage}{kind}{m}": random.randrange(64) / 64 for stage in (0, 1) for kind in "FB" for m in range(3)}
            for device, queue in enumerate(run(timeline, slow=noise)):
                spans[device] += [(token, start + 100 * iteration, end + 100 * iteration) for token, start, end in queue]
                for token, start, end in queue:
                    samples.setdefault(token, []).append(end - start)
        for warmup in (0, 1, 3):
            profile = self.of_spans(spans, warmup=warmup)
            self.assertEqual(profile.iterations, 4 - warmup)
            for stage, kind in ((0, "F"), (1, "F"), (0, "B"), (1, "B")):
                wanted = [sample for m in range(3) for sample in samples[f"{stage}{kind}{m}"][warmup:]]
                self.assertEqual(profile.samples[ppsched.Kind[kind]][stage], wanted)
                spread = next(row for row in profile.spread if (row.stage, row.kind.name) == (stage, kind))
                mean = sum(wanted) / len(wanted)
                self.assertEqual((spread.count, spread.minimum, spread.maximum), (len(wanted), min(wanted), max(wanted)))
                self.assertAlmostEqual(spread.mean, mean, places=12)
                deviation = math.sqrt(sum((sample - mean) ** 2 for sample in wanted) / len(wanted))
                self.assertAlmostEqual(spread.deviation, deviation, places=12)
        self.refused("after a warm-up of 4 none is left", self.of_spans, spans, warmup=4)
        self.refused("warmup is -1", self.of_spans, spans, warmup=-1)
        cut = self.of_spans([spans[0], spans[1][1:]])
        self.refused("the traces must begin and end with an iteration", lambda: cut.iterations)

    def test_files_and_ranks(self):
        timeline = plan(devices=3)
        spans = spans_of(timeline)
        whole = [trace(ranges(queue), rank) for rank, queue in enumerate(spans)]
        silent = [trace(ranges(queue)) for queue in spans]
        processes = trace([one for pid, queue in enumerate(spans) for one in ranges(queue, pid=10 + pid)])
        threads = trace([one for tid, queue in enumerate(spans) for one in ranges(queue, tid=tid)], rank=0)
        gpus = trace([one for pid, queue in enumerate(spans) for one in on_gpu(queue, pid=pid)])
        far = [trace(ranges(queue), 8 * rank) for rank, queue in enumerate(spans)]
        bases = [trace(ranges(queue, shift=-rank), rank, baseTimeNanoseconds=1790857026000000000 + rank * 1000000)
                 for rank, queue in enumerate(spans)]
        for values in (whole, whole[::-1], silent, [processes], [threads], [gpus], far[1:] + far[:1], bases,
                       [one["traceEvents"] for one in silent]):
            self.check_times(self.profile(*values), timeline)
        packed = [self.write(f"{rank}.json.gz", one) for rank, one in enumerate(whole)]
        self.check_times(ppsched.Profile.read(*packed), timeline)
        for unit, scale in (("s", 1e-3), ("us", 1e3)):
            profile = ppsched.Profile.from_traces(*packed, time_unit=unit)
            self.assertAlmostEqual(profile.lists()["backward_times"][2], 2 * scale)
        self.refused("there is no time unit 'h'", ppsched.Profile.from_traces, *packed, time_unit="h")
        self.refused("give the traces", ppsched.Profile.from_traces)
        self.refused("1.json: it is the trace of rank 0, and so is ", self.profile, whole[0], whole[0])
        self.refused("1.json: its distributedInfo has no rank", self.profile, whole[0], silent[1])
        self.refused("stage 1 has no F; give the traces of all ranks", self.profile, whole[0], whole[2])
        self.refused("0F0 is in ", self.profile, silent[0], silent[0])

    def of_ranks(self, spans, ranks, told, more=()):
        """The traces of a pipeline's devices, as these ranks of a run."""
        return self.profile(*(trace([*ranges(queue), *more], rank, told(rank) if callable(told) else told)
                              for rank, queue in zip(ranks, spans)))

    def test_a_part_of_a_pipeline_by_its_world(self):
        """A pipeline is the whole run, or a row of its ranks where others are replicas or have a part of each layer."""
        for devices in (2, 3, 4):
            timeline = plan(devices=devices)
            spans = spans_of(timeline)
            for count in range(1, devices):
                for size in {devices, count + 1, 2 * count + 1} - {count}:
                    if count == 1 or size % count:
                        self.refused("give the traces of all ranks", self.of_ranks, spans[:count], range(count), {"world_size": size})
            for size, ranks in ((devices, range(devices)), (2 * devices, range(devices)), (2 * devices, range(0, 2 * devices, 2)),
                                (8 * devices, range(3, 8 * devices, 8)), (4 * devices, range(1, 2 * devices, 2)),
                                (2 * devices, range(devices, 2 * devices))):
                self.check_times(self.of_ranks(spans, ranks, {"world_size": size}), timeline)
            for size, ranks in ((2 * devices, range(1, devices + 1)), (devices + 1, range(devices)),
                                (4 * devices, (*range(devices - 1), devices + 1)), (2 * devices, range(0, 4 * devices, 4))):
                if max(ranks) < size:
                    self.refused("are not a whole pipeline", self.of_ranks, spans, ranks, {"world_size": size})
        one = spans_of(plan(devices=1))
        self.assertEqual(self.of_ranks(one, [0], {"world_size": 1}).devices, 1)
        self.refused("the run had 2 ranks, but this is only rank 0", self.of_ranks, one, [0], {"world_size": 2})
        self.refused("rank 2 in a world of 2 ranks", self.of_ranks, one, [2], {"world_size": 2})
        self.refused("world_size in distributedInfo must be a whole number", self.of_ranks, one, [0], {"world_size": "2"})
        self.refused("world_size in distributedInfo is 0", self.of_ranks, one, [0], {"world_size": 0})
        self.refused("a run with 4 ranks, but ", self.of_ranks, spans_of(plan(devices=2)), [0, 1], lambda rank: {"world_size": 2 + 2 * rank})
        for size, count in ((2, 1), (4, 1), (3, 2), (2, 3), (8, 3)):  # without ranks
            silent = [{**trace(ranges(queue)), "distributedInfo": {"world_size": size}} for queue in spans_of(plan(devices=count))]
            self.refused(f"{count} trace{'s' * (count > 1)} cannot be a whole pipeline", self.profile, *silent)
        for size, count in ((1, 1), (2, 2), (8, 2), (9, 3)):
            silent = [{**trace(ranges(queue)), "distributedInfo": {"world_size": size}} for queue in spans_of(plan(devices=count))]
            self.assertEqual(self.profile(*silent).devices, count)
        threads = [one for tid, queue in enumerate(spans_of(plan(devices=2))) for one in ranges(queue, tid=tid)]
        self.assertEqual(self.profile(trace(threads, 0, {"world_size": 1})).devices, 2)
        rank0 = json.loads(TRACES[0].read_text(encoding="utf-8"))
        self.refused("give the traces of all ranks", self.profile, rank0)

    def test_a_part_of_a_pipeline_by_its_process_groups(self):
        def group(ranks, description, name="0"):
            return {"pg_name": name, "pg_desc": description, "backend_config": "cuda:nccl", "pg_size": len(ranks), "ranks": ranks}

        timeline = plan(devices=4)
        spans = spans_of(timeline)
        world = group(list(range(8)), "default_pg")
        pipeline, replicas = group([0, 2, 4, 6], "mesh_pp"), [group([rank, rank + 1], "mesh_dp", str(rank)) for rank in (0, 2, 4, 6)]
        row = [0, 2, 4, 6]
        for groups in ([world, pipeline, *replicas], [world, group(row, "undefined"), *replicas], [world, group([0], "tp"), pipeline]):
            told = {"world_size": 8, "pg_count": len(groups), "pg_config": groups}
            self.check_times(self.of_ranks(spans, row, told), timeline)
            self.refused("rank 6 has no trace", self.of_ranks, spans[:3], row, told)
            self.refused("ranks 4, 6 have no trace", self.of_ranks, spans[:2], row, told)
            self.refused("give the traces of all ranks of the pipeline", self.of_ranks, spans[:1], row, told)
        self.refused("", self.of_ranks, spans, [0, 1, 2, 3], {"world_size": 8, "pg_config": [world, pipeline]})
        alone = {"world_size": 8, "pg_config": [{**world, "ranks": []}]}  # all of them, in one group: so there are no replicas
        self.refused("its nearest process group is ranks 0, 1, 2, 3, 4, 5, 6, 7, but ranks 4, 5, 6, 7 have", self.of_ranks, spans, range(4), alone)
        single = {"world_size": 2, "pg_config": [group([0, 1], "default_pg"), group([0], "mesh_pp"), group([0, 1], "mesh_dp")]}
        self.assertEqual(self.of_ranks(spans_of(plan(devices=1)), [0], single).devices, 1)

    def test_a_part_of_a_pipeline_by_its_transfers(self):
        timeline = plan(devices=2)
        spans = spans_of(timeline)
        for token in ("0SEND_F0", "0RECV_B1"):
            self.refused(f"it has {token}, whose other end is stage 1", self.profile, trace(ranges(spans[0]) + [event("PP:" + token, 50, 51)]))
        sends = [event(f"PP:{token}", 50, 51, tid=1) for token in ("0SEND_F0", "1RECV_F0", "1SEND_B0", "0RECV_B0")]
        self.check_times(self.profile(*(trace([*ranges(queue), *sends]) for queue in spans)), timeline)
        arguments = {"Collective name": "send", "Group size": 4, "Process Group Ranks": "[0, 1, 2, 3]"}
        send = event("nccl:send", 50, 51, cat="cpu_op", args=arguments)
        told = {"world_size": 8}
        self.check_times(self.of_ranks(spans, [0, 1], told), timeline)
        self.refused("its sends and receives are between ranks 0, 1, 2, 3, but ranks 2, 3 have no trace", self.of_ranks, spans,
                     [0, 1], told, [send])
        ring = event("nccl:send", 50, 51, cat="cpu_op", args={**arguments, "Process Group Ranks": "[0, 4]"})  # of a ring of another kind
        self.check_times(self.of_ranks(spans, [0, 1], told, [ring]), timeline)
        cut = event("nccl:send", 50, 51, cat="cpu_op", args={**arguments, "Process Group Ranks": "[0, 1, ..., 7]"})
        self.check_times(self.of_ranks(spans, [0, 1], told, [cut]), timeline)

    def test_what_is_neither_a_trace_nor_a_profile(self):
        """A list, or an object with traceEvents, is a trace; all else is read as a profile, whose reader says what is wrong."""
        for text, reason in (("3", "must hold a mapping"), ('"traceEvents"', "must hold a mapping"), ("null", "must hold a mapping"),
                             ("{}", "stages"), ("[]", "there are no ranges"), ('{"traceEvents": []}', "there are no ranges")):
            with self.subTest(text=text), self.assertRaises(ppsched.Error) as caught:
                ppsched.Profile.read(self.write("some.json", text))
            self.assertIn(reason, str(caught.exception), text)

    def test_doubled_ranges_count_once(self):
        timeline = plan(devices=2)
        spans = spans_of(timeline)
        twice = [trace(ranges(queue) + ranges(queue, cat="cpu_op"), rank) for rank, queue in enumerate(spans)]
        self.check_times(self.profile(*twice), timeline)
        inner = [trace(ranges(queue) + [event("PP:" + token, start + 0.25, end - 0.25) for token, start, end in queue], rank)
                 for rank, queue in enumerate(spans)]
        self.check_times(self.profile(*inner), timeline)
        pair = [event("PP:(0F1;0B0)OVERLAP_F_B", 1, 4), event("PP:0F1", 1, 2), event("PP:0B0", 2, 4), event("PP:0F0", 0, 1),
                event("PP:0B1", 4, 6)]
        profile = self.profile(trace(pair))
        self.assertEqual(profile.pairs, {(0, 0): [3]})
        self.assertEqual(profile.lists(), {"forward_times": [1], "backward_times": [2], "overlapped_times": [[3]]})
        empty = [event("PP:0F0", 1, 1), event("PP:0F0", 1, 1), event("PP:0F1", 1, 1), event("PP:0B0", 2, 3), event("PP:0B1", 3, 4),
                 event("PP:0F0", 4.5, 4.5), event("PP:0F1", 4.5, 4.5), event("PP:0B0", 5, 6), event("PP:0B1", 6, 7)]
        profile = self.profile(trace(empty))  # those without a length count by their op and begin
        self.assertEqual((profile.samples[ppsched.Kind.F][0], profile.iterations), ([0, 0, 0, 0], 2))
        profile = self.profile(trace([event("PP:0F0", 1, 1), event("PP:0F0", 1.5, 1.5), event("PP:0B0", 2, 3), event("PP:0B0", 3, 4)]))
        self.assertEqual(profile.samples[ppsched.Kind.F][0], [0, 0])
        within = trace([event("PP:0F0", 0, 2), event("PP:0F1", 1, 2)])
        self.refused("event 2 ('PP:0F1'): it begins within 'PP:0F0'", self.profile, within)

    def test_gpu_annotations_go_before_cpu_ranges(self):
        timeline = plan(devices=2)
        for identities in (False, True):
            values = []
            for rank, queue in enumerate(spans_of(timeline)):
                on_cpu = ranges([(token, start / 8, end / 8) for token, start, end in queue])
                first = on_gpu([(token, start, end - 0.5) for token, start, end in queue])
                second = on_gpu([(token, start + 0.25, end) for token, start, end in queue], tid=20)
                if identities:
                    for index, rows in enumerate(zip(on_cpu, first, second)):
                        for row in rows:
                            row["args"] = {"External id": 100 + index}
                    second[0]["tid"] = 21  # the streams of an op need not be the same
                values.append(trace(on_cpu + first + second, rank))
            profile = self.profile(*values)
            self.check_times(profile, timeline)
            self.assertEqual(profile.sources, {"GPU annotations": {ppsched.Kind.F, ppsched.Kind.B}})
        both = [event("PP:0F0", 0, 1), event("PP:0B0", 1, 5), event("PP:0F0", 2, 5, cat="gpu_user_annotation", pid=0)]
        profile = self.profile(trace(both))
        self.assertEqual(profile.lists(), {"forward_times": [3], "backward_times": [4]})
        self.assertEqual(profile.sources, {"GPU annotations": {ppsched.Kind.F}, "CPU ranges": {ppsched.Kind.B}})
        self.refused("PP:0F0 has 1 CPU ranges, but 2 GPU ranges", self.profile,
                     trace(both + [event("PP:0F0", 7, 8, cat="gpu_user_annotation", pid=0)]))

    def test_kernels_that_a_range_launched(self):
        """Launches of any thread count, annotations and NCCL do not, and an op that launched nothing takes no time."""
        def launch(time, correlation, tid=1):
            return event("cudaLaunchKernel", time, time + 0.01, cat="cuda_runtime", tid=tid, args={"correlation": correlation})

        def kernel(start, end, correlation, name="gemm", cat="kernel"):
            return event(name, start, end, cat=cat, pid=0, tid=7, args={"correlation": correlation})

        events = [event("PP:0F0", 0, 1), launch(0.125, 1), launch(0.25, 2), launch(0.5, 3), kernel(2, 3, 1), kernel(3, 5.5, 2),
                  kernel(4, 9, 3, "ncclDevKernel_ReduceScatter"), event("PP:0I0", 1, 2), event("PP:0W0", 2, 3),
                  launch(2.5, 4, tid=99), kernel(6, 8, 4, "memset", "gpu_memset"), kernel(1, 20, 77),
                  event("PP:0F0", 2, 3, cat="gpu_user_annotation", pid=0, tid=7), event("aten::mm", 0.1, 0.2, cat="cpu_op")]
        profile = self.profile(trace(events))
        self.assertEqual(profile.lists(), {"forward_times": [3.5], "backward_input_times": [0], "backward_weight_times": [2]})
        self.assertEqual(set(profile.sources), {"GPU kernels"})

    def test_kernels_in_any_order(self):
        """A range's time is from the first start of its kernels to their last end, in whatever order the file has them."""
        def launch(time, correlation):
            return event("cudaLaunchKernel", time, time + 0.01, cat="cuda_runtime", args={"correlation": correlation})

        def kernel(start, end, correlation):
            return event("gemm", start, end, cat="kernel", pid=0, tid=7, args={"correlation": correlation})

        kernels = [kernel(2, 2.5, 1), kernel(1.5, 4, 2), kernel(3, 3.5, 3)]
        for order in itertools.permutations(kernels):
            events = [event("PP:0F0", 0, 1), *(launch(number / 8, number) for number in (1, 2, 3)), event("PP:0B0", 1, 2),
                      launch(1.5, 4), *order, kernel(5, 6, 4)]
            self.assertEqual(self.profile(trace(events)).lists(), {"forward_times": [2.5], "backward_times": [1]})

    def test_ranges_that_overlap_by_a_rounding(self):
        """Up to a rounding, and up to half of the shorter one, a range begins when the one before has ended; else it is in it."""
        rounding = trace_reader._ROUNDING / 1000  # in milliseconds, as in event()
        for first, second, overlap, fits in ((1, 1, rounding, True), (1, 1, rounding * 1.125, False),
                                             (rounding / 2, 1, rounding / 5, True), (1, rounding / 2, rounding / 5, True),
                                             (rounding / 2, 1, rounding / 8, True), (rounding / 2, 1, rounding / 2.5, False),
                                             (1, rounding / 2, rounding / 8, True), (1, rounding / 2, rounding / 2.5, False)):
            start = 2 + first - overlap
            events = [event("PP:0F0", 2, 2 + first), event("PP:0B0", start, start + second)]
            with self.subTest(first=first, second=second, overlap=overlap):
                if fits:
                    self.assertAlmostEqual(self.profile(trace(events)).lists()["backward_times"][0], second)
                else:
                    self.refused("it begins within", self.profile, trace(events))

    def test_waits_on_the_cpu_are_left_out(self):
        events = [event("PP:0F0", 0, 5), event("c10d::recv_", 0, 1, cat="cpu_op"), event("aten::linear", 3, 4, cat="cpu_op"),
                  event("aten::tanh", 4, 5, cat="cpu_op"), event("aten::mm", 1, 2, cat="cpu_op", tid=5), event("PP:0I0", 5, 8),
                  event("PP:0UNSHARD", 8, 9), event("aten::detach", 8, 9, cat="cpu_op"), event("PP:0W0", 9, 11),
                  event("aten::view", 9, 9, cat="cpu_op")]
        profile = self.profile(trace(events))
        self.assertEqual(profile.lists(), {"forward_times": [2], "backward_input_times": [0], "backward_weight_times": [2]})
        self.assertEqual(set(profile.sources), {"CPU operators"})

    def test_a_real_trace(self):
        """Two iterations on CPUs with gloo, without the fields and events that are not read."""
        profile = ppsched.Profile.from_traces(*TRACES)
        self.assertEqual((profile.stages, profile.devices, profile.microbatches, profile.iterations), (4, 2, 4, 2))
        lists = profile.lists()
        self.assertEqual(lists["backward_input_times"][0], 0)  # PyTorch's first stage does all in W
        self.assertTrue(80 < min(lists["forward_times"][0], lists["forward_times"][3]) < lists["forward_times"][1] < 200)
        timeline = ppsched.generate("zbv", profile.config()).evaluate()
        comparison = ppsched.compare_run(timeline, profile)
        self.assertLess(abs(comparison.measured_makespan / comparison.makespan - 1), 0.01)
        self.assertEqual((comparison.origin.device, comparison.origin.cause, comparison.origin.other), (1, "slow op", "1F0"))
        self.assertEqual(comparison.notes, ["times of F/I/W come from CPU operators"])

    def test_bad_traces(self):
        first = event("PP:0F0", 0, 1)
        cases = (
            ("broken JSON", "{"), ("traceEvents must be a list", {"traceEvents": 1}), ("no traceEvents", {"events": []}),
            ("no traceEvents", "{}"), ("traceEvents must be a list", "7"),
            ("event 1 is not an object", {"traceEvents": [first, 7]}),
            ("there are no ranges named PP:<op>", trace([])), ("there are no ranges named PP:<op>", "[]"),
            ("there are no ranges", trace([event("PP:0SEND_F0", 0, 1)])),
            ("there are no ranges", trace([event("PP::send", 0, 1)])),
            ("single-stage schedules of PyTorch do not name stages", trace([event("Forward 0", 0, 1)])),
            ("event 1 ('PP:0F'): '0F' is not an op", trace([event("PP:0F", 0, 1)])), ("is not an op", trace([event("PP:", 0, 1)])),
            ("'0X1' is not an op", trace([event("PP:0X1", 0, 1)])), ("is not an op", trace([event("PP:0F" + "9" * 5000, 0, 1)])),
            ("is out of range", trace([event("PP:65535F0", 0, 1)])),
            ("is out of range", trace([event("PP:0F1073741824", 0, 1)])),
            ("is not a pair of a forward and a backward", trace([event("PP:(0F0;1F0)OVERLAP_F_B", 0, 1)])),
            ("is not a pair", trace([event("PP:(0B0;1SEND_F0)OVERLAP_F_B", 0, 1)])),
            ("is not an op", trace([event("PP:()OVERLAP_F_B", 0, 1)])),
            ("its duration is -1000, which is negative", trace([event("PP:0F0", 1, 0)])),
            ("its ts must be a number, not 'None'", trace([{**first, "ts": None}])),
            ("its dur must be", trace([{**first, "dur": "1"}])),
            ("of 401 digits is too large", trace([{**first, "ts": 10**400}])), ("its ts must be", trace([{**first, "ts": math.nan}])),
            ("its ts must be", trace([{**first, "ts": True}])), ("a range must have 'X'", trace([{**first, "ph": "B"}])),
            ("its pid and tid must be", trace([{**first, "pid": [1]}])), ("rank in distributedInfo", trace([first], rank="0")),
            ("rank in distributedInfo", trace([first], rank=-1)),
            ("baseTimeNanoseconds", trace([first], baseTimeNanoseconds=1.5)),
            ("stage 0 has no F", trace([event("PP:1F0", 0, 1)])), ("stage 0 has no F", trace([event("PP:0B0", 0, 1)])),
            ("nested too deeply", "[" * 100000), ("0.json: ", '[{"ts": ' + "9" * 5000 + "}]"),
        )
        for part, value in cases:
            with self.subTest(part=part):
                self.refused(part, self.profile, value)
                self.refused("0.json", self.profile, value)
        packed = gzip.compress(json.dumps(trace([first])).encode())
        for data in (packed[:-9], packed[:20] + b"\0\0\0\0" + packed[24:], b"\x1f\x8b", b"\xff\xfe"):
            path = self.folder / "bad.json.gz"
            path.write_bytes(data)
            self.refused("bad.json.gz: ", ppsched.Profile.from_traces, path)
        self.refused("cannot read", ppsched.Profile.from_traces, self.folder)

    def test_tampered_traces(self):
        """Whatever is done to a trace, it is read or refused with an Error."""
        random.seed(11)
        spans, arguments = spans_of(plan("dualpipe_v", 1, 2, 2))[0], {"External id": 1, "correlation": 3}
        value = trace(ranges(spans, args=arguments), 0, baseTimeNanoseconds=1)
        value["traceEvents"] += [event("a", 0, 1, cat="cpu_op"), *on_gpu(spans, args=arguments)]
        kernels = copy.deepcopy(value)
        kernels["traceEvents"] += [event("k", 0, 1, cat=category, args=arguments) for category in ("kernel", "cuda_runtime")]
        outcomes = {True: 0, False: 0}
        for turn in range(1500):
            tampered = (truncated, scrambled, other_value)[turn % 3](value if turn % 2 else kernels)
            outcomes[self.read_or_refuse(tampered)] += 1
        self.assertGreater(min(outcomes.values()), 100)

    def test_tampered_profiles(self):
        random.seed(12)
        value = {"stages": 2, "devices": 2, "microbatches": 4, "forward_times": [[1, 2], 3], "backward_times": 2,
                 "p2p_time": [0, 1, 1, 0], "mem_forward": 1, "mem_backward_weight": -1, "overlapped_times": [2, 3]}
        outcomes = {True: 0, False: 0}
        for turn in range(900):
            outcomes[self.read_or_refuse((truncated, scrambled, other_value)[turn % 3](value))] += 1
        self.assertGreater(min(outcomes.values()), 20)

    def read_or_refuse(self, text):
        path = self.folder / "tampered.json"
        path.write_text(text, encoding="utf-8", errors="surrogatepass")
        try:
            profile = ppsched.Profile.read(path)
            profile.lists("median")
            self.assertTrue(profile.spread)
            if profile.repetitions:
                ppsched.compare_run(plan("dualpipe_v", 1, 2, 2), profile)
        except ppsched.Error as error:
            self.assertTrue(str(error))
            return False
        return True


def truncated(value):
    text = json.dumps(value)
    return text[:random.randrange(len(text))]


def scrambled(value):
    text = json.dumps(value)
    place = random.randrange(len(text))
    return text[:place] + random.choice('0123456789{}[]",:-.eXFBIW()\\ \x00') + text[place + 1:]


def other_value(value):
    """Any place of the value with another value there, or without it."""
    changed = json.loads(json.dumps(value))
    places = [(holder, key) for holder in holders(changed)
              for key in (holder if isinstance(holder, dict) else range(len(holder)))]
    holder, key = random.choice(places)
    if random.random() < 0.2:
        del holder[key]
    else:
        holder[key] = random.choice([None, True, -1, 0, 1, 2.5, 1e300, math.nan, math.inf, 10**400, "", "X", "PP:0F0", "PP:1I1",
                                     [], {}, [1], {"a": 1}])
    return json.dumps(changed)


def holders(value):
    """All objects and lists within a value."""
    found = [value] if isinstance(value, (dict, list)) else []
    for inner in (value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()):
        found += holders(inner)
    return found


class ComparisonTest(FilesTest):
    def measured(self, timeline, **changes):
        return ppsched.compare_run(timeline, self.of_spans(run(timeline, **changes)))

    def test_a_run_as_planned(self):
        for strategy, devices, stages in (("1f1b", 4, 4), ("zbv", 2, 4), ("dualpipe_v", 2, 4)):
            timeline = plan(strategy, devices, 6, stages, p2p_time=0.25)
            comparison = ppsched.compare_run(timeline, self.of_spans(spans_of(timeline)))
            self.assertEqual(len(comparison.ops), sum(map(len, spans_of(timeline))))
            self.assertTrue(all(row.lag == 0 and row.longer == 0 and row.planned == row.measured for row in comparison.ops))
            self.assertEqual((comparison.partings, comparison.origin, comparison.iterations), ([], None, 1))
            self.assertEqual((comparison.makespan, comparison.measured_makespan), (timeline.metrics.makespan,) * 2)
            for row, figures in zip(comparison.devices, timeline.device_metrics):
                self.assertEqual((row.planned_busy, row.planned_idle), (figures.busy, figures.idle))
                self.assertEqual((row.measured_busy, row.measured_idle), (figures.busy, figures.idle))
            self.assertTrue(all(row.planned == row.measured and row.deviation == 0 for row in comparison.stages))
            lowered = ppsched.generate(strategy, timeline.schedule.config).lower("pytorch", unshard=3).evaluate_transfers()
            self.assertEqual(len(ppsched.compare_run(lowered, self.of_spans(spans_of(timeline))).ops), len(comparison.ops))

    def test_a_slow_op(self):
        timeline = plan()
        comparison = self.measured(timeline, slow={"1F1": 3.0})
        row = next(row for row in comparison.ops if row.op == "1F1")
        self.assertEqual((row.device, row.lag, row.longer, row.planned.end - row.planned.start), (1, 0, 3, 1))
        self.assertEqual((comparison.origin.device, comparison.origin.cause, comparison.origin.other, comparison.origin.amount),
                         (1, "slow op", "1F1", 3))
        others = [parting for parting in comparison.partings if parting.device != 1]
        self.assertEqual([(other.device, other.cause) for other in others], [(device, "late input") for device in (0, 2, 3)])
        late = next(parting for parting in others if parting.device == 2)
        self.assertEqual((late.op, late.other, late.other_device, late.lag, late.amount), ("2F1", "1F1", 1, 3, 3))
        stage = next(row for row in comparison.stages if (row.stage, row.kind.name) == (1, "F"))
        self.assertEqual((stage.count, stage.planned, stage.measured, stage.minimum, stage.maximum), (4, 4, 7, 1, 4))
        self.assertEqual(comparison.devices[1].measured_busy - comparison.devices[1].planned_busy, 3)

    def test_a_late_device(self):
        timeline = plan(p2p_time=0.5)
        spans = spans_of(timeline)
        index = next(index for index, span in enumerate(spans[2]) if span[0] == "2B1")
        spans[2][index:] = [(token, start + 2, end + 2) for token, start, end in spans[2][index:]]
        comparison = ppsched.compare_run(timeline, self.of_spans(spans))
        self.assertEqual(comparison.partings, [comparison.origin])
        self.assertEqual(comparison.origin, (2, "2B1", 2, "late device", None, None, 2))
        first = self.measured(plan(), pause={"3F0": 4.0})
        self.assertEqual(first.origin, (3, "3F0", 4, "late device", None, None, 4))

    def test_delays_are_those_of_the_evaluation(self):
        costs, slower = ppsched.Config(4, 6, p2p_time=1.0), ppsched.Config(4, 6, p2p_time=3.0)
        run_of = self.of_spans(spans_of(ppsched.generate("1f1b", slower).evaluate()))
        own = ppsched.compare_run(ppsched.generate("1f1b", costs).evaluate(), run_of)
        given = ppsched.compare_run(ppsched.generate("1f1b", ppsched.Config(4, 6)).evaluate(costs), run_of)
        self.assertEqual(given.partings, own.partings)

    def test_a_device_that_waits_for_its_sends_as_planned_does_not_pause(self):
        timeline = plan(microbatches=8, p2p_time=0.5, sender_waits="like_kind")
        late = {"0F2": 2.0, "0F3": 2.0}
        spans = [[(token, start + late.get(token, 0.0), end + late.get(token, 0.0)) for token, start, end in queue]
                 for queue in spans_of(timeline)]
        first = ppsched.compare_run(timeline, self.of_spans(spans)).origin
        self.assertEqual(first, (0, "0F2", 2, "late device", None, None, 2))

    def test_pauses_behind_uneven_edges(self):
        """With one microbatch every op waits for the one before, on another edge each. What comes later than its input could be
        there is the pause, to the last bit, whatever the edge's latency, bandwidth and bytes."""
        edges = {"p2p_time": [[(3 * a + 5 * b) / 8 for b in range(4)] for a in range(4)],
                 "p2p_bandwidth": [[2.0 ** (a - b) for b in range(4)] for a in range(4)], "activation_bytes": [1, 3, 0.5, 2]}
        for more in ({}, {"gradient_bytes": [1.5, 0.25, 2.5, 0.75]}):
            timeline = plan(microbatches=1, **edges, **more)
            spans = spans_of(timeline)
            chain = [(0, "0F0"), *((d, f"{d}F0") for d in (1, 2, 3)), (3, "3B0"), *((d, f"{d}B0") for d in (2, 1, 0))]
            for place, (device, token) in enumerate(chain):
                if token in ("0F0", "3B0"):
                    continue
                late = {other for _, other in chain[place:]}
                moved = [[(name, start + (name in late) / 4, end + (name in late) / 4) for name, start, end in queue] for queue in spans]
                origin = ppsched.compare_run(timeline, self.of_spans(moved), 0.01).origin
                self.assertEqual(origin, (device, token, 0.25, "late device", None, None, 0.25))

    def test_many_small_pauses(self):
        timeline = plan(microbatches=16)
        pauses = {f"3{kind}{m}": 0.25 for kind in "FB" for m in range(16)}
        for cause, changes in (("late device", {"pause": pauses}), ("slow op", {"slow": pauses})):
            comparison = self.measured(timeline, **changes)
            self.assertEqual([parting.cause for parting in comparison.partings], ["late input"] * 3 + [cause])
            self.assertEqual(comparison.origin, comparison.partings[3])
        spans = run(timeline, slow=pauses)
        profile = self.of_spans(spans)
        self.assertEqual(ppsched.compare_run(timeline, profile, 100).partings, [])
        self.assertEqual(len(ppsched.compare_run(timeline, profile, 0).partings), 4)
        for wrong in (-1, math.nan, math.inf, "1", True):
            self.refused("tolerance is", ppsched.compare_run, timeline, profile, wrong)

    def test_mean_of_iterations(self):
        timeline = plan(devices=2)
        runs = [run(timeline), run(timeline, slow={"0F1": 1.0})]
        spans = [[(token, start + shift, end + shift)
                  for shift, found in zip((7, 57), runs) for token, start, end in found[device]] for device in (0, 1)]
        comparison = ppsched.compare_run(timeline, self.of_spans(spans))
        self.assertEqual(comparison.iterations, 2)
        for row in comparison.ops:
            wanted = [next(span[1:] for span in found[row.device] if span[0] == row.op) for found in runs]
            self.assertEqual(row.measured, tuple(sum(times) / 2 for times in zip(*wanted)))

    def test_notes(self):
        timeline = plan(devices=2)
        spans = spans_of(timeline)
        shifted = [spans[0], [(token, start - 0.5, end - 0.5) for token, start, end in spans[1]]]
        notes = ppsched.compare_run(timeline, self.of_spans(shifted)).notes
        self.assertEqual(notes[:2], ["times of F/B come from CPU ranges", "CPU ranges include the wait for an op's input"])
        self.assertEqual(notes[2:], ["1F0 started 0.5 before its input 0F0 ended: the clocks of devices 0 and 1 differ by "
                                     "at least that much"])
        swapped = [list(spans[0]), spans[1]]
        (a, *first), (b, *second) = spans[0][1:3]
        swapped[0][1:3] = [(b, *first), (a, *second)]
        self.assertIn(f"device 0 ran {b} before {a}, but the plan has {a} first",
                      ppsched.compare_run(timeline, self.of_spans(swapped)).notes)
        backward = [trace(ranges(queue) + on_gpu(queue), rank) for rank, queue in enumerate(spans)]
        self.assertIn("GPU annotations of a backward do not include kernels launched by other threads",
                      ppsched.compare_run(timeline, self.profile(*backward)).notes)

    def test_the_worst_of_the_clocks_is_told(self):
        """Of an edge the op that starts earliest before its input has ended, wherever in the queue it is."""
        timeline = plan("gpipe", devices=2)
        for early, worst in (({"1F0": 0.75, "1F1": 0.5}, "1F0 started 0.75"), ({"1F0": 0.5, "1F1": 0.75}, "1F1 started 0.75")):
            spans = [[(token, start - early.get(token, 0), end - 0.75) if token in early else (token, start, end)
                      for token, start, end in queue] for queue in spans_of(timeline)]
            self.assertEqual([note for note in ppsched.compare_run(timeline, self.of_spans(spans)).notes if "clocks" in note],
                             [f"{worst} before its input {worst[:3].replace('1', '0', 1)} ended: the clocks of devices 0 and 1 differ "
                              "by at least that much"])

    def test_digits_of_the_table(self):
        """Enough for three of a mean op, nine at most; three where no op takes time."""
        for mean, digits in ((1234, 0), (100, 0), (99, 1), (10, 1), (9.5, 2), (1, 2), (0.5, 3), (0.01, 4), (1e-7, 9), (1e-12, 9), (0, 3)):
            row = types.SimpleNamespace(planned=ppsched.Span(3, 3 + mean) if mean >= 1 else ppsched.Span(0, mean))
            number = comparison_report._number_format(types.SimpleNamespace(ops=[row, row]))
            self.assertEqual(number(1), f"{1:.{digits}f}", mean)

    def test_roundings_of_clocks_are_not_told(self):
        """Below 1e-9 of the makespan; nor where nothing takes any time."""
        timeline = plan("gpipe", devices=2)
        for share, told in ((0.5e-9, False), (2e-9, True)):
            spans = [[(token, start - share * timeline.metrics.makespan * (token == "1F0"), end) for token, start, end in queue]
                     for queue in spans_of(timeline)]
            notes = ppsched.compare_run(timeline, self.of_spans(spans)).notes
            self.assertEqual(any("clocks" in note for note in notes), told)

    def test_other_schedules_are_refused(self):
        timeline = plan(devices=2)
        profile = self.of_spans(spans_of(timeline))
        for part, other in (("the traces have 2 stages, the plan has 4", plan("zbv", 2, 4, 4)),
                            ("have 2 devices, the plan has 1", plan("interleaved_1f1b", 1, 4, 2)),
                            ("have 4 microbatches, the plan has 8", plan(devices=2, microbatches=8)),
                            ("the plan has 2 iterations", plan(devices=2, iterations=2)),
                            ("0I0 is planned but was not measured", plan("zb_h1", 2, 4))):
            self.refused(part, ppsched.compare_run, other, profile)
        self.refused("0F0 was measured on device 1, but is planned on device 0", ppsched.compare_run, timeline,
                     self.of_spans(spans_of(timeline)[::-1]))
        more = spans_of(timeline)
        more[0].append(("0W0", 40, 41))
        self.refused("0W0 was measured alone, but it is different in the plan", ppsched.compare_run, timeline, self.of_spans(more))
        path = self.write("p.json", {"stages": 2, "forward_times": 1, "backward_times": 2})
        of_file = ppsched.Profile.from_file(path)
        self.refused("a profile file does not say when ops ran", ppsched.compare_run, timeline, of_file)


class CommandTest(FilesTest):
    def ppsched(self, *words, code=0):
        result = run_command(words)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual("", result.stdout if code else result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        return result.stderr if code else result.stdout

    def makespan(self, *words):
        return json.loads(self.ppsched(*words, "--format", "json"))["metrics"]["makespan"]

    def paths(self, timeline, **changes):
        spans = run(timeline, **changes)
        return [self.write(f"rank{rank}.json", trace(ranges(queue), rank)) for rank, queue in enumerate(spans)]

    def test_words_of_profiles(self):
        for words in (("--statistic", "median"), ("--time-unit", "us"), ("--warmup", 1)):
            self.assertIn("--statistic, --time-unit and --warmup need --profile or --measured",
                          self.ppsched("schedule", "-s", 2, "-b", 2, *words, code=2))

    def test_profile_file(self):
        path = self.write("p.json", {"stages": 4, "forward_times": [[1, 1, 4], 1, 1, 1], "backward_times": 3, "p2p_time": 0.5})
        config = self.write("c.json", {"p2p_time": 0})
        words = ("schedule", "-b", 8, "--profile", path)
        for more, times in (((), {"forward_times": [2, 1, 1, 1]}), (("--statistic", "median"), {}),
                            (("--statistic", 1), {"forward_times": [4, 1, 1, 1]}), (("-f", 2), {"forward_times": 2}),
                            (("-c", config), {"forward_times": [2, 1, 1, 1], "p2p_time": 0})):
            wanted = plan(microbatches=8, **{"backward_times": 3, "p2p_time": 0.5, **times}).metrics.makespan
            self.assertEqual(self.makespan(*words, *more), wanted)
        for code, part, more in ((1, "the profile has 4 stages, the problem 2", ("-s", 2)),
                                 (1, "the statistic must be", ("--statistic", "mode")),
                                 (1, "cannot read", ("--profile", "none")), (2, "--time-unit", ("--time-unit", "h"))):
            self.assertIn(part, self.ppsched(*words, *more, code=code))
        self.assertIn("--microbatches", self.ppsched("schedule", "--profile", path, code=2))

    def test_traces_as_costs(self):
        times = {"forward_times": [1, 2, 3, 4], "backward_input_times": 2, "backward_weight_times": 1}
        timeline = plan("zbv", 2, 4, 4, **times)
        paths = [self.write(f"rank{rank}.json.gz", trace(ranges(queue), rank)) for rank, queue in enumerate(spans_of(timeline))]
        words = ("schedule", "--strategy", "zbv", "--profile", *paths)
        result = json.loads(self.ppsched(*words, "--format", "json"))
        self.assertEqual((result["devices"], result["stages"], result["microbatches"]), (2, 4, 4))
        self.assertEqual(result["metrics"]["makespan"], timeline.metrics.makespan)
        longer = plan("zbv", 2, 8, 4, **times).metrics.makespan
        self.assertEqual(self.makespan(*words, "-b", 8, "--time-unit", "us"), 1000 * longer)
        best = json.loads(self.ppsched("pick", "--profile", *paths, "--strategies", "zbv", "--placements", "v", "--json"))[0]
        self.assertEqual((best["strategy"], best["chunks"], best["makespan"]), ("zbv", 2, timeline.metrics.makespan))
        words = ("convert", self.write("s.csv", timeline.schedule.export("csv")), "--to", "json", "--profile")
        self.assertEqual(json.loads(self.ppsched(*words, *paths))["metrics"]["makespan"], timeline.metrics.makespan)
        two = self.write("p.json", {"stages": 2, "forward_times": 1, "backward_times": 3})
        self.assertIn("the profile has 2 stages, the problem 4", self.ppsched(*words, two, code=1))
        self.assertIn("after a warm-up of 1 none is left", self.ppsched("schedule", "--profile", *paths, "--warmup", 1, code=1))

    def test_measured(self):
        paths = self.paths(plan(), slow={"1F1": 3.0})
        words = ("schedule", "--num-stages", 4, "-b", 4, "-f", 1, "-bw", 2, "--measured", *paths)
        text = self.ppsched(*words)
        self.assertTrue(text.startswith("1f1b: makespan 21, span 21"))
        self.assertIn("\nmeasured, 1 iteration: makespan 22.00 ms, planned 21.00 (+4.8%)\n", text)
        self.assertRegex(text, r"\n +1 +1F1 +2\.00 +3\.00 +2\.00 +6\.00 +0\.00 +3\.00\n")
        self.assertRegex(text, r"\ndevice 1: \S+ lags by \S+: slow op: 1F1 took 3\.00 longer than planned; this is the first cause of all\n")
        tables = [block.splitlines() for block in text.split("\n\n")]
        for table in tables[2:5]:
            self.assertEqual(len({len(line) for line in table}), 1, table)
        result = json.loads(self.ppsched(*words, "--format", "json"))
        self.assertEqual(len(result["measured"]["ops"]), 32)
        self.assertEqual(result["measured"]["origin"]["other"], "1F1")
        first = {"device": 0, "op": "0F0", "planned": [0, 1], "measured": [0, 1], "lag": 0, "longer": 0}
        self.assertEqual(result["measured"]["ops"][0], first)
        path = self.folder / "out.json"
        self.assertEqual(self.ppsched(*words, "-o", path), "")
        self.assertEqual(json.loads(path.read_text()), {"version": ppsched.__version__, **result})
        self.assertEqual(len(ppsched.read(path)), 32)
        self.assertIn("--measured works only with text and json", self.ppsched(*words, "--format", "csv", code=2))
        for part, more in (("the profile has 4 stages, the problem 8", ("--num-stages", 8)),
                           ("the traces have 4 microbatches, the plan has 8", ("-b", 8))):
            self.assertIn(part, self.ppsched(*words, *more, code=1))

    def test_measured_alone_gives_the_costs(self):
        paths = self.paths(plan(forward_times=[1, 2, 1, 1]))
        text = self.ppsched("schedule", "--measured", *paths)
        self.assertIn("no op lags by more than", text)
        self.assertIn("(+0.0%)", text)


if __name__ == "__main__":
    unittest.main()
