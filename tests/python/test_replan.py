# SPDX-License-Identifier: Apache-2.0
"""Devices that are lost, added or slow: the new split against all splits and orders, and what moves against a count of its own."""
import itertools
import json
import random
import unittest

import in_process
import ppsched


def all_splits(layers, stages):
    for cuts in itertools.combinations(range(1, layers), stages - 1):
        yield [b - a for a, b in zip((0, *cuts), (*cuts, layers))]


def device_of(strategy, stage, devices):
    return 2 * devices - 1 - stage if strategy == "zbv" and stage >= devices else stage % devices


def held(strategy, split, order):
    """The layers of each device."""
    found, first = {device: set() for device in order}, 0
    for stage, count in enumerate(split):
        found[order[device_of(strategy, stage, len(order))]] |= set(range(first, first + count))
        first += count
    return found


def lacking(before, after, sizes):
    return sum(sizes[layer] for device, layers in after.items() for layer in layers - before.get(device, set()))


class Problem:
    """Some devices of two speeds, layers that differ, and a running job."""

    def __init__(self, draw):
        self.strategy = draw.choice(["1f1b", "zb_h1", "gpipe", "zbv"])
        self.chunks = 2 if self.strategy == "zbv" else 1
        self.running, self.added = draw.randint(2, 3), draw.randint(0, 1)
        self.devices = self.running + self.added
        self.lost = draw.sample(range(self.running), draw.randint(0, 1 if self.running > 2 or self.added else 0))
        self.layers = draw.randint(self.devices * self.chunks, max(self.devices * self.chunks, 7))
        self.microbatches = draw.randint(2, 6)
        self.speeds = [draw.choice([1, 0.5]) for _ in range(self.devices)]
        self.latency = draw.choice([0, 0.25])
        self.rows = [{"name": f"l{i}", "forward_time": draw.choice([1, 2, 3]), "backward_time": draw.choice([2, 4])} for i in range(self.layers)]
        self.sizes = [float(draw.randint(1, 4)) for _ in range(self.layers)]
        self.order = draw.sample(range(self.running), self.running)
        self.split = draw.choice(list(all_splits(self.layers, self.running * self.chunks)))

    def config(self):
        return ppsched.Config(self.devices, self.microbatches, device_speeds=self.speeds, p2p_time=self.latency)

    def replan(self, **given):
        return ppsched.replan(self.config(), self.rows, self.split, strategy=self.strategy, running_devices=self.running, device_order=self.order,
                              lost=self.lost, layer_bytes=self.sizes, **given)

    def step(self, order, split):
        base = ppsched.Config(len(order), self.microbatches, device_speeds=[self.speeds[device] for device in order], p2p_time=self.latency)
        config = ppsched.config_from_layers(base, ppsched.Layers(self.rows), ppsched.Split(list(split), [0] * self.layers))
        return ppsched.generate(self.strategy, config).evaluate().metrics.makespan

    def best(self, order):
        return min(self.step(order, split) for split in all_splits(self.layers, len(order) * self.chunks))


def ran(*words):
    run = in_process.run_command(words)
    assert run.returncode == 0, run.stderr
    return run.stdout


