# SPDX-License-Identifier: Apache-2.0
"""What the page answers, beside what, and how one gets that again: the question, the baseline, bounds, commands and files."""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import unittest

import ppsched
from page_case import PageCase, report, small_data, small_plan
from ppsched.page.report_live import live_row
from ppsched.page.report_packing import page_data


def run(*words):
    return subprocess.run([sys.executable, "-m", "ppsched", *words], capture_output=True, text=True, check=False)


def data_of(path):
    """What stands in a page."""
    return page_data(pathlib.Path(path).read_text(encoding="utf-8"))


class ChoiceTest(unittest.TestCase):
    def names(self, data):
        """Strategies of the timelines, in order."""
        rows = {row["rank"]: row for row in data["candidates"]}
        return [rows[timeline["rank"]]["strategy"] for timeline in data["timelines"]]

    def test_the_baseline_comes_second(self):
        plan = small_plan()
        for name in ("gpipe", "interleaved_1f1b:4", "zb_h1"):
            data = report.report_data(plan, 3, baseline=name)
            base = next(row for row in data["candidates"] if row["rank"] == data["baseline"])
            self.assertEqual(f"{base['strategy']}:{base['chunks']}" if ":" in name else base["strategy"], name)
            self.assertEqual([timeline["rank"] for timeline in data["timelines"]][1], base["rank"])
            self.assertEqual(len(data["timelines"]), 3)
        self.assertEqual(self.names(report.report_data(plan, 2))[1], "1f1b")
        self.assertEqual(self.names(report.report_data(plan, 3, baseline="gpipe"))[1:], ["gpipe", "1f1b"])  # which is always there

    def test_it_stands_there_though_a_runtime_does_not_run_it(self):
        plan = small_plan()
        some = [candidate for candidate in plan if candidate.strategy in ("zbv", "dualpipe_v")]
        data = report.report_data(plan, candidates=some, baseline="1f1b")
        self.assertEqual(self.names(data)[1], "1f1b")
        self.assertEqual([row["rank"] for row in data["candidates"]], sorted(row["rank"] for row in data["candidates"]))
        self.assertIsNone(report.report_data(plan, candidates=some)["baseline"])

    def test_any_timeline(self):
        plan = small_plan()
        able = [candidate for candidate in plan if candidate.status != "refused"]
        data = report.report_data(plan, timelines="all")
        self.assertEqual(sorted(timeline["rank"] for timeline in data["timelines"]), [candidate.rank for candidate in able])
        wanted = {candidate.rank for candidate in able if candidate.strategy == "interleaved_1f1b"}
        data = report.report_data(plan, timelines=["interleaved_1f1b"])
        self.assertEqual({timeline["rank"] for timeline in data["timelines"]}, wanted | {0, data["baseline"]})
        data = report.report_data(plan, baseline="zb_h1", timelines=["interleaved_1f1b"])
        self.assertIn("1f1b", self.names(data))

    def test_what_is_wrong(self):
        for options, words in (({"baseline": "nonsense"}, "nonsense"), ({"baseline": "1f1b:x"}, "'1f1b:x'"),
                               ({"baseline": "1f1b:9"}, "1f1b with 9 stages per device is not a candidate; there are "),
                               ({"timelines": ["1f1b", "zb_auto_x"]}, "zb_auto_x")):
            with self.assertRaisesRegex(ppsched.Error, words):
                report.report_data(small_plan(), **options)
        refused = ppsched.plan(ppsched.Config(3, 7, 6))
        with self.assertRaisesRegex(ppsched.Error, "baseline dualpipe was refused: "):
            report.report_data(refused, baseline="dualpipe")

    def test_least_bound(self):
        """Of all candidates under the same limit, whatever their placement; each has its own beside it."""
        plan = small_plan(memory_limits=[8, 20])
        bounds = {}
        for candidate in plan:
            if candidate.bound:
                bounds.setdefault(candidate.memory_limit, []).append(candidate.bound)
        self.assertGreater(len({round(bound, 6) for some in bounds.values() for bound in some}), 2)
        for candidate in plan:
            if candidate.bound is not None:
                self.assertEqual(candidate.least_bound, min(bounds[candidate.memory_limit]))
        row = json.loads(run("compare", "-s", "4", "-b", "8", "--json").stdout)[0]
        self.assertLessEqual(row["least_bound"], row["bound"])


