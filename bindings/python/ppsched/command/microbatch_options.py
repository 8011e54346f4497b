# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for microbatches that differ, and for slices."""
import argparse
from typing import Any, Dict, List, Mapping, Optional

from .._core._abi import Kind
from .._core.listener import Progress
from .._core.schedule import Schedule, generate
from .._core.strategy import find_strategy
from .._core.timeline import Timeline
from .number_options import add_count_argument, add_number_argument, whole
from .usage import UsageError


def add_order_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--order-microbatches", action="store_true", default=None,
                        help="search for the best order of the microbatches, which differ by --microbatch-scale, and print this order")


OBJECTIVES = ("makespan", "span", "mean_end", "quantile_end", "throughput")


def add_request_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--requests", type=whole, nargs="+", metavar="CHUNKS",
                        help="with --forward-only: number of chunks of each request. A chunk is one microbatch; the chunks of a request run in order")
    parser.add_argument("--objective", choices=OBJECTIVES,
                        help="what the strategy auto minimises (default: makespan). With --forward-only also: the mean or a quantile of the times at "
                             "which requests end (mean_end; quantile_end with --set quantile=90); or throughput, which auto maximises")


def take_objective(values: Dict[str, Any], is_told: bool) -> None:
    """Makes the objective an option of the strategy. is_told: on the command line; a file may have it for `compare` and `pick` alone."""
    objective = values.get("objective")
    if objective is None:
        return
    if objective not in OBJECTIVES:
        raise UsageError(f"objective {objective}: it must be {', '.join(OBJECTIVES[:-1])} or {OBJECTIVES[-1]}")
    if not is_told and "objective" in values["options"]:
        return
    if "objective" in values["options"]:
        raise UsageError("--objective and --set objective are the same; give one")
    if not any(option.name == "objective" for option in find_strategy(values.get("strategy", "1f1b")).options):
        if is_told and objective != "makespan":
            raise UsageError(f"--objective works with strategies that search for one, such as auto, not with {values.get('strategy', '1f1b')}")
        return
    values["options"] = {**values["options"], "objective": objective}


def request_ends(timeline: Timeline) -> Optional[List[float]]:
    """When the last chunk of each request ends on the last stage, in the order of requests and of iterations; None without requests."""
    requests, last = timeline.config.microbatch_request, timeline.config.stages - 1
    if not requests:
        return None
    microbatches = timeline.config.microbatches
    requests = requests * microbatches if len(requests) == 1 else requests
    ends = {m: m + 1 == microbatches or requests[m] != requests[m + 1] for m in range(microbatches)}
    found = {op.microbatch: span.end for queue, spans in zip(timeline.schedule.queues, timeline.spans) for op, span in zip(queue, spans)
             if op.kind == Kind.F and op.stage == last and op.microbatch is not None and ends[op.microbatch % microbatches]}
    return [found[m] for m in sorted(found)]


def throughput(timeline: Timeline, values: Mapping[str, Any]) -> Optional[float]:
    """Requests per unit of time, if the same come again and again; None for a schedule with backwards, or where nobody asks for requests."""
    config = timeline.config
    requests, microbatches = config.microbatch_request, config.microbatches
    is_forward_only = config.forward_only or timeline.schedule.kinds <= {Kind.F}
    if not is_forward_only or not (requests or values["options"].get("objective") == "throughput"):
        return None
    count = sum(m == 0 or not requests or (len(requests) > 1 and requests[m] != requests[m - 1]) for m in range(microbatches))
    period = timeline.schedule.period(config)
    return count / period if period > 0 else None


SLICING = ("slice_time", "attention_share")


def add_slicing_arguments(parser: argparse.ArgumentParser) -> None:
    add_count_argument(parser, "--slices", metavar="K", dest="slice_counts",
                       help="numbers of slices per microbatch to try; costs are for whole microbatches")
    add_number_argument(parser, "--slice-time", metavar="T",
                        help="with --slices: how much longer each F, B and I of a slice takes than its share of the microbatch's time, because kernels "
                             "are less efficient on short sequences")
    add_number_argument(parser, "--attention-share", metavar="A",
                        help="with --slices: the share of causal attention in the times of ops; attention takes longer in each later slice (default: "
                             "for each stage the share of its layers; without layers 0)")


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
    if schedule.config.microbatch_request:
        raise UsageError("--order-microbatches: the chunks of a request have a fixed order; auto chooses the order of the requests")
    first = schedule.order_microbatches(progress=progress)
    strategy = values.get("strategy", "1f1b")
    if not find_strategy(strategy).searches:
        return first
    again = generate(strategy, first.config, progress=progress)
    return again if again.evaluate().metrics.makespan < first.evaluate().metrics.makespan else first
