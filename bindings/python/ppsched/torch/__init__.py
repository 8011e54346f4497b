# SPDX-License-Identifier: Apache-2.0
"""Schedules in PyTorch: runs PyTorch's pipeline runtime with an order of ppsched, and measures a running job.

    import ppsched
    import ppsched.torch
    runtime = ppsched.torch.PlannedSchedule(schedule, stages, loss_fn=loss_fn)
    runtime.step(inputs, target=targets)
    plan = ppsched.plan(ppsched.torch.measure(runtime, inputs, target=targets))
    table = ppsched.torch.measure_layers({"decoder": (block, lambda: (hidden_states,))}, device="cuda")

PyTorch (2.6 to 2.15) is imported at the first use.
"""
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from .._core._abi import Kind, Lowering
from .._core._library import Error, InvalidSchedule
from .._core.enums import member
from .._core.plan import Plan
from .._core.schedule import Schedule
from .._core.shown import shown
from .._core.words import counted
from .installed import Pytorch, pytorch
from .layers import measure_layers
from .measuring import measure

__all__ = ["PlannedSchedule", "measure", "measure_layers", "planned", "stages_of"]

COMPUTE = {Kind.F, Kind.B, Kind.I, Kind.W}
KNOWN = COMPUTE | {Kind.SEND_F, Kind.RECV_F, Kind.SEND_B, Kind.RECV_B, Kind.UNSHARD, Kind.RESHARD, Kind.REDUCE_GRAD,
                   Kind.WAIT_REDUCE_GRAD}
ACTIVE_STAGES = 3  # stages that PyTorch's own lowering keeps gathered at the same time


def planned(plan_or_schedule: Union[Plan, Schedule]) -> Schedule:
    """The schedule itself, or one iteration of a plan's best candidate, not lowered."""
    if isinstance(plan_or_schedule, Schedule):
        return plan_or_schedule
    if not isinstance(plan_or_schedule, Plan):
        raise Error(f"give a ppsched.Plan or a ppsched.Schedule, not {shown(plan_or_schedule)}")
    if plan_or_schedule.best is None:
        raise Error("no candidate of the plan fits; see least_limit() for the least memory under which one fits")
    return plan_or_schedule.iteration(plan_or_schedule.best)


def stages_of(plan_or_schedule: Union[Plan, Schedule], rank: int) -> List[int]:
    """The stages of a rank of the pipeline's group, in ascending order. Create a PipelineStage for each."""
    schedule = planned(plan_or_schedule)
    if not 0 <= rank < schedule.devices:
        raise Error(f"rank is {rank}, but the schedule has {counted(schedule.devices, 'device')}")
    return [stage for stage in range(schedule.stages) if schedule.device_of(stage) == rank]


def _numbered(schedule: Schedule) -> Schedule:
    """Numbers microbatches in the order of the last stage's forwards, because PyTorch computes losses in this order."""
    last = schedule.stages - 1
    device = schedule.device_of(last)
    assert device is not None
    forwards = [op.microbatch for op in schedule.queues[device] if op.kind == Kind.F and op.stage == last]
    if forwards == sorted(forwards, key=lambda microbatch: microbatch or 0):
        return schedule
    made = schedule.renumber()
    if made.config.microbatch_order != schedule.config.microbatch_order:
        raise Error("the last stage runs the microbatches in another order than they are numbered, and they differ in size; pass "
                    f"Schedule.renumber(), and give the run its microbatches in the order {' '.join(map(str, made.config.microbatch_order))}")
    return made


def _refuse(schedule: Schedule) -> None:
    """Refuses schedules with ops that the runtime does not have or would run differently."""
    foreign = schedule.kinds - KNOWN
    if foreign:
        raise Error(f"PyTorch's runtime does not have {', '.join(sorted(kind.name for kind in foreign))}")
    if schedule.iterations != 1:
        raise Error(f"PyTorch's runtime runs one iteration per step; the schedule has {schedule.iterations}")
    schedule.launch("pytorch", csv="schedule.csv")


def _is_lowered(schedule: Schedule) -> bool:
    return bool(schedule.kinds - COMPUTE)


def _lowered(there: Pytorch, schedule: Schedule, lowering: Union[Lowering, str, None], rendezvous: bool) -> Schedule:
    """The schedule with ppsched's sends and receives if lowering asks for them; proves a lowered schedule free of deadlock."""
    if lowering is not None and member(Lowering, "lowering", lowering) != Lowering.NONE:
        schedule = schedule.lower(lowering, unshard=ACTIVE_STAGES, reduce_grad=there.reduce_grad)
    if _is_lowered(schedule):
        proof = schedule.prove("pair", rendezvous=rendezvous)
        if not proof:
            raise InvalidSchedule(f"PyTorch's runtime would hang: {proof.text}")
    return schedule


