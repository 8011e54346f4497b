# SPDX-License-Identifier: Apache-2.0
"""A plan as one HTML page: the ranked candidates, and the timelines of the best. The page loads nothing from anywhere."""
import json
import math
import pathlib
import re
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Union

from .._core._abi import Objective
from .._core._library import Error, decoded, lib
from .._core.candidate import Candidate, with_least_bounds
from .._core.enums import member
from .._core.launching import launch_row
from .._core.own_schedules import candidate_of, ranked
from .._core.page_text import escaped, source_digest
from .._core.pages import makes_pages
from .._core.plan import Plan
from .._core.plan_table import candidate_row
from .._core.shown import shown
from .._core.timeline import Timeline
from .._core.words import counted
from .live_files import check_library, computing_script, packed_library
from .report_choice import Timelines, baseline_of, drawn_candidates, found_baseline
from .report_live import live_row
from .report_packing import deflated, with_gaps
from .report_question import question_row
from .report_timeline import Ranks, Variation, drawn, timeline_row

_FOLDER = pathlib.Path(__file__).resolve().parent / "report_page"
_SCRIPTS = ("base.js", "data.js", "theme.js", "view.js", "surface.js", "panels.js", "table.js", "columns.js", "lanes.js", "dependencies.js",
            "pointing.js", "gaps.js", "selection.js", "critical.js", "finding.js", "save.js", "timeline.js", "memory.js", "patterns.js",
            "idle.js", "scenarios.js", "launch.js", "layers.js", "question.js", "main.js")  # joined to one script in this order
_ANEW = ("anew_work.js", "anew.js")  # added after them, with the computing scripts, in pages that rank again
_DIGITS = 12        # of numbers in the page; enough to show, without rounding noise
_MOST_OPS = 400_000  # of all timelines but the first two, so that the page stays small


# --- its data ---

def _timelines(plan: Plan, wanted: Sequence[Candidate], most_ops: float, csv: Optional[str],
               variation: Optional[Variation], ranks: Optional[Ranks]) -> Iterator[Dict[str, Any]]:
    ops = 0
    for number, candidate in enumerate(wanted):
        most = 3 * candidate.stages * candidate.microbatches * plan.config.iterations  # F, I and W of each
        if number >= 2 and ops + most > most_ops:
            continue
        timeline = plan.timeline(candidate)
        ops += len(timeline.schedule)
        yield timeline_row(plan, candidate, timeline, csv if number == 0 else None, variation, ranks)


def _least_limit(plan: Plan) -> Optional[Dict[str, Any]]:
    """The least memory limit that works, if nothing fits."""
    if plan.best is not None:
        return None
    try:
        least = plan.least_limit()
    except Error:
        return None
    return {"limit": least.limit, "rank": least.candidate.rank}


def report_data(plan: Plan, count: int = 8, title: Optional[str] = None, *, candidates: Optional[Sequence[Candidate]] = None,
                csv: Optional[str] = None, baseline: Optional[str] = None, timelines: Optional[Timelines] = None,
                command: Optional[str] = None, profile: Optional[Mapping[str, Any]] = None,
                variation: Optional[Variation] = None, live: bool = False, ranks: Optional[Ranks] = None) -> Dict[str, Any]:
    """The data of a page for a ppsched.Plan: all candidates, and the timelines of the best candidate of each strategy, for at most
    `count` strategies (fewer if schedules are very large).

    candidates: candidates of the plan to show, by rank (default: all); csv: the file with the order of the first one, which its launch
    lines name; baseline: the strategy in use today, whose timeline is shown next to the best, such as "1f1b", or "interleaved_1f1b:4" with
    its stages per device (default: 1f1b, if it is a candidate); timelines: instead of the count, "all", or names of strategies whose
    candidates all get timelines; command, profile: the command that made the page, and the source of times, which the page shows;
    variation: how times vary, to show makespans in scenarios; live: include the library, so that the page can rank again with other limits
    and times; ranks: what the launch line of a runtime says of an order of devices."""
    config, shown = plan.config, [candidate for candidate in (plan[:] if candidates is None else candidates) if candidate.status != "left out"]
    wanted = baseline_of(baseline)
    if live:
        check_library()
    can_compute = {"live": live_row(plan, wanted)} if live else {}
    base = found_baseline(shown, wanted._replace(asked=False)) or found_baseline(plan[:], wanted)
    if wanted.asked and base is not None and base not in shown:
        shown = sorted([*shown, base], key=lambda candidate: candidate.rank)
    asked = count if timelines is None else timelines
    wanted_ones = drawn_candidates(shown, base if base in shown else None, asked)
    problem = {name: getattr(config, name) for name in ("devices", "stages", "microbatches", "iterations")}
    if plan.layers is not None:
        problem["layers"] = len(plan.layers)
    units = config.units
    return {"title": title or f"Pipeline schedules for {counted(config.devices, 'device')}", "objective": plan.objective.name.lower(),
            "problem": problem, "question": question_row(config, command, profile, None if plan.layers is None else list(plan.layers.given)),
            "units": units.row, "baseline": base.rank if base in wanted_ones and base is not None else None, "least_limit": _least_limit(plan),
            "candidates": [candidate_row(candidate, units) for candidate in shown],
            "timelines": list(_timelines(plan, wanted_ones, _MOST_OPS if isinstance(asked, int) else math.inf, csv, variation, ranks)), **can_compute}


