# SPDX-License-Identifier: Apache-2.0
"""Counts the tests that ran, from meson's logs: cmocka and unittest cases one by one, other programs as one test each.

usage: summary.py FAILED_BUILDS TESTLOG...      prints "N passed, N failed, N skipped"; exit 1 where anything failed
"""
import collections
import json
import re
import sys

TAP = re.compile(r"^(ok|not ok) \d+\b(?:.*?(# *SKIP.*)|.*)$", re.M)
RAN = re.compile(r"^Ran (\d+) tests? in", re.M)


def count_tap(text):
    for verdict, skipped in TAP.findall(text):
        yield "skipped" if skipped else "passed" if verdict == "ok" else "failed"


def count_unittest(text, total):
    bad = sum(int(number) for number in re.findall(r"(?:failures|errors)=(\d+)", text))
    skipped = sum(int(number) for number in re.findall(r"skipped=(\d+)", text))
    return ["failed"] * bad + ["skipped"] * skipped + ["passed"] * (total - bad - skipped)


def count(test):
    """The verdicts of one of meson's tests. A program that fails without a failed case counts as one failure."""
    text = test.get("stdout", "") + "\n" + test.get("stderr", "")
    ran = RAN.search(text)
    verdicts = list(count_tap(text)) or (count_unittest(text, int(ran[1])) if ran else [])
    if test["result"] in ("OK", "SKIP", "EXPECTEDFAIL"):
        return verdicts or ["skipped" if test["result"] == "SKIP" else "passed"]
    return verdicts if "failed" in verdicts else [*verdicts, "failed"]


def main():
    totals = collections.Counter(failed=int(sys.argv[1]))
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as log:
            for line in log:
                totals.update(count(json.loads(line)))
    print(f"{totals['passed']} passed, {totals['failed']} failed, {totals['skipped']} skipped")
    sys.exit(1 if totals["failed"] or not totals["passed"] else 0)


if __name__ == "__main__":
    main()
