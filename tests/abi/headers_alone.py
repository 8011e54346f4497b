#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each header compiles alone, without a warning: those for C, in C and in C++, and those for C++ in the older of their standards.

usage: headers_alone.py FOLDER KIND STANDARD COMPILER...       headers_alone.py include h c11 gcc
"""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = [ROOT / "include", ROOT / "bindings" / "cpp"]
FOLDER, KIND, STANDARD = sys.argv[1:4]
COMPILER = sys.argv[4:]
LANGUAGE = "c++" if "++" in STANDARD else "c"
STRICT = ["-Wpedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]


def complaints(text):
    """What the compiler says of a file with this text."""
    made = subprocess.run([*COMPILER, f"-std={STANDARD}", *STRICT, *(f"-I{folder}" for folder in FOLDERS), "-fsyntax-only", "-x", LANGUAGE, "-"],
                          input=text, capture_output=True, text=True, check=False)
    return made.stderr or ("" if made.returncode == 0 else f"exit status {made.returncode}")


class HeadersAloneTest(unittest.TestCase):
    def test_each_header_compiles(self):
        headers = sorted((ROOT / FOLDER / "ppsched").glob(f"*.{KIND}"))
        self.assertGreater(len(headers), 20)
        for header in headers:
            with self.subTest(header.name):
                self.assertEqual(complaints(f"#include <ppsched/{header.name}>\ntypedef int not_empty;\n"), "")

    def test_a_header_that_lacks_something_is_seen(self):
        self.assertIn("size_t", complaints("size_t size_of_name(void);\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
