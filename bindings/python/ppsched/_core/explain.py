# SPDX-License-Identifier: Apache-2.0
"""What bounds the time of a schedule: its critical path, slack, and sensitivities to slower and faster stages."""
import ctypes
from typing import TYPE_CHECKING, List, NamedTuple, Union

from . import _abi
from ._abi import Kind, Objective, Reason
from ._library import Error, lib
from .enums import member
from .filling import records_of
from .interrupt import Interrupts
from .op import Op, from_record

if TYPE_CHECKING:
    from .timeline import Timeline

_KINDS = (Kind.F, Kind.B, Kind.I, Kind.W)


class CriticalOp(NamedTuple):
    """An op of the critical path, from start to end. An overlapped pair is one entry, with its first op.

    position: its position in the device's queue; reason: why it starts at this time. BEGIN: it is the first op of its device, and starts
    at 0; DEVICE: the op before it on its device ends; INPUT: an input from another device arrives; FLUSH: the iteration before ends on another device;
    COPY: a copy of OFFLOAD or RELOAD ends.
    """

    device: int
    position: int
    op: Op
    start: float
    end: float
    reason: Reason


class Sensitivity(NamedTuple):
    """more: how much an objective grows per unit of time that a stage's ops take longer. less: how much it falls per unit of time that they
    take less."""

    more: float
    less: float


class Relief(NamedTuple):
    """The stage to speed up first, and by how much the objective grows (more) or falls (less) if the times of this stage grow or fall by
    one unit; see Sensitivity."""

    stage: int
    more: float
    less: float


def critical_path(timeline: "Timeline") -> List[CriticalOp]:
    records = records_of(_abi.CriticalOp, lib.ppsched_timeline_get_critical_path, timeline._handle)
    return [CriticalOp(record.device, record.position, from_record(record.op), record.start, record.end, Reason(record.reason))
            for record in records]


def slack_by_device(timeline: "Timeline") -> List[float]:
    return list(records_of(ctypes.c_double, lib.ppsched_timeline_get_device_slack, timeline._handle))


def slack_by_stage(timeline: "Timeline") -> List[float]:
    return list(records_of(ctypes.c_double, lib.ppsched_timeline_get_stage_slack, timeline._handle))


def _kind_of(kind: Union[Kind, str, None]) -> int:
    """The number of a kind of compute op; 0 for all four."""
    if kind is None:
        return 0
    found = member(Kind, "kind", kind)
    if found not in _KINDS:
        raise Error(f"there are no sensitivities to {found.name}; give F, B, I or W")
    return found


def sensitivities(timeline: "Timeline", objective: Union[Objective, str], kind: Union[Kind, str, None]) -> List[Sensitivity]:
    of = member(Objective, "objective", objective), _kind_of(kind)
    with Interrupts() as interrupts:  # it takes seconds if critical paths alternate between many stages
        tell = _abi.ProgressFunction(lambda _user, _progress: interrupts.error is not None)
        records = records_of(_abi.Sensitivity, lib.ppsched_timeline_get_sensitivities, timeline._handle, *of, tell, None)
    return [Sensitivity(record.more, record.less) for record in records]


def relief(timeline: "Timeline", objective: Union[Objective, str], kind: Union[Kind, str, None]) -> Relief:
    figures = sensitivities(timeline, objective, kind)
    stage = min(range(len(figures)), key=lambda s: (-figures[s].less, -figures[s].more, s))
    return Relief(stage, *figures[stage])
