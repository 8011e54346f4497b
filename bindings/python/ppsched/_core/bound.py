# SPDX-License-Identifier: Apache-2.0
"""Lower bounds on the time of an iteration."""
import ctypes
from typing import NamedTuple, Optional, Union

from . import _abi
from ._abi import Objective
from ._library import Error, call, lib
from .config import Config, config_of
from .enums import member
from .listener import Listener, Progress, check_progress
from .number_lists import number_given
from .views import sized


class Bound(NamedTuple):
    """Lower bounds on the time of an iteration.

    value: the largest of the five bounds work, fill_drain, memory, one_machine and proof; device: the device with the largest bound.
    work: the time of all ops of the device. fill_drain: the same, plus the ops that must come before all ops of the device and
    after all of them. memory: the bound that follows because activations must share the memory limit; 0 without a limit.
    one_machine: the bound that follows because the device runs one op at a time, and each op has other ops that must come
    before and after it; 0 where this bound is not computed. proof: `known`, if the call proved that no schedule is better;
    otherwise 0.
    least_limit: not a time, but the least memory limit, the same for all devices, under which a schedule exists.
    """

    value: float
    device: int
    work: float
    fill_drain: float
    memory: float
    least_limit: float
    one_machine: float = 0
    proof: float = 0


def lower_bound(config: Config, objective: Union[Objective, str] = "span", *, known: Optional[float] = None, work: Optional[float] = None,
                progress: Optional[Progress] = None) -> Bound:
    """Lower bounds on the longest device span or on the makespan, for the config's placement (default: loop).

    known: the objective that your best schedule reaches. The call then tries to prove, by a search over all orders, that no
    schedule is better. If the proof succeeds, the result's `value` equals `known`. The proof is tried for problems of at most
    512 ops. work: the largest number of visits of ops in the proof (default: 1e9, which takes about 5 seconds). progress: a
    function that the proof calls now and then, as ppsched.generate does. Its arguments, the share of the work and the best
    objective, are always 0 and infinite, because they are not known. If the function returns False, the proof raises
    ppsched.Cancelled.
    Errors: ppsched.Error if known or work is negative or not a number, or if work is given without known.

        bound = ppsched.lower_bound(config, "makespan")
        print(bound.value, timeline.metrics.makespan / bound.value - 1)
    """
    record, number = sized(_abi.Bound), member(Objective, "objective", objective)
    config_of(config)
    check_progress(progress)
    if known is None:
        if work is not None:
            raise Error("work limits the proof, which needs known: give the objective of a schedule that you have")
        call(lib.ppsched_config_find_bound, ctypes.byref(record), config._handle, number)
    else:
        limits = number_given("known", known), number_given("work", 0 if work is None else work)
        with config.units.telling(), Listener(config, progress) as told:
            call(lib.ppsched_config_prove_bound, ctypes.byref(record), told._handle, number, *limits)
    return Bound(*(getattr(record, field) for field in Bound._fields))
