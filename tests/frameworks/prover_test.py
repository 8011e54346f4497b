#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Answers of the library against optima that OR-Tools' CP-SAT proves, from models of its own (prover_model.py): what the library calls
proved is the optimum, no lower bound is above it, and no step is shorter. Problems that CP-SAT does not prove in time are counted apart.

usage: prover_test.py [--all] [--seed N] [--seconds N] [unittest's words]    --all: all problems of prover_problems.py, not the first two
                                                                             of each kind; seconds: for CP-SAT and a problem
"""
import argparse
import collections
import json
import pathlib
import subprocess
import sys
import unittest

import framework
import prover_problems

import ppsched

MODEL = pathlib.Path(__file__).resolve().with_name("prover_model.py")
SECONDS = 20
WORKERS = 2
NEVER_SHORTER = 1e-9
SIZES = ("devices", "stages", "microbatches", "placement")
OWN = (*SIZES, "name", "kind", "objective", "horizon", "layers", "strategy", "empty_stages", "queues")  # others are ppsched.Config's


def config_of(problem):
    values = {name: value for name, value in problem.items() if name not in OWN}
    return ppsched.Config(problem["devices"], problem["microbatches"], problem["stages"], placement=problem["placement"], **values)


def plan_of(problem):
    """All candidates of the problem's placement, searches among them; with layers those of its strategy."""
    chunks, objective = problem["stages"] // problem["devices"], problem.get("objective", "makespan")
    if "layers" in problem:
        values = {name: value for name, value in problem.items() if name not in OWN}
        config = ppsched.Config(problem["devices"], problem["microbatches"], **values)
        return ppsched.plan(config, layers=problem["layers"], strategies=[problem["strategy"]], chunks=[chunks], effort=4,
                            placements=[problem["placement"]], group_sizes=[problem["devices"]], empty_stages=problem.get("empty_stages", False))
    if isinstance(problem["placement"], list):
        return ppsched.plan(config_of(problem), objective=objective, effort=4)
    return ppsched.plan(config_of(problem), objective=objective, effort=4, chunks=[chunks], placements=[problem["placement"]])


def queues_of(schedule):
    """[[(stage, kind, microbatch) of one op, or of the two of a pair]] of each device."""
    found = []
    for queue in schedule.queues:
        units, is_second = [], False
        for op in queue:
            (units[-1] if is_second else units.append([]) or units[-1]).append((op.stage, op.kind.name, op.microbatch))
            is_second = op.overlapped and not is_second
        found.append(units)
    return found


def order_of(problem):
    """Of a rule, which looks at no times. The default group size is the number of devices."""
    config = ppsched.Config(problem["devices"], problem["microbatches"], problem["stages"])
    return queues_of(ppsched.generate(problem["strategy"], config))


def least_limits(problem):
    """The problem with the least limit under which a schedule exists, and with one less."""
    least = round(ppsched.lower_bound(config_of(problem)).least_limit)
    for kind, limit in (("least_limit", least), ("below_it", least - 1)):
        yield {**problem, "kind": kind, "name": f"{problem['name']} {kind}", "mem_limit": [limit] * problem["devices"]}


class Answer:
    """What the library says of a problem."""

    def __init__(self, problem):
        self.problem, plan = problem, plan_of(problem)
        self.candidates = [candidate for candidate in plan if candidate.status == "fits"]
        self.best = self.candidates[0] if self.candidates else None
        self.bounds = {candidate.bound for candidate in plan if candidate.bound is not None}
        if "layers" not in problem:
            self.bounds.add(ppsched.lower_bound(config_of(problem), problem.get("objective", "makespan")).value)
        if self.best is not None and "queues" in problem and queues_of(plan.schedule(self.best)) != problem["queues"]:
            raise AssertionError(f"{problem['name']}: another order than that of the rule")


def solve(problems, seconds):
    """The results of CP-SAT, one after the other."""
    with subprocess.Popen([framework.PYTHON, MODEL, str(seconds), str(WORKERS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          env=framework.ENVIRONMENT) as solver:
        for problem in problems:
            print(json.dumps(problem), file=solver.stdin, flush=True)
            line = solver.stdout.readline()
            if not line:
                raise AssertionError(f"{problem['name']}: CP-SAT gave no answer")
            yield json.loads(line)
        solver.stdin.close()


class ProverTest(unittest.TestCase):
    few, seed, seconds = True, prover_problems.SEED, SECONDS

    def test_problems(self):
        if reason := framework.why_missing("ortools"):
            self.skipTest(reason)
        problems, counts = list(prover_problems.problems(self.few, self.seed)), collections.defaultdict(collections.Counter)
        for problem in problems:
            if "strategy" in problem and problem["kind"] != "split_and_order":
                problem["queues"] = order_of(problem)
        print(f"seed {self.seed}, {len(problems)} problems")
        problems += [more for problem in problems if problem["kind"].endswith("_memory") and "layers" not in problem
                     for more in least_limits(problem)]
        for problem, result in zip(problems, solve(problems, self.seconds)):
            with self.subTest(name=problem["name"]):
                counts[problem["kind"]].update(["problems", *self.compare(Answer(problem), result)])
        self.tell(counts)

    def compare(self, answer, result):
        """Yields what is counted."""
        name, status, value = answer.problem["name"], result["status"], result["value"]
        text = f"{name}: CP-SAT {status} {value} (at least {result['bound']:g}, {result['seconds']:.1f} s), here " + (
            f"{answer.best.strategy} {answer.best.step_time:g}{' proved' if answer.best.proved else ''}" if answer.best else "nothing fits")
        text += f", bounds {' '.join(f'{bound:g}' for bound in sorted(answer.bounds))}"
        print(text, flush=True)
        if status in ("optimal", "infeasible") and answer.problem["kind"] in ("least_limit", "below_it"):
            self.assertEqual(status == "optimal", answer.problem["kind"] == "least_limit", text)
        if status == "infeasible":
            self.assertIsNone(answer.best, text)
            return ["cannot be had"]
        searched = "layers" not in answer.problem and answer.problem["kind"] != "bidirectional"
        self.assertTrue(answer.best or not searched or status == "unknown", text)
        for candidate in answer.candidates:
            self.assertGreaterEqual(candidate.step_time, result["bound"] - NEVER_SHORTER, text)
            if candidate.proved and value is not None:
                self.assertLessEqual(candidate.step_time, value + NEVER_SHORTER, f"{text}: {candidate.strategy} is proved")
        if value is not None:
            for bound in answer.bounds:
                self.assertLessEqual(bound, value + NEVER_SHORTER, text)
        return self.words(answer, result)

    @staticmethod
    def words(answer, result):
        if result["status"] != "optimal":
            return ["not proved by CP-SAT"]
        if answer.best is None:
            return ["optimum", "nothing found here"]
        reached = answer.best.step_time <= result["value"] + NEVER_SHORTER
        return ["optimum", "reached and proved" if answer.best.proved else "reached" if reached else "longer"]

    def tell(self, counts):
        columns = ("problems", "optimum", "reached and proved", "reached", "longer", "nothing found here", "cannot be had", "not proved by CP-SAT")
        print(f"{'':16}" + "  ".join(columns))
        total = collections.Counter()
        for kind, row in [*counts.items(), ("all", total)]:
            print(f"{kind:16}" + "  ".join(f"{row[column]:{len(column)}}" for column in columns))
            total.update(row)
        self.assertGreater(total["reached and proved"], total["problems"] // 4)


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--seed", type=int, default=prover_problems.SEED)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    given, rest = parser.parse_known_args()
    ProverTest.few, ProverTest.seed, ProverTest.seconds = not given.all, given.seed, given.seconds
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
