# SPDX-License-Identifier: Apache-2.0
"""Traces of torch.profiler: when a rank of torch.distributed.pipelining ran each op.

PyTorch's pipeline runtime puts a range named PP:<token> around each op. This range is not the op's time: it begins with the wait for
the op's input, and on a GPU it ends when all kernels are launched, not when they are done. So the time of an op is taken from the
first of these that the trace has: the GPU kernels launched in the range, by any thread; the range's annotation on the GPU; the time
from the first CPU operator inside the range to the range's end; the range itself.
"""
import bisect
import gzip
import io
import json
import re
import zlib
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Set, Tuple, Union

from .._core import _abi
from .._core._abi import Kind
from .._core._library import Error
from .._core.file_bytes import TRACE, cannot_read, read_bytes
from .._core.op import Op
from .._core.whole_numbers import whole_of
from .trace_ranks import Ranks, Told, check_whole, group_of_transfer, groups_of, neighbour_of, whole_number, world_of

PREFIX = "PP:"
COMPUTE = (Kind.F, Kind.B, Kind.I, Kind.W)

KERNELS, ANNOTATIONS, OPERATORS, RANGES = "GPU kernels", "GPU annotations", "CPU operators", "CPU ranges"

_DEVICE_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
_LAUNCHES = ("cuda_runtime", "cuda_driver", "xpu_runtime", "xpu_driver")
_COMMUNICATION = ("c10d::", "nccl", "gloo:", "record_param_comms")
_PAIR = re.compile(r"\(([^;()]*);([^;()]*)\)OVERLAP_F_B")
_SINGLE_STAGE = re.compile(r"(Forward|Backward) \d+")
_LARGEST = 1e18  # microseconds; larger times are refused
_MOST_RATIO, _LARGE = 200, 1 << 30  # largest compression ratio, checked only if the unpacked trace has more than _LARGE bytes
_AT_ONCE = 1 << 20  # bytes unpacked per step
_ROUNDING = 1.0  # microseconds that consecutive ranges may overlap


Ops = Tuple[Op, ...]  # an op, or the forward and the backward of an overlapped pair
Track = Tuple[Any, Any]  # process and thread


class Work(NamedTuple):
    """An op, or the forward and backward of a pair, that a rank ran, with its time in microseconds. The duration is stored instead of
    the end because differences of large times lose digits. source: what the time is taken from."""

    ops: Ops
    start: float
    duration: float
    source: str


class RankTrace(NamedTuple):
    """What one rank ran, by start. rank: its number in the trace, or None; base: nanoseconds to add to all times, or None; told: what
    the trace says about other ranks."""

    path: str
    rank: Optional[int]
    base: Optional[int]
    work: List[Work]
    told: Told


class _Range(NamedTuple):
    """A range event; number: its position in the file, for messages."""

    number: int
    ops: Ops
    start: float
    duration: float
    track: Track
    identity: Union[int, str, None]

    @property
    def end(self) -> float:
        return self.start + self.duration


def _by_kind(op: Op) -> int:
    return op.kind


def ops_of_token(token: str) -> Ops:
    """The op of a token, or the forward and backward of an overlapped pair; raises Error if the token is neither."""
    pair = _PAIR.fullmatch(token)
    try:
        ops = tuple(Op.from_token(part) for part in (pair.groups() if pair else (token,)))
    except ValueError:  # too many digits
        raise Error(f"{token[:40]!r} is not an op") from None
    if any(op.stage >= _abi.MAX_STAGES or (op.microbatch or 0) >= _abi.MAX_CELLS for op in ops):
        raise Error(f"{token!r} is out of range")
    return pair_in_order(ops, token) if pair else ops


def pair_in_order(ops: Ops, token: str) -> Ops:
    first, second = sorted(ops, key=_by_kind)
    if first.kind != Kind.F or second.kind not in COMPUTE[1:]:
        raise Error(f"{token!r} is not a pair of a forward and a backward")
    return first, second


def _unpacked(path: str, data: bytes) -> bytearray:
    """Unpacks gzip data, refusing sizes that no trace has. Reads in steps, so that no large buffer is allocated before the check."""
    most, unpacked = max(_LARGE, len(data) * _MOST_RATIO), bytearray()
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
        while len(unpacked) <= most and (more := file.read(_AT_ONCE)):
            unpacked += more
    if len(unpacked) > most:
        raise Error(f"{path}: unpacked it has more than {most >> 20} MiB, {_MOST_RATIO} times the size of the file; no trace is compressed so well")
    return unpacked


