# SPDX-License-Identifier: Apache-2.0
"""Runs a schedule with offload in PyTorch's pipeline runtime. The tensors that autograd saves in a
forward are copied to the host and back at the places in the schedule. Each rank counts the most stage passes that it holds at one time.

usage: torchrun --nproc-per-node 2 pytorch_offload.py
"""
import weakref
from collections import Counter

import ppsched
import ppsched.torch
import torch
from torch import distributed
from torch.distributed.pipelining import PipelineStage

WIDTH, CHUNKS, MICROBATCHES = 64, 2, 8
COPIES = (ppsched.Kind.OFFLOAD, ppsched.Kind.RELOAD, ppsched.Kind.OFFLOAD_WAIT)


class Saved:
    """A tensor that autograd saved: on the device, or a copy on the host."""

    def __init__(self, tensor, pass_):
        self.tensor, self.host, self.of = tensor, None, pass_
        pass_.count(1)

    def __del__(self):
        if self.tensor is not None:
            self.of.count(-1)

    def offload(self):
        self.host, self.tensor = self.tensor.to("cpu", copy=True), None
        self.of.count(-1)

    def reload(self, device):
        self.tensor, self.host = self.host.to(device, copy=True), None
        self.of.count(1)


class Pass:
    """The tensors that a stage saved for a microbatch."""

    def __init__(self, rank, key):
        self.rank, self.key, self.saved = rank, key, []

    def count(self, number):
        live = self.rank.live
        live[self.key] += number
        live += Counter()  # drops entries that are 0
        self.rank.most = max(self.rank.most, len(live))

    def each(self):
        return [saved for saved in (reference() for reference in self.saved) if saved is not None]


class Offloading:
    """Makes the stages of a rank run the copies of a schedule, each with the compute op that it follows."""

    def __init__(self, schedule, rank, stages):
        self.passes, self.live, self.most, self.copies = {}, Counter(), 0, {}
        before = None
        for op in schedule.queues[rank]:
            if op.kind in COPIES:
                self.copies[before].append(op)
            else:
                before = (op.kind, op.stage, op.microbatch)
                self.copies[before] = []
        for stage in stages:
            self._watch(stage)

    def _copy(self, kinds, stage, microbatch):
        for kind in kinds:
            for op in self.copies.get((kind, stage, microbatch), ()):
                for saved in self.passes[op.stage, op.microbatch].each():
                    if op.kind == ppsched.Kind.OFFLOAD:
                        saved.offload()
                    elif op.kind == ppsched.Kind.RELOAD:
                        saved.reload("cpu")

    def _watch(self, stage):
        number, parameters = stage.stage_index, {parameter.data_ptr() for parameter in stage.submod.parameters()}
        forward, backward, weight = stage.forward_one_chunk, stage.backward_one_chunk, stage.backward_weight_one_chunk

        def forward_one_chunk(microbatch, *args, **given):
            mine = self.passes[number, microbatch] = Pass(self, (number, microbatch))

            def pack(tensor):
                if tensor.data_ptr() in parameters:
                    return tensor
                saved = Saved(tensor.detach(), mine)
                mine.saved.append(weakref.ref(saved))
                return saved

            with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: getattr(saved, "tensor", saved)):
                result = forward(microbatch, *args, **given)
            self._copy([ppsched.Kind.F], number, microbatch)
            return result

        def backward_one_chunk(microbatch, *args, **given):
            result = backward(microbatch, *args, **given)
            self._copy([ppsched.Kind.B, ppsched.Kind.I], number, microbatch)
            return result

        def backward_weight_one_chunk(microbatch, *args, **given):
            result = weight(microbatch, *args, **given)
            self._copy([ppsched.Kind.W], number, microbatch)
            return result

        stage.forward_one_chunk, stage.backward_one_chunk = forward_one_chunk, backward_one_chunk
        stage.backward_weight_one_chunk = backward_weight_one_chunk


def stage(number, stages):
    torch.manual_seed(number)
    model = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, WIDTH), torch.nn.Tanh())
    return PipelineStage(model, number, stages, torch.device("cpu"))


def gradients(schedule, copies):
    """The gradients of a step on this rank, and the most stage passes that the rank held at one time."""
    rank = distributed.get_rank()
    mine = ppsched.torch.stages_of(schedule, rank)
    stages = [stage(number, schedule.stages) for number in mine]
    runtime = ppsched.torch.PlannedSchedule(schedule, stages, torch.nn.functional.mse_loss)
    batch = torch.randn(4 * MICROBATCHES, WIDTH, generator=torch.Generator().manual_seed(1))
    offloading = Offloading(copies, rank, stages)
    runtime.step(*([batch] if 0 in mine else []), **({"target": batch} if schedule.stages - 1 in mine else {}))
    return [parameter.grad for each in stages for parameter in each.submod.parameters()], offloading.most


def main():
    distributed.init_process_group("gloo")
    rank, ranks = distributed.get_rank(), distributed.get_world_size()
    config = ppsched.Config(ranks, MICROBATCHES, ranks * CHUNKS, offload_times=0)   # copies wait for nothing here
    schedule = ppsched.generate("interleaved_1f1b", config).renumber()              # PyTorch takes losses in turn
    for name, copies in (("all kept", schedule), ("a chunk offloaded", schedule.offload(1)), ("all offloaded", schedule.offload())):
        found, most = gradients(schedule, copies)
        expected = gradients(schedule, schedule)[0]
        difference = max((one - other).abs().max().item() for one, other in zip(found, expected))
        planned = copies.evaluate().device_metrics[rank].peak_memory
        print(f"rank {rank}, {name}: {most} stage passes held, {planned:.0f} planned; gradients differ by {difference}", flush=True)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
