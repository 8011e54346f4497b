# SPDX-License-Identifier: Apache-2.0
"""Schedules from files and texts."""
import ctypes
import os
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Sequence, Tuple, Union

from . import _abi
from ._abi import Format, Placement
from ._library import Error, lib, new_handle
from .config import Config, Quantities
from .file_bytes import SCHEDULE, read_bytes
from .microbatch_map import by_slot, order_in
from .shown import shown
from .units import PLAIN, Units

if TYPE_CHECKING:
    from .schedule import Schedule

FORMATS: Dict[str, Format] = {"csv": Format.CSV, "json": Format.JSON}


class Read(NamedTuple):
    """The library's handle of a schedule, and the order of its microbatches, if the text has one."""

    handle: ctypes.c_void_p
    order: Tuple[int, ...]


def import_text(text: Union[str, bytes], format: Union[Format, str]) -> Read:
    """Reads a schedule from a text."""
    if not isinstance(format, Format):
        if not isinstance(format, str) or format not in FORMATS:
            raise Error(f"there is no format {shown(format)} to read; there are {', '.join(FORMATS)}")
        format = FORMATS[format]
    if isinstance(text, str):
        try:
            text = text.encode("utf-8")
        except UnicodeEncodeError:
            raise Error("the text is not valid Unicode", _abi.Status.ERROR_SYNTAX) from None
    elif not isinstance(text, bytes):
        raise Error(f"the text must be a str or bytes, not {type(text).__name__}")
    handle = new_handle(lib.ppsched_schedule_import, format, ctypes.c_char_p(text), len(text), None)
    try:
        return Read(handle, order_in(text, lib.ppsched_schedule_microbatches(handle)) if format == Format.JSON else ())
    except BaseException:
        lib.ppsched_schedule_release(handle)
        raise


def format_of(path: "Union[str, os.PathLike[str]]") -> Format:
    """The format of a file, from the ending of its name."""
    ending = os.path.splitext(os.fspath(path))[1].lower()[1:]
    if ending not in FORMATS:
        raise Error(f"{path}: unknown ending; known are {' '.join('.' + name for name in FORMATS)}, or name the format")
    return FORMATS[ending]


def import_file(path: "Union[str, os.PathLike[str]]", format: Union[Format, str, None] = None) -> Read:
    """The same for a file, which errors name."""
    format = format_of(path) if format is None else format
    text = read_bytes(path, SCHEDULE)
    try:
        return import_text(text, format)
    except Error as error:
        error.args = (f"{os.fspath(path)}: {error}",)
        raise


def config_for(schedule: "Schedule", quantities: Quantities, units: Units = PLAIN, order: Sequence[int] = ()) -> Config:
    """A problem with the sizes and placement of the schedule, and these lists of numbers, in these units. If the schedule has an order of
    microbatches, lists by microbatch are given in the numbers before this order."""
    placement: Any = schedule.placement
    if placement == Placement.MAP:
        placement = [devices if len(devices) > 1 else devices[0] for devices in schedule.stage_devices]
    config = Config(schedule.devices, schedule.microbatches, schedule.stages, iterations=schedule.iterations, slices=schedule.slices, placement=placement,
                    weight_versions=schedule.weight_versions, forward_only=schedule.forward_only, units=units, **schedule._graph, **by_slot(quantities, order))
    config.microbatch_order = tuple(order)
    return config
