# SPDX-License-Identifier: Apache-2.0
"""How wide a text may be."""
import os
import sys
from typing import Optional, TextIO

_WIDE = 200  # more than people's terminals have


def _terminal_columns() -> int:
    """Of the terminal that somebody sits at, also where what is printed goes to a pipe or a file; 0: there is none."""
    if os.environ.get("COLUMNS", "").isdecimal():
        return int(os.environ["COLUMNS"])
    for stream in (sys.stdout, sys.stderr):
        if _is_terminal(stream):
            return os.get_terminal_size(stream.fileno()).columns
    return 0


def _is_terminal(stream: Optional[TextIO]) -> bool:
    try:
        return stream is not None and os.isatty(stream.fileno())
    except (OSError, ValueError):  # closed, or no file
        return False


def text_columns(given: int, output: Optional[str]) -> int:
    """Most columns of a row: as given; into a file of one's own (`output`) and where there is no terminal as many as it needs (0)."""
    return given or (_terminal_columns() if output is None else 0)


def with_width(text: str, columns: int, output: Optional[str]) -> str:
    """A text that nothing bounds, and that no screen holds, ends with how it gets narrower."""
    longest = max(map(len, text.splitlines()), default=0)
    if columns == 0 and output is None and longest > _WIDE:
        text += f"rows of {longest} columns; --text-columns N makes them narrower\n"
    return text
