# SPDX-License-Identifier: Apache-2.0
"""Writes a table of measured layers from Sailor's profile.json of a model on a device.

usage: sailor.py profile.json --seq N > table.csv

For each microbatch size and each tensor parallelism, the file has the seconds of the forward, the backward and the update of each layer.
The first layer is the embedding, the last layer is the head, and the others are decoders. The table has the mean of all decoders. The file
does not have the length of sequences, the memory, and the parts of a backward.
"""
import sys

from common import arguments, finish, mean, read, whole_backward

import ppsched


def main():
    given = arguments("Sailor's profile as a table of measured layers", seq=None)
    rows = []
    for path in given.files:
        for micro_batch, sizes in read(path).items():
            for tensor, layers in sizes.items():
                times = [layers[number] for number in sorted(layers, key=int)]
                if len(times) < 3:
                    sys.exit(f"{path}: {micro_batch}, {tensor} has {len(times)} layers; there must be an embedding, decoders and a head")
                for kind, own in (("embedding", times[:1]), ("decoder", times[1:-1]), ("head", times[-1:])):
                    rows.append(ppsched.MeasuredLayer(kind, tensor_parallel=int(tensor), context_parallel=1, micro_batch_size=int(micro_batch),
                                                      sequence_length=given.seq, forward_time=mean([one[0] for one in own]),
                                                      **whole_backward(mean([one[1] for one in own]))))
    finish(rows)


if __name__ == "__main__":
    main()
