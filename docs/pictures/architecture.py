#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the pictures of docs/architecture.md and docs/glossary.md, next to this file. A test holds that they are what it draws.
usage: architecture.py            writes the SVGs"""
import pathlib

HERE = pathlib.Path(__file__).resolve().parent
WHITE, LINE, TEXT, SOFT = "#ffffff", "#444444", "#1a1a1a", "#5a5a5a"
PLAIN, INPUT, RESULT, CORE = "#f3f4f6", "#fff4d6", "#e3f3e6", "#dcebfa"
FORWARD, INPUT_GRADIENT, WEIGHT_GRADIENT, BACKWARD, COMM = "#cfe4f7", "#c9eadf", "#f3d9e8", "#c9eadf", "#ffffff"


def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Drawing:
    """An SVG as a list of elements; places are in pixels from the upper left corner."""

    def __init__(self, width, height, title):
        self.size, self.title, self.parts = (width, height), title, []

    def text(self, x, y, text, size=13, anchor="middle", colour=TEXT, weight="normal"):
        self.parts.append(f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" fill="{colour}" '
                          f'font-weight="{weight}">{escape(text)}</text>')

    def box(self, x, y, width, height, lines, fill=PLAIN, dashed=False):
        """The first line is bold, the others are small."""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{fill}" stroke="{LINE}"{dash}/>')
        first = y + height / 2 - 8 * (len(lines) - 1) + 4.5
        for i, line in enumerate(lines):
            self.text(x + width / 2, first + 16 * i, line, 13 if i == 0 else 11, colour=TEXT if i == 0 else SOFT,
                      weight="bold" if i == 0 else "normal")

    def frame(self, x, y, width, height, title):
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="8" fill="none" stroke="{SOFT}" '
                          'stroke-dasharray="2 3"/>')
        if title:
            self.text(x + 10, y + 17, title, 12, "start", SOFT, "bold")

    def arrow(self, *points, dashed=False):
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        path = " ".join(f"{x},{y}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{LINE}" stroke-width="1.4"{dash} marker-end="url(#tip)"/>')

    def svg(self):
        width, height = self.size
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
                f'font-family="Helvetica, Arial, sans-serif" role="img" aria-label="{escape(self.title)}">')
        tip = (f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
               f'<path d="M0,0 L8,4 L0,8 z" fill="{LINE}"/></marker></defs>')
        return "\n".join([head, f"<title>{escape(self.title)}</title>", tip,
                          f'<rect width="{width}" height="{height}" fill="{WHITE}"/>', *self.parts, "</svg>", ""])


def architecture():
    """The way of the data through the modules."""
    d = Drawing(960, 560, "The path of the data: problem, strategy, schedule, lowering, evaluation, export")
    d.box(12, 20, 104, 50, ["description", "layers, blocks"], INPUT)
    d.box(136, 20, 104, 50, ["model", "cost of layers"], INPUT)
    d.arrow((116, 45), (136, 45))
    d.box(20, 92, 180, 50, ["profile", "measured times (Python)"], INPUT)
    d.box(260, 20, 160, 50, ["layers", "cost of each layer"])
    d.box(480, 20, 180, 50, ["split", "layers to stages, recompute"], CORE)
    d.box(720, 20, 220, 50, ["codesign", "searches split and order together"], CORE)
    d.arrow((240, 45), (260, 45))
    d.arrow((420, 45), (480, 45))
    d.arrow((720, 45), (660, 45))
    d.frame(12, 170, 936, 260, "")
    d.text(230, 190, "plan: for each candidate generate, lower and evaluate; then rank", 12, "start", SOFT, "bold")
    d.box(30, 205, 150, 60, ["problem", "sizes, times, memory,", "links (ir)"])
    d.box(220, 205, 150, 60, ["strategy", "rules, searches"], CORE)
    d.box(410, 205, 150, 60, ["schedule", "a queue of ops", "per device (ir)"], RESULT)
    d.box(600, 205, 150, 60, ["offload", "RECOMPUTE, OFFLOAD,", "RELOAD (optional)"])
    d.box(790, 205, 140, 60, ["lower", "SEND, RECV,", "UNSHARD (optional)"])
    d.arrow((110, 142), (110, 205))
    d.arrow((570, 70), (570, 160), (140, 160), (140, 205))
    d.arrow((180, 235), (220, 235))
    d.arrow((370, 235), (410, 235))
    d.arrow((560, 235), (600, 235))
    d.arrow((750, 235), (790, 235))
    d.box(220, 300, 150, 40, ["search"], CORE)
    d.arrow((285, 300), (285, 265))
    d.text(295, 287, "orders", 11, "start", SOFT)
    d.arrow((370, 320), (485, 320), (485, 365))
    d.text(378, 312, "prices each order", 11, "start", SOFT)
    d.box(30, 365, 150, 45, ["bound", "lower bounds"], RESULT)
    d.arrow((80, 265), (80, 365))
    d.box(220, 365, 150, 45, ["check", "complete, no deadlock"], RESULT)
    d.box(410, 365, 150, 45, ["eval", "times, memory, idle"], RESULT)
    d.box(600, 365, 150, 45, ["scenario", "when times vary"], RESULT)
    d.box(790, 365, 140, 45, ["channel", "proof, transfers"], RESULT)
    d.arrow((545, 265), (545, 365))
    d.arrow((515, 265), (515, 345), (350, 345), (350, 365))
    d.arrow((545, 345), (675, 345), (675, 365))
    d.arrow((860, 265), (860, 365))
    d.frame(12, 450, 936, 95, "output")
    d.box(30, 480, 190, 50, ["format", "CSV, JSON, traces, text"])
    d.box(250, 480, 190, 50, ["launch", "arguments for runtimes"])
    d.box(470, 480, 190, 50, ["chakra", "traces for simulators"])
    d.box(690, 480, 240, 50, ["resources", "slots, links, communicators"])
    d.arrow((480, 430), (480, 450))
    return d


def dependencies():
    """What an op waits for, over three stages on three devices."""
    d = Drawing(950, 400, "What the ops of one microbatch wait for: three stages on three devices")
    left = [20, 350, 680]
    for number, x in enumerate(left):
        d.frame(x, 20, 260, 270, f"device {number}: stage {number}")
        d.box(x + 105, 50, 50, 40, [f"F{number}"], FORWARD)
        d.box(x + 105, 140, 50, 40, [f"I{number}"], INPUT_GRADIENT)
        d.box(x + 105, 230, 50, 40, [f"W{number}"], WEIGHT_GRADIENT)
        d.arrow((x + 130, 90), (x + 130, 140))
        d.arrow((x + 130, 180), (x + 130, 230))
    for x in left[:-1]:
        d.box(x + 180, 54, 70, 32, ["SEND_F"], COMM)
        d.box(x + 340, 54, 70, 32, ["RECV_F"], COMM)
        d.arrow((x + 155, 70), (x + 180, 70))
        d.arrow((x + 250, 70), (x + 340, 70))
        d.arrow((x + 410, 70), (x + 435, 70))
        d.box(x + 180, 144, 70, 32, ["RECV_B"], COMM)
        d.box(x + 340, 144, 70, 32, ["SEND_B"], COMM)
        d.arrow((x + 435, 160), (x + 410, 160))
        d.arrow((x + 340, 160), (x + 250, 160))
        d.arrow((x + 180, 160), (x + 155, 160))
        d.text(x + 295, 62, "activation", 11, colour=SOFT)
        d.text(x + 295, 152, "gradient", 11, colour=SOFT)
    d.text(20, 320, "F forward, I backward for the input gradient, W backward for the weight gradient. "
           "B is I and W of a stage as one op.", 12, "start")
    d.text(20, 342, "SEND and RECV exist after lowering only. Before it, the value arrives a latency and bytes / bandwidth "
           "after it is made.", 12, "start")
    d.text(20, 364, "Besides, each op waits for the op before it in the queue of its device. Of slices, F waits for F of the slice "
           "before,", 12, "start")
    d.text(20, 382, "and B or I for that of the slice after, on the same stage.", 12, "start")
    return d


def evaluators():
    """Who times an order, and which test holds each."""
    d = Drawing(940, 470, "Four programs time an order, one checks it without times; tests hold them to each other")
    d.box(360, 20, 220, 50, ["order", "a queue of ops per device"], INPUT)
    d.box(360, 200, 220, 70, ["lib/eval/earliest.c", "one order, all figures", "the reference of the others"], CORE)
    d.box(20, 120, 230, 70, ["lib/channel/transfer_run.c", "a lowered order: SEND, RECV,", "channels, links, copies"])
    d.box(20, 300, 230, 70, ["lib/split/walk.c", "one order, thousands of splits:", "graph built once"])
    d.box(690, 120, 230, 70, ["lib/scenario/run.c", "one order, thousands of scenarios:", "several at once"])
    d.box(690, 300, 230, 70, ["lib/check/progress.c", "no times: can it run to its end,", "else who waits for whom"])
    d.box(360, 400, 220, 50, ["brute force of the tests", "tests/support/brute.c"], RESULT)
    d.arrow((470, 70), (470, 200))
    d.arrow((360, 45), (135, 45), (135, 120))
    d.arrow((580, 45), (805, 45), (805, 120))
    d.arrow((305, 45), (305, 320), (250, 320))
    d.arrow((635, 45), (635, 320), (690, 320))
    d.arrow((250, 170), (345, 170), (345, 220), (360, 220), dashed=True)
    d.text(316, 158, "transfer_sweep", 11, "start", SOFT)
    d.arrow((690, 170), (595, 170), (595, 220), (580, 220), dashed=True)
    d.text(624, 158, "scenario_sweep", 11, "end", SOFT)
    d.arrow((250, 350), (345, 350), (345, 250), (360, 250), dashed=True)
    d.text(312, 368, "split, split_brute", 11, "start", SOFT)
    d.arrow((690, 350), (595, 350), (595, 250), (580, 250), dashed=True)
    d.text(628, 368, "random, check_sweep", 11, "end", SOFT)
    d.arrow((470, 270), (470, 400), dashed=True)
    d.text(476, 318, "random,", 11, "start", SOFT)
    d.text(476, 333, "uneven_sweep", 11, "start", SOFT)
    d.text(20, 440, "solid: reads the order", 11, "start", SOFT)
    d.text(20, 456, "dashed: held equal by the test of tests/prop", 11, "start", SOFT)
    return d


def placements():
    """Which device has which stage, by placement."""
    d = Drawing(760, 190, "Placements of stages on four devices: linear, loop, V, bidirectional")
    rows = {"linear": [["0"], ["1"], ["2"], ["3"]], "loop": [["0", "4"], ["1", "5"], ["2", "6"], ["3", "7"]],
            "V": [["0", "7"], ["1", "6"], ["2", "5"], ["3", "4"]],
            "bidirectional": [["0", "3'"], ["1", "2'"], ["2", "1'"], ["3", "0'"]]}
    for column, (name, devices) in enumerate(rows.items()):
        x = 100 + 165 * column
        d.text(x + 55, 22, name, 13, weight="bold")
        for row, stages in enumerate(devices):
            for chunk, stage in enumerate(stages):
                d.box(x + 58 * chunk, 34 + 36 * row, 52, 28, [stage], (FORWARD, WEIGHT_GRADIENT)[chunk])
    for row in range(4):
        d.text(82, 53 + 36 * row, f"device {row}", 12, "end", SOFT)
    d.text(12, 184, "The second column is the second chunk of a device; stages with ' belong to the second copy of the model.", 11, "start", SOFT)
    return d


def phases():
    """1F1B on four devices, F of 1 and B of 2, by its rule."""
    devices, microbatches, unit, left = 4, 6, 27, 80
    d = Drawing(left + unit * 27 + 14, 205, "1F1B on four devices: warm-up, steady phase, cool-down, and the bubble")
    ends, queues = {}, []
    for r in range(devices):
        warm = devices - 1 - r
        queues.append([("F", m) for m in range(warm)]
                      + [op for m in range(microbatches - warm) for op in (("F", warm + m), ("B", m))]
                      + [("B", m) for m in range(microbatches - warm, microbatches)])
    free, at = [0] * devices, [0] * devices
    while any(at[r] < len(queues[r]) for r in range(devices)):
        for r in range(devices):
            if at[r] == len(queues[r]):
                continue
            kind, m = queues[r][at[r]]
            before = ("F", r - 1, m) if kind == "F" and r > 0 else ("B", r + 1, m) if kind == "B" and r < devices - 1 else None
            if before is not None and before not in ends:
                continue
            start, length = max(free[r], ends.get(before, 0)), 1 if kind == "F" else 2
            d.box(left + unit * start, 50 + 34 * r, unit * length, 28, [f"{kind}{m}"], FORWARD if kind == "F" else BACKWARD)
            ends[kind, r, m] = free[r] = start + length
            at[r] += 1
    for r in range(devices):
        d.text(left - 10, 69 + 34 * r, f"device {r}", 12, "end", SOFT)
    marks = ((0, 3, "warm-up"), (3, 18, "steady phase"), (18, 27, "cool-down"))
    for first, last, name in marks:
        d.text(left + unit * (first + last) / 2, 22, name, 12, weight="bold")
        d.parts.append(f'<path d="M{left + unit * first + 3},38 v-8 h{unit * (last - first) - 6} v8" fill="none" stroke="{LINE}"/>')
    d.text(left, 200, "The phases are shown for device 0. White is idle time: the bubble. F takes 1, B takes 2.", 11, "start", SOFT)
    return d


PICTURES = {"architecture": architecture, "dependencies": dependencies, "evaluators": evaluators, "placements": placements,
            "phases": phases}


def pictures():
    """The file and the text of each."""
    return {HERE / f"{name}.svg": draw().svg() for name, draw in PICTURES.items()}


if __name__ == "__main__":
    for path, text in pictures().items():
        path.write_text(text, encoding="utf-8")
