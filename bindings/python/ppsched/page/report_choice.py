# SPDX-License-Identifier: Apache-2.0
"""Which candidates of a plan have their timelines in a page: the best, beside it what runs today, and others."""
import re
from typing import List, NamedTuple, Optional, Sequence, Union

from .._core._library import Error
from .._core.candidate import Candidate
from .._core.plan_table import best_of_each
from .._core.shown import shown
from .._core.strategy import find_strategy

BASELINE = "1f1b"  # what most run today
ALL = "all"
Timelines = Union[int, str, Sequence[str]]


class Baseline(NamedTuple):
    """A strategy; chunks: its V, where that matters. asked: by the caller, so that it must be there."""

    strategy: str
    chunks: Optional[int]
    asked: bool

    def suits(self, candidate: Candidate) -> bool:
        return candidate.strategy == self.strategy and self.chunks in (None, candidate.chunks)


def baseline_of(text: Optional[str]) -> Baseline:
    """Of NAME or NAME:V; that of most where there is none."""
    if text is None:
        return Baseline(BASELINE, None, False)
    name, separator, chunks = str(text).partition(":")
    if separator and not re.fullmatch("0*[1-9][0-9]{0,99}", chunks):
        raise Error(f"baseline is {shown(text)}; it must be a strategy, or with its stages a device behind it, such as interleaved_1f1b:4")
    return Baseline(find_strategy(name).name, int(chunks) if separator else None, True)


def found_baseline(candidates: Sequence[Candidate], wanted: Baseline) -> Optional[Candidate]:
    """The best candidate that it is; refuses where it was asked for and is none."""
    matching = [candidate for candidate in candidates if wanted.suits(candidate)]
    able = [candidate for candidate in matching if candidate.step_time is not None]
    if able or not wanted.asked:
        return able[0] if able else None
    if matching:
        raise Error(f"baseline {wanted.strategy} was refused: {matching[0].reason}")
    names = ", ".join(dict.fromkeys(candidate.strategy for candidate in candidates if candidate.step_time is not None))
    chunks = "" if wanted.chunks is None else f" with {wanted.chunks} stages a device"
    raise Error(f"baseline {wanted.strategy}{chunks} is no candidate; there are {names or 'none that can be made'}")


def _others(candidates: Sequence[Candidate], timelines: Timelines) -> List[Candidate]:
    """That may be drawn beside the best and the baseline."""
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
    """The best, the baseline, what most run today, and by what `timelines` is: the best of other strategies, of so many in all; all; or all of the
    strategies that it names."""
    usual = found_baseline(candidates, baseline_of(None))
    first = [*best_of_each(candidates)[:1], *(candidate for candidate in (baseline, usual) if candidate is not None)]
    drawn = list({candidate.rank: candidate for candidate in [*first, *_others(candidates, timelines)]}.values())
    return drawn[:timelines] if isinstance(timelines, int) else drawn
