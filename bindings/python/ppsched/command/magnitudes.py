# SPDX-License-Identifier: Apache-2.0
"""A warning of plain numbers whose memory is in other magnitudes than its activations."""
from typing import Any, Dict, Optional

from .._core.same_units import is_plain, leaves, places

FAR, FURTHER = 10, 10000  # times the default activation, or all that a device may hold; times the one that is given
BESIDE = ("mem_static", "mem_weights", "mem_limit")
ADVICE = "give all memory in one unit, best with it: --mem-forward 1.5GB"


def _sizes(values: Dict[str, Any]) -> Dict[str, float]:
    """Of each name the largest number that is given; of limits the least."""
    sizes: Dict[str, float] = {}
    for place in places(values, {}):
        name, choose = ("mem_limit", min) if place.name in ("mem_limit", "mem_limits") else (place.name, max)
        for value in filter(is_plain, leaves(place.value)):
            sizes[name] = choose(sizes.get(name, abs(value)), abs(value))
    return sizes


def _all_activations(values: Dict[str, Any]) -> float:
    """What a device holds at most where each is 1: those of all microbatches, of all its stages or layers."""
    devices = values.get("num_devices") or values.get("num_stages") or 1
    stages = values.get("num_layers") or values.get("num_stages") or devices
    return max(1.0, (values.get("num_batches") or 1) * stages / devices)


def magnitude_warning(values: Dict[str, Any]) -> Optional[str]:
    """Of merged values whose memory has no units; None where there is nothing to say."""
    sizes = _sizes(values)
    activation = sizes.get("mem_forward")
    if activation is None and (values.get("mem_forward") is not None or values.get("layers") is not None):
        return None  # it is 0
    for name in BESIDE:
        size = sizes.get(name, 0.0)
        if activation is not None:
            if size and not 1 / FURTHER <= size / activation <= FURTHER:
                return f"warning: {name} is {size:g} and mem_forward {activation:g}, in other magnitudes; {ADVICE}"
        elif size > FAR * (_all_activations(values) if name == "mem_limit" else 1):
            return f"warning: {name} is {size:g}, and an activation counts as 1, as mem_forward is not given; {ADVICE}"
    return None
