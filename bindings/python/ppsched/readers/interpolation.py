# SPDX-License-Identifier: Apache-2.0
"""${...} in the YAML of recipes, as OmegaConf has it: other values of the file, by their path from its root or, after dots, from where they
stand; and sums, products and quotients of them. What the environment or another file holds is not known."""
import math
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

DEEPEST = 32
UNKNOWN = "???"  # as OmegaConf writes a value that must be given
_INNERMOST = re.compile(r"\$\{([^${}]*)\}")
_OPERATIONS: Dict[str, Callable[[List[Any]], Any]] = {"sum": math.fsum, "add": math.fsum, "multiply": math.prod, "mult": math.prod}


def _number(text: str) -> Any:
    text = text.strip()
    if re.fullmatch(r"-?\d{1,18}", text):
        return int(text)
    return float(text) if re.fullmatch(r"-?(\d+\.\d*|\.?\d+)([eE][-+]?\d+)?", text) else None


def _whole(value: float) -> Any:
    return int(value) if value == int(value) else value


def _calculated(name: str, words: Sequence[str]) -> Optional[Any]:
    numbers = [_number(word) for word in words]
    if not numbers or None in numbers:
        return None
    if name in _OPERATIONS:
        return _whole(_OPERATIONS[name](numbers))
    if name in ("divide_ceil", "divide_floor", "divide", "div") and len(numbers) == 2 and numbers[1]:
        whole = -(-numbers[0] // numbers[1]) if name == "divide_ceil" else numbers[0] // numbers[1]
        return whole if name.startswith("divide_") else _whole(numbers[0] / numbers[1])
    return None


class Resolver:
    """The values of one file."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root

    def _at(self, parts: Sequence[str]) -> Any:
        value: Any = self._root
        for part in parts:
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def _looked_up(self, name: str, here: List[str], depth: int) -> Any:
        if ":" in name:
            operation, _, rest = name.partition(":")
            return _calculated(operation.strip(), rest.split(","))
        dots = len(name) - len(name.lstrip("."))
        parts = [part for part in name.lstrip(".").split(".") if part]
        if dots:
            parts = [*here[:max(len(here) - dots + 1, 0)], *parts]
        found = self._at(parts)
        if found is None and not dots and len(parts) > 1:
            parts = parts[1:]  # a launcher that puts the file under a name
            found = self._at(parts)
        return self.value(found, parts[:-1], depth + 1)

    def value(self, value: Any, here: List[str], depth: int = 0) -> Any:
        """A value that stands in the section named here; None where it is not known."""
        if isinstance(value, list):
            return [self.value(each, here, depth) for each in value]
        while isinstance(value, str) and (match := _INNERMOST.search(value)):
            if depth > DEEPEST:
                return None
            found = self._looked_up(match[1].strip(), here, depth)
            if match[0] == value:
                return found
            if found is None or isinstance(found, (dict, list)):
                return None
            value, depth = value[:match.start()] + str(found) + value[match.end():], depth + 1
        return None if value == UNKNOWN else value

    def section(self, *parts: str) -> Dict[str, Any]:
        """A section with its values; its own sections as they are."""
        found = self._at(parts)
        own = found if isinstance(found, dict) else {}
        return {name: value if isinstance(value, dict) else self.value(value, list(parts)) for name, value in own.items()}
