# SPDX-License-Identifier: Apache-2.0
"""The problem: sizes, placement, durations, delays and memory."""
import ctypes
import weakref
from collections.abc import Iterable, Mapping
from html import escape
from os import PathLike, fspath
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple, TypedDict, Union, cast, overload

from . import _abi
from ._abi import Placement, Quantity, SenderWaits, StagePasses
from ._library import Error, call, decoded, encoded, lib, new_handle
from .enums import member, names_of
from .model_end import ModelEnd, model_end
from .number_lists import Numbers, integer, numbers
from .shown import shown
from .units import PLAIN, Units
from .windows import OF_WINDOWS, StageWindows, checked_windows, config_windows, set_windows, window_channels, windows_as_given
from .views import SHOWN
from .words import counted, names_checked, nearest, shown_briefly

# The quantity of each list of numbers, by the library's name for it.
QUANTITIES: Dict[str, Quantity] = {decoded(lib.ppsched_quantity_name(quantity)): quantity for quantity in Quantity}


class Quantities(TypedDict, total=False):
    """The lists of numbers that ppsched.Config has as arguments. Each list is optional: config = Config(4, 8, **quantities)."""

    forward_times: Numbers
    backward_times: Numbers
    backward_input_times: Numbers
    backward_weight_times: Numbers
    backward_input_share: Numbers
    overlapped_times: Numbers
    p2p_time: Numbers
    p2p_bandwidth: Numbers
    activation_bytes: Numbers
    gradient_bytes: Numbers
    mem_forward: Numbers
    mem_backward_input: Numbers
    mem_backward_weight: Numbers
    mem_static: Numbers
    mem_weights: Numbers
    mem_limit: Numbers
    mem_optimizer: Numbers
    mem_other: Numbers
    mem_gradients: Numbers
    mem_gathered: Numbers
    mem_output: Numbers
    mem_send_forward: Numbers
    mem_send_backward: Numbers
    mem_receive_forward: Numbers
    mem_receive_backward: Numbers
    mem_work_forward: Numbers
    mem_work_backward: Numbers
    mem_work_backward_input: Numbers
    mem_work_backward_weight: Numbers
    unshard_times: Numbers
    reduce_grad_times: Numbers
    unshard_bytes: Numbers
    reduce_grad_bytes: Numbers
    sharding_bandwidth: Numbers
    sharding_slowdown: Numbers
    recompute_times: Numbers
    mem_recompute: Numbers
    offload_times: Numbers
    reload_times: Numbers
    offload_bytes: Numbers
    host_bandwidth: Numbers
    host_latency: Numbers
    mem_offload: Numbers
    host_link: Numbers
    microbatch_scale: Numbers
    microbatch_memory_scale: Numbers
    slice_scale: Numbers
    microbatch_request: Numbers
    op_overhead: Numbers
    copy_slowdown: Numbers
    send_overhead: Numbers
    mem_recomputed_backward_input: Numbers
    mem_recomputed_backward: Numbers
    device_speeds: Numbers
    device_scale: Numbers
    layer_types: Numbers
    stage_scale: Numbers
    device_overhead: Numbers


_READERS: List[Callable[[str], "Config"]] = []  # of config files, which stand above this module


def reads_configs(reader: Callable[[str], "Config"]) -> Callable[[str], "Config"]:
    """A decorator of the function that makes the config of a file."""
    _READERS[:] = [reader]
    return reader


_UNITERS: List[Callable[[Mapping[str, Any]], Tuple[Dict[str, Any], Units]]] = []  # of numbers with units, likewise
_WORDERS: List[Callable[[str, Any, Units], Any]] = []


def unites_numbers(uniter: Callable[[Mapping[str, Any]], Tuple[Dict[str, Any], Units]], worder: Callable[[str, Any, Units], Any]) -> None:
    """Sets the functions that turn texts with units into numbers in the same units, and numbers into texts."""
    _UNITERS[:], _WORDERS[:] = [uniter], [worder]


def _has_text(value: object) -> bool:
    return isinstance(value, str) or (isinstance(value, (list, tuple)) and any(map(_has_text, value)))


def _united(given: Mapping[str, Any], units: Units) -> Tuple[Dict[str, Any], Units]:
    uniter, = _UNITERS
    united, found = uniter(given)
    if PLAIN not in (units, found):
        raise Error(f"units: numbers that are texts have their own units; leave out units={shown(units)}")
    return united, units if found == PLAIN else found


def _worded(name: str, value: Any, units: Units) -> Any:
    worder, = _WORDERS
    return worder(name, value, units)


