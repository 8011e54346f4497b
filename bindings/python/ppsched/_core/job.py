# SPDX-License-Identifier: Apache-2.0
"""The layouts of a job: all ways to divide a training among a number of devices, bounded, and priced one by one."""
import ctypes
import contextlib
import itertools
from typing import ContextManager, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _abi
from ._library import Error, call, encoded, lib, new_handle
from .accelerators import Accelerator, accelerator_record
from .description import Description, c_count
from .enums import member, name_of
from .launching import RUNTIME_NAMES
from .layer_table import LayerTable, naming_rows, table_record
from .model import Training, _training_record
from .number_lists import numbers
from .price import RANK_ORDERS, StepPrice, _step, rank_order_number
from .views import sized

DIMENSIONS = {name_of(dimension): dimension for dimension in _abi.JobDimension}
Values = Mapping[str, Union[int, Sequence[int], str, Sequence[str]]]


class JobLayout(NamedTuple):
    """A layout, with its bounds: seconds of a step, and bytes of the device that lacks most memory. state: what is known of it, "listed", "slower",
    "over_limit", "does_not_fit", "refused" or "priced"."""

    number: int
    tp: int
    cp: int
    ep: int
    etp: int
    pp: int
    dp: int
    chunks: int
    micro_batch: int
    microbatches: int
    global_batch: int
    zero: int
    state: str
    bound: float
    least_memory: float
    rank_order: str
    types: Tuple[int, ...] = ()  # numbers of the types of devices, in the order of the pipeline; empty if devices are alike
    memory_limit: float = 0.0  # bytes, of the device that least_memory is of


class JobType(NamedTuple):
    """Devices of a type. memory_limit: bytes of each; 0: the memory of the device."""

    device: Accelerator
    gpus: int
    memory_limit: float = 0.0


class FoundLayout(NamedTuple):
    """What was found for a layout. price, strategy, split (layers of each stage, with ends), recompute and recompute_layers: of the
    fastest pipeline that fits, of that which lacks least if the state is "does_not_fit"; else None. memory: bytes of the device
    that lacks most; runs_on: names of runtimes; tried: how many pipelines were priced."""

    state: str
    memory: float
    runs_on: List[str]
    tried: int
    price: Optional[StepPrice] = None
    strategy: str = ""
    split: Tuple[int, ...] = ()
    recompute: Optional[str] = None
    recompute_layers: int = 0
    memory_limit: float = 0.0  # bytes that the strategy stayed within, if it is a search; on the first type of devices
    limit: float = 0.0  # bytes that the device of `memory` has


# Names of sizes in the library's errors, and those of dimensions; longer ones first.
_SIZES = {"expert_tensor_parallel": "etp", "tensor_parallel": "tp", "context_parallel": "cp", "expert_parallel": "ep", "micro_batch_size": "micro_batch"}


@contextlib.contextmanager
def _naming(table: LayerTable) -> Iterator[None]:
    """As a context manager: errors of a table's rows have the names that its file has."""
    try:
        with naming_rows(table):
            yield
    except Error as error:
        message = str(error)
        for name, word in _SIZES.items():
            message = message.replace(name, word)
        error.args = (message,)
        raise


def _state(number: int) -> str:
    return name_of(_abi.JobState(number))


