# SPDX-License-Identifier: Apache-2.0
"""The command that fits a device to measured runs: calibrate."""
import argparse
import json
from typing import Any, Dict, List, Sequence, Tuple

from .._core._library import Error
from .._core.accelerators import Accelerator, CalibrationError, accelerators
from ..readers.device_files import LINKS, device_of_fields, digest_of, read_device
from ..readers.model_files import read_model
from ..readers.runs import Run, read_runs
from .commands import COMMANDS, Commands
from .device_fit import Fit, constants, fit
from .model_command import columns
from .price_runs import errors_of, group_of, tell_open, tell_unread
from .printing import print_text, tell
from .usage import OneFile, UsageError


def add_commands(commands: Commands) -> None:
    parser = commands.add_parser(
        "calibrate", help=COMMANDS["calibrate"].summary, allow_abbrev=False,
        description="Fits a few constants of a device to measured runs, and writes a device file. The runs may have any layouts. The commands price, "
                    "model and pick read this file with --device. docs/price.md explains the columns of RUNS.csv.")
    parser.add_argument("runs", metavar="RUNS.csv", help="a CSV file with one row per measured run")
    parser.add_argument("--device", help="device from whose constants the fit starts: a known device or a file (default: the device of the runs)")
    parser.add_argument("-m", "--model", metavar="FILE", help="the model of all runs (default: each run names its model in its columns)")
    parser.add_argument("-o", "--output", action=OneFile, metavar="FILE", help="write the device file here (default: print it)")
    parser.examples = ("ppsched calibrate runs.csv -o device.json",)
    parser.set_defaults(run=run_calibrate)


def _one_device(path: str, runs: Sequence[Run]) -> str:
    names = list(dict.fromkeys(run.device for run in runs))
    if len(names) > 1:
        other = next(run for run in runs if run.device == names[1])
        raise Error(f"{path}: runs of {names[0]} and of {names[1]} ({other.where}); calibrate one device at a time")
    return names[0]


def _check_device(given: str, device: Accelerator, runs: Sequence[Run]) -> None:
    """Rows that name a device must name the given one. Any other text is a name for it, the same in all rows."""
    known = {one.name for one in accelerators()}
    names = {run.gpu.lower(): run for run in reversed(runs) if run.gpu}
    for name, run in names.items():
        if name in known and name not in (given.lower(), device.name.lower()):
            raise Error(f"{run.where}: gpu is {run.gpu}, and --device is {given}; give runs of one device")
    if len(names) > 1:
        first, other = sorted(names.values(), key=runs.index)[:2]
        raise Error(f"runs of {first.gpu} and of {other.gpu} ({other.where}); calibrate one device at a time")


def _distinct(runs: Sequence[Run]) -> List[Run]:
    """Of each model, layout and microbatch the run on the most devices."""
    found: Dict[Any, Run] = {}
    for run in runs:
        if run.key not in found or run.devices > found[run.key].devices:
            found[run.key] = run
    return list(found.values())


def _row(device: Accelerator, base: str, found: Fit, runs: Sequence[Run]) -> Dict[str, Any]:
    """Of a device file, with the errors of runs that the fit did not see."""
    row = _constants_row(device, base, found)
    groups: Dict[Tuple[str, str], List[float]] = {}
    for run, error in zip(runs, found.left_out):
        groups.setdefault(group_of(run)[1:], []).append(error)
    errors = [CalibrationError(*group, of.layouts, of.median, of.p90)._asdict() for group, of in ((group, errors_of(each)) for group, each in sorted(groups.items()))]
    return {**row, "errors": errors, "errors_of": digest_of(device_of_fields(base, row))}


def _constants_row(device: Accelerator, base: str, found: Fit) -> Dict[str, Any]:
    known: Dict[str, Any] = {"like": base} if device.name == base else {key: value for key, value in device._asdict().items() if value not in ((), 0.0, None) and key != "errors"}
    for name in LINKS:
        if name in known:
            known[name] = known[name]._asdict()
    return _with_units({**known, **constants(found)})


def _with_units(row: Dict[str, Any]) -> Dict[str, Any]:
    """As device files have them."""
    links = {name: {**row[name], "bandwidth": f"{row[name]['bandwidth']!r}B/s", "latency": f"{row[name]['latency']!r}s"}
             for name in LINKS if name in row}
    texts = {name: f"{row[name]!r}{unit}" for name, unit in (("memory", "B"), ("memory_bandwidth", "B/s"), ("host_bandwidth", "B/s"), ("op_time", "s"), ("host_time", "s")) if name in row}
    return {**row, **links, **texts}


def _table(start: Accelerator, runs: Sequence[Run], found: Fit) -> str:
    rows = [["run", "before", "after", "left out"]]
    rows += [[run.name, *(f"{errors[number]:+.1%}" for errors in (found.before, found.after, found.left_out))] for number, run in enumerate(runs)]
    sums = [["errors", "median", "90th", "largest"]]
    for word, errors in (("before", found.before), ("after", found.after), ("each run left out", found.left_out)):
        sums.append([word, *(f"{value:.1%}" for value in errors_of(errors)[2:])])
    values = [["constant", "before", "after"], *([name, f"{getattr(start, name) or 1:.4g}", f"{value:.4g}"] for name, value in constants(found).items())]
    return f"{columns(rows)}\n{columns(sums)}\n{columns(values)}"


def run_calibrate(arguments: argparse.Namespace) -> None:
    if arguments.output is not None and not arguments.output.lower().endswith(".json"):
        raise UsageError(f"-o {arguments.output}: the device is written as JSON; give a name that ends with .json")
    description = read_model(arguments.model).description if arguments.model is not None else None
    runs = read_runs(arguments.runs, description, arguments.device)
    tell_unread(arguments.command, arguments.runs)
    if not runs:
        raise Error(f"{arguments.runs}: it has no runs")
    base = _one_device(arguments.runs, runs)
    device = read_device(base)
    if arguments.device is not None:
        _check_device(arguments.device, device, runs)
    distinct = _distinct(runs)
    found = fit(device, distinct)
    tell_open(arguments.command, arguments.runs, runs)
    text = json.dumps(_row(device, base, found, distinct), indent=1) + "\n"
    if arguments.output is None:
        print_text(f"{_table(device, distinct, found)}\n{text}")
        return
    print_text(text, arguments.output)
    print_text(_table(device, distinct, found))
    tell(arguments.command, f"wrote {arguments.output}; give it as --device")
