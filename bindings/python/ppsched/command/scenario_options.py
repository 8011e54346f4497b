# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for scenarios, in which times vary, and the output for them."""
import argparse
import json
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core._abi import RankBy
from .._core._library import Error
from .._core.enums import names_of
from .._core.scenarios import Found, checked_seed, scenario_row
from .._core.schedule import Schedule
from .._core.shown import shown
from .number_options import real, whole
from .slow_options import SLOW, add_slow_arguments, factors_of, slow_factors, slow_words
from .usage import UsageError

RANKINGS = tuple(names_of(RankBy))
MOST = 2**24  # scenarios
VARYING = ("jitter", "message_jitter", *SLOW, "scenarios_from")  # options that make times vary
BESIDE = ("scenarios", "seed", "dispatch", "rank_by", "quantile")  # options that need one of them
_NEEDED = "needs --jitter, --slow-rank, or another option that makes times vary"


def add_scenario_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jitter", type=real, metavar="S",
                        help="multiply the time of each op by a random factor, lognormal with mean 1; S is the standard deviation of its logarithm")
    parser.add_argument("--message-jitter", type=real, metavar="S", help="the same as --jitter, for transfers between devices")
    add_slow_arguments(parser)
    parser.add_argument("--scenarios-from", choices=("profile",),
                        help="take the times of each scenario from one recorded iteration of --profile. This is the default for --scenarios "
                             "without --jitter, if the profile has several samples")
    parser.add_argument("--scenarios", type=whole, metavar="N", help="if times vary: number of scenarios, each with its own random times (default: 1000)")
    parser.add_argument("--seed", type=whole, metavar="K", help="seed of the random numbers (default: 0)")
    parser.add_argument("--dispatch", action="store_true", default=None,
                        help="with scenarios: also compute the times of a runtime in which a device does not wait for its next op, but runs the first "
                             "op in its order that is ready")


def add_ranking_arguments(parser: argparse.ArgumentParser) -> None:
    add_scenario_arguments(parser)
    parser.add_argument("--rank-by", choices=RANKINGS,
                        help="with scenarios: rank by the step time without scenarios (step), or by the mean, a quantile or the worst of the step "
                             "times in the scenarios (default: mean)")
    parser.add_argument("--quantile", type=real, metavar="Q", help="with --rank-by quantile: which quantile (default: 0.9)")


def ranking_of(values: Mapping[str, Any], devices: int) -> Dict[str, Any]:
    """The options for a plan, as arguments of ppsched.plan."""
    asked = asked_scenarios(values, devices)
    if asked is None:
        return {}
    if values.get("quantile") is not None and values.get("rank_by") != "quantile":
        raise UsageError("--quantile needs --rank-by quantile")
    return {"scenarios": asked.pop("count"), **asked, "dispatch": "ready" if values.get("dispatch") else "planned", "rank_by": values.get("rank_by") or "mean", "quantile": values.get("quantile") or 0.9}


def take_file_words(path: str, values: Dict[str, Any]) -> None:
    """Converts the slow ranks, links and stages of a config file to values of the options."""
    values.update({name: slow_words(path, name, values[name]) for name in SLOW if name in values})


def take_idle(values: Dict[str, Any], given: Mapping[str, Any]) -> None:
    """Removes the keys of a config file for scenarios, if no times vary."""
    if all(values.get(name) is None for name in VARYING) and not _is_recorded(values):
        for name in BESIDE:
            if name not in given:
                values.pop(name, None)


def _profile(values: Mapping[str, Any]) -> Any:
    return getattr(values.get("measurement"), "profile", None)


def _is_recorded(values: Mapping[str, Any]) -> bool:
    """Whether scenarios are taken from a profile."""
    if values.get("scenarios_from") is not None:
        return True
    profile = _profile(values)
    if values.get("scenarios") is None or values.get("jitter") is not None or profile is None:
        return False
    from ..readers.recorded import iterations_of  # takes long to load
    return iterations_of(profile) > 1


def _recorded(values: Mapping[str, Any], count: int, devices: int, stages: Optional[int]) -> Tuple[str, List[float]]:
    """The factors of a profile's iterations, by scenario: for stages, or for devices in a plan, whose candidates differ in stages."""
    profile = _profile(values)
    if profile is None:
        raise UsageError("--scenarios-from profile: give --profile")
    from ..readers.recorded import iterations_of, recorded_factors  # takes long to load
    if iterations_of(profile) < 2:
        raise UsageError(f"--scenarios-from profile: {profile.name} has one sample of each op; record several iterations")
    by_device, places = (True, devices) if stages is None else (False, stages)
    factors = recorded_factors(profile, values["statistic"], count, _seed(values), places=places, by_device=by_device)
    return "device_factors" if by_device else "stage_factors", factors


