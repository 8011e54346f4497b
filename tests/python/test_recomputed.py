# SPDX-License-Identifier: Apache-2.0
"""Memory of layers that are computed again, as the command tells it: what comes back for a split backward stays until W, a whole
backward holds the largest for itself. Against figures by hand, and against the queues read again."""
import json
import re
import unittest

import own_folder
from in_process import run_command

DECODER = {"name": "decoder", "count": 16, "forward_time": 1, "backward_input_time": 1, "backward_weight_time": 1, "mem_forward": 1,
           "recompute": [{"name": "full", "backward_time": 3, "mem_forward": 0.05}]}
LINEAR, PAIRS = (4, 4, 4, 4), (2,) * 8


def passes(token):
    """The ops of a unit of a queue, (kind, stage, microbatch) each."""
    return [(kind, int(stage), int(microbatch)) for stage, kind, microbatch in re.findall(r"(\d+)([FBIW])(\d+)", token)]


def peak_of(ops, stages):
    """What a device holds at most. `stages`: of each its layers, (whole, kept, input) each; kept is None where nothing is
    recomputed."""
    living, peak = {}, 0  # what each stage pass holds
    for token in ops:
        unit, beside = passes(token), 0
        for kind, stage, microbatch in unit:
            layers, key = stages[stage], (stage, microbatch)
            more = sum(max(given, 0) for _, _, given in layers)
            if kind == "F":
                living[key] = sum(whole if kept is None else kept for whole, kept, _ in layers)
            elif kind == "I":
                living[key] = sum(whole for whole, _, _ in layers) + more
            elif kind == "B":
                beside += more + max((whole - kept for whole, kept, _ in layers if kept is not None), default=0)
        peak = max(peak, sum(living.values()) + beside)
        for kind, stage, microbatch in unit:
            if kind == "I":
                living[stage, microbatch] += sum(min(given, 0) for _, _, given in stages[stage])
            elif kind in "BW":
                del living[stage, microbatch]
    return peak


