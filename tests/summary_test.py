# SPDX-License-Identifier: Apache-2.0
"""What run.sh says last: each skipped test by its name, allowed or a failure; and what it notes of packages that cannot be had."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent

# Written by unittest itself below, in each of the ways in which it skips.
CASES = '''
import unittest
class Some(unittest.TestCase):
    def test_runs(self): pass
    @unittest.skip("needs the package b-tools")
    def test_alone(self):
        """What it is about."""
    def test_late(self):
        print("something of its own")
        self.skipTest("it's \\"quoted\\", needs b-tools.")
    def test_part(self):
        with self.subTest(n=1): self.skipTest("part needs b-tools")
@unittest.skip("class needs b-tools")
class All(unittest.TestCase):
    def test_one(self): pass
    def test_two(self): pass
class SetUp(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise unittest.SkipTest("first needs b-tools")
    def test_one(self): pass
    def test_two(self): pass
'''
MODULE = '''
import unittest
def setUpModule(): raise unittest.SkipTest("module needs b-tools")
class Some(unittest.TestCase):
    def test_one(self): pass
'''

BROWSER = f"""
import sys, unittest
sys.path.insert(0, {str(HERE / "python")!r})
from browser import shared_browser
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.browser = shared_browser(cls)
    def test_one(self): self.browser.frames()
    def test_two(self): self.browser.frames()
class Other(Page): pass
class Plain(unittest.TestCase):
    def test_plain(self): pass
"""


def unittest_log(source, *words, name="python_x"):
    """A line of meson's log, of a program in Python as it really is."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "cases.py")
        path.write_text(source + "\nunittest.main()\n", encoding="utf-8")
        ran = subprocess.run([sys.executable, path, *words], capture_output=True, text=True, check=False)
    return log(ran.stdout, ran.stderr, name=name, result="OK" if ran.returncode in (0, 5) else "FAIL")


def log(stdout="", stderr="", name="x", result="OK"):
    return {"name": f"ppsched:python+slow / {name}", "stdout": stdout, "stderr": stderr, "result": result}


class SummaryTest(unittest.TestCase):
    def summary(self, *tests, allowed="", failed_builds=0):
        """The exit status, the last line, and those before it."""
        with tempfile.TemporaryDirectory() as folder:
            logs, list_of_allowed = pathlib.Path(folder, "testlog.json"), pathlib.Path(folder, "allowed.txt")
            logs.write_text("".join(json.dumps(test) + "\n" for test in tests), encoding="utf-8")
            list_of_allowed.write_text(allowed, encoding="utf-8")
            ran = subprocess.run([sys.executable, HERE / "summary.py", "--allowed", list_of_allowed, str(failed_builds), logs],
                                 capture_output=True, text=True, check=False)
        lines = ran.stdout.splitlines() or [ran.stderr.strip()]
        return ran.returncode, lines[-1], lines[:-1]

    def test_counts(self):
        tests = [log("1..2\nok 1 - a\nok 2 - b\n"), log(), log("1..2\nok 1 - a\nnot ok 2 - b\n", result="FAIL"), log(result="TIMEOUT")]
        self.assertEqual(self.summary(*tests), (1, "4 passed, 2 failed, 0 skipped", []))
        self.assertEqual(self.summary(*tests[:2]), (0, "3 passed, 0 failed, 0 skipped", []))
        self.assertEqual(self.summary(*tests[:2], failed_builds=1)[:2], (1, "3 passed, 1 failed, 0 skipped"))
        self.assertEqual(self.summary()[:2], (1, "0 passed, 0 failed, 0 skipped"))

    def test_unittest_names_what_it_skips(self):
        names = ["Some.test_alone: needs the package b-tools", "Some.test_late: it's \"quoted\", needs b-tools.", "Some.test_part: part needs b-tools",
                 "All.test_one: class needs b-tools", "All.test_two: class needs b-tools", "SetUp.setUpClass: first needs b-tools"]
        for words, ends in (("b-tools: no such package", " (b-tools: no such package)"), ("# b-tools: x", " (NOT ALLOWED, so it counts as failed)")):
            code, last, lines = self.summary(unittest_log(CASES, "-v"), allowed=words)
            self.assertEqual(sorted(lines),
                             sorted(f"skipped: python_x {name}{ends}" for name in names))
            self.assertRegex(last, r"^1 passed, (0 failed, 6|6 failed, 0) skipped$")
            self.assertEqual(code, int("NOT" in ends))
        self.assertEqual(self.summary(log(), unittest_log(MODULE, "-v"), allowed="b-tools: x"),
                         (0, "1 passed, 0 failed, 1 skipped", ["skipped: python_x setUpModule: module needs b-tools (b-tools: x)"]))

    def test_browsers(self):
        """Where none starts, each test is skipped by its name, with the package's."""
        names = [f"{case}.{test}" for case in ("Other", "Page") for test in ("test_one", "test_two")]
        for variables in ({"PPSCHED_CHROMIUM": "/bin/false"}, {"PATH": "/nowhere", "PPSCHED_CHROMIUM": ""}):
            with mock.patch.dict(os.environ, variables):
                test = unittest_log(BROWSER, "-v")
            code, last, lines = self.summary(test, allowed="chromium: no such package")
            self.assertEqual((code, last), (0, "1 passed, 0 failed, 4 skipped"))
            self.assertEqual([line.split(": ")[1] for line in lines], [f"python_x {name}" for name in names])
            self.assertEqual(self.summary(test, allowed="firefox-esr: no")[1], "1 passed, 4 failed, 0 skipped")

    def test_a_skip_without_a_name_is_a_failure(self):
        code, last, lines = self.summary(unittest_log(MODULE), log(), allowed="b-tools: x")
        self.assertEqual((code, last, len(lines)), (1, "1 passed, 1 failed, 0 skipped", 1))
        self.assertIn("unittest tells it with -v", lines[0])

    def test_other_programs(self):
        tests = [log("Open MPI is missing (Debian: openmpi-bin, libopenmpi-dev)\n", name="mpi", result="SKIP"),
                 log("1..2\nok 1 - here\nok 2 - musl-gcc -O1 # SKIP needs musl-tools\n", name="platforms"),
                 log("1..0 # SKIP needs c-tools\n", name="none", result="SKIP"), log("1..1\nok 1 - quiet # SKIP\n", name="cmocka")]
        allowed = "openmpi-bin: no\nmusl-tools: no\nc-tools: no\n"
        code, last, lines = self.summary(*tests, allowed=allowed)
        self.assertEqual((code, last), (1, "1 passed, 1 failed, 3 skipped"))
        self.assertEqual([line.split(" (")[0] for line in lines], ["skipped: mpi: Open MPI is missing", "skipped: platforms musl-gcc -O1: needs musl-tools",
                                                                   "skipped: none: needs c-tools", "skipped: cmocka quiet: no reason"])

    def test_words_are_whole(self):
        for word, reason, is_allowed in (
                ("gcc", "needs gcc-12-multilib", False), ("multilib", "needs gcc-12-multilib", False), ("chromium", "needs chromium-driver", False),
                ("chromium", "needs the package chromium", True), ("chromium", "needs the package chromium: it does not start (x)", True),
                ("libc6", "needs libc6.1", False), ("libc6", "needs libc6.", True), ("a+", "needs a++", False),
                ("PyTorch", "PyTorch >= 2.6 is missing", True)):
            code, _, _ = self.summary(log(), log(f"ok 1 - x # SKIP {reason}"), allowed=f"{word}: why")
            self.assertEqual(code == 0, is_allowed, (word, reason))

    def test_what_is_no_line_of_a_list_is_told(self):
        for line in ("chromium", "chromium:", ": why"):
            code, last, _ = self.summary(log(), allowed=f"a: b\n{line}\n")
            self.assertEqual((code, last.rpartition("allowed.txt")[2]), (1, f':2: "{line}" is not "WORD: WHY"'))

    def test_the_committed_list_can_be_read(self):
        ran = subprocess.run([sys.executable, HERE / "summary.py", "--allowed", HERE / "allowed_skips.txt", "0"], capture_output=True, text=True, check=False)
        self.assertEqual((ran.stdout, ran.stderr), ("0 passed, 0 failed, 0 skipped\n", ""))


