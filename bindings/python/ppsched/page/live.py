# SPDX-License-Identifier: Apache-2.0
"""The live page: one HTML file with the library as WebAssembly. It computes in the browser, and loads nothing from anywhere."""
from typing import Any, Dict, List, Mapping, Sequence
from urllib.parse import quote

from .._core._abi import SenderWaits
from .._core._library import decoded, lib
from .._core.config import QUANTITIES, Config
from .live_files import page_text

_VERSION = 1  # of the link, as in problem.js


def live_html() -> str:
    """The live page as text."""
    return page_text(decoded(lib.ppsched_version_text()))


def _number(value: float) -> str:
    text = repr(float(value))
    return text[:-2] if text.endswith(".0") else text


def link_of(config: Config, strategy: str, page: str = "ppsched.html", saving: Mapping[str, str] = {}, beside: Sequence[str] = ()) -> str:
    """A link to the live page with this problem, in the form in which the page writes links. saving: {"recompute": "chunks=1"}, or
    {"offload": ...} with chunks=N, all or limit; beside: at most three strategies, NAME or NAME:V, that the page draws below it."""
    fixed: Dict[str, Any] = {"strategy": strategy, "devices": config.devices, "stages": config.stages, "microbatches": config.microbatches}
    words: List[str] = [f"v={_VERSION}", *(f"{name}={quote(str(value), safe='')}" for name, value in fixed.items())]
    if config.iterations != 1:
        words.append(f"iterations={config.iterations}")
    if config.slices != 1:
        words.append(f"slices={config.slices}")
    words += _placement_words(config)
    if not config.split_backward:
        words.append("split_backward=0")
    if config.forward_only:
        words.append("forward_only=1")
    if config.sender_waits != SenderWaits.NEVER:
        words.append(f"sender_waits={config.sender_waits.name.lower()}")
    if config._weight_versions:
        words.append(f"weight_versions={config._weight_versions}")
    words += [f"{name}={quote(what, safe='')}" for name, what in saving.items()]
    for name in QUANTITIES:
        values = getattr(config, name)
        if values is not None and len(values) > 0:
            words.append(f"{name}={','.join('Infinity' if value == float('inf') else _number(value) for value in values)}")
    options: Mapping[str, str] = config._options
    words += [f"{quote('option.' + name, safe='')}={quote(str(value), safe='')}" for name, value in options.items()]
    if beside:
        words.append(f"beside={','.join(beside)}")
    return f"{page}#{'&'.join(words)}"


def _placement_words(config: Config) -> List[str]:
    name = ",".join(map(str, config._map)) if config._map else config._asked_placement.name.lower()
    return [] if name == "default" else [f"placement={name}"]
