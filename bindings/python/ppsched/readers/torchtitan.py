# SPDX-License-Identifier: Apache-2.0
"""torchtitan's models by name, as torchtitan:llama3/8B, and the TOML files of jobs that its releases up to 0.2 had."""
import importlib
from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

from .._core._library import Error
from .._core.description import Description
from .._core.shown import shown
from .._core.words import nearest
from .file_kinds import TORCHTITAN
from .megatron_training import integer_of, switch_of
from .torchtitan_models import DROPPED, ENDINGS, FORMER, LESS, MODELS, NO_LANGUAGE, RELEASE, SAME

Section = Mapping[str, Any]

# What each section may have that changes neither the model nor its costs; of the sections below, all.
NOTHING = {
    "model": frozenset(("name", "flavor", "tokenizer_path", "hf_assets_path", "print_after_conversion", "norm_type", "n_layers")),
    "training": frozenset(("dataset", "dataset_path", "max_norm", "steps", "gc_freq", "gc_debug", "seed", "deterministic", "debug_moe_force_load_balance",
                           "compile", "warmup_steps", "mixed_precision_reduce", "dataloader", "mock_data")),
    "parallelism": frozenset((
        "fsdp_reshard_after_forward", "disable_loss_parallel", "enable_compiled_autograd", "module_fqns_per_model_part", "pipeline_parallel_split_points",
        "pipeline_parallel_first_stage_less_layers", "pipeline_parallel_last_stage_less_layers", "pipeline_parallel_layers_per_stage",
        "pipeline_parallel_schedule", "pipeline_parallel_schedule_csv", "pipeline_parallel_expert_parallel_overlap", "context_parallel_load_balancer",
        "context_parallel_rotate_method", "expert_parallel_comm_backend", "pipeline_parallel_microbatches")),
    "activation_checkpoint": frozenset(("selective_ac_option", "per_op_sac_force_recompute_mm_shapes_by_fqns", "early_stop", "memory_budget",
                                        "visualize_memory_budget_pareto", "preserve_rng_state", "determinism_check", "debug"))}
SECTIONS = frozenset(("job", "profiling", "metrics", "optimizer", "lr_scheduler", "checkpoint", "compile", "quantize", "float8", "mx", "comm",
                      "memory_estimation", "fault_tolerance", "experimental", "validation", "debug", "data", "inference", "eval"))
# Degrees, by the option of the command that they are.
DEGREES = {"tensor_parallel_degree": "tp", "pipeline_parallel_degree": "pp", "context_parallel_degree": "cp", "expert_parallel_degree": "ep",
           "expert_tensor_parallel_degree": "etp"}
SHARD, REPLICATE = "data_parallel_shard_degree", "data_parallel_replicate_degree"
CONVERTERS = {"float8": "fp8", "quantize.linear.float8": "fp8", "mx": "mxfp8", "quantize.linear.mx": "mxfp8"}  # of linear layers
KERNELS = ("primus_turbo",)  # converters that change kernels alone
# Of releases before 0.1: degrees in other sections, and another name of the batch.
OLDER = {"batch_size": "local_batch_size"}


class Job(NamedTuple):
    """Options of the command that a file holds, what is not taken from it, and what is assumed."""

    options: Dict[str, Any]
    not_taken: List[str]
    assumed: List[str]


# --- names ---

def _listed(names: Any) -> str:
    return ", ".join(names)


def model_values(where: str, family: object, flavour: object) -> Dict[str, Any]:
    """The model in the fields of config.json, or as a description."""
    known = SAME.get(str(family), str(family))
    if known in NO_LANGUAGE:
        raise Error(f"{where}: {known} is not a language model: {NO_LANGUAGE[known]}; families are {_listed(MODELS)}")
    if known not in MODELS:
        if known in DROPPED:
            raise Error(f"{where}: torchtitan {RELEASE} no longer has {known}; give Hugging Face's config.json")
        raise Error(f"{where}: torchtitan {RELEASE} has no family {shown(family)}; {nearest(known, MODELS) or 'families are ' + _listed(MODELS)}; for other "
                    "models give Hugging Face's config.json")
    flavours = MODELS[known]
    name = str(flavour)
    ending = next((ending for ending in ENDINGS if name.endswith(ending) and name not in flavours), "")
    name = name[:len(name) - len(ending)]
    if name not in flavours:
        lower = {each.lower(): each for each in flavours}
        meant = f"did you mean {lower[name.lower()]}? " if name.lower() in lower else ""
        raise Error(f"{where}: {meant}{'give a flavour' if not name else f'{known} has no flavour {shown(flavour)}'}; flavours are {_listed(flavours)}")
    return _plain(flavours[name])


