# SPDX-License-Identifier: Apache-2.0
"""NeMo 1's YAML of language models (examples/nlp/language_modeling): its sections model and trainer, as Megatron-LM's arguments."""
from typing import Any, Dict, List, Mapping

from .._core._library import Error
from .._core.shown import shown
from .interpolation import Resolver
from .megatron_arguments import ARGUMENTS
from .megatron_names import KNOWN
from .nemo_fields import Arguments, Fields, is_in_use
from .tokenizers import tokenizer_rows

# Fields that are Megatron-LM's by another name.
RENAMED = {
    "bias": "add_bias_linear", "qkv_bias": "add_qkv_bias", "num_moe_experts": "num_experts", "encoder_seq_length": "seq_length",
    "activations_checkpoint_granularity": "recompute_granularity", "activations_checkpoint_method": "recompute_method",
    "activations_checkpoint_num_layers": "recompute_num_layers", "ub_tp_comm_overlap": "tp_comm_overlap", "mamba_ssm_ngroups": "mamba_num_groups",
    "num_micro_batches_with_partial_activation_checkpoints": "num_microbatches_with_partial_activation_checkpoints"}
# That change neither layers nor their costs.
NOTHING = frozenset("""
activations_checkpoint_layers_per_pipeline add_position_embedding apex_transformer_log_level async_grad_allreduce bias_dropout_add_fusion data data_prefix
deteministic_mode dist_ckpt_load_on_device dist_ckpt_load_strictness dist_ckpt_parallel_dist_opt dist_ckpt_parallel_load dist_ckpt_parallel_save
dist_ckpt_parallel_save_within_dp dist_ckpt_torch_dist_multiproc do_layer_norm_weight_decay enable_megatron_timers fp8_e4m3 fp8_hybrid fp8_params
fp32_grad_accum fsdp_grad_reduce_dtype fsdp_sharded_checkpoint fsdp_sharding_strategy gc_interval get_attention_mask_from_fusion
grad_allreduce_chunk_size_mb grad_div_ar_fusion gradient_as_bucket_view hybrid_attention_ratio hybrid_mlp_ratio index_mapping_dir init_method_std
mcore_gpt megatron_amp_O2 megatron_legacy megatron_timer_kwargs name native_amp_growth_interval native_amp_init_scale nsys_profile optim
pre_process post_process precision reduce_amax reset_lr reset_lr_steps restore_from_ckpt restore_from_path resume_from_checkpoint rotary_percentage
scale_factor low_freq_factor high_freq_factor old_context_len scale_positional_embedding seq_len_interpolation_factor sharp sync_batch_comm target
target_class tokenizer ub_tp_comm_overlap_cfg use_emha use_scaled_init_method validation_param_sync_overlap normalize_attention_scores
nemo_version answer_only_loss apply_embedding_scaling hidden_act num_layers_to_drop pretrained_checkpoint enable_cuda_graph use_flash_attention
transformer_engine override_vocab_size share_embeddings_and_output_weights activation normalization transformer_block_type attention_type headscale
drop_layers position_embedding_type peft mcore_customization_config fsdp embedding_scale memmap_workers skip_warmup openai_gelu ffn_dropout
""".split())
NORMS = {"layernorm": "LayerNorm", "layernorm1p": "LayerNorm", "rmsnorm": "RMSNorm"}
POSITIONS = {"learned_absolute": "learned_absolute", "rope": "rope", "alibi": "none", "kerple": "none", "none": "none", "yarn": "yarn"}
# What makes another kind of model, and what it is then.
KINDS = {"mm_cfg": "a tower for images before the layers", "img_h": "a model of images", "bert_binary_head": "only an encoder", "retro": "a retriever", "hyena": "layers of Hyena",
         "logits_soft_cap": "recurrent layers", "encoder": "an encoder and a decoder", "decoder": "an encoder and a decoder", "vision": "a tower for images"}
NAMES = ("falcon", "griffin", "gemma2", "hyena", "retro", "t5", "bert", "mt5", "ul2", "bart")  # in names of models with other layers


def _check_kind(path: str, fields: Mapping[str, Any], model: Mapping[str, Any]) -> None:
    kind = next((text for name, text in KINDS.items() if model.get(name) not in (None, False)), None)
    if kind is not None:
        raise Error(f"{path}: its model has {kind}; only decoder-only language models are supported")
    name = str(model.get("name") or fields.get("name") or "").lower()
    other = next((each for each in NAMES if each in name), None)
    if other is not None:
        raise Error(f"{path}: its model is called {shown(name)}, which has layers that its fields do not tell; give Hugging Face's config.json")
    if "mamba" in name and not model.get("hybrid_override_pattern"):
        raise Error(f"{path}: its model is called {shown(name)}, and has no hybrid_override_pattern; add it, as M for each layer of Mamba")
    for field, usual in (("transformer_block_type", "pre_ln"), ("attention_type", "multihead"), ("headscale", False), ("drop_layers", [])):
        if model.get(field) not in (None, usual):
            raise Error(f"{path}: {field} is {shown(model[field])}, which would change the answer and is not counted; only files with {shown(usual)} are supported")
    customized = model.get("mcore_customization_config")
    used = [name for name, value in (customized or {}).items() if is_in_use(value)] if isinstance(customized, dict) else []
    if used:
        raise Error(f"{path}: mcore_customization_config has {', '.join(used)} in use, which is not counted; give Hugging Face's config.json")
    peft = model.get("peft")
    if isinstance(peft, dict) and peft.get("peft_scheme"):
        raise Error(f"{path}: peft is in use, and its adapters are not read here; leave it out, and give --lora-rank")


