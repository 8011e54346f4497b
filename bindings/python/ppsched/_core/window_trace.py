# SPDX-License-Identifier: Apache-2.0
"""The windows of overlapped pairs in a trace: a track for each channel of a device."""
import json
import re
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

from .windows import PairTime, StageWindows, pair_of, time_of_pair

if TYPE_CHECKING:
    from .timeline import Timeline

_END = "\n]}"  # of a trace
_TRACK = re.compile(r'"tid": ([0-9]+)')


class _Pair(NamedTuple):
    """device; name; forward, backward: stages; start, end: of both ops."""

    device: int
    name: str
    forward: int
    backward: int
    start: float
    end: float


def _pairs(timeline: "Timeline") -> Iterator[_Pair]:
    for device, (ops, spans) in enumerate(zip(timeline.schedule.queues, timeline.spans)):
        queue = list(ops)
        for op, other, span in zip(queue, queue[1:], spans):
            if op.overlapped:
                yield _Pair(device, f"{op}+{other}", op.stage, other.stage, span.start, span.end)


def _found(windows: Sequence[StageWindows], known: Dict[Tuple[int, int], PairTime], pair: _Pair) -> PairTime:
    key = (pair.forward, pair.backward) if len(windows) > 1 else (0, 0)
    if key not in known:
        known[key] = time_of_pair(pair_of(windows, *key))
    return known[key]


def _rounded(time: float) -> float:
    """So that viewers add and subtract without an error; see formats.md."""
    step = 2.0**20 if abs(time) < 2**31 else 2.0**10
    return round(time * step) / step


def _event(track: int, pair: _Pair, found: PairTime, number: int, scale: float) -> Dict[str, Any]:
    """Of a window. Where a pair takes longer, as of a large microbatch, its windows do so too."""
    window = found.windows[number]
    stretch = (pair.end - pair.start) / found.time if found.time else 0.0
    start, end = (pair.start + moment * stretch for moment in (window.start, window.end))
    first, last = _rounded(start * scale), _rounded(end * scale)
    return {"name": f"{window.of} {window.number}", "cat": "window", "ph": "X", "pid": 0, "tid": track, "ts": first, "dur": last - first,
            "args": {"pair": pair.name, "channel": window.channel, "start": start, "end": end}}


def with_windows(text: str, timeline: "Timeline", scale: float) -> str:
    """A trace with the windows of its pairs, whose times follow from them. scale: microseconds per unit of time."""
    windows, pairs = timeline.config.windows, list(_pairs(timeline))
    if not windows or not pairs:
        return text
    first = 1 + max(map(int, _TRACK.findall(text)))
    tracks: Dict[Tuple[int, str], int] = {}
    known: Dict[Tuple[int, int], PairTime] = {}
    events: List[Dict[str, Any]] = []
    for pair in pairs:
        found = _found(windows, known, pair)
        for number, window in enumerate(found.windows):
            track = tracks.setdefault((pair.device, window.channel), first + len(tracks))
            events.append(_event(track, pair, found, number, scale))
    names = [{"name": "thread_name", "ph": "M", "pid": 0, "tid": track, "args": {"name": f"device {device} {channel}"}}
             for (device, channel), track in tracks.items()]
    return text.rstrip("\n")[:-len(_END)] + ",\n" + ",\n".join(map(json.dumps, [*names, *events])) + _END + "\n"
