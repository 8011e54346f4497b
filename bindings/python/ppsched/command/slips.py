# SPDX-License-Identifier: Apache-2.0
"""What to type instead of words of the command line that are slips."""
import argparse
import os
import re
from typing import Iterable, List, Mapping, Optional, Sequence

from .._core.shown import shown
from .._core.strategy import is_strategy
from .._core.words import misspelt, nearest
from .other_names import CHOICES, COMMAND_WORDS, is_known, is_plain_word, plain_name, same_option

# Other names of options, which stay, and are not in the help.
ALIASES = {"--num-stages": "--stages", "--num-batches": "--microbatches", "--num-microbatches": "--microbatches",
           "--num-devices": "--devices", "--receive-lead": "--receive-prefetch", "--reload-lead": "--reload-prefetch",
           "--link": "--page-url", "--link-base": "--page-url-base"}
_MODELS = (".json", ".sh", ".toml", ".py")  # files that --model takes
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2212"  # which texts have in place of hyphens
_PICTURES = ("png", "svg", "pdf")

# Of options whose value the help only names.
_SUCH_AS = {"strategy": "zbv", "strategies": "1f1b zbv", "offload": "all", "device": "h100", "beside": "zbv"}

# What pick and compare find, where other commands are told it.
_FOUND = {"--split": "the split", "--recompute": "what is recomputed"}


