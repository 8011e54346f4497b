# SPDX-License-Identifier: Apache-2.0
"""--memory-margin: memory of each device that must stay free."""
import argparse
from typing import Any, Dict, Mapping

from .._core._library import Error
from .._core.accelerators import Accelerator
from .._core.unit_advice import amount_in
from .model_estimate import GIB
from .usage import UsageError

HELP = "memory of each device that must stay free, such as 2GiB (default: 0)"


def margin_of(arguments: argparse.Namespace) -> float:
    """In bytes."""
    given = arguments.memory_margin
    if given is None:
        return 0.0
    margin = amount_in("--memory-margin", given, "memory")
    if not (margin == 0 or margin >= 2**20):
        raise Error(f"--memory-margin {given}: it must be 0, or at least 1 MiB; give it with a unit, such as 2GiB")
    return margin


def check_margin(margin: float, device: Accelerator) -> None:
    if margin >= device.memory:
        raise Error(f"--memory-margin {margin / GIB:.1f} GiB: {device.name} has {device.memory / GIB:.1f} GiB in all")


def limit_line(margin: float, limit: float) -> str:
    """limit: with what stays free."""
    return f"limit: {limit / GIB:.1f} GiB, of which {margin / GIB:.1f} GiB stay free (--memory-margin)"


def with_margin(arguments: argparse.Namespace, values: Mapping[str, Any], device: Accelerator) -> Dict[str, Any]:
    """The values of a plan, with the limit that the margin leaves."""
    margin = margin_of(arguments)
    if margin == 0:
        return dict(values)
    for name in ("mem_limit", "device_types"):
        if values.get(name) is not None:
            raise UsageError(f"--memory-margin, --{name.replace('_', '-')}: the second option states the memory that may be used; give one of them")
    check_margin(margin, device)
    return {**values, "mem_limit": [device.memory - margin]}
