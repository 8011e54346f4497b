# SPDX-License-Identifier: Apache-2.0
"""How the command is asked: names and other names of options, words that are slips, help of two lengths, notes of what defaults
assume, and refusals as JSON."""
import argparse
import json
import pathlib
import re
import unittest

import own_folder
from in_process import run_command

import ppsched
from ppsched.command import running
from ppsched.command.slips import ALIASES

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"

PROBLEM = ("--devices", 4, "--microbatches", 8)


def run(*words, speaks=False):
    return run_command(words, speaks=speaks)


def commands():
    (found,) = [action for action in running.parser_of()._actions if isinstance(action, argparse._SubParsersAction)]
    return found.choices


class AskingTest(unittest.TestCase):
    def setUp(self):
        own_folder.enter(self)

    def succeed(self, *words, speaks=False, notes=()):
        result = run(*words, speaks=speaks)
        self.assertEqual((result.returncode, result.stderr), (0, "".join(f"ppsched {words[0]}: note: {note}\n" for note in notes)))
        return result.stdout

    def refuse(self, code, line, *words):
        result = run(*words)
        self.assertEqual((result.returncode, result.stderr, result.stdout), (code, line + "\n", ""))


class NamesTest(AskingTest):
    def test_one_thing_has_one_name(self):
        plain = self.succeed("schedule", "--devices", 2, "--stages", 4, "--microbatches", 4, "--strategy", "interleaved_1f1b")
        for devices in ("--devices", "--num-devices", "--pp"):
            for stages in ("-s", "--stages", "--num-stages"):
                for microbatches in ("-b", "--microbatches", "--num-batches", "--num-microbatches"):
                    self.assertEqual(plain, self.succeed("schedule", devices, 2, stages, 4, microbatches, 4, "--strategy", "interleaved_1f1b"))

    def test_other_names_are_not_in_the_help(self):
        for command in commands():
            text = self.succeed("help", command, "all")
            for name in ALIASES:
                self.assertNotRegex(text, rf"{name}\b")

    def test_printed_commands_have_the_new_names(self):
        text = self.succeed("pick", *PROBLEM)
        self.assertIn("--devices 4 --stages 4 --microbatches 8", text)
        self.assertNotRegex(text, "--num-(devices|stages|batches)| -[sb] ")

    def test_keys_of_config_files(self):
        plain = self.succeed("schedule", "--devices", 2, "--stages", 4, "--microbatches", 4, "--strategy", "zbv")
        for devices in ("devices", "num_devices"):
            for stages in ("stages", "num_stages"):
                for microbatches in ("microbatches", "num_batches", "num_microbatches"):
                    pathlib.Path("a.json").write_text(json.dumps({devices: 2, stages: 4, microbatches: 4}), encoding="utf-8")
                    self.assertEqual(plain, self.succeed("schedule", "-c", "a.json", "--strategy", "zbv"))
        pathlib.Path("a.json").write_text('{"devices": 2, "num_batches": 4, "microbatches": 4}', encoding="utf-8")
        self.refuse(1, "ppsched schedule: a.json: num_batches and microbatches are the same; give one", "schedule", "-c", "a.json")
        # what a file says of who wrote it is nothing of the problem
        pathlib.Path("a.json").write_text('{"version": "0.1.0", "devices": 2, "stages": 4, "microbatches": 4}', encoding="utf-8")
        self.assertEqual(plain, self.succeed("schedule", "-c", "a.json", "--strategy", "zbv"))

    def test_pp_is_devices_without_a_model(self):
        self.assertEqual(self.succeed("pick", "--pp", 4, "-b", 8), self.succeed("pick", "--devices", 4, "-b", 8))
        self.refuse(2, "ppsched pick: --pp 4, --devices 8: without --model these options have the same meaning; give one of them", "pick", "--pp", 4, "--devices", 8, "-b", 8)
        self.refuse(2, "ppsched pick: --pp needs --model", "pick", "--pp", 2, 4, "-b", 8)

    def test_number_and_kind_of_devices(self):
        self.refuse(2, "ppsched pick: argument --devices: 'h100' is not an integer; the kind of device is --device h100, with --model", "pick",
                    "--devices", "h100", "-b", 8)
        self.refuse(2, "ppsched pick: argument --device: '8' is no kind of device, such as h100; the number of devices is --devices 8, with --model "
                    "--gpus 8", "pick", "--device", 8, "-b", 8)


