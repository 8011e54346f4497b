# SPDX-License-Identifier: Apache-2.0
"""Text for pages of HTML. What it needs of Python's own library is loaded where a page is made: that takes longer than a small problem."""
import base64

from .shown import printable


def escaped(text: str, quotes: bool = True) -> str:
    """As it stands between tags; with quotes also within an attribute."""
    import html  # for pages alone, as it takes long to load
    return html.escape(printable(text), quote=quotes)


def source_digest(text: str) -> str:
    """How a page's policy names the very style or script that may act in it."""
    import hashlib  # likewise
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode() + "'"
