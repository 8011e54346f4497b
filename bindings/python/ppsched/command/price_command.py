# SPDX-License-Identifier: Apache-2.0
"""The command that prices a told layout: price."""
import argparse
import json
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core._abi import PairRule
from .._core._library import Error
from .._core.enums import names_of
from .._core.layout import Layout
from .._core.model import Training
from .._core.price import RANK_ORDERS, StepPrice
from ..readers.device_files import read_device
from ..readers.file_kinds import is_megatron, is_script
from ..readers.megatron_names import plain
from ..readers.megatron_step import TAKEN, step_options
from ..readers.model_files import arguments_of_script, read_mapping_of, read_model
from ..readers.runs import read_runs
from .commands import COMMANDS, Commands
from .model_command import columns
from .model_config import take_model_config
from .memory_margin import HELP, check_margin, limit_line, margin_of
from .model_estimate import GIB
from .model_options import Job, add_model_arguments, described, job_of, model_on, windows_of_words, with_precision
from .no_effect import check_modules, check_overlaps, tell_no_effect
from .number_options import add_count_argument, whole
from .over_file import over_step, tell_if_other, tell_over, tell_over_devices
from .price_runs import Priced, price_run, runs_row, runs_table, tell_open, tell_too_large, tell_unread
from .price_job import Recompute, as_megatron, overlaps_of, priced, recompute_of
from .pod_options import device_given, tell_one_pod
from .printing import print_text, tell
from .step_errors import error_line, error_of
from .usage import UsageError

OWN = ("strategy", "split", "layout", "recompute_kind", "overlap", "account_for_embedding", "account_for_loss", "cuda_graph",
       "attention_fp8", "pair_windows", "pair_rule", "one_copy_a_node", "frozen_weights", "first_decoders", "last_decoders",
       "memory_margin", "offload_layers", "rank_order", "reduce_every")
OF_ALL_RUNS = ("runs", "device", "model", "json", "command", "run", "words")  # and what the parser adds
CAUSES = ("weights", "gradients", "optimizer", "activations", "logits", "gathered", "other", "total")

def add_commands(commands: Commands) -> None:
    parser = commands.add_parser(
        "price", help=COMMANDS["price"].summary, allow_abbrev=False,
        description="Prices one layout: estimates the time of a step and the parts of this time, the tokens per second, and the memory "
                    "of each device. A file of Megatron-LM's arguments may contain the whole layout; options take precedence over the file.")
    add_model_arguments(parser, beside_batches=False)
    group = parser.add_argument_group("the step")
    group.add_argument("-c", "--config", metavar="FILE", help="JSON or YAML file with Megatron-LM's argument names, for training and model")
    group.add_argument("--strategy", help="strategy of the schedule (default: 1f1b, or interleaved_1f1b with --vpp above 1)")
    add_count_argument(group, "--split", metavar="N", help="number of decoders of each stage (default: the same for all stages)")
    group.add_argument("--layout", metavar="STRING", help="Megatron-LM's --pipeline-model-parallel-layout")
    group.add_argument("--account-for-embedding", action="store_true", default=None, help="count the embedding as a decoder in the even split")
    group.add_argument("--account-for-loss", action="store_true", default=None, help="count the head as a decoder in the even split")
    group.add_argument("--recompute", metavar="WHAT", dest="recompute_kind",
                       help="what is recomputed, in the words of Megatron-LM: none, selective, full, modules=a,b, block=N or uniform=N (default: none)")
    group.add_argument("--offload-layers", type=whole, metavar="N",
                       help="keep the activations of the first N decoders of each stage on the host from forward to backward")
    group.add_argument("--overlap", nargs="+", metavar="WHAT",
                       help="which collectives overlap with matrix products: sums of gradients (grad), gathers of weights (param), collectives of "
                            "tensor, context or expert parallelism (tp, cp, ep) (default: none)")
    group.add_argument("--pair-rule", choices=names_of(PairRule),
                       help="with --pair-windows: the order in which the windows of a pair run. best (the default): the best order; megatron: the order "
                            "in which Megatron-LM launches them; megatron_delayed: the same with its --delay-wgrad-compute")
    group.add_argument("--attention-fp8", action="store_true", default=None, help="also compute the scores of the attention in 8 bits")
    group.add_argument("--cuda-graph", action="store_true", default=None, help="the run launches its ops as CUDA graphs")
    group.add_argument("--one-copy-a-node", action="store_true", default=None,
                       help="send each token only once to each node that has experts for it, as DeepEP and HybridEP do")
    group.add_argument("--rank-order", choices=RANK_ORDERS, metavar="ORDER",
                       help=f"order in which ranks are numbered, {' or '.join(RANK_ORDERS)} (default: the first). The groups of the last dimension cross nodes")
    group.add_argument("--reduce-every", type=whole, metavar="N",
                       help="run the schedule N times in each step, each time with an equal part of the batch; gradients are reduced once after that "
                            "(default: 1)")
    group.add_argument("--frozen-weights", action="store_true", default=None, help="do not train the model's weights, as with LoRA")
    group.add_argument("--memory-margin", metavar="SIZE", help=HELP)
    group.add_argument("--runs", metavar="CSV", help="CSV file with one measured run per row: estimate each run, and print the errors of the estimates")
    parser.add_argument("--json", action="store_true", help="print JSON, in seconds and bytes")
    parser.examples = ("ppsched price --model config.json --device h100 --tp 2 --pp 4 --dp 2 --global-batch 64",
                       "ppsched price --model config.json --device h100 --tp 2 --pp 4 --dp 2 --global-batch 64 --recompute full")
    parser.set_defaults(run=run_price)

