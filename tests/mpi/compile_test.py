#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The examples compile where functions of MPI and of the C library are macros, as in SimGrid's MPI, which simulates clusters: no
argument has a comma outside of parentheses, as between the values of a compound literal. Its compiler says so too where it is
there."""
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EXAMPLES = sorted(path for path in (ROOT / "docs" / "examples").rglob("*") if path.suffix in (".c", ".h", ".cpp"))
SKIPPED = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'", re.DOTALL)
CALL = re.compile(r"(?<![\w.>:])([A-Za-z_]\w*)\s*\(")
WORDS = ("if", "for", "while", "switch", "return", "sizeof")


def without_texts(source):
    """The same without comments, strings and characters."""
    return SKIPPED.sub(" ", source)


def bare_commas(source):
    """The names of the functions that are called with a comma in braces, not in parentheses. Of C++ its own, as methods, are none that C
    has macros for."""
    found, text = [], without_texts(source)
    for call in CALL.finditer(text):
        open_ones, place = ["("], call.end()
        while open_ones and place < len(text):
            character = text[place]
            if character in "({":
                open_ones.append(character)
            elif character in ")}":
                open_ones.pop()
            elif character == "," and open_ones == ["(", "{"]:
                found.append(call[1])
                break
            place += 1
    return [name for name in found if name not in WORDS]


class CompileTest(unittest.TestCase):
    def test_no_bare_commas(self):
        self.assertGreater(len(EXAMPLES), 8)
        for path in EXAMPLES:
            self.assertEqual(bare_commas(path.read_text(encoding="utf-8")), [], path)

    def test_bare_commas_are_found(self):
        for source, names in (("nanosleep(&(struct timespec){1, 2}, NULL);", ["nanosleep"]), ("MPI_Send(a, (int[]){1, 2}, 3);", ["MPI_Send"]),
                              ("f(a, g(1, 2), (x, y));", []), ("f(((struct s){1, 2}));", []), ("f((struct s){1});", []),
                              ("struct s s = {f(1), 2};", []), ("own.f({1, 2}); std::max({1, 2});", []), ("f(\"{1, 2}\", '{'); // g({1, 2})", [])):
            self.assertEqual(bare_commas(source), names, source)

    @unittest.skipUnless(shutil.which("smpicc"), "needs the package libsimgrid-dev")
    def test_simgrid(self):
        for compiler, suffix, words in (("smpicc", ".c", ["-std=c11"]), ("smpicxx", ".cpp", ["-std=c++17", f"-I{ROOT}/bindings/cpp"])):
            for path in (path for path in EXAMPLES if path.suffix == suffix and "mpi" in str(path.relative_to(ROOT))):
                with self.subTest(path=path), tempfile.TemporaryDirectory() as folder:
                    command = [compiler, *words, "-Wall", "-Wextra", "-Werror", f"-I{ROOT}/include", "-c", str(path), "-o", f"{folder}/x.o"]
                    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
                    self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
