# SPDX-License-Identifier: Apache-2.0
"""Reads the words of the ppsched command, and runs what they name."""
import importlib
import json
import sys
from typing import Any, Dict, Iterable, List, Sequence, Union

from .._core._library import Error, decoded, lib
from .._start import INTERRUPTED, Interruptible, Start, drop_output
from . import printing
from .commands import COMMANDS, EXAMPLES
from .printing import error_row, print_text, tell
from .usage import Parser, Refused, UsageError

MOST_LETTERS = 1000  # of a message


def _asked(words: Sequence[str]) -> Iterable[str]:
    """The commands that the words may run: the one they begin with, or all where it is not clear."""
    if words and words[0] in COMMANDS and words[0] != "help":
        return words[:1]
    return () if words and COMMANDS.keys().isdisjoint(words) else COMMANDS


def _modules(asked: Iterable[str]) -> Dict[str, Any]:
    """Those that have the commands, imported."""
    return {module: importlib.import_module("." + module, __package__) for module in dict.fromkeys(COMMANDS[name].module for name in asked)}


def parser_of(asked: Iterable[str] = COMMANDS) -> Parser:
    """Knows all commands by name, and the options of those that are asked for."""
    parser = Parser(prog="ppsched", description="Generates, evaluates and draws pipeline-parallel schedules.", allow_abbrev=False)
    parser.add_argument("-v", "--version", action="version", help="print the version", version=f"ppsched {decoded(lib.ppsched_version_text())}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules = _modules(asked)
    for name, command in COMMANDS.items():
        if command.module not in modules:
            commands.add_parser(name, help=command.summary, add_help=False)
    for module in modules.values():
        module.add_commands(commands)
    parser.examples = EXAMPLES
    parser.join(commands.choices, lambda: parser_of().family)
    return parser


def _fail(command: str, error: Union[BaseException, str]) -> int:
    text = " ".join(str(error).split()) or type(error).__name__
    tell(command, text if len(text) <= MOST_LETTERS else text[:MOST_LETTERS] + "...")
    return 2 if isinstance(error, UsageError) else 1


def _finish(code: int) -> int:
    """Flushes standard output. If that fails, the exit code of the command stays."""
    try:
        sys.stdout.flush()
    except OSError:
        drop_output()
    return code


def run(words: List[str]) -> int:
    """Runs the words as they were typed; returns the exit code: 0, 1 (refused or invalid), 2 (usage) or 130 (Ctrl-C)."""
    command = ["-"]
    asked = _asked(words)
    with Start():
        _modules(asked)
    try:
        with Interruptible():
            return _run(words, asked, command)
    except KeyboardInterrupt:
        _fail(command[-1], "interrupted")
        return INTERRUPTED


def _run(words: List[str], asked: Iterable[str], command: List[str]) -> int:
    """Runs the command, and appends its name to `command` once it is known."""
    if sys.stdout is None:
        return _fail(command[-1], "standard output is closed")
    printing.printed = False
    try:
        arguments = parser_of(asked).parse_args(words or ["help"])
        arguments.words = words
        command.append(arguments.command)
        arguments.run(arguments)
        sys.stdout.flush()
    except SystemExit as error:  # of the parser
        if isinstance(error, Refused) and "--json" in words:
            print_text(json.dumps({"error": error_row(UsageError(error.message))}) + "\n")
        return _finish(int(error.code or 0))
    except BrokenPipeError:
        drop_output()
    except MemoryError:
        return _fail(command[-1], "out of memory")
    except (Error, OSError, ValueError) as error:
        if isinstance(error, OSError):
            drop_output()
        elif "--json" in words and not printing.printed:
            print_text(json.dumps({"error": error_row(error)}) + "\n")
        return _finish(_fail(command[-1], error))
    return 0
