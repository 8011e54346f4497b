#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes ppsched/_core/_abi.py from the public headers: constants, struct layouts, callbacks and prototypes; _abi_fields.py, what they
say of the fields of records; and _abi_version.py, which the command reads where it loads nothing else.

usage: generate_abi.py [--check]     --check: exit 1 where a file in the tree is not what the headers say
"""
import argparse
import ast
import difflib
import json
import pathlib
import re
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
HEADERS = HERE.parent.parent / "include" / "ppsched"
CORE = HERE / "ppsched" / "_core"
FIRST_LINES = ["# SPDX-License-Identifier: Apache-2.0", "# Written by generate_abi.py from include/ppsched/*.h. Do not edit."]

# Enums whose Python class is not named like them, or whose members have another prefix than the enum's name.
CLASSES = {"ppsched_status_value": "Status"}
PREFIXES = {"ppsched_status_value": "PPSCHED_"}

# Enums that users of the Python package see: their classes have the comments of the headers.
SHOWN = ("objective", "chakra_sizes", "chakra_links", "channel_order", "finding_kind", "placement", "sender_waits", "kind", "format", "lowering",
         "memory_cause", "reason", "runtime", "slot_use", "status_value", "steady_reason", "connecting", "unshard_lookahead", "dispatch", "rank_by")
ABOUT = {"ppsched_status_value": "How a call of the library ended: the attribute `status` of ppsched.Error."}  # in place of the comment
WIDTH = 132
# Records of which Python has a class: those with another name, and those with the same.
RECORDS = {"option_info": "Option", "strategy_info": "Strategy", "op_buffer": "Buffer", "window_span": "PairWindow", "layer_move": "Move"}
ALIKE = ("Accelerator", "Arena", "Balance", "Bound", "CalibratedConstant", "CalibratedRun", "Candidate", "Connection", "CriticalOp", "DeviceMetrics",
         "DevicePrice", "Finding", "Idle", "IdleWindow", "LayerMemory", "LayoutStage", "Lifetime", "Link", "LinkRate", "MeasuredCollective",
         "MeasuredLayer", "MegatronMemory", "MemoryItem", "MemoryPoint", "Metrics", "ModelRow", "Op", "Parameters", "PassCost", "Replica", "RowMeasure",
         "ScenarioMetrics", "Sensitivity", "Span", "Split", "SteadyPeriod", "StepPrice", "Training", "Transformer", "UpdateCost", "Wait")

# The ctypes type of each number.
SCALARS = {
    "double": "c_double",
    "int32_t": "c_int32",
    "int64_t": "c_int64",
    "ppsched_status": "c_int32",
    "size_t": "c_size_t",
    "uint16_t": "c_uint16",
    "uint32_t": "c_uint32",
    "uint64_t": "c_uint64",
    "uint8_t": "c_uint8",
}


class HeaderError(Exception):
    """The headers hold something that this script does not know."""


def class_name(c_name):
    return "".join(part.capitalize() for part in c_name.removeprefix("ppsched_").split("_"))


def read_headers():
    """All headers in one text without comments, guards and includes; and the numbers that they define."""
    text, defines = "", {}
    for path in sorted(HEADERS.glob("*.h")):
        source = re.sub(r"/\*.*?\*/", "", path.read_text(encoding="utf-8"), flags=re.S)
        defines.update(re.findall(r"^#define (PPSCHED_[A-Z_]+) (\d+)u?$", source, flags=re.M))
        text += re.sub(r"^#.*$", "", source, flags=re.M)
    return text, defines


def is_version(name):
    return "VERSION" in name


def seen_type(kind):
    """What Python sees where a field or a result has a ctypes type, as an annotation."""
    pointer = re.fullmatch(r"POINTER\((.*)\)", kind)
    array = re.fullmatch(r"(\w+) \* \d+", kind)
    if pointer:
        inner = re.fullmatch(r"POINTER\((.*)\)", pointer[1])
        return f"_Pointer[{f'_Pointer[{inner[1]}]' if inner else pointer[1]}]"
    if array:
        return "bytes" if array[1] == "c_char" else f"Array[{array[1]}]"
    if kind in SCALARS.values():
        return "float" if kind == "c_double" else "int"
    if kind.endswith("Function"):  # a callback
        return "_FuncPointer"
    return {"c_char_p": "Optional[bytes]", "c_void_p": "Optional[int]"}.get(kind, kind)


class Abi:
    """What the headers declare."""

    def __init__(self):
        text, self.defines = read_headers()
        self.enums = re.findall(r"enum (\w+) \{(.*?)\};", text, flags=re.S)
        self.structs = dict(re.findall(r"typedef struct (\w+) \{(.*?)\} \1;", text, flags=re.S))
        self.opaque = set(re.findall(r"typedef struct (\w+) \1;", text))
        self.callbacks = re.findall(r"typedef ([\w ]+\*?)\(\*(\w+)\)\((.*?)\);", text, flags=re.S)
        self.functions = re.findall(r"PPSCHED_API (.*?)(ppsched_\w+)\((.*?)\);", text, flags=re.S)

    def type_of(self, c_type):
        """The ctypes type of a C type."""
        base = " ".join(re.sub(r"\bconst\b|\*", " ", c_type).split())
        stars = c_type.count("*")
        if stars == 0 and base == "void":
            return "None"
        if stars == 0 and base in SCALARS:
            return SCALARS[base]
        if stars == 0 and base in {name for _, name, _ in self.callbacks}:
            return class_name(base)
        if base == "char":
            text = "c_char_p" if "const" in c_type else "c_void_p"
            return text if stars == 1 else f"POINTER({text})"
        if base in self.opaque or base == "void":
            return "c_void_p" if stars == 1 else "POINTER(c_void_p)"
        if stars in (1, 2) and base in self.structs:
            return "POINTER(" * stars + class_name(base) + ")" * stars
        if stars == 1 and base in SCALARS:
            return f"POINTER({SCALARS[base]})"
        raise HeaderError(f"unknown type {c_type!r}")

    def parameters(self, text):
        if text.strip() == "void":
            return []
        return [self.type_of(re.sub(r"\w+\s*$", "", part.strip())) for part in text.split(",")]

    def field(self, text):
        """(name, type) of a struct's field."""
        array = re.fullmatch(r"(\w+) (\w+)\[(\d+)\]", text)
        if array:
            element = "c_char" if array[1] == "char" else self.type_of(array[1])
            return array[2], f"{element} * {array[3]}"
        plain = re.fullmatch(r"(.*?)(\w+)", text, flags=re.S)
        base = plain[1].strip()
        return plain[2], class_name(base) if base in self.structs else self.type_of(base)

    def fields(self, struct):
        return [self.field(" ".join(part.split())) for part in self.structs[struct].split(";") if part.strip()]

    def structs_in_order(self):
        """Structs such that those which others have, or point to, come first."""
        waiting, done = list(self.structs), []
        while waiting:
            ready = [s for s in waiting if not any(class_name(o) in re.findall(r"\w+", kind) for o in waiting if o != s for _, kind in self.fields(s))]
            done += ready
            waiting = [s for s in waiting if s not in ready]
        return done


