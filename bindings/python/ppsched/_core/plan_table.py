# SPDX-License-Identifier: Apache-2.0
"""Candidates as a table for people and as rows for programs."""
import csv
import io
import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING, Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ._library import decoded, lib
from .candidate import Candidate
from .former_names import with_former
from .layer_words import recompute_words
from .layers import LayerSplit
from .microbatch_map import words_of
from .page_text import escaped
from .shown import printable
from .strategy import strategies
from .text_table import Column, laid_out
from .timeline import Bubble
from .units import Units
from .views import Plain
from .words import counted

if TYPE_CHECKING:
    from .plan import Plan

BEST, FAINT, PLAIN = "\033[1;32m", "\033[2m", "\033[0m"
HEADINGS = ("place", "strategy", "V", "M", "slices", "limit", "step time", "in scenarios", "bubble of total", "of ideal", "of span", "peak memory", "device", "offloads", "above bound", "runs on",
            "split", "recomputed")
# Columns that go beneath each row where there is no room, the last first; from TEXTS on they are texts.
BENEATH, TEXTS = ("above bound", "offloads", "of span", "of ideal", "device", "runs on", "recomputed", "split"), 6
TO_THE_LEFT = ("strategy", "runs on", "split", "recomputed")
MEASURES = {"limit": "memory", "step time": "time", "in scenarios": "time", "peak memory": "memory"}  # the dimension of columns with units
MOST_IN_HTML = 40  # rows
VARIED = ("limit", "M")  # columns that are left out if they are the same in every row


def candidate_name(candidate: Candidate) -> str:
    options = ", ".join(f"{key} {value}" for key, value in candidate.options.items() if key not in ("placement", "objective"))
    placement = f" on {candidate.placement}" if candidate.strategy == "auto" else ""
    offload = " with offload" if candidate.offloaded else ""
    return f"{candidate.strategy}{placement}{' (' + options + ')' if options else ''}{offload}"


def _gap(candidate: Candidate) -> str:
    """How far a candidate is above its bound; empty if it has none. A dash if it is over its memory limit: it may then be below the bound.
    Also above the bound a split may be proved to be the best."""
    if candidate.bound is None:
        return ""
    if not candidate.bound or candidate.step_time is None or not candidate.fits:
        return "-"
    gap = f"{max(0.0, candidate.step_time / candidate.bound - 1):.1%}"
    return f"{gap}, proved" if candidate.proved and gap != "0.0%" else gap


class SplitCells(NamedTuple):
    """The layers of each stage, and the recomputed ones, as cells of the table."""

    layers: str
    recomputed: str


def split_cells(model: LayerSplit) -> SplitCells:
    """Equal neighbours are joined: 4*5 means 4 layers on each of 5 stages. recomputed: the number of layers of each kind."""
    runs = [(count, len(list(same))) for count, same in itertools.groupby(model.split.layers)]
    kinds = Counter(names[kind - 1] for names, kind in zip(model.layers.kinds, model.split.recomputes) if kind)
    return SplitCells(" ".join(f"{count}*{times}" if times > 1 else str(count) for count, times in runs),
                      " ".join(f"{name}:{count}" for name, count in kinds.items()))


def _cells(number: int, candidate: Candidate, runs: Mapping[int, str], splits: Mapping[int, SplitCells]) -> List[str]:
    limit = "-" if candidate.memory_limit is None else f"{candidate.memory_limit:g}"
    start = [str(number), candidate_name(candidate), str(candidate.chunks), str(candidate.microbatches), str(candidate.slices), limit]
    if candidate.bubble is None:  # the candidate is refused
        return start
    varying = "" if candidate.scenario_time is None else f"{candidate.scenario_time:.6g}"
    return [*start, f"{candidate.step_time:.6g}", varying, f"{candidate.bubble.of_total:.2%}",
            f"{candidate.bubble.of_ideal:.2%}", f"{candidate.bubble.of_span:.2%}",
            f"{candidate.peak_memory:.6g}", str(candidate.peak_device), str(candidate.offloads or ""), _gap(candidate), runs.get(candidate.rank, ""),
            *splits.get(candidate.rank, SplitCells("", ""))]