class SlipsTest(AskingTest):
    def test_options(self):
        for command, slip, meant in (("pick", "--num-devicess", "--num-devices"), ("pick", "--microbatch", "--microbatches"),
                                     ("pick", "--devicess", "--devices"), ("schedule", "--stratgy", "--strategy"), ("compare", "--mem-limt", "--mem-limit"),
                                     ("check", "--jsn", "--json"), ("convert", "--launh", "--launch"), ("layout", "--num-layer", "--num-layers"),
                                     ("model", "--glboal-batch", "--global-batch"), ("live", "--ouput", "--output"), ("strategies", "--jsonn", "--json")):
            self.refuse(2, f"ppsched {command}: unknown option {slip}; did you mean {meant}?", command, slip, 3)
            self.refuse(2, f"ppsched {command}: unknown option {slip}; did you mean {meant}?", command, f"{slip}=3")

    def test_options_of_other_commands(self):
        self.refuse(2, "ppsched schedule: unknown option --top; it is an option of ppsched pick", "schedule", *PROBLEM, "--top", 3)
        self.refuse(2, "ppsched: unknown option --strategies; it is an option of ppsched compare and ppsched pick", "--strategies", "1f1b")

    def test_what_is_like_nothing(self):
        self.refuse(2, "ppsched pick: unknown option --zzzz; ppsched pick --help all lists them", "pick", "--zzzz")
        self.refuse(2, "ppsched pick: unknown option -z; ppsched pick --help all lists them", "pick", *PROBLEM, "-z", 3)
        self.refuse(2, "ppsched pick: unexpected word 8; values follow an option, such as --devices D", "pick", 8)
        self.refuse(2, "ppsched pick: --help us: --help takes only the word all, or none", "pick", "--help", "us")

    def test_commands(self):
        self.refuse(2, "ppsched: unknown command pik; did you mean pick?", "pik", *PROBLEM)
        self.refuse(2, "ppsched help: unknown command schedul; did you mean schedule?", "help", "schedul")
        self.refuse(2, f"ppsched: unknown command zzz; known are {', '.join(commands())}", "zzz")

    def test_numbers_below_zero_are_values(self):
        self.succeed("schedule", *PROBLEM, "--mem-backward-input", "-1e-3", "-2.5E-1", -1, -1)


class HelpTest(AskingTest):
    def test_alone(self):
        text = run().stdout
        self.assertEqual((run().returncode, run().stderr), (0, ""))
        for name in commands():
            self.assertRegex(text, rf"\n    {name} ")
        self.assertEqual(len(re.findall(r"\n  ppsched ", text)), 3)
        self.assertEqual(text, run("help").stdout)
        self.assertEqual(text, run("--help").stdout)

    def test_of_commands(self):
        for name, parser in commands().items():
            self.assertEqual(run("help", name).stdout, run(name, "--help").stdout)
            everything = run(name, "--help", "all").stdout
            self.assertEqual(everything, run("help", name, "all").stdout)
            for option, action in parser._option_string_actions.items():
                if option not in ALIASES and option.startswith("--") and action.help != argparse.SUPPRESS:
                    self.assertIn(option, everything)
            self.assertLessEqual(max(map(len, run(name, "--help").stdout.split("examples:")[0].splitlines())), 100)

    def test_twelve_options(self):
        for name in ("pick", "schedule", "compare"):
            text = run(name, "--help").stdout
            shown = re.findall(r"^  (-[^\n]*)", text, flags=re.M)
            self.assertEqual(len(shown), 12, shown)
            self.assertRegex(text, rf"\nppsched {name} --help all shows \d+ more options.\n$")
            self.assertEqual(len(re.findall(r"^  ppsched ", text, flags=re.M)), 3)
        self.assertNotIn("more options", run("check", "--help").stdout)

    def test_recipes_are_named(self):
        for name in ("pick", "price", "model"):
            for word in ("config.json", "Megatron-LM", "torchtitan (TOML)", "Megatron-Bridge", "NeMo"):
                self.assertIn(word, " ".join(run(name, "--help").stdout.split()))

    def test_examples_are_right(self):
        """Each parses; what they need beside them are files."""
        for name, parser in (("", running.parser_of()), *commands().items()):
            for line in parser.examples:
                words = line.partition("  #")[0].split()
                self.assertEqual(words[0], "ppsched")
                found = running.parser_of().parse_args(words[1:])
                self.assertIn(found.command, (name, *commands()))


