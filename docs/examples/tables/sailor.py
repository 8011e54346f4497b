# SPDX-License-Identifier: Apache-2.0
"""Sailor's profile.json of a model on a device as a table of measured layers.

usage: sailor.py profile.json --seq N > table.csv

The file has, by microbatch size and then by tensor parallelism, for each layer the seconds of its forward, backward and update. The
first layer is the embedding, the last the head, the others are decoders, of which the mean is taken. Not told: the length of
sequences, memory, and the parts of a backward.
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
