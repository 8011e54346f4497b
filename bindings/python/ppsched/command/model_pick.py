# SPDX-License-Identifier: Apache-2.0
"""The command pick for a model by its description: for one layout of a job, or for several, which are compared."""
import argparse
import itertools
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from .._core._library import Error
from .._core.command_words import option_word
from .._core.config import QUANTITIES
from .._core.launching import with_options
from .._core.listener import Progress
from .._core.microbatch_map import order_told
from .._core.plan import Plan
from .._core.plan_table import candidate_name
from .._core.price import RANK_ORDERS
from .._core.runs_on import runnable_first
from .._core.words import counted
from .._core.writing import ending_of, stamped
from ..readers.model_files import ModelFile
from .answer import Answer
from .device_types import job_types, pipeline_of, sheets_of, types_of_job, types_row
from .gpus_options import OF_SEARCH, add_gpus_arguments, check_goes_alone as check_gpus_alone, order_of_layouts, take_mapping, untaken
from .estimate_errors import estimate_line, estimate_row
from .memory_margin import HELP, limit_line, margin_of, with_margin
from .model_advice import Make, limit_that_does, numbers_that_do
from .model_command import columns, device_row
from .model_estimate import GIB, DeviceMemory
from .model_options import LORA, NUMBERS, Job, add_model_arguments, check_beside_table, described, job_of, naming_device, with_precision
from .model_plan import DoesNotFit, JobPlan, Step, candidate_memory, candidate_step, plan_job
from .model_profile import MEASURED
from .notices import tell_spare
from .page_options import PAGES, check_page_words
from .pick_files import files_of, write_schedule
from .plan_options import check_words, make_plan
from .plan_telling import page_text, rows_text, why_none
from .pod_options import PODS, device_given, tell_one_pod
from .printing import tell, print_text
from .problem_values import merged
from .rank_map import found_rank_map_line, is_moved, rank_map_line, refusal, with_rank_map
from .usage import MODEL, Parser, UsageError

MOST_DEVICES = 2**20
CAUSES = ("weights", "gradients", "optimizer", "activations", "buffers", "total")
# Lists of candidates' sizes, and the option of the job to use instead.
VARIES = {"microbatch_counts": "several --micro-batch", "mem_limits": "--mem-limit"}
# What the options of the problem say that follows from the job.
FOLLOWS = {"num_devices": "--pp, and all devices are --gpus", "num_stages": "--pp", "num_batches": "--global-batch", "layers": "--model",
           "num_layers": "--model",
           "embedding": "--model", "head": "--model"}


def add_arguments(parser: Parser) -> None:
    add_model_arguments(parser, beside_batches=True)
    add_gpus_arguments(parser)
    parser.group(MODEL).add_argument("--memory-margin", metavar="SIZE", help=f"with --model: {HELP}")


class Found(NamedTuple):
    """A layout with its best schedule, or the reason why it does not fit."""

    layout: Dict[str, Any]
    answer: Optional[Answer] = None
    made: Optional[JobPlan] = None
    memory: List[DeviceMemory] = []
    step: Optional[Step] = None
    reason: str = ""


# --- the layouts ---

