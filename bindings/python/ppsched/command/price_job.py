# SPDX-License-Identifier: Apache-2.0
"""A told layout as the library prices it: the model with its training, the pipeline, and how its layers are split."""
import contextlib
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from .._core._library import Error
from .._core.layout import Layout
from .._core.model import Model
from .._core.price import RANK_ORDERS, StepPrice, price
from .._core.shown import shown
from .._core.words import counted, nearest
from ..readers.megatron_step import MODULES
from .model_options import Job

OVERLAPS = {"grad": "overlaps_gradients", "param": "overlaps_parameters", "tp": "overlaps_tensor", "cp": "overlaps_context",
            "ep": "overlaps_experts"}


class Recompute(NamedTuple):
    """kind: of the library, or nothing; layers: the first so many of each stage, 0 for all; modules: bits."""

    kind: Optional[str] = None
    layers: int = 0
    modules: int = 0


def overlaps_of(words: Optional[List[str]]) -> Dict[str, bool]:
    """Flags of Training, for words as grad or grad,param."""
    names = [name for word in words or () for name in word.split(",") if name]
    unknown = next((name for name in names if name not in OVERLAPS), None)
    if unknown is not None:
        raise Error(f"--overlap {shown(unknown)}: {nearest(unknown, OVERLAPS) or 'it must be one or more of ' + ', '.join(OVERLAPS)}")
    return {OVERLAPS[name]: True for name in names}


def recompute_of(word: str) -> Recompute:
    """The recomputation: none, selective, full, modules=a,b, block=N or uniform=N."""
    kind, _, value = word.partition("=")
    if word in ("none", "selective", "full"):
        return Recompute(None if word == "none" else word)
    if kind == "modules":
        names = [name for name in value.split(",") if name]
        unknown = next((name for name in names if name not in MODULES), None)
        if unknown is not None or not names:
            raise Error(f"--recompute {shown(word)}: modules are {', '.join(MODULES)}")
        return Recompute("modules", 0, sum({MODULES[name] for name in names}))
    if kind in ("block", "uniform") and value.isascii() and value.isdigit() and int(value) > 0:
        return Recompute("full", int(value) if kind == "block" else 0)
    raise Error(f"--recompute {shown(word)}: it must be none, selective, full, modules=a,b, block=N or uniform=N")


def as_megatron(recompute: Recompute, keeps_scores: bool) -> Recompute:
    """Selective recomputation computes the core attention again. If FlashAttention does not keep scores, that is the module core_attn."""
    if recompute.kind != "selective" or keeps_scores:
        return recompute
    return Recompute("modules", recompute.layers, MODULES["core_attn"])


# --- the split ---

def _ends(model: Model) -> Tuple[int, int, int, int]:
    """Layers before the decoders, decoders, MTP layers, and those after."""
    def count(*roles: str) -> int:
        return sum(row.layers for row in model.rows if row.role in roles)
    return count("tower", "embedding"), count("decoder"), count("mtp"), count("head")


def _of_layout(layout: Layout, model: Model) -> List[int]:
    before, _, _, after = _ends(model)
    counts = [stage.decoders + stage.mtps for stage in layout.stages]
    counts[0] += before
    counts[-1] += after
    return counts


def _is_told(options: Mapping[str, Any]) -> bool:
    return any(options.get(name) for name in ("account_for_embedding", "account_for_loss", "first_decoders", "last_decoders"))


def split_of(model: Model, pp: int, vpp: int, options: Mapping[str, Any]) -> Optional[List[int]]:
    """Layers of each stage, with ends; nothing for Megatron-LM's even split."""
    before, decoders, mtps, after = _ends(model)
    if options.get("layout") is not None:
        if options.get("split") is not None or _is_told(options):
            raise Error("--layout gives the whole split; leave --split and --account-for-... out")
        layout = Layout(options["layout"], pp, decoders=decoders, mtps=mtps)
        if layout.chunks != vpp:
            raise Error(f"--layout has {layout.chunks} stages for each of {pp} devices; give --vpp {layout.chunks}")
        return _of_layout(layout, model)
    if options.get("split") is not None:
        counts = [int(count) for count in options["split"]]
        if len(counts) != pp * vpp or sum(counts) != decoders:
            raise Error(f"--split has {sum(counts)} decoders in {len(counts)} stages; the model has {decoders}, and --pp {pp} with --vpp {vpp} "
                        f"{pp * vpp} stages")
        counts[0] += before
        counts[-1] += mtps + after
        return counts
    if _is_told(options):
        return _of_layout(Layout.megatron(decoders, pp, chunks=vpp if vpp > 1 else None, first_decoders=options.get("first_decoders"),
                                          last_decoders=options.get("last_decoders"),
                                          account_for_embedding=bool(options.get("account_for_embedding")),
                                          account_for_loss=bool(options.get("account_for_loss")), mtps=mtps), model)
    return None


def _runs_of(job: Job, every: Optional[int]) -> int:
    """How often the schedule runs in a step."""
    if every is None:
        return 1
    if every < 1:
        raise Error(f"--reduce-every {every}: it must be 1 or more")
    if job.microbatches % every != 0:
        raise Error(f"--reduce-every {every}: it must divide the {counted(job.microbatches, 'microbatch', 'es')} of a step")
    return every


def pipeline_of(job: Job, recompute: Recompute, options: Mapping[str, Any]) -> Dict[str, Any]:
    """The arguments of price() for a job whose model has the training of the options already."""
    offloaded = options.get("offload_layers") or 0
    if offloaded < 0:
        raise Error(f"--offload-layers is {offloaded}; it must be 0 or more")
    return {"devices": job.pp, "microbatches": job.microbatches, "chunks": job.vpp, "strategy": options.get("strategy"),
            "split": split_of(job.model, job.pp, job.vpp, options), "recompute": recompute.kind, "recompute_layers": recompute.layers,
            "pair_rule": options.get("pair_rule") or "best", "offload_layers": offloaded, "rank_order": options.get("rank_order") or RANK_ORDERS[0],
            "reduce_every": _runs_of(job, options.get("reduce_every"))}


@contextlib.contextmanager
def naming_split() -> Iterator[None]:
    """As a context manager: an error of an uneven split tells the options that help."""
    try:
        yield
    except Error as error:
        if "cannot be divided among" in str(error):
            error.args = (f"{str(error).split(';', maxsplit=1)[0]}; give --split, --layout, --account-for-embedding or --account-for-loss",)
        elif "same stage as the layer before" in str(error):
            error.args = (f"{error}: it uses what that layer or a tower makes; give a --split or --layout that keeps them together",)
        raise


def priced(job: Job, recompute: Recompute, options: Mapping[str, Any]) -> StepPrice:
    """The step of such a job."""
    with naming_split():
        return price(job.model, **pipeline_of(job, recompute, options))
