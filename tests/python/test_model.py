# SPDX-License-Identifier: Apache-2.0
"""Models: parameters, memory and times as others count them (tests/layers), files that are read, messages, and the command."""
import json
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

from in_process import run_command

import ppsched
from ppsched import Accelerator, Config, LinkRate, Model, Split, Training, Transformer
from ppsched.command.estimate_errors import ERRORS
from ppsched.command.model_command import _parameters_row
from ppsched.command.model_estimate import even_memory, even_split, links_of, update_time
from ppsched.readers.model_files import model_of
from ppsched.command.model_options import Job

DATA = pathlib.Path(__file__).resolve().parent.parent / "layers"
MODELS = sorted((DATA / "models").glob("*.json"))
RECOMPUTE = {"full": "full", "attn_only": "selective", "none": "none"}


def cases(name):
    """The name, the fields and the lines of each case."""
    for text in (DATA / name).read_text(encoding="utf-8").split("\ncase ")[1:]:
        lines = text.splitlines()
        yield lines[0], dict(line.partition(" ")[::2] for line in lines[1:]), lines


def run(*words, command="model"):
    return run_command([command, *words])


def answer(*words, command="model"):
    done = run(*words, "--json", command=command)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# --- calculon: its systems and its runs ---

def systems():
    """Of the file's head, names without quotes."""
    found = {}
    for name, text in re.findall(r"^# system (\w+): (.*)$", (DATA / "calculon.txt").read_text(encoding="utf-8"), flags=re.M):
        quoted = re.sub(r"([A-Za-z_]\w*)(?=[:,}])", lambda match: match[0] if match[0] in ("true", "false", "null")
                        else f'"{match[0]}"', text)
        found[name] = json.loads(quoted)
    return found


def link(network, devices):
    """Its time is latency + size * scalar (1 + offset / n) / rate; ours is of a ring, (n - 1)/n, an all-reduce twice that."""
    def factor(operation):
        scalar, offset = network["ops"][operation]
        return scalar * (1 + (offset or 0) / devices) / (1 - 1 / devices)
    return LinkRate(network["bandwidth"] * 1e9, network["efficiency"], network["latency"], factor("all_reduce") / 2,
                factor("all_gather"))


def device(system, tensor):
    matrix, vector, memory = system["matrix"]["float16"], system["vector"]["float16"], system["mem1"]
    by_size = [[(least * unit, share) for least, share in rows] for rows, unit in (
        (matrix["gflops_efficiency"], 1e9), (vector["gflops_efficiency"], 1e9), (memory["MB_efficiency"], 1e6))]
    return Accelerator("", matrix["tflops"] * 1e12, vector["tflops"] * 1e12, memory["GBps"] * 1e9, memory["GiB"] * 2.0**30,
                       link(system["networks"][0], max(tensor, 2)), link(system["networks"][1], 8), 8, *by_size)


def calculon_model(fields, accelerator=None):
    """Its GPT: scores are kept, and not halved; no biases are counted in its matrices."""
    number = {name: int(fields[name]) for name in ("num_blocks", "hidden", "feedforward", "seq_size", "attn_heads", "attn_size",
                                                   "microbatch_size", "tensor_par", "data_par")}
    shape = Transformer(number["num_blocks"], number["hidden"], number["attn_heads"], 51200, number["feedforward"],
                        head_size=number["attn_size"], positions=number["seq_size"], tied=True, norm_bias=True, dropout=True, causal=False)
    training = Training(number["seq_size"], number["microbatch_size"], number["tensor_par"], data_parallel=number["data_par"],
                        sequence_parallel=fields["tensor_par_comm_type"] != "ar", keeps_scores=True)
    return Model(shape, training, accelerator or device(systems()[fields["system"]], number["tensor_par"]))


class CalculonTest(unittest.TestCase):
    def near(self, ours, theirs, what, share=1e-4):
        self.assertLessEqual(abs(ours - float(theirs)), share * float(theirs), f"{what}: {ours} is not {theirs}")

    def test_times_of_a_layer(self):
        """Without its tensor-parallel communication, which is another figure: forward, gradients, what is computed again."""
        seen = 0
        for name, fields, _ in cases("calculon.txt"):
            if "block_fw_time" not in fields:
                continue
            model = calculon_model(fields)
            cost = {kind: model.pass_cost("dense", kind) for kind in ("forward", "input", "weight", "full")}
            own = {kind: row.time - row.communication_time for kind, row in cost.items()}
            self.near(own["forward"], fields["block_fw_time"], name)
            self.near(own["input"], fields["block_agrad_time"], name)
            self.near(own["weight"], fields["block_wgrad_time"], name)
            if fields["activation_recompute"] == "full":
                self.near(own["full"], fields["block_re_time"], name)
            if fields["tensor_par_comm_type"] == "ar" and float(fields["baseblock_agrad_tp_time"]):
                self.near(cost["input"].communication_time, fields["baseblock_agrad_tp_time"], name, 1e-3)
            seen += 1
        self.assertGreaterEqual(seen, 18)

    def test_pipelines_of_its_chunks(self):
        """Its chunk times through our evaluator, with free transfers, are its formula: (m v + p - 1) (F + B)."""
        seen = 0
        for name, fields, _ in cases("calculon.txt"):
            if "formula_time" not in fields:
                continue
            devices, chunks, batches = (int(fields[key]) for key in ("pipeline_par", "pipeline_interleaving",
                                                                     "num_microbatches"))
            forward, backward = float(fields["chunk_fw_time"]), float(fields["chunk_bw_time"])
            config = Config(devices, batches, devices * chunks, forward_times=forward, backward_times=backward)
            timeline = ppsched.generate("1f1b" if chunks == 1 else "interleaved_1f1b", config).evaluate()
            self.near(timeline.metrics.makespan, (batches * chunks + devices - 1) * (forward + backward), name, 1e-12)
            self.near(timeline.metrics.makespan, fields["formula_time"], name, 1e-12)
            seen += 1
        self.assertGreater(seen, 0)

    def test_published_steps(self):
        """Korthikanti et al., table 5, with the library's A100: pipeline and optimizer within 10 %."""
        seen = 0
        for name, fields, _ in cases("calculon.txt"):
            if "published_iteration_time" not in fields:
                continue
            model = calculon_model(fields, ppsched.find_accelerator("a100"))
            devices, chunks, batches = (int(fields[key]) for key in ("pipeline_par", "pipeline_interleaving",
                                                                     "num_microbatches"))
            layers, kind = model.layers(), RECOMPUTE[fields["activation_recompute"]]
            kinds = [names.index(kind) + 1 if kind in names else 0 for names in layers.kinds]
            job = Job(model, devices, batches)
            split = Split(even_split(model, devices * chunks), kinds)
            config = ppsched.config_from_layers(Config(devices, batches, devices * chunks, **links_of(job)), layers, split)
            timeline = ppsched.generate("1f1b" if chunks == 1 else "interleaved_1f1b", config).evaluate()
            step = timeline.metrics.makespan + sum(update_time(model, even_memory(job)))
            self.near(step, fields["published_iteration_time"], name, 0.1)
            seen += 1
        self.assertGreaterEqual(seen, 4)


