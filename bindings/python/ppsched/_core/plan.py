# SPDX-License-Identifier: Apache-2.0
"""Plans: all candidates for a problem, evaluated and ranked."""
import ctypes
import math
import os
import weakref
from collections.abc import Iterable, Iterator
from os import PathLike
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union, cast, overload

from . import _abi
from ._abi import MAX_SCENARIOS, MAX_STAGES, ChannelOrder, Dispatch, Format, Lowering, Objective, Placement, RankBy, Runtime, Status, UnshardLookahead
from ._library import Error, call, decoded, encoded, lib, new_handle
from .candidate import Candidate, LeastLimit, with_least_bounds
from .chosen import Chosen
from .command_words import schedule_words
from .config import Config, config_of
from .enums import member, name_of
from .exporting import format_name
from .layers import Layer, LayerSplit, Layers, Split
from .listener import Listener, Progress, check_progress
from .lowering import channel_model, every_of, prefetch_of
from .memory_saving import chooses_offload
from .model_end import ModelEnd, model_end
from .number_lists import Numbers, integer, numbers
from .output import write_text
from .own_schedules import Own, evaluate_own, ranked
from .pages import page_of
from .plan_table import candidates_csv, html_table, plain_row
from .robust_objective import words_of_robust_objective
from .rounding import at_least
from .scenarios import Factors, scenario_options
from .schedule import Function, Schedule, generate
from .shown import shown
from .strategy import find_strategy
from .timeline import Bubble, Timeline
from .units import Units
from .views import Plain, Shared, none_if_unset, sized
from .words import counted, names_checked, shown_briefly
from .writing import PAGES, ending_of, write_file

MOST_SPLIT_EFFORT = 4


def _figures(record: _abi.Candidate) -> Dict[str, Any]:
    bubble = Bubble(record.bubble_of_total, record.bubble_of_ideal, record.bubble_of_span)
    return {"step_time": record.step_time, "makespan": record.makespan, "span": record.span, "bubble": bubble,
            "peak_memory": record.peak_memory, "peak_device": record.peak_device,
            "limit_device": none_if_unset(record.limit_device), "overshoot": record.overshoot, "bound": record.bound,
            "bytes": record.bytes, "transfers": record.transfers, "proved": bool(record.proved), "ordered": bool(record.ordered), "offloads": record.offloads,
            "imbalance": record.imbalance}


def _candidate(number: int, record: _abi.Candidate, objective: Objective, effort: int, has_scenarios: bool, units: Units) -> Candidate:
    options: Dict[str, Union[int, str]] = {name: getattr(record, name) for name in ("group_size", "min_group_size") if getattr(record, name)}
    strategy, reason = decoded(record.strategy), units.told(decoded(record.reason)) or None
    placement = Placement(record.placement).name.lower()
    if strategy == "auto":
        options = {"placement": placement, "objective": objective.name.lower(), **({"effort": effort} if effort else {})}
    refused = record.status != Status.OK
    left_out = not refused and not record.evaluated
    if left_out:
        reason = "other candidates rank before it, as its lower bound shows"
    elif not refused and not record.fits:
        lack = f"{at_least(record.overshoot)}{units.after_memory}"
        reason = f"device {record.limit_device} is over its limit; the largest overshoot of a device is {lack}"
    limit = None if math.isinf(record.memory_limit) else record.memory_limit
    status = "refused" if refused else "left out" if left_out else "fits" if record.fits else "over limit"
    return Candidate(number, record.rank, strategy, options, placement, record.chunks, record.stages, record.microbatches, limit,
                     status, reason, slices=record.slices, offloaded=bool(record.offloaded), scenario_time=record.scenario_time if has_scenarios and not refused else None,
                     **({} if refused else {"bound": record.bound} if left_out else _figures(record)))


class _Channel(NamedTuple):
    """How transfers wait for each other; see Schedule.prove."""

    order: Union[ChannelOrder, str]
    rendezvous: bool
    batched: bool
    blocking: bool


class _Passes(NamedTuple):
    """The passes of a lowering for sharded parameters, and its prefetch distance; see Schedule.lower."""

    unshard: int
    unshard_lookahead: str
    reduce_grad: int
    receive_prefetch: int
    reduce_every: int


def _planned_again(config: Config, given: Dict[str, Any]) -> "Plan":
    return plan(config, **given)


