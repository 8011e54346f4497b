# SPDX-License-Identifier: Apache-2.0
"""Which kind of file describes a model, by its name and keys, so that only the reader of this kind is imported."""
from typing import Any, Mapping, Optional

SCRIPTS = (".sh", ".bash", ".args", ".txt")
TORCHTITAN = "torchtitan:"
BRIDGE, NEMO_2 = "megatron.bridge.", "nemo.collections.llm."
PRIMUS_TYPES = ("gpt", "mamba", "hybrid")  # of models, beside Megatron-LM's names
HUGGING_FACE = ("num_hidden_layers", "architectures")  # of config.json, and of no other file
PRETRAINED = "pretrained_model_name_or_path"
# Options of ms-swift: which weights learn, and Megatron-LM's arguments by other names.
TUNERS = ("tuner_type", "train_type", "sft_type")
RENAMED = {"max_length": "seq_length", "per_device_train_batch_size": "micro_batch_size", "gradient_accumulation_steps": "num_microbatches"}


def is_script(path: str) -> bool:
    return path.lower().endswith(SCRIPTS)


def is_toml(path: str) -> bool:
    return path.lower().endswith(".toml")


def is_name(path: str) -> bool:
    """A name of a model of torchtitan."""
    return path.startswith(TORCHTITAN)


def is_megatron(fields: Mapping[str, Any]) -> bool:
    return not any(name in fields for name in ("model_type", *HUGGING_FACE)) and any(name.replace("-", "_") in ("num_layers", "num_attention_heads", "hybrid_layer_pattern")
                                              for name in fields)


# --- recipes ---

def is_job(fields: Mapping[str, Any]) -> bool:
    """Of torchtitan."""
    return isinstance(fields.get("model"), dict) and "flavor" in fields["model"]


def is_options(fields: Mapping[str, Any]) -> bool:
    """As Megatron-LM's own tests have them: --name: value."""
    return isinstance(fields.get("MODEL_ARGS"), dict)


def is_primus(fields: Mapping[str, Any]) -> bool:
    """A run's file, or a model's with a type that is no family of Hugging Face, or with a recipe of Megatron-Bridge."""
    is_run = isinstance(fields.get("modules"), dict) and any(isinstance(module, dict) and "model" in module for module in fields["modules"].values())
    return is_run or "extends" in fields or "bases" in fields or ("recipe" in fields and "flavor" in fields) or \
        (fields.get("model_type") in PRIMUS_TYPES and "num_layers" in fields)


def last_word(target: object) -> str:
    """Of a dotted name."""
    return str(target).rsplit(".", 1)[-1]


def target_of(fields: Mapping[str, Any]) -> str:
    model = fields.get("model")
    return str(model.get("_target_", "")) if isinstance(model, dict) else ""


def is_bridge(fields: Mapping[str, Any]) -> bool:
    """A ConfigContainer whole, or what overrides one."""
    model = fields.get("model")
    named = last_word(fields.get("_target_")) == "ConfigContainer" or target_of(fields).startswith(BRIDGE)
    return isinstance(model, dict) and (named or ("train" in fields and "trainer" not in fields and ("tensor_model_parallel_size" in model or "dist" in fields)))


def is_nemo_2(fields: Mapping[str, Any]) -> bool:
    return target_of(fields).startswith(NEMO_2) or str(fields.get("_target_", "")).startswith(NEMO_2)


def is_nemo_1(fields: Mapping[str, Any]) -> bool:
    model = fields.get("model")
    if not isinstance(model, dict) or "_target_" in model:
        return False
    has_sizes = "hidden_size" in model and "num_layers" in model
    return ("trainer" in fields or "tokenizer" in model) and (has_sizes or any(name in model for name in ("encoder", "decoder", "encoder_seq_length")))


def hub_name(fields: Mapping[str, Any]) -> Optional[object]:
    """The model of Hugging Face that a recipe trains as it is, or a card of Megatron-Bridge tells of."""
    model = fields.get("model")
    if not isinstance(model, dict):
        return None
    return next((model[name] for name in ("hf_id", "hf_model_id", "hf_path", "model_name") if isinstance(model.get(name), str) and "num_layers" not in model), None)


def automodel_name(model: Mapping[str, Any]) -> Optional[object]:
    """The name of the model, from its own fields or its config."""
    config = model.get("config")
    if isinstance(config, str):
        return config
    return model.get(PRETRAINED, config.get(PRETRAINED) if isinstance(config, dict) else None)


def is_automodel(fields: Mapping[str, Any]) -> bool:
    model = fields.get("model")
    return isinstance(model, dict) and ("nemo_automodel" in str(model.get("_target_", "")) or automodel_name(model) is not None)


def is_swift(fields: Mapping[str, Any]) -> bool:
    """A file of ms-swift's options."""
    return isinstance(fields.get("model"), str) and any(name in fields for name in (*TUNERS, *RENAMED, "micro_batch_size", "tensor_model_parallel_size"))


def is_recipe(path: str, fields: Mapping[str, Any]) -> bool:
    kinds = (is_job, is_primus, is_nemo_2, is_bridge, is_nemo_1, is_automodel, is_swift, is_options)
    return is_toml(path) or any(is_kind(fields) for is_kind in kinds) or hub_name(fields) is not None
