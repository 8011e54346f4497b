# SPDX-License-Identifier: Apache-2.0
"""The options of pick --gpus, and which others it goes with."""
import argparse
import os
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .._core._library import Error
from .._core.launching import RUNTIME_NAMES
from .._core.layer_table import frozen
from .._core.writing import ending_of
from .._core.shown import printable, shown
from .._core.accelerators import Accelerator
from .._core.whole_numbers import number_of
from .._core.price import RANK_ORDERS
from ..readers.file_kinds import is_megatron, is_script
from ..readers.model_files import ModelFile, arguments_of_script, read_mapping_of
from .model_options import LORA, training_of
from .number_options import count_of_devices, whole
from .pod_options import PODS
from .price_job import overlaps_of
from .printing import tell
from .usage import MODEL, Parser, UsageError

if TYPE_CHECKING:
    from .._core.job import JobType
    from .._core.layout_search import JobWords

SEARCHED = ("tp", "cp", "ep", "etp", "pp", "micro_batch", "zero", "global_batch")
MOST_DEVICES = 2**20
GOALS = ("step", "tokens", "cost")
OF_SEARCH = ("goal", "gpu_hour", "overlap", "jobs")  # options of the search alone
USUAL_OVERLAPS = ["grad", "param", "cp"]
# Options that a search among layouts understands. With others, layouts are planned one by one.
TAKEN = (*SEARCHED, "chunks", "seq", "model", "device", "gpus", "config", "json", "top", "output", "runtime", "strategies", "mem_limit",
         "use_distributed_optimizer", "sequence_parallel", "keep_scores", "expert_load", "precision", "sizes", "goal", "gpu_hour", "overlap", "jobs", "quiet",
         "memory_margin", "rank_order", "device_types", *PODS, "layer_table", "dp", "micro_batch_size", "data_parallel_size", "vpp", *LORA)
ANSWERS = (".json", ".txt")


def add_gpus_arguments(parser: Parser) -> None:
    group = parser.group(MODEL)
    group.add_argument("--gpus", type=count_of_devices, metavar="N",
                       help="with --model: number of all devices. The command then searches for the best values of those of these options that are "
                            "not given: --tp --cp --ep --etp --pp --chunks --micro-batch --zero")
    group.add_argument("--goal", choices=GOALS,
                       help="with --gpus: rank by step time (default), by tokens per second of a device, or by cost (with --gpu-hour)")
    group.add_argument("--gpu-hour", metavar="NAME=COST", help="with --goal cost: what one device costs per hour, such as h100=2.5")
    group.add_argument("--overlap", nargs="+", metavar="WHAT",
                       help="with --gpus: which collectives overlap with matrix products: sums of gradients (grad), gathers of weights (param), "
                            "collectives of tensor, context or expert parallelism (tp, cp, ep), or none (default: grad param cp)")
    group.add_argument("--rank-order", nargs="+", choices=RANK_ORDERS, metavar="ORDER",
                       help=f"with --model: order in which ranks are numbered, {' or '.join(RANK_ORDERS)} (default: the first). The groups of the last "
                            "dimension cross nodes. With --gpus, both orders may be given. Only Megatron-LM and the runtimes that use it have an "
                            "option for the second order")
    group.add_argument("--jobs", type=whole, metavar="N", help="with --gpus: number of processes that estimate layouts (default: 1)")
    parser.set_defaults(usual_of=lambda: {action.dest: action.default for action in parser._actions})


def untaken(arguments: argparse.Namespace) -> Optional[str]:
    """An option that the search does not understand, or None."""
    usual: Mapping[str, Any] = arguments.usual_of()
    for name, default in usual.items():
        if name not in TAKEN and hasattr(arguments, name) and getattr(arguments, name) != default:
            return "--" + name.replace("_", "-")
    for path in arguments.output:
        if not is_folder(path) and ending_of(path, ANSWERS) is None and not arguments.json:
            return f"-o {path}"
    return None


def is_folder(path: str) -> bool:
    return path.endswith(("/", os.sep)) or os.path.isdir(path)


