# SPDX-License-Identifier: Apache-2.0
"""The ppsched command."""
import argparse
import json
import os
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .._core._library import Error, decoded, lib
from .._start import INTERRUPTED, Interruptible
from .chakra_options import CHAKRA, add_chakra_arguments, chakra_fault, write_traces
from .._core.config import QUANTITIES, Config, quantities_in
from .config_file import read_config_file
from .explain_report import explain_row, explain_text
from .._core.exporting import FORMAT_NAMES
from .launch_options import add_launch_argument, add_runtime_argument, check_job, check_runtime, launch_fault, print_launch, take_job
from .._core.layer_words import OF_LAYERS
from .layer_options import add_split_arguments, read_layers, refuse_beside, split_config
from .magnitudes import magnitude_warning
from .keeping_options import add_keeping_arguments, check_copies, keep_less, link_hosts, take_recomputed_chunks, with_offload_option
from .lowering_options import add_channel_arguments, add_lowering_arguments, evaluate, lower
from .memory_report import memory_rows, memory_text
from .._core.microbatch_map import TELLS, order_line, tell_order, write_beside
from .microbatch_options import add_order_argument, in_best_order
from .number_options import add_number_argument, whole
from .._core.output import write_text
from .profile_options import Measurement, add_measured_argument, add_profile_arguments, profile_fault
from .._core.progress import ProgressBar
from .._core.rounding import at_least, at_most
from .._core.same_units import SECONDS_AND_BYTES, in_same_units, in_seconds_and_bytes, refuse_plain
from .goal_options import add_goal_arguments, asked_goal
from .scenario_options import add_scenario_arguments, found_scenarios, take_file_words, take_idle, tells_scenarios, with_scenarios
from .._core.schedule import generate
from .._core.shown import printable, shown
from .size_options import add_size_arguments, resized
from .slot_report import slot_rows
from .._core.strategy import Strategy, find_strategy, strategies
from .text_columns import text_columns, with_width
from .._core.timeline import Timeline
from .._core.units import PLAIN
from .usage import Parser, UsageError as UsageError
from .._core.writing import FORMATS as FORMATS, PICTURES as PICTURES, draw_file as draw_file, ending_of as ending_of

# Options of lists of numbers that have a short form.
MOST_LETTERS = 1000  # of a message
SHORT = {"forward_times": "-f", "backward_times": "-bw"}


Commands = Any  # of argparse, which has no public name for it
Values = Dict[str, Any]  # what the command line and the config file say, by name


