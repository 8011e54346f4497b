# SPDX-License-Identifier: Apache-2.0
"""Settings that a measured run does not tell, and that follow from what it tells: its software, its age, and what it trains. Each is a rule for
any row, with its reason; a told setting wins, and answers name the columns."""
import re
from typing import Callable, Optional, Tuple

Text = Callable[[str], str]  # a row's cell by the name of its column, "" for none

LORA = re.compile(r"(?:^|[^a-z])q?lora(?![a-z])")
BRIDGE = "megatron-bridge"


def keeps_scores(text: Text, device: str) -> bool:
    """Whether the scores of the attention are written to memory, and dropout is applied. Runs of A100 in fp16 are of the Megatron-LM of 2021 and
    2022, without FlashAttention (arXiv 2205.14135, of May 2022) and with dropout, by its own default (attention_dropout and hidden_dropout 0.1, which
    arXiv 2205.05198 counts, too). Newer recipes train in bf16."""
    return device.lower().startswith("a100") and text("precision").lower() == "fp16"


def frozen_weights(text: Text) -> bool:
    """A run whose name or model has the word LoRA trains adapters alone (arXiv 2106.09685)."""
    return any(LORA.search(text(name).lower()) for name in ("id", "model"))


def expert_tensor_parallel(text: Text) -> Optional[int]:
    """1 in Megatron-Bridge, whose recipes set expert_tensor_parallel_size to 1; nothing where the source does not tell."""
    return 1 if BRIDGE in text("source").lower() else None


def stages_are_open(text: Text, pp: int, vpp: int) -> bool:
    """An interleaved schedule has at least two stages on each device, so one says that their number was not published."""
    return pp > 1 and vpp == 1 and "interleaved" in text("strategy").lower()


def followed(text: Text, device: str, has_experts: bool) -> Tuple[str, ...]:
    """The columns that a row leaves empty, and that a rule of this file fills with something else than their plain default."""
    scores, frozen = keeps_scores(text, device), frozen_weights(text)
    rules = {"keeps_scores": scores, "dropout": scores, "frozen_weights": frozen,
             "etp": has_experts and text("tp") not in ("", "1") and expert_tensor_parallel(text) is not None}
    return tuple(name for name, holds in rules.items() if holds and not text(name))
