# SPDX-License-Identifier: Apache-2.0
"""The types of the package: mypy finds nothing in it and all that is wrong in clients; hints can be asked for; names are the
library's."""
import enum
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import typing
import unittest

import ppsched
from ppsched._core import _abi
from ppsched._core.config import QUANTITIES

PACKAGES = pathlib.Path(ppsched.__file__).resolve().parents[1]
TYPED = pathlib.Path(__file__).resolve().parent / "typed"
MYPY = shutil.which("mypy")


@unittest.skipUnless(MYPY, "mypy is not installed")
class MypyTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.cache = folder.name

    def check(self, *words):
        """Exit status and lines of mypy --strict."""
        environment = {**os.environ, "MYPYPATH": str(PACKAGES)}
        environment.pop("PYTHONPATH", None)
        result = subprocess.run([MYPY, "--config-file", str(PACKAGES / "pyproject.toml"), "--cache-dir", self.cache,
                                 "--no-error-summary", *map(str, words)],
                                capture_output=True, text=True, check=False, env=environment)
        return result.returncode, result.stdout.splitlines() + result.stderr.splitlines()

    def test_oldest_python(self):
        self.assertEqual(self.check("--python-version", "3.9", PACKAGES / "ppsched"), (0, []))

    def test_package_client_and_mistakes(self):
        """Errors are where they must be, and nowhere else."""
        lines = (TYPED / "mistakes.py").read_text(encoding="utf-8").splitlines()
        wanted = [("mistakes.py", number) for number, line in enumerate(lines, 1) if line.endswith("# wrong")]
        self.assertGreater(len(wanted), 20)
        status, found = self.check(PACKAGES / "ppsched", TYPED / "client.py", TYPED / "mistakes.py")
        errors = [(pathlib.Path(match[1]).name, int(match[2])) for line in found if (match := re.match(r"(.*):(\d+): error: ", line))]
        self.assertEqual((status, errors), (1, wanted), "\n".join(found))


class ClientTest(unittest.TestCase):
    def test_it_runs(self):
        result = subprocess.run([sys.executable, str(TYPED / "client.py")], capture_output=True, text=True, check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""))


def functions_of(value):
    """A function, or those of a class that are not its bases' from elsewhere, with their names."""
    if not inspect.isclass(value):
        return [(value.__qualname__, value)]
    found = []
    for name, item in inspect.getmembers_static(value) if hasattr(inspect, "getmembers_static") else vars(value).items():
        for function in (item.fget,) if isinstance(item, property) else (getattr(item, "__func__", item),):
            if inspect.isfunction(function) and function.__module__.startswith("ppsched"):
                found.append((f"{value.__name__}.{name}", function))
    return found


def holds_any(hint):
    return hint is typing.Any or any(map(holds_any, typing.get_args(hint)))


SURFACE = {name: getattr(ppsched, name) for name in ppsched.__all__}
CLASSES = {name: value for name, value in SURFACE.items() if inspect.isclass(value)}
FUNCTIONS = {name: function for value in SURFACE.values() if inspect.isclass(value) or inspect.isfunction(value)
             for name, function in functions_of(value)}


class HintsTest(unittest.TestCase):
    def test_all_can_be_asked_for(self):
        self.assertGreater(len(CLASSES), 40)
        self.assertGreater(len(FUNCTIONS), 100)
        for name, value in {**CLASSES, **FUNCTIONS}.items():
            with self.subTest(name):
                typing.get_type_hints(value)

    def test_all_parameters_and_results_have_some(self):
        for name, function in FUNCTIONS.items():
            signature = inspect.signature(function)
            hints = typing.get_type_hints(function)
            if not name.endswith(("__new__", "._replace", "._make", "._asdict")):  # of named tuples
                wanted = set(signature.parameters) - {"self", "cls"}
                self.assertEqual(wanted - set(hints), set(), name)
                self.assertIn("return", hints, name)

    def test_nothing_of_any_type_comes_out(self):
        internal = {"View.__array__"}  # numpy's
        for name, function in FUNCTIONS.items():
            if name not in internal and not name.rsplit(".", 1)[-1].startswith("_"):
                self.assertFalse(holds_any(typing.get_type_hints(function).get("return")), name)
        for name, value in CLASSES.items():
            for field, hint in typing.get_type_hints(value).items():
                self.assertFalse(holds_any(hint) and not field.startswith("_"), f"{name}.{field}")

    def test_wrong_names_tell_the_nearest(self):
        config = ppsched.Config(2, 2)
        schedule = ppsched.generate("1f1b", config)
        for call, message in (
                (lambda: ppsched.Config(2, 2, forward_time=1), "Config has no argument 'forward_time'; did you mean forward_times?"),
                (lambda: ppsched.Config(2, 2, mem_limits=1), "did you mean mem_limit?"),
                (lambda: ppsched.Config(2, 2, xyz=1), "'xyz'; it has devices, microbatches, stages, iterations, "),
                (lambda: ppsched.read("a.csv", p2p_times=1), "Schedule.read has no argument 'p2p_times'; did you mean p2p_time?"),
                (lambda: ppsched.Schedule.from_text("", "csv", memory_limit=1), "did you mean mem_limit?"),
                (lambda: ppsched.plan(config, chunk=2), "plan has no argument 'chunk'; did you mean chunks?"),
                (lambda: schedule.lower("none", unshards=2), "did you mean unshard?"),
                (lambda: schedule.prove("pair", rendevous=True), "did you mean rendezvous?")):
            with self.assertRaises(TypeError) as caught:
                call()
            self.assertIn(message, str(caught.exception))