class Plan(Shared, Sequence[Candidate]):
    """Ranked candidates: first candidates that fit, by step time and then peak memory; then candidates over their limit; then refused ones.

    ppsched.plan makes it. It is a sequence of Candidate by rank, the best first; `listed` has the candidates by number. Threads may
    share it. Methods refuse a candidate that the plan does not have, with ppsched.Error.

        plan = ppsched.plan(config, strategies=["1f1b", "zb_h1"])
        print(plan.best, [candidate.step_time for candidate in plan], plan.rows()[0]["bubble_of_total"])
    """

    config: Config
    objective: Objective
    lowering: Lowering
    embedding: Optional[ModelEnd]
    head: Optional[ModelEnd]
    layers: Optional[Layers]
    runtime: Optional[Runtime]
    _listing: Dict[str, Any]  # options of the list of candidates, with the library's names
    _given: Dict[str, Any]  # arguments of ppsched.plan, but for the config and progress
    _varying: Dict[str, Any]  # options of scenarios, as arguments of ppsched.plan; empty without scenarios

    def __reduce__(self) -> Any:
        """A pickle has the problem, which is planned again when it is read: with the same results, as plans are deterministic."""
        used = next((name for name, value in self._given.items() if isinstance(value, Iterator)), None)
        if used is not None:
            raise TypeError(f"a ppsched.Plan can only be pickled if its arguments are lists; {used} is an iterator")
        return _planned_again, (self.config, self._given)

    def __init__(self, handle: ctypes.c_void_p, config: Config, objective: Objective, effort: int, lowering: Lowering,
                 passes: _Passes, channel: _Channel, embedding: Optional[ModelEnd], head: Optional[ModelEnd], layers: Optional[Layers],
                 runtime: Optional[Runtime], has_asked: bool, has_scenarios: bool) -> None:
        self._handle = handle
        self.embedding, self.head, self.layers, self.runtime = embedding, head, layers, runtime
        self.config, self.objective, self.lowering = config, objective, lowering
        self._effort, self._passes, self._channel, self._has_asked = effort, passes, channel, has_asked
        self._has_scenarios, self._listing, self._varying = has_scenarios, {}, {}
        self._robust_words: List[str] = []  # the robust objective as options of the command
        self._release = weakref.finalize(self, lib.ppsched_plan_destroy, handle)
        self._candidates: List[Candidate] = []
        self._own: Dict[int, Own] = {}  # by number, after the library's
        self._has_listed = True         # False: there are only the caller's own candidates
        self._ranks_by_step = True      # False: ranks by scenarios
        self._frees_device_order = False
        self._runs: Dict[int, Tuple[Candidate, Any]] = {}  # by number: what runs_on.runs_on_candidate has found
        self._last: Optional[Tuple[Candidate, Schedule]] = None  # an iteration of the last candidate that it made

    def __len__(self) -> int:
        return self._listed_count() + len(self._own)

    def _ranking_time(self, candidate: Candidate) -> float:
        """The time by which candidates that fit are ranked."""
        return (candidate.step_time if self._ranks_by_step else candidate.scenario_time) or 0.0

    def _listed_count(self) -> int:
        return lib.ppsched_plan_count(self._handle) if self._has_listed else 0

    @overload
    def __getitem__(self, rank: int) -> Candidate: ...

    @overload
    def __getitem__(self, rank: slice) -> List[Candidate]: ...

    def __getitem__(self, rank: Union[int, slice]) -> Union[Candidate, List[Candidate]]:
        if not self._candidates:
            found = sorted(map(self._read, range(self._listed_count())), key=lambda candidate: candidate.rank)
            found = ranked([*found, *(own.candidate for own in self._own.values())]) if self._own else found
            if self._has_scenarios:  # bounds are for planned times
                found = [candidate._replace(bound=None) for candidate in found]
            self._candidates = with_least_bounds(found)
        if not isinstance(rank, (int, slice)):
            raise TypeError(f"the rank of a candidate must be an integer, not {shown(rank)}")
        return self._candidates[rank]

    def _read(self, number: int) -> Candidate:
        record = sized(_abi.Candidate)
        call(lib.ppsched_plan_get_candidate, ctypes.byref(record), self._handle, number)
        candidate = _candidate(number, record, self.objective, self._effort, self._has_scenarios, self.config.units)
        return candidate._replace(runs_on=self._runs_on(record), microbatch_order=self._order(candidate),
                                  device_order=self._device_order(number, record.status))

    def _runs_on(self, record: _abi.Candidate) -> Optional[List[str]]:
        if not self._has_asked or record.status != Status.OK:
            return None
        return [runtime.name.lower() for runtime in Runtime if record.runs_on >> runtime & 1]

    @property
    def listed(self) -> List[Candidate]:
        """The candidates by number, in the order of the library."""
        return sorted(self, key=lambda candidate: candidate.number)

    @property
    def best(self) -> Optional[Candidate]:
        """The best candidate that fits, or None."""
        return self[0] if len(self) > 0 and self[0].fits else None

    def _number(self, candidate: Candidate) -> int:
        if not isinstance(candidate, Candidate):
            raise Error(f"candidate must be a ppsched.Candidate of this plan, not {shown(candidate)}")
        if not 0 <= candidate.rank < len(self) or self[candidate.rank] != candidate:
            raise Error(f"{candidate.strategy} of rank {candidate.rank} is not a candidate of this plan")
        return candidate.number

    def config_of(self, candidate: Candidate) -> Config:
        """The config of a candidate."""
        if self._number(candidate) in self._own:
            return self._own[candidate.number].config
        config = self.config._like(new_handle(lib.ppsched_plan_create_config, self._handle, self._number(candidate)))._with_windows_of(self.config)
        if self.layers is not None:
            config._with_layer_windows(self.layers._channels)
        config._carries = config._carries or config.placement != self.config.placement
        if candidate.ordered:
            config.microbatch_order = tuple(self.microbatch_order(candidate))
        if candidate.device_order is not None:
            config.device_order = tuple(candidate.device_order)
        return config

    def microbatch_order(self, candidate: Candidate) -> List[int]:
        """For each microbatch of the candidate's schedule, the number of the config's microbatch that runs in this place."""
        self._number(candidate)  # raises for candidates of other plans
        order = candidate.microbatch_order
        return list(range(candidate.microbatches)) if order is None else list(order)

    def device_order(self, candidate: Candidate) -> List[int]:
        """For each place of the pipeline the number of its device. This is the order that the plan found or, if it searched for
        none, the order of the config."""
        order = candidate.device_order
        if not self._frees_device_order or order is None:
            return list(range(self.config.devices))
        before = self.config.device_order
        return [before.index(device) for device in order] if before else list(order)

    def _order(self, candidate: Candidate) -> Optional[List[int]]:
        if not candidate.ordered:
            return None
        order = self._numbers(lib.ppsched_plan_get_microbatch_order, ctypes.c_uint32, candidate.number)
        before = self.config.microbatch_order
        return [before[number] for number in order] if before else order

    def _device_order(self, number: int, status: int) -> Optional[List[int]]:
        if status != Status.OK or not self._frees_device_order:
            return list(self.config.device_order) or None
        order = self._numbers(lib.ppsched_plan_get_device_order, ctypes.c_uint32, number)
        before = self.config.device_order
        return [before[device] for device in order] if before else order

    def split(self, candidate: Candidate) -> Split:
        """The split of a candidate: the layers of each stage, and the recomputed layers. Only for a plan with layers."""
        number = self._number(candidate)
        return Split(self._numbers(lib.ppsched_plan_get_split, ctypes.c_uint32, number),
                     self._numbers(lib.ppsched_plan_get_recomputes, ctypes.c_uint8, number))

    def model(self, candidate: Candidate) -> Optional[LayerSplit]:
        """The layers with the candidate's split, for Schedule.launch; None if the plan has no layers."""
        return None if self.layers is None else LayerSplit(self.layers, self.split(candidate))

    def models(self, candidates: Iterable[Candidate]) -> Optional[Dict[int, LayerSplit]]:
        """The layers with the splits of several candidates, by rank, without refused candidates."""
        if self.layers is None:
            return None
        return {candidate.rank: LayerSplit(self.layers, self.split(candidate)) for candidate in candidates
                if candidate.status != "refused"}

    def _numbers(self, function: Any, kind: Any, candidate: int) -> List[int]:
        needed = ctypes.c_size_t()
        call(function, None, 0, ctypes.byref(needed), self._handle, candidate)
        numbers = (kind * needed.value)()
        call(function, numbers, needed.value, None, self._handle, candidate)
        return list(numbers)

    def schedule(self, candidate: Candidate, progress: Optional[Progress] = None) -> Schedule:
        """The schedule of a candidate as its strategy makes it, not lowered. progress: see ppsched.generate."""
        config = self.config_of(candidate)
        return self._made(candidate) or self._offloaded(candidate, generate(candidate.strategy, config, progress=progress))

    def _offloaded(self, candidate: Candidate, schedule: Schedule) -> Schedule:
        if not candidate.offloaded or chooses_offload(candidate.strategy):
            return schedule
        return schedule.offload(until_limit=bool(schedule.config.mem_limit))

    def _made(self, candidate: Candidate) -> Optional[Schedule]:
        """The schedule that a function of the caller made; None for strategies of the library."""
        own = self._own.get(candidate.number)
        if own is not None and own.schedule is None:
            raise Error(f"{candidate.strategy} was refused: {candidate.reason}")
        return None if own is None else own.schedule

    def iteration(self, candidate: Candidate, progress: Optional[Progress] = None) -> Schedule:
        """One iteration of a candidate's schedule, for runtimes that repeat it. If the iterations do not flush, or a search
        planned all iterations together, the result has all iterations."""
        config, made = self.config_of(candidate), self._made(candidate)
        if made is not None:
            return made
        strategy = find_strategy(candidate.strategy)
        if strategy.flushes and not any(option.name == "objective" for option in strategy.options):
            call(lib.ppsched_config_set_iterations, config._handle, 1)
        return self._offloaded(candidate, generate(candidate.strategy, config, progress=progress))

    def timeline(self, candidate: Candidate, progress: Optional[Progress] = None) -> Timeline:
        """The timeline of a candidate with all figures. The candidate is lowered and timed as in the plan.

        progress: see ppsched.generate. Searches run again.
        """
        return self._timed(self.schedule(candidate, progress))

    def _timed(self, schedule: Schedule) -> Timeline:
        """Times a candidate's schedule as the plan did."""
        if self.lowering == Lowering.NONE:
            return schedule.evaluate()
        channel = self._channel
        return schedule.lower(self.lowering, **self._passes._asdict()).evaluate_transfers(None, channel.order, rendezvous=channel.rendezvous,
                                                                batched=channel.batched, blocking=channel.blocking)

    def command(self, candidate: Candidate, costs: Optional[Sequence[str]] = None) -> List[str]:
        """The words of the `ppsched schedule` command that builds the candidate's schedule again; shlex.join turns them into a line.

        costs: words for times and memory, such as ["-c", "problem.yaml"] (default: the numbers of the plan's config).
        """
        if self._number(candidate) in self._own:
            raise Error(f"{candidate.strategy} is your own function, so no command can build its schedule; write the schedule with Plan.write")
        return schedule_words(self, candidate, costs)

    def write(self, candidate: Candidate, path: "Union[str, PathLike[str]]", format: Union[Format, str, None] = None, *,
              time_scale: float = 0.0, progress: Optional[Progress] = None) -> None:
        """Writes a candidate's schedule to a file, by its ending:

        .png, .svg, .pdf: a picture of its timeline. .csv: its order, not lowered, as torchtitan and PyTorch read it.
        .trace.json: its trace. .json, .txt: its schedule with all times (`pick -o` writes its answer instead). .html: a page
        with this candidate first, and all that rank after it; for the best candidate that is the page of the plan. If the
        candidate's microbatches have an order, the CSV gets a second file with the ending .order.json.

        format: as in Timeline.export, instead of the ending; time_scale: microseconds per unit of time in a trace.
        """
        if format is None and ending_of(os.fspath(path), PAGES):
            self._write_page(candidate, os.fspath(path))
            return
        name = None if format is None else format_name(format)
        write_file(os.fspath(path), name, lambda: self.timeline(candidate, progress), lambda: self.schedule(candidate, progress),
                   time_scale)

    def _write_page(self, candidate: Candidate, path: str) -> None:
        self._number(candidate)
        write_text(path, page_of(self, self[candidate.rank:]))

    def csv(self) -> str:
        """All candidates as CSV, one row per candidate by rank. Columns are the keys of `ppsched compare --json`; nested keys have a dot,
        such as "bubble.of_total" and "options.effort". Missing values are empty cells. With layers there are also "split" and "recompute",
        as in options of `ppsched schedule`."""
        return candidates_csv(self, self.config.units, self.models(self))

    def least_limit(self) -> LeastLimit:
        """The least memory limit, the same for all devices, under which some candidate fits; for plans in which none fits now.
        With layers only a few candidates are tried, so a candidate may fit under a lower limit, too. Errors: ppsched.Refused if no limit
        works, ppsched.Error if the plan has only functions of your own."""
        if not self._has_listed:
            raise Error("the least limit is searched only for strategies of the library, and this plan has none")
        limit, number = ctypes.c_double(), ctypes.c_uint32()
        call(lib.ppsched_plan_find_least_limit, ctypes.byref(limit), ctypes.byref(number), self._handle)
        return LeastLimit(limit.value, self.listed[number.value])

    def _add_own(self, functions: Sequence[Function]) -> None:
        first = self._listed_count()
        for number, function in enumerate(functions, first):
            self._own[number] = evaluate_own(function, self.config, number, self.objective, self.runtime, self._timed)

    def rows(self) -> List[Dict[str, Plain]]:
        """The ranked candidates as plain rows: pandas.DataFrame(plan.rows()), or polars.DataFrame."""
        return [plain_row(candidate) for candidate in self]

    def to_pandas(self) -> object:
        """The ranked candidates as a pandas.DataFrame, where pandas is installed; `rows` needs nothing.

            plan.to_pandas().groupby("strategy").step_time.min()
        """
        try:
            import pandas
        except ImportError:
            raise Error("to_pandas needs pandas (pip install pandas); rows() has the same as a list") from None
        return pandas.DataFrame(self.rows())

    def row(self, candidate: Candidate, csv: Optional[str] = None, *, micro_batch: int = 0, data_parallel: int = 1) -> Dict[str, object]:
        """The row of a candidate that `pick --json` prints: its figures, devices and split, the launch arguments of each runtime
        ("launch"), and the command that builds it. csv, micro_batch, data_parallel: see Schedule.launch."""
        return Chosen(self, [candidate], None, (micro_batch, data_parallel)).row(candidate, csv)

    def _repr_html_(self) -> str:
        """The candidates as a table, for notebooks."""
        return html_table(self[:], self.config.units)

    def __repr__(self) -> str:
        best, fitting = self.best, sum(candidate.fits for candidate in self)
        words = "" if best is None else f"; best {best.strategy} with step time {best.step_time:g}"
        return (f"<ppsched.Plan for {counted(self.config.devices, 'device')}: {counted(len(self), 'candidate')}, {fitting} of them "
                f"fit{words}>")


