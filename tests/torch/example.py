# SPDX-License-Identifier: Apache-2.0
"""Runs the documentation's example on some ranks, as torchrun would (which Debian's PyTorch has no store for), and prints as
JSON what it prints.

usage: example.py FILE RANKS
"""
import json
import os
import pathlib
import socket
import subprocess
import sys


def main():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program, ranks = pathlib.Path(__file__).with_name(sys.argv[1]), int(sys.argv[2])
    running = [subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE, text=True,
                                env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks), "MASTER_PORT": str(port)})
               for rank in range(ranks)]
    texts = [process.communicate(timeout=300)[0] for process in running]
    if any(process.returncode for process in running):
        sys.exit("a rank failed")
    print(json.dumps("".join(texts)))


if __name__ == "__main__":
    main()
