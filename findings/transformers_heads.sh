#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Transformers 5.23.0.
# A config.json of width 4096 and 64 heads that leaves out num_key_value_heads and head_dim is a different model by its type. Missing
# key-value heads are as many as heads (llama), 8 (mistral), 32 (qwen2, qwen3), 4 (gemma2). A missing head_dim is width over heads for
# the first three, but 128 for qwen3 and 256 for gemma2, so that the queries are two and four times as wide as the model.
# For who plans: one rule for missing fields does not do. Here the same JSON is an attention of 38 to 143 million parameters a layer.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages torch==2.13.0 transformers==5.23.0
seen=$(
    python - 2> "$work/log" <<'PY' || { tail -1 "$work/log" >&2; exit 1; }
import torch
from transformers import AutoConfig, AutoModelForCausalLM

SIZES = dict(hidden_size=4096, intermediate_size=8192, num_hidden_layers=1, num_attention_heads=64, vocab_size=1000)
for name in "llama", "mistral", "qwen2", "qwen3", "gemma2":
    with torch.device("meta"):
        attention = AutoModelForCausalLM.from_config(AutoConfig.for_model(name, **SIZES)).model.layers[0].self_attn
    count = sum(p.numel() for p in attention.parameters())
    print(f"{name}: queries {attention.q_proj.out_features}, keys {attention.k_proj.out_features} wide, attention {count:,} parameters")
PY
)
compare "llama: queries 4096, keys 4096 wide, attention 67,108,864 parameters
mistral: queries 4096, keys 512 wide, attention 37,748,736 parameters
qwen2: queries 4096, keys 2048 wide, attention 50,339,840 parameters
qwen3: queries 8192, keys 4096 wide, attention 100,663,552 parameters
gemma2: queries 16384, keys 1024 wide, attention 142,606,336 parameters" "$seen"
