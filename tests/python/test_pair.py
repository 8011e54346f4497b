# SPDX-License-Identifier: Apache-2.0
"""Windows of overlapped pairs: the command pair, what it refuses, traces, and windows of stages in other commands."""
import importlib.util
import itertools
import json
import pathlib
import random
import shlex

import ppsched
from ppsched.page import report
from test_layers import FolderTest as ModelFolderTest

LAYER = {"forward": [["compute", 3], ["network", 2], ["compute", 3], ["network", 2]],
         "backward": [["network", 2], ["compute", 4], ["network", 2], ["compute", 4]]}
SPLIT = {**LAYER, "weight": [["compute", 2, 2], ["compute", 2, 4]]}
DENSE_SPLIT = {"forward": [["compute", 4]], "backward": [["compute", 5]], "weight": [["compute", 2, 1]]}
DENSE = {"forward": [["compute", 4]], "backward": [["compute", 7]]}
PUBLIC = json.loads((pathlib.Path(__file__).parent / "traces" / "public_pair.json").read_text(encoding="utf-8"))
KINDS = ("forward", "backward", "weight")


class FolderTest(ModelFolderTest):
    def refused(self, *words, code=1):
        """The one line of a command that refuses."""
        found, output, errors = self.run_here(*words)
        self.assertEqual((found, output, errors.count("\n")), (code, "", 1), errors)
        return errors


def best_by_trying(pair):
    """The shortest time of all ways to start, at each moment and for each channel that is free, one of the windows that are ready."""
    lists, slowdown, best = [pair.get(kind, []) for kind in KINDS], pair.get("slowdown", {}), [float("inf")]

    def go_on(done, running, now):
        ready = {}
        for kind, windows in enumerate(lists):
            if done[kind] == len(windows) or any(kind == other for other, _ in running.values()):
                continue
            channel, time, *after = windows[done[kind]]
            if channel not in running and done[1] >= sum(after):
                ready.setdefault(channel, []).append((kind, time))
        for chosen in itertools.product(*ready.values()):
            started = {**running, **dict(zip(ready, chosen))}
            if not started:
                best[0] = min(best[0], now)
                continue
            slow = {channel: slowdown.get(channel, 1) if len(started) > 1 else 1 for channel in started}
            step = min(left * slow[channel] for channel, (_, left) in started.items())
            left = {channel: (kind, work - step / slow[channel]) for channel, (kind, work) in started.items()}
            ended = [kind for kind, work in left.values() if work < 1e-9]
            go_on([count + (kind in ended) for kind, count in enumerate(done)],
                  {channel: pair for channel, pair in left.items() if pair[0] not in ended}, now + step)

    go_on([0, 0, 0], {}, 0.0)
    return best[0]