def _parser() -> argparse.ArgumentParser:
    from . import file_commands, layout_commands, live_command, model_command, plan_commands# which need this module
    parser = Parser(prog="ppsched", description="Pipeline-parallel schedules: generate, evaluate, draw.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"ppsched {decoded(lib.ppsched_version_text())}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_strategies(commands)
    _add_schedule(commands)
    plan_commands.add_commands(commands)
    file_commands.add_commands(commands)
    layout_commands.add_commands(commands)
    model_command.add_commands(commands)
    live_command.add_commands(commands)
    return parser


def _add_strategies(commands: Commands) -> None:
    parser = commands.add_parser("strategies", help="list the strategies and their options", allow_abbrev=False)
    parser.add_argument("name", nargs="?", help="describe this one alone")
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file")
    parser.set_defaults(run=run_strategies)


def _add_schedule(commands: Commands) -> None:
    parser = commands.add_parser(
        "schedule", help="build and evaluate one schedule", allow_abbrev=False,
        description="Builds a strategy's schedule and evaluates it. Times and memory: one number for all stages, or one a "
                    "stage, as 1 2 3 or 1,2,3; all plain, or all with units, as 6.1ms, 72GB, 400Gbps.")
    parser.add_argument("--strategy", help="name or alias; see ppsched strategies (default: 1f1b)")
    add_problem_arguments(parser)
    parser.add_argument("--slices", type=whole, metavar="K", help="slices of each microbatch along its sequence (default: 1)")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="settings",
                        help="set an option of the strategy")
    add_size_arguments(parser)
    add_measured_argument(parser)
    add_order_argument(parser)
    add_scenario_arguments(parser)
    add_goal_arguments(parser)
    add_keeping_arguments(parser)
    add_lowering_arguments(parser)
    add_channel_arguments(parser)
    add_launch_argument(parser)
    add_runtime_argument(parser)
    add_split_arguments(parser)
    parser.add_argument("--format", choices=(*FORMAT_NAMES, CHAKRA),
                        help="format of the output (default: by the file's ending, else text); csv is PyTorch's, chakra is a trace a "
                             "rank, to -o PREFIX")
    parser.add_argument("-o", "--output", metavar="FILE",
                        help="write to a file: .png .svg .pdf draws, .csv .json .trace.json .txt writes")
    add_export_arguments(parser)
    add_chakra_arguments(parser)
    parser.add_argument("--no-visualization", action="store_true", default=None, help="do not draw a picture")
    parser.add_argument("--explain", action="store_true", help="with text or json: critical path, slack, and which stage to relieve")
    parser.add_argument("--explain-memory", action="store_true",
                        help="with text or json: what stands in each device's memory at its peak")
    parser.add_argument("--link", action="store_true", help="print a link to the live page (ppsched live) with this problem, and build nothing")
    parser.add_argument("--link-base", metavar="URL", help="with --link: where the page is (default: ppsched.html)")
    parser.add_argument("--slots", action="store_true",
                        help="with json: slots of activations and received values, and rounds in which devices connect")
    parser.set_defaults(run=run_schedule)


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text-columns", type=whole, metavar="N", default=0,
                        help="most columns of a row of text (default: the terminal's; without one, and into a file, as needed)")
    parser.add_argument("--time-scale", type=float, metavar="X", default=0.0, help="microseconds per unit of time in a trace")


def add_problem_arguments(parser: argparse.ArgumentParser) -> None:
    """What states a problem, on every command that needs one."""
    parser.add_argument("-s", "--num-stages", type=whole, metavar="S", help="stages of the model; alone: that many devices too")
    parser.add_argument("-b", "--num-batches", type=whole, metavar="M", help="microbatches per iteration")
    parser.add_argument("--num-devices", type=whole, metavar="D", help="devices; alone: that many stages too")
    parser.add_argument("--iterations", type=whole, metavar="N", help="training iterations in the schedule (default: 1)")
    parser.add_argument("--placement", nargs="+", metavar="P", help="linear, loop, v, bidirectional, or the device of each stage")
    parser.add_argument("--whole-backwards", dest="split_backward", action="store_false", default=None,
                        help="each backward is one op, as in Megatron-LM and DeepSpeed: no strategy may split it")
    parser.add_argument("--forward-only", action="store_true", default=None,
                        help="no backwards, as in inference: gpipe, looped_bfs and interleaved_1f1b; with slices chunked prefill")
    parser.add_argument("--weight-versions", type=whole, metavar="N", help="versions of the weights that live at once")
    parser.add_argument("--sender-waits", choices=("never", "like_kind"),
                        help="whether a device waits until what it sent is there: never (the default), or between ops of one kind and "
                             "stage, as in Megatron-LM's warm-up and flush; not with --lower")
    add_cost_arguments(parser)


def _help_of(quantity: str) -> str:
    text: str = getattr(Config, quantity).__doc__
    return text[0].lower() + text[1:].rstrip(".")


def add_cost_arguments(parser: argparse.ArgumentParser) -> None:
    """Times and memory, by list or by file."""
    parser.add_argument("-c", "--config", metavar="FILE", help="JSON or YAML file; the command line goes over it")
    add_profile_arguments(parser)
    for name in QUANTITIES:
        strings = [SHORT[name]] if name in SHORT else []
        add_number_argument(parser, *strings, "--" + name.replace("_", "-"), metavar="T", dest=name, help=_help_of(name))


