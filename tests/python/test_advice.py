# SPDX-License-Identifier: Apache-2.0
"""What refusals of models by their layers say that would work does, and they say why."""
import json
import pathlib
import random
import re
import unittest

from ppsched._core.rounding import at_least, at_most

from test_layers import FolderTest

MODELS = pathlib.Path(__file__).resolve().parents[1] / "layers" / "models"
SEVENTHS = {"name": "decoder", "count": 7, "forward_time": 1, "mem_forward": 1 / 7, "mem_static": 3 / 7}


class RoundingTest(unittest.TestCase):
    def test_numbers(self):
        self.assertEqual((at_least(20 / 7), at_most(20 / 7), at_least(10 / 7), at_most(10 / 7)), ("2.85715", "2.85714", "1.42858", "1.42857"))
        self.assertEqual([at_least(value) for value in (0, 2.5, 3e-320, float("inf"), 123456.1, 1234567, -0.1234567)],
                         ["0", "2.5", f"{3e-320:g}", "inf", "123457", "1.23457e+06", "-0.123456"])
        self.assertEqual([at_least(value) for value in (0.1 + 0.2, 2.8000000000000003)], ["0.3", "2.8"])
        for value in (random.Random(1).uniform(0, 10) ** power for power in range(-9, 9)):
            self.assertTrue(float(at_most(value)) <= value <= float(at_least(value)))


class LimitTest(FolderTest):
    def refusal(self, *words):
        code, output, errors = self.run_here(*words)
        self.assertEqual((code, output, errors.count("\n")), (1, "", 1), words)
        return errors

    def expect_least(self, *words):
        """The limit that is advised does."""
        advised = re.search(r"the least limit that works is ([\d.e+-]+)( GB)?", self.refusal("pick", *words))
        self.assertIsNotNone(advised)
        self.pick(*words[:-1], advised[1] + (advised[2] or "").strip())

    def test_least_limits(self):
        for count, devices in ((7, 2), (8, 3), (11, 4)):
            layers = json.dumps([{**SEVENTHS, "count": count}, {"name": "head", "forward_time": 0.7, "mem_static": 5 / 7}])
            self.expect_least("--num-devices", devices, "-b", 5, "--layers", layers, "--strategies", "1f1b", "interleaved_1f1b", "--mem-limit", 1)

    def test_with_units(self):
        layers = json.dumps([{"name": "decoder", "count": 7, "forward_time": "1ms", "mem_forward": "142.857143MB", "mem_static": "0.428571429GB"}])
        self.expect_least("--num-devices", 2, "-b", 5, "--layers", layers, "--strategies", "1f1b", "--mem-limit", "1GB")

    def test_stages(self):
        self.expect_least("--num-devices", 4, "-s", 4, "-b", 7, "--mem-forward", 1 / 7, "--mem-static", 1 / 3, "--strategies", "1f1b", "gpipe", "--mem-limit", 0.4)

    def test_a_layer_and_what_there_is(self):
        layers = json.dumps([SEVENTHS, {"name": "head", "forward_time": 1, "mem_static": 10 / 7}])
        refused = self.refusal("pick", "--num-devices", 2, "-b", 4, "--layers", layers, "--strategies", "1f1b", "--mem-limit", 10 / 7 - 1e-9)
        self.assertIn("a layer head alone takes 1.42858, and no device has more than 1.42857;", refused)


