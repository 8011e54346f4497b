# SPDX-License-Identifier: Apache-2.0
"""Senders that wait, from Python and on the command line: where the option may stand, what it gives, and what it does not go with."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import ppsched
from ppsched.page.report import report_data

COSTS = {"forward_times": 1, "backward_input_times": 1, "backward_weight_times": 1, "p2p_time": 0.5}
WORDS = ["-f", "1", "--backward-input-times", "1", "--backward-weight-times", "1", "--p2p-time", "0.5"]
KNOWN = {(4, 8): (33, 35.5), (8, 16): (69, 73.5)}  # of zb_h1: never, and as the program has it that waits


def run(*words):
    return subprocess.run([sys.executable, "-m", "ppsched", *map(str, words)], capture_output=True, text=True)


def config(devices=4, microbatches=8, **more):
    return ppsched.Config(devices, microbatches, **{**COSTS, **more})


class ConfigTest(unittest.TestCase):
    def test_values(self):
        for given in ("like_kind", "LIKE_KIND", ppsched.SenderWaits.LIKE_KIND, 1):
            self.assertIs(config(sender_waits=given).sender_waits, ppsched.SenderWaits.LIKE_KIND)
        self.assertIs(config().sender_waits, ppsched.SenderWaits.NEVER)
        for wrong in ("always", 2, True, None, []):
            with self.assertRaisesRegex(ppsched.Error, "sender_waits .*; there are never, like_kind$"):
                config(sender_waits=wrong)

    def test_copies_keep_it(self):
        waiting = config(stages=8, sender_waits="like_kind")
        for copy in (waiting.__copy__(), waiting.with_stages(4), waiting.with_microbatches(16)):
            self.assertIs(copy.sender_waits, ppsched.SenderWaits.LIKE_KIND)
        self.assertEqual(ppsched.generate("zb_h1", waiting.with_stages(4)).evaluate().metrics.makespan,
                         ppsched.generate("zb_h1", ppsched.Config(4, 8, forward_times=2, backward_input_times=2, backward_weight_times=2,
                                                                  p2p_time=0.5, sender_waits="like_kind")).evaluate().metrics.makespan)

    def test_known_times(self):
        for (devices, microbatches), (never, waiting) in KNOWN.items():
            for waits, makespan in (("never", never), ("like_kind", waiting)):
                timeline = ppsched.generate("zb_h1", config(devices, microbatches, sender_waits=waits)).evaluate()
                self.assertEqual(timeline.metrics.makespan, makespan)
                self.assertEqual(timeline.critical_path[-1].end, makespan)
                reasons = {step.reason for step in timeline.critical_path}
                self.assertEqual(ppsched.Reason.TRANSFER in reasons, waits == "like_kind")

    def test_plans_rank_by_it(self):
        plan = ppsched.plan(config(sender_waits="like_kind"), strategies=["1f1b", "zb_h1", "gpipe", "auto"])
        for candidate in plan:
            timeline = plan.timeline(candidate)
            self.assertEqual(timeline.metrics.makespan, candidate.step_time)
            again = ppsched.Schedule.from_queues(timeline.config, timeline.schedule.queues)
            self.assertEqual(again.evaluate().metrics.makespan, candidate.step_time)
            self.assertIs(timeline.config.sender_waits, ppsched.SenderWaits.LIKE_KIND)
        times = [candidate.step_time for candidate in plan]
        self.assertEqual(times, sorted(times))

    def test_layers_keep_it(self):
        layers = ppsched.Layers([{"name": "a", "count": 6, "forward_time": 1, "backward_time": 2},
                                 {"name": "head", "forward_time": 0.5, "backward_time": 1, "place": "last"}])
        plan = ppsched.plan(ppsched.Config(2, 6, p2p_time=0.75, sender_waits="like_kind"), layers=layers, strategies=["gpipe"], chunks=[1])
        never = ppsched.plan(ppsched.Config(2, 6, p2p_time=0.75), layers=layers, strategies=["gpipe"], chunks=[1])
        best = min(ppsched.generate("gpipe", ppsched.config_from_layers(
            ppsched.Config(2, 6, p2p_time=0.75, sender_waits="like_kind"), layers, ppsched.Split([first, 7 - first], [0] * 7))).evaluate().metrics.makespan
            for first in range(1, 7))
        self.assertEqual(plan[0].step_time, best)
        self.assertGreater(best, never[0].step_time)

    def test_report_tells_it(self):
        data = report_data(ppsched.plan(config(sender_waits="like_kind"), strategies=["zb_h1"]))
        self.assertEqual(data["question"]["sender_waits"], "like_kind")
        self.assertIn("--sender-waits like_kind", data["timelines"][0]["command"])
        self.assertEqual(data["candidates"][0]["step_time"], 35.5)


class CommandTest(unittest.TestCase):
    def makespan(self, *words):
        result = run("schedule", "--strategy", "zb_h1", *words, "--format", "json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return json.loads(result.stdout)["metrics"]["makespan"]

    def test_known_times(self):
        for (devices, microbatches), (never, waiting) in KNOWN.items():
            sizes = ["-s", devices, "-b", microbatches, *WORDS]
            self.assertEqual([self.makespan(*sizes), self.makespan(*sizes, "--sender-waits", "never")], [never, never])
            self.assertEqual(self.makespan(*sizes, "--sender-waits", "like_kind"), waiting)

    def test_config_files(self):
        path = pathlib.Path(tempfile.mkdtemp(), "waits.json")
        values = {"num_stages": 4, "num_batches": 8, **COSTS, "sender_waits": "like_kind"}
        path.write_text(json.dumps(values))
        self.assertEqual(self.makespan("-c", path), 35.5)
        self.assertEqual(self.makespan("-c", path, "--sender-waits", "never"), 33)
        for wrong, words in (("sometimes", "there are never, like_kind"), (1, "must be a text"), (None, "must be a text")):
            path.write_text(json.dumps({**values, "sender_waits": wrong}))
            result = run("schedule", "--strategy", "zb_h1", "-c", path)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))
            self.assertIn(words, result.stderr)

    @staticmethod
    def rows(text):
        values = json.loads(text)
        return values if isinstance(values, list) else values["candidates"]

    def test_compare_and_pick(self):
        for command in ("compare", "pick"):
            result = run(command, "-s", 4, "-b", 8, *WORDS, "--sender-waits", "like_kind", "--strategies", "zb_h1", "1f1b", "--json")
            rows = {row["strategy"]: row["step_time"] for row in self.rows(result.stdout)}
            self.assertEqual(rows, {"zb_h1": 35.5, "1f1b": 41} if command == "compare" else {"zb_h1": 35.5})

    def test_refusals(self):
        sizes = ["-s", 4, "-b", 8, *WORDS, "--sender-waits", "like_kind"]
        for words in (["--lower", "pytorch"], ["--lower", "by_time"], ["--lower", "just_in_time", "--format", "csv"], ["--recompute", "chunks=1"],
                      ["--offload", "chunks=1", "--offload-times", "0.5"], ["--jitter", "0.1", "--dispatch"]):
            result = run("schedule", "--strategy", "zb_h1", *sizes, *words)
            self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (1, "", 1), words)
            self.assertIn("sender_waits like_kind", result.stderr)
            self.assertIn("never", result.stderr)
        for command in ("compare", "pick"):
            result = run(command, *sizes, "--lower", "pytorch")
            self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (1, "", 1))
        self.assertEqual(run("schedule", *sizes[:-1], "often").returncode, 2)

    def test_launch_lines_are_the_same(self):
        lines = [run("schedule", "--strategy", "1f1b", "-s", 4, "-b", 8, "--launch", "megatron", *words).stdout
                 for words in ([], ["--sender-waits", "like_kind"])]
        self.assertEqual(lines[0], lines[1])

    def test_links_tell_it(self):
        link = run("schedule", "--strategy", "zb_h1", "-s", 4, "-b", 8, *WORDS, "--sender-waits", "like_kind", "--link")
        self.assertIn("&sender_waits=like_kind&", link.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
