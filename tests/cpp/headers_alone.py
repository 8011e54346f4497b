#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each C++ header compiles alone, without a warning, in the older of the standards that they are for.

usage: headers_alone.py COMPILER...
"""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = [ROOT / "include", ROOT / "bindings" / "cpp"]
COMPILER = sys.argv[1:]
STRICT = ["-Wpedantic", "-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]


def complaints(text):
    """What the compiler says of a C++ file with this text."""
    made = subprocess.run([*COMPILER, "-std=c++17", *STRICT, *(f"-I{folder}" for folder in FOLDERS), "-fsyntax-only", "-x", "c++", "-"],
                          input=text, capture_output=True, text=True, check=False)
    return made.stderr or ("" if made.returncode == 0 else f"exit status {made.returncode}")


class HeadersAloneTest(unittest.TestCase):
    def test_each_header_compiles(self):
        headers = sorted((FOLDERS[1] / "ppsched").glob("*.hpp"))
        self.assertGreater(len(headers), 20)
        for header in headers:
            with self.subTest(header.name):
                self.assertEqual(complaints(f"#include <ppsched/{header.name}>\n"), "")

    def test_a_header_that_lacks_something_is_seen(self):
        self.assertIn("string", complaints("inline std::string name();\n"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
