# SPDX-License-Identifier: Apache-2.0
"""A picture of a timeline, drawn with matplotlib: one row per device, below them the memory of each device over time, and if times vary
the makespans of all scenarios."""
import collections
import contextlib
import importlib.util
import io
import textwrap
import threading
import warnings
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from ._abi import Kind, Placement
from ._library import Error, decoded, lib
from .colours import SHADES, edge_of, ink_on, is_lined, shade_of
from .memory import MemoryPoint
from .microbatch_map import order_line
from .op import Op
from .scenarios import QUANTILES, Found, Scenarios
from .shown import printable
from .window_trace import placed_windows
from .words import counted

if TYPE_CHECKING:
    from .schedule import Schedule
    from .timeline import Timeline

LABELS = {Kind.F: "F  forward", Kind.B: "B  full backward", Kind.I: "I  input gradient", Kind.W: "W  weight gradient",
          Kind.RECOMPUTE: "RECOMPUTE", Kind.OFFLOAD: "OFFLOAD, above", Kind.RELOAD: "RELOAD, below"}
_COMPUTES = (Kind.F, Kind.B, Kind.I, Kind.W, Kind.RECOMPUTE)
_TRACKS = {Kind.OFFLOAD: -0.42, Kind.RELOAD: 0.30}  # positions of copies in a device's row
_TRACK = 0.12       # their height, as a share of the row
_STRIP = 0.06       # height of the windows of a forward, a backward or a weight gradient in a pair, as a share of the row
_CHANNELS = ("#202020", "#ffe14d", "#8a8a8a", "#d8d8d8")  # of windows, as on the page
GROUND = "#ffffff"

_ROW = 0.36         # inches, per device
_ALL_ROWS = 9.6     # inches, most for all rows, so that the picture with the memory is not higher than wide
_MEMORY = 2.1       # inches, for the memory panel
_LONGEST = 16.0     # inches, widest picture
_HISTOGRAM = 1.6    # inches, for the makespans of scenarios
_MAKER = f"ppsched {decoded(lib.ppsched_version_text())}"
# What a file tells of itself; without a date, so that the same picture is the same file.
UNDATED = {"png": {"Software": _MAKER}, "svg": {"Creator": _MAKER, "Date": None}, "pdf": {"Creator": _MAKER, "CreationDate": None}}
_DOTS = 150         # per inch of a PNG
_NUMBER_SIZE = 8.0  # points, microbatch numbers if they fit
_LEAST_SIZE = 6.0   # points, least size of text; numbers that would be smaller are left out
_MOST_CURVES = 16   # of memory; with more devices each group of neighbours has one
_MOST_SHOWN = 20_000  # most ops that a notebook draws by itself
_LEAST_EDGED = 3.0  # pixels, least width of ops with a white edge
_LETTERS = 11.0     # of the title per inch, about
_MOST_LINES = 3     # of the order of microbatches


_ONE_AT_A_TIME = threading.RLock()


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Suppresses messages of matplotlib: characters missing in its font, its font cache, folders that it cannot write. Filters and levels
    apply to all threads, so only one thread draws at a time."""
    import logging  # imported here, as it is slow to load
    log = logging.getLogger("matplotlib")
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        level = log.level
        log.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            log.setLevel(level)


def _new_figure(width: float, height: float) -> Any:
    """Makes a figure without pyplot, so that the caller's backend and figures do not change."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise Error("drawing needs matplotlib (apt-get install python3-matplotlib, or pip install matplotlib); "
                    "-o with .csv, .json or .trace.json works without it") from None
    return Figure(figsize=(width, height), layout="constrained")


class _Box(NamedTuple):
    """An op in the picture, in times and rows."""

    device: int
    op: Op
    start: float
    duration: float
    lower: float
    height: float


def _top(timeline: "Timeline") -> float:
    """Of a row's ops, from its middle; copies stand outside."""
    has_copies = any(op.kind in _TRACKS for ops in timeline.schedule.queues for op in ops)
    return -0.27 if has_copies else -0.42


