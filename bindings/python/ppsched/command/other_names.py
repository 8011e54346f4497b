# SPDX-License-Identifier: Apache-2.0
"""Names that users know from elsewhere: other programs' names of options, and options where the command takes a plain word."""
from typing import Dict, Sequence, Tuple

_PIPELINE = ("--pp", "--devices")
_CHUNKS = ("--vpp", "--chunks", "--num-virtual-stages-per-pipeline-rank", "--vp")
_MICROBATCHES = ("--microbatches", "--global-batch")
_GLOBAL_BATCH = ("--global-batch", "--microbatches")
_DEVICES = ("--gpus", "--devices", "--pp")
_KIND = ("--device",)
_LIMIT = ("--mem-limit",)
_SEQUENCE = ("--seq",)
_RECOMPUTE = ("--recompute",)
_LOST = ("--lost",)
_OVERLAP = ("--overlap",)
_MODEL = ("--model",)
_VERSION = ("--version",)
_STRATEGY = ("--strategies", "--strategy")

# By the name without dashes, in small letters: options that mean the same. The first one that a command has is proposed.
_SAME: Dict[str, Tuple[str, ...]] = {
    "devices": _PIPELINE, "num-devices": _PIPELINE, "gpus": _DEVICES, "format": ("--to", "--from", "--json"), "to": ("--format",),
    "strategy": _STRATEGY, "strategies": _STRATEGY, "schedule": _STRATEGY, "pipeline-schedule": _STRATEGY,
    "runtime": ("--launch",), "global-batch": _GLOBAL_BATCH, "device": ("--devices",), "mem-limits": _LIMIT, "m": ("--model",),
    "dp": ("--replica-speeds",), "data-parallel-size": ("--dp", "--replica-speeds"), "speeds": ("--replica-speeds", "--device-speeds"),
    "pipeline-model-parallel-size": _PIPELINE, "pipeline-parallel-size": _PIPELINE, "pipeline-parallel-degree": _PIPELINE,
    "pipeline-parallel": _PIPELINE, "pipeline": _PIPELINE,
    "tensor-model-parallel-size": ("--tp",), "tensor-parallel-size": ("--tp",), "tensor-parallel-degree": ("--tp",),
    "virtual-pipeline-model-parallel-size": _CHUNKS, "vpp": _CHUNKS, "vp": _CHUNKS, "num-model-chunks": _CHUNKS,
    "gradient-accumulation-steps": _MICROBATCHES, "micro-batches": _MICROBATCHES, "num-micro-batches": _MICROBATCHES,
    "mbs": ("--micro-batch", "--micro-batch-size"), "train-micro-batch-size-per-gpu": ("--micro-batch", "--micro-batch-size"),
    "gbs": _GLOBAL_BATCH, "train-batch-size": _GLOBAL_BATCH, "batch-size": _GLOBAL_BATCH,
    "zero-stage": ("--zero",), "stage-zero": ("--zero",),
    "sequence-length": _SEQUENCE, "seq-len": _SEQUENCE, "max-seq-len": _SEQUENCE, "context-length": _SEQUENCE,
    "world-size": _DEVICES, "num-gpus": _DEVICES, "ngpus": _DEVICES, "n-gpus": _DEVICES, "nodes": _DEVICES, "num-nodes": _DEVICES,
    "nnodes": _DEVICES, "gpu": _KIND, "gpu-type": _KIND, "hardware": _KIND, "accelerator": _KIND,
    "memory": _LIMIT, "memory-limit": _LIMIT, "max-memory": _LIMIT, "gpu-memory": _LIMIT,
    "recompute-granularity": _RECOMPUTE, "recompute-activations": _RECOMPUTE, "activation-checkpointing": _RECOMPUTE,
    "checkpoint-activations": _RECOMPUTE, "failed": _LOST, "dead": _LOST, "output-format": ("--to", "--format", "--json"), "v": _VERSION,
    "overlap-grad-reduce": _OVERLAP, "overlap-param-gather": _OVERLAP, "tp-comm-overlap": _OVERLAP,
    "model-name": _MODEL, "model-path": _MODEL, "hf-model": _MODEL, "config-file": ("--config", "--model"),
}

# By the name that the help gives to the argument of a command: options that users write for it.
_FILE = ("file", "f", "input", "input-file", "in", "path", "filename", "runs", "windows")
_PLAIN: Dict[str, Tuple[str, ...]] = {"FILE": _FILE, "RUNS.csv": _FILE, "name": ("name", "strategy"), "STRING": ("layout", "string")}


def plain_name(option: str) -> str:
    """The name of an option without dashes in front, as this command writes names."""
    return option.lower().lstrip("-").replace("_", "-")


def same_option(option: str, known: Sequence[str]) -> str:
    """The known option that means the same as one of another program or command, or an empty text."""
    return next((other for other in _SAME.get(plain_name(option), ()) if other in known), "")


def is_known(option: str) -> bool:
    """Whether it is clear what the option means elsewhere."""
    return plain_name(option) in _SAME


def is_plain_word(option: str, argument: str) -> bool:
    """Whether users write the option for this argument."""
    return plain_name(option) in _PLAIN.get(argument, ())
