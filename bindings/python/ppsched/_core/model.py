# SPDX-License-Identifier: Apache-2.0
"""Estimates of the costs of a model's layers, without a run."""
import ctypes
import itertools
import weakref
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type, TypeVar, Union, cast

from . import _abi
from ._abi import LayerFlag, LayerPlace, ModelPass, ModelRole, Precision, TrainingFlag
from ._library import Error, call, decoded, lib, new_handle
from .accelerators import Accelerator, accelerator_record, find_accelerator
from .description import Description, Transformer, c_count
from .enums import member, name_of
from .layer_table import LayerTable, RowMeasure, naming_rows, row_measure, table_notes, table_record
from .layers import Layer, Layers
from .model_slices import PASSES, LayerTime, attention_times, share_of, times_by_layer
from .number_lists import numbers
from .shown import shown
from .views import Shared, sized
from .windows import windows_as_given, windows_of

Record = TypeVar("Record", bound=NamedTuple)


class Training(NamedTuple):
    """How a model is trained. Bytes are per parameter, or per element of activations. sharding: 0 to 3, as the stages of ZeRO.
    windows_experts, windows_tensor, windows_context: layers have windows. In these windows, the all-to-all of experts is on the
    channel ep, collectives of tensor parallelism are on tp, and those of context parallelism on cp.

        print(ppsched.Training(sequence_length=8192, tensor_parallel=8, data_parallel=4, sharding=1, sequence_parallel=True))
    """

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
    activation_bytes: float = 0.0
    sequence_parallel: bool = False
    keeps_scores: bool = False
    overlaps_tensor: bool = False
    overlaps_context: bool = False
    overlaps_experts: bool = False
    overlaps_gradients: bool = False
    overlaps_parameters: bool = False
    attention_8bit: bool = False
    graphs: bool = False
    frozen_weights: bool = False
    one_copy_a_node: bool = False
    windows_experts: bool = False
    windows_tensor: bool = False
    windows_context: bool = False
    precision: str = "bf16"
    recompute_modules: int = 0
    expert_load: float = 1.0
    adapter_dropout: bool = False
    fused_adapters: bool = False
    adapter_rank: int = 0
    adapter_expert_rank: int = 0
    adapter_targets: int = 0


# Channels of windows: compute, and what each flag of Training has beside it.
CHANNELS = ("compute", "ep", "tp", "cp")


class Parameters(NamedTuple):
    """Numbers of parameters. total and active do not include towers and MTP layers. mtp is the number of parameters of one MTP
    layer."""

    total: int
    active: int
    embedding: int
    positions: int
    other: int
    output: int
    final_norm: int
    towers: int
    mtp: int


class ModelRow(NamedTuple):
    """Layers of a model that cost the same. role: "embedding", "tower", "decoder", "mtp" or "head"; layers: number of layers. The numbers
    of parameters are for one layer."""

    name: str
    role: str
    layers: int
    parameters: int
    active: int
    mixers: int
    feed_forwards: int
    feed_forwards_active: int
    norms: int


class PassCost(NamedTuple):
    """The cost of a layer in a pass, for one microbatch on one device. time is matrix_time + vector_time + memory_time + communication_time
    + launch_time."""

    time: float
    matrix_time: float
    vector_time: float
    memory_time: float
    communication_time: float
    matrix_operations: float
    vector_operations: float
    memory_bytes: float
    communication_bytes: float
    tensor_time: float
    context_time: float
    expert_time: float
    launch_time: float


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
    modules: float
    trained: float
    expert_trained: float
    slice_state: float
    slice_gradients: float


class UpdateCost(NamedTuple):
    """The cost of the update at the end of a step, in seconds: optimizer, sums of gradients, and gathers of weights. None of
    these times overlaps with compute."""

    optimizer_time: float
    reduce_time: float
    gradient_time: float
    parameter_time: float


class MegatronMemory(NamedTuple):
    """Megatron-LM's own estimate: weights and optimizer of the most loaded device, and activations of the first stage."""

    weight_and_optimizer_bytes: float
    activation_bytes: float
    activation_bytes_with_sequence_parallel: float
    activation_bytes_without: float


def _training_record(training: Training) -> Any:
    record = sized(_abi.Training)
    known = {name.lower(): flag for name, flag in TrainingFlag.__members__.items()}
    for name, value in training._asdict().items():
        if name in known:
            record.flags |= known[name] if value else 0
        elif name == "precision":
            record.precision = member(Precision, name, value)
        elif name.endswith("_bytes") or name == "expert_load":
            setattr(record, name, numbers(name, value)[0])
        else:
            setattr(record, name, c_count(name, value))
    return record


