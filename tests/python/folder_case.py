# SPDX-License-Identifier: Apache-2.0
"""Tests of commands with files in a folder of their own, such as measured runs."""
import csv
import json
import pathlib
import tempfile
import unittest

from in_process import run_command

# A row of measured runs whose model is Llama 3 8B.
RUN = {"id": "one", "gpu": "h100", "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "ffn": 14336, "vocab": 128256, "seq": 8192, "mbs": 1,
       "gbs": 32, "tp": 2, "pp": 4, "dp": 2, "zero": 1, "sequence_parallel": "yes", "measured_step_s": 10}


class FolderCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(folder.cleanup)

    def write(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        return str(self.folder / name)

    def runs(self, *rows):
        """A file of measured runs, with a column for each name in the rows."""
        path = self.folder / "runs.csv"
        with open(path, "w", encoding="utf-8", newline="") as file:
            lines = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)))
            lines.writeheader()
            lines.writerows(rows)
        return str(path)

    def answer(self, *words):
        """The JSON of a command."""
        done = run_command((*words, "--json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, *words, lines=1):
        """The line of a command that fails. lines: with the notes before it."""
        done = run_command(words)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", lines), done.stderr)
        return done.stderr
