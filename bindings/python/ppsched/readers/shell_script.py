# SPDX-License-Identifier: Apache-2.0
"""The options that a shell script gives to a launcher, without running it: assignments, arrays, arithmetic, counting loops and
conditions are interpreted. Other values of variables are unknown."""
import re
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple, Union

from .._core._library import Error

MOST_STEPS = 200_000  # statements that are followed
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_ASSIGN = re.compile(rf"(?:export\s+|local\s+|readonly\s+)?({_NAME})(\+?)=(.*)$", re.S)
_FOR = re.compile(rf"for\s*\(\(\s*({_NAME})\s*=\s*(.+?);\s*\1\s*<(=?)\s*(.+?);\s*(?:\1\+\+|\+\+\1)\s*\)\)\s*;?\s*(do\b.*)?$")
_IF = re.compile(r"(?:el)?if\s*\(\((.+)\)\)\s*;?\s*(then\b.*)?$")
_PRINTF = re.compile(rf"""printf\s+-v\s+({_NAME})\s+["']?\[%s\]["']?\s+"?\$\(IFS=["']?(.+?)["']?;\s*echo\s+"?\$\{{({_NAME})\[[*@]\]\}}"?\)"?$""")
_VARIABLE = re.compile(rf"\$(?:\{{(?P<braced>{_NAME})(?P<index>\[[@*]\])?(?::?-(?P<default>[^}}]*))?\}}|(?P<plain>{_NAME}|[0-9@*#?]))")
Value = Union[str, List[str]]


class Option(NamedTuple):
    """An option of a group: its name with underscores; its words, None for an unknown one; the line."""

    name: str
    words: Tuple[Optional[str], ...]
    line: int


class Group(NamedTuple):
    """The options of one array, or of one command."""

    options: List[Option]


# --- words ---

class Statement(NamedTuple):
    text: str
    line: int


def _quotes_end(text: str, start: int) -> int:
    """The end of the quoted text that begins there."""
    quote, at = text[start], start + 1
    while at < len(text) and text[at] != quote:
        at += 2 if quote == '"' and text[at] == "\\" else 1
    return min(at + 1, len(text))


def _deeper(text: str, at: int) -> int:
    return 1 if text[at] in "({" else -1 if text[at] in ")}" else 0


def _statements(text: str) -> List[Statement]:
    """Parts between newlines and semicolons outside quotes and brackets, without comments, with continued lines joined."""
    found: List[Statement] = []
    start, at, depth, line, begin, piece = 0, 0, 0, 1, 1, ""

    def close() -> None:
        nonlocal piece
        if piece.strip():
            found.append(Statement(piece.strip(), begin))
        piece = ""

    while at < len(text):
        char = text[at]
        if not piece.strip():
            begin = line
        if char in "\"'":
            end = _quotes_end(text, at)
            piece, line, at = piece + text[at:end], line + text.count("\n", at, end), end
            continue
        if char == "\\" and text[at + 1:at + 2] == "\n":
            piece, line, at = piece + " ", line + 1, at + 2
            continue
        if char == "#" and (at == 0 or text[at - 1] in " \t\n;("):
            at = len(text) if (end := text.find("\n", at)) < 0 else end
            continue
        depth = max(depth + _deeper(text, at), 0)
        if char == "\n" or (char == ";" and depth == 0):
            line += char == "\n"
            if depth == 0:
                close()
            else:
                piece += f" \0{line}\0 " if char == "\n" else char
            at += 1
            continue
        piece, at = piece + char, at + 1
    close()
    return found


_LINE = re.compile(r"\0([0-9]+)\0")


def _words(text: str, line: int) -> List[Tuple[str, int]]:
    """Words with their lines, including quotes."""
    found: List[Tuple[str, int]] = []
    word, at, depth = "", 0, 0
    while at <= len(text):
        char = text[at] if at < len(text) else " "
        mark = _LINE.match(text, at)
        if mark:
            line, at, char = int(mark.group(1)), mark.end() - 1, " "
        if char in "\"'":
            end = _quotes_end(text, at)
            word, at = word + text[at:end], end
            continue
        depth += _deeper(char, 0)
        if char in " \t" and depth <= 0:
            if word:
                found.append((word, line))
            word = ""
        else:
            word += char
        at += 1
    return found


# --- values ---

