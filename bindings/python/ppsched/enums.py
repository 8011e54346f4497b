# SPDX-License-Identifier: Apache-2.0
"""Members of the library's enums, by name or value."""
from ._library import Error


def member(enum, what, value):
    """The member of a name (in any case) or a value; an Error that lists the names where there is none."""
    if isinstance(value, str) and value.upper() in enum.__members__:
        return enum[value.upper()]
    if not isinstance(value, (str, bool)) and value in list(enum):
        return enum(value)
    raise Error(f"there is no {what} {value!r}; there are {', '.join(name.lower() for name in enum.__members__)}")
