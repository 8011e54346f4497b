# SPDX-License-Identifier: Apache-2.0
"""One change of one place of a file."""
import dataclasses
import difflib


@dataclasses.dataclass(frozen=True)
class Mutation:
    """In `path`, relative to the tree, from `begin` to `end` (characters) stands `new` instead; `rule` is the rule that said so."""
    path: str
    rule: str
    begin: int
    end: int
    new: str

    def apply(self, text):
        return text[:self.begin] + self.new + text[self.end:]

    def lines(self, text):
        """The lines that it changes, before and after, without what is around them: the same wherever they move to."""
        first = text.rfind("\n", 0, self.begin) + 1
        last = text.find("\n", self.end)
        last = len(text) if last < 0 else last
        return (" ".join(text[first:last].split()), " ".join((text[first:self.begin] + self.new + text[self.end:last]).split()))

    def line_number(self, text):
        return text.count("\n", 0, self.begin) + 1

    def diff(self, text):
        names = f"a/{self.path}", f"b/{self.path}"
        return "".join(difflib.unified_diff(text.splitlines(True), self.apply(text).splitlines(True), *names, n=2))
