# SPDX-License-Identifier: Apache-2.0
"""Published runs whose price is far off, each with what is known of the cause, and with its price where that can be changed.

    PPSCHED_LIBRARY=... PYTHONPATH=bindings/python python3 tests/published/far_off.py"""
import os
import re
import sys
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from ppsched.command.price_runs import Priced, distinct, group_of, price_run
from ppsched.readers.device_files import read_device

FAR = 0.15


class Cause(NamedTuple):
    """runs: a pattern of their names; why: of the page; the other fields: what is changed to see whether it is the cause. Nothing is
    changed where no setting is known that would explain the time."""

    runs: str
    why: str
    training: Dict[str, Any] = {}
    device: Dict[str, Any] = {}
    run: Dict[str, Any] = {}


TUNED = {"overlaps_tensor": True, "overlaps_gradients": True, "overlaps_parameters": True, "gradient_bytes": 2.0, "sharding": 1}
CAUSES = [
    Cause("automodel-nemotron3-.*", "what is recomputed is not stated; without recomputation", run={"recompute": "none"}),
    Cause("automodel-gpt-oss.*", "Automodel adds the biases of all experts in one pass; without Megatron-LM's passes", device={"bias_traffic": 0}),
    Cause("nemo-24.07-.*", "overlaps, ZeRO and bytes of gradients are not stated; with all overlaps, ZeRO-1 and 2 bytes", TUNED),
    Cause("mlm-h100-32b", "bytes of gradients are not stated; with 2 bytes", {"gradient_bytes": 2.0}),
    Cause("nnscaler-.*", "recomputation is not stated; with full recomputation", run={"recompute": "full"}),
    Cause("primus-llama2-7b-.*", "not found; a stage takes 1.6 times the predicted time, see below"),
    Cause("primus-llama31-8b-fp8-.*", "bytes of gradients and recomputation are not stated; with 2 bytes", {"gradient_bytes": 2.0}),
    Cause("bridge-26.02.01-.*LLAMA3_70B-GB300-.*", "no recipe has this layout, and with these settings it does not fit into memory"),
    Cause("bridge-25.09-.*Qwen3_235B.*", "use of CUDA graphs is not stated; with CUDA graphs", {"graphs": True}),
    Cause("bridge-26.06-.*Nemotron_3_Super-B300.*", "only some modules have CUDA graphs, which counts as no graphs; with graphs of all modules", {"graphs": True}),
    Cause("bridge-26.06-.*Nemotron_3_Nano-B300.*", "not found; two fifths of the predicted time are Mamba's scans"),
    Cause("bridge-26.02.01-.*Qwen3_235B.*B300.*", "not found; see above"),
    Cause("bridge-25.11-.*DeepSeekV3-B200.*", "not found"),
    Cause("bridge-25.11-.*GPT_OSS_120B-B200-64-BF16-512", "what is recomputed is not stated; with full recomputation", run={"recompute": "full"}),
    Cause("dgxc-v25.05.05-340b-gb200-.*", "not found; the six runs of this model in this release have errors of 14 to 19 %"),
    Cause("titan-8b-t2-2", "not found; most of the step is the attention to 131,072 tokens"),
    Cause("titan-8b-asynctp-float8 rowwise-.*", "torchtitan's page says that this recipe was slow, and was being repaired"),
    Cause("titan-70b-asynctp-bf16-vanilla", "not found; with asynchronous tensor parallelism, the error is small"),
    Cause("vtrain-multi-(013|031|048|050|052|080|085)", "not found; tensor parallelism of 2 or 4, see below"),
    Cause("vtrain-multi-(021|022|024|039)", "vTrain's settings have 800 Gb/s for a node, half of what a100 has; with 800 Gb/s",
          device={"between": read_device("a100").between._replace(bandwidth=12.5e9)}),
    Cause("dgxc-v24.11.1-grok1-314b-2L-8-fp8", "not found; the other layouts of this model in this release have errors of at most 7 %"),
    Cause("dgxc-v25.04.02-llama3-70b-2048-fp8", "not found; in NeMo's examples, the predicted time of this model is 5 % too short"),
    Cause("automodel-lora-.*", "not found; some settings are not stated"),
]


def cause_of(row: Priced) -> Optional[Cause]:
    return next((cause for cause in CAUSES if re.fullmatch(cause.runs, row.run.name)), None)


def far_rows(rows: Sequence[Priced]) -> List[Priced]:
    """Each layout once, the farthest first."""
    return sorted((row for row in distinct(rows) if abs(row.error) > FAR), key=lambda row: (-abs(row.error), row.run.name))


def changed_error(row: Priced, cause: Cause) -> Optional[float]:
    """The error of the price with what the cause changes; nothing if it changes nothing."""
    if not (cause.training or cause.device or cause.run):
        return None
    training, device, fields = cause.training, cause.device, cause.run
    run = row.run._replace(training=row.run.training._replace(**training), **fields)
    return price_run(run, read_device(run.device)._replace(**device)).step_time / run.step_time - 1


def percent(error: Optional[float]) -> str:
    return "" if error is None else f"{error:+.0%}".replace("%", " %")


def table(rows: Sequence[Priced]) -> str:
    lines = ["| device | run | precision | measured | predicted | error | cause | error after the change |", "|---" * 8 + "|"]
    for row in far_rows(rows):
        cause = cause_of(row) or Cause(row.run.name, "not found")
        device = os.path.splitext(os.path.basename(row.run.device))[0]
        lines.append(f"| {device} | {row.run.name} | {group_of(row.run)[2]} | {row.run.step_time:.3g} s | {row.step.step_time:.3g} s | "
                     f"{percent(row.error)} | {cause.why} | {percent(changed_error(row, cause))} |")
    return "\n".join(lines)


if __name__ == "__main__":
    from accuracy_test import all_priced

    found = all_priced()[0]
    for told in (True, False):
        sys.stdout.write(f"{table([row for row in found if row.run.is_told == told])}\n\n")
