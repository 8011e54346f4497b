# SPDX-License-Identifier: Apache-2.0
"""The constants of lib/model/accelerators.c, fitted to the runs of this folder: least squares of the logarithm of priced over measured, each
model, layout and microbatch once. Errors above FAR count by their amount, not by its square, so that no single run decides. Prints the
constants and the errors; with --older it fits to the older releases alone, and tries the newer ones. With --models it leaves out one model after
the other, with and without the growth by the number of devices. It takes some minutes.

    PPSCHED_LIBRARY=... PYTHONPATH=bindings/python python3 tests/published/fit.py [nvidia | hopper | a100] [--older | --models]"""
import math
import pathlib
import re
import sys
from typing import Dict, List, NamedTuple, Sequence, Tuple

from ppsched.command.price_runs import Priced, distinct, errors_of, price_run
from ppsched.readers.device_files import read_device
from ppsched.readers.runs import Run, read_runs

import ppsched

HERE = pathlib.Path(__file__).resolve().parent
HOPPER, FIRST, SECOND = ("h100",), ("b200", "gb200"), ("b300", "gb300")
BLACKWELL, NVIDIA, A100 = FIRST + SECOND, HOPPER + FIRST + SECOND, ("a100",)
SCAN = 2250 / 989.4  # of Blackwell's rate to Hopper's: a scan in chunks is as fast on both
FAR, HELD, STEP, ROUNDS = 0.12, 0.02, 0.02, 30
ONE_NODE = 0.15  # weight of each run on one node
NEWER = r"bridge-26\.0[4-9]"


class Constant(NamedTuple):
    """A field of some devices, what it starts as, and between which values it is. times: of some devices, by what it is multiplied."""

    field: str
    devices: Tuple[str, ...]
    start: float
    least: float
    most: float
    times: Tuple[Tuple[str, float], ...] = ()


PLANS = {
    "nvidia": [
        Constant("matrix_share", FIRST, 0.6, 0.3, 0.95), Constant("matrix_share", SECOND, 0.8, 0.3, 0.95),
        Constant("matrix_share", HOPPER, 0.67, 0.3, 0.95),
        Constant("attention_share", BLACKWELL, 0.36, 0.15, 1), Constant("attention_share", HOPPER, 0.7, 0.3, 1),
        Constant("fp8_share", BLACKWELL, 1, 0.5, 1.2), Constant("fp8_share", HOPPER, 0.9, 0.5, 1.2),
        Constant("mxfp8_share", BLACKWELL, 1.1, 0.4, 1.3), Constant("nvfp4_share", BLACKWELL, 1.1, 0.3, 1.3),
        Constant("op_time", BLACKWELL, 9e-6, 1e-7, 10e-6), Constant("op_time", HOPPER, 9e-6, 1e-7, 10e-6),
        Constant("host_time", BLACKWELL, 100e-6, 1e-6, 300e-6), Constant("host_time", HOPPER, 50e-6, 1e-6, 300e-6),
        Constant("permute_traffic", NVIDIA, 12, 1, 40), Constant("fused_permute_traffic", NVIDIA, 4, 0.05, 30),
        Constant("bias_traffic", NVIDIA, 35, 1, 60), Constant("scan_share", NVIDIA, 0.03, 0.005, 1, (("h100", SCAN),))],
    "hopper": [
        Constant("matrix_share", HOPPER, 0.67, 0.3, 0.95), Constant("attention_share", HOPPER, 0.416, 0.3, 1),
        Constant("fp8_share", HOPPER, 0.9, 0.5, 1.2), Constant("host_time", HOPPER, 50e-6, 1e-6, 300e-6)],
    "a100": [
        Constant("matrix_share", A100, 0.95, 0.7, 1.1), Constant("attention_share", A100, 0.5, 0.1, 1),
        Constant("host_time", A100, 50e-6, 1e-6, 200e-6)],
}


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


