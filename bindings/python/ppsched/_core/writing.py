# SPDX-License-Identifier: Apache-2.0
"""Writes timelines and schedules to files, in the format of the file's ending."""
from typing import Callable, Dict, Iterable, Optional, Sequence

from ._library import Error, decoded, lib
from .exporting import Stream, Take
from .microbatch_map import write_beside
from .output import Write, whole_file, write_stream
from .picture import draw
from .scenarios import Scenarios
from .schedule import Schedule
from .side_by_side import draw_into
from .timeline import Timeline

PICTURES = (".png", ".svg", ".pdf")
PAGES = (".html", ".htm")
FORMATS: Dict[str, str] = {".trace.json": "chrome", ".json": "json", ".csv": "csv", ".txt": "text"}


def ending_of(path: str, endings: Iterable[str]) -> Optional[str]:
    return next((ending for ending in endings if path.lower().endswith(ending)), None)


def stamped(text: str, format: Optional[str]) -> str:
    """The text of a file with the version of what wrote it, in formats that have a place for it: none that a runtime reads has."""
    version = decoded(lib.ppsched_version_text())
    if format in ("json", "chrome"):
        return f'{{"version": "{version}", {text[1:].lstrip()}'
    return f"{text}ppsched {version}\n" if format == "text" else text


def stamped_stream(stream: Stream, format: Optional[str]) -> Stream:
    """The same of a text in pieces."""
    if format == "text":
        return lambda take: (stream(take), take(stamped("", format).encode()))
    if format not in ("json", "chrome"):
        return stream

    def written(take: Take) -> None:
        has_begun = False

        def stamp(piece: bytes) -> None:
            nonlocal has_begun
            take(piece if has_begun else stamped("{", format).encode() + piece[1:].lstrip())
            has_begun = True

        stream(stamp)

    return written


def draw_file(timeline: Timeline, path: str, scenarios: Optional[Scenarios] = None, ready: Optional[Scenarios] = None) -> None:
    """Draws a picture to a file whose ending is one of PICTURES."""
    with whole_file(path) as temporary:
        drawing_of(timeline, path, scenarios, ready)(temporary)


def drawing_of(timeline: Timeline, path: str, scenarios: Optional[Scenarios] = None, ready: Optional[Scenarios] = None) -> Write:
    """Draws a picture in the format of the ending of `path`."""
    return lambda name: draw(timeline, name, (ending_of(path, PICTURES) or "")[1:], scenarios, ready)


def drawing_together(timelines: Sequence[Timeline], path: str) -> Write:
    """All in one picture, likewise."""
    return lambda name: draw_into(timelines, name, (ending_of(path, PICTURES) or "")[1:])


def write_file(path: str, format: Optional[str], timeline: Callable[[], Timeline], order: Callable[[], Schedule],
               time_scale: float = 0.0) -> None:
    """Writes a file in the given format, or in that of its ending. Timeline and order are only made if needed: csv needs only the order,
    as runtimes lower it themselves. If microbatches have an order, it is written to a file next to the CSV."""
    if format is None and ending_of(path, PICTURES):
        draw_file(timeline(), path)
        return
    format = format or FORMATS.get(ending_of(path, FORMATS) or "")
    if format is None:
        raise Error(f"{path}: unknown ending; known are {' '.join((*PICTURES, *FORMATS))}, or name the format")
    write_stream(path, stamped_stream(export_stream(format, timeline, order, time_scale=time_scale), format))
    if format == "csv":
        write_beside(path, order().config.microbatch_order)


def export_stream(format: str, timeline: Callable[[], Timeline], order: Callable[[], Schedule], *, time_scale: float = 0.0) -> Stream:
    """The text of a format, made in the same way, in pieces."""
    if format == "csv":
        ordered = order()
        return lambda take: ordered._stream(format, take)
    timed = timeline()
    return lambda take: timed._stream(format, take, time_scale=time_scale)
