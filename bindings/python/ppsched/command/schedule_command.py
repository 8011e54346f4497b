# SPDX-License-Identifier: Apache-2.0
"""The command schedule, which builds and evaluates one schedule."""
import argparse
import json
from typing import Any, Optional

from .._core.exporting import FORMAT_NAMES, Stream
from .._core.microbatch_map import order_line, tell_order
from .._core.progress import ProgressBar
from .._core.schedule import generate
from .._core.timeline import Timeline
from .._core.writing import FORMATS, PICTURES, draw_file, ending_of, stamped, stamped_stream
from .bound_telling import bound_row, bound_text
from .capture_report import capture_rows, capture_text
from .chakra_options import CHAKRA, add_chakra_arguments, chakra_fault, write_traces
from .commands import COMMANDS, Commands
from .explain_report import explain_row, explain_text
from .export_options import add_export_arguments
from .launch_options import add_launch_argument, add_runtime_argument, check_runtime, launch_fault, print_launch
from .layer_options import add_split_arguments
from .limit_check import check_limit
from .live_command import print_link
from .lowering_options import add_channel_arguments, add_lowering_arguments, evaluate, lower
from .memory_report import memory_rows, memory_text
from .memory_saving_options import add_memory_saving_arguments, check_copies, keep_less, link_hosts, take_recomputed_chunks, with_offload_option
from .microbatch_options import add_order_argument, add_request_arguments, in_best_order, request_ends, throughput
from .notices import add_quiet_argument, tell_problem
from .number_options import whole
from .order_telling import tell_beside
from .prefill_values import chunk_tokens, chunks_text
from .printing import print_stream, print_text
from .problem_options import add_problem_arguments
from .problem_values import Values, merged, problem_of
from .profile_options import add_measured_argument
from .robust_objective_options import add_robust_objective_arguments, with_asked_objective
from .scenario_options import add_scenario_arguments, found_scenarios, tells_scenarios, with_scenarios
from .size_options import add_size_arguments
from .slot_report import slot_rows
from .strategy_fit import check_one_strategy
from .split_finding import found_split
from .text_columns import text_columns, with_width
from .usage import ANSWER, KEPT, LAYERS, MICROBATCHES, OneFile, RUNTIMES, SENDS, UsageError, VARYING


BESIDE = ("explain", "explain_memory", "slots", "measured", "capture")  # what is told with the text of a schedule


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
    parser.examples = ("ppsched schedule --strategy zb_auto --devices 8 --microbatches 16 -o zb.png",
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
                             "to -o PREFIX")
    answer.add_argument("--json", nargs=0, action=_Format, dest="format", help="the same as --format json")
    answer.add_argument("-o", "--output", action=OneFile, metavar="FILE",
                        help="write to a file: .png, .svg or .pdf for a picture; .csv, .json, .trace.json or .txt for the schedule")
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
    fault = launch_fault(arguments, arguments.format)
    if fault:
        raise UsageError(fault)
    values["launch"] = arguments.launch
    tells_scenarios(values, vars(arguments))
    print_launch(_build(values).schedule, arguments, values["model"])


