# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on the time of an iteration."""
import ctypes
from typing import NamedTuple, Union

from . import _abi
from ._abi import Objective
from ._library import call, lib
from .config import Config, config_of
from .enums import member
from .views import sized


class Bound(NamedTuple):
    """Lower bounds on the time of an iteration.

    value: the largest of work, fill_drain, memory and one_machine; device: the device with this bound. work: a device runs all its ops.
    fill_drain: also counts the ops that must come before and after them. memory: activations must share the memory limit; 0 without a
    limit. one_machine: the ops of a device run one after another, with the ops that come before and after each; 0 where it is not computed.
    least_limit: the least memory limit, the same for all devices, under which a schedule exists.
    """

    value: float
    device: int
    work: float
    fill_drain: float
    memory: float
    least_limit: float
    one_machine: float = 0


def lower_bound(config: Config, objective: Union[Objective, str] = "span") -> Bound:
    """Lower bounds on the longest device span or on the makespan, for the config's placement (default: loop)."""
    record = sized(_abi.Bound)
    call(lib.ppsched_config_find_bound, ctypes.byref(record), config_of(config)._handle, member(Objective, "objective", objective))
    return Bound(*(getattr(record, field) for field in Bound._fields))
