# SPDX-License-Identifier: Apache-2.0
"""A launcher for torchtitan: finds the best schedule that fits into memory, and prints its flags. If torchtitan needs a CSV, it is printed,
too.

usage: launcher.py [DEVICES MICROBATCHES MEMORY_LIMIT]
The unit of MEMORY_LIMIT is the memory of the activations of one microbatch on one device.
"""
import sys

import ppsched

DEVICES, MICROBATCHES, LIMIT = map(float, sys.argv[1:4]) if len(sys.argv) > 3 else (4, 16, 5)
LAYERS = 46  # of the model; torchtitan computes the number of stages per device from it


def first_that_runs(plan, runtime):
    """The best candidate that a runtime can run, its timeline, and the launch arguments."""
    for candidate in plan:
        if not candidate.fits:
            break
        timeline = plan.timeline(candidate)
        try:
            return candidate, timeline, timeline.schedule.launch(runtime, layers=LAYERS)
        except ppsched.Refused as error:
            print(f"not {candidate.strategy}: {error}", file=sys.stderr)
    raise SystemExit(f"no schedule fits; the least memory limit that works is {plan.least_limit().limit:g}")


config = ppsched.Config(int(DEVICES), int(MICROBATCHES), forward_times=10.4, backward_input_times=10.2, backward_weight_times=7.7,
                        p2p_time=0.4, mem_limit=LIMIT)
best, timeline, words = first_that_runs(ppsched.plan(config), "torchtitan")
print(f"# {best.strategy} {best.options or ''}: step time {best.step_time:g}, bubble {best.bubble.of_total:.1%} of total, peak memory "
      f"{best.peak_memory:g}")
print("torchtitan", words)
if "schedule.csv" in words:
    print("# schedule.csv:")
    print(timeline.schedule.export("csv"), end="")
