# SPDX-License-Identifier: Apache-2.0
"""Files that describe a model: the library's own form, Hugging Face's config.json, Megatron-LM's argument names, recipes of other
launchers, or sizes with calculon's names."""
import os
import re
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Union

from .._core._library import Error
from .._core.file_bytes import MODEL, neighbour_of
from .._core.description import Description, Transformer
from .field_reader import Reader
from .file_kinds import HUGGING_FACE, is_megatron, is_name, is_recipe, is_script, is_toml
from .hub_models import CONFIG, config_of
from .json_and_yaml import file_text, is_yaml, other_kind, read_json, read_yaml

if TYPE_CHECKING:
    from .adapters import Adapters
    from .shell_arguments import Script

VOCABULARY_OF_GPT3 = 51200
_HUB_NAME = re.compile(r"([A-Za-z0-9][\w.-]*/)?[\w.-]*[A-Za-z0-9]")  # organization, if it has one, and model
_FILE_NAME = re.compile(r".*\.(json|ya?ml|toml|sh|py|txt|args|conf|cfg)", re.I)


class ModelFile(NamedTuple):
    """A model and options read from a file. description: the model; options: options of the command that the file has;
    sequence: the model's longest sequence, or 0; not_taken: keys of the file that are not used, although they would change the
    result; warnings: lines for the user; assumed: values used for missing arguments where Megatron-LM's launcher has another
    default; is_megatron: the file has Megatron-LM's names; tells_frozen: it is a description, which says itself whether towers
    are frozen."""

    description: Description
    options: Dict[str, object]
    sequence: int = 0
    not_taken: Sequence[str] = ()
    warnings: Sequence[str] = ()
    assumed: Sequence[str] = ()
    is_megatron: bool = False
    transformer: Optional[Transformer] = None
    tells_frozen: bool = False


def read_mapping_of(path: str) -> Mapping[str, Any]:
    """The keys and values of a JSON or YAML file."""
    if os.path.isdir(path) and os.path.isfile(os.path.join(path, CONFIG)):
        raise Error(f"{path} is a folder; give {os.path.join(path, CONFIG)}")
    may_be_of_hub = _HUB_NAME.fullmatch(path) and not _FILE_NAME.fullmatch(path)
    has_neighbour = os.path.isdir(os.path.dirname(path) or ".") and neighbour_of(path)
    if may_be_of_hub and not os.path.exists(path) and not has_neighbour:
        raise Error(f"{path} is no file; if it is the name of a model on a hub, download its config.json and give that file")
    text = file_text(path, MODEL)
    if is_toml(path):
        from .torchtitan import read_toml  # takes long to load
        values = read_toml(path, text)
    else:
        values = read_yaml(path, text) if is_yaml(path) else read_json(path, text)
    if not isinstance(values, dict) or not all(isinstance(key, str) for key in values):
        raise Error(f"{path}: the file must hold a mapping of keys to values")
    return values


def _gpt3_style(where: str, fields: Mapping[str, Any]) -> ModelFile:
    """A file with sizes only: an MLP of two matrices, biases, LayerNorm, learned positions, tied output, no final norm."""
    reader = Reader(where, fields)
    sequence = reader.count("seq_size")
    shape = Transformer(layers=reader.count("num_blocks"), hidden_size=reader.count("hidden"), heads=reader.count("attn_heads"),
                        vocabulary_size=reader.optional("vocab_size") or VOCABULARY_OF_GPT3, ffn_size=reader.count("feedforward"),
                        head_size=reader.optional("attn_size") or 0, positions=sequence, tied=True, norm_bias=True, qkv_bias=True,
                        projection_bias=True, mlp_bias=True, dropout=True, no_final_norm=True)
    reader.check("model given by its sizes")
    return ModelFile(_described(where, shape), {}, sequence, transformer=shape)


def _described(where: str, values: Union[Mapping[str, Any], Transformer]) -> Description:
    """Makes the description. Errors begin with the file's name."""
    try:
        return Description(values)
    except Error as error:
        error.args = (f"{where}: {error}",)
        raise


def model_of(where: str, fields: Mapping[str, Any]) -> ModelFile:
    """The model of a file's keys and values; the model's fields may be under the key "config"."""
    if isinstance(fields.get("config"), dict):
        fields = fields["config"]
    if "num_blocks" in fields and "hidden" in fields:
        return _gpt3_style(where, fields)
    if is_megatron(fields):
        from .megatron_names import read_megatron  # takes long to load
        named = read_megatron(where, fields)
        return ModelFile(_described(where, named.values or named.transformer), named.options, not_taken=named.not_taken, assumed=named.assumed, is_megatron=True,
                         transformer=None if named.values else named.transformer)
    if any(name in fields for name in HUGGING_FACE) and "model_type" not in fields and "kinds" not in fields:
        raise Error(f"{where}: it has Hugging Face's names, but no model_type; add it, such as \"model_type\": \"llama\"")
    if "model_type" not in fields and "kinds" not in fields:
        raise Error(f"{where}: it has no model_type, num_layers or kinds; give Hugging Face's config.json, Megatron-LM's argument names, a recipe of torchtitan, Megatron-Bridge or NeMo, or a "
                    f"description (docs/model.md){other_kind(fields, True)}")
    found = _described(where, fields)
    return ModelFile(found, {}, found.sequence_length, (), [f"{where}: {warning}" for warning in found.warnings], tells_frozen="kinds" in fields)


