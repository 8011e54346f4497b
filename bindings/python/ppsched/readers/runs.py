# SPDX-License-Identifier: Apache-2.0
"""Measured training runs: a CSV file with a row for each, the settings of its layout and the seconds of its step."""
import csv
import io
import os
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from .._core._library import Error
from .._core.description import Description, Transformer
from .._core.file_bytes import MODEL
from .._core.model import Model, Training
from .._core.shown import shown
from .._core.words import nearest
from .json_and_yaml import file_text
from .known_models import known_model
from .model_files import model_of, read_mapping_of
from .run_defaults import expert_tensor_parallel, followed, frozen_weights, keeps_scores, stages_are_open

NEEDED = ("gpu", "seq", "mbs", "gbs", "measured_step_s")
SIZES = ("layers", "hidden", "heads", "vocab")
OF_CONFIG = {  # names in config.json of each size; ffn may be of dense layers or of experts
    "layers": ("num_hidden_layers",), "hidden": ("hidden_size",), "heads": ("num_attention_heads",), "vocab": ("vocab_size",),
    "kv_heads": ("num_key_value_heads",), "ffn": ("intermediate_size", "moe_intermediate_size"),
    "experts": ("n_routed_experts", "num_experts", "num_local_experts"), "topk": ("num_experts_per_tok",)}
PRECISIONS = {"": "bf16", "bf16": "bf16", "fp16": "fp16", "fp8": "fp8", "fp8-cs": "fp8", "float8": "fp8", "float8 rowwise": "fp8",
              "mxfp8": "mxfp8", "fp8-mx": "mxfp8", "nvfp4": "nvfp4"}
SHARDING = {"": 0, "0": 0, "1": 1, "2": 2, "3": 3, "fsdp": 3}
RECIPES = {"": None, "none": None, "delayed": "fp8", "tensorwise": "fp8", "blockwise": "fp8", "current": "fp8", "mxfp8": "mxfp8", "nvfp4": "nvfp4"}
DISPATCHES = {"": False, "none": False, "alltoall": False, "allgather": False, "deepep": True, "hybridep": True}  # whether a node gets one copy
GRAPHS = {"": False, "no": False, "partial": False, "yes": True}
READ = (*NEEDED, *SIZES, "id", "model", "config", "params", "kv_heads", "ffn", "experts", "topk", "gpus", "tp", "pp", "vp", "cp", "ep", "etp", "dp",
        "precision", "fp8_recipe", "recompute", "strategy", "split", "zero", "gradient_bytes", "optimizer_bytes", "sequence_parallel", "keeps_scores", "dropout",
        "attention_fp8", "frozen_weights", "tp_overlap", "ep_overlap", "cp_overlap", "grad_overlap", "param_overlap", "ep_dispatch", "cuda_graph",
        "offload_layers")
HARMLESS = ("source", "overlap_in_the_run", "settings_complete", "settings_from", "measured_unit", "measured_value", "published_memory_GiB", "note",
            "predicted_step_s", "can_describe", "why_not")  # of tests/published, and of whoever compares
DECIDING = ("strategy", "split", "zero", "gradient_bytes", "recompute", "fp8_recipe")
UNKNOWN = ("not told", "unknown", "recipe")  # the same as an empty cell; recipe: as in a recipe that is not told
NEAR = 0.03  # share of the told number of parameters


class Run(NamedTuple):
    """where: file and line; settings: of price, by its names; pp, vpp: devices and stages of each; step_time: seconds; key: what tells
    layouts apart; has_experts: of the model; open_settings: columns that decide the answer and are empty; gpu: what the row says of its device; followed:
    empty columns that follow from others."""

    where: str
    name: str
    device: str
    description: Description
    training: Training
    pp: int
    vpp: int
    microbatches: int
    recompute: str
    settings: Dict[str, Any]
    step_time: float
    devices: int
    key: Tuple[str, ...]
    has_experts: bool
    open_settings: Tuple[str, ...]
    gpu: str = ""
    followed: Tuple[str, ...] = ()

    @property
    def is_told(self) -> bool:
        return not self.open_settings


