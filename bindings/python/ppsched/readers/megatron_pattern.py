# SPDX-License-Identifier: Apache-2.0
"""Which layers are of a kind, from Megatron-LM's moe_layer_freq and similar arguments: a number, a list, or an expression such as
([0]*3+[1]*58)."""
import re
from typing import Any, Dict, List, Union

from .._core._library import Error
from .._core.shown import shown
from .._core.words import counted

_WORD = re.compile(r"\s*(?:([0-9]+)|([\[\](),*+]))")
_DEEPEST = 50  # nested brackets
Value = Union[int, List[int]]


class _Reader:
    """Evaluates sums of products of numbers and lists of numbers with Python's meaning; makes no list longer than `most`."""

    def __init__(self, where: str, text: str, most: int, name: str) -> None:
        self.where, self.text, self.most, self.place, self.depth = f"{where}: {name} {shown(text)}", text, most, 0, 0

    def fail(self, reason: str) -> Error:
        return Error(f"{self.where}: {reason}")

    def next(self) -> str:
        """The next token, without consuming it; empty at the end."""
        found = _WORD.match(self.text, self.place)
        if found is None and self.text[self.place:].strip():
            raise self.fail(f"it cannot be read from character {self.place + 1} on; it may contain numbers, [ ] ( ) , * and +, as in ([0]*3+[1]*58)")
        self.after = found.end() if found is not None else self.place
        return found.group(1) or found.group(2) if found is not None else ""

    def take(self, wanted: str) -> None:
        word = self.next()
        if word != wanted:
            raise self.fail(f"{shown(wanted)} is missing before {shown(word)}" if word else f"{shown(wanted)} is missing at its end")
        self.place = self.after

    def sum(self) -> Value:
        value = self.product()
        while self.next() == "+":
            self.place = self.after
            value = self.added(value, self.product())
        return value

    def product(self) -> Value:
        value = self.atom()
        while self.next() == "*":
            self.place = self.after
            value = self.times(value, self.atom())
        return value

    def atom(self) -> Value:
        word, self.depth = self.next(), self.depth + 1
        if self.depth > _DEEPEST:
            raise self.fail(f"there are more than {_DEEPEST} nested brackets")
        if not (word.isdigit() or word in ("[", "(")) or not word:
            raise self.fail(f"a number or a list is missing before {shown(word)}" if word else "a number or a list is missing at its end")
        self.place = self.after
        value: Value = self.number(word) if word.isdigit() else self.list() if word == "[" else self.sum()
        if word == "(":
            self.take(")")
        self.depth -= 1
        return value

    def number(self, word: str) -> int:
        return self.bounded(int(word) if len(word) < 20 else 10**20)

    def list(self) -> List[int]:
        found: List[int] = []
        while self.next() != "]":
            value = self.sum()
            if isinstance(value, list):
                raise self.fail("a list may not contain a list")
            found.append(value)
            self.check(len(found))
            if self.next() != "]":
                self.take(",")
        self.place = self.after
        return found

    def check(self, length: int) -> None:
        if length > self.most:
            raise self.fail(f"it has {length} entries or more, and the model has {counted(self.most, 'layer')}; give one for each layer")

    def added(self, one: Value, other: Value) -> Value:
        if isinstance(one, list) and isinstance(other, list):
            self.check(len(one) + len(other))
            return one + other
        if isinstance(one, list) or isinstance(other, list):
            raise self.fail("a list and a number cannot be added")
        return self.bounded(one + other)

    def times(self, one: Value, other: Value) -> Value:
        if isinstance(one, list) and isinstance(other, list):
            raise self.fail("a list cannot be multiplied by a list")
        if isinstance(one, list) or isinstance(other, list):
            entries, count = (one, other) if isinstance(one, list) else (other, one)
            assert isinstance(entries, list) and isinstance(count, int)
            self.check(len(entries) * count)
            return entries * count
        return self.bounded(one * other)

    def bounded(self, number: int) -> int:
        if number >= 10**9:
            raise self.fail("a number in it is too large")
        return number


def _read(where: str, text: str, layers: int, name: str = "moe_layer_freq") -> Value:
    """The value of an expression: a number or a list."""
    reader = _Reader(where, text, layers, name)
    value = reader.sum()
    if reader.next():
        raise reader.fail(f"it cannot be read from character {reader.place + 1} on")
    return value


def expert_pattern(where: str, frequency: Any, layers: int) -> List[int]:
    """For each layer 1 if it has experts, else 0."""
    if isinstance(frequency, str):
        frequency = _read(where, frequency, layers)
    if isinstance(frequency, bool) or not isinstance(frequency, (int, list)):
        raise Error(f"{where}: moe_layer_freq must be a number, a list or an expression such as ([0]*3+[1]*58), not {shown(frequency)}")
    if isinstance(frequency, int):
        if frequency < 1:
            raise Error(f"{where}: moe_layer_freq is {shown(frequency)}; it must be 1 or more")
        return [int(layer % frequency == 0) for layer in range(layers)]
    if len(frequency) != layers:
        raise Error(f"{where}: moe_layer_freq has {len(frequency)} entries, and the model has {counted(layers, 'layer')}; give one for each layer")
    wrong = next((entry for entry in frequency if isinstance(entry, bool) or not isinstance(entry, int) or entry not in (0, 1)), None)
    if wrong is not None:
        raise Error(f"{where}: moe_layer_freq has the entry {shown(wrong)}; it must be 1 (experts) or 0 (none)")
    return list(frequency)


def layer_pattern(where: str, name: str, frequency: Any, layers: int) -> List[int]:
    """Of each layer 1 or 0: 0 in every so many, or as a list or such a text says."""
    if isinstance(frequency, str):
        frequency = _read(where, frequency, layers, name)
    if isinstance(frequency, bool) or not isinstance(frequency, (int, list)):
        raise Error(f"{where}: {name} must be a number, a list or a text such as ([1]*3+[0]), not {shown(frequency)}")
    if isinstance(frequency, int):
        if frequency < 1:
            raise Error(f"{where}: {name} is {shown(frequency)}; it must be 1 or more")
        return [int((layer + 1) % frequency != 0) for layer in range(layers)]
    if len(frequency) != layers or not all(type(entry) is int and entry in (0, 1) for entry in frequency):
        raise Error(f"{where}: {name} has {len(frequency)} entries, and the model has {counted(layers, 'layer')}; give 0 or 1 for each layer")
    return list(frequency)


def pattern_fields(pattern: List[int]) -> Dict[str, Any]:
    """Fields of Transformer for a pattern: leading layers without experts, then every n-th with experts; else a flag per layer."""
    experts = [layer for layer, has in enumerate(pattern) if has]
    if not experts:
        return {"dense_layers": len(pattern)}
    first, step = experts[0], experts[1] - experts[0] if len(experts) > 1 else len(pattern)
    row = {"dense_layers": first, "expert_interval": step, "expert_offset": -first % step}
    if experts == list(range(first, len(pattern), step)):
        return row
    return {"expert_layers": tuple(pattern)}
