# SPDX-License-Identifier: Apache-2.0
"""The problem: sizes, placement, durations, delays and memory."""
import ctypes
import weakref
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple, TypedDict, Union, cast, overload

from . import _abi
from ._abi import Placement, Quantity, SenderWaits
from ._library import Error, call, decoded, encoded, lib, new_handle
from .enums import member
from .model_end import ModelEnd, model_end
from .number_lists import Numbers, integer, numbers
from .shown import shown
from .units import PLAIN, Units
from .words import counted, names_checked

# Quantity of each list of numbers, by the name that the library has for it.
QUANTITIES: Dict[str, Quantity] = {decoded(lib.ppsched_quantity_name(quantity)): quantity for quantity in Quantity}


class Quantities(TypedDict, total=False):
    """The lists of numbers that ppsched.Config takes, of which any may be left out: config = Config(4, 8, **quantities)."""

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
    op_overhead: Numbers
    copy_slowdown: Numbers
    send_overhead: Numbers
    mem_recomputed_backward_input: Numbers
    mem_recomputed_backward: Numbers


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
        raise Error(f"units: numbers as texts have their own; leave out units={shown(units)}")
    return united, units if found == PLAIN else found


def _worded(name: str, value: Any, units: Units) -> Any:
    worder, = _WORDERS
    return worder(name, value, units)


DEFAULT: Numbers = ()  # of a list that is not given
# Lists that are not of stages: of devices, of microbatches and slices, or of kinds of op.
OF_RUN = ("p2p_time", "p2p_bandwidth", "mem_limit", "mem_other", "sharding_bandwidth", "sharding_slowdown", "host_bandwidth",
          "host_latency", "host_link", "copy_slowdown", "send_overhead", "microbatch_scale", "microbatch_memory_scale", "slice_scale",
          "op_overhead")


def quantities_in(values: Mapping[str, Any]) -> Quantities:
    """Those of some named values that are quantities, and given."""
    return cast(Quantities, {name: values[name] for name in QUANTITIES if values.get(name, DEFAULT) is not DEFAULT})


class Values:
    """A list of numbers as an attribute of ppsched.Config: as it was set, empty where the default holds."""

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
        raise AttributeError(f"{self._name} of a ppsched.Config cannot be changed; make another one")


