# SPDX-License-Identifier: Apache-2.0
"""The page of a plan: what is in it, and, where there is a Chromium, how it looks and what it does."""
import base64
import copy
import hashlib
import html.parser
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import in_process
import ppsched
from page_case import PageCase, small_data, small_plan
from ppsched.command.rank_map import page_ranks
from ppsched.page import report
from ppsched.page.report_packing import page_data


FOLDER = pathlib.Path(report.__file__).resolve().parent / "report_page"
NASTY = "</script><script>window.bitten = 1</script><img src=x onerror=\"window.bitten = 1\"><!-- \u2028\u2029'\"&amp;"
VOID = {"meta", "link", "br", "input", "img", "hr"}


class Page(html.parser.HTMLParser):
    """The elements of a page; complains about what is not closed, or closed twice."""

    def __init__(self, text):
        super().__init__()
        self.text = text
        self.elements, self.texts, self._open, self.wrong = [], {}, [], []
        self.feed(text)
        self.close()
        self.wrong += self._open

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if len(dict(attrs)) != len(attrs):
            self.wrong.append((tag, attrs))
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if not self._open or self._open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)

    def of(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]

    def data(self):
        return page_data(self.text)


class DataTest(unittest.TestCase):
    def test_candidates_and_timelines(self):
        plan = small_plan()
        data = report.report_data(plan, 3)
        json.dumps(data, allow_nan=False)
        self.assertEqual(data["problem"], {"devices": 4, "stages": 16, "microbatches": 8, "iterations": 1})
        self.assertEqual(data["objective"], "makespan")
        self.assertEqual([row["rank"] for row in data["candidates"]], list(range(len(plan))))
        for row, candidate in zip(data["candidates"], plan):
            self.assertEqual((row["strategy"], row["fits"], row["reason"], row["step_time"], row["bound"]),
                             (candidate.strategy, candidate.fits, candidate.reason, candidate.step_time, candidate.bound))
            self.assertEqual(row["bubble"] and tuple(row["bubble"].values()), candidate.bubble)
        ranks = [timeline["rank"] for timeline in data["timelines"]]
        names = [plan[rank].strategy for rank in ranks]
        self.assertEqual((len(ranks), ranks[0], len(set(names))), (3, 0, 3))
        for timeline in data["timelines"]:
            candidate = plan[timeline["rank"]]
            self.assertEqual(timeline["schedule"]["metrics"]["makespan"], candidate.makespan)
            self.assertEqual(max(level for curve in timeline["memory"] for _, level in curve), candidate.peak_memory)
            self.assertEqual(timeline["memory_limits"], [20.0] * 4)
            self.assertTrue(all((row["line"] is None) != (row["reason"] is None) for row in timeline["launch"].values()))

    def test_layers(self):
        layers = ppsched.Layers([{"name": "decoder", "count": 10, "mem_forward": 1,
                                  "recompute": [{"name": "full", "backward_time": 3, "mem_forward": 0.1}]},
                                 {"name": "head", "place": "last", "forward_time": 2}])
        plan = ppsched.plan(ppsched.Config(4, 8, mem_limit=6), layers=layers, strategies=["1f1b", "interleaved_1f1b"], chunks=[1, 2])
        data = report.report_data(plan)
        self.assertEqual(data["problem"]["layers"], 11)
        for timeline in data["timelines"]:
            rows = timeline["split"]
            self.assertEqual(sum(row["layers"].get("decoder", 0) for row in rows), 10)
            self.assertEqual([row["device"] for row in rows], [row["stage"] % 4 for row in rows])
            self.assertTrue(timeline["command"].startswith("ppsched schedule --strategy "))
        self.assertNotIn("split", small_data()["timelines"][0])
        Page(report.report_html(data))

    def test_the_order_of_devices(self):
        """Data and the words next to launch lines; in the order of the numbers there is nothing to say."""
        launch = ordered_data(1)["timelines"][0]["launch"]
        self.assertEqual(ordered_data(1)["timelines"][0]["device_order"], [0, 1, 3, 2])
        self.assertIn("CUDA_VISIBLE_DEVICES=0,1,3,2", launch["megatron"]["ranks"])
        self.assertIsNone(launch["jaxpp"]["line"])
        self.assertIn("no option for the order of devices", launch["jaxpp"]["reason"])
        self.assertIn("CUDA_VISIBLE_DEVICES=0,1,2,3,6,7,4,5", ordered_data(2)["timelines"][0]["launch"]["megatron"]["ranks"])
        Page(report.report_html(ordered_data(1)))
        self.assertNotIn("device_order", small_data()["timelines"][0])
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "page.html")
            run = in_process.run_command(("pick", "--devices", 4, "-b", 16, "--num-layers", 32, "--strategies", "1f1b", "--device-speeds", 1, 1, 1, 0.5,
                                          "--free-device-order", "--host-gpus", 2, "-o", str(path)))
            self.assertEqual(run.returncode, 0, run.stderr)
            timeline = page_data(path.read_text(encoding="utf-8"))["timelines"][0]
            self.assertEqual(timeline["device_order"], [0, 1, 3, 2])
            self.assertIn("list the hosts 0 1 in this order", timeline["launch"]["megatron"]["ranks"])

    def test_no_limit_and_limits_that_differ(self):
        for limits, expected in (({}, [None] * 2), ({"mem_limit": [9, 8]}, [9.0, 8.0])):
            data = report.report_data(ppsched.plan(ppsched.Config(2, 4, **limits), strategies=["1f1b"]))
            self.assertIsNone(data["candidates"][0]["memory_limit"])
            self.assertEqual(data["timelines"][0]["memory_limits"], expected)

    def test_large_schedules_are_few(self):
        plan = small_plan()
        with mock.patch.object(report, "_MOST_OPS", 0):
            self.assertEqual(len(report.report_data(plan)["timelines"]), 2)
        self.assertEqual(len(report.report_data(plan)["timelines"]), 8)


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = report.report_html(small_data())
        cls.page = Page(cls.text)

    def test_it_loads_nothing(self):
        for tag, attributes in self.page.elements:
            self.assertNotIn("src", attributes, tag)
            self.assertRegex(attributes.get("href", "#"), r"^(#|data:,$)", tag)
            self.assertFalse([name for name in attributes if name.startswith("on")], tag)
        self.assertEqual(set(re.findall(r"https?://[^\s\"']*", self.text)), {"http://www.w3.org/2000/svg"})
        self.assertIsNone(re.search(r"@import|url\((?!#)|fetch\(|XMLHttpRequest|WebSocket|import\(", self.text))
        self.assertLess(len(self.text), 400_000)

    def test_policy(self):
        """Only this style and this script may act."""
        (policy,) = [meta["content"] for meta in self.page.of("meta") if "http-equiv" in meta]
        self.assertTrue(policy.startswith("default-src 'none'; "))
        for tag in ("style", "script"):
            digest = base64.b64encode(hashlib.sha256(self.page.texts[tag][-1].encode()).digest()).decode()
            self.assertIn(f"{tag}-src 'sha256-{digest}'", policy)

    def test_it_is_well_formed(self):
        self.assertEqual(self.page.wrong, [])
        self.assertEqual(self.page.of("html"), [{"lang": "en"}])
        self.assertTrue(self.text.startswith("<!DOCTYPE html>"))
        ids = [attributes["id"] for _, attributes in self.page.elements if "id" in attributes]
        self.assertEqual(len(ids), len(set(ids)))
        for tag, attributes in self.page.elements:
            for name in ("for", "aria-labelledby", "aria-describedby"):
                self.assertLessEqual(set(attributes.get(name, "").split()), set(ids), tag)

    def test_data_come_through(self):
        data, found = small_data(), self.page.data()
        self.assertEqual(found, json.loads(json.dumps(data), parse_float=report._shorter))
        for queue, other in zip(data["timelines"][0]["schedule"]["queues"], found["timelines"][0]["schedule"]["queues"]):
            self.assertEqual(queue["ops"], other["ops"])
            for start, shorter in zip(queue["start"], other["start"]):
                self.assertAlmostEqual(start, shorter, places=9)

    def test_it_is_packed(self):
        """Numbers come back with 12 digits, and the page is a fraction of its data."""
        plan = ppsched.plan(ppsched.Config(16, 64, forward_times=[1 + 0.1 * k / 3 for k in range(16)], p2p_time=0.1), chunks=[1, 2])
        data = report.report_data(plan, 4)
        text = report.report_html(data)
        bare = len(report.report_html({}))
        self.assertLess(len(text) - bare, 0.25 * len(json.dumps(data)))
        for timeline, found in zip(data["timelines"], page_data(text)["timelines"]):
            for queue, other in zip(timeline["schedule"]["queues"], found["schedule"]["queues"]):
                for name in ("start", "end"):
                    for time, again in zip(queue[name], other[name]):
                        self.assertAlmostEqual(time, again, places=8)

    def test_nothing_escapes(self):
        data = {"title": NASTY, "objective": "makespan", "candidates": [{"strategy": NASTY, "reason": NASTY + "\ud800"}]}
        text = report.report_html(data)
        page = Page(text)
        self.assertEqual((len(page.of("script")), len(page.of("img")), page.wrong), (2, 0, []))
        self.assertEqual(page.data(), data)
        self.assertEqual(page.texts["title"], ["".join(letter for letter in NASTY if letter.isprintable())])
        text.encode("utf-8")

    def test_numbers_that_are_none(self):
        data = {"title": "", "candidates": [{"step_time": math.nan, "span": math.inf, "bound": -math.inf, "bytes": 1e300,
                                             "overshoot": 0.1 + 0.2, "transfers": 2**60}]}
        (row,) = Page(report.report_html(data)).data()["candidates"]
        self.assertEqual(row, {"step_time": None, "span": None, "bound": None, "bytes": 1e300, "overshoot": 0.3,
                               "transfers": 2**60})

    def test_assets(self):
        names = {path.name for path in FOLDER.iterdir()}
        self.assertEqual(names, {*report._SCRIPTS, *report._ANEW, "style.css", "skeleton.html", "anew.css", "anew.html"})
        banned = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|</script|<!--")
        size = 0
        for name in names:
            text = (FOLDER / name).read_text(encoding="utf-8")
            self.assertIn("SPDX-License-Identifier: Apache-2.0", text[:200], name)
            self.assertLessEqual(max(map(len, text.splitlines())), 128, name)
            if not name.endswith(".html"):
                self.assertIsNone(banned.search(text), name)
            size += len(text)
        self.assertLess(size, 200_000)

    def test_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "report.html")
            result = subprocess.run([sys.executable, "-m", "ppsched", "compare", "-s", "4", "-b", "8", "--quiet", "-o", str(path)],
                                    capture_output=True, text=True, check=False)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
            self.assertEqual(Page(path.read_text(encoding="utf-8")).wrong, [])


