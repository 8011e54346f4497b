# SPDX-License-Identifier: Apache-2.0
"""Wrong usage of the command line, which has an exit code of its own."""
import argparse
from typing import NoReturn

from ._library import Error


class UsageError(Error):
    """The words of the command line are off."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line; --help has the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {' '.join(message.split())}\n")
