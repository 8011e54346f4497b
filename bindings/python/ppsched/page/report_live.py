# SPDX-License-Identifier: Apache-2.0
"""The data that a report needs to rank again in the browser: the problem of its plan, and the options of its candidates."""
import json
import math
from typing import Any, Dict, List, Optional, Tuple

from .._core._abi import Lowering
from .._core._library import Error
from .._core.config import QUANTITIES, Config
from .._core.plan import Plan
from .report_choice import Baseline


def _beyond(plan: Plan) -> Optional[str]:
    """The first part of a plan that the page cannot repeat, as its WebAssembly does not have it."""
    found: List[Tuple[bool, str]] = [
        (plan.layers is not None, "the split of a model by its layers"), (plan.lowering != Lowering.NONE, "transfers of lowered schedules"),
        (bool(plan._own), "schedules of your own functions"), (plan.embedding is not None or plan.head is not None, "embedding and head"),
        (plan.runtime is not None, "a runtime"), (plan._has_scenarios, "times that vary"),
        (bool(plan._listing.get("offload")), "offload"), (len(plan._listing.get("memory_limits", ())) > 0, "several memory limits"),
        (bool(plan.config._weight_versions), "weight versions"), (bool(plan.config._map), "a placement by a list of devices"),
        (bool(plan.config._graph), "a graph of stages")]
    return next((words for is_there, words in found if is_there), None)


def _numbers(values: List[float]) -> List[Any]:
    """Numbers as JSON, which has no infinity."""
    return ["Infinity" if math.isinf(value) else value for value in values]


def _problem(config: Config) -> Dict[str, Any]:
    """The problem in the form of the page's problem.js."""
    given = {name: getattr(config, name) for name in QUANTITIES}
    return {"devices": config.devices, "stages": config.stages, "microbatches": config.microbatches, "iterations": config.iterations,
            "slices": config.slices, "placement": config._asked_placement.name.lower(), "split_backward": int(config.split_backward),
            "forward_only": int(config.forward_only), "sender_waits": config.sender_waits.name.lower(),
            "values": {name: _numbers(values) for name, values in given.items() if values},
            "options": {name: str(value) for name, value in config._options.items()}}


def live_row(plan: Plan, baseline: Baseline) -> str:
    """The problem, the options of its plan and the baseline as JSON, in a text, so that numbers keep all digits."""
    beyond = _beyond(plan)
    if beyond is not None:
        raise Error(f"a page that ranks again does not support {beyond}; leave it out, or make a page without --live")
    listing = {"objective": plan.objective.name.lower(), **plan._listing}
    return json.dumps({**_problem(plan.config), "plan": {name: value for name, value in listing.items() if value},
                       "baseline": {"strategy": baseline.strategy, "chunks": baseline.chunks}}, allow_nan=False)
