# SPDX-License-Identifier: Apache-2.0
"""auto with forwards alone and with both directions: against all orders of small problems, known optima, and requests."""
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import types
import unittest

import ppsched
from ppsched.command.prefill_values import chunk_tokens

CHUNKS = [0.3, 0.5, 0.7, 0.9, 1.1, 1.3, 1.5, 1.7]


def merged(lists):
    """All merges of lists that keep the order of each."""
    lists = [one for one in lists if one]
    if not lists:
        yield []
    for i, one in enumerate(lists):
        for rest in merged(lists[:i] + [one[1:]] + lists[i + 1:]):
            yield [one[0]] + rest


def ends_of(queues, device_of, length, inputs):
    """When each op ends, or None where the queues do not run to their end."""
    ends, clock, at = {}, [0.0] * len(queues), [0] * len(queues)
    progress = True
    while progress:
        progress = False
        for d, queue in enumerate(queues):
            while at[d] < len(queue) and all(other in ends for other, _ in inputs(queue[at[d]])):
                op = queue[at[d]]
                clock[d] = max([clock[d]] + [ends[other] + delay for other, delay in inputs(op)]) + length(op)
                ends[op] = clock[d]
                at[d] += 1
                progress = True
    return ends if all(at[d] == len(queue) for d, queue in enumerate(queues)) else None


