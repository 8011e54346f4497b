# SPDX-License-Identifier: Apache-2.0
"""The Python and YAML blocks of the documentation run as they stand."""
import contextlib
import importlib.util
import io
import os
import pathlib
import re
import shlex
import shutil
import tempfile
import unittest

from in_process import run_command

import ppsched
from ppsched._core.config import QUANTITIES
from ppsched._core.exporting import FORMAT_NAMES
from ppsched._core.launching import RUNTIME_NAMES
from ppsched._core.op import NO_MICROBATCH

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HAS_YAML = importlib.util.find_spec("yaml") is not None


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.S)


def run(*words):
    return run_command(words)


def launch_cell(schedule, runtime):
    """What the table of launch arguments says."""
    try:
        line = schedule.launch(runtime, layers=64)
    except ppsched.Refused:
        return "-"
    if "csv" in line:
        return "CSV"
    if runtime == ppsched.Runtime.TORCHTITAN:
        return line.split()[3]
    if runtime in (ppsched.Runtime.PYTORCH, ppsched.Runtime.JAXPP):
        return line.split()[0].removeprefix("class=")
    try:
        schedule.launch(runtime, exact=True, layers=64)
    except ppsched.Refused:
        return "own plan"
    if runtime == ppsched.Runtime.PRIMUS:
        return line.split("--pp_algorithm ")[1]
    return "settings" if runtime in (ppsched.Runtime.DEEPSPEED, ppsched.Runtime.COLOSSALAI) else "flags"


