# SPDX-License-Identifier: Apache-2.0
"""Measures a running pipeline of PyTorch: times and memory of its stages and the links between devices, as a ppsched.Config."""
import contextlib
import time
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

from .._core._library import Error
from .._core.config import Config
from .._core.number_lists import integer
from .._core.units import Units
from ..readers.profile import TIMES, Profile, reduced
from .installed import Pytorch, kept, pytorch

Method = Callable[..., Any]
Key = Tuple[int, str]                # stage and kind of an op
Interval = Tuple[Key, Any, Any]      # an op's start and end
Call = Tuple[int, Any, Any]          # call for a send or receive: number of ops before it, start and end
CALLS = "_batch_p2p"                 # the runtime's function for sends and receives
PINGS = 40
PAUSE = 0.004                        # seconds between pings, similar to messages of a step: threads go to sleep in between
MEMORY, TIME = "memory", "time"  # what is measured in a step


class _Clock:
    """Takes marks of time: events of an accelerator's queue, or the CPU's clock. Milliseconds between them are known after wait()."""

    def __init__(self, there: Pytorch, device: Any) -> None:
        self._queue = None if device.type == "cpu" else getattr(there.torch, device.type)
        self.device = device

    def mark(self) -> Any:
        if self._queue is None:
            return time.perf_counter()
        event = self._queue.Event(enable_timing=True)
        event.record()
        return event

    def wait(self) -> None:
        if self._queue is not None:
            self._queue.synchronize(self.device)

    def between(self, first: Any, last: Any) -> float:
        return float((last - first) * 1000 if self._queue is None else first.elapsed_time(last))

    def allocated(self) -> Optional[int]:
        """Bytes allocated on the device; None on the CPU."""
        return None if self._queue is None else int(self._queue.memory_allocated(self.device))

    def total(self) -> Optional[int]:
        return None if self._queue is None else int(self._queue.get_device_properties(self.device).total_memory)


def _local(tensors: Any) -> List[Any]:
    """This rank's part of tensors that may be sharded."""
    return [getattr(tensor, "_local_tensor", tensor) for tensor in tensors if hasattr(tensor, "untyped_storage")]


def _bytes_of(tensors: Any, without: Any = ()) -> int:
    """Bytes of the tensors' storages, each counted once."""
    known = {tensor.untyped_storage().data_ptr() for tensor in _local(without)}
    storages = {tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() for tensor in _local(tensors)}
    return sum(size for place, size in storages.items() if place not in known)


