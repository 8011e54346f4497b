# SPDX-License-Identifier: Apache-2.0
"""The commands that answer which schedule to run: compare and pick."""
import argparse
import json
import math
import sys
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union, cast

from ._abi import Lowering
from ._library import Error
from .cli import Commands, UsageError, add_problem_arguments, ending_of, make_config, merged, print_text
from .launching import launch_row
from .lowering_options import CHANNEL, LOWERINGS, add_channel_arguments, channel_of
from .plan import Candidate, ModelEnd, Plan, plan
from .plan_table import candidate_row, table
from .progress import ProgressBar

# What may vary: option, the argument of ppsched.plan, type, help. Config files have these keys too.
VARIED: Dict[str, Tuple[str, type, str]] = {
    "strategies": ("strategies", str, "try these alone (default: all whose iterations flush; v_search and auto with --effort)"),
    "chunks": ("chunks", int, "stages a device to try (default: 1 to 4)"),
    "group_sizes": ("group_sizes", int, "microbatch groups of the interleaved ones (default: those that Megatron-LM takes)"),
    "microbatch_counts": ("microbatches", int, "microbatches to try at the same batch; costs are those of --num-batches"),
    "mem_limits": ("memory_limits", float, "memory limits to try, each for all devices"),
    "placements": ("placements", str, "placements that the model allows: linear, loop, v, bidirectional"),
}
ENDS = {"embedding": "first", "head": "last"}
PAGES = (".html", ".htm")
ENDINGS = (".json", ".txt", *PAGES)
NOTHING = "no candidate fits"


