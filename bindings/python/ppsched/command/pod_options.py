# SPDX-License-Identifier: Apache-2.0
"""Options for pods: groups of nodes, between which links are slower than between the nodes of a pod."""
import argparse
from typing import Any, Optional

from .._core._library import Error
from .._core.accelerators import Accelerator
from .._core.unit_advice import amount_in
from ..readers.device_files import MOST, read_device
from .number_options import whole
from .printing import tell
from .usage import UsageError

DEFAULT_DEVICE = "h100"
PODS = ("pod_nodes", "pod_bandwidth")


def add_pod_arguments(group: Any) -> None:
    group.add_argument("--pod-nodes", type=whole, metavar="N",
                       help="number of nodes in a pod. A pod is a group of nodes with faster links than between pods, such as the nodes below one switch; "
                            "it has consecutive ranks (default: the number in the device file; without one, there are no pods)")
    group.add_argument("--pod-bandwidth", metavar="RATE",
                       help="with --pod-nodes: bandwidth from one device to other pods while all devices send, such as 12.5GB/s")


def with_pods(device: Accelerator, nodes: Optional[int], given: Optional[str]) -> Accelerator:
    """A device with the pods of --pod-nodes and --pod-bandwidth, which take precedence over its own."""
    if nodes is None and given is None:
        return device
    if nodes is None and not device.pod_nodes:
        raise UsageError("--pod-bandwidth needs --pod-nodes, the number of nodes of a pod")
    if given is None and device.beyond is None:
        raise UsageError("--pod-nodes needs --pod-bandwidth, the bandwidth of a device to other pods, such as 12.5GB/s")
    if nodes is not None and not 1 <= nodes <= MOST:
        raise Error(f"--pod-nodes is {nodes}; it must be 1 to {MOST}")
    link = device.beyond or device.between
    if given is not None:
        link = link._replace(bandwidth=amount_in("--pod-bandwidth", given, "bandwidth"))
    if not link.bandwidth > 0:
        raise Error(f"--pod-bandwidth is {given}; it must be above 0")
    return device._replace(pod_nodes=nodes or device.pod_nodes, beyond=link)


def device_given(arguments: argparse.Namespace) -> Accelerator:
    """The device of --device, with the pods of the options."""
    return with_pods(read_device(arguments.device or DEFAULT_DEVICE), arguments.pod_nodes, arguments.pod_bandwidth)


def tell_one_pod(arguments: argparse.Namespace, device: Accelerator, devices: int) -> None:
    """A note, in answers for people, if the options of pods change nothing."""
    is_given = arguments.pod_nodes is not None or arguments.pod_bandwidth is not None
    if is_given and not arguments.json and devices <= device.node_devices * device.pod_nodes:
        tell(arguments.command, f"note: {'--pod-nodes' if arguments.pod_nodes is not None else '--pod-bandwidth'} has no effect: the {devices} devices "
                                f"are in one pod of {device.pod_nodes} nodes with {device.node_devices} devices each")
