# SPDX-License-Identifier: Apache-2.0
"""The command that finds what an overlapped pair takes: pair."""
import argparse
import json
from typing import Any, Dict, List, NamedTuple, Optional

from .._core.same_units import in_same_units
from .._core.shown import printable
from .._core.text_table import WIDTH as TEXT
from .._core.units import Units
from .._core.windows import Cycle, PairTime, PairWindow, StageWindows, checked_windows, cycle_of, pair_of, repeated, time_of_pair
from ..readers.pair_trace import TracedPair, is_pair_trace, traced_pair
from .answer_file import take_ending
from .commands import COMMANDS, Commands
from .number_options import whole
from .printing import print_text
from .usage import OneFile, UsageError
from .windows_option import plain_windows, read_value, tell_idle_slowdowns, windows_of_trace

WIDTH, LEAST = 72, 24  # most and least of the picture
OWN = "own"  # the order of a trace
LETTERS = {"forward": "F", "backward": "B", "weight": "W"}


class Asked(NamedTuple):
    """A pair, what it takes, and the trace that it is from."""

    pair: StageWindows
    found: PairTime
    units: Units
    traced: Optional[TracedPair]
    cycle: Optional[Cycle]  # of several in a row


def add_commands(commands: Commands) -> None:
    parser = commands.add_parser(
        "pair", help=COMMANDS["pair"].summary, allow_abbrev=False,
        description="Finds the best order of the windows of a forward and a backward that run at the same time. Windows are parts of an op, such as "
                    "attention, dispatch and experts. Each window runs on one channel, such as compute or network. A window starts as soon as it is "
                    "ready and its channel is free.")
    parser.add_argument("file", metavar="FILE",
                        help="JSON or YAML: {\"forward\": [[\"compute\", 3], [\"network\", 2]], \"backward\": [...]}, and optionally "
                             "\"weight\": [[channel, time, after]] and \"slowdown\": {channel: factor}. With --stages: a list with one such object "
                             "per stage. Or a trace with ranges such as attn(F), mlp(B) and mlp(W)")
    parser.add_argument("--stages", nargs=2, type=whole, metavar=("I", "J"),
                        help="if FILE has a list of stages: pair the forward of stage I with the backward of stage J")
    parser.add_argument("--order", metavar="FBW",
                        help="compute the time of this order of windows, such as FBFBW: each letter says whether the next window belongs to F, B or "
                             "W. Each channel runs its windows in this order, and waits until its next window is ready. own: the order of a trace "
                             "(default: find the best order)")
    parser.add_argument("--pairs", type=whole, metavar="N", default=1,
                        help="number of consecutive pairs (default: 1). A pair may start before the previous pair ends. With N above 1, also print "
                             "the additional time of one more pair")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("-o", "--output", action=OneFile, metavar="FILE", help="write to a file")
    parser.examples = ("ppsched pair windows.json", "ppsched pair windows.json --pairs 8 --json")
    parser.set_defaults(run=run_pair)


def _picture(found: PairTime, units: Units) -> List[str]:
    """A row a channel, by the letters of what runs."""
    channels = list(dict.fromkeys(window.channel for window in found.windows))
    width = max(len(printable(channel)) for channel in channels)
    columns = max(LEAST, min(WIDTH, TEXT - width - 2))
    scale = columns / found.time if found.time else 0
    lines = []
    for channel in channels:
        row = ["."] * columns
        for window in found.windows:
            if window.channel == channel:
                first, last = round(window.start * scale), round(window.end * scale)
                row[first:last] = LETTERS[window.of] * (last - first)
                if last - first > 2:
                    row[last - 1] = "|" if last < columns else row[last - 1]
        lines.append(f"{printable(channel):{width}}  {''.join(row)}")
    end = f"{found.time:.6g}{units.after_time}"
    return [*lines, f"{'':{width}}  0{end.rjust(columns - 1)}"]


def _text(asked: Asked, is_given: bool) -> str:
    found, units = asked.found, asked.units

    def time(value: float) -> str:
        return f"{value:.6g}{units.after_time}"

    proof = "no order takes less" if found.is_best else f"no order takes less than {time(found.bound)}"
    gain = f"with overlap {found.serial / found.time:.2f} times as fast" if found.time else "no window takes any time"
    lines = [f"time {time(found.time)}{' in the given order' if is_given else ''}; {proof}",
             f"without overlap {time(found.serial)}; {gain}",
             f"forward ends at {time(found.forward_end)}, backward at {time(found.backward_end)}"]
    if asked.traced is not None:
        lines.append(f"measured {time(asked.traced.time)}; computed for the measured order {time(_own(asked))}")
    if asked.cycle is not None:
        lines.append(f"each additional pair takes {time(asked.cycle.time)}; no order takes less than {time(asked.cycle.bound)}")
    lines += ["", *_picture(found, units)]
    return "\n".join(lines) + "\n"


def _window_row(window: PairWindow) -> Dict[str, Any]:
    return {"of": window.of, "index": window.number, "channel": window.channel, "start": window.start, "end": window.end}


def _row(asked: Asked) -> Dict[str, Any]:
    found, units = asked.found, asked.units
    row = {"time": found.time, "bound": found.bound, "serial": found.serial, "forward_end": found.forward_end,
           "backward_end": found.backward_end, "windows": [_window_row(window) for window in found.windows]}
    if asked.traced is not None:
        row.update({"measured": asked.traced.time, "own_order": _own(asked)})
    if asked.cycle is not None:
        row.update({"cycle": asked.cycle.time, "cycle_bound": asked.cycle.bound})
    return {**row, "units": units.row} if any(units) else row


def _own(asked: Asked) -> float:
    """The time of a trace's own order."""
    return time_of_pair(asked.pair, "", asked.traced.order if asked.traced else None).time


def _ask(arguments: argparse.Namespace) -> Asked:
    path = arguments.file
    given, traced = read_value(path), None
    if is_pair_trace(given):
        traced = traced_pair(path, given)
        given = windows_of_trace(traced)
    tell_idle_slowdowns("pair", f"{path}: ", checked_windows(plain_windows(given), f"{path}: "))
    values, units = in_same_units({"windows": given}, {"windows": path}, has_defaults=False)
    stages = checked_windows(values["windows"], f"{path}: ")
    if len(stages) > 1 and arguments.stages is None:
        raise UsageError(f"{path}: there are windows of {len(stages)} stages; --stages I J takes the forward of I with the backward of J")
    pair = pair_of(stages, *(arguments.stages or (0, 0)))
    order = arguments.order
    if order == OWN:
        if traced is None:
            raise UsageError(f"--order {OWN}: it needs a trace, but {path} is not a trace")
        order = traced.order
    pairs, where = arguments.pairs, f"{path}: "
    if order and pairs > 1:
        time_of_pair(pair, where, order)  # which says what is wrong with that of one pair
    found = time_of_pair(repeated(pair, pairs, where), where, order and order * pairs)
    return Asked(pair, found, units, traced, cycle_of(pair, pairs, where, order) if pairs > 1 else None)


def run_pair(arguments: argparse.Namespace) -> None:
    take_ending(arguments)
    asked = _ask(arguments)
    text = json.dumps(_row(asked), indent=1) + "\n" if arguments.json else _text(asked, arguments.order is not None)
    print_text(text, arguments.output)
