# SPDX-License-Identifier: Apache-2.0
"""Typical mistakes of each command: one line on standard error says what to type, nothing is on standard output, and the exit code is 2
for wrong words and 1 for what is refused."""
import json
import os
import pathlib
import shlex
import shutil
import unittest

import own_folder
from in_process import run_command

import ppsched
from ppsched.command.commands import COMMANDS

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "examples"
FILES = {
    "problem.yaml": "devices: 4\nmicrobatches: 8\n", "typo.yaml": "devices: 4\nmicrobaches: 8\n", "yaml.json": "devices: 4\nmicrobatches: 8\n",
    "half.json": '{"devices": 4, ', "list.json": "[1, 2]", "empty.csv": "", "runs.csv": "tp,pp\n1,2\n", "gpt2.json": '{"hidden_size": 4}',
    "odd.json": '{"model_type": "mambaformer9", "hidden_size": 8}', "s.csv": "0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n", "s.txt": "0F0,0B0\n",
    "one.csv": "1F0,1F1,1B0,1B1\n2F0,2B0,2F1,2B1\n", "bad.csv": "0F0,0X1\n1F0\n",
    "windows.json": '{"forward": [["compute", 3], ["network", 2]], "backward": [["compute", 4], ["network", 2]]}',
}

# Of each command: the words, the exit code, and what the line says to do.
MISTAKES = {
    "strategies": [
        ("gpip", 1, "did you mean gpipe?"),
        ("1F1B extra", 2, "apart from options it takes only one name"),
        ("--strategy 1f1b", 2, "as in ppsched strategies name"),
        ("--json=yes", 2, "write --json alone"),
        ("-o folder", 1, "give the name of a file in it"),
        ("-o", 2, "write --output FILE"),
        ("--out x/y/z.txt", 2, "did you mean --output?"),
        ("interleaved zbv", 2, "apart from options it takes only one name"),
        ('""', 1, "there are gpipe, 1f1b, seq_1f1b, eager_1f1b, 1f1b_no_flush,"),
        ("--devices 8", 2, "it is an option of ppsched schedule and ppsched compare"),
        ("-o nowhere/a.txt", 1, "make the folder first: mkdir -p"),
    ],
    "schedule": [
        ("--strategy gpip --devices 4 -b 8", 1, "did you mean gpipe?"),
        ("--devices 4", 2, "give --microbatches, or a config file with microbatches"),
        ("--devices 4 --microbatches", 2, "write --microbatches M"),
        ("--devices 4 --microbatches 8 -f 1 2 3", 1, "give 1 for all stages or 4, one per stage"),
        ("--devices 4 --microbatches 8 -f 6ms -bw 2", 1, "write --backward-times 2ms"),
        ("--devices 4 --microbatches 8 -f 6msec", 2, "did you mean ms?"),
        ("--devices 4 --microbatches 8 --mem-limit 80G", 2, "did you mean GB?"),
        ("--devices 4 --microbatches 8 --mem-limit 80 GB", 2, "a unit follows its number at once, such as 72GB"),
        ("-c folder", 1, "give a file in it"),
        ("-c yaml.json", 1, "a file of YAML has a name that ends with .yaml"),
        ("-c typo.yaml", 1, "did you mean microbatches?"),
        ("-c config.json", 1, "the file describes a model, which ppsched pick --model takes"),
        ("--devices h100 -b 8", 2, "the kind of device is --device h100"),
        ("--devices 4 --stages 6 --microbatches 8 --strategy interleaved_1f1b", 1, "nearest: 4 or 8 stages"),
        ("--devices 4 -b 8 --strategy zbv --chunks 3", 1, "nearest: 8 stages, or 6 devices"),
        ("--devices 4 -b 8 --placement 1 2 3 4", 1, "devices are 0 to 3"),
        ("--num-layers 30 --devices 4 -b 8 --split 8 8 8 8", 1, "the model has 30"),
        ("devices=4", 2, "did you mean --devices=4?"),
        ("--devices 4 --microbatches eight", 2, "argument --microbatches: 'eight' is not an integer"),
        ("--devices 4 -b 8 -bw 2 -bi 1", 2, "ppsched schedule --help all lists them"),
        ("problem.yaml", 2, "did you mean --config problem.yaml?"),
        ("--devices 4 -b 1e9", 2, "write 1000000000"),
        ("--devices 4 -b 8 --launch megatorn", 2, "did you mean megatron?"),
        ("--device h100 -b 8", 2, "did you mean --devices?"),
    ],
    "compare": [
        ("--devices 8", 2, "give --microbatches, or a config file with microbatches"),
        ("--devices 8 -b 32 --strategy 1f1b", 2, "did you mean --strategies?"),
        ("--devices 8 -b 32 --runtime torch", 2, "did you mean pytorch?"),
        ("--devices 8 -b 32 -o a.docx", 2, "known are .json .txt .csv .html .htm .png .svg .pdf, or give --json"),
        ("--devices 8 -b 32 --gpus 8", 2, "did you mean --devices?"),
        ("--devices 8 -b 32 --mem_limit 12", 2, "did you mean --mem-limit?"),
        ("--devices 8 -b 32 --jitter 10%", 2, "write 0.1"),
        ("--layers config.json --devices 8 -b 8", 1, "the file describes a model, which ppsched pick --model takes"),
        ("--devices 8 -b 8 --chunks 1,x", 2, "a list is written 1 2 4 or 1,2,4"),
        ("--devices 8 -b 8 --strategies 1f1b gpip", 1, "did you mean gpipe?"),
        ("--devices 8 -b 32 --microbatch-counts 0", 1, "they must be at least 1 and below 2**31"),
    ],
    "pick": [
        ("", 2, "give --devices, or --stages, or a config file with one of them"),
        ("--model config.json", 1, "--pp 2 or --tp 2 would fit"),
        ("--model config.json --gpus h100", 2, "the kind of device is --device h100"),
        ("--model config.json --gpus 6 --tp 4", 1, "give --gpus 4 or 8"),
        ("--model config.json --device 8", 2, "the number of devices is --devices 8, with --model --gpus 8"),
        ("--model config.json --pp 4 --tp 3", 1, "2 and 4 do"),
        ("--model config.json --pp 40 --global-batch 64", 1, "give 32 or less"),
        ("--model config.json --pp 4 --dp 3 --global-batch 64", 1, "give 63 or 66"),
        ("--model config.json --pp 4 --global-batch 64 -b 16", 2, "leave it out"),
        ("--model config.json --pp 4 -f 3", 1, "write --forward-times 3ms (plain numbers would be s)"),
        ("--model folder --pp 4", 1, "give a file in it"),
        ("--model layers.json --pp 4", 1, "the file states layers, which --layers of ppsched pick takes"),
        ("--model gpt2.json --pp 4", 1, "give Hugging Face's config.json, Megatron-LM's argument name"),
        ("--model meta-llama/Llama-3-8B --pp 4", 1, "if it is the name of a model on a hub, download its config.j"),
        ("--devices 8 -b 32 --mem-limit 12 13", 1, "give 1 for all devices or 8, one per device"),
        ("--layers layers.json --devices 16 -b 64 --mem-limit 72", 1, "write --mem-limit 72GB"),
        ("--model config.json --bytes weights=2 --pp 4", 1, "KIND is weight, gradient, optimizer, activation, and B is above 0"),
        ("--devices 8 -b 32 --tp 2", 2, "--tp needs --model"),
        ("--devices 8 -b 32 --precision fp16", 2, "--precision needs --model"),
        ("-m config.json --pp 4", 2, "did you mean --model?"),
        ("--model config.json --recompute some --pp 4", 2, "itself finds what is recomputed; leave it out"),
    ],
    "replan": [
        ("", 2, "give --split: the layers of each stage of the running job"),
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 8 8 --slow-rank 3", 2, "--slow-rank 3: it must be RANK:FACTOR, such as 3:1.2"),
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 8 8 --slow-rank 4:2", 2, "ranks are 0 to 3"),
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 8 8 --slow-rank 3=2", 2, "--slow-rank 3=2: it must be RANK:FACTOR, such as 3:1.2"),
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 8 9 --slow-rank 3:2", 1, "they must be equal"),
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 16 --slow-rank 3:2", 1, "it must be a multiple of 4, the running devices"),
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 8 8 --measured config.json", 1, "the file describes a model, which ppsched pick --model takes"),
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 8 8 --added 5", 2, "--devices includes the added devices"),
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 8 8 --slowrank 3:2", 2, "did you mean --slow-rank?"),
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 8 8 --lost 0 1 2 3", 1, "leave at least one, or add some"),
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 8 8 --slow-rank 3:2 --strategy zbw", 1, "did you mean zbv?"),
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 8 8 --device-order 1 2 3 4 --slow-rank 3:2", 1, "devices are 0 to 3"),
    ],
    "replicas": [
        ("", 2, "give --replica-speeds once for each replica, such as --repli"),
        ("--devices 4 -b 48 --num-layers 32 --replica-speeds 1 1", 2, "give 1, or 4, one per device"),
        ("--devices 4 -b 48 --num-layers 32 --replica-speeds 1 --replica-speeds 0", 2, "it must be above 0"),
        ("--devices 4 -b 48 --num-layers 32 --replica-speeds 1 --replica-speeds half", 2, "argument --replica-speeds: 'half' is not a number"),
        ("--devices 4 -b 1 --num-layers 32 --replica-speeds 1 --replica-speeds 1", 1, "give one to each at least"),
        ("--devices 4 -b 48 --num-layers 3 --replica-speeds 1 --replica-speeds 1", 1, "use at most 3 devices"),
        ("--devices 4 -b 48 --num-layers 32 --replica-speed 1 --replica-speed 1", 2, "did you mean --replica-speeds?"),
        ("--devices 4 -b 48 --num-layers 32 --replica-speeds 1 --replica-speeds 1 --strategy zbw", 1, "did you mean zbv?"),
        ("--devices 4 -b 48 --num-layers 32 --replica-speeds 1 --replica-speeds 1 --dp 2", 2, "did you mean --replica-speeds?"),
        ("--devices 4 -b 48 --replica-speeds 1 --replica-speeds 1", 2, "give --num-layers or --layers: the layers that each replica splits"),
        ("--devices 4 --num-layers 32 --replica-speeds 1 --replica-speeds 1 --global-batch 48", 2, "did you mean --microbatches?"),
    ],
    "check": [
        ("", 2, "ppsched check --help says what it may be"),
        ("folder", 2, "known are .csv .json, or give --from"),
        ("nofile.csv", 1, "cannot read nofile.csv: No such file or directory"),
        ("s.txt", 2, "known are .csv .json, or give --from"),
        ("one.csv", 1, "stages count from 0"),
        ("bad.csv", 1, "its kind is not one of this format, such as F, B, I and W"),
        ("empty.csv", 1, "empty.csv: the text is empty"),
        ("config.json", 1, "the file describes a model, which ppsched pick --model takes"),
        ("s.csv --from yaml", 2, "choose from csv, json, chakra"),
        ("s.csv --channel all", 2, "choose from group, direction, pair, none, sends"),
        ("s.csv --devices 2", 2, "it is an option of ppsched schedule and ppsched compare"),
        ("s.csv --form csv", 2, "did you mean --from?"),
        ("s.csv s.csv", 2, "apart from options it takes only one FILE"),
    ],
    "convert": [
        ("", 2, "ppsched convert --help says what it may be"),
        ("s.csv", 2, "give --to, or -o with one of the endings .trace.json .json ."),
        ("s.csv --to yaml", 2, "choose from text, csv, json, chrome, megatron, deepspeed, sail, chakra"),
        ("s.csv -o a.xyz", 2, "give --to, or -o with one of the endings .trace.json .json ."),
        ("s.csv a.json", 2, "to write to a file: -o a.json"),
        ("s.csv --to chrome -f 1 2 3", 1, "give 1 for all stages or 2, one per stage"),
        ("s.csv --to chrome -f 6ms", 1, "twice the forward is --backward-times 12ms"),
        ("one.csv --to json", 1, "stages count from 0"),
        ("s.csv --launch torch", 2, "did you mean pytorch?"),
        ("s.csv --format json", 2, "did you mean --to?"),
        ("config.json --to csv", 1, "the file describes a model, which ppsched pick --model takes"),
    ],
    "layout": [
        ("", 2, "give --num-layers L, the number of decoders of the model"),
        ("Et*3|tL", 2, "give --pp P, the number of devices of a pipeline"),
        ('"Et*3|(tt|)*2,m|L" --pp 3', 1, "it must be a multiple, such as 6 stages"),
        ("--pp 4 --num-layers 30", 1, "28 and 32 can"),
        ("--pp four --num-layers 32", 2, "argument --pp: 'four' is not an integer"),
        ("--pp 4 --num-layer 32", 2, "did you mean --num-layers?"),
        ("--torchtitan --pp 4 --num-layers 32 --schedule zbv", 1, "it has 1F1B, GPipe, Interleaved1F1B, LoopedBFS, InterleavedZ"),
        ("--torchtitan --pp 4 --num-layers 32 --stages 6", 1, "8 can"),
        ("--devices 4 --num-layers 32", 2, "did you mean --pp?"),
        ("--pp 4 --num-layers 32 --vp 3", 2, "--vp needs a layout string"),
        ("--pp 4 --num-layers 32 --decoder-first-pipeline-num-layers 40", 1, "they must leave 0 or more"),
    ],
    "model": [
        ("", 2, "give --model FILE: Hugging Face's config.json, Megatron-L"),
        ("--model folder", 1, "give a file in it"),
        ("--model layers.json", 1, "the file states layers, which --layers of ppsched pick takes"),
        ("--model odd.json", 1, "the nearest is mamba, which is another model"),
        ("--model config.json --device h1000", 1, "did you mean h100?"),
        ("--model config.json --device 8", 2, "the number of devices is the product of --tp, --pp and --dp"),
        ("--model config.json --devices 8", 2, "did you mean --pp?"),
        ("--model config.json --tp 3", 1, "2 and 4 do"),
        ("--model config.json --zero 5", 1, "it must be 0 to 3"),
        ("--model config.json --bytes weight:2", 1, "KIND is weight, gradient, optimizer, activation, and B is above 0"),
        ("--model config.json --seq 8k", 2, "write 8192"),
        ("config.json", 2, "did you mean --model config.json?"),
        ("--model config.json --layer-times decoder=6ms", 1, "PASS is forward, input or weight"),
        ("--model config.jsn", 1, "did you mean config.json?"),
    ],
    "pair": [
        ("", 2, "ppsched pair --help says what it may be"),
        ("nofile.json", 1, "did you mean profile.json?"),
        ("folder", 1, "give a file in it"),
        ("config.json", 1, "known keys: forward, backward, weight, slowdown"),
        ("half.json", 1, "line 1, column 16: broken JSON: Expecting property name"),
        ("windows.json --pairs 0", 1, "give 1 or more"),
        ("windows.json --stages 0 1", 1, "give one from 0 to 0"),
        ("windows.json --order xyz", 1, "it must be F, B or W for each window in turn"),
        ("windows.json --pairs two", 2, "argument --pairs: 'two' is not an integer"),
        ("windows.json extra.json", 2, "to write to a file: -o extra.json"),
        ("windows.json --pair 2", 2, "did you mean --pairs?"),
        ("list.json --stages 0", 2, "write --stages I J"),
    ],
    "price": [
        ("", 2, "give --model FILE: Hugging Face's config.json, Megatron-L"),
        ("--model config.json --pp 2 4", 2, "ppsched pick compares several"),
        ("--model config.json --pp 4 --device h1000", 1, "did you mean h100?"),
        ("--model config.json --pp 4 --devices 8", 2, "did you mean --pp?"),
        ("--model config.json --pp 4 --precision int8", 2, "choose from bf16, fp16, fp8, mxfp8, nvfp4"),
        ("--model config.json --pp 4 --split 8 8 8", 1, "the model has 32, and --pp 4 with --vpp 1 4 stages"),
        ('--model config.json --pp 4 --layout "Ettt|tttL"', 1, "it must be a multiple, such as 4 stages"),
        ("--model config.json --pp 4 --recompute some", 1, "--recompute 'some': it must be none, selective, full, module"),
        ("--model config.json --pp 4 --overlap x", 1, "--overlap 'x': it must be one or more of grad, param, tp, cp, ep"),
        ("--model config.json --pp 3", 1, "give --split, --layout, --account-for-embedding or --account-for-loss"),
        ("--model config.json --gpus 8", 2, "did you mean --pp?"),
        ("megatron_arguments.sh", 2, "did you mean --model megatron_arguments.sh?"),
        ("--model config.json --pp 4 --global_batch 64", 2, "did you mean --global-batch?"),
    ],
    "calibrate": [
        ("", 2, "ppsched calibrate --help says what it may be"),
        ("nofile.csv", 1, "cannot read nofile.csv: No such file or directory"),
        ("folder", 1, "give a file in it"),
        ("empty.csv", 1, "a file of runs has the columns gpu, seq, mbs, gbs, measured_"),
        ("runs.csv", 1, "a file of runs has the columns gpu, seq, mbs, gbs, measured_"),
        ("runs.csv --device h1000", 1, "a file of runs has the columns gpu, seq, mbs, gbs, measured_"),
        ("runs.csv -m folder", 1, "give a file in it"),
        ("config.json", 1, "a file of runs has the columns gpu, seq, mbs, gbs, measured_"),
        ("runs.csv runs.csv", 2, "apart from options it takes only one RUNS.csv"),
        ("runs.csv --out device.json", 2, "did you mean --output?"),
        ("runs.csv --gpus 8", 2, "it is an option of ppsched pick"),
        ("--runs runs.csv", 2, "as in ppsched calibrate RUNS.csv"),
    ],
    "live": [
        ("-o a.png", 2, "give a name that ends with .html"),
        ("-o", 2, "write --output FILE"),
        ("--devices 4 -b 8 --beside gpip -o a.html", 1, "did you mean gpipe?"),
        ("--devices 4 -b 8 --beside gpipe zb_h1 zbv dualpipe -o a.html", 2, "it may have at most 3"),
        ("--devices 4 -b 8 --beside gpipe:x -o a.html", 2, "--beside gpipe:x: it must be a strategy, with or without its"),
        ("--lesson zbh1 -o a.html", 2, "did you mean zb_h1?"),
        ("--lesson 8 -o a.html", 2, "choose from gpipe, 1f1b, eager_1f1b, interleaved_1f1b, zb_h1, zbv, dualpipe_v"),
        ("--lesson", 2, "write --lesson NAME, one of gpipe,"),
        ("--devices h100 -o a.html", 2, "the kind of device is --device h100"),
        ("--launch megatron -o a.html", 2, "it is an option of ppsched schedule and ppsched convert"),
        ("--port 8080", 2, "ppsched live --help all lists them"),
        ("-c folder -o a.html", 1, "give a file in it"),
        ("--devices 4 -b 8 --offload some -o a.html", 2, "--offload some: it must be chunks=N, all or limit"),
        ("a.html", 2, "to write to a file: -o a.html"),
        ("--devices 4 --microbatches 6 --strategy interleaved_1f1b --stages 8 --iterations 1 --gpus 8", 2, "did you mean --devices?"),
        ("--stages -8 -o a.html", 2, "give --microbatches, or a config file with microbatches"),
    ],
    "help": [
        ("pik", 2, "did you mean pick?"),
        ("pick some", 2, "the command takes only the word all, or none"),
        ("pick all more", 2, "apart from options it takes only one COMMAND and all"),
        ("--completion tcsh", 2, "choose from bash, zsh, fish"),
        ("--completion", 2, "write --completion {bash,zsh,fish}"),
        ("--man --completion bash", 2, "leave out the other words"),
        ("--devices", 2, "it is an option of ppsched schedule and ppsched compare"),
        ("all", 2, "known are strategies, schedule, compare, pick, replan, repli"),
        ("--help pick", 2, "write ppsched help pick"),
        ("pick --man all", 2, "apart from options it takes only one COMMAND and all"),
        ("nosuch --man", 2, "known are strategies, schedule, compare, pick, replan, repli"),
    ],
}

