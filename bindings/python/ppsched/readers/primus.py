# SPDX-License-Identifier: Apache-2.0
"""Primus' files: a model's YAML, which extends others, and that of a run, which names a model and overrides its arguments. Their names are
Megatron-LM's, and some of Primus' own (of its release at fd1eeabb)."""
import os
import pathlib
import re
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from .._core._library import Error
from .._core.shown import shown
from .adapters import Adapters, by_patterns
from .file_kinds import PRIMUS_TYPES
from .megatron_names import KNOWN
from .megatron_training import integer_of
from .primus_models import FAMILIES, OF_STACKS, PrimusModel, family_model, family_of, is_read_by, is_stack, stack_model

Read = Callable[[str], Mapping[str, Any]]
DEEPEST = 16                                   # files that extend each other
MODELS = ("primus", "configs", "models")       # folders of Primus with models, by framework
MODULES = ("primus", "configs", "modules")     # and with what a run has where it says nothing
FRAMEWORKS = ("megatron", "torchtitan", "megatron_bridge")
_QUOTED = re.compile(r"^([\"'])(.*)\1$")
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::([^}]*))?\}")

# Primus' own names that change neither layers nor the bytes and operations that are counted: logs, checks, kernels, data, other trainers.
PASSED = re.compile(r"(log_|mlflow_|wandb_|disable_|torch_profiler_|profile_|turbo_|use_turbo_|odc_|enable_odc|quantile_balancing_|weight_deosc|zero_bubble_"
                    r"|rl_|grpo_|langrl_|sft_|lb_mini_|use_fla_|fla_|retro_(?!add_retriever)|inference_|tiktoken_|use_rocm_|compress_rope_|use_v4_|v4_|kda_backend|kda_chunk|use_kimi_k3_)")
NOTHING = frozenset("""
allow_padding_num_layers async_tensor_model_parallel_allreduce auto_continue_train auto_offload_time bases communication_method
dataloader_mp_context debug_scheduler_table dump_pp_data empty_cache_interval enable_exactly_numeric_match enable_fused_linear_ce
enable_gloo_process_groups enable_odc_lb_mini enable_optimizer_post_validation enable_packed_sequences enable_primus_turbo extends final_logit_softcapping fused_ce_chunks fused_ce_mode
generate_tracelens_report hc_eps interleave_group_size keep_fp8_transpose_cache_when_using_custom_fsdp legacy_tokenizer mamba_d_conv mamba_expand
mock_dataset moe_extended_tp moe_router_bias_update_rule moe_router_force_load_balancing_type moe_use_fused_router_with_aux_score
moe_use_legacy_grouped_gemm muon_use_nesterov mxfp4_gradient_stochastic_rounding no_fp8_weight_transpose_cache num_seq_splits offload_chunk_num
offload_ops offload_overlap_sr offload_time patch_moe_overlap patch_primus_pipeline patch_zero_bubble pp_algorithm pp_warmup
pre_communication_optimization router_logit_softcapping attn_logit_softcapping scatter_gather_tensors_in_pipeline sink_window_even_layers_only stage
stderr_sink_level file_sink_level sink_level enable_zb_runtime enable_zero_bubble use_short_conv torch_compile trainable use_custom_fsdp use_packed_attention wall_clock_step_timer conv_L_cache conv_bias retriever_seq_length
""".split())


# What changes times where all of these are on: attention within each of the samples of a sequence; microbatches by the lengths of samples.
UNCOUNTED = (("enable_packed_sequences", "use_packed_attention"), ("enable_odc_lb_mini",))


# --- files ---

