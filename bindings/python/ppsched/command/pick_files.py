# SPDX-License-Identifier: Apache-2.0
"""The files that pick writes: answers, and the best schedule itself."""
import argparse
from typing import List, NamedTuple, Optional

from .._core.microbatch_map import TELLS, tell_order
from .._core.writing import FORMATS, PICTURES, ending_of, write_file
from .answer import Answer
from .page_options import PAGES
from .plan_telling import check_answer
from .usage import UsageError

ANSWERS = (".json", ".txt", *PAGES)           # endings of files with the answer
SCHEDULES = (*PICTURES, ".csv", ".trace.json")  # endings of files with the schedule itself


class Files(NamedTuple):
    """schedules: files for the best schedule itself; formatted: the file that --format writes; answers: the others. If there are none,
    the answer is printed on standard output."""

    schedules: List[str]
    formatted: Optional[str]
    answers: List[str]

    @property
    def csv(self) -> Optional[str]:
        """The CSV file that launch lines name."""
        return next((path for path in self.schedules if ending_of(path, (".csv",))), None)


def _holds_schedule(path: str) -> bool:
    return ending_of(path, SCHEDULES) is not None


def files_of(arguments: argparse.Namespace) -> Files:
    outputs: List[str] = arguments.output
    if arguments.format is None:
        answers = [path for path in outputs if not _holds_schedule(path)]
        for path in answers:
            check_answer(path, arguments.json, (*ANSWERS, *SCHEDULES), True)
        return Files([path for path in outputs if _holds_schedule(path)], None, answers)
    pictures = [path for path in outputs if ending_of(path, PICTURES)]
    others = [path for path in outputs if path not in pictures]
    if arguments.json:
        raise UsageError(f"--format {arguments.format} writes the schedule; it cannot be combined with --json")
    if len(others) > 1:
        raise UsageError(f"--format {arguments.format} writes one file, not {' and '.join('-o ' + path for path in others)}")
    return Files(pictures, others[0] if others else None, [])


def write_schedule(answer: Answer, path: str, format: Optional[str], time_scale: float) -> None:
    """Writes the schedule to a file. If the file cannot contain the order of microbatches, it is printed on standard error."""
    best = answer.best[0]
    write_file(path, format, lambda: answer.timeline(best), lambda: answer.order(best), time_scale)
    format = format or FORMATS.get(ending_of(path, FORMATS) or "")
    if format not in TELLS:
        tell_order("pick", best.microbatch_order or (), path if format == "csv" else None)
