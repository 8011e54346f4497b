#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The package as others use it: installed and found through pkg-config, as C and as C++, shared and static; through CMake's
find_package; and as a meson subproject, the library alone.

usage: install_test.py BUILD PREFIX     the build's folder; what is installed there is used where PREFIX is in it, as a second
                                        build takes long
"""
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
BUILD, PREFIX = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])


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
        cls.prefix = cls.install()
        cls.env = {"PKG_CONFIG_PATH": str(cls.prefix / "lib" / "pkgconfig"), "LD_LIBRARY_PATH": str(cls.prefix / "lib")}

    @classmethod
    def install(cls):
        if BUILD in PREFIX.parents:
            run("meson", "install", "-C", BUILD, "--no-rebuild")
            return PREFIX
        prefix = cls.folder / "prefix"
        run("meson", "setup", cls.folder / "build", ROOT, f"--prefix={prefix}", "-Dtests=false", "--libdir=lib", "-Doptimization=0",
            "-Ddebug=false")
        run("meson", "install", "-C", cls.folder / "build")
        return prefix

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
        package, source = next(self.prefix.rglob("ppsched/__main__.py")).parent, ROOT / "bindings" / "python" / "ppsched"
        modules = {path.relative_to(source) for path in source.rglob("*.py")}
        self.assertEqual({path.relative_to(package) for path in package.rglob("*.py")}, modules)
        wanted = {path.name for path in (source / "page" / "report_page").iterdir()}
        self.assertEqual({path.name for path in (package / "page" / "report_page").iterdir()}, wanted)
        wanted = {path.name for path in (source / "page" / "live_page").iterdir()} | {"abi.mjs", "ppsched.mjs"}
        self.assertEqual({path.name for path in (package / "page" / "live_page").iterdir()} - {"ppsched.wasm"}, wanted)

    def test_report(self):
        page = self.folder / "report.html"
        run(self.prefix / "bin" / "ppsched", "compare", "-s", 4, "-b", 8, "-o", page, cwd="/")
        self.assertIn("</html>", page.read_text(encoding="utf-8"))

    def test_subproject(self):
        """Of a project in C and C++, shared and static; it installs the library alone."""
        project = self.folder / "outside"
        (project / "subprojects").mkdir(parents=True)
        (project / "subprojects" / "ppsched").symlink_to(ROOT)
        for source in (CONSUMER, CPP_CONSUMER):
            shutil.copy(source, project)
        consumers = {"c": CONSUMER.name, "cpp": CPP_CONSUMER.name}
        (project / "meson.build").write_text(
            "project('outside', 'c', 'cpp', default_options: 'cpp_std=c++17')\n"
            "ppsched = dependency('ppsched', fallback: 'ppsched')\n"
            + "".join(f"executable('consumer_{name}', '{source}', dependencies: ppsched)\n" for name, source in consumers.items())
            + "library = subproject('ppsched').get_variable('ppsched_library').get_static_lib()\n"
            f"executable('consumer_static', '{CONSUMER.name}', link_with: library, dependencies: ppsched.partial_dependency(includes: true))\n",
            encoding="utf-8")
        told = run("meson", "setup", project / "build", project, "-Ddefault_library=both", f"--prefix={project / 'prefix'}",
                   "--libdir=lib", "-Doptimization=0", "-Ddebug=false")
        self.assertRegex(told, r"(?i)as a subproject *: (true|YES)")
        self.assertRegex(told, r"(?i)Python package and command *: (false|NO)")
        run("meson", "compile", "-C", project / "build")
        for name in (*consumers, "static"):
            self.assertEqual(run(project / "build" / f"consumer_{name}"), "makespan 33")
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


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
