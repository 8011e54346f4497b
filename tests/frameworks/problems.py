# SPDX-License-Identifier: Apache-2.0
"""Random problems for a runtime: its launch line, and what the line is to say. The same ones in each run.

A problem has a schedule, mostly also layers with a split, and sometimes a micro batch, replicas, MTP layers, or recomputation.
Those that the runtime refuses are counted, and another one is made.
"""
import json
import os
import pathlib
import random
import shlex
import sys

import ppsched

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from in_process import run_command  # noqa: E402

CHUNKS = {"looped_bfs": (2, 3), "interleaved_1f1b": (2, 3, 4), "interleaved_1f1b_overlap": (2, 3), "interleaved_zb": (2, 3),
          "zbv": (2,), "dualpipe_v": (2,), "v_half": (2,), "v_min": (2,), "v_1f1b": (2,)}


def _order(schedule):
    return [[[op.kind.name, op.stage, op.microbatch] for op in queue] for queue in schedule.queues]


def _schedule(random_, strategies, devices):
    strategy = random_.choice(strategies)
    chunks = random_.choice(CHUNKS.get(strategy, (1,)))
    rounds = random_.randint(1, 3)
    microbatches = devices * rounds if random_.random() < 0.7 else random_.randint(1, 3 * devices)
    options = {}
    if strategy == "interleaved_1f1b" and random_.random() < 0.3:
        options["group_size"] = random_.randint(devices, 2 * devices)
    return ppsched.generate(strategy, ppsched.Config(devices, microbatches, devices * chunks, options=options)), strategy


def _counts(random_, stages, empty):
    """Decoders of each stage: equal, equal but at the ends, or any."""
    least, kind = 0 if empty else 1, random_.randrange(3)
    if kind == 2:
        return [random_.randint(least, 5) for _ in range(stages)]
    counts = [random_.randint(1, 5)] * stages
    if kind == 1:
        counts[0], counts[-1] = random_.randint(1, 6), random_.randint(1, 6)
    return counts


def _model(random_, stages, kinds, most_mtps, empty):
    """A ppsched.LayerSplit, and what it is to be read as."""
    counts, mtps = _counts(random_, stages, empty), random_.randint(0, most_mtps) if random_.random() < 0.3 else 0
    kind = random_.choice(kinds) if kinds and random_.random() < 0.5 else None
    ways = {"recompute": [{"name": name, "backward_time": 4} for name in kinds]} if kinds and (kind or random_.random() < 0.5) else {}
    rows = [{"name": "embedding", "place": "first"}, {"name": "decoder", "count": max(1, sum(counts)), "forward_time": 1, **ways}]
    counts[-1] += sum(counts) == 0
    if mtps:
        rows.append({"name": "mtp", "count": mtps, "forward_time": 1, **ways})
    rows.append({"name": "head", "place": "last"})
    split = [*counts]
    split[0] += 1
    split[-1] += 1 + mtps
    number = [way["name"] for way in ways.get("recompute", ())].index(kind) + 1 if kind else 0
    recomputes = [0] + [number] * (sum(counts) + mtps) + [0]
    layers = ppsched.Layers(rows)
    return ppsched.LayerSplit(layers, ppsched.Split(split, recomputes)), {
        "counts": counts, "mtps": mtps, "kind": kind, "has_kinds": bool(ways), "split": split, "recomputes": recomputes,
        "names": layers.names}


class Problems:
    """CSVs that lines name are in the folder, where the program that reads the lines runs. list: the problems; refused: how many the runtime refused."""

    def __init__(self, runtime, strategies, number=200, seed=1, folder=None, kinds=(), most_mtps=0, empty=False, replicas=(1, 1, 2, 3)):
        self.list, self.refused, random_ = [], 0, random.Random(seed)
        while len(self.list) < number:
            self._add(random_, runtime, strategies, folder, kinds, most_mtps, empty, replicas)

    def _add(self, random_, runtime, strategies, folder, kinds, most_mtps, empty, replicas):
        devices, replicas = random_.randint(2, 6), random_.choice(replicas)
        micro_batch = random_.choice((0, 0, 1, 2, 3))
        try:
            schedule, strategy = _schedule(random_, strategies, devices)
            wanted = {"counts": None, "mtps": 0, "kind": None, "has_kinds": False, "split": None}
            given = {"micro_batch": micro_batch, "data_parallel": replicas}
            if random_.random() < 0.8:
                given["model"], wanted = _model(random_, schedule.stages, kinds, most_mtps, empty)
            elif random_.random() < 0.7:
                given["layers"] = schedule.stages * random_.randint(1, 4) - random_.randint(0, 2)
            line = schedule.launch(runtime, **given)
            if folder and "schedule.csv" in line:
                csv = f"{len(self.list)}.csv"
                line = schedule.launch(runtime, csv=csv, **given)
                with open(os.path.join(folder, csv), "w", encoding="utf-8") as file:
                    file.write(schedule.export("csv"))
        except ppsched.Refused:
            self.refused += 1
            return
        self.list.append({"strategy": strategy, "words": shlex.split(line), "devices": devices, "stages": schedule.stages,
                          "device_of": [schedule.device_of(stage) for stage in range(schedule.stages)],
                          "microbatches": schedule.microbatches, "micro_batch": micro_batch, "replicas": replicas, "order": _order(schedule),
                          "layers": given.get("layers", 0), **wanted})


def _run(*words, cwd=None):
    result = run_command(words, cwd)
    if result.returncode != 0:
        raise AssertionError(f"{words}: {result.stderr}")
    return result.stdout


def _picked(number, runtime, folder, random_):
    devices = random_.randint(2, 5)
    given = ["--num-devices", devices, "-b", devices * random_.randint(1, 3), "--num-layers", random_.randint(3 * devices, 40),
             "--head", f"forward_time={random_.randint(1, 3)}", f"backward_time={random_.randint(2, 6)}"]
    row = json.loads(_run("pick", *given, "--runtime", runtime, "--json"))[0]
    csv, command = f"picked {number}.csv", shlex.split(row["command"])[1:]
    _run(*command, "--format", "csv", "-o", csv, cwd=folder)
    told = row["launch"][runtime]["line"]
    is_read = "schedule.csv" in told
    line = _run(*command, "--launch", runtime, *(["-o", csv] if is_read else []), cwd=folder).rstrip("\n")
    if not is_read and line != told:
        raise AssertionError(f"pick: {told}; schedule: {line}")
    schedule, counts = ppsched.read(os.path.join(folder, csv)), [stage["layers"].get("decoder", 0) for stage in row["split"]]
    split = [sum(stage["layers"].values()) for stage in row["split"]]
    return {"strategy": row["strategy"], "words": shlex.split(line), "devices": devices, "stages": row["stages"], "counts": counts,
            "device_of": [schedule.device_of(stage) for stage in range(schedule.stages)], "microbatches": row["microbatches"],
            "micro_batch": 0, "replicas": 1, "order": _order(schedule), "layers": 0, "mtps": 0, "kind": None, "has_kinds": False,
            "split": split, "recomputes": [0] * sum(split), "names": ["decoder"] * sum(counts) + ["head"] * (sum(split) - sum(counts))}


def picked(runtime, folder, number=12):
    """Problems as the command picks them, with the line that it then prints for the schedule."""
    random_ = random.Random(9)
    return [_picked(number, runtime, folder, random_) for number in range(number)]
