# SPDX-License-Identifier: Apache-2.0
"""Lowering and its proof in Python and on the command line."""
import json
import os
import tempfile
import unittest

from in_process import run_command

import ppsched


def lowered(strategy="1f1b", devices=4, microbatches=6, **options):
    return ppsched.generate(strategy, ppsched.Config(devices, microbatches)).lower(**options)


def tokens(schedule, device):
    return [str(op) for op in schedule.queues[device]]


def run(*words):
    return run_command(words)


class LoweringTest(unittest.TestCase):
    def test_orders(self):
        schedule = lowered(lowering="pytorch", devices=2, microbatches=2, unshard=3, reduce_grad=True)
        self.assertEqual(" ".join(tokens(schedule, 1)),
                         "1UNSHARD 1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1B1 1SEND_B1 1REDUCE_GRAD 1RESHARD")

    def test_lookahead(self):
        schedule = ppsched.generate("looped_bfs", ppsched.Config(2, 1, 6))
        self.assertEqual(" ".join(tokens(schedule.lower("none", unshard=3), 0)),
                         "0UNSHARD 2UNSHARD 4UNSHARD 0F0 2F0 4F0 4B0 4RESHARD 2B0 2RESHARD 0B0 0RESHARD")
        self.assertEqual(" ".join(tokens(schedule.lower("none", unshard=3, unshard_lookahead="auto"), 0)),
                         "0UNSHARD 2UNSHARD 0F0 4UNSHARD 2F0 4F0 4B0 4RESHARD 2B0 2RESHARD 0B0 0RESHARD")
        self.assertEqual(tokens(schedule.lower("none", unshard=3, unshard_lookahead=[3, 1]), 0),
                         tokens(schedule.lower("none", unshard=3), 0))
        for given, text in ((dict(unshard=3, unshard_lookahead=[1]), "has 1 value; it must have 2, one per device"),
                            (dict(unshard=3, unshard_lookahead=[1, 4]), "device 1 has 4; it must be 1 to 3, the value of unshard"),
                            (dict(unshard=3, unshard_lookahead=[0, 1]), "device 0 has 0; it must be 1 to 3"),
                            (dict(unshard=3, unshard_lookahead="half"), "no unshard_lookahead 'half'; there are full, auto, list, needed"),
                            (dict(unshard_lookahead="needed"), "needs unshard; set unshard to 1 or more stages"),
                            (dict(unshard_lookahead="auto"), "needs unshard; set unshard to 1 or more stages")):
            with self.assertRaisesRegex(ppsched.Error, text):
                schedule.lower("none", **given)

    def test_a_pair_needs_both_its_stages(self):
        schedule = ppsched.generate("dualpipe_v", ppsched.Config(2, 6, 4))
        with self.assertRaisesRegex(ppsched.Refused, r"device 0: \(0F3;3B1\)OVERLAP_F_B needs 2 stages unsharded at once, but unshard is 1"):
            schedule.lower("pytorch", unshard=1)
        self.assertIn("3UNSHARD", tokens(schedule.lower("pytorch", unshard=2, unshard_lookahead=[1, 1]), 0))

    def test_slots(self):
        schedule = lowered(devices=2, microbatches=4, lowering="pytorch")
        for use in ppsched.SlotUse:
            for arena in schedule.arenas(0, use):
                taken = {}
                for life in sorted(arena.lifetimes, key=lambda life: life.first):
                    self.assertLess(taken.get(life.slot, -1), life.first)
                    taken[life.slot] = life.last
                self.assertEqual(len(taken), arena.slots)
        with self.assertRaisesRegex(ppsched.Error, "no use of slots 'weights'; there are stage_microbatch, microbatch, receive"):
            schedule.arenas(0, "weights")
        with self.assertRaises(IndexError):
            schedule.arenas(2)
        self.assertEqual([connection[:3] for connection in schedule.connections()], [(0, 0, 1), (1, 1, 0)])
        self.assertEqual(schedule.connections("stages"), [ppsched.Connection(0, 0, 1, 0, 1)])

    def test_memory_by_cause(self):
        config = ppsched.Config(2, 4, mem_static=3, mem_weights=2, mem_gradients=[5, 7], mem_gathered=4, mem_send_forward=0.5,
                                mem_receive_forward=0.25, mem_work_forward=1, mem_other=[1, 2], mem_limit=30)
        timeline = ppsched.generate("1f1b", config).lower("pytorch", unshard=1, reduce_grad=True).evaluate()
        peak = timeline.peak_by_cause(0)
        self.assertEqual({cause: size for cause, size in peak.items() if size},
                         {"static": 3, "weights": 2, "other": 1, "gradients": 5, "gathered": 4, "work": 1, "activations": 2})
        self.assertEqual(sum(peak.values()), timeline.device_metrics[0].peak_memory)
        self.assertEqual([(point.time, point.memory) for point in timeline.memory(0, "gradients")], [(0, 0), (4, 5), (15, 0)])
        items = timeline.peak_items(0)
        self.assertEqual([(item.cause, item.stage, item.microbatch) for item in items if item.cause in ("gathered", "activations")],
                         [("gathered", 0, None), ("activations", 0, 1), ("activations", 0, 2)])
        window = timeline.idle_windows(1)[0]
        self.assertEqual((window.start, window.end, window.free), (0, 1, 30 - window.memory))
        with self.assertRaisesRegex(ppsched.Error, "no cause of memory 'dreams'; there are static, weights, optimizer"):
            timeline.memory(0, "dreams")
        with self.assertRaises(IndexError):
            timeline.peak_items(2)
        words = ("schedule", "-s", "2", "-b", "4", "--lower", "pytorch", "--mem-gradients", "5")
        self.assertEqual(json.loads(run(*words, "--format", "json").stdout)["peak_by_cause"]["gradients"], [5, 5])
        self.assertNotIn("peak_by_cause", json.loads(run(*words[:-2], "--format", "json").stdout))
        result = run(*words, "--mem-limit", "6")
        self.assertEqual((result.returncode, result.stderr.count("over its limit 6")), (1, 1))

    def test_command_with_slots(self):
        words = ("schedule", "--strategy", "dualpipe_v", "--num-devices", "2", "-s", "4", "-b", "6", "--lower", "pytorch", "--unshard", "2")
        result = run(*words, "--unshard-lookahead", "1,2", "--reduce-grad", "--slots", "--format", "json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        row = json.loads(result.stdout)
        for queue, slots in zip(row["queues"], row["slots"]):
            self.assertEqual(queue["device"], slots["device"])
            for stage, microbatch, slot, first, last in slots["stage_microbatch"]["slots"]:
                self.assertIn(f"{stage}F{microbatch}", queue["ops"][first])
                self.assertRegex(queue["ops"][last], f"{stage}[BW]{microbatch}")
                self.assertLess(slot, slots["stage_microbatch"]["count"])
            for stage, direction, microbatch, _, first, last in slots["receive"]:
                self.assertEqual(queue["ops"][first], f"{stage}RECV_{direction}{microbatch}")
                self.assertRegex(queue["ops"][last], f"{stage}[BW]{microbatch}")
            self.assertEqual(len(slots["microbatch"]["slots"]), 6)
        self.assertEqual((row["link_rounds"], row["preconnect_rounds"]), ([[[0, 1]], [[1, 0]]], [[[0, 1]], [[2, 3]]]))
        self.assertEqual((run(*words, "--slots").returncode, run(*words[:-2], "--unshard-lookahead", "auto").returncode), (2, 2))

    def test_gradients_are_reduced_by_iteration(self):
        queue = "0F0 0F1 0F2 0I0 0I1 0I2 0W0 0W2 0W1 0F3 0I3 0W3".split()
        schedule = ppsched.Schedule.from_queues(ppsched.Config(1, 2, 1, iterations=2), [queue], flushes=False)
        self.assertEqual(" ".join(tokens(schedule.lower("none", reduce_grad=True), 0)),
                         "0F0 0F1 0F2 0I0 0I1 0I2 0W0 0W2 0W1 0REDUCE_GRAD 0F3 0I3 0W3 0REDUCE_GRAD")

    def test_gradients_of_several_iterations_are_reduced_together(self):
        """As many iterations without a reduction are shorter by as many exposed reductions, and hold gradients all the time."""
        config = ppsched.Config(4, 8, iterations=4, reduce_grad_times=3, mem_gradients=5)
        schedule = ppsched.generate("1f1b", config)
        for every in (1, 2, 4):
            lowered = schedule.lower("pytorch", reduce_grad=4, reduce_every=every)
            timeline = lowered.evaluate_transfers()
            self.assertEqual(timeline.metrics.makespan, 4 * 33 + 4 // every * 3)
            for device in range(4):
                reduced = [position for position, op in enumerate(lowered.queues[device]) if op.kind.name == "REDUCE_GRAD"]
                self.assertEqual(len(reduced), 4 // every)
                curve = timeline.memory(device, "gradients")
                self.assertEqual(sum(size == 0 and number > 0 for number, (_, size) in enumerate(curve)), len(reduced))
        apart = ppsched.Schedule.from_queues(config, schedule.queues, flushes=False).lower("pytorch", reduce_grad=4, reduce_every=4)
        self.assertEqual(apart.evaluate_transfers().metrics.makespan, 4 * 33 + 3)  # the first device ends last
        words = ("schedule", "--strategy", "1f1b", "--devices", "4", "--microbatches", "8", "--iterations", "4", "--lower", "pytorch", "--json")
        done = run(*words, "--reduce-grad", "--reduce-every", "2")
        self.assertEqual((done.returncode, done.stdout.count("0REDUCE_GRAD")), (0, 2), done.stderr)
        for more, wanted in ((("--reduce-every", "2"), "--reduce-every needs --reduce-grad"),
                             (("--reduce-grad", "--reduce-every", "3"), "--reduce-every 3: it must divide the 4 iterations of the schedule (--iterations)"),
                             (("--reduce-grad", "--reduce-every", "0"), "--reduce-every 0: it must be 1 or more")):
            done = run(*words, *more)
            self.assertEqual((done.returncode, done.stderr), (2, f"ppsched schedule: {wanted}\n"))
        for every, text in ((0, "reduce_every is 0; it must be 1 or more"), (3, "reduce_every is 3; it must divide the 4 iterations of the schedule"), (-1, "reduce_every is -1")):
            with self.assertRaisesRegex(ppsched.Error, text):
                schedule.lower(reduce_grad=1, reduce_every=every)

    def test_plans_accumulate_gradients(self):
        """A plan ranks with the reductions that are left: rarer ones let another schedule win. Its candidate is timed again by hand."""
        config = ppsched.Config(4, 8, iterations=4, reduce_grad_times=30)
        steps = {}
        for every in (1, 4):
            plan = ppsched.plan(config, lowering="pytorch", reduce_grad=3, reduce_every=every, strategies=["1f1b", "interleaved_1f1b"], chunks=[1, 2])
            for candidate in plan:
                schedule = plan.schedule(candidate).lower("pytorch", reduce_grad=3, reduce_every=every)
                makespan = schedule.evaluate_transfers().metrics.makespan
                self.assertEqual((candidate.step_time, plan.timeline(candidate).metrics.makespan), (makespan / 4, makespan))
                steps[every, candidate.strategy] = candidate.step_time
        for strategy in ("1f1b", "interleaved_1f1b"):
            self.assertLess(steps[4, strategy], steps[1, strategy])
        with self.assertRaisesRegex(ppsched.Error, "need a lowering"):
            ppsched.plan(config, reduce_every=4)
        words = ("--devices", "4", "--microbatches", "8", "--iterations", "4", "--reduce-grad-times", "30", "--lower", "pytorch", "--reduce-grad", "waits")
        rows = {every: json.loads(run("pick", *words, "--reduce-every", every, "--strategies", "1f1b", "--json").stdout)[0] for every in ("1", "4")}
        self.assertEqual([rows[every]["step_time"] for every in ("1", "4")], [steps[1, "1f1b"], steps[4, "1f1b"]])
        command = next(line for line in run("pick", *words, "--reduce-every", "4", "--strategies", "1f1b").stdout.splitlines() if line.startswith("ppsched schedule"))
        self.assertIn("--reduce-grad waits --reduce-every 4", command)
        for more, wanted in (("0", "--reduce-every 0: it must be 1 or more"), ("3", "--reduce-every 3: it must divide the 4 iterations")):
            done = run("pick", *words, "--reduce-every", more)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
            self.assertIn(wanted, done.stderr)

    def test_reductions_that_are_waited_for(self):
        """Waits as ops, of the command, of Schedule.lower and of a plan; a deferred wait hides a reduction under the next backwards."""
        words = ["schedule", "--strategy", "interleaved_1f1b", "--devices", "2", "--stages", "4", "--microbatches", "4", "--lower", "pytorch",
                 "--reduce-grad-times", "4", "--format", "csv", "--reduce-grad"]
        config = ppsched.Config(2, 4, stages=4, reduce_grad_times=4)
        waited = "2REDUCE_GRAD 2WAIT_REDUCE_GRAD 0REDUCE_GRAD 0WAIT_REDUCE_GRAD"
        steps = []
        for given, number, ops in (([], 1, "2REDUCE_GRAD 0REDUCE_GRAD"), (["waits"], 3, waited), (["deferred"], 4, waited)):
            text = run(*words, *given).stdout
            lowered = ppsched.generate("interleaved_1f1b", config).lower("pytorch", reduce_grad=number)
            self.assertEqual(text, lowered.export("csv"))
            self.assertEqual(" ".join(token for token in text.splitlines()[0].split(",") if "REDUCE_GRAD" in token), ops)
            steps.append(lowered.evaluate_transfers().metrics.makespan)
            plan = ppsched.plan(config, strategies="interleaved_1f1b", chunks=2, lowering="pytorch", reduce_grad=number)
            self.assertIn(" ".join(["--reduce-grad", *given, "--"]), " ".join([*plan.command(plan.best), "--"]))
        self.assertLess(steps[2], steps[1])
        with self.assertRaisesRegex(ppsched.Error, "reduce_grad is 5; it must be 0 to 4"):
            ppsched.plan(ppsched.Config(2, 4), lowering="pytorch", reduce_grad=5)

    def test_forms_of_the_option(self):
        """The word after --reduce-grad is its value only if it is one of its words; else it is the file."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "dir.v1"))
            for name in ("s.csv", "plan.csv", os.path.join("dir.v1", "wait")):
                path = os.path.join(folder, name)
                self.assertEqual(run("schedule", "-s", 2, "-b", 2, "--format", "csv", "-o", path).returncode, 0)
                convert = ("convert", "--from", "csv", "--to", "csv", "--lower", "pytorch")
                for form, number in (("plain", 1), ("waits", 3), ("deferred", 4)):
                    wanted = ppsched.generate("1f1b", ppsched.Config(2, 2)).lower("pytorch", reduce_grad=number).export("csv")
                    for words in ((path, f"--reduce-grad={form}"), ("--reduce-grad", form, path), (path, "--reduce-grad", form)):
                        self.assertEqual(run(*convert, *words).stdout, wanted, words)
                plain = run(*convert, path, "--reduce-grad=plain").stdout
                for words in ((path, "--reduce-grad"), ("--reduce-grad", path), ("--reduce-grad", "--", path)):
                    done = run(*convert, *words)
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (0, plain, ""), words)
                for words, text in ((("--reduce-grad", "wait", path), "invalid choice: 'wait'; did you mean waits?"),
                                    ((path, "--reduce-grad", "defered"), "invalid choice: 'defered'; did you mean deferred?"),
                                    ((path, "--reduce-grad=5"), "invalid choice: '5'; choose from plain, waits, deferred"),
                                    ((path, "--reduce-grad", "s2.csv"), "unexpected word s2.csv")):
                    done = run(*convert, *words)
                    self.assertEqual((done.returncode, done.stderr.count("\n"), text in done.stderr), (2, 1, True), done.stderr)
        done = run("schedule", "-s", 2, "-b", 2, "--reduce-grad", "foo")  # has no file
        self.assertIn("invalid choice: 'foo'; choose from plain, waits, deferred", done.stderr)

    def test_lowering_changes_no_times(self):
        schedule = ppsched.generate("zb_h1", ppsched.Config(4, 6, p2p_time=0.5))
        for lowering in ppsched.Lowering:
            self.assertEqual(schedule.lower(lowering).evaluate().metrics, schedule.evaluate().metrics)

    def test_receives_ahead(self):
        schedule = ppsched.generate("1f1b", ppsched.Config(2, 3, p2p_time=0.25))
        late, ahead = (schedule.lower(receive_prefetch=lead) for lead in (0, 1))
        self.assertEqual(" ".join(tokens(late, 1)), "1RECV_F0 1F0 1B0 1RECV_F1 1SEND_B0 1F1 1B1 1RECV_F2 1SEND_B1 1F2 1B2 1SEND_B2")
        self.assertEqual(tokens(ahead, 1), tokens(schedule.lower(), 1))  # the default
        self.assertEqual(" ".join(tokens(ahead, 1)), "1RECV_F0 1F0 1RECV_F1 1B0 1SEND_B0 1F1 1RECV_F2 1B1 1SEND_B1 1F2 1B2 1SEND_B2")
        self.assertTrue(ahead.prove("group", rendezvous=True, blocking=True))
        longer = ppsched.generate("1f1b", ppsched.Config(4, 8, p2p_time=0.25))
        self.assertLess(*(longer.lower(receive_prefetch=lead).evaluate_transfers(rendezvous=True).metrics.makespan for lead in (1, 0)))
        for given, text in ((dict(receive_prefetch=65), "receive_prefetch is 65; it must be 0 to 64"),
                            (dict(receive_prefetch=-1), "must be at least 0"),
                            (dict(lowering="pytorch", receive_prefetch=1), "is only for the just_in_time lowering")):
            with self.assertRaisesRegex(ppsched.Error, text):
                schedule.lower(**given)
        words = ("schedule", "--num-devices", "2", "-b", "3", "--lower", "just_in_time", "--format", "csv")
        self.assertEqual(run(*words).stdout, ahead.export("csv"))
        self.assertEqual(run(*words, "--receive-prefetch", "0").stdout, late.export("csv"))

    def test_backwards(self):
        schedule = ppsched.generate("1f1b", ppsched.Config(2, 3))
        split = schedule.lower("none", split_backwards=True)
        self.assertIn("1I0", tokens(split, 1))
        self.assertEqual(tokens(split.lower("none", merge_backwards=True), 1), tokens(schedule, 1))

    def test_refusals(self):
        with self.assertRaisesRegex(ppsched.Refused, "lowered already"):
            lowered().lower()
        with self.assertRaisesRegex(ppsched.Error, "no lowering 'sideways'; there are none, pytorch, by_time, just_in_time"):
            lowered(lowering="sideways")
        with self.assertRaisesRegex(ppsched.Error, "is only for the pytorch lowering"):
            lowered(defer_receives=True)

    def test_proof(self):
        proof = lowered().prove("pair", rendezvous=True)
        self.assertTrue(proof)
        self.assertEqual((proof.circle, proof.text), ([], ""))
        proof = lowered(lowering="pytorch", defer_receives=True).prove(rendezvous=True)
        self.assertFalse(proof)
        self.assertIn("which waits in", proof.text)
        self.assertEqual([str(link.op) in proof.text for link in proof.circle], [True] * len(proof.circle))
        with self.assertRaisesRegex(ppsched.Error, "no channel order 'ring'"):
            lowered().prove("ring")

    def test_traffic(self):
        schedule = lowered(devices=3, microbatches=4, receive_prefetch=0)
        self.assertEqual([(link.sender, link.receiver, link.transfers) for link in schedule.links()],
                         [(1, 0, 4), (0, 1, 4), (2, 1, 4), (1, 2, 4)])
        self.assertTrue(all(link.most_in_flight == 1 for link in schedule.links()))
        ops = tokens(schedule, 0)
        buffer = schedule.buffers(0)[ops.index("0SEND_F0")]
        self.assertEqual((buffer.slot, ops[buffer.until]), (None, "0B0"))
        buffer = schedule.buffers(1)[tokens(schedule, 1).index("1RECV_B0")]
        self.assertEqual((buffer.slot, tokens(schedule, 1)[buffer.until]), (0, "1B0"))
        with self.assertRaises(IndexError):
            schedule.buffers(3)

    def test_proof_of_a_schedule_without_comm_ops(self):
        proof = ppsched.generate("1f1b", ppsched.Config(2, 2)).prove()
        self.assertFalse(proof)
        self.assertIn("needs a receive that is missing", proof.text)

    def test_transfers(self):
        config = ppsched.Config(2, 3, p2p_time=0.5, p2p_bandwidth=2, activation_bytes=6)
        schedule = ppsched.generate("gpipe", config).lower(receive_prefetch=0)
        timeline = schedule.evaluate_transfers()
        self.assertEqual(timeline.metrics.makespan, 25)
        self.assertEqual(timeline.idle[1], ppsched.Idle(1, 7.5, 0, 0, 7.5, 0, 0))
        self.assertEqual([len(view) for view in timeline.latest_starts], [0, 0])
        self.assertEqual(schedule.evaluate_transfers(order="pair", rendezvous=True, blocking=True).metrics.makespan, 33)
        self.assertEqual(schedule.evaluate().metrics.makespan, 19)  # each transfer 3.5 of its own
        plain = ppsched.Config(2, 3, p2p_time=0.5)
        self.assertEqual(schedule.evaluate_transfers(plain).metrics, schedule.evaluate(plain).metrics)
        with self.assertRaisesRegex(ppsched.InvalidSchedule, "needs a receive that is missing"):
            ppsched.generate("gpipe", config).evaluate_transfers()
        with self.assertRaisesRegex(ppsched.InvalidSchedule, "which waits in"):
            ppsched.generate("1f1b", config.__class__(4, 6)).lower("pytorch", defer_receives=True).evaluate_transfers(
                order="group", rendezvous=True)

    def test_calls(self):
        """Of a device each: by hand, as in tests/unit/transfers_test.c."""
        config = ppsched.Config(2, 2, send_overhead=[0.25, 0.5])
        schedule = ppsched.generate("gpipe", config).lower(receive_prefetch=0)
        timeline = schedule.evaluate_transfers()
        self.assertEqual(timeline.metrics.makespan, 10.75)
        self.assertEqual(timeline.idle[1], ppsched.Idle(0.5, 2, 0, 0, 0, 0, 0, calls=2.25))
        self.assertEqual(schedule.evaluate().metrics.makespan, 9)
        self.assertEqual([other.send_overhead for other in (config.with_stages(4), config.with_microbatches(4))], [[0.25, 0.5]] * 2)
        for wrong, text in ((-1, "send_overhead .value 0. is -1; it must be finite and at least 0"), ([0, float("nan")], "of device 1 is NaN"),
                            (float("inf"), "it must be finite"), ([0, 0, 0], "has 3 values; give 1 for all devices or 2, one per device")):
            with self.assertRaisesRegex(ppsched.Error, text):
                ppsched.Config(2, 2, send_overhead=wrong)

    def test_command_with_calls(self):
        words = ("schedule", "--strategy", "gpipe", "-s", "2", "-b", "2", "--lower", "just_in_time", "--receive-prefetch", "0", "--format", "json")
        row = json.loads(run(*words, "--send-overhead", "0.25", "0.5").stdout)
        self.assertEqual((row["metrics"]["makespan"], row["idle_by_cause"]["calls"]), (10.75, [1.75, 2.25]))
        self.assertNotIn("calls", json.loads(run(*words).stdout)["idle_by_cause"])
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "problem.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({"forward_times": "1ms", "backward_times": "2ms", "send_overhead": ["250us", "500us"]}, file)
            row = json.loads(run(*words, "-c", path).stdout)
            self.assertEqual((row["metrics"]["makespan"], row["units"]["time"]), (10.75, "ms"))
            times = [json.loads(run(command, "-c", path, "-s", 2, "-b", 2, "--lower", "just_in_time", "--json").stdout) for command in ("compare", "pick")]
            self.assertTrue(times[0] and times[1])
        result = run(*words, "--send-overhead=-1")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("send_overhead", result.stderr)
        result = run(*words[:-2], "--format", "chakra", "-o", "/nowhere/x", "--send-overhead", "1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("0SEND_F0 at position 1 has a send overhead of 1, which a trace cannot hold; leave out send_overhead", result.stderr)

    def test_idle_of_plain_evaluation(self):
        timeline = ppsched.generate("1f1b", ppsched.Config(4, 8, forward_times=[1, 1, 1, 2])).evaluate()
        for idle, figures in zip(timeline.idle, timeline.device_metrics):
            self.assertAlmostEqual(sum(idle), figures.idle)
        self.assertGreater(timeline.idle[0].imbalance, 0)
        with self.assertRaisesRegex(ppsched.Error, "has no idle causes"):
            ppsched.generate("1f1b", ppsched.Config(4, 8)).evaluate(latest=False).idle

    def test_command_with_transfers(self):
        words = ("schedule", "--strategy", "gpipe", "-s", "2", "-b", "3", "--lower", "just_in_time", "--p2p-time", "0.5",
                 "--p2p-bandwidth", "2", "--activation-bytes", "6", "--format", "json")
        result = run(*words)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        row = json.loads(result.stdout)
        self.assertEqual((row["metrics"]["makespan"], row["idle_by_cause"]["transfer"]), (25, [5.5, 7.5]))
        sends = [(start, end) for op, start, end in zip(*(row["queues"][0][key] for key in ("ops", "start", "end"))) if "SEND" in op]
        self.assertEqual(sends, [(1, 4), (4, 7), (7, 10)])
        result = run(*words, "--channel", "group", "--blocking")
        self.assertGreater(json.loads(result.stdout)["metrics"]["makespan"], 25)
        self.assertEqual(run(*words, "--channel", "ring").returncode, 2)

    def test_a_channel_needs_transfers(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plain.csv")
            self.assertEqual(run("schedule", "-s", 2, "-b", 3, "--format", "csv", "-o", path).returncode, 0)
            for words in (("check", path, "--channel", "group", "--rendezvous"), ("schedule", "-s", 2, "-b", 3, "--channel", "pair"),
                          ("convert", path, "--to", "text", "--blocking")):
                result = run(*words)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(": the schedule has no sends and receives; lower it with --lower", result.stderr)
            text = run("schedule", "-s", 2, "-b", 3, "--lower", "pytorch").stdout
            self.assertEqual((text.count("\n  sends  "), text.count(">"), text.count("<")), (2, 3, 3))

    def test_check_and_convert(self):
        with tempfile.TemporaryDirectory() as folder:
            plain, file = os.path.join(folder, "plain.csv"), os.path.join(folder, "lowered.csv")
            self.assertEqual(run("schedule", "-s", "3", "-b", "4", "--format", "csv", "-o", plain).returncode, 0)
            result = run("convert", plain, "--lower", "pytorch", "--defer-receives", "-o", file)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            result = run("check", file)
            self.assertEqual(result.returncode, 0)
            self.assertRegex(result.stdout, "ok: .*\ntransfers: 16 on 4 links, at most 1 in flight on one\nsafe with .*\n"
                                            "hangs with group rendezvous channels: device 1 waits in 1SEND_F1 for device 2")
            row = json.loads(run("check", file, "--json").stdout)
            self.assertEqual((row["valid"], row["transfers"]["receive_slots"], len(row["transfers"]["channels"])), (True, [1, 1, 1], 6))
            result = run("check", file, "--channel", "group", "--rendezvous")
            self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))
            with open(file, encoding="utf-8") as lines:
                text = lines.read()
            with open(file, "w", encoding="utf-8") as lines:
                lines.write(text.replace("1SEND_F0,", ""))
            result = run("check", file, "--json")
            self.assertEqual((result.returncode, json.loads(result.stdout)["valid"]), (1, False))
            self.assertIn("2RECV_F0 at position 0 has no send", result.stderr)
            self.assertEqual(run("convert", plain, "--to", "megatron").returncode, 0)
            self.assertEqual(run("convert", plain, "--to", "deepspeed").returncode, 0)
            self.assertIn("SEND_FORWARD", run("convert", plain, "--lower", "by_time", "--to", "sail").stdout)

    def test_command(self):
        result = run("schedule", "-s", "2", "-b", "2", "--lower", "pytorch", "--unshard", "3", "--reduce-grad", "--format", "json")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(json.loads(result.stdout)["queues"][1]["ops"][:3], ["1UNSHARD", "1RECV_F0", "1F0"])
        self.assertEqual(run("schedule", "-s", "2", "-b", "2", "--lower", "sideways").returncode, 2)
        words = ("schedule", "--strategy", "interleaved_1f1b", "--num-devices", "2", "-s", "8", "-b", "4", "--lower", "pytorch", "--unshard",
                 "3", "--format", "json", "--unshard-lookahead")
        queues = {name: json.loads(run(*words, name).stdout)["queues"][0] for name in ("full", "1,1", "needed")}
        self.assertEqual(queues["needed"], queues["1,1"])  # gathering takes no time here
        self.assertNotEqual(queues["needed"], queues["full"])
        self.assertIn("must be full, auto, needed, or a number for each device", run(*words, "late").stderr)
        result = run("schedule", "-s", "2", "-b", "2", "--unshard", "-1")
        self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))
        self.assertIn("unshard is -1", result.stderr)


if __name__ == "__main__":
    unittest.main()
