# SPDX-License-Identifier: Apache-2.0
"""Estimates for a job: memory of each device by cause, the time of a step, and tokens per second."""
import itertools
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core._library import Error
from .._core.accelerators import scale_of
from .._core.config import Config
from .._core.layers import Layers, Split, config_from_layers
from .._core.model import FORMER_ROWS, LayerMemory, Model, UpdateCost, times_scaled
from .._core.price import pipeline_links
from .._core.schedule import generate
from .._core.shown import shown
from .._core.unit_advice import seconds_of
from .model_options import Job

GIB = 2.0**30
_LONGEST_STEP = 1e9  # seconds: 30 years


class DeviceMemory(NamedTuple):
    """Memory of one device in bytes, by cause."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    buffers: float
    parameters: float = 0.0
    expert_parameters: float = 0.0
    embeddings: int = 0  # embeddings that it holds, including copies
    trained: float = 0.0
    expert_trained: float = 0.0

    @property
    def total(self) -> float:
        return sum(self[:5])


def decoder_count(model: Model) -> int:
    """The number of decoders."""
    return sum(row.layers for row in model.rows if row.role == "decoder")


def even_split(model: Model, stages: int) -> List[int]:
    """The number of layers of each stage. Decoders are divided evenly; the first stages get one more if that is not possible. The first
    stage also has the towers and the embedding, the last one the MTP layers and the head."""
    decoders = decoder_count(model)
    counts = [decoders // stages + (stage < decoders % stages) for stage in range(stages)]
    counts[0] += sum(row.layers for row in model.rows if row.role in ("tower", "embedding"))
    counts[-1] += sum(row.layers for row in model.rows if row.role in ("mtp", "head"))
    return counts


def memory_by_kind(model: Model) -> Dict[str, LayerMemory]:
    """The memory of each kind of layer, by its name."""
    return {row.name: model.memory(row.name) for row in model.rows}


def states_of(names: Sequence[str], held: Mapping[str, LayerMemory]) -> List[float]:
    """Sums over layers: weights, gradients, optimizer, parameters, parameters of experts, and what of both learns."""
    fields = ("weights", "gradients", "optimizer", "parameters", "expert_parameters", "trained", "expert_trained")
    return [sum(getattr(held[name], field) for name in names) for field in fields]


def own_names(names: Sequence[str], counts: Sequence[int]) -> List[List[str]]:
    """The layers of each stage."""
    ends = list(itertools.accumulate(counts))
    return [list(names[end - count:end]) for end, count in zip(ends, counts)]


def stage_names(names: Sequence[str], counts: Sequence[int], tied: bool) -> List[List[str]]:
    """The layers of each stage, and after them the embedding if the stage holds a copy of it. The last stage holds a copy if the
    embedding is tied, and a stage with MTP layers holds one for these. The first stage has the original."""
    stages = own_names(names, counts)
    for number, stage in enumerate(stages):
        if number > 0:
            stage += ["embedding"] * (("mtp" in stage) + (tied and number + 1 == len(stages)))
    return stages


def kept_of(memory: LayerMemory, recompute: str) -> float:
    return {"none": memory.activations, "selective": memory.selective, "full": memory.full}[recompute]


def _in_flight(job: Job, device: int, chunk: int) -> int:
    """How many microbatches of a chunk a device holds at once, with 1F1B or interleaved 1F1B."""
    if job.vpp == 1:
        return min(job.pp - device, job.microbatches)
    warm = min((job.pp - device - 1) * 2 + (job.vpp - 1) * job.pp + 1, job.microbatches * job.vpp)
    rounds, rest = divmod(warm, job.pp * job.vpp)
    return rounds * job.pp + min(max(rest - chunk * job.pp, 0), job.pp)


def even_memory(job: Job) -> List[DeviceMemory]:
    """Memory of each device with 1F1B and an even split, without buffers. Activations are those that are kept, and those of the largest
    recomputed layer, which its backward needs."""
    held, names = memory_by_kind(job.model), layer_names(job.model)
    counts = even_split(job.model, job.pp * job.vpp)
    stages, active = stage_names(names, counts, job.model.description.tied), own_names(names, counts)
    again = {row.name for row in job.model.rows if row.role == "decoder"}
    memory = []
    for device in range(job.pp):
        kept, largest, all_names = 0.0, 0.0, []
        for chunk in range(job.vpp):
            own = [(held[name], kept_of(held[name], job.recompute if name in again else "none"))
                   for name in active[chunk * job.pp + device]]
            kept += sum(layer for _, layer in own) * _in_flight(job, device, chunk)
            largest = max([largest, *(layer.activations - remains for layer, remains in own)])
            all_names += stages[chunk * job.pp + device]
        weights, gradients, optimizer, parameters, experts, *learning = states_of(all_names, held)
        memory.append(DeviceMemory(weights, gradients, optimizer, kept + largest, 0.0, parameters, experts, all_names.count("embedding"), *learning))
    return memory


def layer_names(model: Model) -> List[str]:
    """The name of each layer, in order."""
    return model.layers().names


# --- time ---

def links_of(job: Job) -> Dict[str, Any]:
    """p2p_time and p2p_bandwidth. Neighbours in a pipeline are in the same node if the whole job fits into one. If pipelines are numbered
    before replicas, each pair of devices has the link of its places."""
    latency, bandwidth = job.model.link(job.devices) if job.pipeline is None else pipeline_links(job.model, job.pp, job.rank_order)
    return {"p2p_time": latency, "p2p_bandwidth": bandwidth}


def _update_cost(model: Model, device: DeviceMemory, pipeline: Any) -> UpdateCost:
    """Adapters are updated; frozen weights are gathered, where they are sharded."""
    if not model.training.adapter_rank:
        return model.update_cost(device.parameters, device.expert_parameters, pipeline)
    frozen = model.update_cost(device.parameters - device.trained, device.expert_parameters - device.expert_trained, pipeline)
    own = model.learning.update_cost(device.trained, device.expert_trained, pipeline)
    return own._replace(reduce_time=own.reduce_time + frozen.reduce_time, parameter_time=own.parameter_time + frozen.parameter_time)


def update_time_on(models: Sequence[Model], speeds: Sequence[float], memory: Sequence[DeviceMemory], pipeline: Any = None) -> Tuple[float, float]:
    """Optimizer and exposed data-parallel time of the slowest device: each has a model, with its data sheet, and a speed. pipeline: that of a
    job."""
    costs = [_update_cost(model, device, pipeline) for model, device in zip(models, memory)]
    times = [(cost.optimizer_time / own, cost.reduce_time) for cost, own in zip(costs, speeds)]
    return max(times, key=sum)


def update_time(model: Model, memory: Sequence[DeviceMemory], pipeline: Any = None) -> Tuple[float, float]:
    """The same for devices that are alike."""
    return update_time_on([model] * len(memory), [1.0] * len(memory), memory, pipeline)


def copies_time(job: Job, memory: Sequence[DeviceMemory]) -> float:
    """With MTP layers: the time of summing the gradients of the embedding and its copies once per step, by an all-reduce of the devices
    that hold one, as Megatron-LM does."""
    span = job.devices if job.pipeline is None else job.devices // job.model.training.data_parallel
    return job.model.copies_time(sum(row.embeddings > 0 for row in memory), span)


def once_a_step(job: Job, memory: Sequence[DeviceMemory]) -> Tuple[float, float]:
    """Optimizer time, and exposed time for gradients and weights between replicas and between copies."""
    optimizer, between = update_time(job.model, memory, job.pipeline)
    return optimizer, between + copies_time(job, memory)


def even_step(job: Job, layers: Layers) -> float:
    """Seconds of the pipeline alone, with 1F1B, an even split, and the job's recomputation."""
    names = layers.names
    kinds = [kinds.index(job.recompute) + 1 if job.recompute in kinds else 0 for kinds in layers.kinds]
    link = links_of(job)
    empty = Config(job.pp, job.microbatches, p2p_time=link["p2p_time"], p2p_bandwidth=link["p2p_bandwidth"])
    config = config_from_layers(empty, layers, Split(even_split(job.model, job.pp), kinds))
    return generate("1f1b", config).evaluate().metrics.makespan


