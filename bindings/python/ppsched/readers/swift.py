# SPDX-License-Identifier: Apache-2.0
"""Options of scripts and files that train a model of Hugging Face by its name: those of ms-swift, with Megatron-LM or without, and of slime."""
import re
from typing import Any, Dict, Mapping

from .._core._library import Error
from .._core.shown import shown
from .megatron_arguments import ARGUMENTS
from .megatron_training import SHORT, TAKEN, TRAINING

HUB_OPTIONS = ("model", "hf_checkpoint", "mcore_model", "hf_model", "model_name_or_path")
TUNERS = ("tuner_type", "train_type", "sft_type")
# Options of ms-swift, by the argument that they are.
RENAMED = {"max_length": "seq_length", "per_device_train_batch_size": "micro_batch_size"}
ASKED = frozenset((*HUB_OPTIONS, *TUNERS, *RENAMED, "deepspeed"))
TRAINERS = frozenset(("sft", "pt", "rlhf"))
_COMMAND = re.compile(r"\b(?:swift|megatron)\s+(sft|pt|rlhf|infer|export|deploy|eval|app|sample|rollout|web-ui)\b")


def is_of_training(name: str) -> bool:
    return name in TRAINING or name in SHORT or name in TAKEN or name in ARGUMENTS


def is_swift(fields: Mapping[str, Any]) -> bool:
    """A file of ms-swift's options."""
    return isinstance(fields.get("model"), str) and any(name in fields for name in (*TUNERS, *RENAMED, "micro_batch_size", "tensor_model_parallel_size"))


def check_trains(path: str, text: str) -> None:
    commands = {match[1] for match in _COMMAND.finditer(text)}
    if commands and not commands & TRAINERS:
        raise Error(f"{path}: it runs swift {sorted(commands)[0]}, which trains nothing; give a script of {', '.join(sorted(TRAINERS))}")


def hub_of(values: Mapping[str, Any]) -> str:
    return str(next(values[name] for name in HUB_OPTIONS if name in values))


def _check_tuned(path: str, values: Mapping[str, Any], is_megatron: bool) -> None:
    """Without a word, swift itself trains a LoRA, and its Megatron all weights."""
    tuner = next((str(values[name]) for name in TUNERS if values.get(name) is not None), "full" if is_megatron else "lora")
    if tuner != "full":
        raise Error(f"{path}: it trains a {shown(tuner)[1:-1]}; weights that do not learn are not counted in what a step costs, so plan with tuner_type full")


def training_of(values: Mapping[str, Any], path: str) -> Dict[str, Any]:
    """Megatron-LM's arguments that follow from ms-swift's own options."""
    is_megatron = any(name.endswith("model_parallel_size") or name == "micro_batch_size" for name in values)
    if "hf_checkpoint" not in values:
        _check_tuned(path, values, is_megatron)
    fields = {argument: values[name] for name, argument in RENAMED.items() if values.get(name) is not None}
    stage = re.fullmatch(r"zero([0-3])(_offload)?", str(values.get("deepspeed")))
    if stage is not None:
        fields["zero"] = int(stage[1])
    elif is_megatron and "hf_checkpoint" not in values:
        fields["use_distributed_optimizer"] = True  # its own default
    return fields


def swift_fields(path: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Of a file of options."""
    return {**training_of(fields, path), **{name: value for name, value in fields.items() if is_of_training(name) and not isinstance(value, dict)}}
