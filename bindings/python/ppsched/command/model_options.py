# SPDX-License-Identifier: Apache-2.0
"""Options of the command line for a model, its training and its device; Megatron-LM's argument names are accepted, too."""
import argparse
import contextlib
import math
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core._abi import AdapterTarget
from .._core._library import Error
from .._core.accelerators import PRECISIONS, Accelerator, accelerators
from .._core.command_words import option_word
from .._core.layer_table import LayerTable
from .._core.description import Description
from .._core.model import Model, Training
from .._core.price import RANK_ORDERS, pipeline_record
from .._core.shown import shown
from .._core.whole_numbers import number_of
from .._core.words import counted, nearest
from ..readers.file_kinds import is_megatron
from ..readers.model_files import ModelFile, guessed_model, model_of, read_model, with_frozen_towers
from .number_options import add_count_argument, batches, kind_of_device, real, whole
from .over_file import tell_over_training
from .pod_options import DEFAULT_DEVICE, add_pod_arguments
from .printing import tell
from .usage import MODEL, Parser, UsageError

# Options that take a number: other names, help. Several numbers make several layouts to compare.
NUMBERS: Dict[str, Tuple[Tuple[str, ...], str]] = {
    "tp": (("--tensor-model-parallel-size",), "tensor parallelism: number of devices that share each layer"),
    "pp": (("--pipeline-model-parallel-size",), "number of devices of the pipeline"),
    "dp": ((), "data parallelism: number of replicas of the pipeline"),
    "cp": (("--context-parallel-size",), "context parallelism: number of devices that share each sequence"),
    "ep": (("--expert-model-parallel-size",), "expert parallelism: number of devices that share the experts"),
    "etp": (("--expert-tensor-parallel-size",), "number of devices that share each expert (default: the number in --tp)"),
    "seq": (("--seq-length",), "number of tokens per sequence (default: the model's maximum, but at most 8192)"),
    "micro_batch": ((), "number of sequences per microbatch"),
    "global_batch": (("--global-batch-size",),
                     "number of sequences per step (default: each replica has as many microbatches as the pipeline has devices)"),
    "zero": ((), "what data parallelism shards. 0: nothing; 1: optimizer states; 2: also gradients; 3: also weights"),
}
ALSO_NUMBERS = {"dp": "--data-parallel-size", "micro_batch": "--micro-batch-size"}  # names that pick has already
MOST = {"seq": 2**30, "global_batch": 2**30, "world_size": 2**30}
RECOMPUTE = ("none", "selective", "full")
PAIR_WINDOWS = {"ep": "windows_experts", "tp": "windows_tensor", "cp": "windows_context"}  # and the flags of Training
LORA = ("lora_rank", "lora_targets", "lora_dropout")
TARGETS = tuple(target.name.lower() for target in AdapterTarget)
BYTES = ("weight", "gradient", "optimizer", "activation")


class Job(NamedTuple):
    """A model in training: devices of the pipeline, microbatches per replica, stages per device, and the recomputation of layers."""

    model: Model
    pp: int
    microbatches: int
    vpp: int = 1
    recompute: str = "none"
    rank_order: str = RANK_ORDERS[0]

    @property
    def pipeline(self) -> Any:
        """The library's record of the pipeline, if its ranks are not in the usual order; None: they are, as with one replica."""
        return None if self.rank_order == RANK_ORDERS[0] or self.model.training.data_parallel == 1 else pipeline_record(self.pp, rank_order=self.rank_order)

    @property
    def devices(self) -> int:
        training = self.model.training
        return self.pp * training.tensor_parallel * training.context_parallel * training.data_parallel

    @property
    def global_batch(self) -> int:
        training = self.model.training
        return self.microbatches * training.micro_batch_size * training.data_parallel


