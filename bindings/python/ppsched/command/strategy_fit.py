# SPDX-License-Identifier: Apache-2.0
"""Options that a strategy has no use for."""
from typing import Any, Mapping

from .._core.strategy import find_strategy
from .._core.words import counted
from .usage import UsageError


def check_one_strategy(name: Any) -> None:
    """Refuses a list of names for --strategy."""
    if isinstance(name, str) and "," in name:
        raise UsageError(f"--strategy {name}: it takes one name; ppsched compare --strategies {name} compares several")


def check_strategy_options(values: Mapping[str, Any]) -> None:
    """Refuses --vpp and --group-size where the strategy does not take them."""
    check_one_strategy(values.get("strategy"))
    strategy, vpp, group = find_strategy(values.get("strategy") or "1f1b"), values.get("vpp"), values.get("group_size")
    if vpp is not None and vpp < 1:
        raise UsageError(f"--vpp {vpp}: it must be 1 or more")
    if vpp is not None and strategy.chunks not in (0, vpp):
        right = "leave --vpp out" if strategy.chunks == 1 else f"write --vpp {strategy.chunks}"
        raise UsageError(f"--vpp {vpp}: {strategy.name} has {counted(strategy.chunks, 'stage')} per device; {right}, or give another strategy, such as "
                         "--strategy interleaved_1f1b")
    if group and not strategy.takes_group_size:
        raise UsageError(f"--group-size {group}: {strategy.name} has no groups; leave it out")


def check_chunks(values: Mapping[str, Any], stages: int, devices: int) -> None:
    """Refuses a running split whose stages per device are not those of the strategy. devices: those that run."""
    strategy, added = find_strategy(values.get("strategy") or "1f1b"), values["added"]
    if strategy.chunks == 0 or stages == devices * strategy.chunks or stages % devices or stages % strategy.chunks:
        return
    running = counted(devices, "running device") + (f" (--devices {devices + added} less --added {added})" if added else "")
    right = f"--devices {stages // strategy.chunks + added}" + (", which includes the added devices" if added else "")
    raise UsageError(f"--split has {counted(stages, 'stage')} on {running}, but {strategy.name} has {strategy.chunks} per device; give {right}, or the "
                     "--strategy of the job")
