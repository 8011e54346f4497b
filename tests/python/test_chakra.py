# SPDX-License-Identifier: Apache-2.0
"""Chakra traces: a plain model of ASTRA-sim runs them as the library times the schedules."""
import json
import os
import random
import tempfile
import unittest

from in_process import run_command

import ppsched
from chakra_model import COMP, RECV, SEND, Network, Simulator, nodes_of

STRATEGIES = [strategy for strategy in ppsched.strategies() if not strategy.offloads]  # a trace knows no copies
TIMES = Network(0, 2)  # in which messages whose sizes are times take these


def run(*words):
    return run_command(words)


def draw_times(rng, config_values, stages, least=1):
    for name in ("forward_times", "backward_input_times", "backward_weight_times"):
        config_values[name] = [rng.randint(least, 30) for _ in range(stages)]


def draw_sizes(rng, strategy):
    devices, chunks = rng.randint(2, 8), strategy.chunks or rng.randint(1, 3)
    microbatches = rng.randint(1, 3) * devices if rng.random() < 0.5 else rng.randint(1, 17)
    return devices, microbatches, devices * chunks


def draw_bytes(rng, values, stages):
    values["activation_bytes"] = [rng.randint(0, 50) for _ in range(stages)]
    if rng.random() < 0.5:
        values["gradient_bytes"] = [rng.randint(0, 50) for _ in range(stages)]
    values["p2p_bandwidth"] = rng.choice([1, 2, 4])


