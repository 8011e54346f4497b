# SPDX-License-Identifier: Apache-2.0
"""The words of the command line: wrong ones have an exit code of their own and the name that was meant, and help has two lengths."""
import argparse
import os
import re
import sys
from typing import Any, Callable, Dict, List, NoReturn, Optional, Sequence, Tuple

from .._core._library import Error
from .._core.shown import printable
from .._core.words import nearest
from .slips import ALIASES, check_choice, in_plain_words, unexpected_words, unknown_command, unknown_option, unlike_hyphens

_MOST = 600  # characters of a message
ALL = "all"  # the word behind --help for all options

# argparse's own does not know exponents and units.
_NEGATIVE_NUMBER = re.compile(r"^-([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?([A-Za-z\u00b5\u03bc][A-Za-z/]*)?(,.*)?$|^-(inf|nan)$")

_LETTERS = re.compile(r"-[a-z]{2,}(=.*)?")

# Titles of groups of options.
MICROBATCHES, VARYING, KEPT = "microbatches and slices", "times that vary", "what is recomputed or offloaded"
MODEL, LAYERS, RUNTIMES, SENDS, ANSWER = "a model by its description", "the model by its layers", "runtimes", "sends and receives", "the answer"


class UsageError(Error):
    """The command line is wrong."""


class Refused(SystemExit):
    """The command line is wrong, and standard error says so."""

    def __init__(self, message: str) -> None:
        super().__init__(2)
        self.message = message


class _Formatter(argparse.HelpFormatter):
    """Leaves out the other names of options."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        strings = [name for name in action.option_strings if name not in ALIASES]
        if not strings or len(strings) == len(action.option_strings):
            return super()._format_action_invocation(action)
        return f"{', '.join(strings)} {self._format_args(action, action.dest.upper())}".rstrip()


class _Help(argparse.Action):
    """-h, --help, and --help all where there are more options than those that matter most."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
                 option_string: Optional[str] = None) -> None:
        assert isinstance(parser, Parser)
        if values not in (None, ALL):
            parser.error(f"{option_string} {values}: " + (f"write ppsched help {values}" if values in parser.family else
                                                          f"{option_string} takes only the word {ALL}, or none"))
        print_help(parser.help_text(values == ALL))
        parser.exit()


def print_help(text: str) -> None:
    sys.stdout.write(text)


