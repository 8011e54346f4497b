# SPDX-License-Identifier: Apache-2.0
"""The rank map of a launch: on which GPU each rank runs where devices are not in the order of their numbers, and how a launcher is told."""
import argparse
from typing import Any, Callable, Dict, List, Optional, Sequence

from .._core._library import Error, Refused
from .._core.microbatch_map import words_of
from .number_options import whole
from .usage import UsageError

# The variable with the devices that a process sees, for launchers that number the ranks of a host one after another.
VISIBLE = dict.fromkeys(("megatron", "torchtitan", "pytorch", "deepspeed", "sail", "primus", "colossalai"), "CUDA_VISIBLE_DEVICES")
VISIBLE["mindspeed"] = "ASCEND_RT_VISIBLE_DEVICES"
REPLICAS_FIRST = ("colossalai",)  # whose ranks of a replica are consecutive; elsewhere those of a pipeline rank


def add_host_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host-gpus", type=whole, metavar="N",
                        help="for launch arguments with --device-order or --free-device-order: number of GPUs of each host. GPUs are numbered host after host (default: all "
                             "are on one host)")


def is_moved(order: Optional[Sequence[int]]) -> bool:
    return order is not None and list(order) != sorted(order)


def refusal(runtime: str) -> Optional[str]:
    """Why a runtime cannot be told the order of devices, or None."""
    if runtime in VISIBLE:
        return None
    return (f"{runtime} has no option for the order of devices, because each program makes its own mesh of them; leave --device-order and "
            "--free-device-order out, "
            f"or use {', '.join(VISIBLE)}")


def rank_map(order: Sequence[int], runtime: Optional[str] = None, width: int = 1, replicas: int = 1) -> List[int]:
    """The GPU of each rank. Device d of the pipeline is the GPUs d * width * replicas and following; width: those of a replica, replicas: of data
    parallelism."""
    each = width * replicas
    if runtime in REPLICAS_FIRST:
        return [device * each + replica * width + gpu for replica in range(replicas) for device in order for gpu in range(width)]
    return [device * each + gpu for device in order for gpu in range(each)]


def _check_hosts(gpus: int, count: int) -> None:
    if count < 1 or gpus % count:
        raise UsageError(f"--host-gpus {count}: it must divide the {gpus} GPUs of the job")


def _hosts(gpus: Sequence[int], count: int, runtime: str) -> List[List[int]]:
    """For each place of a host in the job its GPUs, by rank."""
    _check_hosts(len(gpus), count)
    blocks = [list(gpus[first:first + count]) for first in range(0, len(gpus), count)]
    for number, block in enumerate(blocks):
        hosts = sorted({gpu // count for gpu in block})
        if len(hosts) > 1:
            raise Error(f"{runtime} does not support this order of devices: ranks {number * count} to {(number + 1) * count - 1} would be "
                        "on the hosts "
                        f"{words_of(hosts)}, and launchers number the ranks of a host one after another; state a --device-order that keeps the devices of "
                        "a host together")
    return blocks


def rank_map_line(order: Sequence[int], runtime: str, host_gpus: Optional[int] = None, width: int = 1, replicas: int = 1) -> str:
    """One line that tells how to launch; raises Refused where the runtime cannot be told."""
    reason = refusal(runtime)
    if reason is not None:
        raise Refused(reason)
    variable, gpus = VISIBLE[runtime], rank_map(order, runtime, width, replicas)
    if host_gpus is None or host_gpus == len(gpus):
        return f"rank map: {variable}={','.join(map(str, gpus))} before the launcher, with all GPUs on one host; for several hosts give --host-gpus N"
    blocks = _hosts(gpus, host_gpus, runtime)
    hosts = [block[0] // host_gpus for block in blocks]
    own = [f"{variable}={','.join(str(gpu % host_gpus) for gpu in block)} on host {host}" for host, block in zip(hosts, blocks)
           if block != sorted(block)]
    return f"rank map: list the hosts {words_of(hosts)} in this order, in the hostfile or by --node-rank{'; ' if own else ''}{', '.join(own)}"


def found_rank_map_line(order: Sequence[int], runtime: str, host_gpus: Optional[int] = None, width: int = 1, replicas: int = 1) -> str:
    """The same for an order that was searched for: says why where hosts cannot be numbered in this order."""
    try:
        return rank_map_line(order, runtime, host_gpus, width, replicas)
    except (Refused, UsageError):
        raise
    except Error as error:
        return f"no rank map: {error}"


def page_ranks(host_gpus: Optional[int], width: int, replicas: int) -> Callable[[Sequence[int], str], Dict[str, Any]]:
    """What a page says of an order of devices next to a runtime's launch line."""
    def ranks(order: Sequence[int], runtime: str) -> Dict[str, Any]:
        reason = refusal(runtime)
        return {"line": None, "reason": reason} if reason is not None else {"ranks": found_rank_map_line(order, runtime, host_gpus, width, replicas)}
    return ranks


def with_rank_map(row: Dict[str, Any], order: Optional[Sequence[int]], host_gpus: Optional[int], width: int = 1, replicas: int = 1) -> Dict[str, Any]:
    """The JSON of a candidate with the GPU of each rank, and without launch lines of runtimes that cannot be told."""
    if order is None or not is_moved(order):
        return row
    if host_gpus is not None:
        _check_hosts(len(order) * width * replicas, host_gpus)
    launch = {name: one if one["line"] is None or refusal(name) is None else {"line": None, "reason": refusal(name)} for name, one in row["launch"].items()}
    return {**row, "launch": launch, "rank_map": rank_map(order, None, width, replicas)}