def guessed_model(path: str) -> Optional[Description]:
    """The start of a description from a config.json of an unknown type; None for other files."""
    found = _guess(path)
    return found if found is not None and found.warnings[:1] == ["model_type"] else None


def parts_not_described(path: str) -> List[str]:
    """The fields of a config.json of a known type that make parts without a description, such as an audio tower."""
    found = _guess(path)
    return [] if found is None else [warning for warning in found.warnings if " " not in warning]


def _guess(path: str) -> Optional[Description]:
    if is_script(path) or is_name(path):
        return None
    fields = read_mapping_of(path)
    fields = fields["config"] if isinstance(fields.get("config"), dict) else fields
    if is_recipe(path, fields) or is_megatron(fields) or "kinds" in fields:
        return None
    try:
        return Description.guess(fields)
    except Error:
        return None


def _of_hub(path: str, script: "Script") -> ModelFile:
    """The model of Hugging Face that a script names, and how the script trains it."""
    from .adapters import options_of  # takes long to load
    from .megatron_names import not_taken, plain  # takes long to load
    from .megatron_training import training_options  # takes long to load
    file, training = config_of(path, script.hub), plain(path, script.fields)
    found = _with_towers(path, model_of(file, read_mapping_of(file)), script.freezes_towers, script.adapters)
    adapted = {} if script.adapters is None else options_of(path, found.description, script.adapters)
    return found._replace(options={**training_options(path, training), **adapted}, not_taken=[*found.not_taken, *not_taken(training), *script.others])


def with_frozen_towers(path: str, found: ModelFile) -> ModelFile:
    """The model for training adapters, without adapters in its towers, as in recipes; a description says itself which towers are frozen."""
    from .adapters import Adapters, nothing  # takes long to load
    return found if found.tells_frozen else _with_towers(path, found, True, Adapters(1, nothing))


def _with_towers(path: str, found: ModelFile, are_frozen: bool, adapters: "Optional[Adapters]" = None) -> ModelFile:
    """The towers are frozen if the training program freezes them, or has adapters that are not in them."""
    values: Dict[str, Any] = dict(found.description.values())
    if not are_frozen or not values.get("towers"):
        return found
    values["towers"] = [{**tower, "frozen": True} for tower in values["towers"]]
    reason = "towers without adapters" if adapters is not None else "towers that do not learn (freeze_vit, which is ms-swift's own)"
    return found._replace(description=_described(path, values), assumed=[*found.assumed, reason])


def arguments_of_script(path: str) -> Mapping[str, Any]:
    """Megatron-LM's arguments that a script gives."""
    from .shell_arguments import read_arguments  # takes long to load
    return read_arguments(path, file_text(path, MODEL)).fields


def _of_recipe(path: str, fields: Mapping[str, Any]) -> ModelFile:
    from .adapters import options_of  # takes long to load
    from .recipes import read_recipe  # takes long to load
    recipe = read_recipe(path, fields, read_mapping_of)
    if recipe is None:
        return model_of(path, fields)
    found = _with_towers(path, model_of(recipe.path, recipe.fields), recipe.freezes_towers, recipe.adapters)
    adapted = {} if recipe.adapters is None else options_of(path, found.description, recipe.adapters)
    return found._replace(options={**(found.options if recipe.options is None else recipe.options), **adapted}, not_taken=[*found.not_taken, *recipe.not_taken],
                          assumed=[*found.assumed, *recipe.assumed])


def _of_script(path: str) -> ModelFile:
    from .shell_arguments import read_arguments  # takes long to load
    script = read_arguments(path, file_text(path, MODEL))
    if script.hub is not None:
        return _of_hub(path, script)
    found = model_of(path, script.fields)
    warning = [f"{path}: unknown, and not counted: {', '.join(script.others)}"] if script.others else []
    return found._replace(warnings=[*found.warnings, *warning], assumed=[*found.assumed, *script.assumed])


def read_model(path: Union[str, "os.PathLike[str]"]) -> ModelFile:
    """Reads the description of a model. path: a file, or a name such as torchtitan:llama3/8B. If the file is a script that runs Megatron-LM,
    the call reads the options that the script gives to Megatron-LM. Errors: ppsched.Error with the file and what is wrong, also for a file
    that does not exist.

        print(ppsched.read_model("config.json").description)
    """
    path = os.fspath(path)
    if is_name(path):
        from .torchtitan import named_values  # takes long to load
        return model_of(path, named_values(path))
    if is_script(path):
        return _of_script(path)
    fields = read_mapping_of(path)
    return _of_recipe(path, fields) if is_recipe(path, fields) else model_of(path, fields)
