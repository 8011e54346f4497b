# SPDX-License-Identifier: Apache-2.0
"""Scenarios: makespans of a schedule if times vary."""
import ctypes
import operator
import weakref
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Union

from . import _abi
from ._abi import Dispatch, Status
from ._library import Error, call, lib, new_handle
from .enums import member
from .listener import Listener
from .number_lists import integer, numbers
from .shown import shown
from .views import sized

if TYPE_CHECKING:
    from .schedule import Schedule

QUANTILES = (0.5, 0.9, 0.99)  # in reports


class ScenarioMetrics(NamedTuple):
    """Figures over all scenarios. Times are makespans. cause_device: the device whose ops have the largest share of the critical path."""

    scenarios: int
    mean: float
    best: float
    worst: float
    best_scenario: int
    worst_scenario: int
    cause_device: int


class Scenarios:
    """Makespans of a schedule by scenario, made by Schedule.scenarios. Immutable; threads may share them.

        scenarios = schedule.scenarios(100, jitter=0.1)
        print(scenarios.metrics.mean, scenarios.quantile(0.9))
    """

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        self._release = weakref.finalize(self, lib.ppsched_scenarios_destroy, handle)

    @property
    def makespans(self) -> List[float]:
        """The makespan in each scenario."""
        return self._list(lib.ppsched_scenarios_makespans)

    @property
    def causes(self) -> List[float]:
        """For each device the mean share of the makespan in which its ops are on the critical path."""
        return self._list(lib.ppsched_scenarios_causes)

    @property
    def peaks(self) -> List[float]:
        """The largest peak memory of each device over all scenarios. With dispatch "planned" it is the same in all scenarios."""
        return self._list(lib.ppsched_scenarios_peaks)

    @property
    def metrics(self) -> ScenarioMetrics:
        """Mean, least and largest makespan."""
        record = sized(_abi.ScenarioMetrics)
        call(lib.ppsched_scenarios_get_metrics, ctypes.byref(record), self._handle)
        return ScenarioMetrics(record.count, *(getattr(record, name) for name in ScenarioMetrics._fields[1:]))

    def quantile(self, q: float) -> float:
        """The least makespan that at least a share q of the scenarios does not exceed."""
        found = ctypes.c_double()
        call(lib.ppsched_scenarios_get_quantile, ctypes.byref(found), self._handle, q)
        return found.value

    def _list(self, function: Any) -> List[float]:
        count = ctypes.c_size_t()
        values = function(self._handle, ctypes.byref(count))
        found: List[float] = values[:count.value]
        return found

    def __repr__(self) -> str:
        metrics = self.metrics
        return f"<ppsched.Scenarios: {metrics.scenarios} of mean {metrics.mean:g}, {metrics.best:g} to {metrics.worst:g}>"


Factors = Union[Sequence[float], Sequence[Sequence[float]]]  # one factor for each, or rows of factors by scenario


def checked_seed(seed: int) -> int:
    """Returns the seed if it is an integer of 64 bits, else raises."""
    if isinstance(seed, bool) or not hasattr(seed, "__index__"):
        raise Error(f"seed must be an integer, not {shown(seed)}")
    number = operator.index(seed)
    if not 0 <= number < 2**64:
        raise Error(f"seed is {shown(number)}; it must be 0 to {2**64 - 1}", Status.ERROR_RANGE)
    return number


def _put_factors(options: _abi.ScenarioOptions, name: str, given: Factors) -> None:
    """Sets a list of the options, which keep it alive; rows are joined."""
    if not len(given):
        return
    rows: List[Any] = list(given)
    has_rows = all(hasattr(row, "__len__") and not isinstance(row, str) for row in rows)
    flat = [number for row in rows for number in numbers(f"{name}_factors", row)] if has_rows else numbers(f"{name}_factors", rows)
    setattr(options, f"{name}_factors", ctypes.cast((ctypes.c_double * len(flat))(*flat), ctypes.POINTER(ctypes.c_double)))
    setattr(options, f"{name}_factor_count", len(flat))


def scenario_options(seed: int, jitter: float, message_jitter: float, device_factors: Factors,
                     dispatch: Union[Dispatch, str] = "planned", link_factors: Factors = (), stage_factors: Factors = ()) -> _abi.ScenarioOptions:
    options = sized(_abi.ScenarioOptions)
    options.dispatch = member(Dispatch, "dispatch", dispatch)
    options.seed, options.jitter, options.message_jitter = checked_seed(seed), jitter, message_jitter
    for name, factors in (("device", device_factors), ("link", link_factors), ("stage", stage_factors)):
        _put_factors(options, name, factors)
    return options


def scenarios_of(schedule: "Schedule", count: int, options: _abi.ScenarioOptions) -> Scenarios:
    with schedule.config.units.telling(), Listener(schedule.config, None) as told:
        return Scenarios(new_handle(lib.ppsched_schedule_evaluate_scenarios, schedule._handle, told._handle,
                                    integer("count", count), ctypes.byref(options)))


class Found(NamedTuple):
    """The scenarios of a schedule as planned, and, if requested, with dispatch when ready; makespan: the planned one."""

    planned: Scenarios
    ready: Optional[Scenarios]
    makespan: float

    @property
    def won(self) -> Optional[float]:
        """The share of the mean loss that dispatch when ready saves; below 0 if it loses more."""
        loss = self.planned.metrics.mean - self.makespan
        return None if self.ready is None or loss <= 0 else (self.planned.metrics.mean - self.ready.metrics.mean) / loss


def scenario_row(scenarios: Scenarios) -> Dict[str, Any]:
    metrics = scenarios.metrics
    return {"mean": metrics.mean, "quantiles": {f"{q:g}": scenarios.quantile(q) for q in QUANTILES}, "worst": metrics.worst,
            "best": metrics.best, "count": metrics.scenarios, "cause_device": metrics.cause_device, "causes": scenarios.causes}
