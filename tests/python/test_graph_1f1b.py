# SPDX-License-Identifier: Apache-2.0
"""1F1B on stage graphs with one device for each stage: the rule written again, the simulation of test_graphs, and what it refuses."""
import json
import os
import random
import tempfile
import unittest

import ppsched
from test_graphs import Problem, answer, token


def alone(rng):
    """A random problem whose stages have one device each; its devices may feed each other."""
    problem = Problem(rng, most_devices=5, most_stages=8, most_microbatches=6, split=False)
    problem.place = [[rng.randrange(problem.devices)] for _ in range(problem.stages)]
    if rng.random() < 0.6:  # in ascending order no devices feed each other
        problem.place.sort()
    return problem


def heights_of(problem):
    """Links between devices on the longest path from each device; None where a path has no end."""
    follows = {d: set() for d in range(problem.devices)}
    for s, inputs in enumerate(problem.inputs):
        for i in inputs:
            follows[problem.place[i][0]] |= set(problem.place[s]) - set(problem.place[i])

    def height(device, path):
        if device in path:
            raise RecursionError
        return max([1 + height(after, path | {device}) for after in follows[device]], default=0)

    try:
        return [height(d, frozenset()) for d in range(problem.devices)]
    except RecursionError:
        return None


def queue_of(problem, device, warmup):
    own = [s for s in range(problem.stages) if problem.place[s] == [device]]
    forwards = [[("F", s, m) for s in own if problem.does(s, m)] for m in range(problem.microbatches)]
    backwards = [[("I" if problem.passes[s] == "FI" else "B", s, m) for s in reversed(own) if problem.does(s, m) and problem.passes[s] != "F"]
                 for m in range(problem.microbatches)]
    queue = [op for forward in forwards[:warmup] for op in forward]
    for m in range(problem.microbatches):
        queue += (forwards[warmup + m] if warmup + m < problem.microbatches else []) + backwards[m]
    return queue


class RuleTest(unittest.TestCase):
    def test_orders_times_and_memory(self):
        rng, counts = random.Random(58), {"runs": 0, "refused": 0}
        for _ in range(600):
            problem = alone(rng)
            heights = heights_of(problem)
            config = problem.config()
            runs_all = all(problem.does(s, m) for s in range(problem.stages) for m in range(problem.microbatches))
            if not problem.has_graph() and set(problem.passes) == {"FB"} and runs_all:
                continue  # a chain
            if heights is None:
                with self.assertRaisesRegex(ppsched.Error, "no devices feed each other"):
                    ppsched.generate("1f1b", config)
                counts["refused"] += 1
                continue
            schedule = ppsched.generate("1f1b", config)
            queues = [queue_of(problem, d, heights[d]) for d in range(problem.devices)]
            self.assertEqual([[str(op) for op in queue] for queue in schedule.queues], [[token(op) for op in queue] for queue in queues])
            self.assertEqual(schedule.check(), [])
            times, timeline = problem.simulate(queues), schedule.evaluate()
            self.assertEqual(timeline.metrics.makespan, max([end for _, end in times.values()], default=0))
            self.assertEqual([own.peak_memory for own in timeline.device_metrics], [problem.peak(queue) + 0.0 for queue in queues])
            counts["runs"] += 1
        self.assertGreater(min(counts.values()), 50)

    def test_a_chain_with_a_frozen_stage_keeps_the_order(self):
        for devices, microbatches in ((1, 3), (4, 2), (5, 9)):
            sizes = {"devices": devices, "microbatches": microbatches}
            chain = ppsched.generate("1f1b", ppsched.Config(**sizes))
            graph = ppsched.generate("1f1b", ppsched.Config(**sizes, stage_passes=["FI"] + ["FB"] * (devices - 1)))
            self.assertEqual([[str(op).replace("0I", "0B") for op in queue] for queue in graph.queues], [[str(op) for op in queue] for queue in chain.queues])

    def test_iterations(self):
        config = ppsched.Config(devices=3, microbatches=4, stages=3, stage_inputs=[[], [], [0, 1]], iterations=2)
        schedule = ppsched.generate("1f1b", config)
        self.assertEqual([[(str(op), op.microbatch) for op in queue[8:]] for queue in schedule.queues],
                         [[(str(op._replace(microbatch=op.microbatch + 4)), op.microbatch + 4) for op in queue[:8]] for queue in schedule.queues])
        self.assertEqual(schedule.check(), [])


class AskingTest(unittest.TestCase):
    def test_plans_rank_it_where_it_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "problem.json")
            for inputs, runs in (([[], [0], [0], [1, 2]], True), ([[], [0], [0, 1], [2]], False)):
                problem = {"num_devices": 4, "num_stages": 4, "num_batches": 8, "stage_inputs": inputs, "forward_times": 1, "backward_times": 2}
                with open(path, "w", encoding="utf-8") as file:
                    json.dump(problem if runs else {**problem, "placement": [0, 1, 2, 0]}, file)
                code, text, _ = answer("pick", "-c", path, "--top", "9", "--json", "--quiet")
                found = {row["strategy"]: row["step_time"] for row in json.loads(text)}
                self.assertEqual((code, found.get("1f1b")), (0, 30 if runs else None))
                self.assertIn("auto", found)

    def test_what_it_refuses(self):
        diamond = {"devices": 4, "microbatches": 4, "stages": 4, "stage_inputs": [[], [0], [0], [1, 2]]}
        for config, words in ((ppsched.Config(3, 4, stages=3, placement=[0, 1, [1, 2]]), "needs one device for each stage; auto supports"),
                              (ppsched.Config(**diamond, slices=2), "whole microbatches"),
                              (ppsched.Config(2, 4, stages=3, placement=[0, 1, 0], stage_inputs=[[], [0], [0, 1]]), "no devices feed each other; auto supports")):
            with self.assertRaisesRegex(ppsched.Error, "^1f1b: .*" + words):
                ppsched.generate("1f1b", config)


if __name__ == "__main__":
    unittest.main()
