# SPDX-License-Identifier: Apache-2.0
"""Megatron-LM's arguments from a shell script, or from a file of options; and the model of Hugging Face that a script names instead."""
import os
import pathlib
import re
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Tuple

from .._core._library import Error
from .._core.shown import shown
from .megatron_arguments import ARGUMENTS
from .json_and_yaml import file_text
from .megatron_layers import NORM_OF_ALL_HEADS
from .megatron_names import KNOWN, negated
from .megatron_training import SHORT
from .shell_script import Group, Option, script_groups, value_of
from .shell_words import UNKNOWN
from .adapters import Adapters
from .swift import ASKED, HUB_OPTIONS, adapters_of, check_trains, freezes_towers, hub_of, is_of_training, is_run, training_of, uncounted
from .tokenizers import ENCODERS, launcher_rows

MODEL = frozenset(("num_layers", "hidden_size", "hybrid_layer_pattern", "hybrid_override_pattern"))  # a group with one of them is the model's
# Options of slime's launcher and of ModelOpt that change neither layers nor their costs.
OF_OTHERS = frozenset(("allgather_cp", "enable_experimental", "export_model_type", "export_default_te_spec", "export_te_mcore_model", "enable_gpt_oss",
                       "tokenizer_hf_include_special_tokens"))
TOLD = frozenset(("export_force_local_attention",))  # which keeps scores, and is named as not counted
OLDER_METHOD = "activations_checkpoint_method"  # of full recomputation, in scripts of Megatron-LM's older releases
TOKENIZER = ("tokenizer_type", "tokenizer_model", "vocab_file", "merge_file")
# Programs whose models have more than a decoder, and those that train nothing.
OTHER_MODELS = re.compile(r"bert|t5|(?:^|[_/])ict(?:[_./]|$)|retro|vlm|vision|dino|multimodal|mimo|llava|diffusion", re.I)
NO_TRAINING = re.compile(r"generat|inference|eval|export|convert|quantize|prune|server|mmlu|validate|preprocess|extract", re.I)
MOST_BYTES = 16 << 20  # of a file that a script sources


def _is_model(group: Group) -> bool:
    return any(option.name in MODEL for option in group.options)


def _is_taken(name: str, is_model: bool) -> bool:
    """Of groups for other things only the arguments that are known."""
    return name in KNOWN and name not in SHORT if not is_model else name not in OF_OTHERS and name not in TOLD


def _changes_nothing(name: str) -> bool:
    return name in ARGUMENTS and ARGUMENTS[name].effect == "nothing" and name != "pad_vocab_size"


class Script(NamedTuple):
    """The arguments by their names, of which the last one counts; the names of options that are not Megatron-LM's; the model of Hugging
    Face that the script names, where it has none of its own: the arguments then are of training alone; what is assumed;
    whether towers in front do not learn; adapters that do."""

    fields: Dict[str, Any]
    others: List[str]
    hub: Optional[str] = None
    assumed: Tuple[str, ...] = ()
    freezes_towers: bool = False
    adapters: Optional[Adapters] = None


# --- files that it sources ---

_UNKNOWN_START = re.compile(r"(?:\$\{?\w+\}?|\$\(.*\)|`[^`]*`|~)/(.+)$", re.S)


def _sourced_places(path: str, name: str) -> List[pathlib.Path]:
    """Where a file may be: where its name says; below the script's folder or one above it, by what follows the part that is not known."""
    here = pathlib.Path(os.path.abspath(path)).parent
    name = name.replace('"', "").replace("'", "").strip()
    unknown = _UNKNOWN_START.match(name)
    if unknown is not None:
        return [folder / unknown[1] for folder in (here, *here.parents)]
    if not name.startswith("/"):
        return [here / name]
    parts = name.strip("/").split("/")
    ends = ["/".join(parts[start:]) for start in range(len(parts) - 1)]
    return [pathlib.Path(name), *(folder / end for end in ends for folder in (here, *here.parents))]


def _is_file(place: pathlib.Path) -> bool:
    try:
        return place.is_file()
    except OSError:  # no name of a file
        return False