def as_python(comment):
    """A comment of the headers, with the names that Python has."""
    text = re.sub(r"(?m)^[ \t]*\*? ?", "", comment)
    text = re.sub(r"\bPPSCHED_QUANTITY_(\w+)", lambda match: match[1].lower(), text)
    for name in SHOWN:
        prefix, python = PREFIXES.get(f"ppsched_{name}", f"PPSCHED_{name.upper()}_"), CLASSES.get(f"ppsched_{name}", class_name(name))
        text = text if prefix == "PPSCHED_" else re.sub(rf"\b{prefix}(?=[A-Z])", f"{python}.", text)
        text = re.sub(rf"\benum ppsched_{name}\b", f"ppsched.{python}", text)
    text = re.sub(r"\bppsched_(schedule|timeline|plan)_(?:get_)?(\w+)", lambda match: f"{match[1].capitalize()}.{match[2]}", text)
    text = re.sub(r"\bppsched_config_(?:find|prove)_bound\b", "ppsched.lower_bound", text)
    text = re.sub(r"\bppsched_(\w+)", lambda match: RECORDS.get(match[1], class_name(match[1]) if class_name(match[1]) in ALIKE else match[0]), text)
    return text.replace("PPSCHED_NONE", "None").replace("NULL", "None").replace("ppsched_lower_options", "Schedule.lower").replace(" (enum ppsched_quantity)", "")


def wrapped(text, first, rest):
    """Lines of a comment: its paragraphs, and items that begin with a dash."""
    for number, part in enumerate(re.split(r"\n\s*\n|\n(?=\s*- )", text.strip())):
        indent = rest if number or not first.strip() else first
        yield from textwrap.wrap(" ".join(part.split()), WIDTH, initial_indent=first if number == 0 else indent, subsequent_indent=rest)


