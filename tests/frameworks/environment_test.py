#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""environment.sh, with small packages and without an index; and whether the real environment has the versions that are pinned."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import threading
import unittest
import zipfile

import framework

SCRIPT = pathlib.Path(__file__).resolve().with_name("environment.sh")
INSTALLED = ("import importlib.metadata, json\n"
             "print(json.dumps({d.metadata['Name'].lower().replace('_', '-'): d.version for d in importlib.metadata.distributions()}))")


def write_wheel(folder, name, source="", requires_python=">=3"):
    """Of version 1.0, with one module of the same name."""
    info = f"{name}-1.0.dist-info"
    files = {f"{name}.py": source, f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
             f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\nRequires-Python: {requires_python}\n"}
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        for path, text in {**files, f"{info}/RECORD": "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])}.items():
            wheel.writestr(path, text)


class ScriptTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.wheels = self.folder / "wheels"
        self.wheels.mkdir()
        write_wheel(self.wheels, "good")

    def make(self, *lines):
        """The Python, what the script says, and its missing.txt by package."""
        requirements = self.folder / "requirements.txt"
        requirements.write_text("# a comment\n\n" + "".join(f"{line}\n" for line in lines), encoding="utf-8")
        settings = {"XDG_CACHE_HOME": str(self.folder), "PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(self.wheels)}
        ran = subprocess.run([SCRIPT, requirements], env={**os.environ, **settings}, capture_output=True, text=True, check=False)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        python = pathlib.Path(ran.stdout.rstrip("\n"))
        missing = (python.parents[1] / "missing.txt").read_text(encoding="utf-8").splitlines()
        return python, ran.stderr, dict(line.split(": ", 1) for line in missing)

    def test_is_made_once_and_kept(self):
        """By two calls at once, and by later ones; but what is half made is made anew."""
        lines, found = ["good==1.0  # import good"], []
        threads = [threading.Thread(target=lambda: found.append(self.make(*lines))) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        python = found[0][0]
        self.assertEqual([(other, missing) for other, _, missing in found], [(python, {})] * 2)
        self.assertEqual(sum(said.count("installing 1 packages") for _, said, _ in found), 1)
        self.assertEqual(sum(len(re.findall(r"took \d+ s", said)) for _, said, _ in found), 1)
        self.assertTrue(python.is_relative_to(self.folder / "ppsched"))
        subprocess.run([python, "-c", "import good"], check=True)
        self.assertEqual(self.make(*lines), (python, "", {}))
        for file in ("missing.txt", "bin/pip", "bin/python"):
            (python.parents[1] / file).unlink()
        again, said, missing = self.make(*lines)
        self.assertEqual((again, missing), (python, {}))
        self.assertIn("installing 1 packages", said)
        subprocess.run([python, "-c", "import good"], check=True)

    def test_what_is_missing_is_named_and_tried_again(self):
        write_wheel(self.wheels, "broken", "import not_there")
        lines = ["nowhere==1.0  # import nowhere", "broken==1.0  # import broken", "good==1.0  # import good"]
        python, said, missing = self.make(*lines)
        self.assertEqual(missing, {"nowhere": "ModuleNotFoundError: No module named 'nowhere'",
                                   "broken": "ModuleNotFoundError: No module named 'not_there'"})
        self.assertIn("pip cannot install nowhere==1.0\n", said)
        self.assertIn("missing: broken: ModuleNotFoundError", said)
        self.assertNotIn("pip reaches nothing", said)
        write_wheel(self.wheels, "nowhere")
        again, said, missing = self.make(*lines)
        self.assertEqual((again, list(missing)), (python, ["broken"]))
        self.assertIn("trying again: nowhere broken", said)

    def test_nothing_is_reached(self):
        lines = [f"n{number}==1.0  # import n{number}" for number in range(5)]
        _, said, missing = self.make(*lines)
        self.assertIn("pip reaches nothing", said)
        self.assertNotIn("install n3", said)
        self.assertEqual(list(missing), ["n0", "n1", "n2", "n3", "n4"])

    def test_options(self):
        write_wheel(self.wheels, "later", requires_python=">=9")
        refused, _, missing = self.make("later==1.0  # import later")
        self.assertEqual(list(missing), ["later"])
        python, _, missing = self.make("good==1.0", "later==1.0  # import later, good; pip --ignore-requires-python", "good==1.0")
        self.assertEqual(missing, {})
        self.assertNotEqual(python, refused)


@unittest.skipUnless(framework.PYTHON, framework.UNSET)
class EnvironmentTest(unittest.TestCase):
    def test_versions_are_those_pinned(self):
        """None is missing without being named, and nothing else is there."""
        installed = json.loads(subprocess.run([framework.PYTHON, "-c", INSTALLED], capture_output=True, text=True, check=True).stdout)
        missing = {package for package, _, modules in framework.lines() if modules and framework.why_missing(package)}
        found, pinned = {name: version.split("+")[0] for name, version in installed.items()}, {}
        for package, version, modules in framework.lines():
            if package not in missing and (modules or not missing):
                pinned[package.lower().replace("_", "-")] = version
        self.assertLessEqual(pinned.items(), found.items())
        found.pop("pip", None)
        if not missing and "cuda-toolkit" not in found:
            self.assertEqual(found, pinned)


if __name__ == "__main__":
    unittest.main(verbosity=2)
