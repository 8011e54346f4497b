# SPDX-License-Identifier: Apache-2.0
"""The exceptions of the package."""
from typing import Optional

from . import _abi


class Error(Exception):
    """A failed call, with the library's message.

    status: the ppsched.Status; device, stage, microbatch, position: where the error is, or None.
    """

    status: _abi.Status
    device: Optional[int]
    stage: Optional[int]
    microbatch: Optional[int]
    position: Optional[int]

    def __init__(self, message: str, status: int = _abi.Status.ERROR_ARGUMENT, record: Optional[_abi.Error] = None) -> None:
        super().__init__(message)
        self.status = _abi.Status(status)
        for field in ("device", "stage", "microbatch", "position"):
            value = getattr(record, field, _abi.NONE)
            setattr(self, field, None if value == _abi.NONE else value)


class Refused(Error):
    """A strategy does not support the problem, or a runtime does not support the schedule. The message says why, and what would work."""


class InvalidSchedule(Error):
    """A schedule is incomplete or cannot run."""


class Cancelled(Error):
    """A progress callback stopped the call."""
