# SPDX-License-Identifier: Apache-2.0
"""Options of compare and pick, and the plan that they describe."""
import argparse
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from .._core._abi import Objective
from .._core.enums import names_of
from .._core.launching import RUNTIME_NAMES
from .._core.layer_words import OF_LAYERS
from .._core.listener import Progress
from .._core.plan import Plan, plan
from .._core.progress import ProgressBar
from .launch_options import add_batch_arguments
from .layer_options import add_layer_arguments, layers_of
from .lowering_options import CHANNEL, LOWERINGS, add_channel_arguments, add_plan_arguments, channel_of, reduce_every_of, reduce_grad_of
from .memory_saving_options import add_link_argument, link_hosts
from .microbatch_options import SLICING, add_order_argument, add_slicing_arguments, check_order, one_number
from .notices import add_quiet_argument
from .number_options import add_count_argument, add_number_argument, add_word_argument, whole
from .page_options import add_page_arguments
from .problem_options import add_problem_arguments
from .problem_values import make_config
from .scenario_options import add_ranking_arguments, ranking_of
from .size_options import add_end_arguments, end_of
from .usage import ANSWER, KEPT, LAYERS, MICROBATCHES, RUNTIMES, SENDS, VARYING, Parser, UsageError

# What candidates differ in: option, argument of ppsched.plan, type, help. Config files have these keys, too.
VARIED: Dict[str, Tuple[str, Callable[[str], Any], str]] = {
    "strategies": ("strategies", str, "strategies to try (default: all in which an iteration ends on all devices before the next one starts; of these, "
                                     "v_search and auto only with --effort)"),
    "chunks": ("chunks", whole, "stages per device to try (default: 1 to 4)"),
    "group_sizes": ("group_sizes", whole, "group sizes of interleaved strategies to try: numbers of microbatches that a device runs on one stage before it "
                                        "goes on to its next stage (default: all possible sizes, or some of them if there are many)"),
    "slice_counts": ("slices", whole, "numbers of slices per microbatch to try; costs are for whole microbatches"),
    "microbatch_counts": ("microbatches", whole, "numbers of microbatches to try; the batch stays the same, and costs are given for the number in "
                                                 "--microbatches"),
    "mem_limits": ("memory_limits", float, "memory limits to try; each is the limit of every device"),
    "placements": ("placements", str, "placements to try: linear, loop, v, bidirectional"),
}
RENAMED = ("slice_counts",)  # keys whose option has another name
ORDER_EFFORT = 1  # effort of the search for each candidate's order of microbatches


def add_plan_problem(command: Parser, has_pp: bool = False) -> None:
    add_problem_arguments(command, has_pp)
    add_slicing_arguments(command.group(MICROBATCHES))
    add_order_argument(command.group(MICROBATCHES))
    add_ranking_arguments(command.group(VARYING))
    parser = command.group("what is tried")
    parser.add_argument("--objective", choices=[*names_of(Objective), "throughput"],
                        help="which time is the step time. makespan (the default) is right if the optimizer synchronises the devices, span if it does "
                             "not. throughput "
                             "works only in pick, for schedules with only forwards of layers that form a graph")
    for name, (_, kind, text) in VARIED.items():
        if kind is float:
            add_number_argument(parser, "--" + name.replace("_", "-"), metavar=name[0].upper(), help=text)
        elif kind is whole and name not in RENAMED:
            add_count_argument(parser, "--" + name.replace("_", "-"), metavar=name[0].upper(), help=text)
        elif name not in RENAMED:
            add_word_argument(parser, "--" + name.replace("_", "-"), metavar=name[0].upper(), help=text)
    parser.add_argument("--offload", action="store_true",
                        help="also try strategies of fixed order with offload: they copy activations to the host and back, only as many as needed to "
                             "fit the memory limit, or all without a limit. Needs --host-bandwidth")
    add_link_argument(command.group(KEPT))
    parser.add_argument("--effort", type=whole, metavar="N", help="also try the strategies v_search and auto, which search for an order; N, 1 to 12, is the work of their search")
    layers = command.group(LAYERS)
    add_end_arguments(layers)
    add_layer_arguments(layers)
    layers.add_argument("--free-device-order", action="store_true", default=None,
                        help="with layers: also search for the best order of the devices, that is, which device is in which place of the pipeline")
    layers.add_argument("--split-effort", type=whole, metavar="N",
                        help="work of the search for splits of layers, 1 to 4; each value takes up to eight times as long as the value before "
                             "(default: 3)")
    add_batch_arguments(command.group(RUNTIMES))
    command.group(RUNTIMES).add_argument("--runtime", choices=RUNTIME_NAMES, help="rank only schedules that this training runtime can run")
    sends = command.group(SENDS)
    sends.add_argument("--lower", choices=LOWERINGS, help="add sends and receives to the candidates by this policy, and include the transfers in their times. "
                            "pytorch: as PyTorch does; by_time: by the times of ops; just_in_time: each receive right before it is needed")
    add_channel_arguments(sends)
    add_plan_arguments(sends)
    answer = command.group(ANSWER)
    add_page_arguments(answer)
    answer.add_argument("--json", action="store_true", help="print JSON, which also has the refused candidates")
    add_quiet_argument(answer)


