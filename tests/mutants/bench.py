# SPDX-License-Identifier: Apache-2.0
"""A copy of the tree where mutants are built and tested."""
import ctypes
import hashlib
import json
import math
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SUITES = ("unit", "golden", "prop", "fuzz", "cpp", "examples", "python")
KEPT = ("digest", "regress")  # tables that are made anew after every change that is meant
LARGE = ("python_live", "python_firefox")  # a browser asks for more addresses than tests get here
BLIND = ("sapp", "python_colours", "python_notebook", "python_picture", "python_report", "python_report_question", "python_report_tools",
         "python_start", "python_typing", "python_units")  # they go on where the library tells nonsense
SETUP = ("-Doptimization=1", "-Ddebug=false", "-Ddefault_library=shared", "-Dwarning_level=0",
         "-Dc_args=-Werror=incompatible-pointer-types -Werror=int-conversion")
SANITIZED = ("-Db_sanitize=address,undefined", "-Db_lundef=false")
MOST_MEMORY = 6 << 30
FIXED_PLACES = 0x0040000  # of memory, without which the sanitizers of older compilers do not always start
LEAST_SECONDS, MOST_TIMES = 10, 5
LEAST_WAITED, MOST_WAITED = 120, 40  # on the clock, which other work on the machine slows: for tests that wait for nothing
ASKED_AGAIN, SLOWEST = 2, 900  # seconds
LOOKS = 0.005  # seconds between looks at what runs


class Test:
    def __init__(self, record):
        self.name, self.command = record["name"], record["cmd"]
        self.suites = {suite.split(":")[-1] for suite in record["suite"]}
        self.environment = record["env"]
        self.seconds = 0.0

    @property
    def is_python(self):
        return "python" in pathlib.Path(self.command[0]).name


