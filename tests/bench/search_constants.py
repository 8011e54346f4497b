#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What half and twice each constant of the searches changes: the table of docs/performance.md.

usage: search_constants.py STATE [--update] [--only NAME ...]

Builds the library in a copy of the tree, with one constant changed at a time, and runs the problems of search_constants_problems.py with it.
Counts the basic blocks that the library runs: user time differs by 20 % from run to run on a shared machine, and blocks do not differ.
STATE: a JSON file for what has been measured. What it lacks is measured now. --only: only these names, again. --update writes what has been
measured into docs/performance.md, and leaves the other rows as they are. Needs meson, ninja and gcc. A hundred constants take half an hour."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGE = ROOT / "docs" / "performance.md"
HEAD = ["constant, file in lib", "problems", "value", "half: result", "half: work", "twice: result", "twice: work"]
BEGIN, END = "<!-- search constants -->", "<!-- end -->"
LIMIT = 120  # seconds of a run


class Constant(NamedTuple):
    """tried: the smaller and the larger value, if not half and twice."""

    file: str  # in lib
    name: str
    group: str
    tried: Optional[Tuple[str, str]] = None


def listed(group: str, file: str, names: str, **tried: Tuple[str, str]) -> List[Constant]:
    return [Constant(file, name, group, tried.get(name)) for name in names.split()]


