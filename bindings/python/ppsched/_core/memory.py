# SPDX-License-Identifier: Apache-2.0
"""Memory of a schedule by cause."""
import ctypes
from typing import TYPE_CHECKING, Dict, List, NamedTuple, Optional, Union

from . import _abi
from ._abi import MemoryCause
from ._library import lib
from .enums import member, names_of
from .filling import records_of
from .number_lists import integer
from .views import none_if_unset

if TYPE_CHECKING:
    from .timeline import Timeline


class MemoryPoint(NamedTuple):
    """The memory of a device from `time` on."""

    time: float
    memory: float


class MemoryItem(NamedTuple):
    """An item that a device holds in memory. position: the op of the queue that took it; None if it is always held."""

    cause: str
    stage: Optional[int]
    microbatch: Optional[int]
    position: Optional[int]
    memory: float
    since: float


class IdleWindow(NamedTuple):
    """A span of time in which a device computes nothing. memory: the most memory that the device holds in this time; free: the
    memory limit minus this memory."""

    start: float
    end: float
    memory: float
    free: float


CAUSES = names_of(MemoryCause)


def _known(timeline: "Timeline", device: int) -> int:
    if not 0 <= integer("device", device) < timeline.schedule.devices:
        raise IndexError(f"there is no device {device}")
    return device


def curve(timeline: "Timeline", device: int, cause: Union[MemoryCause, str, None]) -> List[MemoryPoint]:
    if cause is None:
        records = records_of(_abi.MemoryPoint, lib.ppsched_timeline_get_memory, timeline._handle, _known(timeline, device))
    else:
        records = records_of(_abi.MemoryPoint, lib.ppsched_timeline_get_memory_of_cause, timeline._handle, _known(timeline, device),
                             member(MemoryCause, "cause of memory", cause))
    return [MemoryPoint(point.time, point.memory) for point in records]


def peak_by_cause(timeline: "Timeline", device: int) -> Dict[str, float]:
    values = records_of(ctypes.c_double, lib.ppsched_timeline_get_peak_causes, timeline._handle, _known(timeline, device))
    return dict(zip(CAUSES, values))


def peak_items(timeline: "Timeline", device: int) -> List[MemoryItem]:
    records = records_of(_abi.MemoryItem, lib.ppsched_timeline_get_peak_items, timeline._handle, _known(timeline, device))
    return [MemoryItem(CAUSES[item.cause], none_if_unset(item.stage), none_if_unset(item.microbatch), none_if_unset(item.position),
                       item.memory, item.since) for item in records]


def idle_windows(timeline: "Timeline", device: int) -> List[IdleWindow]:
    records = records_of(_abi.IdleWindow, lib.ppsched_timeline_get_idle_windows, timeline._handle, _known(timeline, device))
    return [IdleWindow(window.start, window.end, window.memory, window.free) for window in records]
