# SPDX-License-Identifier: Apache-2.0
"""--measured of replan and pick: factors that a run was made with come back from its profile or traces, by device and kind of op."""
import json
import math
import pathlib
import random
import tempfile
import unittest

import in_process
import ppsched
from ppsched._core.op import units

LETTERS = "FBIW"


def device_of(strategy, stage, devices):
    return 2 * devices - 1 - stage if strategy in ("zbv", "dualpipe_v") and stage >= devices else stage % devices


def ran(*words):
    return in_process.run_command(words)


class Run:
    """A job on devices that take longer than stated by factors of their own, for each kind of op."""

    def __init__(self, draw, strategy=None):
        self.strategy = strategy or draw.choice(["1f1b", "zb_h1", "zbv", "interleaved_1f1b"])
        self.chunks = 2 if self.strategy in ("zbv", "interleaved_1f1b") else 1
        self.devices = draw.randint(2, 4)
        self.order = draw.sample(range(self.devices), self.devices)
        self.split = [draw.randint(1, 3) for _ in range(self.devices * self.chunks)]
        self.stated = [draw.choice([1, 0.5]) for _ in range(self.devices)]
        self.factors = [[draw.choice([1, 1.25, 2, 0.8]) for _ in range(self.devices)] for _ in LETTERS]
        self.factors[1] = [(i + w) / 2 for i, w in zip(self.factors[2], self.factors[3])]  # I and W take as long here
        self.group = ("--group-size", self.devices + 1) if self.strategy == "interleaved_1f1b" and draw.random() < 0.5 else ()
        self.words = ("--devices", self.devices, "-b", 8, "--num-layers", sum(self.split), "--forward-times", 1, "--backward-times", 2,
                      "--device-speeds", *self.stated)

    def times(self, letter, stage):
        device = self.order[device_of(self.strategy, stage, self.devices)]
        plain = {"F": 1, "B": 2, "I": 1, "W": 1}[letter]
        return self.split[stage] * plain / self.stated[device] * self.factors[LETTERS.index(letter)][device]

    def profile(self, draw, noise):
        """A profile file: with noise the samples have a known deviation."""
        split = self.strategy not in ("1f1b", "interleaved_1f1b")
        rows = {"F": "forward_times", **({"I": "backward_input_times", "W": "backward_weight_times"} if split else {"B": "backward_times"})}
        return {"stages": len(self.split), **{name: [[self.times(letter, stage) * (1 + sign * noise) for sign in (-1, 1)]
                                                     for stage in range(len(self.split))] for letter, name in rows.items()}}

    def trace(self, unit):
        """All ranks' traces, in milliseconds if the unit is 1."""
        config = ppsched.Config(self.devices, 8, len(self.split), **{name: [self.times(letter, stage) for stage in range(len(self.split))] for letter, name in (
            ("F", "forward_times"), ("I", "backward_input_times"), ("W", "backward_weight_times"))})
        timeline = ppsched.generate(self.strategy, config).evaluate()
        return [{"distributedInfo": {"rank": rank}, "traceEvents": [
            {"ph": "X", "cat": "user_annotation", "name": f"PP:{token}", "pid": 1, "tid": 1, "ts": spans[index].start * 1000 * unit,
             "dur": (spans[index].end - spans[index].start) * 1000 * unit} for token, index, _ in units(queue)]}
            for rank, (queue, spans) in enumerate(zip(timeline.schedule.queues, timeline.spans))]


class MeasuredDevicesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(folder.cleanup)

    def write(self, name, value):
        path = self.folder / name
        path.write_text(json.dumps(value))
        return path

    def replan(self, run, *words):
        made = ran("replan", *run.words, "--strategy", run.strategy, "--split", *run.split, "--device-order", *run.order, "--json", *run.group, *words)
        self.assertEqual(made.returncode, 0, made.stderr)
        return json.loads(made.stdout)

    def check(self, run, row, letters, noise=0.0):
        for one in row["measured"]:
            for letter in letters:
                self.assertAlmostEqual(one["factors"][letter], run.factors[LETTERS.index(letter)][one["device"]], delta=1e-9)
                self.assertAlmostEqual(one["spread"][letter], noise / math.sqrt(run.chunks) if noise and run.chunks == 1 else one["spread"][letter])
                self.assertTrue(0 <= one["spread"][letter] <= noise + 1e-9)

    def test_factors_come_back(self):
        draw = random.Random(3)
        for number in range(24):
            run = Run(draw)
            noise = draw.choice([0, 0.1])
            with self.subTest(number=number, strategy=run.strategy):
                letters = "FIW" if run.strategy in ("zb_h1", "zbv") else "FB"
                row = self.replan(run, "--measured", self.write("measured.json", run.profile(draw, noise)))
                self.check(run, row, letters, noise)
                del row["measured"]
                scale = [run.factors[LETTERS.index(letter if letter in letters else "B")] for letter in LETTERS]
                known = self.replan(run, "--device-scale", *(factor for kind in scale for factor in kind)) if "I" in letters else row
                self.assertAlmostEqual(row["step_time"], known["step_time"], delta=1e-6)

    def test_traces(self):
        draw = random.Random(4)
        for number in range(6):
            run = Run(draw, "zbv" if number % 2 else "zb_h1")
            with self.subTest(number=number, strategy=run.strategy):
                paths = [self.write(f"rank{rank}.json", value) for rank, value in enumerate(run.trace(5))]
                plain = self.replan(run, "--measured", *paths)
                self.assertTrue(all(abs(one["factors"]["F"] - 5 * run.factors[0][one["device"]]) < 1e-6 for one in plain["measured"]))
                made = ran("replan", *run.words, "--forward-times", "5ms", "--backward-times", "10ms", "--strategy", run.strategy, "--split", *run.split,
                           "--device-order", *run.order, "--json", "--measured", *paths)
                self.assertEqual(made.returncode, 0, made.stderr)
                self.check(run, json.loads(made.stdout), "FIW", 1e-9)

    def test_wrong_strategy(self):
        """Traces say which device ran which stage."""
        run = Run(random.Random(5), "zbv")
        paths = [self.write(f"rank{rank}.json", value) for rank, value in enumerate(run.trace(1))]
        made = ran("replan", *run.words, "--strategy", "interleaved_1f1b", "--split", *run.split, "--measured", *paths)
        self.assertNotEqual(made.returncode, 0)
        self.assertRegex(made.stderr, r"stage \d ran on device \d, but interleaved_1f1b has it on device \d; give the strategy of the run")

    def test_added_devices_are_as_stated(self):
        path = self.write("measured.json", {"stages": 2, "forward_times": [8, 4], "backward_times": [16, 8]})
        row = json.loads(ran("replan", "--devices", 3, "-b", 8, "--num-layers", 8, "--split", 4, 4, "--added", 1, "--measured", path, "--json").stdout)
        self.assertEqual([one["device"] for one in row["measured"]], [0, 1])
        other = json.loads(ran("replan", "--devices", 3, "-b", 8, "--num-layers", 8, "--split", 4, 4, "--added", 1, "--slow-rank", "0:2", "--json").stdout)
        self.assertEqual((row["split"], row["step_time"]), (other["split"], other["step_time"]))

    def test_pick(self):
        path = self.write("measured.json", {"stages": 4, "forward_times": [8, 8, 8, 16], "backward_times": [16, 16, 16, 32]})
        words = ("pick", "--devices", 4, "-b", 16, "--num-layers", 32, "--strategies", "1f1b")
        row = json.loads(ran(*words, "--measured", path, "--measured-split", 8, 8, 8, 8, "--json").stdout)[0]
        known = json.loads(ran(*words, "--device-speeds", 1, 1, 1, 0.5, "--json").stdout)[0]
        self.assertEqual((row["step_time"], row["split"], row["measured"][3]["factors"]), (542, known["split"], {"F": 2.0, "B": 2.0}))
        free = json.loads(ran(*words, "--measured", path, "--measured-split", 8, 8, 8, 8, "--free-device-order", "--json").stdout)[0]
        self.assertEqual((free["step_time"], free["device_order"]), (540, [0, 1, 3, 2]))
        text = ran(*words, "--measured", path, "--measured-split", 8, 8, 8, 8).stdout
        self.assertIn("device 3 takes F 2 B 2 times as long as stated\n", text)
        self.assertIn("--device-scale 1 1 1 2 1 1 1 2 ", text)  # the printed command needs no profile

    def test_refused(self):
        path = self.write("measured.json", {"stages": 4, "forward_times": [8, 8, 8, 16], "backward_times": [16, 16, 16, 32]})
        none = self.write("none.json", {"stages": 4, "forward_times": [8, 8, 8, 0], "backward_times": 16})
        pick = ("pick", "--devices", 4, "-b", 16, "--num-layers", 32)
        for words, message in (((*pick, "--measured", path), "--measured needs --measured-split"),
                               ((*pick, "--measured-split", 8, 8, 8, 8), "--measured-split needs --measured"),
                               ((*pick, "--measured", path, "--measured-split", 16, 16), "--measured-split has 2 stages; give 4"),
                               ((*pick, "--measured", none, "--measured-split", 8, 8, 8, 8), "device 3 takes no time for F"),
                               ((*pick, "-f", "1ms", "--measured", path, "--measured-split", 8, 8, 8, 8), "has a unit of time"),
                               (("replan", "--devices", 2, "-b", 4, "--num-layers", 8, "--split", 4, 4, "--measured", path), "has 4 stages, the split 2"),
                               (("replan", "--devices", 2, "-b", 4, "--num-layers", 8, "--split", 4, 4, "--measured", "nowhere"), "cannot read nowhere")):
            with self.subTest(words=words):
                made = ran(*words)
                self.assertNotEqual(made.returncode, 0)
                self.assertIn(message, made.stderr)
                self.assertEqual(len(made.stderr.splitlines()), 1, made.stderr)


if __name__ == "__main__":
    unittest.main()
