# SPDX-License-Identifier: Apache-2.0
"""Lowered schedules as Chakra execution traces, for network simulators such as ASTRA-sim."""
import contextlib
import ctypes
import os
from typing import Any, Callable, Iterator, List, Optional, Sequence, Union

from . import _abi
from ._abi import ChakraLinks, ChakraSizes, Quantity
from ._library import Error, call, lib, new_handle
from .config import QUANTITIES, Config, quantities_in
from .enums import member
from .file_bytes import SCHEDULE, read_bytes
from .number_lists import number_given
from .output import whole_file
from .schedule import Schedule
from .units import BYTES
from .views import sized
from .words import names_checked

Path = Union[str, "os.PathLike[str]"]


def _options(config: Config, values: Any) -> _abi.ChakraOptions:
    options = sized(_abi.ChakraOptions)
    options.sizes = member(ChakraSizes, "sizes", values["sizes"])
    options.links = member(ChakraLinks, "links", values["links"])
    for name in ("time_scale", "bytes_scale", "memory_scale", "most_loss"):
        setattr(options, name, number_given(name, values[name]))
    options.time_scale = options.time_scale or config.units.microseconds
    return options


def _pieces(handle: ctypes.c_void_p, rank: int, take: Callable[[bytes], Any]) -> None:
    """Passes the bytes of a rank's trace to `take`."""
    raised: List[BaseException] = []

    def write(_user: Optional[int], data: int, size: int) -> int:
        try:
            take(ctypes.string_at(data, size))
        except BaseException as error:  # raised again after the C call
            raised.append(error)
            return 1
        return 0

    try:
        call(lib.ppsched_chakra_export, handle, rank, _abi.WriteFunction(write), None)
    except Error:
        if raised:
            raise raised[0] from None
        raise


@contextlib.contextmanager
def _traces(schedule: Schedule, config: Optional[Config], values: Any) -> Iterator[ctypes.c_void_p]:
    config = schedule.config if config is None else config
    options = _options(config, values)
    handle = new_handle(lib.ppsched_chakra_create, schedule._handle, config._handle, ctypes.byref(options))
    try:
        yield handle
    finally:
        lib.ppsched_chakra_destroy(handle)


@names_checked
def chakra_traces(schedule: Schedule, config: Optional[Config] = None, *, sizes: Union[ChakraSizes, str] = "bytes",
                  links: Union[ChakraLinks, str] = "senders", time_scale: float = 0.0, bytes_scale: float = 0.0,
                  memory_scale: float = 0.0, most_loss: float = 0.0) -> List[bytes]:
    """The traces of a lowered schedule, one per rank, with the costs of a config (default: the config of the schedule).

    sizes: sizes of messages. With "bytes" they are the bytes in the config, with "times" 2 bytes per nanosecond of the config's
    transfer time. links: "senders" if a device sends one message at a time, "ranks" if each directed link is a separate rank.
    time_scale: microseconds per unit of time (0: by the config's units, else 1). bytes_scale: bytes per unit of bytes (0: 1).
    memory_scale: bytes per unit of memory (0: no tensors). most_loss: largest share by which rounding to whole microseconds,
    nanoseconds or bytes may change a number. Errors: ppsched.Refused if the schedule is not lowered, ppsched.Error for wrong values.

        traces = ppsched.chakra_traces(schedule.lower("just_in_time"))
        print([len(trace) for trace in traces])
    """
    pieces: List[List[bytes]] = []
    with _traces(schedule, config, locals()) as handle:
        for rank in range(lib.ppsched_chakra_ranks(handle)):
            pieces.append([])
            _pieces(handle, rank, pieces[-1].append)
    return [b"".join(trace) for trace in pieces]


@names_checked
def write_chakra(prefix: Path, schedule: Schedule, config: Optional[Config] = None, *, sizes: Union[ChakraSizes, str] = "bytes",
                 links: Union[ChakraLinks, str] = "senders", time_scale: float = 0.0, bytes_scale: float = 0.0,
                 memory_scale: float = 0.0, most_loss: float = 0.0) -> int:
    """Writes the traces to files PREFIX.<rank>.et, either all or none; returns the number of files.

    prefix: the path of the files up to their ranks. schedule, config, sizes, links, time_scale, bytes_scale, memory_scale, most_loss: as
    for chakra_traces. Errors: those of chakra_traces, and ppsched.Error if a file cannot be written.

        print(ppsched.write_chakra("run", schedule.lower("just_in_time")), "files")
    """
    with _traces(schedule, config, locals()) as handle:
        paths = [f"{os.fspath(prefix)}.{rank}.et" for rank in range(lib.ppsched_chakra_ranks(handle))]
        with _whole_files(paths) as temporaries:
            for rank, temporary in enumerate(temporaries):
                with open(temporary, "wb") as file:
                    _pieces(handle, rank, file.write)
    return len(paths)


@contextlib.contextmanager
def _whole_files(paths: List[str]) -> Iterator[List[str]]:
    """Temporary files that replace the files at the end, all or none."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(whole_file(path)) for path in paths]
        try:
            stack.pop_all().close()
        except BaseException:
            for path in paths:
                with contextlib.suppress(OSError):
                    os.unlink(path)
            raise


def memory_scale_of(config: Config) -> float:
    """Bytes per unit of memory of the config; 1 if it has no unit."""
    return float(BYTES[config.units.memory]) if config.units.memory else 1.0


def chakra_schedule(traces: Sequence[bytes]) -> Schedule:
    """Reads a schedule from the traces of chakra_traces: the traces of all ranks, in order. Its config has the costs in the traces.
    Errors: ppsched.Error with the rank whose trace cannot be read.

        print(ppsched.chakra_schedule(ppsched.chakra_traces(schedule.lower("just_in_time"))))
    """
    if isinstance(traces, (bytes, str)) or not all(isinstance(trace, bytes) for trace in traces):
        raise Error("traces must be a list of bytes, one per rank")
    array = (_abi.ChakraTrace * max(len(traces), 1))(*[_abi.ChakraTrace(trace, len(trace)) for trace in traces])
    handles = ctypes.c_void_p(), ctypes.c_void_p()
    call(lib.ppsched_chakra_import, *map(ctypes.byref, handles), array, len(traces), None)
    try:
        costs = {name: _values(handles[1], quantity) for name, quantity in QUANTITIES.items()}
    finally:
        lib.ppsched_config_destroy(handles[1])
    return Schedule._read(handles[0], quantities_in({name: values for name, values in costs.items() if values}))


def _values(config: ctypes.c_void_p, quantity: Quantity) -> List[float]:
    count = ctypes.c_size_t()
    values = lib.ppsched_config_values(config, quantity, ctypes.byref(count))
    return [values[index] for index in range(count.value)]


def read_chakra(prefix: Path) -> Schedule:
    """Reads a schedule from the files PREFIX.<rank>.et, from rank 0 to the last that exists.

    prefix: the path of the files up to their ranks. Errors: FileNotFoundError if there is no file of rank 0, ppsched.Error with the rank
    whose file is no such trace.

        ppsched.write_chakra("run", schedule.lower("just_in_time"))
        print(ppsched.read_chakra("run"))
    """
    traces: List[bytes] = []
    while not traces or os.path.exists(f"{os.fspath(prefix)}.{len(traces)}.et"):
        traces.append(read_bytes(f"{os.fspath(prefix)}.{len(traces)}.et", SCHEDULE))
    try:
        return chakra_schedule(traces)
    except Error as error:
        error.args = (f"{os.fspath(prefix)}: {error}",)
        raise
