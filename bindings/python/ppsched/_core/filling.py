# SPDX-License-Identifier: Apache-2.0
"""Calls that fill a buffer: first for the size, then for the content."""
import ctypes
from typing import Any, Callable, Type, TypeVar

from ._library import call

Record = TypeVar("Record", bound=Any)


def records_of(kind: Type[Record], function: Callable[..., int], *arguments: object) -> "ctypes.Array[Record]":
    """All records that a function returns, as an array."""
    count = ctypes.c_size_t()
    call(function, None, 0, ctypes.byref(count), *arguments)
    array: "ctypes.Array[Record]" = (kind * count.value)()
    call(function, array, count.value, None, *arguments)
    return array


def text_of(function: Callable[..., int], *arguments: object) -> str:
    """The text that a function returns."""
    size = ctypes.c_size_t()
    call(function, None, 0, ctypes.byref(size), *arguments)
    buffer = ctypes.create_string_buffer(size.value)
    call(function, buffer, size.value, None, *arguments)
    return buffer.value.decode("utf-8", "replace")
