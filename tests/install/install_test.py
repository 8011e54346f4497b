#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package as others use it: installed and found through pkg-config, as C and as C++, shared and static; as a meson
subproject, likewise; and installed with pip."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CONSUMER = ROOT / "tests" / "install" / "consumer.c"
CPP_CONSUMER = ROOT / "tests" / "install" / "consumer.cpp"
STRICT = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def run(*words, env=None, cwd=None):
    environment = {**os.environ, **(env or {})}
    environment.pop("PYTHONPATH", None)
    environment.pop("PPSCHED_LIBRARY", None)
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, env=environment, cwd=cwd)
    if result.returncode != 0:
        raise AssertionError(f"{words}: {result.stdout}{result.stderr}")
    return result.stdout.strip()


class InstallTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.prefix = cls.folder / "prefix"
        run("meson", "setup", cls.folder / "build", ROOT, f"--prefix={cls.prefix}", "-Dtests=false", "--libdir=lib")
        run("meson", "install", "-C", cls.folder / "build")
        cls.env = {"PKG_CONFIG_PATH": str(cls.prefix / "lib" / "pkgconfig"), "LD_LIBRARY_PATH": str(cls.prefix / "lib")}

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def consume(self, compiler, language, *link, source=CONSUMER):
        flags = run("pkg-config", "--cflags", *(["--static"] if "-static" in link else []), "--libs", "ppsched", env=self.env)
        program = self.folder / "consumer"
        run(compiler, *STRICT, *language, source, "-x", "none", *flags.split(), *link, "-o", program)
        self.assertEqual(run(program, env=self.env), "makespan 33")

    def test_shared(self):
        self.consume("cc", ["-std=c11"])

    def test_static(self):
        self.consume("cc", ["-std=c11"], "-static")

    def test_cxx(self):
        self.consume("c++", ["-std=c++17", "-x", "c++"])

    def test_cpp_header(self):
        for standard in ("c++17", "c++20"):
            self.consume("c++", [f"-std={standard}", "-Wconversion", "-Wshadow"], source=CPP_CONSUMER)
        self.consume("c++", ["-std=c++17"], "-static", source=CPP_CONSUMER)

    def test_command(self):
        text = run(self.prefix / "bin" / "ppsched", "schedule", "-s", 4, "-b", 8, cwd="/")
        self.assertTrue(text.startswith("1f1b: makespan 33"))

    def test_headers_are_complete(self):
        installed = {path.name for path in (self.prefix / "include" / "ppsched").iterdir()}
        wanted = [*ROOT.glob("include/ppsched/*.h"), *ROOT.glob("bindings/cpp/ppsched/*.hpp")]
        self.assertEqual(installed, {path.name for path in wanted})

    def test_python_modules_are_complete(self):
        package = next(self.prefix.rglob("ppsched/cli.py")).parent
        wanted = {path.name for path in (ROOT / "bindings" / "python" / "ppsched").glob("*.py")}
        self.assertEqual({path.name for path in package.glob("*.py")}, wanted)
        wanted = {path.name for path in (ROOT / "bindings" / "python" / "ppsched" / "report_page").iterdir()}
        self.assertEqual({path.name for path in (package / "report_page").iterdir()}, wanted)

    def make_report(self, command):
        page = self.folder / "report.html"
        run(command, "compare", "-s", 4, "-b", 8, "-o", page, cwd="/")
        self.assertIn("</html>", page.read_text(encoding="utf-8"))
        page.unlink()

    def test_report(self):
        self.make_report(self.prefix / "bin" / "ppsched")

    def subproject(self, source, languages, library):
        project = self.folder / f"outside{source.suffix}"
        (project / "subprojects").mkdir(parents=True)
        (project / "subprojects" / "ppsched").symlink_to(ROOT)
        shutil.copy(source, project)
        (project / "meson.build").write_text(
            f"project('outside', {languages})\n"
            f"executable('consumer', '{source.name}', dependencies: dependency('ppsched', fallback: 'ppsched'))\n",
            encoding="utf-8")
        run("meson", "setup", project / "build", project, f"-Ddefault_library={library}")
        run("meson", "compile", "-C", project / "build", "consumer")
        self.assertEqual(run(project / "build" / "consumer"), "makespan 33")

    def test_subproject(self):
        self.subproject(CONSUMER, "'c'", "shared")

    def test_cpp_subproject(self):
        self.subproject(CPP_CONSUMER, "'cpp', default_options: 'cpp_std=c++17'", "static")

    @unittest.skipUnless(all(importlib.util.find_spec(name) for name in ("venv", "pip", "setuptools", "wheel")),
                         "pip, venv, setuptools or wheel is missing")
    def test_pip(self):
        source = self.folder / "source"
        source.mkdir()
        for name in ("include", "lib", "bindings"):
            shutil.copytree(ROOT / name, source / name)
        for name in ("meson.build", "meson_options.txt"):
            shutil.copy(ROOT / name, source)
        run(sys.executable, "-m", "venv", "--system-site-packages", self.folder / "venv")
        run(self.folder / "venv" / "bin" / "pip", "install", "--no-build-isolation", "--no-deps", source / "bindings" / "python")
        shutil.rmtree(source)
        text = run(self.folder / "venv" / "bin" / "ppsched", "schedule", "-s", 4, "-b", 8, cwd="/")
        self.assertTrue(text.startswith("1f1b: makespan 33"))
        self.make_report(self.folder / "venv" / "bin" / "ppsched")


if __name__ == "__main__":
    unittest.main(verbosity=2)
