# SPDX-License-Identifier: Apache-2.0
"""What a runtime sets up once: slots of memory, and communicators."""
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
    """Who holds a slot of its arena, from position `first` to `last` of the device's queue. stage: None where all stages of the
    device share; kind: F, or RECV_F and RECV_B of received values."""

    microbatch: int
    stage: Optional[int]
    kind: Kind
    slot: int
    first: int
    last: int


class Arena(NamedTuple):
    """Slots that are alike, to be allocated once, and who holds them when."""

    stage: Optional[int]
    kind: Kind
    slots: int
    lifetimes: List[Lifetime]


class Connection(NamedTuple):
    """What two devices set up in a round; the stages are None of a communicator for a link."""

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
