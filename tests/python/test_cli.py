# SPDX-License-Identifier: Apache-2.0
"""The command line, as a user meets it: outputs, exit codes, one-line errors, no partial files."""
import contextlib
import csv
import fcntl
import io
import importlib.util
import json
import os
import pathlib
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import unittest
from unittest import mock

from in_process import run_command

import ppsched
from ppsched import published
from ppsched.command import running
from ppsched.command.commands import COMMANDS

HERE = pathlib.Path(__file__).resolve().parent

HAS_YAML = importlib.util.find_spec("yaml") is not None
HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None


def run(*words, cwd=None):
    return run_command(words, cwd)


class CommandTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)
        self.addCleanup(self._folder.cleanup)

    def succeed(self, *words, cwd=None):
        result = run(*words, cwd=cwd)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def fail_with(self, code, part, *words):
        result = run(*words)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertIn(part, result.stderr)
        if code == 1:
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        self.assertNotIn("Traceback", result.stderr)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path


class ScheduleTest(CommandTest):
    def test_example_of_the_older_tool(self):
        text = self.succeed("schedule", "--num-stages", 4, "--num-batches", 8)
        self.assertTrue(text.startswith("1f1b: makespan 33, span 33; bubble 0.272727 of total"))
        self.assertEqual(len(text.splitlines()), 6)

    def test_rows_into_a_pipe_are_as_wide_as_the_terminal(self):
        words = [sys.executable, "-m", "ppsched", "schedule", "-s", "4", "-b", "99", "--quiet"]
        screen, device = pty.openpty()
        self.addCleanup(os.close, screen)
        fcntl.ioctl(device, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 110, 0, 0))
        result = subprocess.run(words, stdout=subprocess.PIPE, stderr=device, text=True, check=True)
        os.close(device)
        self.assertEqual(max(map(len, result.stdout.splitlines())), 110)
        given = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "90"})
        self.assertEqual((max(map(len, given.stdout.splitlines()[2:])), given.stderr), (90, ""))

    def test_rows_without_a_terminal_are_whole_and_say_how_they_get_narrower(self):
        result = run("schedule", "-s", 4, "-b", 99)
        *rows, note = result.stdout.splitlines()
        self.assertGreater(len(rows[2]), 1000)
        self.assertEqual((note, result.stderr),
                         (f"lines have up to {max(map(len, rows))} columns; --text-columns N makes them shorter", ""))
        path = self.folder / "rows.txt"
        self.assertEqual(self.succeed("schedule", "-s", 4, "-b", 99, "-o", path), "")
        self.assertEqual(path.read_text(encoding="utf-8").splitlines(), [*rows, f"ppsched {ppsched.__version__}"])
        for words in (("convert", self.write("a.csv", self.succeed("schedule", "-s", 4, "-b", 99, "--format", "csv")), "--to", "text"),
                      ("pick", "--num-devices", 4, "-b", 99, "--strategies", "1f1b", "--format", "text")):
            self.assertIn("--text-columns N makes them shorter\n", run(*words).stdout[-60:])

    def test_explain(self):
        words = ("schedule", "-s", "4", "-b", "6", "-f", "1", "1", "2", "1", "-bw", "2", "2", "4", "2", "--explain")
        result = run(*words)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("critical path, 17 ops:\n  device 0: 0F0\n", result.stdout)
        self.assertRegex(result.stdout, r"\nstage 2 on device 2 bounds the makespan: 1 unit more in each of its ops adds \d+ to the makespan, 1 unit less subtracts 11\n")
        row = json.loads(run(*words, "--format", "json").stdout)
        self.assertEqual(row["explain"]["critical_path"][-1]["end"], row["metrics"]["makespan"])
        self.assertEqual(row["explain"]["relief"]["makespan"]["stage"], 2)
        self.assertEqual(run(*words, "--format", "csv").returncode, 2)
        self.assertIn("a timeline with transfers has no critical path", run(*words, "--lower", "pytorch").stderr)

    def test_ops_stay_in_the_library(self):
        """Whatever the size: the command makes no Python object of each op."""
        from ppsched._core import schedule
        from ppsched.command import cli
        with mock.patch.object(schedule, "from_record", side_effect=AssertionError("an op")), contextlib.redirect_stdout(io.StringIO()) as output:
            for words in (["--format", "csv"], ["--format", "json"], ["--format", "chrome"], [], ["--lower", "pytorch"], ["--lower", "pytorch", "--channel", "pair"],
                          ["--lower", "by_time", "--format", "json"], ["--launch", "torchtitan"], ["--launch", "megatron"]):
                self.assertEqual(cli.main(["schedule", "-s", "4", "-b", "8", *words]), 0)
            self.assertEqual(cli.main(["compare", "--num-devices", "4", "-b", "8"]), 0)
            self.assertEqual(cli.main(["pick", "--num-devices", "4", "-b", "8"]), 0)
        self.assertTrue(output.getvalue())

    def test_texts_are_handed_over_in_pieces(self):
        """However large the schedule is, Python holds a small part of its text."""
        config = ppsched.Config(devices=4, microbatches=500, forward_times=1.25, units=ppsched.Units(time="ms"))
        named = ppsched.Schedule.from_queues(config, ppsched.generate("1f1b", config).queues, name="\u00e9\u20ac" * 30)
        named.config.microbatch_order = (*range(1, 500), 0)
        timeline = named.evaluate()
        for format in ("csv", "json", "chrome", "deepspeed"):
            pieces = []
            timeline._stream(format, pieces.append)
            self.assertLess(max(map(len, pieces)), 20000, format)
            self.assertEqual(b"".join(pieces).decode("utf-8"), timeline.export(format))
        self.assertEqual(json.loads(timeline.export("json"))["microbatch_order"][-1], 0)
        words = ("schedule", "-s", 4, "-b", 500, "-f", 1.25, "--time-unit", "ms")
        with mock.patch.object(ppsched.Timeline, "export", side_effect=AssertionError("a whole text")):
            for format in ("csv", "json", "chrome"):
                path = self.folder / f"pieces.{format}"
                self.assertEqual(run(*words, "--format", format, "-o", path).returncode, 0)
                printed, stamp = run(*words, "--format", format).stdout, f'{{"version": "{ppsched.__version__}", '
                written = path.read_text(encoding="utf-8")
                self.assertEqual(printed, written if format == "csv" else written.replace(stamp, "{", 1))

    def test_help_is_the_same_whatever_is_loaded(self):
        every = running.parser_of()
        self.assertEqual(run("--help").stdout, every.format_help())
        self.assertEqual(running.parser_of(()).format_help(), every.format_help())
        for name in COMMANDS:
            result = run(name, "--help").stdout
            self.assertTrue(result.startswith(f"usage: ppsched {name} "), name)
            self.assertGreater(result.count("\n  -"), 2, name)

    def test_explanations_are_short(self):
        """At most 30 lines, the answer first, however large the schedule is."""
        for words in ((80, 64, *[1] * 79, 1.7), (300, 8, 1), (3, 500, 1, 2, 1)):
            size = {"-s": words[0], "-b": words[1]}
            text = run("schedule", *(str(word) for pair in size.items() for word in pair), "-f", *map(str, words[2:]), "--explain").stdout
            lines = text[text.index("\nstage " if "\nstage " in text else "\nno stage ") + 1:].splitlines()
            self.assertLessEqual(len(lines), 30)
            self.assertLess(max(map(len, lines)), 140)
        self.assertIn("stage 1 on device 1 bounds the makespan", text)
        self.assertRegex(text, r"0F7? \.\.\. .* ops\)|1F\d+ \.\.\. 1\w+ \(\d+ ops\)")

    def test_json(self):
        result = json.loads(self.succeed("schedule", "--strategy", "zb_h1", "-s", 4, "-b", 6, "--format", "json"))
        self.assertEqual((result["strategy"], result["devices"], result["stages"], result["microbatches"], result["iterations"]),
                         ("zb_h1", 4, 4, 6, 1))
        self.assertEqual(result["queues"][3]["ops"][:4], ["3F0", "3I0", "3F1", "3I1"])
        self.assertEqual(result["queues"][3]["start"][:4], [3, 4, 5, 6])
        self.assertEqual(set(result["metrics"]), {"makespan", "span", "bubble", "busy", "idle", "peak_memory"})
        self.assertEqual(set(result["metrics"]["bubble"]), {"of_total", "of_ideal", "of_span"})

    def test_search(self):
        words = ("schedule", "--strategy", "auto", "--num-devices", 4, "-s", 8, "-b", 8, "--mem-limit", 5, "--set", "placement=v",
                 "--set", "effort=2")
        result = json.loads(self.succeed(*words, "--set", "objective=makespan", "--format", "json"))
        self.assertEqual((result["strategy"], result["placement"]), ("auto", "v"))
        self.assertEqual(set(result["metrics"]), {"makespan", "span", "bubble", "busy", "idle", "peak_memory"})
        self.assertLessEqual(max(result["metrics"]["peak_memory"]), 5)
        self.fail_with(1, "it must be span, makespan, mean_end, quantile_end or throughput", *words, "--set", "objective=time")
        self.fail_with(1, "the least limit that works is 2", *words, "--mem-limit", 1)

    def test_csv(self):
        rows = list(csv.reader(io.StringIO(self.succeed("schedule", "-s", 2, "-b", 2, "--format", "csv"))))
        self.assertEqual(rows, [["0F0", "0F1", "0B0", "0B1"], ["1F0", "1B0", "1F1", "1B1"]])

    def test_all_options_of_the_problem(self):
        words = ["schedule", "--strategy", "interleaved_1f1b", "--num-devices", 2, "-s", 4, "-b", 4, "--set", "group_size=4", "-f", 1,
                 2, 1, 2, "-bw", 3, "--p2p-time", 0, 0.5, 0.25, 0, "--iterations", 2, "--mem-forward", 2, "--mem-backward-input", -1,
                 "--mem-backward-weight", -1, "--mem-static", 10, "--mem-weights", 1, "--mem-limit", 100, "--format", "json"]
        result = json.loads(self.succeed(*words))
        self.assertEqual(result["queues"][0]["ops"][:8], ["0F0", "0F1", "0F2", "0F3", "2F0", "2F1", "2F2", "2B0"])
        self.assertEqual(result["queues"][1]["start"][0], 1.5)
        self.assertEqual(result["metrics"]["peak_memory"][1], 22 + 5 * 2)

    def test_json_trace(self):
        path = self.folder / "a.trace.json"
        self.assertEqual(self.succeed("schedule", "-s", 2, "-b", 2, "-o", path), "")
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        names = {event["args"]["name"] for event in events if event["ph"] == "M" and event["name"] == "thread_name"}
        self.assertEqual(names, {"device 0", "device 1"})
        for device in (0, 1):
            spans = [(event["ts"], event["ts"] + event["dur"]) for event in events if event["ph"] == "X" and event["tid"] == device]
            self.assertEqual(len(spans), 4)
            self.assertTrue(all(a[1] <= b[0] for a, b in zip(spans, spans[1:])))
        counters = [event for event in events if event["ph"] == "C"]
        self.assertEqual(max(event["args"]["memory"] for event in counters), 2)
        self.assertEqual({event["name"] for event in counters}, {"memory of device 0", "memory of device 1"})

    def test_megatron(self):
        words = ["schedule", "--strategy", "vpp", "--num-devices", 2, "-s", 4, "-b", 4, "--format", "megatron"]
        result = json.loads(self.succeed(*words))
        self.assertEqual(result["arguments"], ["--pipeline-model-parallel-size", "2", "--num-virtual-stages-per-pipeline-rank", "2",
                                               "--microbatch-group-size-per-virtual-pipeline-stage", "2"])
        self.assertEqual(result["schedule_table"][:3], [[0, 0], [1, 0], [0, 1]])
        self.assertEqual(result["num_warmup_microbatches"], [4, 2])
        self.assertEqual(result["_order"][1][:6], [1, 1, 2, -2, 2, -2])
        self.fail_with(1, "device 0 has 0F2 at position 2, where Megatron-LM would run 0B0", "schedule", "--strategy", "gpipe",
                       "-s", 2, "-b", 4, "--format", "megatron")

    def test_deepspeed(self):
        text = self.succeed("schedule", "-s", 2, "-b", 1, "--format", "deepspeed")
        self.assertEqual(text.splitlines()[1], "rank 1 2 - | RecvActivation:0 LoadMicroBatch:0 ForwardPass:0 | BackwardPass:0 | "
                                               "SendGrad:0 ReduceTiedGrads ReduceGrads OptimizerStep")
        self.fail_with(1, "one stage per device", "schedule", "--strategy", "zbv", "--num-devices", 2, "-s", 4, "-b", 4,
                       "--format", "deepspeed")

    def test_forwards_alone(self):
        """A file that lost all its backwards, or one of inference; one that lost some of them is not complete."""
        for strategy, stages, words in (("gpipe", 2, ()), ("looped_bfs", 4, ()), ("interleaved_1f1b", 4, ()), ("zbv", 4, ()), ("1f1b", 2, ()),
                                        ("zb_h1", 2, ()), ("zbv", 4, ("--lower", "just_in_time"))):
            path = self.folder / "whole.csv"
            self.succeed("schedule", "--strategy", strategy, "--num-devices", 2, "-s", stages, "-b", 4, *words, "-o", path)
            rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
            self.assertNotIn("forwards only", self.succeed("check", path))
            self.assertIs(json.loads(self.succeed("check", path, "--json"))["forward_only"], False)
            kept = ("F", "SEND_F", "RECV_F")
            lost = [[cell for cell in row if cell.strip("0123456789") in kept] for row in rows]
            alone = self.folder / "alone.csv"
            alone.write_text("".join(",".join(row) + "\n" for row in lost), encoding="utf-8")
            self.assertRegex(self.succeed("check", alone), r"^ok: custom: .* ops, forwards only\n")
            row = json.loads(self.succeed("check", alone, "--json"))
            self.assertIs(row["forward_only"], True)
            self.assertIs(row["valid"], True)
            result = run("convert", alone, "--to", "json")
            self.assertEqual((result.returncode, result.stderr), (0, f"ppsched convert: note: {alone} has only forwards, no backward\n"))
            schedule = ppsched.read(alone)
            self.assertTrue(schedule.forward_only and schedule.config.forward_only)
            self.assertLessEqual(ppsched.lower_bound(schedule.config).value, schedule.evaluate().metrics.makespan)
            some = [[cell for cell in row if "B0" not in cell and "I0" not in cell] for row in rows]
            alone.write_text("".join(",".join(row) + "\n" for row in some), encoding="utf-8")
            self.assertEqual(run("check", alone).returncode, 1)
            self.assertFalse(ppsched.read(alone).forward_only)

    def test_columns_and_time_scale(self):
        text = self.succeed("schedule", "-s", 4, "-b", 32, "--text-columns", 80)
        self.assertTrue(all(len(line) <= 80 for line in text.splitlines()[1:]))
        trace = json.loads(self.succeed("schedule", "-s", 2, "-b", 2, "--format", "chrome", "--time-scale", 1000))
        self.assertEqual(max(event.get("ts", 0) for event in trace["traceEvents"]), 9000)
        self.fail_with(1, "time_scale is -1", "schedule", "-s", 2, "-b", 2, "--format", "chrome", "--time-scale", -1)

    def test_output_by_ending(self):
        for ending, start in ((".csv", "0F0,0F1"), (".json", f'{{"version": "{ppsched.__version__}", "strategy"'), (".txt", "1f1b: makespan")):
            path = self.folder / f"out{ending}"
            self.assertEqual(self.succeed("schedule", "-s", 2, "-b", 2, "-o", path), "")
            self.assertTrue(path.read_text(encoding="utf-8").startswith(start))
        self.fail_with(2, "unknown ending", "schedule", "-s", 2, "-b", 2, "-o", self.folder / "out.xyz")

    def test_times_are_exact(self):
        result = json.loads(self.succeed("schedule", "-s", 1, "-b", 3, "-f", 0.1, "-bw", 0.2, "--format", "json"))
        self.assertEqual(result["queues"][0]["end"][-1], 0.1 + 0.2 + 0.1 + 0.2 + 0.1 + 0.2)

    @unittest.skipUnless(HAS_MATPLOTLIB, "matplotlib is not installed")
    def test_pictures(self):
        for ending, start in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
            path = self.folder / f"out{ending}"
            text = self.succeed("schedule", "-s", 2, "-b", 2, "-o", path)
            self.assertEqual(text, "1f1b: makespan 9, span 9; bubble 0.333333 of total, 0.5 of ideal, 0.333333 of span\n")
            self.assertTrue(path.read_bytes().startswith(start))

    def test_no_visualization(self):
        path = self.folder / "out.png"
        self.succeed("schedule", "-s", 2, "-b", 2, "-o", path, "--no-visualization")
        self.assertFalse(path.exists())


