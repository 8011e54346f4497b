#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Transformers 5.23.0.
# The experts of a mixture are no modules any more. All experts of a layer are two three-dimensional tensors that one module holds, so
# a walk over torch.nn.Linear meets the attention and the head: about 3 % of the parameters of the default mixtral and qwen3_moe.
# For who plans: hooks, profilers and counters of FLOPs by Linear modules miss nearly all of the work of such a model, and names such
# as experts.0.w1 are gone. Count parameters, not modules.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages torch==2.13.0 transformers==5.23.0
seen=$(
    python - 2> "$work/log" <<'PY' || { tail -1 "$work/log" >&2; exit 1; }
import torch
from transformers import AutoConfig, AutoModelForCausalLM

for name in "llama", "mixtral", "qwen3_moe":
    with torch.device("meta"):
        model = AutoModelForCausalLM.from_config(AutoConfig.for_model(name))
    linear = [m for m in model.modules() if isinstance(m, torch.nn.Linear)]
    share = sum(p.numel() for m in linear for p in m.parameters()) / sum(p.numel() for p in model.parameters())
    experts = [str(tuple(p.shape)) for p in model.model.layers[0].parameters() if p.dim() == 3]
    print(f"{name}: in Linear modules {100 * share:.1f} %" + (f", experts of a layer {' '.join(experts)}" if experts else ""))
PY
)
compare "llama: in Linear modules 98.1 %
mixtral: in Linear modules 3.2 %, experts of a layer (8, 28672, 4096) (8, 4096, 14336)
qwen3_moe: in Linear modules 3.5 %, experts of a layer (128, 1536, 2048) (128, 2048, 768)" "$seen"