CONSTANTS: List[Constant] = [
    # Orders.
    *listed("auto", "search/beam.c", "MOST_HOLDS LEAST_VISITS"),
    *listed("auto", "search/explore.c", "MOST_PERIODS MOST_WIDTH OPS_PRICED VISITS_PER_OP LEAST_VISITS"),
    *listed("auto", "search/list_pattern.c", "MOST_STAGES"),
    *listed("auto", "search/pool.h", "PPI_POOL_SIZE"),
    *listed("auto", "search/relink.c", "FIRST_STALE STALE KEPT KICKS KICK_REACH INTENSE_IN_TEN LEAST_APART TRIES_PER_PLACE MOST_IDLE LEAST_STEPS"),
    *listed("large_orders", "search/relink.c", "LARGE"),
    *listed("auto", "search/tabu.c", "LEAST_TENURE REACH PATIENCE"),
    *listed("robust", "search/robust.c", "REACH MOST LEAST_TRIED STALE TRIES COST"),
    *listed("robust", "strategy/searches/auto.c", "HARDENED"),
    *listed("forwards_and_directions", "search/jobs_list.c", "WINDOWS"),
    *listed("forwards_and_directions", "search/jobs_search.c", "KEPT ROUNDS REACH PATIENCE"),
    *listed("forwards_and_directions", "strategy/searches/auto_jobs.c", "VISITS_PER_OP LEAST_VISITS MOST_VISITS TIGHTER_TRIES"),
    *listed("graphs", "search/web_search.c", "WINDOWS"),
    *listed("graphs", "search/web_climb.c", "LENGTH STARTS"),
    *listed("graphs", "search/web_period.c", "LENGTH STARTS SHARE_OF_ENDS LOOSER", SHARE_OF_ENDS=("0.005", "0.02"), LOOSER=("0.05", "0.2")),
    *listed("graphs", "strategy/searches/auto_graph.c", "VISITS"),
    *listed("slices", "search/list_slices.c", "LOOKS"),
    *listed("slices", "strategy/searches/zb_auto.c", "VISITS VISITS_PER_OP"),
    *listed("zero_bubble", "strategy/searches/zb_auto.c", "FAR PERIODS", FAR=("1.05", "1.2")),
    *listed("zero_bubble", "strategy/searches/zbv_auto.c", "MOST_CELLS"),
    *listed("zero_bubble", "strategy/searches/v_controlled.c", "ROUNDS PERIODS"),
    *listed("zero_bubble", "search/compact.c", "look_back"),
    *listed("v_search", "strategy/searches/v_search/v_search.c", "ALL_TURNS TURNS LEADERS MOST_WORK LAST_TRIES"),
    *listed("repeats", "search/glance.c", "KEPT APART SETTLED"),
    *listed("repeats", "search/repeat.c", "NOISE LEAST_ROUNDS SHARE", NOISE=("0x1p-50", "0x1p-44")),
    *listed("repeats", "strategy/offer.c", "MORE"),
    *listed("repeats", "strategy/searches/auto.c", "OPS_PRICED"),
    *listed("repeats", "strategy/unroll.c", "FEW LEAST_FEW TIMES EASIER PARTS PRICED CLOSE", EASIER=("0", "2"), CLOSE=("1e-11", "1e-7")),
    *listed("repeats", "search/shorten.c", "FEW LEAST_FEW TIMES MOST_OPS MOST_REPEATED LONGER CLOSE", CLOSE=("1e-11", "1e-7")),
    *listed("repeats", "search/part.c", "REACH"),
    # Splits.
    *listed("splits", "split/balance.c", "HALVINGS MOST_MOVES"),
    *listed("splits", "split/cheapest_recompute.c", "MOST_STEPS MOST_STAGES MOST_SETS MOST_SAVINGS"),
    *listed("splits", "split/improve.c", "WALKS FIRST_ROUND FIRST_PRICES LONGER MOST_IDLE LONG_ROUND LONG_PART"),
    *listed("splits", "split/local_search.c", "MOST_GIVERS"),
    *listed("splits", "split/long_paths.c", "A_VISIT"),
    *listed("splits", "split/long_paths.h", "PPI_LONG_PATHS"),
    *listed("splits", "split/promising_moves.c", "MOST_MENDED IDLE"),
    *listed("splits", "split/promising_moves.h", "PPI_SPLIT_TRIED"),
    *listed("splits", "split/random_walk.c", "WIDEST CHUNK_WIDEST LOOKED_AT", WIDEST=("0.00125", "0.005"), CHUNK_WIDEST=("0.0025", "0.01")),
    *listed("splits", "split/recompute_options.h", "PPI_FRONT_MOST"),
    *listed("splits", "split/split_state.c", "A_PRICE A_STAGE A_CHANGE A_DEVICE"),
    *listed("splits", "split/successive_halving.c", "LEAST_PRICES LAST_WALKS FEW"),
    *listed("split_bounds", "split/bound.c", "BOUND_HALVINGS"),
    *listed("split_bounds", "split/bound_units.c", "MOST_KINDS MOST_SUMS MOST_SPEEDS"),
    # Splits and orders together, and plans.
    *listed("codesign", "split/enumerate.c", "MOST_SPLITS TINY_VISITS"),
    *listed("codesign", "codesign/fit_split.c", "NEAR MORE MOST_NAMES"),
    *listed("codesign", "codesign/group_distances.c", "FEW_SPLITS FEW_OPS OTHER_SHARE"),
    *listed("codesign", "codesign/search.c", "MOST_IDLE MOST_IDLE_OF_MANY KINDS_TRIED AN_ORDERED_OP AN_ORDERED_OP_OF_LONG"),
    *listed("codesign", "codesign/varied.c", "JUDGED_BY MOST_TRIES AN_OP AN_OP_OF_SEARCH AN_OP_OF_LONG"),
    *listed("many_splits", "codesign/codesign.h", "PPI_LEAST_VISITS PPI_MOST_VISITS"),
    *listed("many_splits", "codesign/fit_split.c", "MOST_OF_SHORTER"),
    *listed("many_splits", "codesign/short_schedule.c", "ROUNDS QUARTERS", QUARTERS=("2", "4")),
    *listed("many_splits", "plan/list.c", "FEW_CHUNKS MOST_PARTED MOST_FORWARDS ALL_VISITS ALL_SMALL_VISITS MOST_SMALL_VISITS"),
    *listed("many_splits", "plan/plan.c", "LOOKS_ALIKE MORE_LOOKS TIMES_LONGER FEW_FORWARDS MOST_PARTS APART_SHARE"),
    *listed("plans", "plan/least_limit.c", "MOST_RULES MOST_SEARCHES HALVINGS MOST_BELOW VISITS_BELOW"),
    *listed("plans", "strategy/groups.c", "FEW FEW_PASSES STEPS"),
    *listed("device_orders", "plan/device_order.c", "FEW FEW_OPS OF_SEARCH OF_LONG_SEARCH MOST_BY_RULE MOST_BY_SEARCH SHORT LARGE MOST_OF_LARGE"),
    # Offload.
    *listed("offloads", "offload/fit_search.c", "LEAST_TRIES MOST_TRIES LAST_TRIES MOST_TIMED MOST_ROUNDS MOST_IDLE MOST_BLOCKED FORCED_BLOCKED MOST_RAISES EXTRA_TIMED",
            FORCED_BLOCKED=("0", "2")),
    *listed("offloads", "offload/fit_limit.c", "MOST_TIGHTER TIMED_TIGHTER MOST_HALVINGS TIMED_HALVINGS"),
    *listed("offloads", "offload/transfer_plan.h", "PPI_MOST_LEADS"),
    *listed("offloads", "strategy/searches/auto_offload.c", "MOST_GROUPS"),
    *listed("offload_memory", "offload/reduce_peaks.c", "SEARCHED TIMED_IN_SEARCH TIMED_ELSE SHARES MOST_PLACES"),
    *listed("offload_memory", "codesign/offload.c", "AN_OFFLOADED_OP"),
    # Proofs, microbatches, prompts, and changes of a running job.
    *listed("proofs", "bound/one_machine.c", "MOST_OPS"),
    *listed("proofs", "bound/propagate.h", "PPI_MOST_REFUTED_OPS PPI_MOST_REFUTED_ROWS"),
    *listed("proofs", "bound/refute.c", "MOST_DEPTH"),
    *listed("microbatch_orders", "microbatches/order.c", "MOST_TRIED VISITS FIRST_THRESHOLD", MOST_TRIED=("6", "8"), FIRST_THRESHOLD=("0.005", "0.02")),
    *listed("microbatch_orders", "microbatches/balance.c", "MOST_TRIED MOST_STEPS"),
    *listed("prompts", "prefill/prefill.c", "MOST_TRIED LOOKS VISITS", MOST_TRIED=("10", "16")),
    *listed("changes", "replan/replan.c", "GIVING_ROUNDS"),
    *listed("changes", "replan/moves.c", "MOST_GIVEN"),
]

