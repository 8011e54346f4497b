# SPDX-License-Identifier: Apache-2.0
"""Builds libppsched with meson and bundles it with the package, as WebAssembly too. A source distribution has the sources of the
library in the folder native. If PPSCHED_BUNDLE names a library that was built elsewhere, the wheel has this one; if it is empty, the wheel
has none, and is for every system that no other wheel is for."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist
from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
NATIVE = HERE / "native"
ROOT = NATIVE if NATIVE.exists() else HERE.parent.parent
WASM = ROOT / "bindings" / "wasm"
SOURCES = ("LICENSE", "meson.build", "meson_options.txt", "include", "lib", "bindings/meson.build", "bindings/cmake", "bindings/cpp", "bindings/wasm",
           "bindings/python/install_tools.sh")
BUNDLE = os.environ.get("PPSCHED_BUNDLE")  # None: build the library
LACKING = 3  # exit code of build.sh


def number(name):
    header = (ROOT / "include" / "ppsched" / "version.h").read_text(encoding="utf-8")
    return re.search(rf"#define PPSCHED_{name} (\d+)", header)[1]


def build_wasm():
    """Makes ppsched.wasm where its compiler is; without it all works but the live page. PPSCHED_WASM names one that was built elsewhere."""
    if NATIVE.exists() and (WASM / "ppsched.wasm").exists():
        return
    if given := os.environ.get("PPSCHED_WASM"):
        if pathlib.Path(given).resolve() != (WASM / "ppsched.wasm").resolve():
            shutil.copy(given, WASM / "ppsched.wasm")
        return
    code = subprocess.run([WASM / "build.sh", WASM / "ppsched.wasm"], check=False, stdout=sys.stderr).returncode
    if code == LACKING and not os.environ.get("PPSCHED_NEEDS_WASM") and BUNDLE != "":
        print("the package is built without the live page (ppsched live)", file=sys.stderr)
    elif code:
        raise SystemExit("bindings/wasm/build.sh failed")


class BuildWithLibrary(build_py):
    """Puts the library beside the modules, if the wheel has one."""

    def run(self):
        super().run()
        package = pathlib.Path(self.build_lib) / "ppsched"
        for former in (*package.glob("libppsched*"), *package.glob("_without_library")):
            former.unlink()  # of another wheel
        if BUNDLE is None:
            self.build_library(package)
        elif BUNDLE:
            shutil.copy(BUNDLE, package)
        else:
            (package / "_without_library").touch()
        build_wasm()
        for name in ("abi.mjs", "ppsched.mjs", "ppsched.wasm"):
            if (WASM / name).exists():
                shutil.copy(WASM / name, package / "page" / "live_page")

    def build_library(self, package):
        soname = f"libppsched.{number('ABI_VERSION')}.dylib" if sys.platform == "darwin" else f"libppsched.so.{number('ABI_VERSION')}"
        with tempfile.TemporaryDirectory() as build:
            setup_words = ["meson", "setup", build, str(ROOT), "--buildtype=release", "--strip", "-Dtests=false", "-Dpython=false",
                           "-Ddefault_library=shared"]
            for words in (setup_words, ["meson", "compile", "-C", build]):
                if subprocess.run(words, check=False).returncode:
                    raise SystemExit("ppsched: the library could not be built, see above; its build needs a C compiler and the headers of libc "
                                     "(Debian, Ubuntu: apt-get install gcc libc6-dev)")
            shutil.copyfile(pathlib.Path(build) / "lib" / soname, package / soname)


class SdistWithLibrary(sdist):
    """Has what the library is built of, and ppsched.wasm."""

    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        build_wasm()
        for name in SOURCES:
            source, target = ROOT / name, pathlib.Path(base_dir, "native", name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("ppsched.wasm.*", "__pycache__"))
            else:
                shutil.copy(source, target)


class PlatformWheel(bdist_wheel):
    """Any Python 3, but one platform if it has a library; with the license."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = BUNDLE == ""

    def get_tag(self):
        return ("py3", "none", "any" if BUNDLE == "" else super().get_tag()[2])

    def write_wheelfile(self, wheelfile_base, *arguments, **options):
        super().write_wheelfile(wheelfile_base, *arguments, **options)
        shutil.copy(ROOT / "LICENSE", wheelfile_base)


class BinaryDistribution(Distribution):
    """Holds a library, but for the wheel that has none."""

    def has_ext_modules(self):
        return BUNDLE != ""


setup(
    version=".".join(number(f"VERSION_{part}") for part in ("MAJOR", "MINOR", "PATCH")),
    distclass=BinaryDistribution,
    cmdclass={"build_py": BuildWithLibrary, "sdist": SdistWithLibrary, "bdist_wheel": PlatformWheel},
)
