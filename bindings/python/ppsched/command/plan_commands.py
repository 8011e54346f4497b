# SPDX-License-Identifier: Apache-2.0
"""The commands that answer which schedule to run: compare and pick."""
import argparse
import math
import json
import sys
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Set, Tuple

from .._core._library import Error
from .cli import Commands, add_problem_arguments, make_config, merged, print_text
from .launch_options import add_batch_arguments
from .._core.launching import RUNTIME_NAMES
from .keeping_options import add_link_argument, link_hosts
from .._core.layer_words import OF_LAYERS
from .layer_options import add_layer_arguments, layers_of
from .._core.listener import Progress
from .._core.microbatch_map import order_line
from .microbatch_options import SLICING, add_order_argument, add_slicing_arguments, check_order, one_number
from .lowering_options import CHANNEL, LOWERINGS, add_channel_arguments, add_plan_arguments, channel_of
from .number_options import add_number_argument, whole
from .page_options import PAGES, add_page_arguments, check_page_words, page_words
from .._core.candidate import Candidate, LeastLimit
from .._core.plan import Plan, plan
from .._core.plan_table import candidate_row, candidates_csv, split_cells, split_row, table
from .._core.progress import ProgressBar
from .._core.rounding import at_least, at_most
from .._core.runs_on import Runnable
from .scenario_options import add_ranking_arguments, ranking_of
from .size_options import add_end_arguments, end_of
from .usage import UsageError
from .._core.words import counted
from .._core.writing import ending_of

# What may vary: option, the argument of ppsched.plan, type, help. Config files have these keys too.
VARIED: Dict[str, Tuple[str, type, str]] = {
    "strategies": ("strategies", str, "try these alone (default: all whose iterations flush; v_search and auto with --effort)"),
    "chunks": ("chunks", int, "stages a device to try (default: 1 to 4)"),
    "group_sizes": ("group_sizes", int, "microbatch groups of the interleaved ones (default: all that can be run, or some of many)"),
    "slice_counts": ("slices", int, "slices of each microbatch to try; costs are those of whole microbatches"),
    "microbatch_counts": ("microbatches", int, "microbatches to try at the same batch; costs are those of --num-batches"),
    "mem_limits": ("memory_limits", float, "memory limits to try, each for all devices"),
    "placements": ("placements", str, "placements that the model allows: linear, loop, v, bidirectional"),
}
RENAMED = ("slice_counts",)  # whose words are others
ENDINGS = (".json", ".txt", ".csv", *PAGES)
NOTHING = "no candidate fits"
ORDER_EFFORT = 1  # of each candidate
MANY_GROUPS = 64  # of as many microbatches all sizes are tried


def add_commands(commands: Commands) -> None:
    from . import model_pick, pick_command# which need this module
    compare = commands.add_parser(
        "compare", help="rank all candidate schedules for a problem", allow_abbrev=False,
        description="Evaluates all strategies with all that they can vary, and ranks them by the time of a step. Costs are those of the "
                    "stages of -s: one a device, or one a layer; they are divided or added up for other numbers of stages.")
    _add_arguments(compare)
    compare.add_argument("-o", "--output", metavar="FILE",
                         help="write to a file: .json, .txt, .csv, or .html for a page with timelines")
    compare.add_argument("--all", action="store_true", help="all group sizes are tried and in the table, not just each strategy's best")
    compare.set_defaults(run=run_compare)
    pick = commands.add_parser("pick", help="the best schedule for a problem", allow_abbrev=False,
                               description="As compare, but prints the best candidates that fit alone, by default one.")
    _add_arguments(pick)
    pick.add_argument("--top", type=whole, metavar="N", default=1, help="the best N (default: 1)")
    pick.add_argument("--all", action="store_true", help="all group sizes are tried, also where they are many")
    pick_command.add_arguments(pick)
    model_pick.add_arguments(pick)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_problem_arguments(parser)
    add_slicing_arguments(parser)
    add_order_argument(parser)
    add_ranking_arguments(parser)
    parser.add_argument("--objective", choices=("makespan", "span"),
                        help="the time of a step: makespan where the optimizer synchronises the devices (default), else span")
    for name, (_, kind, text) in VARIED.items():
        if kind is float:
            add_number_argument(parser, "--" + name.replace("_", "-"), metavar=name[0].upper(), help=text)
        elif name not in RENAMED:
            parser.add_argument("--" + name.replace("_", "-"), nargs="+", type=kind, metavar=name[0].upper(), help=text)
    parser.add_argument("--offload", action="store_true",
                        help="try rules with activations that go to the host, too: as few as hold the memory limit, or all; see --host-bandwidth")
    add_link_argument(parser)
    parser.add_argument("--effort", type=whole, metavar="N", help="1 to 12: try v_search and auto too, with that effort")
    add_end_arguments(parser)
    add_layer_arguments(parser)
    parser.add_argument("--split-effort", type=whole, metavar="N",
                        help="1 to 4: how long splits of layers are searched for, each up to eight times as long as the one before (default: 3)")
    add_batch_arguments(parser)
    parser.add_argument("--runtime", choices=RUNTIME_NAMES, help="only schedules that this training runtime can run")
    parser.add_argument("--lower", choices=LOWERINGS, help="time the candidates with their transfers, lowered so")
    add_channel_arguments(parser)
    add_plan_arguments(parser)
    add_page_arguments(parser)
    parser.add_argument("--json", action="store_true", help="as JSON")


