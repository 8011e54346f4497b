# SPDX-License-Identifier: Apache-2.0
"""The option --windows: what is in the ops of stages."""
from typing import Any, Dict, Mapping, Optional

from .._core.windows import OF_WINDOWS, checked_windows
from ..readers.json_and_yaml import file_text, is_yaml, read_json, read_yaml
from .usage import UsageError

# What says the same, or stages that windows are not of.
BESIDE = (*OF_WINDOWS, "profile", "layers", "num_layers", "model", "embedding", "head", "split")


def read_windows(given: str) -> Any:
    """Of a file, or of a text that is JSON; a file may have them under "windows", as a config file does."""
    if given.lstrip()[:1] in ("[", "{"):
        return read_json("--windows", given)
    text = file_text(given)
    values = read_yaml(given, text) if is_yaml(given) else read_json(given, text)
    return values["windows"] if isinstance(values, dict) and set(values) == {"windows"} else values


def take_windows(config: Optional[str], values: Dict[str, Any], given: Mapping[str, Any]) -> None:
    """Reads the file of --windows, and refuses what says the same. config: the config file; given: what is on the command line."""
    if values.get("windows") is None:
        return
    beside = next((name for name in BESIDE if values.get(name) is not None), None)
    if beside is not None:
        raise UsageError(f"--windows, --{beside.replace('_', '-')}: both say what stages take; give one of them")
    where = given.get("windows") or config or ""
    if isinstance(values["windows"], str):
        values["windows"] = read_windows(values["windows"])
    checked_windows(plain_windows(values["windows"]), "--windows: " if where.lstrip()[:1] in ("[", "{") else f"{where}: ")


def plain_windows(given: Any) -> Any:
    """With 0 for times that are texts, which are looked at with units."""
    if isinstance(given, list):
        return [plain_windows(item) for item in given]
    if isinstance(given, dict):
        return {key: [_plain_row(row) for row in rows] if isinstance(rows, list) else rows for key, rows in given.items()}
    return given


def _plain_row(row: Any) -> Any:
    return [row[0], 0, *row[2:]] if isinstance(row, list) and len(row) > 1 and isinstance(row[1], str) else row
