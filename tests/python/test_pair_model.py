# SPDX-License-Identifier: Apache-2.0
"""Windows of overlapped pairs from a model's layers: what is in them, plans, and the order that Megatron-LM runs."""
import json
import pathlib
import tempfile
import unittest

from in_process import run_command

import ppsched
from ppsched.readers.model_files import read_model

CONFIGS = pathlib.Path(__file__).parents[1] / "published" / "configs"
LISTS = {"forward": "forward_time", "backward": "backward_input_time", "weight": "backward_weight_time"}
SMALL = {"model_type": "deepseek_v3", "num_hidden_layers": 6, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 16,
         "intermediate_size": 8192, "vocab_size": 32000, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
         "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 32, "num_experts_per_tok": 8, "moe_intermediate_size": 1024,
         "n_shared_experts": 1, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1, "tie_word_embeddings": False}
ARGUMENTS = {"num_layers": 8, "hidden_size": 2048, "num_attention_heads": 16, "ffn_hidden_size": 4096, "padded_vocab_size": 32000, "swiglu": True,
             "normalization": "RMSNorm", "untie_embeddings_and_output_weights": True, "disable_bias_linear": True, "position_embedding_type": "rope",
             "seq_length": 4096, "max_position_embeddings": 4096, "pipeline_model_parallel_size": 2, "virtual_pipeline_model_parallel_size": 2,
             "expert_model_parallel_size": 8, "num_experts": 32, "moe_router_topk": 8, "moe_ffn_hidden_size": 1024, "micro_batch_size": 1,
             "global_batch_size": 128, "world_size": 16, "bf16": True, "use_distributed_optimizer": True, "moe_token_dispatcher_type": "alltoall",
             "tensor_model_parallel_size": 1, "hidden_dropout": 0.0, "attention_dropout": 0.0}


def device(**changes):
    return ppsched.find_accelerator("h100")._replace(**changes)


def channels(windows):
    return [window[0] for window in windows]


def appended(layers):
    """The windows of a stage of these layers, each one's times as given."""
    stage = {"forward": [row for layer in layers for row in layer["forward"]], "backward": [], "weight": []}
    for layer in reversed(layers):
        before = len(stage["backward"])
        stage["backward"] += layer["backward"]
        stage["weight"] += [[channel, time, after + before] for channel, time, after in layer.get("weight", [])]
    return stage


class FolderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, value):
        (self.folder / name).write_text(json.dumps(value), encoding="utf-8")
        return str(self.folder / name)

    def done(self, *words, code=0):
        done = run_command(tuple(map(str, words)))
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr


class WindowsTest(FolderTest):
    """Of layers."""

    def model(self, name, **training):
        description = read_model(str(CONFIGS / f"{name}.json")).description if isinstance(name, str) else read_model(self.write("own.json", name)).description
        given = {"sequence_length": 2048, "expert_parallel": 8, "expert_tensor_parallel": 1, "data_parallel": 8, "windows_experts": True, **training}
        return ppsched.Model(description, ppsched.Training(**given), given.pop("device", None) or "h100")

    def test_they_take_what_the_layer_takes(self):
        for name in ("deepseek-v3", "qwen3-235b-a22b", "gpt-oss-120b", "nemotron-3-super-120b-a12b"):
            for training in ({}, {"tensor_parallel": 2, "sequence_parallel": True, "windows_tensor": True}, {"context_parallel": 2, "windows_context": True},
                             {"tensor_parallel": 2, "overlaps_tensor": True}, {"windows_experts": False, "windows_tensor": True, "tensor_parallel": 2}):
                model = self.model(name, **training)
                plain = ppsched.Model(model.description, model.training._replace(windows_experts=False, windows_tensor=False, windows_context=False), "h100")
                for row, other in zip(model.layers().given, plain.layers().given):
                    windows = row.pop("windows")
                    self.assertEqual(row, other)
                    for part, time in LISTS.items():
                        self.assertAlmostEqual(sum(window[1] for window in windows.get(part, [])), row[time], delta=1e-9 * row[time])
                    cost = model.pass_cost(row["name"], "forward")
                    for channel, time, flag in (("ep", cost.expert_time, "windows_experts"), ("tp", cost.tensor_time, "windows_tensor"),
                                                ("cp", cost.context_time, "windows_context")):
                        own = sum(window[1] for window in windows["forward"] if window[0] == channel)
                        self.assertAlmostEqual(own, time if getattr(model.training, flag) else 0.0, delta=1e-9 * row["forward_time"])

    def test_their_order(self):
        """Attention, dispatch, experts, combine; of a dense layer attention and MLP; the backward in reverse, each weight gradient after its part."""
        for name, dense in (("deepseek-v3", "decoder"), ("qwen3-235b-a22b", None), ("gpt-oss-120b", None)):
            rows = {row["name"]: row["windows"] for row in self.model(name).layers().given}
            for kind, windows in rows.items():
                if "moe" in kind:
                    self.assertEqual(channels(windows["forward"]), ["compute", "ep"] * 2)
                    self.assertEqual(channels(windows["backward"]), ["ep", "compute"] * 2)
                    self.assertEqual([window[2] for window in windows["weight"]], [2, 4])
                elif kind == dense:
                    self.assertEqual(channels(windows["forward"] + windows["backward"]), ["compute"] * 4)
                    self.assertEqual([window[2] for window in windows["weight"]], [1, 2])
                elif kind in ("embedding", "head"):
                    self.assertEqual(channels(windows["forward"]), ["compute"])

    def test_exchanges_by_hand(self):
        """Each device sends the copies of its rows that are for others; the router, shared experts and experts are on their sides of the dispatch."""
        link = ppsched.find_accelerator("h100").inside._replace(bandwidth=1e11, efficiency=1.0, latency=1e-5)
        for parallel in (2, 4, 8):
            model = ppsched.Model(self.model(SMALL).description, ppsched.Training(sequence_length=2048, expert_parallel=parallel, data_parallel=8,
                                                                                    expert_tensor_parallel=1, windows_experts=True), device(inside=link))
            windows = next(row["windows"] for row in model.layers().given if row["name"] == "moe_decoder")
            sent = 2048 * 8 * 2048 * 2 * (parallel - 1) / parallel
            for window in [*windows["forward"], *windows["backward"]]:
                if window[0] == "ep":
                    self.assertAlmostEqual(window[1], 1e-5 + sent / 1e11, delta=1e-12)
        plain, shared = (ppsched.Model(self.model({**SMALL, "n_shared_experts": count}).description, ppsched.Training(
            sequence_length=2048, expert_parallel=8, data_parallel=8, expert_tensor_parallel=1, windows_experts=True), "h100").layers().given
            for count in (1, 2))
        first, second = (next(row["windows"]["forward"] for row in rows if row["name"] == "moe_decoder") for rows in (plain, shared))
        self.assertGreater(second[0][1], first[0][1])
        for window, other in zip(second[1:], first[1:]):
            self.assertAlmostEqual(window[1] / other[1], 1, delta=1e-12)

    def test_slowdown(self):
        model = ppsched.Model(self.model(SMALL).description, self.model(SMALL).training, device(slowdown=1.25))
        self.assertEqual({json.dumps(row["windows"]["slowdown"]) for row in model.layers().given}, {'{"compute": 1.25}'})

    def test_flags_that_exclude_each_other(self):
        with self.assertRaisesRegex(ppsched.Error, "experts have windows and overlap in their own layer"):
            self.model(SMALL, overlaps_experts=True)


class PlansTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.path = self.write("model.json", {**SMALL, "num_nextn_predict_layers": 0, "num_hidden_layers": 15})
        self.job = ("--model", self.path, "--ep", 8, "--dp", 8, "--seq", 4096)

    def layers(self):
        self.done("model", *self.job, "--pair-windows", "-o", self.folder / "layers.json")
        return json.loads((self.folder / "layers.json").read_text(encoding="utf-8"))["layers"]

    def test_a_step_is_that_of_the_stages_windows(self):
        """A split and its orders, against windows of stages that are appended here."""
        rows = self.layers()
        single = [{part: [[channel, float(time[:-1]), *after] for channel, time, *after in row["windows"].get(part, [])] for part in LISTS}
                  for row in rows for _ in range(row["count"])]
        counts, begin, stages = [5, 4, 4, 4], 0, []
        for count in counts:
            stages.append(appended(single[begin:begin + count]))
            begin += count
        own = ppsched.Config(2, 8, 4, windows=stages)
        for strategy in ("interleaved_1f1b_overlap", "dualpipe_v", "zbv"):
            found = json.loads(self.done("schedule", "--layers", self.folder / "layers.json", "--split", *counts, "--devices", 2, "--microbatches", 8,
                                         "--strategy", strategy, "--format", "json", "--quiet"))
            self.assertAlmostEqual(found["metrics"]["makespan"] / ppsched.generate(strategy, own).evaluate().metrics.makespan, 1, delta=1e-9)

    def test_pick_and_its_bound(self):
        words = ("pick", *self.job, "--pp", 4, "--global-batch", 128, "--json", "--quiet", "--any", "--strategies", "interleaved_1f1b_overlap", "dualpipe_v")
        plain, paired = (json.loads(self.done(*words, *more))[0] for more in ((), ("--pair-windows",)))
        self.assertLess(paired["step_time"], plain["step_time"])
        self.assertLessEqual(paired["bound"], paired["step_time"])

    def test_traces_show_the_windows(self):
        self.layers()
        self.done("schedule", "--layers", self.folder / "layers.json", "--split", 5, 4, 4, 4, "--devices", 2, "--microbatches", 8,
                  "--strategy", "dualpipe_v", "-o", self.folder / "pairs.trace.json", "--quiet")
        text = (self.folder / "pairs.trace.json").read_text(encoding="utf-8")
        self.assertIn('"ep"', text)

    def test_refused(self):
        rows = self.layers()
        for change, words in (({"forward": [["compute", "1s"]]}, "its windows of forward take 1; they must take as long as the layer"),
                              ({"forward": [["", "1s"]]}, "has no channel"), ({"slowdown": {"compute": 0.5}}, "slowdown of 'compute' is 0.5"),
                              ({"slowdown": {"computee": 1.5}}, "slowdown is of 'computee', and no window runs on it; did you mean compute?"),
                              (None, "has no windows, but others have")):
            changed = json.loads(json.dumps(rows))
            changed[1]["windows"] = None if change is None else {**changed[1]["windows"], **change}
            path = self.write("wrong.json", changed)
            error = self.done("pick", "--layers", path, "--devices", 2, "--microbatches", 8, "--mem-limit", "1TB", "--quiet", code=1)
            self.assertIn(words, error)
            self.assertEqual(error.count("\n"), 1)
        self.assertIn("'xx': it must be one or more of ep, tp, cp", self.done("pick", *self.job, "--pp", 4, "--pair-windows", "xx", code=1))


