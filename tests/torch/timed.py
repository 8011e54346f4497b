# SPDX-License-Identifier: Apache-2.0
"""Plans beside what PyTorch's runtime needs for them, with stages that take given times: they sleep, so ranks do not compete
for cores. Prints JSON: what was measured first (the way between neighbours, what the call of a send or receive takes, and what
an op does besides), then for each strategy and lowering the planned and the measured times of the step and of each rank, what
the busiest rank has to do, and where they part most.

usage: timed.py DEVICES CHUNKS MICROBATCHES UNIT STEPS [STRATEGY[:LOWERING]...]      UNIT: milliseconds of a forward
"""
import json
import sys
import time

import ppsched
import ppsched.torch
import torch
from planned import schedules
from ppsched.torch.installed import pytorch
from ranks import on_ranks
from torch import distributed
from torch.distributed.pipelining import PipelineStage

SPIN = 0.0004  # seconds before its end that a sleep is left, as it may come back late
LOWERINGS = ["torch", "by_time", "just_in_time"]
LOG = []


def work(token, milliseconds):
    start = time.monotonic()
    end = start + milliseconds / 1000
    time.sleep(max(0.0, milliseconds / 1000 - SPIN))
    while time.monotonic() < end:
        pass
    LOG.append((token, start, time.monotonic()))


class Timed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, parameter, part):
        ctx.part, ctx.microbatch = part, part.forwards.pop(0) if part.forwards else 0
        work(f"{part.stage}F{ctx.microbatch}", part.times[0])
        return x + parameter

    @staticmethod
    def backward(ctx, grad):
        work(f"{ctx.part.stage}I{ctx.microbatch}", ctx.part.times[1])
        ctx.part.pending.append(ctx.microbatch)
        return grad, None, None


class Part(torch.nn.Module):
    """A stage that takes time alone: times of F, I and W. weights() hands out its weight gradient, as stages may."""

    def __init__(self, stage, times):
        super().__init__()
        self.stage, self.times, self.forwards, self.pending = stage, times, [], []
        self.parameter = torch.nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return Timed.apply(x, self.parameter, self)

    def weights(self):
        microbatch = self.pending.pop(0) if self.pending else 0
        return lambda: work(f"{self.stage}W{microbatch}", self.times[2])


def uneven(stages, unit, chunks):
    """Times of F, I and W of each stage, a unit a device and microbatch on average."""
    return [[unit / chunks * (1 + 0.25 * ((stage * factor) % 5 - 2) / 2) for factor in (3, 2, 4)] for stage in range(stages)]


def costs(times, besides):
    """The plan's: with what the runtime takes for each op; a full backward takes I and W and one such."""
    forward, inputs, weights = ([row[kind] + besides[kind] for row in times] for kind in range(3))
    return {"forward_times": forward, "backward_input_times": inputs, "backward_weight_times": weights,
            "backward_times": [row[1] + row[2] + besides[1] for row in times]}


def mean_loss(output, target):
    return ((output - target) ** 2).mean()


class Job:
    """A schedule, or a plan's best, on this rank's timed stages."""

    def __init__(self, given, times, rank, lowering=None):
        schedule = ppsched.torch.planned(given)
        self.parts = {stage: Part(stage, times[stage]) for stage in ppsched.torch.stages_of(schedule, rank)}
        stages = [PipelineStage(part, stage, schedule.stages, torch.device("cpu"), dw_builder=part.weights)
                  for stage, part in self.parts.items()]
        self.runtime = ppsched.torch.PlannedSchedule(given, stages, mean_loss, lowering=lowering, scale_grads=False)
        self.inputs = [torch.zeros(schedule.microbatches, 4)] if 0 in self.parts else []
        self.targets = {"target": torch.zeros(schedule.microbatches, 4)} if schedule.stages - 1 in self.parts else {}

    def step(self):
        """Runs a step; returns this rank's log of it."""
        tokens = [str(action) for action in self.runtime.pipeline_order_with_comms[self.runtime.rank]]
        for stage, part in self.parts.items():
            of_stage = "+".join(tokens).replace("(", "").replace(";", "+").replace(")", "+").split("+")
            part.forwards = [int(token.split("F")[1]) for token in of_stage if token.startswith(f"{stage}F")]
            part.pending = []
        LOG.clear()
        distributed.barrier()
        self.runtime.step(*self.inputs, **self.targets)
        return list(LOG)


