# SPDX-License-Identifier: Apache-2.0
"""Microbatches that differ, slices, and times that vary, from Python and on the command line."""
import csv
import functools
import itertools
import json
import pathlib
import pickle
import re
import shlex
import tempfile
import unittest

from in_process import run_command

import ppsched

SCALE = [1, 2, 0.5, 3, 0.25]


def run(*words):
    return run_command(words)


def printed(*words):
    result = run(*words, "--format", "json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


class BalanceTest(unittest.TestCase):
    """By hand: two replicas share 5 + 4 and 3 + 3 + 3."""

    def test_shares(self):
        found = ppsched.balance_microbatches([5, 4, 3, 3, 3], 2)
        self.assertEqual((found.replica[0] == found.replica[1] != found.replica[2], len(set(found.replica[2:]))), (True, 1))
        self.assertEqual((found.most, found.bound, found.is_best), (9, 9, True))
        long = [8, 1, 1, 1, 1]
        self.assertEqual((ppsched.balance_microbatches(long, 2).most, ppsched.balance_microbatches(long, 2, even_counts=True).most), (8, 9))
        self.assertEqual(sorted(ppsched.balance_microbatches([2, 2, 1], 3).replica), [0, 1, 2])
        self.assertEqual(ppsched.balance_microbatches([2, 2, 1], 1).replica, [0, 0, 0])

    def test_refusals(self):
        for replicas, told in ((0, 0), (-1, -1), (4, 4), (2**32 + 1, 2**32 + 1)):
            with self.assertRaisesRegex(ppsched.Error, f"3 microbatches cannot be divided among {told} replicas; each needs at least one"):
                ppsched.balance_microbatches([1, 2, 3], replicas)
        for wrong in ((["a"], 1), ([1], "2"), ([1], 2**70)):
            with self.assertRaises(ppsched.Error):
                ppsched.balance_microbatches(*wrong)


class SliceTest(unittest.TestCase):
    def test_published_figures(self):
        for microbatches, makespan in ((4, 33), (6, 45)):
            data = printed("schedule", "--strategy", "seq_1f1b", "-s", 4, "-b", microbatches, "--slices", 2)
            self.assertEqual((data["slices"], data["metrics"]["makespan"], data["metrics"]["peak_memory"]), (2, makespan, [5, 4, 3, 2]))
        self.assertEqual(data["queues"][3]["ops"][:4], ["3F0.0", "3F0.1", "3B0.1", "3F1.0"])

    def test_json_comes_back(self):
        schedule = ppsched.generate("slimpipe", ppsched.Config(3, 4, 6, slices=4, slice_scale=[1, 2, 3, 4]))
        again = ppsched.Schedule.from_text(schedule.export("json"), "json")
        self.assertEqual((again.slices, list(map(list, again.queues))), (4, list(map(list, schedule.queues))))
        self.assertEqual(again.queues[0][1], ppsched.Op(0, ppsched.Kind.F, 0, slice=1))
        self.assertEqual(ppsched.Op.from_token("0F0.1"), again.queues[0][1])

    def test_order_within_a_microbatch(self):
        config = ppsched.Config(1, 1, slices=2)
        for queue, valid in ((["0F0.0", "0F0.1", "0B0.1", "0B0.0"], True), (["0F0.1", "0F0.0", "0B0.1", "0B0.0"], False),
                             (["0F0.0", "0F0.1", "0B0.0", "0B0.1"], False)):
            self.assertEqual(ppsched.Schedule.from_queues(config, [queue]).check() == [], valid, queue)

    def test_lowered(self):
        schedule = ppsched.generate("seq_1f1b", ppsched.Config(3, 3, slices=2))
        for lowering in ("pytorch", "by_time", "just_in_time"):
            lowered = schedule.lower(lowering, reduce_grad=True)
            for queue in lowered.queues:
                kinds = [op.kind.name for op in queue]
                self.assertEqual((kinds.count("REDUCE_GRAD"), kinds.index("REDUCE_GRAD") > len(kinds) - 1 - kinds[::-1].index("B")), (1, True))
            self.assertEqual(lowered.evaluate().metrics.makespan, schedule.evaluate().metrics.makespan)
            if lowering != "pytorch":
                self.assertEqual(lowered.evaluate_transfers(order="none").metrics.makespan, schedule.evaluate().metrics.makespan)
        numbers = [op.microbatch for op in schedule.renumber().queues[2] if op.kind.name == "F"]
        self.assertEqual(numbers, [0, 0, 1, 1, 2, 2])

    def test_transfers_of_microbatches_that_differ(self):
        config = ppsched.Config(3, 5, microbatch_scale=SCALE, microbatch_memory_scale=[1, 3, 0.5, 2, 1], p2p_time=0.25, p2p_bandwidth=8,
                                activation_bytes=[1, 2, 0], gradient_bytes=[0, 3, 1])
        schedule = ppsched.generate("gpipe", config)  # whose edges have one transfer at a time
        timeline = schedule.lower("by_time").evaluate_transfers(order="none")
        self.assertAlmostEqual(timeline.metrics.makespan, schedule.evaluate().metrics.makespan)

    def test_launch(self):
        for strategy in ("seq_1f1b", "1f1b"):
            schedule = ppsched.generate(strategy, ppsched.Config(4, 8, slices=4))
            self.assertEqual(schedule.launch("sail"), "--pipeline-model-parallel-size 4 --enable-zb-runtime --use-flash-attn --transformer-impl local "
                                                      "--use-legacy-models --no-create-attention-mask-in-dataloader --num-seq-splits 4")
            with self.assertRaisesRegex(ppsched.Error, "Megatron-LM runs whole microbatches, the schedule has 4 slices of each"):
                schedule.launch("megatron")
        for strategy, stages, told in (("zb_h1", 4, "device 0 has 0I0.3 at position 7, where sail-sg would run 0B0.3"),
                                       ("gpipe", 4, "device 0 has 0F1.3 at position 7, where sail-sg would run 0B0.3"),
                                       ("interleaved_1f1b", 8, "one stage on each of 4 devices, not 8 in all")):
            with self.assertRaisesRegex(ppsched.Error, told):
                ppsched.generate(strategy, ppsched.Config(4, 8, stages, slices=4)).launch("sail")

    def test_slice_scale(self):
        data = printed("schedule", "--strategy", "gpipe", "-s", 1, "-b", 2, "--slices", 3, "--slice-scale", 1, 2, 3,
                       "--microbatch-scale", 1, 0.5)
        self.assertEqual(data["metrics"]["makespan"], (1 + 2) * (1 + 2 + 3) * 1.5)
        self.assertEqual(data["metrics"]["peak_memory"], [4.5])

    def test_slice_scale_by_stage(self):
        scale = [1, 3, 1, 1]
        config = ppsched.Config(2, 1, slices=2, slice_scale=scale)
        self.assertEqual(config.slice_scale, scale)
        self.assertEqual(pickle.loads(pickle.dumps(config)).slice_scale, scale)
        self.assertEqual(ppsched.generate("gpipe", config).evaluate().metrics.makespan, 15)  # 0F0.1 takes 3 and 0B0.1 6
        words = ("schedule", "--strategy", "gpipe", "-s", 2, "-b", 1)
        self.assertEqual(printed(*words, "--slices", 2, "--slice-scale", *scale)["metrics"]["makespan"], 15)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "c.json"
            path.write_text(json.dumps({"num_devices": 2, "num_batches": 1, "slices": 2, "slice_scale": scale}), encoding="utf-8")
            self.assertEqual(printed("schedule", "--strategy", "gpipe", "-c", path)["metrics"]["makespan"], 15)
            self.assertEqual(ppsched.Config.from_file(path).slice_scale, scale)

    def test_bad_input(self):
        for words, message in (
                (("--slices", 0), "number of slices is 0; it must be 1 to 65535"),
                (("--slices", 2, "--slice-scale", 1, 2, 3), "slice_scale has 3 values; give 2, one per slice, or 8, one per slice for each stage"),
                (("--slices", 2, "--strategy", "zbv"), "needs 2 stages per device"),
                (("--slice-scale", 1, 2), "slice_scale has 2 values, but microbatches are whole; give --slices 2"),
                (("--slices", 2, "--strategy", "v_search", "--num-devices", 2), "v_search: runs whole microbatches, not 2 slices of each; these support slices: gpipe"),
                (("--slices", 2, "--format", "csv"), "format csv supports only whole microbatches, and the schedule has 2 slices of each"),
                (("--slices", 2, "--launch", "pytorch"), "runs whole microbatches, the schedule has 2 slices of each"),
                (("--microbatch-scale", 1, 2), "microbatch_scale has 2 values; give 8, one per microbatch"),
                (("--microbatch-scale", *[1] * 7, 0), "microbatch_scale of microbatch 7 is 0; it must be finite and above 0"),
                (("--order-microbatches",), "--order-microbatches: give --microbatch-scale"),
                (("--jitter", -1), "jitter is -1; it must be 0 to 2"),
                (("--jitter", 0.1, "--scenarios", 0), "the number of scenarios is 0; it must be 1 to"),
                (("--slow-rank", "4:1.2"), "--slow-rank 4:1.2: there is no rank 4; ranks are 0 to 3"),
                (("--slow-rank", "two"), "--slow-rank two: it must be RANK:FACTOR, such as 3:1.2"),
                (("--jitter", 0.1, "--scenarios", 2**24 + 1), "the number of scenarios is 16777217; it must be 1 to 16777216"),
                (("--slow-rank", "1:1.2", "--slow-rank", "1:2"), "--slow-rank 1:2: rank 1 has a factor already; give one"),
                (("--slow-rank", "1:-2"), "--slow-rank 1:-2: the factor must be finite and above 0; 2 takes twice as long"),
                (("--slow-rank", "1:0"), "--slow-rank 1:0: the factor must be finite and above 0; 2 takes twice as long"),
                (("--slow-link", "0:1:0"), "--slow-link 0:1:0: the factor must be finite and above 0; 2 takes twice as long"),
                (("--slow-link", "0:1"), "--slow-link 0:1: it must be FROM:TO:FACTOR, such as 0:1:2.5"),
                (("--slow-link", "0:4:2"), "--slow-link 0:4:2: there is no rank 4; ranks are 0 to 3"),
                (("--slow-link", "1:1:2"), "--slow-link 1:1:2: nothing goes from a rank to itself"),
                (("--slow-stage", "4:2"), "--slow-stage 4:2: there is no stage 4; stages are 0 to 3"),
                (("--message-jitter", 3), "message_jitter is 3; it must be 0 to 2"),
                (("--scenarios-from", "profile"), "--scenarios-from profile: give --profile"),
                (("--jitter", 0.1, "--launch", "pytorch"), "work only with text and json, not with --launch"),
                (("--jitter", 0.1, "--format", "csv"), "work only with text and json, not with csv"),
                (("--jitter", 0.1, "--lower", "pytorch"), "cannot be combined with lowering, recompute"),
                (("--jitter", 0.1, "--recompute", "chunks=1"), "cannot be combined with lowering, recompute"),
                (("--jitter", 0.1, "--seed", -1), "seed is -1; it must be 0 to 18446744073709551615"),
                (("--jitter", 0.1, "--seed", 2**64), "seed is 18446744073709551616; it must be 0 to 18446744073709551615"),
                (("--scenarios", 5), "--scenarios needs --jitter, --slow-rank")):
            result = run("schedule", "-s", 4, "-b", 8, *words)
            self.assertIn(message, result.stderr)
            self.assertEqual((result.returncode != 0, result.stderr.count("\n")), (True, 1), words)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "sliced.json")
            path.write_text(run("schedule", "-s", 2, "-b", 2, "--slices", 2, "--format", "json").stdout.replace('"0F0.1"', '"0F0.2"'),
                            encoding="utf-8")
            self.assertIn("0F0.2 needs the number of one of the text's 2 slices", run("check", path).stderr)
            path.write_text(run("schedule", "-s", 2, "-b", 2, "--slices", 2, "--format", "json").stdout.replace(', "slices": 2', ""),
                            encoding="utf-8")
            self.assertIn("0F0.0 has a slice, but the text has no", run("check", path).stderr)


