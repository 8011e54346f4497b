# SPDX-License-Identifier: Apache-2.0
"""Layers and their splits as options of the ppsched command."""
from typing import List, Optional, Tuple

from .layers import LayerSplit

# Lists of numbers by stage, or pair of stages, that layers do not have.
UNREAD = ("backward_input_share", "overlapped_times", "gradient_bytes", "mem_optimizer", "mem_gradients", "mem_gathered", "mem_output",
          "mem_send_forward", "mem_send_backward", "mem_receive_forward", "mem_receive_backward", "mem_work_forward", "mem_work_backward",
          "mem_work_backward_input", "mem_work_backward_weight", "unshard_times", "unshard_bytes", "reduce_grad_times", "reduce_grad_bytes",
          "recompute_times", "mem_recompute", "offload_times", "reload_times", "offload_bytes", "mem_offload",
          "mem_recomputed_backward_input", "mem_recomputed_backward")
# Lists of numbers that apply to each layer with --num-layers, and their names in a layer.
OF_LAYERS = {"forward_times": "forward_time", "backward_times": "backward_time", "backward_input_times": "backward_input_time",
             "backward_weight_times": "backward_weight_time", "mem_forward": "mem_forward", "mem_backward_input": "mem_backward_input",
             "mem_backward_weight": "mem_backward_weight", "mem_static": "mem_static", "mem_weights": "mem_weights",
             "activation_bytes": "output_bytes"}


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
