# SPDX-License-Identifier: Apache-2.0
"""The search among the layouts of a job, in this process or with an executor's workers: both give the same layouts, to the last bit."""
import array
import bisect
import queue
import warnings
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from ._library import Cancelled, Error
from .accelerators import Accelerator
from .description import Description
from .job import FoundLayout, Job, JobLayout, JobType
from .layer_table import LayerTable
from .listener import Progress, check_progress
from .model import Training
from .number_lists import integer
from .price import DevicePrice

BATCH, MOST_AT_ONCE, WAITING = 8, 32, 16  # layouts that are sent at once, at first and later; batches that are under way
WARMED = 8  # workers that start early, at most


class JobWords(NamedTuple):
    """What makes a job, in values that can be sent to another process."""

    description: str  # its JSON
    training: Training
    device: Accelerator  # the first of several types
    gpus: int
    fixed: Tuple[Tuple[str, Any], ...] = ()
    goal: str = "step"
    runtime: Optional[str] = None
    strategies: Tuple[str, ...] = ()
    memory_limit: float = 0.0
    table: Optional[LayerTable] = None  # of tuples
    types: Tuple[JobType, ...] = ()  # empty: devices are alike

    def job(self) -> Job:
        return Job(Description(self.description), self.training, self.device, gpus=self.gpus, fixed=dict(self.fixed), goal=self.goal,
                   runtime=self.runtime, strategies=self.strategies, memory_limit=self.memory_limit, table=self.table, types=self.types)


class Ranked(NamedTuple):
    """A layout with what was found for it."""

    layout: JobLayout
    found: FoundLayout


def _lack(row: Ranked) -> Tuple[float, int]:
    """Bytes that the layout lacks, by which those that do not fit are ranked."""
    return row.found.memory - row.found.limit, row.layout.number


class Search(NamedTuple):
    """best: the first `top`; lacking: those closest to fitting; counts: of all layouts, how many there are, over the limit, slower
    than the last of the best by their bounds, and priced."""

    job: Job
    best: List[Ranked]
    lacking: List[Ranked]
    counts: Dict[str, int]


# --- pricing, here or in a worker ---

_made: Dict[JobWords, Job] = {}  # of a worker: the last


def _packed(found: FoundLayout) -> FoundLayout:
    """With the memory of all devices as one string of bytes, which is sent in a fraction of the time."""
    if found.price is None:
        return found
    memory: Any = array.array("d", [value for device in found.price.memory for value in device]).tobytes()
    return found._replace(price=found.price._replace(memory=memory))


def _unpacked(found: FoundLayout) -> FoundLayout:
    """The inverse; what was priced in this process is not packed."""
    if found.price is None or not isinstance(found.price.memory, bytes):
        return found
    values, width = array.array("d", found.price.memory), len(DevicePrice._fields)
    return found._replace(price=found.price._replace(
        memory=[DevicePrice(*values[first:first + width]) for first in range(0, len(values), width)]))


def _price(words: JobWords, numbers: List[int], above: List[float]) -> List[FoundLayout]:
    """Prices layouts in a worker, which makes the job once, or has that of the process from which it was forked."""
    if words not in _made:
        _made.clear()
        _made[words] = words.job()
    return [_packed(_made[words].price(number, limit)) for number, limit in zip(numbers, above)]


def _make_ready(executor: Any, words: JobWords) -> None:
    """Lets workers start and make the job while this process makes it. What goes wrong there shows when layouts are sent."""
    try:
        for _ in range(WARMED):
            executor.submit(_price, words, [], [])
    except RuntimeError:
        pass  # its workers have ended


class _Best:
    """The best so far, and what a layout must not exceed to be among them."""

    def __init__(self, job: Job, goal: str, top: int) -> None:
        self._job, self._by_tokens, self._top = job, goal == "tokens", top
        self.rows: List[Ranked] = []
        self._keys: List[Tuple[bool, float, float, int]] = []  # of the rows
        self.others: List[Ranked] = []  # priced, but they do not fit

    def _scale(self, layout: JobLayout) -> float:
        return layout.global_batch if self._by_tokens else 1

    def above(self, layout: JobLayout) -> float:
        """Seconds that the layout must not exceed."""
        if len(self.rows) < self._top or not self.rows[-1].found.runs_on:
            return float("inf")
        slack = 1 + 2.0**-48 if self._by_tokens else 1  # the product may round down, and the layout may rank with the same key
        return float(self._keys[-1][1] * self._scale(layout) * slack)

    def rules_out(self, layout: JobLayout) -> bool:
        return layout.bound / self._scale(layout) > (self.above(layout) / self._scale(layout))

    def take(self, layout: JobLayout, found: FoundLayout) -> None:
        if found.state == "does_not_fit":
            self.others = sorted([*self.others, Ranked(layout, found)], key=_lack)[:3]
        if found.state != "priced" or found.price is None:
            return
        key = (not found.runs_on, found.price.step_time / self._scale(layout), found.memory, layout.number)
        place = bisect.bisect(self._keys, key)
        self._keys.insert(place, key)
        self.rows.insert(place, Ranked(layout, found))
        del self._keys[self._top:], self.rows[self._top:]

    @property
    def step(self) -> float:
        return self.rows[0].found.price.step_time if self.rows and self.rows[0].found.price else float("inf")


def _possible(job: Job) -> int:
    """How many come before those whose memory cannot fit, by halving."""
    low, high = 0, len(job)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if job.layout(middle).state == "over_limit" else (middle + 1, high)
    return low


