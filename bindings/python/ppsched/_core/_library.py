# SPDX-License-Identifier: Apache-2.0
"""The library with the types of its functions; turns its statuses into exceptions."""
import ctypes
from typing import Callable, Dict, Optional, Type

from . import _abi
from .errors import Cancelled as Cancelled, Error as Error, InvalidSchedule as InvalidSchedule, Refused as Refused
from .finding import load
from .shown import shown


_CLASSES: Dict[int, Type[Error]] = {_abi.Status.ERROR_CANCELLED: Cancelled, _abi.Status.ERROR_REFUSED: Refused,
                                    _abi.Status.ERROR_INVALID_SCHEDULE: InvalidSchedule}


# C names in the library's messages, and the Python names for them.
_NAMES = {"without PPSCHED_EVALUATE_FLAG_EARLIEST_ONLY": "with latest=True", "PPSCHED_EVALUATE_FLAG_REUSABLE": "reusable=True",
          "PPSCHED_NONE": "None", "ppsched_schedule_renumber": "Schedule.renumber"}


def _typed(library: _abi.Library) -> _abi.Library:
    for name, (result, arguments) in _abi.FUNCTIONS.items():
        function = getattr(library, name, None)
        if function is None:
            raise ImportError(f"{library._name} has no {name}; it is older than this package, build it again")
        function.restype, function.argtypes = result, arguments
    return library


lib = _typed(load(_abi.Library))


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
