# SPDX-License-Identifier: Apache-2.0
"""The commands that read schedules: check and convert."""
import argparse
import contextlib
import errno
import json
import os
import re
import sys
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core._library import Error, decoded, lib
from .._core.chakra import read_chakra
from .._core.config import QUANTITIES, Config, quantities_in
from .._core.exporting import FORMAT_NAMES, Stream
from .._core.file_bytes import SCHEDULE, cannot_read, read_stream
from .._core.layer_words import OF_LAYERS
from .._core.layers import LayerSplit
from .._core.reader import FORMATS as READ_FORMATS, config_for, format_of
from .._core.schedule import Finding, Schedule
from .._core.shown import printable
from .._core.timeline import Timeline
from .._core.windows import OF_WINDOWS, checked_windows
from .._core.words import counted
from .._core.writing import FORMATS, PICTURES, PAGES, draw_file, ending_of, stamped_stream
from ..page.report import report
from ..readers.config_file import read_config_file
from ..readers.json_and_yaml import other_kind, read_values
from .answer_file import take_ending
from .chakra_options import CHAKRA, add_chakra_arguments, chakra_fault, write_traces
from .commands import COMMANDS, Commands
from .export_options import add_export_arguments
from .launch_options import add_launch_argument, check_job, launch_fault, print_launch, take_job
from .layer_options import add_split_arguments, has_layers, read_layers, refuse_beside, split_config, split_of
from .limit_check import check_limit
from .lowering_options import add_channel_arguments, add_lowering_arguments, check_channel, evaluate, is_lowered, lower
from .order_telling import tell_beside
from .printing import error_row, print_stream, print_text
from .problem_options import add_cost_arguments
from .problem_values import plain_numbers
from .profile_options import Measurement, profile_fault
from .size_options import add_end_arguments
from .text_columns import text_columns, with_width
from .transfer_report import TransferReport
from .usage import LAYERS, OneFile, SENDS, UsageError
from .windows_option import take_windows

DRAWN, DRAWING = (*PICTURES, *PAGES), "drawing"

# Keys of a config file for sizes, and the attribute of the schedule that each must be equal to.
SIZES = {"num_devices": "devices", "num_stages": "stages", "num_batches": "microbatches", "iterations": "iterations"}
# Keys for the layers of the model and their split.
BY_LAYERS = ("layers", "num_layers", "embedding", "head", "empty_stages", "split", "recompute")


def add_commands(commands: Commands) -> None:
    check = commands.add_parser("check", help=COMMANDS["check"].summary, allow_abbrev=False,
                                description="Reads a schedule, and checks whether it is complete and can run. If so, prints one line. Otherwise prints one "
                                            "line for each thing that is wrong, and exits with code 1.")
    _add_file(check)
    check.add_argument("--json", action="store_true", help="print JSON")
    add_channel_arguments(check, "check with group, direction and pair, each without and with --rendezvous; but none if one of the next three options is "
                                 "given")
    check.set_defaults(run=run_check)
    convert = commands.add_parser("convert", help=COMMANDS["convert"].summary, allow_abbrev=False,
                                  description="Reads a schedule and writes it in another format. If the new format has times, the command computes them "
                                              "from the options for times, memory and transfers.")
    _add_file(convert)
    convert.add_argument("--to", choices=(*FORMAT_NAMES, CHAKRA),
                         help="format of the output (default: by the ending of -o; .png .svg .pdf: a picture, .html: a page)")
    add_launch_argument(convert)
    convert.add_argument("--renumber", action="store_true",
                         help="number the microbatches again, in the order in which the last stage runs them, because PyTorch takes losses in this "
                              "order. If microbatches differ, also print the new order")
    add_split_arguments(convert.group(LAYERS))
    add_end_arguments(convert.group(LAYERS))
    convert.add_argument("--no-times", action="store_true", help="with json: do not evaluate the schedule, and write it without times and metrics")
    add_export_arguments(convert)
    add_chakra_arguments(convert.group("--to chakra"))
    add_lowering_arguments(convert.group(SENDS))
    add_channel_arguments(convert.group(SENDS))
    add_cost_arguments(convert)
    convert.first = ("source", "to", "output", "launch", "renumber", "config", "forward_times", "backward_times", "p2p_time", "lower")
    convert.examples = ("ppsched convert order.csv -o order.png", "ppsched convert order.csv --to json --no-times",
                        "ppsched convert order.csv --launch torchtitan --num-layers 32")
    convert.set_defaults(run=run_convert)


