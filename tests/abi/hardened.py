#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The built library is hardened: the linker's tables are read-only once it is loaded (full RELRO), its stack cannot be run, buffers
on the stack are guarded, and libc's calls know the sizes of buffers where the build can tell them.

usage: hardened.py LIBRARY FORTIFIED      FORTIFIED: "true" where it was built with optimization, without sanitizers, for glibc
"""
import re
import subprocess
import sys
import unittest

LIBRARY, FORTIFIED = sys.argv[1], sys.argv[2] == "true"


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


class HardenedTest(unittest.TestCase):
    def test_full_relro(self):
        self.assertIn("GNU_RELRO", output("readelf", "-lW", LIBRARY))
        self.assertRegex(output("readelf", "-dW", LIBRARY), r"BIND_NOW|Flags:.*\bNOW\b")

    def test_stack_cannot_be_run(self):
        flags = re.search(r"GNU_STACK.*?\b([RWE ]{2,3})\s+0x", output("readelf", "-lW", LIBRARY))
        self.assertIsNotNone(flags)
        self.assertNotIn("E", flags[1])

    def test_no_text_relocations(self):
        self.assertNotIn("TEXTREL", output("readelf", "-dW", LIBRARY))

    def test_buffers_are_guarded(self):
        used = {line.split()[-1].split("@")[0] for line in output("nm", "-D", "--undefined-only", LIBRARY).splitlines()}
        self.assertIn("__stack_chk_fail", used)
        if FORTIFIED:
            self.assertTrue(any(re.match(r"__(mem|str)\w+_chk$", name) for name in used), used)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