def _sourced(missing: List[str], name: str, path: str) -> Optional[Tuple[str, str]]:
    found = next((place for place in _sourced_places(path, name) if _is_file(place)), None)
    if found is None:
        missing.append(name)
        return None
    return file_text(str(found), MOST_BYTES), str(found)


# --- arguments ---

def _taken(path: str, groups: List[Group], is_of_model: bool) -> Script:
    fields: Dict[str, Any] = {}
    others: List[str] = []
    for group in groups:
        is_model = is_of_model and _is_model(group)
        for option in group.options:
            if option.name == OLDER_METHOD:
                fields["recompute_granularity"], option = "full", option._replace(name="recompute_method")
            name = negated(option.name) or option.name
            if _changes_nothing(name):
                continue
            if _is_taken(name, is_model):
                fields[option.name] = value_of(path, option)
            elif option.name not in OF_OTHERS:
                others.append(option.name)
        if is_model and any(option.name == "enable_gpt_oss" for option in group.options):
            fields["position_embedding_type"] = "yarn"  # whatever the arguments say
    return Script(fields, sorted(set(others)))


def _check_programs(path: str, groups: List[Group]) -> None:
    programs = ["/".join(group.program.split("/")[-2:]) for group in groups if group.program]
    other = next((name for name in programs if OTHER_MODELS.search(name)), None)
    if other is not None:
        raise Error(f"{path}: it runs {shown(other)}, whose model has more than the layers of a decoder; give a script of a language model")
    if programs and all(map(NO_TRAINING.search, programs)):
        raise Error(f"{path}: it runs {shown(programs[0])}, which trains nothing; give a script of a training")


def _tokenizer_name(tokenizer: Dict[str, Any]) -> str:
    """Its model, and where the script takes that from elsewhere its type."""
    names = [str(tokenizer.get(name, UNKNOWN)) for name in ("tokenizer_model", "tokenizer_type")]
    return next((name for name in names if UNKNOWN not in name), "of the launcher")


def add_vocabulary(path: str, fields: Dict[str, Any], tokenizer: Dict[str, Any]) -> Tuple[str, ...]:
    """Rows as the tokenizer has them, where the arguments say none; what is assumed."""
    kind = tokenizer.get("tokenizer_type")
    if kind in ENCODERS:
        raise Error(f"{path}: its tokenizer is {kind}, of models with more than the layers of a decoder; give a file of a language model")
    if any(fields.get(name) is not None for name in ("vocab_size", "padded_vocab_size")):
        return ()
    rows = launcher_rows(tokenizer)
    if rows is None:
        raise Error(f"{path}: its vocabulary comes from the tokenizer{' ' + shown(_tokenizer_name(tokenizer)) if tokenizer else ''}, "
                    "whose file is not read; "
                    "add --vocab-size, or --padded-vocab-size with the rows of the embedding")
    fields["vocab_size"] = rows
    return (f"vocab_size {rows}, as {'GPT2BPETokenizer' if kind is None else kind} has it (the file leaves it to the tokenizer)",)


def _with_vocabulary(path: str, script: Script, groups: List[Group]) -> Script:
    tokenizer = {option.name: option.words[0] for group in groups for option in group.options if option.name in TOKENIZER and option.words}
    fields = dict(script.fields)
    return script._replace(assumed=add_vocabulary(path, fields, tokenizer), fields=fields)


def read_arguments(path: str, text: str) -> Script:
    missing: List[str] = []
    groups = script_groups(path, text, lambda name, file: _sourced(missing, name, file))
    if any(map(_is_model, groups)):
        _check_programs(path, groups)
        found = _taken(path, groups, True)
        if _has_own_spec(found.fields) and _hub_group(groups) is not None:
            return _of_hub(path, text, groups)
        _check_spec(path, found.fields)
        return _with_vocabulary(path, found, groups)
    sourced = next((name for name in missing if name.rstrip("\"' ").endswith(".sh")), None)
    if sourced is not None:
        raise Error(f"{path}: it sources {shown(sourced)}, which is not found from the script's folder; put it there, or give the file with the model's arguments")
    return _of_hub(path, text, groups)


# --- a mapping of options ---

