# SPDX-License-Identifier: Apache-2.0
"""What DeepSpeed makes of launch lines: on each rank its PipelineModule builds the layers of a stage, its configuration reads the batch
sizes, and its TrainSchedule tells the steps. The processes are PyTorch's fake ones.

usage: deepspeed_reads.py FILE.json    {"lines": [{"words", "devices", "replicas", "names", "microbatches"}],
    "dual": [[microbatches, ranks]], "weights": [[weights, parts]]}
"""
import json
import os
import pathlib
import sys
import warnings

ANSWER, sys.stdout = sys.stdout, sys.stderr
warnings.filterwarnings("ignore")
os.environ.update(DS_ACCELERATOR="cpu", LOCAL_RANK="0")
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import deepspeed.comm.torch  # noqa: E402
from deepspeed.runtime import utils  # noqa: E402
from deepspeed.runtime.config import DeepSpeedConfig  # noqa: E402
from deepspeed.runtime.pipe.module import PipelineModule  # noqa: E402
from deepspeed.runtime.pipe.schedule import BackwardPass, DualPipeVSchedule, ForwardPass, TrainSchedule  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402

sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # a kernel for messages, which it would compile; deepspeed.comm.torch is PyTorch


class PlannedModule(PipelineModule):
    """As the page for layers says."""

    planned = None

    def _partition_layers(self, method="uniform"):
        if self.planned is None:
            return super()._partition_layers("uniform")
        self.parts = self.planned
        return self._set_bounds(*self.parts[self.stage_id:self.stage_id + 2])


def settings(words):
    """NAME=VALUE as a dict; numbers and lists by the names that DeepSpeed has them by."""
    given = dict(word.split("=", 1) for word in words)
    lists = {"parts": [int(number) for number in given.pop("parts", "").split(",") if number],
             "checkpointable_layers": [name for name in given.pop("checkpointable_layers", "").split(",") if name]}
    return {**{name: int(value) for name, value in given.items()}, **{name: value for name, value in lists.items() if value}}


def steps(schedule):
    """As --format deepspeed writes them."""
    def word(instruction):
        buffer = instruction.kwargs.get("buffer_id")
        return instruction.name + ("" if buffer is None else f":{buffer}")

    return [" ".join(map(word, step)) or "-" for step in schedule.steps()], schedule.num_pipe_buffers()


def build(problem, given):
    """What this rank makes of the settings."""
    layers = [type(name, (torch.nn.Linear,), {})(1, 1) for name in problem["names"]]
    PlannedModule.planned = given.get("parts")
    module = PlannedModule(layers, num_stages=given["num_stages"], checkpointable_layers=given.get("checkpointable_layers"),
                           activation_checkpoint_interval=given.get("activation_checkpoint_interval", 0))
    module._precompute_checkpointable_values()
    keys = ("gradient_accumulation_steps", "train_micro_batch_size_per_gpu")
    config = DeepSpeedConfig({"train_micro_batch_size_per_gpu": 1, **{key: given[key] for key in keys if key in given}}, mpu=module.mpu())
    made, buffers = steps(TrainSchedule(config.gradient_accumulation_steps, module.num_stages, module.stage_id))
    return {"stage": module.stage_id, "layers": [module._local_start, module._local_stop], "built": len(module.forward_funcs),
            "recomputed": module.is_checkpointable_results if module.activation_checkpoint_interval else [],
            "microbatches": config.gradient_accumulation_steps, "micro_batch": config.train_micro_batch_size_per_gpu,
            "batch": config.train_batch_size, "steps": made, "buffers": buffers}


def read(problem):
    ranks, world = [], problem["devices"] * problem["replicas"]
    for rank in range(world):
        dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
        deepspeed.comm.init_distributed(dist_backend="gloo", auto_mpi_discovery=False, verbose=False)
        try:
            ranks.append(build(problem, settings(problem["words"])))
        finally:
            deepspeed.comm.comm.cdb = None
            dist.destroy_process_group()
    return ranks


def read_or_refuse(problem):
    try:
        return read(problem)
    except (Exception, SystemExit) as error:
        return [{"refused": f"{type(error).__name__}: {error}"}]


def order(microbatches, ranks, rank):
    """[kind, phase, microbatch] of its DualPipeV."""
    kinds = {ForwardPass: "F", BackwardPass: "B"}
    return [[kinds[type(word)], word.phase, word.buffer_id % microbatches]
            for step in DualPipeVSchedule(microbatches, ranks, rank).steps() for word in step if type(word) in kinds]


def main():
    given = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps({
        "lines": [read_or_refuse(problem) for problem in given["lines"]],
        "dual": [[order(microbatches, ranks, rank) for rank in range(ranks)] for microbatches, ranks in given["dual"]],
        "weights": [[list(map(int, utils.partition_balanced(weights, parts))), utils.partition_uniform(len(weights), parts)]
                    for weights, parts in given["weights"]]}), file=ANSWER)


if __name__ == "__main__":
    main()
