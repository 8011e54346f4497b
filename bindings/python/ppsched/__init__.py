# SPDX-License-Identifier: Apache-2.0
"""Pipeline-parallel schedules as data: generate, check, evaluate, export.

    import ppsched
    config = ppsched.Config(devices=4, microbatches=8, forward_times=1, backward_times=2)
    timeline = ppsched.generate("1f1b", config).evaluate()
    print(timeline.metrics.bubble.of_total, timeline.export("text"))
"""
from ._start import Start

with Start():
    from ._abi import (ChannelOrder, Connecting, FindingKind, Format, Kind, Lowering, MemoryCause, Objective, Placement, Reason, Runtime, SenderWaits, SlotUse,
                       Status)
    from ._abi import ChakraLinks, ChakraSizes
    from ._library import Cancelled, Error, InvalidSchedule, Refused, decoded, lib
    from .accelerators import Accelerator, Link, accelerators, find_accelerator
    from .bound import Bound, lower_bound
    from .scenarios import ScenarioMetrics, Scenarios
    from .microbatches import Balance, balance_microbatches
    from .chakra import chakra_schedule, chakra_traces, read_chakra, write_chakra
    from .comparison import Comparison, DeviceSum, OpTimes, Parting, StageSum, compare_run
    from .config import Config, Numbers, Quantities
    from .goal import with_goal
    from .explain import CriticalOp, Relief, Sensitivity
    from .layers import Layer, LayerSplit, Layers, Recompute, Split, config_from_layers
    from .layout import Layout, LayoutStage
    from .lowering import Buffer, Edge, Proof, Wait
    from .memory import IdleWindow, MemoryItem, MemoryPoint
    from .model import LayerMemory, MegatronMemory, Model, Parameters, PassCost, Training, Transformer, UpdateCost
    from .model_end import ModelEnd
    from .model_files import ModelFile, read_model
    from .op import Op
    from .plan import Candidate, LeastLimit, Plan, plan
    from .profile import Measured, Profile, Spread
    from .report import report
    from .schedule import Builder, Finding, Schedule, generate, read
    from .slots import Arena, Connection, Lifetime
    from .strategy import Option, Strategy, find_strategy, strategies
    from .timeline import Bubble, DeviceMetrics, Idle, Metrics, Span, Timeline
    from .units import Units
    from .views import View

__version__: str = decoded(lib.ppsched_version_text())

__all__ = [
    "Accelerator", "Arena", "Balance", "Bound", "Bubble", "Buffer", "Builder", "Cancelled", "Candidate", "ChakraLinks", "ChakraSizes", "ChannelOrder", "Comparison", "Config", "Connecting", "Connection",
    "CriticalOp", "DeviceMetrics", "DeviceSum", "Edge", "Error", "Finding", "FindingKind", "Format", "Idle",
    "IdleWindow", "InvalidSchedule", "Kind", "Layer", "LayerSplit", "Layers", "Layout", "LayoutStage", "LayerMemory", "LeastLimit", "Lifetime", "Link",
    "Lowering", "Measured", "MegatronMemory", "MemoryCause", "MemoryItem", "MemoryPoint", "Metrics", "Model", "ModelEnd", "ModelFile", "Numbers",
    "Objective", "Op", "OpTimes", "Option", "Parameters", "Parting", "PassCost", "Placement", "Plan", "Profile", "Proof",
    "Quantities", "Reason", "Recompute", "Refused", "Relief", "Runtime", "Schedule", "ScenarioMetrics", "Scenarios", "SenderWaits", "Sensitivity", "SlotUse", "Span", "Split", "Spread",
    "StageSum", "Status", "Strategy", "Timeline", "Training", "Transformer", "Units", "UpdateCost", "View", "Wait",
    "accelerators", "balance_microbatches", "chakra_schedule", "chakra_traces", "compare_run", "config_from_layers", "find_accelerator", "find_strategy", "generate", "lower_bound", "plan",
    "read", "read_chakra", "read_model", "report", "strategies", "with_goal", "write_chakra",
]
