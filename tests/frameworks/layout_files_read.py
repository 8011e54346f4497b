# SPDX-License-Identifier: Apache-2.0
"""What frameworks' own parsers make of the files that a search for layouts writes.

usage: layout_files_read.py megatron|bridge|torchtitan|deepspeed FILE WORLD    prints the sizes that it read, as JSON
"""
import json
import os
import shlex
import sys
import types
import typing
import warnings

warnings.filterwarnings("ignore")
ANSWER, sys.stdout = sys.stdout, sys.stderr
MODEL = ["--hidden-size", "64", "--num-attention-heads", "8", "--max-position-embeddings", "8192", "--position-embedding-type", "rope",
         "--transformer-impl", "transformer_engine", "--bf16", "--no-masked-softmax-fusion", "--no-persist-layer-norm", "--no-rope-fusion",
         "--no-gradient-accumulation-fusion"]


def megatron(path, world):
    """Its parser and its checks."""
    import typing_extensions
    typing.override = typing_extensions.override  # which it imports from there: Python 3.12 has it
    import torch
    torch.cuda.get_device_properties = lambda *device: types.SimpleNamespace(major=9, minor=0)  # of an H100; there is none here
    from megatron.training import arguments
    os.environ.update(WORLD_SIZE=str(world), RANK="0", LOCAL_RANK="0", CUDA_DEVICE_MAX_CONNECTIONS="1")
    with open(path, encoding="utf-8") as lines:
        words = shlex.split(lines.read()) if path.endswith(".args") else _flags(lines.read())
    if "--use-megatron-fsdp" in words:
        os.environ.pop("CUDA_DEVICE_MAX_CONNECTIONS")  # with which it does not run
    sys.argv = ["pretrain_gpt.py", *MODEL, *words]
    args = arguments.parse_args()
    arguments.validate_args(args)
    return {"tp": args.tensor_model_parallel_size, "pp": args.pipeline_model_parallel_size, "cp": args.context_parallel_size,
            "dp": args.data_parallel_size, "chunks": args.virtual_pipeline_model_parallel_size or 1, "micro_batch": args.micro_batch_size,
            "global_batch": args.global_batch_size, "seq": args.seq_length,
            "zero": 3 if args.use_megatron_fsdp and args.data_parallel_sharding_strategy == "optim_grads_params" else int(args.use_distributed_optimizer),
            "rank_order": "tp-cp-ep-pp-dp" if args.use_tp_pp_dp_mapping else "tp-cp-ep-dp-pp"}


def bridge(path, world):
    """The classes that make up a configuration of Megatron Bridge (0.6.2): those of Megatron-LM, and its provider of a model, which adds the
    sequence length. What a recipe has set for another layout must go. The model's own checks run last, as in its finalize()."""
    import dataclasses
    import runpy
    import typing_extensions
    typing.override = typing_extensions.override
    from megatron.core.distributed import DistributedDataParallelConfig
    from megatron.core.transformer.transformer_config import TransformerConfig
    from megatron.training.config import DistributedInitConfig, TrainingConfig

    @dataclasses.dataclass
    class Provider(TransformerConfig):
        seq_length: int = 1024

    recipe = {"pipeline_model_parallel_layout": [["embedding"], ["decoder"] * 32 + ["loss"]], "pipeline_model_parallel_size": 2, "recompute_granularity": "selective",
              "recompute_modules": ["layernorm"], "sequence_parallel": True, "tensor_model_parallel_size": 2, "pipeline_dtype": "bf16"}
    parts = {"model": Provider(num_layers=32, hidden_size=4096, num_attention_heads=32, **recipe), "train": TrainingConfig(micro_batch_size=7, global_batch_size=7),
             "ddp": DistributedDataParallelConfig(use_distributed_optimizer=True), "dist": DistributedInitConfig(use_tp_pp_dp_mapping=True)}

    class Strict:
        """A part that has no other fields than its own."""

        def __init__(self, part):
            self.__dict__["part"] = part

        def __setattr__(self, name, value):
            assert name in {field.name for field in dataclasses.fields(self.part)}, name
            setattr(self.part, name, value)

    runpy.run_path(path)["apply"](types.SimpleNamespace(**{name: Strict(part) for name, part in parts.items()}))
    model, train, ddp, dist = parts.values()
    vpp = model.virtual_pipeline_model_parallel_size
    model.__post_init__()
    assert model.recompute_granularity is None and not ddp.use_megatron_fsdp
    dp = world // (model.tensor_model_parallel_size * model.pipeline_model_parallel_size * model.context_parallel_size)
    return {"tp": model.tensor_model_parallel_size, "pp": model.pipeline_model_parallel_size, "cp": model.context_parallel_size, "dp": dp,
            "chunks": vpp or 1, "micro_batch": train.micro_batch_size, "global_batch": train.global_batch_size, "seq": model.seq_length,
            "zero": int(ddp.use_distributed_optimizer), "rank_order": "tp-cp-ep-pp-dp" if dist.use_tp_pp_dp_mapping else "tp-cp-ep-dp-pp"}


