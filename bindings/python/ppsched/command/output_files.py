# SPDX-License-Identifier: Apache-2.0
"""The option -o of commands that write several files at once."""
import os
from typing import Any, Dict, Sequence, Tuple

from .._core.output import Write, writing_of
from .._core.writing import stamped
from .usage import UsageError


def add_output_argument(parser: Any, help: str, default: Any = None) -> None:
    parser.add_argument("-o", "--output", metavar="FILE", nargs="+", action="extend", default=default, help=help)


def check_each_once(paths: Sequence[str]) -> None:
    """Refuses two names of one file."""
    seen: Dict[str, str] = {}
    for path in paths if len(paths) > 1 else ():
        real = os.path.realpath(path)
        if real in seen:
            raise UsageError(f"-o {path} is given twice; give it once" if seen[real] == path else
                             f"-o {seen[real]} and -o {path} are one file; give one of them")
        seen[real] = path


def text_file(path: str, text: str, is_text: bool) -> Tuple[str, Write]:
    """A file to write. is_text: it is for people, and ends with the version."""
    whole = stamped(text, "text") if is_text else text
    return path, writing_of(lambda take: take(whole.encode("utf-8")))