def add_commands(commands: Commands) -> None:
    compare = commands.add_parser(
        "compare", help="rank all candidate schedules for a problem", allow_abbrev=False,
        description="Evaluates all strategies with all that they can vary, and ranks them by the time of a step. Costs are those of the "
                    "stages of -s: one a device, or one a layer; they are divided or added up for other numbers of stages.")
    _add_arguments(compare)
    compare.add_argument("--all", action="store_true", help="all group sizes in the table, not just each strategy's best")
    compare.set_defaults(run=run_compare)
    pick = commands.add_parser("pick", help="the best schedule for a problem", allow_abbrev=False,
                               description="As compare, but prints the best candidates that fit alone, by default one.")
    _add_arguments(pick)
    pick.add_argument("--top", type=int, metavar="N", default=1, help="the best N (default: 1)")
    pick.set_defaults(run=run_pick)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_problem_arguments(parser)
    parser.add_argument("--objective", choices=("makespan", "span"),
                        help="the time of a step: makespan where the optimizer synchronises the devices (default), else span")
    for name, (_, kind, text) in VARIED.items():
        parser.add_argument("--" + name.replace("_", "-"), nargs="+", type=kind, metavar=name[0].upper(), help=text)
    parser.add_argument("--effort", type=int, metavar="N", help="1 to 12: try v_search and auto too, with that effort")
    for name, which in ENDS.items():
        parser.add_argument("--" + name, nargs="+", metavar="KEY=VALUE",
                            help=f"what of the {which} stage is not divided: forward_time=0.2 mem_static=3 and so on")
    parser.add_argument("--lower", choices=LOWERINGS, help="time the candidates with their transfers, lowered so")
    add_channel_arguments(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file: .json, .txt, or .html for a page with timelines")


def _end(name: str, given: Union[Mapping[str, float], List[str], None]) -> Optional[ModelEnd]:
    """What the embedding or the head takes: a mapping, from KEY=VALUE words or a config file."""
    if given is None or isinstance(given, dict):
        return cast(Optional[ModelEnd], given)
    values: Dict[str, float] = {}
    for word in given:
        key, separator, value = word.partition("=")
        try:
            number = float(value)
        except ValueError:
            separator = ""
        if key in values:
            raise UsageError(f"--{name} {word}: {key} is given twice")
        if not separator or not key:
            raise UsageError(f"--{name} {word}: it must be KEY=VALUE with a number")
        values[key] = number
    return cast(ModelEnd, values)


def make_plan(values: Mapping[str, Any]) -> Plan:
    """The plan of merged values."""
    order, flags = channel_of(values)
    given: Dict[str, Any] = {argument: values[name] for name, (argument, _, _) in VARIED.items() if values.get(name) is not None}
    given.update(flags)
    with ProgressBar() as bar:
        return plan(make_config(values), objective=values.get("objective", "makespan"), effort=values.get("effort", 0),
                    lowering=values.get("lower") or "none", order=order, progress=bar, embedding=_end("embedding", values.get("embedding")),
                    head=_end("head", values.get("head")), **given)


def _details(made: Plan, candidate: Candidate) -> Dict[str, Any]:
    """What launchers want to know of a candidate that they will run. Runtimes lower what they run themselves."""
    with ProgressBar() as bar:
        timeline = made.timeline(candidate, bar)
        schedule = timeline.schedule if made.lowering == Lowering.NONE else made.schedule(candidate, bar)
    devices = timeline.device_metrics
    return {"devices": timeline.schedule.devices,
            "memory_limits": [figures.memory_limit if math.isfinite(figures.memory_limit) else None for figures in devices],
            "peak_memory_by_device": [figures.peak_memory for figures in devices],
            "peak_op_by_device": [None if figures.peak_position is None else str(queue[figures.peak_position])
                                  for figures, queue in zip(devices, timeline.schedule.queues)],
            "idle_by_device": [idle._asdict() for idle in timeline.idle],
            "launch": launch_row(schedule)}


def _why_none(made: Plan) -> str:
    """One line for people: which comes closest, what it lacks, and what would do."""
    closest = next((candidate for candidate in made if candidate.excess), None)
    words = NOTHING
    if closest is not None:
        words += (f"; closest is {closest.strategy} with {closest.chunks} chunk{'s' if closest.chunks > 1 else ''} a device: the most that a "
                  f"device lacks is {closest.excess:g} (device {_worst(made, closest)})")
    try:
        least = made.least_limit()
        words += f"; the least limit that would do is {least.limit:g} ({least.candidate.strategy})"
    except Error:
        refused = next((candidate.reason for candidate in made if candidate.reason), "there is none to try")
        words += f": {refused}"
    return words


def _worst(made: Plan, candidate: Candidate) -> int:
    """The device that lacks most."""
    with ProgressBar() as bar:
        figures = made.timeline(candidate, bar).device_metrics
    return max(range(len(figures)), key=lambda device: figures[device].peak_memory - figures[device].memory_limit)


def _check_words(arguments: argparse.Namespace) -> None:
    output = arguments.output
    if arguments.lower is None and (arguments.channel is not None or any(getattr(arguments, name) for name in CHANNEL)):
        raise UsageError(f"--channel, --{', --'.join(CHANNEL)}: they go with --lower")
    if output is not None and arguments.json and ending_of(output, PAGES):
        raise UsageError(f"-o {output}: it is a page, which --json does not go with")
    if output is not None and not arguments.json and ending_of(output, ENDINGS) is None:
        raise UsageError(f"-o {output}: unknown ending; known are {' '.join(ENDINGS)}, or give --json")


def _print(made: Plan, arguments: argparse.Namespace, rows: List[Dict[str, Any]], text: str) -> None:
    output = arguments.output
    if output and ending_of(output, PAGES):
        from .report import report_data, report_html
        print_text(report_html(report_data(made)), output)
    elif arguments.json or (output and ending_of(output, (".json",))):
        print_text(json.dumps(rows, indent=1) + "\n", output)
    else:
        print_text(text, output)


def run_compare(arguments: argparse.Namespace) -> None:
    _check_words(arguments)
    made = make_plan(merged(arguments))
    colour = arguments.output is None and sys.stdout.isatty()
    _print(made, arguments, [candidate_row(candidate) for candidate in made], table(list(made), everything=arguments.all, colour=colour))
    if made.best is None:
        raise Error(_why_none(made))


def run_pick(arguments: argparse.Namespace) -> None:
    if arguments.top < 1:
        raise UsageError(f"--top {arguments.top}: it must be 1 or more")
    _check_words(arguments)
    made = make_plan(merged(arguments))
    if made.best is None:
        raise Error(_why_none(made))
    best = [candidate for candidate in made[:arguments.top] if candidate.fits]
    colour = arguments.output is None and sys.stdout.isatty()
    rows = [{**candidate_row(candidate), **_details(made, candidate)} for candidate in best]
    _print(made, arguments, rows, table(best, everything=True, colour=colour))
