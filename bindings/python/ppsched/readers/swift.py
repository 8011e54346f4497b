# SPDX-License-Identifier: Apache-2.0
"""Options of scripts and files that train a model of Hugging Face by its name: those of ms-swift, with Megatron-LM or without, and of slime."""
import re
from typing import Any, Dict, List, Mapping, Optional

from .._core._library import Error
from .._core.shown import shown
from .adapters import Adapters, all_linear, by_endings
from .file_kinds import RENAMED, TUNERS
from .megatron_arguments import ARGUMENTS
from .megatron_training import SHORT, TAKEN, TRAINING, integer_of

HUB_OPTIONS = ("model", "hf_checkpoint", "mcore_model", "hf_model", "model_name_or_path")
# Of adapters.
LORA = ("lora_rank", "lora_dropout", "target_modules", "target_regex", "target_parameters", "modules_to_save")
# What changes times or memory, and is not counted.
UNCOUNTED = ("quant_bits", "use_dora", "sequence_parallel_size", "teacher_model", "use_galore", "offload_optimizer", "offload_model", "optimizer_cpu_offload")
ASKED = frozenset((*HUB_OPTIONS, *TUNERS, *RENAMED, *UNCOUNTED, *LORA, "deepspeed", "fsdp", "gradient_checkpointing", "freeze_vit", "freeze_llm", "rlhf_type", "task_type"))
# Its own where a file says nothing: of its Megatron, and of itself.
MEGATRON = {"micro_batch_size": 1, "global_batch_size": 16, "recompute_granularity": "selective", "use_distributed_optimizer": True}
ITSELF = {"micro_batch_size": 1, "recompute_granularity": "full"}
TRAINERS = frozenset(("sft", "pt", "rlhf"))
_COMMAND = re.compile(r"(?:\b(?:swift|megatron)\s+|swift/cli/(?:\w+/)*)(sft|pt|rlhf|infer|export|deploy|eval|app|sample|rollout|web-ui)\b")


def is_of_training(name: str) -> bool:
    return name in TRAINING or name in SHORT or name in TAKEN or name in ARGUMENTS


def is_run(text: str) -> bool:
    """Whether a script runs ms-swift."""
    return _COMMAND.search(text) is not None


def check_trains(path: str, text: str) -> None:
    commands = {match[1] for match in _COMMAND.finditer(text)}
    if commands and not commands & TRAINERS:
        raise Error(f"{path}: it runs swift {sorted(commands)[0]}, which trains nothing; give a script of {', '.join(sorted(TRAINERS))}")


def hub_of(values: Mapping[str, Any]) -> str:
    return str(next(values[name] for name in HUB_OPTIONS if name in values))


def _is_megatron(values: Mapping[str, Any]) -> bool:
    return any(name.endswith("model_parallel_size") or name == "micro_batch_size" for name in values)


def _tuner(path: str, values: Mapping[str, Any]) -> str:
    """Without a word, swift itself trains a LoRA, and its Megatron all weights."""
    tuner = next((str(values[name]) for name in TUNERS if values.get(name) is not None), "full" if _is_megatron(values) else "lora")
    if tuner not in ("full", "lora"):
        raise Error(f"{path}: it trains a {shown(tuner)[1:-1]}, whose weights are not counted; plan with tuner_type full or lora")
    return tuner


def _is_on(values: Mapping[str, Any], name: str, default: bool) -> bool:
    value = values.get(name)
    return default if value is None else str(value).lower() in ("true", "1", "yes")


def freezes_towers(values: Mapping[str, Any]) -> bool:
    """Its own is that towers do not learn."""
    return "hf_checkpoint" not in values and _is_on(values, "freeze_vit", True)


def uncounted(values: Mapping[str, Any]) -> List[str]:
    others = [name for name in ("rlhf_type",) if values.get(name)]
    others += ["task_type"] if str(values.get("task_type", "causal_lm")) != "causal_lm" else []
    return others + [name for name in UNCOUNTED if str(values.get(name, "false")).lower() not in ("false", "none", "0", "1" if name.endswith("size") else "")]


def training_of(values: Mapping[str, Any], path: str) -> Dict[str, Any]:
    """Megatron-LM's arguments that follow from ms-swift's own options, and from what it does without them."""
    if "hf_checkpoint" in values:
        return {}
    is_megatron = _is_megatron(values)
    if _is_on(values, "freeze_llm", False):
        raise Error(f"{path}: freeze_llm is on, so only towers learn, which is not counted; plan without it")
    fields: Dict[str, Any] = dict(MEGATRON if is_megatron else ITSELF)
    if not is_megatron and not _is_on(values, "gradient_checkpointing", True):
        del fields["recompute_granularity"]
    fields.update({argument: values[name] for name, argument in RENAMED.items() if values.get(name) is not None and not (is_megatron and argument == "num_microbatches")})
    stage = re.fullmatch(r"zero([0-3])(_offload)?", str(values.get("deepspeed")))
    if stage is not None or values.get("fsdp"):
        fields["zero"] = int(stage[1]) if stage is not None else 3
    return fields


def _names(value: Any) -> List[str]:
    return [str(each) for each in value] if isinstance(value, list) else re.split(r"[\s,]+", str(value).strip())


def adapters_of(path: str, values: Mapping[str, Any]) -> Optional[Adapters]:
    """Its own: rank 8, dropout 0.05, all linear layers but the head. Its Megatron has queries, keys and values in one matrix, and experts among the
    linear layers; the classes of Transformers have the experts of a layer as one parameter, beside which there are no adapters."""
    if "hf_checkpoint" in values or _tuner(path, values) == "full":
        return None
    other = next((name for name in ("modules_to_save", "target_regex", "target_parameters") if values.get(name)), None)
    if other is not None:
        raise Error(f"{path}: {other} is {shown(values[other])}, which is not counted; leave it out, or plan with target_modules")
    is_megatron, names = _is_megatron(values), _names(values.get("target_modules") or "all-linear")
    others = [name for name in names if name != "all-linear"]
    named, every = by_endings(others), all_linear(by_endings(["lm_head"]), is_megatron)
    dropout = float(values["lora_dropout"]) if values.get("lora_dropout") is not None else 0.05
    return Adapters(integer_of(path, "lora_rank", values.get("lora_rank") or 8, 1),
                    lambda name, is_linear: named(name, is_linear) or ("all-linear" in names and every(name, is_linear)), dropout > 0, is_megatron)


def swift_fields(path: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Of a file of options."""
    return {**training_of(fields, path), **{name: value for name, value in fields.items() if is_of_training(name) and not isinstance(value, dict)}}
