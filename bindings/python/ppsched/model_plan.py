# SPDX-License-Identifier: Apache-2.0
"""The plan of a job: its layers in the plan of schedules, memory of each device by cause, and the time of a step."""
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from ._library import Error
from .microbatches import one_number
from .model_estimate import (GIB, Calibrated, DeviceMemory, calibrated, even_memory, kept_of, links_of, memory_by_kind, once_a_step,
                             speed, stage_names, states_of)
from .model_options import Job
from .model_profile import MEASURED, stage_factors
from .plan import Candidate, Plan
from .timeline import Timeline

Planner = Callable[[Mapping[str, Any]], Plan]
_OVER = 1e-9  # by so much more than a limit the library holds to be rounding
_GENTLE = 4   # plans after which the room for another shrinks ever faster, so that there are a few dozens at most


class Step(NamedTuple):
    """Seconds of a step, and what they are of: the pipeline, the optimizer, gradients and weights between replicas; and what it
    is in tokens a second and in the share of all devices' matrix rate."""

    step_time: float
    pipeline_time: float
    optimizer_time: float
    data_parallel_time: float
    tokens_per_second: float
    mfu: float


class JobPlan(NamedTuple):
    """A job with its plan; limit: of each device, in bytes, buffers included; attention_share: of times, where slices are tried."""

    job: Job
    plan: Plan
    measured: Calibrated
    limit: float
    attention_share: Optional[float] = None


# --- what fits ---

def states_needed(job: Job) -> float:
    """Of the device that holds most, whatever runs."""
    return max(memory.total - memory.activations for memory in even_memory(job._replace(vpp=1)))


class DoesNotFit(Error):
    """A job for which there is no room; limit: of a device, in bytes; made: its plan, where it came to that."""

    limit = 0.0
    made: Optional[JobPlan] = None


def check_states(job: Job, limit: float) -> None:
    """Refuses what no schedule can make fit."""
    needed = states_needed(job)
    if needed >= limit:
        error = DoesNotFit(f"weights, gradients and optimizer states take {needed / GIB:.1f} GiB of a device, of which there are "
                           f"{limit / GIB:.1f}")
        error.limit = limit
        raise error


# --- memory ---

def _buffer_bytes(job: Job, recomputed: List[List[Tuple[str, str]]]) -> List[float]:
    """Of each device: what is received and sent, a tensor each way forward and backward; with recomputation the largest layer that
    comes back for its backward."""
    held = memory_by_kind(job.model)
    ends = 4 * held["head"].output_bytes if job.pp > 1 else 0.0
    returned = [[held[name].activations - kept_of(held[name], kind) for name, kind in layers] for layers in recomputed]
    return [ends + max(layers, default=0.0) for layers in returned]


def _stages_on(timeline: Timeline) -> List[List[int]]:
    return [sorted({op.stage for op in queue if op.stage is not None and op.stage < timeline.schedule.stages})
            for queue in timeline.schedule.queues]


def candidate_memory(made: JobPlan, candidate: Candidate, timeline: Timeline) -> List[DeviceMemory]:
    """Of each device by cause, with the candidate's split and order."""
    layers, split = made.measured.layers, made.plan.split(candidate)
    held, kinds, names = memory_by_kind(made.job.model), layers.kinds, layers.names
    stages = stage_names(names, split.layers, made.job.model.transformer.tied)
    words: List[List[Tuple[str, str]]] = []
    end = 0
    for count in split.layers:
        own = range(end, end + count)
        words.append([(names[layer], kinds[layer][split.recomputes[layer] - 1]) for layer in own if split.recomputes[layer]])
        end += count
    memory = []
    for device, own_stages in enumerate(_stages_on(timeline)):
        held_names = [name for stage in own_stages for name in stages[stage]]
        states = states_of(held_names, held)
        buffers = _buffer_bytes(made.job, [[word for stage in own_stages for word in words[stage]]])[0]
        activations = max(timeline.device_metrics[device].peak_memory - sum(states[:3]), 0.0)
        memory.append(DeviceMemory(states[0], states[1], states[2], activations, buffers, states[3], states[4],
                                   held_names.count("embedding")))
    return memory


def candidate_step(made: JobPlan, candidate: Candidate, memory: List[DeviceMemory]) -> Step:
    optimizer, between = once_a_step(made.job, memory)
    pipeline = candidate.step_time or 0.0
    whole = pipeline + optimizer + between
    return Step(whole, pipeline, optimizer, between, *speed(made.job, whole))


# --- the plan ---

def _problem(job: Job, measured: Calibrated, values: Mapping[str, Any], limit: float) -> Dict[str, Any]:
    """The values of the plan: the layers, and what goes with them; what was given stays."""
    given = {name: value for name, value in values.items() if value is not None}
    defaults: Dict[str, Any] = links_of(job)
    return {**values, **defaults, **{name: given[name] for name in defaults if name in given}, "layers": measured.layers.given,
            "num_layers": None, "num_devices": job.pp, "num_stages": None, "num_batches": job.microbatches, "mem_limit": [limit]}


def _attention_share(job: Job, values: Mapping[str, Any], measured: Calibrated) -> Optional[float]:
    """As it is given, else what the model's description says where slices are tried."""
    given = values.get("attention_share")
    if given is not None:
        return one_number("attention_share", given)
    return job.model.attention_share(measured.layers) if values.get("slice_counts") is not None else None


def plan_job(job: Job, values: Mapping[str, Any], planner: Planner) -> JobPlan:
    """The plan whose best candidate fits with its buffers; planned anew with less room where recomputation needs more of them."""
    device = job.model.accelerator
    assert device is not None
    given = values.get("mem_limit")
    if isinstance(given, list) and len(given) > 1:
        raise Error(f"--mem-limit holds {len(given)} numbers; with --model it is one, of every device")
    limit = float(given[0] if isinstance(given, list) else given) if given is not None else device.memory
    check_states(job, limit)
    measured = calibrated(job, values, *stage_factors(job, values))
    values = {**values, **dict.fromkeys(MEASURED), "attention_share": _attention_share(job, values, measured)}
    room, tries = limit - _buffer_bytes(job, [[]])[0], 0
    while True:
        made = JobPlan(job, planner(_problem(job, measured, values, room)), measured, limit, values["attention_share"])
        if made.plan.best is None:
            return made
        most = max(candidate_memory(made, made.plan.best, made.plan.timeline(made.plan.best)), key=lambda memory: memory.total)
        if most.total <= limit * (1 + _OVER):
            return made
        tries += 1
        less = room - (most.total - limit) * 2**max(0, tries - _GENTLE)
        if most.total - most.buffers <= less:  # which would find the same plan
            less = limit - most.buffers
        room = max(0.0, less)  # without any nothing fits
