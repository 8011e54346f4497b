# SPDX-License-Identifier: Apache-2.0
"""Training options from Megatron-LM's argument names."""
from typing import Any, Dict, List, Mapping

from .._core._library import Error
from .._core.accelerators import PRECISIONS
from .._core.shown import shown
from .._core.words import nearest

# The argument and its option of the command.
TRAINING = {"tensor_model_parallel_size": "tp", "pipeline_model_parallel_size": "pp", "context_parallel_size": "cp",
            "expert_model_parallel_size": "ep", "expert_tensor_parallel_size": "etp", "data_parallel_size": "dp",
            "virtual_pipeline_model_parallel_size": "vpp", "num_virtual_stages_per_pipeline_rank": "vpp", "seq_length": "seq",
            "micro_batch_size": "micro_batch", "global_batch_size": "global_batch", "num_microbatches": "num_microbatches",
            "world_size": "world_size", "sequence_parallel": "sequence_parallel", "use_distributed_optimizer": "distributed_optimizer",
            "distributed_optimizer": "distributed_optimizer", "recompute_granularity": "recompute", "recompute": "recompute", "keep_scores": "keep_scores"}
SHORT = ("tp", "pp", "cp", "ep", "etp", "dp", "vpp", "seq", "micro_batch", "global_batch", "zero")
# Options that may have several values: layouts to compare.
SEVERAL = ("tp", "pp", "dp", "cp", "ep", "etp", "seq", "micro_batch", "global_batch", "zero")
# Arguments that are used in another way.
TAKEN = ("num_layers_per_virtual_pipeline_stage", "recompute_activations", "recompute_method", "recompute_num_layers", "bf16", "fp16",
         "grad_reduce_in_bf16", "accumulate_allreduce_grads_in_fp32", "use_precision_aware_optimizer", "main_grads_dtype",
         "main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype", "use_megatron_fsdp", "use_torch_fsdp2",
         "precision", "fp8", "fp8_format", "fp8_recipe", "fp4", "fp4_format", "data_parallel_sharding_strategy", "moe_expert_capacity_factor", "moe_pad_expert_input_to_capacity")
FP8_RECIPES = (None, "delayed", "tensorwise", "blockwise", "mxfp8")
SHARDING = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}  # Megatron-FSDP's strategies as ZeRO stages
DATA_TYPES = {"fp32": 4, "float32": 4, "torch.float32": 4, "bf16": 2, "bfloat16": 2, "torch.bfloat16": 2, "fp16": 2, "float16": 2,
              "torch.float16": 2, "fp8": 1, "torch.uint8": 1}


def integer_of(where: str, name: str, value: object, least: int = 0) -> int:
    if isinstance(value, str) and value.isdigit():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise Error(f"{where}: {name} must be an integer, not {shown(value)}")
    if value < least:
        raise Error(f"{where}: {name} is {value}; it must be {least} or more")
    return value


def switch_of(where: str, fields: Mapping[str, Any], name: str, default: bool = False) -> bool:
    value = fields.get(name)
    if value is not None and not isinstance(value, bool):
        raise Error(f"{where}: {name} must be yes or no, not {shown(value)}")
    return default if value is None else value


def _known(where: str, name: str, value: Any, known: Mapping[str, int]) -> int:
    if not isinstance(value, str) or value not in known:
        raise Error(f"{where}: {name} is {shown(value)}; {nearest(value, known) or 'known are ' + ', '.join(known)}")
    return known[value]


# --- bytes of a parameter ---

def _bytes(where: str, fields: Mapping[str, Any]) -> List[str]:
    """Values of --bytes that differ from bf16 with fp32 gradients: from the data types, counted as in Megatron-LM's page on its
    distributed optimizer, and from those of its precision-aware optimizer."""
    sizes: Dict[str, int] = {}
    if switch_of(where, fields, "fp16"):
        sizes = {} if switch_of(where, fields, "accumulate_allreduce_grads_in_fp32") else {"gradient": 2, "optimizer": 16}
    elif fields.get("bf16") is not None and not switch_of(where, fields, "bf16"):
        sizes = {"weight": 4, "gradient": 4, "optimizer": 8, "activation": 4}
    elif switch_of(where, fields, "grad_reduce_in_bf16"):
        sizes = {"gradient": 2}
    if switch_of(where, fields, "use_precision_aware_optimizer"):
        size = {name: _known(where, name, fields[name], DATA_TYPES) if fields.get(name) is not None else 4
                for name in ("main_grads_dtype", "main_params_dtype", "exp_avg_dtype", "exp_avg_sq_dtype")}
        sizes["gradient"] = size.pop("main_grads_dtype")
        sizes["optimizer"] = sum(size.values())
    return [f"{name}={value}" for name, value in sizes.items()]


