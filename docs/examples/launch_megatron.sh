#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Finds the best split and schedule that Megatron-LM can run for a model with LAYERS layers. The head takes as long as 2.4 layers.
# Prints the command that starts the training.
# usage: launch_megatron.sh DEVICES MICROBATCHES LAYERS MEMORY_LIMIT [WORDS OF THE TRAINING COMMAND...]
#   MEMORY_LIMIT: memory of a device, in units of the activations of one layer for one microbatch
#   The variable PPSCHED is the command to run, if it is not ppsched.
set -euo pipefail
devices=$1 microbatches=$2 layers=$3 limit=$4
shift 4
read -ra ppsched <<<"${PPSCHED:-ppsched}"

# Costs of a layer and of the head. If you have measured them, write them into a file and use --layers FILE.
picked=$("${ppsched[@]}" pick --json --runtime megatron --devices "$devices" -b "$microbatches" --micro-batch-size 1 \
  --num-layers "$layers" -f 1 -bw 2 --head forward_time=2.4 backward_time=4.8 --mem-limit "$limit")

flags=$(python3 -c '
import json, sys
best = json.load(sys.stdin)[0]
print(best["strategy"], "step time", best["step_time"], "peak memory", best["peak_memory"], file=sys.stderr)
print(best["launch"]["megatron"]["line"])' <<<"$picked")

echo "${*:-torchrun pretrain_gpt.py} $flags"
