#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# DeepSpeed 0.19.8 (with PyTorch 2.13.0, no compiled ops).
# The balanced partition of PipelineModule (methods "parameters" and "type:") looks for the smallest difference between the fullest and
# the emptiest stage, not for the smallest fullest one. With one light layer it joins that to a heavy one: weights 1, 9, 4, 5 on
# three stages become 10, 4, 5 (difference 6) although 1, 9, 9 (difference 8) has a fullest stage of 9. Of equal differences it
# may take the slower one too: 1, 4, 2, 2 become 5, 2, 2, where 1, 4, 4 is as good.
# For who plans: the fullest stage sets the step. Give the parts yourself where weights differ, as of a light embedding.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages torch==2.13.0 numpy==2.4.6 psutil==7.2.2 packaging==26.4 pydantic==2.14.4 tqdm==4.70.1 einops==0.8.2 \
    py-cpuinfo==9.0.0 msgpack==1.2.4 ninja==1.13.2 hjson==3.1.0 setuptools==84.2.1 wheel==0.48.0
DS_BUILD_OPS=0 python_packages --no-deps --no-build-isolation deepspeed==0.19.8
seen=$(
    python - 2> "$work/log" <<'PY' | grep stages || { tail -1 "$work/log" >&2; exit 1; }
from itertools import combinations
from deepspeed.runtime.utils import partition_balanced


def loads(weights, cuts):
    return [sum(weights[a:b]) for a, b in zip(cuts, cuts[1:])]


for weights in ([1, 9, 4, 5], [1, 4, 2, 2]):
    n = len(weights)
    best = min(max(loads(weights, (0, *cuts, n))) for cuts in combinations(range(1, n), 2))
    print(f"{weights} on 3 stages: {loads(weights, partition_balanced(weights, 3))}, best fullest stage {best}")
PY
)
compare "[1, 9, 4, 5] on 3 stages: [10, 4, 5], best fullest stage 9
[1, 4, 2, 2] on 3 stages: [5, 2, 2], best fullest stage 4" "$seen"
