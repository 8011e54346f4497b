#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.13.0, torch.distributed.pipelining.
# With 1F1B the last stage runs each backward right after its forward, so one microbatch at a time would do. Yet after a step the
# outputs of all M microbatches are still alive there, until the next step begins: step() joins them for its result, which is
# usually thrown away. With step(return_outputs=False) none is kept.
# For who plans: the last device holds M outputs more than the schedule says. For a language model these are the logits, often
# larger than all else that a microbatch leaves there. Pass return_outputs=False, or count M of them on the last device.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages torch==2.13.0 numpy==2.4.6
cat > "$work/run.py" <<'PY'
import gc
import os
import weakref
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

RANKS, MICROBATCHES = 2, 8


class Watched(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.outputs = torch.nn.Linear(4, 4), []

    def forward(self, x):
        y = self.layer(x)
        self.outputs.append(weakref.ref(y))
        return y


def run(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS)
    lines = []
    for kept in True, False:
        module = Watched()
        stage = PipelineStage(module, rank, RANKS, torch.device("cpu"))
        schedule = Schedule1F1B(stage, MICROBATCHES, loss_fn=lambda out, target: (out - target).square().sum())
        rows = torch.ones(2 * MICROBATCHES, 4)
        arguments, named = ((rows,), {}) if rank == 0 else ((), {"target": rows})
        schedule.step(*arguments, return_outputs=kept, **named)
        gc.collect()
        alive = sum(output() is not None for output in module.outputs)
        lines.append(f"rank {rank}, return_outputs={kept}: {alive} of {MICROBATCHES} outputs alive after the step")
    open(f"{folder}/{rank}", "w").write("\n".join(lines) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(run, (os.environ["work"],), nprocs=RANKS)
PY
work=$work python "$work/run.py" 2> "$work/log" || { tail -1 "$work/log" >&2; exit 1; }
compare "rank 0, return_outputs=True: 0 of 8 outputs alive after the step
rank 0, return_outputs=False: 0 of 8 outputs alive after the step
rank 1, return_outputs=True: 8 of 8 outputs alive after the step
rank 1, return_outputs=False: 0 of 8 outputs alive after the step" "$(cat "$work/0" "$work/1")"
