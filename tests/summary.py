# SPDX-License-Identifier: Apache-2.0
"""Counts the tests that ran, from meson's logs: cmocka and unittest cases one by one, other programs as one test each. Names each
that was skipped; a skip that nothing allows is a failure.

usage: summary.py [--allowed FILE]... FAILED_BUILDS TESTLOG...      the last line is "N passed, N failed, N skipped"; exit 1 where
                                                                    anything failed

A FILE has a line "WORD: WHY" for each thing that may be missing; # begins a comment. A skip is allowed where its own reason has the
word.
"""
import argparse
import ast
import collections
import json
import pathlib
import re
import sys

TAP = re.compile(r"^(ok|not ok) \d+\b *-? *(.*)$", re.M)
DIRECTIVE = re.compile(r"\s*# *SKIP\b *", re.I)
RAN = re.compile(r"^Ran (\d+) tests? in", re.M)
CASE = re.compile(r"^(\w+) \(([\w.<>]+)\)")
SKIPPED = re.compile(r"\bskipped (\".*\"|'.*')$")
WHOLE = ("setUpModule", "setUpClass")  # skipped before any case of theirs was counted

Skip = collections.namedtuple("Skip", "case reason")
Count = collections.namedtuple("Count", "passed failed skips")


def count_tap(text):
    cases = [(verdict, *DIRECTIVE.split(words, 1)) for verdict, words in TAP.findall(text)]
    skips = [Skip(case[1], case[2]) for case in cases if len(case) > 2]
    failed = sum(len(case) == 2 and case[0] == "not ok" for case in cases)
    return Count(len(cases) - failed - len(skips), failed, skips)


def find_skips(text):
    """Those that unittest names, which it does with -v."""
    case = ""
    for line in text.splitlines():
        if named := CASE.match(line):
            name, place = named.groups()
            case = ".".join([*place.removesuffix(f".{name}").split(".")[1:], name])
        if case and (skipped := SKIPPED.search(line)):
            yield Skip(case, ast.literal_eval(skipped[1]))


def count_unittest(text, total):
    failed = sum(int(number) for number in re.findall(r"(?:failures|errors)=(\d+)", text))
    told = sum(int(number) for number in re.findall(r"skipped=(\d+)", text))
    skips = list(find_skips(text))[:told]
    skips += [Skip("(no name: unittest tells it with -v)", "")] * (told - len(skips))
    in_cases = sum(skip.case.rpartition(".")[2] not in WHOLE for skip in skips)
    return Count(max(0, total - failed - in_cases), failed, skips)


def count(test):
    """Of one of meson's tests. A program that fails without a failed case counts as one failure."""
    text = test.get("stdout", "") + "\n" + test.get("stderr", "")
    ran = RAN.search(text)
    found = count_unittest(text, int(ran[1])) if ran and not TAP.search(text) else count_tap(text)
    if test["result"] not in ("OK", "SKIP", "EXPECTEDFAIL"):
        return found if found.failed else found._replace(failed=1)
    if found.passed or found.failed or found.skips:
        return found
    if test["result"] != "SKIP":
        return Count(1, 0, [])
    last = (text.strip().splitlines() or [""])[-1]
    return Count(0, 0, [Skip("", DIRECTIVE.split(last)[-1])])


def read_allowed(paths):
    """{word: why}, of the lines of these files."""
    allowed = {}
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            text = line.partition("#")[0].strip()
            word, _, why = (part.strip() for part in text.partition(":"))
            if text and not (word and why):
                sys.exit(f'{path}:{number}: "{line}" is not "WORD: WHY"')
            if text:
                allowed[word] = why
    return allowed


def why_allowed(reason, allowed):
    """The line that allows this skip, or None. A word is whole: that of one package is no part of another's name."""
    return next((f"{word}: {why}" for word, why in allowed.items() if re.search(rf"(?<![\w.+-]){re.escape(word)}(?![\w+-]|\.\w)", reason)), None)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("  ")[0])
    parser.add_argument("--allowed", type=pathlib.Path, action="append", default=[])
    parser.add_argument("failed_builds", type=int)
    parser.add_argument("logs", type=pathlib.Path, nargs="*")
    arguments = parser.parse_args()
    allowed = read_allowed(arguments.allowed)
    totals = collections.Counter(failed=arguments.failed_builds)
    for path in arguments.logs:
        for line in path.read_text(encoding="utf-8").splitlines():
            test = json.loads(line)
            found = count(test)
            totals.update(passed=found.passed, failed=found.failed)
            for skip in found.skips:
                why = why_allowed(skip.reason, allowed)
                totals.update(["skipped" if why else "failed"])
                name = " ".join(filter(None, (test["name"].split(" / ")[-1], skip.case)))
                print(f"skipped: {name}: {skip.reason or 'no reason'} ({why or 'NOT ALLOWED, so it counts as failed'})")
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    sys.exit(1 if totals["failed"] or not totals["passed"] else 0)


if __name__ == "__main__":
    main()
