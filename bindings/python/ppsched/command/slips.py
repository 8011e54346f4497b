# SPDX-License-Identifier: Apache-2.0
"""What to type instead of words of the command line that are slips."""
import argparse
import os
import re
from typing import Iterable, List

from .._core.shown import shown
from .._core.words import misspelt, nearest

# Other names of options, which stay, and are not in the help.
ALIASES = {"--num-stages": "--stages", "--num-batches": "--microbatches", "--num-microbatches": "--microbatches",
           "--num-devices": "--devices", "--receive-lead": "--receive-prefetch", "--reload-lead": "--reload-prefetch"}

# Options of some commands, and what others call the same: the first of these that a command has.
SAME = {"--devices": ("--pp",), "--num-devices": ("--pp",), "--gpus": ("--devices", "--pp"), "--format": ("--to",), "--to": ("--format",),
        "--strategy": ("--strategies",), "--strategies": ("--strategy",), "--runtime": ("--launch",), "--global-batch": ("--microbatches",),
        "--dp": ("--replica-speeds",), "--device": ("--devices",), "--mem-limits": ("--mem-limit",), "-m": ("--model",)}
_MODELS = (".json", ".sh", ".toml", ".py")  # files that --model takes


def value_of(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """The value of an option as its help has it, once."""
    return parser._get_formatter()._format_args(action, action.dest.upper()).split(" [")[0]


def in_plain_words(parser: argparse.ArgumentParser, message: str) -> str:
    """A message of argparse's own, with what to type."""
    required = re.fullmatch(r"the following arguments are required: (.*)", message)
    if required:
        return f"give {required[1]}, as in {parser.prog} {required[1].replace(',', '')}; {parser.prog} --help says what it may be"
    about = re.fullmatch(r"argument (\S+): (.*)", message, re.DOTALL)
    if about is None:
        return message
    names = [name for name in about[1].split("/") if name not in ALIASES]
    action = parser._option_string_actions.get(names[-1])
    if action is not None and about[2].startswith("expected "):
        return f"{names[-1]} is not followed by its {'values' if action.nargs and action.nargs != '?' else 'value'}; write {names[-1]} {value_of(parser, action)}"
    if about[2].startswith("ignored explicit argument"):
        return f"{names[-1]} takes no value; write {names[-1]} alone"
    return f"argument {'/'.join(names)}: {about[2]}"


def check_choice(action: argparse.Action, value: object) -> None:
    """As argparse's own check, with the choice that was probably meant."""
    if action.choices is not None and value not in action.choices:
        known = [str(choice) for choice in action.choices]
        raise argparse.ArgumentError(action, f"invalid choice: {shown(value)}; {nearest(value, known) or 'choose from ' + ', '.join(known)}")


def unknown_option(name: str, known: Iterable[str], having: List[str], prog: str) -> str:
    """known: the options of the command; having: other commands that have this one."""
    options = [string for string in known if string.startswith("--")]
    dashed = "--" + name.lstrip("-").replace("_", "-")
    begun = sorted((string for string in options if string.startswith(name) and len(name) > 3), key=len)
    same = next((other for other in SAME.get(name, ()) if other in options), None)
    close = dashed if dashed in options else (begun[0] if begun else misspelt(name, options))
    if having:
        elsewhere = f"it goes with {' and '.join(f'ppsched {command}' for command in having[:2])}"
        here = f"; did you mean {same or close}?" if same or (close and close not in begun) else ""
        return f"unknown option {name}; {elsewhere}{here}"
    meant = f"did you mean {same or close}?" if same or close else nearest(dashed, options) if len(name) > 6 else ""
    return f"unknown option {name}; {meant or f'{prog} --help all lists them'}"


def unexpected_words(parser: argparse.ArgumentParser, words: List[str]) -> str:
    """Words that no option and no argument takes."""
    word, options = words[0], parser._option_string_actions
    text = f"unexpected {'word' if len(words) == 1 else 'words'} {' '.join(words)}"
    name = "--" + word.partition("=")[0].replace("_", "-")
    has_arguments = any(not action.option_strings for action in parser._actions)
    lower = word.lower()
    if name in options:
        return f"{text}; did you mean --{word.replace('_', '-', 1) if '=' not in word else name[2:] + word[word.index('='):]}?"
    if has_arguments and "--output" in options and "." in os.path.basename(word):
        return f"{text}; to write to a file: -o {word}"
    if "--model" in options and lower.endswith(_MODELS):
        return f"{text}; did you mean --model {word}?"
    if "--config" in options and lower.endswith((".yaml", ".yml", ".json")):
        return f"{text}; did you mean --config {word}?"
    if "--output" in options and "." in os.path.basename(word):
        return f"{text}; to write to a file: -o {word}"
    taken = " and ".join(str(action.metavar or action.dest) for action in parser._actions if not action.option_strings) if has_arguments else ""
    return f"{text}; {f'apart from options it takes only one {taken}' if taken else 'values follow an option, such as ' + _an_option(parser)}"


def _an_option(parser: argparse.ArgumentParser) -> str:
    for name in ("--devices", "--model", "--pp"):
        if name in parser._option_string_actions:
            return f"{name} {value_of(parser, parser._option_string_actions[name])}"
    return "--help"