class NotesTest(AskingTest):
    def test_transfers(self):
        for command in ("pick", "compare", "schedule"):
            note = "transfers take no time; set --p2p-time, or --p2p-bandwidth with --activation-bytes"
            self.succeed(command, *PROBLEM, speaks=True, notes=[note])
            self.succeed(command, *PROBLEM, "--quiet", speaks=True)
            self.succeed(command, *PROBLEM, "--p2p-time", 0, speaks=True)
            self.succeed(command, "--devices", 1, "--microbatches", 8, speaks=True)
        for words in (("pick", "--json"), ("compare", "--json"), ("schedule", "--format", "csv"), ("schedule", "--json")):
            self.succeed(words[0], *PROBLEM, *words[1:], speaks=True)

    def test_stages(self):
        words = ("schedule", "--strategy", "interleaved_1f1b", "--devices", 4, "--microbatches", 8, "--p2p-time", 0.1)
        note = "--stages {0} means {0} stages of cost 1 each, {1} as much as 4 stages; to divide the costs of 4 stages, give --devices 4 --chunks {2}"
        self.succeed(*words, "--stages", 8, speaks=True, notes=[note.format(8, "twice", 2)])
        self.succeed(*words, "--stages", 12, speaks=True, notes=[note.format(12, "3 times", 3)])
        self.succeed(*words, "--stages", 8, "-f", 1, speaks=True)
        self.succeed(*words, "--chunks", 2, speaks=True)

    def test_room_that_an_estimate_may_take(self):
        model = {"model_type": "llama", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 8, "num_attention_heads": 8,
                 "vocab_size": 32000, "max_position_embeddings": 4096}
        pathlib.Path("config.json").write_text(json.dumps(model), encoding="utf-8")
        words = ("pick", "--model", "config.json", "--pp", 2, "--global-batch", 8, "--strategies", "1f1b", "--runtime", "megatron")
        self.succeed(*words, speaks=True)
        (row,) = json.loads(self.succeed(*words, "--json"))
        peak = max(sum(device[name] for name in ("weights", "gradients", "optimizer", "activations", "buffers")) if "weights" in device else 0
                   for device in row["memory"])
        self.assertGreater(peak, 0)
        limit = f"{peak * 1.05:.0f}B"
        result = run(*words, "--mem-limit", limit, speaks=True)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"^ppsched pick: note: it fits with \d+\.\d GiB to spare, but the estimate of memory may be wrong by up to 11%\n$")
        self.assertEqual(run(*words, "--mem-limit", limit, "--quiet", speaks=True).stderr, "")

    def test_a_refusal_is_one_line(self):
        result = run("pick", *PROBLEM, "--mem-limit", 0.1, speaks=True)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))


class JsonTest(AskingTest):
    def test_refusals(self):
        for code, words in ((1, ("pick", *PROBLEM, "--mem-limit", 0.1)), (1, ("compare", *PROBLEM, "--strategies", "1f1bb")),
                            (2, ("pick", "--devices", 4)), (1, ("strategies", "gpip")), (1, ("schedule", *PROBLEM, "--strategy", "gpip")),
                            (1, ("model", "--model", "there.json")), (1, ("strategies", "-o", "no/where.txt"))):
            result = run(*words, "--json")
            self.assertEqual((result.returncode, result.stderr.count("\n")), (code, 1), words)
            error = json.loads(result.stdout)["error"]
            self.assertEqual(f"ppsched {words[0]}: {' '.join(error['message'].split())}\n", result.stderr)
            self.assertEqual(run(*words).stdout, "")

    def test_one_document(self):
        """A command that has said it as JSON is not told twice."""
        pathlib.Path("a.csv").write_text("0F0,0F1,0B0\n1F0,1B0,1F1,1B1\n", encoding="utf-8")
        self.assertFalse(json.loads(run("check", "a.csv", "--json").stdout)["valid"])
        rows = json.loads(run("compare", *PROBLEM, "--mem-limit", 0.1, "--json").stdout)
        self.assertEqual({row["fits"] for row in rows}, {False})

    def test_versions(self):
        for words in (("pick", *PROBLEM), ("compare", *PROBLEM)):
            self.assertEqual({row["version"] for row in json.loads(self.succeed(*words, "--json"))}, {ppsched.__version__})
        self.assertEqual(json.loads(self.succeed("schedule", *PROBLEM, "-o", "a.json") or pathlib.Path("a.json").read_text(encoding="utf-8"))["version"],
                         ppsched.__version__)
        self.assertIn("ok: ", self.succeed("check", "a.json"))
        self.assertEqual(json.loads(self.succeed("check", "a.json", "--json"))["version"], ppsched.__version__)


