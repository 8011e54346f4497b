# SPDX-License-Identifier: Apache-2.0
"""Finds, loads and checks libppsched, and turns its statuses into exceptions."""
import ctypes
import os
import pathlib

from . import _abi

_HERE = pathlib.Path(__file__).resolve().parent


class Error(Exception):
    """What the library says when a call fails.

    status: the ppsched.Status; device, stage, microbatch, position: where, or None.
    """

    def __init__(self, message, status=_abi.Status.ERROR_ARGUMENT, record=None):
        super().__init__(message)
        self.status = _abi.Status(status)
        for field in ("device", "stage", "microbatch", "position"):
            value = getattr(record, field, _abi.NONE)
            setattr(self, field, None if value == _abi.NONE else value)


class Refused(Error):
    """A strategy cannot serve the problem, or a runtime the schedule; the message says why, and what would work."""


class InvalidSchedule(Error):
    """A schedule is incomplete, or cannot be run."""


class Cancelled(Error):
    """A progress function asked to stop."""


_CLASSES = {_abi.Status.ERROR_CANCELLED: Cancelled, _abi.Status.ERROR_REFUSED: Refused,
            _abi.Status.ERROR_INVALID_SCHEDULE: InvalidSchedule}


def _candidates():
    """Where the library may be, best first: named by the caller, bundled, in the source tree's build, installed."""
    soname = f"libppsched.so.{_abi.ABI_VERSION}"
    if "PPSCHED_LIBRARY" in os.environ:
        return [os.environ["PPSCHED_LIBRARY"]]
    found = [_HERE / soname]
    if len(_HERE.parents) > 2:
        builds = [path for path in sorted(_HERE.parents[2].glob(f"build*/lib/{soname}")) if "sanitize" not in str(path)]
        found += sorted(builds, key=lambda path: path.parts[-3] != "build-run")  # that of run.sh first: it is kept up to date
    installed = _HERE / "_installed_library.txt"
    if installed.exists():
        found.append(pathlib.Path(installed.read_text(encoding="utf-8").strip()))
    return [str(path) for path in found if path.exists()] + [soname]


def _load():
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            reason = error
            continue
        _check_version(library, path)
        for name, (result, arguments) in _abi.FUNCTIONS.items():
            function = getattr(library, name, None)
            if function is None:
                raise ImportError(f"{path} has no {name}; it is older than this package, build it again")
            function.restype, function.argtypes = result, arguments
        return library
    raise ImportError(f"cannot load libppsched ({reason}); build it with meson, or set PPSCHED_LIBRARY to its path")


def _check_version(library, path):
    """Turns down a library of another ABI, or one that is older than this package."""
    wanted = 10000 * _abi.VERSION_MAJOR + 100 * _abi.VERSION_MINOR + _abi.VERSION_PATCH
    for name in ("ppsched_abi_version", "ppsched_version"):
        if not hasattr(library, name):
            raise ImportError(f"{path} is no libppsched: it has no {name}")
        getattr(library, name).restype = ctypes.c_uint32
    if library.ppsched_abi_version() != _abi.ABI_VERSION:
        raise ImportError(f"{path} has ABI {library.ppsched_abi_version()}; this package needs ABI {_abi.ABI_VERSION}")
    if library.ppsched_version() < wanted:
        raise ImportError(f"{path} is release {library.ppsched_version()}; this package needs {wanted} or newer")


lib = _load()


def encoded(what, text):
    """A text as C takes it; turns down what C would cut short or cannot hold."""
    if not isinstance(text, str):
        raise Error(f"{what} must be a text, not {text!r}")
    if "\0" in text:
        raise Error(f"{what} {text!r} holds a NUL character")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise Error(f"{what} {text!r} is no Unicode text") from None


def call(function, *arguments):
    """Calls a function whose last argument is an error record; raises where it fails."""
    record = _abi.Error()
    status = function(*arguments, ctypes.byref(record))
    if status != _abi.Status.OK:
        message = record.message.decode("utf-8", "replace") or lib.ppsched_status_text(status).decode()
        raise _CLASSES.get(status, Error)(message, status, record)


def check(status):
    """Raises where a call without an error record failed."""
    if status != _abi.Status.OK:
        raise Error(lib.ppsched_status_text(status).decode(), status)


def new_handle(function, *arguments):
    """Calls a function that makes a handle through its first argument."""
    handle = ctypes.c_void_p()
    call(function, ctypes.byref(handle), *arguments)
    return handle
