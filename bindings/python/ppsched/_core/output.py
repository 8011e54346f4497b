# SPDX-License-Identifier: Apache-2.0
"""Writes files in full or not at all."""
import contextlib
import os
import stat
from typing import Callable, Iterable, Iterator, Optional, Tuple

from .._start import unfinished
from .errors import Error


Stream = Callable[[Callable[[bytes], object]], object]  # hands the pieces of a text over
Write = Callable[[str], object]  # writes the file of a name

_DESCRIPTORS = ("/dev/std", "/dev/fd/", "/proc/")


def _instead(path: str, error: Exception) -> str:
    if isinstance(error, IsADirectoryError):
        return "; give the name of a file in it"
    folder = os.path.dirname(path)
    return f"; make the folder first: mkdir -p {folder}" if isinstance(error, FileNotFoundError) and folder and not os.path.exists(folder) else ""


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[str]:
    """Yields the name of a temporary file next to `path`, which replaces it at the end, or is removed on an error."""
    temporary = None
    try:
        mode = _mode_of(path)
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(21, "Is a directory")
        if mode is not None and not stat.S_ISREG(mode):
            yield path  # a device or a pipe cannot be replaced
            return
        if os.path.abspath(path).startswith(_DESCRIPTORS):
            raise OSError(22, "It is a file that is open already; give its own name, or no -o")
        path = os.path.realpath(path)  # the target of a link
        temporary = _temporary_beside(path, 0o666 if mode is None else 0o600)
        yield temporary
        if mode is not None:
            os.chmod(temporary, stat.S_IMODE(mode))
        os.replace(temporary, path)
    except (OSError, ValueError) as error:
        raise Error(f"cannot write {path!r}: {getattr(error, 'strerror', None) or error}{_instead(path, error)}") from None
    finally:
        if temporary is not None and os.path.exists(temporary):
            os.unlink(temporary)
        unfinished.discard(temporary or "")


def _mode_of(path: str) -> Optional[int]:
    """The mode of the file, or of the target of a link; None if there is none. A cycle of links raises OSError."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _temporary_beside(path: str, mode: int) -> str:
    """Makes a new file, which is also removed if the process is ended by a signal. The process's mask applies to the mode."""
    temporary = os.path.join(os.path.dirname(path), f".ppsched-{os.urandom(16).hex()}{os.path.splitext(path)[1]}")
    unfinished.add(temporary)
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    return temporary


def write_text(path: str, text: str) -> None:
    """Writes a text file in full, or not at all."""
    write_stream(path, lambda take: take(text.encode("utf-8")))


def write_stream(path: str, stream: Stream) -> None:
    """Does the same with a text in pieces."""
    with whole_file(path) as temporary:
        writing_of(stream)(temporary)


def writing_of(stream: Stream) -> Write:
    def write(name: str) -> None:
        with open(name, "wb") as file:
            stream(file.write)

    return write


def write_together(writes: Iterable[Tuple[str, Write]], last: Callable[[], object]) -> None:
    """Writes files in full, or none of them. last: is called before they replace older files."""
    with contextlib.ExitStack() as stack:
        for path, write in writes:
            write(stack.enter_context(whole_file(path)))
        last()
