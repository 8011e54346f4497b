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
_MICRO_BATCH = ("--micro-batch", "--micro-batch-size")
_DATA = ("--dp",)
_ZERO = ("--zero",)
_BANDWIDTH = ("--p2p-bandwidth",)
_OUTPUT = ("--output",)

# By the name without dashes, in small letters: options that mean the same. The first one that a command has is proposed.
_SAME: Dict[str, Tuple[str, ...]] = {
    "devices": _PIPELINE, "num-devices": _PIPELINE, "gpus": _DEVICES, "format": ("--to", "--from", "--json"), "to": ("--format",),
    "strategy": _STRATEGY, "strategies": _STRATEGY, "schedule": _STRATEGY, "pipeline-schedule": _STRATEGY,
    "runtime": ("--launch",), "global-batch": _GLOBAL_BATCH, "global-batch-size": _GLOBAL_BATCH, "device": ("--devices",), "mem-limits": _LIMIT,
    "m": ("--model", "--microbatches"), "d": ("--devices", "--pp"), "p": _PIPELINE, "chunks": _CHUNKS, "tp": (), "top": (), "deepspeed": ("--runtime deepspeed", "--launch deepspeed"),
    "forward": ("--forward-times",), "backward": ("--backward-times",), "bandwidth": _BANDWIDTH, "link-bandwidth": _BANDWIDTH, "network-bandwidth": _BANDWIDTH,
    "latency": ("--p2p-time",), "microbatch-order": ("--order-microbatches",), "order": ("--order-microbatches",), "save": _OUTPUT, "outfile": _OUTPUT, "export": _OUTPUT,
    "dp": ("--replica-speeds",), "data-parallel-size": ("--dp", "--replica-speeds"), "speeds": ("--replica-speeds", "--device-speeds"),
    "pipeline-model-parallel-size": _PIPELINE, "pipeline-parallel-size": _PIPELINE, "pipeline-parallel-degree": _PIPELINE,
    "pipeline-parallel": _PIPELINE, "pipeline": _PIPELINE,
    "tensor-model-parallel-size": ("--tp",), "tensor-parallel-size": ("--tp",), "tensor-parallel-degree": ("--tp",),
    "virtual-pipeline-model-parallel-size": _CHUNKS, "vpp": _CHUNKS, "vp": _CHUNKS, "num-model-chunks": _CHUNKS,
    "pipeline-parallel-schedule": _STRATEGY, "pipeline-parallel-microbatch-size": _MICRO_BATCH, "num-layers-per-virtual-pipeline-stage": _CHUNKS,
    "context-parallel-degree": ("--cp",), "expert-parallel-degree": ("--ep",), "expert-parallel-size": ("--ep",),
    "data-parallel-degree": _DATA, "data-parallel-shard-degree": _DATA, "data-parallel-replicate-degree": _DATA, "dp-size": _DATA, "dp-shard": _DATA,
    "dp-replicate": _DATA, "fsdp": _ZERO, "zero-optimization": _ZERO,
    "fp16": ("--precision fp16",), "bf16": ("--precision bf16",), "fp8": ("--precision fp8",), "fp8-format": ("--precision fp8",),
    "torch-dtype": ("--precision",), "dtype": ("--precision",), "mixed-precision": ("--precision",),
    "gradient-accumulation-steps": _MICROBATCHES, "micro-batches": _MICROBATCHES, "num-micro-batches": _MICROBATCHES,
    "mbs": _MICRO_BATCH, "train-micro-batch-size-per-gpu": _MICRO_BATCH,
    "per-device-train-batch-size": _MICRO_BATCH, "gbs": _GLOBAL_BATCH, "train-batch-size": _GLOBAL_BATCH, "batch-size": _GLOBAL_BATCH, "batch": _GLOBAL_BATCH,
    "zero-stage": _ZERO, "stage-zero": _ZERO,
    "sequence-length": _SEQUENCE, "seq-len": _SEQUENCE, "max-seq-len": _SEQUENCE, "context-length": _SEQUENCE,
    "max-position-embeddings": _SEQUENCE, "max-seq-length": _SEQUENCE,
    "world-size": _DEVICES, "num-gpus": _DEVICES, "ngpus": _DEVICES, "n-gpus": _DEVICES, "nodes": _DEVICES, "num-nodes": _DEVICES,
    "nnodes": _DEVICES, "gpu": _KIND, "gpu-type": _KIND, "hardware": _KIND, "accelerator": _KIND,
    "memory": _LIMIT, "memory-limit": _LIMIT, "max-memory": _LIMIT, "gpu-memory": _LIMIT, "gpu-mem": _LIMIT, "vram": _LIMIT, "hbm": _LIMIT,
    "recompute-granularity": _RECOMPUTE, "recompute-activations": _RECOMPUTE, "activation-checkpointing": _RECOMPUTE,
    "checkpoint-activations": _RECOMPUTE, "failed": _LOST, "dead": _LOST, "output-format": ("--to", "--format", "--json"), "v": _VERSION,
    "overlap-grad-reduce": _OVERLAP, "overlap-param-gather": _OVERLAP, "tp-comm-overlap": _OVERLAP,
    "model-name": _MODEL, "model-path": _MODEL, "hf-model": _MODEL, "config-file": ("--config", "--model"),
}

