# SPDX-License-Identifier: Apache-2.0
"""Files that describe a model: Hugging Face's config.json, Megatron-LM's argument names, or sizes with calculon's names."""
from typing import Any, Dict, Mapping, NamedTuple, Sequence

from .._core._library import Error
from .._core.file_bytes import MODEL
from .._core.model import Transformer
from .huggingface import TYPES, read_huggingface
from .huggingface_reader import Reader
from .json_and_yaml import read_json, read_yaml, file_text, is_yaml
from .megatron_names import is_megatron, read_megatron

VOCABULARY_OF_GPT3 = 51200


class ModelFile(NamedTuple):
    """transformer; options: options of the command that the file gives; sequence: the model's longest sequence, or 0 if the file does not
    say; not_taken: arguments in the file that would change the answer but are not used; warnings: lines for the user; assumed: values
    used for missing arguments where Megatron-LM's launcher has another default; is_megatron: the file has Megatron-LM's names."""

    transformer: Transformer
    options: Dict[str, object]
    sequence: int = 0
    not_taken: Sequence[str] = ()
    warnings: Sequence[str] = ()
    assumed: Sequence[str] = ()
    is_megatron: bool = False


def read_mapping_of(path: str) -> Mapping[str, Any]:
    """The keys and values of a JSON or YAML file."""
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
    return ModelFile(shape, {}, sequence)


def model_of(where: str, fields: Mapping[str, Any]) -> ModelFile:
    """The model of a file's keys and values; the model's fields may be under the key "config"."""
    if isinstance(fields.get("config"), dict):
        fields = fields["config"]
    if "num_blocks" in fields and "hidden" in fields:
        return _gpt3_style(where, fields)
    if fields.get("model_type") is None and ("architectures" in fields or "num_hidden_layers" in fields):
        raise Error(f"{where}: model_type is missing; add it as in Hugging Face's config.json; known are {', '.join(TYPES)}")
    if is_megatron(fields):
        named = read_megatron(where, fields)
        return ModelFile(named.transformer, named.options, not_taken=named.not_taken, assumed=named.assumed, is_megatron=True)
    if "model_type" not in fields:
        raise Error(f"{where}: it has neither model_type nor num_layers; give Hugging Face's config.json, or Megatron-LM's argument names")
    described = read_huggingface(where, fields)
    return ModelFile(described.transformer, {}, described.sequence, (), described.warnings)


def read_model(path: str) -> ModelFile:
    """Reads the model that a file describes."""
    return model_of(path, read_mapping_of(path))
