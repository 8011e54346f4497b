# SPDX-License-Identifier: Apache-2.0
"""Plans in Python, and the compare and pick commands."""
import copy
import gc
import json
import math
import os
import pathlib
import pickle
import random
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

from in_process import run_command

import ppsched
from ppsched._core.config import QUANTITIES
from ppsched.page.report import report_data
from ppsched.published import INTERLEAVED, TABLE_5, TABLE_8, bubble_by_wrap_around


EXAMPLES = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "examples"


def run(*words):
    return run_command(words)


def problem(profile):
    return ppsched.Config(profile.devices, profile.microbatches, forward_times=profile.forward,
                          backward_input_times=profile.backward_input, backward_weight_times=profile.backward_weight,
                          p2p_time=profile.p2p, mem_forward=profile.memory[0], mem_backward_weight=profile.memory[1])


class PlanTest(unittest.TestCase):
    def test_every_quantity_in_other_numbers_of_stages(self):
        others = {"backward_times": 1, "mem_forward": 1, "mem_backward_input": -0.5, "mem_backward_weight": -1, "sharding_slowdown": 1, "copy_slowdown": 1, "layer_types": 1}
        values = {name: others.get(name, 0.5) for name in QUANTITIES
                  if name != "backward_input_share"}  # which tells I and W, and these are given
        plan = ppsched.plan(ppsched.Config(4, 8, 8, **values), strategies=["interleaved_1f1b"], chunks=[1, 2])
        self.assertEqual({candidate.chunks for candidate in plan.listed}, {1, 2})
        for candidate in plan.listed:
            config = plan.config_of(candidate)
            self.assertEqual([name for name in QUANTITIES if getattr(config, name)], list(values))

    def test_ranks_and_timelines(self):
        config = ppsched.Config(4, 8, p2p_time=0.1, mem_limit=6)
        plan = ppsched.plan(config)
        self.assertIs(plan.best, plan[0])
        self.assertEqual([candidate.rank for candidate in plan], list(range(len(plan))))
        fitting = [candidate for candidate in plan if candidate.fits]
        for before, after in zip(fitting, fitting[1:]):  # but for what rounding leaves
            self.assertLessEqual(before.step_time, after.step_time * (1 + 1e-11))
        for candidate in plan[:6]:
            timeline = plan.timeline(candidate)
            self.assertEqual(timeline.metrics.makespan, candidate.makespan)
            self.assertEqual(timeline.metrics.peak_memory, candidate.peak_memory)
            self.assertEqual(timeline.schedule.stages, candidate.stages)
            self.assertEqual(timeline.schedule.config.forward_times[:1] or [1.0], [1 / candidate.chunks])
            self.assertAlmostEqual(sum(timeline.idle[0]), timeline.device_metrics[0].idle)
            self.assertEqual(timeline.schedule.check(), [])

    def test_numbers_and_ranks(self):
        """By rank a plan is sorted; by number it has the order in which its candidates were listed, whatever they cost."""
        config = ppsched.Config(4, 8, mem_limit=3)
        plan = ppsched.plan(config, strategies=["gpipe", "1f1b", "zb_h1"], memory_limits=[3, 8], chunks=1)
        self.assertEqual([(candidate.memory_limit, candidate.strategy) for candidate in plan.listed],
                         [(limit, name) for name in ("gpipe", "1f1b", "zb_h1") for limit in (3, 8)])
        self.assertEqual([candidate.number for candidate in plan.listed], list(range(6)))
        self.assertEqual([candidate.rank for candidate in plan], list(range(6)))
        self.assertNotEqual([candidate.number for candidate in plan], list(range(6)))
        self.assertEqual(sorted(plan, key=lambda candidate: candidate.number), plan.listed)
        for candidate in plan.listed:
            self.assertIs(plan[candidate.rank], candidate)
            self.assertEqual(plan.timeline(candidate).metrics.makespan, candidate.makespan)
            self.assertEqual(plan.config_of(candidate).mem_limit, [candidate.memory_limit])
        tight = ppsched.plan(config, strategies=["gpipe", "1f1b"], memory_limits=[1, 2], chunks=1)
        self.assertIsNone(tight.best)
        self.assertEqual((tight.least_limit().limit, tight.least_limit().candidate.strategy), (4, "1f1b"))

    def test_limits_of_candidates(self):
        """Each tells the limit that it was planned under, None where there is none, and by how much its device is over it."""
        self.assertEqual({candidate.memory_limit for candidate in ppsched.plan(ppsched.Config(4, 9))}, {None})
        plan = ppsched.plan(ppsched.Config(4, 9, mem_limit=3), strategies=["1f1b", "gpipe"])
        self.assertEqual({candidate.memory_limit for candidate in plan}, {3})
        self.assertEqual([(c.strategy, c.status, c.overshoot, c.reason) for c in plan], [
            ("1f1b", "over limit", 1, "device 0 is over its limit; the largest overshoot of a device is 1"),
            ("gpipe", "over limit", 6, "device 0 is over its limit; the largest overshoot of a device is 6")])
        plan = ppsched.plan(ppsched.Config(4, 9, mem_limit=[9, 9, 1, 9]), strategies=["1f1b"])  # the most is held by device 0
        self.assertEqual(plan[0].reason, "device 2 is over its limit; the largest overshoot of a device is 1")
        self.assertEqual({candidate.chunks for candidate in ppsched.plan(ppsched.Config(2, 4, 2), strategies=["looped_bfs"])}, {1, 2, 3, 4})

    def test_iterations_are_timed_as_all_of_them(self):
        draw = random.Random(3)
        for _ in range(40):
            devices, chunks, iterations = draw.randint(2, 6), draw.randint(1, 2), draw.randint(2, 5)
            stages, objective = devices * chunks, draw.choice(["span", "makespan"])
            sizes = {"forward_times": [draw.uniform(0.5, 2) for _ in range(stages)], "p2p_time": 0.2,
                     "backward_times": [draw.uniform(1, 3) for _ in range(stages)]}
            microbatches = draw.randint(3, 14)
            plan = ppsched.plan(ppsched.Config(devices, microbatches, stages, iterations=iterations, **sizes), objective=objective,
                                chunks=[chunks])
            once = ppsched.plan(ppsched.Config(devices, microbatches, stages, **sizes), objective=objective, chunks=[chunks])
            for candidate in plan:
                if candidate.status == "refused":
                    continue
                metrics = plan.timeline(candidate).metrics
                figures = {candidate.step_time * iterations: getattr(metrics, objective), candidate.peak_memory: metrics.peak_memory,
                           candidate.bubble.of_total: metrics.bubble.of_total, candidate.bubble.of_span: metrics.bubble.of_span}
                for planned, timed in figures.items():
                    self.assertAlmostEqual(planned, timed, delta=1e-9 * max(1, abs(timed)))
                self.assertEqual(plan.iteration(candidate).microbatches, microbatches)
                self.assertEqual(plan.iteration(candidate).iterations, 1)
            self.assertEqual({row.strategy for row in plan}, {row.strategy for row in once})

    def test_many_iterations_cost_no_more_than_one(self):
        config = ppsched.Config(4, 8, iterations=200000)
        plan = ppsched.plan(config, strategies=["1f1b", "zb_h1", "gpipe"])
        self.assertAlmostEqual(plan.best.step_time, ppsched.plan(ppsched.Config(4, 8), strategies=["1f1b", "zb_h1", "gpipe"]).best.step_time)

    def test_rows_have_ranks_alone(self):
        rows = json.loads(run("compare", "-s", 4, "-b", 8, "--strategies", "gpipe", "1f1b", "--json").stdout)
        self.assertEqual([row["rank"] for row in rows], list(range(len(rows))))
        self.assertNotIn("number", rows[0])

    def test_an_exhaustive_one_is_never_worse(self):
        config = ppsched.Config(4, 8, forward_times=[1, 2, 1, 1], mem_limit=4)
        fast, thorough = ppsched.plan(config), ppsched.plan(config, effort=4)
        self.assertLessEqual(thorough.best.step_time, fast.best.step_time)
        self.assertIn("auto", {candidate.strategy for candidate in thorough})
        self.assertNotIn("auto", {candidate.strategy for candidate in fast})
        auto = next(candidate for candidate in thorough if candidate.strategy == "auto")
        self.assertEqual(auto.options, {"placement": auto.placement, "objective": "makespan", "effort": 4})

    def test_layers_and_ends(self):
        layers = ppsched.Config(4, 8, 16, forward_times=[1.5] + [1] * 14 + [2])
        stages = ppsched.Config(4, 8, forward_times=[4.5, 4, 4, 5], backward_times=[8] * 4, mem_forward=4)
        ends = {"embedding": {"forward_time": 0.5}, "head": {"forward_time": 1}}
        by_layer, by_stage = ppsched.plan(layers), ppsched.plan(stages, **ends)
        self.assertIn("vocab_1f1b", {c.strategy for c in by_stage})  # as there is a head
        by_stage = [c for c in by_stage if c.strategy not in ("vocab_1f1b", "interlaced")]
        self.assertEqual(len(by_layer), len(by_stage))
        for a, b in zip([c for c in by_layer if c.chunks != 3], [c for c in by_stage if c.chunks != 3]):
            self.assertAlmostEqual(a.step_time, b.step_time)
        refused = [c for c in by_layer if c.chunks == 3]
        self.assertTrue(all("costs of 16 stages cannot be converted to 12" in c.reason for c in refused))

    def test_transfers(self):
        config = ppsched.Config(4, 8, p2p_time=0.1, p2p_bandwidth=4, activation_bytes=2)
        plan = ppsched.plan(config, lowering="pytorch", order="group", strategies=["interleaved_1f1b"], chunks=[2])
        free = ppsched.plan(config, lowering="pytorch", strategies=["interleaved_1f1b"], chunks=[2])
        self.assertGreater(plan.best.step_time, free.best.step_time)
        self.assertGreater(sum(idle.head_of_line for idle in plan.timeline(plan.best).idle), 0)

    def test_no_step_is_below_its_bound(self):
        """Gradients come with the first weight gradient of a stage, outputs and work space for a while."""
        for name in ("mem_gradients", "mem_output", "mem_send_forward", "mem_work_backward"):
            for limit in (4.9, 5.5, 6, 8):
                config = ppsched.Config(devices=2, microbatches=2, forward_times=[3, 2], backward_input_times=[3, 2], mem_limit=limit,
                                        backward_weight_times=[1, 1.75], mem_forward=[2.5, .75], p2p_time=0.5, **{name: 2.25})
                for candidate in ppsched.plan(config):
                    if candidate.fits:
                        self.assertLessEqual(candidate.bound, candidate.step_time * (1 + 1e-12), (name, limit, candidate))

    def test_the_best_alone(self):
        config = ppsched.Config(devices=4, microbatches=12, mem_limit=6)
        whole, some = ppsched.plan(config), ppsched.plan(config, top=2)
        self.assertEqual(some[:2], whole[:2])
        left_out = [candidate for candidate in some if candidate.status == "left out"]
        self.assertEqual(some[len(some) - len(left_out):], left_out)
        self.assertGreater(len(left_out), len(some) // 2)
        for candidate in left_out:
            self.assertEqual((candidate.step_time, candidate.fits, candidate.proved), (None, False, False))
            self.assertGreater(candidate.bound, 0)
            self.assertIn("other candidates rank before it", repr(candidate))
        for at in range(2, len(some)):
            self.assertNotEqual(some[at].status == "left out", some[at].step_time is not None or some[at].status == "refused")
        self.assertEqual(len(some.rows()), len(whole))
        self.assertEqual(some.csv().count("left out"), len(left_out))
        self.assertEqual(len(report_data(some)["candidates"]), len(some) - len(left_out))
        self.assertNotIn("<td>None", some._repr_html_())
        with self.assertRaisesRegex(ppsched.Error, "top is -1"):
            ppsched.plan(config, top=-1)

    def test_bad_input(self):
        config = ppsched.Config(4, 8)
        for arguments, message in (({"strategies": ["1f1c"]}, "did you mean 1f1b"), ({"chunks": [0]}, "must be at least 1"),
                                   ({"chunks": []}, "empty list"), ({"placements": ["round"]}, "no placement 'round'"),
                                   ({"objective": "speed"}, "no objective 'speed'"), ({"effort": 13}, "effort is 13"),
                                   ({"head": {"forward": 1}}, "head has no 'forward'"), ({"memory_limits": [-1]}, "memory_limits"),
                                   ({"head": {"forward_time": math.nan}}, "finite"), ({"order": "ring"}, "no channel order")):
            with self.assertRaisesRegex(ppsched.Error, message):
                ppsched.plan(config, **arguments)

    def test_cancel(self):
        with self.assertRaises(ppsched.Cancelled):
            ppsched.plan(ppsched.Config(4, 8), progress=lambda share, best: share < 0.5)
        with self.assertRaises(ZeroDivisionError):
            ppsched.plan(ppsched.Config(4, 8), progress=lambda share, best: 1 / 0)


class PublishedTest(unittest.TestCase):
    """The order of the paper's columns by bubble, under the memory of p and of 2p activations. Its 1F1B-I does not wait for all
    dependencies: with its own figure in place of ours the order is the same, too."""

    def expect_order(self, table, profile, budget):
        limit = budget * profile.devices * profile.memory[0]
        columns = [column for column in table.columns if column.limit in (0, budget)]
        plan = ppsched.plan(problem(profile), objective="span", strategies=sorted({column.strategy for column in columns}),
                            chunks=sorted({1, profile.chunks}), group_sizes=[profile.devices], memory_limits=[limit])
        ours = {candidate.strategy: candidate.bubble.of_span for candidate in reversed(plan[:]) if candidate.fits}
        if INTERLEAVED.strategy in ours:
            ours[INTERLEAVED.strategy] = bubble_by_wrap_around(profile)
        paper = {column.strategy: rate for column, rate in zip(table.columns, profile.bubbles) if column in columns}
        for one in ours:
            for other in ours:
                if paper[one] < paper[other] and "zbv_auto" not in (one, other):
                    self.assertLess(ours[one], ours[other], (profile, budget, one, other))
        return ours, paper

    def test_table_5(self):
        for profile in TABLE_5.profiles:
            one, paper = self.expect_order(TABLE_5, profile, 1)
            self.assertEqual(set(one), {"1f1b", "zb_h1", "zb_auto"})
            self.assertLess(one["zb_auto"], paper["zb_auto"] + 5e-5)
            two, paper = self.expect_order(TABLE_5, profile, 2)
            self.assertEqual(set(two), {"1f1b", "interleaved_1f1b", "zb_h1", "zb_h2", "zb_auto"})
            self.assertLess(two["zb_auto"], paper["zb_auto"] + 5e-5)

    def test_table_8(self):
        for profile in TABLE_8.profiles:
            one, paper = self.expect_order(TABLE_8, profile, 1)
            self.assertEqual(set(one), {"1f1b", "zb_h1", "zbv_auto"})
            self.assertEqual(min(one, key=one.get), "zbv_auto")
            self.assertLess(one["zbv_auto"], paper["zbv_auto"] + 5e-5)
            self.expect_order(TABLE_8, profile, 2)

    def test_pick_is_as_good_as_the_paper(self):
        for profile in TABLE_5.profiles:
            for budget, rate in ((1, profile.bubbles[4]), (2, profile.bubbles[5])):
                plan = ppsched.plan(problem(profile), objective="span", memory_limits=[budget * profile.devices * profile.memory[0]])
                self.assertLess(plan.best.bubble.of_span, rate + 5e-5)


class CommandTest(unittest.TestCase):
    def test_pick(self):
        result = run("pick", "-s", 4, "-b", 8, "--json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        rows = json.loads(result.stdout)
        self.assertEqual(len(rows), 1)
        for key in ("strategy", "options", "makespan", "span", "bubble", "peak_memory", "fits", "reason"):
            self.assertIn(key, rows[0])
        self.assertEqual((len(rows[0]["peak_memory_by_device"]), len(rows[0]["idle_by_device"])), (4, 4))
        self.assertEqual(len(json.loads(run("pick", "-s", 4, "-b", 8, "--json", "--top", 3).stdout)), 3)

    def test_pick_tells_the_same_of_few_and_of_all(self):
        words = ["-s", "4", "-b", "9", "--mem-limit", "5", "--p2p-time", "0.25"]
        for lowered in ([], ["--lower", "just_in_time"]):
            for top in (1, 3):
                rows = json.loads(run("pick", *words, *lowered, "--json", "--top", str(top)).stdout)
                compared = json.loads(run("compare", *words, *lowered, "--json").stdout)[:top]
                asked = [{**{key: row[key] for key in of_all}, "runs_on": None} for row, of_all in zip(rows, compared)]
                self.assertEqual((asked, len(rows)), (compared, top))

    def test_compare(self):
        result = run("compare", "-s", 4, "-b", 8, "--json", "--mem-limit", 3)
        rows = json.loads(result.stdout)
        self.assertEqual(rows, sorted(rows, key=lambda row: row["rank"]))
        self.assertEqual({row["status"] for row in rows}, {"fits", "over limit"})
        text = run("compare", "-s", 4, "-b", 8, "--mem-limit", 3).stdout
        self.assertRegex(text, r"(?s)strategy .*\n +1  interleaved_zb .*\n +\(group_size 2\), of ideal [0-9.]+%\n.*over their memory limit:.* zb_h1 ")
        self.assertNotIn("\033", text)
        self.assertNotRegex(text, r" \n")
        text = run("compare", "--num-devices", 4, "-s", 16, "-b", 8).stdout
        self.assertRegex(text, r"refused:\n.*V = 3: costs of 16 stages cannot be converted to 12")

    def test_compare_folds(self):
        """The best of each strategy under each limit, numbered without gaps."""
        words = ("compare", "--num-devices", 4, "-b", 8, "--mem-limits", 3, 6)
        ranked = json.loads(run(*words, "--json").stdout)
        best = {(row["strategy"], row["memory_limit"]) for row in ranked}
        text = run(*words).stdout
        numbers = [int(number) for number in re.findall(r"(?m)^ *(\d+)  [a-z1]", text)]
        self.assertEqual(numbers, list(range(1, len(best) + 1)))
        self.assertIn(f"\nthe best of each strategy; --all shows {len(ranked) - len(best)} more candidates\n", text)
        text = run(*words, "--all").stdout
        self.assertEqual(len(re.findall(r"(?m)^ *(\d+)  [a-z1]", text)), len(ranked))
        self.assertNotIn("--all", text)

    def test_group_sizes_that_are_left_out(self):
        words = ("--num-devices", 2, "-b", 900, "--strategies", "interleaved_zb", "--chunks", 2)
        for command in ("pick", "compare"):
            text = run(command, *words).stdout
            found = re.search(r"\ngroup sizes: (\d+) of 900 were tried; --all tries all\n", text)
            self.assertLess(int(found[1]), 60)
            self.assertNotIn("group sizes:", run(command, *words, "--group-sizes", 2, 5).stdout)
        rows = json.loads(run("compare", *words, "--all", "--json").stdout)
        self.assertGreater(len({row["options"]["group_size"] for row in rows}), 890)
        self.assertNotIn("group sizes:", run("pick", "--num-devices", 2, "-b", 60, "--strategies", "interleaved_zb").stdout)

    def test_nothing_fits(self):
        for command in ("pick", "compare"):
            result = run(command, "-s", 4, "-b", 8, "--mem-limit", 0.5)
            self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))
            self.assertIn("no candidate fits; closest is interleaved_zb", result.stderr)
            self.assertIn("device 0 is over its limit by 2; the least limit that works is 1 (zb_auto, which finds no schedule below this limit)", result.stderr)
        self.assertEqual(run("pick", "-s", 4, "-b", 8, "--mem-limit", 1).returncode, 0)

    def test_sharded_parameters(self):
        """Candidates with what gathering takes, in time and memory; the printed command has the same figures."""
        words = ("--num-devices", 4, "-s", 16, "-b", 8, "--unshard-times", 1.5, "--reduce-grad-times", 0.5, "--mem-gathered", 2,
                 "--lower", "pytorch")
        passes = ("--unshard", 2, "--unshard-lookahead", "needed", "--reduce-grad")
        text = run("pick", *words, *passes).stdout
        command = next(line for line in text.splitlines() if line.startswith("ppsched schedule"))
        self.assertIn(" --lower pytorch --unshard 2 --unshard-lookahead needed --reduce-grad", command)
        row = json.loads(run("pick", *words, *passes, "--json").stdout)[0]
        again = json.loads(run(*shlex.split(command)[1:], "--format", "json").stdout)
        self.assertEqual((row["step_time"], row["peak_memory"]), (again["metrics"]["makespan"], max(again["metrics"]["peak_memory"])))
        always = json.loads(run("pick", *words, "--json").stdout)[0]
        self.assertLess(always["step_time"], row["step_time"])
        for wrong, message in ((passes, "need --lower"), (("--lower", "pytorch", "--unshard-lookahead", "auto"), "needs --unshard"),
                               (("--lower", "pytorch", "--unshard", 2, "--unshard-lookahead", "1,2,3,4"), "full, auto or needed")):
            result = run("pick", "--num-devices", 4, "-b", 8, *wrong)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(message, result.stderr)
        config = ppsched.Config(4, 8, unshard_times=1)
        plan = ppsched.plan(config, lowering="just_in_time", unshard=2, unshard_lookahead="auto", strategies=["interleaved_1f1b"])
        self.assertEqual(plan.timeline(plan.best).metrics.makespan, plan.best.step_time)
        with self.assertRaisesRegex(ppsched.Error, "a plan cannot use a list of lookaheads"):
            ppsched.plan(config, lowering="just_in_time", unshard=2, unshard_lookahead="list")
        with self.assertRaisesRegex(ppsched.Error, "unshard is -1; it must be 0 to 65535"):
            ppsched.plan(config, lowering="just_in_time", unshard=-1)

    def test_receives_ahead(self):
        config = ppsched.Config(4, 8, p2p_time=0.25)
        schedule = ppsched.generate("1f1b", config)
        times = {}
        for lead in (None, 0, 1, 3):
            best = ppsched.plan(config, strategies="1f1b", chunks=1, lowering="just_in_time", rendezvous=True, receive_prefetch=lead).best
            times[lead] = best.step_time
            lowered = schedule.lower("just_in_time", receive_prefetch=1 if lead is None else lead)
            self.assertEqual(best.step_time, lowered.evaluate_transfers(rendezvous=True).metrics.makespan)
        self.assertLess(times[1], times[0])
        for given, text in ((dict(lowering="pytorch", receive_prefetch=1), "is only for the just_in_time lowering"),
                            (dict(lowering="just_in_time", receive_prefetch=65), "receive_prefetch is 65; it must be 0 to 64"),
                            (dict(lowering="just_in_time", receive_prefetch=-1), "receive_prefetch is -1; it must be 0 to 64"),
                            (dict(receive_prefetch=1), "is only for the just_in_time lowering"),
                            (dict(unshard=2), "unshard, reduce_grad and reduce_every need a lowering"), (dict(reduce_grad=True), "unshard, reduce_grad and reduce_every need a lowering"),
                            (dict(unshard_lookahead="auto"), "unshard_lookahead needs unshard"),
                            (dict(lowering="pytorch", reduce_grad=2), "reduce_grad is 2, and a plan cannot time its waits, which are not ops; give 1, or 3"),
                            (dict(lowering="pytorch", reduce_grad="waits"), "reduce_grad must be an integer, not 'waits'"),
                            (dict(lowering="pytorch", reduce_grad=2.5), "reduce_grad must be an integer, not 2.5"),
                            (dict(lowering="pytorch", reduce_grad=-1), "reduce_grad is -1; it must be 0 to 4")):
            with self.assertRaisesRegex(ppsched.Error, text):
                ppsched.plan(config, **given)

    def test_config_file_and_varied(self):
        with tempfile.TemporaryDirectory() as folder:
            path, output = os.path.join(folder, "problem.json"), os.path.join(folder, "ranked.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"num_devices": 4, "num_stages": 4, "num_batches": 8, "strategies": ["1f1b", "zb_h1"],
                           "embedding": {"forward_time": 0.1}, "microbatch_counts": [8, 16], "objective": "span"}, file)
            result = run("compare", "-c", path, "-o", output)
            self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
            with open(output, encoding="utf-8") as file:
                rows = json.load(file)
            self.assertEqual({(row["strategy"], row["microbatches"]) for row in rows},
                             {("1f1b", 8), ("zb_h1", 8), ("1f1b", 16), ("zb_h1", 16)})
            self.assertEqual(rows[0]["step_time"], rows[0]["span"])

    def test_copies_are_the_plan(self):
        plan = ppsched.plan(ppsched.Config(4, 8))
        again = copy.copy(plan)
        names = [candidate.strategy for candidate in plan]
        del plan
        gc.collect()
        self.assertEqual([candidate.strategy for candidate in again], names)
        self.assertEqual([candidate for candidate in pickle.loads(pickle.dumps(again))], list(again))

    def test_pickles_are_planned_again(self):
        layers = ppsched.Layers([{"name": "decoder", "count": 11, "forward_time": 1.5, "mem_forward": 2}])
        plan = ppsched.plan(ppsched.Config(4, 8), layers=layers, strategies=["1f1b", "zbv"], memory_limits=[30, 60], top=2)
        other = pickle.loads(pickle.dumps(plan))
        self.assertEqual((list(other), other.listed, other.layers.given), (list(plan), plan.listed, layers.given))
        self.assertEqual([other.split(one) for one in other if one.fits], [plan.split(one) for one in plan if one.fits])
        with self.assertRaisesRegex(TypeError, "strategies is an iterator"):
            pickle.dumps(ppsched.plan(ppsched.Config(4, 8), strategies=iter(["1f1b"])))

    def test_candidates_of_other_plans(self):
        plan, other = ppsched.plan(ppsched.Config(4, 8)), ppsched.plan(ppsched.Config(2, 8))
        with self.assertRaisesRegex(ppsched.Error, "is not a candidate of this plan"):
            plan.timeline(other[0])

    def test_bad_numbers(self):
        config = ppsched.Config(2, 4)
        with self.assertRaisesRegex(ppsched.Error, "effort is 4294967297; it must be 0 to 12"):
            ppsched.plan(config, effort=2**32 + 1)
        with self.assertRaisesRegex(ppsched.Error, "effort is -1; it must be 0 to 12"):
            ppsched.plan(config, effort=-1)
        with self.assertRaisesRegex(ppsched.Error, "placements is an empty list"):
            ppsched.plan(config, placements=[])
        with self.assertRaisesRegex(ppsched.Error, "embedding forward_time has 2 values; give 1"):
            ppsched.plan(config, embedding={"forward_time": [0.2, 0.9]})

    def test_a_search_is_made_again_with_its_progress(self):
        plan = ppsched.plan(ppsched.Config(4, 8, mem_limit=3), strategies=["auto"], effort=2)
        told = []
        timeline = plan.timeline(plan.best, lambda share, best: told.append(share))
        self.assertEqual(timeline.metrics.makespan, plan.best.makespan)
        self.assertEqual(told[-1], 1)
        with self.assertRaises(ppsched.Cancelled):
            plan.timeline(plan.best, lambda share, best: False)

    def test_placement_map(self):
        rows = json.loads(run("pick", "--num-devices", 2, "-s", 4, "-b", 4, "--placement", 0, 0, 1, 1, "--json").stdout)
        self.assertEqual([(row["strategy"], row["placement"], row["stages"]) for row in rows], [("auto", "map", 4)])

    def test_launch_lines_of_lowered_candidates(self):
        words = ("pick", "--num-devices", 4, "-s", 4, "-b", 8, "--strategies", "1f1b", "--json")
        plain, lowered = (json.loads(run(*words, *more).stdout)[0]["launch"] for more in ((), ("--lower", "just_in_time")))
        self.assertEqual(plain["megatron"]["line"], "--pipeline-model-parallel-size 4")
        self.assertEqual(lowered, plain)

    def test_limits_of_devices(self):
        words = ("--num-devices", 2, "-s", 2, "-b", 8, "--strategies", "interleaved_1f1b", "--chunks", 2)
        table = run("compare", *words, "--mem-limit", 50, 60).stdout
        self.assertEqual(len(table.splitlines()), len(run("compare", *words, "--mem-limit", 50, 50).stdout.splitlines()))
        row, = json.loads(run("pick", *words, "--mem-limit", 50, 60, "--json").stdout)
        self.assertEqual((row["memory_limit"], row["memory_limits"]), (None, [50, 60]))

    def test_json_has_no_infinity(self):
        text = run("pick", "--num-devices", 4, "-s", 4, "-b", 8, "--activation-bytes", 1e308, "--json").stdout
        self.assertIsNone(json.loads(text, parse_constant=self.fail)[0]["bytes"])

    def test_words_that_do_not_go_together(self):
        for words in (("--channel", "group"), ("--rendezvous",), ("--json", "-o", "x.html"),
                      ("--embedding", "mem_static=1", "mem_static=2"), ("--warmup", 2)):
            result = run("compare", "-s", 2, "-b", 4, *words)
            self.assertEqual(result.returncode, 2, words)
            self.assertEqual(json.loads(result.stdout)["error"]["status"] if "--json" in words else result.stdout, "error_argument" if "--json" in words else "")

    def test_endings(self):
        for command in ("compare", "pick"):
            result = run(command, "-s", 4, "-b", 8, "-o", "ranked.xyz")
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn("ranked.xyz: unknown ending; known are ", result.stderr)
            self.assertFalse(os.path.exists("ranked.xyz"))

    def test_launchers(self):
        """The launchers of the documentation print what they should, or why not."""
        environment = {**os.environ, "PPSCHED": f"{sys.executable} -m ppsched"}

        def launch(program, *words):
            return subprocess.run([*program, *words], capture_output=True, text=True, check=False, env=environment)

        shell = ["bash", str(EXAMPLES / "launch_megatron.sh")]
        result = launch(shell, "4", "16", "24", "48")
        self.assertEqual((result.returncode, result.stderr), (0, "interleaved_1f1b step time 346.2 peak memory 44.0\n"))
        self.assertEqual(result.stdout, "torchrun pretrain_gpt.py --pipeline-model-parallel-size 4 --num-layers 24 "
                                        "--pipeline-model-parallel-layout 'E(tt|)*8t*3|t*3|tt|L' "
                                        "--microbatch-group-size-per-virtual-pipeline-stage 6 --micro-batch-size 1 --global-batch-size 16\n")
        result = launch(shell, "4", "16", "24", "24", "sbatch", "train.sh")
        self.assertEqual((result.returncode, result.stdout),
                         (0, "sbatch train.sh --pipeline-model-parallel-size 4 --num-layers 24 --decoder-first-pipeline-num-layers 6 "
                             "--decoder-last-pipeline-num-layers 4 --micro-batch-size 1 --global-batch-size 16\n"))
        result = launch(shell, "4", "16", "24", "8")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertRegex(result.stderr, "the least limit that works is [0-9.]+ \\(1f1b\\)")
        python = [sys.executable, str(EXAMPLES / "launcher.py")]
        self.assertIn("pipeline_parallel_schedule InterleavedZeroBubble --parallelism.pipeline_parallel_layers_per_stage 3 ", launch(python).stdout)
        self.assertIn("# schedule.csv:\n0F0,0F1,", launch(python, "4", "16", "2").stdout)
        result = launch(python, "4", "16", "0.5")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the least memory limit that works is 1\n", result.stderr)

    def test_bad_usage(self):
        self.assertEqual(run("pick", "-s", 4).returncode, 2)
        self.assertEqual(run("pick", "-s", 4, "-b", 8, "--top", 0).returncode, 2)
        self.assertEqual(run("pick", "-s", 4, "-b", 8, "--embedding", "forward_time").returncode, 2)
        result = run("pick", "-s", 4, "-b", 8, "--embedding", "time=1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("embedding has no 'time'", result.stderr)
        self.assertIn("did you mean 1f1b", run("compare", "-s", 4, "-b", 8, "--strategies", "1f1bb").stderr)


if __name__ == "__main__":
    unittest.main()
