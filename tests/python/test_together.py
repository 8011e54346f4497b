# SPDX-License-Identifier: Apache-2.0
"""Several timelines in one picture, plans as tables of pandas, and numbers with units in Python."""
import importlib.util
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from in_process import run_command

import ppsched

CONFIG = ppsched.Config(devices=4, microbatches=8, forward_times=[1.0, 1.2, 1.2, 1.4], p2p_time=0.1)


def timelines(*names):
    return [ppsched.generate(name, CONFIG).evaluate() for name in names]


def laid_out(figure):
    """Gives all its texts their places."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    FigureCanvasAgg(figure).draw()


@unittest.skipUnless(importlib.util.find_spec("matplotlib"), "there is no matplotlib")
class DrawTest(unittest.TestCase):
    def test_one_axis_of_time(self):
        drawn = timelines("gpipe", "1f1b", "zb_h1")
        figure = ppsched.draw(drawn)
        self.assertEqual(figure.get_size_inches()[0], 3.4)
        self.assertEqual(len(figure.axes), 3)
        longest = max(timeline.metrics.makespan for timeline in drawn)
        for axes, timeline in zip(figure.axes, drawn):
            self.assertEqual(axes.get_xlim(), (0, longest))
            title, bubble = axes.get_title(loc="left").replace("\n", "; "), timeline.metrics.bubble
            self.assertEqual(title, f"{timeline.schedule.name}: makespan {timeline.metrics.makespan:g}; bubble {bubble.of_total:.1%} of total, "
                                    f"{bubble.of_ideal:.1%} of ideal, {bubble.of_span:.1%} of span")

    def test_text_can_be_read_and_has_room(self):
        from matplotlib.text import Text
        figure = ppsched.draw(timelines("1f1b", "zb_h1"), memory=True)
        laid_out(figure)
        texts = [text for text in figure.findobj(Text) if text.get_text() and text.get_visible()]
        self.assertGreater(len(texts), 20)
        self.assertEqual({text.get_fontsize() for text in texts}, {6})
        width = figure.bbox.width
        for axes in figure.axes:
            box = axes._left_title.get_window_extent()
            self.assertTrue(box.x0 >= 0 and box.x1 <= width, axes.get_title(loc="left"))
        for text in texts:
            self.assertGreaterEqual(text.get_window_extent().x0, 0, text.get_text())

    def test_legend(self):
        """It names the shades of chunks, and is below the axis at a distance that does not grow with the rows."""
        for devices in (4, 16):
            config = ppsched.Config(devices, 2 * devices)
            figure = ppsched.draw([ppsched.generate(name, config).evaluate() for name in ("1f1b", "zb_h1")]
                                  + [ppsched.generate("interleaved_1f1b", config.replace(stages=4 * devices)).evaluate()])
            laid_out(figure)
            legend = figure.axes[-1].get_legend()
            self.assertEqual([text.get_text() for text in legend.get_texts()],
                             ["F  forward", "B  full backward", "I  input gradient", "W  weight gradient", "chunk 1", "chunk 2", "chunk 3"])
            gap = figure.axes[-1].get_window_extent().y0 - legend.get_window_extent().y1
            self.assertLess(gap / figure.dpi, 0.35)
            self.assertGreaterEqual(legend.get_window_extent().y0, 0)

    def test_memory(self):
        (timeline,) = timelines("1f1b")
        figure = ppsched.draw(timeline, memory=True, width=5)
        self.assertEqual(figure.get_size_inches()[0], 5)
        _, memory = figure.axes
        self.assertEqual(max(memory.lines[0].get_ydata()), timeline.metrics.peak_memory)

    def test_into_axes_of_the_caller(self):
        from matplotlib.figure import Figure
        figure = Figure(figsize=(4, 3))
        axes = figure.subplots(2, 1)
        self.assertIs(ppsched.draw(timelines("gpipe", "1f1b"), ax=axes), figure)
        self.assertTrue(all(place.collections for place in axes))
        square = Figure().subplots(2, 2)
        ppsched.draw(iter(timelines("gpipe", "1f1b", "zb_h1", "zb_h2")), ax=square)
        self.assertTrue(all(place.collections for place in square.flat))
        one = Figure().subplots()
        self.assertIs(ppsched.draw(timelines("gpipe"), ax=one), one.figure)

    def test_what_is_refused(self):
        for error, told, words in ((ppsched.Error, "there is none", ([],)), (ppsched.Error, "2 or more", (timelines("gpipe"), None, 0.5)),
                                   (ppsched.Error, "1 given for 2 timelines", (timelines("gpipe", "1f1b"), mock.Mock(spec=[]))),
                                   (ppsched.Error, "width must be a number, not 'wide'", (timelines("gpipe"), None, "wide")),
                                   (TypeError, "Schedule.evaluate\\(\\) returns one", (ppsched.generate("gpipe", CONFIG),)),
                                   (TypeError, r"plan.timeline\(candidate\) returns one", (ppsched.plan(CONFIG, strategies="1f1b"),))):
            with self.subTest(told), self.assertRaisesRegex(error, told):
                ppsched.draw(*words)

    def test_of_the_command(self):
        with tempfile.TemporaryDirectory() as folder:
            for ending, begins in (("pdf", b"%PDF"), ("png", b"\x89PNG"), ("svg", b"<?xml")):
                path = pathlib.Path(folder, f"cmp.{ending}")
                told = run_command(["compare", "--devices", 4, "--microbatches", 8, "-o", path])
                self.assertEqual((told.returncode, told.stderr), (0, ""))
                self.assertIn("place", told.stdout)
                self.assertTrue(path.read_bytes().startswith(begins))
            text = path.read_text(encoding="utf-8")
            plan = ppsched.plan(ppsched.Config(devices=4, microbatches=8))
            best = list(dict.fromkeys(candidate.strategy for candidate in plan))
            self.assertEqual([name for name in best if f" {name}: makespan" in text], best[:5])


class PandasTest(unittest.TestCase):
    def test_rows(self):
        """Of a pandas that stands in for the real one, which need not be installed."""
        plan = ppsched.plan(CONFIG, strategies=["1f1b", "gpipe"])
        frame = mock.Mock()
        with mock.patch.dict(sys.modules, {"pandas": frame}):
            self.assertIs(plan.to_pandas(), frame.DataFrame.return_value)
        frame.DataFrame.assert_called_once_with(plan.rows())

    def test_without(self):
        with mock.patch.dict(sys.modules, {"pandas": None}), self.assertRaisesRegex(ppsched.Error, r"pip install pandas.*rows\(\)"):
            ppsched.plan(CONFIG, strategies=["1f1b"]).to_pandas()


class UnitsTest(unittest.TestCase):
    def config(self, **given):
        return ppsched.Config(2, 4, **{"forward_times": "6ms", "backward_times": ["12ms", "0.013s"], **given})

    def test_the_largest_is_taken(self):
        config = self.config(p2p_time=["0", "1500us", "2ms", "0"][1], mem_forward="512MiB", mem_limit="80GiB")
        self.assertEqual((config.units.time, config.units.memory), ("s", "GiB"))
        self.assertEqual((config.forward_times, config.backward_times, config.p2p_time), ([0.006], [0.012, 0.013], [0.0015]))
        self.assertEqual((config.mem_forward, config.mem_limit), ([0.5], [80.0]))

    def test_others_join(self):
        config = self.config().replace(p2p_time="1ms", forward_times="8ms")
        self.assertEqual((config.units.time, config.forward_times, config.p2p_time, config.backward_times), ("s", [0.008], [0.001], [0.012, 0.013]))

    def test_what_is_refused(self):
        for told, given in (("with and without units; write .*p2p_time: \"1ms\"", {"p2p_time": 1}), ("GB is a unit of memory", {"p2p_time": "3GB"}),
                            ("leave out units", {"units": ppsched.Units("ms")}), ("must be a number or a list of numbers, not 'soon'", {"p2p_time": "soon"}),
                            ('backward_times="12ms"', {"backward_times": ()}), ("no unit 'hours'", {"p2p_time": "3hours"})):
            with self.subTest(told), self.assertRaisesRegex(ppsched.Error, told):
                self.config(**given)


if __name__ == "__main__":
    unittest.main()
