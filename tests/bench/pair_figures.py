# SPDX-License-Identifier: Apache-2.0
"""What overlapped pairs gain, by model and network speed: the tables of real models in docs/pairs.md.

usage: pair_figures.py [--split-effort N]     the windows are those of ppsched model --device h800 --seq 4096 --pair-windows
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import ppsched

CONFIGS = pathlib.Path(__file__).parents[1] / "published" / "configs"
MODELS = {"DeepSeek-V3": ("deepseek-v3.json", 16, 64, 64), "Qwen3-235B": ("qwen3-235b-a22b.json", 8, 32, 64),
          "gpt-oss-120b": ("gpt-oss-120b.json", 4, 32, 32)}  # file, devices, --ep, microbatches
SPEEDS = {"half": 0.5, "as estimated": 1, "twice": 2}
DELAYED, WHOLE = "BFBFWBFFBW", "BFBFBFFB"  # orders of megatron-core 0.19.2, a layer with experts each
STRATEGIES = ("interleaved_1f1b_overlap", "dualpipe_v", "interleaved_zb", "zbv")


def run(*words):
    done = subprocess.run([sys.executable, "-m", "ppsched", *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def pair_of(layer, speed):
    """Two equal layers, with the exchanges of experts at another speed, in ms."""
    found = {}
    for name in ("forward", "backward", "weight"):
        rows = [[channel, 1000 * float(time[:-1]) / (speed if channel == "ep" else 1), *after] for channel, time, *after in layer["windows"][name]]
        found[name] = [[channel, time, *(ended + 4 * number for ended in after)] for number in range(2) for channel, time, *after in rows]
    return found


def merged(pair):
    """Weight gradients inside the backward."""
    backward = [list(row) for row in pair["backward"]]
    for _, time, ended in pair["weight"]:
        backward[ended - 1][1] += time
    return {"forward": pair["forward"], "backward": backward}


def pairs(name, layers):
    layer = next(row for row in layers if len(row["windows"]["forward"]) == 4)
    for words, speed in SPEEDS.items():
        pair = pair_of(layer, speed)
        best, delayed, whole = (ppsched.pair_time(pair), ppsched.pair_time(pair, order=DELAYED * 2), ppsched.pair_time(merged(pair), order=WHOLE * 2))
        print(f"| {name} | {words} | {best.serial:.1f} | {best.time:.1f} | {delayed.time:.1f} | {whole.time:.1f} |")


def steps(path, devices, microbatches, effort):
    print(run("compare", "--layers", path, "--devices", devices, "--microbatches", microbatches, "--p2p-time", "20us", "--p2p-bandwidth", "45GB/s",
              "--chunks", 2, "--split-effort", effort, "--group-sizes", devices, "--strategies", *STRATEGIES, "--channel-speeds", "ep=0.5,1,2,4,8,16,32"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--split-effort", default=1)
    effort = parser.parse_args().split_effort
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        print("| model | network speed | one after another | best | Megatron-LM, delayed | Megatron-LM |\n|---|---|---|---|---|---|")
        for name, (config, devices, experts, _) in MODELS.items():
            paths[name] = pathlib.Path(folder) / f"{name}.json"
            run("model", "--model", CONFIGS / config, "--device", "h800", "--pp", devices, "--ep", experts, "--dp", 2 * experts, "--seq", 4096,
                "--pair-windows", "-o", paths[name])
            pairs(name, json.loads(paths[name].read_text(encoding="utf-8"))["layers"])
        for name, (_, devices, _, microbatches) in MODELS.items():
            print(f"\n{name}, {devices} devices, {microbatches} microbatches:")
            steps(paths[name], devices, microbatches, effort)


if __name__ == "__main__":
    main()