def mapped_options(path: str, fields: Mapping[str, Any]) -> Script:
    """Of an option that is false the launcher gets nothing."""
    given = {str(name).lstrip("-").replace("-", "_"): value for name, value in fields["MODEL_ARGS"].items() if value is not False and value is not None}
    tokenizer = {name: UNKNOWN if "$" in str(given[name]) else given[name] for name in TOKENIZER if name in given}
    found = {name: value for name, value in given.items() if not _changes_nothing(negated(name) or name) and name not in OF_OTHERS and name not in TOLD}
    if given.get("enable_gpt_oss"):
        found["position_embedding_type"] = "yarn"
    unknown = [name for name in found if (negated(name) or name) not in KNOWN]
    if unknown and fields.get("MODE") == "inference":
        raise Error(f"{path}: its MODE is inference, which trains nothing; give a file of a training")
    for name, value in found.items():
        if isinstance(value, str) and "$" in value and name not in unknown:
            raise Error(f"{path}: --{name.replace('_', '-')} is {shown(value)}, which the run takes from elsewhere; write it there")
    if not any(name in found for name in MODEL):
        raise Error(f"{path}: there is no --num-layers or --hybrid-layer-pattern in MODEL_ARGS; give a file with a model's arguments, or a config.json")
    return Script(found, [name for name in given if name in TOLD], None, add_vocabulary(path, found, tokenizer))


# --- a model of Hugging Face ---

def _hub_group(groups: List[Group]) -> Optional[Group]:
    return next((group for group in groups if any(option.name in HUB_OPTIONS for option in group.options)), None)


_IN_FOLDER = re.compile(f"{UNKNOWN}/+([^{UNKNOWN}]*[^/{UNKNOWN}])/*$")


def _without_folder(option: Option) -> Option:
    """Of a model in a folder from outside the script, the name in that folder."""
    names = [_IN_FOLDER.search(word) for word in option.words]
    return option._replace(words=tuple(word if name is None else name[1] for word, name in zip(option.words, names)))


def _of_hub(path: str, text: str, groups: List[Group]) -> Script:
    """Of a script whose model is one of Hugging Face, how it is trained."""
    named = _hub_group(groups)
    check_trains(path, text)
    if named is None:
        raise Error(f"{path}: there is no --num-layers or --hybrid-layer-pattern in it; give a script with a model's arguments, or a config.json")
    asked = {option.name: _without_folder(option) if option.name in HUB_OPTIONS else option for option in named.options if option.name in ASKED}
    unknown = [name for name in ("gradient_accumulation_steps",) if name in asked and UNKNOWN in "".join(asked[name].words)]
    values = {name: value_of(path, option) for name, option in asked.items() if name not in unknown}
    if "hf_checkpoint" not in values and not is_run(text):
        raise Error(f"{path}: its model is {shown(hub_of(values))}, and it runs neither ms-swift nor slime; give the model's config.json")
    known = _taken(path, groups, False).fields
    others = [*unknown, *uncounted(values)]
    if re.search(r"\baccelerate\s+launch\b.*--config_file", text, re.S):
        others.append("config_file of accelerate, by which weights may be sharded")
    training = {**training_of({**known, **values}, path), **{name: value for name, value in known.items() if is_of_training(name)}}
    return Script(training, others, hub_of(values), (), freezes_towers(values), adapters_of(path, {**known, **values}))


def _has_own_spec(fields: Dict[str, Any]) -> bool:
    """Specs of slime take what differs between layers from the model's config.json; that of GLM 4 adds norms alone, and that of MiniMax-M2 makes
    other norms of queries and keys."""
    spec = fields.get("spec")
    word = str(spec[0] if isinstance(spec, list) and spec else spec)
    is_told = word.endswith(".minimax_m2") or (word.endswith(".glm4") and fields.get("post_mlp_layernorm"))
    return word.startswith("slime_plugins.") and not is_told


def _check_spec(path: str, fields: Dict[str, Any]) -> None:
    spec = fields.get("spec")
    words = spec if isinstance(spec, list) else [spec]
    if _has_own_spec(fields):
        raise Error(f"{path}: spec is {shown(' '.join(map(str, words)))}, whose layers follow from Hugging Face's config.json; give that file")
    if str(words[0]).startswith("slime_plugins.") and NORM_OF_ALL_HEADS not in words:
        del fields["spec"]
