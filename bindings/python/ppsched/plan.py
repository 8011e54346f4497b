# SPDX-License-Identifier: Apache-2.0
"""Which schedule: all candidates for a problem, evaluated and ranked."""
import ctypes
import math
import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import List, NamedTuple, Optional, Union

from . import _abi
from ._abi import ChannelOrder, Lowering, Objective, Placement, Status
from ._library import Error, call, check, encoded, lib, new_handle
from .config import Config, integer, numbers
from .enums import member
from .listener import Listener
from .lowering import channel_model
from .schedule import Schedule, generate
from .timeline import Bubble, Timeline
from .views import Shared, none_if_unset, sized


class Candidate(NamedTuple):
    """A strategy with its options, and what it costs.

    options: the strategy's own, such as {"group_size": 8}; chunks, stages, microbatches: its V, S and M; memory_limit: of all
    devices, None where there is none, NaN where they differ. status: "fits", "over limit" or "refused"; reason: why not, in
    words. Figures are None where it is refused: step_time, makespan, span, bubble, peak_memory on peak_device, limit_device:
    the first device over its limit; excess: the most that a device lacks; bound: what no schedule of this placement can do
    better; bytes, messages: sent from device to device in an iteration.
    """

    rank: int
    strategy: str
    options: dict
    placement: str
    chunks: int
    stages: int
    microbatches: int
    memory_limit: Optional[float]
    status: str
    reason: Optional[str]
    step_time: Optional[float] = None
    makespan: Optional[float] = None
    span: Optional[float] = None
    bubble: Optional[Bubble] = None
    peak_memory: Optional[float] = None
    peak_device: Optional[int] = None
    limit_device: Optional[int] = None
    excess: Optional[float] = None
    bound: Optional[float] = None
    bytes: Optional[float] = None
    messages: Optional[int] = None

    @property
    def fits(self) -> bool:
        return self.status == "fits"


def _figures(record):
    bubble = Bubble(record.bubble_of_total, record.bubble_of_ideal, record.bubble_of_span)
    return {"step_time": record.step_time, "makespan": record.makespan, "span": record.span, "bubble": bubble,
            "peak_memory": record.peak_memory, "peak_device": record.peak_device,
            "limit_device": none_if_unset(record.limit_device), "excess": record.excess, "bound": record.bound,
            "bytes": record.bytes, "messages": record.messages}


def _candidate(rank, record, objective, effort):
    options = {"group_size": record.group_size} if record.group_size else {}
    strategy, reason = record.strategy.decode(), record.reason.decode("utf-8", "replace") if record.reason else None
    placement = Placement(record.placement).name.lower()
    if strategy == "auto":
        options = {"placement": placement, "objective": objective.name.lower(), **({"effort": effort} if effort else {})}
    refused = record.status != Status.OK
    if not refused and not record.fits:
        reason = f"device {record.limit_device} is over its limit; the most that a device lacks is {record.excess:g}"
    limit = None if math.isinf(record.memory_limit) else record.memory_limit
    status = "refused" if refused else "fits" if record.fits else "over limit"
    return Candidate(rank, strategy, options, placement, record.chunks, record.stages, record.microbatches, limit, status, reason,
                     **({} if refused else _figures(record)))


class LeastLimit(NamedTuple):
    """The least memory limit, one for all devices, under which a candidate fits, and which."""

    limit: float
    candidate: Candidate


def model_end(name, values: Optional[Mapping]):
    """The library's record of what the embedding or the head takes."""
    record = _abi.ModelEnd()
    fields = [field for field, _ in _abi.ModelEnd._fields_]
    for key, value in (values or {}).items():
        if key not in fields:
            raise Error(f"{name} has no {key!r}; it has {', '.join(fields)}")
        if len(value := numbers(f"{name} {key}", value)) != 1:
            raise Error(f"{name} {key} has {len(value)} values; give 1", Status.ERROR_LENGTH)
        setattr(record, key, value[0])
    return record


class Plan(Shared):
    """The candidates, ranked: those that fit by step time and then peak memory, those over their limit, the refused.

    Made by ppsched.plan. A sequence of Candidate.
    """

    def __init__(self, handle, config: Config, objective: Objective, effort: int, timing):
        self._handle = handle
        self.lowering, self._order, self._channel = timing
        self.config = config
        self.objective = objective
        self._effort = effort
        self._release = weakref.finalize(self, lib.ppsched_plan_destroy, handle)
        self._candidates: List[Candidate] = []

    def __len__(self):
        return lib.ppsched_plan_count(self._handle)

    def __getitem__(self, index):
        if not self._candidates:
            self._candidates = [self._read(rank) for rank in range(len(self))]
        return self._candidates[index]

    def _read(self, rank):
        record = sized(_abi.Candidate)
        check(lib.ppsched_plan_candidate(self._handle, rank, ctypes.byref(record)))
        return _candidate(rank, record, self.objective, self._effort)

    @property
    def best(self) -> Optional[Candidate]:
        """The first that fits, or None."""
        return self[0] if len(self) > 0 and self[0].fits else None

    def _rank(self, candidate):
        if not 0 <= candidate.rank < len(self) or self[candidate.rank] != candidate:
            raise Error(f"{candidate.strategy} of rank {candidate.rank} is no candidate of this plan")
        return candidate.rank

    def config_of(self, candidate: Candidate) -> Config:
        """The candidate's own problem."""
        config = Config.__new__(Config)
        config._own(new_handle(lib.ppsched_plan_config, self._handle, self._rank(candidate)))
        return config

    def schedule(self, candidate: Candidate, progress: Optional[Callable[[float, float], object]] = None) -> Schedule:
        """The candidate's schedule as its strategy makes it, not lowered. progress: see ppsched.generate."""
        return generate(candidate.strategy, self.config_of(candidate), progress=progress)

    def timeline(self, candidate: Candidate, progress: Optional[Callable[[float, float], object]] = None) -> Timeline:
        """The candidate's schedule, lowered and timed as the plan did, with everything that there is to know of it.

        progress: see ppsched.generate; what was searched is searched again.
        """
        schedule = self.schedule(candidate, progress)
        if self.lowering == Lowering.NONE:
            return schedule.evaluate()
        return schedule.lower(self.lowering).evaluate_transfers(None, self._order, **self._channel)

    def least_limit(self) -> LeastLimit:
        """Under which memory limit a candidate fits, where none does."""
        limit, index = ctypes.c_double(), ctypes.c_size_t()
        call(lib.ppsched_plan_least_limit, ctypes.byref(limit), ctypes.byref(index), self._handle)
        return LeastLimit(limit.value, self[index.value])


