# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for the page of compare and pick: its title, and which timelines it shows."""
import argparse
import re
import shlex
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional

from .._core.plan import Plan
from .._core.shown import shown
from .._core.writing import PAGES as PAGES, ending_of
from ..page.report_choice import ALL, Timelines, baseline_of
from .usage import UsageError

if TYPE_CHECKING:
    from ..page.report_timeline import Variation

_WORDS = ("title", "baseline", "timelines", "live")


def add_page_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    parser.add_argument("--baseline", metavar="NAME[:V]",
                        help="the strategy that you use today, if needed with its number V of stages per device (default: 1f1b). The page shows the "
                             "timeline of this strategy next to the timeline of the best candidate")
    parser.add_argument("--timelines", nargs="+", metavar="N",
                        help="which timelines the page shows. N: the best candidate of each of N strategies (default: 8); names of strategies; or all")
    parser.add_argument("--live", action="store_const", const=True,
                        help="include the library in the page, so that the page can rank candidates again with other limits and times")


def _timelines(words: Optional[List[str]]) -> Optional[Timelines]:
    if words is None:
        return None
    if len(words) == 1 and words[0] == ALL:
        return ALL
    if len(words) == 1 and re.fullmatch("-*[0-9]+", words[0]):
        if not re.fullmatch("0*[1-9][0-9]{0,99}", words[0]):
            raise UsageError(f"--timelines {shown(words[0])[1:-1]}: it must be 1 or more, all, or names of strategies")
        return int(words[0])
    return words


def check_page_words(arguments: argparse.Namespace, paths: Iterable[Optional[str]]) -> None:
    """Refuses these options without a page."""
    given = [name for name in _WORDS if getattr(arguments, name) is not None]
    if given and not any(path is not None and ending_of(path, PAGES) for path in paths):
        raise UsageError(f"--{given[0].replace('_', '-')} needs a page; give -o with a file that ends in .html")
    _timelines(arguments.timelines)
    baseline_of(arguments.baseline)
    if arguments.live:
        from ..page.live_files import check_library  # takes long to load
        check_library()


def _profile(arguments: argparse.Namespace) -> Optional[Dict[str, Any]]:
    if not arguments.profile:
        return None
    return {"files": list(arguments.profile), "statistic": arguments.statistic, "time_unit": arguments.time_unit, "warmup": arguments.warmup}


def _variation(arguments: argparse.Namespace, made: Plan) -> "Optional[Variation]":
    if made._varying and arguments.lower is not None:
        raise UsageError("--jitter and --slow-rank cannot be combined with --lower")
    from ..page.report_timeline import Variation  # takes long to load
    return Variation(**made._varying) if made._varying else None


def page_words(arguments: argparse.Namespace, made: Plan) -> Dict[str, Any]:
    """The arguments of report_data from these options, and the command line."""
    return {"title": arguments.title, "baseline": arguments.baseline, "timelines": _timelines(arguments.timelines), "live": bool(arguments.live),
            "command": shlex.join(["ppsched", *arguments.words]), "profile": _profile(arguments),
            "variation": _variation(arguments, made)}
