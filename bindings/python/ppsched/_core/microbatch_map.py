# SPDX-License-Identifier: Apache-2.0
"""The order of microbatches in texts and files: reads it, checks it, and prints it where a format cannot contain it."""
import json
import sys
from typing import Any, Dict, Optional, Sequence, Tuple

from ._abi import Format, Status
from ._library import Error
from .config import Quantities
from .number_lists import numbers
from .output import write_text
from .shown import printable, shown
from .unit_texts import with_member
from .whole_numbers import whole_of
from .words import counted

KEY = "microbatch_order"
BESIDE = ".order.json"  # added to the name of a CSV: the file with its order
TELLS = (None, "text", "json")  # formats that show it
OF_MICROBATCHES = ("microbatch_scale", "microbatch_memory_scale")  # lists of numbers that are reordered with microbatches


# --- read ---


def order_in(text: bytes, microbatches: int) -> Tuple[int, ...]:
    """The order in the JSON of a schedule, which the library has read; empty if there is none."""
    if KEY.encode() not in text:
        return ()
    try:
        values = json.loads(text, parse_int=whole_of)
    except (Error, ValueError, RecursionError) as error:
        raise Error(f"{KEY} cannot be read: {error}", Status.ERROR_SYNTAX) from None
    return checked(values[KEY], microbatches) if KEY in values else ()


def checked(order: Any, microbatches: int) -> Tuple[int, ...]:
    """Returns the order if it has each microbatch exactly once, else raises."""
    if not isinstance(order, list) or not all(type(number) is int for number in order):
        raise Error(f"{KEY} must be a list of integers, not {shown(order)}", Status.ERROR_SYNTAX)
    if len(order) != microbatches:
        raise Error(f"{KEY} has {counted(len(order), 'value')}; give {microbatches}, one per microbatch", Status.ERROR_LENGTH)
    slots: Dict[int, int] = {}
    for slot, number in enumerate(order):
        if not 0 <= number < microbatches:
            raise Error(f"{KEY} has {shown(number)} at position {slot}; it must be 0 to {microbatches - 1}", Status.ERROR_RANGE)
        if number in slots:
            raise Error(f"{KEY} has {number} at position {slot} and at position {slots[number]}; each microbatch must be there once", Status.ERROR_RANGE)
        slots[number] = slot
    return tuple(order)


def by_slot(quantities: Quantities, order: Sequence[int]) -> Quantities:
    """Lists of numbers with the values by microbatch in the given order."""
    moved: Any = dict(quantities)
    for name in OF_MICROBATCHES:
        values = numbers(name, moved[name]) if order and name in moved else []
        if len(values) == len(order) > 1:
            moved[name] = [values[number] for number in order]
    return moved  # type: ignore[no-any-return]  # as TypedDicts take no names that are variables


# --- written ---


def words_of(order: Sequence[int]) -> str:
    return " ".join(map(str, order))


def order_line(order: Sequence[int]) -> str:
    """The line at the end of a text."""
    return f"order of microbatches: {words_of(order)}\n"


def order_told(order: Sequence[int]) -> str:
    """The message for the user who starts a run."""
    return f"give the run its microbatches in the order {words_of(order)}"


def device_order_line(order: Sequence[int]) -> str:
    return f"order of devices: {words_of(order)}\n"


def with_order(text: str, format: Format, order: Sequence[int]) -> str:
    """Adds the order to the text of a schedule, if there is one and the format can contain it."""
    if not order:
        return text
    if format == Format.TEXT:
        return text + order_line(order)
    if format == Format.JSON:
        return with_member(text, KEY, list(order))
    return with_member(text, "otherData", {KEY: list(order)}) if format == Format.CHROME_TRACE else text


def text_beside(order: Sequence[int]) -> str:
    """The text of the file with the order for a CSV."""
    return json.dumps({KEY: list(order)}) + "\n"


def write_beside(path: str, order: Sequence[int]) -> None:
    """Writes the file with the order for a CSV."""
    if order:
        write_text(path + BESIDE, text_beside(order))


def tell_order(command: str, order: Sequence[int], csv: Optional[str] = None) -> None:
    """Prints the order in one line on standard error. csv: a CSV file, whose order is also in a file next to it."""
    if order and sys.stderr is not None:
        beside = "" if csv is None else f"; {printable(csv + BESIDE)} contains it, too"
        print(f"ppsched {command}: {order_told(order)}{beside}", file=sys.stderr)
