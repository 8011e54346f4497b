# SPDX-License-Identifier: Apache-2.0
"""Converts all numbers of a problem to the same units. A mixture is refused, with the line that would be right."""
import copy
import json
import re
from fractions import Fraction
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple, Union

from ._library import Error
from .config import QUANTITIES, unites_numbers
from .unit_advice import LARGE, unit_meant
from .units import BYTES, KIND_OF, KINDS, PLAIN, TIMES, Amount, Units, dimension_of, number_word, parse
from .whole_numbers import number_of
from .windows import leaf_times

SECONDS_AND_BYTES = Units("s", "B", "B")
Files = Mapping[str, str]  # the file of a value, by its name; values of the command line are not in it
ENDS = ("embedding", "head")
BACKWARDS = ("backward_times", "backward_input_times", "backward_weight_times")
MOST_SHOWN = 8  # most numbers of a list in a message
GROUPS = {"time": ("time", "bandwidth"), "memory": ("memory",), "bytes": ("bytes", "bandwidth")}  # dimensions whose units depend on each other


class Place(NamedTuple):
    """The place of some numbers. name: of their list; words: the text before them; put: stores them again."""

    name: str
    words: str
    value: Any
    put: Callable[[Any], None]

    @property
    def dimension(self) -> Optional[str]:
        return dimension_of(self.name)

    def line(self, unit: str = "") -> str:
        """The line as it was written, with this unit for numbers without units."""
        shown = mapped(self.value, lambda number: f"{number_word(number)}{unit}" if unit and is_plain(number) else number)
        if self.words.endswith(": "):
            return self.words + json.dumps(shown)
        texts = [number_word(item) if isinstance(item, float) else str(item) for item in leaves(shown)]
        return self.words + " ".join(texts[:MOST_SHOWN] + ["..."] * (len(texts) > MOST_SHOWN))


class Given(NamedTuple):
    """A number with a unit, and its place."""

    place: Place
    amount: Amount


# --- the numbers of a value ---

def leaves(value: Any) -> Iterator[Any]:
    """The items of nested lists."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    """Applies a function to the items of nested lists."""
    return [mapped(item, function) for item in value] if isinstance(value, (list, tuple)) else function(value)


def is_plain(value: object) -> bool:
    """Whether a value is a number that needs a unit; zero and infinity are the same in all units."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value != 0 and abs(value) < float("inf")


def worded(name: str, value: Any, units: Units) -> Any:
    """Numbers without units as texts with the unit for their name, if it is known."""
    known = units.of(dimension_of(name)) is not None
    return mapped(value, lambda number: units.word(name, number) if known and is_plain(number) else number)


# --- their places ---

def _putting(holder: Any, key: Any, words: str = "") -> Callable[[Any], None]:
    """A function that stores a value. words: the text before the number in a word."""
    def put(value: Any) -> None:
        holder[key] = f"{words}{value}" if words else value
    return put


def _in_end(name: str, given: Any, files: Files) -> Iterator[Place]:
    """The places in a mapping, or in KEY=VALUE words."""
    if isinstance(given, dict):
        for key, value in given.items():
            yield Place(str(key), f"{files.get(name, '')}: {name}: {key}: ", value, _putting(given, key))
    for index, word in enumerate(given if isinstance(given, list) else ()):
        key, _, value = word.partition("=")
        try:
            number: Union[float, str] = number_of(value)
        except ValueError:
            number = value
        yield Place(key, f"--{name} {key}=", number, _putting(given, index, f"{key}="))


def _in_layers(rows: Any, path: str) -> Iterator[Place]:
    """The places in rows, which may be wrong: errors are reported where rows are read."""
    for number, row in enumerate(rows if isinstance(rows, list) else ()):
        kinds = row.get("recompute") if isinstance(row, dict) else None
        for holder in (row, *(kinds if isinstance(kinds, list) else ())):
            if isinstance(holder, dict):
                name = holder.get("name", number)
                for key in filter(dimension_of, map(str, holder)):
                    yield Place(key, f"{path}: {name}: {key}: ", holder[key], _putting(holder, key))
        if isinstance(row, dict):
            yield from _in_windows(row.get("windows"), f"{path}: {row.get('name', number)}")


def _in_windows(given: Any, words: str) -> Iterator[Place]:
    for where, row, index in leaf_times(given):
        yield Place("window_time", f"{words}: {where}: ", row[index], _putting(row, index))