class _Row:
    """A row's cells, with what is wrong told by file, line and column."""

    def __init__(self, where: str, cells: Mapping[str, str]):
        self.where, self.cells = where, cells

    def text(self, name: str) -> str:
        text = (self.cells.get(name) or "").strip()
        return "" if text.lower() in UNKNOWN else text

    def number(self, name: str, default: Optional[float] = None) -> float:
        """Above 0."""
        text = self.text(name)
        if text == "" and default is not None:
            return default
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not 0 < value < 1e18:
            raise Error(f"{self.where}: {name} is {shown(text) if text else 'missing'}; it must be a number above 0")
        return value

    def count(self, name: str, default: Optional[int] = None) -> int:
        if default is not None and self.text(name) == "":
            return default
        value = self.number(name)
        if value != int(value) or value >= 2**31:
            raise Error(f"{self.where}: {name} is {shown(self.text(name))}; it must be an integer")
        return int(value)

    def switch(self, name: str, default: bool = False) -> bool:
        text = self.text(name).lower()
        if text not in ("", "yes", "no"):
            raise Error(f"{self.where}: {name} is {shown(text)}; it must be yes, no or empty")
        return default if text == "" else text == "yes"

    def choice(self, name: str, known: Mapping[str, Any]) -> Any:
        text = self.text(name).lower()
        if text not in known:
            raise Error(f"{self.where}: {name} is {shown(text)}; {nearest(text, known) or 'it must be of ' + ', '.join(filter(None, known))}")
        return known[text]


# --- the model ---

def _transformers(row: _Row) -> List[Transformer]:
    """The models that a row's sizes may mean: with gated MLPs as Llama has, with biases and learned positions as GPT-3, and without both."""
    missing, name = [name for name in SIZES if not row.text(name)], row.text("model")
    if name and missing:
        raise Error(f"{row.where}: the model {shown(name)} is not known by name, and {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} "
                    "missing; give these, or its config.json in the column config")
    layers, hidden, heads, vocabulary = (row.count(name) for name in SIZES)
    groups, ffn = row.count("kv_heads", heads), row.count("ffn", 4 * hidden)
    experts = row.count("experts", 0)
    mixed: Dict[str, Any] = {"experts": experts, "experts_per_token": row.count("topk"), "expert_ffn_size": ffn} if experts else {}
    plain = Transformer(layers, hidden, heads, vocabulary, ffn_size=ffn, key_value_heads=groups, **mixed)
    gated = plain._replace(gated=True)
    gpt = plain._replace(tied=True, norm_bias=True, qkv_bias=True, projection_bias=True, mlp_bias=True, positions=row.count("seq"))
    return [gated, gated._replace(tied=True), gated._replace(qkv_bias=True), gpt, gpt._replace(positions=0), plain, plain._replace(tied=True)]


def _by_parameters(row: _Row) -> Transformer:
    """Of these the one whose parameters are nearest to what the row tells. Where it tells none, that of GPT-3 if the MLP is 4 times as wide as
    the model and all heads have keys of their own; otherwise the first."""
    shapes = _transformers(row)
    told, first = row.number("params", 0.0), shapes[0]
    if told == 0:
        is_gpt = first.experts == 0 and first.ffn_size == 4 * first.hidden_size and first.key_value_heads == first.heads
        return next(shape for shape in shapes if shape.positions > 0) if is_gpt else first
    try:
        counts = [Model(shape, Training()).parameters.total for shape in shapes]
    except Error as error:
        raise Error(f"{row.where}: {error}") from None
    best = min(range(len(shapes)), key=lambda number: abs(counts[number] - told))
    if abs(counts[best] - told) > NEAR * told:
        raise Error(f"{row.where}: the model has {told:.4g} parameters, and its sizes give {counts[best]:.4g}; give its config.json in the "
                    "column config")
    return shapes[best]


def _by_name(row: _Row) -> Optional[Dict[str, Any]]:
    """A known model of the name, unless the row has other sizes."""
    known = known_model(row.text("model"))
    if known is None:
        return None
    differs = any(row.text(name) and row.count(name) not in map(known.get, names) for name, names in OF_CONFIG.items())
    return None if differs else known


