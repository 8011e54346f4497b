# SPDX-License-Identifier: Apache-2.0
"""Activation memory saving: recompute and offload."""
import ctypes
from typing import TYPE_CHECKING, Optional

from . import _abi
from ._abi import Status
from ._library import Error, lib, new_handle
from .number_lists import integer, number_given
from .shown import shown
from .strategy import find_strategy
from .views import sized

if TYPE_CHECKING:
    from .schedule import Schedule


def recomputed(schedule: "Schedule", chunks: Optional[int]) -> ctypes.c_void_p:
    """The handle of a schedule with recompute."""
    options = sized(_abi.RecomputeOptions)
    options.chunks = _count(chunks)
    return new_handle(lib.ppsched_schedule_recompute, schedule._handle, ctypes.byref(options))


def offloaded(schedule: "Schedule", chunks: Optional[int], until_limit: bool, share: float, distance: int) -> ctypes.c_void_p:
    """The handle of a schedule with offload."""
    options = sized(_abi.OffloadOptions)
    options.chunks = _count(chunks)
    options.until_limit = int(until_limit)
    options.share = number_given("share", share)
    if not 0 < options.share <= 1:
        raise Error(f"share is {shown(share)}; it must be above 0 and at most 1", Status.ERROR_RANGE)
    if not 0 <= integer("prefetch_distance", distance) < 2**32:
        raise Error(f"prefetch_distance is {shown(distance)}; it must be a number of ops, or 0 for reloads as late as possible", Status.ERROR_RANGE)
    options.prefetch_distance = distance
    return new_handle(lib.ppsched_schedule_offload, schedule._handle, schedule.config._handle, ctypes.byref(options))


def _count(chunks: Optional[int]) -> int:
    """The number of stages; 0 for all."""
    if chunks is None:
        return 0
    if not 1 <= integer("chunks", chunks) < 2**32:
        raise Error(f"chunks is {chunks}; it must be 1 or more stages of each device", Status.ERROR_RANGE)
    return chunks


def chooses_offload(strategy: str) -> bool:
    """Whether a strategy has an option to choose its order and its offloads together."""
    return any(option.name == "offload" and "limit" in option.choices for option in find_strategy(strategy).options)
