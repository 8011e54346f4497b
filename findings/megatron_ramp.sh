#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# megatron-core 0.19.2 (with PyTorch 2.13.0; its wheel for Python 3.11 runs although it asks for a newer one).
# The ramp of the batch size, rampup_batch_size = [start, increment, samples], is still an argument of the calculator of microbatches,
# which says that it is deprecated. In fact it does nothing any more: from the first sample on M is that of the full batch.
# The schedule string that came in its place works.
# For who plans: a job that relied on small first steps has the full M, and the memory of its warm-up, from step one; M below the
# number of stages, which a ramp used to pass through, does not come up.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages torch==2.13.0 numpy==2.4.6 packaging==26.4
python_packages --no-deps --ignore-requires-python megatron-core==0.19.2 triton==3.9.0
seen=$(
    python - 2> "$work/log" <<'PY' || { tail -1 "$work/log" >&2; exit 1; }
from megatron.core import num_microbatches_calculator as calculator

BATCH, MICRO_BATCH, REPLICAS = 96, 2, 4


def numbers(name, ramp=None, schedule=None):
    calculator.destroy_num_microbatches_calculator()
    calculator.init_num_microbatches_calculator(0, ramp, BATCH, MICRO_BATCH, REPLICAS, step_batch_size_schedule=schedule)
    seen = []
    for samples in 0, 500, 2000:
        calculator.update_num_microbatches(samples, consistency_check=False)
        seen.append(calculator.get_num_microbatches())
    print(f"{name}: microbatches after 0, 500, 2000 samples:", *seen)


numbers("ramp [16, 16, 1000]", ramp=[16, 16, 1000])
numbers("0:16 500:48 1000:96", schedule="0:16 500:48 1000:96")
PY
)
compare "ramp [16, 16, 1000]: microbatches after 0, 500, 2000 samples: 12 12 12
0:16 500:48 1000:96: microbatches after 0, 500, 2000 samples: 2 6 12" "$seen"
