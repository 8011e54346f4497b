# SPDX-License-Identifier: Apache-2.0
"""What Megatron-LM makes of launch lines: its parser and checks read each, and its own functions tell the layers of each stage, the
number of microbatches and the order of each rank. Processes are numbers that its parallel state is told.

usage: megatron_reads.py FILE.json    {"lines": [{"words", "devices", "stages", "layers", "microbatches", "replicas"}], "layouts": [[string,
    devices, decoders, MTP layers]], "splits": [[words, devices]], "hybrids": [[words, pattern, devices]],
    "pairs": [[forward, backward]]}
"""
import contextlib
import json
import os
import pathlib
import sys
import typing
import warnings
from types import SimpleNamespace

import typing_extensions

warnings.filterwarnings("ignore")
ANSWER, sys.stdout = sys.stdout, sys.stderr  # to which it writes from its import on
typing.override = typing_extensions.override  # which it imports from there: Python 3.12 has it
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from megatron.core import parallel_state  # noqa: E402
from megatron.core.models.common.model_chunk_schedule_plan import TransformerModelChunkSchedulePlan  # noqa: E402
from megatron.core.models.hybrid.hybrid_layer_allocation import parse_hybrid_pattern, select_pipeline_segment  # noqa: E402
from megatron.core.num_microbatches_calculator import ConstantNumMicroBatchesCalculator  # noqa: E402
from megatron.core.pipeline_parallel.schedules import get_pp_rank_microbatches, get_schedule_table  # noqa: E402
from megatron.core.pipeline_parallel.utils import NoopScheduleNode  # noqa: E402
from megatron.core.transformer.multi_token_prediction import get_mtp_num_layers_to_build  # noqa: E402
from megatron.core.transformer.pipeline_parallel_layer_layout import PipelineParallelLayerLayout  # noqa: E402
from megatron.core.transformer.transformer_block import get_num_layers_to_build  # noqa: E402
from megatron.core.transformer.transformer_layer import get_transformer_layer_offset  # noqa: E402
from megatron.training import arguments  # noqa: E402
from torch.testing._internal.distributed.fake_pg import FakeStore  # noqa: E402

MODEL = ["--hidden-size", "64", "--num-attention-heads", "4", "--seq-length", "32", "--max-position-embeddings", "32",
         "--position-embedding-type", "rope", "--transformer-impl", "transformer_engine", "--bf16", "--no-masked-softmax-fusion",
         "--no-persist-layer-norm", "--no-rope-fusion", "--no-gradient-accumulation-fusion"]
EXPERTS = ["--num-experts", "4", "--expert-model-parallel-size", "2", "--moe-token-dispatcher-type", "alltoall"]


def parse(words, world):
    """Arguments as its launcher has them after its checks, and its configuration of the model."""
    os.environ.update(WORLD_SIZE=str(world), RANK="0", LOCAL_RANK="0", CUDA_DEVICE_MAX_CONNECTIONS="1")
    sys.argv = ["pretrain_gpt.py", *MODEL, *words]
    args = arguments.parse_args()
    arguments.validate_args(args)
    parallel_state.set_pipeline_model_parallel_world_size(args.pipeline_model_parallel_size)
    parallel_state.set_virtual_pipeline_model_parallel_world_size(args.virtual_pipeline_model_parallel_size)
    return args, arguments.core_transformer_config_from_args(args)


def order_of(args, config, microbatches):
    """[kind, chunk, microbatch] of the rank that the parallel state has: its forwards before the first pair, pairs, backwards."""
    chunks, group = args.virtual_pipeline_model_parallel_size or 1, config.microbatch_group_size_per_vp_stage
    _, _, ahead, _ = get_pp_rank_microbatches(microbatches, chunks, group, overlap_moe_expert_parallel_comm=
                                              config.overlap_moe_expert_parallel_comm)
    table = get_schedule_table(microbatches, chunks, group)
    forwards = [["F", chunk, microbatch] for microbatch, chunk in table]
    backwards = [["B", chunks - 1 - chunk, microbatch] for microbatch, chunk in table]
    pairs = [op for pair in zip(forwards[ahead:], backwards) for op in pair]
    return forwards[:ahead] + pairs + backwards[len(forwards) - ahead:]


def stage_of(config, rank, vp_stage):
    """[decoders, number of the first one, MTP layers]"""
    parallel_state.set_pipeline_model_parallel_rank(rank)
    return [get_num_layers_to_build(config, vp_stage=vp_stage, pp_rank=rank),
            get_transformer_layer_offset(config, vp_stage=vp_stage, pp_rank=rank),
            get_mtp_num_layers_to_build(config, vp_stage=vp_stage, pp_rank=rank) if config.mtp_num_layers else 0]


def stages_of(args, config):
    """Of each rank its stages."""
    chunks = args.virtual_pipeline_model_parallel_size
    return [[stage_of(config, rank, chunk) for chunk in (range(chunks) if chunks else [None])]
            for rank in range(args.pipeline_model_parallel_size)]