# --- counts ---

NAMES = {"computed_total": "total", "computed_active_with_embeddings": "active", "computed_embedding": "embedding",
         "computed_output": "output", "computed_final_norm": "final_norm", "computed_positions": "positions",
         "computed_layer_attention_with_norms": "attention_with_norms", "computed_layer_dense_mlp": "dense_mlp",
         "computed_layer_moe_mlp": "moe_mlp", "computed_layer_moe_mlp_active": "moe_mlp_active",
         "computed_mtp_module_unique": "mtp", "computed_dense_layers": "dense_layers", "computed_moe_layers": "moe_layers"}


class CountTest(unittest.TestCase):
    def test_every_count_is_equal(self):
        for path in MODELS:
            wanted = json.loads(path.read_text(encoding="utf-8"))["parameters"]
            counts = _parameters_row(Model(ppsched.read_model(str(path)).description))
            windowed = path.name in ("gemma-2-2b.json", "gemma-2-9b.json")  # of two kinds of layers
            for name, value in wanted.items():
                if name in NAMES and (NAMES[name] in counts or not windowed):
                    self.assertEqual(counts[NAMES[name]], value, f"{path.name} {name}")
                elif name == "computed_layer":
                    layer = next(row for row in counts["per_layer"] if "decoder" in row["name"])
                    self.assertEqual(layer["parameters"], value, path.name)
        self.assertGreaterEqual(len(MODELS), 15)

    def test_the_command_counts_them_by_layer(self):
        for name in ("deepseek-v3", "llama-3.1-8b", "gemma-2-2b"):
            path = DATA / "models" / f"{name}.json"
            wanted, row = json.loads(path.read_text(encoding="utf-8"))["parameters"], answer("--model", path)["parameters"]
            whole = sum(layer["count"] * layer["parameters"] for layer in row["per_layer"] if layer["name"] != "mtp")
            active = sum(layer["count"] * layer["active"] for layer in row["per_layer"] if layer["name"] != "mtp")
            self.assertEqual((row["total"], whole), (wanted["computed_total"], wanted["computed_total"]))
            self.assertEqual((row["active"], active), (wanted["computed_active_with_embeddings"],) * 2)
            self.assertEqual((row["embedding"], row["output"]), (wanted["computed_embedding"], wanted["computed_output"]))

    def test_gpt2_and_gpt_neox(self):
        """The published 124,439,808 of GPT-2, and 20,554,567,680 of GPT-NeoX 20B."""
        gpt2 = {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 1024, "vocab_size": 50257}
        neox = {"model_type": "gpt_neox", "num_hidden_layers": 44, "hidden_size": 6144, "num_attention_heads": 64,
                "intermediate_size": 24576, "vocab_size": 50432}
        for fields, total in ((gpt2, 124439808), (neox, 20554567680)):
            self.assertEqual(Model(model_of("config.json", fields).description).parameters.total, total)


class MegatronTest(unittest.TestCase):
    def test_every_byte_is_equal(self):
        results = ("printed", "formula", "weight_and_optimizer_bytes", "activation_bytes", "total_mib", "done", "")
        seen = 0
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "case.json")
            for name, fields, _ in cases("megatron_memory.txt"):
                given = {key: int(value) if value.isdigit() else value for key, value in fields.items()
                         if not key.startswith(results[:-1]) and key}
                path.write_text(json.dumps(given), encoding="utf-8")
                row = answer("-c", path, "--megatron-formula")["megatron"]
                for key, ours in (("weight_and_optimizer_bytes",) * 2, ("activation_bytes",) * 2,
                                  ("activation_bytes_with_sp", "activation_bytes_with_sequence_parallel"),
                                  ("activation_bytes_without_sp", "activation_bytes_without")):
                    self.assertEqual(row[ours], float(fields[key]), f"{name} {key}")
                seen += 1
        self.assertGreaterEqual(seen, 25)


# --- files and messages ---

LLAMA = {"model_type": "llama", "num_hidden_layers": 8, "hidden_size": 1024, "intermediate_size": 4096,
         "num_attention_heads": 16,
         "num_key_value_heads": 4, "vocab_size": 32000}


