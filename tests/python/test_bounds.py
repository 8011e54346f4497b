# SPDX-License-Identifier: Apache-2.0
"""What plans prove, how far candidates are above their bounds, and what their idle time is: beside what these speak of alone."""
import csv
import io
import json
import pathlib
import re
import time

import ppsched
from ppsched.page.report import report_data, timelines_data
from test_layers import FolderTest

DECODERS = {"name": "decoder", "forward_time": 1, "backward_time": 2}
SLOW = {"scenarios": 20, "device_factors": [1, 1, 1, 2], "rank_by": "mean"}
VARYING = (("--slow-rank", "3:2"), ("--jitter", 0.2), ("--jitter", 0.2, "--scenarios", 20), ("--slow-rank", "3:2", "--rank-by", "worst"),
           ("--slow-rank", "3:2", "--rank-by", "step"))


class WholeLayersTest(FolderTest):
    """Some device has at least as many whole layers as they have on average, rounded up."""

    def best(self, devices, microbatches, *rows, **given):
        config = ppsched.Config(devices=devices, microbatches=microbatches)
        return ppsched.plan(config, layers=ppsched.Layers(rows), **given).best

    def test_more_layers_than_their_share(self):
        self.write("b.json", [{**DECODERS, "count": 80}, {"name": "head", "forward_time": 1.5, "backward_time": 3, "place": "last"}])
        words = ("pick", "--num-devices", 16, "-b", 64, "--layers", "b.json", "--runtime", "megatron")
        row = json.loads(self.succeed(*words, "--json"))[0]
        self.assertEqual((row["step_time"], row["bound"], row["proved"]), (6 * 3 * 64, 6 * 3 * 64, True))
        idle = 1 - (80 * 3 + 4.5) / (16 * 18)
        self.assertAlmostEqual(row["imbalance"], idle)
        self.assertAlmostEqual(row["bubble"]["of_total"], idle)
        text = self.succeed(*words)
        self.assertRegex(text, r"\n    1  interleaved_1f1b .* 0\.0%\n       \(group_size 64\)\n       runs on: megatron ")
        self.assertIn("\nidle time: 15.10% of total = 15.10% from imbalance (devices with less work than the busiest one) + 0.00% from the pipeline\n", text)

    def test_numbers_of_layers(self):
        """No bound is below what the fullest device takes of its whole layers, nor above any step."""
        for devices, count in ((4, 13), (4, 16), (3, 7), (5, 21)):
            config = ppsched.Config(devices=devices, microbatches=2 * devices)
            plan = ppsched.plan(config, layers=[{**DECODERS, "count": count}], chunks=[1, 2, 3], split_effort=1)
            for candidate in plan:
                if candidate.status == "fits" and candidate.placement != "bidirectional":
                    self.assertGreaterEqual(candidate.bound, -(-count // devices) * 3 * 2 * devices * (1 - 1e-9), candidate)
                    self.assertLessEqual(candidate.bound, candidate.step_time)

    def test_layers_of_two_kinds(self):
        """Three of one and seven longer ones on five devices with two stages each: (1, 2), (1, 2), (1, 2), (2), (2) layers of 3
        and 6."""
        rows = ({**DECODERS, "count": 3}, {"name": "moe_decoder", "count": 7, "forward_time": 2, "backward_time": 4})
        best = self.best(5, 20, *rows, chunks=[2], strategies=["interleaved_1f1b"])
        self.assertEqual(best.bound, 20 * (6 + 6))
        self.assertGreaterEqual(best.step_time, best.bound)

    def test_what_imbalance_is(self):
        """Of the idle time that which devices have less to do; what is left is that of the fullest one too."""
        config = ppsched.Config(devices=4, microbatches=8, forward_times=[1, 1, 1, 2], backward_times=[2, 2, 2, 4])
        plan = ppsched.plan(config, strategies=["1f1b", "gpipe", "zb_h1"])
        for candidate in plan:
            busy = [device.busy for device in plan.timeline(candidate).device_metrics]
            self.assertAlmostEqual(candidate.imbalance, (max(busy) - sum(busy) / 4) / candidate.makespan)
            self.assertAlmostEqual(candidate.bubble.of_total - candidate.imbalance, 1 - max(busy) / candidate.makespan)
        self.assertAlmostEqual(plan.best.imbalance, (8 * 6 - 8 * 15 / 4) / plan.best.makespan)
        words = ("pick", "-s", 4, "-b", 8, "--strategies", "1f1b")
        self.assertRegex(self.succeed(*words, "-f", 1, 1, 1, 2), r"\nidle time: [\d.]+% of total = [\d.]+% from imbalance ")
        self.assertNotIn("imbalance", self.succeed(*words))

    def test_schedules_of_ones_own(self):
        """Beside the library's."""
        config = ppsched.Config(devices=2, microbatches=4, forward_times=[1, 2], backward_times=[2, 4])
        def mine(config, builder):
            for device, queue in enumerate(ppsched.generate("1f1b", config).queues):
                for op in queue:
                    builder.append(device, op)

        plan = ppsched.plan(config, strategies=["1f1b", mine], chunks=1)
        self.assertEqual([candidate.imbalance for candidate in plan], [plan.best.imbalance] * 2)
        self.assertGreater(plan.best.imbalance, 0)


class ProofTest(FolderTest):
    def test_times_that_vary(self):
        """What is planned says nothing of scenarios: text, JSON, table, page and package are without."""
        layers, costs = ("--num-devices", 4, "-b", 16, "--num-layers", 32), ("-s", 4, "-b", 16)
        for problem in (layers, costs):
            plain = json.loads(self.succeed("pick", *problem, "--strategies", "1f1b", "--chunks", 1, "--json"))[0]
            self.assertIsNotNone(plain["bound"])
            self.assertRegex(self.succeed("pick", *problem, "--strategies", "1f1b", "--chunks", 1), r"(above\n.* | above )bound\n")
            for varying in VARYING:
                words = (*problem, "--strategies", "1f1b", "zb_h1", "--chunks", 1, *varying)
                for command in ("pick", "compare") if varying is VARYING[0] else ("compare",):
                    rows = json.loads(self.succeed(command, *words, "--json"))
                    self.assertTrue(rows)
                    for row in rows:
                        self.assertEqual((row["proved"], row["bound"], row["least_bound"]), (False, None, None), words)
                        self.assertGreater(row["scenario_time"], 0)
                    text = self.succeed(command, *words)
                    self.assertNotRegex(text, r"above|bound")
                    self.assertNotIn("proved", text)
                self.succeed("compare", *words, "-o", "t.csv")
                for cells in csv.DictReader(io.StringIO(pathlib.Path("t.csv").read_text(encoding="utf-8"))):
                    self.assertEqual((cells["proved"], cells["bound"], cells["least_bound"]), ("false", "", ""))

    def test_package_and_page(self):
        config = ppsched.Config(devices=4, microbatches=16)
        plan = ppsched.plan(config, layers=[{**DECODERS, "count": 32}], strategies=["1f1b"], chunks=1, **SLOW)
        self.assertEqual((plan.best.proved, plan.best.bound, plan.best.least_bound), (False, None, None))
        self.assertNotIn("above bound", plan._repr_html_())
        for row in report_data(plan)["candidates"]:
            self.assertEqual((row["proved"], row["bound"], row["least_bound"]), (False, None, None))
        plain = ppsched.plan(config, layers=[{**DECODERS, "count": 32}], strategies=["1f1b"], chunks=1)
        self.assertTrue(plain.best.proved)

    def test_the_best_for_each_runtime(self):
        """By what they rank by, which stands beside the step."""
        text = self.succeed("pick", "--num-devices", 4, "-b", 8, "--num-layers", 32, "--slow-rank", "3:2", "--split-effort", 1, "--chunks", 1, 2)
        heading, *rows = re.search(r"\n(best for each runtime(?:.*\n)+?)--runtime", text)[1].splitlines()
        self.assertTrue(heading.endswith("time  scenarios"), heading)
        rows = [row for row in rows if not row.startswith(" ")]  # lines that go on
        varying = [float(row.split()[-1]) for row in rows]
        self.assertEqual(varying, sorted(varying))
        self.assertGreater(len(rows), 1)

    def test_transfers(self):
        """Splits are found as if there were none: what is proved of them is not of a lowered order above its bound."""
        layers = [{**DECODERS, "count": 6}, {"name": "head", "place": "last", "forward_time": 2}]
        config = ppsched.Config(devices=4, microbatches=6, p2p_time=0.5)
        for strategy in ("1f1b", "zb_h1", "gpipe"):
            plain, lowered = (ppsched.plan(config, layers=layers, strategies=[strategy], lowering=lowering).best
                              for lowering in ("none", "just_in_time"))
            self.assertTrue(plain.proved)
            self.assertGreater(lowered.step_time, lowered.bound * (1 + 1e-9))
            self.assertFalse(lowered.proved)

    def test_what_keeps_less(self):
        """Copies to the host, and what is computed again, may hold any limit: no bound is that of what keeps all."""
        config = ppsched.Config(devices=4, microbatches=16, stages=8, host_bandwidth=10, mem_limit=3)
        plan = ppsched.plan(config, strategies=["pipeoffload", "interleaved_1f1b"], offload=True)
        fitting = [candidate for candidate in plan if candidate.fits]
        self.assertIn("pipeoffload", {candidate.strategy for candidate in fitting})
        for candidate in fitting:
            self.assertLessEqual(candidate.bound, candidate.step_time * (1 + 1e-12), candidate)
        config = ppsched.Config(devices=4, microbatches=16, host_bandwidth=10, mem_limit=2)
        order = ppsched.generate("1f1b", config)
        for schedule in (order.offload(until_limit=True), order.recompute()):
            row = timelines_data([schedule.evaluate(config)])["candidates"][0]
            self.assertAlmostEqual(row["bound"], ppsched.lower_bound(ppsched.Config(devices=4, microbatches=16), "makespan").value)
            self.assertGreater(ppsched.lower_bound(config, "makespan").value, row["bound"])

    def test_limits_that_are_not_held(self):
        """Another split may be shorter, where the best lacks least."""
        layers = [{**DECODERS, "count": 6, "mem_forward": 1}, {"name": "head", "place": "last", "forward_time": 2, "mem_forward": 5}]
        for limit in (0.5, 3):
            plan = ppsched.plan(ppsched.Config(devices=2, microbatches=6, mem_limit=limit), layers=layers, strategies=["1f1b", "gpipe", "zb_h1"])
            self.assertEqual({(candidate.fits, candidate.proved) for candidate in plan}, {(False, False)})

    def test_what_reaches_its_bound_is_proved(self):
        """Also where there are too many splits to try them all."""
        config = ppsched.Config(devices=8, microbatches=16)
        plan = ppsched.plan(config, layers=[{**DECODERS, "count": 30}], chunks=[1, 2], group_sizes=[8, 16])
        fitting = [candidate for candidate in plan if candidate.fits]
        self.assertTrue(any(candidate.step_time == candidate.bound for candidate in fitting))
        for candidate in fitting:
            self.assertTrue(candidate.proved or candidate.step_time > candidate.bound)


class OneDeviceTest(FolderTest):
    """It waits for no other: several stages are no shorter than one, and nobody looks for their splits."""

    def test_candidates(self):
        words = ("compare", "--num-devices", 1, "-b", 4, "--num-layers", 12, "--json")
        self.assertEqual({row["chunks"] for row in json.loads(self.succeed(*words))}, {1})
        self.assertEqual({row["chunks"] for row in json.loads(self.succeed(*words, "--chunks", 1, 2))}, {1, 2})
        named = json.loads(self.succeed("pick", *words[1:], "--strategies", "interleaved_1f1b", "--chunks", 2))[0]
        self.assertEqual((named["chunks"], named["step_time"], sum(sum(stage["layers"].values()) for stage in named["split"])), (2, 4 * 12 * 3, 12))
        self.assertEqual({row["chunks"] for row in json.loads(self.succeed(*words, "--strategies", "zbv"))}, {2})
        several = json.loads(self.succeed("compare", "--num-devices", 2, *words[3:]))
        self.assertGreater(max(row["chunks"] for row in several), 2)

    def test_no_worse(self):
        """Than with several stages; nor than the best of one, where layers are computed again."""
        layers = [{**DECODERS, "count": 24, "mem_forward": 1, "recompute": [{"name": "full", "backward_time": 3, "mem_forward": 0.1}]}]
        for chunks, limit in (([1, 2, 3], {}), ([1], {"mem_limit": 20}), ([1], {"mem_limit": 12})):
            config = ppsched.Config(devices=1, microbatches=4, **limit)
            best = ppsched.plan(config, layers=layers).best
            wide = ppsched.plan(config, layers=layers, chunks=chunks, split_effort=1).best
            self.assertEqual((best.step_time, best.peak_memory), (wide.step_time, wide.peak_memory))

    def test_time(self):
        """Of a model that one device holds where it computes layers again."""
        self.write("model.json", {"model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
                                  "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
                                  "tie_word_embeddings": False})
        before = time.process_time()
        text = self.succeed("pick", "--model", "model.json", "--device", "h100", "--dp", 64, "--global-batch", 256, "--tp", 1, "--pp", 1, "--seq", 8192)
        self.assertLess(time.process_time() - before, 4)  # a tenth of that as a rule
        self.assertIn("\n    1  1f1b      1", text)


if __name__ == "__main__":
    import unittest
    unittest.main()
