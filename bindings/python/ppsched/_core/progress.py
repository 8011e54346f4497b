# SPDX-License-Identifier: Apache-2.0
"""A progress bar for searches, on a terminal."""
import math
import sys
import time
from typing import Optional, TextIO

WIDTH, PATIENCE = 30, 0.3  # characters; seconds before the bar appears


class ProgressBar:
    """A callback for `progress` of ppsched.generate, and a context manager that removes the bar at the end. Draws nothing if the stream is
    not a terminal."""

    def __init__(self, stream: Optional[TextIO] = None) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._is_terminal = self._stream is not None and self._stream.isatty()  # None if it was closed
        self._start, self._drawn = time.monotonic(), ""

    def __enter__(self) -> "ProgressBar":
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            self._draw("")

    def __call__(self, share: float, best: float) -> None:
        self.show("searching", share, best)

    def show(self, what: str, share: float, best: float) -> None:
        """The same with other words before the bar."""
        if self._is_terminal and time.monotonic() - self._start > PATIENCE:
            filled = round(share * WIDTH)
            found = f", best {best:g}" if math.isfinite(best) else ""
            self._draw(f"{what} [{'#' * filled}{'.' * (WIDTH - filled)}] {100 * share:3.0f} %{found}")

    def _draw(self, text: str) -> None:
        if text != self._drawn:
            self._stream.write("\r" + text.ljust(len(self._drawn)) + ("" if text else "\r"))
            self._stream.flush()
            self._drawn = text
