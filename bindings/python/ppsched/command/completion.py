# SPDX-License-Identifier: Apache-2.0
"""Scripts by which shells complete the command, made from its parsers."""
import argparse
from typing import Callable, Dict, Iterator, List

from .._core.accelerators import accelerators
from .._core.strategy import strategies
from .manual import commands_of, help_of, names_of_option
from .usage import ALL, Parser


def _actions(parser: Parser) -> List[argparse.Action]:
    return [action for action in parser._actions if action.option_strings]


def _choices(action: argparse.Action) -> List[str]:
    return [str(choice) for choice in action.choices or ()] or ([ALL] if action.dest == "help" else [])


def _known(action: argparse.Action) -> List[str]:
    """Names that an option or an argument has as values, beside others."""
    if action.dest in ("strategy", "strategies", "beside"):
        return [strategy.name for strategy in strategies()]
    return [device.name for device in accelerators()] if action.dest == "device" else []


def _long(parser: Parser) -> List[str]:
    return [name for action in _actions(parser) for name in names_of_option(action) if name.startswith("--")]


def _words(parser: Parser, action: argparse.Action) -> str:
    """The help in one line, short, and without what shells read."""
    text = " ".join(help_of(parser, action).split()).translate(str.maketrans("[]", "()", "'\"`$\\"))
    return text if len(text) <= 70 else text[:67] + "..."


def _bash(program: Parser) -> Iterator[str]:
    commands = program.family
    yield "# Completion of ppsched for bash."
    yield "_ppsched() {"
    yield "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} words="
    yield "  if [ \"$COMP_CWORD\" = 1 ]; then"
    yield f"    words=\"{' '.join([*commands, *_long(program)])}\""
    yield "  else"
    yield "    case ${COMP_WORDS[1]}:$before in"
    yield f"      help:help) words=\"{' '.join(commands)}\" ;;"
    for name, parser in commands.items():
        for action in _actions(parser):
            if values := _choices(action) or _known(action):
                patterns = "|".join(f"{name}:{option}" for option in names_of_option(action))
                yield f"      {patterns}) words=\"{' '.join(values)}\" ;;"
    yield f"      strategies:strategies) words=\"{' '.join(strategy.name for strategy in strategies())}\" ;;"
    yield "    esac"
    yield "    case ${COMP_WORDS[1]}:$word in"
    for name, parser in commands.items():
        yield f"      {name}:-*) words=\"{' '.join(_long(parser))}\" ;;"
    yield "    esac"
    yield "  fi"
    yield "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")"
    yield "}"
    yield "complete -o default -F _ppsched ppsched"


def _zsh(program: Parser) -> Iterator[str]:
    yield "#compdef ppsched"
    yield "_ppsched() {"
    yield "  if (( CURRENT == 2 )); then"
    yield "    local -a commands=("
    for name, words in commands_of(program).items():
        yield f"      '{name}:{words.replace(chr(39), '')}'"
    yield "    )"
    yield "    _describe command commands"
    yield "    return"
    yield "  fi"
    yield "  case $words[2] in"
    yield f"    help) _values command {' '.join(program.family)} ;;"
    for name, parser in program.family.items():
        if name == "help":
            continue
        yield f"    {name}) _arguments \\"
        for action in _actions(parser):
            choices = " ".join(_choices(action))
            value = "" if action.nargs == 0 else f":{action.dest}:({choices})" if choices else f":{action.dest}:_files"
            if known := _known(action):
                value = f":{action.dest}:{{compadd -- {' '.join(known)}; _files}}"
            for option in names_of_option(action):
                yield f"      '*{option}[{_words(parser, action)}]{value}' \\"
        yield f"      '*:name:({' '.join(strategy.name for strategy in strategies())})' ;;" if name == "strategies" else "      '*:file:_files' ;;"
    yield "  esac"
    yield "}"
    yield "_ppsched \"$@\""


def _fish(program: Parser) -> Iterator[str]:
    yield "# Completion of ppsched for fish."
    for name, words in commands_of(program).items():
        yield f"complete -c ppsched -f -n __fish_use_subcommand -a {name} -d '{words.replace(chr(39), '')}'"
    yield f"complete -c ppsched -f -n '__fish_seen_subcommand_from help' -a '{' '.join(program.family)}'"
    yield f"complete -c ppsched -f -n '__fish_seen_subcommand_from strategies' -a '{' '.join(strategy.name for strategy in strategies())}'"
    for name, parser in program.family.items():
        for action in _actions(parser):
            flags = " ".join(f"-l {option[2:]}" if option.startswith("--") else f"-{'s' if len(option) == 2 else 'o'} {option[1:]}"
                             for option in names_of_option(action))
            choices = _choices(action)
            value = "" if action.nargs == 0 else f" -x -a '{' '.join(choices)}'" if choices else " -r"
            if known := _known(action):
                value += f" -a '{' '.join(known)}'"
            yield f"complete -c ppsched -n '__fish_seen_subcommand_from {name}' {flags}{value} -d '{_words(parser, action)}'"


SHELLS: Dict[str, Callable[[Parser], Iterator[str]]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def completion_of(program: Parser, shell: str) -> str:
    """The script for a shell."""
    return "".join(line + "\n" for line in SHELLS[shell](program))
