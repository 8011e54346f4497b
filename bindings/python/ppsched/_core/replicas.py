# SPDX-License-Identifier: Apache-2.0
"""Unlike replicas that share a global batch: how many microbatches each takes, and its split."""
import contextlib
import ctypes
from typing import List, NamedTuple, Optional, Sequence, Union

from . import _abi
from ._library import Error, call, encoded, lib, new_handle
from .config import Config
from .layers import Layer, Layers
from .listener import Listener, Progress, check_progress
from .number_lists import integer
from .shown import shown
from .views import sized
from .words import names_checked

MOST = 0xFFFFFFFF


class Replica(NamedTuple):
    """The share of a replica.

    microbatches: how many microbatches the replica gets; step_time: step time of only this replica; split: layers of each
    stage; recomputes: for each layer 0, or the number of its kind of recomputation, counted from 1; device_order: the device in
    each place, by its number in the config; proved: no other split takes less time with these microbatches.
    """

    microbatches: int
    step_time: float
    split: List[int]
    recomputes: List[int]
    device_order: List[int]
    proved: bool


class Replicas(NamedTuple):
    """The shares of all replicas, in the order of their configs.

    step_time: step time of the replica that takes longest; equal_step_time: the same if all shares are equal and each replica
    has its best split, or None if a replica cannot run its share; proved: no other shares, splits and orders of devices take
    less time.
    """

    replicas: List[Replica]
    step_time: float
    equal_step_time: Optional[float]
    proved: bool


@names_checked
def share_microbatches(configs: Sequence[Config], layers: Union[Layers, Sequence[Layer]], microbatches: int, *, strategy: str = "1f1b", chunks: int = 1,
                       group_size: int = 0, free_device_order: bool = False, split_effort: int = 0, progress: Optional[Progress] = None) -> Replicas:
    """Finds how replicas that differ should share the microbatches of a global batch, so that the slowest of them ends as early as possible.

    configs: one per replica, with its devices and their speeds, links and limits; replicas that are alike may have the same
    Config; the call then takes less time. The microbatches of the configs, and their lists for stages, are ignored.
    microbatches: number of microbatches of all replicas together; each replica gets at least one.
    chunks: stages per device. group_size: group size of strategies with groups (0: the number of devices). free_device_order:
    the order of the devices of a replica is searched, too. progress: as for ppsched.plan. For each number of microbatches, a
    replica has the split that the search of plans finds. With these splits, no other shares are better.
    Raises Error, and Refused if the strategy supports no such shares or nothing fits.
    layers: the layers of the model. split_effort: as for ppsched.plan.

        rows = [{"name": "decoder", "count": 16, "forward_time": 1}]
        fast, slow = ppsched.Config(4, 1), ppsched.Config(4, 1, device_speeds=0.5)
        print([replica.microbatches for replica in ppsched.share_microbatches([fast, slow], rows, 24).replicas])
    """
    if not isinstance(layers, Layers):
        layers = Layers(layers)
    if not isinstance(strategy, str):
        raise Error(f"strategy must be the name of a strategy, not {shown(strategy)}")
    wrong = next((config for config in configs if not isinstance(config, Config)), None)
    if wrong is not None or not configs:
        raise Error("configs is empty; give one Config per replica" if wrong is None else f"configs has {shown(wrong)}; give one Config per replica")
    check_progress(progress)
    options = sized(_abi.ReplicasOptions)
    options.strategy, options.layers = encoded("strategy", strategy), layers._handle.value
    for name, value in (("microbatches", microbatches), ("chunks", chunks), ("group_size", group_size), ("split_effort", split_effort)):
        number = integer(name, value)
        if not 0 <= number <= MOST:
            raise Error(f"{name} is {number}; it must be 0 to {MOST}")
        setattr(options, name, number)
    options.free_device_order = bool(free_device_order)
    with configs[0].units.telling(), contextlib.ExitStack() as stack:
        told = {number: stack.enter_context(Listener(config, progress)) for number, config in {id(config): config for config in configs}.items()}
        handles = [told[id(config)]._handle.value for config in configs]
        handle = new_handle(lib.ppsched_replicas_create, (ctypes.c_void_p * len(handles))(*handles), len(handles), ctypes.byref(options))
    try:
        return _result(handle, len(configs))
    finally:
        lib.ppsched_replicas_destroy(handle)


def _replica(handle: ctypes.c_void_p, number: int) -> Replica:
    record = sized(_abi.Replica)
    call(lib.ppsched_replicas_get_replica, ctypes.byref(record), handle, number)
    return Replica(record.microbatches, record.step_time, record.split[:record.stages], record.recomputes[:record.layers],
                   record.device_order[:record.devices], bool(record.proved))


def _result(handle: ctypes.c_void_p, count: int) -> Replicas:
    figures = sized(_abi.ReplicasFigures)
    call(lib.ppsched_replicas_get_figures, ctypes.byref(figures), handle)
    return Replicas([_replica(handle, number) for number in range(count)], figures.step_time, figures.equal_step_time or None, bool(figures.proved))
