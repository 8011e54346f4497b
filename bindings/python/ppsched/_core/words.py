# SPDX-License-Identifier: Apache-2.0
"""Helpers for messages."""
import functools
from typing import Any, Callable, Iterable, List, Tuple, TypeVar, cast

from .shown import shown

Function = TypeVar("Function", bound=Callable[..., Any])


def counted(count: int, one: str, more: str = "s") -> str:
    """A count with a noun: 1 stage, 2 stages."""
    return f"{count} {one}{'' if count == 1 else more}"


def nearest(name: object, known: Iterable[str], likeness: float = 0.6) -> str:
    """A question with the known name that was probably meant, or an empty text. likeness: from 0, anything, to 1, equal."""
    import difflib  # slow to import
    names = list(known)
    near = difflib.get_close_matches(str(name), names, 1, likeness)
    small = {one.lower(): one for one in reversed(names)}
    near = near or [small[one] for one in difflib.get_close_matches(str(name).lower(), small, 1, likeness)]
    return f"did you mean {near[0]}?" if near else ""


def _distance(one: str, other: str) -> int:
    """The edit distance of two texts."""
    row = list(range(len(other) + 1))
    for number, letter in enumerate(one, 1):
        last, row[0] = row[0], number
        for place, wanted in enumerate(other, 1):
            last, row[place] = row[place], min(row[place] + 1, row[place - 1] + 1, last + (letter != wanted))
    return row[-1]


def misspelt(name: object, known: Iterable[str]) -> str:
    """The known name from which this differs by at most two letters, or an empty text. Different digits mean another name."""
    text = str(name).lower()
    digits = [letter for letter in text if letter.isdigit()]
    near = [(_distance(text, one), one) for one in known if digits == [letter for letter in one if letter.isdigit()]]
    distance, one = min(near, default=(3, ""))
    return one if distance <= min(2, len(text) // 3) else ""


def names_checked(function: Function) -> Function:
    """Decorator: an argument with a wrong name raises a TypeError that names the nearest one."""
    code = function.__code__
    names: List[str] = [name for name in code.co_varnames[:code.co_argcount + code.co_kwonlyargcount] if name not in ("self", "cls")]
    title = function.__qualname__
    title = title[:-len(".__init__")] if title.endswith(".__init__") else title

    @functools.wraps(function)
    def checked(*values: object, **given: object) -> object:
        for name in given:
            if name not in names:
                raise TypeError(f"{title} has no argument {shown(name)}; {nearest(name, names) or 'it has ' + ', '.join(names)}")
        return function(*values, **given)

    return cast(Function, checked)


class _Briefly:
    """What a decorated function wraps: its signature is the true one, but a short text."""

    def __init__(self, function: Callable[..., Any], names: Tuple[str, ...]) -> None:
        self.__wrapped__, self._names = function, names

    @property
    def __signature__(self) -> Any:
        import inspect  # slow to import; who asks for a signature has it
        names = self._names

        class BriefSignature(inspect.Signature):
            """A signature whose text has the arguments by position and some keywords. `parameters` has all."""

            def __str__(self) -> str:
                parts = [part.replace(annotation=part.empty) for part in self.parameters.values()
                         if part.kind != part.KEYWORD_ONLY or part.name in names]
                result = inspect.Signature([], return_annotation=self.return_annotation)
                return str(inspect.Signature(parts))[:-1] + ", ..." + str(result)[1:]

            def format(self, **_how: Any) -> str:  # help() calls it from Python 3.13 on
                return str(self)

        true = inspect.signature(self.__wrapped__)
        return BriefSignature(list(true.parameters.values()), return_annotation=true.return_annotation)


def shown_briefly(*names: str) -> Callable[[Function], Function]:
    """Decorator of a function that wraps another one: of its keywords help() shows only these. inspect.signature() has all."""
    def decorate(function: Function) -> Function:
        wrapper: Any = function
        wrapper.__wrapped__ = _Briefly(wrapper.__wrapped__, names)
        return function
    return decorate
