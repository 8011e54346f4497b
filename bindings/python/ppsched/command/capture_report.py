# SPDX-License-Identifier: Apache-2.0
"""Whether a lowered order can be captured as one CUDA graph, for text and JSON: what it needs, and why it cannot."""
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from .._core._abi import Kind
from .._core._library import InvalidSchedule
from .._core.op import Op
from .._core.schedule import Schedule
from .._core.slots import Arena
from .._core.words import counted
from .lowering_options import is_lowered

Link = Tuple[int, int]  # sender, receiver
Place = Tuple[int, int]  # a stage, and one of its devices
Value = Tuple[Kind, int, int, Optional[int], Optional[int]]  # what is sent: the kind of its send, both places or stages, microbatch, slice

TORCHTITAN = "--training.disable_cuda_graphs: torchtitan refuses CUDA graphs with pipelines"
NUMBERS = "its _order has numbers only for whole forwards and backwards"


class Capture(NamedTuple):
    """ok: it can be captured; reasons: why not, a line each; communicators: links in the order in which they are made; buffers: slots
    that each device allocates once."""

    ok: bool
    reasons: List[str]
    communicators: List[Link]
    buffers: List[Dict[str, Any]]


# --- one order for all steps ---

def _moved(op: Op, microbatches: int) -> Op:
    """As in the first iteration."""
    return op if op.microbatch is None else op._replace(microbatch=op.microbatch % microbatches)


