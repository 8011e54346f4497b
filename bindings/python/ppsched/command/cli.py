# SPDX-License-Identifier: Apache-2.0
"""The ppsched command."""
import json
import sys
from typing import List, Optional, Sequence, Union

from .._core._library import Error, decoded, lib
from .._start import INTERRUPTED, Interruptible
from . import (calibrate_command, compare_command, file_commands, help_command, layout_commands, live_command, model_command,
               pair_command, pick_command, price_command, printing, schedule_command, strategies_command)
from .printing import drop_output, print_text, tell
from .transfer_report import error_row
from .usage import Parser, UsageError

MOST_LETTERS = 1000  # of a message


def make_parser() -> Parser:
    parser = Parser(prog="ppsched", description="Pipeline-parallel schedules: generate, evaluate, draw.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"ppsched {decoded(lib.ppsched_version_text())}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    strategies_command.add_commands(commands)
    schedule_command.add_commands(commands)
    compare_command.add_commands(commands)
    pick_command.add_commands(commands)
    file_commands.add_commands(commands)
    layout_commands.add_commands(commands)
    model_command.add_commands(commands)
    pair_command.add_commands(commands)
    price_command.add_commands(commands)
    calibrate_command.add_commands(commands)
    live_command.add_commands(commands)
    help_command.add_commands(commands)
    parser.examples = help_command.EXAMPLES
    parser.join(commands.choices)
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


def main(words: Optional[Sequence[str]] = None) -> int:
    """Runs the command; returns its exit code: 0, 1 (refused or invalid), 2 (usage) or 130 (Ctrl-C)."""
    command = ["-"]
    try:
        with Interruptible():
            return _run(words, command)
    except KeyboardInterrupt:
        _fail(command[-1], "interrupted")
        return INTERRUPTED


def _run(words: Optional[Sequence[str]], command: List[str]) -> int:
    """Runs the command, and appends its name to `command` once it is known."""
    if sys.stdout is None:
        return _fail(command[-1], "standard output is closed")
    printing.printed = False
    typed = list(sys.argv[1:] if words is None else words)
    try:
        arguments = make_parser().parse_args(typed or ["help"])
        arguments.words = typed
        command.append(arguments.command)
        arguments.run(arguments)
        sys.stdout.flush()
    except SystemExit as error:  # of the parser
        return _finish(int(error.code or 0))
    except BrokenPipeError:
        drop_output()
    except MemoryError:
        return _fail(command[-1], "out of memory")
    except (Error, OSError, ValueError) as error:
        if isinstance(error, OSError):
            drop_output()
        elif "--json" in typed and not printing.printed:
            print_text(json.dumps({"error": error_row(error)}) + "\n")
        return _finish(_fail(command[-1], error))
    return 0
