# SPDX-License-Identifier: Apache-2.0
"""Models by their layers: the package, the command, the split that pick finds, and what runtimes are told of it."""
import contextlib
import csv
import importlib.util
import io
import json
import pathlib
import re
import shlex
import subprocess
import sys
import unittest
import unittest.mock

import own_folder
import ppsched
from ppsched.command import notices
from ppsched.command.cli import main
from ppsched._core.launching import RUNTIME_NAMES

HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
HAS_YAML = importlib.util.find_spec("yaml") is not None
FULL = {"name": "full", "backward_time": 3, "mem_forward": 0.2}
SELECTIVE = {"name": "selective", "backward_time": 2.3, "mem_forward": 1}
DECODER = {"name": "decoder", "count": 12, "forward_time": 1, "backward_time": 2, "mem_forward": 2, "mem_static": 1, "output_bytes": 1,
           "recompute": [SELECTIVE, FULL]}
EMBEDDING = {"name": "embedding", "place": "first", "forward_time": 0.2, "backward_time": 0.3, "mem_static": 3}
HEAD = {"name": "head", "place": "last", "forward_time": 0.8, "backward_time": 1.6, "mem_static": 3}
ROWS = [EMBEDDING, DECODER, HEAD]
PROBLEM = {"num_devices": 4, "num_batches": 8, "layers": ROWS}
QUICK = ("--strategies", "1f1b", "zb_h1", "interleaved_1f1b", "zbv")


class FolderTest(unittest.TestCase):
    """In a folder with model.json, a config file, and layers.json, the layers alone."""

    def setUp(self):
        own_folder.enter(self)
        self.write("model.json", PROBLEM)
        self.write("layers.json", ROWS)

    def write(self, name, data):
        pathlib.Path(name).write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")

    def run_here(self, *words):
        """Exit code, standard output, standard error of the command in this process."""
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors), unittest.mock.patch.object(notices, "SPEAKS", False):
            code = main([str(word) for word in words])
        return code, output.getvalue(), errors.getvalue()

    def succeed(self, *words):
        code, output, errors = self.run_here(*words)
        self.assertEqual((code, errors), (0, ""), words)
        return output

    def fail_with(self, code, part, *words):
        """One line, whatever the code is."""
        found, output, errors = self.run_here(*words)
        self.assertIn(part, errors)
        self.assertEqual((found, output, errors.count("\n")), (code, "", 1), errors)

    def pick(self, *words):
        (row,) = json.loads(self.succeed("pick", *words, "--json"))
        return row


# --- the package ---

class LayersTest(unittest.TestCase):
    def test_names_and_kinds(self):
        layers = ppsched.Layers(ROWS)
        self.assertEqual(len(layers), 14)
        self.assertEqual(layers.names, ["embedding", *["decoder"] * 12, "head"])
        self.assertEqual(layers.kinds, [[], *[["selective", "full"]] * 12, []])
        self.assertEqual(repr(layers), "<ppsched.Layers: 1 x embedding, 12 x decoder, 1 x head>")
        self.assertIs(layers.given[1], DECODER)

    def test_rows_of_a_split(self):
        layers = ppsched.Layers(ROWS)
        split = ppsched.Split([4, 4, 4, 2], [0, 2, 2, 0, 1, *[0] * 9])
        rows = layers.rows(split)
        self.assertEqual(rows[0], {"stage": 0, "layers": {"embedding": 1, "decoder": 3}, "recompute": {"decoder": {"full": 2}}})
        self.assertEqual(rows[1]["recompute"], {"decoder": {"selective": 1}})
        self.assertEqual(rows[3], {"stage": 3, "layers": {"decoder": 1, "head": 1}, "recompute": {}})

    def test_layout_of_a_split(self):
        layers = ppsched.Layers(ROWS)
        self.assertEqual(layers.layout(ppsched.Split([4, 4, 4, 2], []), 4).text, "Et*3|t*4|t*4|tL")
        alone = ppsched.Layers([{"name": "decoder", "count": 4, "forward_time": 1}])
        self.assertEqual(alone.layout(ppsched.Split([3, 1], []), 2).text, "Et*3|tL")
        self.assertIsNone(layers.layout(ppsched.Split([4, 4, 6], []), 2))

    def test_stages_of_a_split(self):
        layers = ppsched.Layers(ROWS)
        split = ppsched.Split([4, 4, 4, 2], [0, 2, 2, 0, 1, *[0] * 9])
        config = ppsched.config_from_layers(ppsched.Config(4, 8, mem_limit=40, options={"group_size": 4}), layers, split)
        self.assertEqual(config.forward_times, [3.2, 4, 4, 1.8])
        self.assertEqual([round(time, 9) for time in config.backward_times], [8.3, 8.3, 8, 3.6])
        self.assertEqual([round(memory, 9) for memory in config.mem_forward], [2.4, 7, 8, 2])
        self.assertEqual((config.mem_static, config.mem_limit, config.devices), ([6, 4, 4, 4], [40] * 4 if len(config.mem_limit) == 4 else [40], 4))

    def test_backward_times(self):
        """Twice the forward where none is given; two parts sum up; recomputation is added to the whole."""
        def times(**row):
            layers = ppsched.Layers([{"name": "d", "count": 2, "forward_time": 1, **row}])
            config = ppsched.config_from_layers(ppsched.Config(2, 2), layers, ppsched.Split([1, 1], [1, 0] if "recompute" in row else []))
            return config.backward_times
        self.assertEqual(times(), [2, 2])
        self.assertEqual(times(backward_time=3), [3, 3])
        self.assertEqual(times(backward_input_time=1, backward_weight_time=0.5), [1.5, 1.5])
        self.assertEqual(times(recompute=[{"name": "full", "backward_time": 3}]), [3, 2])
        self.assertEqual(times(backward_input_time=1, backward_weight_time=0.5, recompute=[{"name": "full", "backward_time": 2.5}]), [2.5, 1.5])

    def test_what_is_wrong(self):
        for rows, part in (({"name": "d"}, "layers must be a list"), ("d", "layers must be a list"), ([], "0 layer entries; there must be 1"),
                           (["d"], "layer entry 0 must be a mapping"), ([{"count": 1}], "layer entry 0 has no name"),
                           ([{"name": "d", "count": 0}], "layer entry 0 \\(d\\): count is 0; it must be 1 or more"),
                           ([{"name": "d", "count": 10**10}], "layer entry 0 \\(d\\): count is 10000000000; it must be at most 65535"),
                           ([{"name": "d", "backward_time": 1}], "layer entry 0 \\(d\\): it has a backward time but no forward_time"),
                           ([{"name": "d", "count": 1.5}], "count must be an integer"),
                           ([{"name": "d", "forward": 1}], "layer entry 0 has no 'forward'; it has name, count, "),
                           ([{"name": "d", "forward_time": "1"}], "forward_time must be one number, not '1'"),
                           ([{"name": "d", "forward_time": [1, 2]}], "forward_time must be one number"),
                           ([{"name": "d", "forward_time": -1}], "forward_time is -1; it must be finite and at least 0"),
                           ([{"name": "d", "place": "middle"}], "layer entry 0 \\(d\\): there is no place 'middle'; it must be any, first or last"),
                           ([{"name": "d", "tied": 1}], "tied must be true or false"),
                           ([{"name": "d", "count": 70000}], "it must be at most 65535"),
                           ([{"name": "d", "recompute": "full"}], "recompute must be a list"),
                           ([{"name": "d", "recompute": [{"backward_time": 3}]}], "recompute 0 has no name"),
                           ([{**DECODER, "recompute": [{"name": "f", "mem_forward": 1}]}], "give backward_time, the time of the whole"),
                           ([{**DECODER, "recompute": [{"name": "f", "time": 1}]}], "recompute 0 has no 'time'; it has name, backward_time, mem_forward"),
                           ([{**DECODER, "recompute": [{"name": "f", "backward_time": 1}]}], "backward_time is 1, less than the 2 without recomputation"),
                           ([{**DECODER, "recompute": [{"name": "f", "backward_time": 3, "mem_forward": 9}]}], "at most the layer's"),
                           ([{**DECODER, "recompute": [FULL, FULL]}], "recomputes 0 and 1 are both called full; each needs a different name"),
                           ([HEAD, DECODER], "it comes after a layer for the last stage; put it before that layer"), ([DECODER, EMBEDDING], "layer entry 1")):
            with self.assertRaisesRegex(ppsched.Error, part) as caught:
                ppsched.Layers(rows)
            self.assertNotIn("\n", str(caught.exception))

    def test_splits_that_are_wrong(self):
        layers, config = ppsched.Layers(ROWS), ppsched.Config(4, 8)
        for counts, kinds, part in (([4, 4, 4, 3], [], "the model has 14"), ([4, 4, 4, 1], [], "the model has 14"), ([4, 4, 4, 2], [0, 0], "there are 14"),
                                    ([4, 4, 4, 2], [0, 3, *[0] * 12], "kinds of recomputation 0 to 2, not 3"), ([4, 10, 0, 0], [], "last")):
            with self.assertRaisesRegex(ppsched.Error, part):
                ppsched.config_from_layers(config, layers, ppsched.Split(counts, kinds))

    def test_it_is_shared_and_outlives(self):
        plan = ppsched.plan(ppsched.Config(2, 4), layers=ppsched.Layers([{"name": "d", "count": 4, "forward_time": 1}]), strategies="1f1b")
        self.assertEqual(plan.split(plan[0]), ppsched.Split([2, 2], [0] * 4))


