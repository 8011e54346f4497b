# SPDX-License-Identifier: Apache-2.0
"""What docs/model.md says of a device's memory by cause, of the limit and of what would do, over jobs that differ in all sizes."""
import itertools
import json
import pathlib
import re
import tempfile
import unittest
from unittest import mock

from in_process import run_command

import ppsched
from ppsched import Config, Model, Split, Training, Transformer
from ppsched._core import text_table
from ppsched.command import model_estimate, model_options, model_pick
from ppsched.command.model_command import _layer_table
from ppsched.command.model_estimate import even_memory, even_split, kept_of, memory_by_kind
from ppsched.command.model_options import Job

SIZES = {"hidden_size": 192, "heads": 6, "vocabulary_size": 1280, "ffn_size": 448}
SHAPES = (Transformer(7, **SIZES), Transformer(9, **SIZES, tied=True, gated=True),
          Transformer(8, **SIZES, experts=4, experts_per_token=2, expert_ffn_size=320, dense_layers=2))
LLAMA = {"model_type": "llama", "num_hidden_layers": 9, "hidden_size": 1024, "intermediate_size": 4096, "num_attention_heads": 16,
         "num_key_value_heads": 4, "vocab_size": 32000}


def jobs(shapes=SHAPES, shardings=(0,), recomputes=("none",)):
    for shape, zero, recompute, (pp, vpp, microbatches) in itertools.product(
            shapes, shardings, recomputes, ((1, 1, 3), (2, 1, 1), (3, 1, 5), (3, 2, 6), (2, 3, 8), (3, 2, 3))):
        training = Training(sequence_length=256, data_parallel=4, sharding=zero, keeps_scores=True)
        yield Job(Model(shape, training, "h100"), pp, microbatches, vpp, recompute)


class DeviceTest(unittest.TestCase):
    def test_bytes_of_a_parameter(self):
        """2 for the weight, 4 for the gradient, 12 for the optimizer, of which data parallelism shards the last 0 to 3."""
        for job in jobs(shardings=range(4)):
            zero, parts = job.model.training.sharding, job.model.training.data_parallel
            for device in even_memory(job):
                parameters = device.parameters
                self.assertEqual([device.weights, device.gradients, device.optimizer],
                                 [2 * parameters / (parts if zero >= 3 else 1), 4 * parameters / (parts if zero >= 2 else 1),
                                  12 * parameters / (parts if zero >= 1 else 1)])
                self.assertEqual(device.total, device.weights + device.gradients + device.optimizer + device.activations)

    def test_all_parameters_are_somewhere(self):
        """Each once, but a tied embedding, which the last stage has too."""
        for job in jobs():
            counts, devices = job.model.parameters, even_memory(job)
            twice = counts.embedding if job.model.description.tied and job.pp * job.vpp > 1 else 0
            self.assertEqual(sum(device.parameters for device in devices), counts.total + twice)
            routed = sum(row.feed_forwards * row.layers for row in job.model.rows if row.name == "moe_decoder")
            experts = sum(device.expert_parameters for device in devices)
            self.assertEqual(0 < experts <= routed, routed > 0)

    def test_memory_is_that_of_the_order(self):
        """With 1F1B and an even split; its interleaved kind may hold more where stages are uneven. Weights count once."""
        for job in jobs(recomputes=("none", "selective", "full")):
            layers = job.model.layers()
            kinds = [kinds.index(job.recompute) + 1 if job.recompute in kinds else 0 for kinds in layers.kinds]
            config = ppsched.config_from_layers(Config(job.pp, job.microbatches, job.pp * job.vpp), layers,
                                                Split(even_split(job.model, job.pp * job.vpp), kinds))
            timeline = ppsched.generate("1f1b" if job.vpp == 1 else "interleaved_1f1b", config).evaluate()
            for told, found in zip(even_memory(job), timeline.device_metrics):
                self.assertLessEqual(told.total, found.peak_memory * (1 + 1e-9))
                if job.vpp == 1:
                    self.assertAlmostEqual(told.total, found.peak_memory, delta=1e-9 * found.peak_memory)
                self.assertAlmostEqual(found.static_memory, told.weights + told.gradients + told.optimizer)

    def test_interleaved_stages_that_are_alike(self):
        """In units of one, without the ends."""
        for pp, vpp, microbatches in ((2, 2, 4), (3, 2, 6), (2, 3, 8), (3, 3, 3), (4, 3, 12), (4, 2, 4)):
            job = Job(next(jobs()).model, pp, microbatches, vpp, "none")
            timeline = ppsched.generate("interleaved_1f1b", Config(pp, microbatches, pp * vpp)).evaluate()
            self.assertEqual([sum(model_estimate._in_flight(job, device, chunk) for chunk in range(vpp)) for device in range(pp)],
                             [device.peak_memory for device in timeline.device_metrics])

    def test_the_table_tells_each_kind(self):
        """Of the layers that have one, in MiB."""
        for shape in SHAPES:
            for keeps in (False, True):
                model = Model(shape, Training(sequence_length=256, keeps_scores=keeps), "h100")
                held = memory_by_kind(model)
                with mock.patch.object(text_table, "WIDTH", 200):
                    lines = _layer_table(model, model.layers().given).splitlines()
                for line in [line for line in lines if line.split()[0] in held]:
                    name, *_, plain, selective, full = line.split()
                    wanted = [f"{kept_of(held[name], kind) / 2**20:.1f}" if "decoder" in name and (keeps or kind != "selective") else "-"
                              for kind in ("selective", "full")]
                    self.assertEqual([plain, selective, full], [f"{held[name].activations / 2**20:.1f}", *wanted])


