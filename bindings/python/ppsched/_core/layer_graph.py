# SPDX-License-Identifier: Apache-2.0
"""Models whose layers form a graph: its branches, and the problem of stages that a split of each branch makes."""
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from ._library import Error
from .config import OF_RUN, QUANTITIES, Config
from .layers import OF_GRAPH, Layers, Split, config_from_layers
from .number_lists import integer
from .shown import shown
from .units import Units

PASSES = ("FB", "FI", "F")
NOT_OF_GRAPHS = ("tied", "copies_embedding", "not_copied", "device_scale", "windows")


class Branch(NamedTuple):
    """A chain of layers. inputs: the branches whose last layers feed its first layer; blocks: numbers of layers that stay together, in order;
    time: F and backward of each block; kinds: names of its kinds of recomputation, after "" for none."""

    layers: Layers
    entries: List[int]
    inputs: List[int]
    passes: str
    microbatches: Optional[List[int]]
    blocks: List[int]
    kinds: List[str]


class BranchSplit(NamedTuple):
    """A branch on consecutive devices from `first` on, a stage on each. layers: number of layers of each stage; recompute: the kind of
    recomputation of all its layers that have it, or "" for none."""

    first: int
    layers: Tuple[int, ...]
    recompute: str


def is_layer_graph(rows: object) -> bool:
    """Whether some layer says which layers feed it."""
    return isinstance(rows, Sequence) and any(isinstance(row, Mapping) and row.get("after") is not None for row in rows)


# --- the graph of entries ---

def _numbers_by_name(rows: Sequence[Any]) -> Dict[str, List[int]]:
    """The numbers of the entries with each name."""
    numbers: Dict[str, List[int]] = {}
    for number, row in enumerate(rows):
        if isinstance(row.get("name"), str):
            numbers.setdefault(row["name"], []).append(number)
    return numbers


def _entry_number(where: str, numbers: Mapping[str, List[int]], given: object) -> int:
    """An input as a number of an entry: a number, or a name that one entry has."""
    if isinstance(given, str):
        found = numbers.get(given, [])
        if len(found) != 1:
            raise Error(f"{where}: after has {shown(given)}, the name of {len(found) or 'no'} entries; give the number of an entry" if len(found) > 1
                        else f"{where}: after has {shown(given)}, but no entry has that name")
        return found[0]
    return integer(f"{where}: after", given)


def _inputs_of(rows: Sequence[Any], numbers: Mapping[str, List[int]], number: int) -> List[int]:
    row = rows[number]
    where = f"layer entry {number} ({row.get('name', 'without a name')})"
    given = row.get("after")
    if given is None:
        return [number - 1] if number > 0 else []
    if not isinstance(given, Sequence) or isinstance(given, str):
        raise Error(f"{where}: after must be a list of names or numbers of entries, not {shown(given)}")
    inputs = [_entry_number(where, numbers, one) for one in given]
    for found in inputs:
        if not 0 <= found < number:
            raise Error(f"{where}: after has entry {found}; a layer comes after entries before it, so it must be 0 to {number - 1}" if number
                        else f"{where}: the first entry comes after no other")
    if len(set(inputs)) < len(inputs):
        raise Error(f"{where}: after has an entry twice")
    return inputs


def _passes_of(where: str, row: Mapping[str, Any]) -> Tuple[str, Optional[List[int]]]:
    passes, microbatches = row.get("passes", "FB"), row.get("microbatches")
    if passes not in PASSES:
        raise Error(f"{where}: passes is {shown(passes)}; it must be FB, FI or F")
    if microbatches is not None and (not isinstance(microbatches, Sequence) or isinstance(microbatches, str)):
        raise Error(f"{where}: microbatches must be a list of numbers, not {shown(microbatches)}")
    return passes, None if microbatches is None else [integer(f"{where}: microbatches", one) for one in microbatches]


def _checked(rows: Sequence[Any]) -> None:
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise Error(f"layer entry {number} must be a mapping, not {shown(row)}")
        wrong = next((name for name in NOT_OF_GRAPHS if row.get(name)), None)
        if wrong is not None:
            raise Error(f"layer entry {number} ({row.get('name')}): {wrong} is only for layers in a chain; leave it out, or leave out after")


def _blocks_of(rows: Sequence[Mapping[str, Any]], layers: Layers) -> List[int]:
    """Numbers of layers that stay together: those with `with_next`, and those of the first or the last stage."""
    blocks: List[int] = []
    joins, place = False, None
    entries = layers._entries()
    for row, entry in zip(rows, entries):
        for _ in range(entry.count):
            together = joins or (entry.place != 0 and entry.place == place)
            if together:
                blocks[-1] += 1
            else:
                blocks.append(1)
            joins, place = bool(row.get("with_next")), entry.place
    return blocks


