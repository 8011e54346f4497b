# SPDX-License-Identifier: Apache-2.0
"""Trains a step with ppsched.torch.PlannedSchedule from all strategies, in all lowerings, and prints for each the largest
difference of gradients from those of the model without a pipeline.

usage: planned.py DEVICES CHUNKS MICROBATCHES
"""
import json
import re
import sys

import ppsched
import ppsched.torch
import torch
from ranks import on_ranks
from torch.distributed.pipelining import PipelineStage
from train import batch, gradients_without_pipeline, layers, loss_of

LOWERINGS = [None, "pytorch", "by_time", "just_in_time"]


def schedules(devices, chunks, microbatches):
    """All strategies whose stages are on one device each."""
    for strategy in ppsched.strategies():
        if strategy.placement == "bidirectional" or not strategy.flushes or strategy.offloads:
            continue
        config = ppsched.Config(devices, microbatches, devices * (strategy.chunks or chunks), forward_times=[1], p2p_time=0.1)
        try:
            yield ppsched.generate(strategy.name, config)
        except ppsched.Refused:
            pass


def orders(runtime):
    """For each stage the microbatches in which its weight gradients come."""
    found = {}
    for stage, microbatch in re.findall(r"(\d+)[BW](\d+)", str(runtime.pipeline_order)):
        found.setdefault(int(stage), []).append(int(microbatch))
    return found


def train(schedule, lowering, rank):
    """The largest difference of this rank's gradients; None where the schedule is refused, as it would hang."""
    microbatches = schedule.microbatches
    model = layers(torch, schedule.stages)
    mine = ppsched.torch.stages_of(schedule, rank)
    stages = [PipelineStage(model[stage], stage, schedule.stages, torch.device("cpu")) for stage in mine]
    try:
        runtime = ppsched.torch.PlannedSchedule(schedule, stages, loss_of, lowering=lowering, scale_grads=False)
    except ppsched.InvalidSchedule:
        return None
    inputs, targets = batch(torch, microbatches)
    runtime.step(*([inputs] if 0 in mine else []), **({"target": targets} if schedule.stages - 1 in mine else {}))
    wanted = gradients_without_pipeline(torch, orders(runtime), microbatches)
    return max((parameter.grad - grad).abs().max().item() for stage in mine
               for parameter, grad in zip(model[stage].parameters(), wanted[stage]))


def main():
    sizes = [int(word) for word in sys.argv[1:]]

    def work(rank):
        return [[schedule.name, lowering, train(schedule, lowering, rank)]
                for schedule in schedules(*sizes) for lowering in LOWERINGS]

    rows = zip(*on_ranks(sizes[0], work))
    print(json.dumps([[*row[0][:2], None if row[0][2] is None else max(each[2] for each in row)] for row in rows]))


if __name__ == "__main__":
    main()