def _replicas(options: Mapping[str, Any], gpus: Optional[int], layout: Dict[str, Any]) -> Dict[str, Any]:
    """The layout with the number of replicas that uses all devices."""
    if gpus is None:
        return layout
    if not 1 <= gpus <= MOST_DEVICES:
        raise Error(f"--gpus is {gpus}; it must be 1 to {MOST_DEVICES}")
    if options.get("dp") is not None:
        raise UsageError("--gpus, --dp: give one of them")
    used = layout.get("tp", 1) * layout.get("pp", 1) * layout.get("cp", 1)
    if used < 1:
        return layout  # refused where it is read
    if gpus % used:
        near = [str(number) for number in (gpus // used * used, (gpus // used + 1) * used) if number]
        raise Error(f"{used} devices of --tp, --pp and --cp do not divide --gpus {gpus}; give --gpus {' or '.join(near)}")
    return {**layout, "dp": gpus // used}


def _layouts(options: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
    """All combinations of the numbers of which several are given."""
    names = [name for name in NUMBERS if options.get(name) is not None]
    lists = [list(dict.fromkeys(options[name])) if isinstance(options[name], list) else [options[name]] for name in names]
    for numbers in itertools.product(*lists):
        yield dict(zip(names, numbers))


def _shown(job: Job) -> Dict[str, Any]:
    training = job.model.training
    return {"tp": training.tensor_parallel, "pp": job.pp, "dp": training.data_parallel, "cp": training.context_parallel,
            "ep": training.expert_parallel, "micro_batch": training.micro_batch_size, "microbatches": job.microbatches,
            "global_batch": job.global_batch, "gpus": job.devices, "zero": training.sharding, "seq": training.sequence_length,
            **({} if job.pipeline is None else {"rank_order": job.rank_order})}


def _why_none(made: JobPlan) -> Error:
    """Why nothing fits, in GiB. If no strategy can run at all, the message is that of other plans."""
    closest = next((candidate for candidate in made.plan if candidate.overshoot), None)
    if closest is None or closest.overshoot is None:
        return Error(why_none(made.plan))
    error = DoesNotFit(f"no schedule fits in {made.limit / GIB:.1f} GiB; {candidate_name(closest)} with V = {closest.chunks} exceeds "
                       f"this limit by {closest.overshoot / GIB:.2f} GiB")
    error.limit, error.made = made.limit, made
    return error


def _own_plan(job: Job, values: Mapping[str, Any], runtime: str, progress: Progress) -> Tuple[Plan, str]:
    made = plan_job(job, {**values, "runtime": runtime}, lambda problem: make_plan(problem, progress))
    return made.plan, "" if made.plan.best is not None else str(_why_none(made))


def _able(job: Job, values: Mapping[str, Any]) -> Dict[str, Any]:
    """The values, with the runtimes whose ranks can be in the job's order."""
    if job.pipeline is None:
        return dict(values)
    runtime = values.get("runtime")
    if runtime is not None and runtime not in ORDERS_RANKS:
        raise UsageError(f"rank order {job.rank_order}, --runtime {runtime}: {unordered(runtime)}; give --rank-order {RANK_ORDERS[0]}, or "
                         f"--runtime {' or '.join(ORDERS_RANKS)}")
    return {**values, "able_runtimes": tuple(ORDERS_RANKS)}


def _find(job: Job, values: Mapping[str, Any]) -> Found:
    values = _able(job, values)
    made = plan_job(job, values, make_plan)
    if made.plan.best is None:
        raise _why_none(made)
    by_time = values.get("any") or values.get("offload") or values.get("runtime")
    best = made.plan.best if by_time else runnable_first(made.plan, 1)[0]
    training = job.model.training
    answer = Answer(made.plan, [best], None, (training.micro_batch_size, training.data_parallel), "GiB",
                    lambda name, progress: _own_plan(job, values, name, progress), able=values.get("able_runtimes"))
    memory = candidate_memory(made, best, answer.timeline(best))
    return Found(_shown(job), answer, made, memory, candidate_step(made, best, memory))


def _advised(error: DoesNotFit, make: Make, values: Mapping[str, Any]) -> str:
    """The error, with numbers that would fit."""
    words = [numbers_that_do(make, make({}), error.limit, values, make_plan)]
    if error.made is not None:
        words = limit_that_does(error.made, values, make_plan) + words
    return f"{error}; {' or '.join(words)}"


def _try(file: ModelFile, options: Mapping[str, Any], layout: Dict[str, Any], values: Mapping[str, Any],
         arguments: argparse.Namespace, device: Any, is_alone: bool) -> Found:
    """is_alone: there are no other layouts, so numbers that would fit are searched."""
    def make(changed: Dict[str, int]) -> Job:
        whole = _replicas(options, arguments.gpus, {**layout, **changed})
        return job_of(file, {**options, **whole}, device)

    try:
        return _find(make({}), values)
    except UsageError:
        raise
    except DoesNotFit as error:
        return Found(layout, reason=_advised(error, make, values) if is_alone and values.get("device_types") is None else str(error))
    except Error as error:
        return Found(layout, reason=str(error))


# --- output ---

PARALLEL = {"megatron": ("--tensor-model-parallel-size", "--context-parallel-size", "--expert-model-parallel-size",
                         "--seq-length"),
            "torchtitan": ("--parallelism.tensor_parallel_degree", "--parallelism.context_parallel_degree",
                           "--parallelism.expert_parallel_degree", "--training.seq_len")}
PARALLEL["mindspeed"] = PARALLEL["megatron"]
# The runtimes that can number pipelines before replicas, with their option; a script with PyTorch numbers ranks itself.
ORDERS_RANKS = {"megatron": "--use-tp-pp-dp-mapping", "primus": "--use_tp_pp_dp_mapping True", "mindspeed": "--use-tp-pp-dp-mapping", "pytorch": ""}


def unordered(runtime: str) -> str:
    return f"{runtime} numbers the replicas of a stage before the stages"


def launch_words(runtime: str, job: Job) -> str:
    """Flags of the job, in addition to those of its schedule, that the runtime has."""
    own = [ORDERS_RANKS[runtime]] if job.pipeline is not None and ORDERS_RANKS.get(runtime) else []
    if runtime not in PARALLEL:
        return " ".join(own)
    training = job.model.training
    numbers = (training.tensor_parallel, training.context_parallel, training.expert_parallel, training.sequence_length)
    words = [f"{flag} {number}" for flag, number in zip(PARALLEL[runtime], numbers) if number > 1]
    if runtime == "torchtitan":
        kind = "shard" if training.sharding else "replicate"
        return " ".join([*words, f"--parallelism.data_parallel_{kind}_degree {training.data_parallel}"])
    if training.sequence_parallel:
        words.append("--sequence-parallel")
    if training.expert_tensor_parallel not in (0, training.tensor_parallel):
        words.append(f"--expert-tensor-parallel-size {training.expert_tensor_parallel}")
    return " ".join(words + (["--use-distributed-optimizer"] if training.sharding else []) + own)


def _row(found: Found, arguments: argparse.Namespace, csv: Optional[str]) -> Dict[str, Any]:
    """A layout as JSON."""
    if found.answer is None or found.made is None or found.step is None:
        return {"layout": found.layout, "fits": False, "reason": found.reason}
    row: Dict[str, Any] = found.answer.row(found.answer.best[0], csv)
    for runtime, launch in row["launch"].items():
        if launch["line"] is not None and found.made.job.pipeline is not None and runtime not in ORDERS_RANKS:
            launch.update(line=None, reason=unordered(runtime))
        if launch["line"] is not None:
            launch["line"] = with_options(launch["line"], launch_words(runtime, found.made.job))
    training, order = found.made.job.model.training, found.answer.best[0].device_order
    row = with_rank_map(row, order, arguments.host_gpus, training.tensor_parallel * training.context_parallel, training.data_parallel)
    memory = [{**device_row(device), "buffers": device.buffers} for device in found.memory]
    return {**row, "layout": found.layout, "memory": memory, "memory_limit": found.made.limit, "memory_margin": margin_of(arguments), "step": found.step._asdict(),
            **({} if found.made.unlike is None else {"memory_limits": found.made.unlike.limits,
                                                     **types_row(found.made.unlike.names, found.answer.best[0].device_order)}),
            **({} if found.made.attention_share is None else {"attention_share": found.made.attention_share}),
            **({} if not _estimates_slices(found.made, arguments) else
               {"attention_shares": found.made.job.model.attention_shares(found.made.measured.layers),
                "stage_attention_shares": _stage_shares(found)}),
            **estimate_row(vars(arguments), found.made.job.model), "calibrated": found.made.measured.notes}


def time_word(seconds: float) -> str:
    return f"{seconds:.3f} s" if seconds >= 1 else f"{1000 * seconds:.1f} ms"


def _memory_table(found: Found) -> str:
    lines = [["device", *(f"{name} GiB" for name in CAUSES)]]
    lines += [[str(number), *(f"{getattr(device, name) / GIB:.2f}" for name in CAUSES)]
              for number, device in enumerate(found.memory)]
    return columns(lines)


def _launch_line(answer: Answer, job: Job, runtime: Optional[str], host_gpus: Optional[int]) -> str:
    """The launch line for the given runtime, or for the first that runs the schedule."""
    row = answer.row(answer.best[0], None)["launch"]
    moved = is_moved(answer.best[0].device_order)
    runtimes = [name for name in ("megatron", *row) if job.pipeline is None or name in ORDERS_RANKS]
    name = runtime or next((name for name in runtimes if row.get(name, {}).get("line") and not (moved and refusal(name))), None)
    if name is None or not row[name]["line"]:
        return "no runtime has flags for this schedule; --runtime NAME plans for one runtime"
    order = answer.best[0].microbatch_order
    line = f"{name}: {with_options(row[name]['line'], launch_words(name, job))}"
    training, devices = job.model.training, answer.best[0].device_order
    width = training.tensor_parallel * training.context_parallel
    told_line = found_rank_map_line if answer.plan._frees_device_order else rank_map_line
    places = f"\n{told_line(devices or (), name, host_gpus, width, training.data_parallel)}" if moved else ""
    return f"{line}{places}\nnote: {order_told(order)}" if order else f"{line}{places}"


def _estimates_slices(made: JobPlan, arguments: argparse.Namespace) -> bool:
    return made.attention_share is not None and arguments.attention_share is None


def _stage_shares(found: Found) -> List[float]:
    """The share of attention in the times of each stage of the best candidate."""
    assert found.answer is not None and found.made is not None
    split = found.made.plan.split(found.answer.best[0])
    return found.made.job.model.stage_attention_shares(split.layers, found.made.measured.layers)


def _slices_line(found: Found) -> str:
    """The share of attention in the times of slices, and that of each kind of layer and of the stages, where it differs."""
    made = found.made
    assert made is not None
    shares, stages = made.job.model.attention_shares(made.measured.layers), _stage_shares(found)
    told = ", ".join(f"{share:.1%} of {name}" for name, share in shares.items())
    kinds = f"{told}; " if len(shares) > 1 else ""
    return (f"slices: {made.attention_share:.1%} of times is causal attention ({kinds}stages have {min(stages):.1%} to {max(stages):.1%}), "
            "as estimated; --attention-share sets one share for all stages")


def _details(found: Found, arguments: argparse.Namespace) -> str:
    assert found.answer is not None and found.made is not None and found.step is not None
    step, layout = found.step, found.layout
    parts = f"{time_word(step.pipeline_time)} pipeline, {time_word(step.optimizer_time)} optimizer, {time_word(step.data_parallel_time)} data parallel"
    lines = [f"step {time_word(step.step_time)} ({parts}), {step.tokens_per_second:,.0f} tokens/s, MFU {step.mfu:.1%}",
             f"{counted(layout['gpus'], 'device')}: tp {layout['tp']}, pp {layout['pp']}, dp {layout['dp']}, cp {layout['cp']}, ep {layout['ep']}, "
             f"zero {layout['zero']}; {counted(layout['microbatches'], 'microbatch', 'es')} of {layout['micro_batch']}, {layout['seq']} tokens each"]
    notes = [f"calibrated: {note}" for note in found.made.measured.notes]
    if found.made.job.pipeline is not None:
        notes.append(f"order of ranks: {found.made.job.rank_order}, which only {', '.join(ORDERS_RANKS)} can have")
    if _estimates_slices(found.made, arguments):
        notes.append(_slices_line(found))
    if found.made.unlike is None:
        margin = margin_of(arguments)
        notes.append(limit_line(margin, found.made.limit + margin))
    notes.append(estimate_line(vars(arguments), found.made.job.model))
    return (found.answer.text(False, arguments.runtime is not None) + "\n" + "\n".join(lines) + "\n\n" + _memory_table(found)
            + "\n"
            + _launch_line(found.answer, found.made.job, arguments.runtime, arguments.host_gpus) + "\n" + "\n".join(notes) + "\n")


def _comparison(found: List[Found]) -> str:
    """One row per layout, the best first. Layouts that do not fit come last, with the reason."""
    counts = {one.layout["gpus"] for one in found if one.step is not None}
    gpus = ["gpus"] if len(counts) > 1 else []
    lines = [["place", *gpus, "tp", "pp", "dp", "cp", "ep", "micro batch", "schedule", "V", "step", "tokens/s", "MFU", "fullest GiB"]]
    reasons = []
    for number, one in enumerate(found):
        if one.step is None or one.answer is None:
            words = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in one.layout.items()
                              if name in ("tp", "pp", "dp", "cp", "ep", "micro_batch"))
            reasons.append(f"{words}: {one.reason}\n")
            continue
        best, layout = one.answer.best[0], one.layout
        lines.append([str(number + 1), *(str(layout[name]) for name in (*gpus, "tp", "pp", "dp", "cp", "ep", "micro_batch")),
                      candidate_name(best),
                      str(best.chunks), time_word(one.step.step_time), f"{one.step.tokens_per_second:,.0f}", f"{one.step.mfu:.1%}",
                      f"{max(device.total for device in one.memory) / GIB:.1f}"])
    note = "ranked by tokens/s per device, because the layouts have different numbers of devices; --gpus N compares layouts of N devices\n" if gpus else ""
    return (columns(lines) if len(lines) > 1 else "") + note + "".join(reasons)


# --- the command ---

def _cost(found: Found) -> float:
    """Device seconds per token. For layouts with equal devices and batch, this ranks by the time of a step."""
    return float("inf") if found.step is None else float(found.layout["gpus"]) / found.step.tokens_per_second


def check_goes_alone(arguments: argparse.Namespace) -> None:
    """Refuses options that need --model without it."""
    check_beside_table(arguments)
    of_model = (*NUMBERS, "gpus", *OF_SEARCH, "rank_order", "device", *PODS, "memory_margin", "vpp", "use_distributed_optimizer", "sequence_parallel", "keep_scores", "precision", "expert_load", "pair_windows", *LORA,
                "sizes", "layer_times", "layer_table",
                "step_time", "tokens_per_second")
    name = next((name for name in of_model if getattr(arguments, name) is not None), None)
    if name is not None:
        gpus = arguments.gpus
        instead = f"; without it the number of devices is --devices {gpus}" if name == "gpus" and gpus and arguments.num_devices is None else ""
        raise UsageError(f"--{'bytes' if name == 'sizes' else name.replace('_', '-')} needs --model{instead}")


def _check(arguments: argparse.Namespace, values: Mapping[str, Any]) -> None:
    of_profile = ("num_devices", "num_stages", "num_batches") if arguments.profile else ()
    for name, word in FOLLOWS.items():
        if getattr(arguments, name, None) is not None or (values.get(name) is not None and name not in of_profile):
            raise UsageError(f"{option_word(name)}: with --model it follows from {word}; leave it out")
    for name, word in VARIES.items():
        if values.get(name) is not None:
            raise UsageError(f"{option_word(name)}: with --model give {word}")
    for name, value in (("--top", arguments.top != 1), ("--format", arguments.format is not None)):
        if value:
            raise UsageError(f"{name} cannot be combined with --model")


def _check_order(order: str, arguments: argparse.Namespace, values: Mapping[str, Any]) -> None:
    """Refuses what does not go with pipelines that are numbered before replicas."""
    if order == RANK_ORDERS[0]:
        return
    reasons = {"device_types": "devices of a type are consecutive GPUs of whole stages", "device_order": "the rank map is for the usual order of ranks",
               "free_device_order": "the rank map is for the usual order of ranks"}
    name = next((name for name in reasons if values.get(name)), None)
    if name is not None:
        raise UsageError(f"rank order {order}, --{name.replace('_', '-')}: {reasons[name]}; give --rank-order {RANK_ORDERS[0]}, or leave "
                         f"--{name.replace('_', '-')} out")


def _check_measured(arguments: argparse.Namespace, layouts: List[Dict[str, Any]]) -> None:
    """Refuses a measured step with several layouts: it was measured in one, and its factor does not hold for others."""
    name = next((name for name in ("step_time", "tokens_per_second") if getattr(arguments, name) is not None), None)
    if name is not None and len(layouts) > 1:
        several = ", ".join(f"--{key.replace('_', '-')}" for key in NUMBERS if len({layout.get(key) for layout in layouts}) > 1)
        raise UsageError(f"--{name.replace('_', '-')} was measured in one layout, but there are {len(layouts)} layouts; give only the "
                         f"measured number for {several}, or use --layer-times")


def _options(arguments: argparse.Namespace) -> Tuple[ModelFile, Dict[str, Any]]:
    """The model and the options, with pick's own options for the batch."""
    if arguments.vpp is not None:
        raise UsageError("--vpp: pick chooses the stages per device; --chunks sets which to try")
    for name, other, default in (("micro_batch", "micro_batch_size", 0), ("dp", "data_parallel_size", 1)):
        given, also = getattr(arguments, name), getattr(arguments, other)
        if also != default and given not in (None, [also]):
            raise UsageError(f"--{name.replace('_', '-')}, --{other.replace('_', '-')}: these are two names of the same option; give one of them")
        if also != default:
            setattr(arguments, name, [also])
    file, options = described(arguments)
    chosen = [name for name in ("vpp", "recompute") if options.get(name) not in (None, 1, "none")]
    if chosen:
        tell(arguments.command, f"warning: ignored in {arguments.config or arguments.model}: {', '.join(chosen)}, which pick chooses")
    return file, {**options, "vpp": None, "recompute": None}


def _values(arguments: argparse.Namespace) -> Dict[str, Any]:
    """The merged values. From a profile only its times are used, as its other lists have other units."""
    values = merged(arguments)
    if arguments.profile:
        unread = [name for name in QUANTITIES if name not in MEASURED and getattr(arguments, name) is None]
        values.update(dict.fromkeys(unread))
    return values


def _text(found: List[Found], arguments: argparse.Namespace, path: Optional[str], csv: Optional[str]) -> str:
    """The text for a file or standard output. A page shows the best layout."""
    best = found[0]
    if path is not None and ending_of(path, PAGES):
        if best.answer is None or best.made is None:
            return ""
        training = best.made.job.model.training
        return page_text(best.answer.plan, best.answer.plan[:], arguments, csv, training.tensor_parallel * training.context_parallel,
                         training.data_parallel)
    if arguments.json or (path is not None and ending_of(path, (".json",))):
        return rows_text(_row(one, arguments, csv if one is best else None) for one in found)
    text = _comparison(found) + "\n" if len(found) > 1 else ""
    return text + (_details(best, arguments) if best.step is not None else "")


def _search_gpus(arguments: argparse.Namespace) -> None:
    """Layouts are searched."""
    check_words(arguments)
    values = _values(arguments)
    take_mapping(arguments)
    file, options = _options(arguments)
    types = job_types(arguments, values) if values.get("device_types") is not None else []
    devices = [one.device for one in types] or [device_given(arguments)]
    if len(devices) == 1:
        tell_one_pod(arguments, devices[0], int(arguments.gpus))
    from .gpus_pick import run_gpus_pick  # takes long to load
    with naming_device(devices[0]):
        run_gpus_pick(file, with_precision(arguments, options, devices), with_margin(arguments, values, devices[0]), arguments, devices[0], types)


def run_model_pick(arguments: argparse.Namespace) -> None:
    check_beside_table(arguments)
    other = untaken(arguments)
    if arguments.gpus is not None and other is None:
        _search_gpus(arguments)
        return
    check_gpus_alone(arguments)
    if arguments.gpus is not None:
        tell(arguments.command, f"note: with {other} layouts are planned one by one: those of --tp, --pp, --cp and --ep that are not given are 1")
    check_words(arguments)
    files = files_of(arguments)
    check_page_words(arguments, files.answers)
    values = _values(arguments)
    _check(arguments, values)
    order = order_of_layouts(arguments)
    _check_order(order, arguments, values)
    file, options = _options(arguments)
    options = {**options, "rank_order": order}
    types = types_of_job(values) if values.get("device_types") is not None else None
    if types is not None and arguments.device is not None:
        raise UsageError("--device, --device-types: both state the devices; give one of them")
    if types is not None and options.get("pp") is None:
        options = {**options, "pp": pipeline_of(types, options)}
    devices = [device_given(arguments)] if types is None else sheets_of(types)
    device, options = devices[0], with_precision(arguments, options, devices)
    values = with_margin(arguments, values, device)
    layouts = list(_layouts(options))
    _check_measured(arguments, layouts)
    found = [_try(file, options, layout, values, arguments, device, len(layouts) == 1) for layout in layouts]
    if types is None or len(types) == 1:  # between types, links are those between pods
        tell_one_pod(arguments, device, max((one.made.job.devices for one in found if one.made is not None), default=device.node_devices))
    found.sort(key=_cost)
    best = found[0]
    if best.step is None and len(found) == 1:
        raise Error(best.reason)
    if best.made is not None and not arguments.json:
        tell_spare(arguments, [device.total for device in best.memory], best.made.limit)
    paths: List[Optional[str]] = [None, *files.answers]
    if best.answer is None:  # there is nothing to draw
        paths = [path for path in paths if path is None or not ending_of(path, PAGES)]
    texts = [(path, _text(found, arguments, path, files.csv)) for path in paths]  # before anything is written
    if best.answer is not None:
        for path in files.schedules:
            write_schedule(best.answer, path, None, arguments.time_scale)
    for answer_path, text in texts:
        is_text = answer_path is not None and not arguments.json and ending_of(answer_path, (".txt",))
        print_text(stamped(text, "text") if is_text else text, answer_path)
    if best.step is None:
        raise Error("no layout fits")
