# SPDX-License-Identifier: Apache-2.0
"""Members of the library's enums, by name or value."""
import enum
import re
from typing import List, Type, TypeVar

from ._library import Error, decoded, lib
from .shown import shown

Member = TypeVar("Member", bound=enum.IntEnum)


def name_of(value: enum.IntEnum) -> str:
    """The library's name of a member, such as "by_time": what options, JSON and Python take."""
    words = re.sub("(?<!^)(?=[A-Z])", "_", type(value).__name__).lower()
    return decoded(getattr(lib, f"ppsched_{words}_name")(value))


def names_of(kind: Type[enum.IntEnum]) -> List[str]:
    """Those of all members, in the order of their numbers."""
    return [name_of(value) for value in kind]


def member(kind: Type[Member], what: str, value: object) -> Member:
    """The member of a name (in any case) or a value; an Error that lists the names where there is none."""
    if isinstance(value, str) and value.upper() in kind.__members__:
        return kind[value.upper()]
    for found in kind:
        if found == value and not isinstance(value, bool):
            return found
    raise Error(f"there is no {what} {shown(value)}; there are {', '.join(name.lower() for name in kind.__members__)}")