def read_text(path: str) -> str:
    """The text of a file, which may be gzip-compressed."""
    try:
        data: Union[bytes, bytearray] = read_bytes(path, TRACE)
        if data[:2] == b"\x1f\x8b":
            data = _unpacked(path, data)
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Error(f"{path}: byte {error.start} is not UTF-8; the file must be text, saved as UTF-8") from None
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise Error(f"{path}: broken gzip: {error}") from None
    except OSError as error:
        raise cannot_read(path, error) from None
    except ValueError as error:  # names with NUL
        raise Error(f"{path}: {error}") from None


def parse(path: str, text: str) -> Any:
    """The JSON value in a file's text."""
    try:
        return json.loads(text, parse_int=whole_of)
    except Error as error:
        raise Error(f"{path}: {error}") from None
    except json.JSONDecodeError as error:
        raise Error(f"{path}, line {error.lineno}, column {error.colno}: broken JSON: {error.msg}") from None
    except RecursionError:
        raise Error(f"{path}: nested too deeply") from None
    except ValueError as error:  # numbers of too many digits
        raise Error(f"{path}: {error}") from None


def is_trace(value: Any) -> bool:
    return isinstance(value, list) or isinstance(value, dict) and "traceEvents" in value


class _File:
    """Events of a trace that show when ops ran."""

    def __init__(self, path: str, value: Any) -> None:
        self.path = path
        self.rank: Optional[int] = None
        self.base: Optional[int] = None
        self.ranges: List[_Range] = []
        self.annotations: List[_Range] = []
        self.operators: List[Tuple[float, Track]] = []
        self.launches: Dict[int, float] = {}
        self.kernels: List[Tuple[int, float, float]] = []
        self.single_stage = False
        self.info: Dict[str, Any] = {}
        self.transfers: Dict[int, str] = {}
        self.sent_in: Set[Ranks] = set()
        if isinstance(value, dict):
            if "traceEvents" not in value:
                raise Error(f"{path}: there are no traceEvents, so it is not a trace; give a profile file by itself, without other files")
            self._read_header(value)
            value = value["traceEvents"]
        if not isinstance(value, list):
            raise Error(f"{path}: traceEvents must be a list of events")
        for index, event in enumerate(value):
            if not isinstance(event, dict):
                raise Error(f"{path}: event {index} is not an object")
            self._read_event(index, event)

    def _read_header(self, value: Dict[str, Any]) -> None:
        info = value.get("distributedInfo")
        self.info = info if isinstance(info, dict) else {}
        self.rank = whole_number(self.path, "the rank in distributedInfo", self.info.get("rank"))
        self.base = whole_number(self.path, "baseTimeNanoseconds", value.get("baseTimeNanoseconds"))

    def told(self) -> Told:
        """What the trace says about other ranks."""
        groups, named = groups_of(self.info, self.rank)
        return Told(world_of(self.path, self.info, self.rank), groups, named, tuple(self.sent_in), self.transfers)

    def _fault(self, index: int, name: object, problem: object) -> Error:
        return Error(f"{self.path}: event {index} ({str(name)[:60]!r}): {problem}")

    def _read_event(self, index: int, event: Dict[str, Any]) -> None:
        name, category, phase = event.get("name"), event.get("cat"), event.get("ph")
        if (group := group_of_transfer(event.get("args"))) is not None and self.rank in group:
            self.sent_in.add(group)
        if isinstance(name, str) and name.startswith(PREFIX) and not name.startswith(PREFIX + ":"):
            if phase != "X":
                raise self._fault(index, name, f"its ph is {str(phase)[:20]!r}; a range must have 'X'")
            self._read_range(index, name, category, event)
        elif phase != "X" or not isinstance(category, str):
            return
        elif category == "cpu_op" and not str(name).startswith(_COMMUNICATION):
            start, _ = self._times(index, name, event)
            self.operators.append((start, self._track(index, name, event)))
        elif category in _LAUNCHES and (launch := self._correlation(event)) is not None:
            self.launches[launch] = self._times(index, name, event)[0]
        elif category in _DEVICE_WORK and (launch := self._correlation(event)) is not None and not str(name).startswith("nccl"):
            self.kernels.append((launch, *self._times(index, name, event)))
        elif isinstance(name, str) and _SINGLE_STAGE.fullmatch(name):
            self.single_stage = True

    def _read_range(self, index: int, name: str, category: object, event: Dict[str, Any]) -> None:
        token = name[len(PREFIX):]
        try:
            ops = ops_of_token(token)
        except Error as error:
            raise self._fault(index, name, error) from None
        start, duration = self._times(index, name, event)
        arguments = event.get("args")
        identity = arguments.get("External id") if isinstance(arguments, dict) else None
        identity = identity if isinstance(identity, (int, str)) else None
        found = _Range(index, ops, start, duration, self._track(index, name, event), identity)
        if ops[0].kind in COMPUTE:
            (self.annotations if category == "gpu_user_annotation" else self.ranges).append(found)
        elif (stage := neighbour_of(ops[0])) is not None:
            self.transfers.setdefault(stage, token)

    def _times(self, index: int, name: object, event: Dict[str, Any]) -> Tuple[float, float]:
        start: Any = event.get("ts")
        duration: Any = event.get("dur")
        for key, number in (("ts", start), ("dur", duration)):
            if isinstance(number, bool) or not isinstance(number, (int, float)) or not -_LARGEST < number < _LARGEST:
                raise self._fault(index, name, f"its {key} must be a number, not {str(number)[:40]!r}")
        if duration < 0:
            raise self._fault(index, name, f"its duration is {duration:g}, which is negative")
        return float(start), float(duration)

    def _track(self, index: int, name: object, event: Dict[str, Any]) -> Track:
        track = event.get("pid"), event.get("tid")
        if any(isinstance(part, bool) or not isinstance(part, (int, str, type(None))) for part in track):
            raise self._fault(index, name, "its pid and tid must be numbers or strings")
        return track

    @staticmethod
    def _correlation(event: Dict[str, Any]) -> Optional[int]:
        """The number that links a launch on the CPU to its work on the GPU; None if the event has none."""
        arguments = event.get("args")
        number = arguments.get("correlation") if isinstance(arguments, dict) else None
        return number if isinstance(number, int) and number else None

    def ranks(self) -> List[List[_Range]]:
        """The ranges of each rank of the file. A rank is a CPU thread, or a GPU if the file has no CPU ranges."""
        if not self.ranges and not self.annotations:
            more = "; single-stage schedules of PyTorch do not name stages, run the schedule from its CSV" if self.single_stage else ""
            raise Error(f"{self.path}: there are no ranges named PP:<op>, such as PP:0F0{more}")
        if not self.ranges:
            return [[found for found in _joined(self.annotations) if found.track[0] == gpu]
                    for gpu in _in_order({found.track[0] for found in self.annotations})]
        ranks: Dict[Track, List[_Range]] = {}
        for found in self.ranges:
            ranks.setdefault(found.track, []).append(found)
        return [self._outermost(ranks[track]) for track in _in_order(ranks)]

    def _outermost(self, ranges: List[_Range]) -> List[_Range]:
        """The ranges without those nested in a range of the same op or of a pair that has the op."""
        kept: List[_Range] = []
        for found in sorted(ranges, key=lambda found: (found.start, -found.duration)):
            if not kept or _follows(found, kept[-1]):
                kept.append(found)
            elif not set(found.ops) <= set(kept[-1].ops):
                raise self._fault(found.number, _name(found.ops), f"it begins within {_name(kept[-1].ops)!r}")
        return kept


