# SPDX-License-Identifier: Apache-2.0
"""The share of causal attention in a model's times, which grows with each slice of a sequence."""
from typing import TYPE_CHECKING, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .layers import Layers

if TYPE_CHECKING:
    from .model import Model

PASSES = {"forward": "forward_time", "input": "backward_input_time", "weight": "backward_weight_time"}


class LayerTime(NamedTuple):
    """The time of a pass of some layers, and the part of it that is causal attention."""

    name: str
    whole: float
    attention: float


def attention_times(model: "Model", layers: Optional[Layers] = None) -> List[LayerTime]:
    """The times of all layers and passes. layers: those of the model, with measured times (default: predicted ones)."""
    times = []
    shares: Mapping[Tuple[str, str], float] = {(row.name, one): model.pass_attention_share(row.name, one) for row in model.rows for one in PASSES}
    for row in (model.layers() if layers is None else layers).given:
        for one, key in PASSES.items():
            time = float(row.get(key, 0.0)) * row.get("count", 1)  # type: ignore[arg-type]  # a key that is a variable
            name = row.get("name", "")
            times.append(LayerTime(name, time, time * shares.get((name, one), 0.0)))
    return times


def times_by_layer(times: Sequence[LayerTime], layers: Layers) -> List[List[LayerTime]]:
    """The times of each single layer, from those of attention_times for the same list; no times where there are none."""
    found: List[List[LayerTime]] = []
    for number, row in enumerate(layers.given):
        count = row.get("count", 1)
        own = times[number * len(PASSES):(number + 1) * len(PASSES)]
        found += [[LayerTime(time.name, time.whole / count, time.attention / count) for time in own]] * count
    return found


def share_of(times: Iterable[LayerTime]) -> float:
    """The share of causal attention in these times together."""
    whole, attention = 0.0, 0.0
    for time in times:
        whole += time.whole
        attention += time.attention
    return attention / whole if whole > 0 else 0.0
