# SPDX-License-Identifier: Apache-2.0
"""Options of price that cannot have an effect on a layout: what asks for something that is not there is an error, a switch is a note."""
import argparse
from typing import Dict, List, Mapping, Optional

from .._core._library import Error
from .._core.model import Model, Training
from ..readers.megatron_step import MODULES
from .model_options import PAIR_WINDOWS, Job
from .printing import tell


def _has(model: Model, module: int) -> bool:
    """Whether any layer computes it again, or keeps less with it."""
    alone = Model(model.description, model.training._replace(recompute_modules=module), model.accelerator)
    return any(alone.pass_cost(row.name, "modules").time > 0 or alone.memory(row.name).modules < alone.memory(row.name).activations
               for row in alone.rows if row.role == "decoder")


def check_modules(model: Model, word: Optional[str]) -> None:
    """Of --recompute modules=a,b, each that no layer has."""
    kind, _, value = (word or "").partition("=")
    for name in value.split(",") if kind == "modules" else ():
        if name in MODULES and not _has(model, MODULES[name]):
            raise Error(f"--recompute {word}: no layer of the model has {name}; leave {name} out")


def check_overlaps(training: Training) -> None:
    """Of --overlap, what the layout has nothing for."""
    replicas = training.data_parallel * training.context_parallel
    counts = {"grad": replicas, "param": replicas, "tp": training.tensor_parallel, "cp": training.context_parallel, "ep": training.expert_parallel}
    flags = {"grad": training.overlaps_gradients, "param": training.overlaps_parameters, "tp": training.overlaps_tensor,
             "cp": training.overlaps_context, "ep": training.overlaps_experts}
    for name, count in counts.items():
        if flags[name] and count == 1:
            wanted = "replicas (--dp, --cp)" if name in ("grad", "param") else f"--{name} above 1"
            raise Error(f"--overlap {name} has no effect: the layout has no {wanted}; leave {name} out")
    if training.overlaps_parameters and training.sharding == 0:
        raise Error("--overlap param has no effect: with --zero 0 each replica has all weights; leave param out")
    if training.overlaps_gradients and training.frozen_weights and training.adapter_rank == 0:
        raise Error("--overlap grad has no effect: no weight has a gradient with --frozen-weights; leave grad out")


def _reasons(arguments: argparse.Namespace, job: Job) -> Dict[str, str]:
    """Why each of some options would have no effect."""
    model, training = job.model, job.model.training
    assert model.accelerator is not None
    reasons: Dict[str, str] = {}
    if not any(row.feed_forwards > row.feed_forwards_active for row in model.rows):
        reasons.update(one_copy_a_node="the model has no experts", etp="the model has no experts")
    if training.tensor_parallel == 1 and arguments.sequence_parallel:
        reasons["sequence_parallel"] = "the layout has no --tp above 1"
    if model.accelerator.host_time == 0:
        reasons["cuda_graph"] = f"{model.accelerator.name} has no host_time"
    if job.pp == 1 or training.data_parallel == 1:
        reasons["rank_order"] = f"the layout has no --{'pp' if job.pp == 1 else 'dp'} above 1"
    if job.pp * job.vpp == 1:
        reasons.update(account_for_embedding="there is only one stage", account_for_loss="there is only one stage")
    return reasons


def _windows(training: Training) -> List[str]:
    counts = {"ep": training.expert_parallel, "tp": training.tensor_parallel, "cp": training.context_parallel}
    return [name for name, flag in PAIR_WINDOWS.items() if getattr(training, flag) and counts[name] == 1]


def tell_no_effect(arguments: argparse.Namespace, job: Job, given: Mapping[str, object]) -> None:
    """A note for each option of the command line that changes nothing, in answers for people."""
    if arguments.json:
        return
    for name, reason in _reasons(arguments, job).items():
        if given.get(name):
            tell(arguments.command, f"note: --{name.replace('_', '-')} has no effect: {reason}")
    for name in _windows(job.model.training) if given.get("pair_windows") is not None else ():
        tell(arguments.command, f"note: --pair-windows {name} has no effect: the layout has no --{name} above 1")
