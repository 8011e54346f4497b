# SPDX-License-Identifier: Apache-2.0
"""The command live, which makes the live page, opens it in a browser, and makes links to it."""
import argparse
import os
import pathlib
import re
from typing import Any, Dict, List

from .._core._library import Error, call, lib
from .._core.command_words import option_word
from .._core.config import QUANTITIES, Config
from .._core.output import write_text
from .._core.shown import printable
from .._core.strategy import find_strategy, is_strategy
from ..page.live import link_of, live_html
from .commands import COMMANDS, Commands
from .layer_options import add_split_arguments
from .memory_saving_options import add_memory_saving_arguments, memory_saving_words, link_hosts, take_recomputed_chunks
from .number_options import whole
from .printing import print_text
from .problem_options import add_problem_arguments
from .problem_values import Values, merged, problem_of
from .size_options import add_size_arguments
from .split_finding import found_split
from .usage import KEPT, LAYERS, MICROBATCHES, OneFile, UsageError


LESSONS = ("gpipe", "1f1b", "eager_1f1b", "interleaved_1f1b", "zb_h1", "zbv", "dualpipe_v")  # as in lessons.js


def _lesson(word: str) -> str:
    """The name of a lesson from its number, its name or an alias; an unknown word stays."""
    if re.fullmatch("[1-9]", word) and int(word) <= len(LESSONS):
        return LESSONS[int(word) - 1]
    return find_strategy(word).name if is_strategy(word) else word


def add_commands(commands: Commands) -> None:
    parser = commands.add_parser(
        "live", help=COMMANDS["live"].summary, allow_abbrev=False,
        description="Opens a web page with the given problem, or writes the page to a file. The page computes everything in the browser.")
    parser.add_argument("--strategy", help="name or alias; see ppsched strategies (default: 1f1b)")
    add_problem_arguments(parser)
    parser.first = ("strategy", "num_devices", "num_stages", "num_batches", "config", "forward_times", "backward_times", "p2p_time", "mem_limit",
                    "lesson", "output")
    parser.examples = ("ppsched live                                              # opens the page in a browser",
                       "ppsched live -o live.html                                 # writes it, one file",
                       "ppsched live --strategy zb_auto --devices 8 --microbatches 16")
    parser.group(MICROBATCHES).add_argument("--slices", type=whole, metavar="K", help="number of slices into which the sequences of each microbatch are cut (default: 1)")
    add_size_arguments(parser.group(LAYERS))
    add_memory_saving_arguments(parser.group(KEPT))
    add_split_arguments(parser.group(LAYERS))
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="settings", help="set an option of the strategy; ppsched strategies lists them")
    parser.add_argument("--beside", metavar="NAME[:V]", nargs="+", action="extend",
                        help="also draw these strategies, at most three, below the first one, with V stages per device. The controls of the page "
                             "change them, too, and the address of the page contains them")
    parser.add_argument("--lesson", metavar="NAME", type=_lesson, choices=LESSONS,
                        help=f"open this lesson of the page, in which a learner places ops: {', '.join(LESSONS)}, or its number, 1 to {len(LESSONS)}")
    parser.add_argument("-o", "--output", action=OneFile, metavar="FILE", help="write the page to this .html file instead of opening it")
    parser.set_defaults(run=lambda arguments: run_live(arguments, _has_problem(arguments, parser)))


# Options whose values a link contains, or which change those; other options are refused with --page-url.
_TOLD = {"command", "run", "words", "config", "settings", "job", "job_keys", "config_values", "page_url", "page_url_base", "output",
         "strategy", "beside", "lesson", "num_stages", "num_devices", "num_batches", "iterations", "placement", "split_backward", "forward_only", "sender_waits", "weight_versions",
         "profile", "statistic", "time_unit", "warmup", "slices", "chunks", "microbatch_count", "embedding", "head", "offload", "host_links",
         "layers", "num_layers", "empty_stages", "split_effort", "split", "recompute",
         *QUANTITIES}

_PLAIN = {"data_parallel_size": 1}  # values without effect


def _check_told(arguments: argparse.Namespace, values: Values) -> None:
    """Refuses options, given here or in the config file, that a link cannot contain."""
    given = {**vars(arguments), **{name: value for name, value in values.items() if value is not None}}
    lost = [name for name in vars(arguments) if name not in _TOLD and given[name] and given[name] != _PLAIN.get(name)]
    if lost:
        raise UsageError(f"{option_word(lost[0])}: a link contains only a problem with stages and its strategy; leave this option out")


