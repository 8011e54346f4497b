# SPDX-License-Identifier: Apache-2.0
"""Devices for which models are estimated: those that the library knows, and the caller's own."""
import ctypes
import math
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from . import _abi
from ._library import Error, decoded, encoded, lib
from .enums import names_of
from .number_lists import numbers, unsigned
from .shown import shown
from .views import sized
from .words import nearest

PRECISIONS = tuple(names_of(_abi.Precision))  # names that a training may have

# pairs (least operations or bytes of an op, share of the rate), descending; or one share for all
Efficiencies = Union[float, Sequence[Tuple[float, float]]]


class LinkRate(NamedTuple):
    """A link between two devices, for one device and one direction: bytes per second, the share of this rate that large
    messages reach, and the latency in seconds.

    all_reduce, all_gather: factors on the time of a collective; 1 is the factor of a ring.
    """

    bandwidth: float
    efficiency: float = 1.0
    latency: float = 0.0
    all_reduce: float = 1.0
    all_gather: float = 1.0

    @property
    def rate(self) -> float:
        """The rate of large messages."""
        return self.bandwidth * self.efficiency


class CalibrationError(NamedTuple):
    """How far prices were off the runs of a calibration, each left out of the fit. models: "dense" or "MoE"; median, p90: of the amounts of
    the errors."""

    models: str
    precision: str
    layouts: int
    median: float
    p90: float


class Accelerator(NamedTuple):
    """A device and its links. Rates are in operations and bytes per second, memory in bytes. `inside` is the link between the
    node_devices of a node. errors: the errors of its calibration, if it was calibrated. pod_nodes: number of nodes of a pod, 0
    without pods; `between` connects the nodes of a pod, and `beyond` connects pods. part_node_ports: the largest number of
    network ports that a ring over a part of a node uses; 0: no limit. pair_share: share of the bandwidth of `inside` that two
    devices of a node have; 0: all of it. lacks_bf16: its only 16-bit type is fp16.

        print(ppsched.find_accelerator("h100")._replace(name="h100-96", memory=96e9).inside.bandwidth)
    """

    name: str
    matrix_rate: float
    vector_rate: float
    memory_bandwidth: float
    memory: float
    inside: LinkRate
    between: LinkRate
    node_devices: int = 8
    matrix_efficiency: Efficiencies = ()
    vector_efficiency: Efficiencies = ()
    memory_efficiency: Efficiencies = ()
    shares_ports: bool = False
    rate_8bit: float = 0.0
    rate_4bit: float = 0.0
    matrix_share: float = 0.0
    attention_share: float = 0.0
    fp8_share: float = 0.0
    mxfp8_share: float = 0.0
    nvfp4_share: float = 0.0
    op_time: float = 0.0
    host_time: float = 0.0
    hidden_share: float = 0.0
    permute_traffic: float = 0.0
    slowdown: float = 0.0
    fused_permute_traffic: float = 0.0
    bias_traffic: float = 0.0
    memory_hidden: float = 0.0
    scan_share: float = 0.0
    host_bandwidth: float = 0.0
    errors: Tuple[CalibrationError, ...] = ()
    pod_nodes: int = 0
    beyond: Optional[LinkRate] = None
    scale_slowdown: float = 0.0
    part_node_ports: float = 0.0
    pair_share: float = 0.0
    lacks_bf16: bool = False

    @property
    def of_pair(self) -> LinkRate:
        """The link of two devices of a node."""
        return self.inside._replace(bandwidth=self.inside.bandwidth * self.pair_share) if self.pair_share else self.inside

    @property
    def usual_precision(self) -> str:
        """The data type of linear layers where none is given."""
        return "fp16" if self.lacks_bf16 else "bf16"


EFFICIENCIES = ("matrix_efficiency", "vector_efficiency", "memory_efficiency")
MEASURED = ("rate_8bit", "rate_4bit", "matrix_share", "attention_share", "fp8_share", "mxfp8_share", "nvfp4_share", "op_time", "host_time",
            "hidden_share", "permute_traffic", "slowdown", "fused_permute_traffic", "bias_traffic", "memory_hidden", "scan_share",
            "host_bandwidth", "scale_slowdown", "part_node_ports", "pair_share")
RATES = ("matrix_rate", "vector_rate", "memory_bandwidth", "memory")


def _rates(name: str, link: object) -> _abi.LinkRate:
    if not isinstance(link, LinkRate):
        raise TypeError(f"Accelerator: {name} must be a ppsched.LinkRate, not {shown(link)}")
    return _abi.LinkRate(*(numbers(f"{name}.{field}", value)[0] for field, value in link._asdict().items()))


def accelerator_record(device: Accelerator) -> _abi.Accelerator:
    """The library's record, which keeps alive what it points to."""
    record = sized(_abi.Accelerator)
    record.name = encoded("name", device.name)
    record.node_devices, record.pod_nodes = unsigned("node_devices", device.node_devices), unsigned("pod_nodes", device.pod_nodes)
    for name in RATES:
        setattr(record, name, numbers(name, getattr(device, name))[0])
    for name in EFFICIENCIES:
        given = getattr(device, name)
        listed = [(0.0, float(given))] if isinstance(given, (int, float)) else given
        pairs = [_abi.Efficiency(least, share) for least, share in listed]
        kept = (_abi.Efficiency * len(pairs))(*pairs)
        setattr(record, name, ctypes.cast(kept, ctypes.POINTER(_abi.Efficiency)))
        setattr(record, f"{name}_count", len(pairs))
        setattr(record, f"_{name}", kept)
    record.shares_ports, record.lacks_bf16 = bool(device.shares_ports), bool(device.lacks_bf16)
    for name in MEASURED:
        setattr(record, name, numbers(name, getattr(device, name))[0])
    record.inside, record.between = _rates("inside", device.inside), _rates("between", device.between)
    if device.beyond is not None:
        record.beyond = _rates("beyond", device.beyond)
    return record


def _link(record: Any) -> LinkRate:
    return LinkRate(record.bandwidth, record.efficiency or 1.0, record.latency, record.all_reduce or 1.0, record.all_gather or 1.0)


def _known(record: Any) -> Accelerator:
    fields: Dict[str, Any] = {name: getattr(record, name) for name in MEASURED}
    for name in EFFICIENCIES:
        fields[name] = tuple((pair.least, pair.share) for pair in getattr(record, name)[:getattr(record, f"{name}_count")])
    return Accelerator(decoded(record.name), record.matrix_rate, record.vector_rate, record.memory_bandwidth, record.memory,
                       _link(record.inside), _link(record.between), record.node_devices,
                       shares_ports=bool(record.shares_ports), lacks_bf16=bool(record.lacks_bf16), **fields)


def scale_of(device: Accelerator, devices: int) -> float:
    """By which factor a pipeline takes longer in a job of so many devices than alone, as the library prices it."""
    return 1 + device.scale_slowdown * math.log2(devices)


def accelerators() -> List[Accelerator]:
    """The devices whose data sheets the library has.

        print([device.name for device in ppsched.accelerators()])
    """
    return [_known(lib.ppsched_accelerator_at(index)[0]) for index in range(lib.ppsched_accelerator_count())]


def find_accelerator(name: str) -> Accelerator:
    """Finds a device by name, in upper or lower case. Errors: ppsched.Error with the nearest name.

        print(ppsched.find_accelerator("h100"))
    """
    known = {device.name: device for device in accelerators()}
    if str(name).lower() not in known:
        raise Error(f"there is no device {shown(name)}; {nearest(str(name).lower(), known) or 'there are ' + ', '.join(known)}")
    return known[name.lower()]
