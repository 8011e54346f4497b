#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cost model of SAPP-PPB, written from a description of it and sharing nothing with the library; and a comparison of
layer splits under it.

usage: sapp.py                                     prices every answer of sapp.txt and compares step and peaks, exactly
       sapp.py --command "ppsched pick" [CASE...]  runs the command for each problem and prices what it found
       sapp.py --answers DIR [CASE...]             the same with answers that were kept: DIR/CASE.json, as --keep DIR leaves them

The model. P devices with V chunks each; chunk v of device p is stage v*P + p. Nothing is sent. A layer takes F, and B = 2F when
nothing is recomputed; HEAD runs in stage 0, TAIL in the last one, both with B = 2F and without activations. Forwards of a device go in
groups of microbatches, the first of P + m mod P, the others of P; in a group chunk by chunk, backwards the chunks from the last.
A device runs some forwards, then a backward and a forward in turn. Its peak is a constant, the parameters of its layers, and
the most that its activations sum to in the order of its queue.

The library also counts what a backward recomputes, while it runs. So problems are compared with the room that SAPP's answers need
where that is counted: `with_room`.
"""
import argparse
import dataclasses
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time
import unittest
from fractions import Fraction
from typing import NamedTuple

DATA = pathlib.Path(__file__).resolve().with_name("sapp.txt")
SHARE = Fraction(1, 10**9)  # by which a peak may be above the limit, as doubles add up


class Kind(NamedTuple):
    """What of a body layer is recomputed: activation of a microbatch, whole backward of one layer."""
    activation: Fraction
    backward: Fraction


@dataclasses.dataclass
class Layer:
    place: str  # HEAD, BODY or TAIL
    name: str
    count: int
    forward: Fraction
    parameters: Fraction
    kinds: dict = dataclasses.field(default_factory=dict)

    def own_kind(self):
        """The kind that the layer has when nothing else is said: NONE, or the first one where NONE is not allowed."""
        return "NONE" if "NONE" in self.kinds else next(iter(self.kinds), None)

    def cost(self, kind):
        return self.kinds[kind] if self.place == "BODY" else Kind(Fraction(0), 2 * self.forward)


@dataclasses.dataclass
class Answer:
    tool: str
    status: str
    step: Fraction = None
    verdict: str = None
    peaks: list = None
    cells: list = dataclasses.field(default_factory=list)   # [chunk][device]: body layers
    counts: dict = dataclasses.field(default_factory=dict)  # (layer, kind, chunk): body layers a device


@dataclasses.dataclass
class Case:
    name: str
    devices: int
    chunks: int
    microbatches: int
    limit: Fraction
    const: Fraction
    less_memory: bool
    layers: list = dataclasses.field(default_factory=list)
    answers: list = dataclasses.field(default_factory=list)

    @property
    def stages(self):
        return self.devices * self.chunks


class Result(NamedTuple):
    step: Fraction
    peaks: list
    within_limit: bool


class WrongSplit(Exception):
    """A split that is none of the problem's."""


# --- the data ---

def _new_case(words):
    values = dict(zip(words[2::2], words[3::2]))
    return Case(words[1], int(values["devices"]), int(values["chunks"]), int(values["microbatches"]), Fraction(values["limit"]),
                Fraction(values["const"]), values["less_memory"] == "1")


def _new_answer(words):
    values = dict(zip(words[3::2], words[4::2]))
    return Answer(words[1], words[2], Fraction(values["step"]) if "step" in values else None, values.get("verdict"))


def load(path=DATA):
    """All cases of the data file, by name."""
    cases = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        words = line.split()
        if not words or words[0] == "#":
            continue
        if words[0] == "case":
            case = cases[words[1]] = _new_case(words)
        elif words[0] in ("HEAD", "BODY", "TAIL"):
            case.layers.append(Layer(words[0], words[1], int(words[2]), Fraction(words[3]), Fraction(words[4])))
        elif words[0] == "kind":
            layer = next(layer for layer in case.layers if layer.name == words[1])
            layer.kinds[words[2]] = Kind(Fraction(words[3]), Fraction(words[4]))
        elif words[0] == "answer":
            case.answers.append(_new_answer(words))
        elif words[0] == "peak":
            case.answers[-1].peaks = [Fraction(word) for word in words[1:]]
        elif words[0] == "cells":
            case.answers[-1].cells.append([int(word) for word in words[2:]])
        elif words[0] == "count":
            case.answers[-1].counts[words[1], words[2], int(words[3])] = [int(word) for word in words[4:]]
        else:
            raise ValueError(f"{path}: unknown line: {line}")
    return cases


