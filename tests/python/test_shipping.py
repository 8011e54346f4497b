# SPDX-License-Identifier: Apache-2.0
"""What is shipped beside the library: the npm package, man pages, completions, and the examples of the first commands."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import unittest

from in_process import run_command

import ppsched
from ppsched._core._library import lib
from ppsched.command import running
from ppsched.command.usage import ALIASES

ROOT = pathlib.Path(__file__).resolve().parents[2]
WASM, EXAMPLES = ROOT / "bindings" / "wasm", ROOT / "docs" / "examples"
COMMANDS = running.parser_of().family


def printed(*words):
    told = run_command(words)
    if (told.returncode, told.stderr) != (0, ""):
        raise AssertionError(told.stderr)
    return told.stdout


def long_options(parser):
    return {name for action in parser._actions for name in action.option_strings if name.startswith("--") and name not in ALIASES}


class VersionsTest(unittest.TestCase):
    def test_all_are_that_of_the_library(self):
        port = ROOT / "packaging" / "vcpkg" / "ppsched" / "vcpkg.json"
        for path in (WASM / "package.json", port):
            self.assertEqual(json.loads(path.read_text(encoding="utf-8"))["version"], ppsched.__version__, path.name)
        newest = (ROOT / "packaging" / "debian" / "changelog").read_text(encoding="utf-8").split("\n")[0]
        self.assertIn(f"({ppsched.__version__})", newest)


class NpmTest(unittest.TestCase):
    package = json.loads((WASM / "package.json").read_text(encoding="utf-8"))

    def test_its_files_are_there(self):
        for name in self.package["files"]:
            self.assertTrue((WASM / name).exists() or name in ("ppsched.wasm", "LICENSE"), name)  # which release.sh puts there
        exported = [name for value in self.package["exports"].values() for name in (value.values() if isinstance(value, dict) else [value])]
        for name in exported:
            self.assertIn(name.removeprefix("./"), [*self.package["files"], "package.json"])

    @unittest.skipUnless(shutil.which("npm"), "needs the package npm")
    def test_it_is_found_by_its_name(self):
        """Packed and installed, node and TypeScript find the module; with a module that is a few bytes, as what it computes is
        tested elsewhere."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            source, user = folder / "source", folder / "user"
            source.mkdir(), user.mkdir()
            for file in [*self.package["files"], "package.json"]:
                if (WASM / file).exists():
                    shutil.copy(WASM / file, source)
            shutil.copy(ROOT / "LICENSE", source)
            (source / "ppsched.wasm").write_bytes(b"\0asm\1\0\0\0")
            packed = subprocess.run(["npm", "pack", "--silent", "--offline", source], cwd=folder, capture_output=True, text=True, check=True).stdout.strip()
            (user / "node_modules").mkdir()
            shutil.unpack_archive(folder / packed, user / "node_modules", "gztar")
            (user / "node_modules" / "package").rename(user / "node_modules" / "ppsched")
            self.assertEqual({path.name for path in (user / "node_modules" / "ppsched").iterdir()}, {*self.package["files"], "package.json"})
            code = 'import { load, Kind } from "ppsched"; import * as abi from "ppsched/abi.mjs"; ' \
                   'console.log(typeof load, Kind.F, abi.Kind.F, import.meta.resolve("ppsched/ppsched.wasm").endsWith("ppsched.wasm"));'
            (user / "user.mjs").write_text(code, encoding="utf-8")
            told = subprocess.run(["node", "user.mjs"], cwd=user, capture_output=True, text=True, check=False)
            self.assertEqual((told.stdout, told.stderr), ("function 1 1 true\n", ""))


