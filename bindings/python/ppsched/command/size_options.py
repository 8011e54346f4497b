# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for stages and microbatches that are made of those that the costs are given for."""
import argparse
from typing import Any, Dict, List, Mapping, Optional, Union, cast

from .._core._abi import Status
from .._core._library import Error
from .._core.config import Config
from .._core.model_end import ModelEnd, end_of_size
from .._core.whole_numbers import number_of
from .number_options import whole
from .usage import UsageError

ENDS = {"embedding": "first", "head": "last"}


def add_end_arguments(parser: argparse.ArgumentParser) -> None:
    for name, which in ENDS.items():
        parser.add_argument("--" + name, nargs="+", action="extend", metavar="KEY=VALUE",
                            help=f"what of the {which} stage is not divided: forward_time=0.2 mem_static=3 and so on")


def add_size_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chunks", type=whole, metavar="V",
                        help="V stages a device, made of those of -s: their costs are divided, or added up")
    parser.add_argument("--microbatch-count", type=whole, metavar="M", help="the batch of -b in M microbatches; costs are those of -b")
    add_end_arguments(parser)


def end_of(name: str, given: Union[Mapping[str, float], List[str], None]) -> Optional[ModelEnd]:
    """What the embedding or the head takes: a mapping, from KEY=VALUE words or a config file."""
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
            raise UsageError(f"--{name} {word}: it must be KEY=VALUE with a number")
        values[key] = number
    return cast(ModelEnd, values)


def _check(config: Config, values: Mapping[str, Any]) -> None:
    """Without --chunks the stages are those of -s; a file with the chunks that may be tried must allow for them."""
    if any(isinstance(values.get(name), list) for name in ENDS):
        raise UsageError(f"--{', --'.join(ENDS)}: they go with --chunks")
    allowed = values.get("chunks")
    if allowed is not None and config.stages not in [chunks * config.devices for chunks in allowed if isinstance(chunks, int)]:
        raise Error(f"{values['config']}: chunks holds {', '.join(map(str, allowed))}, and {config.stages} stages on {config.devices} "
                    f"devices are {config.stages / config.devices:g} each; give --chunks")


def resized(config: Config, values: Mapping[str, Any]) -> Config:
    """The problem in the stages and microbatches that merged values ask for, as a plan makes it."""
    chunks, microbatches, size = values.get("chunks"), values.get("microbatch_count"), 1.0
    if microbatches is not None and microbatches != config.microbatches:
        old, config = config.microbatches, config.with_microbatches(microbatches)
        size = old / microbatches
    if not isinstance(chunks, int):
        _check(config, values)
        return config
    if chunks < 1:
        raise Error(f"chunks is {chunks}; it must be 1 or more", Status.ERROR_RANGE)
    ends = [end_of_size(name, end_of(name, values.get(name)), size) for name in ENDS]
    return config.with_stages(chunks * config.devices, *ends) if chunks * config.devices != config.stages else config