def _list(options: Union[_abi.PlanOptions, _abi.SliceOptions], name: str, count: str, values: Optional[Sequence[Any]], kind: Any) -> Any:
    """Sets a list of the options, if it is given; returns the array, which must stay alive."""
    if values is None:
        return None
    array = (kind * len(values))(*values)
    setattr(options, name, ctypes.cast(array, ctypes.POINTER(kind)))
    setattr(options, count, len(values))
    return array


def _several(name: str, values: Any) -> List[Any]:
    """A list of names; a single name may be given alone."""
    if isinstance(values, str) or callable(values):
        return [values]
    if not isinstance(values, Iterable):
        raise Error(f"{name} must be a list of names, not {shown(values)}")
    return list(values)


def _counts(name: str, values: Union[Iterable[int], int, None]) -> Optional[List[int]]:
    if values is None:
        return None
    is_list = isinstance(values, Iterable) and getattr(values, "ndim", 1) > 0  # an array without dimensions is a number
    given = cast(Iterable[object], values) if is_list else [values]
    counts = [integer(name, value) for value in given]
    if any(not 0 < value < 2**31 for value in counts):
        raise Error(f"{name} has {counts}; they must be at least 1 and below 2**31", Status.ERROR_RANGE)
    if not counts:
        raise Error(f"{name} is an empty list", Status.ERROR_LENGTH)
    return counts