# --- other options ---

def _precision(where: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """The data type of linear layers. Only config files have `precision`."""
    given = fields.get("precision")
    if given is not None:
        if given not in PRECISIONS:
            raise Error(f"{where}: precision is {shown(given)}; {nearest(str(given), PRECISIONS) or 'it must be ' + ', '.join(PRECISIONS)}")
        return {"precision": given}
    if fields.get("fp4") or fields.get("fp4_format"):
        return {"precision": "nvfp4"}
    if fields.get("fp8") or fields.get("fp8_format"):
        if fields.get("fp8_recipe") not in FP8_RECIPES:
            raise Error(f"{where}: fp8_recipe is {shown(fields['fp8_recipe'])}; known are {', '.join(filter(None, FP8_RECIPES))}")
        return {"precision": "mxfp8" if fields.get("fp8_recipe") == "mxfp8" else "fp8"}
    return {"precision": "fp16"} if fields.get("fp16") else {"precision": "bf16"} if fields.get("bf16") else {}



def _recompute(where: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    is_selective = fields.get("recompute_granularity") is None and switch_of(where, fields, "recompute_activations")
    return {"recompute": "selective"} if is_selective else {}


def _sharding(where: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    if switch_of(where, fields, "use_torch_fsdp2"):
        return {"zero": 3}
    if not switch_of(where, fields, "use_megatron_fsdp"):
        return {}
    name = "data_parallel_sharding_strategy"
    return {"zero": _known(where, name, fields.get(name, "no_shard"), SHARDING)}


def _chunks(where: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    name = "num_layers_per_virtual_pipeline_stage"
    if fields.get(name) is None or fields.get("num_layers") is None:
        return {}
    each, layers = integer_of(where, name, fields[name]), integer_of(where, "num_layers", fields["num_layers"])
    devices = integer_of(where, "pp", fields.get("pipeline_model_parallel_size") or fields.get("pp") or 1)
    if not each or not devices or layers % (each * devices):
        raise Error(f"{where}: {name} {each} times {devices} devices of a pipeline does not divide num_layers {layers}")
    return {"vpp": layers // (each * devices)}


def _capacity(where: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Rows of an expert, as a multiple of an even share. Even rows are padded to that, and without padding never reach it."""
    name, padding = "moe_expert_capacity_factor", "moe_pad_expert_input_to_capacity"
    factor, pads = fields.get(name), switch_of(where, fields, padding)
    if factor is not None and (isinstance(factor, bool) or not isinstance(factor, (int, float)) or factor != factor):
        raise Error(f"{where}: {name} is {shown(factor)}; it must be a number")
    if factor is None or factor < 0:  # as the launcher has it
        if pads:
            raise Error(f"{where}: {padding} is on, and there is no {name}; give one")
        return {}
    if factor < 1:
        raise Error(f"{where}: {name} is {factor}, so even with balanced experts rows are dropped, which is not counted; give 1 or more")
    return {"expert_load": float(factor)} if pads else {}


def training_options(where: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Options of the command by name."""
    options: Dict[str, Any] = {**_chunks(where, fields), **_precision(where, fields), **_recompute(where, fields), **_sharding(where, fields), **_capacity(where, fields)}
    sizes = _bytes(where, fields)
    if sizes:
        options["sizes"] = sizes
    named: Dict[str, Any] = {}
    for name, value in fields.items():
        option = TRAINING.get(name, name if name in SHORT else None)
        if option is None or value is None:
            continue
        if isinstance(value, list) and option in SEVERAL:
            if not value:
                raise Error(f"{where}: {name} is []; give a number, or several for pick to compare")
            value = [integer_of(where, name, each, 0 if option == "zero" else 1) for each in value]  # layouts to compare
        elif option in ("sequence_parallel", "distributed_optimizer", "keep_scores"):
            value = switch_of(where, fields, name)
        elif option == "recompute":
            if not isinstance(value, str):
                raise Error(f"{where}: {name} must be a text, not {shown(value)}")
        else:
            value = integer_of(where, name, value, 0 if option in ("zero", "etp", "vpp") else 1)
        if named.get(option, value) != value:
            raise Error(f"{where}: {name} is {shown(value)}, but the same option under another name is {shown(named[option])}; give one of them")
        named[option] = value
    return {**options, **named}