def _settings(pairs: Sequence[str]) -> Dict[str, str]:
    settings: Dict[str, str] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise UsageError(f"--set {pair}: it must be KEY=VALUE")
        settings[key] = value
    return settings


def _placement(words: Optional[List[str]]) -> Union[str, List[int], None]:
    """A name, or the device of each stage."""
    if words is None or len(words) == 1 and not words[0].isdigit():
        return words[0] if words else None
    try:
        return [whole(word) for word in words]
    except argparse.ArgumentTypeError:
        raise UsageError(f"--placement {shown(' '.join(words))[1:-1]}: it must be a name, or the device of each stage") from None


def merged(arguments: argparse.Namespace) -> Values:
    """What is measured, with the config file's values over it, and those of the command line over both."""
    values: Values = {}
    if arguments.config is not None:
        values = read_config_file(arguments.config, getattr(arguments, "config_values", None), getattr(arguments, "job_keys", ()))
        check_job(arguments.config, values)
        take_file_words(arguments.config, values)
    take_job(arguments, values)
    if "output_file" in values:
        if "output" in values:
            raise Error(f"{arguments.config}: output and output_file are the same; give one")
        values["output"] = values.pop("output_file")
    if getattr(arguments, "split", None) is not None:
        values.pop("recompute", None)  # which is of the file's split
    given = {name: value for name, value in vars(arguments).items()
             if value is not None and name not in ("command", "run", "config", "settings", "placement", "launch", "job", "job_keys", "config_values", "words")}
    if arguments.placement is not None:
        given["placement"] = _placement(arguments.placement)
    options = {**values.get("options", {}), **_settings(getattr(arguments, "settings", []))}
    values = {**values, **given, "options": options}
    fault = profile_fault(values)
    if fault:
        raise UsageError(fault)
    if values.get("layers") is not None and values.get("num_layers") is None:
        refuse_beside(values)  # before units are asked for
        values["layers"] = read_layers(values["layers"])
    measurement = Measurement(values)
    files = {name: arguments.config for name in values if name not in given}
    values = plain_numbers(arguments.command, values, files, measurement)
    values = {**values, "measurement": measurement, "config": arguments.config, "given_stages": arguments.num_stages}
    take_idle(values, given)
    return values


def plain_numbers(command: str, above: Values, files: Mapping[str, str], measurement: Measurement) -> Values:
    """Values with what is measured where they have nothing, and all numbers in the same units, which are added. Warns of memory
    without units in other magnitudes than activations. files: where values stand that are not on the command line."""
    values = measurement.below(above)
    if values.get("model") is not None:
        refuse_plain(above, files)
        return {**in_seconds_and_bytes(values, files), "units": SECONDS_AND_BYTES}
    values, units = in_same_units(values, {**{name: measurement.name for name in values if name not in above}, **files})
    warning = None if units.memory else magnitude_warning(values)
    if warning is not None:
        _tell(command, warning)
    return {**values, "units": units}


def make_config(values: Mapping[str, Any]) -> Config:
    """The problem of merged values."""
    sizes = [values[name] for name in ("num_devices", "num_stages") if values.get(name) is not None]
    if not sizes:
        raise UsageError("give --num-stages, or --num-devices, or a config file with one of them")
    if "num_batches" not in values:
        raise UsageError("give --num-batches, or a config file with num_batches")
    _check_slice_scale(values)
    return Config(sizes[0], values["num_batches"], sizes[-1], iterations=values.get("iterations", 1),
                  slices=values.get("slices", 1), placement=values.get("placement"), weight_versions=values.get("weight_versions", 0),
                  split_backward=values.get("split_backward", True), forward_only=values.get("forward_only", False),
                  sender_waits=values.get("sender_waits") or "never",
                  options=values["options"], units=values.get("units", PLAIN),
                  **quantities_in({name: value for name, value in values.items() if value is not None}))