def check_goes_alone(arguments: argparse.Namespace) -> None:
    """Refuses the search's own options without --gpus."""
    for name in OF_SEARCH:
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name.replace('_', '-')} needs --model and --gpus, without the options with which layouts are planned one by one")


def cost_of_hour(arguments: argparse.Namespace, device: Accelerator) -> Optional[float]:
    given: Optional[str] = arguments.gpu_hour
    if (given is not None) != (arguments.goal == "cost"):
        raise UsageError("--goal cost needs --gpu-hour, such as h100=2.5" if given is None else "--gpu-hour needs --goal cost")
    if given is None:
        return None
    name, _, value = given.rpartition("=")
    try:
        cost = number_of(value)
    except ValueError:
        cost = -1.0
    if not 0 < cost < 1e9:
        raise UsageError(f"--gpu-hour {printable(given)}: it must be NAME=COST, such as h100=2.5, with a cost above 0")
    if name and name.lower() != device.name.lower():
        raise UsageError(f"--gpu-hour {printable(given)}: the device is {device.name}; give {device.name}={value}")
    return cost


def mapping_of(arguments: argparse.Namespace) -> Optional[str]:
    """The file of Megatron-LM's arguments that has use_tp_pp_dp_mapping, or None."""
    found = None
    for path in (arguments.model, arguments.config):
        if path is None or not (is_script(path) or path.lower().endswith((".json", ".yaml", ".yml"))):
            continue
        fields = arguments_of_script(path) if is_script(path) else read_mapping_of(path)
        if not (is_script(path) or is_megatron(fields) or path == arguments.config):
            continue
        from ..readers.megatron_names import plain  # takes long to load
        from ..readers.megatron_training import switch_of  # takes long to load
        told = plain(path, {key: value for key, value in fields.items() if not isinstance(value, dict)})
        if "use_tp_pp_dp_mapping" in told:
            found = path if switch_of(path, told, "use_tp_pp_dp_mapping") else None
        arguments.also_taken = ("use_tp_pp_dp_mapping",)
    return found


def take_mapping(arguments: argparse.Namespace) -> None:
    """If a file of Megatron-LM's arguments has use_tp_pp_dp_mapping, both orders of ranks are searched: as with recomputation, pick chooses."""
    path = mapping_of(arguments)
    if path is not None and arguments.rank_order is None:
        arguments.rank_order = list(RANK_ORDERS)
        if not arguments.json:
            tell(arguments.command, f"note: {path} has use_tp_pp_dp_mapping, so the search tries both orders of ranks; --rank-order selects one of them")


def order_of_layouts(arguments: argparse.Namespace) -> str:
    """The order of ranks of layouts that are planned one by one: that of --rank-order, else that of a file of Megatron-LM's arguments."""
    asks = mapping_of(arguments) is not None
    given = getattr(arguments, "rank_order", None)
    if given is not None and len(set(given)) > 1:
        raise UsageError("--rank-order: give one order, or --gpus without options that plan layouts one by one, which searches both")
    return str(given[0]) if given is not None else RANK_ORDERS[asks]


def _values(options: Mapping[str, Any], name: str) -> Any:
    given = options.get(name)
    if given is None or isinstance(given, int):
        return given
    return tuple(dict.fromkeys(given))


def _limit(arguments: argparse.Namespace, values: Mapping[str, Any]) -> float:
    given = values.get("mem_limit")
    if given is None:
        return 0.0
    numbers = given if isinstance(given, list) else [given]
    if len(numbers) > 1:
        raise Error(f"--mem-limit has {len(numbers)} numbers; with --model give one, for all devices")
    return float(numbers[0])