def enum_docs(name, source):
    """The docstring of an enum's class: what the header says of it and of its members."""
    prefix = PREFIXES.get(name, f"{name.upper()}_")
    about, body = re.search(rf"(?:/\*((?:(?!\*/).)*)\*/\s*)enum {name} \{{(.*?)\n\}};", source, flags=re.S).groups()
    lines = list(wrapped(ABOUT.get(name) or as_python(about), "    ", "    "))
    lines[0] = f'    """{lines[0].strip()}'
    lines.append("")
    pieces = re.findall(r"/\*(.*?)\*/|(PPSCHED_\w+)\s*=\s*\d+(,?)", body, flags=re.S)
    waiting, of = "", {}
    last = None
    for comment, member, _ in pieces:
        if member:
            last = member.removeprefix(prefix)
            of[last], waiting = waiting, ""
        elif last is not None and not of[last]:
            of[last] = comment
        else:
            waiting = comment
    for member, comment in of.items():
        lines += wrapped(as_python(comment), f"    {member}: ", "      ") if comment.strip() else [f"    {member}"]
    return [*lines, '    """', ""]


def write_enum(name, body):
    prefix = PREFIXES.get(name, f"{name.upper()}_")
    yield f"\n\nclass {CLASSES.get(name, class_name(name))}(enum.IntEnum):"
    if name.removeprefix("ppsched_") in SHOWN:
        sources = [path.read_text(encoding="utf-8") for path in sorted(HEADERS.glob("*.h"))]
        yield from enum_docs(name, next(source for source in sources if f"enum {name} {{" in source))
    for member, value in re.findall(r"(PPSCHED_\w+)\s*=\s*(\d+)", body):
        yield f"    {member.removeprefix(prefix)} = {value}"


def write_callbacks(abi, seen):
    """Those that need no struct but the seen ones, the last of which is new: behind it, and before structs that hold them."""
    for result, name, parameters in abi.callbacks:
        kinds = [abi.type_of(result)] + abi.parameters(parameters)
        if "c_size_t" in kinds:  # what comes with a size has no NUL
            kinds = ["c_void_p" if kind == "c_char_p" else kind for kind in kinds]
        needed = {kind[8:-1] for kind in kinds if kind.startswith("POINTER(")}
        if needed <= set(seen) and (seen[-1] in needed if seen else True):
            yield f"{class_name(name)} = CFUNCTYPE({', '.join(kinds)})"


def generate():
    abi = Abi()
    lines = [*FIRST_LINES,
             '"""The C ABI: constants, struct layouts and prototypes."""',
             "from __future__ import annotations",
             "",
             "import enum",
             "from ctypes import (CDLL, CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_int32, c_int64, c_size_t,",
             "                    c_uint8, c_uint16, c_uint32, c_uint64, c_void_p)",
             "from typing import TYPE_CHECKING, Any, Callable, Dict, List, Optional, Tuple",
             "",
             "if TYPE_CHECKING:",
             "    from ctypes import Array, _FuncPointer, _Pointer",
             ""]
    lines += [f"{name.removeprefix('PPSCHED_')} = {value}" for name, value in sorted(abi.defines.items()) if not is_version(name)]
    for name, body in abi.enums:
        lines += write_enum(name, body)
    lines += ["\n", *write_callbacks(abi, [])]
    seen = []
    for struct in abi.structs_in_order():
        lines += [f"\n\nclass {class_name(struct)}(Structure):"]
        lines += [f"    {name}: {seen_type(kind)}" for name, kind in abi.fields(struct)]
        lines += ["    _fields_ = [", *(f'        ("{name}", {kind}),' for name, kind in abi.fields(struct)), "    ]"]
        seen.append(class_name(struct))
        behind = [*write_callbacks(abi, seen)]
        lines += ["\n", *behind] if behind else []
    lines += ["\n", "# name: (result, arguments)", "FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {"]
    for result, name, parameters in abi.functions:
        lines.append(f'    "{name}": ({abi.type_of(result)}, [{", ".join(abi.parameters(parameters))}]),')
    lines += ["}", "\n", "class Library(CDLL):", '    """The library, and what its functions return."""', ""]
    lines += [f"    {name}: Callable[..., {seen_type(abi.type_of(result))}]" for result, name, _ in abi.functions]
    return "\n".join(lines + [""])


