#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the house: who may include whom, where exported functions are defined, how long files and functions are."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIB = ROOT / "lib"

# Each layer may include itself, those in its list, and the public headers.
LAYERS = {
    "base": [],
    "model": ["base"],
    "check": ["model", "base"],
    "eval": ["model", "base"],
    "search": ["eval", "model", "base"],
    "strategy": ["search", "eval", "model", "base"],
    "lower": ["eval", "model", "base"],
    "plan": ["lower", "strategy", "search", "eval", "model", "base"],
    "format": ["eval", "model", "base"],
    "launch": ["format", "lower", "strategy", "model", "base"],
    "api": ["launch", "format", "plan", "lower", "strategy", "search", "eval", "check", "model", "base"],
}
TOP_LEVEL = {"meson.build", "meson_options.txt", "README.md", "LICENSE", "include", "lib", "tests", "bindings", "docs"}
# What C++ calls as it is (static texts and numbers), or has no use for.
NOT_WRAPPED = {"ppsched_abi_version", "ppsched_kind_text", "ppsched_kind_token",
               "ppsched_quantity_name", "ppsched_queue_device", "ppsched_runtime_name", "ppsched_schedule_export_to_buffer",
               "ppsched_status_name", "ppsched_version", "ppsched_version_text"}
LONGEST_FILE, LONGEST_FUNCTION, MEDIAN_FUNCTION = 500, 60, 15
COLUMNS, PUBLIC_COLUMNS = 128, 100


def sources():
    return sorted(LIB.rglob("*.[ch]"))


def outside_lib():
    """Sources and headers of the interface, the tests and the examples."""
    patterns = ("include/ppsched/*.h", "bindings/cpp/*.hpp", "tests/**/*.[ch]", "tests/**/*.cpp", "docs/examples/*.cpp")
    return [path for pattern in patterns for path in ROOT.glob(pattern)]


def function_lengths(text):
    """Lines of each function: from a '{' in the first column to the '}' in the first column."""
    lengths, start = [], None
    for number, line in enumerate(text.splitlines()):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            lengths.append(number - start - 1)
            start = None
    return lengths


class HouseTest(unittest.TestCase):
    def test_layers(self):
        self.assertEqual({path.name for path in LIB.iterdir() if path.is_dir()}, set(LAYERS))
        for path in sources():
            layer = path.relative_to(LIB).parts[0]
            for include in re.findall(r'#include "(\w+)/', path.read_text(encoding="utf-8")):
                self.assertIn(include, [layer, *LAYERS[layer]], path)

    def test_exported_functions_are_defined_in_api_and_nowhere_else(self):
        for path in sources():
            defined = re.findall(r"^[\w *]*?\b(ppsched_\w+)\([^;]*?\)\n\{", path.read_text(encoding="utf-8"), flags=re.M)
            if path.parent.name != "api":
                self.assertEqual(defined, [], path)

    def test_library_headers(self):
        banned = re.compile(r"#include <(stdio|locale|assert|signal|unistd|errno)\.h>")
        for path in sources():
            self.assertIsNone(banned.search(path.read_text(encoding="utf-8")), path)

    def test_files_and_functions_are_short(self):
        lengths = []
        for path in [*sources(), *ROOT.glob("include/ppsched/*.h")]:
            text = path.read_text(encoding="utf-8")
            self.assertLessEqual(len(text.splitlines()), LONGEST_FILE, path)
            lengths += function_lengths(text)
        lengths.sort()
        self.assertLessEqual(lengths[-1], LONGEST_FUNCTION)
        self.assertLessEqual(lengths[len(lengths) // 2], MEDIAN_FUNCTION)

    def test_lines_are_short(self):
        for path in [*sources(), *outside_lib()]:
            most = PUBLIC_COLUMNS if path.parent == ROOT / "include" / "ppsched" and path.suffix == ".h" else COLUMNS
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                self.assertLessEqual(len(line), most, f"{path}:{number}")

    def test_every_source_names_its_license(self):
        page = (ROOT / "bindings" / "python" / "ppsched" / "report_page").iterdir()
        for path in [*sources(), *outside_lib(), *ROOT.glob("**/*.py"), *page]:
            if "build" not in path.relative_to(ROOT).parts[0] and "build" not in path.parts:
                self.assertIn("SPDX-License-Identifier: Apache-2.0", path.read_text(encoding="utf-8")[:400], path)

    def test_top_level(self):
        present = {path.name for path in ROOT.iterdir() if not path.name.startswith((".", "build"))}
        self.assertEqual(present - TOP_LEVEL, set())

    def test_every_strategy_is_documented(self):
        pages = (ROOT / "docs" / "strategies.md").read_text(encoding="utf-8")
        names = [name for path in (LIB / "strategy").glob("*.c")
                 for name in re.findall(r'^    \.name = "(\w+)",$', path.read_text(encoding="utf-8"), flags=re.M)]
        self.assertGreater(len(names), 10)
        for name in names:
            self.assertIn(f"\n## {name}\n\n![{name}](pictures/{name}.png)\n", pages)
            self.assertIn(f"\n| [{name}](#{name}) |", pages)
            self.assertTrue((ROOT / "docs" / "pictures" / f"{name}.png").exists(), name)

    def test_links_in_the_documentation_lead_somewhere(self):
        for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
            text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
            for link in re.findall(r"\]\(([^)#:]+)\)", text):
                self.assertTrue((page.parent / link).exists(), f"{page}: {link}")

    def test_cpp_header_has_every_function(self):
        header = (ROOT / "bindings" / "cpp" / "ppsched.hpp").read_text(encoding="utf-8")
        exported = re.findall(r"^ {4}(\w+);", (LIB / "api" / "ppsched.map").read_text(encoding="utf-8"), flags=re.M)
        self.assertEqual(set(exported) - set(re.findall(r"\bppsched_\w+", header)), NOT_WRAPPED)

    def test_code_of_the_cpp_page_is_in_programs_that_run(self):
        programs = [ROOT / "docs" / "examples" / "first.cpp", ROOT / "tests" / "cpp" / "binding_test.cpp"]
        blocks = re.findall(r"```cpp\n(.*?)```", (ROOT / "docs" / "cpp.md").read_text(encoding="utf-8"), flags=re.S)
        self.assertTrue(blocks)
        for block in blocks:
            self.assertTrue(any(block in path.read_text(encoding="utf-8") for path in programs), block)

    def test_all_sources_are_built(self):
        listed = set(re.findall(r"'(\w+/\w+\.c)'", (LIB / "meson.build").read_text(encoding="utf-8")))
        self.assertEqual(listed, {str(path.relative_to(LIB)) for path in LIB.rglob("*.c")})


if __name__ == "__main__":
    unittest.main(verbosity=2)