def _flags(text):
    """Of a run of Primus: what it overrides of Megatron-LM's arguments, without its own keys for pipelines."""
    import yaml
    given = yaml.safe_load(text)["modules"]["pre_trainer"]["overrides"]
    own = ("patch_primus_pipeline", "pp_algorithm", "dump_pp_data")
    rows = [(f"--{name.replace('_', '-')}", value) for name, value in given.items() if name not in own and value is not False]
    return [word for name, value in rows for word in ([name] if value is True else [name, str(value)])]


def torchtitan(path, world):
    """Its configuration manager, with each key of the file as an option."""
    import tomllib
    import torchtitan.models.llama3.config_registry  # noqa: F401
    from torchtitan.config.manager import ConfigManager
    words = ["--module", "llama3", "--config", "llama3_debugmodel"]
    with open(path, "rb") as file:
        sections = tomllib.load(file)
    activations = sections.pop("activation_checkpoint")
    for section, keys in sections.items():
        for key, value in keys.items():
            if value is True:
                words.append(f"--{section}.{key}")
            else:
                words += [f"--{section}.{key}", str(value)]
    words += [f"activation-checkpoint:{activations['mode']}"] if activations["mode"] != "none" else []
    config = ConfigManager().parse_args(words)
    own, training = config.parallelism, config.training
    shard, copies = own.data_parallel_shard_degree, own.data_parallel_replicate_degree
    dp = world // (own.tensor_parallel_degree * own.pipeline_parallel_degree * own.context_parallel_degree)
    assert shard * copies == dp, (shard, copies, dp)
    return {"tp": own.tensor_parallel_degree, "pp": own.pipeline_parallel_degree, "cp": own.context_parallel_degree, "dp": dp,
            "micro_batch": own.pipeline_parallel_microbatch_size, "global_batch": training.global_batch_size, "seq": training.seq_len,
            "zero": 3 if shard > 1 else 0}


def deepspeed(path, world):
    """Its configuration, which checks that the batch sizes agree. world: replicas of the pipeline."""
    os.environ.update(DS_ACCELERATOR="cpu", LOCAL_RANK="0")
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore
    import deepspeed.comm.torch
    from deepspeed.runtime.config import DeepSpeedConfig
    sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # a kernel for messages, which it would compile; deepspeed.comm.torch is PyTorch
    with open(path, encoding="utf-8") as file:
        given = json.load(file)
    dist.init_process_group("fake", rank=0, world_size=world, store=FakeStore())
    deepspeed.comm.init_distributed("gloo", verbose=False)
    replicas = types.SimpleNamespace(get_data_parallel_world_size=lambda: world)
    config = DeepSpeedConfig(given, mpu=replicas)
    return {"micro_batch": config.train_micro_batch_size_per_gpu, "global_batch": config.train_batch_size,
            "microbatches": config.gradient_accumulation_steps, "zero": int(config.zero_config.stage)}


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](sys.argv[2], int(sys.argv[3]))), file=ANSWER)
