# SPDX-License-Identifier: Apache-2.0
"""The command replan: with what a running job goes on when its devices are slower, lost or added."""
import argparse
import json
from typing import Any, Dict, List, Mapping, Tuple

from .._core.config import Config
from .._core.layer_words import OF_LAYERS
from .._core.layers import LayerSplit
from .._core.microbatch_map import device_order_line
from .._core.progress import ProgressBar
from .._core.replan import Move, Replan, replan
from .._core.units import Units
from .._core.words import counted
from .answer_file import take_ending
from .commands import COMMANDS, Commands
from .layer_options import add_split_arguments, split_of
from .measured_devices import Factor, add_measured_run_argument, factor_lines, factor_rows, measured_factors, running_timeline, scaled
from .number_options import add_number_argument, real, whole
from .printing import print_text, tell
from .problem_options import add_problem_arguments
from .problem_values import make_config, merged
from .size_options import add_end_arguments
from .slow_options import factors_of
from .strategy_fit import check_chunks, check_strategy_options
from .usage import ANSWER, LAYERS, OneFile, UsageError

CHANGE = "what changes"


def add_commands(commands: Commands) -> None:
    parser = commands.add_parser(
        "replan", help=COMMANDS["replan"].summary, allow_abbrev=False,
        description="Finds the best split (number of layers of each stage) and order of devices for a running job whose devices become slower, are "
                    "lost or are added. Also finds which layers move between devices, and after how many steps the shorter step has saved as much time as "
                    "the move took.")
    parser.first = ("strategy", "num_devices", "num_batches", "num_layers", "split", "device_order", "slow_rank", "lost", "added", "measured_run", "layer_bytes",
                    "free_device_order", "json")
    parser.examples = ("ppsched replan --devices 4 -b 16 --num-layers 32 --split 8 8 8 8 --slow-rank 3:2 --layer-bytes 1",
                       "ppsched replan --devices 5 -b 16 --num-layers 32 --split 8 8 8 8 --added 1 --lost 2 --layer-bytes 1 --p2p-bandwidth 2")
    parser.add_argument("--strategy", help="strategy of the running job; see ppsched strategies (default: 1f1b)")
    add_problem_arguments(parser)
    add_end_arguments(parser.group(LAYERS))
    add_split_arguments(parser.group(LAYERS))
    change = parser.group(CHANGE)
    change.add_argument("--lost", nargs="+", type=whole, metavar="D", default=[], help="devices of the running job that are lost")
    change.add_argument("--added", type=whole, metavar="N", default=0,
                        help="number of added devices (default: 0). --devices includes them, as the last N devices; --split and --device-order do "
                             "not include them")
    change.add_argument("--slow-rank", metavar="RANK:FACTOR", action="append",
                        help="measured factor on the times of all ops of a device, such as 3:2 if device 3 takes twice as long; may be repeated. "
                             "--device-speeds and --device-scale are other ways to give measured speeds")
    add_measured_run_argument(change, False)
    add_number_argument(change, "--layer-bytes", metavar="B",
                        help="bytes that a device receives when it gets a layer: one number, or one per layer (default: mem_static + mem_weights of "
                             "the layer)")
    add_number_argument(change, "--load-bandwidth", metavar="B",
                        help="bandwidth with which a device loads layers that no device holds any longer (default: infinite)")
    add_number_argument(change, "--restart-time", metavar="T", help="time that a change of the running job takes in addition to the time of moving bytes (default: 0)")
    change.add_argument("--steps", type=real, metavar="N", default=0.0,
                        help="number of steps that the job still has to run: minimise the time of these steps and of the change together (default: "
                             "minimise the time of a step)")
    change.add_argument("--group-size", type=whole, metavar="G", default=0,
                        help="group size, for strategies with a group size (default: the number of devices)")
    change.add_argument("--free-device-order", action="store_true", help="also search for the best order of the devices")
    change.add_argument("--split-effort", type=whole, metavar="N", default=0, help="work of the search for splits of layers, 1 to 4 (default: 3, or 2 with several stages per device or a free order)")
    answer = parser.group(ANSWER)
    answer.add_argument("--json", action="store_true", help="print JSON")
    answer.add_argument("-o", "--output", action=OneFile, metavar="FILE", help="write to a file")
    parser.set_defaults(run=run_replan)


def _one(values: Mapping[str, Any], name: str) -> float:
    given = values.get(name)
    if given is not None and len(given) != 1:
        raise UsageError(f"--{name.replace('_', '-')} has {len(given)} values; give one")
    return float(given[0]) if given is not None else 0.0


