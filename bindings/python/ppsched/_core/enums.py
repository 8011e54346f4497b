# SPDX-License-Identifier: Apache-2.0
"""Members of the library's enums, by name or value."""
import enum
import re
from typing import List, Type, TypeVar

from ._library import Error, decoded, lib
from .shown import shown

Member = TypeVar("Member", bound=enum.IntEnum)


def name_of(value: enum.IntEnum) -> str:
    """The library's name of a member, such as "by_time", which options, JSON and Python use."""
    words = re.sub("(?<!^)(?=[A-Z])", "_", type(value).__name__).lower()
    return decoded(getattr(lib, f"ppsched_{words}_name")(value))


def names_of(kind: Type[enum.IntEnum]) -> List[str]:
    """The names of all members, in the order of their numbers."""
    return [name_of(value) for value in kind]


def member(kind: Type[Member], what: str, value: object) -> Member:
    """The member with a name (in upper or lower case) or a value. If there is none, raises an Error that lists the names."""
    if isinstance(value, str) and value.upper() in kind.__members__:
        return kind[value.upper()]
    for found in kind:
        if found == value and not isinstance(value, bool):
            return found
    raise Error(f"there is no {what} {shown(value)}; there are {', '.join(name.lower() for name in kind.__members__)}")