def _follows(found: _Range, last: _Range) -> bool:
    """Whether a range begins after the last one has ended; rounded times may overlap a little."""
    overlap = last.end - found.start
    doubled = found.ops == last.ops and found.start == last.start
    return not doubled and overlap <= min(_ROUNDING, found.duration / 2, last.duration / 2)


def _in_order(tracks: Iterable[Any]) -> List[Any]:
    """Sorts numbers by size, then strings."""
    def order(part: object) -> Tuple[int, int, str]:
        return (0, part, "") if isinstance(part, int) else (1, 0, str(part))
    return sorted(tracks, key=lambda track: [order(part) for part in (track if isinstance(track, tuple) else (track,))])


def _name(ops: Ops) -> str:
    return PREFIX + (str(ops[0]) if len(ops) == 1 else f"({ops[0]};{ops[1]})OVERLAP_F_B")


def _start(found: _Range) -> float:
    return found.start


def _joined(annotations: List[_Range]) -> List[_Range]:
    """Joins an op's annotations on several streams of a GPU: the first ones of all streams, the second ones, and so on."""
    counts: Dict[Tuple[Ops, Track], int] = {}
    groups: Dict[Tuple[Ops, Any, int], List[_Range]] = {}
    for found in sorted(annotations, key=_start):
        count = counts[found.ops, found.track] = counts.get((found.ops, found.track), -1) + 1
        groups.setdefault((found.ops, found.track[0], count), []).append(found)
    return sorted((_union(group) for group in groups.values()), key=_start)


def _union(group: List[_Range]) -> _Range:
    start, end = min(found.start for found in group), max(found.end for found in group)
    return group[0] if len(group) == 1 else group[0]._replace(start=start, duration=end - start)


def _holder(ranges: List[_Range], starts: List[float], time: float) -> Optional[int]:
    """Position of the range that contains a time, or None."""
    position = bisect.bisect_right(starts, time) - 1
    return position if position >= 0 and time <= ranges[position].end else None


