# SPDX-License-Identifier: Apache-2.0
"""Reads the fields of a file with a model's sizes one by one."""
from typing import Any, List, Mapping, Set

from .._core._library import Error
from .._core.shown import shown

Fields = Mapping[str, Any]
MOST = 2**31  # largest size or count


def in_use(value: object) -> bool:
    """Whether it is not null, false, 0 or empty."""
    return bool(value)


class Reader:
    """Fields of one file, read by name; check() reports all missing ones together."""

    def __init__(self, where: str, fields: Fields) -> None:
        self.where, self.fields = where, fields
        self.missing: List[str] = []
        self.asked: Set[str] = set()

    def count(self, *names: str) -> int:
        """The value of the first of the names that the file has; at least 1."""
        found = self.optional(*names)
        if found is None:
            self.missing.append(names[0])
        elif found == 0:
            name = next(name for name in names if self.fields.get(name) is not None)
            raise Error(f"{self.where}: {name} is 0; it must be 1 or more")
        return found or 0

    def defaulted(self, name: str, default: int, least: int = 0) -> int:
        """The field, or the default of Hugging Face's class if the file does not have it; null is 0."""
        found = self.optional(name, least=least)
        return found or 0 if name in self.fields else default

    def optional(self, *names: str, least: int = 0) -> Any:
        """The value of the first of the names that the file has, or None; other names that are in use must have the same value."""
        given = [(name, self.take(name)) for name in names]
        found = [(name, value) for name, value in given if value is not None]
        found = [each for number, each in enumerate(found) if number == 0 or in_use(each[1])]
        for name, value in found:
            if isinstance(value, bool) or not isinstance(value, int):
                raise Error(f"{self.where}: {name} must be an integer, not {shown(value)}")
            if not least <= value <= MOST:
                raise Error(f"{self.where}: {name} is {shown(value)}; it must be {least} " + ("or more" if value < least else f"to {MOST}"))
            if value != found[0][1]:
                raise Error(f"{self.where}: {name} is {value}, but {found[0][0]}, another name of the same field, is {found[0][1]}; give one of them")
        return found[0][1] if found else None

    def take(self, name: str) -> Any:
        """The unchecked value; the field counts as read."""
        self.asked.add(name)
        return self.fields.get(name)

    def switch(self, name: str, default: bool = False) -> bool:
        value = self.take(name)
        if value is not None and not isinstance(value, bool):
            raise Error(f"{self.where}: {name} must be true or false, not {shown(value)}")
        return default if value is None else value

    def share(self, name: str, default: float) -> float:
        value = self.take(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1):
            raise Error(f"{self.where}: {name} must be a number from 0 to 1, not {shown(value)}")
        return default if value is None else value

    def check(self, kind: str) -> None:
        if self.missing:
            raise Error(f"{self.where}: a {kind} needs {', '.join(self.missing)}; add {'it' if len(self.missing) == 1 else 'them'}")
