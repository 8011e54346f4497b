# SPDX-License-Identifier: Apache-2.0
"""Layers that form a graph: splits against all splits of small models, whose stages are summed up here."""
import contextlib
import io
import itertools
import json
import os
import random
import tempfile
import unittest

import ppsched
from ppsched._core.layer_graph import branches_of
from ppsched.command import cli


def answer(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main([*words])
    return code, out.getvalue(), err.getvalue()


def chains_of(layers, parts):
    """All divisions of layers into so many stages in a row."""
    for cuts in itertools.combinations(range(1, layers), parts - 1):
        yield [range(a, b) for a, b in zip([0, *cuts], [*cuts, layers])]


class Model:
    """A random model: two towers that feed a text model, or a tower and text that feed a head. Rows have one layer each."""

    def __init__(self, rng):
        self.devices, self.microbatches = rng.randint(2, 3), rng.randint(2, 3)
        counts = rng.choice([[1, 3], [2, 2], [2, 3], [1, 1, 3], [2, 1, 2]])
        self.branches, self.rows = [], []
        for b, count in enumerate(counts):
            inputs = [] if b < len(counts) - 1 else list(range(b))
            passes = rng.choice(["FB", "FB", "FI", "F"]) if not inputs else "FB"
            own = []
            for k in range(count):
                row = {"name": f"{b}.{k}", "forward_time": rng.randint(1, 3), "backward_time": rng.randint(2, 5), "mem_forward": rng.randint(0, 2),
                       "mem_static": rng.randint(0, 2)}
                if not own:
                    row["after"] = [self.branches[i]["rows"][-1]["name"] for i in inputs]
                if rng.random() < 0.5:
                    row["recompute"] = [{"name": "full", "backward_time": row["backward_time"] + row["forward_time"], "mem_forward": 0}]
                if passes != "FB":
                    row["passes"] = passes
                own.append(row)
            self.branches.append({"rows": own, "inputs": inputs, "passes": passes})
            self.rows += own
        self.limit = rng.choice([None, 3, 5, 8])
        self.speeds = [1.0] * self.devices
        self.types, self.rounds = [0] * self.devices, [1]

    def take_types(self, rng):
        """Devices of two types, with factors of F, B, I and W on the second."""
        self.types = [rng.randint(0, 1) for _ in range(self.devices)]
        for row in self.rows:
            row["device_scale"] = [[rng.choice((0.5, 1, 1.5, 2)) for _ in range(4)]]

    def take_shared_weights(self, rng):
        """The first layer of a branch is tied, and others may copy it."""
        branch = rng.choice([own for own in self.branches if not own["inputs"]])
        branch["rows"][0].update(place="first", tied=True, mem_static=rng.randint(1, 3), mem_weights=1)
        for row in self.rows:
            if row.get("place") != "first" and rng.random() < 0.3:
                row["copies_embedding"] = True

    def times_on(self, row, device, again):
        """F and backward of a layer on a device; with frozen weights the I, of half a backward."""
        scale = row["device_scale"][0] if self.types[device] else (1, 1, 1, 1)
        forward, backward = row["forward_time"] * scale[0], row["backward_time"] * scale[1]
        if row.get("passes") == "FI":
            backward = row["backward_time"] / 2 * scale[2]
        if again:
            all_forwards = sum(own["forward_time"] for own in self.rows)
            longer = sum(own["forward_time"] * own["device_scale"][0][0] for own in self.rows) / all_forwards if self.types[device] else 1
            backward += (row["recompute"][0]["backward_time"] - row["backward_time"]) * longer
        return forward, backward

    def copies(self, rows, is_last):
        """What a stage holds of layers of other stages."""
        shared = [row for row in self.rows if row.get("place") == "first" and not any(row is own for own in rows)]
        times = (is_last and any(row.get("tied") for row in shared)) + any(row.get("copies_embedding") for row in rows)
        return [times * sum(row.get(name, 0) for row in shared) for name in ("mem_static", "mem_weights")]

    def config(self, choice):
        """The problem of stages of each branch's division, device and kind of recomputation."""
        last, stages = [], {name: [] for name in ("placement", "stage_inputs", "stage_passes", "forward_times", "backward_times", "backward_input_times",
                                                  "backward_weight_times", "mem_forward", "mem_static",
                                                  "mem_weights", "mem_recomputed_backward")}
        for branch, (parts, first, count, again) in zip(self.branches, choice):
            for number, part in enumerate(parts):
                rows, device = [branch["rows"][k] for k in part], first + number % count
                times = [self.times_on(row, device, again and "recompute" in row) for row in rows]
                copies = self.copies(rows, branch is self.branches[-1] and number + 1 == len(parts))
                kinds = [row["recompute"][0] if again and "recompute" in row else None for row in rows]
                stages["stage_inputs"].append([len(stages["placement"]) - 1] if number else [last[i] for i in branch["inputs"]])
                stages["placement"].append(device)
                stages["stage_passes"].append(branch["passes"])
                stages["forward_times"].append(sum(forward for forward, _ in times))
                for name in ("backward_times", "backward_input_times"):
                    stages[name].append(sum(backward for _, backward in times))
                stages["backward_weight_times"].append(0)
                stages["mem_forward"].append(sum(row["mem_forward"] if kind is None else kind["mem_forward"] for row, kind in zip(rows, kinds)))
                stages["mem_static"].append(sum(row["mem_static"] for row in rows) + copies[0])
                stages["mem_weights"].append(sum(row.get("mem_weights", 0) for row in rows) + copies[1])
                stages["mem_recomputed_backward"].append(max([0] + [row["mem_forward"] for row, kind in zip(rows, kinds) if kind]))
            last.append(len(stages["placement"]) - 1)
        limit = {} if self.limit is None else {"mem_limit": self.limit}
        return ppsched.Config(self.devices, self.microbatches, len(stages["placement"]), split_backward=False, device_speeds=self.speeds, **stages, **limit)

    def choices(self):
        def of(branch):
            layers = len(branch["rows"])
            for count, rounds in itertools.product(range(1, min(self.devices, layers) + 1), self.rounds):
                if count * rounds > layers or (count == 1 and rounds > 1):
                    continue
                for parts, first in itertools.product(chains_of(layers, count * rounds), range(self.devices - count + 1)):
                    for again in (False, True) if self.limit is not None and any("recompute" in row for row in branch["rows"]) else (False,):
                        yield parts, first, count, again
        return itertools.product(*(list(of(branch)) for branch in self.branches))

    def best(self, **options):
        best = float("inf")
        for choice in self.choices():
            try:
                metrics = ppsched.generate("auto", self.config(choice).replace(options=options)).evaluate().metrics
            except ppsched.Refused:
                continue
            if metrics.limit_device is None:
                best = min(best, metrics.makespan)
        return best


class SplitTest(unittest.TestCase):
    def choice_of(self, found, model):
        """A split that was found, as one of the model's choices."""
        choice = []
        for own, branch in zip(found.branches, model.branches):
            ends = list(itertools.accumulate(own["layers"]))
            self.assertEqual(ends[-1], len(branch["rows"]))
            devices = own["devices"]
            self.assertEqual(devices, (devices[:len(set(devices))] * len(devices))[:len(devices)])
            choice.append(([range(a, b) for a, b in zip([0, *ends], ends)], devices[0], len(set(devices)), own["recompute"] is not None))
        return choice

    def compare_with_all(self, seeds, change, most=150):
        """Models that `change` makes, each against all of its splits: not worse, and no bound or proof that a split contradicts."""
        fits = worse = proved = 0
        for seed in seeds:
            rng = random.Random(seed)
            model = Model(rng)
            change(model, rng)
            if sum(1 for _ in itertools.islice(model.choices(), most + 1)) > most:
                continue
            limit = {} if model.limit is None else {"mem_limit": model.limit}
            base = ppsched.Config(model.devices, model.microbatches, split_backward=False, device_speeds=model.speeds, layer_types=model.types, **limit)
            best = model.best(effort=1)
            try:
                (found,) = ppsched.split_layer_graph(base, model.rows, chunks=model.rounds)
            except ppsched.Refused:
                self.assertEqual(best, float("inf"), seed)
                continue
            made = found.timeline.metrics.makespan
            self.assertGreaterEqual(made, best * (1 - 1e-9), seed)
            self.assertLessEqual(found.bound, best * (1 + 1e-9), seed)
            self.assertEqual(found.proved, made <= found.bound * (1 + 1e-9), seed)
            own = found.timeline.schedule.evaluate(model.config(self.choice_of(found, model))).metrics
            self.assertAlmostEqual(own.makespan, made, msg=seed)
            self.assertAlmostEqual(own.peak_memory, found.timeline.metrics.peak_memory, msg=seed)
            fits += 1
            proved += found.proved
            worse += made > best * (1 + 1e-9)
        if "PPSCHED_GRAPH_MODELS" in os.environ:
            print(f"{self.id()}: {fits} fit, {worse} above the best, {proved} proved")
        return fits, worse, proved

    def seeds(self, usual):
        return range(int(os.environ["PPSCHED_GRAPH_MODELS"])) if "PPSCHED_GRAPH_MODELS" in os.environ else usual

    def test_several_stages_on_a_device(self):
        def change(model, rng):
            model.rounds = [1, 2]
            model.microbatches = 2

        seeds = self.seeds([0, 1, 2, 3])
        fits, worse, proved = self.compare_with_all(seeds, change)
        self.assertLessEqual(worse, max(fits / 20, 0))
        self.assertGreater(proved, 0)

    def test_layers_that_share_weights(self):
        fits, worse, _ = self.compare_with_all(self.seeds([0, 1, 2, 3]), lambda model, rng: model.take_shared_weights(rng))
        self.assertGreater(fits, 0)
        self.assertLessEqual(worse, fits / 20)

    def test_throughput_of_forwards_alone(self):
        """The least period of all splits, each with the order that auto finds."""
        found_all = proved = 0
        for seed in self.seeds([0, 1, 2, 3, 4]):
            model = Model(random.Random(seed))
            model.limit = None
            for own in model.branches:
                own["passes"] = "F"
            for row in model.rows:
                row.pop("passes", None)
            if sum(1 for _ in itertools.islice(model.choices(), 151)) > 150:
                continue
            best = float("inf")
            for choice in model.choices():
                config = model.config(choice).replace(options={"objective": "throughput", "effort": 1})
                best = min(best, ppsched.generate("auto", config).period(config))
            base = ppsched.Config(model.devices, model.microbatches, forward_only=True)
            (found,) = ppsched.split_layer_graph(base, model.rows, objective="throughput")
            self.assertAlmostEqual(found.period, found.timeline.schedule.period(model.config(self.choice_of(found, model))))
            self.assertLessEqual(found.bound, best * (1 + 1e-9), seed)
            self.assertAlmostEqual(found.period, best, msg=seed)
            found_all += 1
            proved += found.proved
        self.assertGreater(min(found_all, proved), 1)
        if "PPSCHED_GRAPH_MODELS" in os.environ:
            print(f"{self.id()}: {found_all} equal the best, {proved} proved")

    def test_types_of_devices(self):
        fits, worse, _ = self.compare_with_all(self.seeds([0, 1, 2, 3]), lambda model, rng: model.take_types(rng))
        self.assertGreater(fits, 0)
        self.assertLessEqual(worse, fits / 20)

    def test_near_the_best_of_all_splits(self):
        rng = random.Random(int(os.environ.get("PPSCHED_GRAPH_SEED", "4")))
        rounds, worse, total, fits = int(os.environ.get("PPSCHED_GRAPH_SPLITS", "3")), 0, 0.0, 0
        for _ in range(rounds):
            model = Model(rng)
            limit = {} if model.limit is None else {"mem_limit": model.limit}
            base = ppsched.Config(model.devices, model.microbatches, split_backward=False, **limit)
            best = model.best()
            try:
                (found,) = ppsched.split_layer_graph(base, model.rows)
            except ppsched.Refused:
                self.assertEqual(best, float("inf"))
                continue
            made = found.timeline.metrics.makespan
            self.assertIsNone(found.timeline.metrics.limit_device)
            self.assertGreaterEqual(made, best * (1 - 1e-9))
            own = model.config(self.choice_of(found, model))
            for name in ("forward_times", "mem_forward", "mem_static"):
                self.assertEqual(getattr(found.config, name), getattr(own, name), name)
            self.assertAlmostEqual(found.timeline.schedule.evaluate(own).metrics.makespan, made)  # refused if other stages feed each other
            self.assertAlmostEqual(found.timeline.schedule.evaluate(own).metrics.peak_memory, found.timeline.metrics.peak_memory)
            fits += 1
            worse += made > best * (1 + 1e-9)
            total += made / best - 1
        self.assertGreater(fits, rounds / 2)
        self.assertLessEqual(worse, max(rounds / 20, 1))
        self.assertLessEqual(total / fits, 0.02)
        if "PPSCHED_GRAPH_SPLITS" in os.environ:
            print(f"{fits} of {rounds} fit, {worse} above the best, {total / fits:.2%} on average")

    def test_devices_of_unequal_speeds(self):
        """Some have a split that fits only where one of two towers is elsewhere, or where devices have equal shares of their memory."""
        seeds = [*range(int(os.environ["PPSCHED_GRAPH_SPEEDS"]))] if "PPSCHED_GRAPH_SPEEDS" in os.environ else [1, 3, 14, 22, 28, 31]
        fits = 0
        for seed in seeds:
            rng = random.Random(seed)
            model = Model(rng)
            model.speeds = [rng.choice((0.3, 0.5, 0.8, 1, 2)) for _ in range(model.devices)]
            if sum(1 for _ in model.choices()) > 120:
                continue
            limit = {} if model.limit is None else {"mem_limit": model.limit}
            base = ppsched.Config(model.devices, model.microbatches, split_backward=False, device_speeds=model.speeds, **limit)
            best = model.best(effort=1)
            try:
                (found,) = ppsched.split_layer_graph(base, model.rows)
                self.assertLessEqual(found.timeline.metrics.makespan, best * (1 + 1e-9), seed)
                fits += 1
            except ppsched.Refused:
                self.assertEqual(best, float("inf"), seed)
        self.assertGreater(fits, len(seeds) / 3)

    def test_times_that_are_no_round_numbers(self):
        """Sums of times differ in their last bits."""
        rng = random.Random(3)
        for _ in range(6):
            rows = [{"name": name, "count": rng.randint(2, 3), "forward_time": rng.uniform(0.5, 2), "after": after}
                    for name, after in (("a", []), ("b", []), ("c", ["a", "b"]))]
            config = ppsched.Config(2, 1, device_speeds=[rng.uniform(0.5, 1) for _ in range(2)])
            (found,) = ppsched.split_layer_graph(config, rows, effort=0)
            self.assertEqual([sum(own["layers"]) for own in found.branches], [row["count"] for row in rows])

    def test_larger_models_balance_their_branches(self):
        """A tower of 8 and text of 24 equal layers, which join: the busiest device has little more than its share."""
        rows = [{"name": "tower", "count": 8, "forward_time": 1, "after": []}, {"name": "text", "count": 24, "forward_time": 1, "after": []},
                {"name": "head", "forward_time": 1, "after": ["tower", "text"]}]
        (found,) = ppsched.split_layer_graph(ppsched.Config(4, 16), rows)
        self.assertGreaterEqual(found.timeline.metrics.makespan, 16 * 3 * 33 / 4)
        self.assertLessEqual(found.timeline.metrics.makespan, 16 * 3 * 33 / 4 * 1.2)


class BranchesTest(unittest.TestCase):
    def test_the_work_grows_with_the_number_of_entries(self):
        """Twice the entries, twice the keys that are asked for."""
        class Row(dict):
            asked = 0

            def get(self, *words):
                Row.asked += 1
                return super().get(*words)

        def asked(count):
            Row.asked = 0
            rows = [Row({"name": f"layer{i}", "forward_time": 1, **({"after": [f"layer{i - 1}"] * (i > 0)} if i % 2 == 0 else {})}) for i in range(count)]
            self.assertEqual(len(branches_of(rows)), count // 2)
            return Row.asked

        self.assertLess(asked(400), 2.1 * asked(200))


class ArgumentsTest(unittest.TestCase):
    ROWS = [{"name": "a", "count": 3, "forward_time": 1, "after": []}, {"name": "b", "count": 2, "forward_time": 1, "after": []},
            {"name": "c", "count": 3, "forward_time": 2, "after": ["a", "b"]}]

    def test_progress(self):
        told = []
        (found,) = ppsched.split_layer_graph(ppsched.Config(3, 4), self.ROWS, progress=lambda *now: told.append(now))
        shares, bests = zip(*told)
        self.assertEqual((list(shares), list(bests)), (sorted(shares), sorted(bests, reverse=True)))
        self.assertEqual(told[-1], (1, found.timeline.metrics.makespan))
        self.assertGreater(len({share for share in shares if share > 0.4}), 3)
        for stop in (0, 0.5, 0.9):
            told.clear()
            with self.assertRaises(ppsched.Cancelled) as caught:
                ppsched.split_layer_graph(ppsched.Config(3, 4), self.ROWS, progress=lambda share, best, stop=stop: told.append(share) or share <= stop)
            self.assertEqual((sum(share > stop for share in told), caught.exception.status), (1, ppsched.Status.ERROR_CANCELLED))
        with self.assertRaises(ZeroDivisionError):
            ppsched.split_layer_graph(ppsched.Config(3, 4), self.ROWS, progress=lambda share, best: 1 / 0)

    def test_what_is_wrong_is_told(self):
        for given, part in (({"effort": "x"}, "effort must be an integer, not 'x'"), ({"effort": -1}, "effort is -1; it must be 0 to 12"),
                            ({"effort": 13}, "effort is 13; it must be 0 to 12"), ({"top": 0}, "top is 0; it must be 1 or more"),
                            ({"top": "x"}, "top must be an integer, not 'x'"), ({"progress": 3}, "progress must be a function, not 3"),
                            ({"rows": []}, "layers is an empty list"), ({"rows": None}, "layers must be a list, not None"),
                            ({"rows": "abc"}, "layers must be a list, not 'abc'"), ({"config": None}, "config must be a ppsched.Config, not None")):
            with self.assertRaisesRegex(ppsched.Error, part, msg=repr(given)):
                ppsched.split_layer_graph(**{"config": ppsched.Config(2, 2), "rows": self.ROWS, **given})
        plain, drawn = (ppsched.split_layer_graph(ppsched.Config(2, 2), rows) for rows in (self.ROWS, iter(self.ROWS)))
        self.assertEqual(plain[0].branches, drawn[0].branches)

    def test_keys_of_a_layer(self):
        """The type has all that files may have; layers of a chain have none of those of a graph."""
        self.assertLessEqual({"after", "passes", "microbatches"}, set(ppsched.Layer.__annotations__))
        for name, value in (("after", ["a"]), ("passes", "FI"), ("microbatches", [0])):
            rows = [{"name": "a", "forward_time": 1}, {"name": "b", "forward_time": 1, name: value}]
            with self.assertRaisesRegex(ppsched.Error, f"layer entry 1: {name} is only for layers that form a graph"):
                ppsched.Layers(rows)
        with self.assertRaisesRegex(ppsched.Error, "layer entry 0 has no 'afer'; it has name, count, .*, windows$"):
            ppsched.Layers([{"name": "a", "afer": []}])


class CommandTest(unittest.TestCase):
    ROWS = [{"name": "vision", "count": 4, "forward_time": 1, "after": [], "microbatches": [0, 2, 4, 6]},
            {"name": "embedding", "forward_time": 0.5, "after": []}, {"name": "decoder", "count": 8, "forward_time": 2, "after": ["vision", "embedding"]}]

    def file(self, **values):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = os.path.join(folder.name, "model.json")
        with open(path, "w", encoding="utf-8") as file:
            given = {"num_devices": 4, "num_batches": 8, "layers": self.ROWS, **values}
            json.dump({name: value for name, value in given.items() if value is not None}, file)
        return path

    def test_pick(self):
        path = self.file(p2p_time=0.1)
        code, text, err = answer("pick", "-c", path, "--json", "--quiet")
        self.assertEqual((code, err), (0, ""))
        (row,) = json.loads(text)
        self.assertEqual([own["entries"] for own in row["branches"]], [["vision"], ["embedding"], ["decoder"]])
        self.assertEqual(row["branches"][2]["inputs"], [0, 1])
        self.assertEqual(sum(row["branches"][2]["layers"]), 8)
        with open(os.path.join(os.path.dirname(path), "stages.json"), "w", encoding="utf-8") as file:
            json.dump(row["config"], file)
        code, again, err = answer("schedule", "-c", file.name, "--json", "--quiet")
        self.assertEqual((code, err), (0, ""))
        self.assertAlmostEqual(json.loads(again)["metrics"]["makespan"], row["step_time"])
        usual = ("--data-parallel-size", "1", "--objective", "makespan")
        self.assertEqual(answer("pick", "-c", path, "--json", "--quiet", *usual)[:2], (0, json.dumps([row]) + "\n"))
        self.assertLessEqual(row["bound"], row["order_bound"])
        code, text, _ = answer("pick", "-c", path, "--quiet", "--top", "2")
        self.assertEqual((code, text.count("vision")), (0, 2))

    def test_throughput(self):
        words = ("pick", "-c", self.file(), "--quiet", "--forward-only", "--objective", "throughput")
        code, text, err = answer(*words, "--json")
        self.assertEqual((code, err), (0, ""))
        (row,) = json.loads(text)
        self.assertEqual((row["period"] * row["throughput"], row["proved"]), (8, row["period"] == row["bound"]))
        self.assertIn("time of all microbatches in the long run", answer(*words)[1])
        with open(os.path.join(os.path.dirname(words[2]), "stages.json"), "w", encoding="utf-8") as file:
            json.dump(row["config"], file)
        self.assertAlmostEqual(json.loads(answer("schedule", "-c", file.name, "--json", "--quiet")[1])["throughput"], row["throughput"])
        code, _, err = answer("pick", "--devices", "2", "--microbatches", "4", "--num-layers", "4", "--quiet", "--objective", "throughput")
        self.assertEqual((code, len(err.strip().splitlines())), (1, 1))

    def test_devices_that_differ_and_several_stages(self):
        """Types of devices as a file of times, and a speed; stages that go round the devices twice."""
        rows = [{"name": "a", "count": 2, "forward_time": 1, "after": []}, {"name": "b", "count": 4, "forward_time": 2, "after": ["a"]}]
        path = self.file(num_devices=None, num_batches=2, layers=rows)
        folder = os.path.dirname(path)
        for name, values in (("same.json", {"speed": 1}), ("slow.json", {"speed": 0.5}),
                             ("other.json", {"layers": [{"name": "a", "count": 2, "forward_time": 2}, {"name": "b", "count": 4, "forward_time": 4}]})):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                json.dump(values, file)
        steps = []
        for name in ("slow.json", "other.json", "same.json"):
            code, text, err = answer("pick", "-c", path, "--quiet", "--json", "--device-types", f"{folder}/same.json:1", f"{folder}/{name}:1")
            self.assertEqual((code, err), (0, ""))
            steps.append(json.loads(text)[0]["step_time"])
            self.assertEqual(len(json.loads(text)[0]["device_types"]), 2)
        self.assertEqual(steps[0], steps[1])
        self.assertLess(steps[2], steps[0])
        code, text, err = answer("pick", "-c", path, "--quiet", "--devices", "2", "--chunks", "2", "--json")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(json.loads(text)[0]["branches"][1]["devices"], [0, 1, 0, 1])
        self.assertIn("devices 0-1 with 2 stages each", answer("pick", "-c", path, "--quiet", "--devices", "2", "--chunks", "2")[1])

    def test_what_is_wrong_is_told(self):
        entry = {"name": "a", "forward_time": 1}
        for rows, part in (([entry, {**entry, "name": "b", "after": ["c"]}], "no entry has that name"),
                           ([{**entry, "after": [0]}], "the first entry comes after no other"),
                           ([entry, {**entry, "after": [1]}], "after has entry 1; a layer comes after entries before it"),
                           ([entry, {**entry, "after": [0, 0]}], "twice"), ([entry, {**entry, "after": "a"}], "must be a list"),
                           ([entry, entry, {**entry, "name": "b", "after": ["a"]}], "the name of 2 entries"),
                           ([entry, {**entry, "after": [], "passes": "B"}], "it must be FB, FI or F"),
                           ([{**entry, "tied": True}, {**entry, "after": []}], "tied is only for layers of the first stage of a branch; give it"),
                           ([{**entry, "windows": {"F": []}}, {**entry, "after": []}], "windows is only for layers in a chain"),
                           ([{**entry, "device_scale": [[1, 1, 1, 1]]}, {**entry, "after": [], "device_scale": [[1, 1, 1, 1]] * 2}], "has 1 types of devices, and another")):
            code, _, err = answer("pick", "-c", self.file(layers=rows), "--quiet")
            self.assertNotEqual(code, 0)
            self.assertIn(part, err)
            self.assertEqual(len(err.strip().splitlines()), 1, err)
        for words, part in ((("compare",), "pick"), (("schedule", "--strategy", "auto"), "pick"), (("pick", "--runtime", "megatron"), "runtime"),
                            (("pick", "--chunks", "0"), "chunks"), (("pick", "--lower", "by_time"), "lower"),
                            (("pick", "-s", "4"), "stages"), (("pick", "--data-parallel-size", "2"), "--data-parallel-size is not for layers"),
                            (("pick", "--micro-batch-size", "2"), "--micro-batch-size is not"), (("pick", "--any"), "--any is not"),
                            (("pick", "--objective", "span"), "give makespan"),
                            (("pick", "--objective", "throughput"), "needs a problem with only forwards")):
            code, _, err = answer(words[0], "-c", self.file(), "--quiet", *words[1:])
            self.assertNotEqual(code, 0, words)
            self.assertIn(part, err)
            self.assertEqual(len(err.strip().splitlines()), 1, err)


if __name__ == "__main__":
    unittest.main()
