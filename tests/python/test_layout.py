# SPDX-License-Identifier: Apache-2.0
"""Layouts: what Megatron-LM and torchtitan were seen to make of every case, strings that are read back, errors that tell where,
and the command."""
import json
import pathlib
import random
import re
import subprocess
import sys
import unittest

import ppsched
from ppsched import Layout, LayoutStage

CASES = pathlib.Path(__file__).resolve().parent.parent / "golden" / "layouts"


def cases(name):
    """Fields of each case."""
    lines = (CASES / name).read_text(encoding="utf-8").splitlines()
    return [line.replace("<TAB>", "\t").split(";") for line in lines if not line.startswith("#")]


def run(*words):
    return subprocess.run([sys.executable, "-m", "ppsched", "layout", *map(str, words)], capture_output=True, text=True, check=False)


def ranks_of(layout):
    return ", ".join(" ".join(f"{offset}+{count}" for offset, count in rank) for rank in layout.ranks)


def number(word):
    return None if word == "-" else int(word)


def unrolled(text):
    """Megatron-LM's reading, by other means than the library's: two substitutions, then a list of stages."""
    text = text.replace(",", "")
    for pattern in (r"\(([^)]+)\)\*([0-9]+)", r"(.)\*([0-9]+)"):
        text = re.sub(pattern, lambda match: match.group(1) * int(match.group(2)), text)
    return text.split("|")


def is_layout(text, devices):
    """Whether Megatron-LM takes a string: its rules, one after the other."""
    stages = unrolled(text)
    flat = "".join(stages)
    if re.search("[^EtmL]", flat) or len(stages) % devices or not flat:
        return False
    if flat[0] != "E" or flat[-1] != "L" or flat.count("E") > 1 or flat.count("L") > 1 or "t" in flat.partition("m")[2]:
        return False
    holders = [number for number, stage in enumerate(stages) if "m" in stage]
    return len(holders) < 2 and all(number >= len(stages) - devices for number in holders)


def random_stages(choose):
    """Records of a layout that is valid for some number of devices, and that number."""
    devices, chunks = choose.choice([1, 1, 2, 3, 4, 8]), choose.choice([1, 1, 2, 3, 5])
    count = devices * chunks
    pattern = [choose.choice([0, 0, 1, 1, 2, 3, 4, 12]) for _ in range(choose.randint(1, 4))]
    decoders = [pattern[s % len(pattern)] if choose.random() < 0.9 else choose.randint(0, 5) for s in range(count)]
    last = choose.randrange(count)
    first = choose.randint(0, last) if choose.random() < 0.3 else 0
    holder = choose.randint(max(first, count - devices), last) if last >= count - devices and choose.random() < 0.6 else None
    stages = []
    for s in range(count):
        inside = first <= s <= last and (holder is None or s <= holder)
        stages.append(LayoutStage(int(s == first), decoders[s] if inside else 0, choose.randint(1, 4) if s == holder else 0, int(s == last)))
    return stages, devices


