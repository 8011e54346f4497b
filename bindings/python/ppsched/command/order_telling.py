# SPDX-License-Identifier: Apache-2.0
"""The order of microbatches, which some formats do not show."""
from typing import Optional, Sequence

from .._core.microbatch_map import TELLS, tell_order, write_beside


def tell_beside(command: str, order: Sequence[int], format: Optional[str], output: Optional[str]) -> None:
    """Prints the order of microbatches on standard error, if the format does not show it. For a CSV it is also written to a file."""
    csv = output if format == "csv" else None
    if csv is not None:
        write_beside(csv, order)
    if format not in TELLS:
        tell_order(command, order, csv)
