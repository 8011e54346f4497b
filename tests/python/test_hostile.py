# SPDX-License-Identifier: Apache-2.0
"""Files and arguments that mean harm, or are of the wrong kind: one short line, in bounded time and memory, and nothing is left
behind."""
import gzip
import importlib.util
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unicodedata
import unittest
from unittest import mock

import ppsched
from ppsched._core.shown import printable

HAS_YAML = importlib.util.find_spec("yaml") is not None
MODULE = [sys.executable, "-m", "ppsched"]
MEMORY = 1 << 30  # bytes of address space that each command gets
SECONDS = 20      # and time, which is far more than it needs
MOST = 1200       # letters of a message: one tells all keys of a file


def limited():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def bomb(levels, width=9, leaf="1"):
    """Lists of aliases of lists: width to the power of the levels values in a few hundred bytes."""
    rows = [f"&a0 [{','.join([leaf] * width)}]"]
    rows += [f"&a{level} [{','.join([f'*a{level - 1}'] * width)}]" for level in range(1, levels)]
    return "[" + ", ".join(rows) + "]"


class HostileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    def run_limited(self, *words):
        return subprocess.run([*MODULE, *map(str, words)], capture_output=True, check=False, timeout=SECONDS, preexec_fn=limited)

    def expect_short(self, *words, part=None):
        """It is refused with one line that is not long and that a terminal shows as it is."""
        result = self.run_limited(*words)
        message = result.stderr.decode("utf-8")
        self.assertIn(result.returncode, (1, 2), (words, message[:MOST]))
        self.assertEqual((message.count("\n"), result.stdout), (1, b""), (words, message[:MOST]))
        self.assertLess(len(message), MOST, words)
        self.assertTrue(message[:-1].isprintable(), (words, message))
        self.assertNotIn("Traceback", message)
        if part is not None:
            self.assertIn(part, message)


