# SPDX-License-Identifier: Apache-2.0
"""Trains one step with PyTorch's own pipeline runtime from each schedule CSV of a list, a process a row, and compares the
gradients with those of the same model trained without a pipeline. Prints for each the largest difference.

Standard input is JSON, a list of [format, CSV]. The format is compute_only or compute_comms; or a schedule class, which must make
that very order.
"""
import csv
import inspect
import io
import json
import re
import sys
import tempfile

WIDTH = 8


def layers(torch, stages):
    torch.manual_seed(7)
    return [torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH, dtype=torch.float64), torch.nn.Tanh()) for _ in range(stages)]


def batch(torch, microbatches):
    generator = torch.Generator().manual_seed(11)
    return torch.randn((2, 3 * microbatches, WIDTH), dtype=torch.float64, generator=generator)


def loss_of(output, target):
    return (output - target).pow(2).sum()


def gradients_without_pipeline(torch, orders, microbatches):
    """For each stage the sum of its gradients over microbatches, added in the stage's order of the schedule, as sums round."""
    model = layers(torch, len(orders))
    inputs, targets = batch(torch, microbatches)
    single = []
    for x, y in zip(inputs.chunk(microbatches), targets.chunk(microbatches)):
        for layer in model:
            x = layer(x)
        loss_of(x, y).backward()
        single.append([[parameter.grad for parameter in layer.parameters()] for layer in model])
        for layer in model:
            layer.zero_grad()
    return [[sum(single[m][stage][k] for m in order) for k in range(2)] for stage, order in sorted(orders.items())]


def unscaled():
    """The argument for gradients that are sums; older versions have no others, and no argument."""
    from torch.distributed.pipelining.schedules import PipelineScheduleMulti
    return {"scale_grads": False} if "scale_grads" in inspect.signature(PipelineScheduleMulti.__init__).parameters else {}


def built_in(name, stages, microbatches, row):
    """A schedule of one of PyTorch's classes. (Of its single-stage classes the order is in no list.)"""
    from torch.distributed.pipelining import schedules
    kind = getattr(schedules, name)
    many = issubclass(kind, schedules.PipelineScheduleMulti)
    schedule = kind(stages if many else stages[0], microbatches, loss_fn=loss_of, **unscaled())
    if many:
        order = [str(action) for action in schedule.pipeline_order[stages[0].group_rank] if action is not None]
        assert order == row, f"{name} makes {order}, not {row}"
    return schedule


def from_csv(stages, microbatches, owner, text, form):
    from ppsched.torch.installed import pytorch
    from torch.distributed.pipelining import schedules
    runtime = schedules._PipelineScheduleRuntime(stages, microbatches, loss_fn=loss_of, **unscaled())
    for holder in [runtime, *stages]:
        holder.stage_index_to_group_rank = dict(owner)
    there = pytorch()
    if there.waits and form == "compute_comms":  # 2.15 takes no CSV without waits
        actions = {rank: [schedules._Action.from_str(token) for token in line.split(",")] for rank, line in enumerate(text.splitlines())}
        runtime._prepare_schedule_with_comms(there.with_waits(actions), format=form)
        return runtime
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(text)
        file.flush()
        runtime._load_csv(file.name, format=form)
    return runtime


def largest_difference(rank, text, form):
    """Trains this rank's stages."""
    import torch
    from torch.distributed.pipelining import PipelineStage
    owner, orders = {}, {}
    for row, line in enumerate(csv.reader(io.StringIO(text))):
        for stage, kind, microbatch in re.findall(r"(\d+)([FBIW])(\d+)", ",".join(line)):
            owner[int(stage)] = row
            if kind in "BW":
                orders.setdefault(int(stage), []).append(int(microbatch))
    microbatches = len(orders[0])
    model, mine = layers(torch, len(owner)), [stage for stage in sorted(owner) if owner[stage] == rank]
    stages = [PipelineStage(model[stage], stage, len(owner), torch.device("cpu")) for stage in mine]
    if form.startswith("Schedule"):
        runtime = built_in(form, stages, microbatches, list(csv.reader(io.StringIO(text)))[rank])
    else:
        runtime = from_csv(stages, microbatches, owner, text, form)
    inputs, targets = batch(torch, microbatches)
    runtime.step(*([inputs] if 0 in mine else []), **({"target": targets} if len(owner) - 1 in mine else {}))
    wanted = gradients_without_pipeline(torch, orders, microbatches)
    return max((parameter.grad - grad).abs().max().item() for stage in mine
               for parameter, grad in zip(model[stage].parameters(), wanted[stage]))


def train(rank, cases):
    """The same of each (number, form, CSV)."""
    found = []
    for number, form, text in cases:
        try:
            found.append(largest_difference(rank, text, form))
        except Exception as error:
            raise RuntimeError(f"case {number}, {form}") from error
    return found


def main():
    from ranks import on_ranks
    cases = [(number, form, text) for number, (form, text) in enumerate(json.load(sys.stdin))]
    found = {}
    for ranks in {len(text.splitlines()) for _, _, text in cases}:
        alike = [case for case in cases if len(case[2].splitlines()) == ranks]
        rows = on_ranks(ranks, lambda rank, alike=alike: train(rank, alike))
        found.update({number: max(differences) for (number, _, _), differences in zip(alike, zip(*rows))})
    print(json.dumps([found[number] for number, _, _ in cases]))


if __name__ == "__main__":
    main()
