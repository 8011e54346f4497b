# SPDX-License-Identifier: Apache-2.0
"""Metis' profiles as a table of measured layers: DeviceType.NAME_tpT_bsB.json, one file for each T and B.

usage: metis.py FILE... --seq N > table.csv

Of a file the first layer is the embedding, the last the head, the others are decoders, of which the mean is taken. Not told: the length
of sequences, and what of a layer's time is the forward; a third is taken. layer_memory_total_mb has states and activations together,
so that only parameters are taken, with 18 bytes each (2 of a weight, 4 of a gradient, 12 of the optimizer; Metis' weights have 2).
"""
import re
import sys

from common import arguments, finish, mean, read, whole_backward

import ppsched

BYTES_OF_WEIGHT, STATES = 2, 18


def rows_of(path, seq):
    name = re.search(r"_tp(\d+)_bs(\d+)\.json$", path)
    if name is None:
        sys.exit(f"{path}: the name must end with _tpN_bsN.json")
    values = read(path)
    times = [time / 1000 for time in values["execution_time"]["layer_compute_total_ms"]]
    weights = values["model"]["parameters"]["parameters_per_layer_bytes"]
    if len(times) < 3 or len(times) != len(weights):
        sys.exit(f"{path}: it needs an embedding, decoders and a head, with a time and parameters each")
    for kind, own in (("embedding", slice(0, 1)), ("decoder", slice(1, -1)), ("head", slice(-1, None))):
        time = mean(times[own])
        yield ppsched.MeasuredLayer(kind, tensor_parallel=int(name[1]), context_parallel=1, micro_batch_size=int(name[2]),
                                    sequence_length=seq, forward_time=time / 3, mem_static=mean(weights[own]) / BYTES_OF_WEIGHT * STATES, **whole_backward(2 * time / 3))


def main():
    given = arguments("Metis' profiles as a table of measured layers", seq=None)
    finish([row for path in given.files for row in rows_of(path, given.seq)])


if __name__ == "__main__":
    main()
