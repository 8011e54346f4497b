# SPDX-License-Identifier: Apache-2.0
"""From a number of devices to the layouts that are fastest on them."""
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from ._library import Error
from .accelerators import Accelerator, find_accelerator, scale_of
from .description import Description, Transformer
from .job import JobLayout, JobType
from .layer_table import LayerTable, frozen
from .layers import LayerSplit, Layers, Split, config_from_layers
from .config import Config
from .layout_search import JobWords, Ranked, Search, search_layouts
from .listener import Progress
from .model import Model, Training, times_scaled
from .price import RANK_ORDERS, pipeline_links
from .schedule import Schedule, generate
from .shown import shown
from .typed_layouts import layers_on, links_on, places_of, type_row

MEMORY_ERROR = 0.11  # largest error of estimated memory that was found (docs/model.md)
LONGEST = 8192  # tokens of a sequence, if neither the model nor the caller says less
OVERLAPS: Dict[str, Any] = {"overlaps_gradients": True, "overlaps_parameters": True, "overlaps_context": True}


class LayoutRows(List[Dict[str, Any]]):
    """Rows of layouts, the best first. counts: how many of all layouts were priced, and how many each bound ruled out; nearest: if no
    layout fits, rows of the layouts that exceed the memory limit least; search: the search that made the rows."""

    counts: Dict[str, int]
    nearest: List[Dict[str, object]]
    search: Search


# --- a layout's model and schedule ---

def training_of_layout(words: JobWords, row: Ranked) -> Training:
    layout = row.layout
    return words.training._replace(micro_batch_size=layout.micro_batch, tensor_parallel=layout.tp, context_parallel=layout.cp,
                                   expert_parallel=layout.ep, expert_tensor_parallel=layout.etp, data_parallel=layout.dp,
                                   sharding=layout.zero)


def _model(words: JobWords, row: Ranked) -> Model:
    return Model(Description(words.description), training_of_layout(words, row), words.device, words.table)


class LaidOut(NamedTuple):
    """A layout's model, its schedule, and the split of its layers."""

    model: Model
    schedule: Schedule
    split: LayerSplit


def limits_of(words: JobWords) -> List[float]:
    """The bytes that devices of each type have."""
    return [one.memory_limit or words.memory_limit or one.device.memory for one in words.types] or [words.memory_limit or words.device.memory]


def _limit(words: JobWords, row: Ranked) -> Dict[str, Any]:
    """The limit of a search for its order, without what the schedule's own memory does not have."""
    found, places = row.found, places_of(words.types, row.layout)
    if found.memory_limit == 0 or found.price is None:
        return {}
    devices, limits = found.price.memory, limits_of(words)
    beside = sum(device.other for device in devices), max(device.gathered for device in devices)
    rooms = [found.memory_limit + (limits[number] - limits[0]) for number in places] or [found.memory_limit]
    own = [max(room - beside[0] - beside[1], 0.0) for room in rooms]
    return {"mem_limit": own if places else found.memory_limit - beside[0] - beside[1]}


def _models(words: JobWords, row: Ranked) -> List[Model]:
    """The model on each type of devices."""
    return [Model(Description(words.description), training_of_layout(words, row), one.device) for one in words.types]


def _config(words: JobWords, model: Model, row: Ranked, layers: LayerSplit, scale: float) -> Config:
    """The problem of a layout, whose layers take `scale` times as long as alone."""
    layout, places = row.layout, places_of(words.types, row.layout)
    latency, rate = links_on(_models(words, row), places, layout.rank_order) if places else pipeline_links(model, layout.pp, layout.rank_order)
    times = [time * scale for time in latency] if isinstance(latency, list) else latency * scale
    rates = [one / scale for one in rate] if isinstance(rate, list) else rate / scale
    types: Dict[str, Any] = {"layer_types": [1.0 + number for number in places]} if places else {}
    empty = Config(layout.pp, layout.microbatches, layout.pp * layout.chunks, p2p_time=times, p2p_bandwidth=rates, **_limit(words, row), **types)
    return config_from_layers(empty, *layers)


def _layers(words: JobWords, model: Model, row: Ranked, scale: float) -> Layers:
    """The layers, whose times are `scale` times as long as alone; of several types of devices on each."""
    return layers_on(_models(words, row), words.gpus, scale) if words.types else model.layers(times_scaled(model, scale))


def lay_out(words: JobWords, row: Ranked) -> LaidOut:
    """The schedule that was priced, in seconds and bytes."""
    layout, found = row.layout, row.found
    model = _model(words, row)
    layers = _layers(words, model, row, 1.0)
    kinds, recomputes, position = layers.kinds, [], 0
    for count in found.split:
        left = found.recompute_layers or count
        for names in kinds[position:position + count]:
            may = found.recompute is not None and found.recompute in names and left > 0
            recomputes.append(names.index(found.recompute) + 1 if may and found.recompute is not None else 0)
            left -= bool(names)
        position += count
    split = Split(list(found.split), recomputes)
    schedule = generate(found.strategy, _config(words, model, row, LayerSplit(layers, split), 1.0))
    scale = scale_of(words.device, words.gpus)
    if scale != 1:  # the order is that without it, in which no time rounds otherwise
        schedule.config = _config(words, model, row, LayerSplit(_layers(words, model, row, scale), split), scale)._placed(schedule.placement)
    return LaidOut(model, schedule, LayerSplit(layers, split))


