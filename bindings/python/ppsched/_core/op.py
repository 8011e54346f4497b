# SPDX-License-Identifier: Apache-2.0
"""One operation of a schedule."""
import ctypes
import operator
import re
from typing import Iterable, Iterator, NamedTuple, Optional, Sequence, Tuple, Union

from . import _abi
from ._abi import Kind
from ._library import Error, lib
from .filling import text_of
from .shown import shown

_TOKENS = {kind: kind.name for kind in Kind}
_PATTERN = re.compile(r"([0-9]{1,10})([A-Z_]+?)([0-9]{0,10})(?:\.([0-9]{1,5}))?(?:>([0-9]{1,5}))?")
# Kinds without a microbatch, found by how the library writes an op of microbatch 0.
NO_MICROBATCH = {kind for kind in Kind if not text_of(lib.ppsched_op_write_token, ctypes.byref(_abi.Op(kind=kind))).endswith("0")}


class Op(NamedTuple):
    """An operation. str(op) is its PyTorch token, such as "3F0", or "3F0.2" for a slice; Op.from_token reads one.

    overlapped: the op runs as one unit with the next op of its queue; slice: number of the slice, or None if the microbatch is whole;
    place: for sends and receives of a stage graph, the place at the other end (Schedule.places), as in "0SEND_F3>2".

        print(ppsched.Op(3, ppsched.Kind.F, 0), ppsched.Op.from_token("3B0").microbatch)
    """

    stage: int
    kind: Kind
    microbatch: Optional[int]
    overlapped: bool = False
    slice: Optional[int] = None
    place: Optional[int] = None

    @classmethod
    def from_token(cls, token: str, overlapped: bool = False) -> "Op":
        """Reads a token; raises Error if it is not one."""
        match = _PATTERN.fullmatch(token.strip()) if isinstance(token, str) else None
        kind = Kind.__members__.get(match[2]) if match else None
        if match is None or kind is None or (match[3] == "") != (kind in NO_MICROBATCH) or (match[4] and not match[3]):
            raise Error(f"{shown(token)} is not an op; ops look like 3F0, 3B0, 3I0, 3W0 or 3SEND_F0")
        return cls(int(match[1]), kind, int(match[3]) if match[3] else None, overlapped, int(match[4]) if match[4] else None,
                   int(match[5]) if match[5] else None)

    def __str__(self) -> str:
        piece = "" if self.microbatch is None else f"{self.microbatch}"
        return f"{self.stage}{_TOKENS[self.kind]}{piece}{'' if self.slice is None else f'.{self.slice}'}{'' if self.place is None else f'>{self.place}'}"


def from_record(record: _abi.Op) -> Op:
    microbatch = None if record.microbatch == _abi.NONE else record.microbatch
    return Op(record.stage, Kind(record.kind), microbatch, bool(record.flags & _abi.OpFlag.OVERLAPPED),
              record.slice if record.flags & _abi.OpFlag.SLICED else None, record.reserved - 1 if record.reserved else None)


def _is_within(number: object, most: int) -> bool:
    return hasattr(number, "__index__") and 0 <= operator.index(number) <= most


def to_record(op: Op) -> _abi.Op:
    """The C record. Raises for numbers that do not fit, as C would wrap them."""
    if not isinstance(op, Op):
        raise Error(f"{shown(op)} is not an op; give a ppsched.Op, or a token such as 3F0")
    microbatch = _abi.NONE if op.microbatch is None else op.microbatch
    slice = 0 if op.slice is None else op.slice
    if (op.kind not in _TOKENS or not _is_within(op.stage, 0xFFFF) or not _is_within(microbatch, _abi.NONE)
            or not _is_within(slice, 0xFFFF) or (op.place is not None and not _is_within(op.place, 0xFFFE))):
        raise Error(f"{shown(tuple(op))}: stage, kind, microbatch, slice or place is out of range", _abi.Status.ERROR_RANGE)
    flags = (_abi.OpFlag.OVERLAPPED if op.overlapped else 0) | (_abi.OpFlag.SLICED if op.slice is not None else 0)
    return _abi.Op(microbatch, op.stage, slice, op.kind, flags, 0 if op.place is None else op.place + 1)


def to_records(ops: Iterable[Union[Op, str]]) -> "Tuple[ctypes.Array[_abi.Op], int]":
    records = [to_record(Op.from_token(op) if isinstance(op, str) else op) for op in ops]
    return (_abi.Op * len(records))(*records), len(records)


def units(ops: Sequence[Op]) -> Iterator[Tuple[str, int, int]]:
    """Joins overlapped pairs: yields (token, index of the first op, number of ops)."""
    index = 0
    while index < len(ops):
        if ops[index].overlapped and index + 1 < len(ops):
            yield f"({ops[index]};{ops[index + 1]})OVERLAP_F_B", index, 2
            index += 2
        else:
            yield str(ops[index]), index, 1
            index += 1
