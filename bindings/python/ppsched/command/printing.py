# SPDX-License-Identifier: Apache-2.0
"""What the command prints: to standard output or a file, and in lines on standard error."""
import codecs
import sys
from typing import Callable, Optional

from .._core.output import write_stream, write_text
from .._core.shown import printable
from .._start import drop_output


def print_text(text: str, path: Optional[str] = None) -> None:
    """To a file, or to standard output. Who reads that may stop to: then the rest goes nowhere."""
    if path is None:
        _print(lambda: _put(text))
    else:
        write_text(path, text)


def print_stream(stream: Callable[[Callable[[bytes], object]], object], path: Optional[str] = None) -> None:
    """The same of a text that is handed over in pieces."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    if path is None:
        _print(lambda: stream(lambda piece: _put(decoder.decode(piece))))
    else:
        write_stream(path, stream)


def _print(put_all: Callable[[], object]) -> None:
    try:
        put_all()
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()


def _put(text: str) -> None:
    """To standard output, which may have no such letters."""
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]  # it is the text file of io
        sys.stdout.write(text)


def tell(command: str, message: str) -> None:
    """One line on standard error."""
    if sys.stderr is not None:
        print(f"ppsched {command}: {printable(message)}".encode("utf-8", "backslashreplace").decode("utf-8"), file=sys.stderr)
