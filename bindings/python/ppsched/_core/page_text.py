# SPDX-License-Identifier: Apache-2.0
"""Text for HTML pages. Modules of Python are imported when a page is made, as that takes longer than a small problem."""
import base64

from .shown import printable


def escaped(text: str, quotes: bool = True) -> str:
    """Escapes a text for use between tags; with quotes also for an attribute."""
    import html  # imported here, as it is slow to load
    return html.escape(printable(text), quote=quotes)


def source_digest(text: str) -> str:
    """The name of a style or script in a page's content security policy."""
    import hashlib  # slow, too
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode() + "'"
