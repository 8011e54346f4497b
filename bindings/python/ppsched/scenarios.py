# SPDX-License-Identifier: Apache-2.0
"""When times vary: a schedule's makespans in many scenarios; and the options of the command line for these."""
import argparse
import ctypes
import json
import weakref
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

from . import _abi
from ._abi import Dispatch
from ._library import call, lib, new_handle
from .config import integer, numbers
from .enums import member
from .listener import Listener
from .shown import shown
from .usage import UsageError
from .views import sized

if TYPE_CHECKING:
    from .schedule import Schedule

RANKINGS = ("step", "mean", "quantile", "worst")
QUANTILES = (0.5, 0.9, 0.99)  # that the command prints


class ScenarioMetrics(NamedTuple):
    """Over all scenarios; times are makespans. cause_device: that whose ops are longest on the critical path."""

    scenarios: int
    mean: float
    best: float
    worst: float
    best_scenario: int
    worst_scenario: int
    cause_device: int


class Scenarios:
    """Makespans of a schedule by scenario, made by Schedule.scenarios."""

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        self._release = weakref.finalize(self, lib.ppsched_scenarios_destroy, handle)

    @property
    def makespans(self) -> List[float]:
        return self._list(lib.ppsched_scenarios_makespans)

    @property
    def causes(self) -> List[float]:
        """Of each device the mean share of the makespan in which its ops are on the critical path."""
        return self._list(lib.ppsched_scenarios_causes)

    @property
    def peaks(self) -> List[float]:
        """The most memory that each device holds in any scenario: as planned, unless it runs what is ready."""
        return self._list(lib.ppsched_scenarios_peaks)

    @property
    def metrics(self) -> ScenarioMetrics:
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


def scenario_options(seed: int, jitter: float, message_jitter: float, device_factors: Sequence[float],
                     dispatch: Union[Dispatch, str] = "planned") -> _abi.ScenarioOptions:
    options = sized(_abi.ScenarioOptions)
    options.dispatch = member(Dispatch, "dispatch", dispatch)
    options.seed, options.jitter, options.message_jitter = integer("seed", seed) % 2**64, jitter, message_jitter
    factors = numbers("device_factors", device_factors) if len(device_factors) else []
    if factors:
        options.device_factors = ctypes.cast((ctypes.c_double * len(factors))(*factors), ctypes.POINTER(ctypes.c_double))
        options.device_factor_count = len(factors)
    return options


def scenarios_of(schedule: "Schedule", count: int, seed: int, jitter: float, message_jitter: float,
                 device_factors: Sequence[float], dispatch: Union[Dispatch, str]) -> Scenarios:
    options = scenario_options(seed, jitter, message_jitter, device_factors, dispatch)
    with schedule.config.units.telling(), Listener(schedule.config, None) as told:
        return Scenarios(new_handle(lib.ppsched_schedule_evaluate_scenarios, schedule._handle, told._handle,
                                    integer("count", count), ctypes.byref(options)))


# --- the command line ---


def add_scenario_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jitter", type=float, metavar="S",
                        help="times of ops vary: each is multiplied by a lognormal factor of mean 1 whose logarithm has this deviation")
    parser.add_argument("--slow-rank", metavar="RANK:FACTOR", action="append", default=None,
                        help="all ops of a device take so many times longer; may be given again")
    parser.add_argument("--scenarios", type=int, metavar="N", help="with these: how many are evaluated (default: 1000)")
    parser.add_argument("--seed", type=int, metavar="K", help="of their random numbers (default: 0)")
    parser.add_argument("--dispatch", action="store_true", default=None,
                        help="with these: also how long a runtime takes that runs whatever is ready, with the order as priorities")


def add_ranking_arguments(parser: argparse.ArgumentParser) -> None:
    add_scenario_arguments(parser)
    parser.add_argument("--rank-by", choices=RANKINGS, help="with these: what of a step's time over the scenarios ranks (default: mean)")
    parser.add_argument("--quantile", type=float, metavar="Q", help="of --rank-by quantile (default: 0.9)")


def ranking_of(values: Mapping[str, Any], devices: int) -> Dict[str, Any]:
    """What the options ask of a plan, in the words of ppsched.plan."""
    asked = asked_scenarios(values, devices)
    if asked is None:
        return {}
    if values.get("quantile") is not None and values.get("rank_by") != "quantile":
        raise UsageError("--quantile: it goes with --rank-by quantile")
    return {"scenarios": asked.pop("count"), **asked, "dispatch": "ready" if values.get("dispatch") else "planned", "rank_by": values.get("rank_by") or "mean", "quantile": values.get("quantile") or 0.9}


