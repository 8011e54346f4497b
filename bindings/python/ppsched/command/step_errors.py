# SPDX-License-Identifier: Apache-2.0
"""How far steps of told layouts were off published, measured runs, by device and precision; docs/accuracy.md has the rows."""
from typing import Dict, Optional, Tuple

from .._core.accelerators import Accelerator, accelerators
from .._core.model import Model
from ..readers.device_files import numbers_of

# (device, has experts, precision): runs of distinct layouts, median and 90th percentile of the error.
ERRORS: Dict[Tuple[str, bool, str], Tuple[int, float, float]] = {
    ("a100", False, "bf16"): (7, 0.048, 0.067),
    ("b200", True, "bf16"): (3, 0.060, 0.093),
    ("b200", True, "fp8"): (1, 0.029, 0.029),
    ("b200", True, "mxfp8"): (4, 0.044, 0.175),
    ("b200", True, "nvfp4"): (1, 0.078, 0.078),
    ("b200", False, "fp8"): (2, 0.087, 0.131),
    ("b200", False, "mxfp8"): (1, 0.044, 0.044),
    ("b300", True, "bf16"): (2, 0.075, 0.096),
    ("b300", True, "mxfp8"): (10, 0.043, 0.221),
    ("b300", True, "nvfp4"): (1, 0.240, 0.240),
    ("gb200", True, "bf16"): (4, 0.061, 0.116),
    ("gb200", True, "fp8"): (1, 0.294, 0.294),
    ("gb200", True, "mxfp8"): (6, 0.050, 0.128),
    ("gb200", True, "nvfp4"): (1, 0.072, 0.072),
    ("gb200", False, "bf16"): (1, 0.044, 0.044),
    ("gb200", False, "fp8"): (6, 0.056, 0.187),
    ("gb200", False, "mxfp8"): (1, 0.063, 0.063),
    ("gb200", False, "nvfp4"): (1, 0.095, 0.095),
    ("gb300", True, "bf16"): (1, 0.144, 0.144),
    ("gb300", True, "mxfp8"): (6, 0.044, 0.076),
    ("gb300", False, "fp8"): (3, 0.049, 0.100),
    ("gb300", False, "mxfp8"): (1, 0.125, 0.125),
    ("gb300", False, "nvfp4"): (2, 0.091, 0.119),
    ("h100", True, "bf16"): (3, 0.020, 0.086),
    ("h100", True, "fp8"): (9, 0.059, 0.186),
    ("h100", False, "bf16"): (7, 0.022, 0.056),
    ("h100", False, "fp8"): (17, 0.047, 0.100),
    ("mi355x", True, "bf16"): (1, 0.124, 0.124),
}


def _key(model: Model) -> Tuple[str, bool, str]:
    device, training = model.accelerator, model.training
    has_experts = any(row.feed_forwards > row.feed_forwards_active for row in model.rows)
    precision = "bf16" if training.precision == "fp16" else training.precision
    return device.name if device is not None else "", has_experts, precision


def is_shipped(device: Optional[Accelerator]) -> bool:
    """Whether all its numbers are those of a device that the library knows."""
    known = {known.name: known for known in accelerators()}
    return device is not None and device.name in known and numbers_of(device) == numbers_of(known[device.name])


def _published(model: Model) -> Optional[Tuple[int, float, float]]:
    """Of the published layouts with the model's device, kind and precision; None if there are none with known settings."""
    return ERRORS.get(_key(model)) if is_shipped(model.accelerator) else None


def is_few(model: Model) -> bool:
    """Whether the errors are of one or two published layouts. Then the 90th percentile is the largest."""
    device, found = model.accelerator, _published(model)
    return found is not None and found[0] < 3 and not (device is not None and device.errors)


def error_of(model: Model) -> Tuple[str, Dict[str, Optional[float]]]:
    """The runs from which the error was found, its median and p90; None where nothing was measured with these numbers of the device."""
    name, has_experts, precision = _key(model)
    device, models, shipped = model.accelerator, "MoE" if has_experts else "dense", is_shipped(model.accelerator)
    own = next((error for error in device.errors if (error.models, error.precision) == (models, precision)), None) if device is not None else None
    changed = ", changed," if not shipped and own is None and any(key[0] == name for key in ERRORS) else ""
    what = f"{models} models on {name}{changed} in {model.training.precision}"
    if own is not None:
        return f"the {own.layouts} calibration runs of {what}, each left out of the fit", {"median": own.median, "p90": own.p90}
    found = _published(model)
    if found is None:
        return f"{what}: none was measured with known settings", {"median": None, "p90": None}
    return f"{found[0]} published layout{'s' if found[0] > 1 else ''} of {what}", {"median": found[1], "p90": found[2]}


def error_line(model: Model) -> str:
    of, errors = error_of(model)
    if errors["median"] is None:
        return f"an estimate; of {of}"
    if is_few(model):
        return f"an estimate: error at most {errors['p90']:.1%} on {of}"
    return f"an estimate: median error {errors['median']:.1%}, 90th percentile {errors['p90']:.1%} on {of}"
