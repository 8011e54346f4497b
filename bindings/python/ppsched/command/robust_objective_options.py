# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for robust objectives: what searches minimise if times vary."""
import argparse
from typing import Any, Mapping

from .._core.config import Config
from .._core.robust_objective import QUANTILE, with_robust_objective
from .._core.strategy import find_strategy
from .number_options import real
from .scenario_options import RANKINGS, asked_scenarios
from .usage import UsageError


def add_robust_objective_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rank-by", choices=RANKINGS[1:],
                        help="with scenarios and strategy auto: the search minimises the mean, a quantile or the worst of the times in the scenarios")
    parser.add_argument("--quantile", type=real, metavar="Q", help=f"with --rank-by quantile: which quantile (default: {QUANTILE})")


def with_asked_objective(config: Config, values: Mapping[str, Any]) -> Config:
    """The problem with the robust objective of the options."""
    rank_by = values.get("rank_by")
    if values.get("quantile") is not None and rank_by != "quantile":
        raise UsageError("--quantile needs --rank-by quantile")
    varying = asked_scenarios(values, config.devices, config.stages)
    if rank_by is None or varying is None:
        return config
    strategy = find_strategy(values.get("strategy", "1f1b"))
    if not any(option.name == "effort" for option in strategy.options):
        raise UsageError(f"--rank-by works only with strategies that have an effort (auto); {strategy.name} ignores scenarios")
    return with_robust_objective(config, rank_by, varying.pop("count"), quantile=values.get("quantile") or QUANTILE, **varying)


