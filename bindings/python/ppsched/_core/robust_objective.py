# SPDX-License-Identifier: Apache-2.0
"""Robust objectives: what searches minimise if times vary."""
import ctypes
from typing import TYPE_CHECKING, Any, Dict, List, Union

from . import _abi
from ._abi import RankBy
from ._library import call, lib
from .config import Config
from .enums import member, name_of
from .number_lists import integer
from .scenarios import scenario_options
from .strategy import find_strategy
from .units import number_word

if TYPE_CHECKING:
    from .plan import Plan

QUANTILE = 0.9


def with_robust_objective(config: Config, rank_by: Union[RankBy, str], scenarios: int = 1000, *, quantile: float = QUANTILE, **varying: Any) -> Config:
    """The same problem with a robust objective: searches that have an effort ("auto") minimise the "mean", a "quantile"
    or the "worst" of the makespans in `scenarios` scenarios. varying: arguments of Schedule.scenarios (seed, jitter, message_jitter,
    device_factors, ...).
    config: the problem. rank_by: one of these three. quantile: for "quantile", such as 0.9.

        robust = ppsched.with_robust_objective(config.replace(options={"effort": 1}), "mean", 100, jitter=0.1)
        print(ppsched.generate("auto", robust).evaluate().metrics.makespan)
    """
    made = config.__copy__()
    words: Dict[str, Any] = {"seed": 0, "jitter": 0.0, "message_jitter": 0.0, "device_factors": (), **varying}
    options = scenario_options(**words)
    call(lib.ppsched_config_set_robust_objective, made._handle, member(RankBy, "rank_by", rank_by), quantile, integer("scenarios", scenarios),
         ctypes.byref(options))
    return made


def words_of_robust_objective(options: _abi.RankingOptions, devices: int) -> List[str]:
    """The robust objective of a plan as options of the command; empty if factors differ by scenario, for which there are no options."""
    varying = options.scenario_options.contents
    if varying.device_factor_count > devices:
        return []
    words = ["--rank-by", name_of(RankBy(options.rank_by)), "--scenarios", str(options.scenario_count), "--seed", str(varying.seed),
             "--jitter", number_word(varying.jitter)]
    if options.rank_by == RankBy.QUANTILE:
        words += ["--quantile", number_word(options.quantile)]
    if varying.message_jitter:
        words += ["--message-jitter", number_word(varying.message_jitter)]
    for device, factor in enumerate(varying.device_factors[:varying.device_factor_count]):
        words += ["--slow-rank", f"{device}:{number_word(factor)}"] if factor != 1 else []
    for pair, factor in enumerate(varying.link_factors[:varying.link_factor_count]):
        words += ["--slow-link", f"{pair // devices}:{pair % devices}:{number_word(factor)}"] if factor != 1 else []
    return words


def robust_objective_words(plan: "Plan", strategy: str) -> List[str]:
    """The options with which a strategy's search minimises what the plan ranks by."""
    if not any(option.name == "effort" for option in find_strategy(strategy).options):
        return []
    return list(plan._robust_words)
