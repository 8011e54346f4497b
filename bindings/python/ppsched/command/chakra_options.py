# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for Chakra traces."""
import argparse
from typing import Any, Mapping, Optional

from .._core._abi import ChakraLinks, ChakraSizes
from .._core.chakra import memory_scale_of, write_chakra
from .._core.enums import names_of
from .._core.timeline import Timeline
from .lowering_options import is_lowered
from .number_options import real
from .usage import UsageError

CHAKRA = "chakra"  # the format's name
_OPTIONS = {"links": "--links", "message_sizes": "--message-sizes", "most_loss": "--most-loss", "tensors": "--tensors"}


def add_chakra_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--links", choices=names_of(ChakraLinks),
                        help="with chakra: how traces represent links. senders (the default): a device sends one message at a time; ranks: each "
                             "directed link is a separate rank")
    parser.add_argument("--message-sizes", choices=names_of(ChakraSizes),
                        help="with chakra: sizes of messages. bytes (the default): the given bytes; times: 2 bytes for each "
                             "nanosecond of the transfer's time")
    parser.add_argument("--most-loss", type=real, metavar="X",
                        help="with chakra: the largest share by which rounding to whole microseconds, nanoseconds or bytes may change a time or "
                             "size (default: 0)")
    parser.add_argument("--tensors", action="store_true", default=None,
                        help="with chakra: add the tensors that F writes and B or W reads, for a simulator that tracks memory")


def chakra_fault(values: Mapping[str, Any], format: Optional[str]) -> Optional[str]:
    """What is wrong with the options for this format, or None."""
    if format == CHAKRA:
        return None if values.get("output") else f"{CHAKRA}: give -o PREFIX; the files are PREFIX.<rank>.et"
    given = next((option for name, option in _OPTIONS.items() if values.get(name) is not None), None)
    return f"{given} works only with {CHAKRA} traces, not with {format or 'text'}" if given else None


def write_traces(timeline: Timeline, values: Mapping[str, Any]) -> None:
    """Writes all files, or none."""
    schedule, config = timeline.schedule, timeline.config
    if schedule.has_graph:
        raise UsageError(f"{CHAKRA}: traces need stages that form a chain, but these stages form a graph; give --format json or chrome")
    if not is_lowered(schedule):
        raise UsageError(f"{CHAKRA}: the schedule has no sends and receives; lower it with --lower just_in_time")
    write_chakra(values["output"], schedule, config, sizes=values.get("message_sizes") or "bytes", links=values.get("links") or "senders",
                 time_scale=values["time_scale"], most_loss=values.get("most_loss") or 0.0,
                 memory_scale=memory_scale_of(config) if values.get("tensors") else 0.0)
