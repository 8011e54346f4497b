# SPDX-License-Identifier: Apache-2.0
"""The problem: sizes, placement, durations, delays and memory."""
import ctypes
import operator
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import Optional, Union

from . import _abi
from ._abi import Placement, Quantity
from ._library import Error, call, encoded, lib, new_handle
from .enums import member

Numbers = Union[float, Iterable[float], Iterable[Iterable[float]]]

# Name of each list of numbers, as the library has it: forward_times, ..., mem_limit.
QUANTITIES = {lib.ppsched_quantity_name(quantity).decode(): quantity for quantity in Quantity}


def integer(name, value):
    """An integer that C can take."""
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise Error(f"{name} must be an integer, not {value!r}")
    value = operator.index(value)
    if not -2**63 <= value < 2**63:
        raise Error(f"{name} is {value}, which no integer of the library can hold", _abi.Status.ERROR_RANGE)
    return value


def _is_number(value):
    """Arrays without a dimension are numbers, though they say that they can be iterated over."""
    return hasattr(value, "__float__") and not isinstance(value, bool) and (
        not isinstance(value, Iterable) or getattr(value, "ndim", None) == 0)


def numbers(name, value):
    """A flat list of floats from a number, a list, or a matrix."""
    if _is_number(value):
        value = [value]
    if isinstance(value, (str, bytes, Mapping, bool)) or not isinstance(value, Iterable):
        raise Error(f"{name} must be a number or a list of numbers, not {value!r}")
    flat = []
    for item in value:
        row = [item] if _is_number(item) or isinstance(item, (str, bytes, Mapping)) or not isinstance(item, Iterable) else list(item)
        for number in row:
            if isinstance(number, bool) or not hasattr(number, "__float__"):
                raise Error(f"{name} must hold numbers, not {number!r}")
            flat.append(_to_float(name, number))
    if not flat:
        raise Error(f"{name} is an empty list", _abi.Status.ERROR_LENGTH)
    return flat


def _to_float(name, number):
    try:
        return float(number)
    except OverflowError:
        raise Error(f"{name} holds {str(number)[:40]}..., which is too large", _abi.Status.ERROR_RANGE) from None


class Config:
    """A problem. Times and memory are in units of your choice.

    devices, microbatches: D and M; stages: S, virtual stages of the whole model (default: as many as devices);
    iterations: training iterations in one schedule; placement: a ppsched.Placement, its name, or a list with the device of
    each stage (default: what the strategy wants); weight_versions: how many versions of the weights live at once (default:
    what the strategy needs); options: the strategy's options.

    The others are lists of numbers; one number stands for all. Per stage: forward_times, backward_times (full backward),
    backward_input_times, backward_weight_times, mem_forward, mem_backward_input, mem_backward_weight, mem_static,
    mem_weights, activation_bytes, gradient_bytes. Per device: mem_limit. Per pair of devices: p2p_time, p2p_bandwidth. Per
    forward stage or pair of stages: overlapped_times. One number: backward_input_share.
    """

    def __init__(self, devices: int, microbatches: int, stages: Optional[int] = None, *, iterations: int = 1,
                 placement: Union[Placement, str, Sequence[int], None] = None, weight_versions: int = 0,
                 options: Optional[Mapping[str, object]] = None, **lists: Numbers):
        stages = devices if stages is None else stages
        self._own(new_handle(lib.ppsched_config_create, integer("devices", devices), integer("stages", stages),
                             integer("microbatches", microbatches), None))
        call(lib.ppsched_config_set_iterations, self._handle, integer("iterations", iterations))
        call(lib.ppsched_config_set_weight_versions, self._handle, integer("weight_versions", weight_versions))
        if placement is not None:
            self._set_placement(placement)
        for name, value in lists.items():
            self._set_list(name, value)
        for name, value in (options or {}).items():
            call(lib.ppsched_config_set_option, self._handle, encoded("option", str(name)), encoded("value", str(value)))

    def _own(self, handle):
        self._handle = handle
        self._release = weakref.finalize(self, lib.ppsched_config_destroy, handle)

    def __copy__(self):
        copy = Config.__new__(Config)
        copy._own(new_handle(lib.ppsched_config_copy, self._handle))
        return copy

    def __deepcopy__(self, _memo):
        return self.__copy__()

    def __reduce__(self):
        raise TypeError("a ppsched.Config cannot be pickled")

    def _set_placement(self, placement):
        if isinstance(placement, str):
            placement = member(Placement, "placement", placement)
        if isinstance(placement, int):
            call(lib.ppsched_config_set_placement, self._handle, placement, None, 0)
            return
        devices = [integer("placement", device) for device in placement]
        if any(not 0 <= device < 2**32 for device in devices):
            raise Error(f"placement holds devices out of range: {devices}", _abi.Status.ERROR_RANGE)
        devices = (ctypes.c_uint32 * len(devices))(*devices)
        call(lib.ppsched_config_set_placement, self._handle, Placement.MAP, devices, len(devices))

    def _set_list(self, name, value):
        if name not in QUANTITIES:
            raise TypeError(f"Config has no argument {name!r}; the lists are {', '.join(QUANTITIES)}")
        flat = numbers(name, value)
        values = (ctypes.c_double * len(flat))(*flat)
        call(lib.ppsched_config_set_values, self._handle, QUANTITIES[name], values, len(flat))

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

    def values(self, name: str) -> list:
        """A list as it was set; empty where the default holds."""
        count = ctypes.c_size_t()
        pointer = lib.ppsched_config_values(self._handle, QUANTITIES[name], ctypes.byref(count))
        return [pointer[i] for i in range(count.value)]

    def validate(self) -> None:
        """Raises where the lists contradict each other."""
        call(lib.ppsched_config_validate, self._handle)

    def __repr__(self):
        return (f"<ppsched.Config: {self.devices} devices, {self.stages} stages, {self.microbatches} microbatches, "
                f"{self.iterations} iterations>")
