# SPDX-License-Identifier: Apache-2.0
"""Reads given numbers: an integer, a list, or a matrix of floats."""
import operator
from collections.abc import Iterable, Mapping
from typing import Any, List, SupportsFloat, Union, cast

from ._abi import Status
from ._library import Error
from .shown import shown
from .words import counted

# Each may be a text with its unit: "6.1ms".
Numbers = Union[SupportsFloat, str, Iterable[Union[SupportsFloat, str]], Iterable[Iterable[Union[SupportsFloat, str]]]]
OF_PAIRS = ("p2p_time", "p2p_bandwidth", "overlapped_times")  # may be matrices


def integer(name: str, value: object) -> int:
    """Returns an integer that fits into C, else raises."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise Error(f"{name} must be an integer, not {shown(value)}")
    number = operator.index(value)
    if not -2**63 <= number < 2**63:
        raise Error(f"{name} is {shown(number)}, which is out of range for the library's integers", Status.ERROR_RANGE)
    return number


def unsigned(name: str, value: object) -> int:
    """Returns an integer that fits into an unsigned field of 32 bits, else raises."""
    number = integer(name, value)
    if not 0 <= number < 2**32:
        raise Error(f"{name} is {number}; it must be at least 0 and below 2**32", Status.ERROR_RANGE)
    return number


def _is_number(value: object) -> bool:
    """Whether a value is a list. Arrays without a dimension are numbers, although they are iterable."""
    return hasattr(value, "__float__") and not isinstance(value, bool) and (
        not isinstance(value, Iterable) or getattr(value, "ndim", None) == 0)


def number_given(name: str, value: object) -> float:
    """Returns one number as a float, else raises."""
    if not _is_number(value):
        raise Error(f"{name} must be a number, not {shown(value)}")
    return _to_float(name, value)


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes, Mapping)) and not _is_number(value)


def numbers(name: str, value: object) -> List[float]:
    """A flat list of floats from a number, a list, or, for quantities by pair, a matrix."""
    value = [value] if _is_number(value) else value
    if not _is_list(value):
        default = "; () stands for the default" if value is None else ""
        raise Error(f"{name} must be a number or a list of numbers, not {shown(value)}{default}")
    items: List[Any] = list(cast(Iterable[object], value))
    if name in OF_PAIRS and items and all(map(_is_list, items)):
        items = _joined(name, [list(row) for row in items])
    for number in items:
        if isinstance(number, bool) or not hasattr(number, "__float__"):
            raise Error(f"{name} must hold numbers, not {shown(number)}")
    if not items:
        raise Error(f"{name} is an empty list", Status.ERROR_LENGTH)
    return [_to_float(name, number) for number in items]


def _joined(name: str, rows: List[List[Any]]) -> List[Any]:
    """The rows of a matrix, one after another."""
    for index, row in enumerate(rows):
        if len(row) != len(rows):
            raise Error(f"{name}: row {index} has {counted(len(row), 'number')}, but there are {counted(len(rows), 'row')}", Status.ERROR_LENGTH)
    return [number for row in rows for number in row]


def _to_float(name: str, number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        raise Error(f"{name} has {shown(number)}, which is too large", Status.ERROR_RANGE) from None