def _boxes(timeline: "Timeline") -> Iterator[_Box]:
    """The box of each op. The two ops of an overlapped pair share the row. Copies to the host are in a track above, copies back below."""
    top = _top(timeline)
    for device, (ops, spans) in enumerate(zip(timeline.schedule.queues, timeline.spans)):
        follows = False
        for op, span in zip(ops, spans):
            if op.kind in _TRACKS:
                yield _Box(device, op, span.start, span.end - span.start, device + _TRACKS[op.kind], _TRACK)
            if op.kind not in _COMPUTES:
                continue
            half = op.overlapped or follows
            lower = device + top if not half or op.overlapped else float(device)
            yield _Box(device, op, span.start, span.end - span.start, lower, -top if half else -2 * top)
            follows = op.overlapped


def _width(timeline: "Timeline", count: int) -> float:
    """The width in inches: enough for the numbers of the busiest device, within a limit."""
    per_device = count / max(1, timeline.schedule.devices)
    busy_share = max(0.05, 1 - timeline.metrics.bubble.of_total)
    return min(_LONGEST, max(9.0, 0.2 * per_device / busy_share + 1.5))


def _number_of(op: Op) -> str:
    """The number of an op's microbatch, with its slice."""
    return f"{op.microbatch}" if op.slice is None else f"{op.microbatch}.{op.slice}"


def _draw_ops(axes: Any, timeline: "Timeline", width: float, row: float, largest: float = _NUMBER_SIZE) -> Set[Kind]:
    """Draws all ops. row: inches per device; largest: points of their numbers."""
    from matplotlib.collections import LineCollection, PolyCollection
    chunks, boxes = _chunk_of_stages(timeline.schedule), list(_boxes(timeline))
    inches = (width - 1.5) / (timeline.metrics.makespan or 1)
    shapes = [[(box.start, box.lower), (box.start + box.duration, box.lower), (box.start + box.duration, box.lower + box.height),
               (box.start, box.lower + box.height)] for box in boxes]
    chunk_of = [_chunk(chunks, box.device, box.op) for box in boxes]
    colours = [shade_of(box.op.kind, chunk) for box, chunk in zip(boxes, chunk_of)]
    edges = ["white" if colour == edge_of(box.op.kind) else edge_of(box.op.kind) for box, colour in zip(boxes, colours)]
    least = min((box.duration for box in boxes if box.duration > 0), default=0.0) * inches * _DOTS
    is_edged = least >= _LEAST_EDGED  # otherwise some ops would show only their edges
    axes.add_collection(PolyCollection(shapes, facecolors=colours, edgecolors=edges if is_edged else "none",
                                       linewidths=0.5 if is_edged else 0, antialiased=is_edged))
    lines = [[(box.start, box.lower + 0.75 * box.height), (box.start + box.duration, box.lower + 0.75 * box.height)]
             for box, chunk in zip(boxes, chunk_of) if is_lined(chunk)]
    axes.add_collection(LineCollection(lines, colors="black", linewidths=0.8, capstyle="butt"))
    sizes = _number_sizes(boxes, inches, row, largest)
    for box, colour in zip(boxes, colours):
        if box.op.microbatch is not None and box.op.kind in sizes:
            axes.text(box.start + box.duration / 2, box.lower + box.height / 2, _number_of(box.op), ha="center", va="center",
                      fontsize=sizes[box.op.kind], color=ink_on(colour), clip_on=True)
    return {box.op.kind for box in boxes}


def _number_sizes(boxes: List[_Box], inches: float, row: float, largest: float) -> Dict[Kind, float]:
    """The size in points of the microbatch numbers of each kind, which fits all of its ops; without kinds for which it is too small."""
    sizes: Dict[Kind, float] = {}
    for box in boxes:
        if box.op.microbatch is not None and box.duration > 0:
            size = min(72 * inches * box.duration / (0.68 * len(_number_of(box.op))), 72 * row * box.height / 1.25)
            sizes[box.op.kind] = min(sizes.get(box.op.kind, largest), size)
    return {kind: size for kind, size in sizes.items() if size >= _LEAST_SIZE}


