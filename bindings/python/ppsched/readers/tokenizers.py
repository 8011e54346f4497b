# SPDX-License-Identifier: Apache-2.0
"""Rows of the vocabulary by the tokenizer, where a file leaves them to it."""
import re
from typing import Any, Mapping, Optional

from .shell_words import UNKNOWN

# Rows of tokenizers by the start of their names; the longest start counts. llama_tokenizer.model is that of Llama 2.
TOKENIZERS = {
    "GPT2BPETokenizer": 50257, "gpt2": 50257, "meta-llama/Llama-2": 32000, "meta-llama/Llama-3": 128256, "meta-llama/Meta-Llama-3": 128256,
    "mistralai/Mixtral-8x7B": 32000, "mistralai/Mixtral-8x22B-v0.1": 32000, "mistral-community/Mixtral-8x22B-v0.1": 32000, "mistralai/Mistral-7B-v0.1": 32000,
    "mistralai/Mistral-Nemo": 131072, "mistralai/Mistral-Large-Instruct-2407": 32768, "bigcode/starcoder2": 49152, "tiiuae/falcon-7b": 65024,
    "EleutherAI/gpt-neox-20b": 50277, "THUDM/chatglm2-6b": 64794, "THUDM/chatglm3-6b": 64798, "llama_tokenizer.model": 32000, "google/gemma-2b": 256000,
    "google/gemma-7b": 256000, "unsloth/Meta-Llama-3": 128256, "Qwen/Qwen2.5": 151665, "unsloth/Qwen2.5": 151665}
# Types of Megatron-LM's launcher with one vocabulary. TikTokenizer has as many rows as --vocab-size says, or these.
TYPES = {"GPT2BPETokenizer": 50257, "TikTokenizer": 131072, "Llama2Tokenizer": 32000}
# Those of models that are no decoders alone.
ENCODERS = ("BertWordPieceLowerCase", "BertWordPieceCase", "MultimodalTokenizer", "NullMultimodalTokenizer")


def tokenizer_rows(name: str) -> Optional[int]:
    """Of a tokenizer by its name, or by that of its file."""
    names = (name, last_part(name))
    starts = [start for start in TOKENIZERS if any(each.startswith(start) for each in names)]
    return TOKENIZERS[max(starts, key=len)] if starts else None


def last_part(name: str) -> str:
    return re.split(r"[/\\]", name)[-1]


def launcher_rows(fields: Mapping[str, Any]) -> Optional[int]:
    """Of the launcher's arguments; pretrain_gpt.py takes GPT2BPETokenizer where they name files of a vocabulary alone."""
    kind, model = fields.get("tokenizer_type"), str(fields.get("tokenizer_model") or "")
    by_name = tokenizer_rows(model) if UNKNOWN not in model else None
    if kind is None:
        return TYPES["GPT2BPETokenizer"] if fields.get("vocab_file") is not None and fields.get("merge_file") is not None else None
    return by_name or TYPES.get(str(kind))
