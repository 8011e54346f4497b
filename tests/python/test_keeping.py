# SPDX-License-Identifier: Apache-2.0
"""Recompute and offload in Python and on the command line."""
import json
import re
import shlex
import unittest

from in_process import run_command

import ppsched


def run(*words):
    return run_command(words)


def tokens(schedule, device):
    return [str(op) for op in schedule.queues[device]]


GIS = ("schedule", "--strategy", "gis", "--num-devices", 4, "-s", 8, "-b", 16)


class KeepingTest(unittest.TestCase):
    def test_recompute(self):
        config = ppsched.Config(2, 2, recompute_times=0.5, mem_recompute=0.25)
        schedule = ppsched.generate("gpipe", config).recompute()
        self.assertEqual(" ".join(tokens(schedule, 0)), "0F0 0F1 0RECOMPUTE0 0B0 0RECOMPUTE1 0B1")
        timeline = schedule.evaluate()
        self.assertEqual([device.peak_memory for device in timeline.device_metrics], [1.25, 1.25])
        self.assertEqual([device.busy for device in timeline.device_metrics], [7, 7])
        self.assertEqual([(point.time, point.memory) for point in timeline.memory(0)][:4], [(0, 0), (0, 0.25), (1, 0.5), (2, 1.25)])

    def test_slices_are_recomputed_apart(self):
        schedule = ppsched.generate("1f1b", ppsched.Config(2, 2, slices=2, recompute_times=[1])).recompute(chunks=1)
        self.assertEqual(" ".join(tokens(schedule, 1)), "1F0.0 1F0.1 1RECOMPUTE0.1 1B0.1 1F1.0 1RECOMPUTE0.0 1B0.0 1F1.1 1RECOMPUTE1.1 1B1.1 "
                                                        "1RECOMPUTE1.0 1B1.0")
        again = ppsched.Schedule.from_text(schedule.export("json"), "json")
        self.assertEqual([tokens(again, device) for device in (0, 1)], [tokens(schedule, device) for device in (0, 1)])

    def test_offload(self):
        config = ppsched.Config(2, 3, offload_times=[2, 1], reload_times=0.5)
        schedule = ppsched.generate("gpipe", config).offload()
        self.assertEqual(" ".join(tokens(schedule, 0)),
                         "0F0 0OFFLOAD0 0F1 0OFFLOAD1 0F2 0OFFLOAD2 0RELOAD0 0RELOAD1 0B0 0RELOAD2 0B1 0B2")
        timeline = schedule.evaluate()
        plain = ppsched.generate("gpipe", config).evaluate()
        self.assertEqual(timeline.metrics.makespan, plain.metrics.makespan)
        spans = {str(op): (span.start, span.end) for op, span in zip(schedule.queues[0], timeline.spans[0])}
        self.assertEqual([spans[f"0OFFLOAD{m}"] for m in range(3)], [(1, 3), (3, 5), (5, 7)])  # one after another

    def test_waiting_for_a_reload(self):
        config = ppsched.Config(1, 1, offload_times=0.5, reload_times=3)
        queue = [ppsched.Op(0, ppsched.Kind[kind], 0) for kind in ("F", "OFFLOAD", "RELOAD", "B")]
        timeline = ppsched.Schedule.from_queues(config, [queue]).evaluate()
        self.assertEqual(timeline.metrics.makespan, 6.5)
        self.assertEqual(timeline.idle[0].reload, 3.5)
        self.assertEqual([(str(step.op), step.reason.name) for step in timeline.critical_path],
                         [("0F0", "BEGIN"), ("0OFFLOAD0", "DEVICE"), ("0RELOAD0", "COPY"), ("0B0", "COPY")])
        self.assertEqual([(point.time, point.memory) for point in timeline.memory(0)], [(0, 0), (0, 1), (1.5, 0), (1.5, 1), (6.5, 0)])

    def test_findings(self):
        config = ppsched.Config(1, 1)
        queue = [ppsched.Op(0, ppsched.Kind[kind], 0) for kind in ("F", "B", "RELOAD")]
        findings = ppsched.Schedule.from_queues(config, [queue]).check()
        self.assertEqual([str(finding) for finding in findings],
                         ["device 0: 0OFFLOAD0 is missing",
                          "deadlock: device 0 waits at position 1 (0B0) for 0RELOAD0, which is at position 2 of device 0"])

    def test_refused(self):
        schedule = ppsched.generate("gpipe", ppsched.Config(2, 2)).recompute()
        for fails in (lambda: ppsched.generate("gpipe", ppsched.Config(2, 2)).offload().offload(), schedule.recompute, lambda: schedule.evaluate().sensitivities()):
            with self.assertRaises(ppsched.Error):
                fails()
        with self.assertRaisesRegex(ppsched.Error, "chunks is 0"):
            ppsched.generate("gpipe", ppsched.Config(2, 2)).offload(0)