def _chunk_of_stages(schedule: "Schedule") -> Optional[List[int]]:
    """For each stage its chunk number on its device, from 0; None with two model copies."""
    if schedule.placement == Placement.BIDIRECTIONAL:
        return None
    held: Dict[Optional[int], int] = collections.Counter()
    chunks: List[int] = []
    for stage in range(schedule.stages):
        chunks.append(held[schedule.device_of(stage)])
        held[schedule.device_of(stage)] += 1
    return chunks


def _most_chunks(schedule: "Schedule") -> int:
    chunks = _chunk_of_stages(schedule)
    return 2 if chunks is None else max(chunks) + 1


def _chunk(chunks: Optional[List[int]], device: int, op: Op) -> int:
    """The chunk number of an op; with two model copies, the number of the copy."""
    return int(op.stage != device) if chunks is None else chunks[op.stage]


def _draw_windows(axes: Any, timeline: "Timeline") -> Dict[str, str]:
    """Those of pairs, as strips at the edges of their rows; the colours of their channels."""
    from matplotlib.collections import PolyCollection
    colours: Dict[str, str] = {}
    top, shapes, faces = _top(timeline), [], []
    strips = {"forward": top, "backward": -top - 2 * _STRIP, "weight": -top - _STRIP}
    for window in placed_windows(timeline):
        lower = window.device + strips[window.of]
        shapes.append([(window.start, lower), (window.end, lower), (window.end, lower + _STRIP), (window.start, lower + _STRIP)])
        faces.append(colours.setdefault(window.channel, _CHANNELS[len(colours)]))
    if shapes:
        axes.add_collection(PolyCollection(shapes, facecolors=faces, edgecolors="#303030", linewidths=0.3))
    return colours