def ordered_data(replicas):
    """The slow device, which has the last number, stands third."""
    plan = ppsched.plan(ppsched.Config(4, 16, device_speeds=[1, 1, 1, 0.5]), strategies="1f1b", chunks=1, free_device_order=True,
                        layers=[{"name": "decoder", "count": 32, "forward_time": 1, "backward_time": 2}])
    return report.report_data(plan, ranks=page_ranks(None, 1, replicas))


def large_data():
    """64 devices, thousands of ops, and hundreds of candidates."""
    config = ppsched.Config(64, 96, 128, p2p_time=0.1, mem_limit=70)
    data = report.report_data(ppsched.plan(config, strategies=["1f1b", "zb_h1", "gpipe"], chunks=[1, 2]))
    row = data["candidates"][-1]
    for rank in range(len(data["candidates"]), 400):
        data["candidates"].append({**row, "rank": rank, "options": {"group_size": rank}})
    return data


def odd_data():
    """Pages that must not break: as little as possible, and what no plan would give."""
    data = small_data()
    nasty = copy.deepcopy(data)
    nasty.update(title=NASTY)
    for row in nasty["candidates"]:
        row.update(strategy=NASTY + row["strategy"], options={NASTY: NASTY}, placement=NASTY, step_time=math.nan)
    nasty["candidates"].append({**nasty["candidates"][0], "rank": 10**6, "status": "refused", "reason": NASTY, "bubble": None})
    for timeline in nasty["timelines"]:
        timeline["launch"] = {NASTY: {"line": NASTY, "reason": None}, "<b>": {"line": None, "reason": NASTY}}
        timeline["schedule"]["queues"][0]["ops"][0] = NASTY
        timeline["schedule"]["queues"][0]["end"][2] = math.inf
        timeline["schedule"]["idle_by_cause"][NASTY] = [1, 2, 3, 4]
        timeline["schedule"]["idle_by_cause"]["__proto__"] = [1, 2, 3, 4]
        timeline["memory"][1], timeline["memory_limits"] = [], [math.inf]
    untimed = {"rank": 1, "schedule": {"queues": [{"ops": ["0F0"]}]}, "memory": [[]]}
    bare = {"title": "bare", "timelines": [{"rank": 0}, untimed]}
    refused = report.report_data(ppsched.plan(ppsched.Config(3, 7, 5)))
    over = report.report_data(ppsched.plan(ppsched.Config(4, 8, mem_limit=0.5)))
    return {"nothing": {}, "bare": bare, "nasty": nasty, "refused": refused, "over": over}