class StandardStreamsTest(CommandTest):
    """Who reads the output may go away, the disk may be full, a stream closed: the exit code and the reason stay."""

    def shell(self, script, unbuffered=False):
        environment = {**os.environ, "PPSCHED": f"{sys.executable} -m ppsched"}
        environment.pop("PYTHONUNBUFFERED", None)
        if unbuffered:
            environment["PYTHONUNBUFFERED"] = "1"
        return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=self.folder, env=environment)

    def test_closed_and_full(self):
        self.write("bad.csv", "0F0,0F1,0B0\n1F0,1B0,1F1,1B1\n")
        for unbuffered in (False, True):
            for script in ("(sleep 0.1; $PPSCHED check bad.csv; echo rc=$? >&2) | true", "$PPSCHED check bad.csv >/dev/full; echo rc=$? >&2",
                           "(sleep 0.1; $PPSCHED compare -s 4 -b 8 --mem-limit 0.1; echo rc=$? >&2) | true"):
                result = self.shell(script, unbuffered)
                self.assertEqual(result.stderr.splitlines()[-1], "rc=1", script)
                self.assertEqual(len(result.stderr.splitlines()), 2, result.stderr)
            result = self.shell("(sleep 0.1; $PPSCHED schedule -s 4 -b 8 --quiet; echo rc=$? >&2) | true", unbuffered)
            self.assertEqual(result.stderr, "rc=0\n")
            result = self.shell("$PPSCHED schedule -s 4 -b 8 >/dev/full; echo rc=$? >&2", unbuffered)
            self.assertIn("No space left on device\nrc=1\n", result.stderr)
        self.assertEqual(self.shell("$PPSCHED check - --from csv <&-").stderr, "ppsched check: cannot read -: standard input is closed\n")
        result = self.shell("$PPSCHED check bad.csv --json 2>&-")
        self.assertEqual((result.returncode, json.loads(result.stdout)["valid"]), (1, False))

    def test_output_to_descriptors(self):
        self.write("log", "OLD\n")
        self.assertEqual(self.shell("$PPSCHED schedule -s 1 -b 1 --format csv -o /dev/stdout | cat").stdout, "0F0,0B0\n")
        result = self.shell("$PPSCHED schedule -s 1 -b 1 --format csv -o /dev/stdout >>log")
        self.assertEqual(result.returncode, 1)
        self.assertIn("a file that is open already", result.stderr)
        self.assertEqual((self.folder / "log").read_text(encoding="utf-8"), "OLD\n")

    def test_a_file_keeps_its_mode(self):
        path = self.write("a.csv", "")
        path.chmod(0o600)
        self.succeed("schedule", "-s", 1, "-b", 1, "-o", path)
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)

    def test_narrow_encodings(self):
        self.write("a.json", json.dumps({"strategy": "é中", "devices": 1, "stages": 1, "microbatches": 1, "iterations": 1,
                                         "queues": [{"device": 0, "ops": ["0F0", "0B0"]}]}))
        result = self.shell("PYTHONIOENCODING=ascii $PPSCHED check a.json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertTrue(result.stdout.startswith("ok: \\xe9\\u4e2d: 1 device"), result.stdout)

    def test_profile_from_a_pipe(self):
        self.write("profile.json", json.dumps({"stages": 2, "forward_times": [1, 2], "backward_times": [2, 4]}))
        result = self.shell("$PPSCHED schedule -b 2 --format csv --profile <(cat profile.json)")
        self.assertEqual((result.returncode, result.stderr, result.stdout), (0, "", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"))


class ConfigFileTest(CommandTest):
    def test_sample_files_of_the_older_tool(self):
        for name, good in (("sample_config.json", True), ("sample_config.yaml", HAS_YAML)):
            if not good:
                continue
            text = self.succeed("schedule", "-c", HERE / name, "--no-visualization", "--format", "text", "--text-columns", 90, cwd=self.folder)
            self.assertIn("1f1b: makespan", text)

    @unittest.skipUnless(HAS_MATPLOTLIB and HAS_YAML, "matplotlib or PyYAML is not installed")
    def test_sample_files_draw(self):
        for name, picture in (("sample_config.json", "pipeline_1f1b_custom.png"), ("sample_config.yaml", "pipeline_1f1b_yaml.png")):
            self.succeed("schedule", "--config", HERE / name, cwd=self.folder)
            self.assertTrue((self.folder / picture).read_bytes().startswith(b"\x89PNG"))

    def test_command_line_goes_over_the_file(self):
        path = self.write("a.json", '{"num_stages": 2, "num_batches": 2, "strategy": "interleaved_1f1b", "options": {"group_size": 1}}')
        result = json.loads(self.succeed("schedule", "-c", path, "-b", 3, "--set", "group_size=3", "--format", "json"))
        self.assertEqual((result["strategy"], result["microbatches"]), ("interleaved_1f1b", 3))

    @unittest.skipUnless(HAS_YAML, "PyYAML is not installed")
    def test_yaml_numbers_with_exponents(self):
        path = self.write("a.yaml", "num_stages: 1\nnum_batches: 1\nforward_times: 1e-3\nbackward_times: [2E-3]\n")
        result = json.loads(self.succeed("schedule", "-c", path, "--format", "json"))
        self.assertEqual(result["metrics"]["makespan"], 0.003)

    def test_matrix_and_placement(self):
        path = self.write("a.json", '{"num_devices": 2, "num_batches": 1, "p2p_time": [[0, 5], [7, 0]], "placement": "linear"}')
        result = json.loads(self.succeed("schedule", "-c", path, "--strategy", "gpipe", "--format", "json"))
        self.assertEqual(result["metrics"]["makespan"], 18)

    def test_bad_files(self):
        cases = (
            ("a.json", '{"num_stages": 2,\n "num_batches": }', "a.json, line 2, column 17: broken JSON"),
            ("a.json", '{"num_stage": 2, "num_batches": 2}', "unknown key 'num_stage'; did you mean num_stages?"),
            ("a.json", '{"num_stages": "2", "num_batches": 2}', "num_stages must be an integer, not '2'"),
            ("a.json", '{"num_stages": 2, "num_stages": 2}', "key 'num_stages' occurs twice"),
            ("a.json", "[1]", "must hold a mapping"),
            ("a.json", '{"num_stages": 2, "num_batches": 2, "forward_times": ["1"]}', "forward_times must hold numbers, not '1'"),
            ("a.json", '{"num_stages": 2, "num_batches": 2, "forward_times": [NaN, 1]}', "forward_times of stage 0 is NaN"),
            ("a.json", '{"num_stages": 2, "num_batches": 2, "forward_times": [1, 1, 1]}', "give 1 for all stages or 2"),
            ("a.json", '{"num_stages": ' + "9" * 5000 + "}", "a.json: "),
            ("a.json", '{"num_stages": 2, "num_batches": 2, "strategy": "1f1b\\u0000"}', "contains a NUL character"),
            ("a.json", '{"num_stages": 2, "num_batches": 2, "strategy": "\\ud800"}', "is not valid Unicode"),
            ("a.json", "[" * 100000, "nested too deeply"),
            ("a.json", '{"num_stages": 99999999999999999999, "num_batches": 2}', "out of range for the library's integers"),
        )
        for name, text, part in cases:
            with self.subTest(text=text[:60]):
                self.fail_with(1, part, "schedule", "-c", self.write(name, text))
        self.fail_with(1, "cannot read", "schedule", "-c", self.folder / "none.json")
        (self.folder / "b.json").write_bytes(b'{"\xff": 1}')
        self.fail_with(1, "is not UTF-8", "schedule", "-c", self.folder / "b.json")

    @unittest.skipUnless(HAS_YAML, "PyYAML is not installed")
    def test_bad_yaml(self):
        path = self.write("a.yaml", "num_stages: 2\nnum_batches: [1,\n")
        self.fail_with(1, "a.yaml, line 3, column 1: broken YAML", "schedule", "-c", path)
        for text, part in (("num_stages: 4\nnum_stages: 5\n", "'num_stages' occurs twice"), ("strategy: 2001-99-99\n", "a.yaml: "),
                           ('a: !!bool "x"\n', "a.yaml: "), ('a: !!int ""\n', "a.yaml: "), ("a: 1" + ":1" * 200 + ".5\n", "a.yaml: "), ("num_stages: " + "9" * 5000 + "\n", "a.yaml, line 1, column 13: ")):
            self.fail_with(1, part, "schedule", "-c", self.write("a.yaml", text))


class BadInputTest(CommandTest):
    def test_refused_or_invalid(self):
        cases = (
            ("number of devices is 0", "-s", 0, "-b", 8),
            ("number of microbatches is -3", "-s", 4, "-b", -3),
            ("number of devices is 2147483648", "-s", 2**31, "-b", 8),
            ("is above the largest supported", "-s", 65535, "-b", 65535),
            ("out of range for the library's integers", "-s", 2**70, "-b", 8),
            ("iterations is 0", "-s", 4, "-b", 8, "--iterations", 0),
            ("nearest: 4 or 8 stages", "--strategy", "interleaved_1f1b", "-s", 6, "--num-devices", 4, "-b", 8),
            ("give 1 for all stages or 4", "-s", 4, "-b", 8, "-f", 1, 2),
            ("forward_times (value 0) is NaN", "-s", 4, "-b", 8, "-f", "nan"),
            ("is Infinity", "-s", 4, "-b", 8, "--p2p-time", "inf"),
            ("is -1; it must be finite and at least 0", "-s", 4, "-b", 8, "-bw", -1),
            ("did you mean 1f1b?", "--strategy", "1f1", "-s", 4, "-b", 8),
            ("1f1b has no option \"group_size\"", "-s", 4, "-b", 8, "--set", "group_size=2"),
            ("did you mean group_size?", "--strategy", "vpp", "-s", 4, "-b", 8, "--set", "group=2"),
            ("device 0 needs 4 memory (at 0F3), over its limit 3", "-s", 4, "-b", 8, "--mem-limit", 3),
            ("would deadlock", "--strategy", "vpp", "-s", 12, "--num-devices", 4, "-b", 5),
        )
        for part, *words in cases:
            with self.subTest(words=words):
                self.fail_with(1, part, "schedule", *words)

    def test_usage(self):
        cases = (
            ("is not an integer", "-s", "four", "-b", 8),
            ("give --devices, or --stages, ", "-b", 8),
            ("give --microbatches, ", "-s", 4),
            ("must be KEY=VALUE", "-s", 4, "-b", 8, "--set", "group_size"),
            ("unknown option --num-micro; did you mean --num-microbatches?", "-s", 4, "-b", 8, "--num-micro", 3),
            ("invalid choice", "-s", 4, "-b", 8, "--format", "xml"),
        )
        for part, *words in cases:
            with self.subTest(words=words):
                self.fail_with(2, part, "schedule", *words)
        self.fail_with(2, "unknown command pik; did you mean pick?", "pik")

    def test_unwritable_output(self):
        before = sorted(os.listdir(self.folder))
        for path in (self.folder / "none" / "a.json", self.folder / "a.csv"):
            if path.suffix == ".csv":
                path.mkdir()
                before = sorted(os.listdir(self.folder))
            self.fail_with(1, "cannot write", "schedule", "-s", 2, "-b", 2, "-o", path)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def test_full_device(self):
        self.fail_with(1, "No space left", "schedule", "-s", 2, "-b", 2, "-o", "/dev/full", "--format", "csv")
        with open("/dev/full", "w", encoding="utf-8") as full:
            result = subprocess.run([sys.executable, "-m", "ppsched", "schedule", "-s", "2", "-b", "2"], stdout=full,
                                    stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)

    def test_words_that_are_no_text(self):
        for words in (["--strategy", b"\xff"], ["--set", b"\xff=1"]):
            result = subprocess.run([sys.executable, "-m", "ppsched", "schedule", "-s", "2", "-b", "2", *words],
                                    capture_output=True, check=False)
            self.assertEqual((result.returncode, result.stderr.count(b"\n")), (1, 1), result.stderr)

    def test_negative_numbers_with_exponents(self):
        self.succeed("schedule", "-s", 2, "-b", 2, "--mem-backward-input", "-1e-3", "-2.5E-1")

    def test_extreme_times_end(self):
        for time in ("1e-310", "1e306", "5e-324"):
            text = self.succeed("schedule", "-s", 2, "-b", 2, "-f", time, "-bw", time)
            self.assertEqual(len(text.splitlines()), 4)
        self.fail_with(1, "too large for a double", "schedule", "-s", 4, "-b", 1, "-f", "1.5e307", "-bw", "2e307")
        self.fail_with(1, "too large for a double", "schedule", "-s", 2, "-b", 8, "--mem-forward", "1e308")

    def test_limits_allow_for_rounding(self):
        self.succeed("schedule", "-s", 8, "-b", 8, "--mem-forward", 0.7, "--mem-limit", 5.6)
        self.succeed("schedule", "-s", 2, "-b", 2, "-bw", 0.3, "--backward-input-times", 0.30000000000000004)

    def test_output_through_a_link(self):
        target, link = self.write("target.csv", "old"), self.folder / "link.csv"
        link.symlink_to(target)
        self.succeed("schedule", "-s", 2, "-b", 2, "-o", link)
        self.assertTrue(link.is_symlink() and target.read_text(encoding="utf-8").startswith("0F0"))

    def test_output_on_a_circle_of_links(self):
        """One line, and the links stay; a link to what is not there yet makes it; also where a folder on the way is one."""
        one, other, self_link = (self.folder / name for name in ("one", "other", "self"))
        one.symlink_to(other)
        other.symlink_to(one)
        self_link.symlink_to(self_link)
        before = sorted(path.name for path in self.folder.iterdir())
        for ending in (".csv", ".json", ".trace.json", *([".svg", ".png"] if HAS_MATPLOTLIB else [])):
            circle = self.folder / f"circle{ending}"
            circle.symlink_to(circle)
            for path in (circle, one / f"x{ending}", self_link / "folder" / f"x{ending}"):
                self.fail_with(1, "Too many levels of symbolic links", "schedule", "-s", 2, "-b", 2, "-o", path)
            self.assertTrue(circle.is_symlink())
            circle.unlink()
        circle = self.folder / "t.csv"
        circle.symlink_to(circle)
        answer = self.folder / "t.txt"
        answer.symlink_to(answer)
        page = self.folder / "page.html"
        page.symlink_to(page)
        whole = self.write("whole.csv", "0F0,0B0\n1F0,1B0\n")
        for words in (("compare", "-s", 2, "-b", 2, "-o", circle), ("convert", whole, "--to", "csv", "-o", circle),
                      ("convert", whole, "-o", page), ("check", whole, "-o", answer),
                      ("schedule", "-s", 2, "-b", 2, "--launch", "pytorch", "-o", circle)):
            result = run(*words)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1), result.stderr)
            self.assertIn("Too many levels of symbolic links", result.stderr)
            self.assertTrue(circle.is_symlink() and page.is_symlink())
        circle.unlink()
        page.unlink()
        answer.unlink()
        (self.folder / "p.1.et").symlink_to(self.folder / "p.1.et")
        self.fail_with(1, "Too many levels of symbolic links", "convert", whole, "--lower", "just_in_time", "--to", "chakra", "-o", self.folder / "p")
        (self.folder / "p.1.et").unlink()
        whole.unlink()
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)
        dangling = self.folder / "dangling.csv"
        dangling.symlink_to(self.folder / "target.csv")
        self.succeed("schedule", "-s", 2, "-b", 2, "-o", dangling)
        self.assertTrue(dangling.is_symlink() and (self.folder / "target.csv").read_text(encoding="utf-8").startswith("0F0"))

    def test_output_has_the_modes_of_others(self):
        """A new file has what the mask leaves, an old one keeps its own; the mask itself is never another, for other threads' files."""
        masks = []
        with mock.patch("os.umask", side_effect=masks.append):
            for mode in (None, 0o600, 0o640, 0o444):
                path = self.folder / f"{mode}.csv"
                if mode is not None:
                    path.write_text("old", encoding="utf-8")
                    path.chmod(mode)
                self.succeed("schedule", "-s", 2, "-b", 2, "-o", path)
                self.assertEqual(path.stat().st_mode & 0o777, mode if mode is not None else 0o666 & ~int(
                    next(line for line in pathlib.Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
                         if line.startswith("Umask")).split()[1], 8))
        self.assertEqual(masks, [])

    def test_refusal_leaves_the_old_file(self):
        path = self.write("a.json", "old")
        self.fail_with(1, "did you mean", "schedule", "--strategy", "gpip", "-s", 2, "-b", 2, "-o", path)
        self.assertEqual(path.read_text(encoding="utf-8"), "old")