_WITH_MODEL, _WITHOUT_MODEL = ("--global-batch", "--gpus"), ("--microbatches", "--devices")

# Words that are no choice of an option, and what to type instead of them.
CHOICES: Dict[str, Tuple[str, ...]] = {
    "perfetto": ("chrome",), "trace": ("chrome",), "torchtitan": ("csv",), "pytorch": ("csv",), "torch": ("pytorch", "csv"),
    "nemo": ("megatron",), "bridge": ("megatron",), "megatron-bridge": ("megatron",), "mcore": ("megatron",), "megatron-core": ("megatron",),
}

# By words that are no command: the command that was probably meant, or the line to type.
COMMAND_WORDS: Dict[str, str] = {
    "plan": "pick", "search": "pick", "find": "pick", "optimize": "pick", "optimise": "pick", "best": "pick", "tune": "pick",
    "validate": "check", "verify": "check", "lint": "check", "draw": "schedule", "plot": "schedule", "generate": "schedule", "simulate": "schedule",
    "run": "schedule", "build": "schedule", "visualize": "schedule", "estimate": "price", "cost": "price", "memory": "price",
    "export": "convert", "list": "strategies", "algorithms": "strategies", "schedules": "strategies", "rank": "compare",
    "split": "layout", "layers": "layout", "page": "live", "serve": "live", "web": "live", "gui": "live", "fit": "calibrate",
    "resume": "replan",
}

# By the name that the help gives to the argument of a command: options that users write for it.
_FILE = ("file", "f", "input", "input-file", "in", "path", "filename", "runs", "windows")
_PLAIN: Dict[str, Tuple[str, ...]] = {"FILE": _FILE, "RUNS.csv": _FILE, "name": ("name", "strategy"), "STRING": ("layout", "string")}


def plain_name(option: str) -> str:
    """The name of an option without dashes and sections (as in --parallelism.pipeline_parallel_degree) in front, as this command writes names."""
    return option.lower().lstrip("-").rpartition(".")[2].replace("_", "-")


def same_option(option: str, known: Sequence[str], has_model: bool) -> str:
    """The known option that means the same as one of another program or command, or an empty text. has_model: the line has --model, beside
    which some options count samples instead of microbatches, and all devices instead of those of a pipeline."""
    same = [other for other in _SAME.get(plain_name(option), ()) if other.split()[0] in known]
    fit = [other for other in same if other not in (_WITHOUT_MODEL if has_model else _WITH_MODEL)]
    return next(iter(fit or same), "")


def is_known(option: str) -> bool:
    """Whether it is clear what the option means elsewhere."""
    return plain_name(option) in _SAME


def is_plain_word(option: str, argument: str) -> bool:
    """Whether users write the option for this argument."""
    return plain_name(option) in _PLAIN.get(argument, ())