def branches_of(rows: Sequence[Any]) -> List[Branch]:
    """The branches of layers, each after its inputs. An entry with "after" begins a branch. One without goes on with the branch of the entry
    before, if that feeds no other entry, and runs the same passes and microbatches."""
    _checked(rows)
    numbers = _numbers_by_name(rows)
    inputs = [_inputs_of(rows, numbers, number) for number in range(len(rows))]
    runs = [_passes_of(f"layer entry {number} ({row.get('name')})", row) for number, row in enumerate(rows)]
    feeds = Counter(itertools.chain.from_iterable(inputs))
    branch_of: List[int] = []
    entries: List[List[int]] = []
    for number, own in enumerate(inputs):
        goes_on = number > 0 and rows[number].get("after") is None and feeds[own[0]] == 1 and runs[own[0]] == runs[number]
        if goes_on:
            entries[branch_of[own[0]]].append(number)
        else:
            entries.append([number])
        branch_of.append(branch_of[own[0]] if goes_on else len(entries) - 1)
    branches = []
    for own in entries:
        given: List[Any] = [{key: value for key, value in rows[number].items() if key not in OF_GRAPH} for number in own]
        if given[-1].get("with_next"):
            raise Error(f"layer entry {own[-1]} ({rows[own[-1]].get('name')}): with_next, but no next layer is in its branch")
        layers = Layers(given)
        kinds = list(dict.fromkeys(kind for names in layers.kinds for kind in names))
        branches.append(Branch(layers, own, [branch_of[number] for number in inputs[own[0]]], *runs[own[0]], _blocks_of(given, layers), ["", *kinds]))
    return branches


# --- the problem of stages ---

def _recomputes(branch: Branch, kind: str) -> List[int]:
    return [names.index(kind) + 1 if kind in names else 0 for names in branch.layers.kinds] if kind else []


def stage_costs(config: Config, branch: Branch, layers: Sequence[int], kind: str) -> Dict[str, List[float]]:
    """The costs of a branch's stages, by quantity."""
    stages = len(layers)
    base = Config(stages, 1, stages, split_backward=config.split_backward)
    made = config_from_layers(base, branch.layers, Split(list(layers), _recomputes(branch, kind)))
    costs = {name: list(getattr(made, name)) for name in QUANTITIES if name not in OF_RUN}
    return {name: own * stages if len(own) == 1 else own for name, own in costs.items() if own}


def _by_stage(parts: List[Dict[str, List[float]]], counts: List[int]) -> Dict[str, List[float]]:
    """Costs of all branches' stages in a row; 0 where a branch has no such cost."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: [value for part, count in zip(parts, counts) for value in part.get(name, [0.0] * count)] for name in names}


def keys_of_splits(config: Config, branches: Sequence[Branch], splits: Sequence[BranchSplit]) -> Dict[str, Any]:
    """The keys of a config file with the problem of stages: those of each branch in a row."""
    counts = [len(split.layers) for split in splits]
    starts = [0, *itertools.accumulate(counts)]
    inputs: List[List[int]] = []
    for branch, start, count in zip(branches, starts, counts):
        inputs += [[starts[own] + counts[own] - 1 for own in branch.inputs]] + [[start + s] for s in range(count - 1)]
    costs = _by_stage([stage_costs(config, branch, split.layers, split.recompute) for branch, split in zip(branches, splits)], counts)
    run = {name: list(getattr(config, name)) for name in OF_RUN if name in QUANTITIES and getattr(config, name)}
    return {"num_devices": config.devices, "num_batches": config.microbatches, "num_stages": sum(counts),
            "placement": [split.first + s for split, count in zip(splits, counts) for s in range(count)], "stage_inputs": inputs,
            "stage_passes": [branch.passes for branch, count in zip(branches, counts) for _ in range(count)],
            "stage_microbatches": [branch.microbatches for branch, count in zip(branches, counts) for _ in range(count)],
            "split_backward": config.split_backward, **run, **costs}


def config_of_keys(keys: Mapping[str, Any], options: Mapping[str, Any], units: Units) -> Config:
    """The problem of such keys, without a file."""
    own: Any = {name: value for name, value in keys.items() if name not in ("num_devices", "num_batches", "num_stages")}
    return Config(keys["num_devices"], keys["num_batches"], keys["num_stages"], options=dict(options), units=units, **own)