# More of each, as users of other programs make them.
HABITS = {
    "strategies": [
        ("ZBV2", 1, "did you mean zbv?"), ("--format json", 2, "did you mean --json?"), ("--JSON", 2, "did you mean --json?"),
        ("--name 1f1b", 2, "as in ppsched strategies name"), ("-v", 2, "ppsched strategies --help all lists them"),
    ],
    "schedule": [
        ("--pipeline-model-parallel-size 4 -b 8", 2, "did you mean --pp?"), ("--pipeline_parallel_size 4 -b 8", 2, "did you mean --pp?"),
        ("--devices 4 --gradient_accumulation_steps 8", 2, "did you mean --microbatches?"), ("--DEVICES 4 -b 8", 2, "did you mean --devices?"),
        ("--devices 4 -b 8 --activation-checkpointing", 2, "did you mean --recompute?"), ("--devices 4 -b 8 --vpp 2", 2, "did you mean --chunks?"),
        ("1f1b --devices 4 -b 8", 2, "did you mean --strategy 1f1b?"), ("--devices 4GB -b 8", 2, "write 4"), ("--devices 4, -b 8", 2, "write 4"),
        ("--devices four -b 8", 2, "write digits, such as 8"), ("--devices 4 --microbatches=", 2, "write digits, such as 8"),
        ("--devices 4 -b 8 --set group_size 2", 2, "did you mean --set group_size=2?"), ("--devices 4 -b 8 --format JSON", 2, "did you mean json?"),
        ("--devices 4 -b 8 -f 3 ms", 2, "a unit follows its number at once"), ("--devices h100 -b 8", 2, "--device h100, with --model"),
        ("--devices 4 -b 8 --launch Megatron-LM", 2, "did you mean megatron?"),
    ],
    "compare": [
        ("--pipeline-model-parallel-size 8 -b 32", 2, "did you mean --pp?"), ("--devices 8 -b 32 --memory 80GB", 2, "did you mean --mem-limit?"),
        ("--devices 8 -b 32 megatron", 2, "did you mean --runtime megatron?"), ("--devices 8 -b 32 --runtime Megatron", 2, "did you mean megatron?"),
        ("zbv --devices 8 -b 32", 2, "did you mean --strategies zbv?"), ("--devices 8 -b 32 --sort step", 2, "ppsched compare --help all lists them"),
    ],
    "pick": [
        ("--model config.json --pp 4 --mbs 1", 2, "did you mean --micro-batch?"), ("--model config.json --pp 4 --gbs 64", 2, "did you mean --global-batch?"),
        ("--model config.json --pp 4 --train_batch_size 64", 2, "did you mean --global-batch?"),
        ("--model config.json --tensor-parallel-size 2", 2, "did you mean --tp?"), ("--model config.json --pp 4 --seq-len 4096", 2, "did you mean --seq?"),
        ("--model config.json --pp 4 --zero_stage 1", 2, "did you mean --zero?"), ("--model config.json --world-size 64", 2, "did you mean --gpus?"),
        ("--model config.json --num-nodes 8", 2, "did you mean --gpus?"), ("--model config.json --pp 4 --gpu h100", 2, "did you mean --device?"),
        ("--model config.json --pp 4 --hardware h100", 2, "did you mean --device?"), ("--model config.json --gpus 64GB", 2, "write 64"),
        ("--model config.json --pp 4 --optimizer adam", 2, "did you mean --mem-optimizer?"),
        ("--model config.json --pp 4 --recompute-activations", 2, "ppsched pick --help all lists them"),
        ("--model CONFIG.JSON --pp 4", 1, "did you mean config.json?"),
    ],
    "replan": [
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 8 8 --slow-rank 3 2", 2, "did you mean --slow-rank 3:2?"),
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 8 8 --failed 3", 2, "did you mean --lost?"),
        ("--devices 4 -b 16 --num-layers 32 --split 8 8 8 8 --lost three", 2, "write digits, such as 8"),
        ("--pipeline-model-parallel-size 4 -b 16 --num-layers 32 --split 8 8 8 8 --lost 3", 2, "did you mean --pp?"),
    ],
    "replicas": [
        ("--devices 4 -b 48 --num-layers 32 --replica-speeds 1,0.5", 2, "write 1 0.5"),
        ("--devices 4 -b 48 --num-layers 32 --replica-speeds 1 0.5", 2, "and the option once for each replica"),
        ("--devices 4 -b 48 --num-layers 32 --speeds 1 0.5", 2, "did you mean --replica-speeds?"),
        ("--devices 4 -b 48 --num-layers 32 --replica-speeds 1 --data-parallel-size 2", 2, "did you mean --replica-speeds?"),
    ],
    "check": [
        ("--file s.csv", 2, "as in ppsched check FILE"), ("-f s.csv", 2, "as in ppsched check FILE"), ("s.csv --format csv", 2, "did you mean --from?"),
        ("s.csv --from CSV", 2, "did you mean csv?"), ("S.CSV", 1, "did you mean s.csv?"), ("s.csv --channel GROUP", 2, "did you mean group?"),
    ],
    "convert": [
        ("--input s.csv --to json", 2, "as in ppsched convert FILE"), ("s.csv json", 2, "did you mean --to json?"), ("s.csv --to JSON", 2, "did you mean json?"),
        ("s.csv --output-format json", 2, "did you mean --to?"), ("s.csv to json", 2, "did you mean --to?"),
    ],
    "layout": [
        ("config.json --pp 4", 2, "or --num-layers L"), ("--pp 4 --num-layers 32B", 2, "write 32"), ("--PP 4 --num-layers 32", 2, "did you mean --pp?"),
        ("--pp 4 --num-layers 32 --virtual-pipeline-model-parallel-size 2", 2, "did you mean --num-virtual-stages-per-pipeline-rank?"),
        ("--layout Et|tL --pp 2", 2, "as in ppsched layout STRING"), ("--torchtitan --pp 4 --num-layers 32 --schedule 1f1b2", 1, "did you mean 1F1B?"),
    ],
    "model": [
        ("--model-name llama", 2, "did you mean --model?"), ("--model config.json --tp 2GB", 2, "write 2"), ("--model config.json --PP 4", 2, "did you mean --pp?"),
        ("--model config.json --tensor-parallel-size 2", 2, "did you mean --tp?"), ("--model config.json --gpu h100", 2, "did you mean --device?"),
    ],
    "pair": [
        ("--windows windows.json", 2, "as in ppsched pair FILE"), ("windows.json --pairs 2ms", 2, "write 2"), ("WINDOWS.json", 1, "did you mean windows.json?"),
        ("windows.json --forward 3", 2, "ppsched pair --help all lists them"), ("windows.json --Order f", 2, "did you mean --order?"),
    ],
    "price": [
        ("--model config.json --pp 4 --gbs 64", 2, "did you mean --global-batch?"), ("--model config.json --pp 4 --precision BF16", 2, "did you mean bf16?"),
        ("--model config.json --pp 4 --recompute-granularity full", 2, "did you mean --recompute?"),
        ("--model config.json --pp 4 --overlap-grad-reduce", 2, "did you mean --overlap?"), ("--model config.json --pp 4GB", 2, "write 4"),
    ],
    "calibrate": [
        ("--input runs.csv", 2, "as in ppsched calibrate RUNS.csv"), ("runs.csv --gpu h100", 2, "did you mean --device?"),
        ("runs.csv config.json", 2, "did you mean --model config.json?"), ("RUNS.csv", 1, "did you mean runs.csv?"),
    ],
    "live": [
        ("--pipeline-model-parallel-size 4 -b 8", 2, "did you mean --pp?"), ("--devices 4 -b eight -o a.html", 2, "write digits, such as 8"),
        ("--devices 4 -b 8 --beside gpipe,1f1bb -o a.html", 1, "did you mean 1f1b?"), ("zbv --devices 4 -b 8 -o a.html", 2, "did you mean --strategy zbv?"),
    ],
    "help": [
        ("PICK", 2, "did you mean pick?"), ("--all", 2, "write the word all without dashes"), ("pick --all", 2, "write the word all without dashes"),
        ("--completion BASH", 2, "did you mean bash?"), ("pick schedule", 2, "takes only the word all, or none"),
    ],
}