def _prepare(seconds, memory):
    """In the test's own process. What ran this in the background may have had it ignore signals that tests send."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if memory == resource.RLIM_INFINITY:
        ctypes.CDLL(None).personality(FIXED_PLACES)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))


class Running:
    """A test that runs, with its processes in a group of their own. Seconds are those of the processor, as a loaded machine changes
    them little."""

    def __init__(self, test, build, most_seconds, most_waited, memory):
        self.test, self.seconds, self.status = test, 0.0, None
        self.stop = time.monotonic() + most_waited
        self.said = build / f"said-{test.name}.txt"
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(test.command, cwd=build, env={**os.environ, **test.environment, "PYTHONDONTWRITEBYTECODE": "1"},
                                            stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, start_new_session=True,
                                            preexec_fn=lambda: _prepare(math.ceil(most_seconds), memory))

    def _wait(self, options):
        if self.status is None:
            pid, status, usage = os.wait4(self.process.pid, options)
            if pid != 0:
                self.status, self.seconds = status, usage.ru_utime + usage.ru_stime
                self.process.returncode = os.waitstatus_to_exitcode(status)

    @property
    def is_over(self):
        self._wait(os.WNOHANG)
        return self.status is not None or time.monotonic() > self.stop

    def end(self):
        """Whether the test has passed. What is left of it ends here; one that runs still has not passed."""
        passed = self.status == 0
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._wait(0)
        return passed


class Bench:
    """`folder` gets the copy and its build; the tests that are to notice mutants are in `tests`; `jobs` of them run at a time. With
    sanitizers those of Python are none of them, nor those that tests/run.sh leaves out there."""

    def __init__(self, folder, jobs, with_digest=False, sanitizes=False):
        self.tree, self.build, self.jobs = folder / "tree", folder / "build", jobs
        self.memory = resource.RLIM_INFINITY if sanitizes else MOST_MEMORY  # a sanitizer has addresses for all memory there can be
        self._copy_tree()
        if not (self.build / "build.ninja").exists():
            cached = {"CC": "ccache cc", "CXX": "ccache c++"} if shutil.which("ccache") else {}
            subprocess.run(["meson", "setup", self.build, self.tree, *SETUP, *(SANITIZED if sanitizes else ())], check=True,
                           stdout=subprocess.DEVNULL, env={**cached, **os.environ})
        self.has_cache = "ccache" in (self.build / "build.ninja").read_text()
        records = json.loads(subprocess.run(["meson", "introspect", "--tests", self.build], check=True, capture_output=True).stdout)
        self.tests = [test for test in map(Test, records) if test.name not in LARGE
                      and (test.suites & set(SUITES) or (with_digest and test.name in KEPT))]
        if sanitizes:
            self.tests = [test for test in self.tests if not test.is_python and "long" not in test.suites]
            for test in self.tests:
                test.environment["UBSAN_OPTIONS"] = "halt_on_error=1"
        records = json.loads(subprocess.run(["meson", "introspect", "--targets", self.build], check=True,
                                            capture_output=True).stdout)
        made = {name for record in records for name in record["filename"]}
        programs = {os.path.relpath(part, self.build) for test in self.tests for part in test.command if part in made}
        library = next(t for t in records if t["name"] == "ppsched" and t["type"] == "shared library")
        self.library = os.path.relpath(library["filename"][0], self.build)
        if not self.make(self.library, *programs):
            raise SystemExit(f"the tree does not build: {self.said}")
        self.inside = {program for program in programs if self._links_inside(program)}

    def _copy_tree(self):
        """What git has or could have, files that did not change left as they are, so that nothing is built twice."""
        listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT, check=True,
                                capture_output=True, text=True).stdout.splitlines()
        for name in listed:
            source, target = ROOT / name, self.tree / name
            if not source.is_file():
                continue
            if not target.exists() or target.read_bytes() != source.read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(source, target)
        for target in self.tree.rglob("*"):
            if target.is_file() and not (ROOT / target.relative_to(self.tree)).exists():
                target.unlink()

    def _links_inside(self, program):
        """Whether a test has a copy of the library of its own, which it needs to look inside."""
        said = subprocess.run(["ninja", "-C", self.build, "-t", "query", program], check=True, capture_output=True, text=True).stdout
        return "white-box" in said or "counted" in said

    def make(self, *targets):
        run = subprocess.run(["ninja", "-C", self.build, f"-j{self.jobs}", *targets], capture_output=True, text=True, check=False)
        self.said = run.stdout[-3000:]
        return run.returncode == 0

    def first_of(self, tests, passed=lambda running: None):
        """The first of these tests that ends without having passed, or takes too long, or None."""
        waiting, running = list(reversed(tests)), []
        try:
            while waiting or running:
                while waiting and len(running) < self.jobs:
                    test = waiting.pop()
                    running.append(Running(test, self.build, LEAST_SECONDS + MOST_TIMES * test.seconds,
                                           LEAST_WAITED + MOST_WAITED * test.seconds, self.memory))
                over = next((each for each in running if each.is_over), None)
                if over is None:
                    time.sleep(LOOKS)
                    continue
                running.remove(over)
                if not over.end():
                    return over
                passed(over)
            return None
        finally:
            for each in running:
                each.end()

    def time_tests(self, longest):
        """All must pass as the tree is; what they take tells their order, and when one hangs. Those that take longer than `longest`
        are left out. What a kept copy took before is not asked again where that was long, but for tests that have changed."""
        notes = self.tree.parent / "seconds.json"
        known = json.loads(notes.read_text()) if notes.exists() else {}
        keys = {test: f"{test.name} {self._version(test)}" for test in self.tests}

        def note(running):
            known.setdefault(keys[running.test], running.seconds)
            notes.write_text(json.dumps(known))

        asked = [test for test in self.tests if known.get(keys[test], 0) < ASKED_AGAIN]
        for test in asked:
            test.seconds = SLOWEST
        failed = self.first_of(asked, note)
        if failed is not None:
            raise SystemExit(f"{failed.test.name} fails without any mutant: {failed.said.read_text()[-2000:]}")
        for test in self.tests:
            test.seconds = known[keys[test]]
        self.tests = [test for test in self.tests if test.seconds <= longest]

    def _version(self, test):
        """Of the program or script that is the test."""
        file = next(part for part in test.command if "/python3" not in part)
        return hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest()[:16]

    def write(self, path, text):
        (self.tree / path).write_text(text, encoding="utf-8")

    def first_that_fails(self, is_c, order):
        """The name of a test that fails; "" where it does not build, None where all pass."""
        seeing = sorted((test for test in self.tests if (test.name not in BLIND if is_c else test.is_python)), key=order)
        inside = [test for test in seeing if is_c and os.path.relpath(test.command[0], self.build) in self.inside]
        if is_c and not self.make(self.library):
            return ""
        failed = self.first_of([test for test in seeing if test not in inside])
        if failed is None and inside:
            if not self.make(*(os.path.relpath(test.command[0], self.build) for test in inside)):
                return ""
            failed = self.first_of(inside)
        return failed and failed.test.name
