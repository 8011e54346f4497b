#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The files that ppsched pick --gpus -o FOLDER/ writes are read by the frameworks' own parsers, which find the sizes of the layout."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import framework

HERE = pathlib.Path(__file__).resolve().parent
LLAMA = {"model_type": "llama", "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
         "intermediate_size": 14336, "vocab_size": 128256}


class LayoutFilesTest(unittest.TestCase):
    def read(self, program, name, *words):
        """What a framework reads of a file, and the layout."""
        with tempfile.TemporaryDirectory() as folder:
            model = pathlib.Path(folder) / "config.json"
            model.write_text(json.dumps(LLAMA), encoding="utf-8")
            command = [sys.executable, "-m", "ppsched", "pick", "--model", model, "--device", "h100", "--seq", 4096, "--gpus", 32,
                       "--global-batch", 128, *(() if "--pp" in words else ("--pp", 4)), *words, "-o", f"{folder}/out/"]
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, env=os.environ)
            self.assertEqual(done.returncode, 0, done.stderr)
            out = pathlib.Path(folder) / "out"
            layout = json.loads((out / "layout.json").read_text(encoding="utf-8"))["layout"]
            world = layout["dp"] if program == "deepspeed" else layout["gpus"]
            answer = framework.run([HERE / "layout_files_read.py", program, out / name, world], cwd=folder)
        self.assertGreater(len(answer), 3)
        self.assertEqual(answer, {size: layout[size] for size in answer})
        return answer

    @unittest.skipIf(framework.why_missing("megatron-core"), framework.why_missing("megatron-core"))
    def test_megatron(self):
        self.read("megatron", "megatron.args", "--tp", 2, "--zero", 1, "--chunks", 1, "--strategies", "1f1b")
        looped = self.read("megatron", "megatron.args", "--tp", 2, "--zero", 1, "--chunks", 2, "--strategies", "interleaved_1f1b")
        self.assertEqual(looped["chunks"], 2)
        sharded = self.read("megatron", "megatron.args", "--pp", 1, "--tp", 2, "--zero", 3, "--chunks", 1, "--runtime", "megatron")
        self.assertEqual(sharded["zero"], 3)
        ordered = self.read("megatron", "megatron.args", "--tp", 1, "--zero", 1, "--chunks", 1, "--strategies", "1f1b", "--rank-order",
                            "tp-cp-ep-pp-dp")
        self.assertEqual(ordered["rank_order"], "tp-cp-ep-pp-dp")

    @unittest.skipIf(framework.why_missing("megatron-core"), framework.why_missing("megatron-core"))
    def test_primus(self):
        self.read("megatron", "primus.yaml", "--tp", 2, "--zero", 1, "--chunks", 1, "--strategies", "1f1b")

    @unittest.skipIf(framework.why_missing("megatron-core"), framework.why_missing("megatron-core"))
    def test_bridge(self):
        for words in (("--tp", 2, "--zero", 1, "--chunks", 1, "--strategies", "1f1b"), ("--tp", 1, "--zero", 0, "--chunks", 1, "--strategies", "1f1b"),
                      ("--tp", 2, "--zero", 1, "--chunks", 2, "--strategies", "interleaved_1f1b", "--rank-order", "tp-cp-ep-pp-dp")):
            self.read("bridge", "bridge.py", *words)

    @unittest.skipIf(framework.why_missing("torchtitan"), framework.why_missing("torchtitan"))
    def test_torchtitan(self):
        self.read("torchtitan", "torchtitan.toml", "--tp", 2, "--zero", 3, "--chunks", 1, "--strategies", "1f1b")

    @unittest.skipIf(framework.why_missing("deepspeed"), framework.why_missing("deepspeed"))
    def test_deepspeed(self):
        self.read("deepspeed", "deepspeed.json", "--tp", 1, "--zero", 1, "--runtime", "deepspeed")


if __name__ == "__main__":
    unittest.main(verbosity=2)
