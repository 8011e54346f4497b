# SPDX-License-Identifier: Apache-2.0
"""The live page: one file without a network, its figures beside the native library's, its links, and what it does in a Chromium.

usage: test_live.py [FOLDER]     FOLDER keeps what is built from run to run"""
import base64
import gzip
import hashlib
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock
from urllib.parse import quote, unquote

import ppsched
from browser import shared_browser
from ppsched.command import live_command
from ppsched.page import live, live_files
from ppsched._core.plan_table import best_of_each

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEPT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 and "/" in sys.argv[1] else None
NASTY = "</script><script>window.bitten = 1</script><img src=x onerror=window.bitten=1>"


def setUpModule():
    global FOLDER, PAGE
    FOLDER = KEPT or pathlib.Path(tempfile.mkdtemp())
    FOLDER.mkdir(exist_ok=True)
    made = subprocess.run([ROOT / "bindings" / "wasm" / "build.sh", FOLDER / "ppsched.wasm"], capture_output=True, text=True, check=False)
    if made.returncode == 3:
        raise unittest.SkipTest(made.stderr.strip())
    assert made.returncode == 0, made.stderr
    os.environ["PPSCHED_WASM"] = str(FOLDER / "ppsched.wasm")
    PAGE = FOLDER / "ppsched.html"
    PAGE.write_text(live.live_html(), encoding="utf-8")


def tearDownModule():
    if KEPT is None:
        shutil.rmtree(FOLDER)


def ppsched_command(*words, **variables):
    return subprocess.run([sys.executable, "-m", "ppsched", *map(str, words)], capture_output=True, text=True, check=False,
                          env={**os.environ, **variables})


