#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What measure sees of a runtime, with a stand-in for PyTorch whose clock is ours; tests/torch has the real one."""
import types
import unittest

import ppsched
from ppsched.torch import measuring as torch_measure

CALL, BESIDE = 0.25, 0.5  # what a call takes, and the runtime from an op to the next
COSTS = {"F": 2, "B": 4, "I": 3, "W": 1}


class Runtime:
    """Rank 1 of three, a stage each: receives an activation, hands on another, and so on; each op takes its time of the clock."""

    def __init__(self, order):
        self.now = 0.0
        self.order, self._num_stages, self._n_microbatches = order, 3, 2
        self.schedules = types.SimpleNamespace(_batch_p2p=self.batch)
        self._stages = [types.SimpleNamespace(
            stage_index=1, device="cpu", forward_one_chunk=lambda microbatch: self.take("F"),
            backward_one_chunk=lambda microbatch, full_backward=True: self.take("B" if full_backward else "I"),
            backward_weight_one_chunk=lambda microbatch: self.take("W"))]

    def _compute_loss(self):
        return None

    def take(self, kind):
        self.now += COSTS[kind]

    def batch(self, operations, desc=None):
        self.now += CALL if operations else 0
        return operations

    def step(self):
        stage = self._stages[0]
        for kind in self.order:
            if kind in ("send", "receive", "nothing"):
                self.schedules._batch_p2p([] if kind == "nothing" else [kind])
                continue
            self.now += BESIDE
            if kind == "F":
                stage.forward_one_chunk(0)
            elif kind == "W":
                stage.backward_weight_one_chunk(0)
            else:
                stage.backward_one_chunk(0, full_backward=kind == "B")

    def watch(self, calls):
        """As rank 1 tells it of two steps."""
        there = types.SimpleNamespace(torch=types.SimpleNamespace(device=lambda name: types.SimpleNamespace(type=name)), schedules=self.schedules)
        watch = torch_measure._Watch(there, self, calls)
        watch.clock.mark = lambda: self.now
        watch.clock.between = lambda first, last: last - first
        whole = self.schedules._batch_p2p
        with watch.attached():
            watch.mode = torch_measure.TIME
            for _ in range(2):
                watch.ops.append([])
                watch.calls.append([])
                self.step()
        self.assert_same = whole == self.schedules._batch_p2p
        return watch


ORDER = ["receive", "F", "send", "receive", "I", "send", "receive", "nothing", "W", "F", "send", "receive", "B"]


def told(watch):
    """What a rank tells the others, without what needs tensors."""
    return {"samples": watch.samples(), "gaps": watch.gaps(), "calls": watch.call_times(), "sent": {stage: 8 for stage in range(3)},
            "static": {stage: 4 for stage in range(3)}, "pings": {}, "total": None, "memory": {}, "other": None}


class CallsTest(unittest.TestCase):
    def test_told_apart(self):
        """From I to W there is a send and a receive: they are calls, or what the runtime takes beside the op."""
        runtime = Runtime(ORDER)
        apart = runtime.watch(True)
        self.assertTrue(runtime.assert_same)
        self.assertEqual(apart.gaps(), [BESIDE] * 2)
        self.assertEqual(apart.call_times(), [CALL] * 14)
        together = Runtime(ORDER).watch(False)
        self.assertEqual(together.gaps(), [BESIDE + 2 * CALL] * 2)
        self.assertEqual(together.call_times(), [])
        self.assertEqual(apart.samples(), together.samples())

    def test_in_the_config(self):
        for calls, overhead, sends in ((True, BESIDE, [CALL]), (False, BESIDE + 2 * CALL, [])):
            rank = told(Runtime(ORDER).watch(calls))
            for stage in (0, 2):
                rank["samples"].update({(stage, kind): [float(time)] for kind, time in COSTS.items()})
            config = torch_measure._config([rank, {**rank, "gaps": [], "calls": []}, {**rank, "gaps": [], "calls": []}], 3, 2)
            self.assertEqual(config.op_overhead, [overhead])
            self.assertEqual(config.send_overhead, sends)
            self.assertEqual(config.units.time, "ms")

    def test_heeded(self):
        """By plans with a lowering alone."""
        config = ppsched.Config(3, 6, p2p_time=0.1, send_overhead=CALL)
        without = ppsched.Config(3, 6, p2p_time=0.1)
        for lowering in ("none", "just_in_time"):
            spans = [ppsched.plan(each, strategies=["1f1b"], lowering=lowering).best.span for each in (config, without)]
            self.assertEqual(spans[0] > spans[1], lowering != "none")


if __name__ == "__main__":
    unittest.main()
