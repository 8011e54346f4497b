# SPDX-License-Identifier: Apache-2.0
"""The text of a shell script as statements and words, and sums of integers in it."""
import re
from typing import List, NamedTuple, Optional, Tuple

UNKNOWN = "\1"  # stands in a value for what the script takes from elsewhere
_LINE = re.compile(r"\0([0-9]+)\0")
_HEREDOC = re.compile(r"<<-?\s*([\"']?)([A-Za-z_]\w*)\1(?!<)")
_MOST_PIECES = 200  # of a sum
_MOST_NESTED = 20   # commands in quotes in each other


class Statement(NamedTuple):
    text: str
    line: int


# --- brackets and quotes ---

def quotes_end(text: str, start: int, nested: int = 0) -> int:
    """Where the quoted text that begins there ends. Commands in brackets in it have quotes of their own."""
    quote, at = text[start], start + 1
    while at < len(text) and text[at] != quote:
        if quote == '"' and nested < _MOST_NESTED and text.startswith("$(", at):
            at = brackets_end(text, at + 1, nested + 1)
        else:
            at += 2 if quote == '"' and text[at] == "\\" else 1
    return min(at + 1, len(text))


def brackets_end(text: str, start: int, nested: int = 0) -> int:
    """Where the bracket that opens there, or right after a dollar, is closed."""
    depth, at = 0, start
    while at < len(text):
        if text[at] in "\"'":
            at = quotes_end(text, at, nested)
            continue
        depth += _deeper(text[at])
        at += 1
        if depth == 0 and text[at - 1] in ")}":
            break
    return at


def _deeper(char: str) -> int:
    return 1 if char in "({" else -1 if char in ")}" else 0


