# SPDX-License-Identifier: Apache-2.0
"""Mutations of Python by the rules below: what stands in the bodies of functions, without their signatures, texts and notes of
types."""
import ast

from mutation import Mutation

FLIPPED = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "==", ast.Is: "is not", ast.IsNot: "is",
           ast.In: "not in", ast.NotIn: "in"}
EXCHANGED_CALLS = {"min": "max", "max": "min"}


class Mutations(ast.NodeVisitor):
    def __init__(self, path, text):
        self.path, self.text, self.found = path, text, []
        self.line_begins = [0]
        for line in text.encode().split(b"\n"):
            self.line_begins.append(self.line_begins[-1] + len(line) + 1)

    # Columns of the parser count bytes.
    def _place(self, line, column):
        return len(self.text.encode()[:self.line_begins[line - 1] + column].decode())

    def _span(self, node):
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def _text(self, node):
        begin, end = self._span(node)
        return self.text[begin:end]

    def add(self, rule, begin, end, new):
        self.found.append(Mutation(self.path, rule, begin, end, new))

    def visit_Module(self, node):
        for function in ast.walk(node):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                for statement in function.body:
                    if not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                        self.visit(statement)

    def visit_FunctionDef(self, node):
        """Is found by itself."""

    def visit_JoinedStr(self, node):
        """Its parts have no places of their own."""

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def _between(self, left, right, rule, new):
        """What stands between two operands, brackets around them aside, becomes `new`."""
        begin, end = self._span(left)[1], self._span(right)[0]
        between = self.text[begin:end]
        after, before = len(between) - len(between.lstrip(") \n")), len(between) - len(between.rstrip("( \n"))
        self.add(rule, begin + after, end - before, new)

    def visit_Compare(self, node):
        operands = [node.left, *node.comparators]
        for left, operator, right in zip(operands, node.ops, operands[1:]):
            self._between(left, right, "flip a comparison", FLIPPED[type(operator)])
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        other = "or" if isinstance(node.op, ast.And) else "and"
        for left, right in zip(node.values, node.values[1:]):
            self._between(left, right, "and or", other)
        if len(node.values) == 2:
            self.add("drop a condition", *self._span(node), f"({self._text(node.values[0])})")
            self.add("drop a condition", *self._span(node), f"({self._text(node.values[1])})")
        self.generic_visit(node)

    def visit_BinOp(self, node):
        is_text = any(isinstance(side, (ast.JoinedStr, ast.List, ast.Tuple)) or
                      (isinstance(side, ast.Constant) and isinstance(side.value, (str, bytes))) for side in (node.left, node.right))
        if not is_text and isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv)):
            rule = "drop a term" if isinstance(node.op, (ast.Add, ast.Sub)) else "drop a factor"
            self.add(rule, *self._span(node), f"({self._text(node.left)})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            self.add("negate", *self._span(node), f"({self._text(node.operand)})")
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        if isinstance(node.op, (ast.Add, ast.Sub)):
            self.add("drop a term", *self._span(node), f"{self._text(node.target)} = {self._text(node.value)}")
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            self.add("truth", *self._span(node), str(not node.value))
        elif isinstance(node.value, int) and node.value < 10000:
            self.add("off by one", *self._span(node), str(node.value + 1))

    def visit_IfExp(self, node):
        body, other = self._text(node.body), self._text(node.orelse)
        if body != other:
            self.add("swap the ways", *self._span(node), f"({other}) if {self._text(node.test)} else ({body})")
        self.generic_visit(node)

    def visit_Call(self, node):
        if isinstance(node.func, ast.Name) and node.func.id in EXCHANGED_CALLS:
            self.add("smaller or larger", *self._span(node.func), EXCHANGED_CALLS[node.func.id])
        simple = [a for a in node.args if isinstance(a, (ast.Name, ast.Attribute, ast.Constant, ast.Subscript))]
        if len(simple) == len(node.args) and not (isinstance(node.func, ast.Name) and node.func.id in EXCHANGED_CALLS):
            for left, right in zip(node.args, node.args[1:]):
                one, other = self._text(left), self._text(right)
                if one != other:
                    begin, end = self._span(left)[0], self._span(right)[1]
                    self.add("swap arguments", begin, end, f"{other}, {one}")
        self.generic_visit(node)

    def visit_Continue(self, node):
        self.add("way out", *self._span(node), "break")

    def visit_Break(self, node):
        self.add("way out", *self._span(node), "continue")

    def visit_If(self, node):
        self.add("negate", *self._span(node.test), f"not ({self._text(node.test)})")
        self.generic_visit(node)


def mutations_of(path, text):
    mutations = Mutations(path, text)
    mutations.visit(ast.parse(text))
    return mutations.found
