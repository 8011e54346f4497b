# SPDX-License-Identifier: Apache-2.0
"""Numbers that the pages name and no other test holds: each case quotes its sentence. docs/assurance.md lists where the others
are held."""
import collections
import math
import unittest
from unittest import mock

import ppsched
from ppsched._core import picture, progress, runs_on


def chunks_by_strategy(plan, devices):
    found = collections.defaultdict(set)
    for candidate in plan.listed:
        found[candidate.strategy].add(candidate.stages // devices)
    return found


def groups_of(plan, strategy):
    return [candidate.options["group_size"] for candidate in plan.listed if candidate.strategy == strategy]


class NamesTest(unittest.TestCase):
    def test_the_nearest(self):
        """python.md: "A wrong name is a TypeError that tells the nearest" """
        for wrong, nearest in (("forward_time", "forward_times"), ("mem_limits", "mem_limit"), ("p2p_tim", "p2p_time")):
            with self.assertRaisesRegex(TypeError, f"did you mean {nearest}"):
                ppsched.Config(2, 4, **{wrong: 1})


class NotebookTest(unittest.TestCase):
    def test_most_ops_of_a_picture(self):
        """python.md: "where matplotlib is installed and they have 20,000 ops at most" """
        with mock.patch.object(picture, "svg_of", return_value="<svg/>"), mock.patch("importlib.util.find_spec", return_value=True):
            for microbatches, shown in ((10_000, "<svg/>"), (10_001, None)):
                schedule = ppsched.generate("gpipe", ppsched.Config(1, microbatches))
                self.assertEqual(len(schedule), 2 * microbatches)
                self.assertEqual((schedule._repr_svg_(), schedule.evaluate()._repr_svg_()), (shown, shown))


class CandidatesTest(unittest.TestCase):
    def test_chunks(self):
        """plan.md: "each number of chunks per device, V = 1 to 4, that the strategy supports; for those on the loop placement V = 2 to
        4" and "name a strategy to see it with V = 1" """
        found = chunks_by_strategy(ppsched.plan(ppsched.Config(2, 4)), 2)
        for name, chunks in found.items():
            strategy = ppsched.find_strategy(name)
            self.assertEqual(chunks, {strategy.chunks} if strategy.chunks else {2, 3, 4}, name)
        self.assertIn("interleaved_1f1b", found)
        named = ppsched.plan(ppsched.Config(2, 4), strategies=["looped_bfs"])
        self.assertEqual(chunks_by_strategy(named, 2)["looped_bfs"], {1, 2, 3, 4})

    def test_searches_come_with_effort(self):
        """plan.md: "each strategy whose iterations flush, but v_search and auto, which ...: they come with --effort 1 to 12" """
        for effort in (0, 1):
            found = chunks_by_strategy(ppsched.plan(ppsched.Config(2, 2), chunks=[1, 2], effort=effort), 2)
            wanted = {s.name for s in ppsched.strategies() if s.flushes and (effort or s.name not in ("auto", "v_search"))
                      and s.name not in ("pipeoffload", "seq_1f1b", "slimpipe", "vocab_1f1b", "interlaced")}  # which want copies, slices or a head
            self.assertEqual(set(found), wanted, effort)

    def test_groups_of_many_microbatches(self):
        """plan.md: "where all sizes together would run more than a million passes of the stages of `-s`, those from D/2 to 2D and
        some that part the microbatches evenly, each larger by a quarter or a third" """
        few = groups_of(ppsched.plan(ppsched.Config(4, 353, 8), strategies=["interleaved_1f1b"], chunks=[2]), "interleaved_1f1b")
        self.assertLess(8 * 353 * 353, 1_000_000)
        self.assertEqual(set(few) - {2, 3, 4}, set(range(5, 354)))  # with the smallest the order may deadlock
        many = sorted(groups_of(ppsched.plan(ppsched.Config(4, 354, 8), strategies=["interleaved_1f1b"], chunks=[2]), "interleaved_1f1b"))
        self.assertGreater(8 * 354 * 354, 1_000_000)
        self.assertLessEqual({4, 5, 6, 7, 8}, set(many))
        self.assertEqual(many[-1], 354)
        for one, next_one in zip(many, many[1:]):
            if one >= 8:
                self.assertGreater(next_one, one * 1.25 - 1)
                parts = math.ceil(354 / next_one)
                self.assertTrue(next_one == math.ceil(354 / parts) or next_one == one + (one + 2) // 3, (one, next_one))

    def test_chunks_of_layers(self):
        """layers.md: "Chunks are by default all for which there are layers, up to 16, and above that, up to 64, the layers a device
        between the ends divided by 1, 2, 3, ..., rounded down" """
        for count, few, more in ((9, 4, []), (40, 16, [20]), (126, 16, [21, 31, 63]), (130, 16, [21, 32])):
            layers = ppsched.Layers([{"name": "decoder", "count": count, "forward_time": 1},
                                     {"name": "head", "place": "last", "forward_time": 0}][:1 + (count == 126)])
            found = chunks_by_strategy(ppsched.plan(ppsched.Config(2, 2), layers=layers, strategies=["looped_bfs"]), 2)
            self.assertEqual(found["looped_bfs"], {*range(1, few + 1), *more})

    def test_groups_of_many_chunks(self):
        """layers.md: "With more than 64 microbatches, or 16 chunks, groups are D and those that divide them" """
        layers = ppsched.Layers([{"name": "decoder", "count": 34, "forward_time": 1}])
        plan = ppsched.plan(ppsched.Config(2, 12), layers=layers, strategies="interleaved_1f1b", chunks=[16, 17])
        for chunks, wanted in ((16, set(range(1, 13))), (17, {1, 2, 3, 4, 6, 12})):
            found = {candidate.options["group_size"] for candidate in plan if candidate.stages == 2 * chunks}
            self.assertEqual(found, wanted)

    def test_more_chunks_than_layers(self):
        layers = ppsched.Layers([{"name": "decoder", "count": 34, "forward_time": 1}])
        plan = ppsched.plan(ppsched.Config(2, 2), layers=layers, strategies="looped_bfs", chunks=[18])
        self.assertEqual(next(iter(plan)).reason,
                         "36 stages need 36 layers that can be separated, not 34; use at most 34 stages")

    def test_groups_of_layers(self):
        """layers.md: "With more than 64 microbatches, or 16 chunks, groups are D, those that divide them, and where M V D is 5000 at most
        all from D to 2D; those of group_interleaved_1f1b are no larger than D" """
        layers = ppsched.Layers([{"name": "decoder", "count": 6, "forward_time": 1}])
        names = ["interleaved_1f1b", "group_interleaved_1f1b"]
        parts = {2, 3, 6, 139, 278, 417, 834}
        for microbatches, wanted in ((64, set(range(2, 65))), (66, {2, 3, 4, 5, 6, 11, 22, 33, 66}), (834, parts)):
            plan = ppsched.plan(ppsched.Config(3, microbatches), layers=layers, strategies=names, chunks=[2])
            self.assertEqual(set(groups_of(plan, names[0])), wanted)
            self.assertEqual(set(groups_of(plan, names[1])), {1, 2, 3})

    def test_best_that_are_asked_for_each_runtime(self):
        """command.md: "It asks about the 64 best candidates that fit" """
        plan = ppsched.plan(ppsched.Config(2, 70), strategies=["interleaved_1f1b"], chunks=[2])
        with mock.patch.object(runs_on, "runs_on", return_value=runs_on.RunsOn([], [])) as asked:
            found = runs_on.best_by_runtime(plan)
        self.assertEqual((asked.call_count, found.tried), (64, 64))
        self.assertGreater(found.fitting, 64)


    def test_planned_for_another_runtime(self):
        """command.md: candidates of a plan for one runtime are all its own; another is asked for each."""
        layers = ppsched.Layers([{"name": "decoder", "count": 9, "forward_time": 1}])
        for runtime, asked, wanted in (("pytorch", "megatron", {"1f1b"}), ("pytorch", "pytorch", {"1f1b", "gpipe"}), (None, "megatron", {"1f1b"})):
            plan = ppsched.plan(ppsched.Config(2, 4), layers=layers, strategies=["1f1b", "gpipe"], runtime=runtime)
            self.assertEqual({candidate.strategy for candidate in runs_on.Runnable(plan, asked).among(plan)}, wanted)


class ProgressTest(unittest.TestCase):
    def test_the_bar_waits(self):
        """command.md: "If a search takes longer than 0.3 seconds, a bar on the terminal shows its progress" """
        terminal = mock.Mock(isatty=lambda: True)
        for now, calls in ((0.3, 0), (0.301, 1)):
            terminal.write.reset_mock()
            with mock.patch("time.monotonic", side_effect=[0, now]):
                progress.ProgressBar(terminal)(0.5, 3)
            self.assertEqual(terminal.write.call_count, calls, now)


if __name__ == "__main__":
    unittest.main()