class FileTest(unittest.TestCase):
    def refused(self, part, fields):
        with self.assertRaises(ppsched.Error) as caught:
            model_of("config.json", fields)
        self.assertIn(part, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_messages(self):
        self.refused("model_type lama is not known; did you mean llama?", {**LLAMA, "model_type": "lama"})
        for kind in ("whisper", "gpt3", "gpt_neo"):
            self.refused(f"model_type {kind} is not known", {**LLAMA, "model_type": kind})
        self.refused("; it lacks hidden_size, vocab_size; ", {"model_type": "whisper", "num_hidden_layers": 3, "intermediate_size": 8, "num_attention_heads": 2})
        self.refused("model_type whisper is not known; describe its layers", {**LLAMA, "model_type": "whisper"})
        self.refused("model_type llama9 is not known; the nearest is llama, which is another model; not understood: gate_rank, mixes; describe",
                     {**LLAMA, "model_type": "llama9", "gate_rank": 8, "mixes": [1], "attn_gate": None, "is_new": False})
        self.refused("the nearest is qwen2_moe, which is another model; it lacks vocab_size; describe",
                     {**LLAMA, "model_type": "qwen99_moe", "vocab_size": None})
        self.refused("it has no model_type", {**LLAMA, "model_type": None})
        self.refused("config.json: num_hidden_layers is 0; it must be 1 or more", {**LLAMA, "num_hidden_layers": 0})
        self.refused("config.json: num_layers is 0; it must be 1 or more", {"num_layers": 0, "hidden_size": 8, "num_attention_heads": 2,
                                                                            "vocab_size": 16})
        self.refused("it has no model_type, num_layers or kinds", {"hidden": 3})
        self.refused("num_hidden_layers must be an integer", {**LLAMA, "num_hidden_layers": "8"})
        self.refused("tie_word_embeddings must be true or false", {**LLAMA, "tie_word_embeddings": 1})
        self.refused("unknown argument 'hiden_size'; did you mean hidden_size?",
                     {"num_layers": 2, "hiden_size": 8, "num_attention_heads": 2, "padded_vocab_size": 16})
        self.refused("hidden_size is missing; add it", {"num_layers": 2, "num_attention_heads": 2, "padded_vocab_size": 16})
        self.refused("swiglu must be yes or no", {"num_layers": 2, "hidden_size": 8, "num_attention_heads": 2,
                                                  "padded_vocab_size": 16, "swiglu": 3})

    def test_what_classes_have_where_files_say_nothing(self):
        sizes = {name: value for name, value in LLAMA.items() if name != "num_key_value_heads"}
        for kind, heads, width in (("llama", 16, 64), ("mistral", 8, 64), ("gemma2", 4, 256)):
            block = next(iter(model_of("c", {**sizes, "model_type": kind}).description.values()["kinds"].values()))[0]
            self.assertEqual((block.get("key_value_heads", 16), block.get("head_size", 64)), (heads, width), kind)
            block = next(iter(model_of("c", {**sizes, "model_type": kind, "num_key_value_heads": None}).description.values()["kinds"].values()))[0]
            self.assertNotIn("key_value_heads", block)

    def test_names_of_later_classes(self):
        """Transformers 5 writes the experts of qwen3_moe as num_local_experts."""
        fields = json.loads((DATA / "models" / "qwen3-235b-a22b.json").read_text(encoding="utf-8"))["config"]
        later = {**fields, "num_local_experts": fields["num_experts"]}
        del later["num_experts"]
        self.assertEqual(model_of("c", later).description, model_of("c", fields).description)

    def test_steps_between_experts(self):
        """decoder_sparse_step divides i + 1 in layers with experts; 1 where it is not told."""
        fields = json.loads((DATA / "models" / "qwen3-235b-a22b.json").read_text(encoding="utf-8"))["config"]
        for told, step in ((None, 1), (1, 1), (2, 2), (3, 3)):
            kinds = model_of("c", {**fields, "decoder_sparse_step": told}).description.layer_kinds
            self.assertEqual([kind == "moe_decoder" for kind in kinds], [(layer + 1) % step == 0 for layer in range(len(kinds))])

    def test_megatron_names(self):
        found = model_of("m", {"num-layers": 4, "hidden-size": 64, "num-attention-heads": 4, "vocab-size": 1000, "tp": 2,
                               "swiglu": "yes",
                               "num-experts": 8, "moe-layer-freq": [0, 1, 1, 1], "seq-length": 128})
        self.assertEqual(found.transformer.vocabulary_size, 1024)
        self.assertEqual((found.transformer.dense_layers, found.transformer.gated, found.transformer.ffn_size), (1, True, 128))
        self.assertEqual(found.options, {"tp": 2, "seq": 128})

    MEGATRON = {"num_layers": 4, "hidden_size": 64, "num_attention_heads": 4, "vocab_size": 1000}

    def test_megatron_arguments_that_change_nothing(self):
        found = model_of("m", {**self.MEGATRON, "rotary_base": 500000, "lr": 3e-4, "seed": 1, "transformer_impl": "te", "fp8": None,
                               "optimizer": "adam"})
        self.assertEqual((found.options, list(found.not_taken)), ({}, []))
        found = model_of("m", {**self.MEGATRON, "fp8": "hybrid", "overlap_grad_reduce": True, "recompute_granularity": "full",
                               "recompute_method": "block", "recompute_num_layers": 2})
        self.assertEqual(list(found.not_taken), ["overlap_grad_reduce", "recompute_method", "recompute_num_layers"])
        for fields, precision in (({"fp8": "hybrid"}, "fp8"), ({"fp8_format": "e4m3", "fp8_recipe": "mxfp8", "bf16": True}, "mxfp8"), ({"fp4": "e2m1"}, "nvfp4"), ({"fp16": True}, "fp16"),
                                  ({"bf16": True}, "bf16")):
            self.assertEqual(model_of("m", {**self.MEGATRON, **fields}).options["precision"], precision)
        self.refused("fp8_recipe is 'rowwise'", {**self.MEGATRON, "fp8": "hybrid", "fp8_recipe": "rowwise"})
        self.refused("unknown argument 'rotary_bse'; did you mean rotary_base?", {**self.MEGATRON, "rotary_bse": 3})

    def test_megatron_arguments_that_are_taken(self):
        def options(**given):
            return model_of("m", {**self.MEGATRON, **given}).options
        self.assertEqual(model_of("m", {**self.MEGATRON, "make_vocab_size_divisible_by": 16, "tp": 2}).transformer.vocabulary_size, 1024)
        self.assertEqual(model_of("m", {**self.MEGATRON, "make_vocab_size_divisible_by": 1}).transformer.vocabulary_size, 1000)
        self.assertEqual(options(bf16=True), {"precision": "bf16"})
        self.assertEqual(options(bf16=False)["sizes"], ["weight=4", "gradient=4", "optimizer=8", "activation=4"])
        self.assertEqual(options(bf16=True, use_precision_aware_optimizer=True, main_grads_dtype="bf16", exp_avg_dtype="fp8")["sizes"],
                         ["gradient=2", "optimizer=9"])
        self.assertEqual(options(num_layers_per_virtual_pipeline_stage=1, pp=2), {"vpp": 2, "pp": 2})
        self.assertEqual(options(use_megatron_fsdp=True, data_parallel_sharding_strategy="optim_grads"), {"zero": 2})
        self.assertEqual(options(recompute_activations=True), {"recompute": "selective"})
        self.refused("tp is 4, but the same option under another name is 2; give one of them",
                     {**self.MEGATRON, "tensor_model_parallel_size": 2, "tp": 4})

    def test_dropout(self):
        for given, has in (({}, True), ({"hidden_dropout": 0.1}, True), ({"hidden_dropout": 0}, False), ({"hidden_dropout": 0.0, "attention_dropout": 0.0}, False),
                           ({"attention_dropout": 0.1}, True)):
            self.assertEqual(model_of("m", {**self.MEGATRON, **given}).transformer.dropout, has)
        gpt2 = {"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "n_positions": 64, "vocab_size": 100}
        self.assertEqual(["dropout" in model_of("c", {**gpt2, **given}).description.values() for given in ({}, {"resid_pdrop": 0.0})], [True, False])
        self.refused("dropout must be a number from 0 to 1", {**self.MEGATRON, "hidden_dropout": "much"})


class ErrorTest(unittest.TestCase):
    PAGE = (DATA.parents[1] / "docs" / "model.md").read_text(encoding="utf-8")

    def largest(self, title, *columns):
        """Of a table of the page, in the columns of these headings."""
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in
                self.PAGE.split(f"**{title}**", 1)[1].split("\n\n")[1].splitlines()]
        places = [number for number, heading in enumerate(rows[0]) if heading in columns]
        return round(max(abs(float(row[place].split()[0])) for row in rows[2:] for place in places) / 100, 6)

    def test_stated_errors_are_those_of_the_page(self):
        found = {"step_time": self.largest("Steps", "our error"), "memory": self.largest("Memory", "our error"),
                 "stage_time": self.largest("Zero-bubble paper", "error of F + I + W"),
                 "forward_time": self.largest("Zero-bubble paper", "error of F", "error of I", "error of W")}
        self.assertEqual(found, ERRORS)
        for error in found.values():
            self.assertIn(f"{100 * error:.1f} %", self.PAGE.split("## What is read")[0].replace("\n", " "))


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.path = self.folder / "config.json"
        self.path.write_text(json.dumps(LLAMA), encoding="utf-8")

    def wrong(self, part, *words, command="model"):
        done = run(*words, command=command)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(part, done.stderr)
        self.assertEqual((done.stdout, done.stderr.strip().count("\n") if done.returncode == 1 else 0), ("", 0))

    def test_rows(self):
        row = answer("--model", self.path, "--tensor-model-parallel-size", 2, "--pp", 4, "--seq", 2048, "--global-batch-size",
                     16)
        self.assertEqual([layer["name"] for layer in row["layers"]], ["embedding", "decoder", "head"])
        self.assertEqual(len(row["devices"]), 4)
        for device_row in row["devices"]:
            self.assertEqual(device_row["total"], sum(device_row[name] for name in ("weights", "gradients", "optimizer",
                                                                                    "activations")))
        first, last = row["devices"][0]["activations"], row["devices"][3]["activations"]
        decoder = next(layer for layer in row["layers"] if layer["name"] == "decoder")
        self.assertAlmostEqual(first, 4 * (2 * decoder["mem_forward"] + row["layers"][0]["mem_forward"]))
        self.assertAlmostEqual(last, 2 * decoder["mem_forward"] + row["layers"][2]["mem_forward"])
        self.assertEqual(row["estimate_error"], max(ERRORS.values()))
        self.assertIn("dense models on h100 in bf16", row["step_error"]["of"])
        self.assertTrue(0 < row["step_error"]["median"] < row["step_error"]["p90"] < 0.1)

    def test_the_line_of_estimates_names_the_device(self):
        for device, words in (("h100", "error of the step time: median 2.2%, 90th percentile"), ("h20", "dense models on h20 in bf16: none was measured"),
                              ("gb200", "error of the step time at most 4.4% on 1 published layout of dense models on gb200 in bf16"),
                              ("a100", f"step time within {ERRORS['step_time']:.1%}")):
            for command in ("model", "pick"):
                text = run_command((command, "--model", self.path, "--device", device, "--pp", 2, "--seq", 2048)).stdout
                self.assertIn(words, text)

    def test_recomputation_and_sharding(self):
        words = ("--model", self.path, "--pp", 2, "--dp", 4, "--zero")
        plain, sharded = answer(*words, 0)["devices"][0], answer(*words, 3, "--recompute", "full")["devices"][0]
        self.assertEqual([plain[name] / sharded[name] for name in ("weights", "gradients", "optimizer")], [4, 4, 4])
        self.assertLess(sharded["activations"], plain["activations"] / 5)

    def test_layers_file(self):
        target = self.folder / "layers.json"
        self.assertEqual(run("--model", self.path, "-o", target).returncode, 0)
        rows = json.loads(target.read_text(encoding="utf-8"))["layers"]
        self.assertEqual(sum(row["count"] for row in rows), 10)
        self.assertTrue(rows[1]["forward_time"].endswith("s") and rows[1]["mem_static"].endswith("B"))
        words = ("-b", 8, "--num-devices", 2, "--layers", target)
        self.assertEqual(run(*words, "--mem-limit", "72GB", command="pick").returncode, 0)
        self.wrong("write --mem-limit 72GB", *words, "--mem-limit", 72, command="pick")
        self.wrong("give a name that ends with .json", "--model", self.path, "-o", self.folder / "layers.txt")

    def test_calibration(self):
        plain = answer("--model", self.path, "--seq", 2048)
        measured = 2 * plain["layers"][1]["forward_time"]
        row = answer("--model", self.path, "--seq", 2048, "--layer-times", f"dense.forward={measured!r}")
        self.assertAlmostEqual(row["layers"][1]["forward_time"], measured)
        self.assertIn("decoder forward x 2 ", row["calibrated"][0])
        told = answer("--model", self.path, "--seq", 2048, "--layer-times", f"dense.forward={1000 * measured!r}ms")
        self.assertAlmostEqual(told["layers"][1]["forward_time"], measured)
        times = [answer("--model", self.path, "--step-time", text)["layers"] for text in ("2", "2s", "2000ms")]
        self.assertEqual(times[0], times[1])
        self.assertAlmostEqual(times[0][1]["forward_time"], times[2][1]["forward_time"])
        self.wrong("--step-time: GB is a unit of memory; units of time are ns", "--model", self.path, "--step-time", "2GB")
        self.wrong("--step-time is 'soon'; it must be a number with a unit", "--model", self.path, "--step-time", "soon")
        self.wrong("--tokens-per-second is 0; it must be a finite number above 0", "--model", self.path, "--tokens-per-second", 0)
        self.wrong("--step-time was measured in one layout, but there are 2 layouts; give only the measured number for --tp", "--model", self.path, "--step-time", "2s",
                   "--tp", 1, 2, command="pick")
        stepped = answer("--model", self.path, "--seq", 2048, "--tokens-per-second", 10000)
        self.assertIn("all layers x ", stepped["calibrated"][0])
        self.assertEqual(stepped["estimate_errors"], {"memory": ERRORS["memory"]})
        (note,) = answer("--model", self.path, "--step-time", "2s")["calibrated"]
        predicted = float(re.search(r"predicted ([0-9.]+) s\)", note)[1])
        same, twice = (answer("--model", self.path, "--step-time", f"{step}s")["calibrated"][0] for step in (predicted, 2 * predicted))
        self.assertAlmostEqual(float(same.split()[3]), 1, 2)
        self.assertGreaterEqual(float(twice.split()[3]), 2 - 1e-3)  # as the optimizer's part stays
        self.assertIn("times are scaled to the measured step", run("--model", self.path, "--step-time", "2s").stdout)
        self.wrong("it must be LAYER.PASS=TIME", "--model", self.path, "--layer-times", "decoder=3")
        self.wrong("give one of them", "--model", self.path, "--step-time", 3, "--tokens-per-second", 3)

    def test_a_device_of_ones_own(self):
        own = self.folder / "device.json"
        own.write_text(json.dumps({"like": "a100", "matrix_rate": 624e12, "memory": 40e9}), encoding="utf-8")
        slow, fast = (answer("--model", self.path, "--device", name)["passes"]["decoder"]["forward"] for name in ("A100", own))
        self.assertAlmostEqual(fast["matrix_time"], slow["matrix_time"] / 2)
        own.write_text(json.dumps({"like": "a100", "memory": "40GB", "memory_bandwidth": "1TB/s", "matrix_efficiency": 0.5,
                                   "between": {"bandwidth": "200Gbps", "latency": "5us"}}), encoding="utf-8")
        half = answer("--model", self.path, "--device", own)["passes"]["decoder"]["forward"]
        self.assertGreater(half["matrix_time"], slow["matrix_time"])
        found = ppsched.find_accelerator("a100")
        row = [Model(Transformer(2, 64, 4, 100, 256), Training(64), found._replace(matrix_efficiency=given)).pass_cost("dense", 0).matrix_time
               for given in (0.5, [(0, 0.5)])]
        self.assertEqual(row[0], row[1])
        for part, fields in (('memory is 80, which would be 80 B; write "80GB"', {"memory": 80}),
                             ("memory: s is a unit of time; units of memory are B", {"memory": "80s"}),
                             ("matrix_rate is '3T'; it must be a plain number", {"matrix_rate": "3T"}),
                             ("inside.latency is 'x'; it must be a number with a unit", {"inside": {"bandwidth": 1e11, "latency": "x"}}),
                             ("inside must be a mapping with bandwidth", {"inside": 3}), ("node_devices is 0", {"node_devices": 0}), ("memory is -1; it must be above 0", {"memory": -1}),
                             ("matrix_efficiency must be a share such as 0.5, or a list", {"matrix_efficiency": [3]}),
                             ("vector_efficiency is an empty list; leave it out", {"vector_efficiency": []})):
            own.write_text(json.dumps({"like": "a100", **fields}), encoding="utf-8")
            self.wrong(f"{own}: {part}", "--model", self.path, "--device", own)
        own.write_text(json.dumps({"like": "a100", "matrix": 3}), encoding="utf-8")
        self.wrong("a device has no 'matrix'", "--model", self.path, "--device", own)
        self.wrong("there is no device 'h101'; did you mean h100?", "--model", self.path, "--device", "h101")

    def test_megatron_files(self):
        """World size makes replicas; what is not taken is told in one line."""
        path = self.folder / "arguments.json"
        path.write_text(json.dumps({**FileTest.MEGATRON, "tp": 2, "pp": 2, "world_size": 16, "global_batch_size": 8, "lr": 1,
                                    "overlap_grad_reduce": True}), encoding="utf-8")
        done = run("--model", path, "--json", command="pick")
        self.assertEqual(json.loads(done.stdout)[0]["layout"]["dp"], 4)
        self.assertEqual(done.stderr, f"ppsched pick: warning: ignored in {path}: overlap_grad_reduce\n")
        path.write_text(json.dumps({**FileTest.MEGATRON, "tp": 2, "world_size": 16}), encoding="utf-8")
        self.wrong("--tp, --pp and --cp take 6 devices, which do not divide world_size 16", "--model", path, "--pp", 3)

    def test_bad_input(self):
        self.wrong("give --model FILE")
        self.wrong("--tp 3 does not divide 16 heads; 2 and 4 do", "--model", self.path, "--tp", 3)
        self.wrong("--pp 9 is more than the 8 layers", "--model", self.path, "--pp", 9)
        self.wrong("--pp 4 times --vpp 3 is more than the 8 layers of the model; give --vpp 2 or less", "--model", self.path,
                   "--pp", 4, "--vpp", 3)
        self.wrong("--tp: give one number; ppsched pick compares several", "--model", self.path, "--tp", 2, 4)
        self.wrong("--global-batch 7 is no multiple of --micro-batch 2 times --dp 2; give 4 or 8", "--model", self.path, "--dp",
                   2,
                   "--micro-batch", 2, "--global-batch", 7)
        self.wrong("--ep is 2, and the model has no experts", "--model", self.path, "--ep", 2)
        self.wrong("cannot read", "--model", self.folder / "none.json")

    # --- pick ---

    def pick(self, *words):
        return answer("--model", self.path, *words, command="pick")

    def test_pick(self):
        row, = self.pick("--device", "h100", "--tp", 2, "--pp", 4, "--dp", 2, "--seq", 2048, "--global-batch", 32)
        self.assertEqual(row["layout"]["microbatches"], 16)
        step = row["step"]
        self.assertAlmostEqual(step["step_time"], step["pipeline_time"] + step["optimizer_time"] + step["data_parallel_time"])
        self.assertAlmostEqual(step["pipeline_time"], row["step_time"])
        self.assertAlmostEqual(step["tokens_per_second"], 32 * 2048 / step["step_time"])
        self.assertTrue(0 < step["mfu"] < 1)
        for memory, peak in zip(row["memory"], row["peak_memory_by_device"]):
            causes = [memory[name] for name in ("weights", "gradients", "optimizer", "activations", "buffers")]
            self.assertAlmostEqual(sum(causes), memory["total"])
            self.assertAlmostEqual((memory["total"] - memory["buffers"]) / peak, 1)
        again = subprocess.run([sys.executable, "-m", *shlex.split(row["command"]), "--format", "json"], capture_output=True,
                               text=True,
                               check=True)
        self.assertEqual(json.loads(again.stdout)["metrics"]["makespan"], row["makespan"])

    def test_slices_know_attention(self):
        words = ("--tp", 2, "--pp", 4, "--seq", 2048, "--global-batch", 8, "--strategies", "1f1b", "--chunks", 1, "--device", "a100")
        self.assertNotIn("attention_share", self.pick(*words)[0])
        row, longer = self.pick(*words, "--slices", 4)[0], self.pick(*words[:4], "--seq", 8192, *words[6:], "--slices", 4)[0]
        self.assertTrue(0 < row["attention_share"] < longer["attention_share"] < 1)
        told = self.pick(*words, "--slices", 4, "--attention-share", repr(row["attention_share"]))[0]
        self.assertEqual(told["attention_share"], row["attention_share"])
        self.assertLess(row["stage_attention_shares"][-1], row["stage_attention_shares"][1])  # the head has none
        self.assertNotIn("stage_attention_shares", told)
        for one, values in ((row, 4 * 4), (told, 4)):  # by stage, or for all
            rows = shlex.split(one["command"])
            start = rows.index("--slice-scale") + 1
            self.assertEqual(next(n for n, word in enumerate([*rows[start:], "--"]) if word.startswith("--")), values)
        self.assertAlmostEqual(told["step_time"] / row["step_time"], 1, 1)
        own = self.pick(*words[:4], "--seq", 8192, *words[6:], "--slices", 4, "--attention-share", 0)[0]
        self.assertEqual(own["attention_share"], 0)
        self.assertLess(own["step_time"], longer["step_time"])

    def test_adapters_are_not_in_towers(self):
        """As recipes freeze them; a description says itself which towers are frozen. Adapters of rank 8 by the shapes of the matrices."""
        tower = {"depth": 2, "hidden_size": 32, "num_heads": 2, "intermediate_size": 64, "out_hidden_size": 64, "num_position_embeddings": 16, "patch_size": 4}
        text = {"model_type": "qwen3_vl_text", "hidden_size": 64, "vocab_size": 100, "num_hidden_layers": 3, "num_attention_heads": 4, "head_dim": 16,
                "num_key_value_heads": 2, "intermediate_size": 128}
        path, told = self.folder / "vl.json", self.folder / "told.json"
        path.write_text(json.dumps({"model_type": "qwen3_vl", "text_config": text, "vision_config": tower}), encoding="utf-8")
        own = 8 * 3 * (2 * (64 + 64) + 2 * (64 + 32) + 3 * (64 + 128))
        row = answer("--model", path, "--seq", 64, "--lora-rank", 8)
        self.assertEqual((row["parameters"]["adapters"], row["assumed"]), (own, ["towers without adapters"]))
        run("--model", path, "--describe", "-o", told)
        both = own + 8 * 2 * (4 * (32 + 32) + 2 * (32 + 64))
        self.assertEqual(answer("--model", told, "--seq", 64, "--lora-rank", 8)["parameters"]["adapters"], both)
        self.assertNotIn("assumed", answer("--model", path, "--seq", 64))

    def test_slices_tell_the_share_of_each_kind(self):
        """A delta rule has no attention; each stage has the share of its layers."""
        kinds = {"delta": [{"kind": "delta", "heads": 8, "head_size": 64}], "full": [{"kind": "attention", "heads": 8}]}
        path = self.folder / "description.json"
        path.write_text(json.dumps({"hidden_size": 512, "vocabulary_size": 1000, "kinds": kinds, "layers": "4x[delta full]"}), encoding="utf-8")
        words = ("--model", path, "--device", "h100", "--pp", 4, "--seq", 8192, "--global-batch", 8, "--slices", 4)
        (row,) = answer(*words, command="pick")
        self.assertEqual(row["attention_shares"]["delta"], 0)
        self.assertGreater(row["attention_shares"]["full"], row["attention_share"])
        self.assertEqual(len(row["stage_attention_shares"]), 4)
        self.assertLess(max(row["stage_attention_shares"]), row["attention_shares"]["full"])
        model = ppsched.Model(ppsched.read_model(path).description, ppsched.Training(sequence_length=8192), "h100")
        alone = model.stage_attention_shares([1] * 10)
        self.assertEqual((alone[0], alone[1], alone[9], alone[3:9:2]), (0, 0, 0, [0] * 3))  # embedding, delta, head, delta
        for share in alone[2:9:2]:
            self.assertAlmostEqual(share, model.attention_shares()["full"])
        self.assertAlmostEqual(model.stage_attention_shares([10])[0], model.attention_share())
        told = run("--model", *words[1:], command="pick").stdout
        self.assertIn("(0.0% of delta, ", told)
        self.assertRegex(told, r"; stages have [0-9.]+% to [0-9.]+%\), as estimated")
        (row,) = answer(*words, "--attention-share", 0.25, command="pick")
        self.assertNotIn("attention_shares", row)

    def test_slices_by_stage_are_sums_over_positions(self):
        """Where all but products of matrices is free: each token's products with all tokens up to it, of the stage's own layers. Two in F and
        five in the backward, which makes the scores again."""
        free, length, hidden, slices = ppsched.LinkRate(1e30), 4096, 512, 4
        device = ppsched.Accelerator("free", 1e12, 1e30, 1e30, 1e12, free, free)
        kinds = {"full": [{"kind": "attention", "heads": 8}, {"kind": "mlp", "width": 1024}], "plain": [{"kind": "mlp", "width": 1024}]}
        path = self.folder / "mixed.json"
        path.write_text(json.dumps({"hidden_size": hidden, "vocabulary_size": 1000, "kinds": kinds, "layers": "full full plain plain full plain"}),
                        encoding="utf-8")
        model = ppsched.Model(ppsched.read_model(path).description, ppsched.Training(sequence_length=length), device)
        plan = ppsched.plan(ppsched.Config(4, 2), layers=model.with_attention_shares(), strategies="seq_1f1b", slices=slices)
        config, counts = plan.timeline(plan.best).config, plan.split(plan.best).layers
        named = [row["name"] for row in model.layers().given for _ in range(row.get("count", 1))]
        part, stages = length // slices, [named[sum(counts[:s]):sum(counts[:s + 1])] for s in range(4)]
        self.assertEqual(len(config.slice_scale), 4 * slices)
        for s, names in enumerate(stages):
            for k in range(slices):
                seen = sum(position + 0.5 for position in range(k * part, (k + 1) * part))  # half of a token's products with itself
                attention, mean = 7 * 2 * hidden * seen, 7 * 2 * hidden * length * part / 2
                operations = sum(model.pass_cost(name, one).matrix_operations for name in names for one in ("forward", "input", "weight")) * part / length
                operations += names.count("full") * (attention - mean)
                times = config.forward_times[s] + config.backward_times[s]
                self.assertAlmostEqual(times * config.slice_scale[s * slices + k] * 1e12 / operations, 1, 6)

    def test_attention_share_is_that_of_its_products(self):
        """Where all but products of matrices is free: 7 s H a layer and token beside 6 a parameter."""
        free, length, hidden = ppsched.LinkRate(1e30), 4096, 512
        device = ppsched.Accelerator("free", 1e12, 1e30, 1e30, 1e12, free, free)
        shape = ppsched.Transformer(layers=3, hidden_size=hidden, heads=8, vocabulary_size=1000, ffn_size=2048)
        model = ppsched.Model(shape, ppsched.Training(sequence_length=length), device)
        attention, matrices = 3 * 7 * length * hidden, 6 * (3 * (4 * hidden + 2 * 2048) * hidden + 1000 * hidden)
        self.assertAlmostEqual(model.attention_share(), attention / (attention + matrices), 6)
        calibrated = model.layers({("head", one): 1e-9 for one in ("forward", "input", "weight")})
        self.assertAlmostEqual(model.attention_share(calibrated), attention / (attention + matrices - 6 * 1000 * hidden), 6)
        self.assertEqual(ppsched.Model(shape._replace(causal=False), ppsched.Training(sequence_length=length), device).attention_share(), 0)

    def test_pick_for_a_runtime(self):
        row, = self.pick("--tp", 2, "--pp", 4, "--dp", 2, "--seq", 2048, "--micro-batch", 2, "--global-batch", 64, "--runtime",
                         "megatron")
        line = row["launch"]["megatron"]["line"]
        for word in ("--tensor-model-parallel-size 2", "--sequence-parallel", "--use-distributed-optimizer",
                     "--micro-batch-size 2",
                     "--global-batch-size 64"):
            self.assertIn(word, line)
        done = run("--model", self.path, "--tp", 2, "--pp", 4, "--dp", 2, "--seq", 2048, "--runtime", "megatron",
                   command="pick")
        for word in ("tokens/s, MFU ", "\ndevice      GiB        GiB", "\nmegatron: --pipeline-model-parallel-size 4",
                     "estimates: error of the step time: median 2.2%"):
            self.assertIn(word, done.stdout)

    def test_memory_decides(self):
        """A limit below all activations makes layers be computed again; below the states nothing fits."""
        words = ("--tp", 2, "--pp", 4, "--seq", 8192, "--micro-batch", 4)
        free, = self.pick(*words)
        limit = 0.45 * max(memory["total"] for memory in free["memory"])
        tight, = self.pick(*words, "--mem-limit", f"{limit}B")
        self.assertLessEqual(max(memory["total"] for memory in tight["memory"]), limit)
        self.assertTrue(any(stage["recompute"] for stage in tight["split"]))
        self.assertGreater(tight["step_time"], free["step_time"])
        self.wrong("would fit", "--model", self.path, *words, "--mem-limit", "100MB", command="pick")

    def test_units(self):
        """A limit in any unit; a plain number is refused, as it would be bytes."""
        words = ("--tp", 2, "--pp", 4, "--seq", 8192, "--micro-batch", 4)
        plain, = self.pick(*words, "--mem-limit", f"{30 * 2**30}B")
        told, = self.pick(*words, "--mem-limit", "30GiB", "--p2p-time", "10us")
        self.assertEqual(plain["step_time"], told["step_time"])
        self.assertEqual(told["units"], {"time": "s", "memory": "B", "bytes": "B"})
        config = self.folder / "limits.json"
        config.write_text('{"mem_limit": 72}', encoding="utf-8")
        for part, *given in (("--mem-limit 72: with --model numbers have units; write --mem-limit 72GB (plain", "--mem-limit", 72),
                             ("write --p2p-time 24us (plain", "--p2p-time", 24), ("write --p2p-bandwidth 50GB/s", "--p2p-bandwidth", 50),
                             ("write --mem-limit 80000000000B", "--mem-limit", 8e10),
                             (f'{config}: mem_limit: 72: with --model numbers have units; write {config}: mem_limit: "72GB"', "-c", config)):
            self.wrong(part, "--model", self.path, *given, command="pick")

    def test_what_would_do(self):
        """Every number that a message names does."""
        small = ("--model", self.path, "--seq", 4096, "--dp", 2, "--zero", 0)
        for words, limit in ((("--pp", 2, "--tp", 1), "0.5GiB"), (("--pp", 2, "--tp", 1, "--micro-batch", 8), "2GiB")):
            done = run(*small, *words, "--mem-limit", limit, command="pick")
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
            advice = re.findall(r"--(?:pp|tp|zero|mem-limit) [\d.]+(?:GiB)?", done.stderr)
            self.assertTrue(advice, done.stderr)
            for word in advice:
                given = dict(zip(words[::2], words[1::2]), **{"--mem-limit": limit})
                given.update([word.split()])
                again = run("--model", self.path, "--seq", 4096, "--dp", 2, *(() if "--zero" in given else ("--zero", 0)),
                            *(item for pair in given.items() for item in pair), command="pick")
                self.assertEqual(again.returncode, 0, f"{word}: {again.stderr}")
        self.wrong("8 devices of --tp, --pp and --cp do not divide --gpus 30; give --gpus 24 or 32", "--model", self.path, "--tp", 2, "--pp",
                   4, "--gpus", 30, command="pick")
        grouped = self.folder / "grouped.json"
        grouped.write_text(json.dumps({**LLAMA, "num_attention_heads": 24, "hidden_size": 1536, "num_key_value_heads": 8,
                                       "intermediate_size": 4096}), encoding="utf-8")
        self.wrong("--tp 7 does not divide 24 heads; 4 and 8 do", "--model", grouped, "--tp", 7)
        self.wrong("--seq 1001 is not a multiple of 2, by which context and sequence parallelism divide it; 1000 and 1002 would be", "--model",
                   self.path, "--tp", 2, "--seq", 1001)
        self.wrong("--seq 1002 is not a multiple of 4, by which", "--model", self.path, "--cp", 2, "--seq", 1002)
        experts = self.folder / "experts.json"
        experts.write_text(json.dumps({**LLAMA, "model_type": "mixtral", "num_local_experts": 16, "num_experts_per_tok": 2}), encoding="utf-8")
        self.wrong("the 8 devices of tensor, context and data parallelism; --etp 1 would do", "--model", experts, "--tp", 4, "--dp", 2, "--ep", 8)

    def test_config_files(self):
        """One file says model, device and training to both commands; the command line goes over it."""
        config = self.folder / "job.json"
        config.write_text(json.dumps({"model": str(self.path), "device": "a100", "tp": 2, "pipeline_model_parallel_size": 2,
                                      "seq_length": 2048, "global_batch": 16}), encoding="utf-8")
        words = ("--model", self.path, "--device", "a100", "--tp", 2, "--pp", 2, "--seq", 2048, "--global-batch", 16)
        self.assertEqual(answer("-c", config), answer(*words))
        self.assertEqual(answer("-c", config, command="pick"), answer(*words, command="pick"))
        self.assertEqual(answer("-c", config, "--tp", 4, command="pick")[0]["layout"]["tp"], 4)
        config.write_text(json.dumps({"tp": [1, 2], "gpus": 4}), encoding="utf-8")
        self.assertLessEqual({row["layout"]["tp"] for row in self.pick("-c", config)}, {1, 2})
        for part, fields in (("num_layers: with --model it follows", {"num_layers": 4}), ("tp must be an integer, not 'two'", {"tp": "two"}),
                             ("device must be a text, not 3", {"device": 3})):
            config.write_text(json.dumps(fields), encoding="utf-8")
            self.wrong(f"{config}: {part}", "--model", self.path, "-c", config)
        config.write_text('{"global_bach": 3}', encoding="utf-8")
        self.wrong("did you mean global_batch?", "--model", self.path, "-c", config, command="pick")

    def test_layouts(self):
        rows = self.pick("--gpus", 8, "--tp", 1, 2, 3, "--pp", 2, 4, "--seq", 2048, "--global-batch", 32)
        self.assertEqual(sorted(rows, key=lambda row: row["step"]["step_time"]), rows)
        self.assertEqual({row["layout"]["gpus"] for row in rows}, {8})
        self.assertLessEqual({(row["layout"]["tp"], row["layout"]["pp"]) for row in rows}, {(1, 2), (1, 4), (2, 2), (2, 4)})
        planned = self.pick("--gpus", 8, "--tp", 1, 2, 3, "--pp", 2, 4, "--seq", 2048, "--global-batch", 32, "--split-effort", 3)
        fitting = [row for row in planned if row.get("step")]
        self.assertEqual((len(planned), len(fitting)), (6, 4))  # one by one, as the search has no such option
        self.assertIn("do not divide --gpus 8", planned[4]["reason"])

    def test_measured_stages(self):
        """Stages that take what was predicted, but decoders twice: decoders are found to, ends are not."""
        plain = answer("--model", self.path, "--seq", 2048)["layers"]
        embedding, decoder, head = (layer["forward_time"] for layer in plain)
        times = [repr(4 * decoder + embedding), *[repr(4 * decoder)] * 2, repr(4 * decoder + head)]
        row, = self.pick("--pp", 2, "--seq", 2048, "-f", *(f"{time}s" for time in times))
        note, = row["calibrated"]
        self.assertEqual(note, "forward of 4 measured stages: embedding x 1, decoder x 2, head x 1")
        path = self.folder / "profile.json"
        path.write_text(json.dumps({"stages": 4, "forward_times": [1000 * float(time) for time in times], "p2p_time": 7,
                                    "backward_times": [1000 * float(time)
                                                       for time in times], "mem_forward": 3}), encoding="utf-8")
        row, = self.pick("--pp", 2, "--seq", 2048, "--profile", path)
        self.assertLess(row["step_time"], 1)
        self.assertEqual(row["calibrated"][0], note)
        self.assertIn("input and weight of 4 measured stages: ", row["calibrated"][1])
        told, seconds = self.folder / "told.json", self.folder / "seconds.json"
        for file, words in ((told, [f"{1e6 * float(time)}us" for time in times]), (seconds, [float(time) for time in times])):
            file.write_text(json.dumps({"stages": 4, "forward_times": words, "backward_times": words}), encoding="utf-8")
        for words in (("--profile", told), ("--profile", told, "--time-unit", "s"), ("--profile", seconds, "--time-unit", "s"),
                      ("--profile", path, "-f", *(f"{time}s" for time in times))):
            self.assertEqual(self.pick("--pp", 2, "--seq", 2048, *words)[0]["calibrated"][0], note, words)
        config = self.folder / "times.json"
        config.write_text('{"forward_times": "36ms"}', encoding="utf-8")
        self.wrong("1 measured stage:", "--model", self.path, "-c", config, command="pick")
        self.wrong("1 measured stage: with --model give the times of all stages of an even split, one number per stage, for 2 to 8 stages", "--model", self.path, "-f", "1s", command="pick")

    def test_layouts_of_different_devices(self):
        """Their devices are told, and by what they are ranked; lists may have commas, and what is repeated counts once."""
        words = ("--model", self.path, "--seq", 2048, "--global-batch", 16)
        done = run(*words, "--tp", "1,2", 2, "--pp", 2, command="pick")
        lines = done.stdout.splitlines()
        heading = next(line for line in lines if line.startswith("place"))
        self.assertEqual(heading.split()[:3], ["place", "gpus", "tp"])
        rows = [line.split() for line in lines[:lines.index("")] if line[:1].isdigit()]
        self.assertEqual(sorted(row[1:3] for row in rows), [["2", "1"], ["4", "2"]])
        self.assertIn("ranked by tokens/s per device", done.stdout)
        self.assertLessEqual(max(map(len, lines[:lines.index(heading) + 2])), 80)
        self.assertNotIn("gpus", run(*words, "--gpus", 4, "--tp", 1, 2, "--pp", 2, command="pick").stdout.split("tokens/s")[0])

    def test_files_of_the_best(self):
        """As without a model; text has memory in GiB."""
        words = ("--model", self.path, "--tp", 2, "--pp", 2, "--seq", 2048, "--global-batch", 16)
        names = ("page.html", "best.csv", "best.trace.json", "row.json")
        self.assertEqual(run(*words, *(word for name in names for word in ("-o", self.folder / name)), command="pick").stderr, "")
        row, = json.loads((self.folder / "row.json").read_text(encoding="utf-8"))
        self.assertEqual(row["layout"]["tp"], 2)
        csv = (self.folder / "best.csv").read_text(encoding="utf-8")
        self.assertEqual(len(csv.splitlines()), 2)
        self.assertIn("<html", (self.folder / "page.html").read_text(encoding="utf-8")[:200])
        self.assertIn("traceEvents", (self.folder / "best.trace.json").read_text(encoding="utf-8")[:200])
        self.wrong("unknown ending", *words, "-o", self.folder / "x.foo", command="pick")
        self.wrong("with --gpus a folder ends with /", *words, "-o", self.folder / "run", command="pick")
        text = run(*words, "--mem-limit", "72GB", command="pick").stdout
        self.assertIn("(GiB)", text)
        self.assertNotRegex(text.split("\nppsched ")[0], r"e\+")

    def test_nothing_is_passed_over_in_silence(self):
        words = ("--model", self.path, "--tp", 2, "--pp", 2, "--seq", 2048)
        for part, *given in (("--dp, --data-parallel-size: these are two names of the same option", "--dp", 4, "--data-parallel-size", 2),
                             ("--vpp: pick chooses the stages", "--vpp", 2), ("--mem-limits: with --model give --mem-limit", "--mem-limits", "3GB"),
                             ("--microbatch-counts: with --model give several --micro-batch", "--microbatch-counts", 4),
                             ("--gpus is -4; it must be 1 to", "--gpus", -4), ("--tp is -2; it must be 1 to", "--tp", -2)):
            self.wrong(part, *words, *given, command="pick")
        self.wrong("--seq is 99999999999; it must be 1 to 1073741824", "--model", self.path, "--seq", 99999999999)
        self.assertIn("scores are not kept", run("--model", self.path, "--recompute", "selective").stderr)
        path = self.folder / "gpt2.json"
        path.write_text(json.dumps({"model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4, "n_positions": 64, "vocab_size": 100}),
                        encoding="utf-8")
        self.wrong("--seq 128 is more than the model's 64 learned positions; give 64 or less", "--model", path, "--seq", 128)
        path.write_text(json.dumps({**FileTest.MEGATRON, "pp": 2, "recompute_granularity": "full"}), encoding="utf-8")
        self.assertIn(f"ignored in {path}: recompute, which pick chooses", run("--model", path, command="pick").stderr)

    def test_models_in_python(self):
        shape = Transformer(2, 64, 4, 100, 256)
        self.assertEqual(Model(shape, Training(), "h100").accelerator, ppsched.find_accelerator("h100"))
        with self.assertRaisesRegex(TypeError, "training must be a ppsched.Training, not 'h100'"):
            Model(shape, "h100")

    def test_wrong_words_of_pick(self):
        self.wrong("--stages: with --model it follows from --pp", "--model", self.path, "-s", 4, command="pick")
        self.wrong("--gpus, --dp: give one of them", "--model", self.path, "--gpus", 8, "--dp", 2, command="pick")
        self.wrong("--tp needs --model", "-s", 4, "-b", 4, "--tp", 2, command="pick")
        self.wrong("--bytes parameter=2: it must be KIND=B", "--model", self.path, "--bytes", "parameter=2", command="pick")


if __name__ == "__main__":
    unittest.main()