class CheckTest(CommandTest):
    def test_good_files(self):
        for ending, name in (("csv", "custom"), ("json", "zbv")):
            path = self.folder / f"a.{ending}"
            self.succeed("schedule", "--strategy", "zbv", "--num-devices", 2, "-s", 4, "-b", 1, "-o", path)
            text = self.succeed("check", path)
            self.assertEqual(text, f"ok: {name}: 2 devices, 4 stages, 1 microbatch, 1 iteration, v placement, 12 ops\n")
        row = json.loads(self.succeed("check", path, "--json"))
        self.assertEqual((row["valid"], row["strategy"], row["stages"], row["findings"]), (True, "zbv", 4, []))
        path.rename(self.folder / "a.x")
        self.assertTrue(self.succeed("check", self.folder / "a.x", "--from", "json").startswith("ok: zbv: "))

    def test_names_do_not_steer_terminals(self):
        path = self.write("a.json", json.dumps({"strategy": "a\nok\x1b[31m\x9b", "devices": 1, "stages": 1, "microbatches": 1,
                                                "iterations": 1, "queues": [{"device": 0, "ops": ["0F0", "0B0"]}]}))
        self.assertTrue(self.succeed("check", path).startswith("ok: a?ok?[31m?: 1 device, "))
        self.assertTrue(self.succeed("convert", path, "--to", "text").startswith("a?ok?[31m"))
        self.fail_with(1, "a?ok?[31m?: device 0 needs 1 memory", "convert", path, "--to", "text", "--mem-limit", 0.5)

    def test_findings(self):
        path = self.write("a.csv", "0F0,0F1,0B0\n1F0,1B0,1F1,1B1\n")
        result = run("check", path)
        self.assertEqual((result.returncode, result.stdout), (1, "device 0: 0B1 is missing\n"))
        self.assertEqual(result.stderr, f"ppsched check: {path}: 1 finding; first: device 0: 0B1 is missing\n")
        result = run("check", path, "--json")
        row = json.loads(result.stdout)
        self.assertEqual((result.returncode, row["valid"], row["ops"]), (1, False, 7))
        self.assertEqual(row["findings"], [{"kind": "missing", "device": 0, "position": None, "op": "0B1", "other_device": None,
                                            "other_position": None, "other": None, "text": "device 0: 0B1 is missing"}])
        path = self.write("a.csv", "0F0,0B0,0F1,0B1\n1F0,1F1,1B0,1B1\n")
        result = run("check", path)
        self.assertEqual((result.returncode, len(result.stdout.splitlines()), result.stderr.count("\n")), (1, 2, 1))

    def test_unreadable_files(self):
        path = self.write("a.csv", "0F0,0BW0\n")
        self.fail_with(1, f'{path}: rank 0, column 1: cannot read "0BW0"', "check", path)
        result = run("check", path, "--json")
        row = json.loads(result.stdout)
        self.assertEqual((result.returncode, row["valid"], row["error"]["status"], row["error"]["device"], row["error"]["position"]),
                         (1, False, "error_syntax", 0, 1))
        self.fail_with(1, "line 1, column 1: expected an object", "check", self.write("a.json", "[1]"))
        self.fail_with(1, "cannot read", "check", self.folder / "none.csv")
        self.fail_with(1, "cannot read", "check", self.folder, "--from", "csv")
        self.fail_with(2, "unknown ending", "check", self.folder / "a.txt")
        self.fail_with(2, "needs --from", "check", "-")

    def test_standard_input(self):
        result = subprocess.run([sys.executable, "-m", "ppsched", "check", "-", "--from", "csv"], input="0F0,0B0", capture_output=True,
                                text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


class ConvertTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.path = self.folder / "a.json"
        self.succeed("schedule", "--strategy", "zb_h1", "-s", 2, "-b", 3, "-o", self.path)

    def test_formats(self):
        table = self.succeed("convert", self.path, "--to", "csv")
        self.assertEqual(table, self.succeed("schedule", "--strategy", "zb_h1", "-s", 2, "-b", 3, "--format", "csv"))
        path = self.write("a.csv", table)
        converted = json.loads(self.succeed("convert", self.path, "--to", "json"))
        self.assertEqual({"version": ppsched.__version__, **converted}, json.loads(self.path.read_text(encoding="utf-8")))
        for format, ending in (("text", "txt"), ("chrome", "trace.json")):
            output = self.folder / f"b.{ending}"
            self.assertEqual(self.succeed("convert", path, "-o", output), "")
            written = output.read_text(encoding="utf-8")
            written = written.replace(f"ppsched {ppsched.__version__}\n", "").replace(f'"version": "{ppsched.__version__}", ', "")
            self.assertNotEqual(written, output.read_text(encoding="utf-8"))
            self.assertEqual(written, self.succeed("convert", path, "--to", format))
        self.assertNotIn("metrics", json.loads(self.succeed("convert", path, "--to", "json", "--no-times")))

    def test_times(self):
        words = ["-f", 2, 3, "--p2p-time", 0.5]
        text = self.succeed("convert", self.path, "--to", "json", *words)
        self.assertEqual(text, self.succeed("schedule", "--strategy", "zb_h1", "-s", 2, "-b", 3, "--format", "json", *words))
        config = self.write("c.json", '{"num_stages": 2, "num_batches": 3, "forward_times": [2, 3], "p2p_time": 9}')
        self.assertEqual(self.succeed("convert", self.path, "--to", "json", "-c", config, "--p2p-time", 0.5), text)

    def test_what_is_refused(self):
        config = self.write("c.json", '{"num_stages": 4, "num_batches": 3}')
        self.fail_with(1, "num_stages is 4, but", "convert", self.path, "--to", "text", "-c", config)
        self.fail_with(1, "give 1 for all stages or 2", "convert", self.path, "--to", "text", "-f", 1, 2, 3)
        self.fail_with(1, "over its limit", "convert", self.path, "--to", "text", "--mem-limit", 1)
        broken = self.write("b.csv", "0F0\n1F0,1B0\n")
        self.fail_with(1, "0B0 is missing", "convert", broken, "--to", "text")
        self.assertEqual(self.succeed("convert", broken, "--to", "csv"), "0F0\n1F0,1B0\n")
        self.fail_with(2, "give --to", "convert", self.path)
        self.fail_with(2, "invalid choice", "convert", self.path, "--to", "png")
        self.fail_with(1, "cannot write", "convert", self.path, "-o", self.folder / "none" / "a.csv")


class StrategiesTest(CommandTest):
    def test_text(self):
        text = self.succeed("strategies")
        self.assertIn("interleaved_1f1b: ", text)
        self.assertIn("--set group_size=N", text)
        self.assertIn("1f1b: ", self.succeed("strategies", "1F1B"))
        self.fail_with(1, "did you mean", "strategies", "gpip")
        text = self.succeed("strategies", "auto")
        self.assertIn("--set placement=default|linear|loop|v|map|bidirectional  ", text)
        self.assertIn("--set objective=span|makespan|mean_end|quantile_end|throughput  ", text)
        self.assertIn("--set effort=N  ", text)
        self.assertIn("(0 to 12, default: 4)", text)
        self.assertIn("any placement, any number of stages per device", text)

    def test_json(self):
        path = self.folder / "s.json"
        self.succeed("strategies", "--json", "-o", path)
        rows = json.loads(path.read_text(encoding="utf-8"))
        self.assertEqual({"name", "aliases", "placement", "summary", "options"} - set(rows[0]), set())
        (auto,) = (row for row in rows if row["name"] == "auto")
        self.assertEqual((auto["searches"], auto["placement"], auto["chunks"]), (True, "default", 0))
        self.assertEqual([(option["name"], option["choices"]) for option in auto["options"]],
                         [("placement", ["default", "linear", "loop", "v", "map", "bidirectional"]),
                          ("objective", ["span", "makespan", "mean_end", "quantile_end", "throughput"]), ("effort", []), ("offload", ["none", "limit"]),
                          ("quantile", [])])


class PublishedTest(unittest.TestCase):
    def test_command(self):
        result = subprocess.run([sys.executable, "-m", "ppsched.published"], capture_output=True, text=True, check=True)
        rows = {line.split()[0]: line.split()[1:3] for line in result.stdout.splitlines()[:6] if line}
        self.assertEqual(rows["1f1b"], ["0.2646", "0.2646"])
        self.assertEqual(rows["zb_h1"], ["0.1421", "0.1421"])
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "published.md").read_text(encoding="utf-8")
        self.assertIn(result.stdout[result.stdout.index("Table 5"):], page, "docs/published.md shows other tables")

    def test_all_bubbles_are_the_paper_s(self):
        compared, shorter = 0, []
        for table in (published.TABLE_5, published.TABLE_8):
            for profile in table.profiles:
                for column, paper in zip(table.columns, profile.bubbles):
                    metrics = published.evaluate(profile, column).metrics
                    ours = round(metrics.bubble.of_span, 4)
                    self.assertIsNone(metrics.limit_device)
                    if column == published.INTERLEAVED:
                        self.assertTrue(paper < ours < paper + 0.006, (profile, column))
                        ours = round(published.bubble_by_wrap_around(profile), 4)
                    self.assertLessEqual(ours, paper, (profile, column))
                    if ours < paper:
                        shorter.append(column.paper)
                    compared += 1
        self.assertEqual(compared, 72 + 45)
        self.assertEqual(set(shorter), {"ZB-V"})

    def test_memory_is_that_of_a_layer(self):
        """What a transformer's layer keeps of a token is 34 h + 5 a s bytes ("Reducing Activation Recomputation", 2022), in
        each of 2 chunks; W releases the inputs of its products, 32 h bytes."""
        for profile, hidden, heads in zip(published.TABLE_8.profiles[::3], (4096, 5120, 6144), (32, 40, 48)):
            self.assertEqual(profile.memory, (2 * hidden * (34 + 5 * heads * 1024 / hidden), -2 * 32 * hidden))

    def test_interleaved_with_all_dependencies(self):
        ours = [published.evaluate(profile, published.INTERLEAVED).metrics.bubble.of_span
                for profile in published.TABLE_5.profiles]
        self.assertEqual(" ".join(f"{rate:.4f}" for rate in ours), "0.1090 0.0847 0.0461 0.0827 0.0644 0.0328 0.1136 0.0878 0.0459 "
                         "0.1528 0.1192 0.0641")


if __name__ == "__main__":
    unittest.main()
