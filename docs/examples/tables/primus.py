# SPDX-License-Identifier: Apache-2.0
"""Writes a table of measured layers from the measurements of Primus' performance projection.

usage: primus.py FILE... --micro-batch N --seq N > table.csv

The key metadata of a file has the sizes of the benchmark. The key profiling_results has the embedding, the output, and each layer by its
number: the milliseconds of forward and backward, and the bytes of activations. Layers of the same type are averaged. The type dense becomes
decoder. The type moe becomes moe_decoder if there are both types, otherwise decoder. The file does not have the microbatch size, the length
of sequences, the memory of weights and optimizer states, and the parts of a backward.
"""
import sys

from common import arguments, finish, mean, read, whole_backward

import ppsched

KINDS = {"embedding": "embedding", "output": "head"}


def rows_of(path, given):
    values = read(path)
    results, sizes = values.get("profiling_results"), values.get("metadata", {})
    if not isinstance(results, dict):
        sys.exit(f"{path}: it has no profiling_results")
    by_type = {}
    for name, one in results.items():
        if isinstance(one, dict) and "forward_time_ms" in one:
            by_type.setdefault(KINDS.get(name) or str(one.get("type", "dense")).lower(), []).append(one)
    has_both = "dense" in by_type and "moe" in by_type
    for kind, own in by_type.items():
        row = {"dense": "decoder", "moe": "moe_decoder" if has_both else "decoder"}.get(kind, kind)
        yield ppsched.MeasuredLayer(row, tensor_parallel=int(sizes.get("benchmark_tp") or 0),
                                    expert_parallel=int(sizes.get("benchmark_ep") or 0), micro_batch_size=given.micro_batch,
                                    sequence_length=given.seq, forward_time=mean([one["forward_time_ms"] for one in own]) / 1000,
                                    mem_forward=float(mean([one["activation_memory_bytes"] for one in own])),
                                    **whole_backward(mean([one["backward_time_ms"] for one in own]) / 1000))


def main():
    given = arguments("Primus' measurements as a table of measured layers", micro_batch=None, seq=None)
    finish([row for path in given.files for row in rows_of(path, given)])


if __name__ == "__main__":
    main()