def run_schedule(arguments: argparse.Namespace) -> None:
    check_one_strategy(arguments.strategy)
    must_run_on = arguments.runtime
    values = {**merged(arguments), "must_run_on": must_run_on}
    take_recomputed_chunks(values)
    if arguments.page_url or arguments.page_url_base is not None:
        print_link(arguments, values)
        return
    if arguments.launch is not None:
        run_launch(arguments, values)
        return
    output: Optional[str] = values.get("output")
    chosen = values.get("format")
    picture = ending_of(output, PICTURES) if output and chosen != CHAKRA else None
    if output and not picture and chosen is None:
        chosen = FORMATS.get(ending_of(output, FORMATS) or "")
        if chosen is None:
            raise UsageError(f"-o {output}: unknown ending; known are {' '.join((*PICTURES, *FORMATS))}, or give --format")
    fault = chakra_fault(values, chosen)
    if fault:
        raise UsageError(fault)
    if values.get("measured") and chosen not in (None, "text", "json"):
        raise UsageError(f"--measured works only with text and json, not with {chosen}")
    for name in ("explain", "explain_memory", "capture"):
        if values.get(name) and chosen not in (None, "text", "json"):
            raise UsageError(f"--{name.replace('_', '-')} works only with text and json, not with {chosen}")
    if values.get("slots") and chosen != "json":
        raise UsageError("--slots works only with json")
    is_told = tells_scenarios(values, vars(arguments), chosen)
    timeline = _build(values)
    scenarios = found_scenarios(timeline.schedule, values) if is_told else None
    order = timeline.config.microbatch_order
    if chosen == CHAKRA:
        write_traces(timeline, values)
        tell_order("schedule", order)
        return
    if picture and output:
        if not values.get("no_visualization"):
            draw_file(timeline, output, scenarios and scenarios.planned, scenarios and scenarios.ready)
        output = None
    columns = text_columns(values["text_columns"], output)
    bound = bound_row(timeline) if scenarios is None and chosen in (None, "text", "json") else None
    if scenarios is None and chosen is not None and chosen != "text" and not any(values.get(name) for name in BESIDE) \
            and not (chosen == "json" and (timeline.config.microbatch_request or values["options"].get("objective") == "throughput")) and (bound is None or chosen != "json"):
        wanted: str = chosen
        stream: Stream = lambda take: timeline._stream(wanted, take, time_scale=values["time_scale"])
        print_stream(stream if output is None else stamped_stream(stream, wanted), output)
        tell_beside("schedule", order, chosen, output)
        return
    text = timeline.export(chosen or "text", text_columns=columns, time_scale=values["time_scale"])
    if picture and chosen is None:
        text = text.splitlines()[0] + "\n" + (order_line(order) if order else "")
    if chosen in (None, "text"):
        text = with_width(text, columns, output)
    text = with_scenarios(scenarios, text, chosen or "text")
    if bound is not None:
        text = text + bound_text(bound, timeline.metrics.makespan) if chosen != "json" else json.dumps({**json.loads(text), **bound}) + "\n"
    ends, passed = request_ends(timeline), throughput(timeline, values)
    if values.get("chunks_of_prompt") is not None and chosen in (None, "text"):
        text += chunks_text(values["chunks_of_prompt"], values["has_prompts"])
    elif values.get("chunks_of_prompt") is not None and chosen == "json":
        text = json.dumps({**json.loads(text), "chunk_tokens": chunk_tokens(values["chunks_of_prompt"], values["has_prompts"])}) + "\n"
    if ends is not None and chosen == "json":
        text = json.dumps({**json.loads(text), "request_ends": ends}) + "\n"
    elif ends is not None and chosen in (None, "text"):
        text += f"requests end at {' '.join(f'{end:g}' for end in ends)}; mean {sum(ends) / len(ends):g}\n"
    if passed is not None and chosen == "json":
        text = json.dumps({**json.loads(text), "throughput": passed}) + "\n"
    elif passed is not None and chosen in (None, "text"):
        text += f"throughput {passed:g} requests per unit of time, if they come again and again\n"
    if values.get("explain"):
        text = _explained(timeline, text, chosen or "text")
    if values.get("explain_memory"):
        text = _memory_explained(timeline, text, chosen or "text")
    if values.get("capture"):
        text = _with_capture(timeline, text, chosen or "text", bool(values.get("blocking")))
    if values.get("slots"):
        text = json.dumps({**json.loads(text), **slot_rows(timeline.schedule)}) + "\n"
    text = values["measurement"].beside(timeline, text, chosen)
    print_text(text if output is None else stamped(text, chosen), output)
    tell_beside("schedule", order, chosen, output)
    if chosen in (None, "text"):
        tell_problem(arguments, values)


def _explained(timeline: Timeline, text: str, format: str) -> str:
    """Adds the explanation to a text or JSON."""
    if format == "text":
        return text + explain_text(timeline)
    return json.dumps({**json.loads(text), "explain": explain_row(timeline)}) + "\n"


def _memory_explained(timeline: Timeline, text: str, format: str) -> str:
    if format == "text":
        return text + memory_text(timeline)
    return json.dumps({**json.loads(text), "explain_memory": memory_rows(timeline)}) + "\n"


def _with_capture(timeline: Timeline, text: str, format: str, blocking: bool) -> str:
    """A text or JSON with whether the order can be captured."""
    if format == "text":
        return text + capture_text(timeline.schedule, blocking)
    return json.dumps({**json.loads(text), **capture_rows(timeline.schedule, blocking)}) + "\n"
