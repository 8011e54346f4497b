# SPDX-License-Identifier: Apache-2.0
"""schedule and compare with several files in -o: each is as it would be alone, and all are written, or none."""
import importlib.util
import itertools
import json
import os
import pathlib
import random
import tempfile
import unittest
from unittest import mock

from in_process import run_command
from ppsched.command import compare_command, schedule_command

HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None
PICTURES = ("a.png", "b.pdf") if HAS_MATPLOTLIB else ()
SCHEDULE = ("schedule", "--devices", 4, "--microbatches", 8)
COMPARE = ("compare", "--devices", 4, "--microbatches", 8, "--strategies", "1f1b", "gpipe")
TEXTS = ("a.csv", "a.json", "a.trace.json", "a.txt")
WINDOWS = {"forward": [["compute", 3], ["network", 2]], "backward": [["compute", 4], ["network", 2]]}


class FilesCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def files(self):
        """The bytes of all files, which are then removed."""
        found = {path.name: path.read_bytes() for path in self.folder.iterdir() if path.is_file()}
        for name in found:
            (self.folder / name).unlink()
        return found

    def done(self, *words, code=0):
        done = run_command(words, cwd=self.folder, speaks=True)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def refused(self, told, *words, code=2):
        """Says so in one line, and leaves nothing behind."""
        done = self.done(*words, "--quiet", code=code)
        self.assertIn(told, done.stderr)
        self.assertEqual((done.stdout, done.stderr.count("\n"), self.files()), ("", 1, {}))

    def alone(self, words, names):
        """What each file has if it is the only one, and what is printed beside a picture."""
        wanted, printed = {}, ""
        for name in names:
            printed = self.done(*words, "-o", name).stdout or printed
            wanted.update(self.files())
        return wanted, printed

    def expect_as_alone(self, words, names):
        wanted, printed = self.alone(words, names)
        draw = random.Random(len(words))
        for number in range(3):
            names = draw.sample(names, len(names))
            split = draw.randrange(1, len(names))
            given = (("-o", *names), ("-o", *names[:split], "--output", *names[split:]), [word for name in names for word in ("-o", name)])[number]
            self.assertEqual(self.done(*words, *given).stdout, printed, given)
            self.assertEqual(self.files(), wanted, given)