class CapturedTest(unittest.TestCase):
    def test_strings(self):
        for name, kind, text, sizes, flags, *found in cases("strings.txt"):
            if kind != "flags":
                devices, chunks, decoders, mtps = map(number, sizes.split())
                with self.subTest(name):
                    self.check(found, lambda: Layout(text, devices, chunks=chunks, decoders=decoders, mtps=mtps or 0))
            else:
                self.assertEqual(flags == "" and name.endswith("one-stage"), not found[0].startswith("error"), name)

    def check(self, found, make):
        if found[0].startswith("error"):
            with self.assertRaises(ppsched.Error) as caught:
                make()
            self.assertEqual(isinstance(caught.exception, ppsched.Refused), found[0] != "error parse")
            self.assertEqual(caught.exception.position is not None and caught.exception.stage is None, found[0] == "error parse")
            self.assertRegex(str(caught.exception), "^[^\n]+; [^\n]+$")
            return
        layout = make()
        self.assertEqual([" ".join(map(str, layout.stages)), ranks_of(layout)], found)
        self.assertEqual(Layout(layout.text, layout.devices), layout)

    def test_ours_are_not_longer(self):
        for name, _, text, sizes, _, *found in cases("strings.txt"):
            if len(found) == 2 and found[0] != "?":
                self.assertLessEqual(len(Layout(text, int(sizes.split()[0])).text), len(text.replace(",", "")), name)

    def test_splits(self):
        for name, sizes, switches, found in cases("megatron.txt"):
            decoders, devices, each, chunks, first, last = map(number, sizes.split())
            with self.subTest(name):
                try:
                    layout = Layout.megatron(decoders, devices, layers_per_chunk=each, chunks=chunks, first_decoders=first,
                                             last_decoders=last, account_for_embedding="embedding" in switches,
                                             account_for_loss="loss" in switches, overlap="no_overlap" not in switches)
                except ppsched.Error as error:
                    self.assertTrue(found.startswith("error") or "+-" in found, error)
                    self.assertRegex(str(error), "^[^\n]+; [^\n]+$")
                else:
                    self.assertEqual(ranks_of(layout), found)
                    self.assertEqual((layout.decoders, layout.stages[0].embeddings, layout.stages[-1].heads), (decoders, 1, 1))

    def test_parts(self):
        for name, sizes, how, found in cases("torchtitan.txt"):
            decoders, size, *less = map(int, sizes.split())
            words = how.split() if how not in ("", "rotary_emb") else None
            options = {"stages": size} if words is None else {"devices": size, "schedule": words[0], "layers_per_stage": number(words[1])}
            with self.subTest(name):
                if found == "error":
                    with self.assertRaises(ppsched.Refused):
                        Layout.torchtitan(decoders, first_less=less[0], last_less=less[1], **options)
                    continue
                layout = Layout.torchtitan(decoders, first_less=less[0], last_less=less[1], **options)
                self.assertEqual(" ".join(str(stage.decoders) for stage in layout.stages), found)
                parts = [layout.modules(stage, rotary=how == "rotary_emb") for stage in range(len(layout.stages))]
                ends = ["tok_embeddings", "norm", "lm_head"]
                self.assertEqual([name for part in parts for name in part if name != "rotary_emb"],
                                 [ends[0], *(f"layers.{layer}" for layer in range(decoders)), *ends[1:]])
                self.assertEqual(sum("rotary_emb" in part[-1:] for part in parts), len(parts) if how == "rotary_emb" else 0)


class RoundTripTest(unittest.TestCase):
    def test_random_layouts_are_read_back(self):
        choose = random.Random(1)
        for _ in range(4000):
            stages, devices = random_stages(choose)
            layout = Layout.of_stages(stages, devices)
            self.assertEqual(layout.stages, stages)
            self.assertEqual(Layout(layout.text, devices), layout)
            read = unrolled(layout.text)
            self.assertEqual([tuple(stage.count(kind) for kind in "EtmL") for stage in read], [tuple(stage) for stage in stages])
            self.assertEqual(read, ["".join(kind * count for kind, count in zip("EtmL", stage)) for stage in stages])

    def test_random_texts_are_judged_as_megatron_does(self):
        choose, taken = random.Random(2), 0
        for _ in range(20000):
            middle = "".join(choose.choice("ttt|||mEL()*2301,t|(t|)*2 ") for _ in range(choose.randint(0, 9)))
            text, devices = choose.choice(["Et%sL", "E%stL", "E(%s)*2L", "%s", "E%sL|"]) % middle, choose.choice([1, 1, 2])
            try:
                layout = Layout(text, devices)
            except ppsched.Error:
                self.assertFalse(is_layout(text, devices), text)
            else:
                taken += 1
                self.assertTrue(is_layout(text, devices), text)
                self.assertEqual(["".join(kind * count for kind, count in zip("EtmL", stage)) for stage in layout.stages], unrolled(text))
        self.assertGreater(taken, 1500)

    def test_groups_reach_across_stages(self):
        for text, wanted in (("Et|t|t|t|tL", "E(t|)*4tL"), ("Et*2|(t*2|)*34,t*3|(t*2|)*3,tL", "E(tt|)*35t*3|(tt|)*3tL"),
                             ("E|||t|||t|||t|||tL", "E|*3(t|*3)*3tL"), ("||Et|L||", "||Et|L||"), ("EL", "EL"),
                             ("E(t|tt|)*9L", "E(t|tt|)*9L")):
            self.assertEqual(Layout(text, 1).text, wanted)


