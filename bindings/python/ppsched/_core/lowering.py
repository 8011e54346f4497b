# SPDX-License-Identifier: Apache-2.0
"""Lowering, and the proof that a lowered schedule cannot deadlock."""
import ctypes
from typing import TYPE_CHECKING, List, NamedTuple, Optional, Sequence, Union

from . import _abi
from ._abi import ChannelOrder, Lowering, Status, UnshardLookahead
from ._library import Error, lib, new_handle
from .enums import member
from .filling import records_of
from .number_lists import integer, unsigned
from .op import Op, from_record
from .views import none_if_unset, sized

if TYPE_CHECKING:
    from .schedule import Schedule


class Wait(NamedTuple):
    """One wait of a wait cycle: `device` waits in `op`, at `position` of its queue, for the device of the next wait."""

    device: int
    position: int
    op: Op


class Proof(NamedTuple):
    """The result of Schedule.prove. safe: whether there is no deadlock; circle: the wait cycle, empty if there is no deadlock; text: the wait cycle in words."""

    safe: bool
    circle: List[Wait]
    text: str

    def __bool__(self) -> bool:
        return self.safe


class Link(NamedTuple):
    """A directed pair of devices, the sender and the receiver. most_in_flight: the largest number of receives of the link that are posted and not used yet
    at one time."""

    sender: int
    receiver: int
    transfers: int
    most_in_flight: int


class Buffer(NamedTuple):
    """The buffer of a send or receive. slot: number of the buffer of a receive on its device. until: position of the op after which the
    buffer is free; None for a send if there is no such op before the end of the queue. Both are None for other ops."""

    slot: Optional[int]
    until: Optional[int]


def prefetch_of(lowering: Union[Lowering, str], receive_prefetch: Optional[int], blocking: bool = False) -> int:
    """The prefetch distance of receives. The default is 1 with JUST_IN_TIME, which was best in measurements: a message that starts when both
    sides are ready then arrives in time. It is 0 if devices block in sends and receives."""
    if receive_prefetch is not None:
        return integer("receive_prefetch", receive_prefetch)
    return int(member(Lowering, "lowering", lowering) == Lowering.JUST_IN_TIME and not blocking)


def every_of(reduce_every: int) -> int:
    """reduce_every as the library has it: 0 for 1, as without reduce_grad."""
    every = integer("reduce_every", reduce_every)
    if every < 1:
        raise Error(f"reduce_every is {every}; it must be 1 or more", Status.ERROR_RANGE)
    return unsigned("reduce_every", every) if every > 1 else 0


def links(schedule: "Schedule") -> List[Link]:
    records = records_of(_abi.Link, lib.ppsched_schedule_get_links, schedule._handle)
    return [Link(*(getattr(record, name) for name, _ in record._fields_)) for record in records]


def buffers(schedule: "Schedule", device: int) -> List[Buffer]:
    if not 0 <= integer("device", device) < schedule.devices:
        raise IndexError(f"there is no device {device}")
    records = records_of(_abi.OpBuffer, lib.ppsched_schedule_get_buffers, None, schedule._handle, device)
    return [Buffer(none_if_unset(record.slot), none_if_unset(record.until)) for record in records]


def _look_ahead(options: _abi.LowerOptions, lookahead: Union[str, Sequence[int]]) -> None:
    """Sets the lookahead of UNSHARD: by a name, or by a number for each device."""
    if isinstance(lookahead, str):
        options.unshard_lookahead = member(UnshardLookahead, "unshard_lookahead", lookahead)
        return
    counts = [integer("unshard_lookahead", count) for count in lookahead]
    for count in counts:
        if not 0 <= count < 2**32:
            raise Error(f"unshard_lookahead has {count}; each must be at least 0 and below 2**32", Status.ERROR_RANGE)
    options.unshard_lookahead = UnshardLookahead.LIST
    options.unshard_lookahead_count = len(counts)
    array = (ctypes.c_uint32 * max(len(counts), 1))(*counts)
    options.unshard_lookaheads = ctypes.cast(array, ctypes.POINTER(ctypes.c_uint32))


def lowered(schedule: "Schedule", lowering: Union[Lowering, str], lookahead: Union[str, Sequence[int]] = "full",
            **passes: int) -> ctypes.c_void_p:
    """The handle of a lowered schedule."""
    options = sized(_abi.LowerOptions)
    options.lowering = member(Lowering, "lowering", lowering)
    _look_ahead(options, lookahead)
    for name, value in passes.items():
        setattr(options, name, unsigned(name, int(value) if isinstance(value, bool) else value))
    return new_handle(lib.ppsched_schedule_lower, schedule._handle, schedule.config._handle, ctypes.byref(options))


def channel_model(order: Union[ChannelOrder, str], *, rendezvous: bool = False, batched: bool = False,
                  blocking: bool = False) -> _abi.ChannelModel:
    """The library's record of a channel model."""
    model = sized(_abi.ChannelModel)
    model.order = member(ChannelOrder, "channel order", order)
    model.rendezvous, model.batched, model.blocking = int(rendezvous), int(batched), int(blocking)
    return model


def proof(schedule: "Schedule", model: _abi.ChannelModel) -> Proof:
    room = schedule.devices * 4
    circle, count, record = (_abi.Wait * room)(), ctypes.c_size_t(), _abi.Error()
    status = lib.ppsched_schedule_prove(circle, room, ctypes.byref(count), schedule._handle, ctypes.byref(model),
                                        ctypes.byref(record))
    if status == Status.OK:
        return Proof(True, [], "")
    message = record.message.decode("utf-8", "replace")
    if status != Status.ERROR_INVALID_SCHEDULE:
        raise Error(message, status, record)
    waits = [Wait(wait.device, wait.position, from_record(wait.op)) for wait in circle[:min(count.value, room)]]
    return Proof(False, waits, message)