class FileTest(unittest.TestCase):
    def test_page_is_one_file_under_a_strict_policy(self):
        text = PAGE.read_text(encoding="utf-8")
        (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
        policy = html.unescape(policy)
        (start,) = re.findall(r'<script type="module">(.*)</script>\n</body>', text, flags=re.S)
        (program,) = re.findall(r'<script type="text/plain" id="program">(.*?)</script>', text, flags=re.S)
        (style,) = re.findall(r"<style>(.*?)</style>", text, flags=re.S)
        script = gzip.decompress(base64.b64decode(program)).decode()
        self.assertIn("function makeLibrary()", script)
        for part in (start, script, style):
            self.assertIn(base64.b64encode(hashlib.sha256(part.encode()).digest()).decode(), policy)
        self.assertTrue(policy.startswith("default-src 'none';"))
        self.assertIn("'wasm-unsafe-eval'", policy)
        self.assertNotIn("unsafe-inline", policy)
        self.assertNotIn("'unsafe-eval'", policy)
        self.assertNotIn("connect-src", policy)
        self.assertEqual(re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=(?!\"data:)[^>]*>", text), [])
        self.assertLess(len(text), 500_000)

    def test_command_writes_it(self):
        target = FOLDER / "written.html"
        told = ppsched_command("live", "-o", target, "-s", 4, "-b", 8, "--strategy", "ZB-H1")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.assertEqual(told.stdout, f"{target.resolve().as_uri()}#v=1&strategy=zb_h1&devices=4&stages=4&microbatches=8\n")
        self.assertEqual(target.read_bytes(), PAGE.read_bytes())
        told = ppsched_command("live", "-o", target)  # with no problem
        self.assertEqual((told.returncode, told.stdout, told.stderr), (0, f"{target.resolve().as_uri()}\n", ""))
        told = ppsched_command("live", "-o", FOLDER / "page.txt")
        self.assertEqual((told.returncode, told.stderr.count("\n")), (2, 1))
        self.assertIn("ends with .html", told.stderr)

    def test_command_opens_it(self):
        from ppsched.command.cli import main
        with mock.patch("webbrowser.open", return_value=True) as opened, mock.patch("sys.stdout"):
            self.assertEqual(main(["live", "-s", "4", "-b", "8"]), 0)
        (link,) = opened.call_args.args
        self.assertTrue(link.startswith("file:///") and link.endswith("ppsched.html#v=1&strategy=1f1b&devices=4&stages=4&microbatches=8"))

    def test_without_the_library_it_says_what_to_run(self):
        with mock.patch.object(live_files, "_SOURCES", FOLDER / "nowhere"), mock.patch.dict(os.environ, {"PPSCHED_WASM": str(FOLDER / "no" / "x.wasm")}):
            with self.assertRaisesRegex(ppsched.Error, "bindings/wasm/build.sh"):
                live_files._found("ppsched.wasm")

    def test_link_of_the_command(self):
        told = ppsched_command("schedule", "-s", 8, "-b", 32, "--num-devices", 4, "--strategy", "interleaved", "--set", "group_size=4",
                               "--p2p-time", 0.1, "-f", 1, 1, 1, 1, 1, 1, 1, 2, "--whole-backwards", "--link")
        self.assertEqual((told.returncode, told.stdout), (0, "ppsched.html#v=1&strategy=interleaved_1f1b&devices=4&stages=8&microbatches=32&"
                         "split_backward=0&forward_times=1,1,1,1,1,1,1,2&p2p_time=0.1&option.group_size=4\n"))
        told = ppsched_command("schedule", "-s", 4, "-b", 8, "--num-devices", 2, "--strategy", "auto", "--placement", 0, 1, 1, 0, "--recompute", "chunks=1", "--link")
        self.assertEqual((told.returncode, told.stdout), (0, "ppsched.html#v=1&strategy=auto&devices=2&stages=4&microbatches=8&placement=0,1,1,0&"
                         "recompute=chunks%3D1\n"), told.stderr)
        told = ppsched_command("schedule", "-s", 4, "-b", 8, "--offload", "limit", "--mem-limit", 3, "--host-links", "pairs", "--link")
        self.assertEqual((told.returncode, told.stdout), (0, "ppsched.html#v=1&strategy=1f1b&devices=4&stages=4&microbatches=8&offload=limit&"
                         "mem_limit=3&host_link=0,0,1,1\n"), told.stderr)
        for words, part in ((("--slices", 2), "slices=2"), (("--recompute", "chunks=1"), "recompute=chunks%3D1"), (("--offload", "all", "--offload-times", 1), "offload=all&offload_times=1")):
            link, opened = (ppsched_command(*command, "-s", 4, "-b", 8, *words) for command in (("schedule", "--link"), ("live", "-o", FOLDER / "written.html")))
            self.assertEqual((link.returncode, link.stdout), (0, f"ppsched.html#v=1&strategy=1f1b&devices=4&stages=4&microbatches=8&{part}\n"), link.stderr)
            self.assertEqual((opened.returncode, opened.stdout.partition("#")[2]), (0, link.stdout.partition("#")[2]), opened.stderr)
        for words in (("--offload", "some"), ("--offload", "chunks=0"), ("--offload", "all", "--recompute", "chunks=1")):
            told = ppsched_command("schedule", "-s", 4, "-b", 8, "--link", *words)
            self.assertEqual((told.returncode, told.stdout, told.stderr.count("\n")), (2, "", 1), words)

    def test_link_refuses_what_it_cannot_tell(self):
        for words in (("--format", "csv"), ("--jitter", 0.1), ("--launch", "torchtitan"), ("--lower", "pytorch"), ("--explain",), ("--measured", "x"),
                      ("--slots",), ("--text-columns", 80), ("--layers", "x.json"), ("--order-microbatches", "search"), ("-o", "x.csv"),
                      ("--link-base", "x#y")):
            told = ppsched_command("schedule", "-s", 4, "-b", 8, "--link", *words)
            self.assertNotEqual(told.returncode, 0, words)
            self.assertEqual((told.stdout, told.stderr.count("\n")), ("", 1), words)

    def test_link_is_of_a_problem_that_can_be(self):
        for words in (("--strategy", "zb_h1", "--set", "banana=1"), ("-f", 1, 2), ("-f", -1), ("--strategy", "dualpipe", "-b", 3),
                      ("--strategy", "zb_h1", "--whole-backwards"), ("--forward-only",)):
            plain = ppsched_command("schedule", "-s", 4, "-b", 8, *words)
            told = ppsched_command("schedule", "-s", 4, "-b", 8, "--link", *words)
            self.assertEqual((told.returncode, told.stdout, told.stderr), (plain.returncode, "", plain.stderr), words)
            self.assertNotEqual(told.returncode, 0)

    def test_link_to_where_the_page_is(self):
        told = ppsched_command("schedule", "-s", 4, "-b", 8, "--weight-versions", 2, "--strategy", "1f1b_no_flush", "--link", "--link-base", "https://example.org/p.html")
        self.assertEqual((told.returncode, told.stdout), (0, "https://example.org/p.html#v=1&strategy=1f1b_no_flush&devices=4&stages=4&microbatches=8&weight_versions=2\n"), told.stderr)
        told = ppsched_command("schedule", "-s", 4, "-b", 8, "--link-base", "x.html")
        self.assertEqual((told.returncode, told.stderr.count("\n")), (2, 1))

    def test_beside_refuses_what_cannot_be_drawn(self):
        for words, part in ((("gpipee",), "did you mean gpipe?"), (("gpipe:0",), "such as interleaved_1f1b:4"), (("zbv:3",), "needs 2 stages per device"),
                            (("gpipe", "zbv", "1f1b", "zb_h1"), "at most 3")):
            told = ppsched_command("live", "-o", FOLDER / "never.html", "--devices", 4, "--microbatches", 8, "--beside", *words)
            self.assertEqual((told.returncode != 0, told.stdout, told.stderr.count("\n")), (True, "", 1), words)
            self.assertIn(part, told.stderr)
        self.assertFalse((FOLDER / "never.html").exists())

    def test_link_to_a_lesson(self):
        target = FOLDER / "written.html"
        for words, part in ((("zb_h1",), "#lesson=zb_h1"), ((7,), "#lesson=dualpipe_v"), (("ZB-H1",), "#lesson=zb_h1"),
                            (("gpipe", "--devices", 4, "-b", 8), "#v=1&strategy=1f1b&devices=4&stages=4&microbatches=8&lesson=gpipe")):
            told = ppsched_command("live", "-o", target, "--lesson", *words)
            self.assertEqual((told.returncode, told.stdout, told.stderr), (0, f"{target.resolve().as_uri()}{part}\n", ""))
        script = (ROOT / "bindings" / "python" / "ppsched" / "page" / "live_page" / "lessons.js").read_text(encoding="utf-8")
        self.assertEqual(tuple(re.findall(r'\{ title: "[^"]*", strategy: "(\w+)"', script)), live_command.LESSONS)

    def test_live_refuses_words_without_a_size(self):
        for words in (("--strategy", "zbv"), ("--p2p-time", 0.1), ("--set", "group_size=2")):
            told = ppsched_command("live", "-o", FOLDER / "never.html", *words)
            self.assertEqual((told.returncode, told.stdout, told.stderr.count("\n")), (2, "", 1), words)
        self.assertFalse((FOLDER / "never.html").exists())


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = shared_browser(cls)

    def setUp(self):
        self.browser.window(1440, 900)

    def tearDown(self):
        self.assertEqual(self.browser.complaints, [])
        self.assertIsNone(self.value("window.bitten ?? null"))
        self.assertIsNone(self.state("errors"))
        self.assertEqual([url for url in self.browser.requests if not url.startswith(("file:", "data:", "blob:"))], [])

    def value(self, expression):
        return self.browser.value(expression)

    def state(self, name):
        return self.value(f"document.documentElement.dataset.{name} ?? null")

    def text(self, name):
        return self.value(f"document.getElementById('{name}').textContent.trim()").replace("\u00a0", " ")

    def open(self, fragment=""):
        self.browser.call("Page.navigate", url="about:blank")
        self.browser.complaints, self.browser.requests = [], []
        self.browser.call("Page.navigate", url=f"{PAGE.resolve().as_uri()}#{fragment}")
        self.browser.wait("document.documentElement?.dataset.state === 'ready' || document.documentElement?.dataset.state === 'failed'")
        self.assertEqual(self.state("state"), "ready", self.text("alert"))

    def set(self, name, value):
        self.value(f"""(() => {{ const knob = document.getElementById('knob-{name}');
            knob.type === 'checkbox' ? knob.checked = {str(bool(value)).lower()} : knob.value = {str(value)!r};
            knob.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()""")

    def settled(self):
        self.browser.wait("document.documentElement.dataset.settled === 'yes' && document.getElementById('searching').hidden")

    def ranked(self):
        self.browser.wait("document.documentElement.dataset.ranked === 'yes'")

    def makespan(self):
        return float(self.value("document.querySelector('#card-step strong').textContent"))

    def row(self, strategy):
        return self.value(f"[...document.querySelectorAll('#ranks tr')].find(row => row.querySelector('th').textContent === '{strategy}')"
                          "?.innerText.split('\\t')")

    # --- figures ---

    def test_layers_are_told_as_stages(self):
        words = ("-s", 4, "-b", 8, "--num-layers", 18, "--head", "forward_time=2", "backward_time=4")
        told = ppsched_command("schedule", *words, "--link")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        self.open(told.stdout.partition("#")[2].strip())
        self.assertEqual(self.makespan(), json.loads(ppsched_command("schedule", *words, "--format", "json").stdout)["metrics"]["makespan"])
        self.assertEqual(self.text("notes").count("cannot draw"), 0)

    def test_figures_are_those_of_the_library(self):
        self.open()
        for name in (strategy.name for strategy in ppsched.strategies() if not strategy.searches_long):
            self.set("strategy", name)
            self.settled()
            chunks = int(self.value("document.getElementById('knob-chunks').value"))
            config = ppsched.Config(8, 16).with_stages(8 * chunks)
            try:
                timeline = ppsched.generate(name, config).evaluate()
            except ppsched.Error as error:
                self.assertEqual(self.text("alert"), str(error))
                continue
            self.assertEqual(self.makespan(), float(f"{timeline.metrics.makespan:.6g}"), name)
            self.assertIn(f"{timeline.metrics.bubble.of_total:.2%}".replace("%", " %"), self.text("card-bubble"), name)
            self.assertEqual(self.state("strategy"), name)
            self.assertGreater(int(self.state("drawn")), 0)

    def test_knobs(self):
        self.open()
        steps = [("devices", 4, {}), ("microbatches", 12, {}), ("forward_times", "1, 1.5 1 2", {"forward_times": [1, 1.5, 1, 2]}),
                 ("backward_input_times", "0.8", {"backward_input_times": [0.8], "backward_weight_times": [1]}), ("slices", 2, {"slices": 2}), ("p2p_time", "0.25", {"p2p_time": [0.25]}),
                 ("mem_limit", "3", {"mem_limit": [3]})]
        given, sizes = {}, {"devices": 8, "microbatches": 16}
        for name, value, more in steps:
            sizes.update({name: value} if name in sizes else {})
            given.update(more)
            self.set(name, value)
            config = ppsched.Config(sizes["devices"], sizes["microbatches"], **given)
            self.assertEqual(self.makespan(), float(f"{ppsched.generate('1f1b', config).evaluate().metrics.makespan:.6g}"), name)
        self.assertIn("over the limit: device 0 needs", self.text("card-memory"))
        self.set("strategy", "zb_h1")
        self.assertEqual(self.state("refused"), None)
        self.set("whole", True)
        self.assertIn("zb_h1", self.text("alert"))
        self.assertEqual(self.state("refused"), "yes")

    def test_lists_go_along_with_sizes(self):
        self.open("v=1&devices=4&stages=4&microbatches=8&forward_times=1,1,1,3")
        self.set("devices", 6)
        self.assertEqual(self.value("document.getElementById('knob-forward_times').value"), "1 1 1 1 1 3")
        self.set("strategy", "zbv")
        self.assertEqual(self.value("document.getElementById('knob-chunks').value"), "2")
        self.assertTrue(self.value("document.getElementById('knob-forward_times').value").endswith(" 0.5 1.5 1.5"))
        self.assertEqual(self.state("refused"), None)

    def test_devices_there_and_back(self):
        self.open("v=1&devices=4&stages=4&microbatches=8&forward_times=1,2,3,4")
        for devices, times in ((2, "1 4"), (6, "1 2 2 3 3 4"), (4, "1 2 3 4")):
            self.set("devices", devices)
            self.assertEqual(self.value("document.getElementById('knob-forward_times').value"), times)
            self.set("p2p_time", "0.5")  # which is of none of them
        self.assertEqual(self.makespan(), float(f"{ppsched.generate('1f1b', ppsched.Config(4, 8, forward_times=[1, 2, 3, 4], p2p_time=0.5)).evaluate().metrics.makespan:.6g}"))

    # --- one model in other stages ---

    def test_a_strategy_in_other_stages_has_the_same_model(self):
        self.open("v=1&devices=4&stages=4&microbatches=8")
        config = ppsched.Config(4, 8)
        self.set("strategy", "zbv")
        self.assertEqual(self.makespan(), 25.5)
        self.check_native(ppsched.generate("zbv", config.with_stages(8)))
        self.set("chunks", 3)  # no multiple of it fits in 8 stages, but the model is that of 4
        self.set("strategy", "interleaved_1f1b")
        self.check_native(ppsched.generate("interleaved_1f1b", config.with_stages(12)))
        self.set("strategy", "1f1b")
        self.settled()
        self.assertEqual(self.makespan(), 33)
        self.assertEqual(self.value("location.hash"), "#v=1&strategy=1f1b&devices=4&stages=4&microbatches=8")

    def test_stages_of_whole_layers(self):
        self.open("v=1&devices=4&stages=4&microbatches=8&mem_weights=6")
        for strategy, layers, counts in (("1f1b", 30, [8, 8, 7, 7]), ("interleaved_1f1b", 30, [4, 4, 4, 4, 4, 4, 3, 3]), ("1f1b", 7, [2, 2, 2, 1])):
            self.set("strategy", strategy)
            self.set("layers", layers)
            share = [4 * count / layers for count in counts]  # of a model of four stages that take 1
            config = ppsched.Config(4, 8, len(counts), forward_times=share, backward_input_times=share, backward_weight_times=share, mem_forward=share,
                                    mem_weights=[6 * one for one in share])
            self.check_native(ppsched.generate(strategy, config))
        self.set("layers", 3)
        self.assertIn("3 layers cannot fill 4 stages", self.text("alert"))
        self.set("layers", "")
        self.assertEqual(self.makespan(), 33)
        self.set("layers", 7)
        self.set("forward_times", "1")  # times of stages are as given
        self.assertEqual(self.value("document.getElementById('knob-layers').value"), "")

    def test_costs_that_are_no_multiple_go_by_way_of_both(self):
        self.open("v=1&strategy=interleaved_1f1b&devices=2&stages=4&microbatches=8&forward_times=1,2,3,6")
        self.set("chunks", 3)
        times = [2 / 3, 1 / 3 + 2 / 3, 4 / 3, 2, 1 + 2, 4]
        shown = [float(word) for word in self.value("document.getElementById('knob-forward_times').value").split()]
        for one, other in zip(shown, times):
            self.assertAlmostEqual(one, other, 12)
        self.assertAlmostEqual(sum(shown), 12, 12)

    def test_drawn_rows_keep_the_model_and_a_short_link(self):
        self.open("v=1&devices=4&stages=4&microbatches=20")
        self.ranked()
        self.value("[...document.querySelectorAll('#ranks tr')].find(row => row.cells[1].textContent === 'zbv').querySelector('button').click()")
        self.settled()
        self.assertEqual(self.value("location.hash"), "#v=1&strategy=zbv&devices=4&stages=8&microbatches=20&forward_times=0.5&"
                         "backward_input_times=0.5&backward_weight_times=0.5&mem_forward=0.5")
        self.set("strategy", "1f1b")
        self.assertEqual(self.makespan(), 69)
        self.set("mem_limit", "3")  # of devices: the model stays
        self.set("strategy", "interleaved_1f1b")
        self.set("strategy", "1f1b")
        self.assertEqual((self.makespan(), self.value("document.getElementById('knob-mem_limit').value")), (69, "3"))

    def test_above_the_bound_is_of_what_fits(self):
        self.open("v=1&devices=4&stages=4&microbatches=8&mem_limit=2")
        self.ranked()
        self.assertRegex(self.text("card-bound"), "^above the bound\u2013above the lower bound 39, which holds within the limit$")
        self.assertEqual(self.row("1f1b")[3], "\u2013")

    def test_input_and_weight_times(self):
        value = "document.getElementById('knob-{}').value"
        self.open("v=1&devices=4&stages=4&microbatches=8")
        self.set("backward_input_times", "2")
        self.set("backward_weight_times", "3")
        self.set("backward_input_times", "")  # back to 1
        self.check_native(self.native(backward_input_times=1, backward_weight_times=3))
        self.set("backward_weight_times", "")
        self.check_native(self.native())
        self.open("v=1&devices=4&stages=4&microbatches=8&backward_times=4&backward_input_share=0.25&strategy=zb_h1")
        self.assertEqual(self.value("document.getElementById('knob-backward_weight_times').placeholder"), "3")
        self.set("backward_input_times", "2")
        self.assertEqual(self.value(value.format("backward_weight_times")), "3")
        self.check_native(self.native("zb_h1", backward_input_times=2, backward_weight_times=3))
        self.set("strategy", "1f1b")
        self.check_native(self.native(backward_input_times=2, backward_weight_times=3))

    def test_what_is_refused_leaves_the_last_picture(self):
        self.open()
        before = self.makespan()
        self.set("strategy", "dualpipe")
        self.set("microbatches", 3)
        self.assertIn("dualpipe", self.text("alert"))
        self.assertFalse(self.value("document.getElementById('stale').hidden"))
        self.assertGreater(self.makespan(), 0)
        self.set("microbatches", "")
        self.assertIn("must be an integer", self.text("alert"))
        self.set("strategy", "1f1b")
        self.set("microbatches", 16)
        self.assertEqual(self.makespan(), before)
        self.assertTrue(self.value("document.getElementById('alert').hidden"))

    def test_table_ranks_as_pick_does(self):
        fragment = "v=1&devices=4&stages=8&microbatches=8&p2p_time=0.1&mem_limit=6"
        self.open(fragment)
        self.ranked()
        plan = ppsched.plan(ppsched.Config(4, 8, 8, p2p_time=0.1, mem_limit=6))
        shown = self.value("[...document.querySelectorAll('#ranks tr')].map(row => row.innerText.split('\\t'))")
        wanted = best_of_each(plan[:])
        self.assertEqual([row[1] for row in shown], [candidate.strategy for candidate in wanted])
        for row, candidate in zip(shown, wanted):
            self.assertEqual((float(row[2]), float(row[5]), int(row[6])),
                             (float(f"{candidate.step_time:.6g}"), float(f"{candidate.peak_memory:.6g}"), candidate.chunks))
            self.assertEqual(row[9] == "fits", candidate.fits)
        candidate = wanted[-1]
        self.value("[...document.querySelectorAll('#ranks button')].at(-1).click()")
        self.settled()
        self.assertEqual(self.state("strategy"), candidate.strategy)
        self.assertEqual(self.makespan(), float(f"{candidate.makespan:.6g}"))

    def test_table_follows_what_is_kept_less(self):
        """Each row is the best of its strategy's candidates after the native library has recomputed or offloaded."""
        sizes = {"p2p_time": 0.1, "offload_times": 0.2}
        for fragment, limit, less in (("recompute=chunks%3D1", 2.25, lambda schedule: schedule.recompute(1)), ("offload=limit", 3, lambda schedule: schedule.offload(until_limit=True))):
            self.open(f"v=1&devices=2&stages=4&microbatches=6&p2p_time=0.1&offload_times=0.2&mem_limit={limit}&{fragment}")
            self.ranked()
            plan, best = ppsched.plan(ppsched.Config(2, 6, 4, **sizes, mem_limit=limit)), {}
            for candidate in plan:
                try:
                    metrics = less(plan.schedule(candidate)).evaluate().metrics
                except ppsched.Error:
                    continue
                fits = metrics.limit_device is None
                key = (not fits, 0 if fits else max(0, metrics.peak_memory - limit), float(f"{metrics.makespan:.12g}"), metrics.peak_memory)
                best[candidate.strategy] = min(best.get(candidate.strategy, key), key)
            shown = self.value("[...document.querySelectorAll('#ranks tr')].map(row => row.innerText.split('\\t'))")
            rows = [(row[1], row[9] != "fits", float(row[2]), float(row[5])) for row in shown]
            wanted = [(name, key[0], float(f"{key[2]:.6g}"), float(f"{key[3]:.6g}")) for name, key in sorted(best.items(), key=lambda item: item[1])]
            self.assertEqual(sorted(rows), sorted(wanted))
            self.assertEqual([row[1:] for row in rows], [row[1:] for row in wanted])
            self.assertEqual({over for _, over, _, _ in rows}, {False} if "offload" in fragment else {False, True})
            self.value("[...document.querySelectorAll('#ranks button')][1].click()")
            self.settled()
            self.assertEqual((self.state("strategy"), self.makespan()), (rows[1][0], rows[1][2]))
            self.assertIn(f"&{fragment}&", self.value("location.hash"))

    def test_least_limit_where_none_fits(self):
        self.open("v=1&devices=4&stages=4&microbatches=8&mem_limit=0.25")
        self.ranked()
        limit = ppsched.plan(ppsched.Config(4, 8, mem_limit=0.25)).least_limit().limit
        self.assertIn(f"the least limit that works is {limit:g}", self.text("ranking"))

    # --- placement, stages, keeping less ---

    def native(self, strategy="1f1b", **given):
        return ppsched.generate(strategy, ppsched.Config(**{"devices": 4, "microbatches": 8, **given}))

    def check_native(self, schedule, message=None):
        timeline = schedule.evaluate()
        self.assertTrue(self.value("document.getElementById('alert').hidden"), self.text("alert"))
        self.assertEqual(self.makespan(), float(f"{timeline.metrics.makespan:.6g}"), message)
        self.assertEqual(self.value("document.querySelector('#card-memory strong').textContent"), f"{timeline.metrics.peak_memory:.6g}", message)

    def test_placement(self):
        self.open("devices=4&stages=8&microbatches=8&strategy=auto")
        for placement in ("loop", "v"):
            self.set("placement", placement)
            self.settled()
            self.check_native(self.native("auto", stages=8, placement=placement), placement)
        self.assertTrue(self.value("document.getElementById('knob-devices_of_stages').parentElement.hidden"))
        self.set("placement", "list")
        self.assertEqual(self.value("document.getElementById('knob-devices_of_stages').value"), "0 1 2 3 3 2 1 0")
        self.set("devices_of_stages", "0 1 2 3 0 1, 3 2")
        self.settled()
        self.check_native(self.native("auto", stages=8, placement=[0, 1, 2, 3, 0, 1, 3, 2]))
        self.assertIn("placement=0,1,2,3,0,1,3,2", self.value("location.hash"))
        for wrong, part in (("0 1", "placement"), ("0 1 x", "must be integers"), ("0 1 2 3 0 1 3 9", "9")):
            self.set("devices_of_stages", wrong)
            self.settled()
            self.assertIn(part, self.text("alert"))
        self.set("devices", 2)  # a list is of other stages
        self.settled()
        self.assertEqual(self.value("document.getElementById('knob-placement').value"), "default")
        self.assertEqual(self.state("refused"), None)

    def test_bounds_of_what_keeps_less(self):
        """Which may hold any limit: without one, and in the table none."""
        self.open("devices=2&stages=4&microbatches=6&strategy=interleaved_1f1b&mem_limit=2.25&recompute=chunks%3D1")
        self.assertIn(f"above the lower bound {ppsched.lower_bound(ppsched.Config(2, 6, stages=4), 'makespan').value:g}", self.text("card-bound"))
        self.ranked()
        self.assertEqual(set(self.value("[...document.querySelectorAll('#ranks tr')].map((row) => row.cells[3].textContent)")), {"\u2013"})

    def test_recomputed_and_offloaded(self):
        self.open("devices=4&stages=8&microbatches=8&strategy=zbv&offload_times=0.5")
        given = {"stages": 8, "offload_times": 0.5}
        for value, keep in (("recompute chunks=1", lambda schedule: schedule.recompute(1)), ("recompute chunks=2", lambda schedule: schedule.recompute(2)),
                            ("offload chunks=1", lambda schedule: schedule.offload(1)), ("offload all", lambda schedule: schedule.offload()),
                            ("", lambda schedule: schedule)):
            self.set("keep", value)
            self.check_native(keep(self.native("zbv", **given)), value)
        self.set("keep", "offload limit")
        self.set("mem_limit", "1")
        self.assertIn("limit", self.text("alert"))
        self.set("mem_limit", "7")
        self.check_native(self.native("zbv", **given, mem_limit=7).offload(until_limit=True))
        self.settled()
        self.assertIn("&offload=limit&", self.value("location.hash"))
        self.set("keep", "recompute chunks=1")
        self.ranked()
        self.assertIn("recompute or offload, as chosen", self.text("ranking"))
        self.set("strategy", "zb_auto")  # of a worker
        self.settled()
        self.assertEqual(self.state("strategy"), "zb_auto")
        self.assertIn("recompute", self.text("kinds"))

    def test_times_stage_by_stage(self):
        self.open("devices=4&stages=4&microbatches=8")
        fields = "[...document.querySelectorAll('#stage-times input')]"
        self.assertEqual(self.value(f"{fields}.length"), 0)
        self.value("document.querySelector('#stages summary').click()")
        self.browser.wait(f"{fields}.length === 12")
        self.assertEqual(self.value(f"{fields}.filter(field => !field.getAttribute('aria-label')).length"), 0)
        self.value("document.querySelector('[data-name=forward_times][data-stage=\"2\"]').select()")
        self.browser.key("3")
        self.check_native(self.native(forward_times=[1, 1, 3, 1]))
        self.assertEqual(self.value("document.getElementById('knob-forward_times').value"), "1 1 3 1")
        self.browser.key("ArrowDown")
        self.browser.key("2")
        self.check_native(self.native(forward_times=[1, 1, 3, 2]))
        self.browser.key("x")
        self.assertIn("F of stage 3", self.text("alert"))
        self.set("forward_times", "1 2 1 1")
        self.value("document.activeElement.blur()")
        self.set("forward_times", "1 2 1 1")
        self.assertEqual(self.value(f"{fields}.slice(0, 12).map(field => field.value).join()"), "1,1,1,2,1,1,1,1,1,1,1,1")
        widths = self.value("[...document.querySelectorAll('.stage-bar span')].map(bar => bar.getBoundingClientRect().width)")
        self.assertAlmostEqual(widths[0] / widths[1], 0.75, 2)
        self.set("devices", 6)
        self.assertEqual(self.value(f"{fields}.length"), 18)

    def test_bars_are_dragged(self):
        for touch in (False, True):
            self.browser.window(1440, 900, touch=touch)
            self.open("devices=4&stages=4&microbatches=8")
            self.value("document.getElementById('stages').open = true")
            self.browser.wait("document.querySelectorAll('.stage-bar span').length === 4")
            self.value("document.querySelector('.stage-bar').scrollIntoView({block: 'center'})")
            self.browser.frames()
            bar = self.value("(({left, top, width, height}) => ({left, top, width, height}))(document.querySelectorAll('.stage-bar span')[2].getBoundingClientRect())")
            line = (bar["left"] + bar["width"] - 3, bar["top"] + bar["height"] / 2, bar["left"] + 0.5 * bar["width"], bar["top"] + bar["height"] / 2)
            (self.browser.swipe if touch else self.browser.drag)(*line)
            self.browser.frames()
            times = [float(word) for word in self.value("document.getElementById('knob-forward_times').value").split()]
            self.assertEqual((times[0], times[1], times[3]), (1, 1, 1), touch)
            self.assertAlmostEqual(times[2], 0.5, 1)
            whole = [time for time in times[:2]] + [times[2], 1]
            others = [float(word) for word in self.value("document.getElementById('knob-backward_input_times').value").split()]
            self.assertEqual(whole, others)
            self.check_native(self.native(forward_times=times, backward_input_times=times, backward_weight_times=times))
        self.browser.window(1440, 900)
        self.value("document.querySelectorAll('.stage-bar span')[0].focus()")
        for key in ("ArrowRight", "ArrowRight", "ArrowLeft"):
            self.browser.key(key)
        self.assertEqual(self.value("document.querySelector('.stage-bar span').getAttribute('aria-valuenow')"), "3.05")
        self.assertEqual(self.value("document.querySelector('.stage-bar span').getAttribute('role')"), "slider")

    def test_link_holds_placement_and_what_is_kept(self):
        words = ("-s", 8, "-b", 8, "--num-devices", 4, "--strategy", "auto", "--placement", 0, 1, 2, 3, 0, 1, 3, 2, "--recompute", "chunks=1")
        fragment = ppsched_command("schedule", *words, "--link").stdout.strip().split("#")[1]
        self.open(fragment)
        self.settled()
        self.assertEqual(self.value("location.hash"), f"#{fragment}")
        self.check_native(self.native("auto", stages=8, placement=[0, 1, 2, 3, 0, 1, 3, 2]).recompute(1))
        self.assertEqual(self.value("document.getElementById('knob-keep').value"), "recompute chunks=1")
        self.open(fragment.replace("chunks%3D1", "chunks%3D7"))
        self.assertEqual(self.value("document.getElementById('knob-keep').value"), "recompute chunks=7")
        for fragment, part in (("recompute=x", "chunks=N"), ("offload=chunks%3D0", "chunks=N, all or limit"), ("recompute=all", "chunks=N"),
                               ("recompute=chunks%3D1&offload=all", "not both"), ("placement=99999", "65535")):
            self.open(fragment)
            self.assertIn(part, self.text("notes"), fragment)

    # --- links ---

    def test_link_goes_and_comes(self):
        link = ppsched_command("schedule", "-s", 8, "-b", 16, "--num-devices", 4, "--strategy", "interleaved_1f1b", "--set", "group_size=8",
                               "--p2p-time", 0.1, "-f", *[1 + 0.1 * stage for stage in range(8)], "--mem-weights", 2, "--link").stdout.strip()
        fragment = link.split("#")[1]
        self.open(fragment)
        self.settled()
        self.assertEqual(self.value("location.hash"), f"#{fragment}")
        native = ppsched_command("schedule", "-s", 8, "-b", 16, "--num-devices", 4, "--strategy", "interleaved_1f1b", "--set", "group_size=8",
                                 "--p2p-time", 0.1, "-f", *[1 + 0.1 * stage for stage in range(8)], "--mem-weights", 2).stdout
        self.assertIn(f"makespan {self.makespan():g}", native)
        self.assertIn("mem_weights", self.text("also"))
        self.assertEqual(self.value("document.querySelector('#options input').value"), "8")
        self.set("microbatches", 24)
        self.settled()
        self.assertIn("microbatches=24", self.value("location.hash"))
        self.assertIn("mem_weights=2", self.value("location.hash"))

    def test_iterations_and_weight_versions(self):
        self.open("devices=4&stages=4&microbatches=8&strategy=1f1b_no_flush&weight_versions=2")
        self.set("iterations", 3)
        self.settled()
        self.assertIn("&iterations=3&weight_versions=2", self.value("location.hash"))
        self.assertIn("weight_versions 2", self.text("also"))
        self.check_native(self.native("1f1b_no_flush", iterations=3, weight_versions=2))
        self.assertIn("no lower bound without a flush", self.text("card-bound"))
        self.set("iterations", 1)
        self.settled()
        self.assertIn("above the lower bound", self.text("card-bound"))

    def test_forwards_alone(self):
        self.open("devices=4&stages=4&microbatches=8&strategy=gpipe")
        self.set("forward", True)
        self.settled()
        self.assertIn("&forward_only=1", self.value("location.hash"))
        self.check_native(self.native("gpipe", forward_only=True))
        self.ranked()
        self.assertIsNotNone(self.row("gpipe"))

    def test_what_a_link_says_more_is_told_and_kept(self):
        self.open("v=2&devices=4&stages=4&microbatches=8&colour=red")
        self.assertIn("version 2", self.text("notes"))
        self.assertIn("colour", self.text("notes"))
        self.settled()
        self.assertIn("colour=red", self.value("location.hash"))
        self.assertEqual(self.makespan(), 33)

    def test_what_an_unknown_key_may_mean_is_told(self):
        self.open("devices=4&p2p_tim=0.3&microbatchs=8&colour=red")
        told = self.text("notes")
        self.assertIn("p2p_tim: did you mean p2p_time?", told)
        self.assertIn("microbatchs: did you mean microbatches?", told)
        self.assertNotIn("colour:", told)

    def test_a_link_that_cannot_be_read_stays_until_a_knob_is_turned(self):
        self.open("devices=x&strategy=zbv")
        self.settled()
        self.assertEqual(self.value("location.hash"), "#devices=x&strategy=zbv")
        self.set("devices", 5)
        self.settled()
        self.assertEqual(self.value("location.hash"), "#v=1&strategy=1f1b&devices=5&stages=5&microbatches=16")

    def test_hostile_links_give_a_message(self):
        for fragment, message in (("devices=x", "must be an integer"), ("devices=-1", "must be an integer"), ("devices=1e9", "must be an integer"),
                                  ("devices=4&devices=5", "twice"), ("forward_times=1,x", "must be numbers"), ("strategy=%E0%A4%A", "a wrong encoding"),
                                  ("forward_times=" + "1," * 5000 + "1", "needs"), ("x" * 250_000, "characters; it may have"), ("devices=99999999999", "must be an integer"), ("split_backward=banana", "0 or 1"),
                                  ("forward_only=2", "0 or 1"), ("toString=1&constructor=2&__proto__=3&valueOf=4", "toString, constructor, __proto__, valueOf"),
                                  ("option.__proto__=1", "__proto__"), ("option.toString=1", "toString"), ("placement=constructor", "constructor"),
                                  ("placement=zigzag", 'placement is "zigzag"; it must be default, linear, loop, v, bidirectional, or the device of each stage'),
                                  ("placement=map", 'placement is "map"'), ("placement=V", 'placement is "V"'), ("placement=", 'placement is ""'),
                                  ("devices=1&stages=1&microbatches=1&order=zigzag-1-1!0F0-0B0", "zigzag")):
            with self.subTest(fragment=fragment[:60]):
                begun = time.monotonic()
                self.open(fragment)
                told = self.text("notes") + self.text("alert")
                self.assertTrue(re.search(message, told) or "forward_times" in told, told[:300])
                self.assertLess(time.monotonic() - begun, 20)
        for fragment in (f"strategy={NASTY}", f"option.{NASTY}={NASTY}", f"{NASTY}=1", f"placement={NASTY}"):
            self.open(fragment.replace("<", "%3C").replace(">", "%3E").replace(" ", "%20").replace("/", "%2F"))
            self.assertNotEqual(self.text("notes") + self.text("alert"), "")

    def test_huge_sizes_ask_first(self):
        shown = "!document.getElementById('{}').hidden"
        for fragment in ("devices=512&stages=512&microbatches=1000000", "devices=65535&microbatches=1073741824&iterations=1073741824",
                         "devices=65535&stages=65535&microbatches=1"):
            self.open(fragment)
            self.assertIn("too many for a page", self.text("ask-text"))
            self.assertTrue(self.value(shown.format("ask")))
            self.assertFalse(self.value(shown.format("ask-go")))
        self.open("devices=4&stages=4&microbatches=8")
        self.ranked()
        self.set("devices", 64)
        self.set("microbatches", 2048)
        self.assertTrue(self.value(shown.format("ask-go")))
        self.assertRegex(self.text("ask-text"), r"64 devices and up to 393,216 ops\. .* about \d+ s, .* MB")
        self.assertTrue(self.value(shown.format("stale")))
        self.assertEqual(self.value("document.querySelectorAll('#ranks tr').length"), 0)
        self.value("document.getElementById('ask-go').click()")
        self.assertEqual(self.makespan(), 3 * (2048 + 63))
        self.assertFalse(self.value(shown.format("stale")))

    def test_many_stages_a_device_do_not_stand_still(self):
        self.open("devices=1&stages=16000&microbatches=3&strategy=interleaved_1f1b")
        self.assertIn("no lower bound at this size", self.text("card-bound"))
        self.value("document.getElementById('stages').open = true")
        self.browser.wait("document.querySelectorAll('#stage-times tr').length === 1")
        self.assertIn("too many", self.text("stage-times"))

    # --- searches ---

    def test_search_runs_in_a_worker(self):
        self.open("devices=4&stages=8&microbatches=8&strategy=v_search&mem_limit=8")
        self.settled()
        native = ppsched.generate("v_search", ppsched.Config(4, 8, 8, mem_limit=8)).evaluate()
        self.assertEqual(self.makespan(), float(f"{native.metrics.makespan:.6g}"))
        self.set("mem_limit", "0.5")
        self.browser.wait("document.documentElement.dataset.refused === 'yes'")
        self.assertIn("v_search", self.text("alert"))

    def test_search_tells_its_progress_and_can_be_ended(self):
        self.open("devices=8&stages=16&microbatches=64&mem_limit=9&strategy=zbv")
        self.value("location.hash = location.hash.replace('zbv', 'auto') + '&option.effort=12'")
        self.browser.wait("document.getElementById('search-figures').textContent.includes('best so far')")
        self.assertRegex(self.text("search-figures"), r"^\d+ % of its work, best so far [\d.]+$")
        self.assertGreater(self.value("document.getElementById('search-bar').value"), 0)
        self.assertFalse(self.value("document.getElementById('stale').hidden"))
        self.value("document.getElementById('search-cancel').click()")
        self.assertIn("The search was cancelled", self.text("alert"))
        self.assertTrue(self.value("document.getElementById('searching').hidden"))
        self.set("strategy", "zbv")
        self.check_native(self.native("zbv", devices=8, stages=16, microbatches=64, mem_limit=9))
        self.assertTrue(self.value("document.getElementById('stale').hidden"))

    # --- beside, critical path, by hand ---

    def test_two_side_by_side(self):
        self.open("devices=4&stages=4&microbatches=8")
        self.value("document.getElementById('keep-beside').click()")
        self.set("strategy", "zb_h1")
        self.browser.frames()
        captions = self.value("[...document.querySelectorAll('#timeline-panels figcaption')].map(caption => caption.textContent)")
        self.assertEqual(len(captions), 2)
        self.assertRegex(captions[0], "^zb_h1, .* makespan 27,")
        self.assertRegex(captions[1], r"^kept: 1f1b, .* makespan 33, .*\(\+22\.2")
        self.assertIn("of 33", self.text("window"))
        self.value("document.querySelector('#timeline-panels figure:last-child button').click()")
        self.assertIn("of 27", self.text("window"))
        self.assertEqual(self.value("document.querySelectorAll('#timeline-panels figure').length"), 1)

    def test_four_side_by_side(self):
        self.open("devices=4&stages=4&microbatches=8")
        captions = "[...document.querySelectorAll('#timeline-panels figcaption')].map(caption => caption.textContent.split(',')[0])"
        for strategy, shown in (("zb_h1", ["zb_h1", "kept: 1f1b"]), ("gpipe", ["gpipe", "kept: 1f1b", "kept: zb_h1"]),
                                ("zbv", ["zbv", "kept: 1f1b", "kept: zb_h1", "kept: gpipe"]),
                                ("zb_h2", ["zb_h2", "kept: zb_h1", "kept: gpipe", "kept: zbv"])):  # the oldest gives way
            self.value("document.getElementById('keep-beside').click()")
            self.set("strategy", strategy)
            self.browser.frames()
            self.assertEqual(self.value(captions), shown)
        self.value("document.querySelector('#timeline-panels figure:nth-child(2) button').click()")
        self.assertEqual(self.value(captions), ["zb_h2", "kept: gpipe", "kept: zbv"])

    def beside(self):
        """{the start of a caption: its end in percent of the drawn one} of the timelines beside."""
        return dict(self.value("[...document.querySelectorAll('#timeline-panels figcaption')].slice(1).map(caption => "
                               "[caption.textContent.split(',')[0], caption.textContent.match(/makespan ([^,]*)/)[1]])"))

    def test_link_puts_beside_what_follows_the_knobs(self):
        told = ppsched_command("live", "-o", FOLDER / "written.html", "--devices", 4, "--microbatches", 8, "--strategy", "zb_h1",
                               "--beside", "gpipe", "interleaved:4", "--beside", "auto")
        self.assertEqual((told.returncode, told.stderr), (0, ""))
        fragment = told.stdout.strip().partition("#")[2]
        self.assertEqual(fragment, "v=1&strategy=zb_h1&devices=4&stages=4&microbatches=8&beside=gpipe,interleaved_1f1b:4,auto")
        self.open(fragment)
        for microbatches in (8, 12):
            if microbatches != 8:
                self.set("microbatches", microbatches)
            self.settled()
            four = ppsched.Config(devices=4, stages=4, microbatches=microbatches)
            wanted = {f"beside: {name}": ppsched.generate(name, config).evaluate().metrics.makespan
                      for name, config in (("gpipe", four), ("interleaved_1f1b", four.with_stages(16)), ("auto", four))}
            self.browser.wait("document.querySelectorAll('#timeline-panels figure').length === 4 && "
                              f"document.querySelectorAll('#timeline-panels figcaption')[1].textContent.includes('{microbatches} microbatches')")
            self.browser.wait(f"document.querySelectorAll('#timeline-panels figcaption')[3].textContent.includes('{microbatches} microbatches')")
            self.assertEqual({name: float(end) for name, end in self.beside().items()}, wanted)
            self.assertIn("beside=gpipe,interleaved_1f1b:4,auto", self.value("location.hash"))
        self.value("document.querySelector('#timeline-panels figure:nth-child(2) button').click()")
        self.settled()
        self.assertIn("beside=interleaved_1f1b:4,auto", self.value("location.hash"))
        self.assertEqual(self.value("document.querySelectorAll('#timeline-panels figure').length"), 3)

    def test_what_cannot_stand_beside_is_told(self):
        self.open("devices=4&stages=4&microbatches=8&beside=dualpipe,gpipee,gpipe")
        self.settled()
        self.assertIn("there is no strategy", self.text("beside-told"))
        self.assertEqual(list(self.beside()), ["beside: dualpipe", "beside: gpipe"])
        self.set("microbatches", 7)
        self.settled()
        self.assertRegex(self.text("beside-told"), "^dualpipe: .* gpipee: ")
        self.assertEqual(list(self.beside()), ["beside: gpipe"])
        for fragment, part in (("beside=a,b,c,d", "at most 3"), ("beside=gpipe:0", "must be strategies")):
            self.open(fragment)
            self.assertIn(part, self.text("notes"))

    def test_kept_timelines_are_in_the_link_while_it_makes_them(self):
        self.open("devices=4&stages=4&microbatches=8")
        self.value("document.getElementById('keep-beside').click()")
        self.set("strategy", "zbv")
        self.settled()
        self.assertIn("beside=1f1b&", self.value("location.hash"))
        self.set("microbatches", 12)
        self.settled()
        self.assertNotIn("beside", self.value("location.hash"))
        self.assertEqual(self.beside(), {"kept: 1f1b": "33"})

    # --- layouts ---

    def drop(self, text, name="config.json"):
        self.value(f"""(() => {{ const data = new DataTransfer(); data.items.add(new File([{text!r}], {name!r}));
            document.querySelector('main').dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, bubbles: true, cancelable: true }})); }})()""")

    def job_knob(self, name, value):
        self.value(f"(() => {{ const knob = document.getElementById('job-{name}'); knob.value = {str(value)!r}; "
                   "knob.dispatchEvent(new Event('input', { bubbles: true })); })()")

    def layouts(self):
        self.browser.wait("document.documentElement.dataset.layouts === 'yes'")
        return self.value("[...document.querySelectorAll('#job-rows tr')].map(row => [...row.cells].map(cell => cell.textContent))")

    def test_a_dropped_model_gives_the_layouts_of_pick(self):
        path = ROOT / "docs" / "examples" / "config.json"
        text = json.dumps(json.loads(path.read_text(encoding="utf-8")))
        self.open("devices=4&stages=4&microbatches=8")
        self.value("document.getElementById('job-device').value = 'h100'")
        self.drop(text)
        for knobs, words in (({}, ("--gpus", 64)), ({"gpus": 16, "pp": "2 4", "batch": 64}, ("--gpus", 16, "--pp", 2, 4, "--global-batch", 64)),
                             ({"tp": 2, "sequence": 2048}, ("--gpus", 16, "--pp", 2, 4, "--global-batch", 64, "--tp", 2, "--seq", 2048))):
            for name, value in knobs.items():
                self.job_knob(name, value)
            told = ppsched_command("pick", "--model", path, "--device", "h100", *words, *(() if "--seq" in words else ("--seq", 4096)), "--json")
            self.assertEqual(told.returncode, 0, told.stderr)
            best, rows = [row for row in json.loads(told.stdout) if row["fits"]][:10], self.layouts()
            wanted = [[str(row["layout"][name]) for name in ("tp", "cp", "ep", "pp", "dp", "chunks", "micro_batch", "zero")] for row in best]
            self.assertEqual([row[1:9] for row in rows], wanted)
            self.assertEqual([(row[9], row[15]) for row in rows], [(row["strategy"], " ".join(row["runs_on"])) for row in best])
            self.assertRegex(self.text("job-told"), r"^The best of [\d,]+ layouts of config.json: tp ")
        for number in ("7.5", "", "0"):
            self.job_knob("gpus", number)
            self.assertEqual(self.layouts(), [])
            self.assertEqual(self.text("job-told"), "No layout: GPUs must be one integer from 1 to 1048576")

    def test_the_pipeline_of_a_layout_is_drawn(self):
        path = ROOT / "docs" / "examples" / "config.json"
        self.open("devices=4&stages=4&microbatches=8")
        self.settled()
        before, makespan = self.value("location.hash"), self.makespan()
        self.value("document.getElementById('job-device').value = 'h100'")
        self.value("document.getElementById('job-pp').value = '2 4 8'")
        self.drop(path.read_text(encoding="utf-8"))
        rows = self.layouts()
        told = ppsched_command("pick", "--model", path, "--device", "h100", "--gpus", 64, "--pp", 2, 4, 8, "--seq", 4096, "--json")
        best = [row for row in json.loads(told.stdout) if row["fits"]][:10]
        self.browser.click(*self.center("#job-rows tr:nth-child(2) button"))
        self.settled()
        self.assertEqual((self.state("strategy"), self.value("document.getElementById('knob-devices').value")), (rows[1][9], rows[1][4]))
        self.assertAlmostEqual(self.makespan() / best[1]["step"]["pipeline_time"], 1, places=5)
        self.assertEqual(self.value("document.activeElement.id"), "timelines")
        fragment, drawn = self.value("location.hash.slice(1)"), self.makespan()
        self.value("history.back()")
        self.browser.wait(f"location.hash === {json.dumps(before)}")
        self.settled()
        self.assertEqual((self.makespan(), self.value("document.getElementById('knob-devices').value")), (makespan, "4"))
        self.value("history.forward()")
        self.browser.wait(f"location.hash.slice(1) === {json.dumps(fragment)}")
        self.settled()
        self.assertEqual(self.makespan(), drawn)

    def test_a_file_that_is_no_model_is_told(self):
        self.open("devices=4&stages=4&microbatches=8")
        for text in ("no", "{}", '{"model_type": "lama"}', "[" * 5000):
            self.drop(text)
            self.assertEqual(self.layouts(), [])
            self.assertRegex(self.text("job-told"), "^No layout: ")
            self.value("document.documentElement.dataset.layouts = 'no'")

    def drag_file(self, path, x=700, y=300):
        """As from a file manager."""
        for kind in ("dragEnter", "dragOver", "drop"):
            self.browser.call("Input.dispatchDragEvent", type=kind, x=x, y=y, data={"items": [], "files": [str(path)], "dragOperationsMask": 1})

    def test_the_answer_comes_into_sight_where_a_file_is_dropped(self):
        for width, height in ((1440, 900), (360, 740)):
            self.browser.window(width, height)
            self.open("devices=4&stages=4&microbatches=8")
            self.drag_file(ROOT / "docs" / "examples" / "config.json", x=width // 2)
            self.layouts()
            top, bottom = self.value("(({ top, bottom }) => [top, bottom])(document.getElementById('job-told').getBoundingClientRect())")
            self.assertTrue(0 <= top < bottom <= height, (top, bottom))
            self.assertRegex(self.value("document.getElementById('job-model').value"), "config.json$")

    def test_a_folder_is_no_model(self):
        self.open("devices=4&stages=4&microbatches=8")
        self.drag_file(ROOT / "docs" / "examples")
        self.assertEqual(self.layouts(), [])
        self.assertEqual(self.text("job-told"), "No layout: examples is not a file that can be read as a config.json")

    def test_device_speeds(self):
        self.open("devices=4&stages=4&microbatches=8")
        self.set("device_speeds", "1 1 0.5 1")
        self.settled()
        self.check_native(self.native(device_speeds=[1, 1, 0.5, 1]))

    def test_critical_path(self):
        self.open("devices=4&stages=4&microbatches=8&p2p_time=0.5")
        timeline = ppsched.generate("1f1b", ppsched.Config(4, 8, p2p_time=0.5)).evaluate()
        told = "document.querySelector('.critical-text').textContent"
        self.value("document.getElementById('critical').click()")
        self.assertIn(f"{len(timeline.critical_path)} ops", self.value(told))
        rest = timeline.metrics.makespan - sum(op.end - op.start for op in timeline.critical_path)
        self.assertIn(f"transfers {rest:g}.", self.value(told))
        self.set("p2p_time", 0)
        self.assertNotIn("transfers", self.value(told))

    def test_ops_are_moved_by_hand(self):
        self.open("devices=2&stages=2&microbatches=4&strategy=gpipe")
        self.browser.frames()
        self.value("document.querySelector('#timeline-panels [tabindex]').focus()")
        for key in ("ArrowRight", "End"):
            self.browser.key(key)
        self.browser.key(",")  # the last backward of device 0 before the one before it: they wait for device 1 alone
        self.assertIn("gpipe by hand", self.value("document.querySelector('#timeline-panels figcaption').textContent"))
        self.assertIn("Moved on device 0: makespan", self.text("moved"))
        self.assertGreater(self.makespan(), 15)
        config = ppsched.Config(2, 4)
        queues = [[str(op) for op in queue] for queue in ppsched.generate("gpipe", config).queues]
        queues[0][-2:] = reversed(queues[0][-2:])
        self.assertEqual(self.makespan(), ppsched.Schedule.from_queues(config, queues).evaluate(config).metrics.makespan)

    def test_a_schedule_made_by_hand_is_in_the_link(self):
        self.open("devices=2&stages=2&microbatches=4&strategy=gpipe")
        self.browser.frames()
        self.value("document.querySelector('#timeline-panels [tabindex]').focus()")
        for pressed in ("ArrowRight", "End", ","):
            self.browser.key(pressed)
        self.settled()
        made, fragment = self.makespan(), self.value("location.hash").lstrip("#")
        self.assertIn("&order=linear-1-1!0F0-0F1-0F2-0F3-0B0-0B1-0B3-0B2!1F0", fragment)
        self.open(fragment)
        self.settled()
        self.assertIn("gpipe by hand", self.value("document.querySelector('#timeline-panels figcaption').textContent"))
        self.assertEqual((self.makespan(), self.value("location.hash")), (made, f"#{fragment}"))
        self.set("p2p_time", 0)
        self.settled()
        self.assertNotIn("order", self.value("location.hash"))
        pairs = "0F0-0F1-0F2-0F3~0B0-0B1-0B2-0B3"  # one that runs as one
        self.open(f"devices=2&stages=2&microbatches=4&order=linear-1-1!{pairs}!1F0-1B0-1F1-1B1-1F2-1B2-1F3-1B3")
        self.settled()
        self.assertEqual(self.text("alert"), "")
        self.assertIn(pairs, self.value("location.hash"))
        self.assertIn("an overlapped pair", self.text("kinds"))
        for order, part in (("x", "PLACEMENT-FLUSHES-VERSIONS"), ("linear-1-1!0F0", "PLACEMENT"), ("linear-1-1!0F0-0Q0!1F0", "not an op"),
                            ("linear-1-1!0B0-0F0!1F0-1B0", "cannot run"), ("toString-1-1!0F0!1F0", "PLACEMENT")):
            self.open(f"devices=2&stages=2&microbatches=1&order={order}")
            self.assertIn(part, self.text("alert"), order)

    def test_a_move_that_cannot_be_is_explained(self):
        self.open("devices=2&stages=2&microbatches=4&strategy=gpipe")
        self.browser.frames()
        self.value("document.getElementById('move-ops').click()")
        box = self.value("(({x, y, width}) => ({x, y, width}))(document.querySelector('#timeline-panels .surface').getBoundingClientRect())")
        scale = (box["width"] - 56) / self.makespan()
        self.browser.mouse("mouseMoved", box["x"] + 46 + 14 * scale, box["y"] + 10, button="none")
        self.browser.drag(box["x"] + 46 + 14 * scale, box["y"] + 10, box["x"] + 46 + 0.2 * scale, box["y"] + 10)
        self.assertIn("This order cannot run", self.text("alert"))
        self.assertRegex(self.text("alert"), "0B3|0F")
        self.assertEqual(self.makespan(), 15)
        self.value("document.getElementById('move-ops').click()")
        self.set("microbatches", 5)
        self.assertTrue(self.value("document.getElementById('alert').hidden"))

    # --- explanations ---

    def step(self, name="step-on"):
        self.value(f"document.getElementById('{name}').click()")
        return self.text("lesson-text")

    def test_steps_tell_what_was_waited_for_and_the_rule(self):
        self.open("devices=4&stages=4&microbatches=8&p2p_time=0.5")
        self.value("document.getElementById('lesson').open = true")
        told = self.step()
        self.assertRegex(told, r"^1 of 64, time 0: device 0 runs 0F0 \(forward\), in its warm-up. It waits for no other op. .* 4 forwards before")
        texts = [self.step() for _ in range(63)]
        self.assertEqual(self.step(), texts[-1])
        waits = [text for text in texts if "device 1 runs 1F0 " in text]
        self.assertIn("waiting for 0F0 of device 0, which was 0.5 on the way", waits[0])
        self.assertTrue(texts[-1].startswith("64 of 64"))
        self.assertIn("in its cool-down", texts[-1])
        self.assertIn("device 0 runs 0F0", self.step("step-first"))

    def test_each_rule_speaks_of_each_op(self):
        for strategy in ("gpipe", "interleaved_1f1b", "zb_h1", "zbv", "dualpipe", "v_min"):
            self.open("devices=4&stages=4&microbatches=8")
            self.set("strategy", strategy)
            self.settled()
            texts = self.value("""(() => { const found = []; const button = document.getElementById('step-on');
                for (let i = 0; i < 200; i++) { button.click(); found.push(document.getElementById('lesson-text').textContent); }
                return found; })()""")
            self.assertGreater(len(set(texts)), 60, strategy)
            for text in texts:
                self.assertNotIn("undefined", text)
                self.assertGreater(len(text), 80)

    # --- lessons ---

    def choose_lesson(self, number):
        self.value("document.getElementById('place-lessons').open = true")
        self.value(f"(() => {{ const select = document.getElementById('place-lesson'); select.value = {number}; "
                   "select.dispatchEvent(new Event('change')); })()")

    def offered(self):
        return self.value("[...document.querySelectorAll('#place-rows .moves-next')].map((row) => [...row.querySelectorAll('button')]"
                          ".map((button) => button.firstChild.textContent))")

    def place(self, device, name):
        self.value(f"[...document.querySelectorAll('#place-rows .moves-next')[{device}].querySelectorAll('button')]"
                   f".find((button) => button.firstChild.textContent === {json.dumps(name)}).click()")
        return self.text("place-told")

    def test_hints_lead_to_par_in_each_lesson(self):
        self.open("")
        for number in range(7):
            self.choose_lesson(number)
            told = self.value("""(() => { let told = ''; const button = document.getElementById('place-hint');
                for (let i = 0; i < 200 && !told.startsWith('Done'); i++) { button.click(); told = document.getElementById('place-told').textContent; }
                return told; })()""")
            self.assertIn("as short as", told, number)
            mine, held, par, most = re.search(r"Done: ([\d.]+), with at most (\d+) .* takes ([\d.]+) with ([\d.]+)", told).groups()
            self.assertEqual((float(mine), float(held)), (float(par), float(most)), told)
            self.assertEqual(self.makespan(), float(par))
            self.assertEqual(self.offered(), [[] for _ in self.offered()])

    def test_only_what_can_run_is_offered_and_each_move_tells_its_price(self):
        self.open("")
        self.choose_lesson(1)
        self.assertEqual(self.offered(), [["0F0"], [], []])
        self.assertIn("Device 0 runs 0F0 from 0, without idle time. It holds 1 activation of 3.", self.place(0, "0F0"))
        self.assertEqual(self.offered(), [["0F1"], ["1F0"], []])
        self.assertEqual(self.value("[...document.querySelectorAll('#place-rows .moves-next button')].map((button) => [button.textContent, button.title])"),
                         [["0F1", "Device 0: run 0F1, from 1"], ["1F0 idle 1", "Device 1: run 1F0 idle 1, from 1"]])
        self.assertIn("Device 1 runs 1F0 from 1, after 1 of idle time", self.place(1, "1F0"))
        self.place(0, "0F1")
        self.place(0, "0F2")
        self.assertEqual(self.offered()[0], [])  # the limit
        self.value("document.getElementById('place-undo').click()")
        self.assertEqual(self.offered()[0], ["0F2"])
        self.place(2, "2F0")
        self.assertEqual(self.offered()[2], ["2B0"])

    def test_a_worse_order_is_compared(self):
        self.open("")
        self.choose_lesson(0)
        for device, kind, stage in [(d, "F", d) for d in range(3)] + [(d, "B", d) for d in (2, 1, 0)]:
            self.place(device, f"{stage}{kind}0")
        for microbatch in (1, 2):
            for device in range(3):
                self.place(device, f"{device}F{microbatch}")
            for device in (2, 1, 0):
                told = self.place(device, f"{device}B{microbatch}")
        self.assertIn("12 longer than gpipe", told)
        self.assertIn("at most 1 activation", told)

    def test_a_lesson_is_played_with_the_keyboard(self):
        self.open("")
        self.choose_lesson(0)
        self.value("document.querySelector('#place-rows button').focus()")
        for _ in range(25):  # more than there are ops
            self.browser.key(" ")
        self.assertIn("as short as gpipe", self.text("place-told"))
        self.assertEqual(self.value("document.activeElement.id"), "place-lesson")
        self.value("document.getElementById('place-hint').click()")
        self.assertEqual(self.text("place-told"), "All ops are placed. Undo some ops, or start again.")

    def test_the_problem_before_a_lesson_comes_back(self):
        self.open("devices=6&stages=6&microbatches=9&strategy=zb_h1")
        self.settled()
        before = self.value("location.hash")
        self.choose_lesson(0)
        for _ in range(18):
            self.value("document.getElementById('place-hint').click()")
        self.settled()
        self.browser.wait("document.documentElement.dataset.ranked === 'yes'")
        ranks = self.text("ranks")
        self.open(self.value("location.hash.slice(1)"))
        self.browser.wait("document.documentElement.dataset.ranked === 'yes'")
        self.assertEqual(self.text("ranks"), ranks)  # of the lesson's problem
        self.open(before[1:])
        self.settled()
        self.choose_lesson(0)
        for _ in range(18):
            self.value("document.getElementById('place-hint').click()")
        self.value("history.back()")
        self.browser.wait("document.documentElement.dataset.strategy === 'zb_h1'")
        self.settled()
        self.assertEqual(self.value("location.hash"), f"{before}&lesson=gpipe")
        self.assertIn("Done: 15", self.text("place-told"))  # the lesson stays as it was

    def center(self, selector):
        self.value(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{ block: 'center' }})")
        self.browser.frames()
        left, top, width, height = self.value(f"(({{ left, top, width, height }}) => [left, top, width, height])(document.querySelector({json.dumps(selector)})"
                                              ".getBoundingClientRect())")
        return left + width / 2, top + height / 2

    def lesson_in_link(self):
        return next((word[7:] for word in self.value("location.hash").split("&") if word.startswith("lesson=")), None)

    def test_a_link_opens_a_lesson(self):
        for fragment, number, name in (("lesson=zb_h1", 4, "zb_h1"), ("lesson=7", 6, "dualpipe_v"), ("lesson=ZB-H1", 4, "zb_h1"),
                                       ("devices=6&stages=6&microbatches=9&strategy=gpipe&lesson=1f1b", 1, "1f1b")):
            self.open(fragment)
            self.settled()
            self.assertEqual(self.value("[document.getElementById('place-lessons').open, Number(document.getElementById('place-lesson').value), "
                                        "document.activeElement.id]"), [True, number, "place-lesson"], fragment)
            self.assertEqual(self.offered(), [["0F0"]] + [[]] * (len(self.offered()) - 1))
            top, end = self.value("(({ top, bottom }) => [top, bottom])(document.getElementById('place-lesson').getBoundingClientRect())")
            self.assertTrue(0 <= top < end <= 900, (top, end))
            self.assertEqual((self.lesson_in_link(), self.text("notes")), (name, ""))
        self.assertEqual((self.state("strategy"), self.value("document.getElementById('knob-devices').value")), ("gpipe", "6"))
        self.browser.key("ArrowDown")  # in the list of lessons
        self.assertEqual((self.value("document.getElementById('place-lesson').value"), self.lesson_in_link()), ("2", "eager_1f1b"))
        self.browser.click(*self.center("#place-lessons summary"))
        self.browser.wait("!document.getElementById('place-lessons').open && !location.hash.includes('lesson=')")
        self.value("location.hash = 'lesson=zbv'")
        self.browser.wait("document.getElementById('place-lessons').open")
        self.assertEqual(self.value("document.getElementById('place-lesson').value"), "5")

    def test_a_finished_lesson_comes_back_with_its_link(self):
        for name, told in (("dualpipe_v", "as short as dualpipe_v"), ("zb_h1", "as short as zb_h1")):
            self.open(f"lesson={name}")
            self.browser.click(*self.center("#place-hint"))
            while not self.text("place-told").startswith("Done"):
                self.browser.key(" ")
            self.assertIn(told, self.text("place-told"))
            self.settled()
            fragment, placed = self.value("location.hash.slice(1)"), self.value("document.getElementById('place-rows').innerHTML")
            self.assertIn("&order=", fragment)
            self.open(fragment)
            self.assertIn(told, self.text("place-told"))
            self.assertEqual(self.value("document.getElementById('place-rows').innerHTML"), placed)
            self.browser.click(*self.center("#place-undo"))
            self.assertEqual(self.text("place-told"), "The last op was taken back.")
            self.assertEqual(len(sum(self.offered(), [])), 1)
            self.browser.click(*self.center("#place-rows button"))
            self.assertIn(told, self.text("place-told"))
            self.open(fragment.replace(f"lesson={name}", "lesson=gpipe"))  # the order is of another lesson's problem
            self.assertEqual(self.offered(), [["0F0"], [], []])

    def test_an_unknown_lesson_is_told(self):
        for word, told in (("zbh1", 'There is no lesson "zbh1"; did you mean zb_h1?'), ("dualpipe", 'There is no lesson "dualpipe"; did you mean dualpipe_v?'),
                           ("8", 'There is no lesson "8"; the lessons are gpipe, 1f1b, eager_1f1b, interleaved_1f1b, zb_h1, zbv, dualpipe_v, or 1 to 7'),
                           ("constructor", 'There is no lesson "constructor"; the lessons are gpipe'), (NASTY, 'There is no lesson "</script>')):
            self.open(f"devices=4&stages=4&microbatches=8&lesson={quote(word, safe='')}")
            self.settled()
            self.assertEqual(self.text("notes")[:len(told)], told)
            self.assertFalse(self.value("document.getElementById('place-lessons').open"))
            self.assertEqual(self.makespan(), 33)  # the rest of the link is drawn
            self.assertEqual(unquote(self.lesson_in_link()), word[:64])  # to be corrected
        self.browser.click(*self.center("#place-lessons summary"))
        self.browser.wait("location.hash.includes('lesson=gpipe')")
        self.assertEqual(self.text("notes"), "")
        self.open("leson=zbv")
        self.assertIn("leson: did you mean lesson?", self.text("notes"))

    def waits(self):
        return self.value("[...document.querySelectorAll('#place-rows .moves-next')].map((row) => row.querySelector(':scope > small')?.textContent ?? '')")

    def test_a_lesson_tells_why_nothing_is_offered(self):
        for width, touch in ((1440, False), (360, True)):
            self.browser.window(width, 800, touch=touch)
            self.open("lesson=1f1b")
            self.assertEqual(self.waits(), ["", "1F0 waits for 0F0 of device 0.", "2F0 waits for 1F0 of device 1."])
            for _ in range(3):
                self.browser.click(*self.center("#place-rows button"))
            self.assertEqual(self.offered(), [[], ["1F0"], []])
            self.assertEqual(self.waits()[0], "0F3 waits: device 0 holds 3 of 3; 0B0 waits for 1B0 of device 1.")
            for name in ("1F0", "1F1", "1F2"):
                self.place(1, name)
            self.assertEqual(self.waits()[1], "1F3 waits for 0F3 of device 0; 1B0 waits for 2B0 of device 2.")
            self.value("document.getElementById('place-undo').click()")
            self.place(2, "2F0")
            self.place(2, "2B0")
            self.place(1, "1F2")
            self.assertEqual((self.offered()[1], self.waits()[1]), (["1B0"], ""))
            self.place(1, "1B0")
            self.place(0, "0B0")
            self.place(0, "0F3")
            self.place(1, "1F3")
            self.assertEqual((self.offered()[:2], self.waits()[0]), ([[], []], "0F4 waits: device 0 holds 3 of 3; 0B1 waits for 1B1 of device 1."))
            self.place(2, "2F1")
            self.place(2, "2B1")
            self.place(1, "1B1")
            self.assertEqual((self.offered()[0], self.waits()[0]), (["0B1"], "0F4 waits: device 0 holds 3 of 3."))
            overlaps = self.value("""[...document.querySelectorAll('#place-rows .place-row')].flatMap((row) => {
                const boxes = [...row.querySelectorAll('strong, .strip, .moves-next > *')].map((part) => part.getBoundingClientRect());
                return boxes.filter((a, i) => boxes.some((b, j) => i < j && a.left < b.right && b.left < a.right && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5)); }).length""")
            self.assertEqual(overlaps, 0)
            self.assertLessEqual(self.value("document.documentElement.scrollWidth"), width)
            names = [self.named(node) for node in self.browser.call("Accessibility.getFullAXTree")["nodes"]]
            self.assertIn("0F4 waits: device 0 holds 3 of 3.", names)  # of the tree that screen readers read
        self.open("lesson=zb_h1")
        for _ in range(3):
            self.browser.click(*self.center("#place-rows button"))
        self.assertEqual(self.waits()[0], "0F3 waits: device 0 holds 3 of 3; 0I0 waits for 1I0 of device 1.")

    def named(self, node):
        return node.get("name", {}).get("value")

    def test_each_device_of_a_lesson_offers_something_or_tells_why(self):
        for number in range(7):
            self.open(f"lesson={number + 1}")
            silent = self.value("""(() => { let silent = 0; const hint = document.getElementById('place-hint');
                const look = () => { silent += [...document.querySelectorAll('#place-rows .moves-next')].filter((row) => !row.textContent).length; };
                for (look(); !document.getElementById('place-told').textContent.startsWith('Done'); look()) hint.click();
                return silent; })()""")
            self.assertEqual(silent, 0, number)
            self.assertEqual(self.waits(), [f"Device {device} is done." for device in range(len(self.waits()))])

    def test_ops_of_a_lesson_show_what_fits(self):
        for width, first, pair in ((1440, "0F0", ["0F3", "3B1"]), (360, "0", ["0F3", "1"])):
            self.browser.window(width, 800)
            self.open("")
            self.choose_lesson(6)
            for _ in range(25):
                self.value("document.getElementById('place-hint').click()")
            shown = self.value("[...document.querySelector('#place-rows .strip').children].map((op) => [...op.children].map((part) => part.textContent))")
            self.assertEqual(shown[0], [first])
            self.assertIn(pair, shown)
            self.assertEqual(self.value("[...document.querySelectorAll('.placed span')].filter((one) => one.scrollWidth > one.clientWidth).length"), 0)

    def test_recomputed_passes_are_explained(self):
        self.open("devices=4&stages=4&microbatches=8&recompute=chunks%3D1")
        texts = self.value("""(() => { const found = []; const button = document.getElementById('step-on');
            for (let i = 0; i < 96; i++) { button.click(); found.push(document.getElementById('lesson-text').textContent); }
            return found; })()""")
        told = [text for text in texts if re.search(r"runs \d+RECOMPUTE", text)]
        self.assertEqual(len(told), 32)
        self.assertTrue(all("runs again" in text for text in told))
        self.assertTrue(texts[-1].startswith("96 of 96"))

    # --- files ---

    def test_files(self):
        folder = FOLDER / "saved"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
        self.open("devices=4&stages=4&microbatches=8&strategy=zb_h1&p2p_time=0.1")
        timeline = ppsched.generate("zb_h1", ppsched.Config(4, 8, p2p_time=0.1)).evaluate()
        wanted = {"csv": ("zb_h1.csv", timeline.export("csv")), "json": ("zb_h1.json", timeline.export("json").replace(', "units": null', "")),
                  "trace": ("zb_h1.trace.json", timeline.export("chrome")), "svg": ("zb_h1.svg", None), "png": ("zb_h1.png", None)}
        for kind, (name, text) in wanted.items():
            self.value(f"document.getElementById('save-{kind}').click()")
            deadline = time.monotonic() + 20
            while not (folder / name).exists() and time.monotonic() < deadline:
                time.sleep(0.05)
            if text is not None:
                self.assertEqual((folder / name).read_text(encoding="utf-8"), text)
        svg = (folder / "zb_h1.svg").read_text(encoding="utf-8")
        self.assertEqual(svg.count("<rect"), 4 * 8 * 3 + 1 + 3)
        for text in ("zb_h1, 4 devices", ">time<", ">F forward<", ">W weight gradient<"):
            self.assertIn(text, svg)
        self.check_png((folder / "zb_h1.png").read_bytes())
        self.value("document.getElementById('launch').open = true")
        self.value("document.getElementById('runtime').value = 'SAIL'; document.getElementById('runtime').dispatchEvent(new Event('input'))")
        self.assertIn("--", self.text("launch-line"))

    def check_png(self, png):
        """The same picture in pixels: twice as wide, a title, the ops in their colours, the axis, the legend."""
        data = base64.b64encode(png).decode()
        read = self.value(f"""(async () => {{
            const image = new Image();
            image.src = 'data:image/png;base64,{data}';
            await image.decode();
            const canvas = document.createElement('canvas');
            [canvas.width, canvas.height] = [image.width, image.height];
            const context = canvas.getContext('2d', {{ willReadFrequently: true }});
            context.drawImage(image, 0, 0);
            const inked = (y, height) => [...context.getImageData(0, y, image.width, height).data].filter((value, i) => i % 4 === 0 && value < 100).length;
            const at = (x, y) => [...context.getImageData(x, y, 1, 1).data].slice(0, 3).join();
            return [image.width, image.height, inked(0, 44), inked(image.height - 74, 30), at(100, 60), at(2 * 51, image.height - 20), at(4, 4)];
        }})()""")
        width, height, title, axis, op, legend, ground = read
        self.assertEqual((width, height), (2400, 2 * (26 + 4 * 24 + 22 + 16)))
        self.assertGreater(title, 200)
        self.assertGreater(axis, 200)
        self.assertEqual(op, legend)  # the first F
        self.assertEqual(ground, "255,255,255")

    # --- pixels ---

    def test_ops_have_their_colours_where_they_are(self):
        self.open("devices=4&stages=8&microbatches=8&strategy=zbv&p2p_time=0.25&forward_times=1,1,1,1,1,1,1,3")
        self.browser.frames()
        timeline = ppsched.generate("zbv", ppsched.Config(4, 8, 8, p2p_time=0.25, forward_times=[1] * 7 + [3])).evaluate()
        legend = dict(self.value("""[...document.querySelectorAll('#kinds li')].map(item =>
            [item.textContent.split(' ')[0] + (item.textContent.startsWith('chunk') ? '1' : ''), getComputedStyle(item.firstChild).backgroundColor.match(/\\d+/g).slice(0, 3).join()])"""))
        height = self.value("document.querySelector('#timeline-panels .surface').clientHeight") / 4
        width = self.value("document.querySelector('#timeline-panels .surface').clientWidth")
        scale, wanted = (width - 56) / timeline.metrics.makespan, []
        for device, (queue, spans) in enumerate(zip(timeline.schedule.queues, timeline.spans)):
            for op, span in zip(queue, spans):
                if op.stage < 4:  # the shade that the legend has
                    wanted.append([46 + (span.start + 0.1 * (span.end - span.start)) * scale, (device + 0.12) * height, legend[op.kind.name]])
            wanted.append([46 + 0.5 * (spans[0].start) * scale, (device + 0.5) * height, None] if spans[0].start > 0.2 else wanted[-1])
        got = self.value(f"""(() => {{
            const canvas = document.querySelector('#timeline-panels canvas'), context = canvas.getContext('2d'), ratio = canvas.width / {width};
            const {{ data }} = context.getImageData(0, 0, canvas.width, canvas.height);
            return {[row[:2] for row in wanted]}.map(([x, y]) => {{
              const at = 4 * (Math.floor(y * ratio) * canvas.width + Math.floor(x * ratio));
              return data.slice(at, at + 3).join();
            }});
        }})()""")
        colours = set(legend.values())
        for (x, y, colour), pixel in zip(wanted, got):
            if colour is None:
                self.assertNotIn(pixel, colours, (x, y))
            else:
                self.assertEqual(pixel, colour, (x, y))

    # --- people ---

    def test_paper(self):
        """Drawings are as wide as paper, whatever stands beside them on the screen."""
        self.open("devices=16&stages=16&microbatches=32&strategy=zb_h1")
        width = "document.querySelector('#timeline-panels canvas').width"
        before = self.value(width)
        self.value("dispatchEvent(new Event('beforeprint'))")
        self.assertTrue(600 < self.value(width) < 750, self.value(width))
        self.value("dispatchEvent(new Event('afterprint'))")
        self.browser.frames()
        self.assertEqual(self.value(width), before)
        self.assertEqual(self.browser.pdf().count(b"/Type /Page\n"), 3)

    def test_numbers_are_on_all_ops_of_a_kind_or_none(self):
        self.open("devices=4&stages=4&microbatches=16&forward_times=1,1,1,2")
        self.value("""window.seen = []; const write = CanvasRenderingContext2D.prototype.fillText;
            CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
              if (this.textAlign === 'center' && this.canvas.closest('#timeline-panels')) seen.push(text);
              write.call(this, text, ...place); }""")
        self.set("microbatches", 32)
        self.browser.frames()
        seen = self.value("seen")
        self.assertEqual({text: seen.count(text) for text in seen}, {str(number): 4 for number in range(32)})  # of B; F has room for a digit

    def test_keys_and_screen_readers(self):
        self.open("devices=4&stages=4&microbatches=8")
        self.value("document.querySelector('#timeline-panels [tabindex]').focus()")
        for key, words in (("ArrowRight", "0F0"), ("ArrowRight", "0F1"), ("ArrowDown", "1F"), ("End", "1B7")):
            self.browser.key(key)
            self.assertIn(words, self.text("announce"))
        self.browser.key("Escape")
        self.assertIn("makespan 33", self.value("document.querySelector('#timeline-panels [aria-label]').getAttribute('aria-label')"))
        self.settled()
        self.value("document.querySelector('#idle-panels details').open = true")
        self.browser.wait("document.querySelectorAll('#idle-panels tbody tr').length === 4")
        unnamed = self.value("[...document.querySelectorAll('input, select, button')].filter(knob => !knob.closest('[hidden]') &&"
                             " !(knob.labels?.length || knob.getAttribute('aria-label') || knob.textContent.trim())).map(knob => knob.id)")
        self.assertEqual(unnamed, [])

    def test_enter_and_typed_letters_in_a_field(self):
        self.open("devices=4&stages=4&microbatches=8")
        self.value("document.getElementById('knob-forward_times').focus()")
        for letter in "1.5":
            self.browser.key(letter)
        self.browser.key("Enter")
        self.assertEqual(self.value("document.getElementById('knob-forward_times').value"), "1.5")
        self.assertEqual(self.makespan(), 3.5 * 11)
        self.settled()
        self.assertIn("forward_times=1.5", self.value("location.hash"))

    def test_pointing_and_zooming(self):
        self.open("devices=4&stages=4&microbatches=8")
        self.browser.frames()
        box = self.value("(({x, y, width, height}) => ({x, y, width, height}))(document.querySelector('#timeline-panels .surface').getBoundingClientRect())")
        self.browser.click(box["x"] + 60, box["y"] + 8)
        self.assertIn("0F0", self.text("tip"))
        self.value("document.getElementById('zoom-in').click()")
        self.assertNotIn("0 to 33", self.text("window"))
        self.value("document.getElementById('zoom-fit').click()")
        self.assertIn("0 to 33", self.text("window"))

    def test_phone_and_desktop_light_and_dark(self):
        for width, touch in ((360, True), (768, True), (1440, False), (2560, False)):
            for dark in (False, True):
                self.browser.window(width, 800, dark=dark, touch=touch)
                self.open("devices=8&stages=16&microbatches=16&strategy=zbv")
                self.ranked()
                self.assertLessEqual(self.value("document.documentElement.scrollWidth"), width)
                self.assertEqual(self.value("getComputedStyle(document.documentElement).colorScheme"), "dark" if dark else "light")
        self.browser.window(360, 740, touch=True)
        self.open()
        box = self.value("(({x, y}) => ({x, y}))(document.querySelector('#timeline-panels .surface').getBoundingClientRect())")
        self.value(f"scrollTo(0, {box['y']} - 200)")
        self.browser.frames()
        self.browser.tap(box["x"] + 48, 205)
        self.assertIn("0F0", self.text("tip"))

    def test_nothing_moves_when_a_knob_is_turned(self):
        self.open()
        self.ranked()
        self.settled()
        top = "document.getElementById('timelines').getBoundingClientRect().top"
        before = self.value(top)
        for value in (0.1, 0.2, 0.3):
            self.set("p2p_time", value)
            self.browser.frames()
            self.assertEqual(self.value(top), before)
        self.set("microbatches", "")
        self.assertFalse(self.value("document.getElementById('alert').hidden"))
        self.assertEqual(self.value(top), before)  # a message has its place, too

    def test_nothing_moves_when_a_strategy_is_chosen(self):
        top = "document.querySelector('#timeline-panels .surface').getBoundingClientRect().top"
        for width, touch in ((360, True), (1440, False)):
            self.browser.window(width, 800, touch=touch)
            self.open()
            self.ranked()
            before = self.value(top)
            for strategy in ("zbv", "interleaved_1f1b", "zb_h1", "pipeoffload", "v_half", "gpipe"):
                self.set("strategy", strategy)
                self.settled()
                self.browser.frames()
                self.assertAlmostEqual(self.value(top), before, delta=0.5, msg=f"{strategy} at {width}")
            self.assertLess(before, 600)  # of 800: the picture is on the first screen

    def test_landmarks_have_names_of_their_own(self):
        self.open()
        names = self.value("""[...document.querySelectorAll('section, form, [role=region], [role=search]')].map(place => place.getAttribute('aria-label')
            ?? document.getElementById(place.getAttribute('aria-labelledby'))?.textContent.trim() ?? '')""")
        self.assertNotIn("", names)
        self.assertEqual(len(names), len(set(names)), names)

    def test_a_turn_takes_a_frame(self):
        """Measured: 10 ms at 16 devices and 64 microbatches. The bound is for machines that do much else."""
        self.open("devices=16&stages=16&microbatches=64&strategy=zb_h1")
        self.ranked()
        times = self.value("""(async () => {
            const knob = document.getElementById('knob-p2p_time'), times = [];
            for (let i = 0; i < 60; i++) {
              let painting = 0;
              requestAnimationFrame(() => { painting = performance.now(); });
              const begun = performance.now();
              knob.value = String(0.01 * i);
              knob.dispatchEvent(new Event('input', { bubbles: true }));
              const turned = performance.now() - begun;
              await new Promise(done => requestAnimationFrame(() => {
                const channel = new MessageChannel();
                channel.port1.onmessage = done;
                channel.port2.postMessage(0);
              }));
              times.push(turned + performance.now() - painting);
            }
            return times.slice(20).sort((a, b) => a - b);
        })()""")
        print(f"a turn at D = 16, M = 64: {times[20]:.1f} ms, 95th percentile {times[38]:.1f} ms")
        self.assertLess(times[20], 100)


class RankAnewFileTest(unittest.TestCase):
    """A report that has the library in it, and what has none."""

    PROBLEM = ("-s", 8, "-b", 16, "--num-devices", 4)

    def refused(self, code, part, *words, **variables):
        told = ppsched_command(*words, **variables)
        self.assertEqual((told.returncode, told.stdout), (code, ""), told.stderr)
        self.assertIn(part, told.stderr)
        self.assertNotIn("Traceback", told.stderr)
        self.assertEqual(told.stderr.count("\n"), 1, told.stderr)

    def test_policy(self):
        plan = ppsched.plan(ppsched.Config(2, 4))
        texts = [ppsched.report(plan), ppsched.report(plan, live=True)]
        policies = [html.unescape(re.findall(r'Content-Security-Policy" content="([^"]*)"', text)[0]) for text in texts]
        for text, policy in zip(texts, policies):
            (script,) = re.findall(r'<script type="module">(.*)</script>\n</body>', text, flags=re.S)
            (style,) = re.findall(r"<style>(.*?)</style>", text, flags=re.S)
            for part in (script, style):
                self.assertIn(base64.b64encode(hashlib.sha256(part.encode()).digest()).decode(), policy)
            self.assertTrue(policy.startswith("default-src 'none';"))
            for word in ("unsafe-inline", "'unsafe-eval'", "connect-src"):
                self.assertNotIn(word, policy)
            self.assertEqual(re.findall(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=(?!\"data:)[^>]*>", text), [])
        self.assertNotIn("wasm-unsafe-eval", policies[0])
        self.assertNotIn("worker-src", policies[0])
        self.assertNotIn('id="anew"', texts[0])
        self.assertIn("'wasm-unsafe-eval'; worker-src blob:;", policies[1])
        self.assertGreater(len(texts[1]) - len(texts[0]), 200_000)

    def test_what_it_cannot_do_is_refused_in_a_line(self):
        page, words = FOLDER / "refused.html", ("compare", *self.PROBLEM, "--live")
        self.refused(2, "needs a page", *words)
        self.refused(2, "needs a page", *words, "-o", FOLDER / "x.json")
        for more, part in ((("--lower", "pytorch"), "transfers of lowered schedules"), (("--mem-limits", 4, 8), "several memory limits"),
                           (("--offload", "--host-bandwidth", 1), "offload"), (("--jitter", 0.1, "--rank-by", "mean"), "times that vary")):
            self.refused(1, part, *words, "-o", page, *more)
        self.assertFalse(page.exists())
        with self.assertRaisesRegex(ppsched.Error, "needs a plan"):
            ppsched.report(ppsched.generate("1f1b", ppsched.Config(2, 4)).evaluate(), live=True)

    def test_without_the_library_it_says_what_to_run(self):
        with mock.patch.object(live_files, "_SOURCES", FOLDER / "nowhere"), mock.patch.dict(os.environ, {"PPSCHED_WASM": str(FOLDER / "no" / "x.wasm")}):
            with self.assertRaisesRegex(ppsched.Error, "bindings/wasm/build.sh"):
                ppsched.report(ppsched.plan(ppsched.Config(2, 4)), live=True)


class RankAnewTest(unittest.TestCase):
    GIVEN = {"p2p_time": 0.1, "mem_limit": 20}
    COLUMNS = ("strategy", "step", "peak", "status", "chunks")

    @classmethod
    def setUpClass(cls):
        cls.browser = shared_browser(cls)
        cls.page = FOLDER / "anew.html"
        made = ppsched_command("pick", "-s", 8, "-b", 16, "--num-devices", 4, "--p2p-time", 0.1, "--mem-limit", 20, "--live", "-o", cls.page)
        assert made.returncode == 0, made.stderr

    def setUp(self):
        self.browser.window(1440, 900)

    def tearDown(self):
        self.assertEqual(self.browser.complaints, [])
        self.assertIsNone(self.value("document.documentElement.dataset.errors ?? null"))
        self.assertEqual([url for url in self.browser.requests if not url.startswith(("file:", "data:", "blob:"))], [])

    def value(self, expression):
        return self.browser.value(expression)

    def text(self, name):
        return self.value(f"document.getElementById('{name}').textContent.trim()").replace("\u00a0", " ")

    def open(self, page=None):
        self.browser.open(page or self.page)
        self.settled()

    def settled(self):
        self.browser.wait("document.documentElement.dataset.anew === 'yes'")

    def set(self, name, value):
        self.value(f"""(() => {{ const knob = document.getElementById('anew-{name}'); knob.value = '{value}';
            knob.dispatchEvent(new Event('input', {{ bubbles: true }})); }})()""")
        self.settled()

    def table(self):
        """Strategy, step time, peak memory, status and V of each row, all unfolded."""
        self.value("(() => { const button = document.getElementById('unfold'); if (!button.hidden && button.textContent === 'Unfold all') button.click(); })()")
        return self.value(f"""(() => {{
            const keys = [...document.querySelectorAll('#ranked thead th')].map(cell => cell.dataset.key ?? '');
            return [...document.querySelectorAll('#ranked tbody tr')].map(row => {list(self.COLUMNS)}.map(key => {{
              const at = keys.indexOf(key);
              return at < 0 ? null : key === 'strategy' ? row.cells[at].firstChild.textContent : row.cells[at].textContent.replace('\u2605 best', 'fits');
            }})); }})()""")

    def check_table(self, sizes, **given):
        plan = ppsched.plan(ppsched.Config(*sizes, **given))
        wanted = sorted([candidate.strategy, f"{candidate.step_time:.6g}", f"{candidate.peak_memory:.6g}", candidate.status, str(candidate.chunks)]
                        for candidate in plan if candidate.status != "refused")
        shown = self.table()
        self.assertEqual(sorted(shown), wanted)
        firsts = list(dict.fromkeys(row[0] for row in shown))
        self.assertEqual(firsts, [candidate.strategy for candidate in best_of_each(plan[:])])
        return plan

    def test_another_limit_ranks_anew(self):
        self.open()
        self.check_table((4, 16, 8), **self.GIVEN)
        best = self.text("winner")
        self.set("mem_limit", "5")
        plan = self.check_table((4, 16, 8), p2p_time=0.1, mem_limit=5)
        self.assertIn(plan.best.strategy, self.text("winner"))
        self.assertIn("memory limit 5 (given: 20)", self.text("anew-told"))
        self.assertFalse(self.value("document.getElementById('anew-back').disabled"))
        panels = self.value("[...document.querySelectorAll('#timeline-panels figcaption')].map(caption => caption.textContent)")
        self.assertEqual(len(panels), 2)
        self.assertIn(f"makespan {plan.best.makespan:g}", panels[0])
        self.assertIn("1f1b", panels[1])
        self.set("mem_limit", "0.5")
        least = ppsched.plan(ppsched.Config(4, 16, 8, p2p_time=0.1, mem_limit=0.5)).least_limit()
        self.assertIn(f"{least.limit:g}", self.text("winner"))
        self.value("document.getElementById('anew-back').click()")
        self.check_table((4, 16, 8), **self.GIVEN)
        self.assertEqual(self.text("winner"), best)
        self.assertEqual(self.text("anew-told"), "With the given values.")

    def test_other_times_rank_anew(self):
        self.open()
        times = [1, 1, 1, 1.5, 1, 1, 1, 2]
        self.set("forward_times", " ".join(map(str, times)))
        self.set("backward_input_times", "0.9")
        self.assertEqual(self.value("document.getElementById('anew-backward_weight_times').value"), "1")
        self.check_table((4, 16, 8), **self.GIVEN, forward_times=times, backward_input_times=0.9, backward_weight_times=1)

    def test_what_cannot_be_is_told_and_leaves_the_table(self):
        self.open()
        before = self.table()
        for value, part in (("x", "must be numbers"), ("1 2 3", "forward_times"), ("-1", "forward_times")):
            self.set("forward_times", value)
            self.assertIn(part, self.text("anew-alert").replace(" ", "_") if part == "forward_times" else self.text("anew-alert"))
            self.assertFalse(self.value("document.getElementById('anew-alert').hidden"))
            self.assertEqual(self.table(), before)
        self.set("forward_times", "")
        self.assertTrue(self.value("document.getElementById('anew-alert').hidden"))

    def test_any_row_can_be_drawn(self):
        self.open()
        self.set("mem_limit", "9")
        self.value("document.getElementById('unfold').click()")
        boxes = "[...document.querySelectorAll('#ranked tbody input')]"
        self.assertEqual(self.value(f"{boxes}.length"), len(self.table()))
        self.value(f"{boxes}.filter(box => !box.checked).slice(-2).forEach(box => box.click())")
        self.settled()
        self.assertEqual(self.value("document.querySelectorAll('#timeline-panels figure').length"), 4)
        self.assertEqual(self.value(f"{boxes}.filter(box => box.checked).length"), 4)
        self.value("document.getElementById('critical').click()")
        self.assertIn("Critical path", self.text("timeline-panels"))

    def test_rows_of_the_page_as_given_too(self):
        page = FOLDER / "few.html"
        plan = ppsched.plan(ppsched.Config(4, 16, 8, **self.GIVEN))
        from ppsched.page.report import report_data, report_html
        page.write_text(report_html(report_data(plan, 1, live=True)), encoding="utf-8")
        self.open(page)
        shown = "document.querySelectorAll('#timeline-panels figure').length"
        self.assertEqual(self.value(shown), 1)
        self.value("[...document.querySelectorAll('#ranked tbody input')].find(box => !box.checked).click()")
        self.settled()
        self.assertEqual(self.value(shown), 2)

    def test_phone_keyboard_and_dark(self):
        self.browser.window(360, 740, dark=True, touch=True)
        self.open()
        self.assertLessEqual(self.value("document.documentElement.scrollWidth"), 360)
        self.assertEqual(self.value("[...document.querySelectorAll('#anew input')].filter(knob => !knob.labels.length).length"), 0)
        self.value("document.getElementById('anew-mem_limit').select()")
        for key in "6":
            self.browser.key(key)
        self.settled()
        self.check_table((4, 16, 8), p2p_time=0.1, mem_limit=6)
        self.assertLessEqual(self.value("document.documentElement.scrollWidth"), 360)


if __name__ == "__main__":
    unittest.main(verbosity=2)
