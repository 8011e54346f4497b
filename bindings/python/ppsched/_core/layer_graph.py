# SPDX-License-Identifier: Apache-2.0
"""Models whose layers form a graph: its branches, and the problem of stages that a split of each branch makes."""
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from ._abi import LayerPlace
from ._library import Error
from .config import OF_RUN, PASSES, QUANTITIES, Config
from .layers import OF_GRAPH, Layers, Split, config_from_layers, numbers_by_type
from .number_lists import integer
from .shown import shown
from .units import Units

NOT_OF_GRAPHS = ("windows",)
OF_MODEL = ("tied", "copies_embedding", "not_copied", "device_scale")  # keys of a layer that concern stages of other branches, or devices


class Branch(NamedTuple):
    """A chain of layers. layers: by type of device; inputs: the branches whose last layers feed its first layer; blocks: numbers of layers that
    stay together, in order; kinds: names of its kinds of recomputation, after "" for none; rows: those of its entries."""

    layers: List[Layers]
    entries: List[int]
    inputs: List[int]
    passes: str
    microbatches: Optional[List[int]]
    blocks: List[int]
    kinds: List[str]
    rows: List[Mapping[str, Any]]


class BranchSplit(NamedTuple):
    """A branch on `devices` consecutive devices from `first` on, which its stages go round. layers: number of layers of each stage;
    recompute: the kind of recomputation of all its layers that have it, or "" for none."""

    first: int
    devices: int
    layers: Tuple[int, ...]
    recompute: str

    def device_of(self, stage: int) -> int:
        return self.first + stage % self.devices


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


def _check_flags(rows: Sequence[Mapping[str, Any]], own: Sequence[int], layers: Layers) -> None:
    """tied and not_copied are for layers of a first stage, and copies_embedding for others."""
    for number, entry in zip(own, layers._entries()):
        is_first = entry.place == LayerPlace.FIRST
        for name in ("tied", "copies_embedding", "not_copied"):
            where = f"layer entry {number} ({rows[number].get('name')}): {name}"
            if not isinstance(rows[number].get(name, False), bool):
                raise Error(f"{where} must be true or false, not {shown(rows[number][name])}")
            if rows[number].get(name) and is_first == (name == "copies_embedding"):
                raise Error(f"{where} is only for layers {'after' if is_first else 'of'} the first stage of a branch; "
                            + ("leave it out" if is_first else 'give it "place": "first"'))


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


# --- types of devices ---

def _factors(where: str, row: Mapping[str, Any], types: int) -> List[Sequence[float]]:
    """The factors on the times of F, B, I and W, by type of device."""
    if row.get("device_scale") is None:
        return [(1.0,) * 4] * types
    own: List[Sequence[float]] = [(1.0,) * 4, *numbers_by_type(where, row)]
    if len(own) != types:
        raise Error(f"{where}: device_scale has {len(own) - 1} types of devices, and another layer has {types - 1}; give all layers factors for the same number of types")
    return own


def _of_type(row: Mapping[str, Any], entry: Any, factors: Sequence[float], again: float) -> Dict[str, Any]:
    """A row with its times on a type of device. again: the factor on the time that recomputation adds."""
    whole = entry.backward_time or entry.backward_input_time + entry.backward_weight_time
    times = {"forward_time": entry.forward_time, "backward_time": entry.backward_time, "backward_input_time": entry.backward_input_time,
             "backward_weight_time": entry.backward_weight_time}
    scaled: Dict[str, Any] = {**row, **{name: time * factor for (name, time), factor in zip(times.items(), factors)}}
    if row.get("recompute") is not None:
        own = scaled["backward_time"] or scaled["backward_input_time"] + scaled["backward_weight_time"]
        scaled["recompute"] = [{**kind, "backward_time": own + (kind["backward_time"] - whole) * again} for kind in row["recompute"]]
    return scaled


