# SPDX-License-Identifier: Apache-2.0
"""Proposes units for numbers without one, and reads numbers that may have a unit."""
from typing import Optional

from ._library import Error
from .shown import shown
from .units import BYTES, KIND_OF, KINDS, TIMES, parse
from .whole_numbers import number_of

LARGE = 10.0**6  # larger numbers are taken as bytes, or bytes per second


def unit_meant(name: str, dimension: Optional[str], value: float) -> str:
    """The unit that was probably meant, by the size of the number: --mem-limit 72 is GB, 8e10 is B."""
    if dimension == "time":
        return "s" if abs(value) < 1 else "us" if name in ("p2p_time", "latency", "op_time", "host_time") else "ms"
    unit = "MB" if dimension == "bytes" else "GB"
    return (unit if abs(value) < LARGE else "B") + ("/s" if dimension == "bandwidth" else "")


def amount_in(where: str, text: str, dimension: str) -> float:
    """Converts a number with a unit to seconds and bytes."""
    try:
        amount = parse(text)
    except Error as error:
        raise Error(f"{where}: {error}") from None
    if amount is None:
        raise Error(f"{where} is {shown(text)}; it must be a number with a unit; units are {KINDS[KIND_OF[dimension]]}")
    if amount.kind != KIND_OF[dimension]:
        raise Error(f"{where}: {amount.unit} is a unit of {amount.kind}; units of {KIND_OF[dimension]} are {KINDS[KIND_OF[dimension]]}")
    seconds, one = TIMES["s"], BYTES["B"]
    size = {"time": amount.size / seconds, "memory": amount.size / one, "bytes": amount.size / one,
            "bandwidth": amount.size * seconds}[dimension]
    return float(amount.number) * float(size)


def seconds_of(where: str, text: str) -> float:
    """Reads a time with a unit, or in seconds."""
    try:
        return number_of(text)
    except ValueError:
        return amount_in(where, text, "time")
