# SPDX-License-Identifier: Apache-2.0
"""The commands of ppsched: what each is for, and which module has it, which is imported where that command is run."""
from typing import Any, Dict, NamedTuple

Commands = Any  # of argparse, which has no public name for it


class Command(NamedTuple):
    """module: the one whose add_commands adds its parser; summary: its line in the help."""

    module: str
    summary: str


EXAMPLES = ("ppsched pick --devices 8 --microbatches 32 --mem-limit 12             # which schedule",
            "ppsched schedule --strategy zb_auto --devices 8 --microbatches 16     # one schedule",
            "ppsched live -o live.html                                             # the page")

COMMANDS: Dict[str, Command] = {
    "strategies": Command("strategies_command", "list the strategies and their options"),
    "schedule": Command("schedule_command", "build and evaluate one schedule"),
    "compare": Command("compare_command", "rank all candidate schedules for a problem"),
    "pick": Command("pick_command", "find the best schedule for a problem"),
    "replan": Command("replan_command", "continue a running job on slower, fewer or more devices"),
    "replicas": Command("replicas_command", "share a global batch among replicas of different speed"),
    "check": Command("file_commands", "check whether a schedule in a file is complete and can run"),
    "convert": Command("file_commands", "write a schedule from a file in another format"),
    "layout": Command("layout_commands", "show which layers each stage has"),
    "model": Command("model_command", "estimate the costs of a model's layers from its description"),
    "pair": Command("pair_command", "find how long a forward and a backward take if they overlap"),
    "price": Command("price_command", "estimate the step time and memory of a given layout"),
    "calibrate": Command("calibrate_command", "fit the constants of a device to measured runs"),
    "live": Command("live_command", "open a web page that computes schedules as you change options"),
    "help": Command("help_command", "show this help, or the help of a command"),
}