class GraphTest(unittest.TestCase):
    INPUTS = [[], [0], [0], [1, 2]]

    def test_a_page_that_ranks_again_knows_chains(self):
        plan = ppsched.plan(ppsched.Config(4, 4, stage_inputs=self.INPUTS))
        with self.assertRaisesRegex(ppsched.Error, "does not support a graph of stages; leave it out, or make a page without --live"):
            live_row(plan, report.baseline_of(None))

    def test_pages_of_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            problem, lowered, page = (os.path.join(folder, name) for name in ("problem.json", "lowered.json", "page.html"))
            pathlib.Path(problem).write_text(json.dumps({"devices": 4, "microbatches": 4, "stages": 4, "placement": [0, 1, 2, [2, 3]],
                                                         "stage_inputs": self.INPUTS}), encoding="utf-8")
            self.assertEqual(run("schedule", "--strategy", "auto", "-c", problem, "--lower", "just_in_time", "-o", lowered, "--quiet").returncode, 0)
            for words in (["compare", "-c", problem, "--p2p-time", "0.5", "--lower", "just_in_time"], ["convert", lowered]):
                result = run(*words, "-o", page)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                data = data_of(page)
                self.assertEqual((data["question"]["placement"], data["question"]["graph"]["stage_inputs"]), (["0", "1", "2", "2+3"], self.INPUTS))
                self.assertIn("0SEND_F0>2", data["timelines"][0]["schedule"]["queues"][0]["ops"])


class CommandTest(unittest.TestCase):
    def test_the_page_tells_its_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "report.html")
            words = ["compare", "-s", "4", "-b", "8", "-f", "1", "1", "1", "1.5", "--p2p-time", "0.1", "--title", "A <b> title"]
            result = run(*words, "-o", str(path), "--baseline", "gpipe")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            data = data_of(path)
            self.assertEqual(data["title"], "A <b> title")
            self.assertEqual(shlex.split(data["question"]["command"]), ["ppsched", *words, "-o", str(path), "--baseline", "gpipe"])
            self.assertEqual(data["question"]["version"], ppsched.__version__)
            numbers = {row["name"]: row for row in data["question"]["numbers"]}
            self.assertEqual((numbers["forward_times"]["values"], numbers["p2p_time"]["values"]), ([1, 1, 1, 1.5], [0.1]))
            self.assertEqual((numbers["backward_times"]["default"], numbers["mem_forward"]["default"]), ("2", "1"))
            again = run(*shlex.split(data["timelines"][0]["command"])[1:], "--format", "json")
            self.assertEqual(again.returncode, 0, again.stderr)
            makespans = json.loads(again.stdout)["metrics"]["makespan"], data["timelines"][0]["schedule"]["metrics"]["makespan"]
            self.assertAlmostEqual(*makespans, places=9)

    def test_pick_too(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "report.html")
            result = run("pick", "-s", "4", "-b", "8", "-o", str(path), "--timelines", "all", "--baseline", "gpipe", "--runtime", "torchtitan", "--quiet")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            data = data_of(path)
            base = next(row for row in data["candidates"] if row["rank"] == data["baseline"])
            self.assertEqual((base["strategy"], data["timelines"][1]["rank"]), ("gpipe", base["rank"]))

    def test_what_does_not_go(self):
        for words, message in ((["--title", "x"], "--title needs a page; give -o with a file that ends in .html"),
                               (["--baseline", "gpipe", "-o", "x.csv"], "--baseline needs a page"),
                               (["--timelines", "0", "-o", "x.html"], "--timelines 0: it must be 1 or more")):
            result = run("compare", "-s", "4", "-b", "8", *words)
            self.assertEqual(result.returncode, 2, words)
            self.assertIn(message, result.stderr)