class Orders(unittest.TestCase):
    def test_forwards_at_the_optimum(self):
        """All orders of stages on two devices, by placement, with uneven times, delays and microbatches."""
        draw = random.Random(5)
        for number in range(25):
            placement = ["loop", "v", [0, 1, 1], [0, 1, 0], "bidirectional"][number % 5]
            stages = {"loop": 4, "v": 4, "bidirectional": 2}.get(placement, 3) if isinstance(placement, str) else 3
            microbatches = 2 if stages == 4 else 3
            times = [draw.randint(1, 9) for _ in range(stages)]
            scale = [draw.choice([0.5, 1, 2]) for _ in range(microbatches)]
            delay = draw.choice([0, 0, 1])
            config = ppsched.Config(2, microbatches, stages, forward_only=True, placement=placement, forward_times=times, microbatch_scale=scale,
                                    p2p_time=delay)
            found = ppsched.generate("auto", config).evaluate().metrics.makespan
            first = {"loop": [0, 1, 0, 1], "v": [0, 1, 1, 0], "bidirectional": [0, 1]}[placement] if isinstance(placement, str) else placement
            device = lambda s, m: 1 - first[s] if placement == "bidirectional" and m >= microbatches - microbatches // 2 else first[s]
            inputs = lambda op: [((op[0] - 1, op[1]), delay if device(op[0] - 1, op[1]) != device(*op) else 0)] if op[0] > 0 else []
            ops = [[(s, m) for s in range(stages) for m in range(microbatches) if device(s, m) == d] for d in range(2)]
            best = float("inf")
            for queues in itertools.product(*(map(list, itertools.permutations(one)) for one in ops)):
                if any(queue.index((s, m)) > queue.index((s + 1, m)) for queue in queues for s, m in queue if (s + 1, m) in queue):
                    continue
                ends = ends_of(queues, device, lambda op: times[op[0]] * scale[op[1]], inputs)
                best = min(best, max(ends.values()) if ends else best)
            with self.subTest(number=number, placement=placement):
                self.assertAlmostEqual(found, best)
                self.assertLessEqual(ppsched.lower_bound(config, "makespan").value, best * (1 + 1e-9))

    def test_throughput_at_the_optimum(self):
        """All orders of small problems, each repeated until its ends advance by the same time again and again."""
        draw = random.Random(11)
        beyond_work = 0
        for number in range(24):
            stages, microbatches, first = [(4, 2, [0, 1, 0, 1]), (3, 3, [0, 1, 0]), (4, 1, [0, 1, 1, 0]), (4, 2, [0, 1, 1, 0]), (3, 2, [0, 1, 2])][number % 5]
            times = [draw.randint(1, 9) for _ in range(stages)]
            delay = draw.choice([0, 1, 3])
            requests = sorted(draw.randint(0, 2) for _ in range(microbatches))
            config = ppsched.Config(max(first) + 1, microbatches, stages, forward_only=True, placement=first, forward_times=times, p2p_time=delay,
                                    microbatch_request=requests, options={"objective": "throughput"})
            found = ppsched.generate("auto", config).period()
            ops = [[(s, m) for s in range(stages) for m in range(microbatches) if first[s] == d] for d in range(max(first) + 1)]
            best = float("inf")
            for queues in itertools.product(*(map(list, itertools.permutations(one)) for one in ops)):
                if any(requests[m] == requests[m + 1] and queue.index((s, m)) > queue.index((s, m + 1)) for queue in queues for s, m in queue if (s, m + 1) in queue):
                    continue
                best = min(best, self.period(queues, first, times, delay))
            with self.subTest(number=number):
                self.assertAlmostEqual(found, best)
            beyond_work += best > max(sum(times[s] for s, _ in own) for own in ops)
        self.assertGreater(beyond_work, 3)

    def test_no_span_is_below_its_bound(self):
        """The span of forwards is not the path of a microbatch: no device is there for the whole path."""
        for microbatches, speeds in itertools.product((1, 2), ([1, 1], [1, 0.5])):
            config = ppsched.Config(2, microbatches, forward_only=True, device_speeds=speeds)
            layers = ppsched.Layers([{"name": f"l{i}", "forward_time": time, "backward_time": 1} for i, time in enumerate((2, 3, 1, 3, 2, 1))])
            spans = [ppsched.generate("gpipe", ppsched.config_from_layers(config, layers, ppsched.Split([first, 6 - first], [0] * 6))).evaluate().metrics.span
                     for first in range(1, 6)]
            best = ppsched.plan(config, layers=layers, strategies="gpipe", objective="span").best
            self.assertEqual(best.span, min(spans))
            self.assertLessEqual(best.bound, best.span)

    def period(self, queues, first, times, delay):
        """Of queues of forwards that repeat."""
        inputs = lambda op: [((op[0] - 1, op[1]), delay if first[op[0] - 1] != first[op[0]] else 0)] if op[0] > 0 else []
        return self.period_of_rounds(queues, lambda op: times[op[0]], inputs)

    def period_of_rounds(self, queues, length, inputs, rounds=72, last=12):
        """Of queues that repeat: their ends in many rounds, of which the last are compared; infinite where they stop."""
        of_round = lambda op: [((*other, op[-1]), delay) for other, delay in inputs(op[:-1])]
        ends = ends_of([[(*op, r) for r in range(rounds) for op in queue] for queue in queues], None, lambda op: length(op[:-1]), of_round)
        if ends is None:
            return float("inf")
        end = lambda r: [max(ends[(*op, r)] for op in queue) for queue in queues]
        return max(b - a for a, b in zip(end(rounds - 1 - last), end(rounds - 1))) / last

    def test_period_of_training_on_devices_of_other_speeds(self):
        """Against all ops of many rounds, whose times are divided by the speed of their device."""
        draw, beyond_work = random.Random(7), 0
        for number in range(24):
            strategy, devices, stages = [("gpipe", 3, 3), ("1f1b", 4, 4), ("interleaved_1f1b", 2, 4), ("zb_h1", 3, 3), ("zbv", 2, 4)][number % 5]
            costs = {name: [draw.randint(1, 9) for _ in range(stages)] for name in ("forward_times", "backward_input_times", "backward_weight_times")}
            speeds, delay = [draw.choice([0.5, 0.8, 1, 2]) for _ in range(devices)], draw.choice([0, 0.5, 3])
            config = ppsched.Config(devices, 4, stages, device_speeds=speeds, p2p_time=delay, **costs)
            schedule = ppsched.generate(strategy, config)
            first = [schedule.device_of(stage) for stage in range(stages)]
            whole = [i + w for i, w in zip(costs["backward_input_times"], costs["backward_weight_times"])]
            times = {"F": costs["forward_times"], "B": whole, "I": costs["backward_input_times"], "W": costs["backward_weight_times"]}
            queues = [[(op.kind.name, op.stage, op.microbatch) for op in queue] for queue in schedule.queues]
            back = {op[1:]: op[0] for queue in queues for op in queue if op[0] in "BI"}

            def inputs(op, stages=stages, first=first, back=back, delay=delay):
                kind, s, m = op
                if kind == "W":
                    return [(("I", s, m), 0)]
                other = s - 1 if kind == "F" else s + 1
                own = [] if kind == "F" else [(("F", s, m), 0)]
                return own + ([(("F" if kind == "F" else back[other, m], other, m), delay if first[other] != first[s] else 0)] if 0 <= other < stages else [])

            length = lambda op, times=times, speeds=speeds, first=first: times[op[0]][op[1]] / speeds[first[op[1]]]
            with self.subTest(number=number):
                self.assertAlmostEqual(schedule.period(), self.period_of_rounds(queues, length, inputs))
            beyond_work += schedule.period() > max(sum(map(length, queue)) for queue in queues) * (1 + 1e-9)
        self.assertGreater(beyond_work, 3)

    def test_period_of_any_schedule(self):
        """Of training, too: between the work of a device and the span; and that of whole iterations one after another without a flush."""
        draw = random.Random(3)
        for strategy, devices, stages in (("gpipe", 3, 3), ("1f1b", 4, 4), ("interleaved_1f1b", 2, 4), ("zb_h1", 3, 3), ("dualpipe", 4, 4)):
            config = ppsched.Config(devices, 8, stages, forward_times=[draw.randint(1, 9) for _ in range(stages)],
                                    backward_times=[draw.randint(2, 9) for _ in range(stages)], p2p_time=0.5)
            schedule = ppsched.generate(strategy, config)
            timeline = schedule.evaluate()
            period = schedule.period()
            self.assertEqual(period, ppsched.Schedule.from_text(timeline.export("json"), "json").period(config))
            self.assertLessEqual(period, timeline.metrics.span * (1 + 1e-9))
            self.assertGreaterEqual(period, max(device.busy for device in timeline.device_metrics) * (1 - 1e-9))
        with self.assertRaisesRegex(ppsched.Error, "sends"):
            ppsched.generate("1f1b", ppsched.Config(2, 2)).lower("by_time").period()

    def test_throughput_of_the_command(self):
        run = lambda *words: subprocess.run([sys.executable, "-m", "ppsched", "schedule", *words], capture_output=True, text=True, check=False)
        words = "--strategy auto --placement v --devices 2 --stages 4 --forward-only --requests 1 2 --objective throughput".split()
        answer = json.loads(run(*words, "--json").stdout)
        self.assertAlmostEqual(answer["throughput"], 2 / 8)  # device 0 begins before the 6 ops of device 1, and ends after them
        self.assertIn("throughput 0.25 requests per unit of time", run(*words).stdout)
        told = run(*"--strategy auto --devices 2 --microbatches 4 --objective throughput".split())
        self.assertEqual((told.returncode != 0, len(told.stderr.strip().splitlines())), (True, 1))
        self.assertIn("objective throughput is for forwards alone", told.stderr)

    def test_known_optima(self):
        chunks = {"microbatch_scale": CHUNKS, "forward_only": True}
        of = lambda config: ppsched.generate("auto", config).evaluate().metrics.makespan
        self.assertAlmostEqual(of(ppsched.Config(4, 8, 8, placement="loop", **chunks)), 21.1)
        self.assertLessEqual(of(ppsched.Config(4, 8, 8, placement="v", **chunks)), 22.4)
        self.assertAlmostEqual(of(ppsched.Config(4, 8, 4, forward_times=2, **chunks)), 26.2)
        crossed = ppsched.Config(4, 6, placement="bidirectional", forward_times=1, backward_times=3, split_backward=False, mem_limit=4)
        timeline = ppsched.generate("auto", crossed).evaluate()
        self.assertLessEqual(timeline.metrics.makespan, 30)
        self.assertLessEqual(max(device.peak_memory for device in timeline.device_metrics), 4)

    def test_any_number_of_microbatches_in_both_directions(self):
        for microbatches in range(1, 6):
            for limit in (1, 2, 3):
                config = ppsched.Config(4, microbatches, placement="bidirectional", mem_limit=limit, options={"effort": 1})
                timeline = ppsched.generate("auto", config).evaluate()
                timeline.schedule.check()
                self.assertLessEqual(max(device.peak_memory for device in timeline.device_metrics), limit)
                self.assertGreaterEqual(timeline.metrics.makespan, ppsched.lower_bound(config, "makespan").value * (1 - 1e-9))

    def test_chunks_of_a_prompt(self):
        """Of the command and of Python, against all chunks; where one stage is slower too."""
        for stages, block, tokens, chunks in (([1, 1, 1], 4, 30, None), ([1, 2, 1, 0.5], 5, 41, None), ([2, 2], 3, 27, 4)):
            config = ppsched.Config(len(stages), 1, forward_only=True, forward_times=stages, mem_forward=8)
            found = ppsched.prefill_chunks(config, tokens, constant=2, linear=0.25, quadratic=0.0625, block=block, chunks=chunks)
            blocks = -(-tokens // block)
            best = float("inf")
            for cuts in itertools.product((False, True), repeat=blocks - 1):
                ends = [block * (i + 1) for i, cut in enumerate(cuts) if cut] + [tokens]
                if chunks in (None, len(ends)):
                    free, before = [0.0] * len(stages), 0
                    for end in ends:
                        there, size = 0.0, end - before
                        for s, time in enumerate(stages):
                            free[s] = there = max(free[s], there) + time * (2 + 0.25 * size + 0.0625 * size * (before + size / 2))
                        before = end
                    best = min(best, free[-1])
            self.assertEqual((sum(found.tokens), found.is_best, found.makespan), (tokens, True, best))
            metrics = ppsched.generate("looped_bfs", found.config).evaluate().metrics
            self.assertEqual(metrics.makespan, best)
            self.assertAlmostEqual(metrics.peak_memory, 8)
        for wrong, part in (({"tokens": 0}, "tokens is 0; it must be 1 or more"), ({"tokens": 8, "block": 0}, "block is 0"), ({"tokens": 8, "chunks": 9}, "chunks is 9"),
                            ({"tokens": 8, "linear": -1}, "linear of the prefill is -1"), ({"tokens": 8, "strategy": "1f1b"}, "needs backwards"),
                            ({"tokens": 10**7}, "blocks; at most")):
            with self.assertRaises(ppsched.Error) as caught:
                ppsched.prefill_chunks(ppsched.Config(2, 1, forward_only=True), **{"constant": 1, **wrong})
            self.assertIn(part, str(caught.exception))

    def test_chunks_of_several_prompts(self):
        """Two prompts against all chunks of both; the config has a request for each."""
        stages, block, tokens = [1, 1, 1], 4, [22, 9]

        def cut(own):
            blocks = -(-own // block)
            for cuts in itertools.product((False, True), repeat=blocks - 1):
                yield [block * (i + 1) for i, cut in enumerate(cuts) if cut] + [own]
        best = float("inf")
        for both in itertools.product(*map(cut, tokens)):
            free = [0.0] * len(stages)
            for ends in both:
                before = 0
                for end in ends:
                    there, size = 0.0, end - before
                    for s, time in enumerate(stages):
                        free[s] = there = max(free[s], there) + time * (2 + 0.25 * size + 0.0625 * size * (before + size / 2))
                    before = end
            best = min(best, free[-1])
        found = ppsched.prefill_chunks(ppsched.Config(3, 1, forward_only=True), tokens, constant=2, linear=0.25, quadratic=0.0625, block=block)
        self.assertEqual((found.is_best, found.makespan), (True, best))
        requests = found.config.microbatch_request
        self.assertEqual([sum(size for size, own in zip(found.tokens, requests) if own == request) for request in (0, 1)], tokens)
        for wrong, part in (([], "prefill has 0 prompts"), ([4, 0], "tokens[1] is 0"), ([8, 8, 8], "3 blocks of 3 prompts; give 3 to 3 chunks")):
            with self.assertRaises(ppsched.Error) as caught:
                ppsched.prefill_chunks(ppsched.Config(2, 1, forward_only=True), wrong, constant=1, block=8, chunks=2)
            self.assertIn(part, str(caught.exception))

    def test_several_prompts_of_a_config_file(self):
        values = {"num_devices": 4, "strategy": "looped_bfs", "prefill": {"c": 1, "a": 0.001, "b": 1e-8, "tokens": [32768, 2048, 8192], "block": 256}}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "prompts.json"
            path.write_text(json.dumps(values), encoding="utf-8")
            run = lambda *options: subprocess.run([sys.executable, "-m", "ppsched", "schedule", "-c", str(path), *options], capture_output=True, text=True, check=False)
            answer, text = json.loads(run("--json").stdout), run().stdout
            self.assertEqual([sum(own) for own in answer["chunk_tokens"]], [32768, 2048, 8192])
            self.assertEqual(len(answer["request_ends"]), 3)
            self.assertIn("no other chunks are faster", text)
            self.assertIn(", 2048, ", text)
            told = run("--microbatches", "2").stderr
            self.assertIn("168 blocks of 3 prompts; give 3 to 168 chunks", told)
            self.assertEqual(len(told.strip().splitlines()), 1)

    def test_what_a_prefill_would_scale_wrongly(self):
        for name, value in (("op_overhead", 0.5), ("microbatch_scale", 2), ("microbatch_request", 0)):
            with self.assertRaises(ppsched.Error) as caught:
                ppsched.prefill_chunks(ppsched.Config(2, 1, forward_only=True, **{name: value}), 8, constant=1)
            self.assertIn(f"{name} is given", str(caught.exception))

    def test_a_limit_between_neighbouring_numbers(self):
        """The middle of two neighbouring doubles is one of them; the bisection ends there, too."""
        config = ppsched.Config(3, 1, forward_only=True)
        found = ppsched.prefill_chunks(config, 1664, constant=0.3, linear=0.003125, quadratic=6.103515625e-06, block=128)
        self.assertEqual((sum(found.tokens), found.is_best), (1664, True))

    def test_tokens_of_chunks_in_one_pass(self):
        """However many prompts there are."""
        passes = []

        class Tokens(list):
            def __iter__(self):
                passes.append(None)
                return super().__iter__()

        found = ppsched.Chunks(Tokens([5, 4, 3, 2, 1]), 0, 0, True, types.SimpleNamespace(microbatch_request=[0, 0, 1, 2, 2]))
        self.assertEqual((chunk_tokens(found, True), len(passes)), ([[5, 4], [3], [2, 1]], 1))

    def test_the_key_of_a_config_file(self):
        prefill = {"c": 1, "a": 0.001, "b": 1e-8, "tokens": 32768, "block": 256}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "prefill.json"

            def run(*options, **keys):
                path.write_text(json.dumps({"num_devices": 4, "prefill": prefill, **keys}), encoding="utf-8")
                return subprocess.run([sys.executable, "-m", "ppsched", "schedule", "-c", str(path), *options], capture_output=True, text=True, check=False)
            answer = json.loads(run("--json").stdout)
            self.assertEqual(answer["chunk_tokens"], [3840, 3584, 3584, 3328, 3328, 3072, 3072, 3072, 3072, 2816])
            self.assertEqual(len(answer["request_ends"]), 1)
            self.assertIn("no other chunks are faster; equal chunks take 63.6127", run().stdout)
            self.assertEqual(len(json.loads(run("--json", "--microbatches", "5").stdout)["chunk_tokens"]), 5)
            for wrong, part in (({"prefill": {**prefill, "d": 1}}, "prefill has no 'd'"), ({"prefill": {"c": 1}}, "prefill needs tokens"), ({"slices": 2}, "leave out slices"),
                                ({"prefill": {**prefill, "chunks": 3}, "num_batches": 4}, "a microbatch is a chunk"), ({"forward_only": False}, "forwards only"),
                                ({"strategy": "zb_h1"}, "needs backwards")):
                result = run(**wrong)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(part, result.stderr)

    def test_requests(self):
        requests = [0, 0, 0, 1, 2, 2, 3, 3]
        for objective in ("makespan", "mean_end", "quantile_end"):
            config = ppsched.Config(4, 8, forward_only=True, microbatch_request=requests, options={"objective": objective})
            for queue in ppsched.generate("auto", config).queues:
                for chunk in range(1, 8):
                    order = [op.microbatch for op in queue]
                    self.assertTrue(requests[chunk] != requests[chunk - 1] or order.index(chunk - 1) < order.index(chunk))
        with self.assertRaisesRegex(ppsched.Error, "forwards alone"):
            ppsched.generate("1f1b", ppsched.Config(4, 8, microbatch_request=requests)).evaluate()


if __name__ == "__main__":
    unittest.main()