def operations(job: Job) -> float:
    """Matrix operations of all devices in a step: forward, and twice that backward, without recomputation. Beside frozen weights the backward
    has as many as the forward, and those of the adapters' gradients."""
    training = job.model.training
    sharing = training.tensor_parallel * training.context_parallel * training.data_parallel
    one = sum(row.layers * job.model.pass_cost(row.name, "forward").matrix_operations for row in job.model.rows)
    if not training.adapter_rank:
        return 3 * one * sharing * job.microbatches
    learning = sum(row.layers * job.model.pass_cost(row.name, "weight").matrix_operations for row in job.model.rows)
    return (2 * one + learning) * sharing * job.microbatches


class Speed(NamedTuple):
    """Tokens per second and MFU (the share of all devices' matrix rate) for the time of a step."""

    tokens_per_second: float
    mfu: float


def speed(job: Job, step: float) -> Speed:
    device = job.model.accelerator
    assert device is not None
    return Speed(job.global_batch * job.model.training.sequence_length / step,
                 operations(job) / (step * device.matrix_rate * job.devices))


# --- measured times ---

class Calibrated(NamedTuple):
    """Layers with measured times, and notes on what was scaled by which factor."""

    layers: Layers
    notes: List[str]


def _factors(model: Model, words: Optional[Sequence[str]]) -> Tuple[Dict[Tuple[str, str], float], List[str]]:
    factors, notes = {}, []
    for word in words or ():
        place, _, value = word.partition("=")
        layer, _, kind = place.partition(".")
        seconds = seconds_of(f"--layer-times {place}", value) if value else 0.0
        names = [row.name for row in model.rows]
        layer = FORMER_ROWS.get(layer, layer) if layer not in names else layer
        if layer not in names or kind not in ("forward", "input", "weight") or not 0 < seconds < float("inf"):
            raise Error(f"--layer-times {word}: it must be LAYER.PASS=TIME above 0, such as decoder.forward=2.1ms; LAYER is {', '.join(names)}; "
                        "PASS is forward, input or weight")
        predicted = model.pass_cost(layer, kind).time
        if predicted == 0:
            raise Error(f"--layer-times {word}: the model has no such pass")
        factors[layer, kind] = seconds / predicted
        notes.append(f"{layer} {kind} x {seconds / predicted:.4g} (measured {seconds:g} s, predicted {predicted:.4g} s)")
    return factors, notes


