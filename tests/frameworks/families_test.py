#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small models of all families with other numbers than those of tests/layers/counted.jsonl: as many parameters as transformers counts.
PPSCHED_FRAMEWORKS is the Python that has it; PPSCHED_SEED draws others."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

LAYERS = pathlib.Path(__file__).resolve().parent.parent / "layers"
sys.path.insert(0, str(LAYERS))
from families import NOT_COUNTED, OF_OTHERS, differences, model_families  # noqa: E402  (its folder is no package)

PYTHON = os.environ.get("PPSCHED_FRAMEWORKS", "")
UNSET = "PPSCHED_FRAMEWORKS is not set: tests/frameworks/environment.sh makes the environment and prints its Python"


@unittest.skipUnless(PYTHON, UNSET)
class FamiliesTest(unittest.TestCase):
    def test_parameters_are_those_of_transformers(self):
        seed = os.environ.get("PPSCHED_SEED", "2")
        ran = subprocess.run([PYTHON, LAYERS / "counted.py", "--cases", "6", "--seed", seed], capture_output=True, text=True, check=False, timeout=800)
        self.assertEqual(ran.returncode, 0, ran.stderr[-4000:])
        rows = [json.loads(line) for line in ran.stdout.splitlines()]
        wrong = [(row["config"], found) for row in rows if (found := differences(row))]
        self.assertEqual(wrong[:3], [], f"{len(wrong)} of {len(rows)} differ, seed {seed}")
        counted = {row["config"]["model_type"] for row in rows}
        left_out = sorted(set(model_families()) - counted)
        print(f"{len(rows)} models of {len(counted)} families; not in transformers: {', '.join(sorted(set(left_out) & NOT_COUNTED))}; "
              f"read as others: {', '.join(sorted(set(left_out) & OF_OTHERS))}")
        self.assertEqual(set(left_out) - NOT_COUNTED - OF_OTHERS, set())


if __name__ == "__main__":
    unittest.main()