def _list(options, name, count, values, kind):
    """Sets a list of the options, if there is one; returns what must stay alive."""
    if values is None:
        return None
    array = (kind * len(values))(*values)
    setattr(options, name, ctypes.cast(array, dict(_abi.PlanOptions._fields_)[name]))
    setattr(options, count, len(values))
    return array


def _counts(name, values):
    if values is None:
        return None
    values = [integer(name, value) for value in ([values] if hasattr(values, "__index__") else values)]
    if any(not 0 < value < 2**31 for value in values):
        raise Error(f"{name} holds {values}; they must be 1 or more, and not that large", Status.ERROR_RANGE)
    if not values:
        raise Error(f"{name} is an empty list", Status.ERROR_LENGTH)
    return values


def _effort(value):
    """Told here, as C would cut it short."""
    if not 0 <= integer("effort", value) < 2**32:
        raise Error(f"effort is {value}; it must be 0 to 12", Status.ERROR_RANGE)
    return value


def _placement_bits(placements):
    bits = 0
    if placements is not None and not isinstance(placements, (str, int)) and not (placements := list(placements)):
        raise Error("placements is an empty list", Status.ERROR_LENGTH)
    for placement in [placements] if isinstance(placements, (str, int)) else placements or ():
        bits |= 1 << member(Placement, "placement", placement)
    return bits


def plan(config: Config, *, objective: Union[Objective, str] = "makespan", strategies: Optional[Iterable[str]] = None,
         chunks: Optional[Iterable[int]] = None, group_sizes: Optional[Iterable[int]] = None,
         microbatches: Optional[Iterable[int]] = None, memory_limits: Optional[Iterable[float]] = None,
         placements: Union[Iterable, str, None] = None, effort: int = 0, lowering: Union[Lowering, str] = "none",
         order: Union[ChannelOrder, str] = "none", rendezvous: bool = False, batched: bool = False, blocking: bool = False,
         embedding: Optional[Mapping[str, float]] = None, head: Optional[Mapping[str, float]] = None,
         progress: Optional[Callable[[float, float], object]] = None) -> Plan:
    """Evaluates all candidates for a problem and ranks them.

    The config's costs are those of its stages: one a device, or one a layer, or any number that the candidates' stages divide or
    are divided by; embedding and head: what of the first and the last stage is not divided, such as {"forward_time": 0.2}.
    objective: the time of a step, "makespan" or "span". What varies: strategies (default: all whose iterations flush, but those
    that search at length: v_search, and auto, which come with an effort), chunks (stages a device, default 1 to 4), group_sizes
    (default: those that Megatron-LM takes), microbatches (at the same batch), memory_limits (each for all devices), placements.
    With a lowering candidates are timed with their transfers in the channel model (see Schedule.prove).
    progress: called with the share of the work that is done and the best step time so far; returns False to stop, which raises
    ppsched.Cancelled.
    """
    objective = member(Objective, "objective", objective)
    options = sized(_abi.PlanOptions)
    options.objective, options.effort = objective, _effort(effort)
    options.lowering, options.placements = member(Lowering, "lowering", lowering), _placement_bits(placements)
    names = None if strategies is None else [encoded("strategy", name) for name in
                                             ([strategies] if isinstance(strategies, str) else strategies)]
    limits = None if memory_limits is None else numbers("memory_limits", memory_limits)
    model = channel_model(order, rendezvous=rendezvous, batched=batched, blocking=blocking)
    ends = model_end("embedding", embedding), model_end("head", head)
    options.channel, options.embedding, options.head = map(ctypes.pointer, (model, *ends))
    alive = [_list(options, "strategies", "strategy_count", names, ctypes.c_char_p),
             _list(options, "chunks", "chunk_count", _counts("chunks", chunks), ctypes.c_uint32),
             _list(options, "group_sizes", "group_size_count", _counts("group_sizes", group_sizes), ctypes.c_uint32),
             _list(options, "microbatches", "microbatch_count", _counts("microbatches", microbatches), ctypes.c_uint32),
             _list(options, "memory_limits", "memory_limit_count", limits, ctypes.c_double)]
    with Listener(config, progress) as told:
        handle = new_handle(lib.ppsched_plan_create, told._handle, ctypes.byref(options))
        flags = {"rendezvous": rendezvous, "batched": batched, "blocking": blocking}
        made = Plan(handle, config, objective, options.effort, (Lowering(options.lowering), order, flags))
        del alive
        call(lib.ppsched_plan_run, handle)
    return made
