#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DeepSpeed's own code reads launch lines: the stages that it builds and the steps that it takes are those of the problem. And its own
ways to divide layers are never faster than a planned split."""
import pathlib
import random
import sys
import tempfile
import unittest

import framework
import problems

import ppsched

HERE = pathlib.Path(__file__).resolve().parent
DUAL = [(microbatches, devices) for devices in (2, 3, 4, 6) for microbatches in (2 * devices, 2 * devices + 1, 4 * devices)]


def random_weights():
    """[times of layers, stages]"""
    random_ = random.Random(11)
    return [[[random_.randint(1, 9) for _ in range(random_.randint(stages, 16))], stages]
            for stages in (random_.randint(2, 5) for _ in range(60))]


def step_times(weights, stages, splits):
    """The step time of 1F1B with a planned split, then with others."""
    layers = ppsched.Layers([{"name": f"layer {number}", "forward_time": time} for number, time in enumerate(weights)])
    config = ppsched.Config(stages, 2 * stages)
    plan = ppsched.plan(config, layers=layers, strategies="1f1b", chunks=1)
    times = [plan.best.step_time]
    for ends in splits:
        sums = [sum(weights[begin:end]) for begin, end in zip(ends, ends[1:])]
        times.append(ppsched.generate("1f1b", ppsched.Config(stages, 2 * stages, forward_times=sums,
                                                             backward_times=[2 * time for time in sums])).evaluate().metrics.span)
    return times


@unittest.skipIf(framework.why_missing("deepspeed"), framework.why_missing("deepspeed"))
class DeepspeedTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        made = problems.Problems("deepspeed", ["1f1b", "seq_1f1b", "eager_1f1b"], kinds=("full",), most_mtps=1, replicas=(1, 1, 2))
        cls.weights = random_weights()
        with tempfile.TemporaryDirectory() as folder:
            cls.problems = made.list + problems.picked("deepspeed", folder)
            for problem in cls.problems:
                problem["names"] = problem.get("names") or ["decoder"] * 2 * problem["stages"]
            given = {"lines": cls.problems, "dual": DUAL, "weights": cls.weights}
            cls.found = framework.ask(HERE / "deepspeed_reads.py", given, folder)

    def ranks(self):
        for problem, ranks in zip(self.problems, self.found["lines"], strict=True):
            self.assertNotIn("refused", ranks[0], (problem["words"], ranks[0].get("refused")))
            self.assertEqual(len(ranks), problem["devices"] * problem["replicas"])
            for found in ranks:
                yield problem, found

    def test_problems_have_all_kinds(self):
        words = [" ".join(problem["words"]) for problem in self.problems]
        for text in ("parts=", "train_micro_batch_size_per_gpu", "activation_checkpoint_interval", "checkpointable_layers"):
            self.assertGreater(sum(text in line for line in words), 10, text)

    def test_stages(self):
        """A line without layers leaves the split to DeepSpeed."""
        seen = 0
        for problem, found in self.ranks():
            self.assertEqual(found["built"], found["layers"][1] - found["layers"][0])
            if problem["split"]:
                first = sum(problem["split"][:found["stage"]])
                self.assertEqual(found["layers"], [first, first + problem["split"][found["stage"]]], problem["words"])
                seen += 1
        self.assertGreater(seen, 200)

    def test_microbatches(self):
        for problem, found in self.ranks():
            micro_batch = problem["micro_batch"] or 1
            self.assertEqual((found["microbatches"], found["micro_batch"]), (problem["microbatches"], micro_batch), problem["words"])
            self.assertEqual(found["batch"], micro_batch * problem["microbatches"] * problem["replicas"], problem["words"])

    def test_recomputation(self):
        for problem, found in self.ranks():
            if problem["split"]:
                recomputes = problem["recomputes"][slice(*found["layers"])]
                self.assertEqual(found["recomputed"] or [False] * len(recomputes), [bool(kind) for kind in recomputes], problem["words"])

    def test_steps(self):
        """Those of --format deepspeed, and the order of passes."""
        for problem, found in self.ranks():
            lines = ppsched.generate("1f1b", ppsched.Config(problem["devices"], problem["microbatches"])).export("deepspeed").splitlines()
            _, rank, buffers, *words = lines[found["stage"]].split(" ")
            self.assertEqual((int(rank), int(buffers)), (found["stage"], found["buffers"]))
            self.assertEqual(" ".join(words).split(" | "), found["steps"])
            kinds = {"ForwardPass": "F", "BackwardPass": "B"}
            passes = [kinds[word.partition(":")[0]] for step in found["steps"] for word in step.split() if word.partition(":")[0] in kinds]
            self.assertEqual(passes, [kind for kind, _, _ in problem["order"][found["stage"]]], problem["words"])

    def test_its_dualpipe_v(self):
        """It is dualpipe_v with whole backwards: each I is a B, and there is no W."""
        for (microbatches, devices), ranks in zip(DUAL, self.found["dual"], strict=True):
            schedule = ppsched.generate("dualpipe_v", ppsched.Config(devices, microbatches, 2 * devices))
            wanted = [[["F" if op.kind.name == "F" else "B", int(op.stage >= devices), op.microbatch] for op in queue if op.kind.name != "W"]
                      for queue in schedule.queues]
            self.assertEqual(ranks, wanted, (microbatches, devices))

    def test_its_partitions_are_no_faster(self):
        """Of layers that take as long as their weights; sometimes they are slower."""
        slower = 0
        for (weights, stages), (balanced, uniform) in zip(self.weights, self.found["weights"], strict=True):
            ours, *theirs = step_times(weights, stages, [balanced, uniform])
            self.assertLessEqual(ours, min(theirs), (weights, stages, balanced, uniform))
            slower += ours < theirs[0]
        self.assertGreater(slower, 5)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
