#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The grammar of the public headers, as ppsched.h tells it: names, the order of arguments, buffers, callbacks, enumerators."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
HEADERS = sorted((ROOT / "include" / "ppsched").glob("*.h"))
# Those whose names the library tells, too: the first words of enums.
ENUMS = {"block", "chakra", "channel", "collective", "connecting", "dispatch", "finding", "format", "layer", "log", "lowering", "measure", "memory",
         "objective", "placement", "precision", "rank", "reason", "sender", "slot", "stage", "unshard"}
# Enums of bits, which may be set together, as those that end in _flag.
BITS = {"ppsched_adapter_target", "ppsched_recompute_module"}
# Functions that tell names of an enum, where they are called otherwise.
NAMING = {"ppsched_kind": "ppsched_kind_token", "ppsched_status_value": "ppsched_status_name"}
OBJECTS = ENUMS | {"accelerator", "builder", "calibrator", "cause", "chakra", "config", "description", "finding", "job", "kind", "layers", "layout", "microbatches", "model", "op", "pair", "plan", "prefill", "price", "quantity", "queue", "replan", "replicas", "runtime", "scenarios", "schedule", "status", "steady", "strategy",
           "timeline"}
OF_THE_LIBRARY = {"ppsched_abi_version", "ppsched_version", "ppsched_version_text"}
VERBS = {"append", "balance", "check", "copy", "create", "destroy", "evaluate", "export", "find", "finish", "fits", "from", "generate", "get", "guess", "import",
         "lower", "offload", "order", "prove", "read", "recompute", "release", "renumber", "run", "set", "update", "validate", "with", "write"}
REPORTS = {"ppsched_schedule_check", "ppsched_schedule_prove"}
# What is numbered from 0 goes in as a uint32_t.
# A size that a call sets is an int64_t, so that a negative one is seen; a choice is an int32_t, flags and what is 0 or 1 are uint32_t.
SIZES = {"devices", "stages", "microbatches", "iterations", "slices", "versions", "replicas"}
CHOICES = {"cause", "format", "kind", "objective", "placement", "quantity", "rank_by", "runtime", "sender_waits", "use", "what"}
FLAGS = re.compile(r"flags|flushes|is_\w+|even_counts")
FLAG_ANSWERS = re.compile(r"ppsched_\w+_(flushes|forward_only|split_backward)")
NUMBERED = {"candidate", "device", "microbatch", "option", "rank", "stage", "strategy"}
ERROR, USER, CAPACITY = "ppsched_error *error", "void *user", "size_t capacity"


def without_comments(text):
    return re.sub(r"/\*.*?\*/|^#[^\n]*$", "", text, flags=re.S | re.M)


class Function:
    """A declaration: its result, parameters, and the comment above."""

    def __init__(self, text, comment):
        self.result, self.name, inside = re.fullmatch(r"PPSCHED_API (.*?) ?(ppsched_\w+)\((.*)\);", " ".join(text.split())).groups()
        self.parameters = [] if inside == "void" else [part.strip() for part in inside.split(",")]
        self.comment = comment
        self.object, self.verb = (self.name.split("_") + [""])[1:3]

    def is_own(self, parameter):
        """Whether it is the object that the function acts on."""
        return re.fullmatch(rf"(const )?ppsched_{self.object} \*\w+", parameter) is not None

    def outputs(self):
        """How many parameters at the beginning are for what goes out."""
        count = 0
        while count < len(self.parameters) and not self.is_own(self.parameters[count]) and \
                (is_written(self.parameters[count]) or self.parameters[count] == CAPACITY):
            count += 1
        return count


def is_written(parameter):
    """Whether the call may write to where it points."""
    return "*" in parameter and parameter not in (USER, ERROR) and \
        not re.fullmatch(r"const [\w ]+\*(const \*)?\w+", parameter)


def functions(text):
    comment = ""
    for part in re.findall(r"/\*.*?\*/|PPSCHED_API [^;]*;", re.sub(r"^#.*$", "", text, flags=re.M), flags=re.S):
        if part.startswith("/*"):
            comment = part
        else:
            yield Function(part, comment)


def complaints_of_numbers(function):
    for kind, name in (parameter.rsplit(" ", 1) for parameter in function.parameters if "*" not in parameter):
        if name in NUMBERED and kind != "uint32_t":
            yield "a number that is no uint32_t"
        if name in SIZES and kind != "int64_t":
            yield f"the size {name} is no int64_t"
        if name in CHOICES and kind != "int32_t":
            yield f"the choice {name} is no int32_t"
        if FLAGS.fullmatch(name) and kind != "uint32_t":
            yield f"the flag {name} is no uint32_t"
    if FLAG_ANSWERS.fullmatch(function.name) and not function.verb == "set" and function.result not in ("uint32_t", "ppsched_status"):
        yield "a flag that is no uint32_t"


