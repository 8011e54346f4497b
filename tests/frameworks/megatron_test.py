#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Megatron-LM's own code reads launch lines, layout strings and flags: what it makes is what the problem has."""
import json
import pathlib
import random
import shlex
import sys
import tempfile
import unittest

import framework
import problems

import ppsched
from ppsched.readers.model_files import read_model

HERE = pathlib.Path(__file__).resolve().parent
LAYOUTS, SPLITS = 400, 150


def random_layouts():
    """[string, devices, decoders, MTP layers], of which about half are right."""
    random_, made = random.Random(5), []
    for _ in range(LAYOUTS):
        devices, chunks, mtps = random_.randint(1, 5), random_.randint(1, 4), random_.choice((0, 0, 1, 2))
        counts = [random_.randint(0, 4) for _ in range(devices * chunks)]
        stages = [random_.choice(("t" * count, f"t*{count}" if count else "")) for count in counts]
        text = "E" + "|".join(stages) + random_.choice(("", ",")) + "m" * mtps + "L"
        if random_.random() < 0.3:
            count, times = random_.randint(1, 3), random_.randint(1, 3)
            text, devices = f"E({'t' * count}|)*{times}{'m' * mtps}L", times + 1
            counts = [count] * times
        decoders = sum(counts)
        for _ in range(random_.choice((0, 0, 1, 2))):
            place = random_.randrange(len(text) + 1)
            text = text[:place] + random_.choice(("t", "m", "E", "L", "|", "*2", ",", "x", "", "")) + text[place + random_.randint(0, 1):]
        made.append([text, devices, decoders + (random_.random() < 0.05), mtps])
    return made


def our_layout(text, devices, decoders, mtps):
    try:
        layout = ppsched.Layout(text, devices, decoders=decoders, mtps=mtps)
    except ppsched.Error:
        return None
    names = ("embedding", "decoder", "mtp", "loss")
    return [[[name for name, count in zip(names, layout.stages[chunk * devices + rank]) for _ in range(count)]
             for chunk in range(layout.chunks)] for rank in range(devices)]


def random_splits():
    """Arguments of ppsched.Layout.megatron."""
    random_, made = random.Random(7), []
    for _ in range(SPLITS):
        given = {"decoders": random_.randint(2, 40), "devices": random_.randint(2, 5)}
        if random_.random() < 0.6:
            given["decoders"] = given["devices"] * random_.randint(1, 8)
        for name, values in (("chunks", (2, 3)), ("first_decoders", (1, 2, 3)), ("last_decoders", (1, 2, 4)), ("layers_per_chunk", (1, 2)),
                             ("account_for_embedding", (True,)), ("account_for_loss", (True,)), ("mtps", (1, 2))):
            if random_.random() < (0.25 if name != "layers_per_chunk" else 0.1):
                given[name] = random_.choice(values)
        made.append(given)
    return made


FLAGS = {"decoders": "--num-layers", "devices": "--pipeline-model-parallel-size", "chunks": "--num-virtual-stages-per-pipeline-rank",
         "layers_per_chunk": "--num-layers-per-virtual-pipeline-stage", "first_decoders": "--decoder-first-pipeline-num-layers",
         "last_decoders": "--decoder-last-pipeline-num-layers", "mtps": "--mtp-num-layers",
         "account_for_embedding": "--account-for-embedding-in-pipeline-split", "account_for_loss": "--account-for-loss-in-pipeline-split"}


EXCLUDED = [["--pipeline-model-parallel-layout", "Et|tL"], ["--num-virtual-stages-per-pipeline-rank", "2"],
            ["--decoder-first-pipeline-num-layers", "1"], ["--decoder-last-pipeline-num-layers", "1"]]


def make_hybrid(problem, number):
    """The words, pattern and devices of the launch line for a hybrid model with the split of a problem, and its segments as
    megatron_reads.py has them: each layer one block, or two."""
    counts, devices, stages, mtps = problem["counts"], problem["devices"], problem["stages"], number % 3
    blocks = (["M", "*", "-", "M", "E"], ["M-", "*E"])[number % 2]
    symbols = [blocks[layer % len(blocks)] for layer in range(sum(counts))]
    rows = [{"name": "embedding"}, *({"name": f"of {text}", "forward_time": 1, "hybrid_symbols": text} for text in symbols),
            *([{"name": "mtp", "count": mtps, "forward_time": 1, "hybrid_symbols": "*E"}] if mtps else []), {"name": "head"}]
    layers = list(counts)
    layers[0], layers[-1] = layers[0] + 1, layers[-1] + mtps + 1
    config = ppsched.Config(devices, 2 * devices, stages)
    schedule = ppsched.generate("1f1b" if stages == devices else "interleaved_1f1b", config)
    words = schedule.launch("megatron", model=ppsched.LayerSplit(ppsched.Layers(rows), ppsched.Split(layers, [0] * sum(layers))))
    words = shlex.split(words)
    pattern = words.pop(words.index("--hybrid-layer-pattern") + 1)
    words.remove("--hybrid-layer-pattern")
    made, firsts = [], [sum(counts[:stage]) for stage in range(stages)]
    for first, count in zip(firsts, counts):
        made.append(["".join(symbols[first:first + count]), len("".join(symbols[:first]))])
    ranks = [[made[stage] for stage in range(rank, stages, devices)] for rank in range(devices)]
    return [[*words, "--num-experts", "4", "--position-embedding-type", "rope"], pattern, devices], [ranks, ["*E" if mtps else None, mtps]]


