# SPDX-License-Identifier: Apache-2.0
"""The order of ranks of a job: which dimension stays in a node. Compared with all ranks, listed one by one."""
import itertools
import json
import pathlib
import random
import tempfile
import unittest

from in_process import run_command

import ppsched
from ppsched._core.layout_search import JobWords, search_layouts
from ppsched._core.plan_layouts import lay_out

FIRST, LAST = "tp-cp-ep-dp-pp", "tp-cp-ep-pp-dp"
SHAPE = dict(layers=16, hidden_size=2048, ffn_size=8192, heads=16, key_value_heads=16, vocabulary_size=32000, gated=True, causal=True)


def cluster(node, shares_ports=True):
    return ppsched.find_accelerator("h100")._replace(node_devices=node, shares_ports=shares_ports, scale_slowdown=0.0)


def ranks(order, tp, cp, pp, dp):
    """All ranks by (tensor, context, pipeline, data), numbered with the first dimension fastest."""
    sizes = {"tp": tp, "cp": cp, "ep": 1, "pp": pp, "dp": dp}
    names = order.split("-")
    places = itertools.product(*(range(sizes[name]) for name in reversed(names)))
    found = {}
    for rank, place in enumerate(places):
        at = dict(zip(reversed(names), place))
        found[at["tp"], at["cp"], at["pp"], at["dp"]] = rank
    return found


