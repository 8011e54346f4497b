# SPDX-License-Identifier: Apache-2.0
"""The library's arrays, seen from Python without a copy."""
import ctypes
from collections.abc import Sequence

from . import _abi


class Shared:
    """An immutable object of the library: copies are the object itself."""

    def __copy__(self):
        return self

    def __deepcopy__(self, _memo):
        return self

    def __reduce__(self):
        raise TypeError(f"a ppsched.{type(self).__name__} cannot be pickled")


class View(Sequence):
    """A read-only sequence over the library's own memory.

    Items are plain Python values made on access. `memory` is a read-only memoryview of the records themselves, and
    numpy.asarray(view) is a structured array on them; both keep the schedule or timeline alive.
    """

    def __init__(self, owner, pointer, count, convert):
        record = pointer._type_
        self._convert = convert
        address = ctypes.cast(pointer, ctypes.c_void_p).value if count else None
        self._records = (record * count).from_address(address) if count else (record * 0)()
        self._records._owner = owner

    def __len__(self):
        return len(self._records)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self._convert(record) for record in self._records[index]]
        return self._convert(self._records[index])

    def __iter__(self):
        return map(self._convert, self._records)

    def __repr__(self):
        return f"[{', '.join(map(str, self))}]"

    @property
    def memory(self):
        """The records as a read-only memoryview."""
        return memoryview(self._records).toreadonly()

    def __array__(self, dtype=None, copy=None):
        import numpy  # only reached through numpy
        array = numpy.asarray(self.memory)
        return array if dtype is None and not copy else numpy.array(array, dtype=dtype)


def sized(struct):
    """A fresh sized struct."""
    record = struct()
    record.size = ctypes.sizeof(struct)
    return record


def none_if_unset(number):
    return None if number == _abi.NONE else number
