# SPDX-License-Identifier: Apache-2.0
"""What torchtitan makes of launch lines: its configuration manager reads each, and on each rank its pipeline_llm splits a model and
builds the schedule. The model is its own class of layers with nothing in them, and the processes are PyTorch's fake ones.

usage: torchtitan_reads.py FILE.json    {"lines": [{"words", "devices", "layers"}], "parts": [arguments of its function for parts]}
"""
import contextlib
import json
import pathlib
import sys
import types
import warnings

from actions import ops

warnings.filterwarnings("ignore")
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.device_mesh import init_device_mesh  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402
from torchtitan.config.manager import ConfigManager  # noqa: E402
from torchtitan.distributed.pipeline_parallel import _generate_llm_fqn_per_model_part, pipeline_llm  # noqa: E402
from torchtitan.protocols.module import ModuleDict  # noqa: E402


def make_model(layers):
    model = torch.nn.Module()
    model.tok_embeddings, model.norm, model.lm_head = (torch.nn.Identity() for _ in range(3))
    model.layers = ModuleDict({str(layer): torch.nn.Identity() for layer in range(layers)})
    return model


def names(part):
    """The modules that a part keeps."""
    return sorted(name for name, module in part.named_modules() if name and not isinstance(module, ModuleDict))


def build(config, layers, devices):
    """What this rank makes: [stage, modules] of its parts, and of the schedule its class, M and the order, where it keeps one."""
    mesh = init_device_mesh("cpu", (devices,), mesh_dim_names=("pp",))
    config.model_spec.model.layers = [None] * layers
    schedule, parts, _, _ = pipeline_llm(
        make_model(layers), parallel_dims=types.SimpleNamespace(pp=devices, get_mesh=lambda name: mesh), training=config.training,
        parallelism=config.parallelism, compile_config=config.compile, ac_config=config.activation_checkpoint, dump_folder="",
        device=torch.device("cpu"), model_config=config.model_spec.model, parallelize_fn=lambda model, **given: model, loss_fn=None)
    stages = getattr(schedule, "_stages", None) or [schedule._stage]
    order = getattr(schedule, "pipeline_order", None) or {}
    return {"parts": [[stage.stage_index, names(part)] for stage, part in zip(stages, parts)], "class": type(schedule).__name__,
            "microbatches": schedule._n_microbatches, "stages": stages[0].num_stages,
            "order": [ops(order[rank]) for rank in sorted(order)]}


def read(problem):
    config = ConfigManager().parse_args(["--module", "llama3", "--config", "llama3_debugmodel", *problem["words"]])
    config._validate_cuda_graphs()
    ranks = []
    for rank in range(problem["devices"]):
        dist.init_process_group("fake", rank=rank, world_size=problem["devices"], store=FakeStore())
        ranks.append(build(config, problem["layers"], problem["devices"]))
        dist.destroy_process_group()
    return {"degree": config.parallelism.pipeline_parallel_degree, "ranks": ranks,
            "microbatch": config.parallelism.pipeline_parallel_microbatch_size, "samples": config.training.local_batch_size,
            "checkpointing": type(config.activation_checkpoint).__qualname__.split(".")[0]}


def read_or_refuse(problem):
    """What the line makes, or torchtitan's words where it refuses."""
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return read(problem)
    except (Exception, SystemExit) as error:  # tyro exits
        if dist.is_initialized():
            dist.destroy_process_group()
        return {"refused": f"{type(error).__name__}: {error}"}


def divide(problem):
    """torchtitan's parts, or None where it refuses."""
    try:
        return _generate_llm_fqn_per_model_part(*problem)
    except ValueError:
        return None


def main():
    given = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    print(json.dumps({"lines": [read_or_refuse(problem) for problem in given["lines"]],
                      "parts": [divide(problem) for problem in given["parts"]]}))


if __name__ == "__main__":
    main()
