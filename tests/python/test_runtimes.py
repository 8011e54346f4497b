# SPDX-License-Identifier: Apache-2.0
"""What runtimes and viewers read of an export: sail-sg's nodes by the rules of its runtime, traces by those of the format."""
import collections
import fractions
import json
import math
import pathlib
import random
import re
import unittest

import ppsched

CASES = pathlib.Path(__file__).resolve().parent.parent / "golden" / "cases"

FIELDS = ["type", "stage", "microbatch", "chunk", "seq_split_idx", "layer_group_idx", "start_time", "completion_time",
          "recv_peer_stage", "send_peer_stage", "comm_direction", "comm_peer_stage", "comm_pair_id", "rollback", "need_recompute",
          "should_offload"]
KINDS = {"F": "F", "BW": "B", "B": "I", "W": "W", "SEND_FORWARD": "SEND_F", "RECV_FORWARD": "RECV_F", "SEND_BACKWARD": "SEND_B",
         "RECV_BACKWARD": "RECV_B"}


def lowered_cases(p2p_time=None):
    """Schedules with comm ops, as sail-sg's runtime runs them."""
    for text in (CASES / "sail_comms.txt").read_text(encoding="utf-8").split("\ncase ")[1:]:
        lines = [line.split() for line in text.splitlines()]
        word = {line[0]: line[1] for line in lines[1:] if line and line[0] in ("strategy", "devices", "stages", "microbatches",
                                                                               "placement", "p2p")}
        config = ppsched.Config(int(word["devices"]), int(word["microbatches"]), int(word["stages"]), placement=word["placement"],
                                p2p_time=float(word["p2p"]) if p2p_time is None else p2p_time)
        orders = [line[2:] for line in lines if line and line[0] == "order"]
        yield lines[0][0], orders, ppsched.Schedule.from_queues(config, orders, word["strategy"]).evaluate()


def key(node):
    return node["type"], node["layer_group_idx"], node["microbatch"]


def key_before(node, stages):
    """The node whose output a compute node takes; None at the start."""
    kind, stage, microbatch = key(node)
    if kind == "F":
        return ("F", stage - 1, microbatch) if stage > 0 else None
    if kind == "W":
        return "B", stage, microbatch
    return (kind, stage + 1, microbatch) if stage + 1 < stages else ("F", stage, microbatch)