class OrderTest(unittest.TestCase):
    def makespan(self, order):
        config = ppsched.Config(3, 5, microbatch_scale=[SCALE[number] for number in order])
        return ppsched.generate("1f1b", config).evaluate().metrics.makespan

    def test_command(self):
        words = ["schedule", "--strategy", "1f1b", "-s", 3, "-b", 5, "--microbatch-scale", *SCALE]
        data = printed(*words, "--order-microbatches")
        best = min(map(self.makespan, itertools.permutations(range(5))))
        self.assertEqual(data["metrics"]["makespan"], best)
        self.assertEqual(self.makespan(data["microbatch_order"]), best)
        self.assertNotIn("microbatch_order", printed(*words))
        numbers = " ".join(map(str, data["microbatch_order"]))
        self.assertIn(f"order of microbatches: {numbers}", run(*words, "--order-microbatches").stdout)
        self.assertIn(f"in the order {numbers}", run(*words, "--order-microbatches", "--format", "csv").stderr)

    def test_twice(self):
        schedule = ppsched.generate("gpipe", ppsched.Config(3, 5, microbatch_scale=SCALE))
        once = schedule.order_microbatches()
        self.assertEqual(schedule.config.microbatch_order, ())
        twice = once.order_microbatches()
        self.assertEqual([SCALE[number] for number in twice.config.microbatch_order], list(twice.config.microbatch_scale))

    def test_renumbered(self):
        queues = [["0F1", "0F0", "0F2", "0B1", "0B0", "0B2"], ["1F1", "1B1", "1F0", "1B0", "1F2", "1B2"]]
        schedule = ppsched.Schedule.from_queues(ppsched.Config(2, 3, microbatch_scale=[1, 5, 2]), queues)
        again = schedule.renumber()
        self.assertEqual((list(again.config.microbatch_scale), again.config.microbatch_order), ([5, 1, 2], (1, 0, 2)))
        self.assertEqual(again.evaluate().metrics, schedule.evaluate().metrics)

    def test_renumbered_again(self):
        """The order is that of the config which was asked first; one that stays tells none."""
        queues = [["0F2", "0F0", "0F1", "0B2", "0B0", "0B1"], ["1F2", "1B2", "1F0", "1B0", "1F1", "1B1"]]
        config = ppsched.Config(2, 3, microbatch_scale=[4, 2, 1])
        config.microbatch_order = (2, 1, 0)  # of 1, 2, 4
        again = ppsched.Schedule.from_queues(config, queues).renumber()
        self.assertEqual((list(again.config.microbatch_scale), again.config.microbatch_order), ([1, 4, 2], (0, 2, 1)))
        self.assertEqual(again.renumber().config.microbatch_order, (0, 2, 1))
        plain = ppsched.generate("1f1b", ppsched.Config(2, 3, microbatch_scale=[4, 2, 1]))
        self.assertEqual(plain.renumber().config.microbatch_order, ())

    def test_iterations_in_different_orders(self):
        queues = [["0F0", "0F1", "0B0", "0B1", "0F3", "0F2", "0B3", "0B2"], ["1F0", "1F1", "1B0", "1B1", "1F3", "1F2", "1B3", "1B2"]]
        alike = ppsched.Schedule.from_queues(ppsched.Config(2, 2, iterations=2), queues).renumber()
        self.assertEqual([op.microbatch for op in alike.queues[1]], [0, 1, 0, 1, 2, 3, 2, 3])
        with self.assertRaisesRegex(ppsched.Refused, "of iteration 1 in another order than in iteration 0, and microbatches differ"):
            ppsched.Schedule.from_queues(ppsched.Config(2, 2, iterations=2, microbatch_scale=[1, 2]), queues).renumber()
        queues = [[f"{op[:2]}{1 - int(op[2]) if int(op[2]) < 2 else 5 - int(op[2])}" for op in queue] for queue in
                  [["0F0", "0F1", "0B0", "0B1", "0F2", "0F3", "0B2", "0B3"], ["1F0", "1F1", "1B0", "1B1", "1F2", "1F3", "1B2", "1B3"]]]
        made = ppsched.Schedule.from_queues(ppsched.Config(2, 2, iterations=2, microbatch_scale=[1, 2]), queues).renumber()
        self.assertEqual((list(made.config.microbatch_scale), made.config.microbatch_order), ([2, 1], (1, 0)))

    def test_comes_back(self):
        schedule = ppsched.generate("1f1b", ppsched.Config(3, 5, microbatch_scale=SCALE)).order_microbatches()
        order, makespan = schedule.config.microbatch_order, schedule.evaluate().metrics.makespan
        for text in (schedule.export("json"), schedule.evaluate().export("json")):
            again = ppsched.Schedule.from_text(text, "json", microbatch_scale=SCALE)
            self.assertEqual((again.config.microbatch_order, list(again.config.microbatch_scale)), (order, [SCALE[number] for number in order]))
            self.assertEqual(again.evaluate().metrics.makespan, makespan)
            self.assertEqual(list(ppsched.Schedule.from_text(text, "json", microbatch_scale=2).config.microbatch_scale), [2])
        plain = ppsched.generate("1f1b", ppsched.Config(3, 5, microbatch_scale=SCALE)).export("json")
        for value, told in (("[0, 1, 2, 3]", "has 4 values; give 5, one per microbatch"), ("[0, 1, 2, 3, 5]", "has 5 at position 4; it must be 0 to 4"),
                            ("[0, 1, 2, 3, 3]", "has 3 at position 4 and at position 3"), ("[0, 1, 2, 3, true]", "must be a list of integers"),
                            ("null", "must be a list of integers, not None"), ("[0, -1, 2, 3, 4]", "has -1 at position 1")):
            with self.assertRaisesRegex(ppsched.Error, f"^microbatch_order {re.escape(told)}"):
                ppsched.Schedule.from_text(plain.rstrip()[:-1] + f', "microbatch_order": {value}}}', "json")

    def test_converted(self):
        with tempfile.TemporaryDirectory() as folder:
            path = functools.partial(pathlib.Path, folder)
            path("c.json").write_text(json.dumps({"num_stages": 3, "num_batches": 5, "microbatch_scale": SCALE}), encoding="utf-8")
            run("schedule", "-c", path("c.json"), "--strategy", "1f1b", "--order-microbatches", "-o", path("o.json"))
            data = json.loads(path("o.json").read_text(encoding="utf-8"))
            order, told = data["microbatch_order"], f"in the order {' '.join(map(str, data['microbatch_order']))}"
            again = json.loads(run("convert", path("o.json"), "--to", "json", "-c", path("c.json")).stdout)
            self.assertEqual((again["metrics"], again["microbatch_order"]), (data["metrics"], order))
            self.assertIn(f"order of microbatches: {' '.join(map(str, order))}\n", run("convert", path("o.json"), "--to", "text").stdout)
            self.assertIn(told, run("convert", path("o.json"), "--launch", "megatron").stderr)
            self.assertIn(told, run("convert", path("o.json"), "-o", path("o.csv")).stderr)
            self.assertEqual(json.loads(path("o.csv.order.json").read_text(encoding="utf-8")), {"microbatch_order": order})
            run("convert", path("o.json"), "-o", path("o.trace.json"))
            self.assertEqual(json.loads(path("o.trace.json").read_text(encoding="utf-8"))["otherData"], {"microbatch_order": order})
            path("bad.json").write_text(json.dumps({**data, "microbatch_order": [0, 0, 1, 2, 3]}), encoding="utf-8")
            for words in (("check",), ("convert", "--to", "csv")):
                result = run(*words, path("bad.json"))
                self.assertEqual((result.returncode, len(result.stderr.splitlines())), (1, 1))
                self.assertIn("bad.json: microbatch_order has 0 at position 1 and at position 0", result.stderr)

    def test_launched_in_the_order_of_losses(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "o.csv")
            told = run("schedule", "-s", 2, "-b", 3, "--microbatch-scale", 1, 5, 2, "--order-microbatches", "--launch", "pytorch", "-o", path).stderr
            order = json.loads(pathlib.Path(f"{path}.order.json").read_text(encoding="utf-8"))["microbatch_order"]
            self.assertIn(f"in the order {' '.join(map(str, order))}; {path}.order.json contains it, too", told)

    def test_picked(self):
        words = ("-s", 3, "-b", 5, "--microbatch-scale", *SCALE, "--order-microbatches", "--chunks", 1)
        best = json.loads(run("pick", *words, "--json").stdout)[0]
        numbers = " ".join(map(str, best["microbatch_order"]))
        self.assertEqual(sorted(best["microbatch_order"]), list(range(5)))
        text = run("pick", *words).stdout
        self.assertIn(f"order of microbatches: {numbers}\n", text)
        self.assertIn(f"note: give the run its microbatches in the order {numbers}\n", text)
        self.assertIn(f"order of microbatches: {numbers}\n", run("compare", *words).stdout)
        self.assertEqual(json.loads(run("compare", *words, "--json").stdout)[0]["microbatch_order"], best["microbatch_order"])
        self.assertEqual(json.loads(run("pick", *words, "--format", "json").stdout)["microbatch_order"], best["microbatch_order"])
        self.assertIn(f"in the order {numbers}\n", run("pick", *words, "--format", "csv").stderr)
        with tempfile.TemporaryDirectory() as folder:
            path = functools.partial(pathlib.Path, folder)
            told = run("pick", *words, "-o", path("p.csv"), "-o", path("p.trace.json")).stderr
            self.assertEqual([numbers in line for line in told.splitlines()], [True, True])
            self.assertEqual(json.loads(path("p.csv.order.json").read_text(encoding="utf-8"))["microbatch_order"], best["microbatch_order"])
            self.assertEqual(json.loads(path("p.trace.json").read_text(encoding="utf-8"))["otherData"]["microbatch_order"], best["microbatch_order"])
            run("compare", *words, "-o", path("t.csv"))
            rows = list(csv.DictReader(path("t.csv").read_text(encoding="utf-8").splitlines()))
            self.assertEqual(rows[0]["microbatch_order"], numbers)
        self.assertNotIn("microbatch_order", json.loads(run("pick", *words[:-3], "--json").stdout)[0])

    def test_stops(self):
        schedule = ppsched.generate("1f1b", ppsched.Config(3, 5, microbatch_scale=SCALE))
        with self.assertRaises(ppsched.Cancelled):
            schedule.order_microbatches(progress=lambda share, best: False)

    def test_config_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "config.json")
            path.write_text(json.dumps({"num_stages": 3, "num_batches": 5, "microbatch_scale": SCALE, "slices": 2}), encoding="utf-8")
            data = printed("schedule", "-c", path, "--strategy", "seq_1f1b")
            self.assertEqual(data["slices"], 2)
            self.assertEqual(sum(data["metrics"]["busy"]), 3 * 3 * 2 * sum(SCALE))

    def test_layers_are_cut(self):
        words = ("--num-layers", 8, "--num-devices", 2, "-b", 2, "-f", 2, "-bw", 4)
        whole, cut = (json.loads(run("pick", *words, *more, "--json").stdout)[0]
                      for more in ((), ("--slices", 4, "--slice-time", 0.01, "--any")))
        self.assertEqual((cut["slices"], sum(sum(row["layers"].values()) for row in cut["split"])), (4, 8))
        self.assertLess(cut["step_time"], whole["step_time"])
        built = printed(*shlex.split(cut["command"])[1:])
        self.assertEqual(built["metrics"]["makespan"], cut["step_time"])


