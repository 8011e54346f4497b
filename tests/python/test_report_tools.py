# SPDX-License-Identifier: Apache-2.0
"""What one does with the timelines of a page: hold ops, find them, follow what they wait for, select a stretch, see the critical path."""
import json
import re
import unittest
import zlib

import ppsched
from page_case import PageCase, report, small_data


def words_in_pdf(pdf, word):
    """How often a word is drawn: glyphs have the numbers of their letters, less 29, in fonts that are embedded so."""
    found = 0
    for stream in re.findall(rb"(?<!end)stream\r?\n(.*?)\r?\nendstream", pdf, re.S):
        try:
            drawn = re.findall(rb"<([0-9A-F]+)>", zlib.decompress(stream))
        except zlib.error:
            continue
        text = "".join(chr(int(run[i:i + 4], 16) + 29) for run in drawn if len(run) % 4 == 0 for i in range(0, len(run), 4))
        found += text.count(word)
    return found


def sliced_data():
    return report.report_data(ppsched.plan(ppsched.Config(4, 4, slices=3, microbatch_scale=[1, 2, 1, 1], p2p_time=0.1),
                                           strategies=["seq_1f1b", "slimpipe"]))


def varied_data():
    return report.report_data(ppsched.plan(ppsched.Config(4, 8, p2p_time=0.1), strategies=["1f1b", "zb_h1"]),
                              variation=report.Variation(200, 3, 0.1, [1, 1, 1, 1.2]))


def ordered_data():
    return report.report_data(ppsched.plan(ppsched.Config(3, 5, microbatch_scale=[1, 2, 0.5, 3, 0.25]), strategies=["1f1b"], chunks=1, order_effort=1))


def lowered_data():
    return report.report_data(ppsched.plan(ppsched.Config(4, 8, p2p_time=0.1, iterations=2), lowering="just_in_time", order="group",
                                           strategies=["1f1b"]))


def windows_data():
    windows = {"forward": [["compute", 3], ["network", 3]], "backward": [["network", 3], ["compute", 3]]}
    return report.report_data(ppsched.plan(ppsched.Config(2, 4, 4, windows=windows), strategies=["dualpipe_v"]))


def kinds_of_pairs_data():
    """Pairs of the same stages with B and with I. The weight gradient of B has windows on both channels."""
    windows = {"forward": [["compute", 3], ["network", 1]], "backward": [["network", 2], ["compute", 3]], "weight": [["compute", 3], ["network", 2]]}

    def mixed(_config, builder):
        builder.append(0, "0F0", ppsched.Op.from_token("0F1", True), "0B0", ppsched.Op.from_token("0F2", True), "0I1", "0W1", "0B2")
    return report.report_data(ppsched.plan(ppsched.Config(1, 3, 1, windows=windows), strategies=[mixed]))


