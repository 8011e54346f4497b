# SPDX-License-Identifier: Apache-2.0
"""Numbers with units: what they mean, mixtures, defaults, and that all outputs say which."""
import importlib.util
import itertools
import json
import math
import pathlib
import re
import shlex
import tempfile
import unittest

from in_process import run_command

import ppsched
from ppsched.command.magnitudes import magnitude_warning
from ppsched.page.report import report_data
from ppsched._core.same_units import in_same_units, in_seconds_and_bytes
from ppsched._core.units import PLAIN, Units, dimension_of, parse

HAS_YAML = importlib.util.find_spec("yaml") is not None
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
TRACES = [pathlib.Path(__file__).resolve().parent / "traces" / f"rank{rank}.json" for rank in (0, 1)]

SIZES = ("-s", 4, "-b", 8)
TIMES = ("-f", "6.1ms", "-bw", "12.2ms", "--p2p-time", "24us")
MEMORY = ("--mem-forward", "800MB", "--mem-static", "60GB", "--mem-limit", "72GB")
LAYERS = [{"name": "embedding", "place": "first", "forward_time": "200us", "backward_time": "0.4ms", "mem_static": "4GB"},
          {"name": "decoder", "count": 8, "forward_time": "1ms", "backward_time": "2ms", "mem_forward": "900MB",
           "mem_static": "2GB",
           "output_bytes": "16MiB", "recompute": [{"name": "full", "backward_time": "3ms", "mem_forward": "50MB"}]}]


class MeaningTest(unittest.TestCase):
    def convert(self, **values):
        return in_same_units(values, {}, has_defaults=False)

    def test_units(self):
        for text, size in (("1us", 1e3), ("1.5 ms", 1e6), ("2e-3s", 1e9), ("1min", 6e10), (".5ns", 1), ("3\u00b5s", 1e3)):
            self.assertEqual((parse(text).kind, parse(text).size), ("time", size), text)
        for text, size in (("1B", 1), ("1kB", 1e3), ("-72GB", 72e9 / 72), ("80GiB", 2**30), ("1TB", 1e12), ("1KiB", 1024)):
            self.assertEqual((parse(text).kind, parse(text).size), ("memory", size), text)
        self.assertEqual(parse("400Gbps").measured_in(parse("1GB/s").size), 50)
        self.assertEqual(parse("1GiB/s").measured_in(parse("1MiB/ms").size), 1.024)

    def test_what_is_none(self):
        for text in ("72", "1e3", "inf", "-nan", "1_0", "", "ms", "1 2", "0x1F", "1,2"):
            self.assertIsNone(parse(text), text)
        for text in ("5parsec", "72gb", "5GB/h", "5ms/GB", "3KB", "2B/"):
            with self.assertRaisesRegex(ppsched.Error, "there is no unit"):
                parse(text)

    def test_dimensions(self):
        names = {"forward_times": "time", "backward_time": "time", "p2p_time": "time", "mem_limits": "memory",
                 "mem_static": "memory",
                 "activation_bytes": "bytes", "output_bytes": "bytes", "p2p_bandwidth": "bandwidth",
                 "backward_input_share": None}
        self.assertEqual({name: dimension_of(name) for name in names}, names)

    def test_the_largest_unit_is_that_of_all(self):
        values, units = self.convert(forward_times=["6100us", "6.1ms"], p2p_time="24us", mem_limit="72GB", mem_forward="300MB",
                                     activation_bytes="16MiB", p2p_bandwidth="400Gbps")
        self.assertEqual(units, Units("ms", "GB", "B"))
        self.assertEqual(values, {"forward_times": [6.1, 6.1], "p2p_time": 0.024, "mem_limit": 72.0, "mem_forward": 0.3,
                                  "activation_bytes": 2.0**24, "p2p_bandwidth": 5e7})
        self.assertEqual(self.convert(mem_limit=["80GiB", "64GB"])[1].memory, "GiB")

    def test_numbers_are_the_nearest_doubles(self):
        for number, (small, large) in itertools.product(("6.1", "1e-7", "0.1", "123456789.123"), itertools.permutations(("us",
                                                                                                                         "ms",
                                                                                                                         "s"),
                                                                                                                        2)):
            values, units = self.convert(forward_times=number + small, p2p_time="1" + large)
            word = units.word("forward_times", values["forward_times"])
            again, same = self.convert(forward_times=word)
            self.assertEqual((again["forward_times"], same), (values["forward_times"], units))

    def test_zero_and_infinity_need_none(self):
        values, units = self.convert(forward_times=["1ms", 0], mem_static=0, mem_limit="5GB", p2p_time=0.0,
                                     p2p_bandwidth=math.inf)
        self.assertEqual((values["forward_times"], values["mem_static"], units), ([1.0, 0], 0, Units("ms", "GB")))
        names = ("forward_times", "mem_static", "activation_bytes", "p2p_bandwidth")
        self.assertEqual([Units("ms", "GB", "B").word(name, 0.0) for name in names], ["0"] * 4)
        self.assertEqual([Units("ms", "GB", "B").word(name, math.inf) for name in names], ["inf"] * 4)
        self.assertEqual([Units("ms", "GB", "B").word(name, 2.0) for name in names], ["2ms", "2GB", "2B", "2B/ms"])

    def test_without_units_nothing_changes(self):
        given = {"forward_times": [1, 2], "mem_limit": "5", "layers": "x.json", "embedding": ["mem_static=3"]}
        self.assertEqual(self.convert(**given), (given, PLAIN))

    def test_too_large(self):
        with self.assertRaisesRegex(ppsched.Error, "1e308TB is too large"):
            self.convert(activation_bytes="1e308TB")

    def test_units_of_a_config(self):
        config = ppsched.Config(2, 4, forward_times=1, mem_limit=5, units=Units("ms", "GB"))
        self.assertEqual((config.units, config.with_microbatches(8).units), (Units("ms", "GB"),) * 2)
        with self.assertRaisesRegex(ppsched.Error, "there is no unit of time 'h'"):
            ppsched.Config(2, 4, units=Units("h"))


