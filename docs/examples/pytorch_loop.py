# SPDX-License-Identifier: Apache-2.0
"""Trains a small model with PyTorch's pipeline runtime: first with 1F1B, then with a schedule that is planned from measured steps.

usage: torchrun --nproc-per-node 4 pytorch_loop.py
"""
import ppsched
import ppsched.torch
import torch
from torch import distributed
from torch.distributed.pipelining import PipelineStage

LAYERS, WIDTH, MICROBATCHES = 8, 64, 8


def stage(number, stages):
    """A stage of the model. All stages have the same number of layers."""
    torch.manual_seed(number)
    layers = [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh()) for _ in range(LAYERS // stages)]
    return PipelineStage(torch.nn.Sequential(*layers), number, stages, torch.device("cpu"))


def runtime_of(plan_or_schedule, stages):
    """PyTorch's runtime with the stages of this rank, and the arguments of its step."""
    mine = ppsched.torch.stages_of(plan_or_schedule, distributed.get_rank())
    runtime = ppsched.torch.PlannedSchedule(plan_or_schedule, [stage(number, stages) for number in mine],
                                            torch.nn.functional.mse_loss)
    batch = torch.randn(4 * MICROBATCHES, WIDTH)
    return runtime, [batch] if 0 in mine else [], {"target": batch} if stages - 1 in mine else {}


def main():
    distributed.init_process_group("gloo")
    ranks = distributed.get_world_size()
    schedule = ppsched.generate("1f1b", ppsched.Config(ranks, MICROBATCHES))
    runtime, inputs, targets = runtime_of(schedule, ranks)
    config = ppsched.torch.measure(runtime, *inputs, steps=3, **targets)    # all ranks get the same
    plan = ppsched.plan(config, chunks=[1, 2], runtime="pytorch", lowering="pytorch", rendezvous=True)
    runtime, inputs, targets = runtime_of(plan, plan.best.stages)
    losses = []
    runtime.step(*inputs, **targets, losses=losses)
    if losses:
        print(f"{plan.best.strategy} with {plan.best.stages} stages, loss {sum(losses).item() / MICROBATCHES:.3f}")
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
