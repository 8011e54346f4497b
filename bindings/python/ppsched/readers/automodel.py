# SPDX-License-Identifier: Apache-2.0
"""Recipes of NeMo Automodel: they name a model of Hugging Face, and say how it is trained."""
from typing import Any, Dict, List, Mapping, NamedTuple, Optional

from .._core._library import Error
from .._core.shown import shown
from .megatron_training import integer_of

NAME = "pretrained_model_name_or_path"
# Sizes of the mesh of devices, by the option of the command that they are.
MESH = {"tp_size": "tp", "pp_size": "pp", "cp_size": "cp", "ep_size": "ep", "dp_size": "dp"}


class Recipe(NamedTuple):
    """The model's name, fields that go over those of its config.json, options of the command, and what is not taken."""

    name: object
    fields: Dict[str, Any]
    options: Dict[str, Any]
    not_taken: List[str]


def _section(fields: Mapping[str, Any], name: str) -> Dict[str, Any]:
    value = fields.get(name)
    return dict(value) if isinstance(value, dict) else {}


def _named(model: Mapping[str, Any]) -> Optional[object]:
    """At the model, or at its config."""
    config = model.get("config")
    if isinstance(config, str):
        return config
    return model.get(NAME, _section(model, "config").get(NAME))


def is_automodel(fields: Mapping[str, Any]) -> bool:
    model = fields.get("model")
    return isinstance(model, dict) and ("nemo_automodel" in str(model.get("_target_", "")) or _named(model) is not None)


def _check_kind(path: str, fields: Mapping[str, Any]) -> None:
    target = str(_section(fields, "model").get("_target_", ""))
    if "Diffusion" in target or "diffusion" in target.lower():
        raise Error(f"{path}: its model makes images ({shown(target)}); language models are read")
    if "peft" in fields and fields["peft"]:
        raise Error(f"{path}: peft is in use; weights that do not learn are not counted in what a step costs, so leave it out to plan a full training")


def _options(path: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    options: Dict[str, Any] = {}
    mesh = {**_section(fields, "distributed"), **_section(_section(fields, "distributed"), "mesh")}
    for name, option in MESH.items():
        value = mesh.get(name)
        if value is not None and value != "none" and integer_of(path, name, value) > 0:
            options[option] = integer_of(path, name, value)
    if isinstance(mesh.get("sequence_parallel"), bool):
        options["sequence_parallel"] = mesh["sequence_parallel"]
    steps = _section(fields, "step_scheduler")
    for name, option in (("local_batch_size", "micro_batch"), ("global_batch_size", "global_batch")):
        if steps.get(name) is not None:
            options[option] = integer_of(path, name, steps[name], 1)
    lengths = [_section(fields, name).get(key) for name in ("packed_sequence", "dataset") for key in ("packed_sequence_size", "seq_len", "seq_length", "max_length")]
    sequence = next((each for each in lengths if isinstance(each, int) and not isinstance(each, bool) and each > 0), None)
    if sequence is not None:
        options["seq"] = sequence
    return options


def automodel_recipe(path: str, fields: Mapping[str, Any]) -> Recipe:
    """Replicas shard weights, gradients and states, as FSDP does."""
    _check_kind(path, fields)
    model = _section(fields, "model")
    config = _section(model, "config")
    over = {name: value for name, value in config.items() if name not in ("_target_", NAME) and not name.startswith("torch_") and isinstance(value, (int, float))
            and name != "trust_remote_code"}
    options = {**_options(path, fields), "zero": 3}
    not_taken = ["fp8"] if _section(fields, "fp8").get("enabled") else []
    return Recipe(_named(model), over, options, not_taken)