def _check_stages(schedule: Schedule, stages: List[Any]) -> None:
    sizes = {"ranks in the group": (stages[0].group_size, schedule.devices), "stages": (stages[0].num_stages, schedule.stages)}
    for name, (given, wanted) in sizes.items():
        if given != wanted:
            raise Error(f"there are {given} {name}, but the schedule has {wanted}")
    mine = [stage.stage_index for stage in stages]
    wanted_here = stages_of(schedule, stages[0].group_rank)
    if mine != wanted_here:
        raise Error(f"rank {stages[0].group_rank} has stages {mine}, but in the schedule it has {wanted_here} "
                    "(see ppsched.torch.stages_of)")


def _check_scaling(there: Pytorch, schedule: Schedule, options: Dict[str, Any]) -> None:
    """Raises Error if gradients would silently not be divided by the microbatches."""
    if not there.takes_scale_grads:
        if options.pop("scale_grads", False):
            raise Error(f"PyTorch {there.version} does not divide gradients; leave scale_grads out, and divide the gradients or the loss")
        return
    if not options.get("scale_grads", True):
        return
    if there.reduces and _is_lowered(schedule) and Kind.REDUCE_GRAD not in schedule.kinds:
        raise Error(f"PyTorch {there.version} divides gradients in REDUCE_GRAD, but this lowered schedule has none; "
                    "lower it with reduce_grad=True, or give scale_grads=False")
    if not there.reduces and Kind.W in schedule.kinds:
        raise Error(f"PyTorch {there.version} divides gradients only after full backwards, but this schedule splits backwards; "
                    "give scale_grads=False, and divide the loss by the number of microbatches")


def _actions(there: Pytorch, schedule: Schedule) -> Dict[int, List[Any]]:
    """PyTorch's actions of each rank."""
    def tokens(row: str) -> List[str]:
        text = row if there.has_pairs else row.replace("(", "").replace(")OVERLAP_F_B", "").replace(";", ",")
        unknown = () if there.waits else ("WAIT_REDUCE_GRAD",) if there.reduces else ("REDUCE_GRAD",)
        return [token for token in text.split(",") if token and not token.endswith(unknown)]

    rows = schedule.export("csv").splitlines()
    return {rank: [there.schedules._Action.from_str(token) for token in tokens(row)] for rank, row in enumerate(rows)}


def PlannedSchedule(plan_or_schedule: Union[Plan, Schedule], stages: Union[Any, Sequence[Any]],
                    loss_fn: Optional[Callable[..., Any]] = None, *, lowering: Union[Lowering, str, None] = None,
                    **options: Any) -> Any:
    """Returns PyTorch's _PipelineScheduleRuntime, ready to run a schedule or a plan's best candidate: call its step().

    stages: this rank's PipelineStage objects (see stages_of); the map from stages to ranks is set on them. lowering: one of
    ppsched's, such as "just_in_time", for a schedule that is not lowered yet. Default: the plan's lowering; without one, PyTorch
    places sends and receives itself. A schedule that is lowered already runs as it is. Both are proved free of deadlock first.
    Microbatches are renumbered if the last stage runs them in another order, because PyTorch computes losses in the order of their
    numbers; Error if they differ in size. options: other arguments of the runtime, such as scale_grads.
    Raises Error or Refused, with the reason, if the runtime cannot run the schedule.
    """
    there = pytorch()
    mine = sorted(stages if isinstance(stages, Sequence) else [stages], key=lambda stage: int(stage.stage_index))
    if not mine:
        raise Error("stages is an empty list; each rank needs at least one stage")
    schedule = _numbered(planned(plan_or_schedule))
    _refuse(schedule)
    if lowering is None and isinstance(plan_or_schedule, Plan):
        lowering = plan_or_schedule.lowering
    schedule = _lowered(there, schedule, lowering, there.torch.device(mine[0].device).type != "cpu")
    _check_stages(schedule, mine)
    _check_scaling(there, schedule, options)
    runtime = there.schedules._PipelineScheduleRuntime(mine, schedule.microbatches, loss_fn=loss_fn, **options)
    ranks = {stage: schedule.device_of(stage) for stage in range(schedule.stages)}
    runtime.stage_index_to_group_rank = dict(ranks)
    for stage in mine:
        there.place(stage, ranks)
    runtime.pipeline_order = _actions(there, schedule)
    if _is_lowered(schedule):
        getattr(runtime, there.load)(there.with_waits(runtime.pipeline_order), format="compute_comms")
    else:
        getattr(runtime, there.load)(runtime.pipeline_order, format="compute_only")
    return runtime
