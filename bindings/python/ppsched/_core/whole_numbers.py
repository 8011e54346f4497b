# SPDX-License-Identifier: Apache-2.0
"""Numbers as texts. Python takes long for many digits of an integer, and ends at some; it also takes 1_0 for 10, and digits of any
script."""
import re

from ._library import Error

MOST_DIGITS = 100  # of an integer; none that is taken has so many


def whole_of(text: str) -> int:
    """One of JSON."""
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
