# SPDX-License-Identifier: Apache-2.0
"""Pages of plans: what makes them says so here, as the library itself makes none."""
from typing import TYPE_CHECKING, Callable, List, Sequence

from .candidate import Candidate

if TYPE_CHECKING:
    from .plan import Plan

Maker = Callable[["Plan", Sequence[Candidate]], str]  # of a plan and those of its candidates that the page is about
_MAKERS: List[Maker] = []


def makes_pages(maker: Maker) -> Maker:
    """A decorator of the function that makes them."""
    _MAKERS[:] = [maker]
    return maker


def page_of(plan: "Plan", candidates: Sequence[Candidate]) -> str:
    """A page as text."""
    maker, = _MAKERS
    return maker(plan, candidates)