class SpeedsTest(FolderTest):
    """compare --channel-speeds."""

    STRATEGIES = ("--chunks", 2, "--strategies", "interleaved_1f1b_overlap", "dualpipe_v", "zbv", "--quiet")

    def sweep(self, *words):
        return json.loads(self.done("compare", *words, *self.STRATEGIES, "--json"))

    def layer(self):
        page = (pathlib.Path(__file__).parents[2] / "docs" / "pairs.md").read_text(encoding="utf-8")
        return json.loads(page.split("```json\n")[1].split("```")[0])

    def test_where_another_one_is_faster(self):
        """The page's: as four layers a stage, of which one has the same proportions."""
        found = self.sweep("--windows", self.write("layer.json", self.layer()), "--devices", 8, "--stages", 16, "--microbatches", 32, "--channel-speeds", "network=2,1,8")
        self.assertEqual([row["speed"] for row in found["speeds"]], [1, 2, 8])
        for row in found["speeds"]:
            windows = {part: [[channel, time / (row["speed"] if channel == "network" else 1), *after] for channel, time, *after in rows]
                       for part, rows in self.layer().items()}
            config = ppsched.Config(8, 32, 16, windows=windows)
            for name, step in row["steps"].items():
                own = ppsched.generate(name, config).evaluate().metrics.makespan
                self.assertLessEqual(step, own * (1 + 1e-9))
                self.assertTrue(name == "interleaved_1f1b_overlap" or abs(step / own - 1) < 1e-9)
            self.assertEqual(row["fastest"], min(row["steps"], key=row["steps"].get))
        turn, = found["turns"]
        self.assertEqual((turn["from"], turn["to"]), ("interleaved_1f1b_overlap", "dualpipe_v"))
        near = self.sweep("--windows", self.folder / "layer.json", "--devices", 8, "--stages", 16, "--microbatches", 32,
                          "--channel-speeds", f"network={turn['speed'] * 0.98},{turn['speed'] * 1.02}")
        self.assertEqual([row["fastest"] for row in near["speeds"]], ["interleaved_1f1b_overlap", "dualpipe_v"])

    def test_of_layers(self):
        """Layers at twice the speed are those of windows that take half; recomputed forwards as well."""
        rows = [{"name": "decoder", "count": 8, "forward_time": 5, "backward_input_time": 6, "backward_weight_time": 1,
                 "recompute": [{"name": "full", "backward_time": 12, "mem_forward": 0}], "mem_forward": 1,
                 "windows": {"forward": [["a", 3], ["b", 2]], "backward": [["b", 2], ["a", 4]], "weight": [["a", 1, 2]]}}]
        fast = json.loads(json.dumps(rows))
        fast[0].update(forward_time=4, backward_input_time=5, recompute=[{"name": "full", "backward_time": 10, "mem_forward": 0}],
                       windows={"forward": [["a", 3], ["b", 1]], "backward": [["b", 1], ["a", 4]], "weight": [["a", 1, 2]]})
        problem = ("--devices", 2, "--microbatches", 8)
        for limit in ((), ("--mem-limit", 12)):
            scaled = self.sweep("--layers", self.write("rows.json", rows), *problem, *limit, "--channel-speeds", "b=2")["speeds"][0]["steps"]
            plain = self.sweep("--layers", self.write("fast.json", fast), *problem, *limit, "--channel-speeds", "b=1")["speeds"][0]["steps"]
            self.assertEqual(scaled, plain)

    def test_the_text(self):
        text = self.done("compare", "--windows", self.write("layer.json", self.layer()), "--devices", 2, "--stages", 4, "--microbatches", 8,
                         "--channel-speeds", "network=1", *self.STRATEGIES)
        self.assertIn("shortest step if network is this many times as fast:", text)

    def test_refused(self):
        path = self.write("layer.json", self.layer())
        for given, code, words in (("net=1", 1, "there is no channel 'net'; did you mean network?"), ("network=0", 2, "numbers above 0"), ("network", 2, "numbers above 0"),
                                   ("network=1,x", 2, "numbers above 0")):
            self.assertIn(words, self.done("compare", "--windows", path, "--devices", 2, "--microbatches", 8, "--channel-speeds", given, code=code))
        self.assertIn("needs windows", self.done("compare", "--devices", 2, "--microbatches", 8, "--channel-speeds", "a=1", code=2))
        self.assertIn("give .json or .txt", self.done("compare", "--windows", path, "--devices", 2, "--microbatches", 8, "--channel-speeds", "network=1", "-o", "x.png", code=2))


def megatron_pair(forward, backward, delayed):
    """A pair of stages in the order of megatron-core 0.19.2. Both: embedding, decoders, head, by name and windows. -> windows, order"""
    order, kinds = [], {"moe": ("attention", "dispatch", "experts", "combine"), "dense": ("attention", "experts"), "end": ("all",)}

    def kind(layer):
        return "moe" if len(layer["forward"]) == 4 else "dense" if len(layer["forward"]) == 2 else "end"

    def put(letter, layer, *parts):
        if layer is not None:
            order.extend(letter for part in kinds[kind(layer)] if part in parts)
    inner = [layer for layer in forward if kind(layer) != "end"], [layer for layer in backward if kind(layer) != "end"][::-1]
    letters = ("F", "B", "W" if delayed else "")
    order += ["F"] * (forward[0]["name"] == "embedding")
    order += ["B", letters[2]] * (backward[-1]["name"] == "head")
    for number in range(max(map(len, inner))):
        f, b = (own[number] if number < len(own) else None for own in inner)
        last = number + 1 == len(inner[1])
        put("B", b, "combine"), put("F", f, "attention"), put("B", b, "experts"), put("F", f, "dispatch"), put(letters[2], b, "experts")
        put("B", b, "dispatch"), put("F", f, "experts"), put("F", f, "combine"), put("B", b, "attention")
        if not last:
            put(letters[2], b, "attention")
    put(letters[2], inner[1][-1] if inner[1] else None, "attention")
    order += ["F"] * (forward[-1]["name"] == "head")
    order += ["B", letters[2]] * (backward[0]["name"] == "embedding")
    both = {**appended(backward), "forward": appended(forward)["forward"]}
    if not delayed:
        both = {**both, "backward": [list(window) for window in both["backward"]]}
        for _, time, after in both.pop("weight"):
            both["backward"][after - 1][1] += time
    return both, "".join(order)


