# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for a problem: its sizes, times and memory."""

from .._core._abi import SenderWaits
from .._core.config import QUANTITIES, Config
from .._core.enums import names_of
from .number_options import add_number_argument, count_of_devices, whole
from .profile_options import add_profile_arguments
from .usage import Parser

# What the options for times and memory have in common.
COSTS = ("\"Per stage\" means one number for all stages, or one for each stage, such as 1 2 3 or 1,2,3; \"per device\" means the same for devices. "
         "Give units to all numbers, such as 6.1ms, 72GB, 400Gbps, or to none of them. F is a forward, B a full backward, I a backward for only the "
         "input gradient, W a backward for only the weight gradient. A stage pass is all ops of one microbatch (or slice) on one stage. "
         "docs/glossary.md explains more terms.")
# Short forms of options.
SHORT = {"forward_times": "-f", "backward_times": "-bw"}


def add_problem_arguments(command: Parser, has_pp: bool = False) -> None:
    """What states a problem, on every command that needs one. has_pp: the command has a --pp of its own."""
    parser = command.group("the problem")
    pipeline = [] if has_pp else ["--pp"]
    parser.add_argument("--devices", "--num-devices", *pipeline, type=count_of_devices, metavar="D", dest="num_devices",
                        help="number of devices; if -s is not given, also the number of stages")
    parser.add_argument("-b", "--microbatches", "--num-batches", "--num-microbatches", type=whole, metavar="M", dest="num_batches",
                        help="number of microbatches per iteration")
    parser.add_argument("-s", "--stages", "--num-stages", type=whole, metavar="S", dest="num_stages",
                        help="number of stages of the model; if --devices is not given, also the number of devices")
    parser.add_argument("--iterations", type=whole, metavar="N", help="number of training iterations in the schedule (default: 1)")
    parser.add_argument("--placement", nargs="+", metavar="P",
                        help="which device has which stage: linear, loop, v, bidirectional, or a list with the device of each stage. In a list, 0+1 is a "
                             "stage on devices 0 and 1 (default: what the strategy needs)")
    parser.add_argument("--whole-backwards", dest="split_backward", action="store_false", default=None,
                        help="each backward is one op, as in Megatron-LM and DeepSpeed; strategies that must split backwards are refused")
    parser.add_argument("--forward-only", action="store_true", default=None,
                        help="the schedule has only forwards, as in inference; works with gpipe, looped_bfs, interleaved_1f1b and auto. With slices, such a "
                             "schedule is chunked prefill")
    parser.add_argument("--weight-versions", type=whole, metavar="N", help="number of versions of the weights that a device holds at the same time (default: what the strategy needs)")
    parser.add_argument("--sender-waits", choices=names_of(SenderWaits),
                        help="whether a device waits until its output has arrived at the next device. never (the default): it does not wait; "
                             "like_kind: it waits before its next op of the same kind and stage, as in Megatron-LM's warm-up and cool-down. "
                             "Cannot be combined with --lower")
    parser.add_argument("--windows", metavar="FILE",
                        help="file, or JSON text, with the windows of each op: its parts, each on one channel. ppsched pair --help shows the "
                             "format. One object for all stages, or a list with one object per stage. Replaces -f and -bw, and also gives the "
                             "times of overlapped pairs")
    add_cost_arguments(command)


def _help_of(quantity: str) -> str:
    text: str = getattr(Config, quantity).__doc__
    return text[0].lower() + text[1:].rstrip(".")


def add_cost_arguments(command: Parser) -> None:
    """Adds the options for times and memory, as lists or files."""
    problem = command.group("the problem")
    problem.add_argument("--device-order", nargs="+", type=whole, metavar="D",
                         help="number of the device in each place of the pipeline. Lists with one value per device or per pair of devices, and "
                              "--slow-rank, use these numbers, not the places")
    problem.add_argument("--device-types", nargs="+", metavar="NAME:COUNT",
                         help="types of devices, and how many devices each type has, such as a100:4 slow.json:4. NAME is a file with a speed or "
                              "with times of layers; with --model, NAME is a file, or a device as in --device. Cannot be combined with --device")
    problem.add_argument("-c", "--config", metavar="FILE", help="JSON or YAML file with options; options on the command line take precedence")
    add_profile_arguments(command.group("measured times"))
    parser = command.group("times, memory and transfers")
    parser.description = COSTS
    for name in QUANTITIES:
        strings = [SHORT[name]] if name in SHORT else []
        add_number_argument(parser, *strings, "--" + name.replace("_", "-"), metavar="T", dest=name, help=_help_of(name))
