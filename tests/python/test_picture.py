# SPDX-License-Identifier: Apache-2.0
"""The pictures: that they fit paper, can be read there, and name what they draw."""
import collections
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import warnings
import xml.etree.ElementTree

import ppsched
from ppsched._core import shown

NAMES = {"curve": re.compile(r"devices? (\d+)(?:-(\d+))?: peak")}


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "there is no matplotlib")
class PictureTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.figures = {}
        for name, strategy, config in (
                ("small", "1f1b", ppsched.Config(4, 8)), ("chunks", "interleaved_1f1b", ppsched.Config(4, 8, 20)),
                ("pairs", "dualpipe", ppsched.Config(4, 8)), ("long", "zb_h1", ppsched.Config(8, 200)),
                ("many", "1f1b", ppsched.Config(40, 48, mem_limit=50)), ("tall", "1f1b", ppsched.Config(64, 128)), ("sliced", "seq_1f1b", ppsched.Config(4, 4, slices=3)),
                ("uneven", "1f1b", ppsched.Config(4, 8, forward_times=[1, 0.02, 1, 1], backward_times=[2, 2, 2, 2]))):
            timeline = ppsched.generate(strategy, config).evaluate()
            cls.figures[name] = timeline, timeline.draw()
        cls.figures["small"][1].savefig(tempfile.TemporaryFile(), format="svg")  # lays it out

    def test_they_fit_paper(self):
        for name, (_, figure) in self.figures.items():
            width, height = figure.get_size_inches()
            self.assertLessEqual(width, 16, name)
            self.assertLessEqual(height, 13, name)
        self.assertEqual(self.figures["long"][1].get_size_inches()[0], 16)

    def test_all_text_can_be_read(self):
        from matplotlib.text import Text
        for name, (_, figure) in self.figures.items():
            for text in figure.findobj(Text):
                if text.get_text():
                    self.assertGreaterEqual(text.get_fontsize(), 6, (name, text.get_text()))

    def test_numbers_are_on_all_devices_or_none(self):
        counted = {}
        for name, (timeline, figure) in self.figures.items():
            rows = collections.Counter(round(text.get_position()[1]) for text in figure.axes[0].texts)
            self.assertIn(len(rows), (0, timeline.schedule.devices), name)
            counted[name] = len(rows)
        self.assertEqual((counted["small"], counted["long"]), (4, 0))

    def test_memory_curves_have_names(self):
        """A device each, or, of more than sixteen, groups that hold every device once; each group's curve is its highest."""
        for name, (timeline, figure) in self.figures.items():
            devices = timeline.schedule.devices
            found = [NAMES["curve"].match(text.get_text()) for text in figure.axes[1].get_legend().get_texts()]
            groups = [range(int(match[1]), int(match[2] or match[1]) + 1) for match in found if match]
            self.assertEqual([device for group in groups for device in group], list(range(devices)), name)
            self.assertLessEqual(len(groups), 16)
        timeline, figure = self.figures["many"]
        lines = [line for line in figure.axes[1].get_lines() if str(line.get_label()).startswith("devices ")]
        self.assertEqual(len(lines), 13)  # of three devices, and one of the last alone
        peak = max(figures.peak_memory for figures in timeline.device_metrics[:3])
        self.assertEqual(max(lines[0].get_ydata()), peak)

    def test_digits_stand_out(self):
        from matplotlib.colors import to_hex
        from ppsched._core.colours import SHADES, contrast
        from ppsched._core.picture import GROUND
        self.assertGreaterEqual(min(contrast(shades[0], GROUND) for shades in SHADES.values()), 3)
        for name, (_, figure) in self.figures.items():
            ops = figure.axes[0].collections[0]
            fills = [(path.get_extents(), to_hex(colour)) for path, colour in zip(ops.get_paths(), ops.get_facecolors())]
            self.assertEqual(len(ops.get_facecolors()), len(ops.get_paths()))
            inks = {to_hex(text.get_color()) for text in figure.axes[0].texts}
            self.assertLessEqual(inks, {"#ffffff", "#000000"})
            for text in figure.axes[0].texts:
                fill = next(colour for box, colour in fills if box.contains(*text.get_position()))
                self.assertGreaterEqual(contrast(to_hex(text.get_color()), fill), 4.5, (name, text.get_text()))

    def test_chunks_look_different(self):
        labels = [text.get_text() for text in self.figures["chunks"][1].axes[0].get_legend().get_texts()]
        self.assertEqual(labels[-4:], ["chunk 1", "chunk 2", "chunk 3", "chunk 4"])
        self.assertGreater(len(self.figures["chunks"][1].axes[0].collections[1].get_segments()), 0)
        self.assertEqual(len(self.figures["small"][1].axes[0].collections[1].get_segments()), 0)

    def test_lines_of_chunks_run_through_their_ops(self):
        """Level, from the start of the op to its end, between its number in the middle and its edge."""
        ops, lines = self.figures["chunks"][1].axes[0].collections[:2]
        boxes = [path.get_extents() for path in ops.get_paths()]
        for (start, height), (end, other) in lines.get_segments():
            self.assertAlmostEqual(height, other)
            of_op = [box for box in boxes if abs(box.x0 - start) < 1e-9 and abs(box.x1 - end) < 1e-9]
            self.assertTrue(any(0.6 < (height - box.y0) / (box.y1 - box.y0) < 0.9 for box in of_op), (start, end, height))

    def test_slices_are_told(self):
        self.assertIn("2.1", {text.get_text() for text in self.figures["sliced"][1].axes[0].texts})

    def test_scenarios_are_drawn(self):
        timeline = ppsched.generate("1f1b", ppsched.Config(4, 8)).evaluate()
        scenarios = timeline.schedule.scenarios(200, seed=3, jitter=0.1)
        figure = timeline.draw(scenarios)
        self.assertEqual(sum(bar.get_height() for bar in figure.axes[2].patches), 200)
        labels = [text.get_text() for text in figure.axes[2].get_legend().get_texts()]
        self.assertEqual(labels[0], f"50% within {scenarios.quantile(0.5):g}")
        self.assertEqual(labels[3], f"planned: {timeline.metrics.makespan:g}")
        self.assertEqual(len(timeline.draw().axes), 2)

    def test_what_is_ready_is_drawn(self):
        timeline = ppsched.generate("gpipe", ppsched.Config(4, 8)).evaluate()
        scenarios, ready = (timeline.schedule.scenarios(100, jitter=0.2, dispatch=dispatch) for dispatch in ("planned", "ready"))
        labels = [text.get_text() for text in timeline.draw(scenarios, ready).axes[2].get_legend().get_texts()]
        makespan, mean = timeline.metrics.makespan, scenarios.metrics.mean
        won = (mean - ready.metrics.mean) / (mean - makespan)
        self.assertEqual(labels[4], f"with dispatch when ready: mean {ready.metrics.mean:g}, saves {won:.0%}")
        with tempfile.TemporaryDirectory() as folder:
            sizes = []
            for words in ([], ["--dispatch"]):
                path = pathlib.Path(folder, "picture.svg")
                subprocess.run([sys.executable, "-m", "ppsched", "schedule", "-s", "4", "-b", "8", "--jitter", "0.1", *words, "-o", str(path)], check=True,
                               capture_output=True)
                sizes.append(len(path.read_text()))
            self.assertGreater(sizes[1], sizes[0])

    def test_the_order_of_microbatches(self):
        for count in (5, 300):
            config = ppsched.Config(2, count, microbatch_scale=[1 + number % 3 for number in range(count)])
            config.microbatch_order = tuple(reversed(range(count)))
            title = ppsched.generate("gpipe", config).evaluate().draw().axes[0].get_title(loc="left").splitlines()
            self.assertTrue(title[2].startswith(f"order of microbatches: {count - 1} {count - 2} "))
            self.assertEqual((len(title), title[-1].endswith("...")), (3, False) if count == 5 else (5, True))
        self.assertEqual(len(self.figures["small"][1].axes[0].get_title(loc="left").splitlines()), 2)

    def test_any_name_makes_xml(self):
        """Of names of one's own: control characters, what XML has no letter for, formulas, markup and comments."""
        config = ppsched.Config(2, 2)
        queues = ppsched.generate("1f1b", config).queues
        names = [*(f"a{chr(code)}b" for code in (*range(1, 32), 0x7F, 0x85, 0x9F, 0x200E, 0x2028, 0xFEFF, 0xFFFE, 0xFFFF, 0x1FFFE, 0x4E2D)),
                 "$x^$", "$", "$$", "\\frac{$", "a & b <c> \"d\" 'e'", "--", "-->", "]]>", "%s {0} \\n"]
        for name in names:
            with warnings.catch_warnings(record=True) as told, self.assertNoLogs("matplotlib"):
                warnings.simplefilter("always")
                text = ppsched.Schedule.from_queues(config, queues, name).evaluate().to_svg()
            self.assertEqual([str(one.message) for one in told], [], name)
            xml.etree.ElementTree.fromstring(text)
        self.assertEqual(shown.printable("a\x1b\ufffe\U0001ffffb\u4e2d"), "a???b\u4e2d")

    def test_pictures_are_drawn_in_silence(self):
        """Standard error stays empty, whatever matplotlib lacks: letters in its font, a folder for its cache."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "own.json")
            text = ppsched.generate("1f1b", ppsched.Config(2, 2)).evaluate().export("json")
            path.write_text(text.replace('"1f1b"', r'"\u4e2d\u6587 \u0001"'), encoding="utf-8")
            for ending, more in (("png", {"MPLCONFIGDIR": "/proc/nowhere"}), ("svg", {}), ("pdf", {})):
                environment = {**os.environ, **more, "PYTHONPATH": os.pathsep.join(sys.path)}
                result = subprocess.run([sys.executable, "-m", "ppsched", "convert", str(path), "-o", f"{folder}/a.{ending}"], check=False,
                                        capture_output=True, text=True, env=environment)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_the_command_draws_them(self):
        with tempfile.TemporaryDirectory() as folder:
            sizes = []
            for words in ([], ["--jitter", "0.05", "--scenarios", "50"]):
                path = pathlib.Path(folder, "picture.svg")
                result = subprocess.run([sys.executable, "-m", "ppsched", "schedule", "-s", "4", "-b", "8", "--quiet", *words, "-o", str(path)],
                                        capture_output=True, text=True, check=False)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                sizes.append(float(re.search(r'height="([\d.]+)pt"', path.read_text())[1]))
            self.assertGreater(sizes[1], sizes[0] + 72)


if __name__ == "__main__":
    unittest.main(verbosity=2)
