# SPDX-License-Identifier: Apache-2.0
"""The constants of a device that fit measured runs best."""
import ctypes
from typing import Any, List, NamedTuple, Optional

from . import _abi
from ._library import call, lib, new_handle
from .accelerators import Accelerator, accelerator_record
from .description import Description
from .enums import name_of, names_of
from .listener import Progress, Told, check_progress
from .model import Training, _training_record, check_kind
from .number_lists import numbers
from .price import pipeline_record
from .views import sized


class CalibratedConstant(NamedTuple):
    """A field of Accelerator, before and after the fit."""

    name: str
    before: float
    after: float


class CalibratedRun(NamedTuple):
    """The measured seconds of a step. An error is priced time / measured time - 1. There are three errors: with the start
    device, after the fit, and with a fit to all other runs."""

    step_time: float
    error_before: float
    error_after: float
    error_left_out: float


class Calibration(NamedTuple):
    """What a fit found: the device with the fitted constants, these constants, and the runs in the order in which they were
    added."""

    device: Accelerator
    constants: List[CalibratedConstant]
    runs: List[CalibratedRun]


class Calibrator:
    """Fits a few constants of a device to measured runs. The runs may have any models, layouts and schedules. The constants are
    matrix_share and attention_share; op_time and host_time, if the device has them; and the share of each precision that a run
    has.

    Each constant stays near its start value unless the runs require a change. So a single run moves the constants on which its
    time depends most, and many runs move all constants.
    Errors: ppsched.Error with what is wrong with the device; TypeError if an argument has another type. One thread at a time may add
    runs or fit.

        calibrator = ppsched.Calibrator(ppsched.find_accelerator("h100"))
        calibrator.append(ppsched.read_model("config.json").description, ppsched.Training(4096, tensor_parallel=8), 2.5, devices=4, microbatches=16)
        print(calibrator.run().constants)
    """

    def __init__(self, device: Accelerator) -> None:
        check_kind("Calibrator", "device", device, Accelerator)
        self._device = device
        self._handle = new_handle(lib.ppsched_calibrator_create, ctypes.byref(accelerator_record(device)), None)

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            lib.ppsched_calibrator_destroy(self._handle)

    def append(self, description: Description, training: Training, step_time: float, devices: int = 1, microbatches: int = 1, **pipeline: Any) -> None:
        """Adds a run, whose step took step_time seconds. devices, microbatches, pipeline: arguments of price(), without progress. Errors:
        those of Model and of price()."""
        check_kind("Calibrator.append", "description", description, Description)
        check_kind("Calibrator.append", "training", training, Training)
        call(lib.ppsched_calibrator_append_run, self._handle, description._handle, ctypes.byref(_training_record(training)),
             ctypes.byref(pipeline_record(devices, microbatches, **pipeline)), numbers("step_time", step_time)[0])

    def run(self, progress: Optional[Progress] = None) -> Calibration:
        """Fits the constants. progress: a function that is called after each run that is priced, with the share of the work
        that is done and the least sum of squares so far. If it returns False, the call raises ppsched.Cancelled.
        Errors: ppsched.Refused without a run."""
        check_progress(progress)
        with Told(progress) as function:
            call(lib.ppsched_calibrator_set_progress, self._handle, function, None)
            try:
                call(lib.ppsched_calibrator_run, self._handle)
            finally:
                call(lib.ppsched_calibrator_set_progress, self._handle, _abi.ProgressFunction(0), None)
        constants = [self._constant(number) for number in range(lib.ppsched_calibrator_constant_count(self._handle))]
        runs = [self._run(number) for number in range(lib.ppsched_calibrator_run_count(self._handle))]
        return Calibration(self._fitted(), constants, runs)

    def _constant(self, number: int) -> CalibratedConstant:
        record = sized(_abi.CalibratedConstant)
        call(lib.ppsched_calibrator_get_constant, ctypes.byref(record), self._handle, number)
        return CalibratedConstant(name_of(_abi.CalibratorConstant(record.constant)), record.before, record.after)

    def _run(self, number: int) -> CalibratedRun:
        record = sized(_abi.CalibratedRun)
        call(lib.ppsched_calibrator_get_run, ctypes.byref(record), self._handle, number)
        return CalibratedRun(record.step_time, record.error_before, record.error_after, record.error_left_out)

    def _fitted(self) -> Accelerator:
        """All shares that the fit started with, too."""
        record = sized(_abi.Accelerator)
        call(lib.ppsched_calibrator_get_accelerator, ctypes.byref(record), self._handle)
        return self._device._replace(**{name: getattr(record, name) for name in names_of(_abi.CalibratorConstant)})
