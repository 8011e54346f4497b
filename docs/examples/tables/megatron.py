# SPDX-License-Identifier: Apache-2.0
"""Writes a table of measured layers from the per-layer report in a log of Megatron-LM.

usage: megatron.py LOG... --tp N --micro-batch N --seq N [--cp N] [--ep N] > table.csv

A report has the tables "-- forward --" and "-- backward --". A line has the number and the type of a layer, and then cells "mean/ max".
The first cell has milliseconds. In the table of forwards, the column "retained" has the MiB that are kept until the backward. Only the last
report of a log is used. Layers of the same type are averaged. The type dense becomes decoder, and moe becomes moe_decoder. A report does
not have the sizes, the memory of weights and optimizer states, and the parts of a backward.
"""
import re
import sys

from common import MIB, arguments, finish, mean, whole_backward

import ppsched

KINDS = {"dense": "decoder", "moe": "moe_decoder"}
CELL = re.compile(r"([\d.]+)\s*/\s*[\d.]+")
LINE = re.compile(r"(\d+)\s+(\w+)\s+(" + CELL.pattern + r".*)")


def report_of(path):
    """For each type of layer: the seconds of forwards and of backwards, and the bytes that are kept."""
    found, way, retained = {}, None, None
    with open(path, encoding="utf-8", errors="replace") as file:
        for text in map(str.strip, file):
            title = re.search(r"-- (forward|backward) --", text)
            if title is not None:
                way = title[1]
                if way == "forward":
                    found = {}
                continue
            columns = text.split()
            if way is not None and columns[:2] == ["layer", "type"]:
                retained = columns[2:].index("retained") if "retained" in columns else None
            line = LINE.fullmatch(text)
            if way is None or line is None:
                continue
            cells = [float(cell) for cell in CELL.findall(line[3])]
            own = found.setdefault(line[2].lower(), {"forward": [], "backward": [], "retained": []})
            own[way].append(cells[0] / 1000)
            if way == "forward" and retained is not None and retained < len(cells):
                own["retained"].append(cells[retained] * MIB)
    return found


def main():
    given = arguments("Megatron-LM's per-layer report as a table of measured layers", tp=None, micro_batch=None, seq=None, cp=0, ep=0)
    rows = []
    for path in given.files:
        for kind, own in report_of(path).items():
            if not own["forward"]:
                continue
            backward = whole_backward(mean(own["backward"])) if own["backward"] else {}
            rows.append(ppsched.MeasuredLayer(KINDS.get(kind, kind), tensor_parallel=given.tp, context_parallel=given.cp, expert_parallel=given.ep,
                                              micro_batch_size=given.micro_batch, sequence_length=given.seq, forward_time=mean(own["forward"]),
                                              mem_forward=mean(own["retained"]) if own["retained"] else None, **backward))
    if not rows:
        sys.exit(f"{given.files[0]}: there is no per-layer report with \"-- forward --\" in it")
    finish(rows)


if __name__ == "__main__":
    main()
