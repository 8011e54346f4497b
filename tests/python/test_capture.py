# SPDX-License-Identifier: Apache-2.0
"""schedule --capture: whether a lowered order can be captured as a CUDA graph, what it needs, and why it cannot."""
import json
import random
import unittest

import ppsched
from ppsched.command.capture_report import capture_of
from test_layers import FolderTest

SENDS = {"SEND_F": 1, "SEND_B": -1}
RECEIVES = {"RECV_F": -1, "RECV_B": 1}


def queues_of(schedule):
    return [list(schedule.queues[device]) for device in range(schedule.devices)]


def again(schedule, queues, **words):
    """The schedule with other queues."""
    return ppsched.Schedule.from_queues(schedule.config, queues, **words)


def runs(schedule):
    """Whether all ops end where each link is a stream that takes its transfers in turn at both ends, and only compute waits."""
    place = {(op.stage, op.kind.name, op.microbatch): device for device, queue in enumerate(queues_of(schedule)) for op in queue}
    reached, posted, done = [0] * schedule.devices, {}, set()
    queues = queues_of(schedule)
    while True:
        before = (list(reached), len(done))
        for device, queue in enumerate(queues):
            while reached[device] < len(queue):
                op = queue[reached[device]]
                name = op.kind.name
                if name in SENDS:
                    other = place[op.stage + SENDS[name], "RECV" + name[4:], op.microbatch]
                    posted.setdefault((device, other), ([], []))[0].append((op.stage + SENDS[name], name[-1], op.microbatch))
                elif name in RECEIVES:
                    other = place[op.stage + RECEIVES[name], "SEND" + name[4:], op.microbatch]
                    posted.setdefault((other, device), ([], []))[1].append((op.stage, name[-1], op.microbatch))
                else:
                    way = "F" if name == "F" else "B"
                    needs = (op.stage, way, op.microbatch)
                    is_received = any((op.stage, "RECV_" + way, op.microbatch) == key for key in place)
                    if name != "W" and is_received and needs not in done:
                        break
                reached[device] += 1
        for sent, received in posted.values():
            for first, second in zip(sent, received):
                if first != second:
                    return False
                done.add(first)
        if before == (reached, len(done)):
            return all(count == len(queue) for count, queue in zip(reached, queues))


