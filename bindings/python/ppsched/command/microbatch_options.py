# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for microbatches that differ, and for slices."""
import argparse
from typing import Any, Mapping, Optional

from .._core.listener import Progress
from .._core.schedule import Schedule, generate
from .._core.strategy import find_strategy
from .number_options import add_count_argument, add_number_argument
from .usage import UsageError


def add_order_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--order-microbatches", action="store_true", default=None,
                        help="search the best order of the microbatches of --microbatch-scale; the order is printed, too")


SLICING = ("slice_time", "attention_share")


def add_slicing_arguments(parser: argparse.ArgumentParser) -> None:
    add_count_argument(parser, "--slices", metavar="K", dest="slice_counts",
                       help="numbers of slices per microbatch to try; costs are those of whole microbatches")
    add_number_argument(parser, "--slice-time", metavar="T",
                        help="with --slices: how much longer F, B and I of a slice take than their share, as kernels are slower on "
                             "short sequences")
    add_number_argument(parser, "--attention-share", metavar="A",
                        help="with --slices: the share of times that is causal attention, which grows with each slice (default: 0)")


def one_number(name: str, given: Any) -> float:
    values = given if isinstance(given, list) else [given]
    if len(values) != 1 or not isinstance(values[0], (int, float)):
        raise UsageError(f"--{name.replace('_', '-')}: give one number")
    return float(values[0])


def check_order(values: Mapping[str, Any]) -> None:
    if not values.get("microbatch_scale") and not values.get("microbatch_memory_scale"):
        raise UsageError("--order-microbatches: give --microbatch-scale with one number per microbatch")


def in_best_order(schedule: Schedule, values: Mapping[str, Any], progress: Optional[Progress]) -> Schedule:
    """The schedule with its microbatches in the best order, if the options ask for it. A strategy that searches then searches again, with
    the costs in that order."""
    if not values.get("order_microbatches"):
        return schedule
    check_order(values)
    first = schedule.order_microbatches(progress=progress)
    strategy = values.get("strategy", "1f1b")
    if not find_strategy(strategy).searches:
        return first
    again = generate(strategy, first.config, progress=progress)
    return again if again.evaluate().metrics.makespan < first.evaluate().metrics.makespan else first
