#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The exported surface: library = version script = headers, both ways; and nothing needed but libc.

usage: surface.py LIBRARY MAP HEADER...
"""
import pathlib
import re
import subprocess
import sys
import unittest

LIBRARY, MAP, HEADERS = sys.argv[1], sys.argv[2], sys.argv[3:]
# What a sanitizer or the dynamic linker brings along is not ours.
ALLOWED = re.compile(r"libc\.so|libc\.musl|ld-linux|ld-musl|libasan|libubsan|libtsan|libgcc_s|libclang_rt|libm\.so|libdl\.so|"
                     r"libpthread\.so|librt\.so|libresolv\.so|libstdc\+\+")
SANITIZED = re.compile(r"libasan|libubsan|libtsan|libclang_rt")


def output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def exported():
    names = {line.split()[-1].split("@")[0] for line in output("nm", "-D", "--defined-only", LIBRARY).splitlines()}
    return {name for name in names if not name.startswith("PPSCHED_")}  # version nodes


def mapped():
    text = re.sub(r"/\*.*?\*/", "", pathlib.Path(MAP).read_text(encoding="utf-8"), flags=re.S)
    return set(re.findall(r"^\s+(\w+);", text, flags=re.M))


def declared():
    text = "".join(pathlib.Path(header).read_text(encoding="utf-8") for header in HEADERS)
    return set(re.findall(r"PPSCHED_API [^;]*?(\bppsched_\w+)\(", text))


class SurfaceTest(unittest.TestCase):
    def test_library_equals_map(self):
        self.assertEqual(exported(), mapped())

    def test_map_equals_headers(self):
        self.assertEqual(mapped(), declared())

    def test_only_our_prefix(self):
        self.assertEqual({name for name in exported() if not name.startswith("ppsched_")}, set())

    def test_needs_libc_only(self):
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", LIBRARY))
        strange = [name for name in needed if not ALLOWED.search(name)]
        self.assertEqual(strange, [])
        if not any(SANITIZED.search(name) for name in needed):
            self.assertEqual([name for name in needed if not re.search(r"libc\.|ld-", name)], [])

    def test_uses_no_stdio_getenv_or_abort(self):
        used = {line.split()[-1].split("@")[0] for line in output("nm", "-D", "--undefined-only", LIBRARY).splitlines()}
        if not any(name.startswith(("__asan", "__ubsan", "__tsan")) for name in used):
            banned = {name for name in used if re.match(r"(.*printf|.*scanf|f(open|write|puts|close)|puts|getenv|abort|exit|"
                                                        r"__assert_fail|setlocale|strtod)$", name)}
            self.assertEqual(banned, set())

    def test_soname(self):
        soname = re.search(r"\(SONAME\).*\[(.*)\]", output("readelf", "-d", LIBRARY))[1]
        text = "".join(pathlib.Path(header).read_text(encoding="utf-8") for header in HEADERS)
        self.assertEqual(soname, "libppsched.so." + re.search(r"#define PPSCHED_ABI_VERSION (\d+)", text)[1])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