class NamesTest(unittest.TestCase):
    """What is written down in Python is what the library has."""

    def test_quantities(self):
        names = set(QUANTITIES)
        self.assertEqual(len(names), len(_abi.Quantity))
        self.assertEqual(list(QUANTITIES), [quantity.name.lower() for quantity in _abi.Quantity])
        self.assertEqual(set(typing.get_type_hints(ppsched.Quantities)), names)
        for function in (ppsched.Config, ppsched.Schedule.from_text, ppsched.Schedule.read, ppsched.read):
            given = [parameter for parameter in inspect.signature(function).parameters.values()
                     if parameter.annotation is ppsched.Numbers]
            self.assertLess(len(str(inspect.signature(function))), 200)
            self.assertEqual([parameter.name for parameter in given], list(typing.get_type_hints(ppsched.Quantities)))
            self.assertEqual({(parameter.kind, parameter.default) for parameter in given}, {(inspect.Parameter.KEYWORD_ONLY, ())})

    def test_attributes(self):
        sizes = {"overlapped_times": 16, "p2p_time": 16, "p2p_bandwidth": 16, "backward_input_share": 1, "microbatch_scale": 8,
                 "microbatch_memory_scale": 8, "slice_scale": 1, "microbatch_request": 8, "op_overhead": 4, "device_scale": 16, "stage_scale": 64}
        for name in QUANTITIES:
            positive = "bandwidth" in name or "slowdown" in name or name.endswith(("_scale", "_speeds"))
            least = 1.0 if positive else 0.0
            values = [least] * sizes.get(name, 4)
            config = ppsched.Config(4, 8, **{name: values})
            for other in QUANTITIES:
                self.assertEqual(getattr(config, other), values if other == name else [])
            with self.assertRaisesRegex(AttributeError, f"{name} of a ppsched.Config cannot be changed"):
                setattr(config, name, [1])
            self.assertIn(name, repr(config))

    def test_model_ends(self):
        self.assertEqual(list(typing.get_type_hints(ppsched.ModelEnd)), [name for name, _ in _abi.ModelEnd._fields_ if name not in ("size", "reserved")])

    def test_fields_have_types(self):
        """Those of ctypes are not seen by mypy; the annotations beside them are."""
        for struct in vars(_abi).values():
            if isinstance(struct, type) and issubclass(struct, _abi.Structure) and struct is not _abi.Structure:
                names = [name for name, _ in struct._fields_ if name != "from"]  # no name in Python
                self.assertEqual(list(struct.__annotations__), names)


class ReprTest(unittest.TestCase):
    def test_they_tell_what_a_thing_is(self):
        config = ppsched.Config(4, 8, forward_times=[1, 1, 2, 1], mem_limit=5)
        schedule = ppsched.generate("1f1b", config)
        plan = ppsched.plan(config, chunks=[1, 2])
        builder = ppsched.Builder(config)
        builder.append(0, "0F0", "0B0")
        auto = ppsched.find_strategy("auto")
        for thing, wanted in (
                (config, "<ppsched.Config: 4 devices, 4 stages, 8 microbatches, 1 iteration, default placement; with forward_times, "
                         "mem_limit>"),
                (schedule, "<ppsched.Schedule 1f1b: 64 ops, 4 devices, 4 stages, 8 microbatches, 1 iteration, linear placement>"),
                (schedule.evaluate(), "<ppsched.Timeline of 1f1b: 64 ops on 4 devices, makespan 40, span 40, bubble "),
                (plan, f"<ppsched.Plan for 4 devices: {len(plan)} candidates, "),
                (plan, f"; best {plan.best.strategy} with step time {plan.best.step_time:g}>"),
                (plan.best, f"<ppsched.Candidate 0: {plan.best.strategy}"), (plan.best, ": fits, step time "),
                (plan[-1], f", 4 stages, 8 microbatches: over limit, step time {plan[-1].step_time:g}, peak memory "),
                (ppsched.plan(ppsched.Config(4, 5), strategies=["dualpipe"])[0], ": refused: dualpipe: "), (builder, "<ppsched.Builder: 2 ops for 4 devices>"),
                (auto, "<ppsched.Strategy auto: default placement, any number of stages per device, options placement, objective, effort, offload, quantile>"),
                (schedule.queues[0], "[0F0, 0F1, 0F2, 0F3, 0B0, 0F4, 0B1, 0F5, 0B2, 0F6, 0B3, 0F7, 0B4, 0B5, 0B6, 0B7]"),
                (ppsched.generate("1f1b", ppsched.Config(1, 20)).queues[0], "0B7, ... 24 more]")):
            self.assertIn(wanted, repr(thing))

    def test_they_are_short(self):
        plan = ppsched.plan(ppsched.Config(8, 16, mem_limit=4), effort=1)
        for candidate in plan:
            self.assertNotIn("\n", repr(candidate))
        for strategy in ppsched.strategies():
            self.assertLess(len(repr(strategy)), 160)


if __name__ == "__main__":
    unittest.main()
