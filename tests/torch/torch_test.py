#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own runtime trains from our CSV, with a gradient difference of 0. Skipped where PyTorch >= 2.6 is missing.

PPSCHED_TORCH_PYTHON names the Python that has PyTorch, words separated by blanks, such as "chroot /some/tree python3".
PPSCHED_TORCH_ALL=1 takes several sizes a strategy instead of one.
"""
import os
import pathlib
import subprocess
import sys
import unittest

import ppsched

PYTHON = os.environ.get("PPSCHED_TORCH_PYTHON", sys.executable).split()
TRAIN = (pathlib.Path(__file__).resolve().parent / "train.py").read_text(encoding="utf-8")
PROBE = ("import sys, torch, torch.distributed.pipelining\n"
         "sys.exit(tuple(map(int, torch.__version__.split('+')[0].split('.')[:2])) < (2, 6))")

# Devices, chunks where the strategy takes any number, microbatches.
SIZES = [(2, 2, 6)]
MORE_SIZES = [(2, 2, 6), (3, 1, 7), (4, 2, 8), (3, 2, 9), (4, 3, 12)]


LOWERINGS = [("just_in_time", {}), ("pytorch", {"unshard": 3, "reduce_grad": True})]
MORE_LOWERINGS = [*LOWERINGS, ("pytorch", {}), ("by_time", {"reduce_grad": True})]


def schedules():
    """All strategies that the runtime knows, at some sizes. (DualPipe's devices hold stages of two model copies.)"""
    for strategy in ppsched.strategies():
        for devices, chunks, microbatches in MORE_SIZES if os.environ.get("PPSCHED_TORCH_ALL") else SIZES:
            try:
                if strategy.placement != "bidirectional":
                    stages = devices * (strategy.chunks or chunks)
                    yield ppsched.generate(strategy.name, ppsched.Config(devices, microbatches, stages))
            except ppsched.Refused:
                pass


def has_torch():
    try:
        return subprocess.run([*PYTHON, "-c", PROBE], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def train(text, form):
    environment = {**os.environ, "USE_LIBUV": "0", "MASTER_ADDR": "127.0.0.1"}
    result = subprocess.run([*PYTHON, "-c", TRAIN, form], input=text, capture_output=True, text=True, check=False, timeout=300,
                            env=environment)
    if result.returncode != 0:
        raise AssertionError(result.stderr[-2000:])
    return float(result.stdout)


@unittest.skipUnless(has_torch(), "PyTorch >= 2.6 is missing (see PPSCHED_TORCH_PYTHON)")
class TorchTest(unittest.TestCase):
    def test_compute_only(self):
        trained = 0
        for schedule in schedules():
            with self.subTest(schedule=schedule.name, devices=schedule.devices):
                self.assertEqual(train(schedule.export("csv"), "compute_only"), 0)
            trained += 1
        print(f"# trained from {trained} schedules", file=sys.stderr)
        self.assertGreaterEqual(trained, len(ppsched.strategies()) - 1)

    def test_classes_of_launch_arguments(self):
        named = set()
        for schedule in schedules():
            name = schedule.launch("pytorch").split()[0].removeprefix("class=") if schedule.flushes else "_"
            if name.startswith("_"):
                continue
            with self.subTest(schedule=schedule.name, devices=schedule.devices, name=name):
                self.assertEqual(train(schedule.export("csv"), name), 0)
            named.add(name)
        print(f"# trained with {len(named)} classes", file=sys.stderr)
        self.assertEqual(len(named), 7)

    def test_lowered(self):
        trained = 0
        for schedule in schedules():
            for lowering, passes in MORE_LOWERINGS if os.environ.get("PPSCHED_TORCH_ALL") else LOWERINGS:
                lowered = schedule.lower(lowering, **passes)
                if not lowered.prove("pair"):
                    continue  # by_time can put receives in another order than the sends of a pair
                with self.subTest(schedule=schedule.name, devices=schedule.devices, lowering=lowering):
                    self.assertEqual(train(lowered.export("csv"), "compute_comms"), 0)
                trained += 1
        print(f"# trained from {trained} lowered schedules", file=sys.stderr)
        self.assertGreaterEqual(trained, 2 * (len(ppsched.strategies()) - 1))


if __name__ == "__main__":
    unittest.main(verbosity=2)