def value_of(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    """The value of an option as its help has it, once."""
    return parser._get_formatter()._format_args(action, action.dest.upper()).split(" [")[0]


def in_plain_words(parser: argparse.ArgumentParser, message: str, line: Sequence[str]) -> str:
    """A message of argparse's own, with what to type. line: all words of the command line."""
    required = re.fullmatch(r"the following arguments are required: (.*)", message)
    if required:
        return f"give {required[1]}, as in {parser.prog} {required[1].replace(',', '')}; {parser.prog} --help says what it may be"
    about = re.fullmatch(r"argument (\S+): (.*)", message, re.DOTALL)
    if about is None:
        return message
    strings = about[1].split("/")
    names = [name for name in strings if name not in ALIASES]
    action, name = parser._option_string_actions.get(names[-1]), _typed(strings, line) or names[-1]
    if action is not None and about[2].startswith("expected "):
        whole = next((string for string in names if string.startswith("--")), names[-1]) if name in ALIASES or len(name) == 2 else name
        said = f"takes {action.nargs} values" if isinstance(action.nargs, int) else \
            f"is not followed by its {'values' if action.nargs and action.nargs != '?' else 'value'}"
        return f"{name} {said}; write {whole} {value_of(parser, action)}{_such_as(action, whole)}"
    if about[2].startswith("ignored explicit argument"):
        return f"{name} takes no value; write {name} alone"
    return f"argument {name}: {about[2]}"


def _typed(strings: Sequence[str], line: Sequence[str]) -> str:
    """The name by which the line has an option, or an empty text."""
    return next((word.partition("=")[0] for word in reversed(line) if word.partition("=")[0] in strings), "")


def _such_as(action: argparse.Action, name: str) -> str:
    if action.dest in _SUCH_AS:
        return f", such as {name} {_SUCH_AS[action.dest]}"
    return f", one of {', '.join(map(str, action.choices))}" if action.choices is not None and action.metavar is not None else ""


def check_choice(action: argparse.Action, value: object) -> None:
    """As argparse's own check, with the choice that was probably meant."""
    if action.choices is not None and value not in action.choices:
        known = [str(choice) for choice in action.choices]
        if len(known) == 1:
            raise argparse.ArgumentError(None, f"unexpected word {value}; here the command takes only the word {known[0]}, or none")
        raise argparse.ArgumentError(action, f"invalid choice: {shown(value)}; {_choice(action, str(value).lower(), known)}")


def _choice(action: argparse.Action, word: str, known: Sequence[str]) -> str:
    """What to type instead of a word that is no choice."""
    if word in _PICTURES and action.dest in ("format", "to"):
        return f"-o FILE.{word}, without {action.option_strings[-1]}, draws a picture"
    same = next((other for other in CHOICES.get(word, ()) if other in known), "")
    return f"did you mean {same}?" if same else nearest(word, known) or "choose from " + ", ".join(known)


def unlike_hyphens(words: Sequence[str], options: Mapping[str, object]) -> str:
    """What to type where an option begins with a dash that is no hyphen, as it is pasted from texts; empty if none does."""
    for word in words:
        name = word.partition("=")[0].strip(_DASHES + "-")
        if word[:1] in (*_DASHES,) or word[:1] == "-" and word[1:2] in (*_DASHES,):
            meant = next((dashes + name for dashes in ("--", "-") if dashes + name in options), "")
            if meant:
                return f"{word} begins with a dash that is no hyphen; write {meant}"
    return ""


def unknown_command(word: str, known: Sequence[str]) -> str:
    """What to type instead of a word that is no command."""
    if word.lower() in COMMAND_WORDS:
        return f"did you mean {COMMAND_WORDS[word.lower()]}?"
    meant = misspelt(word, known)
    if meant:
        return f"did you mean {meant}?"
    if is_strategy(word):
        return f"it is a strategy: ppsched strategies {word}"
    if word.lower().endswith(_MODELS):
        return f"files follow an option of a command, such as ppsched pick --model {word}"
    return nearest(word, known) or f"known are {', '.join(known)}"


def unknown_option(name: str, parser: argparse.ArgumentParser, having: List[str], line: Sequence[str]) -> str:
    """having: other commands that have this option; line: all words of the command line."""
    options = [string for string in parser._option_string_actions if string.startswith("--")]
    argument = _argument_of(parser)
    if argument and is_plain_word(name, argument):
        return f"unknown option {name}; write {argument} without an option, as in {parser.prog} {argument}"
    if argument and plain_name(name) in _plain_choices(parser):
        return f"unknown option {name}; write the word {plain_name(name)} without dashes"
    dashed = "--" + plain_name(name)
    begun = sorted((string for string in options if string.startswith(name) and len(name) > 3), key=len)
    same = dashed if dashed in options else same_option(name, options, "--model" in line)
    close = begun[0] if begun else misspelt(name, options)
    if name in ("-o", "--output"):
        return f"unknown option {name}; the answer goes to standard output: write > FILE instead"
    if name in _FOUND and "--strategies" in options:
        return f"unknown option {name}; {parser.prog} itself finds {_FOUND[name]}; leave it out"
    if having:
        elsewhere = f"it is an option of {' and '.join(f'ppsched {command}' for command in having[:2])}"
        here = f"; did you mean {same or close}?" if same or (close and close not in begun and not is_known(name)) else ""
        return f"unknown option {name}; {elsewhere}{here}"
    close = "" if is_known(name) and not begun else close
    meant = f"did you mean {same or close}?" if same or close else "" if is_known(name) else _like(plain_name(name), options)
    return f"unknown option {name}; {meant or f'{parser.prog} --help all lists them'}"


def _like(name: str, options: Sequence[str]) -> str:
    """A question with the option that is like a name without dashes, or an empty text."""
    close = nearest(name, [option[2:] for option in options], 0.7) if len(name) > 4 else ""
    return close.replace("did you mean ", "did you mean --")


def _argument_of(parser: argparse.ArgumentParser) -> str:
    """The argument of the command, by its name in the help; empty if it has none."""
    return next((str(action.metavar or action.dest) for action in parser._actions if not action.option_strings), "")


def _plain_choices(parser: argparse.ArgumentParser) -> List[str]:
    return [str(choice) for action in parser._actions if not action.option_strings and action.nargs == "?" for choice in action.choices or ()]


def unexpected_words(parser: argparse.ArgumentParser, words: List[str], line: Sequence[str]) -> str:
    """Words that no option and no argument takes. line: all words of the command line."""
    word, options = words[0], parser._option_string_actions
    text = f"unexpected {'word' if len(words) == 1 else 'words'} {' '.join(words)}"
    name = "--" + word.partition("=")[0].replace("_", "-")
    has_arguments = any(not action.option_strings for action in parser._actions)
    lower = word.lower()
    before = _option_before(parser, word, line)
    joined = _joined(parser, word, line)
    flag = _flag_before(parser, word, line)
    if flag:
        return f"{text}; in {parser.prog} {flag} takes no value"
    if before in ("-o", "--output"):
        return f"{text}; {before} takes one file"
    if joined:
        return f"{text}; did you mean {joined}?"
    if name in options:
        return f"{text}; did you mean --{word.replace('_', '-', 1) if '=' not in word else name[2:] + word[word.index('='):]}?"
    chosen = _chosen(parser, word)
    if chosen and chosen == before:
        return f"{text}; {before} takes one name" + ("; ppsched compare --strategies takes several" if chosen == "--strategy" else "")
    if chosen:
        alike = [other for other in words if _chosen(parser, other) == chosen] if chosen == "--strategies" else [word]
        return f"{text}; did you mean {chosen} {' '.join(alike)}?"
    if "--device" in options and _is_device(lower):
        return f"{text}; did you mean --device {word}?"
    is_new = "." in os.path.basename(word) and not os.path.exists(word)
    if has_arguments and "--output" in options and is_new:
        return f"{text}; to write to a file: -o {word}"
    if "--model" in options and lower.endswith(_MODELS):
        return f"{text}; did you mean --model {word}?"
    if "--config" in options and lower.endswith((".yaml", ".yml", ".json")):
        return f"{text}; did you mean --config {word}?"
    if "--output" in options and is_new:
        return f"{text}; to write to a file: -o {word}"
    if before:
        several = f"; --microbatch-counts {line[line.index(before) + 1]} {' '.join(words)} compares several" if (
            "--microbatch-counts" in options and options[before].dest == "num_batches") else ""
        return f"{text}; {before} takes one value{several}"
    taken = " and ".join(str(action.metavar or action.dest) for action in parser._actions if not action.option_strings) if has_arguments else ""
    return f"{text}; {f'apart from options it takes only one {taken}' if taken else 'values follow an option, such as ' + _an_option(parser)}"


def _an_option(parser: argparse.ArgumentParser) -> str:
    for name in ("--devices", "--model", "--pp"):
        if name in parser._option_string_actions:
            return f"{name} {value_of(parser, parser._option_string_actions[name])}"
    return "--help"


def _flag_before(parser: argparse.ArgumentParser, word: str, line: Sequence[str]) -> str:
    """The option without a value, which has one in another command, that stands right before a word; or an empty text."""
    flag = next((before for before, one in zip(line, line[1:]) if one == word and before.startswith("--")), "")
    action, family = parser._option_string_actions.get(flag), getattr(parser, "load_family", dict)
    if action is None or action.nargs != 0:
        return ""
    others = [other._option_string_actions.get(flag) for other in family().values()]
    return flag if any(other is not None and other.nargs != 0 for other in others) else ""


def _is_device(word: str) -> bool:
    from .._core.accelerators import accelerators  # takes long to load
    return word in [device.name for device in accelerators()]


def _option_before(parser: argparse.ArgumentParser, word: str, line: Sequence[str]) -> str:
    """The option with one value that stands right before a word that nothing takes, or an empty text."""
    for place, one in enumerate(line):
        if one != word or place < 2:
            continue
        option, action = line[place - 2], parser._option_string_actions.get(line[place - 2])
        if action is not None and action.nargs is None and line[place - 1][:1] != "-":
            return option
    return ""


def _joined(parser: argparse.ArgumentParser, word: str, line: Sequence[str]) -> str:
    """An option with its value where the two halves of the value, such as KEY=VALUE, were typed as two words."""
    place = line.index(word) if word in line else 0
    action: Optional[argparse.Action] = parser._option_string_actions.get(line[place - 2]) if place >= 2 else None
    between = next((mark for mark in "=:" if mark in str(action.metavar)), "") if action is not None else ""
    return f"{line[place - 2]} {line[place - 1]}{between}{word}" if between and between not in line[place - 1] else ""


def _chosen(parser: argparse.ArgumentParser, word: str) -> str:
    """The option that takes this word as its value: one of its choices, or the name of a strategy."""
    named = next((name for name in ("--strategies", "--strategy") if name in parser._option_string_actions), "")
    if named and is_strategy(word):
        return named
    taking = [action.option_strings[-1] for action in parser._actions
              if action.option_strings and action.choices is not None and word in map(str, action.choices)]
    return "--to" if "--to" in taking else taking[0] if taking else ""
