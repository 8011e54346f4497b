#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tests of memory that runs out leave out no exported function, those of sizes no sized struct, that of buffers no call
that fills one; memory comes from one place; and each handle says what it promises to threads."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADERS = sorted((ROOT / "include" / "ppsched").glob("*.h"))
# What a function must be given to get at an allocator.
HANDLES = re.compile(r"\bppsched_(calibrator|chakra|config|description|schedule|queue|builder|timeline|plan|layers|layout|model|price|job|steady|replan|replicas|environment) \*")


def read(*paths):
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def exported():
    return set(re.findall(r"^ {4}(\w+);", read(ROOT / "lib" / "api" / "ppsched.map"), flags=re.M))


def declarations():
    """Each exported function with its result and parameters."""
    found = re.findall(r"PPSCHED_API ([^;]*?\b(ppsched_\w+)\([^;]*\));", read(*HEADERS))
    return {name: text for text, name in found}


def sized_structs():
    """Name and fields of each struct that begins with its size."""
    text = re.sub(r"/\*.*?\*/", "", read(*HEADERS), flags=re.S)
    return dict(re.findall(r"^typedef struct (\w+) \{\s*uint32_t size;(.*?)^\}", text, flags=re.M | re.S))


def handed_structs():
    """Those that callbacks are handed: the library sets their size."""
    callbacks = re.findall(r"^typedef [^;{]*\(\*ppsched_\w+\)\(([^)]*)\);", read(*HEADERS), flags=re.M)
    return {name for name in sized_structs() for parameters in callbacks if re.search(rf"\b{name} \*", parameters)}


class AllocationTest(unittest.TestCase):
    def test_every_function_is_called_while_memory_runs_out(self):
        tests = read(*(ROOT / "tests" / "unit").glob("allocation*_test.c"))
        failing = {"ppsched_" + name for name in re.findall(r"\bSHORTAGE\((\w+),", tests)}
        without = set(re.findall(r"\bNO_MEMORY_FOR\(\(?(\w+)\(", tests))
        self.assertEqual(failing & without, set())
        declared = declarations()
        self.assertEqual(set(declared), exported())
        with_handles = {name for name, text in declared.items() if HANDLES.search(text)}
        self.assertEqual(failing | without, with_handles)

    def test_rows_call_the_function_that_they_name(self):
        for path in (ROOT / "tests" / "unit").glob("allocation*_test.c"):
            text = read(path)
            for name in re.findall(r"\bSHORTAGE\((\w+),", text):
                body = re.search(rf"^static ppsched_status {name}\(struct attempt \*attempt\)\n\{{\n(.*?)^\}}", text,
                                 flags=re.M | re.S)[1]
                self.assertRegex(body, rf"\bppsched_{name}\(" if name != "plan_create" else r"\bcreate_plan\(")  # support/plan_choice.h

    def test_memory_comes_from_the_host_alone(self):
        allocators = re.compile(r"\b(malloc|calloc|realloc|aligned_alloc|strdup|free)\(")
        users = {str(path.relative_to(ROOT)) for path in (ROOT / "lib").rglob("*.[ch]") if allocators.search(read(path))}
        self.assertEqual(users, {"lib/base/host.c"})


class SizedTest(unittest.TestCase):
    def test_every_function_gets_every_size(self):
        """A sized struct within another is of the functions that take the other; what a function gives out points to the library's own."""
        structs, wanted = sized_structs(), set()
        self.assertGreater(len(structs), 10)
        for function, text in declarations().items():
            text = text[text.index("("):]  # what it returns is the library's
            taken = {name for name in structs if re.search(rf"\b{name} \*", text)}
            while "_get_" not in function and (inner := {inner for name in taken for inner in structs if re.search(rf"\b{inner} \*", structs[name])} - taken):
                taken |= inner
            wanted |= {(function, name) for name in taken}
        rows = re.findall(r"^ {4}ROW(?:_SINCE)?\((\w+), (\w+), ", read(ROOT / "tests" / "unit" / "sized_test.c"), flags=re.M)
        self.assertEqual(sorted(rows), sorted(wanted))
        self.assertEqual({name for _, name in rows}, set(structs) - handed_structs())
        self.assertEqual(handed_structs(), {"ppsched_progress"})


class BufferTest(unittest.TestCase):
    def test_every_function_fills_its_buffer_by_the_rule(self):
        wanted = {function for function, text in declarations().items() if "size_t *needed" in text}
        rows = re.findall(r"^ {4}ROW\((\w+), ", read(ROOT / "tests" / "unit" / "buffer_test.c"), flags=re.M)
        self.assertEqual(sorted(rows), sorted(wanted))


class ThreadTest(unittest.TestCase):
    def test_every_handle_tells_of_threads(self):
        handles = re.findall(r"/\*((?:(?!\*/).)*)\*/\ntypedef struct (\w+) \2;", read(*HEADERS), flags=re.S)
        self.assertEqual({name for _, name in handles},
                         set(re.findall(r"^typedef struct (\w+) \1;", read(*HEADERS), flags=re.M)))
        for comment, name in handles:
            self.assertIn("Thread-safety: ", comment, name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