# --- rows ---

def within_of(words: JobWords, layout: JobLayout) -> Dict[str, str]:
    """By dimension of several devices: what contains each of its groups, a "node", a "pod" or only the "job"."""
    stage = layout.tp * layout.cp
    is_data_first = layout.rank_order == RANK_ORDERS[0]
    spans = {"tp": layout.tp, "cp": stage, "ep": layout.ep * layout.etp,
             "pp": words.gpus if is_data_first else stage * layout.pp, "dp": stage * layout.dp if is_data_first else words.gpus}
    devices = [one.device for one in words.types] or [words.device]
    node, pod = min(one.node_devices for one in devices), min(one.node_devices * one.pod_nodes for one in devices)
    places = {name: "node" if span <= node else "pod" if span <= pod else "job" for name, span in spans.items() if getattr(layout, name) > 1}
    return {**places, "pp": "job"} if len(words.types) > 1 else places


def layout_row(words: JobWords, row: Ranked) -> Dict[str, Any]:
    layout = row.layout
    return {"tp": layout.tp, "pp": layout.pp, "dp": layout.dp, "cp": layout.cp, "ep": layout.ep, "etp": layout.etp, "chunks": layout.chunks,
            "micro_batch": layout.micro_batch, "microbatches": layout.microbatches, "global_batch": layout.global_batch, "gpus": words.gpus,
            "zero": layout.zero, "fsdp": layout.zero == 3, "seq": words.training.sequence_length, "rank_order": layout.rank_order,
            **type_row(words.types, layout)}


def found_row(words: JobWords, row: Ranked) -> Dict[str, Any]:
    """A layout that fits, as a row of JSON."""
    layout, found, price = row.layout, row.found, row.found.price
    assert price is not None
    limit = found.limit
    return {"layout": layout_row(words, row), "fits": True, "strategy": found.strategy, "etp": layout.etp, "chunks": layout.chunks,
            "stages": layout.pp * layout.chunks, "microbatches": layout.microbatches, "fsdp": layout.zero == 3,
            "step_time": price.pipeline_time,
            "step": {"step_time": price.step_time, "pipeline_time": price.pipeline_time, "optimizer_time": price.optimizer_time,
                     "data_parallel_time": price.exposed_data_parallel, "exposed_data_parallel_time": price.exposed_data_parallel,
                     "exposed_tensor_parallel_time": price.exposed_tensor_parallel,
                     "exposed_context_parallel_time": price.exposed_context_parallel,
                     "exposed_expert_parallel_time": price.exposed_expert_parallel, "exposed_pipeline_time": price.exposed_pipeline,
                     "tokens_per_second": price.tokens_per_second_per_device * words.gpus, "mfu": price.mfu,
                     "scale": scale_of(words.device, words.gpus)},
            "split": list(found.split), "recompute": found.recompute, "recompute_layers": found.recompute_layers,
            "memory": [device._asdict() for device in price.memory], "peak_memory": found.memory, "memory_limit": limit,
            "memory_near_limit": found.memory * (1 + MEMORY_ERROR) > limit,
            "within": within_of(words, layout), "runnable_on": list(found.runs_on),
            "runs_on": list(found.runs_on), "runnable": bool(found.runs_on), "bound": layout.bound,
            **({} if words.table is None else {"layer_table": _model(words, row).table_notes()})}


def lacking_row(words: JobWords, row: Ranked) -> Dict[str, Any]:
    """A layout that does not fit, with what it lacks in bytes."""
    limit = row.found.limit
    return {"layout": layout_row(words, row), "fits": False, "peak_memory": row.found.memory, "memory_limit": limit,
            "lacks": row.found.memory - limit}


def rows_of(words: JobWords, search: Search) -> LayoutRows:
    rows = LayoutRows(found_row(words, row) for row in search.best)
    rows.counts, rows.search = search.counts, search
    rows.nearest = [] if search.best else [lacking_row(words, row) for row in search.lacking]
    return rows


# --- the call ---

ModelLike = Union[Model, Description, Transformer, Any]  # or a ppsched.ModelFile


def _described(model: ModelLike, device: Accelerator) -> Tuple[Description, Training]:
    """The description, and the training: of a Model its own."""
    if isinstance(model, Model):
        return model.description, model.training
    description = Description(model) if isinstance(model, Transformer) else getattr(model, "description", model)
    if not isinstance(description, Description):
        raise TypeError(f"plan_layouts: model must be a ppsched.Model, ModelFile, Description or Transformer, not {shown(model)}")
    longest = getattr(model, "sequence", 0) or description.sequence_length or description.positions or LONGEST
    return description, Training(sequence_length=min(longest, LONGEST), sequence_parallel=True, precision=device.usual_precision, **OVERLAPS)


