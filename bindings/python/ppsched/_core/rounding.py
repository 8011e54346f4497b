# SPDX-License-Identifier: Apache-2.0
"""Rounds a number in a message to six digits, so that the message stays true."""
import decimal
import math

_DIGITS = 6
_SAME = 1e-12  # differences of sums that the library ignores


def _rounded(value: float, rounding: str) -> str:
    context = decimal.Context(prec=_DIGITS, rounding=rounding)
    return f"{float(context.plus(decimal.Decimal(value))):g}"


def at_least(value: float) -> str:
    """Rounds up, for a limit that works."""
    text = f"{value:g}"
    return text if not math.isfinite(value) or float(text) >= value - abs(value) * _SAME else _rounded(value, decimal.ROUND_CEILING)


def at_most(value: float) -> str:
    """Rounds down, for an amount that exists."""
    text = f"{value:g}"
    return text if not math.isfinite(value) or float(text) <= value + abs(value) * _SAME else _rounded(value, decimal.ROUND_FLOOR)
