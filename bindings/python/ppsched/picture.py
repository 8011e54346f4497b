# SPDX-License-Identifier: Apache-2.0
"""A picture of a timeline, drawn with matplotlib: a row a device, and below it the memory of each device over time."""
import collections
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

from ._abi import Kind, Placement
from ._library import Error
from .op import Op
from .schedule import Schedule
from .timeline import Timeline

# Colours that tell forward, full backward, input gradient and weight gradient apart, also for the colour-blind
# (Okabe and Ito). A device's further chunks are paler.
COLOURS = {Kind.F: "#4A90D9", Kind.B: "#E8833A", Kind.I: "#2FA88C", Kind.W: "#C9A227"}
LABELS = {Kind.F: "F  forward", Kind.B: "B  full backward", Kind.I: "I  input gradient", Kind.W: "W  weight gradient"}
OTHER = "#888888"

_ROW = 0.36         # inches
_MEMORY = 2.1       # inches, for the memory panel
_LONGEST = 40.0     # inches, widest picture
_MOST_PIXELS = 60000  # on a side of a PNG
_NUMBER_SIZE = 8.0  # points, microbatch numbers where they have room
_LEAST_SIZE = 4.0   # points, below which numbers are left out


def _matplotlib() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise Error("drawing needs matplotlib (apt-get install python3-matplotlib, or pip install matplotlib); "
                    "-o with .csv, .json or .trace.json needs nothing") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot
    return pyplot


def _paler(colour: str, chunk: int, chunks: int) -> str:
    """The colour, mixed with white for later chunks."""
    share = 0.55 * chunk / max(1, chunks - 1) if chunks > 1 else 0
    parts = [int(colour[i:i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(part + (255 - part) * share):02x}" for part in parts)


def _rectangles(timeline: Timeline) -> Iterator[Tuple[int, float, float, Op, float, float]]:
    """(device, start, duration, op, lower edge, height) of each op; the two of an overlapped pair share the row."""
    for device, (ops, spans) in enumerate(zip(timeline.schedule.queues, timeline.spans)):
        follows = False
        for op, span in zip(ops, spans):
            if op.kind.name not in ("F", "B", "I", "W"):
                continue
            half = op.overlapped or follows
            lower = device - 0.42 if not half or op.overlapped else float(device)
            yield device, span.start, span.end - span.start, op, lower, 0.42 if half else 0.84
            follows = op.overlapped


def _width(timeline: Timeline, count: int) -> float:
    """Inches: enough for the numbers of the busiest device, within reason."""
    per_device = count / max(1, timeline.schedule.devices)
    busy_share = max(0.05, 1 - timeline.metrics.bubble.of_total)
    return min(_LONGEST, max(9.0, 0.2 * per_device / busy_share + 1.5))


def _draw_ops(axes: Any, timeline: Timeline, width: float) -> Set[Kind]:
    from matplotlib.collections import PolyCollection
    schedule = timeline.schedule
    chunks = _chunk_of_stages(schedule)
    most = _most_chunks(schedule)
    shapes: List[List[Tuple[float, float]]] = []
    colours: List[str] = []
    kinds: Set[Kind] = set()
    inches = (width - 1.5) / (timeline.metrics.makespan or 1)
    for device, start, duration, op, lower, height in _rectangles(timeline):
        end, upper = start + duration, lower + height
        shapes.append([(start, lower), (end, lower), (end, upper), (start, upper)])
        colour = _paler(COLOURS.get(op.kind, OTHER), _chunk(chunks, device, op), most)
        colours.append(colour)
        kinds.add(op.kind)
        _draw_number(axes, op, start + duration / 2, lower + height / 2, duration * inches, height, _ink(colour))
    edge = 0.5 if width < _LONGEST else 0.1
    axes.add_collection(PolyCollection(shapes, facecolors=colours, edgecolors="white", linewidths=edge))
    return kinds


def _chunk_of_stages(schedule: Schedule) -> Optional[List[int]]:
    """For each stage the how many-th of its device's it is, from 0; None with two model copies."""
    if schedule.placement == Placement.BIDIRECTIONAL:
        return None
    held: Dict[Optional[int], int] = collections.Counter()
    chunks: List[int] = []
    for stage in range(schedule.stages):
        chunks.append(held[schedule.device_of(stage)])
        held[schedule.device_of(stage)] += 1
    return chunks


def _most_chunks(schedule: Schedule) -> int:
    chunks = _chunk_of_stages(schedule)
    return 2 if chunks is None else max(chunks) + 1


def _chunk(chunks: Optional[List[int]], device: int, op: Op) -> int:
    """Which of a device's stages an op is of; of two model copies, which copy."""
    return int(op.stage != device) if chunks is None else chunks[op.stage]


def _ink(colour: str) -> str:
    """White on dark colours, dark on light ones."""
    red, green, blue = (int(colour[i:i + 2], 16) for i in (1, 3, 5))
    return "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 140 else "#222222"


def _draw_number(axes: Any, op: Op, x: float, y: float, inches: float, height: float, ink: str) -> None:
    """The microbatch number, as large as fits; left out where it could not be read."""
    if op.microbatch is None:
        return
    text = str(op.microbatch)
    size = min(_NUMBER_SIZE, 72 * inches / (0.68 * len(text)), 72 * _ROW * height / 1.25)
    if size >= _LEAST_SIZE:
        axes.text(x, y, text, ha="center", va="center", fontsize=size, color=ink, clip_on=True)


def _draw_rows(axes: Any, timeline: Timeline) -> None:
    devices = timeline.schedule.devices
    axes.set_ylim(devices - 0.5, -0.5)
    step = 1 if devices <= 64 else -(-devices // 64)
    axes.set_yticks(range(0, devices, step), [f"device {device}" for device in range(0, devices, step)])
    axes.tick_params(axis="y", length=0)
    axes.set_facecolor("#f1f1f1")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)


def _draw_legend(pyplot: Any, axes: Any, kinds: Set[Kind], chunks: int) -> None:
    handles = [pyplot.Rectangle((0, 0), 1, 1, color=COLOURS.get(kind, OTHER)) for kind in sorted(kinds)]
    labels = [LABELS.get(kind, kind.name) for kind in sorted(kinds)]
    if chunks > 1:
        handles.append(pyplot.Rectangle((0, 0), 1, 1, color=_paler(COLOURS[Kind.F], 1, 2)))
        labels.append("paler: later stages")
    axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.005, 1), frameon=False, fontsize=8, borderaxespad=0,
                handlelength=1, handleheight=1, labelspacing=0.35)


