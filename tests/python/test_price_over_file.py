# SPDX-License-Identifier: Apache-2.0
"""ppsched price with a file of Megatron-LM's arguments: an option goes over each of its settings, and a line says so."""
import json
import unittest

from folder_case import FolderCase
from in_process import run_command
from test_price import ARGUMENTS

EXPERTS = {"num_experts": 8, "moe_router_topk": 2, "moe_ffn_hidden_size": 2048, "expert_model_parallel_size": 2, "expert_tensor_parallel_size": 1}
LAYOUT = "Et*5|t*4|t*4|t*4|t*4|t*4|t*4|t*3L"


class OverFileTest(FolderCase):
    def file(self, fields, name="arguments.json"):
        return self.write(name, json.dumps(fields))

    def script(self, fields):
        words = [f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}") for name, value in fields.items() if name != "world_size"]
        return self.write("train.sh", "torchrun pretrain_gpt.py " + " ".join(words) + "\n")

    def lines(self, *words):
        done = run_command(("price", *words))
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line for line in done.stderr.splitlines() if "warning" not in line], done.stdout

    def step(self, *words):
        done = run_command(("price", *words, "--json"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("takes precedence", done.stderr)
        return json.loads(done.stdout)

    def over(self, path, options, line, fields_of_option, flag="-c"):
        """One line, and the answer of a file that says what the option says."""
        lines, _ = self.lines(flag, path, *options)
        self.assertEqual(lines, [f"ppsched price: {line}"], options)
        self.assertEqual(self.step(flag, path, *options), self.step("-c", self.file(fields_of_option, "other.json")), options)

    def test_numbers(self):
        for option, value, has, fields in (
                ("--tp", 4, 2, {"tensor_model_parallel_size": 4, "world_size": 32}), ("--pp", 2, 4, {"pipeline_model_parallel_size": 2}),
                ("--vpp", 2, 4, {"virtual_pipeline_model_parallel_size": 2}), ("--cp", 2, 1, {"context_parallel_size": 2}),
                ("--ep", 1, 2, {"expert_model_parallel_size": 1}), ("--etp", 2, 1, {"expert_tensor_parallel_size": 2}),
                ("--seq", 4096, 8192, {"seq_length": 4096}), ("--micro-batch", 2, 1, {"micro_batch_size": 2}),
                ("--global-batch", 64, 32, {"global_batch_size": 64}), ("--dp", 4, 2, {"data_parallel_size": 4})):
            given = {**ARGUMENTS, **EXPERTS, "context_parallel_size": 1, "virtual_pipeline_model_parallel_size": 4, "data_parallel_size": 2}
            given.pop("world_size")
            fields = {**given, **fields}
            fields.pop("world_size", None)
            self.over(self.file(given), (option, value), f"{option} takes precedence over the file, which has {has}", fields)
            self.over(self.script(given), (option, value), f"{option} takes precedence over the file, which has {has}", fields, "--model")

    def test_the_number_of_devices(self):
        path, fields = self.file(ARGUMENTS), {**ARGUMENTS, "world_size": 32}
        self.over(path, ("--dp", 4), "--dp takes precedence over the file, which has world_size 16", fields)
        microbatches = {name: value for name, value in ARGUMENTS.items() if name != "global_batch_size"}
        self.over(self.file({**microbatches, "num_microbatches": 16}), ("--global-batch", 16),
                  "--global-batch takes precedence over the file, which has num_microbatches 16", {**ARGUMENTS, "global_batch_size": 16})

    def test_sharding(self):
        fields = {name: value for name, value in ARGUMENTS.items() if name != "use_distributed_optimizer"}
        for has, of_file, option, of_option in (("1", {"use_distributed_optimizer": True}, ("--zero", 0), {}), ("2", {"zero": 2}, ("--zero", 3), {"zero": 3}),
                                                ("zero 2", {"zero": 2}, ("--use-distributed-optimizer",), {"zero": 1})):
            self.over(self.file({**fields, **of_file}), option, f"{option[0]} takes precedence over the file, which has {has}", {**fields, **of_option})

    def test_what_of_a_step(self):
        for option, of_file, has, of_option in (
                (("--precision", "fp8"), {"bf16": True}, "bf16", {"fp8": "hybrid"}),
                (("--precision", "bf16"), {"fp8": "hybrid"}, "fp8", {}),
                (("--recompute", "none"), {"recompute_granularity": "full"}, "full", {}),
                (("--recompute", "full"), {"recompute_granularity": "selective"}, "selective", {"recompute_granularity": "full"}),
                (("--recompute", "block=2"), {"recompute_granularity": "full", "recompute_method": "uniform", "recompute_num_layers": 1}, "uniform=1",
                 {"recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": 2}),
                (("--overlap", "grad"), {"overlap_grad_reduce": True, "overlap_param_gather": True}, "grad param", {"overlap_grad_reduce": True}),
                (("--overlap", "tp"), {"tp_comm_overlap": False}, "none", {"tp_comm_overlap": True}),
                (("--bytes", "gradient=4"), {"grad_reduce_in_bf16": True}, "gradient=2", {}),
                (("--no-sequence-parallel",), {}, "yes", {"sequence_parallel": False}),
                (("--offload-layers", 2), {"cpu_offloading_num_layers": 3}, "3", {"cpu_offloading_num_layers": 2}),
                (("--rank-order", "tp-cp-ep-dp-pp"), {"use_tp_pp_dp_mapping": True}, "tp-cp-ep-pp-dp", {}),
                (("--rank-order", "tp-cp-ep-pp-dp"), {"use_tp_pp_dp_mapping": False}, "tp-cp-ep-dp-pp", {"use_tp_pp_dp_mapping": True}),
                (("--device", "h200"), {"device": "a100"}, "a100", {"device": "h200"}),
                (("--cuda-graph",), {"enable_cuda_graph": False}, "no", {"enable_cuda_graph": True})):
            self.over(self.file({**ARGUMENTS, **of_file}), option, f"{option[0].replace('no-seq', 'seq')} takes precedence over the file, which has {has}",
                      {**ARGUMENTS, **of_option})

    def test_how_layers_are_split(self):
        told = {"pipeline_model_parallel_layout": LAYOUT}
        for options, of_file, of_option in (
                (("--split", *[4] * 8), told, {"virtual_pipeline_model_parallel_size": 2}),
                (("--layout", "Et*4|(t*4|)*6,t*4L"), told, {"virtual_pipeline_model_parallel_size": 2})):
            self.over(self.file({**ARGUMENTS, **of_file}), options, f"{options[0]} takes precedence over the file, which has {'layout ' * (options[0] == '--split')}{LAYOUT}",
                      {**ARGUMENTS, **of_option})
        self.over(self.file({**ARGUMENTS, "decoder_first_pipeline_num_layers": 2}), ("--split", 8, 8, 8, 8),
                  "--split takes precedence over the file, which has first-decoders 2", ARGUMENTS)
        counted = {**ARGUMENTS, "num_layers": 30, "virtual_pipeline_model_parallel_size": None}
        self.over(self.file({**counted, "pipeline_model_parallel_layout": "Et*6|t*8|t*8|t*8L"}), ("--account-for-embedding", "--account-for-loss"),
                  "--account-for-embedding takes precedence over the file, which has layout Et*6|t*8|t*8|t*8L",
                  {**counted, "account_for_embedding_in_pipeline_split": True, "account_for_loss_in_pipeline_split": True})

    def test_a_schedule(self):
        pairs = {**ARGUMENTS, **EXPERTS, "virtual_pipeline_model_parallel_size": 4, "overlap_moe_expert_parallel_comm": True}
        lines, _ = self.lines("-c", self.file(pairs), "--strategy", "interleaved_1f1b")
        self.assertEqual(lines, ["ppsched price: --strategy takes precedence over the file, which has overlapped pairs"])

    def test_the_stages_of_a_layout(self):
        """A layout string says how many stages a device has."""
        path = self.file({**ARGUMENTS, "pipeline_model_parallel_layout": LAYOUT})
        lines, _ = self.lines("-c", path)
        self.assertEqual(lines, [])
        self.assertEqual(self.step("-c", path), self.step("-c", path, "--vpp", 2))
        self.assertEqual(self.step("-c", self.file(ARGUMENTS, "plain.json"), "--layout", LAYOUT), self.step("-c", path))

    def test_what_is_the_same_needs_no_line(self):
        path = self.file({**ARGUMENTS, "fp8": "hybrid", "overlap_grad_reduce": True, "overlap_param_gather": True, "recompute_granularity": "selective"})
        lines, _ = self.lines("-c", path, "--tp", 2, "--pp", 4, "--dp", 2, "--seq", 8192, "--micro-batch", 1, "--global-batch", 32, "--zero", 1,
                              "--precision", "fp8", "--overlap", "param,grad", "--recompute", "selective", "--sequence-parallel", "--device", "h100")
        self.assertEqual(lines, [])

    def test_recomputation_of_a_training_file(self):
        """Beside a model's own file."""
        model = self.file({"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
                           "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False}, "model.json")
        training = {"tensor_model_parallel_size": 2, "micro_batch_size": 1, "global_batch_size": 2, "seq_length": 8192}
        plain, full = (self.step("--model", model, "-c", self.file({**training, **more}, "training.json"))["step_time"]
                       for more in ({}, {"recompute_granularity": "full"}))
        self.assertGreater(full, 1.2 * plain)

    def test_two_splits_are_refused(self):
        path = self.file(ARGUMENTS)
        done = run_command(("price", "-c", path, "--split", 8, 8, 8, 8, "--account-for-loss"))
        self.assertEqual((done.returncode, done.stderr), (1, "ppsched price: --split says the whole split; leave --account-for-loss out\n"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
