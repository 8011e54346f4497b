# SPDX-License-Identifier: Apache-2.0
"""Six digits of a number that is advice, or a reason: rounded so that what is said holds."""
import decimal
import math

_DIGITS = 6
_SAME = 1e-12  # what sums differ by alone, which the library does not count


def _rounded(value: float, rounding: str) -> str:
    context = decimal.Context(prec=_DIGITS, rounding=rounding)
    return f"{float(context.plus(decimal.Decimal(value))):g}"


def at_least(value: float) -> str:
    """Not less than it: a limit that would do."""
    text = f"{value:g}"
    return text if not math.isfinite(value) or float(text) >= value - abs(value) * _SAME else _rounded(value, decimal.ROUND_CEILING)


def at_most(value: float) -> str:
    """Not more than it: what there is."""
    text = f"{value:g}"
    return text if not math.isfinite(value) or float(text) <= value + abs(value) * _SAME else _rounded(value, decimal.ROUND_FLOOR)
