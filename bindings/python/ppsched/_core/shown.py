# SPDX-License-Identifier: Apache-2.0
"""Values that others gave, in messages: short, however large they are, and on one line."""
import reprlib
import unicodedata

_OBEYED = ("Cc", "Cf", "Cs", "Zl", "Zp")  # categories of what a terminal obeys, or does not show
_MOST = 200                               # characters


class _Short(reprlib.Repr):
    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother, self.maxlong = 3, 80, 80, 60

    def repr_int(self, value: int, level: int) -> str:
        """Of large ones their size alone: all digits of one take long."""
        return super().repr_int(value, level) if value.bit_length() < 1000 else f"an integer of {value.bit_length()} bits"

    def repr_bytes(self, value: bytes, level: int) -> str:
        return repr(value if len(value) <= self.maxstring else value[:self.maxstring]) + "..." * (len(value) > self.maxstring)


_REPR = _Short()


def shown(value: object) -> str:
    """As repr has it where that is short."""
    text = " ".join(_REPR.repr(value).split())
    return text if len(text) <= _MOST else text[:_MOST] + "..."


def printable(text: str) -> str:
    """A text from elsewhere for a terminal, which would obey control characters and those of format, or for a picture or a table."""
    if text.isascii() and text.isprintable():
        return text
    return "".join("?" if _is_obeyed(character) else character for character in text)


def _is_obeyed(character: str) -> bool:
    """Or stands for nothing: XML has no U+FFFE and U+FFFF."""
    return unicodedata.category(character) in _OBEYED or ord(character) & 0xFFFE == 0xFFFE
