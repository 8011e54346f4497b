# SPDX-License-Identifier: Apache-2.0
"""The fields of a file with a model's sizes, one by one."""
from typing import Any, List, Mapping, Set

from .._core._library import Error
from .._core.shown import shown

Fields = Mapping[str, Any]
MOST = 2**31  # of a size or a number of parts


def in_use(value: object) -> bool:
    """Not null, false, 0, nor empty."""
    return bool(value)


class Reader:
    """The fields of one file, asked for by name; what is missing is told all at once."""

    def __init__(self, where: str, fields: Fields) -> None:
        self.where, self.fields = where, fields
        self.missing: List[str] = []
        self.asked: Set[str] = set()

    def count(self, *names: str) -> int:
        """The first of the names that there is."""
        found = self.optional(*names)
        if found is None:
            self.missing.append(names[0])
        elif found == 0:
            name = next(name for name in names if self.fields.get(name) is not None)
            raise Error(f"{self.where}: {name} is 0; it must be 1 or more")
        return found or 0

    def defaulted(self, name: str, default: int, least: int = 0) -> int:
        """What Hugging Face's class has where the file says nothing; null is 0."""
        found = self.optional(name, least=least)
        return found or 0 if name in self.fields else default

    def optional(self, *names: str, least: int = 0) -> Any:
        """The first of the names that there is; others of them that are in use must say the same."""
        given = [(name, self.take(name)) for name in names]
        found = [(name, value) for name, value in given if value is not None]
        found = [each for number, each in enumerate(found) if number == 0 or in_use(each[1])]
        for name, value in found:
            if isinstance(value, bool) or not isinstance(value, int):
                raise Error(f"{self.where}: {name} must be an integer, not {shown(value)}")
            if not least <= value <= MOST:
                raise Error(f"{self.where}: {name} is {shown(value)}; it must be {least} " + ("or more" if value < least else f"to {MOST}"))
            if value != found[0][1]:
                raise Error(f"{self.where}: {name} is {value}, and {found[0][0]}, another name of it, {found[0][1]}; give one of them")
        return found[0][1] if found else None

    def take(self, name: str) -> Any:
        """A value as it is, which counts as read."""
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
