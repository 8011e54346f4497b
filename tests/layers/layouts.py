#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Layouts that were made by hand for real models, priced under 1F1B and interleaved 1F1B, beside splits that the command finds
for the same models within the same memory.

usage: layouts.py                                      tests: the library and the model of sapp.py agree on them
       layouts.py --by-hand [LAYOUT...]                prints time and peak of each as it was made
       layouts.py --command "ppsched pick" [LAYOUT...] runs the command for each model, and compares
       --all: all costs of the grid, not a few of them; --configs DIR: leaves the config files there

A model: one transformer layer takes 1 forward, 2 backward, and 1 of memory for a microbatch in flight; embedding (E), multi-token
prediction (m) and loss (L) take some times as much, and no memory. All m of a model are one layer here, as they must be in one
stage. The limit of each device is the highest peak of the layout as it was made.
"""
import argparse
import dataclasses
import itertools
import json
import pathlib
import re
import sys
import unittest
from fractions import Fraction
from typing import NamedTuple

import sapp

DATA = pathlib.Path(__file__).resolve().with_name("layouts_by_hand.txt")
TIMES = {"E": ("0", "0.3", "1"), "m": ("1", "1.5"), "L": ("0", "0.5", "1", "2.4")}  # the grid
ROUNDS = (2, 4)                                                                     # microbatches: so many for each device
FEW = (("0", "1", "0"), ("0.3", "1", "0.5"), ("0.3", "1.5", "2.4"), ("1", "1", "1"))


@dataclasses.dataclass
class Layout:
    name: str
    devices: int
    chunks: int
    stages: list  # {letter: count} of each


class Model(NamedTuple):
    """A layout with costs: the problem without a limit, and its split as it was made."""
    case: sapp.Case
    rows: list
    label: str


def read_word(word):
    """{"E": 1, "t": 4} of "Et4"."""
    if word == "-":
        return {}
    if not re.fullmatch(r"([EtmL]\d*)+", word):
        raise ValueError(f"{word} is no stage")
    return {letter: int(count or 1) for letter, count in re.findall(r"([EtmL])(\d*)", word)}


def load(path=DATA):
    layouts = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            name, devices, chunks, *words = line.split()
            layouts.append(Layout(name, int(devices), int(chunks), [read_word(word) for word in words]))
    return layouts


def count_of(layout, letter):
    return sum(stage.get(letter, 0) for stage in layout.stages)


def _layers(layout, embedding, prediction, loss):
    """The layers of the model in order; those that it does not have are left out."""
    layers = [sapp.Layer("HEAD", "E", 1, Fraction(embedding), Fraction(0)),
              sapp.Layer("BODY", "t", count_of(layout, "t"), Fraction(1), Fraction(0), {"NONE": sapp.Kind(Fraction(1), Fraction(2))})]
    if count_of(layout, "m"):
        forward = Fraction(prediction) * count_of(layout, "m")
        layers.append(sapp.Layer("BODY", "m", 1, forward, Fraction(0), {"NONE": sapp.Kind(Fraction(0), 2 * forward)}))
    return [*layers, sapp.Layer("TAIL", "L", 1, Fraction(loss), Fraction(0))]


def model_of(layout, costs, microbatches):
    """`costs`: forward times of E, of one m and of L."""
    label = f"E {costs[0]} m {costs[1] if count_of(layout, 'm') else '-'} L {costs[2]} M {microbatches}"
    case = sapp.Case(f"{layout.name}-E{costs[0]}-m{costs[1]}-L{costs[2]}-M{microbatches}", layout.devices, layout.chunks,
                     microbatches, Fraction(0), Fraction(0), False, _layers(layout, *costs))
    rows = [{"stage": number, "layers": {letter: 1 if letter == "m" else count for letter, count in stage.items()}, "recompute": {}}
            for number, stage in enumerate(layout.stages)]
    return Model(case, rows, label)


def models(layouts, whole_grid):
    """All models of the layouts, each once."""
    for layout in layouts:
        chosen = itertools.product(*TIMES.values()) if whole_grid else FEW
        if not count_of(layout, "m"):
            chosen = dict.fromkeys((embedding, "1", loss) for embedding, _, loss in chosen)
        for costs, rounds in itertools.product(list(chosen), ROUNDS):
            yield model_of(layout, costs, rounds * layout.devices)


# --- with the library ---

def stage_costs(model, rows):
    """Of any split of the model: lists for ppsched.Config."""
    layers = {layer.name: (layer.forward, layer.cost(layer.own_kind())) for layer in model.case.layers}

    def sums(value):
        return [float(sum(count * value(*layers[name]) for name, count in row["layers"].items())) for row in rows]
    return {"forward_times": sums(lambda forward, _: forward), "backward_times": sums(lambda _, cost: cost.backward),
            "mem_forward": sums(lambda _, cost: cost.activation)}


def price(model, rows):
    """Makespan and highest peak of a split, as the library's evaluator has them."""
    import ppsched  # only where there is a library
    case = model.case
    config = ppsched.Config(case.devices, case.microbatches, case.stages, **stage_costs(model, rows))
    metrics = ppsched.generate(sapp.strategy_words(case)[1], config).evaluate(latest=False).metrics
    return metrics.makespan, metrics.peak_memory


