#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package as others use it: installed and found through pkg-config, as C and as C++, shared and static; through CMake's
find_package; as a meson subproject, the library alone; and installed with pip."""
import importlib.util
import os
import pathlib
import re
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
        run("meson", "setup", cls.folder / "build", ROOT, f"--prefix={cls.prefix}", "-Dtests=false", "--libdir=lib",
            "-Doptimization=0")
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

    def test_the_journey_in_c(self):
        (shown,) = re.findall(r"^```text\n(.*?)^```", (ROOT / "docs" / "journeys.md").read_text(encoding="utf-8"), flags=re.M | re.S)
        flags = run("pkg-config", "--cflags", "--libs", "ppsched", env=self.env)
        run("cc", *STRICT, ROOT / "docs" / "examples" / "replan.c", "-o", self.folder / "replan", *flags.split())
        self.assertEqual(run(self.folder / "replan", env=self.env), shown.strip())

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
        wanted = {path.name for path in (ROOT / "bindings" / "python" / "ppsched" / "live_page").iterdir()} | {"abi.mjs", "ppsched.mjs"}
        self.assertEqual({path.name for path in (package / "live_page").iterdir()} - {"ppsched.wasm"}, wanted)

    def make_report(self, command):
        page = self.folder / "report.html"
        run(command, "compare", "-s", 4, "-b", 8, "-o", page, cwd="/")
        self.assertIn("</html>", page.read_text(encoding="utf-8"))
        page.unlink()

    def test_report(self):
        self.make_report(self.prefix / "bin" / "ppsched")

    def subproject(self, source, languages, library):
        project = self.folder / f"outside{source.suffix}"
        shutil.rmtree(project, ignore_errors=True)
        (project / "subprojects").mkdir(parents=True)
        (project / "subprojects" / "ppsched").symlink_to(ROOT)
        shutil.copy(source, project)
        (project / "meson.build").write_text(
            f"project('outside', {languages})\n"
            f"executable('consumer', '{source.name}', dependencies: dependency('ppsched', fallback: 'ppsched'))\n",
            encoding="utf-8")
        told = run("meson", "setup", project / "build", project, f"-Ddefault_library={library}", f"--prefix={project / 'prefix'}",
                   "--libdir=lib", "-Doptimization=0")
        self.assertRegex(told, r"(?i)as a subproject *: (true|YES)")
        self.assertRegex(told, r"(?i)Python package and command *: (false|NO)")
        run("meson", "compile", "-C", project / "build", "consumer")
        self.assertEqual(run(project / "build" / "consumer"), "makespan 33")

    def test_subproject_installs_the_library_alone(self):
        self.subproject(CONSUMER, "'c'", "both")
        project = self.folder / "outside.c"
        run("meson", "install", "-C", project / "build")
        prefix = project / "prefix"
        installed = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if not path.is_dir()}
        others = {name for name in installed if not name.startswith(("include/ppsched/", "lib/libppsched.", "lib/cmake/ppsched/", "lib/pkgconfig/"))}
        self.assertEqual(others, set())
        self.assertIn("lib/libppsched.so", installed)

    @unittest.skipUnless(shutil.which("cmake"), "cmake is not installed")
    def test_cmake(self):
        """From where it was installed, and from where that was moved to; versions that are not there are not found."""
        moved = self.folder / "moved"
        shutil.copytree(self.prefix, moved, symlinks=True)
        for number, (prefix, target) in enumerate(((self.prefix, "ppsched::ppsched"), (moved, "ppsched::ppsched"), (moved, "ppsched::static"))):
            project = self.folder / f"cmake{number}"
            project.mkdir()
            shutil.copy(CONSUMER, project)
            lines = ["cmake_minimum_required(VERSION 3.18)", "project(outside C)", "find_package(ppsched 0.1 REQUIRED)",
                     "find_package(ppsched 999 QUIET)", "if(ppsched_FOUND)", 'message(FATAL_ERROR "there is no such version")', "endif()",
                     f"add_executable(consumer {CONSUMER.name})", f"target_link_libraries(consumer {target})"]
            (project / "CMakeLists.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
            run("cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
            run("cmake", "--build", project / "build")
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
