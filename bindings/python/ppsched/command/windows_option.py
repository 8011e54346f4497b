# SPDX-License-Identifier: Apache-2.0
"""The option --windows: what is in the ops of stages."""
from typing import TYPE_CHECKING, Any, Dict, Mapping, Optional, Sequence

from .._core.file_bytes import TRACE
from .._core.shown import shown
from .._core.windows import OF_WINDOWS, StageWindows, checked_windows, idle_slowdowns
from ..readers.json_and_yaml import file_text, is_yaml, read_json, read_yaml
from .printing import tell
from .usage import UsageError

if TYPE_CHECKING:
    from ..readers.pair_trace import TracedPair

# What says the same, or stages that windows are not of.
BESIDE = (*OF_WINDOWS, "profile", "layers", "num_layers", "model", "embedding", "head", "split")


def read_value(path: str) -> Any:
    """Of a JSON or YAML file; a trace may be packed, and large."""
    if is_yaml(path):
        return read_yaml(path, file_text(path))
    if path.lower().endswith(".gz"):
        from ..readers.trace import parse, read_text  # takes long to load
        return parse(path, read_text(path))
    value = read_json(path, file_text(path, TRACE))
    return value["windows"] if isinstance(value, dict) and set(value) == {"windows"} else value


def windows_of_trace(traced: "TracedPair") -> Dict[str, Any]:
    """With their unit."""
    return {name: [[channel, f"{time!r}ms", *after] for channel, time, *after in rows] for name, rows in traced.windows.items() if rows}


def read_windows(given: str) -> Any:
    """Of a file, or of a text that is JSON. A file may be a trace, or have them under "windows", as a config file does."""
    if given.lstrip()[:1] in ("[", "{"):
        return read_json("--windows", given)
    from ..readers.pair_trace import is_pair_trace, traced_pair  # takes long to load
    value = read_value(given)
    return windows_of_trace(traced_pair(given, value)) if is_pair_trace(value) else value


def tell_idle_slowdowns(command: str, where: str, stages: Sequence[StageWindows]) -> None:
    for channel in idle_slowdowns(where, stages):
        tell(command, f"note: {where}slowdown of {shown(channel)} changes nothing, as no window runs on it")


def take_windows(command: str, config: Optional[str], values: Dict[str, Any], given: Mapping[str, Any]) -> None:
    """Reads the file of --windows, and refuses what says the same. config: the config file; given: what is on the command line."""
    if values.get("windows") is None:
        return
    beside = next((name for name in BESIDE if values.get(name) is not None), None)
    if beside is not None:
        raise UsageError(f"--windows, --{beside.replace('_', '-')}: both give the times of stages; give one of them")
    where = given.get("windows") or config or ""
    if isinstance(values["windows"], str):
        values["windows"] = read_windows(values["windows"])
    place = "--windows: " if where.lstrip()[:1] in ("[", "{") else f"{where}: "
    tell_idle_slowdowns(command, place, checked_windows(plain_windows(values["windows"]), place))


class _Written(float):
    """A time as it is written, which is looked at later, with units. It is 0, or -1 where it is negative."""

    text: str

    def __repr__(self) -> str:
        return repr(self.text)

    __str__ = __format__ = __repr__  # type: ignore[assignment]


def plain_windows(given: Any) -> Any:
    """With numbers for times that are texts, which are looked at with units."""
    if isinstance(given, list):
        return [plain_windows(item) for item in given]
    if isinstance(given, dict):
        return {key: [_plain_row(row) for row in rows] if isinstance(rows, list) else rows for key, rows in given.items()}
    return given


def _plain_row(row: Any) -> Any:
    if not isinstance(row, list) or len(row) < 2 or not isinstance(row[1], str):
        return row
    time = _Written(-1 if row[1].strip().startswith("-") else 0)
    time.text = row[1]
    return [row[0], time, *row[2:]]