class PlanTest(unittest.TestCase):
    """Candidates with and without offload."""

    def config(self, **values):
        return ppsched.Config(4, 8, backward_input_times=1, backward_weight_times=1, offload_times=1, **values)

    def test_candidates(self):
        config = self.config(mem_limit=3)
        plan = ppsched.plan(config, offload=True, chunks=[1, 2])
        twins = [candidate for candidate in plan if candidate.offloaded]
        self.assertTrue(any(twin.fits for twin in twins) and any(twin.status == "refused" for twin in twins))
        for twin in twins:
            if twin.status == "refused":
                self.assertIsNone(twin.step_time)
                continue
            by_hand = ppsched.generate(twin.strategy, plan.config_of(twin)).offload(until_limit=True).evaluate()
            self.assertEqual((twin.makespan, twin.peak_memory), (by_hand.metrics.makespan, by_hand.metrics.peak_memory))
            self.assertEqual(twin.offloads, sum(op.kind == ppsched.Kind.OFFLOAD for queue in by_hand.schedule.queues for op in queue))
            self.assertEqual(plan.timeline(twin).metrics.makespan, twin.makespan)
            self.assertLessEqual(twin.peak_memory, 3)
            self.assertLessEqual(twin.bound, twin.step_time)
        without = [candidate for candidate in plan if not candidate.offloaded]
        alone = ppsched.plan(config, chunks=[1, 2])
        self.assertEqual([(one.strategy, one.step_time, one.status) for one in without], [(one.strategy, one.step_time, one.status) for one in alone])
        self.assertLess(plan.best.step_time, alone.best.step_time if alone.best else float("inf"))

    def test_least_limit(self):
        config = self.config(mem_limit=0.5)
        names = {"strategies": ["1f1b", "gpipe"], "chunks": [1]}
        without, offloading = (ppsched.plan(config, offload=offload, **names).least_limit() for offload in (False, True))
        self.assertLess(offloading.limit, without.limit)
        self.assertTrue(offloading.candidate.offloaded)
        enough = ppsched.plan(self.config(mem_limit=offloading.limit), offload=True, **names)
        self.assertTrue(enough.best.offloaded)

    def test_all_without_a_limit(self):
        twins = [one for one in ppsched.plan(self.config(), offload=True, strategies="1f1b", chunks=1) if one.offloaded]
        self.assertEqual([one.memory_limit for one in twins], [None])
        self.assertGreater(twins[0].offloads, 8)

    def test_lowered(self):
        """With a lowering, a twin is its schedule with copies, lowered, on links of a width."""
        config = self.config(p2p_bandwidth=3, activation_bytes=1)
        plan = ppsched.plan(config, offload=True, strategies=["1f1b", "zb_h1", "gis"], lowering="by_time")
        twins = [one for one in plan if one.offloaded]
        self.assertGreater(len(twins), 2)
        for one in twins:
            schedule = plan.schedule(one)
            self.assertIn(ppsched.Kind.OFFLOAD, [op.kind for op in schedule.queues[0]])
            timeline = schedule.lower("by_time").evaluate_transfers()
            self.assertEqual((timeline.metrics.makespan, timeline.metrics.peak_memory), (one.step_time, one.peak_memory))

    def test_layers(self):
        layers = [{"name": "decoder", "count": 24, "forward_time": 1, "backward_time": 2, "mem_forward": 1,
                   "recompute": [{"name": "full", "backward_time": 3, "mem_forward": 0.1}]}]
        config = ppsched.Config(4, 16, mem_limit=14, host_bandwidth=1)
        without, plan = (ppsched.plan(config, layers=layers, offload=offload) for offload in (False, True))
        self.assertTrue(plan.best.offloaded and plan.best.fits)
        self.assertEqual(sum(plan.split(plan.best).layers), 24)
        self.assertLess(plan.best.step_time, without.best.step_time)

    def test_refused(self):
        for values, words in (({"scenarios": 4, "jitter": 0.1}, "offload cannot be combined with scenarios"),
                              ({"layers": [{"name": "a", "forward_time": 1, "backward_time": 2}] * 8}, "with layers give host_bandwidth")):
            with self.assertRaisesRegex(ppsched.Error, words):
                ppsched.plan(self.config(), offload=True, **values)
        with self.assertRaisesRegex(ppsched.Error, "give host_bandwidth or offload_times"):
            ppsched.plan(ppsched.Config(4, 8), offload=True)


