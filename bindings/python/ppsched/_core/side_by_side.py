# SPDX-License-Identifier: Apache-2.0
"""Several timelines in one picture, each with a row a device, on one axis of time; narrow enough for a column of a paper."""
import textwrap
from typing import Any, List, Optional, Sequence, Set, Union

from . import picture
from ._abi import Kind
from ._library import Error
from .colours import shade_of
from .shown import printable, shown
from .timeline import Timeline

COLUMN = 3.4        # inches, of a paper with two columns
_LEAST_WIDTH = 2.0
_TEXT = 6.0         # points
_LETTER = 0.047     # inches, of that text
_LABELS = 0.45      # inches, beside the rows
_HEAD = 0.3         # inches, of a title
_ROW, _ROWS = 0.14, 1.6  # inches, of a device, and most of all of them
_MEMORY = 0.5       # inches, for the memory of a timeline


def _listed(timelines: Union[Timeline, Sequence[Timeline]]) -> List[Timeline]:
    listed = list(timelines) if isinstance(timelines, (list, tuple)) else [timelines]
    if not listed:
        raise Error("timelines: there is none; give at least one")
    for timeline in listed:
        if not isinstance(timeline, Timeline):
            raise TypeError(f"timelines: {shown(timeline)} is not a timeline; Schedule.evaluate() returns one")
    return listed


def _rows(timeline: Timeline) -> float:
    return max(0.3, min(_ROWS, _ROW * timeline.schedule.devices))


def _title(timeline: Timeline, width: float) -> str:
    metrics, unit = timeline.metrics, timeline.config.units.after_time
    name, bubble = printable(timeline.schedule.name).replace("$", r"\$"), metrics.bubble
    text = (f"{name}: makespan {metrics.makespan:g}{unit}; bubble {bubble.of_total:.1%} of total, {bubble.of_ideal:.1%} of ideal, "
            f"{bubble.of_span:.1%} of span")
    return "\n".join(textwrap.wrap(text, max(20, int(width / _LETTER))))


def _devices(axes: Any, timeline: Timeline, row: float) -> None:
    """Numbers beside the rows, as many as have room."""
    devices = timeline.schedule.devices
    step = max(1, -(-int(_TEXT / 72 * 1.2 * 100) // int(row * 100)))
    axes.set_ylim(devices - 0.5, -0.5)
    axes.set_yticks(range(0, devices, step), [str(device) for device in range(0, devices, step)])
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _memory(axes: Any, timeline: Timeline) -> None:
    curves = [timeline.memory(device) for device in range(timeline.schedule.devices)]
    times, levels = picture._highest(curves, timeline.metrics.makespan)
    axes.step(times, levels, where="post", color="#444444", linewidth=0.8)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(timeline.config.units.heading("memory", "memory"), fontsize=_TEXT)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _legend(axes: Any, kinds: Sequence[Kind]) -> None:
    from matplotlib.patches import Rectangle
    handles = [Rectangle((0, 0), 1, 1, color=shade_of(kind, 0)) for kind in kinds]
    labels = [picture.LABELS.get(kind, kind.name) for kind in kinds]
    axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(0, -0.45), frameon=False, fontsize=_TEXT, borderaxespad=0, ncol=2,
                handlelength=1, handleheight=1, labelspacing=0.3, columnspacing=1)


def _axes_of(listed: Sequence[Timeline], ax: Any, width: float, memory: bool) -> List[Any]:
    """For each timeline its axes, and with memory one more behind it."""
    if ax is not None:
        axes = list(ax) if hasattr(ax, "__len__") else [ax]
        wanted = len(listed) * (2 if memory else 1)
        if len(axes) != wanted:
            raise Error(f"ax: {len(axes)} given for {len(listed)} timelines{' with memory' if memory else ''}; it takes {wanted}")
        return axes
    heights = [height for timeline in listed for height in (_rows(timeline), *([_MEMORY] if memory else []))]
    figure = picture._new_figure(width, sum(heights) + _HEAD * len(listed) + 0.6)
    grid = figure.subplots(len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})
    return [row[0] for row in grid]


def _drawn(listed: Sequence[Timeline], ax: Any, width: float, memory: bool) -> Any:
    axes = _axes_of(listed, ax, width, memory)
    figure, longest = axes[0].figure, max(timeline.metrics.makespan for timeline in listed) or 1
    inches = figure.get_size_inches()[0] - _LABELS
    kinds: Set[Kind] = set()
    step = 2 if memory else 1
    for place, timeline in zip(axes[::step], listed):
        row = _rows(timeline) / timeline.schedule.devices
        kinds |= picture._draw_ops(place, timeline, inches * timeline.metrics.makespan / longest + 1.5, row)
        _devices(place, timeline, row)
        place.set_title(_title(timeline, inches), loc="left", fontsize=_TEXT, pad=2)
    for place, timeline in zip(axes[1::2], listed) if memory else ():
        _memory(place, timeline)
    for place in axes:
        place.set_xlim(0, longest)
        place.tick_params(labelsize=_TEXT, pad=1.5, length=2)
    axes[-1].set_xlabel(listed[0].config.units.heading("time", "time"), fontsize=_TEXT, labelpad=1)
    _legend(axes[-1], sorted(kinds & set(picture.LABELS)))
    return figure


def draw(timelines: Union[Timeline, Sequence[Timeline]], ax: object = None, width: Optional[float] = None, memory: bool = False) -> object:
    """Draws timelines one below the other, on one axis of time. Returns the matplotlib.figure.Figure.

    timelines: one or several; ax: axes to draw into, one per timeline, or two with memory; width: width of the figure in inches (default:
    3.4, a column of a paper); text has 6 points; memory: also draw, below each timeline, the highest memory of a device over time.

        timelines = [ppsched.generate(name, config).evaluate() for name in ("gpipe", "1f1b", "zb_h1")]
        ppsched.draw(timelines).savefig("three.pdf")
    """
    width = COLUMN if width is None else float(width)
    if not width >= _LEAST_WIDTH or width == float("inf"):
        raise Error(f"width: {width:g} inches; it must be {_LEAST_WIDTH:g} or more")
    listed = _listed(timelines)
    with picture._quietly():
        return _drawn(listed, ax, width, memory)


def draw_into(timelines: Sequence[Timeline], path: str, file_format: str) -> None:
    """Draws them into a file of that format ("png", "svg" or "pdf")."""
    with picture._quietly():
        _drawn(_listed(timelines), None, COLUMN, False).savefig(path, format=file_format, dpi=300, metadata=picture.UNDATED.get(file_format))
