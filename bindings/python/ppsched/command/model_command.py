# SPDX-License-Identifier: Apache-2.0
"""The command model, which estimates the costs of a model's layers."""
import argparse
import json
from typing import Any, Dict, List

from .._core._library import Error, decoded, lib
from .._core.config import Config
from .._core.description import Description
from .._core.layers import Split, config_from_layers
from .._core.model import Model
from .._core.output import write_text
from .._core.same_units import SECONDS_AND_BYTES, places, worded
from .._core.text_table import Column, laid_out
from .._core.words import counted
from ..readers.config_file import WRITTEN
from ..readers.model_files import guessed_model, parts_not_described, read_model
from .commands import COMMANDS, Commands
from .estimate_errors import estimate_line, estimate_row
from .gpus_options import order_of_layouts
from .model_config import take_model_config
from .model_estimate import GIB, DeviceMemory, calibrated, even_memory, even_split
from .model_options import RECOMPUTE, Job, add_model_arguments, described, job_of, with_precision
from .pod_options import device_given, tell_one_pod
from .printing import tell, print_text
from .usage import OneFile, UsageError

CAUSES = ("weights", "gradients", "optimizer", "activations", "total")
PASSES = ("forward", "input", "weight")


def add_commands(commands: Commands) -> None:
    parser = commands.add_parser(
        "model", help=COMMANDS["model"].summary, allow_abbrev=False,
        description="Reads the description of a model and estimates the parameters, times and memory of its layers on a device. No run is needed.")
    add_model_arguments(parser, beside_batches=False)
    parser.add_argument("-c", "--config", metavar="FILE",
                        help="JSON or YAML file with Megatron-LM's argument names, for training and model")
    parser.add_argument("--recompute", "--recompute-granularity", choices=RECOMPUTE, dest="recompute_kind",
                        help="kind of recomputation of all decoders (default: none)")
    parser.add_argument("--megatron-formula", action="store_true",
                        help="also print the result of Megatron-LM's theoretical_memory_usage.py")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("-o", "--output", action=OneFile, metavar="FILE", help="write the layers to a file, for --layers of pick and compare")
    parser.add_argument("--describe", action="store_true",
                        help="write the description of the model instead (with -o to a file). For an unknown model type, write a first "
                             "draft, which lists under \"unknown\" the fields that are not understood, and exit with code 1")
    parser.set_defaults(run=run_model)


# --- parameters ---

def _per_layer(model: Model) -> List[Dict[str, Any]]:
    """One row for each kind of layer, in order."""
    return [{"name": row.name, "count": row.layers, "parameters": row.parameters, "active": row.active} for row in model.rows]


def _of_transformer(model: Model) -> Dict[str, Any]:
    """The parts of a layer, for models of one attention and one MLP or experts."""
    rows = {row.name: row for row in model.rows if row.role == "decoder"}
    if not rows or not set(rows) <= {"decoder", "moe_decoder"}:
        return {}
    one, dense, routed = next(iter(rows.values())), rows.get("decoder"), rows.get("moe_decoder")
    return {"attention_with_norms": one.mixers + one.norms, "dense_mlp": dense.feed_forwards if dense else 0,
            "moe_mlp": routed.feed_forwards if routed else 0, "moe_mlp_active": routed.feed_forwards_active if routed else 0,
            "dense_layers": dense.layers if dense else 0, "moe_layers": routed.layers if routed else 0}


def _of_adapters(model: Model) -> int:
    """Parameters of all adapters, not divided by the training."""
    if not model.training.adapter_rank:
        return 0
    one = model.training._replace(tensor_parallel=1, context_parallel=1, expert_parallel=1, expert_tensor_parallel=1, data_parallel=1)
    whole = Model(model.description, one)
    return int(sum(row.layers * whole.memory(row.name).trained for row in whole.rows))


def _parameters_row(model: Model) -> Dict[str, Any]:
    counts = model.parameters
    return {"total": counts.total, "active": counts.active, "embedding": counts.embedding, "output": counts.output,
            "per_layer": _per_layer(model), "final_norm": counts.final_norm, "positions": counts.positions, "other": counts.other,
            "towers": counts.towers, "mtp": counts.mtp, "adapters": _of_adapters(model), **_of_transformer(model)}


def device_row(memory: DeviceMemory) -> Dict[str, float]:
    return {name: getattr(memory, name) for name in CAUSES}


def _megatron_row(job: Job) -> Dict[str, float]:
    found = job.model.megatron_memory(job.pp, job.vpp, job.microbatches, job.recompute == "selective")
    return found._asdict()


def _pass_rows(model: Model) -> Dict[str, Any]:
    """The times of each kind of layer, by part."""
    parts = ("time", "matrix_time", "vector_time", "memory_time", "communication_time")
    return {row.name: {kind: {part: getattr(model.pass_cost(row.name, kind), part) for part in parts} for kind in PASSES}
            for row in model.rows}


# --- the table ---

def _bytes_word(value: float) -> str:
    return f"{value / GIB:.2f}"


BENEATH = ("logits GiB", "gathered GiB", "micro batch", "full MiB", "selective MiB", "active", "MFU", "ep", "cp")  # where there is no room, the last first


def columns(rows: List[List[str]]) -> str:
    """The first column to the left, all others to the right."""
    found = [Column(heading, cells, left=number == 0, leaves=1 + BENEATH.index(heading) if heading in BENEATH else 0,
                    breaks=" (" if heading == "schedule" else "")
             for number, (heading, *cells) in enumerate(zip(*rows))]
    return "".join(line + "\n" for line in laid_out(found, len(BENEATH) + 1))


