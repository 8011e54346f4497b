# SPDX-License-Identifier: Apache-2.0
"""What tests of the page share: a browser, pages that are made once, and what holds for all of them."""
import json
import os
import pathlib
import struct
import tempfile
import unittest

import ppsched
from browser import shared_browser
from ppsched.page import report


def small_plan(**options):
    return ppsched.plan(ppsched.Config(4, 8, 16, p2p_time=0.1, mem_limit=20), **options)


def small_data():
    return report.report_data(small_plan())


class PageCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.browser = shared_browser(cls)
        cls.paths = {}

    def open(self, name, make, width=1440, height=900, **window):
        """Opens a page in a window of that size; its data are made once."""
        if name not in self.paths:
            self.paths[name] = pathlib.Path(self.folder.name, f"{name}.html")
            self.paths[name].write_text(report.report_html(make()), encoding="utf-8")
        self.browser.window(width, height, **window)
        self.browser.open(self.paths[name])
        self.browser.frames()

    def tearDown(self):
        self.assertEqual(self.browser.complaints, [])
        self.assertIsNone(self.value("document.documentElement.dataset.errors"))

    def value(self, expression):
        return self.browser.value(expression)

    def told(self, name):
        return int(self.value(f"document.documentElement.dataset.{name}"))

    def text(self, selector):
        return self.value(f"document.querySelector({json.dumps(selector)}).textContent")

    def click(self, selector):
        self.value(f"document.querySelector({json.dumps(selector)}).click()")

    def choose(self, selector, value):
        self.value(f"(() => {{ const box = document.querySelector({json.dumps(selector)}); box.value = {json.dumps(value)}; "
                   "box.dispatchEvent(new Event('change')); })()")

    def place(self, selector, number=0):
        """The box of an element, scrolled into sight: left, top, width, height."""
        found = f"document.querySelectorAll({json.dumps(selector)})[{number}]"
        self.value(f"{found}.scrollIntoView({{block: 'center'}})")
        self.browser.frames()
        return self.value(f"(() => {{ const box = {found}.getBoundingClientRect(); "
                          "return [box.left, box.top, box.width, box.height]; })()")

    def look(self, width, height, ratio=1):
        """What holds for every page at every size."""
        self.assertEqual(self.value("document.documentElement.dataset.state"), "ready")
        self.assertLessEqual(self.value("document.documentElement.scrollWidth"), self.value("innerWidth"))
        self.assertEqual(len(self.browser.requests), 1, self.browser.requests)
        picture = self.browser.screenshot()
        self.assertEqual(struct.unpack(">II", picture[16:24]), (ratio * width, ratio * height))
        self.assertGreater(len(picture), 8000)
        if os.environ.get("PPSCHED_PICTURES"):  # to look at
            name = f"{self.id().rsplit('.', 1)[1]}-{width}-{self.value('getComputedStyle(document.body).color')}.png"
            pathlib.Path(os.environ["PPSCHED_PICTURES"], name).write_bytes(self.browser.screenshot(whole=True))
