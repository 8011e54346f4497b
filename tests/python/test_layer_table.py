# SPDX-License-Identifier: Apache-2.0
"""Tables of measured layers: what is read, what is refused, and that the commands take them."""
import json
import os
import random
import tempfile
import unittest

from in_process import run_command

import ppsched
from ppsched.readers.layer_table import COLUMNS

CONFIG = {"model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 16, "num_attention_heads": 16,
          "num_key_value_heads": 8, "vocab_size": 32000, "max_position_embeddings": 4096}
HEADER = ",".join(COLUMNS)
ROWS = ("embedding,1,,,,1,4096,,1ms,0,2ms,8MiB,1GB", "decoder,1,,,,1,4096,,10ms,11ms,9ms,500MB,2GB", "head,1,,,,1,4096,,4ms,4ms,4ms,600MB,1GB")
TABLE = "\n".join((HEADER, *ROWS)) + "\n"
DECODER = HEADER + "\n" + "decoder,1,,,,1,4096,,"
PRICE = ("price", "--device", "h100", "--global-batch", "8", "--json")


def run(*words, check=True):
    done = run_command(words)
    assert not check or done.returncode == 0, done.stderr
    return done


class ReadTest(unittest.TestCase):
    def test_csv_and_json_say_the_same(self):
        numbers = "#units ms MB\n" + TABLE.replace("ms", "").replace("500MB", "500").replace("600MB", "600").replace("GB", "e3")
        rows = [dict(zip(COLUMNS, row.split(","))) for row in ROWS]
        tables = [ppsched.layer_table_of(text) for text in (TABLE, numbers.replace("8MiB", "8.388608"), json.dumps(rows))]
        for table in tables:
            self.assertEqual(table.layers, tables[0].layers)
        self.assertEqual(tables[0].layers[1], ppsched.MeasuredLayer("decoder", "none", 1, 0, 0, 0, 1, 4096, 0.010, 0.011, 0.009, 5e8, 2e9))

    def test_what_is_written_is_read(self):
        chance = random.Random(3)
        for _ in range(100):
            layers = [ppsched.MeasuredLayer(f"kind{number}", chance.choice(("none", "full")), *(chance.choice((0, 1, 8)) for _ in range(6)),
                                            *(chance.choice((None, 0.0, chance.random(), 1e9 * chance.random())) for _ in range(4)), 1.5)
                      for number in range(chance.randint(0, 4))]
            collectives = [ppsched.MeasuredCollective("all_to_all", 1e6 * (1 + chance.random()), 4, chance.choice((0, 8)), chance.random() + 0.1)
                           for _ in range(chance.randint(0 if layers else 1, 3))]
            table = ppsched.layer_table_of(ppsched.layer_table_text(ppsched.LayerTable(layers, collectives)))
            self.assertEqual((table.layers, table.collectives), (layers, collectives))

    def test_collectives_stand_by_their_places(self):
        table = ppsched.layer_table_of(f"{HEADER}\ncollective:all_reduce,64MiB,8,16,1.5ms\ncollective:send,1e6B,2,,20us,,\n")
        self.assertEqual(table.collectives, [ppsched.MeasuredCollective("all_reduce", 64 * 2.0**20, 8, 16, 1.5e-3),
                                             ppsched.MeasuredCollective("send", 1e6, 2, 0, 20e-6)])
        of_json = ppsched.layer_table_of('[{"kind": "collective:send", "bytes": 1e6, "group": 2, "time": "20us"}]')
        self.assertEqual(of_json.collectives, table.collectives[1:])

    def test_what_is_refused(self):
        cases = {"": "the table is empty", HEADER: "has no rows", DECODER + "10,11ms,9ms,,": "line 2: forward_time is 10, without a unit",
                 DECODER + "10ms,11GB,9ms,,": "line 2: backward_input_time: GB is a unit of memory", DECODER + ",,,,": "has no time and no memory",
                 DECODER + "-1ms,,,,": "line 2: forward_time is '-1ms'", DECODER + "1ms,,,,,3": "there are 14 cells",
                 DECODER.replace("kind", "kin") + "1ms,,,,": "there is no column 'kin'",
                 HEADER + ",tp\n": "the column tp is there twice", "tp,kind\n": "the first column must be kind",
                 HEADER + "\ndecoder,1.5,,,,1,4096,,1ms,,,,": "tp is '1.5'", HEADER + "\n,1,,,,,,,1ms,,,,": "kind is empty",
                 HEADER + "\ndecoder,0,,,,1,4096,,1ms,,,,": "tp is '0'; it must be an integer of 1 or more, or empty",
                 HEADER + "\ndecoder,1,,,,,,block,1ms,,,,": "recompute is 'block'", "#units s\n" + TABLE: "must be #units TIME BYTES",
                 HEADER + "\ncollective:allreduce,1MB,2,2,1ms": "there is no collective 'allreduce'",
                 HEADER + "\ncollective:send,1MB,1,2,1ms": "group is '1'", HEADER + "\ncollective:send,1MB,4,2,1ms": "span is 2",
                 HEADER + "\ncollective:send,1MB,2,2": "a collective needs time", HEADER + "\ncollective:send,1MB,2,2,1ms,9": "there are 6 cells",
                 "{}": "must be a list of rows", "[3]": "row 0 is 3", "[{": "Expecting", '[{"kind": "decoder", "forward": 1}]': "no key 'forward'",
                 '[{"kind": "decoder", "tp": true, "forward_time": 1}]': "tp is True", '[{"kind": "decoder", "forward_time": [1]}]': "forward_time is [1]"}
        for text, part in cases.items():
            with self.subTest(text), self.assertRaises(ppsched.Error) as caught:
                ppsched.layer_table_of(text)
            self.assertIn(part, str(caught.exception))
            self.assertNotIn("\n", str(caught.exception))


