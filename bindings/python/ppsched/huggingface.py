# SPDX-License-Identifier: Apache-2.0
"""Transformers from Hugging Face's config.json."""
from typing import Any, Callable, Dict, List, Mapping, Tuple

from ._library import Error
from .model import Transformer
from .shown import shown
from .words import misspelt

Fields = Mapping[str, Any]
MULTIMODAL = ("vision_config", "audio_config", "text_config", "thinker_config")


class Reader:
    """The fields of one file, asked for by name; what is missing is told all at once."""

    def __init__(self, where: str, fields: Fields) -> None:
        self.where, self.fields, self.missing = where, fields, []  # type: str, Fields, List[str]

    def count(self, *names: str) -> int:
        """The first of the names that there is."""
        found = self.optional(*names)
        if found is None:
            self.missing.append(names[0])
        elif found == 0:
            name = next(name for name in names if self.fields.get(name) is not None)
            raise Error(f"{self.where}: {name} is 0; it must be 1 or more")
        return found or 0

    def defaulted(self, name: str, default: int) -> int:
        """What Hugging Face's class has where the file says nothing; null is 0."""
        return self.optional(name) or 0 if name in self.fields else default

    def optional(self, *names: str) -> Any:
        for name in names:
            value = self.fields.get(name)
            if value is not None:
                if isinstance(value, bool) or not isinstance(value, int):
                    raise Error(f"{self.where}: {name} must be an integer, not {shown(value)}")
                if value < 0:
                    raise Error(f"{self.where}: {name} is {value}; it must be 0 or more")
                return value
        return None

    def switch(self, name: str, default: bool = False) -> bool:
        value = self.fields.get(name)
        if value is not None and not isinstance(value, bool):
            raise Error(f"{self.where}: {name} must be true or false, not {shown(value)}")
        return default if value is None else value

    def share(self, name: str, default: float) -> float:
        value = self.fields.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1):
            raise Error(f"{self.where}: {name} must be a number from 0 to 1, not {shown(value)}")
        return default if value is None else value

    def check(self, kind: str) -> None:
        if self.missing:
            raise Error(f"{self.where}: a {kind} needs {', '.join(self.missing)}; add {'it' if len(self.missing) == 1 else 'them'}")


# --- what the classes have in common ---

def _common(reader: Reader, key_value_heads: int = 0) -> Dict[str, Any]:
    """key_value_heads: of files that do not say; 0 is as heads."""
    return {"layers": reader.count("num_hidden_layers"), "hidden_size": reader.count("hidden_size"),
            "heads": reader.count("num_attention_heads"), "vocabulary_size": reader.count("vocab_size"),
            "key_value_heads": reader.defaulted("num_key_value_heads", key_value_heads), "head_size": reader.optional("head_dim") or 0,
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
    return {**_mistral(reader, 32), "head_size": reader.defaulted("head_dim", 128), "qk_norm": True, "qkv_bias": bias, "projection_bias": bias}


def _qwen3_moe(reader: Reader) -> Dict[str, Any]:
    """Layer i has experts if decoder_sparse_step divides i + 1, and mlp_only_layers does not name it."""
    bias, layers, step = reader.switch("attention_bias"), reader.count("num_hidden_layers"), reader.optional("decoder_sparse_step") or 1
    dense = sorted(reader.fields.get("mlp_only_layers") or [])
    if dense != list(range(len(dense))) or (dense and step > 1):
        raise Error(f"{reader.where}: mlp_only_layers is {dense}; only the first layers can be told so, with decoder_sparse_step 1")
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
            "projection_bias": bias, "head_size": reader.defaulted("head_dim", 256)}


def _deepseek(reader: Reader, shared: int = 2, dense: int = 0) -> Dict[str, Any]:
    """shared, dense: experts and layers of files that do not say."""
    bias, layers = reader.switch("attention_bias"), reader.count("num_hidden_layers")
    row = {**_common(reader), "ffn_size": reader.optional("intermediate_size") or 0, "qkv_bias": bias, "projection_bias": bias,
           "query_rank": reader.defaulted("q_lora_rank", 1536), "key_value_rank": reader.count("kv_lora_rank"),
           "head_size": reader.count("qk_nope_head_dim"), "rope_head_size": reader.count("qk_rope_head_dim"),
           "value_head_size": reader.count("v_head_dim"), "mtp_layers": reader.optional("num_nextn_predict_layers") or 0}
    experts = reader.optional("n_routed_experts") or 0
    if "n_routed_experts" not in reader.fields:
        reader.missing.append("n_routed_experts")
    if experts:
        width = reader.count("moe_intermediate_size")
        row.update(experts=experts, experts_per_token=reader.count("num_experts_per_tok"), expert_ffn_size=width,
                   shared_ffn_size=width * reader.defaulted("n_shared_experts", shared),
                   dense_layers=min(reader.defaulted("first_k_dense_replace", dense), layers),
                   expert_interval=reader.optional("moe_layer_freq") or 1)
    return row


def _deepseek_v3(reader: Reader) -> Dict[str, Any]:
    row = _deepseek(reader, 1, 3)
    return {**row, "router_bias": bool(row.get("experts"))}


def _gpt2(reader: Reader) -> Dict[str, Any]:
    hidden = reader.count("n_embd", "hidden_size")
    return {"layers": reader.count("n_layer", "num_hidden_layers"), "hidden_size": hidden,
            "heads": reader.count("n_head", "num_attention_heads"), "vocabulary_size": reader.count("vocab_size"),
            "ffn_size": reader.optional("n_inner") or 4 * hidden, "positions": reader.count("n_positions", "n_ctx"),
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


def longest_sequence(fields: Fields) -> int:
    """What the model was made for; 0 where it does not say."""
    return next((fields[name] for name in ("max_position_embeddings", "n_positions", "n_ctx")
                 if isinstance(fields.get(name), int)), 0)


NEEDED = ("num_hidden_layers", "hidden_size", "intermediate_size", "num_attention_heads", "vocab_size")


def _why_unknown(kind: object, fields: Fields) -> str:
    """What was meant, or what there is to do."""
    meant = misspelt(kind, TYPES)
    if meant:
        return f"did you mean {meant}?"
    missing = [name for name in NEEDED if fields.get(name) is None]
    there = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing in it too" if missing else \
        f"{', '.join(NEEDED)} are there, but not what its layers are"
    return f"known are {', '.join(TYPES)}; {there}; give Megatron-LM's argument names"


def read_huggingface(where: str, fields: Fields) -> Tuple[Transformer, str]:
    """The transformer, and its type."""
    kind = fields.get("model_type")
    part = next((name for name in MULTIMODAL if name in fields), None)
    if part is not None:
        raise Error(f"{where}: a multimodal model ({kind or part}); give a file with the fields of its language model alone, such as those "
                    "of text_config, and a model_type of " + ", ".join(TYPES))
    if kind not in TYPES:
        raise Error(f"{where}: model_type {shown(kind)} is not known; {_why_unknown(kind, fields)}")
    reader = Reader(where, fields)
    row = TYPES[str(kind)](reader)
    reader.check(str(kind))
    return Transformer(**row), str(kind)
