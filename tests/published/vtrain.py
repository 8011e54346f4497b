# SPDX-License-Identifier: Apache-2.0
"""vTrain's own predictor beside `ppsched price`, for its runs on many nodes. Its traces of kernels are not published, so it gets our times of
layers without collectives. Its schedule, messages and sums of gradients are its own.

    PPSCHED_LIBRARY=... PYTHONPATH=bindings/python python3 tests/published/vtrain.py CLONE   # of github.com/VIA-Research/vTrain"""
import contextlib
import csv
import io
import os
import statistics
import sys
import types

from ppsched.command.price_runs import job_of
from ppsched.readers.device_files import read_device

import accuracy_test

ROWS = (("embeddings", "embedding"), ("transformer", "decoder"), ("logit", "head"))  # its names of layers, and ours


def predictor(clone):
    """Its modules. What they import for profiles and pictures alone is empty."""
    os.chdir(clone)
    sys.path.insert(0, os.getcwd())
    for name in ("torch", "matplotlib", "matplotlib.pyplot", "src.model", "src.model.gpt_model", "src.trainer"):
        sys.modules[name] = types.ModuleType(name)
    sys.modules["src.model"].__path__ = []
    sys.modules["matplotlib"].pyplot = sys.modules["matplotlib.pyplot"]
    sys.modules["src.model.gpt_model"].ShardedGptModel = sys.modules["src.trainer"].Trainer = None
    from src.config import vTrainConfig
    from src.predictor import vTrain
    return vTrain, vTrainConfig


def kernels(run):
    """Seconds of layers on a device, as its traces have them: one kernel a layer and pass."""
    model, found = job_of(run, read_device("a100"))[0].model, {}
    for theirs, ours in ROWS:
        forward, backward, weight = (model.pass_cost(ours, kind) for kind in ("forward", "input", "weight"))
        seconds = {"Fwd": forward.time - forward.communication_time,
                   "Bwd": backward.time + weight.time - backward.communication_time - weight.communication_time,
                   "WU": model.update_cost(model.row(ours).parameters / run.training.tensor_parallel).optimizer_time}
        found.update({f"{kind}_{theirs}": [(int(time * 1e9), "kernel", None, 0, 0, 0)] for kind, time in seconds.items()})
    return found


def step_time(run, row, code):
    """Seconds that its predictor says."""
    vtrain, config = code
    with contextlib.redirect_stdout(io.StringIO()):
        settings = config(tensor_parallel_size=int(row["tp"]), data_parallel_size=int(row["dp"]), pipeline_parallel_size=int(row["pp"]),
                          global_batch_size=int(row["gbs"]), micro_batch_size=int(row["mbs"]), num_layers=int(row["layers"]),
                          hidden_size=int(row["hidden"]), num_attention_heads=int(row["heads"]), trace_path="trace")
    settings.micro_batch_size = int(row["mbs"])  # with one stage it takes the whole batch
    one = vtrain(settings)
    one.profile = lambda: kernels(run)
    return max(one()[0].values()) / 1e9


if __name__ == "__main__":
    with open(accuracy_test.HERE / "runs.csv", encoding="utf-8", newline="") as file:
        told = {row["id"]: row for row in csv.DictReader(file)}
    own = predictor(sys.argv[1])
    for name, group in accuracy_test.families(accuracy_test.all_priced()[0]).items():
        measured = [row.run.step_time for row in group]
        theirs = [step_time(row.run, told[row.run.name], own) for row in group]
        ours = [row.error for row in group]
        errors = [said / true - 1 for said, true in zip(theirs, measured)]
        print(f"{name}: Spearman {accuracy_test.order_of(group):.2f}, vTrain {accuracy_test.spearman(theirs, measured):.2f}, "
              f"errors correlate by {statistics.correlation(ours, errors):.2f}")
        for row, said, error in zip(group, theirs, errors):
            layout = " ".join(f"{column} {told[row.run.name][column]}" for column in ("tp", "pp", "dp", "mbs"))
            print(f"  {row.run.name}: {layout}: measured {row.run.step_time:.2f} s, priced {row.step.step_time:.2f} s ({row.error:+.0%}), "
                  f"vTrain {said:.2f} s ({error:+.0%})")
