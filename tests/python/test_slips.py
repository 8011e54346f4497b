# SPDX-License-Identifier: Apache-2.0
"""More slips: what each line says, and that what it says to type works."""
import pathlib
import shlex
import shutil
import unittest

import own_folder
from in_process import run_command

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
JOB = "--devices 4 -b 16 --num-layers 32 --split 8 8 8 8"
REPLICAS = "--devices 4 -b 48 --num-layers 32 --replica-speeds 1 --replica-speeds 0.5"

# The words, the exit code, what the line says, and words that follow its advice, where a whole line follows it.
SLIPS = [
    # the name is told as it was typed
    ("schedule --devices", 2, "--devices is not followed by its value; write --devices D", None),
    ("schedule --devices 4.0 -b 8", 2, "argument --devices: '4.0' is not an integer; write 4", "schedule --devices 4 -b 8"),
    ("schedule --devices 4 --num-batches", 2, "--num-batches is not followed by its value; write --microbatches M", None),
    ("schedule --devices 4 -b 8 --launch", 2, "write --launch RUNTIME, one of megatron, torchtitan,", "schedule --devices 4 -b 8 --launch megatron"),
    ("schedule --devices 4 -b 8 --offload", 2, "such as --offload all", None),
    ("pair windows.json --stages 1", 2, "--stages takes 2 values; write --stages I J", "pair windows.json --stages 0 0"),
    # several values
    ("schedule --devices 4 8 -b 8", 2, "unexpected word 8; --devices takes one value", "schedule --devices 4 -b 8"),
    ("compare --devices 4 -b 8 16", 2, "--microbatch-counts 8 16 compares several", "compare --devices 4 -b 8 --microbatch-counts 8 16"),
    ("convert s.csv -o a.csv b.png", 2, "unexpected word b.png; -o takes one file", None),
    ("schedule --devices 4 -b 8 -o a.csv zb_h1", 2, "-o zb_h1: unknown ending; known are", None),
    ("schedule --devices 4 -b 8 --strategy 1f1b gpipe", 2, "ppsched compare --strategies takes several", None),
    ("schedule --devices 4 -b 8 --strategy 1f1b,gpipe", 2, "ppsched compare --strategies 1f1b,gpipe compares", "compare --devices 4 -b 8 --strategies 1f1b,gpipe"),
    ("compare 1f1b zb_h1 --devices 4 -b 8", 2, "did you mean --strategies 1f1b zb_h1?", "compare --strategies 1f1b zb_h1 --devices 4 -b 8"),
    ("schedule --devices 4 --microbatches 8 --num-microbatches 16", 2, "--microbatches 8, --num-microbatches 16: these are two names of one option", None),
    ("pick --devices 4 -b 8 --offload all --host-bandwidth 5", 2, "in ppsched pick --offload takes no value", None),
    # dashes of texts
    ("schedule \u2013devices 4 \u2013microbatches 8", 2, "\u2013devices begins with a dash that is no hyphen; write --devices", None),
    ("check \u2014json s.csv", 2, "write --json", "check --json s.csv"),
    # words of others
    ("pick --devices 4 -b 8 --parallelism.pipeline_parallel_degree 8", 2, "did you mean --pp?", None),
    ("pick --model config.json --training.seq_len 4096", 2, "did you mean --seq?", None),
    ("pick --model config.json --gradient-accumulation-steps 8", 2, "did you mean --global-batch?", None),
    ("pick --devices 4 --gradient-accumulation-steps 8", 2, "did you mean --microbatches?", "pick --devices 4 --microbatches 8"),
    ("pick --devices 4 --batch-size 8", 2, "did you mean --microbatches?", None),
    ("price --model config.json --pp 4 --bf16", 2, "did you mean --precision bf16?", "price --model config.json --pp 4 --precision bf16"),
    ("pick --model config.json --deepspeed ds.json", 2, "did you mean --runtime deepspeed?", None),
    ("price --model config.json --pp 4 --fsdp", 2, "did you mean --zero?", None),
    ("pick --devices 4 -b 8 --vram 5", 2, "did you mean --mem-limit?", "pick --devices 4 -b 8 --mem-limit 5"),
    ("pick --devices 4 -b 8 --bandwidth 5", 2, "did you mean --p2p-bandwidth?", None),
    ("schedule -d 4 -b 8", 2, "did you mean --devices?", None),
    ("schedule -m 8 --devices 4", 2, "did you mean --microbatches?", None),
    ("schedule --devices 4 -b 8 --forward 3", 2, "did you mean --forward-times?", "schedule --devices 4 -b 8 --forward-times 3"),
    ("schedule --devices 4 -b 4 --microbatch-scale 1 2 1 2 --microbatch-order 3 2 1 0", 2, "did you mean --order-microbatches?",
     "schedule --devices 4 -b 4 --microbatch-scale 1 2 1 2 --order-microbatches"),
    ("pick --devices 4 -b 8 --runtime nemo", 2, "did you mean megatron?", "pick --devices 4 -b 8 --runtime megatron"),
    ("convert s.csv --to perfetto", 2, "did you mean chrome?", "convert s.csv --to chrome"),
    ("convert s.csv --to pytorch", 2, "did you mean csv?", "convert s.csv --to csv"),
    ("convert s.csv --to png", 2, "-o FILE.png, without --to, draws a picture", None),
    ("schedule --devices 4 -b 8 --format pdf", 2, "-o FILE.pdf, without --format, draws a picture", None),
    ("price --model config.json --pp 4 -o a.txt", 2, "the answer goes to standard output: write > FILE instead", None),
    ("compare --devices 4 -b 8 --split 8", 2, "ppsched compare itself finds the split; leave it out", None),
    ("layout --pp 4 --num-layers 32 --tp 2", 2, "unknown option --tp; it is an option of ppsched pick and ppsched model\n", None),
    ("replicas --chunks 2", 2, "did you mean --vpp?", None),
    ("pick h100 --pp 4", 2, "did you mean --device h100?", None),
    # commands
    ("validate s.csv", 2, "did you mean check?", "check s.csv"),
    ("plan --devices 4 -b 8", 2, "did you mean pick?", "pick --devices 4 -b 8"),
    ("draw", 2, "did you mean schedule?", None),
    ("zbv", 2, "it is a strategy: ppsched strategies zbv", "strategies zbv"),
    ("config.json", 2, "such as ppsched pick --model config.json", None),
    ("help zbv", 2, "it is a strategy: ppsched strategies zbv", None),
    ("--quiet pick --devices 4 -b 8", 2, "options follow the command, as in ppsched pick --quiet", "pick --quiet --devices 4 -b 8"),
    # files
    ("strategies -o a.png", 2, "give a name that ends with .txt or .json", "strategies -o a.json"),
    (f"replan {JOB} --lost 3 -o a.csv", 2, "give a name that ends with .txt or .json", f"replan {JOB} --lost 3 -o a.txt"),
    (f"replicas {REPLICAS} -o a.svg", 2, "give a name that ends with .txt or .json", f"replicas {REPLICAS} -o a.json"),
    ("layout --pp 4 --num-layers 32 -o a.html", 2, "give a name that ends with .txt or .json", "layout --pp 4 --num-layers 32 -o a.json"),
    ("pair windows.json -o a.pdf", 2, "give a name that ends with .txt or .json", "pair windows.json -o a.json"),
    ("check s.csv -o a.html", 2, "give a name that ends with .txt or .json", "check s.csv -o a.json"),
    ("calibrate runs.csv -o a.png", 2, "give a name that ends with .json", None),
    ("compare --devices 4 -b 8 -o a.xlsx", 2, ".pdf, or give --json\n", None),
    ("check 1f1b", 1, "cannot read 1f1b: No such file or directory", None),
    ("model --model https://host/config.json", 1, "download it, and give the file", None),
    ("model --model pic.png", 1, "byte 0 is not UTF-8; the file must be text", None),
    ("price --model config.json --pp 4 --device none.json", 1, "cannot read none.json: No such file or directory", None),
    ("price --model config.json --pp 4 --device rtx4090", 1, 'or give a JSON file of another, such as {"like": "h100", "memory": "24GB"}',
     "price --model config.json --pp 4 --device small.json"),
    ("price --model config.json --pp 4 --device config.json", 1, "the file describes a model", None),
    ("convert trace.json --to csv", 1, "the file is a trace, from which no schedule is read", None),
    ("pick --devices 4 -b 8 --layers 32", 2, "the number of equal layers is --num-layers 32", "pick --devices 4 -b 8 --num-layers 32"),
    ("pick --gpus 8 -b 8", 2, "--gpus needs --model; without it the number of devices is --devices 8", "pick --devices 8 -b 8"),
    # numbers
    ("pick --devices 4 -b 8 --num-layers 8 --head 2.4", 2, "such as --head forward_time=2.4 backward_time=4.8", "pick --devices 4 -b 8 --num-layers 8 --head forward_time=2.4 backward_time=4.8"),
    ("schedule --devices 4 -b 8 --strategy auto --set effort", 2, "such as --set effort=6", "schedule --devices 4 -b 8 --strategy auto --set effort=6"),
    (f"replan {JOB} --lost gpu3", 2, "'gpu3' is not an integer; write 3", f"replan {JOB} --lost 3"),
    (f"replan {JOB} --lost 3 --strategy zbv", 2, "--split has 4 stages on 4 running devices, but zbv has 2 per device", None),
    (f"replan {JOB} --added 2", 2, "give --devices 6, which includes the added devices", f"replan {JOB.replace('devices 4', 'devices 6')} --added 2"),
    (f"replan {JOB} --lost 3 --group-size 2", 2, "1f1b has no groups; leave it out", f"replan {JOB} --lost 3"),
]


