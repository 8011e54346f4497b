#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# PyTorch 2.13.0, torch.distributed.pipelining.
# The first step of a schedule runs every stage once more than there are microbatches, and the loss once more too. These are real
# runs of the module, on the stage's device, before the first microbatch. Later steps run what was asked for.
# For who plans: hooks that count or time passes see M + 1 of them in step 1. Leave the first step out, its time and its peak too.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages torch==2.13.0 numpy==2.4.6
cat > "$work/run.py" <<'PY'
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

RANKS, MICROBATCHES = 2, 4


class Counted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.devices = torch.nn.Linear(4, 4), []

    def forward(self, x):
        self.devices.append(x.device.type)
        return self.layer(x)


def run(rank, folder):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=RANKS)
    module, losses = Counted(), []
    loss = lambda out, target: losses.append(0) or (out - target).square().sum()
    schedule = Schedule1F1B(PipelineStage(module, rank, RANKS, torch.device("cpu")), MICROBATCHES, loss_fn=loss)
    lines = []
    for step in 1, 2:
        module.devices.clear(), losses.clear()
        rows = torch.ones(2 * MICROBATCHES, 4)
        schedule.step(rows) if rank == 0 else schedule.step(target=rows)
        lines.append(f"rank {rank}, step {step}: {len(module.devices)} forwards on {set(module.devices)}, {len(losses)} losses")
    open(f"{folder}/{rank}", "w").write("\n".join(lines) + "\n")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(run, (os.environ["work"],), nprocs=RANKS)
PY
work=$work python "$work/run.py" 2> "$work/log" || { tail -1 "$work/log" >&2; exit 1; }
compare "rank 0, step 1: 5 forwards on {'cpu'}, 0 losses
rank 0, step 2: 4 forwards on {'cpu'}, 0 losses
rank 1, step 1: 5 forwards on {'cpu'}, 5 losses
rank 1, step 2: 4 forwards on {'cpu'}, 4 losses" "$(cat "$work/0" "$work/1")"