def _by_type(where: str, rows: Sequence[Mapping[str, Any]]) -> List[List[Any]]:
    """All rows of the model, by type of device; of type 0 as given. Recomputation takes as much longer on a type as all forwards together."""
    types = 1 + max((len(row["device_scale"]) for row in rows if isinstance(row.get("device_scale"), (list, tuple))), default=0)
    factors = [_factors(f"{where} {number} ({row.get('name')})", row, types) for number, row in enumerate(rows)]
    plain = [{key: value for key, value in row.items() if key not in (*OF_GRAPH, *OF_MODEL)} for row in rows]
    found: List[List[Any]] = [plain]
    if types > 1:
        alone: List[Any] = [{**row, "place": "any", "with_next": False} for row in plain]
        entries = [Layers([row])._entries()[0] for row in alone]
        forward = sum(entry.count * entry.forward_time for entry in entries)
        for number in range(1, types):
            longer = sum(entry.count * entry.forward_time * own[number][0] for entry, own in zip(entries, factors))
            found.append([_of_type(row, entry, own[number], longer / forward if forward > 0 else 1.0)
                          for row, entry, own in zip(plain, entries, factors)])
    return found


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
    by_type, branches = _by_type("layer entry", rows), []
    for own in entries:
        given: List[Any] = [by_type[0][number] for number in own]
        if given[-1].get("with_next"):
            raise Error(f"layer entry {own[-1]} ({rows[own[-1]].get('name')}): with_next, but no next layer is in its branch")
        layers = [Layers([of_type[number] for number in own]) for of_type in by_type]
        kinds = list(dict.fromkeys(kind for names in layers[0].kinds for kind in names))
        _check_flags(rows, own, layers[0])
        branches.append(Branch(layers, own, [branch_of[number] for number in inputs[own[0]]], *runs[own[0]], _blocks_of(given, layers[0]), ["", *kinds],
                               [rows[number] for number in own]))
    return branches


# --- the problem of stages ---

def _recomputes(layers: Layers, kind: str) -> List[int]:
    return [names.index(kind) + 1 if kind in names else 0 for names in layers.kinds] if kind else []


def types_of_devices(config: Config, branches: Sequence[Branch]) -> List[int]:
    """The type of each device, as times of layers differ."""
    given = list(config.layer_types) or [0.0]
    types = [int(number) for number in (given * config.devices if len(given) == 1 else given)]
    known = len(branches[0].layers)
    for device, number in enumerate(types):
        if known > 1 and number >= known:
            raise Error(f"layer_types: device {device} has type {number}, and device_scale of the layers has factors for types 1 to {known - 1}")
    return types if known > 1 else [0] * config.devices


def _costs_of_type(config: Config, layers: Layers, counts: Sequence[int], kind: str) -> Dict[str, List[float]]:
    stages = len(counts)
    base = Config(stages, 1, stages, split_backward=config.split_backward)
    made = config_from_layers(base, layers, Split(list(counts), _recomputes(layers, kind)))
    costs = {name: list(getattr(made, name)) for name in QUANTITIES if name not in OF_RUN}
    return {name: own * stages if len(own) == 1 else own for name, own in costs.items() if own}


def stage_costs(config: Config, branch: Branch, layers: Sequence[int], kind: str, types: Sequence[int]) -> Dict[str, List[float]]:
    """The costs of a branch's stages, by quantity. types: of the device of each stage."""
    found = {number: _costs_of_type(config, branch.layers[number], layers, kind) for number in set(types)}
    names = dict.fromkeys(name for costs in found.values() for name in costs)
    return {name: [found[number].get(name, [0.0] * len(layers))[s] for s, number in enumerate(types)] for name in names}


# --- weights that stages share ---

class _Held(NamedTuple):
    """Memory of copies of other layers' weights: mem_static and mem_weights."""

    mem_static: float
    mem_weights: float


def _held_by(branch: Branch, chosen: Callable[[Mapping[str, Any], Any], bool]) -> _Held:
    own = [entry for row, entry in zip(branch.rows, branch.layers[0]._entries()) if chosen(row, entry)]
    return _Held(sum(entry.count * entry.mem_static for entry in own), sum(entry.count * entry.mem_weights for entry in own))


def _is_tied(row: Mapping[str, Any], _: object) -> bool:
    return bool(row.get("tied"))


