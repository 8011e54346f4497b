#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The generated modules of Python and JavaScript are what the headers say, and Python's struct layouts are the C compiler's.

usage: layout.py COMPILER...
"""
import ctypes
import enum
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPILER = sys.argv[1:]
sys.path.insert(0, str(ROOT / "bindings" / "python" / "ppsched" / "_core"))
import _abi  # noqa: E402  the module alone: it needs no library

STRUCTS = {name: value for name, value in vars(_abi).items()
           if isinstance(value, type) and issubclass(value, ctypes.Structure) and value is not ctypes.Structure}


def c_name(name):
    """OptionInfo to ppsched_option_info."""
    return "ppsched" + "".join("_" + c.lower() if c.isupper() else c for c in name)


def program():
    lines = ["#include <ppsched/ppsched.h>", "#include <stddef.h>", "#include <stdio.h>", "int main(void)", "{"]
    for name, struct in sorted(STRUCTS.items()):
        lines.append(f'    printf("{name} %zu\\n", sizeof({c_name(name)}));')
        lines += [f'    printf("{name}.{field[0]} %zu\\n", offsetof({c_name(name)}, {field[0]}));' for field in struct._fields_]
    return "\n".join(lines + ["    return 0;", "}", ""])


def layout_by_compiler():
    with tempfile.TemporaryDirectory() as folder:
        source, target = pathlib.Path(folder, "layout.c"), pathlib.Path(folder, "layout")
        source.write_text(program(), encoding="utf-8")
        subprocess.run([*COMPILER, f"-I{ROOT}/include", str(source), "-o", str(target)], check=True)
        return subprocess.run([str(target)], capture_output=True, text=True, check=True).stdout.splitlines()


def layout_by_ctypes():
    rows = []
    for name, struct in sorted(STRUCTS.items()):
        rows.append(f"{name} {ctypes.sizeof(struct)}")
        rows += [f"{name}.{field[0]} {getattr(struct, field[0]).offset}" for field in struct._fields_]
    return rows


# Layouts that are promised; a change here breaks every caller.
FROZEN = {"ChakraTrace": 2 * ctypes.sizeof(ctypes.c_void_p), "Op": 12, "Span": 16, "MemoryPoint": 16, "Error": 512, "Finding": 44, "Wait": 20, "Link": 16, "Recompute": 24,
          "OpBuffer": 8, "IdleWindow": 32, "MemoryItem": 32, "Connection": 20, "Lifetime": 24, "Arena": 20, "LayoutStage": 16, "CriticalOp": 40, "Sensitivity": 16, "Efficiency": 16, "LinkRate": 40, "Window": 16, "WindowSpan": 24,
          "JobList": 16, "JobType": 24, "MeasuredLayer": 80, "MeasuredCollective": 32, "FigureMeasure": 16, "LayerMove": 24}


class LayoutTest(unittest.TestCase):
    def test_generated_modules_are_fresh(self):
        for binding in ("python", "wasm"):
            run = subprocess.run([sys.executable, str(ROOT / "bindings" / binding / "generate_abi.py"), "--check"],
                                 capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stdout), (0, ""), binding)

    def test_layouts(self):
        self.assertEqual(layout_by_ctypes(), layout_by_compiler())

    def test_plain_records_are_frozen_and_have_no_padding(self):
        for name, size in FROZEN.items():
            fields = sum(ctypes.sizeof(field[1]) for field in STRUCTS[name]._fields_)
            self.assertEqual((ctypes.sizeof(STRUCTS[name]), fields), (size, size), name)

    def test_sized_structs_begin_with_their_size(self):
        for name, struct in STRUCTS.items():
            if name not in FROZEN:
                self.assertEqual(struct._fields_[0], ("size", ctypes.c_uint32), name)

    def test_sized_structs_have_no_padding(self):
        """What lies between fields, or behind the last one of an older release, is never read as a field."""
        for name, struct in STRUCTS.items():
            self.assertEqual(sum(ctypes.sizeof(field[1]) for field in struct._fields_), ctypes.sizeof(struct), name)

    def test_enums_have_values(self):
        enums = [value for value in vars(_abi).values() if isinstance(value, type) and issubclass(value, enum.IntEnum)]
        self.assertTrue(all(len(members) > 0 for members in enums if members is not enum.IntEnum))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
