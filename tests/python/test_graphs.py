# SPDX-License-Identifier: Apache-2.0
"""Stage graphs and stages on several devices: an event simulation and a search of all orders that share nothing with the library."""
import contextlib
import io
import itertools
import json
import math
import os
import random
import re
import runpy
import sys
import tempfile
import time
import unittest
import unittest.mock

import ppsched
from ppsched.command import cli


class Problem:
    """A random problem in plain lists."""

    def __init__(self, rng, most_devices=4, most_stages=6, most_microbatches=3, split=None, sizes=None):
        self.devices = rng.randint(1, most_devices)
        self.stages, self.microbatches = sizes or (rng.randint(1, most_stages), rng.randint(1, most_microbatches))
        self.split = rng.random() < 0.4 if split is None else split
        self.place = [sorted(rng.sample(range(self.devices), rng.choice([1, 1, 1, rng.randint(1, self.devices)]))) for _ in range(self.stages)]
        self.inputs = [sorted(rng.sample(range(s), rng.randint(0, min(s, 2)))) if rng.random() < 0.6 else [s - 1] * (s > 0) for s in range(self.stages)]
        self.passes = [rng.choice(["FB", "FB", "FB", "FI", "F"]) for _ in range(self.stages)]
        self.runs = [None if rng.random() < 0.8 else sorted(rng.sample(range(self.microbatches), rng.randint(1, self.microbatches))) for _ in range(self.stages)]
        self.forward = [rng.randint(1, 4) for _ in range(self.stages)]
        self.input = [rng.randint(0, 3) for _ in range(self.stages)]
        self.weight = [rng.randint(1, 3) for _ in range(self.stages)]
        self.memory = [rng.randint(0, 3) for _ in range(self.stages)]
        self.latency = rng.choice([0, 0, 0.5, 1.25])
        self.limit = None

    def arguments(self):
        """Those of ppsched.Config."""
        limit = {} if self.limit is None else {"mem_limit": self.limit}
        return {"devices": self.devices, "microbatches": self.microbatches, "stages": self.stages,
                "placement": [own if len(own) > 1 else own[0] for own in self.place], "stage_inputs": self.inputs, "stage_passes": self.passes,
                "stage_microbatches": self.runs, "split_backward": self.split, "forward_times": self.forward,
                "backward_times": [a + b for a, b in zip(self.input, self.weight)], "backward_input_times": self.input,
                "mem_forward": self.memory, "mem_backward_input": [-0.5 * held for held in self.memory], "p2p_time": self.latency, **limit}

    def config(self):
        return ppsched.Config(**self.arguments())

    def has_graph(self):
        return self.inputs != [[s - 1] * (s > 0) for s in range(self.stages)] or any(len(own) > 1 for own in self.place)

    def does(self, stage, microbatch):
        return self.runs[stage] is None or microbatch in self.runs[stage]

    def ops(self, split):
        for m, s in itertools.product(range(self.microbatches), range(self.stages)):
            if self.does(s, m):
                yield "F", s, m
                if self.passes[s] == "FI":
                    yield "I", s, m
                elif self.passes[s] == "FB":
                    yield from [("I", s, m), ("W", s, m)] if split else [("B", s, m)]

    def time(self, op):
        kind, s, _ = op
        return {"F": self.forward[s], "B": self.input[s] + self.weight[s], "I": self.input[s], "W": self.weight[s]}[kind]

    def needs(self, op, ops):
        """What an op waits for."""
        kind, s, m = op
        if kind == "F":
            found = [("F", i, m) for i in self.inputs[s]]
        elif kind == "W":
            found = [("I", s, m)]
        else:
            found = [("F", s, m)] + [(back, c, m) for c in range(self.stages) if s in self.inputs[c] for back in "BI"]
        return [need for need in found if need in ops]

    def arrives(self, need, op, end):
        """When what an op needs is on all its devices."""
        if need[1] == op[1]:
            return end
        return max(end + (self.latency if x != y else 0) for x in self.place[need[1]] for y in self.place[op[1]])

    def change(self, op):
        """Memory before and after an op, as it changes."""
        kind, s, _ = op
        if kind == "F":
            return self.memory[s], -self.memory[s] if self.passes[s] == "F" else 0
        whole = kind == "B" or self.passes[s] == "FI"
        return 0, -self.memory[s] if whole else -0.5 * self.memory[s]

    def simulate(self, queues):
        """Starts and ends of a complete set of queues: looks at everything again and again; None if it stops before the end."""
        ops = {op for queue in queues for op in queue}
        at, free, times = [0] * self.devices, [0.0] * self.devices, {}
        moved = True
        while moved:
            moved = False
            for op in sorted(ops - set(times)):
                own = self.place[op[1]]
                if any(at[d] == len(queues[d]) or queues[d][at[d]] != op for d in own):
                    continue
                needs = self.needs(op, ops)
                if all(need in times for need in needs):
                    start = max([free[d] for d in own] + [self.arrives(need, op, times[need][1]) for need in needs])
                    times[op] = start, start + self.time(op)
                    for d in own:
                        at[d], free[d] = at[d] + 1, times[op][1]
                    moved = True
        return times if len(times) == len(ops) else None

    def peak(self, queue):
        level = peak = 0.0
        for op in queue:
            before, after = self.change(op)
            peak = max(peak, level + before)
            level += before + after
        return peak

    def random_queues(self, rng, split):
        """Queues of an order in which all ops could run."""
        ops, queues, done = set(self.ops(split)), [[] for _ in range(self.devices)], set()
        while len(done) < len(ops):
            op = rng.choice(sorted(op for op in ops - done if all(need in done for need in self.needs(op, ops))))
            done.add(op)
            for d in self.place[op[1]]:
                queues[d].append(op)
        return queues

    def least(self, split, best):
        """The least makespan of all orders below `best`, by trying them."""
        ops = sorted(self.ops(split))
        every, ends, free, level = set(ops), {}, [0.0] * self.devices, [0.0] * self.devices
        needs = {op: self.needs(op, every) for op in ops}
        limit = float("inf") if self.limit is None else self.limit
        tails = {}

        def tail(op):
            if op not in tails:
                tails[op] = max([tail(after) + self.time(after) for after in ops if op in needs[after]], default=0)
            return tails[op]

        def go(since):
            nonlocal best
            if len(ends) == len(ops):
                best = min(best, max(ends.values()))
                return
            left = [op for op in ops if op not in ends]
            for d in range(self.devices):
                if free[d] + sum(self.time(op) for op in left if d in self.place[op[1]]) >= best:
                    return
            for op in left:
                own = self.place[op[1]]
                before, after = self.change(op)
                if any(need not in ends for need in needs[op]) or (before > 0 and any(level[d] + before > limit for d in own)):
                    continue
                start = max([free[d] for d in own] + [self.arrives(need, op, ends[need]) for need in needs[op]])
                if start < since or start + self.time(op) + tail(op) >= best:
                    continue
                held = [(free[d], level[d]) for d in own]
                ends[op] = start + self.time(op)
                for d in own:
                    free[d], level[d] = ends[op], level[d] + before + after
                go(start)
                del ends[op]
                for d, (clock, memory) in zip(own, held):
                    free[d], level[d] = clock, memory

        go(0.0)
        return best