def headings(table):
    """The units of the columns of a table whose headings stand in several lines, by the words above them."""
    lines = table[:re.search("(?m)^ +1 ", table).start()].splitlines()
    width = max(map(len, lines))
    marks = ["".join(column).strip() == "" for column in zip(*(line.ljust(width) for line in lines))]
    edges = [-1, *(i for i, blank in enumerate(marks) if blank), width]
    cells = [[line.ljust(width)[a + 1:b].strip() for line in lines] for a, b in zip(edges, edges[1:]) if b > a + 1]
    words = [" ".join(filter(None, cell)) for cell in cells]
    return {word.rpartition(" (")[0]: "(" + word.rpartition(" (")[2] for word in words if word.endswith(")")}


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(folder.cleanup)

    def run_command(self, *words):
        return run_command(words, self.folder)

    def succeed(self, *words):
        result = self.run_command(*words)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def refuse(self, line, *words, code=1):
        """The end of the one line that says why."""
        result = self.run_command(*words)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertTrue(result.stderr.endswith(line + "\n"), result.stderr)
        if code == 1:
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def write(self, name, data):
        (self.folder / name).write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")


class InputTest(CommandTest):
    def test_lists(self):
        for words in (("1,2,3,4",), ("1,2", "3,4"), (1, 2, 3, 4)):
            self.assertIn("makespan 60,", self.succeed("schedule", *SIZES, "-f", *words))
        self.assertIn("makespan 60 ms,", self.succeed("schedule", *SIZES, "-f", "1ms,2ms,3ms,4ms", "-bw", "2ms"))
        self.assertIn("peak 2 GB", self.succeed("schedule", *SIZES, *TIMES, "--mem-forward", "1GB", "--mem-backward-input",
                                                "-300MB,-300MB,-300MB,-300MB", "--mem-backward-weight", "-0.7GB", "-b", 2))

    def test_words_that_are_none(self):
        for word in ("1;2", "1,,2", "a", "1ms,x", ",1,2"):
            self.refuse("a number may have a unit, such as 6.1ms, and a list is written 1 2 3 or 1,2,3", "schedule", *SIZES, "-f",
                        word, code=2)
        self.refuse("or B/s, GB/s, GiB/s and so on", "schedule", *SIZES, "-f", "5parsec", code=2)
        self.refuse("--forward-times 5GB: GB is a unit of memory; units of time are ns, us, ms, s, min", "schedule", *SIZES,
                    "-f", "5GB")
        self.refuse("backward_input_share is a plain number", "schedule", *SIZES, "--backward-input-share", "1ms")

    def test_mixtures(self):
        for words, plain, other, right in (
                (("--mem-limit", 72, "--mem-static", "60GB"), "--mem-limit 72", "--mem-static 60GB", "--mem-limit 72GB"),
                (("-f", 6, "--p2p-time", "24us"), "--forward-times 6", "--p2p-time 24us", "--forward-times 6us"),
                (("-f", "6ms", "--p2p-bandwidth", 50), "--p2p-bandwidth 50", "--forward-times 6ms", "--p2p-bandwidth 50B/ms"),
                (("--activation-bytes", "5MB", "--p2p-bandwidth", 50), "--p2p-bandwidth 50", "--activation-bytes 5MB",
                 "--p2p-bandwidth 50MB/s"),
                (("--activation-bytes", 5, "--p2p-bandwidth", "50GB/s"), "--activation-bytes 5", "--p2p-bandwidth 50GB/s",
                 "--activation-bytes 5B"),
                (("-f", 5, "--p2p-bandwidth", "50GB/s"), "--forward-times 5", "--p2p-bandwidth 50GB/s", "--forward-times 5ms"),
                (("--mem-static", 3, "--embedding", "mem_static=2GiB", "--chunks", 2), "--mem-static 3",
                 "--embedding mem_static=2GiB",
                 "--mem-static 3GiB"),
                (("--mem-static", "3GB", "--head", "mem_static=2", "--chunks", 2), "--head mem_static=2", "--mem-static 3GB",
                 "--head mem_static=2GB")):
            self.refuse(f"schedule: {plain} and {other}: numbers with and without units; write {right}", "schedule", *SIZES,
                        *words)
        self.refuse("--forward-times 1 2ms 3 4: numbers with and without units; write --forward-times 1ms 2ms 3ms 4ms",
                    "schedule", *SIZES, "-f", 1, "2ms", 3, 4)
        self.refuse("write --mem-limits 5GB 6GB", "pick", *SIZES, "--mem-limits", 5, "6GB")

    def test_memory_and_times_each(self):
        """Either may have units alone."""
        self.assertIn("makespan 33, span 33; ", self.succeed("schedule", *SIZES, *MEMORY))
        self.assertIn("  peak 4\n", self.succeed("schedule", *SIZES, *TIMES, "--mem-limit", 5))
        self.assertIn("makespan 201.46 ms", self.succeed("schedule", *SIZES, *TIMES[:4], "--p2p-time", "10us",
                                                         "--p2p-bandwidth", "400Gbps",
                                                         "--activation-bytes", "0B", "--mem-limit", 5))
        bandwidth, latency = (self.succeed("schedule", *SIZES, *TIMES[:4], *words) for words in (
            ("--p2p-time", "10us", "--p2p-bandwidth", "50GB/s", "--activation-bytes", "5MB"), ("--p2p-time", "110us")))
        self.assertEqual(bandwidth, latency)

    def test_defaults(self):
        for words, line in (
                (MEMORY[2:],
                 "--mem-static 60GB: with units the memory of activations is needed, too, as its default, 1, has no unit; "
                             "give what a stage holds of one microbatch until its backward, such as --mem-forward 1.5GB"),
                (TIMES[:2],
                 "--forward-times 6.1ms: with units the backward times are needed, too, as their default, 2, has no unit; "
                            "twice the forward is --backward-times 12.2ms"),
                (TIMES[4:], "give them, such as --forward-times 6.1ms --backward-times 12.2ms"),
                (("--p2p-bandwidth", "400Gbps"), "give them, such as --forward-times 6.1ms --backward-times 12.2ms")):
            for command in ("schedule", "compare", "pick"):
                self.refuse(line, command, *SIZES, *words)
        self.refuse("such as --mem-forward 1.5GiB", "pick", *SIZES, "--num-layers", 8, "--mem-limit", "80GiB")
        self.assertIn("step time (ms)", self.succeed("pick", *SIZES, "--num-layers", 8, "-f", "1ms"))

    def test_warning(self):
        for words, part in ((("--mem-limit", 72, "--mem-static", 60), "mem_static is 60, but an activation counts as 1"),
                            (("--mem-limit", "72e9"), "mem_limit is 7.2e+10, but an activation counts as 1"),
                            (("--mem-limit", "72e9", "--mem-forward", 800), "mem_limit is 7.2e+10 and mem_forward is 800"),
                            (("--mem-limits", "72e9", "81e9"), "mem_limit is 7.2e+10, but an activation counts as 1")):
            command = "pick" if "--mem-limits" in words else "schedule"
            result = self.run_command(command, *SIZES, *words)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (0, 1), result.stderr)
            self.assertIn(f"ppsched {command}: warning: {part}", result.stderr)
        for given in ({"mem_limit": 5.0}, {"mem_static": 3.0, "mem_limit": 70.0, "mem_forward": 0.05}, {"mem_static": 60.0,
                                                                                                        "mem_forward": 0},
                      {"layers": LAYERS, "mem_limit": 500.0}, {}):
            self.assertIsNone(magnitude_warning({"num_stages": 4, "num_batches": 8, **given}), given)


