# SPDX-License-Identifier: Apache-2.0
"""Finds the best schedule of uneven stages for several memory limits, and compares each with the lower bound."""
import sys

import ppsched

STAGES = {"forward_times": [1] * 7 + [1.75], "backward_times": [2] * 7 + [3.5]}  # the last one also has the output layer


def show(share, best):
    """Called regularly during the search. Returning False would stop it."""
    if sys.stderr.isatty():
        print(f"{share:4.0%}, best span so far {best:g}   ", end="\r", file=sys.stderr)


for limit in (1, 3, 5, 8):
    config = ppsched.Config(devices=4, stages=8, microbatches=12, placement="v", p2p_time=0.125, mem_limit=limit,
                            options={"effort": 2}, **STAGES)
    bound = ppsched.lower_bound(config, "makespan")
    try:
        metrics = ppsched.generate("auto", config, progress=show).evaluate().metrics
    except ppsched.Refused as error:
        print(error)
        continue
    print(f"limit {limit}: makespan {metrics.makespan:g}, {metrics.makespan / bound.value - 1:.1%} above the bound {bound.value:g}")
