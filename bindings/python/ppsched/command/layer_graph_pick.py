# SPDX-License-Identifier: Apache-2.0
"""pick for layers that form a graph: which devices each branch has, and how it is split."""
import argparse
import json
from typing import Any, Dict, List, Mapping, Optional

from .._core.command_words import option_word
from .._core.graph_split import GraphSplit, split_layer_graph
from .._core.progress import ProgressBar
from .._core.writing import ending_of
from ..readers.config_file import config_of_values
from .bound_telling import bound_text
from .printing import print_text
from .usage import UsageError

# What a problem of layers that form a graph may have. All else is refused unless it has its usual value.
KNOWN = ("num_devices", "num_batches", "layers", "p2p_time", "p2p_bandwidth", "mem_limit", "mem_other", "device_speeds", "device_scale",
         "device_overhead", "op_overhead", "device_types", "layer_types", "type_names", "chunks", "split_backward", "forward_only", "effort", "units", "options", "config", "json", "quiet", "top", "output", "measurement", "objective")
USUAL = {"data_parallel_size": 1}  # beside the defaults of options
WRITTEN = (".json", ".txt")
EFFORT = 4


def _refuse_rest(values: Mapping[str, Any]) -> None:
    usual = {**values.get("usual_of", dict)(), **USUAL}
    other = next((name for name, value in values.items() if name not in (*KNOWN, "usual_of") and value not in (None, False, 0, (), [], {}, usual.get(name))), None)
    if other is not None:
        raise UsageError(f"{option_word(other)} is not for layers that form a graph (after); leave it out")
    if values.get("objective") not in (None, "makespan", "throughput"):
        raise UsageError(f"--objective {values['objective']} is not for layers that form a graph (after); give makespan, or throughput for a problem with only forwards")
    if values["options"]:
        raise UsageError(f"option {next(iter(values['options']))} is not for layers that form a graph (after); leave it out")
    for name, word in (("num_devices", "--devices"), ("num_batches", "--microbatches")):
        if values.get(name) is None:
            raise UsageError(f"give {word}, or a config file with {name}")


def _row(found: GraphSplit) -> Dict[str, Any]:
    metrics = found.timeline.metrics
    repeated = {} if found.period is None else {"period": found.period, "throughput": found.config.microbatches / found.period if found.period > 0 else None}
    return {"strategy": "auto", "step_time": metrics.makespan, **repeated, "bound": found.bound, "proved": found.proved, "order_bound": found.order_bound,
            "peak_memory": metrics.peak_memory, "branches": found.branches, "config": {**found.keys, "strategy": "auto", **({} if found.period is None else {"options": {"objective": "throughput"}})}}


def _devices(values: List[int]) -> str:
    own = sorted(set(values))
    text = f"device {own[0]}" if len(own) == 1 else f"devices {own[0]}-{own[-1]}"
    return text if len(own) == len(values) else f"{text} with {len(values) // len(own)} stages each"


def _text(found: GraphSplit) -> str:
    metrics = found.timeline.metrics
    head = f"step {metrics.makespan:g}, {metrics.bubble.of_total:.2%} bubble, peak memory {metrics.peak_memory:g}\n"
    lines = [f"{' '.join(own['entries'])}: {_devices(own['devices'])}, layers per stage "
             f"{' '.join(map(str, own['layers']))}" + (f", recompute {own['recompute']}" if own["recompute"] else "") + "\n" for own in found.branches]
    if found.period is not None:
        head += f"time of all microbatches in the long run {found.period:g}\n"
    text = head + "".join(lines) + bound_text({"bound": found.bound, "proved": found.proved}, found.step)
    if not found.proved and found.order_bound is not None and found.order_bound > found.bound:
        text += f"no order of these stages {'is shorter' if found.period is None else 'repeats faster'} than {found.order_bound:g}\n"
    return text


def _chunks(given: Any) -> List[int]:
    return [1] if given is None else given if isinstance(given, list) else [given]


def _answer(found: List[GraphSplit], path: Optional[str], is_json: bool, names: Mapping[str, List[str]]) -> str:
    if is_json or (path is not None and ending_of(path, (".json",))):
        return json.dumps([{**_row(own), **names} for own in found]) + "\n"
    return "\n".join(map(_text, found))


def pick_layer_graph(arguments: argparse.Namespace, values: Dict[str, Any]) -> None:
    _refuse_rest(values)
    wrong = next((path for path in arguments.output if not ending_of(path, WRITTEN)), None)
    if wrong is not None or arguments.format is not None:
        what = f"-o {wrong}" if wrong is not None else f"--format {arguments.format}"
        raise UsageError(f"{what}: for layers that form a graph, pick writes .json and .txt; schedule -c writes the schedule of the \"config\" in the json")
    base = config_of_values({**{name: value for name, value in values.items() if name not in ("layers", "options")}, "options": {}})
    with ProgressBar() as bar:
        found = split_layer_graph(base, values["layers"], effort=values.get("effort") or EFFORT, top=arguments.top, chunks=_chunks(values.get("chunks")),
                                  objective=values.get("objective") or "makespan", progress=bar)
    names = {"device_types": values["type_names"]} if values.get("type_names") else {}
    texts = [(path, _answer(found, path, arguments.json, names)) for path in [None, *arguments.output]]
    for path, text in texts:
        print_text(text, path)