def first_step(job):
    """Shapes are found out in it, by passes of their own."""
    for part in job.parts.values():
        part.times, part.kept = [0, 0, 0], part.times
    job.step()
    for part in job.parts.values():
        part.times = part.kept


def measured(job, ranks, steps):
    """The logs of all ranks of the fastest step, in milliseconds from its first start."""
    runs = []
    first_step(job)
    for _ in range(steps):
        logs = [None] * ranks
        distributed.all_gather_object(logs, job.step())
        first = min(log[0][1] for log in logs)
        runs.append([[(token, (start - first) * 1000, (end - first) * 1000) for token, start, end in log] for log in logs])
    return min(runs, key=lambda logs: max(log[-1][2] for log in logs))


def planned(schedule, lowering):
    """The timeline, and for each rank the ends of its units by the token of the last op; of a full backward that of its W."""
    lowered = schedule.lower("pytorch" if lowering == "torch" else lowering, unshard=3, reduce_grad=pytorch().reduce_grad,
                             receive_prefetch=int(lowering == "just_in_time"))
    timeline = lowered.evaluate_transfers(None, "none", rendezvous=True)
    ends = [{str(op).replace("B", "W"): span.end for op, span in zip(ops, spans)
             if op.kind.name in "FBIW" and not op.overlapped}
            for ops, spans in zip(lowered.queues, timeline.spans)]
    return timeline, ends


def parting(ends, log):
    """The op before which a rank comes latest to more than was planned, and by how much."""
    late, worst = 0.0, (0.0, "")
    for token, _, end in log:
        if token in ends:
            worst, late = max(worst, (end - ends[token] - late, token)), end - ends[token]
    return worst


def most_of_a_rank(schedule, times):
    """Milliseconds that one microbatch takes on the rank with most to do."""
    return max(sum(sum(times[stage]) for stage in ppsched.torch.stages_of(schedule, rank)) for rank in range(schedule.devices))


def row(schedule, lowering, times, rank, steps):
    logs = measured(Job(schedule, times, rank, None if lowering == "torch" else lowering), schedule.devices, steps)
    timeline, ends = planned(schedule, lowering)
    partings = [parting(*each) for each in zip(ends, logs)]
    late, token = max(partings)
    return {"strategy": schedule.name, "lowering": lowering, "planned": timeline.metrics.makespan,
            "measured": max(log[-1][2] for log in logs), "work": schedule.microbatches * most_of_a_rank(schedule, times),
            "ranks": [[metrics.last_end, log[-1][2]] for metrics, log in zip(timeline.device_metrics, logs)],
            "parts": {"rank": partings.index((late, token)), "op": token, "by": late}}


def overheads(devices, rank):
    """Milliseconds between each pair of devices, of the call of a send or receive, and those that an op takes besides its
    stage's: from a run of 1F1B."""
    times = uneven(devices, 5, 1)
    job = Job(ppsched.generate("1f1b", ppsched.Config(devices, 4 * devices)), times, rank)
    config = ppsched.torch.measure(job.runtime, *job.inputs, steps=3, calls=True, **job.targets)
    lists = (config.forward_times, config.backward_input_times, config.backward_weight_times)
    besides = [config.op_overhead[0] + sum(seen[stage] - times[stage][kind] for stage in range(devices)) / devices
               for kind, seen in enumerate(lists)]
    return config.p2p_time, config.send_overhead[0], besides


def main():
    devices, chunks, microbatches = map(int, sys.argv[1:4])
    unit, steps, names = float(sys.argv[4]), int(sys.argv[5]), [word.partition(":") for word in sys.argv[6:]]

    def work_of(rank):
        p2p, calls, besides = overheads(devices, rank)
        rows = []
        for made in schedules(devices, chunks, microbatches):
            lowerings = [lowering for lowering in LOWERINGS
                         if not names or any(name == made.name and wanted in ("", lowering) for name, _, wanted in names)]
            times = uneven(made.stages, unit, made.stages // devices)
            config = ppsched.Config(devices, microbatches, made.stages, p2p_time=p2p, send_overhead=calls, **costs(times, besides))
            schedule = ppsched.generate(made.name, config) if lowerings else made
            rows.extend(row(schedule.renumber(), lowering, times, rank, steps) for lowering in lowerings)
        return {"p2p": p2p, "send_overhead": calls, "besides": besides, "rows": rows}

    print(json.dumps(on_ranks(devices, work_of)[0]))


if __name__ == "__main__":
    main()