class DocumentationTest(unittest.TestCase):
    def setUp(self):
        """In a folder with the traces that the pages name."""
        folder, before = tempfile.TemporaryDirectory(), os.getcwd()
        for path in (ROOT / "tests" / "python" / "traces").glob("*.json"):
            shutil.copy(path, folder.name)
        os.chdir(folder.name)
        self.addCleanup(folder.cleanup)
        self.addCleanup(os.chdir, before)

    def test_every_strategy_is_documented(self):
        page = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")
        names = [strategy.name for strategy in ppsched.strategies()]
        self.assertGreater(len(names), 20)
        for name in names:
            self.assertIn(f"\n## {name}\n\n![{name}](pictures/{name}.png)\n", page)
            self.assertIn(f"\n| [{name}](#{name}) |", page)
            self.assertTrue((ROOT / "docs" / "pictures" / f"{name}.png").exists(), name)
        self.assertCountEqual(re.findall(r"^## (\w+)\n\n!\[", page, flags=re.M), names)

    def test_every_page_is_in_the_index(self):
        text = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
        pages = [path.name for path in (ROOT / "docs").glob("*.md") if path.name != "index.md"]
        self.assertGreater(len(pages), 30)
        self.assertCountEqual(re.findall(r"^\| \[(\w+\.md)\]\(\1\) \|", text, flags=re.M), pages)

    def test_diagrams_are_what_their_script_draws(self):
        path = ROOT / "docs" / "pictures" / "architecture.py"
        spec = importlib.util.spec_from_file_location("architecture", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        drawn = module.pictures()
        self.assertEqual(set(drawn), set(path.parent.glob("*.svg")))
        for file, text in drawn.items():
            self.assertEqual(file.read_text(encoding="utf-8"), text, f"{file}: run {path}")

    def test_every_format_and_runtime_is_documented(self):
        formats, runtimes, command = ((ROOT / "docs" / page).read_text(encoding="utf-8").replace("\\|", "|")
                                      for page in ("formats.md", "runtimes.md", "command.md"))
        for name in FORMAT_NAMES:
            self.assertRegex(formats + runtimes, rf"\n\| (\[{name}\]\(#{name}\)|{name}) \|")
        for name in RUNTIME_NAMES:
            self.assertIn(f"\n- **{name}**", runtimes)
        self.assertIn(f"\n| strategy | {' | '.join(RUNTIME_NAMES)} |\n", runtimes)
        for option, names in (("format", FORMAT_NAMES), ("to", FORMAT_NAMES), ("launch", RUNTIME_NAMES)):
            self.assertIn(f"`--{option} {'|'.join(names)}`", command)

    def test_every_device_is_documented(self):
        names = [device.name for device in ppsched.accelerators()]
        listed = ", ".join(names).replace("h100,", "h100 (default),") + ", or a JSON file"
        self.assertIn(f"| `--device NAME` | {listed} |", (ROOT / "docs" / "command.md").read_text(encoding="utf-8"))
        self.assertIn(f"`--device` is {', '.join(names[:-1])} or {names[-1]}.", (ROOT / "docs" / "model.md").read_text(encoding="utf-8"))
        told = " ".join(run("model", "--help").stdout.split())
        self.assertIn(", ".join(names) + ", or a JSON file", told)

    def test_kinds_without_a_microbatch_are_documented(self):
        text = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"`0([A-Z_]+)`", re.split(r" have no\s+microbatch", text)[0]),
                         [kind.name for kind in ppsched.Kind if kind in NO_MICROBATCH])

    def test_every_quantity_is_documented(self):
        command = (ROOT / "docs" / "command.md").read_text(encoding="utf-8")
        for name in QUANTITIES:
            self.assertIn(f"`--{name.replace('_', '-')}`", command)
            self.assertRegex(ppsched.Config.__doc__, rf"\b{name}\b")

    def test_python_blocks(self):
        for page in ("README.md", "docs/python.md", "docs/lowering.md", "docs/plan.md", "docs/profiles.md", "docs/report.md", "docs/layouts.md",
                     "docs/layers.md", "docs/model.md", "docs/journeys.md"):
            names, output = {}, io.StringIO()
            self.assertTrue(blocks(page, "python"))
            with contextlib.redirect_stdout(output):
                for code in blocks(page, "python"):
                    exec(compile(code, page, "exec"), names)  # pylint: disable=exec-used
            self.assertTrue(output.getvalue(), page)

    def test_commands_with_their_output(self):
        """A command, an empty line, and what it prints, with blanks as one likes and "..." for what is left out."""
        for page, count in (("docs/runtimes.md", 7), ("docs/profiles.md", 2), ("docs/layouts.md", 3), ("docs/layers.md", 3),
                            ("docs/journeys.md", 2)):
            text = (ROOT / page).read_text(encoding="utf-8")
            for yaml in blocks(page, "yaml"):
                pathlib.Path("model.yaml").write_text(yaml, encoding="utf-8")
            examples = re.findall(r"^    ppsched ((?:schedule|layout|pick) .*)\n\n((?:    .*\n|\n(?=    (?!ppsched )))+)", text, flags=re.M)
            self.assertEqual(len(examples), count)
            for words, shown in examples:
                result = run(*shlex.split(words))
                notes = [line for line in result.stderr.splitlines() if " note: run without validation: " not in line]  # as the page says
                self.assertEqual((result.returncode, notes), (0, []))
                pieces = ["".join(piece.split()) for piece in shown.split("...")]
                self.assertRegex("".join(result.stdout.split()), "^" + ".*".join(map(re.escape, pieces)) + "$")

    @unittest.skipUnless(HAS_YAML, "PyYAML is not installed")
    def test_profile_file(self):
        (text,) = blocks("docs/profiles.md", "yaml")
        pathlib.Path("profile.yaml").write_text(text, encoding="utf-8")
        result = run("schedule", "--strategy", "zb_h1", "--profile", "profile.yaml")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_table_of_launch_arguments(self):
        rows = re.findall(r"^\| \[(\w+)\]\(strategies.md#\w+\) \| (.*) \|$", (ROOT / "docs" / "runtimes.md").read_text(encoding="utf-8"),
                          flags=re.M)
        self.assertEqual([name for name, _ in rows], [strategy.name for strategy in ppsched.strategies()])
        for name, cells in rows:
            chunks = ppsched.find_strategy(name).chunks or (2 if ppsched.find_strategy(name).placement == "loop" and ppsched.find_strategy(name).slices < 2 else 1)
            schedule = ppsched.generate(name, ppsched.Config(4, 8, 4 * chunks))
            self.assertEqual([launch_cell(schedule, runtime) for runtime in ppsched.Runtime], cells.split(" | "), name)

    def test_pick_of_the_command_page(self):
        text = (ROOT / "docs" / "command.md").read_text(encoding="utf-8")
        ((words, shown),) = re.findall(r"^    \$ ppsched (pick .*)\n((?:    .*\n)+)", text, flags=re.M)
        self.assertEqual(run(*words.split()).stdout, re.sub(r"^    ", "", shown, flags=re.M))
        output = run("pick", *"--devices 8 -s 8 -b 32 --strategies dualpipe zb_h1 1f1b --any".split()).stdout
        lines = re.findall(r"^    (best candidate that .*)$", text, flags=re.M)
        self.assertEqual([line for line in output.splitlines() if line.startswith("best candidate that")], lines)

    def test_yaml_block(self):
        (text,) = blocks("docs/command.md", "yaml")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "config.yaml")
            path.write_text(text, encoding="utf-8")
            result = run("schedule", "-c", str(path), "--no-visualization")
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