def add_model_arguments(parser: Parser, beside_batches: bool) -> None:
    """beside_batches: the command has --micro-batch-size and --data-parallel-size already."""
    group = parser.group(MODEL)
    group.add_argument("--model", metavar="FILE",
                       help="description of the model: Hugging Face's config.json; Megatron-LM's arguments in a script, JSON or YAML; or a "
                            "recipe of torchtitan (TOML), Megatron-Bridge, NeMo and others (docs/model.md)")
    group.add_argument("--device", metavar="NAME", type=kind_of_device("--devices {0}, with --model --gpus {0}" if beside_batches else "the product of --tp, --pp and --dp"),
                       help="kind of device: " + f"{', '.join(device.name for device in accelerators())}, or a JSON file (default: {DEFAULT_DEVICE})")
    add_pod_arguments(group)
    for name, (others, text) in NUMBERS.items():
        also = [ALSO_NUMBERS[name]] if name in ALSO_NUMBERS and not beside_batches else []
        ranges: Dict[str, Any] = {"type": batches} if name == "global_batch" else {}
        add_count_argument(group, "--" + name.replace("_", "-"), *others, *also, metavar="N", dest=name, help=text, **ranges)
    group.add_argument("--vpp", "--virtual-pipeline-model-parallel-size", type=whole, metavar="V", dest="vpp",
                       help="number of stages per device, only for the commands model and price; pick has --chunks instead")
    group.add_argument("--use-distributed-optimizer", action="store_true", default=None, help="the same as --zero 1")
    group.add_argument("--sequence-parallel", action=argparse.BooleanOptionalAction, default=None,
                       help="also divide norms and residuals among the --tp devices (default: yes if --tp is above 1)")
    group.add_argument("--keep-scores", action="store_true", default=None,
                       help="the attention keeps its scores for the backward (default: it does not)")
    group.add_argument("--precision", choices=PRECISIONS,
                       help="data type of linear layers (default: the type in the file; without one bf16, or fp16 if a device has no bf16)")
    group.add_argument("--expert-load", type=real, metavar="X",
                       help="number of rows (tokens) that the experts of the busiest device get, divided by the number in an even distribution "
                            "(default: 1)")
    group.add_argument("--pair-windows", nargs="*", metavar="WHAT",
                       help="compute the times of overlapped pairs (a forward and a backward at the same time) from the windows of the layers (the "
                            "parts of an op on one channel each). WHAT runs at the same time as compute: the exchanges of experts (ep), or the "
                            "collectives of tensor or context parallelism (tp, cp) (default: ep)")
    group.add_argument("--lora-rank", type=whole, metavar="R",
                       help="freeze the weights, and train adapters (LoRA) of this rank; 0: train all weights (default: the rank in the file, else 0)")
    group.add_argument("--lora-targets", nargs="+", metavar="NAME",
                       help=f"matrices that have adapters: {', '.join(TARGETS)} (default: all but router and head)")
    group.add_argument("--lora-dropout", action=argparse.BooleanOptionalAction, default=None,
                       help="whether each adapter keeps a copy of its input after dropout (default: what the file says, else it does not)")
    group.add_argument("--bytes", nargs="+", metavar="KIND=B", dest="sizes",
                       help="bytes per parameter of weight, gradient and optimizer states, and bytes per element of activations (default: weight=2 "
                            "gradient=4 optimizer=12 activation=2)")
    group.add_argument("--layer-times", nargs="+", metavar="KIND.PASS=TIME",
                       help="measured time of one layer, such as decoder.forward=6.1ms; KIND is a name in the table that ppsched model prints, PASS "
                            "is forward, input or weight")
    group.add_argument("--layer-table", metavar="FILE",
                       help="CSV or JSON file with measured costs of layers and collectives; costs that are not in the file come from the cost model")
    group.add_argument("--step-time", metavar="TIME",
                       help="measured time of a step with 1F1B and an even split, such as 2.1s; the times of all layers are scaled to match it")
    group.add_argument("--tokens-per-second", type=real, metavar="N",
                       help="instead of --step-time: measured number of tokens per second of all devices together")


# --- reading the options ---

def _one(values: Mapping[str, Any], name: str, default: int = 1) -> int:
    given = values.get(name)
    if isinstance(given, list):
        if len(given) != 1:
            raise UsageError(f"--{name.replace('_', '-')}: give one number; ppsched pick compares several")
        given = given[0]
    least, most = (0, 3) if name == "zero" else (1, MOST.get(name, 2**20))
    if given is not None and not least <= given <= most:
        raise Error(f"--{name.replace('_', '-')} is {given}; it must be {least} to {most}")
    return default if given is None else int(given)


def _check_training(where: str, config: Mapping[str, Any]) -> None:
    """Checks the keys of a config file that is given together with --model."""
    from ..readers.megatron_layers import LAYERS, is_in_use           # takes long to load
    from ..readers.megatron_names import LATENT, SIZES, check_names   # takes long to load
    needed = {"num_layers": 1, "hidden_size": 1, "num_attention_heads": 1, "vocab_size": 1}
    check_names(where, {**needed, **config})
    twice = next((name for name in (*needed, *SIZES, *LATENT, *(name for name in LAYERS if is_in_use(name, config))) if name in config), None)
    if twice is not None:
        raise Error(f"{where}: {twice}: with --model it follows from the model; leave it out")


