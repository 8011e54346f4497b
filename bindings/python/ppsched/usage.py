# SPDX-License-Identifier: Apache-2.0
"""Wrong usage of the command line, which has an exit code of its own."""
from ._library import Error


class UsageError(Error):
    """The words of the command line are off."""