def _go_on(progress: Optional[Progress], done: int, possible: int, best: _Best) -> None:
    if progress is not None and progress(done / possible if possible else 1.0, best.step) is False:
        raise Cancelled("the search for layouts was cancelled")


def _search_here(job: Job, possible: int, best: _Best, progress: Optional[Progress]) -> None:
    for number in range(possible):
        layout = job.layout(number)
        if best.rules_out(layout):
            break
        best.take(layout, job.price(number, best.above(layout)))
        _go_on(progress, number + 1, possible, best)


def _is_lost(error: BaseException) -> bool:
    """Whether a worker ended, in place of what it runs having raised: concurrent.futures' BrokenExecutor, or its like of others."""
    names = {kind.__name__ for kind in type(error).__mro__}
    return bool(names & {"BrokenExecutor", "KilledWorker", "CancelledError"})


class _Workers:
    """Prices batches with an executor. Those that a worker does not return, as it ended, are priced here, with one warning for all."""

    def __init__(self, executor: Any, words: JobWords, job: Job, best: _Best) -> None:
        self._executor, self._words, self._job, self._best, self._has_warned = executor, words, job, best, False

    def send(self, layouts: List[JobLayout]) -> Any:
        """The future; None where the executor takes no more, as its workers have ended: then the layouts are priced."""
        try:
            return self._executor.submit(_price, self._words, [layout.number for layout in layouts],
                                         [self._best.above(layout) for layout in layouts])
        except RuntimeError as error:
            self._price_here(layouts, error)
            return None

    def take(self, future: Any, layouts: List[JobLayout]) -> None:
        try:
            found = future.result()
        except BaseException as error:
            if not _is_lost(error):
                raise
            self._price_here(layouts, error)
            return
        for layout, one in zip(layouts, found):
            self._best.take(layout, one)

    def _price_here(self, layouts: List[JobLayout], error: BaseException) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(f"a worker ended ({str(error) or type(error).__name__}); layouts of workers that ended are priced in this process",
                          RuntimeWarning, stacklevel=5)
        for layout in layouts:
            self._best.take(layout, self._job.price(layout.number, self._best.above(layout)))


def _search_with(executor: Any, words: JobWords, job: Job, possible: int, best: _Best, progress: Optional[Progress]) -> None:
    """Sends batches in the order of bounds, as long as the bound of the next does not rule it out."""
    workers = _Workers(executor, words, job, best)
    done: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
    under_way: Dict[Any, List[JobLayout]] = {}
    number = finished = 0
    try:
        while True:
            while number < possible and len(under_way) < WAITING:
                count = min(max(BATCH, finished // 64), MOST_AT_ONCE)
                layouts = [job.layout(one) for one in range(number, min(number + count, possible))]
                layouts = [layout for layout in layouts if not best.rules_out(layout)]
                if not layouts:
                    number = possible
                    break
                number += count
                future = workers.send(layouts)
                if future is None:
                    finished += len(layouts)
                    _go_on(progress, finished, possible, best)
                    continue
                under_way[future] = layouts
                future.add_done_callback(done.put)
            if not under_way:
                return
            future = done.get()
            layouts = under_way.pop(future)
            workers.take(future, layouts)
            finished += len(layouts)
            _go_on(progress, finished, possible, best)
    finally:
        for future in under_way:
            future.cancel()


# --- all ---

def _count(job: Job, possible: int, best: _Best) -> Dict[str, int]:
    """Layouts by what became of them. Whether the bound rules one out depends on the best alone, not on what happened to be priced."""
    low, high = 0, possible  # the first that is ruled out, by halving
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if best.rules_out(job.layout(middle)) else (middle + 1, high)
    return {"layouts": len(job), "over_limit": len(job) - possible, "slower": possible - low, "priced": low}


def _lacking(job: Job, possible: int, best: _Best) -> List[Ranked]:
    """The three that lack least: of those that were priced, and of those whose bound is above the limit."""
    ruled_out = [job.layout(number) for number in range(possible, min(possible + 3, len(job)))]
    rows = best.others + [Ranked(layout, FoundLayout("over_limit", layout.least_memory, [], 0, limit=layout.memory_limit)) for layout in ruled_out]
    return sorted(rows, key=_lack)[:3]


def search_layouts(words: JobWords, top: int = 10, executor: Any = None, progress: Optional[Progress] = None,
                   tell: Optional[Callable[[Job], None]] = None, forks: bool = False) -> Search:
    """executor: of concurrent.futures, or one that has submit, and futures with result, add_done_callback and cancel; None: here. An
    exception in a worker is raised. tell: gets the job before anything is priced. forks: workers are forked when the first layouts are sent,
    and so need not make the job again."""
    check_progress(progress)
    if integer("top", top) < 1:
        raise Error(f"top is {top}; it must be 1 or more")
    if executor is not None and not forks:
        _make_ready(executor, words)
    job = words.job()
    possible, best = _possible(job), _Best(job, words.goal, top)
    if tell is not None:
        tell(job)
    if executor is None:
        _search_here(job, possible, best, progress)
    else:
        if forks:
            _made[words] = job
        try:
            _search_with(executor, words, job, possible, best, progress)
        finally:
            _made.clear()
    rows, lacking = ([row._replace(found=_unpacked(row.found)) for row in found] for found in (best.rows, _lacking(job, possible, best)))
    return Search(job, rows, lacking, _count(job, possible, best))