class ModelTest(unittest.TestCase):
    """Totals, and start and end of each compute op."""

    def lowered(self, rng, strategy, least=1, iterations=1, **values):
        """A random problem's schedule; None where the strategy refuses it."""
        devices, microbatches, stages = draw_sizes(rng, strategy)
        draw_times(rng, values, stages, least)
        for draw in values.pop("draws"):
            draw(rng, values, devices, stages)
        if strategy.name.startswith("dualpipe") and rng.random() < 0.5:
            values["overlapped_times"] = [rng.randint(1, 40) for _ in range(stages * stages)]
        try:
            config = ppsched.Config(devices, microbatches, stages, iterations=iterations, **values)
            return ppsched.generate(strategy.name, config).lower(rng.choice(["just_in_time", "pytorch", "by_time"]))
        except ppsched.Refused:
            return None

    def expect_equal(self, schedule, network, order, **options):
        simulator = Simulator(ppsched.chakra_traces(schedule, **options), network)
        timeline = schedule.evaluate_transfers(order=order)
        scale = 1000 * (options.get("time_scale") or 1)
        what = f"{schedule.name}, {schedule.devices} devices, {schedule.stages} stages, {schedule.microbatches} x {schedule.iterations}"
        self.assertAlmostEqual(simulator.run(), timeline.metrics.makespan * scale, msg=what, delta=1e-3)
        nodes = 0
        for device, (ops, spans) in enumerate(zip(schedule.queues, timeline.spans)):
            for position, (op, span) in enumerate(zip(ops, spans)):
                node = simulator.ranks[device].get(position)
                if node is None or node.type != COMP:
                    continue
                nodes += 1
                self.assertIn(str(op), node.name)
                self.assertAlmostEqual(node.start, span.start * scale, msg=f"{what}: {node.name}", delta=1e-3)
                self.assertAlmostEqual(node.end, span.end * scale, msg=f"{what}: {node.name}", delta=1e-3)
        return nodes

    def sweep(self, seed, rounds, order, network, options=None, **values):
        rng, nodes, schedules = random.Random(seed), 0, 0
        for _ in range(rounds):
            for strategy in STRATEGIES:
                schedule = self.lowered(rng, strategy, **values)
                if schedule is not None:
                    schedules += 1
                    nodes += self.expect_equal(schedule, network(schedule) if callable(network) else network, order, **options or {})
        self.assertGreater(schedules, rounds * 10)
        return nodes

    def test_one_latency_for_all(self):
        def draw(rng, values, _devices, _stages):
            values["p2p_time"] = rng.choice([1, 3, 10, 30, 70])

        self.sweep(1, 2, "sends", lambda schedule: Network(1000 * schedule.config.p2p_time[0] - 1, 1), draws=[draw])

    def test_bytes_on_one_network(self):
        def draw(rng, values, _devices, stages):
            draw_bytes(rng, values, stages)
            values["activation_bytes"] = [1000 * (1 + size) for size in values["activation_bytes"]]
            values["gradient_bytes"] = [1000 * (1 + size) for size in values.get("gradient_bytes", [7] * stages)]
            values["p2p_bandwidth"], values["p2p_time"] = 1000, 4

        self.sweep(2, 2, "sends", Network(4000, 1), draws=[draw])

    def test_uneven_transfer_times(self):
        def draw(rng, values, devices, stages):
            draw_bytes(rng, values, stages)
            values["p2p_time"] = [rng.randint(0, 40) for _ in range(devices * devices)]

        for iterations in (1, 3):
            self.sweep(3, 2, "sends", TIMES, dict(sizes="times"), iterations=iterations, draws=[draw])

    def test_links_as_ranks(self):
        def draw(rng, values, _devices, stages):
            draw_bytes(rng, values, stages)

        for iterations in (1, 2):
            self.sweep(4, 2, "none", TIMES, dict(links="ranks"), iterations=iterations, draws=[draw])

    def test_ops_of_no_time(self):
        """Two kinds of three may take none; each device has something that does."""
        def draw(rng, values, devices, stages):
            names = ["forward_times", "backward_input_times", "backward_weight_times"]
            for name in rng.sample(names, 2):
                values[name] = [rng.choice([0, 0, 1, 5]) for _ in range(stages)]
            values["p2p_time"] = [rng.randint(1, 9) for _ in range(devices * devices)]

        for iterations in (1, 2):
            self.sweep(5, 2, "sends", TIMES, dict(sizes="times"), iterations=iterations, draws=[draw])

    def test_decimal_times_scaled(self):
        def draw(rng, values, devices, stages):
            draw_times(rng, values, stages)
            for name in ("forward_times", "backward_input_times", "backward_weight_times"):
                values[name] = [value / 10 for value in values[name]]
            values["p2p_time"] = [rng.randint(0, 400) / 10000 for _ in range(devices * devices)]

        self.sweep(6, 1, "sends", TIMES, dict(sizes="times", time_scale=10), draws=[draw])

    def test_figures_that_the_simulator_itself_gave(self):
        """F 10, B 20, D = 4, M = 16, 1f1b, latency 5: and the order of the queue is what keeps it."""
        config = ppsched.Config(4, 8, forward_times=10, backward_times=20, p2p_time=5)
        schedule = ppsched.generate("1f1b", config).lower("just_in_time")
        simulator = Simulator(ppsched.chakra_traces(schedule), Network(4999, 1))
        self.assertEqual(simulator.run(), 410000)
        self.assertEqual([max(node.end for node in rank.values()) for rank in simulator.ranks], [410000, 390000, 365000, 340000])

    def test_memory(self):
        for strategy in STRATEGIES:
            devices, microbatches = 4, 8
            stages = devices * (strategy.chunks or (2 if strategy.slices < 2 else 1))
            config = ppsched.Config(devices, microbatches, stages, forward_times=10, backward_times=20, p2p_time=5,
                                    mem_forward=[3 + stage for stage in range(stages)])
            schedule = ppsched.generate(strategy.name, config).lower("just_in_time")
            simulator = Simulator(ppsched.chakra_traces(schedule, memory_scale=2), Network(4999, 1))
            simulator.run()
            timeline = schedule.evaluate_transfers(order="sends")
            self.assertEqual([simulator.peak(rank) for rank in range(devices)],
                             [2 * figures.peak_memory for figures in timeline.device_metrics], strategy.name)


