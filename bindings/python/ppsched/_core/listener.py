# SPDX-License-Identifier: Apache-2.0
"""Progress of a call into the library, and stopping it."""
import copy
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Type

from . import _abi
from ._library import Error, call, lib
from .config import Config
from .interrupt import Interrupts
from .shown import shown

if TYPE_CHECKING:
    from ctypes import _Pointer

Progress = Callable[[float, float], object]


def check_progress(progress: object) -> None:
    if progress is not None and not callable(progress):
        raise Error(f"progress must be a function, not {shown(progress)}")


class Told:
    """As a context manager, returns a C function that reports progress to `progress` (None: to nothing).

    The call ends early if that returns False, if it raises (the block then raises the same), or at Ctrl-C (KeyboardInterrupt).
    """

    def __init__(self, progress: Optional[Progress]) -> None:
        self._progress = progress
        self._interrupts = Interrupts()
        self._raised: List[BaseException] = []
        self._function = _abi.ProgressFunction(self._tell)  # must live as long as it may be called

    def _tell(self, _user: Optional[int], told: "_Pointer[_abi.Progress]") -> int:
        try:
            share, best = told.contents.share, told.contents.best
            return (self._progress is not None and self._progress(share, best) is False) or self._interrupts.error is not None
        except BaseException as error:  # raised again after the C call
            self._raised.append(error)
            return 1

    def __enter__(self) -> Any:
        self._interrupts.__enter__()
        return self._function

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self._interrupts.__exit__(kind, error, trace)
        if self._raised and isinstance(error, Error):
            raise self._raised[0] from None


class Listener(Told):
    """The same, but returns a copy of a config that reports progress."""

    def __init__(self, config: Config, progress: Optional[Progress]) -> None:
        super().__init__(progress)
        self._config = copy.copy(config)

    def __enter__(self) -> Config:
        call(lib.ppsched_config_set_progress, self._config._handle, self._function, None)
        super().__enter__()
        return self._config