class RecomputedTest(unittest.TestCase):
    def setUp(self):
        own_folder.enter(self)
        self.write([DECODER])

    def write(self, rows):
        with open("rc.json", "w", encoding="utf-8") as file:
            json.dump(rows, file)

    def succeed(self, *words):
        run = run_command(words)
        self.assertEqual((run.returncode, run.stderr), (0, ""), words)
        return run.stdout

    def schedule(self, strategy, counts, *words, devices=4, microbatches=8):
        return json.loads(self.succeed("schedule", "--strategy", strategy, "-s", len(counts), "--num-devices", devices, "-b", microbatches,
                                       "--layers", "rc.json", "--split", *counts, *words, "--format", "json"))

    def expect(self, peaks, *words):
        """As text and as numbers."""
        text = self.succeed("schedule", *words)
        self.assertEqual(re.findall(r"peak (\S+)$", text, flags=re.M), [f"{peak:g}" for peak in peaks], text)
        found = json.loads(self.succeed("schedule", *words, "--format", "json"))["metrics"]["peak_memory"]
        self.assertEqual([round(peak, 9) for peak in found], peaks)

    def test_three_of_four(self):
        self.expect([7.45, 10.3, 13.15, 16], "--strategy", "zb_h1", "--num-devices", 4, "-b", 8, "--layers", "rc.json", "--split", *LINEAR,
                    "--recompute", "0-2:full", "4-6:full", "8-10:full", "12-14:full")

    def test_all(self):
        for strategy, counts, peaks in (("zb_h1", LINEAR, [4.6, 8.4, 12.2, 16]), ("zbv", PAIRS, [2.7, 6.2, 10.1, 14]),
                                        ("dualpipe_v", PAIRS, [2.7, 4.2, 6.1, 8]), ("interleaved_zb", PAIRS, [2.7, 4.6, 6.5, 8.4]),
                                        ("1f1b", LINEAR, [1.75, 1.55, 1.35, 1.15])):
            with self.subTest(strategy):
                self.expect(peaks, "--strategy", strategy, "--num-devices", 4, "-s", len(counts), "-b", 8, "--layers", "rc.json", "--split",
                            *counts, "--recompute", "0-15:full")

    def test_more_from_the_input_gradient_on(self):
        words = ("-s", 4, "-b", 8, "--mem-forward", 4, "--mem-backward-input", 1, "--mem-backward-weight", -5)
        self.expect([17, 18, 19, 20], "--strategy", "zb_h1", *words)
        self.expect([17, 13, 9, 5], "--strategy", "1f1b", *words)

    def test_queues_read_again(self):
        """Other strategies, sizes, shares that are kept, and what the input gradient releases or adds."""
        sizes = (("zb_h1", 2, 2, 5), ("zb_h2", 3, 3, 7), ("zbv", 3, 6, 6), ("dualpipe_v", 2, 4, 5), ("dualpipe", 4, 4, 8), ("v_half", 3, 6, 6),
                 ("interleaved_zb", 2, 6, 4), ("interleaved_1f1b", 2, 4, 6), ("1f1b_overlap", 3, 3, 5), ("gpipe", 2, 2, 3), ("zb_auto", 3, 3, 5))
        for kept, given in ((0, 0), (0.25, -0.5), (0.5, 0.75), (1, 0.25), (0.125, -1)):
            self.write([{**DECODER, "mem_backward_input": given, "recompute": [{"name": "full", "backward_time": 3, "mem_forward": kept}]}])
            for strategy, devices, stages, microbatches in sizes:
                counts = [16 // stages] * (stages - 1) + [16 - 16 // stages * (stages - 1)]
                layers = [(1, kept if layer % 3 < 2 else None, given) for layer in range(16)]
                recomputed = [f"{layer}:full" for layer in range(16) if layer % 3 < 2]
                with self.subTest(strategy, kept=kept, given=given):
                    found = self.schedule(strategy, counts, "--recompute", *recomputed, devices=devices, microbatches=microbatches)
                    split = [layers[sum(counts[:stage]):sum(counts[:stage + 1])] for stage in range(stages)]
                    self.assertEqual(found["metrics"]["peak_memory"], [peak_of(queue["ops"], split) for queue in found["queues"]])

    def test_what_is_picked_fits(self):
        """Limits under which something is recomputed: the printed peak is that of the schedule, which is within the limit."""
        kinds = []
        for limit in (8, 13, 16, 17):
            for strategy in ("zb_h1", "zbv", "dualpipe_v", "interleaved_zb", "1f1b"):
                run = run_command(("pick", "--num-devices", 4, "-b", 8, "--layers", "rc.json", "--mem-limit", limit, "--strategies", strategy, "--json"))
                for row in json.loads(run.stdout) if run.returncode == 0 else []:
                    counts, recomputed, first = [], [], 0
                    for stage in row["split"]:
                        counts.append(sum(stage["layers"].values()))
                        number = stage["recompute"].get("decoder", {}).get("full", 0)
                        recomputed += [f"{layer}:full" for layer in range(first, first + number)]
                        first += counts[-1]
                    options = [word for name, value in row["options"].items() for word in ("--set", f"{name}={value}")]
                    found = self.schedule(strategy, counts, *options, *(("--recompute", *recomputed) if recomputed else ()))
                    self.assertAlmostEqual(max(found["metrics"]["peak_memory"]), row["peak_memory"])
                    layers = [(1, 0.05 if f"{layer}:full" in recomputed else None, 0) for layer in range(16)]
                    split = [layers[sum(counts[:stage]):sum(counts[:stage + 1])] for stage in range(len(counts))]
                    self.assertLessEqual(max(peak_of(queue["ops"], split) for queue in found["queues"]), limit * (1 + 1e-9), row)
                    kinds.append(bool(recomputed))
        self.assertTrue(any(kinds) and not all(kinds))


if __name__ == "__main__":
    unittest.main(verbosity=2)
