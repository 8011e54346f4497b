# SPDX-License-Identifier: Apache-2.0
"""Makes the ppsched schedule command that builds a candidate of a plan again."""
import json
from typing import TYPE_CHECKING, Dict, List, Optional, Sequence

from ._abi import Lowering, Placement, SenderWaits
from .candidate import Candidate
from .config import QUANTITIES, Config
from .layer_words import OF_LAYERS, UNREAD, split_words
from .layers import Layers
from .lowering import prefetch_of
from .model_end import ModelEnd, model_end
from .robust_objective import robust_objective_words
from .same_units import places, worded
from .strategy import find_strategy
from .units import Units
from .windows import OF_WINDOWS, StageWindows

if TYPE_CHECKING:
    from .plan import Plan

OF_CANDIDATES = "mem_limit"  # the list of numbers that may differ by candidate


SIZES = {"num_devices": "--devices", "num_stages": "--stages", "num_batches": "--microbatches"}  # options that have a name of their own


def option_word(name: str) -> str:
    return SIZES.get(name) or "--" + name.replace("_", "-")


def is_own(plan: "Plan", candidate: Candidate) -> bool:
    """Whether the candidate's costs differ from those of the plan's config: it has slices, or another order of microbatches."""
    return candidate.ordered or candidate.slices != plan.config.slices


def list_words(config: Config, name: str) -> List[str]:
    """The option for a list of numbers, if it was given."""
    values: List[float] = getattr(config, name)
    values = values[:1] if len(set(values)) == 1 else values
    return [option_word(name), *(config.units.word(name, value) for value in values)] if values else []


def _windows_row(stage: StageWindows, units: Units) -> Dict[str, object]:
    row: Dict[str, object] = {}
    for name, windows in stage.lists.items():
        if windows:
            row[name] = [[channel, units.word("window_time", time) if units.time else time, *([after] if after else [])]
                         for channel, time, after in windows]
    return {**row, **({"slowdown": stage.slowdown} if stage.slowdown else {})}


def _windows_words(config: Config) -> List[str]:
    """The windows of stages as JSON."""
    if not config.windows:
        return []
    rows = [_windows_row(stage, config.units) for stage in config.windows]
    return ["--windows", json.dumps(rows[0] if len(rows) == 1 else rows)]


def cost_words(config: Config, has_layers: bool = False) -> List[str]:
    """The options for all lists except memory limits; with layers also without lists of stages, which are not read."""
    unread = (OF_CANDIDATES, *OF_LAYERS, *UNREAD) if has_layers else (OF_CANDIDATES,)
    if config.windows:
        unread = (*unread, *OF_WINDOWS, *(() if config._pairs_given else ("overlapped_times",)))
    return [*_windows_words(config), *(word for name in QUANTITIES if name not in unread for word in list_words(config, name))]


def _option_words(plan: "Plan", candidate: Candidate) -> List[str]:
    """The options of the strategy: those of the candidate, else those of the config that the strategy has."""
    known = [option.name for option in find_strategy(candidate.strategy).options]
    options: Dict[str, object] = {name: value for name, value in plan.config._options.items() if name in known}
    options.update(candidate.options)
    return [word for name, value in options.items() for word in ("--set", f"{name}={value}")]


def map_words(config: Config) -> List[str]:
    """The device of each stage, or its devices as 0+1; empty if the placement has a name."""
    return ["+".join(map(str, entry)) if isinstance(entry, list) else str(entry) for entry in config._map]


def _size_words(config: Config, has_layers: bool) -> List[str]:
    stages = [] if has_layers else ["--stages", str(config.stages)]  # the split says how many
    words = ["--devices", str(config.devices), *stages, "--microbatches", str(config.microbatches)]
    if config.iterations != 1:
        words += ["--iterations", str(config.iterations)]
    if config.slices != 1:
        words += ["--slices", str(config.slices)]
    if not config.split_backward:
        words.append("--whole-backwards")
    if config.forward_only:
        words.append("--forward-only")
    if config.sender_waits != SenderWaits.NEVER:
        words += ["--sender-waits", config.sender_waits.name.lower()]
    if config._weight_versions:
        words += ["--weight-versions", str(config._weight_versions)]
    if config._asked_placement != Placement.DEFAULT:
        words += ["--placement", *(map_words(config) or [config.placement.name.lower()])]
    return words


def _end_words(name: str, end: Optional[ModelEnd], units: Units) -> List[str]:
    record = model_end(name, end)
    return [option_word(name), *(f"{key}={units.word(key, getattr(record, key))}" for key in end)] if end else []


SHARING = ("vocab_1f1b", "interlaced")  # strategies whose devices share the head


