#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions per op of each step, counted by callgrind, against the committed table: so that a slow-down is seen on a noisy
machine. The table is that of gcc 12 -O3 on x86-64.

usage: instructions.py PROGRAM [--update]       PROGRAM: the benchmark "instructions"
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TABLE = pathlib.Path(__file__).with_name("instructions.json")
TOLERANCE = 0.05
SKIPPED = 77


def count(program):
    """{"1f1b generate": 11.5, ...}"""
    with tempfile.TemporaryDirectory() as folder:
        own = {key: value for key, value in os.environ.items() if not key.startswith("MALLOC_")}
        subprocess.run(["valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={folder}/out", program],
                       env=own, check=True)
        found = {}
        for path in pathlib.Path(folder).glob("out.*"):
            text = path.read_text(encoding="utf-8")
            name = re.search(r"^desc: Trigger: Client Request: (.+) (\d+)$", text, re.MULTILINE)
            total = re.search(r"^(?:totals|summary): (\d+)", text, re.MULTILINE)
            if name is not None:
                found[name[1]] = round(int(total[1]) / int(name[2]), 1)
    return dict(sorted(found.items()))


def differences(found, expected):
    for name in sorted(found.keys() | expected.keys()):
        if name not in found or name not in expected:
            yield f"{name}: only in {'the table' if name in expected else 'the program'}"
        elif abs(found[name] - expected[name]) > max(TOLERANCE * expected[name], 0.3):
            yield f"{name}: {found[name]} instructions per op, {expected[name]} expected"


def main():
    if shutil.which("valgrind") is None:
        print("valgrind is not installed")
        return SKIPPED
    found = count(sys.argv[1])
    if "--update" in sys.argv[2:]:
        TABLE.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
        return 0
    wrong = list(differences(found, json.loads(TABLE.read_text(encoding="utf-8"))))
    print("\n".join(wrong) or f"{len(found)} counts as in the table")
    if wrong:
        print(f"Look why. If it is right: {sys.argv[0]} {sys.argv[1]} --update")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
