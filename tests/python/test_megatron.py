# SPDX-License-Identifier: Apache-2.0
"""Models by Megatron-LM's argument names, as its launcher reads them: parameters of its own models, all of its defaults, what is refused,
which layers have experts, and the copies of the embedding in stages with MTP layers."""
import itertools
import json
import pathlib
import random
import tempfile
import unittest

from in_process import run_command

import ppsched
from ppsched import Model, Training, Transformer
from ppsched.readers.megatron_layers import LAYERS
from ppsched.readers.megatron_arguments import ARGUMENTS
from ppsched.readers.megatron_pattern import expert_pattern, pattern_fields
from ppsched.command.model_estimate import copies_time, even_memory, even_split, stage_names, update_time
from ppsched.readers.model_files import model_of
from ppsched.command.model_options import Job

DATA = pathlib.Path(__file__).resolve().parent.parent / "layers"
LAUNCHER = json.loads((DATA / "megatron_arguments.json").read_text(encoding="utf-8"))
SMALL = {"num_layers": 4, "hidden_size": 192, "num_attention_heads": 6, "padded_vocab_size": 512}
WIDE = {"num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "vocab_size": 32000, "swiglu": True,
        "untie-embeddings-and-output-weights": True}
OTHER_LAYERS = {"heterogeneous_layers_config_path": "layers.json", "moe_expert_rank_capacity_factor": 1.25, "enable_mhc_connections": True,
                "hybrid_attention_ratio": 0.08, "qk_l2_norm": True, "mtp_use_repeated_layer": True, "decoder_num_layers": 4, "freeze_all_layers": True}
# What is read beside something else, which is not there.
ALONE = {"mtp_hybrid_override_pattern": "M", "is_hybrid_model": True, "mamba_state_dim": 64, "mamba_head_dim": 128, "mamba_num_groups": 1,
         "mamba_num_heads": 128, "moe_latent_size": 1024, "spec": ["megatron.core.models.mamba.mamba_layer_specs", "mamba_stack_spec"],
         "linear_attention_freq": 4, "window_attn_skip_freq": 2, "dsa_indexer_n_heads": 64, "dsa_indexer_topk": 2048, "linear_num_key_heads": 8,
         "moe_shared_expert_gate": True}


def given_by(words):
    """The arguments of a command line as a file has them."""
    pieces = words.split()
    fields = {}
    for number, piece in enumerate(pieces):
        if piece.startswith("--"):
            value = pieces[number + 1] if number + 1 < len(pieces) and not pieces[number + 1].startswith("--") else True
            fields[piece[2:]] = int(value) if isinstance(value, str) and value.isdigit() else value
    return fields


class Refusing(unittest.TestCase):
    def refused(self, part, fields):
        with self.assertRaises(ppsched.Error) as caught:
            model_of("args.json", fields)
        self.assertIn(part, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))


