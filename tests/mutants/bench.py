# SPDX-License-Identifier: Apache-2.0
"""A copy of the tree where mutants are built and tested."""
import hashlib
import json
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
LARGE = ("python_live",)  # a browser asks for more addresses than tests get here
SETUP = ("-Doptimization=1", "-Ddebug=false", "-Ddefault_library=shared", "-Dwarning_level=0",
         "-Dc_args=-Werror=incompatible-pointer-types -Werror=int-conversion")
MOST_MEMORY = 6 << 30
LEAST_SECONDS = 10
ASKED_AGAIN = 2  # seconds


class Test:
    def __init__(self, record):
        self.name, self.command = record["name"], record["cmd"]
        self.suites = {suite.split(":")[-1] for suite in record["suite"]}
        self.environment = record["env"]
        self.seconds = 0.0

    @property
    def is_python(self):
        return "python" in pathlib.Path(self.command[0]).name


def _prepare():
    """In the test's own process. What ran this in the background may have had it ignore signals that tests send."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class Bench:
    """`folder` gets the copy and its build; the tests that are to notice mutants are in `tests`, the quickest first."""

    def __init__(self, folder, with_digest=False):
        self.tree, self.build = folder / "tree", folder / "build"
        self._copy_tree()
        if not (self.build / "build.ninja").exists():
            subprocess.run(["meson", "setup", self.build, self.tree, *SETUP], check=True, stdout=subprocess.DEVNULL)
        records = json.loads(subprocess.run(["meson", "introspect", "--tests", self.build], check=True, capture_output=True).stdout)
        self.tests = [test for test in map(Test, records) if test.name not in LARGE
                      and (test.suites & set(SUITES) or (with_digest and test.name in KEPT))]
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
        run = subprocess.run(["ninja", "-C", self.build, "-j2", *targets], capture_output=True, text=True, check=False)
        self.said = run.stdout[-3000:]
        return run.returncode == 0

    def run(self, test, seconds):
        """Whether a test passes; one that takes longer does not."""
        environment = {**os.environ, **test.environment, "PYTHONDONTWRITEBYTECODE": "1"}
        with open(self.build / "said.txt", "wb") as said:
            process = subprocess.Popen(test.command, cwd=self.build, env=environment, stdin=subprocess.DEVNULL, stdout=said,
                                       stderr=subprocess.STDOUT, start_new_session=True, preexec_fn=_prepare)
        try:
            return process.wait(seconds) == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()

    def time_tests(self, longest):
        """All must pass as the tree is; what they take tells their order, and when one hangs. Those that take longer than `longest`
        are left out. What a kept copy took before is not asked again where that was long, but for tests that have changed."""
        notes = self.tree.parent / "seconds.json"
        known = json.loads(notes.read_text()) if notes.exists() else {}
        for test in self.tests:
            begin = time.monotonic()
            key = f"{test.name} {self._version(test)}"
            if known.get(key, 0) < ASKED_AGAIN and not self.run(test, 900):
                raise SystemExit(f"{test.name} fails without any mutant: {(self.build / 'said.txt').read_text()[-2000:]}")
            test.seconds = known.setdefault(key, time.monotonic() - begin)
            notes.write_text(json.dumps(known))
        self.tests = [test for test in self.tests if test.seconds <= longest]

    def _version(self, test):
        """Of the program or script that is the test."""
        file = next(part for part in test.command if "/python3" not in part)
        return hashlib.sha256(pathlib.Path(file).read_bytes()).hexdigest()[:16]

    def write(self, path, text):
        (self.tree / path).write_text(text, encoding="utf-8")

    def first_that_fails(self, is_c, order):
        """The name of a test that fails; "" where it does not build, None where all pass."""
        if is_c and not self.make(self.library):
            return ""
        later = []
        for test in sorted(self.tests, key=order):
            program = os.path.relpath(test.command[0], self.build)
            if is_c and program in self.inside:
                later.append(test)
            elif (is_c or test.is_python) and not self.run(test, LEAST_SECONDS + 5 * test.seconds):
                return test.name
        if later and not self.make(*(os.path.relpath(test.command[0], self.build) for test in later)):
            return ""
        return next((test.name for test in later if not self.run(test, LEAST_SECONDS + 5 * test.seconds)), None)
