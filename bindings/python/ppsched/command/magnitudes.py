# SPDX-License-Identifier: Apache-2.0
"""A warning for numbers without units, if static memory or a limit differs very much in size from activations."""
from typing import Any, Dict, Optional

from .._core.same_units import is_plain, leaves, places

FAR, FURTHER = 10, 10000  # factors: from the default activation, or from all that a device may hold; from a given activation
BESIDE = ("mem_static", "mem_weights", "mem_limit")
ADVICE = "give all memory in the same unit, best with the unit, such as --mem-forward 1.5GB"


def _sizes(values: Dict[str, Any]) -> Dict[str, float]:
    """For each name its largest number; for limits the least."""
    sizes: Dict[str, float] = {}
    for place in places(values, {}):
        name, choose = ("mem_limit", min) if place.name in ("mem_limit", "mem_limits") else (place.name, max)
        for value in filter(is_plain, leaves(place.value)):
            sizes[name] = choose(sizes.get(name, abs(value)), abs(value))
    return sizes


def _all_activations(values: Dict[str, Any]) -> float:
    """The most activations that a device may hold: those of all microbatches on all its stages or layers."""
    devices = values.get("num_devices") or values.get("num_stages") or 1
    stages = values.get("num_layers") or values.get("num_stages") or devices
    return max(1.0, (values.get("num_batches") or 1) * stages / devices)


def magnitude_warning(values: Dict[str, Any]) -> Optional[str]:
    """The warning for merged values whose memory has no units, or None."""
    sizes = _sizes(values)
    activation = sizes.get("mem_forward")
    if activation is None and (values.get("mem_forward") is not None or values.get("layers") is not None):
        return None  # it is 0
    for name in BESIDE:
        size = sizes.get(name, 0.0)
        if activation is not None:
            if size and not 1 / FURTHER <= size / activation <= FURTHER:
                return f"warning: {name} is {size:g} and mem_forward is {activation:g}, which differ very much in size; {ADVICE}"
        elif size > FAR * (_all_activations(values) if name == "mem_limit" else 1):
            return f"warning: {name} is {size:g}, but an activation counts as 1, because mem_forward is not given; {ADVICE}"
    return None