DEFAULT: Numbers = ()  # the value of a list that is not given
_FIXED = ("units", "split_backward", "forward_only", "sender_waits")  # attributes that are set once
_SIZES = ("devices", "stages", "microbatches", "iterations", "slices", "placement", "options", "weight_versions", "stage_inputs", "stage_passes",
          "stage_microbatches")
# Lists that are not by stage: by device, by microbatch or slice, or by kind of op.
OF_RUN = ("p2p_time", "p2p_bandwidth", "mem_limit", "mem_other", "sharding_bandwidth", "sharding_slowdown", "host_bandwidth",
          "host_latency", "host_link", "copy_slowdown", "send_overhead", "microbatch_scale", "microbatch_memory_scale", "microbatch_request", "slice_scale",
          "op_overhead", "device_speeds", "device_scale", "device_overhead", "layer_types")


def quantities_in(values: Mapping[str, Any]) -> Quantities:
    """The named values that are quantities and are given."""
    return cast(Quantities, {name: values[name] for name in QUANTITIES if values.get(name, DEFAULT) is not DEFAULT})


def _unchanged(name: str) -> str:
    return f"{name} of a ppsched.Config cannot be changed; config.replace({name}=...) makes another one"


class Values:
    """A list of numbers as an attribute of ppsched.Config: as it was set, or empty for the default."""

    def __init__(self, text: str) -> None:
        self.__doc__ = text

    def __set_name__(self, owner: type, name: str) -> None:
        self._name, self._quantity = name, QUANTITIES[name]

    @overload
    def __get__(self, config: None, owner: type) -> "Values": ...

    @overload
    def __get__(self, config: "Config", owner: type) -> List[float]: ...

    def __get__(self, config: Optional["Config"], owner: type) -> Union["Values", List[float]]:
        if config is None:
            return self
        count = ctypes.c_size_t()
        pointer = lib.ppsched_config_values(config._handle, self._quantity, ctypes.byref(count))
        return pointer[:count.value]

    def __set__(self, config: "Config", value: NoReturn) -> None:
        raise AttributeError(_unchanged(self._name))


