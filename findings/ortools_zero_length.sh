#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OR-Tools 9.15.6755, CP-SAT.
# An interval of length 0 takes no time, but add_no_overlap does not let it lie inside another one, only at its ends. add_cumulative
# with capacity 1, which stands for one machine as well, lets it.
# For who plans: with ops of length 0 (a stage without layers, weights without gradients) the two models of one device can have
# different optima. With no_overlap such an op waits for the op under way. Leave it out of the device if it should be free.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages ortools==9.15.6755
seen=$(
    python - <<'PY'
from ortools.sat.python import cp_model


def status(kind, start):
    """Of one machine with an op from 0 to 10 and an op of length 0 at start."""
    model, solver = cp_model.CpModel(), cp_model.CpSolver()
    ops = [model.new_fixed_size_interval_var(0, 10, "op"), model.new_fixed_size_interval_var(start, 0, "nothing")]
    model.add_no_overlap(ops) if kind == "no_overlap" else model.add_cumulative(ops, [1, 1], 1)
    return solver.status_name(solver.solve(model))


for kind in "no_overlap", "cumulative":
    print(f"{kind}: start", ", ".join(f"{start} {status(kind, start)}" for start in (0, 5, 10)))
PY
)
compare "no_overlap: start 0 OPTIMAL, 5 INFEASIBLE, 10 OPTIMAL
cumulative: start 0 OPTIMAL, 5 OPTIMAL, 10 OPTIMAL" "$seen"
