# SPDX-License-Identifier: Apache-2.0
"""Checks whether the given traces cover all ranks of a pipeline.

The world of a run contains the pipeline, and with data or tensor parallelism other pipelines too. So a world with more ranks than
there are traces is not an error. The checks use, in this order: sends and receives to stages that no trace has; the process groups
of the run, one of which is the pipeline; the world size, in whose grid of ranks the pipeline is a whole row.
"""
import json
import re
from typing import Any, Dict, FrozenSet, List, NamedTuple, Optional, Sequence, Tuple

from .._core._abi import Kind
from .._core._library import Error
from .._core.op import Op
from .._core.words import counted

Ranks = FrozenSet[int]

_MOST_RANKS = 1 << 24
_PIPELINE = re.compile(r"(?<![a-z])pp(?![a-z])|pipeline", re.IGNORECASE)
_TOWARDS = {Kind.SEND_F: 1, Kind.RECV_B: 1, Kind.SEND_B: -1, Kind.RECV_F: -1}
_ALL = "give the traces of all ranks of the pipeline"


class Told(NamedTuple):
    """What a trace says about other ranks. world_size: number of ranks of the run; groups: process groups of the trace's rank, one of
    which is the pipeline; named: those with a pipeline's name; sent_in: those used by sends and receives; transfers: for each stage
    that the rank sends to or receives from, one such op."""

    world_size: Optional[int]
    groups: Tuple[Ranks, ...]
    named: Tuple[Ranks, ...]
    sent_in: Tuple[Ranks, ...]
    transfers: Dict[int, str]


def neighbour_of(op: Op) -> Optional[int]:
    """The stage that a send goes to or a receive comes from; None for other ops."""
    return op.stage + _TOWARDS[op.kind] if op.kind in _TOWARDS else None


def whole_number(path: str, what: str, value: object) -> Optional[int]:
    """Checks a number of a trace's header; None if it is missing."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63):
        raise Error(f"{path}: {what} must be a whole number, not {str(value)[:40]!r}")
    return value


def world_of(path: str, info: Dict[str, Any], rank: Optional[int]) -> Optional[int]:
    """The world size in distributedInfo, or None."""
    size = whole_number(path, "the world_size in distributedInfo", info.get("world_size"))
    if size == 0:
        raise Error(f"{path}: the world_size in distributedInfo is 0; it must be at least 1")
    if size is not None and rank is not None and rank >= size:
        raise Error(f"{path}: distributedInfo has rank {rank} in a world of {counted(size, 'rank')}")
    return size


def _ranks_in(value: object) -> Optional[Ranks]:
    """Ranks of a list, or of a list as a JSON string."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):  # the profiler truncates long lists
            return None
    if not isinstance(value, list) or not value or len(value) > _MOST_RANKS:
        return None
    return frozenset(value) if all(isinstance(rank, int) and not isinstance(rank, bool) for rank in value) else None


def groups_of(info: Dict[str, Any], rank: Optional[int]) -> Tuple[Tuple[Ranks, ...], Tuple[Ranks, ...]]:
    """Process groups in pg_config that contain the rank, and those of them with a pipeline's name. An empty list means all ranks."""
    config, size = info.get("pg_config"), info.get("world_size")
    groups: List[Ranks] = []
    named: List[Ranks] = []
    for row in config.values() if isinstance(config, dict) else config if isinstance(config, list) else ():
        ranks = _ranks_in(row.get("ranks")) if isinstance(row, dict) else None
        if isinstance(row, dict) and row.get("ranks") == [] and isinstance(size, int) and size <= _MOST_RANKS:
            ranks = frozenset(range(size))
        if ranks is None or rank not in ranks:
            continue
        groups.append(ranks)
        if _PIPELINE.search(str(row.get("pg_desc", ""))) or _PIPELINE.search(str(row.get("pg_name", ""))):
            named.append(ranks)
    return tuple(groups), tuple(named)


def group_of_transfer(arguments: object) -> Optional[Ranks]:
    """The ranks of a send's or receive's process group, from its event's arguments."""
    if isinstance(arguments, dict) and arguments.get("Collective name") in ("send", "recv"):
        return _ranks_in(arguments.get("Process Group Ranks"))
    return None