class PlanTest(unittest.TestCase):
    def test_what_is_left_out_proves_nothing(self):
        """Layers whose kinds all differ: of very many sets of a stage some are left out."""
        def planned(count):
            rows = [{"name": "decoder", "forward_time": 1 + 0.01 * i, "backward_time": 2, "mem_forward": 1 + 0.013 * i * i % 0.37,
                     "recompute": [{"name": "some", "backward_time": 2.1 + 0.017 * (i * 7 % 11), "mem_forward": 0.6 + 0.011 * (i * 5 % 13)},
                                   {"name": "all", "backward_time": 2.9 + 0.03 * (i * 3 % 7), "mem_forward": 0.05 + 0.007 * (i % 5)}]}
                    for i in range(count)]
            config = ppsched.Config(2, 6, mem_limit=0.6 * count)
            return ppsched.plan(config, layers=ppsched.Layers(rows), strategies="1f1b", chunks=1).best
        self.assertTrue(planned(8).proved)
        self.assertFalse(planned(44).proved)

    def test_all_of_half_a_million_splits_are_proved(self):
        """Those that have several stages on a device are left out by what all of these take."""
        layers = ppsched.Layers([{"name": f"decoder {i}", "forward_time": 1 + i * 7 % 9, "backward_time": 2 + i * 5 % 9 * 2}
                                 for i in range(24)])
        plan = ppsched.plan(ppsched.Config(3, 3), layers=layers, strategies="interleaved_1f1b", chunks=3, group_sizes=3)
        self.assertTrue(plan.best.proved)

    def test_splits_follow_the_model(self):
        """A head that takes as long as two layers: the last stage gets fewer, and that is proved."""
        layers = ppsched.Layers([{"name": "decoder", "count": 10, "forward_time": 1},
                                 {"name": "head", "place": "last", "forward_time": 2, "backward_time": 4}])
        plan = ppsched.plan(ppsched.Config(4, 16), layers=layers, strategies=["1f1b"])
        self.assertEqual(plan.split(plan.best).layers, [3, 3, 3, 2])
        self.assertTrue(plan.best.proved)
        config = plan.config_of(plan.best)
        self.assertEqual(config.forward_times, [3, 3, 3, 3])
        self.assertEqual(plan.best.makespan, (16 + 3) * 9)
        model = plan.model(plan.best)
        self.assertEqual(model, ppsched.LayerSplit(layers, plan.split(plan.best)))

    def test_recomputation_where_it_must_be(self):
        layers = ppsched.Layers(ROWS)
        free = ppsched.plan(ppsched.Config(4, 8), layers=layers, strategies=["1f1b"])
        tight = ppsched.plan(ppsched.Config(4, 8, mem_limit=0.7 * free.best.peak_memory), layers=layers, strategies=["1f1b"])
        self.assertEqual(sum(free.split(free.best).recomputes), 0)
        self.assertGreater(sum(tight.split(tight.best).recomputes), 0)
        self.assertGreater(tight.best.makespan, free.best.makespan)
        self.assertLessEqual(tight.best.peak_memory, 0.7 * free.best.peak_memory)

    def test_runtimes(self):
        layers = ppsched.Layers(ROWS)
        plan = ppsched.plan(ppsched.Config(4, 8), layers=layers, strategies=["1f1b", "gpipe"], runtimes=RUNTIME_NAMES)
        for candidate in plan:
            self.assertEqual("deepspeed" in candidate.runs_on, candidate.strategy == "1f1b")
        self.assertIsNone(ppsched.plan(ppsched.Config(4, 8), layers=layers, strategies=["1f1b"])[0].runs_on)
        plan = ppsched.plan(ppsched.Config(4, 8), layers=layers, runtime="colossalai")
        self.assertEqual(plan.runtime, ppsched.Runtime.COLOSSALAI)
        for candidate in plan:
            if candidate.fits:
                counts, line = plan.split(candidate).layers, plan.schedule(candidate).launch("colossalai", model=plan.model(candidate))
                decoders = [counts[0] - 1, *counts[1:-1], counts[-1] - 1]
                owner = " " if candidate.chunks == 1 else " stage_manager."
                self.assertEqual(f"{owner}num_layers_per_stage={','.join(map(str, decoders))}" in line, len(set(decoders)) > 1)

    def test_the_first_group_size_is_refused(self):
        """20 microbatches in groups of 6 would deadlock; what fits by recomputation is found in groups of 7 and more."""
        full = {"name": "full", "backward_time": 3, "mem_forward": 0.1}
        layers = ppsched.Layers([{"name": "decoder", "count": 36, "forward_time": 1, "backward_time": 2, "mem_forward": 1, "mem_static": 1,
                                  "recompute": [full]}])
        words = {"layers": layers, "strategies": ["interleaved_1f1b"], "chunks": [3], "runtime": "megatron"}
        plan = ppsched.plan(ppsched.Config(6, 20, mem_limit=24), **words)
        refused = {candidate.options["group_size"] for candidate in plan.listed if candidate.status == "refused"}
        fitting = {candidate.options["group_size"] for candidate in plan if candidate.fits}
        self.assertIn(6, refused)
        self.assertEqual(fitting, {candidate.options["group_size"] for candidate in plan if candidate.status != "refused"})
        self.assertGreater(sum(map(bool, plan.split(plan.best).recomputes)), 0)
        self.assertIn(" --recompute-granularity full", plan.schedule(plan.best).launch("megatron", model=plan.model(plan.best)))

    def test_searches_recompute_too(self):
        """Where they find no order for layers that keep all."""
        plan = ppsched.plan(ppsched.Config(4, 8, mem_limit=15), layers=ppsched.Layers(ROWS), strategies=["zb_auto", "zbv_auto", "v_half", "v_min"])
        for candidate in plan:
            self.assertTrue(candidate.fits, candidate)
            self.assertGreater(sum(plan.split(candidate).recomputes), 0)

    def test_microbatches_of_another_size(self):
        """As with layers of that size."""
        def resized(row, size):
            return {key: [resized(kind, size) for kind in value] if key == "recompute" else
                    value * size if key in ("forward_time", "backward_time", "mem_forward", "output_bytes") else value
                    for key, value in row.items()}
        for count in (4, 16):
            for limit in (16, 30, 40, 1000):
                one = ppsched.plan(ppsched.Config(4, 8, mem_limit=limit), layers=ppsched.Layers(ROWS), strategies=QUICK[1:], microbatches=count)
                other = ppsched.plan(ppsched.Config(4, count, mem_limit=limit), strategies=QUICK[1:],
                                     layers=ppsched.Layers([resized(row, 8 / count) for row in ROWS]))
                self.assertEqual([(row.strategy, row.chunks, row.status) for row in one], [(row.strategy, row.chunks, row.status) for row in other])
                self.assertAlmostEqual(one[0].step_time, other[0].step_time)
                self.assertEqual(one.split(one[0]), other.split(other[0]))

    def test_without_layers(self):
        plan = ppsched.plan(ppsched.Config(2, 4), strategies=["1f1b"])
        self.assertIsNone(plan.model(plan[0]))
        self.assertFalse(plan[0].proved)
        with self.assertRaisesRegex(ppsched.Error, "layers"):
            plan.split(plan[0])

    def test_nothing_fits(self):
        layers = ppsched.Layers(ROWS)
        plan = ppsched.plan(ppsched.Config(4, 8, mem_limit=5), layers=layers)
        self.assertIsNone(plan.best)
        limit = plan.least_limit().limit
        self.assertGreater(limit, 5)
        self.assertIsNotNone(ppsched.plan(ppsched.Config(4, 8, mem_limit=limit), layers=layers).best)

    def test_groups_that_are_tried(self):
        """With layers each group is a search: all of them, but of group_interleaved_1f1b none larger than those of D."""
        layers = ppsched.Layers([{"name": "decoder", "count": 10, "forward_time": 1, "backward_time": 2}])
        for strategy, wanted in (("group_interleaved_1f1b", set(range(1, 6))), ("interleaved_zb", set(range(2, 9)))):
            plan = ppsched.plan(ppsched.Config(5, 8), layers=layers, strategies=[strategy], chunks=[2])
            self.assertEqual({candidate.options["group_size"] for candidate in plan}, wanted)
            asked = ppsched.plan(ppsched.Config(5, 8), layers=layers, strategies=[strategy], chunks=[2], group_sizes=[4])
            self.assertEqual({candidate.options["group_size"] for candidate in asked}, {4})

    def test_empty_stages(self):
        layers = ppsched.Layers([{"name": "decoder", "count": 6, "forward_time": 1}])
        config = ppsched.Config(4, 8)
        full = ppsched.plan(config, layers=layers, strategies=["interleaved_1f1b"], chunks=[2])
        self.assertRegex(full[0].reason, "not 6; use at most 4 stages")
        empty = ppsched.plan(config, layers=layers, strategies=["interleaved_1f1b"], chunks=[2], empty_stages=True)
        counts = empty.split(empty.best).layers
        self.assertEqual((len(counts), sum(counts), min(counts)), (8, 6, 0))
        self.assertTrue(counts[0] and counts[-1])

    def test_split_effort(self):
        layers = ppsched.Layers([{"name": "decoder", "count": 24, "forward_time": 1, "mem_forward": 1, "recompute": [{"name": "full", "backward_time": 3, "mem_forward": 0.1}]},
                                 {"name": "head", "place": "last", "forward_time": 2.5}])
        config = ppsched.Config(4, 12, mem_limit=12)
        usual, short = (ppsched.plan(config, layers=layers, strategies=["zbv"], split_effort=effort).best.step_time for effort in (3, 1))
        self.assertLessEqual(usual, short)
        self.assertEqual(usual, ppsched.plan(config, layers=layers, strategies=["zbv"]).best.step_time)
        for given, text in ((dict(layers=layers, split_effort=5), "split_effort is 5; it must be 1 to 4, or 0"), (dict(split_effort=1), "split_effort needs layers")):
            with self.assertRaises((ppsched.Error, ValueError)) as refused:
                ppsched.plan(config, **given)
            self.assertIn(text, str(refused.exception))

    def test_launch(self):
        layers = ppsched.Layers(ROWS)
        model = ppsched.LayerSplit(layers, ppsched.Split([4, 4, 3, 3], [0] * 14))
        config = ppsched.config_from_layers(ppsched.Config(4, 8), *model)
        line = ppsched.generate("1f1b", config).launch("megatron", model=model, micro_batch=2, data_parallel=3)
        self.assertIn("--micro-batch-size 2 --global-batch-size 48", line)
        self.assertIn("--pipeline-model-parallel-layout 'Et*3|t*4|t*3|ttL'", line)
        with self.assertRaisesRegex(ppsched.Error, "micro_batch is -1"):
            ppsched.generate("1f1b", config).launch("megatron", micro_batch=-1)
        with self.assertRaises(ppsched.Error):
            ppsched.generate("1f1b", ppsched.Config(2, 8)).launch("megatron", model=model)


