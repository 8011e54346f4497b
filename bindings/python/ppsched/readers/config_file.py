# SPDX-License-Identifier: Apache-2.0
"""Config files of the command line: their keys and the type of each, and the problem that a file states."""
from typing import Any, Dict, Mapping, Optional, Sequence

from .._core._library import Error
from .._core.config import QUANTITIES, Config, quantities_in, reads_configs
from .._core.same_units import in_same_units
from .._core.shown import shown
from .._core.units import PLAIN
from .._core.words import counted
from .json_and_yaml import file_text, is_yaml, keys_checked, other_kind, read_json, read_values, read_yaml

# "output_file" is what the older visualizer tools called "output".
INTEGERS = ("num_stages", "num_batches", "num_devices", "iterations", "slices", "weight_versions", "effort", "split_effort", "num_layers",
            "micro_batch_size", "data_parallel_size", "scenarios", "seed")
SLOW = ("slow_rank", "slow_link", "slow_stage")
NUMBERS = ("jitter", "message_jitter")
TEXTS = ("strategy", "output", "output_file", "format", "objective", "runtime", "sender_waits")
MAPPINGS = ("options", "embedding", "head", "prefill")
LISTS = ("requests", "device_order", "device_types", "layers", "split", "recompute", "strategies", "chunks", "group_sizes", "microbatch_counts", "slice_counts", "mem_limits", "placements",
         "stage_inputs", "stage_passes", "stage_microbatches")  # of compare and pick
BOOLEANS = ("no_visualization", "split_backward", "forward_only", "empty_stages", "order_microbatches", "free_device_order")
OTHERS = ("placement", "windows", "slice_time", "attention_share", *SLOW, *NUMBERS, *BOOLEANS, *MAPPINGS, *LISTS)
KEYS = INTEGERS + TEXTS + OTHERS + tuple(QUANTITIES)


WRITTEN = "version"  # of what wrote the file, which says nothing of a problem
# Other names of keys, which the command's options have too.
ALSO = {"devices": "num_devices", "stages": "num_stages", "microbatches": "num_batches", "num_microbatches": "num_batches"}


def _check_value(path: str, key: str, value: object) -> None:
    if key in INTEGERS and (isinstance(value, bool) or not isinstance(value, int)):
        raise Error(f"{path}: {key} must be an integer, not {shown(value)}")
    if key in NUMBERS and (isinstance(value, bool) or not isinstance(value, (int, float))):
        raise Error(f"{path}: {key} must be a number, not {shown(value)}")
    if key in TEXTS and not isinstance(value, str):
        raise Error(f"{path}: {key} must be a text, not {shown(value)}")
    if key in MAPPINGS and not isinstance(value, dict):
        raise Error(f"{path}: {key} must be a mapping of names to values, not {shown(value)}")
    if key in LISTS and not isinstance(value, list):
        raise Error(f"{path}: {key} must be a list, not {shown(value)}")
    if key == "split" and not all(type(count) is int for count in value):  # type: ignore[attr-defined]  # it is a list
        raise Error(f"{path}: split must be a list of numbers of layers, not {shown(value)}")
    if key == "device_types" and not all(isinstance(word, str) for word in value):  # type: ignore[attr-defined]  # it is a list
        raise Error(f"{path}: device_types must be a list of texts such as 'a100:8', not {shown(value)}")
    if key == "requests" and not (value and all(type(count) is int and count > 0 for count in value)):  # type: ignore[attr-defined]  # it is a list
        raise Error(f"{path}: requests must be a list of numbers of chunks such as [4, 1, 2], not {shown(value)}")
    if key == "device_order" and not all(type(device) is int for device in value):  # type: ignore[attr-defined]  # it is a list
        raise Error(f"{path}: device_order must be a list of devices, not {shown(value)}")
    if key == "recompute" and not all(isinstance(word, str) for word in value):  # type: ignore[attr-defined]  # it is a list
        raise Error(f"{path}: recompute must be a list of texts such as '0-3:full', not {shown(value)}")
    if key in BOOLEANS and not isinstance(value, bool):
        raise Error(f"{path}: {key} must be true or false, not {shown(value)}")
    if key == "windows" and not isinstance(value, (dict, list)):
        raise Error(f"{path}: windows must be an object with forward and backward, or a list of them, not {shown(value)}")
    if key == "placement" and not isinstance(value, (str, list)):
        raise Error(f"{path}: placement must be a name or a list with the device of each stage, not {shown(value)}")


