# SPDX-License-Identifier: Apache-2.0
"""Launch arguments: what a training runtime gets to run a schedule."""
import ctypes
import re
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence, Union

from . import _abi
from ._abi import Kind, Runtime
from ._library import Error, Refused, call, decoded, encoded, lib
from .enums import member
from .filling import text_of
from .layers import LayerSplit, split_record
from .number_lists import unsigned
from .shown import shown
from .views import sized
from .windows import StageWindows

if TYPE_CHECKING:
    from .schedule import Schedule

COMPUTE = {Kind.F, Kind.B, Kind.I, Kind.W}
RUNTIME_NAMES = tuple(decoded(lib.ppsched_runtime_name(runtime)) for runtime in Runtime)


def _options(csv: Optional[str], exact: bool, layers: int, model: Optional[LayerSplit], micro_batch: int,
             data_parallel: int) -> _abi.LaunchOptions:
    options = sized(_abi.LaunchOptions)
    options.exact = bool(exact)
    options.layers = unsigned("layers", layers)
    options.micro_batch, options.data_parallel = unsigned("micro_batch", micro_batch), unsigned("data_parallel", data_parallel)
    if model is not None and not isinstance(model, LayerSplit):
        raise Error(f"model must be a ppsched.LayerSplit, not {shown(model)}")
    if model is not None:
        record = split_record(*model)
        options.model, options.split = model.layers._handle.value, ctypes.pointer(record)
    options.csv = None if csv is None else encoded("csv", csv)
    return options


def launch_line(schedule: ctypes.c_void_p, runtime: Union[Runtime, str], csv: Optional[str], exact: bool,
                layers: int, model: Optional[LayerSplit], micro_batch: int, data_parallel: int) -> str:
    """The line; `schedule` is the library's handle."""
    number = member(Runtime, "runtime", runtime)
    options = _options(csv, exact, layers, model, micro_batch, data_parallel)
    return text_of(lib.ppsched_schedule_write_launch_arguments, schedule, number, ctypes.byref(options))


def can_launch(schedule: ctypes.c_void_p, runtime: str, exact: bool, model: Optional[LayerSplit]) -> bool:
    """Whether there is a line. It goes without an error record, as to find the others for its message takes longer."""
    options = _options(None, exact, 0, model, 0, 1)
    asked = (None, 0, ctypes.byref(ctypes.c_size_t()), schedule, member(Runtime, "runtime", runtime), ctypes.byref(options))
    status = lib.ppsched_schedule_write_launch_arguments(*asked, None)
    if status not in (_abi.Status.OK, _abi.Status.ERROR_REFUSED):
        call(lib.ppsched_schedule_write_launch_arguments, *asked)
    return bool(status == _abi.Status.OK)


def without_others(reason: str) -> str:
    """A reason without the list of runtimes that can run it."""
    return re.sub(r"; [^;]* can run it.*$", "", reason)


def launch_notes(schedule: "Schedule", runtime: str, model: Optional[LayerSplit] = None, layers: int = 0) -> List[str]:
    """Notes on what a launch line runs, which the line does not show. layers: see Schedule.launch."""
    notes, line = [], ""
    try:
        line = schedule.launch(runtime, exact=True, model=model, layers=layers)
    except Refused as error:
        notes.append(without_others(str(error)))
    if schedule.config.windows and _OVERLAPS in line:
        notes.append("the windows of a pair are timed in their best order; Megatron-LM launches them in another order, which may take longer; "
                     "for this order use ppsched price --pair-windows --pair-rule megatron or megatron_delayed")
    if runtime == "torchtitan" and schedule.kinds & {Kind.I, Kind.W}:
        notes.append("split backwards fail with FlexAttention, torchtitan's default attention; select another attention")
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


_OVERLAPS = "--overlap-moe-expert-parallel-comm"


def with_delayed_weights(line: str, windows: Sequence[StageWindows]) -> str:
    """A line of Megatron-LM that overlaps pairs, with the option that takes the weight gradients out of the backward's windows, if the
    windows of all stages have them on their own."""
    delays = bool(windows) and all(stage.lists["weight"] for stage in windows)
    return line.replace(_OVERLAPS, f"{_OVERLAPS} --delay-wgrad-compute") if delays else line


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