class ToolsTest(PageCase):
    def test_windows_of_pairs(self):
        """Strips in their colours at the edges of pairs, named below the buttons and with how long channels are busy."""
        yellow = ("(() => { const c = document.querySelector('#timeline-panels canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; "
                  "let n = 0; for (let i = 0; i < d.length; i += 4) n += d[i] === 255 && d[i + 1] === 225 && d[i + 2] === 77; return n; })()")
        self.open("windows", windows_data)
        self.assertIn("strip in a pair: its windows on network", self.text("#kinds"))
        self.assertGreater(self.value(yellow), 100)
        self.find("0F3")
        self.assertIn("busy on network", self.text("#tip"))
        self.open("kinds_of_pairs", kinds_of_pairs_data)
        for token, times in (("0F1", ("5", "9")), ("0F2", ("3", "6"))):  # with B, with I
            self.find(token)
            for channel, time in zip(("network", "compute"), times):
                self.assertRegex(self.text("#tip"), rf"busy on {channel}\s*{time}(?!\d)")
        self.open("small", small_data)
        self.assertNotIn("strip in a pair", self.text("#kinds"))
        self.assertEqual(self.value(yellow), 0)

    def canvas(self, number=0):
        """What the overlay of a timeline shows, as text."""
        return self.value(f"document.querySelectorAll('#timeline-panels canvas.over')[{number}].toDataURL()")

    def find(self, token):
        self.value(f"document.getElementById('token').value = {json.dumps(token)}")
        self.click("#find button")
        self.browser.frames()

    def window(self):
        return [float(number) for number in re.findall(r"[\d.]+", self.text("#window"))][:2]

    def select(self, start, end):
        """By dragging with Shift held, from one share of the width to another."""
        left, top, width, height = self.place("#timeline-panels .surface")
        y, plot = top + height / 2, width - 56
        xs = [left + 46 + share * plot for share in (start, end)]
        self.browser.mouse("mousePressed", xs[0], y, button="left", clickCount=1, modifiers=8)
        for x in ((xs[0] + xs[1]) / 2, xs[1]):
            self.browser.mouse("mouseMoved", x, y, button="left", buttons=1, modifiers=8)
        self.browser.mouse("mouseReleased", xs[1], y, button="left", clickCount=1, modifiers=8)
        self.browser.frames()

    def sums(self, number=0):
        """{(busy or idle, name): time} of a timeline's table."""
        rows = self.value(f"[...document.querySelectorAll('#timeline-panels .notes')[{number}].querySelectorAll('.sums tbody tr')]"
                          ".map(row => [...row.cells].map(cell => cell.textContent))")
        return {(row[0], row[1]): float(row[2]) for row in rows}

    def test_find_an_op(self):
        self.open("small", small_data)
        empty = self.canvas()
        self.find("2f3")
        self.assertTrue(self.text("#announce").startswith("2F3 forward;"), self.text("#announce"))
        self.assertIn("2F3 forward", self.text("#tip"))
        self.assertNotEqual(self.canvas(), empty)
        start, end = self.window()
        self.assertLess(end - start, 0.6 * self.value("Number(document.querySelector('#window').textContent.split(' ').at(-1))"))
        self.find("9F999")
        self.assertEqual(self.text("#found"), "there is no 9F999 in the drawn timelines")

    def test_what_an_op_waits_for(self):
        self.open("small", small_data)
        self.find("2F3")
        self.assertIn("waits for1F3", self.text("#tip"))
        self.assertRegex(self.text("#tip"), r"waited for by(3F3, 2I3|3F3, 2B3|3F3)")
        self.find("0F0")
        self.assertNotIn("waits for", self.text("#tip"))
        self.open("sliced", sliced_data)
        self.find("1F2.1")
        self.assertIn("waits for0F2.1, 1F2.0", self.text("#tip"))
        self.find("1B2.1")
        self.assertRegex(self.text("#tip"), r"waits for1F2.1, 2B2.1, 1B2.2")

    def test_arrows(self):
        """An op that is held has arrows, one that is pointed at has not."""
        self.open("small", small_data)
        self.find("2F3")
        held = self.canvas()
        x, y = self.value("(() => { const tip = document.getElementById('tip').getBoundingClientRect(); "
                          "return [tip.left - 14 + 3, tip.top - 18 - 5]; })()")
        self.value("document.querySelector('#timeline-panels .surface').focus()")
        self.browser.key("Escape")
        self.browser.mouse("mouseMoved", x, y)
        self.browser.frames()
        self.assertIn("2F3 forward", self.text("#tip"))
        self.assertNotEqual(self.canvas(), held)

    def test_zoom_stays_at_what_is_held(self):
        self.open("small", small_data)
        entry = small_data()["timelines"][0]["schedule"]["queues"][0]
        self.value("document.querySelector('#timeline-panels .surface').focus()")
        for key in ("Home", "+", "+", "+", "+"):
            self.browser.key(key)
        start, end = self.window()
        self.assertLess(end, 0.2 * max(entry["end"]))
        self.assertLess(start, entry["end"][0])
        self.find("0F5")
        middle = sum(entry[name][entry["ops"].index("0F5")] for name in ("start", "end")) / 2
        before = self.window()
        self.value("document.querySelector('#timeline-panels .surface').focus()")
        self.browser.key("+")
        after = self.window()
        shares = [(middle - start) / (end - start) for start, end in (before, after)]
        self.assertAlmostEqual(shares[0], shares[1], delta=0.03)
        self.assertLess(after[1] - after[0], 0.7 * (before[1] - before[0]))

    def test_w_a_s_d(self):
        self.open("small", small_data)
        whole = self.window()
        self.browser.key("w")
        zoomed = self.window()
        self.assertLess(zoomed[1] - zoomed[0], 0.7 * (whole[1] - whole[0]))
        self.browser.key("d")
        self.assertGreater(self.window()[0], zoomed[0])
        self.browser.key("a")
        self.assertEqual(self.window(), zoomed)
        self.browser.key("s")
        self.assertEqual(self.window(), whole)
        self.value("document.getElementById('token').focus()")  # where one types they are letters
        self.browser.key("w")
        self.assertEqual((self.window(), self.value("document.getElementById('token').value")), (whole, "w"))

    def test_selection_sums_all(self):
        """All time that is selected: busy times are those of the metrics, causes those of the library."""
        self.open("small", small_data)
        self.value("document.querySelector('#timeline-panels .surface').focus()")
        for key in ("[", "]"):
            self.browser.key(key)
        self.browser.frames()
        for number in (0, 1):
            raw = small_data()["timelines"][number]["schedule"]
            sums = self.sums(number)
            busy = sum(time for (what, _), time in sums.items() if what == "busy")
            self.assertAlmostEqual(busy, sum(raw["metrics"]["busy"]), places=3)
            causes = {name: sum(times) for name, times in raw["idle_by_cause"].items()}
            for cause in ("fill", "drain", "transfer"):
                self.assertAlmostEqual(sums.get(("idle", cause), 0), causes[cause], places=3)
            waits = causes["neighbour"] + causes["imbalance"]
            self.assertAlmostEqual(sums.get(("idle", "neighbour, with imbalance"), 0), waits, places=3)

    def test_selection_by_drag(self):
        self.open("small", small_data)
        whole = self.window()
        self.select(0.25, 0.5)
        self.assertEqual(self.window(), whole)  # it does not move
        start, end = [float(number) for number in re.findall(r"[\d.]+", self.text("#selected"))][:2]
        makespan = whole[1]
        self.assertAlmostEqual(start, 0.25 * makespan, delta=0.02 * makespan)
        self.assertAlmostEqual(end, 0.5 * makespan, delta=0.02 * makespan)
        raw = small_data()["timelines"][0]["schedule"]
        forwards = sum(max(0, min(end, stop) - max(start, begin)) for queue in raw["queues"]
                       for op, begin, stop in zip(queue["ops"], queue["start"], queue["end"]) if re.match(r"\d+F", op))
        self.assertAlmostEqual(self.sums()["busy", "F forward"], forwards, delta=0.02 * forwards)
        self.assertAlmostEqual(sum(self.sums().values()), 4 * (end - start), delta=0.02 * (end - start))
        self.click("#select-zoom")
        self.assertAlmostEqual(self.window()[0], start, delta=0.01 * makespan)
        self.click("#select-clear")
        self.assertEqual((self.text("#selected"), self.value("document.querySelectorAll('.sums').length")), ("", 0))

    def test_selection_by_touch(self):
        """As the button says, a finger selects, and moves again when it is pressed once more."""
        self.open("small", small_data)
        self.click("#select")
        left, top, width, height = self.place("#timeline-panels .surface")
        self.browser.drag(left + 200, top + height / 2, left + 500, top + height / 2)
        self.browser.frames()
        self.assertNotEqual(self.text("#selected"), "")
        self.assertEqual(self.value("document.getElementById('select').getAttribute('aria-pressed')"), "true")

    def test_selection_with_transfers(self):
        self.open("lowered", lowered_data)
        self.value("document.querySelector('#timeline-panels .surface').focus()")
        for key in ("[", "]"):
            self.browser.key(key)
        raw, sums = lowered_data()["timelines"][0]["schedule"], self.sums()
        self.assertAlmostEqual(sum(time for (what, _), time in sums.items() if what == "idle"), sum(raw["metrics"]["idle"]), places=3)
        self.assertAlmostEqual(sums["idle", "drain"], sum(raw["idle_by_cause"]["drain"]), places=3)

    def test_critical_path(self):
        self.open("small", small_data)
        plain = self.value("document.querySelector('#timeline-panels canvas').toDataURL()")
        self.click("#critical")
        self.browser.frames()
        self.assertNotEqual(self.value("document.querySelector('#timeline-panels canvas').toDataURL()"), plain)
        plan = ppsched.plan(ppsched.Config(4, 8, 16, p2p_time=0.1, mem_limit=20))
        timeline = plan.timeline(plan[0])
        path = timeline.critical_path
        self.assertTrue(self.text(".critical-text").startswith(f"Critical path of {len(path)} ops: "), self.text(".critical-text"))
        data = small_data()["timelines"][0]
        for op, (device, place) in zip(path, data["critical"]):
            self.assertEqual((op.device, str(op.op)), (device, data["schedule"]["queues"][device]["ops"][place]))
        self.assertEqual(data["slack"]["devices"], timeline.slack_by_device)
        self.click("#critical")
        self.browser.frames()
        self.assertEqual(self.value("document.querySelector('#timeline-panels canvas').toDataURL()"), plain)

    def test_critical_path_with_pairs(self):
        timeline = ppsched.generate("dualpipe", ppsched.Config(4, 8)).evaluate()
        data = report.timelines_data([timeline])["timelines"][0]
        for op, (device, place) in zip(timeline.critical_path, data["critical"]):
            self.assertIn(str(op.op), data["schedule"]["queues"][device]["ops"][place])
            self.assertEqual(data["schedule"]["queues"][device]["start"][place], op.start)

    def test_scenarios(self):
        self.open("varied", varied_data)
        raw = varied_data()["timelines"][0]["scenarios"]
        text = self.text("#scenario-panels figcaption")
        self.assertIn(f"200 scenarios: mean {raw['mean']:.6g}", text)
        self.assertIn(f"99\u00a0% within {raw['quantiles']['0.99']:.6g}", text)
        self.assertIn("device 3 is longest on the critical path", text)
        self.assertEqual(sum(raw["histogram"]["counts"]), 200)
        self.assertEqual(self.value("document.querySelectorAll('.histogram').length"), 2)
        heights = self.value("[...document.querySelectorAll('.histogram .count')].slice(0, 40).map(bar => parseFloat(bar.getAttribute('height')))")
        most = max(raw["histogram"]["counts"])
        for height, count in zip(heights, raw["histogram"]["counts"]):
            self.assertAlmostEqual(height, 100 * count / most)
        self.open("small", small_data)
        self.assertTrue(self.value("document.getElementById('scenarios').hidden"))

    def test_order_of_microbatches(self):
        self.open("ordered", ordered_data)
        data = ordered_data()
        order = data["timelines"][0]["schedule"]["microbatch_order"]
        self.assertEqual((data["candidates"][0]["microbatch_order"], sorted(order)), (order, list(range(5))))
        told = f"Order of microbatches: {' '.join(map(str, order))}"
        self.assertEqual([self.text(f"#{section} .microbatch-order") for section in ("timeline-panels", "launch-panels")], [told, told])
        self.open("small", small_data)
        self.assertEqual(self.value("document.querySelectorAll('.microbatch-order').length"), 0)

    def test_csv_of_what_is_lowered(self):
        """Runtimes lower it themselves: it has no sends."""
        data = lowered_data()["timelines"][0]
        self.assertTrue(any("SEND" in op for queue in data["schedule"]["queues"] for op in queue["ops"]))
        self.assertFalse(any("SEND" in op for queue in data["order"] for op in queue))


