# SPDX-License-Identifier: Apache-2.0
"""Views of the library's arrays, without a copy."""
import ctypes
from typing import Any, Callable, Iterator, List, NoReturn, Optional, Sequence, Type, TypeVar, Union, overload

from . import _abi

Item = TypeVar("Item", covariant=True)
Self = TypeVar("Self", bound="Shared")
Struct = TypeVar("Struct", bound=ctypes.Structure)
Plain = Union[str, int, float, bool, None]  # values in rows
SHOWN = 16  # items of a view in its repr


class Shared:
    """An immutable object of the library. A copy is the same object."""

    _INSTEAD = ""  # of what pickle cannot do

    def __copy__(self: Self) -> Self:
        return self

    def __deepcopy__(self: Self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a ppsched.{type(self).__name__} cannot be pickled{self._INSTEAD}")


class View(Sequence[Item]):
    """A read-only sequence over records in the library's memory.

    Items are plain Python values, made on access. `memory` is a read-only memoryview of the records themselves, and
    numpy.asarray(view) is a structured array on them; both keep the schedule or timeline alive.
    """

    def __init__(self, owner: object, pointer: Any, count: int, convert: Callable[[Any], Item]) -> None:
        record = pointer._type_
        self._convert = convert
        address = ctypes.cast(pointer, ctypes.c_void_p).value
        self._records = (record * count).from_address(address) if count else (record * 0)()
        self._records._owner = owner

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> List[Item]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Item, List[Item]]:
        if isinstance(index, slice):
            return [self._convert(record) for record in self._records[index]]
        return self._convert(self._records[index])

    def __iter__(self) -> Iterator[Item]:
        return map(self._convert, self._records)

    def __repr__(self) -> str:
        more = f", ... {len(self) - SHOWN} more" if len(self) > SHOWN else ""
        return f"[{', '.join(map(str, self[:SHOWN]))}{more}]"

    @property
    def memory(self) -> memoryview:
        """The records as a read-only memoryview."""
        return memoryview(self._records).toreadonly()

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        import numpy  # only reached through numpy
        array = numpy.asarray(self.memory)
        return array if dtype is None and not copy else numpy.array(array, dtype=dtype)


def sized(struct: Type[Struct]) -> Struct:
    """A new struct with its size set."""
    record = struct()
    record.size = ctypes.sizeof(struct)
    return record


def none_if_unset(number: int) -> Optional[int]:
    return None if number == _abi.NONE else number