class _Follower:
    """Interprets statements, and keeps the values of variables."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.variables: Dict[str, Optional[Value]] = {}
        self.groups: List[Group] = []
        self.steps = 0

    def number(self, text: str) -> Optional[int]:
        """Sums, differences and products of integers and variables."""
        pieces = re.findall(rf"\d+|{_NAME}|[-+*/%()]|\S", text.replace("$", "").replace("{", "").replace("}", ""))
        values = []
        for piece in pieces:
            value = self.variables.get(piece) if re.match(_NAME, piece) else piece
            if not isinstance(value, str) or not re.fullmatch(r"-?\d{1,9}|[-+*/%()]", value):
                return None
            values.append(value)
        return _calculated(values)

    def expanded(self, word: str) -> Optional[str]:
        """The word without quotes, with variables replaced; None if one of them is unknown."""
        found, at = "", 0
        while at < len(word):
            char = word[at]
            if char == "'":
                end = _quotes_end(word, at)
                found, at = found + word[at + 1:end - 1], end
            elif word.startswith("$((", at):
                end = _sum_end(word, at)
                number = self.number(word[at + 3:end - 2])
                if number is None:
                    return None
                found, at = found + str(number), end
            elif char == "$" and (match := _VARIABLE.match(word, at)):
                value = self.value_of(match)
                if value is None:
                    return None
                found, at = found + value, match.end()
            elif char in "$`":
                return None
            else:
                found, at = found + (char if char != '"' else ""), at + 1
        return found

    def value_of(self, match: "re.Match[str]") -> Optional[str]:
        value = self.variables.get(match["braced"] or match["plain"])
        if value is None and match["default"] is not None:
            return self.expanded(match["default"])
        return " ".join(value) if isinstance(value, list) else value

    def options(self, words: List[Tuple[str, int]]) -> None:
        """Words of an array or a command as options."""
        found: List[Option] = []
        for value, line in self.values(words):
            if value is not None and re.match(r"--[A-Za-z]", value):
                name, equals, rest = value[2:].partition("=")
                found.append(Option(name.replace("-", "_"), (rest,) if equals else (), line))
            elif found:
                found[-1] = found[-1]._replace(words=(*found[-1].words, value))
        if found:
            self.groups.append(Group(found))

    def values(self, words: List[Tuple[str, int]]) -> List[Tuple[Optional[str], int]]:
        """Expanded words; a word without quotes is split at blanks. Arrays are left out, as they are groups themselves."""
        found: List[Tuple[Optional[str], int]] = []
        for word, line in words:
            if re.fullmatch(rf'"?\$\{{{_NAME}\[[@*]\]\}}"?', word):
                continue
            value = self.expanded(word)
            parts: List[Optional[str]] = [value]
            if value is not None and not any(quote in word for quote in "\"'"):
                parts = [*value.split()]
            found += [(part, line) for part in parts]
        return found

    # --- statements ---

    def run(self, statements: List[Statement]) -> None:
        at = 0
        while at < len(statements):
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise Error(f"{self.where}, line {statements[at].line}: its loops take more than {MOST_STEPS} steps")
            text = statements[at].text
            if _FOR.match(text):
                at = self.loop(statements, at)
            elif _IF.match(text):
                at = self.choose(statements, at)
            else:
                self.simple(statements[at])
                at += 1

    def loop(self, statements: List[Statement], at: int) -> int:
        match, (body, after) = _FOR.match(statements[at].text), _block(statements, at)
        assert match is not None
        first, last = self.number(match[2]), self.number(match[4])
        if first is not None and last is not None:
            for value in range(first, last + bool(match[3])):
                self.variables[match[1]] = str(value)
                self.run(body)
        return after

    def choose(self, statements: List[Statement], at: int) -> int:
        match, (body, after) = _IF.match(statements[at].text), _block(statements, at)
        assert match is not None
        other = next((number for number, statement in enumerate(body) if re.match(r"else\b", statement.text)), None)
        holds = self.holds(match[1])
        if holds is not None:
            chosen = body[:other] if holds else body[other:] if other is not None else []
            self.run([statement._replace(text=re.sub(r"^else\s*", "", statement.text)) for statement in chosen if re.sub(r"^else\s*", "", statement.text)])
        return after

    def holds(self, condition: str) -> Optional[bool]:
        match = re.fullmatch(r"\s*(.+?)\s*(<=|>=|==|!=|<|>)\s*(.+?)\s*", condition)
        if match is None:
            return None
        one, other = self.number(match[1]), self.number(match[3])
        compare: Dict[str, Callable[[int, int], bool]] = {
            "<": lambda a, b: a < b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "==": lambda a, b: a == b,
            "!=": lambda a, b: a != b}
        return None if one is None or other is None else compare[match[2]](one, other)

    def simple(self, statement: Statement) -> None:
        text = re.sub(r"^(?:do|then)\b\s*", "", statement.text)
        printed, assigned = _PRINTF.match(text), _ASSIGN.match(text)
        if printed is not None:
            items = self.variables.get(printed[3])
            self.variables[printed[1]] = f"[{printed[2].join(items)}]" if isinstance(items, list) else None
        elif assigned is not None and assigned[3].startswith("("):
            self.array(assigned[1], bool(assigned[2]), assigned[3], statement.line)
        elif assigned is not None and not re.search(r"\s--[A-Za-z]", _without_quotes(assigned[3])):
            words = _words(assigned[3], statement.line)
            self.variables[assigned[1]] = self.expanded(words[0][0]) if words else ""
        else:
            self.options(_words(text, statement.line))

    def array(self, name: str, adds: bool, text: str, line: int) -> None:
        words = _words(text[1:text.rfind(")")], line)
        items = [self.expanded(word) for word, _ in words]
        before = self.variables.get(name)
        known = [item for item in items if item is not None]
        self.variables[name] = ([*before, *known] if adds and isinstance(before, list) else known) if len(known) == len(items) else None
        self.options(words)


def _sum_end(word: str, at: int) -> int:
    """The end of $(( ... ))."""
    depth, end = 0, at + 1
    while end < len(word):
        depth += {"(": 1, ")": -1}.get(word[end], 0)
        end += 1
        if depth == 0:
            break
    return end


def _without_quotes(text: str) -> str:
    return re.sub(r"\"(?:[^\"\\]|\\.)*\"|'[^']*'", "", text, flags=re.S)


def _block(statements: List[Statement], at: int) -> Tuple[List[Statement], int]:
    """The statements between a `for` or `if` and its end, and the place after it."""
    body: List[Statement] = []
    depth, number = 0, at + 1
    while number < len(statements):
        text = re.sub(r"^(?:do|then)\b\s*", "", statements[number].text)
        depth += bool(re.match(r"(?:for|while|if|case)\b", text))
        if re.match(r"(?:done|fi|esac)\b", text):
            if depth == 0:
                return body, number + 1
            depth -= 1
        if text:
            body.append(statements[number]._replace(text=text))
        number += 1
    return body, number


def _calculated(values: List[str]) -> Optional[int]:
    """The value, with the usual precedence of + - * / %; None if it is no arithmetic."""
    def atom(at: int) -> Tuple[Optional[int], int]:
        if at < len(values) and values[at] == "(":
            value, at = total(at + 1)
            return (value, at + 1) if at < len(values) and values[at] == ")" else (None, at)
        if at < len(values) and values[at].lstrip("-").isdigit():
            return int(values[at]), at + 1
        return None, at

    def product(at: int) -> Tuple[Optional[int], int]:
        value, at = atom(at)
        while value is not None and at < len(values) and values[at] in "*/%":
            sign, (other, at) = values[at], atom(at + 1)
            if other is None or (sign != "*" and other == 0):
                return None, at
            value = value * other if sign == "*" else value // other if sign == "/" else value % other
        return value, at

    def total(at: int) -> Tuple[Optional[int], int]:
        value, at = product(at)
        while value is not None and at < len(values) and values[at] in "+-":
            sign, (other, at) = values[at], product(at + 1)
            if other is None:
                return None, at
            value = value + other if sign == "+" else value - other
        return value, at

    if len(values) > 200:
        return None
    found, end = total(0)
    return found if end == len(values) else None


def script_groups(where: str, text: str) -> List[Group]:
    """The options of each array and command, in the order of the script."""
    follower = _Follower(where)
    follower.run(_statements(text.replace("\r\n", "\n").replace("\0", " ")))
    return follower.groups


def value_of(where: str, option: Option) -> object:
    """True for an option without words, else a number, a text, or a list of them. An error if a word is unknown."""
    if None in option.words:
        raise Error(f"{where}, line {option.line}: --{option.name.replace('_', '-')} has a value from outside the script; write the value there")
    values = [_plain(word) for word in option.words if word is not None]
    return True if not values else values[0] if len(values) == 1 else values


def _plain(word: str) -> object:
    if re.fullmatch(r"-?\d{1,18}", word):
        return int(word)
    if re.fullmatch(r"-?(\d+\.\d*|\.?\d+)([eE][-+]?\d+)?", word):
        return float(word)
    return word
