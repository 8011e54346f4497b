# SPDX-License-Identifier: Apache-2.0
"""Files that describe a model: the library's own form, Hugging Face's config.json, Megatron-LM's argument names, or sizes with calculon's
names."""
import os
import re
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Union

from .._core._library import Error
from .._core.file_bytes import MODEL
from .._core.description import Description, Transformer
from .field_reader import Reader
from .json_and_yaml import read_json, read_yaml, file_text, is_yaml
from .megatron_names import is_megatron, read_megatron
from .primus import is_primus, primus_arguments
from .shell_arguments import is_script, read_arguments

VOCABULARY_OF_GPT3 = 51200
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]*[A-Za-z0-9]")  # organization and model


class ModelFile(NamedTuple):
    """description: the model; options: options of the command that the file gives; sequence: the model's longest sequence, or 0;
    not_taken: what is in the file and would change the answer, but is not used; warnings: lines for the user; assumed: values used for
    missing arguments where Megatron-LM's launcher has another default; is_megatron: the file has Megatron-LM's names."""

    description: Description
    options: Dict[str, object]
    sequence: int = 0
    not_taken: Sequence[str] = ()
    warnings: Sequence[str] = ()
    assumed: Sequence[str] = ()
    is_megatron: bool = False
    transformer: Optional[Transformer] = None


def read_mapping_of(path: str) -> Mapping[str, Any]:
    """The keys and values of a JSON or YAML file."""
    if _HUB_NAME.fullmatch(path) and not os.path.exists(path):
        raise Error(f"{path} is no file; if it is the name of a model on a hub, download its config.json and give that file")
    text = file_text(path, MODEL)
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
        named = read_megatron(where, fields)
        return ModelFile(_described(where, named.values or named.transformer), named.options, not_taken=named.not_taken, assumed=named.assumed, is_megatron=True,
                         transformer=None if named.values else named.transformer)
    if "model_type" not in fields and "kinds" not in fields:
        raise Error(f"{where}: it has no model_type, num_layers or kinds; give Hugging Face's config.json, Megatron-LM's argument names or a "
                    "description (docs/model.md)")
    found = _described(where, fields)
    return ModelFile(found, {}, found.sequence_length, (), [f"{where}: {warning}" for warning in found.warnings])


def guessed_model(path: str) -> Optional[Description]:
    """The start of a description from a config.json of an unknown type; None for other files."""
    if is_script(path):
        return None
    fields = read_mapping_of(path)
    fields = fields["config"] if isinstance(fields.get("config"), dict) else fields
    if is_primus(fields) or is_megatron(fields) or "kinds" in fields:
        return None
    try:
        found = Description.guess(fields)
    except Error:
        return None
    return found if found.warnings[:1] == ["model_type"] else None


def read_model(path: str) -> ModelFile:
    """Reads the model that a file describes; from a script, the options that it gives to Megatron-LM."""
    if not is_script(path):
        fields = read_mapping_of(path)
        if not is_primus(fields):
            return model_of(path, fields)
        fields, assumed = primus_arguments(path, fields, read_mapping_of)
        found = model_of(path, fields)
        return found._replace(assumed=[*found.assumed, *assumed])
    fields, others = read_arguments(path, file_text(path, MODEL))
    found = model_of(path, fields)
    warning = [f"{path}: unknown, and not counted: {', '.join(others)}"] if others else []
    return found._replace(warnings=[*found.warnings, *warning])
