# SPDX-License-Identifier: Apache-2.0
"""Recipes of Megatron-Bridge (a ConfigContainer) and of NeMo 2 (a run of nemo.collections.llm), as these write them in YAML."""
import re
from typing import Any, Mapping

from .._core._library import Error
from .._core.shown import shown
from .._core.words import nearest
from .file_kinds import last_word, target_of
from .nemo_classes import CLASSES, FAMILIES, class_fields
from .nemo_fields import Arguments, Fields, model_arguments, precision_arguments, section, training_arguments
from .tokenizers import tokenizer_rows

# Providers that make layers, or encoders in front, which their fields do not tell.
OTHERS = re.compile(r"VL|Omni|Audio|ASR|Vision|Gemma[234]|MiMo|Mimo|MIMO|Step3|MiniMaxM3|KimiK3|FalconH1|T5|Distillation|Heterogeneous|Ministral|Hyena|Embedding|"
                    r"Reranker|Llama4|Super49B|Ultra253B|Diffusion|Flux|Wan")
# Sections of a ConfigContainer with arguments of training, in the order in which they go over each other.
TRAINING = ("dist", "optimizer", "ddp", "train", "comm_overlap")


def _check_target(path: str, target: str) -> None:
    name = last_word(target)
    if OTHERS.search(name):
        raise Error(f"{path}: its model is made by {shown(name)}, whose layers its fields do not tell; give Hugging Face's config.json")


def _check_whole(path: str, model: Mapping[str, Any]) -> None:
    missing = [name for name in ("num_layers", "hidden_size", "num_attention_heads") if model.get(name) is None]
    has_pattern = any(model.get(name) for name in ("hybrid_layer_pattern", "hybrid_override_pattern"))
    if missing and not (has_pattern and missing == ["num_layers"]):
        raise Error(f"{path}: model has no {', '.join(missing)}, which a recipe in Python says; give the whole ConfigContainer, as the run writes it to "
                    "run_config.yaml, or Hugging Face's config.json")


def _check_tuned(path: str, fields: Mapping[str, Any]) -> None:
    if isinstance(fields.get("peft"), dict) or (isinstance(fields.get("peft"), str) and fields["peft"].lower() not in ("none", "")):
        raise Error(f"{path}: peft is in use, and its adapters are not read here; leave it out, and give --lora-rank")


def bridge_arguments(path: str, fields: Mapping[str, Any]) -> Arguments:
    model = dict(fields["model"])
    _check_target(path, target_of(fields))
    _check_whole(path, model)
    _check_tuned(path, fields)
    arguments = model_arguments(path, model)
    for name in TRAINING:
        arguments.update(training_arguments(section(path, fields, name)))
    if fields.get("mixed_precision") is not None:
        arguments.update(precision_arguments(fields["mixed_precision"]))
    _add_sequence(arguments, section(path, fields, "dataset"))
    return Arguments(arguments, [])


def _add_sequence(arguments: Fields, data: Mapping[str, Any]) -> None:
    """What the data has goes over what the model says."""
    found = next((data[name] for name in ("seq_length", "sequence_length") if isinstance(data.get(name), int)), None)
    if found is not None:
        arguments["seq_length"] = found


# --- NeMo 2 ---

def _class_values(path: str, config: Mapping[str, Any]) -> Fields:
    """The fields of a config, over those of its class."""
    name = last_word(config.get("_target_"))
    own = {field: value for field, value in config.items() if field != "_target_"}
    if name in CLASSES:
        return {**class_fields(name), **own}
    _check_target(path, name)
    if name in FAMILIES and own.get("num_layers") is not None:
        return {**FAMILIES[name], **own}
    meant = nearest(name, CLASSES) or "give Hugging Face's config.json"
    raise Error(f"{path}: its model is a {shown(name)}, whose sizes are not known; {meant}")


def _rows(path: str, model: Mapping[str, Any], data: Mapping[str, Any], values: Mapping[str, Any]) -> Fields:
    """The vocabulary of the tokenizer, where the class has none."""
    if values.get("vocab_size") is not None:
        return {}
    tokenizer: Fields = next((each["tokenizer"] for each in (model, data) if isinstance(each.get("tokenizer"), dict)), {})
    name = next((str(tokenizer[key]) for key in ("pretrained_model_name", "model_name", "model_path") if tokenizer.get(key)), "")
    rows = tokenizer_rows(name)
    if rows is None:
        raise Error(f"{path}: vocab_size follows from the tokenizer {shown(name)}, whose file is not read; add vocab_size to the model's config")
    return {"vocab_size": rows, "should_pad_vocab": True}


def _strategy(path: str, trainer: Mapping[str, Any]) -> Fields:
    strategy = section(path, trainer, "strategy")
    found = training_arguments(strategy)
    found.update(training_arguments(section(path, strategy, "ddp")))
    return found


def _world(trainer: Mapping[str, Any]) -> Fields:
    devices, nodes = trainer.get("devices"), trainer.get("num_nodes", 1)
    whole = all(isinstance(each, int) and not isinstance(each, bool) and each > 0 for each in (devices, nodes))
    return {"world_size": devices * nodes} if whole else {}


def _precision(trainer: Mapping[str, Any]) -> Fields:
    plugins = trainer.get("plugins")
    found = next((each for each in (plugins if isinstance(plugins, list) else [plugins]) if isinstance(each, dict) and "precision" in each), None)
    return precision_arguments(found) if found is not None else {}


def nemo_2_arguments(path: str, fields: Mapping[str, Any]) -> Arguments:
    model, data, trainer = (section(path, fields, name) for name in ("model", "data", "trainer"))
    _check_tuned(path, fields)
    values = _class_values(path, section(path, model, "config"))
    rows = _rows(path, model, data, values)
    arguments = model_arguments(path, {**values, **rows})
    arguments.update(training_arguments(section(path, section(path, fields, "optim"), "config")))
    arguments.update(_strategy(path, trainer))
    arguments.update({**_precision(trainer), **_world(trainer)})
    arguments.update({name: data[name] for name in ("micro_batch_size", "global_batch_size") if isinstance(data.get(name), int)})
    _add_sequence(arguments, data)
    name = last_word(section(path, model, "config").get("_target_"))
    assumed = [f"the sizes of {name}, as NeMo 2.5 has them"]
    if rows:
        assumed.append(f"vocab_size {rows['vocab_size']}, as the tokenizer has it (the file leaves it to the tokenizer)")
    return Arguments(arguments, assumed)
