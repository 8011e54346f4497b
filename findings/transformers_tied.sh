#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Transformers 5.23.0.
# A model with pictures has tie_word_embeddings in its config.json, and its text_config has one too. Which of them counts depends on the
# model type: either of them is enough (llava, qwen2_vl), the outer one alone (qwen3_vl), the outer one alone and true where it is
# missing (gemma3, mistral3), the inner one alone (llama4), neither (mllama).
# For who plans: a head of its own is vocabulary times width more parameters on the last stage, often the largest matrix of all. A
# reader of config.json that looks in one place is wrong for half of these.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages torch==2.13.0 transformers==5.23.0
seen=$(
    python - 2> "$work/log" <<'PY' || { tail -1 "$work/log" >&2; exit 1; }
import torch
from transformers import AutoConfig, AutoModelForImageTextToText

SIZES = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2)


def tied(name, outer, inner):
    text = {"model_type": AutoConfig.for_model(name).text_config.model_type, **SIZES}
    if inner is not None:
        text["tie_word_embeddings"] = inner
    config = AutoConfig.for_model(name, text_config=text, **({} if outer is None else {"tie_word_embeddings": outer}))
    with torch.device("meta"):
        model = AutoModelForImageTextToText.from_config(config)
    return "tied" if model.get_output_embeddings().weight is model.get_input_embeddings().weight else "apart"


print("outer/inner   -/-    -/true false/true true/false")
for name in "llava", "qwen2_vl", "qwen3_vl", "gemma3", "mistral3", "llama4", "mllama":
    cells = [tied(name, *flags) for flags in ((None, None), (None, True), (False, True), (True, False))]
    print(f"{name:12} {cells[0]:7} {cells[1]:6} {cells[2]:6} {cells[3]}")
PY
)
compare "outer/inner   -/-    -/true false/true true/false
llava        apart   tied   tied   tied
qwen2_vl     apart   tied   tied   tied
qwen3_vl     apart   apart  apart  tied
gemma3       tied    tied   apart  tied
mistral3     tied    tied   apart  tied
llama4       apart   tied   tied   apart
mllama       apart   apart  apart  apart" "$seen"