def timelines_data(timelines: Sequence[Timeline], title: Optional[str] = None, *,
                   objective: Union[Objective, str] = "makespan") -> Dict[str, Any]:
    """The same for any timelines, such as those of custom schedules: each is a candidate, ranked as in a plan."""
    given = list(timelines) if isinstance(timelines, Iterable) else []
    if not given or not all(isinstance(timeline, Timeline) for timeline in given):
        raise Error(f"timelines must be a list of at least one ppsched.Timeline, not {shown(timelines)}")
    by, units = member(Objective, "objective", objective), given[0].config.units
    if any(timeline.config.units != units for timeline in given):
        raise Error("the timelines have different units, so they cannot be on one page")
    candidates = with_least_bounds(ranked([candidate_of(timeline, number, by) for number, timeline in enumerate(given)]))
    first = given[0].schedule
    problem = {name: getattr(first, name) for name in ("devices", "stages", "microbatches", "iterations")}
    drawn_rows = [{**drawn(candidate, given[candidate.number]), "launch": launch_row(given[candidate.number].schedule, None, None)}
             for candidate in candidates]
    return {"title": title or f"Pipeline schedules for {counted(first.devices, 'device')}", "objective": by.name.lower(), "problem": problem,
            "question": question_row(given[0].config), "units": units.row, "candidates": [candidate_row(candidate, units) for candidate in candidates], "timelines": drawn_rows}


def report(what: Union[Plan, Timeline, Sequence[Timeline]], title: Optional[str] = None, *, live: bool = False) -> str:
    """A page for a plan, or for one or more timelines, as HTML. live, only for a plan: include the library, so that the page can rank
    again with other limits and times.
    what: a plan, a timeline or several. title: of the page. Errors: ppsched.Error for other objects, or live without a plan.

        pathlib.Path("report.html").write_text(ppsched.report([timeline], title="1F1B"), encoding="utf-8")
    """
    if isinstance(what, Plan):
        return report_html(report_data(what, title=title, live=live))
    if live:
        raise Error("a page that ranks again needs a plan; timelines alone have no candidates to rank")
    return report_html(timelines_data([what] if isinstance(what, Timeline) else what, title))


# --- its page ---

def _shorter(text: str) -> Optional[float]:
    """A number of JSON, rounded to the digits that are shown; an integer if it is one."""
    number = float(f"{float(text):.{_DIGITS}g}")
    if not math.isfinite(number):
        return None
    return int(number) if number.is_integer() and abs(number) < 1e15 else number


def _script_data(data: Union[Mapping[str, Any], List[Any]]) -> str:
    """JSON that can be put into <script>: without NaN and "<", and only ASCII."""
    plain = json.loads(json.dumps(data), parse_float=_shorter, parse_constant=lambda name: None)
    text = json.dumps(plain, allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _packed(data: Mapping[str, Any]) -> Dict[str, Any]:
    """The data with packed candidates and timelines; the page unpacks those that it shows."""
    packed = dict(data)
    if isinstance(data.get("candidates"), list):
        packed["candidates"] = deflated(_script_data(data["candidates"]))
    if isinstance(data.get("timelines"), list):
        packed["timelines"] = [{"rank": raw["rank"], "packed": deflated(_script_data(with_gaps(raw)))} for raw in data["timelines"]]
    return packed


def _asset(name: str) -> str:
    return (_FOLDER / name).read_text(encoding="utf-8")


def report_html(data: Mapping[str, Any]) -> str:
    """The page as text, from the result of report_data."""
    is_live = isinstance(data.get("live"), str)
    style = _asset("style.css") + (_asset("anew.css") if is_live else "")
    script = "\n".join([*map(_asset, _SCRIPTS), *([computing_script(), *map(_asset, _ANEW)] if is_live else [])])
    library = f'<script type="text/plain" id="library">{packed_library()}</script>\n' if is_live else ""
    title = "".join(letter for letter in str(data.get("title", "")) if letter.isprintable())
    # Only this style and script may act in the page, and it may load nothing. A page with the library may also compile it and start
    # workers.
    computing = (" 'wasm-unsafe-eval'", "worker-src blob:; ") if is_live else ("", "")
    policy = f"default-src 'none'; img-src data:; style-src {source_digest(style)}; script-src {source_digest(script)}{computing[0]}; " \
             f"{computing[1]}base-uri 'none'; form-action 'none'"
    parts = {"TITLE": escaped(title), "VERSION": decoded(lib.ppsched_version_text()), "POLICY": escaped(policy, quotes=False), "STYLE": style, "SCRIPT": script,
             "DATA": _script_data(_packed(data)), "LIBRARY": library, "ANEW": _asset("anew.html") + "\n  " if is_live else ""}
    return re.sub(r"@([A-Z]+)@", lambda match: parts[match[1]], _asset("skeleton.html"))


@makes_pages
def _page_of(plan: Plan, candidates: Sequence[Candidate]) -> str:
    """The page that Plan.write makes."""
    return report_html(report_data(plan, candidates=candidates))
