# SPDX-License-Identifier: Apache-2.0
"""What help() shows of the package: each argument is described, and the examples run."""
import ast
import contextlib
import enum
import inspect
import io
import os
import pathlib
import pydoc
import re
import shutil
import tempfile
import unittest

import ppsched
from ppsched._core.config import QUANTITIES

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
TRACES = pathlib.Path(__file__).resolve().parent / "traces"
SURFACE = {name: getattr(ppsched, name) for name in ppsched.__all__}
FUNCTIONS = {name: value for name, value in SURFACE.items() if inspect.isfunction(inspect.unwrap(value)) or inspect.ismethod(value)}
MADE = ("Accelerator", "Builder", "Calibrator", "Config", "Description", "LayerTable", "Layers", "Layout", "Model", "Op", "Profile", "Training",
        "Transformer", "Units")  # classes of which users make objects
NEEDS_MORE = {"draw": "matplotlib", "Plan.to_pandas": "pandas"}


def documented():
    """All public functions and classes, and the public functions of classes."""
    for name, value in SURFACE.items():
        yield name, value
        for part, item in vars(value).items() if inspect.isclass(value) else ():
            if not part.startswith("_") and inspect.isfunction(getattr(item, "__func__", item)):
                yield f"{name}.{part}", getattr(value, part)


def example_of(value):
    """The last paragraph of a docstring, if it is a program."""
    last = inspect.cleandoc((inspect.getdoc(value) or "").split("\n\n")[-1])
    try:
        ast.parse(last)
    except SyntaxError:
        return ""
    return last if re.search(r"\w\(", last) else ""


class DocstringsTest(unittest.TestCase):
    def test_arguments(self):
        for name, value in FUNCTIONS.items():
            text = inspect.getdoc(value) or ""
            for parameter in inspect.signature(value).parameters:
                with self.subTest(f"{name}({parameter})"):
                    self.assertTrue(parameter in QUANTITIES or re.search(rf"\b{parameter}\b", text))

    def test_each_function_has_an_example(self):
        for name in (*FUNCTIONS, *MADE, "Schedule", "Timeline", "Plan", "Scenarios"):
            with self.subTest(name):
                self.assertTrue(example_of(SURFACE[name]))

    def test_examples_run(self):
        with tempfile.TemporaryDirectory() as folder:
            for path in (EXAMPLES / "config.json", TRACES / "rank0.json", TRACES / "rank1.json"):
                shutil.copy(path, folder)
            pathlib.Path(folder, "problem.json").write_text('{"devices": 4, "microbatches": 8}', encoding="utf-8")
            pathlib.Path(folder, "mine.csv").write_text(ppsched.generate("1f1b", ppsched.Config(2, 4)).export("csv"), encoding="utf-8")
            before = os.getcwd()
            os.chdir(folder)
            self.addCleanup(os.chdir, before)
            count = 0
            for name, value in documented():
                code = example_of(value)
                if not code or (name in NEEDS_MORE and not __import__("importlib.util").util.find_spec(NEEDS_MORE[name])):
                    continue
                config = ppsched.Config(devices=4, microbatches=8, backward_input_times=1, backward_weight_times=1)
                schedule = ppsched.generate("1f1b", config)
                given = {"ppsched": ppsched, "pathlib": pathlib, "config": config, "schedule": schedule, "timeline": schedule.evaluate(),
                         "plan": ppsched.plan(config, strategies=["1f1b", "zb_h1"])}
                with self.subTest(name), contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(code, name, "exec"), given)  # pylint: disable=exec-used
                count += 1
            os.chdir(before)
        self.assertGreater(count, 30)

    def test_long_signatures(self):
        """help() shows some of the keywords, inspect.signature has all."""
        for value in (ppsched.plan, ppsched.Config, ppsched.read, ppsched.Schedule.from_text):
            with self.subTest(value):
                head = [line for line in pydoc.plain(pydoc.render_doc(value)).splitlines() if "(" in line and ", ..." in line]
                self.assertTrue(head)
                self.assertLess(max(map(len, head)), 200)
                self.assertGreater(len(inspect.signature(value).parameters), 40)
        self.assertEqual(inspect.signature(ppsched.plan), inspect.signature(inspect.unwrap(ppsched.plan)))

    def test_enums_say_what_their_members_are(self):
        for name, value in SURFACE.items():
            if inspect.isclass(value) and issubclass(value, enum.IntEnum):
                for member in value.__members__:
                    self.assertRegex(inspect.getdoc(value), rf"(?m)^{member}\b", name)
                self.assertNotIn("PPSCHED_", inspect.getdoc(value))

    def test_fields(self):
        """Those of all records, in words of Python, and what a class has besides functions."""
        for name, value in SURFACE.items():
            for field in getattr(value, "_fields", ()):
                with self.subTest(f"{name}.{field}"):
                    self.assertNotRegex(getattr(value, field).__doc__, r"^Alias for|(?i:ppsched_)|NULL")
            for part, item in vars(value).items() if inspect.isclass(value) else ():
                if isinstance(item, property) and not part.startswith("_"):
                    with self.subTest(f"{name}.{part}"):
                        self.assertTrue(inspect.getdoc(item))


if __name__ == "__main__":
    unittest.main()