def _problem(values: Mapping[str, Any]) -> Tuple[Config, LayerSplit]:
    """All devices with their measured factors, and the running split."""
    model = split_of(values)
    if model is None:
        raise UsageError("give --split: the layers of each stage of the running job")
    if values.get("empty_stages"):
        raise UsageError("--empty-stages cannot be combined with ppsched replan, which gives each stage at least one layer; leave it out")
    added = values["added"]
    devices = values.get("num_devices") if values.get("num_devices") is not None else values.get("num_stages")
    config = make_config({**values, **dict.fromkeys(OF_LAYERS), "device_order": None, "num_devices": devices, "num_stages": None, "options": {},
                          "placement": None})
    if not 0 <= added < config.devices:
        raise UsageError(f"--added {added}: it must be 0 to {config.devices - 1}; --devices includes the added devices")
    check_chunks(values, len(model.split.layers), config.devices - added)
    if values.get("slow_rank"):
        speeds = list(config.device_speeds) * (config.devices if len(config.device_speeds) == 1 else 1) or [1.0] * config.devices
        factors = factors_of("slow_rank", values["slow_rank"], config.devices)
        if not all(factors):
            raise UsageError("--slow-rank: a measured factor must be above 0")
        gone = next((device for device in values["lost"] if device < len(factors) and factors[device] != 1), None)
        if gone is not None:
            raise UsageError(f"--slow-rank {gone}: device {gone} is lost, so its factor has no effect; leave out its --slow-rank, or {gone} in --lost")
        config = config.replace(device_speeds=[speed / factor for speed, factor in zip(speeds, factors)])
    return config, model


def _measured(values: Mapping[str, Any], config: Config, model: LayerSplit) -> Tuple[Config, List[Factor]]:
    """The devices with what --measured says of those that run."""
    if values.get("measured_run") is None:
        return config, []
    running = config.devices - values["added"]
    order = values.get("device_order") or list(range(running))
    if sorted(order) != list(range(running)):
        raise UsageError(f"--device-order must have each of the {running} running devices once")
    chunks = len(model.split.layers) // running
    if chunks * running != len(model.split.layers):
        raise UsageError(f"--split has {counted(len(model.split.layers), 'stage')}; it must be a multiple of {running}, the running devices")
    settings = {"group_size": values["group_size"]} if values["group_size"] else {}
    timeline = running_timeline(config, model, order, values.get("strategy") or "1f1b", settings)
    factors = measured_factors(timeline, order, values)
    return config.replace(device_scale=scaled(config, factors)), factors


def _replanned(values: Mapping[str, Any], config: Config, model: LayerSplit) -> Replan:
    with ProgressBar() as bar:
        return replan(config, model.layers, model.split.layers, strategy=values.get("strategy") or "1f1b",
                      running_devices=config.devices - values["added"], device_order=values.get("device_order"), lost=values["lost"],
                      recomputes=model.split.recomputes, layer_bytes=values.get("layer_bytes"), group_size=values["group_size"],
                      free_device_order=bool(values["free_device_order"]), split_effort=values["split_effort"],
                      load_bandwidth=_one(values, "load_bandwidth"), restart_time=_one(values, "restart_time"), steps=values["steps"], progress=bar)


def _move_row(move: Move) -> Dict[str, Any]:
    return {"first_layer": move.first, "layers": move.layers, "from": move.source, "to": move.target, "bytes": move.size}


def _row(found: Replan, units: Units, factors: List[Factor]) -> Dict[str, Any]:
    row: Dict[str, Any] = {name: getattr(found, name) for name in (
        "split", "device_order", "step_time", "running_step_time", "stays", "can_stay", "fits", "move_time", "pays_after")}
    row.update({"moved_bytes": found.moved, "loaded_bytes": found.loaded, "moves": [_move_row(move) for move in found.moves]})
    if found.group_size:
        row["group_size"] = found.group_size
    if any(found.recomputes):
        row["recomputes"] = found.recomputes
    if factors:
        row["measured"] = factor_rows(factors)
    return {**row, "units": units.row} if any(units) else row


def _text(found: Replan, units: Units, factors: List[Factor]) -> str:
    before = "" if found.running_step_time is None else f", {found.running_step_time:.6g}{units.after_time} with the running split"
    lines = [*factor_lines(factors), f"step {found.step_time:.6g}{units.after_time}{before}", f"split {' '.join(map(str, found.split))}",
             device_order_line(found.device_order).rstrip("\n")]
    if found.group_size:
        lines.append(f"group size {found.group_size}")
    if not found.fits:
        lines.append("this split does not fit the memory limits")
    if found.stays:
        return "\n".join([*lines, "the running split and order stay, because no others are better"]) + "\n"
    for move in found.moves:
        layers = f"layer {move.first}" if move.layers == 1 else f"layers {move.first}-{move.first + move.layers - 1}"
        source = "is loaded, because no device holds it any longer" if move.source is None else f"from device {move.source}"
        lines.append(f"  {layers} to device {move.target}, {source}: {move.size:.6g} bytes")
    pays = f"; after {found.pays_after:g} step{'s' if found.pays_after != 1 else ''}, the shorter steps have saved as much time as the move took"
    pays = pays if found.can_stay and found.move_time > 0 else ""
    return "\n".join([*lines, f"moves {found.moved:.6g} bytes and loads {found.loaded:.6g} bytes in a time of {found.move_time:.6g}{units.after_time}{pays}"]) + "\n"


def run_replan(arguments: argparse.Namespace) -> None:
    take_ending(arguments)
    values = merged(arguments)
    check_strategy_options(values)
    stated, model = _problem(values)
    config, factors = _measured(values, stated, model)
    found = _replanned(values, config, model)
    row = json.dumps(_row(found, values["units"], factors), indent=1) + "\n" if arguments.json else _text(found, values["units"], factors)
    print_text(row, arguments.output)
    if not arguments.json and not any(values.get(name) for name in ("lost", "added", "slow_rank", "measured_run", "device_speeds", "device_scale", "device_types")):
        tell(arguments.command, "note: no device has changed; --lost, --added, --slow-rank or --measured says which did")
