# SPDX-License-Identifier: Apache-2.0
"""Output of the command: to standard output or a file, and messages on standard error."""
import codecs
import sys
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from .._core._library import Error
from .._core.output import Write, write_stream, write_text, write_together
from .._core.shown import printable
from .._start import drop_output


printed = False  # whether there is an answer, on standard output or in a file


def print_text(text: str, path: Optional[str] = None) -> None:
    """Writes to a file or to standard output. If the reader of standard output closes it, the rest is dropped."""
    global printed
    if path is None:
        printed = True
        _print(lambda: _put(text))
    else:
        write_text(path, text)
        printed = True


def print_stream(stream: Callable[[Callable[[bytes], object]], object], path: Optional[str] = None) -> None:
    """Does the same with a text in pieces."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    if path is None:
        _print(lambda: stream(lambda piece: _put(decoder.decode(piece))))
    else:
        write_stream(path, stream)


def write_files(writes: Sequence[Tuple[str, Write]], last: Callable[[], object] = lambda: None) -> None:
    """Writes files in full, or none of them. last: is called before they replace older files."""
    global printed
    write_together(writes, last)
    printed = printed or bool(writes)


def _print(put_all: Callable[[], object]) -> None:
    try:
        put_all()
        sys.stdout.flush()
    except BrokenPipeError:
        drop_output()


def _put(text: str) -> None:
    """Writes to standard output, also if its encoding lacks some letters."""
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]  # it is the text file of io
        sys.stdout.write(text)


def tell(command: str, message: str) -> None:
    """One line on standard error."""
    if sys.stderr is not None:
        print(f"ppsched {command}: {printable(message)}".encode("utf-8", "backslashreplace").decode("utf-8"), file=sys.stderr)


def error_row(error: BaseException) -> Dict[str, Any]:
    """An error as JSON has it."""
    if not isinstance(error, Error):
        return {"message": str(error)}
    places = {name: getattr(error, name) for name in ("device", "stage", "microbatch", "position")}
    return {"message": str(error), "status": error.status.name.lower(), **places}
