# SPDX-License-Identifier: Apache-2.0
"""Layouts: splits in the notations of Megatron-LM and torchtitan."""
import ctypes
import weakref
from typing import Iterable, List, NamedTuple, Optional, Tuple

from . import _abi
from ._abi import Status
from ._library import Error, call, encoded, lib, new_handle
from .filling import text_of
from .number_lists import integer
from .shown import shown
from .views import Shared, sized
from .words import counted, names_checked, nearest

# torchtitan's names of schedules, and whether they have several stages per device.
TITAN_SCHEDULES = {"1F1B": False, "GPipe": False, "Interleaved1F1B": True, "LoopedBFS": True, "InterleavedZeroBubble": True,
                   "ZBVZeroBubble": True, "DualPipeV": True, "PipelineScheduleSingle": False, "PipelineScheduleMulti": True}


class LayoutStage(NamedTuple):
    """The number of layers of each kind in a stage. The kinds run in this order. str() is one word, such as Et4 or t13mL; the
    word "-" means no layers."""

    embeddings: int = 0
    decoders: int = 0
    mtps: int = 0
    heads: int = 0

    def __str__(self) -> str:
        return "".join(kind + (str(count) if count > 1 else "") for kind, count in zip("EtmL", self) if count) or "-"


class Layout(Shared):
    """Which layers each stage has, by Megatron-LM's rules.

    Layout(text, devices) reads a string for --pipeline-model-parallel-layout, such as "Et*3|(tt|)*29,m|L". of_stages, megatron and
    torchtitan make layouts in other ways. chunks: stages per device; stages: a LayoutStage for each stage; offsets: for each stage the
    number of decoders before it; text: the shortest string for the same stages. Stage s is chunk s // devices of device s % devices.
    Immutable; threads may share it. Errors: ppsched.Error, or ppsched.Refused where the stages do not fit the devices.

        print(ppsched.Layout("Et*3|(tt|)*29,m|L", devices=8).stages[0])
    """

    devices: int
    chunks: int
    stages: List[LayoutStage]
    offsets: List[int]
    text: str

    @names_checked
    def __init__(self, text: str, devices: int, *, chunks: Optional[int] = None, decoders: Optional[int] = None,
                 mtps: Optional[int] = None, launcher: bool = False, overlap: bool = True) -> None:
        """chunks, decoders, mtps: numbers that the string must have; None: any. launcher: also make the checks of Megatron-LM's launcher,
        which refuses several chunks per device if there is one device, or if there are two and communication does not
        overlap."""
        rules = sized(_abi.LayoutRules)
        rules.chunks = _optional("chunks", chunks)
        rules.decoders, rules.no_decoders = integer("decoders", decoders or 0), decoders == 0
        rules.mtps, rules.no_mtps = integer("mtps", mtps or 0), mtps == 0
        rules.launcher, rules.no_overlap = bool(launcher), not overlap
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else encoded("the layout", text)
        self._take(new_handle(lib.ppsched_layout_create_from_text, ctypes.c_char_p(data), len(data), integer("devices", devices),
                              ctypes.byref(rules), None))

    @classmethod
    def of_stages(cls, stages: Iterable[Tuple[int, int, int, int]], devices: int) -> "Layout":
        """A layout from records, one per stage: embeddings, decoders, mtps, heads."""
        given = [LayoutStage(*stage) for stage in stages]
        for number, stage in enumerate(given):
            if any(not 0 <= integer("a number of layers", count) < 2**32 for count in stage):
                raise Error(f"stage {number} has {tuple(stage)} layers; they must be 0 to {_abi.MAX_LAYOUT_LAYERS}", Status.ERROR_RANGE)
        records = (_abi.LayoutStage * len(given))(*(_abi.LayoutStage(*stage) for stage in given))
        return cls._of(new_handle(lib.ppsched_layout_create, integer("devices", devices), records, len(given), None))

    @classmethod
    @names_checked
    def megatron(cls, decoders: int, devices: int, *, layers_per_chunk: Optional[int] = None, chunks: Optional[int] = None,
                 first_decoders: Optional[int] = None, last_decoders: Optional[int] = None, account_for_embedding: bool = False,
                 account_for_loss: bool = False, overlap: bool = True, mtps: int = 0) -> "Layout":
        """The layout that Megatron-LM has for `decoders` decoders if no layout string is given.

        layers_per_chunk, chunks: --num-layers-per-virtual-pipeline-stage, --num-virtual-stages-per-pipeline-rank.
        first_decoders, last_decoders: --decoder-first-pipeline-num-layers, --decoder-last-pipeline-num-layers.
        account_for_embedding, account_for_loss: the embedding or the head counts as a decoder. overlap=False:
        --no-overlap-p2p-communication.
        mtps: --mtp-num-layers, in the last stage.
        """
        split = sized(_abi.MegatronSplit)
        split.layers_per_chunk, split.chunks = _optional("layers_per_chunk", layers_per_chunk), _optional("chunks", chunks)
        split.first_decoders = _optional("first_decoders", first_decoders)
        split.last_decoders = _optional("last_decoders", last_decoders)
        split.account_for_embedding, split.account_for_loss = bool(account_for_embedding), bool(account_for_loss)
        split.no_overlap, split.mtps = not overlap, integer("mtps", mtps)
        return cls._of(new_handle(lib.ppsched_layout_create_from_megatron, integer("decoders", decoders), integer("devices", devices),
                                  ctypes.byref(split), None))

    @classmethod
    @names_checked
    def torchtitan(cls, decoders: int, devices: Optional[int] = None, *, stages: Optional[int] = None,
                   layers_per_stage: Optional[int] = None, schedule: str = "1F1B", first_less: int = 1,
                   last_less: int = 1) -> "Layout":
        """The layout that torchtitan has for `decoders` decoders; `modules` has torchtitan's names of a stage.

        stages: number of stages; if devices is not given, also the number of devices. If stages is not given, schedule (1F1B,
        Interleaved1F1B, ...) and layers_per_stage decide. first_less, last_less: number of decoders that the embedding counts
        as, and that norm and head together count as.
        """
        if devices is None and stages is None:
            raise Error("give stages, or devices with the schedule, or both")
        less = integer("first_less", first_less), integer("last_less", last_less)
        model = integer("decoders", decoders), integer("devices", stages if devices is None else devices)
        if stages is None:
            found = ctypes.c_uint32()
            call(lib.ppsched_layout_find_torchtitan_stages, ctypes.byref(found), *model,
                 _optional("layers_per_stage", layers_per_stage), *less, _has_several(schedule))
            stages = found.value
        elif layers_per_stage is not None:
            raise Error("stages and layers_per_stage are both given; give one of them")
        return cls._of(new_handle(lib.ppsched_layout_create_from_torchtitan, *model, integer("stages", stages), *less, None))

    @classmethod
    def _of(cls, handle: ctypes.c_void_p) -> "Layout":
        layout = cls.__new__(cls)
        layout._take(handle)
        return layout

    def _take(self, handle: ctypes.c_void_p) -> None:
        self._handle = handle
        self._release = weakref.finalize(self, lib.ppsched_layout_destroy, handle)
        count = ctypes.c_size_t()
        records = lib.ppsched_layout_stages(handle, ctypes.byref(count))
        offsets = lib.ppsched_layout_offsets(handle, None)
        self.devices, self.chunks = lib.ppsched_layout_devices(handle), lib.ppsched_layout_chunks(handle)
        self.stages = [LayoutStage(record.embeddings, record.decoders, record.mtps, record.heads)
                       for record in records[:count.value]]
        self.offsets = offsets[:count.value]
        self.text = text_of(lib.ppsched_layout_write_text, handle)

    @property
    def decoders(self) -> int:
        """The number of decoders in all stages together."""
        return sum(stage.decoders for stage in self.stages)

    @property
    def mtps(self) -> int:
        """The number of MTP layers in all stages together."""
        return sum(stage.mtps for stage in self.stages)

    @property
    def ranks(self) -> List[List[Tuple[int, int]]]:
        """For each device and each of its chunks: the number of the chunk's first decoder, and how many decoders the chunk has."""
        pairs = [(offset, stage.decoders) for offset, stage in zip(self.offsets, self.stages)]
        return [pairs[device::self.devices] for device in range(self.devices)]

    def modules(self, stage: int, rotary: bool = False) -> List[str]:
        """torchtitan's names of the modules of a stage. rotary: also add rotary_emb to each stage, as torchtitan's backend for
        transformers needs."""
        if not 0 <= integer("stage", stage) < len(self.stages):
            raise Error(f"there is no stage {stage} of {len(self.stages)}", Status.ERROR_RANGE)
        return text_of(lib.ppsched_layout_write_modules, self._handle, stage, bool(rotary)).split()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and (self.devices, self.stages) == (other.devices, other.stages)

    def __hash__(self) -> int:
        return hash((self.devices, *self.stages))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<ppsched.Layout {self.text}: {counted(len(self.stages), 'stage')} on {counted(self.devices, 'device')}>"


def _optional(name: str, value: Optional[int]) -> int:
    """0 if it is not given; otherwise it must be 1 or more."""
    if value is None:
        return 0
    if integer(name, value) < 1:
        raise Error(f"{name} is {value}; it must be 1 or more", Status.ERROR_RANGE)
    return value


def _has_several(schedule: str) -> bool:
    """Whether one of torchtitan's schedules has several stages per device."""
    for name, several in TITAN_SCHEDULES.items():
        if isinstance(schedule, str) and schedule.lower() == name.lower():
            return several
    raise Error(f"torchtitan has no schedule {shown(schedule)}; {nearest(schedule, TITAN_SCHEDULES) or 'it has ' + ', '.join(TITAN_SCHEDULES)}")