class FirstScreenTest(PageCase):
    def test_a_picture_and_the_step_time(self):
        """Without scrolling: the step time, and the first timeline or most of it."""
        for width, height, touch in ((1440, 900, False), (360, 740, True)):
            self.open("small", small_data, width, height, touch=touch)
            _, top, _, size = self.value("(() => { const box = document.querySelector('#timeline-panels .surface').getBoundingClientRect(); "
                                         "return [box.left, box.top, box.width, box.height]; })()")
            self.assertLessEqual(top + size * (1 if width > 1000 else 0.8), height, width)
            bottom = self.value("[...document.querySelectorAll('.card')].find(card => card.textContent.startsWith('step time'))"
                                ".getBoundingClientRect().bottom")
            self.assertLess(bottom, top)

    def test_paper(self):
        """Long tables are folded on paper; their heads come again on each page."""
        self.open("many", lambda: report.report_data(ppsched.plan(ppsched.Config(8, 32, p2p_time=0.1, mem_limit=8)), 2))
        self.click("#unfold")
        self.browser.frames()
        rows = "[...document.querySelectorAll('#ranked tbody tr')].filter(row => row.checkVisibility()).length"
        self.assertGreater(self.value(rows), 200)
        once = words_in_pdf(self.browser.pdf(), "strategy")
        if once == 0:
            self.skipTest("the fonts number their glyphs in another way")
        self.browser.call("Emulation.setEmulatedMedia", media="print")
        self.assertEqual(self.value(rows), 40)
        self.browser.call("Emulation.setEmulatedMedia", media="")
        self.value("document.styleSheets[0].insertRule('@media print { .scroll tbody tr:nth-child(n+41) { display: table-row "
                   "!important } }', document.styleSheets[0].cssRules.length)")
        self.assertGreater(words_in_pdf(self.browser.pdf(), "strategy"), once + 3)

    def test_far_views_are_drawn_by_columns(self):
        """A timeline of many ops takes few calls; one that is near has a rectangle an op."""
        config = ppsched.Config(32, 192)
        self.open("far", lambda: report.report_data(ppsched.plan(config, strategies=["1f1b", "zb_h1"], chunks=[1])))
        self.value("window.calls = 0; const fill = CanvasRenderingContext2D.prototype.fillRect; "
                   "CanvasRenderingContext2D.prototype.fillRect = function (...box) { calls += 1; fill.apply(this, box); }")
        self.value("document.querySelector('#timeline-panels .surface').focus()")
        self.browser.key("0")
        self.browser.frames()
        self.assertGreater(self.told("drawn"), 18_000)
        self.assertLess(self.value("calls"), 1000)
        colours = self.value("(() => { const canvas = document.querySelector('#timeline-panels canvas'); "
                             "const { data } = canvas.getContext('2d').getImageData(0, 5, canvas.width, 1); const found = new Set(); "
                             "for (let i = 0; i < data.length; i += 4) found.add(`${data[i]} ${data[i + 1]} ${data[i + 2]}`); return [...found]; })()")
        self.assertTrue({"0 114 178", "0 158 115", "204 121 167"} <= set(colours), colours)  # F, I and W
        for _ in range(6):
            self.browser.key("+")
        self.browser.frames()
        self.assertGreater(self.value("calls"), 1000)

    def test_forced_colours(self):
        """The legend keeps its colours where the system has its own."""
        self.open("small", small_data)
        colours = "[...document.querySelectorAll('#kinds .swatch')].map(swatch => getComputedStyle(swatch).backgroundColor)"
        usual = self.value(colours)
        self.browser.call("Emulation.setEmulatedMedia", features=[{"name": "forced-colors", "value": "active"}])
        self.browser.frames()
        self.assertTrue(self.value("matchMedia('(forced-colors: active)').matches"))
        self.assertEqual(self.value(colours)[:4], usual[:4])
        self.assertEqual(len(set(usual[:4])), 4 if len(usual) > 6 else len(set(usual[:4])))
        self.assertNotEqual(self.value("getComputedStyle(document.querySelector('#causes .cause')).stroke"), "rgba(0, 0, 0, 0)")
        self.browser.call("Emulation.setEmulatedMedia", features=[])

    def test_rounding_is_no_cause(self):
        data = small_data()
        for timeline in data["timelines"]:
            timeline["schedule"]["idle_by_cause"]["weights"] = [5.7e-14, 0, -1e-15, 0]
        self.open("noise", lambda: data)
        self.assertNotIn("weights", self.text("#causes"))
        self.assertNotIn("weights", self.text("#idle-panels"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
