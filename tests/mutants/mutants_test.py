#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules that make mutants, the list of equivalent ones, and twenty mutants of a fixed seed against the quick tests in C.

usage: mutants_test.py BUILD PROGRAM...     the build's folder, and its tests that take well below a second
"""
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

import c_mutations
import python_mutations
from mutation import Mutation
from run import EQUIVALENT, ROOT, all_mutations, read_equivalent

SEED, SAMPLE, LEAST_KILLED = 20261, 20, 2  # which are chosen changes with the sources; chance alone does not kill fewer
BUILD, PROGRAMS = pathlib.Path(), []
INCLUDED = re.compile("^#include ?<(.*)>$", re.MULTILINE)

C = """
/* a < b + 1 */
#define MORE(a) ((a) + 1 < 2)
static const int table[] = {1, 2};
struct pair { int a[4]; };
static bool goes_before(const struct pair *a, const struct pair *b)
{
    double list[8], text = "x < y";
    if (a->x != b->x)
        return a->x < b->x;
    make(list, text, 2 * sizeof *list); // c > d
    list[a->y * b->n + text] = (double)a->z - 3 * b->z;
    return a->w < b->w && b != NULL ? PPSCHED_OK : fail(error, PPSCHED_ERROR_RANGE, "no");
}
"""
C_MUTANTS = {
    ("flip a comparison", "if (a->x == b->x)"), ("negate", "if (!(a->x != b->x))"),
    ("flip a comparison", "return a->x <= b->x;"),
    ("swap arguments", "make(text, list, 2 * sizeof *list); // c > d"), ("swap arguments", "make(list, 2 * sizeof *list, text); // c > d"),
    ("off by one", "make(list, text, 3 * sizeof *list); // c > d"), ("drop a factor", "make(list, text, 2); // c > d"),
    ("drop a factor", "list[a->y + text] = (double)a->z - 3 * b->z;"),
    ("transpose an index", "list[text * b->n + a->y] = (double)a->z - 3 * b->z;"),
    ("drop a term", "list[a->y * b->n] = (double)a->z - 3 * b->z;"), ("drop a term", "list[a->y * b->n + text] = (double)a->z;"),
    ("off by one", "list[a->y * b->n + text] = (double)a->z - 4 * b->z;"),
    ("drop a factor", "list[a->y * b->n + text] = (double)a->z - 3;"),
    ("drop a tie rule", "return false;"),
    ("and or", 'return a->w < b->w || b != NULL ? PPSCHED_OK : fail(error, PPSCHED_ERROR_RANGE, "no");'),
    ("drop a condition", 'return a->w < b->w ? PPSCHED_OK : fail(error, PPSCHED_ERROR_RANGE, "no");'),
    ("drop a condition", 'return b != NULL ? PPSCHED_OK : fail(error, PPSCHED_ERROR_RANGE, "no");'),
    ("flip a comparison", 'return a->w < b->w && b == NULL ? PPSCHED_OK : fail(error, PPSCHED_ERROR_RANGE, "no");'),
    ("flip a comparison", 'return a->w <= b->w && b != NULL ? PPSCHED_OK : fail(error, PPSCHED_ERROR_RANGE, "no");'),
    ("swap the ways", 'return a->w < b->w && b != NULL ? fail(error, PPSCHED_ERROR_RANGE, "no") : PPSCHED_OK;'),
    ("wrong status", 'return a->w < b->w && b != NULL ? PPSCHED_OK : fail(error, PPSCHED_ERROR_REFUSED, "no");'),
}
PYTHON = '''
def first(a, b=1):
    """a < b + 1"""
    if a < b and not a:
        return f(a, b) + 2
    return min(a, "x < y")
'''
PYTHON_MUTANTS = {
    ("flip a comparison", "if a <= b and not a:"), ("and or", "if a < b or not a:"), ("negate", "if a < b and (a):"),
    ("negate", "if not (a < b and not a):"), ("drop a condition", "if (a < b):"), ("drop a condition", "if (not a):"),
    ("drop a term", "return (f(a, b))"), ("swap arguments", "return f(b, a) + 2"), ("off by one", "return f(a, b) + 3"),
    ("smaller or larger", 'return max(a, "x < y")'),
}


def made_of(rules, text):
    return {(mutation.rule, mutation.lines(text)[1]) for mutation in rules.mutations_of("a", text)}


class RulesTest(unittest.TestCase):
    def test_c(self):
        self.assertEqual(made_of(c_mutations, C), C_MUTANTS)

    def test_what_changes_nothing_is_left_out(self):
        """The order of the arguments of ppi_larger and of max, and which of two equal ones is the larger."""
        text = "int f(int a, int b)\n{\n    return a %s b ? %s;\n}\n"
        rules = {(sign, ways): {rule for rule, _ in made_of(c_mutations, text % (sign, ways))}
                 for sign in ("<", "==") for ways in ("b : a", "a : b", "b : c", "b : a > 9 ? 9 : a", "b : a + 1")}
        self.assertEqual({key for key, made in rules.items() if "flip a comparison" not in made},
                         {("<", "b : a"), ("<", "a : b"), ("<", "b : a > 9 ? 9 : a")})
        text = "void f(int a, int b)\n{\n    if (a < b)\n        %s;\n}\n"
        self.assertEqual([ways for ways in ("b = a", "a = b", "b = c", "b += a")
                          if "flip a comparison" not in {rule for rule, _ in made_of(c_mutations, text % ways)}], ["b = a", "a = b"])
        self.assertEqual(made_of(c_mutations, "int f(void)\n{\n    return ppi_larger(a, b);\n}\n"),
                         {("smaller or larger", "return ppi_smaller(a, b);")})

    def test_python(self):
        self.assertEqual(made_of(python_mutations, PYTHON), PYTHON_MUTANTS)

    def test_a_mutant_of_two_lines(self):
        text = "a\n  + b\n"
        mutation = Mutation("x.c", "drop a term", 1, 7, "")
        self.assertEqual((mutation.apply(text), mutation.lines(text), mutation.line_number(text)), ("a\n", ("a + b", "a"), 1))
        self.assertIn("-  + b\n", mutation.diff(text))

    def test_equivalent_ones_are_made(self):
        """Those that no rule makes any more, as the code has changed, are to go."""
        wanted = read_equivalent(EQUIVALENT.read_text(encoding="utf-8"))
        made = {(mutation.path, *mutation.lines(text)) for mutation, text in all_mutations({path for path, _, _ in wanted} or {"-"})}
        self.assertEqual(set(wanted) - made, set())


class Library:
    """The build's library with one file compiled anew: alone, or with the files that are compiled together with it."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        commands = json.loads((BUILD / "compile_commands.json").read_text(encoding="utf-8"))
        self.of_library = [command for command in commands if command["output"].startswith("lib/libppsched")
                           and "counted" not in command["output"]]
        self.command_of = {path: command for command in self.of_library for path in self._sources(command)}

    @staticmethod
    def _sources(command):
        """The files that a command compiles: its own, or those that it includes to compile them together."""
        source = BUILD / command["file"]
        together = INCLUDED.findall(source.read_text(encoding="utf-8")) if "-unity" in source.name else [source]
        return [pathlib.Path(path).resolve() for path in together]

    def _write(self, path, text, command):
        """The file to compile instead of the command's."""
        mutant, source = self.folder / pathlib.Path(path).name, BUILD / command["file"]
        mutant.write_text(text, encoding="utf-8")
        if "-unity" not in source.name:
            return mutant
        together = self.folder / source.name
        together.write_text("".join(f"#include <{mutant if each == ROOT / path else each}>\n" for each in self._sources(command)),
                            encoding="utf-8")
        return together

    def make(self, path, text):
        """False where it does not compile."""
        made = self.folder / "mutant.o"
        command = self.command_of[ROOT / path]
        words = [word for word in shlex.split(command["command"]) if word != "-Werror"]
        words[words.index("-o") + 1], words[words.index("-c") + 1] = str(made), str(self._write(path, text, command))
        words += ["-Werror=incompatible-pointer-types", "-Werror=int-conversion", f"-I{(ROOT / path).parent}"]
        objects = [str(made) if c is command else c["output"] for c in self.of_library]
        linking = [words[0] if "ccache" not in words[0] else words[1], "-shared", "-o", str(self.folder / "libppsched.so.1"), *objects]
        return all(subprocess.run(each, cwd=BUILD, capture_output=True, check=False).returncode == 0 for each in (words, linking))