def places(values: Dict[str, Any], files: Files) -> List[Place]:
    """All places of times, memory, bytes and bandwidths."""
    found = []
    for name in (*QUANTITIES, "mem_limits", "slice_time", "layer_bytes", "load_bandwidth", "restart_time"):
        if values.get(name) is not None:
            words = f"{files[name]}: {name}: " if name in files else f"--{name.replace('_', '-')} "
            found.append(Place(name, words, values[name], _putting(values, name)))
    for name in ENDS:
        found += _in_end(name, values.get(name), files)
    found += _in_windows(values.get("windows"), files.get("windows", "--windows"))
    return [*found, *_in_layers(values.get("layers"), files.get("layers", "--layers"))]


def _amount(place: Place, text: str) -> Optional[Amount]:
    try:
        amount = parse(text)
    except Error as error:
        raise Error(f"{place.line()}: {error}") from None
    kind = KIND_OF.get(place.dimension or "")
    if amount is not None and amount.kind != kind:
        wanted = f"units of {kind} are {KINDS[kind]}" if kind else f"{place.name} is a plain number"
        raise Error(f"{place.line()}: {amount.unit} is a unit of {amount.kind}; {wanted}")
    return amount


def given_amounts(found: Iterable[Place]) -> List[Given]:
    texts = [(place, text) for place in found for text in leaves(place.value) if isinstance(text, str)]
    amounts = [(place, _amount(place, text)) for place, text in texts]
    return [Given(place, amount) for place, amount in amounts if amount is not None]


# --- what is refused ---

def _unit_for(plain: Place, given: Given, amounts: List[Given]) -> str:
    """The unit to propose for a number without one, given another number with a unit."""
    largest = max(abs(number) for number in leaves(plain.value) if is_plain(number))
    if given.amount.unit in ("B", "s", "B/s") or (plain.dimension != "time" and largest >= LARGE):
        return unit_meant(plain.name, plain.dimension, largest)  # with 72GB, 65536 means B; with 65536B, 72 means GB
    if plain.dimension == given.place.dimension:
        return given.amount.unit
    if plain.dimension != "bandwidth":
        return "ms" if plain.dimension == "time" else "B"
    units = {other.amount.kind: other.amount.unit for other in amounts if other.place.dimension in ("time", "bytes")}
    return f"{units.get('memory', 'B')}/{units.get('time', 's')}"


def _refuse_mixtures(found: List[Place], amounts: List[Given]) -> None:
    for dimensions in GROUPS.values():
        given = [each for each in amounts if each.place.dimension in dimensions]
        plain = [place for place in found if place.dimension in dimensions and any(map(is_plain, leaves(place.value)))]
        if not given or not plain:
            continue
        beside = next((each for each in given if each.place.dimension == plain[0].dimension), given[0])
        other = f" and {beside.place.line()}" if beside.place != plain[0] else ""
        raise Error(f"{plain[0].line()}{other}: numbers with and without units; write "
                    f"{plain[0].line(_unit_for(plain[0], beside, amounts))}")


def _refuse_defaults(values: Mapping[str, Any], amounts: List[Given]) -> None:
    """If numbers have units, those with the defaults 1 and 2 must be given, as defaults have no units. A list of layers has no
    defaults."""
    first = {dimension: next((given for given in amounts if given.place.dimension in dimensions), None)
             for dimension, dimensions in GROUPS.items()}
    time, memory = first["time"], first["memory"]
    has = {name for name in QUANTITIES if values.get(name) is not None}
    has |= {"forward_times", "backward_times"} if values.get("windows") is not None else set()
    if values.get("layers") is not None:
        return
    if time is not None and "forward_times" not in has:
        raise Error(f"{time.place.line()}: with units the times of stages are needed, too, as their defaults, forward 1 and "
                    "backward 2, have no units; give them, such as --forward-times 6.1ms --backward-times 12.2ms")
    if time is not None and values.get("num_layers") is None and not has.intersection(BACKWARDS):
        twice = Place("", "--backward-times ", mapped(values["forward_times"], _doubled), dict(values).update)
        raise Error(f"{time.place.line()}: with units the backward times are needed, too, as their default, 2, has no unit; twice "
                    f"the forward is {twice.line()}")
    if memory is not None and "mem_forward" not in has:
        raise Error(f"{memory.place.line()}: with units the memory of activations is needed, too, as its default, 1, has no unit; "
                    "give what a stage holds of one microbatch until its backward, such as "
                    f"--mem-forward 1.5{memory.amount.unit}")


