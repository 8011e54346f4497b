# SPDX-License-Identifier: Apache-2.0
"""Strategies whose devices share the output layer: orders captured from the project that has them, times of an event simulation, peaks
as published, and the problem that a chain and its head make."""
import contextlib
import io
import json
import os
import random
import unittest

import ppsched
from ppsched.command import cli

CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "cases", "vocabulary.txt")


def graph_of(devices, barriers, microbatches, forward, backward, s, t, **lists):
    """The graph, written from the description on the page: barriers 0 is interlaced."""
    d = devices
    place, inputs, passes = [*range(d)], [[]] + [[i] for i in range(d - 1)], ["FB"] * d
    times, backs = list(forward), list(backward)
    if barriers == 0:
        place, inputs, passes, times, backs = [*place, [*range(d)]], [*inputs, [d - 1]], [*passes, "FB"], [*times, s], [*backs, t]
    else:
        place, inputs, times, backs = [*place, *range(d)], inputs + [[d - 1]] * d, times + [s] * d, backs + [0 if barriers == 1 else t] * d
        passes += ["F" if barriers == 1 else "FB"] * d
        place, passes, times, backs = [*place, d - 1], [*passes, "FI"], [*times, 0], [*backs, 0]
        inputs.append(([d - 1] if barriers == 1 else []) + [*range(d, 2 * d)])
        if barriers == 1:
            place, inputs, passes, times, backs = place + [*range(d)], inputs + [[2 * d]] * d, passes + ["F"] * d, times + [t] * d, backs + [0] * d
    held = [1] * d + [0] * (len(place) - d)
    return ppsched.Config(d, microbatches, len(place), placement=[on[0] if isinstance(on, list) and d == 1 else on for on in place],
                          stage_inputs=inputs, stage_passes=passes, forward_times=times, backward_times=backs, mem_forward=held,
                          options={"barriers": str(barriers)} if barriers else {}, **lists)


def named(schedule, devices, barriers, device):
    """A queue in the letters of the captured orders."""
    words = []
    for op in schedule.queues[device]:
        kind = op.kind.name
        if op.stage >= 2 * devices and barriers:
            kind = {"F": "L", "I": None}[kind] if op.stage == 2 * devices else "T"
        elif op.stage >= devices:
            kind = {"F": "S", "B": "T"}[kind]
        words += [f"{kind}{op.microbatch}"] if kind else []
    return words


def simulated(orders, barriers, forward, backward, s, t):
    """The makespan of orders in letters, by looking at everything again and again."""
    last = len(orders) - 1
    ends, at, free = {}, [0] * len(orders), [0.0] * len(orders)
    times = {"S": s, "T": t, "L": 0}

    def needs(device, kind, m):
        if kind == "F":
            return [(device - 1, "F", m)] * (device > 0)
        if kind == "S":
            return [(last, "F", m)]
        if kind == "L":
            return [(d, "S", m) for d in range(last + 1)]
        if kind == "T":
            return [(last, "L", m)] if barriers else [(device, "S", m)]
        after = [(device + 1, "B", m)] if device < last else [(last, "L", m)] if barriers == 1 else [(d, "T", m) for d in range(last + 1)]
        return [(device, "F", m), *after]

    moved = True
    while moved:
        moved = False
        for device, order in enumerate(orders):
            if at[device] == len(order):
                continue
            kind, m = order[at[device]][0], int(order[at[device]][1:])
            together = range(last + 1) if kind in "ST" and not barriers else [device]
            if any(at[d] == len(orders[d]) or orders[d][at[d]] != order[at[device]] for d in together):
                continue
            waits = needs(device, kind, m)
            if not all(wait in ends for wait in waits):
                continue
            start = max([free[d] for d in together] + [ends[wait] for wait in waits])
            end = start + (forward[device] if kind == "F" else backward[device] if kind == "B" else times[kind])
            for d in together:
                ends[d, kind, m], free[d], at[d] = end, end, at[d] + 1
            moved = True
    assert all(at[d] == len(order) for d, order in enumerate(orders)), "a deadlock"
    return max(free)


