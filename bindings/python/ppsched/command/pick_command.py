# SPDX-License-Identifier: Apache-2.0
"""The command pick: the best schedule as a table, as JSON, as a page, and as the files that schedule writes."""
import argparse
import os
import sys
from typing import Any, Dict, List, Optional, Tuple

from .._core._library import Error
from .._core.candidate import Candidate
from .._core.command_words import OF_CANDIDATES, option_word
from .._core.config import QUANTITIES
from .._core.exporting import FORMAT_NAMES
from .._core.layer_graph import is_layer_graph
from .._core.listener import Progress
from .._core.microbatch_map import TELLS, tell_order
from .._core.plan import Plan
from .._core.progress import ProgressBar
from .._core.runs_on import MOST_TRIED, Runnable, all_run, none_runs, runnable_first
from .._core.units import number_word
from .._core.writing import ending_of, export_stream, stamped, stamped_stream
from . import model_pick
from .answer import Answer
from .chakra_options import CHAKRA, add_chakra_arguments, chakra_fault, write_traces
from .commands import COMMANDS, Commands
from .device_types import types_row
from .export_options import add_export_arguments
from .layer_options import has_layers
from .measured_devices import add_measured_run_argument, factor_lines, factor_rows, with_measured
from .model_config import take_pick_config
from .notices import tell_problem
from .number_options import whole
from .page_options import PAGES, check_page_words
from .pick_files import Files, files_of, write_schedule
from .plan_options import add_plan_problem, check_words, make_plan
from .plan_telling import groups_line, of_runtime, page_text, rows_text, why_none
from .printing import print_stream, print_text
from .problem_values import merged
from .rank_map import is_moved, refusal, with_rank_map
from .text_columns import text_columns, with_width
from .usage import ANSWER, UsageError

MEASURED = "measured times"
SPLIT_EFFORT = 3  # the default of plans


def add_commands(commands: Commands) -> None:
    parser = commands.add_parser("pick", help=COMMANDS["pick"].summary, allow_abbrev=False,
                                 description="Ranks candidates (strategies with their sizes and options) in the same way as compare, but prints only the best "
                                             "candidate that fits the memory limit, or the best N with --top N.")
    parser.first = ("num_devices", "num_stages", "num_batches", "config", "forward_times", "backward_times", "p2p_time", "mem_limit", "model",
                    "runtime", "top", "output")
    parser.examples = ("ppsched pick --devices 8 --microbatches 32 --mem-limit 12",
                       "ppsched pick --devices 8 --microbatches 32 --num-layers 32 --head forward_time=2.4 backward_time=4.8",
                       "ppsched pick --model config.json --device h100 --tp 8 --pp 8 --global-batch 256")
    add_plan_problem(parser, has_pp=True)
    add_measured_run_argument(parser.group(MEASURED), True)
    answer = parser.group(ANSWER)
    answer.add_argument("--top", type=whole, metavar="N", default=1, help="print the best N candidates (default: 1)")
    answer.add_argument("--any", action="store_true", help="rank only by step time. Without --any, candidates that no runtime can run, such "
                                                           "as candidates with offload, come after the others")
    answer.add_argument("--all", action="store_true", help="try all group sizes, even if there are many")
    answer.add_argument("--format", choices=(*FORMAT_NAMES, CHAKRA),
                        help="print or write the schedule itself in this format; chakra writes one trace per rank, to -o PREFIX")
    answer.add_argument("-o", "--output", metavar="FILE", nargs="+", action="extend", default=[],
                        help="write to files. The answer: .json, .txt, or .html for a page with timelines. The best schedule itself: .png, .svg or "
                             ".pdf for a picture, .csv, or .trace.json")
    add_export_arguments(answer)
    add_chakra_arguments(parser.group("--format chakra"))
    model_pick.add_arguments(parser)
    parser.set_defaults(run=run_pick)


def _check_count(arguments: argparse.Namespace, files: Files) -> None:
    if arguments.top < 1:
        raise UsageError(f"--top {arguments.top}: it must be 1 or more")
    if arguments.top > 1 and (files.schedules or arguments.format):
        what = f"-o {files.schedules[0]}" if files.schedules else f"--format {arguments.format}"
        raise UsageError(f"{what} writes one schedule; use --top 1")


# --- the command that builds the schedule again ---

def _path_word(path: str) -> str:
    """The path as a word that is not read as an option."""
    return f"./{path}" if path.startswith("-") else path


