# SPDX-License-Identifier: Apache-2.0
"""Integers as texts. Python takes long for many digits, and ends at some."""
from ._library import Error

MOST_DIGITS = 100  # of an integer; none that is taken has so many


def whole_of(text: str) -> int:
    """One of JSON."""
    if len(text) > MOST_DIGITS:
        raise Error(f"the integer {text[:20]}... of {len(text.lstrip('-'))} digits is too large")
    return int(text)
