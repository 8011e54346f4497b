# SPDX-License-Identifier: Apache-2.0
"""The command that ranks all candidates for a problem: compare."""
import argparse
import sys
from typing import List, Optional, Sequence, Tuple

from .._core._library import Error
from .._core.candidate import Candidate
from .._core.former_names import with_former
from .._core.microbatch_map import device_order_line, order_line
from .._core.output import Write
from .._core.plan import Plan
from .._core.plan_table import best_of_each, candidate_row, candidates_csv, split_cells, split_row, table
from .._core.slow_devices import differs, slow_devices_line
from .._core.writing import PICTURES, drawing_together, ending_of
from .commands import COMMANDS, Commands
from .notices import tell_problem
from .output_files import add_output_argument, check_each_once, text_file
from .page_options import PAGES, check_page_words
from .plan_options import add_plan_problem, check_words, make_plan
from .plan_telling import check_answer, groups_line, of_runtime, page_text, rows_text, why_none
from .printing import print_text, write_files
from .problem_values import merged
from .speed_sweep import add_speed_argument, run_speed_sweep
from .usage import ANSWER, UsageError

ENDINGS = (".json", ".txt", ".csv", *PAGES, *PICTURES)
MOST_DRAWN = 5  # schedules in a picture


def add_commands(commands: Commands) -> None:
    compare = commands.add_parser(
        "compare", help=COMMANDS["compare"].summary, allow_abbrev=False,
        description="Evaluates all strategies with all their sizes and options, and ranks them by step time. Give costs for the stages in -s, "
                    "such as one stage per device or one per layer. For strategies with another number of stages, these costs are divided or added up.")
    add_plan_problem(compare)
    compare.first = ("num_devices", "num_stages", "num_batches", "config", "forward_times", "backward_times", "p2p_time", "mem_limit", "layers",
                     "runtime", "json", "output")
    compare.examples = ("ppsched compare --devices 8 --microbatches 32 --mem-limit 12",
                        "ppsched compare -c problem.yaml -o ranked.html                  # a page with timelines",
                        "ppsched compare --devices 8 --microbatches 32 -o ranked.csv")
    answer = compare.group(ANSWER)
    add_output_argument(answer, f"write to files: .json, .txt, .csv, .html for a page with timelines, or .png .svg .pdf for a picture of the "
                                f"best candidate of each strategy, at most {MOST_DRAWN} strategies. The table is printed if there are pictures, or "
                                f"no files", [])
    answer.add_argument("--all", action="store_true", help="try all group sizes, and show all candidates in the table, not only the best of each strategy")
    add_speed_argument(answer)
    compare.set_defaults(run=run_compare)


def _compared_text(made: Plan, candidates: List[Candidate], arguments: argparse.Namespace, output: Optional[str]) -> str:
    """output: the file; None for a terminal."""
    units = made.config.units
    if arguments.json or (output and ending_of(output, (".json",))):
        return rows_text({**with_former(candidate_row(candidate, units)), **split_row(made, candidate)} for candidate in candidates)
    if output and ending_of(output, PAGES):
        return page_text(made, candidates, arguments)
    if output and ending_of(output, (".csv",)):
        return candidates_csv(candidates, units, made.models(candidates))
    runs = {candidate.rank: " ".join(candidate.runs_on) or "none" for candidate in candidates if candidate.runs_on is not None}
    text = table(candidates, everything=arguments.all, colour=output is None and sys.stdout.isatty(), runs=runs, units=units,
                 splits={rank: split_cells(model) for rank, model in (made.models(candidates) or {}).items()})
    order = candidates[0].microbatch_order if candidates else None
    devices = candidates[0].device_order if candidates else None
    slow = slow_devices_line(made.timeline(candidates[0])) if candidates and differs(made.config) else ""
    return text + (order_line(order) if order else "") + (device_order_line(devices) if devices else "") + slow + groups_line(made, arguments)


def _drawings(made: Plan, candidates: List[Candidate], paths: Sequence[str]) -> List[Tuple[str, Write]]:
    """Pictures of the best of each strategy, of those that fit."""
    best = [candidate for candidate in best_of_each(candidates) if candidate.fits][:MOST_DRAWN]
    timelines = [made.timeline(candidate) for candidate in best] if paths else []
    return [(path, drawing_together(timelines, path)) for path in paths if timelines]


def _check_files(arguments: argparse.Namespace) -> None:
    check_each_once(arguments.output)
    for path in arguments.output:
        if ending_of(path, (".trace.json",)):
            raise UsageError(f"-o {path}: compare writes no traces; pick -o writes the trace of the best candidate")
        check_answer(path, arguments.json, ENDINGS)


def _write(made: Plan, candidates: List[Candidate], arguments: argparse.Namespace) -> None:
    """Writes all files or none, then prints: beside pictures, or where there are no files."""
    pictures = [path for path in arguments.output if ending_of(path, PICTURES)]
    texts = {path: _compared_text(made, candidates, arguments, path) for path in arguments.output if path not in pictures}
    printed = None if texts and not pictures else _compared_text(made, candidates, arguments, pictures[0] if pictures else None)
    files = [text_file(path, text, not arguments.json and ending_of(path, (".txt",)) is not None) for path, text in texts.items()]
    write_files([*_drawings(made, candidates, pictures), *files])
    if printed is not None:
        print_text(printed)


def run_compare(arguments: argparse.Namespace) -> None:
    check_words(arguments)
    check_page_words(arguments, arguments.output)
    _check_files(arguments)
    values = merged(arguments)
    if arguments.channel_speeds is not None:
        run_speed_sweep(arguments, values)
        return
    made = make_plan(values)
    candidates = made[:] if arguments.runtime is None else of_runtime(made, arguments.runtime)
    _write(made, candidates, arguments)
    if made.best is None:
        raise Error(why_none(made))
    if not arguments.json and (not arguments.output or any(not ending_of(path, (".json", ".csv")) for path in arguments.output)):
        tell_problem(arguments, values)
