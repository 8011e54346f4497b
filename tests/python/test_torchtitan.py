# SPDX-License-Identifier: Apache-2.0
"""torchtitan's models by name, and its job files in TOML."""
import json
import pathlib
import tempfile
import unittest
from unittest import mock

from in_process import run_command

import ppsched
from ppsched import Model, read_model
from ppsched.readers import torchtitan
from ppsched.readers.torchtitan_models import MODELS

JOB = """
[job]
description = "any"
[model]
name = "llama3"
flavor = "debugmodel"
[training]
local_batch_size = 8
seq_len = 4096
steps = 10
[parallelism]
pipeline_parallel_degree = 3
"""
OF_JOB = {"tp": 1, "pp": 3, "cp": 1, "ep": 1, "seq": 4096, "sequence_parallel": False, "zero": 2, "micro_batch": 1, "num_microbatches": 8}


class NameTest(unittest.TestCase):
    def job(self, flavour):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, "job.toml")
        path.write_text(JOB.replace("llama3", "llama4").replace("debugmodel", flavour), encoding="utf-8")
        return path

    def refused(self, name, *parts):
        with self.assertRaises(ppsched.Error) as caught:
            read_model(name)
        for part in (name, *parts):
            self.assertIn(part, str(caught.exception))

    def test_sizes(self):
        """Of three models, as they were published."""
        for name, total, layers in (("llama3/8B", 8030261248, 32), ("qwen3/30B-A3B", 30532122624, 48), ("deepseek_v3/671B", 671026404352, 61)):
            found = read_model(f"torchtitan:{name}")
            self.assertEqual((Model(found.description).parameters.total, found.description.layers, found.options), (total, layers, {}))

    def test_all_flavours_are_read(self):
        for family, flavours in MODELS.items():
            for flavour in flavours:
                self.assertEqual(read_model(f"torchtitan:{family}/{flavour}").warnings, [], flavour)

    def test_flavours_of_older_releases(self):
        self.assertEqual(read_model("torchtitan:llama3/8B_flex").description, read_model("torchtitan:llama3/8B").description)
        self.assertEqual(read_model("torchtitan:llama3_ft/debugmodel").description, read_model("torchtitan:llama3/debugmodel").description)

    def test_llama_4(self):
        """Of the last release that has it: weights counted by hand, and which tokens a layer attends to."""
        hidden, width, rows = 5120, 8192, 202048
        attention, expert, dense = 2 * hidden * (hidden + 8 * 128), 3 * hidden * width, 3 * hidden * 2 * width
        for name, experts, sparse in (("17bx16e", 16, 48), ("17bx128e", 128, 24)):
            found = read_model(f"torchtitan:llama4/{name}").description
            total = 2 * rows * hidden + hidden + 48 * (attention + 2 * hidden) + sparse * ((experts + 1) * expert + experts * hidden) + (48 - sparse) * dense
            self.assertEqual(Model(found).parameters.total, total)
            chunks = [[block.get("chunk", 0) for block in found.values()["kinds"][kind] if block["kind"] == "attention"] for kind in found.layer_kinds]
            self.assertEqual(chunks, [[0]] * 48)
            found = read_model(f"torchtitan:llama4/{name}_irope").description
            chunks = [block.get("chunk", 0) for kind in found.layer_kinds for block in found.values()["kinds"][kind] if block["kind"] == "attention"]
            self.assertEqual((Model(found).parameters.total, chunks), (total, [0, 8192, 8192, 8192] * 12))
        self.assertEqual(read_model(self.job("17bx16e")).assumed[0], "sizes as torchtitan 0.2.2 has them")

    def test_refused(self):
        self.refused("torchtitan:llama3", "give a flavour; flavours are debugmodel, 1B, 3B, 8B, 70B, 405B")
        self.refused("torchtitan:llama3/8b", "did you mean 8B?")
        self.refused("torchtitan:llama3/9B", "llama3 has no flavour '9B'; flavours are debugmodel")
        self.refused("torchtitan:lama3/8B", "did you mean llama3?")
        self.refused("torchtitan:llama2/7B", "no longer has llama2; give Hugging Face's config.json")
        self.refused("torchtitan:flux/flux-dev", "flux is not a language model")
        self.refused("torchtitan:", "families are llama3, deepseek_v3")

    def test_command(self):
        told = run_command(["model", "--model", "torchtitan:llama3/1B", "--json"])
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertIn('"total": 1235814400', told.stdout)
        told = run_command(["model", "--model", "torchtitan:llama3/2B", "--describe"])
        self.assertEqual((told.returncode, told.stdout), (1, ""))
        self.assertIn("no flavour '2B'", told.stderr)


class JobTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, text):
        path = self.folder / "job.toml"
        path.write_text(text, encoding="utf-8")
        return str(path)

    def refused(self, part, text):
        path = self.file(text)
        with self.assertRaises(ppsched.Error) as caught:
            read_model(path)
        self.assertIn(part, str(caught.exception))
        self.assertIn(path, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_a_job(self):
        found = read_model(self.file(JOB))
        self.assertEqual((found.options, found.not_taken, found.description.layers), (OF_JOB, [], 6))
        self.assertEqual(found.assumed, ["sizes as torchtitan 0.3.0 has them", "no recomputation (torchtitan's own is selective)"])

    def test_what_options_follow(self):
        for more, options in (
                ("data_parallel_shard_degree = 4", {"dp": 4}), ("data_parallel_shard_degree = 1\ndata_parallel_replicate_degree = 2", {"dp": 2, "zero": 0}),
                ('fsdp_reshard_after_forward = "always"', {"zero": 3}), ("tensor_parallel_degree = 2", {"tp": 2, "sequence_parallel": True}),
                ("expert_parallel_degree = 2\nexpert_tensor_parallel_degree = 1", {"ep": 2, "etp": 1}), ("context_parallel_degree = 2", {"cp": 2}),
                ("pipeline_parallel_microbatch_size = 4", {"micro_batch": 4, "num_microbatches": 2}),
                ('[activation_checkpoint]\nmode = "full"', {"recompute": "full"}),
                ('[activation_checkpoint]\nmode = "none"', {})):
            self.assertEqual(read_model(self.file(JOB + more)).options, {**OF_JOB, **options}, more)
        alone = read_model(self.file(JOB.replace("degree = 3", "degree = 1").replace("local_batch_size = 8", "local_batch_size = 2\nglobal_batch_size = 16")))
        self.assertEqual((alone.options["micro_batch"], alone.options["global_batch"], alone.options["zero"]), (2, 16, 3))
        whole = read_model(self.file(JOB.replace("seq_len", 'mixed_precision_param = "float32"\nseq_len')))
        self.assertEqual(whole.options["sizes"], ["weight=4", "gradient=4", "optimizer=8", "activation=4"])

    def test_what_is_not_taken(self):
        for more, names in (
                ('[activation_checkpoint]\nmode = "selective"\nselective_ac_option = "2"', ["activation_checkpoint.mode selective 2 (nothing is recomputed here)"]),
                ("enable_async_tensor_parallel = true", ["parallelism.enable_async_tensor_parallel"]), ('[optimizer]\nname = "Muon"', ["optimizer.name Muon"]),
                ("data_parallel_replicate_degree = 2", ["data_parallel_replicate_degree (all replicas shard here)"]), ("[other]\na = 1", ["[other]"])):
            self.assertEqual(read_model(self.file(JOB + more)).not_taken, names, more)
        several = JOB.replace("seq_len", "global_batch_size = 64\nseq_len").replace("flavor", 'converters = ["float8"]\nflavor')
        self.assertEqual(read_model(self.file(several)).not_taken, [
            "training.global_batch_size (the pipeline ends with each local batch; one is counted)"])
        self.assertEqual(read_model(self.file(several.replace("global_batch_size = 64", "global_batch_size = 32") + "data_parallel_shard_degree = 4")).not_taken,
                         [])

    def test_converters_of_few_bits(self):
        experts = JOB.replace("llama3", "qwen3").replace("debugmodel", "30B-A3B")
        for job, names, precision, left in (
                (JOB, ["float8"], "fp8", []), (JOB, ["quantize.linear.float8"], "fp8", []), (JOB, ["quantize.linear.mx"], "mxfp8", []), (JOB, ["mx"], "mxfp8", []),
                (JOB, ["strange"], None, ["strange"]), (JOB, ["float8", "mx"], None, ["float8", "mx"]), (experts, ["quantize.linear.float8"], None, ["quantize.linear.float8"]),
                (experts, ["quantize.linear.float8", "quantize.grouped_mm.float8"], "fp8", []), (experts, ["quantize.grouped_mm.float8"], None, ["quantize.grouped_mm.float8"])):
            found = read_model(self.file(job.replace("flavor", f"converters = {json.dumps(names)}\nflavor")))
            self.assertEqual((found.options.get("precision"), found.not_taken), (precision, [f"model.converters {name}" for name in left]), (job, names))
        for wrong in ('[["a"]]', "5", "true", '[{a = 1}]', '"float8"'):
            with self.assertRaisesRegex(ppsched.Error, "model.converters is .*; it must be a list of names"):
                read_model(self.file(JOB.replace("flavor", f"converters = {wrong}\nflavor")))

    def test_releases_before(self):
        old = '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nbatch_size = 2\ntensor_parallel_degree = 8\n[experimental]\npipeline_parallel_degree = 2\n'
        found = read_model(self.file(old))
        self.assertEqual((found.options["tp"], found.options["pp"], found.options["num_microbatches"]), (8, 2, 2))

    def test_a_global_batch_of_the_command_goes_over_the_file(self):
        told = run_command(["model", "--model", self.file(JOB), "--global-batch", "32"])
        self.assertIn("32 microbatches", told.stdout, told.stderr)
        self.assertIn("8 microbatches", run_command(["model", "--model", self.file(JOB)]).stdout)

    def test_refused(self):
        self.refused("[parallelism] has 'pipeline_paralel_degree', which is not known, and may change the answer; did you mean pipeline_parallel_degree?",
                     JOB + "pipeline_paralel_degree = 2")
        self.refused("[model] has 'layers'", JOB.replace("flavor", "layers = 3\nflavor"))
        self.refused("pipeline_parallel_degree must be an integer, not 'four'", JOB.replace("degree = 3", "degree = 'four'"))
        self.refused("data_parallel_shard_degree is 0", JOB + "data_parallel_shard_degree = 0")
        self.refused("local_batch_size 8 is no multiple of pipeline_parallel_microbatch_size 3", JOB + "pipeline_parallel_microbatch_size = 3")
        self.refused("mode is 'some'", JOB + "[activation_checkpoint]\nmode = 'some'")
        self.refused("fsdp_reshard_after_forward is 'some'", JOB + "fsdp_reshard_after_forward = 'some'")
        self.refused("has no family None", "[training]\nsteps = 1")
        self.refused("training must be a section", "training = 3\n[model]\nname = 'llama3'\nflavor = '8B'")
        self.refused("flux is not a language model", JOB.replace("llama3", "flux"))
        self.refused("its model is Hugging Face's 'a/b'; give its config.json",
                     "[model]\nname = 'transformers_modeling_backend'\nflavor = 'full'\n[hf_transformers]\nmodel = 'a/b'")
        for broken in ("[", "a = ", "a = 1\na = 2", "a = " + "[" * 10000):
            self.refused("broken TOML", broken)

    def test_without_a_reader_of_toml(self):
        with mock.patch.object(torchtitan.importlib, "import_module", side_effect=ImportError):
            self.refused("Python 3.11 or the package tomli is needed", JOB)


if __name__ == "__main__":
    unittest.main()
