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

    value: the largest of the others, from `device`: work (a device runs all its ops), fill_drain (with what must come before
    and after), memory (activations share the memory limit; 0 where there is none), one_machine (ops of a device one after another,
    with what comes before and after each; 0 where it is not computed). least_limit: the least memory limit, one for all devices,
    under which there is a schedule at all.
    """

    value: float
    device: int
    work: float
    fill_drain: float
    memory: float
    least_limit: float
    one_machine: float = 0


def lower_bound(config: Config, objective: Union[Objective, str] = "span") -> Bound:
    """The bounds for the config's placement (default: loop), on the longest device span or the makespan."""
    record = sized(_abi.Bound)
    call(lib.ppsched_config_find_bound, ctypes.byref(record), config_of(config)._handle, member(Objective, "objective", objective))
    return Bound(*(getattr(record, field) for field in Bound._fields))