def _draw_rows(axes: Any, timeline: "Timeline") -> None:
    devices = timeline.schedule.devices
    axes.set_ylim(devices - 0.5, -0.5)
    step = 1 if devices <= 64 else -(-devices // 64)
    axes.set_yticks(range(0, devices, step), [f"device {device}" for device in range(0, devices, step)])
    axes.tick_params(axis="y", length=0)
    axes.set_facecolor(GROUND)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _legend_entries(kinds: Iterable[Kind], chunks: int) -> Tuple[List[Any], List[str]]:
    """Of kinds of ops, and of the shades of chunks: what is drawn, and the texts."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Rectangle
    handles: List[Any] = [Rectangle((0, 0), 1, 1, color=shade_of(kind, 0)) for kind in sorted(kinds)]
    labels = [LABELS.get(kind, kind.name) for kind in sorted(kinds)]
    for chunk in range(1, min(chunks, 2 * len(SHADES[Kind.F]))):
        shade = Rectangle((0, 0), 1, 1, facecolor=shade_of(Kind.F, chunk), edgecolor=edge_of(Kind.F), linewidth=0.6)
        handles.append((shade, Line2D([], [], color="black", linewidth=0.8)) if is_lined(chunk) else shade)
        labels.append(f"chunk {chunk}")
    return handles, labels


def _draw_legend(axes: Any, kinds: Set[Kind], chunks: int, channels: Dict[str, str]) -> None:
    from matplotlib.patches import Rectangle
    handles, labels = _legend_entries(kinds, chunks)
    for channel, colour in channels.items():
        handles.append(Rectangle((0, 0), 1, 0.4, facecolor=colour, edgecolor="#303030", linewidth=0.6))
        labels.append(f"window on {printable(channel)}".replace("$", r"\$"))
    axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.005, 1), frameon=False, fontsize=8, borderaxespad=0,
                handlelength=1, handleheight=1, labelspacing=0.35)


def _draw_causes(axes: Any, timeline: "Timeline") -> None:
    """Draws the memory causes of the fullest device as stacked areas, if there are more than activations."""
    device, end = timeline.metrics.peak_device, timeline.metrics.makespan
    causes = [cause for cause, peak in timeline.peak_by_cause(device).items() if peak or len(timeline.memory(device, cause)) > 1]
    if set(causes) <= {"static", "weights", "activations"}:
        return
    curves = {cause: timeline.memory(device, cause) for cause in causes}
    times = sorted({point.time for points in curves.values() for point in points} | {end})
    stacked = []
    for points in curves.values():
        place, levels = 0, []
        for time in times:
            while place + 1 < len(points) and points[place + 1].time <= time:
                place += 1
            levels.append(points[place].memory)
        stacked.append(levels)
    axes.stackplot(times, *stacked, step="post", alpha=0.35, linewidth=0, labels=[f"device {device}: {cause}" for cause in causes])


def _highest(curves: Sequence[Sequence[MemoryPoint]], end: float) -> Tuple[List[float], List[float]]:
    """Times, and from each on the highest level of all curves."""
    times = sorted({point.time for points in curves for point in points} | {end})
    levels = [0.0] * len(times)
    for points in curves:
        place = 0
        for i, time in enumerate(times):
            while place + 1 < len(points) and points[place + 1].time <= time:
                place += 1
            levels[i] = max(levels[i], points[place].memory)
    return times, levels


def _groups(devices: int) -> List[range]:
    """Groups of neighbouring devices; each group has one curve."""
    size = -(-devices // _MOST_CURVES)
    return [range(first, min(first + size, devices)) for first in range(0, devices, size)]


def _draw_memory(axes: Any, timeline: "Timeline") -> None:
    """Draws one curve per device, or the highest of a group of devices, in different colours, and the memory limit."""
    from matplotlib import colormaps
    _draw_causes(axes, timeline)
    groups, end = _groups(timeline.schedule.devices), timeline.metrics.makespan
    colours = colormaps["viridis"]
    figures, units = timeline.device_metrics, timeline.config.units
    for number, group in enumerate(groups):
        times, levels = _highest([timeline.memory(device) for device in group], end)
        names = f"device {group[0]}" if len(group) == 1 else f"devices {group[0]}-{group[-1]}"
        peak = max(figures[device].peak_memory for device in group)
        axes.step(times, levels, where="post", color=colours(number / max(1, len(groups) - 1) * 0.9), linewidth=1.2,
                  label=f"{names}: peak {peak:g}{units.after_memory}")
    limits = sorted({figure.memory_limit for figure in figures if figure.memory_limit != float("inf")})
    for limit in limits:
        axes.axhline(limit, color="#C0392B", linestyle="--", linewidth=1)
        axes.text(0, limit, f" limit {limit:g}{units.after_memory}", color="#C0392B", va="bottom", fontsize=7)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(units.heading("memory", "memory"))
    axes.set_xlabel(units.heading("time", "time"))
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(1.005, 1), frameon=False, fontsize=7, borderaxespad=0, labelspacing=0.25)


def _ready_label(timeline: "Timeline", scenarios: Scenarios, ready: Scenarios) -> str:
    """The label for dispatch when ready: its mean, and what it saves."""
    won = Found(scenarios, ready, timeline.metrics.makespan).won
    wins = "" if won is None else f", saves {won:.0%}"
    return f"with dispatch when ready: mean {ready.metrics.mean:g}{timeline.config.units.after_time}{wins}"


def _draw_scenarios(axes: Any, timeline: "Timeline", scenarios: Scenarios, ready: Optional[Scenarios]) -> None:
    """Draws a histogram of makespans over scenarios, with quantiles and the planned makespan. ready: the same scenarios with dispatch when
    ready."""
    metrics, units = scenarios.metrics, timeline.config.units
    axes.hist(scenarios.makespans, bins=40, color=shade_of(Kind.F, 2), edgecolor=edge_of(Kind.F), linewidth=0.4)
    for q, style in zip(QUANTILES, ("-", "--", ":")):
        axes.axvline(scenarios.quantile(q), color="black", linestyle=style, linewidth=1,
                     label=f"{q:.0%} within {scenarios.quantile(q):g}{units.after_time}")
    axes.axvline(timeline.metrics.makespan, color=edge_of(Kind.B), linewidth=1.2,
                 label=f"planned: {timeline.metrics.makespan:g}{units.after_time}")
    if ready is not None:
        axes.axvline(ready.metrics.mean, color=edge_of(Kind.I), linewidth=1.2, label=_ready_label(timeline, scenarios, ready))
    axes.set_xlabel(units.heading(f"makespan in {metrics.scenarios} scenarios", "time"))
    axes.set_ylabel("scenarios")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(1.005, 1), frameon=False, fontsize=7, borderaxespad=0, labelspacing=0.25)


def _order_lines(timeline: "Timeline", width: float) -> str:
    """The order of microbatches, shortened to a few lines; width: inches."""
    order = timeline.config.microbatch_order
    if not order:
        return ""
    lines = textwrap.wrap(order_line(order), round(_LETTERS * width), max_lines=_MOST_LINES, placeholder=" ...")
    return "".join("\n" + line for line in lines)


def _title(timeline: "Timeline", width: float) -> str:
    schedule, metrics = timeline.schedule, timeline.metrics
    sizes = f"{counted(schedule.devices, 'device')}, {counted(schedule.stages, 'stage')}, {counted(schedule.microbatches, 'microbatch', 'es')}"
    if schedule.slices > 1:
        sizes += f" of {schedule.slices} slices"
    if schedule.iterations > 1:
        sizes += f", {schedule.iterations} iterations"
    bubble, unit = metrics.bubble, timeline.config.units.after_time
    name = printable(schedule.name).replace("$", r"\$")  # would begin a formula
    return (f"{name}: {sizes}\nmakespan {metrics.makespan:g}{unit}, span {metrics.span:g}{unit};  "
            f"bubble {bubble.of_total:.2%} of total, {bubble.of_ideal:.2%} of ideal, {bubble.of_span:.2%} of span"
            + _order_lines(timeline, width))


def figure_of(timeline: "Timeline", scenarios: Optional[Scenarios] = None, ready: Optional[Scenarios] = None) -> Any:
    """A new matplotlib.figure.Figure, without choosing a backend and unknown to pyplot."""
    with _quietly():
        return _figure_of(timeline, scenarios, ready)


def _figure_of(timeline: "Timeline", scenarios: Optional[Scenarios], ready: Optional[Scenarios]) -> Any:
    width, devices = _width(timeline, len(timeline.schedule)), timeline.schedule.devices
    rows = min(_ALL_ROWS, max(1.2, _ROW * devices))
    heights = [rows, _MEMORY, *([] if scenarios is None else [_HISTOGRAM])]
    figure = _new_figure(width, sum(heights) + 1.2)
    ops, memory, *others = figure.subplots(len(heights), 1, gridspec_kw={"height_ratios": heights})
    memory.sharex(ops)
    ops.tick_params(axis="x", labelbottom=False)
    kinds = _draw_ops(ops, timeline, width, min(_ROW, rows / devices))
    _draw_rows(ops, timeline)
    _draw_legend(ops, kinds, _most_chunks(timeline.schedule), _draw_windows(ops, timeline))
    _draw_memory(memory, timeline)
    if scenarios is not None:
        _draw_scenarios(others[0], timeline, scenarios, ready)
    ops.set_xlim(0, timeline.metrics.makespan or 1)
    ops.set_title(_title(timeline, width), loc="left", fontsize=10)
    return figure


def draw(timeline: "Timeline", path: str, file_format: str, scenarios: Optional[Scenarios] = None, ready: Optional[Scenarios] = None) -> None:
    """Draws the timeline into a file of that format ("png", "svg" or "pdf")."""
    with _quietly():
        figure_of(timeline, scenarios, ready).savefig(path, format=file_format, dpi=_DOTS, metadata=UNDATED.get(file_format))


def svg_of(timeline: "Timeline") -> str:
    """The picture as the text of an SVG file."""
    text = io.StringIO()
    with _quietly():
        figure_of(timeline).savefig(text, format="svg", metadata=UNDATED["svg"])
    return text.getvalue()


def shown_svg(timeline: "Timeline") -> Optional[str]:
    """The picture for a notebook; None if there are very many ops, or no matplotlib."""
    if len(timeline.schedule) > _MOST_SHOWN or importlib.util.find_spec("matplotlib") is None:
        return None
    return svg_of(timeline)