def _plain(fields: Mapping[str, Any]) -> Dict[str, Any]:
    """Fields of config.json alone; where torchtitan's tower differs from them, the description of what is left."""
    less = fields.get(LESS, 0)
    values = {name: value for name, value in fields.items() if name != LESS}
    if not less:
        return values
    description: Dict[str, Any] = dict(Description(values).values())
    description["towers"][0]["extra_parameters"] -= less
    return description


def named_values(path: str) -> Dict[str, Any]:
    """Of torchtitan:FAMILY/FLAVOUR."""
    family, _, flavour = path[len(TORCHTITAN):].partition("/")
    return model_values(path, family, flavour)


# --- files ---

def read_toml(path: str, text: str) -> Dict[str, Any]:
    for name in ("tomllib", "tomli"):
        try:
            module = importlib.import_module(name)
            break
        except ImportError:
            continue
    else:
        raise Error(f"{path}: to read TOML, Python 3.11 or the package tomli is needed; or give torchtitan:FAMILY/FLAVOUR")
    try:
        return dict(module.loads(text))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())
        raise Error(f"{path}: broken TOML: {reason}") from None


def _section(path: str, fields: Mapping[str, Any], name: str) -> Dict[str, Any]:
    value = fields.get(name, {})
    if not isinstance(value, dict):
        raise Error(f"{path}: {name} must be a section, not {shown(value)}")
    return dict(value)


def _degree(path: str, section: Section, name: str, least: int = 1) -> int:
    return integer_of(path, name, section.get(name, 1), least)


def _sections(path: str, fields: Mapping[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any], Dict[str, Any]]:
    """The parallel degrees, the training and the model, with what releases before had elsewhere."""
    parallel, training = _section(path, fields, "parallelism"), _section(path, fields, "training")
    for name in [name for name in training if name.endswith("_degree")]:
        parallel.setdefault(name, training.pop(name))
    for name, value in _section(path, fields, "experimental").items():
        if name in DEGREES or name.startswith(("pipeline_parallel_", "context_parallel_", "enable_async_tensor")):
            parallel.setdefault(name, value)
    for older, name in OLDER.items():
        if older in training:
            training.setdefault(name, training.pop(older))
    return parallel, training, _section(path, fields, "model")


def _check_names(path: str, parallel: Section, training: Section, model: Section) -> List[str]:
    """Refuses what is not known of the model and its division; the names of what else is not."""
    taken = {*DEGREES, SHARD, REPLICATE, "enable_async_tensor_parallel", "pipeline_parallel_microbatch_size"}
    for name, section, known in (("model", model, {*NOTHING["model"], "converters"}), ("parallelism", parallel, {*NOTHING["parallelism"], *taken})):
        unknown = next((key for key, value in section.items() if key not in known and value), None)
        if unknown is not None:
            raise Error(f"{path}: [{name}] has {shown(unknown)}, which is not known, and may change the answer; {nearest(unknown, known) or 'leave it out'}")
    known = {*NOTHING["training"], "local_batch_size", "global_batch_size", "seq_len", "mixed_precision_param", "enable_cpu_offload"}
    return [f"training.{name}" for name in training if name not in known]


def _sharding(path: str, parallel: Section, options: Dict[str, Any], not_taken: List[str]) -> None:
    """Replicas, and what they shard: with a pipeline, weights stay whole after their forward by default."""
    shard, replicas = _degree(path, parallel, SHARD, -1) if SHARD in parallel else -1, _degree(path, parallel, REPLICATE)
    policy = parallel.get("fsdp_reshard_after_forward", "default")
    if policy not in ("default", "always", "never"):
        raise Error(f"{path}: fsdp_reshard_after_forward is {shown(policy)}; it must be default, always or never")
    if shard == 0:
        raise Error(f"{path}: {SHARD} is 0; it must be -1 for all devices, or 1 or more")
    stays = policy == "never" or (policy == "default" and options["pp"] > 1)
    options["zero"] = 0 if shard == 1 else 2 if stays else 3
    if shard > 0:
        options["dp"] = shard * replicas
    if shard != 1 and replicas > 1:
        not_taken.append(f"{REPLICATE} (all replicas shard here)")


