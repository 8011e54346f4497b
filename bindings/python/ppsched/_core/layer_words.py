# SPDX-License-Identifier: Apache-2.0
"""Layers and their splits as options of the ppsched command."""
from typing import List, Optional, Tuple

from .config import OF_RUN, QUANTITIES
from .layers import LayerSplit

# Lists of numbers that apply to each layer with --num-layers, and their names in a layer.
OF_LAYERS = {"forward_times": "forward_time", "backward_times": "backward_time", "backward_input_times": "backward_input_time",
             "backward_weight_times": "backward_weight_time", "mem_forward": "mem_forward", "mem_backward_input": "mem_backward_input",
             "mem_backward_weight": "mem_backward_weight", "mem_static": "mem_static", "mem_weights": "mem_weights",
             "activation_bytes": "output_bytes"}
# Lists of numbers, of stages or pairs of them, that layers have nothing like.
UNREAD = tuple(name for name in QUANTITIES if name not in OF_RUN and name not in OF_LAYERS)


def split_words(model: LayerSplit) -> List[str]:
    """The options for a split."""
    recomputed = recompute_words(model)
    return ["--split", *map(str, model.split.layers), *(["--recompute", *recomputed] if recomputed else [])]


def recompute_words(model: LayerSplit) -> List[str]:
    """The values of --recompute: which layers are recomputed."""
    kinds = model.layers.kinds
    runs: List[Tuple[int, int, Optional[str]]] = []
    for layer, kind in enumerate(model.split.recomputes):
        name = kinds[layer][kind - 1] if kind else None
        first = runs.pop()[0] if runs and runs[-1][2] == name else layer
        runs.append((first, layer, name))
    return [f"{first}-{last}:{name}" if last > first else f"{first}:{name}" for first, last, name in runs if name is not None]
