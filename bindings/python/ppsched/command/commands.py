# SPDX-License-Identifier: Apache-2.0
"""The commands of ppsched: what each is for, and which module has it, which is imported where that command is run."""
from typing import Any, Dict, NamedTuple

Commands = Any  # of argparse, which has no public name for it


class Command(NamedTuple):
    """module: the one whose add_commands adds its parser; summary: its line in the help."""

    module: str
    summary: str


COMMANDS: Dict[str, Command] = {
    "strategies": Command("strategies_command", "list the strategies and their options"),
    "schedule": Command("schedule_command", "build and evaluate one schedule"),
    "compare": Command("compare_command", "rank all candidate schedules for a problem"),
    "pick": Command("pick_command", "the best schedule for a problem"),
    "check": Command("file_commands", "tell whether a schedule in a file is complete and can be run"),
    "convert": Command("file_commands", "write a schedule from a file in another format"),
    "layout": Command("layout_commands", "tell which layers are in which stage"),
    "model": Command("model_command", "what the layers of a model cost, from its description"),
    "price": Command("price_command", "what a step of a told layout takes and holds"),
    "calibrate": Command("calibrate_command", "a device's constants from measured runs"),
    "live": Command("live_command", "the whole library as a web page: turn the knobs"),
}
