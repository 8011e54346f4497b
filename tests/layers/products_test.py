#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Operations of blocks with sizes drawn at random, as products.py counts them. PPSCHED_SEED draws others, PPSCHED_CASES more."""
import os
import random
import unittest

from products import of_slices, operations

from ppsched import Description, Model, Training

SEED, CASES = int(os.environ.get("PPSCHED_SEED", "1")), int(os.environ.get("PPSCHED_CASES", "12"))
HIDDEN, LONGEST = 48, 384


def heads(draw):
    kv = draw.choice((1, 2, 3))
    return {"heads": kv * draw.choice((1, 2)), "key_value_heads": kv, "head_size": draw.choice((4, 6, 8))}


def gate(draw):
    return draw.choice(({}, {"output_gate": True}, {"head_gate": True}))


def index(draw):
    return {"index_heads": draw.choice((1, 2, 3)), "index_size": draw.choice((3, 4)), "index_tokens": draw.choice((8, 33, 1000))}


def attention(draw):
    windows = {"window": draw.choice((1, 7, 64, 500))}
    more = draw.choice(({}, windows, {"chunk": draw.choice((32, 100))}, index(draw), {**index(draw), **windows}, {"value_is_key": True}, {"shared_keys": True},
                        {"shared_keys": True, **windows}, {"value_size": draw.choice((4, 10))}))
    return {**heads(draw), **gate(draw), **more, "sinks": draw.random() < 0.5}


def latent_attention(draw):
    return {"heads": draw.choice((1, 2, 4)), "head_size": 6, "rope_size": 2, "value_size": draw.choice((4, 6)), "key_value_rank": 10, **gate(draw),
            "query_rank": 9, **draw.choice(({}, index(draw), {**index(draw), "shared_index": True}, {"window": draw.choice((7, 64))},
                                            {**index(draw), "window": draw.choice((7, 64))}))}


def compressed_attention(draw):
    more = draw.choice(({}, {"ratio": 16}, {"ratio": 4, **index(draw)}))
    return {"heads": 4, "head_size": 6, "query_rank": 9, "output_groups": draw.choice((1, 2)), "output_rank": 5, "window": draw.choice((16, 40)), **more}


def delta(draw):
    keys = draw.choice((1, 2))
    by_channel = {"decay_rank": 5, "gate_rank": draw.choice((0, 5)), "heads": keys}
    return {"key_value_heads": keys, "heads": 2 * keys, "head_size": 6, "value_size": draw.choice((6, 10)), "convolution": 4, **draw.choice(({}, by_channel))}


def mamba(draw):
    if draw.random() < 0.3:
        return {"mamba_1": True, "width": 96, "state_size": 8, "time_step_rank": 3, "convolution": 4}
    groups = draw.choice((1, 2))
    return {"heads": 2 * groups, "head_size": draw.choice((4, 8)), "groups": groups, "state_size": draw.choice((4, 16)), "convolution": draw.choice((0, 4))}


def convolution(draw):
    return {"convolution": draw.choice((2, 3))}


def mlp(draw):
    return {"width": draw.choice((40, 64)), "gated": draw.random() < 0.5}


def experts(draw):
    return {"experts": 8, "experts_per_token": 2, "width": 20, "gated": draw.random() < 0.5, **draw.choice(({}, {"latent_size": 12})),
            **draw.choice(({}, {"shared_width": 24}, {"shared_width": 24, "shared_gate": True})), **draw.choice(({}, {"idle_experts": 8}))}


def linear(_draw):
    return {}


DRAWN = (attention, latent_attention, compressed_attention, delta, mamba, convolution, mlp, experts, linear)


def described(block, tokens, samples):
    return of_blocks([block], tokens, samples)


def of_blocks(blocks, tokens, samples, device=None):
    """A model of one layer x; what shares keys or an index takes them from a layer before."""
    own = [{name: value for name, value in block.items() if not name.startswith("shared_i") and name != "shared_keys"} for block in blocks]
    values = {"hidden_size": HIDDEN, "vocabulary_size": 8, "kinds": {"own": own, "x": blocks}, "layers": ["x"] if own == blocks else ["own", "x"]}
    return Model(Description(values), Training(sequence_length=tokens, micro_batch_size=samples), device)