# --- what files and options say ---

def _file_options(arguments: argparse.Namespace) -> Dict[str, Any]:
    """Of the files that have Megatron-LM's arguments, what only price takes."""
    options: Dict[str, Any] = {}
    for path in (arguments.model, arguments.config):
        if path is None or not (is_script(path) or path.lower().endswith((".json", ".yaml", ".yml"))):
            continue
        fields = arguments_of_script(path) if is_script(path) else read_mapping_of(path)
        if is_script(path) or is_megatron(fields) or path == arguments.config:
            options.update(step_options(path, plain(path, {key: value for key, value in fields.items() if not isinstance(value, dict)})))
    return options

def job_to_price(arguments: argparse.Namespace) -> Tuple[Job, Dict[str, Any]]:
    take_model_config(arguments)
    arguments.also_taken = TAKEN
    of_file = _file_options(arguments)
    options = _with_pairs(arguments, over_step(arguments, of_file, {name: getattr(arguments, name, None) for name in OWN}))
    of_option, arguments.recompute_kind = arguments.recompute_kind, None  # the model's options know fewer kinds
    found, of_model = described(arguments)
    granularity = of_model.pop("recompute", None)
    if "recompute_kind" not in of_file:
        tell_if_other(arguments, "recompute", of_option, granularity)
    recompute = recompute_of(options.get("recompute_kind") or granularity or "none")
    tell_over_devices(arguments, of_model)
    _take_stages(arguments, of_model, of_file, options)
    device = device_given(arguments)
    job = job_of(found, with_precision(arguments, of_model, [device]), device)
    if job.model.table is None:  # a table has what it measured, by its own name
        recompute = as_megatron(recompute, job.model.training.keeps_scores)
    hidden: Dict[str, Any] = {**windows_of_words(options.get("pair_windows")), **overlaps_of(options.get("overlap"))}
    training = job.model.training._replace(
        recompute_modules=recompute.modules, graphs=bool(options.get("cuda_graph")), attention_8bit=bool(options.get("attention_fp8")),
        one_copy_a_node=bool(options.get("one_copy_a_node")), frozen_weights=bool(options.get("frozen_weights")), **hidden)
    if getattr(arguments, "overlap", None) is not None:  # in a file such a switch has no effect
        check_overlaps(training)
    options = _with_strategy(arguments, job, options, recompute)
    job = job._replace(model=model_on(found.description, training, device, job.model.table))
    if job.model.table is None:
        check_modules(job.model, of_option)
    return job, {**options, "recompute": recompute}

