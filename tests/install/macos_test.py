#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The library for macOS, as packaging/macos.sh builds it, is what the loader there takes: Mach-O for a machine, with its install name,
which exports what lib/api/ppsched.map names and nothing else, and needs the system's library alone. Nothing of it runs here.

usage: macos_test.py arm64|x86_64 [OPTION...]      OPTION: of unittest
"""
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "packaging" / "macos.sh"
DYLIB, ID_DYLIB, LOAD_DYLIB, DYLD_INFO, DYLD_INFO_ONLY, EXPORTS_TRIE, BUILD_VERSION = 6, 0xd, 0xc, 0x22, 0x80000022, 0x80000033, 0x32
MACHINES = {"arm64": 0x0100000c, "x86_64": 0x01000007}
MACOS = 1


def number(data, at):
    """A ULEB128, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 128:
            return value, at


def exported(trie, at=0, name=b""):
    """The names in the tree of exports, from the node at an offset on."""
    size, at = number(trie, at)
    if size:
        yield name.decode()
    at += size
    children, at = trie[at], at + 1
    for _ in range(children):
        end = trie.index(b"\0", at)
        node, after = number(trie, end + 1)
        yield from exported(trie, node, name + trie[at:end])
        at = after


class MachO:
    def __init__(self, data):
        magic, self.machine, _, self.kind, count = struct.unpack_from("<5I", data)
        if magic != 0xfeedfacf:
            raise AssertionError(f"no Mach-O of 64 bits: {magic:#x}")
        self.name, self.needs, self.exports, self.platform, at = None, [], None, None, 32
        for _ in range(count):
            command, size = struct.unpack_from("<2I", data, at)
            if command in (ID_DYLIB, LOAD_DYLIB):
                text = data[at + struct.unpack_from("<I", data, at + 8)[0]:at + size].split(b"\0")[0].decode()
                self.name, self.needs = (text, self.needs) if command == ID_DYLIB else (self.name, [*self.needs, text])
            elif command in (DYLD_INFO, DYLD_INFO_ONLY, EXPORTS_TRIE):
                start, length = struct.unpack_from("<2I", data, at + (8 if command == EXPORTS_TRIE else 40))
                self.exports = sorted(exported(data[start:start + length]))
            elif command == BUILD_VERSION:
                self.platform = struct.unpack_from("<I", data, at + 8)[0]
            at += size


class MacTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.python = cls.folder / "zig" / "bin" / "python"
        needs = subprocess.run([SCRIPT, "--needs"], capture_output=True, text=True, check=True).stdout.split()
        for words in ([sys.executable, "-m", "venv", cls.folder / "zig"], [cls.python, "-m", "pip", "install", "--quiet", *needs]):
            made = subprocess.run(words, capture_output=True, text=True, check=False)
            if made.returncode:
                raise unittest.SkipTest(f"{' '.join(needs)} cannot be installed: {(made.stderr or made.stdout).strip().splitlines()[-1:]}")

    def test_dylib(self):
        named = re.findall(r"^    (ppsched_[a-z0-9_]+);$", (ROOT / "lib" / "api" / "ppsched.map").read_text(encoding="utf-8"), flags=re.M)
        self.assertGreater(len(named), 200)
        build = self.folder / ARCH
        for words in ([SCRIPT, self.python, ARCH, build, "-Ddefault_library=shared", "-Doptimization=0", "-Dwerror=true"], ["ninja", "-C", build]):
            made = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertEqual(made.returncode, 0, made.stdout[-3000:] + made.stderr[-1000:])
        found = MachO((build / "lib" / "libppsched.1.dylib").read_bytes())
        self.assertEqual((found.machine, found.kind, found.platform), (MACHINES[ARCH], DYLIB, MACOS))
        self.assertEqual(found.name, "@rpath/libppsched.1.dylib")
        self.assertEqual(found.needs, ["/usr/lib/libSystem.B.dylib"])
        self.assertEqual(found.exports, sorted("_" + name for name in named))


if __name__ == "__main__":
    ARCH = sys.argv.pop(1)
    unittest.main(verbosity=2)
