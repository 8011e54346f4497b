# SPDX-License-Identifier: Apache-2.0
"""The programs of docs/examples/tables on small files in the shapes of other projects' measurements."""
import contextlib
import io
import json
import pathlib
import runpy
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import ppsched

TABLES = pathlib.Path(__file__).parents[2] / "docs" / "examples" / "tables"
MIB = 2**20
REPORT = """iteration 20/ 20 | elapsed time per iteration (ms): 7.0
[per-layer report]
-- forward --
 layer  type              fwd_ms                peak            retained           transient
     0 dense      2.0/     2.4      40.5/   40.5      16.0/     16.0       6.0/      6.0
     1 dense      4.0/     4.4      50.5/   50.5      32.0/     32.0       6.0/      6.0
     2 moe        9.0/     9.9      60.5/   60.5      64.0/     64.0       6.0/      6.0
-- backward --
 layer  type              bwd_ms                peak
     0 dense      5.0/     5.4      40.5/   40.5
     1 dense      7.0/     7.4      50.5/   50.5
"""


class ReaderTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(folder.cleanup)

    def file(self, name, values):
        path = self.folder / name
        path.write_text(values if isinstance(values, str) else json.dumps(values), encoding="utf-8")
        return path

    def run_reader(self, name, *words):
        """As a program of its own would answer, in this process."""
        out, err, code = io.StringIO(), io.StringIO(), 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), mock.patch.object(sys, "path", [str(TABLES), *sys.path]), \
                mock.patch.object(sys, "argv", [name, *map(str, words)]):
            try:
                runpy.run_path(str(TABLES / f"{name}.py"), run_name="__main__")
            except SystemExit as stop:
                code = 1 if isinstance(stop.code, str) else stop.code or 0
                err.write(stop.code if isinstance(stop.code, str) else "")
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    def table(self, name, *words):
        done = self.run_reader(name, *words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return ppsched.layer_table_of(done.stdout)

    def refused(self, part, name, *words):
        done = self.run_reader(name, *words)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(part, done.stderr)

    def test_galvatron(self):
        times = self.file("computation.json", {"layertype_0_bsz2_seq1024": 3.0, "layertype_other_bsz2_seq1024": 10.0, "remark": 1})
        memory = self.file("memory.json", {"layertype_0": {"1024": {"parameter_size": 50.0, "tp_activation_per_bsz_dict":
                                                                    {"1": 40.0, "2": 24.0, "checkpoint": 2.0}}},
                                           "other_memory_pp_off": {"1024": {"model_states": {"1": 9.0}}}})
        hardware = self.file("hardware.json", {"allreduce_size_4_8MB_time": 0.5, "all2all_size_4_8MB_time": 0.25, "allreduce_size_2_consec_1": 100.0,
                                               "allreduce_size_2_consec_0": 90.0})
        table = self.table("galvatron", hardware, memory, times, "--head-share", 80)
        layers = {layer[:8]: layer[8:] for layer in table.layers}
        size = (1, 0, 0, 2, 1024)
        self.assertEqual(layers["decoder", "none", 1, *size], (0.006, 0.006, 0.006, None, None))
        self.assertEqual(layers["decoder", "none", 2, 1, 0, 0, 1, 1024], (None, None, None, 24.0 * MIB, 100.0 * MIB))
        self.assertEqual(layers["decoder", "full", 1, 1, 0, 0, 1, 1024][3], 2.0 * MIB)
        self.assertAlmostEqual(layers["head", "none", 1, *size][0], 0.016)
        self.assertAlmostEqual(layers["embedding", "none", 1, *size][0], 0.004)
        self.assertEqual(table.collectives[:2], [ppsched.MeasuredCollective("all_reduce", 8 * MIB, 4, 0, 0.0005),
                                                 ppsched.MeasuredCollective("all_to_all", 8 * MIB, 4, 0, 0.00025)])
        self.assertEqual(len(table.collectives), 3)
        self.assertAlmostEqual(table.collectives[2].time, 64 * MIB / 100e9)
        self.refused("no key of a profile", "galvatron", self.file("other.json", {"a": 1}))

    def test_galvatron_joins_times_and_memory(self):
        times = self.file("computation.json", {"layertype_0_bsz1_seq1024": 3.0})
        memory = self.file("memory.json", {"layertype_0": {"1024": {"parameter_size": 50.0, "tp_activation_per_bsz_dict": {"1": 40.0}}}})
        self.assertEqual(self.table("galvatron", memory, times).layers,
                         [ppsched.MeasuredLayer("decoder", "none", 1, 1, 0, 0, 1, 1024, 0.003, 0.003, 0.003, 40.0 * MIB, 200.0 * MIB)])

    def test_metis(self):
        values = {"model": {"parameters": {"parameters_per_layer_bytes": [20, 10, 30, 40]}},
                  "execution_time": {"layer_compute_total_ms": [3.0, 6.0, 12.0, 9.0]}}
        table = self.table("metis", self.file("DeviceType.X_tp4_bs2.json", values), "--seq", 512)
        embedding, decoder, head = table.layers
        self.assertEqual(embedding[:8], ("embedding", "none", 4, 1, 0, 0, 2, 512))
        for layer, whole, states in ((embedding, 3, 180), (decoder, 9, 180), (head, 9, 360)):
            self.assertAlmostEqual(layer.forward_time + layer.backward_input_time + layer.backward_weight_time, whole * 1e-3)
            self.assertAlmostEqual(layer.mem_static, states)
        self.refused("must end with _tpN_bsN.json", "metis", self.file("x.json", values), "--seq", 512)
        self.refused("--seq", "metis", self.file("x.json", values))

    def test_sailor(self):
        layers = {"0": [1.0, 2.0, 9.0], "10": [4.0, 4.0, 9.0], "2": [2.0, 8.0, 9.0], "1": [2.0, 4.0, 9.0]}
        table = self.table("sailor", self.file("profile.json", {"2": {"1": layers}, "4": {"8": layers}}), "--seq", 512)
        self.assertEqual(len(table.layers), 6)
        self.assertEqual(table.layers[4], ppsched.MeasuredLayer("decoder", "none", 8, 1, 0, 0, 4, 512, 2.0, 3.0, 3.0))
        self.assertEqual(table.layers[2].forward_time, 4.0)

    def test_megatron(self):
        log = self.file("log.txt", REPORT.replace("9.0/     9.9", "1.0/ 1.0") + REPORT)
        table = self.table("megatron", log, "--tp", 2, "--micro-batch", 1, "--seq", 512, "--ep", 4)
        self.assertEqual(table.layers, [ppsched.MeasuredLayer("decoder", "none", 2, 0, 4, 0, 1, 512, 0.003, 0.003, 0.003, 24.0 * MIB),
                                        ppsched.MeasuredLayer("moe_decoder", "none", 2, 0, 4, 0, 1, 512, 0.009, None, None, 64.0 * MIB)])
        self.refused("no per-layer report", "megatron", self.file("empty.txt", "nothing\n"), "--tp", 1, "--micro-batch", 1, "--seq", 512)

    def test_primus(self):
        def one(kind, forward, backward, size):
            return {"type": kind, "forward_time_ms": forward, "backward_time_ms": backward, "activation_memory_bytes": size,
                    "mlp": {"forward_time_ms": 99}}
        values = {"schema_version": 2, "metadata": {"benchmark_tp": 1, "benchmark_ep": 8}, "memory_results": None,
                  "profiling_results": {"embedding": one("embedding", 1, 2, 10), "output": one("output", 3, 4, 20), "0": one("dense", 5, 6, 30),
                                        "1": one("moe", 7, 8, 40), "2": one("moe", 9, 10, 50)}}
        table = self.table("primus", self.file("saved.json", values), "--micro-batch", 1, "--seq", 4096)
        self.assertEqual([(layer.kind, layer.forward_time, layer.mem_forward) for layer in table.layers],
                         [("embedding", 0.001, 10), ("head", 0.003, 20), ("decoder", 0.005, 30), ("moe_decoder", 0.008, 45)])
        self.assertEqual(table.layers[3][2:8], (1, 0, 8, 0, 1, 4096))
        self.refused("no profiling_results", "primus", self.file("none.json", {}), "--micro-batch", 1, "--seq", 4096)


if __name__ == "__main__":
    unittest.main()
