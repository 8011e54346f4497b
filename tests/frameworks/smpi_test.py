#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The pipeline runtimes of docs/examples on clusters that SimGrid's MPI simulates: its steps take as long as the evaluation with
transfers says. What computes sleeps, and sleep and messages pass in simulated time alone.

usage: smpi_test.py [--all] [unittest's words]     --all: 16, 32 and 64 nodes and all strategies, not some on 16
       smpi_test.py --table [NODES...]             prints the rows of docs/accuracy.md
"""
import argparse
import collections
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import ppsched
from ppsched._core import _library

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "docs" / "examples"
CLUSTER = (EXAMPLES / "mpi_runtime" / "cluster.xml").read_text(encoding="utf-8")
STRATEGIES = {"1f1b": 1, "gpipe": 1, "zb_h1": 1, "interleaved_1f1b": 2, "interleaved_zb": 2, "zbv": 2, "v_half": 2}  # chunks
PAIRS = {"1f1b_overlap": 1, "interleaved_1f1b_overlap": 2, "dualpipe": 1, "dualpipe_v": 2}  # they overlap ops
SLOW, FAST = (1, 1), (0.1, 10)  # milliseconds, and MB/s
OP = 5  # milliseconds of an F, an I and a W; a B takes two of them
BYTES = 3072 + 16  # of a message, and of the envelope that SimGrid adds
FEW = [(16, SLOW, "1f1b"), (16, SLOW, "interleaved_zb"), (16, FAST, "zbv"), (16, FAST, "v_half")]
ALL = [(nodes, link, name) for nodes in (16, 32, 64) for link in (SLOW, FAST) for name in STRATEGIES]


def ring(nodes, link):
    """cluster.xml with so many nodes, and such links."""
    text = CLUSTER
    for old, new in (('"64"', f'"{nodes}"'), ('"0-63"', f'"0-{nodes - 1}"'), ('"1ms"', f'"{link[0]}ms"'), ('"1MBps"', f'"{link[1]}MBps"')):
        if text.count(old) != 1:
            raise AssertionError(f"cluster.xml has {old} {text.count(old)} times")
        text = text.replace(old, new)
    return text


def nodes_of(size, count):
    """Machines of `size` devices with fast links, and slow links between the machines: a ring, link by link."""
    devices = size * count
    rows = [f'<host id="node{r}" speed="1Gf"/>' for r in range(devices)]
    for r in range(devices):
        latency, bandwidth = links_of(size, r)
        rows.append(f'<link id="{r}" latency="{latency}ms" bandwidth="{bandwidth}MBps" sharing_policy="SPLITDUPLEX"/>')
    for r in range(devices):
        ends = (r, (r + 1) % devices, "UP"), ((r + 1) % devices, r, "DOWN")
        rows += [f'<route src="node{a}" dst="node{b}" symmetrical="NO"><link_ctn id="{r}" direction="{way}"/></route>' for a, b, way in ends]
    return re.sub(r"<cluster .*/>", f'<zone id="ring" routing="Floyd">{"".join(rows)}</zone>', CLUSTER, flags=re.S)


def links_of(size, device):
    """Of the link from a device to the next one."""
    return SLOW if (device + 1) % size == 0 else FAST


class Simulator:
    """The programs, built for it, in a folder."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        rest = [_library.lib._name, f"-Wl,-rpath,{pathlib.Path(_library.lib._name).parent}", "-lm", "-o"]
        include = [f"-I{ROOT}/{path}" for path in ("include", "bindings/cpp", "docs/examples")]
        self.build(["smpicc", "-std=c11", "-O2", *include, *(EXAMPLES / "mpi_runtime").glob("*.c"), *rest, "runtime"])
        self.build(["smpicxx", "-std=c++17", "-O2", *include, EXAMPLES / "mpi_runtime.cpp", *rest, "runtime_cpp"])

    def build(self, words):
        subprocess.run([*map(str, words)], cwd=self.folder, check=True, timeout=600)

    def run(self, platform, nodes, words, settings=(), program="./runtime"):
        (self.folder / "cluster.xml").write_text(platform, encoding="utf-8")
        (self.folder / "hosts").write_text("".join(f"node{r}\n" for r in range(nodes)), encoding="utf-8")
        command = ["smpirun", "-np", nodes, "-platform", "cluster.xml", "-hostfile", "hosts", "--log=root.thres:warning", *settings, program, *words]
        result = subprocess.run([*map(str, command)], cwd=self.folder, capture_output=True, text=True, check=False, timeout=600)
        if result.returncode != 0:
            raise AssertionError(f"{words}: {result.stdout[-1000:]} {result.stderr[-1000:]}")
        return result.stdout

    def step(self, platform, nodes, name, chunks, settings=()):
        """Milliseconds of one."""
        text = self.run(platform, nodes, ["--strategy", name, "--chunks", chunks, "--microbatches", 2 * nodes, "--work", OP, "--steps", 1], settings)
        if float(re.search(r"gradients differ by (\S+) of the largest", text)[1]) > 1e-12:
            raise AssertionError(text)
        return float(re.search(r"measured (\S+) ms", text)[1])


def lowered(nodes, name, chunks):
    """What the program makes, too."""
    return ppsched.generate(name, ppsched.Config(nodes, 2 * nodes, chunks * nodes)).lower("just_in_time", receive_prefetch=1)


def times(schedule, latency, bandwidth, **options):
    """latency, bandwidth: milliseconds and MB/s, one for all or those of each pair of devices."""
    per_millisecond = [1000 * value for value in bandwidth] if isinstance(bandwidth, list) else 1000 * bandwidth
    config = ppsched.Config(schedule.devices, schedule.microbatches, schedule.stages, forward_times=OP, backward_times=2 * OP, p2p_time=latency,
                            p2p_bandwidth=per_millisecond, activation_bytes=BYTES, placement=schedule.placement)
    return schedule.evaluate_transfers(config, **options)


def as_single_ops(schedule):
    """The same order, with the two ops of a pair one after the other, as the programs run them."""
    config = ppsched.Config(schedule.devices, schedule.microbatches, schedule.stages, placement=schedule.placement)
    return ppsched.Schedule.from_queues(config, [[op._replace(overlapped=False) for op in queue] for queue in schedule.queues])


def share_links(timeline):
    """How many transfers begin when another one on their link ends, as they had to wait for it."""
    schedule, links = timeline.schedule, collections.defaultdict(list)
    for device, (queue, spans) in enumerate(zip(schedule.queues, timeline.spans)):
        for op, span in zip(queue, spans):
            if op.kind in (ppsched.Kind.SEND_F, ppsched.Kind.SEND_B):
                other = op.stage + (1 if op.kind == ppsched.Kind.SEND_F else -1)
                links[device, schedule.device_of(other, op.microbatch)].append((span.start, span.end))
    return sum(after[0] <= before[1] + 1e-9 for spans in map(sorted, links.values()) for before, after in zip(spans, spans[1:]))


class SimulatedTest(unittest.TestCase):
    cases = FEW

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.simulator = Simulator(folder.name)

    def compare(self, planned, simulated, case):
        print(f"{case}: planned {planned:.2f} ms, simulated {simulated:.2f} ms")
        self.assertLess(abs(simulated - planned), min(1, 0.005 * planned), case)

    def test_steps(self):
        for nodes, link, name in self.cases:
            chunks = STRATEGIES[name]
            planned = times(lowered(nodes, name, chunks), *link).metrics.makespan
            self.compare(planned, self.simulator.step(ring(nodes, link), nodes, name, chunks), (nodes, link, name))

    def test_receives_that_are_late(self):
        """Messages that start when their receive is there. Where two then start at once on a link, SimGrid lets them share it and here one
        waits for the other, so that times differ."""
        compared = 0
        for nodes, link, name in self.cases:
            timeline = times(lowered(nodes, name, STRATEGIES[name]), *link, rendezvous=True)
            if share_links(timeline) == 0:
                simulated = self.simulator.step(ring(nodes, link), nodes, name, STRATEGIES[name], ["--cfg=smpi/async-small-thresh:0"])
                self.compare(timeline.metrics.makespan, simulated, (nodes, link, name, "rendezvous"))
                compared += 1
        self.assertGreaterEqual(compared, len(self.cases) // 2)

    def test_unlike_links(self):
        """Machines of four devices."""
        devices, size = 16, 4
        for name in ("1f1b", "v_half") if self.cases is FEW else STRATEGIES:
            latency, bandwidth = [[0.0 if k == 0 else 1.0] * devices ** 2 for k in range(2)]
            for r in range(devices):
                after = (r + 1) % devices
                for place in (r * devices + after, after * devices + r):
                    latency[place], bandwidth[place] = links_of(size, r)
            planned = times(lowered(devices, name, STRATEGIES[name]), latency, bandwidth).metrics.makespan
            self.compare(planned, self.simulator.step(nodes_of(size, devices // size), devices, name, STRATEGIES[name]), ("machines", name))

    def test_overlapped_pairs(self):
        """The programs run the two ops of a pair one after the other, so the plan is of single ops. Both ops send at once then; where that
        is on one link, as with two copies or on the V placement, SimGrid lets the messages share it. So links have latencies alone."""
        link = 4, 1e6
        for name, chunks in PAIRS.items():
            schedule = lowered(16, name, chunks)
            planned = times(as_single_ops(schedule), *link).metrics.makespan
            self.assertLess(planned, times(schedule, *link).metrics.makespan + 0.001)
            self.compare(planned, self.simulator.step(ring(16, link), 16, name, chunks), (link, name))

    def test_cpp(self):
        for nodes in sorted({nodes for nodes, _, _ in self.cases}):
            wanted = self.simulator.run(ring(nodes, SLOW), nodes, ["--strategy", "zbv", "--microbatches", 2 * nodes, "--steps", 0])
            text = self.simulator.run(ring(nodes, SLOW), nodes, ["zbv", 2 * nodes, 2 * nodes], program="./runtime_cpp")
            self.assertEqual(f"{float(text.split()[1]):.6f}", re.search(r"step 0: loss (\S+)", wanted)[1], nodes)

    def test_page(self):
        """The commands of docs/embedding.md print what it says, with this library."""
        page = (ROOT / "docs" / "embedding.md").read_text(encoding="utf-8")
        section = re.search(r"\n## A simulated cluster\n(.*?)(?=\n## |\Z)", page, flags=re.S)[1]
        commands = re.findall(r"^    ((?:smpicc|seq|smpirun|bindings/python/run.sh) .*)$", section, flags=re.M)
        self.assertEqual([command.split()[0] for command in commands], ["smpicc", "seq", "smpirun", "bindings/python/run.sh"])
        with tempfile.TemporaryDirectory() as folder:
            os.makedirs(f"{folder}/build-mpi/lib")
            os.symlink(_library.lib._name, f"{folder}/build-mpi/lib/libppsched.so.1")
            for name in ("docs", "include"):
                os.symlink(ROOT / name, f"{folder}/{name}")
            command = f"{shlex.quote(sys.executable)} -m ppsched"
            printed = [subprocess.run(["bash", "-c", line.replace("bindings/python/run.sh", command)], cwd=folder, capture_output=True, text=True,
                                      check=True, timeout=600).stdout for line in commands]
        simulated = re.search(r"measured (\S+) ms", printed[2])[1]
        planned = re.search(r"makespan (\S+) ms", printed[3])[1]
        self.assertIn(f"measured {simulated} ms", section)
        self.assertIn(f"makespan {planned} ms", section)
        self.assertLess(abs(float(simulated) - float(planned)), 1)


def print_table(sizes):
    """A row each strategy and kind of links; of pairs on 16 nodes alone, planned as they are and as single ops."""
    with tempfile.TemporaryDirectory() as folder:
        simulator = Simulator(folder)
        for link in (SLOW, FAST):
            for name, chunks in STRATEGIES.items():
                cells = [f"{link[0]} ms, {link[1]} MB/s", name]
                for nodes in sizes:
                    planned = times(lowered(nodes, name, chunks), *link).metrics.makespan
                    cells += [f"{planned:.2f}", f"{simulator.step(ring(nodes, link), nodes, name, chunks):.2f}"]
                print(f"| {' | '.join(cells)} |", flush=True)
        for link in (SLOW, FAST):
            for name, chunks in PAIRS.items():
                schedule = lowered(16, name, chunks)
                planned, single = (times(given, *link).metrics.makespan for given in (schedule, as_single_ops(schedule)))
                simulated = simulator.step(ring(16, link), 16, name, chunks)
                print(f"| {link[0]} ms, {link[1]} MB/s | {name} | {planned:.2f} | {single:.2f} | {simulated:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--table", type=int, nargs="*")
    given, rest = parser.parse_known_args()
    if shutil.which("smpicc") is None or shutil.which("smpirun") is None:
        print("needs the package libsimgrid-dev")
        sys.exit(77)
    if given.table is not None:
        print_table(given.table or (16, 32, 64))
        return
    if given.all:
        SimulatedTest.cases = ALL
    unittest.main(argv=[sys.argv[0], *rest])


if __name__ == "__main__":
    main()