class DispatchTest(unittest.TestCase):
    """Times and peaks are held to brute force by tests/prop/dispatch_sweep_test.c."""

    def test_command(self):
        words = ("schedule", "--strategy", "zb_h1", "-s", 8, "-b", 32, "--jitter", 0.2, "--slow-rank", "3:1.2", "--scenarios", 200, "--dispatch")
        row = printed(*words)["scenarios"]
        ready = ppsched.generate("zb_h1", ppsched.Config(8, 32)).scenarios(200, jitter=0.2, device_factors=[1, 1, 1, 1.2, 1, 1, 1, 1], dispatch="ready")
        self.assertEqual((row["dispatch"]["mean"], row["dispatch"]["peak_memory"]), (ready.metrics.mean, ready.peaks))
        self.assertAlmostEqual(row["dispatch"]["won"], (row["mean"] - ready.metrics.mean) / (row["mean"] - 103))
        self.assertLess(ready.metrics.mean, row["mean"])
        self.assertIn("with dispatch when ready: mean", run(*words).stdout)

    def test_limits_are_kept(self):
        planned = ppsched.generate("gpipe", ppsched.Config(4, 8, mem_limit=9))
        self.assertTrue(all(peak <= 9 for peak in planned.scenarios(50, jitter=0.5, dispatch="ready").peaks))
        eager = ppsched.generate("1f1b", ppsched.Config(4, 8, mem_limit=6))
        self.assertEqual(max(eager.scenarios(50, jitter=0.5, dispatch="ready").peaks), 6)
        self.assertEqual(eager.scenarios(50, jitter=0.5).peaks, [4, 3, 2, 1])

    def test_ranked(self):
        config = ppsched.Config(4, 8)
        plan = ppsched.plan(config, strategies=["gpipe", "zb_h1"], scenarios=100, jitter=0.3, rank_by="mean", dispatch="ready")
        for candidate in plan:
            if candidate.fits and not candidate.options:
                found = plan.schedule(candidate).scenarios(100, jitter=0.3, dispatch="ready")
                self.assertAlmostEqual(candidate.scenario_time, found.metrics.mean)

    def test_bad_input(self):
        for words, told in ((("--dispatch",), "--dispatch needs --jitter, --slow-rank"),):
            result = run("schedule", "-s", 4, "-b", 8, *words)
            self.assertEqual((result.returncode, len(result.stderr.splitlines())), (2, 1))
            self.assertIn(told, result.stderr)
        with self.assertRaisesRegex(ppsched.Error, "dispatch"):
            ppsched.generate("1f1b", ppsched.Config(2, 2)).scenarios(2, dispatch="eager")