class PairCommandTest(FolderTest):
    def pair(self, given, *words):
        self.write("pair.json", given)
        return json.loads(self.succeed("pair", "pair.json", "--json", *words))

    def test_json(self):
        found = self.pair(LAYER)
        self.assertEqual(list(found), ["time", "bound", "serial", "forward_end", "backward_end", "windows"])
        self.assertEqual([found[name] for name in list(found)[:5]], [14, 14, 22, 12, 14])
        self.assertEqual(found["windows"][0], {"of": "forward", "index": 0, "channel": "compute", "start": 0, "end": 3})
        self.assertEqual([window["start"] for window in found["windows"]], [0, 0, 3, 3, 7, 7, 10, 10])

    def test_against_all_ways(self):
        draw = random.Random(5)
        for _ in range(60):
            given = {kind: [[draw.choice("abc"), draw.randint(1, 9)] for _ in range(draw.randint(1, 4))] for kind in KINDS[:2]}
            given["weight"] = [[draw.choice("abc"), draw.randint(1, 9), draw.randint(0, len(given["backward"]))] for _ in range(draw.randint(0, 2))]
            given["slowdown"] = {"a": draw.choice([1, 1.25, 1.5]), "b": draw.choice([1, 2])}
            found = ppsched.pair_time(given)
            self.assertAlmostEqual(found.time, best_by_trying(given), 9, given)
            self.assertTrue(found.is_best and found.bound == found.time)

    def test_units(self):
        found = self.pair({"forward": [["compute", "3ms"]], "backward": [["network", "2000us"], ["compute", "0.004s"]]})
        self.assertEqual((found["time"], found["units"]["time"]), (0.007, "s"))
        text = self.succeed("pair", "pair.json")
        self.assertIn("time 0.007 s; no order takes less", text)
        self.assertEqual([line.split()[0] for line in text.splitlines()[-3:-1]], ["compute", "network"])

    def test_order(self):
        self.assertEqual(self.pair(LAYER, "--order", "BBBBFFFF")["time"], 22)
        self.assertEqual(self.pair(LAYER, "--order", "FBFBFBFB")["time"], 14)
        self.assertIn("another window of forward", self.refused("pair", "pair.json", "--order", "FFFFFBBB"))
        self.assertIn("order holds 'X'", self.refused("pair", "pair.json", "--order", "XFFFFBBBB"))

    def test_pairs_in_a_row(self):
        """As one pair of all their windows; and the cycle of one whose channels are never idle is their work."""
        three = {"forward": LAYER["forward"] * 3, "backward": LAYER["backward"] * 3, "weight": [["compute", 2, after + 4 * n] for n in range(3) for after in (2, 4)]}
        self.assertEqual(ppsched.pair_time(SPLIT, pairs=3), ppsched.pair_time(three))
        self.assertEqual(ppsched.pair_time(SPLIT, pairs=3, order="BFBFWBFBFW"), ppsched.pair_time(three, order="BFBFWBFBFW" * 3))
        found = self.pair(LAYER, "--pairs", 8)
        self.assertEqual(found["time"], best_by_trying({"forward": LAYER["forward"] * 8, "backward": LAYER["backward"] * 8}))
        self.assertEqual((found["cycle"], found["cycle_bound"]), (14, 14))
        self.assertIn("each additional pair takes 14; no order takes less than 14", self.succeed("pair", "pair.json", "--pairs", 8))
        loose = {"forward": [["a", 4], ["b", 1]], "backward": [["a", 1], ["b", 2]]}
        found = self.pair(loose, "--pairs", 12)
        self.assertEqual((ppsched.pair_time(loose).time, found["cycle"], found["cycle_bound"]), (6, 5, 5))
        self.assertIn("251 pairs in a row have 1004 windows", self.refused("pair", "pair.json", "--pairs", 251))
        self.assertIn("the order has 2 windows, the pair 4", self.refused("pair", "pair.json", "--pairs", 2, "--order", "FB"))
        self.assertIn("there are 0 pairs in a row; give 1 or more", self.refused("pair", "pair.json", "--pairs", 0))

    def test_stages(self):
        pair = {**DENSE, "forward": LAYER["forward"]}
        found = self.pair([LAYER, DENSE], "--stages", 0, 1)
        self.assertEqual(found["time"], ppsched.pair_time(pair).time)
        self.assertIn("windows of 2 stages", self.refused("pair", "pair.json", code=2))
        self.assertIn("there is no stage 2", self.refused("pair", "pair.json", "--stages", 0, 2))

    def test_slowdown_of_no_window(self):
        """A note, as it changes nothing; of a list of stages it may be a channel of another one."""
        self.write("pair.json", {**LAYER, "slowdown": {"copies": 1.1}})
        for words in ("pair", "pair.json"), ("schedule", "--windows", "pair.json", "--num-devices", 2, "-b", 4, "--quiet"):
            code, _, errors = self.run_here(*words)
            self.assertEqual((code, errors.count("pair.json: slowdown of 'copies' changes nothing, as no window runs on it")), (0, 1), errors)
        self.write("pair.json", [LAYER, {**LAYER, "slowdown": {"copies": 1.1}, "forward": [["copies", 1]]}])
        self.assertEqual(self.run_here("pair", "pair.json", "--stages", 0, 0)[2], "")

    def test_refused(self):
        for given, words in ({"forward": [[3]], "backward": [["a", 1]]}, "window 0 of forward is [3]"), \
                ({"forward": [["", 3]], "backward": [["a", 1]]}, "window 0 of forward has no channel"), \
                ({"forward": [[3, "a"]], "backward": [["a", 1]]}, "window 0 of forward has no channel"), \
                ({"forward": [["a", 3]]}, "backward has no windows; a pair is a forward and a backward"), \
                ({"forward": [], "backward": [["a", 1]]}, "forward has no windows"), \
                ({"forward": [["a", -3]], "backward": [["a", 1]]}, "window 0 of forward takes -3"), \
                ({"forward": [["a", True]], "backward": [["a", 1]]}, "the time must be a number, not True"), \
                ({"forward": [["a", "3GB"]], "backward": [["a", "1ms"]]}, "GB is a unit of memory"), \
                ({"forward": [["a", "3ms"]], "backward": [["a", 1]]}, "numbers with and without units"), \
                ({**LAYER, "slowdown": {"compute": 0.9}}, "slowdown of 'compute' is 0.9; it must be a number of at least 1"), \
                ({**LAYER, "slowdown": {"computee": 1.1}}, "slowdown is of 'computee', and no window runs on it; did you mean compute? Channels are 'compute', 'network'"), \
                ({"forward": [["a", " -3ms"]], "backward": [["a", "1ms"]]}, "window 0 of forward takes ' -3ms'; it must be finite and at least 0"), \
                ({"forward": [["a", "1ms", 2]], "backward": [["a", "1ms"]]}, "window 0 of forward is ['a', '1ms', 2]; a window is [channel, time]"), \
                ({**LAYER, "slowdown": 2}, "slowdown must be a mapping"), ({**LAYER, "slowdown": []}, "slowdown must be a mapping"), \
                ({**LAYER, "weight": [["compute", 1, 5]]}, "window 0 of weight is after 5 windows of the backward, which has 4"), \
                ({**LAYER, "weight": [["compute", 1, -1]]}, "after must be a number of windows of backward, not -1"), \
                ({**LAYER, "wieght": []}, "did you mean weight?"), \
                ({"forward": [[name, 1] for name in "abcd"], "backward": [["e", 1]]}, "on 5 channels"), \
                ([], "an empty list"), (7, "must be a mapping"):
            self.write("pair.json", given)
            error = self.refused("pair", "pair.json")
            self.assertIn(words, error)
            self.assertIn("pair.json: ", error)