def read(problem):
    words = list(problem["words"])
    if "--num-layers" not in words:
        words += ["--num-layers", str(problem["layers"])]
    if "--micro-batch-size" not in words:
        words += ["--micro-batch-size", "1", "--global-batch-size", str(problem["microbatches"] * problem["replicas"])]
    if "--overlap-moe-expert-parallel-comm" in words:
        words += EXPERTS
    args, config = parse(words, problem["devices"] * problem["replicas"])
    devices = args.pipeline_model_parallel_size
    count = ConstantNumMicroBatchesCalculator(args.global_batch_size, args.micro_batch_size, args.data_parallel_size, False, 0).get()
    orders = []
    for rank in range(devices):
        parallel_state.set_pipeline_model_parallel_rank(rank)
        orders.append(order_of(args, config, count))
    return {"ranks": stages_of(args, config), "orders": orders, "microbatches": count, "micro_batch": args.micro_batch_size,
            "recompute": [args.recompute_granularity, args.recompute_method, args.recompute_num_layers]}


class Node:
    """A node of its plans that notes when it is launched."""

    def __init__(self, noted, name):
        self.noted, self.name = noted, name

    def forward(self, given=None):
        self.noted.append(["F", self.name])
        return given

    def backward(self, gradient):
        self.noted.append(["B", self.name])
        return gradient

    def backward_dw(self):
        self.noted.append(["W", self.name])


def pair(forward, backward):
    """[kind, part] in the order in which its combined 1F1B launches the windows of two stages. A stage is a text: E embedding, d dense, e
    experts, H head, a layer each."""
    noted = []
    stage = SimpleNamespace(record_current_stream=lambda: None, wait_current_stream=lambda: None, release_state=lambda: None, vp_stage=0)

    def layer(kind):
        node = {part: Node(noted, part) if kind == "e" or part in ("pre_dispatch_computation", "mlp") else NoopScheduleNode()
                for part in ("pre_dispatch_computation", "moe_dispatch", "mlp", "moe_combine")}
        return SimpleNamespace(**node, mtp_post_process=NoopScheduleNode(), release_state=lambda: None, get_low_precision_context=contextlib.nullcontext,
                               config=SimpleNamespace(ep_overlap_early_attn_memory_release=False))

    def plan(text):
        layers = [layer(kind) for kind in text if kind in "de"]
        return SimpleNamespace(**vars(stage), num_layers=lambda: len(layers), get_layer=layers.__getitem__, pop_layer=layers.pop,
                               pre_process=Node(noted if "E" in text else [], "embedding"),
                               post_process=Node(noted, "head") if "H" in text else None)

    TransformerModelChunkSchedulePlan.run(plan(forward), plan(backward), b_grad=1)
    return noted


def split(words, devices):
    """What flags without a string make, for a step of a microbatch a device."""
    args, config = parse([*words, "--micro-batch-size", "1", "--global-batch-size", str(devices)], devices)
    return stages_of(args, config)


def segment(words, pattern, devices):
    """Of each rank its stages: letters of layers, and the number of the first one; and letters and number of MTP layers."""
    args, _ = parse([*words, "--hybrid-layer-pattern", pattern, "--micro-batch-size", "1", "--global-batch-size", str(devices)], devices)
    chunks, ranks = args.virtual_pipeline_model_parallel_size, []
    for rank in range(devices):
        dist.init_process_group("fake", rank=rank, world_size=devices, store=FakeStore())
        alone = dist.new_group([rank])  # for its log
        try:
            made = [select_pipeline_segment(parse_hybrid_pattern(args.hybrid_layer_pattern).main_pattern, dist.group.WORLD, chunk,
                                            args.decoder_first_pipeline_num_layers, args.decoder_last_pipeline_num_layers, alone, alone)
                    for chunk in (range(chunks) if chunks else [None])]
        finally:
            dist.destroy_process_group()
        ranks.append([["".join(letters), offset] for letters, offset in made])
    parsed = parse_hybrid_pattern(args.hybrid_layer_pattern)
    return [ranks, [parsed.mtp_pattern, args.mtp_num_layers or 0]]


def lay_out(text, devices, decoders, mtps):
    """Of each device and chunk the layers by name, as the layout class has them."""
    layout = PipelineParallelLayerLayout(text, devices)
    layout.validate_layer_layout(decoders, mtps)
    return [[[kind.name for kind in stage] for stage in rank] for rank in layout.layout]


def try_to(function, *values):
    """What it returns, or Megatron-LM's words where it refuses."""
    try:
        with open(os.devnull, "w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
            return function(*values)
    except (Exception, SystemExit) as error:  # argparse exits
        return {"refused": f"{type(error).__name__}: {error}"}


def main():
    given = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    torch.set_num_threads(1)
    print(json.dumps({"lines": [try_to(read, problem) for problem in given["lines"]],
                      "layouts": [try_to(lay_out, *problem) for problem in given["layouts"]],
                      "splits": [try_to(split, *problem) for problem in given["splits"]],
                      "hybrids": [try_to(segment, *problem) for problem in given["hybrids"]],
                      "pairs": [try_to(pair, *problem) for problem in given["pairs"]]}), file=ANSWER)


if __name__ == "__main__":
    main()
