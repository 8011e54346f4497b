# SPDX-License-Identifier: Apache-2.0
"""Which share of a model's times is causal attention, of which later slices of a sequence have more."""
from typing import TYPE_CHECKING, Mapping, Optional, Tuple

from .layers import Layers

if TYPE_CHECKING:
    from .model import Model, PassCost

PASSES = {"forward": "forward_time", "input": "backward_input_time", "weight": "backward_weight_time"}
PARTS = {"matrix_operations": "matrix_time", "vector_operations": "vector_time", "memory_bytes": "memory_time"}


def _share(once: "PassCost", twice: "PassCost") -> float:
    """Of a pass' time what grows with the square of the length: of each part as its operations, or bytes, do."""
    found = 0.0
    for amount, time in PARTS.items():
        before, after = getattr(once, amount), getattr(twice, amount)
        if before > 0:
            found += min(max((after - 2 * before) / (2 * before), 0.0), 1.0) * getattr(once, time)
    return found / once.time if once.time > 0 else 0.0


def attention_share(model: "Model", double: "Model", layers: Optional[Layers] = None) -> float:
    """Of the times of all layers and passes what causal attention to the whole sequence takes, of a model and the same with sequences
    of twice the length. layers: the model's, with measured times (default: as predicted)."""
    whole, attention = 0.0, 0.0
    shares: Mapping[Tuple[str, str], float] = {(row.name, one): _share(model.pass_cost(row.name, one), double.pass_cost(row.name, one))
                                               for row in model.rows for one in PASSES}
    for row in (model.layers() if layers is None else layers).given:
        for one, key in PASSES.items():
            time = float(row.get(key, 0.0)) * row.get("count", 1)  # type: ignore[arg-type]  # a key that is a variable
            whole += time
            attention += time * shares.get((row.get("name", ""), one), 0.0)
    return attention / whole if whole > 0 else 0.0
