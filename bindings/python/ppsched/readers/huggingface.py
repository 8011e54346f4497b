# SPDX-License-Identifier: Apache-2.0
"""Transformers from Hugging Face's config.json."""
from typing import Any, Callable, Dict, NamedTuple, Sequence

from .._core._library import Error
from .._core.model import Transformer
from .._core.shown import shown
from .._core.words import misspelt
from .huggingface_check import INSTEAD, check_fields
from .huggingface_fields import NO_SLIPS
from .huggingface_reader import Fields, Reader, in_use

MULTIMODAL = ("vision_config", "audio_config", "text_config", "thinker_config", "language_config", "llm_config", "talker_config")


class Described(NamedTuple):
    """A file's transformer, the longest sequence that it was made for, or 0, and what the answer leaves out, in a line each."""

    transformer: Transformer
    sequence: int
    warnings: Sequence[str]


# --- what the classes have in common ---

def _common(reader: Reader, key_value_heads: int = 0) -> Dict[str, Any]:
    """key_value_heads: of files that do not say; 0 is as heads."""
    return {"layers": reader.count("num_hidden_layers"), "hidden_size": reader.count("hidden_size"),
            "heads": reader.count("num_attention_heads"), "vocabulary_size": reader.count("vocab_size"),
            "key_value_heads": reader.defaulted("num_key_value_heads", key_value_heads, 1), "head_size": reader.optional("head_dim", least=1) or 0,
            "gated": True, "tied": reader.switch("tie_word_embeddings")}


def _llama(reader: Reader) -> Dict[str, Any]:
    bias = reader.switch("attention_bias")
    return {**_common(reader), "ffn_size": reader.count("intermediate_size"), "qkv_bias": bias, "projection_bias": bias,
            "mlp_bias": reader.switch("mlp_bias")}


def _mistral(reader: Reader, key_value_heads: int = 8) -> Dict[str, Any]:
    return {**_common(reader, key_value_heads), "ffn_size": reader.count("intermediate_size")}


def _mixtral(reader: Reader) -> Dict[str, Any]:
    return {**_common(reader, 8), "experts": reader.count("num_local_experts", "num_experts"),
            "experts_per_token": reader.count("num_experts_per_tok"),
            "expert_ffn_size": reader.count("intermediate_size")}


def _qwen2(reader: Reader) -> Dict[str, Any]:
    return {**_mistral(reader, 32), "qkv_bias": True}


def _qwen3(reader: Reader) -> Dict[str, Any]:
    bias = reader.switch("attention_bias")
    return {**_mistral(reader, 32), "head_size": reader.defaulted("head_dim", 128, 1), "qk_norm": True, "qkv_bias": bias, "projection_bias": bias}


def _qwen3_moe(reader: Reader) -> Dict[str, Any]:
    """Layer i has experts if decoder_sparse_step divides i + 1, and mlp_only_layers does not name it."""
    bias, layers, step = reader.switch("attention_bias"), reader.count("num_hidden_layers"), reader.optional("decoder_sparse_step", least=1) or 1
    given = reader.take("mlp_only_layers") or []
    if not isinstance(given, list) or not all(type(each) is int for each in given):  # a bool is none
        raise Error(f"{reader.where}: mlp_only_layers must be a list of integers, not {shown(given)}")
    dense = sorted(given)
    if dense != list(range(len(dense))) or (dense and step > 1):
        raise Error(f"{reader.where}: mlp_only_layers is {shown(dense)}; only the first layers can be told so, with decoder_sparse_step 1")
    row = {**_common(reader, 4), "qk_norm": True, "qkv_bias": bias, "projection_bias": bias,
           "experts": reader.count("num_experts", "num_local_experts"),
           "experts_per_token": reader.count("num_experts_per_tok"), "expert_ffn_size": reader.count("moe_intermediate_size"),
           "dense_layers": len(dense), "expert_interval": step, "expert_offset": 1 if step > 1 else 0}
    if dense or step > 1 or step > layers:
        row["ffn_size"] = reader.count("intermediate_size")
    return row


def _gemma2(reader: Reader) -> Dict[str, Any]:
    bias = reader.switch("attention_bias")
    return {**_mistral(reader, 4), "tied": reader.switch("tie_word_embeddings", True), "post_norms": True, "qkv_bias": bias,
            "projection_bias": bias, "head_size": reader.defaulted("head_dim", 256, 1)}


