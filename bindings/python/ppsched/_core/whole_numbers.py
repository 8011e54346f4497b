# SPDX-License-Identifier: Apache-2.0
"""Numbers in texts. Python is slow with very many digits of an integer, and refuses some. It also reads 1_0 as 10, and digits of any
script."""
import re
from ._library import Error

MOST_DIGITS = 100  # of an integer; valid ones have fewer


def whole_of(text: str) -> int:
    """Parses an integer of JSON."""
    if len(text) > MOST_DIGITS:
        raise Error(f"the integer {text[:20]}... of {len(text.lstrip('-'))} digits is too large")
    return int(text)


NUMBER = r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_NUMBER_OR_NONE = re.compile(rf"{NUMBER}|[-+]?(?:inf(?:inity)?|nan)", re.IGNORECASE)


def number_of(text: str) -> float:
    """As float, but in plain digits: ValueError where it is anything else."""
    if _NUMBER_OR_NONE.fullmatch(text.strip()) is None:
        raise ValueError
    return float(text)
