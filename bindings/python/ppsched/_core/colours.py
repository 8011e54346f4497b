# SPDX-License-Identifier: Apache-2.0
"""Colours of pictures and pages: F, B, I and W have four of the colours of Okabe and Ito that contrast with white and black.

Each kind has three shades, for the first, second and third chunk of a device, each paler. The next three chunks have the same shades with
a line through them. All twelve differ, also for colour-blind readers: tests/python/test_colours.py computes by how much.
"""
import math
from typing import Dict, Tuple

from ._abi import Kind

SHADES: Dict[Kind, Tuple[str, str, str]] = {
    Kind.F: ("#0072b2", "#0a94fb", "#9ab8fc"),  # blue
    Kind.B: ("#d55e00", "#e2804d", "#ffb323"),  # vermillion
    Kind.I: ("#009e73", "#15cd75", "#93f7aa"),  # bluish green
    Kind.W: ("#cc79a7", "#e0abba", "#ffd4ff"),  # reddish purple
}
OTHER = "#767676"
LIGHT_INK, DARK_INK = "#ffffff", "#000000"


def shade_of(kind: Kind, chunk: int) -> str:
    shades = SHADES.get(kind)
    return OTHER if shades is None else shades[chunk % len(shades)]


def is_lined(chunk: int) -> bool:
    """Whether a line distinguishes a chunk from an earlier one with the same shade."""
    return chunk // len(next(iter(SHADES.values()))) % 2 == 1


def edge_of(kind: Kind) -> str:
    """The edge around paler shades, which have too little contrast with white."""
    return SHADES[kind][0] if kind in SHADES else OTHER


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2, from 0 to 1."""
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else math.pow((part + 0.055) / 1.055, 2.4) for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour: str, other: str) -> float:
    """Contrast by WCAG 2, from 1 to 21."""
    darker, lighter = sorted((luminance(colour), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def ink_on(colour: str) -> str:
    """The colour of digits with more contrast, which is at least 4.5 to 1 on any colour."""
    return max(LIGHT_INK, DARK_INK, key=lambda ink: contrast(ink, colour))
