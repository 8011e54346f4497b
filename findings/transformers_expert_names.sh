#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Transformers 5.23.0.
# A config.json may call the number of experts num_experts or num_local_experts, and some types take either. Others keep the second
# name as a field that nothing reads, and build their own default number: qwen3_moe and mixtral take both; qwen2_moe builds 60 for
# num_local_experts 4; jetmoe and phimoe build 8 and 16 for num_experts 4. No warning comes.
# For who plans: read the name that the type reads, and treat the other one as unknown. Here it is a factor of 2 to 15 in the layer.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages torch==2.13.0 transformers==5.23.0
seen=$(
    python - 2> "$work/log" <<'PY' || { tail -1 "$work/log" >&2; exit 1; }
import torch
from transformers import AutoConfig, AutoModelForCausalLM

SIZES = dict(hidden_size=64, intermediate_size=128, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=4, vocab_size=100)


def built(name, field):
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(name, **{field: 4}, **SIZES))
    shapes = [p.shape for p in model.model.layers.parameters() if p.dim() == 3]  # all experts of a layer in one tensor
    return max(shape[0] for shape in shapes)


for name in "mixtral", "qwen3_moe", "qwen2_moe", "phimoe", "jetmoe":
    print(f"{name}:", ", ".join(f"{field} 4 builds {built(name, field)}" for field in ("num_experts", "num_local_experts")))
PY
)
compare "mixtral: num_experts 4 builds 4, num_local_experts 4 builds 4
qwen3_moe: num_experts 4 builds 4, num_local_experts 4 builds 4
qwen2_moe: num_experts 4 builds 4, num_local_experts 4 builds 60
phimoe: num_experts 4 builds 16, num_local_experts 4 builds 4
jetmoe: num_experts 4 builds 8, num_local_experts 4 builds 4" "$seen"