def _useful(column: Sequence[str]) -> bool:
    heading, *cells = column
    if heading == "slices":
        return any(cell != "1" for cell in cells)
    return len(set(cells)) > 1 if heading in VARIED else any(cells)


def _columns(rows: List[List[str]], units: Units) -> Tuple[List[Tuple[str, ...]], List[bool]]:
    """The columns with content, headings first, and which of them are aligned to the left."""
    columns = [column for column in zip(HEADINGS, *rows) if _useful(column)]
    lefts = [heading in TO_THE_LEFT for heading, *_ in columns]
    return [(units.heading(heading, MEASURES.get(heading)), *cells) for heading, *cells in columns], lefts


def _aligned(rows: List[List[str]], units: Units) -> List[str]:
    columns, lefts = _columns(rows, units)
    return laid_out([Column(heading, cells, left, 1 + BENEATH.index(heading) if heading in BENEATH else 0, " (" if heading == "strategy" else "")
                     for (heading, *cells), left in zip(columns, lefts)], TEXTS)


def best_of_each(candidates: Sequence[Candidate]) -> List[Candidate]:
    """The best candidate for each strategy, memory limit, number of slices, and with and without offload, if it is not refused. The page
    folds the others, too."""
    seen: Dict[Tuple[object, ...], Candidate] = {}
    for candidate in candidates:
        if candidate.step_time is not None:
            seen.setdefault((candidate.strategy, candidate.slices, candidate.offloaded, str(candidate.memory_limit)), candidate)  # as text, as NaN is not NaN
    return list(seen.values())


def _folded_line(count: int) -> List[str]:
    """A line with the number of candidates that are not shown."""
    return [f"the best of each strategy; --all shows {counted(count, 'more candidate')}"] if count > 0 else []


def _refusals(candidates: Sequence[Candidate]) -> Iterator[str]:
    """One line per reason."""
    reasons: Dict[str, List[Candidate]] = {}
    for candidate in candidates:
        reasons.setdefault(candidate.reason or "", []).append(candidate)
    for reason, refused in reasons.items():
        more = f" (and {len(refused) - 1} more candidates for the same reason)" if len(refused) > 1 else ""
        chunks = "" if refused[0].chunks == 1 else f", V = {refused[0].chunks}"
        yield f"  {candidate_name(refused[0])}{chunks}: {reason.removeprefix(refused[0].strategy + ': ')}{more}"


def table(candidates: Sequence[Candidate], *, everything: bool, colour: bool, runs: Mapping[int, str] = {},
          splits: Mapping[int, SplitCells] = {}, units: Units = Units()) -> str:
    """The table: ranked candidates in aligned columns, below them those over their limit, then the refused ones with their reasons. Without
    `everything`, only the best of each strategy, numbered anew. runs, splits: by rank, the runtimes and the split of some candidates."""
    def paint(style: str, line: str) -> str:
        return style + line + PLAIN if colour else line

    shown = candidates if everything else best_of_each(candidates)
    fitting, over = ([candidate for candidate in shown if candidate.status == status] for status in ("fits", "over limit"))
    refused, left_out = ([candidate for candidate in candidates if candidate.status == status] for status in ("refused", "left out"))
    lines: List[str] = []
    if fitting or over:
        numbered = [(candidate.rank + 1 if everything else number, candidate) for number, candidate in enumerate([*fitting, *over], 1)]
        heading, *rows = _aligned([_cells(number, candidate, runs, splits) for number, candidate in numbered], units)
        lines = [heading, *(paint(BEST, row) if i == 0 else row for i, row in enumerate(rows[:len(fitting)]))]
        if over:
            lines += ["over their memory limit:", *(paint(FAINT, row) for row in rows[len(fitting):])]
    if refused:
        lines += ["refused:", *(paint(FAINT, line) for line in _refusals(refused))]
    lines += [f"left out: {counted(len(left_out), 'candidate')}, because other candidates rank before them"] if left_out else []
    lines += _folded_line(0 if everything else len(candidates) - len(refused) - len(left_out) - len(shown))
    return "\n".join(lines) + "\n"


