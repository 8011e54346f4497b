# SPDX-License-Identifier: Apache-2.0
"""Advice for a model that does not fit: numbers of devices, or a memory limit, with which it was found to fit."""
import math
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence

from .._core._library import Error
from .model_estimate import GIB
from .model_options import Job
from .model_plan import JobPlan, Planner, plan_job, states_needed

MOST_TRIED = 6  # numbers of an option for which plans are made
Make = Callable[[Dict[str, int]], Job]  # makes the job with other numbers


def _fits(job: Job, values: Mapping[str, Any], planner: Planner, strategy: str = "1f1b") -> bool:
    """Whether any schedule fits. Unless strategies or a runtime are given, only one strategy is tried, as that is fast."""
    given = values.get("strategies") is not None or values.get("runtime") is not None
    try:
        return plan_job(job, values if given else {**values, "strategies": [strategy]}, planner).plan.best is not None
    except Error:
        return False


def _least(make: Make, name: str, numbers: Sequence[int], limit: float, values: Mapping[str, Any], planner: Planner) -> Optional[int]:
    """The smallest of the numbers with which a schedule fits."""
    tried = 0
    for number in numbers:
        try:
            job = make({name: number})
        except Error:
            continue
        if states_needed(job) >= limit:
            continue
        if _fits(job, values, planner):
            return number
        tried += 1
        if tried == MOST_TRIED:
            break
    return None


def numbers_that_do(make: Make, job: Job, limit: float, values: Mapping[str, Any], planner: Planner) -> str:
    """Values of --pp, --tp and --zero with which it fits, each changed alone."""
    training = job.model.training
    choices = {"pp": range(job.pp + 1, job.model.description.layers + 1),
               "tp": [training.tensor_parallel * 2**power for power in range(1, 8)],
               "zero": range(training.sharding + 1, 4) if training.data_parallel > 1 else ()}
    found = {name: _least(make, name, list(numbers), limit, values, planner) for name, numbers in choices.items()}
    words = [f"--{name} {number}" for name, number in found.items() if number is not None]
    return f"{' or '.join(words)} would fit" if words else "no other value of --pp, --tp or --zero alone would fit"


def limit_that_does(made: JobPlan, values: Mapping[str, Any], planner: Planner) -> List[str]:
    """A memory limit with which it fits, in tenths of GiB, including buffers."""
    try:
        least, strategy = made.plan.least_limit().limit, made.plan.least_limit().candidate.strategy
    except Error:
        return []
    buffers = made.limit - max(made.plan.config.mem_limit, default=made.limit)
    tenths = math.ceil(10 * (least + max(buffers, 0.0)) / GIB)
    for limit in (tenths, tenths + 1, math.ceil(1.05 * tenths)):
        if _fits(made.job, {**values, "mem_limit": [limit / 10 * GIB]}, planner, strategy):
            return [f"--mem-limit {limit / 10:.1f}GiB"]
    return []
