# SPDX-License-Identifier: Apache-2.0
"""What the command says of the order of microbatches beside a schedule."""
from typing import Optional, Sequence

from .._core.microbatch_map import TELLS, tell_order, write_beside


def tell_beside(command: str, order: Sequence[int], format: Optional[str], output: Optional[str]) -> None:
    """Which microbatch goes where, beside a format that people do not see it in; of a CSV in a file of its own too."""
    csv = output if format == "csv" else None
    if csv is not None:
        write_beside(csv, order)
    if format not in TELLS:
        tell_order(command, order, csv)
