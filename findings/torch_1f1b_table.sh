#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.13.0, torch.distributed.pipelining.
# Schedule1F1B has a table of its order, pipeline_order, which pictures are drawn from. The row of the last rank is wrong: it has
# forwards 1 to M in place of 0 to M - 1, so microbatch 0 is never run forward there, and a microbatch M is that does not exist.
# Training is right, as step() does not use the table. PyTorch's own runtime refuses the table.
# For who plans: do not take 1F1B from pipeline_order, to compare, draw or run it. Those of the schedules with several stages a
# device, which do run from theirs, can be taken.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages torch==2.13.0 numpy==2.4.6
seen=$(
    python - 2> "$work/log" <<'PY' || { tail -1 "$work/log" >&2; exit 1; }
import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, Schedule1F1B
from torch.distributed.pipelining.schedules import _PipelineScheduleRuntime
from torch.testing._internal.distributed.fake_pg import FakeStore

RANKS, MICROBATCHES = 2, 3
dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=RANKS)


def stage():
    return PipelineStage(torch.nn.Linear(2, 2), 0, RANKS, torch.device("cpu"))


def loss(out, target):
    return out.sum()


order = Schedule1F1B(stage(), MICROBATCHES, loss_fn=loss).pipeline_order
for rank, row in order.items():
    print(f"rank {rank}:", *row)
try:
    _PipelineScheduleRuntime([stage()], MICROBATCHES, loss_fn=loss)._prepare_schedule_with_comms(order)
    print("its own runtime: taken")
except Exception as error:
    print(f"its own runtime: {type(error).__name__}:", str(error).splitlines()[0])
PY
)
compare "rank 0: 0F0 0F1 0B0 0F2 0B1 0B2 0REDUCE_GRAD
rank 1: 1F1 1B0 1F2 1B1 1F3 1B2 1REDUCE_GRAD
its own runtime: AssertionError: Rank 1, step 1: Running Full Backward for stage 1, microbatch 0 without first running Forward" "$seen"
