#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes abi.mjs from the public headers: constants, struct layouts of wasm32, and prototypes; and abi.d.mts, the types of these.

usage: generate_abi.py [--check]     --check: exit 1 where a file in the tree is not what the headers say
"""
import importlib.util
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
TARGET, TYPES = HERE / "abi.mjs", HERE / "abi.d.mts"

_spec = importlib.util.spec_from_file_location("python_abi", HERE.parent / "python" / "generate_abi.py")
python_abi = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(python_abi)

# Each number's name here, and its bytes; every pointer has 4.
NUMBERS = {"c_double": ("f64", 8), "c_int32": ("i32", 4), "c_int64": ("i64", 8), "c_size_t": ("u32", 4), "c_uint8": ("u8", 1),
           "c_uint16": ("u16", 2), "c_uint32": ("u32", 4), "c_uint64": ("u64", 8), "c_char": ("u8", 1)}


def words_of_fields(abi):
    """{struct: {field: enum}} of fields that have an enumerator, and {struct: fields} of those that may be PPSCHED_NONE, as the headers'
    comments say."""
    text = "".join(path.read_text(encoding="utf-8") for path in sorted(python_abi.HEADERS.glob("*.h")))
    enums, nothing = {}, {}
    for struct, body in re.findall(r"typedef struct (\w+) \{(.*?)\n\} \1;", text, flags=re.S):
        for c_type, field, comment in re.findall(r"^ {4}(\w+) (\w+); *(?:/\*(.*?)\*/)?", body, flags=re.S | re.M):
            named = re.match(r" *enum (ppsched_\w+)", comment)
            if c_type == "ppsched_status":
                enums.setdefault(struct, {})[field] = "Status"
            elif named and c_type in ("int32_t", "uint8_t"):
                enums.setdefault(struct, {})[field] = python_abi.class_name(named[1])
            if c_type == "uint32_t" and "PPSCHED_NONE" in comment and not comment.lstrip().startswith("1:"):
                nothing.setdefault(struct, set()).add(field)
    return ({python_abi.class_name(struct): fields for struct, fields in enums.items()},
            {python_abi.class_name(struct): fields for struct, fields in nothing.items()})


class Layouts:
    """Sizes and offsets as a compiler for wasm32 has them."""

    def __init__(self, abi):
        self.abi = abi
        self.structs = {}  # class name: (size, alignment, [(field, type, offset, count)])
        for struct in abi.structs_in_order():
            self.structs[python_abi.class_name(struct)] = self.layout(abi.fields(struct))

    def kind(self, c_type):
        """(name, size, alignment, count) of a field's type, as ctypes calls it."""
        array = re.fullmatch(r"(\w+) \* (\d+)", c_type)
        if array:
            name, size, alignment, _ = self.kind(array[1])
            return ("text" if array[1] == "c_char" else name), size * int(array[2]), alignment, int(array[2])
        if c_type in NUMBERS:
            name, size = NUMBERS[c_type]
            return name, size, size, 1
        if c_type in self.structs:
            size, alignment, _ = self.structs[c_type]
            return c_type, size, alignment, 1
        return ("string" if c_type == "c_char_p" else "pointer"), 4, 4, 1

    def layout(self, fields):
        rows, end, widest = [], 0, 1
        for name, c_type in fields:
            kind, size, alignment, count = self.kind(c_type)
            offset = -(-end // alignment) * alignment
            rows.append((name, kind, offset, count))
            end, widest = offset + size, max(widest, alignment)
        return -(-end // widest) * widest, widest, rows


def passed(c_type):
    """How a function takes or returns a type."""
    if c_type == "None":
        return "void"
    return NUMBERS[c_type][0] if c_type in NUMBERS else "string" if c_type == "c_char_p" else "pointer"


def head(what):
    return ["// SPDX-License-Identifier: Apache-2.0", "// Written by generate_abi.py from include/ppsched/*.h. Do not edit.",
            f"// {what}", ""]


def enumerations(abi):
    """(class name, [(member, value)]) of each."""
    for name, body in abi.enums:
        prefix = python_abi.PREFIXES.get(name, f"{name.upper()}_")
        members = re.findall(r"(PPSCHED_\w+)\s*=\s*(\d+)", body)
        yield (python_abi.CLASSES.get(name, python_abi.class_name(name)),
               [(member.removeprefix(prefix), value) for member, value in members])


def enum_lines(abi):
    for name, members in enumerations(abi):
        yield f"\nexport const {name} = Object.freeze({{"
        yield from (f"  {member}: {value}," for member, value in members)
        yield "});"


def seen_type(kind, count, enumeration=None, may_be_nothing=False):
    """What a field is where a struct is read as an object."""
    if enumeration:
        return f"keyof typeof {enumeration}" if enumeration == "Kind" else f"Lowercase<keyof typeof {enumeration}>"
    if may_be_nothing:
        return "number | null"
    if kind == "text":
        return "string"
    one = "string | null" if kind == "string" else "number" if kind == "pointer" or kind in dict(NUMBERS.values()) else kind
    return one if count == 1 else f"{one}[]"


def generate_types():
    abi = python_abi.Abi()
    lines = head("Types of the C ABI: constants, and structs as objects of JavaScript.")
    lines += [f"export const {name.removeprefix('PPSCHED_')}: {value};" for name, value in sorted(abi.defines.items())]
    for name, members in enumerations(abi):
        lines += [f"\nexport const {name}: {{", *(f"  readonly {member}: {value};" for member, value in members), "};",
                  f"export type {name} = (typeof {name})[keyof typeof {name}];"]
    enums, nothing = words_of_fields(abi)
    for name, (_, _, rows) in Layouts(abi).structs.items():
        lines.append(f"\nexport interface {name} {{")
        lines += [f"  {field}: {seen_type(kind, count, enums.get(name, {}).get(field), field in nothing.get(name, ()))};"
                  for field, kind, _, count in rows if field != "size" and "reserved" not in field]
        lines.append("}")
    lines += ["", "export const STRUCTS: Record<string, { size: number; fields: Record<string, [string, number, number, Record<string, number>?]> }>;",
              "export const FUNCTIONS: Record<string, string[]>;"]
    return "\n".join([*lines, ""])


def generate():
    abi = python_abi.Abi()
    lines = head("The C ABI on wasm32: constants, struct layouts, prototypes.")
    lines += [f"export const {name.removeprefix('PPSCHED_')} = {value};" for name, value in sorted(abi.defines.items())]
    lines += enum_lines(abi)
    lines += ["", "// name: { size, fields: { name: [type, offset, count, enum] } }", "export const STRUCTS = {"]
    enums, _ = words_of_fields(abi)
    for name, (size, _, rows) in Layouts(abi).structs.items():
        lines.append(f"  {name}: {{ size: {size}, fields: {{")
        for field, kind, offset, count in rows:
            enumeration = enums.get(name, {}).get(field)
            lines.append(f"    {field}: {json.dumps([kind, offset, count])[:-1]}{f', {enumeration}' if enumeration else ''}],")
        lines.append("  } },")
    lines += ["};", "", "// name: [result, arguments...]", "export const FUNCTIONS = {"]
    for result, name, parameters in abi.functions:
        kinds = [passed(abi.type_of(result)), *map(passed, abi.parameters(parameters))]
        lines.append(f"  {name}: {json.dumps(kinds)},")
    return "\n".join([*lines, "};", ""])


if __name__ == "__main__":
    sys.exit(python_abi.main((generate, TARGET), (generate_types, TYPES)))
