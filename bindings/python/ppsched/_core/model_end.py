# SPDX-License-Identifier: Apache-2.0
"""Costs of a model's embedding and head, in addition to its layers."""
from collections.abc import Mapping
from typing import Optional, TypedDict, cast

from . import _abi
from ._abi import Status
from ._library import Error
from .number_lists import numbers
from .shown import shown
from .views import sized


class ModelEnd(TypedDict, total=False):
    """The costs of the embedding in the first stage, or of the head in the last stage. When the stage is divided, these costs
    are not divided."""

    forward_time: float
    backward_time: float
    backward_input_time: float
    backward_weight_time: float
    mem_forward: float
    mem_backward_input: float
    mem_backward_weight: float
    mem_static: float
    mem_weights: float


_OF_THE_MODEL = ("mem_static", "mem_weights")  # the others are per microbatch


def model_end(name: str, values: Optional[ModelEnd]) -> _abi.ModelEnd:
    """The library's record for the costs of the embedding or the head."""
    record = sized(_abi.ModelEnd)
    fields = list(ModelEnd.__annotations__)
    if values is not None and not isinstance(values, Mapping):
        raise Error(f"{name} must be a mapping of names to numbers, not {shown(values)}")
    for key, value in (values or {}).items():
        if key not in fields:
            raise Error(f"{name} has no {shown(key)}; it has {', '.join(fields)}")
        if len(given := numbers(f"{name} {key}", value)) != 1:
            raise Error(f"{name} {key} has {len(given)} values; give 1", Status.ERROR_LENGTH)
        setattr(record, key, given[0])
    return record


def end_of_size(name: str, values: Optional[ModelEnd], size: float) -> Optional[ModelEnd]:
    """The costs for another size of microbatch, relative to the old one."""
    record = model_end(name, values)
    scaled = {key: getattr(record, key) * (1 if key in _OF_THE_MODEL else size) for key in values or {}}
    return cast(ModelEnd, scaled) if values else None
