# SPDX-License-Identifier: Apache-2.0
"""Sends and receives of stage graphs: a run of all rules that shares nothing with the library."""
import json
import os
import random
import tempfile
import unittest

from in_process import run_command
from test_graphs import KSHAPE, Problem, token

import ppsched

KSHAPE_ARGUMENTS = {"devices": 4, "microbatches": 3, "stages": 5, "placement": [0, 1, 2, 3, [0, 1, 2, 3]], "stage_inputs": [[], [0], [], [2], [1, 3]],
                    "split_backward": False, "forward_times": 1, "backward_times": [3, 3, 3, 3, 1]}
MODELS = [(order, rendezvous) for order in ("group", "direction", "pair", "sends", "none") for rendezvous in (False, True)]


class Lowered:
    """A lowered schedule of a problem, with its ops as (kind, stage, microbatch, stage and device at the other end)."""

    def __init__(self, problem, queues):
        self.problem = problem
        self.places = [(stage, device) for stage, own in enumerate(problem.place) for device in own]
        self.queues = [[self.read(op) for op in queue] for queue in queues]
        self.sends = {self.value(d, op): (d, op) for d, queue in enumerate(self.queues) for op in queue if op[0].startswith("SEND")}

    def read(self, op):
        return op.kind.name, op.stage, op.microbatch, None if op.place is None else self.places[op.place]

    @staticmethod
    def value(device, op):
        """What an op sends or receives: direction, microbatch, and stage and device of both ends."""
        own, other = (op[1], device), op[3]
        return (op[0][-1], op[2]) + ((own, other) if op[0].startswith("SEND") else (other, own))

    def wanted(self, ops):
        """The values that go from a device to another."""
        p = self.problem
        for op in ops:
            for need in p.needs(op, ops):
                if need[1] != op[1]:
                    for x in p.place[need[1]]:
                        for y in p.place[op[1]]:
                            if x != y:
                                yield "F" if op[0] == "F" else "B", op[2], (need[1], x), (op[1], y)

    def run(self, order, rendezvous, occupies=lambda value: 0.0, latency=0.0):
        """The time when all ends, by looking at everything at each moment; None if it stops before."""
        p, now = self.problem, 0.0
        at, free, done, turns = [0] * p.devices, [0.0] * p.devices, {}, {}
        asked, there, link_free, received, ended = {}, {}, {}, set(), {}
        ops = {op[:3] for queue in self.queues for op in queue if op[3] is None}
        takes = {(op, d): [v for v in self.sends if v[3] == (op[1], d) and v[1] == op[2] and (v[0] == "F") == (op[0] == "F") and op[0] != "W"]
                 for d, queue in enumerate(self.queues) for op in queue if op[3] is None}

        def queue_of(d, op):
            send = op[0].startswith("SEND")
            if order == "group" or (order == "sends" and send):
                return "one"
            if order == "direction":
                return op[0][-1]
            return (op[3][1], send) if order == "pair" else (op, "free")

        def channel_of(value):
            ends = (value[2][1], value[3][1])
            return ends if order in ("group", "pair") else ends + (value[0],) if order == "direction" else value

        sent_in = {}
        for d, queue in enumerate(self.queues):
            for op in queue:
                if op[0].startswith("SEND"):
                    sent_in.setdefault(channel_of(self.value(d, op)), []).append(self.value(d, op))

        def has_turn(d, op):
            index = self.queues[d].index(op)
            if index >= at[d]:
                return False
            return all((d, other) in done or queue_of(d, other) != queue_of(d, op) for other in self.queues[d][:index] if other[3] is not None)

        def step():
            for d, queue in enumerate(self.queues):
                while at[d] < len(queue) and (queue[at[d]][3] is not None) and free[d] <= now:
                    at[d] += 1
                    return True
                for op in [op for op in queue[:at[d]] if op[3] is not None and (d, op) not in done]:
                    value = self.value(d, op)
                    sender, send = self.sends[value]
                    receive = ("RECV_" + value[0], value[3][0], value[1], value[2])
                    channel = sent_in[channel_of(value)]
                    before = channel[:channel.index(value)]
                    if op == send and d == sender and value not in asked and has_turn(d, op):
                        if not (rendezvous and not has_turn(value[3][1], receive)) and all(other in asked for other in before):
                            link = (sender, value[3][1])
                            asked[value] = now
                            link_free[link] = max(now, link_free.get(link, 0.0)) + occupies(value)
                            ended[value], there[value] = link_free[link], link_free[link] + latency
                            return True
                    if op == send and d == sender and value in asked and (there if order == "sends" else ended)[value] <= now:
                        done[(d, op)] = now
                        return True
                    if op[0].startswith("RECV") and value in there and there[value] <= now and has_turn(d, op) and all(v in received for v in before):
                        done[(d, op)] = now
                        received.add(value)
                        return True
                if at[d] < len(queue) and queue[at[d]][3] is None and free[d] <= now:
                    op = queue[at[d]]
                    own = p.place[op[1]]
                    if all(at[x] < len(self.queues[x]) and self.queues[x][at[x]] == op and free[x] <= now for x in own) and \
                            all(turns.get(need, 2e9) <= now for need in p.needs(op[:3], ops) if set(p.place[need[1]]) & set(own) or need[1] == op[1]) and \
                            all(v in received for x in own for v in takes[(op, x)]):
                        turns[op[:3]] = now + p.time(op[:3])
                        for x in own:
                            at[x] += 1
                            free[x] = turns[op[:3]]
                        return True
            return False

        while True:
            while step():
                pass
            later = [t for t in [*free, *there.values(), *ended.values()] if t > now]
            if not later:
                break
            now = min(later)
        all_done = all(at[d] == len(queue) for d, queue in enumerate(self.queues))
        comms = sum(op[3] is not None for queue in self.queues for op in queue)
        return max([0.0, *turns.values()]) if all_done and len(done) == comms else None


