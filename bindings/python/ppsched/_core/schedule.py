# SPDX-License-Identifier: Apache-2.0
"""Schedules: built by a strategy, by a generator of yours, or op by op."""
import ctypes
import weakref
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Callable, Dict, List, NamedTuple, NoReturn, Optional, Set, Tuple, Union

from . import _abi, timeline
from ._abi import ChannelOrder, Connecting, Dispatch, FindingKind, Format, Kind, Lowering, Objective, Placement, Runtime, SlotUse
from ._library import Error, InvalidSchedule, call, decoded, encoded, lib, new_handle
from .config import PASSES, Config, Quantities, config_of, quantities_in
from .exporting import Take, export, export_format, whole_text, with_end
from .filling import text_of
from .launching import launch_line, with_delayed_weights
from .layers import LayerSplit
from .listener import Listener, Progress, check_progress
from .lowering import Buffer, Link, Proof, buffers, channel_model, every_of, links, prefetch_of, lowered, proof
from .memory_saving import offloaded, recomputed
from .microbatch_map import with_order
from .microbatches import ordered, renumbered
from .number_lists import Numbers, integer
from .op import Op, from_record, to_records
from .reader import config_for, import_file, import_text
from .scenarios import Factors, Scenarios, scenario_options, scenarios_of
from .shown import shown
from .slots import Arena, Connection, arenas, connections
from .timeline import Timeline
from .views import Shared, View, none_if_unset
from .words import counted, names_checked, shown_briefly


Ops = Union[Op, str]  # an op or its token


class Finding(NamedTuple):
    """One thing that is wrong with a schedule. op: the op that it is about; text, also str(finding): the finding in words."""

    kind: FindingKind
    device: int
    position: Optional[int]
    op: Op
    other_device: Optional[int]
    other_position: Optional[int]
    other: Optional[Op]
    text: str

    def __str__(self) -> str:
        return self.text


def _finding(record: _abi.Finding) -> Finding:
    return Finding(FindingKind(record.kind), record.device, none_if_unset(record.position), from_record(record.op),
                   none_if_unset(record.other_device), none_if_unset(record.other_position),
                   from_record(record.other) if record.other.kind else None, text_of(lib.ppsched_finding_write_text, ctypes.byref(record)))


