# SPDX-License-Identifier: Apache-2.0
"""The fields of Megatron Core's TransformerConfig, as recipes of Megatron-Bridge and NeMo 2 have them, as Megatron-LM's arguments."""
import re
from typing import Any, Dict, List, Mapping, NamedTuple

from .._core._library import Error
from .._core.shown import shown
from .file_kinds import last_word
from .megatron_arguments import ARGUMENTS
from .megatron_names import KNOWN
from .megatron_training import SHORT, TRAINING

Fields = Dict[str, Any]

# Fields that the launcher has by another name.
RENAMED = {"num_moe_experts": "num_experts", "use_custom_fsdp": "use_megatron_fsdp"}
# That change neither layers nor their costs: how tensors are made, kernels, checkpoints, text that is generated, embeddings of positions.
NOTHING = frozenset("""
activation_func async_tensor_model_parallel_allreduce bias_dropout_add_fusion data_step_fn dense_grouped_gemm disable_ddp_communication
enable_megatron_core_experimental finalize_model_grads_func forward_step_fn generation_config get_attention_mask_from_fusion grad_scale_func
hetereogenous_dist_checkpoint hf_model_id high_freq_factor keep_mtp_spec_in_bf16 low_freq_factor mamba_chunk_size mapping_type moe_extended_tp
moe_ncclep_static_shape moe_use_legacy_grouped_gemm mtp_enabled old_context_len parallel_output post_process pre_process restore_modelopt_state
rope_scaling scale_factor scatter_embedding_sequence_parallel seq_len_interpolation_factor tokenizer_library tokenizer_model_path tokenizer_name
tp_comm_overlap_cfg use_transformer_engine_full_layer_spec vp_stage calculate_per_token_loss cuda_graph_scope num_kv_heads_for_cache
""".split())
# Makers of the layers that the other fields tell; others make other layers.
SPECS = frozenset(("default_layer_spec", "transformer_engine_layer_spec", "transformer_engine_full_layer_spec", "local_layer_spec",
                   "quantization_layer_spec", "get_gpt_decoder_block_spec", "transformer_block_spec", "modelopt_transformer_layer_spec",
                   "default_mamba_stack_spec", "mamba_stack_spec", "get_default_mamba_stack_spec", "hybrid_stack_spec", "get_default_hybrid_stack_spec",
                   "modelopt_mamba_stack_spec", "get_mamba_stack_spec", "transformer_engine_mamba_stack_spec"))
SPEC_FIELDS = ("transformer_layer_spec", "mamba_stack_spec", "hybrid_stack_spec")
# Of TransformerConfig with latent attention, where a file says nothing; the launcher has others.
LATENT = {"q_lora_rank": 512, "kv_lora_rank": 512, "qk_head_dim": 128, "qk_pos_emb_head_dim": 64, "v_head_dim": 128}
BACKENDS = {1: "flash", 2: "fused", 3: "unfused", 4: "local", 5: "auto"}


class Arguments(NamedTuple):
    """Megatron-LM's arguments of a recipe, and what is assumed where it says nothing."""

    fields: Fields
    assumed: List[str]


# --- values ---

def plain_value(value: Any) -> Any:
    """What stands for an object: a type by its name, a tuple by its list, an attention backend by its word."""
    if not isinstance(value, dict) or "_target_" not in value:
        return value
    target, arguments = str(value["_target_"]), value.get("_args_") or []
    if target.endswith("AttnBackend"):
        return f"AttnBackend.{BACKENDS.get(arguments[0] if arguments else 5, 'auto')}"
    if target in ("builtins.tuple", "builtins.list"):
        return list(arguments[0]) if arguments and isinstance(arguments[0], list) else list(arguments)
    if target.startswith("torch.") and value.get("_call_") is False:
        return target
    return value


def is_in_use(value: Any) -> bool:
    return bool(value)


def section(path: str, fields: Mapping[str, Any], name: str) -> Fields:
    """A part of a file; a text, the name of a preset, or null has no values of its own."""
    value = fields.get(name)
    if value is not None and not isinstance(value, (dict, str, bool)):
        raise Error(f"{path}: {name} must be a mapping, not {shown(value)}")
    return dict(value) if isinstance(value, dict) else {}


