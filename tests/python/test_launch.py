# SPDX-License-Identifier: Apache-2.0
"""Launch arguments in Python and on the command line. What each line holds is tested in C; here that it arrives, that a shell
and an argument parser read it, and that the CSV which it names is there."""
import argparse
import json
import pathlib
import shlex
import subprocess
import tempfile
import unittest

from in_process import run_command

import ppsched
from ppsched._core.launching import RUNTIME_NAMES

NAMES = list(RUNTIME_NAMES)
CSV_FLAG = "--parallelism.pipeline_parallel_schedule_csv"


def generate(strategy, devices, microbatches, stages=None, **values):
    return ppsched.generate(strategy, ppsched.Config(devices, microbatches, stages, **values))


def parser():
    """Of the flags that the lines have."""
    words = argparse.ArgumentParser(allow_abbrev=False)
    for name in ("--pipeline-model-parallel-size", "--num-virtual-stages-per-pipeline-rank",
                 "--microbatch-group-size-per-virtual-pipeline-stage", "--parallelism.pipeline_parallel_degree",
                 "--zero-bubble-max-pending-backward", "--interleave-group-size", "--num-layers-per-virtual-pipeline-stage",
                 "--training.local_batch_size", "--parallelism.pipeline_parallel_microbatch_size",
                 "--parallelism.pipeline_parallel_layers_per_stage",
                 "--pipeline_model_parallel_size", "--num_virtual_stages_per_pipeline_rank", "--pp_max_mem"):
        words.add_argument(name, type=int)
    for name in ("--enable-zb-runtime", "--enable-zero-bubble", "--zero-bubble-v-schedule", "--enable-1f1b-v",
                 "--overlap-moe-expert-parallel-comm", "--training.disable_cuda_graphs", "--dualpipev-dw-detach",
                 "--moe-fb-overlap"):
        words.add_argument(name, action="store_true")
    words.add_argument("--zero-bubble-v-schedule-mem-setup", choices=("zb", "half", "min"))
    words.add_argument("--schedules-method", choices=("dualpipev",))
    words.add_argument("--patch_primus_pipeline", choices=("True",))
    words.add_argument("--pp_algorithm", choices=("1f1b", "1f1b-interleaved", "zero-bubble", "zero-bubble-heuristic", "zbv-formatted",
                                                  "v-half", "v-min"))
    words.add_argument("--parallelism.pipeline_parallel_schedule")
    words.add_argument(CSV_FLAG)
    return words


