# SPDX-License-Identifier: Apache-2.0
"""What the command does where the package has no library: writes the live page, and says what else works."""
import os
import sys
from typing import List

from .._core._abi_version import VERSION_MAJOR, VERSION_MINOR, VERSION_PATCH
from .._core.errors import Error
from .._core.finding import NoLibrary
from .._core.output import write_text
from ..page.live_files import page_text

VERSION = f"{VERSION_MAJOR}.{VERSION_MINOR}.{VERSION_PATCH}"


def run(words: List[str], missing: NoLibrary) -> int:
    """Runs the words as they were typed; returns the exit code: 0, 1, or 2 (usage)."""
    if words in (["--version"], ["-v"]):
        print(f"ppsched {VERSION}")
        return 0
    if words[:1] != ["live"]:
        return _fail("ppsched", str(missing), 1)
    if len(words) != 3 or words[1] not in ("-o", "--output"):
        return _fail("ppsched live", "this package has no library; without it the only option is -o FILE.html", 2)
    path = words[2]
    if not path.endswith((".html", ".htm")):
        return _fail("ppsched live", f"-o {path}: the page is an HTML file; give a name that ends with .html", 2)
    try:
        write_text(path, page_text(VERSION))
    except Error as error:
        return _fail("ppsched live", str(error), 1)
    print(os.path.abspath(path))
    return 0


def _fail(command: str, text: str, code: int) -> int:
    print(f"{command}: {' '.join(text.split())}", file=sys.stderr)
    return code
