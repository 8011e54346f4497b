# SPDX-License-Identifier: Apache-2.0
"""Descriptions of models: written and read back, patterns of layers, what is refused, and starts of descriptions."""
import json
import pathlib
import tempfile
import unittest

from in_process import run_command

import ppsched
from ppsched import Description, Error, Model, Training

DATA = pathlib.Path(__file__).resolve().parent.parent / "layers"
MLP = {"kind": "mlp", "width": 96}
BASE = {"hidden_size": 64, "vocabulary_size": 128, "kinds": {"a": [MLP], "b": [{"kind": "attention", "heads": 4}]}, "layers": "a"}
NEW = {"model_type": "brandnew", "hidden_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 96, "vocab_size": 99,
       "lru_width": 8, "rope_theta": 1e6}


class DescriptionTest(unittest.TestCase):
    def refused(self, part, **given):
        with self.assertRaises(ppsched.Error) as caught:
            Description({**BASE, **given})
        self.assertIn(part, str(caught.exception))
        self.assertNotIn("\n", str(caught.exception))

    def test_what_is_written_is_read_back(self):
        """Of a file of each family, to equal text and equal costs."""
        training = Training(sequence_length=64)
        for line in (DATA / "counted.jsonl").read_text(encoding="utf-8").splitlines():
            one = Description(json.loads(line)["config"])
            other = Description(one.json())
            self.assertEqual((one.json(), one.layer_kinds, hash(one)), (other.json(), other.layer_kinds, hash(other)))
            self.assertEqual(Model(one, training, "h100").layers().given, Model(other, training, "h100").layers().given)
            self.assertEqual(Description(one.values()), one)
            for blocks in one.values()["kinds"].values():  # only what is said
                self.assertFalse([block for block in blocks if 0 in [value for name, value in block.items() if name != "norms" and not isinstance(value, bool)]])

    def test_patterns(self):
        for text, wanted in (("a", "a"), ("a b", "ab"), ("3xa b", "aaab"), ("2x[a 2xb]", "abbabb"), ("2x[2x[a] b] a", "aabaaba"), ("  a\n b ", "ab"), ("1x[1xa]", "a")):
            found = Description({**BASE, "layers": text})
            self.assertEqual("".join(found.layer_kinds), wanted)
            self.assertEqual(Description({**BASE, "layers": list(wanted)}), found)
        for names, wanted in (("aaab" * 5, "5x[3xa b]"), ("a" * 7, "7xa"), ("ab", "a b"), ("b" + "aab" * 3 + "a", "3x[b 2xa] b a"), ("abba", "a 2xb a")):
            self.assertEqual(Description({**BASE, "layers": list(names)}).values()["layers"], wanted)
        for text, part in (("", "the number of layers is 0"), ("c", "there is no kind c"), ("2a", "x is missing after the count"), ("0xa", "must be 1 to 65471"),
                           ("[a", "] is missing"), ("a]", "no [ is open"), ("3x", "a name is missing"), ("9999xa 9999xb 99999xa", "must be 1 to 65471"),
                           ("60000xa 60000xb", "more than 65471 layers"), ("2x[" * 9 + "a" + "]" * 9, "nested too deeply"), ("99x[999x[a]]", "more than 65471")):
            self.refused(part, layers=text)

    def test_unknown_names(self):
        self.refused("there is no hiden_size; did you mean hidden_size?", hiden_size=3)
        self.refused("did you mean attention?", kinds={"a": [{"kind": "atention", "heads": 4}]})
        self.refused("kind a, block 0: there is no head; did you mean heads?", kinds={"a": [{"kind": "attention", "head": 4}]})
        self.refused("kind must be the name of a kind of block", kinds={"a": [{"heads": 4}]})
        self.refused("tower t: there is no token; did you mean tokens?", towers=[{"name": "t", "token": 3, "blocks": []}])

    def test_nearest_names_of_kinds(self):
        block = {"kind": "mlp", "width": 8}
        for layers, mtp in ((["windw"], None), ("2xwindw", None), ("2xwindow", "windw")):
            values = {"hidden_size": 8, "vocabulary_size": 9, "kinds": {"full": [block], "window": [block]}, "layers": layers}
            with self.assertRaisesRegex(Error, "did you mean window?"):
                Description({**values, **({} if mtp is None else {"mtp_layers": 1, "mtp_kind": mtp})})
        for kind, meant in (("atention", "attention"), ("moe", "experts"), ("feed_forward", "mlp"), ("FFN", "mlp"), ("mla", "latent_attention"), ("gated_deltanet", "delta"),
                            ("mamba2", "mamba"), ("swiglu_mlp", "mlp"), ("conv", "convolution"), ("linear-attention", "delta")):
            with self.assertRaisesRegex(Error, f"kind a, block 0: there is no {kind}; did you mean {meant}\\?"):
                Description({"hidden_size": 8, "vocabulary_size": 9, "kinds": {"a": [{"kind": kind}]}, "layers": "a"})

    def test_wrong_values(self):
        for block, part in (({"kind": "attention"}, "heads is 0; it must be 1 to 1048576"), ({"kind": "mlp", "width": 8, "heads": 2}, "it has no heads, which is 2"),
                            ({"kind": "mlp", "width": 8, "sinks": True}, "it has no sinks"), ({"kind": "attention", "heads": 5}, "5 heads do not divide hidden_size 64"),
                            ({"kind": "attention", "heads": 4, "key_value_heads": 3}, "key_value_heads 3 does not divide 4 heads"),
                            ({"kind": "attention", "heads": 4, "index_heads": 1}, "must all be given, or none"), ({"kind": "mlp", "width": 1.5}, "must be an integer of 0 or more, not 1.5"),
                            ({"kind": "mlp", "width": -1}, "must be an integer"), ({"kind": "mlp", "width": 8, "gated": 1}, "must be true or false, not 1"),
                            ({"kind": "experts", "experts": 4, "experts_per_token": 5, "width": 8}, "experts_per_token is 5; it must be 1 to 4"),
                            ({"kind": "mamba", "heads": 4, "head_size": 8}, "state_size is 0"), ({"kind": "mamba", "mamba_1": True, "state_size": 4}, "needs width and time_step_rank"),
                            ({"kind": "mlp", "width": 8, "parallel": True}, "the first block has none"), ("x", "must be an object"),
                            ({"kind": "attention", "heads": 4, "qk_norm": True, "qk_norm_all": True}, "give one of them"),
                            ({"kind": "mlp", "width": 2**40}, "must be an integer of 0 or more")):
            self.refused(part, kinds={"a": [block]})
        self.refused("value_size is 0", kinds={"a": [{"kind": "latent_attention", "heads": 4, "key_value_rank": 8}]})
        self.refused("a name must not begin with a digit", kinds={"2a": [MLP]}, layers=["2a"])
        self.refused("the name of a part of every model", kinds={"head": [MLP]}, layers="head")
        self.refused("mtp_kind is c; there is no such kind; did you mean a?", mtp_layers=1, mtp_kind="c")
        self.refused("has experts; only the layers of the model may have them", towers=[{"name": "t", "hidden_size": 8, "layers": 1, "blocks": [
            {"kind": "experts", "experts": 2, "experts_per_token": 1, "width": 4}]}])
        self.refused("has the name of a kind", towers=[{"name": "a", "hidden_size": 8, "layers": 1, "blocks": []}])
        self.refused("kinds must be an object", kinds=[])
        self.refused("vocabulary_size is 0", vocabulary_size=0)
        for text, part in (("[]", "must be an object"), ("{", "line 1, column 2"), ('{"a": 1, "a": 2}', "the key occurs twice"), ("[" * 99, "nested too deeply")):
            with self.assertRaisesRegex(ppsched.Error, part):
                Description(text)
        for value in (3, None, {"a": object()}, {"a": {1}}):
            with self.assertRaises(ppsched.Error):
                Description(value)

    def test_shared_keys_and_indexes(self):
        """A layer before makes them: of the same window, with an index of its own."""
        full, shared = {"kind": "attention", "heads": 4}, {"kind": "attention", "heads": 4, "shared_keys": True}
        latent = {"kind": "latent_attention", "heads": 4, "key_value_rank": 8, "value_size": 16, "query_rank": 8}
        index = {**latent, "index_heads": 2, "index_size": 4, "index_tokens": 8}
        keys = "shares keys of an earlier layer with the same window, and there is none"
        self.refused("layer 0 (a) " + keys, kinds={"a": [shared]})
        self.refused("layer 1 (s) " + keys, kinds={"a": [{**full, "window": 8}], "s": [shared]}, layers="a s")
        self.refused("layer 2 (s) " + keys, kinds={"a": [full], "s": [{**shared, "window": 8}], "m": [MLP]}, layers="a m s")
        self.refused("layer 0 (s) " + keys, kinds={"a": [full], "s": [shared]}, layers="s a")
        self.refused("layer 1 (s) shares the index of an earlier layer", kinds={"a": [latent], "s": [{**index, "shared_index": True}]}, layers="a s")
        self.refused("MTP layer 0 (s) " + keys, kinds={"a": [MLP], "s": [shared]}, mtp_layers=1, mtp_kind="s")
        self.refused("tower 0 (t) " + keys, towers=[{"name": "t", "hidden_size": 8, "layers": 2, "blocks": [shared]}])
        for kinds in ({"a": [{**full, "window": 8}], "s": [{**shared, "window": 8}]}, {"a": [index], "s": [{**index, "shared_index": True}]}):
            self.assertEqual(Description({**BASE, "kinds": kinds, "layers": "a 3xs"}).layer_kinds, ["a", "s", "s", "s"])

    def test_from_transformer(self):
        found = Description(ppsched.Transformer(4, 64, 4, 128, 96, experts=4, experts_per_token=2, expert_ffn_size=32, dense_layers=1, tied=True, mtp_layers=1))
        self.assertEqual(found.layer_kinds, ["decoder"] + ["moe_decoder"] * 3)
        self.assertEqual((found.tied, found.causal, found.mtp_layers, found.layers), (True, True, 1, 4))
        self.assertIn("4 layers", repr(found))


class GuessTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, values):
        path = self.folder / name
        path.write_text(json.dumps(values), encoding="utf-8")
        return path

    def test_starts(self):
        found = Description.guess(NEW)
        self.assertEqual((found.warnings, found.layers), (["model_type", "lru_width"], 3))
        self.assertEqual(Description.guess({"a": 1}).warnings[:3], ["model_type", "hidden_size", "vocab_size"])
        known = {**NEW, "model_type": "llama"}
        del known["lru_width"]
        self.assertEqual(Description.guess(known), Description(known))
        routed = Description.guess({**NEW, "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1})
        self.assertEqual(routed.layer_kinds, ["decoder", "moe_decoder", "moe_decoder"])
        mixed = Description.guess({**NEW, "layer_types": ["full_attention", "sliding_attention", "recurrent"], "sliding_window": 8})
        self.assertEqual((mixed.layer_kinds, mixed.warnings), (["decoder", "window_decoder", "decoder"], ["model_type", "layer_types", "lru_width"]))

    def test_the_command(self):
        """A whole description reads back to the same figures; a start of one says what is not in it, and is refused until it is gone."""
        model, told = self.file("config.json", {**NEW, "model_type": "llama", "lru_width": 0}), self.folder / "told.json"
        self.assertEqual(run_command(["model", "--model", model, "--describe", "-o", told]).returncode, 0)
        answers = [run_command(["model", "--model", path, "--seq", 64, "--json"]).stdout for path in (model, told)]
        self.assertEqual(answers[0], answers[1])
        self.assertGreater(json.loads(answers[0])["parameters"]["total"], 0)
        done = run_command(["model", "--model", self.file("new.json", NEW), "--describe", "-o", told])
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        values = json.loads(told.read_text(encoding="utf-8"))
        self.assertEqual(values["unknown"], ["model_type", "lru_width"])
        done = run_command(["model", "--model", told, "--seq", 64])
        self.assertEqual(done.returncode, 1)
        self.assertIn('the key "unknown" lists parts that are not described yet', done.stderr)
        del values["unknown"]
        self.assertEqual(run_command(["model", "--model", self.file("whole.json", values), "--seq", 64]).returncode, 0)
        self.assertEqual(run_command(["model", "--describe"]).returncode, 2)

    def test_a_start_lists_what_stands_around_the_text(self):
        """The tower of a new model, and that of a new model around a known text; fields that join them change nothing."""
        around = {"model_type": "newvl", "vision_config": {"depth": 2, "hidden_size": 32}, "image_token_id": 5, "vision_feature_layer": -1}
        for text, unknown in (({**NEW, "model_type": "newtext"}, ["model_type", "lru_width", "odd_config", "vision_config"]),
                              ({**NEW, "model_type": "llama", "lru_width": 0}, ["vision_config"])):
            more = {"odd_config": {"a": 1}} if "odd_config" in unknown else {}
            path, told = self.file("config.json", {**around, "text_config": text, **more}), self.folder / "told.json"
            done = run_command(["model", "--model", path, "--describe", "-o", told])
            self.assertEqual(done.returncode, 1, done)
            values = json.loads(told.read_text(encoding="utf-8"))
            self.assertEqual(sorted(values["unknown"]), sorted(unknown))
            self.assertNotIn("towers", values)
        done = run_command(["model", "--model", self.file("config.json", {**around, "text_config": NEW}), "--seq", 64])
        self.assertIn("not understood: lru_width, vision_config;", done.stderr)

    def test_the_output_of_a_start_is_tied_around_the_text(self):
        self.assertTrue(Description.guess({"model_type": "newvl", "tie_word_embeddings": True, "text_config": NEW}).tied)

    def test_a_hub_name(self):
        for name in ("Someone/Some-Model-8B", "Some-Model-3.1-8B", "gpt2"):
            done = run_command(["model", "--model", name])
            self.assertEqual(done.returncode, 1)
            self.assertIn("download its config.json and give that file", done.stderr)
        self.assertIn("cannot read no/file.json", run_command(["model", "--model", "no/file.json"]).stderr)
        path = self.file("config.json", NEW)
        self.assertIn(f"{self.folder} is a folder; give {path}", run_command(["model", "--model", self.folder]).stderr)


if __name__ == "__main__":
    unittest.main()