class PageTest(FolderTest):
    """docs/pairs.md: its file and what the command prints of it."""

    def test_example(self):
        page = (pathlib.Path(__file__).parents[2] / "docs" / "pairs.md").read_text(encoding="utf-8")
        self.write("layer.json", page.split("```json\n")[1].split("```")[0])
        shown = page.split("    $ ppsched pair layer.json\n")[1].split("\n`--json`")[0]
        self.assertEqual(self.succeed("pair", "layer.json").rstrip(), "\n".join(line[4:] for line in shown.rstrip().splitlines()))


    # Orders of megatron-core 0.19.2, a layer each: with --delay-wgrad-compute, and without, where B has the time of W.
    MEGATRON, MEGATRON_WHOLE = "BFBFWBFFBW", "BFBFBFFB"

    def test_auto_is_never_longer_than_another_strategy(self):
        """Windows of all stages differ; outputs of ops of pairs are made before the pairs end."""
        draw, compared, paired = random.Random(4), 0, 0

        def windows():
            return [[draw.choice(("compute", "network")), draw.randint(1, 8) / 4] for _ in range(draw.randint(1, 4))]
        for _ in range(60):
            devices, placement = draw.choice((2, 3, 4)), draw.choice(("linear", "loop", "v"))
            stages, split = devices * (1 if placement == "linear" else 2), draw.random() < 0.5
            config = ppsched.Config(devices, devices * draw.randint(1, 3), stages, placement=placement, p2p_time=draw.choice((0, 0.5)),
                                    sender_waits=draw.choice(("never", "like_kind")),
                                    windows=[{"forward": windows(), "backward": windows()} for _ in range(stages)], split_backward=split)
            found = ppsched.generate("auto", config.replace(options={"effort": 0})).evaluate().metrics.makespan
            for strategy in ppsched.strategies():
                if strategy.name == "auto" or not strategy.flushes or strategy.placement != placement:
                    continue
                try:
                    schedule = ppsched.generate(strategy.name, config)
                except ppsched.Refused:
                    continue
                makespan = schedule.evaluate().metrics.makespan
                self.assertLessEqual(found, makespan * (1 + 1e-9), (strategy.name, placement, devices))
                compared, paired = compared + 1, paired + (makespan == found and "overlap" in strategy.name)
        self.assertGreater(compared, 200)
        self.assertGreater(paired, 5)

    def stage(self, speed, layers=4):
        """Windows of layers that are all alike, those of the page, with a network of another speed."""
        page = (pathlib.Path(__file__).parents[2] / "docs" / "pairs.md").read_text(encoding="utf-8")
        layer, found = json.loads(page.split("```json\n")[1].split("```")[0]), {kind: [] for kind in KINDS}
        for number in range(layers):
            for kind in KINDS:
                found[kind] += [[channel, time / (speed if channel == "network" else 1), *(ended + 4 * number for ended in after)]
                                for channel, time, *after in layer[kind]]
        return found

    def rows(self, head):
        """Of a table of the page: its numbers, by the speed of the network."""
        page = (pathlib.Path(__file__).parents[2] / "docs" / "pairs.md").read_text(encoding="utf-8")
        speeds = {"half": 0.5, "3/4": 0.75, "as measured": 1, "twice": 2}
        for line in page.split(head)[1].split("\n\n")[0].splitlines()[2:]:
            first, *others = [cell.strip() for cell in line.strip("| ").split("|")]
            yield speeds.get(first) or float(first), [float(cell.replace(",", "")) for cell in others]

    def test_orders_of_runtimes(self):
        """None is shorter than the best. The page's times are of unrounded layers."""
        for speed, (serial, best, _, delayed, whole) in self.rows("| network speed | windows one after another |"):
            pair = self.stage(speed)
            merged = {"forward": pair["forward"], "backward": [list(row) for row in pair["backward"]]}
            for _, time, ended in pair["weight"]:
                merged["backward"][ended - 1][1] += time
            found, own = ppsched.pair_time(pair), ppsched.pair_time(pair, order=self.MEGATRON * 4)
            found_whole, own_whole = ppsched.pair_time(merged), ppsched.pair_time(merged, order=self.MEGATRON_WHOLE * 4)
            for mine, written in (found.serial, serial), (found.time, best), (own.time, delayed), (own_whole.time, whole):
                self.assertAlmostEqual(mine / written, 1, delta=0.003)
            self.assertLessEqual(found.time, own.time + 1e-9)
            self.assertLessEqual(found_whole.time, own_whole.time + 1e-9)

    def test_steps_by_network_speed(self):
        strategies = ("interleaved_1f1b_overlap", "dualpipe_v", "interleaved_zb", "zbv")
        for speed, steps in self.rows("| network speed | 1F1B with overlap |"):
            config = ppsched.Config(8, 32, 16, windows=self.stage(speed))
            self.assertEqual([round(ppsched.generate(strategy, config).evaluate().metrics.makespan) for strategy in strategies], steps)


