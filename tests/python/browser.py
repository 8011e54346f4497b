# SPDX-License-Identifier: Apache-2.0
"""A Chromium without a window, told what to do through a pipe. Messages are JSON, each ended by a NUL.

usage: browser.py      exit 0 where it starts, 1 and why where not"""
import base64
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
NEEDS = "needs the package chromium"
PATIENCE = 60.0  # seconds for an answer, on a machine that has much else to do


def find_browser():
    """The browser's program: that of PPSCHED_CHROMIUM, else one of the usual names; None where there is none."""
    return shutil.which(os.environ.get("PPSCHED_CHROMIUM") or "") or next(filter(None, map(shutil.which, NAMES)), None)


def _words(details):
    return details.get("exception", {}).get("description", "exception")


_shared = []


def skip_all(case, reason):
    """Each test of a class, by its own name, while the class is set up."""
    case.__unittest_skip__, case.__unittest_skip_why__ = True, reason


def shared_browser(case):
    """The browser of all tests of a module, which is ended with the module; called where a class of them is set up. Where there is
    none that starts its tests are skipped."""
    if not _shared and find_browser() is None:
        skip_all(case, f"{NEEDS} (PPSCHED_CHROMIUM names another)")
        return None
    if not _shared:
        try:
            _shared.append(Browser().__enter__())
        except (OSError, TimeoutError) as error:
            skip_all(case, f"{NEEDS}: {find_browser()} does not start ({error})")
            return None
        unittest.addModuleCleanup(lambda: _shared.pop().__exit__())
    return _shared[0]


def leave_nothing(process, folder):
    """Where the tests are ended from outside, as for taking too long, the browser and its profile go too."""
    def end(*_):
        process.kill()
        process.wait()
        for _ in range(40):  # its children write until they notice
            shutil.rmtree(folder, ignore_errors=True)
            time.sleep(0.025)
        os._exit(128 + signal.SIGTERM)
    signal.signal(signal.SIGTERM, end)


class Browser:
    """As a context manager: starts the browser, with one page; ends it."""

    def __enter__(self):
        self._folder = tempfile.mkdtemp(prefix="ppsched-browser-")
        (commands, self._write), (self._read, answers) = os.pipe(), os.pipe()

        def connect():  # the browser reads from 3 and writes to 4; neither may be overwritten before it is copied
            free = os.dup(answers), os.dup(commands)
            os.dup2(free[1], 3)
            os.dup2(free[0], 4)

        words = [find_browser(), "--headless", "--remote-debugging-pipe", f"--user-data-dir={self._folder}", "--no-first-run",
                 "--disable-gpu", "--disable-extensions", "--hide-scrollbars", "--force-color-profile=srgb"]
        if os.getuid() == 0:
            words.append("--no-sandbox")
        self._process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                         close_fds=False, preexec_fn=connect)
        leave_nothing(self._process, self._folder)
        os.close(commands)
        os.close(answers)
        self._number, self._text, self._session = 0, b"", None
        self.complaints, self.requests = [], []
        try:
            self._attach()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _attach(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __exit__(self, *_):
        try:
            self._session = None
            self.call("Browser.close")
        except (OSError, TimeoutError):
            pass
        os.close(self._write)
        os.close(self._read)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    # --- messages ---

    def _message(self, deadline):
        while b"\0" not in self._text:
            ready, _, _ = select.select([self._read], [], [], max(0, deadline - time.monotonic()))
            piece = os.read(self._read, 1 << 20) if ready else b""
            if not piece:
                raise TimeoutError("the browser does not answer")
            self._text += piece
        message, self._text = self._text.split(b"\0", 1)
        return json.loads(message)

    def _notice(self, message):
        """Keeps what a console would show in red, and what the page asked the network for."""
        method, parameters = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.complaints.append(_words(parameters["exceptionDetails"]))
        elif method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.complaints.append(str(parameters["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def call(self, method, **parameters):
        """Runs a command of the protocol; returns its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data):]
        deadline = time.monotonic() + PATIENCE
        while True:
            answer = self._message(deadline)
            if answer.get("id") != self._number:
                self._notice(answer)
            elif "error" in answer:
                raise OSError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    # --- what tests want ---

    def window(self, width, height, *, dark=False, touch=False, ratio=1):
        """A window of that size on a screen of that pixel ratio, of someone who likes dark pages or not."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=touch)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, path):
        """Opens a file of a page of ours, and waits until it is drawn."""
        self.complaints, self.requests = [], []
        self.call("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        self.wait("document.documentElement?.dataset.state === 'ready' || document.documentElement?.dataset.state === 'failed'")

    def wait(self, expression):
        deadline = time.monotonic() + PATIENCE
        while not self.value(f"Boolean({expression})"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited for {expression}; the console says {self.complaints}")
            time.sleep(0.02)

    def value(self, expression):
        """What an expression is in the page; promises are waited for."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise OSError(_words(result["exceptionDetails"]))
        return result["result"].get("value")

    def frames(self):
        """Lets the page paint."""
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))")

    def screenshot(self, whole=False):
        """A PNG of the window, or of the whole page."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=False, preferCSSPageSize=True)["data"])

    def mouse(self, kind, x, y, **parameters):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **parameters)

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="none" if kind == "mouseMoved" else "left", clickCount=1)

    def drag(self, x, y, to_x, to_y):
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        for step in range(1, 6):
            share = step / 5
            self.mouse("mouseMoved", x + (to_x - x) * share, y + (to_y - y) * share, button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)

    def swipe(self, x, y, to_x, to_y):
        """The same with a finger."""
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        for step in range(1, 6):
            share = step / 5
            self.call("Input.dispatchTouchEvent", type="touchMove", touchPoints=[{"x": x + (to_x - x) * share, "y": y + (to_y - y) * share}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, key, shift=False):
        for kind in ("keyDown", "keyUp"):
            text = key if len(key) == 1 else ""
            self.call("Input.dispatchKeyEvent", type=kind, key=key, modifiers=8 if shift else 0, text=text)

    def tap(self, x, y):
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


if __name__ == "__main__":
    if find_browser() is None:
        sys.exit(NEEDS)
    try:
        with Browser() as started:
            assert started.value("1 + 1") == 2
    except (OSError, TimeoutError) as failure:
        sys.exit(f"{find_browser()} does not start: {failure}")
