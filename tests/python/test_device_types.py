# SPDX-License-Identifier: Apache-2.0
"""Types of devices: every split and order of small problems, priced with plain times of stages; the command's files, and what it refuses."""
import itertools
import json
import os
import pathlib
import random
import tempfile
import unittest

import in_process
import ppsched

KINDS = ("forward_time", "backward_time", "backward_input_time", "backward_weight_time")
QUANTITIES = ("forward_times", "backward_times", "backward_input_times", "backward_weight_times")


def row_of(draw, name, least=1):
    """least: in quarters, of the input gradient."""
    parts = [draw.randint(*range_) / 4 for range_ in ((least, 8), (1, 8))]
    return {"name": name, "forward_time": draw.randint(1, 8) / 4, "backward_time": sum(parts), "backward_input_time": parts[0],
            "backward_weight_time": parts[1]}


class Problem:
    """Layers with times on two types of devices, and devices of them."""

    def __init__(self, draw, devices, chunks=1):
        self.devices, self.microbatches = devices, draw.randint(2, 6)
        self.types = [0, 1] + [draw.randint(0, 1) for _ in range(devices - 2)]
        count, least = devices * chunks + draw.randint(1, 3), draw.choice((1, 1, -8))
        self.rows = [[row_of(draw, f"layer{number}", 1 if base else least) for number in range(count)] for base in (True, False)]
        for row in self.rows[1]:  # some have no input gradient
            row.update(backward_input_time=max(row["backward_input_time"], 0))
            row.update(backward_time=row["backward_input_time"] + row["backward_weight_time"])
        self.chunks = chunks
        self.scale = [draw.choice((0.5, 1, 1.5)) for _ in range(4 * devices)] if draw.random() < 0.3 else [1.0] * (4 * devices)
        self.speeds = [draw.choice((0.5, 1)) for _ in range(devices)]
        self.overhead = [draw.choice((0, 0.25, 1)) for _ in range(devices)] if draw.random() < 0.3 else [0.0] * devices
        self.layers = [{**row, "device_scale": [[other[key] / row[key] for key in KINDS]]} for row, other in zip(*self.rows)]

    def config(self):
        return ppsched.Config(self.devices, self.microbatches, device_speeds=self.speeds, device_scale=self.scale, layer_types=self.types,
                              device_overhead=self.overhead)

    def time(self, strategy, split, order):
        """The step time of a split, from the times of each stage on each device: factors on times of 1."""
        ends = list(itertools.accumulate(split))
        scale = [sum(row[key] for row in self.rows[self.types[device]][end - count:end]) * self.scale[kind * self.devices + device] / self.speeds[device]
                 for kind, key in enumerate(KINDS) for end, count in zip(ends, split) for device in order]
        config = ppsched.Config(self.devices, self.microbatches, stages=len(split), stage_scale=scale,
                                device_overhead=[self.overhead[device] for device in order], **dict.fromkeys(QUANTITIES, 1))
        return ppsched.generate(strategy, config).evaluate().metrics.makespan

    def splits(self):
        for cuts in itertools.combinations(range(1, len(self.layers)), self.devices * self.chunks - 1):
            yield [end - begin for begin, end in zip((0, *cuts), (*cuts, len(self.layers)))]