def _asked(values: Mapping[str, Any], has_layers: bool) -> Dict[str, Any]:
    """The runtimes for which the plan checks all candidates: with layers all; without layers only if the best for each runtime is shown.
    Otherwise only shown candidates are checked."""
    if has_layers:
        return {"runtime": values.get("runtime"), "runtimes": values.get("able_runtimes") or RUNTIME_NAMES}
    return {"runtimes": RUNTIME_NAMES} if values.get("asks_runtimes") else {}


def stages_a_device(values: Mapping[str, Any]) -> Optional[List[int]]:
    """Stages per device from --num-stages for a model by its layers, if it is more than the devices; else None, so all are tried."""
    stages, devices = values.get("num_stages"), values.get("num_devices")
    if not stages or not devices or stages <= devices:
        return None
    if stages % devices:
        raise UsageError(f"--stages {stages} is not a multiple of {devices} devices; give {stages // devices * devices} or "
                         f"{(stages // devices + 1) * devices}")
    chunks = [stages // devices]
    if values.get("chunks") is not None and values["chunks"] != chunks:
        raise UsageError(f"--stages {stages} on {devices} devices are {chunks[0]} per device, but --chunks has other numbers; leave one of them out")
    return chunks


def _device_order(values: Mapping[str, Any], has_layers: bool) -> Dict[str, Any]:
    """Whether the order of devices is looked for."""
    if not values.get("free_device_order"):
        return {}
    if values.get("device_order") is not None:
        raise UsageError("--free-device-order: --device-order states the order; leave one of them out")
    if not has_layers:
        raise UsageError("--free-device-order: give --layers or --num-layers, because the order of devices is searched only for layers")
    return {"free_device_order": True}


def make_plan(values: Mapping[str, Any], progress: Optional[Progress] = None) -> Plan:
    """Makes the plan of merged values, without the options of the config file, which are for its one strategy. progress: a callback
    instead of the progress bar."""
    order, flags = channel_of(values)
    layers = layers_of(values)
    if layers is not None:
        values = {**values, **dict.fromkeys(("embedding", "head", *OF_LAYERS)), "chunks": stages_a_device(values) or values.get("chunks")}
    given: Dict[str, Any] = {argument: values[name] for name, (argument, _, _) in VARIED.items() if values.get(name) is not None}
    given.update(flags)
    config = make_config({**values, "options": values.get("options_of_orders", {})})
    link_hosts(config, values)
    given.update(ranking_of(values, config.devices))
    given.update(_device_order(values, layers is not None))
    if values.get("order_microbatches"):
        check_order(values)
        given["order_effort"] = ORDER_EFFORT
    for name in SLICING:
        if values.get(name) is not None:
            given[name] = one_number(name, values[name])
            if "slices" not in given:
                raise UsageError(f"--{name.replace('_', '-')} needs --slices")
    if values.get("all") and "group_sizes" not in given:
        given["group_sizes"] = list(range(1, max(given.get("microbatches") or [config.microbatches]) + 1))
    with ProgressBar() as bar:
        return plan(config, objective=values.get("objective", "makespan"), effort=values.get("effort", 0),
                    lowering=values.get("lower") or "none", order=order, progress=progress or bar, unshard=values.get("unshard", 0),
                    unshard_lookahead=values.get("unshard_lookahead") or "full", reduce_grad=reduce_grad_of(values), reduce_every=reduce_every_of(values, config.iterations), receive_prefetch=values.get("receive_prefetch"),
                    offload=bool(values.get("offload")), embedding=end_of("embedding", values.get("embedding")), head=end_of("head", values.get("head")),
                    layers=layers, empty_stages=bool(values.get("empty_stages")), split_effort=values.get("split_effort") or 0, top=values.get("wanted") or 0, **_asked(values, layers is not None), **given)


def check_words(arguments: argparse.Namespace) -> None:
    """Checks that do not depend on the output."""
    if arguments.lower is None and (arguments.channel is not None or any(getattr(arguments, name) for name in CHANNEL)):
        raise UsageError(f"--channel, --{', --'.join(CHANNEL)} need --lower")
    if arguments.lower is None and (arguments.unshard or arguments.reduce_grad or arguments.reduce_every or arguments.receive_prefetch):
        raise UsageError("--unshard, --reduce-grad, --reduce-every, --receive-prefetch need --lower")
    if arguments.unshard_lookahead is not None and not arguments.unshard:
        raise UsageError("--unshard-lookahead needs --unshard N, with 1 or more stages")
    if isinstance(arguments.unshard_lookahead, list):
        raise UsageError("--unshard-lookahead: give full, auto or needed, because numbers for devices cannot apply to all candidates")
