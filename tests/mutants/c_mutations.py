# SPDX-License-Identifier: Apache-2.0
"""Mutations of C by the rules below: what stands in the bodies of functions, in code that clang-format wrote, so that binary
operators have blanks on both sides. Comments, texts, lines of the preprocessor and declarations are left alone."""
import dataclasses
import re

from mutation import Mutation

TOKEN = re.compile(r"""
    (?P<comment>/\*.*?\*/|//[^\n]*)
  | (?P<directive>^[ \t]*\#(?:[^\n\\]|\\.)*(?:\\\n(?:[^\n\\]|\\.)*)*)
  | (?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>\d[\w.]*(?:(?<=[eE])[-+]\d+)?)
  | (?P<sign>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|[^\s\w])
""", re.X | re.S | re.M)

FLIPPED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
EXCHANGED = {"true": "false", "false": "true", "continue": "break", "break": "continue", "ppi_smaller": "ppi_larger",
             "ppi_larger": "ppi_smaller", "&&": "||", "||": "&&"}
OTHER_STATUS = {"PPSCHED_ERROR_RANGE": "PPSCHED_ERROR_REFUSED"}
NO_CALLS = {"if", "for", "while", "switch", "return", "sizeof", "offsetof", "case"}
SYMMETRIC = {"ppi_smaller", "ppi_larger", "ppi_part_of_wait", "least", "most", "strcmp", "strncmp", "memcmp"}  # as the library uses them
TAKES_MEMORY = re.compile(r"ppi_(allocate|room_take|print|format)\w*|mem(cpy|move|set)|make_room|_Static_assert")
TYPES = {"int", "char", "double", "float", "void", "bool", "unsigned", "signed", "short", "long", "struct", "enum", "const", "size_t"}
OPENS, CLOSES = "([{", ")]}"


@dataclasses.dataclass(frozen=True)
class Token:
    kind: str
    text: str
    begin: int
    end: int


class Code:
    """A file's tokens, which bracket belongs to which, and which of them are in a function's body."""

    def __init__(self, text):
        self.text = text
        self.tokens = [Token(m.lastgroup, m.group(), m.start(), m.end()) for m in TOKEN.finditer(text)
                       if m.lastgroup not in ("comment", "directive")]
        self.partner = {}
        opened = []
        for i, token in enumerate(self.tokens):
            if token.kind == "sign" and token.text in OPENS:
                opened.append(i)
            elif token.kind == "sign" and token.text in CLOSES and opened:
                self.partner[i] = opened.pop()
                self.partner[self.partner[i]] = i
        self.bodies = self._find_bodies()

    def _find_bodies(self):
        found, i = [], 0
        while i < len(self.tokens):
            if self.tokens[i].text == "{" and self.tokens[i].kind == "sign":
                if i > 0 and self.tokens[i - 1].text == ")":
                    found.append((i + 1, self.partner[i]))
                i = self.partner[i]
            i += 1
        return found

    def is_binary(self, i):
        """A sign with blanks on both sides."""
        token = self.tokens[i]
        return token.kind == "sign" and self.text[token.begin - 1].isspace() and self.text[token.end:token.end + 1].isspace()

    def _is_cast(self, i):
        inside = self.tokens[i + 1:self.partner[i]]
        return bool(inside) and all(t.kind == "name" or t.text == "*" for t in inside) and (
            inside[0].text in TYPES or inside[0].text.endswith("_t") or inside[-1].text == "*")

    def operand_end(self, i):
        """The place behind the operand that begins with a token: its signs and casts, its name, and what follows it."""
        while i < len(self.tokens) and (self.tokens[i].text in ("-", "!", "~", "*", "&", "++", "--") or
                                        (self.tokens[i].text == "sizeof" and self.tokens[i + 1].text != "(") or
                                        (self.tokens[i].text == "(" and self._is_cast(i))):
            i = self.partner[i] + 1 if self.tokens[i].text == "(" else i + 1
        i = self.partner[i] + 1 if self.tokens[i].text == "(" else i + 1
        while i < len(self.tokens) and self.tokens[i].text in ("(", "[", ".", "->", "++", "--"):
            i = i + 2 if self.tokens[i].text in (".", "->") else self.partner.get(i, i) + 1
        return i

    def operand_begin(self, i):
        """The first token of the operand that ends before token i, without its signs."""
        i -= 1
        while True:
            if self.tokens[i].text in (")", "]"):
                i = self.partner[i]
                if i > 0 and self.tokens[i - 1].kind == "name" and self.tokens[i - 1].text not in NO_CALLS:
                    i -= 1
                elif i > 0 and self.tokens[i - 1].text in (")", "]"):
                    i -= 1
                    continue
            if i >= 2 and self.tokens[i - 1].text in (".", "->"):
                i -= 2
                continue
            return i

    def span(self, first, end):
        return self.tokens[first].begin, self.tokens[end - 1].end

    def text_of(self, first, end):
        begin, end = self.span(first, end)
        return self.text[begin:end]


