#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pipeline runtimes of docs/examples on Open MPI: every strategy trains as the model does without a pipeline, and what is proven
never to hang does not.

usage: mpi_test.py [PROGRAM C++_PROGRAM]; without them, as where Open MPI is missing, it is skipped."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from concurrent.futures import ThreadPoolExecutor

import ppsched

PROGRAMS = sys.argv[1:3]
MPIRUN = ["mpirun", "--oversubscribe", "--mca", "mpi_yield_when_idle", "1", "--mca", "pml", "ob1", "--mca", "btl", "self,vader"]
RENDEZVOUS = ["--mca", "btl_vader_eager_limit", "64"]  # a value has 3,072 bytes
ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
HUNG = 124


def run(ranks, words, *, program=0, mpi=(), seconds=60):
    """Returns the exit code and what was printed; HUNG if it did not end. Each run has a folder of its own: one that ends removes
    what another that starts has just made in Open MPI's common one."""
    with tempfile.TemporaryDirectory() as folder:
        command = [*MPIRUN, "--mca", "orte_tmpdir_base", folder, *mpi, "-n", str(ranks), PROGRAMS[program], *map(str, words)]
        return wait_for(command, seconds)


def wait_for(command, seconds):
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
        """Linear, loop, V and bidirectional placement; whole and split backwards; overlapped pairs. On 4 ranks sends and receives
        block until they meet, on 2 they do not block, but what a send reads too early or too late is seen."""
        def train(name):
            words = ["--strategy", name, "--steps", 1]
            text = self.train(4, [*words, "--chunks", 3, "--microbatches", 8, "--blocking"], mpi=RENDEZVOUS)
            self.assertIn("proven never to hang", text)
            self.train(2, [*words, "--chunks", 2, "--microbatches", 6, "--iterations", 2], mpi=RENDEZVOUS)

        with ThreadPoolExecutor(3) as threads:  # most of a run is mpirun's waiting
            runs = {strategy.name: threads.submit(train, strategy.name) for strategy in ppsched.strategies()
                    if strategy.slices < 2 and not strategy.offloads}  # the others run in it like one of these
        for name, done in runs.items():
            with self.subTest(strategy=name):
                done.result()

    def test_more_ranks(self):
        for ranks, name in ((3, "v_half"), (5, "zb_h2"), (6, "dualpipe"), (8, "interleaved_zb")):
            self.train(ranks, ["--strategy", name, "--chunks", 2, "--microbatches", 2 * ranks, "--steps", 1])

    def test_what_is_not_proven_hangs(self):
        """It is refused with the circle; whoever tries it all the same waits forever where sends block, and not where they do not."""
        words = ["--blocking", "--steps", 1, "--file"]
        with tempfile.TemporaryDirectory() as folder:
            for name, stages in (("zbv", 8), ("1f1b", 4)):
                deferred = ppsched.generate(name, ppsched.Config(4, 8, stages)).lower("pytorch", defer_receives=True)
                path = pathlib.Path(folder, f"{name}.csv")
                path.write_text(deferred.export("csv"), encoding="utf-8")
                code, text = run(4, [*words, path], mpi=RENDEZVOUS)
                self.assertEqual(code, 1)
                self.assertRegex(text, r"mpi_runtime: device \d waits in \S+ for device \d, which waits")
                self.assertEqual(run(4, [*words, path, "--unsafe"], mpi=RENDEZVOUS, seconds=3)[0], HUNG)
            self.train(4, [*words, path, "--unsafe"])

    def test_lowered_by_hand(self):
        """Two devices that send to each other first, in a file: a circle only where sends block. What is received nowhere is no
        order to try."""
        circle = "0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0B1\n1RECV_F0,1F0,1B0,1SEND_B0,1RECV_F1,1F1,1B1,1SEND_B1\n"
        safe = circle.replace("1SEND_B0,1RECV_F1", "1RECV_F1,1SEND_B0")
        lost = safe.replace("1RECV_F0,", "")
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            def write(text):
                file.seek(0)
                file.truncate()
                file.write(text)
                file.flush()
                return ["--file", file.name, "--steps", 1]
            self.train(2, [*write(safe), "--blocking"], mpi=RENDEZVOUS)
            self.train(2, write(circle), mpi=RENDEZVOUS)
            self.train(2, [*write(circle), "--blocking", "--unsafe"])
            self.assertEqual(run(2, [*write(circle), "--blocking", "--unsafe"], mpi=RENDEZVOUS, seconds=3)[0], HUNG)
            code, text = run(2, [*write(circle), "--blocking"])
            self.assertEqual(code, 1)
            self.assertIn("mpi_runtime: device 0 waits in 0SEND_F1 for device 1, which waits in 1SEND_B0 for device 0", text)
            code, text = run(2, [*write(lost), "--unsafe"])
            self.assertEqual(code, 1)
            self.assertIn("mpi_runtime: device 0: 0SEND_F0 at position 1 has no receive", text)

    def test_schedules_from_files(self):
        config = ppsched.Config(3, 6)
        for form in ("csv", "json"):
            with tempfile.NamedTemporaryFile("w", suffix="." + form) as file:
                file.write(ppsched.generate("zb_auto", config).export(form))
                file.flush()
                self.train(3, ["--file", file.name, "--steps", 1])
                self.assertIn("another number of devices than there are ranks", run(2, ["--file", file.name])[1])

    def test_slices(self):
        """What is walked are slices then; groups, several iterations, and a file among them."""
        for ranks, words in ((2, ["--strategy", "seq_1f1b", "--slices", 2, "--microbatches", 3]),
                             (3, ["--strategy", "slimpipe", "--chunks", 2, "--slices", 3, "--iterations", 2]),
                             (4, ["--strategy", "auto", "--slices", 2, "--microbatches", 3])):
            self.train(ranks, [*words, "--steps", 1, "--blocking"], mpi=RENDEZVOUS)

    def test_what_keeps_less(self):
        schedule = ppsched.generate("interleaved_1f1b", ppsched.Config(2, 6, 4, offload_times=[1.0]))
        copied = schedule.offload()
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(schedule.recompute(chunks=1).export("json"))
            file.flush()
            self.train(2, ["--file", file.name, "--steps", 1])
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write(copied.export("json"))
            file.flush()
            code, text = run(2, ["--file", file.name, "--steps", 1])
        self.assertEqual(code, 1)
        self.assertIn("copies activations to the host", text)

    def test_planning_again(self):
        """Ops that last as long as they are told: the plan knows it, and that there is a better schedule."""
        text = self.train(4, ["--strategy", "1f1b", "--work", 10, "--iterations", 2, "--steps", 2])
        planned, measured, best = map(float, re.search(r"planned (\S+) ms, measured (\S+) ms; best: \w+, planned (\S+) ms", text).groups())
        self.assertTrue(330 <= planned and 330 <= measured and best < planned, text)  # 33 units of 10 ms an iteration
        self.assertLess(planned, 2 * 330)  # ... and somewhat more on a loaded machine, but not those of both

    def test_what_one_rank_alone_lacks(self):
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write(ppsched.generate("1f1b", ppsched.Config(2, 4)).export("csv"))
            file.flush()
            others = [":", "-n", "1", PROGRAMS[0], "--file", "/none", "--steps", "1"]
            code, text = run(1, ["--file", file.name, "--steps", 1, *others])
        self.assertEqual((code, text.count("mpi_runtime: ")), (1, 1), text)
        self.assertIn("cannot be opened", text)

    def test_bad_words(self):
        for words, message in ((["--strategy", "x"], 'there is no strategy "x"'), (["--chunks"], "--strategy NAME or --file"),
                               (["--microbatches", 0], "microbatches"),
                               (["--work", "5ms"], "are whole numbers"), (["--steps", -1], "are whole numbers"),
                               (["--steps", ""], "are whole numbers"), (["--file", "/none"], "cannot be opened")):
            code, text = run(2, words)
            self.assertEqual((code, text.count("mpi_runtime: ")), (1, 1), text)
            self.assertIn(message, text)

    def test_in_cpp(self):
        for name, chunks in (("1f1b", 1), ("interleaved_1f1b", 2), ("dualpipe_v", 2), ("dualpipe", 1)):
            wanted = self.train(4, ["--strategy", name, "--chunks", chunks, "--microbatches", 8, "--steps", 1])
            code, text = run(4, [name, 4 * chunks, 8], program=1)
            self.assertEqual(code, 0, text)
            self.assertEqual(f"{float(text.split()[1]):.6f}", re.search(r"step 0: loss (\S+)", wanted)[1])
        for words in ([], ["1f1b", "x", 8], ["1f1b", 4]):
            code, text = run(2, words, program=1)
            self.assertEqual((code, text.count("mpi_runtime_cpp STRATEGY STAGES MICROBATCHES")), (1, 1), text)


if __name__ == "__main__":
    if len(PROGRAMS) < 2 or shutil.which("mpirun") is None:
        print("Open MPI is missing (Debian: openmpi-bin, libopenmpi-dev)")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