def with_limit(model, limit):
    return dataclasses.replace(model.case, limit=Fraction(limit))


# --- the command ---

def table_row(model, options):
    """One line, and whether ours is within the limit and no longer."""
    made, limit = price(model, model.rows)
    head = f"{model.label:28} {made:9.7g} {limit:6.4g}"
    if not options.command:
        return head, True
    found, seconds = sapp.run_command(with_limit(model, limit), options.command, None)
    if isinstance(found, str):
        return f"{head}  {found}", False
    sapp.check(model.case, found[0]["split"])
    ours, peak = price(model, found[0]["split"])
    said = "" if abs(ours - found[0]["step_time"]) <= 1e-9 * ours else f"  the command says {found[0]['step_time']:g}"
    line = f"{head} {ours:9.7g} {100 * (ours / made - 1):+7.2f} {peak:6.4g} {seconds:7.2f}{said}"
    return line, peak <= limit * (1 + 1e-9) and ours <= made * (1 + 1e-9)


def compare(layouts, options):
    """Prints the table; the number of models in which ours is longer, over the limit, or not there."""
    print(f"{'model':28} {'by hand':>9} {'peak':>6}" + (f" {'ours':>9} {'%':>7} {'peak':>6} seconds" if options.command else ""))
    count = behind = 0
    for layout in layouts:
        print(f"{layout.name}: {layout.devices} devices, {layout.chunks} chunks")
        for model in models([layout], options.all):
            line, reached = table_row(model, options)
            print(f"{line}" + ("" if reached else "  BEHIND"), flush=True)
            count += 1
            behind += not reached
    if options.command:
        print(f"{count - behind} of {count} within the layout's own peak and no longer")
    return behind


def write_configs(layouts, options):
    folder = pathlib.Path(options.configs)
    folder.mkdir(parents=True, exist_ok=True)
    for model in models(layouts, options.all):
        config = sapp.problem_config(with_limit(model, price(model, model.rows)[1]))
        (folder / f"{model.case.name}.json").write_text(json.dumps(config) + "\n", encoding="utf-8")


# --- tests ---

class LayoutsTest(unittest.TestCase):
    def test_all_layouts_are_splits(self):
        layouts = load()
        self.assertEqual(len(layouts), len({(str(layout.stages), layout.devices, layout.chunks) for layout in layouts}))
        self.assertGreater(len(layouts), 60)
        for layout in layouts:
            self.assertEqual(len(layout.stages), layout.devices * layout.chunks, layout.name)
            model = model_of(layout, FEW[0], layout.devices)
            sapp.check(model.case, model.rows)

    def test_library_and_model_agree(self):
        """Times and peaks of two programs that share nothing."""
        for layout in load():
            model = model_of(layout, FEW[2], 2 * layout.devices)
            result = sapp.evaluate(model.case, model.rows)
            makespan, peak = price(model, model.rows)
            with self.subTest(layout=layout.name):
                self.assertAlmostEqual(makespan, float(result.step), delta=1e-9 * makespan)
                self.assertEqual(peak, max(result.peaks))

    def test_configs(self):
        for model in models(load(), False):
            config = sapp.problem_config(with_limit(model, Fraction(7)))
            self.assertEqual([layer["name"] for layer in config["layers"]], [layer.name for layer in model.case.layers])
            self.assertEqual((config["layers"][0]["place"], config["layers"][-1]["place"], config["mem_limit"]), ("first", "last", 7))

    def test_words(self):
        self.assertEqual([read_word(word) for word in ("Et16", "-", "t13m2L")], [{"E": 1, "t": 16}, {}, {"t": 13, "m": 2, "L": 1}])
        self.assertRaises(ValueError, read_word, "x2")


def main():
    if len(sys.argv) == 1:
        unittest.main(verbosity=2)
    parser = argparse.ArgumentParser(description="Layouts made by hand, and splits found for the same models.")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--by-hand", action="store_true", help="print the layouts alone")
    how.add_argument("--command", help="run it for each model, as \"ppsched pick\"")
    how.add_argument("--configs", metavar="DIR", help="write the config file of each model")
    parser.add_argument("--all", action="store_true", help="all costs of the grid")
    parser.add_argument("layouts", nargs="*", metavar="LAYOUT", help="parts of names (default: all)")
    options = parser.parse_args()
    chosen = [layout for layout in load() if not options.layouts or any(part in layout.name for part in options.layouts)]
    if options.configs:
        write_configs(chosen, options)
        return
    sys.exit(1 if compare(chosen, options) else 0)


if __name__ == "__main__":
    main()