class _Watch:
    """Times and memory of one rank's stages, recorded while attached to them."""

    def __init__(self, there: Pytorch, schedule: Any, calls: bool = False) -> None:
        self.there, self.schedule, self.stages, self.tells_calls = there, schedule, schedule._stages, calls
        self.clock = _Clock(there, there.torch.device(self.stages[0].device))
        self.mode = ""
        self.ops: List[List[Interval]] = []       # per step
        self.calls: List[List[Call]] = []         # per step
        self.sent: Dict[int, int] = {}            # bytes of a stage's output
        self.memory: Dict[Key, List[int]] = {}    # bytes that an op adds

    @contextlib.contextmanager
    def attached(self) -> Iterator[None]:
        """Replaces the stages' methods meanwhile, and with calls also the runtime's function for sends and receives."""
        calls = getattr(self.there.schedules, CALLS) if self.tells_calls else None
        try:
            if calls is not None:
                setattr(self.there.schedules, CALLS, self._called(calls))
            for stage in self.stages:
                stage.forward_one_chunk = self._forward(stage, stage.forward_one_chunk)
                stage.backward_one_chunk = self._backward(stage, stage.backward_one_chunk)
                stage.backward_weight_one_chunk = self._watched(stage, lambda _: "W", stage.backward_weight_one_chunk)
            self.schedule._compute_loss = self._loss(self.schedule._compute_loss)
            yield
        finally:
            if calls is not None:
                setattr(self.there.schedules, CALLS, calls)
            for stage in self.stages:
                for name in ("forward_one_chunk", "backward_one_chunk", "backward_weight_one_chunk"):
                    vars(stage).pop(name, None)
            vars(self.schedule).pop("_compute_loss", None)

    def _watched(self, stage: Any, kind_of: Callable[[Dict[str, Any]], str], function: Method) -> Method:
        def run(*args: Any, **given: Any) -> Any:
            key, before, start = (stage.stage_index, kind_of(given)), self.clock.allocated(), self.clock.mark()
            result = function(*args, **given)
            if self.mode == TIME:
                self.ops[-1].append((key, start, self.clock.mark()))
            elif self.mode == MEMORY and before is not None:
                self.memory.setdefault(key, []).append((self.clock.allocated() or 0) - before)
            return result
        return run

    def _called(self, function: Method) -> Method:
        def run(operations: Any, *args: Any, **given: Any) -> Any:
            start = self.clock.mark()
            result = function(operations, *args, **given)
            if self.mode == TIME and operations:
                self.calls[-1].append((len(self.ops[-1]), start, self.clock.mark()))
            return result
        return run

    def _backward(self, stage: Any, function: Method) -> Method:
        return self._watched(stage, lambda given: "B" if given.get("full_backward", True) else "I", function)

    def _forward(self, stage: Any, function: Method) -> Method:
        watched = self._watched(stage, lambda _: "F", function)

        def run(microbatch: int, *args: Any, **given: Any) -> Any:
            if self.mode != MEMORY:
                return watched(microbatch, *args, **given)
            saved: List[Any] = []

            def note(tensor: Any) -> Any:
                saved.append(tensor)
                return tensor

            with self.there.torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
                result = watched(microbatch, *args, **given)
            outputs, inputs = kept(stage, microbatch)
            self.sent[stage.stage_index] = sum(output.numel() * output.element_size() for output in outputs)
            if self.clock.allocated() is None:
                held = _bytes_of([*saved, *outputs, *inputs], [*stage.submod.parameters(), *stage.submod.buffers()])
                self.memory.setdefault((stage.stage_index, "F"), []).append(held)
            return result
        return run

    def _loss(self, function: Method) -> Method:
        """The loss runs right after the last stage's forward; its time is added to that forward."""
        def run(*args: Any, **given: Any) -> Any:
            result = function(*args, **given)
            if self.mode == TIME:
                self.ops[-1][-1] = (*self.ops[-1][-1][:2], self.clock.mark())
            return result
        return run

    def steps(self, step: Callable[[], Any], count: int) -> None:
        """Runs one step to measure memory, then `count` steps to measure times."""
        for mode in [MEMORY] + [TIME] * count:
            self.mode = mode
            self.ops.extend([[]] if mode == TIME else [])
            self.calls.extend([[]] if mode == TIME else [])
            step()
        self.clock.wait()
        self.mode = ""

    def samples(self) -> Dict[Key, List[float]]:
        found: Dict[Key, List[float]] = {}
        for step in self.ops:
            for key, start, end in step:
                found.setdefault(key, []).append(self.clock.between(start, end))
        return found

    def _receives(self, key: Key) -> bool:
        """Whether an op's input comes from another rank, so that it may have to wait."""
        stage, kind = key
        source = stage + {"F": -1, "W": 0}.get(kind, 1)
        return source in range(self.schedule._num_stages) and source not in {mine.stage_index for mine in self.stages}

    def gaps(self) -> List[float]:
        """Times from an op to the next one if that has no input from another rank, without the calls that are measured separately."""
        found: List[float] = []
        for step, calls in zip(self.ops, self.calls):
            called: Dict[int, float] = {}
            for place, start, end in calls:
                called[place] = called.get(place, 0.0) + self.clock.between(start, end)
            found.extend(self.clock.between(before[2], op[1]) - called.get(place, 0.0)
                         for place, (before, op) in enumerate(zip(step, step[1:]), 1) if not self._receives(op[0]))
        return found

    def call_times(self) -> List[float]:
        return [self.clock.between(start, end) for step in self.calls for _, start, end in step]


