# SPDX-License-Identifier: Apache-2.0
"""Lowers the orders of all strategies with PyTorch's own passes and with ours, and prints as JSON how many were compared, and each that
differs: strategy, devices, stages, microbatches, settings, and the first row of either.

usage: lowered.py
"""
import inspect
import itertools
import json

import ppsched
from ppsched.torch.installed import pytorch
from torch.distributed.pipelining import schedules

HAS_LOOKAHEAD = "unshard_lookahead" in inspect.signature(schedules._add_unshard_reshard).parameters
SETTINGS = itertools.product((2, 3, 4), ("full", "auto") if HAS_LOOKAHEAD else ("full",),
                             (False, True) if hasattr(schedules, "_defer_recv_ops") else (False,),
                             (2, 3, 4) if pytorch().waits else (pytorch().reduce_grad,))


def orders():
    for strategy, devices, chunks, microbatches in itertools.product(ppsched.strategies(), (1, 2, 3, 4), (1, 2, 3), (4, 6, 7, 8)):
        if strategy.placement == "bidirectional" or not strategy.flushes or strategy.offloads or (strategy.chunks and chunks > 1):
            continue
        try:
            config = ppsched.Config(devices, microbatches, devices * (strategy.chunks or chunks))
            yield ppsched.generate(strategy.name, config).renumber()
        except ppsched.Refused:
            pass


def theirs(schedule, most, lookahead, defer, reduce_grad):
    """The rows that PyTorch makes; reduce_grad 2 leaves out the waits for reductions, as a schedule without such ops."""
    ranks = [schedule.device_of(stage) for stage in range(schedule.stages)]
    order = {}
    for rank, row in enumerate(schedule.export("csv").splitlines()):
        actions = [schedules._Action.from_str(token) for token in row.split(",") if token]
        ahead = {"unshard_lookahead": min(rank + 2, most) if lookahead == "auto" else most} if HAS_LOOKAHEAD else {}
        actions = schedules._add_unshard_reshard(actions, max_active_stages=most, **ahead)
        late = {"defer_reduce_grad_wait": True} if reduce_grad == 4 else {}
        order[rank] = schedules._add_reduce_grad(actions, schedule.microbatches, **late)
    order = schedules._add_send_recv(order, stage_to_rank=ranks.__getitem__, num_stages=schedule.stages)
    if defer:
        order = schedules._defer_recv_ops(order, stage_to_rank=ranks.__getitem__)
    return [",".join(str(action) for action in order[rank] if reduce_grad > 2 or "WAIT" not in str(action)) for rank in sorted(order)]


def main():
    compared, different, settings = 0, [], list(SETTINGS)
    for schedule in orders():
        for most, lookahead, defer, reduce_grad in settings:
            wanted = theirs(schedule, most, lookahead, defer, reduce_grad)
            lowered = schedule.lower("pytorch", unshard=most, unshard_lookahead=lookahead, reduce_grad=reduce_grad,
                                     defer_receives=defer)
            compared += 1
            rows = zip(lowered.export("csv").splitlines(), wanted, strict=True)
            different += [[schedule.name, schedule.devices, schedule.stages, schedule.microbatches, most, lookahead, defer, reduce_grad, *row]
                          for row in rows if row[0] != row[1]][:1]
    print(json.dumps({"compared": compared, "different": different}))


if __name__ == "__main__":
    main()
