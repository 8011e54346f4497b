#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the table of periods and transients of docs/time.md: for each strategy and kind of costs, over random problems with 2 to 16
devices and 256 microbatches per device. usage: periods.py [problems per cell, default 60]"""
import random
import statistics
import sys
from typing import List

import ppsched

MICROBATCHES = 256  # per device, so that groups divide them
STRATEGIES = {"1f1b": 1, "eager_1f1b": 1, "zb_h1": 1, "zb_h2": 1, "interleaved_1f1b": 2, "interleaved_zb": 2, "group_interleaved_1f1b": 2,
              "zbv": 2, "dualpipe": 1, "dualpipe_v": 2}
COSTS = ("equal", "equal, delays", "uneven", "uneven, delays")


def times(draw: random.Random, costs: str, stages: int) -> List[float]:
    """Equal times, or one for each stage: multiples of 1/8 from 1/2 to 3/2."""
    return [1.0] if costs.startswith("equal") else [draw.randint(4, 12) / 8 for _ in range(stages)]


def problem(draw: random.Random, costs: str, chunks: int) -> ppsched.Config:
    devices = 2 * draw.randint(1, 8)
    stages = devices * chunks
    delay = draw.randint(1, 4) / 8 if costs.endswith("delays") else 0
    return ppsched.Config(devices, MICROBATCHES * devices, stages=stages, p2p_time=delay,
                          **{name: times(draw, costs, stages) for name in ("forward_times", "backward_input_times", "backward_weight_times")})


def cell(strategy: str, costs: str, count: int) -> str:
    draw = random.Random(f"{strategy} {costs}")
    found = []
    for _ in range(count):
        steady = ppsched.steady(strategy, problem(draw, costs, STRATEGIES[strategy]))
        if steady.period.reason == ppsched.SteadyReason.FOUND:
            found.append((steady.period.blocks, steady.period.transient))
    if not found:
        return "none found"
    periods, transients = zip(*found)
    missing = "" if len(found) == count else f"; {count - len(found)} of {count} not found"
    return (f"{statistics.median_high(periods)} / {max(periods)}; {statistics.median_high(transients)} / {max(transients)}{missing}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    print(f"| strategy | {' | '.join(COSTS)} |")
    print("|" + "---|" * (1 + len(COSTS)))
    for strategy in STRATEGIES:
        print(f"| {strategy} | {' | '.join(cell(strategy, costs, count) for costs in COSTS)} |", flush=True)


if __name__ == "__main__":
    main()
