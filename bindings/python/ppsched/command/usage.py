# SPDX-License-Identifier: Apache-2.0
"""Wrong usage of the command line, which has its own exit code."""
import argparse
from typing import NoReturn

from .._core._library import Error
from .._core.shown import printable

_MOST = 600  # characters of a message


class UsageError(Error):
    """The command line is wrong."""


class Parser(argparse.ArgumentParser):
    """A parser that prints errors in one line; --help shows the usage."""

    def error(self, message: str) -> NoReturn:
        text = " ".join(message.split())
        text = text if len(text) <= _MOST else text[:_MOST] + "..."
        self.exit(2, f"{self.prog}: {printable(text)}\n".encode("utf-8", "backslashreplace").decode("utf-8"))