class ReplanTest(unittest.TestCase):
    def check_moves(self, problem, found):
        before = held(problem.strategy, problem.split, problem.order)
        after = held(problem.strategy, found.split, found.device_order)
        for move in found.moves:
            layers = set(range(move.first, move.first + move.layers))
            self.assertTrue(layers <= after[move.target] and not layers & before.get(move.target, set()))
            if move.source is None:
                self.assertTrue(all(layer not in layers for device in before if device not in problem.lost for layer in before[device]))
            else:
                self.assertTrue(layers <= before[move.source] and move.source not in problem.lost)
            self.assertEqual(move.size, sum(problem.sizes[layer] for layer in layers))
        self.assertEqual(sum(move.size for move in found.moves), lacking(before, after, problem.sizes))
        self.assertEqual(found.moved + found.loaded, lacking(before, after, problem.sizes))

    def check_places(self, problem, found):
        """No other of the devices that are alike would need fewer bytes."""
        before = held(problem.strategy, problem.split, problem.order)
        speeds = [problem.speeds[device] for device in found.device_order]
        least = min(lacking(before, held(problem.strategy, found.split, list(order)), problem.sizes)
                    for order in itertools.permutations(found.device_order)
                    if [problem.speeds[device] for device in order] == speeds)
        self.assertEqual(found.moved + found.loaded, least)

    def test_against_all_splits_and_orders(self):
        draw = random.Random(5)
        for number in range(60):
            problem = Problem(draw)
            kept = [device for device in range(problem.devices) if device not in problem.lost]
            with self.subTest(number=number, strategy=problem.strategy):
                found = problem.replan(free_device_order=True)
                self.assertEqual(sorted(found.device_order), list(range(problem.running)) if found.stays else sorted(kept))
                self.assertAlmostEqual(found.step_time, problem.step(found.device_order, found.split), delta=1e-9)
                best = min(problem.best(order) for order in itertools.permutations(kept))
                self.assertTrue(not found.stays or found.can_stay)
                self.assertLessEqual(found.step_time, best * (1.005 if problem.chunks > 1 else 1 + 1e-12))
                self.check_moves(problem, found)
                if not found.stays:
                    self.check_places(problem, found)
                if not problem.lost:
                    now = ppsched.Config(problem.running, problem.microbatches, device_speeds=[problem.speeds[device] for device in problem.order],
                                         p2p_time=problem.latency)
                    now = ppsched.config_from_layers(now, ppsched.Layers(problem.rows), ppsched.Split(problem.split, [0] * problem.layers))
                    self.assertAlmostEqual(found.running_step_time, ppsched.generate(problem.strategy, now).evaluate().metrics.makespan)

    def test_in_the_running_order(self):
        draw = random.Random(6)
        for number in range(40):
            problem = Problem(draw)
            with self.subTest(number=number, strategy=problem.strategy):
                found = problem.replan()
                if not problem.added:
                    gone = [device for device in problem.order if device not in problem.lost]
                    self.assertEqual([problem.speeds[device] for device in found.device_order], [problem.speeds[device] for device in gone])
                    self.assertLessEqual(found.step_time, problem.best(gone) * (1.005 if problem.chunks > 1 else 1 + 1e-12))
                self.check_moves(problem, found)

    def test_the_nearest_group_size(self):
        """After a change the strategy may not support the group size: then the nearest that it does, below first."""
        draw, moved = random.Random(8), 0
        for number in range(40):
            running, microbatches, chunks = draw.randint(2, 4), draw.randint(4, 13), 2
            added = draw.randint(0, 3)
            lost = draw.sample(range(running), draw.randint(0 if added else 1, 1))
            strategy, wanted = draw.choice(["interleaved_1f1b", "interleaved_1f1b", "looped_bfs"]), draw.randint(1, 5)
            left = running + added - len(lost)

            def fits(devices, group):
                given = {} if strategy == "looped_bfs" else {"options": {"group_size": group}}
                try:
                    ppsched.generate(strategy, ppsched.Config(devices, microbatches, devices * chunks, **given))
                except ppsched.Refused:
                    return False
                return True

            if not fits(running, wanted) or not any(fits(left, group) for group in range(1, 14)):
                continue
            rows = [{"name": "l", "count": 24, "forward_time": 1}]
            split = [2] * (running * chunks - 1) + [24 - 2 * (running * chunks - 1)]
            found = ppsched.replan(ppsched.Config(running + added, microbatches), rows, split, strategy=strategy, running_devices=running, lost=lost,
                                   layer_bytes=1, group_size=wanted)
            near = [group for away in range(14) for group in (wanted - away, wanted + away) if group > 0 and fits(left, group)]
            with self.subTest(number=number, strategy=strategy, wanted=wanted, left=left):
                self.assertEqual(found.group_size, 0 if strategy == "looped_bfs" else wanted if found.stays else near[0])
            moved += found.group_size not in (0, wanted)
        self.assertGreater(moved, 3)

    def test_the_move_pays(self):
        rows = [{"name": "decoder", "count": 32, "forward_time": 1, "backward_time": 2}]
        config = ppsched.Config(4, 16, device_speeds=[1, 1, 1, 0.5], p2p_bandwidth=0.001)
        found = ppsched.replan(config, rows, [8, 8, 8, 8], layer_bytes=1, restart_time=1000)
        self.assertEqual((found.step_time, found.running_step_time, found.split, found.moved), (542, 840, [10, 10, 9, 3], 11))
        self.assertEqual(found.move_time, 1000 + 5 / 0.001)  # device 3 sends five layers
        self.assertEqual(found.pays_after, 21)               # 298 a step
        self.assertTrue(ppsched.replan(config, rows, [8, 8, 8, 8], layer_bytes=1, restart_time=1000, steps=2).stays)
        self.assertFalse(ppsched.replan(config, rows, [8, 8, 8, 8], layer_bytes=1, restart_time=1000, steps=200).stays)

    def test_what_no_device_holds_is_loaded(self):
        rows = [{"name": "decoder", "count": 8, "forward_time": 1}]
        found = ppsched.replan(ppsched.Config(5, 8), rows, [2, 2, 2, 2], running_devices=4, lost=[2], layer_bytes=6, load_bandwidth=4, restart_time=1)
        self.assertEqual((found.device_order, found.split), ([0, 1, 4, 3], [2, 2, 2, 2]))
        self.assertEqual(found.moves, [ppsched.Move(4, 2, None, 4, 12.0)])
        self.assertEqual((found.loaded, found.moved, found.move_time, found.can_stay), (12, 0, 4, False))

    def test_lists_of_devices_and_links_follow(self):
        rows = [{"name": "decoder", "count": 6, "forward_time": 1, "mem_forward": 1, "mem_static": 3}]
        links = [[0, 1, 5], [1, 0, 2], [5, 2, 0]]
        config = ppsched.Config(3, 6, p2p_time=links, mem_limit=[30, 30, 50])
        found = ppsched.replan(config, rows, [2, 2, 2], lost=[1])
        alone = ppsched.Config(2, 6, p2p_time=5, mem_limit=[30, 50])
        best = ppsched.plan(alone, strategies=["1f1b"], chunks=[1], layers=rows).best
        self.assertEqual((found.step_time, found.device_order), (best.step_time, [0, 2]))
        self.assertTrue(found.fits)

    def test_wrong_values(self):
        rows, config = [{"name": "decoder", "count": 8, "forward_time": 1}], ppsched.Config(4, 8)
        for given, words in (({"lost": [4]}, "device 4 cannot be lost: the running devices are 0 to 3"),
                             ({"lost": [1, 1]}, "device 1 is lost twice; name it once"),
                             ({"lost": [0, 1, 2, 3]}, "all devices are lost; leave at least one, or add some"),
                             ({"device_order": [0, 1, 2]}, "device_order has 3 values; give 4, one per running device"),
                             ({"device_order": [0, 1, 2, 2]}, "the device order has device 2 twice; it must have each device once"),
                             ({"running_devices": 5}, "running_devices is 5, but the config has 4 devices; it must have those of the running job, and those added"),
                             ({"layer_bytes": [1, 2]}, "layer_bytes has 2 values; give 8, one per layer"),
                             ({"layer_bytes": -1}, "layer_bytes of layer 0 is -1; it must be finite and at least 0"),
                             ({"steps": -1}, "steps is -1; it must be finite and at least 0"),
                             ({"restart_time": float("nan")}, "restart_time is NaN; it must be finite and at least 0"),
                             ({"load_bandwidth": -1}, "load_bandwidth is -1; it must be above 0, or 0 for no limit"),
                             ({"split_effort": 5}, "split_effort is 5; it must be 1 to 4, or 0 for the default")):
            with self.subTest(given=given), self.assertRaisesRegex(ppsched.Error, f"^{words}$"):
                ppsched.replan(config, rows, [2, 2, 2, 2], **given)
        for split, words in (([2, 2, 2], "the running split has 3 stages; it must be a multiple of 4, the running devices"),
                             ([2, 2, 2, 3], "the running split has 9 layers, the model 8; they must be equal")):
            with self.subTest(split=split), self.assertRaisesRegex(ppsched.Error, f"^{words}$"):
                ppsched.replan(config, rows, split)
        with self.assertRaisesRegex(ppsched.Refused, "devices cannot be lost or added with a placement map; leave it out"):
            ppsched.replan(ppsched.Config(4, 8, placement=[1, 0, 2, 3]), rows, [2, 2, 2, 2])

    def test_command(self):
        text = ran("replan", "--devices", "4", "-b", "16", "--num-layers", "32", "--split", *"8888", "--slow-rank", "3:2", "--layer-bytes", "1",
                   "--p2p-bandwidth", "0.5")
        self.assertIn("step 542, 840 with the running split\nsplit 10 10 9 3\n", text)
        self.assertIn("after 1 step, the shorter steps have saved as much time as the move took\n", text)
        row = json.loads(ran("replan", "--devices", "5", "-b", "16", "--num-layers", "32", "--split", *"8888", "--lost", "1", "--added", "1",
                             "--device-speeds", "1", "1", "1", "1", "0.5", "--free-device-order", "--layer-bytes", "1", "--json"))
        self.assertEqual((row["step_time"], sorted(row["device_order"]), row["can_stay"]), (540, [0, 2, 3, 4], False))
        self.assertEqual(row["loaded_bytes"], 8)
        self.assertEqual(sum(move["layers"] for move in row["moves"] if move["from"] is None), 8)

    def test_a_factor_of_a_lost_device_is_refused(self):
        job = ("replan", "--devices", "4", "-b", "8", "--num-layers", "16", "--split", *"4444", "--lost", "3")
        run = in_process.run_command((*job, "--slow-rank", "3:2"))
        self.assertEqual((run.returncode, run.stdout), (2, ""))
        self.assertIn("--slow-rank 3: device 3 is lost, so its factor has no effect; leave out its --slow-rank, or 3 in --lost", run.stderr)
        self.assertNotEqual(ran(*job, "--slow-rank", "2:2"), ran(*job))


if __name__ == "__main__":
    unittest.main()
