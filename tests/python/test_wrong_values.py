# SPDX-License-Identifier: Apache-2.0
"""Files of any size, numbers of any form and values of the wrong kind, in all files and options: one line each."""
import importlib.util
import json
import math
import pathlib
import tempfile
import unittest
from unittest import mock

from in_process import run_command
from test_model_fields import one_of_each

import ppsched
from ppsched import Accelerator
from ppsched._core import file_bytes
from ppsched.readers.json_and_yaml import read_yaml
from ppsched._core.layers import COSTS
from ppsched.readers.megatron_names import OTHERS, SIZES
from ppsched.readers.megatron_training import SHORT, TAKEN, TRAINING
from ppsched.readers.model_files import read_model

HAS_YAML = importlib.util.find_spec("yaml") is not None
LONG = "9" * 5000
VALUES = ("[]", "{}", "[1]", '{"a": 1}', '"x"', '""', "true", "null", "-1", "0", "1.5", "1e30", "1e999", "NaN", "9" * 30, LONG, '"\\ud800"')
FEW = ("[]", '{"a": 1}', '"x"', "-1", "1e999", LONG)
LLAMA = {"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "intermediate_size": 64, "num_attention_heads": 4, "vocab_size": 100}
MEGATRON = {"num_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 1000, "num_experts": 4, "moe_layer_freq": 1}
LAYER = {"name": "d", "count": 8, "forward_time": 1, "backward_time": 2, "mem_forward": 1}
CSV = "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"


class WrongTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def short(self, message, what):
        self.assertEqual((message.count("\n"), "Traceback" in message, "Exceeds" in message, len(message) < 1100), (0, False, False, True), (what, message[:500]))

    def refused(self, part, *words, codes=(1, 2)):
        done = run_command(words)
        self.assertIn(done.returncode, codes, words)
        self.assertEqual((done.stdout, done.stderr[-1:]), ("", "\n"), words)
        self.short(done.stderr[:-1], words)
        self.assertIn(part, done.stderr)

    def told(self, *words):
        """Refused in a line, or taken without a number that is none."""
        done = run_command(words)
        if done.returncode:
            self.assertEqual(done.stdout, "", words)
            self.short(done.stderr[:-1], words)
        else:
            self.assertNotRegex(done.stdout.lower(), r"\b(nan|inf)\b", words)


class SizeTest(WrongTest):
    def large(self, name, size):
        path = self.folder / name
        with open(path, "wb") as file:
            file.truncate(size)
        return path

    def test_nothing_of_large_files_is_read(self):
        """Of each kind a file of one byte too many, and of 1.5 GiB."""
        read_stream = file_bytes.read_stream

        def small_alone(path, file, most):
            self.assertNotIn("large", str(path))
            return read_stream(path, file, most)

        good, csv = self.file("good.json", json.dumps(LLAMA)), self.file("good.csv", CSV)
        yaml = [".yaml"] * HAS_YAML
        kinds = {file_bytes.MODEL: [("model", "--model", name) for name in [".json", *yaml]] + [("model", "--model", good, "--device", ".json"), ("model", "-c", ".json")],
                 file_bytes.CONFIG: [("schedule", "-c", ".json"), ("pick", "-c", ".json"), ("pick", "--num-devices", 2, "-b", 2, "--layers", ".json"),
                                     ("convert", csv, "--to", "json", "-c", ".json")] + [("schedule", "-c", name) for name in yaml],
                 file_bytes.SCHEDULE: [("check", ".csv"), ("check", ".json"), ("convert", ".csv", "--to", "text"), ("check", ".0.et"), ("convert", ".0.et", "--to", "text")],
                 file_bytes.TRACE: [("schedule", "-s", 2, "-b", 2, "--profile", ".json"), ("schedule", "-s", 2, "-b", 2, "--profile", ".json.gz"),
                                    ("schedule", "-s", 2, "-b", 2, "--measured", ".json")]}
        for most, commands in kinds.items():
            for words in commands:
                for size in (most + 1, 3 << 29):
                    path = self.large("large" + next(word for word in words if str(word).startswith(".")), size)
                    with mock.patch.object(file_bytes, "read_stream", small_alone):
                        self.refused(f"it has more than {most >> 20} MiB", *(path if str(word).startswith(".") else word for word in words))
                    path.unlink()

    def test_streams_are_read_so_far(self):
        if not pathlib.Path("/dev/zero").exists():
            self.skipTest("there is no /dev/zero")
        self.refused("/dev/zero: it has more than 16 MiB", "model", "--model", "/dev/zero")
        with mock.patch.object(file_bytes, "SCHEDULE", 1 << 20), mock.patch("ppsched._core.reader.SCHEDULE", 1 << 20):
            self.refused("/dev/zero: it has more than 1 MiB", "check", "/dev/zero", "--from", "csv")

    def test_files_of_the_most_are_read(self):
        path = self.file("good.json", json.dumps(LLAMA) + " " * ((16 << 20) - len(json.dumps(LLAMA))))
        self.assertEqual(path.stat().st_size, file_bytes.MODEL)
        self.assertEqual(read_model(str(path)).description.layers, 2)


class NumberTest(WrongTest):
    def test_options_that_are_integers(self):
        model = self.file("m.json", json.dumps(LLAMA))
        layers = self.file("l.json", json.dumps([LAYER]))
        for words, options in ((("schedule", "-s", 2, "-b", 2), ("-s", "-b", "--iterations", "--weight-versions", "--slices", "--seed", "--scenarios")),
                               (("model", "--model", model), ("--tp", "--vpp", "--seq", "--global-batch")), (("pick", "--model", model), ("--gpus", "--micro-batch")),
                               (("pick", "--num-devices", 2, "-b", 4, "--layers", layers), ("--top", "--effort", "--split-effort")),
                               (("layout", "--num-layers", 8), ("--pp",))):
            for option in options:
                for word in ("1.5", "inf", "", "1_0", "\u0665"):
                    self.refused("is not an integer", *words, f"{option}={word}", codes=(2,))
                for word in (LONG, "-" + "1" + "0" * 100):
                    self.refused("is too large", *words, f"{option}={word}", codes=(2,))
                for word in ("1" * 20, "-1"):
                    self.told(*words, f"{option}={word}")
        self.refused("it must be a name, or the device of each stage", "schedule", "-s", 2, "-b", 2, "--placement", LONG, 1)
        self.refused("must be full, auto, needed", "schedule", "-s", 2, "-b", 2, "--lower", "by_time", "--unshard-lookahead", LONG)

    def test_options_that_are_numbers(self):
        model = self.file("m.json", json.dumps(LLAMA))
        for word in ("inf", "nan", "1e400s", "-1", "0"):
            self.refused("it must be a finite time above 0", "model", "--model", model, f"--step-time={word}")
        self.refused("give a shorter one, or more tokens per second", "model", "--model", model, "--tokens-per-second=1e-320")
        self.refused("'1_0' is not a number", "schedule", "-s", 2, "-b", 2, "-f", "1_0", codes=(2,))
        for word in ("inf", "nan", LONG, "-1"):
            self.refused("it must be a finite number above 0", "model", "--model", model, f"--tokens-per-second={word}")
            self.told("model", "--model", model, f"--step-time={word}")
            for option in ("--jitter", "--message-jitter", "--mem-limit", "-f", "--p2p-time", "--time-scale", "--overlapped-times"):
                self.told("schedule", "-s", 2, "-b", 2, f"{option}={word}")
            for option in ("--rank-by=quantile", "--jitter=0.1"):
                self.told("pick", "-s", 2, "-b", 2, "--jitter=0.1", option, f"--quantile={word}")
        for word in ("--set=" + LONG, "--offload=" + LONG, "--recompute=" + LONG + ":full", "--measured=" + LONG, "--slow-rank=" + LONG + ":2"):
            self.told("schedule", "-s", 2, "-b", 2, word)

    def test_numbers_have_plain_digits(self):
        """1_0 is no 10, though Python has it so, nor are digits of other scripts numbers."""
        model, csv = self.file("m.json", json.dumps(LLAMA)), self.file("a.csv", CSV)
        layers = self.file("l.json", json.dumps([{**LAYER, "recompute": [{"name": "full", "backward_time": 3}]}]))
        traced = self.file("p.json", '{"stages": 2, "forward_times": [[1, 2], [1, 3]], "backward_times": [2, 2]}')
        schedule, estimate = ("schedule", "-s", 2, "-b", 4), ("model", "--model", model, "--seq", 64)
        pick, page = ("pick", "--num-devices", 2, "-b", 4, "--layers", layers), self.folder / "a.html"
        wrong = ("1_0", "0_1", "1__0", "\u0661", "1\u0660", "\uff11")
        for word in wrong:
            for part, words in (
                    ("is not a number", (*schedule, f"--jitter={word}")), ("is not a number", (*schedule, f"--message-jitter={word}")),
                    ("is not a number", (*schedule, "--format", "chrome", f"--time-scale={word}")), ("is not a number", (*schedule, "-f", word)),
                    ("is not a number", (*schedule, "-f", f"{word}ms")), ("is not a number", (*schedule, "--offload=all", f"--offload-share={word}")),
                    ("is not a number", (*pick, "--jitter=0.1", "--rank-by=quantile", f"--quantile={word}")),
                    ("is not a number", ("convert", csv, "--to", "chakra", f"--most-loss={word}", "-o", self.folder / "t")),
                    ("it must be RANK:FACTOR", (*schedule, f"--slow-rank=0:{word}")), ("it must be RANK:FACTOR", (*schedule, f"--slow-rank={word}:2")),
                    ("it must be FROM:TO:FACTOR", (*schedule, f"--slow-link=0:1:{word}")), ("it must be FROM:TO:FACTOR", (*schedule, f"--slow-link=0:{word}:2")),
                    ("it must be KEY=VALUE with a number", (*schedule, "--chunks=2", "--head", f"forward_time={word}")),
                    ("must be mean, median or a quantile", (*schedule, "--profile", traced, f"--statistic={word}")),
                    ("is not a number", (*estimate, f"--tokens-per-second={word}")), ("it must be KIND=B", (*estimate, "--bytes", f"gradient={word}")),
                    ("must be a number with a unit", (*estimate, f"--step-time={word}")), ("must be a number with a unit", (*estimate, f"--step-time={word}ms")),
                    ("must be a number with a unit", (*estimate, "--layer-times", f"dense.forward={word}")),
                    ("it must be NUMBER:KIND", ("schedule", *pick[1:], "--split", 4, 4, f"--recompute={word}:full")), ("must be an integer", (*schedule, f"--recompute=chunks={word}")),
                    ("must be a strategy", (*pick, "-o", page, f"--baseline=1f1b:{word}")), ("there is no strategy", (*pick, "-o", page, f"--timelines={word}"))):
                with self.subTest(word=word, words=words):
                    self.refused(part, *words)
            device = self.file("d.json", json.dumps({"like": "h100", "matrix_efficiency": [[word, 0.5]]}))
            self.refused("matrix_efficiency must be a share such as 0.5, or a list of", *estimate, "--device", device)
            with self.assertRaisesRegex(ppsched.Error, "unshard_lookahead must be an integer"):
                ppsched.generate("1f1b", ppsched.Config(2, 2)).lower("pytorch", unshard=1, unshard_lookahead=[word, word])
            with self.assertRaisesRegex(ppsched.Error, "matrix_rate"):
                ppsched.Model(read_model(str(model)).description, accelerator=ppsched.find_accelerator("h100")._replace(matrix_rate=word))

    def test_long_integers_in_files(self):
        long = "9" * 101
        for text in (long, "-" + long, LONG):
            self.refused("digits is too large", "schedule", "-c", self.file("a.json", f'{{"num_stages": {text}}}'))
            self.refused("digits is too large", "schedule", "-s", 2, "-b", 2, "--profile", self.file("t.json", f'{{"a": {text}}}'))
            self.refused("digits is too large", "model", "--model", self.file("m.json", f'{{"a": {text}}}'))
            if HAS_YAML:
                self.refused("is too large", "schedule", "-c", self.file("a.yaml", f"num_stages: {text}\n"))
        self.told("schedule", "-c", self.file("a.json", f'{{"num_stages": {"9" * 100}, "num_batches": 2}}'))


@unittest.skipUnless(HAS_YAML, "PyYAML is not installed")
class YamlTest(WrongTest):
    OTHER_BASES = ("1_0", "1_000", "1_0.5", "-1_0", "010", "-010", "+010", "0_10", "0777", "007", "1:30", "-1:30", "1:30.5", "1:2:3", "190:20:30.15", "!!int '010'")

    def test_numbers_of_other_bases(self):
        """Nobody means 8 by 010, nor 90 by 1:30, and 1_0 is no number elsewhere; in quotes they are texts."""
        for word in self.OTHER_BASES:
            for text in (f"k: {word}", f"k: [1, {word}]", f"k: {{a: {word}}}", f"- {{a: [{{b: {word}}}]}}", f"? {word}\n: 1"):
                with self.assertRaises(ppsched.Error) as caught:
                    read_yaml("f.yaml", text)
                self.assertIn("would be ", str(caught.exception))
                self.assertIn("line 1, column ", str(caught.exception))
        for word, value in (("10", 10), ("0", 0), ("-0", 0), ("0.5", 0.5), ("00.5", 0.5), ("1e3", 1000.0), ("01e1", 10.0), ("0x10", 16), ("'010'", "010"), ('"1:30"', "1:30"),
                            ("08", "08"), ("0o17", "0o17"), ("a:30", "a:30"), ("a_0", "a_0"), ("'1_0'", "1_0"), ("yes", True)):
            self.assertEqual(read_yaml("f.yaml", f"k: {word}"), {"k": value})

    def test_wherever_yaml_is_read(self):
        model = self.file("m.json", json.dumps(LLAMA))
        for word in ("010", "1:30"):
            for text, *words in ((f"num_stages: {word}\nnum_batches: 4\n", "schedule", "-c"), (f"num_stages: 2\nnum_batches: 4\nforward_times: [1, {word}]\n", "schedule", "-c"),
                                 (f"- {{name: d, count: {word}, forward_time: 1, backward_time: 2}}\n", "pick", "--num-devices", 2, "-b", 4, "--layers"),
                                 (f"num_layers: {word}\nhidden_size: 64\nnum_attention_heads: 4\nvocab_size: 1000\n", "model", "--model"),
                                 (f"model_type: llama\nnum_hidden_layers: {word}\n", "model", "--model"), (f"tp: {word}\n", "model", "--model", model, "-c"),
                                 (f"like: h100\nnode_devices: {word}\n", "model", "--model", model, "--device"),
                                 (f"forward_times: [{word}, 1]\n", "schedule", "-s", 2, "-b", 2, "--profile")):
                self.refused(f"{word} would be ", *words, self.file("a.yaml", text))
        for word in ("08", "0o17", "yes", "2024-01-01", "1,5"):
            self.refused("", "schedule", "-c", self.file("a.yaml", f"num_stages: {word}\nnum_batches: 4\n"))


class KindTest(WrongTest):
    def texts(self, base, name, values):
        for value in values:
            yield value, json.dumps({**base, name: "@"}).replace('"@"', value)

    def test_fields_of_a_model(self):
        """Of each type each field that is read."""
        for kind, fields in one_of_each().items():
            for name in sorted(fields.keys() | {"model_type", "layer_types", "sliding_window", "max_position_embeddings", "hidden_act", "config", "num_key_value_heads"}):
                for value, text in self.texts(fields, name, VALUES):
                    try:
                        found = read_model(str(self.file("m.json", text)))
                        self.assertFalse(math.isnan(found.sequence))
                        ppsched.Model(found.description)
                    except ppsched.Error as error:
                        self.short(str(error), (kind, name, value[:10]))
        for kind, name, value, part in (("llama", "model_type", "[]", "model_type must be a text"), ("llama", "model_type", '{"a": 1}', "model_type must be a text"),
                                        ("qwen3", "max_position_embeddings", "-1", "it must be 1 or more"), ("qwen3", "max_position_embeddings", '"x"', "must be an integer"),
                                        ("llama", "max_position_embeddings", "{}", "must be an integer, not {}"), ("gpt2", "n_positions", "true", "must be an integer"),
                                        ("mistral", "num_key_value_heads", "0", "num_key_value_heads is 0; it must be 1 or more"), ("gpt2", "n_inner", "0", "n_inner is 0"),
                                        ("qwen3", "head_dim", "0", "head_dim is 0"), ("deepseek_v3", "moe_layer_freq", "0", "moe_layer_freq is 0"),
                                        ("qwen3_moe", "decoder_sparse_step", "0", "decoder_sparse_step is 0"), ("qwen3_moe", "mlp_only_layers", '{"a": 1}', "must be a list of integers"),
                                        ("qwen3_moe", "mlp_only_layers", "[true]", "must be a list of integers"), ("gpt2", "resid_pdrop", "NaN", "resid_pdrop must be a number from 0 to 1"),
                                        ("llama", "hidden_act", "[]", "hidden_act must be a text")):
            text = next(text for _, text in self.texts(one_of_each()[kind], name, [value]))
            self.refused(part, "model", "--model", self.file("m.json", text), codes=(1,))

    def test_arguments_of_megatron(self):
        for name in dict.fromkeys((*SIZES, *OTHERS, *TRAINING, *SHORT, *TAKEN)):
            for value, text in self.texts(MEGATRON, name, VALUES):
                try:
                    read_model(str(self.file("m.json", text)))
                except ppsched.Error as error:
                    self.short(str(error), (name, value[:10]))
        for name in (*TRAINING, *SHORT):
            for _, text in self.texts(MEGATRON, name, ("[]", "[1]")):
                path = self.file("m.json", text)
                self.told("model", "--model", path, "--seq", 64)
                self.told("pick", "--model", path, "--gpus", 1, "--pp", 1, "--tp", 1)
        self.refused("tp is []; give a number", "pick", "--model", self.file("m.json", json.dumps(LLAMA)), "-c", self.file("c.json", '{"tp": []}'))

    def test_layers(self):
        words = ("pick", "--num-devices", 2, "-b", 4, "--layers")
        for name in ("name", "count", "place", "recompute", "with_next", *COSTS):
            for _, text in self.texts(LAYER, name, FEW):
                self.told(*words, self.file("l.json", f"[{text}]"))
        for value in FEW:
            for text in (f'{{"layers": {value}}}', f"[{value}]", value, f'[{{"name": "d", "forward_time": 1, "backward_time": 2, "recompute": [{value}]}}]'):
                self.told(*words, self.file("l.json", text))

    def test_costs_of_layers(self):
        """A value that is no number is told as such, not taken for 0 or for a list of stages."""
        words = ("pick", "--num-devices", 2, "-b", 4, "--layers")
        for name in COSTS:
            for value in ("[]", "{}", "[1, 2]", '"x"', '""', "null", "false", "true"):
                for row in (LAYER, *[{"name": "d", "count": 8}] * (name in COSTS[:4])):
                    text = json.dumps({**row, name: "@"}).replace('"@"', value)
                    self.refused(f"layer entry 0 (d): {name} must be one number, not ", *words, self.file("l.json", f"[{text}]"), codes=(1,))
        self.refused("recompute 0: backward_time must be one number, not []", *words,
                     self.file("l.json", json.dumps([{**LAYER, "recompute": [{"name": "full", "backward_time": []}]}])), codes=(1,))
        for value in ("0", "0.0", "-0"):
            self.refused("no layer takes any time", *words, self.file("l.json", f'[{{"name": "d", "forward_time": {value}}}]'), codes=(1,))

    def test_devices_and_configs(self):
        model = self.file("m.json", json.dumps(LLAMA))
        for name in ("like", *Accelerator._fields):
            for _, text in self.texts({"like": "h100"}, name, FEW):
                self.told("model", "--model", model, "--seq", 64, "--device", self.file("d.json", text))
        for name in ("device", "gpus", "step_time", "tokens_per_second", "tp", "seq", "global_batch", "model"):
            for _, text in self.texts({}, name, FEW):
                path = self.file("c.json", text)
                self.told("model", "--model", model, "-c", path)
                self.told("pick", "--model", model, "-c", path)
        for name in ("strategy", "placement", "options", "num_batches", "forward_times", "mem_limit", "slow_rank", "jitter", "embedding", "split_backward", "recompute"):
            for _, text in self.texts({"num_stages": 2, "num_batches": 2}, name, FEW):
                self.told("schedule", "-c", self.file("c.json", text))


if __name__ == "__main__":
    unittest.main()