class CaptureTest(FolderTest):
    SIZES = ("--num-devices", 2, "-s", 2, "-b", 4)

    def row(self, *words):
        return json.loads(self.succeed("schedule", "--capture", "--format", "json", *words))

    def reasons(self, *words):
        found = self.row(*words)["capture"]
        self.assertEqual(found["ok"], not found["reasons"])
        return found["reasons"]

    def test_json(self):
        row = self.row(*self.SIZES, "--lower", "just_in_time")
        self.assertEqual(row["capture"], {"ok": True, "reasons": [], "communicators": [[0, 1], [1, 0]], "buffers": [
            {"device": 0, "activations": 2, "receive": [[0, "B", 2]]}, {"device": 1, "activations": 1, "receive": [[1, "F", 2]]}]})
        self.assertEqual(row["capture_lines"]["transformer_engine"][1], "device 1: make_graphed_callables(..., _order=[1, -1, 1, -1, 1, -1, 1, -1])")

    def test_text(self):
        text = self.succeed("schedule", *self.SIZES, "--lower", "pytorch", "--capture")
        self.assertIn("CUDA graph: it can be captured\ncommunicators: 0->1 1->0\ndevice 0: 2 slots for activations; for received values 1 for B of stage 0\n", text)
        self.assertIn("torchtitan: --training.disable_cuda_graphs", text)
        self.assertIn("CUDA graph: it cannot be captured\n  the order has no sends and receives", self.succeed("schedule", *self.SIZES, "--capture"))

    def test_engine_order_is_megatrons(self):
        for strategy, stages in ("1f1b", 4), ("interleaved_1f1b", 8):
            words = ("--strategy", strategy, "--num-devices", 4, "-s", stages, "-b", 8)
            wanted = json.loads(self.succeed("schedule", *words, "--format", "megatron"))["_order"]
            lines = self.row(*words, "--lower", "by_time")["capture_lines"]["transformer_engine"]
            self.assertEqual([json.loads(line.split("_order=")[1].rstrip(")")) for line in lines], wanted)

    def test_engine_refuses(self):
        for strategy, words in ("zbv", "I and W"), ("interleaved_1f1b_overlap", "overlapped pairs"), ("looped_bfs", "has another order"):
            line, = self.row("--strategy", strategy, "--num-devices", 2, "-s", 4, "-b", 4, "--lower", "by_time")["capture_lines"]["transformer_engine"]
            self.assertIn(words, line)

    def test_reasons(self):
        lowered = (*self.SIZES, "--lower", "just_in_time")
        self.assertEqual(self.reasons(*lowered), [])
        self.assertEqual(self.reasons(*lowered, "--iterations", 3), [])
        for words, reason in (self.SIZES, "add them with --lower"), ((*lowered, "--blocking"), "make the host wait"), \
                ((*lowered, "--strategy", "1f1b_no_flush", "--iterations", 2), "is not the same in each step"), \
                ((*lowered, "--microbatch-scale", 1, 2, 1, 1), "microbatches differ (microbatch_scale)"):
            found, = self.reasons(*words)
            self.assertIn(reason, found)
        found = self.reasons(*lowered, "--microbatch-scale", 1, 2, 1, 3, "--order-microbatches")
        self.assertIn("the order of the microbatches depends on", found[0])
        self.assertEqual(self.reasons("--num-devices", 1, "-s", 1, "-b", 4), [])

    def test_steps_that_differ(self):
        config = ppsched.Config(1, 2, 1, iterations=2)
        for second, ok in (["0F2", "0B2", "0F3", "0B3"], True), (["0F2", "0F3", "0B2", "0B3"], False):
            schedule = ppsched.Schedule.from_queues(config, [["0F0", "0B0", "0F1", "0B1", *second]])
            self.assertEqual(capture_of(schedule, False).ok, ok)

    def test_random_orders_of_transfers(self):
        """Neighbouring ops of lowered schedules exchanged at random: those that run in streams of their own can be captured, and no others."""
        draw, seen = random.Random(3), set()
        for number in range(150):
            strategy = draw.choice(["1f1b", "interleaved_1f1b", "zbv", "gpipe"])
            stages = 2 if strategy in ("1f1b", "gpipe") else 4
            schedule = ppsched.generate(strategy, ppsched.Config(2, 4, stages)).lower(draw.choice(["pytorch", "just_in_time"]))
            queues = queues_of(schedule)
            for _ in range(draw.randint(0, 5)):
                queue = draw.choice(queues)
                transfers = [at for at, op in enumerate(queue) if op.kind.name in RECEIVES]
                at, to = draw.choice(transfers), draw.randrange(len(queue))
                op = queue.pop(at)
                queue.insert(to, op)
            try:
                moved = again(schedule, queues)
            except ppsched.Error:
                continue
            ok = capture_of(moved, False).ok
            self.assertEqual(ok, runs(moved), (number, [" ".join(map(str, queue)) for queue in queues]))
            seen.add(ok)
        self.assertEqual(seen, {True, False})

    def test_other_outputs_are_refused(self):
        result = self.run_here("schedule", *self.SIZES, "--capture", "--format", "csv")
        self.assertEqual((result[0], result[2].count("\n")), (2, 1))
        self.assertIn("--capture works only with text and json, not with csv", result[2])
        result = self.run_here("schedule", *self.SIZES, "--capture", "--launch", "megatron")
        self.assertEqual(result, (2, "", "ppsched schedule: --launch prints launch arguments; it cannot be combined with --capture\n"))


if __name__ == "__main__":
    unittest.main()