def _add_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE",
                        help="PyTorch's CSV, or JSON from ppsched schedule; - means standard input; for chakra traces their prefix, or the file of "
                             "any rank")
    parser.add_argument("--from", choices=(*READ_FORMATS, CHAKRA), dest="source", help="format of FILE (default: by its ending)")
    parser.add_argument("-o", "--output", action=OneFile, metavar="FILE", help="write to a file")


def _read_traces(path: str) -> Schedule:
    """Reads traces by their prefix, or by the file of any rank."""
    try:
        return read_chakra(re.sub(r"\.\d+\.et$", "", path))
    except OSError as error:
        raise cannot_read(error.filename, error) from None


def _read(arguments: argparse.Namespace) -> Schedule:
    path, format = arguments.file, arguments.source
    if format == CHAKRA or (format is None and path.endswith(".et")):
        return _read_traces(path)
    if path == "-":
        if format is None:
            raise UsageError("- (standard input) needs --from")
        if sys.stdin is None:
            raise Error("cannot read -: standard input is closed")
        return Schedule.from_text(read_stream("-", sys.stdin.buffer, SCHEDULE), format)
    if format is None:
        if path != "" and not os.path.exists(path) and "." not in os.path.basename(path):
            raise cannot_read(path, FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
        try:
            format_of(path)
        except Error as error:
            raise UsageError(str(error).replace("name the format", "give --from")) from None
    try:
        return Schedule.read(path, format)
    except OSError as error:
        raise cannot_read(path, error) from None
    except Error as error:
        if path.endswith(".json"):
            with contextlib.suppress(Error):
                error.args = (f"{error}{other_kind(read_values(path))}",)
        raise


def _good_line(schedule: Schedule) -> str:
    words = [counted(schedule.devices, "device"), counted(schedule.stages, "stage"),
             counted(schedule.microbatches, "microbatch", "es"), counted(schedule.iterations, "iteration"),
             f"{schedule.placement.name.lower()} placement", counted(len(schedule), "op")]
    if schedule.forward_only:
        words.append("forwards only")
    return f"ok: {printable(schedule.name)}: {', '.join(words)}"


def _finding_row(finding: Finding) -> Dict[str, Any]:
    other = None if finding.other is None else str(finding.other)
    return {**finding._asdict(), "kind": finding.kind.name.lower(), "op": str(finding.op), "other": other}


def _schedule_row(schedule: Schedule, findings: List[Finding]) -> Dict[str, Any]:
    return {"valid": not findings, "strategy": schedule.name, "placement": schedule.placement.name.lower(),
            "devices": schedule.devices, "stages": schedule.stages, "microbatches": schedule.microbatches,
            "iterations": schedule.iterations, "ops": len(schedule), "forward_only": schedule.forward_only,
            "findings": [_finding_row(finding) for finding in findings]}


def _error_row(error: Error) -> Dict[str, Any]:
    return {"valid": False, "findings": [], "error": error_row(error)}


def _print_json(arguments: argparse.Namespace, row: Dict[str, Any]) -> None:
    print_text(json.dumps({"file": arguments.file, **row, "version": decoded(lib.ppsched_version_text())}, indent=1) + "\n", arguments.output)


def run_check(arguments: argparse.Namespace) -> None:
    take_ending(arguments)
    try:
        schedule = _read(arguments)
    except Error as error:
        if arguments.json and not isinstance(error, UsageError):
            _print_json(arguments, _error_row(error))
        raise
    check_channel(schedule, vars(arguments))
    findings = schedule.check()
    transfers = TransferReport(schedule, vars(arguments)) if not findings and is_lowered(schedule) else None
    fault = transfers.fault if transfers else None
    if arguments.json:
        row = _schedule_row(schedule, findings)
        if transfers:
            row.update({"valid": row["valid"] and fault is None, "transfers": transfers.row})
        _print_json(arguments, row)
    else:
        good = [] if findings or fault else [_good_line(schedule)]
        print_text("".join(f"{line}\n" for line in [*findings, *good, *(transfers.lines if transfers else [])]), arguments.output)
    if findings:
        raise Error(f"{arguments.file}: {counted(len(findings), 'finding')}; first: {findings[0]}")
    if fault:
        raise Error(f"{arguments.file}: {fault}")


def _costs_below(config: Config, above: Mapping[str, Any]) -> Dict[str, List[float]]:
    """Costs from the file itself, for those that are not given. If one backward time is given, none is taken from the file."""
    above = {**above, **(dict.fromkeys((*OF_WINDOWS, "overlapped_times")) if above.get("windows") is not None else {})}
    taken = {"backward_" if name.startswith("backward_") else name for name in above}
    costs = {name: list(getattr(config, name)) for name in QUANTITIES if getattr(config, name)}
    return {name: values for name, values in costs.items() if ("backward_" if name.startswith("backward_") else name) not in taken}


def _stated(arguments: argparse.Namespace, schedule: Schedule) -> Dict[str, Any]:
    """Lists of numbers and layers from the config file, whose sizes must be those of the schedule, and from the command line, which
    takes precedence."""
    values = read_config_file(arguments.config) if arguments.config is not None else {}
    check_job(arguments.config, values)
    take_job(arguments, values)
    for key, what in SIZES.items():
        if key in values and values[key] != getattr(schedule, what):
            raise Error(f"{arguments.config}: {key} is {values[key]}, but {arguments.file} has {getattr(schedule, what)}")
    given = {name: value for name, value in vars(arguments).items() if value is not None}
    if "split" in given:
        values.pop("recompute", None)  # which is for the split of the file
    files = {name: arguments.config for name in values if name not in given}
    stated = {name: value for name, value in {**values, **given}.items() if name in (*QUANTITIES, *BY_LAYERS, "windows")}
    if stated.get("layers") is not None and stated.get("num_layers") is None:
        refuse_beside(stated)  # before units are checked
        stated["layers"] = read_layers(stated["layers"])
    take_windows(arguments.command, arguments.config, stated, {})
    return {**stated, "files": files}


def _split(values: Mapping[str, Any], arguments: argparse.Namespace, schedule: Schedule) -> Optional[LayerSplit]:
    """The layers of each stage of the schedule; None if there are no layers."""
    if has_layers(values) and values.get("split") is None and values.get("recompute") is None:
        where = values["files"].get("layers") or values["files"].get("num_layers")
        raise Error(f"{where + ': ' if where else ''}{'layers' if values.get('layers') is not None else 'num_layers'}: {arguments.file} does "
                    "not say which stage they are in; give --split, which pick and schedule print")
    model = split_of(values)
    if model is not None and len(model.split.layers) != schedule.stages:
        raise Error(f"the split has {counted(len(model.split.layers), 'stage')}, but {arguments.file} has {schedule.stages}")
    return model


def _problem(arguments: argparse.Namespace, schedule: Schedule, format: str) -> Tuple[Config, Optional[LayerSplit]]:
    """The problem, and its layers if it has some. Times and memory come from the command line, else from the config file, else from the
    profile. Without a split, a number of layers is only used in launch lines."""
    stated = _stated(arguments, schedule)
    files: Dict[str, str] = stated.pop("files")
    if arguments.launch and stated.get("layers") is None and stated.get("split") is None:
        arguments.num_layers = stated.pop("num_layers", None)
    costs = {} if has_layers(stated) else _costs_below(schedule.config, stated)
    sizes = {key: getattr(schedule, what) for key, what in SIZES.items()}
    values = plain_numbers(arguments.command, {**sizes, **costs, **stated}, files, Measurement(vars(arguments)))
    model = None if _is_untimed(arguments, format) else _split({**values, "files": files}, arguments, schedule)
    of_stages = values if model is None else {name: value for name, value in values.items() if name not in OF_LAYERS}
    config = config_for(schedule, quantities_in(of_stages), values["units"], schedule.config.microbatch_order)
    if values.get("windows") is not None:
        config._set_windows(checked_windows(values["windows"]))
    return config if model is None else split_config(config, model), model


def _is_untimed(arguments: argparse.Namespace, format: str) -> bool:
    """Whether the output has only the order."""
    return format in ("csv", "megatron", "deepspeed") or (format == "json" and arguments.no_times)


def _format(arguments: argparse.Namespace) -> str:
    """The format of the output; empty for launch arguments."""
    output: Optional[str] = arguments.output
    format: Optional[str] = arguments.to
    fault = (launch_fault(arguments, format) if arguments.launch else None) or profile_fault(vars(arguments))
    fault = fault or chakra_fault(vars(arguments), format or (FORMATS.get(ending_of(output, FORMATS) or "") if output else None))
    if arguments.num_layers is not None and not arguments.launch and arguments.split is None and arguments.config is None:
        fault = "--num-layers needs --launch or --split"
    if fault:
        raise UsageError(fault)
    if format is None and not arguments.launch:
        format = FORMATS.get(ending_of(output, FORMATS) or "") if output else None
        if output and ending_of(output, DRAWN):
            format = DRAWING
        if format is None:
            raise UsageError(f"give --to, or -o with one of the endings {' '.join((*FORMATS, *DRAWN))}")
    if arguments.no_times and format != "json":
        raise UsageError(f"--no-times works only with json, not with {format or '--launch'}")
    return format or ""


def _finish(config: Config, arguments: argparse.Namespace, format: str, stream: Optional[Stream] = None) -> None:
    """Prints a text, if there is one, and the order of microbatches on standard error if the output cannot contain it."""
    if stream is not None:
        print_stream(stream if arguments.output is None else stamped_stream(stream, format), arguments.output)
    tell_beside(arguments.command, config.microbatch_order, format, arguments.output if stream is not None else None)


def _draw(timeline: Timeline, path: str) -> None:
    """Writes a picture or a page."""
    if ending_of(path, PICTURES):
        draw_file(timeline, path)
    else:
        print_text(report(timeline, timeline.schedule.name), path)


def run_convert(arguments: argparse.Namespace) -> None:
    schedule = _read(arguments)
    is_forward_only = schedule.forward_only
    _convert(arguments, schedule)
    if is_forward_only:
        print(f"ppsched convert: note: {printable(arguments.file)} has only forwards, no backward", file=sys.stderr)


def _convert(arguments: argparse.Namespace, schedule: Schedule) -> None:
    output, format = arguments.output, _format(arguments)
    schedule.config, model = _problem(arguments, schedule, format)
    schedule = lower(schedule, vars(arguments))
    if arguments.renumber:
        schedule = schedule.renumber()
    if arguments.launch:
        print_launch(schedule, arguments, model)
        return
    if _is_untimed(arguments, format):
        _finish(schedule.config, arguments, format, lambda take: schedule._stream(format, take))
        return
    timeline = evaluate(schedule, vars(arguments))
    check_limit(timeline)
    if format == CHAKRA:
        write_traces(timeline, vars(arguments))
    elif format == DRAWING:
        _draw(timeline, output)
    if format in (CHAKRA, DRAWING):
        _finish(schedule.config, arguments, format)
        return
    if format != "text":
        _finish(schedule.config, arguments, format, lambda take: timeline._stream(format, take, time_scale=arguments.time_scale))
        return
    columns = text_columns(arguments.text_columns, output)
    text = with_width(timeline.export(format, text_columns=columns, time_scale=arguments.time_scale), columns, output)
    _finish(schedule.config, arguments, format, lambda take: take(text.encode("utf-8")))