class ModelTest(unittest.TestCase):
    def setUp(self):
        self.shape = ppsched.Transformer(16, 1024, 16, 32000, ffn_size=4096, gated=True)

    def test_measured_figures_stand_in_the_place_of_formulas(self):
        model = ppsched.Model(self.shape, ppsched.Training(4096), "h100", ppsched.layer_table_of(TABLE))
        self.assertAlmostEqual(model.pass_cost("decoder", "input").time, 0.011, delta=1e-12)
        self.assertAlmostEqual(model.memory("head").activations, 6e8, delta=1)
        self.assertEqual(model.measure("decoder").forward.source, "table")
        self.assertEqual(model.measure("decoder").full.source, "same")
        self.assertEqual(len(model.table_notes()), 3)
        self.assertEqual(model.link(8)[1], model.accelerator.inside.rate)
        plain = ppsched.Model(self.shape, ppsched.Training(4096), "h100")
        self.assertEqual((plain.table_notes(), plain.measure("decoder").forward), ([], ppsched.FigureMeasure("formula", 1.0)))

    def test_rows_are_told_by_their_lines(self):
        table = ppsched.layer_table_of(TABLE + "# twice\n" + ROWS[1] + "\n", "t.csv")
        with self.assertRaisesRegex(ppsched.Error, "t.csv, line 6 has the kind and the sizes of t.csv, line 3"):
            ppsched.Model(self.shape, ppsched.Training(4096), "h100", table)

    def test_wrong_values_are_refused(self):
        for layer, part in ((ppsched.MeasuredLayer("decoder", forward_time=-1.0), "forward_time of decoder is -1"),
                            (ppsched.MeasuredLayer("decoder", forward_time=float("nan")), "nan"),
                            (ppsched.MeasuredLayer("other", forward_time=1.0), "has no row of the kind decoder; it has other")):
            with self.assertRaises(ppsched.Error) as caught:
                ppsched.Model(self.shape, ppsched.Training(4096), "h100", ppsched.LayerTable([layer]))
            self.assertIn(part, str(caught.exception))
        with self.assertRaises(TypeError):
            ppsched.Model(self.shape, ppsched.Training(4096), "h100", TABLE)


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.model = self.file("config.json", json.dumps(CONFIG))

    def file(self, name, text):
        path = os.path.join(self.folder.name, name)
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def test_a_step_is_the_sum_of_what_was_measured(self):
        row = json.loads(run(*PRICE, "--model", self.model, "--layer-table", self.file("t.csv", TABLE)).stdout)
        self.assertAlmostEqual(row["pipeline_time"], 8 * (0.003 + 0.012 + 16 * 0.030), places=9)
        self.assertEqual(len(row["layer_table"]), 3)
        self.assertNotIn("layer_table", json.loads(run(*PRICE, "--model", self.model).stdout))

    def test_pick_compares_layouts_by_the_table(self):
        table = self.file("t.json", json.dumps([{"kind": "decoder", "tp": tp, "forward_time": time, "backward_input_time": time,
                                                 "backward_weight_time": time} for tp, time in ((1, 0.010), (2, 0.009))]))
        rows = json.loads(run("pick", "--model", self.model, "--device", "h100", "--pp", "2", "--gpus", "4", "--tp", "1", "2", "--zero", "1",
                              "--cp", "1", "--micro-batch", "1", "--chunks", "1", "--global-batch", "16", "--layer-table", table, "--json").stdout)
        self.assertEqual([row["layout"]["tp"] for row in rows], [1, 2])  # tp 2 saves next to nothing
        self.assertTrue(any("decoder: forward, input, weight measured" in note for note in rows[0]["layer_table"]))
        text = run("model", "--model", self.model, "--device", "h100", "--seq", "4096", "--layer-table", table).stdout
        self.assertIn("10.000", text)
        self.assertIn("layer table, head: ", text)

    def test_a_config_file_names_the_table(self):
        table = self.file("t.csv", TABLE)
        config = self.file("job.json", json.dumps({"layer_table": table}))
        words = ("pick", "--model", self.model, "--device", "h100", "--pp", "2", "--global-batch", "8", "--seq", "4096", "--json")
        self.assertEqual(run(*words, "-c", config).stdout, run(*words, "--layer-table", table).stdout)

    def test_experts(self):
        """ep and etp count for layers with experts alone."""
        config = self.file("moe.json", json.dumps({"model_type": "mixtral", "num_hidden_layers": 8, "hidden_size": 1024, "num_attention_heads": 16,
                                                   "num_key_value_heads": 8, "intermediate_size": 3584, "vocab_size": 32000,
                                                   "num_local_experts": 8, "num_experts_per_tok": 2}))
        rows = json.loads(run("model", "--model", config, "--json").stdout)["layers"]
        kind = next(row["name"] for row in rows if row["name"] not in ("embedding", "head"))
        table = self.file("t.csv", f"{HEADER}\n{kind},1,1,4,1,1,4096,,8ms,8ms,8ms,,\n{kind},1,1,2,1,1,4096,,9ms,9ms,9ms,,\n"
                                   "head,1,1,64,64,1,4096,,1ms,1ms,1ms,,\n")
        found = json.loads(run("model", "--model", config, "--device", "h100", "--seq", "4096", "--ep", "4", "--dp", "4", "--layer-table", table,
                               "--json").stdout)
        layers = {row["name"]: row for row in found["layers"]}
        self.assertAlmostEqual(layers[kind]["forward_time"], 0.008, delta=1e-12)
        self.assertAlmostEqual(layers["head"]["forward_time"], 0.001, delta=1e-12)

    def test_a_pipeline_of_layers_that_galvatron_measured(self):
        """28 layers on 8 devices of 80 GB, 64 microbatches: what Galvatron's search on the same numbers plans takes 42.61 s, and half
        of that is possible."""
        half = "29.85,29.85,29.85"
        rows = [f"embedding,1,,,,1,8192,,{half},10,8000", "decoder,1,,,,1,8192,,26.0,26.0,26.0,2088,3892",
                "decoder,1,,,,1,8192,full,,52.0,26.0,56,", f"head,1,,,,1,8192,,{half},600,8000"]
        table = self.file("t.csv", "\n".join(("#units ms MB", HEADER, *rows)) + "\n")
        model = self.file("seven.json", json.dumps({**CONFIG, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
                                                    "num_attention_heads": 28, "num_key_value_heads": 4, "max_position_embeddings": 8192}))
        words = ("--pp", "8", "--global-batch", "64", "--seq", "8192", "--mem-limit", "80GB", "--strategies", "zb_auto", "--json")
        row = json.loads(run("pick", "--model", model, "--device", "a100", *words, "--layer-table", table).stdout)[0]
        self.assertLessEqual(row["step"]["step_time"], 21.97)
        self.assertLessEqual(max(device["total"] for device in row["memory"]), 80e9)
        self.assertGreaterEqual(row["step"]["pipeline_time"], 64 * (28 * 3 * 26.0 + 6 * 29.85) / 8 / 1000)

    def test_other_sources_of_times_are_refused(self):
        table = self.file("t.csv", TABLE)
        for words in (("--layers", table), ("--layer-times", "decoder.forward=1ms"), ("--step-time", "2s"), ("--profile", table),
                      ("--tokens-per-second", "100"), ("--forward-times", "1", "2")):
            for model in ((), ("--model", self.model)):
                found = run("pick", *model, "--layer-table", table, *words, check=False)
                self.assertIn(f"--layer-table, {words[0]}: ", found.stderr)
                self.assertNotEqual(found.returncode, 0)
        self.assertIn("--layer-table needs --model", run("pick", "--devices", "2", "--layer-table", table, check=False).stderr)

    def test_what_does_not_fit_is_one_line(self):
        cases = {TABLE.replace("decoder", "moe"): "the layer table has no row of the kind decoder; it has embedding, moe, head",
                 TABLE.replace("10ms", "10"): "line 3: forward_time is 10, without a unit"}
        for text, part in cases.items():
            for command in (PRICE, ("pick", "--device", "h100", "--pp", "2", "--global-batch", "8"), ("model",)):
                found = run(*command, "--model", self.model, "--layer-table", self.file("wrong.csv", text), check=False)
                self.assertIn(part, found.stderr)
                self.assertEqual(len(found.stderr.splitlines()), 1)
        self.assertIn("cannot read", run(*PRICE, "--model", self.model, "--layer-table", "none.csv", check=False).stderr)


if __name__ == "__main__":
    unittest.main()
