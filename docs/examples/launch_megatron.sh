#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Asks for the best schedule that Megatron-LM can run for a model of 24 layers, and prints the command that trains with it.
# usage: launch_megatron.sh DEVICES MICROBATCHES MEMORY_LIMIT [WORDS OF THE TRAINING COMMAND...]
#   MEMORY_LIMIT of a device, in activations of a layer and microbatch. PPSCHED: the command, if it is not ppsched
set -euo pipefail
devices=$1 microbatches=$2 limit=$3
shift 3
read -ra ppsched <<<"${PPSCHED:-ppsched}"

# Costs of a layer; measured ones: --profile FILE. Megatron-LM divides layers evenly, so V must suit.
picked=$("${ppsched[@]}" pick --json --strategies 1f1b interleaved_1f1b --chunks 1 2 3 \
  --num-devices "$devices" -s 24 -b "$microbatches" -f 1 -bw 2 --mem-limit "$limit")

flags=$(python3 -c '
import json, sys
best = json.load(sys.stdin)[0]
print(best["strategy"], "step time", best["step_time"], "peak memory", best["peak_memory"], file=sys.stderr)
print(best["launch"]["megatron"]["line"])' <<<"$picked")

echo "${*:-torchrun pretrain_gpt.py --num-layers 24} $flags"