class TraceTest(unittest.TestCase):
    def test_nodes(self):
        config = ppsched.Config(2, 2, forward_times=10, backward_times=20, activation_bytes=[700, 0])
        schedule = ppsched.generate("gpipe", config).lower("just_in_time", receive_prefetch=0)
        first, second = (nodes_of(trace) for trace in ppsched.chakra_traces(schedule))
        self.assertEqual([(node.id, node.name, node.type, node.ctrl, node.data) for node in first],
                         [(0, "0F0", COMP, [], []), (1, "0SEND_F0", SEND, [], [0]), (2, "0F1", COMP, [0], []),
                          (3, "0SEND_F1", SEND, [1], [2]), (4, "0RECV_B0", RECV, [], []), (5, "0B0", COMP, [2], [4]),
                          (6, "0RECV_B1", RECV, [], []), (7, "0B1", COMP, [5], [6])])
        self.assertEqual([node.attributes for node in first if node.type != COMP],
                         [dict(comm_size=700, comm_dst=1, comm_tag=2), dict(comm_size=700, comm_dst=1, comm_tag=3),
                          dict(comm_size=700, comm_src=1, comm_tag=4), dict(comm_size=700, comm_src=1, comm_tag=5)])
        self.assertEqual([node.micros for node in second if node.type == COMP], [10, 10, 20, 20])

    def test_pairs_are_one_node(self):
        schedule = ppsched.generate("dualpipe_v", ppsched.Config(2, 6, 4)).lower("just_in_time")
        pairs = [node for trace in ppsched.chakra_traces(schedule) for node in nodes_of(trace) if node.name.startswith("(")]
        self.assertGreater(len(pairs), 3)
        self.assertTrue(all(node.type == COMP and node.micros == 3 for node in pairs))

    def test_sharding_ops(self):
        config = ppsched.Config(2, 4, unshard_bytes=3)
        schedule = ppsched.generate("1f1b", config).lower("pytorch", unshard=1, reduce_grad=True)
        self.assertFalse(any("SHARD" in node.name for trace in ppsched.chakra_traces(schedule) for node in nodes_of(trace)))
        with self.assertRaisesRegex(ppsched.Refused, "device 0: 0UNSHARD at position 0 takes time in parallel with the device's other ops"):
            ppsched.chakra_traces(schedule, ppsched.Config(2, 4, unshard_times=1))

    def test_refusals(self):
        config = ppsched.Config(2, 4, forward_times=[10.4, 3], p2p_time=0.00013)
        schedule = ppsched.generate("1f1b", config)
        lowered = schedule.lower()
        for other, options, text in (
                (schedule, {}, "no sends and receives; lower it"),
                (lowered, {}, r"device 0: 0F0 at position 0 takes 10.4 microseconds; .*, and 10 is off by .*; use time_scale 10$"),
                (lowered, dict(time_scale=10, sizes="times"), "0SEND_F0 at position 1 takes 1.3 nanoseconds; .* use time_scale 100$"),
                (lowered, dict(time_scale=1e300), r"takes 1.04e\+301 microseconds; a trace holds at most 10+"),
                (lowered, dict(sizes="half"), "no sizes 'half'; there are bytes, times"),
                (lowered, dict(links=7), "no links 7; there are senders, ranks"),
                (lowered, dict(time_scale=-1), "time_scale is -1; it must be finite and at least 0"),
                (lowered, dict(most_loss=2), "most_loss is 2; it must be 0 to 1"),
                (lowered, dict(time_scale="1"), "time_scale must be a number, not '1'"),
                (lowered, dict(config=ppsched.Config(3, 4)), "2 devices and 2 stages, the config 3 and 3"),
                (lowered, dict(config=ppsched.Config(2, 4, activation_bytes=2.5)), "takes 2.5 bytes; .* use bytes_scale 10$"),
                (lowered, dict(config=ppsched.Config(2, 4, forward_times=0), sizes="times"),
                 "0SEND_F0 at position 1 takes no time at time 0"),
                (lowered, dict(config=ppsched.Config(2, 4, forward_times=1e-7 / 3)), "no power of ten avoids this"),
                (lowered, dict(config=ppsched.Config(2, 4, send_overhead=[0, 2])),
                 "device 1: 1RECV_F0 at position 0 has a send overhead of 2, which a trace cannot hold; leave out send_overhead"),
                (ppsched.generate("1f1b", ppsched.Config(1, 4)), {}, "one device; networks have two ranks or more")):
            with self.assertRaisesRegex(ppsched.Error, text):
                ppsched.chakra_traces(other, **options)
        self.assertEqual(len(ppsched.chakra_traces(lowered, most_loss=0.04)), 2)