def _device_factors(words: Sequence[str], devices: int) -> List[float]:
    factors = [1.0] * devices
    for word in words:
        rank, separator, factor = word.partition(":")
        try:
            device, times = int(rank), float(factor)
        except ValueError:
            device, separator, times = 0, "", 0.0
        if not separator:
            raise UsageError(f"--slow-rank {shown(word)[1:-1]}: it must be RANK:FACTOR, such as 3:1.2")
        if not 0 <= device < devices:
            raise UsageError(f"--slow-rank {word}: there is no rank {device}; ranks are 0 to {devices - 1}")
        factors[device] *= times
    return factors


def asked_scenarios(values: Mapping[str, Any], devices: int) -> Optional[Dict[str, Any]]:
    """The scenarios that the options ask for: how many, and how times vary, in the words of Schedule.scenarios."""
    slow, count = values.get("slow_rank"), values.get("scenarios")
    if values.get("jitter") is None and slow is None:
        for name in ("scenarios", "seed", "dispatch", "rank_by", "quantile"):
            if values.get(name) is not None:
                raise UsageError(f"--{name.replace('_', '-')}: it goes with --jitter or --slow-rank")
        return None
    if count is not None and count < 1:
        raise UsageError(f"the number of scenarios is {count}; it must be 1 to {2**24}")
    return {"count": 1000 if count is None else count, "seed": values.get("seed") or 0, "jitter": values.get("jitter") or 0.0,
            "device_factors": _device_factors(slow, devices) if slow else ()}


class Found(NamedTuple):
    """A schedule's scenarios as planned, and, where that was asked, those of a runtime that runs what is ready; makespan: planned."""

    planned: Scenarios
    ready: Optional[Scenarios]
    makespan: float

    @property
    def won(self) -> Optional[float]:
        """What share of the mean loss such a runtime wins; less than 0 where it loses more."""
        loss = self.planned.metrics.mean - self.makespan
        return None if self.ready is None or loss <= 0 else (self.planned.metrics.mean - self.ready.metrics.mean) / loss


def found_scenarios(schedule: "Schedule", values: Mapping[str, Any]) -> Optional[Found]:
    """Those, of a schedule."""
    asked = asked_scenarios(values, schedule.devices)
    if asked is None:
        return None
    if any(values.get(name) for name in ("lower", "offload", "recompute_chunks")):
        raise UsageError("--jitter and --slow-rank are of a schedule that is neither lowered nor keeps less")
    ready = schedule.scenarios(**asked, dispatch="ready") if values.get("dispatch") else None
    return Found(schedule.scenarios(**asked), ready, schedule.evaluate().metrics.makespan)


def scenario_row(scenarios: Scenarios) -> Dict[str, Any]:
    metrics = scenarios.metrics
    return {"mean": metrics.mean, "quantiles": {f"{q:g}": scenarios.quantile(q) for q in QUANTILES}, "worst": metrics.worst,
            "best": metrics.best, "count": metrics.scenarios, "cause_device": metrics.cause_device, "causes": scenarios.causes}


def _figures(row: Mapping[str, Any]) -> str:
    quantiles = ", ".join(f"{q} {time:g}" for q, time in row["quantiles"].items())
    return f"mean {row['mean']:g}, quantiles {quantiles}, worst {row['worst']:g}"


def _dispatch_line(found: Found) -> str:
    if found.ready is None:
        return ""
    won = "" if found.won is None else f"; it wins {found.won:.0%} of what varying times cost"
    return f"run as they are ready: {_figures(scenario_row(found.ready))}{won}\n"


def with_scenarios(found: Optional[Found], text: str, format: str) -> str:
    """A text or JSON with what the scenarios say."""
    if found is None:
        return text
    row = scenario_row(found.planned)
    if format == "json":
        if found.ready is not None:
            row["dispatch"] = {**scenario_row(found.ready), "won": found.won, "peak_memory": found.ready.peaks}
        return json.dumps({**json.loads(text), "scenarios": row}) + "\n"
    return (f"{text}in {row['count']} scenarios: {_figures(row)}; device {row['cause_device']} is longest on the critical path, "
            f"{max(row['causes']):.0%} of it\n{_dispatch_line(found)}")