def token(op):
    return f"{op[1]}{op[0]}{op[2]}"


class GraphTest(unittest.TestCase):
    def test_times_and_memory_are_those_of_a_simulation(self):
        rng = random.Random(int(os.environ.get("PPSCHED_GRAPH_SEED", "1")))
        for _ in range(int(os.environ.get("PPSCHED_GRAPHS", "150"))):
            problem = Problem(rng)
            split = problem.split and rng.random() < 0.7
            queues = problem.random_queues(rng, split)
            config = problem.config()
            schedule = ppsched.Schedule.from_queues(config, [[token(op) for op in queue] for queue in queues])
            self.assertEqual(schedule.check(), [])
            timeline = schedule.evaluate(config)
            times = problem.simulate(queues)
            for d, queue in enumerate(queues):
                self.assertEqual([(span.start, span.end) for span in timeline.spans[d]], [times[op] for op in queue])
                self.assertEqual(timeline.device_metrics[d].peak_memory, problem.peak(queue) + 0.0)
                self.assertEqual(max([point.memory for point in timeline.memory(d)], default=0), problem.peak(queue))
            makespan = max([end for _, end in times.values()])
            self.assertEqual(timeline.metrics.makespan, makespan)
            slack = [own for device in timeline.slack for own in device]
            self.assertTrue(all(own >= -1e-9 for own in slack) and min(slack) == 0)
            path = timeline.critical_path
            self.assertEqual((path[0].start, path[-1].end), (0, makespan))
            again = ppsched.Schedule.from_text(timeline.export("json"), "json")
            self.assertEqual([list(queue) for queue in again.queues], [list(queue) for queue in schedule.queues])
            self.assertEqual((again.stage_devices, again.stage_inputs, again.check()), (schedule.stage_devices, schedule.stage_inputs, []))

    def test_scenarios_are_those_of_a_simulation(self):
        """Factors of devices, stages and links by scenario."""
        rng = random.Random(8)
        linked = 0
        for _ in range(80):
            problem = Problem(rng)
            split = problem.split and rng.random() < 0.7
            queues = problem.random_queues(rng, split)
            schedule = ppsched.Schedule.from_queues(problem.config(), [[token(op) for op in queue] for queue in queues])
            rows = [[rng.choice([0.5, 1, 1, 2]) for _ in range(problem.devices)] for _ in range(3)]
            stages = [rng.choice([1, 1, 1.5]) for _ in range(problem.stages)]
            links = [[rng.choice([1, 2]) for _ in range(problem.devices)] for _ in range(problem.devices)]
            links = links if all(len(own) == 1 for own in problem.place) else None
            linked += links is not None
            made = schedule.scenarios(3, device_factors=rows, stage_factors=stages, **({} if links is None else {"link_factors": links}))
            time, latency = problem.time, problem.latency
            for row, makespan in zip(rows, made.makespans):
                problem.time = lambda op, row=row: time(op) * max(row[d] for d in problem.place[op[1]]) * stages[op[1]]
                if links is not None:
                    problem.arrives = lambda need, op, end: end + (latency * links[problem.place[need[1]][0]][problem.place[op[1]][0]]
                                                                   if problem.place[need[1]] != problem.place[op[1]] else 0)
                self.assertAlmostEqual(makespan, max(end for _, end in problem.simulate(queues).values()))
        self.assertGreater(linked, 10)

    def test_jitter_is_that_of_a_chain(self):
        """A chain, and the same with a stage that takes no time and feeds none."""
        costs = {"forward_times": [1, 2, 1, 1.5], "backward_times": [2, 4, 2, 3], "p2p_time": 0.3, "split_backward": False}
        chain = ppsched.generate("1f1b", ppsched.Config(4, 8, **costs))
        graph = ppsched.Config(4, 8, 5, placement=[0, 1, 2, 3, 0], stage_inputs=[[], [0], [1], [2], []], stage_passes=["FB"] * 4 + ["F"],
                               **{**costs, "forward_times": [1, 2, 1, 1.5, 0], "backward_times": [2, 4, 2, 3, 0]})
        queues = [[str(op) for op in queue] for queue in chain.queues]
        queues[0] += [f"4F{m}" for m in range(8)]
        schedule = ppsched.Schedule.from_queues(graph, queues)
        own, other = (one.scenarios(64, seed=5, jitter=0.2, message_jitter=0.3) for one in (chain, schedule))
        self.assertEqual(list(own.makespans), list(other.makespans))

    def test_what_scenarios_of_graphs_cannot_do_is_told(self):
        config = ppsched.Config(2, 2, 3, placement=[[0, 1], 0, 1], device_speeds=[1, 0.5])
        schedule = ppsched.generate("auto", config)
        for words, part in (({"dispatch": "ready"}, "dispatch ready: only for chains"), ({"link_factors": [[1, 1], [1, 1]]}, "link_factors: only if each stage"),
                            ({"device_factors": [1, 2]}, "device_factors with device_speeds")):
            with self.assertRaises(ppsched.Error) as caught:
                schedule.scenarios(4, **words)
            self.assertIn(part, str(caught.exception))

    def test_factors_of_devices_that_share_a_stage_and_differ(self):
        """An op of several devices lasts as long as on the slowest, which may be another one with the factors."""
        for words in ({"device_speeds": [1, 0.5]}, {"device_scale": [1, 2] * 4}, {"stage_scale": [1, 2] * 12}, {"device_overhead": [0, 4]}):
            config = ppsched.Config(2, 2, 3, placement=[[0, 1], 0, 1], **words)
            with self.assertRaises(ppsched.Refused) as caught:
                ppsched.generate("auto", config).scenarios(1, device_factors=[2, 1])
            self.assertIn(next(iter(words)), str(caught.exception))

    def test_what_stops_is_told(self):
        """Queues in any order: the check finds something if and only if the simulation stops."""
        rng = random.Random(5)
        stopped = 0
        for _ in range(150):
            problem = Problem(rng)
            queues = problem.random_queues(rng, False)
            for queue in queues:
                for _ in range(rng.randint(0, 2)):
                    if len(queue) > 1:
                        i = rng.randrange(len(queue) - 1)
                        queue[i], queue[i + 1] = queue[i + 1], queue[i]
            schedule = ppsched.Schedule.from_queues(problem.config(), [[token(op) for op in queue] for queue in queues])
            stops = problem.simulate(queues) is None
            self.assertEqual(bool(schedule.check()), stops)
            stopped += stops
            if stops:
                with self.assertRaises(ppsched.Error):
                    schedule.evaluate()
        self.assertGreater(stopped, 20)

    def test_auto_finds_the_best_of_all_orders(self):
        rng = random.Random(int(os.environ.get("PPSCHED_GRAPH_SEED", "2")))
        rounds, most, figures = int(os.environ.get("PPSCHED_GRAPH_OPTIMA", "40")), int(os.environ.get("PPSCHED_GRAPH_OPS", "10")), {}
        sizes = [(2, 2), (3, 1), (3, 2), (2, 3), (4, 1)] + ([(5, 1), (6, 1), (7, 1), (4, 2), (3, 3), (2, 4), (2, 5)] if most > 10 else [])
        for _ in range(rounds):
            problem = Problem(rng, 3, sizes=rng.choice(sizes))
            if len(list(problem.ops(problem.split))) > most:
                problem.split = False
            if most > 10 and not 1 < len(list(problem.ops(problem.split))) <= most:
                continue
            if rng.random() < 0.5:
                problem.limit = max(problem.peak(queue) for queue in problem.random_queues(rng, False))
            config = problem.config()
            own = figures.setdefault(len(list(problem.ops(problem.split))), [0, 0, 0.0, 0.0])
            began = time.perf_counter()
            try:
                found = ppsched.generate("auto", config)
            except ppsched.Error:
                self.assertEqual(problem.least(problem.split, 1e9), 1e9)
                continue
            finally:
                own[3] = max(own[3], time.perf_counter() - began)
            timeline = found.evaluate()
            made = timeline.metrics.makespan
            self.assertEqual(found.check(), [])
            if problem.limit is not None:
                self.assertLessEqual(timeline.metrics.peak_memory, problem.limit)
            best = problem.least(problem.split, made)
            if problem.split:
                best = problem.least(False, best)
            bound = ppsched.lower_bound(config, "makespan")
            self.assertLessEqual(bound.value, best * (1 + 1e-9))
            self.assertLessEqual(bound.least_limit, problem.limit if problem.limit is not None else timeline.metrics.peak_memory)
            own[0] += 1
            own[1] += best < made * (1 - 1e-9)
            own[2] += made / best - 1 if best > 0 else 0
        if "PPSCHED_GRAPH_OPTIMA" in os.environ:
            for ops, (count, worse, distance, seconds) in sorted(figures.items()):
                print(f"# {ops} ops: {count} problems, {worse} above the optimum, {distance / max(count, 1):.3%} on average, at most {seconds:.3f} s")
        self.assertLessEqual(sum(own[1] for own in figures.values()), sum(own[0] for own in figures.values()) / 100)


