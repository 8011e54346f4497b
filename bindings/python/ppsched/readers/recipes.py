# SPDX-License-Identifier: Apache-2.0
"""Recipes of launchers, each by what it has: torchtitan's jobs, Primus' files, Megatron-Bridge's and NeMo's."""
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional

from .adapters import Adapters
from .automodel import automodel_recipe
from .file_kinds import hub_name, is_automodel, is_bridge, is_job, is_nemo_1, is_nemo_2, is_options, is_primus, is_swift, is_toml
from .hub_models import config_of
from .nemo import bridge_arguments, nemo_2_arguments
from .nemo_1 import nemo_1_arguments
from .megatron_names import not_taken as not_taken_of
from .megatron_names import plain
from .megatron_training import training_options
from .primus import bridge_values, framework_of, job_values, primus_model
from .shell_arguments import mapped_options
from .swift import adapters_of, freezes_towers, hub_of, is_of_training, swift_fields, uncounted
from .torchtitan import read_job

Read = Callable[[str], Mapping[str, Any]]


class Found(NamedTuple):
    """What a recipe says: the fields of the model, which file has them, options of the command, what is not taken and what is assumed;
    whether towers in front do not learn; adapters that do."""

    fields: Mapping[str, Any]
    path: str
    options: Optional[Dict[str, Any]] = None
    not_taken: List[str] = []
    assumed: List[str] = []
    freezes_towers: bool = False
    adapters: Optional[Adapters] = None


def _of_hub(path: str, name: object, read: Read, over: Mapping[str, Any], options: Dict[str, Any], not_taken: List[str]) -> Found:
    file = config_of(path, name)
    return Found({**read(file), **over}, file, options, not_taken)


def _trained(path: str, name: object, read: Read, arguments: Mapping[str, Any]) -> Found:
    """A model of Hugging Face with Megatron-LM's arguments of training."""
    training = plain(path, arguments)
    return _of_hub(path, name, read, {}, training_options(path, training), not_taken_of(training))


def read_recipe(path: str, fields: Mapping[str, Any], read: Read) -> Optional[Found]:
    """None of a file that is no recipe. read: the keys and values of another file."""
    is_titan_run = is_primus(fields) and framework_of(fields) == "torchtitan"
    if is_toml(path) or is_job(fields) or is_titan_run:
        values, job = read_job(path, job_values(path, fields, read) if is_titan_run else fields)
        return Found(values, path, job.options, job.not_taken, job.assumed)
    if is_primus(fields) and framework_of(fields) == "megatron_bridge":
        values = bridge_values(path, fields, read)
        return _trained(path, values.get("hf_path"), read, {name: value for name, value in values.items() if is_of_training(name) and not isinstance(value, dict)})
    if is_primus(fields):
        model = primus_model(path, fields, read)
        return Found(model.fields, path, model.options, model.not_taken, model.assumed, adapters=model.adapters)
    for is_kind, arguments_of in ((is_nemo_2, nemo_2_arguments), (is_nemo_1, nemo_1_arguments)):
        if is_kind(fields):
            arguments = arguments_of(path, fields)
            return Found(arguments.fields, path, assumed=arguments.assumed)
    if is_automodel(fields):
        recipe = automodel_recipe(path, fields)
        found = _of_hub(path, recipe.name, read, recipe.fields, recipe.options, recipe.not_taken)
        return found._replace(adapters=recipe.adapters, freezes_towers=recipe.adapters is not None)
    if is_swift(fields):
        found = _trained(path, hub_of(fields), read, swift_fields(path, fields))
        return found._replace(not_taken=[*found.not_taken, *uncounted(fields)], freezes_towers=freezes_towers(fields), adapters=adapters_of(path, fields))
    if is_options(fields):
        script = mapped_options(path, fields)
        return Found(script.fields, path, None, script.others, list(script.assumed))
    if hub_name(fields) is not None:
        return _of_hub(path, hub_name(fields), read, {}, {}, [])
    if is_bridge(fields):
        return Found(bridge_arguments(path, fields).fields, path)
    return None