class Job:
    """The layouts of a training on `gpus` devices, in the order of their bounds.

    fixed: values of some of tp, cp, ep, etp, pp, chunks, micro_batch, zero, global_batch and rank_order, one value or a list; all that is
    possible is tried for the others, but of rank_order the first of RANK_ORDERS alone. Of `training` the parallelism, the micro-batch and the sharding are not read. goal: "step" or "tokens".
    runtime: a name; only layouts that it runs. table: measured costs, whose rows say each size in which layouts differ. types: types of devices, whose numbers sum to gpus; `device` is not read then. Any number of threads may call price() at once.
    Errors: ppsched.Error with what is wrong, also where no layout is possible."""

    def __init__(self, description: Description, training: Training, device: Accelerator, *, gpus: int, fixed: Optional[Values] = None,
                 goal: str = "step", runtime: Optional[str] = None, strategies: Sequence[str] = (), memory_limit: float = 0.0,
                 table: Optional[LayerTable] = None, types: Sequence[JobType] = ()) -> None:
        self.device, self._types = device, len(types)
        options = sized(_abi.JobOptions)
        lists, kept = _lists(fixed or {})
        names = (ctypes.c_char_p * len(strategies))(*(encoded("strategy", name) for name in strategies))
        options.gpus, options.goal = c_count("gpus", gpus), member(_abi.JobGoal, "goal", goal)
        options.lists, options.list_count = ctypes.cast(lists, ctypes.POINTER(_abi.JobList)), len(lists)
        options.strategies, options.strategy_count = ctypes.cast(names, ctypes.POINTER(ctypes.c_char_p)), len(strategies)
        options.runtime = 0 if runtime is None else member(_abi.Runtime, "runtime", runtime)
        options.memory_limit = numbers("memory_limit", memory_limit)[0]
        measured = None if table is None else table_record(table)
        if measured is not None:
            options.table = ctypes.pointer(measured)
        kinds = (_abi.JobType * len(types))(*(_abi.JobType(ctypes.pointer(accelerator_record(one.device)), c_count("gpus", one.gpus), 0,
                                                           numbers("memory_limit", one.memory_limit)[0]) for one in types))
        options.types, options.type_count = ctypes.cast(kinds, ctypes.POINTER(_abi.JobType)), len(types)
        told: ContextManager[None] = contextlib.nullcontext() if table is None else _naming(table)
        with told:
            self._handle = new_handle(lib.ppsched_job_create, description._handle, ctypes.byref(_training_record(training)),
                                      ctypes.byref(accelerator_record(device)), ctypes.byref(options), None)
        del kept, measured, kinds

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            lib.ppsched_job_destroy(self._handle)

    def __len__(self) -> int:
        return int(lib.ppsched_job_layout_count(self._handle))

    def layout(self, number: int) -> JobLayout:
        """A layout by its number."""
        record = sized(_abi.JobLayout)
        call(lib.ppsched_job_get_layout, ctypes.byref(record), self._handle, c_count("layout", number))
        return JobLayout(number, record.tensor_parallel, record.context_parallel, record.expert_parallel, record.expert_tensor_parallel,
                         record.pipeline, record.data_parallel, record.chunks, record.micro_batch_size, record.microbatches,
                         record.global_batch, record.sharding, _state(record.state), record.bound, record.least_memory,
                         RANK_ORDERS[record.rank_order], type_orders(self._types)[record.type_order], record.memory_limit)

    def price(self, number: int, above: float = float("inf")) -> FoundLayout:
        """Prices a layout by the fastest pipeline that fits. If some runtime runs one of them, only those count. If it cannot be faster than
        `above` seconds, the state is "slower". The result does not depend on what was priced before."""
        found, price = sized(_abi.JobFound), ctypes.c_void_p()
        call(lib.ppsched_job_evaluate_layout, ctypes.byref(price), ctypes.byref(found), self._handle, c_count("layout", number), above)
        runs_on = [name for name in RUNTIME_NAMES if found.runs_on >> member(_abi.Runtime, "runtime", name) & 1]
        if not price:
            return FoundLayout(_state(found.state), found.memory, runs_on, found.tried, limit=found.memory_limit)
        try:
            pipeline = sized(_abi.Pipeline)
            call(lib.ppsched_price_get_pipeline, ctypes.byref(pipeline), price)
            return FoundLayout(_state(found.state), found.memory, runs_on, found.tried, _step(price, pipeline.devices),
                               (pipeline.strategy or b"").decode(), tuple(pipeline.split[:pipeline.devices * pipeline.chunks]),
                               pipeline.recompute.decode() if pipeline.recompute else None, pipeline.recompute_layers,
                               pipeline.memory_limit, found.memory_limit)
        finally:
            lib.ppsched_price_destroy(price)


def type_orders(count: int) -> List[Tuple[int, ...]]:
    """The orders of so many types of devices, by their numbers."""
    return list(itertools.permutations(range(count))) if count <= 3 else [tuple(range(count))]


def _lists(fixed: Values) -> Tuple["ctypes.Array[_abi.JobList]", List[object]]:
    """The library's lists, and what they point to."""
    rows: List[_abi.JobList] = []
    kept: Dict[str, object] = {}
    for name, given in fixed.items():
        if name not in DIMENSIONS:
            raise Error(f"there is no {name!r}; layouts differ in {', '.join(DIMENSIONS)}")
        values = [given] if isinstance(given, (int, str)) else list(given)
        if name == "rank_order":
            values = [rank_order_number(value) for value in values]
        array = (ctypes.c_uint32 * len(values))(*(c_count(name, value) for value in values))
        kept[name] = array
        rows.append(_abi.JobList(DIMENSIONS[name], len(values), ctypes.cast(array, ctypes.POINTER(ctypes.c_uint32))))
    return (_abi.JobList * len(rows))(*rows), list(kept.values())