class LauncherTest(Refusing):
    def test_parameters_are_those_of_its_models(self):
        for words, parameters in LAUNCHER["parameters"]:
            fields = {**SMALL, "max_position_embeddings": 128, **given_by(words)}
            counts = Model(model_of("f", fields).transformer).parameters
            self.assertEqual(counts.total + counts.mtp * fields.get("mtp-num-layers", 0), parameters, words)
        self.assertGreaterEqual(len(LAUNCHER["parameters"]), 80)

    def test_what_files_leave_out(self):
        rope = {"disable-bias-linear": True, "position-embedding-type": "rope"}
        for more, parameters in ((rope, 6688350208), ({"max-position-embeddings": 2048}, 6698090496),
                                 ({**rope, "ffn-hidden-size": 16384}, 8852611072)):
            self.assertEqual(Model(model_of("f", {**WIDE, **more}).transformer).parameters.total, parameters)
        for hidden in (64, 96, 1000, 4096, 5120, 12288):
            fields = {**SMALL, "num_attention_heads": 2, "hidden_size": hidden, "swiglu": True}
            self.assertEqual(model_of("f", fields).transformer.ffn_size, int((4 * hidden * 2 / 3) / 64) * 64)
            self.assertEqual(model_of("f", {**fields, "swiglu": False}).transformer.ffn_size, 4 * hidden)
        self.assertEqual(list(model_of("f", SMALL).assumed), ["bf16 (the launcher's default is float32)",
                                                              "no learned positions (max_position_embeddings is missing)"])
        self.assertEqual(list(model_of("f", {**SMALL, "bf16": True, "position_embedding_type": "none", "num_experts": 4}).assumed),
                         ["moe_token_dispatcher_type alltoall (the launcher's default is allgather)"])

    def test_groups_count_only_beside_their_switch(self):
        heads = [model_of("f", {**SMALL, "num_query_groups": groups, **more}).transformer.key_value_heads
                 for groups in (1, 2, 3) for more in ({}, {"group_query_attention": False}, {"group-query-attention": "yes"})]
        self.assertEqual(heads, [0, 0, 1, 0, 0, 2, 0, 0, 3])
        self.assertEqual(list(model_of("f", {**SMALL, "num_query_groups": 2}).not_taken),
                         ["num_query_groups (only used with group_query_attention)"])
        self.refused("group_query_attention cannot be combined with multi_latent_attention", {**SMALL, "group_query_attention": True, "mla": True})

    def test_all_defaults_of_the_launcher(self):
        """A file that holds all arguments, as a run prints them, is one that holds those that were given."""
        found = model_of("f", {**LAUNCHER["defaults"], **SMALL})
        self.assertEqual((found.transformer, list(found.not_taken)), (model_of("f", SMALL).transformer, []))
        for name, words, unread in (
                ("dense", {"swiglu": True, "num_query_groups": 8, "max_position_embeddings": 2048},
                 ["num_query_groups (only used with group_query_attention)"]),
                ("bf16", {"swiglu": True, "num_query_groups": 8, "group_query_attention": True, "disable_bias_linear": True,
                          "position_embedding_type": "rope"}, ["overlap_grad_reduce"]),
                ("moe", {"num_experts": 8, "moe_layer_freq": "([0]*3+[1]*29)", "disable_bias_linear": True, "position_embedding_type": "rope",
                         "multi_latent_attention": True, "q_lora_rank": 512, "mtp_num_layers": 1, "untie-embeddings-and-output-weights": True,
                         "moe_shared_expert_intermediate_size": 2048}, ["moe_token_dispatcher_type"])):
            dumped = model_of("f", {**LAUNCHER["defaults"], **LAUNCHER["dumps"][name]})
            sizes = {"num_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "vocab_size": 31999, "tp": 2}
            self.assertEqual(dumped.transformer, model_of("f", {**sizes, **words}).transformer._replace(key_value_heads=8 if name == "bf16" else 0,
                                                                                                      head_size=128))
            self.assertEqual(list(dumped.not_taken), unread)
        self.assertEqual(dumped.options["vpp" if "vpp" in dumped.options else "dp"], 2)

    def test_what_changes_layers_is_refused(self):
        for name, value in OTHER_LAYERS.items():
            self.refused(f"args.json: {name} is ", {**SMALL, name: value})
            self.refused("which would change the answer and is not counted; leave it out", {**SMALL, name.replace("_", "-"): value})
        self.refused(", and so are qk_l2_norm, decoder_num_layers;", {**SMALL, **{name: OTHER_LAYERS[name] for name in (
            "enable_mhc_connections", "qk_l2_norm", "decoder_num_layers")}})
        for name, value in ALONE.items():
            self.refused(f"args.json: {name} is ", {**SMALL, name: value})

    def test_every_refused_argument_has_its_default(self):
        refused = {name: row.default for name, row in ARGUMENTS.items() if row.effect == "refused"}
        self.assertTrue(set(OTHER_LAYERS) <= set(refused))
        self.assertTrue(set(ALONE) <= set(LAYERS))
        plain = model_of("f", SMALL).transformer
        for name, default in refused.items():
            if name in LAUNCHER["defaults"]:
                self.assertEqual(LAUNCHER["defaults"][name], default, name)
            passing = [None, "null", default] + ([False, "no"] if default is not True else [True, "yes"])
            passing += [0, [], "", {}] if not default else [str(default), str(default).upper()]
            for value in passing:
                found = model_of("f", {**SMALL, name: value})
                self.assertEqual((found.transformer, list(found.not_taken)), (plain, []), f"{name} {value!r}")
            for value in ([False] if default is True else [7, 0.5, "such", True, [1]]):
                self.refused(f"args.json: {name} is ", {**SMALL, name: value})

    def test_what_changes_times_or_memory_is_told(self):
        for name, row in ARGUMENTS.items():
            if row.effect == "not taken" and name in LAUNCHER["defaults"] and not row.only:
                self.assertEqual(LAUNCHER["defaults"][name], row.default, name)
                self.assertEqual(list(model_of("f", {**SMALL, name: "such"}).not_taken), [name])
        self.assertEqual(list(model_of("f", {**SMALL, "attention_backend": "unfused"}).not_taken), ["attention_backend"])
        self.assertEqual(list(model_of("f", {**SMALL, "tp": 2, "tensor_parallel_num_weight_shards": 2, "recompute_modules": ["core_attn"]}).not_taken),
                         [])
        known = {name for name in LAUNCHER["defaults"] if name not in ARGUMENTS}
        for name in known:  # all others are counted, or are options of the training
            model_of("f", {**SMALL, name: LAUNCHER["defaults"][name], **SMALL})

    def test_other_words(self):
        for name, value in (("position_embedding_type", "relative"), ("position_embedding_type", "ropes"), ("normalization", "L2Norm"),
                            ("kv_lora_rank", 0)):
            self.refused(name + " is ", {**SMALL, name: value, "multi_latent_attention": name == "kv_lora_rank"})
        learned = {**SMALL, "max_position_embeddings": 64}
        rows = [model_of("f", {**learned, **more}).transformer.positions for more in (
            {}, {"position_embedding_type": None}, {"position_embedding_type": "none"}, {"position_embedding_type": "mrope"},
            {"use_rotary_position_embeddings": True}, {"no_position_embedding": True}, {"add_position_embedding": False})]
        self.assertEqual(rows, [64, 64, 0, 0, 0, 0, 0])
        self.refused("encoder_num_layers is 5, but num_layers is 4", {**SMALL, "encoder_num_layers": 5})
        self.refused("num_layers is 100000000; it must be", {**SMALL, "num_layers": 10**8, "num_experts": 4})


class CapacityTest(Refusing):
    FIELDS = {**SMALL, "num_experts": 4, "moe_router_topk": 2}

    def test_rows_up_to_the_capacity(self):
        for more, load in (({}, None), ({"moe_expert_capacity_factor": 1.5}, None), ({"moe_expert_capacity_factor": -1}, None),
                           ({"moe_expert_capacity_factor": 1.5, "moe_pad_expert_input_to_capacity": True}, 1.5),
                           ({"moe-expert-capacity-factor": 2, "moe-pad-expert-input-to-capacity": True}, 2.0),
                           ({"moe_expert_capacity_factor": 1.5, "moe_pad_expert_input_to_capacity": False}, None)):
            self.assertEqual(model_of("f", {**self.FIELDS, **more}).options.get("expert_load"), load, more)

    def test_refused(self):
        for more, part in (({"moe_expert_capacity_factor": 0.9}, "moe_expert_capacity_factor is 0.9, so even with balanced experts rows are dropped"),
                           ({"moe_pad_expert_input_to_capacity": True}, "there is no moe_expert_capacity_factor; give one"),
                           ({"moe_expert_capacity_factor": "much"}, "moe_expert_capacity_factor is 'much'; it must be a number")):
            self.refused(part, {**self.FIELDS, **more})


class SpellingTest(Refusing):
    def test_two_spellings_of_an_argument(self):
        moe = {**SMALL, "num_experts": 4}
        self.refused("moe-layer-freq is 2, but moe_layer_freq is 1; give one of them", {**moe, "moe_layer_freq": 1, "moe-layer-freq": 2})
        for one, other in ((1, "1"), ("[1, 0] * 2", "[1,0]*2"), ([1, 0, 1, 1], "[1,0,1,1]")):
            self.assertEqual(model_of("f", {**moe, "moe_layer_freq": one, "moe-layer-freq": other}).description, model_of("f", {**moe, "moe_layer_freq": one}).description)
        self.refused("give one of them", {**moe, "moe_layer_freq": 1, "moe-layer-freq": "[1]*3+[0]"})
        self.refused("give one of them", {**moe, "moe_layer_freq": True, "moe-layer-freq": 1})
        for name, one, other in (("num_layers", 4, 5), ("swiglu", True, False), ("seq_length", 64, 128), ("lr", 1, 2), ("swiglu", True, 1),
                                 ("position_embedding_type", "rope", "none"), ("multi_latent_attention", "yes", "no")):
            dashes = name.replace("_", "-")
            for first, second in ((name, dashes), (dashes, name)):
                if first == second:
                    continue
                self.refused("give one of them", {**{key: value for key, value in SMALL.items() if key != name}, first: one, second: other})
                model_of("f", {**moe, **({name: 4} if name == "num_layers" else {}), **({first: one, second: one} if name != "num_layers" else {})})
        self.assertEqual(model_of("f", {**SMALL, "swiglu": None, "sw" + "iglu": True}).transformer.gated, True)
        self.assertEqual(model_of("f", {**moe, "moe-layer-freq": 2, "moe_layer_freq": None}).transformer.expert_interval, 2)

    def test_two_names_of_a_switch(self):
        self.refused("untied_embeddings is True, but untie_embeddings_and_output_weights is False; give one of them",
                     {**SMALL, "untied_embeddings": True, "untie_embeddings_and_output_weights": False})
        self.refused("disable_bias_linear is True, but add_bias_linear is True", {**SMALL, "disable_bias_linear": True, "add_bias_linear": True})
        for fields, bias in (({}, True), ({"disable_bias_linear": False}, True), ({"disable_bias_linear": True}, False),
                             ({"add_bias_linear": False}, False), ({"add_bias_linear": False, "disable_bias_linear": False}, False)):
            self.assertEqual(model_of("f", {**SMALL, **fields}).transformer.mlp_bias, bias)


class PatternTest(Refusing):
    def layers_of(self, frequency, layers):
        return expert_pattern("f", frequency, layers)

    def test_forms(self):
        for layers, frequency, wanted in (
                (61, "([0]*3+[1]*58)", [0] * 3 + [1] * 58), (92, "[1,0]*46", [1, 0] * 46), (92, [1, 0] * 46, [1, 0] * 46), (8, "2", [1, 0] * 4),
                (8, 3, [1, 0, 0, 1, 0, 0, 1, 0]), (12, "([1]*3+[0]*1)*3", [1, 1, 1, 0] * 3), (10, "([1]*3+[0]*2)*2", [1, 1, 1, 0, 0] * 2),
                (24, "([0]+[1]*23)", [0] + [1] * 23), (6, "2*([0]+[1]*(1+1))", [0, 1, 1] * 2), (3, " [ 1 , 0 ,1, ] ", [1, 0, 1]), (4, 9, [1, 0, 0, 0]),
                (4, "[0]*4", [0] * 4)):
            self.assertEqual(self.layers_of(frequency, layers), wanted)
            shape = model_of("f", {**SMALL, "num_layers": layers, "num_experts": 4, "moe-layer-freq": frequency}).transformer
            counts = {row.name: row.layers for row in Model(shape).rows}
            self.assertEqual((counts.get("moe_decoder", 0), counts.get("decoder", 0)), (sum(wanted), layers - sum(wanted)))
            names = [name for name in Model(shape, Training(), "h100").layers().names if "decoder" in name]
            self.assertEqual([int(name == "moe_decoder") for name in names], wanted)

    def test_as_python_has_them(self):
        """Any text of the grammar: the same list, or refused where Python has none, a number or a list of lists."""
        chooser = random.Random(3)

        def text(depth):
            kind = chooser.randrange(6 if depth else 2)
            if kind < 2:
                return ("[" + ",".join(chooser.choice("01") for _ in range(chooser.randrange(1, 4))) + "]", str(chooser.randrange(1, 4)))[kind]
            return f"({text(depth - 1)})" if kind == 2 else text(depth - 1) + chooser.choice("+*") + text(depth - 1)
        seen = [0, 0]
        for _ in range(4000):
            given = text(3)
            try:
                value = eval(given, {"__builtins__": {}})
            except TypeError:
                value = None
            if isinstance(value, int):
                continue
            layers = len(value) if value else 5
            try:
                found = self.layers_of(given, layers)
            except ppsched.Error as error:
                found = None
                self.assertNotIn("\n", str(error))
            self.assertEqual(found, value, given)
            seen[found is None] += 1
        self.assertGreater(min(seen), 100)

    def test_what_is_refused(self):
        moe = {**SMALL, "num_experts": 4}
        for frequency, part in (([1, 0], "has 2 entries, and the model has 4 layers"), ([1] * 5, "has 5 entries"), ("[1]*3", "has 3 entries"), ([], "has 0 entries"),
                                ("([0]*3+[1]*58)", "or more, and the model has 4 layers"), ("[1]*2000000000", "is too large"),
                                ("[1]*999999999", "has 999999999 entries or more"), ("[1]*" + "9" * 9000, "is too large"), ("9" * 9000, "is too large"),
                                ("(" * 4000 + "1" + ")" * 4000, "more than 50 nested brackets"), ("[[1]]*4", "may not contain a list"), ("[1,2,0,1]", "has the entry 2"),
                                ("[1]*[4]", "cannot be multiplied by a list"), ("[1]+1", "cannot be added"), ("__import__('os')", "cannot be read from character 1"),
                                ("[1,0]*2]", "cannot be read from character 8"), ("[1,0", "is missing at its end"), ("", "a number or a list is missing"),
                                ("[1 0]*2", "',' is missing"), ("[-1]*4", "cannot be read from character 2"), (0, "is 0; it must be 1 or more"),
                                (-2, "is -2"), (True, "must be a number, a list or an expression"), (1.5, "must be a number"), ({"a": 1}, "must be a number"),
                                ([1, 0, True, 1], "has the entry True"), ([1, 0, "1", 1], "has the entry '1'")):
            self.refused("args.json: moe_layer_freq ", {**moe, "moe_layer_freq": frequency})
            self.refused(part, {**moe, "moe_layer_freq": frequency})
        self.refused("moe_layers is 2, but moe_layer_freq gives other layers", {**moe, "moe_layers": 2, "moe_layer_freq": 1})
        self.refused("moe_layers is 5, and the model has 4 layers", {**moe, "moe_layers": 5})
        model_of("f", {**moe, "moe_layers": 2, "moe_layer_freq": "[0]*2+[1]*2"})
        model_of("f", {**SMALL, "moe_layer_freq": [1, 1]})  # without experts it says nothing

    def test_all_patterns_of_six_layers(self):
        training = Training(64)
        for pattern in itertools.product((0, 1), repeat=6):
            row = pattern_fields(list(pattern))
            shape = Transformer(6, 64, 4, 256, 128, experts=4, experts_per_token=2, expert_ffn_size=32, **row)
            whole = shape._replace(dense_layers=0, expert_interval=0, expert_offset=0, expert_layers=pattern)
            names = [Model(one, training, "h100").layers().names[1:-1] for one in (shape, whole)]
            self.assertEqual(names, [["moe_decoder" if has else "decoder" for has in pattern]] * 2)
            self.assertEqual(Model(shape).parameters, Model(whole).parameters)
        for bad in ((1, 0), "101010", (1, 0, 2, 0, 0, 0), [-1, 0, 0, 0, 0, 0]):
            with self.assertRaises(ppsched.Error):
                Model(whole._replace(expert_layers=bad))


class EmbeddingCopyTest(unittest.TestCase):
    SHAPE = Transformer(8, 192, 6, 1280, 448, mtp_layers=1)

    def test_which_stages_hold_one(self):
        names = ["embedding", *["decoder"] * 4, "mtp", "mtp", "head"]
        for tied, counts, held in ((False, [3, 2, 3], [1, 0, 1]), (False, [3, 3, 2], [1, 1, 1]), (False, [3, 4, 1], [1, 1, 0]), (True, [3, 4, 1], [1, 1, 1]),
                                   (True, [3, 2, 3], [1, 0, 2]), (False, [8], [1]), (True, [8], [1]), (False, [7, 1], [1, 0]), (True, [7, 1], [1, 1]),
                                   (False, [7, 0, 1], [1, 0, 0])):
            self.assertEqual([stage.count("embedding") for stage in stage_names(names, counts, tied)], held)

    def test_parameters_of_its_stages(self):
        """Those of GPTModel in two stages, one after the other."""
        small = {**SMALL, "position_embedding_type": "rope"}
        for more, parameters in (({}, [988032, 988416]), ({"untied_embeddings": True}, [988032, 988416]), ({"mtp_num_layers": 1}, [988032, 1606464]),
                                 ({"mtp_num_layers": 2, "untied_embeddings": True, "disable_bias_linear": True, "swiglu": True}, [984576, 2119296])):
            job = Job(Model(model_of("f", {**small, **more}).transformer, Training(), "h100"), 2, 4)
            self.assertEqual([row.parameters for row in even_memory(job)], parameters)

    def test_devices_hold_it(self):
        """As the plan's own memory has it, over sizes, tied or not, interleaved or not."""
        for tied, mtp, (pp, vpp), zero in itertools.product((False, True), (0, 1, 2), ((1, 1), (2, 1), (4, 1), (2, 2)), (0, 1)):
            model = Model(self.SHAPE._replace(tied=tied, mtp_layers=mtp), Training(256, data_parallel=4, sharding=zero), "h100")
            job, counts, layers = Job(model, pp, 4, vpp), model.parameters, model.layers()
            memory = even_memory(job)
            copies = counts.embedding * (tied + (mtp > 0)) if pp * vpp > 1 else 0
            self.assertEqual(sum(row.parameters for row in memory), counts.total + mtp * counts.mtp + copies)
            split = ppsched.Split(even_split(model, pp * vpp), [0] * len(layers.names))
            config = ppsched.config_from_layers(ppsched.Config(pp, 4), layers, split)
            own = [sum(config.mem_static[stage] + config.mem_weights[stage] for stage in range(device, pp * vpp, pp)) for device in range(pp)]
            for device, held in zip(memory, own):
                self.assertAlmostEqual(held / (device.weights + device.gradients + device.optimizer), 1)

    def test_its_gradients_are_summed_once_a_step(self):
        for tied, mtp, pp in itertools.product((False, True), (0, 1), (1, 2, 4)):
            model = Model(self.SHAPE._replace(tied=tied, mtp_layers=mtp), Training(256, data_parallel=4), "h100")
            job = Job(model, pp, 4)
            link = model.accelerator.inside if 4 * pp <= 8 else model.accelerator.between
            wanted = link.latency + model.parameters.embedding * 4 * link.all_reduce / link.rate if (mtp or tied) and pp > 1 else 0.0
            self.assertAlmostEqual(copies_time(job, even_memory(job)), wanted, 15)

    def test_commands(self):
        """DeepSeek-V3: 926,679,040 parameters more on the last device of a pipeline, none on a device alone."""
        path = DATA / "models" / "deepseek-v3.json"
        words = ("--model", path, "--tp", 1, "--ep", 64, "--dp", 64, "--seq", 4096, "--json")
        done = run_command(["model", *words, "--pp", 16, "--global-batch", 4096])
        row, per_layer = json.loads(done.stdout), 0
        entries = {layer["name"]: layer for layer in row["layers"]}
        self.assertAlmostEqual(row["devices"][15]["total"] / 2**30, 39.80, 2)
        per_layer = sum(entries[name]["mem_static"] + entries[name]["mem_weights"] for name in ("moe_decoder",) * 3 + ("mtp", "head"))
        more = row["devices"][15]["weights"] + row["devices"][15]["gradients"] + row["devices"][15]["optimizer"] - per_layer
        self.assertAlmostEqual(more / (926679040 * (2 + 4 + 12 / 64)), 1)
        alone = json.loads(run_command(["model", *words, "--pp", 1]).stdout)
        states = sum(layer["count"] * (layer["mem_static"] + layer["mem_weights"]) for layer in alone["layers"])
        self.assertAlmostEqual(sum(alone["devices"][0][name] for name in ("weights", "gradients", "optimizer")) / states, 1)
        picked, = json.loads(run_command(["pick", *words, "--device", "b200", "--pp", 16, "--global-batch", 1024, "--strategies", "1f1b"]).stdout)
        for memory, peak in zip(picked["memory"], picked["peak_memory_by_device"]):
            self.assertAlmostEqual((memory["total"] - memory["buffers"]) / peak, 1)
        self.assertAlmostEqual(picked["memory"][15]["weights"], 2 * sum(
            {"embedding": 926679040, "mtp": entries["mtp"]["mem_weights"] / 2, "head": entries["head"]["mem_weights"] / 2,
             "moe_decoder": entries["moe_decoder"]["mem_weights"] / 2}[name] * count
            for name, count in {**picked["split"][15]["layers"], "embedding": 1}.items()))

    def test_layers_by_hand(self):
        rows = [{"name": "embedding", "place": "first", "forward_time": 1, "mem_static": 6, "mem_weights": 1},
                {"name": "decoder", "count": 4, "forward_time": 1, "mem_static": 1},
                {"name": "ahead", "forward_time": 1, "mem_static": 2, "copies_embedding": True}, {"name": "head", "place": "last", "forward_time": 1}]
        config = ppsched.config_from_layers(ppsched.Config(3, 4), ppsched.Layers(rows), ppsched.Split([3, 3, 1], [0] * 7))
        self.assertEqual((list(config.mem_static), list(config.mem_weights)), ([8, 10, 0], [1, 1, 0]))
        for row, part in (({"copies_embedding": 1}, "copies_embedding must be true or false"),
                          ({"copies_embedding": True, "place": "first"}, "the flag of a copied embedding is 1")):
            with self.assertRaisesRegex(ppsched.Error, part):
                ppsched.Layers([{"name": "d", "forward_time": 1, **row}])


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "args.json")

    def run_with(self, fields, *words):
        self.path.write_text(json.dumps(fields), encoding="utf-8")
        return run_command([*words, self.path])

    def test_refusals(self):
        for name, value in {**OTHER_LAYERS, **ALONE}.items():
            for words in (("model", "--model"), ("model", "-c"), ("pick", "--model")):
                done = self.run_with({**SMALL, name: value}, *words)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), name)
                self.assertIn(name, done.stderr)
        done = self.run_with({name: ALONE[name] for name in ("mamba_num_heads", "spec")}, "model", "--model", DATA / "models" / "llama-3-8b.json", "-c")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(": with --model it follows from the model", done.stderr)

    def test_overlap_is_a_warning(self):
        done = self.run_with({**SMALL, "fp8": "hybrid", "overlap_grad_reduce": True, "num_query_groups": 2}, "model", "--model")
        self.assertEqual((done.returncode, done.stderr), (0, f"ppsched model: warning: ignored in {self.path}: overlap_grad_reduce, "
                                                             "num_query_groups (only used with group_query_attention)\n"))

    def test_what_is_assumed_is_told(self):
        self.assertTrue(self.run_with(SMALL, "model", "--model").stdout.endswith(
            "assumed, because the model's file leaves it out: bf16 (the launcher's default is float32), no learned positions (max_position_embeddings is missing)\n"))
        row = json.loads(self.run_with(SMALL, "model", "--json", "--model").stdout)
        self.assertEqual(len(row["assumed"]), 2)
        said = {**SMALL, "bf16": True, "max_position_embeddings": 2048}
        self.assertNotIn("assumed", self.run_with(said, "model", "--model").stdout + self.run_with(said, "model", "--json", "--model").stdout)

    def test_sequences_are_as_long_as_there_are_positions(self):
        self.assertEqual(self.run_with({**SMALL, "max_position_embeddings": 2048}, "model", "--model").returncode, 0)
        done = self.run_with({**SMALL, "max_position_embeddings": 2048, "seq_length": 4096}, "model", "--model")
        self.assertIn("--seq 4096 is more than the model's 2048 learned positions", done.stderr)

    def test_states_are_sharded_where_it_is_said(self):
        """The launcher shards none without use_distributed_optimizer, and divides no norms without sequence_parallel."""
        for more, parts in (({}, 1), ({"use_distributed_optimizer": True}, 4), ({"lr": 1}, 1), ({"micro_batch_size": 1}, 1)):
            row = json.loads(self.run_with({**SMALL, **more}, "model", "--json", "--dp", 4, "--tp", 2, "--model").stdout)
            self.assertAlmostEqual(row["devices"][0]["optimizer"] * parts, 6 * row["devices"][0]["weights"])


if __name__ == "__main__":
    unittest.main()
