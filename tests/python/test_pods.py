# SPDX-License-Identifier: Apache-2.0
"""Pods: groups of nodes with slower links between them. Compared with all ranks, listed one by one."""
import itertools
import json
import pathlib
import random
import tempfile
import unittest

from in_process import run_command
from test_rank_order import FIRST, LAST, SHAPE, cluster, ranks

import ppsched
from ppsched._core.price import pipeline_record

SLOW = ppsched.LinkRate(4e9, 0.8, 30e-6, 1.2, 1.1)

MTP = {"model_type": "deepseek_v3", "num_hidden_layers": 3, "hidden_size": 1024, "num_attention_heads": 8, "num_key_value_heads": 8, "intermediate_size": 4096,
       "vocab_size": 32000, "q_lora_rank": 512, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "n_routed_experts": 8,
       "num_experts_per_tok": 2, "moe_intermediate_size": 1024, "n_shared_experts": 1, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1}


def pods(node, pod_nodes, shares_ports=True):
    return cluster(node, shares_ports)._replace(pod_nodes=pod_nodes, beyond=SLOW)


def levels_of(order, node, pod_nodes, tp, cp, pp, dp):
    """Of each pair of pipeline ranks: 0 if they share a node in all replicas, 1 if a pod, else 2."""
    numbers = ranks(order, tp, cp, pp, dp)

    def level(a, b):
        for number, unit in enumerate((node, node * pod_nodes)):
            if all(len({numbers[t, c, place, r] // unit for place in (a, b) for t in range(tp) for c in range(cp)}) == 1 for r in range(dp)):
                return number
        return 2

    return [level(a, b) for a in range(pp) for b in range(pp)]


def rate(link):
    return link.bandwidth * link.efficiency


class PodsTest(unittest.TestCase):
    def test_links_are_those_of_the_ranks(self):
        seed, kinds = random.Random(72), {order: set() for order in (FIRST, LAST)}
        for _ in range(60):
            node, pod_nodes, tp, cp, pp, dp = (seed.choice(values) for values in ((1, 2, 4), (1, 2, 3, 4), (1, 2), (1, 2), (2, 4, 8), (1, 2, 3, 4)))
            device = pods(node, pod_nodes)
            training = ppsched.Training(sequence_length=4096, tensor_parallel=tp, context_parallel=cp, data_parallel=dp)
            model = ppsched.Model(ppsched.Transformer(**SHAPE), training, device)
            counts = [16 // pp + (s == 0) + (s == pp - 1) for s in range(pp)]
            for order in (FIRST, LAST):
                levels = levels_of(order, node, pod_nodes, tp, cp, pp, dp)
                links = [(device.inside, device.between, device.beyond)[level] for level in levels]
                pipeline = pipeline_record(pp, rank_order=order)
                for number, link in enumerate(links):
                    if number % (pp + 1):
                        self.assertEqual(model.pipeline_link(pipeline, *divmod(number, pp)), (link.latency, rate(link)))
                empty = ppsched.Config(pp, 8, p2p_time=[link.latency for link in links], p2p_bandwidth=[rate(link) for link in links])
                config = ppsched.config_from_layers(empty, model.layers(), ppsched.Split(counts, [0] * sum(counts)))
                wanted = ppsched.generate("1f1b", config).evaluate().metrics.makespan
                priced = ppsched.price(model, pp, 8, rank_order=order)
                self.assertAlmostEqual(priced.pipeline_time, wanted, delta=1e-12 * wanted, msg=(order, node, pod_nodes, tp, cp, pp, dp))
                kinds[order].add(tuple(sorted({levels[a * pp + a + 1] for a in range(pp - 1)})))
        self.assertTrue(kinds[LAST] >= {(0, 1), (1, 2), (0, 2)}, kinds)

    def test_rings(self):
        """A ring is as slow as its slowest link. With shared ports, a node has as many ports as it has devices of the group; of a part of
        a node no more than part_node_ports."""
        for node, pod_nodes, tp, dp, shares, most in itertools.product((2, 4), (1, 2, 4), (1, 2), (2, 4, 8, 16), (False, True), (0, 1, 3)):
            device = pods(node, pod_nodes, shares)._replace(part_node_ports=most)
            training = ppsched.Training(sequence_length=4096, tensor_parallel=tp, data_parallel=dp)
            model = ppsched.Model(ppsched.Transformer(**SHAPE), training, device)
            numbers = ranks(FIRST, tp, 1, 1, dp)
            members = [numbers[0, 0, 0, replica] for replica in range(dp)]
            near = max(sum(one // node == member // node for one in members) for member in members)
            level = 0 if len({one // node for one in members}) == 1 else 1 if len({one // (node * pod_nodes) for one in members}) == 1 else 2
            last, ports = (device.inside, device.between, device.beyond)[level], near if shares else 1
            ports = min(ports, most) if most > 0 and near < node else ports
            sent = last.all_reduce * 2 * 1e9 * training.gradient_bytes * (dp - 1) / dp
            rates = (rate(device.inside), ports * rate(device.between), ports * rate(device.beyond))[:level + 1]
            slowest = min(rates) if shares or level == 0 else min(rates[1:])
            self.assertAlmostEqual(model.update_cost(1e9, 0).gradient_time / (last.latency + sent / slowest), 1, places=9,
                                   msg=(node, pod_nodes, tp, dp, shares, most))

    def test_exchanges(self):
        """An all-to-all sends to each member over its link; with one copy a node, rows of several experts cross once."""
        shape = ppsched.Transformer(**SHAPE, experts=64, experts_per_token=4, expert_ffn_size=512)
        for node, pod_nodes, ep in itertools.product((2, 4), (1, 2, 4), (2, 4, 8, 16, 32)):
            device = pods(node, pod_nodes)
            training = ppsched.Training(sequence_length=4096, data_parallel=ep, expert_parallel=ep)
            expert = next(row for row in ppsched.Model(shape, training, device).rows if "decoder" in row.name).name
            parts = [0, 0, 0]
            for member in range(1, ep):
                parts[0 if member // node == 0 else 1 if member // (node * pod_nodes) == 0 else 2] += 1
            links = (device.inside, device.between, device.beyond)
            cost = ppsched.Model(shape, training, device).pass_cost(expert, "forward")
            size = cost.communication_bytes / 2  # of one of two exchanges
            wanted = 2 * sum(link.latency + count / ep * size / rate(link) for link, count in zip(links, parts) if count)
            self.assertAlmostEqual(cost.expert_time / wanted, 1, places=9, msg=(node, pod_nodes, ep))
            if ep <= node:
                continue
            once = ppsched.Model(shape, training._replace(one_copy_a_node=True), device).pass_cost(expert, "forward")

            def reached(places):
                return places * (1 - (1 - 1 / places) ** 4)

            nodes, in_pod, row = ep // node, min(pod_nodes, ep // node), size / 4
            inside = row * reached(ep) * (node - 1) / node / rate(device.inside)
            outside = row * reached(nodes) * ((in_pod - 1) / nodes / rate(device.between) + (nodes - in_pod) / nodes / rate(device.beyond))
            latency = device.beyond.latency if nodes > in_pod else device.between.latency
            self.assertAlmostEqual(once.expert_time / (2 * (latency + max(inside, outside))), 1, places=9, msg=(node, pod_nodes, ep))

    def test_sums_of_copies_of_the_embedding(self):
        """By a ring of the devices that hold a copy, over the slowest link of the job; a table scales it."""
        shape = ppsched.Description(MTP)
        for node, pod_nodes, copies in itertools.product((2, 4), (0, 2, 4), (2, 3, 4)):
            device = pods(node, pod_nodes) if pod_nodes else cluster(node)
            model = ppsched.Model(shape, ppsched.Training(4096), device)
            size = model.memory("embedding").gradients
            for devices in (copies, 4, 8, 16, 64):
                link = device.inside if devices <= node else device.between if not pod_nodes or devices <= node * pod_nodes else SLOW
                wanted = link.latency + 2 * link.all_reduce * size * (1 - 1 / copies) / rate(link)
                self.assertAlmostEqual(model.copies_time(copies, devices) / wanted, 1, places=12, msg=(node, pod_nodes, copies, devices))
            self.assertEqual((model.copies_time(1, 8), model.copies_time(0, 8)), (0, 0))
            for wrong in ((4, 3), (0, 0)):
                with self.assertRaisesRegex(ppsched.Error, f"devices is {wrong[1]}; it must be at least 1, and at least the number of copies, {wrong[0]}"):
                    model.copies_time(*wrong)
        decoders = tuple(ppsched.MeasuredLayer(name, forward_time=0.01, backward_input_time=0.01, backward_weight_time=0.01) for name in ("decoder", "dense_decoder", "moe_decoder", "mtp")
                         if name in {row.name for row in model.rows})
        measured = ppsched.Model(shape, ppsched.Training(4096), device, ppsched.LayerTable(decoders, (ppsched.MeasuredCollective("all_reduce", size, 2, 64, 1.5),)))
        self.assertAlmostEqual(measured.copies_time(2, 64), 1.5)
        for no in (ppsched.Model(ppsched.Transformer(**SHAPE), ppsched.Training(4096), device), ppsched.Model(shape, ppsched.Training(4096, adapter_rank=8, frozen_weights=True), device)):
            self.assertEqual(no.copies_time(2, 64), 0)
        with self.assertRaisesRegex(ppsched.Error, "times need a device"):
            ppsched.Model(shape, ppsched.Training(4096)).copies_time(2, 4)

    def test_one_pod_is_none(self):
        training = ppsched.Training(sequence_length=4096, tensor_parallel=2, data_parallel=8, overlaps_gradients=True)
        shape = ppsched.Transformer(**SHAPE)
        for order in (FIRST, LAST):
            with_pod, without = (ppsched.price(ppsched.Model(shape, training, device), 4, 8, rank_order=order) for device in (pods(4, 16), cluster(4)))
            self.assertEqual(with_pod, without)

    def test_search(self):
        """The search is exhaustive, and which dimension stays in a pod follows from the links."""
        shape = ppsched.Transformer(**SHAPE)
        fixed = {"global_batch": 64, "cp": 1, "micro_batch": 1, "zero": 1, "chunks": 1, "rank_order": (FIRST, LAST)}

        def found(device, top):
            return ppsched.plan_layouts(shape, gpus=32, device=device, fixed=fixed, top=top, strategies=["1f1b"])

        slow = cluster(4)._replace(pod_nodes=4, beyond=ppsched.LinkRate(0.2e9, 1.0, 30e-6))
        rows = found(slow, 1000)
        self.assertEqual(rows.counts["slower"], 0)  # all were priced
        best = min(rows, key=lambda row: row["step"]["step_time"])
        self.assertEqual(found(slow, 1)[0], {**rows[0]})
        self.assertEqual(rows[0]["step"], best["step"])
        self.assertEqual((rows[0]["layout"]["rank_order"], rows[0]["within"]["dp"]), (FIRST, "pod"))
        self.assertGreater(rows[0]["layout"]["pp"], found(cluster(4), 1)[0]["layout"]["pp"])

    def test_command_and_files(self):
        with tempfile.TemporaryDirectory() as folder:
            model, device, types = (pathlib.Path(folder) / name for name in ("config.json", "pods.json", "types.json"))
            model.write_text(json.dumps({"model_type": "llama", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16,
                                         "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 32000}), encoding="utf-8")
            device.write_text(json.dumps({"like": "h100", "pod_nodes": 2, "beyond": {"bandwidth": "2GB/s", "efficiency": 0.9, "latency": "20us"}}), encoding="utf-8")
            words = ("price", "--model", str(model), "--seq", 4096, "--dp", 32, "--json")
            by_file, by_options, without = (json.loads(run_command((*words, "--device", *more)).stdout) for more in (
                [str(device)], ["h100", "--pod-nodes", 2, "--pod-bandwidth", "2GB/s"], ["h100"]))
            self.assertEqual(by_file, by_options)
            self.assertGreater(by_file["step_time"], without["step_time"])
            answer = run_command(("pick", "--model", str(model), "--seq", 4096, "--gpus", 64, "--global-batch", 64, "--device", str(device), "--tp", 4,
                                  "--pp", 4, "--cp", 1, "--zero", 1, "--chunks", 1, "--strategies", "1f1b", "--micro-batch", 1)).stdout
            self.assertIn("in a node: tp 4; in a pod: dp 4; across pods: pp 4", answer)
            for more, wanted in ((("--pod-nodes", 2), "--pod-nodes needs --pod-bandwidth"), (("--pod-bandwidth", "2GB/s"), "--pod-bandwidth needs --pod-nodes"),
                                 (("--pod-nodes", 0, "--pod-bandwidth", "2GB/s"), "--pod-nodes is 0; it must be 1 to 1048576"),
                                 (("--pod-nodes", 2, "--pod-bandwidth", "0GB/s"), "--pod-bandwidth is 0GB/s; it must be above 0")):
                done = run_command((*words, *more))
                self.assertEqual((done.returncode in (1, 2), done.stderr.count("\n")), (True, 1), done.stderr)
                self.assertIn(wanted, done.stderr)
            for more, wanted in ((("--pod-nodes", 2, "--pod-bandwidth", "2GB/s"), "--pod-nodes needs --model"), (("--pod-bandwidth", "2GB/s"), "--pod-bandwidth needs --model"),
                                 (("--model", str(model), "--device-types", "h100:2", "--pod-bandwidth", "2GB/s"), "--pod-bandwidth needs --pod-nodes")):
                done = run_command(("pick", "--devices", 2, "--microbatches", 4, *more) if "--model" not in more else ("pick", *more))
                self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
                self.assertIn(wanted, done.stderr)
            for fields, wanted in (({"pod_nodes": 2}, "beyond.bandwidth is 0; it must be above 0"), ({"pod_nodes": 0}, "pod_nodes is 0; it must be an integer, 1 to 1048576"),
                                   ({"beyond": {"bandwidth": "2GB/s"}}, "but pod_nodes is 0; it must be 1 or more")):
                device.write_text(json.dumps({"like": "h100", **fields}), encoding="utf-8")
                done = run_command((*words, "--device", str(device)))
                self.assertEqual((done.returncode in (1, 2), done.stderr.count("\n")), (True, 1), done.stderr)
                self.assertIn(wanted, done.stderr)

    def test_config_file_and_one_pod(self):
        """Keys of a config file are the options; pods that contain the whole job are told to have no effect."""
        with tempfile.TemporaryDirectory() as folder:
            model, config = (pathlib.Path(folder) / name for name in ("config.json", "job.json"))
            model.write_text(json.dumps({"model_type": "llama", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16,
                                         "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 32000}), encoding="utf-8")
            common = {"model": str(model), "pod_nodes": 2, "pod_bandwidth": "2GB/s", "pp": 4, "tp": 4}
            options = ("--pod-nodes", 2, "--pod-bandwidth", "2GB/s", "--model", str(model), "--pp", 4, "--tp", 4, "--json")
            for command, keys, words in (("price", {"rank_order": LAST, "dp": 4}, ("--rank-order", LAST, "--dp", 4)), ("model", {"dp": 4}, ("--dp", 4)),
                                         ("pick", {"rank_order": [FIRST, LAST], "gpus": 64, "global_batch": 64}, ("--rank-order", FIRST, LAST, "--gpus", 64, "--global-batch", 64)),
                                         ("pick", {"rank_order": LAST, "gpus": 64, "global_batch": 64}, ("--rank-order", LAST, "--gpus", 64, "--global-batch", 64))):
                config.write_text(json.dumps({**common, **keys}), encoding="utf-8")
                by_file, by_options = run_command((command, "-c", str(config), "--json")), run_command((command, *options, *words))
                self.assertEqual((by_file.returncode, by_file.stdout, by_file.stderr), (0, by_options.stdout, ""))
            for value, wanted in (({"rank_order": "pp"}, "rank_order is 'pp'; it must be"), ({"rank_order": []}, "rank_order is None"), ({"pod_nodes": "2"}, "pod_nodes must be a number"),
                                  ({"pod_bandwidth": 5}, "pod_bandwidth must be a text"), ({"rank_order": [FIRST, LAST]}, "price takes one")):
                config.write_text(json.dumps({"model": str(model), **value}), encoding="utf-8")
                done = run_command(("price", "-c", str(config)))
                self.assertEqual((done.returncode in (1, 2), done.stderr.count("\n")), (True, 1), done.stderr)
                self.assertIn(wanted, done.stderr)
            within = ("--pod-nodes", 4, "--pod-bandwidth", "2GB/s", "--model", str(model))
            for words in (("price", "--dp", 4, "--tp", 8), ("model", "--dp", 4, "--tp", 8), ("pick", "--gpus", 32, "--pp", 1), ("pick", "--dp", 4, "--tp", 8)):
                told = run_command((*words, *within)).stderr
                self.assertIn("note: --pod-nodes has no effect: the 32 devices are in one pod of 4 nodes with 8 devices each", told)
                self.assertEqual(run_command((*words, *within, "--json")).stderr, "")
            self.assertNotIn("no effect", run_command(("price", "--dp", 8, "--tp", 8, *within)).stderr)

    def test_measured_collectives_beyond_a_pod(self):
        """Measured sums of one span are scaled by the links of the other: those of a pod to those of several."""
        rows = "kind,tp,cp,ep,etp,micro_batch,seq,recompute,forward_time,backward_input_time,backward_weight_time,mem_forward,mem_static\n" \
               "decoder,,,,,,,,10ms,10ms,10ms,1MB,1MB\ncollective:all_reduce,1GB,4,8,{}ms\n"
        shape, times = ppsched.Transformer(**SHAPE), {}
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "table.csv"
            for measured in (100, 200):
                path.write_text(rows.format(measured), encoding="utf-8")
                for dp in (8, 32):
                    training = ppsched.Training(sequence_length=4096, data_parallel=dp)
                    model = ppsched.Model(shape, training, pods(2, 4), ppsched.read_layer_table(str(path)))
                    times[measured, dp] = model.update_cost(1e9, 0).gradient_time
            for dp in (8, 32):
                self.assertGreater(times[200, dp], 1.9 * times[100, dp])
            self.assertGreater(times[100, 32], 1.5 * times[100, 8])
            found = ppsched.plan_layouts(shape, gpus=32, device=pods(2, 4), table=ppsched.read_layer_table(str(path)), top=3,
                                         fixed={"tp": 1, "cp": 1, "micro_batch": 1, "global_batch": 64, "rank_order": (FIRST, LAST)})
            self.assertEqual(len(found), 3)
            self.assertTrue(all(row["within"].get("dp") in (None, "node", "pod", "job") and row["layer_table"] for row in found))

    def test_counts_that_c_cannot_hold(self):
        device = pods(2, 2)
        for name in ("inside", "between", "beyond"):
            for wrong in (5, "fast", (1e9, 1.0)):
                with self.assertRaisesRegex(TypeError, f"Accelerator: {name} must be a ppsched.LinkRate, not"):
                    ppsched.Model(ppsched.Transformer(**SHAPE), ppsched.Training(4096), device._replace(**{name: wrong}))
        for name in ("pod_nodes", "node_devices"):
            for wrong, message in ((2**33 + 1, f"{name} is {2**33 + 1}"), (-1, f"{name} is -1"), (2.5, f"{name} must be an integer, not 2.5")):
                with self.assertRaisesRegex(ppsched.Error, message):
                    ppsched.Model(ppsched.Transformer(**SHAPE), ppsched.Training(4096), device._replace(**{name: wrong}))

    def test_device_types(self):
        """Devices of a type fill its nodes and pods; between types the slowest link counts."""
        from ppsched.command.device_types import DeviceType, link_lists
        sheet = pods(2, 2)
        types = [DeviceType("a", 8, sheet), DeviceType("b", 2, cluster(2))]
        times = link_lists(types)["p2p_bandwidth"]
        links = {0: sheet.inside, 1: sheet.between, 2: sheet.beyond}
        for a, b in itertools.product(range(10), repeat=2):
            level = 2 if (a < 8) != (b < 8) else 0 if a // 2 == b // 2 else 1 if a // 4 == b // 4 else 2
            self.assertEqual(times[a * 10 + b], rate(links[level]), (a, b))

    def test_pods_measured_sends_and_device_types_together(self):
        """Options put pods into each type; measured sends are those of the first type, at the distance at which they were measured."""
        from ppsched.command.device_types import stages_of, types_of_job, unlike_devices
        first, second = pods(2, 2), cluster(2)._replace(name="b", matrix_rate=5e14)
        shape, training = ppsched.Transformer(**SHAPE), ppsched.Training(4096)
        with tempfile.TemporaryDirectory() as folder:
            paths = {name: str(pathlib.Path(folder) / f"{name}.json") for name in ("a", "b", "links", "model", "plain")}
            for name, device in (("a", cluster(2)), ("b", second)):
                pathlib.Path(paths[name]).write_text(json.dumps({key: getattr(device, key) for key in ("matrix_rate", "vector_rate", "memory_bandwidth", "memory", "node_devices")} | {
                    key: getattr(device, key)._asdict() for key in ("inside", "between")}), encoding="utf-8")
            values = {"device_types": [f"{paths['a']}:8", f"{paths['b']}:2"], "pod_nodes": 2, "pod_bandwidth": f"{SLOW.bandwidth}B/s"}
            types = types_of_job(values)
            self.assertEqual([(one.sheet.pod_nodes, one.sheet.beyond.bandwidth, one.sheet.beyond.latency) for one in types],
                             [(2, SLOW.bandwidth, first.between.latency)] * 2)
            sends = {span: (1e-5 * (1 + number), 1e9 * (9 - number)) for number, span in enumerate((2, 4, 8))}  # in a node, a pod, beyond
            for spans in ((), (4,), (2, 8), (2, 4, 8)):
                table = ppsched.LayerTable((ppsched.MeasuredLayer("decoder", forward_time=0.01, backward_input_time=0.02, backward_weight_time=0.01),), tuple(
                    ppsched.MeasuredCollective("send", size, 2, span, sends[span][0] + size / sends[span][1]) for span in spans for size in (1e6, 1e8)))
                model = ppsched.Model(shape, training, types[0].sheet, table)
                plain = ppsched.Model(shape, training, types[0].sheet)
                found = unlike_devices(stages_of(types, 1, 10), model, 10, model.layers().given, None, 0.0).values
                sheet = types[0].sheet
                own = [sends[span] if span in spans else (link.latency, rate(link)) for span, link in ((2, sheet.inside), (4, sheet.between), (8, sheet.beyond))]
                other = [(link.latency, rate(link)) for link in (second.inside, types[1].sheet.between, types[1].sheet.beyond)]
                for a, b in itertools.product(range(10), repeat=2):
                    level = 2 if (a < 8) != (b < 8) else 0 if a // 2 == b // 2 else 1 if a // 4 == b // 4 else 2
                    ends = [(own if device < 8 else other)[level] for device in (a, b)]
                    wanted = (0.0 if a == b else max(end[0] for end in ends), min(end[1] for end in ends))
                    for name, value in zip(("p2p_time", "p2p_bandwidth"), wanted):
                        self.assertAlmostEqual(found[name][a * 10 + b] / (value or 1), value and 1, delta=1e-9, msg=(spans, name, a, b))
                decoder = next(row for row in found["layers"] if row["name"] == "decoder")
                slower = [ppsched.Model(shape, training, one.sheet).pass_cost("decoder", "forward").time for one in types]
                self.assertAlmostEqual(decoder["forward_time"], 0.01)  # of the first type; the other is slower as its sheet is
                self.assertAlmostEqual(decoder["device_scale"][0][0], slower[1] / slower[0])
                self.assertEqual(plain.pass_cost("decoder", "forward").time, slower[0])

    def test_options_of_pods_beside_device_types(self):
        with tempfile.TemporaryDirectory() as folder:
            model, table, *files = (pathlib.Path(folder) / name for name in ("config.json", "table.csv", "h100.json", "a100.json"))
            model.write_text(json.dumps({"model_type": "llama", "num_hidden_layers": 16, "hidden_size": 2048, "num_attention_heads": 16,
                                         "num_key_value_heads": 8, "intermediate_size": 8192, "vocab_size": 32000}), encoding="utf-8")
            for file in files:
                link = ppsched.find_accelerator(file.stem).between._replace(bandwidth=1e9)
                file.write_text(json.dumps({"like": file.stem, "pod_nodes": 1, "beyond": link._asdict()}), encoding="utf-8")
            table.write_text("kind,forward_time,backward_input_time,backward_weight_time\ndecoder,5ms,5ms,5ms\n"
                             "collective:send,1MB,2,16,1ms\ncollective:send,64MB,2,16,9ms\n", encoding="utf-8")
            words = ("pick", "--model", str(model), "--seq", 4096, "--global-batch", 64, "--strategies", "1f1b", "--tp", 4, "--pp", 8)
            types, options = ("--device-types", "h100:16", "a100:16"), ("--pod-nodes", 1, "--pod-bandwidth", "1GB/s")
            steps = [json.loads(run_command((*words, *more, "--json")).stdout)[0]["step_time"] for more in (
                types, (*types, *options), ("--device-types", *(f"{file}:16" for file in files)), (*types, *options, "--layer-table", str(table)))]
            self.assertLess(steps[0], steps[1])
            self.assertAlmostEqual(steps[1], steps[2])
            self.assertNotEqual(steps[1], steps[3])
            alone = run_command((*words, "--device-types", "h100:32", "--pod-nodes", 4, "--pod-bandwidth", "1GB/s"))
            self.assertIn("note: --pod-nodes has no effect: the 32 devices are in one pod", alone.stderr)


if __name__ == "__main__":
    unittest.main()
