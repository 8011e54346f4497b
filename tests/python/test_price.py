# SPDX-License-Identifier: Apache-2.0
"""ppsched price: a told layout, Megatron-LM's files, measured runs, and what is refused."""
import json
import unittest

from folder_case import RUN, FolderCase
from in_process import run_command

import ppsched

LLAMA = {"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
         "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": False}
EXPERTS = {"model_type": "mixtral", "num_hidden_layers": 8, "hidden_size": 1024, "num_attention_heads": 16, "num_key_value_heads": 8,
           "intermediate_size": 3584, "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2}
LATENT = {"model_type": "deepseek_v3", "num_hidden_layers": 3, "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 16,
          "intermediate_size": 8192, "vocab_size": 32000, "q_lora_rank": 1536, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
          "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 1024,
          "n_shared_experts": 1, "first_k_dense_replace": 1, "tie_word_embeddings": False}
ARGUMENTS = {"num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "group_query_attention": True, "num_query_groups": 8,
             "ffn_hidden_size": 14336, "padded_vocab_size": 128256, "swiglu": True, "normalization": "RMSNorm",
             "untie_embeddings_and_output_weights": True, "disable_bias_linear": True, "position_embedding_type": "rope", "seq_length": 8192,
             "max_position_embeddings": 8192, "tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 4, "micro_batch_size": 1,
             "global_batch_size": 32, "world_size": 16, "sequence_parallel": True, "bf16": True, "use_distributed_optimizer": True, "hidden_dropout": 0.0,
             "attention_dropout": 0.0}
LAYOUT = ("--tp", 2, "--pp", 4, "--dp", 2, "--seq", 8192, "--global-batch", 32)


class PriceTest(FolderCase):
    def setUp(self):
        super().setUp()
        self.llama = self.write("llama.json", json.dumps(LLAMA))

    def price(self, *words):
        return self.answer("price", *words)

    def refused(self, *words, lines=1):
        return super().refused("price", *words, lines=lines)


class LayoutTest(PriceTest):
    def test_parts_are_the_step(self):
        for words in ((), ("--overlap", "grad,param"), ("--vpp", 2), ("--precision", "fp8"), ("--recompute", "full"), ("--zero", 3)):
            row = self.price("--model", self.llama, *LAYOUT, *words)
            self.assertAlmostEqual(row["step_time"], row["pipeline_time"] + row["exposed"]["data_parallel"] + row["optimizer_time"])
            self.assertAlmostEqual(row["tokens_per_second_per_gpu"], 32 * 8192 / 16 / row["step_time"])
            self.assertEqual([memory["device"] for memory in row["memory"]], [0, 1, 2, 3])
            for memory in row["memory"]:
                causes = [value for name, value in memory.items() if name not in ("device", "total")]
                self.assertAlmostEqual(sum(causes) / memory["total"], 1)

    def test_as_the_library_has_it(self):
        row = self.price("--model", self.llama, *LAYOUT)
        training = ppsched.Training(8192, 1, 2, data_parallel=2, sharding=1, sequence_parallel=True)
        step = ppsched.price(ppsched.Model(ppsched.Description(LLAMA), training, ppsched.find_accelerator("h100")), 4, 16)
        self.assertEqual((row["step_time"], row["mfu"]), (step.step_time, step.mfu))
        self.assertEqual([memory["total"] for memory in row["memory"]], [memory.total for memory in step.memory])

    def test_many_devices(self):
        """Each doubling of the devices adds a share to the pipeline, in price as in pick."""
        device = self.write("waits.json", json.dumps({"like": "h100", "scale_slowdown": 0.02}))
        alone = self.write("alone.json", json.dumps({"like": "h100", "scale_slowdown": 0}))
        before, after = (self.price("--model", self.llama, *LAYOUT, "--device", name) for name in (alone, device))
        self.assertAlmostEqual(after["pipeline_time"] / before["pipeline_time"], 1.08)  # 16 devices
        self.assertAlmostEqual(after["exposed"]["pipeline"] - before["exposed"]["pipeline"], 0.08 * before["pipeline_time"])
        picked = [self.answer("pick", "--model", self.llama, *LAYOUT, "--strategies", "1f1b", "--device", name)[0] for name in (alone, device)]
        self.assertAlmostEqual(picked[1]["step_time"] / picked[0]["step_time"], 1.08, delta=0.005)
        self.assertIn("scale_slowdown is 2", self.refused("--model", self.llama, *LAYOUT, "--device",
                                                          self.write("bad.json", json.dumps({"like": "h100", "scale_slowdown": 2}))))

    def test_rings_over_a_part_of_a_node(self):
        """Replicas of 2 devices on 4 nodes: without a limit, the sums of gradients use four ports of a node."""
        devices = [self.write(f"ports{ports}.json", json.dumps({"like": "h100", "part_node_ports": ports})) for ports in (0, 1, 2, 4, 8, 0.5)]
        sums = [self.price("--model", self.llama, "--tp", 2, "--dp", 16, "--seq", 8192, "--device", device)["exposed"]["data_parallel"] for device in devices]
        self.assertEqual(sums[3:5], sums[:1] * 2)
        self.assertAlmostEqual(sums[1] / sums[0], 4, delta=0.01)
        self.assertAlmostEqual(sums[2] / sums[0], 2, delta=0.01)
        self.assertAlmostEqual(sums[5] / sums[0], 8, delta=0.02)
        for value, message in ((-1, "part_node_ports is -1; it must be 0 to 1000"), ("2", "it must be a plain number")):
            bad = self.write("bad.json", json.dumps({"like": "h100", "part_node_ports": value}))
            self.assertIn(message, self.refused("--model", self.llama, *LAYOUT, "--device", bad))

    def test_several_runs_of_the_schedule(self):
        """--reduce-every: the same batch in several runs, and one reduction."""
        plain, one = self.price("--model", self.llama, *LAYOUT), self.price("--model", self.llama, *LAYOUT[:-1], 8)
        self.assertEqual(self.price("--model", self.llama, *LAYOUT, "--reduce-every", 1), plain)
        four = self.price("--model", self.llama, *LAYOUT, "--reduce-every", 4)
        self.assertAlmostEqual(four["pipeline_time"], 4 * one["pipeline_time"])
        self.assertEqual((four["exposed"]["data_parallel"], four["optimizer_time"]), (one["exposed"]["data_parallel"], one["optimizer_time"]))
        self.assertAlmostEqual(four["tokens_per_second_per_gpu"], 32 * 8192 / 16 / four["step_time"])
        self.assertEqual(four["memory"], one["memory"])
        training = ppsched.Training(8192, 1, 2, data_parallel=2, sharding=1, sequence_parallel=True)
        model = ppsched.Model(ppsched.Description(LLAMA), training, ppsched.find_accelerator("h100"))
        self.assertEqual(ppsched.price(model, 4, 16, reduce_every=4).step_time, four["step_time"])
        self.assertEqual(self.price("-c", self.write("runs.json", json.dumps({"model": self.llama, "tp": 2, "pp": 4, "dp": 2, "seq": 8192, "global_batch": 32,
                                                                            "reduce_every": 4}))), four)
        for value, message in ((0, "--reduce-every 0: it must be 1 or more"), (3, "--reduce-every 3: it must divide the 16 microbatches of a step"),
                               (32, "--reduce-every 32: it must divide")):
            self.assertIn(message, self.refused("--model", self.llama, *LAYOUT, "--reduce-every", value))
        for value, message in ((0, "reduce_every is 0; it must be 1 or more"), (3, "reduce_every is 3; it must divide the 16 microbatches of a step")):
            with self.assertRaisesRegex(ppsched.Error, message):
                ppsched.price(model, 4, 16, reduce_every=value)

    def test_each_option_does_what_it_says(self):
        plain = self.price("--model", self.llama, *LAYOUT)
        faster = {"overlap grad": ("--overlap", "grad"), "overlap tp": ("--overlap", "tp"), "fp8": ("--precision", "fp8"), "vpp": ("--vpp", 2),
                  "frozen": ("--frozen-weights",)}
        for name, words in faster.items():
            self.assertLess(self.price("--model", self.llama, *LAYOUT, *words)["step_time"], plain["step_time"], name)
        full = self.price("--model", self.llama, *LAYOUT, "--recompute", "full")
        some = self.price("--model", self.llama, *LAYOUT, "--recompute", "block=2")
        mlp = self.price("--model", self.llama, *LAYOUT, "--recompute", "modules=mlp")
        for between in (some, mlp):
            self.assertTrue(plain["step_time"] < between["step_time"] < full["step_time"])
            self.assertTrue(plain["memory"][0]["activations"] > between["memory"][0]["activations"] > full["memory"][0]["activations"])
        halved = self.price("--model", self.llama, *LAYOUT, "--bytes", "gradient=2")
        self.assertEqual(halved["memory"][0]["gradients"] * 2, plain["memory"][0]["gradients"])
        attention = self.price("--model", self.llama, *LAYOUT, "--precision", "fp8", "--attention-fp8")
        self.assertLess(attention["step_time"], self.price("--model", self.llama, *LAYOUT, "--precision", "fp8")["step_time"])

    def test_told_bytes_go_over_a_precision(self):
        held = [self.price("--model", self.llama, *LAYOUT, *words)["memory"][0]["activations"]
                for words in ((), ("--precision", "fp8"), ("--precision", "fp8", "--bytes", "activation=2"))]
        self.assertLess(held[1], 0.9 * held[0])
        self.assertEqual(held[2], held[0])

    def test_a_search_can_be_watched_and_stopped(self):
        model = ppsched.Model(ppsched.Transformer(16, 512, 8, 8000, ffn_size=2048), ppsched.Training(1024), ppsched.find_accelerator("h100"))
        shares = []
        step = ppsched.price(model, 4, 12, strategy="zb_auto", progress=lambda share, best: shares.append(share))
        self.assertEqual(step, ppsched.price(model, 4, 12, strategy="zb_auto"))
        self.assertTrue(shares and 0 <= min(shares) <= max(shares) <= 1)
        with self.assertRaises(ppsched.Cancelled):
            ppsched.price(model, 4, 12, strategy="zb_auto", progress=lambda share, best: False)
        with self.assertRaises(ZeroDivisionError):
            ppsched.price(model, 4, 12, strategy="zb_auto", progress=lambda share, best: 1 // 0)
        with self.assertRaises(ppsched.Error):
            ppsched.price(model, 4, 12, progress="no")

    def test_memory_that_stays_free(self):
        words = ("price", "--model", self.llama, *LAYOUT)
        done = run_command(words)
        self.assertIn("limit: 79.6 GiB, of which 0.0 GiB stay free (--memory-margin)", done.stdout)
        needed = max(row["total"] for row in self.price(*words[1:])["memory"])
        limit = ppsched.find_accelerator("h100").memory
        for margin, warned in ((limit - needed - 2**20, False), (limit - needed + 2**20, True)):
            done = run_command((*words, "--memory-margin", f"{margin / 2**30:.6f}GiB"))
            self.assertEqual("must stay free" in done.stderr, warned)
        for margin, message in (("90GiB", "h100 has 79.6 GiB in all"), ("2", "memory-margin"), ("-1GiB", "memory-margin")):
            done = run_command((*words, "--memory-margin", margin))
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertIn(message, done.stderr)

    def test_frozen_weights_are_not_updated(self):
        """With replicas too: no gradients to sum, no optimizer, and the pipeline has no W."""
        plain = self.price("--model", self.llama, *LAYOUT, "--strategy", "zb_h1")
        frozen = self.price("--model", self.llama, *LAYOUT, "--strategy", "zb_h1", "--frozen-weights")
        self.assertGreater(min(plain["exposed"]["data_parallel"], plain["optimizer_time"]), 0)
        self.assertEqual((frozen["exposed"]["data_parallel"], frozen["optimizer_time"]), (0, 0))
        self.assertEqual(frozen["step_time"], frozen["pipeline_time"])
        self.assertLess(frozen["pipeline_time"], 0.85 * plain["pipeline_time"])
        tied = self.write("tied.json", json.dumps({**LLAMA, "tie_word_embeddings": True}))
        trained, tied = (self.price("--model", tied, *LAYOUT, *words) for words in ((), ("--frozen-weights",)))
        self.assertGreater(trained["exposed"]["data_parallel"], 0)
        self.assertEqual(tied["exposed"]["data_parallel"], 0)

    def test_frozen_towers_are_not_updated(self):
        tower = {"name": "vision", "hidden_size": 1024, "layers": 8, "tokens": 256, "blocks": [{"kind": "mlp", "width": 4096}]}
        steps = []
        for towers in ([], [tower], [{**tower, "frozen": True}]):
            described = {**ppsched.Description(LLAMA).values(), **({"towers": towers} if towers else {})}
            path = self.write("described.json", json.dumps(described))
            steps.append(self.price("--model", path, "--dp", 4, "--pp", 1, "--tp", 8, "--seq", 2048, "--global-batch", 8))
        none, trained, frozen = steps
        for value in (lambda step: step["exposed"]["data_parallel"], lambda step: step["optimizer_time"]):
            self.assertAlmostEqual(value(frozen), value(none))
            self.assertGreater(value(trained), value(none))
        self.assertGreater(frozen["memory"][0]["weights"], none["memory"][0]["weights"])

    def test_splits(self):
        even = self.price("--model", self.llama, *LAYOUT)
        self.assertEqual(self.price("--model", self.llama, *LAYOUT, "--split", 8, 8, 8, 8)["step_time"], even["step_time"])
        uneven = self.price("--model", self.llama, *LAYOUT, "--split", 9, 8, 8, 7)
        self.assertNotEqual(uneven["step_time"], even["step_time"])
        self.assertEqual(self.price("--model", self.llama, *LAYOUT, "--layout", "Ettttttttt|tttttttt|tttttttt|tttttttL")["step_time"], uneven["step_time"])
        smaller = self.write("smaller.json", json.dumps({**LLAMA, "num_hidden_layers": 30}))
        counted = self.price("--model", smaller, *LAYOUT, "--account-for-embedding", "--account-for-loss")
        self.assertEqual(counted["step_time"], self.price("--model", smaller, *LAYOUT, "--split", 7, 8, 8, 7)["step_time"])

    def test_layers_that_must_be_in_one_stage(self):
        """The first layers of Qwen3-VL, to which the tower adds features, are in the first stage, as in every split that pick makes."""
        tower = {"depth": 4, "hidden_size": 64, "intermediate_size": 128, "num_heads": 4, "in_channels": 3, "patch_size": 16, "spatial_merge_size": 2,
                 "temporal_patch_size": 2, "out_hidden_size": 1024, "num_position_embeddings": 64, "deepstack_visual_indexes": [1, 2, 3]}
        text = {**EXPERTS, "model_type": "qwen3_vl_text", "tie_word_embeddings": False}
        del text["num_local_experts"], text["num_experts_per_tok"]
        path = self.write("vision.json", json.dumps({"model_type": "qwen3_vl", "text_config": text, "vision_config": tower}))
        words = ("--model", path, "--seq", 1024, "--global-batch", 8)
        for wrong in (("--pp", 2, "--split", 2, 6), ("--pp", 2, "--layout", "Ett|ttttttL"), ("--pp", 4)):
            self.assertIn("layer 4 (decoder) in stage 1 must be in the same stage as the layer before it: it uses what that layer or a tower makes; "
                          "give a --split or --layout that keeps them together", self.refused(*words, *wrong))
        for right in (("--pp", 2, "--split", 3, 5), ("--pp", 2), ("--pp", 4, "--split", 3, 2, 2, 1)):
            self.assertGreater(self.price(*words, *right)["step_time"], 0)
        model = run_command(("model", *words, "--pp", 4))
        self.assertIn("warning: no runtime runs the even split with --pp 4: layer 4 (decoder) in stage 1 must be in the same stage", model.stderr)
        self.assertEqual((model.returncode, run_command(("model", *words, "--pp", 2)).stderr), (0, ""))

    def test_the_table(self):
        done = run_command(("price", "--model", self.llama, *LAYOUT))
        self.assertIn("a step on 16 devices", done.stdout)
        self.assertIn("published layouts of dense models on h100 in bf16", done.stdout)
        other = run_command(("price", "--model", self.llama, *LAYOUT, "--device", "h20"))
        self.assertIn("none was measured", other.stdout)
        few = run_command(("price", "--model", self.llama, *LAYOUT, "--device", "gb200"))
        self.assertIn("an estimate: error at most 4.4% on 1 published layout of dense models on gb200 in bf16", few.stdout)

    def test_too_little_memory_is_told(self):
        done = run_command(("price", "--model", self.llama, "--seq", "8192", "--pp", "1", "--global-batch", "1"))
        self.assertIn("warning: device 0 needs", done.stderr)


class MegatronTest(PriceTest):
    def test_a_file_alone(self):
        path = self.write("arguments.json", json.dumps({**ARGUMENTS, "overlap_grad_reduce": True, "fp8": "hybrid"}))
        row = self.price("-c", path)
        wanted = self.price("--model", self.llama, *LAYOUT, "--overlap", "grad", "--precision", "fp8")
        self.assertEqual(row["step_time"], wanted["step_time"])

    def test_a_script_alone(self):
        """Says as much as a file of the same arguments: overlaps, precision, recomputation, copies to the host, the split."""
        sizes = {name: value for name, value in ARGUMENTS.items() if name != "world_size"}
        plain = self.price("-c", self.write("plain.json", json.dumps(sizes)))["step_time"]
        for more in ({"tp_comm_overlap": True}, {"fp8_format": "hybrid"}, {"cpu_offloading_num_layers": 7}, {"recompute_granularity": "selective"},
                     {"recompute_granularity": "full", "recompute_method": "block", "recompute_num_layers": 2},
                     {"num_layers": 30, "account_for_embedding_in_pipeline_split": True, "account_for_loss_in_pipeline_split": True}):
            fields = {**sizes, **more}
            words = [f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}") for name, value in fields.items()]
            script = self.write("train.sh", "torchrun pretrain_gpt.py " + " ".join(words) + "\n")
            wanted = self.price("-c", self.write("file.json", json.dumps(fields)))
            self.assertNotEqual(wanted["step_time"], plain, more)
            self.assertEqual(self.price("--model", script), wanted, more)

    def test_the_order_of_ranks(self):
        model = ppsched.Model(ppsched.read_model(self.llama).description, ppsched.Training(
            sequence_length=8192, tensor_parallel=2, data_parallel=2, sharding=1, sequence_parallel=True), "h100")
        steps = [self.price("--model", self.llama, *LAYOUT, "--zero", 1, *words)["step_time"] for words in (
            (), ("--rank-order", "tp-cp-ep-dp-pp"), ("--rank-order", "tp-cp-ep-pp-dp"))]
        self.assertEqual(steps[1:], [ppsched.price(model, 4, 16, rank_order=order).step_time for order in ("tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp")])
        self.assertEqual(steps[0], steps[1])
        self.assertNotEqual(steps[1], steps[2])
        for is_on, order in ((True, "tp-cp-ep-pp-dp"), (False, "tp-cp-ep-dp-pp")):
            path = self.write("mapping.json", json.dumps({**ARGUMENTS, "use_tp_pp_dp_mapping": is_on}))
            done = run_command(("price", "-c", path, "--json"))
            self.assertEqual(done.stderr, "")  # it is read
            self.assertEqual(json.loads(done.stdout), self.price("-c", self.write("plain.json", json.dumps(ARGUMENTS)), "--rank-order", order))
        done = run_command(("model", "-c", self.write("mapping.json", json.dumps({**ARGUMENTS, "use_tp_pp_dp_mapping": True}))))
        self.assertEqual((done.returncode, done.stderr), (0, ""))  # it is read
        wrong = run_command(("price", "--model", self.llama, *LAYOUT, "--rank-order", "pp-dp"))
        self.assertEqual((wrong.returncode, wrong.stderr.count("\n")), (2, 1))

    def test_switches_without_effect(self):
        path = self.write("arguments.json", json.dumps({**ARGUMENTS, "world_size": 8, "overlap_grad_reduce": True}))
        self.assertEqual(self.price("-c", path)["exposed"]["data_parallel"], 0)
        wrong = self.write("wrong.json", json.dumps({**ARGUMENTS, "fp8": "hybrid", "fp8_recipe": "mxfp3"}))
        self.assertIn("fp8_recipe is 'mxfp3'; known are", self.refused("-c", wrong))

    def test_an_option_goes_over_it(self):
        path = self.write("arguments.json", json.dumps({**ARGUMENTS, "fp8": "hybrid"}))
        done = run_command(("price", "-c", path, "--precision", "bf16"))
        self.assertIn("--precision takes precedence over the file, which has fp8", done.stderr)
        self.assertEqual(self.price("-c", path, "--precision", "bf16")["step_time"], self.price("--model", self.llama, *LAYOUT)["step_time"])

    def test_up_projections_of_latent_attention_are_freed(self):
        """With what they make: queries, keys and values of all heads, and the inputs of the two projections."""
        latent = self.write("latent.json", json.dumps(LATENT))
        words = ("--model", latent, "--seq", 4096, "--global-batch", 1)
        kept, freed = (self.price(*words, *more)["memory"][0]["activations"] for more in ((), ("--recompute", "modules=mla_up_proj")))
        heads = 16 * ((128 + 64) + (128 + 64) + 128)
        self.assertAlmostEqual(kept - freed, 2 * 4096 * 2 * (heads + 1536 + 512))  # of three layers one comes back in its backward

    def test_attention_in_few_bits_keeps_its_output(self):
        words = ("--model", self.llama, "--seq", 8192, "--global-batch", 1)
        fp8, eight = (self.price(*words, "--precision", "fp8", *more)["memory"][0]["activations"] for more in ((), ("--attention-fp8",)))
        self.assertAlmostEqual(fp8 - eight, 32 * 8192 * 4096)
        plain = self.price(*words)["memory"][0]["activations"]
        linear_inputs = 4096 + 4096 + 4096 + 14336
        self.assertAlmostEqual(plain - fp8, 32 * 8192 * (linear_inputs - 2 * 4096), delta=8192 * linear_inputs)

    def test_activations_on_the_host(self):
        """The same by the option, the file and a run; each names what it cannot do."""
        layout = ("--tp", 2, "--pp", 2, "--dp", 2, "--seq", 8192, "--global-batch", 8)
        kept, moved = (self.price("--model", self.llama, *layout, "--offload-layers", *words)["memory"][0] for words in ((1,), (11,)))
        self.assertAlmostEqual((kept["activations"] - moved["activations"]) / (kept["activations"] * 10 / 16), 1, delta=0.15)
        file = {**ARGUMENTS, "pipeline_model_parallel_size": 2, "world_size": 8, "global_batch_size": 8, "cpu_offloading_num_layers": 11}
        path = self.write("arguments.json", json.dumps(file))
        done = run_command(("price", "-c", path, "--json"))
        self.assertNotIn("not taken", done.stderr)
        self.assertEqual(json.loads(done.stdout)["memory"][0], moved)
        weights = self.write("weights.json", json.dumps({**file, "cpu_offloading_activations": False}))
        self.assertGreater(self.price("-c", weights)["memory"][0]["activations"], kept["activations"] * 0.99)
        windows = ("--strategy", "interleaved_1f1b_overlap", "--vpp", 2, "--pair-windows")
        for words, reason in (((*windows, "--offload-layers", 2), "windows of pairs are not priced with activations on the host"),
                              (("--offload-layers", -1), "--offload-layers is -1; it must be 0 or more"),
                              (("--offload-layers", 16), "stage 0 has 16 decoders, and one must stay; at most 15"),
                              (("--offload-layers", 2, "--recompute", "full"), "either recomputed or moved to the host")):
            done = run_command(("price", "--model", self.llama, *layout, *words))
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
            self.assertIn(reason, done.stderr)
        runs = self.write("runs.csv", "gpu,config,tp,pp,dp,seq,mbs,gbs,offload_layers,measured_step_s\n"
                          "h100,llama.json,2,2,2,8192,1,8,11,1\nh100,llama.json,2,2,2,8192,1,8,,1\n")
        rows = self.answer("price", "--runs", runs)
        self.assertEqual(rows["errors"][0]["layouts"], 2)
        self.assertGreaterEqual(rows["runs"][0]["step_time"], rows["runs"][1]["step_time"])

    def test_selective_is_the_core_attention(self):
        """With kept scores it frees these; with FlashAttention it is Megatron-LM's default module."""
        words = ("--model", self.llama, *LAYOUT, "--recompute")
        flash, none = self.price(*words, "selective"), self.price(*words, "none")
        self.assertEqual(flash, self.price(*words, "modules=core_attn"))
        self.assertGreater(flash["step_time"], 1.01 * none["step_time"])
        kept, freed = (self.price(*words, kind, "--keep-scores")["memory"][0]["activations"] for kind in ("none", "selective"))
        self.assertGreater(kept, 1.5 * freed)
        row = {**RunsTest.ROW, "config": "llama.json", "recompute": "selective"}
        path = self.write("runs.csv", ",".join(map(str, row)) + "\n" + ",".join(map(str, row.values())) + "\n")
        self.assertEqual(self.price("--runs", path)["runs"][0]["step_time"], flash["step_time"])

    def test_recomputation_of_modules(self):
        path = self.write("arguments.json", json.dumps({**ARGUMENTS, "recompute_granularity": "selective", "recompute_modules": ["mlp", "layernorm"]}))
        wanted = self.price("--model", self.llama, *LAYOUT, "--recompute", "modules=mlp,layernorm")
        self.assertEqual(self.price("-c", path)["step_time"], wanted["step_time"])


class MarginTest(PriceTest):
    """Memory that must stay free when layouts are picked."""

    def pick(self, *words):
        return self.answer("pick", "--model", self.llama, "--seq", 8192, "--global-batch", 32, "--device", "h100", *words)

    def test_limits(self):
        for layout in (("--tp", 2, "--pp", 4), ("--gpus", 8)):
            plain, free = self.pick(*layout)[0], self.pick(*layout, "--memory-margin", "6GiB")[0]
            self.assertEqual((plain["memory_margin"], free["memory_margin"]), (0, 6 * 2**30))
            self.assertEqual(plain["memory_limit"] - free["memory_limit"], 6 * 2**30)

    def test_told(self):
        for layout in (("--tp", 2, "--pp", 4), ("--gpus", 8)):
            words = ("pick", "--model", self.llama, "--seq", 8192, "--global-batch", 32, *layout)
            self.assertIn("\nlimit: 79.6 GiB, of which 0.0 GiB stay free (--memory-margin)\n", run_command(words).stdout)
            self.assertIn("\nlimit: 79.6 GiB, of which 2.0 GiB stay free (--memory-margin)\n", run_command((*words, "--memory-margin", "2GiB")).stdout)

    def test_refused(self):
        for wanted, words in (("h100 has 79.6 GiB in all", ("--memory-margin", "90GiB")), ("it must be 0, or at least 1 MiB", ("--memory-margin", "2B")),
                              ("give one of them", ("--memory-margin", "2GiB", "--mem-limit", "60GiB"))):
            done = run_command(("pick", "--model", self.llama, "--tp", 2, "--pp", 4, *words))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(wanted, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn("--memory-margin needs --model", run_command(("pick", "--devices", 4, "--microbatches", 8, "--memory-margin", "2GiB")).stderr)


class RefusedTest(PriceTest):
    def test_each_in_a_line(self):
        cases = {"the layout has no --cp above 1": ("--overlap", "cp"), "no --ep above 1": ("--overlap", "ep"),
                 "no replicas": ("--dp", 1, "--overlap", "grad"),
                 "it must be one or more of grad, param, tp, cp, ep": ("--overlap", "xx"), "modules are core_attn": ("--recompute", "modules=xx"),
                 "it must be none, selective, full": ("--recompute", "half"), "two devices": ("--strategy", "dualpipe"),
                 "there is no strategy": ("--strategy", "best"), "--split has 30 decoders": ("--split", 8, 8, 8, 6),
                 "a100 has no matrix rate for 8 bits": ("--device", "a100", "--precision", "fp8"),
                 "a100 has no matrix rate": ("--device", "a100", "--attention-fp8"),
                 "h100 has no MXFP8 (mxfp8_share is 0); use bf16, fp16 or fp8": ("--precision", "mxfp8"),
                 "mi325x has no MXFP8": ("--device", "mi325x", "--precision", "mxfp8"),
                 "mi355x has no matrix rate for 4 bits": ("--device", "mi355x", "--precision", "nvfp4"), "leave --layout": ("--layout", "Et*32L", "--split", 8, 8, 8, 8)}
        for words, options in cases.items():
            line = self.refused("--model", self.llama, *LAYOUT, *options)
            self.assertIn(words, line)
            self.assertEqual(line.count("\n"), 1, line)

    def test_decoders_that_do_not_divide(self):
        line = self.refused("--model", self.llama, "--pp", 5, "--seq", 8192)
        self.assertIn("32 decoders cannot be divided among 5 stages", line)
        self.assertIn("--account-for-loss", line)


class RunsTest(PriceTest):
    ROW = RUN

    def test_a_row_is_the_layout(self):
        row = self.price("--runs", self.runs({**self.ROW, "params": 8030261248}))
        wanted = self.price("--model", self.llama, *LAYOUT)["step_time"]
        self.assertEqual(row["runs"], [{"id": "one", "device": "h100", "measured_step_time": 10, "step_time": wanted, "error": wanted / 10 - 1}])
        self.assertEqual(row["errors"][0]["layouts"], 1)

    def test_settings(self):
        for cells, words in (({"precision": "fp8"}, ("--precision", "fp8")), ({"grad_overlap": "yes"}, ("--overlap", "grad")),
                             ({"recompute": "modules=mlp+layernorm"}, ("--recompute", "modules=mlp,layernorm")),
                             ({"zero": "fsdp", "param_overlap": "no", "grad_overlap": "no"}, ("--zero", 3, "--bytes", "gradient=2")),
                             ({"vp": 2}, ("--vpp", 2)), ({"strategy": "gpipe"}, ("--strategy", "gpipe"))):
            row = self.price("--runs", self.runs({**self.ROW, **cells}))["runs"][0]
            self.assertEqual(row["step_time"], self.price("--model", self.llama, *LAYOUT, *words)["step_time"], cells)

    def test_models_by_their_parameters(self):
        gpt = {**self.ROW, "layers": 24, "hidden": 2048, "heads": 16, "kv_heads": 16, "ffn": 8192, "vocab": 51200, "seq": 2048, "params": 1316683776}
        gated = {**gpt, "params": 1725044736}
        steps = [row["step_time"] for row in self.price("--runs", self.runs(gpt, gated))["runs"]]
        self.assertLess(steps[0], steps[1])
        self.assertIn("give its config.json in the column config", self.refused("--runs", self.runs({**gpt, "params": 3e9}), lines=3))

    def test_models_without_their_parameters(self):
        """GPT-3 has an MLP that is 4 times as wide as the model, and Llama another."""
        gpt = {**self.ROW, "layers": 24, "hidden": 2048, "heads": 16, "kv_heads": "", "ffn": "", "vocab": 51200, "seq": 2048}
        wide, grouped = {**gpt, "ffn": 8448}, {**gpt, "kv_heads": 4}
        rows = (gpt, {**gpt, "kv_heads": 16, "ffn": 8192}, {**gpt, "params": 1317654528}, wide, {**wide, "params": 1858177024}, grouped,
                {**grouped, "params": 1669433344})
        steps = [row["step_time"] for row in self.price("--runs", self.runs(*rows))["runs"]]
        self.assertEqual(steps[:3], [steps[2]] * 3)
        self.assertEqual((steps[3], steps[5]), (steps[4], steps[6]))
        self.assertEqual(len(set(steps)), 3)

    def test_a_config_beside_it(self):
        self.write("experts.json", json.dumps(EXPERTS))
        cells = {**self.ROW, "config": "experts.json", "ep": 2, "etp": 1}
        row = self.price("--runs", self.runs(cells))["runs"][0]
        wanted = self.price("--model", self.folder / "experts.json", *LAYOUT, "--ep", 2, "--etp", 1)
        self.assertEqual(row["step_time"], wanted["step_time"])
        self.assertEqual(self.price("--runs", self.runs(cells))["errors"][0]["model"], "MoE")

    def test_expert_load(self):
        path = self.write("experts.json", json.dumps(EXPERTS))
        words = ("--model", path, "--ep", 4, "--dp", 4, "--seq", 4096, "--global-batch", 16)
        even, full = self.price(*words), self.price(*words, "--expert-load", 1.5)
        self.assertEqual(self.price(*words, "--expert-load", 1)["step_time"], even["step_time"])
        self.assertGreater(full["step_time"], even["step_time"])
        self.assertGreater(full["memory"][0]["activations"], even["memory"][0]["activations"])
        self.assertEqual(full["memory"][0]["weights"], even["memory"][0]["weights"])
        self.assertIn("has no experts", self.refused("--model", self.llama, *LAYOUT, "--expert-load", 2))
        self.assertIn("must be 1 to", self.refused(*words, "--expert-load", 0.5))

    def test_adapters(self):
        """The states of adapters alone, by both commands; frozen weights that are sharded are gathered as before."""
        words = ("--model", self.llama, "--pp", 2, "--dp", 2, "--seq", 4096, "--global-batch", 16)
        for sharding in (1, 3):
            whole, own = (self.price(*words, "--zero", sharding, *more) for more in ((), ("--lora-rank", 16, "--lora-targets", "query", "value")))
            states = [sum(device[cause] for device in own["memory"]) for cause in ("gradients", "optimizer")]
            shared = 2 if sharding == 3 else 1
            counts = self.answer("model", *words[:2], "--lora-rank", 16, "--lora-targets", "query", "value")["parameters"]
            self.assertEqual(states, [4 * counts["adapters"] / shared, 12 * counts["adapters"] / 2])
            self.assertLess(own["step_time"], 0.9 * whole["step_time"])
            self.assertLess(own["optimizer_time"], 0.1 * whole["optimizer_time"])
        weights = [self.price(*words, "--zero", sharding, "--lora-rank", 1)["exposed"]["data_parallel"] for sharding in (1, 3)]
        self.assertGreater(weights[1], 100 * weights[0])
        rows = self.answer("pick", *words, "--zero", 3, "--lora-rank", 1)
        self.assertGreater(rows[0]["step"]["data_parallel_time"], 100 * rows[0]["step"]["optimizer_time"])
        self.assertIn("--lora-targets querry: did you mean query?", self.refused(*words, "--lora-rank", 4, "--lora-targets", "querry"))
        alone = run_command(("price", *words, "--lora-targets", "query"))
        self.assertEqual((alone.returncode, "--lora-targets needs --lora-rank" in alone.stderr), (2, True))

    def test_each_layout_counts_once(self):
        rows = [{**self.ROW, "id": str(number), "gbs": 32 * number, "dp": 2 * number, "measured_step_s": 10 + number} for number in (1, 2, 3)]
        found = self.price("--runs", self.runs(*rows))
        self.assertEqual(found["errors"][0]["layouts"], 1)
        self.assertEqual(found["errors"][0]["bias"], found["runs"][2]["error"])

    def test_other_models_and_schedules_count(self):
        """Also where no column has the name of the model."""
        rows = [{**self.ROW, **cells} for cells in ({}, {"layers": 16}, {"hidden": 2048}, {"strategy": "gpipe"}, {"split": "account_embedding_loss", "layers": 30})]
        self.assertEqual(self.price("--runs", self.runs(*rows))["errors"][0]["layouts"], len(rows))

    def test_open_settings_do_not_count(self):
        found = self.price("--runs", self.runs({**self.ROW, "strategy": "1f1b"}, {**self.ROW, "strategy": "", "mbs": 2}))
        self.assertEqual((len(found["runs"]), found["errors"][0]["layouts"]), (2, 1))

    def test_what_a_run_was_does_not_follow_from_the_device_that_prices_it(self):
        device = self.write("own_a100.json", json.dumps({"like": "a100"}))
        for gpu in ("A100", "A100-80GB"):
            path = self.runs({**self.ROW, "gpu": gpu, "precision": "fp16"})
            one, other = (self.price("--runs", path, "--device", name)["runs"][0]["step_time"] for name in ("a100", device))
            self.assertEqual(one, other)
            told = self.price("--runs", self.runs({**self.ROW, "gpu": gpu, "precision": "fp16", "keeps_scores": "no", "dropout": "no"}), "--device", device)
            self.assertNotEqual(other, told["runs"][0]["step_time"])

    def test_settings_that_follow_from_other_columns(self):
        """What is told wins, and a line names the columns; the same run without the hint keeps the plain defaults."""
        self.write("experts.json", json.dumps(EXPERTS))
        old = {**self.ROW, "gpu": "A100", "precision": "fp16"}
        for cells, follows in ((old, {"keeps_scores": "yes", "dropout": "yes"}), ({**self.ROW, "id": "x-LoRA-8"}, {"frozen_weights": "yes"}),
                               ({**self.ROW, "id": "lora70b-fp8"}, {"frozen_weights": "yes"}),
                               ({**self.ROW, "config": "experts.json", "ep": 2, "source": "NVIDIA-NeMo/Megatron-Bridge"}, {"etp": 1})):
            plain = dict.fromkeys(follows, "no") if "etp" not in follows else {"etp": 2}
            steps = [self.price("--runs", self.runs({**cells, **more}))["runs"][0]["step_time"] for more in ({}, follows, plain)]
            self.assertEqual(steps[0], steps[1], follows)
            self.assertNotEqual(steps[0], steps[2], follows)
            for more, count in (({}, 1), (dict.fromkeys(follows, ""), 1), (follows, 0)):
                stderr = run_command(("price", "--runs", self.runs({**cells, **more}))).stderr
                self.assertEqual(stderr.count(f"1 of 1 runs has no {', '.join(sorted(follows))}; the values follow from other columns"), count, stderr)
        steps = {}
        for cells in ({}, {"precision": "fp16"}, {"id": "explorative"}, {"id": "floral-8b"}, {"source": "Megatron-Bridge"}):
            done = run_command(("price", "--runs", self.runs({**self.ROW, **cells}), "--json"))
            self.assertEqual(done.stderr, "")
            steps[str(cells)] = json.loads(done.stdout)["runs"][0]["step_time"]
        self.assertEqual(len(set(steps.values())), 1, steps)

    def test_an_interleaved_schedule_has_several_stages_on_a_device(self):
        """One says that the number is not known, so the run does not count."""
        rows = {**self.ROW, "vp": 2, "strategy": "interleaved_1f1b"}, {**self.ROW, "vp": 1, "strategy": "interleaved_1f1b", "mbs": 2}
        done = run_command(("price", "--runs", self.runs(*rows)))
        self.assertIn("1 of 2 runs leaves settings open (vp)", done.stderr)
        self.assertEqual(self.price("--runs", self.runs(*rows))["errors"][0]["layouts"], 1)

    def test_runs_that_do_not_fit(self):
        """They ran, so a line says that a setting is missing or wrong; not where they fit."""
        done = run_command(("price", "--runs", self.runs(self.ROW, {**self.ROW, "id": "large", "mbs": 16, "gbs": 512})))
        self.assertIn("1 of 2 runs needs more memory than the device has (the first: large, ", done.stderr)
        self.assertNotIn("more memory", run_command(("price", "--runs", self.runs(self.ROW))).stderr)

    def test_rows_that_cannot_be_priced(self):
        bad = ({"seq": ""}, "seq is missing"), ({"mbs": "x"}, "mbs is 'x'"), ({"gpu": "h99"}, "there is no device"), ({"tp": 1.5}, "must be an integer"), \
            ({"zero": 9}, "zero is '9'"), ({"tp_overlap": "maybe"}, "yes, no or empty"), ({"gbs": 33}, "not a multiple of mbs times dp"), \
            ({"config": "none.json"}, "none.json"), ({"model": "new", "layers": ""}, "the model 'new' is not known by name, and layers is missing"), ({"precision": "int4"}, "precision is 'int4'"), ({"measured_step_s": -1}, "above 0"), \
            ({"recompute": "some"}, "it must be none, selective"), ({"layers": 30, "split": "even"}, "30 decoders cannot be divided among 4 stages"), ({"fp8_recipe": "half"}, "fp8_recipe is"), \
            ({"ep_dispatch": "ring"}, "ep_dispatch is"), ({"precision": "mxfp8"}, "h100 has no MXFP8"), ({"cuda_graph": "some"}, "cuda_graph is")
        for cells, words in bad:
            done = run_command(("price", "--runs", self.runs(self.ROW, {**self.ROW, **cells}), "--json"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(len(json.loads(done.stdout)["runs"]), 1)
            self.assertIn("runs.csv, line 3: ", done.stderr)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertIn("no run of it can be priced", self.refused("--runs", self.runs({**self.ROW, "seq": ""}), lines=3))
        self.assertIn("it has no column gpu", self.refused("--runs", self.write("x.csv", "seq,mbs,gbs,measured_step_s\n1,1,1,1\n")))
        self.assertIn("leave --precision out", self.refused("--runs", self.runs(self.ROW), "--precision", "fp8"))

    def test_decoders_that_do_not_divide(self):
        """If no split is told, they are divided as evenly as can be, together with MTP layers; the run leaves a setting open."""
        thirty = self.write("thirty.json", json.dumps({**LLAMA, "num_hidden_layers": 30}))
        row = {**self.ROW, "layers": 30, "split": ""}
        self.assertEqual(self.price("--runs", self.runs(row))["runs"][0]["step_time"],
                         self.price("--model", thirty, *LAYOUT, "--split", 7, 8, 8, 7)["step_time"])
        self.assertEqual(self.price("--runs", self.runs(row))["runs_with_open_settings"], 1)
        latent = self.write("latent.json", json.dumps({**LATENT, "num_hidden_layers": 9, "num_nextn_predict_layers": 1}))
        found = self.price("--runs", self.runs({**row, "config": "latent.json"}))["runs"][0]
        self.assertEqual(found["step_time"], self.price("--model", latent, *LAYOUT, "--split", 2, 3, 3, 1)["step_time"])

    def test_what_only_a_recipe_says(self):
        """A cell with "recipe" is an empty one."""
        found = self.price("--runs", self.runs({**self.ROW, "recompute": "recipe"}))
        self.assertEqual(found["runs"][0]["step_time"], self.price("--runs", self.runs({**self.ROW, "recompute": ""}))["runs"][0]["step_time"])
        self.assertEqual(found["runs_with_open_settings"], 1)

    def test_a_device_of_published_runs(self):
        """By the name in their table it is that of a device file."""
        name = "H100 96GB HBM2e 500W"
        device = self.write("own.json", json.dumps({"like": "h100", "memory": "96GB", "memory_bandwidth": "2400GB/s", "matrix_rate": 706.7e12,
                                                    "rate_8bit": 1413.5e12, "vector_rate": 95.6e12}))
        wanted = self.price("--model", self.llama, *LAYOUT, "--device", device)
        self.assertEqual(self.price("--runs", self.runs({**self.ROW, "gpu": name}))["runs"][0]["step_time"], wanted["step_time"])
        self.assertEqual(self.price("--model", self.llama, *LAYOUT, "--device", name)["step_time"], wanted["step_time"])

    def test_columns_that_are_not_read(self):
        done = run_command(("price", "--runs", self.runs({**self.ROW, "recompute_granularity": "full", "source": "a page"}), "--json"))
        self.assertIn("columns that are not read: recompute_granularity", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertEqual(run_command(("price", "--runs", self.runs({**self.ROW, "source": "a page"}), "--json")).stderr, "")

    def test_a_device_of_all(self):
        row = self.price("--runs", self.runs({**self.ROW, "gpu": ""}), "--device", "h200")["runs"][0]
        self.assertEqual(row["step_time"], self.price("--model", self.llama, *LAYOUT, "--device", "h200")["step_time"])
        model = self.price("--runs", self.runs({"gpu": "h100", "seq": 8192, "mbs": 1, "gbs": 32, "tp": 2, "pp": 4, "gpus": 16, "zero": 1,
                                                "sequence_parallel": "yes", "measured_step_s": 10}), "--model", self.llama)["runs"][0]
        self.assertEqual(model["step_time"], self.price("--model", self.llama, *LAYOUT)["step_time"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
