# SPDX-License-Identifier: Apache-2.0
"""The option --launch, which prints launch arguments for a training runtime instead of the schedule."""
import argparse
import sys
from typing import Any, Mapping, Optional

from .._core._library import Error, Refused
from .._core.launching import RUNTIME_NAMES, launch_notes
from .._core.layers import LayerSplit
from .._core.microbatch_map import tell_order, write_beside
from .._core.output import write_stream
from .._core.schedule import Schedule
from .._core.words import nearest
from .number_options import whole
from .rank_map import add_host_argument, is_moved, rank_map_line
from .usage import UsageError

READ_CSV = ("torchtitan", "pytorch", "colossalai", "jaxpp")
LOSSES_IN_ORDER = ("torchtitan", "pytorch")


def add_launch_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--launch", choices=RUNTIME_NAMES, metavar="RUNTIME",
                        help="instead of the schedule, print the arguments with which a training runtime runs it: "
                             f"{', '.join(RUNTIME_NAMES)}. -o FILE.csv also writes the CSV that {', '.join(READ_CSV)} read")
    add_batch_arguments(parser)


def add_batch_arguments(parser: argparse.ArgumentParser) -> None:
    """The options for the batch size in launch lines."""
    parser.add_argument("--micro-batch-size", type=whole, metavar="N", help="number of samples per microbatch, for the launch arguments")
    parser.add_argument("--data-parallel-size", type=whole, metavar="N",
                        help="number of replicas of the pipeline, for the launch arguments (default: 1)")
    add_host_argument(parser)


def add_runtime_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--runtime", choices=RUNTIME_NAMES,
                        help="refuse schedules that this training runtime cannot run, and split layers by its rules (default: the runtime "
                             "of --launch)")


def take_job(arguments: argparse.Namespace, values: Mapping[str, Any]) -> None:
    """The batch sizes and the runtime of a config file, for those that the command line does not give."""
    for name, default in (("micro_batch_size", 0), ("data_parallel_size", 1), ("runtime", None)):
        if not hasattr(arguments, name):
            continue
        if getattr(arguments, name) is None:
            setattr(arguments, name, values.get(name, default))
        elif name != "runtime" and getattr(arguments, name) < 1:
            raise UsageError(f"--{name.replace('_', '-')} {getattr(arguments, name)}: it must be 1 or more")


def check_job(path: str, values: Mapping[str, Any]) -> None:
    """The same checks for a config file."""
    for name in ("micro_batch_size", "data_parallel_size"):
        if values.get(name, 1) < 1:
            raise Error(f"{path}: {name} is {values[name]}; it must be 1 or more")
    runtime = values.get("runtime")
    if runtime is not None and runtime not in RUNTIME_NAMES:
        raise Error(f"{path}: there is no runtime {runtime!r}; {nearest(runtime, RUNTIME_NAMES) or 'there are ' + ', '.join(RUNTIME_NAMES)}")


def launch_fault(arguments: argparse.Namespace, format: Optional[str]) -> Optional[str]:
    """What is wrong with the options, or None."""
    if format is not None:
        return "--launch prints launch arguments; it cannot be combined with a format"
    told = next((name for name in ("explain", "explain_memory", "capture") if getattr(arguments, name, False)), None)
    if told is not None:
        return f"--launch prints launch arguments; it cannot be combined with --{told.replace('_', '-')}"
    if arguments.num_layers is not None and arguments.num_layers < 1:
        return f"--num-layers {arguments.num_layers}: it must be 1 or more"
    output = arguments.output
    if output is not None and arguments.launch not in READ_CSV:
        return f"-o {output}: {arguments.launch} reads no CSV; -o works only with --launch {', '.join(READ_CSV)}"
    if output is not None and not output.lower().endswith(".csv"):
        return f"-o {output}: with --launch it is the CSV that {arguments.launch} reads; it must end in .csv"
    return None


def check_runtime(schedule: Schedule, values: Mapping[str, Any]) -> None:
    """Refuses a schedule that the runtime of --runtime cannot run; with --launch the launch line does so. The runtime of a config file,
    which all commands read, only decides the split."""
    if values.get("must_run_on") is not None and values.get("launch") is None:
        schedule.launch(values["must_run_on"], model=values["model"])


def print_launch(schedule: Schedule, arguments: argparse.Namespace, model: Optional[LayerSplit] = None) -> None:
    """Writes the CSV, if one is asked for, and prints the line."""
    if arguments.output is not None and arguments.launch in LOSSES_IN_ORDER:
        schedule = _in_order(schedule, arguments)
    layers = arguments.num_layers or 0 if model is None else 0
    order = schedule.config.device_order
    places = rank_map_line(order, arguments.launch, arguments.host_gpus, 1, arguments.data_parallel_size) if is_moved(order) else None
    try:
        line = schedule.launch(arguments.launch, csv=arguments.output, layers=layers, model=model, micro_batch=arguments.micro_batch_size, data_parallel=arguments.data_parallel_size)
    except Refused as error:
        error.args = (str(error).replace("Schedule.renumber", "-o FILE.csv"),)
        raise
    if arguments.output is not None:
        write_stream(arguments.output, lambda take: schedule._stream("csv", take))
        write_beside(arguments.output, schedule.config.microbatch_order)
    print(line)
    for note in launch_notes(schedule, arguments.launch, model, layers):
        print(f"ppsched {arguments.command}: note: {note}", file=sys.stderr)
    if places is not None:
        print(f"ppsched {arguments.command}: {places}", file=sys.stderr)
    tell_order(arguments.command, schedule.config.microbatch_order, arguments.output)


def _in_order(schedule: Schedule, arguments: argparse.Namespace) -> Schedule:
    """The schedule with microbatches numbered so that the last stage runs their forwards in ascending order, as PyTorch needs. Prints a
    note if that changes the numbers."""
    try:
        ordered = schedule.renumber()
    except Refused:
        return schedule  # the launch line gives the reason
    if ordered.export("csv") == schedule.export("csv"):
        return schedule
    print(f"ppsched {arguments.command}: {arguments.output}: microbatches are renumbered in the order in which the last stage "
          "runs them, as PyTorch takes losses in that order", file=sys.stderr)
    return ordered
