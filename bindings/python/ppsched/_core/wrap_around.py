# SPDX-License-Identifier: Apache-2.0
"""The bubble of interleaved 1F1B as the authors of the zero-bubble paper count it.

Some dependencies wrap around: from the last device to the first one, for the next chunk, or back for a backward. The authors' evaluator
waits for them only for the first microbatch of each group of p. The printed columns "1F1B-I" come from that. They are too low by up to
0.005; the library's evaluator waits for every dependency.
"""
from typing import Dict, Optional, Tuple

from ._abi import Kind
from .op import Op
from .schedule import Schedule

Source = Tuple[bool, int, Optional[int]]  # whether it is a forward, stage, microbatch


def _source(op: Op, stages: int, devices: int) -> Optional[Source]:
    """The op for which an op waits by that rule, or None."""
    forward = op.kind == Kind.F
    if forward and op.stage == 0:
        return None
    if not forward and op.stage == stages - 1:
        return True, op.stage, op.microbatch
    wraps = op.stage % devices == (0 if forward else devices - 1)
    if wraps and (op.microbatch or 0) % devices != 0:
        return None
    return forward, op.stage + (-1 if forward else 1), op.microbatch


def makespan(schedule: Schedule, forward: float, backward: float, p2p: float) -> float:
    """The makespan by that rule, for a schedule of F and B on the loop placement with equal stages."""
    queues = [list(queue) for queue in schedule.queues]
    devices = len(queues)
    stages = 1 + max(op.stage for queue in queues for op in queue)
    clock, position, moved = [0.0] * devices, [0] * devices, True
    ends: Dict[Source, float] = {}
    while moved:
        moved = False
        for device, queue in enumerate(queues):
            while position[device] < len(queue):
                op = queue[position[device]]
                source = _source(op, stages, devices)
                if source is not None:
                    if source not in ends:
                        break
                    clock[device] = max(clock[device], ends[source] + (p2p if source[1] != op.stage else 0))
                clock[device] += forward if op.kind == Kind.F else backward
                ends[op.kind == Kind.F, op.stage, op.microbatch] = clock[device]
                position[device] += 1
                moved = True
    if any(position[device] < len(queue) for device, queue in enumerate(queues)):
        raise ValueError("the schedule cannot run")
    return max(clock)
