# SPDX-License-Identifier: Apache-2.0
"""The key "prefill" of a config file: prompts whose chunks are chosen."""
from typing import Any, Dict, List, Mapping, Optional, Union

from .._core.prefill import Chunks, prefill_chunks
from .._core.progress import ProgressBar
from .._core.shown import shown
from .._core.words import counted
from ..readers.config_file import config_of_values
from .usage import UsageError

NAMES = {"c": "constant", "a": "linear", "b": "quadratic", "tokens": "tokens", "block": "block", "chunks": "chunks"}
# What says the same in another way, or divides the problem first.
OTHERS = ("requests", "microbatch_request", "microbatch_scale", "microbatch_memory_scale", "slices", "iterations", "layers", "num_layers", "model")


def _arguments(given: Mapping[str, Any], microbatches: Optional[int]) -> Dict[str, Any]:
    """The arguments of prefill_chunks."""
    unknown = next((key for key in given if key not in NAMES), None)
    if unknown is not None:
        raise UsageError(f"prefill has no {shown(unknown)}; it has {', '.join(NAMES)}")
    if "tokens" not in given:
        raise UsageError("prefill needs tokens, the length of the prompt, or a list of lengths")
    chunks = given.get("chunks")
    if chunks is not None and microbatches is not None and chunks != microbatches:
        raise UsageError(f"prefill has {shown(chunks)} chunks, and the problem has {counted(microbatches, 'microbatch', 'es')}; a microbatch is a chunk")
    found = {NAMES[key]: value for key, value in given.items() if value is not None}
    return found if microbatches is None else {**found, "chunks": microbatches}


def _strategy_of(values: Mapping[str, Any]) -> str:
    several: List[str] = values.get("strategies") or []
    return values.get("strategy") or (several[0] if len(several) == 1 else "looped_bfs")


def with_prefill(values: Dict[str, Any]) -> Dict[str, Any]:
    """The values with a microbatch for each chunk of the prompts, and the chunks."""
    given = values.get("prefill")
    if given is None:
        return values
    other = next((name for name in OTHERS if values.get(name) not in (None, 1)), None)
    if other is not None:
        raise UsageError(f"prefill: chunks are microbatches, which prefill computes itself; leave out {other}")
    if values.get("forward_only") is False:
        raise UsageError("prefill has forwards only; leave out forward_only, or set it")
    if values.get("num_devices") is None and values.get("num_stages") is None:
        raise UsageError("give --devices, or --stages, or a config file with one of them")
    asked, strategy = _arguments(given, values.get("num_batches")), _strategy_of(values)
    base = {**{name: value for name, value in values.items() if name != "prefill"}, "num_batches": 1, "forward_only": True}
    with ProgressBar() as bar:
        found = prefill_chunks(config_of_values(base), strategy=strategy, progress=bar, **asked)
    return {**base, "num_batches": len(found.tokens), "microbatch_scale": list(found.config.microbatch_scale),
            "microbatch_memory_scale": list(found.config.microbatch_memory_scale),
            "microbatch_request": _requests(found), "strategy": strategy, "chunks_of_prompt": found, "has_prompts": isinstance(given["tokens"], list)}


def _requests(found: Chunks) -> List[int]:
    """The prompt of each chunk."""
    requests = [int(request) for request in found.config.microbatch_request]
    return requests if len(requests) == len(found.tokens) else [0] * len(found.tokens)


def chunk_tokens(found: Chunks, has_prompts: bool) -> Union[List[int], List[List[int]]]:
    """The tokens of each chunk; of several prompts, a list for each."""
    if not has_prompts:
        return found.tokens
    requests = _requests(found)
    prompts: List[List[int]] = [[] for _ in range(requests[-1] + 1)]
    for tokens, request in zip(found.tokens, requests):
        prompts[request].append(tokens)
    return prompts


def _sizes(tokens: List[int], most: int) -> str:
    return " ".join(map(str, tokens[:most])) + (f" and {len(tokens) - most} more" if len(tokens) > most else "")


def chunks_text(found: Chunks, has_prompts: bool) -> str:
    """For people: the chunks, and what equal ones take."""
    prompts = chunk_tokens(found, has_prompts)
    sizes = _sizes(found.tokens, 24) if not has_prompts else ", ".join(_sizes(own, 8) for own in prompts[:8] if isinstance(own, list))
    sizes += f" and of {len(prompts) - 8} more prompts" if has_prompts and len(prompts) > 8 else ""
    proof = "no other chunks are faster" if found.is_best else "the best chunks that were found"
    return f"chunks of {sizes} tokens, {proof}; equal chunks take {found.equal_makespan:g}\n"