class Mutations:
    def __init__(self, path, text):
        self.path, self.code, self.found = path, Code(text), []

    def add(self, rule, begin, end, new):
        self.found.append(Mutation(self.path, rule, begin, end, new))

    def all(self):
        for first, end in self.code.bodies:
            skipped = self._skipped(first, end)
            compares_before = False
            for i in range(first, end):
                if i in skipped:
                    continue
                token = self.code.tokens[i]
                self._of_token(i, token, end)
                if token.text == "return" and token.kind == "name":
                    compares_before = self._tie(i, end, compares_before)
        return self.found

    def _skipped(self, first, end):
        """Arguments of what takes memory, where more than is needed changes nothing, and sizes of arrays that are declared or of what sizeof asks for."""
        skipped = set()
        tokens = self.code.tokens
        for i in range(first, end):
            if tokens[i].text == "(" and tokens[i - 1].kind == "name" and (
                    TAKES_MEMORY.fullmatch(tokens[i - 1].text) or tokens[i - 1].text in ("sizeof", "offsetof")):
                skipped.update(range(i, self.code.partner[i]))
            if tokens[i].text == "sizeof" and tokens[i + 1].text != "(":
                skipped.update(range(i, self.code.operand_end(i)))
            declares = tokens[i - 2].kind == "name" or tokens[i - 2].text == "*"
            if tokens[i].text == "[" and tokens[i - 1].kind == "name" and declares and tokens[i - 2].text not in NO_CALLS:
                skipped.update(range(i, self.code.partner[i]))
        return skipped

    def _of_token(self, i, token, end):
        if token.kind == "number":
            self._number(token)
        elif token.kind == "name":
            self._name(i, token)
        elif token.kind == "sign":
            self._sign(i, token, end)

    def _number(self, token):
        if re.fullmatch(r"\d{1,4}u?", token.text):
            self.add("off by one", token.begin, token.end, f"{int(token.text.rstrip('u')) + 1}{'u' if token.text[-1] == 'u' else ''}")

    def _name(self, i, token):
        tokens = self.code.tokens
        if token.text in EXCHANGED:
            rule = {"t": "truth", "f": "truth", "p": "smaller or larger"}.get(token.text[0], "way out")
            self.add(rule, token.begin, token.end, EXCHANGED[token.text])
        if token.text.startswith("PPSCHED_ERROR_") and tokens[i - 1].text in ("(", ",", "return", "?", ":"):
            self.add("wrong status", token.begin, token.end, OTHER_STATUS.get(token.text, "PPSCHED_ERROR_RANGE"))
        if token.text in ("if", "while") and tokens[i + 1].text == "(":
            begin, stop = self.code.span(i + 1, self.code.partner[i + 1] + 1)
            if token.text == "if":
                self.add("negate", begin, stop, f"(!{self.code.text[begin:stop]})")
        elif tokens[i + 1].text == "(" and tokens[i + 1].begin == token.end and token.text not in NO_CALLS | SYMMETRIC and not (
                TAKES_MEMORY.fullmatch(token.text)):
            self._swap_arguments(i + 1)

    def _arguments(self, opening):
        """The first and the last but one token of each argument."""
        found, first, i, closing = [], opening + 1, opening + 1, self.code.partner[opening]
        while i <= closing:
            text = self.code.tokens[i].text
            if i == closing or text == ",":
                if i > first:
                    found.append((first, i))
                first = i + 1
            i = self.code.partner[i] + 1 if i != closing and i in self.code.partner and text in OPENS else i + 1
        return found

    def _swap_arguments(self, opening):
        arguments = self._arguments(opening)
        for (a, a_end), (b, b_end) in zip(arguments, arguments[1:]):
            one, other = self.code.text_of(a, a_end), self.code.text_of(b, b_end)
            if one != other and not {one, other} & {"NULL", "error"} and '"' not in one + other:
                begin, stop = self.code.span(a, b_end)
                between = self.code.text[self.code.tokens[a_end - 1].end:self.code.tokens[b].begin]
                self.add("swap arguments", begin, stop, other + between + one)

    def _sign(self, i, token, end):
        text = token.text
        if text == "?" and self.code.is_binary(i):
            self._swap_ways(i, end)
        if text == "[" and self.code.tokens[self.code.partner[i] + 1].text == "[":
            self._swap_indices(i)
        if not self.code.is_binary(i):
            return
        if text in FLIPPED and not self._is_clamp(i, end):
            self.add("flip a comparison", token.begin, token.end, FLIPPED[text])
        elif text in ("&&", "||"):
            self.add("and or", token.begin, token.end, EXCHANGED[text])
            self._drop_condition(i, end)
        elif text in ("+", "-"):
            self._drop_term(i)
        elif text in ("*", "/"):
            self.add("drop a factor", self.code.tokens[i - 1].end, self.code.span(i, self.code.operand_end(i + 1))[1], "")
            if text == "*":
                self._transpose(i)
        elif text in ("+=", "-="):
            self.add("drop a term", token.begin, token.end, "=")

    def _is_clamp(self, i, end):
        """Whether the smaller or the larger one of two comes out, as in a < b ? b : a: where they are equal both are right."""
        tokens, question = self.code.tokens, self.code.operand_end(i + 1)
        if tokens[i].text in ("==", "!="):
            return False
        if tokens[question].text != "?":
            return self._is_clamp_by_if(i, question)
        colon = self.code.operand_end(question + 1)
        stop = self.code.operand_end(colon + 1)
        ways = {self.code.text_of(question + 1, colon), self.code.text_of(colon + 1, stop)}
        sides = {self.code.text_of(self.code.operand_begin(i), i), self.code.text_of(i + 1, question)}
        nested = stop < end and tokens[stop].text in FLIPPED and self.code.text_of(question + 1, colon) in sides and (
            self.code.text_of(colon + 1, stop) in sides)  # a < b ? b : a > c ? c : a
        return tokens[colon].text == ":" and ways == sides and (tokens[stop].text in (";", ",", ")") or nested)

    def _is_clamp_by_if(self, i, closing):
        """The same of if (a < b) b = a;"""
        tokens, first = self.code.tokens, self.code.operand_begin(i)
        if tokens[closing].text != ")" or tokens[first - 1].text != "(" or tokens[first - 2].text != "if":
            return False
        stop = closing + 1
        while tokens[stop].text not in (";", "{"):
            stop += 1
        one, other = self.code.text_of(first, i), self.code.text_of(i + 1, closing)
        return self.code.text_of(closing + 1, stop) in (f"{one} = {other}", f"{other} = {one}")

    def _drop_term(self, i):
        tokens, stop = self.code.tokens, self.code.operand_end(i + 1)
        while tokens[stop].text in ("*", "/", "%") and self.code.is_binary(stop):
            stop = self.code.operand_end(stop + 1)
        self.add("drop a term", tokens[i - 1].end, tokens[stop - 1].end, "")

    def _drop_condition(self, i, end):
        tokens, stop = self.code.tokens, i + 1
        while stop < end and tokens[stop].text not in ("&&", "||", "?", ":", ")", ";", ",", "}"):
            stop = self.code.partner[stop] + 1 if tokens[stop].text in OPENS else stop + 1
        self.add("drop a condition", tokens[i - 1].end, tokens[stop - 1].end, "")
        first = i - 1
        while tokens[first].text not in ("&&", "||", "?", ":", "(", ";", ",", "=", "return", "{"):
            first = self.code.partner[first] - 1 if tokens[first].text in (")", "]", "}") else first - 1
        self.add("drop a condition", tokens[first + 1].begin, tokens[i + 1].begin, "")

    def _swap_ways(self, i, end):
        tokens, colon = self.code.tokens, i + 1
        while colon < end and tokens[colon].text not in (":", "?"):
            colon = self.code.partner[colon] + 1 if tokens[colon].text in OPENS else colon + 1
        stop = colon + 1
        while stop < end and tokens[stop].text not in (")", "]", "}", ";", ",", "?"):
            stop = self.code.partner[stop] + 1 if tokens[stop].text in OPENS else stop + 1
        if tokens[colon].text == ":" and tokens[stop].text != "?":
            begin, finish = self.code.span(i + 1, stop)
            self.add("swap the ways", begin, finish, f"{self.code.text_of(colon + 1, stop)} : {self.code.text_of(i + 1, colon)}")

    def _swap_indices(self, i):
        middle = self.code.partner[i]
        last = self.code.partner[middle + 1]
        one, other = self.code.text_of(i + 1, middle), self.code.text_of(middle + 2, last)
        if one != other:
            self.add("transpose an index", *self.code.span(i, last + 1), f"[{other}][{one}]")

    def _transpose(self, i):
        """a * n + b becomes b * n + a."""
        tokens, plus = self.code.tokens, self.code.operand_end(i + 1)
        if tokens[plus].text != "+" or not self.code.is_binary(plus):
            return
        first, stop = self.code.operand_begin(i), self.code.operand_end(plus + 1)
        if tokens[stop].text in ("*", "/", "%") and self.code.is_binary(stop):
            return
        a, n, b = self.code.text_of(first, i), self.code.text_of(i + 1, plus), self.code.text_of(plus + 1, stop)
        if a != b and not re.fullmatch(r"\d+u?", b):
            self.add("transpose an index", *self.code.span(first, stop), f"{b} * {n} + {a}")

    def _tie(self, i, end, compares_before):
        """The last of several comparisons that are returned, each where those before it are equal."""
        tokens, stop = self.code.tokens, i + 1
        while stop < end and tokens[stop].text != ";":
            stop += 1
        compares = any(tokens[k].text in ("<", ">") and self.code.is_binary(k) for k in range(i + 1, stop))
        if compares and compares_before:
            self.add("drop a tie rule", *self.code.span(i + 1, stop), "false")
        return compares or compares_before


def mutations_of(path, text):
    return Mutations(path, text).all()
