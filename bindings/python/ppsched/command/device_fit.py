# SPDX-License-Identifier: Apache-2.0
"""The constants of a device that fit the runs of a file best."""
from typing import Dict, List, NamedTuple, Sequence

from .._core._library import Error
from .._core.accelerators import Accelerator
from .._core.calibrator import Calibrator
from ..readers.runs import Run
from .price_job import naming_split, pipeline_of
from .price_runs import job_of, naming_run


class Fit(NamedTuple):
    """device: with the constants; names: those that were fitted; errors: of each run, before and after; left_out: of each run, by the
    constants that fit all others."""

    device: Accelerator
    names: List[str]
    before: List[float]
    after: List[float]
    left_out: List[float]


def fit(device: Accelerator, runs: Sequence[Run]) -> Fit:
    if not runs:
        raise Error("there is no run to calibrate by")
    calibrator = Calibrator(device)
    for run in runs:
        with naming_run(run), naming_split():
            job, recompute = job_of(run, device)
            calibrator.append(run.description, job.model.training, run.step_time, **pipeline_of(job, recompute, run.settings))
    found = calibrator.run()
    return Fit(found.device, [constant.name for constant in found.constants], [run.error_before for run in found.runs],
               [run.error_after for run in found.runs], [run.error_left_out for run in found.runs])


def constants(found: Fit) -> Dict[str, float]:
    """Of the fit, in five digits."""
    return {name: float(f"{getattr(found.device, name):.5g}") for name in found.names}
