# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of live.md with Chromium: the page, its knobs, steps that are explained, three side by side, an op that is
dragged, a lesson. Fewer colours make them small.

usage: live_pictures.py PAGE FOLDER     with tests/python in PYTHONPATH"""
import io
import pathlib
import sys

from browser import Browser
from PIL import Image

PROBLEM = "v=1&strategy=zbv&devices=8&stages=16&microbatches=16&p2p_time=0.1&mem_limit=18"
SMALL = "v=1&strategy=1f1b&devices=4&stages=4&microbatches=8&p2p_time=0.25"


class Camera:
    def __init__(self, browser: Browser, page: pathlib.Path, folder: pathlib.Path) -> None:
        self._browser, self._page, self._folder = browser, page.resolve().as_uri(), folder

    def open(self, fragment: str, width: int = 1200, height: int = 1000) -> None:
        self._browser.window(width, height)
        self._browser.call("Page.navigate", url="about:blank")
        self._browser.call("Page.navigate", url=f"{self._page}#{fragment}")
        self._browser.wait("document.documentElement?.dataset.ranked === 'yes'")

    def do(self, script: str) -> None:
        self._browser.value(f"(() => {{ {script} }})()")
        self._browser.frames()

    def choose(self, strategy: str) -> None:
        self.do(f"const knob = document.getElementById('knob-strategy'); knob.value = '{strategy}'; "
                "knob.dispatchEvent(new Event('input', { bubbles: true }));")

    def save(self, name: str, selector: str = "") -> None:
        """The window, or the box of an element."""
        self._browser.frames()
        picture = Image.open(io.BytesIO(self._browser.screenshot())).convert("RGB")
        if selector:
            box = self._browser.value(f"(({{left, top, right, bottom}}) => [left, top, right, bottom])(document.querySelector('{selector}').getBoundingClientRect())")
            picture = picture.crop([max(0, round(box[0])), max(0, round(box[1])), min(picture.width, round(box[2])), min(picture.height, round(box[3]))])
        picture.quantize(64, dither=Image.Dither.NONE).save(self._folder / name, optimize=True)


def main(page: str, folder: str) -> None:
    with Browser() as browser:
        camera = Camera(browser, pathlib.Path(page), pathlib.Path(folder))
        camera.open(PROBLEM, 1280, 860)
        camera.save("live.png")
        camera.open(SMALL, 1280, 1220)
        camera.do("document.getElementById('stages').open = true;")
        camera.do("const field = document.querySelector('[data-name=forward_times][data-stage=\"3\"]'); field.value = 2; "
                  "field.dispatchEvent(new Event('input', { bubbles: true })); document.getElementById('problem').scrollTop = 0;")
        camera.save("live_knobs.png", "#problem")
        camera.open(SMALL, 1280, 900)
        camera.do("document.getElementById('lesson').open = true; for (let i = 0; i < 20; i++) document.getElementById('step-on').click();")
        camera.save("live_explain.png", "#timelines")
        camera.open(SMALL, 1280, 1100)
        for strategy in ("zb_h1", "zbv"):
            camera.do("document.getElementById('keep-beside').click();")
            camera.choose(strategy)
        camera.save("live_beside.png", "#timelines")
        camera.open(SMALL.replace("1f1b", "gpipe"), 1280, 900)
        camera.do("document.getElementById('move-ops').click(); document.querySelector('#timeline-panels [tabindex]').focus();")
        for key in ("ArrowRight", "End", ",", ","):
            browser.key(key)
        camera.save("live_moved.png", "#timelines")
        camera.open(SMALL, 1280, 900)
        camera.do("document.getElementById('place-lessons').open = true; const lesson = document.getElementById('place-lesson'); lesson.value = 4; "
                  "lesson.dispatchEvent(new Event('change')); for (let i = 0; i < 15; i++) document.getElementById('place-hint').click(); "
                  "document.getElementById('place-lessons').scrollIntoView();")
        camera.save("live_lesson.png", "#place-lessons")


main(*sys.argv[1:])
