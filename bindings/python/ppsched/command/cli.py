# SPDX-License-Identifier: Apache-2.0
"""The ppsched command: tells its version, which takes nothing but the library, or runs a command."""
from __future__ import annotations

from .._start import Start, drop_output

with Start():
    import sys
    from .._core.finding import NoLibrary, version_text

TYPE_CHECKING = False  # typing takes milliseconds
if TYPE_CHECKING:
    from typing import List, Optional, Sequence


def main(words: Optional[Sequence[str]] = None) -> int:
    """Runs the command; returns its exit code: 0, 1 (refused or invalid), 2 (usage) or 130 (Ctrl-C)."""
    asked = list(sys.argv[1:] if words is None else words)
    try:
        return _main(asked)
    except NoLibrary as missing:
        from .without_library import run  # the rest needs the library
        return run(asked, missing)


def _main(asked: List[str]) -> int:
    if asked in (["--version"], ["-v"]) and sys.stdout is not None:
        return _print_version()
    with Start():
        from .running import run  # it takes long to load
    return run(asked)


def _print_version() -> int:
    with Start():
        version = version_text()
    try:
        sys.stdout.write(f"ppsched {version}\n")
        sys.stdout.flush()
    except OSError:
        drop_output()
    return 0