class RunnableTest(AskingTest):
    def test_first(self):
        words = ("pick", *PROBLEM, "--strategies", "dualpipe", "zb_h1", "1f1b", "--top", 3)
        rows, ranked = (json.loads(self.succeed(*words, *more, "--json")) for more in ((), ("--any",)))
        self.assertEqual([row["strategy"] for row in ranked], ["dualpipe", "zb_h1", "1f1b"])
        self.assertEqual([(row["strategy"], row["rank"], row["runnable"]) for row in rows],
                         [("zb_h1", 1, True), ("1f1b", 2, True), ("dualpipe", 0, False)])
        for row in rows:
            self.assertEqual(row["runnable"], bool(row["runs_on"]))
        self.assertEqual({row["rank"]: row for row in rows}, {row["rank"]: row for row in ranked})

    def test_none(self):
        (row,) = json.loads(self.succeed("pick", *PROBLEM, "--strategies", "dualpipe", "--json"))
        self.assertEqual((row["strategy"], row["runnable"]), ("dualpipe", False))


class WidthTest(AskingTest):
    def test_tables(self):
        """Up to the lines of commands and launches, which are typed as they are."""
        layers = ("--num-layers", 32, "--head", "forward_time=2.4", "backward_time=4.8", "--split-effort", 1)
        for words in (("pick", *PROBLEM, "--top", 3), ("compare", *PROBLEM), ("compare", *PROBLEM, "--mem-limits", 3, 6, 900000),
                      ("compare", *PROBLEM, *layers), ("compare", *PROBLEM, "--jitter", 0.1, "--scenarios", 20, "-f", "6.123456ms", "-bw", "12ms"),
                      ("compare", *PROBLEM, "--microbatch-counts", 8, 16, "--slices", 1, 2, "--offload", "--host-bandwidth", 1)):
            text = self.succeed(*words)
            table = re.split(r"\n(?:best for|refused|idle|faster|ppsched|the best)", "\n" + text)[0].splitlines()
            self.assertGreater(len(table), 3)
            self.assertLessEqual(max(map(len, table)), 80, words)
            self.assertRegex(text, r"(?m)^place  strategy ")
            self.assertRegex(text, r"(?m)^ +1  ")

    def test_other_tables(self):
        model = ("--model", EXAMPLES / "config.json", "--device", "h100")
        pathlib.Path("w.json").write_text('{"forward": [["compute", 3], ["network", 2]], "backward": [["compute", 4], ["network", 2]]}', encoding="utf-8")
        for words, last in ((("pick", *model, "--gpus", 16, "--goal", "cost", "--gpu-hour", 2, "--jobs", 1, "--top", 3), "in a node|across nodes|assuming|no pipeline|the second"),
                            (("pick", *model, "--pp", 2, 4, "--tp", 1, 8, "--global-batch", 64, "--strategies", "group_interleaved_1f1b", "1f1b"), "ranked by|\n\n"),
                            (("price", *model, "--pp", 8, "--tp", 2, "--dp", 16, "--global-batch", 256), "limit:"),
                            (("compare", "--devices", 8, "--microbatches", 32, "--channel-speeds", "network=1,2", "--windows", "w.json"), "[a-z0-9_]+ is as fast|\\Z"),
                            (("pair", "w.json"), "\\Z")):
            text = self.succeed(*words)
            table = re.split(rf"(?m)^(?:{last})", text[text.index("\n") + 1:])[0].splitlines()  # after a line of text
            self.assertGreater(len(table), 3)
            self.assertLessEqual(max(map(len, table)), 80, (words, text))

    def test_nothing_is_lost(self):
        """Each figure of a row is in it or beneath it."""
        words = ("compare", *PROBLEM, "--num-layers", 32, "--mem-limit", 50, "--strategies", "1f1b", "interleaved_1f1b", "--split-effort", 1)
        text = " ".join(self.succeed(*words).split())
        for row in json.loads(self.succeed(*words, "--json")):
            if row["status"] == "fits" and row["strategy"] == "1f1b":
                for value in (f"{row['step_time']:.6g}", f"{row['bubble']['of_total']:.2%}", f"{row['bubble']['of_span']:.2%}",
                              f"{row['peak_memory']:.6g}", " ".join(row["runs_on"])):
                    self.assertIn(value, text)


if __name__ == "__main__":
    unittest.main()
