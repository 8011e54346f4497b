#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own runtime by the clock, with stages that take given times: it takes no less than they do. place.py tells which
PyTorch.

PPSCHED_TORCH_TIMED=1 also looks how near to the plan it is, which only a machine without other work can tell.
"""
import os
import unittest

import place

IS_QUIET = os.environ.get("PPSCHED_TORCH_TIMED")
MISSING = place.why_missing()


@unittest.skipIf(MISSING, MISSING)
class TimedTest(unittest.TestCase):
    def test_timed_steps(self):
        """Each runs to its end, and takes no less than what its busiest rank has to do, as its plan does. How near the two are
        depends on the machine: docs/accuracy.md tells."""
        names = ["1f1b", "interleaved_1f1b:just_in_time", "zb_h1", "v_half:torch"]
        rows = place.run("timed.py", 4, 2, 8, 20, 3, *names)["rows"]
        self.assertEqual(len(rows), 8)
        for row in rows:
            with self.subTest(strategy=row["strategy"], lowering=row["lowering"]):
                self.assertEqual(len(row["ranks"]), 4)
                self.assertGreater(row["work"], 0)
                self.assertGreaterEqual(row["planned"], row["work"])
                self.assertGreaterEqual(row["measured"], row["work"])

    def test_measured_calls(self):
        """The calls of sends and receives are told apart from what an op takes besides, only where that is asked for: on two
        ranks all gaps that wait for nobody but one have such calls in them."""
        ranks = place.run("measures.py", 2, 20, 6)
        self.assertEqual(len(ranks), 2)
        for told in ranks:
            self.assertTrue(told["is_back"])
            self.assertEqual((told["without"], told["with"]), (ranks[0]["without"], ranks[0]["with"]))
            self.assertEqual(told["without"]["send_overhead"], 0)
            self.assertGreaterEqual(told["with"]["send_overhead"], 6)
            self.assertGreaterEqual(told["without"]["op_overhead"], 6)
            if IS_QUIET:
                self.assertLess(told["with"]["op_overhead"], 6)
            for name in ("without", "with"):
                for given, seen in zip(told["given"], told[name]["stages"]):
                    self.assertTrue(all(taken >= time for taken, time in zip(seen, given)), (given, seen))

    def test_run_measure_plan_again(self):
        rows = place.run("loop.py", 4, 8, 20, 3)
        first, second, third = rows
        self.assertEqual(first[0], "1f1b")
        for _, stages, _, measured, work in rows:
            self.assertIn(stages, (4, 8))
            self.assertGreaterEqual(measured, work)
        if IS_QUIET:
            self.assertLess(min(second[3], third[3]), first[3])
            self.assertLess(abs(third[3] / third[2] - 1), 0.4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
