# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for texts of schedules."""
import argparse

from .number_options import real, whole


def add_export_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--text-columns", type=whole, metavar="N", default=0,
                        help="most columns of a row of text (default: the terminal's; without one, and into a file, as needed)")
    parser.add_argument("--time-scale", type=real, metavar="X", default=0.0, help="microseconds per unit of time in a trace")
