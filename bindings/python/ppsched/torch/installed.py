# SPDX-License-Identifier: Apache-2.0
"""The installed PyTorch: all differences between the versions 2.6 to 2.15 are detected here, once."""
import functools
import importlib
import inspect
from typing import Any, Dict, List, NamedTuple, Tuple

from .._core._library import Error


class Pytorch(NamedTuple):
    """PyTorch's modules and what they can do.

    load: name of the runtime's method that takes the order of ops of all ranks. has_pairs: whether it runs an overlapped pair as one
    op; else it runs the two ops one after the other. takes_scale_grads: whether it can divide gradients by the number of microbatches
    and has an argument for it. reduces: whether it divides gradients, and reduces them with FSDP, in a REDUCE_GRAD of the order;
    else after the last full backward of a stage. waits: whether an order with sends also has waits for sends and reductions.
    """

    torch: Any
    distributed: Any
    schedules: Any
    version: str
    load: str
    has_pairs: bool
    takes_scale_grads: bool
    reduces: bool
    waits: bool

    @property
    def reduce_grad(self) -> int:
        """Of Schedule.lower, for a lowering like this version's own."""
        return 2 if self.waits else 1

    def place(self, stage: Any, ranks: Dict[int, Any]) -> None:
        """Sets on a stage which rank of its group each stage is on; older versions also store the neighbours' global ranks."""
        stage.stage_index_to_group_rank = dict(ranks)
        for name, neighbour in (("prev_rank", stage.stage_index - 1), ("next_rank", stage.stage_index + 1)):
            if hasattr(stage, name) and neighbour in ranks:
                group = stage.group or self.distributed.group.WORLD
                setattr(stage, name, self.distributed.get_global_rank(group, ranks[neighbour]))

    def with_waits(self, actions: Dict[int, List[Any]]) -> Dict[int, List[Any]]:
        """An order with sends, for each rank, as this version takes it: with waits where it puts them itself by default."""
        if not self.waits:
            return actions
        kinds = self.schedules._ComputationType

        def waited(row: List[Any]) -> List[Any]:
            if any(action.computation_type == kinds.WAIT_REDUCE_GRAD for action in row):
                return row
            with_waits: List[Any] = []
            for action in row:
                with_waits.append(action)
                if action.computation_type == kinds.REDUCE_GRAD:
                    with_waits.append(action._replace(computation_type=kinds.WAIT_REDUCE_GRAD))
            return with_waits

        with_reductions = {rank: waited(row) for rank, row in actions.items()}
        found: Dict[int, List[Any]] = self.schedules._add_wait_send(with_reductions)
        return found


def kept(stage: Any, microbatch: int) -> Tuple[Any, Any]:
    """The outputs and inputs that a stage keeps of a forward for its backward."""
    if hasattr(stage, "fwd_cache"):
        outputs, inputs = stage.fwd_cache[microbatch]
        return outputs, inputs
    state = stage._forward_chunk_states[microbatch]  # since 2.15
    return state.live_outputs, state.input_values


@functools.lru_cache(maxsize=None)
def pytorch() -> Pytorch:
    try:
        torch: Any = importlib.import_module("torch")
        distributed: Any = importlib.import_module("torch.distributed")
        schedules: Any = importlib.import_module("torch.distributed.pipelining.schedules")
    except ImportError as error:
        raise Error(f"ppsched.torch needs PyTorch 2.6 or later with torch.distributed: {error}") from None
    runtime = getattr(schedules, "_PipelineScheduleRuntime", None)
    load = next((name for name in ("_prepare_schedule_with_comms", "_load_actions") if hasattr(runtime, name)), None)
    if load is None:
        raise Error(f"PyTorch {torch.__version__} has no runtime that takes a schedule; install 2.6 or later")
    base: Any = schedules.PipelineScheduleMulti
    return Pytorch(torch, distributed, schedules, str(torch.__version__), load, "sub_actions" in schedules._Action._fields,
                   "scale_grads" in inspect.signature(base.__init__).parameters, hasattr(schedules, "_add_reduce_grad"),
                   hasattr(schedules, "_add_wait_send"))
