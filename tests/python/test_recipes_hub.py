# SPDX-License-Identifier: Apache-2.0
"""Recipes that name a model of Hugging Face: NeMo Automodel's, ms-swift's, slime's, and Primus' of other frameworks."""
import json
import unittest

from test_recipes import Folder

from ppsched import Model, read_model

LLAMA = {"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
         "vocab_size": 128256}
LLAMA_TOTAL = 8030261248
VL = {"model_type": "qwen3_vl", "text_config": {**LLAMA, "model_type": "qwen3_vl_text", "head_dim": 128}, "vision_config": {
    "model_type": "qwen3_vl", "depth": 24, "hidden_size": 1024, "intermediate_size": 4096, "num_heads": 16, "patch_size": 16, "spatial_merge_size": 2,
    "temporal_patch_size": 2, "out_hidden_size": 4096, "num_position_embeddings": 2304, "deepstack_visual_indexes": [5, 11, 17]}}
MOE = {"model_type": "qwen3_next", "hidden_size": 2048, "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2, "head_dim": 256, "vocab_size": 151936,
       "intermediate_size": 5120, "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512, "num_experts": 512, "num_experts_per_tok": 10}


class HubFolder(Folder):
    def setUp(self):
        super().setUp()
        for name, config in (("llama", LLAMA), ("vl", VL), ("next", MOE)):
            self.file(f"models/{name}/config.json", json.dumps(config))

    def read(self, text, name="recipe.yaml"):
        return read_model(self.file(name, text))


class AutomodelTest(HubFolder):
    RECIPE = "model:\n  _target_: nemo_automodel.NeMoAutoModelForCausalLM.from_pretrained\n  pretrained_model_name_or_path: models/llama\n  torch_dtype: bf16\n" \
             "step_scheduler:\n  local_batch_size: 4\n  global_batch_size: 64\ndistributed:\n  strategy: fsdp2\n  tp_size: 2\n  pp_size: 1\n  dp_size: none\n" \
             "packed_sequence:\n  packed_sequence_size: 4096\n"

    def test_a_recipe(self):
        found = self.read(self.RECIPE)
        self.assertEqual(Model(found.description).parameters.total, LLAMA_TOTAL)
        self.assertEqual(found.options, {"zero": 3, "sequence_parallel": False, "tp": 2, "pp": 1, "seq": 4096, "micro_batch": 4, "global_batch": 64})
        self.assertEqual(found.not_taken, [])

    def test_a_pipeline_ends_with_each_local_batch(self):
        found = self.read(self.RECIPE.replace("pp_size: 1", "pp_size: 2\n  pipeline: {pp_microbatch_size: 2}"))
        self.assertEqual((found.options["micro_batch"], found.options["num_microbatches"]), (2, 2))
        self.assertEqual(found.not_taken, ["global_batch_size (the pipeline ends with each local batch; one is counted)"])
        self.refused("local_batch_size 4 is no multiple of pp_microbatch_size 3", "r.yaml",
                     self.RECIPE.replace("pp_size: 1", "pp_size: 2\n  pipeline: {pp_microbatch_size: 3}"))

    def test_other_layers(self):
        self.assertEqual(self.read(self.RECIPE.replace("  torch_dtype: bf16", "  num_hidden_layers: 4")).description.layers, 4)
        several = self.read(self.RECIPE + "fp8: {enabled: true}\nteacher_model: {a: b}\n")
        self.assertEqual((several.not_taken, several.options["precision"]), (["teacher_model"], "fp8"))
        self.assertNotIn("precision", self.read(self.RECIPE + "fp8: {enabled: false}\n").options)
        self.assertEqual(self.read(self.RECIPE.replace("strategy: fsdp2", "activation_checkpointing: true")).options["recompute"], "full")
        self.assertEqual(self.read(self.RECIPE.replace("  torch_dtype: bf16", "  strange: 4")).not_taken, ["model.strange"])

    def adapted(self, peft, model="llama"):
        found = self.read(self.RECIPE.replace("models/llama", f"models/{model}") + f"peft: {peft}\n")
        return found.options["lora_rank"], " ".join(found.options["lora_targets"]), found

    def test_adapters(self):
        layers = "query key value output gate up down"
        for peft, model, rank, targets in (
                ("{dim: 16}", "llama", 16, layers), ("{target_modules: ['*_proj']}", "llama", 8, layers),
                ("{target_modules: ['*q_proj', 'v_proj'], dim: 4}", "llama", 4, "query value"), ("{target_modules: '*.mlp.*'}", "llama", 8, "gate up down"),
                ("{match_all_linear: true}", "llama", 8, layers + " head"), ("{exclude_modules: ['*lm_head*', '*vision*']}", "llama", 8, layers),
                ("{target_modules: ['*.experts']}", "next", 8, "experts"), ("{target_modules: ['*']}", "next", 8, layers + " experts scan_input scan_output other head"),
                ("{exclude_modules: ['*.out_proj', '*lm_head*']}", "next", 8, layers + " scan_input other")):
            self.assertEqual(self.adapted(peft, model)[:2], (rank, targets), peft)
        found = self.adapted("{target_modules: ['*'], dim: 40, moe_rank_scaling: true}", "next")[2]
        self.assertEqual((found.options["lora_expert_rank"], found.options["lora_fused"], found.options["lora_dropout"]), (4, False, False))
        self.assertTrue(self.adapted("{dim: 8, dropout: 0.1, dropout_position: pre}")[2].options["lora_dropout"])
        self.assertEqual(self.adapted("{dim: 8, dropout: 0.1, use_dora: true}")[2].not_taken, ["peft.use_dora", "peft.dropout (after the adapters)"])
        towers = self.adapted("{exclude_modules: ['*visual*']}", "vl")[2]
        self.assertEqual(([tower["frozen"] for tower in towers.description.values()["towers"]], towers.assumed), ([True], ["towers without adapters"]))

    def test_adapters_refused(self):
        for peft, part in (("{_target_: a.b.PrefixTuning}", "its peft is 'a.b.PrefixTuning'"), ("{target_modules: ['*.to_q']}", "none of its adapters belongs to a matrix"),
                           ("{target_modules: ['*.layers.0.*.q_proj']}", "belong to only some layers"), ("{target_modules: [3]}", "it must be a list of names of modules"),
                           ("{target_modules: ['*'], exclude_modules: ['*']}", "give one of them"), ("{dim: 0}", "peft.dim is 0; it must be 1 or more"),
                           ("{dim: many}", "peft.dim must be an integer")):
            self.refused(part, "r.yaml", self.RECIPE + f"peft: {peft}\n")
        self.refused("moe_rank_scaling divides dim 8 by 10 experts of a token; give dim 10 or more", "r.yaml",
                     self.RECIPE.replace("models/llama", "models/next") + "peft: {moe_rank_scaling: true}\n")

    def test_refused(self):
        self.refused("its model makes images", "r.yaml", self.RECIPE.replace("NeMoAutoModelForCausalLM", "NeMoAutoDiffusionPipeline"))
        self.refused("its model has an additional drafter", "r.yaml", self.RECIPE.replace("torch_dtype: bf16", "drafter_path: x"))
        self.refused("no model of Hugging Face is named", "r.yaml", self.RECIPE.replace("  pretrained_model_name_or_path: models/llama\n", ""))
        self.refused("its model is 'org/none' of Hugging Face, whose config.json is not here; put that file at", "r.yaml", self.RECIPE.replace("models/llama", "org/none"))


class SwiftTest(HubFolder):
    SCRIPT = "NPROC_PER_NODE=4 \\\nmegatron sft \\\n    --model models/llama \\\n    --tensor_model_parallel_size 2 \\\n    --pipeline_model_parallel_size 2 \\\n" \
             "    --max_length 8192 \\\n    --sequence_parallel true --dataset 'a#500' 'b#500'\n"
    ALONE = "swift sft --model models/llama --tuner_type full --per_device_train_batch_size 2 --gradient_accumulation_steps 8 --max_length 2048 --deepspeed zero3\n"

    def test_with_megatron(self):
        found = self.read(self.SCRIPT, "run.sh")
        self.assertEqual(found.description.layers, 32)
        self.assertEqual(found.options, {"tp": 2, "pp": 2, "seq": 8192, "sequence_parallel": True, "micro_batch": 1, "global_batch": 16, "recompute": "selective",
                                         "distributed_optimizer": True})
        self.assertNotIn("recompute", self.read(self.SCRIPT.replace("\n", " --recompute_granularity none\n").replace("\\ ", ""), "run.sh").options)

    def test_without(self):
        found = self.read(self.ALONE, "run.sh")
        self.assertEqual(found.options, {"seq": 2048, "micro_batch": 2, "num_microbatches": 8, "recompute": "full", "zero": 3})
        less = self.read(self.ALONE.replace("--deepspeed zero3", "--gradient_checkpointing false --fsdp fsdp2"), "run.sh")
        self.assertEqual(less.options, {"seq": 2048, "micro_batch": 2, "num_microbatches": 8, "zero": 3})
        told = self.read(self.ALONE.replace("8 --max", "$(expr 32 / $N) --max").replace("swift sft", "swift rlhf --rlhf_type dpo --sequence_parallel_size 2"), "run.sh")
        self.assertEqual(sorted(told.not_taken), ["gradient_accumulation_steps", "rlhf_type", "sequence_parallel_size"])
        sharded = self.read("accelerate launch --config_file fsdp.json swift/cli/sft.py" + self.ALONE[len("swift sft"):], "run.sh")
        self.assertEqual(sharded.not_taken, ["config_file of accelerate, by which weights may be sharded"])

    def test_files(self):
        found = self.read("model: models/llama\ntuner_type: full\nmicro_batch_size: 1\ntensor_model_parallel_size: 2\nmax_length: 2048\ndataset: [a, b]\n")
        self.assertEqual(found.options, {"tp": 2, "seq": 2048, "micro_batch": 1, "global_batch": 16, "recompute": "selective", "distributed_optimizer": True})
        lora = self.read("model: models/llama\nper_device_train_batch_size: 1\nmax_length: 2048\n")
        self.assertEqual((lora.options["lora_rank"], lora.options["lora_targets"]), (8, "query key value output gate up down".split()))

    def test_adapters(self):
        """Its own are of rank 8 with dropout beside all linear layers, of which its Megatron has experts and other sums."""
        alone = self.ALONE.replace("--tuner_type full", "")
        layers = "query key value output gate up down".split()
        for text, rank, targets, dropout, fused in (
                (alone, 8, layers, True, False), (alone.replace("--max", "--lora_rank 32 --lora_dropout 0 --max"), 32, layers, False, False),
                (alone.replace("--max", "--target_modules q_proj v_proj --max"), 8, ["query", "value"], True, False),
                (alone.replace("--max", "--target_modules all-linear lm_head --max"), 8, [*layers, "head"], True, False),
                (alone.replace("models/llama", "models/next"), 8, [*layers, "scan_input", "scan_output", "other"], True, False),
                (self.SCRIPT.replace("--max", "--tuner_type lora --max"), 8, layers, True, True),
                (self.SCRIPT.replace("--max", "--tuner_type lora --target_modules linear_qkv linear_proj --max"), 8, layers[:4], True, True),
                (self.SCRIPT.replace("models/llama", "models/next --tuner_type lora"), 8, [*layers, "experts", "scan_input", "scan_output", "other"], True, True)):
            options = self.read(text, "run.sh").options
            self.assertEqual((options["lora_rank"], options["lora_targets"], options["lora_dropout"], options["lora_fused"]), (rank, targets, dropout, fused), text)
        self.assertEqual(self.read(alone.replace("--max", "--quant_bits 4 --max"), "run.sh").not_taken, ["quant_bits"])

    def test_towers_do_not_learn(self):
        for more, are_frozen in (("", True), (" --freeze_vit true", True), (" --freeze_vit false", False)):
            found = self.read(self.SCRIPT.replace("models/llama", "models/vl" + more), "run.sh")
            self.assertEqual([bool(tower.get("frozen")) for tower in found.description.values()["towers"]], [are_frozen], more)
            self.assertEqual(any("freeze_vit" in line for line in found.assumed), are_frozen)

    def test_refused(self):
        for text, part in ((self.ALONE.replace("full", "adalora"), "it trains a adalora, whose weights are not counted; plan with tuner_type full or lora"),
                           (self.ALONE.replace("full", "lora --modules_to_save embed_tokens"), "modules_to_save is"),
                           (self.ALONE.replace("full", "lora --target_modules strange"), "none of its adapters belongs to a matrix"),
                           (self.SCRIPT.replace("--max", "--tuner_type lora_llm --max"), "it trains a lora_llm"),
                           (self.SCRIPT.replace("--max", "--freeze_llm true --max"), "freeze_llm is on"),
                           (self.ALONE.replace("sft", "infer"), "it runs swift infer, which trains nothing; give a script of pt, rlhf, sft"),
                           ("python convert.py --hf-model models/llama", "its model is 'models/llama', and it runs neither ms-swift nor slime"),
                           (self.SCRIPT.replace("models/llama", "a/b"), "its model is 'a/b' of Hugging Face, whose config.json is not here")):
            self.refused(part, "run.sh", text)


class SlimeTest(HubFolder):
    RUN = "source \"${DIR}/next.sh\"\nCKPT_ARGS=(--hf-checkpoint models/next --ref-load /x)\nPERF_ARGS=(--tensor-model-parallel-size 2 --expert-model-parallel-size 8)\n" \
          "ray job submit --address=\"http://a\" -- python3 train.py --actor-num-nodes 2 ${MODEL_ARGS[@]} ${CKPT_ARGS[@]} ${PERF_ARGS[@]}\n"
    MODEL = "MODEL_ARGS=(--num-layers 48 --hidden-size 2048 --num-attention-heads 16 --spec slime_plugins.models.qwen3_next get_qwen3_next_spec)\n"

    def test_layers_of_its_own_follow_from_the_config(self):
        self.file("next.sh", self.MODEL)
        found = self.read(self.RUN, "run.sh")
        self.assertEqual((found.description.layers, found.options), (48, {"tp": 2, "ep": 8}))
        self.assertEqual(len(set(found.description.layer_kinds)), 2)

    def test_a_folder_from_outside_the_script(self):
        """The config.json is looked for by what follows it."""
        self.file("next.sh", self.MODEL)
        wanted = self.read(self.RUN, "run.sh")
        for word in ("$BASE/models/next", "\"${BASE}/models/next/\"", "$(dirname $BASE)/models/next", "/$A/$B/models/next"):
            self.assertEqual(self.read(self.RUN.replace("models/next", word), "run.sh"), wanted, word)
        self.refused("its model is 'none' of Hugging Face, whose config.json is not here; put that file at", "run.sh", self.RUN.replace("models/next", "$BASE/none"))
        for word in ("$BASE", "$BASE/", "models/next$BASE", "$BASE/models/$NAME"):
            self.refused("--hf-checkpoint has a value from outside the script", "run.sh", self.RUN.replace("models/next", word))

    def test_without_a_config(self):
        self.file("next.sh", self.MODEL)
        self.refused("whose layers follow from Hugging Face's config.json; give that file", "run.sh", self.RUN.replace("--hf-checkpoint models/next", ""))


class PrimusTest(HubFolder):
    RUN = "modules:\n  pre_trainer:\n    framework: {0}\n    model: m.yaml\n    overrides:\n{1}"

    def test_torchtitan(self):
        self.file("m.yaml", "model: {name: llama3, flavor: 8B}\njob: {dump_folder: x}\n")
        found = self.read(self.RUN.format("torchtitan", "      training: {local_batch_size: 4, seq_len: 2048, mock_data: true}\n      parallelism: {pipeline_parallel_degree: 2}\n"
                                                        "      model: {n_layers: 4, converters: [primus_turbo]}\n      primus_turbo: {enable: true}\n"))
        self.assertEqual((found.description.layers, found.options["pp"], found.options["seq"], found.options["num_microbatches"]), (4, 2, 2048, 4))
        self.assertEqual(found.not_taken, [])
        self.file("m.yaml", "model: {name: qwen3_5, flavor: 9B, n_layers: 4}\n")
        self.refused("n_layers is given, and the layers of 'qwen3_5' differ", "r.yaml", self.RUN.format("torchtitan", "      training: {}\n"))

    def test_megatron_bridge(self):
        self.file("m.yaml", "hf_path: models/llama\n")
        text = self.RUN.format("megatron_bridge", "      tensor_model_parallel_size: 4\n      global_batch_size: 128\n      seq_length: 8192\n      peft: none\n")
        found = self.read(text)
        self.assertEqual((found.description.layers, found.options), (32, {"tp": 4, "global_batch": 128, "seq": 8192}))
        self.refused("peft is in use", "r.yaml", text.replace("none", "lora"))
        self.refused("its model is 'models/llama' of Hugging Face; give the run that takes it", "x.yaml", "extends: [m.yaml]\n")

        self.file("m.yaml", "recipe: a.b\nflavor: b_config\n")
        self.refused("its model is that of the recipe 'b_config', whose code has the sizes", "m.yaml", "recipe: a.b\nflavor: b_config\n")
        self.refused("its model is 'models/llama' of Hugging Face; give the run", "m.yaml", "recipe: a.b\nflavor: b_config\nhf_path: models/llama\n")

    SIZES = ("num_layers: 4\nhidden_size: 128\nffn_hidden_size: 256\nnum_attention_heads: 4\npadded_vocab_size: 512\nposition_embedding_type: rope\n"
             "swiglu: true\nnormalization: RMSNorm\nadd_bias_linear: false\n")

    def test_the_checkpoint_of_a_model_with_sizes(self):
        """hf_path names weights; the model has the sizes that the arguments say."""
        self.file("m.yaml", self.SIZES)
        text = self.RUN.format("megatron", "      seq_length: 512\n")
        self.assertEqual(self.read(text + "      hf_path: a/b\n"), self.read(text))

    def test_packed_samples(self):
        """They are as one long sample, unless attention stays within each."""
        self.file("m.yaml", self.SIZES)
        text = self.RUN.format("megatron", "      seq_length: 512\n")
        self.assertEqual(self.read(text + "      enable_packed_sequences: true\n"), self.read(text))
        self.assertEqual(self.read(text + "      use_packed_attention: true\n"), self.read(text))
        for names in (("enable_packed_sequences", "use_packed_attention"), ("enable_odc_lb_mini",)):
            self.assertEqual(self.read(text + "".join(f"      {name}: true\n" for name in names)).not_taken, [names[-1]])

    def test_adapters_of_megatron(self):
        self.file("m.yaml", self.SIZES)
        text = self.RUN.format("megatron", "      seq_length: 512\n      lora: {{enabled: true, {0}}}\n")
        found = self.read(text.format("dim: 16, alpha: 32, dropout: 0.1, dropout_position: pre, lora_A_init_method: xavier"))
        self.assertEqual({name: value for name, value in found.options.items() if name.startswith("lora")},
                         {"lora_rank": 16, "lora_targets": ["query", "key", "value", "output", "gate", "up", "down"], "lora_dropout": True, "lora_fused": True})
        found = self.read(text.format("target_modules: [linear_proj, '*.linear_fc2']"))
        self.assertEqual((found.options["lora_rank"], found.options["lora_targets"], found.options["lora_dropout"]), (32, ["output", "down"], False))
        self.assertNotIn("lora_rank", self.read(text.format("dim: 8").replace("true", "false")).options)
        self.refused("lora has lora_dtype", "r.yaml", text.format("lora_dtype: fp32"))
        self.refused("lora.dim is 0; it must be 1 or more", "r.yaml", text.format("dim: 0"))
        self.refused("target_modules must be a list of names", "r.yaml", text.format("target_modules: linear_qkv"))
        self.file("m.yaml", self.SIZES + "num_experts: 8\n")
        self.refused("adapters of experts", "r.yaml", text.format("dim: 8"))
        self.assertEqual(self.read(text.format("target_modules: [linear_qkv]")).options["lora_targets"], ["query", "key", "value"])


if __name__ == "__main__":
    unittest.main()
