#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own runtime trains from our schedules, with a gradient difference of 0, holds what we say and takes as long.
Skipped where PyTorch >= 2.6 is missing; place.py tells how to name one.

PPSCHED_TORCH_ALL=1 takes several sizes a strategy instead of one.
"""
import os
import pathlib
import subprocess
import sys
import unittest

import ppsched
import place
from place import PYTHON

TRAIN = (pathlib.Path(__file__).resolve().parent / "train.py").read_text(encoding="utf-8")

# Devices, chunks where the strategy takes any number, microbatches.
SIZES = [(2, 2, 6)]
MORE_SIZES = [(2, 2, 6), (3, 1, 7), (4, 2, 8), (3, 2, 9), (4, 3, 12)]


STRATEGIES = [strategy for strategy in ppsched.strategies() if not strategy.offloads]  # offloads.py runs those that do
LOWERINGS = [("just_in_time", {}), ("pytorch", {"unshard": 3, "reduce_grad": True})]
MORE_LOWERINGS = [*LOWERINGS, ("pytorch", {}), ("by_time", {"reduce_grad": True})]


def schedules():
    """All strategies that the runtime knows, at some sizes. (DualPipe's devices hold stages of two model copies.)"""
    for strategy in STRATEGIES:
        for devices, chunks, microbatches in MORE_SIZES if os.environ.get("PPSCHED_TORCH_ALL") else SIZES:
            try:
                if strategy.placement != "bidirectional":
                    stages = devices * (strategy.chunks or chunks)
                    yield ppsched.generate(strategy.name, ppsched.Config(devices, microbatches, stages))
            except ppsched.Refused:
                pass


def train(text, form):
    result = subprocess.run([*PYTHON, "-c", TRAIN, form], input=text, capture_output=True, text=True, check=False, timeout=300,
                            env=place.ENVIRONMENT)
    if result.returncode != 0:
        raise AssertionError(result.stderr[-2000:])
    return float(result.stdout)


HAS_TORCH = place.has_torch()


@unittest.skipUnless(HAS_TORCH, place.MISSING)
class TorchTest(unittest.TestCase):
    def test_compute_only(self):
        trained = 0
        for schedule in schedules():
            with self.subTest(schedule=schedule.name, devices=schedule.devices):
                self.assertEqual(train(schedule.export("csv"), "compute_only"), 0)
            trained += 1
        print(f"# trained from {trained} schedules", file=sys.stderr)
        self.assertGreaterEqual(trained, len(STRATEGIES) - 1)

    def test_classes_of_launch_arguments(self):
        named = set()
        for schedule in schedules():
            name = schedule.launch("pytorch").split()[0].removeprefix("class=") if schedule.flushes else "_"
            if name.startswith("_"):
                continue
            with self.subTest(schedule=schedule.name, devices=schedule.devices, name=name):
                self.assertEqual(train(schedule.export("csv"), name), 0)
            named.add(name)
        print(f"# trained with {len(named)} classes", file=sys.stderr)
        self.assertEqual(len(named), 7)

    def test_lowered(self):
        trained = 0
        for schedule in schedules():
            for lowering, passes in MORE_LOWERINGS if os.environ.get("PPSCHED_TORCH_ALL") else LOWERINGS:
                lowered = schedule.lower(lowering, **passes)
                if not lowered.prove("pair"):
                    continue  # by_time can put receives in another order than the sends of a pair
                with self.subTest(schedule=schedule.name, devices=schedule.devices, lowering=lowering):
                    self.assertEqual(train(lowered.export("csv"), "compute_comms"), 0)
                trained += 1
        print(f"# trained from {trained} lowered schedules", file=sys.stderr)
        self.assertGreaterEqual(trained, 2 * (len(STRATEGIES) - 1))


@unittest.skipUnless(HAS_TORCH, place.MISSING)
class PlannedScheduleTest(unittest.TestCase):
    """ppsched.torch, in the processes of a running job."""

    def test_gradients(self):
        """All strategies, lowered by PyTorch and by us, without a file between."""
        for sizes in [(2, 2, 6), (4, 2, 8)] if not os.environ.get("PPSCHED_TORCH_ALL") else MORE_SIZES:
            rows = place.run("planned.py", *sizes)
            wrong = [row for row in rows if row[2] not in (0, None)]
            refused = [row[:2] for row in rows if row[2] is None]
            self.assertEqual(wrong, [], sizes)
            self.assertLessEqual({lowering for _, lowering in refused}, {"by_time"}, sizes)
            self.assertGreater(len(rows) - len(refused), 4 * 15, sizes)

    def test_refusals(self):
        for wanted, text in place.run("refusals.py"):
            self.assertIn(wanted, text)

    def test_what_is_held(self):
        """Live stage passes, receives and gradients, as they come and go, are at most as many as the evaluator says."""
        names = ["gpipe", "1f1b", "interleaved_1f1b", "zb_h1", "zbv", "v_half", "dualpipe_v"]
        rows = place.run("counts.py", 3, 2, 7, *names)
        self.assertGreaterEqual(len(rows), 3 * (3 * len(names) - 1))
        for name, lowering, rank, counted, expected in rows:
            with self.subTest(strategy=name, lowering=lowering, rank=rank):
                self.assertEqual(counted, expected)

    def test_timed_steps(self):
        """Each runs to its end, and takes no less than what its busiest rank has to do, as its plan does. How near the two are
        depends on the machine: docs/accuracy.md tells."""
        names = ["1f1b", "interleaved_1f1b:just_in_time", "zb_h1", "v_half:torch"]
        rows = place.run("timed.py", 4, 2, 8, 20, 3, *names)["rows"]
        self.assertEqual(len(rows), 8)
        for row in rows:
            with self.subTest(strategy=row["strategy"], lowering=row["lowering"]):
                self.assertEqual(len(row["ranks"]), 4)
                self.assertGreater(row["work"], 0)
                self.assertGreaterEqual(row["planned"], row["work"])
                self.assertGreaterEqual(row["measured"], row["work"])

    def test_measured_calls(self):
        """The calls of sends and receives are told apart from what an op takes besides, only where that is asked for: on two
        ranks all gaps that wait for nobody but one have such calls in them."""
        ranks = place.run("measures.py", 2, 20, 6)
        self.assertEqual(len(ranks), 2)
        for told in ranks:
            self.assertTrue(told["is_back"])
            self.assertEqual((told["without"], told["with"]), (ranks[0]["without"], ranks[0]["with"]))
            self.assertEqual(told["without"]["send_overhead"], 0)
            self.assertGreaterEqual(told["with"]["send_overhead"], 6)
            self.assertGreaterEqual(told["without"]["op_overhead"], 6)
            self.assertLess(told["with"]["op_overhead"], 6)
            for name in ("without", "with"):
                for given, seen in zip(told["given"], told[name]["stages"]):
                    self.assertTrue(all(taken >= time for taken, time in zip(seen, given)), (given, seen))

    def test_run_measure_plan_again(self):
        first, second, third = place.run("loop.py", 4, 8, 20, 3)
        self.assertEqual(first[0], "1f1b")
        self.assertLess(min(second[3], third[3]), first[3])
        self.assertLess(abs(third[3] / third[2] - 1), 0.4)

    def test_offloaded(self):
        """Saved tensors that go to the host: gradients are the same, and each rank holds as many stage passes as planned."""
        names = ["gpipe", "1f1b", "interleaved_1f1b", "group_interleaved_1f1b", "zb_h1", "zbv", "interleaved_zb"]
        rows = place.run("offloads.py", 3, 2, 7, *names)
        self.assertEqual(len(rows), 3 * 3 * len(names))
        for name, called, rank, held, planned, difference in rows:
            with self.subTest(strategy=name, offload=called, rank=rank):
                self.assertEqual((held, difference), (planned, 0))

    def test_examples(self):
        self.assertRegex(place.run("example.py", "pytorch_loop.py", 2), r"\w+ with [248] stages, loss \d")
        lines = place.run("example.py", "pytorch_offload.py", 2).splitlines()
        self.assertEqual(len(lines), 6)
        for line in lines:
            self.assertRegex(line, r": (\d+) stage passes held, \1 planned; gradients differ by 0.0$")


if __name__ == "__main__":
    unittest.main(verbosity=2)