class PublicPairTest(FolderTest):
    """The kernels of a public trace of DualPipe, a forward and a backward of four layers with experts: github.com/deepseek-ai/profile-data."""

    def test_own_order_and_best(self):
        windows, own = PUBLIC["windows"], ppsched.pair_time(PUBLIC["windows"], order=PUBLIC["order"])
        best = ppsched.pair_time(windows)
        compute = sum(time for kind in KINDS for channel, time, *_ in windows[kind] if channel == "compute")
        self.assertAlmostEqual(own.time / PUBLIC["measured"], 1, delta=0.03)
        self.assertLessEqual(best.time, own.time)
        self.assertGreaterEqual(best.bound, compute)
        self.assertAlmostEqual(best.serial, 244.1, 1)
        self.assertTrue(best.is_best)


def traced(*ranges):
    """Events of ranges that launch kernels: name, then stream and duration in microseconds of each."""
    events, now = [], 0
    for name, *kernels in ranges:
        events.append({"ph": "X", "cat": "user_annotation", "name": name, "ts": now, "dur": 10 * len(kernels) + 5, "pid": 1, "tid": 1})
        for stream, duration in kernels:
            now, number = now + 10, len(events)
            events.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": now, "dur": 1, "pid": 1, "tid": 2, "args": {"correlation": number}})
            events.append({"ph": "X", "cat": "kernel", "name": "k", "ts": 100 * now, "dur": duration, "pid": 0, "tid": stream, "args": {"correlation": number}})
        now += 10
    return {"traceEvents": events}


