#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A new strategy is one file and one line of the list: a rule and a search are added to a scratch copy of the library, which is
installed with pip, as users install it, and used from C's calls and from the command; the copy is then not needed."""
import ctypes
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MEM_LIMIT = 37  # PPSCHED_QUANTITY_MEM_LIMIT
RULE = r"""/* SPDX-License-Identifier: Apache-2.0 */
/* One microbatch after another. */
#include "strategy/descriptors.h"

static void order(const struct ppi_task *task, uint32_t device, struct ppi_op_writer *writer)
{
    for (uint32_t m = 0; m < task->run; m++) {
        ppi_put(writer, PPSCHED_KIND_F, device, m);
        ppi_put(writer, PPSCHED_KIND_B, device, m);
    }
}

const struct ppi_strategy ppi_planted_rule = {
    .name = "planted_rule",
    .summary = "one microbatch after another",
    .source = "a test",
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .flushes = true,
    .order = order,
};
"""
SEARCH = r"""/* SPDX-License-Identifier: Apache-2.0 */
/* The better of two rules; none where neither fits the memory. */
#include "strategy/descriptors.h"

static ppsched_status plan(struct ppi_attempt *attempt, ppsched_error *error)
{
    static const struct ppi_strategy *const rules[] = {&ppi_zb_h1, &ppi_zb_h2, NULL};
    ppsched_status status = ppi_attempt_require_fit(attempt, error);
    if (status == PPSCHED_OK)
        status = ppi_poll_report(&attempt->poll, 0.5, error);
    ppi_attempt_split_only(attempt);
    return status == PPSCHED_OK ? ppi_offer_split(attempt, rules, error) : status;
}

const struct ppi_strategy ppi_planted_search = {
    .name = "planted_search",
    .summary = "the better of two rules",
    .source = "a test",
    .placement = PPSCHED_PLACEMENT_LINEAR,
    .chunks = 1,
    .weight_versions = 1,
    .splits_backward = true,
    .flushes = true,
    .plan = plan,
};
"""


class Error(ctypes.Structure):
    """ppsched_error, as far as it is read here."""
    _fields_ = [("numbers", ctypes.c_uint32 * 8), ("message", ctypes.c_char * 480)]


def run(*words, **variables):
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PPSCHED_LIBRARY")}
    result = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, cwd="/",
                            env={**environment, **variables})
    if result.returncode != 0:
        raise AssertionError(f"{words}: {result.stdout}{result.stderr}")
    return result.stdout


@unittest.skipUnless(all(importlib.util.find_spec(name) for name in ("venv", "pip", "setuptools", "wheel")),
                     "pip, venv, setuptools or wheel is missing")
class NewStrategyTest(unittest.TestCase):
    def test_one_file_and_one_line(self):
        folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        self.install(folder)
        (library,) = folder.rglob("libppsched.so.1")
        self.use(library)
        command = folder / "venv" / "bin" / "ppsched"
        self.assertTrue(run(command, "schedule", "-s", 4, "-b", 8).startswith("1f1b: makespan 33"))
        self.assertTrue(run(command, "schedule", "-s", 4, "-b", 8, "--strategy", "planted_rule").startswith("planted_rule: makespan 96"))
        page = folder / "report.html"
        run(command, "compare", "-s", 4, "-b", 8, "-o", page)
        self.assertIn("</html>", page.read_text(encoding="utf-8"))

    def install(self, folder):
        """Not optimized, as that takes long."""
        copy = folder / "ppsched"
        copy.mkdir()
        for name in ("include", "lib", "bindings"):
            shutil.copytree(ROOT / name, copy / name)
        for name in ("meson.build", "meson_options.txt", "LICENSE"):
            shutil.copy(ROOT / name, copy)
        for name, path, text in (("planted_rule", "rules/planted_rule.c", RULE),
                                 ("planted_search", "searches/planted_search.c", SEARCH)):
            (copy / "lib" / "strategy" / path).write_text(text, encoding="utf-8")
            with open(copy / "lib" / "strategy" / "list.h", "a", encoding="utf-8") as file:
                file.write(f'PPI_STRATEGY({name}, "{path}")\n')
        run(sys.executable, "-m", "venv", "--system-site-packages", folder / "venv")
        run(folder / "venv" / "bin" / "pip", "install", "--no-build-isolation", "--no-deps", copy / "bindings" / "python",
            CFLAGS="-O0 -g0 -U_FORTIFY_SOURCE -Werror")
        shutil.rmtree(copy)

    def use(self, path):
        library = ctypes.CDLL(os.fspath(path))
        error, config, schedule = Error(), ctypes.c_void_p(), ctypes.c_void_p()
        call = ctypes.byref
        size = ctypes.c_int64
        self.assertEqual(library.ppsched_config_create(call(config), size(4), size(4), size(8), None, call(error)), 0)
        for name in (b"planted_rule", b"planted_search", b"auto"):
            status = library.ppsched_schedule_generate(call(schedule), config, name, call(error))
            self.assertEqual(status, 0, error.message)
            status = library.ppsched_schedule_check(None, ctypes.c_size_t(0), None, schedule, call(error))
            self.assertEqual(status, 0, error.message)
            library.ppsched_schedule_release(schedule)
        limit = ctypes.c_double(2)
        status = library.ppsched_config_set_values(config, MEM_LIMIT, call(limit), ctypes.c_size_t(1), call(error))
        self.assertEqual(status, 0, error.message)
        for name, least in ((b"planted_search", None), (b"auto", 0)):
            status = library.ppsched_schedule_generate(call(schedule), config, name, call(error))
            self.assertEqual(status == 0, least == 0, error.message)
        library.ppsched_config_destroy(config)


if __name__ == "__main__":
    unittest.main(verbosity=2)