def _listed(ranks: Ranks) -> str:
    names = [str(rank) for rank in sorted(ranks)]
    return ", ".join(names if len(names) <= 8 else [*names[:6], "...", names[-1]])


def _check_transfers(path: str, told: Told, stages: FrozenSet[int]) -> None:
    for stage, token in sorted(told.transfers.items()):
        if stage not in stages:
            raise Error(f"{path}: it has {token}, whose other end is stage {stage}, but no trace has this stage; {_ALL}")


def _check_groups(path: str, groups: Sequence[Ranks], what: str, given: Ranks) -> None:
    """Raises Error unless the given ranks are one of the groups."""
    if not groups or given in groups:
        return
    nearest = min(groups, key=lambda group: (not given <= group, len(group ^ given)))
    missing, other = nearest - given, given - nearest
    problem = f"rank {_listed(missing)} has no trace" if len(missing) == 1 else f"ranks {_listed(missing)} have no trace"
    if not missing:
        problem = f"{'rank' if len(other) == 1 else 'ranks'} {_listed(other)} {'is' if len(other) == 1 else 'are'} not one of them"
    raise Error(f"{path}: {what} ranks {_listed(nearest)}, but {problem}; {_ALL}")


def _is_row(given: Ranks, size: int) -> bool:
    """Whether the ranks can be a whole row of a grid of the world's ranks."""
    ranks = sorted(given)
    step = ranks[1] - ranks[0] if len(ranks) > 1 else 1
    even = all(b - a == step for a, b in zip(ranks, ranks[1:]))
    return even and size % (step * len(ranks)) == 0 and ranks[0] // step % len(ranks) == 0


def _check_world(path: str, size: int, given: Ranks) -> None:
    if len(given) == size:
        return
    have = f"the run had {counted(size, 'rank')}, but "
    if len(given) == 1:
        raise Error(f"{path}: {have}this is only rank {min(given)}; {_ALL}")
    if not _is_row(given, size):
        raise Error(f"{path}: {have}ranks {_listed(given)} are not a whole pipeline of it; {_ALL}")


def _check_count(paths: Sequence[str], sizes: Sequence[int]) -> None:
    """Checks the number of traces that do not give their ranks; only if each trace is a file of its own."""
    count = len(paths)
    if len(set(paths)) < count:
        return
    for size in sizes:
        if (count == 1 and size > 1) or size % count != 0:
            raise Error(f"{paths[0]}: the run had {counted(size, 'rank')}, so {counted(count, 'trace')} cannot be a whole pipeline; {_ALL}")


def check_whole(files: Sequence[Tuple[str, Optional[int], Told]], stages: FrozenSet[int]) -> None:
    """Raises Error if a rank of the pipeline has no trace. files: path, rank and Told of each trace; stages: stages with ops. A rank is
    None if the file does not give it or contains several; then missing ranks cannot be named."""
    for path, _, told in files:
        _check_transfers(path, told, stages)
    given = frozenset(rank for _, rank, _ in files if rank is not None)
    sizes = {told.world_size: path for path, _, told in files if told.world_size is not None}
    if len(given) < len(files):
        _check_count([path for path, _, _ in files], list(sizes))
        return
    if len(sizes) > 1:
        (one, first), (other, second) = list(sizes.items())[:2]
        raise Error(f"{second}: it is from a run with {counted(other, 'rank')}, but {first} is from one with {one}; give the traces of one run")
    known = [group for _, _, told in files for group in (*told.named, *told.groups, *told.sent_in) if len(group) > 1]
    for path, _, told in files:
        _check_groups(path, told.named, "the pipeline is", given)
    if any(told.named for _, _, told in files) or given in known:
        return
    for path, _, told in files:
        _check_groups(path, [group for group in told.sent_in if group > given], "its sends and receives are between", given)
        _check_groups(path, [group for group in told.groups if len(given) > 1 or len(group) == told.world_size], "its nearest process group is", given)
    for size, path in sizes.items():
        _check_world(path, size, given)
