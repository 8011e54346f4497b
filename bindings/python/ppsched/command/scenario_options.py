# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for scenarios, in which times vary, and what it tells of them."""
import argparse
import json
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core._abi import RankBy
from .._core._library import Error
from .._core.enums import names_of
from .._core.scenarios import Found, checked_seed, scenario_row
from .._core.schedule import Schedule
from .._core.shown import shown
from ..readers.recorded import iterations_of, recorded_factors
from .number_options import real, whole
from .slow_options import SLOW, add_slow_arguments, factors_of, slow_factors, slow_words
from .usage import UsageError

RANKINGS = tuple(names_of(RankBy))
MOST = 2**24  # scenarios
VARYING = ("jitter", "message_jitter", *SLOW, "scenarios_from")  # by any of which times vary
BESIDE = ("scenarios", "seed", "dispatch", "rank_by", "quantile")  # options that go with these
_NEEDED = "it goes with --jitter or --slow-rank, or what else makes times vary"


def add_scenario_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jitter", type=real, metavar="S",
                        help="times of ops vary: each is multiplied by a lognormal factor of mean 1 whose logarithm has this deviation")
    parser.add_argument("--message-jitter", type=real, metavar="S", help="likewise what goes from device to device")
    add_slow_arguments(parser)
    parser.add_argument("--scenarios-from", choices=("profile",),
                        help="in each scenario all takes as long as in one recorded iteration of --profile; so it is by itself where "
                             "--scenarios is given without --jitter, and the profile has several samples")
    parser.add_argument("--scenarios", type=whole, metavar="N", help="with these: how many are evaluated (default: 1000)")
    parser.add_argument("--seed", type=whole, metavar="K", help="of their random numbers (default: 0)")
    parser.add_argument("--dispatch", action="store_true", default=None,
                        help="with these: also how long a runtime takes that runs whatever is ready, with the order as priorities")


def add_ranking_arguments(parser: argparse.ArgumentParser) -> None:
    add_scenario_arguments(parser)
    parser.add_argument("--rank-by", choices=RANKINGS, help="with these: what of a step's time over the scenarios ranks (default: mean)")
    parser.add_argument("--quantile", type=real, metavar="Q", help="of --rank-by quantile (default: 0.9)")


def ranking_of(values: Mapping[str, Any], devices: int) -> Dict[str, Any]:
    """What the options ask of a plan, in the words of ppsched.plan."""
    asked = asked_scenarios(values, devices)
    if asked is None:
        return {}
    if values.get("quantile") is not None and values.get("rank_by") != "quantile":
        raise UsageError("--quantile: it goes with --rank-by quantile")
    return {"scenarios": asked.pop("count"), **asked, "dispatch": "ready" if values.get("dispatch") else "planned", "rank_by": values.get("rank_by") or "mean", "quantile": values.get("quantile") or 0.9}


def take_file_words(path: str, values: Dict[str, Any]) -> None:
    """What a config file says of ranks, links and stages, as the words of the options."""
    values.update({name: slow_words(path, name, values[name]) for name in SLOW if name in values})


def take_idle(values: Dict[str, Any], given: Mapping[str, Any]) -> None:
    """Leaves out what a config file says of scenarios where nothing varies."""
    if all(values.get(name) is None for name in VARYING) and not _is_recorded(values):
        for name in BESIDE:
            if name not in given:
                values.pop(name, None)


def _profile(values: Mapping[str, Any]) -> Any:
    return getattr(values.get("measurement"), "profile", None)


def _is_recorded(values: Mapping[str, Any]) -> bool:
    """Whether scenarios are those of a profile."""
    if values.get("scenarios_from") is not None:
        return True
    profile = _profile(values)
    return values.get("scenarios") is not None and values.get("jitter") is None and profile is not None and iterations_of(profile) > 1


def _recorded(values: Mapping[str, Any], count: int, devices: int, stages: Optional[int]) -> Tuple[str, List[float]]:
    """The factors of a profile's iterations, by scenario: of stages; where these differ by candidate, of devices."""
    profile = _profile(values)
    if profile is None:
        raise UsageError("--scenarios-from profile: give --profile")
    if iterations_of(profile) < 2:
        raise UsageError(f"--scenarios-from profile: {profile.name} has one sample of each op; record several iterations")
    by_device, places = (True, devices) if stages is None else (False, stages)
    factors = recorded_factors(profile, values["statistic"], count, _seed(values), places=places, by_device=by_device)
    return "device_factors" if by_device else "stage_factors", factors


def _take(asked: Dict[str, Any], name: str, factors: List[float]) -> None:
    """Adds factors by scenario to those of all scenarios."""
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
    """Why the options of scenarios do not go with others of schedule, if so."""
    if any(values.get(name) for name in ("lower", "offload", "recompute_chunks")):
        return "--jitter, --slow-rank and the like are of a schedule that is neither lowered nor keeps less"
    if values.get("launch") is not None:
        return "--jitter, --slow-rank and the like go with text and json, not with --launch"
    if format not in (None, "text", "json"):
        return f"--jitter, --slow-rank and the like go with text and json, not with {format}"
    return None


def tells_scenarios(values: Dict[str, Any], given: Mapping[str, Any], format: Optional[str] = None) -> bool:
    """Whether what is printed has a place for them. Refuses options of them where it has none, unless a search aims at them; what a
    config file says is passed over there."""
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
    """The scenarios that the options ask for: how many, and how times vary, in the words of Schedule.scenarios. stages: of the
    schedule; None of a plan, whose candidates differ in them."""
    is_recorded = _is_recorded(values)
    if not is_recorded and all(values.get(name) is None for name in VARYING):
        for name in BESIDE:
            if values.get(name) is not None:
                raise UsageError(f"--{name.replace('_', '-')}: {_NEEDED}")
        return None
    count = _count(values)
    asked = {"count": count, "seed": _seed(values), "jitter": values.get("jitter") or 0.0, "message_jitter": values.get("message_jitter") or 0.0,
             **slow_factors(values, devices)}
    if values.get("slow_stage"):
        if stages is None:
            raise UsageError("--slow-stage: candidates differ in their stages; give --slow-rank, or take schedule for one of them")
        asked["stage_factors"] = factors_of("slow_stage", values["slow_stage"], stages)
    if is_recorded:
        _take(asked, *_recorded(values, count, devices, stages))
    return asked


def found_scenarios(schedule: Schedule, values: Mapping[str, Any]) -> Optional[Found]:
    """Those, of a schedule."""
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