def _within(name: str, value: int, most: int) -> int:
    """Checks the range here, as C would cut the number."""
    if not 0 <= integer(name, value) < 2**32:
        raise Error(f"{name} is {value}; it must be 0 to {most}", Status.ERROR_RANGE)
    return value


def _placement_bits(placements: Union[Iterable[Union[Placement, str]], Placement, str, None]) -> int:
    if placements is None:
        return 0
    names = list(placements) if isinstance(placements, Iterable) and not isinstance(placements, str) else [placements]
    if not names:
        raise Error("placements is an empty list", Status.ERROR_LENGTH)
    bits = 0
    for placement in names:
        bits |= 1 << member(Placement, "placement", placement)
    return bits


def _reductions(value: int) -> int:
    """reduce_grad of a plan's lowering. The waits of 2 are not ops, so they would take no time in a plan."""
    number = _within("reduce_grad", int(value) if isinstance(value, bool) else value, 4)
    if number == 2:
        raise Error("reduce_grad is 2, and a plan cannot time its waits, which are not ops; give 1, or 3 for waits that are ops", Status.ERROR_RANGE)
    return number


def _lower_options(lowering: Union[Lowering, str], unshard: int, lookahead: Union[UnshardLookahead, str], reduce_grad: int,
                   receive_prefetch: int, reduce_every: int) -> _abi.LowerOptions:
    """The options of the lowering. Without a lowering they would be ignored, so they are refused here."""
    options = sized(_abi.LowerOptions)
    options.lowering, options.unshard_lookahead = member(Lowering, "lowering", lowering), member(UnshardLookahead, "unshard_lookahead", lookahead)
    options.unshard, options.reduce_grad = _within("unshard", unshard, MAX_STAGES), _reductions(reduce_grad)
    options.receive_prefetch, options.reduce_every = _within("receive_prefetch", receive_prefetch, 64), every_of(reduce_every)
    if options.lowering == Lowering.NONE and (unshard or reduce_grad or options.reduce_every):
        raise Error("unshard, reduce_grad and reduce_every need a lowering")
    if options.lowering == Lowering.NONE and receive_prefetch:
        raise Error("receive_prefetch is only for the just_in_time lowering")
    if options.lowering == Lowering.NONE and options.unshard_lookahead != UnshardLookahead.FULL:
        raise Error("unshard_lookahead needs unshard; set unshard to 1 or more stages")
    return options


