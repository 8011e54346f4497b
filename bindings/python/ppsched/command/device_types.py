# SPDX-License-Identifier: Apache-2.0
"""--device-types: types of devices with their numbers; what each says of speed, memory, links and times of layers."""
import os
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core._library import Error
from .._core.accelerators import Accelerator, LinkRate, accelerators, find_accelerator, scale_of
from .._core.job import JobType
from .._core.layers import OF_GRAPH, Layer, Layers
from .._core.model import Model, times_scaled
from .._core.same_units import in_seconds_and_bytes
from .._core.shown import shown
from .._core.unit_advice import amount_in
from .._core.units import TIMES, parse
from ..readers.device_files import device_of_fields, link_of
from ..readers.json_and_yaml import file_text, is_yaml, read_json, read_yaml
from .model_options import model_on
from .pod_options import with_pods
from .usage import UsageError

_WORD = re.compile(r"(.+):([0-9]+)")
_PLAIN = ("speed", "layers", "mem_limit", "device_overhead", "inside", "between", "node_devices")  # keys of a file that is no data sheet
_TIMES = ("forward_time", "backward_time", "backward_input_time", "backward_weight_time")  # of F, B, I and W
MOST_TYPES = 256


class DeviceType(NamedTuple):
    """A type of devices and how many there are. sheet: its data sheet; rows: its layers with their times; speed: factor on what these, or
    the layers of the model, state; limit, overhead: its memory limit and its device_overhead as given."""

    name: str
    devices: int
    sheet: Optional[Accelerator] = None
    rows: Optional[List[Layer]] = None
    speed: float = 1.0
    limit: Any = None
    overhead: Any = None
    inside: Optional[LinkRate] = None
    between: Optional[LinkRate] = None
    node_devices: int = 8


# --- reading ---

def _speed(path: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
        raise Error(f"{path}: speed is {shown(value)}; it must be a number above 0: 1 as stated, 0.5 half as fast")
    return float(value)


def _limit(path: str, value: Any) -> Any:
    """As given: none, a number, or a text with a unit."""
    if isinstance(value, str):
        amount_in(f"{path}: mem_limit", value, "memory")
    elif value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf")):
        raise Error(f"{path}: mem_limit is {shown(value)}; it must be a size of memory, 0 or more")
    return value


def _overhead(path: str, value: Any) -> Any:
    """As given: none, a number, or a text with a unit."""
    if isinstance(value, str):
        amount_in(f"{path}: device_overhead", value, "time")
    elif value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < float("inf")):
        raise Error(f"{path}: device_overhead is {shown(value)}; it must be a time, 0 or more")
    return value


def _of_file(path: str, count: int) -> DeviceType:
    text = file_text(path)
    read = read_yaml(path, text) if is_yaml(path) else read_json(path, text)
    if isinstance(read, list):
        read = {"layers": read}
    if not isinstance(read, dict):
        raise Error(f"{path}: a type of devices must be a mapping with speed or layers, or a list of layers, not {shown(read)}")
    if not isinstance(read.get("layers", []), list):
        raise Error(f"{path}: layers must be a list, not {shown(read['layers'])}")
    found = DeviceType(os.path.basename(path), count, None, read.get("layers"), _speed(path, read.get("speed", 1)), _limit(path, read.get("mem_limit")),
                       _overhead(path, read.get("device_overhead")))
    links: Dict[str, Any] = {name: link_of(path, name, read[name]) for name in ("inside", "between") if name in read}
    node = read.get("node_devices", 8)
    if type(node) is not int or node < 1:
        raise Error(f"{path}: node_devices is {shown(node)}; it must be an integer, 1 or more")
    found = found._replace(node_devices=node, **links)
    if set(read) - set(_PLAIN):
        return found._replace(sheet=device_of_fields(path, {key: value for key, value in read.items() if key not in _PLAIN[:4]}))
    if "speed" not in read and "layers" not in read:
        raise Error(f"{path}: it has no speed and no layers with times; give one of them, or the fields of a data sheet")
    return found


def read_types(words: Sequence[str]) -> List[DeviceType]:
    """The types of --device-types. A name is that of a file, or of a data sheet."""
    types = []
    for word in words:
        match = _WORD.fullmatch(word)
        if match is None or int(match[2]) < 1:
            raise UsageError(f"--device-types {shown(word)[1:-1]}: it must be NAME:COUNT, such as a100:8")
        name, count = match[1], int(match[2])
        if not os.path.isfile(name) and (os.sep in name or "." in name):
            raise UsageError(f"--device-types {shown(word)[1:-1]}: there is no file {shown(name)}")
        types.append(_of_file(name, count) if os.path.isfile(name) else DeviceType(name, count, find_accelerator(name)))
    if len(types) > MOST_TYPES:
        raise UsageError(f"--device-types has {len(types)} types; there may be {MOST_TYPES}")
    return types


