# SPDX-License-Identifier: Apache-2.0
"""What compare and pick tell of a plan: as rows, as a page, and why nothing fits."""
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
from ..page.report import report_data, report_html
from .page_options import PAGES, page_words
from .usage import UsageError

NOTHING = "no candidate fits"
MANY_GROUPS = 64  # of as many microbatches all sizes are tried


def why_none(made: Plan) -> str:
    """One line for people: which comes closest, what it lacks, and what would do."""
    closest = next((candidate for candidate in made if candidate.overshoot), None)
    if closest is None and made.runtime is not None:
        return Runnable(made, made.runtime.name.lower()).why_none()
    try:
        return NOTHING + _what_would_do(made, made.least_limit(), closest)
    except Error:
        refused = next((candidate.reason for candidate in made if candidate.reason), "there is none to try")
        found = f"{NOTHING}{_lack(made, closest)}{_too_large(made)}"
        return f"{found}: {refused}" if closest is None else f"{found}; no limit was found that would do"


def _lack(made: Plan, closest: Optional[Candidate]) -> str:
    if closest is None:
        return ""
    return (f"; closest is {closest.strategy} with {counted(closest.chunks, 'chunk')} a device: the most that a device lacks is "
            f"{at_least(closest.overshoot or 0.0)}{made.config.units.after_memory} (device {_worst(made, closest)})")


def _what_would_do(made: Plan, least: LeastLimit, closest: Optional[Candidate]) -> str:
    """What lacks least, and the least limit with its candidate; why that is another."""
    words = f"{_lack(made, closest)}{_too_large(made)}; the least limit that would do is {at_least(least.limit)}{made.config.units.after_memory} "
    if closest is None or closest.number == least.candidate.number:
        return f"{words}({least.candidate.strategy})"
    why = "finds no schedule below that" if least.candidate.overshoot is None else f"lacks {at_least(least.candidate.overshoot)} on one device"
    return f"{words}({least.candidate.strategy}, which {why})"


def _too_large(made: Plan) -> str:
    """A layer that no device can hold."""
    if made.layers is None:
        return ""
    name, needed = made.layers.largest()
    most = max((candidate.memory_limit for candidate in made if candidate.memory_limit is not None),
               default=max(made.config.mem_limit, default=math.inf))
    unit = made.config.units.after_memory
    return f"; a layer {name} alone takes {at_least(needed)}{unit}, and no device has more than {at_most(most)}{unit}" if needed > most else ""


def _worst(made: Plan, candidate: Candidate) -> int:
    """The device that lacks most."""
    with ProgressBar() as bar:
        figures = made.timeline(candidate, bar).device_metrics
    return max(range(len(figures)), key=lambda device: figures[device].peak_memory - figures[device].memory_limit)


def check_answer(output: str, is_json: bool, endings: Tuple[str, ...]) -> None:
    """Of a file for what the command answers."""
    if is_json and ending_of(output, PAGES):
        raise UsageError(f"-o {output}: it is a page, which --json does not go with")
    if not is_json and ending_of(output, endings) is None:
        raise UsageError(f"-o {output}: unknown ending; known are {' '.join(endings)}, or give --json")


def rows_text(rows: Iterable[Dict[str, Any]]) -> str:
    version = decoded(lib.ppsched_version_text())
    return json.dumps([{**row, "version": version} for row in rows], indent=1) + "\n"


def page_text(made: Plan, candidates: Sequence[Candidate], arguments: argparse.Namespace, csv: Optional[str] = None) -> str:
    return report_html(report_data(made, candidates=candidates, csv=csv, **page_words(arguments, made)))


def groups_line(made: Plan, arguments: argparse.Namespace) -> str:
    """How many group sizes were tried where they are many; empty where that were all, or those that were asked for."""
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
    """The candidates that a runtime can run."""
    with ProgressBar() as bar:
        runnable = Runnable(made, runtime, bar)
        fitting = runnable.best(len(made))
        if made.best is not None and not fitting:
            raise Error(runnable.why_none())
        return [*fitting, *runnable.over_limit()]
