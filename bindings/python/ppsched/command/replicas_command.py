# SPDX-License-Identifier: Apache-2.0
"""The command replicas: how unlike replicas share the microbatches of a global batch."""
import argparse
import json
from typing import Any, Dict, List, Mapping, Optional, Tuple

from .._core.config import Config
from .._core.layer_words import OF_LAYERS
from .._core.microbatch_map import words_of
from .._core.progress import ProgressBar
from .._core.replicas import Replica, Replicas, share_microbatches
from .._core.units import Units
from .._core.words import counted
from .answer_file import take_ending
from .commands import COMMANDS, Commands
from .layer_options import add_layer_arguments, layers_of
from .number_options import real, whole
from .printing import print_text
from .problem_options import add_problem_arguments
from .problem_values import make_config, merged
from .size_options import add_end_arguments
from .strategy_fit import check_strategy_options
from .usage import ANSWER, LAYERS, OneFile, UsageError

SHARED = "replicas"


def add_commands(commands: Commands) -> None:
    parser = commands.add_parser(
        "replicas", help=COMMANDS["replicas"].summary, allow_abbrev=False,
        description="Shares the microbatches of a global batch among replicas that differ in speed, and finds the split of the layers of "
                    "each replica. With this split and these shares, the last replica ends as early as "
                    "possible.")
    parser.first = ("strategy", "num_devices", "num_batches", "num_layers", "replica_speeds", "free_device_order", "json")
    parser.examples = ("ppsched replicas --devices 4 -b 48 --num-layers 32 --replica-speeds 1 --replica-speeds 1 --replica-speeds 1 1 1 0.5",
                       "ppsched replicas --devices 4 -b 64 --num-layers 32 --strategy zbv --vpp 2 --replica-speeds 1 --replica-speeds 0.6 --json")
    parser.add_argument("--strategy", help="strategy of all replicas; see ppsched strategies (default: 1f1b)")
    add_problem_arguments(parser)
    add_end_arguments(parser.group(LAYERS))
    add_layer_arguments(parser.group(LAYERS))
    shared = parser.group(SHARED)
    shared.add_argument("--replica-speeds", nargs="+", type=real, action="append", metavar="F", default=None,
                        help="speeds of the devices of one replica: one number, or one per device; --device-speeds multiplies these speeds. "
                             "Give the option once for each replica. --microbatches is the number for all replicas together")
    shared.add_argument("--vpp", type=whole, metavar="V", default=1, help="stages per device (default: 1)")
    shared.add_argument("--group-size", type=whole, metavar="G", default=0, help="group size, for strategies with a group size "
                                                                                 "(default: the number of devices)")
    shared.add_argument("--free-device-order", action="store_true", help="also search for the best order of the devices of each replica")
    shared.add_argument("--split-effort", type=whole, metavar="N", default=0,
                        help="work of the search for splits of layers, 1 to 4 (default: 3, or 2 with several stages per device)")
    answer = parser.group(ANSWER)
    answer.add_argument("--json", action="store_true", help="print JSON")
    answer.add_argument("-o", "--output", action=OneFile, metavar="FILE", help="write to a file")
    parser.set_defaults(run=run_replicas)


def _devices(values: Mapping[str, Any]) -> Optional[int]:
    """The devices of a replica, which --stages states, too."""
    devices, stages, vpp = values.get("num_devices"), values["given_stages"], values["vpp"]
    if devices is not None and stages not in (None, devices * vpp):
        raise UsageError(f"--stages {stages}: {counted(devices, 'device')} with --vpp {vpp} {'has' if devices == 1 else 'have'} {counted(devices * vpp, 'stage')}; "
                         "leave --stages out, and give the stages per device as --vpp")
    return values.get("num_stages") if devices is None else devices


def _configs(values: Mapping[str, Any]) -> List[Config]:
    """Replicas with the same speeds share one."""
    given = values.get("replica_speeds")
    if not given:
        raise UsageError("give --replica-speeds once for each replica, such as --replica-speeds 1 --replica-speeds 0.5")
    if values.get("empty_stages"):
        raise UsageError("--empty-stages cannot be combined with ppsched replicas, which gives each stage at least one layer; leave it out")
    base = make_config({**values, **dict.fromkeys(OF_LAYERS), "device_order": None, "options": {}, "placement": None,
                        "num_devices": _devices(values), "num_stages": None})
    made: Dict[Tuple[float, ...], Config] = {}
    configs = []
    for number, speeds in enumerate(given):
        if len(speeds) not in (1, base.devices):
            raise UsageError(f"--replica-speeds: replica {number} has {len(speeds)} speeds; give 1, or {base.devices}, one per device, and the option "
                             "once for each replica")
        wrong = next((speed for speed in speeds if not speed > 0), None)
        if wrong is not None:
            raise UsageError(f"--replica-speeds: replica {number} has the speed {wrong:g}; it must be above 0")
        own = list(base.device_speeds) or [1.0]
        own = own * base.devices if len(own) == 1 else own
        key = tuple(mine * speed for mine, speed in zip(own, speeds * base.devices if len(speeds) == 1 else speeds))
        if key not in made:
            made[key] = base.replace(device_speeds=list(key))
            if values.get("device_order") is not None:
                made[key] = made[key].with_device_order(values["device_order"])
        configs.append(made[key])
    return configs


def _numbered(found: Replicas, order: Optional[List[int]]) -> Replicas:
    """The same with devices as the options number them."""
    if order is None:
        return found
    return found._replace(replicas=[one._replace(device_order=[order[device] for device in one.device_order]) for one in found.replicas])


def _row(replica: Replica) -> Dict[str, Any]:
    row = replica._asdict()
    return row if any(replica.recomputes) else {name: value for name, value in row.items() if name != "recomputes"}


def _rows(found: Replicas, units: Units) -> Dict[str, Any]:
    row = {**found._asdict(), "replicas": [_row(replica) for replica in found.replicas]}
    return {**row, "units": units.row} if any(units) else row


def _text(found: Replicas, units: Units) -> str:
    after = units.after_time
    equal = "" if found.equal_step_time is None else f"; {found.equal_step_time:.6g}{after} with equal shares"
    lines = [f"step {found.step_time:.6g}{after}{', proved' if found.proved else ''}{equal}"]
    for number, replica in enumerate(found.replicas):
        order = "" if replica.device_order == sorted(replica.device_order) else f", devices {words_of(replica.device_order)}"
        lines.append(f"replica {number}: {counted(replica.microbatches, 'microbatch', 'es')} in {replica.step_time:.6g}{after}, split {' '.join(map(str, replica.split))}{order}")
    return "\n".join([*lines, "the loss of a replica is the sum over its microbatches, divided by all microbatches of the global batch"]) + "\n"


def run_replicas(arguments: argparse.Namespace) -> None:
    take_ending(arguments)
    values = merged(arguments)
    check_strategy_options(values)
    configs = _configs(values)
    layers = layers_of(values)
    if layers is None:
        raise UsageError("give --num-layers or --layers: the layers that each replica splits")
    with ProgressBar() as bar:
        found = share_microbatches(configs, layers, values.get("num_batches") or configs[0].microbatches, strategy=values.get("strategy") or "1f1b",
                                   chunks=values["vpp"], group_size=values["group_size"], free_device_order=bool(values["free_device_order"]),
                                   split_effort=values["split_effort"], progress=bar)
    found = _numbered(found, values.get("device_order"))
    print_text(json.dumps(_rows(found, values["units"]), indent=1) + "\n" if arguments.json else _text(found, values["units"]), arguments.output)