def _training(where: str, config: Mapping[str, Any], is_beside_model: bool) -> Tuple[Dict[str, Any], List[str]]:
    """The options of the keys of a config file that are of training, and those that are not taken."""
    if not config:
        return {}, []
    from ..readers.megatron_names import not_taken, plain           # takes long to load
    from ..readers.megatron_training import training_options        # takes long to load
    training = plain(where, config)
    if is_beside_model:
        _check_training(where, training)
    return training_options(where, training), not_taken(training)


def _read(path: str) -> ModelFile:
    """The model of a file; of a config.json of an unknown type the refusal also says how to start a description."""
    try:
        return read_model(path)
    except Error as error:
        if guessed_model(path) is None:
            raise
        raise Error(f"{error}; ppsched model --model {path} --describe -o start.json writes what is understood of it") from None


def described(arguments: argparse.Namespace) -> Tuple[ModelFile, Dict[str, Any]]:
    """The model from its file, and all options: from the command line, else from the config file, else from the model's file."""
    path: Optional[str] = arguments.model
    config: Mapping[str, Any] = arguments.job
    if path is None and not config:
        raise UsageError("give --model FILE: Hugging Face's config.json, Megatron-LM's argument names, or a recipe of torchtitan, Megatron-Bridge or NeMo")
    found = _read(path) if path is not None else model_of(arguments.config, config)
    options: Dict[str, Any] = dict(found.options)
    not_taken: List[str] = []
    if path is not None:
        training, not_taken = _training(arguments.config, config, True)
        options.update(training)
    elif not is_megatron(config):
        options.update(_training(arguments.config, {key: value for key, value in config.items() if not isinstance(value, dict)}, False)[0])
    given = {name: getattr(arguments, name, None) for name in (*NUMBERS, "vpp", "use_distributed_optimizer",
                                                            "sequence_parallel", "keep_scores", "precision", "expert_load", "pair_windows", *LORA, "recompute_kind", "sizes")}
    tell_over_training(arguments, options, given)
    if given["use_distributed_optimizer"]:
        options.pop("zero", None)
    if given["global_batch"] is not None:
        options.pop("num_microbatches", None)  # which the file says
    sizes = [*options.get("sizes", ()), *(given["sizes"] or ())]
    options.update({name: value for name, value in given.items() if value is not None})
    if given["lora_rank"]:
        found = with_frozen_towers(path or arguments.config, found)
    arguments.assumed = list(found.assumed)
    _warn(arguments.command, found.warnings, {path or arguments.config: found.not_taken, **({arguments.config: not_taken} if path is not None and config else {})},
          getattr(arguments, "also_taken", ()))
    return found, {**options, "sizes": sizes or None, "table": _table_of(arguments)}


# Other sources of times, which a table goes without.
BESIDE_TABLE = ("layers", "layer_times", "step_time", "tokens_per_second", "profile", "forward_times", "backward_times", "backward_input_times",
                "backward_weight_times")


def _table_of(arguments: argparse.Namespace) -> Optional[LayerTable]:
    """The table of measured layers, which is the only source of times."""
    path: Optional[str] = getattr(arguments, "layer_table", None)
    if path is None:
        return None
    check_beside_table(arguments)
    from ..readers.layer_table import read_layer_table  # takes long to load
    return read_layer_table(path)


def check_beside_table(arguments: argparse.Namespace) -> None:
    """Refuses other sources of times beside a table."""
    name = next((name for name in BESIDE_TABLE if getattr(arguments, name, None) is not None), None)
    if getattr(arguments, "layer_table", None) is not None and name is not None:
        raise UsageError(f"--layer-table, {option_word(name)}: both give the times of layers; give one of them")


def _warn(command: str, warnings: Sequence[str], unread: Mapping[str, Sequence[str]], also_taken: Sequence[str]) -> None:
    """Prints the warnings of a file, and for each file one line with the keys that would change the result but are ignored."""
    for warning in warnings:
        tell(command, f"warning: {warning}")
    for path, names in unread.items():
        names = [name for name in names if name not in also_taken]
        if names:
            tell(command, f"warning: ignored in {path}: {', '.join(names)}")