def _fixed(fixed: Mapping[str, Any]) -> Tuple[Tuple[str, Any], ...]:
    if not isinstance(fixed, Mapping):
        raise TypeError(f"plan_layouts: fixed must be a dict, such as {{'tp': 8}}, not {shown(fixed)}")
    for name, value in fixed.items():
        if not isinstance(value, (int, str, Sequence)):
            raise TypeError(f"plan_layouts: fixed[{name!r}] must be a number or a list of numbers, not {shown(value)}")
    return tuple((name, value if isinstance(value, (int, str)) else tuple(value)) for name, value in fixed.items())


def _types(device: Any) -> Tuple[JobType, ...]:
    """The types that a list of devices with their numbers states."""
    if not isinstance(device, Sequence) or not device or not all(isinstance(one, tuple) and len(one) == 2 and isinstance(one[0], (str, Accelerator)) for one in device):
        raise TypeError(f"plan_layouts: device must be a name, a ppsched.Accelerator, or a list such as [('h100', 8), ('a100', 8)], not {shown(device)}")
    return tuple(JobType(find_accelerator(name) if isinstance(name, str) else name, count) for name, count in device)


def plan_layouts(model: ModelLike, *, gpus: int, device: Union[Accelerator, str, Sequence[Tuple[Union[Accelerator, str], int]]], table: Optional[LayerTable] = None,
                 fixed: Optional[Mapping[str, Union[int, str, Sequence[int], Sequence[str]]]] = None, top: int = 10, executor: Any = None,
                 progress: Optional[Progress] = None, goal: str = "step", runtime: Optional[str] = None, strategies: Sequence[str] = (),
                 memory_limit: float = 0.0) -> LayoutRows:
    """Finds the best layouts of a training on `gpus` devices. The rows are the same as in ppsched pick --gpus --json (docs/layout_search.md).

    model: a ModelFile (ppsched.read_model), a Description or a Transformer; sums of gradients, gathers of weights and context
    parallelism then overlap with compute. model may also be a Model. Its training is then used, except the parallelism,
    micro-batch and sharding.
    device: a name or an Accelerator. For several types of devices a list of types and their numbers, such as [("h100", 8),
    ("a100", 8)]; each device of a pipeline then consists of GPUs of one type, and layout["device_types"] says which type.
    table: measured costs (docs/tables.md; default: the costs of a Model). Its rows must give each size in which layouts differ. The
    "layer_table" of a row says what was measured, and how gaps were filled.
    fixed: one number or a list of numbers for any of tp, cp, ep, etp, pp, chunks, micro_batch, zero and global_batch; the rest
    is searched. rank_order, "tp-cp-ep-dp-pp" or "tp-cp-ep-pp-dp", is searched only if a list of both is given.
    goal: "step" or "tokens". runtime: name of a runtime; only layouts that it runs are listed. memory_limit: bytes (default:
    memory of the device).
    executor: one of concurrent.futures, or an object that has submit, and futures with result, add_done_callback and cancel.
    With an executor the rows are the same to the last bit as without one. Layouts of workers that are killed are priced in this process, with
    one RuntimeWarning. An exception in a worker is raised.
    progress: a function that is called with the share of the layouts that are done and the best step time; if it returns False,
    the search stops.
    Errors: ppsched.Error where no layout is possible. If none fits, there are no rows, and `nearest` has the layouts that exceed the memory
    limit least.
    strategies: names of the strategies to try (default: as ppsched.plan).

        rows = ppsched.plan_layouts(ppsched.read_model("config.json"), gpus=16, device="h100", fixed={"global_batch": 64}, top=2)
        print([(row["layout"]["tp"], row["layout"]["pp"], row["step_time"]) for row in rows])
    """
    if table is not None and not isinstance(table, LayerTable):
        raise TypeError(f"plan_layouts: table must be a ppsched.LayerTable, not {shown(table)}")
    if isinstance(strategies, str) or not isinstance(strategies, Sequence):
        raise TypeError(f"plan_layouts: strategies must be a list of names, not {shown(strategies)}")
    if executor is not None and not hasattr(executor, "submit"):
        raise TypeError(f"plan_layouts: executor must have submit, as those of concurrent.futures, not {shown(executor)}")
    types: Tuple[JobType, ...] = ()
    if isinstance(device, str):
        known = find_accelerator(device)
    elif isinstance(device, Accelerator):
        known = device
    else:
        types = _types(device)
        known = types[0].device
    description, training = _described(model, next((one.device for one in types if one.device.lacks_bf16), known))
    table = getattr(model, "table", None) if table is None else table
    words = JobWords(description.json(), training, known, gpus, _fixed(fixed or {}), goal, runtime, tuple(strategies), memory_limit,
                     None if table is None else frozen(table), types)
    return rows_of(words, search_layouts(words, top, executor, progress))