def _check_slice_scale(values: Mapping[str, Any]) -> None:
    """Tells how microbatches are cut, where there are times of slices alone."""
    scale = values.get("slice_scale")
    if isinstance(scale, list) and len(scale) > 1 and values.get("slices") is None:
        raise Error(f"slice_scale has {len(scale)} values, and microbatches are whole; give --slices {len(scale)} to schedule, or a config "
                    f"file with slices: {len(scale)}")


def check_limit(timeline: Timeline) -> None:
    """A schedule over the caller's memory limit is refused: it could not be run."""
    device = timeline.metrics.limit_device
    if device is None:
        return
    figures = timeline.device_metrics[device]
    op = timeline.schedule.queues[device][figures.peak_position] if figures.peak_position is not None else "the start"
    unit = timeline.config.units.after_memory
    raise Error(f"{printable(timeline.schedule.name)}: device {device} needs {at_least(figures.peak_memory)}{unit} memory (at {op}), "
                f"over its limit {at_most(figures.memory_limit)}{unit}")


def print_text(text: str, path: Optional[str] = None) -> None:
    """To a file, or to standard output. Who reads that may stop to: then the rest goes nowhere."""
    if path is None:
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            _drop_output()
        except UnicodeEncodeError:
            sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[attr-defined]  # it is the text file of io
            print_text(text)
    else:
        write_text(path, text)


def problem_of(values: Values) -> Config:
    """The problem in its own stages: those of the split, or those that costs are given for, divided or added up."""
    model = values["model"]
    if model is None:
        return resized(make_config(values), {**values, "layers": None, "num_layers": None})
    config = split_config(make_config({**values, **dict.fromkeys(OF_LAYERS)}), model)
    return resized(config, {name: value for name, value in values.items() if name not in ("chunks", "embedding", "head")})


def _build(values: Values) -> Timeline:
    """The timeline of the schedule that merged values ask for, within its limits. Adds the split of their layers."""
    from .split_finding import found_split  # which needs this module
    values["model"] = found_split(values)
    asked = with_offload_option(values)
    problem = asked_goal(problem_of(asked), asked)
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
    must_run_on = arguments.runtime
    values = {**merged(arguments), "must_run_on": must_run_on}
    take_recomputed_chunks(values)
    if arguments.link or arguments.link_base is not None:
        from .live_command import print_link
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
        raise UsageError(f"--measured goes with text and json, not with {chosen}")
    for name in ("explain", "explain_memory"):
        if values.get(name) and chosen not in (None, "text", "json"):
            raise UsageError(f"--{name.replace('_', '-')}: it goes with text and json, not with {chosen}")
    if values.get("slots") and chosen != "json":
        raise UsageError("--slots: it goes with json alone")
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
    text = timeline.export(chosen or "text", text_columns=columns, time_scale=values["time_scale"])
    if picture and chosen is None:
        text = text.splitlines()[0] + "\n" + (order_line(order) if order else "")
    if chosen in (None, "text"):
        text = with_width(text, columns, output)
    text = with_scenarios(scenarios, text, chosen or "text")
    if values.get("explain"):
        text = _explained(timeline, text, chosen or "text")
    if values.get("explain_memory"):
        text = _memory_explained(timeline, text, chosen or "text")
    if values.get("slots"):
        text = json.dumps({**json.loads(text), **slot_rows(timeline.schedule)}) + "\n"
    print_text(values["measurement"].beside(timeline, text, chosen), output)
    tell_beside("schedule", order, chosen, output)


def tell_beside(command: str, order: Sequence[int], format: Optional[str], output: Optional[str]) -> None:
    """Which microbatch goes where, beside a format that people do not see it in; of a CSV in a file of its own too."""
    csv = output if format == "csv" else None
    if csv is not None:
        write_beside(csv, order)
    if format not in TELLS:
        tell_order(command, order, csv)


