# SPDX-License-Identifier: Apache-2.0
"""The tables of docs/renamed.md: each new name is there, no old one is but where users may go on using it, as options and keys."""
import argparse
import csv
import inspect
import io
import json
import pathlib
import re
import tempfile
import unittest

from in_process import run_command

import ppsched
from ppsched._core.former_names import FORMER
from ppsched.command import running

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADERS = ROOT / "include" / "ppsched"
PROBLEM = ("--num-devices", 2, "-s", 2, "-b", 4)


def tables():
    """{heading: [[cell, ...]]}: what stands in code of the first two cells, and the words of the third."""
    found, heading = {}, ""
    for line in (ROOT / "docs" / "renamed.md").read_text(encoding="utf-8").splitlines():
        heading = line.removeprefix("## ") if line.startswith("## ") else heading
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| `"):
            found.setdefault(heading, []).append([cell.strip("`") if place < 2 else cell for place, cell in enumerate(cells)])
    return found


TABLES = tables()


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.S)


def members(text, pattern):
    """The words of a struct's, class's or interface's body."""
    body = re.search(pattern, text, flags=re.S | re.M)
    return set(re.findall(r"\w+", body[1])) if body else set()


def run(*words):
    return run_command(words)


def output(*words):
    """What the command prints; it may find that something is wrong."""
    return run(*words).stdout


def keys_in(value):
    """All keys of JSON, however deep."""
    if isinstance(value, dict):
        return set(value) | {key for inner in value.values() for key in keys_in(inner)}
    return {key for inner in value for key in keys_in(inner)} if isinstance(value, list) else set()


def pairs_in(value, new, old):
    """The values of a new key and of the old one, of each mapping that has the new one."""
    if isinstance(value, dict):
        own = [(value[new], value.get(old))] if new in value else []
        return own + [pair for inner in value.values() for pair in pairs_in(inner, new, old)]
    return [pair for inner in value for pair in pairs_in(inner, new, old)] if isinstance(value, list) else []


