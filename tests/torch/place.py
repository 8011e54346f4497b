# SPDX-License-Identifier: Apache-2.0
"""Where PyTorch is, and programs run there with this package.

PPSCHED_TORCH names a tree of its own with PyTorch, whose python3 is run by chroot; or PPSCHED_TORCH_PYTHON the Python that has
PyTorch, words separated by blanks, such as "chroot /some/tree python3". Without either it is the Python of the tests.
"""
import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import ppsched
from ppsched._core import _library

TREE = os.environ.get("PPSCHED_TORCH")
PYTHON = ["chroot", TREE, "python3"] if TREE else os.environ.get("PPSCHED_TORCH_PYTHON", sys.executable).split()
# Without uv, which Debian's has not; and its transports tell nothing where programs print what they found.
ENVIRONMENT = {**os.environ, "USE_LIBUV": "0", "MASTER_ADDR": "127.0.0.1", "UCX_LOG_LEVEL": "fatal"}
HERE = pathlib.Path(__file__).resolve().parent
PROBE = ("import sys, torch, torch.distributed.pipelining\n"
         "sys.exit(tuple(map(int, torch.__version__.split('+')[0].split('.')[:2])) < (2, 6))")
MISSING = "PyTorch >= 2.6 is missing (see tests/torch/place.py)"


def has_torch():
    try:
        return subprocess.run([*PYTHON, "-c", PROBE], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


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


def run(program, *words, timeout=900):
    """What a program of this folder prints, JSON, run by the Python that has PyTorch."""
    with folder() as (_, there):
        environment = {**ENVIRONMENT, "PYTHONPATH": there, "PPSCHED_LIBRARY": f"{there}/libppsched.so.1"}
        result = subprocess.run([*PYTHON, f"{there}/{program}", *map(str, words)], capture_output=True, text=True, check=False,
                                timeout=timeout, env=environment)
    if result.returncode != 0:
        raise AssertionError(result.stderr[-4000:])
    return json.loads(result.stdout)