def _explained(timeline: Timeline, text: str, format: str) -> str:
    """A text or JSON with what explains it."""
    if format == "text":
        return text + explain_text(timeline)
    return json.dumps({**json.loads(text), "explain": explain_row(timeline)}) + "\n"


def _memory_explained(timeline: Timeline, text: str, format: str) -> str:
    if format == "text":
        return text + memory_text(timeline)
    return json.dumps({**json.loads(text), "explain_memory": memory_rows(timeline)}) + "\n"


def _strategy_row(strategy: Strategy) -> Dict[str, Any]:
    return {**strategy._asdict(), "options": [option._asdict() for option in strategy.options]}


def _strategy_text(strategy: Strategy) -> str:
    chunks = strategy.chunks or "any number of"
    placement = "any" if strategy.placement == "default" else strategy.placement
    lines = [f"{strategy.name}: {strategy.summary}",
             f"  {placement} placement, {chunks} stage{'' if strategy.chunks == 1 else 's'} a device; "
             f"{'F, I, W' if strategy.splits_backward else 'F, B'}; from {strategy.source}"]
    if strategy.aliases:
        lines.append(f"  also called {', '.join(strategy.aliases)}")
    for option in strategy.options:
        value = "|".join(option.choices) or "N"
        bounds = "" if option.choices else f"{option.minimum} to {option.maximum}, "
        lines.append(f"  --set {option.name}={value}  {option.summary} ({bounds}default: {option.default})")
    return "\n".join(lines)


def run_strategies(arguments: argparse.Namespace) -> None:
    chosen = [find_strategy(arguments.name)] if arguments.name else strategies()
    if arguments.json:
        text = json.dumps([_strategy_row(strategy) for strategy in chosen], indent=1)
    else:
        text = "\n".join(_strategy_text(strategy) for strategy in chosen)
    print_text(text + "\n", arguments.output)


def _tell(command: str, message: str) -> None:
    """One line on standard error."""
    if sys.stderr is not None:
        print(f"ppsched {command}: {printable(message)}".encode("utf-8", "backslashreplace").decode("utf-8"), file=sys.stderr)


def _fail(command: str, error: Union[BaseException, str]) -> int:
    text = " ".join(str(error).split()) or type(error).__name__
    _tell(command, text if len(text) <= MOST_LETTERS else text[:MOST_LETTERS] + "...")
    return 2 if isinstance(error, UsageError) else 1


def _drop_output() -> None:
    """What is still to be written goes nowhere, so that Python does not try again at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _finish(code: int) -> int:
    """What is left of standard output; a failure there must not hide that of the command."""
    try:
        sys.stdout.flush()
    except OSError:
        _drop_output()
    return code


def main(words: Optional[Sequence[str]] = None) -> int:
    """Runs the command; returns its exit code: 0, 1 (refused or invalid), 2 (usage) or 130 (Ctrl-C)."""
    command = ["-"]
    try:
        with Interruptible():
            return _run(words, command)
    except KeyboardInterrupt:
        _fail(command[-1], "interrupted")
        return INTERRUPTED


def _run(words: Optional[Sequence[str]], command: List[str]) -> int:
    """Appends the command's name to `command` when it is known."""
    if sys.stdout is None:
        return _fail(command[-1], "standard output is closed")
    try:
        arguments = _parser().parse_args(words)
        arguments.words = list(sys.argv[1:] if words is None else words)  # as they were typed
        command.append(arguments.command)
        arguments.run(arguments)
        sys.stdout.flush()
    except SystemExit as error:  # of the parser
        return _finish(int(error.code or 0))
    except BrokenPipeError:
        _drop_output()
    except MemoryError:
        return _fail(command[-1], "out of memory")
    except (Error, OSError, ValueError) as error:
        if isinstance(error, OSError):
            _drop_output()
        return _finish(_fail(command[-1], error))
    return 0
