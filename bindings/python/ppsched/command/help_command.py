# SPDX-License-Identifier: Apache-2.0
"""The command help, which shows what --help does."""
import argparse
from typing import Optional

from .commands import COMMANDS, Commands
from .completion import SHELLS, completion_of
from .manual import manual_of
from .slips import unknown_command
from .usage import ALL, Parser, UsageError, print_help


def add_commands(commands: Commands) -> None:
    parser = commands.add_parser("help", help=COMMANDS["help"].summary, allow_abbrev=False,
                                 description="Shows the help of ppsched, or of a command. Without the word all, it shows only the main options.")
    parser.add_argument("topic", nargs="?", metavar="COMMAND", help="the command whose help is shown")
    parser.add_argument("length", nargs="?", choices=(ALL,), metavar=ALL, help="show all options of the command")
    parser.add_argument("--man", action="store_true", help="print the help as a man page")
    parser.add_argument("--completion", choices=tuple(SHELLS), help="print a script for this shell, with which it completes the words of ppsched commands")
    parser.set_defaults(run=lambda arguments: _run(arguments, parser))


def _run(arguments: argparse.Namespace, parser: Parser) -> None:
    topic: Optional[str] = arguments.topic
    if arguments.completion is not None:
        if topic is not None or arguments.man:
            raise UsageError("--completion prints one script for all commands; leave out the other words")
        print_help(completion_of(parser.program, arguments.completion))
        return
    if topic is not None and topic not in parser.family:
        raise UsageError(f"unknown command {topic}; {unknown_command(topic, list(parser.family))}")
    shown = parser.program if topic is None else parser.family[topic]
    print_help(manual_of(shown) if arguments.man else shown.help_text(arguments.length == ALL))
