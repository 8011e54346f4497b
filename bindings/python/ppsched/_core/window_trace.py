# SPDX-License-Identifier: Apache-2.0
"""The windows of overlapped pairs in a timeline, and in its trace: a track for each channel of a device."""
import json
import re
from typing import TYPE_CHECKING, Any, Dict, Iterator, NamedTuple, Tuple

from ._abi import Kind
from .op import Op
from .windows import PairTime, pair_of, time_of_pair, without_weight

if TYPE_CHECKING:
    from .timeline import Span, Timeline

_END = "\n]}"  # of a trace
_TRACK = re.compile(r'"tid": ([0-9]+)')


class PlacedWindow(NamedTuple):
    """A window in a timeline. pair: its device, and both ops as text; of: forward, backward or weight, and its number there."""

    device: int
    pair: str
    of: str
    number: int
    channel: str
    start: float
    end: float


def _placed(found: PairTime, device: int, pair: str, span: "Span") -> Iterator[PlacedWindow]:
    """Where a pair takes longer, for example because its microbatch is large, its windows take longer in proportion."""
    stretch = (span.end - span.start) / found.time if found.time else 0.0
    for window in found.windows:
        start, end = (span.start + moment * stretch for moment in (window.start, window.end))
        yield PlacedWindow(device, pair, window.of, window.number, window.channel, start, end)


def _of_pairs(timeline: "Timeline") -> Iterator[Tuple[int, Op, Op, "Span"]]:
    """Device, both ops and their time."""
    for device, (ops, spans) in enumerate(zip(timeline.schedule.queues, timeline.spans)):
        queue = list(ops)
        for op, other, span in zip(queue, queue[1:], spans):
            if op.overlapped:
                yield device, op, other, span


def pair_times(timeline: "Timeline") -> Dict[Tuple[int, int, Kind], PairTime]:
    """By the stages of the forward and the backward, and whether that is B or I, where the times of pairs follow from windows: what each
    pair takes."""
    windows, found = timeline.config.windows, {}
    if windows and not timeline.config._pairs_given:
        for forward, backward, kind in sorted({(op.stage, other.stage, other.kind) for _, op, other, _ in _of_pairs(timeline)}):
            pair = pair_of(windows, *((forward, backward) if len(windows) > 1 else (0, 0)))
            found[forward, backward, kind] = time_of_pair(without_weight(pair) if kind == Kind.I else pair)
    return found


def placed_windows(timeline: "Timeline") -> Iterator[PlacedWindow]:
    """Those of all pairs whose times follow from windows, by device and pair."""
    found = pair_times(timeline)
    for device, op, other, span in _of_pairs(timeline) if found else ():
        yield from _placed(found[op.stage, other.stage, other.kind], device, f"{op}+{other}", span)


def _rounded(time: float) -> float:
    """So that viewers add and subtract without an error; see formats.md."""
    step = 2.0**20 if abs(time) < 2**31 else 2.0**10
    return round(time * step) / step


def _event(track: int, window: PlacedWindow, scale: float) -> Dict[str, Any]:
    first, last = _rounded(window.start * scale), _rounded(window.end * scale)
    return {"name": f"{window.of} {window.number}", "cat": "window", "ph": "X", "pid": 0, "tid": track, "ts": first, "dur": last - first,
            "args": {"pair": window.pair, "channel": window.channel, "start": window.start, "end": window.end}}


def with_windows(text: str, timeline: "Timeline", scale: float) -> str:
    """A trace with the windows of its pairs. scale: microseconds per unit of time."""
    placed = list(placed_windows(timeline))
    if not placed:
        return text
    first = 1 + max(map(int, _TRACK.findall(text)))
    tracks: Dict[Tuple[int, str], int] = {}
    events = [_event(tracks.setdefault((window.device, window.channel), first + len(tracks)), window, scale) for window in placed]
    names = [{"name": "thread_name", "ph": "M", "pid": 0, "tid": track, "args": {"name": f"device {device} {channel}"}}
             for (device, channel), track in tracks.items()]
    return text.rstrip("\n")[:-len(_END)] + ",\n" + ",\n".join(map(json.dumps, [*names, *events])) + _END + "\n"
