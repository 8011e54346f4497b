# SPDX-License-Identifier: Apache-2.0
"""The command pick --model with --gpus: the layouts that are fastest on a number of devices."""
import argparse
import contextlib
import sys
import warnings
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence

from .._core._library import Error
from .._core.layout_search import JobWords, Ranked, Search, search_layouts
from .._core.plan_layouts import LayoutRows, limits_of, rows_of, training_of_layout
from .._core.job import Job, JobType
from .._core.model import Model
from .._core.price import RANK_ORDERS
from .._core.progress import ProgressBar
from .._core.text_table import Column, laid_out
from .._core.words import counted
from .._core.writing import ending_of, stamped
from .._core.accelerators import Accelerator
from ..readers.model_files import ModelFile
from .estimate_errors import estimate_line, estimate_row
from .gpus_files import files_table, write_folder
from .gpus_options import cost_of_hour, folders_of, overlap_words, words_of
from .memory_margin import limit_line, margin_of
from .model_estimate import GIB
from .plan_telling import rows_text
from .printing import print_text, tell
from .step_errors import error_of
from .usage import UsageError

MOST_JOBS, USUAL_TOP = 1024, 10
FORKS = sys.platform == "linux"  # elsewhere a fork is not safe, or there is none
OVERLAP_WORDS = {"grad": "sums of gradients", "param": "gathers of weights", "tp": "tensor parallelism", "cp": "context parallelism",
                 "ep": "exchanges of experts"}
NAMES = ("tp", "cp", "ep", "etp", "pp", "dp", "chunks", "micro_batch", "zero")


class _Bar:
    """A bar that counts layouts: "layout 3 of 20", with the best step so far."""

    def __init__(self, bar: ProgressBar) -> None:
        self._bar, self._layouts = bar, 0

    def tell(self, job: Job) -> None:
        self._layouts = len(job)

    def __call__(self, share: float, best: float) -> None:
        self._bar.show(f"layout {round(share * self._layouts)} of {self._layouts}", share, best)


@contextlib.contextmanager
def _executor(jobs: Optional[int]) -> Iterator[Any]:
    """Processes that price layouts; None for one."""
    if jobs is not None and not 1 <= jobs <= MOST_JOBS:
        raise UsageError(f"--jobs {jobs}: it must be 1 to {MOST_JOBS}")
    if jobs is None or jobs == 1:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor  # it takes long to load
    from multiprocessing import get_context  # it takes long to load
    with ProcessPoolExecutor(jobs, mp_context=get_context("fork" if FORKS else "spawn")) as executor:
        yield executor


# --- what is told ---

def _model(words: JobWords, row: Ranked, file: ModelFile) -> Model:
    return Model(file.description, training_of_layout(words, row), words.device, words.table)


def _time_word(seconds: float) -> str:
    return f"{seconds:.3f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def cost_per_million(row: Mapping[str, Any], hour: float) -> float:
    """Cost of a million tokens."""
    layout, step = row["layout"], row["step"]
    return float(hour / 3600 * layout["gpus"] * 1e6 / step["tokens_per_second"])


def _recompute_word(row: Mapping[str, Any]) -> str:
    if row["recompute"] is None:
        return "none"
    return f"{row['recompute']} {row['recompute_layers']}" if row["recompute_layers"] else str(row["recompute"])


# Columns that go beneath each row where there is no room, the last first.
BENEATH = ("MFU", "micro batch", "batch", "zero", "recompute", "types", "rank order", "cp", "ep", "etp", "runs on")


def _table(rows: LayoutRows, hour: Optional[float]) -> str:
    has_batches = len({row["layout"]["global_batch"] for row in rows}) > 1
    batch, cost = (["batch"] if has_batches else []), (["cost/Mtoken"] if hour is not None else [])
    types = ["types"] if any("device_types" in row["layout"] for row in rows) else []
    has_orders = any(row["layout"]["rank_order"] != RANK_ORDERS[0] for row in rows)
    lines = [["place", "tp", "cp", "ep", "etp", "pp", "dp", "V", "micro batch", *batch, "zero", *types, *(["rank order"] if has_orders else []), "schedule", "recompute", "step", "tokens/s", "MFU", *cost,
              "GiB", "runs on"]]
    for number, row in enumerate(rows):
        layout, step = row["layout"], row["step"]
        lines.append([str(number + 1), *(str(layout[name]) for name in NAMES[:-1]), *([str(layout["global_batch"])] if has_batches else []),
                      "fsdp" if layout["fsdp"] else str(layout["zero"]), *([",".join(dict.fromkeys(layout["device_types"]))] if types else []), *([layout["rank_order"]] if has_orders else []), row["strategy"], _recompute_word(row), _time_word(step["step_time"]),
                      f"{step['tokens_per_second']:,.0f}", f"{step['mfu']:.1%}",
                      *([f"{cost_per_million(row, hour):.4g}"] if hour is not None else []),
                      f"{row['peak_memory'] / GIB:.1f}{'*' if row['memory_near_limit'] else ''}", " ".join(row["runnable_on"]) or "none"])
    found = [Column(heading, cells, left=heading == "runs on", leaves=1 + BENEATH.index(heading) if heading in BENEATH else 0)
             for heading, *cells in zip(*lines)]
    return "".join(line + "\n" for line in laid_out(found, len(BENEATH)))