class SlipsTest(unittest.TestCase):
    def setUp(self):
        own_folder.enter(self)
        for name, text in (("s.csv", "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n"), ("trace.json", '{"traceEvents": []}'), ("runs.csv", "tp,pp\n1,2\n"),
                           ("small.json", '{"like": "h100", "memory": "24GB"}'),
                           ("windows.json", '{"forward": [["compute", 3], ["network", 2]], "backward": [["compute", 4], ["network", 2]]}')):
            pathlib.Path(name).write_text(text, encoding="utf-8")
        pathlib.Path("pic.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
        shutil.copy(EXAMPLES / "config.json", "config.json")

    def test_each_says_what_to_type(self):
        for words, code, answer, better in SLIPS:
            with self.subTest(words=words):
                result = run_command(shlex.split(words), speaks=True)
                self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
                self.assertRegex(result.stderr, r"\Appsched( [a-z]+)?: [^\n]+\n\Z")
                self.assertIn(answer, result.stderr)
                if better is not None:
                    result = run_command(shlex.split(better))
                    self.assertEqual(result.returncode, 0, result.stderr)

    def test_lists_with_commas_and_spaces(self):
        for one, other in (("-f 1, 2, 3, 4", "-f 1 2 3 4"), ("--chunks 1, 2", "--chunks 1 2"), ("--strategies 1f1b, zb_h1", "--strategies 1f1b zb_h1")):
            self.assertEqual(*(run_command(shlex.split(f"compare --devices 4 -b 8 {words}")).stdout for words in (one, other)))

    def test_the_last_of_one_name_counts(self):
        self.assertEqual(*(run_command(shlex.split(f"schedule -b 8 {words}")).stdout for words in ("--devices 8 --devices 4", "--devices 4 --num-devices 4")))

    def test_files_of_json(self):
        for words in ("strategies zbv", f"replan {JOB} --lost 3", "layout --pp 4 --num-layers 32", "pair windows.json", "check s.csv"):
            told = run_command([*shlex.split(words), "--json"]).stdout
            self.assertEqual(run_command([*shlex.split(words), "-o", "a.json"]).stdout, "")
            self.assertEqual(pathlib.Path("a.json").read_text(encoding="utf-8"), told)

    def test_bandwidth_without_bytes(self):
        for words, note in (("--p2p-bandwidth 5", "--p2p-bandwidth has no effect without --activation-bytes"),
                            ("--p2p-bandwidth 5 --activation-bytes 5", ""),
                            ("--layers '[{\"name\": \"l\", \"count\": 8, \"forward_time\": 1}]' --p2p-bandwidth 5", "without output_bytes of layers"),
                            ("--layers '[{\"name\": \"l\", \"count\": 8, \"forward_time\": 1, \"output_bytes\": 3}]' --p2p-bandwidth 5", "")):
            told = run_command(shlex.split(f"schedule --devices 4 -b 8 {words}"), speaks=True)
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertEqual(bool(told.stderr), bool(note), told.stderr)
            self.assertIn(note, told.stderr)

    def test_a_job_that_has_not_changed(self):
        self.assertIn("note: no device has changed", run_command(shlex.split(f"replan {JOB}"), speaks=True).stderr)
        self.assertEqual(run_command(shlex.split(f"replan {JOB} --lost 3"), speaks=True).stderr, "")


if __name__ == "__main__":
    unittest.main()
