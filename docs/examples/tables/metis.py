# SPDX-License-Identifier: Apache-2.0
"""Writes a table of measured layers from Metis' profiles: DeviceType.NAME_tpT_bsB.json, one file for each T and B.

usage: metis.py FILE... --seq N > table.csv

In each file, the first layer is the embedding, the last layer is the head, and the others are decoders. The table has the mean of all
decoders. The files do not have the length of sequences. They have only the sum of forward and backward; this program counts a third of it
as forward. layer_memory_total_mb is the sum of states and activations, so it is not used. The memory is computed from the parameters, with
18 bytes for each: 2 for the weight, 4 for the gradient, 12 for the optimizer. (In Metis' files, a weight has 2 bytes.)
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
