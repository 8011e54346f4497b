# SPDX-License-Identifier: Apache-2.0
"""The plan of a job: the plan for its layers, the memory of each device by cause, and the time of a step."""
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

from .._core._library import Error
from .._core.candidate import Candidate
from .._core.plan import Plan
from .._core.timeline import Timeline
from .device_types import Unlike, types_of_job, unlike_devices
from .microbatch_options import one_number
from .model_estimate import (GIB, Calibrated, DeviceMemory, calibrated, even_memory, links_of, memory_by_kind, copies_time, scaled_factors,
                             speed, stage_names, states_of, update_time_on)
from .model_options import Job
from .model_profile import MEASURED, stage_factors

Planner = Callable[[Mapping[str, Any]], Plan]


class Step(NamedTuple):
    """The time of a step in seconds and its parts: the pipeline, the optimizer, and gradients and weights between replicas. Also tokens per
    second, and MFU, the share of all devices' matrix rate."""

    step_time: float
    pipeline_time: float
    optimizer_time: float
    data_parallel_time: float
    tokens_per_second: float
    mfu: float


class JobPlan(NamedTuple):
    """A job with its plan. limit: memory limit of each device in bytes, including buffers, of the roomiest type; unlike: its
    devices of several types; attention_share: the mean share of causal
    attention in the times, if slices are tried. Each stage has the share of
    its layers, unless one was given."""

    job: Job
    plan: Plan
    measured: Calibrated
    limit: float
    attention_share: Optional[float] = None
    unlike: Optional[Unlike] = None


# --- whether it fits ---

def states_needed(job: Job) -> float:
    """The static memory of the device that holds most; no schedule can do with less."""
    return max(memory.total - memory.activations for memory in even_memory(job._replace(vpp=1)))


class DoesNotFit(Error):
    """A job that does not fit. limit: memory limit of a device in bytes; made: its plan, if there is one."""

    limit = 0.0
    made: Optional[JobPlan] = None


def check_states(job: Job, limit: float) -> None:
    """Refuses a job whose static memory exceeds the limit, so that no schedule can fit."""
    needed = states_needed(job)
    if needed >= limit:
        error = DoesNotFit(f"weights, gradients and optimizer states take {needed / GIB:.1f} GiB of a device, which has "
                           f"{limit / GIB:.1f} GiB")
        error.limit = limit
        raise error


# --- memory ---

def buffer_bytes(job: Job) -> float:
    """The buffers of a device in bytes: one tensor each for sends and receives, forward and backward, at the boundary that has the most."""
    return 4 * max(layer["output_bytes"] for layer in job.model.layers().given) if job.pp > 1 else 0.0


def _stages_on(timeline: Timeline) -> List[List[int]]:
    return [sorted({op.stage for op in queue if op.stage is not None and op.stage < timeline.schedule.stages})
            for queue in timeline.schedule.queues]


def candidate_memory(made: JobPlan, candidate: Candidate, timeline: Timeline) -> List[DeviceMemory]:
    """The memory of each device by cause, with the candidate's split and order."""
    layers, split = made.measured.layers, made.plan.split(candidate)
    held = memory_by_kind(made.job.model)
    stages = stage_names(layers.names, split.layers, made.job.model.description.tied)
    buffers = buffer_bytes(made.job)
    memory = []
    for device, own_stages in enumerate(_stages_on(timeline)):
        held_names = [name for stage in own_stages for name in stages[stage]]
        states = states_of(held_names, held)
        activations = max(timeline.device_metrics[device].peak_memory - sum(states[:3]), 0.0)
        memory.append(DeviceMemory(states[0], states[1], states[2], activations, buffers, states[3], states[4],
                                   held_names.count("embedding"), states[5], states[6]))
    return memory


