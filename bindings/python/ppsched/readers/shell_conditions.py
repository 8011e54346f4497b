# SPDX-License-Identifier: Apache-2.0
"""Whether a condition of a shell script holds: comparisons of numbers and texts. Other commands may do either."""
import fnmatch
import re
from typing import Callable, Dict, List, Optional

from .shell_words import UNKNOWN, divided, words_of

NUMBERS: Dict[str, Callable[[int, int], bool]] = {
    "<": lambda a, b: a < b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b}
WORDS = {"-lt": "<", "-gt": ">", "-le": "<=", "-ge": ">=", "-eq": "==", "-ne": "!="}
_TEST = re.compile(r"(?:\[\[\s(?P<double>.*)\s\]\]|\[\s(?P<single>.*)\s\]|test\s(?P<word>.*)|\(\((?P<sum>.*)\)\))$", re.S)
_SUM = re.compile(r"\s*(.+?)\s*(<=|>=|==|!=|<|>)\s*(.+?)\s*$", re.S)
Expand = Callable[[str], str]            # a word without quotes, variables replaced
Number = Callable[[str], Optional[int]]  # a sum


def is_condition(text: str) -> bool:
    return _TEST.match(re.sub(r"^(?:!\s+)+", "", text.strip())) is not None


def either(one: Optional[bool], other: Optional[bool]) -> Optional[bool]:
    """One or the other, of which each may be unknown."""
    if one or other:
        return True
    return None if one is None or other is None else False


def both(one: Optional[bool], other: Optional[bool]) -> Optional[bool]:
    return opposite(either(opposite(one), opposite(other)))


def opposite(one: Optional[bool]) -> Optional[bool]:
    return None if one is None else not one


class Conditions:
    """Of variables as they are now."""

    def __init__(self, expand: Expand, number: Number) -> None:
        self.expand, self.number = expand, number

    def holds(self, text: str) -> Optional[bool]:
        """None if that is not known."""
        text = text.strip()
        if re.match(r"!\s", text):
            return opposite(self.holds(text[1:]))
        parts = divided(text, "&&", "||")
        if len(parts) > 1:
            return self.joined([sign for sign, _ in parts[1:]], [self.holds(part) for _, part in parts])
        match = _TEST.match(text)
        if match is None:
            return None
        if match["sum"] is not None:
            return self.sum(match["sum"])
        return self.test(match["double"] or match["single"] or match["word"] or "", match["double"] is not None)

    def joined(self, signs: List[str], found: List[Optional[bool]]) -> Optional[bool]:
        """From the left, as a shell does."""
        value = found[0]
        for sign, other in zip(signs, found[1:]):
            value = both(value, other) if sign == "&&" else either(value, other)
        return value

    def sum(self, text: str) -> Optional[bool]:
        match = _SUM.match(text)
        if match is None:
            value = self.number(text)
            return None if value is None else value != 0
        one, other = self.number(match[1]), self.number(match[3])
        return None if one is None or other is None else NUMBERS[match[2]](one, other)

    def test(self, text: str, is_double: bool) -> Optional[bool]:
        """What stands in brackets, of which double ones have patterns, and signs between several."""
        parts = divided(text, "&&", "||") if is_double else [("", text)]
        if len(parts) > 1:
            # There && goes before ||.
            sums: List[Optional[bool]] = [self.test(parts[0][1], True)]
            for sign, part in parts[1:]:
                value = self.test(part, True)
                sums[-1:] = [both(sums[-1], value)] if sign == "&&" else [sums[-1], value]
            return self.joined(["||"] * (len(sums) - 1), sums)
        words = [word for word, _ in words_of(text, 0)]
        if words and words[0] == "!":
            return opposite(self.test(text.strip()[1:], is_double))
        if len(words) == 1:
            return self.is_filled(words[0])
        if len(words) == 2 and words[0] in ("-n", "-z"):
            filled = self.is_filled(words[1])
            return filled if words[0] == "-n" else opposite(filled)
        return self.compared(words[0], words[1], words[2], is_double) if len(words) == 3 else None

    def is_filled(self, word: str) -> Optional[bool]:
        value = self.expand(word)
        return True if value.replace(UNKNOWN, "") else None if value else False

    def compared(self, one: str, sign: str, other: str, is_double: bool) -> Optional[bool]:
        left, right = self.expand(one), self.expand(other)
        if UNKNOWN in left or UNKNOWN in right:
            return None
        if sign in WORDS:
            numbers = [int(each) if re.fullmatch(r"-?\d{1,18}", each) else None for each in (left, right)]
            return None if numbers[0] is None or numbers[1] is None else NUMBERS[WORDS[sign]](numbers[0], numbers[1])
        if sign not in ("=", "==", "!="):
            return None
        is_pattern = is_double and not any(quote in other for quote in "\"'")
        return (fnmatch.fnmatchcase(left, right) if is_pattern else left == right) == (sign != "!=")
