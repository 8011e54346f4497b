# SPDX-License-Identifier: Apache-2.0
"""A Firefox without a window, told what to do over a web socket by WebDriver BiDi; both with Python's own library alone.

usage: firefox.py      exit 0 where it starts, 1 and why where not"""
import base64
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

from browser import leave_nothing

NAMES = ("firefox-esr", "firefox")
NEEDS = "needs the package firefox-esr"
PATIENCE = 120.0  # seconds for its start, and for an answer


def find_firefox():
    """The browser's program: that of PPSCHED_FIREFOX, else one of the usual names; None where there is none."""
    return shutil.which(os.environ.get("PPSCHED_FIREFOX") or "") or next(filter(None, map(shutil.which, NAMES)), None)


class WebSocket:
    """A client's end: texts there and back, nothing else that the standard has."""

    def __init__(self, host, port, path):
        self._socket = socket.create_connection((host, port), timeout=PATIENCE)
        key = base64.b64encode(os.urandom(16)).decode()
        self._socket.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode())
        self._bytes = b""
        head = self._until(b"\r\n\r\n")
        if b" 101 " not in head:
            raise OSError(head.decode(errors="replace"))

    def _more(self):
        piece = self._socket.recv(1 << 16)
        if not piece:
            raise OSError("the browser has closed the connection")
        self._bytes += piece

    def _until(self, end):
        while end not in self._bytes:
            self._more()
        head, self._bytes = self._bytes.split(end, 1)
        return head

    def _take(self, count):
        while len(self._bytes) < count:
            self._more()
        taken, self._bytes = self._bytes[:count], self._bytes[count:]
        return taken

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data)) if len(data) < 1 << 16 \
            else b"\xff" + struct.pack(">Q", len(data))
        self._socket.sendall(b"\x81" + size + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def receive(self):
        text, is_last = b"", False
        while not is_last:
            first, second = self._take(2)
            size = second & 0x7F
            if size >= 126:
                size = int.from_bytes(self._take(2 if size == 126 else 8), "big")
            piece, kind = self._take(size), first & 0x0F
            if kind in (0, 1):
                text, is_last = text + piece, bool(first & 0x80)
            elif kind == 8:
                raise OSError("the browser has closed the connection")
        return text.decode()

    def close(self):
        self._socket.close()


class Firefox:
    """As a context manager: starts the browser, with one page; ends it."""

    def __enter__(self):
        self._folder = tempfile.mkdtemp(prefix="ppsched-firefox-")
        self._log = open(os.path.join(self._folder, "log"), "w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._process = subprocess.Popen([find_firefox(), "--headless", "--no-remote", "--profile", self._folder, "--remote-debugging-port", "0"],
                                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self._log,
                                         env={**os.environ, "HOME": self._folder})
        leave_nothing(self._process, self._folder)
        self._socket, self._number, self.complaints = None, 0, []
        try:
            self._connect()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _connect(self):
        deadline, found = time.monotonic() + PATIENCE, None
        while found is None:
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise TimeoutError("firefox does not start")
            time.sleep(0.1)
            with open(self._log.name, encoding="utf-8", errors="replace") as log:
                found = re.search(r"WebDriver BiDi listening on ws://([^:/]+):(\d+)", log.read())
        self._socket = WebSocket(found[1], int(found[2]), "/session")
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded"])
        self.context = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def __exit__(self, *_):
        if self._socket is not None:
            self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def call(self, method, **parameters):
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.receive())
            if answer.get("method") == "log.entryAdded" and answer["params"]["level"] in ("error", "warn"):
                self.complaints.append(answer["params"]["text"])
            if answer.get("id") != self._number:
                continue
            if answer["type"] == "error":
                raise OSError(f"{method}: {answer['message']}")
            return answer["result"]

    def open(self, url):
        self._go("about:blank", "location.href === 'about:blank'")
        self.complaints = []
        self._go(url, "['ready', 'failed'].includes(document.documentElement?.dataset.state)")

    def _go(self, url, arrived):
        """Without Firefox's own waiting for the page, which now and then does not end where the page gets another process."""
        self.call("browsingContext.navigate", context=self.context, url=url, wait="none")
        self.wait(arrived)

    def window(self, width, height):
        self.call("browsingContext.setViewport", context=self.context, viewport={"width": width, "height": height})

    def value(self, expression):
        """What an expression is in the page, as JSON; promises are waited for."""
        wrapped = f"(async () => JSON.stringify(await ({expression})) ?? 'null')()"
        answer = self.call("script.evaluate", expression=wrapped, target={"context": self.context}, awaitPromise=True)
        if answer["type"] == "exception":
            raise OSError(answer["exceptionDetails"]["text"])
        return json.loads(answer["result"]["value"])

    def wait(self, expression):
        deadline = time.monotonic() + PATIENCE
        while not self._is_true(expression):
            if time.monotonic() > deadline:
                raise TimeoutError(f"waited for {expression}; the console says {self.complaints}")
            time.sleep(0.05)

    def _is_true(self, expression):
        """False too where the page goes while it is asked."""
        try:
            return self.value(f"Boolean({expression})")
        except OSError:
            return False

    def act(self, kind, actions, **more):
        self.call("input.performActions", context=self.context, actions=[{"type": kind, "id": kind, "actions": actions, **more}])

    def key(self, key):
        self.act("key", [{"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}])

    def drag(self, x, y, to_x, to_y, pointer="mouse"):
        """With the mouse, or with a finger: pointer="touch"."""
        places = [(x + (to_x - x) * step / 5, y + (to_y - y) * step / 5) for step in range(6)]
        moves = [{"type": "pointerMove", "x": round(place[0]), "y": round(place[1])} for place in places]
        self.act("pointer", [moves[0], {"type": "pointerDown", "button": 0}, *moves[1:], {"type": "pointerUp", "button": 0}],
                 parameters={"pointerType": pointer})


if __name__ == "__main__":
    if find_firefox() is None:
        sys.exit(NEEDS)
    try:
        with Firefox() as started:
            assert started.value("1 + 1") == 2
    except (OSError, TimeoutError) as failure:
        sys.exit(f"{find_firefox()} does not start: {failure}")
