# SPDX-License-Identifier: Apache-2.0
"""Options of the command line that take lists of numbers, with or without units: 1 2 3, or 1,2,3."""
import argparse
import contextlib
import re
from typing import Any, Callable, List, Optional, Union

from .._core._library import Error
from .._core.shown import shown
from .._core.units import parse
from .._core.whole_numbers import MOST_DIGITS, number_of

_THOUSANDS = re.compile(r"([0-9]{1,6})[kK]")
_NUMBERED = re.compile(r"(?:gpu|rank|device|cuda|node|stage)[:_-]?([0-9]+)", re.IGNORECASE)
_COUNT = re.compile(r"([0-9]+)(?:[A-Za-z%][A-Za-z/]*|,)")  # with a unit, which counts do not have, or a comma
_INTEGER = re.compile(r"[-+]?[0-9]+$")


def _instead(text: str) -> str:
    """What to type in place of a text that is no number."""
    with contextlib.suppress(Error):
        if parse("1" + text):
            return f"a unit follows its number at once, such as 72{text}"
    with contextlib.suppress(ValueError):
        if text.endswith("%"):
            return f"write {number_of(text[:-1]) / 100:g}"
    return "a number may have a unit, such as 6.1ms, and a list is written 1 2 3 or 1,2,3"


def _listed(word: str) -> List[str]:
    """The parts of a list; a comma at its end is that of a list such as 1, 2, 3."""
    parts = word.split(",")
    return parts[:-1] if len(parts) > 1 and not parts[-1] else parts


def _numbers(word: str) -> List[Union[float, str]]:
    """The numbers in a word: floats, or texts if they have units."""
    found: List[Union[float, str]] = []
    for text in _listed(word):
        try:
            found.append(text if parse(text) else number_of(text))
        except Error as error:
            raise argparse.ArgumentTypeError(f"{word}: {error}") from None
        except ValueError:
            raise argparse.ArgumentTypeError(f"{shown(word)} is not a number; {_instead(text)}") from None
    return found


class _Flat(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
                 option_string: Optional[str] = None) -> None:
        setattr(namespace, self.dest, [number for numbers in values for number in numbers])


def _whole_instead(word: str) -> str:
    """A text that is no integer, and the one to type in its place where that is clear."""
    thousands = _THOUSANDS.fullmatch(word)
    with contextlib.suppress(ValueError, OverflowError):
        number = int(thousands[1]) * 1024 if thousands else number_of(word)
        if number == int(number) and abs(number) < 1e15:
            return f"; write {int(number)}"
    count = _COUNT.fullmatch(word) or _NUMBERED.fullmatch(word)
    if count:
        return f"; write {count[1]}"
    return "; write digits, such as 8" if not word or word.isalpha() else ""


def whole(word: str) -> int:
    """The integer value of an option."""
    if _INTEGER.match(word) is None:
        raise argparse.ArgumentTypeError(f"{shown(word)} is not an integer{_whole_instead(word)}")
    if len(word) > MOST_DIGITS:
        raise argparse.ArgumentTypeError(f"{shown(word)} is too large")
    return int(word)


def count_of_devices(word: str) -> int:
    """Of --devices, which is not their kind."""
    try:
        return whole(word)
    except argparse.ArgumentTypeError as error:
        is_kind = word[:1].isalpha() and word.isalnum() and not word.isalpha()
        raise argparse.ArgumentTypeError(f"{error}; the kind of device is --device {word}, with --model" if is_kind else str(error)) from None


def kind_of_device(number: str) -> Callable[[str], str]:
    """Of --device, which is not their number. number: the options that say it, with a place for the word."""
    def checked(word: str) -> str:
        if _INTEGER.match(word):
            raise argparse.ArgumentTypeError(f"{shown(word)} is no kind of device, such as h100; the number of devices is {number.format(word)}")
        return word

    return checked


def real(word: str) -> float:
    """One number, of an option."""
    try:
        return number_of(word)
    except ValueError:
        instead = _instead(word) if word.endswith("%") else f"write {word.replace(',', ' ')}" if "," in word else ""
        raise argparse.ArgumentTypeError(f"{shown(word)} is not a number" + (f"; {instead}" if instead else "")) from None


def _counts(word: str) -> List[int]:
    if any(_INTEGER.match(text) is None for text in _listed(word)):
        raise argparse.ArgumentTypeError(f"{shown(word)} is not an integer{_whole_instead(word) or '; a list is written 1 2 4 or 1,2,4'}")
    return [whole(text) for text in _listed(word)]


def batches(word: str) -> List[int]:
    """As a list of integers; A..B is A, 2A, 4A up to B, and B."""
    first, dots, last = word.partition("..")
    if not dots:
        return _counts(word)
    if not first or not last:
        raise argparse.ArgumentTypeError(f"{shown(word)}: A..B needs both numbers, such as 64..1024")
    least, most = whole(first), whole(last)
    if not 1 <= least <= most:
        raise argparse.ArgumentTypeError(f"{shown(word)}: A..B needs 1 or more, and B not below A")
    found = [least]
    while 2 * found[-1] <= most:
        found.append(2 * found[-1])
    return found if found[-1] == most else [*found, most]


def add_count_argument(parser: Any, *strings: str, **given: Any) -> None:
    """Adds an option that takes a list of integers."""
    given.setdefault("type", _counts)
    parser.add_argument(*strings, nargs="+", action=_Flat, **given)


def add_word_argument(parser: Any, *strings: str, **given: Any) -> None:
    """Adds an option that takes a list of words."""
    parser.add_argument(*strings, nargs="+", type=_listed, action=_Flat, **given)


def add_number_argument(parser: Any, *strings: str, **given: Any) -> None:
    parser.add_argument(*strings, nargs="+", type=_numbers, action=_Flat, **given)
