# SPDX-License-Identifier: Apache-2.0
"""The options that a shell script gives to a launcher, without running it: assignments, arrays, arithmetic, loops, conditions and files
that it sources are followed; what else a variable may hold is not known."""
import fnmatch
import re
from typing import Callable, Dict, List, NamedTuple, Optional, Set, Tuple, Union

from .._core._library import Error
from .shell_conditions import Conditions, is_condition, opposite
from .shell_words import (UNKNOWN, Statement, brackets_end, divided, lines_again, part_of_path, plain_text, quotes_end, statements_of, sum_of,
                          without_quotes, words_of)

MOST_STEPS = 20_000   # statements that are followed
MOST_GROUPS = 2_000   # commands and arrays with options
DEEPEST = 8           # files that source each other
MOST_NESTED = 40      # conditions and loops in each other
MOST_TELLING = 8      # commands in brackets in each other
_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_ASSIGN = re.compile(rf"(?:(?:export|local|readonly|declare|typeset)\s+(?:-\w+\s+)*)?({_NAME})(\+?)=(.*)$", re.S)
_FOR = re.compile(rf"for\s*\(\(\s*({_NAME})\s*=\s*(.+?);\s*\1\s*<(=?)\s*(.+?);\s*(?:\1\+\+|\+\+\1)\s*\)\)$", re.S)
_FOR_IN = re.compile(rf"for\s+({_NAME})\s+in\b(.*)$", re.S)
_IF, _WHILE, _CASE = re.compile(r"if\b(.*)$", re.S), re.compile(r"(while|until)\b(.*)$", re.S), re.compile(r"case\s+(.+?)\s+in\b(.*)$", re.S)
_PRINTF = re.compile(rf"printf\s+-v\s+({_NAME})\s+(.+)$", re.S)
_SOURCE = re.compile(r"(?:source|\.)\s+(\S.*)$", re.S)
_FUNCTION = re.compile(r"(?:function\s+[\w-]+\s*(?:\(\))?|[\w-]+\s*\(\))\s*\{(.*)\}$", re.S)
_VARIABLE = re.compile(rf"\$(?:\{{(?P<braced>{_NAME}|[0-9@*#])(?P<index>\[[@*]\])?(?::?-(?P<default>[^{{}}]*(?:\$\{{[^{{}}]*\}}[^{{}}]*)*))?\}}|(?P<plain>{_NAME}|[0-9@*#?]))")
_ARRAY = re.compile(rf'"?\$\{{({_NAME})\[[@*]\]\}}"?|"?\$[@*]"?')  # whole ones, which are groups of their own, and what the script is given
_WORDS_BEFORE = re.compile(r"^(?:do|then)\b\s*")
_TELLS = re.compile(r"(?:echo|printf)\b")
_PATH_PART = re.compile(r"\s*(basename|dirname)\s+([^-\s][^|<>&;`\n]*)$")
_ECHO = re.compile(r"(?:echo(?:\s+-n)?|printf\s+[\"']?%s(?:\\n)?[\"']?)\s+(.+)$", re.S)
_ENDS = re.compile(r"\d*[<>]|&")  # of a command's words
FLAGS = frozenset(("standalone", "no_python", "module"))  # of torchrun, that take no value
Value = Union[str, List[str]]
# The text and the name of a file that a script sources, by the text that names it and the file that does; None where it is not there.
Sourced = Callable[[str, str], Optional[Tuple[str, str]]]


class Option(NamedTuple):
    """An option of a group: its name with underscores; its words, in which UNKNOWN stands for what is not known; the line; the file, if
    that is another one than the script; whether it is given whatever is not known."""

    name: str
    words: Tuple[str, ...]
    line: int
    file: str = ""
    is_sure: bool = True


class Group(NamedTuple):
    """The options of one array or text by its name, or of one command and the program of Python that it runs."""

    options: List[Option]
    program: str = ""
    name: str = ""


