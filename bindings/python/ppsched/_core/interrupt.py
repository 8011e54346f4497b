# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C and termination signals during a call into the library."""
import signal
import threading
from types import FrameType
from typing import Callable, Dict, Optional


_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))  # Windows has no SIGHUP
Handler = Callable[[int, Optional[FrameType]], object]


class Interrupts:
    """As a context manager: an exception from a handler of these signals would be lost where C calls Python, so it is kept in `error` and
    raised at the end. Outside the main thread, and without a handler, nothing changes."""

    def __init__(self) -> None:
        self.error: Optional[BaseException] = None
        self._handlers: Dict[int, Handler] = {}

    def __enter__(self) -> "Interrupts":
        for number in _SIGNALS if threading.current_thread() is threading.main_thread() else ():
            handler = signal.getsignal(number)
            if callable(handler):
                self._handlers[number] = handler
                signal.signal(number, self._handle)
        return self

    def _handle(self, number: int, frame: Optional[FrameType]) -> None:
        try:
            self._handlers[number](number, frame)
        except BaseException as error:  # raised at the end
            self.error = error

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            if signal.getsignal(number) == self._handle:  # else it was changed meanwhile
                signal.signal(number, handler)
        if self.error is not None:
            raise self.error from None
