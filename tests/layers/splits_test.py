#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Splits and recomputation that plans find for SAPP-PPB's problems, under its own cost model."""
import unittest

import sapp

import ppsched

# Of a search that may come out a little different: how much longer than the best that is known for a problem.
SHARE = 1.01


def planned(case):
    """The best candidate of the strategy that SAPP-PPB plans for, and its split as rows."""
    problem = sapp.problem_config(case)
    layers = ppsched.Layers(problem["layers"])
    config = ppsched.Config(problem["num_devices"], problem["num_batches"], mem_limit=problem["mem_limit"])
    plan = ppsched.plan(config, layers=layers, strategies=sapp.strategy_of(case), chunks=case.chunks, group_sizes=case.devices)
    return plan.best, layers.rows(plan.split(plan.best))


class SplitsTest(unittest.TestCase):
    def test_against_answers(self):
        for name, case in sapp.load().items():
            with self.subTest(case=name):
                best, rows = planned(case)
                result = sapp.evaluate(case, rows)
                self.assertTrue(result.within_limit)
                answer, local = sapp.best_of(case)
                self.assertAlmostEqual(float(result.step), best.step_time, delta=1e-6 * best.step_time)
                self.assertLessEqual(result.step, answer)
                self.assertLessEqual(float(result.step), float(local) * SHARE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