class PlanTest(unittest.TestCase):
    """That plans of slices, orders and scenarios are what the single calls say is held by tests/prop/varied_plan_test.c."""

    def test_slices(self):
        plan = ppsched.plan(ppsched.Config(4, 8, mem_limit=6), slices=[1, 2, 4], slice_time=0.02, attention_share=0.3)
        self.assertEqual({candidate.slices for candidate in plan if candidate.fits}, {1, 2, 4})
        best = next(candidate for candidate in plan if candidate.slices == 4)
        self.assertEqual(plan.config_of(best).slices, 4)
        self.assertEqual(plan.timeline(best).metrics.makespan, best.step_time)
        self.assertEqual(ppsched.plan(ppsched.Config(2, 2, slices=2), strategies="1f1b")[0].slices, 2)

    def test_slices_hold_states_and_gradients(self):
        """Each slice in flight holds a state; the gradients of keys and values of all slices but one are held once."""
        def peaks(slices, **more):
            layers = ppsched.Layers([{"name": "decoder", "count": 4, "forward_time": 1, "mem_forward": 8, "mem_static": 1, **more}])
            plan = ppsched.plan(ppsched.Config(4, 8), layers=layers, strategies="seq_1f1b", slices=[slices])
            return [device.peak_memory for device in plan.timeline(plan.best).device_metrics]

        full = {"recompute": [{"name": "full", "backward_time": 3, "mem_forward": 8}]}
        for slices in (2, 4, 8):
            plain = peaks(slices)
            flights = [(peak - 1) / (8 / slices) for peak in plain]
            self.assertEqual(flights, [slices + 3, slices + 2, slices + 1, slices])
            for more in ({}, full):
                self.assertEqual(peaks(slices, mem_slice_state=0.5, **more), [peak + 0.5 * flight for peak, flight in zip(plain, flights)])
            self.assertEqual(peaks(slices, mem_slice_gradients=2), [peak + 2 * (slices - 1) / slices for peak in plain])
        self.assertEqual(peaks(1, mem_slice_state=0.5, mem_slice_gradients=2), peaks(1))

    def test_forwards_alone_hold_no_gradients(self):
        def peak(**more):
            layers = ppsched.Layers([{"name": "decoder", "count": 4, "forward_time": 1, "mem_forward": 8, "mem_static": 1, **more}])
            return ppsched.plan(ppsched.Config(4, 8, forward_only=True), layers=layers, slices=[4]).best.peak_memory

        self.assertEqual(peak(mem_slice_gradients=2), peak())

    def test_the_command_builds_it_again(self):
        for words in (("--slices", 2, 4, "--slice-time", 0.02, "--attention-share", 0.3),
                      ("--microbatch-scale", 1, 2, 0.5, 0.3, 4, 1, 1, 2, "--order-microbatches", "--mem-limit", 12)):
            picked = run("pick", "-s", 4, "-b", 8, *words, "--json", "--top", 5)
            self.assertEqual(picked.returncode, 0, picked.stderr)
            for row in json.loads(picked.stdout):
                again = printed(*shlex.split(row["command"])[1:])
                self.assertAlmostEqual(again["metrics"]["makespan"], row["makespan"])
                self.assertEqual("microbatch_order" in row, row["ordered"])

    def test_orders(self):
        config = ppsched.Config(3, 5, microbatch_scale=SCALE)
        plan = ppsched.plan(config, strategies=["1f1b", "gpipe"], chunks=1, order_effort=1)
        for candidate in plan:
            order = plan.microbatch_order(candidate)
            self.assertEqual(sorted(order), list(range(5)))
            self.assertEqual([SCALE[number] for number in order], plan.config_of(candidate).microbatch_scale)
            best = ppsched.generate(candidate.strategy, config).order_microbatches()
            self.assertEqual(candidate.makespan, best.evaluate().metrics.makespan)  # all orders are tried
        self.assertEqual(plan.config_of(plan[0]).microbatch_order, tuple(plan.microbatch_order(plan[0])))

    def test_scenarios(self):
        words = ("compare", "-s", 4, "-b", 8, "--jitter", 0.2, "--slow-rank", "2:1.5", "--scenarios", 50, "--json")
        for ranking in ((), ("--rank-by", "worst"), ("--rank-by", "quantile", "--quantile", 0.5)):
            rows = json.loads(run(*words, *ranking).stdout)
            times = [round(row["scenario_time"], 9) for row in rows if row["fits"]]
            self.assertEqual(times, sorted(times))
            self.assertTrue(all(time > row["step_time"] for time, row in zip(times, rows)))
        table = run(*words[:-1]).stdout
        self.assertRegex(table, r"\n.* step +in .*\n.* time  scenarios ")
        self.assertNotIn("scenarios", run("compare", "-s", 4, "-b", 8).stdout)

    def test_searches_aim_at_what_is_ranked_by(self):
        """The printed command of the best builds it again, and it is no worse than what does not aim."""
        words = ("pick", "-s", 3, "-b", 5, "--chunks", 1, "--effort", 2, "--strategies", "auto", "--jitter", 0.3, "--slow-rank", "1:1.5",
                 "--scenarios", 60, "--seed", 5)
        for ranking, name in (("mean", "mean"), ("worst", "worst")):
            best = json.loads(run(*words, "--rank-by", ranking, "--json").stdout)[0]
            self.assertIn(f"--rank-by {ranking}", best["command"])
            again = printed(*best["command"].split()[1:])["scenarios"]
            plain = printed("schedule", "--strategy", "auto", "--set", "effort=2", "-s", 3, "-b", 5, *words[11:])["scenarios"]
            self.assertAlmostEqual(again[name], best["scenario_time"])
            self.assertLessEqual(again[name], plain[name])
        aimed = ppsched.with_robust_objective(ppsched.Config(3, 5, options={"effort": 2}), "mean", 60, seed=5, jitter=0.3, device_factors=[1, 1.5, 1])
        found = ppsched.generate("auto", aimed).scenarios(60, seed=5, jitter=0.3, device_factors=[1, 1.5, 1])
        self.assertAlmostEqual(found.metrics.mean, json.loads(run(*words, "--rank-by", "mean", "--json").stdout)[0]["scenario_time"])

    def test_bad_input(self):
        for words, told in ((("--slices", 0), "slices has [0]; they must be at least 1"),
                            (("--slice-time", 1, 2), "--slice-time: give one number"),
                            (("--slices", 2, "--slice-time", -1), "slice_time is -1"),
                            (("--order-microbatches",), "give --microbatch-scale"),
                            (("--rank-by", "worst"), "--rank-by needs --jitter, --slow-rank"),
                            (("--jitter", 0.1, "--quantile", 0.5), "--quantile needs --rank-by quantile"),
                            (("--jitter", 0.1, "--scenarios", 0), "the number of scenarios is 0; it must be 1 to 16777216"),
                            (("--slice-time", 0.1), "--slice-time needs --slices"),
                            (("--attention-share", 0.1), "--attention-share needs --slices"),
                            (("--slow-stage", "0:2"), "--slow-stage: candidates differ in their stages; give --slow-rank"),
                            (("--strategies", "zbv", "--slices", 2), "these support slices: ")):
            result = run("pick", "-s", 4, "-b", 8, *words)
            self.assertNotEqual(result.returncode, 0, words)
            self.assertIn(told, result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)