def pairs_of(order, node, tp, cp, pp, dp):
    """Whether the devices of two pipeline ranks share a node, in all pipelines, with the ranks of both."""
    numbers = ranks(order, tp, cp, pp, dp)

    def nodes(place, replica):
        return {numbers[t, c, place, replica] // node for t in range(tp) for c in range(cp)}

    return [all(len(nodes(a, r) | nodes(b, r)) == 1 for r in range(dp)) for a in range(pp) for b in range(pp)]


def near_of(order, node, tp, cp, pp, dp):
    """Of a data-parallel group (cp times dp), the fewest members of its largest part in a node, and whether it is in one node."""
    numbers = ranks(order, tp, cp, pp, dp)
    largest = []
    for t, p in itertools.product(range(tp), range(pp)):
        members = [numbers[t, c, p, d] // node for c in range(cp) for d in range(dp)]
        largest.append(max(members.count(one) for one in members))
    return min(largest)


class RankOrderTest(unittest.TestCase):
    def test_links_are_those_of_the_ranks(self):
        seed, compared, fast = random.Random(56), 0, {FIRST: 0, LAST: 0}
        while compared < 100:
            node, tp, cp, pp, dp = seed.choice((2, 4, 8)), seed.choice((1, 2, 4)), seed.choice((1, 2)), seed.choice((2, 4, 8)), seed.choice((1, 2, 4))
            device = cluster(node)
            training = ppsched.Training(sequence_length=4096, tensor_parallel=tp, context_parallel=cp, data_parallel=dp)
            model = ppsched.Model(ppsched.Transformer(**SHAPE), training, device)
            layers = model.layers()
            counts = [16 // pp + (s == 0) + (s == pp - 1) for s in range(pp)]
            for order in (FIRST, LAST):
                near = pairs_of(order, node, tp, cp, pp, dp)
                links = [model.link(1 if one else node + 1) for one in near]
                empty = ppsched.Config(pp, 8, p2p_time=[one for one, _ in links], p2p_bandwidth=[rate for _, rate in links])
                config = ppsched.config_from_layers(empty, layers, ppsched.Split(counts, [0] * sum(counts)))
                wanted = ppsched.generate("1f1b", config).evaluate().metrics.makespan
                priced = ppsched.price(model, pp, 8, rank_order=order)
                self.assertAlmostEqual(priced.pipeline_time, wanted, delta=1e-12 * wanted, msg=(order, node, tp, cp, pp, dp))
                fast[order] += any(near[a * pp + a + 1] for a in range(pp - 1)) and not all(near)
            compared += 1
        self.assertGreater(min(fast.values()), 5)

    def test_sums_of_gradients_use_the_ports_of_a_node(self):
        """With shared ports, a ring over nodes is as many times faster as the group has devices in a node."""
        for node, tp, cp, pp, dp in itertools.product((4, 8), (1, 2, 4), (1, 2), (2, 4), (4, 8)):
            device = cluster(node)
            training = ppsched.Training(sequence_length=4096, tensor_parallel=tp, context_parallel=cp, data_parallel=dp)
            if tp * cp > node or tp * cp * dp <= node:
                continue  # the default order has the whole group in one node
            model = ppsched.Model(ppsched.Transformer(**SHAPE), training, device)
            times, near = {}, {}
            for order in (FIRST, LAST):
                times[order] = ppsched.price(model, pp, 8, rank_order=order).exposed_data_parallel
                near[order] = near_of(order, node, tp, cp, pp, dp)
            between, inside = device.between, device.inside

            def rate(count):
                return min(count * between.bandwidth * (between.efficiency or 1), inside.bandwidth * (inside.efficiency or 1))

            def ring(seconds):
                return seconds - between.latency

            self.assertAlmostEqual(ring(times[LAST]) / ring(times[FIRST]), rate(near[FIRST]) / rate(near[LAST]), places=6,
                                   msg=(node, tp, cp, pp, dp, near))

    def test_search(self):
        """With both orders given, the search has all layouts of either, and each row is what its pipeline takes."""
        shape = ppsched.Transformer(**SHAPE)
        fixed = {"global_batch": 64, "tp": 1, "cp": 1, "micro_batch": 1, "zero": 1}
        found = {order: ppsched.plan_layouts(shape, gpus=32, device="h100", fixed={**fixed, "rank_order": order}, top=1000)
                 for order in (FIRST, LAST, (FIRST, LAST))}
        unasked = ppsched.plan_layouts(shape, gpus=32, device="h100", fixed=fixed, top=1000)
        self.assertEqual(list(unasked), list(found[FIRST]))
        self.assertEqual({row["layout"]["rank_order"] for row in found[LAST]}, {LAST})
        both = sorted([*found[FIRST], *found[LAST]], key=lambda row: row["step"]["step_time"])
        self.assertEqual([row["step"]["step_time"] for row in found[FIRST, LAST]], [row["step"]["step_time"] for row in both])
        for row in found[LAST]:
            self.assertGreater(row["layout"]["pp"], 1)
            self.assertEqual(set(row["runnable_on"]) - {"megatron", "primus", "mindspeed", "pytorch"}, set())
        search = found[LAST].search
        training = ppsched.Training(sequence_length=found[LAST][0]["layout"]["seq"], sequence_parallel=True, overlaps_gradients=True,
                                    overlaps_parameters=True, overlaps_context=True)
        words = JobWords(ppsched.Description(shape).json(), training, ppsched.find_accelerator("h100"), 32, (*fixed.items(), ("rank_order", LAST)))
        for ranked in search_layouts(words, 4).best:
            self.assertAlmostEqual(lay_out(words, ranked).schedule.evaluate().metrics.makespan, ranked.found.price.pipeline_time, places=12)
        self.assertEqual(len(search.best), len(found[LAST]))

    def test_command_and_files(self):
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "config.json"
            model.write_text(json.dumps({"model_type": "llama", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16,
                                         "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 32000}), encoding="utf-8")
            words = ("pick", "--model", str(model), "--device", "h100", "--seq", 4096, "--gpus", 32, "--global-batch", 64, "--tp", 1, "--pp", 4,
                     "--zero", 1, "--chunks", 1, "--strategies", "1f1b")
            done = run_command((*words, "--rank-order", LAST, "-o", f"{folder}/out/"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(LAST, done.stdout)
            self.assertIn("--use-tp-pp-dp-mapping", (pathlib.Path(folder) / "out" / "megatron.args").read_text(encoding="utf-8"))
            self.assertIn("cfg.dist.use_tp_pp_dp_mapping = True", (pathlib.Path(folder) / "out" / "bridge.py").read_text(encoding="utf-8"))
            self.assertNotIn(LAST, run_command(words).stdout)
            wrong = run_command((*words, "--rank-order", "pp-dp"))
            self.assertEqual((wrong.returncode, wrong.stderr.count("\n")), (2, 1))

    def test_refusals(self):
        training = ppsched.Training(sequence_length=4096, data_parallel=4, expert_parallel=2)
        model = ppsched.Model(ppsched.Transformer(**SHAPE, experts=8, experts_per_token=2, expert_ffn_size=512), training, "h100")
        with self.assertRaisesRegex(ppsched.Error, "expert_parallel 2 times expert_tensor_parallel 1 must be tensor_parallel 1 times context_parallel 1"):
            ppsched.price(model, 4, 8, rank_order=LAST)
        with self.assertRaisesRegex(ppsched.Error, "rank_order is 'pp'; it must be tp-cp-ep-dp-pp or tp-cp-ep-pp-dp"):
            ppsched.price(model, 4, 8, rank_order="pp")

    def test_mapping_of_a_megatron_file(self):
        """A search takes use_tp_pp_dp_mapping of Megatron-LM's arguments: both orders are searched."""
        fields = {"num_layers": 16, "hidden_size": 2048, "num_attention_heads": 16, "ffn_hidden_size": 8192, "seq_length": 4096, "vocab_size": 32000, "swiglu": True}
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "arguments.json"
            words = ("pick", "--model", str(model), "--gpus", 64, "--global-batch", 64, "--pp", 4, "--tp", 4)
            model.write_text(json.dumps(fields), encoding="utf-8")
            without, both, first = (run_command((*words, *more, "--json")) for more in ((), ("--rank-order", FIRST, LAST), ("--rank-order", FIRST)))
            self.assertEqual(without.stdout, first.stdout)
            for mapping, wanted in ((True, both), (False, first)):
                model.write_text(json.dumps({**fields, "use_tp_pp_dp_mapping": mapping}), encoding="utf-8")
                done = run_command((*words, "--json"))
                self.assertEqual((done.stdout, done.stderr), (wanted.stdout, ""))
                self.assertEqual("the search tries both orders of ranks" in run_command(words).stderr, mapping)
            self.assertNotEqual(both.stdout, first.stdout)
            model.write_text(json.dumps({**fields, "use_tp_pp_dp_mapping": True}), encoding="utf-8")
            self.assertEqual(run_command((*words, "--rank-order", FIRST, "--json")).stdout, first.stdout)

    def test_layouts_that_are_planned_one_by_one(self):
        """pick without --gpus, and model, read use_tp_pp_dp_mapping: links and replicas are where this order puts them."""
        fields = {"num_layers": 16, "hidden_size": 2048, "num_attention_heads": 16, "ffn_hidden_size": 8192, "seq_length": 4096, "vocab_size": 32000,
                  "swiglu": True, "tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 4, "world_size": 64, "micro_batch_size": 1,
                  "global_batch_size": 64, "use_distributed_optimizer": True}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "arguments.json"
            words, one = ("pick", "--model", str(path), "--device", "h100", "--strategies", "1f1b"), ("--chunks", 1, "--json")
            path.write_text(json.dumps(fields), encoding="utf-8")
            usual, first, last = (json.loads(run_command((*words, *more, *one)).stdout)[0] for more in ((), ("--rank-order", FIRST), ("--rank-order", LAST)))
            self.assertEqual(usual, first)
            path.write_text(json.dumps({**fields, "use_tp_pp_dp_mapping": True}), encoding="utf-8")
            done = run_command((*words, *one))
            self.assertEqual((done.returncode, done.stderr, json.loads(done.stdout)[0]), (0, "", last))
            self.assertEqual(json.loads(run_command((*words, "--rank-order", FIRST, *one)).stdout)[0], first)
            self.assertEqual((last["layout"].pop("rank_order"), "rank_order" in first["layout"]), (LAST, False))
            self.assertEqual(last["layout"], first["layout"])
            model = ppsched.Model(ppsched.read_model(str(path)).description, ppsched.Training(4096, tensor_parallel=2, data_parallel=8, sharding=1), "h100")
            for row, order in ((first, FIRST), (last, LAST)):
                split = [sum(stage["layers"].values()) for stage in row["split"]]
                priced = ppsched.price(model, 4, 8, rank_order=order, split=split)
                self.assertAlmostEqual(row["step"]["data_parallel_time"] / priced.exposed_data_parallel, 1, places=9)
            self.assertAlmostEqual(last["step_time"] / priced.pipeline_time, 1, places=3)  # all pairs of the pipeline share a node
            self.assertLess(last["step_time"], first["step_time"])
            self.assertGreater(last["step"]["data_parallel_time"], first["step"]["data_parallel_time"])
            for runtime, launch in last["launch"].items():
                can = runtime in ("megatron", "primus", "mindspeed", "pytorch")
                self.assertEqual(launch["line"] is not None and "pp" in launch["line"] and runtime != "pytorch", "use" in (launch["line"] or ""), (runtime, launch))
                self.assertTrue(can or launch["line"] is None)
            self.assertEqual(last["launch"]["torchtitan"]["reason"], "torchtitan numbers the replicas of a stage before the stages")
            self.assertTrue(last["runs_on"] and set(last["runs_on"]) <= {"megatron", "primus", "mindspeed", "pytorch"} < set(first["runs_on"]) | {"primus", "mindspeed"}, last["runs_on"])
            text = run_command(words).stdout
            self.assertFalse([name for name in ("torchtitan", "jaxpp", "colossalai", "deepspeed") if name in text], text)
            self.assertIn("--use-tp-pp-dp-mapping", text)
            alone = [run_command((*words, "--dp", 1, *more)).stdout for more in (("--rank-order", FIRST), ("--rank-order", LAST))]
            self.assertTrue(alone[0])
            self.assertEqual(*alone)  # with one replica both are the same
            self.assertEqual(run_command((*words, "--dp", 1, "--rank-order", LAST, "--runtime", "torchtitan")).returncode, 0)
            self.assertIn(f"order of ranks: {LAST}, which only megatron, primus, mindspeed, pytorch can have", text)
            for more, wanted in ((("--device-types", "h100:32", "a100:32"), "devices of a type are consecutive GPUs"), (("--free-device-order",), "the rank map is for the usual order"),
                                 (("--runtime", "torchtitan"), "torchtitan numbers the replicas"), (("--rank-order", FIRST, LAST), "--rank-order: give one order")):
                asked = run_command(("pick", "--model", str(path), "--strategies", "1f1b", *more))
                self.assertEqual((asked.returncode, asked.stderr.count("\n")), (2, 1), asked.stderr)
                self.assertIn(wanted, asked.stderr)
            self.assertEqual(run_command(("model", "--model", str(path))).stderr, "")
            measured = [json.loads(run_command(("model", "--model", str(path), "--step-time", "1s", "--json", "-c", str(config))).stdout)["layers"][1]["forward_time"]
                        for config in (self.config(folder, mapping) for mapping in (False, True))]
            self.assertGreater(abs(measured[1] / measured[0] - 1), 1e-6)  # the rest of the measured step is that of layers
            self.assertEqual(json.loads(run_command((*words, "-c", str(self.config(folder, False)), *one)).stdout)[0], first)  # over the model's file
            alone = run_command(("pick", "--devices", 2, "--microbatches", 4, "--rank-order", LAST))
            self.assertIn("--rank-order needs --model", alone.stderr)

    @staticmethod
    def config(folder, mapping):
        path = pathlib.Path(folder) / f"mapping-{mapping}.json"
        path.write_text(json.dumps({"use_tp_pp_dp_mapping": mapping}), encoding="utf-8")
        return path


if __name__ == "__main__":
    unittest.main()
