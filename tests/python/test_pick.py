# SPDX-License-Identifier: Apache-2.0
"""From the answer to files: what pick writes, the command that builds its winner again, and which runtimes run it."""
import csv
import importlib.util
import io
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from in_process import run_command

import ppsched
from ppsched._core.launching import RUNTIME_NAMES
from ppsched._core.runs_on import MOST_TRIED, none_runs, runs_on_candidate
from ppsched.command import pick_command
from ppsched.page.report_packing import page_data

HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None


class FolderTest(unittest.TestCase):
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

    def fail_with(self, code, part, *words):
        result = self.run_command(*words)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertIn(part, result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        if code == 1:
            self.assertEqual(result.stderr.count("\n"), 1)
            self.assertEqual(bool(result.stdout), "--json" in words)
            if result.stdout:
                self.assertIn(json.loads(result.stdout)["error"]["message"], result.stderr)
        return result.stderr

    def write(self, name, data):
        (self.folder / name).write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")

    def read(self, name):
        return (self.folder / name).read_text(encoding="utf-8")


PROBLEM = ("--num-devices", 4, "-s", 4, "-b", 8)


class OffloadingStrategyTest(FolderTest):
    """No runtime reads OFFLOAD, so where all orders have some the best of all is the best, and few candidates are evaluated."""

    def test_all_orders_have_offload(self):
        for devices, microbatches, chunks in ((1, 2, 1), (2, 1, 1), (2, 3, 2), (3, 2, 3), (4, 8, 2), (4, 40, 1)):
            made = ppsched.plan(ppsched.Config(devices, microbatches), strategies="pipeoffload", chunks=chunks)
            self.assertTrue(none_runs(made))
            for candidate in made:
                if candidate.fits:
                    self.assertIn("OFFLOAD", made.schedule(candidate).export("json"))
                    self.assertEqual(str(runs_on_candidate(made, candidate)), "none")

    def test_others_may_run(self):
        for costs, options in (({"offload_times": 9}, {}), ({"host_latency": 1}, {}), ({"mem_limit": 9}, {}), ({}, {"memory_limits": [9]}),
                               ({}, {"strategies": ["pipeoffload", "gpipe"]})):
            made = ppsched.plan(ppsched.Config(4, 8, **costs), **{"strategies": "pipeoffload", "chunks": [1, 2], "top": 1, **options})
            self.assertFalse(none_runs(made), (costs, options))

    def test_answer(self):
        for top, words in ((1, ()), (3, ()), (1, ("--offload-times", 50)), (1, ("--mem-limit", 3)), (2, ("--iterations", 2))):
            words = (*PROBLEM, "--strategies", "pipeoffload", *words, "--json")
            best, every = json.loads(self.succeed("pick", "--top", top, *words)), json.loads(self.succeed("compare", *words))
            fitting = [row for row in every if row["fits"]]
            runnable = [row for row in fitting if row["runs_on"]]
            wanted = (runnable + [row for row in fitting if not row["runs_on"]])[:len(best)]
            self.assertEqual([(row["options"], row["chunks"], row["step_time"]) for row in best],
                             [(row["options"], row["chunks"], row["step_time"]) for row in wanted], words)

    def test_how_many_are_evaluated(self):
        """Where no runtime runs the best, those that are tried for runtimes; no others, and none twice if all are evaluated."""
        make = pick_command.make_plan
        for words, wanted in ((("--strategies", "pipeoffload"), [1]),
                              (("--strategies", "pipeoffload", "--offload-times", 0.5), [1, MOST_TRIED]),
                              (("--strategies", "pipeoffload", "--offload-times", 0.5, "--group-sizes", 4, "--chunks", 2), [1]),
                              (("--strategies", "zb_h1", "1f1b"), [1])):
            with mock.patch.object(pick_command, "make_plan", side_effect=make) as made:
                self.succeed("pick", *PROBLEM, *words, "--json")
            self.assertEqual([call.args[0]["wanted"] for call in made.call_args_list], wanted, words)


class FilesTest(FolderTest):
    def test_what_schedule_writes(self):
        words = ("pick", *PROBLEM, "--strategies", "zb_h1")
        again = ("schedule", "--strategy", "zb_h1", *PROBLEM)
        for ending in (".csv", ".trace.json"):
            table = self.succeed(*words, "-o", "best" + ending)
            self.assertEqual(self.succeed(*again, "-o", "again" + ending), "")
            self.assertEqual(self.read("best" + ending), self.read("again" + ending))
            self.assertEqual(table.replace("best.csv", "schedule.csv"), self.succeed(*words))
        for format in ("text", "csv", "json", "chrome"):
            self.assertEqual(self.succeed(*words, "--format", format), self.succeed(*again, "--format", format))
        self.assertEqual(self.succeed(*words, "--format", "json", "-o", "best.x"), self.succeed(*words))
        self.assertEqual(json.loads(self.read("best.x"))["strategy"], "zb_h1")
        self.succeed(*words, "--time-scale", 1000, "-o", "long.trace.json")
        self.assertNotEqual(self.read("long.trace.json"), self.read("best.trace.json"))

    def test_the_last_lines_build_and_launch_it(self):
        words = ("pick", "--num-devices", 4, "-b", 8, "--num-layers", 10, "--strategies", "1f1b")
        *_, command, line = self.succeed(*words).splitlines()
        self.assertTrue(command.startswith("ppsched schedule ") and line.startswith("megatron: --pipeline-model-parallel-size 4 "))
        for batch in ((), ("--micro-batch-size", 2, "--data-parallel-size", 3)):
            for runtime in ("deepspeed", "megatron"):
                *_, command, line = self.succeed(*words, "--runtime", runtime, *batch).splitlines()
                self.assertEqual(command.endswith(" --micro-batch-size 2 --data-parallel-size 3"), bool(batch))
                self.assertEqual(f"{runtime}: " + self.succeed(*shlex.split(command)[1:], "--launch", runtime).rstrip("\n"), line)
                self.succeed(*shlex.split(command)[1:])
        lines = self.succeed("pick", "--num-devices", 4, "-b", 8, "--strategies", "dualpipe").splitlines()
        self.assertTrue(lines[-1].startswith("ppsched schedule "))  # which no runtime runs

    @unittest.skipUnless(HAS_MATPLOTLIB, "matplotlib is not installed")
    def test_pictures(self):
        for ending, start in ((".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")):
            text = self.succeed("pick", "-s", 2, "-b", 2, "-o", "best" + ending)
            self.assertIn("\nppsched schedule ", text)
            self.assertTrue((self.folder / ("best" + ending)).read_bytes().startswith(start))
        text = self.succeed("pick", "-s", 2, "-b", 2, "-o", "best.png", "--format", "csv")
        self.assertTrue(text.startswith("0F0,"))

    def test_rows_and_tables_as_before(self):
        words = ("pick", *PROBLEM, "--top", 2)
        self.assertEqual(self.succeed(*words, "-o", "rows.json"), self.succeed(*words))
        self.assertEqual(json.loads(self.read("rows.json")), json.loads(self.succeed(*words, "--json")))
        self.assertEqual(self.succeed(*words, "--json", "-o", "rows.any"), self.read("rows.json"))
        self.assertEqual(self.read("rows.any"), self.read("rows.json"))
        self.assertEqual({row["version"] for row in json.loads(self.read("rows.json"))}, {ppsched.__version__})
        self.assertEqual(self.succeed(*words, "-o", "table.txt"), self.succeed(*words))
        self.assertEqual(self.read("table.txt"), self.succeed(*words) + f"ppsched {ppsched.__version__}\n")
        self.assertEqual(self.succeed(*words, "-o", "page.html"), self.succeed(*words))
        self.assertTrue(self.read("page.html").startswith("<!DOCTYPE html>"))

    def test_launch_lines_name_the_csv(self):
        words = ("pick", *PROBLEM, "--strategies", "zb_h2")
        (row,) = json.loads(self.succeed(*words, "--json", "-o", "my best.csv"))
        self.assertIn("csv 'my best.csv' ", row["launch"]["torchtitan"]["line"])
        self.assertIn("csv='my best.csv' ", row["launch"]["pytorch"]["line"])
        schedule = ppsched.Schedule.read(self.folder / "my best.csv")
        self.assertEqual(schedule.check(), [])
        (plain,) = json.loads(self.succeed(*words, "--json"))
        self.assertIn("schedule.csv", plain["launch"]["pytorch"]["line"])
        # several files at once
        text = self.succeed(*words, "-o", "a.csv", "page.html", "-o", "a.trace.json")
        self.assertEqual(text, self.succeed(*words).replace("schedule.csv", "a.csv"))
        self.assertIn("csv=a.csv format", json.dumps(page_data(self.read("page.html"))))
        self.assertTrue(self.read("a.csv").startswith("0F0,") and '"traceEvents"' in self.read("a.trace.json"))

    def test_lowered_ones_have_the_csv_of_their_launch_line(self):
        """Runtimes lower what they run themselves."""
        words = ("pick", *PROBLEM, "--strategies", "zb_h2")
        self.succeed(*words, "-o", "plain.csv")
        (row,) = json.loads(self.succeed(*words, "--lower", "pytorch", "--json", "-o", "lowered.csv"))
        self.assertEqual(self.read("plain.csv"), self.read("lowered.csv"))
        self.assertIn("csv=lowered.csv format=compute_only", row["launch"]["pytorch"]["line"])
        self.succeed(*words, "--lower", "pytorch", "-o", "a.trace.json")
        self.assertIn("SEND", self.read("a.trace.json"))

    def test_words_of_a_page(self):
        for words in ((), ("-o", "best.csv"), ("-o", "best.json")):
            self.fail_with(2, "--timelines needs a page; give -o with a file that ends in .html", "pick", *PROBLEM, "--timelines", 2, *words)
        self.succeed("pick", *PROBLEM, "--strategies", "1f1b", "--timelines", 1, "-o", "best.html")
        self.assertIn("</html>", self.read("best.html"))

    def test_words_that_need_a_lowering(self):
        for command in ("pick", "compare"):
            for words in (("--unshard", 2), ("--reduce-grad",), ("--receive-prefetch", 1)):
                self.fail_with(2, "need --lower", command, *PROBLEM, "--strategies", "1f1b", *words)
            self.succeed(command, *PROBLEM, "--strategies", "1f1b", "--lower", "just_in_time", "--receive-prefetch", 1)

    def test_words_are_not_cut_short(self):
        for command in ("pick", "compare"):
            self.fail_with(2, "--num-dev", command, "--num-dev", 4, "-s", 4, "-b", 8)

    def test_group_sizes_that_were_left_out_are_told(self):
        """Of more than 64 microbatches, where less than half of the sizes were tried."""
        for devices, microbatches, told in ((4, 70, ""), (24, 40, ""), (4, 2000, "group sizes: 25 of 2000 were tried; --all tries all\n")):
            text = self.succeed("compare", "--num-devices", devices, "-s", 2 * devices, "-b", microbatches, "--strategies", "interleaved_1f1b",
                                "--chunks", 2)
            self.assertEqual("".join(re.findall("^group sizes.*\n", text, flags=re.M)), told)

    def test_words_that_do_not_go_together(self):
        for ending in (".csv", ".png", ".trace.json"):
            self.fail_with(2, f"-o x{ending} writes one schedule; use --top 1", "pick", *PROBLEM, "--top", 2, "-o", "x" + ending)
        self.fail_with(2, "use --top 1", "pick", *PROBLEM, "--top", 2, "--format", "csv")
        self.fail_with(2, "--json", "pick", *PROBLEM, "--format", "csv", "--json")
        self.fail_with(2, "-o a.csv and -o b.txt", "pick", *PROBLEM, "--format", "csv", "-o", "a.csv", "-o", "b.txt")
        self.fail_with(2, "x.xyz: unknown ending", "pick", *PROBLEM, "-o", "x.xyz")
        self.fail_with(1, "control character", "pick", *PROBLEM, "-o", "a\nb.csv", "--json")
        self.fail_with(1, "cannot write", "pick", *PROBLEM, "-o", "missing/x.csv")
        self.assertEqual(list(self.folder.iterdir()), [])


class TableTest(FolderTest):
    def test_compare_writes_csv(self):
        words = ("compare", *PROBLEM, "--mem-limit", 3, "--effort", 1)
        self.assertEqual(self.succeed(*words, "-o", "table.csv"), "")
        rows = json.loads(self.succeed(*words, "--json"))
        table = list(csv.DictReader(io.StringIO(self.read("table.csv"))))
        self.assertEqual(len(table), len(rows))
        for cells, row in zip(table, rows):
            flat = {**row, **{f"bubble.{name}": value for name, value in (row["bubble"] or {}).items()},
                    **{f"options.{name}": value for name, value in row["options"].items()}}
            del flat["bubble"], flat["options"], flat["units"]
            for key, value in flat.items():
                wanted = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
                self.assertEqual(cells[key], wanted, key)
            self.assertTrue(all(cells[key] == "" for key in set(cells) - set(flat)))
        self.assertEqual(self.succeed(*words, "--json", "-o", "rows.csv"), "")
        self.assertEqual(json.loads(self.read("rows.csv")), rows)

    def test_plan_has_it(self):
        plan = ppsched.plan(ppsched.Config(4, 8), strategies=["1f1b", "zb_h1"])
        self.assertEqual(self.succeed("compare", *PROBLEM, "--strategies", "1f1b", "zb_h1", "-o", "table.csv"), "")
        self.assertEqual(plan.csv(), self.read("table.csv"))
        self.assertNotIn("\r", plan.csv())
        self.assertEqual(plan.csv().splitlines()[0].split(",")[:5],
                         ["rank", "strategy", "options.barriers", "options.group_size", "options.min_group_size"])


class AgainTest(FolderTest):
    """The command that pick prints builds the same schedule, with the same figures."""

    def expect_again(self, *words):
        (row,) = json.loads(self.succeed("pick", *words, "--json"))
        text = self.succeed("pick", *words)
        (command,) = [line for line in text.splitlines() if line.startswith("ppsched schedule ")]
        self.assertEqual(command, row["command"])
        again = json.loads(self.succeed(*shlex.split(command)[1:], "--format", "json"))
        self.assertEqual((again["strategy"], again["stages"], again["microbatches"], again["metrics"]["makespan"],
                          max(again["metrics"]["peak_memory"])),
                         (row["strategy"], row["stages"], row["microbatches"], row["makespan"], row["peak_memory"]), command)
        return row, command

    def test_plain(self):
        row, command = self.expect_again("-s", 4, "-b", 8)
        self.assertTrue(command.startswith(f"ppsched schedule --strategy {row['strategy']} "), command)
        _, command = self.expect_again("-s", 4, "-b", 8, "--strategies", "1f1b")
        self.assertEqual(command, "ppsched schedule --strategy 1f1b --devices 4 --stages 4 --microbatches 8")
        self.expect_again("--num-devices", 4, "-b", 8, "--mem-limit", 3, "--p2p-time", 0.1)
        self.expect_again(*PROBLEM, "--mem-limit", 3, 4, 3.5, 3, "--iterations", 2)
        self.expect_again(*PROBLEM, "--strategies", "1f1b", "--weight-versions", 2, "--mem-weights", 0.3)

    def test_divided_and_added_costs(self):
        self.expect_again("--num-devices", 4, "-s", 12, "-b", 8, "--strategies", "interleaved_1f1b", "--chunks", 3, "-f",
                          *[1 + 0.1 * i for i in range(12)], "-bw", 2.3, "--mem-forward", 0.7)
        for chunks in (1, 2, 3):
            row, command = self.expect_again("--num-devices", 2, "-s", 24, "-b", 6, "--chunks", chunks, "-f",
                                             *[1 / (3 + i) for i in range(24)], "--activation-bytes", 3, "--p2p-bandwidth", 7)
            self.assertIn(f"--chunks {chunks}", command)
            self.assertEqual(row["chunks"], chunks)
        self.expect_again(*PROBLEM, "--chunks", 3, "-f", 1.1, 0.9, 1.3, 1.7, "--strategies", "interleaved_1f1b", "--mem-static", 0.1)

    def test_ends(self):
        words = ("--num-devices", 4, "-s", 4, "-b", 8, "-f", 4.5, 4, 4, 5, "-bw", 9, "--mem-static", 4, "--mem-forward", 1.1,
                 "--embedding", "forward_time=0.3", "backward_input_time=0.7", "mem_static=3", "--head", "forward_time=1.1")
        for chunks in (1, 2, 3):
            self.expect_again(*words, "--chunks", chunks)
            self.expect_again(*words, "--chunks", chunks, "--microbatch-counts", 24)

    def test_microbatches_and_limits(self):
        row, command = self.expect_again(*PROBLEM, "--microbatch-counts", 12, 24, "--mem-limits", 2.5, 3.7, "-f", 1.1, 1, 1, 1.3)
        self.assertIn("--microbatch-count ", command)
        self.assertEqual(row["memory_limit"], float(command.split("--mem-limit ")[1].split()[0]))

    def test_groups(self):
        row, command = self.expect_again(*PROBLEM, "--strategies", "interleaved_1f1b", "--chunks", 2, "--group-sizes", 8)
        self.assertIn("--set group_size=8", command)
        self.assertEqual(row["options"], {"group_size": 8})

    def test_searches(self):
        for more in (("--effort", 2), ("--objective", "span"), ("--effort", 3, "--chunks", 2, "--placements", "v")):
            row, command = self.expect_again("--num-devices", 3, "-s", 6, "-b", 6, "--strategies", "auto", "--mem-limit", 3, "-f",
                                             1, 1.3, 0.7, 1, 1, 1.1, *more)
            self.assertIn("--set placement=", command)
        self.expect_again("-s", 3, "-b", 6, "--strategies", "v_search", "--effort", 2, "--mem-limit", 3)
        self.expect_again("--num-devices", 2, "-s", 4, "-b", 4, "--placement", 0, 0, 1, 1)

    def test_lowered(self):
        for more in ((), ("--channel", "group", "--rendezvous"), ("--channel", "pair", "--batched"), ("--channel", "direction", "--blocking")):
            for lower in ("pytorch", "just_in_time", "by_time"):
                self.expect_again(*PROBLEM, "--strategies", "1f1b", "zb_h1", "--p2p-time", 0.2, "--lower", lower, *more)
        _, command = self.expect_again(*PROBLEM, "--strategies", "1f1b", "--p2p-time", 0.2, "--lower", "just_in_time", "--receive-prefetch", 0, "--rendezvous")
        self.assertIn("--receive-prefetch 0", command)

    def test_config_files(self):
        self.write("problem.json", {"num_devices": 4, "num_stages": 24, "num_batches": 8, "chunks": [1, 2], "microbatch_counts": [8, 12],
                                    "mem_limits": [20, 24], "strategies": ["1f1b", "zb_h1", "interleaved_1f1b"], "objective": "span",
                                    "effort": 2, "embedding": {"forward_time": 0.25}, "forward_times": [1.25] + [1.1] * 23})
        row, command = self.expect_again("-c", "problem.json")
        self.assertIn(" -c problem.json ", command)
        self.assertNotIn("--forward-times", command)
        self.write("it's.json", json.loads(self.read("problem.json")))
        self.expect_again("-c", "it's.json", "-bw", 2.2, "--mem-limits", 30)

    def test_config_files_with_options_of_another_strategy(self):
        for more in ({}, {"strategy": "interleaved_1f1b"}):
            self.write("problem.json", {"num_stages": 4, "num_batches": 8, "options": {"group_size": 8, "effort": 1}, "mem_limit": 4, **more})
            _, command = self.expect_again("-c", "problem.json")
            self.assertNotIn("-c", shlex.split(command))
            self.expect_again("-c", "problem.json", "--strategies", "auto")

    def test_profiles(self):
        self.write("profile.json", {"stages": 8, "forward_times": [1.1] * 7 + [1.3], "backward_times": [2.2] * 8})
        _, command = self.expect_again("--profile", "profile.json", "--num-devices", 4, "-b", 8, "--chunks", 1, 2)
        self.assertIn("--profile profile.json", command)
        self.write("-p.json", self.read("profile.json"))
        _, command = self.expect_again("--profile=-p.json", "--num-devices", 4, "-b", 8, "--chunks", 1, "--statistic", "median")
        self.assertIn("--profile ./-p.json --statistic median", command)

    def test_files_that_cannot_be_read_twice(self):
        self.write("problem.json", {"num_stages": 3, "num_batches": 6, "forward_times": [1, 1.1, 1.3]})
        script = f"{sys.executable} -m ppsched pick -c <(cat problem.json) --json"
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True, cwd=self.folder)
        self.assertIn(" --forward-times 1 1.1 1.3", json.loads(result.stdout)[0]["command"])

    def test_plan_has_it(self):
        config = ppsched.Config(4, 8, forward_times=[1, 1.1, 1, 1.3], mem_limit=6, weight_versions=1)
        plan = ppsched.plan(config, chunks=[1, 2], effort=1, microbatches=[8, 16], head={"forward_time": 0.3}, lowering="by_time")
        for candidate in plan[:8]:
            words = plan.command(candidate)
            self.assertEqual(words[:2], ["ppsched", "schedule"])
            again = json.loads(self.succeed(*words[1:], "--format", "json"))
            self.assertEqual((again["metrics"]["makespan"], max(again["metrics"]["peak_memory"])),
                             (candidate.makespan, candidate.peak_memory), words)

    def test_plan_has_options_of_its_config(self):
        config = ppsched.Config(3, 6, forward_times=[1, 2, 1], options={"effort": 3, "group_size": 5})
        words = ppsched.plan(config, strategies="auto").command(ppsched.plan(config, strategies="auto")[0])
        self.assertIn("effort=3", words)
        self.assertNotIn("group_size=5", words)
        mapped = ppsched.plan(ppsched.Config(2, 4, 4, placement=[0, 0, 1, 1]))
        self.assertIn("--placement 0 0 1 1", " ".join(mapped.command(mapped[0])))

    def test_plan_writes(self):
        plan = ppsched.plan(ppsched.Config(2, 4))
        plan.write(plan[0], self.folder / "a.csv")
        plan.write(plan[0], str(self.folder / "a.trace.json"), time_scale=1000)
        plan.write(plan[0], self.folder / "a.any", "json")
        self.assertEqual(self.read("a.csv"), plan.schedule(plan[0]).export("csv"))
        written = json.loads(self.read("a.trace.json"))
        self.assertEqual(written.pop("version"), ppsched.__version__)
        self.assertEqual(written, json.loads(plan.timeline(plan[0]).export("chrome", time_scale=1000)))
        self.assertEqual(json.loads(self.read("a.any"))["strategy"], plan[0].strategy)
        with self.assertRaisesRegex(ppsched.Error, "a.any: unknown ending; known are .png .svg .pdf .trace.json .json .csv .txt"):
            plan.write(plan[0], "a.any")

    def test_plan_writes_a_page(self):
        """That of the plan, with the candidate first."""
        plan = ppsched.plan(ppsched.Config(2, 4), layers=[{"name": "decoder", "count": 4, "forward_time": 1}])
        plan.write(plan.best, self.folder / "a.html")
        self.assertEqual(self.read("a.html"), ppsched.report(plan))
        plan.write(plan[2], self.folder / "b.htm")
        data = page_data(self.read("b.htm"))
        self.assertEqual([row["rank"] for row in data["candidates"]], list(range(2, len(plan))))
        self.assertEqual(data["timelines"][0]["rank"], 2)
        with self.assertRaisesRegex(ppsched.Error, "is not a candidate of this plan"):
            plan.write(plan[0]._replace(step_time=1.0), self.folder / "c.html")
        self.assertFalse((self.folder / "c.html").exists())