# --- the command ---

    def test_rows_instead_of_layers(self):
        rows = [{"name": "decoder", "count": 8}]
        self.assertEqual(ppsched.plan(ppsched.Config(4, 8), layers=rows, strategies="1f1b").best.step_time,
                         ppsched.plan(ppsched.Config(4, 8), layers=ppsched.Layers(rows), strategies="1f1b").best.step_time)
        with self.assertRaisesRegex(ppsched.Error, "count is 0; it must be 1 or more"):
            ppsched.plan(ppsched.Config(4, 8), layers=[{"name": "decoder", "count": 0}])


class PickTest(FolderTest):
    def test_rows(self):
        row = self.pick("-c", "model.json", *QUICK)
        self.assertEqual(set(row["launch"]), set(RUNTIME_NAMES))
        self.assertEqual([stage["stage"] for stage in row["split"]], list(range(row["stages"])))
        for stage in row["split"]:
            self.assertEqual(set(stage), {"stage", "layers", "recompute"})
        self.assertEqual(sum(stage["layers"].get("decoder", 0) for stage in row["split"]), 12)
        self.assertEqual((row["split"][0]["layers"]["embedding"], row["split"][-1]["layers"]["head"]), (1, 1))
        self.assertLessEqual(set(row["runs_on"]), set(RUNTIME_NAMES))
        self.assertIn("proved", row)
        parts = row["module_fqns_per_model_part"]
        self.assertEqual([name for part in parts for name in part],
                         ["tok_embeddings", *(f"layers.{layer}" for layer in range(12)), "norm", "lm_head"])
        self.assertEqual([sum(name.startswith("layers.") for name in part) for part in parts],
                         [stage["layers"].get("decoder", 0) for stage in row["split"]])
        self.assertNotIn("split", self.pick("-s", 2, "-b", 4, "--strategies", "1f1b"))

    def test_ways_to_give_layers(self):
        rows = [self.pick("-c", "model.json", *QUICK)]
        sizes = ("--num-devices", 4, "-b", 8, *QUICK)
        rows += [self.pick(*sizes, "--layers", given) for given in ("layers.json", "model.json", json.dumps(ROWS), json.dumps(PROBLEM))]
        if HAS_YAML:
            self.write("layers.yaml", "layers: " + json.dumps(ROWS))
            rows.append(self.pick(*sizes, "--layers", "layers.yaml"))
        for row in rows:
            self.assertEqual({**row, "command": ""}, {**rows[0], "command": ""})

    def test_equal_layers(self):
        """--num-layers is the same as a list of them."""
        rows = [{"name": "embedding", "place": "first", "forward_time": 0.2, "backward_time": 0.1},
                {"name": "decoder", "count": 10, "forward_time": 1.5, "backward_time": 2.5, "mem_forward": 2, "output_bytes": 3},
                {"name": "head", "place": "last", "forward_time": 2.4, "backward_time": 4.8}]
        sizes = ("--num-devices", 4, "-b", 8, *QUICK)
        one = self.pick(*sizes, "--layers", json.dumps(rows))
        other = self.pick(*sizes, "--num-layers", 10, "-f", 1.5, "-bw", 2.5, "--mem-forward", 2, "--activation-bytes", 3,
                          "--embedding", "forward_time=0.2", "backward_time=0.1", "--head", "forward_time=2.4", "backward_time=4.8")
        self.assertEqual({**one, "command": ""}, {**other, "command": ""})
        self.write("equal.json", {"num_devices": 4, "num_batches": 8, "num_layers": 10, "forward_times": 1.5, "backward_times": 2.5,
                                  "mem_forward": 2, "activation_bytes": 3, "embedding": {"forward_time": 0.2, "backward_time": 0.1},
                                  "head": {"forward_time": 2.4, "backward_time": 4.8}})
        self.assertEqual({**self.pick("-c", "equal.json", *QUICK), "command": ""}, {**other, "command": ""})

    def test_ends_without_a_backward(self):
        """An end of which no backward time is told has none, whatever else is told; one is enough to have it."""
        sizes = ("--num-devices", 2, "-b", 4, *QUICK)
        decoders = {"name": "decoder", "count": 4, "forward_time": 1, "backward_time": 2, "mem_forward": 1}
        for told, row in ((("forward_time=2", "mem_static=1"), {"forward_time": 2, "backward_time": 0, "mem_static": 1}),
                          (("forward_time=2", "mem_forward=1"), {"forward_time": 2, "backward_time": 0, "mem_forward": 1}),
                          (("forward_time=2", "backward_time=3"), {"forward_time": 2, "backward_time": 3}),
                          (("forward_time=2", "backward_input_time=1", "backward_weight_time=3"),
                           {"forward_time": 2, "backward_input_time": 1, "backward_weight_time": 3})):
            other = self.pick(*sizes, "--layers", json.dumps([decoders, {"name": "head", "place": "last", **row}]))
            one = self.pick(*sizes, "--num-layers", 4, "-f", 1, "-bw", 2, "--mem-forward", 1, "--head", *told)
            self.assertEqual({**one, "command": ""}, {**other, "command": ""}, told)

    def expect_again(self, *words):
        row = self.pick(*words)
        (command,) = re.findall("^ppsched schedule .*$", self.succeed("pick", *words), flags=re.M)
        self.assertEqual(command, row["command"])
        again = json.loads(self.succeed(*shlex.split(command)[1:], "--format", "json"))
        self.assertEqual((again["strategy"], again["stages"], again["microbatches"], again["metrics"]["makespan"],
                          max(again["metrics"]["peak_memory"])),
                         (row["strategy"], row["stages"], row["microbatches"], row["makespan"], row["peak_memory"]), command)
        return row

    def test_the_printed_command_builds_it_again(self):
        self.expect_again("-c", "model.json")
        self.expect_again("-c", "model.json", "--mem-limit", 20)
        self.assertTrue(any(stage["recompute"] for stage in self.expect_again("-c", "model.json", "--mem-limit", 16, *QUICK)["split"]))
        self.expect_again("-c", "model.json", "--mem-limit", 30, 24, 24, 30, *QUICK)
        self.expect_again("--num-devices", 4, "-b", 8, "--layers", "layers.json", "--p2p-time", 0.1, *QUICK)
        self.expect_again("--num-devices", 2, "-b", 6, "--layers", json.dumps(ROWS), "--strategies", "zb_auto")
        self.expect_again("--num-devices", 4, "-b", 8, "--num-layers", 13, "--head", "forward_time=1.4", "backward_time=2.8",
                          "--mem-static", 0.5, "--embedding", "mem_static=2")
        self.expect_again("--num-devices", 4, "-b", 8, "--num-layers", 6, "--chunks", 2, "--empty-stages", "--strategies", "interleaved_1f1b")
        self.expect_again("--num-devices", 4, "-s", 8, "-b", 8, "--num-layers", 12, "-f", 0.3, "--mem-limits", 11, *QUICK)
        self.expect_again("-c", "model.json", "--iterations", 2, "--objective", "span", *QUICK)
        self.expect_again("-c", "model.json", "--lower", "by_time", "--strategies", "zb_h1")
        self.expect_again("-c", "model.json", "--effort", 1, "--strategies", "auto", "--chunks", 1)

    def test_again_with_microbatch_counts(self):
        for count in (4, 16):
            row = self.expect_again("-c", "model.json", "--microbatch-counts", count, *QUICK)
            self.assertEqual(row["microbatches"], count)
            self.expect_again("-c", "model.json", "--mem-limit", 40, "--microbatch-counts", count, *QUICK)

    def test_again_where_a_file_has_more(self):
        self.write("more.json", {**PROBLEM, "chunks": [1, 2, 3], "strategies": ["zb_h1", "interleaved_1f1b"], "mem_limits": [40]})
        self.expect_again("-c", "more.json")
        self.write("options.json", {**PROBLEM, "strategy": "interleaved_1f1b", "options": {"group_size": 4}})
        row = self.expect_again("-c", "options.json", *QUICK)
        self.assertIn("--layers '[{", row["command"])

    def test_again_for_each_runtime(self):
        for runtime in RUNTIME_NAMES:
            limit = () if runtime in ("mindspeed", "sail") else ("--mem-limit", 34)
            rows = ROWS if runtime != "mindspeed" else [EMBEDDING, {**DECODER, "count": 16}, HEAD]
            self.write("own.json", {**PROBLEM, "layers": rows})
            row = self.expect_again("-c", "own.json", "--runtime", runtime, *limit)
            self.assertIn(runtime, [*row["runs_on"], *row["runs_alike_on"]])
            self.assertIsNotNone(row["launch"][runtime]["line"], row["launch"][runtime]["reason"])

    def test_the_package_makes_the_same_words(self):
        layers = ppsched.Layers(ROWS)
        config = ppsched.Config(4, 8, forward_times=[9, 9, 9, 9], gradient_bytes=3, mem_limit=16, p2p_time=0.1)
        plan = ppsched.plan(config, layers=layers, strategies=["zb_h1", "1f1b"])
        again = json.loads(self.succeed(*plan.command(plan.best)[1:], "--format", "json"))
        self.assertEqual((again["metrics"]["makespan"], max(again["metrics"]["peak_memory"])), (plan.best.makespan, plan.best.peak_memory))

    def test_files(self):
        words = ("pick", "-c", "model.json", "--strategies", "zb_h1", "-o")
        for name in ("best.csv", "best.trace.json"):
            self.assertIn("ppsched schedule", self.succeed(*words, name))
        self.assertEqual(ppsched.Schedule.read("best.csv").check(), [])
        for name in ("best.json", "best.html", "best.txt"):
            self.assertEqual(self.succeed(*words, name), self.succeed(*words[:-1]))
        (row,) = json.loads(pathlib.Path("best.json").read_text(encoding="utf-8"))
        self.assertEqual(row, self.pick(*words[1:-1]))
        self.assertIn("zb_h1", pathlib.Path("best.html").read_text(encoding="utf-8"))
        (row,) = json.loads(self.succeed(*words, "best.csv", "--json"))
        self.assertIn("best.csv", row["launch"]["torchtitan"]["line"])

    @unittest.skipUnless(HAS_MATPLOTLIB, "matplotlib is not installed")
    def test_picture(self):
        self.succeed("pick", "-c", "model.json", "--strategies", "zb_h1", "-o", "best.png")
        self.assertTrue(pathlib.Path("best.png").read_bytes().startswith(b"\x89PNG"))

    def test_one_file_for_all(self):
        """What a split, a runtime and a batch are told with on the command line, a file tells too; the line goes over it."""
        job = {**PROBLEM, "split": [4, 4, 3, 3], "recompute": ["1-2:full", "4:full", "8:full"], "micro_batch_size": 2, "data_parallel_size": 3,
               "runtime": "megatron", "empty_stages": True}
        words = ["--split", 4, 4, 3, 3, "--recompute", "1-2:full", "4:full", "8:full"]
        self.write("job.json", job)
        self.assertEqual(self.succeed("schedule", "-c", "job.json"), self.succeed("schedule", "-c", "model.json", *words))
        words = [*words[:5], "--micro-batch-size", 2, "--data-parallel-size", 3]
        self.write("job.json", {**job, "recompute": []})
        line = self.succeed("schedule", "-c", "job.json", "--launch", "megatron")
        self.assertEqual(line, self.succeed("schedule", "-c", "model.json", *words, "--launch", "megatron"))
        self.assertIn("--global-batch-size 48", line)
        self.assertIn("--global-batch-size 16", self.succeed("schedule", "-c", "job.json", "--data-parallel-size", 1, "--launch", "megatron"))
        picked = self.pick("-c", "job.json", *QUICK)
        self.assertEqual(picked, {**self.pick("-c", "model.json", *QUICK, *words[5:], "--runtime", "megatron", "--empty-stages"),
                                  "command": picked["command"]})
        self.assertIn("megatron", picked["runs_on"])
        again = json.loads(self.succeed(*shlex.split(picked["command"])[1:], "--format", "json"))
        self.assertEqual(again["metrics"]["makespan"], picked["makespan"])
        self.assertIn("megatron", self.succeed("compare", "-c", "job.json", *QUICK))

    def test_a_schedule_for_a_runtime(self):
        """Its rules for splits, and what it cannot run; a file's runtime is for splits alone, as it goes with all commands."""
        words = ("schedule", "--num-layers", 16, "--num-devices", 4, "-b", 8, "--head", "forward_time=4", "--strategy", "1f1b", "--format", "json")
        even, free, asked = (json.loads(self.succeed(*words, *more))["metrics"]["makespan"]
                             for more in (("--split", 4, 4, 4, 5), (), ("--runtime", "sail")))
        self.assertLess(free, even)
        self.assertEqual(asked, even)
        words = ("schedule", "--num-layers", 13, "--num-devices", 4, "-b", 8, "--strategy")
        self.fail_with(1, "sail-sg's runtime divides decoders evenly, and 13 cannot be divided by 4 stages; 12 or 16 can", *words, "1f1b", "--runtime", "sail")
        self.fail_with(1, "Megatron-LM runs 1F1B orders", *words, "zbv", "--split", 2, 1, 1, 2, 2, 2, 1, 2, "--runtime", "megatron")
        self.fail_with(1, "Megatron-LM runs 1F1B orders", "schedule", "--strategy", "zbv", "--num-devices", 4, "-s", 8, "-b", 8, "--runtime", "megatron")
        self.fail_with(1, "ppsched schedule: 1f1b: needs 1 stage per device, not 20 stages on 4 devices", *words, "1f1b", "--chunks", 5)
        for strategy, stages in (("1f1b", 4), ("interleaved_1f1b", 8)):
            words = ("schedule", "--strategy", strategy, "--num-devices", 4, "-s", stages, "-b", 8)
            self.assertEqual(self.succeed(*words, "--runtime", "megatron"), self.succeed(*words))
        self.write("own.json", {"runtime": "megatron"})
        self.succeed("schedule", "--strategy", "zbv", "--num-devices", 4, "-s", 8, "-b", 8, "-c", "own.json")

    def test_what_a_file_says_wrongly(self):
        for key, value, part in (("split", [4, "4", 3, 3], "split must be a list of numbers of layers"), ("split", 4, "split must be a list"),
                                 ("recompute", [1], "recompute must be a list of texts"), ("micro_batch_size", 0, "micro_batch_size is 0"),
                                 ("data_parallel_size", -2, "it must be 1 or more"), ("runtime", "megatorn", "did you mean megatron?"),
                                 ("empty_stages", 1, "empty_stages must be true or false")):
            self.write("job.json", {**PROBLEM, key: value})
            self.fail_with(1, part, "schedule", "-c", "job.json")
            self.fail_with(1, part, "compare", "-c", "job.json")

    def test_splits_in_tables(self):
        words = ("compare", "-c", "model.json", *QUICK, "--mem-limit", 14, "--chunks", 1)
        first = re.search(r"\n +1  (.*)\n(?: {7}.*\n)*? {7}split: .*", self.succeed(*words))[1]
        rows = json.loads(self.succeed(*words, "--json"))
        table = list(csv.DictReader(io.StringIO(self.succeed(*words, "-o", "t.csv") or pathlib.Path("t.csv").read_text(encoding="utf-8"))))
        for row, cells in zip(rows, table, strict=True):
            counts = [sum(stage["layers"].values()) for stage in row["split"] or []]
            self.assertEqual(cells["split"], " ".join(map(str, counts)))
            if row["status"] == "refused":
                self.assertEqual((row["strategy"], "needs 2 stages per device" in row["reason"]), ("zbv", True))
                continue
            again = self.succeed("schedule", "-c", "model.json", "--strategy", cells["strategy"], "--mem-limit", 99, "--split", *counts,
                                 *(["--recompute", *cells["recompute"].split()] if cells["recompute"] else []), "--format", "json")
            self.assertEqual(json.loads(again)["metrics"]["makespan"], row["makespan"])
        self.assertIn(rows[0]["strategy"], first)

    def test_what_is_proved_is_told(self):
        """Above its bound, beside the gap; at its bound there is nothing to add."""
        words = ("compare", "--num-devices", 4, "-b", 8, "--num-layers", 9, "--head", "forward_time=2", *QUICK, "zbv_auto", "--chunks", 1, 2)
        rows = json.loads(self.succeed(*words, "--json"))
        proved = {row["strategy"]: row["proved"] and row["step_time"] > 1.001 * row["bound"] for row in rows[::-1] if row["status"] == "fits"}
        told = {name: ", proved" in line for name in proved for line in self.succeed(*words).splitlines() if f" {name} " in line}
        self.assertEqual(told, proved)
        self.assertEqual(set(proved.values()), {True, False})

    def test_a_distance_of_its_own(self):
        """Of group_interleaved_1f1b, where the best split does not lead to the order that it was found with."""
        words = ("--num-devices", 2, "-b", 3, "--num-layers", 8, "-f", 5, "-bw", 2, "--mem-limit", 5, "--strategies", "group_interleaved_1f1b", "--chunks", 3)
        row = self.pick(*words)
        self.assertEqual(row["options"], {"group_size": 1, "min_group_size": 1})
        self.assertLessEqual(row["makespan"], 127)  # which --split 1 1 1 3 1 1 takes with an order of its own
        self.assertEqual(json.loads(self.succeed(*shlex.split(row["command"])[1:], "--format", "json"))["metrics"]["makespan"], row["makespan"])
        self.assertIn("(group_size 1, min_group_size 1), of ideal ", self.succeed("compare", *words))
        one = ("schedule", *words[:-4], "--strategy", "group_interleaved_1f1b", "--set", "group_size=1", "--chunks", 3, "--format", "json")
        self.assertEqual(json.loads(self.succeed(*one))["metrics"]["makespan"], row["makespan"])
        self.fail_with(1, "no candidate fits", *one, "--set", "min_group_size=2")  # the caller's own stays

    def test_small_rules(self):
        layers = ppsched.Layers(ROWS)
        self.assertEqual(layers.rows(ppsched.Split([4, 4, 3, 3], [])), layers.rows(ppsched.Split([4, 4, 3, 3], [0] * 14)))
        words = ("--num-devices", 4, "-b", 8, "--num-layers", 8, "--strategies", "1f1b")
        both = self.pick(*words, "--head", "forward_time=2", "--head", "backward_time=3")
        self.assertEqual(both, self.pick(*words, "--head", "forward_time=2", "backward_time=3"))
        self.fail_with(2, "-o x.trace.json: compare writes no traces", "compare", *words, "-o", "x.trace.json")
        self.fail_with(1, "split: stages 0 to 14 have 15 layers; the model has 14", "schedule", "-c", "model.json", "--split", *[1] * 16)
        self.fail_with(1, "--recompute 10-99:full: there are layers 0 to 13", "schedule", "-c", "model.json", "--split", 4, 4, 3, 3, "--recompute", "10-99:full")

    def test_bounds(self):
        """The way of one microbatch over 16 layers, the head and 3 links, and back; weight gradients may wait."""
        words = ("--num-devices", 4, "--num-layers", 16, "--strategies", "1f1b", "zb_h1")
        one = self.pick(*words, "-b", 1, "--head", "forward_time=1")
        self.assertEqual(one["bound"], 16 * 2 + 1)
        self.assertGreaterEqual(one["step_time"], one["bound"])
        far = self.pick(*words, "-b", 8, "--p2p-time", 100, "--head", "forward_time=3")
        self.assertEqual(far["bound"], 6 * 100 + 16 * 2 + 3)
        self.assertGreaterEqual(far["step_time"], far["bound"])

    def test_so_many_microbatches(self):
        """No plans for each runtime, which would take minutes."""
        words, told = ("pick", "-c", "model.json", *QUICK), "the best candidate of this plan for each runtime, because a plan for each runtime would take long with so many microbatches"
        self.assertNotIn(told, self.succeed(*words))
        with unittest.mock.patch("ppsched.command.each_runtime.MOST_FORWARDS", 100):
            self.assertIn(told, self.succeed(*words))

    def test_ends_by_their_names(self):
        """An embedding at the begin and a head at the end need no place; elsewhere they are layers like others."""
        without = [{key: value for key, value in row.items() if key != "place"} for row in ROWS]
        split = ppsched.Split([4, 4, 3, 3], [0] * 14)
        lines = []
        for rows in (ROWS, without, without[::-1]):
            model = ppsched.LayerSplit(ppsched.Layers(rows), split)
            config = ppsched.config_from_layers(ppsched.Config(devices=4, microbatches=8), *model)
            lines.append(ppsched.generate("1f1b", config).launch("megatron", model=model))
        self.assertEqual(lines[0], lines[1])
        self.assertIn("--num-layers 12 ", lines[1])
        self.assertIn("--num-layers 14 ", lines[2])

    def test_compare(self):
        words = ("compare", "-c", "model.json", *QUICK)
        rows = json.loads(self.succeed(*words, "--json"))
        self.assertEqual({row["strategy"] for row in rows}, set(QUICK[1:]))
        self.assertEqual({row["chunks"] for row in rows if row["strategy"] == "interleaved_1f1b"}, {1, 2, 3})
        self.assertIn("above bound", self.succeed(*words))
        self.assertEqual(self.succeed(*words, "-o", "table.csv"), "")
        table = list(csv.DictReader(io.StringIO(pathlib.Path("table.csv").read_text(encoding="utf-8"))))
        self.assertEqual([row["strategy"] for row in table], [row["strategy"] for row in rows])
        self.assertEqual(table[0]["proved"], str(rows[0]["proved"]).lower())
        self.assertEqual(self.succeed(*words, "-o", "page.html"), "")
        self.assertEqual({row["strategy"] for row in json.loads(self.succeed(*words, "--runtime", "deepspeed", "--json"))}, {"1f1b"})

    def test_a_winner_that_none_runs(self):
        """What each runtime runs in its place, of its own plan where it runs nothing of that for none; and why one runs nothing."""
        text = self.succeed("pick", "-c", "model.json", "--strategies", "dualpipe", "zb_h1", "--any")
        self.assertRegex(text, r"\nbest candidate that .*torchtitan, pytorch.* can run: zb_h1, V = 1, .*\n    ppsched schedule --strategy zb_h1 .*--split ")
        self.assertRegex(text, r"\ndeepspeed: dualpipe: .*; zb_h1: DeepSpeed runs 1F1B orders: .*\n")
        text = self.succeed("pick", "-c", "model.json", "--strategies", "dualpipe")
        self.assertIn("\nno runtime can run the only candidate that fits\n", text)
        for name in RUNTIME_NAMES:
            self.assertRegex(text, rf"\n{name}: dualpipe: ")

    def test_the_best_for_each_runtime(self):
        """Also where the best runs somewhere; of runtimes that do not run it, what a plan for them alone finds, if that is better."""
        words = ("pick", "-c", "model.json", "--strategies", "zb_h1", "1f1b", "interleaved_1f1b", "--chunks", 1, 2, "--mem-limit", 10)
        heading, *rows = re.search(r" step\n(best for each runtime(?:.*\n)+?)ppsched", self.succeed(*words))[1].splitlines()
        self.assertEqual(heading.split()[4:], ["strategy", "V", "time"])
        best, own, shorter = {}, [], []
        for row in json.loads(self.succeed("compare", *words[1:], "--json")):
            for name in row["runs_on"]:
                best.setdefault(name, row["step_time"])
        first, reasons = min(best.values()), {}
        for name in RUNTIME_NAMES:
            if name in best:  # what is planned for one alone is no worse
                alone = self.pick(*words[1:], "--runtime", name)["step_time"]
                self.assertLessEqual(alone, best[name] * (1 + 1e-9), name)
                if best[name] > first and alone < best[name]:
                    best[name] = alone
                    shorter.append(name)
                continue
            code, output, errors = self.run_here(*words, "--runtime", name, "--json")
            own.append(name)
            if code == 0:
                best[name] = json.loads(output)[0]["step_time"]
            else:
                reasons[name] = errors.removeprefix("ppsched pick: ").removeprefix(f"no candidate that fits runs on {name}; ").strip()
        self.assertTrue(shorter)
        *table, hint = rows
        table, told = table[:-len(reasons)], table[-len(reasons):]
        found = [re.split(r"  +", row) for row in table]
        self.assertEqual({name: float(row[3]) for row in found for name in row[0].split()}, {name: float(f"{time:.6g}") for name, time in best.items()})
        self.assertEqual([float(row[3]) for row in found], sorted(float(row[3]) for row in found))
        self.assertEqual(told, [f"{name}: {reason}" for name, reason in reasons.items()])
        self.assertGreater(len(own), len(reasons))
        self.assertIn("mindspeed", reasons)
        self.assertEqual(hint, "--runtime NAME plans for one runtime, and prints its launch arguments")
        self.assertNotIn("best for", self.succeed(*words, "--runtime", "megatron"))

    def test_stages_say_how_many_a_device_has(self):
        words = ("pick", "--num-devices", 4, "-b", 8, "--num-layers", 16, "--strategies", "interleaved_1f1b")
        for stages, chunks in ((8, 2), (12, 3)):
            self.assertEqual({row["chunks"] for row in json.loads(self.succeed(*words, "-s", stages, "--top", 9, "--json"))}, {chunks})
        self.fail_with(2, "--stages 6 is not a multiple of 4 devices; give 4 or 8", *words, "-s", 6)
        self.fail_with(2, "--stages 8 on 4 devices are 2 per device, but --chunks has other numbers", *words, "-s", 8, "--chunks", 3)

    def test_the_row_of_a_candidate(self):
        """In Python as `pick --json` has it, but for the words of its command, where all numbers are written out."""
        printed = json.loads(self.succeed("pick", "-c", "model.json", *QUICK, "--micro-batch-size", 2, "--data-parallel-size", 3, "--json"))[0]
        data = json.loads(pathlib.Path("model.json").read_text(encoding="utf-8"))
        config = ppsched.Config(data["num_devices"], data["num_batches"], **({"mem_limit": data["mem_limit"]} if "mem_limit" in data else {}))
        plan = ppsched.plan(config, strategies=QUICK[1:], layers=data["layers"], runtimes=RUNTIME_NAMES)
        row = plan.row(plan.best, micro_batch=2, data_parallel=3)
        self.assertEqual({**row, "command": None}, {**printed, "command": None})
        self.assertIn("--split ", row["command"])
        self.assertIn("--micro-batch-size 2", row["command"])

    def test_empty_stages_for_a_runtime(self):
        """Where it takes them alone."""
        words = ("pick", "--num-devices", 4, "-b", 8, "--num-layers", 5, "--strategies", "interleaved_1f1b", "--chunks", 2, "--empty-stages")
        self.assertIn(" 0 ", self.succeed(*words, "--runtime", "megatron").split("--split ")[1])
        self.fail_with(1, "8 stages need 8 layers that can be separated, not 5; use at most 4 stages", *words, "--runtime", "primus")

    def test_none_for_a_runtime(self):
        self.fail_with(1, "no candidate that fits runs on deepspeed; zb_h1: ", "pick", "-c", "model.json", "--strategies", "zb_h1",
                       "--runtime", "deepspeed")
        self.fail_with(1, "12 cannot be divided by 8 stages", "pick", "-c", "model.json", "--runtime", "mindspeed")
        self.fail_with(1, "interleaved_1f1b, interleaved_1f1b_less_memory, zbv, v_1f1b and 3 others: sail-sg's runtime divides decoders evenly, and "
                       "12 cannot be divided by 8 stages; 8 or 16 can", "pick", "-c", "model.json", "--runtime", "sail", "--chunks", 2)
        self.fail_with(1, "no candidate fits; closest is ", "pick", "-c", "model.json", "--mem-limit", 5, "--runtime", "megatron")