class QuestionPageTest(PageCase):
    def rows(self):
        return self.value("Object.fromEntries([...document.querySelectorAll('#asked tr')].map(row => "
                          "[row.cells[0].textContent, row.cells[1].textContent]))")

    def test_it_names_its_question(self):
        config = ppsched.Config(4, 8, slices=2, forward_times=[1, 1, 1, 2.4], units=ppsched.Units("ms", "GB", None), mem_limit=9)
        self.open("question", lambda: report.report_data(ppsched.plan(config, strategies=["seq_1f1b"]), command="ppsched compare -s '4'",
                                                         profile={"files": ["a.json"], "statistic": "median", "warmup": 2}))
        rows = self.rows()
        self.assertEqual(rows["forward_times"], "1 \u00d7 3, 2.4 ms")
        self.assertEqual(rows["mem_limit"], "9 GB")
        self.assertEqual(rows["backward_times"], "2 (default)")
        self.assertEqual(rows["slices per microbatch"], "2")
        self.assertEqual(rows["measured times"], "a.json: median of the samples, without 2 warm-up iterations")
        self.assertEqual(rows["made by"], f"ppsched {ppsched.__version__}")
        self.assertEqual(self.text("#made-by code"), "ppsched compare -s '4'")
        self.assertIn("8 microbatches of 2 slices", self.text("#problem"))

    def test_a_graph_of_stages_is_a_part_of_it(self):
        config = ppsched.Config(3, 4, stages=4, placement=[0, 1, 2, [0, 1]], stage_inputs=[[], [], [0, 1], [1, 2]], stage_passes=["F", "FB", "FB", "FB"],
                                stage_microbatches=[[0, 2], None, None, None])
        self.open("graph", lambda: report.report_data(ppsched.plan(config)))
        rows = self.rows()
        self.assertEqual([rows[name] for name in ("placement", "stage_inputs", "stage_passes", "stage_microbatches")],
                         ["0 1 2 0+1", "[[],[],[0,1],[1,2]]", '["F","FB","FB","FB"]', "[[0,2],null,null,null]"])
        self.assertEqual(self.value("[...document.querySelectorAll('#timeline-panels .saves button')].map(button => button.textContent)"), ["JSON", "PNG", "SVG"])

    def test_bounds_are_told_apart(self):
        data = report.report_data(ppsched.plan(ppsched.Config(8, 32, p2p_time=0.1, mem_limit=8)))
        self.open("bounds", lambda: data)
        best = data["candidates"][0]
        self.assertLess(best["least_bound"], best["bound"])
        card = self.value("[...document.querySelectorAll('.card')].map(card => card.textContent)"
                          ".find(text => text.startsWith('above the bound'))")
        own, least = (f"{100 * (best['step_time'] / best[name] - 1):.1f}\u00a0%" for name in ("bound", "least_bound"))
        self.assertIn(own, card)
        self.assertIn(f"{least} above", card)
        self.assertIn(f"of its {best['placement']} placement", card)

    def test_closest_and_least_limit_are_one(self):
        plan = ppsched.plan(ppsched.Config(4, 8, mem_limit=0.5))
        self.open("over", lambda: report.report_data(plan))
        least = plan.least_limit()
        cards = self.value("[...document.querySelectorAll('.card')].map(card => card.textContent)")
        self.assertTrue(any(card.startswith(f"closest{least.candidate.strategy}") for card in cards), cards)
        least_card = f"least limit that works{least.limit:g}for {least.candidate.strategy}"
        self.assertTrue(any(card.startswith(least_card) for card in cards), cards)

    def test_buttons_have_names_of_their_own(self):
        self.open("small", small_data)
        names = self.value("[...document.querySelectorAll('button')].filter(button => button.checkVisibility())"
                           ".map(button => button.getAttribute('aria-label') ?? button.textContent)")
        self.assertEqual(sorted(names), sorted(set(names)))
        self.assertTrue(any(name.startswith("Copy the line for pytorch of 1 ") for name in names), names)

    def save(self, expression):
        """[name, text] of what a click saves."""
        self.value("HTMLAnchorElement.prototype.click = () => {}; "
                   "URL.createObjectURL = (blob) => { window.kept = blob; return 'data:,'; }")
        self.value(f"{expression}.click()")
        self.browser.wait("window.kept")
        text = self.value("kept.text()")
        name = self.text("#announce").removeprefix("Saved ")
        self.value("delete window.kept")
        return name, text

    def test_saving(self):
        """The files that launch lines name, and all others that a timeline has."""
        self.open("small", small_data)
        raw = small_data()["timelines"][0]
        order = "".join(",".join(queue["ops"]) + "\n" for queue in raw["schedule"]["queues"])
        named = "[...document.querySelectorAll('#launch button')].find(button => button.textContent === 'Save schedule.csv')"
        self.assertEqual(self.save(named), ("schedule.csv", order))
        button = "[...document.querySelectorAll('#timeline-panels .saves button')].find(button => button.textContent === '{}')"
        name, text = self.save(button.format("CSV"))
        self.assertTrue(name.endswith(".csv"))
        self.assertEqual(text, order)
        name, text = self.save(button.format("JSON"))
        self.assertEqual([queue["ops"] for queue in json.loads(text)["queues"]], [queue["ops"] for queue in raw["schedule"]["queues"]])
        name, text = self.save(button.format("SVG"))
        self.assertTrue(text.startswith("<svg xmlns=") and text.count("<rect") > 100 and ">0</text>" in text, text[:200])
        name, text = self.save(button.format("PNG"))
        self.assertTrue(name.endswith(".png") and text[1:4] == "PNG", name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
