#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The code samples in the public headers compile without a warning, run, and end with the status OK. A sample is what follows the
line " * Sample:" in a comment, as long as lines begin with " *     "; it ends with a variable `status`. So does the program in README.md.

usage: samples.py LIBRARY COMPILER...
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADERS = ROOT / "include" / "ppsched"
NEEDED = {"config.h", "schedule.h", "evaluate.h", "plan.h", "lower.h", "layers.h", "model.h", "export.h"}
LIBRARY, COMPILER = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]


def samples():
    """(header, code) of each."""
    for path in sorted(HEADERS.glob("*.h")):
        for lines in re.findall(r"^ \* Sample:\n((?: \*     .*\n)+)", path.read_text(encoding="utf-8"), flags=re.M):
            yield path.name, "\n".join(line[7:] for line in lines.splitlines())


def program(code):
    return ("#include <stdio.h>\n\n#include <ppsched/ppsched.h>\n\nint main(void)\n{\n" +
            re.sub("^", "    ", code, flags=re.M) + "\n    return status != PPSCHED_OK;\n}\n")


def printed_program(page):
    """The first program in C of a page."""
    return re.search(r"^```c\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)[1]


class SamplesTest(unittest.TestCase):
    def run_program(self, code):
        return self.run_text(program(code))

    def run_text(self, text):
        with tempfile.TemporaryDirectory() as folder:
            source, target = pathlib.Path(folder, "sample.c"), pathlib.Path(folder, "sample")
            source.write_text(text, encoding="utf-8")
            made = subprocess.run([*COMPILER, "-std=c11", "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", str(source), str(LIBRARY), "-o", str(target)],
                                  capture_output=True, text=True, check=False)
            if made.returncode != 0:
                return made.stderr
            own = {**os.environ, "LD_LIBRARY_PATH": str(LIBRARY.parent)}
            ran = subprocess.run([str(target)], capture_output=True, text=True, check=False, env=own)
            return f"exit status {ran.returncode}: {ran.stdout}" if ran.returncode != 0 else ""

    def test_every_sample_runs(self):
        for header, code in samples():
            with self.subTest(header):
                self.assertEqual(self.run_program(code), "")

    def test_the_program_of_the_readme(self):
        """As it is printed, with nothing around it."""
        self.assertEqual(self.run_text(printed_program("README.md")), "")

    def test_headers_that_are_met_first_have_one(self):
        self.assertLessEqual(NEEDED, {header for header, _ in samples()})

    def test_a_sample_that_fails_is_seen(self):
        self.assertIn("exit status 1", self.run_program("ppsched_config *config = NULL;\n"
                                                        "ppsched_status status = ppsched_config_create(&config, 0, 1, 1, NULL, NULL);"))
        self.assertIn("unused", self.run_program("int nobody = 0;\nppsched_status status = PPSCHED_OK;"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
