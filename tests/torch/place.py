# SPDX-License-Identifier: Apache-2.0
"""Where PyTorch is, and programs run there with this package.

It is that of the tests' frameworks (tests/frameworks). By hand PPSCHED_TORCH_PYTHON names another Python that has PyTorch, 2.6 or
later, words separated by blanks; or PPSCHED_TORCH a tree of its own with PyTorch, whose python3 is run by chroot.
"""
import contextlib
import os
import pathlib
import shutil
import sys
import tempfile

import ppsched
from ppsched._core import _library

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.with_name("frameworks")))
import framework  # noqa: E402

TREE = os.environ.get("PPSCHED_TORCH")
NAMED = ["chroot", TREE, "python3"] if TREE else os.environ.get("PPSCHED_TORCH_PYTHON", "").split()
PYTHON = NAMED or [framework.PYTHON]
# Without uv, which Debian's has not; and its transports tell nothing where programs print what they found.
ENVIRONMENT = {**framework.ENVIRONMENT, "USE_LIBUV": "0", "MASTER_ADDR": "127.0.0.1", "UCX_LOG_LEVEL": "fatal"}


def why_missing():
    return "" if NAMED else framework.why_missing("torch")


@contextlib.contextmanager
def folder():
    """One that both Pythons see, with this package, its library and the programs: its path here, and there."""
    root = PYTHON[1] if PYTHON[0] == "chroot" else ""
    with tempfile.TemporaryDirectory(dir=f"{root}/tmp" if root else None) as name:
        shutil.copytree(pathlib.Path(ppsched.__file__).parent, f"{name}/ppsched", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(_library.lib._name, f"{name}/libppsched.so.1")
        for program in [*HERE.glob("*.py"), *(HERE.parents[1] / "docs" / "examples").glob("pytorch_*.py")]:
            shutil.copy(program, name)
        yield name, name.removeprefix(root)


def run(program, *words, timeout=900, **given):
    """What a program of this folder prints, JSON, run by the Python that has PyTorch."""
    with folder() as (_, there):
        environment = {**ENVIRONMENT, "PYTHONPATH": there, "PPSCHED_LIBRARY": f"{there}/libppsched.so.1"}
        return framework.run([f"{there}/{program}", *words], timeout, PYTHON, env=environment, **given)
