# SPDX-License-Identifier: Apache-2.0
"""The result of the evaluator: when each op runs, with figures."""
import ctypes
import weakref
from typing import TYPE_CHECKING, Any, Callable, Dict, List, NamedTuple, Optional, Union

from . import _abi, explain, picture
from ._abi import Format, Kind, MemoryCause, Objective
from ._library import call, lib
from .config import Config, config_of
from .explain import CriticalOp, Relief, Sensitivity
from .exporting import Take, export, export_format, whole_text, with_end
from .memory import IdleWindow, MemoryItem, MemoryPoint, curve, idle_windows, peak_by_cause, peak_items
from .microbatch_map import with_order
from .number_lists import integer
from .scenarios import Scenarios
from .unit_texts import with_units
from .views import Item, Plain, Shared, View, none_if_unset, sized
from .window_trace import with_windows
from .words import counted, names_checked

if TYPE_CHECKING:
    from .schedule import Schedule  # which makes timelines


class Span(NamedTuple):
    """Times of an op, its start and its end."""

    start: float
    end: float


def _span(record: _abi.Span) -> Span:
    return Span(record.start, record.end)


class Bubble(NamedTuple):
    """The idle time of devices as a rate, by three definitions. Papers call each of the three the bubble rate.

    of_total: idle / (devices * makespan); of_ideal: idle / busy; of_span: 1 - mean busy / span.
    """

    of_total: float
    of_ideal: float
    of_span: float


class Metrics(NamedTuple):
    """Figures of the whole schedule. makespan: time from 0 to the end of the last op; span: longest span of a device, which is span_device;
    bubble: the idle share, by its three definitions; peak_memory: on peak_device; limit_device: the first device over its memory limit, or
    None."""

    makespan: float
    span: float
    span_device: int
    bubble: Bubble
    peak_memory: float
    peak_device: int
    limit_device: Optional[int]


class DeviceMetrics(NamedTuple):
    """Figures of one device. peak_position: position of the op at whose start the peak occurs, or None."""

    busy: float
    idle: float
    first_start: float
    last_end: float
    static_memory: float
    peak_memory: float
    peak_time: float
    peak_position: Optional[int]
    memory_limit: float


class Idle(NamedTuple):
    """Why a device is idle. The parts sum to its idle time.

    fill, drain: before the device's first and after its last op of an iteration. neighbour: the input for which the device
    waits (the awaited input) is not computed yet; imbalance: the same, because other devices have more work. transfer: the
    awaited input is being transferred; link: the awaited input waits for its link, which transfers other values; head_of_line:
    the awaited input, or its receive, waits for other sends and receives in its channel. weights: the parameters are not
    gathered yet, or gathering or reducing stops the device; reload: the activations are not reloaded yet; calls: a call of a
    send or receive runs, on this device or on the device that sends the awaited input. slow_devices: additional idle time
    because of device_speeds, device_scale, stage_scale and device_overhead, compared to the same order without them; the other
    parts do not include this time.
    """

    fill: float
    drain: float
    neighbour: float
    imbalance: float
    transfer: float
    link: float
    head_of_line: float
    weights: float = 0.0
    reload: float = 0.0
    calls: float = 0.0
    slow_devices: float = 0.0


def metrics_of(function: Callable[..., int], handle: ctypes.c_void_p) -> Metrics:
    record = sized(_abi.Metrics)
    call(function, ctypes.byref(record), handle)
    bubble = Bubble(record.bubble_of_total, record.bubble_of_ideal, record.bubble_of_span)
    return Metrics(record.makespan, record.span, record.span_device, bubble, record.peak_memory, record.peak_device,
                   none_if_unset(record.limit_device))


def device_metrics_of(function: Callable[..., int], handle: ctypes.c_void_p, device: int) -> DeviceMetrics:
    record = sized(_abi.DeviceMetrics)
    call(function, ctypes.byref(record), handle, device)
    return DeviceMetrics(record.busy, record.idle, record.first_start, record.last_end, record.static_memory,
                         record.peak_memory, record.peak_time, none_if_unset(record.peak_position), record.memory_limit)


def idle_of(function: Callable[..., int], handle: ctypes.c_void_p, device: int) -> Idle:
    record = sized(_abi.Idle)
    call(function, ctypes.byref(record), handle, device)
    return Idle(*(getattr(record, name) for name in Idle._fields))


