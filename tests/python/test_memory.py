# SPDX-License-Identifier: Apache-2.0
"""What stands in memory, and what frameworks and published runs say of it."""
import json
import math
import pathlib
import unittest

from in_process import run_command

import ppsched

LAYERS = pathlib.Path(__file__).resolve().parents[1] / "layers"


def run(*words):
    return run_command(["schedule", *words])


def cases(name):
    """The name and the fields of each case; of lines that begin alike the first."""
    for text in (LAYERS / name).read_text(encoding="utf-8").split("\ncase ")[1:]:
        lines = [line.removeprefix("printed ") for line in text.splitlines()]
        yield lines[0], dict(line.partition(" ")[::2] for line in reversed(lines[1:]))


def passes_in_flight(devices, chunks, microbatches):
    """Of the first device at its peak, in passes of all its layers."""
    config = ppsched.Config(devices, microbatches, stages=devices * chunks)
    timeline = ppsched.generate("1f1b" if chunks == 1 else "interleaved_1f1b", config).evaluate()
    return timeline.device_metrics[0].peak_memory / chunks


class InFlightTest(unittest.TestCase):
    """What Megatron-LM and Primus take the first stage's activations times: p min(1, m / p), interleaved p + (p - 1) / v."""

    def test_megatron(self):
        seen = {"plain": 0, "interleaved": 0}
        for name, case in cases("megatron_memory.txt"):
            if "number_of_in_flight_microbatches" not in case or case["num_microbatches"] == "none":
                continue
            devices, chunks = int(case["pp"]), 1 if case["vpp"] == "none" else int(case["vpp"])
            peak = passes_in_flight(devices, chunks, int(case["num_microbatches"]))
            self.assertEqual(math.ceil(peak), int(case["number_of_in_flight_microbatches"]), name)
            if chunks > 1:
                self.assertEqual(f"{peak / devices:.2f}", case["memory_penalty_from_interleaved_schedule"], name)
            seen["plain" if chunks == 1 else "interleaved"] += 1
        self.assertTrue(all(seen.values()), seen)

    def test_primus(self):
        seen = {"plain": 0, "interleaved": 0}
        for name, case in cases("primus_memory.txt"):
            if case["result"] != "ok" or case["recompute"] != "none" or case["moe_layers"] != "0" or case["pp"] == "1":
                continue
            devices, chunks = int(case["pp"]), int(case["vpp"])
            microbatches = int(case["global_batch_size"]) // int(case["micro_batch_size"]) // int(case["dp"])
            words = case["rank"].split()
            layer = int(case["dense_transformer_layer"].split()[-1])
            passed = sum(map(int, words[2].split(","))) * layer + int(case["embedding"].split()[-1])
            self.assertEqual(passes_in_flight(devices, chunks, microbatches) * passed, int(words[-3]), name)
            seen["plain" if chunks == 1 else "interleaved"] += 1
        self.assertTrue(all(seen.values()), seen)


class ReplayTest(unittest.TestCase):
    """A published replay of Kimi-K3 in torchtitan: interleaved 1F1B on 8 devices, 64 microbatches, 93 layers as 5, 14 times 6, 4."""

    LAYERS = [5, *[6] * 14, 4]

    def timeline(self, **quantities):
        config = ppsched.Config(8, 64, stages=16, forward_times=[n / 6 for n in self.LAYERS],
                                backward_times=[n / 3 for n in self.LAYERS], **quantities)
        return ppsched.generate("interleaved_1f1b", config).lower("pytorch", reduce_grad=True).evaluate_transfers()

    def test_live_pairs(self):
        timeline = ppsched.generate("interleaved_1f1b", ppsched.Config(8, 64, stages=16)).evaluate()
        self.assertEqual([figures.peak_memory for figures in timeline.device_metrics], [23, 21, 19, 17, 15, 13, 11, 9])
        stages = [item.stage for item in timeline.peak_items(2)]
        self.assertEqual((stages.count(2), stages.count(10)), (11, 8))

    def test_fullest_rank(self):
        """GiB assumed, none of them published: what a layer keeps of a pass 0.15, its state 4, its gradients 2; every fourth layer,
        with full attention, 0.15, 1 and 1.5 more; a value that is sent or received 0.11; a device 40."""
        layers, firsts = self.LAYERS, [sum(self.LAYERS[:s]) for s in range(16)]
        full = [sum(layer % 4 == 3 for layer in range(first, first + n)) for first, n in zip(firsts, layers)]

        def of(a_layer, a_full_one):
            return [a_layer * n + a_full_one * more for n, more in zip(layers, full)]

        timeline = self.timeline(mem_forward=of(0.15, 0.15), mem_static=of(4, 1), mem_gradients=of(2, 1.5), mem_other=40,
                                 mem_send_forward=0.11, mem_send_backward=0.11, mem_receive_forward=0.11, mem_receive_backward=0.11)
        peaks = [figures.peak_memory for figures in timeline.device_metrics]
        published = [130.34, 136.26, 142.48, 135.28, 140.52, 131.37, 133.35, 110.02]
        self.assertEqual(peaks.index(max(peaks)), 2)
        self.assertEqual(timeline.metrics.peak_device, 2)
        self.assertLess(max(abs(ours - theirs) for ours, theirs in zip(peaks, published)), 7)
        alone = self.timeline(mem_forward=layers).device_metrics
        self.assertNotEqual(max(range(8), key=lambda device: alone[device].peak_memory), 2)


