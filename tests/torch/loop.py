# SPDX-License-Identifier: Apache-2.0
"""The whole loop on a running job with layers that take given times: 1F1B runs and is measured, what plan says of it runs and
is measured in its turn, and so does what plan says then. Prints JSON: for each run its strategy, stages, the planned and the
measured time of a step, and what the busiest rank has to do.

usage: loop.py DEVICES MICROBATCHES UNIT STEPS      UNIT: milliseconds of a layer's forward
"""
import json
import sys

import ppsched
import ppsched.torch
from ranks import on_ranks
from timed import Job, measured, most_of_a_rank, uneven


def stages_of_layers(layers, stages):
    """Times of F, I and W of as many stages, of the same number of layers each."""
    each = len(layers) // stages
    parts = [layers[stage * each:(stage + 1) * each] for stage in range(stages)]
    return [[sum(layer[kind] for layer in part) for kind in range(3)] for part in parts]


def step_of(job, devices, steps):
    return max(log[-1][2] for log in measured(job, devices, steps))


def planned(config, chunks):
    return ppsched.plan(config, chunks=chunks, runtime="pytorch", lowering="pytorch", rendezvous=True)


def main():
    devices, microbatches, unit, steps = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    layers = uneven(2 * devices, unit, 1)

    def work(rank):
        first = ppsched.generate("1f1b", ppsched.Config(devices, microbatches))
        times, rows = stages_of_layers(layers, devices), []
        job = Job(first, times, rank)
        rows.append(["1f1b", devices, None, step_of(job, devices, steps), microbatches * most_of_a_rank(first, times)])
        for chunks in ([1, 2], None):
            config = ppsched.torch.measure(job.runtime, *job.inputs, steps=2, **job.targets)
            plan = planned(config, chunks or [config.stages // devices])
            times, best = stages_of_layers(layers, plan.best.stages), ppsched.torch.planned(plan)
            job = Job(plan, times, rank, plan.lowering)
            rows.append([plan.best.strategy, plan.best.stages, plan.best.step_time, step_of(job, devices, steps),
                         microbatches * most_of_a_rank(best, times)])
        return rows

    print(json.dumps(on_ranks(devices, work)[0]))


if __name__ == "__main__":
    main()
