#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether frameworks notice a wrong launch line: plants one fault at a time in the writers of a copy of the library, and runs the
framework's test on it, in which a test that the framework judges must fail. Without a fault it must pass. Lines that a fault leaves as they are are not
read again.

usage: plant.py [--first] [RUNTIME...]    --first: one fault of each runtime

The writers of sail, Primus, Colossal-AI, JaxPP and MindSpeed have no framework in the tests' environment.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import framework

ROOT = pathlib.Path(__file__).resolve().parents[2]
TELLS_NOTHING = {"test_problems_have_all_kinds"}
FAULTS = {
    "torchtitan": [
        ("micro_batch * launch->schedule->shape.microbatches)", "launch->schedule->shape.microbatches)"),
        ('"--training.local_batch_size"', '"--training.batch_size"'),
        ("_first_stage_less_layers\", ends->first_less)", "_first_stage_less_layers\", ends->last_less)"),
        ("ppi_line_number(line, layer++)", "ppi_line_number(line, ++layer)"),
        ('"norm,lm_head"', '"norm,output"'),
        ('? "PipelineScheduleMulti" : "ZBVZeroBubble"', '? "ZBVZeroBubble" : "PipelineScheduleMulti"'),
        ("(uint32_t)layers_per_stage(launch))", "(uint32_t)layers_per_stage(launch) + 1)"),
        ("ppi_line_word(line, \"--training.disable_cuda_graphs\");", ";"),
        ('? parts->kind : "none"', '? parts->kind : "full"'),
        ("if (tells_split(launch, 1, 1))", "if (tells_split(launch, 1, 1) || true)"),
    ],
    "megatron": [
        ("pipeline-num-layers\", first)", "pipeline-num-layers\", last)"),
        ('"--num-virtual-stages-per-pipeline-rank", chunks', '"--num-layers-per-virtual-pipeline-stage", chunks'),
        ("virtual-pipeline-stage\", order->group_size)", "virtual-pipeline-stage\", order->devices)"),
        ('"--overlap-moe-expert-parallel-comm"', '"--overlap-p2p-communication-warmup-flush"'),
        ('"--recompute-num-layers", parts->first', '"--recompute-num-layers", parts->first + 1'),
        ("launch->micro_batch * launch->data_parallel *", "launch->micro_batch *"),
        ("\"--mtp-num-layers\", parts->mtps", "\"--mtp-num-layers\", parts->mtps + 1"),
        ("return parts->is_even && parts->mtps == 0;", "return parts->mtps == 0;"),
    ],
    "deepspeed": [
        ('"parts=0"', '"parts=1"'),
        ("line, layer);", "line, layer + (s + 1 < parts->split->stages));"),
        ("\"gradient_accumulation_steps\", launch->schedule->shape.microbatches", "\"gradient_accumulation_steps\", launch->schedule->shape.stages"),
        ("\"train_micro_batch_size_per_gpu\", launch->micro_batch", "\"train_micro_batch_size_per_gpu\", launch->micro_batch + 1"),
        ("if (!ppi_parts_is_recomputed(parts, layer) ||", "if (ppi_parts_is_recomputed(parts, layer) ||"),
        ("activation_checkpoint_interval\", 1", "activation_checkpoint_interval\", 2"),
    ],
    "pytorch": [
        ("\"n_microbatches\", shape->microbatches", "\"n_microbatches\", shape->microbatches + 1"),
        ('? "loop" : "v"', '? "v" : "loop"'),
        ("line, launch->maker->name);", "line, launch->maker->single ? \"GPipe\" : \"LoopedBFS\");"),
        ("parts->split->layers[s]);", "parts->split->layers[s] + 1);"),
        ("\"num_stages\", shape->stages", "\"num_stages\", shape->devices"),
        ('? "compute_comms" : "compute_only"', '? "compute_only" : "compute_comms"'),
    ],
}


def build(copy):
    subprocess.run(["ninja", "-C", copy / "build"], check=True, stdout=subprocess.DEVNULL)


def failed_tests(copy, runtime):
    """The names of tests that fail; anything else that goes wrong is an error."""
    environment = {**os.environ, "PPSCHED_LIBRARY": str(copy / "build" / "lib" / "libppsched.so.1"),
                   "PPSCHED_ANSWERS": str(copy / "answers.json"), "PYTHONPATH": str(ROOT / "bindings" / "python")}
    ran = subprocess.run([sys.executable, ROOT / "tests" / "frameworks" / f"{runtime}_test.py"], capture_output=True, text=True, check=False,
                         env=environment)
    if "\nERROR:" in ran.stderr or "skipped" in ran.stderr or "\nRan 0 tests" in ran.stderr:
        raise SystemExit(f"{runtime}: the test does not run:\n{ran.stderr[-3000:]}")
    return set(re.findall(r"^FAIL: (\w+)", ran.stderr, re.M))


def notices(copy, runtime, right, wrong):
    file = copy / "lib" / "launch" / f"{runtime}.c"
    text = file.read_text(encoding="utf-8")
    if text.count(right) != 1:
        raise SystemExit(f"{file.name} has {text.count(right)} times {right!r}, not once: bring this list up to date")
    try:
        file.write_text(text.replace(right, wrong), encoding="utf-8")
        build(copy)
        failed = failed_tests(copy, runtime) - TELLS_NOTHING
    finally:
        file.write_text(text, encoding="utf-8")
    print(f"{'noticed' if failed else 'MISSED '} {runtime}.c: {wrong}  ({', '.join(sorted(failed))})", flush=True)
    return bool(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--first", action="store_true", help="one fault of each runtime")
    parser.add_argument("runtimes", nargs="*", choices=[[], *FAULTS], metavar="RUNTIME")
    given, missed = parser.parse_args(), 0
    if not framework.PYTHON:
        raise SystemExit(framework.UNSET)
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for name in ("include", "lib"):
            shutil.copytree(ROOT / name, copy / name)
        for name in ("meson.build", "meson_options.txt", "bindings"):
            (copy / name).symlink_to(ROOT / name)
        subprocess.run(["meson", "setup", copy / "build", copy, "-Dtests=false", "-Dpython=false", "-Doptimization=1",
                        "-Dwerror=false", "-Ddefault_library=shared"], check=True, stdout=subprocess.DEVNULL)
        for runtime in given.runtimes or FAULTS:
            build(copy)
            if failed := failed_tests(copy, runtime):
                raise SystemExit(f"{runtime}: fails without a fault: {sorted(failed)}")
            for right, wrong in FAULTS[runtime][:1 if given.first else None]:
                missed += not notices(copy, runtime, right, wrong)
    return f"{missed} missed" if missed else 0


if __name__ == "__main__":
    sys.exit(main())
