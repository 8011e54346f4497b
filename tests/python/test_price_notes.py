# SPDX-License-Identifier: Apache-2.0
"""ppsched price: options that cannot have an effect, options that measured runs do not take, and whose error an answer names."""
import json
import pathlib
import unittest

from folder_case import RUN, FolderCase
from in_process import run_command
from test_price import EXPERTS, LATENT, LAYOUT, LLAMA

import ppsched
from ppsched.readers.known_models import known_model

EXPERT_LAYOUT = ("--tp", 2, "--pp", 4, "--dp", 2, "--ep", 2, "--seq", 4096, "--global-batch", 32)


class NotesTest(FolderCase):
    def setUp(self):
        super().setUp()
        self.llama, self.experts, self.latent = (self.write(f"{name}.json", json.dumps(fields))
                                                 for name, fields in (("llama", LLAMA), ("experts", EXPERTS), ("latent", LATENT)))


class NoEffectTest(NotesTest):
    def test_modules_that_no_layer_has(self):
        for model, module in ((self.llama, "moe"), (self.llama, "moe_act"), (self.llama, "mla_up_proj"), (self.experts, "mlp"), (self.experts, "mla_up_proj")):
            for kinds in (module, f"core_attn,{module}"):
                line = self.refused("price", "--model", model, *LAYOUT, "--recompute", f"modules={kinds}")
                self.assertIn(f"--recompute modules={kinds}: no layer of the model has {module}; leave {module} out", line)
        for model, layout, modules in ((self.llama, LAYOUT, "core_attn,layernorm,mlp"), (self.experts, EXPERT_LAYOUT, "core_attn,layernorm,moe,moe_act"),
                                       (self.latent, ("--pp", 1, "--global-batch", 1), "core_attn,layernorm,mlp,moe,moe_act,mla_up_proj")):
            for module in modules.split(","):
                self.answer("price", "--model", model, *layout, "--recompute", f"modules={module}")

    def test_overlaps_of_nothing(self):
        for words, line in ((("--zero", 0, "--overlap", "param"), "--overlap param has no effect: with --zero 0 each replica has all weights; leave param out"),
                            (("--frozen-weights", "--overlap", "grad"), "--overlap grad has no effect: no weight has a gradient with --frozen-weights; leave grad out")):
            self.assertIn(line, self.refused("price", "--model", self.llama, *LAYOUT, *words))

    def test_overlaps_have_an_effect_on_each_device(self):
        for device in ppsched.accelerators():
            plain, overlapped = (self.answer("price", "--model", self.llama, *LAYOUT, "--device", device.name, *more)["step_time"]
                                 for more in ((), ("--overlap", "tp")))
            self.assertLess(overlapped, plain, device.name)
        half = self.write("half.json", json.dumps({"like": "h100", "hidden_share": 0.5}))
        steps = [self.answer("price", "--model", self.llama, *LAYOUT, "--device", device, "--overlap", "tp")["step_time"] for device in ("h100", half)]
        self.assertLess(*steps)

    def test_switches(self):
        for words, line in ((("--model", self.llama, *LAYOUT, "--one-copy-a-node"), "--one-copy-a-node has no effect: the model has no experts"),
                            (("--model", self.llama, *LAYOUT, "--etp", 2), "--etp has no effect: the model has no experts"),
                            (("--model", self.llama, "--pp", 4, "--sequence-parallel"), "--sequence-parallel has no effect: the layout has no --tp above 1"),
                            (("--model", self.llama, *LAYOUT, "--cuda-graph", "--device", "mi300x"), "--cuda-graph has no effect: mi300x has no host_time"),
                            (("--model", self.llama, "--pp", 4, "--rank-order", "tp-cp-ep-pp-dp"), "--rank-order has no effect: the layout has no --dp above 1"),
                            (("--model", self.llama, "--account-for-loss"), "--account-for-loss has no effect: there is only one stage"),
                            (("--model", self.experts, "--vpp", 2, "--pp", 2, "--pair-windows"), "--pair-windows ep has no effect: the layout has no --ep above 1")):
            done = run_command(("price", *words))
            self.assertEqual((done.returncode, [text for text in done.stderr.splitlines() if "warning" not in text]), (0, [f"ppsched price: note: {line}"]))
            self.assertNotIn("note", run_command(("price", *words, "--json")).stderr)
        done = run_command(("price", "--model", self.experts, *EXPERT_LAYOUT, "--one-copy-a-node", "--etp", 1, "--sequence-parallel", "--cuda-graph",
                            "--account-for-loss", "--split", 2, 2, 2, 2))
        self.assertIn("leave --account-for-loss out", done.stderr)
        self.assertEqual(run_command(("price", "--model", self.experts, *EXPERT_LAYOUT, "--one-copy-a-node", "--etp", 1, "--sequence-parallel",
                                      "--cuda-graph")).stderr, "")