class LayersTest(unittest.TestCase):
    """Windows of layers of the caller's own."""

    @staticmethod
    def row(name, count, time, windows=1, weight=1):
        own = {"forward": [["compute", time / windows]] * windows, "backward": [["network", time / windows]] * windows}
        return {"name": name, "count": count, "forward_time": time, "backward_input_time": time, "backward_weight_time": weight,
                "windows": {**own, **({"weight": [["compute", weight, windows]]} if weight else {})}}

    def test_a_first_stage_without_windows_of_weight(self):
        """The pair of F of stage 0 and I of stage 1 takes 2, as the F is on another channel; all other ops are alone."""
        layers = ppsched.Layers([self.row("embedding", 1, 1, weight=0), self.row("decoder", 2, 1)])
        stages = ppsched.config_from_layers(ppsched.Config(1, 2), layers, ppsched.Split([1, 2], [0] * 3))
        order = ppsched.Schedule.from_text("0F0,1F0,(0F1;1I0)OVERLAP_F_B,1W0,0I0,0W0,1F1,1I1,1W1,0I1,0W1\n", "csv")
        self.assertEqual(order.evaluate(stages).metrics.makespan, 2 * (1 + 1 + 2 + 2 + 2) - 1)

    def test_splits_whose_pairs_have_too_many_windows_are_not_taken(self):
        """8 light layers in a stage are too many for a pair; 12 and 2 would be the most even."""
        layers = [self.row("light", 12, 1, windows=64), self.row("heavy", 2, 6)]
        for speeds in (1, [1, 0.5]):
            made = ppsched.plan(ppsched.Config(2, 4, device_speeds=speeds), layers=layers, strategies=["1f1b_overlap"], chunks=[1])
            self.assertEqual(made.split(made.best).layers, [7, 7])
        made = ppsched.plan(ppsched.Config(2, 4), layers=[self.row("light", 30, 1, windows=64)], strategies=["1f1b_overlap"], chunks=[1])
        self.assertIn("at most 1000 are possible; use more stages", made[0].reason)