class ScheduleTest(FilesCase):
    def test_each_is_as_alone(self):
        for words in ((), ("--time-scale", 3, "--text-columns", 40), ("--no-visualization",), ("--microbatch-scale", *range(1, 9), "--order-microbatches"),
                      ("--strategy", "auto", "--forward-only", "--objective", "throughput")):
            self.expect_as_alone((*SCHEDULE, *words), [*TEXTS, *PICTURES[:1]])
        for words in (("--explain", "--explain-memory"), ("--jitter", 0.1, "--scenarios", 20, "--dispatch"), ("--lower", "just_in_time", "--capture")):
            self.expect_as_alone((*SCHEDULE, *words), ["a.json", "a.txt", "b.json", *PICTURES[:1]])

    def test_each_option_adds_to_what_has_a_place_for_it(self):
        plain, _ = self.alone(SCHEDULE, TEXTS)
        for words, members, told in ((("--explain", "--slots"), {"explain", "slots"}, "a.txt"), (("--jitter", 0.1), {"scenarios"}, "a.txt"),
                                     (("--slots",), {"slots"}, None), (("--capture", "--explain-memory"), {"capture", "explain_memory"}, "a.txt")):
            self.done(*SCHEDULE, *words, "-o", *TEXTS)
            found = self.files()
            self.assertLessEqual(members, json.loads(found["a.json"]).keys())
            self.assertEqual({name for name in TEXTS if found[name] != plain[name]}, {"a.json", told} - {None})
        for words, told in ((("--explain",), "--explain works only with text and json, not with csv and chrome"),
                            (("--capture",), "--capture works only with text and json"), (("--jitter", 0.1), "work only with text and json, not with csv and chrome"),
                            (("--slots",), "--slots works only with json"), (("--links", "ranks"), "--links works only with chakra traces")):
            self.refused(told, *SCHEDULE, *words, "-o", "a.csv", "b.csv", "a.trace.json")
        self.refused("--slots works only with json", *SCHEDULE, "--slots", "-o", "a.csv", "a.txt")

    def test_one_schedule(self):
        with mock.patch.object(schedule_command, "generate", wraps=schedule_command.generate) as made:
            self.done(*SCHEDULE, "-o", *TEXTS, *PICTURES)
        self.assertEqual((made.call_count, len(self.files())), (1, 4 + len(PICTURES)))

    def test_one_bad_file(self):
        """At each place among good ones, old ones of which stay."""
        (self.folder / "is_folder.json").mkdir()
        for bad, told, code in (("none/x.csv", "cannot write", 1), ("is_folder.json", "Is a directory", 1), ("x.xyz", "-o x.xyz: unknown ending", 2)):
            for place in range(3):
                names = [*PICTURES[:1], *TEXTS[:2]]
                names.insert(place, bad)
                self.refused(told, *SCHEDULE, "-o", *names, code=code)
            (self.folder / "a.csv").write_bytes(b"old")
            self.assertIn(told, self.done(*SCHEDULE, "-o", "a.csv", "a.json", bad, code=code).stderr)
            self.assertEqual(self.files(), {"a.csv": b"old"})
        self.refused("time_scale is -1", *SCHEDULE, "--time-scale", -1, "-o", *PICTURES, *TEXTS, code=1)
        self.refused("over its limit", *SCHEDULE, "--mem-limit", 1, "-o", *TEXTS, code=1)

    def test_one_name_twice(self):
        self.refused("-o a.csv is given twice", *SCHEDULE, "-o", "a.csv", "a.json", "a.csv")
        self.refused("-o a.csv is given twice", *SCHEDULE, "-o", "a.csv", "-o", "a.csv")
        self.refused("-o a.csv and -o ./a.csv are one file", *SCHEDULE, "-o", "a.csv", "./a.csv")
        os.symlink("a.csv", self.folder / "link.csv")
        self.assertIn("-o link.csv and -o a.csv are one file", self.done(*SCHEDULE, "-o", "link.csv", "a.csv", code=2).stderr)

    def test_format(self):
        self.refused("--format json writes one file, not -o a.x and -o a.csv", *SCHEDULE, "--format", "json", "-o", "a.x", "a.csv")
        self.refused("chakra: give -o PREFIX", *SCHEDULE, "--format", "chakra", "--lower", "just_in_time", "-o", "a.png", "a.pdf")
        if not HAS_MATPLOTLIB:
            return
        plain, line = self.alone(SCHEDULE, ("a.png", "a.json"))
        for names in list(itertools.permutations(("a.png", "a.pdf", "a.x")))[::2]:
            self.assertEqual(self.done(*SCHEDULE, "--format", "json", "-o", *names).stdout, line)
            found = self.files()
            self.assertEqual((found["a.png"], found["a.x"], len(found)), (plain["a.png"], plain["a.json"], 3))
        text = self.done(*SCHEDULE, "--json", "-o", "a.png", "a.pdf").stdout
        self.assertEqual((json.loads(text)["strategy"], set(self.files())), ("1f1b", {"a.png", "a.pdf"}))
        self.refused("lower it with --lower", *SCHEDULE, "--format", "chakra", "-o", "a.png", "run", code=2)
        self.done(*SCHEDULE, "--format", "chakra", "--lower", "just_in_time", "-o", "a.png", "run")
        self.assertEqual(set(self.files()), {"a.png", *(f"run.{rank}.et" for rank in range(4))})

    def test_launch_has_one(self):
        words = (*SCHEDULE, "--launch", "torchtitan")
        for names in (("a.csv", "b.csv"), ("a.csv", "a.png")):
            self.refused(f"--launch writes one file, the CSV that torchtitan reads, not -o {names[0]} and -o {names[1]}", *words, "-o", *names)
        self.refused("-o a.png: with --launch it is the CSV", *words, "-o", "a.png", "a.csv")
        self.assertIn("schedule_csv a.csv", self.done(*words, "-o", "a.csv").stdout)

    def test_order_of_microbatches(self):
        words = (*SCHEDULE, "--microbatch-scale", *range(1, 9), "--order-microbatches", "--quiet")
        told = self.done(*words, "-o", "a.csv", "a.trace.json", "b.csv").stderr.splitlines()
        self.assertEqual([line.partition("; ")[2] for line in told], ["a.csv.order.json contains it, too", "b.csv.order.json contains it, too"])
        self.assertEqual(len(self.files()), 5)
        self.assertEqual(len(self.done(*words, "-o", "a.json", "a.trace.json").stderr.splitlines()), 1)
        self.assertEqual(self.done(*words, "-o", "a.json", "a.txt").stderr, "")

    def test_the_file_of_a_config_gives_way(self):
        (self.folder / "c.json").write_text('{"devices": 2, "microbatches": 2, "output": "c.csv"}', encoding="utf-8")
        self.done("schedule", "-c", "c.json", "-o", "a.csv", "a.txt")
        self.assertEqual(set(self.files()), {"c.json", "a.csv", "a.txt"})


