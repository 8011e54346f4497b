# SPDX-License-Identifier: Apache-2.0
"""What `ppsched price` says of the published runs as their tables have them: without the columns that this project added (ADDED), and without its
corrections (as_published.csv has the published cells). Prints the groups of docs/accuracy.md whose errors differ.

    PPSCHED_LIBRARY=... PYTHONPATH=bindings/python python3 tests/published/raw.py"""
import csv
import pathlib
import sys
import tempfile
from typing import Dict, List, Sequence, Tuple

from ppsched.command.price_runs import Errors, Priced, by_group, price_run
from ppsched.readers.device_files import read_device
from ppsched.readers.runs import read_runs

import ppsched

HERE = pathlib.Path(__file__).resolve().parent
ADDED = ("config", "etp", "offload_layers", "optimizer_bytes", "keeps_scores", "dropout", "frozen_weights")
UNFIT = "this group has one more layout, which does not fit into memory with the stated settings"
REASONS = {
    ("h100", "dense", "fp8"): "two runs of NeMo leave a setting open: GPT-3 175B and Llama3 70B have an interleaved schedule, but one stage per device",
    ("gb300", "dense", "mxfp8"): UNFIT, ("gb300", "dense", "nvfp4"): UNFIT,
    ("mi355x", "MoE", "bf16"): "the bytes of gradients of its only run are not stated"}


def write_raw(path: pathlib.Path) -> None:
    """The runs as published."""
    published: Dict[str, Dict[str, str]] = {}
    with open(HERE / "as_published.csv", encoding="utf-8", newline="") as file:
        for cell in csv.DictReader(file):
            published.setdefault(cell["id"], {})[cell["column"]] = cell["published"]
    with open(HERE / "runs.csv", encoding="utf-8", newline="") as file, open(path, "w", encoding="utf-8", newline="") as plain:
        rows = csv.DictReader(file)
        lines = csv.DictWriter(plain, [name for name in rows.fieldnames or () if name not in ADDED], extrasaction="ignore")
        lines.writeheader()
        lines.writerows({**row, **published.get(row["id"], {})} for row in rows)


def priced(path: pathlib.Path) -> Tuple[List[Priced], List[ppsched.Error]]:
    """Runs of a file that can be priced, and why others cannot."""
    refused: List[ppsched.Error] = []
    rows = []
    for run in read_runs(str(path), refuse=refused.append):
        try:
            rows.append(Priced(run, price_run(run, read_device(run.device))))
        except ppsched.Error as error:
            refused.append(error)
    return rows, refused


def price_raw() -> Tuple[List[Priced], List[ppsched.Error]]:
    """The same for the runs as published."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "raw.csv"
        write_raw(path)
        return priced(path)


def cells(errors: Errors) -> str:
    return f"{errors.layouts} | {errors.median:.1%} | {errors.p90:.1%} | {errors.largest:.1%}".replace("%", " %")


def table(rows: Sequence[Priced], raw: Sequence[Priced]) -> str:
    """The groups of known devices with other errors than with all columns."""
    lines = ["| device | models | precision | layouts | median error | 90th percentile of errors | largest error | reason |", "|---" * 8 + "|"]
    names = {device.name for device in ppsched.accelerators()}
    whole, found = by_group(rows), by_group(raw)
    for group, errors in whole.items():
        if group[0] in names and (group not in found or cells(found[group]) != cells(errors)):
            own = cells(found[group]) if group in found else " | | | "
            lines.append(f"| {' | '.join(group)} | {own} | {REASONS.get(group, 'not found')} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(f"{table(priced(HERE / 'runs.csv')[0], price_raw()[0])}\n")
