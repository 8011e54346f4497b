# SPDX-License-Identifier: Apache-2.0
"""Words for people."""
import functools
from typing import Any, Callable, Iterable, List, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])


def counted(count: int, one: str, more: str = "s") -> str:
    """A number of things."""
    return f"{count} {one}{'' if count == 1 else more}"


def nearest(name: object, known: Iterable[str]) -> str:
    """The known name that was meant, as a question, or nothing."""
    import difflib  # which takes long to import
    near = difflib.get_close_matches(str(name), list(known), n=1)
    return f"did you mean {near[0]}?" if near else ""


def names_checked(function: Function) -> Function:
    """A decorator: an argument by a wrong name is a TypeError that tells the nearest name."""
    code = function.__code__
    names: List[str] = [name for name in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] if name not in ("self", "cls")]
    title = function.__qualname__
    title = title[:-len(".__init__")] if title.endswith(".__init__") else title

    @functools.wraps(function)
    def checked(*values: object, **given: object) -> object:
        for name in given:
            if name not in names:
                raise TypeError(f"{title} has no argument {name!r}; {nearest(name, names) or 'it has ' + ', '.join(names)}")
        return function(*values, **given)

    return cast(Function, checked)