class GoalTest(unittest.TestCase):
    def test_bad_input(self):
        for words, told in ((("--rank-by", "mean"), "--rank-by needs --jitter, --slow-rank"),
                            (("--jitter", 0.1, "--rank-by", "mean"), "works only with strategies that have an effort (auto); 1f1b ignores"),
                            (("--jitter", 0.1, "--quantile", 0.5, "--strategy", "auto"), "--quantile needs --rank-by quantile")):
            result = run("schedule", "-s", 4, "-b", 8, *words)
            self.assertNotEqual(result.returncode, 0, words)
            self.assertIn(told, result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)

    def test_it_goes_with_what_tells_no_scenarios(self):
        words = ("schedule", "-s", 3, "-b", 4, "--strategy", "auto", "--jitter", 0.2, "--scenarios", 20, "--rank-by", "mean")
        for more in (("--format", "csv"), ("--launch", "pytorch"), ("--lower", "by_time")):
            self.assertEqual(run(*words, *more).returncode, 0, more)

    def test_the_command_has_it(self):
        words = ("pick", "-s", 3, "-b", 6, "--p2p-time", 0.2, "--jitter", 0.2, "--message-jitter", 0.3, "--slow-link", "0:1:3", "--slow-rank", "1:1.2",
                 "--scenarios", 20, "--strategies", "auto", "--effort", 1, "--chunks", 1, "--json")
        row = json.loads(run(*words).stdout)[0]
        for part in ("--message-jitter 0.3", "--slow-link 0:1:3", "--slow-rank 1:1.2"):
            self.assertIn(part, row["command"])
        again = printed(*shlex.split(row["command"])[1:])
        self.assertEqual(again["metrics"]["makespan"], row["makespan"])
        self.assertAlmostEqual(again["scenarios"]["mean"], row["scenario_time"])


