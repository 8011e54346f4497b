# SPDX-License-Identifier: Apache-2.0
"""The built-in strategies."""
import ctypes
from typing import List, NamedTuple

from . import _abi
from ._abi import Placement
from ._library import call, decoded, encoded, lib
from .views import sized
from .words import counted


class Option(NamedTuple):
    """An option of a strategy. name: as options= of ppsched.Config takes it; default: its value if it is not set. Its value is one of the choices; without choices, an integer from minimum to maximum."""

    name: str
    default: str
    minimum: int
    maximum: int
    summary: str
    choices: List[str]


class Strategy(NamedTuple):
    """Description of a strategy.

    name: as ppsched.generate takes it; options: what options= of ppsched.Config may set; chunks: stages per device that the strategy needs, 0 for any number; weight_versions: versions of the weights that a device
    holds at the same time; splits_backward: it uses I and W instead of B; flushes: an iteration starts only after the one
    before has ended; searches: it searches for the best order for the problem's costs and memory limits; searches_long: the
    search may take seconds; most_memory: the largest number of bytes that the search holds, without memory that is linear in
    the number of ops; takes_group_size: it has the option group_size; slices: 0 if it supports only whole microbatches, 1 if it
    also supports slices, 2 if it also supports slices, but equals another strategy when microbatches are whole; offloads: its
    schedules have OFFLOAD and RELOAD.
    """

    name: str
    aliases: List[str]
    placement: str
    chunks: int
    weight_versions: int
    splits_backward: bool
    flushes: bool
    searches: bool
    searches_long: bool
    most_memory: int
    takes_group_size: bool
    summary: str
    source: str
    options: List[Option]
    slices: int
    offloads: bool

    def __repr__(self) -> str:
        chunks = counted(self.chunks, "stage") if self.chunks else "any number of stages"
        options = f", options {', '.join(option.name for option in self.options)}" if self.options else ""
        return f"<ppsched.Strategy {self.name}: {self.placement} placement, {chunks} per device{options}>"


def _option(strategy: int, index: int) -> Option:
    info = sized(_abi.OptionInfo)
    call(lib.ppsched_strategy_get_option, ctypes.byref(info), strategy, index)
    return Option(decoded(info.name), decoded(info.default_text), info.minimum, info.maximum, decoded(info.summary),
                  [decoded(info.choices[i]) for i in range(info.choice_count)])


def _describe(index: int) -> Strategy:
    info = sized(_abi.StrategyInfo)
    call(lib.ppsched_strategy_get_info, ctypes.byref(info), index)
    return Strategy(
        name=decoded(info.name),
        aliases=[decoded(info.aliases[i]) for i in range(info.alias_count)],
        placement=Placement(info.placement).name.lower(),
        chunks=info.chunks,
        weight_versions=info.weight_versions,
        splits_backward=bool(info.splits_backward),
        flushes=bool(info.flushes),
        searches=bool(info.searches),
        searches_long=bool(info.searches_long),
        most_memory=info.most_memory,
        takes_group_size=bool(info.takes_group_size),
        summary=decoded(info.summary),
        source=decoded(info.source),
        options=[_option(index, i) for i in range(info.option_count)],
        slices=info.slices,
        offloads=bool(info.offloads),
    )


def strategies() -> List[Strategy]:
    """All built-in strategies.

        print([strategy.name for strategy in ppsched.strategies() if not strategy.searches])
    """
    return [_describe(index) for index in range(lib.ppsched_strategy_count())]


def is_strategy(name: str) -> bool:
    """Whether a strategy has this name or alias."""
    return lib.ppsched_strategy_find(ctypes.byref(ctypes.c_uint32()), encoded("strategy", name), None) == 0


def find_strategy(name: str) -> Strategy:
    """The strategy with a name or alias. If there is none, raises ppsched.Error with the nearest name.

        print(ppsched.find_strategy("interleaved_1f1b").options)
    """
    index = ctypes.c_uint32()
    call(lib.ppsched_strategy_find, ctypes.byref(index), encoded("strategy", name))
    return _describe(index.value)