class CompareTest(FilesCase):
    def test_each_is_as_alone(self):
        self.expect_as_alone(COMPARE, ["a.json", "a.txt", "a.csv", *PICTURES])
        self.expect_as_alone((*COMPARE, "--json"), ["a.json", "a.any", *PICTURES[:1]])
        for names in (("a.html", "a.csv"), ("a.csv", "a.html")):
            self.assertEqual(self.done(*COMPARE, "--timelines", 1, "-o", *names).stdout, "")
            self.assertIn(b"</html>", self.files()["a.html"])

    def test_one_plan(self):
        with mock.patch.object(compare_command, "make_plan", wraps=compare_command.make_plan) as made:
            self.done(*COMPARE, "-o", "a.html", "a.json", "a.csv", "a.txt", *PICTURES)
        self.assertEqual((made.call_count, len(self.files())), (1, 4 + len(PICTURES)))

    def test_one_bad_file(self):
        for bad, told, code in (("none/x.csv", "cannot write", 1), ("x.xyz", "-o x.xyz: unknown ending", 2), ("x.trace.json", "compare writes no traces", 2),
                                ("a.csv", "-o a.csv is given twice", 2), ("./a.json", "are one file", 2)):
            for place in range(3):
                names = ["a.csv", "a.json", *PICTURES[:1]]
                names.insert(place, bad)
                self.refused(told, *COMPARE, "-o", *names, code=code)
        self.assertIn("a page cannot be combined with --json", self.done(*COMPARE, "--json", "-o", "a.csv", "a.html", code=2).stderr)
        self.assertEqual(self.files(), {})
        self.refused("--timelines needs a page", *COMPARE, "--timelines", 1, "-o", "a.csv", "a.json")

    def test_speeds(self):
        (self.folder / "w.json").write_text(json.dumps(WINDOWS), encoding="utf-8")
        words = (*COMPARE, "--windows", "w.json", "--channel-speeds", "network=1,2")
        text, rows = self.done(*words).stdout, self.done(*words, "--json").stdout
        for names in itertools.permutations(("a.txt", "a.json", "b.json")):
            self.assertEqual(self.done(*words, "-o", *names).stdout, "")
            found = {name: (self.folder / name).read_text(encoding="utf-8") for name in names}
            self.assertEqual((found["a.json"], found["b.json"], found["a.txt"].startswith(text)), (rows, rows, True))
        self.assertIn("give .json or .txt", self.done(*words, "-o", "c.json", "c.csv", code=2).stderr)
        self.assertFalse((self.folder / "c.json").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
