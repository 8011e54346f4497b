# SPDX-License-Identifier: Apache-2.0
"""What a runtime allocates and connects once: memory slots and communicators."""
from typing import TYPE_CHECKING, List, NamedTuple, Optional, Union

from . import _abi
from ._abi import Connecting, Kind, SlotUse
from ._library import lib
from .enums import member
from .filling import records_of
from .number_lists import integer
from .views import none_if_unset

if TYPE_CHECKING:
    from .schedule import Schedule


class Lifetime(NamedTuple):
    """One holder of a slot, from position `first` to position `last` of the device's queue. stage: None if all stages of the device share
    the arena; kind: F, or for received values RECV_F or RECV_B."""

    microbatch: int
    stage: Optional[int]
    kind: Kind
    slot: int
    first: int
    last: int


class Arena(NamedTuple):
    """A set of equal slots that a runtime allocates once, and the lifetimes of their holders."""

    stage: Optional[int]
    kind: Kind
    slots: int
    lifetimes: List[Lifetime]


class Connection(NamedTuple):
    """A connection of two devices, the sender and the receiver, which they make in this round. The stages are None if it is a communicator for a link."""

    round: int
    sender: int
    receiver: int
    sending_stage: Optional[int]
    receiving_stage: Optional[int]


def _lifetime(record: _abi.Lifetime) -> Lifetime:
    return Lifetime(record.microbatch, none_if_unset(record.stage), Kind(record.kind), record.slot, record.first, record.last)


def arenas(schedule: "Schedule", device: int, use: Union[SlotUse, str]) -> List[Arena]:
    if not 0 <= integer("device", device) < schedule.devices:
        raise IndexError(f"there is no device {device}")
    chosen = member(SlotUse, "use of slots", use)
    lifetimes = [_lifetime(record) for record in
                 records_of(_abi.Lifetime, lib.ppsched_schedule_get_lifetimes, schedule._handle, device, chosen)]
    return [Arena(none_if_unset(record.stage), Kind(record.kind), record.slots, lifetimes[record.first:record.first + record.count])
            for record in records_of(_abi.Arena, lib.ppsched_schedule_get_arenas, schedule._handle, device, chosen)]


def connections(schedule: "Schedule", what: Union[Connecting, str]) -> List[Connection]:
    records = records_of(_abi.Connection, lib.ppsched_schedule_get_connections, schedule._handle, member(Connecting, "connection", what))
    return [Connection(record.round, record.sender, record.receiver, none_if_unset(record.sending_stage),
                       none_if_unset(record.receiving_stage)) for record in records]