class SailTest(unittest.TestCase):
    def check_compute(self, ranks, stages):
        """Peers, as the runtime finds them itself."""
        nodes = {key(node): node for rank in ranks for node in rank if node["type"] in ("F", "B", "BW", "W")}
        receives, sends = {}, {}
        for name, node in nodes.items():
            before = key_before(node, stages)
            if before is not None and nodes[before]["stage"] != node["stage"]:
                receives[name], sends[before] = nodes[before]["stage"], node["stage"]
        for name, node in nodes.items():
            self.assertEqual((node["recv_peer_stage"], node["send_peer_stage"]), (receives.get(name), sends.get(name)), node)
            self.assertEqual([node[field] for field in FIELDS[10:]], [None, None, None, False, False, False])
        return nodes

    def check_comm(self, ranks, nodes, stages):
        """One SEND and one RECV for every input from elsewhere, in the direction and at the time of the runtime."""
        pairs = collections.defaultdict(list)
        for node in (node for rank in ranks for node in rank if key(node) not in nodes):
            pairs[node["comm_pair_id"]].append(node)
            self.assertEqual((node["recv_peer_stage"], node["send_peer_stage"]), (None, None))
        self.assertEqual(len(pairs), sum(node["recv_peer_stage"] is not None for node in nodes.values()))
        for number, pair in pairs.items():
            send, receive = sorted(pair, key=lambda node: node["type"], reverse=True)
            self.assertGreaterEqual(number, 0)
            kind = send["type"][len("SEND_"):]
            self.assertEqual(receive["type"], "RECV_" + kind)
            taker = next(nodes[name] for name in ((t, receive["layer_group_idx"], receive["microbatch"])
                                                  for t in (("F",) if kind == "FORWARD" else ("B", "BW"))) if name in nodes)
            maker = nodes[key_before(taker, stages)]
            self.assertEqual((send["layer_group_idx"], send["stage"], send["chunk"]),
                             (maker["layer_group_idx"], maker["stage"], maker["chunk"]))
            self.assertEqual((receive["stage"], receive["chunk"]), (taker["stage"], taker["chunk"]))
            self.assertEqual((send["comm_peer_stage"], receive["comm_peer_stage"]), (taker["stage"], maker["stage"]))
            for node in pair:
                self.assertEqual((node["start_time"], node["completion_time"]), (maker["completion_time"],) * 2)
            from_before = (maker["stage"] + 1) % len(ranks) == taker["stage"]
            self.assertEqual((send["comm_direction"], receive["comm_direction"]),
                             ("NEXT", "PREV") if from_before else ("PREV", "NEXT"))

    def check(self, timeline):
        schedule = timeline.schedule
        ranks = json.loads(timeline.export("sail"))
        self.assertEqual(len(ranks), schedule.devices)
        for rank, (nodes, queue, spans) in enumerate(zip(ranks, schedule.queues, timeline.spans)):
            self.assertEqual(len(nodes), len(queue))
            for node, op, span in zip(nodes, queue, spans):
                self.assertEqual(list(node), FIELDS)
                self.assertEqual(f"{node['layer_group_idx']}{KINDS[node['type']]}{node['microbatch']}", str(op))
                self.assertEqual((node["stage"], node["chunk"]), (rank, op.stage // schedule.devices))
                if node["comm_pair_id"] is None:
                    self.assertEqual((node["start_time"], node["completion_time"]), span)
        return ranks, self.check_compute(ranks, schedule.stages)

    def test_strategies(self):
        for strategy, stages in (("1f1b", 4), ("zb_h2", 4), ("gpipe", 4), ("interleaved_1f1b", 12), ("interleaved_zb", 8), ("zbv", 8),
                                 ("v_half", 8), ("v_1f1b", 8), ("zb_auto", 4), ("looped_bfs", 8)):
            config = ppsched.Config(4, 8, stages, forward_times=1.5, p2p_time=0.25)
            self.check(ppsched.generate(strategy, config).evaluate())
        self.check(ppsched.generate("1f1b", ppsched.Config(1, 2)).evaluate())

    def test_lowered(self):
        names = set()
        for name, _, timeline in lowered_cases():
            ranks, nodes = self.check(timeline)
            self.check_comm(ranks, nodes, timeline.schedule.stages)
            names.add(name)
        self.assertEqual(len(names), 5)

    def test_two_ranks_send_one_way_round(self):
        config = ppsched.Config(2, 1)
        queues = ["0F0 0SEND_F0 0RECV_B0 0B0".split(), "1RECV_F0 1F0 1B0 1SEND_B0".split()]
        timeline = ppsched.Schedule.from_queues(config, queues).evaluate()
        ranks, nodes = self.check(timeline)
        self.check_comm(ranks, nodes, 2)
        self.assertEqual([node["comm_direction"] for rank in ranks for node in rank if node["comm_pair_id"] is not None],
                         ["NEXT", "PREV", "PREV", "NEXT"])

    def expect_refused(self, part, queues, microbatches=1, **problem):
        timeline = ppsched.Schedule.from_queues(ppsched.Config(len(queues), microbatches, **problem),
                                                [queue.split() for queue in queues]).evaluate()
        with self.assertRaises(ppsched.Error) as caught:
            timeline.export("sail")
        self.assertIn(part, str(caught.exception))

    def test_refused(self):
        self.expect_refused("position 0: 0UNSHARD has no counterpart in sail-sg", ["0UNSHARD 0F0 0B0"])
        self.expect_refused("device 0, position 1: 0SEND_F0 is not one SEND with one RECV", ["0F0 0SEND_F0 0B0", "1F0 1B0"])
        self.expect_refused("0SEND_F0 is not one SEND with one RECV", ["0F0 0SEND_F0 0SEND_F0 0B0", "1RECV_F0 1F0 1B0"])
        self.expect_refused("device 0, position 2: 0B0 has no SEND and RECV", ["0F0 0SEND_F0 0B0", "1RECV_F0 1F0 1B0"])
        self.expect_refused("1SEND_F0 does not cross devices", ["0F0 0SEND_F0 0RECV_B0 0B0", "1RECV_F0 1F0 1SEND_F0 1B0 1SEND_B0"])
        self.expect_refused("1RECV_F0 does not cross devices", ["0F0 1RECV_F0 1F0 1B0 0B0"], stages=2)
        self.expect_refused("0SEND_F0 is on a device that does not hold its stage", ["0F0 0RECV_B0 0B0", "0SEND_F0 1RECV_F0 1F0 1B0 1SEND_B0"])
        self.expect_refused("device 0, position 1: 0I0 follows the other kind of backward", ["0F0 0I0 0W0", "1F0 1B0"])
        pairs = ppsched.generate("1f1b_overlap", ppsched.Config(1, 2)).evaluate()
        with self.assertRaisesRegex(ppsched.Error, "position 1: 0F1 is in an overlapped pair"):
            pairs.export("sail")
        self.expect_refused("not a map", ["0F0 1F0 1B0 0B0"], stages=2, placement=[0, 0])
        self.expect_refused("one iteration, not of 2", ["0F0 0B0 0F1 0B1"], iterations=2)
        with self.assertRaisesRegex(ppsched.Error, "not bidirectional"):
            ppsched.generate("dualpipe", ppsched.Config(4, 8)).evaluate().export("sail")
        with self.assertRaisesRegex(ppsched.Error, "flushes after every iteration, the schedule does not"):
            ppsched.generate("1f1b_no_flush", ppsched.Config(2, 3)).evaluate().export("sail")
        with self.assertRaisesRegex(ppsched.Error, "sail needs a timeline"):
            ppsched.generate("1f1b", ppsched.Config(4, 8)).export("sail")


class TraceTest(unittest.TestCase):
    def check(self, timeline):
        events = json.loads(timeline.export("chrome", time_scale=1000))["traceEvents"]
        by_phase = collections.defaultdict(list)
        for event in events:
            by_phase[event["ph"]].append(event)
        names = {event["tid"]: event["args"]["name"] for event in by_phase["M"] if event["name"] == "thread_name"}
        order = {event["tid"]: event["args"]["sort_index"] for event in by_phase["M"] if event["name"] == "thread_sort_index"}
        self.assertEqual(len(names), sum(event["name"] == "thread_name" for event in by_phase["M"]))
        self.assertEqual((len(set(names.values())), len(set(order.values()))), (len(names), len(names)))
        tracks = collections.defaultdict(list)
        for event in by_phase["X"]:
            self.assertGreaterEqual(event["dur"], 0)
            tracks[event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["name"]))
        self.assertEqual(set(tracks), set(names))
        for slices in tracks.values():
            slices.sort()
            self.assertTrue(all(a[1] <= b[0] for a, b in zip(slices, slices[1:])), slices)
        starts, ends = ({event["id"]: event for event in by_phase[phase]} for phase in "sf")
        self.assertEqual((len(by_phase["s"]), len(by_phase["f"])), (len(starts), len(ends)))
        self.assertEqual(set(starts), set(ends))
        for number, start in starts.items():
            end = ends[number]
            self.assertLessEqual(start["ts"], end["ts"])
            self.assertEqual((start["name"], start["cat"], end["bp"]), (end["name"], end["cat"], "e"))
            for event, what in ((start, " send"), (end, " receive")):
                self.assertIn(what, names[event["tid"]])
                self.assertTrue(any(a <= event["ts"] <= b for a, b, _ in tracks[event["tid"]]), event)
        self.assertTrue(by_phase["C"])
        return names, tracks, starts

    def whole_ticks(self, timeline, scale):
        """Whoever adds and subtracts starts and lengths, in doubles in any order or in decimals, finds events that touch where those
        of the schedule do, and all in one another that were; returns how many neighbours touch."""
        text = timeline.export("chrome", time_scale=scale)
        exact = [event for event in json.loads(text, parse_float=fractions.Fraction)["traceEvents"] if "ts" in event]
        doubles = [event for event in json.loads(text)["traceEvents"] if "ts" in event]
        lengths = [event["args"]["end"] - event["args"]["start"] for event in doubles if event["ph"] == "X"]
        shortest = fractions.Fraction(min(length for length in ((span.end - span.start) * scale for spans in timeline.spans
                                                                for span in spans) if length > 0))
        latest = timeline.metrics.makespan * scale
        most = 52 - (math.frexp(latest)[1] - (math.frexp(latest)[0] == 0.5))
        bits = next(k for k in range(10, 1200) if fractions.Fraction(1, 2**(k + 1)) < shortest / 2**20)
        tick = fractions.Fraction(2)**-min(bits, most)
        touching, tracks = 0, collections.defaultdict(list)
        for event, double in zip(exact, doubles):
            self.assertEqual(fractions.Fraction(event["ts"]) % tick, 0)
            self.assertEqual(double["ts"], fractions.Fraction(event["ts"]))  # all digits stand in the text
            if event["ph"] == "X":
                start, end = double["args"]["start"] * scale, double["args"]["end"] * scale
                self.assertEqual(double["dur"], fractions.Fraction(event["dur"]))
                self.assertLessEqual(abs(fractions.Fraction(start) - fractions.Fraction(event["ts"])), tick / 2)
                self.assertLessEqual(abs(fractions.Fraction(end) - fractions.Fraction(event["ts"]) - fractions.Fraction(event["dur"])),
                                     tick / 2)
                tracks[event["tid"]].append((double, event))
        self.assertEqual(sum(map(len, tracks.values())), len(lengths))
        for events in tracks.values():
            events.sort(key=lambda pair: (pair[0]["ts"], pair[0]["ts"] + pair[0]["dur"]))
            for (a, exact_a), (b, exact_b) in zip(events, events[1:]):
                ends = [(a["ts"] + a["dur"], b["ts"]), (exact_a["ts"] + exact_a["dur"], exact_b["ts"])]
                ends += [((a["ts"] - origin) + a["dur"], b["ts"] - origin) for origin in (events[0][0]["ts"], a["ts"])]
                touches = a["args"]["end"] == b["args"]["start"]
                self.assertTrue(all(end == start if touches else end <= start for end, start in ends), (a, b))
                touching += touches
        return touching

    def test_neighbours_touch_in_every_viewer(self):
        dice, touching = random.Random(7), 0
        strategies = [(name, 1 if name in ("1f1b", "zb_h1", "zb_auto", "gpipe", "1f1b_overlap") else 2) for name in
                      ("1f1b", "zb_h1", "zb_auto", "gpipe", "1f1b_overlap", "zbv", "interleaved_1f1b", "interleaved_zb", "dualpipe_v",
                       "v_half", "looped_bfs")]
        for trial in range(66):
            name, chunks = strategies[trial % len(strategies)]
            devices = dice.choice([2, 3, 4])
            unit = 10.0**dice.choice([-300, -18, -9, -3, 0, 0, 0, 2, 6, 12, 18, 200])
            times = [[dice.choice([1.1, 2.3, 0.7, 1 / 3, 1, dice.random() + 0.01]) * unit for _ in range(devices * chunks)] for _ in range(3)]
            config = ppsched.Config(devices, 2 * devices * dice.choice([1, 2]), devices * chunks, forward_times=times[0],
                                    backward_input_times=times[1], backward_weight_times=times[2],
                                    p2p_time=dice.choice([0, 0.1, 0.37]) * unit)
            schedule = ppsched.generate(name, config)
            timeline = schedule.evaluate()
            scale = dice.choice([1, 1000, 1e6, 0.001, 3])
            touching += self.whole_ticks(timeline, scale)
            if name not in ("dualpipe_v", "1f1b_overlap"):
                touching += self.whole_ticks(schedule.lower("just_in_time").evaluate_transfers(), scale)
        self.assertGreater(touching, 1000)

    def test_very_short_ops_beside_very_long_ones(self):
        for short, long in ((1e-7, 1), (1e-3, 1e9), (2.0**-30, 2.0**40), (1e-320, 1), (1, 1e300), (1e-15, 1.1)):
            config = ppsched.Config(2, 4, forward_times=[short, long], backward_times=[long, 3 * short], p2p_time=short)
            self.assertGreater(self.whole_ticks(ppsched.generate("1f1b", config).evaluate(), 1), 0)

    def test_whole_times_are_written_as_such(self):
        timeline = ppsched.generate("1f1b", ppsched.Config(2, 2)).evaluate()
        text = timeline.export("chrome", time_scale=1000)
        self.assertIn('"ts": 7000, "dur": 2000, "args": {"kind": "full backward", "stage": 0, "microbatch": 1, "start": 7, "end": 9}', text)

    def test_lowered(self):
        for p2p_time in (None, 0, 0.5, 3):
            for name, orders, timeline in lowered_cases(p2p_time):
                names, tracks, arrows = self.check(timeline)
                devices = timeline.schedule.devices
                self.assertEqual(len(arrows), sum("SEND" in token for order in orders for token in order), name)
                self.assertEqual({names[d] for d in range(devices)}, {f"device {d}" for d in range(devices)})
                for device, order in enumerate(orders):
                    compute = [token for token in order if "_" not in token]
                    self.assertEqual([token for _, _, token in tracks[device]], compute)
                    self.assertIn(f"device {device} send", names.values())
                    self.assertIn(f"device {device} receive", names.values())

    def test_comm_ops_anywhere(self):
        """Lowered at random, with ends that are missing, repeated, misplaced or early."""
        dice = random.Random(1)
        for _ in range(60):
            devices, strategy = dice.choice([2, 3, 4]), dice.choice(["1f1b", "zbv", "interleaved_1f1b"])
            config = ppsched.Config(devices, 2 * devices, devices * (1 if strategy == "1f1b" else 2), p2p_time=dice.choice([0, 0.5, 4]),
                                    placement="v" if strategy == "zbv" else "loop")
            queues = [list(map(str, queue)) for queue in ppsched.generate(strategy, config).queues]
            for queue in queues:
                for _ in range(dice.randrange(40)):
                    token = f"{dice.randrange(config.stages)}{dice.choice(['SEND', 'RECV'])}_{dice.choice('FB')}{dice.randrange(4)}"
                    queue.insert(dice.randrange(len(queue) + 1), token)
            timeline = ppsched.Schedule.from_queues(config, queues).evaluate()
            _, _, arrows = self.check(timeline)
            sends, receives = (collections.Counter(
                (int(stage) + (step if kind == "F" else -step), kind, microbatch)
                for stage, kind, microbatch in re.findall(rf"(\d+){word}_([FB])(\d+)", " ".join(sum(queues, []))))
                for word, step in (("SEND", 1), ("RECV", 0)))
            self.assertEqual(len(arrows), sum(count == receives[transfer] == 1 for transfer, count in sends.items()))

    def test_many_transfers_at_once(self):
        count = 40
        first = [token for m in range(count) for token in (f"0F{m}", f"0SEND_F{m}")] + [f"0RECV_B{m}" for m in range(count)]
        second = [f"1RECV_F{m}" for m in range(count)] + [token for m in range(count) for token in (f"1F{m}", f"1B{m}", f"1SEND_B{m}")]
        config = ppsched.Config(2, count, p2p_time=500)
        timeline = ppsched.Schedule.from_queues(config, [first + [f"0B{m}" for m in range(count)], second]).evaluate()
        names, _, arrows = self.check(timeline)
        self.assertEqual(len(arrows), 2 * count)
        self.assertEqual(sum("receive" in name for name in names.values()), 32)

    def test_transfers_one_after_the_other_share_a_track(self):
        """Each starts when the one before it has arrived."""
        first = [token for m in range(4) for token in (f"0F{m}", f"0SEND_F{m}")] + [f"0B{m}" for m in range(4)]
        second = [f"1RECV_F{m}" for m in range(4)] + [token for m in range(4) for token in (f"1F{m}", f"1B{m}")]
        timeline = ppsched.Schedule.from_queues(ppsched.Config(2, 4, p2p_time=1, forward_times=1), [first, second]).evaluate()
        names, tracks, _ = self.check(timeline)
        self.assertEqual(set(names.values()), {"device 0", "device 1", "device 0 send", "device 1 receive"})
        receives, = (track for track, name in names.items() if name == "device 1 receive")
        self.assertEqual([span[:2] for span in tracks[receives]], [(1000 * m, 1000 * m + 1000) for m in range(1, 5)])

    def test_one_transfer_more_than_tracks(self):
        """All from time 0 on, beside a send of the same device that goes nowhere: the last is drawn on the track of the sixteenth."""
        for count in (16, 17, 18):
            passes = [(f"0F{m}", f"0SEND_F{m}", f"0B{m}") for m in range(count)]
            first = [token for forward, send, _ in passes for token in (forward, send)] + [backward for *_, backward in passes]
            second = ["1SEND_F0", *(f"1RECV_F{m}" for m in range(count)), *(token for m in range(count) for token in (f"1F{m}", f"1B{m}"))]
            config = ppsched.Config(2, count, p2p_time=500, forward_times=0, backward_times=0)
            names, _, arrows = self.check(ppsched.Schedule.from_queues(config, [first, second]).evaluate())
            self.assertEqual(len(arrows), count)
            self.assertEqual(sum("device 1 receive" in name for name in names.values()), 16)

    def test_ends_that_are_missing_have_no_arrow(self):
        config = ppsched.Config(2, 1)
        queues = [["0F0", "0SEND_F0", "0RESHARD", "0B0"], ["1F0", "1SEND_F0", "1B0"]]
        _, tracks, arrows = self.check(ppsched.Schedule.from_queues(config, queues).evaluate())
        self.assertEqual(arrows, {})
        self.assertEqual([name for _, _, name in tracks[0]], ["0F0", "0RESHARD", "0B0"])

    def test_without_comm_ops(self):
        names, _, arrows = self.check(ppsched.generate("zbv", ppsched.Config(4, 8, 8, p2p_time=0.3)).evaluate())
        self.assertEqual((len(names), arrows), (4, {}))


if __name__ == "__main__":
    unittest.main()
