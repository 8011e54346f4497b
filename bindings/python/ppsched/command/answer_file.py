# SPDX-License-Identifier: Apache-2.0
"""Files for answers that are text or JSON."""
import argparse

from .usage import UsageError

_OTHERS = (".png", ".svg", ".pdf", ".csv", ".html", ".htm", ".yaml", ".yml", ".xlsx", ".trace.json")


def take_ending(arguments: argparse.Namespace) -> None:
    """Sets `json` where -o has a name for JSON. Refuses names for what the command does not write."""
    output = arguments.output
    if output is not None and output.lower().endswith(_OTHERS):
        raise UsageError(f"-o {output}: the answer is text or JSON; give a name that ends with .txt or .json")
    arguments.json = arguments.json or (output is not None and output.lower().endswith(".json"))
