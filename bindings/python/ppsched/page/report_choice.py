# SPDX-License-Identifier: Apache-2.0
"""Which candidates of a plan get timelines in a page: the best, the baseline, and others."""
import re
from typing import List, NamedTuple, Optional, Sequence, Union

from .._core._library import Error
from .._core.candidate import Candidate
from .._core.plan_table import best_of_each
from .._core.shown import shown
from .._core.strategy import find_strategy
from .._core.words import counted

BASELINE = "1f1b"  # the most common strategy
ALL = "all"
Timelines = Union[int, str, Sequence[str]]


class Baseline(NamedTuple):
    """The strategy in use today. chunks: its V, or None for any; asked: given by the caller, so it must exist."""

    strategy: str
    chunks: Optional[int]
    asked: bool

    def suits(self, candidate: Candidate) -> bool:
        return candidate.strategy == self.strategy and self.chunks in (None, candidate.chunks)


def baseline_of(text: Optional[str]) -> Baseline:
    """Parses NAME or NAME:V; None means the most common strategy."""
    if text is None:
        return Baseline(BASELINE, None, False)
    name, separator, chunks = str(text).partition(":")
    if separator and not re.fullmatch("0*[1-9][0-9]{0,99}", chunks):
        raise Error(f"baseline is {shown(text)}; it must be a strategy, with or without its stages per device, such as interleaved_1f1b:4")
    return Baseline(find_strategy(name).name, int(chunks) if separator else None, True)


def found_baseline(candidates: Sequence[Candidate], wanted: Baseline) -> Optional[Candidate]:
    """The best candidate of the baseline. Raises if the caller gave the baseline and there is none."""
    matching = [candidate for candidate in candidates if wanted.suits(candidate)]
    able = [candidate for candidate in matching if candidate.step_time is not None]
    if able or not wanted.asked:
        return able[0] if able else None
    if matching:
        raise Error(f"baseline {wanted.strategy} was refused: {matching[0].reason}")
    names = ", ".join(dict.fromkeys(candidate.strategy for candidate in candidates if candidate.step_time is not None))
    chunks = "" if wanted.chunks is None else f" with {counted(wanted.chunks, 'stage')} per device"
    raise Error(f"baseline {wanted.strategy}{chunks} is not a candidate; there are {names or 'none that can be made'}")


def _others(candidates: Sequence[Candidate], timelines: Timelines) -> List[Candidate]:
    """Candidates to draw in addition to the best and the baseline."""
    able = [candidate for candidate in candidates if candidate.step_time is not None]
    if isinstance(timelines, int):
        return best_of_each(candidates)
    if timelines == ALL:
        return able
    names = {find_strategy(name).name for name in ([timelines] if isinstance(timelines, str) else timelines)}
    missing = names - {candidate.strategy for candidate in able}
    if missing:
        raise Error(f"timelines: there is no candidate of {sorted(missing)[0]} that can be made")
    return [candidate for candidate in able if candidate.strategy in names]


def drawn_candidates(candidates: Sequence[Candidate], baseline: Optional[Candidate], timelines: Timelines) -> List[Candidate]:
    """The candidates to draw: the best, the baseline, the most common strategy, and by `timelines`: the best of other strategies up to that
    number of all; all candidates; or all candidates of the named strategies."""
    usual = found_baseline(candidates, baseline_of(None))
    first = [*best_of_each(candidates)[:1], *(candidate for candidate in (baseline, usual) if candidate is not None)]
    drawn = list({candidate.rank: candidate for candidate in [*first, *_others(candidates, timelines)]}.values())
    return drawn[:timelines] if isinstance(timelines, int) else drawn
