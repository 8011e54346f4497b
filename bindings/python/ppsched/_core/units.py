# SPDX-License-Identifier: Apache-2.0
"""Numbers with units: 6.1ms, 72GB, 80GiB, 400Gbps."""
import contextlib
import re
from fractions import Fraction
from typing import Dict, Iterator, NamedTuple, Optional, Tuple

from ._library import Error
from .shown import shown
from .whole_numbers import NUMBER

TIMES: Dict[str, int] = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9}  # in nanoseconds
BYTES: Dict[str, int] = {"B": 1, **{prefix + "B": 1000**power for power, prefix in enumerate("kMGT", 1)},
                         **{prefix + "iB": 1024**power for power, prefix in enumerate("KMGT", 1)}}
BITS: Dict[str, int] = {prefix + "bps": 1000**power for power, prefix in enumerate(("", "k", "M", "G", "T"))}  # per second

# The units of each kind, in words. Bytes of transfers have units of memory.
KINDS = {"time": ", ".join(TIMES), "memory": ", ".join(BYTES), "bandwidth": f"{', '.join(BITS)}, or B/s, GB/s, GiB/s and so on"}
KIND_OF = {"time": "time", "memory": "memory", "bytes": "memory", "bandwidth": "bandwidth"}  # by dimension

_AMOUNT = re.compile(rf"({NUMBER})\s*([A-Za-z\u00b5\u03bc][A-Za-z/]*)")
_TOLD = {"memory": re.compile(rf"((?:least limit that works is|must hold) {NUMBER})"),
         "time": re.compile(rf"(_times? \({NUMBER})(?=\))")}  # numbers in messages of the library


class Amount(NamedTuple):
    """A number with its unit. kind: one of KINDS; size: size of the unit in nanoseconds, bytes, or bytes per nanosecond."""

    number: str
    unit: str
    kind: str
    size: Fraction

    def measured_in(self, size: Fraction) -> float:
        """The number in units of another size, as the nearest double."""
        value = float(self.number)
        if value == 0 or not abs(value) < float("inf"):
            return value
        try:
            return float(Fraction(self.number) * self.size / size)
        except OverflowError:
            raise Error(f"{self.number}{self.unit} is too large") from None


_SLIPS = {"sec": "s", "secs": "s", "second": "s", "seconds": "s", "msec": "ms", "usec": "us", "nsec": "ns", "mins": "min", "minutes": "min",
          "Gb/s": "Gbps", "Gbit/s": "Gbps", "Mb/s": "Mbps", "bytes": "B", "b": "B",
          **{prefix.upper(): f"{prefix}B" for prefix in "kMGT"}, **{prefix + "i": f"{prefix}iB" for prefix in "KMGT"},
          **{prefix + "b": f"{prefix}bps, which counts bits, or {prefix}B" for prefix in "kMGT"}}


def _meant(unit: str) -> str:
    """A question with the unit that was probably meant, or an empty text."""
    found = _SLIPS.get(unit) or next((known for known in (*TIMES, *BYTES, *BITS) if known.lower() == unit.lower()), None)
    return f"did you mean {found}?" if found else ""


def _meaning(unit: str) -> Tuple[str, Fraction]:
    amount, slash, time = unit.partition("/")
    if unit in TIMES:
        return "time", Fraction(TIMES[unit])
    if unit in BYTES:
        return "memory", Fraction(BYTES[unit])
    if unit in BITS:
        return "bandwidth", Fraction(BITS[unit], 8 * TIMES["s"])
    if slash and amount in BYTES and time in TIMES:
        return "bandwidth", Fraction(BYTES[amount], TIMES[time])
    listed = "; ".join(f"for {kind} {names}" for kind, names in KINDS.items())
    raise Error(f"there is no unit {shown(unit)}; {_meant(unit) or 'there are ' + listed}")


def parse(text: str) -> Optional[Amount]:
    """Parses a number with a unit; None if the text is not one. Raises for unknown units."""
    match = _AMOUNT.fullmatch(text.strip())
    if match is None or match[2].lower() in ("e", "inf", "nan", "infinity"):
        return None
    unit = match[2].replace("\u00b5", "u").replace("\u03bc", "u")
    return Amount(match[1], unit, *_meaning(unit))


def dimension_of(name: str) -> Optional[str]:
    """The dimension of a list of numbers, or of a number of a layer, from its name; None for a share."""
    if name.startswith("mem_"):
        return "memory"
    endings = {"_time": "time", "_times": "time", "_latency": "time", "_overhead": "time", "_bytes": "bytes", "_bandwidth": "bandwidth"}
    return next((dimension for ending, dimension in endings.items() if name.endswith(ending)), None)


def number_word(value: float) -> str:
    """A text that reads back as the same double."""
    return repr(float(value)).removesuffix(".0")


class Units(NamedTuple):
    """The units of numbers; None for numbers without units. time: ns, us, ms, s or min; memory: B, kB, ..., TiB; bytes: B.

        print(ppsched.Config(4, 8, forward_times=6.1, backward_times=12.2, units=ppsched.Units("ms")).units.time)
    """

    time: Optional[str] = None
    memory: Optional[str] = None
    bytes: Optional[str] = None

    def check(self) -> None:
        """Raises ppsched.Error for a unit that does not exist."""
        for name, unit, known in (("time", self.time, TIMES), ("memory", self.memory, BYTES), ("bytes", self.bytes, {"B": 1})):
            if unit is not None and unit not in known:
                raise Error(f"units: there is no unit of {name} {shown(unit)}; there are {', '.join(known)}")

    @property
    def row(self) -> Optional[Dict[str, Optional[str]]]:
        """The units as a mapping for JSON; None if there are no units."""
        return self._asdict() if any(self) else None

    @property
    def microseconds(self) -> float:
        """Microseconds per unit of time; 0 if it is unknown."""
        return TIMES[self.time] / TIMES["us"] if self.time else 0.0

    @property
    def after_time(self) -> str:
        """The text after a time: a blank and the unit."""
        return f" {self.time}" if self.time else ""

    @property
    def after_memory(self) -> str:
        """The unit of memory behind a number, or an empty text."""
        return f" {self.memory}" if self.memory else ""

    def of(self, dimension: Optional[str]) -> Optional[str]:
        """The unit of "time", "memory", "bytes" or "bandwidth"; None if there is none."""
        if dimension == "bandwidth":
            return f"{self.bytes}/{self.time}" if self.bytes and self.time else None
        return None if dimension is None else getattr(self, dimension)

    def heading(self, text: str, dimension: Optional[str]) -> str:
        """The heading of a column or an axis, with the unit."""
        unit = self.of(dimension)
        return text if unit is None else f"{text} ({unit})"

    def word(self, name: str, value: float) -> str:
        """A number with the unit for its name, which reads back as the same double."""
        is_plain = value == 0 or not abs(value) < float("inf")
        return number_word(value) + ("" if is_plain else self.of(dimension_of(name)) or "")

    def told(self, text: str) -> str:
        """A message of the library, with units after its numbers."""
        for dimension, pattern in _TOLD.items():
            unit = self.of(dimension)
            text = text if unit is None else pattern.sub(rf"\1 {unit}", text)
        return text

    @contextlib.contextmanager
    def telling(self) -> Iterator[None]:
        """As a context manager: adds units to the messages of the library's errors."""
        try:
            yield
        except Error as error:
            error.args = (self.told(str(error)),)
            raise


PLAIN = Units()