def _check_problem(config: Config, strategy: str) -> None:
    """The checks that a schedule needs before it is built."""
    if config._graph or any(isinstance(devices, list) for devices in config._map or []):
        raise Error("the page supports only chains of stages with one device each, not stage graphs; schedule -o FILE.svg draws a stage graph")
    config.validate()
    call(lib.ppsched_strategy_fits, strategy.encode(), config._handle)


def link_to(arguments: argparse.Namespace, values: Values, page: str) -> str:
    """A link to the page with the problem of merged values. For layers it contains the costs of the stages of their split."""
    told = dict(values)
    take_recomputed_chunks(told)
    _check_told(arguments, told)
    told["model"] = found_split(told)
    config = problem_of(told)
    link_hosts(config, told)
    strategy = find_strategy(told.get("strategy") or "1f1b").name
    _check_problem(config, strategy)
    kept = memory_saving_words(told)
    if len(kept) > 1:
        raise UsageError("--recompute chunks=N and --offload: the page recomputes or offloads, not both; leave one out")
    return link_of(config, strategy, page, kept, _beside(told.get("beside") or [], config))


MOST_BESIDE = 3  # as in problem.js


def _beside(words: List[str], config: Config) -> List[str]:
    """The strategies of --beside by their names, each with a stage count that it supports."""
    words = [name for word in words for name in word.split(",")]
    if len(words) > MOST_BESIDE:
        raise UsageError(f"--beside has {len(words)} strategies; it may have at most {MOST_BESIDE}")
    found: List[str] = []
    for word in words:
        name, separator, chunks = word.partition(":")
        if separator and not re.fullmatch("[1-9][0-9]{0,4}", chunks):
            raise UsageError(f"--beside {printable(word)}: it must be a strategy, with or without its stages per device, such as interleaved_1f1b:4")
        strategy = find_strategy(name)
        if separator:
            other = config.with_stages(int(chunks) * config.devices)
            call(lib.ppsched_strategy_fits, strategy.name.encode(), other._handle)
        found.append(f"{strategy.name}{separator}{chunks}")
    return found


def print_link(arguments: argparse.Namespace, values: Values) -> None:
    """schedule --page-url."""
    if not arguments.page_url:
        raise UsageError("--page-url-base needs --page-url")
    if values.get("output") is not None:
        raise UsageError("--page-url prints an address; it cannot be combined with --output")
    base = arguments.page_url_base or "ppsched.html"
    if "#" in base or not printable(base) == base:
        raise UsageError(f"--page-url-base {printable(base)}: it must be the address of the page, without #")
    print_text(link_to(arguments, values, base) + "\n")


def _has_problem(arguments: argparse.Namespace, parser: argparse.ArgumentParser) -> bool:
    """Whether any option was given besides --output and --lesson."""
    return any(value not in (None, parser.get_default(name)) for name, value in vars(arguments).items()
               if name not in ("command", "run", "words", "output", "lesson", "job_keys", "config_values"))


def run_live(arguments: argparse.Namespace, has_problem: bool) -> None:
    values: Dict[str, Any] = merged(arguments) if has_problem else {"output": arguments.output}
    path = values.get("output")
    if path is not None and not path.endswith((".html", ".htm")):
        raise UsageError(f"-o {path}: the page is an HTML file; give a name that ends with .html")
    link = link_to(arguments, values, "") if has_problem else ""
    if arguments.lesson is not None:
        link += f"{'&' if link else '#'}lesson={arguments.lesson}"
    text = live_html()
    if path is not None:
        write_text(path, text)
        print_text(f"{pathlib.Path(path).resolve().as_uri()}{link}\n")
        return
    import tempfile  # slow to load for commands that open nothing
    import webbrowser  # slow, too
    file = os.path.join(tempfile.mkdtemp(prefix="ppsched-"), "ppsched.html")
    write_text(file, text)
    link = pathlib.Path(file).resolve().as_uri() + link
    if not webbrowser.open(link):
        raise Error(f"no browser could be started; the page is {file}")
    print_text(f"{link}\n")