class CommandTest(unittest.TestCase):
    def test_pick(self):
        words = ("pick", "--num-devices", 4, "-s", 4, "-b", 16, "--mem-limit", "3GB", "--mem-forward", "2GB", "--forward-times", "10ms",
                 "--backward-input-times", "10ms", "--backward-weight-times", "10ms", "--host-bandwidth", "25GB/s", "--host-links", "pairs")
        best, plain = (json.loads(run(*words, *more, "--json").stdout)[0] for more in (("--offload",), ()))
        self.assertTrue(best["offloaded"] and best["offloads"] > 0 and best["peak_memory"] <= 3)
        self.assertLess(best["step_time"], plain["step_time"])
        self.assertEqual((best["runs_on"], best["runs_alike_on"]), ([], []))
        command = shlex.split(best["command"])
        self.assertEqual(command[-2:], ["--offload", "limit"])
        again = json.loads(run(*command[1:], "--format", "json").stdout)
        self.assertEqual((again["metrics"]["makespan"], max(again["metrics"]["peak_memory"])), (best["makespan"], best["peak_memory"]))

    def test_pick_auto(self):
        """A search that chooses its order with what goes, where there is a limit."""
        words = ("pick", "--num-devices", 4, "-s", 8, "-b", 8, "--backward-input-times", 1, "--backward-weight-times", 1, "--offload-times", 1,
                 "--strategies", "auto", "gis", "--chunks", 2, "--placements", "loop", "--effort", 4, "--offload", "--json", "--top", 20)
        for limit, step in (((4,), 53), ((4, 4, 4, 4), 53)):
            rows = json.loads(run(*words, "--mem-limit", *limit).stdout)
            self.assertEqual((rows[0]["strategy"], rows[0]["offloaded"], rows[0]["makespan"]), ("auto", True, step))
            command = shlex.split(rows[0]["command"])
            self.assertEqual(command[-2:], ["--offload", "limit"])
            self.assertEqual(json.loads(run(*command[1:], "--format", "json").stdout)["metrics"]["makespan"], step)
        self.assertFalse(any(row["strategy"] == "auto" and row["offloaded"] for row in json.loads(run(*words).stdout)))

    def test_offload(self):
        words = (*GIS, "--offload-times", 0.5, "--format", "json")
        plain, data = (json.loads(run(*words, *more).stdout) for more in ((), ("--offload", "all", "--host-links", "pairs")))
        self.assertEqual(data["metrics"]["makespan"], plain["metrics"]["makespan"])
        self.assertEqual((data["metrics"]["peak_memory"], plain["metrics"]["peak_memory"]), ([2] * 4, [8, 7, 6, 5]))
        for queue in data["queues"]:
            offloads = [i for i, token in enumerate(queue["ops"]) if "OFFLOAD" in token]
            reloads = [i for i, token in enumerate(queue["ops"]) if "RELOAD" in token]
            self.assertEqual(len(offloads), len(reloads))
            for i in offloads + reloads:
                self.assertEqual(queue["end"][i] - queue["start"][i], 0.5)
        self.assertEqual(data["idle_by_cause"]["reload"], [0] * 4)

    def test_limit(self):
        words = (*GIS, "--offload-times", 0.5, "--offload", "limit", "--format", "json", "--mem-limit")
        data = json.loads(run(*words, 3).stdout)
        self.assertLessEqual(max(data["metrics"]["peak_memory"]), 3)
        tight = json.loads(run(*words, 1).stdout)
        self.assertEqual(tight["metrics"]["peak_memory"], [1] * 4)
        self.assertGreater(tight["metrics"]["makespan"], data["metrics"]["makespan"])
        result = run(*words, 0.5)
        self.assertEqual(result.returncode, 1)
        self.assertIn("offload: no choice fits the memory limit of 0.5; the least limit found to work is 1\n", result.stderr)

    def test_auto(self):
        """It chooses its order together with what goes."""
        words = ("schedule", "--num-devices", 4, "-s", 8, "-b", 8, "--backward-input-times", 1, "--backward-weight-times", 1, "--format", "json",
                 "--offload-times", 1, "--offload", "limit", "--mem-limit")
        for limit, step in ((5, 51), (4, 53), (3, 54), (2, 54), (1, 84)):
            data = json.loads(run(*words, limit, "--strategy", "auto").stdout)
            self.assertEqual((data["strategy"], data["metrics"]["makespan"]), ("auto", step))
            self.assertLessEqual(max(data["metrics"]["peak_memory"]), limit)
        self.assertIn("auto: offload: no choice fits the memory limit of 0.5; the least limit found to work is 1\n",
                      run(*words, 0.5, "--strategy", "auto").stderr)

    def test_recompute(self):
        data = json.loads(run(*GIS, "--recompute", "chunks=1", "--format", "json").stdout)
        self.assertEqual(sum("RECOMPUTE" in token for queue in data["queues"] for token in queue["ops"]), 4 * 16)

    def test_lowered(self):
        """As Python lowers them."""
        schedule = ppsched.generate("group_interleaved_1f1b", ppsched.Config(4, 16, stages=8, offload_times=0.5, mem_limit=7))
        for words, kept in ((("--offload", "chunks=1"), schedule.offload(1)), (("--offload", "limit"), schedule.offload(until_limit=True)),
                            (("--recompute", "chunks=2"), schedule.recompute(2))):
            for lowering in ("just_in_time", "by_time"):
                words = (*words, "--lower", lowering)
                data = json.loads(run(*GIS, *words, "--offload-times", 0.5, "--mem-limit", 7, "--format", "json").stdout)
                self.assertEqual([queue["ops"] for queue in data["queues"]], [list(map(str, queue)) for queue in kept.lower(lowering).queues])

    def test_explain(self):
        words = (*GIS, "--offload", "all", "--offload-times", 4, "--host-links", "all", "--explain")
        lines = run(*words).stdout.splitlines()
        self.assertTrue(any(line.startswith("critical path, ") for line in lines))
        self.assertEqual(lines[-1], "for schedules with recompute or offload, the effect of longer or shorter ops is not computed")
        waits = [idle.reload for idle in ppsched.generate("gis", ppsched.Config(4, 16, stages=8, offload_times=4, host_link=0)).offload().evaluate().idle]
        self.assertEqual((lines[-2], waits), ("no device waits for a copy", [0] * 4))
        config = ppsched.Config(4, 16, stages=8, offload_times=4, host_link=0, mem_limit=6)
        waits = [idle.reload for idle in ppsched.generate("gis", config).offload(until_limit=True).evaluate().idle]
        line = run(*GIS, "--offload", "limit", "--mem-limit", 6, "--offload-times", 4, "--host-links", "all", "--explain").stdout.splitlines()[-2]
        self.assertTrue(line.startswith("waiting for reloads or unfinished offloads: device "), line)
        told = {int(device): float(wait) for device, wait in re.findall(r"device (\d) for ([0-9.]+)", line)}
        self.assertEqual(told, {device: wait for device, wait in enumerate(waits) if wait > 0})
        found = json.loads(run(*words, "--format", "json").stdout)["explain"]
        self.assertEqual((found["critical_path"][0]["reason"], found["sensitivities"]), ("begin", {}))
        self.assertEqual(len(found["slack_by_device"]), 4)

    def test_wait(self):
        """Copies that fall behind: forwards wait for them where there is a limit."""
        words = ("schedule", "--strategy", "gis", "--num-devices", 4, "-s", 16, "-b", 8, "--set", "group_size=1", "--offload", "chunks=2",
                 "--backward-input-times", 1, "--backward-weight-times", 1, "--offload-times", 3, "--host-links", "pairs", "--format", "json")
        plain, held = (json.loads(run(*words, *more).stdout) for more in ((), ("--mem-limit", 6, 5, 4, 4)))
        self.assertGreater(max(plain["metrics"]["peak_memory"]), 6)
        self.assertEqual((held["metrics"]["peak_memory"], held["metrics"]["makespan"]), ([6, 5, 4, 4], 135))
        self.assertTrue(any("OFFLOAD_WAIT" in token for queue in held["queues"] for token in queue["ops"]))

    def test_share_and_lead(self):
        schedule = ppsched.generate("gis", ppsched.Config(4, 16, stages=8, offload_times=0.5))
        for words, kept in ((("--offload-share", 0.25), schedule.offload(share=0.25)), (("--reload-prefetch", 3), schedule.offload(prefetch_distance=3))):
            data = json.loads(run(*GIS, "--offload", "all", "--offload-times", 0.5, *words, "--format", "json").stdout)
            self.assertEqual([queue["ops"] for queue in data["queues"]], [list(map(str, queue)) for queue in kept.queues])
        for queue in schedule.offload(prefetch_distance=3).queues:
            for i, op in enumerate(queue):
                if op.kind is ppsched.Kind.RELOAD:
                    ops = [other for other in queue[i + 1:] if other.kind in (ppsched.Kind.F, ppsched.Kind.B, ppsched.Kind.I, ppsched.Kind.W)]
                    self.assertEqual((ops[3].stage, ops[3].microbatch), (op.stage, op.microbatch))
        counts = [sum(op.kind is ppsched.Kind.OFFLOAD for op in queue) for queue in schedule.offload(share=0.25).queues]
        self.assertEqual(counts[0], 8)  # a quarter of 2 chunks of 16 microbatches
        config = ppsched.Config(4, 16, stages=8, offload_times=0.5, mem_limit=7)
        limited = ppsched.generate("gis", config).offload(until_limit=True, share=0.5)
        data = json.loads(run(*GIS, "--offload", "limit", "--offload-share", 0.5, "--offload-times", 0.5, "--mem-limit", 7,
                              "--format", "json").stdout)
        self.assertEqual([queue["ops"] for queue in data["queues"]], [list(map(str, queue)) for queue in limited.queues])
        for share in (0, 1.5, float("nan")):
            with self.assertRaisesRegex(ppsched.Error, "share is .*; it must be above 0"):
                schedule.offload(share=share)
        with self.assertRaisesRegex(ppsched.Error, "prefetch_distance is 2, but until_limit places reloads itself"):
            schedule.offload(until_limit=True, prefetch_distance=2)

    def test_recompute_and_offload(self):
        words = (*GIS, "--offload-times", 0.5, "--format", "json")
        data = json.loads(run(*words, "--recompute", "chunks=1", "--offload", "all").stdout)
        for device, queue in enumerate(data["queues"][:3]):
            stages = [{int(token.split(kind)[0]) for token in queue["ops"] if kind in token} for kind in ("RECOMPUTE", "OFFLOAD", "RELOAD")]
            self.assertEqual(stages, [{device}, {device + 4}, {device + 4}])
        both, one = (json.loads(run(*words, "--recompute", "chunks=1", *more).stdout)["metrics"]["peak_memory"] for more in (("--offload", "all"), ()))
        self.assertTrue(all(a <= b for a, b in zip(both, one)) and both[0] < one[0], (both, one))

    def test_slowdown(self):
        words = (*GIS, "--offload", "all", "--offload-times", 0.5, "--format", "json")
        alone, slowed, standing = (json.loads(run(*words, *more).stdout)["metrics"]["makespan"]
                                   for more in ((), ("--copy-slowdown", 1.5), ("--copy-slowdown", "inf")))
        self.assertLess(alone, slowed)
        self.assertLess(slowed, standing)

    def test_trace(self):
        names = [event["args"]["name"] for event in json.loads(run(*GIS, "--offload", "chunks=1", "--offload-times", 1, "--format", "chrome").stdout)["traceEvents"]
                 if event["name"] == "thread_name"]
        self.assertIn("device 3 offload", names)
        self.assertIn("device 3 reload", names)

    def test_refused(self):
        for words, line in ((("--offload", "chunks=0"), "N of chunks=N must be an integer of 1 or more"),
                            (("--offload", "some"), "it must be chunks=N, all or limit"),
                            (("--offload", "all", "--recompute", "chunks=1", "--offload-times", "1", "--link"), "the page recomputes or offloads, not both"),
                            (("--offload", "all", "--recompute", "chunks=2", "--offload-times", "1"), "--offload all: --recompute chunks=2 recomputes everything that could be offloaded"),
                            (("--offload-share", "0.5"), "--offload-share: nothing is offloaded; give --offload"),
                            (("--offload", "all", "--offload-share", "0"), "--offload-share 0: it must be above 0 and at most 1"),
                            (("--offload", "all", "--offload-share", "nan"), "--offload-share nan: it must be above 0 and at most 1"),
                            (("--offload", "all", "--reload-prefetch", "0"), "--reload-prefetch 0: it must be 1 op or more"),
                            (("--offload", "limit", "--reload-prefetch", "2"), "--reload-prefetch: --offload limit itself chooses which activations are copied and when"),
                            (("--copy-slowdown", "0.5"), "copy_slowdown"),
                            (("--host-links", "all", "--host-link", "0"), "both set which devices share a host link"),
                            (("--offload", "all", "--offload-times", "1", "--host-link", "0.5"), "host_link of device 0 is 0.5; it must be an integer from 0 to 3"),
                            (("--offload", "all"), "--offload all: the speed of copies is unknown; give --host-bandwidth or --offload-times"),
                            (("--strategy", "pipeoffload"), "--strategy pipeoffload: the speed of copies is unknown"),
                            (("--strategy", "po", "--offload", "all"), "pipeoffload offloads by itself; leave --offload out, or use --strategy group"),
                            (("--strategy", "po", "--recompute", "chunks=1"), "leave --recompute chunks=N out"),
                            (("--host-links", "all"), "--host-links: nothing is offloaded; give --offload"),
                            (("--offload", "limit", "--offload-times", "1"), "--offload limit: there is no memory limit; give --mem-limit"),
                            (("--offload", "all", "--offload-times", "1", "--mem-offload", "0"), "with --mem-offload 0 copies free no memory"),
                            (("--offload", "chunks=99", "--offload-times", "1"), "a device has 2 stages; give chunks=1 to chunks=2"),
                            (("--recompute", "chunks=3"), "--recompute chunks=3: a device has 2 stages"),
                            (("--host-bandwidth", "0"), "host_bandwidth")):
            result = run(*GIS, *words)
            self.assertNotEqual(result.returncode, 0, words)
            self.assertIn(line, result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)


if __name__ == "__main__":
    unittest.main()
