# SPDX-License-Identifier: Apache-2.0
"""What ppsched.torch.measure tells of GPipe with stages that take given times, where each call of a send or receive takes
longer than all that the runtime does between ops: without these calls told apart, and with. Prints JSON: the times given, those
told, of ops and what comes besides, and whether the runtime's own function for the calls is back.

usage: measures.py DEVICES UNIT CALL      UNIT: milliseconds of a forward; CALL: of a call
"""
import json
import sys
import time

import ppsched
import ppsched.torch
from ranks import on_ranks
from timed import Job, uneven
from torch.distributed.pipelining import schedules


def slow(function, milliseconds):
    def run(*args, **given):
        time.sleep(milliseconds / 1000)
        return function(*args, **given)
    return run


def told(job, calls):
    config = ppsched.torch.measure(job.runtime, *job.inputs, steps=2, split=False, calls=calls, **job.targets)
    return {"stages": list(zip(config.forward_times, config.backward_times)),
            "op_overhead": config.op_overhead[0], "send_overhead": config.send_overhead[0] if config.send_overhead else 0}


def main():
    devices, unit, call = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
    times = uneven(devices, unit, 1)
    schedules._batch_p2p = mine = slow(schedules._batch_p2p, call)

    def work(rank):
        job = Job(ppsched.generate("gpipe", ppsched.Config(devices, 2 * devices)), times, rank)
        found = {name: told(job, calls) for name, calls in (("without", False), ("with", True))}
        return {"given": [[forward, inputs + weights] for forward, inputs, weights in times], **found,
                "is_back": schedules._batch_p2p is mine}

    print(json.dumps(on_ranks(devices, work)))


if __name__ == "__main__":
    main()
