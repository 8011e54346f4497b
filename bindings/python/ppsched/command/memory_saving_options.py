# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for activation memory saving: recompute and offload."""
import argparse
import re
from typing import Any, Dict, List, Mapping, MutableMapping, Optional

from .._core._abi import Kind
from .._core.config import Config
from .._core.memory_saving import chooses_offload
from .._core.schedule import Schedule
from .._core.strategy import find_strategy
from .number_options import real, whole
from .usage import UsageError


def add_memory_saving_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--offload", metavar="WHAT",
                        help="copy activations to the host and back. chunks=N: activations of N stages of each device; all: all "
                             "activations; limit: only as many as needed to fit --mem-limit")
    parser.add_argument("--offload-share", metavar="SHARE", type=real,
                        help="with --offload: copy only the activations that each device holds longest. SHARE, above 0 and at most 1, is the largest "
                             "share of the memory of all its activations (default: 1)")
    parser.add_argument("--reload-prefetch", "--reload-lead", metavar="N", type=whole,
                        help="with --offload chunks=N or all: number of ops of the device between a reload (the copy back) and the backward that "
                             "needs it (default: each reload is as late as possible, but its copy still ends in time)")
    add_link_argument(parser)


def add_link_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host-links", choices=("none", "pairs", "all"),
                        help="which devices share one link to host memory: none, pairs (0 and 1, 2 and 3, and so on), or all (default: none)")


def _chunks_of(option: str, word: str) -> int:
    match = re.fullmatch(r"chunks=([0-9]{1,9})", word)
    if match is None or int(match[1]) == 0:
        raise UsageError(f"--{option} {word}: N of chunks=N must be an integer of 1 or more")
    return int(match[1])


def take_recomputed_chunks(values: MutableMapping[str, Any]) -> None:
    """Separates --recompute chunks=N, which is for the schedule, from --recompute for layers."""
    words: Optional[List[str]] = values.get("recompute")
    if words and any(word.startswith("chunks=") for word in words):
        if len(words) > 1:
            raise UsageError(f"--recompute {' '.join(words)}: chunks=N must be its only value")
        values["recompute_chunks"] = _chunks_of("recompute", words[0])
        del values["recompute"]


def link_hosts(config: Config, values: Mapping[str, Any]) -> None:
    """Sets which devices share a host link."""
    links = values.get("host_links")
    if links is None:
        return
    if values.get("host_link") is not None:
        raise UsageError("--host-links and --host-link both set which devices share a host link; give one of them")
    shared = {"none": 1, "pairs": 2, "all": config.devices}[links]
    config._set_list("host_link", [device // shared for device in range(config.devices)])


def memory_saving_words(values: Mapping[str, Any]) -> Dict[str, str]:
    """For each option, --recompute and --offload, its value."""
    chunks, offload = values.get("recompute_chunks"), values.get("offload")
    if isinstance(offload, str) and offload not in ("all", "limit"):
        offload = f"chunks={_chunks_of('offload', offload)}" if offload.startswith("chunks=") else None
        if offload is None:
            raise UsageError(f"--offload {values['offload']}: it must be chunks=N, all or limit")
    words = {"recompute": f"chunks={chunks}"} if chunks is not None else {}
    return {**words, "offload": offload} if isinstance(offload, str) else words


def _check_places(values: Mapping[str, Any]) -> None:
    """Refuses options of --offload that are given without it, or have a wrong value."""
    for name in ("offload_share", "reload_prefetch"):
        option = f"--{name.replace('_', '-')}"
        if values.get(name) is None:
            continue
        if values.get("offload") is None:
            raise UsageError(f"{option}: nothing is offloaded; give --offload, or leave this option out")
        if values["offload"] == "limit" and (name == "reload_prefetch" or chooses_offload(values.get("strategy") or "1f1b")):
            raise UsageError(f"{option}: --offload limit itself chooses which activations are copied and when; leave one of these options out")
    share, distance = values.get("offload_share"), values.get("reload_prefetch")
    if share is not None and not 0 < share <= 1:
        raise UsageError(f"--offload-share {share:g}: it must be above 0 and at most 1")
    if distance is not None and not 1 <= distance < 2**32:
        raise UsageError(f"--reload-prefetch {distance}: it must be 1 op or more")


def with_offload_option(values: Dict[str, Any]) -> Dict[str, Any]:
    """Passes --offload limit to the strategy, if it has that option."""
    if values.get("offload") != "limit" or not chooses_offload(values.get("strategy") or "1f1b"):
        return values
    return {**values, "offload": None, "options": {**values["options"], "offload": "limit"}}


def check_copies(config: Config, values: Mapping[str, Any]) -> None:
    """Refuses copies that take no time or free no memory, and options without effect."""
    strategy = find_strategy(values.get("strategy") or "1f1b")
    memory_saving_words(values)
    _check_places(values)
    offload, own = values.get("offload") or values.get("options", {}).get("offload"), strategy.offloads
    offload = None if offload == "none" or own and values.get("offload") is None else offload
    if own and (offload is not None or values.get("recompute_chunks") is not None):
        option = "--offload" if offload is not None else "--recompute chunks=N"
        raise UsageError(f"{option}: {strategy.name} offloads by itself; leave {option} out, or use --strategy group_interleaved_1f1b")
    if offload is None and not own:
        if values.get("host_links") is not None:
            raise UsageError("--host-links: nothing is offloaded; give --offload, or leave this option out")
        return
    option = f"--offload {offload}" if offload is not None else f"--strategy {strategy.name}"
    if not config.offload_times and not config.host_bandwidth:
        raise UsageError(f"{option}: the speed of copies is unknown; give --host-bandwidth or --offload-times")
    if config.mem_offload and not any(config.mem_offload):
        raise UsageError(f"{option}: with --mem-offload 0 copies free no memory; leave it out to free all of --mem-forward")
    if offload == "limit" and not config.mem_limit:
        raise UsageError("--offload limit: there is no memory limit; give --mem-limit")


def _most_chunks(schedule: Schedule) -> int:
    return max(len({op.stage for op in queue if op.kind is Kind.F}) for queue in schedule.queues)


def _check_chunks(most: int, option: str, chunks: int) -> None:
    if chunks > most:
        works = "chunks=1" if most == 1 else f"chunks=1 to chunks={most}"
        raise UsageError(f"--{option} chunks={chunks}: a device has {most} stage{'s' * (most > 1)}; give {works}")


def keep_less(schedule: Schedule, values: Mapping[str, Any]) -> Schedule:
    """The schedule with the recompute and offload of the options."""
    words = memory_saving_words(values)
    most = _most_chunks(schedule) if words else 0
    chunks = {option: _chunks_of(option, word) for option, word in words.items() if word not in ("all", "limit")}
    for option, count in chunks.items():
        _check_chunks(most, option, count)
    if "offload" in words and chunks.get("offload", most) <= chunks.get("recompute", 0):
        raise UsageError(f"--offload {words['offload']}: --recompute chunks={chunks['recompute']} recomputes everything that could be offloaded; leave one of them out")
    if "recompute" in words:
        schedule = schedule.recompute(chunks["recompute"])
    if "offload" not in words:
        return schedule
    return schedule.offload(chunks.get("offload"), until_limit=words["offload"] == "limit", share=values.get("offload_share") or 1.0,
                            prefetch_distance=values.get("reload_prefetch") or 0)
