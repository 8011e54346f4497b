# SPDX-License-Identifier: Apache-2.0
"""How the command begins and ends: a missing library is one line, and so is Ctrl-C at any time."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

import ppsched

PACKAGES = pathlib.Path(ppsched.__file__).resolve().parents[1]
# The command as a system has it that has no library installed, whatever this one has.
WITHOUT_ONE_OF_THE_SYSTEM = """
import ctypes, runpy, sys
class Loader(ctypes.CDLL):
    def __init__(self, name, *words, **options):
        try:
            super().__init__(name if "/" in name else f"none-{name}", *words, **options)
        except OSError as error:
            raise OSError(str(error).replace("none-", "")) from None
ctypes.CDLL, sys.argv = Loader, ["ppsched"]
runpy.run_module("ppsched", run_name="__main__")
"""
MODULE = [sys.executable, "-m", "ppsched"]
SCRIPT = [sys.executable, "-S", str(PACKAGES / "ppsched.in")]

OF_ARGPARSE = "shutil"  # which it imports when the words are read
# What Python runs first: Ctrl-C at the import of a module, in a finalizer there, where a file is opened, or at the end; and a list of
# all imports.
SITE = """
import atexit, os, signal, sys

class Finalized:
    def __del__(self):
        interrupt()
        for _ in range(1000):
            pass

def interrupt():
    os.kill(os.getpid(), signal.SIGINT)

def see(event, arguments):
    if event == "open" and os.environ.get("INTERRUPT_AT_FILE", "?") in str(arguments[0]):
        interrupt()
    if event != "import":
        return
    if "LIST_IMPORTS" in os.environ:
        os.write(2, (arguments[0] + "\\n").encode())
    if arguments[0] == os.environ.get("INTERRUPT_AT"):
        interrupt()
    if arguments[0] == os.environ.get("INTERRUPT_FINALIZER_AT"):
        Finalized()

sys.addaudithook(see)
if "INTERRUPT_AT_END" in os.environ:
    atexit.register(interrupt)
"""


class StartTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.site = folder.name
        pathlib.Path(folder.name, "sitecustomize.py").write_text(SITE, encoding="utf-8")

    def run_command(self, *words, ignore=False, **environment):
        paths = os.pathsep.join([self.site, str(PACKAGES)])
        return subprocess.run(words, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": paths, **environment},
                              preexec_fn=(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) if ignore else None)

    def expect_interrupted(self, *words, said="ppsched: interrupted\n", **environment):
        result = self.run_command(*words, **environment)
        self.assertEqual((result.returncode, result.stderr), (130, said), (words, environment))

    def test_ctrl_c_while_python_imports(self):
        listed = self.run_command(*MODULE, "strategies", LIST_IMPORTS="1").stderr.split()
        modules = list(dict.fromkeys(name for name in listed[listed.index("ppsched._start"):] if name.startswith("ppsched.")))
        self.assertGreater(len(modules), 20)
        for module in modules[1:]:
            self.expect_interrupted(*MODULE, "strategies", INTERRUPT_AT=module)
        for module in ("ctypes", "ppsched", "ppsched._core._library", "ppsched.command.cli", "argparse"):
            result = self.run_command(*SCRIPT, "strategies", INTERRUPT_AT=module)
            self.assertEqual(result.returncode, 130, module)
            self.assertIn(result.stderr, ("ppsched: interrupted\n", ""))  # nothing from the script's own first lines

    def test_ctrl_c_while_it_works(self):
        path = pathlib.Path(self.site, "out.txt")
        for words in (MODULE, SCRIPT):
            self.expect_interrupted(*words, "strategies", said="ppsched -: interrupted\n", INTERRUPT_AT=OF_ARGPARSE)
            self.expect_interrupted(*words, "strategies", INTERRUPT_FINALIZER_AT=OF_ARGPARSE)
            self.expect_interrupted(*words, "strategies", "-o", path, said="ppsched strategies: interrupted\n", INTERRUPT_AT_FILE=".ppsched-")
            self.assertEqual([name for name in os.listdir(self.site) if name.endswith(".txt")], [])

    def test_ctrl_c_at_the_end(self):
        for words in (MODULE, SCRIPT):
            self.expect_interrupted(*words, "strategies", INTERRUPT_AT_END="1")

    def test_in_the_background_it_is_ignored(self):
        for words in (MODULE, SCRIPT):
            result = self.run_command(*words, "strategies", "1f1b", ignore=True, INTERRUPT_AT="ppsched._core.config")
            self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_other_programs_keep_their_handler(self):
        code = "import signal, ppsched; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
        self.assertEqual(self.run_command(sys.executable, "-c", code).stdout, "True\n")
        result = self.run_command(sys.executable, "-c", "import ppsched", INTERRUPT_AT="ppsched._core.config")
        self.assertIn("KeyboardInterrupt", result.stderr)

    def test_missing_library(self):
        """What was looked for, where, and what would work."""
        wanted = "cannot load libppsched.so.1; tried /no/such/file (not found); set PPSCHED_LIBRARY to the path of " \
                 "libppsched.so.1, or unset it"
        for words in (MODULE, SCRIPT):
            result = self.run_command(*words, "strategies", PPSCHED_LIBRARY="/no/such/file")
            self.assertEqual((result.returncode, result.stdout, result.stderr), (1, "", f"ppsched: {wanted}\n"))
        code = "try:\n    import ppsched\nexcept ImportError as error:\n    print(error)"
        self.assertEqual(self.run_command(sys.executable, "-c", code, PPSCHED_LIBRARY="/no/such/file").stdout, f"{wanted}\n")

    def test_no_library_anywhere(self):
        """A package without its library tells all the places; here they are looked at from a copy of it."""
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, "lib", "packages", "ppsched")
            shutil.copytree(PACKAGES / "ppsched", copy, ignore=shutil.ignore_patterns("__pycache__", "*.so*"))
            (copy / "_installed_library.txt").write_text("/no/such/libppsched.so.1\n", encoding="utf-8")
            environment = {name: value for name, value in os.environ.items() if name != "PPSCHED_LIBRARY"}
            result = subprocess.run([sys.executable, "-c", WITHOUT_ONE_OF_THE_SYSTEM], capture_output=True, text=True, check=False,
                                    env={**environment, "PYTHONPATH": str(copy.parent), "LD_LIBRARY_PATH": ""})
        self.assertEqual((result.returncode, result.stdout, result.stderr.count("\n")), (1, "", 1))
        for part in (f"{copy}/libppsched.so.1 (not found)", "/no/such/libppsched.so.1 (not found)",
                     "libppsched.so.1 of the system (cannot open", "build it (meson setup build"):
            self.assertIn(part, result.stderr)


if __name__ == "__main__":
    unittest.main()
