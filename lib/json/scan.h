/* SPDX-License-Identifier: Apache-2.0 */
/* A pull parser of JSON (RFC 8259): the caller asks for what comes next. Nothing recurses. */
#ifndef PPSCHED_JSON_SCAN_H
#define PPSCHED_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ppsched/status.h>

enum { PPI_JSON_DEPTH = 64 }; /* most nested arrays and objects, in values that are skipped */

struct ppi_json {
    const char *start, *next, *end;
    ppsched_error *error;
};

/* A string between its quotes, with its escapes. */
struct ppi_json_string {
    const char *text, *end;
    bool has_escapes;
};

/* An array or object that is being read. */
struct ppi_json_list {
    char close; /* ']' or '}' */
    bool begun;
};

/* Starts reading; the whole text must be UTF-8. */
ppsched_status ppi_json_start(struct ppi_json *json, const char *data, size_t size, ppsched_error *error);

/* Ends reading: only blanks may be left. */
ppsched_status ppi_json_finish(struct ppi_json *json);

/* SYNTAX with the line and column of `at`. `what`: what is expected there, or wrong with it. */
ppsched_status ppi_json_fail(const struct ppi_json *json, const char *at, const char *what);

/* The next character that is no blank, unread; NUL at the end. */
char ppi_json_peek(struct ppi_json *json);

/* Enters an array ('[') or object ('{'), and moves to its next item. `*more`: whether there is one. */
ppsched_status ppi_json_open(struct ppi_json *json, char open, struct ppi_json_list *list);
ppsched_status ppi_json_more(struct ppi_json *json, struct ppi_json_list *list, bool *more);

/* A member's key and the colon after it. */
ppsched_status ppi_json_key(struct ppi_json *json, struct ppi_json_string *key);

ppsched_status ppi_json_string(struct ppi_json *json, struct ppi_json_string *string);
ppsched_status ppi_json_integer(struct ppi_json *json, int64_t *value);
ppsched_status ppi_json_bool(struct ppi_json *json, bool *value);

/* Skips a number, which a double can hold, or null. */
ppsched_status ppi_json_number_or_null(struct ppi_json *json);

/* A key that an object may have. */
struct ppi_json_member {
    const char *name;
    ppsched_status (*read)(void *user); /* reads its value */
    bool required;
};

/* Reads an object: known keys at most once each, in any order, and all required ones; values of other keys are skipped. At
 * most 32 known keys. */
ppsched_status ppi_json_object(struct ppi_json *json, const struct ppi_json_member *members, size_t count, void *user);

/* Skips any value. */
ppsched_status ppi_json_skip(struct ppi_json *json);

/* Writes a string without its escapes, never longer than with them; returns the length. */
size_t ppi_json_decode(const struct ppi_json_string *string, char *out);

/* Whether the string, without its escapes, is `name`. */
bool ppi_json_equals(const struct ppi_json_string *string, const char *name);

#endif