def sharding_of(options: Mapping[str, Any], found: ModelFile, replicas: int) -> int:
    """The sharding as given. Without Megatron-LM's arguments, optimizer states are sharded if there are replicas."""
    if options.get("zero") is not None:
        return _one(options, "zero")
    if options.get("use_distributed_optimizer") or options.get("distributed_optimizer"):
        return 1
    return 1 if "distributed_optimizer" not in options and not (found.options or found.is_megatron) and replicas > 1 else 0


def _bytes(words: Optional[Sequence[str]]) -> Dict[str, float]:
    sizes = {}
    for word in words or ():
        name, _, value = word.partition("=")
        try:
            sizes[f"{name}_bytes"] = number_of(value)
        except ValueError:
            name = ""
        if name not in BYTES or not 0 < sizes[f"{name}_bytes"] <= 1024:
            raise Error(f"--bytes {word}: it must be KIND=B, such as gradient=2; KIND is {', '.join(BYTES)}, and B is above 0")
    return sizes


def windows_of_words(words: Optional[Sequence[str]]) -> Dict[str, bool]:
    """Flags of Training, for words as ep or ep,tp; none means ep."""
    if words is None:
        return {}
    names = [name for word in words or ("ep",) for name in word.split(",") if name]
    unknown = next((name for name in names if name not in PAIR_WINDOWS), None)
    if unknown is not None or not names:
        raise Error(f"--pair-windows {shown(unknown or '')}: {nearest(unknown or '', PAIR_WINDOWS) or 'it must be one or more of ' + ', '.join(PAIR_WINDOWS)}")
    return {PAIR_WINDOWS[name]: True for name in names}


def _targets(words: Sequence[str]) -> int:
    unknown = next((word for word in words if word not in TARGETS), None)
    if unknown is not None:
        raise Error(f"--lora-targets {unknown}: {nearest(unknown, TARGETS) or 'known are ' + ', '.join(TARGETS)}")
    return sum({int(AdapterTarget[word.upper()]) for word in words})


def _adapters(options: Mapping[str, Any]) -> Dict[str, Any]:
    """What of the training says which adapters learn."""
    rank = options.get("lora_rank") or 0
    if not 0 <= rank <= 2**20:
        raise Error(f"--lora-rank is {rank}; it must be 0 to {2**20}")
    if not rank:
        given = next((name for name in LORA[1:] if options.get(name)), None) if "lora_rank" not in options else None
        if given is not None:
            raise UsageError(f"--{given.replace('_', '-')} needs --lora-rank")
        return {}
    return {"adapter_rank": rank, "adapter_expert_rank": min(options.get("lora_expert_rank") or rank, rank), "adapter_targets": _targets(options.get("lora_targets") or ()),
            "adapter_dropout": bool(options.get("lora_dropout")), "fused_adapters": bool(options.get("lora_fused"))}


def with_precision(arguments: argparse.Namespace, options: Mapping[str, Any], devices: Sequence[Accelerator]) -> Dict[str, Any]:
    """The options with the data type of linear layers: if none is given, one that all devices have."""
    precision, lacking = options.get("precision"), next((device for device in devices if device.lacks_bf16), None)
    if precision is None and lacking is not None and not arguments.json:
        tell(arguments.command, f"note: {lacking.name} has no bf16, so fp16 is assumed; --precision gives the precision")
    if precision == "bf16" and lacking is not None:
        raise Error(f"{lacking.name} has no bf16; give --precision fp16")
    precision = precision or (lacking.usual_precision if lacking is not None else "bf16")
    if precision != "bf16":
        arguments.assumed = [line for line in arguments.assumed if not line.startswith("bf16 ")]
    return {**options, "precision": precision}


def training_of(found: ModelFile, options: Mapping[str, Any]) -> Training:
    tensor, data, context = _one(options, "tp"), _one(options, "dp"), _one(options, "cp")
    sequence = _one(options, "seq", min(found.sequence, 8192) or min(4096, found.description.positions or 4096))
    sizes: Dict[str, Any] = _bytes(options.get("sizes"))
    windows: Dict[str, Any] = windows_of_words(options.get("pair_windows"))
    rows = options.get("sequence_parallel", tensor > 1 and not (found.options or found.is_megatron))
    return Training(sequence_length=sequence, micro_batch_size=_one(options, "micro_batch"), tensor_parallel=tensor,
                    context_parallel=context, expert_parallel=_one(options, "ep"), expert_tensor_parallel=_one(options, "etp",
                                                                                                               0),
                    data_parallel=data, sharding=sharding_of(options, found, data * context), sequence_parallel=bool(rows),
                    keeps_scores=bool(options.get("keep_scores")), precision=options.get("precision") or "bf16",
                    expert_load=1.0 if options.get("expert_load") is None else options["expert_load"],
                    **windows, **_adapters(options), **sizes)