def _take(asked: Dict[str, Any], name: str, factors: List[float]) -> None:
    """Multiplies factors by scenario with those that hold in all scenarios."""
    each = asked.get(name, [1.0])
    asked[name] = [factor * each[i % len(each)] for i, factor in enumerate(factors)]


def _count(values: Mapping[str, Any]) -> int:
    count = values.get("scenarios")
    if count is not None and not 1 <= count <= MOST:
        raise UsageError(f"the number of scenarios is {shown(count)}; it must be 1 to {MOST}")
    return 1000 if count is None else int(count)


def _seed(values: Mapping[str, Any]) -> int:
    try:
        return checked_seed(values.get("seed") or 0)
    except Error as error:
        raise UsageError(str(error)) from None


def scenario_fault(values: Mapping[str, Any], format: Optional[str]) -> Optional[str]:
    """Why options for scenarios cannot be combined with other options of schedule, or None."""
    if any(values.get(name) for name in ("lower", "offload", "recompute_chunks")):
        return "--jitter, --slow-rank and similar options cannot be combined with lowering, recompute chunks=N, or offload"
    if values.get("launch") is not None:
        return "--jitter, --slow-rank and similar options work only with text and json, not with --launch"
    if format not in (None, "text", "json"):
        return f"--jitter, --slow-rank and similar options work only with text and json, not with {format}"
    return None


def tells_scenarios(values: Dict[str, Any], given: Mapping[str, Any], format: Optional[str] = None) -> bool:
    """Whether the output can contain scenarios. If it cannot, options for scenarios are refused, unless a search uses them, and keys of a
    config file are ignored."""
    fault = scenario_fault(values, format)
    if fault is None:
        return True
    if values.get("rank_by") is not None:
        return False
    if any(given.get(name) is not None for name in (*VARYING, *BESIDE)):
        raise UsageError(fault)
    values.update(dict.fromkeys((*VARYING, *BESIDE)))
    return False


def asked_scenarios(values: Mapping[str, Any], devices: int, stages: Optional[int] = None) -> Optional[Dict[str, Any]]:
    """The number of scenarios and how times vary, as arguments of Schedule.scenarios. stages: those of the schedule; None for a plan, whose
    candidates differ in stages."""
    is_recorded = _is_recorded(values)
    if not is_recorded and all(values.get(name) is None for name in VARYING):
        for name in BESIDE:
            if values.get(name) is not None:
                raise UsageError(f"--{name.replace('_', '-')} {_NEEDED}")
        return None
    count = _count(values)
    asked = {"count": count, "seed": _seed(values), "jitter": values.get("jitter") or 0.0, "message_jitter": values.get("message_jitter") or 0.0,
             **slow_factors(values, devices)}
    if values.get("slow_stage"):
        if stages is None:
            raise UsageError("--slow-stage: candidates differ in their stages; give --slow-rank, or use the command schedule for one of them")
        asked["stage_factors"] = factors_of("slow_stage", values["slow_stage"], stages)
    if is_recorded:
        _take(asked, *_recorded(values, count, devices, stages))
    return asked


def found_scenarios(schedule: Schedule, values: Mapping[str, Any]) -> Optional[Found]:
    """Evaluates a schedule in these scenarios."""
    asked = asked_scenarios(values, schedule.devices, schedule.stages)
    if asked is None:
        return None
    ready = schedule.scenarios(**asked, dispatch="ready") if values.get("dispatch") else None
    return Found(schedule.scenarios(**asked), ready, schedule.evaluate().metrics.makespan)


def _figures(row: Mapping[str, Any]) -> str:
    quantiles = ", ".join(f"{q} {time:g}" for q, time in row["quantiles"].items())
    return f"mean {row['mean']:g}, quantiles {quantiles}, worst {row['worst']:g}"


def _dispatch_line(found: Found) -> str:
    if found.ready is None:
        return ""
    verb = "saves" if (found.won or 0) >= 0 else "adds"
    won = "" if found.won is None else f"; this {verb} {abs(found.won):.0%} of the time that variation costs"
    return f"with dispatch when ready: {_figures(scenario_row(found.ready))}{won}\n"


def with_scenarios(found: Optional[Found], text: str, format: str) -> str:
    """Adds the results of the scenarios to a text or JSON."""
    if found is None:
        return text
    row = scenario_row(found.planned)
    if format == "json":
        if found.ready is not None:
            row["dispatch"] = {**scenario_row(found.ready), "won": found.won, "peak_memory": found.ready.peaks}
        return json.dumps({**json.loads(text), "scenarios": row}) + "\n"
    return (f"{text}in {row['count']} scenarios: {_figures(row)}; device {row['cause_device']} has the largest share of the critical path, "
            f"{max(row['causes']):.0%}\n{_dispatch_line(found)}")
