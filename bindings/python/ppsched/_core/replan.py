# SPDX-License-Identifier: Apache-2.0
"""A running job whose devices change: the split and order to go on with, and what moves."""
import ctypes
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Union

from . import _abi
from ._library import Error, call, encoded, lib, new_handle
from .config import Config
from .filling import records_of
from .layers import Layer, Layers
from .listener import Listener, Progress, check_progress
from .number_lists import Numbers, integer, numbers
from .shown import shown
from .views import none_if_unset, sized
from .words import counted, names_checked

MOST = 0xFFFFFFFF


class Move(NamedTuple):
    """Consecutive layers that a device gets. first: number of the first layer; layers: how many; source: the device that holds
    them, or None if they are loaded because no device holds them any longer; target: the device that gets them; size: in the
    units of layer_bytes."""

    first: int
    layers: int
    source: Optional[int]
    target: int
    size: float


class Replan(NamedTuple):
    """How a running job continues.

    split: number of layers of each stage; recomputes: for each layer 0, or the number of its kind of recomputation, counted
    from 1; device_order: the device in each place, by its number in the config; moves: layers that devices get. step_time: step
    time of the result; running_step_time: step time of the running split on the devices as they are now, or None if a device is
    lost.
    moved: bytes that move from device to device; loaded: bytes of layers that no device holds any longer; move_time: time of
    moves, loads and the restart; pays_after: number of steps after which the change has saved as much time as it took, 0 if
    nothing changes or the running split cannot stay. stays: the running split and order are kept; can_stay: they could be kept;
    fits: all devices are within their memory limits. group_size: for strategies with groups, the wanted size, or the nearest
    size that the strategy supports on these devices; else 0.
    """

    split: List[int]
    recomputes: List[int]
    device_order: List[int]
    moves: List[Move]
    step_time: float
    running_step_time: Optional[float]
    moved: float
    loaded: float
    move_time: float
    pays_after: float
    stays: bool
    can_stay: bool
    fits: bool
    group_size: int = 0


def _whole_numbers(name: str, given: Sequence[int]) -> List[int]:
    found = [integer(name, number) for number in given]
    wrong = next((number for number in found if not 0 <= number <= MOST), None)
    if wrong is not None:
        raise Error(f"{name} has {wrong}; give numbers from 0")
    return found


def _list(record: Any, name: str, kind: Any, given: Optional[Sequence[Any]]) -> Any:
    """Sets a list of the options; the caller keeps what is returned until the call has ended."""
    array = None if given is None else (kind * max(1, len(given)))(*given)
    setattr(record, name, array if array is None else ctypes.cast(array, ctypes.POINTER(kind)))
    return array


def _check_lengths(config: Config, layers: Layers, running: int, given: Dict[str, Optional[Sequence[Any]]]) -> None:
    for name, wanted, each in (("device_order", running, "running device"), ("recomputes", len(layers), "layer"), ("layer_bytes", len(layers), "layer")):
        found = given[name]
        if found is not None and len(found) != wanted:
            raise Error(f"{name} has {counted(len(found), 'value')}; give {wanted}, one per {each}")