class ReadTest(unittest.TestCase):
    """What is written is read again as it was: queues, sizes, and costs as far as ops show them."""

    def expect_same(self, schedule, order, **options):
        traces = ppsched.chakra_traces(schedule, **options)
        again = ppsched.chakra_schedule(traces)
        self.assertEqual([[str(op) for op in queue] for queue in again.queues], [[str(op) for op in queue] for queue in schedule.queues])
        for name in ("name", "devices", "stages", "microbatches", "iterations", "flushes", "weight_versions"):
            self.assertEqual(getattr(again, name), getattr(schedule, name), schedule.name)
        self.assertEqual(again.check(), [])
        ours, theirs = schedule.evaluate_transfers(order=order), again.evaluate_transfers(order=order)
        for mine, other in zip(ours.spans, theirs.spans):
            for one, two in zip(mine, other):
                self.assertAlmostEqual(one.start, two.start, msg=schedule.name)
                self.assertAlmostEqual(one.end, two.end, msg=schedule.name)
        self.assertEqual(ppsched.chakra_traces(again, **options), traces)

    def test_round_trips(self):
        rng, schedules = random.Random(11), 0
        for strategy in STRATEGIES:
            for links in ("senders", "ranks"):
                devices, microbatches, stages = draw_sizes(rng, strategy)
                values = {}
                draw_times(rng, values, stages)
                draw_bytes(rng, values, stages)
                for name in ("activation_bytes", "gradient_bytes"):
                    values[name] = [4 * (1 + size) for size in values.get(name, values["activation_bytes"])]
                if strategy.name.startswith("dualpipe"):
                    values["overlapped_times"] = [rng.randint(1, 40) for _ in range(stages * stages if rng.random() < 0.5 else stages)]
                try:
                    config = ppsched.Config(devices, microbatches, stages, iterations=rng.randint(1, 3), **values)
                    schedule = ppsched.generate(strategy.name, config).lower()
                except ppsched.Refused:
                    continue
                schedules += 1
                self.expect_same(schedule, "none" if links == "ranks" else "sends", sizes="times", links=links)
        self.assertGreater(schedules, 30)

    def test_times_between_devices(self):
        rng = random.Random(12)
        config = ppsched.Config(4, 16, p2p_time=[rng.randint(1, 40) / 8 for _ in range(16)])
        for strategy in ("1f1b", "dualpipe"):
            self.expect_same(ppsched.generate(strategy, config).lower(), "sends", sizes="times")

    def test_bytes_and_scale(self):
        config = ppsched.Config(4, 8, forward_times=10.4, backward_times=20.5, activation_bytes=[2, 8, 9, 0], p2p_time=3, p2p_bandwidth=0.5)
        schedule = ppsched.generate("1f1b", config).lower()
        again = ppsched.chakra_schedule(ppsched.chakra_traces(schedule, time_scale=1000))
        self.assertEqual((list(again.config.forward_times), list(again.config.activation_bytes)), ([10.4] * 4, [2, 8, 9, 0]))
        self.assertEqual(list(again.config.gradient_bytes), [0, 2, 8, 9])
        self.assertEqual(list(again.config.p2p_bandwidth), [])

    def test_wrong_traces(self):
        schedule = ppsched.generate("1f1b", ppsched.Config(2, 2, forward_times=3)).lower()
        first, second = ppsched.chakra_traces(schedule)
        for traces, text in (([], "there are 0 traces"),
                             ([first], "the traces are of 2 devices, and their number is 1"),
                             ([first, second[:-1]], "rank 1, node 7: it is cut off"),
                             ([first, b""], "rank 1: it is empty, cut off, or not a Chakra trace"),
                             ([first, b"\x00"], "rank 1: it has no op"),
                             ([first, b"\x02\x08\x01"], "rank 1: it does not begin with the metadata of a Chakra trace"),
                             ([first, second.replace(b"1RECV_F0", b"1RECV_F0"[:7] + b"x")], 'rank 1, node 0: its name "1RECV_Fx" is not an op'),
                             ([first, second.replace(b"1F0\x18\x04", b"1F0\x18\x05")], "node 1: .* type is not that of the op"),
                             ([first, second.replace(b"\x08\x01\x12\x031F0", b"\x08\x00\x12\x031F0")],
                              "rank 1, node 1: its id is used twice"),
                             ([first, second.replace(b"8\x03", b"8\x00", 1)], "node 1: .* duration_micros is missing"),
                             ([first, second.replace(b"8\x03", b"8\x07", 1)], "rank 1: 1F1 has 3 microseconds, another op of its kind and stage 7"),
                             ([first, second, second], "rank 2, node 0: .* the trace is of a link"),
                             ([first, b"not a trace"], "rank 1"),
                             ("x", "traces must be a list of bytes")):
            with self.assertRaisesRegex(ppsched.Error, text):
                ppsched.chakra_schedule(traces)