class _Follower:
    """Follows statements, and keeps what variables hold."""

    def __init__(self, where: str, sourced: Optional[Sourced] = None) -> None:
        self.where = where
        self.sourced = sourced
        self.files: List[str] = []  # that are read, each by the one before
        self.variables: Dict[str, Value] = {"#": "0"}
        self.lines: Dict[str, int] = {}  # where they are set
        self.used: Set[str] = set()      # that another value, a command or a condition takes
        self.taken: Set[str] = set()     # arrays that a command takes
        self.groups: List[Group] = []
        self.steps = self.nested = 0
        self.telling = 0  # commands in brackets around
        self.unsure = 0  # branches around that may be taken or not
        self.conditions = Conditions(lambda word: self.expanded(word, ""), self.number)

    # --- values ---

    def number(self, text: str) -> Optional[int]:
        """Sums, differences and products of integers and variables."""
        pieces = re.findall(rf"\d+|{_NAME}|[-+*/%()]|\S", text.replace("$", "").replace("{", "").replace("}", ""))
        values = []
        for piece in pieces:
            value = self.variables.get(piece) if re.match(_NAME, piece) else piece
            if not isinstance(value, str) or not re.fullmatch(r"-?\d{1,9}|[-+*/%()]", value):
                return None
            values.append(value)
        return sum_of(values)

    def expanded(self, word: str, unset: str = UNKNOWN, joins: bool = False) -> str:
        """The word without quotes, variables replaced; unset: what stands for those that the script does not set; joins: also without quotes
        the items of a list are joined, as in an assignment."""
        found, at, is_quoted = "", 0, False
        while at < len(word):
            char = word[at]
            if char == "'" and not is_quoted:
                end = quotes_end(word, at)
                piece = word[at + 1:end - 1]
            elif char == "\\":
                end = at + 2
                piece = word[at + 1:end] if not is_quoted or word[at + 1:end] in ("$", "`", '"', "\\", "\n") else word[at:end]
            elif char == '"':
                end, piece, is_quoted = at + 1, "", not is_quoted
            elif char in "$`":
                piece, end = self.replaced(word, at, unset, joins or is_quoted)
            else:
                end, piece = at + 1, char
            found, at = found + piece, end
        return found

    def replaced(self, word: str, at: int, unset: str, joins: bool) -> Tuple[str, int]:
        """What stands for the dollar there, and where it ends."""
        if word.startswith("$((", at):
            end = brackets_end(word, at + 1)
            number = self.number(word[at + 3:end - 2])
            return UNKNOWN if number is None else str(number), end
        match = _VARIABLE.match(word, at)
        if match is not None:
            return self.value_of(match, unset, joins), match.end()
        if word[at] == "`":
            end = word.find("`", at + 1)
            return UNKNOWN, len(word) if end < 0 else end + 1
        if word[at + 1:at + 2] == "(":
            end = brackets_end(word, at + 1)
            return self.told(word[at + 2:end - 1], unset), end
        return UNKNOWN, brackets_end(word, at + 1) if word[at + 1:at + 2] == "{" else at + 1

    def told(self, text: str, unset: str) -> str:
        """What commands in brackets tell: a part of a path; or an echo after assignments, which are for these commands alone."""
        part = _PATH_PART.match(text)
        if part is not None and self.telling < MOST_TELLING:
            self.telling += 1
            values = [self.expanded(word, unset) for word, _ in words_of(part[2], 0)]
            self.telling -= 1
            return part_of_path(part[1], values)
        *first, last = [part for statement in statements_of(lines_again(text)) for _, part in divided(statement.text, "&&")] or [""]
        own = [_ASSIGN.match(part) for part in first]
        echo = _ECHO.match(last)
        if self.telling == MOST_TELLING or echo is None or re.search(r"[|<>&`]", without_quotes(last)) or not all(match and len(words_of(match[3], 0)) < 2 for match in own):
            return UNKNOWN
        before = dict(self.variables)
        self.telling += 1
        for match in own:
            if match is not None:
                self.variables[match[1]] = self.expanded(match[3], joins=True)
        value = " ".join(self.value_in_echo(word) for word, _ in words_of(echo[1], 0))
        self.variables = before
        self.telling -= 1
        return value

    def value_in_echo(self, word: str) -> str:
        """A word, in parts between the signs of IFS if it has no quotes."""
        value, signs = self.expanded(word), self.variables.get("IFS", " \t\n")
        if any(quote in word for quote in "\"'") or not isinstance(signs, str) or not signs:
            return value
        return " ".join(re.split(f"[{re.escape(signs)}]+", value))

    def join(self, items: List[str]) -> str:
        """As "${name[*]}" joins a list: with the first sign of IFS."""
        signs = self.variables.get("IFS", " ")
        return signs[:1].join(items) if isinstance(signs, str) and signs != UNKNOWN else UNKNOWN

    def value_of(self, match: "re.Match[str]", unset: str, joins: bool) -> str:
        name = match["braced"] or match["plain"]
        self.used.add(name)
        value = self.variables.get(name)
        if match["default"] is not None and (value is None or value == ""):
            return self.expanded(match["default"], unset)
        if isinstance(value, list):
            return self.join(value) if joins and match["index"] == "[*]" else " ".join(value)
        return unset if value is None else value

    def values(self, word: str) -> List[str]:
        """An expanded word; of one without quotes each part between blanks."""
        value = self.expanded(word)
        return [value] if any(quote in word for quote in "\"'") else value.split()

    # --- options ---

    def option(self, value: str, line: int) -> Optional[Option]:
        """None of a word that begins none."""
        if not re.match(r"--[A-Za-z][\w.-]*(?:=|$)", value):
            return None
        name, equals, rest = value[2:].partition("=")
        return Option(name.replace("-", "_"), (rest,) if equals else (), line, self.files[-1] if self.files else "", self.unsure == 0)

    def add(self, found: List[Option], value: str, line: int) -> None:
        option = self.option(value, line)
        if option is not None:
            found.append(option)
        elif found:
            found[-1] = found[-1]._replace(words=(*found[-1].words, value))

    def keep(self, group: Group) -> None:
        if group.options or group.program:
            self.groups.append(group)
        if len(self.groups) > MOST_GROUPS:
            raise Error(f"{self.where}: more than {MOST_GROUPS} of its commands and arrays have options")

    def command_options(self, words: List[Tuple[str, int]]) -> None:
        """Of a command those after the program that it starts, with those of its arrays where they stand."""
        found: List[Option] = []
        program, before = "", ""
        starters: Set[Optional[str]] = set()  # arrays of what starts the program
        for word, line in words:
            array = _ARRAY.fullmatch(word)
            if array is not None:
                starters.update([] if program else [array[1]])
                self.keep(Group(found, program))
                found = []
                self.use(array[1])
                continue
            for value in self.values(word):
                is_free = not found or found[-1].words or found[-1].name in FLAGS
                if not program and ((before == "-m" and not value.startswith("torch.")) or (value.endswith(".py") and not value.startswith("-") and is_free)):
                    program, found = value, []
                    self.groups = [group for group in self.groups if not group.name or group.name not in starters]
                else:
                    self.add(found, value, line)
                before = value
        self.keep(Group(found, program))

    def use(self, name: Optional[str]) -> None:
        """An array's options count where a command takes them."""
        if name is not None:
            self.used.add(name)
            own = [group for group in self.groups if group.name == name]
            self.taken.update(group.name for group in own)
            self.groups = [group for group in self.groups if group.name != name] + own

    def array_options(self, name: str, words: List[Tuple[str, int]], before: List[Group]) -> None:
        """Of an array those of its words; `before`: what it held, which it may take itself."""
        found: List[Option] = []
        for word, line in words:
            array = _ARRAY.fullmatch(word)
            if array is not None and array[1]:
                self.used.add(array[1])
                for group in before if array[1] == name else [group for group in self.groups if group.name == array[1]]:
                    self.keep(Group(found, "", name))
                    self.keep(group._replace(name=name))
                    found = []
                continue
            for value in self.values(word):
                for part in value.split() if value.startswith("--") and "=" not in value else [value]:
                    self.add(found, part, line)
        self.keep(Group(found, "", name))

    def found(self) -> List[Group]:
        """Without the arrays that no command takes where others are taken; with texts of options that nothing takes."""
        groups = [group for group in self.groups if not group.name or not self.taken or group.name in self.used]
        for name, value in self.variables.items():
            if isinstance(value, str) and name not in self.used and re.match(r"\s*--[A-Za-z]", value):
                text: List[Option] = []
                for part in value.split():
                    self.add(text, part, self.lines.get(name, 1))
                groups.append(Group(text, "", name))
        return [group for group in groups if group.options or group.program]

    def command(self, text: str, line: int) -> None:
        """Parts of a pipe, each up to where its output goes."""
        for _, part in divided(text, "|"):
            words = words_of(part, line)
            end = next((number for number, (word, _) in enumerate(words) if _ENDS.match(word)), len(words))
            if not _TELLS.match(part):
                self.command_options(words[:end])

    # --- statements ---

    def run(self, statements: List[Statement]) -> None:
        at = 0
        self.nested += 1
        if self.nested > MOST_NESTED:
            raise Error(f"{self.where}, line {statements[0].line if statements else 1}: more than {MOST_NESTED} conditions or loops are nested")
        while at < len(statements):
            self.steps += 1
            if self.steps > MOST_STEPS:
                raise Error(f"{self.where}, line {statements[at].line}: its loops take more than {MOST_STEPS} steps")
            text = statements[at].text
            followed = next((follow for pattern, follow in ((_FOR, self.count), (_FOR_IN, self.each), (_IF, self.choose), (_WHILE, self.repeat), (_CASE, self.pick))
                             if pattern.match(text)), None)
            if followed is not None:
                body, after = _block(statements, at)
                followed(statements[at], body)
                at = after
            else:
                self.simple(statements[at])
                at += 1
        self.nested -= 1

    def maybe(self, statements: List[Statement]) -> None:
        """Follows what may be run or not."""
        self.unsure += 1
        self.run(statements)
        self.unsure -= 1

    def run_if(self, holds: Optional[bool], statements: List[Statement]) -> None:
        if holds is None:
            self.maybe(statements)
        elif holds:
            self.run(statements)

    def count(self, first: Statement, body: List[Statement]) -> None:
        match = _FOR.match(first.text)
        assert match is not None
        start, last = self.number(match[2]), self.number(match[4])
        if start is None or last is None:
            self.variables[match[1]] = UNKNOWN
            self.maybe(body)
            return
        for value in range(start, last + bool(match[3])):
            self.variables[match[1]] = str(value)
            self.run(body)

    def each(self, first: Statement, body: List[Statement]) -> None:
        match = _FOR_IN.match(first.text)
        assert match is not None
        for value in [part for word, _ in words_of(match[2], 0) for part in self.expanded(word).split() or [""]]:
            self.variables[match[1]] = value
            self.run(body)

    def repeat(self, first: Statement, body: List[Statement]) -> None:
        """Loops that end by a condition: without words for the script there are none of these."""
        match = _WHILE.match(first.text)
        assert match is not None
        holds = self.conditions.holds(match[2])
        if (holds if match[1] == "while" else opposite(holds)) is not False:
            self.maybe(body)

    def choose(self, first: Statement, body: List[Statement]) -> None:
        branches: List[Tuple[str, List[Statement]]] = [(first.text[2:], [])]
        depth = 0
        for statement in body:
            depth += _opens(statement.text) - _closes(statement.text)
            match = re.match(r"(elif|else)\b\s*(.*)$", statement.text, re.S) if depth == 0 else None
            if match is None:
                branches[-1][1].append(statement)
            elif match[1] == "elif":
                branches.append((match[2], []))
            else:
                branches.append((":", [statement._replace(text=match[2])] if match[2] else []))
        rest: Optional[bool] = True  # whether none before was taken
        for condition, statements in branches:
            holds = True if condition == ":" else self.conditions.holds(condition)
            taken = None if rest is None and holds is not False else holds
            self.run_if(taken, statements)
            if taken:
                return
            rest = None if taken is None else rest

    def pick(self, first: Statement, body: List[Statement]) -> None:
        """The branch of a case; patterns end with a bracket that nothing opens."""
        match = _CASE.match(first.text)
        assert match is not None
        value, known = self.expanded(match[1], ""), True
        branches: List[Tuple[str, List[Statement]]] = []
        for statement in ([Statement(match[2].strip(), first.line)] if match[2].strip() else []) + body:
            end = _pattern_end(statement.text)
            if end:
                branches.append((statement.text[:end - 1].lstrip("("), []))
                statement = statement._replace(text=statement.text[end:].strip())
            if branches and statement.text:
                branches[-1][1].append(statement)
        for patterns, statements in branches:
            texts = [self.expanded(each, "") for _, each in divided(patterns, "|")]
            known = known and UNKNOWN not in value
            if known and any(fnmatch.fnmatchcase(value, each) for each in texts):
                self.run(statements)
                return
            if not known:
                self.maybe(statements)

    def simple(self, statement: Statement) -> None:
        text = _WORDS_BEFORE.sub("", statement.text)
        function = _FUNCTION.match(text)
        if function is not None:
            signs = self.variables.get("IFS")
            self.run(statements_of(lines_again(function[1]), statement.line))
            self.restore("IFS", signs)
            return
        status: Optional[bool] = True
        for sign, part in divided(text, "&&", "||"):
            go = opposite(status) if sign == "||" else status
            if is_condition(part):
                status = self.conditions.holds(part) if go is not False else status
            elif go is not False:
                self.unsure += go is None
                self.part(part, statement.line)
                self.unsure -= go is None
                status = True if go else None

    def part(self, text: str, line: int) -> None:
        printed, assigned, source = _PRINTF.match(text), _ASSIGN.match(text), _SOURCE.match(text)
        if source is not None and self.sourced is not None:
            self.take(source[1])
        elif assigned is not None and self.sourced is not None and self.take_with(text, line):
            pass
        elif printed is not None:
            self.set(printed[1], self.printed([word for word, _ in words_of(printed[2], line)]))
        elif assigned is not None and assigned[3].startswith("("):
            self.array(assigned[1], bool(assigned[2]), assigned[3], line)
        elif assigned is not None and not re.search(r"\s--[A-Za-z]", without_quotes(assigned[3])):
            words = words_of(assigned[3], line)
            if assigned[1] == "IFS" and len(words) > 1:
                return  # it is for the command after it alone
            value, before = self.expanded(words[0][0], joins=True) if words else "", self.variables.get(assigned[1], "")
            self.lines[assigned[1]] = line
            self.set(assigned[1], (before if isinstance(before, str) else UNKNOWN) + value if assigned[2] else value)
        else:
            self.command(text, line)

    def printed(self, words: List[str]) -> str:
        """A text with one value in it."""
        form = self.expanded(words[0]) if len(words) == 2 else ""
        return form.replace("%s", self.expanded(words[1])) if form.count("%") == form.count("%s") == 1 and "\\" not in form else UNKNOWN

    def set(self, name: str, value: Value) -> None:
        """What a branch sets that may be taken or not is known where it is as before."""
        self.variables[name] = value if self.unsure == 0 or self.variables.get(name) == value else UNKNOWN

    def restore(self, name: str, value: Optional[Value]) -> None:
        if value is None:
            self.variables.pop(name, None)
        else:
            self.variables[name] = value

    def take_with(self, text: str, line: int) -> bool:
        """Whether a file is sourced after assignments, which are for it alone."""
        own = [word for word, _ in words_of(text, line)] if re.search(r"\s(?:source|\.)\s", text) else []
        at = next((number for number, word in enumerate(own) if not re.match(rf"{_NAME}=", word)), 0)
        if at == 0 or own[at] not in ("source", ".") or len(own) == at + 1:
            return False
        before = dict(self.variables)
        for word in own[:at]:
            self.part(word, line)
        self.take(own[at + 1])
        for name in [word.partition("=")[0] for word in own[:at]]:
            self.variables.pop(name, None)
            self.variables.update({name: before[name]} if name in before else {})
        return True

    def take(self, name: str) -> None:
        """Follows a file that the script sources."""
        value = self.expanded(name)
        found = self.sourced(name if UNKNOWN in value else value, self.files[-1] if self.files else self.where) if self.sourced is not None else None
        if found is None:
            return
        if len(self.files) == DEEPEST:
            raise Error(f"{self.where}: more than {DEEPEST} files source each other")
        self.files.append(found[1])
        self.run(statements_of(plain_text(found[0])))
        self.files.pop()

    def array(self, name: str, adds: bool, text: str, line: int) -> None:
        words = words_of(text[1:text.rfind(")")], line)
        before = self.variables.get(name)
        items = [self.expanded(word) for word, _ in words]
        self.set(name, [*before, *items] if adds and isinstance(before, list) else items)
        own = [group for group in self.groups if group.name == name]
        if not adds and not self.unsure:
            self.groups = [group for group in self.groups if group.name != name]
        self.array_options(name, words, own)