def _doubled(value: Any) -> Any:
    amount = parse(value) if isinstance(value, str) else None
    return value if amount is None else f"{2 * float(amount.number):g}{amount.unit}"


# --- the same units ---

def _largest(amounts: List[Given], dimension: str) -> Optional[str]:
    """The unit to which all are converted."""
    units = [given.amount for given in amounts if given.place.dimension == dimension]
    return max(units, key=lambda amount: amount.size).unit if units else None


def _units(amounts: List[Given]) -> Units:
    dimensions = {given.place.dimension for given in amounts}
    time = _largest(amounts, "time") or ("s" if "bandwidth" in dimensions else None)
    return Units(time, _largest(amounts, "memory"), "B" if dimensions & {"bytes", "bandwidth"} else None)


def _size(units: Units, dimension: Optional[str]) -> Fraction:
    """The size of the unit to which numbers are converted."""
    if dimension in ("memory", "bytes"):
        return Fraction(BYTES[units.of(dimension) or "B"])
    return Fraction(TIMES[units.time or "s"]) if dimension == "time" else Fraction(1, TIMES[units.time or "s"])


def _converted(place: Place, units: Units) -> Any:
    size = _size(units, place.dimension)

    def plain(value: Any) -> Any:
        amount = _amount(place, value) if isinstance(value, str) else None
        return value if amount is None else amount.measured_in(size)

    return mapped(place.value, plain)


def in_same_units(values: Mapping[str, Any], files: Files, *, has_defaults: bool = True) -> Tuple[Dict[str, Any], Units]:
    """Values with all numbers converted to plain ones, and their units: the largest given unit of each dimension; B for bytes.
    has_defaults: values that are not given have defaults without units."""
    copied = {name: copy.deepcopy(value) if name in (*ENDS, "layers", "windows") else value for name, value in values.items()}
    found = places(copied, files)
    amounts = given_amounts(found)
    if not amounts:
        return dict(values), PLAIN
    _refuse_mixtures(found, amounts)
    if has_defaults:
        _refuse_defaults(values, amounts)
    units = _units(amounts)
    for place in found:
        if given_amounts([place]):
            place.put(_converted(place, units))
    return copied, units


def in_seconds_and_bytes(values: Mapping[str, Any], files: Files) -> Dict[str, Any]:
    """Values with all numbers in seconds and bytes, the units of a model's costs. Plain numbers are in these units already."""
    copied = {name: copy.deepcopy(value) if name in (*ENDS, "layers") else value for name, value in values.items()}
    for place in places(copied, files):
        if given_amounts([place]):
            place.put(_converted(place, SECONDS_AND_BYTES))
    return copied


def refuse_plain(values: Mapping[str, Any], files: Files) -> None:
    """With a model, refuses numbers without units: they would be seconds and bytes, which is rarely meant."""
    for place in places(dict(values), files):
        largest = max((abs(number) for number in leaves(place.value) if is_plain(number)), default=0.0)
        if place.dimension is not None and largest:
            unit, would = unit_meant(place.name, place.dimension, largest), SECONDS_AND_BYTES.of(place.dimension)
            raise Error(f"{place.line()}: with --model numbers have units; write {place.line(unit)} (plain numbers would be {would})")


def has_units(values: Mapping[str, Any], group: str) -> bool:
    """Whether at least one number of a group has a unit, for one of GROUPS."""
    return bool(given_amounts(place for place in places(dict(values), {}) if place.dimension in GROUPS[group]))


def _as_argument(match: "re.Match[str]") -> str:
    """An option and its numbers as an argument of a function."""
    texts = [text if text == "..." else f'"{text}"' for text in match[2].split()]
    return f"{match[1].replace('-', '_')}={texts[0] if len(texts) == 1 else '[' + ', '.join(texts) + ']'}"


def _united(given: Mapping[str, Any]) -> Tuple[Dict[str, Any], Units]:
    """The arguments of a ppsched.Config; what would be right is told as its arguments are written."""
    present = {name: value for name, value in given.items() if not isinstance(value, tuple) or value}
    try:
        return in_same_units(present, dict.fromkeys(present, "ppsched.Config"))
    except Error as error:
        text = re.sub(r"--([a-z-]+)((?: [0-9.e+-]+[A-Za-z/]+)+( \.\.\.)?)", _as_argument, str(error))
        raise Error(text) from None


unites_numbers(_united, worded)