def _split_options(layers: Optional[Layers], empty_stages: bool, effort: int) -> _abi.SplitOptions:
    options = sized(_abi.SplitOptions)
    if layers is None and effort:
        raise Error("split_effort needs layers")
    if not 0 <= integer("split_effort", effort) <= MOST_SPLIT_EFFORT:
        raise Error(f"split_effort is {effort}; it must be 1 to {MOST_SPLIT_EFFORT}, or 0", Status.ERROR_RANGE)
    options.layers, options.empty_stages, options.effort = None if layers is None else layers._handle.value, bool(empty_stages), effort
    return options


@shown_briefly("objective", "strategies", "chunks", "memory_limits", "layers", "runtime")
@names_checked
def plan(config: Config, *, objective: Union[Objective, str] = "makespan", strategies: Union[Iterable[Union[str, Function]], str, Function, None] = None,
         chunks: Union[Iterable[int], int, None] = None, group_sizes: Union[Iterable[int], int, None] = None,
         microbatches: Union[Iterable[int], int, None] = None, memory_limits: Optional[Numbers] = None,
         placements: Union[Iterable[Union[Placement, str]], Placement, str, None] = None, effort: int = 0,
         lowering: Union[Lowering, str] = "none", order: Union[ChannelOrder, str] = "none", rendezvous: bool = False,
         batched: bool = False, blocking: bool = False, unshard: int = 0, unshard_lookahead: Union[UnshardLookahead, str] = "full",
         reduce_grad: int = 0, reduce_every: int = 1, receive_prefetch: Optional[int] = None, slices: Union[Iterable[int], int, None] = None, slice_time: float = 0.0,
         attention_share: float = 0.0, order_effort: int = 0, scenarios: int = 0, seed: int = 0, jitter: float = 0.0,
         message_jitter: float = 0.0, device_factors: Factors = (), link_factors: Factors = (), dispatch: Union[Dispatch, str] = "planned", rank_by: Union[RankBy, str] = "step",
         quantile: float = 0.9, offload: bool = False, embedding: Optional[ModelEnd] = None,
         head: Optional[ModelEnd] = None, layers: Union[Layers, Iterable[Layer], None] = None,
         empty_stages: bool = False, split_effort: int = 0, free_device_order: bool = False, top: int = 0,
         runtime: Union[Runtime, str, None] = None, runtimes: Optional[Iterable[Union[Runtime, str]]] = None,
         progress: Optional[Progress] = None) -> Plan:
    """Evaluates all candidates for a problem and ranks them.

    The config has the costs of its stages. It may have one stage per device, one per layer, or any other number of stages that
    is a multiple or a divisor of the candidates' numbers of stages. embedding, head: costs of the first and the last stage that
    are not divided, such as {"forward_time": 0.2}.
    objective: which time is the step time, "makespan" or "span".

    Candidates differ in:
      strategies: names, or your own functions as for ppsched.generate, which are called once with the config (default: all strategies
        that flush between iterations; v_search and auto, which search long, only with an effort, 1 to 12).
      chunks: stages per device (default: 1 to 4). group_sizes (default: all that are possible; if there are many, some of them).
      microbatches: numbers of microbatches for the same batch. memory_limits: each applies to every device. placements.
      slices: numbers of slices per microbatch, such as [1, 2, 4, 8], for a config with whole microbatches. An op of slice k of K takes
        (t / K + slice_time) * (1 - attention_share + attention_share * (2k + 1) / K); W has no slice_time. With layers, the default of
        attention_share is the mean of attention_share of the stage's layers.
      offload: candidates of rules (strategies with a fixed order) are also listed with offload (Candidate.offloaded). Such a
        candidate offloads only as many activations as needed to fit the memory limit; without a limit, it offloads all. The
        config must have host_bandwidth or offload_times.

    layers: ppsched.Layers, or their rows. Each candidate gets the best split into whole layers that is found. Layers are
      recomputed if the candidate does not fit without recomputation (Plan.split). With layers, the default of chunks is all
      numbers for which there are enough layers. Costs of stages in the config are ignored. empty_stages: stages in the middle
      may have no layers. split_effort: work of the split search, 1 to 4; each value takes up to 8 times as long as the value
      before (default: 3).
    free_device_order: with layers, the order of devices is searched, too (Candidate.device_order). Lists of devices and links, and
      device_factors and link_factors, number devices as the config does.
    top: how many of the best candidates are wanted, 0 for all. Candidates whose bounds show that they cannot be among these are
      left out, and rank last.
    runtimes: runtimes for which Candidate.runs_on is computed. runtime: candidates that this runtime cannot run are refused, and splits
      follow its rules.
    lowering: candidates are lowered, and timed with their transfers in the channel model of order, rendezvous, batched and blocking (see
      Schedule.prove). unshard,
      unshard_lookahead ("full", "auto" or "needed"), reduce_grad (but not 2), reduce_every and receive_prefetch are as in
      Schedule.lower. The step time is the time of all iterations, divided by the number of iterations.
    order_effort: 1 to 10: searches, for each candidate, for the best order of microbatches that differ (Plan.microbatch_order);
      0: no search.
    scenarios: number of scenarios, in which times vary as in Schedule.scenarios, by seed, jitter, message_jitter, device_factors,
      link_factors and dispatch. quantile: for rank_by "quantile". rank_by: "step", or over scenarios "mean", "quantile" or
      "worst" (Candidate.scenario_time).
    progress: a function that is called with the share of the work that is done and the best step time so far. If it returns
      False, the plan raises ppsched.Cancelled.
    Threads: the call does all its work in the calling thread. Other threads of the program run meanwhile, and may plan with the same config.
    Errors: ppsched.Error with what is wrong, TypeError for an argument that does not exist. A strategy that does not support the problem is
    no error: its candidates rank last, with the status "refused" and a reason.

        plan = ppsched.plan(config, strategies=["1f1b", "zb_h1"], memory_limits=[4, 8])
        print(plan.best, plan.timeline(plan.best).metrics.bubble.of_total)
    """
    given = {name: value for name, value in locals().items() if name not in ("config", "progress")}
    config_of(config)
    check_progress(progress)
    aim = member(Objective, "objective", objective)
    options = sized(_abi.PlanOptions)
    options.objective, options.effort, options.placements = aim, _within("effort", effort, 12), _placement_bits(placements)
    lower = _lower_options(lowering, unshard, unshard_lookahead, reduce_grad, prefetch_of(lowering, receive_prefetch, blocking), reduce_every)
    if lower.lowering != Lowering.NONE:
        options.lower = ctypes.pointer(lower)
    chosen = [] if strategies is None else _several("strategies", strategies)
    own = [function for function in chosen if callable(function)]
    named = [encoded("strategy", name) for name in chosen if not callable(name)]
    names = None if strategies is None else named or [b"gpipe"] * bool(own)
    if own and (layers is not None or embedding is not None or head is not None):
        raise Error("your own function builds a schedule of the config's stages; it cannot be combined with layers, embedding and head")
    limits = None if memory_limits is None else numbers("memory_limits", memory_limits)
    model = channel_model(order, rendezvous=rendezvous, batched=batched, blocking=blocking)
    ends = model_end("embedding", embedding), model_end("head", head)
    options.channel, options.embedding, options.head = ctypes.pointer(model), ctypes.pointer(ends[0]), ctypes.pointer(ends[1])
    asked = [] if runtimes is None else _several("runtimes", runtimes)
    options.runtimes = sum({1 << member(Runtime, "runtime", name) for name in asked})
    planned_for = None if runtime is None else member(Runtime, "runtime", runtime)
    options.runtime = planned_for or 0
    options.order_effort, options.offload = _within("order_effort", order_effort, 10), bool(offload)
    options.free_device_order = bool(free_device_order)
    options.top = _within("top", top, 2**32 - 1)
    slicing, ranking = sized(_abi.SliceOptions), sized(_abi.RankingOptions)
    slicing.slice_time, slicing.attention_share = slice_time, attention_share
    ranking.rank_by, ranking.quantile = member(RankBy, "rank_by", rank_by), quantile
    ranking.scenario_count = _within("scenarios", scenarios, MAX_SCENARIOS)
    varying = scenario_options(seed, jitter, message_jitter, device_factors, dispatch, link_factors)
    if scenarios or jitter or message_jitter or len(device_factors) or len(link_factors):
        ranking.scenario_options = ctypes.pointer(varying)
    options.slice, options.ranking = ctypes.pointer(slicing), ctypes.pointer(ranking)
    if layers is not None and not isinstance(layers, Layers):
        layers = Layers(layers)
    split = _split_options(layers, empty_stages, split_effort)
    if layers is not None:
        options.split = ctypes.pointer(split)
    alive = [_list(options, "strategies", "strategy_count", names, ctypes.c_char_p),
             _list(options, "chunks", "chunk_count", _counts("chunks", chunks), ctypes.c_uint32),
             _list(options, "group_sizes", "group_size_count", _counts("group_sizes", group_sizes), ctypes.c_uint32),
             _list(options, "microbatches", "microbatch_count", _counts("microbatches", microbatches), ctypes.c_uint32),
             _list(slicing, "slices", "slice_count", _counts("slices", slices), ctypes.c_uint32),
             _list(options, "memory_limits", "memory_limit_count", limits, ctypes.c_double)]
    with config.units.telling(), Listener(config, progress) as told:
        made = Plan(new_handle(lib.ppsched_plan_create, told._handle, ctypes.byref(options)), config, aim, options.effort,
                    Lowering(lower.lowering), _Passes(unshard, name_of(UnshardLookahead(lower.unshard_lookahead)), lower.reduce_grad, lower.receive_prefetch, max(lower.reduce_every, 1)), _Channel(order, rendezvous, batched, blocking), embedding, head, layers, planned_for,
                    bool(asked), scenarios > 0)
        del alive
        made._given = given
        made._ranks_by_step = ranking.rank_by == RankBy.STEP
        if not made._ranks_by_step and options.effort and varying.dispatch == Dispatch.PLANNED:
            made._robust_words = words_of_robust_objective(ranking, config.devices)
        made._varying = {} if not scenarios else {"scenarios": scenarios, "seed": seed, "jitter": jitter, "message_jitter": message_jitter,
                                                  "device_factors": device_factors, "link_factors": link_factors}
        made._frees_device_order = bool(free_device_order)
        made._has_listed = bool(named) or not own
        made._listing = {"strategies": [decoded(name) for name in named], "chunks": _counts("chunks", chunks), "group_sizes": _counts("group_sizes", group_sizes),
                         "microbatches": _counts("microbatches", microbatches), "memory_limits": limits or [], "placements": options.placements,
                         "effort": options.effort, "order_effort": order_effort, "offload": int(offload),
                         "slice": {name: value for name, value in {"slices": _counts("slices", slices), "slice_time": slice_time,
                                                                   "attention_share": attention_share}.items() if value}}
        if made._has_listed:
            call(lib.ppsched_plan_run, made._handle)
    made._add_own(own)
    return made
