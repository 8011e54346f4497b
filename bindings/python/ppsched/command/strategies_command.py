# SPDX-License-Identifier: Apache-2.0
"""The command strategies, which lists the strategies."""
import argparse
import json
from typing import Any, Dict

from .._core.strategy import Strategy, find_strategy, strategies
from .answer_file import take_ending
from .commands import COMMANDS, Commands
from .printing import print_text
from .usage import OneFile


def add_commands(commands: Commands) -> None:
    parser = commands.add_parser("strategies", help=COMMANDS["strategies"].summary, allow_abbrev=False)
    parser.add_argument("name", nargs="?", help="name or alias of a strategy: describe only this one")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("-o", "--output", action=OneFile, metavar="FILE", help="write to a file")
    parser.set_defaults(run=run_strategies)


def _strategy_row(strategy: Strategy) -> Dict[str, Any]:
    return {**strategy._asdict(), "options": [option._asdict() for option in strategy.options]}


def _strategy_text(strategy: Strategy) -> str:
    chunks = strategy.chunks or "any number of"
    placement = "any" if strategy.placement == "default" else strategy.placement
    lines = [f"{strategy.name}: {strategy.summary}",
             f"  {placement} placement, {chunks} stage{'' if strategy.chunks == 1 else 's'} per device; "
             f"{'F, I, W' if strategy.splits_backward else 'F, B'}; from {strategy.source}"]
    if strategy.aliases:
        lines.append(f"  also called {', '.join(strategy.aliases)}")
    for option in strategy.options:
        value = "|".join(option.choices) or "N"
        bounds = "" if option.choices else f"{option.minimum} to {option.maximum}, "
        lines.append(f"  --set {option.name}={value}  {option.summary} ({bounds}default: {option.default})")
    return "\n".join(lines)


def run_strategies(arguments: argparse.Namespace) -> None:
    take_ending(arguments)
    chosen = [find_strategy(arguments.name)] if arguments.name is not None else strategies()
    if arguments.json:
        text = json.dumps([_strategy_row(strategy) for strategy in chosen], indent=1)
    else:
        text = "\n".join(_strategy_text(strategy) for strategy in chosen)
    print_text(text + "\n", arguments.output)