def complaints_of_question(function):
    """One that returns its answer, or nothing."""
    parameters = [p for p in function.parameters if p != "size_t *count" or p != function.parameters[-1]]
    if ERROR in parameters:
        yield "an error without a status"
    if function.result == "void" and function.verb not in VERBS:
        yield "no verb"
    if function.result != "void" and any(is_written(p) for p in parameters):
        yield "a question writes"


def complaints_of_call(function):
    """One that can fail."""
    first, parameters = function.outputs(), function.parameters
    if function.verb not in VERBS:
        yield "no verb"
    if parameters[-1:] != [ERROR]:
        yield "the error is not last"
    if "Errors: " not in function.comment:
        yield "its comment tells no errors"
    if any(is_written(p) and not function.is_own(p) for p in parameters[first:]):
        yield "what goes out is not first"
    elif any(map(function.is_own, parameters)) and not function.is_own(parameters[first]):
        yield "the object is not behind what goes out"
    if any(p in (CAPACITY, "size_t *needed") or p.startswith("char *") for p in parameters):
        count = "size_t *count" if function.name in REPORTS else "size_t *needed"
        if not re.fullmatch(r"\w+ \*out", parameters[0]) or parameters[1:3] != [CAPACITY, count]:
            yield "no buffer"


def complaints(text):
    """What in the declarations is against the grammar, a line each."""
    for function in functions(text):
        if function.name not in OF_THE_LIBRARY and function.object not in OBJECTS:
            yield f"{function.name}: no object"
        else:
            told = complaints_of_call if function.result == "ppsched_status" else complaints_of_question
            yield from (f"{function.name}: {what}" for what in [*told(function), *complaints_of_numbers(function)])
    plain = without_comments(text)
    for typedef, name, parameters in re.findall(r"(typedef )?[\w ]+\*?\(\*(\w+)\)\(([^)]*)\);", plain):
        if not typedef or not re.fullmatch(r"ppsched_\w+_function", name) or not parameters.startswith(USER):
            yield f"{name}: a callback whose type does not end in _function, or that does not take `user` first"
    for name, body in re.findall(r"^typedef struct (\w+) \{(.*?)^\}", plain, flags=re.S | re.M):
        spare = re.findall(r"\b(\w*reserved\w*)\b", body)
        yield from (f"{name}.{member}: spare members are called reserved" for member in spare if member != "reserved")
        if spare.count("reserved") > 1:
            yield f"{name}: more than one reserved; make it an array"
    for name, body in re.findall(r"enum (\w+) \{(.*?)\};", plain, flags=re.S):
        prefix = "PPSCHED_(OK$|ERROR_)" if name == "ppsched_status_value" else name.upper() + "_"
        yield from (f"{member}: not named by its enum" for member in re.findall(r"(PPSCHED_\w+)\s*=", body)
                    if not re.match(prefix, member))


def enums(text):
    """{enum: [(enumerator, value)]}."""
    return {name: [(member, int(value)) for member, value in re.findall(r"(PPSCHED_\w+)\s*=\s*(\d+)", body)]
            for name, body in re.findall(r"enum (\w+) \{(.*?)\};", without_comments(text), flags=re.S)}


def named_enums(text):
    """Those whose values have names, with the function that tells them."""
    return {name: NAMING.get(name, f"{name}_name") for name in enums(text) if not name.endswith("_flag") and name not in BITS}


def complaints_of_names(text):
    """Enums without a function that tells names of their values, and enums that are wrongly taken for bits."""
    declared = {function.name for function in functions(text) if function.result == "const char *" and
                re.fullmatch(r"(int32_t|ppsched_status) \w+", ", ".join(function.parameters))}
    named = named_enums(text)
    yield from (f"{name}: {function} is missing" for name, function in named.items() if function not in declared)
    yield from (f"{name}: no bits" for name, members in enums(text).items() if name not in named and
                [value for _, value in members] != [1 << bit for bit in range(len(members))])