class OneFile(argparse.Action):
    """Takes one file; a second one is refused, not dropped."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Optional[str] = None) -> None:
        if getattr(namespace, self.dest) is not None:
            parser.error(f"{option_string} is given twice, with {getattr(namespace, self.dest)} and {values}; this command writes one file")
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; --help has the usage. first: the options that matter most, by their names in the namespace,
    which --help shows alone; none where it shows all. examples: lines for the end of the help."""

    def __init__(self, *words: Any, **given: Any) -> None:
        given.setdefault("formatter_class", _Formatter)
        given["add_help"] = False
        super().__init__(*words, **given)
        self._negative_number_matcher = _NEGATIVE_NUMBER
        self.first: Sequence[str] = ()
        self.examples: Sequence[str] = ()
        self.program: Parser = self
        self.line: Sequence[str] = ()  # the words that are read
        self.family: Dict[str, "Parser"] = {}  # all commands by name, as each of them has them too; some without their options
        self.load_family: Callable[[], Dict[str, "Parser"]] = lambda: self.family  # with the options of all
        self.add_argument("-h", "--help", nargs="?", action=_Help, metavar=ALL, help="show the main options; --help all shows every option")

    def join(self, commands: Dict[str, "Parser"], load_all: Callable[[], Dict[str, "Parser"]]) -> None:
        """Tells the program and its commands of each other. load_all: makes the commands with the options of all."""
        for parser in (self, *commands.values()):
            parser.program, parser.family, parser.load_family = self, commands, load_all

    def group(self, title: str) -> Any:
        """The options of a title in --help all."""
        found = next((group for group in self._action_groups if group.title == title), None)
        return found or self.add_argument_group(title)

    @property
    def _is_program(self) -> bool:
        return self._subparsers is not None

    # --- help ---

    def help_text(self, everything: bool) -> str:
        everything = everything or not self.first
        formatter = self._get_formatter()
        formatter.add_usage(f"{self.prog} [OPTION]..." if self.first else None, self._actions, self._mutually_exclusive_groups)
        formatter.add_text(self.description)
        for group in self._action_groups:
            shown = [action for action in group._group_actions if everything or not action.option_strings or action.dest in self.first]
            if shown:
                formatter.start_section(group.title)
                formatter.add_text(group.description)
                formatter.add_arguments(shown)
                formatter.end_section()
        return formatter.format_help() + self._end(everything)

    def _end(self, everything: bool) -> str:
        lines = ["", "examples:", *(f"  {line}" for line in self.examples)] if self.examples else []
        hidden = 0 if everything else sum(bool(action.option_strings) and action.dest not in (*self.first, "help") for action in self._actions)
        more = ["", f"{self.prog} --help {ALL} shows {hidden} more options."] if hidden else []
        return "".join(line + "\n" for line in (*lines, *more))

    def format_help(self) -> str:
        return self.help_text(False)

    # --- wrong words ---

    def error(self, message: str) -> NoReturn:
        text = " ".join(in_plain_words(self, message, self.line).split())
        text = text if len(text) <= _MOST else text[:_MOST] + "..."
        self._print_message(f"{self.prog}: {printable(text)}\n".encode("utf-8", "backslashreplace").decode("utf-8"), sys.stderr)
        raise Refused(text)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        check_choice(action, value)

    def _check_command(self, words: Sequence[str]) -> None:
        """The first word must be a command, or an option of the program itself."""
        word = next(iter(words), "")
        if word.startswith("-"):
            self._check_options(words[:1])
            if word.partition("=")[0] not in self._option_string_actions:
                self.error(self._unknown(word))
        elif word not in self.family:
            meant = f"did you mean --{word}?" if "--" + word in self._option_string_actions else unknown_command(word, list(self.family))
            self.error(f"unknown command {word}; {meant}")

    def _check_options(self, words: Sequence[str]) -> None:
        """Unknown ones, before anything else is said that is missing because of them."""
        dash = unlike_hyphens(words, self._option_string_actions)
        if dash:
            self.error(dash)
        for word in words:
            if word == "--":
                return
            name = word.partition("=")[0]
            if (word.startswith("--") or self._is_long(word)) and " " not in name and name not in self._option_string_actions:
                self.error(self._unknown(name))

    def _check_names(self, words: Sequence[str]) -> None:
        """Two names of one option with different values; of the same name the last one counts."""
        given: Dict[str, Tuple[str, str]] = {}
        for place, word in enumerate(words):
            if word == "--":
                return
            name, joined, value = word.partition("=")
            action = self._option_string_actions.get(name)
            if type(action) is not argparse._StoreAction or action.nargs is not None:
                continue
            value = value if joined else next(iter(words[place + 1:place + 2]), "")
            before = given.setdefault(action.dest, (name, value))
            if before[0] != name and before[1] != value:
                self.error(f"{before[0]} {before[1]}, {name} {value}: these are two names of one option; give one of them")

    def _is_long(self, word: str) -> bool:
        """Letters after one dash that are no option with its value, such as -bi where -b takes a number."""
        action = self._option_string_actions.get(word[:2])
        return _LETTERS.fullmatch(word) is not None and not self._negative_number_matcher.match(word) and (action is None or action.type is not None)

    def _unknown(self, name: str) -> str:
        having = [command for command, parser in self.load_family().items()
                  if parser.prog != self.prog and name in parser._option_string_actions]
        if self._is_program and any(word in self.family for word in self.line):
            command = next(word for word in self.line if word in self.family)
            if name in self.load_family()[command]._option_string_actions:
                return f"unknown option {name}; options follow the command, as in ppsched {command} {name}"
        return unknown_option(name, self, having, self.line)

    def _close(self, words: Sequence[str]) -> List[str]:
        """The words, where an option that may stand alone has its default if the next word is none of its choices but the argument of the
        command, as in --reduce-grad FILE. A word that is near a choice stays its value, and so is told."""
        closed = list(words)
        if all(action.option_strings for action in self._actions):
            return closed
        for place, word in enumerate(words[:-1]):
            if word == "--":
                break
            action, after = self._option_string_actions.get(word), words[place + 1]
            if action is None or action.nargs != "?" or action.choices is None or after in action.choices:
                continue
            if "." in after or os.path.exists(after) or not nearest(after, map(str, action.choices)):
                closed[place] = f"{word}={action.const}"
        return closed

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Tuple[Any, List[str]]:
        words = self.line = sys.argv[1:] if args is None else list(args)
        if self._is_program:
            self._check_command(words)
        else:
            self._check_options(words)
            self._check_names(words)
        found, extra = super().parse_known_args(self._close(words), namespace)
        if extra:
            self.error(self._unknown(extra[0]) if extra[0].startswith("-") and len(extra[0]) > 1 else unexpected_words(self, extra, words))
        return found, extra
