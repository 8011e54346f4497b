# SPDX-License-Identifier: Apache-2.0
"""Several timelines in one picture, each with a row a device, on one axis of time; narrow enough for a column of a paper."""
import textwrap
from collections.abc import Iterable
from typing import Any, List, Optional, Sequence, Union

from . import picture
from ._abi import Kind
from ._library import Error
from .candidate import Candidate
from .number_lists import number_given
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
_UNDER_AXIS = 0.3   # inches, from the last axis to the legend
_LINE = 0.11        # inches, of the legend
_COLUMNS = 2


def _listed(timelines: Union[Timeline, Iterable[Timeline]]) -> List[Timeline]:
    listed = list(timelines) if isinstance(timelines, Iterable) else [timelines]
    if not listed:
        raise Error("timelines: there is none; give at least one")
    for timeline in listed:
        if not isinstance(timeline, Timeline):
            maker = "plan.timeline(candidate)" if isinstance(timeline, Candidate) else "Schedule.evaluate()"
            raise TypeError(f"timelines: {shown(timeline)} is not a timeline; {maker} returns one")
    return listed


def _rows(timeline: Timeline) -> float:
    return max(0.3, min(_ROWS, _ROW * timeline.schedule.devices))


def _title(timeline: Timeline, width: float) -> str:
    metrics, unit = timeline.metrics, timeline.config.units.after_time
    name, bubble = printable(timeline.schedule.name).replace("$", r"\$"), metrics.bubble
    parts = (f"{name}: makespan {metrics.makespan:g}{unit}", f"bubble {bubble.of_total:.1%} of total, {bubble.of_ideal:.1%} of ideal, {bubble.of_span:.1%} of span")
    letters = max(20, int(width / _LETTER))
    if len("; ".join(parts)) <= letters:
        return "; ".join(parts)
    return "\n".join(line for part in parts for line in textwrap.wrap(part, letters))


def _devices(axes: Any, timeline: Timeline, row: float) -> None:
    """Numbers beside the rows, as many as have room."""
    devices = timeline.schedule.devices
    step = max(1, -(-int(_TEXT / 72 * 1.2 * 100) // int(row * 100)))
    axes.set_ylim(devices - 0.5, -0.5)
    axes.set_yticks(range(0, devices, step), [str(device) for device in range(0, devices, step)])
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _memory(axes: Any, timeline: Timeline) -> None:
    curves = [timeline.memory(device) for device in range(timeline.schedule.devices)]
    times, levels = picture._highest(curves, timeline.metrics.makespan)
    axes.step(times, levels, where="post", color="#444444", linewidth=0.8)
    most = max(levels)
    axes.set_ylim(0, 1.1 * most or 1)
    axes.set_yticks([0, most] if most else [0], ["0", f"{most:g}"] if most else ["0"])
    axes.set_ylabel(timeline.config.units.heading("memory", "memory"), fontsize=_TEXT)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def _legend(axes: Any, kinds: Sequence[Kind], chunks: int) -> None:
    from matplotlib.transforms import ScaledTranslation
    handles, labels = picture._legend_entries(kinds, chunks)
    below = axes.transAxes + ScaledTranslation(0, -_UNDER_AXIS, axes.figure.dpi_scale_trans)
    axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, frameon=False, fontsize=_TEXT, borderaxespad=0,
                ncol=_COLUMNS, handlelength=1, handleheight=1, labelspacing=0.3, columnspacing=1)


def _axes_of(listed: Sequence[Timeline], ax: Any, width: float, memory: bool, entries: int) -> List[Any]:
    """For each timeline its axes, and with memory one more behind it. entries: of the legend."""
    if ax is not None:
        axes = list(getattr(ax, "flat", ax)) if hasattr(ax, "__len__") else [ax]
        wanted = len(listed) * (2 if memory else 1)
        if len(axes) != wanted:
            raise Error(f"ax: {len(axes)} given for {len(listed)} timelines{' with memory' if memory else ''}; it takes {wanted}")
        return axes
    heights = [height for timeline in listed for height in (_rows(timeline), *([_MEMORY] if memory else []))]
    figure = picture._new_figure(width, sum(heights) + _HEAD * len(listed) + 0.4 + _LINE * -(-entries // _COLUMNS))
    grid = figure.subplots(len(heights), 1, sharex=True, squeeze=False, gridspec_kw={"height_ratios": heights})
    return [row[0] for row in grid]


def _drawn(listed: Sequence[Timeline], ax: Any, width: float, memory: bool) -> Any:
    chunks = max(picture._most_chunks(timeline.schedule) for timeline in listed)
    kinds = sorted({op.kind for timeline in listed for ops in timeline.schedule.queues for op in ops} & set(picture.LABELS))
    axes = _axes_of(listed, ax, width, memory, len(picture._legend_entries(kinds, chunks)[1]))
    figure, longest = axes[0].figure, max(timeline.metrics.makespan for timeline in listed) or 1
    inches = figure.get_size_inches()[0] - _LABELS
    step = 2 if memory else 1
    for place, timeline in zip(axes[::step], listed):
        row = _rows(timeline) / timeline.schedule.devices
        picture._draw_ops(place, timeline, inches * timeline.metrics.makespan / longest + 1.5, row, _TEXT)
        _devices(place, timeline, row)
        place.set_title(_title(timeline, inches), loc="left", fontsize=_TEXT, pad=2)
    for place, timeline in zip(axes[1::2], listed) if memory else ():
        _memory(place, timeline)
    for place in axes:
        place.set_xlim(0, longest)
        place.tick_params(labelsize=_TEXT, pad=1.5, length=2)
    for place in axes[::step]:
        place.tick_params(axis="y", length=0)
    axes[-1].set_xlabel(listed[0].config.units.heading("time", "time"), fontsize=_TEXT, labelpad=1)
    _legend(axes[-1], kinds, chunks)
    return figure


def draw(timelines: Union[Timeline, Iterable[Timeline]], ax: object = None, width: Optional[float] = None, memory: bool = False) -> object:
    """Draws timelines one below the other, on one axis of time. Returns the matplotlib.figure.Figure.

    timelines: one or several; ax: axes to draw into, one per timeline, or two with memory; width: width of the figure in inches (default:
    3.4, a column of a paper); text has 6 points; memory: also draw, below each timeline, the highest memory of a device over time.
    Errors: ppsched.Error without matplotlib, without timelines, or if `ax` has another number of axes.

        timelines = [ppsched.generate(name, config).evaluate() for name in ("gpipe", "1f1b", "zb_h1")]
        ppsched.draw(timelines).savefig("three.pdf")
    """
    width = COLUMN if width is None else number_given("width", width)
    if not width >= _LEAST_WIDTH or width == float("inf"):
        raise Error(f"width: {width:g} inches; it must be {_LEAST_WIDTH:g} or more")
    listed = _listed(timelines)
    with picture._quietly():
        return _drawn(listed, ax, width, memory)


def draw_into(timelines: Sequence[Timeline], path: str, file_format: str) -> None:
    """Draws them into a file of that format ("png", "svg" or "pdf")."""
    with picture._quietly():
        _drawn(_listed(timelines), None, COLUMN, False).savefig(path, format=file_format, dpi=300, metadata=picture.UNDATED.get(file_format))
