# SPDX-License-Identifier: Apache-2.0
"""Files that are read whole, up to what one of their kind may need."""
import os
from typing import IO, Union

from ._library import Error

CONFIG, MODEL, SCHEDULE, TRACE = 64 << 20, 16 << 20, 256 << 20, 1 << 30  # bytes of a file at most, by what it is
_AT_ONCE = 1 << 16  # bytes, first


def _too_large(path: object, most: int) -> Error:
    return Error(f"{path}: it has more than {most >> 20} MiB, which is the most that is read of such a file")


def read_stream(path: object, file: IO[bytes], most: int) -> bytes:
    """All of a stream; not of one without end, as a device may be. Not all room at once: most are small."""
    data = file.read(_AT_ONCE)
    while len(data) <= most and (more := file.read(len(data))):
        data += more
    if len(data) > most:
        raise _too_large(path, most)
    return data


def read_bytes(path: "Union[str, os.PathLike[str]]", most: int) -> bytes:
    """All of a file, whose size is looked at before anything is read; raises OSError where it cannot be read."""
    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size > most:
            raise _too_large(os.fspath(path), most)
        return read_stream(os.fspath(path), file, most)