def words_of(given):
    return [word for name, value in given.items() for word in ([FLAGS[name]] if value is True else [FLAGS[name], str(value)])]


def stages_of(layout):
    """As megatron_reads.py has them."""
    return [[[layout.stages[stage].decoders, layout.offsets[stage], layout.stages[stage].mtps]
             for stage in range(rank, len(layout.stages), layout.devices)] for rank in range(layout.devices)]


def our_split(given):
    try:
        return stages_of(ppsched.Layout.megatron(**given))
    except ppsched.Error:
        return None


PAIRS = [[forward, backward] for forward in ("Edee", "eeH", "de", "EeH") for backward in ("Edee", "eeH", "de", "EeH")]
EXPERTS = {"model_type": "deepseek_v3", "num_hidden_layers": 5, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 16,
           "intermediate_size": 8192, "vocab_size": 32000, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
           "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 32, "num_experts_per_tok": 8, "moe_intermediate_size": 1024,
           "n_shared_experts": 1, "first_k_dense_replace": 1, "tie_word_embeddings": False}


def pair_of(windows, forward, backward):
    """The windows of two stages; weight gradients after those of the backward before."""
    pair = {"forward": [window for kind in forward for window in windows[kind]["forward"]], "backward": [], "weight": []}
    for kind in reversed(backward):
        before = len(pair["backward"])
        pair["backward"] += windows[kind]["backward"]
        pair["weight"] += [[channel, time, after + before] for channel, time, after in windows[kind]["weight"]]
    return pair


def order_of(noted):
    """Its order; an embedding and a head make their weight gradients with their backward."""
    return "".join("BW" if kind == "B" and name in ("embedding", "head") else kind for kind, name in noted)


def make_problems(folder):
    """The overlap of experts' communication needs two ways of expert parallelism, so an even number of replicas."""
    made = problems.Problems("megatron", ["1f1b", "interleaved_1f1b", "interleaved_1f1b"], number=160, kinds=("full", "selective"),
                             most_mtps=2, empty=True).list
    made += problems.Problems("megatron", ["interleaved_1f1b_overlap"], number=40, seed=2, most_mtps=1, empty=True, replicas=(2, 4)).list
    made += problems.picked("megatron", folder)
    for problem in made:
        problem["layers"] = sum(problem["counts"] or ()) or 2 * problem["stages"]
    return made