# --- the schedule ---

def groups(devices, microbatches):
    """Ranges of microbatches that go through the chunks together."""
    if microbatches < devices:
        raise ValueError(f"{microbatches} microbatches on {devices} devices: the model needs as many")
    starts = [0, *range(devices + microbatches % devices, microbatches, devices), microbatches]
    return [range(first, end) for first, end in zip(starts, starts[1:])]


def warmup(case, device):
    """Forwards of a device before its first backward."""
    devices, chunks, rest = case.devices, case.chunks, case.microbatches % case.devices
    if chunks == 1:
        forwards = devices - device - 1
    elif case.less_memory:
        forwards = devices * chunks - device - 1
    else:
        forwards = (chunks + 1) * devices - 2 * device - 2 + rest * (chunks - 1)
    return min(forwards, case.microbatches * chunks)


def queue(case, device):
    """The ops of a device in order: (is forward, chunk, microbatch)."""
    order = groups(case.devices, case.microbatches)
    forwards = [(True, v, m) for group in order for v in range(case.chunks) for m in group]
    backwards = [(False, v, m) for group in order for v in reversed(range(case.chunks)) for m in group]
    ops = forwards[:warmup(case, device)]
    for forward, backward in zip(forwards[len(ops):], backwards):
        ops += [forward, backward]
    return ops + backwards[len(forwards) - warmup(case, device):]


def _input_of(case, is_forward, stage, microbatch):
    """The op whose end another one waits for, or None: (is forward, stage, microbatch)."""
    if is_forward:
        return (True, stage - 1, microbatch) if stage > 0 else None
    return (False, stage + 1, microbatch) if stage + 1 < case.stages else (True, stage, microbatch)


def makespan(case, forward, backward):
    """When the last op ends where all run at their earliest. `forward`, `backward`: times of a stage."""
    queues = [queue(case, p) for p in range(case.devices)]
    position, clock, ends = [0] * case.devices, [0] * case.devices, {}
    moved = True
    while moved:
        moved = False
        for p, ops in enumerate(queues):
            while position[p] < len(ops):
                is_forward, chunk, microbatch = ops[position[p]]
                stage = chunk * case.devices + p
                needed = _input_of(case, is_forward, stage, microbatch)
                if needed is not None and needed not in ends:
                    break
                clock[p] = max(clock[p], ends.get(needed, 0)) + (forward if is_forward else backward)[stage]
                ends[is_forward, stage, microbatch] = clock[p]
                position[p] += 1
                moved = True
    if any(at < len(ops) for at, ops in zip(position, queues)):
        raise AssertionError("the schedule of the model hangs")
    return max(clock)


def peak(case, device, activation, returned=None):
    """The most that the activations of a device sum to. `returned`: what a backward of a stage adds while it runs; nothing in SAPP."""
    held = most = 0
    for is_forward, chunk, _ in queue(case, device):
        stage = chunk * case.devices + device
        most = max(most, held + (returned[stage] if returned and not is_forward else 0))
        held += activation[stage] * (1 if is_forward else -1)
        most = max(most, held)
    return most


def room(case, split_rows):
    """The limit that a split needs where what a layer recomputes is back in memory while its backward runs, one layer at a time.
    SAPP's own model leaves that out, so its answers need more than they were planned for."""
    activation, returned = ([Fraction(0)] * case.stages for _ in range(2))
    parameters = [case.const] * case.devices
    for stage, row in enumerate(split_rows):
        for layer in case.layers:
            for kind, count in _kinds_of(case, layer, row).items():
                if not count:
                    continue
                kept = layer.cost(kind).activation
                activation[stage] += count * kept
                returned[stage] = max(returned[stage], layer.cost(layer.own_kind()).activation - kept)
                parameters[stage % case.devices] += count * layer.parameters
    return max(parameters[p] + peak(case, p, activation, returned) for p in range(case.devices))


# --- splits ---

