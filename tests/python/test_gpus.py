# SPDX-License-Identifier: Apache-2.0
"""ppsched pick --gpus and ppsched.plan_layouts: rows, files, workers, goals, and what is refused."""
import concurrent.futures.process
import itertools
import json
import os
import pathlib
import pickle
import random
import tempfile
import unittest
import unittest.mock
import warnings

from in_process import run_command

import ppsched
from ppsched._core.layout_search import WARMED, JobWords, search_layouts
from ppsched._core.plan_layouts import found_row, lay_out
from ppsched.command.gpus_pick import _margin
from ppsched.readers.layer_table import COLUMNS

LLAMA = {"model_type": "llama", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 8,
         "intermediate_size": 8192, "vocab_size": 128256, "tie_word_embeddings": False}
SHAPE = ppsched.Transformer(layers=16, hidden_size=2048, ffn_size=8192, heads=16, key_value_heads=8, vocabulary_size=128256, gated=True,
                            causal=True)


class Dying(concurrent.futures.Executor):
    """The workers of the first few are killed."""

    def __init__(self, killed, error=None):
        self.killed, self.error = killed, error

    def submit(self, function, *words):
        future = concurrent.futures.Future()
        self.killed -= 1
        if self.error is not None:
            future.set_exception(self.error)
        elif self.killed >= 0:
            future.set_exception(concurrent.futures.process.BrokenProcessPool("killed"))
        else:
            future.set_result(function(*words))
        return future


class GpusTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.model = str(self.folder / "config.json")
        pathlib.Path(self.model).write_text(json.dumps(LLAMA), encoding="utf-8")

    def pick(self, *words):
        return run_command(("pick", "--model", self.model, "--device", "h100", "--seq", 4096, *words))

    def rows(self, *words):
        done = self.pick(*words, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, words, *given):
        done = self.pick(*given)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(words, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    def test_a_worker_that_is_killed(self):
        """The command tells it in a line, and gives the same rows."""
        words = ("--gpus", 16, "--global-batch", 64, "--json")
        whole, kill = self.pick(*words).stdout, concurrent.futures.ProcessPoolExecutor.submit

        def submit(executor, *sent):
            return kill(executor, os._exit, 1) if not executor._processes else kill(executor, *sent)

        with unittest.mock.patch.object(concurrent.futures.ProcessPoolExecutor, "submit", submit):
            done = self.pick(*words, "--jobs", 2)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (0, whole, 1), done.stderr)
        self.assertRegex(done.stderr, "^ppsched pick: warning: a worker ended .* are priced in this process$")

    def test_rows(self):
        rows = self.rows("--gpus", 16, "--global-batch", 64)
        self.assertEqual(len(rows), 10)
        for row in rows:
            layout, step = row["layout"], row["step"]
            self.assertEqual(layout["tp"] * layout["cp"] * layout["pp"] * layout["dp"], 16)
            self.assertEqual(layout["micro_batch"] * layout["microbatches"] * layout["dp"], 64)
            self.assertEqual((row["etp"], row["chunks"], row["fsdp"]), (layout["etp"], layout["chunks"], layout["zero"] == 3))
            self.assertEqual(row["step_time"], step["pipeline_time"])
            self.assertAlmostEqual(step["step_time"], step["pipeline_time"] + step["exposed_data_parallel_time"] + step["optimizer_time"])
            self.assertTrue(row["runnable_on"] and row["peak_memory"] <= row["memory_limit"])
            self.assertEqual(row["memory_near_limit"], row["peak_memory"] * 1.11 > row["memory_limit"])
        times = [row["step"]["step_time"] for row in rows]
        self.assertEqual(times, sorted(times))

    def test_given_values_are_fixed_or_a_list(self):
        rows = self.rows("--gpus", 16, "--global-batch", 64, "--tp", 2, "--pp", 2, 4, "--chunks", 1, "--zero", 1, "--micro-batch", 1)
        self.assertEqual({(row["layout"]["tp"], row["layout"]["chunks"], row["layout"]["zero"]) for row in rows} - {(2, 1, 1)}, set())
        self.assertEqual({row["layout"]["pp"] for row in rows}, {2, 4})

    def test_a_row_is_what_the_command_price_says(self):
        row = self.rows("--gpus", 16, "--global-batch", 64, "--tp", 2, "--pp", 2, "--zero", 1, "--overlap", "grad", "param", "--top", 1)[0]
        layout = row["layout"]
        split = [count - (stage == 0) - (stage + 1 == row["stages"]) for stage, count in enumerate(row["split"])]
        words = ("price", "--model", self.model, "--device", "h100", "--seq", 4096, "--tp", 2, "--pp", 2, "--vpp", layout["chunks"], "--dp",
                 layout["dp"], "--cp", layout["cp"], "--zero", 1, "--micro-batch", layout["micro_batch"], "--global-batch", 64, "--strategy",
                 row["strategy"], "--split", *split, "--overlap", "grad", "param", "--recompute", row["recompute"] or "none", "--json")
        done = run_command(words)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["step_time"], row["step"]["step_time"])

    def test_goals(self):
        words = ("--gpus", 8, "--global-batch", 32, 64, "--pp", 1, "--tp", 1, 2)
        by_step, by_tokens = self.rows(*words), self.rows(*words, "--goal", "tokens")
        self.assertEqual(by_step[0]["layout"]["global_batch"], 32)
        self.assertEqual(by_tokens[0]["layout"]["global_batch"], 64)
        by_cost = self.rows(*words, "--goal", "cost", "--gpu-hour", "h100=2.5")
        self.assertEqual([row["layout"] for row in by_cost], [row["layout"] for row in by_tokens])
        expected = 2.5 / 3600 * 8 * 1e6 / by_cost[0]["step"]["tokens_per_second"]
        self.assertAlmostEqual(by_cost[0]["cost_per_million_tokens"], expected)

    def check_primus(self, text):
        """What Primus' parser requires of a run (fd1eeabb, primus/core/launcher/parser.py); variables without a default must be set."""
        lines = [line for line in text.splitlines() if not line.startswith(("      ", "# "))]
        keys = {line.strip().partition(":")[0]: line.partition(": ")[2] for line in lines}
        self.assertEqual(set(keys), {"work_group", "user_name", "exp_name", "workspace", "modules", "pre_trainer", "framework", "config", "model", "overrides"})
        self.assertEqual([keys[name] for name in ("framework", "config", "model")], ["megatron", "pre_trainer.yaml", "${PRIMUS_MODEL}.yaml"])
        for name in ("work_group", "user_name", "exp_name", "workspace"):
            self.assertRegex(keys[name], r"^\$\{PRIMUS_[A-Z_]+:[^}]+\}$")
        for name in ("use_distributed_optimizer: true", "expert_model_parallel_size: 1", "tensor_model_parallel_size: 2"):
            self.assertIn(f"      {name}\n", text)

    def test_text_and_files(self):
        folder = self.folder / "made" / "here"
        done = self.pick("--gpus", 16, "--tp", 2, "--pp", 2, "--zero", 1, "--chunks", 1, "--strategies", "1f1b", "-o", f"{folder}/")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("(about 4 Mi tokens, rounded up), because --global-batch is not given", done.stdout)
        self.assertIn("the second", done.stdout)
        self.assertIn("-> megatron.args", done.stdout)
        self.assertEqual({"megatron.args", "bridge.py", "layout.json"} - set(os.listdir(folder)), set())
        flags = (folder / "megatron.args").read_text(encoding="utf-8").split()
        self.assertEqual(flags[flags.index("--tensor-model-parallel-size") + 1], "2")
        self.assertIn("--overlap-grad-reduce", flags)
        row = json.loads((folder / "layout.json").read_text(encoding="utf-8"))
        self.assertEqual(flags[flags.index("--micro-batch-size") + 1], str(row["layout"]["micro_batch"]))
        config = type("Config", (), {name: type("Part", (), {})() for name in ("model", "train", "ddp", "dist")})()
        config.model.pipeline_model_parallel_layout = "of a recipe"
        made = {}
        exec((folder / "bridge.py").read_text(encoding="utf-8"), made)  # as a recipe would
        self.assertEqual(made["apply"](config).model.pipeline_model_parallel_size, 2)
        self.assertNotEqual(config.model.pipeline_model_parallel_layout, "of a recipe")
        self.check_primus((folder / "primus.yaml").read_text(encoding="utf-8"))
        for path in folder.iterdir():
            if path.suffix in (".py", ".toml", ".yaml"):
                self.assertEqual(path.read_text(encoding="utf-8").split("\n")[0], f"# written by ppsched {ppsched.__version__}", path.name)
        again = self.pick("--gpus", 16, "--pp", 1, "--zero", 3, "-o", f"{folder}/")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertIn("no pipeline: FSDP alone is the fastest", again.stdout)

    def test_megatron_has_no_pipeline_for_several_streams(self):
        """Nor MTP layers: its TransformerConfig refuses both with enable_mhc_connections."""
        block = {"kind": "attention", "heads": 8}
        values = {"hidden_size": 512, "vocabulary_size": 1000, "streams": 4, "kinds": {"a": [block, {"kind": "mlp", "width": 2048}]}, "layers": "8xa"}
        path = self.folder / "streams.json"
        words = ("pick", "--model", path, "--device", "h100", "--gpus", 8, "--seq", 1024, "--global-batch", 16, "--json", "--runtime")
        for more, has_pipelines in ((("megatron",), False), (("primus",), True)):
            path.write_text(json.dumps(values), encoding="utf-8")
            rows = json.loads(run_command((*words, *more)).stdout)
            found = {row["layout"]["pp"] for row in (rows["layouts"] if isinstance(rows, dict) else rows)}
            self.assertIn(1, found)
            self.assertEqual(2 in found, has_pipelines)
        done = run_command((*words, "megatron", "--pp", 2, "--tp", 1))
        self.assertIn("megatron does not run it: it sends one residual stream from stage to stage", done.stderr)
        path.write_text(json.dumps({**values, "mtp_layers": 1}), encoding="utf-8")
        done = run_command((*words, "megatron", "--pp", 1, "--tp", 1))
        self.assertIn("megatron does not run it: it has several residual streams (hyper-connections) only in models without MTP layers", done.stderr)

    def test_streams_are_told_though_experts_do_not_divide(self):
        """Layouts that the model does not allow are tried after those that only the runtime does not run."""
        kinds = {"a": [{"kind": "attention", "heads": 8}, {"kind": "experts", "width": 512, "experts": 64, "experts_per_token": 2}]}
        path = self.folder / "experts.json"
        path.write_text(json.dumps({"hidden_size": 512, "vocabulary_size": 1000, "streams": 4, "kinds": kinds, "layers": "8xa"}), encoding="utf-8")
        done = run_command(("pick", "--model", path, "--device", "h100", "--gpus", 64, "--seq", 1024, "--global-batch", 64, "--pp", 2, "--runtime", "megatron"))
        self.assertIn("megatron does not run it: it sends one residual stream from stage to stage, and the model has several", done.stderr)

    def test_layers_that_stay_with_a_tower(self):
        """A tower that takes long leaves the first stage with the layers to which it adds features, and no others."""
        block = [{"kind": "attention", "heads": 8}, {"kind": "mlp", "width": 2048}]
        tower = {"name": "vision", "hidden_size": 1024, "layers": 30, "tokens": 4096, "deepstack_layers": 3, "blocks": block}
        path = self.folder / "tower.json"
        path.write_text(json.dumps({"hidden_size": 512, "vocabulary_size": 1000, "kinds": {"a": block}, "layers": "8xa", "towers": [tower]}), encoding="utf-8")
        for pipeline, most in ((2, 5), (4, 5), (6, 3)):
            done = run_command(("pick", "--model", path, "--device", "h100", "--gpus", 12, "--tp", 1, "--pp", pipeline, "--seq", 1024, "--global-batch", 48,
                                "--json"))
            rows = json.loads(done.stdout)
            row = (rows["layouts"] if isinstance(rows, dict) else rows)[0]
            self.assertGreaterEqual(row["split"][0], 2 + 3)
            self.assertLessEqual(row["split"][0], 2 + most)

    def test_a_runtime_that_supports_no_layout(self):
        self.refused("deepspeed does not run it: it has no context parallelism", "--gpus", 16, "--runtime", "deepspeed", "--cp", 2)
        self.refused("torchtitan does not run it: it does not shard optimizer states alone with a pipeline (zero 1)", "--gpus", 16, "--runtime",
                     "torchtitan", "--pp", 2, "--zero", 1)
        self.refused("torchtitan does not run it: it numbers the replicas of a stage before the stages", "--gpus", 16, "--runtime", "torchtitan",
                     "--pp", 2, "--zero", 3, "--rank-order", "tp-cp-ep-pp-dp")
        self.refused("both orders of ranks are the same with one replica", "--gpus", 8, "--rank-order", "tp-cp-ep-pp-dp")
        self.refused("--zero is 4; it must be 0 to 3", "--gpus", 8, "--zero", 4)
        self.refused("'64..': A..B needs both numbers, such as 64..1024", "--gpus", 8, "--global-batch", "64..")

    def test_workers_give_the_same_rows(self):
        fixed = {"global_batch": 64, "tp": [1, 2, 4]}
        alone = ppsched.plan_layouts(SHAPE, gpus=16, device="h100", fixed=fixed)
        self.assertEqual(len(alone), 10)
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            shared = ppsched.plan_layouts(SHAPE, gpus=16, device="h100", fixed=fixed, executor=executor)
        self.assertEqual((list(shared), shared.counts), (list(alone), alone.counts))
        self.assertEqual(sum(alone.counts.values()), 2 * alone.counts["layouts"])
        for killed in (WARMED + 2, 10**6):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                lost = ppsched.plan_layouts(SHAPE, gpus=16, device="h100", fixed=fixed, executor=Dying(killed))
            self.assertEqual([(one.category, str(one.message)) for one in told],
                             [(RuntimeWarning, "a worker ended (killed); layouts of workers that ended are priced in this process")])
            self.assertEqual((list(lost), lost.counts), (list(alone), alone.counts))
        with concurrent.futures.ProcessPoolExecutor(1) as killed, self.assertWarnsRegex(RuntimeWarning, "a worker ended") as told:
            killed.submit(os._exit, 1)
            lost = ppsched.plan_layouts(SHAPE, gpus=16, device="h100", fixed=fixed, executor=killed)
        self.assertEqual((list(lost), len(told.warnings)), (list(alone), 1))
        with self.assertRaisesRegex(ZeroDivisionError, "own"):
            ppsched.plan_layouts(SHAPE, gpus=16, device="h100", fixed=fixed, executor=Dying(0, ZeroDivisionError("own")))

    def test_progress_and_pickles(self):
        told = []
        ppsched.plan_layouts(SHAPE, gpus=4, device="h100", progress=lambda share, best: told.append((share, best)))
        self.assertTrue(told and all(0 < share <= 1 for share, _ in told))
        with self.assertRaises(ppsched.Cancelled):
            ppsched.plan_layouts(SHAPE, gpus=4, device="h100", progress=lambda share, best: False)
        model = ppsched.Model(SHAPE, ppsched.Training(sequence_length=4096), "h100")
        copy = pickle.loads(pickle.dumps(model))
        self.assertEqual((copy.description, copy.training, copy.accelerator), (model.description, model.training, model.accelerator))

    def table(self, *rows):
        path = self.folder / "table.csv"
        path.write_text("\n".join(("#units ms MB", ",".join(COLUMNS), *rows)) + "\n", encoding="utf-8")
        return path

    def test_measured_costs(self):
        table = self.table("decoder,1,1,,,1,4096,,10,11,9,300,500", "decoder,1,1,,,2,4096,,15,16,14,600,500", "decoder,2,1,,,1,4096,,6,6,5,150,250",
                           "collective:all_reduce,64,8,8,0.7")
        words = ("--gpus", 8, "--global-batch", 32, "--layer-table", table)
        rows = self.rows(*words)
        self.assertEqual(len(rows), 10)
        for row in rows:
            measured = (row["layout"]["tp"], row["layout"]["cp"], row["layout"]["micro_batch"]) in ((1, 1, 1), (1, 1, 2), (2, 1, 1))
            (decoder,) = (note for note in row["layer_table"] if note.startswith("layer table, decoder:"))
            self.assertEqual("forward, input, weight, mem_forward, mem_static" in decoder, measured, decoder)
            self.assertEqual("from the nearest rows" in decoder, not measured, decoder)
        (row,) = self.rows(*words, "--tp", 1, "--cp", 1, "--pp", 2, "--micro-batch", 2, "--zero", 1, "--overlap", "none", "--top", 1)
        layout, split = row["layout"], [count - 1 for count in row["split"]]  # without embedding and head
        done = run_command(("price", "--model", self.model, "--device", "h100", "--seq", 4096, "--pp", 2, "--vpp", layout["chunks"], "--dp", 4,
                            "--zero", 1, "--micro-batch", 2, "--global-batch", 32, "--strategy", row["strategy"], "--split",
                            *(count + (0 < stage < len(split) - 1) for stage, count in enumerate(split)), "--layer-table", table, "--json"))
        self.assertEqual(json.loads(done.stdout)["step_time"], row["step"]["step_time"], done.stderr)
        done = self.pick(*words)
        self.assertIn("layer table, decoder: ", done.stdout)
        with concurrent.futures.ThreadPoolExecutor(2) as executor:
            training = ppsched.Training(4096, sequence_parallel=True, overlaps_gradients=True, overlaps_parameters=True, overlaps_context=True)
            model = pickle.loads(pickle.dumps(ppsched.Model(SHAPE, training, "h100", ppsched.read_layer_table(str(table)))))
            found = ppsched.plan_layouts(model, gpus=8, device="h100", fixed={"global_batch": 32, "tp": [1, 2]}, executor=executor)
        for one, other in zip(found, self.rows(*words, "--tp", 1, 2)):
            self.assertEqual((one["layout"], one["step"], one["layer_table"]), (other["layout"], other["step"], other["layer_table"]))

    def test_layers_that_galvatron_measured(self):
        """Numbers of Hetu-Galvatron's own test tables (commit cea12ff): 28 layers, 8 devices, 64 sequences. Its search takes 42.61 s in a
        pipeline alone with 80 GB, and 24.17 s with all that it may choose and 36 GB."""
        half = "29.85,29.85,29.85"
        table = self.table(f"embedding,1,1,,,1,8192,,{half},10,8000", "decoder,1,1,,,1,8192,,26.0,26.0,26.0,2088,3892",
                           "decoder,1,1,,,1,8192,full,,52.0,26.0,56,", f"head,1,1,,,1,8192,,{half},600,8000",
                           *(f"collective:all_reduce,{size},{group},,{time}" for group, size, time in (
                               (8, 64, 0.652), (4, 64, 0.585), (2, 64, 0.392), (8, 1024, 8.141), (4, 1024, 7.187), (2, 1024, 5.159))))
        pathlib.Path(self.model).write_text(json.dumps({**LLAMA, "hidden_size": 3584, "intermediate_size": 18944, "num_hidden_layers": 28,
                                                        "num_attention_heads": 28, "num_key_value_heads": 4}), encoding="utf-8")
        words = ("pick", "--model", self.model, "--device", "a100", "--gpus", 8, "--global-batch", 64, "--seq", 8192, "--layer-table", table, "--json")
        done = run_command((*words, "--tp", 1, "--cp", 1, "--pp", 8, "--micro-batch", 1, "--mem-limit", "80GB", "--chunks", 1))
        best = json.loads(done.stdout)[0]
        self.assertLessEqual(best["step"]["step_time"], 21.97)
        self.assertLessEqual(best["peak_memory"], 80e9)
        self.assertGreaterEqual(best["step"]["pipeline_time"], 64 * (28 * 3 * 26.0 + 6 * 29.85) / 8 / 1000)
        self.assertEqual(sum(best["split"]), 30)
        free = json.loads(run_command((*words, "--cp", 1, "--mem-limit", "36GB")).stdout)[0]
        self.assertLessEqual(free["step"]["step_time"], 24.17)
        self.assertLessEqual(free["peak_memory"], 36e9)

    def test_the_longest_stage_is_as_short_as_can_be(self):
        """Against all splits of 13 decoders, of which no number of stages here has equally many."""
        chance = random.Random(7)
        pathlib.Path(self.model).write_text(json.dumps({**LLAMA, "num_hidden_layers": 13}), encoding="utf-8")
        for stages in (2, 3, 4, 4):
            ends = [chance.randint(0, 60), 10, chance.randint(0, 60)]
            table = self.table(*(f"{kind},,,,,1,4096,,{time},{time},{time},1,1" for kind, time in zip(("embedding", "decoder", "head"), ends)))
            (row,) = self.rows("--gpus", stages, "--tp", 1, "--cp", 1, "--pp", stages, "--chunks", 1, "--micro-batch", 1, "--global-batch", 8,
                               "--strategies", "1f1b", "--layer-table", table)
            longest = []
            for cuts in itertools.combinations_with_replacement(range(14), stages - 1):
                counts = [end - start for start, end in zip((0, *cuts), (*cuts, 13))]
                if all(counts[1:-1]):
                    times = [10 * count for count in counts]
                    times[0] += ends[0]
                    times[-1] += ends[2]
                    longest.append(max(times))
            counts = row["split"]
            found = [10 * (count - (stage == 0) - (stage == stages - 1)) for stage, count in enumerate(counts)]
            found[0] += ends[0]
            found[-1] += ends[2]
            self.assertEqual(max(found), min(longest), (stages, ends, counts))

    def test_the_schedule_of_files_is_the_one_that_was_priced(self):
        words = JobWords(ppsched.Description(SHAPE).json(), ppsched.Training(4096), ppsched.find_accelerator("h100"), 4,
                         (("tp", 1), ("cp", 1), ("pp", 4), ("micro_batch", 1), ("global_batch", 16)), memory_limit=2.2e10)
        for strategy in ("zb_auto", "1f1b", "interleaved_1f1b"):
            (row,) = search_layouts(words._replace(strategies=(strategy,)), 1).best
            self.assertEqual(row.found.memory_limit > 0, strategy == "zb_auto")
            self.assertLessEqual(row.found.memory, 2.2e10)
            self.assertAlmostEqual(lay_out(words, row).schedule.evaluate().metrics.makespan, row.found.price.pipeline_time, places=12)
            found = found_row(words, row)
            self.assertEqual((found["step"]["scale"], found["step_time"]), (1 + words.device.scale_slowdown * 2, row.found.price.pipeline_time))  # 4 devices
            alone = search_layouts(words._replace(strategies=(strategy,), device=words.device._replace(scale_slowdown=0.0)), 1).best[0]
            self.assertAlmostEqual(found["step_time"] / alone.found.price.pipeline_time, found["step"]["scale"], places=12)
            self.assertEqual(lay_out(words._replace(device=words.device._replace(scale_slowdown=0.0)), alone).schedule.export("csv"), lay_out(words, row).schedule.export("csv"))

    def test_tables_that_are_refused(self):
        words = ("--gpus", 8, "--global-batch", 32, "--layer-table")
        open_rows = self.table("decoder,1,1,,,1,4096,,10,11,9,300,500", "decoder,2,,,,,4096,,6,6,5,150,250")
        self.refused(f"{open_rows}, line 4 holds for any cp, micro_batch, in which layouts differ; fill in", *words, open_rows)
        self.assertEqual(len(self.rows(*words, open_rows, "--cp", 1, "--micro-batch", 1, "--top", 1)), 1)
        self.refused("the layer table has no row of the kind decoder; it has head", *words, self.table("head,1,1,,,1,4096,,1,1,1,,"))
        twice = self.table(*["decoder,1,1,,,1,4096,,10,11,9,300,500"] * 2)
        self.refused("line 4 has the kind and the sizes of", *words, twice)
        self.refused("--layer-table, --layer-times: both give the times of layers", *words, twice, "--layer-times", "decoder.forward=1ms")
        self.refused("No such file", *words, self.folder / "none.csv")
        with self.assertRaisesRegex(TypeError, "table must be a ppsched.LayerTable"):
            ppsched.plan_layouts(SHAPE, gpus=4, device="h100", table="table.csv")

    def test_what_is_refused(self):
        self.refused("no layout fits in 0.0 GiB of a device; nearest: tp", "--gpus", 2, "--mem-limit", "1MB")
        self.refused("give a multiple of 4", "--gpus", 16, "--tp", 2, "--pp", 2, "--cp", 1, "--global-batch", 31)
        self.refused("--goal cost needs --gpu-hour", "--gpus", 8, "--goal", "cost")
        self.refused("--gpu-hour a100=2: the device is h100", "--gpus", 8, "--goal", "cost", "--gpu-hour", "a100=2")
        self.refused("--overlap none cannot be combined with other words", "--gpus", 8, "--overlap", "none", "tp")
        self.refused("--jobs 0: it must be 1 to", "--gpus", 8, "--jobs", 0)
        self.refused("--gpus, --dp: give one of them", "--gpus", 8, "--dp", 2)
        self.refused("--goal needs --model and --gpus", "--tp", 2, "--goal", "step")
        self.refused("--rank-order: give one order, or --gpus", "--tp", 2, "--rank-order", "tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp")
        for more, wanted in ((dict(device=5), "device must be a name, a ppsched.Accelerator, or a list such as .*, not 5"), (dict(fixed=5), "fixed must be a dict"),
                             (dict(fixed={"tp": None}), r"fixed\['tp'\] must be a number or a list of numbers, not None"),
                             (dict(strategies="1f1b"), "strategies must be a list of names, not '1f1b'"), (dict(executor=5), "executor must have submit")):
            with self.assertRaisesRegex(TypeError, "plan_layouts: " + wanted):
                ppsched.plan_layouts(SHAPE, **{"gpus": 4, "device": "h100", **more})
        with self.assertRaisesRegex(ppsched.Error, "top must be an integer, not 'x'"):
            ppsched.plan_layouts(SHAPE, gpus=4, device="h100", top="x")
        with self.assertRaisesRegex(TypeError, "price: model must be a ppsched.Model, not 5"):
            ppsched.price(5)
        with self.assertRaisesRegex(TypeError, "price: split must be a list of numbers, not 5"):
            ppsched.price(ppsched.Model(SHAPE, ppsched.Training(4096), "h100"), split=5)
        with self.assertRaisesRegex(ppsched.Error, "there is no 'vpp'; layouts differ in tp"):
            ppsched.plan_layouts(SHAPE, gpus=4, device="h100", fixed={"vpp": 2})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rows = ppsched.plan_layouts(SHAPE, gpus=2, device="h100", memory_limit=1e6)
        self.assertEqual((list(rows), len(rows.nearest)), ([], 3))
        self.assertTrue(all(row["lacks"] > 0 for row in rows.nearest))

    def test_layouts_that_are_equal_up_to_what_is_printed(self):
        model = ppsched.Model(SHAPE, ppsched.Training(4096), "h100")
        for ratio, wanted in ((1 - 1e-7, "takes as long as the first"), (1.0, "takes as long as the first"), (0.9988, "more than 0.12% below")):
            rows = [{"runnable": True, "step": {"tokens_per_second": 1000.0 * part}} for part in (1, ratio)]
            self.assertIn(wanted, _margin(rows, model)[0])


if __name__ == "__main__":
    unittest.main()