def _margin(rows: LayoutRows, model: Model) -> List[str]:
    """By how much the costs of the second must be wrong for it to win."""
    if len(rows) < 2:
        return []
    first, second = rows[0]["step"], rows[1]["step"]
    ratio = second["tokens_per_second"] / first["tokens_per_second"]
    _, errors = error_of(model)
    known = f"; the median error of estimated step times is {errors['median']:.1%}" if errors["median"] is not None else ""
    if rows[0]["runnable"] and not rows[1]["runnable"] and ratio > 1:
        return ["the second layout is faster, but no runtime can run it"]
    if f"{1 - ratio:.2%}" in ("0.00%", "-0.00%") or ratio > 1:
        return [f"the second layout takes as long as the first{known}"]
    return [f"assuming that the first layout takes its estimated time, the second layout is faster if its real step time is more than "
            f"{1 - ratio:.2%} below its estimate{known}"]


def _why(rows: LayoutRows) -> List[str]:
    """Whether a pipeline pays."""
    best = rows[0]
    if best["layout"]["pp"] > 1:
        return []
    what = "FSDP" if best["fsdp"] else "tensor parallelism" if best["layout"]["tp"] > 1 else "data parallelism"
    piped = next((row for row in rows if row["layout"]["pp"] > 1), None)
    if piped is None:
        return [f"no pipeline: {what} alone is the fastest; none of the {len(rows)} best layouts has a pipeline"]
    more = piped["step"]["exposed_pipeline_time"] - best["step"]["exposed_pipeline_time"]
    loss = best["step"]["tokens_per_second"] / piped["step"]["tokens_per_second"] - 1
    return [f"no pipeline: {what} alone is the fastest; the best layout with a pipeline (pp {piped['layout']['pp']}) is {loss:.2%} slower, and its "
            f"devices wait {_time_word(max(more, 0.0))} longer in the pipeline"]


def _within(row: Mapping[str, Any], device: Accelerator) -> List[str]:
    """Which dimensions of the best layout stay in a node."""
    places = {"node": "in a node", "pod": "in a pod", "job": "across pods" if device.pod_nodes else "across nodes"}
    told = {word: ", ".join(f"{name} {row['layout'][name]}" for name, place in row["within"].items() if place == where)
            for where, word in places.items()}
    return ["; ".join(f"{word}: {names}" for word, names in told.items() if names)] if row["within"] else []


def _types(row: Mapping[str, Any], words: JobWords) -> List[str]:
    """Which devices of the best layout's pipeline, and which ranks, are of which type."""
    told, first = [], 0
    devices = row["layout"].get("device_types", [])
    each = row["layout"]["gpus"] // row["layout"]["pp"]
    for name in dict.fromkeys(devices):
        last = first + devices.count(name)
        places = f"device {first}" if last == first + 1 else f"devices {first} to {last - 1}"
        told.append(f"{name} has {places} of the pipeline (ranks {first * each} to {last * each - 1})")
        first = last
    return ["; ".join(told)] if told else []


