# SPDX-License-Identifier: Apache-2.0
"""How the package is made up: the library imports neither readers nor pages nor the command, no modules import each other in a
circle, imports stand at the top, and who imports ppsched sees its public names alone."""
import ast
import inspect
import pathlib
import pydoc
import subprocess
import sys
import tempfile
import types
import unittest

import ppsched

PACKAGE = pathlib.Path(ppsched.__file__).resolve().parent
# Of each package those that it may import beside itself; "" are the modules beside the packages.
BELOW = {"_core": set(), "readers": {"_core"}, "page": {"_core", "readers"}, "torch": {"_core", "readers"},
         "command": {"_core", "readers", "page"}, "": {"_core", "readers", "page"}}
OF_THE_COMMAND = {"ppsched.__main__"}  # which may import it
OF_THE_PROCESS = "ppsched._start"      # which all may import, as it imports nothing
OF_THE_NAMES = "ppsched._names"        # which the package itself imports
# Which import of the package what takes long, only where it is needed.
LATE = {"ppsched", "ppsched.readers.model_files",
        *(f"ppsched.command.{name}" for name in ("cli", "gpus_options", "measured_devices", "model_config", "model_options", "model_pick", "page_options",
                                                 "pick_command", "plan_telling", "profile_options", "scenario_options", "slips", "windows_option"))}
# What need not be installed; all else that is imported within a function takes long to load, as a comment there says.
OPTIONAL = {"matplotlib", "numpy", "pandas", "torch", "yaml"}


def modules_in(folder):
    """The paths of all modules, by their names."""
    paths = {}
    for path in sorted(folder.rglob("*.py")):
        parts = (folder.name, *path.relative_to(folder).with_suffix("").parts)
        paths[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return paths


class Import:
    """One that a module has: what of, in which line, and where: at the top, for types alone, or within a function."""

    def __init__(self, targets, line, place):
        self.targets, self.line, self.place = targets, line, place


def base_of(module, path, node):
    """The name of the module that `from` names."""
    parts = module.split(".")
    parts = parts[:len(parts) - node.level + (path.name == "__init__.py")] if node.level else []
    return ".".join([*parts, *([node.module] if node.module else [])])


def imports_of(module, path, known):
    """All of a module, in order."""
    found = []

    def visit(node, place):
        for child in ast.iter_child_nodes(node):
            inner = place
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
                inner = "function"
            elif place == "top" and isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
                inner = "types"
            elif isinstance(child, ast.Import):
                found.append(Import([name.name for name in child.names], child.lineno, place))
            elif isinstance(child, ast.ImportFrom):
                base = base_of(module, path, child)
                full = [f"{base}.{name.name}" for name in child.names]
                found.append(Import([one if one in known else base for one in full], child.lineno, place))
            visit(child, inner)

    visit(ast.parse(path.read_text(encoding="utf-8")), "top")
    return found


def circle_in(graph):
    """Modules that import each other, the first again at the end; empty where none do."""
    done, way = set(), []

    def look(module):
        if module in way:
            return [*way[way.index(module):], module]
        if module in done:
            return []
        way.append(module)
        circle = next(filter(None, map(look, sorted(graph.get(module, ())))), [])
        way.pop()
        done.add(module)
        return circle

    return next(filter(None, map(look, sorted(graph))), [])


def package_of(module, known):
    """The first name behind the package's own, if that is a package."""
    parts = module.split(".")
    is_package = len(parts) > 1 and known[".".join(parts[:2])].name == "__init__.py"
    return parts[1] if is_package else ""


def faults_of(folder):
    """What is wrong with the imports of a package."""
    known, faults, graph = modules_in(folder), [], {}
    for module, path in known.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        for one in imports_of(module, path, known):
            own = [target for target in one.targets if target in known]
            if one.place == "function":
                told = "#" in lines[one.line - 1] or one.targets[0].split(".")[0] in OPTIONAL
                faults += [f"{module}, line {one.line}: within a function"] * (bool(own) and module not in LATE or not told)
            if one.place != "types":
                graph.setdefault(module, set()).update(own)
            faults += [f"{module} imports {target}" for target in own if not may_import(module, target, known, one.place)]
    circle = circle_in(graph)
    return faults + ([" imports ".join(circle)] if circle else [])


def may_import(module, target, known, place):
    """Whether a package may; for types alone another package's modules only where they are imported late."""
    here, there = package_of(module, known), package_of(target, known)
    if module == "ppsched" and target == OF_THE_NAMES:
        return True
    if there == here:
        return target != "ppsched" and (bool(here) or target == OF_THE_PROCESS)
    if there == "command" and module in OF_THE_COMMAND:
        return True
    return target == OF_THE_PROCESS or (there in BELOW[here] and (place != "types" or module in LATE))


class ImportsTest(unittest.TestCase):
    def test_of_the_package(self):
        self.assertEqual({path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}, set(BELOW) - {""})
        self.assertGreater(len(modules_in(PACKAGE)), 100)
        self.assertEqual(faults_of(PACKAGE), [])

    def test_each_module_says_what_it_is(self):
        for module, path in modules_in(PACKAGE).items():
            self.assertTrue(ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), module)


