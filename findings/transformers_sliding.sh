#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Transformers 5.23.0.
# The same fields of a config.json give other layers a sliding window by model type. With six layers, sliding_window 16,
# max_window_layers 2 and use_sliding_window true, layers 2 to 5 of qwen2 and qwen3 slide, layer 0 alone of qwen2_moe (the even ones
# below max_window_layers), and every layer of qwen3_moe. Without use_sliding_window none of these has a window; mistral does.
# For who plans: with long sequences the cost of attention differs by layer, so which layers slide moves the split. The fields alone
# do not tell: it takes the rule of the model type.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages torch==2.13.0 transformers==5.23.0
seen=$(
    python - 2> "$work/log" <<'PY' || { tail -1 "$work/log" >&2; exit 1; }
import torch
from transformers import AutoConfig, AutoModelForCausalLM

SIZES = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=6, num_attention_heads=4, num_key_value_heads=4, vocab_size=100)
WINDOW = dict(sliding_window=16, max_window_layers=2)


def kinds(config):
    """S of each layer whose last position gives no weight to the first one, else F."""
    config._attn_implementation = "eager"
    model = AutoModelForCausalLM.from_config(config).eval()
    with torch.no_grad():
        weights = model(torch.arange(32)[None], output_attentions=True).attentions
    return "".join("S" if float(layer[0, :, -1, 0].abs().max()) == 0 else "F" for layer in weights)


for name in "qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "mistral":
    on = AutoConfig.for_model(name, use_sliding_window=True, **WINDOW, **SIZES)
    off = AutoConfig.for_model(name, **WINDOW, **SIZES)
    print(f"{name} {kinds(on)}, without use_sliding_window {kinds(off)} window {off.sliding_window}")
PY
)
compare "qwen2 FFSSSS, without use_sliding_window FFFFFF window None
qwen3 FFSSSS, without use_sliding_window FFFFFF window None
qwen2_moe SFFFFF, without use_sliding_window FFFFFF window 0
qwen3_moe SSSSSS, without use_sliding_window FFFFFF window None
mistral SSSSSS, without use_sliding_window SSSSSS window 16" "$seen"
