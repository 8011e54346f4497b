# SPDX-License-Identifier: Apache-2.0
"""Finds, loads and checks libppsched."""
from __future__ import annotations

import ctypes
import os
import sys

from . import _abi_version

TYPE_CHECKING = False  # typing takes milliseconds
if TYPE_CHECKING:
    from typing import Callable, List, TypeVar
    Loaded = TypeVar("Loaded", bound=ctypes.CDLL)

_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def library_name(platform: str) -> str:
    """The library's file where sys.platform is this."""
    abi = _abi_version.ABI_VERSION
    if platform == "win32":
        return f"libppsched-{abi}.dll"
    return f"libppsched.{abi}.dylib" if platform == "darwin" else f"libppsched.so.{abi}"


_SONAME = library_name(sys.platform)


class NoLibrary(ImportError):
    """The package is of the wheel that has no library: the live page is all that works."""

    is_answered = True  # by the command


def _candidates() -> List[str]:
    """Where the library may be, in order: given by the caller, bundled, in a build of the source tree, installed."""
    if "PPSCHED_LIBRARY" in os.environ:
        return [os.environ["PPSCHED_LIBRARY"]]
    found = [os.path.join(_PACKAGE, _SONAME)]
    tree = os.path.realpath(os.path.join(_PACKAGE, "..", "..", ".."))
    if os.path.exists(os.path.join(tree, "meson.build")):
        names = sorted(name for name in os.listdir(tree) if name.startswith("build") and "sanitize" not in name)
        names.sort(key=lambda name: name != "build-run")  # that of run.sh first: it is kept up to date
        builds = [os.path.join(tree, name, "lib", _SONAME) for name in names]
        builds = [path for path in builds if os.path.exists(path)]
        found += builds or [os.path.join(tree, "build*", "lib", _SONAME)]
    installed = os.path.join(_PACKAGE, "_installed_library.txt")
    if os.path.exists(installed):
        with open(installed, encoding="utf-8") as file:
            found.append(file.read().strip())
    return [*found, _SONAME]


def load(kind: Callable[[str], Loaded]) -> Loaded:
    """The library as an object of a kind of ctypes.CDLL."""
    reasons: List[str] = []
    for path in _candidates():
        if os.path.isabs(path) and not os.path.exists(path):
            reasons.append(f"{path} (not found)")
            continue
        try:
            library = kind(path)
        except OSError as error:
            reason = str(error).removeprefix(f"{path}: ")
            reasons.append(f"{path if os.path.isabs(path) else path + ' of the system'} ({reason})")
            continue
        check_version(library, path)
        return library
    if "PPSCHED_LIBRARY" not in os.environ and os.path.exists(os.path.join(_PACKAGE, "_without_library")):
        raise NoLibrary(f"this package has no {_SONAME}, as no wheel has it for this system; these work here: ppsched live -o FILE.html, which writes a "
                        "page that plans in a browser; the npm package ppsched; a build of the sources, with PPSCHED_LIBRARY set to the library")
    raise ImportError(f"cannot load {_SONAME}; tried {', '.join(reasons)}; {_advice()}")


def _advice() -> str:
    """What to do if the library is not found."""
    if "PPSCHED_LIBRARY" in os.environ:
        return f"set PPSCHED_LIBRARY to the path of {_SONAME}, or unset it"
    return "build it (meson setup build && ninja -C build), install it, or set PPSCHED_LIBRARY to its path"


def check_version(library: ctypes.CDLL, path: str) -> None:
    """Raises for a library with another ABI, or one older than this package."""
    wanted = 10000 * _abi_version.VERSION_MAJOR + 100 * _abi_version.VERSION_MINOR + _abi_version.VERSION_PATCH
    for name in ("ppsched_abi_version", "ppsched_version"):
        if not hasattr(library, name):
            raise ImportError(f"{path} is not libppsched: it has no {name}")
        getattr(library, name).restype = ctypes.c_uint32
    if library.ppsched_abi_version() != _abi_version.ABI_VERSION:
        raise ImportError(f"{path} has ABI {library.ppsched_abi_version()}; this package needs ABI {_abi_version.ABI_VERSION}")
    if library.ppsched_version() < wanted:
        raise ImportError(f"{path} is release {library.ppsched_version()}; this package needs {wanted} or newer")


def version_text() -> str:
    """The library's own."""
    version = load(ctypes.CDLL).ppsched_version_text
    version.restype = ctypes.c_char_p
    text: bytes = version()
    return text.decode("utf-8")
