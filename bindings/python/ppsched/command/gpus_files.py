# SPDX-License-Identifier: Apache-2.0
"""The files of pick --gpus -o DIR/: the best layout for each runtime that runs it."""
import json
import os
import shlex
from typing import Any, Dict, List, Mapping, NamedTuple, Tuple

from .._core._library import Error, Refused, decoded, lib
from .._core.layout_search import JobWords, Ranked
from .._core.output import write_text
from .._core.price import RANK_ORDERS
from .._core.plan_layouts import LaidOut, lay_out

CSV = "schedule.csv"
# The files of each runtime.
FILES = {"megatron": ("megatron.args", "bridge.py"), "torchtitan": ("torchtitan.toml",), "primus": ("primus.yaml",),
         "deepspeed": ("deepspeed.json",)}


class Files(NamedTuple):
    """texts: by name; text: the table of runtimes and files, for people."""

    texts: Dict[str, str]
    text: str


def aligned(rows: List[List[str]]) -> str:
    """A table with one line for each row, whatever its width: columns of numbers to the right, others to the left."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    left = [not any(cell[:1].isdigit() for cell in column[1:]) for column in zip(*rows)]
    return "".join("  ".join(cell.ljust(width) if is_left else cell.rjust(width) for cell, width, is_left in zip(row, widths, left)).rstrip() + "\n"
                   for row in rows)


# --- the words of a runtime ---

def _flags(words: List[str]) -> List[Tuple[str, List[str]]]:
    """Each option with its values."""
    flags: List[Tuple[str, List[str]]] = []
    for word in words:
        if word.startswith("--"):
            flags.append((word, []))
        elif flags:
            flags[-1][1].append(word)
    return flags


def _launched(made: LaidOut, row: Mapping[str, Any], runtime: str) -> List[str]:
    """Words of the launch line for the pipeline; none without one."""
    layout = row["layout"]
    try:
        return shlex.split(made.schedule.launch(runtime, model=made.split, micro_batch=layout["micro_batch"], data_parallel=layout["dp"]))
    except Refused:
        return []


def _megatron_flags(made: LaidOut, row: Mapping[str, Any]) -> List[Tuple[str, List[str]]]:
    """All flags of the layout for Megatron-LM's launcher."""
    layout, training = row["layout"], made.model.training
    words: Dict[str, List[str]] = dict(_flags(_launched(made, row, "megatron")))
    words["--tensor-model-parallel-size"] = [str(layout["tp"])]
    words["--pipeline-model-parallel-size"] = [str(layout["pp"])]
    words["--context-parallel-size"] = [str(layout["cp"])]
    words["--micro-batch-size"], words["--global-batch-size"] = [str(layout["micro_batch"])], [str(layout["global_batch"])]
    words["--seq-length"] = [str(layout["seq"])]
    if training.sequence_parallel and layout["tp"] > 1:
        words["--sequence-parallel"] = []
    if layout["ep"] > 1 or layout["etp"] != layout["tp"]:
        words["--expert-model-parallel-size"], words["--expert-tensor-parallel-size"] = [str(layout["ep"])], [str(layout["etp"])]
    if layout["rank_order"] != RANK_ORDERS[0]:
        words["--use-tp-pp-dp-mapping"] = []
    if layout["zero"] > 0:
        words["--use-distributed-optimizer"] = []
    if layout["zero"] > 1:
        words["--use-megatron-fsdp"], words["--ckpt-format"] = [], ["fsdp_dtensor"]  # the only one that it supports
        words["--data-parallel-sharding-strategy"] = ["optim_grads" if layout["zero"] == 2 else "optim_grads_params"]
    if training.overlaps_gradients and layout["dp"] * layout["cp"] > 1:
        words["--overlap-grad-reduce"] = []
        words.update({"--overlap-param-gather": []} if training.overlaps_parameters and layout["zero"] > 0 else {})
    if row["recompute"] is not None and not any(name.startswith("--recompute") for name in words):
        words["--recompute-granularity"] = [row["recompute"]]
        if row["recompute"] == "full":
            words.update({"--recompute-method": ["block" if row["recompute_layers"] else "uniform"],
                          "--recompute-num-layers": [str(row["recompute_layers"] or 1)]})
    return list(words.items())


def _megatron_args(made: LaidOut, row: Mapping[str, Any]) -> str:
    return "".join(shlex.join([name, *values]) + "\n" for name, values in _megatron_flags(made, row))


# --- Megatron Bridge ---