def _once(made: JobPlan, candidate: Candidate, memory: List[DeviceMemory]) -> Tuple[float, float]:
    """Optimizer time, and exposed time between replicas, of the slowest of devices."""
    given = made.plan.config.device_speeds
    speeds = [given[device] if len(given) > 1 else given[0] if given else 1.0 for device in made.plan.device_order(candidate)]
    order = candidate.device_order or range(len(memory))
    models = [made.unlike.models[device] if made.unlike is not None else made.job.model for device in order]
    optimizer, between = update_time_on(models, speeds, memory, made.job.pipeline)
    return optimizer, between + copies_time(made.job, memory)


def _rate_share(made: JobPlan) -> float:
    """The matrix rate of the first type, by which MFU is counted, over the mean rate of all devices."""
    if made.unlike is None:
        return 1.0
    rates = [model.accelerator.matrix_rate for model in made.unlike.models if model.accelerator is not None]
    return rates[0] * len(rates) / sum(rates)


def candidate_step(made: JobPlan, candidate: Candidate, memory: List[DeviceMemory]) -> Step:
    optimizer, between = _once(made, candidate, memory)
    pipeline = candidate.step_time or 0.0
    whole = pipeline + optimizer + between
    rate, mfu = speed(made.job, whole)
    return Step(whole, pipeline, optimizer, between, rate, mfu * _rate_share(made))


# --- the plan ---

def _problem(job: Job, measured: Calibrated, values: Mapping[str, Any], limit: float) -> Dict[str, Any]:
    """The values of the plan: the layers and the sizes and links of the job. Given links take precedence."""
    given = {name: value for name, value in values.items() if value is not None}
    defaults: Dict[str, Any] = links_of(job)
    return {**values, **defaults, **{name: given[name] for name in defaults if name in given}, "layers": measured.layers.given,
            "num_layers": None, "num_devices": job.pp, "num_stages": None, "num_batches": job.microbatches, "mem_limit": [limit]}


def _attention_share(job: Job, values: Mapping[str, Any], measured: Calibrated) -> Optional[float]:
    """The given share, else the estimate from the model if slices are tried."""
    given = values.get("attention_share")
    if given is not None:
        return one_number("attention_share", given)
    return job.model.attention_share(measured.layers) if values.get("slice_counts") is not None else None


def plan_job(job: Job, values: Mapping[str, Any], planner: Planner) -> JobPlan:
    """Makes the plan of a job. The memory of buffers is subtracted from the limit."""
    device = job.model.accelerator
    assert device is not None
    given = values.get("mem_limit")
    if isinstance(given, list) and len(given) > 1:
        raise Error(f"--mem-limit has {len(given)} numbers; with --model give one, for all devices")
    limit = float(given[0] if isinstance(given, list) else given) if given is not None else device.memory
    types = types_of_job(values) if values.get("device_types") is not None else None
    if types is not None:
        if values.get("step_time") is not None or values.get("tokens_per_second") is not None:
            raise Error("--step-time, --tokens-per-second: they scale the times of equal devices; with --device-types give --layer-times")
        limit = max(unlike_devices(types, job.model, job.pp, job.model.layers().given, float(given[0] if isinstance(given, list) else given)
                                   if given is not None else None, 0.0).limits)
    check_states(job, limit)
    factors, told = stage_factors(job, values)
    measured = calibrated(job, values, {**scaled_factors(job), **factors}, told)
    share, values = _attention_share(job, values, measured), {**values, **dict.fromkeys(MEASURED)}
    if share is not None and values.get("attention_share") is None:
        measured = measured._replace(layers=job.model.with_attention_shares(measured.layers))
    if types is not None:
        asked = float(given[0] if isinstance(given, list) else given) if given is not None else None
        unlike = unlike_devices(types, job.model, job.pp, measured.layers.given, asked, buffer_bytes(job), values.get("device_speeds"),
                                values.get("device_overhead"))
        given_links = {name: values[name] for name in ("p2p_time", "p2p_bandwidth") if values.get(name) is not None}
        problem = {**_problem(job, measured, values, limit), **unlike.values, **given_links, "device_types": None}
        return JobPlan(job, planner(problem), measured, limit, share, unlike)
    room = max(0.0, limit - buffer_bytes(job))  # with 0 nothing fits
    return JobPlan(job, planner(_problem(job, measured, values, room)), measured, limit, share)