class _Files:
    """Descriptions of rows, each made once, and devices."""

    def __init__(self, folder: str, given: Optional[Description]):
        self._folder, self._given, self._made = folder, given, {}  # type: str, Optional[Description], Dict[Any, Description]

    def model(self, row: _Row, device: str) -> Description:
        if self._given is not None:
            return self._given
        config = row.text("config")
        dropout = row.switch("dropout", keeps_scores(row.text, device))
        key = (config, dropout, *(row.text(name) for name in (*SIZES, "kv_heads", "ffn", "experts", "topk", "seq", "params")))
        key = (*key, row.text("model"))
        if key not in self._made:
            known = None if config else _by_name(row)
            self._made[key] = (self._read(row, config) if config else model_of(row.text("model"), known).description if known is not None
                               else Description(_by_parameters(row)._replace(dropout=dropout)))
        return self._made[key]

    def device(self, row: _Row) -> str:
        """A known one, or a file beside that of the runs."""
        path = os.path.join(self._folder, row.text("gpu"))
        return path if os.path.isfile(path) else row.text("gpu").lower()

    def _read(self, row: _Row, config: str) -> Description:
        path = os.path.join(self._folder, config)
        try:
            return model_of(path, read_mapping_of(path)).description
        except Error as error:
            raise Error(f"{row.where}: {error}") from None


# --- its training ---

def _replicas(row: _Row, shared: int) -> int:
    if row.text("dp"):
        return row.count("dp")
    devices = row.count("gpus")
    if devices % shared != 0:
        raise Error(f"{row.where}: {devices} gpus are not a multiple of tp, cp and pp, {shared}")
    return devices // shared


def _precision(row: _Row) -> str:
    told, recipe = str(row.choice("precision", PRECISIONS)), row.choice("fp8_recipe", RECIPES)
    return str(recipe) if recipe in ("mxfp8", "nvfp4") else told


def _expert_tensor_parallel(row: _Row, devices: int, ep: int, tp: int) -> int:
    """Where the row does not tell it: of its software, or as Megatron-LM has it, where that is possible."""
    of_software = expert_tensor_parallel(row.text)
    return row.count("etp", 0) or of_software or (tp if devices % (ep * tp) == 0 else 1)


def _training(row: _Row, replicas: int, device: str) -> Training:
    sharding, ep, tp = row.choice("zero", SHARDING), row.count("ep", 1), row.count("tp", 1)
    whole, cp = sharding == 3, row.count("cp", 1)
    etp = _expert_tensor_parallel(row, tp * cp * replicas, ep, tp) if ep > 1 else 0
    return Training(
        row.count("seq"), row.count("mbs"), tp, cp, ep, etp, replicas, sharding,
        gradient_bytes=row.number("gradient_bytes", 2.0 if whole else 4.0), optimizer_bytes=row.number("optimizer_bytes", 12.0), sequence_parallel=row.switch("sequence_parallel"),
        keeps_scores=row.switch("keeps_scores", keeps_scores(row.text, device)), overlaps_tensor=row.switch("tp_overlap"), overlaps_context=row.switch("cp_overlap", True),
        overlaps_experts=row.switch("ep_overlap"), overlaps_gradients=row.switch("grad_overlap", whole),
        overlaps_parameters=row.switch("param_overlap", whole), attention_8bit=row.switch("attention_fp8"),
        graphs=row.choice("cuda_graph", GRAPHS), frozen_weights=row.switch("frozen_weights", frozen_weights(row.text)),
        one_copy_a_node=row.choice("ep_dispatch", DISPATCHES), precision=_precision(row))


def _settings(row: _Row) -> Dict[str, Any]:
    settings: Dict[str, Any] = {"strategy": row.text("strategy") or None, "offload_layers": row.count("offload_layers", 0)}
    split = row.text("split")
    if split == "account_embedding_loss":
        settings.update(account_for_embedding=True, account_for_loss=True)
    elif split not in ("", "even"):
        settings["layout"] = split
    return settings


