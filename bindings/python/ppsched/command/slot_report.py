# SPDX-License-Identifier: Apache-2.0
"""Slots and communicators in the JSON of the command. Positions count an overlapped pair as one op."""
from itertools import accumulate, groupby
from typing import Any, Dict, List

from .._core._abi import Kind
from .._core.former_names import with_former
from .._core.schedule import Schedule
from .._core.slots import Connection


def _places(schedule: Schedule, device: int) -> List[int]:
    """For each op of a queue its position in the list of tokens."""
    ops = schedule.queues[device]
    return list(accumulate((not op.overlapped for op in list(ops)[:-1]), initial=0)) if len(ops) else []


def _shared(schedule: Schedule, device: int, use: str, places: List[int]) -> Dict[str, Any]:
    """The slots of activations, which share one arena."""
    arenas = schedule.arenas(device, use)
    return {"count": sum(arena.slots for arena in arenas),
            "slots": [[life.stage, life.microbatch, life.slot, places[life.first], places[life.last]]
                      for arena in arenas for life in arena.lifetimes]}


def _received(schedule: Schedule, device: int, places: List[int]) -> List[List[Any]]:
    """On a stage graph also the place that sends, as each has slots of its own."""
    def from_place(first: int) -> List[int]:
        place = schedule.queues[device][first].place
        return [] if place is None else [place]

    return [[life.stage, "F" if life.kind == Kind.RECV_F else "B", life.microbatch, life.slot, places[life.first], places[life.last],
             *from_place(life.first)]
            for arena in schedule.arenas(device, "receive") for life in arena.lifetimes]


def _device_row(schedule: Schedule, device: int) -> Dict[str, Any]:
    places = _places(schedule, device)
    return {"device": device, "stage_microbatch": _shared(schedule, device, "stage_microbatch", places),
            "microbatch": _shared(schedule, device, "microbatch", places), "receive": _received(schedule, device, places)}


def _rounds(connections: List[Connection], *ends: str) -> List[List[List[int]]]:
    return [[[getattr(connection, end) for end in ends] for connection in found]
            for _, found in groupby(connections, lambda connection: connection.round)]


def slot_rows(schedule: Schedule) -> Dict[str, Any]:
    """The keys that --slots adds."""
    rows = {"slots": [_device_row(schedule, device) for device in range(schedule.devices)],
            "link_rounds": _rounds(schedule.connections(), "sender", "receiver"),
            "preconnect_rounds": _rounds(schedule.connections("stages"), "sending_stage", "receiving_stage")}
    return with_former(rows)
