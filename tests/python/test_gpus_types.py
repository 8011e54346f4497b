# SPDX-License-Identifier: Apache-2.0
"""pick --gpus with --device-types: the price of layouts on devices of several types, what is printed, and what is refused."""
import itertools
import json
import pathlib
import tempfile
import unittest

from in_process import run_command

import ppsched
from ppsched._core.config import Config
from ppsched._core.job import JobType
from ppsched._core.layers import Layers, Split, config_from_layers
from ppsched._core.layout_search import JobWords, Ranked
from ppsched._core.plan_layouts import found_row, lay_out, training_of_layout
from ppsched._core.schedule import generate
from ppsched.command.device_types import DeviceType, unlike_devices

LLAMA = {"model_type": "llama", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 8,
         "intermediate_size": 8192, "vocab_size": 128256, "tie_word_embeddings": False}
SHAPE = ppsched.Transformer(layers=16, hidden_size=2048, ffn_size=8192, heads=16, key_value_heads=8, vocabulary_size=128256, gated=True,
                            causal=True)


def device(name):
    return next(one for one in ppsched.accelerators() if one.name == name)


class TypesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = str(self.folder / "config.json")
        pathlib.Path(self.model).write_text(json.dumps(LLAMA), encoding="utf-8")

    def pick(self, *words):
        return run_command(("pick", "--model", self.model, "--seq", 4096, *words))

    def words(self, names=("a100", "mi300x"), each=8, limits=(0, 0), **fixed):
        types = tuple(JobType(device(name), each, limit) for name, limit in zip(names, limits))
        return JobWords(ppsched.Description(SHAPE).json(), ppsched.Training(sequence_length=4096), types[0].device, each * len(types),
                        tuple({"global_batch": 64, **fixed}.items()), types=types)

    def priced(self, words, step=1, most=40):
        job = words.job()
        numbers = itertools.islice((number for number in range(0, len(job), step) if job.layout(number).state != "over_limit"), most)
        rows = [Ranked(job.layout(number), job.price(number)) for number in numbers]
        return [row for row in rows if row.found.state == "priced"]

    def test_pipelines_take_as_long_as_in_a_plan_of_unlike_devices(self):
        """The plan's side computes times and links of types by itself."""
        for words in (self.words(), self.words(("mi300x", "a100"), 4, zero=0, micro_batch=1)):
            rows = self.priced(words, 7)
            self.assertGreater(len(rows), 10)
            for row in rows:
                names = [words.types[number].device.name for number in row.layout.types]
                types = [DeviceType(name, words.types[0].gpus, device(name)) for name in names]
                training = training_of_layout(words, row)
                model = ppsched.Model(ppsched.Description(SHAPE), training, types[0].sheet)
                values = unlike_devices(types, model, row.layout.pp, model.layers().given, None, 0).values
                laid = lay_out(words, row)
                split = Split(list(row.found.split), laid.split.split.recomputes)
                config = config_from_layers(Config(row.layout.pp, row.layout.microbatches, row.layout.pp * row.layout.chunks,
                                                   **{key: values[key] for key in ("layer_types", "p2p_time", "p2p_bandwidth")}),
                                            Layers(values["layers"]), split)
                for schedule in (laid.schedule, generate(row.found.strategy, config)):
                    if row.found.strategy != "zb_auto" or schedule is laid.schedule:  # its order depends on the memory limits
                        self.assertAlmostEqual(schedule.evaluate().metrics.makespan / row.found.price.pipeline_time, 1, 9)

    def test_a_slow_type_has_fewer_layers(self):
        for row in self.priced(self.words(("h100", "a100"), chunks=1, pp=2, tp=1, cp=1, zero=1)):
            place = row.layout.types.index(0)
            if len(set(row.found.split)) > 1 and row.found.split != (9, 9):  # not the even split
                self.assertGreater(row.found.split[place], row.found.split[1 - place])

    def test_limits_are_those_of_each_type(self):
        whole, short = (self.words(limits=limits, pp=2, zero=1, tp=1, cp=1, chunks=1) for limits in ((0, 0), (0, 20e9)))
        rows = self.priced(short)
        self.assertGreater(len(rows), 3)
        for row in rows:
            memory = [one.total for one in row.found.price.memory]
            self.assertLessEqual(memory[row.layout.types.index(1)], 20e9)
        self.assertTrue(any(row.found.price.memory[row.layout.types.index(1)].total > 20e9 for row in self.priced(whole)))
        self.assertTrue(all(found_row(short, row)["memory_limit"] in (20e9, device("a100").memory) for row in rows))

    def test_both_orders_are_tried_and_told(self):
        done = self.pick("--gpus", 16, "--device-types", "h100:8", "a100:8", "--global-batch", 64, "--top", 20, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = json.loads(done.stdout)
        orders = {tuple(dict.fromkeys(row["layout"]["device_types"])) for row in rows}
        self.assertEqual(orders, {("h100", "a100"), ("a100", "h100")})
        for row in rows:
            layout = row["layout"]
            self.assertEqual(len(layout["device_types"]), layout["pp"])
            self.assertEqual(8 % (layout["tp"] * layout["cp"] * layout["dp"]), 0)
            self.assertEqual(row["within"]["pp"], "job")
        text = self.pick("--gpus", 16, "--device-types", "h100:8", "a100:8", "--global-batch", 64, "-o", f"{self.folder}/run/")
        self.assertEqual(text.returncode, 0, text.stderr)
        first = rows[0]["layout"]["device_types"]
        self.assertIn(f"{first[0]} has device", text.stdout)
        self.assertIn("(ranks 0 to 7); ", text.stdout)
        self.assertIn("GiB of h100, 80.0 GiB of a100", text.stdout)
        self.assertEqual(json.loads((self.folder / "run" / "layout.json").read_text())["layout"], rows[0]["layout"])

    def test_a_type_twice_is_one(self):
        words = ("--global-batch", 64, "--pp", 4, "--micro-batch", 1, "--json")
        once = self.pick("--gpus", 16, "--device-types", "h100:8", "a100:8", *words)
        twice = self.pick("--gpus", 16, "--device-types", "h100:4", "a100:8", "h100:4", *words)
        self.assertEqual((once.returncode, once.stdout), (0, twice.stdout))

    def test_types_with_one_name_stay_two(self):
        """Files of one name, or like one device, with other sheets."""
        files = []
        for folder, share in (("a", 1), ("b", 0.4)):
            files.append(self.folder / folder / "gpu.json")
            files[-1].parent.mkdir()
            files[-1].write_text(json.dumps({"like": "h100", "matrix_rate": 989.4e12 * share}), encoding="utf-8")
        words = ("--global-batch", 64, "--pp", 2, "--json")
        slow, both = (self.pick("--gpus", 16, "--device-types", *types, *words) for types in ((f"{files[1]}:16",), (f"{files[0]}:8", f"{files[1]}:8")))
        self.assertEqual((slow.returncode, both.returncode), (0, 0), slow.stderr + both.stderr)
        slow, both = (json.loads(done.stdout)[0] for done in (slow, both))
        self.assertLess(both["step"]["step_time"], 0.9 * slow["step"]["step_time"])
        self.assertEqual(set(both["layout"]["device_types"]), {"gpu.json#1", "gpu.json#2"})
        self.assertEqual(set(slow["layout"]["device_types"]), {"h100"})

    def test_one_type_is_as_without(self):
        words = ("--gpus", 16, "--global-batch", 64, "--json")
        alone, typed = self.pick("--device", "h100", *words), self.pick("--device-types", "h100:16", *words)
        rows = json.loads(typed.stdout)
        for row in rows:
            row["layout"].pop("device_types")
        self.assertEqual(rows, json.loads(alone.stdout))

    def test_the_order_of_the_list_does_not_matter(self):
        """The node of which tensor parallelism is inside, and the precision that all have. scale_slowdown of the first type also slows links."""
        for names in (("h100", "gb200"), ("h100", "v100")):
            found = [ppsched.plan_layouts(ppsched.read_model(self.model), gpus=32, device=[(name, 16) for name in order], fixed={"global_batch": 64, "pp": 2})
                     for order in (names, names[::-1])]
            self.assertEqual(found[0].counts["layouts"], found[1].counts["layouts"])
            self.assertAlmostEqual(found[0][0]["step"]["step_time"] / found[1][0]["step"]["step_time"], 1, delta=0.001, msg=str(names))

    def test_without_a_limit_the_fullest_device_counts(self):
        words = JobWords(ppsched.Description(SHAPE).json(), ppsched.Training(sequence_length=4096), device("h100"), 8, (("global_batch", 64), ("pp", 4)),
                         memory_limit=1e30)
        rows = self.priced(words)
        self.assertTrue(rows)
        for row in rows:
            self.assertGreaterEqual(row.found.memory, max(one.total for one in row.found.price.memory))
            self.assertLessEqual(row.layout.least_memory, row.found.memory)

    def test_workers_and_the_call_give_the_same(self):
        words = ("--gpus", 16, "--device-types", "h100:8", "a100:8", "--global-batch", 64, "--micro-batch", 1, 2, "--json")
        alone, workers = self.pick(*words), self.pick(*words, "--jobs", 2)
        self.assertEqual((alone.returncode, alone.stdout), (0, workers.stdout))
        rows = ppsched.plan_layouts(ppsched.read_model(self.model), gpus=16, device=[("h100", 8), (device("a100"), 8)],
                                    fixed={"global_batch": 64, "micro_batch": [1, 2]})
        self.assertTrue(rows and rows[0]["layout"]["device_types"])
        for wrong in (["h100"], [(None, 16)]):
            with self.assertRaisesRegex(TypeError, r"\[\('h100', 8\), \('a100', 8\)\]"):
                ppsched.plan_layouts(ppsched.read_model(self.model), gpus=16, device=wrong)

    def test_refused(self):
        slow = self.folder / "slow.json"
        slow.write_text('{"speed": 0.5}', encoding="utf-8")
        limits = [self.folder / f"limit{number}.json" for number in range(2)]
        for path, limit in zip(limits, ([70e9], 0)):
            path.write_text(json.dumps({"like": "h100", "mem_limit": limit}), encoding="utf-8")
        cases = ((("--gpus", 16, "--device-types", "h100:8", f"{limits[0]}:8"), "limit0.json: mem_limit is [70000000000.0]; it must be a size"),
                 (("--gpus", 16, "--device-types", "h100:8", f"{limits[1]}:8"), "limit1.json: mem_limit is 0; it must be above 0"),
                 (("--gpus", 24, "--device-types", "h100:8", "a100:8"), "--device-types has 16 devices; give counts that sum to 24, or --gpus 16"),
                 (("--gpus", 16, "--device-types", "h100:8", f"{slow}:8"), "needs a data sheet for each type"),
                 (("--gpus", 16, "--device-types", "h100:8", "a100:8", "--device", "h100"), "both state the devices"),
                 (("--gpus", 16, "--device-types", "h100:8", "a100:8", "--goal", "cost", "--gpu-hour", "2"), "give --goal tokens"),
                 (("--gpus", 16, "--device-types", "h100:8", "a100:8", "--memory-margin", "2GiB"), "give one of them"),
                 (("--gpus", 16, "--device-types", "h100:8", "a100:8", "--rank-order", "tp-cp-ep-pp-dp"), "rank order tp-cp-ep-dp-pp"),
                 (("--gpus", 16, "--device-types", "h100:8", "a100:8", "--pp", 1), "at most 8 (what divides the counts of all types), so a pipeline has at least 2"),
                 (("--gpus", 17, "--device-types", "h100:8", "a100:9"), "so a pipeline has at least 17 devices; the model has 16 decoders"))
        for words, told in cases:
            done = self.pick(*words)
            self.assertNotEqual(done.returncode, 0, words)
            self.assertIn(told, done.stderr)
            self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)


if __name__ == "__main__":
    unittest.main()