class TraceTest(FolderTest):
    RANGES = (("combine(B)", (9, 2000)), ("attn(F)", (7, 1000), (7, 2000)), ("mlp(B)", (7, 4000)), ("dispatch(F)", (9, 1500)),
              ("mlp(W)", (7, 1000), (8, 500)), ("dispatch(B)", (9, 1000)))

    def test_windows(self):
        self.write("trace.json", traced(*self.RANGES))
        found = json.loads(self.succeed("pair", "trace.json", "--json"))
        by = {kind: [(w["channel"], round(w["end"] - w["start"], 9)) for w in found["windows"] if w["of"] == kind] for kind in KINDS}
        self.assertEqual(by, {"forward": [("stream 7", 3), ("stream 9", 1.5)], "backward": [("stream 9", 2), ("stream 7", 4), ("stream 9", 1)],
                              "weight": [("stream 7", 1), ("stream 8", 0.5)]})
        ends = {(w["of"], w["index"]): w for w in found["windows"]}
        self.assertEqual(ends["weight", 0]["start"], ends["backward", 1]["end"])  # mlp(W) needs mlp(B), and not dispatch(B)
        self.assertEqual(found["own_order"], json.loads(self.succeed("pair", "trace.json", "--json", "--order", "own"))["time"])
        self.assertIn("computed for the measured order", self.succeed("pair", "trace.json"))
        rows = json.loads(self.succeed("compare", "--windows", "trace.json", "-s", 4, "-b", 4, "--strategies", "1f1b", "--json"))
        self.assertEqual(rows[0]["step_time"], (4 + 4 - 1) * (4.5 + 7 + 1.5))

    def test_refused(self):
        self.write("trace.json", traced(("forward", (7, 10))))
        self.assertIn("there are no ranges of a pair, such as attn(F)", self.refused("pair", "trace.json"))
        self.write("trace.json", traced(("attn(F)", (7, 10))))
        self.assertIn("launch no kernels of a backward", self.refused("pair", "trace.json"))
        for ranges, words in ((self.RANGES[:2] + self.RANGES[3:], "the range 'mlp(W)' has no range 'mlp(B)' before it; ranges of the backward before it are combine(B)"),
                              ((*self.RANGES, ("attn(W)", (7, 1))), "the range 'attn(W)' has no range 'attn(B)' before it")):
            self.write("trace.json", traced(*ranges))
            self.assertIn(words, self.refused("pair", "trace.json"))
        self.write("trace.json", {"traceEvents": 3})
        self.assertIn("traceEvents must be a list", self.refused("pair", "trace.json"))
        self.write("pair.json", LAYER)
        self.assertIn("it needs a trace", self.refused("pair", "pair.json", "--order", "own", code=2))


