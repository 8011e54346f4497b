# SPDX-License-Identifier: Apache-2.0
"""Errors of estimates, found by comparing them with measurements; docs/model.md has the tables."""
from typing import Any, Dict, Mapping

ERRORS = {"step_time": 0.053, "stage_time": 0.113, "forward_time": 0.187, "memory": 0.11}
FOUND_ON = "the measurements on A100 in docs/model.md; docs/accuracy.md compares steps on other devices"


def _is_scaled(options: Mapping[str, Any]) -> bool:
    """Whether times are scaled to a measured step."""
    return options.get("step_time") is not None or options.get("tokens_per_second") is not None


def estimate_line(options: Mapping[str, Any]) -> str:
    """Lines for people. options: those of the command, which may have measured times, and what is assumed because files leave it out."""
    assumed = options.get("assumed")
    return _errors_line(options) + (f"\nassumed, as the model's file leaves it out: {', '.join(assumed)}" if assumed else "")


def _errors_line(options: Mapping[str, Any]) -> str:
    if _is_scaled(options):
        return f"times are scaled to the measured step; memory is an estimate, within {ERRORS['memory']:.1%} of {FOUND_ON}"
    return (f"estimates: step time within {ERRORS['step_time']:.1%}, stage times within {ERRORS['stage_time']:.1%}, a layer's forward "
            f"within {ERRORS['forward_time']:.1%}, memory within {ERRORS['memory']:.1%} of {FOUND_ON}")


def estimate_row(options: Mapping[str, Any]) -> Dict[str, Any]:
    """For JSON: the largest error, and the error of each figure."""
    errors = {"memory": ERRORS["memory"]} if _is_scaled(options) else ERRORS
    return {"estimate_error": max(errors.values()), "estimate_errors": errors, "estimate_error_of": FOUND_ON,
            **({"assumed": options["assumed"]} if options.get("assumed") else {})}
