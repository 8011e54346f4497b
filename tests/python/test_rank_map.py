# SPDX-License-Identifier: Apache-2.0
"""The rank map of launch lines: each rank runs on a GPU of the device in its place, by the ranks that each runtime gives to pipelines."""
import itertools
import json
import random
import re
import unittest

import in_process
from ppsched.command.rank_map import VISIBLE, rank_map, rank_map_line

JOB = ("--num-devices", 4, "-b", 16, "--num-layers", 32, "--device-speeds", 1, 1, 1, 0.5)


def ran(*words):
    return in_process.run_command(words)


def pipeline_rank(runtime, rank, devices, width, replicas):
    """Where a global rank is: Colossal-AI's mesh is dp, pp, tp; of the others the pipeline is outermost."""
    return rank // width % devices if runtime == "colossalai" else rank // (width * replicas)


class RankMapTest(unittest.TestCase):
    def test_each_rank_is_on_its_device(self):
        draw = random.Random(1)
        for _ in range(200):
            runtime, devices, width, replicas = draw.choice(list(VISIBLE)), draw.randint(1, 5), draw.randint(1, 3), draw.randint(1, 3)
            order = draw.sample(range(devices), devices)
            gpus = rank_map(order, runtime, width, replicas)
            self.assertEqual(sorted(gpus), list(range(devices * width * replicas)))
            for rank, gpu in enumerate(gpus):
                self.assertEqual(gpu // (width * replicas), order[pipeline_rank(runtime, rank, devices, width, replicas)])

    def test_hosts(self):
        """What the line says leads to the map, or the devices of a host are apart."""
        for order in itertools.permutations(range(4)):
            made = ran("schedule", *JOB, "--strategy", "1f1b", "--device-order", *order, "--split", 8, 8, 8, 8, "--launch", "deepspeed", "--host-gpus", 2)
            together = order[0] // 2 == order[1] // 2
            with self.subTest(order=order):
                self.assertEqual(made.returncode == 0, together or list(order) == sorted(order))
                self.assertEqual(len(made.stderr.splitlines()), int(list(order) != sorted(order)), made.stderr)
                if not together:
                    self.assertIn("deepspeed does not support this order of devices: ranks 0 to 1 would be on the hosts 0 1", made.stderr)
                elif list(order) != sorted(order):
                    hosts = [int(host) for host in re.search(r"list the hosts ([\d ]+) in this order", made.stderr)[1].split()]
                    own = {int(host): [int(gpu) for gpu in gpus.split(",")] for gpus, host in re.findall(r"CUDA_VISIBLE_DEVICES=(\S+) on host (\d)", made.stderr)}
                    self.assertEqual([2 * host + gpu for host in hosts for gpu in own.get(host, [0, 1])], list(order))

    def test_pick(self):
        made = ran("pick", *JOB, "--strategies", "1f1b", "--free-device-order", "--runtime", "megatron")
        self.assertIn("\nrank map: CUDA_VISIBLE_DEVICES=0,1,3,2 before the launcher", made.stdout)
        row = json.loads(ran("pick", *JOB, "--strategies", "1f1b", "--free-device-order", "--json", "--data-parallel-size", 2).stdout)[0]
        self.assertEqual(row["rank_map"], [0, 1, 2, 3, 6, 7, 4, 5])
        self.assertIsNone(row["launch"]["jaxpp"]["line"])
        self.assertIn("has no option for the order of devices", row["launch"]["jaxpp"]["reason"])
        self.assertIn("ASCEND_RT_VISIBLE_DEVICES=1,0 ", rank_map_line([1, 0], "mindspeed"))

    def test_no_map_where_nothing_moves(self):
        made = ran("pick", *JOB, "--strategies", "1f1b", "--device-order", 0, 1, 2, 3)
        self.assertEqual(made.returncode, 0)
        self.assertNotIn("rank map", made.stdout)
        row = json.loads(ran("pick", *JOB, "--strategies", "1f1b", "--json").stdout)[0]
        self.assertNotIn("rank_map", row)
        self.assertIsNotNone(row["launch"]["jaxpp"]["line"])

    def test_refused(self):
        split = ("--split", 8, 8, 8, 8)
        for words, message in ((("pick", *JOB, "--free-device-order", "--runtime", "jaxpp"), "jaxpp has no option for the order of devices"),
                               (("pick", *JOB, "--device-order", 1, 0, 2, 3, "--runtime", "jaxpp"), "jaxpp has no option for the order of devices"),
                               (("schedule", *JOB, "--device-order", 1, 0, 2, 3, *split, "--launch", "jaxpp"), "jaxpp has no option for the order of devices"),
                               (("schedule", *JOB, "--device-order", 1, 0, 2, 3, *split, "--launch", "megatron", "--host-gpus", 3), "it must divide the 4 GPUs")):
            with self.subTest(words=words):
                made = ran(*words)
                self.assertNotEqual(made.returncode, 0)
                self.assertIn(message, made.stderr)
                self.assertEqual((made.stdout, len(made.stderr.splitlines())), ("", 1), made.stderr)


if __name__ == "__main__":
    unittest.main()
