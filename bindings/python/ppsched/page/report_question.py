# SPDX-License-Identifier: Apache-2.0
"""The problem of a page: all its numbers, and what made the page, so that a reader can check and repeat it."""
import math
from typing import Any, Dict, List, Mapping, Optional

from .._core._library import decoded, lib
from .._core.command_words import map_words
from .._core.config import QUANTITIES, Config

_DEFAULTS = {"forward_times": "1", "backward_times": "2", "mem_forward": "1"}  # if neither they nor their parts are given
_PARTS = {"backward_times": ("backward_input_times", "backward_weight_times")}


def _plain(value: float) -> Optional[float]:
    return value if math.isfinite(value) else None


def _numbers(config: Config) -> List[Dict[str, Any]]:
    """Each given list, in the library's order, and defaults that are not 0."""
    rows: List[Dict[str, Any]] = []
    for name in QUANTITIES:
        values: List[float] = getattr(config, name)
        given = bool(values) or any(getattr(config, part) for part in _PARTS.get(name, ()))
        if values or (name in _DEFAULTS and not given):
            rows.append({"name": name, "meaning": getattr(Config, name).__doc__, "values": [_plain(value) for value in values],
                         "default": None if values else _DEFAULTS[name]})
    return rows


def _graph(config: Config) -> Dict[str, List[Any]]:
    """Which stages feed which, their passes and microbatches, as far as they are given."""
    return {name: [[int(number) for number in entry] if isinstance(entry, (list, tuple)) else entry for entry in entries]
            for name, entries in config._graph.items()}


def question_row(config: Config, command: Optional[str] = None, profile: Optional[Mapping[str, Any]] = None,
                 layers: Optional[List[Any]] = None) -> Dict[str, Any]:
    """command: the command that made the page; profile: the source of measured times; layers: the rows of a model by its layers."""
    placement = map_words(config) or config._asked_placement.name.lower()
    return {"version": decoded(lib.ppsched_version_text()), "command": command, "numbers": _numbers(config),
            "placement": placement, "graph": _graph(config), "slices": config.slices, "iterations": config.iterations, "split_backward": config.split_backward,
            "forward_only": config.forward_only, "sender_waits": config.sender_waits.name.lower(),
            "weight_versions": config._weight_versions, "options": dict(config._options), "profile": None if profile is None else dict(profile),
            "layers": layers}
