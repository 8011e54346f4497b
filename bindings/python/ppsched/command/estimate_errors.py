# SPDX-License-Identifier: Apache-2.0
"""Errors of estimates, found by comparing them with measurements; docs/model.md has the tables."""
from typing import Any, Dict, Mapping

from .._core.model import Model
from .step_errors import error_of, is_few, is_shipped

ERRORS = {"step_time": 0.052, "stage_time": 0.026, "forward_time": 0.115, "memory": 0.11}
FOUND_ON = "the measurements on A100 in docs/model.md; docs/accuracy.md compares steps on other devices"


def _is_scaled(options: Mapping[str, Any]) -> bool:
    """Whether times are scaled to a measured step."""
    return options.get("step_time") is not None or options.get("tokens_per_second") is not None


def estimate_line(options: Mapping[str, Any], model: Model) -> str:
    """Lines for people. options: those of the command, which may have measured times, and what is assumed because files leave it out."""
    assumed = options.get("assumed")
    return _errors_line(options, model) + (f"\nassumed, because the model's file leaves it out: {', '.join(assumed)}" if assumed else "")


def _step_words(model: Model) -> str:
    """The errors against published runs with the model's device, kind and precision. Runs on A100 are compared layer by layer."""
    of, errors = error_of(model)
    if model.accelerator is not None and model.accelerator.name == "a100" and is_shipped(model.accelerator):
        return f"step time within {ERRORS['step_time']:.1%}"
    if errors["median"] is None:
        return f"step time: of {of}"
    if is_few(model):
        return f"error of the step time at most {errors['p90']:.1%} on {of} (docs/accuracy.md)"
    page = " (docs/accuracy.md)" if is_shipped(model.accelerator) else ""
    return f"error of the step time: median {errors['median']:.1%}, 90th percentile {errors['p90']:.1%} on {of}{page}"


def _errors_line(options: Mapping[str, Any], model: Model) -> str:
    if _is_scaled(options):
        return f"times are scaled to the measured step; memory is an estimate, within {ERRORS['memory']:.1%} of {FOUND_ON}"
    return (f"estimates: {_step_words(model)}; stage times within {ERRORS['stage_time']:.1%}, a layer's forward within "
            f"{ERRORS['forward_time']:.1%}, memory within {ERRORS['memory']:.1%} of {FOUND_ON}")


def estimate_row(options: Mapping[str, Any], model: Model) -> Dict[str, Any]:
    """For JSON: the largest error, and the error of each figure; step_error: that of published runs, unless a step was measured."""
    of, errors = error_of(model)
    step_error: Dict[str, Any] = {"of": of, **errors}
    figures = {"memory": ERRORS["memory"]} if _is_scaled(options) else ERRORS
    return {"estimate_error": max(figures.values()), "estimate_errors": figures, "estimate_error_of": FOUND_ON,
            **({} if _is_scaled(options) else {"step_error": step_error}),
            **({"assumed": options["assumed"]} if options.get("assumed") else {})}