def _kinds_of(case, layer, row):
    """How many of a layer of each kind a stage has, from a row of a split."""
    count = row["layers"].get(layer.name, 0)
    given = dict(row.get("recompute", {}).get(layer.name, {}))
    if not set(given) <= set(layer.kinds) or any(number < 0 for number in given.values()) or sum(given.values()) > count:
        raise WrongSplit(f"{case.name}: stage {row['stage']} has {count} {layer.name}, of which it recomputes {given}")
    if layer.place != "BODY":
        return {None: count}
    given[layer.own_kind()] = given.get(layer.own_kind(), 0) + count - sum(given.values())
    return given


def check(case, split_rows):
    """That all layers are placed once, in order, and the first and the last in their places."""
    if [row["stage"] for row in split_rows] != list(range(case.stages)):
        raise WrongSplit(f"{case.name}: the rows are not stages 0 to {case.stages - 1} in order")
    names, last = [layer.name for layer in case.layers], 0
    placed = dict.fromkeys(names, 0)
    for row in split_rows:
        present = [names.index(name) for name, count in row["layers"].items() if count and name in placed]
        if set(row["layers"]) - set(names) or any(count < 0 for count in row["layers"].values()):
            raise WrongSplit(f"{case.name}: stage {row['stage']} has {row['layers']}")
        if present and min(present) < last:
            raise WrongSplit(f"{case.name}: {names[min(present)]} in stage {row['stage']} comes after {names[last]}")
        last = max([last, *present])
        for name, count in row["layers"].items():
            placed[name] += count
    for layer in case.layers:
        ends = {"HEAD": 0, "TAIL": case.stages - 1}
        if placed[layer.name] != layer.count:
            raise WrongSplit(f"{case.name}: {placed[layer.name]} of {layer.count} {layer.name} are placed")
        if layer.place in ends and split_rows[ends[layer.place]]["layers"].get(layer.name, 0) != layer.count:
            raise WrongSplit(f"{case.name}: {layer.name} is not in stage {ends[layer.place]}")


def evaluate(case, split_rows):
    """Step, peak of each device, and whether all fit, under the model. `split_rows`: one a stage, as `ppsched pick --json` has them.
    Raises WrongSplit."""
    check(case, split_rows)
    forward, backward, activation = ([Fraction(0)] * case.stages for _ in range(3))
    parameters = [case.const] * case.devices
    for stage, row in enumerate(split_rows):
        for layer in case.layers:
            for kind, count in _kinds_of(case, layer, row).items():
                cost = layer.cost(kind) if count else Kind(0, 0)
                forward[stage] += count * layer.forward
                backward[stage] += count * cost.backward
                activation[stage] += count * cost.activation
                parameters[stage % case.devices] += count * layer.parameters
    peaks = [parameters[p] + peak(case, p, activation) for p in range(case.devices)]
    return Result(makespan(case, forward, backward), peaks, max(peaks) <= case.limit * (1 + SHARE))


def rows_of(case, answer):
    """The split of an answer, as `ppsched pick --json` would print it."""
    rows = []
    for stage in range(case.stages):
        chunk, device = divmod(stage, case.devices)
        row = {"stage": stage, "layers": {}, "recompute": {}}
        for layer in case.layers:
            kinds = {kind: answer.counts[layer.name, kind, chunk][device] for kind in layer.kinds
                     if (layer.name, kind, chunk) in answer.counts}
            count = sum(kinds.values()) if layer.place == "BODY" else layer.count * (
                stage == (0 if layer.place == "HEAD" else case.stages - 1))
            if count:
                row["layers"][layer.name] = count
            recomputed = {kind: number for kind, number in kinds.items() if number and kind != layer.own_kind()}
            if recomputed:
                row["recompute"][layer.name] = recomputed
        rows.append(row)
    return rows


# --- the command ---

def plain(number):
    """As JSON has it."""
    return int(number) if number.denominator == 1 else float(number)


def _layer_config(layer):
    own = layer.cost(layer.own_kind())
    config = {"name": layer.name, "count": layer.count, "forward_time": plain(layer.forward), "backward_time": plain(own.backward),
              "mem_forward": plain(own.activation), "mem_static": plain(layer.parameters)}
    if layer.place != "BODY":
        config["place"] = {"HEAD": "first", "TAIL": "last"}[layer.place]
    others = [{"name": name, "backward_time": plain(kind.backward), "mem_forward": plain(kind.activation)}
              for name, kind in layer.kinds.items() if name != layer.own_kind()]
    return {**config, "recompute": others} if others else config