def types_of_job(values: Mapping[str, Any]) -> List[DeviceType]:
    """The types of a job with a model; the pods of --pod-nodes and --pod-bandwidth are those of each data sheet."""
    def podded(one: DeviceType) -> DeviceType:
        return one if one.sheet is None else one._replace(sheet=with_pods(one.sheet, values.get("pod_nodes"), values.get("pod_bandwidth")))
    return [podded(one) for one in read_types(values["device_types"])]


def _with_names(types: Sequence[JobType], names: Sequence[str]) -> List[JobType]:
    """The types; those whose data sheets have one name are called as in --device-types, with a number where files of two folders have one
    name."""
    sheets = [one.device.name for one in types]
    own = [name if sheets.count(sheets[place]) > 1 else sheets[place] for place, name in enumerate(names)]
    own = [f"{name}#{own[:place].count(name) + 1}" if own.count(name) > 1 else name for place, name in enumerate(own)]
    return [one._replace(device=one.device._replace(name=name)) for one, name in zip(types, own)]


def job_types(arguments: Any, values: Mapping[str, Any]) -> List[JobType]:
    """The types of a search of layouts; those of a name are one."""
    if arguments.device is not None:
        raise UsageError("--device, --device-types: both state the devices; give one of them")
    for name, word in (("goal", "cost"), ("layer_table", None)):
        if getattr(arguments, name) is not None and word in (None, getattr(arguments, name)):
            what = "give --goal tokens, which gives the same ranking because all layouts use all devices" if word else "a table has the costs of only one type of device; leave the table out"
            raise UsageError(f"--{name.replace('_', '-')}{' cost' if word else ''}, --device-types: {what}")
    merged: List[JobType] = []
    names: List[str] = []
    for one in types_of_job(values):
        if one.sheet is None or one.rows is not None or one.speed != 1 or one.overhead:
            raise UsageError(f"--gpus, --device-types {one.name}: a search of layouts needs a data sheet for each type, without speed, layers and "
                             "device_overhead; give a name such as a100, or a device file")
        limit = amount_in(f"{one.name}: mem_limit", one.limit, "memory") if isinstance(one.limit, str) else float(one.limit or 0)
        if limit == 0 and one.limit is not None:
            raise Error(f"{one.name}: mem_limit is 0; it must be above 0")
        same = next((place for place, other in enumerate(merged) if (other.device, other.memory_limit) == (one.sheet, limit)), None)
        if same is None:
            merged.append(JobType(one.sheet, one.devices, limit))
            names.append(one.name)
        else:
            merged[same] = merged[same]._replace(gpus=merged[same].gpus + one.devices)
    merged = _with_names(merged, names)
    total = sum(one.gpus for one in merged)
    if total != arguments.gpus:
        raise UsageError(f"--gpus {arguments.gpus}: --device-types has {total} devices; give counts that sum to {arguments.gpus}, or --gpus {total}")
    return merged


# --- by device ---

def by_device(types: Sequence[DeviceType]) -> List[int]:
    """The number of the type of each device."""
    return [number for number, one in enumerate(types) for _ in range(one.devices)]


def _links(one: DeviceType) -> List[Optional[LinkRate]]:
    """The links inside a node, between nodes and between pods."""
    sheet = one.sheet
    between = one.between or (sheet.between if sheet else one.inside)
    return [one.inside or (sheet.of_pair if sheet else one.between), between, sheet.beyond or between if sheet else between]