class FileTest(HostileTest):
    @unittest.skipUnless(HAS_YAML, "PyYAML is not installed")
    def test_aliases_are_bounded(self):
        sizes = "num_stages: 2\nnum_batches: 2\n"
        for levels, key in ((2, "forward_times"), (4, "num_stages"), (5, "strategy"), (5, "options"), (5, "placement"), (5, "unknown"),
                            (6, "forward_times"), (8, "num_stages"), (12, "layers"), (40, "mem_limits")):
            text = (sizes if key != "num_stages" else "") + f"{key}: {bomb(levels)}\n"
            self.assertLess(len(text), 2100)
            self.expect_short("schedule", "-c", self.file("a.yaml", text), part=None if levels < 6 else "aliases expand to more than")
        merged = "m0: &m0 {a: 1}\n" + "".join(f"m{i}: &m{i} {{<<: [{', '.join([f'*m{i - 1}'] * 9)}]}}\n" for i in range(1, 12))
        self.expect_short("schedule", "-c", self.file("a.yaml", sizes + merged), part="aliases expand to more than")
        self.expect_short("schedule", "-c", self.file("a.yaml", sizes + "layers: &a [*a]\n"), part="contains itself")
        self.expect_short("schedule", "-c", self.file("a.yaml", sizes + "layers: &a {b: *a}\n"), part="contains itself")

    @unittest.skipUnless(HAS_YAML, "PyYAML is not installed")
    def test_aliases_that_people_use(self):
        path = self.file("a.yaml", "num_stages: 4\nnum_batches: 8\nforward_times: &t [1, 2, 1, 2]\nbackward_times: *t\n")
        self.assertEqual(self.run_limited("schedule", "-c", path).returncode, 0)
        path = self.file("a.yaml", "num_devices: 4\nnum_batches: 8\nlayers: [&l {name: a, forward_time: 1, backward_time: 2},"
                                   + ", ".join(["*l"] * 79) + "]\n")
        result = self.run_limited("pick", "-c", path, "--quiet")
        self.assertEqual((result.returncode, result.stderr), (0, b""))

    @unittest.skipUnless(HAS_YAML, "PyYAML is not installed")
    def test_many_keys(self):
        started = time.monotonic()
        self.expect_short("schedule", "-c", self.file("a.json", "{" + ", ".join(f'"k{i}": 1' for i in range(100_000)) + "}"),
                          part="unknown key 'k0'")
        self.assertLess(time.monotonic() - started, 5)
        self.expect_short("schedule", "-c", self.file("a.json", '{"a": 1, "a": 2}'), part="'a' occurs twice")
        self.expect_short("schedule", "-c", self.file("a.yaml", "a: 1\na: 2\n"), part="'a' occurs twice")
        self.expect_short("schedule", "-c", self.file("a.yaml", "? [a]\n: 1\n? [a]\n: 2\n"))

    def test_byte_order_marks(self):
        csv, config = "0F0,0F1,0B0,0B1\r\n1F0,1B0,1F1,1B1\r\n", '{"num_stages": 2, "num_batches": 2}'
        result = self.run_limited("check", self.file("excel.csv", b"\xef\xbb\xbf" + csv.encode()))
        self.assertEqual((result.returncode, result.stdout[:11]), (0, b"ok: custom:"))
        names = ["a.json"] + ["a.yaml"] * HAS_YAML
        for name in names:
            self.assertEqual(self.run_limited("schedule", "-c", self.file(name, b"\xef\xbb\xbf" + config.encode())).returncode, 0)
            for encoding in ("utf-16", "utf-16-be"):
                mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
                self.expect_short("schedule", "-c", self.file(name, mark + config.encode(encoding)), part="it is UTF-16")
        self.expect_short("check", self.file("wide.csv", csv.encode("utf-16")), part="the text is UTF-16; save it as UTF-8")
        self.expect_short("pick", "--num-devices", 2, "-b", 2, "--layers", self.file("a.json", "[]".encode("utf-16")), part="UTF-16")

    def test_nothing_steers_the_terminal(self):
        for letter in "\u202e\u2066\U000e0041\x9b":
            for words in (("schedule", "--strategy", f"a{letter}b", "-s", 2, "-b", 2), ("schedule", "-s", 2, "-b", 2, "-f", f"1{letter}"),
                          ("check", f"{letter}.csv"), ("schedule", "-c", f"{letter}.json"), ("strategies", letter),
                          ("schedule", "-s", 2, "-b", 2, "-o", f"{letter}.abc")):
                self.expect_short(*words)
            text = f'{{"strategy": "a{letter}b", "devices": 1, "stages": 1, "microbatches": 1, "iterations": 1, "queues": ' \
                   '[{"device": 0, "ops": ["0F0", "0B0"]}]}'
            path = self.file("a.json", text)
            for words in (("check", path), ("convert", path, "--to", "text")):
                result = self.run_limited(*words)
                self.assertEqual((result.returncode, letter in result.stdout.decode("utf-8")), (0, False), (words, letter))

    def test_what_is_printable(self):
        for code in range(0x20000):
            letter = chr(code)
            obeyed = unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp") or code & 0xFFFE == 0xFFFE  # which is no letter
            self.assertEqual(printable(f"a{letter}b"), "a?b" if obeyed else f"a{letter}b")

    def test_endless_files(self):
        if not pathlib.Path("/dev/zero").exists():
            self.skipTest("there is no /dev/zero")
        for words in (("schedule", "-c", "/dev/zero"), ("pick", "--num-devices", 2, "-b", 2, "--layers", "/dev/zero")):
            self.expect_short(*words, part="it has more than 64 MiB")

    def test_gzip_bomb(self):
        path = self.folder / "trace.json.gz"
        with gzip.open(path, "wb", compresslevel=9) as file:
            for _ in range(100):
                file.write(bytes(1 << 20))
        from ppsched.readers import trace
        self.assertLess(path.stat().st_size, 1 << 18)
        with mock.patch.object(trace, "_LARGE", 99 << 20), self.assertRaisesRegex(ppsched.Error, "more than 99 MiB.* no trace is compressed so well"):
            trace._unpacked(str(path), path.read_bytes())
        with mock.patch.object(trace, "_LARGE", 100 << 20):
            self.assertEqual(len(trace._unpacked(str(path), path.read_bytes())), 100 << 20)

    def test_tampered_configs(self):
        """Bytes of a good file are changed, left out and doubled: it is read, or refused in a line."""
        from ppsched.readers.config_file import read_config_file
        good = ['{"num_stages": 4, "num_batches": 8, "forward_times": [1, 2.5, 1e-3, 4], "mem_limit": "72GB", "options": {"a": 1}}']
        good += ["num_stages: 4\nnum_batches: &a 8\nforward_times: [1, *a, 1e-3]\nlayers:\n- {name: x, forward_time: 1ms}\n"] * HAS_YAML
        chance, tried = random.Random(1), 0
        for text, name in zip(good, ("a.json", "a.yaml")):
            for _ in range(1500):
                data = bytearray(text.encode())
                for _ in range(chance.randint(1, 4)):
                    place = chance.randrange(len(data))
                    data[place:place + chance.choice((0, 1, 1, 4))] = bytes(chance.choices(b'{}[]:,"&*!<>|-?#%@`\n\t \x00\xff\xf0 019.eE~', k=chance.randint(0, 3)))
                    data = data or bytearray(b" ")
                try:
                    read_config_file(str(self.file(name, bytes(data))))
                except ppsched.Error as error:
                    self.assertLess(len(str(error)), MOST + len(str(self.folder)))
                tried += 1
        self.assertEqual(tried, 1500 * len(good))


