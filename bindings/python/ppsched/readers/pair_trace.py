# SPDX-License-Identifier: Apache-2.0
"""Traces of torch.profiler of an overlapped pair, with ranges such as attn(F), mlp(B), mlp(W), dispatch(F) and combine(B): what its
windows take, on which streams, and in which order it was launched.

A window is what a range launched on one stream until it launched something on another one. It takes the sum of its kernels: what
lies between them is not its own.
"""
import re
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .._core._library import Error
from .._core.shown import shown

_RANGE = re.compile(r"([^()]+)\(([FBIW])\)")
_LISTS = {"F": "forward", "B": "backward", "I": "backward", "W": "weight"}
_LETTERS = {"forward": "F", "backward": "B", "weight": "W"}
_DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
_LAUNCHES = ("cuda_runtime", "cuda_driver", "xpu_runtime", "xpu_driver")
_MS = 1000.0  # microseconds
_LARGEST = 1e18


class TracedPair(NamedTuple):
    """A pair of a trace. windows: as ppsched.pair_time takes them, in ms; order: its own, as pair_time takes that; time: measured, from
    the first start of a kernel to the last end, in ms."""

    windows: Dict[str, List[List[Any]]]
    order: str
    time: float


class _Range(NamedTuple):
    name: str
    list: str
    start: float
    end: float


class _Kernel(NamedTuple):
    stream: object
    start: float
    duration: float
    launched: float


def _time(path: str, index: int, event: Dict[str, Any], key: str) -> float:
    value = event.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not -_LARGEST < value < _LARGEST:
        raise Error(f"{path}: event {index}: its {key} must be a number, not {str(value)[:40]!r}")
    return float(value)


def _correlation(event: Dict[str, Any]) -> Optional[int]:
    arguments = event.get("args")
    number = arguments.get("correlation") if isinstance(arguments, dict) else None
    return number if isinstance(number, int) and number else None


def _events(path: str, value: Any) -> List[Dict[str, Any]]:
    events = value["traceEvents"]
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise Error(f"{path}: traceEvents must be a list of events")
    return events


def _read(path: str, events: List[Dict[str, Any]]) -> Tuple[List[_Range], List[_Kernel]]:
    ranges: List[_Range] = []
    launches: Dict[int, float] = {}
    work: List[Tuple[int, int, Dict[str, Any]]] = []
    for index, event in enumerate(events):
        category, correlation = event.get("cat"), _correlation(event)
        match = _RANGE.fullmatch(str(event.get("name"))) if category == "user_annotation" else None
        if match is not None:
            start = _time(path, index, event, "ts")
            ranges.append(_Range(match[1], _LISTS[match[2]], start, start + _time(path, index, event, "dur")))
        elif category in _LAUNCHES and correlation is not None:
            launches[correlation] = _time(path, index, event, "ts")
        elif category in _DEVICE_WORK and correlation is not None:
            work.append((index, correlation, event))
    kernels = [_Kernel(event.get("tid"), _time(path, index, event, "ts"), _time(path, index, event, "dur"), launches[correlation])
               for index, correlation, event in work if correlation in launches]
    return sorted(ranges, key=lambda found: found.start), sorted(kernels, key=lambda kernel: (kernel.launched, kernel.start))


def _windows_of(kernels: List[_Kernel]) -> List[List[Any]]:
    """Stream and time of each, in the order in which they were launched."""
    windows: List[List[Any]] = []
    for kernel in kernels:
        if not windows or windows[-1][0] != f"stream {kernel.stream}":
            windows.append([f"stream {kernel.stream}", 0.0])
        windows[-1][1] += kernel.duration
    return [[stream, time / _MS] for stream, time in windows]


def _after(path: str, found: _Range, seen: Dict[str, int], backwards: Dict[str, List[int]], count: int) -> int:
    """How many windows of the backward a weight gradient needs: up to those of the range of its name and number, else all so far."""
    number = seen[found.name] = seen.get(found.name, -1) + 1
    ends = backwards.get(found.name, [])
    if not ends:
        before = f"; ranges of the backward before it are {', '.join(f'{name}(B)' for name in backwards)}" if backwards else ""
        raise Error(f"{path}: the range {shown(found.name + '(W)')} has no range {shown(found.name + '(B)')} before it{before}")
    return ends[number] if number < len(ends) else count


def is_pair_trace(value: Any) -> bool:
    return isinstance(value, dict) and "traceEvents" in value


def traced_pair(path: str, value: Any) -> TracedPair:
    """The pair of a trace that was read."""
    ranges, kernels = _read(path, _events(path, value))
    if not ranges:
        raise Error(f"{path}: there are no ranges of a pair, such as attn(F), mlp(B) and mlp(W)")
    order = ""
    used: List[_Kernel] = []
    windows: Dict[str, List[List[Any]]] = {name: [] for name in _LETTERS}
    backwards: Dict[str, List[int]] = {}  # by name of the range: how many windows there are up to its end, for each that there was
    seen: Dict[str, int] = {}
    for found in ranges:
        inside = [kernel for kernel in kernels if found.start <= kernel.launched <= found.end]
        rows = _windows_of(inside)
        if found.list == "weight":
            after = _after(path, found, seen, backwards, len(windows["backward"]))
            rows = [[*row, after] for row in rows]
        windows[found.list] += rows
        if found.list == "backward":
            backwards.setdefault(found.name, []).append(len(windows["backward"]))
        order += _LETTERS[found.list] * len(rows)
        used += inside
    for name in ("forward", "backward"):
        if not windows[name]:
            raise Error(f"{path}: its ranges launch no kernels of a {name}; a pair has ranges such as attn(F) and attn(B)")
    time = max(kernel.start + kernel.duration for kernel in used) - min(kernel.start for kernel in used)
    return TracedPair(windows, order, time / _MS)

