# SPDX-License-Identifier: Apache-2.0
"""Small rules of the package by themselves, at both sides of what decides: what pages and the command show of them only seldom."""
import argparse
import itertools
import json
import math
import os
import pathlib
import stat
import tempfile
import types
import unittest
from unittest import mock

import ppsched
from ppsched import torch as ppsched_torch
from ppsched._core import _abi, microbatch_map, own_schedules, picture, shown, wrap_around
from ppsched._core import op as op_module
from ppsched._core.config import OF_RUN, QUANTITIES
from ppsched._core.output import whole_file, write_text
from ppsched._start import unfinished
from ppsched.readers import config_file
from ppsched.command import (cli, file_commands, layer_options, live_command, magnitudes, microbatch_options, scenario_options,
                             text_columns)
from ppsched.page import live, live_files, report_packing
from ppsched.readers import comparison, device_files
from ppsched.torch import measuring


class ShownTest(unittest.TestCase):
    """Values of others in messages."""

    def test_what_is_whole_and_what_is_cut(self):
        class Named:
            def __init__(self, length):
                self.length = length

            def __repr__(self):
                return "x" * self.length

        for whole, longer in ((("a" * 78), ("a" * 79)), (b"a" * 80, b"a" * 81), (int("1" * 60), int("1" * 61)), (Named(80), Named(81)),
                              ([[[1]]], [[[[1]]]])):
            self.assertEqual(shown.shown(whole), repr(whole))
            self.assertIn("...", shown.shown(longer))
            self.assertNotEqual(shown.shown(longer), repr(longer))
        self.assertEqual(shown.shown(b"a" * 81), repr(b"a" * 80) + "...")

    def test_large_integers_by_their_size(self):
        self.assertNotIn("bits", shown.shown(2**999 - 1))
        self.assertEqual(shown.shown(2**999), "an integer of 1000 bits")
        self.assertEqual(shown.shown([2**1000]), "[an integer of 1001 bits]")

    def test_one_line_of_200_characters(self):
        self.assertEqual(shown.shown(("a" * 62, "b" * 62, "c" * 62)), repr(("a" * 62, "b" * 62, "c" * 62)))
        self.assertEqual(len(repr(("a" * 62, "b" * 62, "c" * 62))), 198)
        text = repr(("a" * 62, "b" * 62, "c" * 64))
        self.assertEqual((len(text), shown.shown(("a" * 62, "b" * 62, "c" * 64))), (200, text))
        text = repr(("a" * 62, "b" * 62, "c" * 65))
        self.assertEqual(shown.shown(("a" * 62, "b" * 62, "c" * 65)), text[:200] + "...")

    def test_what_a_terminal_would_obey(self):
        for text, told in (("plain", "plain"), ("a\x1b[31mb", "a?[31mb"), ("ä\u202eb", "ä?b"), ("\u2028", "?"), ("ä b", "ä b"), ("\ud800", "?")):
            self.assertEqual(shown.printable(text), told)