class PackagesTest(unittest.TestCase):
    """packages.sh with an apt-get that has some packages, and programs that it puts there."""

    def run_script(self, script, has="", version="1.0"):
        """What was noted, and what apt-get was asked for."""
        with tempfile.TemporaryDirectory() as folder:
            apt_get = (f'[ "$1" != update ] || exit 0\necho "$@" >>{folder}/asked\n'
                       'for word; do case $word in install|-*) continue ;; esac\n'
                       f'case " {has} " in *" $word "*) ;; *) echo "E: Unable to locate package $word" >&2; exit 100 ;; esac; done')
            for name, text in (("apt-get", apt_get), ("dpkg-query", f"echo {version}"), ("sudo", 'exec "$@"')):
                path = pathlib.Path(folder, name)
                path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
                path.chmod(0o755)
            starts = pathlib.Path(folder, "browser.py")
            starts.write_text("import os, sys\nsys.exit(not os.environ.get('STARTS'))\n", encoding="utf-8")
            text = (f"set -euo pipefail\n. {HERE.parent}/bindings/python/install_tools.sh\n. {HERE}/packages.sh\nmissing={folder}/missing\n: >$missing\n"
                    f"program={starts}\n{script}\n")
            ran = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=False,
                                 env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
            self.assertEqual(ran.returncode, 0, ran.stderr)
            asked = pathlib.Path(folder, "asked")
            return pathlib.Path(folder, "missing").read_text(encoding="utf-8"), asked.read_text(encoding="utf-8").count("\n") if asked.exists() else 0

    def test_what_can_be_had_is_not_noted(self):
        self.assertEqual(self.run_script("want one two", has="one two"), ("", 1))
        self.assertEqual(self.run_script("want"), ("", 0))
        self.assertEqual(self.run_script("want_commands sh:dash /bin/sh:dash no-such-command:one", has="one"), ("", 1))

    def test_each_that_cannot_be_had_is_noted(self):
        self.assertEqual(self.run_script("want one two three", has="two")[0], "one: E: Unable to locate package one\nthree: E: Unable to locate package three\n")
        self.assertEqual(self.run_script("want_commands no-such-command:one sh:dash")[0], "one: E: Unable to locate package one\n")

    def test_browsers(self):
        self.assertEqual(self.run_script("STARTS=1 want_browser chromium $program"), ("", 0))
        self.assertEqual(self.run_script("want_browser chromium $program", has="chromium"), ("", 1))  # it does not start: its tests fail
        self.assertEqual(self.run_script("want_browser chromium $program")[0], "chromium: E: Unable to locate package chromium\n")
        self.assertEqual(self.run_script("want_browser firefox-esr $program", has="firefox-esr", version="1:1snap1-0ubuntu2")[0],
                         "firefox-esr: its package is a stub for snap here\n")

    def test_what_is_noted_can_be_read(self):
        noted, _ = self.run_script("want one")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "missing")
            path.write_text(noted, encoding="utf-8")
            ran = subprocess.run([sys.executable, HERE / "summary.py", "--allowed", path, "0"], capture_output=True, text=True, check=False)
        self.assertEqual(ran.stderr, "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