def candidate_row(candidate: Candidate, units: Units) -> Dict[str, Any]:
    """A candidate as in JSON."""
    row: Dict[str, Any] = {**candidate._asdict(), "fits": candidate.fits, "units": units.row}
    del row["number"]
    if candidate.microbatch_order is None:
        del row["microbatch_order"]
    if candidate.device_order is None:
        del row["device_order"]
    row["bubble"] = None if candidate.bubble is None else candidate.bubble._asdict()
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}


def split_row(made: "Plan", candidate: Candidate) -> Dict[str, Any]:
    """The split of a candidate as in JSON."""
    if made.layers is None:
        return {}
    return {"split": None if candidate.status == "refused" else made.layers.rows(made.split(candidate))}


# --- for notebooks ---

def html_table(candidates: Sequence[Candidate], units: Units) -> str:
    """The first candidates by rank, and the number of others. The plan has the reasons of refused ones."""
    able = [candidate for candidate in candidates if candidate.step_time is not None]
    columns, lefts = _columns([_cells(candidate.rank + 1, candidate, {}, {}) for candidate in able[:MOST_IN_HTML]], units)
    if not able:
        return f"<p>no candidate of {len(candidates)} can be made</p>"
    rows = ["".join(f'<{tag} style="text-align:{"left" if left else "right"}">{escaped(cell)}</{tag}>' for cell, left in zip(line, lefts))
            for tag, line in zip(itertools.chain(["th"], itertools.repeat("td")), zip(*columns))]
    left_out = len(able) - MOST_IN_HTML
    more = f"<p>and {left_out} more</p>" if left_out > 0 else ""
    return "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + f"</table>{more}"


def plain_row(candidate: Candidate) -> Dict[str, Plain]:
    """A row without nested values: options and runtimes are texts, the figures of the bubble are columns."""
    row = {**candidate_row(candidate, Units()), "options": " ".join(f"{name}={value}" for name, value in candidate.options.items()),
           "runs_on": None if candidate.runs_on is None else " ".join(candidate.runs_on),
           "microbatch_order": None if candidate.microbatch_order is None else words_of(candidate.microbatch_order),
           "device_order": None if candidate.device_order is None else words_of(candidate.device_order)}
    del row["units"], row["bubble"]
    bubble = [None] * len(Bubble._fields) if candidate.bubble is None else candidate.bubble
    return {**row, **{f"bubble_{name}": value for name, value in zip(Bubble._fields, bubble)}}


# --- as CSV ---

def _cell(value: object) -> object:
    if isinstance(value, (list, tuple)):
        return " ".join(map(str, value))
    if isinstance(value, str):
        return printable(value)  # of a custom name
    return "" if value is None else str(value).lower() if isinstance(value, bool) else value


def candidates_csv(candidates: Iterable[Candidate], units: Units,
                   models: Optional[Mapping[int, LayerSplit]] = None) -> str:
    """One row per candidate, with the keys of JSON as columns; nested keys have a dot. There is a column for each option of any strategy, so
    that columns are always the same, except for those of units, if numbers have some, and those of a split, if there are layers. models:
    the splits by rank."""
    options = dict.fromkeys(option.name for strategy in strategies() for option in strategy.options)
    nested: Dict[str, Iterable[str]] = {"options": options, "bubble": Bubble._fields,
                                         "units": Units._fields if any(units) else ()}
    keys = [(name, part) for name in (*with_former(dict.fromkeys(Candidate._fields[1:])), "fits", "units") for part in nested.get(name, ("",))]
    text, version = io.StringIO(), decoded(lib.ppsched_version_text())
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(f"{name}.{part}" if part else name for name, part in keys), *([] if models is None else ["split", "recompute"]), "version"])
    for candidate in candidates:
        row, model = with_former(candidate_row(candidate, units)), (models or {}).get(candidate.rank)
        split: List[object] = [] if models is None else ["", ""]
        if model is not None:
            split = [_cell(model.split.layers), _cell(recompute_words(model))]
        writer.writerow([*(_cell((row[name] or {}).get(part) if part else row.get(name)) for name, part in keys), *split, version])
    return text.getvalue()
