# SPDX-License-Identifier: Apache-2.0
"""Runs offloaded schedules as docs/examples/pytorch_offload.py does, and prints as JSON for each strategy, pass and rank the
stage passes held at most, those that the evaluator says, and the largest difference of gradients from a run that keeps all.

usage: offloads.py DEVICES CHUNKS MICROBATCHES STRATEGY...
"""
import json
import sys

import ppsched
import ppsched.torch
import torch
from pytorch_offload import Offloading
from ranks import on_ranks
from torch.distributed.pipelining import PipelineStage
from train import batch, layers, loss_of


def run(schedule, copies, rank):
    """Gradients of this rank's stages, and the most stage passes that it held."""
    mine, model = ppsched.torch.stages_of(schedule, rank), layers(torch, schedule.stages)
    stages = [PipelineStage(model[stage], stage, schedule.stages, torch.device("cpu")) for stage in mine]
    runtime = ppsched.torch.PlannedSchedule(schedule, stages, loss_of, scale_grads=False)
    offloading = Offloading(copies, rank, stages)
    inputs, targets = batch(torch, schedule.microbatches)
    runtime.step(*([inputs] if 0 in mine else []), **({"target": targets} if schedule.stages - 1 in mine else {}))
    return [parameter.grad for stage in mine for parameter in model[stage].parameters()], offloading.most


def passes_of(schedule):
    """Its passes by name: those of one chunk, all, and as few as hold three quarters of its peak, or what all of them hold."""
    def peak(of):
        return max(device.peak_memory for device in of.evaluate().device_metrics)

    everything = schedule.offload()
    limit = max(int(0.75 * peak(schedule)), peak(everything))
    config = ppsched.Config(schedule.devices, schedule.microbatches, schedule.stages, offload_times=0, mem_limit=limit)
    limited = ppsched.generate(schedule.name, config).renumber()
    return {"chunk": schedule.offload(1), "all": everything, "limit": limited.offload(until_limit=True)}


def main():
    devices, chunks, microbatches = map(int, sys.argv[1:4])

    def work(rank):
        rows = []
        for name in sys.argv[4:]:
            stages = devices * (ppsched.find_strategy(name).chunks or chunks)
            schedule = ppsched.generate(name, ppsched.Config(devices, microbatches, stages, offload_times=0)).renumber()
            expected = run(schedule, schedule, rank)[0]
            for called, copies in passes_of(schedule).items():
                found, most = run(schedule, copies, rank)
                difference = max(float((one - other).abs().max()) for one, other in zip(found, expected))
                rows.append([name, called, rank, most, copies.evaluate().device_metrics[rank].peak_memory, difference])
        return rows

    print(json.dumps([row for rows in on_ranks(devices, work) for row in rows]))


if __name__ == "__main__":
    main()