def _draw_causes(axes: Any, timeline: Timeline) -> None:
    """What the memory of the fullest device is taken by, area upon area, where that is more than activations."""
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


def _draw_memory(pyplot: Any, axes: Any, timeline: Timeline) -> None:
    """A curve a device, told apart by colour, and the memory limit."""
    _draw_causes(axes, timeline)
    devices = timeline.schedule.devices
    colours = pyplot.get_cmap("viridis")
    figures, units = timeline.device_metrics, timeline.config.units
    for device in range(devices):
        points = timeline.memory(device)
        times = [point.time for point in points] + [timeline.metrics.makespan]
        levels = [point.memory for point in points] + [points[-1].memory]
        axes.step(times, levels, where="post", color=colours(device / max(1, devices - 1) * 0.9), linewidth=1.2,
                  label=f"device {device}: peak {figures[device].peak_memory:g}{units.after_memory}")
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
    if devices <= 16:
        axes.legend(loc="upper left", bbox_to_anchor=(1.005, 1), frameon=False, fontsize=7, borderaxespad=0,
                    labelspacing=0.25)


def _title(timeline: Timeline) -> str:
    schedule, metrics = timeline.schedule, timeline.metrics
    sizes = f"{schedule.devices} devices, {schedule.stages} stages, {schedule.microbatches} microbatches"
    if schedule.iterations > 1:
        sizes += f", {schedule.iterations} iterations"
    bubble, unit = metrics.bubble, timeline.config.units.after_time
    return (f"{schedule.name}: {sizes}\nmakespan {metrics.makespan:g}{unit}, span {metrics.span:g}{unit};  "
            f"bubble {bubble.of_total:.2%} of total, {bubble.of_ideal:.2%} of ideal, {bubble.of_span:.2%} of span")


def draw(timeline: Timeline, path: str, file_format: str) -> None:
    """Draws the timeline into a file of that format ("png", "svg" or "pdf")."""
    pyplot = _matplotlib()
    width = _width(timeline, len(timeline.schedule))
    rows = max(1.2, _ROW * timeline.schedule.devices)
    figure, (ops, memory) = pyplot.subplots(2, 1, sharex=True, figsize=(width, rows + _MEMORY + 1.2), layout="constrained",
                                            gridspec_kw={"height_ratios": [rows, _MEMORY]})
    try:
        kinds = _draw_ops(ops, timeline, width)
        _draw_rows(ops, timeline)
        _draw_legend(pyplot, ops, kinds, _most_chunks(timeline.schedule))
        _draw_memory(pyplot, memory, timeline)
        ops.set_xlim(0, timeline.metrics.makespan or 1)
        ops.set_title(_title(timeline), loc="left", fontsize=10)
        figure.savefig(path, format=file_format, dpi=min(150, _MOST_PIXELS / max(figure.get_size_inches())))
    finally:
        pyplot.close(figure)
