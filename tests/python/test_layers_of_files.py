# SPDX-License-Identifier: Apache-2.0
"""Convert with models by their layers: figures and lines are those of schedule."""
import json
import shlex
import unittest

from test_layers import FULL, HEAD, ROWS, SELECTIVE, FolderTest

UNITS = [{"name": "decoder", "count": 7, "forward_time": "2ms", "mem_forward": "1.5GB", "mem_static": "100MB"},
         {"name": "head", "forward_time": "3000us", "backward_time": "5ms", "mem_forward": "0.5GB"}]


class ConvertTest(FolderTest):
    def expect_same(self, *words):
        """Words of the problem: from the CSV come the same times and peaks as from schedule."""
        self.succeed("schedule", *words, "-o", "order.csv")
        again = [word for pair in zip(words[::2], words[1::2]) for word in pair if pair[0] not in ("--strategy", "--num-devices", "-b")]
        made, read = (json.loads(self.succeed(*command)) for command in (("schedule", *words, "--format", "json"),
                                                                         ("convert", "order.csv", "--to", "json", *again)))
        for key in ("queues", "metrics", "units", "devices", "stages"):
            self.assertEqual(made[key], read[key], key)
        return made

    def test_figures(self):
        self.write("all.json", {"num_devices": 4, "num_batches": 8, "strategy": "interleaved_1f1b", "options": {"group_size": 4},
                                "layers": [{"name": "decoder", "count": 15, "forward_time": 1, "mem_forward": 1}, {"name": "head", "forward_time": 2}],
                                "split": [2] * 8, "mem_limit": 30, "runtime": "megatron", "micro_batch_size": 2, "data_parallel_size": 2})
        self.assertEqual(self.expect_same("-c", "all.json")["metrics"]["makespan"], 138)
        line = self.succeed("schedule", "-c", "all.json", "--launch", "megatron")
        self.assertIn("--num-layers 15", line)
        self.assertEqual(self.succeed("convert", "order.csv", "--launch", "megatron", "-c", "all.json"), line)

    def test_units(self):
        self.write("units.json", {"num_devices": 2, "num_batches": 4, "layers": UNITS, "split": [4, 4], "mem_limit": "40GB"})
        made = self.expect_same("-c", "units.json")
        self.assertEqual(made["units"], {"time": "ms", "memory": "GB", "bytes": None})
        self.assertIn("ms", self.succeed("convert", "order.csv", "--to", "text", "-c", "units.json"))

    def test_recomputed(self):
        self.write("split.json", {"num_devices": 4, "num_batches": 8, "layers": ROWS, "split": [4, 4, 4, 2], "recompute": ["1-2:full", "5:selective"]})
        made = self.expect_same("-c", "split.json")
        self.succeed("convert", "order.csv", "--to", "text", "-c", "split.json", "--split", *[3, 4, 4, 3])
        plain = json.loads(self.succeed("convert", "order.csv", "--to", "json", "-c", "split.json", "--split", 4, 4, 4, 2))
        self.assertNotEqual(plain["metrics"], made["metrics"])
        self.assertEqual((SELECTIVE["name"], FULL["name"]), ("selective", "full"))

    def test_words(self):
        """Without a file, with equal layers and ends."""
        problem = ("--num-layers", 8, "-f", 2, "--mem-forward", 3, "--head", "forward_time=1")
        split = ("--split", 3, 2, 2, 2)
        self.succeed("schedule", "--num-devices", 4, "-b", 8, *problem, *split, "-o", "order.csv")
        made = self.succeed("schedule", "--num-devices", 4, "-b", 8, *problem, *split).splitlines()[0]
        read = self.succeed("convert", "order.csv", "--to", "text", *problem, *split).splitlines()[0]
        self.assertEqual(made.partition(": ")[2], read.partition(": ")[2])
        line = self.succeed("convert", "order.csv", "--launch", "deepspeed", *problem, *split)
        self.assertEqual(line, self.succeed("schedule", "--num-devices", 4, "-b", 8, *problem, *split, "--launch", "deepspeed"))
        self.assertIn("parts=", line)

    def test_what_pick_chose(self):
        """Its command states the split, with which its CSV has the same time."""
        row = self.pick("-c", "model.json", "--strategies", "interleaved_1f1b", "--mem-limit", 20, "--chunks", 2)
        self.succeed("pick", "-c", "model.json", "--strategies", "interleaved_1f1b", "--mem-limit", 20, "--chunks", 2, "-o", "best.csv")
        words = shlex.split(row["command"])
        read = json.loads(self.succeed("convert", "best.csv", "--to", "json", "-c", "model.json", *words[words.index("--split"):]))
        self.assertEqual((read["metrics"]["makespan"], max(read["metrics"]["peak_memory"])), (row["makespan"], row["peak_memory"]))

    def test_what_is_refused(self):
        self.succeed("schedule", "-s", 4, "-b", 8, "-o", "order.csv")
        for words in (("--to", "text"), ("--to", "json"), ("-o", "a.trace.json"), ("--launch", "deepspeed")):
            self.fail_with(1, "model.json: layers: order.csv does not say which stage they are in; give --split", "convert", "order.csv",
                           *words, "-c", "model.json")
        self.fail_with(1, "the split has 3 stages, but order.csv has 4", "convert", "order.csv", "--to", "text", "-c", "model.json", "--split", 5, 5, 4)
        self.fail_with(1, "its stages have 13 layers; the model has 14", "convert", "order.csv", "--to", "text", "-c", "model.json", "--split", 5, 5, 2, 1)
        self.fail_with(2, "--recompute needs --split", "convert", "order.csv", "--to", "text", "-c", "model.json", "--recompute", "0:full")
        self.fail_with(2, "--split needs --layers or --num-layers", "convert", "order.csv", "--to", "text", "--split", 1, 1, 1, 1)

    def test_orders_alone_need_no_split(self):
        self.succeed("schedule", "-s", 4, "-b", 8, "-o", "order.csv")
        for format in (("--to", "csv"), ("--to", "megatron"), ("--to", "json", "--no-times")):
            self.assertEqual(self.succeed("convert", "order.csv", *format, "-c", "model.json"), self.succeed("convert", "order.csv", *format))

    def test_numbers_of_layers_for_lines(self):
        """Of the order in a file no split is known: a number alone is for the line, also that of a config file."""
        self.succeed("schedule", "--strategy", "interleaved_1f1b", "--num-devices", 2, "-s", 6, "-b", 4, "-o", "order.csv")
        line = self.succeed("convert", "order.csv", "--launch", "torchtitan", "--num-layers", 16)
        self.assertIn("--parallelism.pipeline_parallel_layers_per_stage 3 ", line)
        self.write("number.json", {"num_layers": 16})
        self.assertEqual(self.succeed("convert", "order.csv", "--launch", "torchtitan", "-c", "number.json"), line)
        self.fail_with(1, "number.json: num_layers: order.csv does not say", "convert", "order.csv", "--to", "text", "-c", "number.json")


