# SPDX-License-Identifier: Apache-2.0
"""How the command starts and ends: Ctrl-C and a missing library print one line, never a traceback; incomplete files are removed when the
command is terminated.

If another program imports the package, nothing here has an effect.
"""
from __future__ import annotations

import _signal  # type: ignore[import]
import gc
import os
import sys

TYPE_CHECKING = False  # importing typing and signal takes milliseconds, in which Ctrl-C would still print a traceback
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import NoReturn, Optional, Set, Type

INTERRUPTED = 130  # exit code, as in a shell
_ENDING = tuple(getattr(_signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(_signal, name))  # Windows has no SIGHUP
_SCRIPTS = ("ppsched", "ppsched.exe", "ppsched.in")


def _is_command() -> bool:
    """Whether this process is the ppsched command: its script, or python3 -m ppsched."""
    program = (getattr(sys, "argv", None) or [""])[0]
    if program != "-m":  # its value while Python looks for the module
        return os.path.basename(program) in _SCRIPTS
    words = getattr(sys, "orig_argv", [])  # from Python 3.10 on
    return "-m" in words[:-1] and words[words.index("-m") + 1].split(".")[0] == "ppsched"


IS_COMMAND = _is_command()  # while Python looks for the module; later it cannot be told


def _say(text: str) -> None:
    """Prints a line on standard error, also if Python is not ready yet, or is already ending."""
    try:
        os.write(2, f"ppsched: {text}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        pass


unfinished: Set[str] = set()  # files to remove if the process ends at once


def _drop_unfinished() -> None:
    for path in list(unfinished):
        try:
            os.unlink(path)
        except OSError:
            pass


def _leave(_number: int = 0, _frame: Optional[FrameType] = None) -> NoReturn:
    """Handles Ctrl-C where Python would lose an exception: ends the process at once."""
    _drop_unfinished()
    _say("interrupted")
    os._exit(INTERRUPTED)


def _quit(number: int, _frame: Optional[FrameType] = None) -> NoReturn:
    """Handles SIGTERM and SIGHUP, with the exit code that a shell uses for them."""
    _drop_unfinished()
    os._exit(128 + number)


def drop_output() -> None:
    """What is still to be written goes nowhere, so that Python does not try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class Start:
    """A context manager around the imports of the package: if the command misses something that they need, it prints one line. Meanwhile
    the command collects no garbage, and later collections leave out what was imported, which stays."""

    def __enter__(self) -> None:
        if IS_COMMAND:
            gc.disable()
        if IS_COMMAND and callable(_signal.getsignal(_signal.SIGINT)):  # else it is ignored, as in the background
            _signal.signal(_signal.SIGINT, _leave)
        for number in _ENDING if IS_COMMAND else ():
            if _signal.getsignal(number) == _signal.SIG_DFL:  # else it is ignored, as with nohup
                _signal.signal(number, _quit)

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if IS_COMMAND:
            gc.freeze()
            gc.enable()
        if IS_COMMAND and isinstance(error, ImportError) and not getattr(error, "is_answered", False):
            _say(" ".join(str(error).split()))
            raise SystemExit(1) from None


class Interruptible:
    """A context manager around the command's work: Ctrl-C raises KeyboardInterrupt, so that unfinished work is cleaned up. Where Python
    would lose that, as in finalizers, the process ends at once."""

    def __init__(self) -> None:
        self._is_ours = _signal.getsignal(_signal.SIGINT) is _leave

    def __enter__(self) -> None:
        if self._is_ours:
            sys.unraisablehook = self._lost
            _signal.signal(_signal.SIGINT, _signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        if self._is_ours:
            _signal.signal(_signal.SIGINT, _leave)

    @staticmethod
    def _lost(unraisable: sys.UnraisableHookArgs) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            _leave()
        sys.__unraisablehook__(unraisable)
