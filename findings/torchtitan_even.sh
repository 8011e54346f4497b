#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# torchtitan 0.3.0 (with PyTorch 2.13.0).
# By default layers that the stages divide are not divided evenly. The embedding and the head count as a layer each, and what is
# left over goes to the first stages: 8 layers on 4 stages are 2, 3, 2, 1, and 32 on 8 have one stage of 5 and one of 3.
# For who plans: the step waits for the stage with one layer more, half as long again for 8 layers on 4. Even stages want
# first_stage_less_layers and last_stage_less_layers of 0, or the list of modules.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages torch==2.13.0 numpy==2.4.6 tyro==1.0.17
python_packages --no-deps torchtitan==0.3.0 spmd_types==0.2.3
seen=$(
    python - 2> "$work/log" <<'PY' || { tail -1 "$work/log" >&2; exit 1; }
from torchtitan.config import ParallelismConfig
from torchtitan.distributed.pipeline_parallel import _generate_llm_fqn_per_model_part as parts


def layers(stages, count, first, last):
    return [sum(name.startswith("layers.") for name in part) for part in parts(stages, count, first, last)]


default = ParallelismConfig()
ends = default.pipeline_parallel_first_stage_less_layers, default.pipeline_parallel_last_stage_less_layers
for stages, count in ((4, 8), (4, 16), (8, 32)):
    print(f"{count} layers on {stages} stages: {layers(stages, count, *ends)}, with 0 for both ends {layers(stages, count, 0, 0)}")
PY
)
compare "8 layers on 4 stages: [2, 3, 2, 1], with 0 for both ends [2, 2, 2, 2]
16 layers on 4 stages: [4, 5, 4, 3], with 0 for both ends [4, 4, 4, 4]
32 layers on 8 stages: [4, 5, 4, 4, 4, 4, 4, 3], with 0 for both ends [4, 4, 4, 4, 4, 4, 4, 4]" "$seen"
