# SPDX-License-Identifier: Apache-2.0
"""A registry for the function that makes pages of plans, as this package does not import it."""
from typing import TYPE_CHECKING, Callable, List, Sequence

from .candidate import Candidate

if TYPE_CHECKING:
    from .plan import Plan

Maker = Callable[["Plan", Sequence[Candidate]], str]  # makes a page for a plan and some of its candidates
_MAKERS: List[Maker] = []


def makes_pages(maker: Maker) -> Maker:
    """Decorator that registers the function."""
    _MAKERS[:] = [maker]
    return maker


def page_of(plan: "Plan", candidates: Sequence[Candidate]) -> str:
    """Makes a page as text."""
    maker, = _MAKERS
    return maker(plan, candidates)
