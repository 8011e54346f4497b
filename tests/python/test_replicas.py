# SPDX-License-Identifier: Apache-2.0
"""Unlike replicas: their shares against all shares, all splits and all orders of the devices."""
import itertools
import json
import random
import unittest

import in_process
import ppsched


def all_splits(layers, stages):
    for cuts in itertools.combinations(range(1, layers), stages - 1):
        yield [b - a for a, b in zip((0, *cuts), (*cuts, layers))]


def all_shares(whole, count):
    return all_splits(whole, count)


def ran(*words):
    return in_process.run_command(words)


class Problem:
    """Replicas with devices of two speeds, links and limits, and layers that differ."""

    def __init__(self, draw):
        self.strategy = draw.choice(["1f1b", "gpipe", "zb_h1", "1f1b", "zbv"])
        self.chunks = 2 if self.strategy == "zbv" else 1
        self.devices, self.whole = draw.randint(1, 3), draw.randint(3, 8)
        self.speeds = [[draw.choice([1, 0.5, 0.75]) for _ in range(self.devices)] for _ in range(draw.randint(1, 3))]
        if len(self.speeds) == 3 and draw.random() < 0.5:
            self.speeds[2] = self.speeds[0]
        self.latency, self.free = draw.choice([0, 0.25]), draw.random() < 0.4
        self.limit = draw.choice([None, None, 3, 6])
        self.layers = draw.randint(self.devices * self.chunks, max(self.devices * self.chunks, 5))
        self.rows = [{"name": f"l{i}", "forward_time": draw.choice([1, 2, 3]), "backward_time": draw.choice([2, 4]), "mem_forward": 1, "mem_static": 0.5}
                     for i in range(self.layers)]
        self.known = {}

    def config(self, speeds, microbatches):
        limit = {} if self.limit is None else {"mem_limit": self.limit}
        return ppsched.Config(self.devices, microbatches, device_speeds=speeds, p2p_time=self.latency, **limit)

    def step(self, speeds, microbatches, split):
        config = ppsched.config_from_layers(self.config(speeds, microbatches), ppsched.Layers(self.rows), ppsched.Split(list(split), [0] * self.layers))
        metrics = ppsched.generate(self.strategy, config).evaluate(latest=False).metrics
        return metrics.makespan if metrics.limit_device is None else float("inf")

    def best(self, speeds, microbatches):
        """Infinite if nothing fits."""
        key = (tuple(speeds), microbatches)
        if key not in self.known:
            orders = set(itertools.permutations(speeds)) if self.free else [tuple(speeds)]
            try:
                self.known[key] = min(self.step(list(order), microbatches, split) for order in orders
                                      for split in all_splits(self.layers, self.devices * self.chunks))
            except ppsched.Refused:
                self.known[key] = float("inf")
        return self.known[key]

    def least(self):
        return min(max(self.best(speeds, share) for speeds, share in zip(self.speeds, shares)) for shares in all_shares(self.whole, len(self.speeds)))

    def share(self):
        configs = {tuple(speeds): self.config(speeds, 1) for speeds in self.speeds}
        return ppsched.share_microbatches([configs[tuple(speeds)] for speeds in self.speeds], self.rows, self.whole, strategy=self.strategy,
                                          chunks=self.chunks, free_device_order=self.free)


