# SPDX-License-Identifier: Apache-2.0
"""The command live, which makes the live page or opens it in a browser, and links to it."""
import argparse
import os
import pathlib
import tempfile
import webbrowser
from typing import Any, Dict

from ._library import Error
from .cli import Commands, Values, add_problem_arguments, make_config, merged, print_text
from .keeping import keeping_words, link_hosts, take_recomputed_chunks
from .live import link_of, live_html
from .output import write_text
from .size_options import add_size_arguments, resized
from .strategy import find_strategy
from .usage import UsageError


def add_commands(commands: Commands) -> None:
    parser = commands.add_parser(
        "live", help="the whole library as a web page: turn the knobs", allow_abbrev=False,
        description="Opens a page in the browser that computes everything itself, with the problem that is given; or writes it to a file.")
    parser.add_argument("--strategy", help="name or alias; see ppsched strategies (default: 1f1b)")
    add_problem_arguments(parser)
    add_size_arguments(parser)
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], dest="settings", help="set an option of the strategy")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the page to this .html file, and open nothing")
    parser.set_defaults(run=run_live)


def link_to(values: Values, page: str) -> str:
    """The page with the problem of merged values."""
    config = resized(make_config(values), {**values, "layers": None, "num_layers": None})
    link_hosts(config, values)
    keeping = dict(values)
    take_recomputed_chunks(keeping)
    return link_of(config, find_strategy(values.get("strategy") or "1f1b").name, page, keeping_words(keeping))


def _has_problem(arguments: argparse.Namespace) -> bool:
    return any(getattr(arguments, name) is not None for name in ("config", "num_stages", "num_devices", "num_batches"))


def run_live(arguments: argparse.Namespace) -> None:
    values: Dict[str, Any] = merged(arguments) if _has_problem(arguments) else {"output": arguments.output}
    path = values.get("output")
    if path is not None and not path.endswith((".html", ".htm")):
        raise UsageError(f"-o {path}: the page is a file of HTML; give a name that ends with .html")
    text = live_html()
    file = path or os.path.join(tempfile.mkdtemp(prefix="ppsched-"), "ppsched.html")
    write_text(file, text)
    link = link_to(values, pathlib.Path(file).resolve().as_uri()) if _has_problem(arguments) else pathlib.Path(file).resolve().as_uri()
    if path is None and not webbrowser.open(link):
        raise Error(f"no browser could be started; the page is {file}")
    print_text(f"{link}\n")