def _asked(values: Mapping[str, Any], has_layers: bool) -> Dict[str, Any]:
    """Which runtimes the plan itself asks; without layers those of a table of the best for each, else they are asked for candidates
    that are to be shown."""
    if has_layers:
        return {"runtime": values.get("runtime"), "runtimes": RUNTIME_NAMES}
    return {"runtimes": RUNTIME_NAMES} if values.get("asks_runtimes") else {}


def stages_a_device(values: Mapping[str, Any]) -> Optional[List[int]]:
    """Of a model by its layers, where there are more stages than devices; else all are tried."""
    stages, devices = values.get("num_stages"), values.get("num_devices")
    if not stages or not devices or stages <= devices:
        return None
    if stages % devices:
        raise UsageError(f"--num-stages {stages} are no multiple of {devices} devices; {stages // devices * devices} or "
                         f"{(stages // devices + 1) * devices} would be")
    chunks = [stages // devices]
    if values.get("chunks") is not None and values["chunks"] != chunks:
        raise UsageError(f"--num-stages {stages} on {devices} devices are {chunks[0]} a device, and --chunks says other numbers; leave one of them out")
    return chunks


def make_plan(values: Mapping[str, Any], progress: Optional[Progress] = None) -> Plan:
    """The plan of merged values. Options in a config file are those of its one strategy. progress: in place of a bar."""
    order, flags = channel_of(values)
    layers = layers_of(values)
    if layers is not None:
        values = {**values, **dict.fromkeys(("embedding", "head", *OF_LAYERS)), "chunks": stages_a_device(values) or values.get("chunks")}
    given: Dict[str, Any] = {argument: values[name] for name, (argument, _, _) in VARIED.items() if values.get(name) is not None}
    given.update(flags)
    config = make_config({**values, "options": values.get("options_of_orders", {})})
    link_hosts(config, values)
    given.update(ranking_of(values, config.devices))
    if values.get("order_microbatches"):
        check_order(values)
        given["order_effort"] = ORDER_EFFORT
    for name in SLICING:
        if values.get(name) is not None:
            given[name] = one_number(name, values[name])
            if "slices" not in given:
                raise UsageError(f"--{name.replace('_', '-')}: it goes with --slices")
    if values.get("all") and "group_sizes" not in given:
        given["group_sizes"] = list(range(1, max(given.get("microbatches") or [config.microbatches]) + 1))
    with ProgressBar() as bar:
        return plan(config, objective=values.get("objective", "makespan"), effort=values.get("effort", 0),
                    lowering=values.get("lower") or "none", order=order, progress=progress or bar, unshard=values.get("unshard", 0),
                    unshard_lookahead=values.get("unshard_lookahead") or "full", reduce_grad=bool(values.get("reduce_grad")), receive_lead=values.get("receive_lead"),
                    offload=bool(values.get("offload")), embedding=end_of("embedding", values.get("embedding")), head=end_of("head", values.get("head")),
                    layers=layers, empty_stages=bool(values.get("empty_stages")), split_effort=values.get("split_effort") or 0, **_asked(values, layers is not None), **given)


def why_none(made: Plan) -> str:
    """One line for people: which comes closest, what it lacks, and what would do."""
    closest = next((candidate for candidate in made if candidate.excess), None)
    if closest is None and made.runtime is not None:
        return Runnable(made, made.runtime.name.lower()).why_none()
    try:
        return NOTHING + _what_would_do(made, made.least_limit(), closest)
    except Error:
        refused = next((candidate.reason for candidate in made if candidate.reason), "there is none to try")
        found = f"{NOTHING}{_lack(made, closest)}{_too_large(made)}"
        return f"{found}: {refused}" if closest is None else f"{found}; no limit was found that would do"


def _lack(made: Plan, closest: Optional[Candidate]) -> str:
    if closest is None:
        return ""
    return (f"; closest is {closest.strategy} with {counted(closest.chunks, 'chunk')} a device: the most that a device lacks is "
            f"{at_least(closest.excess or 0.0)}{made.config.units.after_memory} (device {_worst(made, closest)})")


def _what_would_do(made: Plan, least: LeastLimit, closest: Optional[Candidate]) -> str:
    """What lacks least, and the least limit with its candidate; why that is another."""
    words = f"{_lack(made, closest)}{_too_large(made)}; the least limit that would do is {at_least(least.limit)}{made.config.units.after_memory} "
    if closest is None or closest.number == least.candidate.number:
        return f"{words}({least.candidate.strategy})"
    why = "finds no schedule below that" if least.candidate.excess is None else f"lacks {at_least(least.candidate.excess)} on one device"
    return f"{words}({least.candidate.strategy}, which {why})"


def _too_large(made: Plan) -> str:
    """A layer that no device can hold."""
    if made.layers is None:
        return ""
    name, needed = made.layers.largest()
    most = max((candidate.memory_limit for candidate in made if candidate.memory_limit is not None),
               default=max(made.config.mem_limit, default=math.inf))
    unit = made.config.units.after_memory
    return f"; a layer {name} alone takes {at_least(needed)}{unit}, and no device has more than {at_most(most)}{unit}" if needed > most else ""


def _worst(made: Plan, candidate: Candidate) -> int:
    """The device that lacks most."""
    with ProgressBar() as bar:
        figures = made.timeline(candidate, bar).device_metrics
    return max(range(len(figures)), key=lambda device: figures[device].peak_memory - figures[device].memory_limit)


def check_words(arguments: argparse.Namespace) -> None:
    """What is wrong with the words, whatever is written."""
    if arguments.lower is None and (arguments.channel is not None or any(getattr(arguments, name) for name in CHANNEL)):
        raise UsageError(f"--channel, --{', --'.join(CHANNEL)}: they go with --lower")
    if arguments.lower is None and (arguments.unshard or arguments.reduce_grad or arguments.receive_lead):
        raise UsageError("--unshard, --reduce-grad, --receive-lead: they go with --lower")
    if arguments.unshard_lookahead is not None and not arguments.unshard:
        raise UsageError("--unshard-lookahead goes with --unshard N, 1 or more stages")
    if isinstance(arguments.unshard_lookahead, list):
        raise UsageError("--unshard-lookahead: full, auto or needed for candidates of any size, not a number for each device")


def check_answer(output: str, is_json: bool, endings: Tuple[str, ...]) -> None:
    """Of a file for what the command answers."""
    if is_json and ending_of(output, PAGES):
        raise UsageError(f"-o {output}: it is a page, which --json does not go with")
    if not is_json and ending_of(output, endings) is None:
        raise UsageError(f"-o {output}: unknown ending; known are {' '.join(endings)}, or give --json")


def rows_text(rows: Iterable[Dict[str, Any]]) -> str:
    return json.dumps(list(rows), indent=1) + "\n"


def page_text(made: Plan, candidates: Sequence[Candidate], arguments: argparse.Namespace, csv: Optional[str] = None) -> str:
    from ..page.report import report_data, report_html
    return report_html(report_data(made, candidates=candidates, csv=csv, **page_words(arguments, made)))


def _compared_text(made: Plan, candidates: List[Candidate], arguments: argparse.Namespace) -> str:
    output, units = arguments.output, made.config.units
    if arguments.json or (output and ending_of(output, (".json",))):
        return rows_text({**candidate_row(candidate, units), **split_row(made, candidate)} for candidate in candidates)
    if output and ending_of(output, PAGES):
        return page_text(made, candidates, arguments)
    if output and ending_of(output, (".csv",)):
        return candidates_csv(candidates, units, made.models(candidates))
    runs = {candidate.rank: " ".join(candidate.runs_on) or "none" for candidate in candidates if candidate.runs_on is not None}
    text = table(candidates, everything=arguments.all, colour=output is None and sys.stdout.isatty(), runs=runs, units=units,
                 splits={rank: split_cells(model) for rank, model in (made.models(candidates) or {}).items()})
    order = candidates[0].microbatch_order if candidates else None
    return text + (order_line(order) if order else "") + groups_line(made, arguments)


def groups_line(made: Plan, arguments: argparse.Namespace) -> str:
    """How many group sizes were tried where they are many; empty where that were all, or those that were asked for."""
    if arguments.group_sizes is not None or arguments.all:
        return ""
    sizes: Dict[int, Set[int]] = {}
    for candidate in made:
        if "group_size" in candidate.options:
            sizes.setdefault(candidate.microbatches, set()).add(int(candidate.options["group_size"]))
    lines = [f"group sizes: {len(tried)} of {count} were tried; --all tries all\n" for count, tried in sorted(sizes.items())
             if count > MANY_GROUPS and 2 * len(tried) < count]
    return "".join(lines[:1])


def of_runtime(made: Plan, runtime: str) -> List[Candidate]:
    """The candidates that a runtime can run."""
    with ProgressBar() as bar:
        runnable = Runnable(made, runtime, bar)
        fitting = runnable.best(len(made))
        if made.best is not None and not fitting:
            raise Error(runnable.why_none())
        return [*fitting, *runnable.over_limit()]


def run_compare(arguments: argparse.Namespace) -> None:
    check_words(arguments)
    check_page_words(arguments, [arguments.output])
    if arguments.output is not None:
        if ending_of(arguments.output, (".trace.json",)):
            raise UsageError(f"-o {arguments.output}: a table is no trace; pick -o writes that of the best")
        check_answer(arguments.output, arguments.json, ENDINGS)
    made = make_plan(merged(arguments))
    candidates = made[:] if arguments.runtime is None else of_runtime(made, arguments.runtime)
    print_text(_compared_text(made, candidates, arguments), arguments.output)
    if made.best is None:
        raise Error(why_none(made))
