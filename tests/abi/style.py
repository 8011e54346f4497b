#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All C and C++ is as clang-format 14 writes it with .clang-format; others write it a little differently."""
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FOLDERS = ("include", "lib", "bindings/cpp", "tests", "docs/examples")
SKIPPED = 77


def clang_format():
    """The command of release 14, or None."""
    for name in ("clang-format-14", "clang-format"):
        if shutil.which(name):
            said = subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
            if re.search(r"\bversion 14\.", said):
                return name
    return None


def sources():
    return sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*")
                  if path.suffix in (".c", ".h", ".cpp", ".hpp") and not path.is_symlink())


def check(*paths):
    return subprocess.run([clang_format(), "--dry-run", "-Werror", *map(str, paths)], capture_output=True, text=True, check=False)


class StyleTest(unittest.TestCase):
    def test_all_sources_are_formatted(self):
        self.assertGreater(len(sources()), 200)
        run = check(*sources())
        self.assertEqual((run.returncode, run.stderr), (0, ""))

    def test_public_headers_are_narrower(self):
        """Their own .clang-format goes with the one of the tree, not in its place."""
        header = next(path for path in sources() if path.name == "environment.h")
        wide = header.read_text(encoding="utf-8").replace("(void *user, int32_t level, const char *message);",
                                                          "(void *user, int32_t level, const char *message, int32_t another);")
        run = subprocess.run([clang_format(), f"--assume-filename={header}"], input=wide, capture_output=True, text=True, check=True)
        self.assertLessEqual(max(map(len, run.stdout.splitlines())), 100)
        self.assertIn("\n    uint32_t size;\n", run.stdout)


if __name__ == "__main__":
    if clang_format() is None:
        print("clang-format 14 is not installed (Debian, Ubuntu: clang-format-14)")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
