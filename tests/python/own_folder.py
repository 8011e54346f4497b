# SPDX-License-Identifier: Apache-2.0
"""A folder of its own for a test."""
import os
import tempfile


def enter(case):
    """The current folder is an empty one until the test ends, and is then removed."""
    folder, before = tempfile.TemporaryDirectory(), os.getcwd()
    os.chdir(folder.name)
    case.addCleanup(folder.cleanup)
    case.addCleanup(os.chdir, before)