# Sizes of caches and hash tables. Some change the result a little.
CACHES: List[Constant] = [
    *listed("auto", "search/tabu.c", "TABLE_BITS", TABLE_BITS=("15", "17")),
    *listed("splits", "split/device_fit.c", "AT_ONCE"),
    *listed("splits", "split/fit_cache.c", "MORE_SLOTS FEW_STAGES"),
    *listed("splits", "split/recompute_options.c", "MOST_KNOWN REMEMBERED"),
    *listed("proofs", "bound/one_machine.c", "MOST_BLOCK"),
]


# --- values ---

def place(text: str, name: str) -> Optional["re.Match[str]"]:
    """Where a file gives a constant its number: the group is the number."""
    return re.search(rf"\b{name} = ([0-9][^,;}}/\n]*?) *(?=[,;}}/\n])|^#define {name} ([0-9][^/\n]*?) *(?=/\*|$)", text, flags=re.M)


def value_of(constant: Constant) -> Optional[str]:
    found = place((ROOT / "lib" / constant.file).read_text(encoding="utf-8"), constant.name)
    return (found[1] or found[2]) if found else None


def number_in(text: str) -> float:
    """The number of a literal, or of a shift of one."""
    base, _, shift = text.rstrip("u").partition(" << ")
    if shift:
        return int(base) << int(shift)
    return float.fromhex(base) if base.startswith("0x") else int(base) if base.isdigit() else float(base)