def _given_costs(arguments: argparse.Namespace, values: Dict[str, Any]) -> Optional[List[str]]:
    """The user's own options for times and memory. None if the numbers must be written out: because a file cannot be read twice, or
    because options in the config file would apply to another strategy."""
    configs, profiles = [path for path in (arguments.config,) if path is not None], arguments.profile or []
    if values["options"] or values.get("measured_run") is not None or values.get("device_order") is not None or not all(map(os.path.isfile, configs + profiles)):
        return None
    words = [word for path in configs for word in ("-c", _path_word(path))]
    if profiles:
        words += ["--profile", *map(_path_word, profiles), "--statistic", arguments.statistic, "--time-unit", arguments.time_unit]
        words += ["--warmup", str(arguments.warmup)]
    if arguments.device_types is not None:
        words += ["--device-types", *arguments.device_types]
    if arguments.layers is not None:
        words += ["--layers", _path_word(arguments.layers)]
    if arguments.num_layers is not None:
        words += ["--num-layers", str(arguments.num_layers)]
        for name in ("embedding", "head"):
            given = getattr(arguments, name)
            words += ["--" + name, *given] if given is not None else []
    if arguments.windows is not None:
        words += ["--windows", _path_word(arguments.windows)]
    if arguments.host_links is not None:
        words += ["--host-links", arguments.host_links]
    for name in QUANTITIES:
        given = getattr(arguments, name)
        if given is not None and name != OF_CANDIDATES:
            words += [option_word(name), *(word if isinstance(word, str) else number_word(word) for word in given)]
    return words


# --- the command ---

def _best(made: Plan, arguments: argparse.Namespace) -> List[Candidate]:
    if made.best is None:
        raise Error(why_none(made))
    if arguments.runtime is None and (arguments.any or arguments.offload):
        return [candidate for candidate in made[:arguments.top] if candidate.fits]
    with ProgressBar() as bar:
        if arguments.runtime is None:
            return runnable_first(made, arguments.top, bar)
        runnable = Runnable(made, arguments.runtime, bar)
        best = runnable.best(arguments.top)
    if not best:
        raise Error(runnable.why_none())
    return best


def _wanted(arguments: argparse.Namespace, files: Files) -> int:
    """How many of the best the plan is asked for; 0 for all where others are told of, too. With offload candidates may be refused late,
    and their bounds would then count."""
    tells_few = arguments.json or (arguments.format and files.formatted is None)
    has_rows_alone = all(ending_of(path, (".json",)) for path in files.answers)
    return int(arguments.top) if tells_few and has_rows_alone and arguments.runtime is None and not arguments.offload else 0


def _planned(values: Dict[str, Any], arguments: argparse.Namespace, files: Files) -> Tuple[Plan, List[Candidate]]:
    """The plan and the best of it. Candidates that no runtime runs come last, so if there are any among the few that were asked for, as
    many are evaluated as are tried, unless none can run."""
    wanted = _wanted(arguments, files)
    made = make_plan({**values, "wanted": wanted})
    if 0 < wanted < MOST_TRIED and not arguments.any and made.best is not None and not none_runs(made):
        few = [candidate for candidate in made[:wanted] if candidate.fits]
        with ProgressBar() as bar:
            runs = all_run(made, few, bar)
        if not runs and any(candidate.status == "left out" for candidate in made):
            made = make_plan({**values, "wanted": MOST_TRIED, "asks_runtimes": True})
    return made, _best(made, arguments)


def _print_schedule(answer: Answer, arguments: argparse.Namespace) -> None:
    best, columns = answer.best[0], text_columns(arguments.text_columns, None)
    if arguments.format == "text":
        text = answer.timeline(best).export("text", text_columns=columns, time_scale=arguments.time_scale)
        print_text(with_width(text, columns, None))
    else:
        print_stream(export_stream(arguments.format, lambda: answer.timeline(best), lambda: answer.order(best), time_scale=arguments.time_scale))
    if arguments.format not in TELLS:
        tell_order("pick", best.microbatch_order or ())