def microbatches_of(options: Mapping[str, Any], training: Training, devices: int) -> int:
    """The number of microbatches per step for each replica."""
    if options.get("num_microbatches"):
        return int(options["num_microbatches"])
    each = training.micro_batch_size * training.data_parallel
    batch = _one(options, "global_batch", devices * each)
    if batch % each:
        near = [size for size in (batch // each * each, -(-batch // each) * each) if size]
        raise Error(f"--global-batch {batch} is no multiple of --micro-batch {training.micro_batch_size} times --dp {training.data_parallel}; "
                    f"give {' or '.join(map(str, near))}" if len(near) > 1 else
                    f"--global-batch {batch} is below --micro-batch {training.micro_batch_size} times --dp {training.data_parallel}; give {each} or more")
    return batch // each


# The library's names of sizes, and those of the command.
_WORDS = {"tensor_parallel": "--tp", "context_parallel": "--cp", "expert_tensor_parallel": "--etp", "expert_parallel": "--ep", "expert_load": "--expert-load",
          "sequence_length": "--seq", "sharding": "--zero"}


def _with_replicas(options: Mapping[str, Any]) -> Mapping[str, Any]:
    """Computes the replicas from Megatron-LM's world_size if they are not given. Without it there are as many as experts need."""
    if options.get("dp") is not None:
        return options
    if options.get("world_size") is None:
        shared = _one(options, "tp") * _one(options, "cp")
        experts = _one(options, "ep") * (_one(options, "etp", 0) or _one(options, "tp"))
        return {**options, "dp": experts // math.gcd(experts, shared)} if _one(options, "ep") > 1 else options
    used, devices = _one(options, "tp") * _one(options, "pp") * _one(options, "cp"), _one(options, "world_size")
    if devices % used:
        raise Error(f"--tp, --pp and --cp take {used} devices, which do not divide world_size {devices}; give --dp")
    return {**options, "dp": devices // used}


@contextlib.contextmanager
def naming_device(device: Accelerator) -> Iterator[None]:
    """As a context manager: an error names the device that cannot do what the training asks for."""
    try:
        yield
    except Error as error:
        error.args = (str(error).replace("the device has no", f"{device.name} has no"),)
        raise


def model_on(description: Description, training: Training, device: Accelerator, table: Optional[LayerTable] = None) -> Model:
    with naming_device(device):
        return Model(description, training, device, table)


def job_of(found: ModelFile, options: Mapping[str, Any], device: Accelerator) -> Job:
    options = _with_replicas(options)
    training, pp = training_of(found, options), _one(options, "pp")
    recompute = options.get("recompute_kind") or options.get("recompute") or "none"
    if recompute not in RECOMPUTE:
        raise Error(f"recompute is {shown(recompute)}; it must be {', '.join(RECOMPUTE)}")
    if pp > found.description.layers:
        raise Error(f"--pp {pp} is more than the {counted(found.description.layers, 'layer')} of the model; give {found.description.layers} or less")
    vpp = _one(options, "vpp")
    if pp * vpp > found.description.layers:
        raise Error(f"--pp {pp} times --vpp {vpp} is more than the {found.description.layers} layers of the model; give --vpp "
                    f"{found.description.layers // pp} or less")
    if 0 < found.description.positions < training.sequence_length:
        raise Error(f"--seq {training.sequence_length} is more than the model's {found.description.positions} learned positions; give "
                    f"{found.description.positions} or less")
    try:
        model = model_on(found.description, training, device, options.get("table"))
    except Error as error:
        message = str(error)
        for name, word in sorted(_WORDS.items(), key=lambda pair: -len(pair[0])):
            message = message.replace(name, word)
        error.args = (message,)
        raise
    return Job(model, pp, microbatches_of(options, training, pp), vpp, recompute, options.get("rank_order") or RANK_ORDERS[0])