class Problem:
    """Runs with their weights, and the constants; a point is their logarithms."""

    def __init__(self, constants: Sequence[Constant], runs: Sequence[Run], weights: Sequence[float]):
        self.constants, self.runs, self.weights = constants, runs, weights
        self.bases = {run.device: read_device(run.device) for run in runs}
        self.start = [math.log(constant.start) for constant in constants]

    def devices(self, point: Sequence[float]) -> Dict[str, ppsched.Accelerator]:
        found = dict(self.bases)
        for constant, value in zip(self.constants, point):
            for name in constant.devices:
                if name in found:
                    times = dict(constant.times).get(name, 1.0)
                    found[name] = found[name]._replace(**{constant.field: math.exp(value) * times})
        return found

    def errors(self, point: Sequence[float]) -> List[float]:
        devices = self.devices(point)
        return [math.log(price_run(run, devices[run.device]).step_time / run.step_time) for run in self.runs]

    def cost(self, point: Sequence[float], errors: Sequence[float]) -> float:
        near = sum(weight * (error**2 if abs(error) < FAR else 2 * FAR * abs(error) - FAR**2) for error, weight in zip(errors, self.weights))
        return near + sum((HELD * (value - start))**2 for value, start in zip(point, self.start))

    def clipped(self, point: Sequence[float]) -> List[float]:
        return [min(max(value, math.log(constant.least)), math.log(constant.most)) for value, constant in zip(point, self.constants)]

    def slopes(self, point: Sequence[float], errors: Sequence[float]) -> List[List[float]]:
        """Of each constant by run; those that are at a limit step back from it."""
        columns = []
        for number in range(len(point)):
            moved = list(point)
            step = STEP if point[number] + STEP < math.log(self.constants[number].most) else -STEP
            moved[number] += step
            columns.append([(after - before) / step for after, before in zip(self.errors(moved), errors)])
        return columns

    def target(self, point: Sequence[float], errors: Sequence[float], columns: Sequence[Sequence[float]], damping: float) -> List[float]:
        """Where the errors, as straight lines, are least; the more damping, the nearer."""
        weights = [weight * min(1.0, FAR / max(abs(error), 1e-12)) for error, weight in zip(errors, self.weights)]
        matrix = [[sum(w * a * b for w, a, b in zip(weights, one, other)) for other in columns] for one in columns]
        right = [-sum(w * a * error for w, a, error in zip(weights, one, errors)) for one in columns]
        for number, (value, start) in enumerate(zip(point, self.start)):
            right[number] -= HELD**2 * (value - start)
            matrix[number][number] = (matrix[number][number] + HELD**2) * (1 + damping)
        return self.clipped([value + change for value, change in zip(point, solve(matrix, right))])

    def fit(self) -> List[float]:
        """Levenberg's and Marquardt's steps."""
        point, damping, small = self.clipped(self.start), 0.1, 0
        errors = self.errors(point)
        for _ in range(ROUNDS):
            columns, cost = self.slopes(point, errors), self.cost(point, errors)
            for _ in range(8):
                target = self.target(point, errors, columns, damping)
                found = self.errors(target)
                if self.cost(target, found) < cost:
                    break
                damping *= 4
            else:
                break
            damping /= 3
            small = small + 1 if cost - self.cost(target, found) < 1e-3 * cost else 0
            point, errors = target, found
            if small == 3:
                break
        return point


# --- how a step grows with the number of devices ---

def release_of(run: Run) -> str:
    found = re.match(r"[a-z]+-v?[0-9.]+", run.name)
    return found[0] if found else run.name


def scaling() -> List[Tuple[str, int, float]]:
    """Layouts that one release ran on three numbers of devices or more, with as many microbatches: their first run, these numbers, and j where
    measured over priced, without this effect, is c * (1 + j * log2(devices)), by least squares."""
    groups: Dict[Tuple[str, ...], Dict[int, Tuple[Run, float]]] = {}
    for run in read_runs(str(HERE / "runs.csv"), refuse=lambda error: None):
        try:
            if run.is_told and run.device in NVIDIA and not run.training.frozen_weights:
                price = price_run(run, read_device(run.device)._replace(scale_slowdown=0.0)).step_time
                groups.setdefault((release_of(run), str(run.microbatches), *run.key), {})[run.devices] = run, run.step_time / price
        except ppsched.Error:
            continue
    found = []
    for group in groups.values():
        if len(group) < 3:
            continue
        points = [(math.log2(devices), ratio) for devices, (_, ratio) in group.items()]
        middle, mean = sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)
        slope = sum((x - middle) * (y - mean) for x, y in points) / sum((x - middle)**2 for x, _ in points)
        found.append((group[min(group)][0].name, len(group), slope / (mean - slope * middle)))
    return found


