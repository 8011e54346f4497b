# SPDX-License-Identifier: Apache-2.0
"""Finds, loads and checks libppsched, and turns its statuses into exceptions."""
import ctypes
import os
import pathlib
from typing import Callable, Dict, List, Optional, Type

from . import _abi
from .shown import shown

_HERE = pathlib.Path(__file__).resolve().parent.parent  # the folder of the package
_SONAME = f"libppsched.so.{_abi.ABI_VERSION}"


class Error(Exception):
    """A failed call, with the library's message.

    status: the ppsched.Status; device, stage, microbatch, position: where the error is, or None.
    """

    status: _abi.Status
    device: Optional[int]
    stage: Optional[int]
    microbatch: Optional[int]
    position: Optional[int]

    def __init__(self, message: str, status: int = _abi.Status.ERROR_ARGUMENT, record: Optional[_abi.Error] = None) -> None:
        super().__init__(message)
        self.status = _abi.Status(status)
        for field in ("device", "stage", "microbatch", "position"):
            value = getattr(record, field, _abi.NONE)
            setattr(self, field, None if value == _abi.NONE else value)


class Refused(Error):
    """A strategy does not support the problem, or a runtime the schedule. The message says why, and what would work."""


class InvalidSchedule(Error):
    """A schedule is incomplete or cannot run."""


class Cancelled(Error):
    """A progress callback stopped the call."""


_CLASSES: Dict[int, Type[Error]] = {_abi.Status.ERROR_CANCELLED: Cancelled, _abi.Status.ERROR_REFUSED: Refused,
                                    _abi.Status.ERROR_INVALID_SCHEDULE: InvalidSchedule}


# C names in the library's messages, and the Python names for them.
_NAMES = {"without PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY": "with latest=True", "PPSCHED_EVALUATE_FLAG_REUSABLE": "reusable=True",
          "PPSCHED_NONE": "None", "ppsched_schedule_renumber": "Schedule.renumber"}


def _candidates() -> List[str]:
    """Where the library may be, in order: given by the caller, bundled, in a build of the source tree, installed."""
    if "PPSCHED_LIBRARY" in os.environ:
        return [os.environ["PPSCHED_LIBRARY"]]
    found = [_HERE / _SONAME]
    if len(_HERE.parents) > 2 and (_HERE.parents[2] / "meson.build").exists():
        pattern = f"build*/lib/{_SONAME}"
        builds = [path for path in sorted(_HERE.parents[2].glob(pattern)) if "sanitize" not in str(path)]
        found += sorted(builds, key=lambda path: path.parts[-3] != "build-run")  # the build of run.sh first, as it is kept up to date
        found += [] if builds else [_HERE.parents[2] / pattern]
    installed = _HERE / "_installed_library.txt"
    if installed.exists():
        found.append(pathlib.Path(installed.read_text(encoding="utf-8").strip()))
    return [str(path) for path in found] + [_SONAME]


def _load() -> _abi.Library:
    reasons: List[str] = []
    for path in _candidates():
        if os.path.isabs(path) and not os.path.exists(path):
            reasons.append(f"{path} (not found)")
            continue
        try:
            library = _abi.Library(path)
        except OSError as error:
            reason = str(error).removeprefix(f"{path}: ")
            reasons.append(f"{path if os.path.isabs(path) else path + ' of the system'} ({reason})")
            continue
        _check_version(library, path)
        for name, (result, arguments) in _abi.FUNCTIONS.items():
            function = getattr(library, name, None)
            if function is None:
                raise ImportError(f"{path} has no {name}; it is older than this package, build it again")
            function.restype, function.argtypes = result, arguments
        return library
    raise ImportError(f"cannot load {_SONAME}; tried {', '.join(reasons)}; {_advice()}")


def _advice() -> str:
    """What to do if the library is not found."""
    if "PPSCHED_LIBRARY" in os.environ:
        return f"set PPSCHED_LIBRARY to the path of {_SONAME}, or unset it"
    return "build it (meson setup build && ninja -C build), install it, or set PPSCHED_LIBRARY to its path"


def _check_version(library: ctypes.CDLL, path: str) -> None:
    """Raises for a library with another ABI, or one older than this package."""
    wanted = 10000 * _abi.VERSION_MAJOR + 100 * _abi.VERSION_MINOR + _abi.VERSION_PATCH
    for name in ("ppsched_abi_version", "ppsched_version"):
        if not hasattr(library, name):
            raise ImportError(f"{path} is not libppsched: it has no {name}")
        getattr(library, name).restype = ctypes.c_uint32
    if library.ppsched_abi_version() != _abi.ABI_VERSION:
        raise ImportError(f"{path} has ABI {library.ppsched_abi_version()}; this package needs ABI {_abi.ABI_VERSION}")
    if library.ppsched_version() < wanted:
        raise ImportError(f"{path} is release {library.ppsched_version()}; this package needs {wanted} or newer")


lib = _load()


def encoded(what: str, text: object) -> bytes:
    """Encodes a text for C. Raises for texts that C would cut or cannot hold."""
    if not isinstance(text, str):
        raise Error(f"{what} must be a text, not {shown(text)}")
    if "\0" in text:
        raise Error(f"{what} {shown(text)} contains a NUL character")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Error(f"{what} {shown(text)} is not valid Unicode") from None


def decoded(text: Optional[bytes]) -> str:
    """A text of the library; empty if there is none."""
    return "" if text is None else text.decode("utf-8", "replace")


def call(function: Callable[..., int], *arguments: object) -> None:
    """Calls a function whose last argument is an error record; raises if it fails."""
    record = _abi.Error()
    status = function(*arguments, ctypes.byref(record))
    if status != _abi.Status.OK:
        message = decoded(record.message) or decoded(lib.ppsched_status_text(status))
        for name, ours in _NAMES.items():
            message = message.replace(name, ours)
        raise _CLASSES.get(status, Error)(message, status, record)


def new_handle(function: Callable[..., int], *arguments: object) -> ctypes.c_void_p:
    """Calls a function that makes a handle through its first argument."""
    handle = ctypes.c_void_p()
    call(function, ctypes.byref(handle), *arguments)
    return handle
