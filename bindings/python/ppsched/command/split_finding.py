# SPDX-License-Identifier: Apache-2.0
"""The split of a model's layers for one strategy, where none is given."""
from typing import Any, Dict, Mapping, Optional

from .._core._library import Error
from .._core.layers import LayerSplit
from .._core.plan import Plan
from .layer_options import has_layers, split_of
from .plan_options import make_plan
from .plan_telling import why_none

OF_ORDER = "min_group_size"  # the option on which an order depends, beside the size of groups


def _planned(values: Mapping[str, Any], runtime: Optional[str]) -> Plan:
    chunks = values.get("chunks")
    group = values["options"].get("group_size", values.get("num_devices") or values.get("num_stages"))
    one: Dict[str, Any] = {"free_device_order": None, "strategies": [values.get("strategy", "1f1b")], "chunks": [chunks] if isinstance(chunks, int) else None, "group_sizes": group and [int(group)],
                           "runtime": runtime, "options_of_orders": {name: value for name, value in values["options"].items() if name == OF_ORDER}}
    return make_plan({**values, **one})


def _is_refused(made: Plan) -> bool:
    """Whatever the layers are."""
    return len(made) > 0 and all(candidate.status == "refused" for candidate in made)


def found_split(values: Dict[str, Any]) -> Optional[LayerSplit]:
    """The layers of merged values with their split, or that which suits their strategy best; None where they have no layers. Adds the
    option of the order that it was found with. For a line of a runtime that cannot run it any split, as the line tells who can."""
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