class WholeFileTest(unittest.TestCase):
    """Files are there whole or not at all."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        before = os.umask(0o027)
        self.addCleanup(os.umask, before)

    def mode(self, path):
        return stat.S_IMODE(path.stat().st_mode)

    def test_a_new_one_and_one_that_is_there(self):
        path = self.folder / "new.txt"
        write_text(str(path), "one\n")
        self.assertEqual((path.read_bytes(), self.mode(path), os.umask(0o027)), (b"one\n", 0o640, 0o027))
        path.chmod(0o604)
        write_text(str(path), "two\r\n")
        self.assertEqual((path.read_bytes(), self.mode(path)), (b"two\r\n", 0o604))
        self.assertEqual((os.listdir(self.folder), unfinished), (["new.txt"], set()))

    def test_what_a_link_leads_to(self):
        path, link = self.folder / "file.txt", self.folder / "link.txt"
        link.symlink_to(path)
        path.write_text("old")
        write_text(str(link), "new")
        self.assertTrue(link.is_symlink())
        self.assertEqual(path.read_text(), "new")

    def test_an_error_leaves_what_was_there(self):
        path = self.folder / "file.txt"
        path.write_text("old")
        for error, raised in ((RuntimeError("own"), RuntimeError), (OSError(28, "No space"), ppsched.Error), (ValueError("bad"), ppsched.Error)):
            with self.assertRaises(raised):
                with whole_file(str(path)) as temporary:
                    self.assertEqual((os.path.dirname(temporary), unfinished), (str(self.folder), {temporary}))
                    self.assertEqual((os.path.splitext(temporary)[1], self.mode(pathlib.Path(temporary))), (".txt", 0o600))
                    raise error
            self.assertEqual((path.read_text(), os.listdir(self.folder), unfinished), ("old", ["file.txt"], set()))

    def test_what_cannot_be_replaced(self):
        with whole_file("/dev/null") as path:
            self.assertEqual(path, "/dev/null")
        for path, words in ((str(self.folder), "Is a directory"), (str(self.folder / "none" / "file"), "No such file"),
                            ("/proc/self/none", "open already"), ("/dev/fd/none", "open already")):
            with self.assertRaisesRegex(ppsched.Error, f"cannot write '{path}': .*{words}"):
                write_text(path, "text")


class MagnitudesTest(unittest.TestCase):
    """Memory in other magnitudes than activations."""

    def told(self, **values):
        return magnitudes.magnitude_warning(values) or ""

    def test_beside_the_default_activation(self):
        for name in ("mem_static", "mem_weights"):
            self.assertEqual(self.told(**{name: 10}), "")
            self.assertIn(f"{name} is 10.5, but an activation counts as 1", self.told(**{name: 10.5}))
            self.assertIn(f"{name} is 11", self.told(**{name: [1, 11, 2]}))
        # A device of 12 stages over 4 devices holds 3 a microbatch: of 8 microbatches 24.
        sizes = {"num_devices": 4, "num_stages": 12, "num_batches": 8}
        self.assertEqual(self.told(mem_limit=240, **sizes), "")
        self.assertIn("mem_limit is 241", self.told(mem_limit=241, **sizes))
        self.assertEqual(self.told(mem_limit=[900, 240], **sizes), "")  # the least counts
        self.assertIn("mem_limit is 481", self.told(mem_limit=481, num_layers=24, **sizes))
        self.assertEqual(self.told(mem_limit=480, num_layers=24, **sizes), "")
        self.assertEqual(self.told(mem_limit=80, num_stages=4, num_batches=8), "")
        self.assertIn("mem_limit is 81", self.told(mem_limit=81, num_stages=4, num_batches=8))
        self.assertEqual(self.told(mem_limit=10, num_devices=4), "")
        self.assertIn("mem_limit is 11", self.told(mem_limit=11, num_devices=4, num_stages=2, num_batches=1))

    def test_beside_one_that_is_given(self):
        for name, activation, least, most in (("mem_static", 2, 2e-4, 2e4), ("mem_limit", 5, 5e-4, 5e4)):
            for size in (least, most, 0):
                self.assertEqual(self.told(**{name: size, "mem_forward": activation}), "")
            for size in (least * 0.99, most * 1.01):
                self.assertIn(f"{name} is {size:g} and mem_forward is {activation}", self.told(**{name: size, "mem_forward": activation}))


class WrapAroundTest(unittest.TestCase):
    """The makespan by that rule, reckoned again from the last op back."""

    def test_as_reckoned_back(self):
        for devices, chunks, groups in itertools.product((2, 3, 4), (1, 2, 3), (1, 2, 3)):
            config = ppsched.Config(devices, devices * groups, stages=devices * chunks)
            schedule = ppsched.generate("interleaved_1f1b", config)
            forward, backward, p2p = 3.0, 5.5, 0.25
            self.assertAlmostEqual(wrap_around.makespan(schedule, forward, backward, p2p),
                                   self.reckoned(schedule, devices, chunks, forward, backward, p2p), 9)

    def reckoned(self, schedule, devices, chunks, forward, backward, p2p):
        last, before, known = devices * chunks - 1, {}, {}
        for queue in schedule.queues:
            ops = list(queue)
            before.update({(op.kind, op.stage, op.microbatch): other for op, other in zip(ops[1:], ops)})

        def end(kind, stage, microbatch):
            key = (kind, stage, microbatch)
            if key not in known:
                known[key] = start(*key) + (forward if kind == ppsched.Kind.F else backward)
            return known[key]

        def start(kind, stage, microbatch):
            other = before.get((kind, stage, microbatch))
            times = [0.0 if other is None else end(other.kind, other.stage, other.microbatch)]
            first_of_group = microbatch % devices == 0
            if kind == ppsched.Kind.F and stage > 0 and (stage % devices > 0 or first_of_group):
                times.append(end(kind, stage - 1, microbatch) + p2p)
            if kind != ppsched.Kind.F and stage < last and ((stage + 1) % devices > 0 or first_of_group):
                times.append(end(kind, stage + 1, microbatch) + p2p)
            if kind != ppsched.Kind.F and stage == last:
                times.append(end(ppsched.Kind.F, stage, microbatch))
            return max(times)

        return max(end(op.kind, op.stage, op.microbatch) for queue in schedule.queues for op in queue)


class FilesTest(unittest.TestCase):
    def test_how_a_file_is_read(self):
        """Traces by their ending or by what is asked; what is asked goes first."""
        schedule = ppsched.generate("1f1b", ppsched.Config(2, 2))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "queues.et")
            write_text(path, schedule.export("csv"))
            self.assertEqual([list(queue) for queue in file_commands._read(argparse.Namespace(file=path, source="csv")).queues],
                             [list(queue) for queue in schedule.queues])
            for source in (None, "chakra"):
                with self.assertRaises(ppsched.Error):
                    file_commands._read(argparse.Namespace(file=path, source=source))

    def test_microbatches_by_slot(self):
        by_slot = microbatch_map.by_slot
        self.assertEqual(by_slot({"microbatch_scale": [1, 2, 3], "mem_forward": [4, 5, 6]}, (2, 0, 1)),
                         {"microbatch_scale": [3, 1, 2], "mem_forward": [4, 5, 6]})
        self.assertEqual(by_slot({"microbatch_scale": [1, 2, 3]}, ()), {"microbatch_scale": [1, 2, 3]})
        self.assertEqual(by_slot({"microbatch_scale": [7]}, (2, 0, 1)), {"microbatch_scale": [7]})
        self.assertEqual(by_slot({"microbatch_memory_scale": [1, 2]}, (1, 0)), {"microbatch_memory_scale": [2, 1]})

    def test_the_order_beside_what_is_written(self):
        """In a line, a member, a member of another, or nowhere."""
        order, text = (2, 0, 1), json.dumps({"a": 1, "otherData": {"b": 2}})
        told = {format: microbatch_map.with_order(text, format, order) for format in ppsched.Format}
        self.assertEqual({format for format in told if told[format] != text}, {ppsched.Format.TEXT, ppsched.Format.JSON, ppsched.Format.CHROME_TRACE})
        self.assertEqual(told[ppsched.Format.TEXT], text + "order of microbatches: 2 0 1\n")
        self.assertEqual(json.loads(told[ppsched.Format.JSON])[microbatch_map.KEY], [2, 0, 1])
        self.assertNotIn(microbatch_map.KEY, json.loads(told[ppsched.Format.CHROME_TRACE]))
        self.assertEqual(told[ppsched.Format.CHROME_TRACE].count(f'"{microbatch_map.KEY}"'), 1)
        for format in ppsched.Format:
            self.assertEqual(microbatch_map.with_order(text, format, ()), text)

    def test_options_of_scenarios_where_nothing_varies(self):
        beside = dict.fromkeys(scenario_options.BESIDE, 1)
        values = {"scenarios": 5, "seed": 6, "num_devices": 4, "jitter": None}
        scenario_options.take_idle(values, {"seed": 6})
        self.assertEqual(values, {"seed": 6, "num_devices": 4, "jitter": None})
        for name in scenario_options.VARYING:
            values = {**beside, name: "profile" if name == "scenarios_from" else 0.5}
            kept = dict(values)
            scenario_options.take_idle(values, {})
            self.assertEqual(values, kept)


class ConfigFileTest(unittest.TestCase):
    """What a value of each kind of key may be."""

    SAMPLES = {"integer": 3, "number": 2.5, "text": "a", "mapping": {"a": 1}, "list": [1], "truth": True, "nothing": None}

    def test_each_kind_of_key(self):
        for keys, taken, told in ((config_file.INTEGERS, {"integer"}, "an integer"), (config_file.NUMBERS, {"integer", "number"}, "a number"),
                                  (config_file.TEXTS, {"text"}, "a text"), (config_file.MAPPINGS, {"mapping"}, "a mapping of names to values"),
                                  (config_file.LISTS, {"list"}, "a list")):
            for key, (kind, value) in itertools.product(keys, self.SAMPLES.items()):
                if kind in taken:
                    if key not in ("recompute", "device_types"):
                        config_file._check_value("f.json", key, value)
                else:
                    with self.assertRaisesRegex(ppsched.Error, f"f.json: {key} must be {told}, not "):
                        config_file._check_value("f.json", key, value)
        for key, good, bad in (("split", [3, 4], [3, True]), ("split", [], [2.0]), ("recompute", ["0-3:full"], ["0-3:full", 3])):
            config_file._check_value("f.json", key, good)
            with self.assertRaisesRegex(ppsched.Error, f"{key} must be a list of"):
                config_file._check_value("f.json", key, bad)
        for value in self.SAMPLES.values():
            config_file._check_value("f.json", "forward_times", value)  # is looked at later


class QuantitiesTest(unittest.TestCase):
    def test_which_are_not_of_stages(self):
        """They refuse a value for each of three stages, of no other thing of which there are three; the share is one number, and stage_scale
        has one for each stage on each device."""
        for name in QUANTITIES:
            try:
                ppsched.Config(2, 5, 3, slices=7, **{name: [1, 1, 1]})
                is_of_run = False
            except ppsched.Error as error:
                is_of_run = error.status == _abi.Status.ERROR_LENGTH
            self.assertEqual(is_of_run, name in (*OF_RUN, "backward_input_share", "stage_scale"), name)
        self.assertEqual(set(OF_RUN) - set(QUANTITIES), set())


class LayersAndDevicesTest(unittest.TestCase):
    def test_kinds_of_recomputation(self):
        layers = ppsched.Layers([{"name": "a", "count": 2, "forward_time": 1, "mem_forward": 4, "recompute": [
            {"name": "some", "backward_time": 2.5, "mem_forward": 2}, {"name": "full", "backward_time": 3, "mem_forward": 1}]}, {"name": "b", "forward_time": 1}])
        kinds = layer_options._kinds
        self.assertEqual([kinds(layers, words) for words in (None, [], ["0:some"], ["0-1:full"], ["1:full", "0:some"])],
                         [[0, 0, 0], [0, 0, 0], [1, 0, 0], [2, 2, 0], [1, 2, 0]])
        for words, told in ((["2:full"], "layer 2 has no kind 'full'; it has none"), (["0:most"], "layer 0 has no kind 'most'; it has some, full"),
                            (["1-2:full"], "layer 2 has no kind"), (["1-3:full"], "there are layers 0 to 2"), (["3:full"], "there are layers 0 to 2"), (["1-0:full"], "0 is before 1"),
                            (["0:some", "0-1:full"], "layer 0 has kind some already"), (["full"], "it must be NUMBER:KIND")):
            with self.assertRaisesRegex(ppsched.Error, told):
                kinds(layers, words)

    def test_files_of_devices(self):
        known = device_files.read_device("h100")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.json")

            def read(**fields):
                write_text(path, json.dumps(fields))
                return device_files.read_device(path)

            self.assertEqual(read(like="h100"), known)
            self.assertEqual(read(like="h100", node_devices=5), known._replace(node_devices=5))
            for fields, told in (({"like": "h100", "nodes": 5}, "a device has no 'nodes'; it has like, name"), ({"like": "no such"}, "like: "),
                                 ({"like": "h100", "node_devices": 0}, "node_devices is 0"), ({"like": "h100", "node_devices": True}, "node_devices is True"),
                                 ({"node_devices": 4}, "a device needs ")):
                with self.assertRaisesRegex(ppsched.Error, told):
                    read(**fields)


class NumbersOfPicturesTest(unittest.TestCase):
    """Points of the numbers in boxes: as wide as 0.68 a character, as high as 1.25, 72 an inch."""

    def sizes(self, *boxes, inches=2.0, row=1.0, largest=picture._NUMBER_SIZE):
        made = [picture._Box(0, ppsched.Op(0, kind, number, False, part), 0.0, duration, 0.0, height) for kind, number, part, duration, height in boxes]
        return picture._number_sizes(made, inches, row, largest)

    def test_what_fits(self):
        F, B = ppsched.Kind.F, ppsched.Kind.B
        wide, high = 0.68 / (72 * 2.0), 1.25 / 72  # a point for each character, and of height
        for size in (6.5, 7.25):
            self.assertAlmostEqual(self.sizes((F, 5, None, size * wide, 1.0))[F], size, 9)
        self.assertAlmostEqual(self.sizes((F, 5, None, 1.0, 6.5 * high))[F], 6.5, 9)
        self.assertAlmostEqual(self.sizes((F, 5, None, 1.0, 6.5 * high / 3), row=3.0)[F], 6.5, 9)
        self.assertAlmostEqual(self.sizes((F, 12, 3, 4 * 6.25 * wide, 1.0))[F], 6.25, 9)
        self.assertEqual(self.sizes((F, 5, None, 9.0, 9.0), (F, 6, None, 0.0, 1.0), (B, None, None, 0.001, 1.0)), {F: picture._NUMBER_SIZE})
        self.assertEqual(self.sizes((F, 5, None, 9.0, 9.0), (F, 6, None, 0.99 * picture._LEAST_SIZE * wide, 1.0), (B, 1, None, 9.0, 9.0)),
                         {B: picture._NUMBER_SIZE})
        self.assertEqual(self.sizes((F, 5, None, 9.0, 9.0), largest=6.0), {F: 6.0})
        self.assertEqual(set(self.sizes((F, 6, None, 1.001 * picture._LEAST_SIZE * wide, 1.0))), {F})


class LivePageTest(unittest.TestCase):
    """Of the live page what needs no library in it."""

    def test_its_style_is_that_of_reports_and_its_own(self):
        with mock.patch.object(live_files, "packed_library", return_value=""):
            page = live.live_html()
        for name in ("report_page/style.css", "live_page/live.css"):
            style = (pathlib.Path(live.__file__).parent / name).read_text(encoding="utf-8")
            self.assertTrue(style in page, name)

    def test_a_problem_that_is_given_is_in_the_link(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(live_command, "live_html", return_value="a page"):
            path = pathlib.Path(folder).resolve() / "page.html"
            for words, problem in (((), ""), (("-s", "4", "-b", "8"), "#v=1&strategy=1f1b&devices=4&stages=4&microbatches=8")):
                with mock.patch.object(live_command, "print_text") as printed:
                    self.assertEqual(cli.main(["live", "-o", str(path), *words]), 0)
                printed.assert_called_once_with(f"{path.as_uri()}{problem}\n")
                self.assertEqual(path.read_text(encoding="utf-8"), "a page")


class PackedPageTest(unittest.TestCase):
    """Times of a page: how long after the one before an op starts, and how long it takes."""

    def test_times_of_a_queue(self):
        def packed(start, end):
            queue = {"ops": ["0F0", "0F1"], "start": start, "end": end}
            return report_packing.with_gaps({"schedule": {"queues": [queue]}})["schedule"]["queues"][0]

        self.assertEqual(packed([0.5, 2], [1.5, 4]), {"ops": ["0F0", "0F1"], "gap": [0.5, 0.5], "duration": [1, 2]})
        for start, end in (([0.5], [1.5, 4]), (None, [1, 2]), ([0.5, None], [1.5, 4]), ([0.5, math.inf], [1.5, 4]), ({}, {})):
            self.assertEqual(packed(start, end), {"ops": ["0F0", "0F1"], "start": start, "end": end})


class ObjectsTest(unittest.TestCase):
    def test_a_timeline_tells_which_device_is_over_its_limit(self):
        for limit, told in ((100, ""), (1, ", over the limit of device 0")):
            config = ppsched.Config(2, 4, mem_limit=limit)
            timeline = ppsched.generate("gpipe", config).evaluate()
            self.assertRegex(repr(timeline), rf"peak memory 4{told}>$")

    def test_a_schedule_of_ones_own_as_a_candidate(self):
        """Peaks are 4 on each device: what the worst lacks, the limit that all have, and the objective of one iteration."""
        for limit, excess, told in (((), 0.0, None), (5, 0.0, 5.0), (2.5, 1.5, 2.5), ([3, 1.25], 2.75, math.nan), ([9, 3], 1.0, math.nan)):
            config = ppsched.Config(2, 4, iterations=2, mem_limit=limit, p2p_time=0.5)
            timeline = ppsched.generate("gpipe", config).evaluate()
            for objective, whole in ((ppsched.Objective.SPAN, timeline.metrics.span), (ppsched.Objective.MAKESPAN, timeline.metrics.makespan)):
                row = own_schedules.candidate_of(timeline, 7, objective)
                self.assertEqual((row.overshoot, row.step_time, row.number, row.rank, row.chunks), (excess, whole / 2, 7, 7, 1))
                self.assertEqual(repr(row.memory_limit), repr(told))
                self.assertEqual(row.status, "fits" if excess == 0 else "over limit")
                self.assertEqual(row.reason is None, excess == 0)
                if excess > 0:
                    self.assertIn(f"device {timeline.metrics.limit_device} is over its limit; the largest overshoot of a device is {excess:g}", row.reason)
        timeline = ppsched.generate("zb_h2", ppsched.Config(4, 12, p2p_time=0.5)).evaluate()
        times = [own_schedules.candidate_of(timeline, 0, objective).step_time for objective in (ppsched.Objective.SPAN, ppsched.Objective.MAKESPAN)]
        self.assertEqual(times, [timeline.metrics.span, timeline.metrics.makespan])
        self.assertLess(*times)

    def test_a_search_again_in_the_best_order(self):
        """The shorter of what was found, reordered, and what is found with the microbatches in that order."""
        for scale in itertools.islice(itertools.permutations((1, 2, 0.5, 3, 0.25)), 0, 60, 7):
            values = {"order_microbatches": True, "microbatch_scale": list(scale), "strategy": "zb_auto"}
            schedule = ppsched.generate("zb_auto", ppsched.Config(2, 5, microbatch_scale=scale, forward_times=[1, 1.75], p2p_time=0.25))
            first = schedule.order_microbatches()
            again = ppsched.generate("zb_auto", first.config)
            told = [made.evaluate().metrics.makespan for made in (first, again, microbatch_options.in_best_order(schedule, values, None))]
            self.assertEqual(told[2], min(told[:2]))
        schedule = ppsched.generate("1f1b", ppsched.Config(2, 5, microbatch_scale=(1, 2, 0.5, 3, 0.25)))
        self.assertIs(microbatch_options.in_best_order(schedule, {}, None), schedule)
        made = microbatch_options.in_best_order(schedule, {"order_microbatches": True, "microbatch_memory_scale": [1]}, None)
        self.assertEqual(made.config.microbatch_order, schedule.order_microbatches().config.microbatch_order)
        with self.assertRaises(ppsched.Error):
            microbatch_options.in_best_order(schedule, {"order_microbatches": True}, None)

    def test_ops_and_their_records(self):
        """There and back, and the ends of what a record holds."""
        for op in (ppsched.Op(3, ppsched.Kind.F, 7), ppsched.Op(3, ppsched.Kind.W, 7, False, 2), ppsched.Op(0, ppsched.Kind.F, 0, True),
                   ppsched.Op(0xFFFF, ppsched.Kind.I, 2**32 - 2, True, 0xFFFF), ppsched.Op(5, ppsched.Kind.UNSHARD, None)):
            record = op_module.to_record(op)
            self.assertEqual(op_module.from_record(record), op)
            self.assertEqual((record.flags & _abi.OpFlag.OVERLAPPED != 0, record.flags & _abi.OpFlag.SLICED != 0), (op.overlapped, op.slice is not None))
        for op in (ppsched.Op(0x10000, ppsched.Kind.F, 0), ppsched.Op(-1, ppsched.Kind.F, 0), ppsched.Op(0, ppsched.Kind.F, 2**32),
                   ppsched.Op(0, ppsched.Kind.F, -1), ppsched.Op(0, ppsched.Kind.F, 0, False, 0x10000), ppsched.Op(0, 99, 0), ppsched.Op(0.5, ppsched.Kind.F, 0)):
            with self.assertRaisesRegex(ppsched.Error, "is out of range"):
                op_module.to_record(op)

    def test_columns_of_a_text(self):
        with mock.patch.object(text_columns, "_terminal_columns", lambda: 77):
            self.assertEqual([text_columns.text_columns(given, output) for given, output in ((0, None), (0, "f.txt"), (9, None), (9, "f.txt"))], [77, 0, 9, 9])
        wide = "a" * (text_columns._WIDE + 1) + "\n"
        self.assertEqual(text_columns.with_width(wide, 0, None), f"{wide}lines have up to {len(wide) - 1} columns; --text-columns N makes them shorter\n")
        for text, columns, output in ((wide[1:], 0, None), (wide, 100, None), (wide, 0, "f.txt"), ("", 0, None)):
            self.assertEqual(text_columns.with_width(text, columns, output), text)

    def test_traces_beside_a_plan(self):
        """They have its sizes, and its unit of time; the plan has one iteration."""
        schedule = ppsched.generate("1f1b", ppsched.Config(2, 4))
        sizes = {"stages": 2, "devices": 2, "microbatches": 4, "repetitions": [1], "name": "t", "units": types.SimpleNamespace(time="ms")}
        comparison._check_sizes(schedule, types.SimpleNamespace(**sizes))
        for name, value, told in (("repetitions", [], "does not say when ops ran"), ("stages", 3, "the traces have 3 stages, the plan has 2"),
                                  ("devices", 1, "the traces have 1 devices, the plan has 2"), ("microbatches", 5, "have 5 microbatches, the plan has 4")):
            with self.assertRaisesRegex(ppsched.Error, told):
                comparison._check_sizes(schedule, types.SimpleNamespace(**{**sizes, name: value}))
        with self.assertRaisesRegex(ppsched.Error, "the plan has 2 iterations; compare one"):
            comparison._check_sizes(ppsched.generate("1f1b", ppsched.Config(2, 4, iterations=2)), types.SimpleNamespace(**sizes))
        for planned in (None, "ms"):
            comparison._check_units(planned, types.SimpleNamespace(**sizes))
        with self.assertRaisesRegex(ppsched.Error, "the plan's times are in s, those of t in ms; read them with time_unit='s'"):
            comparison._check_units("s", types.SimpleNamespace(**sizes))

    def test_stages_of_a_rank(self):
        schedule = ppsched.generate("interleaved_1f1b", ppsched.Config(3, 3, stages=9))
        self.assertEqual([ppsched_torch.stages_of(schedule, rank) for rank in range(3)], [[0, 3, 6], [1, 4, 7], [2, 5, 8]])
        for rank in (-1, 3):
            with self.assertRaisesRegex(ppsched.Error, f"rank is {rank}, but the schedule has 3 devices"):
                ppsched_torch.stages_of(schedule, rank)

    def test_microbatches_are_numbered_as_the_last_stage_runs_them(self):
        """Whatever the order of the stages before is; a schedule that is in order stays itself."""
        for first, last in itertools.product(((0, 1), (1, 0)), repeat=2):
            queues = [[f"{stage}F{number}" for number in forwards] + [f"{stage}B0", f"{stage}B1"]
                      for stage, forwards in enumerate((first, last))]
            schedule = ppsched.Schedule.from_queues(ppsched.Config(2, 2), queues)
            numbered = ppsched_torch._numbered(schedule)
            self.assertEqual([op.microbatch for op in numbered.queues[1] if op.kind == ppsched.Kind.F], [0, 1])
            self.assertEqual(numbered is schedule, last == (0, 1))

    def test_gradients_that_would_stay_undivided(self):
        """A version of PyTorch that divides none takes no option; one that divides in REDUCE_GRAD needs it, another no W."""
        def check(takes, reduces, schedule, **options):
            there = types.SimpleNamespace(takes_scale_grads=takes, reduces=reduces, version="9.9")
            ppsched_torch._check_scaling(there, schedule, options)
            return options

        split, whole = (ppsched.generate(name, ppsched.Config(2, 4)) for name in ("zb_h1", "1f1b"))
        without, reduced = (whole.lower("pytorch", reduce_grad=reduce) for reduce in (False, True))
        self.assertEqual(check(False, False, split, scale_grads=False), {})
        with self.assertRaisesRegex(ppsched.Error, "PyTorch 9.9 does not divide gradients; leave scale_grads out"):
            check(False, False, split, scale_grads=True)
        for fine, reduces in ((whole, False), (without, False), (reduced, True), (whole, True), (split, True)):
            check(True, reduces, fine)
        for bad, reduces, told in ((split, False, "only after full backwards"), (without, True, "in REDUCE_GRAD, but this lowered schedule has none")):
            with self.assertRaisesRegex(ppsched.Error, told):
                check(True, reduces, bad)
            with self.assertRaisesRegex(ppsched.Error, told):
                check(True, reduces, bad, scale_grads=True)
            self.assertEqual(check(True, reduces, bad, scale_grads=False), {"scale_grads": False})

    def test_what_an_op_of_pytorch_adds(self):
        """Memory behind it less memory before it, where an allocator tells; times as marks, one list a step."""
        stage, marks = types.SimpleNamespace(stage_index=4), itertools.count()
        for held, added in (([100, 130], [30]), ([0, 7], [7]), ([100, None], [-100]), ([None, 50], None)):
            told = iter(held)
            watch = measuring._Watch.__new__(measuring._Watch)
            watch.clock = types.SimpleNamespace(allocated=lambda: next(told), mark=lambda: next(marks))
            watch.mode, watch.memory, watch.ops = measuring.MEMORY, {}, [[]]
            self.assertEqual(watch._watched(stage, lambda given: "F" + given["kind"], lambda x, kind: x + kind)("a", kind="b"), "ab")
            self.assertEqual(watch.memory, {} if added is None else {(4, "Fb"): added})
            watch.mode, told = measuring.TIME, iter([1])
            begin = next(marks)
            watch._watched(stage, lambda _: "W", lambda: None)()
            self.assertEqual(watch.ops, [[((4, "W"), begin + 1, begin + 2)]])


if __name__ == "__main__":
    unittest.main()