class SizesTest(FolderTest):
    """schedule takes stages and microbatches as pick does."""

    def test_words(self):
        words = ("schedule", "--num-devices", 2, "-s", 8, "-b", 4, "-f", *range(1, 9), "--format", "json")
        row = json.loads(self.succeed(*words, "--chunks", 1))
        self.assertEqual((row["stages"], row["queues"][1]["start"][0]), (2, 1 + 2 + 3 + 4))
        row = json.loads(self.succeed(*words, "--chunks", 1, "--microbatch-count", 8))
        self.assertEqual((row["microbatches"], row["queues"][1]["start"][0]), (8, 5))
        row = json.loads(self.succeed("schedule", "-s", 2, "-b", 4, "--strategy", "zbv", "-f", 4, 4, "--chunks", 2, "--embedding",
                                      "forward_time=1", "--format", "json"))
        self.assertEqual(row["queues"][0]["end"][0], 1 + 1.5)

    def test_faults(self):
        self.fail_with(2, "--embedding, --head need --chunks", "schedule", "-s", 2, "-b", 4, "--head", "forward_time=1")
        self.fail_with(1, "costs of 8 stages cannot be converted to 6", "schedule", "--num-devices", 2, "-s", 8, "-b", 4, "--chunks", 3)
        self.fail_with(1, "chunks is 0; it must be 1 or more", "schedule", "-s", 2, "-b", 4, "--chunks", 0)
        self.fail_with(1, "number of microbatches is 0", "schedule", "-s", 2, "-b", 4, "--microbatch-count", 0)

    def test_one_file_serves_all_commands(self):
        everything = {"num_devices": 2, "num_stages": 4, "num_batches": 4, "strategy": "zbv", "options": {}, "format": "text",
                      "output": "out.txt", "no_visualization": True, "strategies": ["1f1b", "zbv"], "chunks": [1, 2],
                      "group_sizes": [2], "microbatch_counts": [4, 8], "mem_limits": [20, 30], "placements": ["linear", "v"],
                      "objective": "span", "effort": 2, "embedding": {"forward_time": 0.1}, "head": {"mem_static": 0}}
        self.write("all.json", everything)
        for command in ("schedule", "compare", "pick"):
            self.succeed(command, "-c", "all.json")
        self.assertTrue(self.read("out.txt").startswith("zbv: "))
        # options are those of the strategy: what pick tries has its own
        self.write("all.json", {**everything, "options": {"effort": 99, "nothing": 1}})
        self.succeed("pick", "-c", "all.json", "--strategies", "auto")

    def test_stages_that_the_file_does_not_try(self):
        self.write("layers.json", {"num_devices": 2, "num_stages": 8, "num_batches": 4, "chunks": [1, 2]})
        self.fail_with(1, "layers.json: chunks is 1, 2, but 8 stages on 2 devices are 4 each; give --chunks", "schedule", "-c", "layers.json")
        self.succeed("schedule", "-c", "layers.json", "--chunks", 1)
        self.succeed("schedule", "-c", "layers.json", "--chunks", 4, "--strategy", "interleaved_1f1b")
        self.succeed("schedule", "-c", "layers.json", "-s", 2)

    def test_python(self):
        config = ppsched.Config(2, 4, 8, forward_times=list(range(1, 9)), options={"effort": 2})
        self.assertEqual(config.with_stages(2).forward_times, [10, 26])
        self.assertEqual(config.with_stages(16, head={"forward_time": 6}).forward_times[-2:], [1, 7])
        self.assertEqual(config.with_microbatches(8).forward_times, [0.5 * time for time in range(1, 9)])
        with self.assertRaises(ppsched.Refused):
            config.with_stages(6)
        with self.assertRaisesRegex(ppsched.Error, "head has no 'time'"):
            config.with_stages(4, head={"time": 1})