class FileTest(CommandTest):
    GIVEN = {"num_stages": 4, "num_batches": 8, "forward_times": ["6.1ms"], "backward_times": "12200 us",
             "mem_forward": "800MB",
             "mem_static": ["60GB", "61GB", "61GB", "60GB"], "mem_limit": "72GB", "activation_bytes": "16MiB",
             "p2p_bandwidth": "50GB/s"}

    def test_json_and_yaml(self):
        self.write("a.json", self.GIVEN)
        texts = [self.succeed("schedule", "-c", "a.json")]
        self.assertIn(" ms, span ", texts[0])
        if HAS_YAML:
            self.write("a.yaml", "".join(f"{key}: {json.dumps(value)}\n" for key, value in self.GIVEN.items()).replace('"', ""))
            texts.append(self.succeed("schedule", "-c", "a.yaml"))
            self.assertEqual(texts[0], texts[1])

    def test_bad_ones(self):
        for change, line in (({"mem_limit": 72},
                              'a.json: mem_limit: 72 and a.json: mem_forward: "800MB": numbers with and without '
                                                 'units; write a.json: mem_limit: "72MB"'),
                             ({"forward_times": [1, "2ms"]}, 'write a.json: forward_times: ["1ms", "2ms"]'),
                             ({"mem_limit": "5parsec"}, "GiB/s and so on"), ({"mem_limit": "abc"}, "not 'abc'"),
                             ({"mem_limit": "72"}, "not '72'"),
                             ({"p2p_time": "5GB"}, "units of time are ns, us, ms, s, min"),
                             ({"embedding": {"mem_static": 5}}, 'write a.json: embedding: mem_static: "5MB"'),
                             ({"head": {"mem_static": "5ms"}}, "TiB")):
            self.write("a.json", {**self.GIVEN, **change})
            self.refuse(line, "schedule", "-c", "a.json")
        self.write("a.json", self.GIVEN)
        self.refuse('mem_forward: "800MB": numbers with and without units; write --mem-limit 72MB', "schedule",
                    "-c", "a.json", "--mem-limit", 72)

    def test_layers(self):
        self.write("layers.json", {"layers": LAYERS})
        words = ("pick", "--num-devices", 2, "-b", 4, "--mem-limit", "20GiB")
        text = self.succeed(*words, "--layers", "layers.json")
        self.assertEqual(headings(text)["peak memory"], "(GiB)")
        self.assertEqual(self.succeed(*words, "--layers", json.dumps(LAYERS)).splitlines()[:4], text.splitlines()[:4])
        self.refuse('write --layers: decoder: mem_static: "2GiB"', *words, "--layers",
                    json.dumps([LAYERS[0], {**LAYERS[1], "mem_static": 2}]))
        self.refuse('write --layers: full: backward_time: "3us"', *words, "--layers",
                    json.dumps([LAYERS[0], {**LAYERS[1], "recompute": [{"name": "full", "backward_time": 3}]}]))

    def test_profile(self):
        self.write("p.json", {"stages": 4, "forward_times": [["1ms", "1.2ms"], "1100us", "1ms", "1ms"], "backward_times": "2ms",
                              "mem_forward": "1GB"})
        self.assertEqual(ppsched.Profile.from_file(self.folder / "p.json").config().units, Units("ms", "GB"))
        words = ("schedule", "--profile", "p.json", "-b", 8)
        self.assertIn(" ms, span", self.succeed(*words))
        self.assertIn("peak 4000 MB", self.succeed(*words, "--mem-forward", "1000MB"))
        self.refuse('--p2p-time 1 and p.json: forward_times: ["1.1ms", "1.1ms", "1ms", "1ms"]: numbers with and '
                    'without units; write --p2p-time 1ms', *words, "--p2p-time", 1)
        self.write("q.json", {"stages": 4, "forward_times": "1ms", "backward_times": 2})
        self.refuse('write the profile: backward_times: "2ms"', "schedule", "--profile", "q.json", "-b", 8)

    def test_traces_know_their_unit(self):
        words = ("schedule", "--strategy", "zbv", "--profile", *TRACES)
        plain = self.succeed(*words, "--p2p-time", 2)
        self.assertNotIn(" ms", plain.splitlines()[0])
        with_units = self.succeed(*words, "--p2p-time", "2000us")
        self.assertEqual(with_units.splitlines()[0].replace(" ms", ""), plain.splitlines()[0])
        memory = self.succeed(*words, "--p2p-time", 2, "--mem-forward", "1GB")
        self.assertEqual(memory.splitlines()[0], plain.splitlines()[0])
        self.assertIn(" GB\n", memory)
        text = self.succeed("schedule", "--strategy", "zbv", "--measured", *TRACES, "--p2p-time", "0.002s")
        self.assertRegex(text, r"makespan [\d.]+ s, span [\s\S]*\nmeasured, mean of 2 iterations: makespan [\d.]+ s, ")