def _notes(rows: LayoutRows, words: JobWords, arguments: argparse.Namespace, model: Model) -> List[str]:
    hidden = [OVERLAP_WORDS[name] for name in overlap_words(arguments)]
    batch = rows[0]["layout"]["global_batch"]
    seq = words.training.sequence_length
    lines = _margin(rows, model) + _why(rows) + _types(rows[0], words) + _within(rows[0], words.device)
    if "global_batch" not in dict(words.fixed):
        lines.append(f"batch: {counted(batch, 'sequence')} of {seq} tokens (about 4 Mi tokens, rounded up), because --global-batch is not given")
    lines.append(f"overlapped, as recipes do (--overlap): {', '.join(hidden)}" if hidden else "overlapped: nothing (--overlap none)")
    margin = margin_of(arguments)
    lines.append(limit_line(margin, rows[0]["memory_limit"] + margin) if not words.types else "limit: " + ", ".join(
        f"{limit / GIB:.1f} GiB of {one.device.name}" for one, limit in zip(words.types, limits_of(words))))
    if any(row["memory_near_limit"] for row in rows):
        lines.append("* so close to the limit that the known error of the memory estimate may decide" + ("" if words.types else f", {rows[0]['memory_limit'] / GIB:.1f} GiB"))
    counts = rows.counts
    lines.append(f"{counted(counts['layouts'], 'layout')}: {counts['over_limit']} ruled out by a lower bound on their memory, "
                 f"{counts['slower']} ruled out by a lower bound on their time, {counts['priced']} estimated")
    return [*lines, *model.table_notes(), *estimate_line(vars(arguments), model).split("\n")]


def _nearest_words(rows: LayoutRows) -> str:
    """The layouts that lack least."""
    told = []
    nearest: List[Dict[str, Any]] = rows.nearest
    for row in nearest:
        layout = row["layout"]
        sizes = ", ".join(f"{name.replace('_', ' ')} {layout[name]}" for name in NAMES if name != "chunks" or layout["chunks"] > 1)
        told.append(f"{sizes} lacks {max(row['lacks'], 0.0) / GIB:.2f} GiB of memory")
    return "; ".join(told)


def _no_row(rows: LayoutRows, words: JobWords) -> Error:
    if not rows.nearest:
        return Error(f"no layout of {counted(words.gpus, 'device')} can be run"
                     + (f" by {words.runtime}; leave out --runtime" if words.runtime else "; give other --strategies"))
    first: Dict[str, Any] = rows.nearest[0]
    where = "the devices" if words.types else f"{first['memory_limit'] / GIB:.1f} GiB of a device"
    return Error(f"no layout fits in {where}; nearest: {_nearest_words(rows)}")


# --- the command ---

def _json(rows: LayoutRows, words: JobWords, arguments: argparse.Namespace, hour: Optional[float], file: ModelFile) -> str:
    overlapped, best = overlap_words(arguments), rows.search.best
    estimate = estimate_row(vars(arguments), _model(words, best[0], file)) if best else {}  # the same with each layout

    def whole(row: Dict[str, Any]) -> Dict[str, Any]:
        cost = {} if hour is None else {"cost_per_million_tokens": cost_per_million(row, hour)}
        return {**row, **cost, "memory_margin": margin_of(arguments), "overlapped": overlapped, "counts": rows.counts, **estimate}

    return rows_text(whole(row) for row in rows)


def _search(words: JobWords, arguments: argparse.Namespace) -> Search:
    top = USUAL_TOP if arguments.top == 1 and "--top" not in arguments.words else arguments.top
    if top < 1:
        raise UsageError(f"--top {top}: it must be 1 or more")
    with _executor(arguments.jobs) as executor, warnings.catch_warnings(), ProgressBar() as bar:
        warnings.showwarning = lambda message, *_, **__: tell(arguments.command, f"warning: {message}")
        told = _Bar(bar)
        return search_layouts(words, top, executor, told, told.tell, FORKS)


def run_gpus_pick(file: ModelFile, options: Mapping[str, Any], values: Mapping[str, Any], arguments: argparse.Namespace,
                  device: Accelerator, types: Sequence[JobType] = ()) -> None:
    hour = cost_of_hour(arguments, device)
    words = words_of(file, options, values, arguments, device, types)
    rows = rows_of(words, _search(words, arguments))
    if not rows:
        raise _no_row(rows, words)
    folders, files = folders_of(arguments)
    model = _model(words, rows.search.best[0], file)
    table = files_table(words, rows.search.best[0], rows[0], folders)
    text = _table(rows, hour) + "".join(line + "\n" for line in _notes(rows, words, arguments, model)) + "\n" + table.text
    for folder in folders:
        write_folder(folder, table)
    paths: List[Optional[str]] = [*files] or ([] if folders and arguments.json else [None])
    for path in paths:
        is_json = arguments.json or (path is not None and ending_of(path, (".json",)) is not None)
        shown = _json(rows, words, arguments, hour, file) if is_json else text
        print_text(stamped(shown, "text") if path is not None and not is_json else shown, path)
    if folders and arguments.json and not files:
        print_text(_json(rows, words, arguments, hour, file))