class Timeline(Shared):
    """A schedule with times. Only update changes it; several threads may read it. Schedule.evaluate makes it, as do Schedule.evaluate_transfers and
    Plan.timeline.

    schedule, config: the schedule, and the problem whose times it has.

        timeline = ppsched.generate("1f1b", config).evaluate()
        print(timeline.metrics.makespan, timeline.spans[0][0], timeline.metrics.bubble.of_total)
    """

    _INSTEAD = "; pickle its config and timeline.schedule.export('json'), and evaluate what ppsched.Schedule.from_text makes of the text"
    schedule: "Schedule"
    config: Config  # whose times they are

    def __init__(self, handle: ctypes.c_void_p, schedule: "Schedule", config: Config) -> None:
        self._handle = handle
        self.schedule = schedule
        self.config = config
        self._release = weakref.finalize(self, lib.ppsched_timeline_destroy, handle)

    @property
    def spans(self) -> List[View[Span]]:
        """For each device a view of the starts and ends of its ops."""
        return [self._view(lib.ppsched_timeline_spans, device, _span) for device in range(self.schedule.devices)]

    @property
    def latest_starts(self) -> List[View[float]]:
        """For each device a view of the latest starts that do not make the makespan longer. Empty with latest=False, and with transfers."""
        return [self._view(lib.ppsched_timeline_latest_starts, device, float) for device in range(self.schedule.devices)]

    def update(self, config: Config) -> None:
        """Computes the times of the schedule again with the costs of another config, in the same memory. Only for a timeline of
        evaluate(reusable=True).

        After this call, do not use views that were taken before it, such as spans. During it, no other thread may use the timeline.
        """
        call(lib.ppsched_timeline_update, self._handle, config_of(config)._handle)
        self.config = config

    @property
    def slack(self) -> List[List[float]]:
        """For each op how much later it may start without making the makespan longer; 0 on the critical path."""
        return [[latest - span.start for latest, span in zip(*rows)] for rows in zip(self.latest_starts, self.spans)]

    @property
    def slack_by_device(self) -> List[float]:
        """For each device the least slack of its ops. Even if all of them start later by this time, the makespan stays the
        same. Infinite for a device without ops."""
        return explain.slack_by_device(self)

    @property
    def slack_by_stage(self) -> List[float]:
        """For each stage the least slack of its ops."""
        return explain.slack_by_stage(self)

    @property
    def critical_path(self) -> List[CriticalOp]:
        """The critical path: a chain of ops from time 0 to the makespan in which each op starts exactly when its wait for the op before it
        ends."""
        return explain.critical_path(self)

    def sensitivities(self, objective: Union[Objective, str] = "makespan",
                      kind: Union[Kind, str, None] = None) -> List[Sensitivity]:
        """For each stage, how the objective ("makespan" or "span") changes if all ops of the stage of one kind (F, B, I or W; None: of all
        four kinds) take a little longer or less. Both changes are per unit of time by which each op changes.

        The changes are exact for the order of this schedule, as long as no other path through the schedule becomes the longest.
        """
        return explain.sensitivities(self, objective, kind)

    def relief(self, objective: Union[Objective, str] = "makespan", kind: Union[Kind, str, None] = None) -> Relief:
        """The stage to speed up first: the stage with the largest `less`; if there are several, the one of these with the
        largest `more`; if there are still several, the lowest."""
        return explain.relief(self, objective, kind)

    def _view(self, function: Callable[..., Any], device: int, convert: Callable[[Any], Item]) -> View[Item]:
        count = ctypes.c_size_t()
        pointer = function(self._handle, device, ctypes.byref(count))
        return View(self, pointer, count.value, convert)

    @property
    def metrics(self) -> Metrics:
        """Figures of the whole schedule."""
        return metrics_of(lib.ppsched_timeline_get_metrics, self._handle)

    @property
    def device_metrics(self) -> List[DeviceMetrics]:
        """Figures of each device."""
        return [device_metrics_of(lib.ppsched_timeline_get_device_metrics, self._handle, device)
                for device in range(self.schedule.devices)]

    @property
    def idle(self) -> List[Idle]:
        """For each device its idle time by cause. Not with latest=False."""
        return [idle_of(lib.ppsched_timeline_get_idle, self._handle, device) for device in range(self.schedule.devices)]

    @names_checked
    def memory(self, device: int, cause: Union[MemoryCause, str, None] = None) -> List[MemoryPoint]:
        """The memory of a device over time, or its memory for one cause. The first point, at time 0, is what is always held; then there is
        a point for each change."""
        return curve(self, device, cause)

    def peak_by_cause(self, device: int) -> Dict[str, float]:
        """The peak memory of a device by cause, such as "gradients". Added up in this order, the parts are exactly the peak."""
        return peak_by_cause(self, device)

    def peak_items(self, device: int) -> List[MemoryItem]:
        """All items that a device holds at its peak."""
        return peak_items(self, device)

    def idle_windows(self, device: int) -> List[IdleWindow]:
        """The spans of time in which a device computes nothing, with the free memory in each."""
        return idle_windows(self, device)

    def export(self, format: Union[Format, str], *, text_columns: int = 0, time_scale: float = 0.0) -> str:
        """The schedule with its times, as "text", "csv", "json", "chrome" (trace), "megatron", "deepspeed" or "sail".

        json, chrome and text contain the config's microbatch_order, if there is one. text_columns: largest width of a line of
        text; time_scale: microseconds per unit of time in a trace (default: by the config's unit, if it has one, else 1). If the config has
        windows, a trace contains the windows of overlapped pairs.
        """
        return whole_text(lambda take: self._stream(format, take, text_columns, time_scale))

    def _stream(self, format: Union[Format, str], take: Take, text_columns: int = 0, time_scale: float = 0.0) -> None:
        """The text of export, handed over in pieces."""
        chosen, units = export_format(format), self.config.units
        text_columns = integer("text_columns", text_columns)
        columns = max(1, text_columns - len(units.after_memory)) if text_columns > 0 else text_columns
        scale = time_scale or units.microseconds

        def written(taking: Take) -> None:
            export(self.schedule._handle, self._handle, chosen, taking, text_columns=columns, time_scale=scale)

        def ended(text: str) -> str:
            return with_order(with_units(text, chosen, units), chosen, self.config.microbatch_order)

        if chosen == Format.CHROME_TRACE and self.config.windows:
            take(ended(with_windows(whole_text(written), self, scale or 1.0)).encode("utf-8"))
        elif chosen == Format.TEXT:  # whose lines are few, and told their units each
            take(ended(whole_text(written)).encode("utf-8"))
        else:
            with_end(written, take, ended)

    def rows(self) -> List[Dict[str, Plain]]:
        """All ops with their times as plain rows: pandas.DataFrame(timeline.rows()), or polars.DataFrame."""
        return [{"device": device, "position": position, "op": str(op), "kind": op.kind.name, "stage": op.stage,
                 "microbatch": op.microbatch, "start": span.start, "end": span.end}
                for device, (ops, spans) in enumerate(zip(self.schedule.queues, self.spans))
                for position, (op, span) in enumerate(zip(ops, spans))]

    def draw(self, scenarios: Optional[Scenarios] = None, ready: Optional[Scenarios] = None) -> object:
        """A matplotlib.figure.Figure of the timeline. With scenarios it also has a histogram of makespans, and with `ready` their mean with
        dispatch="ready". The caller's backend and figures do not change."""
        return picture.figure_of(self, scenarios, ready)

    def to_svg(self) -> str:
        """The picture as the text of an SVG file; needs matplotlib."""
        return picture.svg_of(self)

    def _repr_svg_(self) -> Optional[str]:
        """The picture for notebooks. None if it would be large or matplotlib is missing, so that the text is shown."""
        return picture.shown_svg(self)

    def __repr__(self) -> str:
        metrics = self.metrics
        limit = "" if metrics.limit_device is None else f", over the limit of device {metrics.limit_device}"
        return (f"<ppsched.Timeline of {self.schedule.name}: {counted(len(self.schedule), 'op')} on "
                f"{counted(self.schedule.devices, 'device')}, makespan {metrics.makespan:g}, span {metrics.span:g}, bubble "
                f"{metrics.bubble.of_total:.2%} of total, peak memory {metrics.peak_memory:g}{limit}>")