def without_quotes(text: str) -> str:
    return re.sub(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'", "", text, flags=re.S)


def plain_text(text: str) -> str:
    """Of a file, without what stands for something here."""
    return text.replace("\r\n", "\n").replace("\0", " ").replace(UNKNOWN, " ")


def lines_again(text: str) -> str:
    """Of a statement of several lines, these."""
    return _LINE.sub("\n", text)


# --- statements ---

class _Statements:
    """Parts between newlines and semicolons outside quotes and brackets; comments, texts given as input and continued lines are gone."""

    def __init__(self, text: str, line: int) -> None:
        self.text = text
        self.at, self.line, self.depth = 0, line, 0
        self.piece, self.begin = "", line
        self.ends: List[str] = []  # of texts given as input
        self.found: List[Statement] = []
        while self.at < len(text):
            self.step()
        self.close()

    def close(self) -> None:
        if self.piece.strip():
            self.found.append(Statement(self.piece.strip(), self.begin))
        self.piece = ""

    def step(self) -> None:
        text, at = self.text, self.at
        char = text[at]
        if not self.piece.strip():
            self.begin = self.line
        heredoc = _HEREDOC.match(text, at) if char == "<" and self.depth == 0 else None
        if char in "\"'":
            end = quotes_end(text, at)
            self.piece, self.line, self.at = self.piece + text[at:end], self.line + text.count("\n", at, end), end
        elif char == "\\" and text[at + 1:at + 2] == "\n":
            self.piece, self.line, self.at = self.piece + " ", self.line + 1, at + 2
        elif char == "\\":
            self.piece, self.at = self.piece + text[at:at + 2], at + 2
        elif char == "#" and (at == 0 or text[at - 1] in " \t\n;("):
            self.at = len(text) if (end := text.find("\n", at)) < 0 else end
        elif heredoc is not None:
            self.ends.append(heredoc[2])
            self.at = heredoc.end()
        elif char == "\n" or (char == ";" and self.depth == 0):
            self.divide(char)
        else:
            self.depth = max(self.depth + _deeper(char), 0)
            self.piece, self.at = self.piece + char, at + 1

    def divide(self, char: str) -> None:
        self.at += 1
        self.line += char == "\n"
        if self.depth == 0:
            self.close()
        else:
            self.piece += f" \0{self.line}\0 "
        if char == "\n":
            for end in self.ends:
                self.skip(end)
            self.ends = []

    def skip(self, end: str) -> None:
        """A text given as input, up to the line that ends it."""
        match = re.compile(rf"^[ \t]*{end}[ \t]*$", re.M).search(self.text, self.at)
        stop = len(self.text) if match is None else match.end()
        self.line += self.text.count("\n", self.at, stop)
        self.at = stop


def statements_of(text: str, line: int = 1) -> List[Statement]:
    return _Statements(text, line).found


# --- words ---

def words_of(text: str, line: int) -> List[Tuple[str, int]]:
    """Words with their lines, quotes still in them."""
    found: List[Tuple[str, int]] = []
    word, at, depth = "", 0, 0
    while at <= len(text):
        char = text[at] if at < len(text) else " "
        mark = _LINE.match(text, at)
        if mark:
            line, at, char = int(mark.group(1)), mark.end() - 1, " "
        if char in "\"'":
            end = quotes_end(text, at)
            word, at = word + text[at:end], end
            continue
        if char == "\\" and at + 1 < len(text):
            word, at = word + text[at:at + 2], at + 2
            continue
        depth += _deeper(char)
        if char in " \t" and depth <= 0:
            if word:
                found.append((word, line))
            word = ""
        else:
            word += char
        at += 1
    return found


def divided(text: str, *signs: str) -> List[Tuple[str, str]]:
    """Parts between signs outside quotes and brackets, each with the sign in front of it, none in front of the first."""
    found: List[Tuple[str, str]] = []
    sign, start, at, depth, square = "", 0, 0, 0, 0
    while at < len(text):
        char = text[at]
        if char in "\"'":
            at = quotes_end(text, at)
            continue
        depth += _deeper(char)
        square += {"[": 1, "]": -1}.get(char, 0)
        here = next((each for each in signs if text.startswith(each, at)), None) if depth <= 0 and square <= 0 else None
        if here is None:
            at += 2 if char == "\\" else 1
            continue
        found.append((sign, text[start:at].strip()))
        sign, at = here, at + len(here)
        start = at
    return [*found, (sign, text[start:].strip())]


# --- sums ---

class _Sum:
    """By the usual order of + - * / %; ends where that is no sum."""

    def __init__(self, values: List[str]) -> None:
        self.values, self.at = values, 0

    def next_in(self, signs: str) -> bool:
        return self.at < len(self.values) and self.values[self.at] in signs

    def atom(self) -> Optional[int]:
        if self.at >= len(self.values):
            return None
        piece = self.values[self.at]
        self.at += 1
        if piece == "(":
            value = self.total()
            closed = self.next_in(")")
            self.at += 1
            return value if closed else None
        if piece == "-":
            below = self.atom()
            return None if below is None else -below
        return int(piece) if piece.lstrip("-").isdigit() else None

    def product(self) -> Optional[int]:
        value = self.atom()
        while value is not None and self.next_in("*/%"):
            sign = self.values[self.at]
            self.at += 1
            other = self.atom()
            if other is None or (sign != "*" and other == 0):
                return None
            # As in C, and so in shells: towards zero.
            share = abs(value) // abs(other) * (1 if (value < 0) == (other < 0) else -1) if sign != "*" else 0
            value = value * other if sign == "*" else share if sign == "/" else value - other * share
        return value

    def total(self) -> Optional[int]:
        value = self.product()
        while value is not None and self.next_in("+-"):
            sign = self.values[self.at]
            self.at += 1
            other = self.product()
            if other is None:
                return None
            value = value + other if sign == "+" else value - other
        return value


def sum_of(values: List[str]) -> Optional[int]:
    """None if it is no sum."""
    if len(values) > _MOST_PIECES:
        return None
    pieces = _Sum(values)
    found = pieces.total()
    return found if pieces.at == len(values) else None


# --- paths ---

def part_of_path(command: str, values: List[str]) -> str:
    """As basename and dirname tell it, of one path, and for basename of the ending that it leaves out."""
    if not 1 <= len(values) <= (2 if command == "basename" else 1):
        return UNKNOWN
    path = values[0].rstrip("/") or values[0][:1]
    start, _, last = path.rpartition("/")
    if command == "dirname":
        return UNKNOWN if UNKNOWN in last else start.rstrip("/") or ("/" if path.startswith("/") else ".")
    last, ending = last or path, (values[1:] or [""])[0]
    if UNKNOWN in ending:
        return UNKNOWN
    return last[:len(last) - len(ending)] if ending and last.endswith(ending) and last != ending else last