def _iterations(schedule: Schedule, device: int) -> List[List[Op]]:
    """The ops of each iteration that have a microbatch, in their order."""
    found: List[List[Op]] = [[] for _ in range(schedule.iterations)]
    for op in schedule.queues[device]:
        if op.microbatch is not None:
            found[op.microbatch // schedule.microbatches].append(_moved(op, schedule.microbatches))
    return found


def _unlike_steps(schedule: Schedule) -> List[str]:
    if not schedule.flushes:
        return ["a step starts before the step before it has ended, so the order is not the same in each step; take a strategy that flushes (ends a step on all devices before the next step starts)"]
    for device in range(schedule.devices):
        steps = _iterations(schedule, device)
        other = next((number for number, ops in enumerate(steps) if ops != steps[0]), None)
        if other is not None:
            return [f"device {device} has another order in step {other} than in step 0; a graph has one for all steps"]
    return []


# --- nothing that depends on data ---

def _data(schedule: Schedule) -> List[str]:
    config, reasons = schedule.config, []
    if config.microbatch_order:
        reasons.append("the order of the microbatches depends on their costs, which differ from step to step; leave out --order-microbatches")
    for name in ("microbatch_scale", "microbatch_memory_scale"):
        if len(set(getattr(config, name))) > 1:
            reasons.append(f"microbatches differ ({name}), and a graph has one shape for each op; pad or pack them to the same length")
    return reasons


# --- sends and receives ---

def _places(schedule: Schedule) -> List[Place]:
    """What the places of sends and receives of a stage graph mean."""
    return [(stage, device) for stage, devices in enumerate(schedule.stage_devices) for device in sorted(devices)] if schedule.has_graph else []


def _moves(schedule: Schedule, device: int, op: Op, places: List[Place]) -> Tuple[Optional[int], Value]:
    """The device at the other end of a send or a receive, and what it moves."""
    is_send = op.kind in (Kind.SEND_F, Kind.SEND_B)
    kind = Kind.SEND_F if op.kind in (Kind.SEND_F, Kind.RECV_F) else Kind.SEND_B
    peer: Optional[int] = None
    if op.place is not None:
        own, other, peer = places.index((op.stage, device)), op.place, places[op.place][1]
    else:
        own, other = op.stage, op.stage + (1 if op.kind in (Kind.SEND_F, Kind.RECV_B) else -1)
        peer = schedule.device_of(other, op.microbatch or 0)
    return peer, (kind, *((own, other) if is_send else (other, own)), op.microbatch, op.slice)


def _by_link(schedule: Schedule) -> Tuple[Dict[Link, List[Value]], Dict[Link, List[Value]]]:
    """What each link sends and receives, in turn."""
    sends: Dict[Link, List[Value]] = {}
    receives: Dict[Link, List[Value]] = {}
    places = _places(schedule)
    for device in range(schedule.devices):
        for op in schedule.queues[device]:
            if op.kind not in (Kind.SEND_F, Kind.SEND_B, Kind.RECV_F, Kind.RECV_B):
                continue
            other, value = _moves(schedule, device, op, places)
            if other is None:
                continue
            if op.kind in (Kind.SEND_F, Kind.SEND_B):
                sends.setdefault((device, other), []).append(value)
            else:
                receives.setdefault((other, device), []).append(value)
    return sends, receives


def _transfers(schedule: Schedule) -> List[str]:
    """Each link is a stream of its own. Where both of its ends have the same order, and all ops come to their end if transfers wait for
    nothing but their ends, they do so in these streams too: what a transfer of a link waits for is before it at both ends."""
    if schedule.devices > 1 and not is_lowered(schedule):
        return ["the order has no sends and receives, so each runtime would place them in its own way; add them with --lower"]
    if schedule.devices == 1:
        return []
    try:
        proof = schedule.prove("none", rendezvous=True)
    except InvalidSchedule as error:
        return [str(error)]
    sends, receives = _by_link(schedule)
    reasons = [] if proof else [f"it hangs: {proof.text}"]
    for link in sends:
        if sends[link] != receives.get(link):
            reasons.append(f"devices {link[0]} and {link[1]} have another order of the same transfers; in a graph each link is one stream")
    return reasons


def _communicators(schedule: Schedule) -> List[Link]:
    """Those that have transfers, or would have some, in an order in which all devices can make them."""
    all_links = [(made.sender, made.receiver) for made in schedule.connections()]
    if not is_lowered(schedule):
        return all_links
    used = set(_by_link(schedule)[0])
    return [link for link in all_links if link in used]


def _received(schedule: Schedule, device: int, arena: Arena) -> List[Any]:
    """Stage, direction and number of slots; on a stage graph also the place that sends."""
    place = schedule.queues[device][arena.lifetimes[0].first].place
    return [arena.stage, "F" if arena.kind == Kind.RECV_F else "B", arena.slots, *([] if place is None else [place])]


def _buffers(schedule: Schedule, device: int) -> Dict[str, Any]:
    return {"device": device, "activations": sum(arena.slots for arena in schedule.arenas(device)),
            "receive": [_received(schedule, device, arena) for arena in schedule.arenas(device, "receive")]}


def capture_of(schedule: Schedule, blocking: bool) -> Capture:
    """blocking: the runtime's sends and receives block the host."""
    reasons = [*_transfers(schedule), *_unlike_steps(schedule), *_data(schedule)]
    buffers: List[Dict[str, Any]] = []
    if blocking:
        reasons.append("sends and receives that block (--blocking) make the host wait, which a capture does not allow")
    try:
        buffers = [_buffers(schedule, device) for device in range(schedule.devices)]
    except InvalidSchedule as error:
        reasons.append(str(error))
    return Capture(not reasons, reasons, _communicators(schedule), buffers)


# --- lines for runtimes ---

def _numbers(schedule: Schedule, device: int) -> List[int]:
    """Of Transformer Engine: c + 1 for a forward of chunk c, - (c + 1) for its backward."""
    ops = [op for op in _iterations(schedule, device)[0] if op.kind in (Kind.F, Kind.B)]
    chunks = sorted({op.stage for op in ops})
    return [(1 if op.kind == Kind.F else -1) * (chunks.index(op.stage) + 1) for op in ops]


def _engine_fault(schedule: Schedule) -> Optional[str]:
    """Why Transformer Engine's list cannot say the order. It numbers the microbatches of a chunk in turn, forwards and backwards."""
    if schedule.has_graph:
        return "its _order numbers the chunks of a chain, and the stages form a graph"
    if schedule.kinds & {Kind.I, Kind.W} or schedule.slices > 1:
        return f"{NUMBERS}; there are {'slices' if schedule.slices > 1 else 'I and W'}"
    for device in range(schedule.devices):
        turns: Dict[Tuple[int, Kind], List[Optional[int]]] = {}
        for op in schedule.queues[device]:
            if op.overlapped:
                return f"{NUMBERS}; there are overlapped pairs"
            if op.kind in (Kind.F, Kind.B):
                turns.setdefault((op.stage, op.kind), []).append(op.microbatch)
        for (stage, kind), found in turns.items():
            if kind == Kind.B and found != turns.get((stage, Kind.F)):
                return f"it takes the backwards of a chunk in the order of its forwards, but stage {stage} has another order"
    return next(iter(_unlike_steps(schedule)), None)


def _engine_lines(schedule: Schedule) -> List[str]:
    fault = _engine_fault(schedule)
    if fault is not None:
        return [f"make_graphed_callables: {fault}"]
    return [f"device {device}: make_graphed_callables(..., _order={_numbers(schedule, device)})" for device in range(schedule.devices)]


def capture_rows(schedule: Schedule, blocking: bool) -> Dict[str, Any]:
    """The keys that --capture adds."""
    found = capture_of(schedule, blocking)
    return {"capture": {"ok": found.ok, "reasons": found.reasons, "communicators": [list(link) for link in found.communicators],
                        "buffers": found.buffers},
            "capture_lines": {"torchtitan": TORCHTITAN, "transformer_engine": _engine_lines(schedule)}}


def capture_text(schedule: Schedule, blocking: bool) -> str:
    """The same for people."""
    found = capture_of(schedule, blocking)
    lines = ["CUDA graph: it can be captured" if found.ok else "CUDA graph: it cannot be captured", *(f"  {reason}" for reason in found.reasons)]
    links = " ".join(f"{sender}->{receiver}" for sender, receiver in found.communicators)
    lines.append(f"communicators: {links or 'none'}")
    for row in found.buffers:
        receive = ", ".join(f"{own[2]} for {own[1]} of stage {own[0]}" + "".join(f" from place {place}" for place in own[3:]) for own in row["receive"])
        lines.append(f"device {row['device']}: {counted(row['activations'], 'slot')} for activations" + (f"; for received values {receive}" if receive else ""))
    lines += [f"torchtitan: {TORCHTITAN}", *(f"Transformer Engine: {line}" for line in _engine_lines(schedule))]
    return "\n".join(lines) + "\n"
