#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# OR-Tools 9.15.6755, CP-SAT.
# The same job shop, 12 jobs on 8 machines, with times in whole microseconds. Minimized in microseconds its end is 529, proved. Minimized
# in seconds, times 1e-6, the status is OPTIMAL too, but the end is 602, beside a bound of 508: by default a gap below 1e-4 in the
# objective counts as none, whatever the objective's size. With absolute_gap_limit 0 the end is 529 again.
# For who plans: an objective in seconds makes every step within 0.1 ms "optimal". Minimize whole units, or set the limit to 0, and
# compare the objective with its bound before a status is believed.
set -euo pipefail
. "$(dirname "$0")/common.sh"
python_packages ortools==9.15.6755
seen=$(
    python - <<'PY'
import random
from ortools.sat.python import cp_model

JOBS, MACHINES, HORIZON = 12, 8, 2000


def solve(name, scale=None, gap=None):
    draw, model, solver = random.Random(3), cp_model.CpModel(), cp_model.CpSolver()
    machines, ends = [[] for _ in range(MACHINES)], []
    for _ in range(JOBS):
        route, end = draw.sample(range(MACHINES), MACHINES), 0
        for machine in route:
            length, start = draw.randint(5, 60), model.new_int_var(0, HORIZON, "")
            machines[machine].append(model.new_fixed_size_interval_var(start, length, ""))
            model.add(start >= end)
            end = start + length
        ends.append(end)
    for ops in machines:
        model.add_no_overlap(ops)
    last = model.new_int_var(0, HORIZON, "")
    model.add_max_equality(last, ends)
    model.minimize(last if scale is None else scale * last)
    solver.parameters.num_workers = 1
    if gap is not None:
        solver.parameters.absolute_gap_limit = gap
    status = solver.status_name(solver.solve(model))
    print(f"{name}: {status}, end {solver.value(last)}, bound {solver.best_objective_bound:g}")


solve("in microseconds")
solve("in seconds", scale=1e-6)
solve("in seconds, absolute_gap_limit 0", scale=1e-6, gap=0)
PY
)
compare "in microseconds: OPTIMAL, end 529, bound 529
in seconds: OPTIMAL, end 602, bound 0.000508
in seconds, absolute_gap_limit 0: OPTIMAL, end 529, bound 0.000529" "$seen"
