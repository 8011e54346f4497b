# SPDX-License-Identifier: Apache-2.0
"""Adds units to the library's texts of a timeline."""
import json
import re

from ._abi import Format
from .units import Units

_SUMMARY = re.compile(r"(.*: makespan [^ ,]+)(, span [^ ;]+)(; bubble .*)")


def _in_text(text: str, units: Units) -> str:
    """Adds units to the figures of the first line, to the axis below it, and to the peaks at the end of lines."""
    summary, axis, rows = text.split("\n", 2)
    after = units.after_time
    summary = _SUMMARY.sub(rf"\g<1>{after}\g<2>{after}\g<3>", summary)
    axis = re.sub(rf"^time {{{len(after)}}}", f"time{after}", axis)
    return "\n".join([summary, axis, re.sub(r"(  peak [^ \n]+)$", rf"\1{units.after_memory}", rows, flags=re.M)])


def with_member(text: str, name: str, value: object) -> str:
    """Adds a member to the text of a JSON object."""
    return f"{text.rstrip()[:-1]}, {json.dumps(name)}: {json.dumps(value)}}}\n"


def with_units(text: str, format: Format, units: Units) -> str:
    if format == Format.JSON:
        return with_member(text, "units", units.row)
    return _in_text(text, units) if format == Format.TEXT and any(units) else text