@contextlib.contextmanager
def _split(there: Pytorch, schedule: Any) -> Iterator[None]:
    """Splits each full backward outside pairs into the backward of inputs and, right after it, that of weights."""
    kinds, order = there.schedules._ComputationType, schedule.pipeline_order_with_comms

    def halves(action: Any) -> List[Any]:
        if action.computation_type != kinds.FULL_BACKWARD:
            return [action]
        return [action._replace(computation_type=kind) for kind in (kinds.BACKWARD_INPUT, kinds.BACKWARD_WEIGHT)]

    schedule.pipeline_order_with_comms = {rank: [half for action in actions for half in halves(action)]
                                          for rank, actions in order.items()}
    try:
        yield
    finally:
        schedule.pipeline_order_with_comms = order


def _ping(there: Pytorch, clock: _Clock, group: Any, peer: int, is_first: bool, size: int) -> float:
    """Milliseconds to send `size` bytes one way: half of the round trip."""
    distributed = there.distributed
    buffer = there.torch.zeros(max(size, 1), dtype=there.torch.uint8, device=clock.device)

    times = []
    for _ in range(PINGS + 1):
        clock.wait()
        if is_first:
            time.sleep(PAUSE)
        start = time.perf_counter()
        for operation in (distributed.isend, distributed.irecv) if is_first else (distributed.irecv, distributed.isend):
            operation(buffer, peer, group=group).wait()
        clock.wait()
        times.append((time.perf_counter() - start) * 1000 / 2)
    return reduced(times[1:], "median")


def _pings(there: Pytorch, clock: _Clock, group: Any, rank: int, ranks: int, size: int) -> Dict[int, Tuple[float, float]]:
    """For the next rank in the ring: the time of a 1-byte message and of a full one. Pairs are measured one after the other."""
    distributed = there.distributed
    found: Dict[int, Tuple[float, float]] = {}
    for first in range(ranks if ranks > 2 else ranks - 1):
        pair = (first, (first + 1) % ranks)
        distributed.barrier(group=group)
        if rank in pair:
            other = pair[0] + pair[1] - rank
            peer = other if group is None else distributed.get_global_rank(group, other)
            times = [_ping(there, clock, group, peer, rank == first, bytes_) for bytes_ in (1, size)]
            if rank == first:
                found[pair[1]] = (times[0], times[1])
    return found


def _way_between(pings: List[Dict[int, Tuple[float, float]]], size: int) -> Dict[str, Any]:
    """Latency and bandwidth of all pairs of ranks. Neighbours in the ring are measured; others get those of the slowest neighbours."""
    ranks = len(pings)
    measured = {frozenset((first, second)): times for first, row in enumerate(pings) for second, times in row.items()}
    if not measured:
        return {}
    slowest = max(measured.values(), key=lambda times: times[1])

    def matrix(value: Callable[[Tuple[float, float]], float]) -> List[List[float]]:
        return [[value((0.0, 0.0) if a == b else measured.get(frozenset((a, b)), slowest)) for b in range(ranks)]
                for a in range(ranks)]

    return {"p2p_time": matrix(lambda times: min(times)),
            "p2p_bandwidth": matrix(lambda times: max(size, 1) / max(times[1] - times[0], 1e-6))}


def _seen(watch: _Watch, pings: Dict[int, Tuple[float, float]], resident: Optional[int]) -> Dict[str, Any]:
    """Everything that a rank sends to the others."""
    static = {}
    for stage in watch.stages:
        parameters = list(stage.submod.parameters())
        gradients = [parameter for parameter in parameters if parameter.requires_grad]
        static[stage.stage_index] = _bytes_of([*parameters, *stage.submod.buffers()]) + _bytes_of(gradients)
    return {"samples": watch.samples(), "gaps": watch.gaps(), "calls": watch.call_times(), "sent": watch.sent, "static": static, "pings": pings,
            "total": watch.clock.total(),
            "memory": {key: reduced([float(value) for value in values], "median") for key, values in watch.memory.items()},
            "other": None if resident is None else max(0, resident - sum(static.values()))}