class MegatronTest(FolderTest):
    def price(self, path, *words):
        return json.loads(self.done("price", "--model", path, *words, "--json"))

    def test_its_own_order_is_priced(self):
        """One device with two stages: a pipeline of the pairs' times alone."""
        model = read_model(self.write("model.json", {**SMALL, "num_nextn_predict_layers": 0})).description
        for slowdown, delayed in ((0, False), (0, True), (1.3, True)):
            own = ppsched.Model(model, ppsched.Training(sequence_length=4096, expert_parallel=8, expert_tensor_parallel=1, data_parallel=8,
                                                        windows_experts=True), device(slowdown=slowdown))
            rows = own.layers().given
            layers = [{"name": row["name"], **row["windows"]} for row in rows for _ in range(row["count"])]
            stages, times = (layers[:3], layers[3:]), []
            for forward in stages:
                for backward in stages:
                    pair, order = megatron_pair(forward, backward, delayed)
                    given = {**pair, **({"slowdown": {"compute": slowdown}} if slowdown else {})}
                    times.append(ppsched.pair_time(given, order=order).time)
                    if delayed:  # the best of the same windows is not longer
                        self.assertLessEqual(ppsched.pair_time(given).time, times[-1] * (1 + 1e-9))
            forwards, backwards = ([sum(window[1] for layer in stage for part in parts for window in layer.get(part, [])) for stage in stages]
                                   for parts in (("forward",), ("backward", "weight")))
            config = ppsched.Config(1, 6, 2, forward_times=forwards, backward_times=backwards, overlapped_times=times)
            wanted = ppsched.generate("interleaved_1f1b_overlap", config).evaluate().metrics.makespan
            found = ppsched.price(own, 1, 6, chunks=2, strategy="interleaved_1f1b_overlap", split=[3, 5],
                                  pair_rule="megatron_delayed" if delayed else "megatron")
            scale = 1 + own.accelerator.scale_slowdown * 3  # 8 devices
            self.assertAlmostEqual(found.pipeline_time / (wanted * scale), 1, delta=1e-9)

    def test_argument_files(self):
        path, words = self.write("arguments.json", ARGUMENTS), ("--pair-windows", "--pair-rule")
        flags = {"overlap_moe_expert_parallel_comm": True}
        for more, rule in ((flags, "megatron"), ({**flags, "delay_wgrad_compute": True}, "megatron_delayed")):
            own = self.write("flags.json", {**ARGUMENTS, **more})
            done = run_command(("price", "-c", own, "--device", "h100", "--json"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("ignored", done.stderr)
            self.assertEqual(json.loads(done.stdout), self.price(path, "--device", "h100", *words, rule))
        best = self.price(path, "--device", "h100", "--pair-windows")
        self.assertLessEqual(best["step_time"], json.loads(done.stdout)["step_time"] * (1 + 1e-9))
        self.assertLess(best["exposed"]["expert_parallel"], self.price(path, "--device", "h100")["exposed"]["expert_parallel"])

    def test_launch_scripts(self):
        """As the same arguments in JSON."""
        given = {**ARGUMENTS, "overlap_moe_expert_parallel_comm": True, "delay_wgrad_compute": True, "overlap_grad_reduce": True}
        words = [f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}") for name, value in given.items() if name != "world_size"]
        (self.folder / "run.sh").write_text(f"torchrun pretrain_gpt.py {' '.join(words)}\n", encoding="utf-8")
        self.assertEqual(self.price(self.folder / "run.sh", "--device", "h100", "--dp", 8),
                         self.price(self.write("flags.json", given), "--device", "h100"))

    def test_argument_files_that_it_refuses(self):
        flags = {**ARGUMENTS, "overlap_moe_expert_parallel_comm": True}
        for given, words in (({**ARGUMENTS, "delay_wgrad_compute": True}, "delay_wgrad_compute needs overlap_moe_expert_parallel_comm"),
                             ({**flags, "recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}, "does not overlap pairs if it recomputes whole layers"),
                             ({**flags, "virtual_pipeline_model_parallel_size": None}, "several stages on each device; give --vpp")):
            error = self.done("price", "-c", self.write("flags.json", given), "--device", "h100", code=1)
            self.assertIn(words, error)
            self.assertEqual(error.count("\n"), 1)
        path = self.write("arguments.json", ARGUMENTS)
        self.assertIn("both state which exchanges overlap", self.done("price", "--model", path, "--pair-windows", "--overlap", "ep", code=2))
        self.assertIn("--pair-rule needs --pair-windows", self.done("price", "--model", path, "--pair-rule", "best", code=2))
        self.assertIn("overlaps only the exchanges", self.done("price", "--model", path, "--pair-windows", "ep", "tp", "--pair-rule", "megatron", code=1))

    def test_the_command_line_goes_over_the_file(self):
        own = self.write("flags.json", {**ARGUMENTS, "overlap_moe_expert_parallel_comm": True})
        words = (own, "--device", "h100", "--overlap", "ep")
        self.assertIn("--overlap ep takes precedence over the file, which has overlapped pairs", run_command(("price", "-c", *words)).stderr)
        self.assertEqual(self.price(*words), self.price(self.write("arguments.json", ARGUMENTS), "--device", "h100", "--overlap", "ep"))


if __name__ == "__main__":
    unittest.main()
