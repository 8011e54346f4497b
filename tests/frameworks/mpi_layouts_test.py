#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workers of mpi4py.futures give the same layouts as one process, on 2 and 4 ranks."""
import pathlib
import shutil
import unittest

import framework

HERE = pathlib.Path(__file__).resolve().parent
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n"]


@unittest.skipIf(framework.why_missing("mpi4py"), framework.why_missing("mpi4py"))
@unittest.skipUnless(shutil.which("mpirun"), "mpirun is missing")
class MpiLayoutsTest(unittest.TestCase):
    def test_ranks(self):
        for ranks in (2, 4):
            answer = framework.run(["-m", "mpi4py.futures", HERE / "mpi_layouts.py"], python=[*MPIRUN, str(ranks), framework.PYTHON])
            self.assertEqual(answer, {"rows": 10, "workers": ranks - 1, "equal": True})


if __name__ == "__main__":
    unittest.main(verbosity=2)
