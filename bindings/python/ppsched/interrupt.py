# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C during a call into the library."""
import signal
import threading
from types import FrameType
from typing import Callable, Optional


class Interrupts:
    """As a context manager: what the handler of Ctrl-C raises is kept in `error`, as it would get lost where C calls Python, and
    comes out at the end. Outside the main thread, and where there is no handler, nothing changes."""

    def __init__(self) -> None:
        self.error: Optional[BaseException] = None
        self._handler: Optional[Callable[[int, Optional[FrameType]], object]] = None

    def __enter__(self) -> "Interrupts":
        handler = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(handler):
            self._handler = handler
            signal.signal(signal.SIGINT, self._handle)
        return self

    def _handle(self, number: int, frame: Optional[FrameType]) -> None:
        try:
            if self._handler is not None:
                self._handler(number, frame)
        except BaseException as error:  # comes out at the end
            self.error = error

    def __exit__(self, *_: object) -> None:
        if self._handler is not None:
            signal.signal(signal.SIGINT, self._handler)
        if self.error is not None:
            raise self.error from None