# Declarations that are wrong, and what is.
PLANTED = {
    "PPSCHED_API uint32_t ppsched_thing_count(void);": "no object",
    "PPSCHED_API uint32_t ppsched_plan_count(ppsched_error *error);": "an error without a status",
    "PPSCHED_API uint32_t ppsched_plan_count(const ppsched_plan *plan, double *out);": "a question writes",
    "/* Errors: */ PPSCHED_API ppsched_status ppsched_plan_metrics(const ppsched_plan *plan, ppsched_error *error);": "no verb",
    "/* Errors: */ PPSCHED_API ppsched_status ppsched_plan_run(ppsched_plan *plan);": "the error is not last",
    "PPSCHED_API ppsched_status ppsched_plan_run(ppsched_plan *plan, ppsched_error *error);": "tells no errors",
    "/* Errors: */ PPSCHED_API ppsched_status ppsched_plan_get_x(double *out, size_t i, const ppsched_plan *plan, "
    "ppsched_error *error);": "the object is not behind",
    "/* Errors: */ PPSCHED_API ppsched_status ppsched_plan_get_x(const ppsched_plan *plan, double *out, "
    "ppsched_error *error);": "what goes out is not first",
    "/* Errors: */ PPSCHED_API ppsched_status ppsched_op_write_x(char *out, size_t *needed, const ppsched_op *op, "
    "ppsched_error *error);": "no buffer",
    "typedef int32_t (*ppsched_listener)(void *user, double share);": "a callback whose type",
    "struct x { void *(*allocate)(void *user, size_t size); };": "a callback whose type",
    "PPSCHED_API double ppsched_plan_cost(const ppsched_plan *plan, size_t candidate);": "a number that is no uint32_t",
    "PPSCHED_API void ppsched_plan_freed(ppsched_plan *plan);": "no verb",
    "enum ppsched_kind { PPSCHED_FORWARD = 1 };": "not named by its enum",
    "/* Errors: */ PPSCHED_API ppsched_status ppsched_config_set_x(ppsched_config *config, uint32_t stages, ppsched_error *error);": "no int64_t",
    "/* Errors: */ PPSCHED_API ppsched_status ppsched_config_set_x(ppsched_config *config, int32_t is_x, ppsched_error *error);": "no uint32_t",
    "/* Errors: */ PPSCHED_API ppsched_status ppsched_config_set_x(ppsched_config *config, uint32_t objective, ppsched_error *error);": "no int32_t",
    "PPSCHED_API int32_t ppsched_config_forward_only(const ppsched_config *config);": "a flag that is no uint32_t",
    "typedef struct ppsched_x {\n    uint32_t more_reserved;\n} ppsched_x;": "spare members are called reserved",
    "typedef struct ppsched_x {\n    uint32_t reserved;\n    uint32_t y;\n    uint32_t reserved;\n} ppsched_x;": "more than one reserved",
}


class GrammarTest(unittest.TestCase):
    maxDiff = None

    def test_headers_obey(self):
        text = "".join(path.read_text(encoding="utf-8") for path in HEADERS)
        self.assertGreater(len(list(functions(text))), 80)
        self.assertGreater(len(re.findall(r"^typedef struct \w+ \{|^enum \w+ \{", without_comments(text), flags=re.M)), 40)
        self.assertEqual(list(complaints(text)), [])

    def test_planted_declarations_are_seen(self):
        for text, what in PLANTED.items():
            found = list(complaints(text))
            self.assertEqual(len(found), 1, (text, found))
            self.assertIn(what, found[0])

    def test_every_enum_has_a_name_function(self):
        text = "".join(path.read_text(encoding="utf-8") for path in HEADERS)
        self.assertGreater(len(named_enums(text)), 30)
        self.assertLess(BITS, set(enums(text)))
        self.assertEqual(list(complaints_of_names(text)), [])

    def test_planted_enums_are_seen(self):
        two = "enum ppsched_x { PPSCHED_X_A = 0, PPSCHED_X_B = 1 };"
        for text in (two, f"{two} PPSCHED_API uint32_t ppsched_x_name(int32_t x);", f"{two} PPSCHED_API const char *ppsched_x_name(ppsched_plan *x);",
                     f"{two} PPSCHED_API const char *ppsched_xs_name(int32_t x);"):
            self.assertEqual(list(complaints_of_names(text)), ["ppsched_x: ppsched_x_name is missing"])
        self.assertEqual(list(complaints_of_names(f"{two} PPSCHED_API const char *ppsched_x_name(int32_t x);")), [])
        self.assertEqual(list(complaints_of_names("enum ppsched_x_flag { PPSCHED_X_FLAG_A = 1, PPSCHED_X_FLAG_B = 3 };")), ["ppsched_x_flag: no bits"])

    def test_the_test_of_names_walks_all_enumerators(self):
        """Those but of a few have a row with the first and the last in tests/unit/names_test.c; their numbers have no gaps."""
        members = enums("".join(path.read_text(encoding="utf-8") for path in HEADERS))
        lasts = dict(re.findall(r"(LAST_\w+) = (PPSCHED_\w+)", (ROOT / "tests" / "support" / "last.h").read_text(encoding="utf-8")))
        rows = re.findall(r"ROW\((\w+),\s*(PPSCHED_\w+),\s*(\w+)\)", (ROOT / "tests" / "unit" / "names_test.c").read_text(encoding="utf-8"))
        walked = {f"ppsched_{name}": (first, lasts.get(last, last)) for name, first, last in rows}
        wanted = {name: members[name] for name, function in named_enums("".join(path.read_text(encoding="utf-8") for path in HEADERS)).items()
                  if function == f"{name}_name" and name != "ppsched_quantity"}
        self.assertEqual(walked, {name: (own[0][0], own[-1][0]) for name, own in wanted.items()})
        for name, own in wanted.items():
            self.assertEqual([value for _, value in own], list(range(own[0][1], own[0][1] + len(own))), name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
