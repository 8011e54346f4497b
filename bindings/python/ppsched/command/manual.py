# SPDX-License-Identifier: Apache-2.0
"""Man pages of the program and of its commands, made from their parsers."""
import argparse
from typing import Dict, Iterator, List

from .._core._library import decoded, lib
from .slips import ALIASES
from .usage import Parser

_CODES = (("0", "done"), ("1", "refused or invalid; the reason is one line on standard error"), ("2", "wrong usage; the line names what was meant"),
          ("130", "interrupted"))


def _escaped(text: str) -> str:
    """Of one line."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def commands_of(program: Parser) -> Dict[str, str]:
    """What each command is for, in a few words."""
    assert program._subparsers is not None
    (choices,) = program._subparsers._group_actions
    assert isinstance(choices, argparse._SubParsersAction)
    return {action.dest: action.help or "" for action in choices._choices_actions}


def names_of_option(action: argparse.Action) -> List[str]:
    """Without the other names that stay."""
    return [name for name in action.option_strings if name not in ALIASES]


def help_of(parser: Parser, action: argparse.Action) -> str:
    return parser._get_formatter()._expand_help(action) if action.help else ""


def _option(parser: Parser, action: argparse.Action) -> Iterator[str]:
    formatter = parser._get_formatter()
    value = "" if action.nargs == 0 else formatter._format_args(action, action.dest.upper())
    yield ".TP"
    if action.option_strings:
        yield "\\fB" + _escaped(", ".join(names_of_option(action))) + "\\fR" + (" " + _escaped(value) if value else "")
    else:
        yield "\\fB" + _escaped(value) + "\\fR"
    yield _escaped(" ".join(help_of(parser, action).split())) or "\\&"


def _options(parser: Parser) -> Iterator[str]:
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if not isinstance(action, argparse._SubParsersAction)]
        if actions:
            yield f'.SS "{_escaped(group.title or "options")}"'
            if group.description:
                yield _escaped(group.description)
            for action in actions:
                yield from _option(parser, action)


def _commands(parser: Parser) -> Iterator[str]:
    if parser is not parser.program:
        return
    yield ".SH COMMANDS"
    for name, words in commands_of(parser).items():
        yield from (".TP", f"\\fBppsched\\-{name}\\fR(1)", _escaped(words))


def _ends(parser: Parser) -> Iterator[str]:
    if parser.examples:
        yield from (".SH EXAMPLES", ".nf", *map(_escaped, parser.examples), ".fi")
    yield ".SH EXIT STATUS"
    for code, words in _CODES:
        yield from (".TP", f"\\fB{code}\\fR", _escaped(words))
    others = [] if parser is parser.program else ["ppsched(1)"]
    others += [f"ppsched\\-{name}(1)" for name, one in parser.family.items() if one is not parser]
    yield from (".SH SEE ALSO", ", ".join(others))


def manual_of(parser: Parser) -> str:
    """The man page of the program or of a command."""
    title = parser.prog.replace(" ", "-")
    name = next((name for name, one in parser.family.items() if one is parser), None)
    purpose = "plans pipeline-parallel training" if name is None else commands_of(parser.program)[name]
    lines = [f'.TH "{title.upper()}" 1 "" "ppsched {decoded(lib.ppsched_version_text())}" "ppsched"', ".SH NAME",
             f"{_escaped(title)} \\- {_escaped(purpose)}", ".SH SYNOPSIS", f"\\fB{_escaped(parser.prog)}\\fR " + ("COMMAND" if name is None else "[OPTION]..."),
             ".SH DESCRIPTION", _escaped(parser.description or purpose), *_commands(parser), ".SH OPTIONS", *_options(parser), *_ends(parser)]
    return "".join(line + "\n" for line in lines)
