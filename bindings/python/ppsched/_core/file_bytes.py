# SPDX-License-Identifier: Apache-2.0
"""Reads whole files, up to a limit for each kind of file."""
import itertools
import os
from typing import IO, Union

from ._library import Error
from .words import misspelt

CONFIG, MODEL, SCHEDULE, TRACE = 64 << 20, 16 << 20, 256 << 20, 1 << 30  # most bytes of a file, by its kind
_AT_ONCE = 1 << 16  # bytes of the first read


_NEIGHBOURS = 1000  # names of a folder that are looked at


def cannot_read(path: object, error: OSError) -> Error:
    """The error of a file that cannot be read, with what to give in its place."""
    return Error(f"cannot read {path}: {error.strerror}{_instead(str(path), error)}")


def neighbour_of(path: str) -> str:
    """The file of the same folder that was probably meant, or an empty text."""
    folder, name = os.path.split(path)
    with os.scandir(folder or ".") as entries:
        meant = misspelt(name, [entry.name for entry in itertools.islice(entries, _NEIGHBOURS)])
    return os.path.join(folder, meant) if meant else ""


def _instead(path: str, error: OSError) -> str:
    folder, name = os.path.split(path)
    if "://" in path:
        return "; download it, and give the file"
    if not path:
        return "; the name is empty"
    try:
        if isinstance(error, IsADirectoryError):
            return "; give a file in it"
        if isinstance(error, FileNotFoundError) and name:
            meant = neighbour_of(path)
            return f"; did you mean {meant}?" if meant else ""
    except FileNotFoundError:
        return f"; there is no folder {folder}"
    except (OSError, ValueError):
        pass
    return ""


def _too_large(path: object, most: int) -> Error:
    return Error(f"{path}: it has more than {most >> 20} MiB; larger files of this kind are not read")


def read_stream(path: object, file: IO[bytes], most: int) -> bytes:
    """Reads a stream up to the limit, in growing pieces, as most are small and some devices never end."""
    data = file.read(_AT_ONCE)
    while len(data) <= most and (more := file.read(len(data))):
        data += more
    if len(data) > most:
        raise _too_large(path, most)
    return data


def read_bytes(path: "Union[str, os.PathLike[str]]", most: int) -> bytes:
    """Reads a file after a check of its size. Raises OSError if it cannot be read."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size > most:
            raise _too_large(os.fspath(path), most)
        return read_stream(os.fspath(path), file, most)