class WhyTest(FolderTest):
    def test_mindspeed(self):
        """DualPipeV is all that it has: what that needs is said once, and would do."""
        words = ("--num-devices", 4, "--runtime", "mindspeed")
        self.fail_with(1, "runs on mindspeed; MindSpeed's own schedule is DualPipeV, and this order differs; DualPipeV has 2 stages on each of 4 devices, "
                       "and needs 8, 16, ... layers and at least 8 microbatches\n", "pick", *words, "-b", 8, "--num-layers", 7)
        self.fail_with(1, "mindspeed; dualpipe_v: MindSpeed divides decoders evenly, and 9 cannot be divided by 8 stages; 8 or 16 can\n", "pick", *words, "-b", 8, "--num-layers", 9)
        self.fail_with(1, "mindspeed; dualpipe_v: needs at least 2D = 8 microbatches on 4 devices, not 6; nearest: 8 microbatches\n", "pick", *words, "-b", 6, "--num-layers", 8)
        self.assertEqual([self.pick(*words, "-b", 8, "--num-layers", layers)["strategy"] for layers in (8, 16)], ["dualpipe_v"] * 2)
        self.fail_with(1, "MindSpeed's own schedule is DualPipeV, and this order differs", "schedule", "--num-devices", 2, "-b", 8, "--num-layers", 5,
                       "--split", 2, 3, "--launch", "mindspeed")

    def test_of_a_model(self):
        """What each runtime runs of it has the same units as the rest, and so has what one lacks."""
        text = self.succeed("pick", "--model", MODELS / "llama-3.1-8b.json", "--dp", 1, "--pp", 4, "--global-batch", 8, "--strategies", "1f1b",
                            "dualpipe_v", "zb_h1", "--mem-limit", "60GiB")
        self.assertRegex(text, r"\nbest for each runtime +strategy +V +step time \(s\)\n")
        for name, strategy in (("megatron", "1f1b"), ("sail", "1f1b"), ("torchtitan", "dualpipe_v")):
            self.assertRegex(text, rf"\n[a-z ]*\b{name}\b[a-z ]*  {strategy} +\d  +[\d.]+\n")
        self.assertRegex(text, r"\nmindspeed: no schedule fits in 60.0 GiB; dualpipe_v with V = 2 exceeds this limit by [\d.]+ GiB\n")

    def test_colossalai(self):
        words = ("--num-devices", 4, "--num-layers", 8, "--runtime", "colossalai")
        self.fail_with(1, "colossalai; 1f1b: Colossal-AI's 1F1B needs at least 4 microbatches, not 3; interleaved_1f1b", "pick", *words, "-b", 3)
        code, _, errors = self.run_here("pick", *words, "-b", 3)
        self.assertNotIn("dualpipe", errors)
        self.assertEqual((code, self.pick(*words, "-b", 4)["runs_on"].count("colossalai")), (1, 1))
        self.fail_with(1, "Colossal-AI's interleaved 1F1B needs a multiple of 4 microbatches, not 6; torchtitan", "schedule", "--strategy", "interleaved_1f1b",
                       "--num-devices", 4, "-s", 8, "-b", 6, "--launch", "colossalai")

    def test_others_are_not_told_of(self):
        """What the runtime never runs, it does not run at other sizes."""
        code, _, errors = self.run_here("pick", "--num-devices", 4, "-b", 3, "--num-layers", 6, "--runtime", "sail", "--strategies", "dualpipe", "interleaved_1f1b")
        self.assertEqual(code, 1)
        self.assertNotIn("dualpipe", errors)
        self.assertIn("interleaved_1f1b: ", errors)

    def test_none_to_try(self):
        words = ("--num-devices", 4, "-b", 2)
        for command, name, chunks, needs in (("pick", "1f1b", 3, "needs 1 stage per device, not 12 stages on 4 devices; nearest: 4 stages"),
                                             ("schedule", "zb_auto", 2, "needs 1 stage per device, not 8 stages on 4 devices; nearest: 4 stages"),
                                             ("schedule", "zbv", 1, "needs 2 stages per device, not 4 stages on 4 devices; nearest: 8 stages")):
            strategy = ("--strategies", name) if command == "pick" else ("--strategy", name)
            self.fail_with(1, f"ppsched {command}: {'no candidate fits: ' if command == 'pick' else ''}{name}: {needs}", command, *words, "--num-layers", 12, "--chunks", chunks, *strategy)
        self.fail_with(1, "no candidate fits: 1f1b: needs 1 stage per device", "pick", *words, "-s", 12, "--chunks", 3, "--strategies", "1f1b")
        self.fail_with(1, "8 stages, 2 per device, need 8 layers that can be separated, not 7; use at most 3 devices", "schedule", *words,
                       "--num-layers", 7, "--strategy", "zbv")
        self.succeed("schedule", "--num-devices", 3, "-b", 2, "--num-layers", 7, "--strategy", "zbv")

    def test_costs_beside_layers(self):
        """They are refused before they are asked for a unit."""
        layers = json.dumps([{"name": "decoder", "count": 4, "forward_time": "1ms", "mem_forward": "1GB"}])
        for command in ("pick", "compare", "schedule"):
            self.fail_with(2, "forward_times: the list of layers has its own costs; this option works only with --num-layers", command, "--num-devices", 2, "-b", 4, "--layers", layers, "-f", 2)
        self.fail_with(2, "head: the list of layers has its own costs", "pick", "--num-devices", 2, "-b", 4, "--layers", layers, "--head", "forward_time=2")

    def test_torchtitan(self):
        self.succeed("schedule", "--strategy", "interleaved_1f1b", "--num-devices", 4, "-s", 12, "-b", 8, "-o", "order.csv")
        self.fail_with(1, "which is 12 for no n; use 34 layers, or give their split (--split)", "convert", "order.csv",
                       "--launch", "torchtitan", "--num-layers", 31)
        split = ("--split", *[3] * 7, *[2] * 5)
        self.assertIn("--parallelism", self.succeed("convert", "order.csv", "--launch", "torchtitan", "--num-layers", 31, *split))

    def test_layouts(self):
        words, ends = ("layout", "--pp", 4), ("--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split")
        self.fail_with(1, "4 decoders, and an end that counts as one, cannot be divided by 4 devices; 3 and 7 decoders can", *words, "--num-layers", 4, ends[0])
        self.fail_with(1, "1 decoder, and both ends that count as one each, cannot be divided by 4 devices; 2 decoders can", *words, "--num-layers", 1, *ends)
        for layers, given in ((3, ends[:1]), (7, ends[:1]), (2, ends)):
            self.succeed(*words, "--num-layers", layers, *given)
        self.fail_with(1, "leave 1 decoder, and no device for them", "layout", "--pp", 1, "--num-layers", 2, "--decoder-first-pipeline-num-layers", 1)
        self.fail_with(1, "not 1; use at most 1 device", "pick", "--num-devices", 2, "-b", 2, "--layers",
                       json.dumps([{"name": "decoder", "count": 3, "with_next": True, "forward_time": 1}, {"name": "decoder", "forward_time": 1}]))


if __name__ == "__main__":
    unittest.main()
