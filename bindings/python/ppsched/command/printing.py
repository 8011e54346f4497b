# SPDX-License-Identifier: Apache-2.0
"""Output of the command: to standard output or a file, and messages on standard error."""
import os
import sys
from typing import Optional, Sequence

from .._core.microbatch_map import TELLS, tell_order, write_beside
from .._core.output import write_text
from .._core.shown import printable


printed = False  # whether there is an answer, on standard output or in a file


def print_text(text: str, path: Optional[str] = None) -> None:
    """Writes to a file or to standard output. If the reader of standard output closes it, the rest is dropped."""
    global printed
    printed = True
    if path is None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            drop_output()
        except UnicodeEncodeError:
            sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]  # it is the text file of io
            print_text(text)
    else:
        write_text(path, text)


def tell_beside(command: str, order: Sequence[int], format: Optional[str], output: Optional[str]) -> None:
    """Prints the order of microbatches on standard error, if the format does not show it. For a CSV it is also written to a file."""
    csv = output if format == "csv" else None
    if csv is not None:
        write_beside(csv, order)
    if format not in TELLS:
        tell_order(command, order, csv)


def tell(command: str, message: str) -> None:
    """One line on standard error."""
    if sys.stderr is not None:
        print(f"ppsched {command}: {printable(message)}".encode("utf-8", "backslashreplace").decode("utf-8"), file=sys.stderr)


def drop_output() -> None:
    """Drops output that is not written yet, so that Python does not try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
