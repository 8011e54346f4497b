#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether the tests notice: makes mutants of the library and the Python package, each with one small change that a rule makes,
builds and tests each in a copy of the tree, and tells the score by folder and those that survived.

A mutant counts as killed where a test fails, or takes five times as long as without it and 10 s, of the processor's time. What does not compile counts
for nothing. Those of equivalent.txt, which no test can notice, are left out.
"""
import argparse
import collections
import os
import pathlib
import random
import re
import sys
import tempfile
import time

import c_mutations
import python_mutations
from bench import ROOT, Bench

EQUIVALENT = pathlib.Path(__file__).resolve().parent / "equivalent.txt"
PACKAGE = "bindings/python"
GENERATED = {"bindings/python/ppsched/_core/_abi.py"}


def folder_of(path):
    parts = pathlib.PurePath(path).parts
    return "/".join(parts[:2]) if parts[0] == "lib" else PACKAGE


def all_mutations(only):
    for pattern, rules in (("lib/**/*.[ch]", c_mutations), ("bindings/python/ppsched/**/*.py", python_mutations)):
        for file in sorted(ROOT.glob(pattern)):
            path = str(file.relative_to(ROOT))
            if path not in GENERATED and (not only or any(path.startswith(prefix) for prefix in only)):
                text = file.read_text(encoding="utf-8")
                yield from ((mutation, text) for mutation in rules.mutations_of(path, text))


def read_equivalent(text):
    """Blocks with a blank line between: the path, the line with "- ", the mutated line with "+ ", and the reason."""
    found = {}
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if not lines:
            continue
        if len(lines) < 4 or lines[1][:2] != "- " or lines[2][:2] != "+ ":
            raise SystemExit(f"{EQUIVALENT.name}: this is no path, \"- \" line, \"+ \" line and reason:\n{block}")
        found[lines[0], lines[1][2:], lines[2][2:]] = " ".join(lines[3:])
    return found


class Score:
    def __init__(self):
        self.killed, self.survived, self.by = collections.Counter(), collections.Counter(), collections.Counter()
        self.survivors = []

    def add(self, mutation, text, killer):
        folder = folder_of(mutation.path)
        if killer is None:
            self.survived[folder] += 1
            self.survivors.append((mutation, text))
        else:
            self.killed[folder] += 1
            self.by[folder, killer] += 1

    @property
    def count(self):
        return sum(self.killed.values()) + sum(self.survived.values())

    def write(self, out):
        for mutation, text in self.survivors:
            out.write(f"\n{mutation.rule}, line {mutation.line_number(text)}:\n{mutation.diff(text)}")
        out.write("\nfolder               killed  survived  score\n")
        for folder in sorted(self.killed.keys() | self.survived.keys()) + ["all"]:
            killed = sum(self.killed.values()) if folder == "all" else self.killed[folder]
            survived = sum(self.survived.values()) if folder == "all" else self.survived[folder]
            out.write(f"{folder:20} {killed:6}  {survived:8}  {100 * killed / max(1, killed + survived):4.0f} %\n")


def order_for(score, path):
    """The quickest first; before them those that killed most of the folder, or are named as it or the file. Python's tests of the
    library come late: they are slow, and see what those in C see."""
    folder, words = folder_of(path), set(re.split(r"[/._]", path))

    def cost(test):
        likely = 1 + 2 * score.by[folder, test.name] + 9 * bool(words & set(test.name.split("_")))
        return test.seconds * (5 if test.is_python and folder != PACKAGE else 1) / likely
    return cost


def killer_of(mutation, text, bench, order):
    """The name of the test that notices it there; "" where it does not build, None where none does."""
    bench.write(mutation.path, mutation.apply(text))
    killer = bench.first_that_fails(mutation.path.startswith("lib/"), order)
    bench.write(mutation.path, text)
    return killer


def judge(bench, sanitized, mutations, arguments, stop):
    score, left_out, broken = Score(), 0, 0
    equivalent = read_equivalent(EQUIVALENT.read_text(encoding="utf-8"))
    for mutation, text in mutations:
        if score.count == arguments.sample or time.monotonic() > stop:
            break
        if (mutation.path, *mutation.lines(text)) in equivalent:
            left_out += 1
            continue
        begin = time.monotonic()
        killer = killer_of(mutation, text, bench, order_for(score, mutation.path))
        if killer is None and sanitized is not None and mutation.path.startswith("lib/"):
            killer = killer_of(mutation, text, sanitized, order_for(score, mutation.path))
            killer = f"{killer}, sanitized" if killer else killer
        if killer == "":
            broken += 1
            continue
        score.add(mutation, text, killer)
        print(f"{score.count:4} {'SURVIVED' if killer is None else 'killed by ' + killer:28} {time.monotonic() - begin:6.1f} s  "
              f"{mutation.path}:{mutation.line_number(text)} {mutation.rule}", flush=True)
    score.write(sys.stdout)
    print(f"{broken} that do not compile and {left_out} that are equivalent are not counted")
    return 1 if score.survivors and arguments.strict else 0


def sanitized_bench(folder, arguments):
    bench = Bench((arguments.work or pathlib.Path(folder)).resolve() / "sanitized", arguments.jobs, sanitizes=True)
    bench.time_tests(arguments.longest)
    print(f"{len(bench.tests)} tests under the sanitizers, {sum(test.seconds for test in bench.tests):.0f} s", flush=True)
    return bench


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=100, metavar="N", help="so many mutants, drawn evenly (default: 100)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="which ones are drawn (default: 1)")
    parser.add_argument("--only", action="append", default=[], metavar="PATH", help="of these folders or files alone; may repeat")
    parser.add_argument("--time-limit", type=float, default=float("inf"), metavar="SECONDS", help="draws no more after so long")
    parser.add_argument("--longest", type=float, default=60, metavar="SECONDS", help="no tests that take longer (default: 60)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="so many tests at a time (default: one a core)")
    parser.add_argument("--with-digest", action="store_true", help="the committed tables of results are tests too")
    parser.add_argument("--sanitize", action="store_true",
                        help="what survives in lib/ is tried again under the sanitizers, as the whole run of the tests has them")
    parser.add_argument("--list", action="store_true", help="shows what would be drawn, and tests nothing")
    parser.add_argument("--strict", action="store_true", help="exit status 1 where a mutant survives")
    parser.add_argument("--work", type=pathlib.Path, metavar="FOLDER", help="keeps the copy and its build there for the next run")
    arguments = parser.parse_args()
    mutations = list(all_mutations(arguments.only))
    if not mutations:
        parser.error("nothing to change there")
    random.Random(arguments.seed).shuffle(mutations)
    if arguments.list:
        for mutation, text in mutations[:arguments.sample]:
            print(f"{mutation.rule}, line {mutation.line_number(text)}:\n{mutation.diff(text)}")
        return 0
    stop = time.monotonic() + arguments.time_limit
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench((arguments.work or pathlib.Path(folder)).resolve(), arguments.jobs, arguments.with_digest)
        print("compiles with ccache" if bench.has_cache else "compiles without ccache: twice as much, as each mutant is taken back",
              flush=True)
        bench.time_tests(arguments.longest)
        print(f"{len(mutations)} mutants; {len(bench.tests)} tests, {sum(test.seconds for test in bench.tests):.0f} s without a mutant, "
              f"{bench.jobs} at a time", flush=True)
        sanitized = sanitized_bench(folder, arguments) if arguments.sanitize else None
        return judge(bench, sanitized, mutations, arguments, stop)


if __name__ == "__main__":
    sys.exit(main())
