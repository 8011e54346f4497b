# SPDX-License-Identifier: Apache-2.0
"""Counts in a running pipeline what each rank holds at most: stage passes whose saved tensors live, receives that were posted
and are not used up, stages that have gradients; beside what the evaluator says of the same schedule. Prints JSON.

usage: counts.py DEVICES CHUNKS MICROBATCHES STRATEGY...
"""
import json
import sys
import weakref

import ppsched
import ppsched.torch
import torch
from ppsched.torch.installed import pytorch
from ranks import on_ranks
from torch.distributed.pipelining import PipelineStage
from train import batch, layers, loss_of

LOWERINGS = [None, "pytorch", "just_in_time"]
HAS_PAIRS = pytorch().has_pairs  # else PyTorch lowers the two ops of a pair each by itself
CAUSES = {"passes": "activations", "receives": "receives", "gradients": "gradients"}


class Saved:
    """Keeps a tensor in the place of one that autograd saved."""

    def __init__(self, tensor):
        self.tensor = tensor


class Count:
    """How many things of each kind there are on this rank, and were at most."""

    def __init__(self):
        self.there = {name: {} for name in CAUSES}
        self.most = dict.fromkeys(CAUSES, 0)

    def add(self, name, key, number=1):
        there = self.there[name]
        there[key] = there.get(key, 0) + number
        if there[key] == 0:
            del there[key]
        self.most[name] = max(self.most[name], len(there))

    def drop(self, name, key):
        self.there[name].pop(key, None)


class Watched(torch.nn.Module):
    """A stage whose saved tensors are counted: a pass lives as long as one of them."""

    def __init__(self, module, stage, count):
        super().__init__()
        self.module, self.stage, self.count, self.microbatch = module, stage, count, None
        self.own = {parameter.data_ptr() for parameter in module.parameters()}

    def forward(self, x):
        if self.microbatch is None:  # while PyTorch finds out shapes
            return self.module(x)
        key = (self.stage, self.microbatch)

        def pack(tensor):
            if tensor.data_ptr() in self.own:
                return tensor
            saved = Saved(tensor)
            self.count.add("passes", key)
            weakref.finalize(saved, self.count.add, "passes", key, -1)
            return saved

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: getattr(saved, "tensor", saved)):
            return self.module(x)


def watch(stage, count):
    """Its methods tell what comes and goes."""
    number = stage.stage_index

    def around(name, before=None, after=None):
        method = getattr(stage, name)

        def call(microbatch, *args, **given):
            if before:
                before(microbatch)
            result = method(microbatch, *args, **given)
            if after:
                after(microbatch)
            return result
        setattr(stage, name, call)

    def starts(microbatch):
        stage.submod.microbatch = microbatch
        count.drop("receives", (number, "F", microbatch))

    def has_gradients(_=None):
        if any(parameter.grad is not None for parameter in stage.submod.parameters()):
            count.add("gradients", number)

    def ends(microbatch):
        count.drop("receives", (number, "B", microbatch))
        has_gradients()

    around("get_fwd_recv_ops", after=lambda microbatch: count.add("receives", (number, "F", microbatch)))
    around("get_bwd_recv_ops", after=lambda microbatch: count.add("receives", (number, "B", microbatch)))
    around("forward_one_chunk", before=starts)
    around("backward_one_chunk", after=ends)
    around("backward_weight_one_chunk", after=has_gradients)
    if hasattr(stage, "perform_reduce_grad"):
        around("perform_reduce_grad", after=lambda _: count.drop("gradients", number))


def counted(schedule, lowering, rank):
    """What this rank holds at most in a step."""
    count, model = Count(), layers(torch, schedule.stages)
    mine = ppsched.torch.stages_of(schedule, rank)
    stages = [PipelineStage(Watched(model[stage], stage, count), stage, schedule.stages, torch.device("cpu")) for stage in mine]
    runtime = ppsched.torch.PlannedSchedule(schedule, stages, loss_of, lowering=lowering, scale_grads=False)
    for stage in stages:
        watch(stage, count)
    inputs, targets = batch(torch, schedule.microbatches)
    runtime.step(*([inputs] if 0 in mine else []), **({"target": targets} if schedule.stages - 1 in mine else {}))
    return count.most


def expected(schedule, lowering, rank):
    """The same from the evaluator."""
    lowered = schedule.lower(lowering or "pytorch", unshard=3, reduce_grad=pytorch().reduce_grad, receive_prefetch=int(lowering == "just_in_time"))
    timeline = lowered.evaluate_transfers()
    return {name: max(point.memory for point in timeline.memory(rank, cause)) for name, cause in CAUSES.items()}


def main():
    devices, chunks, microbatches = map(int, sys.argv[1:4])

    def work(rank):
        rows = []
        for name in sys.argv[4:]:
            stages = devices * (ppsched.find_strategy(name).chunks or chunks)
            config = ppsched.Config(devices, microbatches, stages, mem_forward=1, mem_gradients=1, mem_receive_forward=1,
                                    mem_receive_backward=1)
            schedule = ppsched.generate(name, config).renumber()
            rows.extend([name, lowering, rank, counted(schedule, lowering, rank), expected(schedule, lowering, rank)]
                        for lowering in LOWERINGS if lowering or HAS_PAIRS or "overlap" not in schedule.export("csv").lower())
        return rows

    print(json.dumps([row for rows in on_ranks(devices, work) for row in rows]))


if __name__ == "__main__":
    main()
