# SPDX-License-Identifier: Apache-2.0
"""What the command prints: to standard output or a file, and in lines on standard error."""
import sys
from typing import Optional

from .._core.output import write_text
from .._core.shown import printable
from .._start import drop_output


def print_text(text: str, path: Optional[str] = None) -> None:
    """To a file, or to standard output. Who reads that may stop to: then the rest goes nowhere."""
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


def tell(command: str, message: str) -> None:
    """One line on standard error."""
    if sys.stderr is not None:
        print(f"ppsched {command}: {printable(message)}".encode("utf-8", "backslashreplace").decode("utf-8"), file=sys.stderr)
