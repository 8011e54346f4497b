# SPDX-License-Identifier: Apache-2.0
"""What Megatron-LM's arguments say of a step beyond sizes and precision: overlaps, recomputation, how layers are split."""
from typing import Any, Dict, List, Mapping

from .._core._library import Error
from .._core.price import RANK_ORDERS
from .._core.shown import shown
from .megatron_training import integer_of, switch_of

OVERLAPS = {"overlap_grad_reduce": "grad", "overlap_param_gather": "param", "tp_comm_overlap": "tp"}
PAIRS = ("overlap_moe_expert_parallel_comm", "delay_wgrad_compute")
SWITCHES = {"account_for_embedding_in_pipeline_split": "account_for_embedding", "account_for_loss_in_pipeline_split": "account_for_loss",
            "enable_cuda_graph": "cuda_graph", "external_cuda_graph": "cuda_graph", "fp8_dot_product_attention": "attention_fp8"}
NUMBERS = {"decoder_first_pipeline_num_layers": "first_decoders", "decoder_last_pipeline_num_layers": "last_decoders"}
MODULES = {"core_attn": 1, "layernorm": 2, "mlp": 4, "moe": 8, "moe_act": 16, "mla_up_proj": 32}  # bits of ppsched_recompute_module
TAKEN = (*OVERLAPS, *PAIRS, *SWITCHES, *NUMBERS, "recompute_modules", "recompute_method",
         "recompute_num_layers", "pipeline_model_parallel_layout", "moe_enable_deepep", "moe_flex_dispatcher_backend",
         "cpu_offloading", "cpu_offloading_num_layers", "cpu_offloading_activations", "use_tp_pp_dp_mapping")


def _recompute(where: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    kind, method, modules = fields.get("recompute_granularity"), fields.get("recompute_method"), fields.get("recompute_modules")
    if kind == "selective" and modules:
        names: List[str] = modules if isinstance(modules, list) else str(modules).split()
        return {"recompute_kind": "modules=" + ",".join(names)}
    if kind == "full" and method is not None:
        if method not in ("uniform", "block"):
            raise Error(f"{where}: recompute_method is {shown(method)}; it must be uniform or block")
        return {"recompute_kind": f"{method}={integer_of(where, 'recompute_num_layers', fields.get('recompute_num_layers') or 1, 1)}"}
    return {}


def _pairs(where: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """The order in which windows of overlapped pairs run. Without expert parallelism there is nothing to overlap."""
    overlaps, delays = (switch_of(where, fields, name) for name in PAIRS)
    if delays and not overlaps:
        raise Error(f"{where}: delay_wgrad_compute needs overlap_moe_expert_parallel_comm, as Megatron-LM has it only in overlapped pairs")
    experts = fields.get("expert_model_parallel_size", fields.get("ep"))
    if not overlaps or experts in (None, 1, "1"):
        return {}
    return {"pair_windows": ["ep"], "pair_rule": "megatron_delayed" if delays else "megatron"}


def step_options(where: str, fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Options of price, by its names."""
    options: Dict[str, Any] = {**_recompute(where, fields), **_pairs(where, fields)}
    overlaps = [word for name, word in OVERLAPS.items() if switch_of(where, fields, name)]
    if any(fields.get(name) is not None for name in OVERLAPS):
        options["overlap"] = overlaps
    for name, option in SWITCHES.items():
        if fields.get(name) is not None:
            options[option] = options.get(option, False) or switch_of(where, fields, name)
    options.update({option: integer_of(where, name, fields[name], 1) for name, option in NUMBERS.items() if fields.get(name) is not None})
    if fields.get("pipeline_model_parallel_layout") is not None:
        options["layout"] = str(fields["pipeline_model_parallel_layout"])
    if fields.get("cpu_offloading_num_layers") and fields.get("cpu_offloading_activations") is not False:
        options["offload_layers"] = integer_of(where, "cpu_offloading_num_layers", fields["cpu_offloading_num_layers"], 1)
    if fields.get("use_tp_pp_dp_mapping") is not None:
        options["rank_order"] = RANK_ORDERS[switch_of(where, fields, "use_tp_pp_dp_mapping")]
    if fields.get("moe_enable_deepep") or fields.get("moe_flex_dispatcher_backend") in ("deepep", "hybridep"):
        options["one_copy_a_node"] = True
    return options