@names_checked
def replan(config: Config, layers: Union[Layers, Sequence[Layer]], split: Sequence[int], *, strategy: str = "1f1b", running_devices: int = 0,
           device_order: Optional[Sequence[int]] = None, lost: Sequence[int] = (), recomputes: Optional[Sequence[int]] = None,
           layer_bytes: Optional[Numbers] = None, group_size: int = 0, free_device_order: bool = False, split_effort: int = 0,
           load_bandwidth: float = 0, restart_time: float = 0, steps: float = 0, progress: Optional[Progress] = None) -> Replan:
    """Finds how a running job continues when its devices become slower, are lost or are added.

    config: has first the devices of the running job, and then the added devices. Its lists, device_order, lost and the result
    use the numbers of these devices. Give measured speeds in device_speeds, device_scale and the lists of links of the config.
    Lists of the config for stages are ignored.
    split: number of layers of each running stage. running_devices: number of devices of the running job (0: all). device_order: the device
    in each place (default: in the order of their numbers). lost: numbers of the lost devices.
    layer_bytes: bytes that a device receives when it gets a layer, one number or one per layer (default: mem_static + mem_weights).
    free_device_order: the order is searched, too. If it is not set, devices that stay keep their order. Added devices take the
    places of lost devices; further added devices come last.
    load_bandwidth: bandwidth with which a device loads layers that no device holds any longer (0: infinite). restart_time: time of a
    change in addition to moving layers. steps: number of steps still to run: the call minimises the time of these steps
    and of the change together (0: it minimises the time of a step).
    The strategy and the number of stages per device do not change. progress: as for ppsched.plan.
    Raises Error, also for a device that is unknown or named twice, and Refused if the strategy does not support the devices that are left.
    recomputes: for each layer the number of its way to recompute (0: none). group_size: of strategies with groups (0: the number of
    devices). split_effort: as for ppsched.plan.

        rows = [{"name": "decoder", "count": 16, "forward_time": 1, "mem_static": 2}]
        slow = ppsched.Config(devices=4, microbatches=8, device_speeds=[1, 1, 0.5, 1])
        print(ppsched.replan(slow, rows, split=[4, 4, 4, 4], steps=100).split)
    """
    if not isinstance(layers, Layers):
        layers = Layers(layers)
    if not isinstance(strategy, str):
        raise Error(f"strategy must be the name of a strategy, not {shown(strategy)}")
    check_progress(progress)
    running = integer("running_devices", running_devices) or config.devices
    sizes = None if layer_bytes is None else list(numbers("layer_bytes", layer_bytes))
    sizes = sizes * len(layers) if sizes is not None and len(sizes) == 1 else sizes
    _check_lengths(config, layers, running, {"device_order": device_order, "recomputes": recomputes, "layer_bytes": sizes})
    options = sized(_abi.ReplanOptions)
    options.strategy, options.layers = encoded("strategy", strategy), layers._handle.value
    counts, gone = _whole_numbers("split", split), _whole_numbers("lost", lost)
    alive = [_list(options, "running_split", ctypes.c_uint32, counts), _list(options, "lost", ctypes.c_uint32, gone),
             _list(options, "running_order", ctypes.c_uint32, None if device_order is None else _whole_numbers("device_order", device_order)),
             _list(options, "running_recomputes", ctypes.c_uint8, None if recomputes is None else _whole_numbers("recomputes", recomputes)),
             _list(options, "layer_bytes", ctypes.c_double, sizes)]
    options.running_devices, options.running_stages, options.lost_count, options.layer_count = running & MOST, len(counts), len(gone), len(layers)
    options.group_size, options.split_effort = integer("group_size", group_size) & MOST, integer("split_effort", split_effort) & MOST
    options.free_device_order = bool(free_device_order)
    options.load_bandwidth, options.restart_time, options.steps = float(load_bandwidth), float(restart_time), float(steps)
    with config.units.telling(), Listener(config, progress) as told:
        handle = new_handle(lib.ppsched_replan_create, told._handle, ctypes.byref(options))
    del alive
    try:
        return _result(handle)
    finally:
        lib.ppsched_replan_destroy(handle)


def _result(handle: ctypes.c_void_p) -> Replan:
    figures = sized(_abi.ReplanFigures)
    call(lib.ppsched_replan_get_figures, ctypes.byref(figures), handle)
    moves = [Move(one.first_layer, one.layer_count, none_if_unset(one.from_device), one.to_device, one.bytes)
             for one in records_of(_abi.LayerMove, lib.ppsched_replan_get_moves, handle)]
    return Replan(list(records_of(ctypes.c_uint32, lib.ppsched_replan_get_split, handle)),
                  list(records_of(ctypes.c_uint8, lib.ppsched_replan_get_recomputes, handle)),
                  list(records_of(ctypes.c_uint32, lib.ppsched_replan_get_device_order, handle)), moves, figures.step_time,
                  figures.running_step_time or None, figures.moved_bytes, figures.loaded_bytes, figures.move_time, figures.pays_after,
                  bool(figures.stays), bool(figures.can_stay), bool(figures.fits), figures.group_size)
