# SPDX-License-Identifier: Apache-2.0
"""Megatron-LM's arguments from a shell script, or from a file of options."""
from typing import Any, Dict, List, Tuple

from .._core._library import Error
from .._core.shown import shown
from .megatron_arguments import ARGUMENTS
from .megatron_names import KNOWN, SIZES
from .shell_script import Group, Option, script_groups, value_of

MODEL = frozenset(("num_layers", "hidden_size", "hybrid_layer_pattern", "hybrid_override_pattern"))  # a group with one of them is the model's
# Options of slime's launcher that change neither layers nor their costs.
OF_OTHERS = frozenset(("allgather_cp", "enable_experimental"))
ENDINGS = (".sh", ".bash", ".args", ".txt")


def is_script(path: str) -> bool:
    return path.lower().endswith(ENDINGS)


def _is_model(group: Group) -> bool:
    return any(option.name in MODEL for option in group.options)


def _is_taken(option: Option, is_model: bool) -> bool:
    """Takes only known arguments from groups that are for other programs."""
    known = option.name in KNOWN
    return known if not is_model else option.name not in OF_OTHERS


def _changes_nothing(name: str) -> bool:
    return name in ARGUMENTS and ARGUMENTS[name].effect == "nothing"


def read_arguments(path: str, text: str) -> Tuple[Dict[str, Any], List[str]]:
    """The arguments by name; of repeated ones the last counts. And the names of options that Megatron-LM does not have."""
    groups = script_groups(path, text)
    if not any(map(_is_model, groups)):
        raise Error(f"{path}: there is no --num-layers or --hybrid-layer-pattern in it; give a script with a model's arguments, or a config.json")
    fields: Dict[str, Any] = {}
    others: List[str] = []
    for group in groups:
        is_model = _is_model(group)
        for option in group.options:
            if _changes_nothing(option.name):
                continue
            if _is_taken(option, is_model):
                fields[option.name] = value_of(path, option)
            elif option.name not in OF_OTHERS:
                others.append(option.name)
    _check_spec(path, fields)
    return fields, sorted(set(others))


def _check_spec(path: str, fields: Dict[str, Any]) -> None:
    """Refuses slime's specs, which take the differences between layers from the model's config.json."""
    spec = fields.get("spec")
    words = spec if isinstance(spec, list) else [spec]
    if not str(words[0]).startswith("slime_plugins."):
        return
    if str(words[0]).endswith(".glm4") and fields.get("post_mlp_layernorm"):
        del fields["spec"]
        return
    raise Error(f"{path}: spec is {shown(' '.join(map(str, words)))}, whose layers follow from Hugging Face's config.json; give that file")
