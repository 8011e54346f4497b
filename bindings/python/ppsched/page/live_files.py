# SPDX-License-Identifier: Apache-2.0
"""Joins the live page and what other pages share with it. Needs no library but the one that is WebAssembly."""
import base64
import gzip
import os
import pathlib
import re

from .._core.errors import Error
from .._core.page_text import escaped, source_digest

_PACKAGE = pathlib.Path(__file__).resolve().parent
_SOURCES = _PACKAGE.parents[2] / "wasm"  # in a source tree
_REPORT = ("base.js", "data.js", "theme.js", "view.js", "surface.js", "panels.js", "columns.js", "lanes.js", "dependencies.js", "pointing.js",
           "gaps.js", "selection.js", "critical.js", "finding.js", "timeline.js", "memory.js", "patterns.js", "idle.js")
_COMPUTING = ("problem.js", "work.js")  # also in reports that rank again
_LIVE = ("picture.js", "model.js", "knobs.js", "bars.js", "stages.js", "results.js", "waiting.js", "vector.js", "exports.js", "extras.js", "order.js", "hand.js", "teach.js", "lessons.js",
         "layouts.js", "live.js")  # joined to one script in this order
_MODULE = "ppsched.wasm"


def _found(name: str) -> pathlib.Path:
    """A file of the JavaScript binding: from PPSCHED_WASM, the installed package, or the source tree."""
    folders = [pathlib.Path(os.environ["PPSCHED_WASM"]).parent] if os.environ.get("PPSCHED_WASM") and name == _MODULE else []
    for folder in (*folders, _PACKAGE / "live_page", _SOURCES):
        if (folder / name).is_file():
            return folder / name
    if name == _MODULE:
        raise Error("the live page needs the library as WebAssembly, which is not built; run bindings/wasm/build.sh, or set PPSCHED_WASM to "
                    "its ppsched.wasm")
    raise Error(f"the live page needs {name} of bindings/wasm, which is not installed")


def _plain(name: str) -> str:
    """The text of a module without its imports and exports."""
    text = re.sub(r"^import \{[^}]*\} from [^;]*;\n|^export \{[^}]*\};\n", "", _found(name).read_text(encoding="utf-8"), flags=re.M)
    return re.sub(r"^export ", "", text, flags=re.M).replace(' = new URL("ppsched.wasm", import.meta.url)', "")


def _library_script() -> str:
    """The binding as one function, so that its text can be passed to a worker."""
    return f"function makeLibrary() {{\n{_plain('abi.mjs')}\n{_plain('ppsched.mjs')}\nreturn {{ load, Kind, Quantity, Runtime, nearName }};\n}}\n"


def _without_comments(script: str) -> str:
    """A script without the lines that are comments alone: a reader of the page has the sources."""
    return re.sub(r"^[ ]*(//.*|/\*\*(?:[^*]|\*(?!/))*\*/)\n", "", script, flags=re.M)


def check_library() -> None:
    """Raises if the library is not built as WebAssembly."""
    _found(_MODULE)


def packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def packed_library() -> str:
    """The library as WebAssembly, packed for a page."""
    return packed(_found(_MODULE).read_bytes())


def computing_script() -> str:
    """The scripts of pages that compute: the binding, problems, and workers."""
    return _library_script() + "\n".join((_PACKAGE / "live_page" / name).read_text(encoding="utf-8") for name in _COMPUTING)


def page_text(version: str) -> str:
    """The live page of a release."""
    def asset(folder: str, name: str) -> str:
        return (_PACKAGE / folder / name).read_text(encoding="utf-8")

    style = asset("report_page", "style.css") + asset("live_page", "live.css")
    script = "\n".join([*(asset("report_page", name) for name in _REPORT), computing_script(), *(asset("live_page", name) for name in _LIVE)])
    script, start = _without_comments(script), asset("live_page", "start.js")
    # Only this style and these two scripts may act in the page: the first unpacks the second. It may compile WebAssembly and start
    # workers, and load nothing.
    policy = (f"default-src 'none'; img-src data:; style-src {source_digest(style)}; script-src {source_digest(start)} {source_digest(script)} "
              "'wasm-unsafe-eval'; worker-src blob:; base-uri 'none'; form-action 'none'")
    parts = {"POLICY": escaped(policy, quotes=False), "STYLE": style, "START": start, "VERSION": version,
             "PROGRAM": packed(script.encode()), "LIBRARY": packed_library()}
    return re.sub(r"@([A-Z]+)@", lambda match: parts.get(match[1], match[0]), asset("live_page", "skeleton.html"))
