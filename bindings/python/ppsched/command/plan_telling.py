# SPDX-License-Identifier: Apache-2.0
"""Output of compare and pick: rows, pages, and why nothing fits."""
import argparse
import json
import math
from typing import Any, Dict, Iterable, List, Optional, Sequence, Set, Tuple

from .._core._library import Error, decoded, lib
from .._core.candidate import Candidate, LeastLimit
from .._core.plan import Plan
from .._core.progress import ProgressBar
from .._core.rounding import at_least, at_most
from .._core.runs_on import Runnable
from .._core.words import counted
from .._core.writing import ending_of
from .page_options import PAGES, page_words
from .rank_map import page_ranks
from .usage import UsageError

NOTHING = "no candidate fits"
MANY_GROUPS = 64  # up to so many microbatches all group sizes are tried


def why_none(made: Plan) -> str:
    """One line for people: the closest candidate, its overshoot, and the least limit that works."""
    closest = next((candidate for candidate in made if candidate.overshoot), None)
    if closest is None and made.runtime is not None:
        return Runnable(made, made.runtime.name.lower()).why_none()
    try:
        return NOTHING + _what_would_do(made, made.least_limit(), closest)
    except Error:
        refused = next((candidate.reason for candidate in made if candidate.reason), "there are no candidates")
        found = f"{NOTHING}{_lack(made, closest)}{_too_large(made)}"
        return f"{found}: {refused}" if closest is None else f"{found}; no memory limit was found under which one fits"


def _lack(made: Plan, closest: Optional[Candidate]) -> str:
    if closest is None:
        return ""
    return (f"; closest is {closest.strategy} with {counted(closest.chunks, 'chunk')} per device: device {_worst(made, closest)} is over its "
            f"limit by {at_least(closest.overshoot or 0.0)}{made.config.units.after_memory}")


def _what_would_do(made: Plan, least: LeastLimit, closest: Optional[Candidate]) -> str:
    """The closest candidate, and the least limit with its candidate. If that is another one, also why."""
    words = f"{_lack(made, closest)}{_too_large(made)}; the least limit that works is {at_least(least.limit)}{made.config.units.after_memory} "
    if closest is None or closest.number == least.candidate.number:
        return f"{words}({least.candidate.strategy})"
    why = "finds no schedule below this limit" if least.candidate.overshoot is None else f"exceeds the given limit by {at_least(least.candidate.overshoot)} on one device"
    return f"{words}({least.candidate.strategy}, which {why})"


def _too_large(made: Plan) -> str:
    """Names a layer that no device can hold, if there is one."""
    if made.layers is None:
        return ""
    name, needed = made.layers.largest()
    most = max((candidate.memory_limit for candidate in made if candidate.memory_limit is not None),
               default=max(made.config.mem_limit, default=math.inf))
    unit = made.config.units.after_memory
    return f"; a layer {name} alone takes {at_least(needed)}{unit}, and no device has more than {at_most(most)}{unit}" if needed > most else ""


def _worst(made: Plan, candidate: Candidate) -> int:
    """The device with the largest overshoot."""
    with ProgressBar() as bar:
        figures = made.timeline(candidate, bar).device_metrics
    return max(range(len(figures)), key=lambda device: figures[device].peak_memory - figures[device].memory_limit)


def check_answer(output: str, is_json: bool, endings: Tuple[str, ...], may_be_folder: bool = False) -> None:
    """Checks the ending of a file for the answer. may_be_folder: the command writes folders, too."""
    if is_json and ending_of(output, PAGES):
        raise UsageError(f"-o {output}: a page cannot be combined with --json")
    if not is_json and ending_of(output, endings) is None:
        raise UsageError(f"-o {output}: unknown ending; known are {' '.join(endings)}, or give --json{'; with --gpus a folder ends with /' if may_be_folder else ''}")


def _indented(value: Any, level: int = 1) -> str:
    """The text of json.dumps(value, indent=1). What contains neither lists nor objects is written in one call, several times as fast."""
    if not value or not isinstance(value, (dict, list, tuple)):
        return json.dumps(value)
    line = "\n" + " " * level
    if not any(isinstance(own, (dict, list, tuple)) for own in (value.values() if isinstance(value, dict) else value)):
        text = json.dumps(value, separators=("," + line, ": "))
    elif isinstance(value, dict):
        text = "{" + ("," + line).join(f"{json.dumps(key)}: {_indented(own, level + 1)}" for key, own in value.items()) + "}"
    else:
        text = "[" + ("," + line).join(_indented(own, level + 1) for own in value) + "]"
    return text[0] + line + text[1:-1] + line[:-1] + text[-1]


def rows_text(rows: Iterable[Dict[str, Any]]) -> str:
    version = decoded(lib.ppsched_version_text())
    return _indented([{**row, "version": version} for row in rows]) + "\n"


def page_text(made: Plan, candidates: Sequence[Candidate], arguments: argparse.Namespace, csv: Optional[str] = None, width: int = 1,
              replicas: Optional[int] = None) -> str:
    """width: GPUs of a device of the pipeline in each replica."""
    ranks = page_ranks(getattr(arguments, "host_gpus", None), width, replicas or getattr(arguments, "data_parallel_size", None) or 1)
    from ..page.report import report_data, report_html  # takes long to load
    return report_html(report_data(made, candidates=candidates, csv=csv, ranks=ranks, **page_words(arguments, made)))


def groups_line(made: Plan, arguments: argparse.Namespace) -> str:
    """A line with how many group sizes were tried, if they are many. Empty if all were tried, or sizes were given."""
    if arguments.group_sizes is not None or arguments.all:
        return ""
    sizes: Dict[int, Set[int]] = {}
    for candidate in made:
        if "group_size" in candidate.options:
            sizes.setdefault(candidate.microbatches, set()).add(int(candidate.options["group_size"]))
    lines = [f"group sizes: {len(tried)} of {count} were tried; --all tries all\n" for count, tried in sorted(sizes.items())
             if count > MANY_GROUPS and 2 * len(tried) < count]
    return "".join(lines[:1])


def of_runtime(made: Plan, runtime: str) -> List[Candidate]:
    """The candidates that a runtime runs."""
    with ProgressBar() as bar:
        runnable = Runnable(made, runtime, bar)
        fitting = runnable.best(len(made))
        if made.best is not None and not fitting:
            raise Error(runnable.why_none())
        return [*fitting, *runnable.over_limit()]
