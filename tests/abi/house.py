#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rules of the code: which module may include and call which, where exported functions are defined, how long files and
functions are."""
import ast
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIB = ROOT / "lib"
sys.path.insert(0, str(ROOT / "tests" / "bench"))
import search_constants


def read_modules():
    """[name, modules that it may include and call, its files] of each, lowest first, as the build reads them. All may include the
    public headers too."""
    text = (LIB / "meson.build").read_text(encoding="utf-8")
    return ast.literal_eval(re.search(r"^modules = (\[.*?^  \])$", text, flags=re.M | re.S)[1])


MODULES = read_modules()
ALLOWED = {name: allowed for name, allowed, _ in MODULES}
TOP_LEVEL = {"meson.build", "meson_options.txt", "README.md", "LICENSE", "include", "lib", "tests", "bindings", "docs", "findings", "packaging"}
# What C++ calls as it is (static texts and numbers), or has no use for.
NOT_WRAPPED = re.compile(r"ppsched_(\w+_name|kind_(text|token)|status_text|version(_text)?|abi_version|schedule_export_to_buffer)")
WRAPPED_NAMES = {"ppsched_builder_set_name", "ppsched_schedule_name"}
# Names in the documentation that no header declares: variables of the environment.
NOT_DECLARED = {"PPSCHED_FRAMEWORKS", "PPSCHED_LIBRARY", "PPSCHED_TORCH_PYTHON", "PPSCHED_WASM"}
LONGEST_FILE, LONGEST_FUNCTION, MEDIAN_FUNCTION = 500, 60, 15
COLUMNS, PUBLIC_COLUMNS = 128, 100
LONGEST_CPP_HEADER = 300


def sources():
    return sorted(LIB.rglob("*.[ch]"))


def code_of(text):
    """Without comments and texts."""
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', " ", text, flags=re.S)


def includes_that_go_up(files):
    """Of {"module/file": text}: what includes a layer that it may not."""
    return [f"{name} includes {layer}" for name, text in files.items()
            for layer in re.findall(r'^#include "(\w+)/', text, flags=re.M)
            if layer not in (own := name.split("/")[0], *ALLOWED[own])]


def uses_that_go_up(files, exported):
    """Of {"module/file": text}: what uses a function or table of a layer that it may not, or an exported function outside api."""
    codes = {name: code_of(text) for name, text in files.items()}
    layer_of = {}
    for name, code in codes.items():
        for found in re.findall(r"^[\w *]*?\b(ppi_\w+)(?:\([^;{}]*\)\n\{|(?:\[\w*\])? = )", code, flags=re.M):
            layer_of[found] = name.split("/")[0]
    for name, code in codes.items():
        own = name.split("/")[0]
        for used in sorted(set(re.findall(r"\bpp(?:i|sched)_\w+", code))):
            if layer_of.get(used, own) not in (own, *ALLOWED[own]) or (used in exported and own != "api"):
                yield f"{name} uses {used}"


def lib_files():
    return {str(path.relative_to(LIB)): path.read_text(encoding="utf-8") for path in sources()}


def exported_functions():
    return set(re.findall(r"^ {4}(\w+);", (LIB / "api" / "ppsched.map").read_text(encoding="utf-8"), flags=re.M))


def cpp_headers():
    return sorted((ROOT / "bindings" / "cpp" / "ppsched").iterdir())


def outside_lib():
    """Sources and headers of the interface, the tests and the examples."""
    patterns = ("include/ppsched/*.h", "bindings/cpp/ppsched/*.hpp", "tests/**/*.[ch]", "tests/**/*.[ch]pp", "docs/examples/*.cpp")
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
    def test_modules(self):
        self.assertEqual({path.name for path in LIB.iterdir() if path.is_dir()}, set(ALLOWED))
        for number, (name, allowed, _) in enumerate(MODULES):
            self.assertLessEqual(set(allowed), {lower for lower, _, _ in MODULES[:number]}, f"{name} may include what is above it")
        self.assertEqual(includes_that_go_up(lib_files()), [])
        self.assertEqual(list(uses_that_go_up(lib_files(), exported_functions())), [])

    def test_what_breaks_the_modules_is_seen(self):
        planted = {
            "ir/shape.c": ('#include "check/check.h"\n', None),
            "base/heap.c": ("void plant(void)\n{\n    ppi_op_token(0, 0);\n}\n", "ppi_op_token"),
            "ir/op.h": ("static inline void plant(void)\n{\n    ppi_put_1f1b(0, 0, 0, false, 0);\n}\n", "ppi_put_1f1b"),
            "format/csv.c": ("const void *plant = &ppi_gpipe;\n", "ppi_gpipe"),
            "lower/by_time.c": ("void plant(void)\n{\n    ppsched_schedule_retain(0);\n}\n", "ppsched_schedule_retain"),
        }
        files = lib_files()
        for name, (text, _) in planted.items():
            files[name] += text
        files["base/error.c"] += '/* ppi_gpipe */ const char *harmless = "ppi_gpipe ppsched_check";\n'
        self.assertEqual(includes_that_go_up(files), ["ir/shape.c includes check"])
        self.assertEqual(list(uses_that_go_up(files, exported_functions())),
                         [f"{name} uses {used}" for name, (_, used) in sorted(planted.items()) if used is not None])

    def test_every_struct_has_one_definition(self):
        """Debuggers and link-time optimization see a tag once, and files that include both compile."""
        tags = [tag for text in lib_files().values() for tag in re.findall(r"^struct (ppi_\w+) \{", text, flags=re.M)]
        self.assertEqual({tag for tag in tags if tags.count(tag) > 1}, set())

    def test_no_module_declares_a_struct_of_one_above(self):
        files = lib_files()
        defined = {tag: name.split("/")[0] for name, text in files.items() for tag in re.findall(r"^struct (ppi_\w+) \{", text, flags=re.M)}
        for name, text in files.items():
            own = name.split("/")[0]
            for tag in re.findall(r"^struct (ppi_\w+);", text, flags=re.M):
                self.assertIn(defined[tag], (own, *ALLOWED[own]), f"{name} declares {tag}")

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

    def test_all_fuzz_targets_are_built_and_run(self):
        folder = ROOT / "tests" / "fuzz"
        targets = sorted(path.name[:-len("_fuzz.c")] for path in folder.glob("*_fuzz.c"))
        self.assertEqual(sorted(path.name for path in (folder / "corpus").iterdir()), targets)
        built = re.search(r"foreach target : (\[.*\])", (ROOT / "tests" / "meson.build").read_text(encoding="utf-8"))[1]
        self.assertEqual(sorted(re.findall(r"'(\w+)'", built)), targets)
        listed = re.search(r"^\[ \$# -gt 0 \] \|\| set -- (.*)$", (folder / "fuzz.sh").read_text(encoding="utf-8"), flags=re.M)[1]
        self.assertEqual(sorted(listed.split()), targets)

    def test_every_source_names_its_license(self):
        page = [path for name in ("report_page", "live_page") for path in (ROOT / "bindings" / "python" / "ppsched" / "page" / name).iterdir()]
        for path in [*sources(), *outside_lib(), *ROOT.glob("**/*.py"), *ROOT.glob("**/*.mjs"), *page]:
            if "build" not in path.relative_to(ROOT).parts[0] and "build" not in path.parts:
                self.assertIn("SPDX-License-Identifier: Apache-2.0", path.read_text(encoding="utf-8")[:400], path)

    def test_every_source_of_lib_says_what_it_is_for(self):
        """The second line, after the license and before the first include, starts a comment."""
        for path in LIB.rglob("*.c"):
            self.assertRegex(path.read_text(encoding="utf-8").split("\n", 1)[1], r"^/\* \w", path)

    def test_top_level(self):
        present = {path.name for path in ROOT.iterdir() if not path.name.startswith((".", "build"))}
        self.assertEqual(present - TOP_LEVEL, set())

    def test_tests_know_the_last_of_each_enum(self):
        text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "include" / "ppsched").glob("*.h"))
        known = (ROOT / "tests" / "support" / "last.h").read_text(encoding="utf-8")
        lasts = re.findall(r"LAST_(\w+) = (PPSCHED_\w+)", known)
        self.assertEqual([name for name, _ in lasts], ["FORMAT", "KIND", "QUANTITY", "RUNTIME"])
        for name, last in lasts:
            (body,) = re.findall(rf"^enum ppsched_{name.lower()} \{{(.*?)\}};", text, flags=re.M | re.S)
            self.assertEqual(re.findall(r"(PPSCHED_\w+) = \d+", body)[-1], last)

    def test_links_in_the_documentation_lead_somewhere(self):
        for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
            text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
            for link in re.findall(r"\]\(([^)#:]+)\)", text):
                self.assertTrue((page.parent / link).exists(), f"{page}: {link}")

    def test_contributing_is_short(self):
        self.assertLessEqual(len((ROOT / "docs" / "contributing.md").read_text(encoding="utf-8").splitlines()), 120)

    def test_files_that_contributing_and_assurance_name_exist(self):
        """Paths from the root, files of the Python package by their names, and in the tables of assurance.md files of a module without
        their ending."""
        page = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("contributing.md", "assurance.md"))
        named = re.findall(r"(?<![\w/.$-])(?:bindings|docs|include|lib|tests)/[\w./*-]*\w", re.sub(r"`lib/[\w/]+/<\w+>\.c`", "", page))
        named += [f"lib/{layer}/{name}*" for layer, name in re.findall(rf"`({'|'.join(ALLOWED)})/([\w/]+)(?:\.[ch])?`", page)]
        self.assertGreater(len(named), 60)
        for name in named:
            self.assertTrue(any(ROOT.glob(name)), name)
        for name in re.findall(r"`(?!generate_abi)(\w+\.py)`", page):
            self.assertTrue(any(ROOT.glob(f"bindings/python/ppsched/**/{name}")), name)

    def test_names_in_the_documentation_are_declared(self):
        headers = "".join(path.read_text(encoding="utf-8") for path in ROOT.glob("include/ppsched/*.h"))
        words = re.compile(r"\b(?:ppsched|PPSCHED)_\w+")
        declared = set(words.findall(re.sub(r"/\*.*?\*/", "", headers, flags=re.S)))
        for page in [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md"), *filter(pathlib.Path.is_file, (ROOT / "docs" / "examples").rglob("*"))]:
            if page.name == "renamed.md":
                continue  # of which test_renamed.py says which names are declared, and which are not
            named = set(words.findall(page.read_text(encoding="utf-8")))
            self.assertEqual(named - declared - NOT_DECLARED, set(), page)

    def test_the_table_of_tasks_names_functions_where_they_are(self):
        text = (ROOT / "include" / "ppsched" / "ppsched.h").read_text(encoding="utf-8")
        rows = re.findall(r"^ \*   \S.*?(ppsched_\w+) +(\w+\.h)$", text, flags=re.M)
        self.assertGreater(len(rows), 20)
        for function, header in rows:
            declared = (ROOT / "include" / "ppsched" / header).read_text(encoding="utf-8")
            self.assertRegex(declared, rf"PPSCHED_API[^;]*\b{function}\(", function)

    def test_cpp_headers_have_every_function(self):
        text = "".join(path.read_text(encoding="utf-8") for path in cpp_headers())
        missing = exported_functions() - set(re.findall(r"\bppsched_\w+", text))
        self.assertEqual({name for name in missing if not NOT_WRAPPED.fullmatch(name)} | (missing & WRAPPED_NAMES), set())

    def test_cpp_headers_are_short_and_in_one(self):
        everything = ROOT / "bindings" / "cpp" / "ppsched" / "ppsched.hpp"
        included = re.findall(r"#include <ppsched/(\w+\.hpp)>", everything.read_text(encoding="utf-8"))
        self.assertEqual({*included, "detail.hpp", "ppsched.hpp"}, {path.name for path in cpp_headers()})
        for path in cpp_headers():
            self.assertLessEqual(len(path.read_text(encoding="utf-8").splitlines()), LONGEST_CPP_HEADER, path)

    def test_code_of_the_cpp_page_is_in_programs_that_run(self):
        programs = [ROOT / "docs" / "examples" / "first.cpp", *(ROOT / "tests" / "cpp").glob("*.cpp")]
        blocks = re.findall(r"```cpp\n(.*?)```", (ROOT / "docs" / "cpp.md").read_text(encoding="utf-8"), flags=re.S)
        self.assertTrue(blocks)
        for block in blocks:
            self.assertTrue(any(block in path.read_text(encoding="utf-8") for path in programs), block)

    def test_all_sources_are_built(self):
        listed = {f"{module}/{name}.c" for module, _, names in MODULES for name in names}
        for path in LIB.glob("*/list.h"):
            listed |= {f"{path.parent.name}/{name}" for name in re.findall(r'"(.*\.c)"', path.read_text(encoding="utf-8"))}
        families = (LIB / "description" / "families.h").read_text(encoding="utf-8")
        listed |= {f"description/families/{name}" for name in re.findall(r'"(\w+\.c)"', families)}
        self.assertEqual(listed, {str(path.relative_to(LIB)) for path in LIB.rglob("*.c")})

    def test_all_python_modules_are_installed(self):
        python = ROOT / "bindings" / "python"
        packages = re.findall(r"^  '(ppsched[\w/]*)': \[(.*?)\]", (python / "meson.build").read_text(encoding="utf-8"), flags=re.M | re.S)
        listed = {f"{package}/{name}" for package, names in packages for name in re.findall(r"'([\w/]+\.py)'", names)}
        self.assertEqual(listed, {str(path.relative_to(python)) for path in (python / "ppsched").rglob("*.py")})

    def test_the_table_of_search_constants_has_their_values(self):
        """Change a constant, and measure it again: tests/bench/search_constants.py."""
        rows, constants = search_constants.rows_on_page(), {search_constants.key_of(one): one for one in search_constants.CONSTANTS + search_constants.CACHES}
        self.assertEqual(list(rows), [key for key in constants if key in rows])
        self.assertGreater(len(rows), 100)
        for key, constant in constants.items():
            with self.subTest(constant=key):
                value = search_constants.value_of(constant)
                self.assertIsNotNone(value)
                self.assertEqual(rows[key][2].split(" (")[0] if key in rows else value, value)
                says = "docs/performance.md" in (LIB / constant.file).read_text(encoding="utf-8")
                self.assertTrue(says or key not in rows, f"{constant.file} does not name the page")


if __name__ == "__main__":
    unittest.main(verbosity=2)