def scaled_factors(job: Job) -> Dict[Tuple[str, str], float]:
    """Of a device whose pipelines take longer on many devices than alone; price() has the same factor."""
    device = job.model.accelerator
    return {} if device is None else times_scaled(job.model, scale_of(device, job.devices))


def calibrated(job: Job, options: Mapping[str, Any], factors: Mapping[Tuple[str, str], float] = {},
               told: Sequence[str] = ()) -> Calibrated:
    """The layers of the job, scaled to measured times. factors: those found before, with notes on them."""
    own, notes = _factors(job.model, options.get("layer_times"))
    factors, notes = {**factors, **own}, [*job.model.table_notes(), *told, *notes]
    layers, given = job.model.layers(factors), options.get("step_time")
    step, rate = None if given is None else seconds_of("--step-time", given), options.get("tokens_per_second")
    if step is not None and not 0 < step < float("inf"):
        raise Error(f"--step-time is {shown(given)}; it must be a finite time above 0")
    if rate is not None and not 0 < rate < float("inf"):
        raise Error(f"--tokens-per-second is {rate:g}; it must be a finite number above 0")
    if step is not None and rate is not None:
        raise Error("--step-time, --tokens-per-second: both set the time of a step; give one of them")
    measured = step if step is not None else job.global_batch * job.model.training.sequence_length / rate if rate else None
    if measured is None:
        return Calibrated(layers, notes)
    if measured > _LONGEST_STEP:
        raise Error(f"the measured step of {measured:g} s is longer than {_LONGEST_STEP:g} s; give a shorter one, or more tokens per second")
    once = sum(once_a_step(job, even_memory(job._replace(vpp=1))))
    pipeline = even_step(job, layers)
    if not measured > once:
        raise Error(f"the measured step of {measured:g} s is not longer than the {once:g} s of its optimizer; give a longer one")
    scale = (measured - once) / pipeline
    for row in job.model.rows:
        for kind in ("forward", "input", "weight"):
            factors[row.name, kind] = factors.get((row.name, kind), 1.0) * scale
    notes.append(f"all layers x {scale:.4g} (a step with 1F1B and an even split: measured {measured:.4g} s, predicted {pipeline + once:.4g} s)")
    return Calibrated(job.model.layers(factors), notes)