# --- blocks ---

def _opens(text: str) -> int:
    return int(re.match(r"(?:for|while|until|if|case|select)\b", _WORDS_BEFORE.sub("", text)) is not None)


def _closes(text: str) -> int:
    return int(re.match(r"(?:done|fi|esac)\b", text) is not None)


def _block(statements: List[Statement], at: int) -> Tuple[List[Statement], int]:
    """The statements between the start of a block and its end, and where it goes on."""
    body: List[Statement] = []
    depth, number = 0, at + 1
    while number < len(statements):
        text = _WORDS_BEFORE.sub("", statements[number].text)
        depth += _opens(text)
        if _closes(text):
            if depth == 0:
                return body, number + 1
            depth -= 1
        if text:
            body.append(statements[number]._replace(text=text))
        number += 1
    return body, number


def _pattern_end(text: str) -> int:
    """After the bracket that ends the pattern of a case, or 0."""
    at, depth = 1 if text.startswith("(") else 0, 0
    while at < len(text):
        if text[at] in "\"'":
            at = quotes_end(text, at)
            continue
        depth += 1 if text[at] in "({" else -1 if text[at] in ")}" else 0
        at += 1
        if depth < 0:
            return at
        if text[at - 1] in " \t" and not text[:at].rstrip().endswith("|") and not text[at:].lstrip().startswith(("|", ")")):
            return 0
    return 0


def script_groups(where: str, text: str, sourced: Optional[Sourced] = None) -> List[Group]:
    """The options of each array and command, in the order of the script and of the files that it sources."""
    follower = _Follower(where, sourced)
    follower.run(statements_of(plain_text(text)))
    return follower.found()


def value_of(where: str, option: Option) -> object:
    """True for an option alone, a number, a text, or a list of them; an error if it holds what is not known."""
    place, name = f"{option.file or where}, line {option.line}", option.name.replace("_", "-")
    if any(UNKNOWN in word for word in option.words):
        raise Error(f"{place}: --{name} has a value from outside the script; write the value there")
    if not option.is_sure:
        raise Error(f"{place}: --{name} depends on a condition from outside the script; write it without one")
    values = [_plain(word) for word in option.words]
    return True if not values else values[0] if len(values) == 1 else values


def _plain(word: str) -> object:
    if re.fullmatch(r"-?\d{1,18}", word):
        return int(word)
    if re.fullmatch(r"-?(\d+\.\d*|\.?\d+)([eE][-+]?\d+)?", word):
        return float(word)
    return word