class FaultsTest(unittest.TestCase):
    """What breaks the rules is seen."""

    def faults(self, texts):
        """Of a package with modules of these texts, by their paths."""
        empty = dict.fromkeys(("__init__", "_start", "_core/__init__", "readers/__init__", "page/__init__", "command/__init__"), "")
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {**empty, **texts}.items():
                path = pathlib.Path(folder, "ppsched", f"{name}.py")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            return faults_of(pathlib.Path(folder, "ppsched"))

    def test_what_is_right(self):
        typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .b import B\n"
        slow = "import os\nfrom ..page.c import x\n\ndef f():\n    import yaml\n    import html  # slow\n"
        self.assertEqual(self.faults({"_core/a": typed, "_core/b": "from . import a\n", "page/c": "from .._core import a, b\nfrom .._start import x\n",
                                      "command/d": slow, "__main__": "from .command.d import x\n"}), [])

    def test_what_is_wrong(self):
        for texts, told in (({"_core/a": "from ..command import b\n", "command/b": ""}, "ppsched._core.a imports ppsched.command.b"),
                            ({"_core/a": "from .. import page\n"}, "ppsched._core.a imports ppsched.page"),
                            ({"_core/a": "from .. import plan\n"}, "ppsched._core.a imports ppsched"),
                            ({"readers/a": "from ..page.b import c\n", "page/b": ""}, "ppsched.readers.a imports ppsched.page.b"),
                            ({"__init__": "from .command.a import b\n", "command/a": ""}, "ppsched imports ppsched.command.a"),
                            ({"page/a": "from . import b\n", "page/b": "from .a import c\n"}, "ppsched.page.a imports ppsched.page.b imports ppsched.page.a"),
                            ({"page/a": "def f():\n    from .b import c\n", "page/b": ""}, "ppsched.page.a, line 2: within a function"),
                            ({"page/a": "def f():\n    import html\n"}, "ppsched.page.a, line 2: within a function")):
            with self.subTest(told):
                self.assertEqual(self.faults(texts), [told])


class NamesTest(unittest.TestCase):
    """What `import ppsched` gives."""

    def test_public_names_alone(self):
        self.assertEqual(dir(ppsched), sorted([*ppsched.__all__, "__version__"]))
        self.assertEqual([name for name in dir(ppsched) if isinstance(getattr(ppsched, name), types.ModuleType)], [])

    def test_they_are_of_ppsched(self):
        for name in ppsched.__all__:
            value = getattr(ppsched, name)
            if inspect.isclass(value) or inspect.isfunction(value):
                self.assertEqual((value.__module__, value.__qualname__), ("ppsched", name))

    def test_help_has_the_arguments(self):
        for value, wanted in ((ppsched.plan, "plan(config, *, objective='makespan', strategies=None, "), (ppsched.Config, "Config(devices, microbatches, "),
                              (ppsched.generate, "generate(strategy: "), (ppsched.read, "read(path, format=None, "), (ppsched.report, "report(what: "),
                              (ppsched.Schedule.lower, "lower(self, lowering: Union[ppsched.Lowering, str] = 'just_in_time', *, unshard: int = 0, ")):
            text = pydoc.render_doc(value, renderer=pydoc.plaintext)
            self.assertIn(wanted, text)
            for hidden in ("*args", "**kwargs", "*values", "**given"):
                self.assertNotIn(hidden, text.split(" -> ")[0])

    @unittest.skipUnless(hasattr(sys, "orig_argv"), "this Python does not tell that it runs the command")
    def test_readers_are_loaded_for_their_files(self):
        config = pathlib.Path(__file__).resolve().parents[1] / "layers" / "models" / "llama-3-8b.json"
        words = ("pick", "--model", config, "--device", "h100", "--tp", "8", "--pp", "1", "--global-batch", "1", "--json")
        told = subprocess.run([sys.executable, "-X", "importtime", "-m", "ppsched", *words], capture_output=True, text=True, check=True).stderr
        names = {line.split("|")[-1].strip() for line in told.splitlines()}
        names = {name for name in names if name.startswith(("ppsched.readers.", "ppsched.page.")) or name in ("hashlib", "urllib")}
        self.assertEqual(names, {"ppsched.readers." + name for name in ("config_file", "device_files", "field_reader", "file_kinds", "hub_models", "json_and_yaml", "megatron_step",
                                                                            "megatron_training", "model_files")} | {"ppsched.page.report_choice"})

    def test_the_command_is_not_loaded(self):
        code = "import sys, ppsched; print([name for name in sys.modules if name == 'argparse' or name.startswith('ppsched.command')])"
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(told.stdout, "[]\n")


if __name__ == "__main__":
    unittest.main()