class RunsOptionsTest(NotesTest):
    def test_options_of_a_layout(self):
        """All but a few that say what of all rows."""
        path = self.runs(RUN)
        for words, name in ((("--tp", 2), "tp"), (("--pp", 2), "pp"), (("--dp", 2), "dp"), (("--cp", 2), "cp"), (("--ep", 2), "ep"), (("--etp", 2), "etp"),
                            (("--vpp", 2), "vpp"), (("--seq", 4096), "seq"), (("--micro-batch", 2), "micro-batch"), (("--global-batch", 8), "global-batch"),
                            (("--zero", 1), "zero"), (("--use-distributed-optimizer",), "use-distributed-optimizer"), (("--bytes", "gradient=2"), "bytes"),
                            (("--sequence-parallel",), "sequence-parallel"), (("--no-sequence-parallel",), "sequence-parallel"), (("--keep-scores",), "keep-scores"),
                            (("--expert-load", 2), "expert-load"), (("--lora-rank", 4), "lora-rank"), (("--step-time", "2s"), "step-time"),
                            (("--tokens-per-second", 100), "tokens-per-second"), (("--layer-times", "decoder.forward=6ms"), "layer-times"),
                            (("--layer-table", "table.csv"), "layer-table"), (("--recompute", "full"), "recompute"), (("--split", 8, 8, 8, 8), "split"),
                            (("--overlap", "grad"), "overlap"), (("--precision", "fp8"), "precision"), (("-c", "file.json"), "config"), (("--memory-margin", "2GiB"), "memory-margin"),
                            (("--pair-windows",), "pair-windows"), (("--strategy", "1f1b"), "strategy"), (("--rank-order", "tp-cp-ep-pp-dp"), "rank-order")):
            line = self.refused("price", "--runs", path, *words)
            self.assertEqual(line, f"ppsched price: --runs has the settings of each row; leave --{name} out\n")

    def test_open_settings_are_told(self):
        told = {**RUN, "strategy": "1f1b", "split": "even", "gradient_bytes": 4, "recompute": "none"}
        open_row = {**told, "split": "", "mbs": 2}
        for rows, words in (((told, open_row), "1 of 2 runs leaves settings open (split); its defaults in docs/price.md are used, and it does not count in the table of errors"),
                            ((open_row, {**open_row, "mbs": 1, "zero": ""}), "2 of 2 runs leave settings open (split, zero); their defaults in docs/price.md are used")):
            done = run_command(("price", "--runs", self.runs(*rows)))
            self.assertEqual(done.stderr, f"ppsched price: note: {self.folder / 'runs.csv'}: {words}\n")
            self.assertEqual(self.answer("price", "--runs", self.runs(*rows))["runs_with_open_settings"], len([row for row in rows if row is not told]))
        done = run_command(("price", "--runs", self.runs(RUN)))
        self.assertEqual(done.stderr, f"ppsched price: note: {self.folder / 'runs.csv'}: it has no columns recompute, strategy, split, gradient_bytes; their defaults in "
                         "docs/price.md are used\n")
        self.assertEqual(run_command(("price", "--runs", self.runs(told))).stderr, "")
        done = run_command(("calibrate", self.runs(told, open_row), "-o", self.folder / "out.json"))
        self.assertIn("note: " + str(self.folder / "runs.csv") + ": 1 of 2 runs leaves settings open (split); its defaults in docs/price.md are used\n", done.stderr)

    def test_a_device_of_other_rows(self):
        path = self.runs({**RUN, "gpu": "h200"})
        like = self.write("like.json", json.dumps({"like": "h100", "matrix_share": 0.5}))
        for device in ("h100", like):
            self.assertIn(f"runs.csv, line 2: gpu is h200, and --device is {device}; give runs of one device",
                          self.refused("calibrate", path, "--device", device))
        other = self.write("other.json", json.dumps({"like": "h200"}))
        for words in ((path, "--device", "H200"), (path, "--device", other), (self.runs({**RUN, "gpu": ""}), "--device", other)):
            self.assertEqual(run_command(("calibrate", *words)).returncode, 0)
        for names, status in ((("H100-SXM5-80GB",) * 2, 0), (("a cluster", "another"), 1)):
            done = run_command(("calibrate", self.runs(*({**RUN, "gpu": name} for name in names)), "--device", "h100"))
            self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn("runs of a cluster and of another (", done.stderr)

    def test_models_by_their_names(self):
        """Each is what its config.json says; other sizes in a row go over the name."""
        configs = pathlib.Path(__file__).resolve().parents[1] / "published" / "configs"
        for name, file in (("deepseek-v3", "deepseek-v3"), ("deepseek-v3+mtp", "deepseek-v3-mtp"), ("kimi-k2", "kimi-k2"), ("gpt-oss-120b", "gpt-oss-120b"),
                           ("Nemotron_3_Nano", "nemotron-3-nano-30b-a3b"), ("Nemotron_3_Super", "nemotron-3-super-120b-a12b"),
                           ("qwen3-235b-a22b", "qwen3-235b-a22b"), ("qwen3-30b-a3b", "qwen3-30b-a3b")):
            wanted = ppsched.Description(json.loads((configs / f"{file}.json").read_text(encoding="utf-8")))
            self.assertEqual(ppsched.Description(known_model(name)).json(), wanted.json(), name)
        for name, total, active in (("DeepSeekV4 Flash", 284332240471, 13799632471), ("Nemotron_3_Ultra", 549308993536, 56058843136),  # 550B-A55B
                                    ("gpt-oss-20b", 20914757184, 4187440704), ("Qwen3_Next_80B_A3B", 79674391296, 3874929408),
                                    ("qwen2.5-14b", 14770033664, 14770033664)):
            counted = ppsched.Model(ppsched.Description(json.dumps(known_model(name)))).parameters
            self.assertEqual((counted.total, counted.active), (total, active), name)
        row = {"gpu": "h100", "seq": 4096, "mbs": 1, "gbs": 64, "tp": 2, "ep": 8, "dp": 8, "pp": 1, "measured_step_s": 1, "model": "qwen3-30b-a3b"}
        config = str(configs / "qwen3-30b-a3b.json")
        steps = [run["step_time"] for run in self.answer("price", "--runs", self.runs(row, {**row, "config": config}, {**row, "params": 1},
                                                                                    {**row, "layers": 48, "hidden": 2048}))["runs"]]
        self.assertEqual(len(set(steps)), 1)
        sizes = {"layers": 48, "hidden": 2048, "heads": 32, "vocab": 151936, "kv_heads": 4, "ffn": 768, "experts": 128, "topk": 8}
        told = {**row, **sizes}
        rows = [told, {**told, "ffn": 6144}, *({**told, name: sizes[name] // 2} for name in sizes)]
        same, ffn, *others = [run["step_time"] for run in self.answer("price", "--runs", self.runs(*rows))["runs"]]
        self.assertEqual({same, ffn}, set(steps))
        self.assertEqual((len(set(others)), set(others) & set(steps)), (len(sizes), set()))
        other = {**row, "layers": 24, "hidden": 2048, "heads": 16, "vocab": 32000}
        self.assertNotEqual(self.answer("price", "--runs", self.runs({**other, "ep": 1}))["runs"][0]["step_time"], steps[0])

    def test_unknown_settings(self):
        told = {**RUN, "recompute": ""}
        steps = [run["step_time"] for run in self.answer("price", "--runs", self.runs(told, {**told, "recompute": "not told"}))["runs"]]
        self.assertEqual(steps[0], steps[1])

    def test_experts_that_are_not_divided(self):
        """Where as many devices as tp cannot share each expert, one has it."""
        row = {"gpu": "h100", "seq": 4096, "mbs": 1, "gbs": 32, "tp": 2, "ep": 8, "dp": 4, "pp": 1, "measured_step_s": 1, "config": "experts.json"}
        steps = [run["step_time"] for run in self.answer("price", "--runs", self.runs(row, {**row, "etp": 1}))["runs"]]
        self.assertEqual(steps[0], steps[1])


class ErrorTest(NotesTest):
    def error(self, device, *words):
        return self.answer("price", "--model", self.llama, *LAYOUT, "--device", device, *words)["error"]

    def test_a_changed_device_has_none(self):
        known = self.error("h100")
        self.assertIsNotNone(known["median"])
        self.assertEqual(self.error(self.write("same.json", json.dumps({"like": "h100"}))), known)
        for fields in ({"matrix_share": 0.5}, {"memory_bandwidth": "3TB/s"}, {"inside": {"bandwidth": "200GB/s"}}, {"memory_efficiency": 0.9},
                       {"scale_slowdown": 0.02}, {"scale_slowdown": 0}):
            changed = self.write("changed.json", json.dumps({"like": "h100", **fields}))
            self.assertEqual(self.error(changed), {"of": "dense models on h100, changed, in bf16: none was measured with known settings", "median": None, "p90": None})
            self.assertIn("none was measured", run_command(("price", "--model", self.llama, *LAYOUT, "--device", changed)).stdout)
            self.assertIn("none was measured", run_command(("model", "--model", self.llama, "--device", changed)).stdout)

    def test_a_calibrated_device_has_its_own(self):
        rows = [{**RUN, "id": number, "mbs": 1 + number % 2, "seq": 8192 // (1 + number), "measured_step_s": seconds}
                for number, seconds in enumerate((3, 2, 1.1, 0.9))]
        eight = {**rows[0], "precision": "fp8", "measured_step_s": 2}
        file = str(self.folder / "device.json")
        for runs, layouts in (((*rows, eight), (4, 1)), (rows, (4, 0))):
            done = run_command(("calibrate", self.runs(*runs), "-o", file))
            self.assertEqual(done.returncode, 0, done.stderr)
            given = json.loads(pathlib.Path(file).read_text(encoding="utf-8"))
            self.assertEqual([(error["models"], error["precision"], error["layouts"]) for error in given["errors"]],
                             [("dense", "bf16", 4), ("dense", "fp8", 1)][:1 + bool(layouts[1])])
            found = self.error(file)
            self.assertEqual(found, {"of": "the 4 calibration runs of dense models on h100 in bf16, each left out of the fit", "median": given["errors"][0]["median"],
                                     "p90": given["errors"][0]["p90"]})
            self.assertGreater(found["p90"], 0)
        self.assertIn("none was measured", self.error(file, "--precision", "fp8")["of"])
        self.assertIn("none was measured", self.answer("price", "--model", self.experts, *EXPERT_LAYOUT, "--device", file)["error"]["of"])
        for fields in ({"matrix_share": 0.4}, {"memory": "90GiB"}, {"scale_slowdown": 0.03}, {"scale_slowdown": 0}):
            changed = self.write("changed.json", json.dumps({**given, **fields}))
            self.assertEqual(self.error(changed)["median"], None)

    def test_errors_of_a_device_file(self):
        for errors in ({}, [1], [{"models": "dense"}], [{"models": "dense", "precision": "bf16", "layouts": 1, "median": "x", "p90": 1}]):
            line = self.refused("price", "--model", self.llama, *LAYOUT, "--device", self.write("bad.json", json.dumps({"like": "h100", "errors": errors})))
            self.assertIn("errors must be a list that ppsched calibrate wrote; leave it out", line)

    def test_a_plain_device(self):
        device = ppsched.find_accelerator("h100")
        self.assertEqual(device.errors, ())


if __name__ == "__main__":
    unittest.main(verbosity=2)