class Schedule(Shared):
    """A schedule: for each device the queue of its ops. Immutable; threads may share it.

    Made by ppsched.generate, ppsched.read, Schedule.from_text, Schedule.from_queues or a Builder. `config` is its problem, with the
    placement of its stages. from_queues makes the same schedule from this config and the queues.

        schedule = ppsched.generate("1f1b", config)
        print(schedule.queues[0], schedule.check(), schedule.export("csv"))
    """

    _INSTEAD = "; pickle the text of schedule.export('json'), which ppsched.Schedule.from_text reads"

    config: Config

    def __init__(self, handle: ctypes.c_void_p, config: Config) -> None:
        self._own(handle)
        self.config = config._placed(self.placement)

    def _own(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        self._release = weakref.finalize(self, lib.ppsched_schedule_release, handle)

    @classmethod
    def _read(cls, handle: ctypes.c_void_p, quantities: Quantities, order: Sequence[int] = ()) -> "Schedule":
        """That of a handle, with a config of its own sizes. order: of its microbatches, as they are numbered in the quantities."""
        schedule = cls.__new__(cls)
        schedule._own(handle)
        schedule.config = config_for(schedule, quantities, order=order)
        return schedule

    @classmethod
    def from_queues(cls, config: Config, queues: Union[Mapping[int, Iterable[Ops]], Iterable[Iterable[Ops]]],
                    name: str = "custom", *, flushes: bool = True) -> "Schedule":
        """A custom schedule. queues: for each device its ops, each an Op or a token. The call does not check the schedule; see check."""
        builder = Builder(config, name, flushes=flushes)
        if not isinstance(queues, Iterable):
            raise Error(f"queues must be a list of ops for each device, not {shown(queues)}")
        pairs: Iterable[Tuple[int, Iterable[Ops]]] = queues.items() if isinstance(queues, Mapping) else enumerate(queues)
        for device, ops in pairs:
            if isinstance(ops, str) or not isinstance(ops, Iterable):
                raise Error(f"device {device}: the queue must be a list of ops, not {shown(ops)}")
            builder.append(device, *ops)
        return builder.finish()

    @classmethod
    @shown_briefly("forward_times", "backward_times", "p2p_time")
    @names_checked
    def from_text(cls, text: Union[str, bytes], format: Union[Format, str], *, forward_times: Numbers = (),
                  backward_times: Numbers = (), backward_input_times: Numbers = (),
                  backward_weight_times: Numbers = (), backward_input_share: Numbers = (),
                  overlapped_times: Numbers = (), p2p_time: Numbers = (), p2p_bandwidth: Numbers = (),
                  activation_bytes: Numbers = (), gradient_bytes: Numbers = (), mem_forward: Numbers = (),
                  mem_backward_input: Numbers = (), mem_backward_weight: Numbers = (), mem_static: Numbers = (),
                  mem_weights: Numbers = (), mem_limit: Numbers = (),
                  mem_optimizer: Numbers = (), mem_other: Numbers = (), mem_gradients: Numbers = (),
                  mem_gathered: Numbers = (), mem_output: Numbers = (), mem_send_forward: Numbers = (),
                  mem_send_backward: Numbers = (), mem_receive_forward: Numbers = (), mem_receive_backward: Numbers = (),
                  mem_work_forward: Numbers = (), mem_work_backward: Numbers = (), mem_work_backward_input: Numbers = (),
                  mem_work_backward_weight: Numbers = (),
                  unshard_times: Numbers = (), reduce_grad_times: Numbers = (), unshard_bytes: Numbers = (),
                  reduce_grad_bytes: Numbers = (), sharding_bandwidth: Numbers = (), sharding_slowdown: Numbers = (),
                  recompute_times: Numbers = (), mem_recompute: Numbers = (), offload_times: Numbers = (), reload_times: Numbers = (),
                  offload_bytes: Numbers = (), host_bandwidth: Numbers = (), host_latency: Numbers = (), mem_offload: Numbers = (),
                  host_link: Numbers = (), microbatch_scale: Numbers = (), microbatch_memory_scale: Numbers = (),
                  slice_scale: Numbers = (), microbatch_request: Numbers = (), op_overhead: Numbers = (), copy_slowdown: Numbers = (), send_overhead: Numbers = (),
                  mem_recomputed_backward_input: Numbers = (), mem_recomputed_backward: Numbers = (), device_speeds: Numbers = (),
                  device_scale: Numbers = (), layer_types: Numbers = (), stage_scale: Numbers = (), device_overhead: Numbers = ()) -> "Schedule":
        """Reads a text that export wrote as "csv" or "json", or the CSV of PyTorch. Other texts are refused.

        `config` of the schedule has the sizes and the placement of the text, and the lists of numbers that are given here as in
        ppsched.Config; lists that are not given have their defaults. If the text has a microbatch_order, the config has it,
        too, and its lists by microbatch are in this order. The call does not check the schedule; see check. Errors: ppsched.Error with
        the place that cannot be read.
        """
        given, read = quantities_in(locals()), import_text(text, format)
        return cls._read(read.handle, given, read.order)

    @classmethod
    @shown_briefly("forward_times", "backward_times", "p2p_time")
    @names_checked
    def read(cls, path: "Union[str, PathLike[str]]", format: Union[Format, str, None] = None, *,
             forward_times: Numbers = (), backward_times: Numbers = (), backward_input_times: Numbers = (),
             backward_weight_times: Numbers = (), backward_input_share: Numbers = (), overlapped_times: Numbers = (),
             p2p_time: Numbers = (), p2p_bandwidth: Numbers = (), activation_bytes: Numbers = (),
             gradient_bytes: Numbers = (), mem_forward: Numbers = (), mem_backward_input: Numbers = (),
             mem_backward_weight: Numbers = (), mem_static: Numbers = (), mem_weights: Numbers = (),
             mem_limit: Numbers = (),
             mem_optimizer: Numbers = (), mem_other: Numbers = (), mem_gradients: Numbers = (), mem_gathered: Numbers = (),
             mem_output: Numbers = (), mem_send_forward: Numbers = (), mem_send_backward: Numbers = (),
             mem_receive_forward: Numbers = (), mem_receive_backward: Numbers = (), mem_work_forward: Numbers = (),
             mem_work_backward: Numbers = (), mem_work_backward_input: Numbers = (), mem_work_backward_weight: Numbers = (),
             unshard_times: Numbers = (), reduce_grad_times: Numbers = (), unshard_bytes: Numbers = (),
             reduce_grad_bytes: Numbers = (), sharding_bandwidth: Numbers = (), sharding_slowdown: Numbers = (),
             recompute_times: Numbers = (), mem_recompute: Numbers = (), offload_times: Numbers = (), reload_times: Numbers = (),
             offload_bytes: Numbers = (), host_bandwidth: Numbers = (), host_latency: Numbers = (), mem_offload: Numbers = (),
             host_link: Numbers = (), microbatch_scale: Numbers = (), microbatch_memory_scale: Numbers = (),
             slice_scale: Numbers = (), microbatch_request: Numbers = (), op_overhead: Numbers = (), copy_slowdown: Numbers = (), send_overhead: Numbers = (),
             mem_recomputed_backward_input: Numbers = (), mem_recomputed_backward: Numbers = (), device_speeds: Numbers = (),
             device_scale: Numbers = (), layer_types: Numbers = (), stage_scale: Numbers = (), device_overhead: Numbers = ()) -> "Schedule":
        """Reads a schedule from a file, in the same way as Schedule.from_text reads it from a text. Without `format`, the file's ending
        gives the format: .csv or .json.

        path: the file. The other arguments are those of ppsched.Config, for the costs of the problem. Errors: FileNotFoundError and other
        kinds of OSError for the file, ppsched.Error with the place in it that cannot be read.

            schedule = ppsched.read("mine.csv", forward_times=[1, 1.2])
        """
        given, read = quantities_in(locals()), import_file(path, format)
        return cls._read(read.handle, given, read.order)

    @names_checked
    def order_microbatches(self, *, objective: Union[Objective, str] = "makespan", effort: int = 4,
                           progress: Optional[Progress] = None) -> "Schedule":
        """The same schedule with the microbatches of config.microbatch_scale in the best order that the search finds. The ops
        do not change. The new config has its lists in this order. Its microbatch_order has, for each place, the number of the
        microbatch in this place.

        For up to 7 microbatches all orders are tried. With more microbatches, effort, 1 to 10, says how long the search is;
        each value takes twice as long as the value before. progress: as in ppsched.generate.
        """
        config, _ = ordered(self, objective, effort, progress)
        lib.ppsched_schedule_retain(self._handle)
        return Schedule(self._handle, config)

    @names_checked
    def scenarios(self, count: int = 1000, *, seed: int = 0, jitter: float = 0.0, message_jitter: float = 0.0,
                  device_factors: Factors = (), link_factors: Factors = (), stage_factors: Factors = (),
                  dispatch: Union[Dispatch, str] = "planned") -> Scenarios:
        """Evaluates the schedule in `count` scenarios, in which times vary. With the same seed, all schedules of a problem have the same
        scenarios.

        jitter: standard deviation of the logarithm of each op's factor, whose mean is 1; message_jitter: the same for transfers.
        device_factors, stage_factors: a factor on the times of each device's or stage's ops, or a row of factors per scenario.
        link_factors: factors on transfers between devices, one row per sending device. dispatch: "planned", or "ready": a device runs the
        first op that is ready, within the memory limits or the planned peaks."""
        return scenarios_of(self, count, scenario_options(seed, jitter, message_jitter, device_factors, dispatch, link_factors, stage_factors))

    @names_checked
    def lower(self, lowering: Union[Lowering, str] = "just_in_time", *, unshard: int = 0,
              unshard_lookahead: Union[str, Sequence[int]] = "full", reduce_grad: int = 0, merge_backwards: bool = False,
              split_backwards: bool = False, defer_receives: bool = False, receive_prefetch: Optional[int] = None,
              reduce_every: int = 1) -> "Schedule":
        """Makes a schedule that a runtime can run. The lowering says where sends and receives are put: "pytorch", "by_time",
        "just_in_time"; with "none" no sends and receives are added, and only the other passes run.

        unshard: the largest number of stages whose parameters a device holds at the same time; 0: no UNSHARD and RESHARD.
        unshard_lookahead: how many of the next stages a device gathers ahead: "full" (as many as unshard), "auto" (r + 2 on
        device r), a number for each device, or "needed" (as late as possible without delaying compute ops, by the config's
        times). reduce_grad: 1 adds REDUCE_GRAD after the last weight gradient of a stage; 2 does the same, and with "pytorch" a
        wait for the REDUCE_GRAD takes a turn of the device, as in PyTorch 2.15. 3 and 4 also add a WAIT_REDUCE_GRAD: 3 right
        after the REDUCE_GRAD, 4 right before the device's next REDUCE_GRAD (PyTorch's defer_reduce_grad_wait).
        merge_backwards: joins each I and the W right after it to a B. split_backwards: the reverse. defer_receives: as PyTorch's
        defer_pp_recv. receive_prefetch: with "just_in_time", how many ops a receive comes before its consumer, if possible (default: 1).
        reduce_every: with reduce_grad, over how many iterations gradients are summed up before they are reduced (default: 1).
        This number must divide the number of iterations.
        """
        handle = lowered(self, lowering, unshard_lookahead, unshard=unshard, reduce_grad=reduce_grad, merge_backwards=merge_backwards,
                         split_backwards=split_backwards, defer_receives=defer_receives, receive_prefetch=prefetch_of(lowering, receive_prefetch),
                         reduce_every=every_of(reduce_every))
        return Schedule(handle, self.config)

    def recompute(self, chunks: Optional[int] = None) -> "Schedule":
        """Adds a RECOMPUTE before each backward of the `chunks` lowest stages of each device; without `chunks`, of all stages."""
        return Schedule(recomputed(self, chunks), self.config)

    def offload(self, chunks: Optional[int] = None, *, until_limit: bool = False, share: float = 1.0, prefetch_distance: int = 0) -> "Schedule":
        """Adds an OFFLOAD after each forward of the `chunks` lowest stages of each device (without `chunks`, of all stages).
        Also adds a RELOAD for each OFFLOAD, as late as its copy can still be done in time. With until_limit, offloads only as
        many stage passes as needed to fit the config's memory limit. Recomputed stage passes are not offloaded.

        share: on each device, offloads only the stage passes that are held longest, up to this share of the memory of all stage
        passes.
        prefetch_distance: number of ops of the device between a RELOAD and its backward; not with until_limit.
        """
        return Schedule(offloaded(self, chunks, until_limit, share, prefetch_distance), self.config)

    def renumber(self) -> "Schedule":
        """The same schedule with microbatches numbered in the order in which the last stage runs their forwards, because PyTorch takes
        losses in this order."""
        made = Schedule(new_handle(lib.ppsched_schedule_renumber, self._handle), self.config)
        made.config = renumbered(self.config, self, made)
        return made

    @names_checked
    def prove(self, order: Union[ChannelOrder, str] = "group", *, rendezvous: bool = False, batched: bool = False,
              blocking: bool = False) -> Proof:
        """Proves for a channel model that this lowered schedule always runs to its end, or finds a deadlock.

        order: which sends and receives of a device wait for each other: all ("group"), all in one direction ("direction"), all
        of a pair of devices ("pair"), only sends ("sends"), or none ("none"). rendezvous: a send starts only when its receive
        is posted; otherwise sends are buffered. batched: consecutive sends and receives start together. blocking: a device does
        nothing else while it sends or receives."""
        return proof(self, channel_model(order, rendezvous=rendezvous, batched=batched, blocking=blocking))

    def links(self) -> List[Link]:
        """The links of this lowered schedule: which device sends to which device, and the largest number of receives in
        flight."""
        return links(self)

    def buffers(self, device: int) -> List[Buffer]:
        """For each op of a device's queue its Buffer."""
        return buffers(self, device)

    @names_checked
    def arenas(self, device: int, use: Union[SlotUse, str] = "stage_microbatch") -> List[Arena]:
        """The arenas of slots that a runtime allocates once on a device, with the lifetimes of their holders: live stage passes
        ("stage_microbatch"), live microbatches ("microbatch"), or received values, by stage and direction ("receive")."""
        return arenas(self, device, use)

    @names_checked
    def connections(self, what: Union[Connecting, str] = "links") -> List[Connection]:
        """The rounds in which all devices set up a communicator for each directed pair of devices ("links"), or send a first message
        between neighbouring stages ("stages"), as PyTorch does."""
        return connections(self, what)

    @property
    def name(self) -> str:
        """Name of the strategy or of the function that made it."""
        return decoded(lib.ppsched_schedule_name(self._handle))

    @property
    def devices(self) -> int:
        """D, the number of devices."""
        return lib.ppsched_schedule_devices(self._handle)

    @property
    def stages(self) -> int:
        """S, the number of stages of the whole model."""
        return lib.ppsched_schedule_stages(self._handle)

    @property
    def microbatches(self) -> int:
        """M, the number of microbatches of an iteration."""
        return lib.ppsched_schedule_microbatches(self._handle)

    @property
    def iterations(self) -> int:
        """Number of training iterations."""
        return lib.ppsched_schedule_iterations(self._handle)

    @property
    def slices(self) -> int:
        """Number of slices per microbatch; 1 if microbatches are whole."""
        return lib.ppsched_schedule_slices(self._handle)

    @property
    def placement(self) -> Placement:
        """Which device holds which stages."""
        return Placement(lib.ppsched_schedule_placement(self._handle))

    @property
    def flushes(self) -> bool:
        """Whether an iteration starts only after the one before has ended."""
        return bool(lib.ppsched_schedule_flushes(self._handle))

    @property
    def weight_versions(self) -> int:
        """Versions of the weights that a device holds at the same time."""
        return lib.ppsched_schedule_weight_versions(self._handle)

    @property
    def forward_only(self) -> bool:
        """Whether the schedule has only forwards."""
        return self.kinds & {Kind.F, Kind.B, Kind.I, Kind.W} == {Kind.F}

    def __len__(self) -> int:
        """Number of ops on all devices."""
        return lib.ppsched_schedule_op_count(self._handle)

    def _counted(self, get: Any, stage: int) -> List[int]:
        found: List[int] = []
        while (number := none_if_unset(get(self._handle, stage, len(found)))) is not None:
            found.append(number)
        return found

    @property
    def stage_devices(self) -> List[List[int]]:
        """The devices of each stage, in ascending order. With two copies of the model, the device of each copy."""
        return [self._counted(lib.ppsched_schedule_stage_device, stage) for stage in range(self.stages)]

    @property
    def stage_inputs(self) -> List[List[int]]:
        """For each stage the stages whose outputs it reads."""
        return [self._counted(lib.ppsched_schedule_stage_input, stage) for stage in range(self.stages)]

    @property
    def has_graph(self) -> bool:
        """False if the stages are a chain in which each stage has one device and all passes. Functions that need such a chain refuse other
        schedules."""
        return bool(lib.ppsched_schedule_has_graph(self._handle))

    @property
    def _graph(self) -> Dict[str, Any]:
        """The arguments of ppsched.Config for the graph of the stages, if there is one."""
        if not self.has_graph:
            return {}
        runs = [[m for m in range(self.microbatches) if lib.ppsched_schedule_runs_stage(self._handle, stage, m)] for stage in range(self.stages)]
        return {"stage_inputs": self.stage_inputs,
                "stage_passes": [PASSES[lib.ppsched_schedule_stage_passes(self._handle, stage) - 1] for stage in range(self.stages)],
                "stage_microbatches": [None if len(own) == self.microbatches else own for own in runs]}

    def device_of(self, stage: int, microbatch: int = 0) -> Optional[int]:
        """The device that runs a stage for a microbatch; None if out of range."""
        stage, microbatch = integer("stage", stage), integer("microbatch", microbatch)
        if not (0 <= stage < self.stages and 0 <= microbatch < self.microbatches * self.iterations):
            return None
        return none_if_unset(lib.ppsched_schedule_device_of(self._handle, stage, microbatch))

    @property
    def queues(self) -> List[View[Op]]:
        """For each device a view of its ops."""
        return [self._queue(device) for device in range(self.devices)]

    @property
    def kinds(self) -> Set[Kind]:
        """The kinds of ops in the schedule. They are found without a loop over ops in Python."""
        place, size = getattr(_abi.Op, "kind").offset, ctypes.sizeof(_abi.Op)
        return {Kind(number) for queue in self.queues for number in set(queue.memory.cast("B")[place::size].tobytes())}

    def _queue(self, device: int) -> View[Op]:
        count = ctypes.c_size_t()
        ops = lib.ppsched_queue_ops(lib.ppsched_schedule_queue(self._handle, device), ctypes.byref(count))
        return View(self, ops, count.value, from_record)

    def check(self) -> List[Finding]:
        """What is wrong with the schedule; empty if it is complete and can run."""
        count = ctypes.c_size_t()
        try:
            call(lib.ppsched_schedule_check, None, 0, ctypes.byref(count), self._handle)
            return []
        except InvalidSchedule:
            records = (_abi.Finding * count.value)()
            lib.ppsched_schedule_check(records, len(records), None, self._handle, None)
            return [_finding(record) for record in records]

    def evaluate(self, config: Optional[Config] = None, *, latest: bool = True, reusable: bool = False) -> Timeline:
        """Computes the times of the schedule with its own config, or with another config of the same sizes.

        latest: also compute latest starts and idle causes; reusable: allow Timeline.update. Errors: ppsched.InvalidSchedule with what is
        missing or cannot run.
        """
        config = self.config if config is None else config_of(config)
        flags = (0 if latest else _abi.EvaluateFlag.EARLIEST_ONLY) | (_abi.EvaluateFlag.REUSABLE if reusable else 0)
        return Timeline(new_handle(lib.ppsched_schedule_evaluate, self._handle, config._handle, flags), self, config)

    def period(self, config: Optional[Config] = None) -> float:
        """The time of an iteration in the long run, if each device runs its queue again and again, and nothing waits for an optimizer or the
        end of an iteration. It is at least the work of the busiest device, and at most the span."""
        config = self.config if config is None else config_of(config)
        found = ctypes.c_double()
        call(lib.ppsched_schedule_find_period, ctypes.byref(found), self._handle, config._handle)
        return found.value

    @names_checked
    def evaluate_transfers(self, config: Optional[Config] = None, order: Union[ChannelOrder, str] = "none", *,
                           rendezvous: bool = False, batched: bool = False, blocking: bool = False) -> Timeline:
        """Computes the times of this lowered schedule, sends and receives included. These wait for their links and, in a channel model (see
        prove), for each other. By default they wait only for their links."""
        config = self.config if config is None else config_of(config)
        model = channel_model(order, rendezvous=rendezvous, batched=batched, blocking=blocking)
        handle = new_handle(lib.ppsched_schedule_evaluate_transfers, self._handle, config._handle, ctypes.byref(model), 0)
        return Timeline(handle, self, config)

    def export(self, format: Union[Format, str]) -> str:
        """The schedule without times, as "csv", "json", "megatron" or "deepspeed". "json" contains config.microbatch_order."""
        return whole_text(lambda take: self._stream(format, take))

    def _stream(self, format: Union[Format, str], take: Take) -> None:
        """The text of export, handed over in pieces."""
        chosen = export_format(format)
        with_end(lambda taking: export(self._handle, None, chosen, taking), take,
                 lambda text: with_order(text, chosen, self.config.microbatch_order))

    @names_checked
    def launch(self, runtime: Union[Runtime, str], *, csv: Optional[str] = None, exact: bool = False,
               layers: int = 0, model: Optional[LayerSplit] = None, micro_batch: int = 0, data_parallel: int = 1) -> str:
        """The launch arguments with which a runtime runs this schedule, as one line for a shell. If the runtime cannot run it, raises
        ppsched.Refused with the reason and the runtimes that can.

        runtime: one of ppsched.Runtime, or its name, such as "megatron" or "torchtitan". csv: file from which runtimes such as
        torchtitan and pytorch read the order, made by export("csv"). If csv is not given, these runtimes read schedule.csv;
        they read no file if one of their classes makes exactly this order. exact: also refuse a runtime that would run its own
        order of the same kind instead of exactly this order. layers: number of decoders of the model, from which some runtimes compute the stages per device; 0:
        unknown. model: the layers with their split, which the line then contains.
        micro_batch: samples per microbatch, data_parallel: replicas; the batch sizes follow from them. If pairs are overlapped and the
        config's windows have weight gradients of their own, the line of Megatron-LM has --delay-wgrad-compute.
        """
        line = launch_line(self._handle, runtime, csv, exact, layers, model, micro_batch, data_parallel)
        return with_delayed_weights(line, self.config.windows)

    def _repr_svg_(self) -> Optional[str]:
        """The picture for notebooks, with the times of its config. None if that cannot be timed, or the picture would be large."""
        try:
            return self.evaluate()._repr_svg_()
        except Error:
            return None

    def __repr__(self) -> str:
        sizes = [counted(self.devices, "device"), counted(self.stages, "stage"), counted(self.microbatches, "microbatch", "es"),
                 counted(self.iterations, "iteration")]
        return (f"<ppsched.Schedule {self.name}: {counted(len(self), 'op')}, {', '.join(sizes)}, {self.placement.name.lower()} "
                "placement>")


class Builder:
    """Collects the ops of a custom schedule, device by device. One thread at a time may use it.

    config: the problem; name: what the schedule is called; flushes: whether an iteration starts only after the one before has ended.
    Errors: ppsched.Error for a device or an op that the config does not have. Schedule.check says what is missing.

        builder = ppsched.Builder(ppsched.Config(devices=1, microbatches=1))
        builder.append(0, "0F0", "0B0")
        print(builder.finish().check())
    """

    config: Config

    def __init__(self, config: Config, name: str = "custom", *, flushes: bool = True) -> None:
        self._lend(config, new_handle(lib.ppsched_builder_create, config_of(config)._handle))
        self._release = weakref.finalize(self, lib.ppsched_builder_destroy, self._handle)
        call(lib.ppsched_builder_set_name, self._handle, encoded("name", name))
        call(lib.ppsched_builder_set_flushes, self._handle, bool(flushes))

    def _lend(self, config: Config, handle: Optional[ctypes.c_void_p]) -> None:
        """Sets a handle that another owns, or None when that ends; with None all calls fail."""
        self.config, self._handle, self._count = config, handle, 0

    def __reduce__(self) -> NoReturn:
        raise TypeError("a ppsched.Builder cannot be copied or pickled")

    def append(self, device: int, *ops: Ops) -> None:
        """Appends ops to a device's queue. Each is an Op or a token."""
        if not 0 <= integer("device", device) < 2**32:
            raise Error(f"device is {device}, which is out of range", _abi.Status.ERROR_RANGE)
        records, count = to_records(ops)
        call(lib.ppsched_builder_append, self._handle, device, records, count)
        self._count += count

    def finish(self) -> Schedule:
        """Makes the schedule and empties the builder."""
        schedule = Schedule(new_handle(lib.ppsched_builder_finish, self._handle), self.config)
        self._count = 0
        return schedule

    def __repr__(self) -> str:
        return f"<ppsched.Builder: {counted(self._count, 'op')} for {counted(self.config.devices, 'device')}>"


Function = Callable[[Config, Builder], object]  # a function of the caller


def generate(strategy: Union[str, Function], config: Config, *,
             progress: Optional[Progress] = None) -> Schedule:
    """Builds the schedule of a strategy, or of your own function that appends ops to a builder. The result is checked.

    progress: a function; strategies that search call it now and then. Its arguments are the share of the work that is done, 0
    to 1, and the span (or makespan) of the best schedule so far, infinite if there is none. If it returns False, the search
    raises ppsched.Cancelled. Ctrl-C ends a search, too, with KeyboardInterrupt.
    strategy: a name, or a function(config, builder). config: the problem.
    Errors: ppsched.Error for an unknown strategy, with the nearest name; ppsched.Refused if the strategy does not support the problem;
    ppsched.InvalidSchedule if the ops of your function are not complete or cannot run.

        schedule = ppsched.generate("zb_h1", config)
        print(schedule, schedule.check(), schedule.evaluate().metrics.makespan)
    """
    config_of(config)
    check_progress(progress)
    if callable(strategy):
        return _generate_with(strategy, config)
    return _search(encoded("strategy", strategy), config, progress)


def _search(name: bytes, config: Config, progress: Optional[Progress]) -> Schedule:
    with config.units.telling(), Listener(config, progress) as told:
        return Schedule(new_handle(lib.ppsched_schedule_generate, told._handle, name), config)


def _generate_with(function: Function, config: Config) -> Schedule:
    raised: List[BaseException] = []

    def run(_user: Optional[int], _config: int, handle: int) -> int:
        builder = Builder.__new__(Builder)
        builder._lend(config, ctypes.c_void_p(handle))
        try:
            function(config, builder)
        except BaseException as error:  # raised again after the C call
            raised.append(error)
            return _abi.Status.ERROR_CALLBACK
        finally:
            builder._lend(config, None)
        return _abi.Status.OK

    name = encoded("name", getattr(function, "__name__", "custom"))
    try:
        return Schedule(new_handle(lib.ppsched_schedule_generate_with, config._handle, name, _abi.GenerateFunction(run), None),
                        config)
    except Error:
        if raised:
            raise raised[0] from None
        raise


read = Schedule.read
vars(timeline)["Schedule"] = Schedule  # for tools that read the type hints of timelines, which name schedules