def varint(value):
    found = b""
    while value >= 128:
        found, value = found + bytes([value % 128 + 128]), value // 128
    return found + bytes([value])


def message(*fields):
    """Fields of a number and an integer, a text or another message."""
    found = b""
    for number, value in fields:
        value = value.encode() if isinstance(value, str) else value
        found += varint(number << 3 | (0 if isinstance(value, int) else 2)) + (varint(value) if isinstance(value, int) else varint(len(value)) + value)
    return found


def trace_of(metadata, *nodes):
    return b"".join(varint(len(record)) + record for record in (metadata, *nodes))


def text_attribute(name, value):
    return 2, message((1, name), (29, value))


def node(number, name, kind, micros=0, *attributes):
    return message((1, number), (2, name), (3, kind), *([(7, micros)] if micros else []), *((10, message((1, key), (9, value))) for key, value in attributes))


class OtherWritersTest(unittest.TestCase):
    """Traces as other programs write them: attributes without a version, schemas of their own."""

    PYTORCH = message(text_attribute("schema", "1.0.1"), (2, message((1, "pid"), (9, 7))), text_attribute("time", "2026-11-27"), (2, message((1, "start_ts"), (9, 3))))
    INPUT = message(text_attribute("schema", "1.0.2-chakra.1.0.0"), text_attribute("input_file", "DATA"))

    def test_whose_they_are(self):
        nodes = [node(2, "[pytorch|profiler|execution_trace|thread]", 1), node(3, "aten::mm", 4, 120), node(4, "aten::add", 4, 5),
                 node(5, "nccl:all_reduce", 7, 900, ("comm_size", 64))]
        for metadata, whose in ((self.PYTORCH, "Chakra's converter of PyTorch's traces (schema \"1.0.1\") wrote the trace"),
                                (self.INPUT, "Chakra's converter of text files (schema \"1.0.2-chakra.1.0.0\") wrote the trace"),
                                (message((2, message((1, "pid"), (9, 7)))), "Chakra's converter of PyTorch's traces wrote the trace"),
                                (b"", "the trace does not say which program wrote it"),
                                (message((1, "0.0.4")), "the trace (schema \"0.0.4\") does not say which program wrote it"),
                                (message((1, "0.0.4"), text_attribute("schema", "1.1.0")),
                                 "the trace (schema \"1.1.0\") does not say which program wrote it")):
            with self.assertRaises(ppsched.Error) as caught:
                ppsched.chakra_schedule([trace_of(metadata, *nodes)])
            start, _, end = str(caught.exception).partition("execution_tr")
            self.assertTrue(start.endswith("rank 0, node 0: its name \"[pytorch|profiler|"), start)
            self.assertTrue(end.endswith(f"\" is not a pipeline op; {whose}, and its 2 compute nodes take 125 microseconds; "
                                         "name nodes by their ops, such as 0F0 and 1SEND_F0"), end)

    def test_their_compute_nodes(self):
        for kind, micros, told in ((4, 0, "no compute node has a duration that can be read"), (4, 1, "its compute node takes 1 microsecond;"),
                                   (4, 2**53, "its compute node takes 9007199254740992 microseconds;"),
                                   (4, 2**63, "no compute node has a duration that can be read"), (7, 3, "no compute node has a duration that can be read")):
            with self.assertRaisesRegex(ppsched.Error, told):
                ppsched.chakra_schedule([trace_of(self.INPUT, node(1, "COMP_NODE_a_FWD", kind, micros))])

    def test_ops_of_a_pipeline_are_read(self):
        """With the durations that they hold, whoever wrote them."""
        def rank(metadata, forward, backward):
            return trace_of(metadata, node(1, "0F0", 4, forward), node(2, "0F1", 4, forward), node(3, "0B0", 4, backward), node(4, "0B1", 4, backward))
        for metadata in (self.PYTORCH, self.INPUT, b"", message((1, "0.0.4"))):
            for forward, backward in ((3, 7), (10, 10)):
                schedule = ppsched.chakra_schedule([rank(metadata, forward, backward)])
                self.assertEqual((schedule.devices, schedule.microbatches, schedule.evaluate().metrics.makespan), (1, 2, 2 * (forward + backward)))
        with self.assertRaisesRegex(ppsched.Error, "rank 0, node 0: .*duration_micros is missing"):
            ppsched.chakra_schedule([rank(self.INPUT, 0, 3)])
        with self.assertRaisesRegex(ppsched.Error, "its type is not that of the op"):
            ppsched.chakra_schedule([trace_of(self.INPUT, node(1, "0F0", 5, 3))])

    def test_what_is_none(self):
        for data in (b"not a trace", b"\x04\x08\x01\x10\x01", message((3, "x")), b"\x05\x1a\x03abc", b"{}"):
            with self.assertRaisesRegex(ppsched.Error, "rank 0: it (is|does)|rank 0, node"):
                ppsched.chakra_schedule([data])


class FileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = os.path.join(folder.name, "run")

    def names(self):
        return sorted(os.listdir(os.path.dirname(self.prefix)))

    def test_command(self):
        words = ("schedule", "-s", 4, "-b", 8, "-f", "10us", "-bw", "20us", "--p2p-time", "5us", "--lower", "just_in_time")
        result = run(*words, "--format", "chakra", "-o", self.prefix)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(self.names(), [f"run.{rank}.et" for rank in range(4)])
        traces = []
        for rank in range(4):
            with open(f"{self.prefix}.{rank}.et", "rb") as file:
                traces.append(file.read())
        self.assertEqual(Simulator(traces, Network(4999, 1)).run(), 410000)
        result = run(*words, "--format", "chakra", "--links", "ranks", "-o", self.prefix)
        self.assertEqual((result.returncode, len(self.names())), (0, 10))

    def test_pick(self):
        words = ("pick", "--num-devices", 4, "-s", 4, "-b", 8, "-f", 10, "-bw", 20, "--p2p-time", 5,
                 "--lower", "just_in_time", "--channel", "sends")
        result = run(*words, "--format", "chakra", "-o", self.prefix)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, run(*words).stdout, ""))
        traces = []
        for name in self.names():
            with open(os.path.join(os.path.dirname(self.prefix), name), "rb") as file:
                traces.append(file.read())
        self.assertEqual(Simulator(traces, Network(4999, 1)).run(), 1000 * json.loads(run(*words, "--json").stdout)[0]["makespan"])
        self.assertIn("give -o PREFIX", run(*words, "--format", "chakra").stderr)
        self.assertIn("--tensors works only with chakra", run(*words, "--tensors").stderr)

    def test_convert(self):
        schedule = ppsched.generate("1f1b", ppsched.Config(4, 8)).lower("just_in_time")
        with open(f"{self.prefix}.csv", "w", encoding="utf-8") as file:
            file.write(schedule.export("csv"))
        result = run("convert", f"{self.prefix}.csv", "--to", "chakra", "-o", self.prefix, "-f", 10, "-bw", 20, "--p2p-time", 5,
                     "--message-sizes", "times")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(len(self.names()), 5)

    def test_read(self):
        schedule = ppsched.generate("zbv", ppsched.Config(4, 8, 8, forward_times=10, backward_times=22)).lower()
        self.assertEqual(ppsched.write_chakra(self.prefix, schedule), 4)
        self.assertEqual(ppsched.read_chakra(self.prefix).evaluate().metrics.makespan, schedule.evaluate().metrics.makespan)
        for words in (("check", f"{self.prefix}.2.et"), ("check", self.prefix, "--from", "chakra")):
            result = run(*words)
            self.assertIn("ok: zbv: 4 devices, 8 stages, 8 microbatches, 1 iteration, v placement", result.stdout)
        result = run("convert", f"{self.prefix}.0.et", "--to", "json")
        self.assertEqual(json.loads(result.stdout)["metrics"]["makespan"], schedule.evaluate().metrics.makespan)
        result = run("convert", f"{self.prefix}.0.et", "--to", "json", "-f", 20)
        self.assertGreater(json.loads(result.stdout)["metrics"]["makespan"], schedule.evaluate().metrics.makespan)
        os.unlink(f"{self.prefix}.1.et")
        self.assertIn("the traces are of 4 devices, and their number is 1", run("check", f"{self.prefix}.0.et").stderr)
        self.assertIn("nothing.0.et: No such file", run("check", "nothing", "--from", "chakra").stderr)

    def test_all_files_or_none(self):
        os.mkdir(f"{self.prefix}.2.et")
        schedule = ppsched.generate("1f1b", ppsched.Config(4, 8)).lower()
        with self.assertRaisesRegex(ppsched.Error, "Is a directory"):
            ppsched.write_chakra(self.prefix, schedule)
        self.assertEqual(self.names(), ["run.2.et"])

    def test_wrong_usage(self):
        lower = ("schedule", "-s", 2, "-b", 4, "--lower", "pytorch")
        for words, code, text in ((("schedule", "-s", 2, "-b", 4, "--format", "chakra", "-o", self.prefix), 2, "lower it with --lower"),
                                  ((*lower, "--format", "chakra"), 2, "give -o PREFIX"),
                                  ((*lower, "--links", "ranks"), 2, "--links works only with chakra traces, not with text"),
                                  ((*lower, "--most-loss", "0.1", "--format", "json"), 2, "--most-loss works only with chakra"),
                                  ((*lower, "-f", "0.25", "--format", "chakra", "-o", self.prefix), 1, "use time_scale 100")):
            result = run(*words)
            self.assertEqual(result.returncode, code, words)
            self.assertIn(text, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)
        self.assertEqual(self.names(), [])


if __name__ == "__main__":
    unittest.main()
