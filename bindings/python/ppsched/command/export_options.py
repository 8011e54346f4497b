# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for formats of schedules."""
import argparse

from .number_options import real, whole


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text-columns", type=whole, metavar="N", default=0,
                        help="most columns of a line of text (default: those of the terminal; without a terminal, and in a file, no limit)")
    parser.add_argument("--time-scale", type=real, metavar="X", default=0.0, help="microseconds per unit of time in a trace")
