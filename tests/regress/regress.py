#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of results that the tree keeps: strategy and size against makespan, span, bubbles and peak memory.

usage: regress.py [--update]     compares results.csv with what the library says now; --update rewrites it
"""
import csv
import io
import pathlib
import sys
import unittest

import ppsched

TABLE = pathlib.Path(__file__).resolve().parent / "results.csv"
HEAD = ["strategy", "devices", "stages", "microbatches", "iterations", "costs", "makespan", "span", "of_total", "of_ideal", "of_span",
        "peak_memory"]

# Devices, chunks where the strategy takes any number, microbatches, iterations.
SIZES = [(1, 1, 4, 1), (2, 2, 8, 1), (4, 1, 8, 1), (4, 2, 8, 1), (4, 2, 8, 2), (4, 3, 16, 1), (8, 2, 32, 1), (16, 4, 64, 1)]


def costs(name, stages):
    """Unit costs, and uneven ones with delay and memory that is released in two steps."""
    if name == "unit":
        return {}
    return {"forward_times": [1 + stage % 3 / 4 for stage in range(stages)],
            "backward_input_times": [1.25 + stage % 2 / 8 for stage in range(stages)], "backward_weight_times": 0.75,
            "p2p_time": 0.125, "mem_forward": 3, "mem_backward_input": -2, "mem_static": 5, "mem_weights": 2}


def rows():
    for strategy in ppsched.strategies():
        for devices, chunks, microbatches, iterations in SIZES:
            stages = devices * (strategy.chunks or chunks)
            for name in ("unit", "uneven"):
                config = ppsched.Config(devices, microbatches, stages, iterations=iterations, **costs(name, stages))
                try:
                    metrics = ppsched.generate(strategy.name, config).evaluate(latest=False).metrics
                    figures = [metrics.makespan, metrics.span, *metrics.bubble, metrics.peak_memory]
                except ppsched.Refused:
                    figures = ["refused"]
                yield [strategy.name, devices, stages, microbatches, iterations, name, *map(repr_of, figures)]


def repr_of(figure):
    return figure if isinstance(figure, str) else repr(figure)


def table():
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEAD)
    writer.writerows(dict.fromkeys(map(tuple, rows())))
    return text.getvalue()


class RegressTest(unittest.TestCase):
    def test_results_are_those_of_the_table(self):
        self.maxDiff = 2000
        self.assertEqual(TABLE.read_text(encoding="utf-8").splitlines(), table().splitlines())


if __name__ == "__main__":
    if "--update" in sys.argv:
        TABLE.write_text(table(), encoding="utf-8")
    else:
        unittest.main()
