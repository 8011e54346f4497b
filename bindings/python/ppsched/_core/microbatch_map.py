# SPDX-License-Identifier: Apache-2.0
"""Which microbatch goes through which slot of a schedule, in texts and files: read, checked, and told beside those that cannot say it."""
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

KEY = "microbatch_order"
BESIDE = ".order.json"  # behind the name of a CSV: the file with its map
TELLS = (None, "text", "json")  # formats that a reader sees it in
OF_MICROBATCHES = ("microbatch_scale", "microbatch_memory_scale")  # lists of numbers that move with them


# --- read ---


def order_in(text: bytes, microbatches: int) -> Tuple[int, ...]:
    """That of a schedule's JSON, which the library has read; empty where it has none."""
    if KEY.encode() not in text:
        return ()
    try:
        values = json.loads(text, parse_int=whole_of)
    except (Error, ValueError, RecursionError) as error:
        raise Error(f"{KEY} cannot be read: {error}", Status.ERROR_SYNTAX) from None
    return checked(values[KEY], microbatches) if KEY in values else ()


def checked(order: Any, microbatches: int) -> Tuple[int, ...]:
    """An order that has each microbatch once."""
    if not isinstance(order, list) or not all(type(number) is int for number in order):
        raise Error(f"{KEY} must be a list of integers, not {shown(order)}", Status.ERROR_SYNTAX)
    if len(order) != microbatches:
        raise Error(f"{KEY} has {len(order)} values; give {microbatches}, one a microbatch", Status.ERROR_LENGTH)
    slots: Dict[int, int] = {}
    for slot, number in enumerate(order):
        if not 0 <= number < microbatches:
            raise Error(f"{KEY} has {shown(number)} in slot {slot}; it must be 0 to {microbatches - 1}", Status.ERROR_RANGE)
        if number in slots:
            raise Error(f"{KEY} has {number} in slot {slot} and in slot {slots[number]}; each microbatch goes through one", Status.ERROR_RANGE)
        slots[number] = slot
    return tuple(order)


def by_slot(quantities: Quantities, order: Sequence[int]) -> Quantities:
    """Lists of numbers whose microbatches are those that the order names, by its slots."""
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
    """Behind a text."""
    return f"order of microbatches: {words_of(order)}\n"


def order_told(order: Sequence[int]) -> str:
    """To whoever starts a run."""
    return f"give the run its microbatches in the order {words_of(order)}"


def device_order_line(order: Sequence[int]) -> str:
    return f"order of devices: {words_of(order)}\n"


def device_order_told(order: Sequence[int]) -> str:
    return f"pipeline ranks run on the devices {words_of(order)}, in this order: list hosts or devices so"


def with_order(text: str, format: Format, order: Sequence[int]) -> str:
    """What a schedule is written as, with the order where there is one and the format has a place for it."""
    if not order:
        return text
    if format == Format.TEXT:
        return text + order_line(order)
    if format == Format.JSON:
        return with_member(text, KEY, list(order))
    return with_member(text, "otherData", {KEY: list(order)}) if format == Format.CHROME_TRACE else text


def write_beside(path: str, order: Sequence[int]) -> None:
    """The file with the map of a CSV."""
    if order:
        write_text(path + BESIDE, json.dumps({KEY: list(order)}) + "\n")


def tell_order(command: str, order: Sequence[int], csv: Optional[str] = None) -> None:
    """One line on standard error beside what cannot tell it; csv: a file of that kind, whose map is beside it."""
    if order and sys.stderr is not None:
        beside = "" if csv is None else f"; {printable(csv + BESIDE)} has it too"
        print(f"ppsched {command}: {order_told(order)}{beside}", file=sys.stderr)
