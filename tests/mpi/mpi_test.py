#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pipeline runtimes of docs/examples on Open MPI: every strategy trains as the model does without a pipeline, and what is proven
never to hang does not.

usage: mpi_test.py [PROGRAM C++_PROGRAM]; without them, as where Open MPI is missing, it is skipped."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import ppsched

PROGRAMS = sys.argv[1:3]
MPIRUN = ["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "btl", "self,vader"]
RENDEZVOUS = ["--mca", "btl_vader_eager_limit", "64"]  # a value has 3,072 bytes
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
HUNG = 124


def run(ranks, words, *, program=0, mpi=(), seconds=60):
    """Returns the exit code and what was printed; HUNG if it did not end."""
    command = [*MPIRUN, *mpi, "-n", str(ranks), PROGRAMS[program], *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=ENVIRONMENT) as process:
        try:
            text = process.communicate(timeout=seconds)[0]
            return process.returncode, text
        except subprocess.TimeoutExpired:
            process.terminate()  # mpirun ends its ranks
            return HUNG, process.communicate()[0]


class MpiTest(unittest.TestCase):
    def train(self, ranks, words, **options):
        code, text = run(ranks, words, **options)
        self.assertEqual(code, 0, f"{words}: {text[-1500:]}")
        self.assertLess(float(re.search(r"gradients differ by (\S+) of the largest", text)[1]), 1e-12)
        return text

    def test_every_strategy(self):
        """Linear, loop, V and bidirectional placement; several iterations; whole and split backwards; overlapped pairs."""
        for strategy in ppsched.strategies():
            for ranks, chunks, microbatches, iterations in ((4, 3, 8, 1), (2, 2, 6, 2)):
                with self.subTest(strategy=strategy.name, ranks=ranks):
                    self.train(ranks, ["--strategy", strategy.name, "--chunks", chunks, "--microbatches", microbatches,
                                       "--iterations", iterations, "--steps", 1])

    def test_more_ranks(self):
        for ranks, name in ((3, "v_half"), (5, "zb_h2"), (6, "dualpipe"), (8, "interleaved_zb")):
            self.train(ranks, ["--strategy", name, "--chunks", 2, "--microbatches", 2 * ranks, "--steps", 1])

    def test_what_is_proven_does_not_hang(self):
        for name in ("1f1b", "interleaved_1f1b", "zbv", "dualpipe", "dualpipe_v", "zb_auto", "looped_bfs"):
            with self.subTest(name):
                words = ["--strategy", name, "--chunks", 2, "--blocking", "--steps", 1]
                self.assertIn("proven never to hang", self.train(4, words, mpi=RENDEZVOUS))

    def test_what_is_not_proven_hangs(self):
        """It is refused with the circle; whoever tries it all the same waits forever where sends block, and not where they do not."""
        words = ["--blocking", "--pytorch", "--defer-receives", "--steps", 1, "--strategy"]
        for name in ("1f1b", "zbv"):
            code, text = run(4, [*words, name], mpi=RENDEZVOUS)
            self.assertEqual(code, 1)
            self.assertRegex(text, r"mpi_runtime: device \d waits in \S+ for device \d, which waits")
            self.assertEqual(run(4, [*words, name, "--unsafe"], mpi=RENDEZVOUS, seconds=5)[0], HUNG)
        self.train(4, [*words, "1f1b", "--unsafe"])

    def test_schedules_from_files(self):
        config = ppsched.Config(3, 6)
        for form in ("csv", "json"):
            with tempfile.NamedTemporaryFile("w", suffix="." + form) as file:
                file.write(ppsched.generate("zb_auto", config).export(form))
                file.flush()
                self.train(3, ["--file", file.name, "--steps", 1])
                self.assertIn("another number of devices than there are ranks", run(2, ["--file", file.name])[1])

    def test_planning_again(self):
        """Ops that last as long as they are told: the plan knows it, and that there is a better schedule."""
        text = self.train(4, ["--strategy", "1f1b", "--work", 4])
        planned, measured, best = map(float, re.search(r"planned (\S+) ms, measured (\S+) ms; best: \w+, planned (\S+) ms", text).groups())
        self.assertTrue(132 <= planned and 132 <= measured and best < planned, text)  # 33 units of 4 ms, and more on a loaded machine

    def test_bad_words(self):
        for words, message in ((["--strategy", "x"], 'there is no strategy "x"'), (["--chunks"], "--strategy NAME or --file"),
                               (["--microbatches", 0], "microbatches"), (["--file", "/none"], "cannot be opened")):
            code, text = run(2, words)
            self.assertEqual((code, text.count("mpi_runtime: ")), (1, 1), text)
            self.assertIn(message, text)

    def test_in_cpp(self):
        for name, chunks in (("1f1b", 1), ("interleaved_1f1b", 2), ("dualpipe_v", 2), ("dualpipe", 1)):
            wanted = self.train(4, ["--strategy", name, "--chunks", chunks, "--microbatches", 8, "--steps", 1])
            code, text = run(4, [name, 4 * chunks, 8], program=1)
            self.assertEqual(code, 0, text)
            self.assertEqual(f"{float(text.split()[1]):.6f}", re.search(r"step 0: loss (\S+)", wanted)[1])


if __name__ == "__main__":
    if len(PROGRAMS) < 2 or shutil.which("mpirun") is None:
        print("Open MPI is missing (Debian: openmpi-bin, libopenmpi-dev)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1])
