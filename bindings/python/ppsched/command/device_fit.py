# SPDX-License-Identifier: Apache-2.0
"""The constants of a device that fit measured runs best: least squares of the log error, each constant held near where it starts, so
that one run moves what it says most about, and many runs move all."""
import math
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from .._core._library import Error
from .._core.accelerators import Accelerator
from ..readers.runs import Run
from .price_runs import price_run

# Constants, and how far one is thought to be from its start, as the standard deviation of its logarithm.
SPREADS = {"matrix_share": 0.4, "attention_share": 0.1, "op_time": 0.3, "host_time": 0.3, "fp8_share": 0.2, "mxfp8_share": 0.2, "nvfp4_share": 0.2}
OF_PRECISION = {"fp8": "fp8_share", "mxfp8": "mxfp8_share", "nvfp4": "nvfp4_share"}
NOISE = 0.08  # of a run, the same
STEP = 0.02  # of a logarithm, for derivatives
MOST_SHARE = 2.0
ROUNDS, ENOUGH = 12, 1e-4

Point = List[float]  # logarithms of the constants


class Fit(NamedTuple):
    """device: with the constants; names: those that were fitted; errors: of each run, before and after; left_out: of each run, by the
    constants that fit all others."""

    device: Accelerator
    names: List[str]
    before: List[float]
    after: List[float]
    left_out: List[float]


def _started(device: Accelerator) -> Accelerator:
    """With its shares told. Without a share of MXFP8 a device has no MXFP8."""
    share = device.matrix_share or 1.0
    fields: Dict[str, Any] = {name: getattr(device, name) or 1.0 for name in ("fp8_share", "nvfp4_share")}
    return device._replace(matrix_share=share, attention_share=device.attention_share or share, **fields)


def _names(device: Accelerator, runs: Sequence[Run]) -> List[str]:
    used = {OF_PRECISION.get(run.training.precision) for run in runs}
    return [name for name in SPREADS if getattr(device, name) > 0 and (name not in OF_PRECISION.values() or name in used)]


def solve(matrix: List[List[float]], right: List[float]) -> List[float]:
    """Of a symmetric, positive system, by Cholesky's factors."""
    count = len(right)
    lower = [[0.0] * count for _ in right]
    for i in range(count):
        for j in range(i + 1):
            rest = matrix[i][j] - sum(lower[i][k] * lower[j][k] for k in range(j))
            lower[i][j] = math.sqrt(rest) if i == j else rest / lower[j][j]
    solved: List[float] = []
    for i in range(count):
        solved.append((right[i] - sum(lower[i][k] * solved[k] for k in range(i))) / lower[i][i])
    for i in reversed(range(count)):
        solved[i] = (solved[i] - sum(lower[k][i] * solved[k] for k in range(i + 1, count))) / lower[i][i]
    return solved


class _Problem:
    def __init__(self, start: Accelerator, runs: Sequence[Run]):
        self.start, self.runs, self.names = start, runs, _names(start, runs)
        self.origin = [math.log(getattr(start, name)) for name in self.names]
        self.weights = [(NOISE / SPREADS[name]) ** 2 for name in self.names]

    def device(self, point: Point) -> Accelerator:
        fields: Dict[str, Any] = {name: math.exp(value) if name == "op_time" else min(math.exp(value), MOST_SHARE)
                                  for name, value in zip(self.names, point)}
        return self.start._replace(**fields)

    def error(self, run: Run, point: Point) -> float:
        return math.log(price_run(run, self.device(point)).step_time / run.step_time)

    def errors(self, point: Point) -> List[float]:
        return [self.error(run, point) for run in self.runs]

    def cost(self, point: Point, errors: Sequence[float]) -> float:
        held = sum(weight * (value - start) ** 2 for weight, value, start in zip(self.weights, point, self.origin))
        return sum(error * error for error in errors) + held

    def slopes(self, point: Point, errors: Sequence[float]) -> List[List[float]]:
        """Of each run by each constant."""
        columns = []
        for number in range(len(point)):
            moved = list(point)
            moved[number] += STEP
            columns.append([(after - before) / STEP for after, before in zip(self.errors(moved), errors)])
        return [list(row) for row in zip(*columns)]

    def sums(self, point: Point, errors: Sequence[float], slopes: Sequence[Sequence[float]]) -> "_Sums":
        """Of all runs, and of how the constants are held."""
        total = _Sums([[0.0] * len(point) for _ in point], [0.0] * len(point))
        for number, weight in enumerate(self.weights):
            total.matrix[number][number] = weight
            total.right[number] = -weight * (point[number] - self.origin[number])
        for error, row in zip(errors, slopes):
            total.add(error, row, 1.0)
        return total


class _Sums(NamedTuple):
    """The system whose solution is where the errors, as straight lines, fit best."""

    matrix: List[List[float]]
    right: List[float]

    def add(self, error: float, row: Sequence[float], sign: float) -> None:
        """A run; with the sign -1 takes one out."""
        for i, one in enumerate(row):
            self.right[i] -= sign * one * error
            for j, other in enumerate(row):
                self.matrix[i][j] += sign * one * other

    def moved(self, point: Point) -> Point:
        return [value + change for value, change in zip(point, solve(self.matrix, self.right))]


def _descend(problem: _Problem) -> Tuple[Point, List[float]]:
    point = list(problem.origin)
    errors = problem.errors(point)
    for _ in range(ROUNDS):
        target = problem.sums(point, errors, problem.slopes(point, errors)).moved(point)
        cost = problem.cost(point, errors)
        for _ in range(6):  # halves of the way while it gets worse
            found = problem.errors(target)
            if problem.cost(target, found) <= cost:
                break
            target = [(near + far) / 2 for near, far in zip(point, target)]
        else:
            break
        gained = cost - problem.cost(target, found)
        point, errors = target, found
        if gained < ENOUGH * cost:
            break
    return point, errors


def fit(device: Accelerator, runs: Sequence[Run]) -> Fit:
    if not runs:
        raise Error("there is no run to calibrate by")
    problem = _Problem(_started(device), runs)
    point, errors = _descend(problem)
    slopes = problem.slopes(point, errors)
    sums, left_out = problem.sums(point, errors, slopes), []
    for run, error, row in zip(runs, errors, slopes):
        sums.add(error, row, -1.0)
        left_out.append(math.exp(problem.error(run, sums.moved(point))) - 1)
        sums.add(error, row, 1.0)
    before = [math.exp(error) - 1 for error in problem.errors(problem.origin)]
    return Fit(problem.device(point), problem.names, before, [math.exp(error) - 1 for error in errors], left_out)


def constants(found: Fit) -> Dict[str, float]:
    """Of the fit, in five digits."""
    return {name: float(f"{getattr(found.device, name):.5g}") for name in found.names}
