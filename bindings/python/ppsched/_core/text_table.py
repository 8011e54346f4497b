# SPDX-License-Identifier: Apache-2.0
"""Tables for people, in as many columns of text as every terminal has."""
import textwrap
from typing import Iterable, List, NamedTuple, Sequence, Tuple

WIDTH = 80
_BETWEEN = "  "
_INDENT = " " * 7


class Column(NamedTuple):
    """leaves: where there is no room columns go on lines beneath each row, the highest first; 0: it stays. With a break its cells
    may end there, and the rest goes beneath."""

    heading: str
    cells: Sequence[str]
    left: bool = False
    leaves: int = 0
    breaks: str = ""


class _Layout(NamedTuple):
    """The columns of rows, those beneath, and whether headings are stacked."""

    rows: List[Column]
    beneath: List[Column]
    stacked: bool


def _stacked(column: Column) -> List[str]:
    """The heading in lines that are no wider than they must be."""
    least = max([*map(len, column.cells), *map(len, column.heading.split()), 1])
    return textwrap.wrap(column.heading, least) or [""]


def _width(column: Column, stacked: bool) -> int:
    heading = max(map(len, _stacked(column))) if stacked else len(column.heading)
    return max([heading, *map(len, column.cells)])


def _fits(columns: Sequence[Column], stacked: bool) -> bool:
    return sum(_width(column, stacked) + len(_BETWEEN) for column in columns) - len(_BETWEEN) <= WIDTH


def _broken(column: Column) -> Tuple[Column, Column]:
    """What stays in the row, and what goes beneath without a heading."""
    parts = [cell.partition(column.breaks) for cell in column.cells]
    rests = [(mark + rest).strip() for _, mark, rest in parts]
    return column._replace(cells=[cell for cell, _, _ in parts]), Column("", rests, left=True)


def _layout(columns: Sequence[Column], texts: int) -> _Layout:
    """texts: columns that leave as this or higher are texts, and go before headings are stacked."""
    rows = list(columns)
    beneath: List[Column] = []
    leaving = sorted((column for column in rows if column.leaves), key=lambda column: -column.leaves)
    for column in [column for column in leaving if column.leaves >= texts]:
        if not _fits(rows, False):
            rows.remove(column)
            beneath.insert(0, column)
    stacked = not _fits(rows, False)
    for number, column in enumerate(rows):
        if column.breaks and not _fits(rows, stacked):
            rows[number], rest = _broken(column)
            beneath.insert(0, rest)
    for column in leaving:
        if column in rows and not _fits(rows, stacked):
            rows.remove(column)
            beneath.insert(sum(not each.heading for each in beneath), column)  # after what is broken off
    return _Layout(rows, beneath, stacked)


def _line(cells: Iterable[str], widths: Sequence[int], columns: Sequence[Column]) -> str:
    return _BETWEEN.join(cell.ljust(width) if column.left else cell.rjust(width)
                         for cell, width, column in zip(cells, widths, columns)).rstrip()


def _beneath(columns: Sequence[Column], number: int) -> List[str]:
    """Texts have a line each, what is broken off and figures one together."""
    told = [column for column in columns if column.cells[number]]
    short = [f"{column.heading} {column.cells[number]}".strip() for column in told if not (column.left and column.heading)]
    lines = [f"{column.heading}: {column.cells[number]}" for column in told if column.left and column.heading]
    return [part for line in (*([", ".join(short)] if short else []), *lines)
            for part in textwrap.wrap(line, WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT + _BETWEEN, break_long_words=False,
                                      break_on_hyphens=False)]


def _alike(columns: Sequence[Column]) -> Tuple[List[Column], List[str]]:
    """Those beneath that differ, and a line of those that have one figure in every row."""
    alike = [column for column in columns if not column.left and len(column.cells) > 1 and len(set(column.cells)) == 1]
    told = ", ".join(f"{column.heading} {column.cells[0]}" for column in alike)
    return [column for column in columns if column not in alike], [f"in every row: {told}"] if alike else []


def laid_out(columns: Sequence[Column], texts: int = 1) -> List[str]:
    """The headings, and then each row, both of one line or several."""
    rows, beneath, stacked = _layout(columns, texts)
    beneath, told = _alike(beneath)
    widths = [_width(column, stacked) for column in rows]
    headings = [_stacked(column) if stacked else [column.heading] for column in rows]
    height = max(map(len, headings))
    top = [[""] * (height - len(lines)) + lines for lines in headings]
    lines = ["\n".join([*told, *(_line(cells, widths, rows) for cells in zip(*top))])]
    for number in range(len(columns[0].cells)):
        lines.append("\n".join([_line([column.cells[number] for column in rows], widths, rows), *_beneath(beneath, number)]))
    return lines