def _deepseek(reader: Reader, shared: int = 2, dense: int = 0) -> Dict[str, Any]:
    """shared, dense: experts and layers of files that do not say."""
    bias, layers = reader.switch("attention_bias"), reader.count("num_hidden_layers")
    row = {**_common(reader), "ffn_size": reader.optional("intermediate_size") or 0, "qkv_bias": bias, "projection_bias": bias,
           "query_rank": reader.defaulted("q_lora_rank", 1536), "key_value_rank": reader.count("kv_lora_rank"),
           "head_size": reader.count("qk_nope_head_dim"), "rope_head_size": reader.count("qk_rope_head_dim"),
           "value_head_size": reader.count("v_head_dim"), "mtp_layers": reader.optional("num_nextn_predict_layers", "num_mtp_layers") or 0}
    experts = reader.optional("n_routed_experts", "num_local_experts", "num_experts") or 0
    if not any(name in reader.fields for name in ("n_routed_experts", "num_local_experts", "num_experts")):
        reader.missing.append("n_routed_experts")
    if experts:
        width = reader.count("moe_intermediate_size")
        row.update(experts=experts, experts_per_token=reader.count("num_experts_per_tok"), expert_ffn_size=width,
                   shared_ffn_size=width * reader.defaulted("n_shared_experts", shared),
                   dense_layers=min(reader.defaulted("first_k_dense_replace", dense), layers),
                   expert_interval=reader.optional("moe_layer_freq", least=1) or 1)
    return row


def _deepseek_v3(reader: Reader) -> Dict[str, Any]:
    row = _deepseek(reader, 1, 3)
    return {**row, "router_bias": bool(row.get("experts"))}


def _gpt2(reader: Reader) -> Dict[str, Any]:
    hidden = reader.count("n_embd", "hidden_size")
    return {"layers": reader.count("n_layer", "num_hidden_layers"), "hidden_size": hidden,
            "heads": reader.count("n_head", "num_attention_heads"), "vocabulary_size": reader.count("vocab_size"),
            "ffn_size": reader.optional("n_inner", least=1) or 4 * hidden, "positions": reader.count("n_positions", "n_ctx"),
            "tied": reader.switch("tie_word_embeddings", True), "norm_bias": True, "qkv_bias": True, "projection_bias": True,
            "mlp_bias": True, "dropout": reader.share("resid_pdrop", 0.1) > 0}


def _gpt_neox(reader: Reader) -> Dict[str, Any]:
    bias = reader.switch("attention_bias", True)
    return {**_common(reader), "gated": False, "ffn_size": reader.count("intermediate_size"), "norm_bias": True,
            "qkv_bias": bias,
            "projection_bias": bias, "mlp_bias": True}


TYPES: Dict[str, Callable[[Reader], Dict[str, Any]]] = {
    "llama": _llama, "mistral": _mistral, "mixtral": _mixtral, "qwen2": _qwen2, "qwen3": _qwen3, "qwen3_moe": _qwen3_moe,
    "gemma2": _gemma2, "deepseek_v2": _deepseek, "deepseek_v3": _deepseek_v3, "kimi_k2": _deepseek_v3, "gpt2": _gpt2,
    "gpt_neox": _gpt_neox}


def _longest_sequence(reader: Reader) -> int:
    names = ("max_position_embeddings", "n_positions", "n_ctx")
    return next((found for name in names if (found := reader.optional(name, least=1)) is not None), 0)


NEEDED = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "vocab_size")


def _why_unknown(kind: object, fields: Fields) -> str:
    """What was meant, or what there is to do."""
    meant = "" if kind in NO_SLIPS else misspelt(kind, TYPES)
    if meant:
        return f"did you mean {meant}?"
    missing = [name for name in NEEDED if fields.get(name) is None]
    there = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing in it too; " if missing else ""
    return f"known are {', '.join(TYPES)}; {there}another of them in its place would be another model; {INSTEAD}"


def read_huggingface(where: str, fields: Fields) -> Described:
    kind = fields.get("model_type")
    if kind is not None and not isinstance(kind, str):
        raise Error(f"{where}: model_type must be a text, not {shown(kind)}; known are {', '.join(TYPES)}")
    part = next((name for name in MULTIMODAL if in_use(fields.get(name))), None)
    if part is not None:
        raise Error(f"{where}: a multimodal model ({shown(kind or part)[1:-1]}); give a file with the fields of its language model alone, such as "
                    f"those of text_config, if its model_type is one of {', '.join(TYPES)}; if it is not, {INSTEAD}")
    if kind not in TYPES:
        raise Error(f"{where}: model_type {shown(kind)} is not known; {_why_unknown(kind, fields)}")
    reader = Reader(where, fields)
    row = TYPES[kind](reader)
    reader.check(kind)
    return Described(Transformer(**row), _longest_sequence(reader), check_fields(reader, kind, row))