class Config:
    """A problem. Times and memory are in units of your choice. `units` names them for output: units=ppsched.Units("ms", "GB").

    Sizes and choices:
      devices, microbatches: D and M.
      stages: S, virtual stages of the whole model (default: as many as devices).
      iterations: training iterations in one schedule.
      slices: number of slices of each microbatch along its sequence; 1: whole microbatches.
      placement: a ppsched.Placement, its name, or a list with the device of each stage (default: the strategy's own). An entry may be a
        list of devices: then an op of this stage runs on all of them at the same time.
      stage_inputs: for each stage the stages whose outputs it reads; these have lower numbers than the stage (default: a
        chain).
      stage_passes: for each stage "FB" (the default), "FI" (frozen weights: only the input gradient) or "F" (only forwards).
      stage_microbatches: for each stage the microbatches that it runs, or None for all (default: all).
      weight_versions: versions of the weights that a device holds at the same time (default: the number that the strategy
        needs).
      split_backward: False if each backward is one op, as in Megatron-LM.
      forward_only: True if there are only forwards, as in inference.
      sender_waits: a ppsched.SenderWaits or its name. With like_kind, a device that has run an op waits until the output has
        arrived before it runs another op of the same kind and stage.
      options: options of the strategy.

    The other arguments are lists of numbers; a single number applies to all.
      Per stage, times and memory: forward_times, backward_times (full backward), backward_input_times, backward_weight_times,
        mem_forward, mem_backward_input, mem_backward_weight, mem_static, mem_weights, activation_bytes, gradient_bytes.
      Per stage, other memory: mem_optimizer, mem_gradients, mem_gathered, mem_output, mem_send_forward, mem_send_backward,
        mem_receive_forward, mem_receive_backward, mem_work_forward, mem_work_backward, mem_work_backward_input,
        mem_work_backward_weight.
      Per stage, for sharded parameters: unshard_times, reduce_grad_times, unshard_bytes, reduce_grad_bytes.
      Per stage, for recompute and offload: recompute_times, mem_recompute, offload_times, reload_times, offload_bytes, mem_offload,
        mem_recomputed_backward_input, mem_recomputed_backward.
      Per device: device_speeds, device_overhead (time per op in addition to op_overhead), mem_limit, mem_other, sharding_bandwidth,
        sharding_slowdown, host_bandwidth, host_latency, host_link, copy_slowdown, send_overhead (time of the call of each send or receive, in evaluations with transfers).
      Per pair of devices: p2p_time, p2p_bandwidth.
      Per forward stage, or pair of stages: overlapped_times.
      Per microbatch: microbatch_scale, a factor on times, memory and bytes; microbatch_memory_scale, a factor only on
        memory and bytes; for schedules of forwards microbatch_request, the number of the request to which the microbatch belongs.
      Per slice, or per slice for each stage (first for all slices on stage 0): slice_scale, a factor on times.
      Per device for F, then for B, I and W: device_scale, a factor on times.
      Per stage and device (first all devices of stage 0) for F, then for B, I and W: stage_scale, a factor on times.
      Per device, with layers: layer_types, the number of the type of the device. "device_scale" of the layers has factors on
        times by type.
      One number, or four for F, B, I and W: op_overhead, the runtime's own time per op.
      One number: backward_input_share.
    Each number may be a text with a unit, such as "6.1ms" or "80GB"; then the config's units are the largest given ones, and the costs
    that have defaults must be given, too. Lists per pair of devices may be matrices, and arrays of numpy are lists.
    All arguments are also attributes. Lists of numbers are as they were given, or empty for the default. A config does not change;
    replace() makes another one, and threads may share it. with_device_order and Schedule.order_microbatches give a config the attributes
    device_order and microbatch_order: for each place the former number of the device or microbatch (empty: never moved).
    Errors: ppsched.Error for a wrong value, TypeError for an argument that does not exist; both say what would be right.

    windows: the windows of ops, in place of their times, in the form of ppsched.pair_time: one mapping for all stages, or a list with one
    per stage. An overlapped pair of stages i and j then takes the time that pair_time finds for the forward of i with the backward of j,
    if no overlapped_times are given.

        config = ppsched.Config(devices=4, microbatches=8, forward_times=[1, 1.2, 1.2, 1.4], p2p_time=0.1, mem_limit=4)
        in_units = ppsched.Config(4, 8, forward_times="6.1ms", backward_times="12.2ms", mem_forward="1.5GB", mem_limit="80GB")
    """

    units: Units
    split_backward: bool
    forward_only: bool
    sender_waits: SenderWaits
    _weight_versions: int  # values that the library does not return, as they were given
    _map: List[Any]        # the device of each stage, or a list of them; empty if the placement has a name
    _graph: Dict[str, Any] = {}  # stage_inputs, stage_passes and stage_microbatches, as far as they are given
    _options: Dict[str, str]
    _carries: bool = False  # the placement comes from a schedule, not from the caller
    windows: Tuple[StageWindows, ...] = ()  # of all stages in one, or of each, from which times of ops and of pairs follow
    _windows_of_layers: bool = False  # windows follow from the layers of its stages; the times of ops are those of layers
    _pairs_given: bool = False  # though there are windows, the times of pairs are given
    device_order: Tuple[int, ...] = ()  # the device in each place, as it was numbered before with_device_order
    microbatch_order: Tuple[int, ...] = ()  # for each microbatch its number in the config that was given to Schedule.order_microbatches

    @shown_briefly("forward_times", "backward_times", "p2p_time", "mem_forward", "mem_limit")
    @names_checked
    def __init__(self, devices: int, microbatches: int, stages: Optional[int] = None, *, iterations: int = 1, slices: int = 1,
                 placement: Union[Placement, str, Sequence[Union[int, Sequence[int]]], None] = None, weight_versions: int = 0,
                 split_backward: bool = True, forward_only: bool = False,
                 sender_waits: Union[SenderWaits, str] = SenderWaits.NEVER, options: Optional[Mapping[str, object]] = None,
                 forward_times: Numbers = (), backward_times: Numbers = (), backward_input_times: Numbers = (), backward_weight_times: Numbers = (),
                 backward_input_share: Numbers = (), overlapped_times: Numbers = (), p2p_time: Numbers = (),
                 p2p_bandwidth: Numbers = (), activation_bytes: Numbers = (), gradient_bytes: Numbers = (),
                 mem_forward: Numbers = (), mem_backward_input: Numbers = (), mem_backward_weight: Numbers = (),
                 mem_static: Numbers = (), mem_weights: Numbers = (), mem_limit: Numbers = (),
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
                 mem_recomputed_backward_input: Numbers = (), mem_recomputed_backward: Numbers = (),
                 windows: Union[Mapping[str, Any], Sequence[Mapping[str, Any]], None] = None,
                 device_speeds: Numbers = (), device_scale: Numbers = (), layer_types: Numbers = (), stage_scale: Numbers = (),
                 device_overhead: Numbers = (), stage_inputs: Optional[Sequence[Sequence[int]]] = None,
                 stage_passes: Optional[Sequence[str]] = None,
                 stage_microbatches: Optional[Sequence[Optional[Sequence[int]]]] = None, units: Units = PLAIN) -> None:
        given = quantities_in(locals())
        if options is not None and not isinstance(options, Mapping):
            raise Error(f"options must be a mapping of names to values, not {shown(options)}")
        if not isinstance(units, Units):
            raise Error(f"units must be a ppsched.Units, not {shown(units)}")
        units.check()
        if any(map(_has_text, given.values())):
            united, units = _united(given, units)
            given = cast(Quantities, united)
        self.units = units
        stages = devices if stages is None else stages
        self._own(new_handle(lib.ppsched_config_create, integer("devices", devices), integer("stages", stages),
                             integer("microbatches", microbatches), None))
        call(lib.ppsched_config_set_iterations, self._handle, integer("iterations", iterations))
        call(lib.ppsched_config_set_slices, self._handle, integer("slices", slices))
        call(lib.ppsched_config_set_weight_versions, self._handle, integer("weight_versions", weight_versions))
        call(lib.ppsched_config_set_split_backward, self._handle, int(bool(split_backward)))
        call(lib.ppsched_config_set_forward_only, self._handle, int(bool(forward_only)))
        self.split_backward, self.forward_only = bool(split_backward), bool(forward_only)
        self.sender_waits = member(SenderWaits, "sender_waits", sender_waits)
        call(lib.ppsched_config_set_sender_waits, self._handle, self.sender_waits)
        self._weight_versions, self._map = weight_versions, []
        self._options = {str(name): str(value) for name, value in (options or {}).items()}
        if placement is not None:
            self._set_placement(placement)
        self._set_graph(stage_inputs, stage_passes, stage_microbatches)
        for name, value in given.items():
            self._set_list(name, value)
        if windows is not None:
            self._set_windows(checked_windows(windows))
        for name, value in self._options.items():
            call(lib.ppsched_config_set_option, self._handle, encoded("option", name), encoded("value", value))

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _SIZES or (name in _FIXED and name in vars(self)):
            raise AttributeError(_unchanged(name))
        if not name.startswith("_") and name not in _FIXED and not hasattr(type(self), name):
            raise AttributeError(f"a ppsched.Config has no {name}; {nearest(name, [*QUANTITIES, *_FIXED, *_SIZES]) or 'its attributes are the arguments of ppsched.Config'}")
        super().__setattr__(name, value)

    def _own(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        self._release = weakref.finalize(self, lib.ppsched_config_destroy, handle)

    def _like(self, handle: ctypes.c_void_p) -> "Config":
        """A config for a handle that the library made from this one; the new config owns the handle."""
        config = Config.__new__(Config)
        config._own(handle)
        config.units, config.split_backward, config.forward_only = self.units, self.split_backward, self.forward_only
        config.sender_waits = self.sender_waits
        config._weight_versions, config._map, config._options = self._weight_versions, self._map, self._options
        config._graph = self._graph
        config.microbatch_order, config.device_order, config._carries = self.microbatch_order, self.device_order, self._carries
        return config

    def _placed(self, placement: Placement) -> "Config":
        """This config; or, if it has no placement and that of the schedule is not a builder's default, a copy with that placement."""
        if self.placement != Placement.DEFAULT or placement not in (Placement.V, Placement.BIDIRECTIONAL):
            return self
        config = self.__copy__()
        config._set_placement(placement)
        config._carries = True
        return config

    @property
    def _asked_placement(self) -> Placement:
        """The placement of the problem, not of a schedule."""
        return Placement.DEFAULT if self._carries else self.placement

    def __copy__(self) -> "Config":
        return self._like(new_handle(lib.ppsched_config_copy, self._handle))._with_windows_of(self)

    def _with_windows_of(self, other: "Config") -> "Config":
        """This one, which the library made of the other: with its windows, or those of other stages and microbatches that follow from them."""
        if (self.stages, self.microbatches) == (other.stages, other.microbatches):
            self.windows, self._pairs_given, self._windows_of_layers = other.windows, other._pairs_given, other._windows_of_layers
        elif other.windows and self.slices == other.slices:
            self.windows = config_windows(self._handle, self.stages, window_channels(other.windows))
        return self

    def _with_layer_windows(self, channels: Sequence[str]) -> "Config":
        """This one, which the library made of layers: with their windows, whose channels have these names."""
        if channels:
            self.windows = config_windows(self._handle, self.stages, channels)
            self._windows_of_layers = bool(self.windows)
        return self

    def __deepcopy__(self, _memo: object) -> "Config":
        return self.__copy__()

    def _arguments(self) -> Dict[str, Any]:
        """What makes it again: the arguments of ppsched.Config that say something."""
        given: Dict[str, Any] = {name: getattr(self, name) for name in ("devices", "microbatches", "stages", "iterations", "slices", "split_backward", "forward_only",
                                                                         "sender_waits", "units")}
        given.update({name: values for name in QUANTITIES if (values := getattr(self, name))})
        if self.windows and all(stage.lists["weight"] or not self._windows_of_layers for stage in self.windows):  # the times follow from them
            for name in (*OF_WINDOWS, *([] if self._pairs_given else ["overlapped_times"])):
                given.pop(name, None)
            stages = [windows_as_given(stage) for stage in self.windows]
            given["windows"] = stages[0] if len(stages) == 1 else stages
        placement = self._asked_placement
        given.update(self._graph)
        return {**given, "weight_versions": self._weight_versions, "options": dict(self._options),
                "placement": list(self._map) or (None if placement == Placement.DEFAULT else placement)}

    def replace(self, **changes: Any) -> "Config":
        """A copy of the problem with other values for the given arguments, which have the names and checks of ppsched.Config's
        arguments. If `devices` is given without `stages`, and there were as many stages as devices, the number of
        stages changes, too. A list of numbers that is given as () gets its default.

        changes: arguments of ppsched.Config, by name.

            config.replace(microbatches=16, mem_limit=80)
        """
        given = self._arguments()
        if self.stages == self.devices and "devices" in changes and "stages" not in changes:
            del given["stages"]
        if any(map(_has_text, quantities_in(changes).values())):  # the others have units then, too
            units = given.pop("units")
            given.update({name: _worded(name, given[name], units) for name in quantities_in(given)})
        made = Config(**{**given, **changes})
        if made.microbatches == self.microbatches:
            made.microbatch_order = self.microbatch_order
        return made

    @classmethod
    def from_file(cls, path: Union[str, "PathLike[str]"]) -> "Config":
        """Reads the problem from a config file of the ppsched command, JSON or YAML: its sizes, times and memory. Keys that are only for
        the command, such as output, are ignored.

        path: the file; the name of a YAML file ends with .yaml or .yml. Errors: ppsched.Error with the file and the key that is wrong,
        also for a file that does not exist.

            config = ppsched.Config.from_file("problem.json")
        """
        reader, = _READERS
        return reader(fspath(path))

    def __reduce__(self) -> Tuple[Any, ...]:
        return _unpickled, (_minor_version(), self._arguments(), self.microbatch_order, self._carries and self.placement.name.lower())

    def _set_placement(self, placement: Union[Placement, str, Sequence[Union[int, Sequence[int]]]]) -> None:
        if isinstance(placement, str):
            placement = member(Placement, "placement", placement)
        if not isinstance(placement, (int, Iterable)):
            raise Error(f"placement must be a ppsched.Placement, its name, or the device of each stage, not {shown(placement)}")
        if isinstance(placement, int):
            call(lib.ppsched_config_set_placement, self._handle, placement, None, 0)
            return
        placement = [*placement]
        if any(isinstance(entry, (list, tuple)) for entry in placement):
            self._map = [[*entry] if isinstance(entry, (list, tuple)) else entry for entry in placement]
            counts, devices = _stage_lists("placement", [entry if isinstance(entry, (list, tuple)) else [entry] for entry in placement])
            call(lib.ppsched_config_set_stage_devices, self._handle, counts, devices, len(placement))
            return
        devices = [integer("placement", device) for device in placement]
        if any(not 0 <= device < 2**32 for device in devices):
            raise Error(f"placement has devices out of range: {devices}", _abi.Status.ERROR_RANGE)
        self._map = devices
        array = (ctypes.c_uint32 * len(devices))(*devices)
        call(lib.ppsched_config_set_placement, self._handle, Placement.MAP, array, len(devices))

    def _set_graph(self, inputs: object, passes: object, microbatches: object) -> None:
        given = {"stage_inputs": inputs, "stage_passes": passes, "stage_microbatches": microbatches}
        self._graph = {name: value for name, value in given.items() if value is not None}
        for name, value in self._graph.items():
            if not isinstance(value, (list, tuple)):
                raise Error(f"{name} must be a list with an entry for each stage, not {shown(value)}")
        if inputs is not None:
            lists = cast(Sequence[Any], inputs)
            call(lib.ppsched_config_set_stage_inputs, self._handle, *_stage_lists("stage_inputs", lists), len(lists))
        if passes is not None:
            kinds = [_passes(word) for word in cast(Sequence[Any], passes)]
            call(lib.ppsched_config_set_stage_passes, self._handle, (ctypes.c_int32 * len(kinds))(*kinds), len(kinds))
        lists = cast(Sequence[Any], microbatches or ())
        if microbatches is not None and len(lists) != self.stages:
            raise Error(f"stage_microbatches has {len(lists)} entries; give {self.stages}, one per stage", _abi.Status.ERROR_LENGTH)
        for stage, own in enumerate(lists):
            if own is not None:
                _, numbers_of = _stage_lists("stage_microbatches", [own])
                if not own:
                    raise Error(f"stage_microbatches: stage {stage} runs no microbatch; a stage runs at least one")
                call(lib.ppsched_config_set_stage_microbatches, self._handle, stage, numbers_of, len(own))

    def _set_list(self, name: str, value: object) -> None:
        flat = numbers(name, value)
        values = (ctypes.c_double * len(flat))(*flat)
        call(lib.ppsched_config_set_values, self._handle, QUANTITIES[name], values, len(flat))

    def _set_windows(self, windows: Sequence[StageWindows]) -> None:
        both = next((name for name in (*OF_WINDOWS, *(["backward_input_share"] if windows[0].lists["weight"] else [])) if getattr(self, name)), None)
        if both is not None:
            raise Error(f"windows and {both} both give the times of ops; give one of them")
        pairs = self.overlapped_times
        set_windows(self._handle, windows)
        self.windows, self._pairs_given = tuple(windows), bool(pairs)

    def _take_back(self, name: str) -> None:
        call(lib.ppsched_config_set_values, self._handle, QUANTITIES[name], None, 0)

    @property
    def devices(self) -> int:
        """D, the number of devices."""
        return lib.ppsched_config_devices(self._handle)

    @property
    def stages(self) -> int:
        """S, the number of stages of the whole model."""
        return lib.ppsched_config_stages(self._handle)

    @property
    def microbatches(self) -> int:
        """M, the number of microbatches of an iteration."""
        return lib.ppsched_config_microbatches(self._handle)

    @property
    def iterations(self) -> int:
        """Number of training iterations in one schedule."""
        return lib.ppsched_config_iterations(self._handle)

    @property
    def slices(self) -> int:
        """Number of slices of each microbatch; 1: whole microbatches."""
        return lib.ppsched_config_slices(self._handle)

    @property
    def placement(self) -> Placement:
        """Which device holds which stages; Placement.MAP if it was given as a list."""
        return Placement(lib.ppsched_config_placement(self._handle))

    @property
    def weight_versions(self) -> int:
        """Versions of the weights that a device holds, as given; 0: the number that the strategy needs."""
        return self._weight_versions

    @property
    def options(self) -> Dict[str, str]:
        """Options of the strategy, as given."""
        return dict(self._options)

    @property
    def stage_inputs(self) -> Optional[Sequence[Sequence[int]]]:
        """For each stage the stages whose outputs it reads, as given; None for a chain."""
        return cast(Optional[Sequence[Sequence[int]]], self._graph.get("stage_inputs"))

    @property
    def stage_passes(self) -> Optional[Sequence[str]]:
        """For each stage "FB", "FI" or "F", as given; None if all are "FB"."""
        return cast(Optional[Sequence[str]], self._graph.get("stage_passes"))

    @property
    def stage_microbatches(self) -> Optional[Sequence[Optional[Sequence[int]]]]:
        """For each stage the microbatches that it runs, as given; None if each runs all."""
        return cast(Optional[Sequence[Optional[Sequence[int]]]], self._graph.get("stage_microbatches"))

    forward_times = Values("Time of a forward, per stage (default: 1).")
    backward_times = Values("Time of a full backward, per stage (default: 2).")
    backward_input_times = Values("Time of a backward for only the input gradient, per stage.")
    backward_weight_times = Values("Time of a backward for only the weight gradient, per stage.")
    backward_input_share = Values("Share of a full backward that is for the input gradient: one number.")
    overlapped_times = Values("Time in which a device runs a forward and a backward together (an overlapped pair), per stage of the forward or per pair of "
                              "stages.")
    p2p_time = Values("Latency of a transfer, per pair of devices.")
    p2p_bandwidth = Values("Bytes per unit of time between devices, per pair of devices.")
    activation_bytes = Values("Bytes of the output of a forward, per stage.")
    gradient_bytes = Values("Bytes of the gradient that a backward sends, per stage (default: the bytes of the activation).")
    mem_forward = Values("Memory that a stage pass takes at its forward (its activations), per stage (default: 1).")
    mem_backward_input = Values("Change of memory by an I, per stage. A negative change happens at the end of the I, a positive change at its "
                                "start.")
    mem_backward_weight = Values("Change of memory (a negative number) when the weight gradient is done, per stage.")
    mem_static = Values("Memory that a stage takes at all times, per stage.")
    mem_weights = Values("Memory of one version of the weights, per stage.")
    mem_limit = Values("Memory limit, per device.")
    mem_optimizer = Values("Memory of optimizer states, per stage.")
    mem_other = Values("Memory that a device holds in addition to its stages, per device.")
    mem_gradients = Values("Memory of gradients, held from the first weight gradient until they are reduced, per stage.")
    mem_gathered = Values("Memory of gathered weights while the device holds them, per stage.")
    mem_output = Values("Memory of the output that a stage pass holds from its forward to its backward, per stage.")
    mem_send_forward = Values("Memory of the output of a forward until it is sent, per stage.")
    mem_send_backward = Values("Memory of the gradient of a backward until it is sent, per stage.")
    mem_receive_forward = Values("Memory of the received input of a forward until the forward starts, per stage.")
    mem_receive_backward = Values("Memory of the received gradient of a backward until the backward ends, per stage.")
    mem_work_forward = Values("Work space of a forward while it runs, per stage.")
    mem_work_backward = Values("Work space of a full backward while it runs, per stage.")
    mem_work_backward_input = Values("Work space of a backward for only the input gradient, per stage (default: the work space of a full backward).")
    mem_work_backward_weight = Values("Work space of a backward for only the weight gradient, per stage (default: the work space of a "
                                      "full backward).")
    unshard_times = Values("Time to gather the weights, per stage.")
    reduce_grad_times = Values("Time to reduce the gradients, per stage.")
    unshard_bytes = Values("Bytes that are gathered, per stage.")
    reduce_grad_bytes = Values("Bytes that are reduced, per stage.")
    sharding_bandwidth = Values("Bytes per unit of time for gathering and reducing, per device.")
    sharding_slowdown = Values("Factor on the times of compute ops during gathering and reducing, per device (default: 1; inf: compute ops stop).")
    recompute_times = Values("Time of the op RECOMPUTE, which runs a forward again, per stage (default: the time of F).")
    mem_recompute = Values("Memory that a recomputed stage pass holds from its F until its RECOMPUTE, per stage (default: 0).")
    offload_times = Values("Time to copy the activations of a stage pass to the host, per stage (default: host_latency + offload_bytes / "
                           "host_bandwidth).")
    reload_times = Values("Time to copy the activations back, per stage (default: the time of the copy to the host).")
    offload_bytes = Values("Bytes that are copied to the host for a stage pass, per stage.")
    host_bandwidth = Values("Bytes per unit of time of the host link in each direction, per device.")
    host_latency = Values("Time of each copy in addition to the time of its bytes, per device.")
    mem_offload = Values("Memory that is freed when the activations of a stage pass are copied to the host, per stage (default: all of mem_forward).")
    host_link = Values("Number of the host link of a device, per device; devices with the same number share a link.")
    microbatch_scale = Values("Factor on times, memory and bytes, per microbatch.")
    microbatch_memory_scale = Values("Factor only on memory and bytes, per microbatch (default: microbatch_scale).")
    microbatch_request = Values("For schedules with only forwards: number of the request to which a microbatch belongs, per microbatch. Consecutive "
                                "microbatches with the same number are the chunks of one request.")
    slice_scale = Values("Factor on times, which multiplies the factor of the microbatch: one per slice, or one per slice for each stage (first "
                         "all slices on stage 0, then all slices on stage 1, and so on).")
    op_overhead = Values("The runtime's own time per op, in addition to the op's time: one number, or one each for F, B, I and W.")
    copy_slowdown = Values("Factor on the times of compute ops while a copy to or from the host runs, per device (default: 1; inf: compute ops stop).")
    send_overhead = Values("Time that a device needs to start each send or receive, per device; counts only in evaluations with transfers (default: 0).")
    mem_recomputed_backward_input = Values("Memory of activations that an I recomputes at its start, and that the device holds until W ends, per stage.")
    device_scale = Values("Factor on the times of ops, per device: first of F on all devices, then of B, then of I, then of W (default: 1).")
    layer_types = Values("Number of the type of each device, for layers whose times differ by type of device (default: 0).")
    stage_scale = Values("Factor on the times of ops, per stage and device: first of F of stage 0 on all devices, then of F of the other stages, then "
                         "the same for B, I and W (default: 1).")
    device_overhead = Values("Time per op, in addition to op_overhead, per device; device_speeds do not change this time (default: 0).")
    device_speeds = Values("Speed, per device; the times of ops are divided by the speed (default: 1; 0.5: half as fast).")
    mem_recomputed_backward = Values("Memory of activations that a full backward recomputes and holds while it runs, per stage (default: the "
                                     "memory that an I recomputes).")

    def validate(self) -> None:
        """Raises if the lists contradict each other."""
        call(lib.ppsched_config_validate, self._handle)

    def with_stages(self, stages: int, embedding: Optional[ModelEnd] = None, head: Optional[ModelEnd] = None) -> "Config":
        """The same model with another number of stages. One number must be a multiple of the other. Costs of stages are added
        up, or divided evenly. The costs of embedding and head are not divided: they stay in the first and the last stage."""
        ends = model_end("embedding", embedding), model_end("head", head)
        return self._like(new_handle(lib.ppsched_config_with_stages, self._handle, integer("stages", stages), ctypes.byref(ends[0]),
                                     ctypes.byref(ends[1])))

    def with_microbatches(self, microbatches: int) -> "Config":
        """The same batch divided into another number of microbatches. Times, bytes and activation memory are multiplied by old number / new
        number."""
        return self._like(new_handle(lib.ppsched_config_with_microbatches, self._handle, integer("microbatches", microbatches)))

    def with_device_order(self, order: Sequence[int]) -> "Config":
        """The same devices in other places: device order[p] becomes device p. `order` has the numbers of the devices before the
        call."""
        devices = device_numbers(order)
        config = self.__copy__()
        call(lib.ppsched_config_order_devices, config._handle, (ctypes.c_uint32 * len(devices))(*devices), len(devices))
        config.device_order = tuple(self.device_order[device] for device in devices) if self.device_order else tuple(devices)
        return config

    def _repr_html_(self) -> str:
        """A table of what is given, for notebooks."""
        units = self.units
        sizes = [(name, str(getattr(self, name))) for name in ("devices", "stages", "microbatches", "iterations", "slices")]
        lists = [(name, ", ".join(units.word(name, value) for value in values[:SHOWN]) + (f", ... ({len(values)} values)" if len(values) > SHOWN else ""))
                 for name in QUANTITIES if (values := getattr(self, name))]
        rows = [*sizes, ("placement", self.placement.name.lower()), *self._options.items(), *lists]
        return "<table>" + "".join(f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(text)}</td></tr>'
                                   for name, text in rows) + "</table>"

    def __repr__(self) -> str:
        sizes = ", ".join([counted(self.devices, "device"), counted(self.stages, "stage"),
                           counted(self.microbatches, "microbatch", "es"), counted(self.iterations, "iteration"),
                           *([counted(self.slices, "slice") + " of each microbatch"] if self.slices > 1 else [])])
        given = [name for name in QUANTITIES if getattr(self, name)]
        return f"<ppsched.Config: {sizes}, {self.placement.name.lower()} placement{'; with ' if given else ''}{', '.join(given)}>"


