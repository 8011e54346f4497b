# SPDX-License-Identifier: Apache-2.0
"""Schedules and timelines as texts."""
import ctypes
from typing import Callable, Dict, List, Optional, Union

from . import _abi
from ._abi import Format
from ._library import Error, call, lib
from .number_lists import number_given
from .shown import shown
from .views import sized

Take = Callable[[bytes], object]    # takes the next piece of a text
Stream = Callable[[Take], object]  # hands the pieces of a text over, in order
_END = 16  # bytes or more that the last piece has, unless the text has less: as many as the end of a JSON object

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


def export(schedule: ctypes.c_void_p, timeline: Optional[ctypes.c_void_p], format: Format, take: Take, *, text_columns: int = 0,
           time_scale: float = 0.0) -> None:
    """Hands over the text of an export in pieces, as the library writes it; both handles are the library's."""
    raised: List[BaseException] = []

    def write(_user: Optional[int], data: int, size: int) -> int:
        try:
            take(ctypes.string_at(data, size))
        except BaseException as error:  # raised again after the C call
            raised.append(error)
            return 1
        return 0

    if not 0 <= text_columns < 2**32:
        raise Error(f"text_columns is {text_columns}, which is out of range", _abi.Status.ERROR_RANGE)
    options = sized(_abi.ExportOptions)
    options.text_columns, options.time_scale = text_columns, number_given("time_scale", time_scale)
    try:
        call(lib.ppsched_schedule_export, schedule, timeline, format, ctypes.byref(options), _abi.WriteFunction(write), None)
    except Error:
        if raised:
            raise raised[0] from None
        raise


def whole_text(stream: Stream) -> str:
    pieces: List[bytes] = []
    stream(pieces.append)
    return b"".join(pieces).decode("utf-8")


def with_end(stream: Stream, take: Take, ended: Callable[[str], str]) -> None:
    """Hands over a text whose last piece is made anew by a function that adds ASCII to its end."""
    held = b""

    def hold(piece: bytes) -> None:
        nonlocal held
        if len(piece) < _END:
            held += piece
            return
        if held:
            take(held)
        held = piece

    stream(hold)
    take(ended(held.decode("latin-1")).encode("latin-1"))
