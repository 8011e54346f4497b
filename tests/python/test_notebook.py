# SPDX-License-Identifier: Apache-2.0
"""What a notebook and a script have: pictures, tables and rows, and schedules of one's own beside the library's."""
import importlib.util
import pathlib
import subprocess
import sys
import tempfile
import unittest
import xml.dom.minidom

import ppsched
from ppsched.page.report_packing import page_data

HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None


def by_microbatch(config, builder):
    """One microbatch after the other."""
    for microbatch in range(config.microbatches):
        for stage in range(config.stages):
            builder.append(stage, f"{stage}F{microbatch}")
        for stage in reversed(range(config.stages)):
            builder.append(stage, f"{stage}B{microbatch}")


def like_gpipe(config, builder):
    for stage in range(config.stages):
        builder.append(stage, *(f"{stage}{kind}{microbatch}" for kind in "FB" for microbatch in range(config.microbatches)))


def unfinished(_config, builder):
    builder.append(0, "0F0")


def run(*words):
    return subprocess.run([sys.executable, "-m", "ppsched", *map(str, words)], capture_output=True, text=True, check=False)


class RowsTest(unittest.TestCase):
    def test_of_timelines(self):
        timeline = ppsched.generate("zb_h1", ppsched.Config(3, 5)).evaluate()
        rows = timeline.rows()
        self.assertEqual(len(rows), len(timeline.schedule))
        self.assertEqual(rows[0], {"device": 0, "position": 0, "op": "0F0", "kind": "F", "stage": 0, "microbatch": 0, "start": 0.0, "end": 1.0})
        self.assertEqual(max(row["end"] for row in rows), timeline.metrics.makespan)
        for row in rows:
            self.assertEqual(row["op"], str(timeline.schedule.queues[row["device"]][row["position"]]))

    def test_of_plans(self):
        plan = ppsched.plan(ppsched.Config(4, 8), runtimes=["megatron"])
        rows = plan.rows()
        self.assertEqual([row["strategy"] for row in rows], [candidate.strategy for candidate in plan])
        self.assertEqual({frozenset(row) for row in rows}, {frozenset(rows[0])})
        self.assertEqual(rows[0]["bubble_of_total"], plan[0].bubble.of_total)
        self.assertTrue(all(isinstance(value, (str, int, float, bool, type(None))) for row in rows for value in row.values()))

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "needs the package python3-pandas")
    def test_pandas(self):
        import pandas
        frame = pandas.DataFrame(ppsched.generate("1f1b", ppsched.Config(2, 3)).evaluate().rows())
        self.assertEqual(frame.groupby("device").end.max().tolist(), [12.0, 10.0])

    def test_tables(self):
        page = ppsched.plan(ppsched.Config(4, 8))._repr_html_()
        xml.dom.minidom.parseString(f"<div>{page}</div>")
        self.assertEqual(page.count("<tr>"), 41)
        self.assertRegex(page, r"<p>and \d+ more</p>$")
        config = ppsched.Config(2, 2)
        self.assertIn("1 can be made", ppsched.plan(config, strategies="dualpipe", chunks=1, runtime="deepspeed")._repr_html_().replace("no candidate of ", ""))

        def escaped(config, builder):
            by_microbatch(config, builder)
        escaped.__name__ = "<b>"
        self.assertIn("&lt;b&gt;", ppsched.plan(config, strategies=escaped)._repr_html_())

    def test_a_config_shows_its_numbers(self):
        config = ppsched.Config(32, 8, forward_times="6.1ms", backward_times="12.2ms", device_speeds=[0.5] * 32, options={"<": 1})
        page = config._repr_html_()
        xml.dom.minidom.parseString(page)
        for text in (">forward_times</th>", ">6.1ms</td>", ">0.5, 0.5, ", ", ... (32 values)</td>", ">&lt;</th>", ">32</td>"):
            self.assertIn(text, page)


@unittest.skipUnless(HAS_MATPLOTLIB, "matplotlib is not installed")
class PictureTest(unittest.TestCase):
    def test_the_callers_matplotlib_stays_as_it_is(self):
        code = ("import matplotlib, sys\nmatplotlib.use('svg')\nimport ppsched\ntimeline = ppsched.generate('1f1b', ppsched.Config(2, 3)).evaluate()\n"
                "timeline.draw(); timeline.to_svg()\nassert matplotlib.get_backend() == 'svg' and 'matplotlib.pyplot' not in sys.modules\n"
                "from matplotlib import pyplot\nfigure = pyplot.figure()\ntimeline.draw()\nassert pyplot.get_fignums() == [1]\n")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_svg(self):
        timeline = ppsched.generate("zbv", ppsched.Config(4, 6, 8)).evaluate()
        for text in (timeline.to_svg(), timeline._repr_svg_(), timeline.schedule._repr_svg_()):
            self.assertEqual(xml.dom.minidom.parseString(text).documentElement.tagName, "svg")

    def test_large_ones(self):
        """No wider than 4000 pixels; in a notebook the text stands for them."""
        for config, strategy in ((ppsched.Config(16, 64, 32), "interleaved_1f1b"), (ppsched.Config(300, 8), "1f1b"), (ppsched.Config(2, 2000), "gpipe")):
            timeline = ppsched.generate(strategy, config).evaluate()
            width, height = timeline.draw().get_size_inches() * 150
            self.assertLessEqual(max(width, height / 1.1), 4000)
        self.assertIsNone(ppsched.generate("1f1b", ppsched.Config(8, 2000)).evaluate()._repr_svg_())

    def test_numbers_of_a_kind_or_none(self):
        from ppsched._core.picture import figure_of
        timeline = ppsched.generate("1f1b", ppsched.Config(4, 12, forward_times=[0.01, 1, 1, 1])).evaluate()
        texts = {text.get_text() for text in figure_of(timeline).axes[0].texts}
        self.assertEqual(texts, {str(microbatch) for microbatch in range(12)})  # of backwards: some forwards are too short
        self.assertEqual(len(figure_of(timeline).axes[0].texts), 48)