class ScheduleTest(unittest.TestCase):
    def test_names_and_members(self):
        schedule = generate("1f1b", 2, 4)
        self.assertEqual([runtime.name.lower() for runtime in ppsched.Runtime], NAMES)
        for runtime in ppsched.Runtime:
            if runtime != ppsched.Runtime.MINDSPEED:
                self.assertEqual(schedule.launch(runtime), schedule.launch(runtime.name.lower()))
        self.assertEqual(schedule.launch("deepspeed"), "num_stages=2 gradient_accumulation_steps=4")

    def test_refusals(self):
        schedule = generate("zbv", 4, 8, 8)
        with self.assertRaisesRegex(ppsched.Refused, "^Megatron-LM runs .*; torchtitan, pytorch, primus, colossalai and jaxpp can run it, "
                                                     "sail a similar one$"):
            schedule.launch("megatron")
        with self.assertRaisesRegex(ppsched.Refused, "sail-sg plans its own order"):
            schedule.launch("sail", exact=True)
        with self.assertRaises(ppsched.Refused) as caught:
            generate("gpipe", 4, 8).launch("deepspeed")
        self.assertEqual((caught.exception.device, caught.exception.position), (0, 4))

    def test_bad_arguments(self):
        schedule = generate("1f1b", 2, 4)
        for runtime in ("nccl", "", 0, 10, None):
            with self.assertRaises(ppsched.Error):
                schedule.launch(runtime)
        for csv in ("", "a\nb", "a\0b", 7, "\udcff"):
            with self.assertRaises(ppsched.Error):
                schedule.launch("pytorch", csv=csv)

    def test_counts(self):
        """0, which says nothing, to 2^32 - 1."""
        schedule = generate("1f1b", 2, 4)
        for name in ("layers", "micro_batch", "data_parallel"):
            for count in (-1, 2**32):
                with self.assertRaisesRegex(ppsched.Error, f"^{name} is {count}; it must be at least 0 and below 2\\*\\*32$"):
                    schedule.launch("megatron", **{name: count})
            self.assertEqual(schedule.launch("megatron", **{name: 0}), schedule.launch("megatron"))

    def test_invalid_schedules(self):
        schedule = ppsched.Schedule.from_queues(ppsched.Config(2, 1), [["0F0", "0B0"], ["1F0"]])
        with self.assertRaises(ppsched.InvalidSchedule):
            schedule.launch("pytorch")

    def test_flags_can_be_parsed(self):
        lines = 0
        for strategy in ppsched.strategies():
            for devices, chunks, microbatches in ((2, 2, 4), (4, 2, 9), (3, 3, 12)):
                try:
                    schedule = generate(strategy.name, devices, microbatches, devices * (strategy.chunks or chunks),
                                        options={"effort": 0, "placement": "loop"} if strategy.name == "auto" else {})
                except ppsched.Refused:
                    continue
                for runtime in ("megatron", "torchtitan", "sail", "primus", "mindspeed"):
                    try:
                        words = vars(parser().parse_args(shlex.split(schedule.launch(runtime, layers=36))))
                    except ppsched.Refused:
                        continue
                    size = words["parallelism.pipeline_parallel_degree" if runtime == "torchtitan" else "pipeline_model_parallel_size"]
                    self.assertEqual(size, devices)
                    lines += 1
        self.assertGreater(lines, 60)

    def test_names_of_files_pass_through_a_shell(self):
        schedule = generate("zb_h2", 2, 4)
        for name in ("a b.csv", "it's.csv", "$HOME.csv", "a;b|c.csv", 'x".csv', "~.csv", "a*b?.csv", "\u00e4\u4e2d.csv", "a\\b.csv", "#.csv"):
            words = shlex.split(schedule.launch("pytorch", csv=name))
            self.assertIn(f"csv={name}", words)
            line = schedule.launch("torchtitan", csv=name)
            shell = subprocess.run(["sh", "-c", f"printf '%s\\n' {line}"], capture_output=True, text=True, check=True)
            self.assertEqual(shell.stdout.splitlines()[5], name)

    def test_layers(self):
        schedule = generate("interleaved_1f1b", 4, 8, 12)
        self.assertIn(" --parallelism.pipeline_parallel_layers_per_stage 3 ", schedule.launch("torchtitan", layers=34))
        self.assertIn(" --num-layers-per-virtual-pipeline-stage 3 ", schedule.launch("sail", layers=36))
        for layers in (-1, 2**32, "8", None, 1.5):
            with self.assertRaises(ppsched.Error):
                schedule.launch("sail", layers=layers)

    def test_renumbering(self):
        schedule = ppsched.Schedule.from_text("0F1,0F2,0F0,0B1,0B0,0B2\n1F1,1F2,1F0,1B1,1B0,1B2\n", "csv")
        with self.assertRaises(ppsched.Refused) as caught:
            schedule.launch("pytorch")
        self.assertEqual((caught.exception.device, caught.exception.position), (1, 0))
        again = schedule.renumber()
        self.assertEqual(again.export("csv"), "0F0,0F1,0F2,0B0,0B2,0B1\n1F0,1F1,1F2,1B0,1B2,1B1\n")
        self.assertIn("csv=", again.launch("pytorch"))
        self.assertEqual(again.evaluate().metrics.makespan, schedule.evaluate().metrics.makespan)

    def test_classes_are_named_for_orders_whatever_made_them(self):
        for strategy, devices, stages, microbatches in (("1f1b", 3, 3, 6), ("looped_bfs", 2, 4, 3), ("zbv", 3, 6, 5),
                                                        ("dualpipe_v", 2, 4, 6), ("interleaved_zb", 2, 6, 4)):
            schedule = generate(strategy, devices, microbatches, stages)
            again = ppsched.Schedule.from_text(schedule.export("csv"), "csv")
            self.assertEqual(again.launch("pytorch"), schedule.launch("pytorch"))
            self.assertNotIn("csv", again.launch("pytorch"))
            self.assertIn("csv=mine.csv", again.launch("pytorch", csv="mine.csv"))


class CommandTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(folder.name)
        self.addCleanup(folder.cleanup)

    def run_command(self, *words):
        return run_command(words, self.folder)

    def succeed(self, *words):
        """The line; of torchtitan's split backwards, and of orders that sail-sg and Primus plan themselves, there is a note."""
        result = self.run_command(*words)
        notes = [line for line in result.stderr.splitlines() if " plans its own order of that kind; only " not in line]
        notes = [line for line in notes if "note: PyTorch 2.15 reads no lowered CSV" not in line]
        notes = [line for line in notes if "note: run without validation: PyTorch's eval() raises" not in line]
        self.assertEqual((result.returncode, [line for line in notes if "note: split backwards" not in line]), (0, []))
        if notes:
            self.assertIn("torchtitan", words)
            self.assertRegex(result.stdout, "csv|ZeroBubble|DualPipeV")
        self.assertEqual(result.stdout.count("\n"), 1)
        return result.stdout.rstrip("\n")

    def fail_with(self, code, part, *words):
        result = self.run_command(*words)
        self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
        self.assertIn(part, result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        self.assertEqual(list(self.folder.glob("out*")), [])

    def test_who_plans_an_order_itself(self):
        """A note says so, and where the order itself could be; not of what runs as it is."""
        for strategy, runtime, words in (("zbv", "sail", "only its scheduled nodes (format sail) can hold this order"),
                                         ("v_half", "primus", "only a custom schedule can run this order"),
                                         ("zbv", "primus", None)):
            result = self.run_command("schedule", "--strategy", strategy, "--num-devices", 4, "-s", 8, "-b", 8, "--launch", runtime)
            self.assertEqual(result.stderr.count(" plans its own order of that kind; "), int(words is not None), result.stderr)
            self.assertIn(words or "", result.stderr)

    def test_validation(self):
        """PyTorch's eval() stops where neighbouring stages are on one rank, by class or by CSV; that of other orders works."""
        for strategy, devices, stages, rank in (("zbv", 4, 8, 3), ("dualpipe_v", 4, 8, 3), ("v_1f1b", 2, 4, 1), ("v_half", 2, 4, 1),
                                                ("v_min", 2, 4, 1), ("zbv_auto", 2, 4, 1), ("gpipe", 4, 4, None), ("1f1b", 4, 4, None),
                                                ("interleaved_1f1b", 2, 4, None), ("interleaved_zb", 2, 6, None), ("looped_bfs", 2, 4, None),
                                                ("zb_h1", 2, 2, None), ("eager_1f1b", 3, 3, None), ("1f1b", 1, 1, None),
                                                ("interleaved_1f1b", 1, 3, 0)):
            words = ("schedule", "--strategy", strategy, "--num-devices", devices, "-s", stages, "-b", 8, "--launch")
            for runtime in ("pytorch", "torchtitan", "sail", "primus", "colossalai", "jaxpp", "megatron"):
                result = self.run_command(*words, runtime)
                told = f"note: run without validation: PyTorch's eval() raises AssertionError on rank {rank}, which has the neighbouring " \
                       f"stages {stages // 2 - 1 if devices > 1 else 0} and {stages // 2 if devices > 1 else 1}; "
                if result.returncode == 0:
                    self.assertEqual("eval()" in result.stderr, rank is not None and runtime in ("pytorch", "torchtitan"), result.stderr)
                    self.assertTrue("eval()" not in result.stderr or told in result.stderr, result.stderr)
        path = self.folder / "own.csv"
        path.write_text("0F0,1F0,1B0,0B0\n2F0,3F0,3B0,2B0\n", encoding="utf-8")
        self.assertIn("on rank 0, which has the neighbouring stages 0 and 1; ", self.run_command("convert", path, "--launch", "pytorch").stderr)

    def test_lowered(self):
        """Of PyTorch 2.15, which reads lowered CSVs only with ops that a schedule does not have."""
        for words, is_told in ((["pytorch"], False), (["torchtitan"], False), (["pytorch", "--lower", "pytorch"], True),
                               (["pytorch", "--lower", "just_in_time", "-o", "out.csv"], True)):
            result = self.run_command("schedule", "-s", 2, "-b", 4, "--launch", *words)
            self.assertEqual((result.returncode, result.stderr.count("note: PyTorch 2.15 reads no lowered CSV")), (0, int(is_told)))

    def test_schedule(self):
        self.assertEqual(self.succeed("schedule", "-s", 4, "-b", 8, "--launch", "megatron"), "--pipeline-model-parallel-size 4")
        self.assertEqual(self.succeed("schedule", "--strategy", "zbv", "--num-devices", 2, "-s", 4, "-b", 8, "--launch", "sail"),
                         "--pipeline-model-parallel-size 2 --enable-zb-runtime --zero-bubble-v-schedule --zero-bubble-v-schedule-mem-setup zb")
        self.fail_with(1, "torchtitan, pytorch and jaxpp can run it", "schedule", "--strategy", "gpipe", "-s", 4, "-b", 8, "--launch", "megatron")

    def test_csv_beside_the_line(self):
        words = ("schedule", "--strategy", "zb_h1", "-s", 3, "-b", 6)
        plain = self.run_command(*words, "--format", "csv").stdout
        self.assertEqual(self.succeed(*words, "--launch", "torchtitan", "-o", "my zb.CSV").split("csv ")[1].split(" --")[0], "'my zb.CSV'")
        self.assertEqual((self.folder / "my zb.CSV").read_text(encoding="utf-8"), plain)
        line = self.succeed(*words, "--lower", "pytorch", "--launch", "pytorch", "-o", "lowered.csv")
        self.assertTrue(line.endswith("csv=lowered.csv format=compute_comms"))
        self.assertIn("SEND_F", (self.folder / "lowered.csv").read_text(encoding="utf-8"))
        self.fail_with(1, "lowers them itself; use the schedule before lowering; pytorch can run it", *words, "--lower", "pytorch", "--launch", "torchtitan", "-o", "out.csv")
        self.fail_with(1, "cannot write", *words, "--launch", "pytorch", "-o", "missing/out.csv")

    def test_usage(self):
        words = ("schedule", "-s", 2, "-b", 2, "--launch")
        self.fail_with(2, "invalid choice", *words, "nccl")
        self.fail_with(2, "cannot be combined with a format", *words, "pytorch", "--format", "csv")
        self.fail_with(2, "must end in .csv", *words, "pytorch", "-o", "out.json")
        self.fail_with(2, "megatron reads no CSV; -o works only with --launch torchtitan, pytorch, colossalai, jaxpp", *words, "megatron", "-o", "out.csv")
        self.fail_with(1, "over its limit", *words, "pytorch", "--mem-limit", 1)
        self.fail_with(2, "--num-layers 0: it must be 1 or more", *words, "sail", "--num-layers", 0)
        self.fail_with(2, "--micro-batch-size -1: it must be 1 or more", *words, "megatron", "--micro-batch-size", -1)
        self.fail_with(2, "--data-parallel-size 0: it must be 1 or more", *words, "megatron", "--data-parallel-size", 0)
        self.fail_with(2, "--micro-batch-size -1: it must be 1 or more", "schedule", "-s", 2, "-b", 2, "--micro-batch-size", -1)
        with_batch = self.run_command("schedule", "-s", 2, "-b", 2, "--micro-batch-size", 2, "--data-parallel-size", 3)
        self.assertEqual(with_batch.stdout, self.run_command("schedule", "-s", 2, "-b", 2).stdout)

    def test_output_of_a_config_file_is_left_alone(self):
        (self.folder / "config.json").write_text('{"num_stages": 2, "num_batches": 4, "output": "out.png"}', encoding="utf-8")
        self.assertEqual(self.succeed("schedule", "-c", "config.json", "--launch", "deepspeed"),
                         "num_stages=2 gradient_accumulation_steps=4")
        self.assertEqual(list(self.folder.glob("out*")), [])

    def test_losses_in_order(self):
        """PyTorch's CSV is renumbered, and that is said; without a CSV to write it is refused."""
        (self.folder / "bad.csv").write_text("0F1,0F0,0B1,0B0\n1F1,1B1,1F0,1B0\n", encoding="utf-8")
        self.fail_with(1, "device 1 has 1F1 at position 0, where 1F0 must be", "convert", "bad.csv", "--launch", "pytorch")
        for runtime in ("pytorch", "torchtitan"):
            result = self.run_command("convert", "bad.csv", "--launch", runtime, "-o", "good.csv")
            self.assertEqual(result.returncode, 0)
            self.assertIn("microbatches are renumbered", result.stderr)
            self.assertEqual((self.folder / "good.csv").read_text(encoding="utf-8"), "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n")
        self.fail_with(1, "; use -o FILE.csv; jaxpp can run it", "convert", "bad.csv", "--launch", "pytorch")
        self.succeed("convert", "good.csv", "--launch", "pytorch", "-o", "same.csv")
        self.succeed("convert", "bad.csv", "--launch", "jaxpp", "-o", "other.csv")
        self.assertEqual((self.folder / "other.csv").read_text(encoding="utf-8")[:7], "0F1,0F0")
        self.fail_with(2, "--num-layers needs --launch", "convert", "good.csv", "--to", "json", "--num-layers", 4)

    def test_losses_of_microbatches_that_differ(self):
        """Renumbered they must come in another order, which is told; it names them as they are without."""
        (self.folder / "bad.csv").write_text("0F1,0F2,0F0,0B1,0B2,0B0\n1F1,1B1,1F2,1B2,1F0,1B0\n", encoding="utf-8")
        told = "give the run its microbatches in the order 1 2 0"
        scale = ("--microbatch-scale", 1, 2, 4)
        result = self.run_command("convert", "bad.csv", "--launch", "pytorch", "-o", "good.csv", *scale)
        self.assertEqual((result.returncode, result.stderr.count("\n")), (0, 2))
        self.assertIn(told, result.stderr)
        made = json.loads(self.run_command("convert", "bad.csv", "--to", "json", "--renumber", *scale).stdout)
        again = json.loads(self.run_command("convert", "good.csv", "--to", "json", "--microbatch-scale", 2, 4, 1).stdout)
        before = json.loads(self.run_command("convert", "bad.csv", "--to", "json", *scale).stdout)
        self.assertEqual((made.pop("microbatch_order"), made, again["metrics"]), ([1, 2, 0], again, before["metrics"]))
        for words in (("--to", "csv"), ("--launch", "jaxpp"), ("-o", "a.trace.json")):
            result = self.run_command("convert", "bad.csv", "--renumber", *words, *scale)
            self.assertEqual((result.returncode, result.stderr), (0, f"ppsched convert: {told}\n"))
        self.assertIn(told, self.run_command("convert", "bad.csv", "--launch", "pytorch", "-o", "x.csv", "--microbatch-memory-scale", 1, 2, 3).stderr)
        for alike in ((), ("--microbatch-scale", 2), ("--microbatch-scale", 2, 2, 2)):
            self.assertNotIn("order 1", self.run_command("convert", "bad.csv", "--launch", "pytorch", "-o", "good.csv", *alike).stderr)

    def test_convert(self):
        for name, strategy in (("v.json", "v_min"), ("v.csv", "v_min"), ("plain.csv", "1f1b")):
            stages = 4 if strategy == "1f1b" else 8
            self.assertEqual(self.run_command("schedule", "--strategy", strategy, "--num-devices", 4, "-s", stages, "-b", 8, "-o", name).returncode, 0)
        self.assertTrue(self.succeed("convert", "v.json", "--launch", "sail").endswith("--zero-bubble-v-schedule-mem-setup min"))
        self.fail_with(1, "only its scheduled nodes (format sail) can hold this order", "convert", "v.csv", "--launch", "sail")
        self.assertEqual(self.succeed("convert", "plain.csv", "--launch", "pytorch"),
                         "class=Schedule1F1B pp_size=4 num_stages=4 n_microbatches=8 style=loop")
        self.assertTrue(self.succeed("convert", "v.json", "--launch", "torchtitan", "-o", "new.csv").split()[5] == "new.csv")
        self.assertEqual((self.folder / "new.csv").read_text(encoding="utf-8"), (self.folder / "v.csv").read_text(encoding="utf-8"))
        self.assertTrue(self.succeed("convert", "plain.csv", "--lower", "just_in_time", "--launch", "pytorch").endswith("compute_comms"))
        self.fail_with(2, "cannot be combined with a format", "convert", "plain.csv", "--launch", "pytorch", "--to", "json")
        self.fail_with(2, "must end in .csv", "convert", "plain.csv", "--launch", "pytorch", "-o", "out.txt")


if __name__ == "__main__":
    unittest.main()
