# SPDX-License-Identifier: Apache-2.0
"""The option --channel-speeds of compare: the best step of each strategy for several speeds of a channel of windows, and where another
strategy becomes the fastest."""
import argparse
import copy
import json
import math
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Tuple

from .._core._library import Error
from .._core.plan_table import best_of_each
from .._core.shown import shown
from .._core.text_table import Column, laid_out
from .._core.units import Units
from .._core.windows import LISTS
from .._core.words import nearest
from .._core.writing import ending_of
from .output_files import text_file
from .plan_options import make_plan
from .printing import print_text, write_files
from .usage import UsageError

HALVINGS = 10  # of the logarithm of two neighbouring speeds
OVER_RANGE = 1e9


class Sweep(NamedTuple):
    """Speeds of a channel, as multiples of what is given."""

    channel: str
    speeds: List[float]


class Turn(NamedTuple):
    """`later` is as fast as `first` at this speed, and faster above."""

    first: str
    later: str
    speed: float


Steps = Dict[str, float]  # the best step time by strategy


def add_speed_argument(group: Any) -> None:
    group.add_argument("--channel-speeds", metavar="CHANNEL=X,X,...",
                       help="with windows (from --windows or from layers): print the shortest step of each strategy if a channel is X "
                            "times as fast as given, and each speed from which on another strategy has the shortest step")


# --- what is given ---

def _sweep_of(word: str) -> Sweep:
    channel, _, numbers = word.partition("=")
    speeds = []
    for number in numbers.split(","):
        try:
            speeds.append(float(number))
        except ValueError:
            speeds.append(0.0)
    if not channel or not all(1 / OVER_RANGE <= speed <= OVER_RANGE for speed in speeds):
        raise UsageError(f"--channel-speeds {word}: it must be CHANNEL=X,X,... with numbers above 0, such as network=0.5,1,2,4")
    return Sweep(channel, sorted(set(speeds)))


def _windows_in(values: Mapping[str, Any]) -> List[Dict[str, Any]]:
    """All objects of windows: of stages, or of layers."""
    given = values.get("windows")
    if given is not None:
        return given if isinstance(given, list) else [given]
    return [row["windows"] for row in values.get("layers") or () if isinstance(row, dict) and row.get("windows") is not None]


def _check_channel(channel: str, windows: Iterable[Mapping[str, Any]]) -> None:
    known = list(dict.fromkeys(window[0] for one in windows for name in LISTS for window in one.get(name) or ()))
    if not known:
        raise UsageError("--channel-speeds needs windows: --windows FILE, or layers that have some, as ppsched model --pair-windows writes them")
    if channel not in known:
        raise Error(f"--channel-speeds: there is no channel {shown(channel)}; {nearest(channel, known) or 'channels are ' + ', '.join(known)}")


# --- at another speed ---

def _quicken(windows: Dict[str, Any], sweep: Sweep, speed: float) -> None:
    for name in LISTS:
        if windows.get(name):
            windows[name] = [[channel, time / speed if channel == sweep.channel else time, *after] for channel, time, *after in windows[name]]


def _sum(windows: Mapping[str, Any], *names: str) -> float:
    return math.fsum(window[1] for name in names for window in windows.get(name) or ())


def _quicken_row(row: Dict[str, Any], sweep: Sweep, speed: float) -> None:
    """The times of a layer follow. Recomputation that runs a whole forward is as much faster as that."""
    windows = row["windows"]
    before, forward = _sum(windows, "backward", "weight"), _sum(windows, "forward")
    _quicken(windows, sweep, speed)
    row.pop("backward_time", None)
    row.update(forward_time=_sum(windows, "forward"), backward_input_time=_sum(windows, "backward"), backward_weight_time=_sum(windows, "weight"))
    for kind in row.get("recompute") or ():
        added = kind["backward_time"] - before
        runs_all = forward > 0 and added >= forward * (1 - 1e-9)
        kind["backward_time"] = _sum(windows, "backward", "weight") + (added * row["forward_time"] / forward if runs_all else max(added, 0.0))


def at_speed(values: Mapping[str, Any], sweep: Sweep, speed: float) -> Dict[str, Any]:
    """The values where windows on the channel take 1 / speed of their times."""
    changed = {**values, **{name: copy.deepcopy(values[name]) for name in ("windows", "layers") if values.get(name) is not None}}
    if changed.get("windows") is not None:
        for windows in _windows_in(changed):
            _quicken(windows, sweep, speed)
    else:
        for row in changed["layers"]:
            _quicken_row(row, sweep, speed)
    return changed


