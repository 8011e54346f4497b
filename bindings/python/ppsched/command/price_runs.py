# SPDX-License-Identifier: Apache-2.0
"""Measured runs, priced: each row's error, and what these are by device, kind of model and precision."""
import contextlib
import math
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Sequence, Tuple

from .._core._library import Error
from .._core.accelerators import Accelerator
from .._core.price import StepPrice
from .._core.shown import printable
from ..readers.runs import DECIDING, Run, missing_columns, unread_columns
from .model_command import columns
from .model_options import Job, model_on
from .price_job import Recompute, as_megatron, priced, recompute_of
from .printing import tell


class Priced(NamedTuple):
    run: Run
    step: StepPrice

    @property
    def error(self) -> float:
        """Above 0: more is said than was measured."""
        return self.step.step_time / self.run.step_time - 1


class Errors(NamedTuple):
    """Of distinct layouts: the mean, and of the amounts the median, the 90th percentile and the largest."""

    layouts: int
    bias: float
    median: float
    p90: float
    largest: float


def tell_unread(command: str, path: str) -> None:
    """A line on columns that are not read."""
    columns = unread_columns(path)
    if columns:
        tell(command, f"warning: {path}: columns that are not read: {', '.join(map(printable, columns))}")


def tell_open(command: str, path: str, runs: Sequence[Run], counts: str = "") -> None:
    """A line on settings for which defaults are used: of columns that are missing, and of cells that are empty. counts: where only runs
    without such cells count, if there are any."""
    missing = missing_columns(path)
    if missing:
        tell(command, f"note: {path}: it has no columns {', '.join(missing)}; their defaults in docs/price.md are used")
    _tell_followed(command, path, runs)
    number = sum(not run.is_told for run in runs)
    if number == 0:
        return
    names = [name for name in (*DECIDING, "vp") if any(name in run.open_settings for run in runs)]
    left_out = f", and {'it does' if number == 1 else 'they do'} not count {counts}" if counts and number < len(runs) else ""
    tell(command, f"note: {path}: {number} of {len(runs)} runs {'leaves' if number == 1 else 'leave'} settings open ({', '.join(names)}); "
         f"{'its' if number == 1 else 'their'} defaults in docs/price.md are used{left_out}")


def _tell_followed(command: str, path: str, runs: Sequence[Run]) -> None:
    """A line on columns that are empty or missing, and follow from other columns."""
    names = sorted({name for run in runs for name in run.followed})
    if names:
        number = sum(bool(run.followed) for run in runs)
        tell(command, f"note: {path}: {number} of {len(runs)} runs {'has' if number == 1 else 'have'} no {', '.join(names)}; the values follow from other columns (docs/price.md)")


def tell_too_large(command: str, path: str, rows: Sequence[Priced], memories: Mapping[str, float]) -> None:
    """A line on runs that, as they are described, do not fit: they ran, so a setting probably differs. memories: bytes of each device."""
    def most(row: Priced) -> float:
        return max(device.total for device in row.step.memory)
    large = [row for row in rows if most(row) > memories[row.run.device]]
    if large:
        first, count = large[0], len(large)
        tell(command, f"note: {path}: {count} of {len(rows)} runs {'needs' if count == 1 else 'need'} more memory than the device has (the first: "
             f"{printable(first.run.name)}, {most(first) / 2**30:.0f} of {memories[first.run.device] / 2**30:.0f} GiB), so probably a setting is "
             "missing or wrong")


@contextlib.contextmanager
def naming_run(run: Run) -> Iterator[None]:
    """As a context manager: errors tell where the run is."""
    try:
        yield
    except Error as error:
        error.args = (f"{run.where}: {error}",)
        raise


def job_of(run: Run, device: Accelerator) -> Tuple[Job, Recompute]:
    """A run's job on a device, and what it recomputes."""
    recompute = as_megatron(recompute_of(run.recompute), run.training.keeps_scores)
    training = run.training._replace(recompute_modules=recompute.modules)
    return Job(model_on(run.description, training, device), run.pp, run.microbatches, run.vpp), recompute


def price_run(run: Run, device: Accelerator) -> StepPrice:
    """The step of a run on a device."""
    with naming_run(run):
        job, recompute = job_of(run, device)
        return priced(job, recompute, run.settings)


def errors_of(errors: Iterable[float]) -> Errors:
    """The 90th percentile is the least amount that nine in ten are not above."""
    given = list(errors)
    amounts: List[float] = sorted(abs(error) for error in given)
    count = len(amounts)
    middle = (amounts[(count - 1) // 2] + amounts[count // 2]) / 2
    return Errors(count, sum(given) / count, middle, amounts[math.ceil(0.9 * count) - 1], amounts[-1])


def distinct(rows: Sequence[Priced]) -> List[Priced]:
    """Of each model, layout and microbatch the run on the most devices; only of runs whose settings are told, if there are any."""
    told = [row for row in rows if row.run.is_told]
    found: Dict[Tuple[str, ...], Priced] = {}
    for row in told or rows:
        if row.run.key not in found or row.run.devices > found[row.run.key].run.devices:
            found[row.run.key] = row
    return list(found.values())


def group_of(run: Run) -> Tuple[str, str, str]:
    """Device, kind of model, precision; both forms of 16 bits are one."""
    precision = run.training.precision
    return run.device, "MoE" if run.has_experts else "dense", "bf16" if precision == "fp16" else precision


def by_group(rows: Sequence[Priced]) -> Dict[Tuple[str, str, str], Errors]:
    """Each layout once."""
    groups: Dict[Tuple[str, str, str], List[float]] = {}
    for row in distinct(rows):
        groups.setdefault(group_of(row.run), []).append(row.error)
    return {group: errors_of(errors) for group, errors in sorted(groups.items())}


# --- the answer ---

def runs_row(rows: Sequence[Priced]) -> Dict[str, Any]:
    """For JSON, in seconds and shares."""
    return {"runs": [{"id": row.run.name, "device": row.run.device, "measured_step_time": row.run.step_time, "step_time": row.step.step_time,
                      "error": row.error} for row in rows],
            "errors": [{"device": group[0], "model": group[1], "precision": group[2], **errors._asdict()}
                       for group, errors in by_group(rows).items()],
            "runs_with_open_settings": sum(not row.run.is_told for row in rows)}


def runs_table(rows: Sequence[Priced]) -> str:
    """Each run, and below the errors of distinct layouts."""
    lines = [["run", "device", "measured s", "priced s", "error"]]
    lines += [[row.run.name, row.run.device, f"{row.run.step_time:.4g}", f"{row.step.step_time:.4g}", f"{row.error:+.1%}"] for row in rows]
    groups = [["device", "models", "precision", "layouts", "mean", "median", "90th", "largest"]]
    groups += [[*group, str(errors.layouts), f"{errors.bias:+.1%}", *(f"{value:.1%}" for value in errors[2:])]
               for group, errors in by_group(rows).items()]
    assumed = sum(not row.run.is_told for row in rows)
    left_out = f", without {assumed} runs that leave settings open" if 0 < assumed < len(rows) else ""
    return f"{columns(lines)}\nEach model, layout and microbatch once{left_out}:\n\n{columns(groups)}"