class WindowsOfStagesTest(FolderTest):
    def test_launch_lines_delay_weights_of_their_own(self):
        words = ("--devices", "2", "--stages", "4", "--microbatches", "6", "--quiet", "--windows", "w.json")
        for windows, wanted in ((SPLIT, True), (LAYER, False), ([SPLIT, SPLIT, DENSE_SPLIT, SPLIT], True)):
            self.write("w.json", windows)
            for told in (("schedule", "--strategy", "interleaved_1f1b_overlap", *words, "--launch", "megatron"),
                         ("pick", "--strategies", "interleaved_1f1b_overlap", *words, "--runtime", "megatron")):
                code, output, errors = self.run_here(*told)
                self.assertEqual(code, 0, errors)
                self.assertIn("--overlap-moe-expert-parallel-comm", output)
                self.assertEqual("--overlap-moe-expert-parallel-comm --delay-wgrad-compute" in output, wanted)
                self.assertIn("Megatron-LM launches them in another order", output + errors)

    SIZES = ("--num-devices", 2, "-s", 4, "-b", 8)

    def makespan(self, *words):
        return json.loads(self.succeed("schedule", *self.SIZES, "--strategy", "dualpipe_v", "--format", "json", *words))["metrics"]["makespan"]

    def test_one_object_and_lists(self):
        self.write("one.json", SPLIT)
        self.write("four.json", [SPLIT] * 4)
        self.write("config.json", {"windows": SPLIT})
        time = ppsched.pair_time(SPLIT).time
        given = self.makespan("-f", 10, "--backward-input-times", 12, "--backward-weight-times", 4, "--overlapped-times", time)
        self.assertEqual(self.makespan("--windows", "one.json", "--overlapped-times", time), given)
        given = self.makespan("--windows", "one.json")
        for words in ("--windows", "one.json"), ("--windows", "four.json"), ("-c", "config.json"), ("--windows", json.dumps(SPLIT)):
            self.assertEqual(self.makespan(*words), given, words)

    def windows_in_trace(self, *words):
        """Those that a trace has, and its pairs: start and end by device and name."""
        self.succeed("schedule", *self.SIZES, "--strategy", "dualpipe_v", "-o", "x.trace.json", *words)
        events = json.loads(pathlib.Path("x.trace.json").read_text(encoding="utf-8"))["traceEvents"]
        tracks = {event["tid"]: event["args"]["name"] for event in events if event["name"] == "thread_name"}
        pairs = {(tracks[event["tid"]], event["name"][1:-len(")OVERLAP_F_B")].replace(";", "+")): event for event in events if "OVERLAP" in event["name"]}
        return [(tracks[event["tid"]], event) for event in events if event.get("cat") == "window"], pairs

    def test_trace(self):
        """Windows stand in their pair, as pair_time has them, and those of a channel follow each other."""
        self.write("one.json", SPLIT)
        found, pairs = self.windows_in_trace("--windows", "one.json", "--lower", "by_time", "--time-scale", 1000)
        alone = [(f"{window.of} {window.number}", window.channel, window.start, window.end) for window in ppsched.pair_time(SPLIT).windows]
        self.assertEqual(len(found), len(pairs) * len(alone))
        by_pair = {}
        for track, event in found:
            device = track[:-len(event["args"]["channel"]) - 1]
            by_pair.setdefault((device, event["args"]["pair"]), []).append(event)
        self.assertEqual(set(by_pair), set(pairs))
        for place, events in by_pair.items():
            start = pairs[place]["args"]["start"]
            self.assertEqual([(event["name"], event["args"]["channel"], event["args"]["start"] - start, event["args"]["end"] - start) for event in events], alone)
            for event in events:
                self.assertEqual((event["ts"], event["dur"]), (1000 * event["args"]["start"], 1000 * (event["args"]["end"] - event["args"]["start"])))
        last = {}
        for track, event in sorted(found, key=lambda item: item[1]["ts"]):
            self.assertGreaterEqual(event["ts"], last.get(track, 0))
            last[track] = event["ts"] + event["dur"]
        self.assertEqual(self.windows_in_trace("--windows", "one.json", "--overlapped-times", 17.25)[0], [])
        self.assertEqual(self.windows_in_trace("-f", 1)[0], [])
        self.succeed("pick", *self.SIZES, "--windows", "one.json", "--strategies", "dualpipe_v", "-o", "picked.trace.json")
        self.assertIn('"cat": "window"', pathlib.Path("picked.trace.json").read_text(encoding="utf-8"))

    def test_trace_of_other_sizes(self):
        """Fewer stages, whose windows are appended, and fewer microbatches, whose windows take longer."""
        self.write("four.json", [SPLIT, DENSE_SPLIT, SPLIT, DENSE_SPLIT])
        for words in ("1f1b_overlap",), ("dualpipe_v", "--microbatch-counts", 4):
            self.succeed("pick", *self.SIZES, "--windows", "four.json", "--any", "--strategies", *words, "-o", "picked.trace.json")
            events = json.loads(pathlib.Path("picked.trace.json").read_text(encoding="utf-8"))["traceEvents"]
            found = [event for event in events if event.get("cat") == "window"]
            overlapped = [event for event in events if "OVERLAP" in event["name"]]
            self.assertTrue(found and overlapped, words)
            ends = max(event["ts"] + event["dur"] for event in found), max(event["ts"] + event["dur"] for event in overlapped)
            self.assertAlmostEqual(*ends, 6)
            self.assertEqual({event["args"]["pair"] for event in found}, {event["name"][1:-len(")OVERLAP_F_B")].replace(";", "+") for event in overlapped})

    def test_picture(self):
        """A strip for each window of a pair, and its channels in the legend."""
        if importlib.util.find_spec("matplotlib") is None:
            self.skipTest("there is no matplotlib")
        self.write("one.json", SPLIT)
        figure = ppsched.generate("dualpipe_v", ppsched.Config(2, 8, 4, windows=SPLIT)).evaluate().draw()
        strips = figure.axes[0].collections[-1].get_paths()
        pairs = len(self.windows_in_trace("--windows", "one.json")[1])
        self.assertEqual(len(strips), pairs * len(ppsched.pair_time(SPLIT).windows))
        self.assertEqual([text.get_text() for text in figure.axes[0].get_legend().get_texts()][-2:], ["window on compute", "window on network"])
        plain = ppsched.generate("dualpipe_v", ppsched.Config(2, 8, 4)).evaluate().draw()
        self.assertNotIn("window", " ".join(text.get_text() for text in plain.axes[0].get_legend().get_texts()))

    def test_pairs_of_stages(self):
        stages = [SPLIT, {**SPLIT, "forward": DENSE["forward"]}, SPLIT, SPLIT]
        config = ppsched.Config(2, 8, 4, windows=stages)
        self.assertEqual(config.forward_times, [10, 4, 10, 10])
        self.assertEqual(config.backward_input_times, [12] * 4)
        wanted = [ppsched.pair_time({**b, "forward": f["forward"]}).time for f in stages for b in stages]
        self.assertEqual(config.overlapped_times, wanted)

    def test_pairs_of_f_and_i(self):
        """They take what F and I take together, and W follows on its own; where windows do not tell I from W, they are refused."""
        queue = ["0F0", ppsched.Op.from_token("0F1", True), "0I0", "0W0", "0I1", "0W1"]
        whole = {"forward": SPLIT["forward"], "backward": SPLIT["backward"]}
        forward, backward, weight = (sum(row[1] for row in SPLIT[name]) for name in ("forward", "backward", "weight"))
        timeline = ppsched.Schedule.from_queues(ppsched.Config(1, 2, 1, windows=SPLIT), [queue]).evaluate()
        self.assertEqual(timeline.metrics.makespan, forward + ppsched.pair_time(whole).time + weight + backward + weight)
        trace = json.loads(timeline.export("chrome"))["traceEvents"]
        self.assertEqual({event["name"].split()[0] for event in trace if event.get("cat") == "window"}, {"forward", "backward"})
        with self.assertRaisesRegex(ppsched.Error, "a pair of F and I, and the windows do not say what is of I"):
            ppsched.Schedule.from_queues(ppsched.Config(1, 2, 1, windows=whole), [queue]).evaluate()

    def test_pages_have_both_kinds_of_pairs(self):
        """Of the same stages, a pair with I has its own windows."""
        def mixed(_config, builder):
            builder.append(0, "0F0", ppsched.Op.from_token("0F1", True), "0B0", ppsched.Op.from_token("0F2", True), "0I1", "0W1", "0B2")

        data = report.report_data(ppsched.plan(ppsched.Config(1, 3, 1, windows=SPLIT), strategies=[mixed]))["timelines"][0]["windows"]
        whole = {"forward": SPLIT["forward"], "backward": SPLIT["backward"]}
        for pair, kind, windows in zip(data["pairs"], "BI", (SPLIT, whole)):
            found = ppsched.pair_time(windows)
            self.assertEqual((pair["forward"], pair["backward"], pair["kind"]), (0, 0, kind))
            self.assertEqual([(of, data["channels"][channel], start, end) for of, channel, start, end in pair["windows"]],
                             [(window.of, window.channel, window.start / found.time, window.end / found.time) for window in found.windows])
        self.assertEqual(len(data["pairs"]), 2)

    def test_given_times_of_pairs_go_over(self):
        self.write("one.json", SPLIT)
        plain = ("-f", 10, "--backward-input-times", 12, "--backward-weight-times", 4, "--overlapped-times", 17.25)
        self.assertEqual(self.makespan("--windows", "one.json", "--overlapped-times", 17.25), self.makespan(*plain))

    def test_fewer_stages(self):
        config = ppsched.Config(2, 8, 4, windows=[LAYER, DENSE, LAYER, LAYER])
        joined = config.with_stages(2)
        pair = {"forward": LAYER["forward"] + DENSE["forward"], "backward": LAYER["backward"] * 2}
        self.assertEqual(joined.overlapped_times[1], ppsched.pair_time(pair).time)
        self.assertEqual(joined.forward_times, [14, 20])
        self.write("one.json", LAYER)
        error = self.refused("schedule", "--num-devices", 2, "-s", 2, "-b", 8, "--chunks", 2, "--windows", "one.json", "--strategy", "dualpipe_v")
        self.assertIn("windows of 2 stages cannot be divided into 4", error)

    def test_too_many_windows(self):
        """Of joined stages: a candidate with pairs is refused, one without has the sums."""
        many = {name: rows * 100 for name, rows in LAYER.items()}
        self.write("many.json", many)
        words = ("compare", *self.SIZES, "--windows", "many.json", "--json", "--strategies", "1f1b", "dualpipe_v", "1f1b_overlap")
        rows = {row["strategy"]: row for row in json.loads(self.succeed(*words))}
        self.assertEqual(rows["1f1b"]["step_time"], 9 * 2 * 100 * 22)
        self.assertGreater(rows["dualpipe_v"]["step_time"], 0)
        self.assertIn("a pair of these stages has 1600 windows, and at most 1000 are possible; use more stages", rows["1f1b_overlap"]["reason"])

    def test_pick_builds_it_again(self):
        self.write("one.json", SPLIT)
        self.write("config.json", {"num_devices": 2, "num_stages": 4, "num_batches": 8, "windows": SPLIT})
        for words in ("--windows", "one.json", *self.SIZES), ("--windows", json.dumps(SPLIT), *self.SIZES), ("-c", "config.json"):
            for row in json.loads(self.succeed("pick", "--json", "--top", 3, *words)):
                command = shlex.split(row["command"])[1:]
                self.assertEqual(json.loads(self.succeed(*command, "--format", "json"))["metrics"]["makespan"], row["step_time"], command)

    def test_commands_without_files(self):
        """What a plan made from Python prints states the windows themselves."""
        made = ppsched.plan(ppsched.Config(2, 8, 4, windows=SPLIT), strategies=["dualpipe_v", "1f1b_overlap"])
        for candidate in made:
            command = made.command(candidate)[1:]
            self.assertIn("--windows", command)
            self.assertEqual(json.loads(self.succeed(*command, "--format", "json"))["metrics"]["makespan"], candidate.step_time, command)

    def test_convert(self):
        self.write("one.json", SPLIT)
        self.write("config.json", {"windows": SPLIT})
        self.succeed("schedule", *self.SIZES, "--strategy", "dualpipe_v", "--format", "csv", "-o", "order.csv")
        text = self.succeed("convert", "order.csv", "--to", "json", "-c", "config.json")
        self.assertEqual(json.loads(text)["metrics"]["makespan"], self.makespan("--windows", "one.json"))

    def test_refused(self):
        self.write("one.json", SPLIT)
        self.write("config.json", {"windows": SPLIT})
        self.write("text.json", {"windows": "one.json"})
        for words in ("-f", 1), ("-bw", 2), ("--backward-input-times", 1), ("--num-layers", 8), ("--embedding", "forward_time=1"):
            for given in ("--windows", "one.json"), ("-c", "config.json"):
                self.assertIn("both give the times of stages", self.refused("compare", *self.SIZES, *given, *words, code=2))
        self.assertIn("not 'one.json'", self.refused("schedule", *self.SIZES, "-c", "text.json"))
        self.assertIn("give 1 for all stages or 4", self.refused("schedule", *self.SIZES, "--windows", json.dumps([SPLIT] * 3)))
        self.assertIn("stage 1: backward has no windows", self.refused("schedule", *self.SIZES, "--windows", json.dumps([SPLIT, {"forward": [["a", 1]]}])))
        self.assertIn("stage 1 has none of weight", self.refused("schedule", *self.SIZES, "--windows", json.dumps([SPLIT, LAYER, SPLIT, SPLIT])))
        unlike = [{**SPLIT, "slowdown": {"compute": 1 + number / 10}} for number in range(4)]
        self.assertIn("slowdown of 'compute' is 1.1 in stage 1", self.refused("schedule", *self.SIZES, "--windows", json.dumps(unlike)))
        with self.assertRaisesRegex(ppsched.Error, "windows and forward_times both give"):
            ppsched.Config(2, 8, windows=SPLIT, forward_times=1)


if __name__ == "__main__":
    import unittest
    unittest.main()
