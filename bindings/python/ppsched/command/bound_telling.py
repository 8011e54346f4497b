# SPDX-License-Identifier: Apache-2.0
"""How far a schedule is above the lower bound, for problems that compare and pick rank few candidates of: stage graphs, and both directions."""
from typing import Any, Dict, Optional

from .._core._abi import Placement, Status
from .._core._library import Error
from .._core.bound import lower_bound
from .._core.timeline import Timeline

ROUNDING = 1e-11  # of sums in another order


def bound_row(timeline: Timeline) -> Optional[Dict[str, Any]]:
    """"bound" and "proved", as in compare; None where they are not told."""
    schedule, config = timeline.schedule, timeline.config
    both = schedule.placement == Placement.BIDIRECTIONAL and schedule.name == "auto"
    if not (schedule.has_graph or both) or not schedule.flushes:
        return None
    made = timeline.metrics.makespan
    try:
        bound = lower_bound(config, "makespan").value * schedule.iterations
    except Error as error:
        if error.status != Status.ERROR_REFUSED:
            raise
        return {"bound": None, "proved": False}  # the problem is too large
    proved = made <= bound * (1 + ROUNDING)
    return {"bound": made if proved else bound, "proved": proved}


def bound_text(row: Dict[str, Any], makespan: float) -> str:
    """A line for people; empty without a bound."""
    if row["bound"] is None:
        return ""
    if row["proved"]:
        return f"bound {row['bound']:g}, proved\n"
    above = f", {makespan / row['bound'] - 1:.1%} above" if row["bound"] else ""
    return f"bound {row['bound']:g}{above}\n"
