# SPDX-License-Identifier: Apache-2.0
"""Candidates as a table for people, and as rows for programs."""
import math
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from .plan import Candidate

BEST, FAINT, PLAIN = "\033[1;32m", "\033[2m", "\033[0m"
HEADINGS = ("", "strategy", "V", "M", "limit", "step time", "bubble of total", "of span", "peak memory", "device", "above bound")
TO_THE_LEFT = (1,)


def _name(candidate: Candidate) -> str:
    options = ", ".join(f"{key} {value}" for key, value in candidate.options.items() if key not in ("placement", "objective"))
    placement = f" on {candidate.placement}" if candidate.strategy == "auto" else ""
    return f"{candidate.strategy}{placement}{' (' + options + ')' if options else ''}"


def _gap(candidate: Candidate) -> str:
    if not candidate.bound or candidate.step_time is None:
        return "-"
    return f"{max(0.0, candidate.step_time / candidate.bound - 1):.1%}"


def _cells(candidate: Candidate) -> List[str]:
    limit = "-" if candidate.memory_limit is None else f"{candidate.memory_limit:g}"
    start = [str(candidate.rank + 1), _name(candidate), str(candidate.chunks), str(candidate.microbatches), limit]
    if candidate.bubble is None:  # which those that are refused have
        return start
    return [*start, f"{candidate.step_time:.6g}", f"{candidate.bubble.of_total:.2%}", f"{candidate.bubble.of_span:.2%}",
            f"{candidate.peak_memory:.6g}", str(candidate.peak_device), _gap(candidate)]


def _without_varied(rows: List[Sequence[str]]) -> Tuple[List[List[str]], List[int]]:
    """Columns that say the same in every row, and nothing of use, are left out."""
    useful = [i for i, heading in enumerate(HEADINGS) if heading not in ("limit", "M") or len({row[i] for row in rows}) > 1]
    return [[row[i] for i in useful] for row in (HEADINGS, *rows)], [useful.index(i) for i in TO_THE_LEFT]


def _aligned(rows: List[Sequence[str]]) -> List[str]:
    lines, left = _without_varied(rows)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return ["  ".join(cell.ljust(width) if i in left else cell.rjust(width)
                      for i, (cell, width) in enumerate(zip(line, widths))).rstrip() for line in lines]


def _best_of_each(candidates: Sequence[Candidate]) -> List[Candidate]:
    """The first of each strategy with its chunks, microbatches and limit."""
    seen: Dict[Tuple[object, ...], Candidate] = {}
    for candidate in candidates:
        seen.setdefault((candidate.strategy, candidate.placement, candidate.chunks, candidate.microbatches, str(candidate.memory_limit)),
                        candidate)  # as text, as NaN is not NaN
    return list(seen.values())


def _refusals(candidates: Sequence[Candidate]) -> Iterator[str]:
    """One line a reason."""
    reasons: Dict[str, List[Candidate]] = {}
    for candidate in candidates:
        reasons.setdefault(candidate.reason or "", []).append(candidate)
    for reason, refused in reasons.items():
        more = f" (and {len(refused) - 1} more like it)" if len(refused) > 1 else ""
        chunks = "" if refused[0].chunks == 1 else f", V = {refused[0].chunks}"
        yield f"  {_name(refused[0])}{chunks}: {reason.removeprefix(refused[0].strategy + ': ')}{more}"


def table(candidates: Sequence[Candidate], *, everything: bool, colour: bool) -> str:
    """Ranked ones in aligned columns; those over their limit below, and then the refused with their reasons."""
    def paint(style: str, line: str) -> str:
        return style + line + PLAIN if colour else line

    shown = candidates if everything else _best_of_each(candidates)
    fitting, over, refused = ([candidate for candidate in shown if candidate.status == status]
                              for status in ("fits", "over limit", "refused"))
    lines: List[str] = []
    if fitting or over:
        heading, *rows = _aligned([_cells(candidate) for candidate in [*fitting, *over]])
        lines = [heading, *(paint(BEST, row) if i == 0 else row for i, row in enumerate(rows[:len(fitting)]))]
        if over:
            lines += ["over their memory limit:", *(paint(FAINT, row) for row in rows[len(fitting):])]
    if refused:
        lines += ["refused:", *(paint(FAINT, line) for line in _refusals(refused))]
    return "\n".join(lines) + "\n"


def candidate_row(candidate: Candidate) -> Dict[str, Any]:
    """A candidate as JSON has it."""
    row: Dict[str, Any] = {**candidate._asdict(), "fits": candidate.fits}
    del row["number"]
    row["bubble"] = None if candidate.bubble is None else candidate.bubble._asdict()
    return {key: None if isinstance(value, float) and not math.isfinite(value) else value for key, value in row.items()}