def flag_texts(struct, source):
    """What the headers say of the flags of a struct, which are fields of the Python record, by their names in small letters."""
    found = re.search(rf"enum {struct}_flag \{{(.*?)\n\}};", source, flags=re.S)
    members = re.findall(rf"{struct.upper()}_FLAG_(\w+) = \d+,?[ \t]*/\*(.*?)\*/", found[1] if found else "", flags=re.S)
    return {name.lower(): " ".join(as_python(comment).split()) for name, comment in members}


def field_texts():
    """What the headers say of the fields of records that users of the Python package see, by class and field."""
    source = "".join(path.read_text(encoding="utf-8") for path in sorted(HEADERS.glob("*.h")))
    for struct, body in re.findall(r"typedef struct (\w+) \{\n(.*?)\n\} \1;", source, flags=re.S):
        python, texts = RECORDS.get(struct.removeprefix("ppsched_"), class_name(struct)), flag_texts(struct, source)
        before = ""
        for comment, names, after in re.findall(r"/\*(.*?)\*/|([^;/]+);(?:[ \t]*/\*(.*?)\*/)?", body, flags=re.S):
            if not names:
                before = comment
                continue
            for name in re.findall(r"(\w+)(?:\[\w+\])?\s*(?:,|$)", names.strip()):
                if (after or before).strip() and name not in ("size", "reserved"):
                    texts[name] = " ".join(as_python(after or before).split())
            before = ""
        yield python, texts


def record_fields():
    """{class: names of its fields} of the package's records, by its source; those of _core before those of readers."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for folder in (HERE / "ppsched" / "readers", CORE) for path in sorted(folder.glob("*.py"))]
    return {node.name: [part.target.id for part in node.body if isinstance(part, ast.AnnAssign)] for tree in trees for node in tree.body
            if isinstance(node, ast.ClassDef) and any(isinstance(base, ast.Name) and base.id == "NamedTuple" for base in node.bases)}


def generate_fields():
    """Of each field the text of field_texts.py, or else that of the headers."""
    sys.path.insert(0, str(HERE))
    from field_texts import TEXTS
    lines = [*FIRST_LINES[:1], FIRST_LINES[1].replace("*.h", "*.h and field_texts.py"), '"""What the fields of records are, for help()."""',
             "from typing import Dict", "", "FIELDS: Dict[str, Dict[str, str]] = {"]
    fields, of_headers = record_fields(), dict(field_texts())
    for python in sorted({*RECORDS.values(), *ALIKE, *TEXTS}):
        texts = {**of_headers.get(python, {}), **TEXTS.get(python, {})}
        unknown = [name for name in TEXTS.get(python, {}) if name not in fields.get(python, [])]
        if unknown:
            raise HeaderError(f"field_texts.py: {python} has no field {', '.join(unknown)}")
        known = [name for name in fields.get(python, []) if name in texts]
        lines += [f'    "{python}": {{', *(f"        {json.dumps(name)}: {json.dumps(texts[name])}," for name in known), "    },"]
    return "\n".join([*lines, "}", ""])


def generate_version():
    numbers = [f"{name.removeprefix('PPSCHED_')} = {value}" for name, value in sorted(Abi().defines.items()) if is_version(name)]
    return "\n".join([*FIRST_LINES, '"""The version of the C ABI, and the release."""', *numbers, ""])


def write(wanted, target, check):
    """Writes the text into the file, or compares the two."""
    present = target.read_text(encoding="utf-8") if target.exists() else ""
    if not check:
        target.write_text(wanted, encoding="utf-8")
    elif wanted != present:
        sys.stdout.writelines(difflib.unified_diff(present.splitlines(True), wanted.splitlines(True), target.name, "headers"))
        return 1
    return 0


def main(*files):
    """Writes each file, a function that makes its text and its path, or with --check compares."""
    parser = argparse.ArgumentParser(description=f"Writes {' and '.join(target.name for _, target in files)} from the public headers.")
    parser.add_argument("--check", action="store_true", help="compare only")
    check = parser.parse_args().check
    return max([write(generate_text(), target, check) for generate_text, target in files])


if __name__ == "__main__":
    sys.exit(main((generate, CORE / "_abi.py"), (generate_fields, CORE / "_abi_fields.py"), (generate_version, CORE / "_abi_version.py")))