class SplitsTest(unittest.TestCase):
    def test_no_split_and_no_order_is_better(self):
        draw, proved = random.Random(5), 0
        for trial in range(24):
            problem, strategy = Problem(draw, draw.choice((2, 3))), draw.choice(("1f1b", "zb_h1", "gpipe"))
            free = trial % 2 == 1
            made = ppsched.plan(problem.config(), strategies=strategy, chunks=1, layers=problem.layers, free_device_order=free)
            orders = list(itertools.permutations(range(problem.devices))) if free else [tuple(range(problem.devices))]
            best = min(problem.time(strategy, split, order) for order in orders for split in problem.splits())
            found = made.best
            self.assertAlmostEqual(found.step_time, best, delta=1e-9 * best)
            self.assertLessEqual(found.bound, best * (1 + 1e-9))
            order = found.device_order or orders[0]
            self.assertAlmostEqual(problem.time(strategy, made.split(found).layers, order), found.step_time, delta=1e-9 * best)
            proved += found.proved
        self.assertGreater(proved, 12)

    def test_bounds_of_several_stages_and_two_copies(self):
        """No split is below the bound, and the bound is near: it counts what each type takes for each layer."""
        draw, shares = random.Random(8), []
        for trial in range(36):
            strategy, devices, chunks = (("interleaved_1f1b", 2, 2), ("zbv", 2, 2), ("dualpipe", 2, 1), ("dualpipe", 4, 1))[trial % 4]
            problem = Problem(draw, devices, chunks)
            problem.microbatches = 2 * devices
            made = ppsched.plan(problem.config(), strategies=strategy, chunks=chunks, layers=problem.layers, free_device_order=trial % 3 == 0)
            orders = itertools.permutations(range(devices)) if trial % 3 == 0 else [range(devices)]
            best = min(problem.time(strategy, split, order) for order in orders for split in problem.splits())
            self.assertLessEqual(made.best.bound, best * (1 + 1e-9))
            self.assertLessEqual(made.best.step_time, best * 1.005)
            shares.append(made.best.bound / best)
        self.assertGreater(sum(shares) / len(shares), 0.7)

    def test_the_bound_counts_a_layer_that_is_as_fast_on_both_types(self):
        """An embedding whose time is all latency: the bound still says that decoders take twice as long on the second type."""
        layers = [{"name": "embedding", "place": "first", "forward_time": 0.01, "device_scale": [[1, 1, 1, 1]]},
                  {"name": "decoder", "count": 24, "forward_time": 1, "device_scale": [[2, 2, 2, 2]]},
                  {"name": "head", "place": "last", "forward_time": 1, "device_scale": [[2, 2, 2, 2]]}]
        for strategy, chunks in (("1f1b", 1), ("zb_h2", 1), ("interleaved_1f1b", 2), ("dualpipe", 1)):
            for free in (False, True):
                made = ppsched.plan(ppsched.Config(4, 64, layer_types=[0, 0, 1, 1]), strategies=strategy, chunks=chunks, layers=layers, free_device_order=free)
                self.assertLess(made.best.step_time, made.best.bound * 1.15, strategy)

    def test_two_copies_and_several_stages_are_priced_by_device(self):
        draw = random.Random(6)
        for strategy, chunks in (("dualpipe", 1), ("interleaved_1f1b", 2), ("zbv", 2)):
            rows = [row_of(draw, f"layer{number}") for number in range(12)]
            factors = [draw.choice((0.5, 2)) for _ in range(4)]
            layers = [{**row, "device_scale": [factors]} for row in rows]
            config = ppsched.Config(4, 8, layer_types=[0, 1, 0, 1])
            made = ppsched.plan(config, strategies=strategy, chunks=chunks, layers=layers)
            same = ppsched.plan(ppsched.Config(4, 8, device_scale=[factor if device % 2 else 1 for factor in factors for device in range(4)]),
                                strategies=strategy, chunks=chunks, layers=rows)
            self.assertAlmostEqual(made.best.step_time, same.best.step_time, places=9)
            self.assertGreaterEqual(made.best.step_time, made.best.bound * (1 - 1e-9))

    def test_what_recomputation_adds_grows_like_forwards(self):
        row = {"name": "layer", "count": 4, "forward_time": 1, "backward_time": 2, "mem_forward": 4,
               "recompute": [{"name": "full", "backward_time": 3, "mem_forward": 1}], "device_scale": [[2, 3, 3, 3]]}
        made = ppsched.plan(ppsched.Config(2, 4, layer_types=[0, 1], mem_limit=12), strategies="1f1b", chunks=1, layers=[row])
        split = made.split(made.best)
        times = []
        for device, (begin, count) in enumerate(((0, split.layers[0]), (split.layers[0], split.layers[1]))):
            added = sum(map(bool, split.recomputes[begin:begin + count]))
            times.append((count, 2 * count + added) if device == 0 else (2 * count, 6 * count + 2 * added))
        plain = ppsched.Config(2, 4, forward_times=[one for one, _ in times], backward_times=[one for _, one in times])
        self.assertAlmostEqual(ppsched.generate("1f1b", plain).evaluate().metrics.makespan, made.best.step_time, places=9)

    def test_what_is_refused(self):
        layers = [{"name": "layer", "count": 4, "forward_time": 1, "device_scale": [[1, 1, 1, 1]]}]
        with self.assertRaisesRegex(ppsched.Error, "layer_types of device 1 is 2; layers have times for types 0 to 1"):
            ppsched.plan(ppsched.Config(2, 2, layer_types=[0, 2]), layers=layers)
        with self.assertRaisesRegex(ppsched.Error, "layer_types of device 1 is 0.5; it must be a whole number from 0 to 255"):
            ppsched.Config(2, 2, layer_types=[0, 0.5])
        with self.assertRaisesRegex(ppsched.Error, "must be a list with four numbers"):
            ppsched.Layers([{**layers[0], "device_scale": [[1, 1]]}])
        with self.assertRaisesRegex(ppsched.Error, "finite and at least 0"):
            ppsched.Layers([{**layers[0], "device_scale": [[1, 1, -1, 1]]}])


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path("slow.json", {"speed": 0.5})
        self.path("fast.json", {"speed": 1})

    def path(self, name, content):
        path = pathlib.Path(self.folder.name, name)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return str(path)

    def run_command(self, *words):
        before = os.getcwd()
        os.chdir(self.folder.name)
        try:
            return in_process.run_command(words)
        finally:
            os.chdir(before)

    def best(self, *words):
        run = self.run_command("pick", *words, "--json")
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)[0]

    @staticmethod
    def layers_of(row):
        return [sum(stage["layers"].values()) for stage in row["split"]]

    def test_speeds_by_type(self):
        words = ("-b", 16, "--num-layers", 32, "--strategies", "1f1b", "--device-types", "fast.json:3", "slow.json:1")
        row = self.best(*words)
        self.assertEqual((self.layers_of(row), row["step_time"]), ([10, 10, 10, 2], 542))
        self.assertEqual(row["device_types"], ["fast.json"] * 3 + ["slow.json"])
        free = self.best(*words, "--free-device-order")
        self.assertEqual((self.layers_of(free), free["step_time"], free["device_types"][2]), ([10, 10, 3, 9], 540, "slow.json"))
        self.path("config.json", {"microbatches": 16, "num_layers": 32, "strategies": ["1f1b"], "device_types": ["fast.json:3", "slow.json:1"]})
        self.assertEqual(self.best("-c", "config.json")["step_time"], 542)

    def test_overheads_by_type(self):
        """Those of types are those of devices; a type without one has that of --device-overhead, or none."""
        self.path("late.json", {"speed": 1, "device_overhead": 2})
        self.path("late_ms.json", {"speed": 1, "device_overhead": "2ms"})
        words = ("-b", 16, "--num-layers", 16, "--strategies", "zb_h1", "--chunks", 1)
        plain = self.best(*words, "--num-devices", 4, "--device-overhead", 0, 0, 0, 2)
        more = self.best(*words, "--num-devices", 4, "--device-overhead", 0.25, 0.25, 0.25, 2)
        self.assertLess(self.layers_of(plain)[3], 4)
        self.assertGreater(more["step_time"], plain["step_time"])
        for row, given in ((plain, ()), (more, ("--device-overhead", 0.25))):
            found = self.best(*words, "--device-types", "fast.json:3", "late.json:1", *given)
            self.assertEqual((self.layers_of(found), found["step_time"]), (self.layers_of(row), row["step_time"]))
        timed = self.best(*words, "--forward-times", "1ms", "--device-types", "fast.json:3", "late_ms.json:1")
        self.assertEqual(self.layers_of(timed), self.layers_of(plain))
        self.assertAlmostEqual(timed["step_time"], plain["step_time"])

    def test_overheads_beside_a_model(self):
        """As without types: one of --device-overhead is that of types without their own, and a list is that of the devices."""
        self.path("llama.json", {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16,
                                 "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 32000})
        self.path("late_h100.json", {"like": "h100", "device_overhead": "2ms"})
        words = ("--model", "llama.json", "--seq", 4096, "--global-batch", 8, "--strategies", "1f1b", "--chunks", 1, "--device-types")
        by_list = [self.best(*words, "h100:2", "a100:2", "--device-overhead", *overheads)["step_time"]
                   for overheads in (("2ms", "2ms", "0s", "0s"), ("2ms", "2ms", "5ms", "5ms"), ("0s", "0s", "5ms", "5ms"))]
        by_type = [self.best(*words, "late_h100.json:2", "a100:2", *given)["step_time"]
                   for given in ((), ("--device-overhead", "5ms"), ("--device-overhead", "0s", "0s", "5ms", "5ms"))]
        self.assertEqual(len(set(by_list)), 3)
        for one, other in zip(by_type, by_list):
            self.assertAlmostEqual(one, other, delta=1e-9)

    def test_times_limits_and_links_by_type(self):
        rows = [{"name": "layer", "count": 8, "forward_time": "1ms", "backward_time": "2ms", "mem_forward": "1GB", "output_bytes": "10MB"}]
        slow = [{**rows[0], "forward_time": "2ms", "backward_time": "8ms"}]
        link = {"inside": {"bandwidth": "100GB/s"}, "between": {"bandwidth": "10GB/s", "latency": "1ms"}}
        self.path("a.json", {"layers": rows, "mem_limit": "40GB", **link})
        self.path("b.json", {"layers": slow, "mem_limit": "80GB", **link})
        row = self.best("-b", 8, "--strategies", "1f1b", "--device-types", "a.json:2", "b.json:2")
        split = self.layers_of(row)
        self.assertGreater(min(split[:2]), max(split[2:]))
        again = self.run_command(*row["command"].split()[1:], "--format", "json")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertAlmostEqual(json.loads(again.stdout)["metrics"]["makespan"], row["step_time"], places=6)

    def test_an_input_gradient_that_takes_time_on_one_type_alone(self):
        def rows(factor, gradient):
            return [{"name": "embedding", "place": "first", "forward_time": factor, "backward_input_time": gradient, "backward_weight_time": factor},
                    {"name": "decoder", "count": 6, "forward_time": 2 * factor, "backward_input_time": 2 * factor, "backward_weight_time": factor}]

        types = {"none.json": rows(1, 0), "some.json": rows(1.5, 0.25)}
        for units in ("", "ms"):
            for name, listed in types.items():
                self.path(name, {"layers": [{key: f"{value}ms" if units and key.endswith("_time") else value for key, value in row.items()}
                                            for row in listed]})
            for names in (("none.json", "some.json"), ("some.json", "none.json")):
                row = self.best("-b", 4, "--strategies", "zb_h1", "--chunks", 1, "--device-types", *(f"{name}:1" for name in names))
                lists, begin = {}, 0
                for name, count in zip(names, self.layers_of(row)):
                    flat = [layer for layer in types[name] for _ in range(layer.get("count", 1))][begin:begin + count]
                    begin += count
                    for key, quantity in zip(KINDS, QUANTITIES):
                        parts = KINDS[2:] if key == "backward_time" else (key,)
                        lists.setdefault(quantity, []).append(sum(layer[part] for layer in flat for part in parts))
                same = ppsched.generate("zb_h1", ppsched.Config(2, 4, **lists)).evaluate().metrics.makespan
                self.assertAlmostEqual(row["step_time"], same, places=9)

    def test_a_model_whose_embedding_has_an_input_gradient_on_one_type_alone(self):
        self.path("llama.json", {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
                                 "num_key_value_heads": 8, "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 8192})
        words = ("--model", "llama.json", "--seq", 4096, "--global-batch", 16, "--strategies", "1f1b", "--chunks", 1)
        split = self.layers_of(self.best(*words, "--device-types", "h100:2", "a100:2"))
        turned = self.layers_of(self.best(*words, "--device-types", "a100:2", "h100:2"))
        self.assertGreater(sum(split[:2]), 1.5 * sum(split[2:]))
        self.assertGreater(sum(turned[2:]), 1.5 * sum(turned[:2]))

    def test_bad_input_is_one_line(self):
        for words, message in ((("slow.json:3", "--devices", 4), "--device-types has 3 devices, and --devices 4"),
                               (("slow.json",), "it must be NAME:COUNT, such as a100:8"),
                               (("slow.json:0",), "it must be NAME:COUNT, such as a100:8"),
                               (("a100:2",), "a data sheet has no times for these layers without --model"),
                               (("none.json:2",), "there is no file 'none.json'"),
                               (("a1000:2",), "there is no device"),
                               (("zero.json:2",), "speed is 0; it must be a number above 0"),
                               (("early.json:2",), "device_overhead is -1; it must be a time, 0 or more"),
                               (("word.json:2",), "word.json: device_overhead"),
                               (("empty.json:2",), "it has no speed and no layers with times"),
                               (("limit.json:1", "slow.json:1"), "other types have a mem_limit"),
                               (("slow.json:2", "--device", "h100"), "--device")):
            self.path("zero.json", {"speed": 0})
            self.path("early.json", {"speed": 1, "device_overhead": -1})
            self.path("word.json", {"speed": 1, "device_overhead": "5GB"})
            self.path("empty.json", {"mem_limit": 3})
            self.path("limit.json", {"speed": 1, "mem_limit": 3})
            run = self.run_command("pick", "-b", 4, "--num-layers", 8, "--device-types", *words)
            self.assertNotEqual(run.returncode, 0, words)
            self.assertIn(message, run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1, run.stderr)

    def test_data_sheets_with_a_model(self):
        self.path("model.json", {"model_type": "llama", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16,
                                 "intermediate_size": 5632, "vocab_size": 32000, "max_position_embeddings": 2048})
        for name, like in (("alike.json", "h100"), ("alike_a100.json", "a100")):
            self.path(name, {"like": like, "scale_slowdown": 0})
        words = ("--model", "model.json", "--seq", 2048, "--global-batch", 16, "--strategies", "1f1b", "--chunks", 1)
        row = self.best(*words, "--device-types", "h100:2", "a100:2")
        split = self.layers_of(row)
        self.assertGreater(sum(split[:2]), sum(split[2:]))
        self.assertEqual(row["device_types"], ["h100", "h100", "a100", "a100"])
        alike = self.best(*words, "--device", "a100", "--pp", 4)
        fast = self.best(*words, "--device", "h100", "--pp", 4)
        self.assertLess(row["step"]["step_time"], alike["step"]["step_time"])
        self.assertGreater(row["step"]["step_time"], fast["step"]["step_time"])
        self.path("sums.csv", "kind,tp,cp,ep,etp,micro_batch,seq,recompute,forward_time,backward_input_time,backward_weight_time,mem_forward,mem_static\n"
                  "collective:all_reduce,1MB,8,8,80us\n")
        for name in ("h100", "mi300x"):
            for more in ((), ("--layer-table", "sums.csv")):  # a measured sum says nothing of sends
                same, alone = self.best(*words, *more, "--device-types", f"{name}:4"), self.best(*words, *more, "--device", name, "--pp", 4)
                self.assertAlmostEqual(same["step"]["pipeline_time"], alone["step"]["pipeline_time"], delta=1e-9 * alone["step"]["pipeline_time"])
        for name, like in (("slow.json", "h100"), ("slower.json", "a100")):  # each type takes longer on many devices by its own factor
            self.path(name, {"like": like, "scale_slowdown": 0.1})
        slower = self.best(*words, "--device-types", "slow.json:2", "slower.json:2", "--p2p-time", 0, "--p2p-bandwidth", "inf")
        alike = self.best(*words, "--device-types", "alike.json:2", "alike_a100.json:2", "--p2p-time", 0, "--p2p-bandwidth", "inf")
        self.assertAlmostEqual(slower["step"]["pipeline_time"], 1.2 * alike["step"]["pipeline_time"])  # 4 devices
        for more, message in ((("--device-types", "h100:4", "--device", "a100"), "give one of them"),
                              (("--device-types", "h100:3", "--pp", 4), "needs 4"),
                              (("--device-types", "h100:6", "a100:10", "--tp", 4), "--device-types h100:6: each device of the pipeline is 4 GPUs"),
                              (("--device-types", "h100:2", "a100:2", "--precision", "fp8"), "a100 has no matrix rate for 8 bits (rate_8bit); use bf16 or fp16"),
                              (("--device-types", "a100:2", "v100:2", "--precision", "bf16"), "v100 has no bf16; give --precision fp16"),
                              (("--device-types", "fast.json:4"), "needs a data sheet")):
            run = self.run_command("pick", *words, *more)
            self.assertNotEqual(run.returncode, 0)
            self.assertIn(message, run.stderr)

    def test_a_type_without_bf16(self):
        """fp16 is assumed and told, unless a file or an option gives it; other commands do the same."""
        self.path("model.json", {"model_type": "llama", "hidden_size": 1024, "num_hidden_layers": 16, "num_attention_heads": 16,
                                 "intermediate_size": 2816, "vocab_size": 32000, "max_position_embeddings": 2048})
        words = ("pick", "--model", "model.json", "--global-batch", 16, "--strategies", "1f1b", "--chunks", 1, "--device-types", "a100:2", "v100:2")
        run = self.run_command(*words)
        self.assertEqual((run.returncode, run.stderr), (0, "ppsched pick: note: v100 has no bf16, so fp16 is assumed; --precision gives the precision\n"))
        told = self.run_command(*words, "--precision", "fp16", "--json")
        self.assertEqual((told.stderr, told.stdout), ("", self.run_command(*words, "--json").stdout))
        row = json.loads(told.stdout)[0]
        self.assertEqual(row["device_types"], ["a100", "a100", "v100", "v100"])
        split = self.layers_of(row)
        self.assertGreater(sum(split[:2]), sum(split[2:]))
        arguments = {"num_layers": 16, "hidden_size": 1024, "num_attention_heads": 16, "vocab_size": 32000}
        self.path("bf16.json", {**arguments, "bf16": True})
        self.path("fp16.json", {**arguments, "fp16": True})
        self.path("open.json", arguments)
        for command, more in (("model", ()), ("price", ("--pp", 4)), ("pick", ("--pp", 4, "--strategies", "1f1b")), ("pick", ("--gpus", 4, "--global-batch", 16))):
            run = self.run_command(command, "--model", "bf16.json", "--device", "v100", *more)
            self.assertEqual((run.returncode, run.stderr), (1, f"ppsched {command}: v100 has no bf16; give --precision fp16\n"))
            run = self.run_command(command, "--model", "fp16.json", "--device", "v100", *more)
            self.assertNotIn("no bf16", run.stderr)
            self.assertEqual(run.returncode, 0, run.stderr)
            run = self.run_command(command, "--model", "open.json", "--device", "v100", *more)
            self.assertEqual(run.stderr.count("v100 has no bf16, so fp16 is assumed"), 1)
            self.assertNotIn("bf16 (the launcher's default", run.stdout)

    def test_the_precision_of_a_config_file(self):
        """As a key of its own or as Megatron-LM's arguments say it; the option takes precedence."""
        self.path("model.json", {"model_type": "llama", "hidden_size": 8192, "num_hidden_layers": 16, "num_attention_heads": 64,
                                 "intermediate_size": 22016, "vocab_size": 32000, "max_position_embeddings": 2048})
        def step(*words, **fields):
            self.path("job.json", {"pp": 4, "global_batch": 16, "strategies": ["1f1b"], **fields})
            return self.best("--model", "model.json", "-c", "job.json", "--device", "h100", *words)["step"]["step_time"]
        slow, fast = step(), step("--precision", "fp8")
        self.assertLess(fast, slow)
        self.assertEqual([step(precision="fp8"), step(fp8="hybrid"), step(precision="bf16"), step("--precision", "bf16", precision="fp8")], [fast, fast, slow, slow])
        for words, precision, message in ((("--device", "h100", "--pp", 4), "fp88", "job.json: precision is 'fp88'; did you mean fp8?"),
                                          (("--device", "h100", "--pp", 4), 8, "job.json: precision is 8; it must be bf16, fp16, fp8, mxfp8, nvfp4"),
                                          (("--device", "a100", "--gpus", 8), "fp8", "a100 has no matrix rate for 8 bits (rate_8bit); use bf16 or fp16")):
            self.path("job.json", {"precision": precision})
            run = self.run_command("pick", "--model", "model.json", "-c", "job.json", *words)
            self.assertEqual((run.returncode, run.stderr), (1, f"ppsched pick: {message}\n"))


if __name__ == "__main__":
    unittest.main()