def slack(block, tokens, samples):
    """The library takes the mean of what queries see, of which the query itself is half, and of groups of tokens that are not full a part."""
    if block["kind"] not in ("attention", "latent_attention", "compressed_attention"):
        return 0.0
    sizes = 2 * (block["head_size"] + block.get("rope_size", 0)) + block.get("value_size", block["head_size"])
    per_key = 2 * (2 * block["heads"] * sizes + 3 * block.get("index_heads", 0) * block.get("index_size", 0))
    return per_key * tokens * samples


class ProductsTest(unittest.TestCase):
    def test_operations(self):
        draw = random.Random(SEED)
        for kind in DRAWN:
            for _ in range(CASES):
                block = {"kind": kind.__name__, **kind(draw)}
                tokens = draw.choice((64, 256, LONGEST)) if kind is not mamba else draw.choice((64, 256, 512))
                samples = draw.choice((1, 2))
                model = described(block, tokens, samples)
                for name, wanted in operations(block, HIDDEN, tokens, samples)._asdict().items():
                    found = model.pass_cost("x", name).matrix_operations
                    room = 0.0 if name == "weight" else slack(block, tokens, samples) + (0.01 * wanted if kind is delta else 0.0)
                    self.assertLessEqual(abs(found - wanted), room + 1e-9 * wanted, (SEED, block, tokens, samples, name, found, wanted))

    def test_taps_of_convolutions(self):
        """Each tap is a product and a sum for an element; W sums over the tokens for each tap."""
        for name in ("forward", "input", "weight"):
            costs = [described({"kind": "convolution", "convolution": taps}, 64, 2).pass_cost("x", name).vector_operations for taps in (3, 5)]
            self.assertEqual(costs[1] - costs[0], 2 * sum(2 for _ in range(64 * 2) for _ in range(HIDDEN)))

    def test_tensors_that_are_kept(self):
        """Those that each kernel's code saves for its backward, for one token in bytes (docs/model.md has the list); in front of each block a norm
        keeps its input, and the first matrix its own."""
        keys, values, heads, inner, groups, state = 2 * 6, 4 * 10, 4, 4 * 8, 2, 16
        rule = {"convolution": 2 * (2 * keys + values), "queries, keys": 2 * 2 * keys, "values": 2 * values, "step": 2 * heads, "inverse": 2 * heads * 64,
                "output, gate": 2 * 2 * values, "last matrix": 2 * values}
        by_channel = {"convolution": 2 * 3 * 24, "queries, keys": 2 * 2 * 24, "values": 2 * 24, "step": 2 * 4, "inverse, scores": 2 * 2 * 4 * 64, "decay": 2 * 24,
                      "ranks": 2 * 2 * 5, "output, gate": 2 * 2 * 24, "last matrix": 2 * 24}
        for block, kept in (
                ({"kind": "delta", "key_value_heads": 2, "heads": 4, "head_size": 6, "value_size": 10, "convolution": 4}, {**rule, "decay": 4 * heads}),
                ({"kind": "delta", "key_value_heads": 4, "heads": 4, "head_size": 6, "decay_rank": 5, "gate_rank": 5, "convolution": 4}, by_channel),
                ({"kind": "mamba", "heads": 4, "head_size": 8, "groups": groups, "state_size": state, "convolution": 4},
                 {"first matrix": 2 * (2 * inner + 2 * groups * state + 4), "scan": 2 * inner, "last matrix": 2 * inner}),
                ({"kind": "mamba", "mamba_1": True, "width": 96, "state_size": 8, "time_step_rank": 3, "convolution": 4},
                 {"gate": 2 * 96, "convolution": 2 * 2 * 96, "ranks": 2 * (3 + 2 * 8), "steps": 2 * 96, "scan": 2 * 96, "last matrix": 2 * 96}),
                ({"kind": "convolution", "convolution": 3}, {"factors": 2 * 4 * HIDDEN, "convolution": 2 * HIDDEN, "last matrix": 2 * HIDDEN})):
            found = described(block, 256, 2).memory("x").activations / (256 * 2)
            self.assertEqual(found, 2 * 2 * HIDDEN + sum(kept.values()), block)

    def test_layers_of_many_blocks(self):
        """Two mixers beside each other, two feed-forwards, experts beside an MLP: a layer takes what its blocks take, whatever they read."""
        draw = random.Random(SEED)
        for _ in range(CASES):
            blocks = [{"kind": kind.__name__, **kind(draw)} for kind in draw.sample(DRAWN, draw.choice((2, 3, 4)))]
            for block in blocks[1:]:
                block.update(draw.choice(({}, {"parallel": True})))
            for name in ("forward", "input", "weight"):
                found = of_blocks(blocks, 256, 2).pass_cost("x", name).matrix_operations
                wanted = sum(described({**block, "parallel": False}, 256, 2).pass_cost("x", name).matrix_operations for block in blocks)
                self.assertAlmostEqual(found / wanted, 1, delta=1e-12)

    def test_slices_take_what_their_positions_see(self):
        """The share of the scores, by which slices grow, against a sum over the queries of each slice."""
        block = {"kind": "attention", "heads": 6, "key_value_heads": 6, "head_size": 8}
        tokens, parts = 512, 4
        whole = operations(block, HIDDEN, tokens, 1).forward
        scores = whole - 2 * tokens * 4 * HIDDEN * HIDDEN
        found = described(block, tokens, 1)
        double = described(block, 2 * tokens, 1).pass_cost("x", "forward").matrix_operations
        once = found.pass_cost("x", "forward").matrix_operations
        share = (double - 2 * once) / 2 / once
        for number in range(parts):
            seen = sum(i + 1 for i in range(number * tokens // parts, (number + 1) * tokens // parts))
            wanted = (whole - scores) / parts + seen * 4 * HIDDEN
            linear, growing = (1 - share) * once / parts, share * once * (2 * number + 1) / parts**2
            self.assertAlmostEqual((linear + growing) / wanted, 1, delta=0.005)

    def test_slices_of_each_kind(self):
        """Slices of full attention of each form against the sums over the positions of their queries. A window, a chunk or an index ends the growth, so that
        the share is smaller than with full attention, and all slices together take the same. Other kinds do not grow at all."""
        draw, tokens, parts = random.Random(SEED), 512, 4
        full = {"attention": ({}, {"value_is_key": True}, {"value_size": 10}), "latent_attention": ({},)}
        few = {"attention": ({"window": 64}, {"chunk": 64}), "latent_attention": ({"window": 64},), "compressed_attention": ({"window": 64},)}
        sizes = {"attention": {"heads": 6, "key_value_heads": 2, "head_size": 8},
                 "latent_attention": {"heads": 4, "head_size": 6, "rope_size": 2, "value_size": 6, "key_value_rank": 10, "query_rank": 9},
                 "compressed_attention": {"heads": 4, "head_size": 6, "query_rank": 9, "output_groups": 2, "output_rank": 5}}

        def shared(block):
            once, double = (described(block, each, 1).pass_cost("x", "forward").matrix_operations for each in (tokens, 2 * tokens))
            return once, (double - 2 * once) / 2 / once

        for kind, forms in full.items():
            for form in forms:
                block = {"kind": kind, **sizes[kind], **form}
                once, share = shared(block)
                for number, wanted in enumerate(of_slices(block, HIDDEN, tokens, parts)):
                    found = once / parts * (1 - share + share * (2 * number + 1) / parts)
                    self.assertAlmostEqual(found / wanted, 1, delta=0.006, msg=(block, number))
        for kind, forms in few.items():
            for form in forms:
                block = {"kind": kind, **sizes[kind], **form}
                once, share = shared(block)
                all_keys = shared({"kind": "attention", **sizes["attention"]})[1]
                wanted = of_slices(block, HIDDEN, tokens, parts)
                self.assertTrue(0 <= share < 0.3 * all_keys, (block, share))
                self.assertAlmostEqual(once / sum(wanted), 1, delta=0.02, msg=block)
                self.assertLess(max(wanted[1:]) - min(wanted[1:]), 1e-9 * sum(wanted), block)
        for kind in (delta, mamba, convolution, mlp, experts, linear):
            block = {"kind": kind.__name__, **kind(draw)}
            self.assertEqual(of_blocks([block], tokens, 1, "h100").attention_shares()["x"], 0, block)
            wanted = of_slices(block, HIDDEN, tokens, 1 if kind is mamba and not block.get("mamba_1") else parts)
            self.assertLess(max(wanted) - min(wanted), 1e-3 * sum(wanted), block)



if __name__ == "__main__":
    unittest.main()