class CopiesTest(unittest.TestCase):
    def test_what_is_given_stays(self):
        """Numbers are made plain in copies; the dictionaries of the caller keep their units."""
        given = {"head": {"forward_time": "2ms", "mem_static": "1GiB"}, "layers": [{"name": "d", "forward_time": "3ms"}], "forward_times": "4ms"}
        made = in_seconds_and_bytes(given, {})
        self.assertEqual((made["head"], made["forward_times"]), ({"forward_time": 0.002, "mem_static": 2**30}, 0.004))
        self.assertEqual(given, {"head": {"forward_time": "2ms", "mem_static": "1GiB"}, "layers": [{"name": "d", "forward_time": "3ms"}],
                                 "forward_times": "4ms"})


class OutputTest(CommandTest):
    def again(self, *words):
        """The schedule's JSON by the command that pick prints, beside what pick says."""
        text = self.succeed("pick", *words)
        (line,) = [line for line in text.splitlines() if line.startswith("ppsched schedule ")]
        (row,) = json.loads(self.succeed("pick", *words, "--json"))
        made = json.loads(self.succeed(*shlex.split(line)[1:], "--format", "json"))
        self.assertEqual((made["metrics"]["makespan"], max(made["metrics"]["peak_memory"]), made["units"]),
                         (row["makespan"], row["peak_memory"], row["units"]), line)
        return line, row

    def test_commands_run_again(self):
        transfers = ("--p2p-bandwidth", "400Gbps", "--activation-bytes", "16MiB")
        line, row = self.again(*SIZES, *TIMES, *MEMORY, *transfers)
        self.assertIn("--forward-times 6.1ms --backward-times 12.2ms --mem-forward 800MB --mem-static 60GB --p2p-time 24us",
                      line)
        self.assertEqual(row["units"], {"time": "ms", "memory": "GB", "bytes": "B"})
        self.again(*SIZES, *TIMES, *MEMORY[:4], "--mem-limits", "0.07TB", "66e3MB", *transfers)
        self.again(*SIZES, *TIMES, *MEMORY, "--chunks", 2, "--embedding", "forward_time=200us", "backward_time=0.4ms",
                   "mem_static=3GB")
        self.again("--num-devices", 2, "-b", 4, "--layers", json.dumps(LAYERS), "--mem-limit", "20GiB")
        self.again("--num-devices", 2, "-b", 4, "--num-layers", 8, "-f", "1ms", "--head", "forward_time=2400us")
        self.write("a.json", {**FileTest.GIVEN, "mem_limits": ["70GiB", "72GB"]})
        self.assertEqual(self.again("-c", "a.json")[1]["units"]["memory"], "GiB")
        self.write("a.json", {**FileTest.GIVEN, "options": {"effort": 1}})
        self.assertIn("--p2p-bandwidth 50000000B/ms --activation-bytes 16777216B", self.again("-c", "a.json")[0])
        self.write("b.json", {"num_devices": 2, "num_batches": 4, "layers": LAYERS, "options": {"effort": 1},
                              "mem_limit": "20GB"})
        self.assertIn('"mem_forward": "0.9GB"', self.again("-c", "b.json")[0])

    def test_texts(self):
        text = self.succeed("schedule", *SIZES, *TIMES, *MEMORY, "--explain")
        self.assertRegex(text, r"^1f1b: makespan [\d.]+ ms, span [\d.]+ ms; bubble .*\ntime ms  0  ")
        self.assertRegex(text, r"\ndevice 0 F0 .*  peak 63.2 GB\n")
        for part in ("if each op of a stage takes 1 ms longer or shorter:", "slack (ms)", " to the makespan, 1 ms less subtracts 6 ms"):
            self.assertIn(part, text)
        lines = self.succeed("schedule", *SIZES, *TIMES, *MEMORY, "--text-columns", 80).splitlines()
        self.assertLessEqual(max(map(len, lines[1:])), 80)
        table = self.succeed("compare", *SIZES, *TIMES, *MEMORY)
        found = headings(table)
        self.assertEqual((found["step time"], found["peak memory"]), ("(ms)", "(GB)"))
        self.assertEqual(headings(self.succeed("compare", *SIZES, *TIMES, *MEMORY, "--mem-limits", "70GB", "66GB"))["limit"], "(GB)")

    def test_refusals(self):
        self.refuse("device 0 needs 63.2 GB memory (at 0F3), over its limit 61 GB; ppsched pick looks for a schedule that needs less", "schedule", *SIZES, *TIMES, *MEMORY[:5],
                    "61GB")
        self.refuse("must hold 60.8 GB for one microbatch; the least limit that works is 60.8 GB", "schedule", "--strategy",
                    "auto", *SIZES,
                    *TIMES, *MEMORY[:5], "60GB")
        self.refuse("the least limit that works is 60.8 GB (zb_auto, which finds no schedule below this limit)", "pick", *SIZES, *TIMES, *MEMORY[:5], "60GB")

    def test_data(self):
        row = json.loads(self.succeed("schedule", *SIZES, *TIMES, "--format", "json"))
        self.assertEqual(row["units"], {"time": "ms", "memory": None, "bytes": None})
        self.assertIsNone(json.loads(self.succeed("schedule", *SIZES, "--format", "json"))["units"])
        rows = json.loads(self.succeed("compare", *SIZES, *TIMES, *MEMORY, "--json"))
        self.assertEqual(rows[0]["units"], {"time": "ms", "memory": "GB", "bytes": None})
        self.assertEqual({row["units"] for row in json.loads(self.succeed("compare", *SIZES, "--json"))}, {None})
        for words, ending in ((TIMES, ",units.time,units.memory,units.bytes,version"), ((), ",fits,version")):
            self.succeed("compare", *SIZES, *words, "-o", "table.csv")
            heading, first = (self.folder / "table.csv").read_text(encoding="utf-8").splitlines()[:2]
            self.assertTrue(heading.endswith(ending), heading)
            self.assertTrue(first.endswith((",ms,," if words else ",true") + f",{ppsched.__version__}"), first)

    def test_traces_and_conversion(self):
        for words, scale in ((TIMES, 1000), ((*TIMES, "--time-scale", 1), 1)):
            events = json.loads(self.succeed("schedule", *SIZES, *words, "--format", "chrome"))["traceEvents"]
            first = next(event for event in events if event["name"] == "0F0")
            self.assertAlmostEqual(first["dur"], 6.1 * scale, delta=6.1 * scale * 2**-19)
            self.assertEqual(first["args"]["end"] - first["args"]["start"], 6.1)
        self.succeed("schedule", *SIZES, "-o", "a.csv")
        self.assertIn("peak 63.2 GB", self.succeed("convert", "a.csv", "--to", "text", *TIMES, *MEMORY))
        self.write("a.json", {"mem_static": 60})
        self.refuse('write a.json: mem_static: "60GB"', "convert", "a.csv", "--to", "text", "-c", "a.json", "--mem-limit",
                    "72GB")

    def test_page(self):
        self.succeed("compare", *SIZES, *TIMES, *MEMORY, "-o", "page.html")
        self.assertIn('"units":{"time":"ms","memory":"GB","bytes":null}',
                      (self.folder / "page.html").read_text(encoding="utf-8"))
        plan = ppsched.plan(ppsched.Config(2, 4, units=Units("s")), strategies=["1f1b"])
        data = report_data(plan)
        self.assertEqual(data["units"], {"time": "s", "memory": None, "bytes": None})
        self.assertEqual(data["timelines"][0]["schedule"]["units"], data["units"])
        plan = ppsched.plan(ppsched.Config(2, 4, forward_times=1, units=Units("s")), strategies=["1f1b"])
        self.assertIn("--forward-times 1s", shlex.join(plan.command(plan[0])))

    @unittest.skipUnless(HAS_MATPLOTLIB, "matplotlib is not installed")
    def test_picture(self):
        line = self.succeed("schedule", *SIZES, *TIMES, *MEMORY, "-o", "a.svg")
        self.assertIn(" ms, span ", line)
        svg = (self.folder / "a.svg").read_text(encoding="utf-8")
        for text in ("time (ms)", "memory (GB)", "limit 72 GB", "device 0: peak 63.2 GB"):
            self.assertIn(f"<!-- {text}", svg.replace("<!--  ", "<!-- "))


class HelpTest(CommandTest):
    def test_defaults_and_units(self):
        text = " ".join(self.succeed("schedule", "--help", "all").split())
        for part in ("time of a forward, per stage (default: 1)", "time of a full backward, per stage (default: 2)",
                     "its activations), per stage (default: 1)",
                     "such as 1 2 3 or 1,2,3", "Give units to all numbers, such as 6.1ms, 72GB, 400Gbps, or to none of them"):
            self.assertIn(part, text)


if __name__ == "__main__":
    unittest.main()