def answer(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main([*words])
    return code, out.getvalue(), err.getvalue()


class VocabularyTest(unittest.TestCase):
    def test_orders_are_those_of_the_source(self):
        count = 0
        with open(CASES, encoding="utf-8") as file:
            lines = file.readlines()
        for line in lines:
            if line.startswith("#"):
                continue
            name, *sizes = line.split()[:5]
            barriers, devices, microbatches, device = map(int, sizes)
            config = graph_of(devices, barriers, microbatches, [1] * devices, [2] * devices, 0.5, 0.5)
            self.assertEqual(named(ppsched.generate(name, config), devices, barriers, device), line.split()[5:], line[:30])
            count += 1
        self.assertEqual(count, 64)

    def test_any_size_runs_in_the_time_of_a_simulation(self):
        rng = random.Random(3)
        for _ in range(60):
            devices, microbatches, barriers = rng.randint(1, 9), rng.randint(1, 17), rng.randint(0, 2)
            forward, backward = [rng.randint(1, 6) for _ in range(devices)], [rng.randint(1, 9) for _ in range(devices)]
            s, t = rng.randint(0, 4), rng.randint(0, 4)
            config = graph_of(devices, barriers, microbatches, forward, backward, s, t)
            schedule = ppsched.generate("vocab_1f1b" if barriers else "interlaced", config)
            self.assertEqual(schedule.check(), [])
            orders = [named(schedule, devices, barriers, d) for d in range(devices)]
            self.assertEqual(schedule.evaluate().metrics.makespan, simulated(orders, barriers, forward, backward, s, t))

    def test_peaks_are_as_published(self):
        """Microbatches on device 0, where 1F1B holds D: D + 1 and D + 2 of vocab_1f1b, 1.5 D of interlaced. Also without a head."""
        for devices in (2, 4, 8, 16):
            for barriers, most in ((0, devices * 3 // 2), (1, devices + 1), (2, devices + 2)):
                name = "vocab_1f1b" if barriers else "interlaced"
                shared = graph_of(devices, barriers, 3 * devices, [1] * devices, [2] * devices, 0.5, 0.5)
                chain = ppsched.Config(devices, 3 * devices, options={"barriers": str(barriers)} if barriers else {})
                for config in (shared, chain):
                    self.assertEqual(ppsched.generate(name, config).evaluate().device_metrics[0].peak_memory, most)

    def test_plans_share_the_head(self):
        """The head's costs leave the last stage, and each device has a part. Costs are drawn so that none is another's by chance."""
        rng = random.Random(5)
        for _ in range(12):
            devices, microbatches, barriers = rng.randint(2, 5), rng.randint(4, 12), rng.randint(0, 2)
            forward, backward = [rng.randint(2, 6) for _ in range(devices)], [rng.randint(4, 9) for _ in range(devices)]
            head, into, weight = rng.randint(1, 8) * devices, rng.randint(1, 8) * devices, rng.randint(1, 8) * devices
            chain = ppsched.Config(devices, microbatches, forward_times=[*forward[:-1], forward[-1] + head],
                                   backward_times=[*backward[:-1], backward[-1] + into + weight],
                                   backward_input_times=[1] * (devices - 1) + [1 + into], p2p_time=0.5,
                                   options={"barriers": str(barriers)} if barriers else {})
            name = "vocab_1f1b" if barriers else "interlaced"
            costs = {"forward_time": head, "backward_input_time": into, "backward_weight_time": weight}
            plan = ppsched.plan(chain, strategies=[name, "1f1b"], chunks=[1], head=costs)
            found = next(candidate for candidate in plan if candidate.strategy == name)
            s, t = ((head + into) / devices, weight / devices) if barriers == 1 else (head / devices, (into + weight) / devices)
            by_hand = graph_of(devices, barriers, microbatches, forward, backward, s, t, p2p_time=0.5)
            timeline = ppsched.generate(name, by_hand).evaluate()
            self.assertAlmostEqual(found.makespan, timeline.metrics.makespan, 9)
            self.assertEqual(found.peak_memory, timeline.metrics.peak_memory)
            self.assertLessEqual(found.bound, found.makespan * (1 + 1e-9))
            made = plan.schedule(found)
            self.assertEqual((made.stage_inputs, made.stage_devices), (timeline.schedule.stage_inputs, timeline.schedule.stage_devices))

    def test_the_command_shares_the_head(self):
        problem = ["--devices", "4", "-s", "4", "-b", "16", "-f", "1", "1", "1", "3", "-bw", "2", "2", "2", "6"]
        head = ["--head", "forward_time=2", "backward_time=4"]
        _, text, _ = answer("compare", *problem, *head, "--json", "--chunks", "1")
        rows = json.loads(text)
        self.assertEqual((rows[0]["strategy"], rows[0]["step_time"]), ("vocab_1f1b", 81))
        self.assertEqual([row["step_time"] for row in rows if row["strategy"] == "1f1b"], [153])
        for barriers in (1, 2):
            code, text, _ = answer("schedule", "--strategy", "vocab_1f1b", "--set", f"barriers={barriers}", *problem, *head, "--json")
            made = json.loads(text)
            self.assertEqual((code, made["metrics"]["makespan"], made["metrics"]["peak_memory"][0]), (0, 81, 4 + barriers))
        code, _, err = answer("schedule", "--strategy", "1f1b", *problem, *head)
        self.assertEqual((code, err.strip()), (2, "ppsched schedule: --embedding, --head need --chunks"))

    def test_ranks_by_scenarios(self):
        plan = ppsched.plan(ppsched.Config(3, 6, forward_times=[1, 1, 3]), strategies=["interlaced"], chunks=[1], head={"forward_time": 2}, scenarios=40, jitter=0.1)
        own = plan.timeline(plan[0]).schedule.scenarios(40, jitter=0.1)
        self.assertAlmostEqual(plan[0].scenario_time, own.metrics.mean)

    def test_what_cannot_be_is_refused(self):
        other = ppsched.Config(3, 4, 7, placement=[0, 1, 2, 0, 1, 2, 1], stage_inputs=[[], [0], [1], [2], [2], [2], [3, 4, 5]])
        for strategy, config, words in (("vocab_1f1b", other, "needs the graph of 10 stages"), ("interlaced", other, "a chain of D+1 = 4 stages")):
            with self.assertRaisesRegex(ppsched.Error, words.replace("+", r"\+")) as caught:
                ppsched.generate(strategy, config)
            self.assertNotIn("\n", str(caught.exception))
        plan = ppsched.plan(ppsched.Config(3, 6, forward_times=[1, 1, 3]), strategies=["interlaced"], chunks=[1], head={"forward_time": 2}, lowering="pytorch")
        self.assertIn("lowerings other than just_in_time: only for chains", plan[0].reason)
        plan = ppsched.plan(ppsched.Config(3, 6, mem_output=1), strategies=["interlaced"], chunks=[1], head={"forward_time": 1})
        self.assertIn("mem_output", plan[0].reason)


if __name__ == "__main__":
    unittest.main()
