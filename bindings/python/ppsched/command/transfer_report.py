# SPDX-License-Identifier: Apache-2.0
"""The report of the command check on the sends and receives of a schedule."""
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core._library import InvalidSchedule
from .._core.former_names import with_former
from .._core.lowering import Proof
from .._core.schedule import Schedule
from .._core.words import counted
from .lowering_options import channel_of
from .printing import error_row

Model = Tuple[str, Dict[str, bool]]  # order and flags of a channel model


def _models(values: Mapping[str, Any]) -> List[Model]:
    """The given channel model, or the common ones."""
    order, asked = channel_of(values)
    if values["channel"] is not None or any(asked.values()):
        return [(order, asked)]
    return [(order, {**asked, "rendezvous": rendezvous}) for order in ("group", "direction", "pair") for rendezvous in (False, True)]


def _name(order: str, flags: Mapping[str, bool]) -> str:
    return " ".join([order, "rendezvous" if flags["rendezvous"] else "buffered", *(name for name in ("batched", "blocking") if flags[name])])


def _proof_row(order: str, flags: Mapping[str, bool], proof: Proof) -> Dict[str, Any]:
    circle = [{**wait._asdict(), "op": str(wait.op)} for wait in proof.circle]
    return {"order": order, **flags, "safe": proof.safe, "text": proof.text, "circle": circle}


def _slots(schedule: Schedule, device: int) -> int:
    return 1 + max((buffer.slot for buffer in schedule.buffers(device) if buffer.slot is not None), default=-1)


class TransferReport:
    """row: for JSON; lines: for people; fault: what is wrong, or None. Faults are a send without its receive and the like, and a deadlock
    in the given channel model, or, without one, in all common ones."""

    row: Dict[str, Any]
    lines: List[str]
    fault: Optional[str]

    def __init__(self, schedule: Schedule, values: Mapping[str, Any]) -> None:
        try:
            proofs = [(order, flags, schedule.prove(order, **flags)) for order, flags in _models(values)]
            links = schedule.links()
        except InvalidSchedule as error:
            self.row, self.lines, self.fault = {"error": error_row(error)}, [str(error)], str(error)
            return
        self.row = with_former({"links": [link._asdict() for link in links],
                                "receive_slots": [_slots(schedule, device) for device in range(schedule.devices)],
                                "channels": [_proof_row(*proof) for proof in proofs]})
        hangs = [f"hangs with {_name(order, flags)} channels: {proof.text}" for order, flags, proof in proofs if not proof]
        safe = ", ".join(_name(order, flags) for order, flags, proof in proofs if proof)
        flight = max((link.most_in_flight for link in links), default=0)
        self.lines = [f"transfers: {sum(link.transfers for link in links)} on {counted(len(links), 'link')}, at most {flight} in flight "
                      "on one", *([f"safe with {safe} channels"] if safe else []), *hangs]
        self.fault = None if safe else hangs[0]