# --- what is fitted, and what is printed ---

def runs_of(plan: str) -> Tuple[List[Run], List[float]]:
    """Each layout once; with their weights."""
    constants = PLANS[plan]
    names = {name for constant in constants for name in constant.devices}
    rows = []
    for run in read_runs(str(HERE / "runs.csv"), refuse=lambda error: None):
        try:
            if run.device in names and run.training.tensor_parallel <= 8:
                rows.append(Priced(run, price_run(run, read_device(run.device))))
        except ppsched.Error:
            continue
    told = distinct([row for row in rows if row.run.is_told])
    if plan != "a100":
        return [row.run for row in told], [1.0] * len(told)
    runs = [row.run for row in told + distinct([row for row in rows if not row.run.is_told])]
    single = read_runs(str(HERE / "one_node.csv"))
    return runs + single, [1.0] * len(runs) + [ONE_NODE**2] * len(single)


def table(runs: Sequence[Run], errors: Sequence[float]) -> str:
    """Errors by device and kind of model."""
    groups: Dict[Tuple[str, str, str], List[float]] = {}
    for run, error in zip(runs, errors):
        family = "blackwell" if run.device in BLACKWELL else run.device
        bits = "16 bits" if run.training.precision in ("bf16", "fp16") else "8 and 4 bits"
        kind = "one node" if run.name.startswith("vtrain-single") else "MoE" if run.has_experts else "dense"
        groups.setdefault((family, kind, bits), []).append(math.exp(error) - 1)
    lines = []
    for group, found in sorted(groups.items()):
        of = errors_of(found)
        lines.append(f"  {' '.join(group):32s} {of.layouts:4d} layouts, mean {of.bias:+.1%}, median {of.median:.1%}, 90th {of.p90:.1%}, "
                     f"largest {of.largest:.1%}")
    return "\n".join(lines)


def model_of(run: Run) -> str:
    """A name for all sizes and spellings of a model that the releases have, such as 7 of its layers."""
    name = re.sub(r"[^a-z0-9]", "", run.key[1].lower())
    found = re.search(r"llama[0-9]*?(?=8b|70b)|405b|gpt3|340b|15b|grok|deepseekv3|qwen3[0-9]*b|kimi|super|nano", name)
    return name if found is None else found[0] + ("" if "llama" not in found[0] else name[found.end():found.end() + 2])


def leave_models_out(plan: str, scales: bool) -> None:
    """Fits without each model in turn, and prints the errors of all these models. scales: with scale_slowdown."""
    runs, _ = runs_of(plan)
    errors: List[Tuple[Run, float]] = []
    for model in sorted(set(map(model_of, runs))):
        problems = [Problem(PLANS[plan], [run for run in runs if (model_of(run) == model) == out], [1.0] * len(runs)) for out in (False, True)]
        for problem in () if scales else problems:
            problem.bases = {name: device._replace(scale_slowdown=0.0) for name, device in problem.bases.items()}
        errors += zip(problems[1].runs, problems[1].errors(problems[0].fit()))
    print(f"models left out in turn, {'with' if scales else 'without'} scale_slowdown:\n"
          f"{table([run for run, _ in errors], [error for _, error in errors])}")


def main(words: Sequence[str]) -> None:
    if "--models" in words:
        for scales in (False, True):
            leave_models_out(next(word for word in words if word in PLANS), scales)
        return
    for plan in [word for word in words if word in PLANS] or list(PLANS):
        runs, weights = runs_of(plan)
        is_new = [bool(re.match(NEWER, run.name)) for run in runs]
        seen = [not ("--older" in words and new) for new in is_new]
        problem = Problem(PLANS[plan], [run for run, use in zip(runs, seen) if use], [weight for weight, use in zip(weights, seen) if use])
        point = problem.fit()
        for constant, value in zip(PLANS[plan], point):
            print(f"{constant.field:24s} {math.exp(value):<10.3g} {', '.join(constant.devices)}")
        print(f"fitted to:\n{table(problem.runs, problem.errors(point))}")
        if "--older" in words and any(is_new):
            newer = Problem(PLANS[plan], [run for run, new in zip(runs, is_new) if new], [])
            print(f"not seen:\n{table(newer.runs, newer.errors(point))}")


if __name__ == "__main__":
    main(sys.argv[1:])