def lowered_data():
    config = ppsched.Config(4, 8, 8, p2p_time=0.1, p2p_bandwidth=10, activation_bytes=2, iterations=2)
    return report.report_data(ppsched.plan(config, objective="span", lowering="just_in_time", order="group",
                                           strategies=["1f1b", "interleaved_1f1b", "dualpipe"]))


class BrowserTest(PageCase):
    def test_the_order_of_devices(self):
        self.open("ordered", lambda: ordered_data(1))
        for panels in ("#layers-panels", "#launch-panels"):
            self.assertIn("Order of devices: 0 1 3 2.", self.text(panels))
        self.assertIn("rank map: CUDA_VISIBLE_DEVICES=0,1,3,2", self.text("#launch-panels"))

    def test_sizes_and_schemes(self):
        for name, make, rows, ops in (("small", small_data, 12, 400), ("large", large_data, 3, 20_000)):
            for width, height, ratio in ((360, 740, 2), (1440, 900, 1)):
                for dark in (False, True):
                    self.open(name, make, width, height, dark=dark, touch=width == 360, ratio=ratio)
                    self.look(width, height, ratio)
                    self.assertGreaterEqual(self.told("rows"), rows)
                    self.assertGreater(self.told("drawn"), ops // (1 if width > 1000 else 3))
                    self.assertEqual(self.told("chosen"), 2)
                    ink = map(int, re.findall(r"\d+", self.value("getComputedStyle(document.body).color"))[:3])
                    self.assertEqual(sum(ink) > 384, dark)
                    self.assertEqual(self.browser.complaints, [])

    def test_odd_data(self):
        for name, data in odd_data().items():
            with self.subTest(name):
                self.open("odd-" + name, lambda data=data: data, 360, 740)
                self.look(360, 740)
                self.assertEqual(self.value("[typeof window.bitten, document.images.length, document.scripts.length]"),
                                 ["undefined", 0, 2])
                for n in range(self.value("document.querySelectorAll('#ranked tr.pickable').length")):
                    self.value(f"document.querySelectorAll('#ranked tr.pickable')[{n}].click()")
                self.browser.frames()
                self.assertEqual((self.browser.complaints, self.value("document.documentElement.dataset.errors")), ([], None))
        self.open("odd-over", None)
        self.assertIn("No candidate fits", self.text("#winner"))
        self.open("odd-refused", None)
        self.assertEqual(self.value("document.querySelectorAll('#refused li').length"), self.told("rows"))

    def test_sorting(self):
        self.open("small", small_data)
        numbers = "[...document.querySelectorAll('#ranked tbody tr')].map(row => Number(row.children[1].textContent))"
        ranked = self.value(numbers)
        self.assertEqual(ranked, sorted(ranked))
        self.assertIn("best", self.text("#ranked tr.winner"))
        self.click("#ranked th[data-key=rank] button")
        self.assertEqual(self.value(numbers), ranked[::-1])
        self.assertEqual(self.value("document.querySelector('#ranked th[aria-sort]').getAttribute('aria-sort')"), "descending")
        self.click("#ranked th[data-key=peak] button")
        column = "[...document.querySelectorAll('#ranked thead th')].findIndex(cell => cell.dataset.key === 'peak')"
        rows = "[...document.querySelectorAll('#ranked tbody tr')]"
        peaks = self.value(f"{rows}.map(row => +row.children[{column}].textContent)")
        self.assertEqual(peaks, sorted(peaks))

    def test_filters(self):
        self.open("small", small_data)
        data = small_data()["candidates"]
        for status in ("fits", "over limit", "refused"):
            self.choose("#filter-status", status)
            wanted = [row["strategy"] for row in data if row["status"] == status]
            self.assertEqual(self.told("rows"), len(wanted if status == "refused" else set(wanted)))
            self.assertIn(f"{len(wanted)} of {len(data)}", self.text("#shown"))
        self.choose("#filter-status", "")
        self.choose("#filter-strategy", "interleaved_zb")
        wanted = [row["status"] for row in data if row["strategy"] == "interleaved_zb"]
        self.assertEqual(self.told("rows"), 1 + wanted.count("refused"))
        self.click("#ranked .fold:not([hidden])")
        self.assertEqual(self.told("rows"), len(wanted))
        self.choose("#filter-strategy", "")
        self.choose("#filter-status", "timeline")
        self.assertEqual(self.told("rows"), 8)
        self.assertIn(f"8 of {len(data)}", self.text("#shown"))

    def test_folding(self):
        """A row a strategy, numbered without gaps, as the command's table has them; the others are behind it."""
        data = [row for row in small_data()["candidates"] if row["status"] != "refused"]
        strategies = list(dict.fromkeys(row["strategy"] for row in data))
        self.open("small", small_data)
        numbers = "[...document.querySelectorAll('#ranked tbody tr')].map(row => row.children[1].textContent)"
        names = "[...document.querySelectorAll('#ranked tbody th')].map(cell => cell.firstChild.textContent)"
        self.assertEqual(self.value(numbers), [str(n + 1) for n in range(len(strategies))])
        self.assertEqual(self.value(names), strategies)
        several = [sum(row["strategy"] == name for row in data) for name in strategies]
        place = next(i for i, count in enumerate(several) if count > 2)
        fold = f"#ranked tbody tr:nth-child({place + 1}) .fold"
        self.assertEqual(self.text(fold), f"{several[place] - 1} more")
        self.click(fold)
        self.assertEqual(self.value(numbers)[place:place + 3], [f"{place + 1}", f"{place + 1}.2", f"{place + 1}.3"])
        self.assertEqual(self.value(f"document.querySelector('{fold}').getAttribute('aria-expanded')"), "true")
        self.click("#ranked th[data-key=peak] button")  # the others stay behind their best
        found = self.value(numbers)
        start = found.index(f"{place + 1}")
        self.assertEqual({number.split(".")[0] for number in found[start:start + several[place]]}, {f"{place + 1}"})
        self.click(fold.replace(f"nth-child({place + 1})", f"nth-child({start + 1})"))
        self.assertEqual(len(self.value(numbers)), len(strategies))
        self.click("#unfold")
        self.assertEqual((len(self.value(numbers)), self.text("#unfold")), (len(data), "Fold all"))
        self.click("#unfold")
        self.assertEqual(len(self.value(numbers)), len(strategies))

    def test_a_phone_shows_step_time_and_memory_first(self):
        self.open("small", small_data, 360, 740, touch=True)
        cell = "document.querySelector('#ranked tbody tr').children[{}].getBoundingClientRect()"
        heads = self.value("[...document.querySelectorAll('#ranked thead th')].map(cell => cell.dataset.key)")
        self.assertEqual(heads[1:5], ["rank", "strategy", "step", "peak"])
        edge = self.value("document.querySelector('#ranked').getBoundingClientRect().right")
        self.assertLessEqual(self.value(cell.format(4) + ".right"), edge)

    def test_the_baseline_stands_beside_the_best(self):
        self.open("small", small_data)
        names = self.value("[...document.querySelectorAll('#timeline-panels figcaption strong')].map(cell => cell.textContent)")
        self.assertEqual(len(names), 2)
        self.assertTrue(names[0].startswith("1\u2002") and names[1].endswith("\u20021f1b"), names)

    def test_choosing(self):
        self.open("small", small_data)
        self.value("document.querySelectorAll('#ranked tr.pickable')[3].click()")
        self.value("document.querySelectorAll('#ranked input')[4].click()")
        self.browser.frames()
        self.assertEqual(self.told("chosen"), 4)
        for section in ("timeline", "memory", "idle", "launch"):
            self.assertEqual(self.value(f"document.querySelectorAll('#{section}-panels > figure').length"), 4)
        ends = [timeline["schedule"]["metrics"]["makespan"] for timeline in small_data()["timelines"]]
        self.assertTrue(self.text("#window").endswith(f" of {max(ends[0], ends[1], ends[3], ends[4]):.4g}"))
        for _ in range(4):
            self.click("#timeline-panels figcaption > button")
        self.browser.frames()
        self.assertEqual(self.told("chosen"), 0)
        self.assertTrue(self.value("document.querySelector('#timelines .empty').checkVisibility()"))

    def test_mouse(self):
        self.open("small", small_data)
        left, top, width, height = self.place("#timeline-panels .surface")
        x, y = left + width / 2, top + height / 8
        whole = self.text("#window")
        self.browser.mouse("mouseMoved", x, y)
        self.assertIn("duration", self.text("#tip"))
        self.assertTrue(self.value("document.getElementById('tip').checkVisibility()"))
        self.browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-100)
        self.assertEqual(self.text("#window"), whole)  # the page's own
        left, top, width, height = self.place("#timeline-panels .surface")
        x, y = left + width / 2, top + height / 8
        self.browser.click(x, y)
        self.browser.mouse("mouseWheel", x, y, deltaX=0, deltaY=-200)
        zoomed = self.text("#window")
        self.assertNotEqual(zoomed, whole)
        self.browser.drag(x, y, x - 200, y)
        self.assertGreater(float(self.text("#window").split()[0]), float(zoomed.split()[0]))
        self.click("#zoom-fit")
        self.assertEqual(self.text("#window"), whole)
        self.browser.click(left + width + 5, y)
        self.assertFalse(self.value("document.getElementById('tip').checkVisibility()"))

    def test_keys(self):
        self.open("small", small_data)
        self.value("document.querySelector('#timeline-panels .surface').focus()")
        first = small_data()["timelines"][0]["schedule"]["queues"]
        told = []
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "End", "Home"):
            self.browser.key(key)
            told.append(self.text("#announce"))
        self.assertTrue(told[0].startswith(f"{first[0]['ops'][0]} "))
        self.assertTrue(told[1].startswith(f"{first[0]['ops'][1]} "))
        self.assertIn("device 1,", told[2])
        self.assertIn(f"end {first[1]['end'][-1]:.6g}", told[3])
        self.assertTrue(told[4].startswith(f"{first[1]['ops'][0]} "))
        whole = self.text("#window")
        self.browser.key("+")
        zoomed = self.text("#window")
        self.browser.key("ArrowRight", shift=True)
        self.assertEqual(len({whole, zoomed, self.text("#window")}), 3)
        self.browser.key("0")
        self.assertEqual(self.text("#window"), whole)
        self.browser.key("Escape")
        self.assertFalse(self.value("document.getElementById('tip').checkVisibility()"))

    def test_touch_and_transfers(self):
        self.open("lowered", lowered_data, 360, 740, touch=True, ratio=3)
        self.look(360, 740, 3)
        self.assertIn("receives", self.text("#kinds"))
        left, top, _, height = self.place("#timeline-panels .surface")
        self.browser.tap(left + 46.5, top + height / 8)
        self.assertIn("0F0 forward", self.text("#tip"))
        self.assertTrue(self.value("document.getElementById('tip').checkVisibility()"))
        self.click("#rows-higher")
        self.browser.frames()
        self.assertGreater(self.place("#timeline-panels .surface")[3], height)

    def test_memory_and_idle(self):
        self.open("small", small_data)
        self.choose("#memory-device", "2")
        self.assertIn("device 2: peak", self.text("#memory-panels figcaption"))
        left, top, width, height = self.place("#memory-panels svg")
        self.browser.click(left + width / 8, top + height / 2)
        self.assertEqual(self.value("document.querySelector('#memory-device').value"), "0")
        left, top, width, height = self.place("#memory-panels .surface")
        self.browser.mouse("mouseMoved", left + width / 2, top + height / 2)
        self.assertIn("memory", self.text("#tip"))
        self.click("#idle-panels summary")
        self.browser.wait("document.querySelector('#idle-panels table')")
        self.assertEqual(self.value("document.querySelectorAll('#idle-panels table')[0].rows.length"), 5)

    def test_what_memory_is_held_for(self):
        config = ppsched.Config(4, 8, mem_forward=2, mem_static=10, mem_gradients=[6, 4, 4, 6], mem_work_backward=1, mem_limit=24)
        self.open("held", lambda: report.report_data(ppsched.plan(config, strategies=["1f1b", "gpipe"])))
        names = "[...document.querySelectorAll('#held li')].map(item => item.textContent)"
        self.assertEqual(self.value(names), ["static", "gradients", "work", "activations"])
        timeline = ppsched.generate("1f1b", config).evaluate()
        parts = {cause: size for cause, size in timeline.peak_by_cause(0).items() if size}
        text = ", ".join(f"{cause} {size:g}" for cause, size in parts.items())
        self.assertIn(f"which is exceeded; {text}", self.text("#memory-panels figure figcaption"))
        bars = "document.querySelector('#memory-panels figure .bars svg')"
        self.assertEqual(self.value(f"{bars}.querySelectorAll('[class^=held-]').length"),
                         sum(sum(size > 0 for size in timeline.peak_by_cause(device).values()) for device in range(4)))
        heights = self.value(f"[...{bars}.children].slice(0, {len(parts)}).map(part => parseFloat(part.getAttribute('height')))")
        self.assertAlmostEqual(heights[0] / sum(heights), parts["static"] / sum(parts.values()))
        self.click("#idle-panels summary")
        self.browser.frames()
        heads = self.value("[...document.querySelectorAll('#idle-panels thead th')].map(cell => cell.textContent)")
        self.assertLess(heads.index("peak memory"), heads.index("gradients"))
        self.open("small", small_data)
        self.assertEqual(self.value(names), [])

    def test_copying(self):
        """Where pages of files may not use the clipboard, the old way; where that fails too, the line is selected."""
        self.open("small", small_data)
        line = self.text("#launch code")
        self.assertIn(line, json.dumps(small_data()["timelines"][0]["launch"]))
        self.value("Object.defineProperty(navigator, 'clipboard', { value: undefined }); "
                   "window.copied = []; document.execCommand = (name) => copied.push(document.activeElement.value) > 0")
        self.click("#launch .line button")
        self.browser.wait("document.querySelector('#launch .line button').textContent === 'Copied'")
        self.assertEqual(self.value("copied"), [line])
        self.value("document.execCommand = () => false")
        self.click("#launch .line button")
        self.browser.wait("document.querySelector('#launch .line button').textContent.startsWith('Selected')")
        self.assertEqual(self.value("getSelection().toString()"), line)

    def test_theme_and_paper(self):
        self.open("small", small_data, dark=True)
        colour = "getComputedStyle(document.body).color"
        dark = self.value(colour)
        self.click("#theme")
        self.assertNotEqual(self.value(colour), dark)
        self.click("#theme")
        self.assertEqual(self.value(colour), dark)
        self.value("localStorage.clear()")
        self.assertTrue(self.browser.pdf().startswith(b"%PDF"))
        self.assertEqual(self.value(colour), dark)


if __name__ == "__main__":
    unittest.main(verbosity=2)
