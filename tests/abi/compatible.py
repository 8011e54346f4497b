#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The ABI against its baseline, tests/abi/1: functions, types and enumerators are all still there and the same. What headers
mark as unstable (UNSTABLE) is left out.
What was added may have been: functions, enumerators, members at the end of a sized struct.

usage: compatible.py LIBRARY [--update]     --update: writes the files of a release; see docs/abi.md
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADERS = ROOT / "include" / "ppsched"
RELEASE = ROOT / "tests" / "abi" / "1"
BASELINE, OLD_HEADER = RELEASE / "ppsched.abi", RELEASE / "ppsched.h"
# Headers that begin with a note that they may still change.
UNSTABLE = ("calibrator.h", "description.h", "job.h", "layer_table.h", "model.h", "price.h")
LIBRARY = sys.argv[1]
SKIPPED = 77
CHANGED = 4 | 8  # abidiff's exit status: a change, an incompatible change


def run(*words):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True)


# --- what a release leaves behind ---

def describe(library):
    """The types and functions that the library exports, by its debug information."""
    made = run("abidw", "--exported-interfaces-only", "--drop-private-types", "--headers-dir", HEADERS, "--no-corpus-path",
               "--no-comp-dir-path", "--no-elf-needed", library)
    made.check_returncode()
    return re.sub(r" filepath='[^']*'| (line|column)='\d+'", "", made.stdout)


def headers_in_order():
    """The public headers, each behind those that it includes."""
    order = []

    def visit(name):
        if name in order:
            return
        for included in re.findall(r"^#include <ppsched/(\w+\.h)>", (HEADERS / name).read_text(encoding="utf-8"), re.MULTILINE):
            visit(included)
        order.append(name)

    visit("ppsched.h")
    return order


def one_header():
    """All public headers in one, without comments."""
    text = "/* SPDX-License-Identifier: Apache-2.0 */\n/* The public headers of the release, in one: by tests/abi/compatible.py. */\n"
    for name in headers_in_order():
        source = re.sub(r"/\*.*?\*/", "", (HEADERS / name).read_text(encoding="utf-8"), flags=re.S)
        source = re.sub(r"^#include <ppsched/.*\n", "", source, flags=re.M)
        text += re.sub(r"[ \t]+$", "", source, flags=re.M)
    return re.sub(r"\n{2,}", "\n", text)


