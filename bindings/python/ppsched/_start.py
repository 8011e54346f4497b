# SPDX-License-Identifier: Apache-2.0
"""How the command begins and ends: Ctrl-C and a missing library give one line, never a traceback; what is half written goes away
when the command is told to end.

Where the package is imported by other programs nothing here acts.
"""
from __future__ import annotations

import _signal  # type: ignore[import]
import os
import sys

TYPE_CHECKING = False  # typing and signal take milliseconds, in which Ctrl-C would still give a traceback
if TYPE_CHECKING:
    from types import FrameType, TracebackType
    from typing import NoReturn, Optional, Set, Type

INTERRUPTED = 130  # exit status, as a shell has it
_ENDING = (_signal.SIGTERM, _signal.SIGHUP)
_SCRIPTS = ("ppsched", "ppsched.in")


def _is_command() -> bool:
    """Whether this process is the ppsched command: its script, or python3 -m ppsched."""
    program = (getattr(sys, "argv", None) or [""])[0]
    if program != "-m":  # as it is while Python looks for the module
        return os.path.basename(program) in _SCRIPTS
    words = getattr(sys, "orig_argv", [])  # from Python 3.10 on
    return "-m" in words[:-1] and words[words.index("-m") + 1].split(".")[0] == "ppsched"


IS_COMMAND = _is_command()  # while Python looks for the module; later it cannot be told


def _say(text: str) -> None:
    """A line on standard error, also where Python is not ready for that, or not any more."""
    try:
        os.write(2, f"ppsched: {text}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        pass


unfinished: Set[str] = set()  # files that go away where the process ends at once


def _drop_unfinished() -> None:
    for path in list(unfinished):
        try:
            os.unlink(path)
        except OSError:
            pass


def _leave(_number: int = 0, _frame: Optional[FrameType] = None) -> NoReturn:
    """What Ctrl-C does where Python would lose an exception: the process ends at once."""
    _drop_unfinished()
    _say("interrupted")
    os._exit(INTERRUPTED)


def _quit(number: int, _frame: Optional[FrameType] = None) -> NoReturn:
    """What SIGTERM and SIGHUP do, with the status that a shell has for them."""
    _drop_unfinished()
    os._exit(128 + number)


def drop_output() -> None:
    """What is still to be written goes nowhere, so that Python does not try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


class Start:
    """As a context manager around the package's imports: of a command that lacks what they need it is said in one line."""

    def __enter__(self) -> None:
        if IS_COMMAND and callable(_signal.getsignal(_signal.SIGINT)):  # else it is ignored, as in the background
            _signal.signal(_signal.SIGINT, _leave)
        for number in _ENDING if IS_COMMAND else ():
            if _signal.getsignal(number) == _signal.SIG_DFL:  # else it is ignored, as with nohup
                _signal.signal(number, _quit)

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        if IS_COMMAND and isinstance(error, ImportError):
            _say(" ".join(str(error).split()))
            raise SystemExit(1) from None


class Interruptible:
    """As a context manager around the command's work: there Ctrl-C raises KeyboardInterrupt, so that what is half done is put in
    order. Where Python would lose that, as in finalizers, the process ends at once."""

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