def _run(row: _Row, files: _Files, device: Optional[str]) -> Run:
    missing = [name for name in NEEDED if row.text(name) == "" and not (name == "gpu" and device)]
    if missing:
        raise Error(f"{row.where}: {', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing; a run needs {', '.join(NEEDED)}")
    pp, vpp = row.count("pp", 1), row.count("vp", 1)
    shared = pp * row.count("tp", 1) * row.count("cp", 1)
    replicas = _replicas(row, shared)
    name = device or files.device(row)
    ran_on = row.text("gpu") or name  # also where it is priced on another device
    training = _training(row, replicas, ran_on)
    batch, each = row.count("gbs"), training.micro_batch_size * replicas
    if batch % each != 0:
        raise Error(f"{row.where}: gbs {batch} is not a multiple of mbs times dp, {each}")
    recompute = row.text("recompute").replace("+", ",") or "none"
    description = files.model(row, ran_on)
    model, settings = Model(description, Training()), _settings(row)
    split = _uneven(row, model, pp * vpp)
    if split is not None:
        settings["split"] = split
    key = (name, row.text("model"), description.json(), *(str(value) for value in training._replace(data_parallel=1)), str(pp), str(vpp),
           recompute, *map(str, settings.items()))
    experts = any(part.feed_forwards > part.feed_forwards_active for part in model.rows)
    return Run(row.where, row.text("id") or row.where, name, description, training, pp, vpp, batch // each,
               recompute, settings, row.number("measured_step_s"), shared * replicas, key, experts,
               _open_settings(row, pp, vpp), row.text("gpu"), followed(row.text, ran_on, training.expert_parallel > 1))


def _uneven(row: _Row, model: Model, stages: int) -> Optional[List[int]]:
    """Where a row tells no split, and its decoders do not divide: the decoders of each stage. They are divided as evenly as can be, with MTP
    layers, which are in the last stage. The first and the last stage have the fewest layers."""
    decoders, mtps = (sum(part.layers for part in model.rows if part.role == role) for role in ("decoder", "mtp"))
    if row.text("split") or decoders % stages == 0 or decoders < stages:
        return None
    counts = [(decoders + mtps) // stages] * stages
    for stage in [*range(1, stages - 1), 0][:(decoders + mtps) % stages]:
        counts[stage] += 1
    counts[-1] -= mtps
    return counts if counts[-1] > 0 else None


def _open_settings(row: _Row, pp: int, vpp: int) -> Tuple[str, ...]:
    empty = tuple(name for name in DECIDING if name in row.cells and not row.text(name))
    return (*empty, "vp") if stages_are_open(row.text, pp, vpp) else empty


def missing_columns(path: str) -> List[str]:
    """Columns that decide the answer, and that a file of runs does not have. A recipe of 8 bits follows from the precision."""
    columns = csv.DictReader(io.StringIO(file_text(path, MODEL))).fieldnames or ()
    return [name for name in READ if name in DECIDING and name not in columns and name != "fp8_recipe"]


def unread_columns(path: str) -> List[str]:
    """Columns of a file of runs that may mean settings, and are not read."""
    columns = csv.DictReader(io.StringIO(file_text(path, MODEL))).fieldnames or ()
    return [name for name in columns if name not in READ and name not in HARMLESS]


def read_runs(path: str, model: Optional[Description] = None, device: Optional[str] = None,
              refuse: Optional[Callable[[Error], None]] = None) -> List[Run]:
    """The runs of a file. model, device: of all of them, in place of what they tell. refuse: gets what is wrong with a row, which is then
    left out; without it the first such row is the error."""
    text = file_text(path, MODEL)
    lines = csv.DictReader(io.StringIO(text))
    columns: Sequence[str] = lines.fieldnames or ()
    wanted = [name for name in NEEDED if name not in columns and not (name == "gpu" and device)]
    if wanted:
        raise Error(f"{path}: it has no column {wanted[0]}; a file of runs has the columns {', '.join(NEEDED)}, and the columns in docs/price.md")
    files, runs = _Files(os.path.dirname(path), model), []
    for cells in lines:
        try:
            runs.append(_run(_Row(f"{path}, line {lines.line_num}", cells), files, device))
        except Error as error:
            if refuse is None:
                raise
            refuse(error)
    return runs
