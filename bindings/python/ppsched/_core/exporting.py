# SPDX-License-Identifier: Apache-2.0
"""Schedules and timelines as texts."""
import ctypes
from typing import Dict, List, Optional, Union

from . import _abi
from ._abi import Format
from ._library import Error, call, lib
from .shown import shown
from .views import sized

_FORMATS: Dict[str, Format] = {format.name.split("_")[0].lower(): format for format in Format}
FORMAT_NAMES = tuple(_FORMATS)


def export_format(name: Union[Format, str]) -> Format:
    """The format with a name, one of FORMAT_NAMES: the first word of its enumerator."""
    if isinstance(name, Format):
        return name
    if not isinstance(name, str) or name not in _FORMATS:
        raise Error(f"there is no format {shown(name)}; there are {', '.join(_FORMATS)}")
    return _FORMATS[name]


def format_name(format: Union[Format, str]) -> str:
    """The name of a format, which may be given by name."""
    number = export_format(format)
    return next(name for name in FORMAT_NAMES if _FORMATS[name] == number)


def export(schedule: ctypes.c_void_p, timeline: Optional[ctypes.c_void_p], format: Format, *, text_columns: int = 0,
           time_scale: float = 0.0) -> str:
    """The text of an export; both arguments are handles of the library."""
    pieces: List[bytes] = []
    raised: List[BaseException] = []

    def write(_user: Optional[int], data: int, size: int) -> int:
        try:
            pieces.append(ctypes.string_at(data, size))
        except BaseException as error:  # raised again after the C call
            raised.append(error)
            return 1
        return 0

    if not 0 <= text_columns < 2**32:
        raise Error(f"text_columns is {text_columns}, which is out of range", _abi.Status.ERROR_RANGE)
    if not isinstance(time_scale, (int, float)):
        raise Error(f"time_scale must be a number, not {shown(time_scale)}")
    options = sized(_abi.ExportOptions)
    options.text_columns, options.time_scale = text_columns, time_scale
    try:
        call(lib.ppsched_schedule_export, schedule, timeline, format, ctypes.byref(options), _abi.WriteFunction(write), None)
    except Error:
        if raised:
            raise raised[0] from None
        raise
    return b"".join(pieces).decode("utf-8")