class ErrorTest(unittest.TestCase):
    def refused(self, part, function, *arguments, **options):
        with self.assertRaises(ppsched.Error) as caught:
            function(*arguments, **options)
        self.assertIn(part, str(caught.exception))
        return caught.exception

    def test_places(self):
        error = self.refused('"T" at position 3', Layout, "Et|Tt|L", 3)
        self.assertEqual((error.position, error.stage, error.status), (3, None, ppsched.Status.ERROR_SYNTAX))
        error = self.refused("another embedding (E) in stage 1 (position 5 of the text)", Layout, "Et*3|Et,L", 2)
        self.assertEqual((error.position, error.stage, error.status), (5, 1, ppsched.Status.ERROR_REFUSED))
        error = self.refused("a decoder (t) after an MTP layer (m), in stage 1 (position 5", Layout, "Et|tmtL", 2)
        self.assertEqual((error.position, error.stage), (5, 1))
        self.assertEqual(self.refused("after an MTP layer", Layout.of_stages, [(1, 0, 1, 0), (0, 1, 0, 1)], 1).stage, 1)
        self.refused("number of decoders (t) in the layout is 31, that of the model 27; take out 4", Layout, "Et*10|t*21L", 2, decoders=27)
        self.refused("in the last chunk of its device, which is stage 2 or a later one", Layout, "E|tm|L|", 2)
        self.refused("put all in one stage, 0 or a later one", Layout, "Et|t|m|mL", 4)

    def test_what_they_equal(self):
        one = Layout("E|tt|t|L", 2)
        self.assertEqual(one, Layout("E|t*2|t|L", 2))
        for other in (Layout("E|tt|t|L", 4), Layout("E|t|tt|L", 2), 3, "E|tt|t|L", None):
            self.assertNotEqual(one, other)

    def test_sizes_are_bounded(self):
        for text in ("Et*999999999L", "E(t)*999999999L", "E(t*1000)*999999999L", "E|*99999999999999999999L", "E(t|)*65536L",
                     "E(tttttttttt)*200001L", "Et*1000000L", "t" * 2000001):
            self.assertEqual(self.refused("more than", Layout, text, 1).status, ppsched.Status.ERROR_RANGE)
        self.assertEqual(Layout("Et*999998L", 1).decoders, 999998)
        self.assertEqual(len(Layout("E(t|)*65534L", 1).stages), 65535)
        self.assertEqual(Layout("E(t)*0000000000000000000000000005L", 1).decoders, 5)
        for wrong in (0, -1, 65536, 2**70):
            self.refused("", Layout, "EL", wrong)
            self.refused("", Layout.megatron, 4, wrong)
            self.refused("", Layout.torchtitan, 4, stages=wrong)
        self.refused("must be 0 to", Layout.megatron, 2**63 - 1, 1, account_for_loss=True)
        self.refused("must be 0 to", Layout.torchtitan, 2**63 - 1, 1)

    def test_what_megatron_lets_pass(self):
        self.refused("must leave 0 or more", Layout.megatron, 24, 4, first_decoders=30)
        self.refused("only for 1 chunk per device", Layout.megatron, 24, 2, first_decoders=12, last_decoders=12, chunks=2)
        self.refused("there is only one device", Layout.megatron, 24, 1, first_decoders=10, last_decoders=10)
        self.refused("there are no layers", Layout.megatron, 0, 2, layers_per_chunk=2)

    def test_what_torchtitan_counts(self):
        """11 decoders, and ends that count as one each: what is left over makes a stage, and the number that is told does."""
        for each in (12, 7):
            layout = Layout.torchtitan(11, 2, layers_per_stage=each, schedule="1F1B")
            self.assertEqual([stage.decoders for stage in layout.stages], [6, 5])
        self.refused("makes 4 stages for 2 devices, but the schedule has 1 per device; give 7", Layout.torchtitan, 11, 2,
                     layers_per_stage=4, schedule="1F1B")

    def test_one_device_is_the_last(self):
        for decoders in (1, 2):
            self.assertEqual(Layout.megatron(decoders, 1, last_decoders=decoders).decoders, decoders)

    def test_other_arguments(self):
        self.refused("did you mean Interleaved1F1B?", Layout.torchtitan, 8, 2, schedule="interleaved_1f1b")
        self.refused("give stages", Layout.torchtitan, 8)
        self.refused("both given", Layout.torchtitan, 8, stages=2, layers_per_stage=2)
        self.refused("there is no stage 1 of 1", Layout("EL", 1).modules, 1)
        self.refused("MTP layer", Layout("EmL", 1).modules, 0)
        self.refused("must be a text", Layout, 5, 1)
        self.refused("no stages", Layout.of_stages, [], 1)
        self.refused("must be 0 to", Layout.of_stages, [(1, -1, 0, 1)], 1)
        with self.assertRaises(TypeError):
            Layout("EL", 1, decoder=1)