class OptionTest(unittest.TestCase):
    def test_the_least_and_the_most(self):
        """--zero is 0 to 3; of others there is one at least, and of a sequence, a batch and devices more than of parallelism."""
        for name in ("zero", *model_options.NUMBERS, "vpp"):
            least, most = (0, 3) if name == "zero" else (1, 2**30 if name in ("seq", "global_batch") else 2**20)
            for number in (least, most):
                self.assertEqual((model_options._one({name: number}, name), model_options._one({name: [number]}, name)), (number, number))
            for number in (least - 1, most + 1):
                with self.assertRaisesRegex(ppsched.Error, f"^--{name.replace('_', '-')} is {number}; it must be {least} to {most}$"):
                    model_options._one({name: number}, name)


class LimitTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "config.json")
        self.path.write_text(json.dumps(LLAMA), encoding="utf-8")

    def run_pick(self, *words):
        return run_command(["pick", "--model", self.path, "--pp", 3, "--seq", 2048, "--micro-batch", 8, "--strategies", "1f1b", *words])

    def pick(self, *words):
        done = self.run_pick("--json", *words)
        return json.loads(done.stdout)[0] if done.returncode == 0 else None

    def test_buffers_count_against_it(self):
        """A tensor each way, and one plan with the room that is left; what comes back for a backward is among the activations."""
        free = self.pick()
        ends, most = free["memory"][0]["buffers"], max(memory["total"] for memory in free["memory"])
        self.assertGreater(ends, 0)
        seen = set()
        for share in (1, 1 - 4e-10, 0.999, 0.9, 0.8, 0.7, 0.6, 0.5, 0.45, 0.4, 0.35, 0.3):
            limit = share * most
            with mock.patch.object(model_pick, "make_plan", wraps=model_pick.make_plan) as planner:
                found = self.pick("--mem-limit", f"{limit!r}B")
            rooms = [call[0][0]["mem_limit"][0] for call in planner.call_args_list]
            self.assertEqual(len(rooms), 1)
            self.assertAlmostEqual(rooms[0], limit - ends, delta=1)
            self.assertTrue(all(memory["total"] <= limit * (1 + 1e-9) for memory in found["memory"]), share)
            self.assertTrue(all(memory["buffers"] == ends for memory in found["memory"]), share)
            self.assertEqual(found["step_time"] == free["step_time"], share > 0.999)
            seen.add(any(stage["recompute"] for stage in found["split"]))
        self.assertEqual(len(seen), 2)

    def test_the_limit_that_would_do(self):
        """Does, and 5 % and a tenth of GiB less does not."""
        for *words, limit in (("--micro-batch", 2, "1.5GiB"), ("2.5GiB",), ("1.5GiB",), ("--seq", 8192, "--micro-batch", 4, "2GiB")):
            told = re.search(r"--mem-limit ([\d.]+)GiB", self.run_pick(*words, "--mem-limit", limit).stderr)
            self.assertIsNotNone(told, words)
            least = float(told[1])
            self.assertIsNotNone(self.pick(*words, "--mem-limit", f"{least}GiB"))
            self.assertIsNone(self.pick(*words, "--mem-limit", f"{0.95 * least - 0.1}GiB"), (words, least))


if __name__ == "__main__":
    unittest.main()
