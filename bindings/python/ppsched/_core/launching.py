# SPDX-License-Identifier: Apache-2.0
"""Launch arguments: what a training runtime gets to run a schedule."""
import ctypes
import re
from typing import TYPE_CHECKING, Dict, List, Optional, Union

from . import _abi
from ._abi import Kind, Runtime
from ._library import Error, Refused, decoded, encoded, lib
from .enums import member
from .filling import text_of
from .layers import LayerSplit, split_record
from .number_lists import integer
from .shown import shown
from .views import sized

if TYPE_CHECKING:
    from .schedule import Schedule

COMPUTE = {Kind.F, Kind.B, Kind.I, Kind.W}
RUNTIME_NAMES = tuple(decoded(lib.ppsched_runtime_name(runtime)) for runtime in Runtime)


def launch_line(schedule: ctypes.c_void_p, runtime: Union[Runtime, str], csv: Optional[str], exact: bool,
                layers: int, model: Optional[LayerSplit], micro_batch: int, data_parallel: int) -> str:
    """The launch line; `schedule` is the library's handle."""
    number = member(Runtime, "runtime", runtime)
    options = sized(_abi.LaunchOptions)
    options.exact = bool(exact)
    options.layers = _count("layers", layers)
    options.micro_batch, options.data_parallel = _count("micro_batch", micro_batch), _count("data_parallel", data_parallel)
    if model is not None and not isinstance(model, LayerSplit):
        raise Error(f"model must be a ppsched.LayerSplit, not {shown(model)}")
    if model is not None:
        record = split_record(*model)
        options.model, options.split = model.layers._handle.value, ctypes.pointer(record)
    options.csv = None if csv is None else encoded("csv", csv)
    return text_of(lib.ppsched_schedule_write_launch_arguments, schedule, number, ctypes.byref(options))


def _count(name: str, value: int) -> int:
    number = integer(name, value)
    if not 0 <= number < 2**32:
        raise Error(f"{name} is {number}; it must be at least 0 and below 2**32", _abi.Status.ERROR_RANGE)
    return number


def without_others(reason: str) -> str:
    """A reason without the list of runtimes that can run it."""
    return re.sub(r"; [^;]* can run it.*$", "", reason)


def launch_notes(schedule: "Schedule", runtime: str, model: Optional[LayerSplit] = None, layers: int = 0) -> List[str]:
    """Notes on what a launch line runs, which the line does not show. layers: see Schedule.launch."""
    notes = []
    try:
        schedule.launch(runtime, exact=True, model=model, layers=layers)
    except Refused as error:
        notes.append(without_others(str(error)))
    if runtime == "torchtitan" and schedule.kinds & {Kind.I, Kind.W}:
        notes.append("split backwards need another attention than torchtitan's default FlexAttention, as its backward of inputs fails at "
                     "the BlockMask")
    if runtime == "pytorch" and any(kind not in COMPUTE for kind in schedule.kinds):
        notes.append("PyTorch 2.15 reads no lowered CSV without waits for sends and reductions; ppsched.torch.PlannedSchedule adds them")
    if runtime in ("pytorch", "torchtitan") and (turn := _turning_stage(schedule)) is not None:
        notes.append(f"run without validation: PyTorch's eval() raises AssertionError on rank {schedule.device_of(turn)}, which has the "
                     f"neighbouring stages {turn} and {turn + 1}; it works if they are on different ranks")
    return notes


def _turning_stage(schedule: "Schedule") -> Optional[int]:
    """The first stage whose next stage is on the same device, as at the turn of a V. It passes gradients on without a transfer, also in
    eval(), where there are none."""
    devices = [schedule.device_of(stage) for stage in range(schedule.stages)]
    return next((stage for stage, (one, other) in enumerate(zip(devices, devices[1:])) if one == other), None)


def with_options(line: str, options: str) -> str:
    """The line with further options of the runtime. If the line ends with a command, as torchtitan's may, they come before it."""
    words, space, last = line.rpartition(" ")
    if not last.startswith("activation-checkpoint:"):
        words, space, last = line, "", ""
    return f"{words} {options}{space}{last}" if options else line


def launch_row(schedule: "Schedule", csv: Optional[str] = None, model: Optional[LayerSplit] = None, micro_batch: int = 0,
               data_parallel: int = 1) -> Dict[str, Dict[str, Optional[str]]]:
    """For each runtime its launch arguments for a ppsched.Schedule, or the reason why it cannot run it. Arguments: see Schedule.launch."""
    row: Dict[str, Dict[str, Optional[str]]] = {}
    for runtime in Runtime:
        try:
            row[runtime.name.lower()] = {"line": schedule.launch(runtime, csv=csv, model=model, micro_batch=micro_batch,
                                                                     data_parallel=data_parallel), "reason": None}
        except Refused as error:
            row[runtime.name.lower()] = {"line": None, "reason": str(error)}
    return row
