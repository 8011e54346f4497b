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
                        help="in chakra traces: a device has one message on the way (senders, the default), or each directed link is a "
                             "rank of its own (ranks)")
    parser.add_argument("--message-sizes", choices=names_of(ChakraSizes),
                        help="in chakra traces: the bytes that are given (the default), or the times of transfers at 2 bytes a nanosecond")
    parser.add_argument("--most-loss", type=real, metavar="X",
                        help="in chakra traces: share of a time or size that rounding to whole microseconds, nanoseconds or bytes may "
                             "change (default: 0)")
    parser.add_argument("--tensors", action="store_true", default=None,
                        help="in chakra traces: say what F writes and B or W reads, for a simulator that tracks memory")


def chakra_fault(values: Mapping[str, Any], format: Optional[str]) -> Optional[str]:
    """What is wrong with the options beside the format, if anything."""
    if format == CHAKRA:
        return None if values.get("output") else f"{CHAKRA}: give -o PREFIX; the files are PREFIX.<rank>.et"
    given = next((option for name, option in _OPTIONS.items() if values.get(name) is not None), None)
    return f"{given}: it goes with {CHAKRA} traces, not with {format or 'text'}" if given else None


def write_traces(timeline: Timeline, values: Mapping[str, Any]) -> None:
    """All files, or none."""
    schedule, config = timeline.schedule, timeline.config
    if not is_lowered(schedule):
        raise UsageError(f"{CHAKRA}: the schedule has no sends and receives; lower it with --lower just_in_time")
    write_chakra(values["output"], schedule, config, sizes=values.get("message_sizes") or "bytes", links=values.get("links") or "senders",
                 time_scale=values["time_scale"], most_loss=values.get("most_loss") or 0.0,
                 memory_scale=memory_scale_of(config) if values.get("tensors") else 0.0)