class RuntimesTest(FolderTest):
    def test_column_and_rows(self):
        text = self.succeed("pick", *PROBLEM, "--strategies", "zb_h1")
        self.assertEqual(text.splitlines()[4], "       runs on: torchtitan pytorch primus jaxpp (sail)")
        self.assertLessEqual(max(map(len, text.splitlines()[:5])), 80)
        (row,) = json.loads(self.succeed("pick", *PROBLEM, "--strategies", "zb_h1", "--json"))
        self.assertEqual((row["runs_on"], row["runs_alike_on"]), (["torchtitan", "pytorch", "primus", "jaxpp"], ["sail"]))
        (row,) = json.loads(self.succeed("pick", *PROBLEM, "--strategies", "1f1b", "--json"))
        self.assertEqual((row["runs_on"], row["runs_alike_on"]), ([name for name in RUNTIME_NAMES if name != "mindspeed"], []))
        self.assertNotIn("best that", text)

    def test_a_winner_that_none_runs(self):
        words = ("pick", *PROBLEM, "--strategies", "dualpipe", "zb_h1", "1f1b")
        text = self.succeed(*words)
        self.assertRegex(text, r"\n +2  zb_h1 .*\n       runs on: torchtitan pytorch primus jaxpp \(sail\)\n")
        self.assertIn("\nfaster, but no runtime can run it: dualpipe, V = 1, step time 26; --any ranks only by time\n", text)
        text = self.succeed(*words, "--any")
        self.assertRegex(text, r"\n +1  dualpipe .*\n")
        self.assertIn("\n       runs on: none\n", text)
        self.assertIn("\nbest candidate that torchtitan, pytorch, primus, jaxpp, (sail) can run: zb_h1, V = 1, step time ", text)
        self.assertIn("\nbest candidate that megatron, deepspeed, colossalai can run: 1f1b, V = 1, step time 33, peak memory 4\n", text)
        text = self.succeed("pick", *PROBLEM, "--strategies", "dualpipe")
        self.assertIn("\nno runtime can run the only candidate that fits\n", text)
        text = self.succeed("pick", *PROBLEM, "--strategies", "dualpipe", "zb_h1", "--any")
        self.assertIn("\nmegatron, deepspeed, colossalai, mindspeed: cannot run any of the 2 candidates that fit\n", text)

    def test_the_best_for_each(self):
        """Where the best runs somewhere, and others elsewhere."""
        text = self.succeed("pick", *PROBLEM, "--strategies", "zb_h1", "1f1b", "dualpipe_v", "--chunks", 1)
        self.assertIn("\nbest for each runtime               strategy  V  step time\ntorchtitan pytorch primus jaxpp     zb_h1     1 ", text)
        self.assertRegex(text, r"\nmegatron deepspeed sail colossalai  1f1b      1         33\nppsched schedule --strategy zb_h1")
        self.assertNotIn("--runtime", text)
        self.assertNotIn("best for", self.succeed("pick", *PROBLEM, "--strategies", "1f1b"))

    def test_search_for_them_ends(self):
        text = self.succeed("pick", "-s", 2, "-b", 4, "--strategies", "dualpipe", "--mem-limits", *range(10, 110))
        self.assertIn("\nno runtime can run any of the 64 best candidates that fit (of 100)\n", text)

    def test_only_those_of_a_runtime(self):
        for runtime, best in (("megatron", {"1f1b", "interleaved_1f1b"}), ("deepspeed", {"1f1b"})):
            rows = json.loads(self.succeed("compare", *PROBLEM, "--mem-limit", 3.5, "--runtime", runtime, "--mem-limits", 3.5, 9, "--json"))
            self.assertLessEqual({row["strategy"] for row in rows}, best | {"interleaved_1f1b_overlap"})
            self.assertTrue(rows)
            (row,) = json.loads(self.succeed("pick", *PROBLEM, "--runtime", runtime, "--json"))
            self.assertIn(row["strategy"], best)
            self.assertIn(runtime, row["runs_on"])
        self.assertEqual(len(json.loads(self.succeed("pick", *PROBLEM, "--runtime", "megatron", "--top", 3, "--json"))), 3)
        text = self.succeed("compare", *PROBLEM, "--runtime", "sail")
        self.assertIn("zbv", text)
        self.assertNotRegex(text, "dualpipe|gpipe|refused")
        self.assertEqual(self.succeed("compare", *PROBLEM, "--runtime", "deepspeed", "-o", "page.html", ), "")
        strategies = {row["strategy"] for row in page_data(self.read("page.html"))["candidates"]}
        self.assertEqual(strategies, {"1f1b"})
        self.succeed("compare", *PROBLEM, "--runtime", "deepspeed", "-o", "table.csv")
        self.assertEqual({row["strategy"] for row in csv.DictReader(io.StringIO(self.read("table.csv")))}, {"1f1b"})

    def test_none_of_a_runtime(self):
        for command in ("pick", "compare"):
            error = self.fail_with(1, "no candidate that fits runs on megatron; dualpipe: ", command, *PROBLEM, "--strategies", "zb_h1", "dualpipe",
                                   "--runtime", "megatron")
            self.assertIn("; zb_h1: ", error)
            self.assertNotIn("can run it", error)
            self.fail_with(1, "; closest that does is 1f1b with 1 chunk per device: the largest overshoot of a device is 1\n", command, *PROBLEM,
                           "--mem-limit", 3, "--runtime", "deepspeed")
        self.fail_with(2, "invalid choice", "pick", *PROBLEM, "--runtime", "nccl")
        self.fail_with(1, "no candidate fits; closest", "pick", *PROBLEM, "--mem-limit", 0.5, "--runtime", "megatron")


if __name__ == "__main__":
    unittest.main()