def tried(constant: Constant) -> List[Optional[str]]:
    """A smaller and a larger value; None: there is no half."""
    if constant.tried is not None:
        return list(constant.tried)
    text = value_of(constant)
    assert text is not None, constant
    number = number_in(text)
    if isinstance(number, float):
        return [repr(number / 2), repr(2 * number)]
    suffix = "u" if text.endswith("u") else ""
    return [f"{number // 2}{suffix}" if number > 1 else None, f"{2 * number}{suffix}"]


# --- measuring ---

# Counts the basic blocks that run, for gcc's -fsanitize-coverage=trace-pc.
COUNTER = """#include <stdint.h>
static uint64_t blocks;
void __sanitizer_cov_trace_pc(void);
__attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc(void) { blocks++; }
uint64_t ppi_blocks_run(void);
__attribute__((no_sanitize_coverage, visibility("default"))) uint64_t ppi_blocks_run(void) { return blocks; }
"""


def put(file: pathlib.Path, before: str, after: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert before in text, (file, before)
    file.write_text(text.replace(before, after, 1), encoding="utf-8")


class Copy:
    """The tree in a folder of its own, and its library, which counts its work."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder, self.tree, self.build = folder, folder / "tree", folder / "build"
        shutil.copytree(ROOT, self.tree, ignore=lambda at, names: [name for name in names if name in (".git", "docs", "tests", "findings") or name.startswith("build")]
                        if pathlib.Path(at) == ROOT else [])
        (self.tree / "lib" / "base" / "blocks.c").write_text(COUNTER, encoding="utf-8")
        put(self.tree / "lib" / "meson.build", "    'arena',", "    'blocks', 'arena',")
        put(self.tree / "lib" / "api" / "ppsched.map", "global:", "global: ppi_blocks_run;")
        put(self.tree / "meson.build", "cc = meson", "add_project_arguments('-fsanitize-coverage=trace-pc', language: 'c')\ncc = meson")
        subprocess.run(["meson", "setup", self.build, self.tree, "-Dtests=false", "-Dpython=false", "-Doptimization=1", "-Ddefault_library=shared"], check=True,
                       stdout=subprocess.DEVNULL)
        targets = subprocess.run(["ninja", "-C", self.build, "-t", "targets", "all"], check=True, stdout=subprocess.PIPE, text=True).stdout
        found = re.search(r"^(lib/libppsched\.so\.\d+\.\d+\.\d+): ", targets, flags=re.M)
        assert found is not None, "the build has no shared library"
        self.target = found[1]
        plain = self.made("plain")
        assert plain is not None
        self.plain = plain

    def made(self, name: str) -> Optional[pathlib.Path]:
        """A copy of the library as it is now; None: it does not build."""
        if subprocess.run(["ninja", "-C", self.build, "-j1", self.target], stdout=subprocess.DEVNULL).returncode != 0:
            return None
        return pathlib.Path(shutil.copy(self.build / self.target, self.folder / f"{name}.so"))

    def changed(self, constant: Constant, value: str, name: str) -> Optional[pathlib.Path]:
        """The library with another value of a constant."""
        file = self.tree / "lib" / constant.file
        before = file.read_text(encoding="utf-8")
        found = place(before, constant.name)
        assert found is not None, constant
        at = found.span(1 if found[1] else 2)
        file.write_text(before[:at[0]] + value + before[at[1]:], encoding="utf-8")
        try:
            return self.made(name)
        finally:
            file.write_text(before, encoding="utf-8")


def run(library: pathlib.Path, group: str) -> Tuple[Optional[List[Optional[float]]], int]:
    """The results of a group's problems, and the basic blocks."""
    try:
        process = subprocess.run([sys.executable, str(pathlib.Path(__file__).with_name("search_constants_problems.py")), group], stdout=subprocess.PIPE, timeout=LIMIT,
                                 env={**os.environ, "PPSCHED_LIBRARY": str(library), "PYTHONPATH": str(ROOT / "bindings" / "python")})
    except subprocess.TimeoutExpired:
        return None, 0
    results, blocks = json.loads(process.stdout) if process.returncode == 0 else (None, 0)
    return results, blocks


class Measuring:
    def __init__(self, copy: Copy) -> None:
        self.copy = copy
        self.plain: Dict[str, Tuple[List[float], int]] = {}

    def plain_of(self, group: str) -> Tuple[List[float], int]:
        if group not in self.plain:
            results, blocks = run(self.copy.plain, group)
            assert results is not None and None not in results, f"{group}: the library as it is refuses a problem"
            self.plain[group] = [result for result in results if result is not None], blocks
        return self.plain[group]

    def measure(self, constant: Constant) -> Dict[str, Any]:
        found: List[Optional[Dict[str, Any]]] = []
        for value in tried(constant):
            library = value and self.copy.changed(constant, value, "variant")
            results, blocks = run(library, constant.group) if library else (None, 0)
            found.append(None if value is None else {"value": value, "results": results, "blocks": blocks})
        results, blocks = self.plain_of(constant.group)
        return {"value": value_of(constant), "tried": found, "results": results, "blocks": blocks}


# --- the table ---

def change(plain: Sequence[float], results: Optional[Sequence[Optional[float]]]) -> str:
    if results is None:
        return "fails"
    refused = sum(result is None for result in results)
    changes = [result / before - 1 for before, result in zip(plain, results) if result is not None]
    words = [f"{refused} of {len(results)} refused"] if refused else []
    if any(abs(one) > 1e-9 for one in changes):
        words.insert(0, f"{100 * sum(changes) / len(changes):+.2f} % (worst {100 * max(0, *changes):+.1f} %)")
    return "; ".join(words).replace("-0.00", "0.00").replace("+0.00", "0.00").replace("+0.0 %", "0 %") or "same"


def work_change(plain: int, blocks: int) -> str:
    if not blocks:
        return ""
    share = 100 * (blocks / plain - 1)
    return "same" if blocks == plain else f"{share:+.1f} %".replace("-0.0", "0.0").replace("+0.0", "0.0")


def row_of(constant: Constant, found: Dict[str, Any]) -> str:
    value = found["value"] + (f" ({', '.join(constant.tried)})" if constant.tried else "")
    cells = [f"`{constant.name}`, {constant.file}", constant.group.replace("_", " "), value]
    for own in found["tried"]:
        cells += ["", ""] if own is None else [change(found["results"], own["results"]), work_change(found["blocks"], own["blocks"])]
    return "| " + " | ".join(cells) + " |"


def key_of(constant: Constant) -> str:
    return f"{constant.file} {constant.name}"


def rows_on_page() -> Dict[str, List[str]]:
    """The cells of each row in docs/performance.md."""
    text = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("| `")]
    return {"{1} {0}".format(*re.match(r"`(\w+)`, (.*)", row[0]).groups()): row for row in rows}  # type: ignore[union-attr]