# Words before any command.
FIRST = [
    ("-V", "did you mean --version?"), ("version", "did you mean --version?"), ("--vers", "did you mean --version?"), ("PICK --devices 8", "did you mean pick?"),
    ("-h schedule", "write ppsched help schedule"), ("--devices 8 pick", "options follow the command, as in ppsched pick --devices"),
]


class MistakesTest(unittest.TestCase):
    def setUp(self):
        own_folder.enter(self)
        os.mkdir("folder")
        for name, text in FILES.items():
            pathlib.Path(name).write_text(text, encoding="utf-8")
        for name in ("config.json", "layers.json", "profile.json", "megatron_arguments.sh"):
            shutil.copy(EXAMPLES / name, name)

    def test_each_says_what_to_type(self):
        for command, mistakes in MISTAKES.items():
            for words, code, answer in mistakes + HABITS[command]:
                with self.subTest(words=f"{command} {words}"):
                    result = run_command([command, *shlex.split(words)], speaks=True)
                    self.assertEqual((result.returncode, result.stdout), (code, ""), result.stderr)
                    self.assertRegex(result.stderr, rf"\Appsched {command}: [^\n]+\n\Z")
                    self.assertIn(answer, result.stderr)

    def test_before_a_command(self):
        for words, answer in FIRST:
            with self.subTest(words=words):
                result = run_command(shlex.split(words), speaks=True)
                self.assertEqual((result.returncode, result.stdout), (2, ""), result.stderr)
                self.assertRegex(result.stderr, r"\Appsched: [^\n]+\n\Z")
                self.assertIn(answer, result.stderr)

    def test_no_answer_overwrites_a_file(self):
        for words in ("check s.csv s.csv", "calibrate runs.csv config.json", "schedule --devices 4 -b 8 runs.csv"):
            self.assertNotIn("-o ", run_command(shlex.split(words), speaks=True).stderr)

    def test_version(self):
        self.assertEqual({run_command([words]).stdout for words in ("-v", "--version")}, {f"ppsched {ppsched.__version__}\n"})

    def test_ten_of_each(self):
        self.assertEqual(list(MISTAKES), list(COMMANDS))
        self.assertGreaterEqual(min(map(len, MISTAKES.values())), 10)

    def test_as_json(self):
        for words, code in (("pick --devices h100 -b 8", 2), ("pick --devicess 8", 2), ("pick 8", 2), ("compare --devices 8 -b 32 --runtime torch", 2),
                            ("check", 2), ("schedule --devices 4 -b 8 --format csv", 2), ("check folder/none.csv", 1)):
            plain, result = (run_command([*shlex.split(words), *more]) for more in ((), ("--json",)))
            self.assertEqual(result.returncode, code, words)
            message = json.loads(result.stdout)["error"]["message"]
            self.assertEqual(result.stderr, f"ppsched {words.split()[0]}: {message}\n")
            self.assertIn(plain.stderr, (result.stderr, ""))


if __name__ == "__main__":
    unittest.main()
