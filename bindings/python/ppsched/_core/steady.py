# SPDX-License-Identifier: Apache-2.0
"""The figures of a strategy's schedule without the schedule."""
import ctypes
import weakref
from typing import Dict, List, NamedTuple, Optional

from . import _abi
from ._abi import SteadyReason
from ._library import call, encoded, lib, new_handle
from .config import Config, config_of
from .filling import records_of
from .listener import Listener, Progress, check_progress
from .memory import CAUSES
from .number_lists import integer
from .timeline import DeviceMetrics, Idle, Metrics, device_metrics_of, idle_of, metrics_of
from .views import Shared, sized


class SteadyPeriod(NamedTuple):
    """The period of a schedule, in the config's unit of time. If reason is not FOUND, blocks, transient, time, cycle_time and rounding are 0.

    reason: FOUND, or why all ops were timed: ORDER (the order is not known to repeat), COSTS (microbatches or slices differ, or
    there are several iterations, and not only activations take memory), SHORT (too few microbatches), TRANSIENT (times do not
    begin to repeat in the first half of the microbatches), ROUNDING (rounding would change a time by more than a share of
    2^-40). block: microbatches of a block of the order; blocks: blocks of a period; transient: about how many microbatches come
    before the first period; timed: microbatches that were timed op by op; time: length of a period; cycle_time: time per
    microbatch; rounding: the largest change of a time by rounding, as a share of this time.
    """

    reason: SteadyReason
    block: int
    blocks: int
    transient: int
    timed: int
    time: float
    cycle_time: float
    rounding: float


class Steady(Shared):
    """Figures of a schedule, computed without making the schedule. Immutable; several threads may read it."""

    config: Config

    def __init__(self, handle: ctypes.c_void_p, config: Config) -> None:
        self._handle = handle
        self.config = config
        self._release = weakref.finalize(self, lib.ppsched_steady_destroy, handle)

    @property
    def period(self) -> SteadyPeriod:
        """The part of the schedule that repeats, or why none was found."""
        record = sized(_abi.SteadyPeriod)
        call(lib.ppsched_steady_get_period, ctypes.byref(record), self._handle)
        return SteadyPeriod(SteadyReason(record.reason), *(getattr(record, name) for name in SteadyPeriod._fields[1:]))

    @property
    def metrics(self) -> Metrics:
        """As Timeline.metrics."""
        return metrics_of(lib.ppsched_steady_get_metrics, self._handle)

    @property
    def device_metrics(self) -> List[DeviceMetrics]:
        """As Timeline.device_metrics. peak_position is a position in the queue of the whole schedule."""
        return [device_metrics_of(lib.ppsched_steady_get_device_metrics, self._handle, device) for device in range(self.config.devices)]

    @property
    def idle(self) -> List[Idle]:
        """As Timeline.idle."""
        return [idle_of(lib.ppsched_steady_get_idle, self._handle, device) for device in range(self.config.devices)]

    def peak_by_cause(self, device: int) -> Dict[str, float]:
        """As Timeline.peak_by_cause."""
        if not 0 <= integer("device", device) < self.config.devices:
            raise IndexError(f"there is no device {device}")
        return dict(zip(CAUSES, records_of(ctypes.c_double, lib.ppsched_steady_get_peak_causes, self._handle, device)))

    def __repr__(self) -> str:
        metrics, period = self.metrics, self.period
        rest = f"{period.cycle_time:g} a microbatch" if period.reason == SteadyReason.FOUND else f"no period ({period.reason.name})"
        return f"<ppsched.Steady: makespan {metrics.makespan:g}, span {metrics.span:g}, peak memory {metrics.peak_memory:g}, {rest}>"


def steady(strategy: str, config: Config, *, progress: Optional[Progress] = None) -> Steady:
    """Computes the same figures as generate(strategy, config).evaluate(). If the order and its times repeat, no schedule is built, so the
    time and memory of the call do not grow with the number of microbatches.

    If times are multiples of one power of two, the figures are equal to the last bit; otherwise times differ by at most a share of 2^-40.
    If no period is found, all ops are timed, and `period.reason` says why. progress: as for generate. Errors:
    ppsched.Error as generate and evaluate have; ppsched.Refused where the strategy does not support the sizes.

        print(ppsched.steady("1f1b", ppsched.Config(devices=8, microbatches=4096)).metrics.makespan)
    """
    config_of(config)
    check_progress(progress)
    name = encoded("strategy", strategy)
    with config.units.telling(), Listener(config, progress) as told:
        return Steady(new_handle(lib.ppsched_steady_create, told._handle, name), config)
