# SPDX-License-Identifier: Apache-2.0
"""Figures without the schedule are those of the schedule."""
import os
import random
import subprocess
import sys
import unittest
from fractions import Fraction
from unittest import mock

import ppsched
from ppsched import SteadyReason
from ppsched._core import chosen

GRID = [0.5, 0.75, 1, 1.25, 2.125]


def figures(made):
    devices = range(made.config.devices)
    return made.metrics, made.device_metrics, made.idle, [made.peak_by_cause(device) for device in devices]


def exact_figures(schedule, times, delay):
    """Makespan, longest span, and the idle time of each device until the makespan, in rational numbers. `times`: F, I and W by stage."""
    devices = range(schedule.devices)
    place = [schedule.device_of(stage) for stage in range(schedule.stages)]
    queues = [[(op.kind.name, op.stage, op.microbatch) for op in queue] for queue in schedule.queues]
    ends, positions, starts = {}, [0] * len(queues), [None] * len(queues)
    clocks, busy = [Fraction(0)] * len(queues), [Fraction(0)] * len(queues)
    while any(positions[device] < len(queues[device]) for device in devices):
        before = list(positions)
        for device in devices:
            while positions[device] < len(queues[device]):
                kind, stage, microbatch = queues[device][positions[device]]
                inputs = [("F", stage, microbatch)] if kind in "BI" else [("I", stage, microbatch)] if kind == "W" else []
                if kind == "F" and stage > 0:
                    inputs.append(("F", stage - 1, microbatch))
                if kind in "BI" and stage + 1 < schedule.stages:
                    inputs.append(("I", stage + 1, microbatch))
                if not all(made in ends for made in inputs):
                    break
                start = max([clocks[device]] + [ends[made] + (delay if place[made[1]] != device else 0) for made in inputs])
                length = times[stage]["I"] + times[stage]["W"] if kind == "B" else times[stage][kind]
                starts[device] = start if starts[device] is None else starts[device]
                clocks[device] = start + length
                busy[device] += length
                ends["I" if kind == "B" else kind, stage, microbatch] = clocks[device]
                positions[device] += 1
        assert positions != before, "the order cannot run"
    return max(clocks), max(clock - start for clock, start in zip(clocks, starts)), [max(clocks) - part for part in busy]


