# SPDX-License-Identifier: Apache-2.0
"""Members of the library's enums, by name or value."""
import enum
from typing import Type, TypeVar

from ._library import Error
from .shown import shown

Member = TypeVar("Member", bound=enum.IntEnum)


def member(kind: Type[Member], what: str, value: object) -> Member:
    """The member of a name (in any case) or a value; an Error that lists the names where there is none."""
    if isinstance(value, str) and value.upper() in kind.__members__:
        return kind[value.upper()]
    for found in kind:
        if found == value and not isinstance(value, bool):
            return found
    raise Error(f"there is no {what} {shown(value)}; there are {', '.join(name.lower() for name in kind.__members__)}")
