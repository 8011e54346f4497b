#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own runtime trains from our schedules, with a gradient difference of 0, and holds what we say. (What it takes is in
timed_test.py.) place.py tells which PyTorch.

PPSCHED_TORCH_MORE=1 takes other sizes of each strategy, more of them.
"""
import json
import os
import sys
import unittest

import ppsched
import place

# Devices, chunks where the strategy takes any number, microbatches.
SIZES = [(2, 2, 6)]
if os.environ.get("PPSCHED_TORCH_MORE"):
    SIZES = [(3, 1, 7), (4, 2, 8), (3, 2, 9), (4, 3, 12)]

STRATEGIES = [strategy for strategy in ppsched.strategies() if not strategy.offloads]  # offloads.py runs those that do
LOWERINGS = [("just_in_time", {}), ("pytorch", {}), ("pytorch", {"unshard": 3, "reduce_grad": True}), ("by_time", {"reduce_grad": True})]


def schedules():
    """All strategies that the runtime knows, at some sizes. (DualPipe's devices hold stages of two model copies.)"""
    for strategy in STRATEGIES:
        for devices, chunks, microbatches in SIZES:
            try:
                if strategy.placement != "bidirectional":
                    stages = devices * (strategy.chunks or chunks)
                    yield ppsched.generate(strategy.name, ppsched.Config(devices, microbatches, stages))
            except ppsched.Refused:
                pass


def called(schedule):
    return f"{schedule.name} on {schedule.devices} devices, {schedule.stages} stages, {schedule.microbatches} microbatches"


def train(cases):
    """The largest difference of gradients of each (form, CSV)."""
    return place.run("train.py", timeout=1800, input=json.dumps(cases))


MISSING = place.why_missing()


@unittest.skipIf(MISSING, MISSING)
class TorchTest(unittest.TestCase):
    def hold(self, cases):
        """cases: (form, text, what to call it); all train, and no gradient differs."""
        for (form, _, called), difference in zip(cases, train([case[:2] for case in cases]), strict=True):
            with self.subTest(schedule=called, form=form):
                self.assertEqual(difference, 0)
        print(f"# trained from {len(cases)} schedules", file=sys.stderr)

    def test_compute_only(self):
        cases = [("compute_only", schedule.export("csv"), called(schedule)) for schedule in schedules()]
        self.hold(cases)
        self.assertGreaterEqual(len(cases), len(STRATEGIES) - 1)

    def test_classes_of_launch_arguments(self):
        cases = []
        for schedule in schedules():
            name = schedule.launch("pytorch").split()[0].removeprefix("class=") if schedule.flushes else "_"
            if not name.startswith("_"):
                cases.append((name, schedule.export("csv"), called(schedule)))
        self.hold(cases)
        self.assertEqual(len({form for form, _, _ in cases}), 7)

    def test_lowered_as_by_pytorch(self):
        """Token by token, with all passes."""
        found = place.run("lowered.py")
        self.assertEqual(found["different"][:1], [])
        self.assertGreater(found["compared"], 1000)

    def test_lowered(self):
        cases = []
        for schedule in schedules():
            for lowering, passes in LOWERINGS:
                lowered = schedule.lower(lowering, **passes)
                if lowered.prove("pair"):  # by_time can put receives in another order than the sends of a pair
                    cases.append(("compute_comms", lowered.export("csv"), f"{called(schedule)} {lowering} {passes}"))
        self.hold(cases)
        self.assertGreaterEqual(len(cases), 2 * (len(STRATEGIES) - 1))


@unittest.skipIf(MISSING, MISSING)
class LayersTest(unittest.TestCase):
    def test_measured_layers(self):
        """What measure_layers tells of an MLP and an embedding whose tensors are known."""
        width, tokens = 64, 32
        found = place.run("layers.py", width, tokens, 3)
        embedding, plain, full = found["rows"]
        self.assertEqual([row["kind"] for row in found["rows"]], ["embedding", "decoder", "decoder"])
        self.assertEqual([row["recompute"] for row in found["rows"]], ["none", "none", "full"])
        self.assertEqual({(row["tensor_parallel"], row["micro_batch_size"], row["sequence_length"]) for row in found["rows"]}, {(2, 1, tokens)})
        self.assertEqual(embedding["backward_input_time"], 0)  # numbers of tokens have no gradient
        self.assertEqual(plain["mem_forward"], 4 * tokens * width * (1 + 4))  # the input and what is behind the ReLU
        self.assertEqual(full["mem_forward"], 4 * tokens * width)
        self.assertEqual(plain["mem_static"], 18 * found["parameters"])
        self.assertGreaterEqual(full["backward_input_time"], plain["backward_input_time"])
        self.assertGreater(plain["forward_time"], 0)
        self.assertTrue(found["same"])
        for error, part in zip(found["errors"], ("sizes has 'dp'", "steps is 0", "decoder: its result has no gradient"), strict=True):
            self.assertIn(part, error)


@unittest.skipIf(MISSING, MISSING)
class PlannedScheduleTest(unittest.TestCase):
    """ppsched.torch, in the processes of a running job."""

    def test_gradients(self):
        """All strategies, lowered by PyTorch and by us, without a file between."""
        for sizes in SIZES:
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