class CommandTest(unittest.TestCase):
    def succeed(self, *words):
        result = run(*words)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return result.stdout

    def refuse(self, part, *words, code=1):
        result = run(*words)
        self.assertEqual((result.returncode, result.stdout), (code, ""))
        self.assertIn(part, result.stderr)
        if code == 1:
            self.assertEqual(result.stderr.count("\n"), 1)

    def test_string(self):
        text = "Et*4|(tttt|)*14tmL"
        row = json.loads(self.succeed(text, "--pp", 8, "--vp", 2, "--num-layers", 61, "--mtp-num-layers", 1, "--json"))
        self.assertEqual(set(row), {"vp", "stages", "ranks"})
        self.assertEqual((row["vp"], row["stages"][:2], row["stages"][-1]), (2, ["Et4", "t4"], "tmL"))
        self.assertEqual(row["ranks"][7], [[28, 4], [60, 1]])
        lines = self.succeed(text, "--pp", 8).splitlines()
        self.assertEqual(lines[:3], ["E(t*4|)*15tmL", "61 decoders, 1 MTP layer; 16 stages on 8 devices, 2 each", "device  chunk 0   chunk 1"])
        self.assertEqual(lines[-1], "7       t4 28-31  tmL 60")
        self.refuse("MTP layers (m) in the layout is 1, that of the model 0", text, "--pp", 8, "--num-layers", 61)
        self.refuse("no layer", "", "--pp", 1)
        self.refuse("give --pp", text, code=2)
        self.refuse("--vp is 0; it must be 1 or more", text, "--pp", 8, "--vp", 0)
        self.assertIn("launcher refuses several stages on one device", self.succeed("E|t|L", "--pp", 1))

    def test_flags(self):
        row = json.loads(self.succeed("--num-layers", 62, "--pp", 4, "--account-for-embedding-in-pipeline-split",
                                      "--account-for-loss-in-pipeline-split", "--num-virtual-stages-per-pipeline-rank", 2, "--json"))
        self.assertEqual((row["vp"], row["stages"][0], row["stages"][-1], row["ranks"][3]), (2, "Et7", "t7L", [[23, 8], [55, 7]]))
        self.refuse("--decoder-first-pipeline-num-layers is 0", "--num-layers", 24, "--pp", 4, "--decoder-first-pipeline-num-layers", 0)
        self.refuse("--num-layers-per-virtual-pipeline-stage and --num-virtual-stages-per-pipeline-rank are both given", "--num-layers", 24,
                    "--pp", 4, "--num-layers-per-virtual-pipeline-stage", 5, "--num-virtual-stages-per-pipeline-rank", 5)
        self.refuse("each device: 6 decoders cannot be divided by 5 chunks; 5 and 10 can", "--num-layers", 24, "--pp", 4,
                    "--num-virtual-stages-per-pipeline-rank", 5)
        one, other = "--account-for-embedding-in-pipeline-split", "--account-for-loss-in-pipeline-split"
        for layers, devices, ends, told in (  # decoders and ends together are what devices divide
                (2, 2, (one,), "2 decoders, and an end that counts as one, cannot be divided by 2 devices; 1 and 3 decoders can"),
                (1, 3, (other,), "1 decoder, and an end that counts as one, cannot be divided by 3 devices; 2 decoders can"),
                (1, 4, (one, other), "1 decoder, and both ends that count as one each, cannot be divided by 4 devices; 2 decoders can"),
                (7, 4, (one, other), "7 decoders, and both ends that count as one each, cannot be divided by 4 devices; 6 and 10 decoders can"),
                (3, 5, (), "3 decoders cannot be divided by 5 devices; 5 can"), (7, 5, (), "7 decoders cannot be divided by 5 devices; 5 and 10 can")):
            self.refuse(f"the model: {told}\n", "--num-layers", layers, "--pp", devices, *ends)
        self.refuse("give --num-layers", "--pp", 4, code=2)
        self.refuse("--vp needs a layout string", "--num-layers", 8, "--pp", 4, "--vp", 2, code=2)
        row = json.loads(self.succeed("--num-layers", 8, "--pp", 4, "--mtp-num-layers", 1, "--json"))
        self.assertEqual((row["stages"], row["ranks"][3]), (["Et2", "t2", "t2", "t2mL"], [[6, 2]]))
        row = json.loads(self.succeed("--num-layers", 7, "--pp", 2, "--mtp-num-layers", 2, "--account-for-loss-in-pipeline-split",
                                      "--num-virtual-stages-per-pipeline-rank", 2, "--json"))
        self.assertEqual(row["stages"], ["Et2", "t2", "t2", "tm2L"])
        self.refuse("--mtp-num-layers is -1", "--num-layers", 8, "--pp", 4, "--mtp-num-layers", -1)

    def test_string_with_flags(self):
        """Those of the launcher that Megatron-LM turns down with a string, and what the launcher asks of one."""
        numbers = {"virtual_stages_per_rank": "--num-virtual-stages-per-pipeline-rank",
                   "layers_per_virtual_stage": "--num-layers-per-virtual-pipeline-stage",
                   "first_layers": "--decoder-first-pipeline-num-layers", "last_layers": "--decoder-last-pipeline-num-layers"}
        switches = {"account_embedding=yes": "--account-for-embedding-in-pipeline-split",
                    "account_loss=yes": "--account-for-loss-in-pipeline-split", "overlap_p2p=no": "--no-overlap-p2p-communication"}
        for name, kind, text, sizes, flags, *found in cases("strings.txt"):
            if kind != "flags":
                continue
            words = ["--pp", sizes.split()[0], "--num-layers", sizes.split()[2]]
            for flag in flags.split():
                key, _, value = flag.partition("=")
                words += [numbers[key], value] if key in numbers else [switches[flag]]
            result = run("--pipeline-model-parallel-layout", text, *words)
            self.assertEqual(result.returncode, int(found[0].startswith("error")), (name, result.stderr))
            if flags:
                self.assertEqual(run(text, *words).returncode, int(found[0].startswith("error")), name)
        self.refuse("twice", "EL", "--pipeline-model-parallel-layout", "EL", "--pp", 1, code=2)

    def test_torchtitan(self):
        self.assertEqual(json.loads(self.succeed("--torchtitan", "--num-layers", 3, "--stages", 2, "--json")),
                         {"parts": [["tok_embeddings", "layers.0", "layers.1"], ["layers.2", "norm", "lm_head"]]})
        self.assertEqual(self.succeed("--torchtitan", "--num-layers", 2, "--pp", 2, "--first-stage-less-layers", 0,
                                      "--last-stage-less-layers", 0, "--rotary-emb"),
                         "part 0: tok_embeddings layers.0 rotary_emb\npart 1: layers.1 norm lm_head rotary_emb\n")
        parts = json.loads(self.succeed("--torchtitan", "--num-layers", 32, "--pp", 2, "--layers-per-stage", 9, "--schedule",
                                        "Interleaved1F1B", "--json"))["parts"]
        self.assertEqual([len(part) for part in parts], [9, 9, 8, 9])
        self.refuse("9 stages, which is not a multiple of 8 devices", "--torchtitan", "--num-layers", 32, "--pp", 8, "--layers-per-stage", 4)
        self.refuse("--last-stage-less-layers is 20, more than the 13", "--torchtitan", "--num-layers", 31, "--stages", 4,
                    "--last-stage-less-layers", 20)
        self.refuse("--stages needs --torchtitan", "--num-layers", 8, "--pp", 2, "--stages", 2, code=2)
        self.refuse("--schedule cannot be combined with --stages", "--torchtitan", "--num-layers", 8, "--stages", 2, "--schedule", "GPipe", code=2)
        self.refuse("give --stages, or --pp", "--torchtitan", "--num-layers", 8, code=2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
