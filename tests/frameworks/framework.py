# SPDX-License-Identifier: Apache-2.0
"""Runs programs of tests with real frameworks: PPSCHED_FRAMEWORKS names the Python that has them (environment.sh prints it).

    @unittest.skipIf(framework.why_missing("torch"), framework.why_missing("torch"))
    ... framework.run([HERE / "program.py", "words"])["answer"]
"""
import json
import os
import pathlib
import subprocess

PYTHON = os.environ.get("PPSCHED_FRAMEWORKS", "")
REQUIREMENTS = pathlib.Path(__file__).resolve().with_name("requirements.txt")
UNSET = "PPSCHED_FRAMEWORKS is not set: tests/frameworks/environment.sh makes the environment and prints its Python"
# What tests/run.sh keeps of compiled Python is for its own tests. Programs have one thread each: ranks share few cores.
ENVIRONMENT = {name: value for name, value in {**os.environ, "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}.items()
               if name != "PYTHONPYCACHEPREFIX"}


def lines():
    """(package, version, modules) of each of requirements.txt; modules only where tests are skipped for the package."""
    for line in REQUIREMENTS.read_text(encoding="utf-8").splitlines():
        pinned, _, comment = line.partition("#")
        if pinned.strip():
            package, _, version = pinned.strip().partition("==")
            marked = [word.strip().removeprefix("import ") for word in comment.split(";") if word.strip().startswith("import ")]
            yield package, version, marked[0] if marked else ""


def why_missing(package):
    """Why tests of a framework are skipped here; "" where they run."""
    if package not in {name for name, _, modules in lines() if modules}:
        raise AssertionError(f"{package} is no framework of {REQUIREMENTS}")
    if not PYTHON:
        return UNSET
    missing = pathlib.Path(PYTHON).parents[1] / "missing.txt"
    reasons = [line for line in missing.read_text(encoding="utf-8").splitlines() if line.startswith(f"{package}: ")]
    return f"the package {reasons[0]}" if reasons else ""


def run(words, timeout=600, python=(PYTHON,), **given):
    """What a program prints, JSON."""
    result = subprocess.run([*python, *map(str, words)], capture_output=True, text=True, check=False, timeout=timeout,
                            **{"env": ENVIRONMENT, **given})
    if result.returncode != 0:
        raise AssertionError(result.stderr[-4000:])
    return json.loads(result.stdout)


def ask(program, given, folder):
    """The answers of a program that reads lists by name from a file, and prints an answer to each item; it runs in the folder.

    PPSCHED_ANSWERS may name a file that keeps them: what was asked before is not asked again."""
    kept = pathlib.Path(os.environ.get("PPSCHED_ANSWERS") or pathlib.Path(folder) / "answers.json")
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    keys = {name: [json.dumps([program.name, name, item]) for item in items] for name, items in given.items()}
    new = {name: [item for key, item in zip(keys[name], items) if key not in known] for name, items in given.items()}
    if any(new.values()):
        file = pathlib.Path(folder) / "asked.json"
        file.write_text(json.dumps(new), encoding="utf-8")
        for name, answers in run([program, file], cwd=folder).items():
            known.update(zip([json.dumps([program.name, name, item]) for item in new[name]], answers, strict=True))
        kept.write_text(json.dumps(known), encoding="utf-8")
    return {name: [known[key] for key in keys[name]] for name in given}
