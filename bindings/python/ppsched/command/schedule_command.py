# SPDX-License-Identifier: Apache-2.0
"""The command schedule, which builds and evaluates one schedule."""
import argparse
from typing import Any, List, Optional, Sequence, Tuple

from .._core.exporting import FORMAT_NAMES, Stream
from .._core.microbatch_map import BESIDE, TELLS, tell_order, text_beside
from .._core.output import Write, writing_of
from .._core.progress import ProgressBar
from .._core.schedule import generate
from .._core.timeline import Timeline
from .._core.writing import drawing_of, stamped, stamped_stream
from .chakra_options import CHAKRA, add_chakra_arguments, write_traces
from .commands import COMMANDS, Commands
from .export_options import add_export_arguments
from .launch_options import add_launch_argument, add_runtime_argument, check_runtime, launch_fault, print_launch
from .layer_options import add_split_arguments
from .limit_check import check_limit
from .live_command import print_link
from .lowering_options import add_channel_arguments, add_lowering_arguments, evaluate, lower
from .memory_saving_options import add_memory_saving_arguments, check_copies, keep_less, link_hosts, take_recomputed_chunks, with_offload_option
from .microbatch_options import add_order_argument, add_request_arguments, in_best_order
from .notices import add_quiet_argument, tell_problem
from .number_options import whole
from .output_files import add_output_argument
from .printing import print_stream, print_text, write_files
from .problem_options import add_problem_arguments
from .problem_values import Values, merged, problem_of
from .profile_options import add_measured_argument
from .robust_objective_options import add_robust_objective_arguments, with_asked_objective
from .scenario_options import add_scenario_arguments, found_scenarios, tells_scenarios
from .schedule_answer import ScheduleAnswer
from .schedule_files import Files, Output, check_formats, files_of
from .size_options import add_size_arguments
from .strategy_fit import check_one_strategy
from .split_finding import found_split
from .usage import ANSWER, KEPT, LAYERS, MICROBATCHES, RUNTIMES, SENDS, UsageError, VARYING


