# SPDX-License-Identifier: Apache-2.0
"""Writes a table of measured layers from Galvatron's profiles.

usage: galvatron.py FILE... [--head-share PERCENT] > table.csv

The files may be in any order:
- computation profiles: layertype_0_bszB_seqS and layertype_other_..., in milliseconds for the forward of one sample;
- memory profiles: MB of parameters and activations, by tensor parallelism;
- sp_time and allreduce profiles: milliseconds by MB, or GB/s.
Some figures follow the cost model of Galvatron. The time of a forward is divided by tensor parallelism. A backward takes twice as long as
a forward. This program divides it into two halves, one for each gradient. layertype_other is the embedding and the head together; the
head gets --head-share percent of it (default: 95). Weights, gradients and optimizer states together take 4 times the parameters.
"""
import re
import sys

from common import MIB, arguments, finish, read, whole_backward

import ppsched

TIME = re.compile(r"layertype_(0|other)_bsz(\d+)_seq(\d+)")
GROUP = re.compile(r"(allreduce|all2all)_size_(\d+)_(\d+)MB_time")
RATE = re.compile(r"allreduce_size_(\d+)_consec_1|pp_size_(\d+)")
NAMES = {"allreduce": "all_reduce", "all2all": "all_to_all"}


def times_of(values, share):
    for key, time in values.items():
        found = TIME.fullmatch(key)
        if found is None:
            continue
        batch = int(found[2])
        seconds = time * batch / 1000
        for kind, part in (("decoder", 1.0),) if found[1] == "0" else (("embedding", 1 - share), ("head", share)):
            yield ppsched.MeasuredLayer(kind, tensor_parallel=1, context_parallel=1, micro_batch_size=batch, sequence_length=int(found[3]),
                                        forward_time=part * seconds, **whole_backward(2 * part * seconds))


def memory_of(values):
    for name, lengths in values.items():
        if re.fullmatch(r"layertype_0(_sp)?", name) is None:
            continue
        for length, sizes in lengths.items():
            for tensor, kept in sizes["tp_activation_per_bsz_dict"].items():
                if tensor == "checkpoint":
                    yield ppsched.MeasuredLayer("decoder", "full", tensor_parallel=1, context_parallel=1, micro_batch_size=1,
                                                sequence_length=int(length), mem_forward=kept * MIB)
                else:
                    yield ppsched.MeasuredLayer("decoder", tensor_parallel=int(tensor), context_parallel=1, micro_batch_size=1,
                                                sequence_length=int(length), mem_forward=kept * MIB,
                                                mem_static=4 * sizes["parameter_size"] / int(tensor) * MIB)


def collectives_of(values):
    """The rate of an all-reduce counts the bytes that a device sends: 2 (n - 1) / n of the value."""
    for key, value in values.items():
        group, rate = GROUP.fullmatch(key), RATE.fullmatch(key)
        if group is not None:
            yield ppsched.MeasuredCollective(NAMES[group[1]], int(group[3]) * MIB, int(group[2]), 0, value / 1000)
        elif rate is not None and rate[1] is not None:
            count, size = int(rate[1]), 64 * MIB
            yield ppsched.MeasuredCollective("all_reduce", size, count, 0, 2 * (count - 1) / count * size / (1e9 * value))


def joined(rows):
    """One row for times and memory of equal sizes."""
    found = {}
    for row in rows:
        other = found.setdefault(row[:8], row)
        found[row[:8]] = ppsched.MeasuredLayer(*row[:8], *(new if old is None else old for old, new in zip(other[8:], row[8:])))
    return list(found.values())


def main():
    given = arguments("Galvatron's profiles as a table of measured layers", head_share=95)
    layers, collectives = [], []
    for path in given.files:
        values = read(path)
        own = [*times_of(values, given.head_share / 100), *memory_of({key: value for key, value in values.items() if isinstance(value, dict)})]
        between = list(collectives_of({key: value for key, value in values.items() if not isinstance(value, dict)}))
        if not own and not between:
            sys.exit(f"{path}: it has no key of a profile that is read, such as layertype_0_bsz1_seq4096 or allreduce_size_8_1MB_time")
        layers += own
        collectives += between
    finish(joined(layers), {one[:4]: one for one in collectives}.values())


if __name__ == "__main__":
    main()
