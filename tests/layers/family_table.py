#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The table of model families of docs/model.md: which types each file of lib/description/families reads, how long it is, and how many
published models (published.jsonl) have equal counts.

usage: family_table.py            prints the table
       family_table.py --check    the page has every row of it; numbers of lines may be 20 % off
"""
import collections
import pathlib
import re
import sys

from families import differences, rows

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "lib" / "description" / "families"
# Types that were read before there were descriptions: one attention in each layer, and an MLP or experts.
BEFORE = {"deepseek_v2", "deepseek_v3", "gemma2", "gpt2", "gpt_neox", "kimi_k2", "llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe"}
HEAD = "| file | model types | read before | lines | lines per type | published models | read before | counts equal |\n|---|---|---|---|---|---|---|---|"
SLACK = 0.2


def types_by_file():
    text = (FOLDER.parent / "families.h").read_text(encoding="utf-8")
    found = collections.defaultdict(list)
    for name, file in re.findall(r'^PPI_FAMILY\("([^"]+)", \w+, "([^"]+)"\)', text, flags=re.M):
        found[file].append(name)
    return found


def is_right(row):
    wrong = differences(row)
    if not row["towers"]:  # nobody counted them
        wrong.pop("towers", None)
    return not wrong


def row_of(name, types, lines, models):
    before = [row for row in models if row["config"]["model_type"] in BEFORE]
    each = f"{lines / len(types):.0f}" if types else "-"
    cells = [name, len(types), len(BEFORE.intersection(types)), lines, each, len(models), len(before), sum(map(is_right, models))]
    return "| " + " | ".join(map(str, cells)) + " |"


def table():
    models, own, found = rows("published.jsonl"), types_by_file(), []
    lines = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in FOLDER.glob("*.c")}
    for file, types in sorted(own.items()):
        found.append(row_of(f"`{file}`", types, lines[file], [row for row in models if row["config"]["model_type"] in types]))
    shared = {file: count for file, count in lines.items() if file not in own}
    found.append(row_of(f"{len(shared)} files that families share", [], sum(shared.values()), []))
    found.append(row_of("all", [one for types in own.values() for one in types], sum(lines.values()), models))
    return found


def cells_of(row):
    """Of a row the cells without those of lines, and those of lines."""
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    return cells[:3] + cells[5:], [float(cell) for cell in cells[3:5] if cell != "-"]


def check():
    """Rows that the page does not have."""
    page = [line for line in (ROOT / "docs" / "model.md").read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    given = {tuple(cells_of(line)[0]): cells_of(line)[1] for line in page if re.match(r"\| (`\w+\.c`|\d+ files that|all) ", line) and line.count("|") == 9}
    for row in table():
        same, lines = cells_of(row)
        told = given.get(tuple(same))
        if told is None or any(abs(one - other) > SLACK * other + 1 for one, other in zip(told, lines)):
            yield row


def main(words):
    if words == ["--check"]:
        missing = list(check())
        print("\n".join(missing))
        return 1 if missing else 0
    print(HEAD, *table(), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