class ScheduleTest(FolderTest):
    def test_split(self):
        words = ("schedule", "-c", "model.json", "--split", 4, 4, 4, 2, "--format", "json")
        plain = json.loads(self.succeed(*words))
        again = json.loads(self.succeed(*words, "--recompute", "1-3:full", "4:selective"))
        self.assertGreater(again["metrics"]["makespan"], plain["metrics"]["makespan"])
        self.assertLess(again["metrics"]["peak_memory"][0], plain["metrics"]["peak_memory"][0])
        eight = json.loads(self.succeed("schedule", "--strategy", "interleaved_1f1b", "-c", "model.json", "--split", 2, 2, 2, 2, 2, 1, 1, 2,
                                        "--format", "json"))
        self.assertEqual((eight["devices"], eight["stages"]), (4, 8))
        self.succeed("schedule", "-c", "model.json", "--split", 4, 8, 0, 2)

    def read_back(self, line, devices):
        """The decoders of each stage, as Megatron-LM's flags of a line tell."""
        words = shlex.split(line)
        flags, kept = iter(words), ["--pp", devices]
        for word in flags:
            if word in ("--num-layers", "--pipeline-model-parallel-layout", "--num-layers-per-virtual-pipeline-stage",
                        "--num-virtual-stages-per-pipeline-rank", "--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers",
                        "--mtp-num-layers"):
                kept += [word, next(flags)]
            elif word.startswith("--account-for-"):
                kept.append(word)
        if "--pipeline-model-parallel-layout" in kept and "--num-virtual-stages-per-pipeline-rank" in kept:
            place = kept.index("--num-virtual-stages-per-pipeline-rank")
            kept[place] = "--vp"
        ranks = json.loads(self.succeed("layout", *kept, "--json"))["ranks"]
        return [ranks[stage % devices][stage // devices][1] for stage in range(devices * len(ranks[0]))]

    def test_megatron_reads_the_same_split(self):
        for counts in ((4, 4, 4, 2), (4, 3, 3, 4), (5, 4, 4, 1), (1, 6, 6, 1), (13, 0, 0, 1), (1, 5, 6, 2), (8, 4, 1, 1), (2, 2, 2, 2, 1, 1, 2, 2), (1, 0, 3, 3, 0, 3, 3, 1)):
            strategy = "1f1b" if len(counts) == 4 else "interleaved_1f1b"
            line = self.succeed("schedule", "--strategy", strategy, "-c", "model.json", "--split", *counts, "--launch", "megatron")
            self.assertEqual(self.read_back(line, 4), [counts[0] - 1, *counts[1:-1], counts[-1] - 1], line)
        for layers, counts in ((8, (2, 2, 2, 2)), (9, (2, 2, 2, 3)), (11, (2, 3, 3, 3)), (12, (4, 2, 2, 4)), (9, (3, 0, 0, 6))):
            line = self.succeed("schedule", "--num-devices", 4, "-b", 8, "--num-layers", layers, "--split", *counts, "--launch", "megatron")
            self.assertEqual(self.read_back(line, 4), list(counts), line)

    def test_what_megatron_is_told_of_recomputation(self):
        words = ("schedule", "-c", "model.json", "--split", 4, 4, 3, 3, "--launch", "megatron", "--recompute")
        self.assertIn("--recompute-granularity full --recompute-method block", self.succeed(*words, "1-12:full"))
        self.assertIn("--recompute-granularity selective", self.succeed(*words, "1-12:selective"))
        self.fail_with(1, "not these", *words, "5:full")

    def test_batch(self):
        words = ("schedule", "-c", "model.json", "--split", 4, 4, 3, 3, "--launch")
        self.assertIn("--micro-batch-size 2 --global-batch-size 32", self.succeed(*words, "megatron", "--micro-batch-size", 2, "--data-parallel-size", 2))
        self.assertNotIn("batch-size", self.succeed(*words, "megatron"))
        row = self.pick("-c", "model.json", "--strategies", "1f1b", "--micro-batch-size", 2, "--data-parallel-size", 2, "--runtime", "megatron")
        self.assertIn("--global-batch-size 32", row["launch"]["megatron"]["line"])

    def test_a_layer_that_no_device_holds(self):
        pathlib.Path("large.json").write_text(json.dumps({"num_devices": 4, "num_batches": 8, "mem_limit": 10, "layers": [
            {"name": "decoder", "count": 8, "forward_time": 1, "mem_static": 11, "mem_forward": 1}]}))
        self.fail_with(1, "a layer decoder alone takes 12, and no device has more than 10; the least limit", "pick", "-c", "large.json")

    def test_split_that_is_found(self):
        words = ("schedule", "-c", "model.json", "--format", "json")
        for strategy, more in (("1f1b", ()), ("zbv", ()), ("interleaved_1f1b", ("--chunks", 3)), ("zb_auto", ())):
            row = self.pick("-c", "model.json", "--strategies", strategy, "--group-sizes", 4, *more)
            found = json.loads(self.succeed(*words, "--strategy", strategy, *more))
            self.assertEqual(found["metrics"]["makespan"], row["step_time"])
        line = self.succeed("schedule", "-c", "model.json", "--launch", "megatron")
        self.assertEqual(line, self.pick("-c", "model.json", "--strategies", "1f1b", "--runtime", "megatron")["launch"]["megatron"]["line"] + "\n")
        self.fail_with(1, "the least limit that works is", "schedule", "-c", "model.json", "--mem-limit", 1)

    def test_what_is_wrong(self):
        words = ("schedule", "-c", "model.json")
        for code, part, given in ((1, "its stages have 13 layers; the model has 14", ("--split", 4, 4, 4, 1)), (1, "the model has 14", ("--split", 4, 4, 4, 4)),
                                  (1, "--split has -2; each stage must have 0 or more layers", ("--split", 4, 4, 4, 4, -2)),
                                  (1, "stages", ("--split", 4, 4, 4, 1, 1)),
                                  (2, "both set the number of stages", ("--split", 4, 4, 4, 2, "--chunks", 2)),
                                  (2, "--recompute needs --split", ("--recompute", "1:full")),
                                  (1, "layer 1 has no kind 'ful'; it has selective, full", ("--split", 4, 4, 4, 2, "--recompute", "1:ful")),
                                  (1, "layer 0 has no kind 'full'; it has none", ("--split", 4, 4, 4, 2, "--recompute", "0:full")),
                                  (1, "there are layers 0 to 13", ("--split", 4, 4, 4, 2, "--recompute", "14-15:full")),
                                  (2, "1 is before 3", ("--split", 4, 4, 4, 2, "--recompute", "3-1:full")),
                                  (2, "such as 0-3:full", ("--split", 4, 4, 4, 2, "--recompute", "full")),
                                  (1, "a placement map has a fixed number of stages", ("--split", 4, 4, 4, 2, "--placement", 0, 1, 2, 3)),
                                  (2, "it must be 1 or more", ("--split", 4, 4, 4, 2, "--launch", "megatron", "--data-parallel-size", 0)),
                                  (1, "over its limit", ("--split", 4, 4, 4, 2, "--mem-limit", 5))):
            self.fail_with(code, part, *words, *given)
        self.fail_with(2, "--split needs --layers or --num-layers", "schedule", "-s", 2, "-b", 4, "--split", 1, 1)


class WordsTest(FolderTest):
    """What is wrong with layers, on every command that takes them."""

    def test_what_is_wrong_with_words(self):
        words = ("schedule", "-c", "model.json", "--split", 4, 4, 3, 3)
        self.fail_with(2, "--recompute 2:full: layer 2 has kind selective already; a layer has only one kind", *words, "--recompute", "1-3:selective", "2:full")
        self.fail_with(2, "-s 8: the split has 4 stages; leave -s out", *words, "-s", 8)
        self.fail_with(2, "ppsched schedule: unknown option --foo; ppsched schedule --help all lists them", *words, "--foo")
        self.fail_with(2, "--micro-batch-size 0: it must be 1 or more", *words, "--micro-batch-size", 0)

    def test_one_clear_line(self):
        self.write("broken.json", '[{"name": "d",')
        self.write("other.json", {"layer": []})
        self.write("costs.json", {**PROBLEM, "forward_times": 1})
        self.write("wrong.json", {**PROBLEM, "layers": {"name": "d"}})
        self.write("twice.json", '[{"name": "d", "name": "e"}]')
        sizes = ("--num-devices", 4, "-b", 8)
        for code, part, words in ((1, "broken.json, line 1, column 15: broken JSON", ("--layers", "broken.json")),
                                  (1, "--layers, line 1, column 15: broken JSON", ("--layers", '[{"name": "d",')),
                                  (1, 'there must be a list of layers, or a mapping with "layers"', ("--layers", "other.json")),
                                  (1, 'there must be a list of layers', ("--layers", '{"name": "d"}')),
                                  (1, "cannot read missing.json", ("--layers", "missing.json")),
                                  (1, "'name' occurs twice", ("--layers", "twice.json")),
                                  (1, "layers must be a list", ("-c", "wrong.json")),
                                  (1, "layer entry 0 must be a mapping", ("--layers", "[3]")),
                                  (1, "there are 0 layer entries", ("--layers", "[]")),
                                  (1, "no layer takes any time; give each a forward_time", ("--layers", '[{"name": "d", "count": 8}]')),
                                  (1, "layer entry 0 has no 'forward'", ("--layers", '[{"name": "d", "forward": 1}]')),
                                  (2, "forward_times: the list of layers has its own costs", ("-c", "costs.json")),
                                  (2, "forward_times: the list of layers has its own costs; this option works only with --num-layers", ("--layers", "layers.json", "-f", 1)),
                                  (2, "head: the list of layers has its own costs", ("--layers", "layers.json", "--head", "forward_time=1")),
                                  (2, "--layers, --num-layers: give one of them", ("--layers", "layers.json", "--num-layers", 3)),
                                  (2, "--num-layers 0: it must be 1 or more", ("--num-layers", 0)),
                                  (1, "forward_times has 2 values; --num-layers needs one value, because its layers are equal", ("--num-layers", 8, "-f", 1, 2)),
                                  (2, "gradient_bytes is a cost of stages; layers have none", ("--num-layers", 8, "--gradient-bytes", 2)),
                                  (2, "mem_optimizer is a cost of stages; layers have none; use mem_static and mem_forward of layers, and mem_other",
                                   ("--num-layers", 8, "--mem-optimizer", 2)),
                                  (2, "reduce_grad_times is a cost of stages; layers have none\n",
                                   ("--layers", "layers.json", "--reduce-grad-times", 2)),
                                  (2, "backward_input_share is a cost of stages; layers have none", ("--layers", "layers.json", "--backward-input-share", 0.3)),
                                  (2, "overlapped_times is a cost of stages; layers have none", ("--layers", "layers.json", "--overlapped-times", 3)),
                                  (2, "--empty-stages needs --layers or --num-layers", ("--empty-stages",)),
                                  (2, "--micro-batch-size -1: it must be 1 or more", ("--num-layers", 8, "--micro-batch-size", -1)),
                                  (1, "head has no 'time'", ("--num-layers", 8, "--head", "time=1")),
                                  (1, "not 3; use at most 3 devices", ("--num-layers", 3)),
                                  (1, "not 8; use at most 8 stages", ("--num-layers", 8, "--chunks", 3)),
                                  (1, "a placement map has a fixed number of stages", ("--num-layers", 8, "--placement", 0, 1, 2, 3))):
            self.fail_with(code, part, "pick", *sizes, *words)
        code, _, errors = self.run_here("compare", *sizes, "--num-layers", 3)
        self.assertEqual((code, errors.count("\n")), (1, 1))

    def test_by_the_module(self):
        """As people call it, in a process of its own."""
        result = subprocess.run([sys.executable, "-m", "ppsched", "pick", "-c", "model.json", "--strategies", "1f1b", "--quiet"], capture_output=True,
                                text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        command, line = result.stdout.splitlines()[-2:]
        self.assertRegex(command, r"^ppsched schedule --strategy 1f1b .*-c model.json --split( \d+){4}$")
        self.assertRegex(line, "^megatron: --pipeline-model-parallel-size 4 --num-layers 12 ")


if __name__ == "__main__":
    unittest.main()
