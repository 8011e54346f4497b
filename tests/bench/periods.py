#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints two tables of docs/time.md over random problems with 2 to 16 devices. Periods and transients, for each strategy and kind of
costs, with 256 microbatches per device. Then the share of problems without a period, for each strategy and number of microbatches
per device, over all kinds of costs. usage: periods.py [problems per strategy and kind of costs, default 60]"""
import random
import statistics
import sys
from typing import List

import ppsched

MICROBATCHES = 256  # per device, so that groups divide them
FEW = (8, 16, 32, 64)
STRATEGIES = {"1f1b": 1, "eager_1f1b": 1, "zb_h1": 1, "zb_h2": 1, "interleaved_1f1b": 2, "interleaved_zb": 2, "group_interleaved_1f1b": 2,
              "zbv": 2, "dualpipe": 1, "dualpipe_v": 2}
COSTS = ("equal", "equal, delays", "uneven", "uneven, delays")


def times(draw: random.Random, costs: str, stages: int) -> List[float]:
    """Equal times, or one for each stage: multiples of 1/8 from 1/2 to 3/2."""
    return [1.0] if costs.startswith("equal") else [draw.randint(4, 12) / 8 for _ in range(stages)]


def problem(draw: random.Random, costs: str, chunks: int, microbatches: int = MICROBATCHES) -> ppsched.Config:
    devices = 2 * draw.randint(1, 8)
    stages = devices * chunks
    delay = draw.randint(1, 4) / 8 if costs.endswith("delays") else 0
    return ppsched.Config(devices, microbatches * devices, stages=stages, p2p_time=delay,
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


def refused(strategy: str, microbatches: int, count: int) -> str:
    """The share of problems in which the state does not come back in time."""
    found = 0
    for costs in COSTS:
        draw = random.Random(f"{strategy} {costs}")
        problems = [problem(draw, costs, STRATEGIES[strategy], microbatches) for _ in range(count)]
        found += sum(ppsched.steady(strategy, config).period.reason == ppsched.SteadyReason.FOUND for config in problems)
    return f"{100 - 100 * found / (count * len(COSTS)):.1f} %"


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    print(f"| strategy | {' | '.join(COSTS)} |")
    print("|" + "---|" * (1 + len(COSTS)))
    for strategy in STRATEGIES:
        print(f"| {strategy} | {' | '.join(cell(strategy, costs, count) for costs in COSTS)} |", flush=True)
    print(f"\n| strategy | {' | '.join(f'M = {few} * D' for few in FEW)} |")
    print("|" + "---|" * (1 + len(FEW)))
    for strategy in STRATEGIES:
        print(f"| {strategy} | {' | '.join(refused(strategy, few, count) for few in FEW)} |", flush=True)


if __name__ == "__main__":
    main()
