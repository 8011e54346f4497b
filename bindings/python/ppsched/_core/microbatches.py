# SPDX-License-Identifier: Apache-2.0
"""Microbatches that differ: their best order, and balancing over replicas."""
import ctypes
from typing import TYPE_CHECKING, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _abi
from ._abi import Objective, Status
from ._library import Refused, call, lib
from .config import Config
from .enums import member
from .listener import Listener, Progress, check_progress
from .microbatch_map import OF_MICROBATCHES
from .number_lists import integer, numbers
from .views import sized

if TYPE_CHECKING:
    from .schedule import Schedule


def ordered(schedule: "Schedule", objective: Union[Objective, str], effort: int, progress: Optional[Progress]) -> Tuple[Config, List[int]]:
    """The config of a schedule with its microbatches in the best order, and that order."""
    options = sized(_abi.OrderOptions)
    options.objective, options.effort = member(Objective, "objective", objective), integer("effort", effort) & 0xFFFFFFFF
    order, handle = (ctypes.c_uint32 * schedule.microbatches)(), ctypes.c_void_p()
    check_progress(progress)
    with schedule.config.units.telling(), Listener(schedule.config, progress) as told:
        call(lib.ppsched_schedule_order_microbatches, order, len(order), None, ctypes.byref(handle), schedule._handle, told._handle,
             ctypes.byref(options))
        call(lib.ppsched_config_set_progress, handle, ctypes.cast(0, _abi.ProgressFunction), None)  # the listener's callback ends here
    config = schedule.config._like(handle)._with_windows_of(schedule.config)
    before = schedule.config.microbatch_order
    config.microbatch_order = tuple(before[number] if before else number for number in order)
    return config, list(config.microbatch_order)


def renumbered(config: Config, before: "Schedule", after: "Schedule") -> Config:
    """The config of a schedule with renumbered microbatches. If microbatches differ, its lists are reordered, too, and microbatch_order has
    the old numbers. Refused if iterations have different orders, as all iterations have the same microbatches."""
    lists = {name: getattr(config, name) for name in OF_MICROBATCHES}
    count = after.microbatches
    if all(len(set(values)) < 2 for values in lists.values()):
        return config
    was = {op.microbatch: old.microbatch for queue, olds in zip(after.queues, before.queues) for op, old in zip(queue, olds)}
    order = [was[number] or 0 for number in range(count)]
    other = next((number for number in range(count * after.iterations) if was[number] != order[number % count] + number // count * count), None)
    if other is not None:
        raise Refused(f"the last stage runs the microbatches of iteration {other // count} in another order than in iteration 0, and "
                      "microbatches differ; renumber a schedule of one iteration", Status.ERROR_REFUSED)
    if order == sorted(order):
        return config
    made = config.__copy__()
    for name, values in lists.items():
        if len(values) > 1:
            made._set_list(name, [values[number] for number in order])
    made.microbatch_order = tuple(config.microbatch_order[number] if config.microbatch_order else number for number in order)
    return made


class Balance(NamedTuple):
    """Microbatches balanced over data-parallel replicas.

    replica: for each microbatch its replica; most: the cost of the most loaded replica; bound: lower bound on `most`; is_best: no other
    distribution is better.
    """

    replica: List[int]
    most: float
    bound: float
    is_best: bool


def balance_microbatches(costs: Sequence[float], replicas: int, *, even_counts: bool = False) -> Balance:
    """Distributes microbatches over replicas. The search makes the load of the most loaded replica as small as it can. costs:
    the cost of each microbatch, such as its sequence length or time. even_counts: all replicas get the same number of
    microbatches; some get one more if the number of microbatches is not a multiple of the number of replicas.
    replicas: their number. Errors: ppsched.Error for a negative cost, or with fewer microbatches than replicas.

        print(ppsched.balance_microbatches([4096, 1024, 512, 512, 2048], replicas=2))
    """
    flat = numbers("costs", costs)
    record, replica = sized(_abi.Balance), (ctypes.c_uint32 * len(flat))()
    call(lib.ppsched_microbatches_balance, replica, len(flat), None, ctypes.byref(record), (ctypes.c_double * len(flat))(*flat), len(flat),
         integer("replicas", replicas), int(bool(even_counts)), None)
    return Balance(list(replica), record.most, record.bound, bool(record.is_best))
