# SPDX-License-Identifier: Apache-2.0
"""Layouts on devices of several types: which devices of the pipeline are of which type, and the problem that was priced."""
from typing import Any, Dict, List, Sequence, Tuple

from .accelerators import scale_of
from .job import JobLayout, JobType
from .layers import Layers
from .model import Model, times_scaled
from .price import pipeline_record

_FAR = 2**31 - 1  # devices that no node and no pod has


def places_of(types: Sequence[JobType], layout: JobLayout) -> List[int]:
    """The number of the type of each device of the pipeline."""
    each = layout.tp * layout.cp * layout.dp
    return [number for number in layout.types for _ in range(types[number].gpus // each)]


def _times(row: Any) -> Dict[str, float]:
    """Of F, B, I and W."""
    inputs, weights = row["backward_input_time"], row["backward_weight_time"]
    return {"forward_time": row["forward_time"], "backward_time": inputs + weights, "backward_input_time": inputs, "backward_weight_time": weights}


def layers_on(models: Sequence[Model], gpus: int, scale: float) -> Layers:
    """The layers of the first type, whose times are `scale` times as long as alone, with the times of each type as those of type 1, 2 and so on.
    Times that are 0 on the first type are the longest of all types."""
    rows: List[Any] = [model.layers(times_scaled(model, scale)).given for model in models]
    scales = [scale_of(model.accelerator, gpus) for model in models if model.accelerator is not None]
    slower = [own / scales[0] for own in scales]

    def row_of(entry: int) -> Any:
        own = [_times(kind[entry]) for kind in rows]
        base = {name: time if time > 0 else max(kind[name] for kind in own) for name, time in own[0].items()}
        factors = [[(kind[name] / time if time > 0 else 1.0) * factor for name, time in base.items()] for kind, factor in zip(own, slower)]
        return {**rows[0][entry], **base, "device_scale": factors}

    return Layers([row_of(entry) for entry in range(len(rows[0]))])


def links_on(models: Sequence[Model], places: Sequence[int], rank_order: str) -> Tuple[List[float], List[float]]:
    """Latencies and bandwidths of all pairs. Each type has its own nodes; between types the slower link between nodes or pods counts."""
    first = {number: places.index(number) for number in places}
    pipelines = {number: pipeline_record(places.count(number), rank_order=rank_order) for number in places}
    far = [model.link(_FAR) for model in models]

    def pair(one: int, other: int) -> Tuple[float, float]:
        number, to = places[one], places[other]
        if number == to:
            return models[number].pipeline_link(pipelines[number], one - first[number], other - first[number])
        return max(far[number][0], far[to][0]), min(far[number][1], far[to][1])

    pairs = [pair(one, other) for one in range(len(places)) for other in range(len(places))]
    return [latency for latency, _ in pairs], [rate for _, rate in pairs]


def type_row(types: Sequence[JobType], layout: JobLayout) -> Dict[str, Any]:
    """The names of the types of the pipeline's devices; nothing if these are alike."""
    return {"device_types": [types[number].device.name for number in places_of(types, layout)]} if types else {}