PASSES = tuple(names_of(StagePasses))  # of a stage, numbered from 1


def _passes(word: object) -> int:
    if word not in PASSES:
        raise Error(f"stage_passes: {shown(word)} must be \"FB\", \"FI\" or \"F\"")
    return PASSES.index(cast(str, word)) + 1


def _stage_lists(name: str, lists: Sequence[object]) -> Tuple[Any, Any]:
    """A list of numbers for each stage, as the library takes them: their counts, and all of them."""
    flat: List[int] = []
    for stage, entry in enumerate(lists):
        if not isinstance(entry, (list, tuple)):
            raise Error(f"{name}: the entry of stage {stage} must be a list of numbers, not {shown(entry)}")
        flat += [integer(name, number) for number in entry]
    wrong = [number for number in flat if not 0 <= number < 2**32 - 1]
    if wrong:
        raise Error(f"{name} has a number out of range: {wrong[0]}", _abi.Status.ERROR_RANGE)
    counts = [len(cast(Sequence[int], entry)) for entry in lists]
    return (ctypes.c_uint32 * max(len(counts), 1))(*counts), (ctypes.c_uint32 * max(len(flat), 1))(*flat)


def device_numbers(order: object) -> List[int]:
    """An order of devices, whose numbers the library checks further."""
    if isinstance(order, str) or not isinstance(order, Iterable):
        raise Error(f"the device order must be a list of devices, not {shown(order)}")
    devices = [integer("the device order", device) for device in order]
    if any(not 0 <= device < 2**32 for device in devices):
        raise Error(f"the device order holds devices out of range: {devices}", _abi.Status.ERROR_RANGE)
    return devices


def _minor_version() -> str:
    return ".".join(decoded(lib.ppsched_version_text()).split(".")[:2])


def _unpickled(version: str, arguments: Mapping[str, Any], order: Tuple[int, ...], carried: Union[str, bool]) -> Config:
    """What pickle calls; carried: the placement of a schedule that it has."""
    if version != _minor_version():
        raise Error(f"this ppsched.Config was pickled by ppsched {version}, and this is {_minor_version()}; make it again from its arguments or a file")
    config = Config(**arguments)
    config.microbatch_order = order
    return config._placed(member(Placement, "placement", carried)) if carried else config


def config_of(value: object) -> Config:
    """Returns the value if it is a config, else raises."""
    if not isinstance(value, Config):
        raise Error(f"config must be a ppsched.Config, not {shown(value)}")
    return value
