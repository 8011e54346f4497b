# SPDX-License-Identifier: Apache-2.0
"""The command help, which shows what --help does."""
import argparse
from typing import Optional

from .._core.words import nearest
from .problem_options import Commands
from .usage import ALL, Parser, UsageError, print_help

EXAMPLES = ("ppsched pick --devices 8 --microbatches 32 --mem-limit 12             # which schedule",
            "ppsched schedule --strategy zb_auto --devices 8 --microbatches 16     # one schedule",
            "ppsched live -o live.html                                             # the page")


def add_commands(commands: Commands) -> None:
    parser = commands.add_parser("help", help="this help, or that of a command", allow_abbrev=False,
                                 description="Shows the help of ppsched, or of a command: its main options, or with the word all every one.")
    parser.add_argument("topic", nargs="?", metavar="COMMAND", help="the command")
    parser.add_argument("length", nargs="?", choices=(ALL,), metavar=ALL, help="all its options")
    parser.set_defaults(run=lambda arguments: _run(arguments, parser))


def _run(arguments: argparse.Namespace, parser: Parser) -> None:
    topic: Optional[str] = arguments.topic
    if topic is not None and topic not in parser.family:
        raise UsageError(f"unknown command {topic}; {nearest(topic, parser.family) or 'known are ' + ', '.join(parser.family)}")
    shown = parser.program if topic is None else parser.family[topic]
    print_help(shown.help_text(arguments.length == ALL))
