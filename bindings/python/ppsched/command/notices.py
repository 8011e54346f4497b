# SPDX-License-Identifier: Apache-2.0
"""What defaults say that nobody sees otherwise: a line each on standard error, of answers for people alone."""
import argparse
from typing import Any, List, Mapping, Sequence

from .estimate_errors import ERRORS
from .model_estimate import GIB
from .printing import tell

SPEAKS = True  # tests of other matters turn it off


def add_quiet_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quiet", action="store_true", help="do not print notes about defaults on standard error")


def _say(arguments: argparse.Namespace, notes: Sequence[str]) -> None:
    for note in notes if SPEAKS and not arguments.quiet else ():
        tell(arguments.command, f"note: {note}")


def _transfers(values: Mapping[str, Any]) -> List[str]:
    devices = values.get("num_devices") or values.get("num_stages") or 1
    if devices < 2 or values.get("p2p_time") is not None:
        return []
    rows: Any = values.get("layers")
    is_list = isinstance(rows, list)
    has_bytes = any(values.get(name) is not None for name in ("activation_bytes", "gradient_bytes")) or (
        is_list and any(isinstance(row, dict) and row.get("output_bytes") for row in rows))
    needed = "output_bytes of layers" if is_list else "--activation-bytes"
    if values.get("p2p_bandwidth") is None:
        return [f"transfers take no time; set --p2p-time, or --p2p-bandwidth{'' if has_bytes else f' with {needed}'}"]
    return [] if has_bytes else [f"transfers take no time: --p2p-bandwidth has no effect without {needed}"]


def _stages(values: Mapping[str, Any]) -> List[str]:
    """More stages than devices, of a cost that was not given."""
    devices, stages = values.get("num_devices"), values.get("num_stages")
    stated = ("forward_times", "windows", "layers", "num_layers", "chunks")
    if not devices or not stages or stages <= devices or any(values.get(name) is not None for name in stated):
        return []
    ratio = stages / devices
    return [f"--stages {stages} means {stages} stages of cost 1 each, {'twice' if ratio == 2 else f'{ratio:g} times'} as much as {devices} stages; "
            f"to divide the costs of {devices} stages, give --devices {devices} --chunks {ratio:g}"]


def tell_problem(arguments: argparse.Namespace, values: Mapping[str, Any]) -> None:
    """Of merged values of a problem in stages or layers."""
    _say(arguments, [*_transfers(values), *_stages(values)])


def tell_spare(arguments: argparse.Namespace, peaks: Sequence[float], limit: float) -> None:
    """Of a model whose peaks, in bytes, are nearer to the limit than the estimate is exact."""
    spare, error = limit - max(peaks), ERRORS["memory"]
    if spare < error * max(peaks):
        _say(arguments, [f"it fits with {max(0.0, spare) / GIB:.1f} GiB to spare, but the estimate of memory may be wrong by up to {error:.0%}"])
