# SPDX-License-Identifier: Apache-2.0
"""Shows values from elsewhere in messages: short, also if they are large, and on one line."""
import reprlib
import unicodedata

_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")  # categories of characters that control a terminal, or are not shown
_MOST = 200                               # characters


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother, self.maxlong = 3, 80, 80, 60

    def repr_int(self, value: int, level: int) -> str:
        """Shows large integers by their size only, as all digits would take long."""
        return super().repr_int(value, level) if value.bit_length() < 1000 else f"an integer of {value.bit_length()} bits"

    def repr_bytes(self, value: bytes, level: int) -> str:
        return repr(value if len(value) <= self.maxstring else value[:self.maxstring]) + "..." * (len(value) > self.maxstring)


_REPR = _Short()


def shown(value: object) -> str:
    """The repr of a value, if that is short."""
    text = " ".join(_REPR.repr(value).split())
    return text if len(text) <= _MOST else text[:_MOST] + "..."


def printable(text: str) -> str:
    """A text from elsewhere for a terminal, a picture or a table, without control and format characters."""
    if text.isascii() and text.isprintable():
        return text
    return "".join("?" if _is_obeyed(character) else character for character in text)


def _is_obeyed(character: str) -> bool:
    """Whether a character is to be replaced; XML also cannot contain U+FFFE and U+FFFF."""
    return unicodedata.category(character) in _OBEYED or ord(character) & 0xFFFE == 0xFFFE
