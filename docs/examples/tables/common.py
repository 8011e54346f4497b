# SPDX-License-Identifier: Apache-2.0
"""Functions that all programs in this folder use."""
import argparse
import json
import sys

import ppsched

MIB = 2.0**20


def arguments(description, files="+", **numbers):
    """Parses the files, and options --NAME N with their defaults. An option with the default None is required."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("files", nargs=files, metavar="FILE")
    for name, default in numbers.items():
        parser.add_argument("--" + name.replace("_", "-"), type=int, default=default, required=default is None, metavar="N")
    return parser.parse_args()


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def whole_backward(seconds):
    """Divides the time of a backward: half for the input gradient, half for the weight gradient."""
    return {"backward_input_time": seconds / 2, "backward_weight_time": seconds / 2}


def mean(values):
    return sum(values) / len(values)


def finish(layers, collectives=()):
    if not layers and not collectives:
        sys.exit("the files have no measurement that is understood")
    sys.stdout.write(ppsched.layer_table_text(ppsched.LayerTable(list(layers), list(collectives))))