class ExplainMemoryTest(unittest.TestCase):
    WORDS = ("--strategy", "interleaved_1f1b", "-s", 8, "--num-devices", 4, "-b", 8, "-f", "1ms", "-bw", "2ms", "--mem-forward", "2GiB",
             "--mem-static", "10GiB", "--mem-gradients", *(f"{size}GiB" for size in range(1, 9)), "--mem-limit", "72GiB",
             "--mem-send-forward", "512MiB", "--lower", "pytorch", "--reduce-grad", "--explain-memory")

    def test_text(self):
        done = run(*self.WORDS)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = done.stdout[done.stdout.index("memory at each device's peak (GiB):\n"):]
        for line in ("  static                10  stage 4\n", "  gradients              5  stage 4\n"):
            self.assertIn(line, text.split("device 1")[0])
        for part in text.split("\ndevice ")[1:]:
            heading, *lines = part.splitlines()
            self.assertRegex(heading, r"^\d: [\d.]+ GiB of 72 GiB, at time [\d.]+ ms with \d\w+$")
            self.assertEqual(sum(float(line.split()[1]) for line in lines), float(heading.split()[1]))

    def test_json(self):
        row = json.loads(run(*self.WORDS, "--format", "json").stdout)
        self.assertEqual([found["peak_memory"] for found in row["explain_memory"]], row["metrics"]["peak_memory"])
        for device, found in enumerate(row["explain_memory"]):
            self.assertEqual(sum(found["by_cause"].values()), found["peak_memory"])
            self.assertEqual(sum(item["memory"] for item in found["items"]), found["peak_memory"])
            self.assertIn(found["op"], row["queues"][device]["ops"])
            for cause, size in found["by_cause"].items():
                self.assertEqual(sum(item["memory"] for item in found["items"] if item["cause"] == cause), size)

    def test_plain_numbers(self):
        self.assertTrue(run("-s", 4, "-b", 8, "--explain-memory").stdout.endswith(
            "memory at each device's peak:\n"
            "device 0: 4, at time 3 with 0F3\n  activations            4  stage 0: 4 microbatches, 0-3\n"
            "device 1: 3, at time 3 with 1F2\n  activations            3  stage 1: 3 microbatches, 0-2\n"
            "device 2: 2, at time 3 with 2F1\n  activations            2  stage 2: 2 microbatches, 0-1\n"
            "device 3: 1, at time 3 with 3F0\n  activations            1  stage 3: 1 microbatch, 0\n"))

    def test_without_ops_and_with_more_iterations(self):
        text = run("-s", 4, "--num-devices", 4, "-b", 3, "--iterations", 2, "--mem-static", 7, "--mem-forward", 0, "--explain-memory").stdout
        self.assertIn("device 3: 7, always\n  static                 7  stage 3\n", text)

    def test_refused(self):
        for words, message in ((("--format", "csv"), "--explain-memory works only with text and json, not with csv"),
                               (("--launch", "deepspeed"), "--launch prints launch arguments; it cannot be combined with --explain-memory")):
            done = run("-s", 4, "-b", 8, "--explain-memory", *words)
            self.assertEqual(done.returncode, 2)
            self.assertIn(message, done.stderr)


if __name__ == "__main__":
    unittest.main()
