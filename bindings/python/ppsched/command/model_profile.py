# SPDX-License-Identifier: Apache-2.0
"""Scales the layers of a model to measured times of stages."""
from typing import Any, Dict, List, Mapping, Sequence, Tuple

from .._core._library import Error
from .._core.number_lists import numbers
from .._core.words import counted
from .model_estimate import decoder_count, even_split, layer_names, stage_names
from .model_options import Job

Factors = Dict[Tuple[str, str], float]
# Lists of times, and the passes that they measure.
MEASURED = {"forward_times": ("forward",), "backward_input_times": ("input",), "backward_weight_times": ("weight",),
            "backward_times": ("input", "weight")}


def _stages(job: Job, count: int) -> List[List[str]]:
    """The layers of each stage, with an even split."""
    names, decoders = layer_names(job.model), decoder_count(job.model)
    if not 2 <= count <= decoders:
        raise Error(f"{counted(count, 'measured stage')}: with --model give the times of all stages of an even split, one number per "
                    f"stage, for 2 to {decoders} stages")
    return stage_names(names, even_split(job.model, count), False)


def _end_factor(measured: float, rest: float, predicted: float, common: float) -> float:
    """The factor of an end, from what its stage takes in addition to its decoders; that of decoders if this is not positive."""
    return (measured - rest) / predicted if predicted > 0 and measured > rest else common


def _factors_of(job: Job, stages: Sequence[Sequence[str]], measured: Sequence[float], passes: Sequence[str]) -> Factors:
    """Factors of decoders come from the stages that have only decoders, or from all stages. Those of the ends come from what the first and
    the last stage take in addition."""
    rows = job.model.rows
    decoders = {row.name for row in rows if row.role == "decoder"}
    predicted = {row.name: sum(job.model.pass_cost(row.name, one).time for one in passes) for row in rows}
    whole = [sum(predicted[name] for name in stage) for stage in stages]
    inner = [number for number, stage in enumerate(stages) if decoders.issuperset(stage)] or list(range(len(stages)))
    common = sum(measured[number] for number in inner) / sum(whole[number] for number in inner)
    factors = {row.name: common for row in rows}
    by_end = [{row.name for row in rows if row.role in roles} for roles in (("tower", "embedding"), ("mtp", "head"))]
    for number, ends in zip((0, len(stages) - 1), by_end):
        end = sum(predicted[name] for name in stages[number] if name in ends)
        factors.update(dict.fromkeys(ends, _end_factor(measured[number], common * (whole[number] - end), end, common)))
    return {(name, one): factor for name, factor in factors.items() for one in passes}


def stage_factors(job: Job, values: Mapping[str, Any]) -> Tuple[Factors, List[str]]:
    """Measured time / predicted time for each pass, from the lists of stages in merged values, which are in seconds, with notes."""
    factors: Factors = {}
    notes: List[str] = []
    given = {name: numbers(name, values[name]) for name in MEASURED if values.get(name) is not None}
    if "backward_input_times" in given or "backward_weight_times" in given:
        given.pop("backward_times", None)
    for name, times in given.items():
        stages = _stages(job, len(times))
        if min(times) <= 0:
            raise Error(f"{name} has {min(times):g}; measured times must be above 0")
        found = _factors_of(job, stages, times, MEASURED[name])
        factors.update(found)
        words = ", ".join(f"{kind} x {factor:.4g}" for (kind, one), factor in found.items() if one == MEASURED[name][0] and
                          kind in {layer for stage in stages for layer in stage})
        notes.append(f"{' and '.join(MEASURED[name])} of {len(times)} measured stages: {words}")
    return factors, notes
