# SPDX-License-Identifier: Apache-2.0
"""Configs that are made of others, of files and of pickles: the same problem, with the same checks."""
import copy
import inspect
import json
import multiprocessing
import pathlib
import pickle
import subprocess
import sys
import types
import unittest
from unittest import mock

import own_folder
import ppsched
from ppsched._core import config as config_module
from ppsched._core.config import QUANTITIES

SIZES = ("devices", "microbatches", "stages", "iterations", "slices", "placement", "split_backward", "forward_only", "sender_waits", "units")
UNEVEN = ppsched.Config(3, 4, 6, iterations=2, placement=[0, 1, 2, 2, 1, 0], weight_versions=2, split_backward=False, sender_waits="like_kind",
                        options={"effort": 3}, forward_times=[1, 2, 3, 4, 5, 6], backward_times=7, p2p_time=[[0, 1, 2], [3, 0, 4], [5, 6, 0]],
                        mem_limit=[50, 60, 70], op_overhead=[0.1, 0.2, 0.3, 0.4], units=ppsched.Units("ms", "GB"))


def said(config):
    """All that a config says."""
    return {**{name: getattr(config, name) for name in (*SIZES, *QUANTITIES)}, "map": config._map, "options": config._options,
            "versions": config._weight_versions, "order": config.microbatch_order, "carries": config._carries}


def makespan(config):
    return ppsched.generate("zb_h1", config).evaluate().metrics.makespan