class LaunchTest(FolderTest):
    def test_layers_make_the_stages(self):
        """The same problem with --launch and without it: the strategy's own stages, and the split that the line tells."""
        words = ("schedule", "--strategy", "zbv", "--num-devices", 4, "-b", 16, "--num-layers", 16)
        made = json.loads(self.succeed(*words, "--format", "json"))
        stages = json.loads(self.succeed(*words[:-2], "-s", 8, "-f", 2, "-bw", 4, "--format", "json"))
        self.assertEqual((made["stages"], made["metrics"]), (8, {**stages["metrics"], "peak_memory": [2 * peak for peak in stages["metrics"]["peak_memory"]]}))
        self.assertEqual(self.succeed(*words, "--launch", "colossalai"),
                         "pp_size=4 pp_style=zbv num_model_chunks=2 num_microbatches=16 scheduler_nodes=schedule.csv\n")
        code, line, note = self.run_here(*words, "--launch", "pytorch")
        self.assertEqual(code, 0)
        self.assertIn("layers_per_stage=2,2,2,2,2,2,2,2\n", line)
        self.assertIn("note: run without validation", note)

    def test_costs_of_layers_and_ends(self):
        line = self.succeed("schedule", "--num-devices", 4, "-b", 8, "--num-layers", 14, "--head", "forward_time=2", "backward_time=4", "--launch", "megatron")
        self.assertIn("--num-layers 14 --decoder-last-pipeline-num-layers 2", line)

    def test_who_can_is_told(self):
        """Where a runtime runs no split of it."""
        for layers in (("--num-layers", 16), ("--layers", json.dumps([{"name": "decoder", "count": 15, "forward_time": 1}, HEAD]))):
            self.fail_with(1, "; torchtitan, pytorch and jaxpp can run it", "schedule", "--strategy", "gpipe", "--num-devices", 4, "-b", 16, *layers,
                           "--launch", "megatron")
        self.fail_with(1, "no device has more than 1", "schedule", "--num-devices", 4, "-b", 16, "--num-layers", 16, "--mem-static", 2, "--mem-limit", 1,
                       "--launch", "megatron")


if __name__ == "__main__":
    unittest.main()
