# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for a problem: its sizes, times and memory."""

from .._core._abi import SenderWaits
from .._core.config import QUANTITIES, Config
from .._core.enums import names_of
from .number_options import add_number_argument, count_of_devices, whole
from .profile_options import add_profile_arguments
from .usage import Parser

# Short forms of options.
SHORT = {"forward_times": "-f", "backward_times": "-bw"}


def add_problem_arguments(command: Parser, has_pp: bool = False) -> None:
    """What states a problem, on every command that needs one. has_pp: the command has a --pp of its own."""
    parser = command.group("the problem")
    pipeline = [] if has_pp else ["--pp"]
    parser.add_argument("--devices", "--num-devices", *pipeline, type=count_of_devices, metavar="D", dest="num_devices",
                        help="number of devices; without -s also the number of stages")
    parser.add_argument("-b", "--microbatches", "--num-batches", "--num-microbatches", type=whole, metavar="M", dest="num_batches",
                        help="microbatches per iteration")
    parser.add_argument("-s", "--stages", "--num-stages", type=whole, metavar="S", dest="num_stages",
                        help="number of stages of the model; without --devices also the number of devices")
    parser.add_argument("--iterations", type=whole, metavar="N", help="training iterations in the schedule (default: 1)")
    parser.add_argument("--placement", nargs="+", metavar="P",
                        help="linear, loop, v, bidirectional, or the device of each stage; 0+1 means a stage on devices 0 and 1")
    parser.add_argument("--whole-backwards", dest="split_backward", action="store_false", default=None,
                        help="each backward is one op, as in Megatron-LM and DeepSpeed; strategies that must split backwards are refused")
    parser.add_argument("--forward-only", action="store_true", default=None,
                        help="only forwards, as in inference (only for gpipe, looped_bfs and interleaved_1f1b); with slices this is chunked prefill")
    parser.add_argument("--weight-versions", type=whole, metavar="N", help="versions of the weights that a device holds at once")
    parser.add_argument("--sender-waits", choices=names_of(SenderWaits),
                        help="whether a device waits until its output has arrived at the next device: never (the default), or before the next op of "
                             "the same kind and stage (like_kind), as in Megatron-LM's warm-up and cool-down; not with --lower")
    parser.add_argument("--windows", metavar="FILE",
                        help="file, or JSON text, with the windows of the ops in the format of ppsched pair: one object for all stages, or a list "
                             "with one object per stage. Replaces -f and -bw, and gives the times of overlapped pairs")
    add_cost_arguments(command)


def _help_of(quantity: str) -> str:
    text: str = getattr(Config, quantity).__doc__
    return text[0].lower() + text[1:].rstrip(".")


def add_cost_arguments(command: Parser) -> None:
    """Adds the options for times and memory, as lists or files."""
    problem = command.group("the problem")
    problem.add_argument("--device-order", nargs="+", type=whole, metavar="D",
                         help="number of the device in each place of the pipeline; lists of devices and links, and --slow-rank, use the same numbers")
    problem.add_argument("--device-types", nargs="+", metavar="NAME:COUNT",
                         help="types of devices and the number of each, such as a100:4 slow.json:4. NAME is a data sheet (with --model), or a file "
                              "with a speed or with times of layers; not together with --device")
    problem.add_argument("-c", "--config", metavar="FILE", help="JSON or YAML file with options; the command line takes precedence")
    add_profile_arguments(command.group("measured times"))
    parser = command.group("times, memory and transfers: one number, or one per stage")
    for name in QUANTITIES:
        strings = [SHORT[name]] if name in SHORT else []
        add_number_argument(parser, *strings, "--" + name.replace("_", "-"), metavar="T", dest=name, help=_help_of(name))
