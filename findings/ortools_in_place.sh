#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OR-Tools 9.15.6755, CP-SAT.
# += and -= change a sum of variables for all names that share it, as with a list. With one variable, or a multiple of one, they make a
# new expression, as with a number. So a model may mean what was written for small sizes only.
# For who plans: a level of memory that is carried from op to op (after = level; after += freed) is wrong, and the problem seems to have
# no solution. Write after = after + freed.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages ortools==9.15.6755
seen=$(
    python - <<'PY'
from ortools.sat.python import cp_model

model = cp_model.CpModel()
x, y, z = (model.new_int_var(0, 9, name) for name in "xyz")
for level in x, 2 * x, x + y, x + y + 1:
    text, after = str(level), level
    after += z
    print(f"{text}: {'also changed' if str(level) != text else 'unchanged'}")
PY
)
compare "x: unchanged
(2 * x): unchanged
(x + y): also changed
(x + y + 1): also changed" "$seen"