# Where a flag's value is in the configuration of a run, for those that are not under "model" with the flag's name.
_BRIDGE = {"--micro-batch-size": "train.micro_batch_size", "--global-batch-size": "train.global_batch_size",
           "--use-distributed-optimizer": "ddp.use_distributed_optimizer", "--overlap-grad-reduce": "ddp.overlap_grad_reduce",
           "--overlap-param-gather": "ddp.overlap_param_gather", "--use-megatron-fsdp": "ddp.use_megatron_fsdp",
           "--data-parallel-sharding-strategy": "ddp.data_parallel_sharding_strategy", "--seq-length": "model.seq_length",
           "--ckpt-format": "checkpoint.ckpt_format", "--use-tp-pp-dp-mapping": "dist.use_tp_pp_dp_mapping", "--num-virtual-stages-per-pipeline-rank": "", "--num-layers": "",
           "--decoder-first-pipeline-num-layers": "model.num_layers_in_first_pipeline_stage",
           "--decoder-last-pipeline-num-layers": "model.num_layers_in_last_pipeline_stage",
           "--microbatch-group-size-per-virtual-pipeline-stage": "model.microbatch_group_size_per_vp_stage"}

# A recipe may have set these otherwise, for a layout of its own. So each has a value, also where the layout has none.
_BRIDGE_ELSE: Dict[str, Any] = {
    "model.virtual_pipeline_model_parallel_size": None, "model.pipeline_model_parallel_layout": None,
    "model.num_layers_in_first_pipeline_stage": None, "model.num_layers_in_last_pipeline_stage": None,
    "model.account_for_embedding_in_pipeline_split": False, "model.account_for_loss_in_pipeline_split": False,
    "model.microbatch_group_size_per_vp_stage": None, "model.sequence_parallel": False, "model.expert_model_parallel_size": 1,
    "model.recompute_granularity": None, "model.recompute_method": None, "model.recompute_num_layers": None, "model.recompute_modules": None,
    "model.delay_wgrad_compute": False, "dist.use_tp_pp_dp_mapping": False, "dist.use_megatron_fsdp": False, "ddp.use_megatron_fsdp": False,
    "ddp.use_distributed_optimizer": False, "ddp.data_parallel_sharding_strategy": "no_shard", "ddp.overlap_grad_reduce": False,
    "ddp.overlap_param_gather": False}


def _value(word: str) -> Any:
    return int(word) if word.isascii() and word.isdigit() else word


def _bridge(made: LaidOut, row: Mapping[str, Any]) -> str:
    """A module whose function sets the layout in a ConfigContainer of Megatron Bridge."""
    flags = dict(_megatron_flags(made, row))
    training = made.model.training
    values: Dict[str, Any] = {**_BRIDGE_ELSE, "model.expert_tensor_parallel_size": row["layout"]["etp"]}
    if not training.overlaps_experts:
        values["model.overlap_moe_expert_parallel_comm"] = False
    for name, words in flags.items():
        place = _BRIDGE.get(name, "model." + name[2:].replace("-", "_"))
        if place:
            values[place] = _value(words[0]) if words else True
    chunks = row["layout"]["chunks"]
    if chunks > 1:
        values["model.virtual_pipeline_model_parallel_size"] = chunks
    lines = "".join(f"    cfg.{place} = {value!r}\n" for place, value in values.items())
    return f'"""Sets the layout in a configuration of Megatron Bridge (ConfigContainer)."""\n\n\ndef apply(cfg):\n{lines}    return cfg\n'


# --- torchtitan ---

_ACTIVATIONS = "activation-checkpoint:"


def _toml_value(words: List[str]) -> str:
    values = [_value(word) for word in words]
    return json.dumps(values[0] if len(values) == 1 else values) if values else "true"


def _torchtitan(made: LaidOut, row: Mapping[str, Any]) -> str:
    """The sections of a configuration of torchtitan."""
    layout = row["layout"]
    words = _launched(made, row, "torchtitan")
    sections: Dict[str, Dict[str, str]] = {"training": {}, "parallelism": {}}
    for name, values in _flags([word for word in words if not word.startswith(_ACTIVATIONS)]):
        section, _, key = name[2:].partition(".")
        if key == "module_fqns_per_model_part":
            sections.setdefault(section, {})[key] = json.dumps([part.split(",") for part in values])
        else:
            sections.setdefault(section, {})[key] = _toml_value(values)
    sections["training"].update({"seq_len": str(layout["seq"]), "global_batch_size": str(layout["global_batch"])})
    sections["training"].setdefault("local_batch_size", str(layout["micro_batch"]))
    kind = "shard" if layout["zero"] else "replicate"
    other = "replicate" if layout["zero"] else "shard"
    sections["parallelism"].update({
        f"data_parallel_{kind}_degree": str(layout["dp"]), f"data_parallel_{other}_degree": "1", "tensor_parallel_degree": str(layout["tp"]),
        "context_parallel_degree": str(layout["cp"]), "expert_parallel_degree": str(layout["ep"]),
        **({"expert_tensor_parallel_degree": str(layout["etp"])} if layout["ep"] > 1 else {})})
    sections["parallelism"].setdefault("pipeline_parallel_degree", str(layout["pp"]))
    sections["activation_checkpoint"] = {"mode": json.dumps(row["recompute"] or "none")}
    return "\n".join(f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()) for section, keys in sections.items() if keys)


