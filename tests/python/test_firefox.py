# SPDX-License-Identifier: Apache-2.0
"""The live page and the report in Firefox, with its own mouse, touch and keys. Skipped where there is no Firefox.

usage: test_firefox.py [FOLDER]     FOLDER keeps the library as WebAssembly from run to run"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import ppsched
from browser import skip_all
from firefox import NEEDS, Firefox, find_firefox
from ppsched.page import live, report

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KEPT = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 and "/" in sys.argv[1] else None


class FirefoxTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        global FOLDER, FIREFOX
        if not find_firefox():
            return skip_all(cls, f"{NEEDS} (PPSCHED_FIREFOX names another)")
        FOLDER = KEPT or pathlib.Path(tempfile.mkdtemp())
        FOLDER.mkdir(exist_ok=True)
        if KEPT is None:
            cls.addClassCleanup(shutil.rmtree, FOLDER)
        made = subprocess.run([ROOT / "bindings" / "wasm" / "build.sh", FOLDER / "ppsched.wasm"], capture_output=True, text=True, check=False)
        if made.returncode == 3:
            return skip_all(cls, made.stderr.strip())
        assert made.returncode == 0, made.stderr
        os.environ["PPSCHED_WASM"] = str(FOLDER / "ppsched.wasm")
        (FOLDER / "firefox.html").write_text(live.live_html(), encoding="utf-8")
        try:
            FIREFOX = Firefox().__enter__()
        except (OSError, TimeoutError) as error:
            return skip_all(cls, f"{NEEDS}: {find_firefox()} cannot be driven ({error})")
        cls.addClassCleanup(FIREFOX.__exit__)

    def tearDown(self):
        self.assertEqual(FIREFOX.complaints, [])

    def open(self, fragment, width=1440, height=900):
        FIREFOX.window(width, height)
        FIREFOX.open(f"{(FOLDER / 'firefox.html').resolve().as_uri()}#{fragment}")
        self.assertEqual(FIREFOX.value("document.documentElement.dataset.state"), "ready")

    def text(self, selector):
        return FIREFOX.value(f"document.querySelector('{selector}').textContent.trim()")

    def makespan(self):
        return float(self.text("#card-step strong"))

    def place(self, selector):
        FIREFOX.value(f"document.querySelector('{selector}').scrollIntoView({{block: 'center'}})")
        return FIREFOX.value(f"(({{left, top, width, height}}) => [left, top, width, height])(document.querySelector('{selector}').getBoundingClientRect())")

    def test_figures_are_those_of_the_library(self):
        for strategy in ("1f1b", "zbv", "dualpipe", "auto"):
            chunks = 2 if strategy == "zbv" else 1
            self.open(f"devices=4&stages={4 * chunks}&microbatches=8&strategy={strategy}&p2p_time=0.1")
            FIREFOX.wait("document.documentElement.dataset.settled === 'yes' && document.getElementById('searching').hidden")
            native = ppsched.generate(strategy, ppsched.Config(4, 8, 4 * chunks, p2p_time=0.1)).evaluate()
            self.assertEqual(self.makespan(), float(f"{native.metrics.makespan:.6g}"), strategy)
        FIREFOX.wait("document.documentElement.dataset.ranked === 'yes'")
        self.assertGreater(FIREFOX.value("document.querySelectorAll('#ranks tr').length"), 10)

    def test_keys(self):
        self.open("devices=4&stages=4&microbatches=8")
        FIREFOX.value("document.querySelector('#timeline-panels [tabindex]').focus()")
        for key, words in (("\ue014", "0F0"), ("\ue014", "0F1"), ("\ue015", "1F"), ("\ue010", "1B7")):  # right, right, down, End
            FIREFOX.key(key)
            self.assertIn(words, self.text("#announce"))

    def test_mouse_and_touch_drag_a_stage(self):
        for pointer in ("mouse", "touch"):
            self.open("devices=4&stages=4&microbatches=8")
            FIREFOX.value("document.getElementById('stages').open = true")
            FIREFOX.wait("document.querySelectorAll('.stage-bar span').length === 4")
            left, top, width, height = self.place(".stage-bar span")
            FIREFOX.drag(left + width - 3, top + height / 2, left + width / 2, top + height / 2, pointer)
            times = FIREFOX.value("document.getElementById('knob-forward_times').value").split()
            self.assertEqual(times[1:], ["1", "1", "1"], pointer)
            self.assertAlmostEqual(float(times[0]), 0.5, 1)

    def test_an_op_is_dragged(self):
        self.open("devices=2&stages=2&microbatches=4&strategy=gpipe")
        FIREFOX.value("document.getElementById('move-ops').click()")
        left, top, width, _ = self.place("#timeline-panels .surface")
        scale = (width - 56) / self.makespan()
        FIREFOX.drag(left + 46 + 14 * scale, top + 10, left + 46 + 0.2 * scale, top + 10)
        self.assertIn("This order cannot run", self.text("#alert"))

    def tap(self, selector, pointer):
        left, top, width, height = self.place(selector)
        FIREFOX.drag(left + width / 2, top + height / 2, left + width / 2, top + height / 2, pointer)

    def test_a_lesson_by_mouse_and_touch(self):
        for pointer in ("mouse", "touch"):
            self.open("devices=6&stages=6&microbatches=9&strategy=zb_h1")
            FIREFOX.wait("document.documentElement.dataset.settled === 'yes'")
            before = FIREFOX.value("location.hash")
            FIREFOX.value("document.getElementById('place-lessons').open = true")
            FIREFOX.wait("document.querySelector('#place-rows button') !== null")
            self.tap("#place-rows button", pointer)
            self.assertEqual(self.text("#place-told"), "Device 0 runs 0F0 from 0, without idle time. It holds 1 activation.")
            while FIREFOX.value("document.querySelector('#place-rows button') !== null"):
                self.assertTrue(FIREFOX.value("document.activeElement.closest('#place-rows') !== null"))  # keys go on from here
                self.tap("#place-rows button", pointer)
            self.assertEqual(FIREFOX.value("document.activeElement.id"), "place-lesson")
            self.assertIn("as short as gpipe", self.text("#place-told"))
            self.assertEqual(self.makespan(), 15)
            FIREFOX.value("history.back()")
            FIREFOX.wait("document.documentElement.dataset.strategy === 'zb_h1' && document.documentElement.dataset.settled === 'yes'")
            self.assertEqual(FIREFOX.value("location.hash"), f"{before}&lesson=gpipe")

    def test_a_link_opens_a_lesson(self):
        self.open("lesson=zb_h1")
        for _ in range(3):
            self.tap("#place-rows button", "mouse")
        self.assertEqual(self.text("#place-rows .moves-next > small"), "0F3 waits: device 0 holds 3 of 3; 0I0 waits for 1I0 of device 1.")
        self.assertTrue(FIREFOX.value("location.hash.endsWith('&lesson=zb_h1')"))

    def test_a_model_is_chosen(self):
        self.open("devices=4&stages=4&microbatches=8")
        FIREFOX.value("document.getElementById('layouts').open = true")
        node = FIREFOX.call("script.evaluate", expression="document.getElementById('job-model')", target={"context": FIREFOX.context}, awaitPromise=False)
        FIREFOX.call("input.setFiles", context=FIREFOX.context, element={"sharedId": node["result"]["sharedId"]},
                     files=[str(ROOT / "docs" / "examples" / "config.json")])
        FIREFOX.wait("document.documentElement.dataset.layouts === 'yes'")
        self.assertRegex(self.text("#job-told"), r"^The best of [\d,]+ layouts of config.json: tp ")

    def test_phone(self):
        self.open("devices=8&stages=16&microbatches=16&strategy=zbv", 400, 740)
        self.assertLessEqual(FIREFOX.value("document.documentElement.scrollWidth"), FIREFOX.value("innerWidth"))

    def test_report(self):
        path = FOLDER / "report.html"
        path.write_text(report.report_html(report.report_data(ppsched.plan(ppsched.Config(4, 8, 16, mem_limit=20)))), encoding="utf-8")
        FIREFOX.window(1440, 900)
        FIREFOX.open(path.resolve().as_uri())
        self.assertEqual(FIREFOX.value("document.documentElement.dataset.state"), "ready")
        self.assertGreater(FIREFOX.value("document.querySelectorAll('#timeline-panels figure').length"), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
