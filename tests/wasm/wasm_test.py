#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The WebAssembly module and its JavaScript: what they import, layouts, the tests under node, and that results are those of the
native library, to the last bit. Without its compiler, or node, tests are skipped, and the reason names the package."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zlib

import ppsched

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WASM = ROOT / "bindings" / "wasm"
sys.path.insert(0, str(WASM))
import generate_abi  # noqa: E402

CLANG = ["clang-14", "--target=wasm32-wasi"]
OPTIMIZER = shutil.which("wasm-opt")  # which build.sh calls where it is
MOST_BYTES, MOST_COMPRESSED = (620_000, 270_000) if OPTIMIZER else (680_000, 285_000)


def needs_node(test):
    return unittest.skipUnless(shutil.which("node"), "needs the package nodejs")(test)


def run(*command, **options):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)


def number_at(data, place):
    """A LEB128 number, and what comes behind it."""
    value = shift = 0
    while True:
        byte = data[place]
        value, shift, place = value | (byte & 127) << shift, shift + 7, place + 1
        if byte < 128:
            return value, place


def sections(data):
    """{id: bytes} of a module's sections."""
    place, found = 8, {}
    while place < len(data):
        number = data[place]
        size, place = number_at(data, place + 1)
        found[number], place = data[place:place + size], place + size
    return found


class WasmTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Kept from run to run where the caller names a folder, so that only what has changed is compiled.
        cls.folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp())
        cls.folder.mkdir(exist_ok=True)
        cls.module = cls.folder / "ppsched.wasm"
        made = run(WASM / "build.sh", cls.module)
        if made.returncode == 3:
            raise unittest.SkipTest(made.stderr.strip())
        assert made.returncode == 0, made.stderr

    @classmethod
    def tearDownClass(cls):
        if len(sys.argv) == 1:
            shutil.rmtree(cls.folder)

    def test_module_imports_nothing(self):
        data = self.module.read_bytes()
        self.assertEqual(data[:8], b"\0asm\1\0\0\0")
        self.assertNotIn(2, sections(data))  # the import section
        self.assertIn(7, sections(data))     # the export section

    def test_an_import_would_be_seen(self):
        source, target = self.folder / "imports.c", self.folder / "imports.wasm"
        source.write_text("__attribute__((import_module(\"env\"), import_name(\"ask\"))) int ask(void);\nint plant(void) { return ask(); }\n")
        self.assertEqual(run(*CLANG, "-nostdlib", "-Wl,--no-entry,--export=plant", source, "-o", target).returncode, 0)
        self.assertIn(2, sections(target.read_bytes()))

    def test_size(self):
        data = self.module.read_bytes()
        packed = len(zlib.compress(data, 9))
        print(f"ppsched.wasm: {len(data)} bytes, {packed} compressed")
        self.assertLess(len(data), MOST_BYTES)
        self.assertLess(packed, MOST_COMPRESSED)

    def test_layouts_are_those_of_the_compiler(self):
        layouts = generate_abi.Layouts(generate_abi.python_abi.Abi())
        lines = ["#include <stddef.h>", "#include <ppsched/ppsched.h>"]
        for struct in layouts.abi.structs:
            size, alignment, rows = layouts.structs[generate_abi.python_abi.class_name(struct)]
            lines.append(f'_Static_assert(sizeof({struct}) == {size} && _Alignof({struct}) == {alignment}, "");')
            lines += [f'_Static_assert(offsetof({struct}, {name}) == {offset}, "");' for name, _, offset, _ in rows]
        source = self.folder / "layout.c"
        source.write_text("\n".join([*lines, ""]))
        checked = run(*CLANG, "-std=c11", "-fsyntax-only", f"-I{ROOT}/include", source)
        self.assertEqual((checked.returncode, checked.stderr), (0, ""))

    @needs_node
    def test_suite_under_node_and_results_equal_to_native_ones(self):
        done = run("node", pathlib.Path(__file__).with_name("suite.mjs"), WASM, self.module)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(json.loads(done.stdout)["failed"], 0)
        told = json.loads(done.stdout)
        self.assertGreater(told["tests"], 8)
        self.assertEqual(set(told["results"]), {strategy.name for strategy in ppsched.strategies()})
        for strategy in ppsched.strategies():
            stages = 4 * (strategy.chunks or 1)
            config = ppsched.Config(devices=4, stages=stages, microbatches=8, p2p_time=0.1, backward_input_share=0.45,
                                    forward_times=[1 + 0.1 * (7 * stage % 5) for stage in range(stages)])
            try:
                native = ppsched.generate(strategy.name, config).evaluate().export("json").replace(', "units": null', "")
            except ppsched.Error as error:
                native = str(error)
            self.assertEqual(told["results"][strategy.name], native, strategy.name)

    @unittest.skipUnless(shutil.which("tsc"), "needs the package node-typescript")
    def test_types(self):
        """What the compiler of TypeScript refuses are the lines that are wrong, and no others."""
        source = pathlib.Path(__file__).parent / "typed" / "client.mts"
        wanted = [number for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1) if line.endswith("// wrong")]
        self.assertGreater(len(wanted), 10)
        told = run("tsc", "--strict", "--noEmit", "--target", "es2022", "--module", "node16", "--moduleResolution", "node16",
                   "--lib", "es2022,dom", source).stdout
        places = re.findall(r"^(?:.*/)?([\w.]+)\((\d+),\d+\): error", told, flags=re.M)
        self.assertEqual(places, [("client.mts", str(number)) for number in wanted], told)

    @needs_node
    def test_code_of_the_page_runs(self):
        (code,) = re.findall(r"```js\n(.*?)```", (ROOT / "docs" / "wasm.md").read_text(encoding="utf-8"), flags=re.S)
        code = code.replace("./ppsched.mjs", (WASM / "ppsched.mjs").as_uri()).replace("load()", f"load({json.dumps(self.module.as_uri())})")
        done = run("node", "--input-type=module", "-e", f"{code}console.log(timeline.metrics.makespan, plan.ranked()[0].strategy);")
        self.assertEqual((done.returncode, done.stdout), (0, "31.200000000000003 zb_h1\n"), done.stderr)

    @needs_node
    def test_digests_are_those_of_all_platforms(self):
        """The program that computes tests/portability/digest.txt, with the very library that the module is linked from."""
        tests, program = ROOT / "tests", self.folder / "digest.wasm"
        sources = [*(tests / "portability").glob("*.c"), tests / "support" / "golden.c", tests / "support" / "problem.c"]
        cases = tests / "golden" / "cases"
        made = run(*CLANG, "-Oz", "-std=c11", "-D_POSIX_C_SOURCE=200809L", "-ffp-contract=off", f'-DGOLDEN_CASES="{cases}"',
                   f"-I{tests}/portability/plain", f"-I{tests}/wasm/plain", f"-I{tests}", f"-I{ROOT}/include", *sources,
                   f"{self.module}.build/lib/libppsched.a", "-Wl,-z,stack-size=1048576", "-o", program)
        self.assertEqual(made.returncode, 0, made.stderr)
        if OPTIMIZER:
            (options,) = re.findall(r"wasm-opt (-Oz .*) -o ", (WASM / "build.sh").read_text(encoding="utf-8"))
            self.assertEqual(run(OPTIMIZER, *options.split(), program, "-o", program).returncode, 0)
        script = """import { WASI } from "node:wasi"; import { readFileSync } from "node:fs";
            const [program, ...args] = process.argv.slice(1);
            const preopens = Object.fromEntries(args.slice(1).map((folder) => [folder, folder]));
            const wasi = new WASI({ version: "preview1", args: ["digest", args[0]], preopens });
            const module = await WebAssembly.compile(readFileSync(program));
            process.exitCode = wasi.start(await WebAssembly.instantiate(module, { wasi_snapshot_preview1: wasi.wasiImport }));"""
        digest = tests / "portability" / "digest.txt"
        done = run("node", "--no-warnings", "--input-type=module", "-e", script, program, digest, ROOT)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)
        wrong = self.folder / "wrong.txt"
        wrong.write_text(digest.read_text().replace("gpipe times ", "gpipe times 0", 1))
        done = run("node", "--no-warnings", "--input-type=module", "-e", script, program, wrong, ROOT, self.folder)
        self.assertEqual((done.returncode, done.stdout.count("expected gpipe times 0")), (1, 1), done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