def _filled(kind: Type[Record], record: Any) -> Record:
    return kind(*(getattr(record, name) for name in kind._fields))


FORMER_ROWS = {"dense": "decoder", "expert": "moe_decoder"}  # their names before descriptions


def check_kind(call: str, name: str, value: object, kind: type) -> None:
    """Raises TypeError if an argument of a call has another kind."""
    if not isinstance(value, kind):
        raise TypeError(f"{call}: {name} must be a ppsched.{kind.__name__}, not {shown(value)}")


class Model(Shared):
    """A model with its description, training and device. It has the costs of its layers in seconds, bytes and single operations.

    Layers that cost the same are one row. The name of a row is "embedding", "head", "mtp", or the name of a kind or tower of
    the description. Passes are "forward", "input", "weight", "selective", "full" and "modules"; the last three are what recomputation
    computes again. accelerator: a name that the library knows, or a ppsched.Accelerator; without it there are no times. table: measured
    costs, which replace the formulas; a decoder that has no row in the table is an Error. training: how the model is trained.
    Immutable; threads may share it. Errors: ppsched.Error with the wrong value and one that works; TypeError if an argument has another
    type.

        transformer = ppsched.Transformer(layers=32, hidden_size=4096, heads=32, vocabulary_size=128256, ffn_size=14336, gated=True)
        model = ppsched.Model(transformer, ppsched.Training(sequence_length=8192, tensor_parallel=8), "h100")
        print(model.pass_cost("decoder", "forward").time, model.memory("decoder").activations)
    """

    def __init__(self, description: Union[Description, Transformer], training: Training = Training(),
                 accelerator: Union[Accelerator, str, None] = None, table: Optional[LayerTable] = None) -> None:
        if isinstance(accelerator, str):
            accelerator = find_accelerator(accelerator)
        if isinstance(description, Transformer):
            description = Description(description)
        for name, value, kind in (("description", description, Description), ("training", training, Training),
                                  ("accelerator", accelerator, Accelerator), ("table", table, LayerTable)):
            if value is not None or kind not in (Accelerator, LayerTable):
                check_kind("Model", name, value, kind)
        self.description, self.training, self.accelerator, self.table = description, training, accelerator, table
        device = None if accelerator is None else accelerator_record(accelerator)
        trained = _training_record(training)
        given = (description._handle, ctypes.byref(trained), None if device is None else ctypes.byref(device))
        if table is None:
            self._handle = new_handle(lib.ppsched_model_create, *given, None)
        else:
            with naming_rows(table):
                self._handle = new_handle(lib.ppsched_model_create_measured, *given, ctypes.byref(table_record(table)), None)
        weakref.finalize(self, lib.ppsched_model_destroy, self._handle)
        self.rows: Tuple[ModelRow, ...] = tuple(self._row(number) for number in range(lib.ppsched_model_row_count(self._handle)))

    def __reduce__(self) -> Any:
        return Model, (self.description, self.training, self.accelerator, self.table)

    def _row(self, number: int) -> ModelRow:
        record = sized(_abi.ModelRow)
        call(lib.ppsched_model_get_row, ctypes.byref(record), self._handle, number)
        return ModelRow(decoded(record.name), name_of(ModelRole(record.role)), *(getattr(record, name) for name in ModelRow._fields[2:]))

    def row(self, name: str) -> ModelRow:
        """The row of this name."""
        return self.rows[self._number(name)]

    def _number(self, name: str) -> int:
        names = [row.name for row in self.rows]
        found = name if name in names else FORMER_ROWS.get(name, name) if isinstance(name, str) else name
        if found not in names:
            raise Error(f"there is no layer {shown(name)}; the model has {', '.join(names)}")
        return names.index(found)

    def _ask(self, kind: Type[Record], struct: Type[Any], function: Any, *arguments: object) -> Record:
        record = sized(struct)
        call(function, ctypes.byref(record), self._handle, *arguments)
        return _filled(kind, record)

    @property
    def parameters(self) -> Parameters:
        """The parameters of the whole model, not divided by the training."""
        return self._ask(Parameters, _abi.Parameters, lib.ppsched_model_get_parameters)

    def pass_cost(self, layer: str, kind: Union[str, int]) -> PassCost:
        """The cost of one layer of a row in a pass, for one microbatch: seconds, operations and bytes. layer: name of the row; kind: the
        pass. Errors: ppsched.Error for an unknown row or pass."""
        return self._ask(PassCost, _abi.PassCost, lib.ppsched_model_get_pass_cost, self._number(layer), member(ModelPass, "pass", kind))

    def pass_attention_share(self, layer: str, kind: Union[str, int]) -> float:
        """Which share of the time of a pass is causal attention, for one layer of a row. It is an estimate: the part of the
        time that grows with the square of the sequence length."""
        out = ctypes.c_double()
        call(lib.ppsched_model_get_attention_share, ctypes.byref(out), self._handle, self._number(layer), member(ModelPass, "pass", kind))
        return out.value

    def memory(self, layer: str) -> LayerMemory:
        """The memory of one layer of a row on one device, in bytes."""
        return self._ask(LayerMemory, _abi.LayerMemory, lib.ppsched_model_get_memory, self._number(layer))

    def update_cost(self, parameters: float, expert_parameters: float = 0.0, pipeline: Any = None) -> UpdateCost:
        """The cost in seconds of an optimizer step on a device with `parameters` parameters, experts included. With frozen weights all
        parameters count as frozen; `learning` has the cost of adapters. pipeline: a record of the library, of which only the
        devices and the order of ranks count."""
        if pipeline is not None:
            given = ctypes.byref(pipeline), parameters, expert_parameters
            return self._ask(UpdateCost, _abi.UpdateCost, lib.ppsched_model_get_pipeline_update_cost, *given)
        return self._ask(UpdateCost, _abi.UpdateCost, lib.ppsched_model_get_update_cost, parameters, expert_parameters)

    @property
    def learning(self) -> "Model":
        """A copy of the model whose weights are trained, without adapters."""
        training = self.training._replace(frozen_weights=False, adapter_rank=0, adapter_expert_rank=0, adapter_targets=0)
        return self if training == self.training else Model(self.description, training, self.accelerator, self.table)

    def measure(self, layer: str) -> RowMeasure:
        """Where the figures of a row come from."""
        record = sized(_abi.RowMeasure)
        call(lib.ppsched_model_get_row_measure, ctypes.byref(record), self._handle, self._number(layer))
        return row_measure(record)

    def table_notes(self) -> List[str]:
        """One line per row of the model: which costs the table has for it, and how gaps are filled. Empty without a table."""
        if self.table is None:
            return []
        kinds = dict(zip(self.layers().names, self.layers().kinds))
        return table_notes(self.table, {row.name: self.measure(row.name) for row in self.rows}, kinds)

    def link(self, devices: int) -> Tuple[float, float]:
        """Latency in seconds and bandwidth in bytes per second between neighbours of a pipeline, in a job of `devices` devices."""
        latency, bandwidth = ctypes.c_double(), ctypes.c_double()
        call(lib.ppsched_model_get_link, ctypes.byref(latency), ctypes.byref(bandwidth), self._handle, c_count("devices", devices))
        return latency.value, bandwidth.value

    def pipeline_link(self, pipeline: Any, one: int, other: int) -> Tuple[float, float]:
        """Latency in seconds and bandwidth in bytes per second between two devices of a pipeline, by the node or pod that they share in each replica.
        pipeline: a record of the library."""
        latency, bandwidth = ctypes.c_double(), ctypes.c_double()
        call(lib.ppsched_model_get_pipeline_link, ctypes.byref(latency), ctypes.byref(bandwidth), self._handle, ctypes.byref(pipeline), one, other)
        return latency.value, bandwidth.value

    def copies_time(self, copies: int, devices: int) -> float:
        """Seconds in which `copies` of `devices` devices sum the gradients of the embedding and its copies, once a step. 0
        without MTP layers."""
        seconds = ctypes.c_double()
        call(lib.ppsched_model_get_copies_time, ctypes.byref(seconds), self._handle, c_count("copies", copies), c_count("devices", devices))
        return seconds.value

    def megatron_memory(self, devices: int, chunks: int = 1, microbatches: int = 0, selective: bool = False) -> MegatronMemory:
        """The result of Megatron-LM's theoretical_memory_usage.py for a pipeline of this number of devices, in bytes. chunks: stages per
        device; microbatches: their number, 0 if unknown; selective: --recompute-granularity selective."""
        pipeline = sized(_abi.MegatronPipeline)
        pipeline.devices, pipeline.chunks = c_count("devices", devices), c_count("chunks", chunks)
        pipeline.microbatches, pipeline.selective = c_count("microbatches", microbatches), bool(selective)
        return self._ask(MegatronMemory, _abi.MegatronMemory, lib.ppsched_model_get_megatron_memory, ctypes.byref(pipeline))

    def layers(self, calibration: Optional[Mapping[Tuple[str, str], float]] = None) -> Layers:
        """The layers in order, for plans, in seconds and bytes. calibration: measured time / predicted time, such as
        {("decoder", "forward"): 1.1}."""
        record = sized(_abi.Calibration)
        factors = (ctypes.c_double * (3 * len(self.rows)))()
        for (layer, kind), factor in (calibration or {}).items():
            factors[3 * self._number(layer) + member(ModelPass, "pass", kind)] = factor
        record.rows, record.factors = len(self.rows), ctypes.cast(factors, ctypes.POINTER(ctypes.c_double))
        handle = new_handle(lib.ppsched_layers_from_model, self._handle, ctypes.byref(record))
        try:
            return Layers(_rows(handle))
        finally:
            lib.ppsched_layers_release(handle)

    def attention_share(self, layers: Optional[Layers] = None) -> float:
        """The share of causal attention in the times of all layers, for ppsched.plan. The time of causal attention grows with each slice.
        It is an estimate: the part of the times that grows with the square of the sequence length. layers: the layers with measured
        times."""
        return share_of(self._attention_times(layers))

    def attention_shares(self, layers: Optional[Layers] = None) -> Dict[str, float]:
        """The share of causal attention, as in attention_share, for each kind of decoder alone, by its name."""
        times = self._attention_times(layers)
        return {row.name: share_of(time for time in times if time.name == row.name) for row in self.rows if row.role == "decoder"}

    def stage_attention_shares(self, counts: Sequence[int], layers: Optional[Layers] = None) -> List[float]:
        """The share of causal attention, as in attention_share, for each stage of a split, in which stage s has counts[s] layers."""
        times = times_by_layer(self._attention_times(layers), self.layers() if layers is None else layers)
        ends = list(itertools.accumulate(counts))
        return [share_of(itertools.chain.from_iterable(times[end - count:end])) for end, count in zip(ends, counts)]

    def with_attention_shares(self, layers: Optional[Layers] = None) -> Layers:
        """The layers, each with its share of causal attention (attention_share of a layer), so that ppsched.plan knows how much longer later
        slices take on each stage. layers: the layers with measured times."""
        own = self.layers() if layers is None else layers
        times = self._attention_times(own)
        return Layers([cast(Layer, {**row, "attention_share": share_of(times[number * len(PASSES):(number + 1) * len(PASSES)])})
                       for number, row in enumerate(own.given)])

    def _attention_times(self, layers: Optional[Layers]) -> List[LayerTime]:
        if not self.description.causal:
            return []
        return attention_times(self, layers)