class ScenarioTest(unittest.TestCase):
    def test_command(self):
        words = ["schedule", "--strategy", "1f1b", "-s", 4, "-b", 8, "--scenarios", 200, "--seed", 7]
        data = printed(*words, "--jitter", 0.05)
        figures = data["scenarios"]
        self.assertEqual(set(figures["quantiles"]), {"0.5", "0.9", "0.99"})
        times = sorted(ppsched.generate("1f1b", ppsched.Config(4, 8)).scenarios(200, seed=7, jitter=0.05).makespans)
        self.assertEqual((figures["worst"], figures["quantiles"]["0.5"], figures["quantiles"]["0.99"]), (times[-1], times[99], times[197]))
        self.assertAlmostEqual(figures["mean"], sum(times) / 200)
        slow = printed(*words, "--slow-rank", "2:1.5")["scenarios"]
        config = ppsched.Config(4, 8, forward_times=[1, 1, 1.5, 1], backward_times=[2, 2, 3, 2])
        makespan = ppsched.generate("1f1b", config).evaluate().metrics.makespan
        self.assertEqual((slow["mean"], slow["worst"], slow["cause_device"]), (makespan, makespan, 2))

    def test_every_seed(self):
        words = ["schedule", "-s", 4, "-b", 8, "--jitter", 0.3, "--scenarios", 20]
        rows = [printed(*words, "--seed", seed)["scenarios"] for seed in (0, 2**63, 2**64 - 1)]
        self.assertEqual(len({row["mean"] for row in rows}), 3)
        schedule = ppsched.generate("1f1b", ppsched.Config(4, 8))
        self.assertEqual(schedule.scenarios(20, seed=2**64 - 1, jitter=0.3).metrics.mean, rows[2]["mean"])
        for seed, told in ((-1, "seed is -1; it must be 0 to"), (2**64, "it must be 0 to"), (1.5, "must be an integer, not 1.5"), (True, "not True")):
            with self.assertRaisesRegex(ppsched.Error, told):
                schedule.scenarios(2, seed=seed)
            with self.assertRaisesRegex(ppsched.Error, told):
                ppsched.plan(ppsched.Config(2, 2), scenarios=2, seed=seed)

    def test_slow_links_and_stages(self):
        config = ppsched.Config(3, 6, p2p_time=0.5, placement="linear")
        schedule = ppsched.generate("1f1b", config)
        links = [[1, 3, 1], [1, 1, 1], [1, 2, 1]]
        delays = [[0, 1.5, 0.5], [0.5, 0, 0.5], [0.5, 1, 0]]
        slow = ppsched.Config(3, 6, p2p_time=delays, forward_times=[1, 1, 2], backward_times=[2, 2, 4])
        makespan = ppsched.generate("1f1b", slow).evaluate().metrics.makespan
        self.assertEqual(schedule.scenarios(2, link_factors=links, stage_factors=[1, 1, 2]).makespans, [makespan] * 2)
        self.assertEqual(schedule.scenarios(2, link_factors=sum(links, []), stage_factors=[[1, 1, 2], [1, 1, 2]]).makespans, [makespan] * 2)
        row = printed("schedule", "-s", 3, "-b", 6, "--p2p-time", 0.5, "--slow-link", "0:1:3", "--slow-link", "2:1:2", "--slow-stage", "2:2")
        self.assertEqual((row["scenarios"]["mean"], row["scenarios"]["worst"]), (makespan, makespan))
        by_scenario = schedule.scenarios(2, stage_factors=[[1, 1, 1], [1, 1, 2]]).makespans
        self.assertEqual(by_scenario[0], schedule.evaluate().metrics.makespan)
        self.assertLess(by_scenario[0], by_scenario[1])
        with self.assertRaisesRegex(ppsched.Error, "link factors are given; it must be 9"):
            schedule.scenarios(2, link_factors=[1, 2])

    def test_messages_vary(self):
        words = ["-s", 4, "-b", 8, "--p2p-time", 0.5, "--scenarios", 50, "--message-jitter", 0.5, "--seed", 3]
        schedule = ppsched.generate("1f1b", ppsched.Config(4, 8, p2p_time=0.5))
        self.assertEqual(printed("schedule", *words)["scenarios"]["mean"], schedule.scenarios(50, seed=3, message_jitter=0.5).metrics.mean)
        first = json.loads(run("pick", *words, "--slow-link", "0:1:2", "--strategies", "1f1b", "--chunks", 1, "--json").stdout)[0]
        factors = [2 if place == 1 else 1 for place in range(16)]
        self.assertAlmostEqual(first["scenario_time"], schedule.scenarios(50, seed=3, message_jitter=0.5, link_factors=factors).metrics.mean)

    def test_config_file(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "c.json")
            problem = {"num_stages": 4, "num_batches": 8, "scenarios": 30, "seed": 7}
            path.write_text(json.dumps(problem), encoding="utf-8")
            self.assertNotIn("scenarios", printed("schedule", "-c", path))  # nothing varies
            path.write_text(json.dumps({**problem, "jitter": 0.2, "slow_rank": {"1": 1.5}, "slow_link": ["0:1:2"]}), encoding="utf-8")
            row, words = printed("schedule", "-c", path)["scenarios"], ["-s", 4, "-b", 8, "--scenarios", 30, "--seed", 7, "--jitter", 0.2]
            self.assertEqual(row, printed("schedule", *words, "--slow-rank", "1:1.5", "--slow-link", "0:1:2")["scenarios"])
            self.assertEqual(printed("schedule", "-c", path, "--slow-rank", "2:2")["scenarios"]["cause_device"], 2)
            self.assertEqual(run("schedule", "-c", path, "--format", "csv").returncode, 0)  # which knows nothing of them
            self.assertEqual(run("schedule", "-c", path, "--launch", "pytorch").returncode, 0)
            self.assertIn(" scenarios ", run("compare", "-c", path, "--strategies", "1f1b").stdout)
            for key, value, told in (("jitter", "x", "jitter must be a number, not 'x'"), ("seed", 1.5, "seed must be an integer, not 1.5"),
                                     ("slow_rank", 181.2, "slow_rank must be texts such as '3:1.2', or a mapping of ranks to factors"),
                                     ("order_microbatches", 1, "order_microbatches must be true or false")):
                path.write_text(json.dumps({**problem, key: value}), encoding="utf-8")
                self.assertIn(f"c.json: {told}", run("schedule", "-c", path).stderr)
            path.write_text(json.dumps({"num_stages": 3, "num_batches": 5, "microbatch_scale": SCALE, "order_microbatches": True}), encoding="utf-8")
            self.assertIn("microbatch_order", printed("schedule", "-c", path))


