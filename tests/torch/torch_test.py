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
        for strategy in ppsched.strategies():
            if strategy.placement == "bidirectional":
                continue  # a device holds stages of two model copies, which that runtime does not know
            for devices, chunks, microbatches in MORE_SIZES if os.environ.get("PPSCHED_TORCH_ALL") else SIZES:
                config = ppsched.Config(devices, microbatches, devices * (strategy.chunks or chunks))
                try:
                    schedule = ppsched.generate(strategy.name, config)
                except ppsched.Refused:
                    continue
                with self.subTest(strategy=strategy.name, config=config):
                    self.assertEqual(train(schedule.export("csv"), "compute_only"), 0)
                trained += 1
        print(f"# trained from {trained} schedules", file=sys.stderr)
        self.assertGreaterEqual(trained, len(ppsched.strategies()) - 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