def problem_config(case):
    """The problem as the config file of the command. Where a layer may not be without recompute, its first kind is its own cost."""
    return {"num_devices": case.devices, "num_batches": case.microbatches, "mem_limit": plain(case.limit - case.const),
            "layers": [_layer_config(layer) for layer in case.layers]}


def strategy_of(case):
    if case.chunks == 1:
        return "1f1b"
    return "interleaved_1f1b_less_memory" if case.less_memory else "interleaved_1f1b"


def strategy_words(case):
    groups = [] if case.chunks == 1 or case.microbatches % case.devices else ["--group-sizes", str(case.devices)]
    return ["--strategies", strategy_of(case), "--chunks", str(case.chunks), *groups]


def run_command(case, command, keep):
    """The command's JSON and its seconds; a text in the place of the JSON where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "problem.json")
        path.write_text(json.dumps(problem_config(case)), encoding="utf-8")
        start = time.perf_counter()
        done = subprocess.run([*shlex.split(command), "-c", str(path), *strategy_words(case), "--json"], capture_output=True,
                              text=True, check=False)
        seconds = time.perf_counter() - start
    if done.returncode != 0:
        return done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit status {done.returncode}", seconds
    if keep:
        os.makedirs(keep, exist_ok=True)
        pathlib.Path(keep, f"{case.name}.json").write_text(done.stdout, encoding="utf-8")
    return json.loads(done.stdout), seconds


def best_of(case):
    """Steps of the best answer within the limit, and of the local search; None where there is none."""
    ours = [answer.step for answer in case.answers if answer.verdict == "ok" and answer.tool != "local_search"]
    local = [answer.step for answer in case.answers if answer.tool == "local_search"]
    return min(ours, default=None), min(local, default=None)


def with_room(case):
    """The problem with the limit that both best answers need where recomputed activations come back: all have the same room then."""
    best = best_of(case)
    needed = [room(case, rows_of(case, answer)) for answer in case.answers
              if answer.step in best and (answer.verdict == "ok" or answer.tool == "local_search") and answer.counts]
    return dataclasses.replace(case, limit=max([case.limit, *needed]))


def bare_stages(case, rows):
    """Stages without a body layer, which SAPP's own answers have at most at both ends."""
    bodies = {layer.name for layer in case.layers if layer.place == "BODY"}
    return [row["stage"] for row in rows if not any(row["layers"].get(name) for name in bodies)]


def table_row(case, found, seconds):
    """One line of the table, and whether ours is within the limit and no longer than both."""
    best, local = best_of(case)
    head = f"{case.name:32} {shown(best):>10} {shown(local):>10}"
    if isinstance(found, str):
        return f"{head}  {found}", False
    rows = found[0]["split"]
    result = evaluate(case, rows)
    target = min(step for step in (best, local, result.step) if step is not None)
    notes = ["" if abs(result.step - Fraction(found[0]["step_time"])) <= result.step * SHARE else
             f"the command says {found[0]['step_time']:.10g}",
             f"no body layer in {bare_stages(case, rows)}" if bare_stages(case, rows) else ""]
    line = (f"{head} {shown(result.step):>10} {percent(result.step, best):>7} {percent(result.step, local):>7}  "
            f"{'yes' if result.within_limit else 'NO':3} {seconds:8.2f}  {'; '.join(filter(None, notes))}")
    return line.rstrip(), result.within_limit and result.step <= target


def shown(number):
    return "-" if number is None else f"{float(number):.10g}"


def percent(ours, other):
    return "-" if other is None else f"{float(100 * (ours / other - 1)):+.2f}"


def compare(cases, options):
    """Prints the table; the number of cases in which ours is longer, over the limit, or not there."""
    print(f"{'case':32} {'best':>10} {'local':>10} {'ours':>10} {'% best':>7} {'% local':>7}  fit  seconds")
    behind = 0
    for case in map(with_room, cases):
        if options.command:
            found, seconds = run_command(case, options.command, options.keep)
        else:
            path, seconds = pathlib.Path(options.answers, f"{case.name}.json"), float("nan")
            found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else "no answer"
        line, reached = table_row(case, found, seconds)
        print(line, flush=True)
        behind += not reached
    print(f"{len(cases) - behind} of {len(cases)} within the limit and no longer than the best answer and the local search")
    return behind


# --- tests ---