def _check_devices(gpus: int, options: Mapping[str, Any]) -> None:
    """Refuses numbers of devices that the fixed ones do not divide."""
    if not 1 <= gpus <= MOST_DEVICES:
        raise Error(f"--gpus is {gpus}; it must be 1 to {MOST_DEVICES}")
    used = 1
    for name in ("tp", "pp", "cp"):
        given = options.get(name)
        numbers = [given] if isinstance(given, int) else list(given or [1])
        wrong = next((number for number in numbers if not 1 <= number <= MOST_DEVICES), None)
        if wrong is not None:
            raise Error(f"--{name} is {wrong}; it must be 1 to {MOST_DEVICES}")
        used *= numbers[0] if len(numbers) == 1 else 1
    stages = options.get("zero")
    wrong = next((number for number in ([stages] if isinstance(stages, int) else list(stages or [])) if not 0 <= number <= 3), None)
    if wrong is not None:
        raise Error(f"--zero is {wrong}; it must be 0 to 3")
    if gpus % used:
        near = [str(number) for number in (gpus // used * used, (gpus // used + 1) * used) if number]
        raise Error(f"{used} devices of --tp, --pp and --cp do not divide --gpus {gpus}; give --gpus {' or '.join(near)}")


def words_of(file: ModelFile, options: Mapping[str, Any], values: Mapping[str, Any], arguments: argparse.Namespace,
             device: Accelerator, types: Sequence["JobType"] = ()) -> "JobWords":
    """The search space, from the options of the command line and of the files."""
    from .._core.layout_search import JobWords  # takes long to load
    if options.get("dp") is not None:
        raise UsageError("--gpus, --dp: give one of them")
    _check_devices(int(arguments.gpus), options)
    if options.get("num_microbatches") and options.get("global_batch") is None:
        raise UsageError("--gpus: the number of microbatches follows from the layout; give --global-batch")
    fixed: Dict[str, Any] = {name: _values(options, name) for name in SEARCHED if options.get(name) is not None}
    if "zero" not in fixed and (options.get("use_distributed_optimizer") or options.get("distributed_optimizer")):
        fixed["zero"] = 1
    if arguments.rank_order:
        fixed["rank_order"] = tuple(dict.fromkeys(arguments.rank_order))
    if values.get("chunks") is not None:
        fixed["chunks"] = tuple(values["chunks"])
    alone = {**options, **dict.fromkeys(("tp", "cp", "ep", "etp", "dp", "micro_batch", "zero"))}
    training = training_of(file, alone)
    is_told = bool(file.options or file.is_megatron)
    training = training._replace(sharding=0, sequence_parallel=bool(options.get("sequence_parallel", not is_told)), **_overlaps(arguments.overlap))
    if 0 < file.description.positions < training.sequence_length:
        raise Error(f"--seq {training.sequence_length} is more than the model's {file.description.positions} learned positions; give "
                    f"{file.description.positions} or less")
    table = options.get("table")
    return JobWords(file.description.json(), training, device, int(arguments.gpus), tuple(fixed.items()),
                    "step" if arguments.goal in (None, "step") else "tokens", _runtime(arguments, values),
                    tuple(values.get("strategies") or ()), _limit(arguments, values), None if table is None else frozen(table), tuple(types))


def _runtime(arguments: argparse.Namespace, values: Mapping[str, Any]) -> Optional[str]:
    name = arguments.runtime or values.get("runtime")
    if name is not None and name not in RUNTIME_NAMES:
        raise Error(f"there is no runtime {shown(name)}; there are {', '.join(RUNTIME_NAMES)}")
    return name


def overlap_words(arguments: argparse.Namespace) -> List[str]:
    given: List[str] = USUAL_OVERLAPS if arguments.overlap is None else arguments.overlap
    return [name for word in given for name in word.split(",") if name and name != "none"]


def _overlaps(given: Optional[List[str]]) -> Dict[str, Any]:
    words = USUAL_OVERLAPS if given is None else given
    if "none" in words and len(words) > 1:
        raise UsageError("--overlap none cannot be combined with other words")
    return overlaps_of([word for word in words if word != "none"])


def folders_of(arguments: argparse.Namespace) -> Tuple[List[str], List[str]]:
    """The folders, and the other files of -o."""
    return ([path for path in arguments.output if is_folder(path)], [path for path in arguments.output if not is_folder(path)])