class PlatformTest(unittest.TestCase):
    """The package elsewhere, as far as Linux can tell: sys.platform and signals are those of another system."""
    NAMES = {"linux": "libppsched.so.1", "freebsd14": "libppsched.so.1", "darwin": "libppsched.1.dylib", "win32": "libppsched-1.dll"}

    def told(self, code, folder):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PPSCHED_")}
        result = subprocess.run([sys.executable, "-c", code], cwd=folder, env={**environment, "PYTHONPATH": str(folder)}, capture_output=True, text=True,
                                check=False)
        self.assertEqual(result.stderr, "")
        return result.stdout.strip()

    def test_the_bundled_library_is_found_by_its_name(self):
        """And by no other: a library that has the name of another system is not loaded."""
        library = pathlib.Path(lib._name)
        for platform, name in self.NAMES.items():
            with self.subTest(platform), tempfile.TemporaryDirectory() as folder:
                package = pathlib.Path(folder) / "ppsched"
                shutil.copytree(pathlib.Path(ppsched.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__", "libppsched*"))
                code = f"import ctypes, os, sys, signal, _signal, threading, subprocess, importlib.metadata\nsys.platform = {platform!r}\n"
                if platform == "win32":
                    code += "del signal.SIGHUP, _signal.SIGHUP\n"
                code += "try:\n    import ppsched\n    from ppsched._core._library import lib\n" \
                        "    print(lib._name, ppsched.generate('1f1b', ppsched.Config(devices=2, microbatches=4)).evaluate().metrics.makespan)\n" \
                        "except ImportError as error:\n    print('no library:', str(error).count(chr(10)), str(error))\n"
                for other in {*self.NAMES.values()} - {name}:
                    shutil.copy(library, package / other)
                (package / "_without_library").touch()
                if name != self.NAMES["linux"]:  # which the system may have
                    told = self.told(code, folder)
                    self.assertRegex(told, f"^no library: 0 this package has no {name}, .*ppsched live -o FILE.html.*npm")
                shutil.copy(library, package / name)
                self.assertRegex(self.told(code, folder), rf"/ppsched/{re.escape(name)} \d+")


class ManualTest(unittest.TestCase):
    def pages(self):
        return {"": printed("help", "--man"), **{name: printed("help", name, "--man") for name in COMMANDS}}

    def test_each_command_has_one_with_all_its_options(self):
        for name, page in self.pages().items():
            plain = page.replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")
            self.assertIn(f'"ppsched {ppsched.__version__}"', plain.split("\n")[0])
            for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "SEE ALSO"):
                self.assertIn(f"\n.SH {section}\n", plain)
            parser = COMMANDS[name] if name else running.parser_of()
            for option in long_options(parser):
                self.assertRegex(plain, rf"(?m)^\\fB(.*, )?{option}(,|\\fR)")
            for example in parser.examples:
                self.assertIn(example, plain)

    def test_lines_are_text_or_known_requests(self):
        for page in self.pages().values():
            requests = {line.split(" ")[0] for line in page.split("\n") if line.startswith(".")}
            self.assertLessEqual(requests, {".TH", ".SH", ".SS", ".TP", ".nf", ".fi"})
            self.assertEqual([line for line in page.split("\n") if line.startswith("'")], [])

    def test_the_script_writes_all(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([ROOT / "packaging" / "manuals.sh", folder, "/usr/bin/python3", "-m", "ppsched"], check=True)
            self.assertEqual({path.name for path in pathlib.Path(folder).iterdir()}, {"ppsched.1", *(f"ppsched-{name}.1" for name in COMMANDS)})


class CompletionTest(unittest.TestCase):
    def bash(self, *words):
        """What bash would offer for the last word."""
        script = printed("help", "--completion", "bash") + f"COMP_WORDS=({' '.join(map(repr, words))}); COMP_CWORD={len(words) - 1}\n" \
            + '_ppsched; printf "%s\\n" "${COMPREPLY[@]}"\n'
        return set(subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout.split())

    def test_bash(self):
        self.assertEqual(self.bash("ppsched", ""), {*COMMANDS, "--help", "--version"})
        self.assertEqual(self.bash("ppsched", "st"), {"strategies"})
        for name, parser in COMMANDS.items():
            self.assertEqual(self.bash("ppsched", name, "--"), long_options(parser), name)
        self.assertEqual(self.bash("ppsched", "pick", "--runtime", "me"), {"megatron"})
        self.assertEqual(self.bash("ppsched", "help", "pi"), {"pick"})
        self.assertEqual(self.bash("ppsched", "schedule", "--strategy", "zb_h"), {"zb_h1", "zb_h2"})
        self.assertEqual(self.bash("ppsched", "strategies", "gp"), {"gpipe"})
        self.assertEqual(self.bash("ppsched", "pick", "--device", "h10"), {"h100"})

    def test_the_others_have_all_options(self):
        zsh, fish = (printed("help", "--completion", shell) for shell in ("zsh", "fish"))
        for name, parser in COMMANDS.items():
            for option in long_options(parser):
                self.assertRegex(fish, rf"(?m)^complete -c ppsched -n '__fish_seen_subcommand_from {name}' .*-l {option[2:]}( |$)")
                if name != "help":
                    part = zsh.split(f"\n    {name}) _arguments")[1].split(" ;;")[0]
                    self.assertIn(f"'*{option}[", part)
        self.assertRegex(zsh, r"'\*--strategy\[.*:strategy:{compadd -- gpipe ")
        self.assertRegex(fish, r"-l strategy -r -a 'gpipe ")
        for text in (zsh, fish):
            self.assertEqual([line for line in text.split("\n") if line.count("'") % 2], [])

    def test_it_is_of_the_whole_command(self):
        told = run_command(["help", "pick", "--completion", "bash"])
        self.assertEqual((told.returncode, told.stdout), (2, ""))


class ExamplesTest(unittest.TestCase):
    """The files in docs/examples that the first commands use."""

    def test_files(self):
        for words, wanted in ((("pick", "--model", EXAMPLES / "config.json", "--device", "h100", "--tp", 2, "--pp", 4, "--dp", 2, "--global-batch", 64),
                               "16 devices: tp 2, pp 4, dp 2"),
                              (("pick", "--model", EXAMPLES / "megatron_arguments.sh", "--device", "h100"), "8 devices: tp 2, pp 4, dp 1"),
                              (("pick", "--layers", EXAMPLES / "layers.json", "--devices", 16, "--microbatches", 64, "--mem-limit", "72GB",
                                "--runtime", "megatron"), "megatron: --pipeline-model-parallel-size 16 --num-layers 80"),
                              (("schedule", "--profile", EXAMPLES / "profile.json", "--strategy", "zb_h1"), "zb_h1: makespan 626.9 ms")):
            with self.subTest(words[:3]):
                self.assertIn(wanted, printed(*words))

    def test_all_are_named_on_pages(self):
        text = "".join(path.read_text(encoding="utf-8") for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
        for name in ("config.json", "layers.json", "profile.json", "megatron_arguments.sh"):
            self.assertIn(f"examples/{name}", text)


class ToolsTest(unittest.TestCase):
    """install_tools.sh with an apt-get that only notes what it is asked for."""

    def run_script(self, script, **programs):
        """Its exit code, what it said and what apt-get was asked for. Only the programs are found, and what the script needs itself."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            for command in ("sh", "env"):
                (folder / command).symlink_to(shutil.which(command))
            for command, text in {"apt-get": f'[ "$1" = update ] || echo "$@" >>{folder}/asked', "id": "echo 0", **programs}.items():
                (folder / command).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
                (folder / command).chmod(0o755)
            text = f"set -euo pipefail\n. {ROOT}/bindings/python/install_tools.sh\n{script}\n"
            ran = subprocess.run([shutil.which("bash"), "-c", text], capture_output=True, text=True, check=False, env={"PATH": name})
            asked = folder / "asked"
            return ran.returncode, ran.stderr, [line.split("--no-install-recommends ")[1] for line in asked.read_text(encoding="utf-8").splitlines()] \
                if asked.exists() else []

    def test_a_compiler_has_the_headers_of_libc(self):
        """Ubuntu's gcc is installed without them."""
        self.assertEqual(self.run_script("install_compiler cc gcc", cc="exit 0"), (0, "", []))
        self.assertEqual(self.run_script("install_compiler cc gcc", cc="exit 1"), (0, "installing libc6-dev\n", ["libc6-dev"]))
        self.assertEqual(self.run_script("install_compiler cc gcc")[2][0], "gcc libc6-dev")

    def test_who_may_not_install_is_told_what(self):
        self.assertEqual(self.run_script("install_tools meson:meson ninja:ninja-build", id="echo 1000"),
                         (1, "please install, as root: apt-get install meson ninja-build\n", []))


class WasmTest(unittest.TestCase):
    def test_a_meson_that_is_gone(self):
        """As that of the environment in which pip built once. The folder is set up again; one whose meson is there is not."""
        for maker, called in (("/nowhere/bin/meson", "setup"), (sys.executable, None)):
            with self.subTest(maker), tempfile.TemporaryDirectory() as name:
                folder, build = pathlib.Path(name), pathlib.Path(name, "a.wasm.build")
                build.mkdir()
                (build / "build.ninja").write_text(f"rule REGENERATE_BUILD\n command = {maker} --internal regenerate {ROOT} .\n", encoding="utf-8")
                for command in ("meson", "ninja", "clang-14", "llvm-ar-14", "wasm-ld-14"):
                    (folder / command).write_text(f"#!/bin/sh\necho $1 >>{name}/{command}.called\nexit 1\n", encoding="utf-8")
                    (folder / command).chmod(0o755)
                ran = subprocess.run([ROOT / "bindings" / "wasm" / "build.sh", folder / "a.wasm"], capture_output=True, text=True, check=False,
                                     env={"PATH": f"{name}:{os.environ['PATH']}"})
                if ran.returncode == 3:
                    self.skipTest(ran.stderr.strip())
                told = folder / "meson.called"
                self.assertEqual(told.read_text(encoding="utf-8").strip() if told.exists() else None, called)


class MetadataTest(unittest.TestCase):
    def test_of_the_wheel(self):
        project = tomllib.loads((ROOT / "bindings" / "python" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        self.assertTrue((ROOT / "bindings" / "python" / project["readme"]).exists())
        self.assertIn("Operating System :: POSIX :: Linux", project["classifiers"])
        code = re.findall(r"```python\n(.*?)```", (ROOT / "bindings" / "python" / project["readme"]).read_text(encoding="utf-8"), flags=re.S)
        for block in code:
            exec(compile(block.replace("print(", "list((").replace("of_total)", "of_total))"), "README.md", "exec"), {})


if __name__ == "__main__":
    unittest.main()