def _check_names(path: str, model: Mapping[str, Any]) -> None:
    unknown = [name for name, value in model.items() if name not in KNOWN and name not in RENAMED and name not in NOTHING and is_in_use(value)]
    if unknown:
        raise Error(f"{path}: {', '.join(unknown[:6])} {'is' if len(unknown) == 1 else 'are'} in use, which a decoder of Megatron-LM does not have, and would "
                    "not be counted; give Hugging Face's config.json")


def _word(path: str, model: Mapping[str, Any], name: str, known: Mapping[str, str], default: str) -> str:
    value = str(model.get(name) or default).lower()
    if value not in known:
        raise Error(f"{path}: {name} is {shown(model[name])}; supported are {', '.join(known)}")
    return known[value]


def _vocabulary(path: str, model: Mapping[str, Any], tokenizer: Mapping[str, Any], assumed: List[str]) -> Fields:
    if model.get("override_vocab_size") is not None:
        return {"padded_vocab_size": model["override_vocab_size"]}
    if model.get("vocab_size") is not None:
        return {"vocab_size": model["vocab_size"]}
    names = [str(tokenizer[name]) for name in ("type", "model") if tokenizer.get(name)]
    rows = next((found for found in map(tokenizer_rows, names) if found is not None), None)
    if rows is None:
        raise Error(f"{path}: the vocabulary follows from the tokenizer {shown(', '.join(names))}, whose file is not read; add override_vocab_size to model")
    assumed.append(f"a vocabulary of {rows}, padded, as {names[-1] if tokenizer_rows(names[0]) is None else names[0]} has it (the file leaves it to the tokenizer)")
    return {"vocab_size": rows}


def _shape(path: str, model: Mapping[str, Any]) -> Fields:
    """What NeMo 1 says in words of its own."""
    found: Fields = {"normalization": _word(path, model, "normalization", NORMS, "layernorm"),
                     "position_embedding_type": _word(path, model, "position_embedding_type", POSITIONS, "learned_absolute"),
                     "gated_linear_unit": str(model.get("activation", "gelu")).endswith("glu"),
                     "untie_embeddings_and_output_weights": model.get("share_embeddings_and_output_weights") is False}
    groups = model.get("num_query_groups")
    if groups is not None and groups != model.get("num_attention_heads"):
        found.update(num_query_groups=groups, group_query_attention=True)
    if found["position_embedding_type"] == "learned_absolute" and model.get("encoder_seq_length") is not None:
        found["max_position_embeddings"] = model["encoder_seq_length"]
    return found


def _training(model: Mapping[str, Any], optimizer: Mapping[str, Any], trainer: Mapping[str, Any]) -> Fields:
    found: Fields = {}
    precision = str(trainer.get("precision", "32"))
    found.update({"bf16": True} if "bf16" in precision else {"fp16": True} if "16" in precision else {"bf16": False})
    name = str(optimizer.get("name", ""))
    found["use_distributed_optimizer"] = name in ("distributed_fused_adam", "mcore_distributed_optim")
    found["overlap_grad_reduce"] = bool(optimizer.get("overlap_grad_sync"))
    found["overlap_param_gather"] = bool(optimizer.get("overlap_param_sync"))
    if optimizer.get("grad_sync_dtype") in ("bf16", "bfloat16") or (found.get("bf16") and model.get("megatron_amp_O2") and optimizer.get("grad_sync_dtype") == 16):
        found["grad_reduce_in_bf16"] = True
    if model.get("fsdp"):
        found["use_torch_fsdp2"] = True
    if model.get("fp8"):
        found["fp8"] = "hybrid"
    devices, nodes = trainer.get("devices"), trainer.get("num_nodes", 1)
    if all(isinstance(each, int) and not isinstance(each, bool) and each > 0 for each in (devices, nodes)):
        found["world_size"] = devices * nodes
    return found


def nemo_1_arguments(path: str, fields: Mapping[str, Any]) -> Arguments:
    resolver = Resolver(fields)
    model = resolver.section("model")
    _check_kind(path, fields, model)
    _check_names(path, model)
    arguments: Dict[str, Any] = {}
    own = ("num_query_groups", "normalization", "position_embedding_type", "max_position_embeddings", "vocab_size", "share_embeddings_and_output_weights", "fp8")
    for name, value in model.items():
        name = RENAMED.get(name, name)
        if name in KNOWN and name not in own and not (name in ARGUMENTS and ARGUMENTS[name].effect == "nothing") and value is not None:
            arguments[name] = value
    assumed: List[str] = []
    arguments.update(_shape(path, model))
    arguments.update(_vocabulary(path, model, model.get("tokenizer") or {}, assumed))
    arguments.update(_training(model, resolver.section("model", "optim"), resolver.section("trainer")))
    sequence = resolver.section("model", "data").get("seq_length")
    if isinstance(sequence, int):
        arguments["seq_length"] = sequence
    return Arguments(arguments, assumed)
