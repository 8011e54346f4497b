# SPDX-License-Identifier: Apache-2.0
"""Recipes of NeMo Automodel: they name a model of Hugging Face, and say how it is trained."""
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .._core._library import Error
from .._core.shown import shown
from .adapters import Adapters, all_linear, by_patterns
from .file_kinds import PRETRAINED, automodel_name
from .megatron_training import integer_of

# Sizes of the mesh of devices, by the option of the command that they are.
MESH = {"tp_size": "tp", "pp_size": "pp", "cp_size": "cp", "ep_size": "ep", "dp_size": "dp"}

# What says how the model is run, and changes neither its layers nor their costs; backends are kernels.
NOTHING = frozenset(("_target_", PRETRAINED, "config", "torch_dtype", "trust_remote_code", "backend", "attn_implementation", "use_liger_kernel", "use_sdpa_patching",
                     "force_hf", "load_base_model", "output_hidden_states", "mtp_loss_scaling_factor", "use_cache", "is_meta_device", "text_config"))

# What adds layers, or makes another model of it.
REFUSED = {"drafter_path": "an additional drafter", "pooling": "a pooled output", "extract_submodel": "only a part of the model", "pipeline_spec": "a model of images",
           "mtp_use_repeated_layer": "MTP layers with one layer's weights"}


class Recipe(NamedTuple):
    """The model's name, fields that go over those of its config.json, options of the command, what is not taken, and the adapters that learn."""

    name: object
    fields: Dict[str, Any]
    options: Dict[str, Any]
    not_taken: List[str]
    adapters: Optional[Adapters] = None


def _section(fields: Mapping[str, Any], name: str) -> Dict[str, Any]:
    value = fields.get(name)
    return dict(value) if isinstance(value, dict) else {}


def _check_kind(path: str, fields: Mapping[str, Any]) -> None:
    target = str(_section(fields, "model").get("_target_", ""))
    if "diffusion" in target.lower():
        raise Error(f"{path}: its model makes images ({shown(target)}); only language models are supported")
    other = next((text for name, text in REFUSED.items() if _section(fields, "model").get(name)), None)
    if other is not None:
        raise Error(f"{path}: its model has {other}, which is not counted; give a recipe of a language model alone")
    if automodel_name(_section(fields, "model")) is None:
        raise Error(f"{path}: its model is made by {shown(target)}, and no model of Hugging Face is named; give its config.json")


def _positive(path: str, fields: Mapping[str, Any], name: str) -> Optional[int]:
    """A size; None where it is left open, as none or -1."""
    value = fields.get(name)
    if value is None or value == "none" or value == -1:
        return None
    return integer_of(path, name, value) or None


def _sequence(fields: Mapping[str, Any]) -> Optional[int]:
    found = [_section(fields, "packed_sequence").get("packed_sequence_size")]
    found += [_section(fields, "dataset").get(name) for name in ("seq_len", "seq_length", "max_length")]
    return next((each for each in found if isinstance(each, int) and not isinstance(each, bool) and each > 0), None)


def _batches(path: str, fields: Mapping[str, Any], options: Dict[str, Any], not_taken: List[str]) -> None:
    """With a pipeline each local batch runs as microbatches, and the pipeline ends with it."""
    steps, pipeline = _section(fields, "step_scheduler"), _section(_section(fields, "distributed"), "pipeline")
    local, whole = _positive(path, steps, "local_batch_size"), _positive(path, steps, "global_batch_size")
    if options.get("pp", 1) == 1:
        options.update({name: value for name, value in (("micro_batch", local), ("global_batch", whole)) if value is not None})
        return
    each = _positive(path, pipeline, "pp_microbatch_size") or 1
    if local is not None and local % each:
        raise Error(f"{path}: local_batch_size {local} is no multiple of pp_microbatch_size {each}")
    options["micro_batch"] = each
    if local is not None:
        options["num_microbatches"] = local // each
        if whole is not None and whole != local * options.get("dp", 0):
            not_taken.append("global_batch_size (the pipeline ends with each local batch; one is counted)")


def _options(path: str, fields: Mapping[str, Any], not_taken: List[str]) -> Dict[str, Any]:
    """Replicas shard weights, gradients and states, as FSDP does."""
    spread = _section(fields, "distributed")
    options: Dict[str, Any] = {"zero": 3, "sequence_parallel": spread.get("sequence_parallel") is True}
    for name, option in MESH.items():
        value = _positive(path, spread, name)
        if value is not None:
            options[option] = value
    sequence = _sequence(fields)
    if sequence is not None:
        options["seq"] = sequence
    _batches(path, fields, options, not_taken)
    if spread.get("activation_checkpointing"):
        options["recompute"] = "full"
    if _section(fields, "fp8").get("enabled"):
        options["precision"] = "fp8"
    return options


def _not_taken(fields: Mapping[str, Any]) -> List[str]:
    model = _section(fields, "model")
    found = [f"model.{name}" for name, value in model.items() if name not in NOTHING and not _is_size(name, value) and value]
    found += ["quantization"] if _section(fields, "quantization").get("enabled", "quantization" in fields) else []
    found += ["teacher_model"] if fields.get("teacher_model") else []
    found += ["distributed.dp_replicate_size (all replicas shard here)"] if _section(fields, "distributed").get("dp_replicate_size") not in (None, 1, "none") else []
    return found


def _is_size(name: str, value: object) -> bool:
    return name.startswith("num_") and isinstance(value, int) and not isinstance(value, bool)


def _patterns(path: str, peft: Mapping[str, Any], name: str) -> List[str]:
    value = peft.get(name)
    found = [value] if isinstance(value, str) else value or []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise Error(f"{path}: peft.{name} is {shown(value)}; it must be a list of names of modules")
    return found


def _adapters(path: str, peft: Mapping[str, Any], not_taken: List[str]) -> Optional[Adapters]:
    """By patterns of names, or all linear layers but some. Without either as many names end in _proj."""
    if not peft:
        return None
    target = str(peft.get("_target_", ""))
    if target and not target.endswith("PeftConfig"):
        raise Error(f"{path}: its peft is {shown(target)}; only adapters of LoRA (PeftConfig) are supported; use these, or leave peft out")
    names, excluded = _patterns(path, peft, "target_modules"), _patterns(path, peft, "exclude_modules")
    if names and excluded:
        raise Error(f"{path}: peft has target_modules and exclude_modules; give one of them")
    matches = by_patterns(path, names or ["*_proj"]) if not peft.get("match_all_linear") and (names or not excluded) else all_linear(by_patterns(path, excluded))
    not_taken += ["peft.use_dora"] if peft.get("use_dora") else []
    is_before = peft.get("dropout_position") == "pre"
    not_taken += ["peft.dropout (after the adapters)"] if peft.get("dropout") and not is_before else []
    return Adapters(integer_of(path, "peft.dim", peft.get("dim", 8), 1), matches, bool(peft.get("dropout")) and is_before, scales_experts=bool(peft.get("moe_rank_scaling")))


def automodel_recipe(path: str, fields: Mapping[str, Any]) -> Recipe:
    _check_kind(path, fields)
    model = _section(fields, "model")
    over = {name: value for part in (_section(model, "config"), model) for name, value in part.items() if _is_size(name, value)}
    not_taken: List[str] = []
    options = _options(path, fields, not_taken)
    adapters = _adapters(path, _section(fields, "peft"), not_taken)
    return Recipe(automodel_name(model), over, options, [*not_taken, *_not_taken(fields)], adapters)