# --- the list of layers as rows ---

_TIMES = ("forward_time", "backward_input_time", "backward_weight_time", "mem_forward", "mem_backward_input",
          "mem_backward_weight",
          "mem_static", "mem_weights", "output_bytes")


def times_scaled(model: Model, factor: float) -> Dict[Tuple[str, str], float]:
    """The calibration of layers that all take so many times as long."""
    return {} if factor == 1 else {(row.name, kind): factor for row in model.rows for kind in ("forward", "input", "weight")}


def _row(entry: Any) -> Layer:
    row: Dict[str, Any] = {"name": decoded(entry.name), "count": entry.count}
    if entry.place != LayerPlace.ANY:
        row["place"] = LayerPlace(entry.place).name.lower()
    if entry.flags & LayerFlag.TIED:
        row["tied"] = True
    for name in ("copies_embedding", "not_copied", "with_next", "several_streams"):
        if entry.flags & LayerFlag[name.upper()]:
            row[name] = True
    row.update({name: getattr(entry, name) for name in _TIMES})
    row.update({name: getattr(entry, name) for name in ("mem_slice_state", "mem_slice_gradients", "attention_share") if getattr(entry, name) > 0})
    if entry.hybrid_symbols is not None:
        row["hybrid_symbols"] = decoded(entry.hybrid_symbols)
    backward = entry.backward_input_time + entry.backward_weight_time
    kinds = [entry.recomputes[number] for number in range(entry.recompute_count)]
    if kinds:
        row["recompute"] = [{"name": decoded(kind.name), "backward_time": backward + kind.time, "mem_forward": kind.mem_forward}
                            for kind in kinds]
    if entry.windows:
        row["windows"] = windows_as_given(windows_of(entry.windows.contents, CHANNELS))
    return cast(Layer, row)


def _rows(handle: ctypes.c_void_p) -> List[Layer]:
    rows = []
    for number in range(lib.ppsched_layers_entries(handle)):
        entry = sized(_abi.Layer)
        call(lib.ppsched_layers_get_entry, ctypes.byref(entry), handle, number)
        rows.append(_row(entry))
    return rows
