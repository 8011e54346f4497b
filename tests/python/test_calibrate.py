# SPDX-License-Identifier: Apache-2.0
"""ppsched calibrate: runs of a device whose constants are known, one run, files that other commands take, and what is refused."""
import json
import pathlib
import unittest

from folder_case import RUN, FolderCase
from in_process import run_command

import ppsched
from ppsched.command.device_fit import fit
from ppsched.command.price_runs import price_run
from ppsched.readers.device_files import read_device
from ppsched.readers.runs import read_runs

ROW = {**RUN, "measured_step_s": 1}
ROWS = [{**ROW, "id": f"run-{number}", **cells} for number, cells in enumerate((
    {}, {"tp": 1, "pp": 2, "dp": 4}, {"tp": 8, "pp": 1, "dp": 4}, {"seq": 2048, "mbs": 4, "gbs": 64}, {"seq": 32768, "gbs": 16, "cp": 2},
    {"hidden": 8192, "heads": 64, "ffn": 28672, "layers": 40, "tp": 4}, {"vp": 2}, {"recompute": "full", "mbs": 2}))]


class CalibrateTest(FolderCase):
    def measured(self, device, rows=ROWS, off=()):
        """Rows whose steps take as long as on a device, some of them longer by a share."""
        found = read_runs(self.runs(*rows))
        return [{**row, "measured_step_s": repr(price_run(run, device).step_time * (1 + dict(off).get(row["id"], 0)))}
                for row, run in zip(rows, found)]

    def refused(self, *words):
        return super().refused("calibrate", *words)

    def test_constants_come_back(self):
        real = read_device("h100")._replace(matrix_share=0.5, attention_share=0.4)
        found = fit(read_device("h100"), read_runs(self.runs(*self.measured(real))))
        self.assertEqual(found.names, ["matrix_share", "attention_share", "op_time", "host_time"])
        self.assertGreater(min(map(abs, found.before)), 0.05)
        self.assertLess(max(map(abs, found.after)), 0.02)
        self.assertLess(max(map(abs, found.left_out)), 0.04)
        self.assertAlmostEqual(found.device.matrix_share, 0.5, delta=0.02)

    def test_precisions(self):
        real = read_device("h100")._replace(fp8_share=0.7)
        rows = [{**row, "id": f"fp8-{row['id']}", "precision": "fp8"} for row in ROWS]
        found = fit(read_device("h100"), read_runs(self.runs(*self.measured(real, rows + ROWS))))
        self.assertIn("fp8_share", found.names)
        self.assertAlmostEqual(found.device.fp8_share, 0.7, delta=0.05)
        self.assertLess(max(map(abs, found.after)), 0.02)

    def test_one_run_betters_others(self):
        """Where all are off by the same constant, any one of them corrects it."""
        real = read_device("h100")._replace(matrix_share=0.55)
        rows = self.measured(real)
        for row in rows:
            found = fit(read_device("h100"), read_runs(self.runs(row)))
            errors = [price_run(run, found.device).step_time / run.step_time - 1 for run in read_runs(self.runs(*rows))]
            self.assertLess(max(map(abs, errors)), 0.09)
            self.assertLess(abs(found.after[0]), 0.03)

    def test_each_run_is_left_out(self):
        """One that is off: the others tell less of it than itself, and it is farther off without it."""
        found = fit(read_device("h100"), read_runs(self.runs(*self.measured(read_device("h100"), off=[("run-3", 0.3)]))))
        self.assertGreater(abs(found.left_out[3]), abs(found.after[3]))
        self.assertAlmostEqual(found.left_out[3], 1 / 1.3 - 1, delta=0.02)

    def test_a_file_that_commands_take(self):
        real = read_device("h100")._replace(matrix_share=0.5)
        runs, file = self.runs(*self.measured(real)), str(self.folder / "device.json")
        done = run_command(("calibrate", runs, "-o", file))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("each run left out", done.stdout)
        self.assertEqual(json.loads(pathlib.Path(file).read_text(encoding="utf-8"))["like"], "h100")
        priced = run_command(("price", "--runs", runs, "--device", file, "--json"))
        self.assertLess(json.loads(priced.stdout)["errors"][0]["largest"], 0.02)
        again = run_command(("calibrate", runs, "--device", file))
        text = again.stdout[again.stdout.index("{"):]
        first, last = read_device(file), read_device(self.write("second.json", text))
        self.assertEqual((last.memory, last.inside, last.between, last.shares_ports), (first.memory, first.inside, first.between, first.shares_ports))
        self.assertEqual(list(map(list, last.matrix_efficiency)), list(map(list, first.matrix_efficiency)))
        self.assertAlmostEqual(last.matrix_share, first.matrix_share, delta=0.02)

    def test_a_device_without_measured_constants(self):
        real = read_device("h20")._replace(matrix_share=0.9)
        rows = [{**row, "gpu": "h20"} for row in ROWS]
        found = fit(read_device("h20"), read_runs(self.runs(*self.measured(real, rows))))
        self.assertEqual(found.names, ["matrix_share", "attention_share"])
        self.assertAlmostEqual(found.device.matrix_share, 0.9, delta=0.02)

    def test_calibrator(self):
        """Of the library: runs that are described by hand, progress that may stop it, and what is refused."""
        device, told = ppsched.find_accelerator("h100"), []
        shape = ppsched.Description(ppsched.Transformer(16, 4096, 32, 128256, ffn_size=14336, key_value_heads=8, gated=True))
        calibrator = ppsched.Calibrator(device)
        for tensor, pipeline in ((1, {}), (2, {"devices": 4, "microbatches": 16, "chunks": 2}), (8, {"devices": 2, "split": (9, 9)})):
            training = ppsched.Training(8192, tensor_parallel=tensor)
            step = ppsched.price(ppsched.Model(shape, training, device._replace(matrix_share=0.55)), **pipeline)
            calibrator.append(shape, training, step.step_time, **pipeline)
        with self.assertRaises(ppsched.Cancelled):
            calibrator.run(lambda share, best: False)
        found = calibrator.run(lambda share, best: told.append((share, best)))
        self.assertEqual(found, calibrator.run())
        self.assertEqual(sorted(share for share, _ in told), [share for share, _ in told])
        self.assertEqual((told[-1][0], told[0][1]), (1, float("inf")))
        self.assertAlmostEqual(found.device.matrix_share, 0.55, delta=0.02)
        self.assertEqual(found.constants[0], ("matrix_share", device.matrix_share, found.device.matrix_share))
        self.assertEqual(found.device._replace(**{name: getattr(device, name) for name, _, _ in found.constants}).name, "h100")
        self.assertLess(max(abs(run.error_after) for run in found.runs), 0.02)
        for wrong in (0, -1, float("nan"), "1"):
            with self.assertRaisesRegex(ppsched.Error, "step_time"):
                calibrator.append(shape, training, wrong)
        with self.assertRaisesRegex(ppsched.Error, "mxfp8"):
            calibrator.append(shape, training._replace(precision="mxfp8"), 1)
        with self.assertRaisesRegex(ppsched.Error, "matrix_share is 3"):
            ppsched.Calibrator(device._replace(matrix_share=3))
        with self.assertRaisesRegex(ppsched.Error, "there is no run"):
            ppsched.Calibrator(device).run()
        for call, message in ((lambda: ppsched.Calibrator(5), "device must be a ppsched.Accelerator, not 5"),
                              (lambda: calibrator.append(5, training, 1), "description must be a ppsched.Description, not 5"),
                              (lambda: calibrator.append(shape, 5, 1), "training must be a ppsched.Training, not 5")):
            with self.assertRaisesRegex(TypeError, message):
                call()

    def test_refused(self):
        rows = [ROW, {**ROW, "gpu": "h200"}]
        self.assertIn("runs of h100 and of h200", self.refused(self.runs(*rows)))
        self.assertIn("runs.csv, line 3: seq is missing", self.refused(self.runs(ROW, {**ROW, "seq": ""})))
        self.assertIn("it has no runs", self.refused(self.write("empty.csv", "gpu,seq,mbs,gbs,measured_step_s\n")))
        self.assertIn("it must be none, selective", self.refused(self.runs({**ROW, "recompute": "some"})))
        self.assertIn("line 2: h100 has no MXFP8", self.refused(self.runs({**ROW, "precision": "mxfp8"})))
        with self.assertRaisesRegex(ppsched.Error, "there is no run"):
            fit(read_device("h100"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
