# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for lowering, and for how a runtime sends and receives."""
import argparse
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from .._core._abi import ChannelOrder, Lowering, UnshardLookahead
from .._core.config import Config
from .._core.enums import names_of
from .._core.lowering import prefetch_of
from .._core.schedule import Schedule
from .._core.shown import shown
from .._core.timeline import Timeline
from .._core.words import counted
from .number_options import whole
from .usage import UsageError

LOWERINGS = tuple(name for name in names_of(Lowering) if name != "none")
REDUCTIONS = {"plain": 1, "waits": 3, "deferred": 4}  # reduce_grad of Schedule.lower
LOOKAHEADS = tuple(name for name in names_of(UnshardLookahead) if name != "list")  # those with a name
PASSES = {
    "unshard": "gather the parameters of a stage before its ops, and free them afterwards; a device holds the parameters of at most N stages at the "
               "same time (PyTorch: 3)",
    "reduce_grad": "reduce the gradients of a stage after its last backward. waits: the device waits for this reduction at once, as in "
                   "PyTorch 2.15; deferred: the device waits just before its next reduction, as with PyTorch's defer_reduce_grad_wait; plain, or no value: "
                   "the device does not wait",
    "merge_backwards": "join each I and the W of the same microbatch right after it to one B",
    "split_backwards": "divide each B into an I and, right after it, a W",
    "defer_receives": "with --lower pytorch: defer receives, as with PyTorch's defer_pp_recv",
    "reduce_every": "with --reduce-grad: add up the gradients of N iterations, then reduce them once (default: 1); N must divide --iterations",
    "receive_prefetch": "with --lower just_in_time: post each receive up to N ops before the op that needs it (default: 1; 0 with --blocking)",
}
OF_PLANS = ("unshard", "reduce_grad", "reduce_every", "receive_prefetch")
CHANNEL = {
    "rendezvous": "a send starts only when its receive is posted",
    "batched": "neighbouring sends and receives of a device start together",
    "blocking": "a device does nothing else while it sends or receives",
}


def _lookahead(word: str) -> Union[str, List[int]]:
    if word in LOOKAHEADS:
        return word
    try:
        return [whole(text) for text in word.split(",")]
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{shown(word)} must be full, auto, needed, or a number for each device, such as 2,3,3") from None


def add_lowering_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lower", choices=LOWERINGS,
                        help="add sends and receives. pytorch: as PyTorch does; by_time: by the times of ops; just_in_time: each receive right "
                             "before it is needed")
    add_plan_arguments(parser)
    for name, text in PASSES.items():
        option = "--" + name.replace("_", "-")
        if name not in OF_PLANS:
            parser.add_argument(option, action="store_true", help=text)


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of lowering that plans have, too."""
    parser.add_argument("--unshard", type=whole, metavar="N", default=0, help=PASSES["unshard"])
    parser.add_argument("--unshard-lookahead", type=_lookahead, metavar="X",
                        help="with --unshard N: for how many of the next stages a device gathers parameters in advance. full: N (the default); auto: "
                             "r + 2 on device r, but at most N; a number per device, such as 2,3,3; needed: gather as late as possible without "
                             "delaying compute ops")
    parser.add_argument("--reduce-grad", nargs="?", const="plain", choices=REDUCTIONS, help=PASSES["reduce_grad"])
    parser.add_argument("--reduce-every", type=whole, metavar="N", help=PASSES["reduce_every"])
    parser.add_argument("--receive-prefetch", "--receive-lead", type=whole, metavar="N", help=PASSES["receive_prefetch"])


def add_channel_arguments(parser: argparse.ArgumentParser, default: str = "none") -> None:
    parser.add_argument("--channel", choices=names_of(ChannelOrder),
                        help="which channels a device has for its sends and receives; those of one channel wait for each other. group: one channel for "
                             "all; direction: one for activations, one for gradients; pair: one for each sender and receiver; sends: one for all "
                             f"sends, in which a send waits until the value of the previous send has arrived; none: no channels (default: {default})")
    for name, text in CHANNEL.items():
        parser.add_argument("--" + name, action="store_true", help=text)


def reduce_grad_of(values: Mapping[str, Any]) -> int:
    """reduce_grad of Schedule.lower, of --reduce-grad."""
    return REDUCTIONS[values["reduce_grad"]] if values.get("reduce_grad") else 0


def reduce_every_of(values: Mapping[str, Any], iterations: int) -> int:
    """reduce_every of Schedule.lower, of --reduce-every."""
    every: Optional[int] = values.get("reduce_every")
    if every is None:
        return 1
    if every < 1:
        raise UsageError(f"--reduce-every {every}: it must be 1 or more")
    if not values.get("reduce_grad"):
        raise UsageError("--reduce-every needs --reduce-grad")
    if iterations % every:
        raise UsageError(f"--reduce-every {every}: it must divide the {counted(iterations, 'iteration')} of the schedule (--iterations)")
    return every


def lower(schedule: Schedule, values: Mapping[str, Any]) -> Schedule:
    """The schedule, lowered as the options say."""
    passes: Dict[str, Any] = {name: values.get(name) for name in PASSES if values.get(name)}
    if "reduce_grad" in passes:
        passes["reduce_grad"] = reduce_grad_of(values)
    if values.get("reduce_every") is not None:
        passes["reduce_every"] = reduce_every_of(values, schedule.config.iterations)
    passes["receive_prefetch"] = prefetch_of(values.get("lower") or "none", values.get("receive_prefetch"), bool(values.get("blocking")))
    lookahead = values.get("unshard_lookahead")
    if lookahead is not None:
        if "unshard" not in passes:
            raise UsageError("--unshard-lookahead needs --unshard N, with 1 or more stages")
        passes["unshard_lookahead"] = lookahead
    if not values.get("lower") and not any(passes.values()):
        return schedule
    return schedule.lower(values.get("lower") or "none", **passes)


def is_lowered(schedule: Schedule) -> bool:
    """Whether the schedule has sends or receives."""
    return any(kind.name.startswith(("SEND", "RECV")) for kind in schedule.kinds)


def channel_of(values: Mapping[str, Any]) -> Tuple[str, Dict[str, bool]]:
    """Order and flags of the channel model that the options name."""
    return values.get("channel") or "none", {name: bool(values.get(name)) for name in CHANNEL}


def check_channel(schedule: Schedule, values: Mapping[str, Any]) -> None:
    """Refuses a channel model for a schedule without sends."""
    given = [f"--{name}" for name in ("channel", *CHANNEL) if values.get(name)]
    if given and not is_lowered(schedule):
        raise UsageError(f"{', '.join(given)}: the schedule has no sends and receives; lower it with --lower "
                         "(for a file: ppsched convert FILE --lower pytorch)")


def evaluate(schedule: Schedule, values: Mapping[str, Any], config: Optional[Config] = None) -> Timeline:
    """Times the schedule, with its transfers if it has any."""
    check_channel(schedule, values)
    if not is_lowered(schedule):
        return schedule.evaluate(config)
    order, flags = channel_of(values)
    return schedule.evaluate_transfers(config, order, **flags)