# --- Primus and DeepSpeed ---

# Its parser requires the keys of the head. As in its own examples, environment variables fill them in. The model has no default:
# PRIMUS_MODEL names it. Its own defaults, and some of its models, have other values where the layout has none.
_PRIMUS_ELSE: Dict[str, Any] = {"expert_model_parallel_size": 1, "sequence_parallel": False, "use_distributed_optimizer": False}
_PRIMUS_HEAD = """work_group: ${PRIMUS_TEAM:team}
user_name: ${PRIMUS_USER:user}
exp_name: ${PRIMUS_EXP_NAME:layout}
workspace: ${PRIMUS_WORKSPACE:./output}
modules:
  pre_trainer:
    framework: megatron
    config: pre_trainer.yaml
    model: ${PRIMUS_MODEL}.yaml
    overrides:
"""


def _primus(made: LaidOut, row: Mapping[str, Any]) -> str:
    """A run of Primus on Megatron-LM."""
    values = {**_PRIMUS_ELSE, **{name[2:].replace("-", "_"): _value(words[0]) if words else True for name, words in _megatron_flags(made, row)}}
    for name, words in _flags(_launched(made, row, "primus")):
        word = words[0] if words else "true"
        values[name[2:]] = {"True": True, "False": False}.get(word, _value(word))
    return _PRIMUS_HEAD + "".join(f"      {name}: {json.dumps(value)}\n" for name, value in values.items())


def _deepspeed(made: LaidOut, row: Mapping[str, Any]) -> str:
    layout = row["layout"]
    values = {"train_batch_size": layout["global_batch"], "train_micro_batch_size_per_gpu": layout["micro_batch"],
              "gradient_accumulation_steps": layout["microbatches"], ("fp16" if made.model.training.precision == "fp16" else "bf16"): {"enabled": True},
              "zero_optimization": {"stage": layout["zero"], "overlap_comm": bool(made.model.training.overlaps_gradients)}}
    return json.dumps(values, indent=1) + "\n"


# --- all ---

_WRITERS = {"megatron.args": _megatron_args, "bridge.py": _bridge, "torchtitan.toml": _torchtitan, "primus.yaml": _primus,
            "deepspeed.json": _deepspeed}
_WITH_COMMENTS = (".py", ".toml", ".yaml")


def _texts(words: JobWords, best: Ranked, row: Mapping[str, Any]) -> Dict[str, str]:
    made = lay_out(words, best)
    texts = {name: _WRITERS[name](made, row) for runtime, names in FILES.items() if runtime in row["runnable_on"] for name in names}
    if any(CSV in text for text in texts.values()):
        texts[CSV] = made.schedule.export("csv")
    version = decoded(lib.ppsched_version_text())
    texts = {name: f"# written by ppsched {version}\n{text}" if name.endswith(_WITH_COMMENTS) else text for name, text in texts.items()}
    texts["layout.json"] = json.dumps({**row, "version": version}, indent=1) + "\n"
    return texts


def files_table(words: JobWords, best: Ranked, row: Mapping[str, Any], folders: List[str]) -> Files:
    """The files of the best layout, and the table "runtime -> file"."""
    texts = _texts(words, best, row)
    lines = [["runtime", "file"]]
    for runtime, names in FILES.items():
        lines += [[runtime, f"-> {name}"] for name in names if name in texts]
    others = [name for name in row["runnable_on"] if name not in FILES]
    lines += [["any", "-> layout.json"]]
    text = aligned(lines)
    if others:
        text += f"also runs on {', '.join(others)}: layout.json has the strategy and the split\n"
    return Files(texts, text + ("" if folders else "-o DIR/ writes these files\n"))


def write_folder(folder: str, files: Files) -> None:
    """Makes the folder if it is missing, and writes each file in full; those of the same names are replaced."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise Error(f"cannot make {folder!r}: {error.strerror or error}") from None
    for name, text in files.texts.items():
        write_text(os.path.join(folder, name), text)