class RecordedTest(unittest.TestCase):
    """Scenarios of a profile's samples."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "p.json")
        self.times = [(1, 2, 1.5), (2, 1, 4), (1, 1, 1)]  # of the forwards of three iterations, by stage
        self.write(forward_times=[list(times) for times in zip(*self.times)], backward_times=[[2 * time for time in times] for times in zip(*self.times)])

    def write(self, **lists):
        self.path.write_text(json.dumps({"stages": 3, "microbatches": 6, **lists}), encoding="utf-8")

    def makespans(self):
        configs = [ppsched.Config(3, 6, forward_times=times, backward_times=[2 * time for time in times]) for times in self.times]
        return [ppsched.generate("1f1b", config).evaluate().metrics.makespan for config in configs]

    def test_by_stage(self):
        for words in (("--scenarios", 3), ("--scenarios", 3, "--statistic", "median"), ("--scenarios-from", "profile", "--scenarios", 30)):
            row = printed("schedule", "--profile", self.path, *words)["scenarios"]
            self.assertAlmostEqual(row["mean"], sum(self.makespans()) / 3)
            self.assertAlmostEqual(row["worst"], max(self.makespans()))
        means = {printed("schedule", "--profile", self.path, "--scenarios", 1, "--seed", seed)["scenarios"]["mean"] for seed in range(12)}
        self.assertEqual(sorted(round(mean, 9) for mean in means), sorted(round(makespan, 9) for makespan in self.makespans()))

    def test_beside_others(self):
        with_jitter = printed("schedule", "--profile", self.path, "--scenarios", 3, "--jitter", 1e-9)["scenarios"]
        self.assertAlmostEqual(with_jitter["worst"], with_jitter["best"], 5)  # jitter alone
        slow = printed("schedule", "--profile", self.path, "--scenarios", 3, "--slow-rank", "0:2")["scenarios"]
        config = ppsched.Config(3, 6, forward_times=[2, 2, 1.5], backward_times=[4, 4, 3])
        self.assertIn(ppsched.generate("1f1b", config).evaluate().metrics.makespan,
                      [slow["best"], slow["worst"], 3 * slow["mean"] - slow["best"] - slow["worst"]])

    def test_plan(self):
        row = json.loads(run("pick", "--profile", self.path, "--scenarios", 3, "--strategies", "1f1b", "--chunks", 1, "--json").stdout)[0]
        self.assertAlmostEqual(row["scenario_time"], sum(self.makespans()) / 3)

    def test_traces(self):
        traces = [pathlib.Path(__file__).resolve().parent / "traces" / f"rank{rank}.json" for rank in (0, 1)]
        profile = ppsched.Profile.read(*traces)
        self.assertGreater(profile.iterations, 1)
        for command in (("schedule", "--strategy", "zbv"), ("pick",)):
            result = run(*command, "--profile", *traces, "--scenarios", 40, "--num-devices", 2)
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_bad_input(self):
        for lists, words, told in (({"forward_times": 1, "backward_times": 2}, ("--scenarios-from", "profile"), "has one sample of each op"),
                                   ({"forward_times": 1, "backward_times": 2}, ("--scenarios", 5), "--scenarios needs --jitter, --slow-rank"),
                                   ({"forward_times": [[1, 2], 1, 1], "backward_times": [2, [1, 2, 3], 2]}, ("--scenarios", 5),
                                    "stage 0 has 2 samples of an op, stage 1 has 3"),
                                   ({"forward_times": [[1, 2], 1, 1], "backward_times": 2}, ("--scenarios", 5, "--chunks", 2, "--num-devices", 3),
                                    "the profile has 3 stages, the schedule has 6")):
            self.write(**lists)
            result = run("schedule", "--profile", self.path, "--strategy", "interleaved_1f1b" if "--chunks" in words else "1f1b", *words)
            self.assertNotEqual(result.returncode, 0)
            self.assertIn(told, result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