def _distance(one: DeviceType, a: int, b: int, each: int) -> int:
    """Of two devices of the pipeline of this type: 0 in a node, 1 in a pod, 2 beyond."""
    node = max((one.sheet or one).node_devices // each, 1)
    pod = node * one.sheet.pod_nodes if one.sheet else 0
    return 0 if a // node == b // node else 1 if pod == 0 or a // pod == b // pod else 2


def link_lists(types: Sequence[DeviceType], each: int = 1) -> Dict[str, List[float]]:
    """p2p_time and p2p_bandwidth of all pairs, in seconds and bytes per second. Devices of a type fill its nodes one after another; between
    types, the slowest link that either type has between nodes and pods counts. each: GPUs that a device of the pipeline has of its nodes."""
    if all(_links(one)[0] is None for one in types):
        return {}
    missing = next((one for one in types if _links(one)[0] is None), None)
    if missing is not None:
        raise Error(f"{missing.name}: other types have links; give it \"between\", such as {{\"bandwidth\": \"25GB/s\", \"latency\": \"5us\"}}")
    devices = by_device(types)
    places = [number for one in types for number in range(one.devices)]
    times, rates = [], []
    for a, type_a in enumerate(devices):
        for b, type_b in enumerate(devices):
            distance = _distance(types[type_a], places[a], places[b], each) if type_a == type_b else 2
            ends = [_links(types[number])[distance] for number in (type_a, type_b)]
            times.append(0.0 if a == b else max(link.latency for link in ends if link is not None))
            rates.append(min(link.rate for link in ends if link is not None))
    return {"p2p_time": times, "p2p_bandwidth": rates}


def _whole_times(row: Mapping[str, Any]) -> List[float]:
    """The times of F, B, I and W that a row states, as the library completes them. With units they are in seconds."""
    if any(isinstance(row.get(key), str) for key in row if key not in ("name", "place", "hybrid_symbols")):
        row = in_seconds_and_bytes({"layers": [row]}, {})["layers"][0]
    own = {key: value for key, value in row.items() if key not in OF_GRAPH}
    plain: Any = {**own, "place": "any", "with_next": False, "tied": False, "not_copied": False}
    entry = Layers([plain])._entries()[0]
    return [getattr(entry, name) for name in _TIMES]


class Scaled(NamedTuple):
    """Layers with factors on their times by type. own: the type of devices that take the stated times: 0, or the last type where stated times
    of 0 were replaced because other types take time."""

    rows: List[Any]
    own: int


def _of_types(stated: float, plain: float, others: Sequence[float]) -> Tuple[float, List[float]]:
    """The time of a kind of op to which factors refer, and the factors of further types, then of the devices that take the stated time."""
    times = [time / plain * stated if plain > 0 else time for time in others]
    if stated > 0 or not any(times):
        return stated, [time / plain if plain > 0 else time / stated if stated > 0 else 1.0 for time in others] + [1.0]
    return max(times), [time / max(times) for time in times] + [0.0]


def _scaled_row(stated: Mapping[str, Any], plain: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> Tuple[Dict[str, Any], bool]:
    """A row with device_scale for further types, then for the stated times; and whether it refers to other times than those."""
    times = [_whole_times({key: value for key, value in row.items() if key != "device_scale"}) for row in (stated, plain, *others)]
    kinds = [_of_types(own[0], own[1], own[2:]) for own in zip(*times)]
    row: Dict[str, Any] = {**stated, "device_scale": [list(factors) for factors in zip(*(factors for _, factors in kinds))]}
    is_replaced = any(time != own for (time, _), own in zip(kinds, times[0]))
    if is_replaced:
        unit = next((amount for key in _TIMES for amount in [parse(str(stated.get(key)))] if amount is not None), None)
        for key, (time, _) in zip(_TIMES, kinds):
            row[key] = time if unit is None else f"{time / float(unit.size) * TIMES['s']!r}{unit.unit}"
    return row, is_replaced


def with_scale(stated: Sequence[Layer], plain: Sequence[Layer], others: Sequence[Tuple[str, Sequence[Layer]]]) -> Scaled:
    """The layers with their stated times on the first type of devices. On further types, times are to these as the times of the same rows
    of these types are to `plain`."""
    for name, other in others:
        if [(row.get("name"), row.get("count", 1)) for row in other] != [(row.get("name"), row.get("count", 1)) for row in plain]:
            raise Error(f"{name}: its layers must have the same names and counts as the layers of the model, in the same order")
    found = [_scaled_row(own, first, [other[i] for _, other in others]) for i, (own, first) in enumerate(zip(stated, plain))]
    is_replaced = any(replaced for _, replaced in found)
    kept = len(others) + is_replaced
    return Scaled([{**row, "device_scale": row["device_scale"][:kept]} for row, _ in found], kept if is_replaced else 0)


def _check_counts(types: Sequence[DeviceType], devices: Optional[int]) -> int:
    total = sum(one.devices for one in types)
    if devices is not None and devices != total:
        raise UsageError(f"--device-types has {total} devices, and --devices {devices}; give counts that sum to the devices")
    return total


def _for_each(types: Sequence[DeviceType], name: str, own: Sequence[Any], given: Any, default: Any = None) -> Optional[List[Any]]:
    """A value of each device: that of its type, in `own`, else that of all. A given list of devices stays."""
    if all(one is None for one in own) or (isinstance(given, list) and len(given) > 1):
        return None
    common = given[0] if isinstance(given, list) else given
    missing = next((one for one, value in zip(types, own) if value is None), None)
    if missing is not None and common is None and default is None:
        raise Error(f"{missing.name}: other types have a {name}; give it one, or --{name.replace('_', '-')}")
    common = default if common is None else common
    return [own[number] if own[number] is not None else common for number in by_device(types)]


def _speeds(types: Sequence[DeviceType], given: Any) -> List[float]:
    """The speed of each device: that of its type, times the given one."""
    speeds = [types[number].speed for number in by_device(types)]
    own = [1.0] if given is None else [float(speed) for speed in (given if isinstance(given, list) else [given])]
    if len(own) not in (1, len(speeds)):
        raise UsageError(f"--device-speeds has {len(own)} numbers; give one for each of {len(speeds)} devices")
    return [speed * own[number if len(own) > 1 else 0] for number, speed in enumerate(speeds)]


def with_types(values: Mapping[str, Any]) -> Dict[str, Any]:
    """Values without --model, with what --device-types says of devices, links and layers."""
    types = read_types(values["device_types"])
    sheet = next((one for one in types if one.sheet is not None and one.rows is None and one.speed == 1), None)
    if sheet is not None:
        raise UsageError(f"--device-types {sheet.name}: a data sheet has no times for these layers without --model; give a file with a speed or "
                         "with times of layers")
    found: Dict[str, Any] = {**values, "device_types": None}
    if found.get("num_devices") is None and found.get("num_stages") is not None and found["num_stages"] == sum(one.devices for one in types):
        found["num_devices"] = found["num_stages"]
    found["num_devices"] = _check_counts(types, found.get("num_devices"))
    found["type_names"] = [types[number].name for number in by_device(types)]
    speeds = _speeds(types, values.get("device_speeds"))
    if any(speed != 1 for speed in speeds) or values.get("device_speeds") is not None:
        found["device_speeds"] = speeds
    for key, own, default in (("mem_limit", [one.limit for one in types], None), ("device_overhead", [one.overhead for one in types], 0)):
        listed = _for_each(types, key, own, values.get(key), default)
        if listed is not None:
            found[key] = listed
    for name, pairs in link_lists(types).items():
        if values.get(name) is None:
            found[name] = [f"{value!r}{'s' if name == 'p2p_time' else 'B/s'}" for value in pairs]
    return _with_rows(found, types)


def _with_rows(values: Dict[str, Any], types: Sequence[DeviceType]) -> Dict[str, Any]:
    """The layers of the model with their times by type."""
    own = [one for one in types if one.rows is not None]
    if not own:
        return values
    if values.get("num_layers") is not None:
        raise UsageError(f"--device-types {own[0].name}: its layers have their own times; give --layers in place of --num-layers, or nothing")
    base: Sequence[Layer] = values["layers"] if values.get("layers") is not None else own[0].rows or ()
    listed = values.get("layers") is not None
    if not listed and len(own) < len(types):
        other = next(one for one in types if one.rows is None)
        raise UsageError(f"--device-types {other.name}: it has only a speed; give --layers with the times at speed 1")
    others = [(one.name, one.rows) for one in types if one.rows is not None and (listed or one is not own[0])]
    if not others:
        return {**values, "layers": list(base), "layer_types": None}
    scaled, numbers, last = with_scale(base, base, others), [], 0
    for one in types:
        is_other = one.rows is not None and (listed or one is not own[0])
        last += is_other
        numbers.append(last if is_other else scaled.own)
    return {**values, "layers": scaled.rows, "layer_types": [float(numbers[number]) for number in by_device(types)]}


def types_row(names: Sequence[str], order: Optional[Sequence[int]]) -> Dict[str, Any]:
    """For JSON: the type of the device in each place."""
    return {"device_types": [names[device] for device in order or range(len(names))]}


# --- with a model ---

def sheets_of(types: Sequence[DeviceType]) -> List[Accelerator]:
    """The data sheet of each type; a type with a speed alone has that of the first type with one."""
    first = next((one.sheet for one in types if one.sheet is not None), None)
    layered = next((one for one in types if one.rows is not None), None)
    if layered is not None:
        raise UsageError(f"--device-types {layered.name}: with --model the times of layers follow from a data sheet; give a speed instead of layers, or leave --model out")
    if first is None:
        raise UsageError(f"--device-types {types[0].name}: with --model a type needs a data sheet: {', '.join(one.name for one in accelerators())}")
    return [one.sheet or first for one in types]


def stages_of(types: Sequence[DeviceType], each: int, devices: int) -> List[DeviceType]:
    """The types with their numbers of devices of the pipeline, each of which is `each` GPUs; counts may be those of all GPUs."""
    total = sum(one.devices for one in types)
    if total == devices:
        return list(types)
    if total != devices * each:
        raise Error(f"--device-types has {total} devices; --pp {devices} needs {devices * each}" +
                         (f", {each} for each device of the pipeline" if each > 1 else "") + "; give counts that sum to that")
    uneven = next((one for one in types if one.devices % each), None)
    if uneven is not None:
        raise Error(f"--device-types {uneven.name}:{uneven.devices}: each device of the pipeline is {each} GPUs of one type; give a multiple "
                         f"of {each}")
    return [one._replace(devices=one.devices // each) for one in types]


def pipeline_of(types: Sequence[DeviceType], options: Mapping[str, Any]) -> Optional[int]:
    """The devices of the pipeline that the counts leave, if it is not given and all other numbers are single."""
    used = 1
    for name in ("tp", "dp", "cp"):
        numbers = options.get(name)
        if isinstance(numbers, list) and len(numbers) > 1:
            return None
        used *= (numbers[0] if isinstance(numbers, list) else numbers) or 1
    total = sum(one.devices for one in types)
    return total // used if used > 0 and total % used == 0 else None


def _seconds(name: str, overhead: Any) -> float:
    """An overhead as a number; 0 if it is not given."""
    return amount_in(f"{name}: device_overhead", overhead, "time") if isinstance(overhead, str) else float(overhead or 0)


def _measured_links(one: DeviceType, model: Model) -> DeviceType:
    """A type of the measured devices, with the links of sends in the table. A type without a data sheet keeps the links that it states."""
    device = model.accelerator
    assert device is not None
    if model.table is None or not model.table.collectives:
        return one._replace(sheet=device)
    node = device.node_devices
    latencies = [model.link(span) for span in (1, node + 1, node * device.pod_nodes + 1)]
    inside, between, beyond = (LinkRate(rate, 1.0, latency) for latency, rate in latencies)
    sheet = device._replace(inside=inside, between=between, beyond=beyond if device.pod_nodes else None, pair_share=0.0)  # the links have it already
    return one._replace(sheet=sheet) if one.sheet is None else one._replace(sheet=sheet, inside=None, between=None)


class Unlike(NamedTuple):
    """The devices of a pipeline of a job: the names of their types, their models, and the values of the problem."""

    names: List[str]
    models: List[Model]
    limits: List[float]
    values: Dict[str, Any]


def unlike_devices(types: Sequence[DeviceType], model: Model, devices: int, rows: Sequence[Layer], given: Optional[float],
                   buffers: float, speeds: Any = None, overhead: Any = None) -> Unlike:
    """The devices of a job whose times of layers are `rows` on the first type. given: a memory limit of all devices in bytes; speeds,
    overhead: of --device-speeds and --device-overhead."""
    training = model.training
    each = training.tensor_parallel * training.context_parallel * training.data_parallel
    types = stages_of(types, each, devices)
    sheets = sheets_of(types)
    scales = [scale_of(sheet, devices * each) for sheet in sheets]
    models = [model if sheet == sheets[0] else model_on(model.description, training, sheet) for sheet in sheets]
    plain = model if model.table is None else model_on(model.description, training, sheets[0])  # a table measured the first type
    numbers, others = [], []
    for own, one, scale in zip(models, types, scales):
        if own is not model:
            others.append((one.name, own.layers(times_scaled(own, scale)).given))
        numbers.append(0 if own is model else len(others))
    scaled = with_scale(rows, plain.layers(times_scaled(plain, scales[0])).given, others) if others else Scaled(list(rows), 0)
    limits = [given if given is not None else amount_in(f"{one.name}: mem_limit", one.limit, "memory") if isinstance(one.limit, str)
              else float(one.limit) if one.limit is not None else sheet.memory for one, sheet in zip(types, sheets)]
    places = by_device(types)
    linked = [one._replace(sheet=sheet) if own is not model else _measured_links(one, model) for one, sheet, own in zip(types, sheets, models)]
    values: Dict[str, Any] = {"layers": scaled.rows, "device_speeds": _speeds(types, speeds),
                              "mem_limit": [max(0.0, limits[number] - buffers) for number in places],
                              **link_lists(linked, each)}
    overheads = _for_each(types, "device_overhead", [one.overhead for one in types], overhead, 0)
    if overheads is not None:
        values["device_overhead"] = [_seconds(types[number].name, own) for number, own in zip(places, overheads)]
    if others:
        values["layer_types"] = [float(numbers[number] or scaled.own) for number in places]
    return Unlike([types[number].name for number in places], [models[number] for number in places], [limits[number] for number in places], values)