def _resolved(value: Any) -> Any:
    """Replaces ${NAME:default} by its default. A text that is only a number, true, false or null becomes that value."""
    if isinstance(value, dict):
        return {key: _resolved(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_resolved(each) for each in value]
    if not isinstance(value, str) or not _VARIABLE.search(value):
        return value
    text = _VARIABLE.sub(lambda match: _QUOTED.sub(r"\2", match[2]) if match[2] is not None else "null", value)
    words: Dict[str, Any] = {"null": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else float(text) if re.fullmatch(r"-?\d+\.\d*(e[-+]?\d+)?", text) else text


def _folders(path: str, parts: Tuple[str, ...], framework: str) -> List[str]:
    """The places of a file: the folder of the file that names it, and Primus' own folder."""
    here = pathlib.Path(os.path.abspath(path)).parent
    return [str(here), *(str(folder.joinpath(*parts, framework)) for folder in (here, *here.parents))]


def _find(path: str, name: object, folders: List[str]) -> str:
    if not isinstance(name, str):
        raise Error(f"{path}: {shown(name)} must be the name of a file")
    found = next((file for folder in folders if os.path.isfile(file := os.path.join(folder, name))), None)
    if found is None:
        raise Error(f"{path}: it names {shown(name)}, which is neither in its folder nor in primus/configs above it; put it there")
    return found


def _names(path: str, fields: Mapping[str, Any], key: str) -> List[Any]:
    """Of the files that a file takes."""
    value = fields.get(key)
    if value is not None and not isinstance(value, list):
        raise Error(f"{path}: {key} must be a list of files, not {shown(value)}")
    return list(value or [])


def _extended(path: str, read: Read, parts: Tuple[str, ...], framework: str, depth: int = 0) -> Dict[str, Any]:
    """The values of a file, which take precedence over those of the files that it extends."""
    if depth == DEEPEST:
        raise Error(f"{path}: more than {DEEPEST} files extend each other")
    values: Dict[str, Any] = {}
    own = _resolved(dict(read(path)))
    for name in [*(_names(path, own, "extends") or _names(path, own, "includes")), *_names(path, own, "bases")]:
        values = _merged(values, _extended(_find(path, name, _folders(path, parts, framework)), read, parts, framework, depth + 1))
    return _merged(values, {name: value for name, value in own.items() if name not in ("extends", "includes", "bases")})


def framework_of(fields: Mapping[str, Any]) -> str:
    """Of a run, megatron by default."""
    return str((_module(fields) or {}).get("framework", "megatron"))


def _module(fields: Mapping[str, Any]) -> Optional[Dict[str, Any]]:
    """That of a run which has a model."""
    modules = fields.get("modules")
    if not isinstance(modules, dict):
        return None
    return next((module for module in modules.values() if isinstance(module, dict) and "model" in module), None)


def _merged(values: Mapping[str, Any], over: Mapping[str, Any]) -> Dict[str, Any]:
    """One over the other, section by section."""
    found = dict(values)
    for name, value in over.items():
        before = found.get(name)
        found[name] = _merged(before, value) if isinstance(before, dict) and isinstance(value, dict) else value
    return found


def _run_values(path: str, fields: Mapping[str, Any], read: Read) -> Dict[str, Any]:
    """The values of a run: the defaults of its module, the model, and its overrides."""
    module = _module({"modules": _resolved(fields["modules"])})
    if module is None:
        raise Error(f"{path}: none of its modules has a model; give a run with one, or the model's own file")
    framework = framework_of(fields)
    if framework not in FRAMEWORKS:
        raise Error(f"{path}: its framework is {shown(framework)}; supported are {', '.join(FRAMEWORKS)}")
    values: Dict[str, Any] = {}
    if module.get("config") is not None:
        values = _merged(values, _extended(_find(path, module["config"], _folders(path, MODULES, framework)), read, MODULES, framework))
    values = _merged(values, _extended(_find(path, module["model"], _folders(path, MODELS, framework)), read, MODELS, framework))
    over = module.get("overrides") or {}
    if not isinstance(over, dict):
        raise Error(f"{path}: overrides must be a mapping, not {shown(over)}")
    return _merged(values, over)


# --- names ---

def _sinks(path: str, values: Dict[str, Any]) -> None:
    """Primus' own switch for sinks, with windows in all layers, or in every second one from the first."""
    if not values.pop("use_sink_attention", False):
        values.pop("sink_sliding_window", None)
        return
    values["softmax_type"] = "learnable"
    window = values.pop("sink_sliding_window", 0) or 0
    if window:
        values["window_size"] = [window - 1, 0]
        if values.get("sink_window_even_layers_only", True):
            layers = values.get("num_layers")
            values["window_attn_skip_freq"] = [int(layer % 2 == 0) for layer in range(layers if isinstance(layers, int) else 0)]


# Rows of the embedding by the start of a tokenizer's name, as Hugging Face's config.json of that model has them; the longest start counts.
VOCABULARIES = {
    "meta-llama/Llama-2": 32000, "meta-llama/Llama-3": 128256, "meta-llama/Meta-Llama-3": 128256, "NousResearch/Meta-Llama-3": 128256, "NousResearch/Llama-2": 32000,
    "meta-llama/Llama-4": 202048, "deepseek-ai/DeepSeek-V2": 102400, "deepseek-ai/DeepSeek-V3": 129280, "deepseek-ai/DeepSeek-V4": 129280,
    "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B": 151936, "deepseek-ai/DeepSeek-R1-Distill-Qwen": 152064, "Qwen/Qwen2.5-0.5B": 151936,
    "Qwen/Qwen2.5-1.5B": 151936, "Qwen/Qwen2.5-3B": 151936, "Qwen/Qwen2.5": 152064, "Qwen/Qwen3": 151936, "Qwen/Qwen3.5": 248320,
    "mistralai/Mixtral-8x7B": 32000, "mistralai/Mixtral-8x22B-v0.1": 32000, "moonshotai/Kimi-K": 163840, "THUDM/glm-4": 151552, "MiniMaxAI/MiniMax-M2": 200064, "LiquidAI/LFM2": 65536}
ONES = frozenset(("data_parallel_replicate_degree",))  # that do nothing if they are 1


def _is_off(name: str, value: Any) -> bool:
    return not value or (name in ONES and value == 1) or (isinstance(value, dict) and not value.get("enabled", value.get("enable", True)))


def _add_vocabulary(path: str, values: Dict[str, Any]) -> List[str]:
    """Primus takes the vocabulary from the tokenizer, whose file is not available."""
    if values.get("vocab_size") is not None or values.get("padded_vocab_size") is not None:
        return []
    name = str(values.get("tokenizer_model") or "")
    if not name:
        raise Error(f"{path}: vocab_size is missing, and tokenizer_model, from whose name it would follow; add one of them, or give a file that extends this one")
    start = max((start for start in VOCABULARIES if name.startswith(start)), key=len, default=None)
    if start is None:
        raise Error(f"{path}: vocab_size follows from the tokenizer {shown(name)}, whose file is not read; add vocab_size")
    values["padded_vocab_size"] = VOCABULARIES[start]
    return [f"padded_vocab_size {VOCABULARIES[start]}, as {name} has it in its config.json (the file leaves it to the tokenizer)"]


def job_values(path: str, fields: Mapping[str, Any], read: Read) -> Dict[str, Any]:
    """The sections of torchtitan's job in a run, without those of Primus' own kernels and logs."""
    return {name: value for name, value in _run_values(path, fields, read).items() if isinstance(value, dict) and name not in ("primus_turbo", "mlflow")}


def _check_recipe(path: str, values: Mapping[str, Any]) -> None:
    if values.get("hf_path") is None and values.get("flavor") is not None:
        raise Error(f"{path}: its model is that of the recipe {shown(values['flavor'])}, whose code has the sizes; add hf_path, or give the model's config.json")


def bridge_values(path: str, fields: Mapping[str, Any], read: Read) -> Dict[str, Any]:
    """A run of Megatron-Bridge: hf_path names the model of Hugging Face, the others are of training."""
    values = _run_values(path, fields, read)
    peft = values.pop("peft", None)
    if peft not in (None, "none") or "lora" in str(values.get("flavor")) or values.get("lora"):
        raise Error(f"{path}: peft is in use, and its adapters are not read here; leave it out, and give --lora-rank")
    _check_recipe(path, values)
    return values


# Keys of a run's adapters: those that are read, and those that change neither times nor memory.
OF_ADAPTERS = ("enabled", "dim", "dropout", "dropout_position", "target_modules", "alpha", "lora_A_init_method", "lora_B_init_method", "a2a_experimental")
TARGETS = ["linear_qkv", "linear_proj", "linear_fc1", "linear_fc2"]


def _adapters(path: str, lora: object, values: Mapping[str, Any]) -> Optional[Adapters]:
    """The adapters of a run. Beside the experts of a device there is one for all of them, which is not counted."""
    if not isinstance(lora, dict) or _is_off("lora", lora):
        return None
    other = next((name for name, value in lora.items() if name not in OF_ADAPTERS and value), None)
    if other is not None:
        raise Error(f"{path}: lora has {other}, which is not counted; leave it out")
    names = lora.get("target_modules") or TARGETS
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Error(f"{path}: lora.target_modules must be a list of names, not {shown(names)}")
    matches = by_patterns(path, names)
    if values.get("num_experts") and any(matches(f"decoder.layers.0.mlp.experts.{name}", False) for name in ("linear_fc1", "linear_fc2")):
        raise Error(f"{path}: lora has adapters of experts, which are not read here; name modules without experts in lora.target_modules, or leave "
                    "lora out, and give --lora-rank")
    is_before = lora.get("dropout_position", "pre") == "pre"
    return Adapters(integer_of(path, "lora.dim", lora.get("dim", 32), 1), matches, bool(lora.get("dropout")) and is_before, True)


def _check_names(path: str, values: Mapping[str, Any], family: str) -> None:
    """Refuses arguments that neither Megatron-LM nor the reader of the family knows."""
    unknown = [name for name, value in values.items() if name not in NOTHING and not PASSED.match(name) and not _is_off(name, value)
               and not (is_read_by(name, family) if family else name in KNOWN)]
    if not unknown:
        return
    is_one = len(unknown) == 1
    raise Error(f"{path}: {', '.join(unknown[:6])} {'is' if is_one else 'are'} in use, but {family or 'Megatron-LM'} does not have {'it' if is_one else 'them'}, "
                f"so {'it' if is_one else 'they'} would not be counted; give Hugging Face's config.json, or a description (docs/model.md)")


def primus_model(path: str, fields: Mapping[str, Any], read: Read) -> PrimusModel:
    """The model of the file: Megatron-LM's arguments, a config.json, or a description. Primus' own arguments are accepted if they change nothing, or are
    read for the family, else refused. The options are those of Megatron-LM's arguments, or None if these are in the fields."""
    is_run = isinstance(fields.get("modules"), dict)
    values = _run_values(path, fields, read) if is_run else _extended(path, read, MODELS, "megatron")
    kind: Optional[object] = values.pop("model_type", None)
    if kind is not None and kind not in PRIMUS_TYPES and kind not in FAMILIES:
        raise Error(f"{path}: model_type is {shown(kind)}, whose layers Primus makes itself; supported are {', '.join((*PRIMUS_TYPES, *FAMILIES))}; "
                    "give Hugging Face's config.json")
    _check_recipe(path, values)
    weights = values.pop("hf_path", None)  # which a model with sizes of its own begins with
    if weights and values.get("num_layers") is None:
        raise Error(f"{path}: its model is {shown(weights)} of Hugging Face; give the run that takes it, or the model's config.json")
    adapters = _adapters(path, values.pop("lora", None), values)
    _sinks(path, values)
    if values.get("sequence_parallel") in (0, 1):  # as its scripts give it
        values["sequence_parallel"] = bool(values["sequence_parallel"])
    family = family_of(kind, values)
    _check_names(path, values, family)
    assumed = _add_vocabulary(path, values)
    if family:
        found = family_model(path, family, values)
    elif is_stack(kind, values):
        found = stack_model(path, {name: value for name, value in values.items() if name in KNOWN or name in OF_STACKS})
    else:
        found = PrimusModel({name: value for name, value in values.items() if name in KNOWN}, None, [], [])
    uncounted = [names[-1] for names in UNCOUNTED if all(values.get(name) for name in names)]
    return found._replace(assumed=[*assumed, *found.assumed], not_taken=[*found.not_taken, *uncounted], adapters=adapters)
