# SPDX-License-Identifier: Apache-2.0
"""Estimates of the costs of a transformer's layers, without a run."""
import ctypes
import weakref
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type, TypeVar, Union, cast

from . import _abi
from ._abi import LayerFlag, LayerPlace, ModelLayer, ModelPass, TrainingFlag, TransformerFlag
from ._library import Error, call, decoded, lib, new_handle
from .accelerators import Accelerator, accelerator_record, find_accelerator
from .enums import member
from .layers import Layer, Layers
from .model_slices import attention_share
from .number_lists import integer, numbers
from .shown import shown
from .views import Shared, sized

Record = TypeVar("Record", bound=NamedTuple)


class Transformer(NamedTuple):
    """A decoder-only transformer; parts that it does not have are 0 or False. include/ppsched/model.h describes each field.

    expert_layers: for each layer 1 if it has experts, else 0. If it is empty, dense_layers, expert_interval and expert_offset apply."""

    layers: int
    hidden_size: int
    heads: int
    vocabulary_size: int
    ffn_size: int = 0
    key_value_heads: int = 0
    head_size: int = 0
    positions: int = 0
    query_rank: int = 0
    key_value_rank: int = 0
    rope_head_size: int = 0
    value_head_size: int = 0
    experts: int = 0
    experts_per_token: int = 0
    expert_ffn_size: int = 0
    shared_ffn_size: int = 0
    dense_layers: int = 0
    expert_interval: int = 0
    expert_offset: int = 0
    mtp_layers: int = 0
    tied: bool = False
    gated: bool = False
    norm_bias: bool = False
    qkv_bias: bool = False
    projection_bias: bool = False
    mlp_bias: bool = False
    qk_norm: bool = False
    post_norms: bool = False
    router_bias: bool = False
    causal: bool = True
    dropout: bool = False
    no_final_norm: bool = False
    no_latent_norms: bool = False
    expert_layers: Sequence[int] = ()


class Training(NamedTuple):
    """How it is trained. Bytes are per parameter, or per element of activations. sharding: 0 to 3, as the stages of ZeRO."""

    sequence_length: int = 1
    micro_batch_size: int = 1
    tensor_parallel: int = 1
    context_parallel: int = 1
    expert_parallel: int = 1
    expert_tensor_parallel: int = 0
    data_parallel: int = 1
    sharding: int = 0
    weight_bytes: float = 2.0
    gradient_bytes: float = 4.0
    optimizer_bytes: float = 12.0
    activation_bytes: float = 2.0
    sequence_parallel: bool = False
    keeps_scores: bool = False


class Parameters(NamedTuple):
    """Numbers of parameters; attention_with_norms, the MLPs and mtp are those of one layer."""

    total: int
    active: int
    embedding: int
    positions: int
    output: int
    final_norm: int
    attention_with_norms: int
    dense_mlp: int
    expert_mlp: int
    expert_mlp_active: int
    mtp: int
    dense_layers: int
    expert_layers: int


class PassCost(NamedTuple):
    """The cost of a layer in a pass, for one microbatch on one device; time is the sum of the four parts."""

    time: float
    matrix_time: float
    vector_time: float
    memory_time: float
    communication_time: float
    matrix_operations: float
    vector_operations: float
    memory_bytes: float
    communication_bytes: float


class LayerMemory(NamedTuple):
    """The memory of a layer on one device in bytes, and its number of parameters."""

    parameters: float
    weights: float
    gradients: float
    optimizer: float
    activations: float
    activations_until_weight: float
    selective: float
    full: float
    output_bytes: float
    expert_parameters: float


class UpdateCost(NamedTuple):
    """The cost once per step: seconds of the optimizer, and of summing gradients and gathering weights, without overlap."""

    optimizer_time: float
    reduce_time: float


class MegatronMemory(NamedTuple):
    """Megatron-LM's own estimate: weights and optimizer of the most loaded device, and activations of the first stage."""

    weight_and_optimizer_bytes: float
    activation_bytes: float
    activation_bytes_with_sequence_parallel: float
    activation_bytes_without: float


def _record(struct: Type[Any], values: NamedTuple, flags: Type[Any]) -> Any:
    record = sized(struct)
    known = {name.lower(): flag for name, flag in flags.__members__.items()}
    for name, value in values._asdict().items():
        if name in known:
            record.flags |= known[name] if value else 0
        elif name.endswith("_bytes"):
            setattr(record, name, numbers(name, value)[0])
        elif name == "expert_layers":
            record.expert_layers = _expert_layers(value, record.layers)
        else:
            setattr(record, name, _count(name, value))
    return record