class ReplaceTest(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(said(UNEVEN.replace()), said(UNEVEN))

    def test_each_argument(self):
        changes = {"microbatches": 8, "iterations": 1, "placement": "v", "weight_versions": 0, "split_backward": True, "sender_waits": "never",
                   "options": {}, "units": ppsched.Units(), "forward_times": 2, "p2p_time": (), "mem_limit": [1, 2, 3]}
        for name, value in changes.items():
            changed, before = said(UNEVEN.replace(**{name: value})), said(UNEVEN)
            key = {"weight_versions": "versions"}.get(name, name)
            self.assertNotEqual(changed[key], before[key], name)
            also = {"placement": {"map"}}.get(name, set())
            self.assertEqual({one for one in before if before[one] != changed[one]} - also, {key}, name)

    def test_stages_follow_devices_where_they_were_as_many(self):
        self.assertEqual(ppsched.Config(4, 8, forward_times=2).replace(devices=8).stages, 8)
        self.assertEqual(ppsched.Config(4, 8, 8, forward_times=2).replace(devices=2).stages, 8)

    def test_checks(self):
        config = ppsched.Config(4, 8, forward_times=[1, 2, 3, 4])
        with self.assertRaisesRegex(ppsched.Error, "forward_times has 4 values; give 1 for all stages or 8, one per stage"):
            config.replace(devices=8)
        with self.assertRaisesRegex(TypeError, "Config has no argument 'forward_time'; did you mean forward_times"):
            config.replace(forward_time=1)
        self.assertEqual(config.forward_times, [1, 2, 3, 4])


class AttributesTest(unittest.TestCase):
    def test_each_argument_is_one(self):
        config = ppsched.Config(3, 4, stage_inputs=[[], [0], [0, 1]], stage_passes=["FI", "FB", "FB"], stage_microbatches=[None, [0], None])
        self.assertEqual((config.stage_inputs, config.stage_passes, config.stage_microbatches),
                         ([[], [0], [0, 1]], ["FI", "FB", "FB"], [None, [0], None]))
        self.assertEqual((UNEVEN.options, UNEVEN.weight_versions, UNEVEN.stage_inputs), ({"effort": "3"}, 2, None))
        for name in inspect.signature(ppsched.Config).parameters:
            self.assertTrue(hasattr(UNEVEN, name), name)

    def test_none_is_set(self):
        """Neither one that there is, which would not reach the library, nor another."""
        for name in (*SIZES, "options", "stage_passes", "forward_times"):
            with self.assertRaisesRegex(AttributeError, rf"{name} of a ppsched.Config cannot be changed; config.replace\({name}=...\)"):
                setattr(UNEVEN.replace(), name, 1)
        with self.assertRaisesRegex(AttributeError, "has no forward_time; did you mean forward_times?"):
            UNEVEN.replace().forward_time = 1

    def test_refusals_say_what_to_write(self):
        with self.assertRaisesRegex(ppsched.Error, r"mem_limit must be a number or a list of numbers, not None; \(\) stands for the default"):
            UNEVEN.replace(mem_limit=None)
        with self.assertRaisesRegex(ppsched.Error, r'twice the forward is backward_times=\["2ms", "4ms"\]$'):
            ppsched.Config(2, 4, forward_times=["1ms", "2ms"])


class PickleTest(unittest.TestCase):
    def test_same(self):
        ordered = ppsched.generate("1f1b", ppsched.Config(2, 4, microbatch_scale=[1, 3, 2, 1])).order_microbatches().config
        for config in (UNEVEN, ppsched.Config(4, 8), ordered, ppsched.generate("zbv", ppsched.Config(4, 8, 8)).config):
            for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
                self.assertEqual(said(pickle.loads(pickle.dumps(config, protocol))), said(config))
            self.assertEqual(said(copy.deepcopy(config)), said(config))

    def test_spawned_processes(self):
        config = ppsched.Config(4, 8, forward_times=[1, 2, 3, 4])
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            self.assertEqual(pool.map(makespan, [config, config.replace(microbatches=16)]), [makespan(config), makespan(config.replace(microbatches=16))])

    def test_what_stands_for_those_that_cannot_be(self):
        schedule = ppsched.generate("1f1b", ppsched.Config(2, 2))
        with self.assertRaisesRegex(TypeError, r"schedule.export\('json'\), which ppsched.Schedule.from_text reads"):
            pickle.dumps(schedule)
        with self.assertRaisesRegex(TypeError, "pickle its config"):
            pickle.dumps(schedule.evaluate())
        again = ppsched.Schedule.from_text(pickle.loads(pickle.dumps(schedule.export("json"))), "json")
        self.assertEqual([list(queue) for queue in again.queues], [list(queue) for queue in schedule.queues])

    def test_another_minor_version(self):
        with mock.patch.object(config_module, "_minor_version", return_value="0.1"):
            old = pickle.dumps(UNEVEN)
        with self.assertRaisesRegex(ppsched.Error, r"was pickled by ppsched 0\.1, and this is \d+\.\d+; make it again"):
            pickle.loads(old)


class FileTest(unittest.TestCase):
    def setUp(self):
        own_folder.enter(self)

    def file(self, values):
        pathlib.Path("a.json").write_text(json.dumps(values), encoding="utf-8")
        return pathlib.Path("a.json")

    def test_problem(self):
        read = ppsched.Config.from_file(self.file({"devices": 2, "stages": 4, "microbatches": 3, "forward_times": "2ms", "backward_times": "4ms", "mem_limit": ["3GB", "4GB"],
                                                   "mem_forward": "1GB", "placement": "v", "options": {"effort": 2}, "strategy": "auto", "output": "a.png"}))
        self.assertEqual(said(read), said(ppsched.Config(2, 3, 4, forward_times=2, backward_times=4, mem_limit=[3, 4], mem_forward=1, placement="v", options={"effort": 2},
                                                         units=ppsched.Units("ms", "GB"))))
        self.assertEqual(ppsched.Config.from_file("a.json").stages, 4)
        self.assertEqual(ppsched.Config.from_file(self.file({"num_stages": 4, "num_batches": 3})).devices, 4)

    def test_as_the_command_reads_it(self):
        path = self.file({"devices": 4, "microbatches": 8, "forward_times": [1, 2, 1, 3], "p2p_time": 0.5})
        printed = subprocess.run([sys.executable, "-m", "ppsched", "schedule", "-c", str(path), "--json"], capture_output=True, text=True, check=True)
        timeline = ppsched.generate("1f1b", ppsched.Config.from_file(path)).evaluate()
        self.assertEqual(json.loads(printed.stdout)["metrics"]["makespan"], timeline.metrics.makespan)

    def test_what_is_refused(self):
        for part, values in (("a problem has microbatches, and devices or stages", {"devices": 2}), ("a problem has", {"microbatches": 2}),
                             ("unknown key 'device'; did you mean devices?", {"device": 2, "microbatches": 2}),
                             ("num_layers states a model by its layers", {"devices": 2, "microbatches": 2, "num_layers": 4}),
                             ("forward_times has 3 values", {"devices": 2, "microbatches": 2, "forward_times": [1, 2, 3]})):
            with self.assertRaisesRegex(ppsched.Error, part.replace("?", r"\?")):
                ppsched.Config.from_file(self.file(values))
        with self.assertRaisesRegex(ppsched.Error, "there.json"):
            ppsched.Config.from_file("there.json")


class NamesTest(unittest.TestCase):
    def test_what_completion_shows(self):
        names = dir(ppsched)
        self.assertEqual([name for name in names if isinstance(getattr(ppsched, name), types.ModuleType)], [])
        self.assertEqual([name for name in names if name.startswith("_")], ["__version__"])


if __name__ == "__main__":
    unittest.main()
