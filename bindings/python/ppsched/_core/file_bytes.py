# SPDX-License-Identifier: Apache-2.0
"""Reads whole files, up to a limit for each kind of file."""
import os
from typing import IO, Union

from ._library import Error

CONFIG, MODEL, SCHEDULE, TRACE = 64 << 20, 16 << 20, 256 << 20, 1 << 30  # most bytes of a file, by its kind
_AT_ONCE = 1 << 16  # bytes of the first read


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