def table(state: Dict[str, Any]) -> str:
    before = rows_on_page()
    lines = ["| " + " | ".join(HEAD) + " |", "|" + "---|" * len(HEAD)]
    for constant in CONSTANTS + CACHES:
        key = key_of(constant)
        if key in state or key in before:
            lines.append(row_of(constant, state[key]) if key in state else "| " + " | ".join(before[key]) + " |")
    return "\n".join(lines)


def main() -> None:
    words = sys.argv[1:]
    if not words or words[0].startswith("-"):
        sys.exit(__doc__)
    path = pathlib.Path(words[0])
    only = words[words.index("--only") + 1:] if "--only" in words else []
    state = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    left = [constant for constant in CONSTANTS + CACHES if (constant.name in only if only else key_of(constant) not in state)]
    if left:
        with tempfile.TemporaryDirectory() as folder:
            measuring = Measuring(Copy(pathlib.Path(folder)))
            for constant in left:
                state[key_of(constant)] = measuring.measure(constant)
                path.write_text(json.dumps(state, indent=1), encoding="utf-8")
                print(row_of(constant, state[key_of(constant)]), flush=True)
    if "--update" in words:
        page = PAGE.read_text(encoding="utf-8")
        before, rest = page.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{table(state)}\n{END}{rest.split(END, 1)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
