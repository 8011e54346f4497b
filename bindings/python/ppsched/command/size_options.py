# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for other numbers of stages and microbatches than those of the given costs."""
import argparse
from typing import Any, Dict, List, Mapping, Optional, Union, cast

from .._core._abi import Status
from .._core._library import Error
from .._core.config import Config
from .._core.command_words import SHARING
from .._core.model_end import ModelEnd, end_of_size
from .._core.whole_numbers import number_of
from .number_options import whole
from .shared_head import may_share, with_shared_head
from .usage import UsageError

ENDS = {"embedding": "first", "head": "last"}


def add_end_arguments(parser: argparse.ArgumentParser) -> None:
    for name, which in ENDS.items():
        parser.add_argument("--" + name, nargs="+", action="extend", metavar="KEY=VALUE",
                            help=f"costs of the {name}, which always stay in the {which} stage, such as forward_time=0.2 mem_static=3")


def add_size_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chunks", type=whole, metavar="V",
                        help="number of stages per device; the costs of the stages in -s are divided or added up to make these stages")
    parser.add_argument("--microbatch-count", type=whole, metavar="M",
                        help="divide the batch into M microbatches instead of the number in -b, for which the costs are given")
    add_end_arguments(parser)


def end_of(name: str, given: Union[Mapping[str, float], List[str], None]) -> Optional[ModelEnd]:
    """The costs of the embedding or the head, from KEY=VALUE words or the mapping of a config file."""
    if given is None or isinstance(given, dict):
        return cast(Optional[ModelEnd], given)
    values: Dict[str, float] = {}
    for word in given:
        key, separator, value = word.partition("=")
        try:
            number = number_of(value)
        except ValueError:
            separator = ""
        if key in values:
            raise UsageError(f"--{name} {word}: {key} is given twice")
        if not separator or not key:
            raise UsageError(f"--{name} {word}: it must be KEY=VALUE with a number, such as --{name} forward_time=2.4 backward_time=4.8")
        values[key] = number
    return cast(ModelEnd, values)


def _check(config: Config, values: Mapping[str, Any]) -> None:
    """Checks the stages of -s without --chunks. If a config file lists chunks to try, they must be among them."""
    if any(isinstance(values.get(name), list) for name in ENDS if not (name == "head" and values.get("strategy") in SHARING)):
        raise UsageError(f"--{', --'.join(ENDS)} need --chunks")
    allowed = values.get("chunks")
    if allowed is not None and config.stages not in [chunks * config.devices for chunks in allowed if isinstance(chunks, int)]:
        raise Error(f"{values['config']}: chunks is {', '.join(map(str, allowed))}, but {config.stages} stages on {config.devices} "
                    f"devices are {config.stages / config.devices:g} each; give --chunks")


def resized(config: Config, values: Mapping[str, Any]) -> Config:
    """The problem with the numbers of stages and microbatches of merged values, converted as in a plan."""
    chunks, microbatches, size = values.get("chunks"), values.get("microbatch_count"), 1.0
    if microbatches is not None and microbatches != config.microbatches:
        old, config = config.microbatches, config.with_microbatches(microbatches)
        size = old / microbatches
    ends = [end_of_size(name, end_of(name, values.get(name)), size) for name in ENDS]
    if not isinstance(chunks, int):
        _check(config, values)
    elif chunks < 1:
        raise Error(f"chunks is {chunks}; it must be 1 or more", Status.ERROR_RANGE)
    elif chunks * config.devices != config.stages:
        config = config.with_stages(chunks * config.devices, *ends)
    return with_shared_head(config, values["strategy"], ends[1]) if may_share(values, config) else config
