# SPDX-License-Identifier: Apache-2.0
"""The width of text output."""
import os
import sys
from typing import Optional, TextIO

_WIDE = 200  # columns; wider than usual terminals


def _terminal_columns() -> int:
    """The columns of the user's terminal, also if standard output is a pipe or a file; 0: there is no terminal."""
    if os.environ.get("COLUMNS", "").isdecimal():
        return int(os.environ["COLUMNS"])
    for stream in (sys.stdout, sys.stderr):
        if _is_terminal(stream):
            return os.get_terminal_size(stream.fileno()).columns
    return 0


def _is_terminal(stream: Optional[TextIO]) -> bool:
    try:
        return stream is not None and os.isatty(stream.fileno())
    except (OSError, ValueError):  # closed, or not a file
        return False


def text_columns(given: int, output: Optional[str]) -> int:
    """Most columns of a line: as given, else those of the terminal. 0, no limit, for a file (`output`) and without a terminal."""
    return given or (_terminal_columns() if output is None else 0)


def with_width(text: str, columns: int, output: Optional[str]) -> str:
    """Adds a hint to a text that is not limited and wider than a screen."""
    longest = max(map(len, text.splitlines()), default=0)
    if columns == 0 and output is None and longest > _WIDE:
        text += f"lines have up to {longest} columns; --text-columns N makes them shorter\n"
    return text