def read_layers_file(path: str) -> Any:
    """The list of layers of a file: the file itself, or its key "layers", as in a config file."""
    text = file_text(path)
    return _list_of_layers(path, read_yaml(path, text) if is_yaml(path) else read_json(path, text))


def read_layers_text(name: str, text: str) -> Any:
    """The same for JSON that is given as text."""
    return _list_of_layers(name, read_json(name, text))


def _list_of_layers(path: str, values: Any) -> Any:
    if isinstance(values, dict) and "layers" in values:
        values = values["layers"]
    if not isinstance(values, list):
        raise Error(f"{path}: there must be a list of layers, or a mapping with \"layers\"{other_kind(values)}")
    return values


def read_config_file(path: str, values: Optional[Dict[str, Any]] = None, others: Sequence[str] = ()) -> Dict[str, Any]:
    """The keys and values of a config file, which may have been read before. Keys in `others` are left out; the caller reads them."""
    read = keys_checked(path, read_values(path) if values is None else values, (*KEYS, *ALSO, WRITTEN, *others))
    values = {}
    for key, value in read.items():
        name = ALSO.get(key, key)
        if key not in others and key != WRITTEN:
            if name in values:
                raise Error(f"{path}: {next(other for other in read if ALSO.get(other, other) == name)} and {key} are the same; give one")
            values[name] = value
    for key, value in values.items():
        _check_value(path, key, value)
    return values


def with_requests(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The values with the request of each microbatch in place of the numbers of chunks of requests, which may set the microbatches."""
    counts = values.get("requests")
    if counts is None:
        return values
    if not values.get("forward_only"):
        raise Error("requests need schedules with only forwards: set forward_only")
    if values.get("slices") not in (None, 1):
        raise Error("requests have chunks instead of slices; leave out slices")
    if values.get("microbatch_request") is not None:
        raise Error("requests and microbatch_request are the same; give one")
    if any(count < 1 for count in counts):
        raise Error(f"requests must be numbers of chunks from 1 on, not {shown(list(counts))}")
    if values.get("num_batches") not in (None, sum(counts)):
        raise Error(f"requests have {counted(sum(counts), 'chunk')} together, and the problem has {counted(values['num_batches'], 'microbatch', 'es')}; a microbatch is a chunk")
    return {**values, "num_batches": sum(counts), "microbatch_request": [request for request, count in enumerate(counts) for _ in range(count)]}


def config_of_values(values: Mapping[str, Any]) -> Config:
    """The problem of values that have its sizes, in the same units. One of devices and stages stands for both."""
    values = with_requests(values)
    sizes = [values[name] for name in ("num_devices", "num_stages") if values.get(name) is not None]
    config = Config(sizes[0], values["num_batches"], sizes[-1], iterations=values.get("iterations", 1),
                    slices=values.get("slices", 1), placement=values.get("placement"), weight_versions=values.get("weight_versions", 0),
                    split_backward=values.get("split_backward", True), forward_only=values.get("forward_only", False),
                    sender_waits=values.get("sender_waits") or "never", options=values.get("options"), units=values.get("units", PLAIN),
                    windows=values.get("windows"), stage_inputs=values.get("stage_inputs"), stage_passes=values.get("stage_passes"),
                    stage_microbatches=values.get("stage_microbatches"),
                    **quantities_in({name: value for name, value in values.items() if value is not None}))
    return config if values.get("device_order") is None else config.with_device_order(values["device_order"])


@reads_configs
def config_of_file(path: str) -> Config:
    """What Config.from_file makes: the problem of stages that a config file of the command states."""
    try:
        return _config_of_file(path)
    except Error as error:
        text = str(error).replace("ppsched pick --model takes", "ppsched.read_model reads").replace("ppsched check and ppsched convert take", "ppsched.read reads")
        raise Error(text if path in text else f"{path}: {text}", error.status) from None


def _config_of_file(path: str) -> Config:
    values = read_config_file(path)
    by_layers = next((name for name in ("layers", "num_layers") if name in values), None)
    if by_layers is not None:
        raise Error(f"{path}: {by_layers} states a model by its layers, and a Config has stages; ppsched.plan(config, layers=...) splits them")
    if isinstance(values.get("forward_times"), list) and any(isinstance(entry, list) for entry in values["forward_times"]):
        raise Error(f"{path}: forward_times has several measured times per stage; ppsched.Profile.from_file reads such a file")
    if ("num_batches" not in values and "requests" not in values) or ("num_devices" not in values and "num_stages" not in values):
        raise Error(f"{path}: a problem has microbatches, and devices or stages")
    plain, units = in_same_units(values, dict.fromkeys(values, path))
    return config_of_values({**plain, "units": units})
