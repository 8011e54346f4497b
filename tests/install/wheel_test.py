#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a newcomer does with nothing but a wheel, which is built here and installed into an environment of its own without an index.
No variable and no path leads to the tree.

usage: wheel_test.py WASM          ppsched.wasm is built in the folder WASM, if it is not there
       wheel_test.py --given FOLDER        the folder has wheels
"""
import importlib.util
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GIVEN = sys.argv[2:] if sys.argv[1:2] == ["--given"] else []
BUILT = pathlib.Path(sys.argv[1]) if len(sys.argv) == 2 and not sys.argv[1].startswith("-") else None


CLANG = shutil.which("clang-14")


def run(*words, cwd, code=0, **more):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PPSCHED_", "PYTHON"))} | more
    result = subprocess.run([str(word) for word in words], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != code:
        raise AssertionError(f"{words}: {result.returncode} {result.stdout[-2000:]}{result.stderr[-2000:]}")
    return result


def make_wheel(release, cwd, *settings, **environment):
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", release, *settings,
        ROOT / "bindings" / "python", cwd=cwd, **environment)


@unittest.skipUnless(all(importlib.util.find_spec(name) for name in ("venv", "pip", "setuptools", "wheel")),
                     "pip, venv, setuptools or wheel is missing")
class WheelTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        release = pathlib.Path(GIVEN[0]) if GIVEN else cls.folder / "release"
        if not GIVEN:
            wasm = {}
            if CLANG and BUILT:  # other tests have it built there, too
                BUILT.mkdir(exist_ok=True)
                run(ROOT / "bindings" / "wasm" / "build.sh", BUILT / "ppsched.wasm", cwd=cls.folder)
                wasm = {"PPSCHED_WASM": str(BUILT / "ppsched.wasm")}
            if CLANG:  # the wheel that has no library is for all that no other wheel is for: here for nothing
                make_wheel(release, cls.folder, PPSCHED_BUNDLE="", **wasm)
            make_wheel(release, cls.folder, **wasm)
        cls.release = release
        run(sys.executable, "-m", "venv", cls.folder / "venv", cwd=cls.folder)
        run(cls.folder / "venv" / "bin" / "pip", "install", "--quiet", "--no-index", "--find-links", release, "ppsched", cwd=cls.folder)
        cls.command, cls.python = (cls.folder / "venv" / "bin" / name for name in ("ppsched", "python"))
        for name in ("config.json", "layers.json", "profile.json", "megatron_arguments.sh"):
            shutil.copy(ROOT / "docs" / "examples" / name, cls.folder)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def ask(self, *words, code=0):
        return run(self.command, *words, cwd=self.folder, code=code)

    def test_the_command_alone(self):
        text = self.ask().stdout
        for word in ("pick", "schedule", "examples:"):
            self.assertIn(word, text)

    def test_slips(self):
        self.assertEqual(self.ask("pick", "--num-devicess", 4, code=2).stderr, "ppsched pick: unknown option --num-devicess; did you mean --num-devices?\n")
        self.assertEqual(self.ask("pikc", code=2).stderr, "ppsched: unknown command pikc; did you mean pick?\n")

    def test_an_engineer(self):
        """Of a training job: the model, the arguments that there are, and what to add to them."""
        for words in (("--model", "config.json", "--device", "h100", "--tp", 2, "--pp", 4, "--dp", 2, "--global-batch", 64),
                      ("--model", "megatron_arguments.sh", "--device", "h100"),
                      ("--layers", "layers.json", "--devices", 16, "--microbatches", 64, "--mem-limit", "72GB", "--runtime", "megatron")):
            self.assertIn("\nmegatron: --pipeline-model-parallel-size ", self.ask("pick", *words).stdout)

    def test_a_researcher(self):
        code = "import pickle, ppsched\n" \
               "config = ppsched.Config(devices=4, microbatches=8, forward_times='6ms', backward_times='12ms')\n" \
               "again = pickle.loads(pickle.dumps(config.replace(microbatches=16)))\n" \
               "print(again.microbatches, ppsched.generate('zb_h1', again).evaluate().metrics.makespan)\n" \
               "print(sum(type(getattr(ppsched, name)).__name__ == 'module' for name in dir(ppsched)))\n"
        makespan, modules = run(self.python, "-c", code, cwd=self.folder).stdout.splitlines()
        self.assertRegex(makespan, r"^16 \d{3}(\.\d+)?$")
        self.assertLessEqual(int(modules), 8)
        self.assertIn("zb_h1: makespan 626.9 ms", self.ask("schedule", "--profile", "profile.json", "--strategy", "zb_h1").stdout)

    def chosen(self, release, *platform):
        """The name of the wheel that pip takes of a folder, here or for another platform."""
        with tempfile.TemporaryDirectory() as folder:
            run(self.python, "-m", "pip", "download", "--quiet", "--no-index", "--no-deps", "--only-binary=:all:", *platform, "--find-links", release,
                "--dest", folder, "ppsched", cwd=self.folder)
            (wheel,) = pathlib.Path(folder).iterdir()
            return wheel.name

    @unittest.skipUnless(GIVEN or CLANG, "needs the package clang-14")
    def test_the_wheel_without_a_library(self):
        """pip takes it where no other fits. It writes the same live page, and says in one line what else there is."""
        self.assertIn("linux", self.chosen(self.release))
        for platform in ("win_arm64", "macosx_14_0_arm64"):
            self.assertTrue(self.chosen(self.release, "--platform", platform).endswith("-py3-none-any.whl"))
        run(sys.executable, "-m", "venv", self.folder / "any", cwd=self.folder)
        run(self.folder / "any" / "bin" / "pip", "install", "--quiet", "--no-index", "--no-deps", *self.release.glob("*-any.whl"), cwd=self.folder)
        command, python = (self.folder / "any" / "bin" / name for name in ("ppsched", "python"))
        self.assertEqual(list((self.folder / "any").rglob("libppsched*")), [])
        told = run(command, "live", "-o", "page.html", cwd=self.folder)
        self.assertEqual((told.stdout, told.stderr), (f"{self.folder.resolve() / 'page.html'}\n", ""))
        self.ask("live", "-o", "native.html")
        self.assertEqual((self.folder / "page.html").read_bytes(), (self.folder / "native.html").read_bytes())
        self.assertEqual(run(command, "--version", cwd=self.folder).stdout, self.ask("--version").stdout)
        for words, code in ((("pick",), 1), ((), 1), (("live",), 2), (("live", "-o", "page.txt"), 2), (("live", "-o", "nowhere/page.html"), 1),
                            (("live", "-o", "page.html", "--devices", 4), 2)):
            told = run(command, *words, cwd=self.folder, code=code)
            self.assertEqual((told.stdout, told.stderr.count("\n")), ("", 1), words)
        self.assertRegex(run(command, "pick", cwd=self.folder, code=1).stderr, r"^ppsched: this package has no libppsched.*ppsched live -o FILE.html.*npm")
        told = run(python, "-c", "import ppsched", cwd=self.folder, code=1).stderr.splitlines()
        self.assertRegex(told[-1], r"NoLibrary: this package has no libppsched.*ppsched live -o FILE.html.*npm")

    @unittest.skipUnless(shutil.which("x86_64-w64-mingw32-gcc"), "needs the package gcc-mingw-w64-x86-64")
    def test_the_wheel_for_windows(self):
        """It has the DLL by the name that the package looks for there, which exports all that the package calls, and needs Windows alone."""
        build, release = self.folder / "windows", self.folder / "windows-release"
        run("meson", "setup", build, ROOT, "--cross-file", ROOT / "packaging" / "mingw-w64.ini", "-Dtests=false", "-Dpython=false",
            "-Ddefault_library=shared", "-Doptimization=0", cwd=self.folder)
        run("ninja", "-C", build, cwd=self.folder)
        (library,) = (build / "lib").glob("*.dll")
        make_wheel(release, self.folder, "--config-settings=--build-option=--plat-name=win_amd64", PPSCHED_BUNDLE=str(library))
        (wheel,) = release.iterdir()
        self.assertTrue(wheel.name.endswith("-py3-none-win_amd64.whl"), wheel.name)
        shutil.unpack_archive(wheel, self.folder / "unpacked", "zip")
        code = "from ppsched._core import _abi, finding; print(finding.library_name('win32'), *_abi.FUNCTIONS)"
        name, *called = run(self.python, "-c", code, cwd=self.folder).stdout.split()
        (found,) = (self.folder / "unpacked").rglob("libppsched*")
        self.assertEqual((found.parent.name, found.name, found.read_bytes()), ("ppsched", name, library.read_bytes()))
        dump = run("x86_64-w64-mingw32-objdump", "-p", found, cwd=self.folder).stdout
        exports = set(re.findall(r"^\s*\[ *\d+\] (?:\+base\[ *\d+\] +[0-9a-f]+ )?(\w+)$", dump, flags=re.M))
        self.assertGreater(len(called), 200)
        self.assertEqual(set(called) - exports, set())
        self.assertLessEqual({name.lower() for name in re.findall(r"DLL Name: (.*)", dump)}, {"kernel32.dll", "msvcrt.dll", "advapi32.dll"})
        for other in self.release.glob("*.whl"):
            shutil.copy(other, release)
        self.assertEqual(self.chosen(release, "--platform", "win_amd64"), wheel.name)

    @unittest.skipUnless(GIVEN or CLANG, "needs the package clang-14")
    def test_a_teacher(self):
        self.ask("live", "-o", "live.html")
        self.ask("live", "--devices", 4, "--microbatches", 8, "--beside", "gpipe", "zb_h1", "-o", "lesson.html")
        page = (self.folder / "live.html").read_text(encoding="utf-8")
        self.assertGreater(len(page), 300_000)
        self.assertNotRegex(page, r"@[A-Z]+@")
        version = re.search(r"ppsched (.*)", self.ask("--version").stdout)[1]
        self.assertIn(version, page)

    @unittest.skipUnless(importlib.util.find_spec("yaml"), "needs PyYAML")
    def test_journeys(self):
        """What the page docs/journeys.md shows of the command and of Python; install_test has what it shows of C."""
        page = (ROOT / "docs" / "journeys.md").read_text(encoding="utf-8")
        packages = pathlib.Path(run(self.python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=self.folder).stdout.strip())
        shutil.copytree(pathlib.Path(importlib.util.find_spec("yaml").origin).parent, packages / "yaml", dirs_exist_ok=True)
        model, code = (re.search(rf"^```{kind}\n(.*?)^```", page, flags=re.M | re.S)[1] for kind in ("yaml", "python"))
        (self.folder / "model.yaml").write_text(model, encoding="utf-8")
        shown = re.findall(r"^    ppsched (.*)\n\n((?:    .*\n)+)", page, flags=re.M)
        self.assertEqual(len(shown), 2)
        for words, text in shown:
            result = self.ask(*shlex.split(words))
            pieces = ["".join(piece.split()) for piece in text.split("...")]
            self.assertRegex("".join(result.stdout.split()), "^" + ".*".join(map(re.escape, pieces)) + "$")
        rows = run(self.python, "-c", code, cwd=self.folder).stdout.splitlines()
        self.assertTrue(any(row.startswith("late_weights ") for row in rows), rows)

    def test_the_license_is_inside(self):
        self.assertNotEqual(list(self.release.glob("*.whl")), [])
        for wheel in self.release.glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                (name,) = (name for name in archive.namelist() if re.fullmatch(r"ppsched-[0-9.]*\.dist-info/LICENSE", name))
                self.assertEqual(archive.read(name), (ROOT / "LICENSE").read_bytes())

    def test_what_pip_tells(self):
        told = run(self.python, "-m", "pip", "show", "--verbose", "ppsched", cwd=self.folder).stdout
        self.assertRegex(told, r"License.*: Apache-2.0")
        for system in ("POSIX :: Linux", "Microsoft :: Windows"):
            self.assertIn(f"Operating System :: {system}", told)
        self.assertEqual(re.findall(r"(?m)^Requires: *(.*)$", told), [""])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