def _expert_layers(value: object, layers: int) -> Any:
    """The list as a C array, one value per layer; None if it is empty."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        raise Error(f"expert_layers must be a list of 0 and 1, not {shown(value)}")
    if not value:
        return None
    if len(value) != layers:
        raise Error(f"expert_layers has {len(value)} values, and there are {layers} layers; give one for each")
    return (ctypes.c_uint8 * layers)(*(min(_count("expert_layers", one), 255) for one in value))


def _count(name: str, value: object) -> int:
    """An integer that fits into a C field; the library refuses those that are too large."""
    return min(max(integer(name, value), 0), 2**32 - 1) if integer(name, value) >= 0 else 2**32 - 1


def _filled(kind: Type[Record], record: Any) -> Record:
    return kind(*(getattr(record, name) for name in kind._fields))


class Model(Shared):
    """A transformer, its training and its device, with the costs of its layers in seconds, bytes and single operations.

    Layers are "embedding", "dense", "expert", "mtp" and "head"; passes are "forward", "input", "weight", "selective" and "full". Without
    an accelerator there are no times. For an accelerator that the library knows, give its name.
    """

    def __init__(self, transformer: Transformer, training: Training = Training(),
                 accelerator: Union[Accelerator, str, None] = None) -> None:
        if isinstance(accelerator, str):
            accelerator = find_accelerator(accelerator)
        for name, value, kind in (("transformer", transformer, Transformer), ("training", training, Training),
                                  ("accelerator", accelerator, Accelerator)):
            if not isinstance(value, kind) and value is not None:
                raise TypeError(f"Model: {name} must be a ppsched.{kind.__name__}, not {shown(value)}")
        self.transformer, self.training, self.accelerator = transformer, training, accelerator
        device = None if accelerator is None else accelerator_record(accelerator)
        shape, trained = _record(_abi.Transformer, transformer, TransformerFlag), _record(_abi.Training, training, TrainingFlag)
        self._handle = new_handle(lib.ppsched_model_create, ctypes.byref(shape), ctypes.byref(trained),
                                  None if device is None else ctypes.byref(device), None)
        weakref.finalize(self, lib.ppsched_model_destroy, self._handle)

    def _ask(self, kind: Type[Record], struct: Type[Any], function: Any, *arguments: object) -> Record:
        record = sized(struct)
        call(function, ctypes.byref(record), self._handle, *arguments)
        return _filled(kind, record)

    @property
    def parameters(self) -> Parameters:
        """The parameters of the whole model, without division by the training."""
        return self._ask(Parameters, _abi.Parameters, lib.ppsched_model_get_parameters)

    def pass_cost(self, layer: Union[str, int], kind: Union[str, int]) -> PassCost:
        """The cost of one layer of a kind in a pass, for one microbatch."""
        return self._ask(PassCost, _abi.PassCost, lib.ppsched_model_get_pass_cost, member(ModelLayer, "layer", layer),
                         member(ModelPass, "pass", kind))

    def memory(self, layer: Union[str, int]) -> LayerMemory:
        """The memory of one layer of a kind."""
        return self._ask(LayerMemory, _abi.LayerMemory, lib.ppsched_model_get_memory, member(ModelLayer, "layer", layer))

    def update_cost(self, parameters: float, expert_parameters: float = 0.0) -> UpdateCost:
        """The cost of a step for this number of parameters on a device, which includes those of experts."""
        return self._ask(UpdateCost, _abi.UpdateCost, lib.ppsched_model_get_update_cost, parameters, expert_parameters)

    def megatron_memory(self, devices: int, chunks: int = 1, microbatches: int = 0, selective: bool = False) -> MegatronMemory:
        """The result of Megatron-LM's theoretical_memory_usage.py for a pipeline of this number of devices."""
        pipeline = sized(_abi.MegatronPipeline)
        pipeline.devices, pipeline.chunks = _count("devices", devices), _count("chunks", chunks)
        pipeline.microbatches, pipeline.selective = _count("microbatches", microbatches), bool(selective)
        return self._ask(MegatronMemory, _abi.MegatronMemory, lib.ppsched_model_get_megatron_memory, ctypes.byref(pipeline))

    def layers(self, calibration: Optional[Mapping[Tuple[str, str], float]] = None) -> Layers:
        """The layers in order, for plans, in seconds and bytes. calibration: measured time / predicted time, such as
        {("dense", "forward"): 1.1}."""
        record = sized(_abi.Calibration)
        for (layer, kind), factor in (calibration or {}).items():
            record.factors[3 * member(ModelLayer, "layer", layer) + member(ModelPass, "pass", kind)] = factor
        handle = new_handle(lib.ppsched_layers_from_model, self._handle, ctypes.byref(record))
        try:
            return Layers(_rows(handle))
        finally:
            lib.ppsched_layers_release(handle)

    def attention_share(self, layers: Optional[Layers] = None) -> float:
        """The share of causal attention in the times of all layers, for ppsched.plan; it grows with each slice. It is an estimate: the part
        of the times that grows with the square of the sequence length. layers: the layers with measured times."""
        if not self.transformer.causal:
            return 0.0
        length = self.training.sequence_length  # the doubled model has twice the length, without a limit on positions
        double = Model(self.transformer._replace(positions=0), self.training._replace(sequence_length=2 * length), self.accelerator)
        return attention_share(self, double, layers)


# --- the list of layers as rows ---

_TIMES = ("forward_time", "backward_input_time", "backward_weight_time", "mem_forward", "mem_backward_input",
          "mem_backward_weight",
          "mem_static", "mem_weights", "output_bytes")


def _row(entry: Any) -> Layer:
    row: Dict[str, Any] = {"name": decoded(entry.name), "count": entry.count}
    if entry.place != LayerPlace.ANY:
        row["place"] = LayerPlace(entry.place).name.lower()
    if entry.flags & LayerFlag.TIED:
        row["tied"] = True
    if entry.flags & LayerFlag.COPIES_EMBEDDING:
        row["copies_embedding"] = True
    row.update({name: getattr(entry, name) for name in _TIMES})
    backward = entry.backward_input_time + entry.backward_weight_time
    kinds = [entry.recomputes[number] for number in range(entry.recompute_count)]
    if kinds:
        row["recompute"] = [{"name": decoded(kind.name), "backward_time": backward + kind.time, "mem_forward": kind.mem_forward}
                            for kind in kinds]
    return cast(Layer, row)


def _rows(handle: ctypes.c_void_p) -> List[Layer]:
    rows = []
    for number in range(lib.ppsched_layers_entries(handle)):
        entry = sized(_abi.Layer)
        call(lib.ppsched_layers_get_entry, ctypes.byref(entry), handle, number)
        rows.append(_row(entry))
    return rows
