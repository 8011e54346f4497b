#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own classes read launch lines for scripts: the stages, microbatches and orders that they make are those of the problem."""
import pathlib
import sys
import tempfile
import unittest

import framework
import problems

HERE = pathlib.Path(__file__).resolve().parent
STRATEGIES = ["gpipe", "1f1b", "eager_1f1b", "zb_h1", "zb_h2", "looped_bfs", "interleaved_1f1b", "interleaved_zb",
              "interleaved_1f1b_less_memory", "zbv", "v_half", "v_min", "v_1f1b", "dualpipe_v", "interleaved_1f1b_overlap"]


@unittest.skipIf(framework.why_missing("torch"), framework.why_missing("torch"))
class PytorchTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.problems = problems.Problems("pytorch", STRATEGIES, folder=folder, empty=True).list
            cls.problems += problems.picked("pytorch", folder)
            cls.found = framework.ask(HERE / "pytorch_reads.py", {"lines": cls.problems}, folder)["lines"]

    def pairs(self):
        for problem, ranks in zip(self.problems, self.found, strict=True):
            self.assertNotIn("refused", ranks[0], (problem["words"], ranks[0].get("refused")))
            yield problem, dict(word.split("=", 1) for word in problem["words"]), ranks

    def test_problems_have_all_kinds(self):
        self.assertEqual({problem["strategy"] for problem in self.problems[:200]}, set(STRATEGIES))
        for text in ("csv=", "style=loop", "style=v", "class=ScheduleInterleavedZeroBubble", "layers_per_stage="):
            self.assertGreater(sum(text in " ".join(problem["words"]) for problem in self.problems), 5, text)

    def test_stages(self):
        for problem, _, ranks in self.pairs():
            wanted = [[stage for stage, device in enumerate(problem["device_of"]) if device == rank] for rank in range(problem["devices"])]
            self.assertEqual([made["stages"] for made in ranks], wanted, problem["words"])

    def test_microbatches(self):
        for problem, _, ranks in self.pairs():
            self.assertEqual({made["microbatches"] for made in ranks}, {problem["microbatches"]}, problem["words"])

    def test_orders(self):
        """The table of Schedule1F1B is wrong for the last rank, though what runs is right."""
        for problem, given, ranks in self.pairs():
            for made in ranks:
                order = [[op for op in queue if op[0] != "REDUCE_GRAD"] for queue in made["order"]]
                same = slice(0, -1) if made["class"] == "Schedule1F1B" else slice(None)
                self.assertEqual(made["class"], given["class"])
                self.assertEqual(order[same], problem["order"][same], problem["words"])

    def test_layers(self):
        """The script reads them: PyTorch has nothing that does."""
        for problem, given, _ in self.pairs():
            wanted = problem["split"] and ",".join(map(str, problem["split"]))
            self.assertEqual(given.get("layers_per_stage"), wanted, problem["words"])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
