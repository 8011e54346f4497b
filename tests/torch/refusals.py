# SPDX-License-Identifier: Apache-2.0
"""What PlannedSchedule and measure turn down, one rank with two stages. Prints JSON: pairs of words that must be in the
message, and the message."""
import json

import ppsched
import ppsched.torch
import torch
from ranks import on_ranks
from torch.distributed.pipelining import PipelineStage


def message(function):
    try:
        function()
    except ppsched.Error as error:
        return str(error)
    return "nothing was raised"


def attempts(_rank):
    def stages(count=2, of=2):
        return [PipelineStage(torch.nn.Linear(2, 2), stage, of, torch.device("cpu")) for stage in range(count)]

    def make(schedule, of=stages, **options):
        return lambda: ppsched.torch.PlannedSchedule(schedule, of(), torch.nn.functional.mse_loss, **options)

    config = ppsched.Config(1, 4, 2)
    good = ppsched.generate("interleaved_1f1b", config)
    unfit = ppsched.plan(ppsched.Config(1, 4, 2, mem_limit=0.1, mem_forward=1), chunks=2)
    two = ppsched.Config(2, 4)
    has_reduce = hasattr(torch.distributed.pipelining.schedules, "_add_reduce_grad")
    cases = [("there are 1 ranks in the group, but the schedule has 2", make(ppsched.generate("1f1b", two))),
             ("has stages [0], but in the schedule it has [0, 1]", make(good, lambda: stages(1))),
             ("there are 3 stages, but the schedule has 2", make(good, lambda: stages(3, 3))),
             ("stages is an empty list", make(good, list)),
             ("give a ppsched.Plan or a ppsched.Schedule, not 3", make(3)),
             ("no candidate of the plan fits", make(unfit)),
             ("no lowering 'sideways'", make(good, lowering="sideways")),
             ("one iteration per step; the schedule has 2",
              make(ppsched.generate("interleaved_1f1b", ppsched.Config(1, 4, 2, iterations=2)))),
             ("PyTorch has each stage on one rank", make(ppsched.generate("dualpipe", ppsched.Config(2, 4)))),
             ("rank is 7, but the schedule has 1 device", lambda: ppsched.torch.stages_of(good, 7)),
             ("measure needs a pipeline runtime", lambda: ppsched.torch.measure(3)),
             ("steps is 0; it must be at least 1", lambda: ppsched.torch.measure(3, steps=0))]
    if has_reduce:
        cases.append(("has none; lower it with reduce_grad=True", make(good.lower("none", unshard=2))))
    return [[wanted, message(case)] for wanted, case in cases]


def main():
    print(json.dumps(on_ranks(1, attempts)[0]))


if __name__ == "__main__":
    main()
