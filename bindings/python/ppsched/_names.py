# SPDX-License-Identifier: Apache-2.0
"""All that the package offers by the name of ppsched."""
from types import FunctionType
from typing import List

from ._core._abi import (ChakraLinks, ChakraSizes, ChannelOrder, Connecting, FindingKind, Format, Kind, Lowering, MemoryCause,
                         Objective, Placement, Reason, Runtime, SenderWaits, SlotUse, Status, SteadyReason)
from ._core._abi_fields import FIELDS
from ._core._library import Cancelled, Error, InvalidSchedule, Refused, decoded, lib
from ._core.accelerators import Accelerator, LinkRate, accelerators, find_accelerator
from ._core.bound import Bound, lower_bound
from ._core.calibrator import CalibratedConstant, CalibratedRun, Calibration, Calibrator
from ._core.candidate import Candidate, LeastLimit
from ._core.chakra import chakra_schedule, chakra_traces, read_chakra, write_chakra
from ._core.config import Config, Quantities
from ._core.explain import CriticalOp, Relief, Sensitivity
from ._core.layer_table import FigureMeasure, LayerTable, MeasuredCollective, MeasuredLayer, RowMeasure
from ._core.layers import Layer, LayerSplit, Layers, Recompute, Split, config_from_layers
from ._core.layout import Layout, LayoutStage
from ._core.lowering import Buffer, Link, Proof, Wait
from ._core.memory import IdleWindow, MemoryItem, MemoryPoint
from ._core.microbatches import Balance, balance_microbatches
from ._core.graph_split import BranchStages, GraphSplit, split_layer_graph
from ._core.prefill import Chunks, prefill_chunks
from ._core.description import Description, Transformer, model_families
from ._core.model import LayerMemory, MegatronMemory, Model, ModelRow, Parameters, PassCost, Training, UpdateCost
from ._core.model_end import ModelEnd
from ._core.number_lists import Numbers
from ._core.op import Op
from ._core.plan import Plan, plan
from ._core.plan_layouts import LayoutRows, plan_layouts
from ._core.price import DevicePrice, StepPrice, price
from ._core.replan import Move, Replan, replan
from ._core.replicas import Replica, Replicas, share_microbatches
from ._core.robust_objective import with_robust_objective
from ._core.scenarios import ScenarioMetrics, Scenarios
from ._core.schedule import Builder, Finding, Schedule, generate, read
from ._core.side_by_side import draw
from ._core.slots import Arena, Connection, Lifetime
from ._core.steady import Steady, SteadyPeriod, steady
from ._core.strategy import Option, Strategy, find_strategy, strategies
from ._core.timeline import Bubble, DeviceMetrics, Idle, Metrics, Span, Timeline
from ._core.units import Units
from ._core.views import View
from ._core.windows import PairTime, PairWindow, StageWindows, pair_time
from .readers.config_file import config_of_file as _config_of_file
from .readers.comparison import Comparison, DeviceSum, OpTimes, Parting, StageSum, compare_run
from .readers.layer_table import layer_table_of, layer_table_text, read_layer_table
from .readers.model_files import ModelFile, read_model
from .readers.profile import Measured, Profile, Spread
from .page.report import report

__version__: str = decoded(lib.ppsched_version_text())

__all__ = [
    "Accelerator", "Arena", "Balance", "Bound", "BranchStages", "Bubble", "Buffer", "Builder", "CalibratedConstant", "CalibratedRun", "Calibration", "Calibrator", "Cancelled", "Candidate", "ChakraLinks", "ChakraSizes", "ChannelOrder", "Chunks", "Comparison", "Config", "Connecting", "Connection",
    "CriticalOp", "Description", "DeviceMetrics", "DevicePrice", "DeviceSum", "Error", "FigureMeasure", "Finding", "FindingKind", "Format", "Idle",
    "GraphSplit", "IdleWindow", "InvalidSchedule", "Kind", "Layer", "LayerSplit", "Layers", "Layout", "LayoutRows", "LayoutStage", "LayerMemory", "LayerTable", "LeastLimit", "Lifetime", "Link", "LinkRate",
    "Lowering", "Measured", "MeasuredCollective", "MeasuredLayer", "MegatronMemory", "MemoryCause", "MemoryItem", "MemoryPoint", "Metrics", "Model", "ModelEnd", "ModelFile", "ModelRow", "Move", "Numbers",
    "Objective", "Op", "OpTimes", "Option", "PairTime", "PairWindow", "Parameters", "Parting", "PassCost", "Placement", "Plan", "Profile", "Proof",
    "Quantities", "Reason", "Recompute", "Refused", "Relief", "Replan", "Replica", "Replicas", "RowMeasure", "Runtime", "Schedule", "ScenarioMetrics", "Scenarios", "SenderWaits", "Sensitivity", "SlotUse", "Span", "Split", "Spread",
    "StageSum", "StageWindows", "Status", "Steady", "SteadyPeriod", "SteadyReason", "StepPrice", "Strategy", "Timeline", "Training", "Transformer", "Units", "UpdateCost", "View", "Wait",
    "accelerators", "balance_microbatches", "chakra_schedule", "chakra_traces", "compare_run", "config_from_layers", "draw", "find_accelerator", "find_strategy", "generate", "layer_table_of", "layer_table_text", "lower_bound", "model_families", "pair_time", "plan", "plan_layouts", "prefill_chunks", "price",
    "read", "read_chakra", "read_layer_table", "read_model", "replan", "report", "share_microbatches", "split_layer_graph", "steady", "strategies", "with_robust_objective", "write_chakra",
]


def __dir__() -> List[str]:
    return sorted([*__all__, "__version__"])


for _name in __all__:  # help texts, error messages and pickles then show the public names
    if isinstance(globals()[_name], (type, FunctionType)):
        globals()[_name].__module__ = "ppsched"
    for _field, _text in FIELDS.get(_name, {}).items():
        getattr(globals()[_name], _field).__doc__ = _text  # in place of "Alias for field number 0"