class SignalTest(HostileTest):
    def end_while(self, number, *words):
        """Sends a signal while the temporary file is there, and tells the exit code. Under nohup it would be ignored."""
        with subprocess.Popen([*MODULE, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                              preexec_fn=lambda: signal.signal(number, signal.SIG_DFL)) as process:
            deadline = time.monotonic() + SECONDS
            while not list(self.folder.glob(".ppsched-*")) and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.002)
            self.assertTrue(list(self.folder.glob(".ppsched-*")), "it ended before it wrote")
            process.send_signal(number)
            message = process.communicate(timeout=SECONDS)[1].decode()
            self.assertNotIn("Traceback", message)
            return process.returncode

    @unittest.skipUnless(importlib.util.find_spec("matplotlib"), "matplotlib is not installed")
    def test_nothing_is_left(self):
        for number in (signal.SIGTERM, signal.SIGHUP):
            code = self.end_while(number, "schedule", "-s", 32, "-b", 256, "-o", self.folder / "a.svg")
            self.assertEqual((code, list(self.folder.iterdir())), (128 + number, []))

    def test_a_search_ends(self):
        words = ("schedule", "--strategy", "auto", "-s", 12, "-b", 40, "--set", "effort=12", "--mem-limit", 8, "--p2p-time", 0.37, "-f",
                 *(1 + stage / 10 for stage in range(12)))
        with subprocess.Popen([*MODULE, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
            time.sleep(2)
            process.send_signal(signal.SIGTERM)
            message = process.communicate(timeout=SECONDS)[1].decode()
        self.assertEqual((process.returncode, "Traceback" in message), (143, False), message)


WRONG = """
ppsched.generate("1f1b", None)
ppsched.generate("1f1b", "x")
ppsched.generate(lambda config, builder: None, None)
ppsched.generate("1f1b", config, progress=3)
ppsched.Schedule.from_queues(config, [[None]])
ppsched.Schedule.from_queues(config, [None])
ppsched.Schedule.from_queues(config, None)
ppsched.Schedule.from_queues(None, [])
ppsched.Schedule.from_queues(config, ["0F0"])
ppsched.Schedule.from_queues(config, {"a": ["0F0"]})
ppsched.Schedule.from_queues(config, {1.5: ["0F0"]})
ppsched.Schedule.from_queues(config, [[(0, 1, 0)]])
ppsched.Schedule.from_queues(config, [[ppsched.Op("a", ppsched.Kind.F, 0)]])
ppsched.Schedule.from_queues(config, [[ppsched.Op(0, ppsched.Kind.F, 1.5)]])
ppsched.Op.from_token(None)
ppsched.Builder(None)
ppsched.Builder(config).append("x", "0F0")
ppsched.Builder(config).append(0, 3)
ppsched.Config(1, 1, forward_times=[[1]])
ppsched.Config(2, 2, forward_times=[[1, 2]])
ppsched.Config(2, 2, forward_times=[1, [2]])
ppsched.Config(2, 2, mem_limit=[[1, 2]])
ppsched.Config(2, 2, backward_input_share=[[1]])
ppsched.Config(2, 2, p2p_time=[[0, 1, 1], [0]])
ppsched.Config(2, 2, p2p_time=[[0], [1], [2], [3]])
ppsched.Config(2, 2, p2p_time=[[0, 1], 1, 0])
ppsched.Config(2, 2, options=3)
ppsched.Config(2, 2, units=None)
ppsched.Config(2, 2, placement=3.5)
schedule.evaluate(3)
schedule.evaluate_transfers(3)
schedule.device_of(None)
schedule.device_of(0, "x")
schedule.buffers("x")
schedule.lower(unshard=None)
schedule.lower(unshard="x")
schedule.launch("megatron", model=3)
timeline.update(None)
timeline.export([])
timeline.export("text", text_columns="a")
timeline.export("text", text_columns=1.5)
timeline.export("chrome", time_scale="a")
timeline.memory("x")
ppsched.lower_bound(None)
ppsched.plan(None)
ppsched.plan(config, strategies=3)
ppsched.plan(config, runtimes=3)
ppsched.plan(config, head=3)
ppsched.plan(config, progress=3)
ppsched.plan(config, memory_limits=[[1]])
ppsched.plan(config).timeline(None)
ppsched.compare_run(timeline, None)
ppsched.Config(2, 2, forward_times="x" * 10**7)
ppsched.Config(2, 2, forward_times=[[1] * 10**6])
ppsched.generate("x" * 10**7, config)
ppsched.Config(10**5000, 2)
"""


class ArgumentTest(unittest.TestCase):
    def test_arguments_of_the_wrong_kind(self):
        """They raise ppsched.Error with one short line, not what Python says of our insides."""
        config = ppsched.Config(2, 2)
        schedule = ppsched.generate("1f1b", config)
        names = {"ppsched": ppsched, "config": config, "schedule": schedule, "timeline": schedule.evaluate()}
        for line in WRONG.strip().splitlines():
            with self.subTest(line), self.assertRaises(ppsched.Error) as raised:
                eval(line, names)
            self.assertLess(len(str(raised.exception)), MOST, line)
            self.assertNotIn("\n", str(raised.exception))

    def test_matrices_where_there_are_pairs(self):
        """Of devices, or of stages."""
        config = ppsched.Config(2, 2, p2p_time=[[0, 1], [2, 0]], overlapped_times=[[1, 2], [3, 4]])
        self.assertEqual((config.p2p_time, config.overlapped_times), ([0, 1, 2, 0], [1, 2, 3, 4]))

    def test_bytes_as_queues(self):
        """A random schedule of tokens, some of which are none."""
        chance, config, refused = random.Random(2), ppsched.Config(2, 2), 0
        for _ in range(2000):
            queues = [[chance.choice(("0F0", "1F1", "0B0", None, 3, "x", b"0F0", (), ppsched.Op(1, ppsched.Kind.B, 1), 1e9, "0F" + "9" * 99))
                       for _ in range(3)] for _ in range(2)]
            try:
                ppsched.Schedule.from_queues(config, queues).check()
            except ppsched.Error:
                refused += 1
        self.assertGreater(refused, 1000)


if __name__ == "__main__":
    unittest.main()