def enumerators(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return dict(re.findall(r"^\s+(PPSCHED_\w+) = (-?\w+)", text, flags=re.M))


def members(text):
    """Of each struct, in order."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return {name: [" ".join(member.split()) for member in body.split(";")[:-1]]
            for name, body in re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, flags=re.S)}


def unstable():
    """Functions, types and enumerators of the headers that may still change."""
    text = "".join((HEADERS / name).read_text(encoding="utf-8") for name in UNSTABLE)
    return set(re.findall(r"\bppsched_\w+(?=\()|(?<=struct )ppsched_\w+(?= [{p])|PPSCHED_\w+(?= = )", re.sub(r"/\*.*?\*/", "", text, flags=re.S)))


# --- comparing ---

def allowed_changes():
    """For abidiff: what is behind opaque handles may change, and sized structs may grow at their end."""
    text = one_header()
    hidden = ["^ppi_.*"] + [f"^{name}$" for name in re.findall(r"typedef struct (\w+) \1;", text)]
    sized = re.findall(r"typedef struct (\w+) \{\s*uint32_t size;", text)
    return "".join([f"[suppress_function]\nname = {name}\n" for name in sorted(unstable())] +
                   [f"[suppress_type]\nname = {name}\n" for name in sorted(unstable())] +
                   [f"[suppress_type]\nname_regexp = {name}\n" for name in hidden] +
                   [f"[suppress_type]\nname = {name}\nhas_data_member_inserted_at = end\n" for name in sized])


def has_debug_info(library):
    return ".debug_info" in run("readelf", "-SW", library).stdout


def compare(baseline, library):
    """What abidiff finds; empty where the library still serves who was built against the baseline."""
    if not has_debug_info(library):
        return f"{library} has no debug information: nothing can be compared"
    with tempfile.TemporaryDirectory() as folder:
        allowed, today = pathlib.Path(folder, "allowed"), pathlib.Path(folder, "today.abi")
        today.write_text(describe(library), encoding="utf-8")
        allowed.write_text(allowed_changes(), encoding="utf-8")
        found = run("abidiff", "--no-added-syms", "--suppressions", allowed, baseline, today)
    if found.returncode & ~CHANGED != 0:
        raise RuntimeError(f"abidiff: {found.stderr}")
    return found.stdout if found.returncode != 0 else ""


def replaced(pattern, replacement):
    """The baseline with one change."""
    text, count = re.subn(pattern, replacement, BASELINE.read_text(encoding="utf-8"), count=1, flags=re.S)
    assert count == 1, pattern
    return text


# Baselines from which the library differs. What a program relied on is gone, or no longer the same.
PLANTED = {
    "a function was taken away": (r"(<elf-symbol name=')ppsched_version(' [^>]*>)",
                                  r"\1ppsched_former\2\n    \1ppsched_version\2"),
    "a parameter has another type": (r"(<function-decl name='ppsched_config_set_iterations'.*?type-id=')[^']*('[^>]*/>\s*<parameter "
                                     r"type-id=')([^']*)('[^>]*/>\s*<parameter type-id=')[^']*", r"\g<1>\3\g<2>\3\g<4>\3"),
    "a member moved": (r"(<class-decl name='ppsched_op' .*?layout-offset-in-bits=')32('[^>]*>\s*<var-decl name='stage')",
                       r"\g<1>48\2"),
    "a plain struct grew": (r"(<class-decl name='ppsched_span' size-in-bits=')128", r"\g<1>64"),
}


class CompatibleTest(unittest.TestCase):
    maxDiff = None

    def expect_seen(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".abi") as planted:
            planted.write(text)
            planted.flush()
            self.assertNotEqual(compare(planted.name, LIBRARY), "")

    def test_nothing_is_gone_or_changed(self):
        self.assertEqual(compare(BASELINE, LIBRARY), "")

    def test_planted_changes_are_seen(self):
        for what, change in PLANTED.items():
            with self.subTest(what):
                self.expect_seen(replaced(*change))

    def test_a_sized_struct_may_grow(self):
        older = replaced(r"(<class-decl name='ppsched_channel_model' size-in-bits=')160(.*?)\s*<data-member [^>]*"
                         r"layout-offset-in-bits='128'>.*?</data-member>", r"\g<1>128\2")
        with tempfile.NamedTemporaryFile("w", suffix=".abi") as baseline:
            baseline.write(older)
            baseline.flush()
            self.assertEqual(compare(baseline.name, LIBRARY), "")

    def test_what_is_unstable_is_said_to_be(self):
        for name in UNSTABLE:
            self.assertIn("UNSTABLE", (HEADERS / name).read_text(encoding="utf-8")[:1200], name)
        self.assertLess({"ppsched_model_create", "ppsched_transformer", "PPSCHED_TRANSFORMER_FLAG_TIED"}, unstable())
        self.expect_seen(replaced(r"(<elf-symbol name=')ppsched_version(' [^>]*>)", r"\1ppsched_former\2\n    \1ppsched_version\2"))

    def test_what_is_unstable_may_change(self):
        older = replaced(r"(<class-decl name='ppsched_parameters' size-in-bits=')(\d+)", r"\g<1>64")
        with tempfile.NamedTemporaryFile("w", suffix=".abi") as baseline:
            baseline.write(older)
            baseline.flush()
            self.assertEqual(compare(baseline.name, LIBRARY), "")

    def test_a_stripped_library_is_not_passed(self):
        with tempfile.TemporaryDirectory() as folder:
            run("strip", "-o", f"{folder}/stripped.so", LIBRARY).check_returncode()
            self.assertIn("no debug information", compare(BASELINE, f"{folder}/stripped.so"))

    def test_enumerators_keep_their_values(self):
        old = enumerators(OLD_HEADER.read_text(encoding="utf-8"))
        now = enumerators(one_header())
        self.assertGreater(len(old), 80)
        for name in unstable():
            old.pop(name, None)
        self.assertEqual({name: now.get(name) for name in old}, old)

    def test_structs_keep_their_members(self):
        old, now = members(OLD_HEADER.read_text(encoding="utf-8")), members(one_header())
        self.assertGreater(len(old), 20)
        for name, expected in old.items():
            if name in unstable():
                continue
            self.assertEqual(now[name][:len(expected)] if expected[0] == "uint32_t size" else now[name], expected, name)


if __name__ == "__main__":
    if shutil.which("abidiff") is None or shutil.which("abidw") is None:
        print("abidiff is not installed (Debian: abigail-tools)")
        sys.exit(SKIPPED)
    if "--update" in sys.argv:
        BASELINE.write_text(describe(LIBRARY), encoding="utf-8")
        OLD_HEADER.write_text(one_header(), encoding="utf-8")
        sys.exit(0)
    unittest.main(argv=sys.argv[:1], verbosity=2)
