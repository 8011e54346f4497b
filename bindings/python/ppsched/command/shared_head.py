# SPDX-License-Identifier: Apache-2.0
"""Strategies whose devices share the output layer, and the problem that a chain and its head make for them."""
from typing import Any, Mapping, Optional

from .._core._library import Error
from .._core.command_words import SHARING
from .._core.config import Config
from .._core.model_end import ModelEnd
from .._core.plan import plan

BOUND_OF = ("forward_time", "backward_time", "backward_input_time", "backward_weight_time")


def may_share(values: Mapping[str, Any], config: Config) -> bool:
    """Whether the strategy of merged values shares a head that the problem has not shared yet."""
    return values.get("strategy") in SHARING and not config._graph


def with_shared_head(config: Config, strategy: str, head: Optional[ModelEnd]) -> Config:
    """The problem of the strategy, as in a plan; the config itself without a head."""
    if not head or not any(head.get(name) for name in BOUND_OF):
        return config
    made = plan(config, strategies=[strategy], chunks=[1], head=head)
    if made[0].step_time is None:
        raise Error(str(made[0].reason))
    return made.config_of(made[0])