class SteadyTest(unittest.TestCase):
    def test_times_off_the_grid_beside_rational_numbers(self):
        """What the doubles of the config mean exactly: makespan, span and idle times are within 2^-40 of that, with and without the
        schedule."""
        found, drawn, least = 0, random.Random(40), Fraction(1, 1 << 40)
        for strategy in ("1f1b", "eager_1f1b", "interleaved_1f1b", "zb_h1", "zb_h2", "zbv", "gpipe"):
            for trial in range(4):
                devices, chunks = drawn.randint(2, 5), {"interleaved_1f1b": 2, "zbv": 2}.get(strategy, 1)
                stages, microbatches = devices * chunks, drawn.randint(20, 60) * devices
                lists = [[drawn.uniform(0.5, 1.5) if trial % 2 else drawn.randint(4, 12) / 10 for _ in range(stages)] for _ in range(3)]
                delay = drawn.choice([0.0, 0.1, 1 / 3])
                config = ppsched.Config(devices, microbatches, stages=stages, forward_times=lists[0], backward_input_times=lists[1],
                                        backward_weight_times=lists[2], p2p_time=delay)
                schedule, steady = ppsched.generate(strategy, config), ppsched.steady(strategy, config)
                times = [{kind: Fraction(given[stage]) for kind, given in zip("FIW", lists)} for stage in range(stages)]
                makespan, span, idle = exact_figures(schedule, times, Fraction(delay))
                is_found = steady.period.reason == SteadyReason.FOUND
                found += is_found and steady.period.rounding > 0
                for made in (steady, schedule.evaluate()):
                    near = [(made.metrics.makespan, makespan), (made.metrics.span, span)]
                    near += [(made.metrics.makespan - row.busy, own) for row, own in zip(made.device_metrics, idle)]
                    for got, exact in near:
                        self.assertLessEqual(abs(Fraction(got) - exact), least * makespan, (strategy, trial, is_found))
        self.assertGreater(found, 8)

    def test_equal_to_schedules(self):
        found, drawn = 0, random.Random(7)
        for strategy in ("1f1b", "eager_1f1b", "interleaved_1f1b", "zb_h1", "zbv", "dualpipe_v", "gpipe"):
            for _ in range(3):
                devices, chunks = drawn.randint(1, 5), {"interleaved_1f1b": 3, "zbv": 2, "dualpipe_v": 2}.get(strategy, 1)
                stages = devices * chunks
                lists = {name: [drawn.choice(GRID) for _ in range(stages)]
                         for name in ("forward_times", "backward_input_times", "backward_weight_times", "mem_forward", "mem_static")}
                config = ppsched.Config(devices=devices, microbatches=drawn.randint(1, 40) * devices, stages=stages,
                                        p2p_time=drawn.choice([0, 0.125]), mem_limit=drawn.choice([4, 400]), **lists)
                steady = ppsched.steady(strategy, config)
                found += steady.period.reason == SteadyReason.FOUND
                self.assertEqual(figures(steady), figures(ppsched.generate(strategy, config).evaluate()), (strategy, config))
        self.assertGreater(found, 8)

    def test_many_microbatches(self):
        devices, microbatches = 16, 1 << 20  # far too many ops for a schedule
        steady = ppsched.steady("1f1b", ppsched.Config(devices=devices, microbatches=microbatches, forward_times=1, backward_times=2))
        self.assertEqual(steady.metrics.makespan, 3 * (microbatches + devices - 1))
        period = steady.period
        self.assertEqual((period.reason, period.block, period.blocks, period.cycle_time, period.rounding), (SteadyReason.FOUND, 1, 1, 3, 0))
        self.assertLess(period.timed, 200)
        self.assertEqual([row.peak_memory for row in steady.device_metrics], list(range(devices, 0, -1)))
        self.assertEqual(repr(steady), "<ppsched.Steady: makespan 3.14577e+06, span 3.14577e+06, peak memory 16, 3 a microbatch>")

    @unittest.skipUnless(os.path.exists("/proc/self/status"), "the most memory of a process is read from /proc")
    def test_memory(self):
        """Few microbatches are timed, in less than 4 MB on top of what the process has."""
        words = ("import re, ppsched\n"
                 "def size(): return int(re.search(r'VmHWM:\\s*(\\d+) kB', open('/proc/self/status').read())[1])\n"
                 "ppsched.steady('1f1b', ppsched.Config(2, 4))\n"
                 "before = size()\n"
                 "ppsched.steady('interleaved_1f1b', ppsched.Config(64, 65536, 128))\n"
                 "print(size() - before)")
        result = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=True)
        self.assertLess(int(result.stdout), 4096)

    def test_reasons(self):
        for reason, strategy, config in (
                (SteadyReason.SHORT, "1f1b", ppsched.Config(4, 8)), (SteadyReason.ORDER, "auto", ppsched.Config(2, 4)),
                (SteadyReason.COSTS, "1f1b", ppsched.Config(2, 40, microbatch_scale=[1, 2] * 20))):
            steady = ppsched.steady(strategy, config)
            self.assertEqual((steady.period.reason, steady.period.time), (reason, 0))
            self.assertEqual(figures(steady), figures(ppsched.generate(strategy, config).evaluate()))
            self.assertIn(f"no period ({reason.name})", repr(steady))

    def test_progress(self):
        shares = []
        ppsched.steady("auto", ppsched.Config(3, 6), progress=lambda share, best: shares.append(share))
        self.assertEqual(shares[-1], 1)
        with self.assertRaises(ppsched.Cancelled):
            ppsched.steady("auto", ppsched.Config(3, 6), progress=lambda share, best: False)

    def test_a_plan_uses_them_for_rules_alone(self):
        """Of a search they would be a second search."""
        config = ppsched.Config(3, 40)
        with mock.patch.object(chosen, "LONG", 1), mock.patch.object(chosen, "steady", wraps=ppsched.steady) as asked:
            for strategy, times in (("1f1b", 1), ("auto", 0)):
                plan = ppsched.plan(config, strategies=[strategy], chunks=[1])
                row = chosen.Chosen(plan, [plan.best], [], (0, 1)).row(plan.best, None)
                self.assertEqual((asked.call_count, row["strategy"], len(row["peak_memory_by_device"])), (times, strategy, 3))
                asked.reset_mock()

    def test_wrong_use(self):
        with self.assertRaisesRegex(ppsched.Error, "did you mean gpipe"):
            ppsched.steady("gpip", ppsched.Config(2, 2))
        with self.assertRaises(ppsched.Refused):
            ppsched.steady("zbv", ppsched.Config(2, 2, 2))
        with self.assertRaisesRegex(ppsched.Error, "must be a ppsched.Config"):
            ppsched.steady("1f1b", None)
        steady = ppsched.steady("1f1b", ppsched.Config(2, 2))
        for device in (-1, 2):
            with self.assertRaisesRegex(IndexError, f"there is no device {device}"):
                steady.peak_by_cause(device)


if __name__ == "__main__":
    unittest.main()