def _is_copied(row: Mapping[str, Any], entry: Any) -> bool:
    return entry.place == LayerPlace.FIRST and not row.get("not_copied")


def _copies_in(branch: Branch, begin: int, end: int) -> bool:
    """Whether some layer of a stage has copies_embedding."""
    at = 0
    for row, entry in zip(branch.rows, branch.layers[0]._entries()):
        if row.get("copies_embedding") and at < end and begin < at + entry.count:
            return True
        at += entry.count
    return False


def copies_of_stages(branches: Sequence[Branch], counts: Sequence[Sequence[int]]) -> List[List[Tuple[float, float]]]:
    """What each stage of each branch holds of other stages' weights, as mem_static and mem_weights: the last stage of the model those of
    tied layers, and stages with copies_embedding those of layers for a first stage. A stage holds no copy of its own layers."""
    last = max(range(len(branches)), key=lambda b: branches[b].entries[-1])
    tied, copied = ([_held_by(branch, chosen) for branch in branches] for chosen in (_is_tied, _is_copied))
    found: List[List[Tuple[float, float]]] = []
    for b, (branch, own) in enumerate(zip(branches, counts)):
        ends = list(itertools.accumulate(own))
        stages: List[Tuple[float, float]] = []
        for s, (begin, end) in enumerate(zip([0, *ends], ends)):
            parts = [held for other, held in enumerate(tied) if b == last and s + 1 == len(own) and (other != b or s > 0)]
            if _copies_in(branch, begin, end):
                parts += [held for other, held in enumerate(copied) if other != b or s > 0]
            stages.append((sum(held.mem_static for held in parts), sum(held.mem_weights for held in parts)))
        found.append(stages)
    return found


def _by_stage(parts: List[Dict[str, List[float]]], counts: List[int]) -> Dict[str, List[float]]:
    """Costs of all branches' stages in a row; 0 where a branch has no such cost."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: [value for part, count in zip(parts, counts) for value in part.get(name, [0.0] * count)] for name in names}


def keys_of_splits(config: Config, branches: Sequence[Branch], splits: Sequence[BranchSplit]) -> Dict[str, Any]:
    """The keys of a config file with the problem of stages: those of each branch in a row."""
    counts, types = [len(split.layers) for split in splits], types_of_devices(config, branches)
    starts = [0, *itertools.accumulate(counts)]
    inputs: List[List[int]] = []
    for branch, start, count in zip(branches, starts, counts):
        inputs += [[starts[own] + counts[own] - 1 for own in branch.inputs]] + [[start + s] for s in range(count - 1)]
    costs = _by_stage([stage_costs(config, branch, split.layers, split.recompute, [types[split.device_of(s)] for s in range(count)])
                       for branch, split, count in zip(branches, splits, counts)], counts)
    copies = list(itertools.chain.from_iterable(copies_of_stages(branches, [split.layers for split in splits])))
    for name, held in zip(("mem_static", "mem_weights"), zip(*copies)):
        if any(held):
            costs[name] = [own + more for own, more in zip(costs.get(name, [0.0] * sum(counts)), held)]
    run = {name: list(getattr(config, name)) for name in OF_RUN if name in QUANTITIES and name != "layer_types" and getattr(config, name)}
    return {"num_devices": config.devices, "num_batches": config.microbatches, "num_stages": sum(counts),
            "placement": [split.device_of(s) for split, count in zip(splits, counts) for s in range(count)], "stage_inputs": inputs,
            "stage_passes": [branch.passes for branch, count in zip(branches, counts) for _ in range(count)],
            "stage_microbatches": [branch.microbatches for branch, count in zip(branches, counts) for _ in range(count)],
            "split_backward": config.split_backward, **run, **costs}


def config_of_keys(keys: Mapping[str, Any], options: Mapping[str, Any], units: Units) -> Config:
    """The problem of such keys, without a file."""
    own: Any = {name: value for name, value in keys.items() if name not in ("num_devices", "num_batches", "num_stages")}
    return Config(keys["num_devices"], keys["num_batches"], keys["num_stages"], options=dict(options), units=units, **own)