class OwnTest(unittest.TestCase):
    def test_in_a_plan(self):
        config = ppsched.Config(4, 6)
        plan = ppsched.plan(config, strategies=["1f1b", by_microbatch, "gpipe", like_gpipe])
        self.assertEqual([candidate.strategy for candidate in plan][-1], "by_microbatch")
        self.assertEqual([candidate.rank for candidate in plan], list(range(len(plan))))
        own, built_in = (next(candidate for candidate in plan if candidate.strategy == name) for name in ("like_gpipe", "gpipe"))
        for field in ("step_time", "makespan", "span", "bubble", "peak_memory", "peak_device", "status", "bound", "chunks"):
            self.assertEqual(getattr(own, field), getattr(built_in, field), field)
        self.assertGreater(own.rank, built_in.rank)  # equal ones stay in order
        self.assertEqual(plan.timeline(own).metrics, plan.timeline(built_in).metrics)
        self.assertEqual(str(plan.schedule(own).queues[3][0]), "3F0")
        self.assertIn("like_gpipe", plan.csv())
        with self.assertRaisesRegex(ppsched.Error, "like_gpipe is your own function"):
            plan.command(own)

    def test_alone(self):
        plan = ppsched.plan(ppsched.Config(3, 4, mem_limit=2), strategies=[like_gpipe, by_microbatch, unfinished])
        self.assertEqual([(candidate.strategy, candidate.status) for candidate in plan],
                         [("by_microbatch", "fits"), ("like_gpipe", "over limit"), ("unfinished", "refused")])
        self.assertEqual((plan.best.strategy, plan[1].overshoot, len(plan)), ("by_microbatch", 2.0, 3))
        self.assertIn("no candidate", ppsched.plan(ppsched.Config(2, 2), strategies=unfinished)._repr_html_())
        with self.assertRaisesRegex(ppsched.Error, "unfinished was refused"):
            plan.timeline(plan[2])
        with self.assertRaisesRegex(ppsched.Error, "this plan has none"):
            plan.least_limit()

    def test_for_a_runtime(self):
        plan = ppsched.plan(ppsched.Config(3, 4), strategies=["1f1b", by_microbatch], runtime="megatron")
        self.assertEqual([candidate.status for candidate in plan], ["fits", "refused"])
        self.assertIn("Megatron-LM", plan[1].reason)

    def test_what_it_raises_comes_out(self):
        def raises(_config, _builder):
            raise KeyError("mine")
        with self.assertRaises(KeyError):
            ppsched.plan(ppsched.Config(2, 2), strategies=[raises])
        with self.assertRaisesRegex(ppsched.Error, "cannot be combined with layers"):
            ppsched.plan(ppsched.Config(2, 2), strategies=by_microbatch, layers=[{"name": "a", "count": 4}])

    def test_with_transfers(self):
        plan = ppsched.plan(ppsched.Config(4, 6, p2p_time=0.5), strategies=["gpipe", like_gpipe], lowering="just_in_time", order="direction")
        self.assertEqual(plan[0].step_time, plan[1].step_time)


class PageTest(unittest.TestCase):
    def data(self, page):
        return page_data(page)

    def test_of_timelines(self):
        config = ppsched.Config(4, 6)
        timelines = [ppsched.generate(made, config).evaluate() for made in (by_microbatch, "1f1b", like_gpipe)]
        data = self.data(ppsched.report(timelines, "Mine"))
        self.assertEqual([row["strategy"] for row in data["candidates"]], ["1f1b", "like_gpipe", "by_microbatch"])
        self.assertEqual([row["schedule"]["strategy"] for row in data["timelines"]], ["1f1b", "like_gpipe", "by_microbatch"])
        self.assertEqual(data["title"], "Mine")
        self.assertEqual(len(self.data(ppsched.report(timelines[0]))["timelines"]), 1)
        plan = ppsched.plan(config, strategies=["1f1b", like_gpipe])
        self.assertEqual(len(self.data(ppsched.report(plan))["timelines"]), 2)

    def test_refusals(self):
        for wrong in ([], ["1f1b"], 3):
            with self.assertRaisesRegex(ppsched.Error, "timelines must be a list of at least one ppsched.Timeline"):
                ppsched.report(wrong)


class ConvertTest(unittest.TestCase):
    def test_pictures_and_pages(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            schedule = ppsched.generate(by_microbatch, ppsched.Config(3, 4))
            (folder / "mine.csv").write_text(schedule.export("csv"), encoding="utf-8")
            endings = [(".html", "<!DOCTYPE html>"), *([(".svg", "<?xml")] if HAS_MATPLOTLIB else [])]
            for ending, start in endings:
                path = folder / ("mine" + ending)
                done = run("convert", folder / "mine.csv", "-o", path)
                self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
                self.assertTrue(path.read_text(encoding="utf-8").lower().startswith(start.lower()))
            done = run("convert", folder / "mine.csv", "-o", folder / "mine.xyz")
            self.assertEqual(done.returncode, 2)
            self.assertIn(".html", done.stderr)


if __name__ == "__main__":
    unittest.main()