def _layers_word(layers: Layers, units: Units) -> str:
    """The layers as JSON."""
    values = json.loads(json.dumps({"layers": layers.given}, default=float))
    for place in places(values, {}):
        place.put(worded(place.name, place.value, units))
    return json.dumps(values["layers"])


def _resizing_words(plan: "Plan", candidate: Candidate, costs: Sequence[str]) -> List[str]:
    """The options that convert costs to the candidate's numbers of stages and microbatches. A config file may list chunks to try, so they
    are then always given."""
    from_file = "-c" in costs or "--config" in costs
    words: List[str] = []
    divided = candidate.stages != plan.config.stages and plan.layers is None
    if divided or (from_file and plan.layers is None and candidate.chunks and not plan.config._map):
        words += ["--chunks", str(candidate.chunks)]
    if candidate.strategy in SHARING and not divided:
        words += _end_words("head", plan.head, plan.config.units)
    if divided:
        words += _end_words("embedding", plan.embedding, plan.config.units) + _end_words("head", plan.head, plan.config.units)
    if candidate.microbatches != plan.config.microbatches:
        words += ["--microbatch-count", str(candidate.microbatches)]
    return words


def _lowering_words(plan: "Plan") -> List[str]:
    if plan.lowering == Lowering.NONE:
        return []
    channel = plan._channel
    order = channel.order if isinstance(channel.order, str) else channel.order.name
    flags = [option_word(name) for name in ("rendezvous", "batched", "blocking") if getattr(channel, name)]
    passes = plan._passes
    sharding = ["--unshard", str(passes.unshard), "--unshard-lookahead", passes.unshard_lookahead] if passes.unshard else []
    if passes.reduce_grad:
        sharding += ["--reduce-grad", *{3: ["waits"], 4: ["deferred"]}.get(passes.reduce_grad, [])]
    if passes.reduce_every > 1:
        sharding += ["--reduce-every", str(passes.reduce_every)]
    if passes.receive_prefetch != prefetch_of(plan.lowering, None, channel.blocking):
        sharding += ["--receive-prefetch", str(passes.receive_prefetch)]
    return ["--lower", plan.lowering.name.lower(), *sharding, *(["--channel", order.lower()] if order.lower() != "none" else []), *flags]


def _offload_words(plan: "Plan", candidate: Candidate) -> List[str]:
    if not candidate.offloaded:
        return []
    return ["--offload", "limit" if plan.config_of(candidate).mem_limit else "all"]


def _device_order_words(plan: "Plan", candidate: Candidate) -> List[str]:
    """Which device stands where, where the plan found that; costs number devices as the plan's config does."""
    order = plan.device_order(candidate)
    return [] if order == sorted(order) else ["--device-order", *map(str, order)]


def _by_place(words: List[str], order: List[int]) -> List[str]:
    """Words of slow ranks and links, by the places that their devices have."""
    moved = list(words)
    for i, option in enumerate(words[:-1]):
        *devices, factor = words[i + 1].split(":")
        if option in ("--slow-rank", "--slow-link"):
            moved[i + 1] = ":".join([*(str(order.index(int(device))) for device in devices), factor])
    return moved


def _limit_words(plan: "Plan", candidate: Candidate) -> List[str]:
    """Memory limits: the candidate's own one, or those of the plan's devices."""
    own = plan.config_of(candidate)
    return list_words(own if len(set(own.mem_limit)) < 2 else plan.config, OF_CANDIDATES)


def schedule_words(plan: "Plan", candidate: Candidate, costs: Optional[Sequence[str]] = None) -> List[str]:
    """The words of the command. costs: words for times and memory instead of the lists of numbers, such as ["-c", "problem.yaml"]."""
    robust = robust_objective_words(plan, candidate.strategy)
    words = ["ppsched", "schedule", "--strategy", candidate.strategy, *_option_words(plan, candidate)]
    if is_own(plan, candidate):
        own = plan.config_of(candidate)
        words += _by_place(robust, plan.device_order(candidate))
        return [*words, *_size_words(own, False), *cost_words(own), *list_words(own, OF_CANDIDATES), *_lowering_words(plan), *_offload_words(plan, candidate)]
    model = plan.model(candidate)
    words += robust + _size_words(plan.config, model is not None) + (cost_words(plan.config, model is not None) if costs is None else list(costs))
    words += _limit_words(plan, candidate) + _device_order_words(plan, candidate)
    if model is not None:
        words += split_words(model)
        if costs is None:
            words += ["--layers", _layers_word(model.layers, plan.config.units)]
    return words + _resizing_words(plan, candidate, costs or ()) + _lowering_words(plan) + _offload_words(plan, candidate)
