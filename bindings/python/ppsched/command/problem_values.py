# SPDX-License-Identifier: Apache-2.0
"""The problem, from the command line, a config file and measurements."""
import argparse
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .._core._library import Error
from .._core.config import Config
from .._core.layer_words import OF_LAYERS
from .._core.same_units import SECONDS_AND_BYTES, in_same_units, in_seconds_and_bytes, refuse_plain
from .._core.shown import shown
from ..readers.config_file import config_of_values, read_config_file
from .device_types import with_types
from .launch_options import check_job, take_job
from .layer_options import read_layers, refuse_beside, split_config
from .magnitudes import magnitude_warning
from .number_options import whole
from .microbatch_options import take_objective
from .prefill_values import with_prefill
from .printing import tell
from .profile_options import Measurement, profile_fault
from .scenario_options import take_file_words, take_idle
from .size_options import resized
from .usage import UsageError
from .windows_option import take_windows

Values = Dict[str, Any]  # values from the command line and the config file, by name


def _settings(pairs: Sequence[str]) -> Dict[str, str]:
    settings: Dict[str, str] = {}
    for pair in pairs:
        key, separator, value = pair.partition("=")
        if not separator or not key:
            raise UsageError(f"--set {pair}: it must be KEY=VALUE, such as --set {pair.strip('=') or 'effort'}=6")
        settings[key] = value
    return settings


def _placement(words: Optional[List[str]]) -> Union[str, List[Any], None]:
    """Reads a placement: a name, or the device of each stage; 0+1 for a stage on devices 0 and 1."""
    if words is None or len(words) == 1 and not words[0].replace("+", "").isdigit():
        return words[0] if words else None
    try:
        return [[whole(device) for device in word.split("+")] if "+" in word else whole(word) for word in words]
    except argparse.ArgumentTypeError:
        raise UsageError(f"--placement {shown(' '.join(words))[1:-1]}: it must be a name, or the device of each stage (0+1: devices 0 and 1 together)") from None


def merged(arguments: argparse.Namespace) -> Values:
    """The values from the command line, else from the config file, else from measurements."""
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
        values.pop("recompute", None)  # which is for the split of the file
    given = {name: value for name, value in vars(arguments).items()
             if value is not None and name not in ("command", "run", "config", "settings", "placement", "launch", "job", "job_keys", "config_values", "words")}
    if arguments.placement is not None:
        given["placement"] = _placement(arguments.placement)
    options = {**values.get("options", {}), **_settings(getattr(arguments, "settings", []))}
    values = {**values, **given, "options": options}
    if arguments.command == "schedule":
        take_objective(values, getattr(arguments, "objective", None) is not None)
    fault = profile_fault(values)
    if fault:
        raise UsageError(fault)
    if values.get("layers") is not None and values.get("num_layers") is None:
        refuse_beside(values)  # before units are checked
        values["layers"] = read_layers(values["layers"])
    take_windows(arguments.command, arguments.config, values, given)
    if values.get("device_types") is not None and values.get("model") is None:
        values = with_types(values)
    measurement = Measurement(values)
    files = {name: arguments.config for name in values if name not in given}
    values = plain_numbers(arguments.command, values, files, measurement)
    values = {**values, "measurement": measurement, "config": arguments.config, "given_stages": arguments.num_stages}
    take_idle(values, given)
    return with_prefill(values)


def plain_numbers(command: str, above: Values, files: Mapping[str, str], measurement: Measurement) -> Values:
    """Fills in measured values that are not given, and converts all numbers to the same units, which are added. Warns if memory without
    units differs very much in size from activations. files: for values that are not from the command line, their file."""
    values = measurement.below(above)
    if values.get("model") is not None:
        refuse_plain(above, files)
        return {**in_seconds_and_bytes(values, files), "units": SECONDS_AND_BYTES}
    values, units = in_same_units(values, {**{name: measurement.name for name in values if name not in above}, **files})
    warning = None if units.memory else magnitude_warning(values)
    if warning is not None:
        tell(command, warning)
    return {**values, "units": units}


def make_config(values: Mapping[str, Any]) -> Config:
    """The problem of merged values."""
    if values.get("num_devices") is None and values.get("num_stages") is None:
        raise UsageError("give --devices, or --stages, or a config file with one of them")
    if "num_batches" not in values and values.get("requests") is None:
        raise UsageError("give --microbatches, or a config file with microbatches")
    _check_slice_scale(values)
    return config_of_values(values)


def _check_slice_scale(values: Mapping[str, Any]) -> None:
    """Refuses times of slices for whole microbatches."""
    scale = values.get("slice_scale")
    if isinstance(scale, list) and len(scale) > 1 and values.get("slices") is None:
        raise Error(f"slice_scale has {len(scale)} values, but microbatches are whole; give --slices {len(scale)} to schedule, or a config "
                    f"file with slices: {len(scale)}")


def problem_of(values: Values) -> Config:
    """The problem with its stages: those of the split, or those of the given costs, divided or added up."""
    model = values["model"]
    if model is None:
        return resized(make_config(values), {**values, "layers": None, "num_layers": None})
    config = split_config(make_config({**values, **dict.fromkeys(OF_LAYERS)}), model)
    return resized(config, {name: value for name, value in values.items() if name not in ("chunks", "embedding", "head")})