@unittest.skipIf(framework.why_missing("megatron-core"), framework.why_missing("megatron-core"))
class MegatronTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.layouts, cls.splits = random_layouts(), random_splits()
        with tempfile.TemporaryDirectory() as folder:
            cls.problems = make_problems(folder)
            splits = [[words_of(given), given["devices"]] for given in cls.splits]
            cls.hybrids = [make_hybrid(problem, number) for number, problem in enumerate(cls.problems[:60])
                           if problem["counts"] and problem["stages"] > 1]
            given = {"lines": cls.problems, "layouts": cls.layouts, "splits": splits, "hybrids": [words for words, _ in cls.hybrids]}
            given["hybrids"] += [[[*words, *flags], pattern, devices] for words, pattern, devices in given["hybrids"][:3]
                                 for flags in EXCLUDED]
            given["pairs"] = PAIRS
            cls.model = ppsched.Model(read_model(cls.write(folder, EXPERTS)).description, ppsched.Training(
                sequence_length=4096, expert_parallel=8, expert_tensor_parallel=1, data_parallel=8, windows_experts=True), "h100")
            cls.found = framework.ask(HERE / "megatron_reads.py", given, folder)

    @staticmethod
    def write(folder, config):
        path = pathlib.Path(folder, "experts.json")
        path.write_text(json.dumps(config), encoding="utf-8")
        return str(path)

    def pairs(self):
        for problem, found in zip(self.problems, self.found["lines"], strict=True):
            self.assertNotIn("refused", found, (problem["words"], found.get("refused")))
            yield problem, found

    def test_problems_have_all_kinds(self):
        words = [" ".join(problem["words"]) for problem in self.problems]
        for text in ("--pipeline-model-parallel-layout", "--decoder-first-pipeline-num-layers", "--decoder-last-pipeline-num-layers",
                     "--num-virtual-stages-per-pipeline-rank", "--mtp-num-layers", "--recompute-granularity full",
                     "--recompute-granularity selective", "--micro-batch-size", "--overlap-moe-expert-parallel-comm",
                     "--microbatch-group-size-per-virtual-pipeline-stage"):
            self.assertGreater(sum(text in line for line in words), 4, text)

    def test_stages(self):
        """Decoders of each stage, the number of the first one, and MTP layers, which follow the last decoder."""
        for problem, found in self.pairs():
            counts = problem["counts"] or [problem["layers"] // problem["stages"]] * problem["stages"]
            mtps = [0] * (problem["stages"] - 1) + [problem["mtps"]]
            wanted = [[[counts[stage], sum(counts[:stage]), mtps[stage]] for stage in range(rank, problem["stages"], problem["devices"])]
                      for rank in range(problem["devices"])]
            self.assertEqual(found["ranks"], wanted, problem["words"])

    def test_microbatches(self):
        """A line without a micro batch does not say them: the test adds them."""
        for problem, found in self.pairs():
            self.assertEqual(found["microbatches"], problem["microbatches"], problem["words"])
            self.assertEqual(found["micro_batch"], problem["micro_batch"] or 1, problem["words"])

    def test_orders(self):
        for problem, found in self.pairs():
            wanted = [[[kind, stage // problem["devices"], microbatch] for kind, stage, microbatch in queue] for queue in problem["order"]]
            self.assertEqual(found["orders"], wanted, problem["words"])

    def test_recomputation(self):
        for problem, found in self.pairs():
            wanted = {"full": ["full", "block", max(problem["counts"] or [0])], "selective": ["selective", None, None],
                      None: [None, None, None]}
            self.assertEqual(found["recompute"], wanted[problem["kind"]], problem["words"])

    def test_layouts(self):
        """Strings, of which it refuses about half."""
        ours = [our_layout(*problem) for problem in self.layouts]
        self.assertGreater(ours.count(None), LAYOUTS // 5)
        self.assertGreater(LAYOUTS - ours.count(None), LAYOUTS // 5)
        for problem, wanted, found in zip(self.layouts, ours, self.found["layouts"], strict=True):
            self.assertEqual(None if "refused" in found else found, wanted, (problem, found))

    def test_splits(self):
        """Flags without a string."""
        ours = [our_split(given) for given in self.splits]
        self.assertGreater(ours.count(None), SPLITS // 5)
        self.assertGreater(SPLITS - ours.count(None), SPLITS // 5)
        for given, wanted, found in zip(self.splits, ours, self.found["splits"], strict=True):
            self.assertEqual(None if "refused" in found else found, wanted, (given, found))

    def test_windows_of_pairs(self):
        """The price of one device with two stages, against the order in which its plan launches the nodes of each pair."""
        rows = {row["name"]: row["windows"] for row in self.model.layers().given}
        windows = dict(zip("EdeH", (rows[name] for name in ("embedding", "decoder", "moe_decoder", "head"))))
        found = {tuple(stages): order_of(noted) for stages, noted in zip(PAIRS, self.found["pairs"], strict=True)}
        stages = "Edee", "eeH"
        times = [ppsched.pair_time(pair_of(windows, f, b), order=found[f, b]).time for f in stages for b in stages]
        sums = [[sum(window[1] for kind in stage for part in parts for window in windows[kind][part]) for stage in stages]
                for parts in (("forward",), ("backward", "weight"))]
        config = ppsched.Config(1, 7, 2, forward_times=sums[0], backward_times=sums[1], overlapped_times=times)
        wanted = ppsched.generate("interleaved_1f1b_overlap", config).evaluate().metrics.makespan
        price = ppsched.price(self.model, 1, 7, chunks=2, strategy="interleaved_1f1b_overlap", split=[4, 3], pair_rule="megatron_delayed")
        scale = 1 + self.model.accelerator.scale_slowdown * 3  # 8 devices
        self.assertAlmostEqual(price.pipeline_time / wanted, scale, delta=1e-9)
        for (forward, backward), order in found.items():
            pair = pair_of(windows, forward, backward)
            self.assertLessEqual(ppsched.pair_time(pair).time, ppsched.pair_time(pair, order=order).time * (1 + 1e-9))

    def test_hybrid_models(self):
        """A split is | in the pattern of layers, MTP layers are behind /; flags for a split are refused with it."""
        count = len(self.hybrids)
        for (words, wanted), found in zip(self.hybrids, self.found["hybrids"][:count], strict=True):
            self.assertEqual(found, wanted, words)
        refused = self.found["hybrids"][count:]
        self.assertEqual(len(refused), 3 * len(EXCLUDED))
        for found, flags in zip(refused, EXCLUDED * 3):
            self.assertIn(flags[0], found["refused"])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