# --- the model ---

def _check_spec(path: str, name: str, value: Any) -> None:
    if value is None:
        return
    target = value.get("_target_") if isinstance(value, dict) else value
    if isinstance(value, dict) and last_word(target) == "partial":
        inner = (value.get("_args_") or [None])[0]
        target = inner.get("_target_") if isinstance(inner, dict) else inner
    if last_word(target) not in SPECS:
        raise Error(f"{path}: {name} is {shown(str(target))}, which makes layers by itself; give Hugging Face's config.json")


def _check_unknown(path: str, fields: Mapping[str, Any]) -> None:
    unknown = [name for name, value in fields.items() if name not in KNOWN and name not in NOTHING and name not in RENAMED and name not in SPEC_FIELDS
               and not name.startswith("_") and name not in ("share_embeddings_and_output_weights", "should_pad_vocab") and is_in_use(value)]
    if unknown:
        raise Error(f"{path}: {', '.join(unknown[:6])} {'is' if len(unknown) == 1 else 'are'} in use, which Megatron-LM does not have, and would not be counted; "
                    "give Hugging Face's config.json")


def _add_attention(arguments: Fields) -> None:
    """Groups of queries, and what latent attention has by default."""
    groups = arguments.pop("num_query_groups", None)
    if arguments.get("multi_latent_attention"):
        for name, value in LATENT.items():
            if name not in arguments:
                arguments[name] = value
    elif groups is not None and groups != arguments.get("num_attention_heads"):
        arguments.update(num_query_groups=groups, group_query_attention=True)


def _add_vocabulary(arguments: Fields, pads: bool) -> None:
    size = arguments.pop("vocab_size", None)
    if size is not None:
        arguments["vocab_size" if pads else "padded_vocab_size"] = size


def model_arguments(path: str, given: Mapping[str, Any]) -> Fields:
    """Megatron-LM's arguments of a TransformerConfig with the embeddings around it."""
    fields = {name: plain_value(value) for name, value in given.items()}
    for name in SPEC_FIELDS:
        _check_spec(path, name, given.get(name))
    _check_unknown(path, fields)
    arguments: Fields = {}
    for name, value in fields.items():
        name = RENAMED.get(name, name)
        if name in KNOWN and not (name in ARGUMENTS and ARGUMENTS[name].effect == "nothing"):
            arguments[name] = value
    shared = fields.get("share_embeddings_and_output_weights")
    arguments["untie_embeddings_and_output_weights"] = shared is not None and not shared
    _add_attention(arguments)
    _add_vocabulary(arguments, bool(fields.get("should_pad_vocab")))
    if arguments.get("position_embedding_type") in (None, "learned_absolute") and arguments.get("seq_length") is not None:
        arguments["max_position_embeddings"] = arguments["seq_length"]
    return arguments


# --- how it is trained ---

def training_arguments(parts: Mapping[str, Any]) -> Fields:
    """Those of a section that count, or that are named because they do not."""
    found: Fields = {}
    for name, value in parts.items():
        name, value = RENAMED.get(name, name), plain_value(value)
        counts = name in TRAINING or name in SHORT or (name in KNOWN and not (name in ARGUMENTS and ARGUMENTS[name].effect == "nothing"))
        if counts and not isinstance(value, dict) and value is not None:
            found[name] = value
    if "grad_reduce_in_fp32" in parts:
        found["grad_reduce_in_bf16"] = parts["grad_reduce_in_fp32"] is False
    return found


def precision_arguments(value: Any) -> Fields:
    """Of a mapping with bf16 and so on, or of the name of a preset, such as bf16_mixed or 16-mixed."""
    if isinstance(value, dict):
        word = value.get("precision")
        found = training_arguments({name: each for name, each in value.items() if name != "precision"})
        return {**found, **(precision_arguments(word) if isinstance(word, str) else {})}
    word = str(value)
    if "bf16" in word:
        return {"bf16": True, **({"fp8": "hybrid"} if "fp8" in word else {})}
    return {"fp16": True} if "16" in word else {"bf16": False} if "32" in word else {}