class ReplicasTest(unittest.TestCase):
    def test_against_all_shares(self):
        draw, refused, unlike, proved = random.Random(11), 0, 0, 0
        for number in range(70):
            problem = Problem(draw)
            with self.subTest(number=number, strategy=problem.strategy):
                least = problem.least()
                if least == float("inf"):
                    refused += 1
                    self.assertRaisesRegex(ppsched.Refused, "no shares of", problem.share)
                    continue
                found = problem.share()
                self.assertEqual(sum(one.microbatches for one in found.replicas), problem.whole)
                for speeds, one in zip(problem.speeds, found.replicas):
                    ordered = [speeds[device] for device in one.device_order]
                    self.assertAlmostEqual(one.step_time, problem.step(ordered, one.microbatches, one.split), delta=1e-9)
                self.assertEqual(found.step_time, max(one.step_time for one in found.replicas))
                self.assertLessEqual(found.step_time, least * (1.005 if problem.chunks > 1 else 1 + 1e-12))
                self.assertGreaterEqual(found.step_time, least * (1 - 1e-12))
                if found.proved:
                    proved += 1
                    self.assertLessEqual(found.step_time, least * (1 + 1e-12))
                self.check_equal_shares(problem, found)
                unlike += len({one.microbatches for one in found.replicas}) > 1
        self.assertGreater(min(refused, unlike, proved), 2)

    def check_equal_shares(self, problem, found):
        count = len(problem.speeds)
        equal = max(problem.best(speeds, problem.whole // count + (number < problem.whole % count)) for number, speeds in enumerate(problem.speeds))
        if problem.chunks == 1:
            self.assertAlmostEqual(found.equal_step_time or float("inf"), equal, delta=1e-9)

    def test_the_command(self):
        words = ("replicas", "--devices", 4, "-b", 48, "--num-layers", 32, "--replica-speeds", 1, "--replica-speeds", 1, "--replica-speeds", 1, 1, 1, 0.5)
        told = ran(*words)
        self.assertIn("step 482, proved; 542 with equal shares\n", told.stdout)
        row = json.loads(ran(*words, "--json").stdout)
        self.assertEqual([one["microbatches"] for one in row["replicas"]], [17, 17, 14])
        self.assertEqual((row["replicas"][2]["split"], row["equal_step_time"]), ([10, 10, 10, 2], 542))
        free = json.loads(ran(*words, "--json", "--free-device-order").stdout)
        self.assertLessEqual(free["step_time"], row["step_time"])

    def test_groups(self):
        """Numbers of microbatches that the strategy does not support are left out."""
        config = ppsched.Config(2, 1)
        found = ppsched.share_microbatches([config, config.replace(device_speeds=0.5)], [{"name": "l", "count": 8, "forward_time": 1}], 12,
                                           strategy="dualpipe_v", chunks=2)
        self.assertEqual(sum(one.microbatches for one in found.replicas), 12)
        self.assertGreaterEqual(min(one.microbatches for one in found.replicas), 4)

    def test_stages_are_devices(self):
        words = ("-b", 8, "--num-layers", 8, "--replica-speeds", 1, "--replica-speeds", 0.5)
        self.assertEqual(ran("replicas", "--stages", 4, *words).stdout, ran("replicas", "--devices", 4, *words).stdout)

    def test_refused(self):
        words = ("replicas", "--devices", 4, "--num-layers", 32)
        for more, message in ((("-b", 8), "give --replica-speeds once for each replica"),
                              (("-b", 8, "--replica-speeds", 1, 1), "replica 0 has 2 speeds; give 1, or 4"),
                              (("-b", 8, "--replica-speeds", 1, "--replica-speeds", 0), "replica 1 has the speed 0; it must be above 0"),
                              (("-b", 1, "--replica-speeds", 1, "--replica-speeds", 1), "the microbatches (1) are too few for 2 replicas"),
                              (("-b", 8, "--replica-speeds", 1, "--empty-stages"), "--empty-stages cannot be combined with ppsched replicas"),
                              (("-b", 8, "--replica-speeds", 1, "--vpp", 9), "--vpp 9: 1f1b has 1 stage per device; leave --vpp out"),
                              (("-b", 8, "--replica-speeds", 1, "--vpp", 9, "--strategy", "interleaved_1f1b"), "no shares of 8 microbatches can run on 1 replica"),
                              (("-b", 8, "--replica-speeds", 1, "--vpp", 0), "--vpp 0: it must be 1 or more"),
                              (("-b", 8, "--replica-speeds", 1, "--strategy", "zbv"), "write --vpp 2"),
                              (("-b", 8, "--replica-speeds", 1, "--group-size", 2), "1f1b has no groups; leave it out"),
                              (("-b", 8, "--replica-speeds", 1, "--stages", 8), "leave --stages out"),
                              (("-b", 8, "--replica-speeds", 1, "--microbatch-scale", *range(1, 9)), "microbatches or slices that differ")):
            with self.subTest(more=more):
                run = ran(*words, *more)
                self.assertNotEqual(run.returncode, 0)
                self.assertIn(message, run.stderr)
                self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        layers, config = [{"name": "l", "count": 32, "forward_time": 1}], ppsched.Config(4, 1)
        for strategy in ("1f1b", "gpipe", "zb_h1"):  # of one stage per device
            self.assertRaisesRegex(ppsched.Refused, "no shares of 8 microbatches", ppsched.share_microbatches, [config, config], layers, 8, strategy=strategy, chunks=2)
        for configs in ([], [3]):
            self.assertRaisesRegex(ppsched.Error, "one Config per replica", ppsched.share_microbatches, configs, [{"name": "l", "forward_time": 1}], 4)


if __name__ == "__main__":
    unittest.main()