def options_of(parser):
    """{command: {option: action}}"""
    (commands,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {name: command._option_string_actions for name, command in commands.choices.items()}


class TableTest(unittest.TestCase):
    def test_each_has_rows(self):
        self.assertEqual(list(TABLES), ["C", "Python", "Command line", "JSON and CSV", "WebAssembly"])
        self.assertEqual({old: len(rows) for old, rows in TABLES.items()}, {"C": 32, "Python": 11, "Command line": 4, "JSON and CSV": 4, "WebAssembly": 6})

    def test_readers_here_find_what_is_wrong(self):
        text = "typedef struct a_b {\n    int c;\n} a_b;\n"
        self.assertEqual(members(text, r"^typedef struct a_b \{(.*?)^\}"), {"int", "c"})
        self.assertEqual(members(text, r"^typedef struct a_c \{(.*?)^\}"), set())
        self.assertEqual(pairs_in([{"a": {"new": 1, "old": 2}}, {"new": 3}], "new", "old"), [(1, 2), (3, None)])
        self.assertEqual(keys_in([{"a": {"b": [{"c": 1}]}}]), {"a", "b", "c"})


class CTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = "\n".join(without_comments(path.read_text(encoding="utf-8")) for path in sorted(HEADERS.glob("*.h")))
        cls.words = set(re.findall(r"\w+", cls.text))

    def has(self, name):
        if name.startswith("<"):
            return (HEADERS.parent / name.strip("<>")).exists()
        struct, _, member = name.partition(".")
        if member:
            found = members(self.text, rf"^typedef struct {struct} \{{(.*?)^\}}")
            self.assertTrue(found, f"there is no struct {struct}")
            return member in found
        return name in self.words

    def test_names(self):
        now = {row[1] for row in TABLES["C"]}
        for old, new in TABLES["C"]:
            with self.subTest(old):
                self.assertTrue(new == "-" or self.has(new), new)
                self.assertTrue(old in now or not self.has(old), old)


class PythonTest(unittest.TestCase):
    def has(self, name):
        path, _, argument = name.rstrip(")").partition("(")
        found = ppsched
        for part in path.split("."):
            found = getattr(found, part, None)
            if found is None:
                return False
        if argument.endswith("="):
            return argument[:-1] in inspect.signature(found).parameters
        if argument:
            schedule = ppsched.generate("1f1b", ppsched.Config(2, 2))
            try:
                return found(schedule, json.loads(argument)) is not None
            except ppsched.Error:
                return False
        return True

    def test_names(self):
        now = {row[1] for row in TABLES["Python"]}
        for old, new in TABLES["Python"]:
            with self.subTest(old):
                self.assertTrue(self.has(new), new)
                self.assertTrue(old in now or not self.has(old), old)
                if "." not in new and "(" not in new:
                    self.assertIn(new, ppsched.__all__)

    def test_what_is_called_link_now_is_no_bandwidth(self):
        self.assertEqual(ppsched.Link._fields, ("sender", "receiver", "transfers", "most_in_flight"))
        self.assertIn("bandwidth", ppsched.LinkRate._fields)


class OptionTest(unittest.TestCase):
    def test_old_ones_are_aliases(self):
        options = options_of(running.parser_of())
        for old, new, commands in TABLES["Command line"]:
            self.assertEqual(set(commands.split(", ")), {name for name, known in options.items() if new in known}, new)
            for command in commands.split(", "):
                self.assertIs(options[command][old], options[command][new], (command, old))
                self.assertEqual(options[command][old].dest, new.strip("-").replace("-", "_"))

    def test_they_do_the_same(self):
        host = ("--host-bandwidth", 4, "--offload-bytes", 1, "--offload", "all", "-b", 8)
        for words, old, new in ((("--lower", "just_in_time"), "--receive-lead", "--receive-prefetch"), (host, "--reload-lead", "--reload-prefetch")):
            texts = [output("schedule", "--strategy", "gpipe", *PROBLEM, *words, *more, "--format", "json") for more in ((old, 2), (new, 2), ())]
            queues = [json.loads(text)["queues"] for text in texts]
            self.assertEqual(queues[0], queues[1])
            self.assertNotEqual(queues[0], queues[2])
        urls = [output("schedule", *PROBLEM, *words) for words in (("--link", "--link-base", "a.html"), ("--page-url", "--page-url-base", "a.html"), ("--page-url",))]
        self.assertEqual(urls[0], urls[1])
        self.assertTrue(urls[1].startswith("a.html#") and urls[2].startswith("ppsched.html#"), urls)


class KeyTest(unittest.TestCase):
    """Of each row of the table what the command writes there, and the old key beside the new one with the same value."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.lowered = pathlib.Path(cls.folder.name) / "lowered.csv"
        cls.lowered.write_text(output("schedule", "--strategy", "gpipe", *PROBLEM, "--lower", "just_in_time", "--format", "csv"), encoding="utf-8")

    def texts(self):
        """{key: JSON of each place that the table names}"""
        limited = (*PROBLEM, "--mem-limit", 2)
        schedule = ("schedule", "--strategy", "1f1b", *PROBLEM, "--format", "json")
        return {"overshoot": [output("compare", *limited, "--json"), output("pick", *PROBLEM, "--json")],
                "links": [output("check", self.lowered, "--json")],
                "link": [output(*schedule), output("pick", *PROBLEM, "--json")],
                "link_rounds": [output(*schedule, "--slots")]}

    def test_both_are_written(self):
        rows, texts = TABLES["JSON and CSV"], self.texts()
        self.assertEqual({new for _, new, _ in rows}, set(texts))
        for old, new, _ in rows:
            for text in texts[new]:
                pairs = pairs_in(json.loads(text), new, old)
                self.assertGreater(len(pairs), 0, new)
                for value, former in pairs:
                    self.assertEqual(value, former, new)

    def test_one_place_says_so(self):
        self.assertEqual(FORMER, {new: old for old, new, _ in TABLES["JSON and CSV"]})

    def test_csv(self):
        path = pathlib.Path(self.folder.name) / "ranked.csv"
        self.assertEqual(run("compare", *PROBLEM, "--mem-limit", 2, "-o", path).returncode, 0)
        rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
        self.assertTrue(any(float(row["overshoot"] or 0) > 0 for row in rows))
        self.assertEqual([row["overshoot"] for row in rows], [row["excess"] for row in rows])

    def test_rows_in_python_have_new_names_alone(self):
        row = ppsched.plan(ppsched.Config(2, 4)).rows()[0]
        self.assertIn("overshoot", row)
        self.assertFalse(set(row) & set(FORMER.values()))

    def test_what_was_written_before_is_read(self):
        """A schedule's JSON as it was, and as it is."""
        made = json.loads(output("schedule", "--strategy", "1f1b", *PROBLEM, "--format", "json"))
        former = {**made, "idle_by_cause": {key: value for key, value in made["idle_by_cause"].items() if key != "link"}}
        for value in (made, former):
            again = ppsched.Schedule.from_text(json.dumps(value), "json")
            self.assertEqual([list(queue) for queue in again.queues], [list(queue) for queue in ppsched.generate("1f1b", ppsched.Config(2, 4)).queues])


class WebAssemblyTest(unittest.TestCase):
    """The names of the types, which the suite under node holds against what there is."""

    @classmethod
    def setUpClass(cls):
        folder = ROOT / "bindings" / "wasm"
        cls.texts = [without_comments((folder / name).read_text(encoding="utf-8")) for name in ("ppsched.d.mts", "abi.d.mts")]

    def has(self, name):
        path, _, argument = name.rstrip("})").partition("({")
        owner, _, member = path.partition(".")
        for text in self.texts:
            body = re.search(rf"^export (?:interface|class) {owner}\b[^\n]*\{{\n(.*?)^\}}", text, flags=re.S | re.M)
            lines = [line for line in (body[1] if body else "").splitlines() if re.match(rf"\s*(?:readonly )?{member}\b", line)]
            if lines:
                return not argument or any(re.search(rf"\b{argument}\?:", line) for line in lines)
            if re.search(rf"^export interface {owner}\b[^{{]*\"{member}\"", text, flags=re.S | re.M):
                return True  # picked
        return False

    def test_names(self):
        for old, new in TABLES["WebAssembly"]:
            with self.subTest(old):
                self.assertTrue(self.has(new), new)
                self.assertFalse(self.has(old), old)


if __name__ == "__main__":
    unittest.main()