class Config:
    """A problem. Times and memory are in units of your choice, which `units` may name for what is printed of them:
    units=ppsched.Units("ms", "GB"). Or each number is a text with its unit, as forward_times=["6.1ms", "7ms"]: then all have one, and
    are converted to the largest that is given.

    devices, microbatches: D and M; stages: S, virtual stages of the whole model (default: as many as devices);
    iterations: training iterations in one schedule; slices: of each microbatch along its sequence, 1 for whole ones; placement: a ppsched.Placement, its name, or a list with the device of
    each stage (default: what the strategy wants); weight_versions: how many versions of the weights live at once (default:
    what the strategy needs); split_backward: False where a backward is always one op, as in Megatron-LM; forward_only:
    True where there are no backwards, as in inference; sender_waits: a ppsched.SenderWaits or its name, like_kind where a device that
    has sent something waits until it is there before another op of that kind and stage; options: the strategy's options.

    The others are lists of numbers; one number stands for all. Per stage: forward_times, backward_times (full backward),
    backward_input_times, backward_weight_times, mem_forward, mem_backward_input, mem_backward_weight, mem_static,
    mem_weights, activation_bytes, gradient_bytes, and what else takes memory: mem_optimizer, mem_gradients, mem_gathered,
    mem_output, mem_send_forward, mem_send_backward, mem_receive_forward, mem_receive_backward, mem_work_forward,
    mem_work_backward, mem_work_backward_input, mem_work_backward_weight; of sharded parameters unshard_times,
    reduce_grad_times, unshard_bytes, reduce_grad_bytes; of what is recomputed or offloaded
    recompute_times, mem_recompute, offload_times, reload_times, offload_bytes, mem_offload; of what a backward computes again
    mem_recomputed_backward_input, mem_recomputed_backward. Per device: mem_limit, mem_other,
    sharding_bandwidth, sharding_slowdown, host_bandwidth, host_latency, host_link, copy_slowdown, and send_overhead,
    host time that the call of each send or receive takes in evaluations with transfers. Per pair of devices: p2p_time, p2p_bandwidth. Per
    forward stage or pair of stages: overlapped_times. Per microbatch: microbatch_scale, by which its times, memory and bytes are
    multiplied, and microbatch_memory_scale for memory and bytes alone; per slice: slice_scale, for times. One number or
    four, for F, B, I and W: op_overhead, what the runtime takes for each op beside its stage. One number: backward_input_share. All
    are attributes too: lists as they were given, empty where the default holds.
    """

    units: Units
    split_backward: bool
    forward_only: bool
    sender_waits: SenderWaits
    _weight_versions: int  # what the library keeps to itself, as it was given
    _map: List[int]        # the device of each stage, empty where the placement has a name
    _options: Dict[str, str]
    _carries: bool = False  # the placement is that of a schedule, which the caller did not ask for
    microbatch_order: Tuple[int, ...] = ()  # of each, its number in the config that Schedule.order_microbatches was asked with

    @names_checked
    def __init__(self, devices: int, microbatches: int, stages: Optional[int] = None, *, iterations: int = 1, slices: int = 1,
                 placement: Union[Placement, str, Sequence[int], None] = None, weight_versions: int = 0,
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
                 slice_scale: Numbers = (), op_overhead: Numbers = (), copy_slowdown: Numbers = (), send_overhead: Numbers = (),
                 mem_recomputed_backward_input: Numbers = (), mem_recomputed_backward: Numbers = (),
                 units: Units = PLAIN) -> None:
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
        for name, value in given.items():
            self._set_list(name, value)
        for name, value in self._options.items():
            call(lib.ppsched_config_set_option, self._handle, encoded("option", name), encoded("value", value))

    def _own(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        self._release = weakref.finalize(self, lib.ppsched_config_destroy, handle)

    def _like(self, handle: ctypes.c_void_p) -> "Config":
        """That of a handle that the library made of this one, which it owns from now on."""
        config = Config.__new__(Config)
        config._own(handle)
        config.units, config.split_backward, config.forward_only = self.units, self.split_backward, self.forward_only
        config.sender_waits = self.sender_waits
        config._weight_versions, config._map, config._options = self._weight_versions, self._map, self._options
        config.microbatch_order, config._carries = self.microbatch_order, self._carries
        return config

    def _placed(self, placement: Placement) -> "Config":
        """This one, or where it leaves the placement open a copy with that of a schedule that is not where a builder would put it."""
        if self.placement != Placement.DEFAULT or placement not in (Placement.V, Placement.BIDIRECTIONAL):
            return self
        config = self.__copy__()
        config._set_placement(placement)
        config._carries = True
        return config

    @property
    def _asked_placement(self) -> Placement:
        """That of the problem, whatever a schedule's is."""
        return Placement.DEFAULT if self._carries else self.placement

    def __copy__(self) -> "Config":
        return self._like(new_handle(lib.ppsched_config_copy, self._handle))

    def __deepcopy__(self, _memo: object) -> "Config":
        return self.__copy__()

    def _arguments(self) -> Dict[str, Any]:
        """What makes it again: the arguments of ppsched.Config that say something."""
        given: Dict[str, Any] = {name: getattr(self, name) for name in ("devices", "microbatches", "stages", "iterations", "slices", "split_backward", "forward_only",
                                                                         "sender_waits", "units")}
        given.update({name: values for name in QUANTITIES if (values := getattr(self, name))})
        placement = self._asked_placement
        return {**given, "weight_versions": self._weight_versions, "options": dict(self._options),
                "placement": list(self._map) or (None if placement == Placement.DEFAULT else placement)}

    def replace(self, **changes: Any) -> "Config":
        """The same problem but for what is given, by the names of ppsched.Config's arguments and with its checks. Stages that were as
        many as devices stay so; a list of numbers that is given as () has its default again.

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
        """The problem that a config file of the ppsched command states, as JSON or YAML: its sizes, times and memory. What it says for
        the command alone, such as output, is not read.

            config = ppsched.Config.from_file("problem.yaml")
        """
        reader, = _READERS
        return reader(fspath(path))

    def __reduce__(self) -> Tuple[Any, ...]:
        return _unpickled, (_minor_version(), self._arguments(), self.microbatch_order, self._carries and self.placement.name.lower())

    def _set_placement(self, placement: Union[Placement, str, Sequence[int]]) -> None:
        if isinstance(placement, str):
            placement = member(Placement, "placement", placement)
        if not isinstance(placement, (int, Iterable)):
            raise Error(f"placement must be a ppsched.Placement, its name, or the device of each stage, not {shown(placement)}")
        if isinstance(placement, int):
            call(lib.ppsched_config_set_placement, self._handle, placement, None, 0)
            return
        devices = [integer("placement", device) for device in placement]
        if any(not 0 <= device < 2**32 for device in devices):
            raise Error(f"placement holds devices out of range: {devices}", _abi.Status.ERROR_RANGE)
        self._map = devices
        array = (ctypes.c_uint32 * len(devices))(*devices)
        call(lib.ppsched_config_set_placement, self._handle, Placement.MAP, array, len(devices))

    def _set_list(self, name: str, value: object) -> None:
        flat = numbers(name, value)
        values = (ctypes.c_double * len(flat))(*flat)
        call(lib.ppsched_config_set_values, self._handle, QUANTITIES[name], values, len(flat))

    def _take_back(self, name: str) -> None:
        call(lib.ppsched_config_set_values, self._handle, QUANTITIES[name], None, 0)

    @property
    def devices(self) -> int:
        return lib.ppsched_config_devices(self._handle)

    @property
    def stages(self) -> int:
        return lib.ppsched_config_stages(self._handle)

    @property
    def microbatches(self) -> int:
        return lib.ppsched_config_microbatches(self._handle)

    @property
    def iterations(self) -> int:
        return lib.ppsched_config_iterations(self._handle)

    @property
    def slices(self) -> int:
        return lib.ppsched_config_slices(self._handle)

    @property
    def placement(self) -> Placement:
        return Placement(lib.ppsched_config_placement(self._handle))

    forward_times = Values("Time of a forward, a stage (default: 1).")
    backward_times = Values("Time of a full backward, a stage (default: 2).")
    backward_input_times = Values("Time of a backward for the input gradient alone, a stage.")
    backward_weight_times = Values("Time of a backward for the weight gradient alone, a stage.")
    backward_input_share = Values("The input gradient's share of a full backward: one number.")
    overlapped_times = Values("Time of an overlapped forward and backward, a forward stage, or a pair of stages.")
    p2p_time = Values("Latency from device to device, a pair of them.")
    p2p_bandwidth = Values("Bytes per unit of time from device to device, a pair of them.")
    activation_bytes = Values("Size of what a forward hands on, a stage.")
    gradient_bytes = Values("Size of what a backward hands back, a stage; the activation's where it is not given.")
    mem_forward = Values("Memory that a stage pass takes at its forward, its activations, a stage (default: 1).")
    mem_backward_input = Values("Memory of an I: negative is given back when it ends, positive taken when it starts, a stage.")
    mem_backward_weight = Values("Memory added (negative) when the weight gradient is done, a stage.")
    mem_static = Values("Memory that a stage always takes.")
    mem_weights = Values("Memory of one version of a stage's weights.")
    mem_limit = Values("Memory of a device.")
    mem_optimizer = Values("Memory of a stage's optimizer states.")
    mem_other = Values("Memory that a device holds beside its stages.")
    mem_gradients = Values("Memory of a stage's gradients, from its first weight gradient until they are reduced.")
    mem_gathered = Values("Memory of a stage's gathered weights, while it has them.")
    mem_output = Values("Memory of its output that a stage pass keeps from its forward to its backward, a stage.")
    mem_send_forward = Values("Memory of what a forward sends, until it is sent, a stage.")
    mem_send_backward = Values("Memory of what a backward sends, until it is sent, a stage.")
    mem_receive_forward = Values("Memory of what a forward receives, until it starts, a stage.")
    mem_receive_backward = Values("Memory of what a backward receives, until it ends, a stage.")
    mem_work_forward = Values("Work space of a forward while it runs, a stage.")
    mem_work_backward = Values("Work space of a full backward while it runs, a stage.")
    mem_work_backward_input = Values("Work space of a backward for the input gradient alone, a stage (default: that of a full one).")
    mem_work_backward_weight = Values("Work space of a backward for the weight gradient alone, a stage (default: that of a full one).")
    unshard_times = Values("Time in which a stage's weights are gathered.")
    reduce_grad_times = Values("Time in which a stage's gradients are reduced.")
    unshard_bytes = Values("Size of what is gathered of a stage.")
    reduce_grad_bytes = Values("Size of what is reduced of a stage.")
    sharding_bandwidth = Values("Bytes per unit of time of gathering and reducing, a device.")
    sharding_slowdown = Values("How much longer compute ops take meanwhile, a device (default: 1; inf: they stand still).")
    recompute_times = Values("Time of RECOMPUTE, a stage (default: that of F).")
    mem_recompute = Values("What a recomputed pass keeps from its F until its RECOMPUTE, a stage (default: 0).")
    offload_times = Values("Time of the copy to the host, a stage pass (default: the latency and its bytes / the bandwidth).")
    reload_times = Values("Time of the copy back, a stage pass (default: that of the copy to the host).")
    offload_bytes = Values("Size of what is copied of a stage pass.")
    host_bandwidth = Values("Bytes per unit of time of the link to the host, each way, a device.")
    host_latency = Values("Time of each copy beside its bytes, a device.")
    mem_offload = Values("Memory that goes with the copy of a stage pass (default: all of mem_forward).")
    host_link = Values("Number of a device's link to the host; those with the same number share it.")
    microbatch_scale = Values("Times, memory and bytes of a microbatch, as a multiple of what is given of a stage.")
    microbatch_memory_scale = Values("Of its memory and bytes alone (default: as microbatch_scale).")
    slice_scale = Values("Times of a slice, as a multiple on top of its microbatch's.")
    op_overhead = Values("What the runtime takes for each op beside its stage: one number, or four, for F, B, I and W.")
    copy_slowdown = Values("How much longer compute ops take while a copy of a device runs, a device (default: 1; inf: they stand still).")
    send_overhead = Values("Host time that the call of a send or receive takes of its device, with transfers (default: 0).")
    mem_recomputed_backward_input = Values("Memory that is computed again when an I starts and stays until W ends, a stage.")
    mem_recomputed_backward = Values("Memory that is computed again while a full backward runs, a stage (default: that of an I).")

    def validate(self) -> None:
        """Raises where the lists contradict each other."""
        call(lib.ppsched_config_validate, self._handle)

    def with_stages(self, stages: int, embedding: Optional[ModelEnd] = None, head: Optional[ModelEnd] = None) -> "Config":
        """The same model in another number of stages, of which one is a multiple of the other: costs are added up, or divided
        evenly but for embedding and head, which stay in the first and the last stage."""
        ends = model_end("embedding", embedding), model_end("head", head)
        return self._like(new_handle(lib.ppsched_config_with_stages, self._handle, integer("stages", stages), ctypes.byref(ends[0]),
                                     ctypes.byref(ends[1])))

    def with_microbatches(self, microbatches: int) -> "Config":
        """The same batch in another number of microbatches: times, bytes and activation memory change by their ratio."""
        return self._like(new_handle(lib.ppsched_config_with_microbatches, self._handle, integer("microbatches", microbatches)))

    def __repr__(self) -> str:
        sizes = ", ".join([counted(self.devices, "device"), counted(self.stages, "stage"),
                           counted(self.microbatches, "microbatch", "es"), counted(self.iterations, "iteration"),
                           *([counted(self.slices, "slice") + " of each microbatch"] if self.slices > 1 else [])])
        given = [name for name in QUANTITIES if getattr(self, name)]
        return f"<ppsched.Config: {sizes}, {self.placement.name.lower()} placement{'; with ' if given else ''}{', '.join(given)}>"


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
    """What must be a config."""
    if not isinstance(value, Config):
        raise Error(f"config must be a ppsched.Config, not {shown(value)}")
    return value
