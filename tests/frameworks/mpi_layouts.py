# SPDX-License-Identifier: Apache-2.0
"""A search among layouts, alone and with the workers of mpi4py.futures; prints as JSON whether the rows are equal, and their number.

usage: mpirun -n N python -m mpi4py.futures mpi_layouts.py
"""
import json

import ppsched
from mpi4py.futures import MPIPoolExecutor

SHAPE = ppsched.Transformer(layers=16, hidden_size=2048, ffn_size=8192, heads=16, key_value_heads=8, vocabulary_size=128256, gated=True,
                            causal=True)

if __name__ == "__main__":
    given = dict(gpus=16, device="h100", fixed={"global_batch": 64, "tp": [1, 2, 4]})
    alone = ppsched.plan_layouts(SHAPE, **given)
    with MPIPoolExecutor() as executor:
        shared = ppsched.plan_layouts(SHAPE, **given, executor=executor)
        workers = executor.num_workers
    print(json.dumps({"rows": len(alone), "workers": workers, "equal": list(shared) == list(alone) and shared.counts == alone.counts}))