def drawn(rng, **sizes):
    """A problem with a graph, its queues and its schedule."""
    while True:
        problem = Problem(rng, **sizes)
        split = problem.split and rng.random() < 0.7
        queues = problem.random_queues(rng, split)
        schedule = ppsched.Schedule.from_queues(problem.config(), [[token(op) for op in queue] for queue in queues])
        if schedule.has_graph:
            return problem, queues, schedule


class GraphLoweringTest(unittest.TestCase):
    def test_all_values_are_sent_and_nothing_stops(self):
        rng = random.Random(int(os.environ.get("PPSCHED_GRAPH_SEED", "3")))
        sent = 0
        for _ in range(int(os.environ.get("PPSCHED_GRAPHS", "60"))):
            problem, queues, schedule = drawn(rng)
            ahead = rng.choice([0, 0, 1, 2])
            lowered = schedule.lower("just_in_time", receive_prefetch=ahead)
            own = Lowered(problem, lowered.queues)
            self.assertEqual([[op[:3] for op in queue if op[3] is None] for queue in own.queues], queues)
            wanted = sorted(own.wanted({op for queue in queues for op in queue}))
            self.assertEqual(sorted(own.sends), wanted)
            self.assertEqual(sorted(own.value(d, op) for d, queue in enumerate(own.queues) for op in queue if op[0].startswith("RECV")), wanted)
            for order, rendezvous in MODELS:
                for blocking in (False, True):
                    self.assertTrue(lowered.prove(order, rendezvous=rendezvous, blocking=blocking, batched=rng.random() < 0.5).safe)
            plain, timed = schedule.evaluate(), lowered.evaluate_transfers()
            for d in range(problem.devices):
                computes = [(span.start, span.end) for span, op in zip(timed.spans[d], own.queues[d]) if op[3] is None]
                self.assertEqual(computes, [(span.start, span.end) for span in plain.spans[d]])
                self.assertEqual((timed.device_metrics[d].peak_memory, timed.device_metrics[d].busy),
                                 (plain.device_metrics[d].peak_memory, plain.device_metrics[d].busy))
                idle = timed.idle[d]
                whole = sum(getattr(idle, name) for name in ("fill", "drain", "neighbour", "imbalance", "transfer", "link", "head_of_line"))
                self.assertAlmostEqual(whole, timed.metrics.makespan - timed.device_metrics[d].busy)
            self.assertEqual(lowered.evaluate().metrics.makespan, plain.metrics.makespan)
            self.assertEqual(sum(link.transfers for link in lowered.links()), len(wanted))
            again = ppsched.Schedule.from_text(timed.export("json"), "json")
            self.assertEqual([list(queue) for queue in again.queues], [list(queue) for queue in lowered.queues])
            sent += len(wanted)
        self.assertGreater(sent, 200)

    def test_buffers_of_sends_and_receives(self):
        """Memory of buffers between all moments at which it changes, from the times of ops."""
        rng = random.Random(6)
        held = 0
        for _ in range(40):
            problem, _, schedule = drawn(rng)
            memory = {"mem_receive_forward": 1, "mem_receive_backward": 10, "mem_send_forward": 100, "mem_send_backward": 1000}
            config = ppsched.Config(**{**problem.arguments(), "mem_forward": 0, "mem_backward_input": 0, "activation_bytes": 1, "p2p_bandwidth": 2, **memory})
            lowered = schedule.lower("just_in_time", receive_prefetch=rng.choice([0, 1]))
            timeline = lowered.evaluate_transfers(config)
            own = Lowered(problem, lowered.queues)
            for d, queue in enumerate(own.queues):
                spans, holds, came = timeline.spans[d], [], 0.0
                for op, span in zip(queue, spans):
                    if op[3] is None:
                        came = span.end
                        continue
                    kind, stage, microbatch, _ = op
                    backs = ("B", "I")
                    if kind.startswith("RECV"):
                        end = [to.start if kind[-1] == "F" else to.end for other, to in zip(queue, spans)
                               if other[3] is None and other[1:3] == (stage, microbatch) and (other[0] == "F" if kind[-1] == "F" else other[0] in backs)]
                        holds.append((came, end[0], 1 if kind[-1] == "F" else 10))
                    else:
                        made = [of.end for other, of in zip(queue, spans)
                                if other[3] is None and other[1:3] == (stage, microbatch) and (other[0] == "F" if kind[-1] == "F" else other[0] in backs)]
                        holds.append((made[0], span.end, 100 if kind[-1] == "F" else 1000))
                times = sorted({time for hold in holds for time in hold[:2]})
                points = timeline.memory(d)
                for a, b in zip(times, times[1:]):
                    middle = (a + b) / 2
                    level = ([0] + [point.memory for point in points if point.time <= middle])[-1]
                    self.assertEqual(level, sum(size for begin, end, size in holds if begin < middle < end))
                    held += level > 0
                slots = {}
                for i, (op, buffer) in enumerate(zip(queue, lowered.buffers(d))):
                    if op[0].startswith("RECV"):
                        self.assertLess(slots.get(buffer.slot, -1), i)
                        slots[buffer.slot] = buffer.until
                        taker = queue[buffer.until]
                        self.assertEqual((taker[1:3], taker[0] == "F"), (op[1:3], op[0] == "RECV_F"))
        self.assertGreater(held, 300)

    def lifetimes(self, own, device):
        """By use: for each holder of a slot its first and last position, from what reads it."""
        p, queue = own.problem, own.queues[device]
        at = {op: i for i, op in enumerate(queue)}
        passes, received, whole = {}, {}, {}
        for (kind, s, m, peer), i in at.items():
            if kind == "F":
                back = [at[k, s, m, None] for k in "BIW" if (k, s, m, None) in at]
                reads = [k for op, k in at.items() if op[2] == m and ((op[0] == "F" and s in p.inputs[op[1]]) or (op[0] == "SEND_F" and op[1] == s))]
                passes[s, m] = i, max([i, *back, *reads])
            elif kind.startswith("RECV"):
                ends = [at[k, s, m, None] for k in "FBIW" if (k, s, m, None) in at]
                received[s, kind, own.places.index(peer), m] = i, max(ends)
        for (_, m), (first, last) in passes.items():
            before = whole.get(m, (first, last))
            whole[m] = min(first, before[0]), max(last, before[1])
        return {"stage_microbatch": passes, "microbatch": whole, "receive": received}

    def test_slots(self):
        rng = random.Random(int(os.environ.get("PPSCHED_GRAPH_SEED", "8")))
        shared = several = 0
        for _ in range(int(os.environ.get("PPSCHED_GRAPHS", "60"))):
            problem, _, schedule = drawn(rng)
            lowered = schedule.lower("just_in_time", receive_prefetch=rng.choice([0, 1]))
            own = Lowered(problem, lowered.queues)
            for d in range(problem.devices):
                for use, wanted in self.lifetimes(own, d).items():
                    found, keys = {}, []
                    for arena in lowered.arenas(d, use):
                        ops = [lowered.queues[d][life.first] for life in arena.lifetimes]
                        places = {op.place for op in ops} if use == "receive" else {None}
                        self.assertEqual(len(places), 1)
                        keys.append((arena.stage, arena.kind.name, *places))
                        held, most = {}, 0
                        for life in sorted(arena.lifetimes, key=lambda life: life.first):
                            self.assertLess(held.get(life.slot, -1), life.first)
                            held[life.slot] = life.last
                            most = max(most, sum(other.first <= life.first <= other.last for other in arena.lifetimes))
                            key = {"stage_microbatch": (life.stage, life.microbatch), "microbatch": life.microbatch,
                                   "receive": (life.stage, life.kind.name, *places, life.microbatch)}[use]
                            self.assertNotIn(key, found)
                            found[key] = life.first, life.last
                        self.assertEqual((arena.slots, set(held)), (most, set(range(most))))
                        shared += most < len(arena.lifetimes)
                    self.assertEqual(found, wanted)
                    self.assertEqual(len(keys), len(set(keys)))
                    several += len({key[:2] for key in keys}) < len(keys)
        self.assertGreater(min(shared, several), 20)

    def test_connections(self):
        rng = random.Random(9)
        for _ in range(40):
            problem, _, schedule = drawn(rng)
            ends = sorted((x, y, i, s) for s, inputs in enumerate(problem.inputs) for i in inputs for x in problem.place[i] for y in problem.place[s] if x != y)
            made = schedule.connections("stages")
            self.assertEqual(sorted((one.sender, one.receiver, one.sending_stage, one.receiving_stage) for one in made), ends)
            links = schedule.connections()
            self.assertEqual(sorted((one.sender, one.receiver) for one in links), sorted({pair for x, y, _, _ in ends for pair in ((x, y), (y, x))}))
            for all_of_them in (made, links):
                rounds = [one.round for one in all_of_them]
                self.assertEqual(rounds, sorted(rounds))
                busy = [(one.round, device) for one in all_of_them for device in (one.sender, one.receiver)]
                self.assertEqual(len(busy), len(set(busy)))

    def test_what_cannot_have_slots(self):
        config = ppsched.Config(3, 1, stages=3, placement=[0, 1, 2], stage_inputs=[[], [0], [0]], split_backward=False)
        good = [["0F0", "0SEND_F0>1", "0SEND_F0>2", "0RECV_B0>1", "0RECV_B0>2", "0B0"], ["1RECV_F0>0", "1F0", "1B0", "1SEND_B0>0"],
                ["2RECV_F0>0", "2F0", "2B0", "2SEND_B0>0"]]
        self.assertEqual([arena.slots for arena in ppsched.Schedule.from_queues(config, good).arenas(0, "receive")], [1, 1])
        for device, queue, part in ((0, [*good[0][:5], "0RECV_B0>2", "0B0"], "a second time"), (0, [*good[0], "0RECV_B0>2"], "after the backward"),
                                    (1, ["1F0", "1RECV_F0>0"], "missing the backward"), (2, ["1F0", "1B0"], "is on another device|wrong device")):
            with self.assertRaisesRegex(ppsched.Error, part):
                ppsched.Schedule.from_queues(config, [queue if d == device else good[d] for d in range(3)]).arenas(device, "receive")

    def test_capture(self):
        """The graph of the command, in text and JSON."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "k.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump({**{name: value for name, value in KSHAPE_ARGUMENTS.items() if name not in ("devices", "microbatches", "stages")},
                           "num_devices": 4, "num_batches": 3, "num_stages": 5}, file)
            words = ["schedule", "--strategy", "auto", "-c", path, "--quiet", "--lower", "just_in_time", "--capture", "--slots", "--json"]
            rows = json.loads(run_command(words).stdout)
            made = ppsched.generate("auto", ppsched.Config(**KSHAPE_ARGUMENTS)).lower("just_in_time")
            self.assertEqual((rows["capture"]["ok"], rows["capture"]["reasons"]), (True, []))
            self.assertEqual(sorted(map(tuple, rows["capture"]["communicators"])), sorted((link.sender, link.receiver) for link in made.links()))
            for row in rows["capture"]["buffers"]:
                arenas = made.arenas(row["device"], "receive")
                self.assertEqual([own[:3] for own in row["receive"]], [[arena.stage, arena.kind.name[-1], arena.slots] for arena in arenas])
                received = [own[1:] for own in rows["slots"][row["device"]]["receive"]]
                self.assertEqual(len(received), sum(len(arena.lifetimes) for arena in arenas))
                self.assertEqual({own[-1] for own in received}, {own[3] for own in row["receive"]})
            self.assertIn("the stages form a graph", rows["capture_lines"]["transformer_engine"][0])
            self.assertIn("of stage 4 from place 3", run_command(words[:-2]).stdout)

    def test_iterations_that_flush(self):
        config = ppsched.Config(**KSHAPE_ARGUMENTS, iterations=3, p2p_time=0.25)
        schedule = ppsched.generate("auto", config)
        lowered = schedule.lower("just_in_time")
        timeline = lowered.evaluate_transfers()
        self.assertEqual(timeline.metrics.makespan, schedule.evaluate().metrics.makespan)
        self.assertTrue(lowered.prove("group", rendezvous=True).safe)

    def test_a_weight_gradient_after_the_flush(self):
        """A receive of the next iteration before the last W: the device would wait for a flush that waits for it."""
        for place in ([0, 1], [0, [0, 1]]):
            config = ppsched.Config(2, 1, 2, iterations=2, placement=place, forward_times=1)
            made = ppsched.generate("auto", config).lower("just_in_time")
            queues = [[str(op) for op in queue] for queue in made.queues]
            late = queues[1].index("1W0")
            queues[1][late:late + 2] = reversed(queues[1][late:late + 2])
            self.assertTrue(queues[1][late].startswith("1RECV_F1"))
            mixed = ppsched.Schedule.from_queues(config, queues)
            text = mixed.prove().text
            self.assertEqual(text, f"device 1: 1W0 at position {late + 1} comes too late, after the flush of its iteration")
            with self.assertRaises(ppsched.InvalidSchedule):
                mixed.evaluate_transfers()

    def test_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path, made = os.path.join(folder, "graph.json"), os.path.join(folder, "lowered.json")
            with open(path, "w", encoding="utf-8") as file:
                json.dump(KSHAPE, file)
            words = ["schedule", "--strategy", "auto", "-c", path]
            self.assertEqual(run_command([*words, "--lower", "just_in_time", "-o", made, "--quiet"]).returncode, 0)
            text = run_command(["check", made]).stdout
            self.assertIn("\ntransfers: 48 on 10 links, ", text)
            self.assertIn("\nsafe with group buffered, group rendezvous, ", text)
            with open(made, encoding="utf-8") as file:
                whole = file.read()
            for old, new, part in (("0SEND_F0>1", "0SEND_F0", "op 1: 0SEND_F0: sends and receives of a stage graph need the place at the other end, such as 0SEND_F1>2"),
                                   ("0SEND_F0>1", "0SEND_F0>3", "op 1: 0SEND_F0>3: its stage and the place at its other end do not feed each other"),
                                   ("0SEND_F0>1", "0SEND_F0>77", "op 1: 0SEND_F0>77: its stage and the place at its other end do not feed each other"),
                                   ("0SEND_F0>1", "0SEND_F0>", 'cannot read "0SEND_F0>": the number of the place at the other end must follow the >'),
                                   ("0SEND_F0>1", "0SEND_F0>99999", "the place at its other end must be at most 65534"),
                                   ('"0F0"', '"0F0>1"', 'cannot read "0F0>1": there is text after the op')):
                with open(made, "w", encoding="utf-8") as file:
                    file.write(whole.replace(old, new, 1))
                result = run_command(["check", made])
                self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))
                self.assertIn(part, result.stderr)
            rows = json.loads(whole)
            rows["queues"] = [{"device": row["device"], "ops": [op for op in row["ops"] if op != "0SEND_F0>1"]} for row in rows["queues"]]
            with open(made, "w", encoding="utf-8") as file:
                json.dump(rows, file)
            self.assertIn("1RECV_F0>0 at position 0 has no send", run_command(["check", made]).stdout)
            for more, part in ((["--lower", "pytorch"], "only for chains"), (["--lower", "just_in_time", "--reduce-grad"], "ops of sharded parameters: only for chains"),
                               (["--lower", "just_in_time", "-o", os.path.join(folder, "x.csv")], "csv cannot say which stages feed each other")):
                result = run_command([*words, *more])
                self.assertEqual((result.returncode, result.stderr.count("\n")), (1, 1))
                self.assertIn(part, result.stderr)
            picked = json.loads(run_command(["compare", "-c", path, "--lower", "just_in_time", "--json"]).stdout)[0]
            self.assertEqual((picked["strategy"], picked["step_time"]), ("auto", 22))

    def test_a_chain_names_no_place(self):
        config = ppsched.Config(2, 2)
        with self.assertRaisesRegex(ppsched.Error, "only sends and receives of a stage graph have a place at the other end"):
            ppsched.Schedule.from_queues(config, [["0F0", "0SEND_F0>1"], []])

    def test_times_and_proof_are_those_of_a_run(self):
        """Sends and receives in any order: the proof and the times against a run that looks at everything."""
        rng = random.Random(int(os.environ.get("PPSCHED_GRAPH_SEED", "4")))
        stopped = ran = 0
        for _ in range(int(os.environ.get("PPSCHED_GRAPHS", "60"))):
            problem, _, schedule = drawn(rng, most_devices=3, most_stages=4, most_microbatches=2)
            problem.forward = [time + rng.random() for time in problem.forward]
            problem.input = [time + rng.random() for time in problem.input]
            queues = [list(queue) for queue in schedule.lower("just_in_time", receive_prefetch=0).queues]
            for queue in queues:
                for _ in range(rng.randint(0, 4)):
                    i = rng.randrange(max(len(queue) - 1, 1))
                    if len(queue) > 1 and any(op.place is not None for op in queue[i:i + 2]):
                        queue[i], queue[i + 1] = queue[i + 1], queue[i]
            sizes = [rng.choice([1.0, 2.0, 3.5]) for _ in range(problem.stages)]
            config = ppsched.Config(**problem.arguments(), activation_bytes=sizes, p2p_bandwidth=2.5)
            mixed = ppsched.Schedule.from_queues(config, queues)
            own = Lowered(problem, mixed.queues)
            if " comes before the " in mixed.prove("none").text:
                continue  # not a question of channels
            for order, rendezvous in MODELS:
                expected = own.run(order, rendezvous, lambda value: sizes[value[2][0] if value[0] == "F" else value[3][0]] / 2.5, problem.latency)
                proof = mixed.prove(order, rendezvous=rendezvous)
                self.assertEqual(proof.safe, expected is not None, (order, rendezvous, proof))
                stopped += not proof.safe
                if not proof.safe:
                    self.assertRegex(proof.text, r"^device \d+ waits in \d+(SEND|RECV)_[FB]\d+>\d+ for ")
                elif not rendezvous:
                    self.assertAlmostEqual(mixed.evaluate_transfers(order=order).metrics.makespan, expected)
                    ran += 1
        self.assertGreater(stopped, 10)
        self.assertGreater(ran, 100)


if __name__ == "__main__":
    unittest.main()
