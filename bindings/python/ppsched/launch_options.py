# SPDX-License-Identifier: Apache-2.0
"""--launch on the command line: the arguments for a training runtime instead of the schedule."""
import argparse
from typing import Optional

from .launching import RUNTIME_NAMES
from .output import write_text
from .schedule import Schedule

READ_CSV = ("torchtitan", "pytorch")


def add_launch_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--launch", choices=RUNTIME_NAMES, metavar="RUNTIME",
                        help=f"print what to type for a training runtime instead: {', '.join(RUNTIME_NAMES)}; with -o FILE.csv "
                             f"the CSV that {' and '.join(READ_CSV)} read is written too")


def launch_fault(arguments: argparse.Namespace, format: Optional[str]) -> Optional[str]:
    """What is wrong with the words, or None."""
    if format is not None:
        return "--launch prints arguments; it goes without a format"
    if getattr(arguments, "explain", False):
        return "--launch prints arguments; it goes without --explain"
    output = arguments.output
    if output is not None and arguments.launch not in READ_CSV:
        return f"-o {output}: {arguments.launch} reads no CSV; -o goes with --launch {' or '.join(READ_CSV)}"
    if output is not None and not output.lower().endswith(".csv"):
        return f"-o {output}: with --launch it is the CSV that {arguments.launch} reads, and ends in .csv"
    return None


def print_launch(schedule: Schedule, arguments: argparse.Namespace) -> None:
    """Writes the CSV, if one is asked for, and prints the line."""
    line = schedule.launch(arguments.launch, csv=arguments.output)
    if arguments.output is not None:
        write_text(arguments.output, schedule.export("csv"))
    print(line)
