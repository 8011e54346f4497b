# SPDX-License-Identifier: Apache-2.0
"""What to type: the arguments with which a training runtime runs a schedule."""
import ctypes

from . import _abi
from ._abi import Runtime
from ._library import Refused, call, encoded, lib
from .enums import member
from .views import sized

RUNTIME_NAMES = tuple(lib.ppsched_runtime_name(runtime).decode() for runtime in Runtime)


def launch_line(schedule, runtime, csv, exact):
    """The line; `schedule` is the library's handle."""
    runtime = member(Runtime, "runtime", runtime)
    options, needed = sized(_abi.LaunchOptions), ctypes.c_size_t()
    options.exact = bool(exact)
    options.csv = None if csv is None else encoded("csv", csv)

    def ask(buffer, capacity):
        call(lib.ppsched_schedule_launch, schedule, runtime, ctypes.byref(options), buffer, capacity,
             ctypes.byref(needed))

    ask(None, 0)
    buffer = ctypes.create_string_buffer(needed.value + 1)
    ask(buffer, len(buffer))
    return buffer.value.decode("utf-8")


def launch_row(schedule):
    """For each runtime the arguments that run a ppsched.Schedule, or why it cannot."""
    row = {}
    for runtime in Runtime:
        try:
            row[runtime.name.lower()] = {"line": schedule.launch(runtime), "reason": None}
        except Refused as error:
            row[runtime.name.lower()] = {"line": None, "reason": str(error)}
    return row
