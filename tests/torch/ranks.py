# SPDX-License-Identifier: Apache-2.0
"""Ranks of a pipeline: processes that share one group of PyTorch's gloo backend."""
import datetime
import json
import os
import sys
import tempfile
import traceback

import torch
from torch import distributed


def _child(work, rank, ranks, store, pipe):
    try:
        torch.set_num_threads(1)
        distributed.init_process_group("gloo", store=distributed.FileStore(store, ranks), rank=rank, world_size=ranks,
                                       timeout=datetime.timedelta(seconds=120))
        answer = {"answer": work(rank)}
        distributed.barrier()
        distributed.destroy_process_group()
    except BaseException:  # goes to the parent
        answer = {"error": f"rank {rank}: {traceback.format_exc()}"}
    with os.fdopen(pipe, "w") as file:
        json.dump(answer, file)
    os._exit(0)


def on_ranks(ranks, work):
    """What work(rank) returns in each of as many new processes."""
    readers = []
    with tempfile.TemporaryDirectory() as folder:
        for rank in range(ranks):
            reader, writer = os.pipe()
            if os.fork() == 0:
                _child(work, rank, ranks, os.path.join(folder, "store"), writer)
            os.close(writer)
            readers.append(reader)
        texts = [os.fdopen(reader).read() for reader in readers]
    answers = [json.loads(text or '{"error": "a rank died"}') for text in texts]
    errors = [answer["error"] for answer in answers if "error" in answer]
    if errors:
        sys.exit("\n".join(errors))
    return [answer["answer"] for answer in answers]
