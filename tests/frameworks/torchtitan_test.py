#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchtitan's own code reads launch lines and makes parts: what it makes is what the problem has."""
import pathlib
import random
import sys
import tempfile
import unittest

import framework
import problems

import ppsched

HERE = pathlib.Path(__file__).resolve().parent
STRATEGIES = ["gpipe", "1f1b", "eager_1f1b", "zb_h1", "looped_bfs", "interleaved_1f1b", "interleaved_zb", "interleaved_1f1b_less_memory",
              "zbv", "v_half", "v_1f1b", "dualpipe_v", "interleaved_1f1b_overlap"]
CHECKPOINTING = {"full": "FullAC", "selective": "SelectiveAC", None: "NoneType"}
PARTS = 500


def modules(problem, stage):
    first = sum(problem["counts"][:stage])
    names = [f"layers.{layer}" for layer in range(first, first + problem["counts"][stage])]
    return sorted(names + ["tok_embeddings"] * (stage == 0) + ["norm", "lm_head"] * (stage + 1 == problem["stages"]))


def random_parts():
    random_ = random.Random(3)
    return [(random_.randint(1, 12), random_.randint(1, 40), random_.randint(0, 4), random_.randint(0, 4)) for _ in range(PARTS)]


def our_parts(stages, layers, first, last):
    try:
        layout = ppsched.Layout.torchtitan(decoders=layers, stages=stages, first_less=first, last_less=last)
    except ppsched.Refused:
        return None
    return [layout.modules(stage) for stage in range(stages)]


@unittest.skipIf(framework.why_missing("torchtitan"), framework.why_missing("torchtitan"))
class TorchtitanTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            made = problems.Problems("torchtitan", STRATEGIES, folder=folder, kinds=("full", "selective"))
            cls.problems = made.list + problems.picked("torchtitan", folder)
            for problem in cls.problems:
                problem["layers"] = sum(problem["counts"] or ()) or problem["layers"] or 4 * problem["stages"]
            found = framework.ask(HERE / "torchtitan_reads.py", {"lines": cls.problems, "parts": random_parts()}, folder)
        cls.found, cls.parts = found["lines"], found["parts"]

    def pairs(self):
        for problem, found in zip(self.problems, self.found, strict=True):
            self.assertNotIn("refused", found, (problem["words"], found.get("refused")))
            yield problem, found

    def test_problems_have_all_kinds(self):
        """All strategies, lines with and without splits, flags, module names, CSVs, recomputation."""
        self.assertEqual({problem["strategy"] for problem in self.problems[:200]}, set(STRATEGIES))
        self.assertEqual({problem["kind"] for problem in self.problems}, {None, "full", "selective"})
        words = [" ".join(problem["words"]) for problem in self.problems]
        for text in ("module_fqns_per_model_part", "schedule_csv", "first_stage_less_layers", "last_stage_less_layers",
                     "layers_per_stage", "activation-checkpoint:none"):
            self.assertGreater(sum(text in line for line in words), 5, text)
        self.assertGreater(sum("less_layers" not in line and "fqns" not in line and problem["counts"] is not None
                               for line, problem in zip(words, self.problems)), 2)

    def test_stages(self):
        """Their number, the ranks that they are on, and what each part keeps of the model."""
        for problem, found in self.pairs():
            self.assertEqual(found["degree"], problem["devices"], problem["words"])
            for rank, made in enumerate(found["ranks"]):
                stages = [stage for stage, device in enumerate(problem["device_of"]) if device == rank]
                self.assertEqual(made["stages"], problem["stages"], problem["words"])
                self.assertEqual([stage for stage, _ in made["parts"]], stages, problem["words"])
                for stage, names in made["parts"] if problem["counts"] else ():
                    self.assertEqual(names, modules(problem, stage), problem["words"])

    def test_microbatches(self):
        for problem, found in self.pairs():
            self.assertEqual({made["microbatches"] for made in found["ranks"]}, {problem["microbatches"]}, problem["words"])
            self.assertEqual(found["microbatch"], problem["micro_batch"] or 1, problem["words"])
            self.assertEqual(found["samples"], found["microbatch"] * problem["microbatches"], problem["words"])

    def test_orders(self):
        """The table of Schedule1F1B is wrong for the last rank, though what runs is right. Classes of one stage have reductions
        in it."""
        for problem, found in self.pairs():
            wanted = [[op[:3] for op in queue] for queue in problem["order"]]
            for made in found["ranks"]:
                order = [[op for op in queue if op[0] != "REDUCE_GRAD"] for queue in made["order"]]
                same = slice(0, -1) if made["class"] == "Schedule1F1B" else slice(None)
                self.assertEqual(order[same], wanted[same], problem["words"])

    def test_recomputation(self):
        for problem, found in self.pairs():
            if problem["has_kinds"]:
                self.assertEqual(found["checkpointing"], CHECKPOINTING[problem["kind"]], problem["words"])

    def test_layout(self):
        """Our parts are torchtitan's, for those that it refuses too."""
        wanted = [our_parts(*problem) for problem in random_parts()]
        self.assertGreater(wanted.count(None), 50)
        self.assertGreater(PARTS - wanted.count(None), 200)
        for problem, ours, theirs in zip(random_parts(), wanted, self.parts, strict=True):
            self.assertEqual(ours, theirs, problem)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
