# SPDX-License-Identifier: Apache-2.0
"""The price of a layout that is told: the time of a step with its parts, and the memory of each device."""
import ctypes
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _abi
from ._library import Error, call, encoded, lib, new_handle
from .description import c_count
from .enums import member, names_of
from .lowering import every_of
from .listener import Progress, Told, check_progress
from .model import Model, check_kind
from .shown import shown
from .views import sized
from .words import counted


class DevicePrice(NamedTuple):
    """The peak memory of a device by cause, in bytes. logits: with 4 bytes each; other: gradients of the logits; gathered: with
    sharding 3, the weights of two layers."""

    weights: float
    gradients: float
    optimizer: float
    activations: float
    logits: float
    gathered: float
    other: float
    total: float


class StepPrice(NamedTuple):
    """The time of a step in seconds: step_time = pipeline_time + exposed_data_parallel + optimizer_time. pipeline_time includes the other
    exposed parts. The exposed parts are those of the device with the most work. memory: memory of each device of a replica."""

    devices: int
    step_time: float
    pipeline_time: float
    optimizer_time: float
    exposed_data_parallel: float
    exposed_tensor_parallel: float
    exposed_context_parallel: float
    exposed_expert_parallel: float
    exposed_pipeline: float
    tokens_per_second_per_device: float
    operations_per_second_per_device: float
    mfu: float
    memory: List[DevicePrice]


RANK_ORDERS = tuple(names_of(_abi.RankOrder))  # by their numbers


def rank_order_number(word: object) -> int:
    if word not in RANK_ORDERS:
        raise Error(f"rank_order is {shown(word)}; it must be {' or '.join(RANK_ORDERS)}")
    return RANK_ORDERS.index(str(word))


def pipeline_links(model: Model, devices: int, rank_order: str) -> Tuple[Any, Any]:
    """Latencies and bandwidths between the devices of a pipeline, as the price has them: one, or one of each pair."""
    pipeline = pipeline_record(devices, rank_order=rank_order)
    pairs = [model.pipeline_link(pipeline, one, other) for one in range(devices) for other in range(devices)]
    distinct = {pair for number, pair in enumerate(pairs) if number % (devices + 1)} or set(pairs)
    if len(distinct) == 1:
        return distinct.pop()
    return [latency for latency, _ in pairs], [rate for _, rate in pairs]


def price(model: Model, devices: int = 1, microbatches: int = 1, *, chunks: int = 1, strategy: Optional[str] = None,
          split: Optional[Sequence[int]] = None, recompute: Optional[str] = None, recompute_layers: int = 0, pair_rule: str = "best",
          offload_layers: int = 0, rank_order: str = "tp-cp-ep-dp-pp", reduce_every: int = 1, progress: Optional[Progress] = None) -> StepPrice:
    """Estimates the time of a step of a model, in a pipeline of `devices` devices with `chunks` stages each.

    strategy: default 1f1b; if chunks is above 1, interleaved_1f1b. split: number of layers of each stage; towers, embedding,
    MTP layers and head count as layers. Without split, all stages have the same number of decoders. recompute: "selective",
    "modules" or "full", for the first recompute_layers decoders of each stage; a recompute_layers of 0 means all. pair_rule: if
    the training asks for windows, the order in which the windows of overlapped pairs run: "best"; "megatron", as Megatron-LM
    launches them; or "megatron_delayed", as it launches them with --delay-wgrad-compute.
    offload_layers: number of first decoders of each stage whose activations are on the host from forward to backward.
    rank_order: which dimension comes last, and so is between nodes: "tp-cp-ep-dp-pp" or "tp-cp-ep-pp-dp".
    reduce_every: how often the schedule runs in a step, before gradients are reduced; each run has microbatches / reduce_every microbatches.
    progress: a function; strategies that search call it with the share of the work that is done and the best time so far. If it
    returns False, the call raises ppsched.Cancelled. Errors: ppsched.Error with what is wrong, ppsched.Refused where the
    strategy does not support the sizes.

        device, training = ppsched.find_accelerator("h100"), ppsched.Training(tensor_parallel=8)
        model = ppsched.Model(ppsched.read_model("config.json").description, training, device)
        print(ppsched.price(model, devices=4, microbatches=16).step_time)
    """
    check_kind("price", "model", model, Model)
    check_progress(progress)
    options = pipeline_record(devices, microbatches, chunks, strategy, split, recompute, recompute_layers, pair_rule, offload_layers, rank_order,
                              reduce_every)
    with Told(progress) as function:
        options.progress = function
        handle = new_handle(lib.ppsched_price_create, model._handle, ctypes.byref(options), None)
    try:
        return _step(handle, options.devices or 1)
    finally:
        lib.ppsched_price_destroy(handle)


def pipeline_record(devices: int = 1, microbatches: int = 1, chunks: int = 1, strategy: Optional[str] = None, split: Optional[Sequence[int]] = None,
                    recompute: Optional[str] = None, recompute_layers: int = 0, pair_rule: str = "best", offload_layers: int = 0,
                    rank_order: str = "tp-cp-ep-dp-pp", reduce_every: int = 1) -> Any:
    """The library's record of the arguments of price(), which keeps alive what it points to."""
    options = sized(_abi.Pipeline)
    options.devices, options.microbatches = c_count("devices", devices), c_count("microbatches", microbatches)
    options.chunks, options.recompute_layers = c_count("chunks", chunks), c_count("recompute_layers", recompute_layers)
    options.pair_rule = member(_abi.PairRule, "pair_rule", pair_rule)
    options.offload_layers = c_count("offload_layers", offload_layers)
    options.rank_order = rank_order_number(rank_order)
    options.reduce_every = every_of(reduce_every)
    options.strategy = None if strategy is None else encoded("strategy", strategy)
    options.recompute = None if recompute is None else encoded("recompute", recompute)
    counts = None if split is None else _counts(split, devices * chunks)
    if counts is not None:
        options.split = ctypes.cast(counts, ctypes.POINTER(ctypes.c_uint32))
    return options


def _counts(split: Sequence[int], stages: int) -> "ctypes.Array[ctypes.c_uint32]":
    if isinstance(split, (str, bytes)) or not isinstance(split, Sequence):
        raise TypeError(f"price: split must be a list of numbers, not {shown(split)}")
    if len(split) != stages:
        raise Error(f"split has {counted(len(split), 'stage')}; devices times chunks are {stages}")
    return (ctypes.c_uint32 * stages)(*(c_count("split", count) for count in split))


def _step(handle: ctypes.c_void_p, devices: int) -> StepPrice:
    step, memory = sized(_abi.StepPrice), []
    call(lib.ppsched_price_get_step, ctypes.byref(step), handle)
    for device in range(devices):
        record = sized(_abi.DevicePrice)
        call(lib.ppsched_price_get_device, ctypes.byref(record), handle, device)
        memory.append(DevicePrice(*(getattr(record, name) for name in DevicePrice._fields)))
    fields: Dict[str, Any] = {name: getattr(step, name) for name in StepPrice._fields[:-1]}
    return StepPrice(memory=memory, **fields)