def _by_kernels(file: _File, ranges: List[_Range], starts: List[float]) -> Optional[List[Work]]:
    """Times from the kernels that each range launched; a range without kernels takes no time. None if the trace has no kernels."""
    spans: Dict[int, Tuple[float, float]] = {}
    for correlation, start, duration in file.kernels:
        position = _holder(ranges, starts, file.launches[correlation]) if correlation in file.launches else None
        if position is not None:
            first, last = spans.get(position, (start, start + duration))
            spans[position] = min(first, start), max(last, start + duration)
    if not spans:
        return None
    work: List[Work] = []
    clock: Optional[float] = None
    for position, found in enumerate(ranges):
        before = clock if clock is not None else found.start
        start, end = spans.get(position, (before, before))
        work.append(Work(found.ops, start, end - start, KERNELS))
        clock = end
    return work


def _by_op(ranges: List[_Range]) -> Dict[Ops, List[_Range]]:
    groups: Dict[Ops, List[_Range]] = {}
    for found in ranges:
        groups.setdefault(found.ops, []).append(found)
    return groups


def _annotated(file: _File, ranges: List[_Range]) -> Dict[Ops, List[_Range]]:
    """GPU annotations of each op that has any, one per range of the op."""
    chosen: Dict[Ops, List[_Range]] = {}
    annotations = _by_op(file.annotations)
    for ops, mine in _by_op(ranges).items():
        theirs, identities = annotations.get(ops, []), [found.identity for found in mine]
        if not theirs:
            continue
        known = {found.identity for found in theirs} - {None}
        if len(known) == len(mine) and known == set(identities):
            chosen[ops] = [_union([found for found in theirs if found.identity == identity]) for identity in identities]
        else:
            chosen[ops] = _joined(theirs)
        if len(chosen[ops]) != len(mine):
            raise Error(f"{file.path}: {_name(ops)} has {len(mine)} CPU ranges, but {len(chosen[ops])} GPU ranges")
    return chosen


def _by_operators(file: _File, ranges: List[_Range], starts: List[float]) -> Dict[int, float]:
    """Start of the first CPU operator in each range that has one, by the range's position."""
    first: Dict[int, float] = {}
    track = ranges[0].track
    for start, other in file.operators:
        position = _holder(ranges, starts, start) if other == track else None
        if position is not None:
            first[position] = min(start, first.get(position, start))
    return first


def _work(file: _File, ranges: List[_Range], alone: bool) -> List[Work]:
    """The ops of a rank with their times. alone: the file has no other rank."""
    if not file.ranges:
        return [Work(found.ops, found.start, found.duration, ANNOTATIONS) for found in ranges]
    starts = [found.start for found in ranges]
    by_kernels = _by_kernels(file, ranges, starts) if alone else None
    if by_kernels is not None:
        return by_kernels
    annotated, first = _annotated(file, ranges), _by_operators(file, ranges, starts)
    count: Dict[Ops, int] = {}
    work: List[Work] = []
    for position, found in enumerate(ranges):
        number = count[found.ops] = count.get(found.ops, -1) + 1
        if found.ops in annotated:
            span = annotated[found.ops][number]
            work.append(Work(found.ops, span.start, span.duration, ANNOTATIONS))
        elif first:
            start = first.get(position, found.end)
            work.append(Work(found.ops, start, found.end - start, OPERATORS))
        else:
            work.append(Work(found.ops, found.start, found.duration, RANGES))
    return work


def ranks_of(path: str, value: Any) -> List[RankTrace]:
    """What each rank of a trace ran. The rank number in the trace's header is used only if the trace has a single rank."""
    file = _File(path, value)
    ranks, told = file.ranks(), file.told()
    return [RankTrace(path, file.rank if len(ranks) == 1 else None, file.base, _work(file, ranges, len(ranks) == 1), told)
            for ranges in ranks]


def in_order(ranks: List[RankTrace]) -> List[RankTrace]:
    """Sorts traces by rank if all give one, else keeps the order; raises Error if traces of other ranks are missing."""
    ordered = _by_rank(ranks)
    check_whole([(trace.path, trace.rank, trace.told) for trace in ordered],
                frozenset(op.stage for trace in ordered for work in trace.work for op in work.ops))
    return ordered


def _by_rank(ranks: List[RankTrace]) -> List[RankTrace]:
    named = {trace.rank: trace for trace in ranks if trace.rank is not None}
    if not named:
        return ranks
    if any(trace.rank is None for trace in ranks):
        silent = next(trace.path for trace in ranks if trace.rank is None)
        raise Error(f"{silent}: its distributedInfo has no rank, but other traces have one")
    for trace in ranks:
        paths = [other.path for other in ranks if other.rank == trace.rank]
        if len(paths) > 1:
            raise Error(f"{paths[1]}: it is the trace of rank {trace.rank}, and so is {paths[0]}")
    return [named[rank] for rank in sorted(named)]
