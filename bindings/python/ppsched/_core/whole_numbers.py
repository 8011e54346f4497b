# SPDX-License-Identifier: Apache-2.0
"""Integers in texts. Python is slow with very many digits, and refuses some."""
from ._library import Error

MOST_DIGITS = 100  # of an integer; valid ones have fewer


def whole_of(text: str) -> int:
    """Parses an integer of JSON."""
    if len(text) > MOST_DIGITS:
        raise Error(f"the integer {text[:20]}... of {len(text.lstrip('-'))} digits is too large")
    return int(text)
