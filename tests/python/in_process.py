# SPDX-License-Identifier: Apache-2.0
"""The ppsched command in this process: as a process of its own would answer, without the time that one takes to start. Signals,
terminals and standard input are tried with real ones, in test_start, test_cli and test_hostile."""
import contextlib
import io
import os
import subprocess
import sys
from unittest import mock

from ppsched.command import cli, notices


def run_command(words, cwd=None, speaks=False):
    """A subprocess.CompletedProcess with texts. What the command would not catch comes out. speaks: with the notes of what defaults
    assume, as without --quiet."""
    words = [str(word) for word in words]
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2)]
    before = os.getcwd()
    try:
        if cwd is not None:
            os.chdir(cwd)
        with contextlib.redirect_stdout(streams[0]), contextlib.redirect_stderr(streams[1]), \
                mock.patch.object(sys, "argv", ["ppsched", *words]), mock.patch.object(notices, "SPEAKS", speaks):
            code = cli.main()
    finally:
        os.chdir(before)
    out, err = (stream.buffer.getvalue().decode("utf-8") for stream in streams)
    return subprocess.CompletedProcess(words, code, out, err)