# --- the steps ---

def _steps(values: Mapping[str, Any], sweep: Sweep, speed: float) -> Tuple[Steps, Units]:
    made = make_plan(at_speed(values, sweep, speed))
    found: Steps = {}
    for candidate in best_of_each(made[:]):
        if candidate.fits and candidate.step_time is not None:
            found[candidate.strategy] = min(candidate.step_time, found.get(candidate.strategy, math.inf))
    return found, made.config.units


def _fastest(steps: Steps) -> str:
    return min(steps, key=lambda name: steps[name])


def _turn(values: Mapping[str, Any], sweep: Sweep, below: float, above: float, names: Tuple[str, str]) -> Turn:
    """Where the second strategy becomes as fast as the first one, between two speeds."""
    both = {**values, "strategies": list(names)}
    for _ in range(HALVINGS):
        middle = math.sqrt(below * above)
        steps, _ = _steps(both, sweep, middle)
        if steps.get(names[0], math.inf) <= steps.get(names[1], math.inf):
            below = middle
        else:
            above = middle
    return Turn(*names, math.sqrt(below * above))


def _turns(values: Mapping[str, Any], sweep: Sweep, rows: List[Tuple[float, Steps]]) -> List[Turn]:
    found = []
    for (below, steps), (above, others) in zip(rows, rows[1:]):
        names = _fastest(steps), _fastest(others)
        if names[0] != names[1]:
            found.append(_turn(values, sweep, below, above, names))
    return found


# --- the answer ---

def _row(sweep: Sweep, rows: List[Tuple[float, Steps]], turns: List[Turn], units: Units) -> Dict[str, Any]:
    return {"channel": sweep.channel, "speeds": [{"speed": speed, "steps": steps, "fastest": _fastest(steps)} for speed, steps in rows],
            "turns": [{"from": turn.first, "to": turn.later, "speed": turn.speed} for turn in turns], "units": units._asdict()}


def _columns(lines: List[List[str]]) -> str:
    """Where there is no room, the strategies that are the fastest at few speeds go beneath."""
    last = len(lines[0]) - 1
    found = [Column(heading, cells, left=number == 0, leaves=number if 0 < number < last else 0) for number, (heading, *cells) in enumerate(zip(*lines))]
    return "".join(line + "\n" for line in laid_out(found, last + 1))


def _text(sweep: Sweep, rows: List[Tuple[float, Steps]], turns: List[Turn], units: Units) -> str:
    names = sorted({name for _, steps in rows for name in steps}, key=lambda name: [-sum(_fastest(steps) == name for _, steps in rows), name])
    unit = f" ({units.time})" if units.time else ""
    lines = [["speed", *names, "fastest"]]
    lines += [[f"{speed:g}", *(f"{steps[name]:.6g}" if name in steps else "-" for name in names), _fastest(steps)] for speed, steps in rows]
    text = f"shortest step{unit} if {sweep.channel} is this many times as fast:\n{_columns(lines)}"
    return text + "".join(f"{turn.later} is as fast as {turn.first} at {turn.speed:.3g} times the speed\n" for turn in turns)


def run_speed_sweep(arguments: argparse.Namespace, values: Mapping[str, Any]) -> None:
    sweep = _sweep_of(arguments.channel_speeds)
    outputs: List[str] = arguments.output
    wrong = next((path for path in outputs if not ending_of(path, (".json", ".txt"))), None)
    if wrong is not None:
        raise UsageError(f"-o {wrong}: with --channel-speeds give .json or .txt")
    _check_channel(sweep.channel, _windows_in(values))
    rows, units = [], Units(None, None, None)
    for speed in sweep.speeds:
        steps, units = _steps(values, sweep, speed)
        if not steps:
            raise Error(f"at {speed:g} times the speed of {sweep.channel} no schedule fits; ppsched compare without --channel-speeds says why")
        rows.append((speed, steps))
    turns = _turns(values, sweep, rows)
    made = {True: json.dumps(_row(sweep, rows, turns, units)) + "\n", False: _text(sweep, rows, turns, units)}
    kinds = {path: bool(arguments.json or ending_of(path, (".json",))) for path in outputs}
    write_files([text_file(path, made[is_json], not is_json) for path, is_json in kinds.items()])
    if not outputs:
        print_text(made[bool(arguments.json)])
