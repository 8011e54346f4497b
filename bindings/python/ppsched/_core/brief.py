# SPDX-License-Identifier: Apache-2.0
"""Short signatures in help() of functions that have dozens of keywords."""
from typing import Any, Callable, Tuple, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


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