def _answer_text(answer: Answer, arguments: argparse.Namespace, path: Optional[str], csv: Optional[str]) -> str:
    if path is not None and ending_of(path, PAGES):
        shown = answer.plan[:] if arguments.runtime is None else of_runtime(answer.plan, arguments.runtime)
        return page_text(answer.plan, shown, arguments, csv)
    if arguments.json or (path is not None and ending_of(path, (".json",))):
        names = arguments.type_names
        measured = {"measured": factor_rows(arguments.factors)} if arguments.factors else {}
        return rows_text({**with_rank_map(answer.row(candidate, csv), candidate.device_order, arguments.host_gpus, 1, arguments.data_parallel_size or 1), **(types_row(names, candidate.device_order) if names else {}), **measured}
                         for candidate in answer.best)
    text = "".join(line + "\n" for line in factor_lines(arguments.factors)) + answer.text(path is None and sys.stdout.isatty(), arguments.runtime is not None) + groups_line(answer.plan, arguments)
    return text + "".join(line + "\n" for line in answer.launch(arguments.runtime, csv))


def _own_plan(values: Dict[str, Any], runtime: str, progress: Progress) -> Tuple[Plan, str]:
    """The plan for one runtime, and the reason if nothing fits. It has less split effort, as there are several such plans."""
    effort = max((values.get("split_effort") or SPLIT_EFFORT) - 1, 1) if has_layers(values) else None
    made = make_plan({**values, "runtime": runtime, "split_effort": effort}, progress)
    return made, "" if made.best is not None else why_none(made)


def _moves_devices(arguments: argparse.Namespace) -> bool:
    return bool(arguments.free_device_order) or is_moved(arguments.device_order)


def _take_pipeline(arguments: argparse.Namespace) -> None:
    """--pp without a model is the number of devices."""
    if arguments.pp is None or len(arguments.pp) > 1:
        return
    if arguments.num_devices not in (None, *arguments.pp):
        raise UsageError(f"--pp {arguments.pp[0]}, --devices {arguments.num_devices}: without --model these options have the same meaning; give one of them")
    arguments.num_devices, arguments.pp = arguments.pp[0], None


def run_pick(arguments: argparse.Namespace) -> None:
    take_pick_config(arguments)
    if arguments.model is not None:
        if arguments.measured_run is not None or arguments.measured_split is not None:
            raise UsageError("--measured needs --layers or --num-layers; with --model give --slow-rank RANK:FACTOR or --device-speeds instead")
        model_pick.run_model_pick(arguments)
        return
    _take_pipeline(arguments)
    model_pick.check_goes_alone(arguments)
    files = files_of(arguments)
    _check_count(arguments, files)
    check_page_words(arguments, files.answers)
    fault = chakra_fault({**vars(arguments), "output": files.formatted}, arguments.format)
    if fault:
        raise UsageError(fault)
    check_words(arguments)
    reason = refusal(arguments.runtime) if arguments.runtime is not None and _moves_devices(arguments) else None
    if reason is not None:
        raise UsageError(reason)
    values = with_measured(merged(arguments))
    arguments.type_names, arguments.factors = values.get("type_names"), values.pop("measured_factors", [])
    if is_layer_graph(values.get("layers")):
        from .layer_graph_pick import pick_layer_graph  # takes long to load
        pick_layer_graph(arguments, values)
        return
    values["asks_runtimes"] = not arguments.json and (not arguments.format or files.formatted is not None)
    made, best = _planned(values, arguments, files)
    answer = Answer(made, best, _given_costs(arguments, values),
                    (arguments.micro_batch_size, arguments.data_parallel_size),
                    plan_for=lambda name, progress: _own_plan(values, name, progress), host_gpus=arguments.host_gpus)
    paths: List[Optional[str]] = [*files.answers] if arguments.format and files.formatted is None else [None, *files.answers]
    texts = [(path, _answer_text(answer, arguments, path, files.csv)) for path in paths]  # before anything is written
    for path in files.schedules:
        write_schedule(answer, path, None, arguments.time_scale)
    if arguments.format == CHAKRA:
        write_traces(answer.timeline(answer.best[0]), {**vars(arguments), "output": files.formatted})
        tell_order("pick", answer.best[0].microbatch_order or ())
    elif files.formatted is not None:
        write_schedule(answer, files.formatted, arguments.format, arguments.time_scale)
    elif arguments.format is not None:
        _print_schedule(answer, arguments)
    for answer_path, text in texts:
        is_text = answer_path is not None and not arguments.json and ending_of(answer_path, (".txt",))
        print_text(stamped(text, "text") if is_text else text, answer_path)
    if not arguments.json and not arguments.format:
        tell_problem(arguments, values)