def _config(ranks: List[Dict[str, Any]], stages: int, microbatches: int) -> Config:
    """Builds the Config from the results of all ranks; the same on every rank."""
    def joined(name: str) -> Dict[Any, Any]:
        return {key: value for rank in ranks for key, value in rank[name].items()}

    samples, memory, sent, static = (joined(name) for name in ("samples", "memory", "sent", "static"))
    gaps, calls = ([time for rank in ranks for time in rank[name]] for name in ("gaps", "calls"))
    columns = {kind: [samples.get((stage, kind.name), []) for stage in range(stages)] for kind in TIMES.values()}
    forward = [max(memory.get((stage, "F"), 0.0), 0.0) for stage in range(stages)]
    others: Dict[str, Any] = {"op_overhead": max(0.0, reduced(gaps, "median")) if gaps else 0.0,
                              "mem_forward": forward, "mem_static": [static[stage] for stage in range(stages)],
                              "activation_bytes": [sent[stage] for stage in range(stages)],
                              **_way_between([rank["pings"] for rank in ranks], max(sent.values()))}
    if calls:
        others["send_overhead"] = reduced(calls, "median")
    if all((stage, "I") in memory for stage in range(stages)):
        others["mem_backward_input"] = [max(memory[stage, "I"], -held) for stage, held in enumerate(forward)]
    if all(rank["total"] is not None for rank in ranks):
        others.update(mem_limit=[rank["total"] for rank in ranks], mem_other=[rank["other"] for rank in ranks])
    profile = Profile("the running job", stages, {kind: rows for kind, rows in columns.items() if any(rows)},
                      devices=len(ranks), microbatches=microbatches, others=others)
    profile.units = Units("ms", "B", "B")
    return profile.config(statistic="median")


def measure(schedule: Any, *args: Any, steps: int = 5, step: Optional[Callable[[], Any]] = None, split: bool = True,
            calls: bool = False, **given: Any) -> Config:
    """Measures a running pipeline of PyTorch and returns the same ppsched.Config on all its ranks. All ranks must call it together.

    schedule: a runtime with one or more stages per rank, such as PlannedSchedule. step: a function that runs one training
    step; default: schedule.step(*args, **given), which accumulates gradients. steps: how many steps are timed, after two steps of
    warm-up. split: if backwards are full ones, run the same number of steps again with each backward split into inputs and weights.
    calls: measure the calls for sends and receives separately, as send_overhead, which only plans with a lowering use; else they
    are a part of op_overhead, which all plans use.

    The Config is in milliseconds and bytes, with medians of:
    - times of F, B, I and W, on accelerators from the device's events; the last stage's F includes the loss;
    - op_overhead, the runtime's time from one op to the next;
    - activation_bytes, which a forward sends, and mem_forward, which it keeps (on accelerators what the allocator adds, else what
      autograd and the pipeline hold); mem_backward_input, which an I adds;
    - p2p_time and p2p_bandwidth of neighbours in the ring of ranks; other pairs get those of the slowest neighbours.
    mem_static are parameters, buffers and gradients. On accelerators there are also mem_limit, the device's whole memory, and mem_other, what
    is allocated besides mem_static before a step.
    """
    if integer("steps", steps) < 1:
        raise Error(f"steps is {steps}; it must be at least 1")
    there = pytorch()
    if not hasattr(schedule, "pipeline_order_with_comms"):
        raise Error("measure needs a pipeline runtime of PyTorch that has its order of ops, such as PlannedSchedule")
    if calls and not hasattr(there.schedules, CALLS):
        raise Error(f"PyTorch {there.version} has no {CALLS}, which is needed to measure calls of sends and receives; leave calls out")
    watch, run = _Watch(there, schedule, calls), step or (lambda: schedule.step(*args, **given))
    run()
    watch.clock.wait()
    resident = watch.clock.allocated()
    full = there.schedules._ComputationType.FULL_BACKWARD
    orders = schedule.pipeline_order_with_comms.values()
    has_full = any(action.computation_type == full for actions in orders for action in actions)
    with watch.attached():
        watch.steps(run, steps)
        if split and has_full:
            with _split(there, schedule):
                watch.steps(run, steps)
    group, ranks = watch.stages[0].group, watch.stages[0].group_size
    sizes: List[Any] = [None] * ranks
    there.distributed.all_gather_object(sizes, max(watch.sent.values()), group=group)
    pings = _pings(there, watch.clock, group, watch.stages[0].group_rank, ranks, max(sizes))
    seen: List[Any] = [None] * ranks
    there.distributed.all_gather_object(seen, _seen(watch, pings, resident), group=group)
    return _config(seen, schedule._num_stages, schedule._n_microbatches)