def _take_stages(arguments: argparse.Namespace, of_model: Dict[str, Any], of_file: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Stages per device as the layout string has them, also where a split is given in its place."""
    layout = options.get("layout") or (of_file.get("layout") if options.get("split") is not None else None)
    is_given = arguments.vpp is not None or (arguments.layout is None and bool(of_model.get("vpp")))
    pp = of_model.get("pp") or 1
    if layout is None or is_given or (isinstance(pp, list) and len(pp) != 1):
        return
    chunks = Layout(layout, pp[0] if isinstance(pp, list) else pp).chunks
    if of_model.get("vpp") not in (None, 0, chunks):
        tell_over(arguments, "layout", f"vpp {of_model['vpp']}")
    of_model["vpp"] = chunks

def _names(words: Sequence[str]) -> List[str]:
    """Of words as ep or ep,tp."""
    return [name for word in words for name in word.split(",") if name]

def _with_pairs(arguments: argparse.Namespace, options: Dict[str, Any]) -> Dict[str, Any]:
    """Windows of pairs, or the estimate of --overlap, of which the command line takes precedence."""
    if options.get("pair_windows") is not None:
        options = {**options, "pair_windows": _names(options["pair_windows"]) or ["ep"]}
    both = [name for name in options.get("pair_windows", ()) if name in _names(options.get("overlap") or ())]
    if both and arguments.pair_windows is not None and arguments.overlap is not None:
        raise UsageError(f"--overlap {both[0]}, --pair-windows: both state which exchanges overlap with compute; give one of them")
    if both and arguments.overlap is not None:
        tell_over(arguments, f"overlap {both[0]}", "overlapped pairs")
        options = {name: value for name, value in options.items() if name not in ("pair_windows", "pair_rule")}
    if options.get("pair_rule") is not None and options.get("pair_windows") is None:
        raise UsageError("--pair-rule needs --pair-windows")
    return options

def _with_strategy(arguments: argparse.Namespace, job: Job, options: Dict[str, Any], recompute: Recompute) -> Dict[str, Any]:
    """Where layers have windows, the schedule with overlapped pairs that Megatron-LM runs, unless another one is given."""
    if options.get("pair_windows") is None:
        return options
    if str(options.get("pair_rule")).startswith("megatron"):
        if recompute.kind == "full":
            raise Error("Megatron-LM does not overlap pairs if it recomputes whole layers (full); give --recompute selective, modules=... or none")
        if options["pair_windows"] != ["ep"]:
            raise Error("Megatron-LM overlaps only the exchanges of experts; give --pair-windows ep, or --pair-rule best")
    own = "interleaved_1f1b_overlap" if job.vpp > 1 else "1f1b_overlap"
    if options.get("strategy") is not None:
        if options["strategy"] != own and arguments.pair_windows is None:
            tell_over(arguments, "strategy", "overlapped pairs")
        return options
    if job.pp > 1 and job.vpp == 1:
        raise Error("overlapped pairs with --pp above 1 need several stages on each device; give --vpp, or a --strategy such as 1f1b_overlap")
    return {**options, "strategy": own}

# --- the answer ---

def _row(step: StepPrice, of: str, errors: Mapping[str, Optional[float]], notes: List[str]) -> Dict[str, Any]:
    return {"step_time": step.step_time, "tokens_per_second_per_gpu": step.tokens_per_second_per_device, "mfu": step.mfu,
            "tflops_per_gpu": step.operations_per_second_per_device / 1e12, "pipeline_time": step.pipeline_time,
            "exposed": {"data_parallel": step.exposed_data_parallel, "tensor_parallel": step.exposed_tensor_parallel,
                        "context_parallel": step.exposed_context_parallel, "expert_parallel": step.exposed_expert_parallel,
                        "pipeline": step.exposed_pipeline},
            "optimizer_time": step.optimizer_time,
            "memory": [{"device": number, **memory._asdict()} for number, memory in enumerate(step.memory)],
            "error": {"of": of, **errors}, **({"layer_table": notes} if notes else {})}

def _seconds(value: float) -> str:
    return f"{value:.3f} s" if value >= 1 else f"{1000 * value:.1f} ms"

def _table(job: Job, step: StepPrice, margin: float, line: str) -> str:
    parts = [["pipeline", _seconds(step.pipeline_time)], ["  idle", _seconds(step.exposed_pipeline)],
             ["  tensor parallelism", _seconds(step.exposed_tensor_parallel)], ["  context parallelism", _seconds(step.exposed_context_parallel)],
             ["  experts", _seconds(step.exposed_expert_parallel)], ["data parallelism, exposed", _seconds(step.exposed_data_parallel)],
             ["optimizer", _seconds(step.optimizer_time)], ["step", _seconds(step.step_time)]]
    memory = [["device", *(f"{name} GiB" for name in CAUSES)]]
    memory += [[str(number), *(f"{getattr(device, name) / GIB:.2f}" for name in CAUSES)] for number, device in enumerate(step.memory)]
    assert job.model.accelerator is not None
    limit = limit_line(margin, job.model.accelerator.memory) + "\n"
    return (f"{_seconds(step.step_time)} a step on {step.devices} device{'' if step.devices == 1 else 's'}, {step.tokens_per_second_per_device:,.0f} tokens per second and device, "
            f"{step.operations_per_second_per_device / 1e12:.0f} TFLOP/s, MFU {step.mfu:.1%}\n\n{columns(parts)}\n{columns(memory)}{limit}{line}\n"
            + "".join(f"{note}\n" for note in job.model.table_notes()))

def _warn_memory(arguments: argparse.Namespace, job: Job, step: StepPrice, margin: float) -> None:
    device = job.model.accelerator
    assert device is not None
    check_margin(margin, device)
    fullest: List[float] = [memory.total for memory in step.memory]
    if max(fullest) > device.memory - margin:
        left = f", of which {margin / GIB:.1f} GiB must stay free" if margin > 0 else ""
        tell(arguments.command, f"warning: device {fullest.index(max(fullest))} needs {max(fullest) / GIB:.1f} GiB, and {device.name} has "
             f"{device.memory / GIB:.1f} GiB{left}")

def _run_runs(arguments: argparse.Namespace) -> None:
    """Each row is priced on its own device, or all on the one that is given; a line for each that cannot be."""
    told = next((name for name, value in vars(arguments).items() if value is not None and name not in OF_ALL_RUNS), None)
    if told is not None:
        raise Error(f"--runs has the settings of each row; leave --{told.replace('_kind', '').replace('sizes', 'bytes').replace('_', '-')} out")
    refused: List[Error] = []
    description = read_model(arguments.model).description if arguments.model is not None else None
    devices: Dict[str, Any] = {}
    rows: List[Priced] = []
    for run in read_runs(arguments.runs, description, arguments.device, refused.append):
        try:
            if run.device not in devices:
                devices[run.device] = read_device(run.device)
            rows.append(Priced(run, price_run(run, devices[run.device])))
        except Error as error:
            refused.append(error if str(error).startswith(run.where) else Error(f"{run.where}: {error}"))
    tell_unread(arguments.command, arguments.runs)
    if not arguments.json:
        tell_open(arguments.command, arguments.runs, [row.run for row in rows], "in the table of errors")
        tell_too_large(arguments.command, arguments.runs, rows, {name: device.memory for name, device in devices.items()})
    for reason in refused:
        tell(arguments.command, f"not priced: {reason}")
    if not rows:
        raise Error(f"{arguments.runs}: no run of it can be priced")
    print_text(json.dumps(runs_row(rows)) + "\n" if arguments.json else runs_table(rows))

def run_price(arguments: argparse.Namespace) -> None:
    if arguments.runs is not None:
        _run_runs(arguments)
        return
    job, options = job_to_price(arguments)
    step = priced(job, options["recompute"], options)
    tell_no_effect(arguments, job, vars(arguments))
    assert job.model.accelerator is not None
    tell_one_pod(arguments, job.model.accelerator, job.devices)
    margin = margin_of(arguments)
    _warn_memory(arguments, job, step, margin)
    of, errors = error_of(job.model)
    print_text(json.dumps(_row(step, of, errors, job.model.table_notes())) + "\n" if arguments.json
               else _table(job, step, margin, error_line(job.model)))
