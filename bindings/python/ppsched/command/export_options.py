# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for formats of schedules."""
import argparse

from .number_options import real, whole


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text-columns", type=whole, metavar="N", default=0,
                        help="largest width of a line of text in columns (default: the width of the terminal; no limit without a terminal or in a "
                             "file)")
    parser.add_argument("--time-scale", type=real, metavar="X", default=0.0, help="microseconds per unit of time in a trace")
