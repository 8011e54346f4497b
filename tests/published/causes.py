# SPDX-License-Identifier: Apache-2.0
"""What each cause that the model has betters: errors of the published runs if that cause alone is left out, and how many constants a device has.
The constants of the others stay as they are; so this is what a cause explains with them, not what a new fit without it would give.

    PPSCHED_LIBRARY=... PYTHONPATH=bindings/python python3 tests/published/causes.py"""
import pathlib
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from ppsched.command.price_runs import Priced, distinct, errors_of, price_run
from ppsched.readers.device_files import read_device
from ppsched.readers.runs import Run, read_runs

import ppsched

HERE = pathlib.Path(__file__).resolve().parent
BLACKWELL = ("b200", "b300", "gb200", "gb300")
OVERLAPS = ("overlaps_gradients", "overlaps_parameters", "overlaps_tensor", "overlaps_context", "overlaps_experts")
CONSTANTS = ("matrix_share", "attention_share", "fp8_share", "mxfp8_share", "nvfp4_share", "op_time", "host_time", "hidden_share", "permute_traffic",
             "fused_permute_traffic", "bias_traffic", "memory_hidden", "scan_share", "scale_slowdown", "slowdown")


class Cause(NamedTuple):
    """name: of the page; device, training: fields as they are without it."""

    name: str
    device: Dict[str, Any] = {}
    training: Dict[str, Any] = {}


CAUSES = [
    Cause("none left out"), Cause("rate of matrix products (`matrix_share`)", {"matrix_share": 0}),
    Cause("rate of attention scores (`attention_share`)", {"attention_share": 0}), Cause("precisions of 8 and 4 bits", {}, {"precision": "bf16"}),
    Cause("all overlaps", {}, dict.fromkeys(OVERLAPS, False)), Cause("overlap of gradients and weights", {}, dict.fromkeys(OVERLAPS[:2], False)),
    Cause("overlap of tensor parallelism", {}, {"overlaps_tensor": False}), Cause("overlap of context parallelism", {}, {"overlaps_context": False}),
    Cause("overlap of experts", {}, {"overlaps_experts": False}), Cause("shared network ports (`shares_ports`)", {"shares_ports": False}),
    Cause("one port for a part of a node (`part_node_ports`)", {"part_node_ports": 0}),
    Cause("memory traffic during products (`memory_hidden`)", {"memory_hidden": 0}),
    Cause("time of an op on the device (`op_time`)", {"op_time": 0}), Cause("time of an op on the host (`host_time`)", {"host_time": 0}),
    Cause("sorts of tokens by expert", {"permute_traffic": 0, "fused_permute_traffic": 0}),
    Cause("biases of experts (`bias_traffic`)", {"bias_traffic": 0}), Cause("one copy of a token for each node", {}, {"one_copy_a_node": False}),
    Cause("Mamba-2's scans in chunks (`scan_share`)", {"scan_share": 0}),
    Cause("waits that grow with devices (`scale_slowdown`)", {"scale_slowdown": 0}),
    Cause("bytes of gradients (4 for all runs)", {}, {"gradient_bytes": 4.0}),
    Cause("added: products 5 % slower during collectives", {"slowdown": 1.05})]

Group = Tuple[str, List[Run]]


def groups() -> List[Group]:
    """Each layout once, of known devices; those on A100 with a tensor parallelism up to 8, also where settings are open."""
    rows = []
    for run in read_runs(str(HERE / "runs.csv"), refuse=lambda error: None):
        try:
            if "/" not in run.device:
                rows.append(Priced(run, price_run(run, read_device(run.device))))
        except ppsched.Error:
            continue
    told = [row.run for row in distinct(rows)]
    a100 = [row for row in rows if row.run.device == "a100" and row.run.training.tensor_parallel <= 8]
    a100_runs = [row.run for part in (True, False) for row in distinct([row for row in a100 if row.run.is_told == part])]
    bits = ("bf16", "fp16")
    return [("H100, dense, 16 bits", [run for run in told if run.device == "h100" and not run.has_experts and run.training.precision in bits]),
            ("H100, dense, FP8", [run for run in told if run.device == "h100" and not run.has_experts and run.training.precision not in bits]),
            ("H100, MoE", [run for run in told if run.device == "h100" and run.has_experts]),
            ("Blackwell", [run for run in told if run.device in BLACKWELL]), ("A100", a100_runs),
            ("A100, one node", read_runs(str(HERE / "one_node.csv")))]


def without(run: Run, cause: Cause) -> float:
    """The error of a run's price without the cause."""
    training: Dict[str, Any] = cause.training
    device: Dict[str, Any] = cause.device
    changed = run._replace(training=run.training._replace(**training))
    return price_run(changed, read_device(run.device)._replace(**device)).step_time / run.step_time - 1


def table(found: Sequence[Group]) -> str:
    """Medians by group, and where leaving a cause out changes no price, a dash."""
    lines = ["| left out | " + " | ".join(f"{name}: {len(runs)}" for name, runs in found) + " |", "|---" * (1 + len(found)) + "|"]
    whole: List[List[float]] = []
    for cause in CAUSES:
        cells, errors = [], [[without(run, cause) for run in runs] for _, runs in found]
        whole = whole or errors
        for own, all_on in zip(errors, whole):
            of = errors_of(own)
            cells.append("-" if cause is not CAUSES[0] and own == all_on else f"{of.median:.1%}, {of.p90:.1%}".replace("%", " %"))
        lines.append(f"| {cause.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def constants() -> str:
    """How many of the constants that no data sheet has are in use, by device."""
    lines = ["| device | constants | which |", "|---|---|---|"]
    for device in ppsched.accelerators():
        used = [name for name in CONSTANTS if getattr(device, name) not in (0, False)]
        lines.append(f"| {device.name} | {len(used)} | {', '.join(used) or '-'} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(f"{table(groups())}\n\n{constants()}")