class _Format(argparse.Action):
    """--format, and --json for one of them."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
                 option_string: Optional[str] = None) -> None:
        chosen, before = values or "json", getattr(namespace, self.dest)
        if before not in (None, chosen):
            other = chosen if before == "json" else before
            parser.error(f"--json and --format {other}: they contradict each other; give one of them")
        setattr(namespace, self.dest, chosen)


def add_commands(commands: Commands) -> None:
    parser = commands.add_parser(
        "schedule", help=COMMANDS["schedule"].summary, allow_abbrev=False,
        description="Builds the schedule of a strategy and evaluates it: computes its times, memory and idle time.")
    parser.first = ("strategy", "num_devices", "num_stages", "num_batches", "config", "forward_times", "backward_times", "p2p_time", "mem_limit",
                    "launch", "explain", "output")
    parser.examples = ("ppsched schedule --strategy zb_auto --devices 8 --microbatches 16 -o zb.png zb.csv",
                       "ppsched schedule --strategy zbv --devices 4 --stages 8 --microbatches 8 --launch torchtitan",
                       "ppsched schedule -c problem.yaml --explain")
    parser.add_argument("--strategy", help="name or alias; see ppsched strategies (default: 1f1b)")
    add_problem_arguments(parser)
    parser.group(MICROBATCHES).add_argument("--slices", type=whole, metavar="K", help="number of slices into which the sequences of each microbatch are cut (default: 1)")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="settings",
                        help="set an option of the strategy; ppsched strategies lists them")
    add_size_arguments(parser.group(LAYERS))
    add_measured_argument(parser.group("measured times"))
    add_order_argument(parser.group(MICROBATCHES))
    add_request_arguments(parser.group(MICROBATCHES))
    add_scenario_arguments(parser.group(VARYING))
    add_robust_objective_arguments(parser.group(VARYING))
    add_memory_saving_arguments(parser.group(KEPT))
    add_lowering_arguments(parser.group(SENDS))
    add_channel_arguments(parser.group(SENDS))
    add_launch_argument(parser.group(RUNTIMES))
    add_runtime_argument(parser.group(RUNTIMES))
    add_split_arguments(parser.group(LAYERS))
    answer = parser.group(ANSWER)
    answer.add_argument("--format", choices=(*FORMAT_NAMES, CHAKRA), action=_Format,
                        help="format of the output (default: by the file's ending, else text). csv is PyTorch's; chakra writes one trace per rank, "
                             "to -o PREFIX. Other files of -o may then only be pictures")
    answer.add_argument("--json", nargs=0, action=_Format, dest="format", help="the same as --format json")
    add_output_argument(answer, "write to files: .png, .svg or .pdf for a picture; .csv, .json, .trace.json or .txt for the schedule. An option that "
                                "works only with some formats, such as --explain, adds to the files and the printed text that have these formats. It "
                                "is refused if none of them has")
    add_export_arguments(answer)
    add_chakra_arguments(parser.group("--format chakra"))
    add_quiet_argument(answer)
    answer.add_argument("--no-visualization", action="store_true", default=None, help="do not draw a picture")
    answer.add_argument("--explain", action="store_true",
                        help="with text or json: also show the critical path, how much later each op could start (its slack), and the stage that "
                             "should get less work")
    answer.add_argument("--explain-memory", action="store_true",
                        help="with text or json: also show what each device holds in memory at its peak")
    answer.add_argument("--page-url", "--link", action="store_true",
                        help="only print the address of the live page (ppsched live) with this problem")
    answer.add_argument("--page-url-base", "--link-base", metavar="URL", help="with --page-url: the address of the page itself (default: ppsched.html)")
    answer.add_argument("--slots", action="store_true",
                        help="with json: also write the slots (buffers) for activations and received values, and the rounds in which devices set up "
                             "their connections")
    answer.add_argument("--capture", action="store_true",
                        help="with text or json: also show whether the order can be captured as a CUDA graph. If it can, show the communicators and "
                             "buffers of the graph; if not, show the reason")
    parser.set_defaults(run=run_schedule)


def _build(values: Values) -> Timeline:
    """Builds and times the schedule of merged values, and checks its limits. Adds the split of the layers to the values."""
    values["model"] = found_split(values)
    asked = with_offload_option(values)
    problem = with_asked_objective(problem_of(asked), asked)
    link_hosts(problem, values)
    check_copies(problem, values)
    with ProgressBar() as bar:
        schedule = in_best_order(generate(values.get("strategy", "1f1b"), problem, progress=bar), values, bar)
    schedule = keep_less(schedule, asked)
    check_runtime(schedule, values)
    timeline = evaluate(lower(schedule, values), values)
    check_limit(timeline)
    return timeline


def run_launch(arguments: argparse.Namespace, values: Values) -> None:
    outputs: List[str] = arguments.output or []
    arguments.output = outputs[0] if outputs else None
    fault = launch_fault(arguments, arguments.format)
    if fault:
        raise UsageError(fault)
    if len(outputs) > 1:
        raise UsageError(f"--launch writes one file, the CSV that {arguments.launch} reads, not {' and '.join('-o ' + path for path in outputs)}")
    values["launch"] = arguments.launch
    tells_scenarios(values, vars(arguments))
    print_launch(_build(values).schedule, arguments, values["model"])


def _writes(answer: ScheduleAnswer, files: Files, has_pictures: bool) -> List[Tuple[str, Write]]:
    """The files to write. All texts that are made as a whole are made here."""
    found = answer.scenarios
    writes = [(path, drawing_of(answer.timeline, path, found and found.planned, found and found.ready)) for path in files.pictures if has_pictures]
    order = answer.timeline.config.microbatch_order
    for output in files.written:
        if output.path is not None and output.format != CHAKRA:
            writes.append((output.path, writing_of(_stamped(answer, output))))
        if output.path is not None and output.format == "csv" and order:
            writes.append((output.path + BESIDE, writing_of(_piece(text_beside(order)))))
    return writes


def _piece(text: str) -> Stream:
    return lambda take: take(text.encode("utf-8"))


def _stamped(answer: ScheduleAnswer, output: Output) -> Stream:
    stream = answer.stream(output)
    return stamped_stream(stream, output.format) if stream is not None else _piece(stamped(answer.text(output), output.format))


def _tell_order(order: Sequence[int], files: Files) -> None:
    """Prints the order of microbatches on standard error, if some output does not show it."""
    tables = [output.path for output in files.written if output.format == "csv"]
    for path in tables or [None] * any(format not in TELLS for format in files.formats):
        tell_order("schedule", order, path)


def _write(answer: ScheduleAnswer, files: Files, values: Values) -> None:
    """Writes all files or none, then prints."""
    printed, timeline = files.printed, answer.timeline
    writes = _writes(answer, files, not values.get("no_visualization"))
    stream = None if printed is None or writes else answer.stream(printed)
    text = answer.text(printed) if printed is not None and stream is None else None  # before anything is written
    write_files(writes, lambda: write_traces(timeline, {**values, "output": files.prefix}) if files.prefix is not None else None)
    if text is not None:
        print_text(text)
    elif stream is not None:
        print_stream(stream)
    _tell_order(timeline.config.microbatch_order, files)


def run_schedule(arguments: argparse.Namespace) -> None:
    check_one_strategy(arguments.strategy)
    must_run_on = arguments.runtime  # of the line alone: a runtime of the config file is for pick and the launch line
    values = {**merged(arguments), "must_run_on": must_run_on}
    take_recomputed_chunks(values)
    if arguments.page_url or arguments.page_url_base is not None:
        print_link(arguments, values)
        return
    if arguments.launch is not None:
        run_launch(arguments, values)
        return
    files = files_of(values)
    check_formats(values, files)
    is_told = tells_scenarios(values, vars(arguments), files.format_told)
    timeline = _build(values)
    scenarios = found_scenarios(timeline.schedule, values) if is_told else None
    _write(ScheduleAnswer(timeline, values, scenarios), files, values)
    if "text" in files.formats:
        tell_problem(arguments, values)