def answer(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.main([*words])
    return code, out.getvalue(), err.getvalue()


A = [0, 1, 2, 3]
KSHAPE = {"num_devices": 4, "num_stages": 5, "num_batches": 3, "placement": [0, 1, 2, 3, A], "stage_inputs": [[], [0], [], [2], [1, 3]],
          "mem_limit": 6, "split_backward": False, "forward_times": 1, "backward_times": [3, 3, 3, 3, 1], "mem_forward": 1}
CHAIN = {"num_devices": 4, "num_batches": 6, "placement": [A, 0, 1, 2, 3], "num_stages": 5, "mem_limit": 6, "split_backward": False,
         "forward_times": 1, "mem_forward": [0, 1, 1, 1, 1]}


ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")


class StaticMemoryTest(unittest.TestCase):
    def test_period_is_that_of_many_iterations(self):
        """The time of an iteration in the long run, from a simulation of many in a row."""
        rng = random.Random(int(os.environ.get("PPSCHED_GRAPH_SEED", "5")))
        longer = 0
        for _ in range(int(os.environ.get("PPSCHED_GRAPH_PERIODS", "25"))):
            problem = Problem(rng, most_devices=3, most_stages=4, most_microbatches=2)
            queues = problem.random_queues(rng, problem.split and rng.random() < 0.7)
            schedule = ppsched.Schedule.from_queues(problem.config(), [[token(op) for op in queue] for queue in queues])
            period = schedule.period(problem.config())
            ends = []
            for count in (12, 24):  # both multiples of cycles through 1, 2 or 3 devices
                repeated = [[(kind, s, m + i * problem.microbatches) for i in range(count) for kind, s, m in queue] for queue in queues]
                ends.append(max(end for _, end in problem.simulate(repeated).values()))
            self.assertAlmostEqual(period, (ends[1] - ends[0]) / 12, msg=repr(problem.arguments()))
            longer += period > max((sum(problem.time(op) for op in queue) for queue in queues), default=0)
        self.assertGreater(longer, 3)

    def test_throughput_is_the_largest_of_all_orders(self):
        rng = random.Random(int(os.environ.get("PPSCHED_GRAPH_SEED", "2")))
        wanted, done, gained = int(os.environ.get("PPSCHED_GRAPH_PERIODS", "12")), 0, 0
        while done < wanted:
            problem = Problem(rng, most_devices=3, most_stages=5, most_microbatches=2)
            problem.passes = ["F"] * problem.stages
            own = [[op for op in problem.ops(False) if d in problem.place[op[1]]] for d in range(problem.devices)]
            config = problem.config()
            if math.prod(math.factorial(len(ops)) for ops in own) > 3000 or not all(own) or not problem.has_graph():
                continue
            best = float("inf")
            for queues in itertools.product(*map(itertools.permutations, own)):
                if problem.simulate(queues) is not None:
                    best = min(best, ppsched.Schedule.from_queues(config, [list(map(token, queue)) for queue in queues]).period(config))
            made = ppsched.generate("auto", config.replace(options={"objective": "throughput"}))
            self.assertAlmostEqual(made.period(config), best, msg=repr(problem.arguments()))
            gained += ppsched.generate("auto", config).period(config) > best * (1 + 1e-9)
            done += 1
        self.assertGreater(gained, 0)

    def test_throughput_where_one_move_does_not_help(self):
        """Stage 2 must come first and stage 3 before stage 1; each alone is not better."""
        config = ppsched.Config(3, 1, stages=4, placement=[[0, 1, 2], 0, 2, [0, 1]], stage_inputs=[[], [0], [], [2]], stage_passes=["F"] * 4,
                                forward_times=[3, 3, 2, 2], p2p_time=1.25, options={"objective": "throughput"})
        self.assertEqual(ppsched.generate("auto", config).period(config), 8)

    def test_static_memory_above_a_limit_is_refused(self):
        """Also where no op holds anything."""
        def makespan(**memory):
            config = ppsched.Config(2, 2, 3, placement=[0, 1, 1], stage_inputs=[[], [0], [0]], mem_forward=0, **memory)
            return ppsched.generate("auto", config).evaluate(config).metrics.makespan

        self.assertEqual(makespan(mem_static=10, mem_limit=20), makespan())
        for memory in ({"mem_static": 10, "mem_limit": 19}, {"mem_other": [0, 5], "mem_limit": [4, 4]}, {"mem_other": [5, 0], "mem_limit": [4, 9]}):
            with self.assertRaisesRegex(ppsched.Refused, "found no schedule within the memory limit; no limit below (20|5) works"):
                makespan(**memory)


class PageTest(unittest.TestCase):
    def test_tower_takes_what_the_page_says(self):
        with open(os.path.join(ROOT, "docs", "graphs.md"), encoding="utf-8") as file:
            page = file.read()
        out = io.StringIO()
        with contextlib.redirect_stdout(out), unittest.mock.patch.object(sys, "argv", ["vision_tower.py"]):
            runpy.run_path(os.path.join(ROOT, "docs", "examples", "vision_tower.py"), run_name="__main__")
        self.assertEqual(len(out.getvalue().splitlines()), 3)
        self.assertIn(out.getvalue(), page)

    def test_named_schedules_take_what_the_page_says(self):
        """Chimera and waves: orders that auto finds for placements."""
        with open(os.path.join(ROOT, "docs", "strategies.md"), encoding="utf-8") as file:
            commands = re.findall(r"^\| .*`ppsched (schedule --strategy auto [^`]*)` \| (\d+)", file.read(), flags=re.M)
        self.assertEqual(len(commands), 2)
        for words, made in commands:
            code, text, _ = answer(*words.split(), "--json", "--quiet")
            self.assertEqual((code, json.loads(text)["metrics"]["makespan"]), (0, int(made)), words)


class CommandTest(unittest.TestCase):
    """Tessel's cases, whose best known values come from its solver and from models made by hand."""

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def config(self, values):
        path = os.path.join(self.folder.name, "problem.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(values, file)
        return path

    def row(self, *words):
        code, text, err = answer(*words, "--json", "--quiet")
        self.assertEqual((code, err), (0, ""))
        return json.loads(text)

    def test_throughput_is_told(self):
        stages = {"num_devices": 2, "num_stages": 3, "num_batches": 2, "placement": [0, 1, 0], "stage_inputs": [[], [], [0, 1]]}
        forwards = self.config({**stages, "stage_passes": ["F"] * 3})
        code, text, _ = answer("schedule", "--strategy", "auto", "-c", forwards, "--quiet", "--objective", "throughput", "--json")
        self.assertEqual((code, json.loads(text)["throughput"]), (0, 0.5))
        self.assertIn("throughput 0.5 requests", answer("schedule", "--strategy", "auto", "-c", forwards, "--quiet", "--objective", "throughput")[1])
        for path, objective, told in ((self.config(stages), "throughput", "is for forwards alone"), (forwards, "span", "only for chains")):
            code, _, err = answer("schedule", "--strategy", "auto", "-c", path, "--quiet", "--objective", objective)
            self.assertEqual((code, len(err.strip().splitlines())), (1, 1))
            self.assertIn(told, err)

    def test_bound_and_proof_are_told(self):
        path = self.config(KSHAPE)
        made = self.row("schedule", "--strategy", "auto", "-c", path)
        self.assertEqual((made["metrics"]["makespan"], made["bound"], made["proved"]), (22, 22, True))
        self.assertTrue(answer("schedule", "--strategy", "auto", "-c", path, "--quiet")[1].endswith("\nbound 22, proved\n"))
        both = ["schedule", "--strategy", "auto", *"--placement bidirectional -s 4 --devices 4 -b 6 -f 1 -bw 3 --whole-backwards --mem-limit 4".split()]
        made = self.row(*both)
        self.assertLessEqual(made["metrics"]["makespan"], 30)
        self.assertEqual((made["bound"], made["proved"]), (28, False))
        self.assertIn("\nbound 28, ", answer(*both, "--quiet")[1])
        self.assertNotIn("bound", answer("schedule", "--strategy", "auto", "--devices", "2", "-b", "3", "--quiet")[1])

    def test_cases_of_tessel(self):
        for values, most, least in (({**CHAIN, "backward_times": [1, 3, 3, 3, 3]}, 48, 40),
                                    ({**CHAIN, "backward_times": 2, "stage_passes": ["F", "FB", "FB", "FB", "FB"]}, 33, 30)):
            made = self.row("schedule", "--strategy", "auto", "--set", "effort=3", "-c", self.config(values))
            self.assertLessEqual(made["metrics"]["makespan"], most)
            self.assertEqual((made["bound"], made["proved"]), (least, False))

    def test_plans_rank_what_runs_on_a_graph(self):
        path = self.config(KSHAPE)
        (compared,) = self.row("compare", "-c", path)
        (picked,) = self.row("pick", "-c", path)
        for found in (compared, picked):
            self.assertEqual((found["strategy"], found["step_time"], found["bound"], found["proved"]), ("auto", 22, 22, True))
        transfers = 3 * (2 * 2 + 2 * 2 * 3)  # of each microbatch: 0 to 1 and 2 to 3, then from 1 and 3 to three others each; and back
        self.assertEqual(compared["transfers"], transfers)
        self.assertEqual(picked["runs_on"], [])
        self.assertEqual(self.row(*picked["command"].split()[1:])["metrics"]["makespan"], 22)

    def test_plans_over_scenarios(self):
        """Candidates have the time over the scenarios of their schedules."""
        path = self.config(KSHAPE)
        words = ["--jitter", "0.2", "--scenarios", "50", "--slow-rank", "1:1.5"]
        (picked,) = self.row("pick", "-c", path, *words)
        made = self.row("schedule", "--strategy", "auto", "-c", path, *words)
        self.assertAlmostEqual(picked["scenario_time"], made["scenarios"]["mean"])
        self.assertGreater(picked["scenario_time"], picked["step_time"])

    def test_what_graphs_cannot_do_is_told(self):
        """One line each, that says what would work or that chains alone can."""
        path = self.config(KSHAPE)
        for words, told in ((["--lower", "by_time"], "only for chains"), (["--jitter", "0.1", "--scenarios", "4", "--dispatch"], "only for chains"),
                            (["--launch", "torchtitan"], "only for chains"), (["--format", "csv"], "use json"),
                            (["--format", "chakra", "-o", os.path.join(self.folder.name, "x")], "these stages form a graph; give --format json"),
                            (["--sender-waits", "like_kind"], "only for chains")):
            code, _, err = answer("schedule", "--strategy", "auto", "-c", path, "--quiet", *words)
            self.assertNotEqual(code, 0, words)
            self.assertEqual(len(err.strip().splitlines()), 1, err)
            self.assertIn(told, err)
        code, text, err = answer("schedule", "--strategy", "auto", "-c", path, "--link")
        self.assertEqual((code, text, len(err.splitlines())), (1, "", 1))
        self.assertIn("the page supports only chains", err)

    def test_what_plans_cannot_do_is_told(self):
        path = self.config(KSHAPE)
        for words, told in ((["--lower", "by_time"], "lowerings other than just_in_time: only for chains"), (["--chunks", "2"], "a placement map"),
                            (["--jitter", "0.1", "--scenarios", "4", "--dispatch"], "dispatch ready: only for chains")):
            code, _, err = answer("compare", "-c", path, "--quiet", *words)
            self.assertNotEqual(code, 0)
            self.assertIn(told, err)
            self.assertEqual(len(err.strip().splitlines()), 1, err)


if __name__ == "__main__":
    unittest.main()