def _batches(path: str, parallel: Section, training: Section, options: Dict[str, Any], not_taken: List[str]) -> None:
    """Each replica runs its local batch as microbatches of the pipeline; the gradients of several local batches add up."""
    local, whole = _degree(path, {"local_batch_size": 8, **training}, "local_batch_size"), training.get("global_batch_size", -1)
    each = _degree(path, parallel, "pipeline_parallel_microbatch_size") if options["pp"] > 1 else local
    if local % each:
        raise Error(f"{path}: local_batch_size {local} is no multiple of pipeline_parallel_microbatch_size {each}")
    options.update({"micro_batch": each, **({"num_microbatches": local // each} if options["pp"] > 1 else {})})
    whole = integer_of(path, "global_batch_size", whole, -1)
    if whole <= 0 or whole == local * options.get("dp", 0):
        return
    if options["pp"] == 1:
        options["global_batch"] = whole
    else:
        not_taken.append("training.global_batch_size (the pipeline ends with each local batch; one is counted)")


def _recomputation(path: str, fields: Mapping[str, Any], options: Dict[str, Any], not_taken: List[str], assumed: List[str]) -> None:
    section = _section(path, fields, "activation_checkpoint")
    mode = section.get("mode")
    if mode == "full":
        options["recompute"] = "full"
    elif mode in ("selective", "memory_budget"):
        detail = f" {section['selective_ac_option']}" if mode == "selective" and section.get("selective_ac_option") else ""
        not_taken.append(f"activation_checkpoint.mode {mode}{detail} (nothing is recomputed here)")
    elif mode is None:
        assumed.append("no recomputation (torchtitan's own is selective)")
    elif mode != "none":
        raise Error(f"{path}: activation_checkpoint.mode is {shown(mode)}; it must be none, full, selective or memory_budget")


def _precision(path: str, model: Section, values: Mapping[str, Any]) -> Dict[str, str]:
    """The converters of the linear layers in few bits, with their precision. Experts have converters of their own."""
    names = model.get("converters") or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise Error(f"{path}: model.converters is {shown(names)}; it must be a list of names")
    found = {name: CONVERTERS[name] for name in names if name in CONVERTERS}
    experts = {name: found[of] for of in found for name in names if name == of.replace(".linear.", ".grouped_mm.") != of}
    is_whole = bool(experts) or not any("experts" in name for name in values)
    return {**found, **experts} if len(set(found.values())) == 1 and is_whole else {}


def _others(path: str, fields: Mapping[str, Any], parallel: Section, training: Section, model: Section, taken: Mapping[str, str]) -> List[str]:
    """What would change times or memory, and is not counted. taken: converters."""
    found = [f"model.converters {name}" for name in model.get("converters") or () if name not in KERNELS and name not in taken]
    found += ["parallelism.enable_async_tensor_parallel"] if switch_of(path, parallel, "enable_async_tensor_parallel") else []
    found += ["training.enable_cpu_offload"] if switch_of(path, training, "enable_cpu_offload") else []
    optimizer = _section(path, fields, "optimizer")
    found += ["optimizer.early_step_in_backward"] if optimizer.get("early_step_in_backward") else []
    if not str(optimizer.get("name", "AdamW")).startswith("Adam"):
        found.append(f"optimizer.name {optimizer['name']}")
    return found + [f"[{name}]" for name in fields if name not in SECTIONS and name not in NOTHING]


def _with_layers(path: str, values: Dict[str, Any], model: Section) -> Dict[str, Any]:
    """With another number of layers, as Primus' runs may have."""
    if model.get("n_layers") is None:
        return values
    count = integer_of(path, "n_layers", model["n_layers"], 1)
    if "num_hidden_layers" not in values or "layer_types" in values:
        raise Error(f"{path}: n_layers is given, and the layers of {shown(model.get('name'))} differ, or have a tower before them; leave n_layers out")
    return {**values, "num_hidden_layers": count}


def read_job(path: str, fields: Mapping[str, Any]) -> Tuple[Dict[str, Any], Job]:
    """The model, and how it is trained."""
    parallel, training, model = _sections(path, fields)
    if model.get("name") == "transformers_modeling_backend":
        other = _section(path, fields, "hf_transformers").get("model")
        raise Error(f"{path}: its model is Hugging Face's {shown(other)}; give its config.json")
    values = _with_layers(path, model_values(path, model.get("name"), model.get("flavor")), model)
    not_taken, assumed = _check_names(path, parallel, training, model), [f"sizes as torchtitan {FORMER.get(str(model.get('name')), RELEASE)} has them"]
    options: Dict[str, Any] = {option: _degree(path, parallel, name) for name, option in DEGREES.items()}
    options["seq"] = _degree(path, {"seq_len": 2048, **training}, "seq_len")
    options["sequence_parallel"] = options["tp"] > 1
    if options["ep"] == 1:
        del options["etp"]  # which is of experts that devices share
    _sharding(path, parallel, options, not_taken)
    _batches(path, parallel, training, options, not_taken)
    _recomputation(path, fields, options, not_taken, assumed)
    if training.get("mixed_precision_param", "bfloat16") == "float32":
        options["sizes"] = ["weight=4", "gradient=4", "optimizer=8", "activation=4"]
    few_bits = _precision(path, model, values)
    if few_bits:
        options["precision"] = next(iter(few_bits.values()))
    not_taken += _others(path, fields, parallel, training, model, few_bits)
    return values, Job(options, not_taken, assumed)