def _layer_table(model: Model, rows: List[Any]) -> str:
    """The table of layers. Times are those of the layers, scaled to measurements if there are any."""
    per_layer = {row["name"]: row for row in _per_layer(model)}
    lines = [["layer", "count", "parameters", "active", "forward ms", "input ms", "weight ms", "activations MiB",
              "selective MiB", "full MiB"]]
    seen = set()
    for row in rows:
        name = row["name"]
        if name in seen:
            continue
        seen.add(name)
        kinds = {kind["name"]: f"{kind['mem_forward'] / 2**20:.1f}" for kind in row.get("recompute", [])}
        lines.append([name, str(per_layer[name]["count"]), f"{per_layer[name]['parameters']:,}",
                      f"{per_layer[name]['active']:,}",
                      *(f"{1000 * row[time]:.3f}" for time in ("forward_time", "backward_input_time", "backward_weight_time")),
                      f"{row['mem_forward'] / 2**20:.1f}", kinds.get("selective", "-"), kinds.get("full", "-")])
    if all(line[2] == line[3] for line in lines[1:]):
        lines = [[*line[:3], *line[4:]] for line in lines]
    return columns(lines)


def _device_table(memory: List[DeviceMemory]) -> str:
    lines = [["device", *(f"{name} GiB" for name in CAUSES)]]
    lines += [[str(number), *(_bytes_word(getattr(device, name)) for name in CAUSES)] for number, device in enumerate(memory)]
    return columns(lines)


def _table(job: Job, row: Dict[str, Any], memory: List[DeviceMemory]) -> str:
    model, counts = job.model, job.model.parameters
    others = [f"{row.parameters:,} in the {row.name} tower" for row in model.rows if row.role == "tower"]
    others += [f"{counts.mtp:,} in each MTP layer"] if counts.mtp else []
    others += [f"{_of_adapters(model):,} in adapters"] if model.training.adapter_rank else []
    besides = f", in addition {' and '.join(others)}" if others else ""
    lines = [f"{counts.total:,} parameters, {counts.active:,} active{besides}\n", "\n", _layer_table(model, row["layers"]), "\n",
             f"even split, 1F1B, {counted(job.microbatches, 'microbatch', 'es')}, recompute {job.recompute}:\n", _device_table(memory)]
    if "megatron" in row:
        lines.append(f"\nMegatron-LM's formula: weights and optimizer {_bytes_word(row['megatron']['weight_and_optimizer_bytes'])} GiB, "
                     f"activations {_bytes_word(row['megatron']['activation_bytes'])} GiB\n")
    lines += [f"calibrated: {note}\n" for note in row["calibrated"]]
    return "".join(lines)


def _layers_text(rows: List[Any]) -> str:
    """For --layers, with units."""
    values: Dict[str, Any] = {WRITTEN: decoded(lib.ppsched_version_text()), "layers": json.loads(json.dumps(rows))}
    for place in places(values, {}):
        place.put(worded(place.name, place.value, SECONDS_AND_BYTES))
    return json.dumps(values, indent=1) + "\n"


def _start_text(unknown: List[str], start: Description) -> str:
    """The start of a description, with what is missing in it."""
    return json.dumps({"unknown": unknown, **start.values()}, indent=1) + "\n"


def _describe(arguments: argparse.Namespace) -> None:
    """The model's description; of a config.json of an unknown type what is understood, and what is not."""
    if arguments.model is None:
        raise UsageError("--describe needs --model FILE")
    try:
        found = read_model(arguments.model)
        unknown = parts_not_described(arguments.model)
        text = found.description.json() if not unknown else _start_text(unknown, found.description)
        for warning in found.warnings:
            tell(arguments.command, f"warning: {warning}")
    except Error as error:
        start = guessed_model(arguments.model)
        if start is None:
            raise
        unknown = start.warnings
        text = _start_text(unknown, start)
        tell(arguments.command, str(error))
    if arguments.output is not None:
        write_text(arguments.output, text)
    else:
        print_text(text)
    if unknown:
        raise SystemExit(1)


def _tell_cut(command: str, job: Job) -> None:
    """Whether the even split separates layers that must be in one stage."""
    counts = even_split(job.model, job.pp * job.vpp)
    try:
        config_from_layers(Config(len(counts), 1), job.model.layers(), Split(counts, [0] * sum(counts)))
    except Error as error:
        tell(command, f"warning: no runtime runs the even split with --pp {job.pp}: {str(error).replace('split: ', '', 1)}")


def run_model(arguments: argparse.Namespace) -> None:
    if arguments.output is not None and not arguments.output.lower().endswith(".json"):
        raise UsageError(f"-o {arguments.output}: the layers are written as JSON; give a name that ends with .json")
    if arguments.describe:
        _describe(arguments)
        return
    take_model_config(arguments)
    order = order_of_layouts(arguments)
    found, options = described(arguments)
    device = device_given(arguments)
    job = job_of(found, {**with_precision(arguments, options, [device]), "rank_order": order}, device)
    tell_one_pod(arguments, device, job.devices)
    if job.recompute == "selective" and not job.model.training.keeps_scores:
        tell(arguments.command, "warning: recompute selective has no effect, because attention scores are not kept; --keep-scores keeps them")
    _tell_cut(arguments.command, job)
    memory, measured = even_memory(job), calibrated(job, vars(arguments))
    row: Dict[str, Any] = {"parameters": _parameters_row(job.model), "layers": measured.layers.given,
                           "devices": list(map(device_row, memory)),
                           "passes": _pass_rows(job.model), "calibrated": measured.notes, **estimate_row(vars(arguments), job.model)}
    if arguments.megatron_formula:
        row["megatron"] = _megatron_row(job)
    if arguments.output is not None:
        write_text(arguments.output, _layers_text(measured.layers.given))
    print_text(json.dumps(row) + "\n" if arguments.json else _table(job, row, memory) + estimate_line(vars(arguments), job.model) + "\n")
