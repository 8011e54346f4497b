# SPDX-License-Identifier: Apache-2.0
"""Options of the command line, and keys of a config file, for ranks, links and stages that are slower in all scenarios."""
import argparse
import contextlib
import math
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple

from .._core._library import Error
from .._core.shown import printable, shown
from .._core.whole_numbers import number_of
from .number_options import whole
from .usage import UsageError


class Slow(NamedTuple):
    """An option: its form, an example, what is slower, and how many numbers name it."""

    form: str
    example: str
    what: str
    numbers: int


SLOW: Dict[str, Slow] = {"slow_rank": Slow("RANK:FACTOR", "3:1.2", "rank", 1),
                         "slow_link": Slow("FROM:TO:FACTOR", "0:1:2.5", "rank", 2),
                         "slow_stage": Slow("STAGE:FACTOR", "0:1.2", "stage", 1)}
_HELP = {"slow_rank": "multiply the times of all ops of a device; may be repeated",
         "slow_link": "multiply the times of transfers from one device to another; may be repeated",
         "slow_stage": "multiply the times of all ops of a stage; may be repeated"}


def add_slow_arguments(parser: argparse.ArgumentParser) -> None:
    for name, slow in SLOW.items():
        parser.add_argument("--" + name.replace("_", "-"), metavar=slow.form, action="append", default=None, help=_HELP[name])


def slow_words(path: str, name: str, value: object) -> List[str]:
    """The values of a config file: a text, a list of texts, or a mapping to factors."""
    if isinstance(value, Mapping):
        return [f"{key}:{factor}" for key, factor in value.items()]
    words = value if isinstance(value, list) else [value]
    if not all(isinstance(word, str) for word in words):
        raise Error(f"{path}: {name} must be texts such as '{SLOW[name].example}', or a mapping of {SLOW[name].what}s to factors, not {shown(value)}")
    return words


def _parsed(name: str, word: str) -> Tuple[Tuple[int, ...], float]:
    """Parses a value: what is slower, and the factor."""
    slow, option = SLOW[name], "--" + name.replace("_", "-")
    *names, last = word.split(":")
    places: Tuple[int, ...] = ()
    factor = math.nan
    with contextlib.suppress(ValueError, argparse.ArgumentTypeError):
        places, factor = tuple(map(whole, names)), number_of(last)
    if len(places) != slow.numbers or math.isnan(factor):
        raise UsageError(f"{option} {shown(word)[1:-1]}: it must be {slow.form}, such as {slow.example}")
    if not 0 < factor < math.inf:
        raise UsageError(f"{option} {printable(word)}: the factor must be finite and above 0; 2 takes twice as long, and 0.5 half as long")
    return places, factor


def factors_of(name: str, words: Sequence[str], count: int) -> List[float]:
    """The factor of each of `count` ranks or stages, or of each pair of ranks, row by row."""
    slow, option, factors = SLOW[name], "--" + name.replace("_", "-"), [1.0] * count**SLOW[name].numbers
    seen: Set[Tuple[int, ...]] = set()
    for word in words:
        places, factor = _parsed(name, word)
        for place in places:
            if not 0 <= place < count:
                raise UsageError(f"{option} {printable(word)}: there is no {slow.what} {place}; {slow.what}s are 0 to {count - 1}")
        if slow.numbers == 2 and places[0] == places[1]:
            raise UsageError(f"{option} {printable(word)}: nothing goes from a rank to itself")
        if places in seen:
            raise UsageError(f"{option} {printable(word)}: {slow.what} {':'.join(map(str, places))} has a factor already; give one")
        seen.add(places)
        factors[places[0] if slow.numbers == 1 else places[0] * count + places[1]] = factor
    return factors


def _in_order(factors: List[float], order: Optional[Sequence[int]], numbers: int) -> List[float]:
    """Factors of devices, or of pairs of these, by the places that a checked order gives them."""
    if order is None:
        return factors
    if numbers == 1:
        return [factors[device] for device in order]
    return [factors[source * len(order) + target] for source in order for target in order]


def slow_factors(values: Mapping[str, Any], devices: int) -> Dict[str, List[float]]:
    """The factors of devices and links, as arguments of Schedule.scenarios."""
    found: Dict[str, List[float]] = {}
    for name, argument in (("slow_rank", "device_factors"), ("slow_link", "link_factors")):
        if values.get(name):
            found[argument] = _in_order(factors_of(name, values[name], devices), values.get("device_order"), SLOW[name].numbers)
    return found