class TwentyTest(unittest.TestCase):
    def notices(self, program, folder):
        environment = {**os.environ, "LD_LIBRARY_PATH": folder}
        try:
            run = subprocess.run([program], cwd=BUILD, env=environment, capture_output=True, timeout=20, check=False)
        except subprocess.TimeoutExpired:
            return True
        return run.returncode != 0

    def test_some_are_noticed_by_quick_tests(self):
        mutations = [(mutation, text) for mutation, text in all_mutations(["lib/"]) if mutation.path.endswith(".c")]
        mutations = random.Random(SEED).sample(mutations, 4 * SAMPLE)
        killed, survivors = 0, []
        with tempfile.TemporaryDirectory() as folder:
            library = Library(folder)
            for mutation, text in mutations:
                if killed + len(survivors) == SAMPLE:
                    break
                if not library.make(mutation.path, mutation.apply(text)):
                    continue
                if any(self.notices(program, folder) for program in PROGRAMS):
                    killed += 1
                else:
                    survivors.append(mutation.diff(text))
        print("not noticed by the quick tests alone:\n" + "\n".join(survivors))
        self.assertEqual(killed + len(survivors), SAMPLE)
        self.assertGreaterEqual(killed, LEAST_KILLED)

    def test_none_is_noticed_where_nothing_has_changed(self):
        with tempfile.TemporaryDirectory() as folder:
            path = "lib/plan/least_limit.c"
            self.assertTrue(Library(folder).make(path, (ROOT / path).read_text(encoding="utf-8")))
            for program in PROGRAMS:
                self.assertFalse(self.notices(program, folder), program)


if __name__ == "__main__":
    BUILD, PROGRAMS = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    unittest.main(argv=sys.argv[:1], verbosity=2)
