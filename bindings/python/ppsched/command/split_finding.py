# SPDX-License-Identifier: Apache-2.0
"""Finds the split of a model's layers for one strategy, if none is given."""
from typing import Any, Dict, Mapping, Optional

from .._core._library import Error
from .._core.layers import LayerSplit
from .._core.plan import Plan
from .layer_options import has_layers, split_of
from .plan_options import make_plan
from .plan_telling import why_none

OF_ORDER = "min_group_size"  # the option, in addition to the group size, on which an order depends


def _planned(values: Mapping[str, Any], runtime: Optional[str]) -> Plan:
    chunks = values.get("chunks")
    group = values["options"].get("group_size", values.get("num_devices") or values.get("num_stages"))
    one: Dict[str, Any] = {"strategies": [values.get("strategy", "1f1b")], "chunks": [chunks] if isinstance(chunks, int) else None, "group_sizes": group and [int(group)],
                           "runtime": runtime, "options_of_orders": {name: value for name, value in values["options"].items() if name == OF_ORDER}}
    return make_plan({**values, **one})


def _is_refused(made: Plan) -> bool:
    """Whether the strategy is refused for any split."""
    return len(made) > 0 and all(candidate.status == "refused" for candidate in made)


def found_split(values: Dict[str, Any]) -> Optional[LayerSplit]:
    """The layers of merged values with the given split, or else with the best one for their strategy. None without layers. Adds the option
    of the order with which the split was found. For the launch line of a runtime that cannot run the strategy, any split is taken, as the
    line names the runtimes that can."""
    if values.get("split") is not None or values.get("recompute") is not None or not has_layers(values):
        return split_of(values)
    launch = values.get("launch")
    made = _planned(values, launch or values.get("runtime"))
    if launch and _is_refused(made):
        made = _planned(values, None)
    if made.best is None:
        raise Error(made[0].reason or "" if _is_refused(made) else why_none(made))
    distance = made.best.options.get(OF_ORDER)
    if distance is not None:
        values["options"] = {**values["options"], OF_ORDER: str(distance)}
    return made.model(made.best)