class SappTest(unittest.TestCase):
    def priced(self):
        for case in load().values():
            for answer in case.answers:
                if answer.step is not None:
                    yield case, answer

    def test_step_and_peaks_of_every_answer(self):
        self.assertEqual(len(list(self.priced())), 47)
        for case, answer in self.priced():
            with self.subTest(case=case.name, tool=answer.tool):
                result = evaluate(case, rows_of(case, answer))
                self.assertEqual(result.step, answer.step)
                self.assertEqual(result.peaks, answer.peaks)
                self.assertEqual(result.within_limit, answer.verdict == "ok")

    def test_counts_sum_to_the_cells(self):
        for case, answer in self.priced():
            bodies = {layer.name for layer in case.layers if layer.place == "BODY"}
            sums = [sum(count for name, count in row["layers"].items() if name in bodies) for row in rows_of(case, answer)]
            self.assertEqual(sums, sum(answer.cells, []), case.name)

    def test_microbatches_that_do_not_divide(self):
        """4 microbatches on 3 devices with 2 chunks: one group of 4, and 8 - 2p forwards first."""
        case = Case("odd", 3, 2, 4, Fraction(0), Fraction(0), False)
        self.assertEqual([list(group) for group in groups(3, 8)], [[0, 1, 2, 3, 4], [5, 6, 7]])
        self.assertEqual([warmup(case, p) for p in range(3)], [8, 6, 4])
        self.assertEqual([op[1] for op in queue(case, 0)], [0] * 4 + [1] * 8 + [0] * 4)
        for p in range(3):
            self.assertEqual(sorted(queue(case, p)), sorted((f, v, m) for f in (True, False) for v in range(2) for m in range(4)))
        self.assertEqual([peak(case, p, [1] * 6) for p in range(3)], [8, 7, 5])
        self.assertEqual([peak(case, p, [1] * 6, [0] * 5 + [9]) for p in range(3)], [8, 7, 5 + 9])
        self.assertEqual(makespan(case, [1] * 6, [2] * 6), 30)

    def test_closed_form(self):
        """Equal stages: (m + (P-1)/V) (F + B) of a device where m is a multiple of P."""
        for devices, chunks, microbatches in ((4, 1, 4), (4, 2, 8), (3, 4, 9), (1, 1, 1)):
            case = Case("even", devices, chunks, microbatches, Fraction(0), Fraction(0), False)
            step = makespan(case, [1] * case.stages, [2] * case.stages)
            self.assertEqual(step, 3 * (chunks * microbatches + devices - 1))

    def test_wrong_splits_are_refused(self):
        case = load()["rand17-s4-m8-v2-l3+29-NF"]
        for place, change in (((0, "layers"), {}), ((0, "layers"), {"EMBED": 1, "MOE": 4}), ((1, "layers"), {"EMBED": 1, "MOE": 4}),
                              ((7, "layers"), {"MOE": 40, "LMHEAD": 1}), ((3, "recompute"), {"MOE": {"FULL": 40}}),
                              ((3, "recompute"), {"MOE": {"HALF": 1}}), ((3, "stage"), 4)):
            rows = rows_of(case, case.answers[0])
            rows[place[0]][place[1]] = change
            with self.assertRaises(WrongSplit):
                evaluate(case, rows)

    def test_configs(self):
        for case in load().values():
            config = problem_config(case)
            self.assertTrue(all(layer.own_kind() in ("NONE", None) for layer in case.layers), case.name)
            self.assertEqual([layer.get("place") for layer in config["layers"]], ["first"] + [None] * (len(case.layers) - 2) + ["last"])
            self.assertEqual(json.loads(json.dumps(config)), config)


def main():
    if len(sys.argv) == 1:
        unittest.main(verbosity=2)
    parser = argparse.ArgumentParser(description="Layer splits under the cost model of SAPP-PPB.")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--command", help="run it for each problem, as \"ppsched pick\"")
    how.add_argument("--answers", metavar="DIR", help="answers that were kept")
    parser.add_argument("--keep", metavar="DIR", help="where to leave the answers of --command")
    parser.add_argument("cases", nargs="*", metavar="CASE", help="parts of names (default: all)")
    options = parser.parse_args()
    chosen = [case for name, case in load().items() if not options.cases or any(part in name for part in options.cases)]
    sys.exit(1 if compare(chosen, options) else 0)


if __name__ == "__main__":
    main()
