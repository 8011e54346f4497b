# SPDX-License-Identifier: Apache-2.0
"""Builds libppsched with meson and bundles it with the package, as WebAssembly too where that is built."""
import pathlib
import re
import shutil
import subprocess
import tempfile

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from wheel.bdist_wheel import bdist_wheel

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def number(name):
    header = (ROOT / "include" / "ppsched" / "version.h").read_text(encoding="utf-8")
    return re.search(rf"#define PPSCHED_{name} (\d+)", header)[1]


class BuildWithLibrary(build_py):
    """Puts the library beside the modules."""

    def run(self):
        super().run()
        soname = f"libppsched.so.{number('ABI_VERSION')}"
        with tempfile.TemporaryDirectory() as build:
            subprocess.run(["meson", "setup", build, str(ROOT), "--buildtype=release", "--strip", "-Dtests=false",
                            "-Dpython=false", "-Ddefault_library=shared"], check=True)
            subprocess.run(["meson", "compile", "-C", build], check=True)
            target = pathlib.Path(self.build_lib) / "ppsched" / soname
            shutil.copyfile(pathlib.Path(build) / "lib" / soname, target)
        for name in ("abi.mjs", "ppsched.mjs", "ppsched.wasm"):  # the last where bindings/wasm/build.sh has made it
            if (ROOT / "bindings" / "wasm" / name).exists():
                shutil.copy(ROOT / "bindings" / "wasm" / name, pathlib.Path(self.build_lib) / "ppsched" / "page" / "live_page")


class PlatformWheel(bdist_wheel):
    """Any Python 3, but one platform."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return ("py3", "none", super().get_tag()[2])


class BinaryDistribution(Distribution):
    """Holds a library."""

    def has_ext_modules(self):
        return True


setup(
    version=".".join(number(f"VERSION_{part}") for part in ("MAJOR", "MINOR", "PATCH")),
    distclass=BinaryDistribution,
    cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel},
)
